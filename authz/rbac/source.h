/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Where rules come from: informers keep the roles and bindings (executor thread); after each
 * burst of changes an index is built and published. Any thread asks the published index
 * without waiting: each worker tells in a slot of its own which index it is reading, and an old
 * index is freed when no slot names it.
 */
#ifndef KS_RBAC_SOURCE_H
#define KS_RBAC_SOURCE_H

#include <pthread.h>

#include "authz/rbac/index.h"

enum { RBAC_MOST_WORKERS = 256 };

struct rbac_slot {
	_Alignas(64) struct rbac_index *_Atomic reading;
};

struct rbac_source;

/* One of the four kinds that are followed. */
struct rbac_followed {
	struct rbac_source *source;
	enum rbac_kind kind;
};

struct rbac_source {
	const struct ks_host *host;
	void (*synced)(void *arg); /* once, when all four kinds are known and the first index is published; executor thread */
	void *arg;
	struct rbac_followed followed[RBAC_N_KINDS];
	/* executor thread */
	struct rbac_objects objects;
	unsigned n_synced;
	int rebuild_planned;
	uint64_t last_build_ms;
	/* shared */
	struct rbac_index *_Atomic current;
	struct rbac_slot slots[RBAC_MOST_WORKERS + 1];
	pthread_mutex_t outsiders; /* callers that are no worker share the last slot */
};

extern const char *const ks_rbac_resources[RBAC_N_KINDS];

void ks_rbac_source_init(struct rbac_source *source, const struct ks_host *host, void (*synced)(void *arg), void *arg);
/* Starts the informers: in `start`. KS_DONE or KS_ERR with the error worded. */
int ks_rbac_source_start(struct rbac_source *source, struct ks_plugin_error *error);
/* After `stop`. */
void ks_rbac_source_fini(struct rbac_source *source);
/* Builds an index of what is known now. Executor thread. */
void ks_rbac_source_publish(struct rbac_source *source);
/* The index that is current, held until ks_rbac_source_leave by the same worker; NULL before the first one. */
struct rbac_index *ks_rbac_source_enter(struct rbac_source *source, uint32_t worker);
void ks_rbac_source_leave(struct rbac_source *source, uint32_t worker);
/* Is one of the user's groups among `privileged`? */
int ks_rbac_is_privileged(const struct ks_user *user, const struct ks_config_list *privileged);

#endif
