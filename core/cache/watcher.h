/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Watchers of one loop. A hub belongs to a loop; it has a set for each resource that is
 * watched there. The applier only marks sets and posts the hub's task, once per batch;
 * the loop then finds out which of its watchers have something to read.
 *
 * Watchers that want one name, one namespace or one value of a field stand in a hash
 * table: an entry is looked up there, so those that it doesn't concern cost nothing.
 * The others ("broad" ones) are all woken.
 */
#ifndef KS_CACHE_WATCHER_H
#define KS_CACHE_WATCHER_H

#include "core/cache/filter.h"
#include "core/cache/index.h"
#include "core/cache/internal.h"

enum { KS_KEY_NONE, KS_KEY_NAME, KS_KEY_NAMESPACE, KS_KEY_FIELD };

struct ks_watch_hub {
	struct ks_watch_hub *next;
	struct ks_loop *loop;
	struct ks_task task;
	_Atomic bool posted;
	struct ks_watch_set *sets; /* the loop's */
	struct ks_watcher *ready, **ready_last; /* the loop's: to be woken, first come first served */
};

struct ks_watch_set {
	struct ks_watch_set *next_of_resource, *next_of_hub;
	struct ks_watch_hub *hub;
	struct ks_cache_resource *resource;
	_Atomic bool dirty; /* new entries since the loop last looked */
	_Atomic uint32_t n_watchers;
	/* the loop's */
	uint64_t seen; /* entries below have been looked at: idle watchers in the table have nothing to read in them */
	struct ks_watcher *broad;
	struct ks_watcher **buckets;
	uint32_t n_buckets, n_keyed;
	uint32_t n_named, n_of_namespace, n_of_field[KS_INDEX_FIELDS_MOST];
};

struct ks_watcher {
	struct ks_watch_set *set;
	struct ks_watcher *next, **link; /* of the set's broad ones, or of a bucket */
	struct ks_watcher *ready_next, **ready_link; /* ready_link NULL: not in the hub's list */
	void (*wake)(struct ks_watcher *watcher, void *arg);
	void *arg;
	uint64_t number; /* of the next entry to read */
	uint64_t after;
	uint64_t revision; /* seen up to here, as far as it was told */
	struct ks_filter filter;
	uint32_t hash;
	uint8_t key_kind;
	uint8_t key_field;
	bool idle; /* has read everything; is to be woken */
	bool lost; /* entries fell out before the loop could look at them */
};

/* Finds or makes the set of a resource on a loop; on the loop's thread. NULL: out of memory. */
struct ks_watch_set *ks_watch_set_of(struct ks_cache_resource *r, struct ks_loop *loop);
/* Puts the watcher where the set finds it. False: out of memory. */
bool ks_watch_set_add(struct ks_watch_set *set, struct ks_watcher *watcher);
void ks_watch_set_remove(struct ks_watcher *watcher);

#endif
