/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Reads: one object, a frozen state, a walk in order. */
#include <string.h>

#include "core/cache/internal.h"

uint64_t ks_cache_revision(const struct ks_cache_resource *r)
{
	return atomic_load_explicit(&r->feed->revision, memory_order_acquire);
}

static struct ks_root *current(const struct ks_cache_resource *r)
{
	return atomic_load_explicit(&r->roots.current, memory_order_acquire);
}

uint64_t ks_cache_count(const struct ks_cache_resource *r)
{
	uint64_t count;

	ks_rcu_read_lock();
	count = current(r)->count;
	ks_rcu_read_unlock();
	return count;
}

uint64_t ks_cache_bytes(const struct ks_cache_resource *r)
{
	uint64_t bytes;

	ks_rcu_read_lock();
	bytes = current(r)->bytes;
	ks_rcu_read_unlock();
	return bytes;
}

/* The tree's own reference outlives the read section, so counting up is safe. */
struct ks_object *ks_cache_get(struct ks_cache_resource *r, struct ks_str ns, struct ks_str name)
{
	struct ks_object *object;

	ks_rcu_read_lock();
	object = ks_tree_find(current(r)->top, ns, name);
	if (object)
		ks_object_ref(object);
	ks_rcu_read_unlock();
	return object;
}

/* -- states ----------------------------------------------------------------------------------------------------- */

/* The revision is read before the root: all that happened up to it is in the root, and if the root has more, it says up to where. */
struct ks_root *ks_cache_take_root(struct ks_cache_resource *r, uint64_t *revision_r)
{
	struct ks_root *root;

	*revision_r = ks_cache_revision(r);
	ks_rcu_read_lock();
	root = ks_roots_take(&r->roots);
	ks_rcu_read_unlock();
	if (root->revision > *revision_r)
		*revision_r = root->revision;
	return root;
}

void ks_cache_snapshot(struct ks_cache_resource *r, struct ks_snapshot *out_r)
{
	struct ks_root *root = ks_cache_take_root(r, &out_r->revision);

	out_r->root = root;
	out_r->count = root->count;
	out_r->resource = r;
}

void ks_snapshot_release(struct ks_snapshot *snapshot)
{
	ks_root_unref(snapshot->root);
	snapshot->root = NULL;
}

/* -- walks ------------------------------------------------------------------------------------------------------ */

/* "ns/name", or a name alone where the namespace is known or there is none. */
static void split_start(const struct ks_cache_resource *r, struct ks_str ns, struct ks_str start, struct ks_str *ns_r, struct ks_str *name_r)
{
	const char *slash = start.n ? memchr(start.p, '/', start.n) : NULL;

	*ns_r = ns;
	*name_r = start;
	if (!r->namespaced)
		return;
	if (slash) {
		*ns_r = ns.n ? ns : ks_str_of(start.p, (size_t)(slash - start.p));
		*name_r = ks_str_of(slash + 1, start.n - (size_t)(slash + 1 - start.p));
	} else if (ns.n == 0) {
		*ns_r = start;
		*name_r = (struct ks_str){0};
	}
}

void ks_cursor_init(struct ks_cursor *cursor, const struct ks_snapshot *snapshot, struct ks_str ns, struct ks_str start)
{
	const struct ks_tree_node *node = ((const struct ks_root *)snapshot->root)->top;
	struct ks_str from_ns, from_name;

	cursor->depth = 0;
	cursor->ns = ns;
	cursor->single_namespace = ns.n > 0;
	split_start(snapshot->resource, ns, start, &from_ns, &from_name);
	while (node) {
		bool leaf = node->level == 0;

		cursor->stack[cursor->depth] = node;
		cursor->at[cursor->depth++] =
			(uint16_t)(leaf ? ks_tree_place_of(node, from_ns, from_name) : ks_tree_child_of(node, from_ns, from_name));
		node = leaf ? NULL : node->child[cursor->at[cursor->depth - 1]];
	}
}

/* Down to the first leaf below the next child of the lowest inner node that has one. */
static bool next_leaf(struct ks_cursor *cursor)
{
	int level = cursor->depth - 2;
	const struct ks_tree_node *node;

	while (level >= 0 && cursor->at[level] + 1 >= ((const struct ks_tree_node *)cursor->stack[level])->n)
		level--;
	if (level < 0)
		return false;
	cursor->at[level]++;
	for (; level + 1 < cursor->depth; level++) {
		node = cursor->stack[level];
		cursor->stack[level + 1] = node->child[cursor->at[level]];
		cursor->at[level + 1] = 0;
	}
	return true;
}

struct ks_object *ks_cursor_next(struct ks_cursor *cursor)
{
	const struct ks_tree_node *leaf;
	struct ks_object *object;
	int last = cursor->depth - 1;

	if (last < 0)
		return NULL;
	leaf = cursor->stack[last];
	if (cursor->at[last] >= leaf->n) {
		if (!next_leaf(cursor)) {
			cursor->depth = 0;
			return NULL;
		}
		leaf = cursor->stack[last];
	}
	object = leaf->objects[cursor->at[last]++];
	if (cursor->single_namespace && !ks_str_eq(object->ns, cursor->ns)) {
		cursor->depth = 0;
		return NULL;
	}
	return object;
}

/* No name has such a byte: it stands behind all of its namespace. */
static uint64_t end_of(const struct ks_cursor *cursor)
{
	const struct ks_tree_node *top = cursor->stack[0];

	if (!cursor->single_namespace)
		return ks_tree_before(top, top->n);
	return ks_tree_rank(top, cursor->ns, KS_STR_LIT("\xff"));
}

uint64_t ks_cursor_left(const struct ks_cursor *cursor)
{
	uint64_t at = 0, end;

	if (cursor->depth == 0)
		return 0;
	for (int i = 0; i < cursor->depth; i++)
		at += ks_tree_before(cursor->stack[i], cursor->at[i]);
	end = end_of(cursor);
	return end > at ? end - at : 0;
}
