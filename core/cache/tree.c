/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/cache/tree.h"

#include <errno.h>
#include <stdlib.h>

/* -- order ------------------------------------------------------------------------------------------------------ */

/* '/' ends a namespace in the store's key, and orders after '-' and '.': "a-b/x" comes before "a/x". */
static int compare_namespaces(struct ks_str a, struct ks_str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;

	if (c || a.n == b.n)
		return c;
	if (a.n < b.n)
		return '/' - (unsigned char)b.p[n];
	return (unsigned char)a.p[n] - '/';
}

int ks_tree_compare(struct ks_str ns, struct ks_str name, const struct ks_object *object)
{
	int c = 0;

	if (ns.n != object->ns.n || (ns.n && memcmp(ns.p, object->ns.p, ns.n) != 0))
		c = compare_namespaces(ns, object->ns);
	if (!c)
		c = ks_str_cmp(name, object->name);
	return c < 0 ? -1 : c > 0;
}

unsigned ks_tree_child_of(const struct ks_tree_node *node, struct ks_str ns, struct ks_str name)
{
	unsigned low = 1, high = node->n;

	while (low < high) { /* the first child that begins after the key */
		unsigned middle = (low + high) / 2;

		if (ks_tree_compare(ns, name, node->first[middle]) < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low - 1;
}

unsigned ks_tree_place_of(const struct ks_tree_node *node, struct ks_str ns, struct ks_str name)
{
	unsigned low = 0, high = node->n;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (ks_tree_compare(ns, name, node->objects[middle]) <= 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct ks_object *ks_tree_find(const struct ks_tree_node *top, struct ks_str ns, struct ks_str name)
{
	unsigned place;

	if (!top)
		return NULL;
	while (top->level > 0)
		top = top->child[ks_tree_child_of(top, ns, name)];
	place = ks_tree_place_of(top, ns, name);
	if (place == top->n || ks_tree_compare(ns, name, top->objects[place]) != 0)
		return NULL;
	return top->objects[place];
}

/* -- counting --------------------------------------------------------------------------------------------------- */

static uint32_t total_of(const struct ks_tree_node *node)
{
	return node->level == 0 ? node->n : node->below;
}

uint64_t ks_tree_before(const struct ks_tree_node *node, unsigned at)
{
	uint64_t total = 0;

	if (node->level == 0)
		return at;
	for (unsigned i = 0; i < at; i++)
		total += total_of(node->child[i]);
	return total;
}

uint64_t ks_tree_rank(const struct ks_tree_node *top, struct ks_str ns, struct ks_str name)
{
	uint64_t rank = 0;

	while (top && top->level > 0) {
		unsigned at = ks_tree_child_of(top, ns, name);

		rank += ks_tree_before(top, at);
		top = top->child[at];
	}
	return top ? rank + ks_tree_place_of(top, ns, name) : 0;
}

static void count_again(struct ks_tree_node *node)
{
	if (node->level > 0)
		node->below = (uint32_t)ks_tree_before(node, node->n);
}

/* -- nodes ------------------------------------------------------------------------------------------------------ */

/* Enough for one edit: each level may be copied, split (or joined with a copied neighbour), and the tree may grow by one. */
static int fill_pool(struct ks_tree_edit *edit)
{
	struct ks_tree_pool *pool = edit->pool;
	uint32_t wanted = 3;

	if (edit->top)
		wanted += 2u * (edit->top->level + 1u);
	while (pool->n < wanted) {
		struct ks_tree_node *node = malloc(sizeof(*node));

		if (!node)
			return -ENOMEM;
		node->next = pool->spare;
		pool->spare = node;
		pool->n++;
	}
	return 0;
}

void ks_tree_pool_fini(struct ks_tree_pool *pool)
{
	struct ks_tree_node *node;

	while ((node = pool->spare)) {
		pool->spare = node->next;
		free(node);
	}
	pool->n = 0;
}

static struct ks_tree_node *take_node(struct ks_tree_edit *edit, uint16_t level)
{
	struct ks_tree_node *node = edit->pool->spare;

	edit->pool->spare = node->next;
	edit->pool->n--;
	node->born = edit->version;
	node->n = 0;
	node->level = level;
	node->below = 0;
	node->next = NULL;
	if (edit->version == KS_TREE_PRIVATE) {
		node->next = edit->own;
		edit->own = node;
	}
	return node;
}

/* The edit no longer needs the node: a node that nobody else has seen is spare again. */
static void drop_node(struct ks_tree_edit *edit, struct ks_tree_node *node)
{
	if (edit->version == KS_TREE_PRIVATE)
		return; /* its own ones are freed together, others belong to the state that it came from */
	if (node->born == edit->version) {
		node->next = edit->pool->spare;
		edit->pool->spare = node;
		edit->pool->n++;
		return;
	}
	node->next = edit->garbage.nodes;
	edit->garbage.nodes = node;
}

static bool drop_object(struct ks_tree_edit *edit, struct ks_object *object)
{
	if (edit->version == KS_TREE_PRIVATE)
		return false;
	if (object->born == edit->version)
		return true;
	object->garbage = edit->garbage.objects;
	edit->garbage.objects = object;
	return false;
}

/* A node that may be changed in place of *link. */
static struct ks_tree_node *own_node(struct ks_tree_edit *edit, struct ks_tree_node **link)
{
	struct ks_tree_node *old = *link, *copy;

	if (old->born == edit->version)
		return old;
	copy = take_node(edit, old->level);
	copy->n = old->n;
	copy->below = old->below;
	if (old->level == 0) {
		memcpy(copy->objects, old->objects, old->n * sizeof(old->objects[0]));
	} else {
		memcpy(copy->first, old->first, old->n * sizeof(old->first[0]));
		memcpy(copy->child, old->child, old->n * sizeof(old->child[0]));
	}
	drop_node(edit, old);
	*link = copy;
	return copy;
}

static struct ks_object *first_of(const struct ks_tree_node *node)
{
	return node->level == 0 ? node->objects[0] : node->first[0];
}

static unsigned capacity_of(const struct ks_tree_node *node)
{
	return node->level == 0 ? KS_TREE_LEAF : KS_TREE_INNER;
}

/* Opens or closes a gap of `by` places at `at`. */
static void shift(struct ks_tree_node *node, unsigned at, int by)
{
	unsigned from = by > 0 ? at : at + (unsigned)-by;
	unsigned to = by > 0 ? at + (unsigned)by : at;
	unsigned n = node->n - from;

	if (node->level == 0) {
		memmove(node->objects + to, node->objects + from, n * sizeof(node->objects[0]));
	} else {
		memmove(node->first + to, node->first + from, n * sizeof(node->first[0]));
		memmove(node->child + to, node->child + from, n * sizeof(node->child[0]));
	}
	node->n = (uint16_t)((int)node->n + by);
}

/* Appends the places of `from` beginning at `at` to `to`. */
static void move_tail(struct ks_tree_node *from, unsigned at, struct ks_tree_node *to)
{
	unsigned n = from->n - at;

	if (from->level == 0) {
		memcpy(to->objects + to->n, from->objects + at, n * sizeof(from->objects[0]));
	} else {
		memcpy(to->first + to->n, from->first + at, n * sizeof(from->first[0]));
		memcpy(to->child + to->n, from->child + at, n * sizeof(from->child[0]));
	}
	to->n = (uint16_t)(to->n + n);
}

/* -- put -------------------------------------------------------------------------------------------------------- */

/* Splits a full node in which a place at `at` is wanted; names that come in order fill nodes to the end. */
static struct ks_tree_node *split(struct ks_tree_edit *edit, struct ks_tree_node *node, unsigned at)
{
	struct ks_tree_node *right = take_node(edit, node->level);
	unsigned middle = at == node->n ? node->n : node->n / 2u;

	move_tail(node, middle, right);
	node->n = (uint16_t)middle;
	return right;
}

static void set_place(struct ks_tree_node *node, unsigned at, struct ks_object *object, struct ks_tree_node *child)
{
	shift(node, at, 1);
	if (node->level == 0) {
		node->objects[at] = object;
	} else {
		node->first[at] = object;
		node->child[at] = child;
	}
}

/* Puts something at `at`; returns the new right half when the node had to be split. */
static struct ks_tree_node *insert(
	struct ks_tree_edit *edit, struct ks_tree_node *node, unsigned at, struct ks_object *object, struct ks_tree_node *child)
{
	struct ks_tree_node *right;

	if (node->n < capacity_of(node)) {
		set_place(node, at, object, child);
		return NULL;
	}
	right = split(edit, node, at);
	if (at >= node->n)
		set_place(right, at - node->n, object, child);
	else
		set_place(node, at, object, child);
	count_again(node);
	count_again(right);
	return right;
}

static struct ks_tree_node *put_leaf(struct ks_tree_edit *edit, struct ks_tree_node *leaf, struct ks_object *object, struct ks_object **previous)
{
	unsigned at = ks_tree_place_of(leaf, object->ns, object->name);

	if (at < leaf->n && ks_tree_compare(object->ns, object->name, leaf->objects[at]) == 0) {
		*previous = leaf->objects[at];
		leaf->objects[at] = object;
		return NULL;
	}
	return insert(edit, leaf, at, object, NULL);
}

static struct ks_tree_node *put_below(struct ks_tree_edit *edit, struct ks_tree_node **link, struct ks_object *object, struct ks_object **previous)
{
	struct ks_tree_node *node = own_node(edit, link), *right;
	unsigned at;

	if (node->level == 0)
		return put_leaf(edit, node, object, previous);
	at = ks_tree_child_of(node, object->ns, object->name);
	right = put_below(edit, &node->child[at], object, previous);
	node->below += *previous == NULL;
	node->first[at] = first_of(node->child[at]);
	if (!right)
		return NULL;
	return insert(edit, node, at + 1, first_of(right), right);
}

static void grow(struct ks_tree_edit *edit, struct ks_tree_node *right)
{
	struct ks_tree_node *top = take_node(edit, (uint16_t)(edit->top->level + 1));

	set_place(top, 0, first_of(edit->top), edit->top);
	set_place(top, 1, first_of(right), right);
	count_again(top);
	edit->top = top;
}

int ks_tree_put(struct ks_tree_edit *edit, struct ks_object *object, struct ks_object **previous_r, bool *previous_owned_r)
{
	struct ks_tree_node *right;
	int result = fill_pool(edit);

	if (result)
		return result;
	*previous_r = NULL;
	*previous_owned_r = false;
	if (edit->version != KS_TREE_PRIVATE)
		object->born = edit->version;
	if (!edit->top)
		edit->top = take_node(edit, 0);
	right = put_below(edit, &edit->top, object, previous_r);
	if (right)
		grow(edit, right);
	if (*previous_r)
		*previous_owned_r = drop_object(edit, *previous_r);
	else
		edit->count++;
	return 0;
}

/* -- remove ----------------------------------------------------------------------------------------------------- */

/* Joins child `at` with a neighbour when it has become small and both fit well into one. */
static void join(struct ks_tree_edit *edit, struct ks_tree_node *node, unsigned at)
{
	struct ks_tree_node *child = node->child[at], *left, *right;
	unsigned capacity = capacity_of(child);

	if (child->n == 0) {
		drop_node(edit, child);
		shift(node, at, -1);
		return;
	}
	node->first[at] = first_of(child);
	if (child->n >= capacity / 4 || node->n == 1)
		return;
	if (at + 1u == node->n)
		at--;
	right = node->child[at + 1];
	if (node->child[at]->n + right->n > capacity * 3 / 4)
		return;
	left = own_node(edit, &node->child[at]);
	move_tail(right, 0, left);
	count_again(left);
	drop_node(edit, right);
	shift(node, at + 1, -1);
}

static void remove_below(struct ks_tree_edit *edit, struct ks_tree_node **link, struct ks_str ns, struct ks_str name)
{
	struct ks_tree_node *node = own_node(edit, link);
	unsigned at;

	if (node->level == 0) {
		shift(node, ks_tree_place_of(node, ns, name), -1);
		return;
	}
	at = ks_tree_child_of(node, ns, name);
	remove_below(edit, &node->child[at], ns, name);
	node->below--;
	join(edit, node, at);
}

/* A top with a single child, or with nothing in it, is not needed. */
static void shrink(struct ks_tree_edit *edit)
{
	while (edit->top && edit->top->n <= 1) {
		struct ks_tree_node *top = edit->top;

		if (top->n == 1 && top->level == 0)
			return;
		edit->top = top->n == 0 ? NULL : top->child[0];
		drop_node(edit, top);
	}
}

int ks_tree_remove(struct ks_tree_edit *edit, struct ks_str ns, struct ks_str name, struct ks_object **previous_r, bool *previous_owned_r)
{
	struct ks_object *found = ks_tree_find(edit->top, ns, name);
	int result;

	if (found) {
		result = fill_pool(edit);
		if (result)
			return result;
		/* the key may be a view into the object that goes: it stays valid, garbage is freed later, and an owned one by the caller */
		remove_below(edit, &edit->top, ns, name);
		shrink(edit);
		edit->count--;
	}
	*previous_r = found;
	*previous_owned_r = found && drop_object(edit, found);
	return 0;
}

/* -- whole trees ------------------------------------------------------------------------------------------------ */

static void free_nodes(struct ks_tree_node *node)
{
	struct ks_tree_node *next;

	for (; node; node = next) {
		next = node->next;
		free(node);
	}
}

/* One level above (or, with `objects`, the leaves): nodes three quarters full, so that the first inserts don't split them. NULL: out of memory, all
 * freed. */
static struct ks_tree_node *build_level(struct ks_tree_edit *edit, struct ks_object **objects, size_t n, struct ks_tree_node *below, uint16_t level)
{
	struct ks_tree_node *first = NULL, **last = &first, *node = NULL;
	unsigned fill = (level == 0 ? KS_TREE_LEAF : KS_TREE_INNER) * 3u / 4u;
	size_t i = 0;

	while (objects ? i < n : below != NULL) {
		if (!node || node->n == fill) {
			node = malloc(sizeof(*node));
			if (!node)
				break;
			*node = (struct ks_tree_node){.born = edit->version, .level = level};
			*last = node;
			last = &node->next;
		}
		if (objects) {
			objects[i]->born = edit->version;
			node->objects[node->n++] = objects[i++];
			continue;
		}
		node->first[node->n] = first_of(below);
		node->child[node->n++] = below;
		node->below += total_of(below);
		below = below->next;
	}
	if (node)
		return first;
	free_nodes(first);
	return NULL;
}

static void free_levels(struct ks_tree_node *first)
{
	struct ks_tree_node *below = first->level > 0 ? first->child[0] : NULL;

	free_nodes(first);
	if (below)
		free_levels(below);
}

int ks_tree_build(struct ks_tree_edit *edit, struct ks_object **objects, size_t n)
{
	struct ks_tree_node *level, *above;

	for (size_t i = 1; i < n; i++)
		if (ks_tree_compare(objects[i - 1]->ns, objects[i - 1]->name, objects[i]) >= 0)
			return -EINVAL;
	if (n == 0)
		return 0;
	level = build_level(edit, objects, n, NULL, 0);
	if (!level)
		return -ENOMEM;
	while (level->next) {
		above = build_level(edit, NULL, 0, level, (uint16_t)(level->level + 1));
		if (!above) {
			free_levels(level);
			return -ENOMEM;
		}
		level = above;
	}
	edit->top = level;
	edit->count = n;
	return 0;
}

static void clear_below(struct ks_tree_edit *edit, struct ks_tree_node *node)
{
	for (unsigned i = 0; i < node->n; i++) {
		if (node->level > 0) {
			clear_below(edit, node->child[i]);
			continue;
		}
		node->objects[i]->garbage = edit->garbage.objects;
		edit->garbage.objects = node->objects[i];
	}
	node->next = edit->garbage.nodes;
	edit->garbage.nodes = node;
}

void ks_tree_clear(struct ks_tree_edit *edit)
{
	if (edit->top)
		clear_below(edit, edit->top);
	edit->top = NULL;
	edit->count = 0;
}

void ks_tree_garbage_free(struct ks_tree_garbage *garbage)
{
	struct ks_object *object;

	free_nodes(garbage->nodes);
	garbage->nodes = NULL;
	while ((object = garbage->objects)) {
		garbage->objects = object->garbage;
		ks_object_unref(object);
	}
}
