/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Which paths differ between two trees. */
#include "core/api/apply/typed.h"

#include <errno.h>

#include "core/api/apply/typed_items.h"
#include "core/api/apply/typed_members.h"

enum { MOST_DEPTH = 1024 };

struct walk {
	struct ks_arena *arena;
	const struct ks_schema *s;
	struct ks_comparison *out;
	uint32_t depth;
	bool failed;
	struct ks_path_element path[MOST_DEPTH];
};

/* -- equality ------------------------------------------------------------------------------------------------- */

static bool same(struct walk *w, const struct ks_value *a, const struct ks_value *b);

static bool same_struct(struct walk *w, const struct ks_value *a, const struct ks_value *b)
{
	for (uint16_t slot = 0; slot < w->s->types[a->type].n_fields; slot++) {
		struct ks_value zero_a, zero_b;
		const struct ks_value *x, *y;

		if (a->n && b->n && a->items[slot].kind == KS_ABSENT && b->items[slot].kind == KS_ABSENT &&
			a->items[slot].flags == b->items[slot].flags && a->flags == b->flags)
			continue;
		x = ks_typed_slot(w->s, a, slot, &zero_a);
		y = ks_typed_slot(w->s, b, slot, &zero_b);
		if (x != y && (!x || !y || !same(w, x, y)))
			return false;
	}
	return true;
}

static bool same_map(struct walk *w, const struct ks_value *a, const struct ks_value *b)
{
	struct ks_members others;

	if (a->n != b->n)
		return false;
	if (!ks_members_init(w->arena, b, &others)) {
		w->failed = true;
		return false;
	}
	for (uint32_t i = 0; i < a->n; i++) {
		const struct ks_member *other = ks_members_find(&others, i, a->members[i].key);

		if (!other || !same(w, &a->members[i].value, &other->value))
			return false;
	}
	return true;
}

static double number_of(const struct ks_value *v)
{
	return v->kind == KS_INT ? (double)v->integer : v->number;
}

static bool same(struct walk *w, const struct ks_value *a, const struct ks_value *b)
{
	if (a->kind != b->kind)
		return (a->kind == KS_INT || a->kind == KS_FLOAT) && (b->kind == KS_INT || b->kind == KS_FLOAT) && number_of(a) == number_of(b);
	switch (a->kind) {
	case KS_BOOL:
		return a->boolean == b->boolean;
	case KS_INT:
		return a->integer == b->integer;
	case KS_FLOAT:
		return a->number == b->number;
	case KS_STRING:
		return ks_str_eq(ks_value_str(a), ks_value_str(b));
	case KS_LIST:
		if (a->n != b->n)
			return false;
		for (uint32_t i = 0; i < a->n; i++)
			if (!same(w, &a->items[i], &b->items[i]))
				return false;
		return true;
	case KS_MAP:
		return same_map(w, a, b);
	case KS_STRUCT:
		return a->type == b->type && same_struct(w, a, b);
	default:
		return true;
	}
}

/* -- differences ---------------------------------------------------------------------------------------------- */

static void compare(struct walk *w, struct ks_shape shape, const struct ks_value *l, const struct ks_value *r);

static void put(struct walk *w, struct ks_fieldset *set)
{
	if (!ks_fieldset_insert(w->arena, set, w->path, w->depth))
		w->failed = true;
}

static void put_below(struct walk *w, struct ks_fieldset *set, const struct ks_path_element *element)
{
	if (w->depth == MOST_DEPTH)
		return;
	w->path[w->depth++] = *element;
	put(w, set);
	w->depth--;
}

static void compare_below(struct walk *w, struct ks_shape shape, const struct ks_path_element *element, const struct ks_value *l,
	const struct ks_value *r)
{
	if (w->depth == MOST_DEPTH)
		return;
	w->path[w->depth++] = *element;
	compare(w, shape, l, r);
	w->depth--;
}

static void compare_leaf(struct walk *w, const struct ks_value *l, const struct ks_value *r)
{
	if (!l)
		put(w, &w->out->added);
	else if (!r)
		put(w, &w->out->removed);
	else if (!same(w, l, r))
		put(w, &w->out->modified);
}

static void compare_structs(struct walk *w, const struct ks_value *l, const struct ks_value *r)
{
	const struct ks_type *t = &w->s->types[l ? l->type : r->type];

	for (uint16_t slot = 0; slot < t->n_fields && !w->failed; slot++) {
		const struct ks_field *field = &w->s->fields[t->first_field + slot];
		struct ks_value zero_l, zero_r;
		const struct ks_value *x = l ? ks_typed_slot(w->s, l, slot, &zero_l) : NULL;
		const struct ks_value *y = r ? ks_typed_slot(w->s, r, slot, &zero_r) : NULL;
		struct ks_path_element element;

		if (x == y) /* both missing, or shared */
			continue;
		element = ks_path_field(ks_str_of(ks_schema_text(w->s, field->name), field->name_n));
		compare_below(w, ks_shape_of_field(w->s, field), &element, x, y);
	}
}

static void compare_maps(struct walk *w, struct ks_shape shape, const struct ks_value *l, const struct ks_value *r)
{
	struct ks_shape item = ks_shape_of_type(w->s, shape.type ? w->s->types[shape.type].element : 0);
	struct ks_members left, right;

	if (!ks_members_init(w->arena, l, &left) || !ks_members_init(w->arena, r, &right)) {
		w->failed = true;
		return;
	}
	for (uint32_t i = 0; l && i < l->n && !w->failed; i++) {
		const struct ks_member *member = ks_members_at(&left, i), *other = ks_members_find(&right, i, member->key);
		struct ks_path_element element = ks_path_field(member->key);

		compare_below(w, item, &element, &member->value, other ? &other->value : NULL);
	}
	for (uint32_t i = 0; r && i < r->n && !w->failed; i++) {
		const struct ks_member *member = ks_members_at(&right, i);
		struct ks_path_element element = ks_path_field(member->key);

		if (!ks_members_find(&left, i, member->key))
			compare_below(w, item, &element, NULL, &member->value);
	}
}

/* -- lists: items by key -------------------------------------------------------------------------------------- */

/* Are the items with a key that is there several times the same ones, in the same order, on both sides? */
static bool same_doubles(struct walk *w, const struct ks_value *l, const struct ks_typed_items *of_l, uint32_t place_l,
	const struct ks_value *r, const struct ks_typed_items *of_r, uint32_t place_r)
{
	uint32_t i = of_l->items[place_l].first, j = of_r->items[place_r].first;

	if (of_l->items[place_l].count != of_r->items[place_r].count)
		return false;
	while (i != KS_NO_ITEM && same(w, &l->items[i], &r->items[j])) {
		i = of_l->next[i];
		j = of_r->next[j];
	}
	return i == KS_NO_ITEM;
}

static const struct ks_value *first_of(const struct ks_value *list, const struct ks_typed_item *item)
{
	return item ? &list->items[item->first] : NULL;
}

static void compare_lists(struct walk *w, struct ks_shape shape, const struct ks_value *l, const struct ks_value *r)
{
	struct ks_shape below = ks_shape_of_type(w->s, w->s->types[shape.type].element);
	struct ks_typed_items left, right;
	uint32_t i = 0, j = 0;

	if (!ks_typed_items(w->arena, w->s, shape, l, &left) || !ks_typed_items(w->arena, w->s, shape, r, &right)) {
		w->failed = true;
		return;
	}
	while ((i < left.n || j < right.n) && !w->failed) {
		int c = i == left.n ? 1 : j == right.n ? -1 : ks_path_element_compare(&left.items[i].element, &right.items[j].element);
		const struct ks_typed_item *x = c <= 0 ? &left.items[i++] : NULL, *y = c >= 0 ? &right.items[j++] : NULL;
		const struct ks_path_element *element = x ? &x->element : &y->element;
		uint32_t n_x = x ? x->count : 0, n_y = y ? y->count : 0;

		if (n_x <= 1 && n_y <= 1) {
			compare_below(w, below, element, first_of(l, x), first_of(r, y));
		} else if (n_x >= 2 && n_y >= 2) {
			if (!same_doubles(w, l, &left, i - 1, r, &right, j - 1))
				put_below(w, &w->out->modified, element);
		} else if (n_x >= 2) {
			if (y)
				compare_below(w, below, element, NULL, first_of(r, y));
			put_below(w, &w->out->removed, element);
		} else {
			if (x)
				compare_below(w, below, element, first_of(l, x), NULL);
			put_below(w, &w->out->added, element);
		}
	}
}

/* -- values --------------------------------------------------------------------------------------------------- */

static bool is_container(const struct ks_value *v)
{
	return v && (v->kind == KS_MAP || v->kind == KS_STRUCT || v->kind == KS_LIST);
}

static bool is_granular(struct ks_shape shape, const struct ks_value *l, const struct ks_value *r)
{
	if (shape.relation == KS_RELATION_FREE)
		return (l && l->kind == KS_MAP) || (r && r->kind == KS_MAP);
	return shape.relation != KS_RELATION_LEAF && (is_container(l) || is_container(r));
}

static const struct ks_value *if_kind(const struct ks_value *v, enum ks_value_kind kind)
{
	return v && v->kind == kind ? v : NULL;
}

static void compare(struct walk *w, struct ks_shape shape, const struct ks_value *l, const struct ks_value *r)
{
	enum ks_value_kind kind = is_container(r) ? r->kind : l ? l->kind : KS_NULL;

	if (!is_granular(shape, l, r) || (ks_typed_is_empty(w->s, l) && ks_typed_is_empty(w->s, r))) {
		compare_leaf(w, l, r);
		return;
	}
	/* A scalar in a free form that became an object, or the other way round. */
	if (shape.relation == KS_RELATION_FREE && l && r && l->kind != r->kind && l->kind != KS_NULL && r->kind != KS_NULL) {
		compare_leaf(w, l, r);
		kind = KS_MAP;
	}
	if (kind == KS_STRUCT)
		compare_structs(w, if_kind(l, kind), if_kind(r, kind));
	else if (kind == KS_MAP)
		compare_maps(w, shape, if_kind(l, kind), if_kind(r, kind));
	else
		compare_lists(w, shape, if_kind(l, kind), if_kind(r, kind));
	if (!l)
		put(w, &w->out->added);
	else if (!r)
		put(w, &w->out->removed);
}

static void begin(struct walk *w, struct ks_arena *arena, const struct ks_schema *s, struct ks_comparison *out)
{
	/* The path is long, and not set before it is used. */
	w->arena = arena;
	w->s = s;
	w->out = out;
	w->depth = 0;
	w->failed = false;
}

int ks_typed_same(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *a, const struct ks_value *b)
{
	struct walk w;
	bool is_same;

	begin(&w, arena, s, NULL);
	is_same = same(&w, a, b);
	return w.failed ? -ENOMEM : is_same;
}

bool ks_typed_compare(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *before, const struct ks_value *after,
	struct ks_comparison *out_r)
{
	struct ks_comparison out = {0};
	struct walk w;

	begin(&w, arena, s, &out);
	compare_structs(&w, before, after);
	if (!w.failed)
		*out_r = out;
	return !w.failed;
}
