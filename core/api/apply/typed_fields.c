/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What there is to own in a tree, and sets looked at through the schema. */
#include <errno.h>

#include "core/api/apply/typed.h"
#include "core/api/apply/typed_items.h"
#include "core/api/apply/typed_members.h"

struct walk {
	struct ks_arena *arena;
	const struct ks_schema *s;
};

static bool own(struct walk *w, struct ks_shape shape, const struct ks_path_element *element, const struct ks_value *v, bool always,
	struct ks_fieldset *set);

/* -- all that is there ---------------------------------------------------------------------------------------- */

/* `*n_r`: how many members it has. */
static bool own_struct(struct walk *w, const struct ks_value *v, struct ks_fieldset *set, uint32_t *n_r)
{
	const struct ks_type *t = &w->s->types[v->type];

	for (uint16_t slot = 0; slot < t->n_fields; slot++) {
		const struct ks_field *field = &w->s->fields[t->first_field + slot];
		struct ks_path_element element;
		const struct ks_value *value;
		struct ks_value zero;

		if (!(value = ks_typed_slot(w->s, v, slot, &zero)))
			continue;
		++*n_r;
		element = ks_path_field(ks_str_of(ks_schema_text(w->s, field->name), field->name_n));
		if (!own(w, ks_shape_of_field(w->s, field), &element, value, false, set))
			return false;
	}
	return true;
}

static bool own_map(struct walk *w, struct ks_shape shape, const struct ks_value *v, struct ks_fieldset *set)
{
	struct ks_shape item = ks_shape_of_type(w->s, shape.type ? w->s->types[shape.type].element : 0);
	struct ks_members members;

	if (!ks_members_init(w->arena, v, &members))
		return false;
	for (uint32_t i = 0; i < v->n; i++) {
		const struct ks_member *member = ks_members_at(&members, i);
		struct ks_path_element element = ks_path_field(member->key);

		if (!own(w, item, &element, &member->value, true, set))
			return false;
	}
	return true;
}

/* Of an item that is there twice, the place alone is owned. */
static bool own_items(struct walk *w, struct ks_shape shape, const struct ks_value *v, struct ks_fieldset *set)
{
	struct ks_shape below = ks_shape_of_type(w->s, w->s->types[shape.type].element);
	struct ks_typed_items all;

	if (!ks_typed_items(w->arena, w->s, shape, v, &all))
		return false;
	for (uint32_t i = 0; i < all.n; i++) {
		const struct ks_typed_item *item = &all.items[i];
		struct ks_fieldset_entry *entry;

		if (item->count == 1) {
			if (!own(w, below, &item->element, &v->items[item->first], true, set))
				return false;
			continue;
		}
		entry = ks_fieldset_put(w->arena, set, &item->element);
		if (!entry)
			return false;
		entry->member = true;
	}
	return true;
}

static bool own(struct walk *w, struct ks_shape shape, const struct ks_path_element *element, const struct ks_value *v, bool always,
	struct ks_fieldset *set)
{
	struct ks_fieldset children = {0};
	struct ks_fieldset_entry *entry;
	bool member = always, ok = true;
	uint32_t n = 0;

	if (v->kind == KS_NULL || shape.relation == KS_RELATION_LEAF) {
		member = true;
	} else if (v->kind == KS_STRUCT) {
		ok = own_struct(w, v, &children, &n);
		member |= n == 0;
	} else if (v->kind == KS_MAP) {
		ok = own_map(w, shape, v, &children);
		member |= v->n == 0;
	} else if (v->kind == KS_LIST && shape.relation != KS_RELATION_FREE) {
		ok = own_items(w, shape, v, &children);
	} else {
		member = true;
	}
	if (!ok || (!member && !children.n))
		return ok;
	entry = ks_fieldset_put(w->arena, set, element);
	if (!entry)
		return false;
	entry->member = member;
	entry->children = children;
	return true;
}

bool ks_typed_fields(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *v, struct ks_fieldset *out_r)
{
	struct walk w = {.arena = arena, .s = s};
	struct ks_fieldset set = {0};
	uint32_t n = 0;

	if (v->kind == KS_STRUCT && !own_struct(&w, v, &set, &n))
		return false;
	*out_r = set;
	return true;
}

/* -- sets ----------------------------------------------------------------------------------------------------- */

/* The shape of what an element leads to. `*declared_r`: a field of a struct. */
static struct ks_shape shape_below(const struct ks_schema *s, struct ks_shape shape, const struct ks_path_element *element, bool *declared_r)
{
	uint16_t slot;

	*declared_r = false;
	if (shape.relation == KS_RELATION_FREE || !shape.type)
		return (struct ks_shape){.relation = KS_RELATION_FREE};
	if (s->types[shape.type].class_ != KS_TYPE_STRUCT)
		return ks_shape_of_type(s, s->types[shape.type].element);
	slot = element->kind == KS_PATH_FIELD ? ks_schema_slot(s, shape.type, element->value.string, element->value.n) : KS_NO_SLOT;
	if (slot == KS_NO_SLOT)
		return (struct ks_shape){.relation = KS_RELATION_FREE};
	*declared_r = true;
	return ks_shape_of_field(s, ks_schema_field(s, shape.type, slot));
}

static bool change_all(struct walk *w, struct ks_shape shape, const struct ks_fieldset *set, bool named, struct ks_fieldset *out_r);

static bool is_owned_whole(const struct ks_schema *s, struct ks_shape shape)
{
	uint8_t class_ = s->types[shape.type].class_;

	return shape.relation == KS_RELATION_LEAF && (class_ == KS_TYPE_STRUCT || class_ == KS_TYPE_MAP || class_ == KS_TYPE_LIST);
}

static bool change_entry(struct walk *w, struct ks_shape shape, bool declared, bool named, struct ks_fieldset_entry *entry)
{
	if (named)
		entry->member |= declared;
	else if (is_owned_whole(w->s, shape)) {
		entry->member = true;
		entry->children = (struct ks_fieldset){0};
		return true;
	}
	return change_all(w, shape, &entry->children, named, &entry->children);
}

static bool change_all(struct walk *w, struct ks_shape shape, const struct ks_fieldset *set, bool named, struct ks_fieldset *out_r)
{
	struct ks_fieldset out = {0};

	if (!set->n) {
		*out_r = *set;
		return true;
	}
	out.n = out.cap = set->n;
	out.entries = ks_arena_alloc(w->arena, set->n * sizeof(*out.entries));
	if (!out.entries)
		return false;
	for (uint32_t i = 0; i < set->n; i++) {
		struct ks_shape below;
		bool declared;

		out.entries[i] = set->entries[i];
		if (!out.entries[i].children.n)
			continue;
		below = shape_below(w->s, shape, &out.entries[i].element, &declared);
		if (!change_entry(w, below, declared, named, &out.entries[i]))
			return false;
	}
	*out_r = out;
	return true;
}

bool ks_typed_named_members(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, const struct ks_fieldset *set, struct ks_fieldset *out_r)
{
	struct walk w = {.arena = arena, .s = s};

	return change_all(&w, ks_shape_of_type(s, type), set, true, out_r);
}

bool ks_typed_reconcile(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, const struct ks_fieldset *set, struct ks_fieldset *out_r)
{
	struct walk w = {.arena = arena, .s = s};

	return change_all(&w, ks_shape_of_type(s, type), set, false, out_r);
}
