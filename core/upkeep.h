/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server sees to while it runs: flow schemas and priority levels follow the release, the authorities that
 * clients are trusted by are published, and a Lease says that this server lives;
 * Leases of servers that have gone are taken away. All of it goes through the whole pipeline, a look a minute (the Lease: every ten seconds);
 * what fails is tried again at the next look.
 */
#ifndef KS_UPKEEP_H
#define KS_UPKEEP_H

#include <stdatomic.h>

#include "core/pipeline/server.h"

struct ks_upkeep {
	struct ks_server_state *server;
	struct ks_timer timer;
	unsigned beats; /* of the Lease, until the next look at the rest */
	char name[64], holder[128], host[128];
	struct ks_arena texts;
	struct ks_str authorities; /* PEM; empty: none */
	atomic_size_t n_open; /* requests that were not answered yet */
	struct ks_task second; /* what needs the first look's objects */
	_Atomic bool looked; /* the first look has been answered */
	bool started;
};

/* Main, once the namespaces exist. Looks at once. */
void ks_upkeep_start(struct ks_upkeep *upkeep, struct ks_server_state *server);
/* All that was asked for has been answered. */
bool ks_upkeep_is_settled(const struct ks_upkeep *upkeep);
/* Before the workers end; safe on a zeroed one. */
void ks_upkeep_stop(struct ks_upkeep *upkeep);

/* "apiserver-" and what a host's name comes to; `room` 64. */
void ks_upkeep_identity(struct ks_str host, char *out, size_t room);

#endif
