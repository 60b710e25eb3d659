/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A configuration laid over an object, and parts taken out of one. */
#include <errno.h>

#include "core/api/apply/typed.h"
#include "core/api/apply/typed_items.h"
#include "core/api/apply/typed_members.h"

struct walk {
	struct ks_arena *arena;
	const struct ks_schema *s;
};

/* -- merge ---------------------------------------------------------------------------------------------------- */

static bool merge(struct walk *w, struct ks_shape shape, const struct ks_value *l, const struct ks_value *r, struct ks_value *out);

static bool copy_slots(struct walk *w, const struct ks_value *from, struct ks_value *out)
{
	if (!ks_value_new_struct(w->arena, w->s, from->type, out))
		return false;
	out->flags |= from->flags & KS_TYPED_SPARSE;
	if (from->n)
		memcpy(out->items, from->items, from->n * sizeof(*from->items));
	return true;
}

static bool merge_structs(struct walk *w, const struct ks_value *l, const struct ks_value *r, struct ks_value *out)
{
	if (!copy_slots(w, l, out))
		return false;
	for (uint16_t slot = 0; slot < r->n; slot++) {
		struct ks_value zero;
		const struct ks_value *x;

		if (r->items[slot].kind == KS_ABSENT)
			continue;
		x = ks_typed_slot(w->s, l, slot, &zero);
		if (!merge(w, ks_shape_of_field(w->s, ks_schema_field(w->s, r->type, slot)), x, &r->items[slot], &out->items[slot]))
			return false;
	}
	return true;
}

static bool merge_maps(struct walk *w, struct ks_shape shape, const struct ks_value *l, const struct ks_value *r, struct ks_value *out)
{
	struct ks_shape item = ks_shape_of_type(w->s, shape.type ? w->s->types[shape.type].element : 0);
	struct ks_members before;

	*out = (struct ks_value){.kind = KS_MAP, .type = l->type};
	for (uint32_t i = 0; i < l->n; i++) {
		struct ks_value *value = ks_value_add(w->arena, out, l->members[i].key);

		if (!value)
			return false;
		*value = l->members[i].value;
	}
	if (!ks_members_init(w->arena, l, &before))
		return false;
	for (uint32_t i = 0; i < r->n; i++) {
		const struct ks_member *there = ks_members_find(&before, i, r->members[i].key);
		struct ks_value *value = there ? &out->members[there - l->members].value : ks_value_add(w->arena, out, r->members[i].key);

		if (!value || !merge(w, item, there ? &there->value : NULL, &r->members[i].value, value))
			return false;
	}
	return true;
}

/* The items of both lists, and which of the one is which of the other. */
struct zip {
	const struct ks_value *l, *r;
	struct ks_typed_items left, right;
	struct ks_shape item;
	bool *merged;       /* by place in `right` */
	uint32_t next;      /* index in `r` of the next item that both have; r->n: none */
	struct ks_value *out;
};

static uint32_t place_in_right(const struct zip *z, uint32_t i)
{
	uint32_t place = z->left.of[i];

	return place == KS_NO_ITEM ? KS_NO_ITEM : ks_typed_items_find(&z->right, &z->left.items[place].element);
}

static uint32_t place_in_left(const struct zip *z, uint32_t j)
{
	uint32_t place = z->right.of[j];

	return place == KS_NO_ITEM ? KS_NO_ITEM : ks_typed_items_find(&z->left, &z->right.items[place].element);
}

static void to_next_shared(struct zip *z, uint32_t from)
{
	z->next = from;
	while (z->next < z->r->n && place_in_left(z, z->next) == KS_NO_ITEM)
		z->next++;
}

static bool keep_left(struct walk *w, struct zip *z, uint32_t i)
{
	struct ks_value *place = ks_value_append(w->arena, z->out);

	if (place)
		*place = z->l->items[i];
	return place;
}

/* Items that the object has several times are not merged into: the configuration's takes their place. */
static bool take_right(struct walk *w, struct zip *z, uint32_t j)
{
	static const struct ks_value nothing = {.kind = KS_NULL};
	struct ks_value *place = ks_value_append(w->arena, z->out);
	uint32_t in_left = place_in_left(z, j);
	const struct ks_typed_item *item = in_left == KS_NO_ITEM ? NULL : &z->left.items[in_left];

	z->merged[z->right.of[j]] = true;
	return place && merge(w, z->item, !item ? NULL : item->count > 1 ? &nothing : &z->l->items[item->first], &z->r->items[j], place);
}

/* The order of the configuration for what it names; what only the object has stays between its neighbours. */
static bool zip_items(struct walk *w, struct zip *z)
{
	uint32_t i = 0, j = 0;

	to_next_shared(z, 0);
	while (i < z->l->n || j < z->r->n) {
		uint32_t place = i < z->l->n ? place_in_right(z, i) : KS_NO_ITEM;

		if (place != KS_NO_ITEM && j < z->r->n) {
			if (z->right.items[place].first == j) {
				if (!take_right(w, z, j))
					return false;
				i++;
				to_next_shared(z, ++j);
				continue;
			}
			if (z->next < z->r->n && z->right.items[place].first != z->next) {
				i++; /* both have it, but its turn is later */
				continue;
			}
		}
		if (i < z->l->n && place == KS_NO_ITEM) {
			if (!keep_left(w, z, i++))
				return false;
			continue;
		}
		if (i < z->l->n && z->merged[place])
			i++;
		if (j < z->r->n) {
			if (!take_right(w, z, j))
				return false;
			if (j == z->next)
				to_next_shared(z, j + 1);
			j++;
		}
	}
	return true;
}

static bool merge_lists(struct walk *w, struct ks_shape shape, const struct ks_value *l, const struct ks_value *r, struct ks_value *out)
{
	struct zip z = {.l = l, .r = r, .out = out};

	z.item = ks_shape_of_type(w->s, w->s->types[shape.type].element);
	z.merged = ks_arena_zalloc(w->arena, r->n + 1, sizeof(*z.merged));
	*out = (struct ks_value){.kind = KS_LIST, .type = shape.type};
	return z.merged && ks_typed_items(w->arena, w->s, shape, l, &z.left) && ks_typed_items(w->arena, w->s, shape, r, &z.right) && zip_items(w, &z);
}

/* `l` NULL: it is not there. */
static bool merge(struct walk *w, struct ks_shape shape, const struct ks_value *l, const struct ks_value *r, struct ks_value *out)
{
	if (!l || ks_typed_is_empty(w->s, l) || shape.relation == KS_RELATION_LEAF || (l->kind != r->kind && r->kind != KS_NULL)) {
		*out = *r;
		return true;
	}
	if (l->kind != KS_STRUCT && l->kind != KS_MAP && (l->kind != KS_LIST || shape.relation == KS_RELATION_FREE)) {
		*out = *r;
		return true;
	}
	/* To say nothing of the parts leaves them to those who say something. */
	if (ks_typed_is_empty(w->s, r)) {
		*out = *l;
		return true;
	}
	if (l->kind == KS_STRUCT)
		return merge_structs(w, l, r, out);
	return l->kind == KS_MAP ? merge_maps(w, shape, l, r, out) : merge_lists(w, shape, l, r, out);
}

bool ks_typed_merge(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *live, const struct ks_value *config,
	struct ks_value *out_r)
{
	struct walk w = {.arena = arena, .s = s};

	return merge_structs(&w, live, config, out_r);
}

/* -- remove --------------------------------------------------------------------------------------------------- */

static bool take_out(struct walk *w, struct ks_shape shape, const struct ks_value *v, const struct ks_fieldset *fields, struct ks_value *out);

static bool take_slots(struct walk *w, const struct ks_value *v, const struct ks_fieldset *fields, struct ks_value *out)
{
	if (!copy_slots(w, v, out))
		return false;
	for (uint32_t i = 0; i < fields->n; i++) {
		const struct ks_fieldset_entry *entry = &fields->entries[i];
		uint16_t slot = KS_NO_SLOT;
		struct ks_value before;

		if (entry->element.kind == KS_PATH_FIELD)
			slot = ks_schema_slot(w->s, v->type, entry->element.value.string, entry->element.value.n);
		if (slot == KS_NO_SLOT)
			continue;
		before = out->items[slot];
		if (!entry->member && before.kind == KS_ABSENT)
			continue;
		if (entry->member)
			out->items[slot] = (struct ks_value){.flags = KS_TYPED_GONE};
		else if (!take_out(w, ks_shape_of_field(w->s, ks_schema_field(w->s, v->type, slot)), &before, &entry->children, &out->items[slot]))
			return false;
	}
	return true;
}

static bool take_members(struct walk *w, struct ks_shape shape, const struct ks_value *v, const struct ks_fieldset *fields, struct ks_value *out)
{
	struct ks_shape item = ks_shape_of_type(w->s, shape.type ? w->s->types[shape.type].element : 0);

	*out = (struct ks_value){.kind = KS_MAP, .type = v->type};
	for (uint32_t i = 0; i < v->n; i++) {
		struct ks_path_element element = ks_path_field(v->members[i].key);
		const struct ks_fieldset_entry *entry = ks_fieldset_find(fields, &element);
		struct ks_value *value;

		if (entry && entry->member)
			continue;
		if (!(value = ks_value_add(w->arena, out, v->members[i].key)))
			return false;
		*value = v->members[i].value;
		if (entry && !take_out(w, item, &v->members[i].value, &entry->children, value))
			return false;
	}
	return true;
}

static bool take_items(struct walk *w, struct ks_shape shape, const struct ks_value *v, const struct ks_fieldset *fields, struct ks_value *out)
{
	struct ks_shape item = ks_shape_of_type(w->s, w->s->types[shape.type].element);

	*out = (struct ks_value){.kind = KS_LIST, .type = v->type};
	for (uint32_t i = 0; i < v->n; i++) {
		struct ks_path_element element;
		int found = ks_typed_element(w->arena, w->s, shape, &v->items[i], &element);
		const struct ks_fieldset_entry *entry = found == 1 ? ks_fieldset_find(fields, &element) : NULL;
		struct ks_value *value;

		if (found < 0)
			return false;
		if (entry && entry->member)
			continue;
		if (!(value = ks_value_append(w->arena, out)))
			return false;
		*value = v->items[i];
		if (entry && !take_out(w, item, &v->items[i], &entry->children, value))
			return false;
		if (value->kind == KS_NULL)
			out->n--; /* nothing is left by which it could be told */
	}
	return true;
}

static bool take_out(struct walk *w, struct ks_shape shape, const struct ks_value *v, const struct ks_fieldset *fields, struct ks_value *out)
{
	bool ok = true, left = false;

	if (v->kind != KS_STRUCT && v->kind != KS_MAP && v->kind != KS_LIST) {
		*out = *v;
		return true;
	}
	if (shape.relation == KS_RELATION_LEAF || (shape.relation == KS_RELATION_FREE && v->kind == KS_LIST)) {
		*out = (struct ks_value){.kind = KS_NULL};
		return true;
	}
	if (v->kind == KS_STRUCT) {
		ok = take_slots(w, v, fields, out);
		left = ok && !ks_typed_is_empty(w->s, out);
	} else {
		ok = v->kind == KS_MAP ? take_members(w, shape, v, fields, out) : take_items(w, shape, v, fields, out);
		left = ok && out->n;
	}
	if (!left)
		*out = (struct ks_value){.kind = KS_NULL};
	return ok;
}

bool ks_typed_remove(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *v, const struct ks_fieldset *fields,
	struct ks_value *out_r)
{
	struct walk w = {.arena = arena, .s = s};

	return take_slots(&w, v, fields, out_r);
}
