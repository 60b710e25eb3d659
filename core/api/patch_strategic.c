/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Strategic merge patch. Directives:
 *
 *   $patch: replace | delete            of a map, or of an item of a list that is merged by key
 *   $deleteFromPrimitiveList/F: [..]    takes scalars out of the list F
 *   $setElementOrder/F: [..]            the order of the list F
 *   $retainKeys: [..]                   members that may stay in the map
 */
#include <errno.h>
#include <string.h>

#include "core/api/map_index.h"
#include "core/api/patch_list.h"
#include "core/api/quote.h"

static const char deletion_prefix[] = "$deleteFromPrimitiveList";
static const char order_prefix[] = "$setElementOrder";
static const char bad_order[] = "invalid patch format of setElementOrder list";
static const char bad_deletion[] = "invalid patch format of primitive list";
static const char bad_retain_keys[] = "invalid patch format of retainKeys";

/* How a field is patched. */
struct meta {
	uint16_t type; /* of the field's value; of a list its items */
	bool merge, replace;
	struct ks_str key;
};

static bool merge_map(struct ks_smp *m, struct ks_value *original, struct ks_value *patch, uint16_t type);

static bool has_prefix(struct ks_str text, const char *prefix)
{
	return ks_str_starts(text, ks_str_from(prefix));
}

/* ---- what the schema says of a field ---- */

/* Go's kind of a type. */
static const char *kind_of(const struct ks_schema *s, uint16_t type)
{
	switch (s->types[type].class_) {
	case KS_TYPE_BOOL:
		return "bool";
	case KS_TYPE_INT32:
		return "int32";
	case KS_TYPE_INT64:
		return "int64";
	case KS_TYPE_FLOAT64:
		return "float64";
	case KS_TYPE_STRING:
		return "string";
	case KS_TYPE_MAP:
		return "map";
	case KS_TYPE_LIST:
	case KS_TYPE_BYTES:
		return "slice";
	default:
		return "struct";
	}
}

static bool no_field(struct ks_smp *m, uint16_t type, struct ks_str name)
{
	const char *whole = ks_schema_text(m->s, m->s->types[type].name), *dot = strrchr(whole, '.'), *quoted = ks_quote(m->arena, name);

	return ks_smp_fail(m, -EPROTO,
		quoted ? ks_arena_printf(m->arena, "unable to find api field in struct %s for the json field %s", dot ? dot + 1 : whole, quoted)
		       : NULL);
}

static bool look_up(struct ks_smp *m, uint16_t type, struct ks_str name, struct meta *meta)
{
	const struct ks_field *field;
	uint16_t slot;

	if (strcmp(kind_of(m->s, type), "struct") != 0)
		return ks_smp_fail(m, -EPROTO,
			ks_arena_printf(m->arena, "merging an object in json but data type is not struct, instead is: %s", kind_of(m->s, type)));
	slot = m->s->types[type].class_ == KS_TYPE_STRUCT ? ks_schema_slot_fold(m->s, type, name.p, name.n) : KS_NO_SLOT;
	if (slot == KS_NO_SLOT)
		return no_field(m, type, name);
	field = ks_schema_field(m->s, type, slot);
	*meta = (struct meta){field->type, field->flags & KS_FIELD_PATCH_MERGE, field->flags & KS_FIELD_PATCH_REPLACE,
		ks_str_from(ks_schema_text(m->s, field->patch_merge_key))};
	return true;
}

static bool look_up_list(struct ks_smp *m, uint16_t type, struct ks_str name, struct meta *meta)
{
	uint8_t class_;

	if (!look_up(m, type, name, meta))
		return false;
	class_ = m->s->types[meta->type].class_;
	if (class_ != KS_TYPE_LIST && class_ != KS_TYPE_BYTES)
		return ks_smp_fail(m, -EPROTO, ks_arena_printf(m->arena, "expected slice or array type, but got: %s", kind_of(m->s, type)));
	if (class_ == KS_TYPE_LIST)
		meta->type = m->s->types[meta->type].element;
	return true;
}

/* ---- values that only the patch has ---- */

static void discard_nulls(struct ks_value *v)
{
	uint32_t kept = 0;

	if (v->kind == KS_LIST)
		for (uint32_t i = 0; i < v->n; i++)
			discard_nulls(&v->items[i]);
	if (v->kind != KS_MAP)
		return;
	for (uint32_t i = 0; i < v->n; i++) {
		if (v->members[i].value.kind == KS_NULL)
			continue;
		discard_nulls(&v->members[i].value);
		v->members[kept++] = v->members[i];
	}
	v->n = kept;
}

/* Takes maps with a directive out of the value; false when it is one itself. */
static bool remove_directives(struct ks_value *v)
{
	uint32_t kept = 0;

	if (v->kind == KS_LIST) {
		for (uint32_t i = 0; i < v->n; i++)
			if (remove_directives(&v->items[i]))
				v->items[kept++] = v->items[i];
		v->n = kept;
	} else if (v->kind == KS_MAP) {
		if (ks_value_get(NULL, v, "$patch"))
			return false;
		for (uint32_t i = 0; i < v->n; i++)
			if (remove_directives(&v->members[i].value))
				v->members[kept++] = v->members[i];
		v->n = kept;
	}
	return true;
}

static bool set_member(struct ks_smp *m, struct ks_value *map, struct ks_str key, const struct ks_value *value)
{
	struct ks_value *place = ks_value_put(m->arena, NULL, map, key);

	if (!place)
		return ks_smp_fail(m, 0, NULL);
	*place = *value;
	return true;
}

/* ---- directives of maps ---- */

static bool unknown_directive(struct ks_smp *m, const struct ks_value *directive, const struct ks_value *map)
{
	const char *what = ks_smp_print(m, directive), *where = ks_smp_print(m, map);

	if (!what || !where)
		return ks_smp_fail(m, 0, NULL);
	if (directive->kind == KS_INT || directive->kind == KS_FLOAT || directive->kind == KS_BOOL)
		what = ks_arena_printf(m->arena, "%%!s(%s=%s)",
			directive->kind == KS_INT            ? "int64"
				: directive->kind == KS_BOOL ? "bool"
							     : "float64",
			what);
	return ks_smp_fail(m, -EPROTO, what ? ks_arena_printf(m->arena, "unknown patch type: %s in map: %s", what, where) : NULL);
}

static bool apply_map_directive(struct ks_smp *m, const struct ks_value *directive, struct ks_value *original, struct ks_value *patch)
{
	struct ks_str name = ks_value_str(directive);

	if (ks_str_is(name, "replace")) {
		ks_value_remove(NULL, patch, KS_STR_LIT("$patch"));
		*original = *patch;
		return true;
	}
	if (!ks_str_is(name, "delete"))
		return unknown_directive(m, directive, patch);
	*original = (struct ks_value){.kind = KS_MAP};
	return true;
}

static bool apply_retain_keys(struct ks_smp *m, struct ks_value *original, struct ks_value *patch)
{
	const struct ks_value *found = ks_value_get(NULL, patch, "$retainKeys");
	struct ks_smp_index names;
	struct ks_value keys;
	uint32_t kept = 0;

	if (!found)
		return true;
	keys = *found;
	ks_value_remove(NULL, patch, KS_STR_LIT("$retainKeys"));
	if (keys.kind != KS_LIST)
		return ks_smp_fail(m, -EINVAL, bad_retain_keys);
	if (!ks_smp_index_init(m, &names, &keys, (struct ks_str){0}, 0))
		return false;
	for (uint32_t i = 0; i < patch->n; i++) {
		struct ks_value name = ks_value_from_str(patch->members[i].key);

		if (patch->members[i].value.kind == KS_NULL || has_prefix(patch->members[i].key, deletion_prefix) ||
			has_prefix(patch->members[i].key, order_prefix))
			continue;
		if (ks_smp_index_find(&names, &name) < 0)
			return ks_smp_fail(m, -EINVAL, bad_retain_keys);
	}
	for (uint32_t i = 0; i < original->n; i++) {
		struct ks_value name = ks_value_from_str(original->members[i].key);

		if (ks_smp_index_find(&names, &name) >= 0)
			original->members[kept++] = original->members[i];
	}
	original->n = kept;
	return true;
}

/* ---- lists ---- */

static bool not_identical(struct ks_smp *m, const struct ks_value *a, const struct ks_value *b)
{
	const char *x = ks_smp_print(m, a), *y = ks_smp_print(m, b);

	return ks_smp_fail(m, -EPROTO, x && y ? ks_arena_printf(m->arena, "list element types are not identical: [%s %s]", x, y) : NULL);
}

/* All items of both lists are of one kind, and it is not a list. */
static bool element_kind(struct ks_smp *m, const struct ks_value *a, const struct ks_value *b, uint8_t *kind_r)
{
	uint8_t kind = KS_ABSENT;

	for (int l = 0; l < 2; l++) {
		const struct ks_value *list = l ? b : a;

		for (uint32_t i = 0; i < list->n; i++) {
			if (kind == KS_ABSENT)
				kind = list->items[i].kind;
			else if (kind != list->items[i].kind)
				return not_identical(m, a, b);
		}
	}
	if (kind == KS_LIST)
		return ks_smp_fail(m, -EPERM, "lists of lists are not supported");
	if (kind == KS_ABSENT)
		return ks_smp_fail(m, -EPROTO, "no elements in any of the given slices");
	*kind_r = kind;
	return true;
}

static bool append(struct ks_smp *m, struct ks_value *list, const struct ks_value *item)
{
	struct ks_value *place = ks_value_append(m->arena, list);

	if (!place)
		return ks_smp_fail(m, 0, NULL);
	*place = *item;
	return true;
}

/* A list with the same items and room of its own. */
static bool copy_list(struct ks_smp *m, const struct ks_value *from, struct ks_value *to)
{
	*to = (struct ks_value){.kind = KS_LIST};
	for (uint32_t i = 0; i < from->n; i++)
		if (!append(m, to, &from->items[i]))
			return false;
	return true;
}

/* Takes out of `list` what is in `set`. */
static bool take_out(struct ks_smp *m, struct ks_value *list, const struct ks_value *set, struct ks_str key)
{
	struct ks_value kept = {.kind = KS_LIST};
	struct ks_smp_index index;

	if (!ks_smp_index_init(m, &index, set, key, 0))
		return false;
	for (uint32_t i = 0; i < list->n; i++)
		if (ks_smp_index_find(&index, ks_smp_scalar(&list->items[i], key)) < 0 && !append(m, &kept, &list->items[i]))
			return false;
	*list = kept;
	return true;
}

/* Both lists' scalars, no two equal. */
static bool merge_scalars(struct ks_smp *m, const struct ks_value *original, const struct ks_value *patch, struct ks_value *out)
{
	struct ks_smp_index seen;

	*out = (struct ks_value){.kind = KS_LIST};
	if (!ks_smp_index_init(m, &seen, out, (struct ks_str){0}, original->n + patch->n))
		return false;
	for (int l = 0; l < 2; l++) {
		const struct ks_value *list = l ? patch : original;

		for (uint32_t i = 0; i < list->n; i++) {
			if (ks_smp_index_find(&seen, &list->items[i]) >= 0)
				continue;
			if (!append(m, out, &list->items[i]))
				return false;
			ks_smp_index_add(&seen, out->n - 1);
		}
	}
	return true;
}

/* Items with `$patch`: deletions are done, `replace` empties the original; what is left of the patch is to be merged. */
static bool apply_item_directives(struct ks_smp *m, struct ks_value *original, const struct ks_value *patch, struct ks_str key, struct ks_value *rest)
{
	struct ks_value deleted = {.kind = KS_LIST};
	bool replace = false;

	*rest = (struct ks_value){.kind = KS_LIST};
	for (uint32_t i = 0; i < patch->n; i++) {
		const struct ks_value *item = &patch->items[i], *directive = ks_value_get(NULL, item, "$patch");
		struct ks_str name = ks_value_str(directive);

		if (!directive) {
			if (!append(m, rest, item))
				return false;
		} else if (ks_str_is(name, "delete")) {
			if (!ks_value_get_str(NULL, item, key))
				return ks_smp_no_merge_key(m, item, key);
			if (!append(m, &deleted, item))
				return false;
		} else if (ks_str_is(name, "replace")) {
			replace = true;
		} else if (ks_str_is(name, "merge")) {
			return ks_smp_fail(m, -EPROTO, "merging lists cannot yet be specified in the patch");
		} else {
			return unknown_directive(m, directive, item);
		}
	}
	if (replace) {
		*original = *rest;
		*rest = (struct ks_value){.kind = KS_LIST};
		return true;
	}
	return deleted.n == 0 || take_out(m, original, &deleted, key);
}

/* Items of the same key are merged, new ones appended. */
static bool merge_items(struct ks_smp *m, struct ks_value *merged, struct ks_value *patch, struct ks_str key, uint16_t type)
{
	struct ks_smp_index index;

	if (!ks_smp_index_init(m, &index, merged, key, patch->n))
		return false;
	for (uint32_t i = 0; i < patch->n; i++) {
		const struct ks_value *scalar = ks_value_get_str(NULL, &patch->items[i], key);
		int64_t at;

		if (!scalar)
			return ks_smp_no_merge_key(m, &patch->items[i], key);
		at = ks_smp_index_find(&index, scalar);
		if (at >= 0) {
			if (!merge_map(m, &merged->items[at], &patch->items[i], type))
				return false;
			continue;
		}
		if (!append(m, merged, &patch->items[i]))
			return false;
		ks_smp_index_add(&index, merged->n - 1);
	}
	return true;
}

static bool merge_by_key(struct ks_smp *m, struct ks_value *original, struct ks_value *patch, const struct meta *meta)
{
	struct ks_value rest, merged;

	if (meta->key.n == 0)
		return ks_smp_fail(m, -EPROTO, ks_arena_printf(m->arena, "cannot merge lists without merge key for %s", kind_of(m->s, meta->type)));
	if (!apply_item_directives(m, original, patch, meta->key, &rest) || !copy_list(m, original, &merged) ||
		!merge_items(m, &merged, &rest, meta->key, meta->type) || !ks_smp_order(m, &merged, &rest, original, meta->key))
		return false;
	*original = merged;
	return true;
}

static bool merge_list(struct ks_smp *m, struct ks_value *original, struct ks_value *patch, const struct meta *meta, bool deletion)
{
	struct ks_value merged;
	uint8_t kind;

	if (!meta->merge && !deletion) {
		*original = *patch;
		return true;
	}
	if (original->n == 0 && patch->n == 0)
		return true;
	if (!element_kind(m, original, patch, &kind))
		return false;
	if (kind == KS_MAP)
		return merge_by_key(m, original, patch, meta);
	if (deletion)
		return take_out(m, original, patch, (struct ks_str){0});
	if (!merge_scalars(m, original, patch, &merged) || !ks_smp_order(m, &merged, patch, original, (struct ks_str){0}))
		return false;
	*original = merged;
	return true;
}

/* ---- $setElementOrder ---- */

/* Items of a list that is merged by key are maps and have it. */
static bool check_keyed(struct ks_smp *m, const struct ks_value *item, struct ks_str key)
{
	if (key.n == 0)
		return true;
	if (item->kind != KS_MAP)
		return ks_smp_bad_type(m, "map[string]interface {}", item);
	return ks_value_get_str(NULL, item, key) || ks_smp_no_merge_key(m, item, key);
}

/* Do the patch's items stand in the directive, in the same order? */
static bool check_order(struct ks_smp *m, const struct ks_value *patch, const struct ks_value *order, struct ks_str key)
{
	const char *x, *y;
	uint32_t i = 0, j = 0;

	if (patch->n == 0 || order->n == 0)
		return true;
	while (i < patch->n && j < order->n) {
		if (key.n && ks_value_get(NULL, &patch->items[i], "$patch")) {
			i++;
			continue;
		}
		if (!check_keyed(m, &patch->items[i], key) || !check_keyed(m, &order->items[j], key))
			return false;
		if (ks_smp_same(ks_smp_scalar(&patch->items[i], key), ks_smp_scalar(&order->items[j], key)))
			i++;
		j++;
	}
	while (key.n && i < patch->n && ks_str_is(ks_value_str(ks_value_get(NULL, &patch->items[i], "$patch")), "delete"))
		i++;
	if (i == patch->n || j < order->n)
		return true;
	x = ks_smp_print(m, patch);
	y = ks_smp_print(m, order);
	return ks_smp_fail(m, -EPROTO,
		x && y ? ks_arena_printf(m->arena, "The order in patch list:\n%s\n doesn't match $setElementOrder list:\n%s\n", x, y) : NULL);
}

/* Every item of a list in the directive has to be a map, where the field is merged by key. */
static bool check_order_items(struct ks_smp *m, const struct ks_value *list, const struct ks_value *order, struct ks_str key)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (!check_keyed(m, &list->items[i], key))
			return false;
	for (uint32_t i = 0; key.n && list->n && i < order->n; i++)
		if (order->items[i].kind != KS_MAP)
			return ks_smp_fail(m, -EPROTO, ks_arena_printf(m->arena, "value for key %u is not a map", i));
	return true;
}

static bool order_list(
	struct ks_smp *m, struct ks_value *original, struct ks_value *patch, struct ks_str name, const struct ks_value *order, uint16_t type)
{
	const struct ks_value *ours = ks_value_get_str(NULL, original, name);
	struct ks_value *theirs = ks_value_get_str(NULL, patch, name), merged, server = {.kind = KS_LIST}, empty = {.kind = KS_LIST};
	struct meta meta;
	uint8_t kind;

	if (ours && ours->kind != KS_LIST)
		return ks_smp_bad_type(m, "[]interface {}", ours);
	if (theirs && theirs->kind != KS_LIST)
		return ks_smp_bad_type(m, "[]interface {}", theirs);
	if (!look_up_list(m, type, name, &meta) || !check_order(m, theirs ? theirs : &empty, order, meta.key))
		return false;
	if (!ours && !theirs)
		return true;
	if (ours)
		server = *ours;
	if (!copy_list(m, ours ? ours : theirs, &merged))
		return false;
	if (!ours && !remove_directives(&merged))
		return true;
	if (ours && theirs && !merge_list(m, &merged, theirs, &meta, false))
		return false;
	if (!check_order_items(m, &merged, order, meta.key) || !element_kind(m, &server, theirs ? theirs : &empty, &kind) ||
		!ks_smp_order(m, &merged, order, &server, meta.key) || !set_member(m, original, name, &merged))
		return false;
	ks_value_remove(NULL, patch, name);
	return true;
}

static bool apply_order_directives(struct ks_smp *m, struct ks_value *original, struct ks_value *patch, uint16_t type)
{
	for (uint32_t i = 0; i < patch->n;) {
		struct ks_str key = patch->members[i].key, name;
		struct ks_value order = patch->members[i].value;

		if (!has_prefix(key, order_prefix)) {
			i++;
			continue;
		}
		if (order.kind != KS_LIST)
			return ks_smp_bad_type(m, "[]interface {}", &order);
		if (key.n < sizeof(order_prefix) || key.p[sizeof(order_prefix) - 1] != '/')
			return ks_smp_fail(m, -EINVAL, bad_order);
		name = ks_str_of(key.p + sizeof(order_prefix), key.n - sizeof(order_prefix));
		ks_value_remove(NULL, patch, key);
		if (!order_list(m, original, patch, name, &order, type))
			return false;
		i = 0; /* members moved */
	}
	return true;
}

/* ---- maps ---- */

/* A map that a patch is merged into, and where its members are. */
struct target {
	struct ks_value *map;
	struct ks_map_index index;
};

static bool take_away(struct ks_smp *m, struct target *t, struct ks_str key)
{
	return ks_map_index_remove(&t->index, m->arena, t->map, key) || ks_smp_fail(m, 0, NULL);
}

/* The patch's value takes the member's place, or the member goes. */
static bool take_patch_value(struct ks_smp *m, struct target *t, struct ks_str key, struct ks_value *value)
{
	struct ks_value *place;

	if (!remove_directives(value))
		return take_away(m, t, key);
	place = ks_map_index_put(&t->index, m->arena, t->map, key);
	if (!place)
		return ks_smp_fail(m, 0, NULL);
	*place = *value;
	return true;
}

static bool merge_present(
	struct ks_smp *m, struct target *t, struct ks_value *place, struct ks_str name, struct ks_value *value, bool deletion, uint16_t type)
{
	struct meta meta;

	if (place->kind != value->kind) {
		if (deletion)
			return true;
		discard_nulls(value);
		return take_patch_value(m, t, name, value);
	}
	if (value->kind == KS_MAP) {
		if (!look_up(m, type, name, &meta))
			return false;
		if (!meta.replace)
			return merge_map(m, place, value, meta.type);
		*place = *value;
		return true;
	}
	if (value->kind == KS_LIST)
		return look_up_list(m, type, name, &meta) && merge_list(m, place, value, &meta, deletion);
	return take_patch_value(m, t, name, value);
}

static bool merge_member(struct ks_smp *m, struct target *t, struct ks_member *change, uint16_t type)
{
	bool deletion = has_prefix(change->key, deletion_prefix), failed;
	struct ks_str name = change->key;
	struct ks_value *place;

	if (deletion) {
		if (name.n < sizeof(deletion_prefix) || name.p[sizeof(deletion_prefix) - 1] != '/')
			return ks_smp_fail(m, -EINVAL, bad_deletion);
		name = ks_str_of(name.p + sizeof(deletion_prefix), name.n - sizeof(deletion_prefix));
	}
	if (change->value.kind == KS_NULL)
		return take_away(m, t, name);
	place = ks_map_index_get(&t->index, m->arena, t->map, name, &failed);
	if (failed)
		return ks_smp_fail(m, 0, NULL);
	if (place)
		return merge_present(m, t, place, name, &change->value, deletion, type);
	if (deletion)
		return true;
	discard_nulls(&change->value);
	return take_patch_value(m, t, name, &change->value);
}

static bool merge_map(struct ks_smp *m, struct ks_value *original, struct ks_value *patch, uint16_t type)
{
	const struct ks_value *directive = ks_value_get(NULL, patch, "$patch");
	struct target target = {.map = original};

	if (directive)
		return apply_map_directive(m, directive, original, patch);
	if (!apply_retain_keys(m, original, patch) || !apply_order_directives(m, original, patch, type))
		return false;
	for (uint32_t i = 0; i < patch->n; i++)
		if (!merge_member(m, &target, &patch->members[i], type))
			return false;
	ks_map_index_finish(&target.index, original);
	return true;
}

int ks_patch_strategic(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, struct ks_value *object, const struct ks_value *patch,
	const char **message_r)
{
	struct ks_smp m = {.arena = arena, .s = s};
	const char *what = patch->kind == KS_BOOL ? "bool" : patch->kind == KS_STRING ? "string" : patch->kind == KS_LIST ? "array" : "number";
	struct ks_value copy;

	if (patch->kind == KS_NULL)
		return 0;
	if (patch->kind != KS_MAP) {
		*message_r = ks_arena_printf(arena, "json: cannot unmarshal %s into Go value of type map[string]interface {}", what);
		return *message_r ? -EINVAL : -ENOMEM;
	}
	/* Directives are taken out as they are done; the caller's patch stays whole for the next try. */
	if (!ks_value_copy(arena, patch, &copy))
		return -ENOMEM;
	if (merge_map(&m, object, &copy, type))
		return 0;
	if (m.rc != -ENOMEM)
		*message_r = m.message;
	return m.rc;
}
