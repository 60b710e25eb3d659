/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Shapes, and how the parts of a tree are looked at: typed_*.c walk by these. */
#include "core/api/apply/typed.h"

#include <errno.h>

#include "core/api/json.h"
#include "core/api/json_zero.h"

/* -- shapes --------------------------------------------------------------------------------------------------- */

/* An embedded object (RAW) is owned whole: the schema knows nothing of its parts. */
static bool is_free(uint8_t class_)
{
	return class_ == KS_TYPE_NONE || class_ == KS_TYPE_JSON || class_ == KS_TYPE_FIELDS_V1;
}

static enum ks_relation list_relation(uint8_t list_kind, uint8_t n_keys)
{
	if (list_kind == KS_LIST_MAP && n_keys)
		return KS_RELATION_KEYED;
	return list_kind == KS_LIST_SET ? KS_RELATION_SET : KS_RELATION_LEAF;
}

struct ks_shape ks_shape_of_type(const struct ks_schema *s, uint16_t type)
{
	const struct ks_type *t = &s->types[type];
	struct ks_shape shape = {.type = type, .relation = KS_RELATION_LEAF};

	if (!type || is_free(t->class_))
		return (struct ks_shape){.relation = KS_RELATION_FREE};
	if (t->class_ == KS_TYPE_STRUCT || t->class_ == KS_TYPE_MAP)
		shape.relation = t->atomic ? KS_RELATION_LEAF : KS_RELATION_GRANULAR;
	else if (t->class_ == KS_TYPE_LIST)
		shape.relation = list_relation(t->list_kind, 0);
	return shape;
}

struct ks_shape ks_shape_of_field(const struct ks_schema *s, const struct ks_field *field)
{
	struct ks_shape shape = ks_shape_of_type(s, field->type);

	if (shape.type && s->types[field->type].class_ == KS_TYPE_LIST) {
		if (field->flags & KS_FIELD_LIST_SAID || field->list_kind) {
			shape.n_keys = field->n_list_keys;
			shape.keys = &s->list_keys[field->first_list_key];
			shape.relation = list_relation(field->list_kind, shape.n_keys);
		} else if (field->flags & KS_FIELD_PATCH_MERGE) {
			/* What strategic merge patch merges is merged here as well. */
			shape.n_keys = field->patch_merge_key != 0;
			shape.keys = &field->patch_merge_key;
			shape.relation = shape.n_keys ? KS_RELATION_KEYED : KS_RELATION_SET;
		}
		return shape;
	}
	if (field->flags & KS_FIELD_ATOMIC)
		shape.relation = KS_RELATION_LEAF;
	else if (field->flags & KS_FIELD_GRANULAR && shape.type)
		shape.relation = KS_RELATION_GRANULAR;
	return shape;
}

/* -- parts ---------------------------------------------------------------------------------------------------- */

static struct ks_value zero_of(const struct ks_field *field, const struct ks_schema *s)
{
	if (field->flags & KS_FIELD_POINTER)
		return (struct ks_value){.kind = KS_NULL};
	switch (s->types[field->type].class_) {
	case KS_TYPE_BOOL:
		return ks_value_from_bool(false);
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
	case KS_TYPE_FLOAT64:
	case KS_TYPE_INT_OR_STRING:
		return ks_value_from_int(0);
	case KS_TYPE_STRING:
		return ks_value_from_str(KS_STR_LIT(""));
	case KS_TYPE_QUANTITY:
		return ks_value_from_str(KS_STR_LIT("0"));
	case KS_TYPE_DURATION:
		return ks_value_from_str(KS_STR_LIT("0s"));
	case KS_TYPE_STRUCT:
		return (struct ks_value){.kind = KS_STRUCT, .type = field->type};
	default:
		return (struct ks_value){.kind = KS_NULL};
	}
}

const struct ks_value *ks_typed_slot(const struct ks_schema *s, const struct ks_value *v, uint16_t slot, struct ks_value *zero)
{
	const struct ks_field *field;

	if (slot < v->n && v->items[slot].kind != KS_ABSENT)
		return &v->items[slot];
	if (v->flags & KS_TYPED_SPARSE || (slot < v->n && v->items[slot].flags & KS_TYPED_GONE))
		return NULL;
	field = ks_schema_field(s, v->type, slot);
	if (ks_field_left_out(s, field))
		return NULL;
	*zero = zero_of(field, s);
	return zero;
}

bool ks_typed_is_empty(const struct ks_schema *s, const struct ks_value *v)
{
	struct ks_value zero;

	if (!v || v->kind == KS_NULL)
		return true;
	if (v->kind != KS_STRUCT)
		return (v->kind == KS_MAP || v->kind == KS_LIST) && v->n == 0;
	for (uint16_t slot = 0; slot < s->types[v->type].n_fields; slot++)
		if (ks_typed_slot(s, v, slot, &zero))
			return false;
	return true;
}

/* -- items of lists ------------------------------------------------------------------------------------------- */

/* The default that the API documents for a field: a configuration may leave it unsaid. Of a plain field that is always written, that is its zero value. */
static bool declared_default(struct ks_arena *arena, const struct ks_schema *s, const struct ks_field *field, struct ks_value *out)
{
	const char *text, *message;

	if (!field->default_value || field->flags & KS_FIELD_DEFAULT_OURS) {
		*out = zero_of(field, s);
		return !s->generation && !ks_field_left_out(s, field) && out->kind != KS_NULL;
	}
	text = ks_schema_text(s, field->default_value);
	return !ks_json_decode(arena, NULL, 0, KS_DECODE_BORROW, text, strlen(text), out, NULL, &message);
}

static bool key_of(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *item, struct ks_str name,
	struct ks_value *out)
{
	uint16_t slot = ks_schema_slot(s, item->type, name.p, name.n);
	const struct ks_value *value;
	struct ks_value zero;

	if (slot == KS_NO_SLOT)
		return false;
	value = ks_typed_slot(s, item, slot, &zero);
	if (value)
		*out = *value;
	return value || declared_default(arena, s, ks_schema_field(s, item->type, slot), out);
}

static void sort_members(struct ks_value *map)
{
	for (uint32_t i = 1; i < map->n; i++)
		for (uint32_t j = i; j && ks_str_cmp(map->members[j - 1].key, map->members[j].key) > 0; j--) {
			struct ks_member swap = map->members[j];

			map->members[j] = map->members[j - 1];
			map->members[j - 1] = swap;
		}
}

int ks_typed_element(struct ks_arena *arena, const struct ks_schema *s, struct ks_shape list, const struct ks_value *item,
	struct ks_path_element *out_r)
{
	struct ks_path_element out = {.kind = KS_PATH_KEY, .value = {.kind = KS_MAP}};

	if (list.relation == KS_RELATION_SET) {
		if (item->kind < KS_BOOL || item->kind > KS_STRING)
			return 0;
		*out_r = (struct ks_path_element){.kind = KS_PATH_VALUE, .value = *item};
		return 1;
	}
	if (item->kind != KS_STRUCT)
		return 0;
	out.value.members = ks_arena_alloc(arena, list.n_keys * sizeof(struct ks_member));
	if (!out.value.members)
		return -ENOMEM;
	for (uint8_t i = 0; i < list.n_keys; i++) {
		struct ks_member *member = &out.value.members[out.value.n];

		member->key = ks_str_from(ks_schema_text(s, list.keys[i]));
		if (key_of(arena, s, item, member->key, &member->value))
			out.value.n++;
	}
	sort_members(&out.value);
	*out_r = out;
	return out.value.n != 0;
}
