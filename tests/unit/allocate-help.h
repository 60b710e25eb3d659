/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Servers on one store, as far as services' addresses and ports go: each with a cache, pools and a loop of its own. */
#ifndef KS_TESTS_ALLOCATE_HELP_H
#define KS_TESTS_ALLOCATE_HELP_H

#include "tests/unit/registry-help.h"

#include "core/registry/allocate/address.h"
#include "core/registry/allocate/repair.h"
#include "tests/unit/cache-host.h"

struct allocate_server {
	struct ks_router *router;
	struct ks_cache *cache;
	struct ks_pools *pools;
	struct ks_loop *loop;
	bool resumed;
};

struct allocate_group {
	struct cache_host host;
	struct ks_config config;
	struct allocate_server a, b;
};

/* Two servers on a store in memory that has several writers. */
void allocate_open(struct allocate_group *g, const char *addresses, const char *ports);
void allocate_close(struct allocate_group *g);
/* A new server in the place of one. */
void allocate_restart(struct allocate_group *g, struct allocate_server *s);

/* A context of services in namespace "n" on that server; ends with registry_close and allocate_settle. */
void allocate_begin(struct allocate_group *g, struct allocate_server *s, struct registry_test *t);
/* Defaults and the strategy, up to validation. Returns the code. */
int allocate_create(struct allocate_server *s, struct registry_test *t, const char *json);
int allocate_update(struct allocate_server *s, struct registry_test *t, const char *json);
/* Stores t->object (or removes t->old) and gives back what it has no more; it is t->old afterwards. Both caches have seen it. */
void allocate_commit(struct allocate_group *g, struct allocate_server *s, struct registry_test *t, bool remove);
/* The write failed: what was taken has gone back when this returns. */
void allocate_fail(struct allocate_group *g, struct allocate_server *s, struct registry_test *t);

/* Writes a value (NULL: removes it), whatever is there, and waits for the caches. */
void allocate_put(struct allocate_group *g, const char *key, const char *json);
/* The value at a key as text in the test's memory (512 KiB); NULL: nothing is there. */
const char *allocate_get(struct allocate_group *g, const char *key);
/* Turns the loop until `*flag`. */
void allocate_run(struct allocate_server *s, const bool *flag);

#endif
