/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * States of the past: the current one with the last events taken back.
 *
 * That takes about a microsecond an event, so there is a limit; what lies further back is
 * read from the store. Who reads a long list page by page asks for the same revision again and
 * again: the last state that was made is kept for a while.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/cache/internal.h"

enum { EVENTS_MOST = 2048 };
#define KEPT_NS (UINT64_C(15) * 1000000000)

/* The state before the entry, in a tree of our own. */
static int undo(struct ks_root *root, struct ks_tree_edit *edit, const struct ks_history_entry *entry)
{
	struct ks_object *replaced;
	bool owned;
	int result;

	if (!entry->previous)
		return ks_tree_remove(edit, entry->object->ns, entry->object->name, &replaced, &owned);
	result = ks_tree_put(edit, entry->previous, &replaced, &owned);
	if (result)
		return result;
	root->restored[root->n_restored++] = ks_object_ref(entry->previous);
	return 0;
}

/* Takes back, newest first, what the history has between number `from` and the state's end. */
static int rewind_to(struct ks_cache_resource *r, struct ks_root *root, uint64_t from)
{
	struct ks_tree_pool pool = {0};
	struct ks_tree_edit edit = {.top = root->base->top, .count = root->base->count, .version = KS_TREE_PRIVATE, .pool = &pool};
	struct ks_history_entry entry;
	uint64_t number = root->base->history_end;
	int result = 0;

	root->restored = calloc(number - from + 1, sizeof(struct ks_object *));
	if (!root->restored)
		return -ENOMEM;
	while (!result && number > from) {
		ks_rcu_read_lock();
		result = ks_history_get_below(&r->history, --number, root->base->history_end, &entry);
		if (!result)
			result = undo(root, &edit, &entry);
		ks_rcu_read_unlock();
	}
	root->top = edit.top;
	root->count = edit.count;
	root->own = edit.own;
	ks_tree_pool_fini(&pool);
	return result;
}

/* -- the one that is kept ------------------------------------------------------------------------------------------- */

int ks_past_init(struct ks_past *past)
{
	*past = (struct ks_past){0};
	return pthread_mutex_init(&past->lock, NULL) ? -ENOMEM : 0;
}

static void keep(struct ks_past *past, struct ks_root *root, uint64_t revision)
{
	struct ks_root *before;

	atomic_fetch_add(&root->refs, 1);
	pthread_mutex_lock(&past->lock);
	before = past->root;
	past->root = root;
	past->revision = revision;
	atomic_store(&past->used_ns, ks_monotonic_ns());
	pthread_mutex_unlock(&past->lock);
	ks_root_unref(before);
}

static struct ks_root *take_kept(struct ks_past *past, uint64_t revision)
{
	struct ks_root *root = NULL;

	if (!atomic_load(&past->used_ns))
		return NULL;
	pthread_mutex_lock(&past->lock);
	if (past->root && past->revision == revision) {
		root = past->root;
		atomic_fetch_add(&root->refs, 1);
		atomic_store(&past->used_ns, ks_monotonic_ns());
	}
	pthread_mutex_unlock(&past->lock);
	return root;
}

static void forget(struct ks_past *past)
{
	struct ks_root *root;

	pthread_mutex_lock(&past->lock);
	root = past->root;
	past->root = NULL;
	atomic_store(&past->used_ns, 0);
	pthread_mutex_unlock(&past->lock);
	ks_root_unref(root);
}

void ks_past_expire(struct ks_past *past)
{
	uint64_t used = atomic_load_explicit(&past->used_ns, memory_order_relaxed);

	if (used && ks_monotonic_ns() - used > KEPT_NS)
		forget(past);
}

void ks_past_close(struct ks_past *past)
{
	forget(past);
}

void ks_past_fini(struct ks_past *past)
{
	pthread_mutex_destroy(&past->lock);
}

/* -- making one ---------------------------------------------------------------------------------------------------- */

static int make(struct ks_cache_resource *r, struct ks_root *base, uint64_t from, struct ks_root **out_r)
{
	struct ks_root *root = calloc(1, sizeof(*root));
	int result;

	if (!root)
		return -ENOMEM;
	atomic_init(&root->refs, 1);
	atomic_fetch_add(&base->refs, 1);
	root->base = base;
	result = rewind_to(r, root, from);
	if (result) {
		ks_root_unref(root);
		return result;
	}
	*out_r = root;
	return 0;
}

static int find(struct ks_cache_resource *r, struct ks_root *base, uint64_t revision, struct ks_root **out_r)
{
	uint64_t from;
	int result;

	ks_rcu_read_lock();
	from = ks_history_find(&r->history, revision, base->history_end);
	ks_rcu_read_unlock();
	if (!ks_history_reaches(&r->history, revision))
		return -ENOENT;
	if (from >= base->history_end) {
		atomic_fetch_add(&base->refs, 1);
		*out_r = base;
		return 0;
	}
	*out_r = take_kept(&r->past, revision);
	if (*out_r)
		return 0;
	if (base->history_end - from > EVENTS_MOST)
		return -ENOENT;
	result = make(r, base, from, out_r);
	if (!result)
		keep(&r->past, *out_r, revision);
	return result;
}

int ks_cache_snapshot_at(struct ks_cache_resource *r, uint64_t revision, struct ks_snapshot *out_r)
{
	uint64_t reached;
	struct ks_root *base = ks_cache_take_root(r, &reached), *root;
	int result = -EAGAIN;

	if (revision <= reached)
		result = find(r, base, revision, &root);
	ks_root_unref(base);
	if (result)
		return result;
	*out_r = (struct ks_snapshot){.root = root, .revision = revision, .count = root->count, .resource = r};
	return 0;
}
