/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Roots: the states of a resource that somebody looks at.
 *
 * The applier publishes a new root with each batch. A reader holds a root by its
 * count, taken under RCU and only if it isn't zero. What a version lets go is put on the
 * root before it; when a root dies its garbage goes to the next older living root if
 * that one can still reach it, and is freed otherwise. So a snapshot that is held for long
 * keeps what it shows, and nothing of what came after. Freeing happens on the reclaiming
 * thread, a grace period after the root's death.
 */
#ifndef KS_CACHE_ROOT_H
#define KS_CACHE_ROOT_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/cache/tree.h"
#include "core/util/rcu.h"

struct ks_roots;

struct ks_root {
	_Atomic uint32_t refs;
	struct ks_roots *roots;
	struct ks_tree_node *top;
	uint64_t count;
	uint64_t bytes; /* of the objects' JSON */
	uint64_t revision; /* the state is complete up to here when it was published */
	uint64_t version;
	uint64_t history_end; /* number of the first history entry that is not in it */
	struct ks_root *older, *newer; /* living roots */
	struct ks_tree_garbage garbage;
	struct ks_rcu_head rcu;
	/* a state made for one reader out of another root and the history */
	struct ks_root *base;
	struct ks_tree_node *own;
	struct ks_object **restored;
	size_t n_restored;
};

/* The living roots of one resource. */
struct ks_roots {
	struct ks_root *_Atomic current; /* holds a count of its own */
	pthread_mutex_t lock; /* the list's links and garbage; never taken by readers */
	struct ks_root *newest;
};

/* An empty first state. 0 or -ENOMEM. */
int ks_roots_init(struct ks_roots *roots, uint64_t version) __attribute__((warn_unused_result));
/* The last state has been cleared (ks_tree_clear) and published; nobody looks any more. It is gone after ks_rcu_barrier, which has to come before
 * ks_roots_fini. */
void ks_roots_close(struct ks_roots *roots);
void ks_roots_fini(struct ks_roots *roots);
/* The applier: `root` (malloc'ed, filled from top to history_end) is the state from now on; `garbage` is what it no longer reaches. */
void ks_roots_publish(struct ks_roots *roots, struct ks_root *root, struct ks_tree_garbage *garbage);
/* The current state, counted. Under RCU. */
struct ks_root *ks_roots_take(struct ks_roots *roots);
void ks_root_unref(struct ks_root *root);

#endif
