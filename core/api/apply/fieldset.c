/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/apply/fieldset.h"

/* Deeper than any path: JSON is decoded to 1,000 levels. */
enum { MOST_ELEMENTS = 1024, FIRST_ENTRIES = 4 };

/* -- entries -------------------------------------------------------------------------------------------------- */

/* Where the element is or would be. */
static uint32_t place_of(const struct ks_fieldset *set, const struct ks_path_element *element, bool *found_r)
{
	uint32_t from = 0, to = set->n;

	*found_r = false;
	/* Sets are mostly filled in their order. */
	if (to && ks_path_element_compare(&set->entries[to - 1].element, element) < 0)
		return to;
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		int c = ks_path_element_compare(&set->entries[middle].element, element);

		if (c == 0) {
			*found_r = true;
			return middle;
		}
		if (c < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

const struct ks_fieldset_entry *ks_fieldset_find(const struct ks_fieldset *set, const struct ks_path_element *element)
{
	bool found;
	uint32_t at = place_of(set, element, &found);

	return found ? &set->entries[at] : NULL;
}

static bool grow(struct ks_arena *arena, struct ks_fieldset *set)
{
	uint32_t cap = set->cap ? set->cap * 2 : FIRST_ENTRIES;
	struct ks_fieldset_entry *entries;

	if (set->n < set->cap)
		return true;
	entries = ks_arena_alloc(arena, cap * sizeof(*entries));
	if (!entries)
		return false;
	if (set->n)
		memcpy(entries, set->entries, set->n * sizeof(*entries));
	set->entries = entries;
	set->cap = cap;
	return true;
}

struct ks_fieldset_entry *ks_fieldset_put(struct ks_arena *arena, struct ks_fieldset *set, const struct ks_path_element *element)
{
	bool found;
	uint32_t at = place_of(set, element, &found);

	if (found)
		return &set->entries[at];
	if (!grow(arena, set))
		return NULL;
	memmove(&set->entries[at + 1], &set->entries[at], (set->n - at) * sizeof(*set->entries));
	set->entries[at] = (struct ks_fieldset_entry){.element = *element};
	set->n++;
	return &set->entries[at];
}

bool ks_fieldset_insert(struct ks_arena *arena, struct ks_fieldset *set, const struct ks_path_element *path, uint32_t n)
{
	struct ks_fieldset_entry *entry = NULL;

	for (uint32_t i = 0; i < n; i++) {
		entry = ks_fieldset_put(arena, entry ? &entry->children : set, &path[i]);
		if (!entry)
			return false;
	}
	if (entry)
		entry->member = true;
	return true;
}

bool ks_fieldset_has(const struct ks_fieldset *set, const struct ks_path_element *path, uint32_t n)
{
	const struct ks_fieldset_entry *entry = NULL;

	for (uint32_t i = 0; i < n; i++) {
		entry = ks_fieldset_find(entry ? &entry->children : set, &path[i]);
		if (!entry)
			return false;
	}
	return entry && entry->member;
}

bool ks_fieldset_equal(const struct ks_fieldset *a, const struct ks_fieldset *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; a->entries != b->entries && i < a->n; i++) {
		const struct ks_fieldset_entry *x = &a->entries[i], *y = &b->entries[i];

		if (x->member != y->member || ks_path_element_compare(&x->element, &y->element) != 0 ||
			!ks_fieldset_equal(&x->children, &y->children))
			return false;
	}
	return true;
}

bool ks_fieldset_within(const struct ks_fieldset *a, const struct ks_fieldset *b)
{
	uint32_t j = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		const struct ks_fieldset_entry *x = &a->entries[i];

		while (j < b->n && ks_path_element_compare(&b->entries[j].element, &x->element) < 0)
			j++;
		if (j == b->n || ks_path_element_compare(&b->entries[j].element, &x->element) != 0)
			return false;
		if ((x->member && !b->entries[j].member) || !ks_fieldset_within(&x->children, &b->entries[j].children))
			return false;
	}
	return true;
}

/* -- set algebra ---------------------------------------------------------------------------------------------- */

/* `y` is NULL where only the first set has the element, and the other way round. Fills `out`; false when out of memory. */
typedef bool (*combiner)(struct ks_arena *arena, const struct ks_fieldset_entry *x, const struct ks_fieldset_entry *y,
	struct ks_fieldset_entry *out);

static bool combine(struct ks_arena *arena, const struct ks_fieldset *a, const struct ks_fieldset *b, combiner how, struct ks_fieldset *out_r)
{
	struct ks_fieldset out = {0};
	uint32_t i = 0, j = 0;

	out.cap = a->n + b->n;
	out.entries = ks_arena_alloc(arena, out.cap * sizeof(*out.entries));
	if (!out.entries)
		return false;
	while (i < a->n || j < b->n) {
		struct ks_fieldset_entry *entry = &out.entries[out.n];
		int c = i == a->n ? 1 : j == b->n ? -1 : ks_path_element_compare(&a->entries[i].element, &b->entries[j].element);
		const struct ks_fieldset_entry *x = c <= 0 ? &a->entries[i++] : NULL, *y = c >= 0 ? &b->entries[j++] : NULL;

		*entry = (struct ks_fieldset_entry){.element = x ? x->element : y->element};
		if (!how(arena, x, y, entry))
			return false;
		if (entry->member || entry->children.n)
			out.n++;
	}
	*out_r = out;
	return true;
}

/* The same where only what `a` has can come out: costs little when `a` is small, however large `b` is. */
static bool combine_with(struct ks_arena *arena, const struct ks_fieldset *a, const struct ks_fieldset *b, combiner how, struct ks_fieldset *out_r)
{
	struct ks_fieldset out = {.cap = a->n};
	bool search = b->n / 8 > a->n;
	uint32_t j = 0;

	out.entries = ks_arena_alloc(arena, out.cap * sizeof(*out.entries));
	if (!out.entries)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct ks_fieldset_entry *x = &a->entries[i], *y = NULL;
		struct ks_fieldset_entry *entry = &out.entries[out.n];

		if (search) {
			y = ks_fieldset_find(b, &x->element);
		} else {
			while (j < b->n && ks_path_element_compare(&b->entries[j].element, &x->element) < 0)
				j++;
			if (j < b->n && !ks_path_element_compare(&b->entries[j].element, &x->element))
				y = &b->entries[j];
		}
		*entry = (struct ks_fieldset_entry){.element = x->element};
		if (!how(arena, x, y, entry))
			return false;
		if (entry->member || entry->children.n)
			out.n++;
	}
	*out_r = out;
	return true;
}

static bool join(struct ks_arena *arena, const struct ks_fieldset_entry *x, const struct ks_fieldset_entry *y, struct ks_fieldset_entry *out)
{
	if (!x || !y) {
		*out = x ? *x : *y;
		return true;
	}
	out->member = x->member || y->member;
	return ks_fieldset_union(arena, &x->children, &y->children, &out->children);
}

bool ks_fieldset_union(struct ks_arena *arena, const struct ks_fieldset *a, const struct ks_fieldset *b, struct ks_fieldset *out_r)
{
	if (a->n && b->n && a->entries != b->entries)
		return combine(arena, a, b, join, out_r);
	*out_r = a->n ? *a : *b;
	return true;
}

bool ks_fieldset_union_all(struct ks_arena *arena, struct ks_fieldset *sets, uint32_t n, struct ks_fieldset *out_r)
{
	for (; n > 1; n = (n + 1) / 2)
		for (uint32_t i = 0; i < n; i += 2)
			if (i + 1 == n)
				sets[i / 2] = sets[i];
			else if (!ks_fieldset_union(arena, &sets[i], &sets[i + 1], &sets[i / 2]))
				return false;
	*out_r = n ? sets[0] : (struct ks_fieldset){0};
	return true;
}

static bool meet(struct ks_arena *arena, const struct ks_fieldset_entry *x, const struct ks_fieldset_entry *y, struct ks_fieldset_entry *out)
{
	if (!y)
		return true;
	out->member = x->member && y->member;
	return ks_fieldset_intersection(arena, &x->children, &y->children, &out->children);
}

bool ks_fieldset_intersection(struct ks_arena *arena, const struct ks_fieldset *a, const struct ks_fieldset *b, struct ks_fieldset *out_r)
{
	if (a->n && b->n)
		return a->n <= b->n ? combine_with(arena, a, b, meet, out_r) : combine_with(arena, b, a, meet, out_r);
	*out_r = (struct ks_fieldset){0};
	return true;
}

static bool leave(struct ks_arena *arena, const struct ks_fieldset_entry *x, const struct ks_fieldset_entry *y, struct ks_fieldset_entry *out)
{
	if (!y) {
		*out = *x;
		return true;
	}
	out->member = x->member && !y->member;
	return ks_fieldset_difference(arena, &x->children, &y->children, &out->children);
}

bool ks_fieldset_difference(struct ks_arena *arena, const struct ks_fieldset *a, const struct ks_fieldset *b, struct ks_fieldset *out_r)
{
	if (a->n && b->n)
		return combine_with(arena, a, b, leave, out_r);
	*out_r = *a;
	return true;
}

static bool leave_all(struct ks_arena *arena, const struct ks_fieldset_entry *x, const struct ks_fieldset_entry *y, struct ks_fieldset_entry *out)
{
	if (y && y->member)
		return true;
	out->member = x->member;
	out->children = x->children;
	return !y || ks_fieldset_without(arena, &x->children, &y->children, &out->children);
}

bool ks_fieldset_without(struct ks_arena *arena, const struct ks_fieldset *a, const struct ks_fieldset *b, struct ks_fieldset *out_r)
{
	if (a->n && b->n)
		return combine_with(arena, a, b, leave_all, out_r);
	*out_r = *a;
	return true;
}

/* -- walking -------------------------------------------------------------------------------------------------- */

struct walk {
	void (*visit)(void *arg, const struct ks_path_element *path, uint32_t n);
	void *arg;
	struct ks_path_element path[MOST_ELEMENTS];
};

static void walk(struct walk *w, const struct ks_fieldset *set, uint32_t depth)
{
	if (depth == MOST_ELEMENTS)
		return;
	for (uint32_t i = 0; i < set->n; i++) {
		if (!set->entries[i].member)
			continue;
		w->path[depth] = set->entries[i].element;
		w->visit(w->arg, w->path, depth + 1);
	}
	for (uint32_t i = 0; i < set->n; i++) {
		w->path[depth] = set->entries[i].element;
		walk(w, &set->entries[i].children, depth + 1);
	}
}

void ks_fieldset_each(const struct ks_fieldset *set, void (*visit)(void *arg, const struct ks_path_element *path, uint32_t n), void *arg)
{
	struct walk w;

	w.visit = visit;
	w.arg = arg;
	walk(&w, set, 0);
}
