/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/value.h"

#include <stdlib.h>
#include <string.h>

#include "core/api/quantity.h"

/* ---- room behind lists and maps: its logarithm is kept in the upper five bits of `flags`; 0 means exactly full ---- */

static uint32_t room_of(const struct ks_value *v)
{
	unsigned log = v->flags >> KS_VALUE_ROOM_SHIFT;

	return log ? (uint32_t)1 << log : v->n;
}

static void set_room(struct ks_value *v, unsigned log)
{
	v->flags = (uint8_t)((v->flags & KS_VALUE_USER_FLAGS) | log << KS_VALUE_ROOM_SHIFT);
}

/* Makes room for one more element of `size` bytes. */
static bool grow(struct ks_arena *arena, struct ks_value *v, size_t size)
{
	unsigned log = 2;
	void *elements;

	if (v->n < room_of(v))
		return true;
	while (((uint32_t)1 << log) <= v->n)
		if (++log > 30)
			return false;
	elements = ks_arena_zalloc(arena, (size_t)1 << log, size);
	if (!elements)
		return false;
	if (v->n)
		memcpy(elements, v->items, v->n * size);
	v->items = elements;
	set_room(v, log);
	return true;
}

/* ---- access ---- */

bool ks_value_new_struct(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, struct ks_value *out_r)
{
	uint16_t n = s->types[type].n_fields;
	struct ks_value *slots = n ? ks_arena_zalloc(arena, n, sizeof(*slots)) : NULL;

	if (n && !slots)
		return false;
	*out_r = (struct ks_value){.kind = KS_STRUCT, .type = type, .n = n, .items = slots};
	return true;
}

static struct ks_value *find_member(const struct ks_value *v, struct ks_str name)
{
	for (uint32_t i = 0; i < v->n; i++)
		if (ks_str_eq(v->members[i].key, name))
			return &v->members[i].value;
	return NULL;
}

/* The place of a name, absent or not; NULL when there is none. */
static struct ks_value *find_place(const struct ks_schema *s, const struct ks_value *v, struct ks_str name)
{
	uint16_t slot;

	if (!v)
		return NULL;
	if (v->kind == KS_MAP)
		return find_member(v, name);
	if (v->kind != KS_STRUCT || !s)
		return NULL;
	slot = ks_schema_slot(s, v->type, name.p, name.n);
	return slot == KS_NO_SLOT || slot >= v->n ? NULL : &v->items[slot];
}

struct ks_value *ks_value_get_str(const struct ks_schema *s, const struct ks_value *v, struct ks_str name)
{
	struct ks_value *place = find_place(s, v, name);

	return place && place->kind != KS_ABSENT ? place : NULL;
}

struct ks_value *ks_value_get(const struct ks_schema *s, const struct ks_value *v, const char *name)
{
	return ks_value_get_str(s, v, ks_str_from(name));
}

/* Cuts the first part off a dotted path. */
static struct ks_str next_part(const char **path)
{
	const char *dot = strchr(*path, '.');
	struct ks_str part = ks_str_of(*path, dot ? (size_t)(dot - *path) : strlen(*path));

	*path = dot ? dot + 1 : *path + part.n;
	return part;
}

struct ks_value *ks_value_at(const struct ks_schema *s, const struct ks_value *v, const char *path)
{
	struct ks_value *at = (struct ks_value *)v;

	while (at && *path)
		at = ks_value_get_str(s, at, next_part(&path));
	return at;
}

/* ---- changes ---- */

struct ks_value *ks_value_add(struct ks_arena *arena, struct ks_value *map, struct ks_str key)
{
	if (map->kind != KS_MAP || !grow(arena, map, sizeof(struct ks_member)))
		return NULL;
	map->members[map->n] = (struct ks_member){.key = key};
	return &map->members[map->n++].value;
}

struct ks_value *ks_value_put(struct ks_arena *arena, const struct ks_schema *s, struct ks_value *v, struct ks_str name)
{
	struct ks_value *place = find_place(s, v, name);
	const char *copy;

	if (place || !v || v->kind != KS_MAP)
		return place;
	copy = ks_arena_dup(arena, name.p, name.n);
	return copy ? ks_value_add(arena, v, ks_str_of(copy, name.n)) : NULL;
}

/* The schema type of what stands (or would stand) at `name` of `v`; 0 in free-form parts. */
static uint16_t type_at(const struct ks_schema *s, const struct ks_value *v, struct ks_str name)
{
	uint16_t slot;

	if (!s)
		return 0;
	if (v->kind == KS_MAP)
		return v->type ? s->types[v->type].element : 0;
	if (v->kind != KS_STRUCT)
		return 0;
	slot = ks_schema_slot(s, v->type, name.p, name.n);
	return slot == KS_NO_SLOT ? 0 : ks_schema_field(s, v->type, slot)->type;
}

/* Makes an absent place something that has members. */
static bool make_container(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, struct ks_value *place)
{
	uint8_t class_ = type ? s->types[type].class_ : KS_TYPE_NONE;

	if (ks_value_present(place))
		return place->kind == KS_STRUCT || place->kind == KS_MAP;
	if (class_ == KS_TYPE_STRUCT)
		return ks_value_new_struct(arena, s, type, place);
	if (class_ == KS_TYPE_LIST)
		return false;
	*place = (struct ks_value){.kind = KS_MAP, .type = class_ == KS_TYPE_MAP ? type : 0};
	return true;
}

struct ks_value *ks_value_put_at(struct ks_arena *arena, const struct ks_schema *s, struct ks_value *v, const char *path)
{
	while (v && *path) {
		struct ks_str part = next_part(&path);
		uint16_t type = type_at(s, v, part);
		struct ks_value *place = ks_value_put(arena, s, v, part);

		if (!place || (*path && !make_container(arena, s, type, place)))
			return NULL;
		v = place;
	}
	return v;
}

void ks_value_remove(const struct ks_schema *s, struct ks_value *v, struct ks_str name)
{
	struct ks_value *place = find_place(s, v, name);
	uint32_t at;

	if (!place)
		return;
	if (v->kind == KS_STRUCT) {
		*place = (struct ks_value){0};
		return;
	}
	at = (uint32_t)((struct ks_member *)((char *)place - offsetof(struct ks_member, value)) - v->members);
	memmove(&v->members[at], &v->members[at + 1], (v->n - at - 1) * sizeof(struct ks_member));
	v->n--;
}

struct ks_value *ks_value_append(struct ks_arena *arena, struct ks_value *list)
{
	return ks_value_insert_item(arena, list, list->n);
}

void ks_value_remove_item(struct ks_value *list, uint32_t at)
{
	if (at >= list->n)
		return;
	memmove(&list->items[at], &list->items[at + 1], (list->n - at - 1) * sizeof(struct ks_value));
	list->n--;
}

struct ks_value *ks_value_insert_item(struct ks_arena *arena, struct ks_value *list, uint32_t at)
{
	if (list->kind != KS_LIST || at > list->n || !grow(arena, list, sizeof(struct ks_value)))
		return NULL;
	memmove(&list->items[at + 1], &list->items[at], (list->n - at) * sizeof(struct ks_value));
	list->items[at] = (struct ks_value){0};
	list->n++;
	return &list->items[at];
}

/* ---- what Go cannot tell from absent ---- */

static bool is_empty_struct(const struct ks_value *v)
{
	for (uint32_t i = 0; i < v->n; i++)
		if (v->items[i].kind != KS_ABSENT)
			return false;
	return true;
}

bool ks_value_is_unsaid(const struct ks_schema *s, const struct ks_field *field, const struct ks_value *v)
{
	uint8_t class_ = s->types[field->type].class_;

	if (field->flags & KS_FIELD_POINTER)
		return false; /* also lists and maps of run-time schemas */
	switch (v->kind) {
	case KS_BOOL:
		return !v->boolean;
	case KS_INT:
		return v->integer == 0;
	case KS_FLOAT:
		return v->number == 0;
	case KS_STRUCT:
		return is_empty_struct(v);
	case KS_LIST:
	case KS_MAP:
		return v->n == 0 && field->flags & KS_FIELD_OMIT_EMPTY && (class_ == KS_TYPE_LIST || class_ == KS_TYPE_MAP);
	case KS_STRING:
		if (class_ == KS_TYPE_STRING)
			return v->n == 0;
		if (class_ == KS_TYPE_QUANTITY)
			return ks_str_is(ks_value_str(v), "0");
		if (class_ == KS_TYPE_DURATION)
			return ks_str_is(ks_value_str(v), "0s");
		return class_ == KS_TYPE_BYTES && v->n == 0 && field->flags & KS_FIELD_OMIT_EMPTY;
	default:
		return false;
	}
}

void ks_value_settle(const struct ks_schema *s, struct ks_value *v)
{
	for (uint32_t i = 0; v->kind == KS_LIST && i < v->n; i++)
		ks_value_settle(s, &v->items[i]);
	for (uint32_t i = 0; v->kind == KS_MAP && v->type && i < v->n; i++)
		ks_value_settle(s, &v->members[i].value);
	for (uint32_t i = 0; v->kind == KS_STRUCT && i < v->n; i++) {
		if (v->items[i].kind == KS_ABSENT)
			continue;
		ks_value_settle(s, &v->items[i]);
		if (ks_value_is_unsaid(s, ks_schema_field(s, v->type, (uint16_t)i), &v->items[i]))
			v->items[i] = (struct ks_value){0};
	}
}

/* ---- copies ---- */

static bool copy_items(struct ks_arena *arena, const struct ks_value *from, struct ks_value *to)
{
	if (from->n == 0) {
		to->items = NULL;
		return true;
	}
	to->items = ks_arena_alloc(arena, from->n * sizeof(struct ks_value));
	if (!to->items)
		return false;
	for (uint32_t i = 0; i < from->n; i++)
		if (!ks_value_copy(arena, &from->items[i], &to->items[i]))
			return false;
	return true;
}

static bool copy_members(struct ks_arena *arena, const struct ks_value *from, struct ks_value *to)
{
	if (from->n == 0) {
		to->members = NULL;
		return true;
	}
	to->members = ks_arena_alloc(arena, from->n * sizeof(struct ks_member));
	if (!to->members)
		return false;
	for (uint32_t i = 0; i < from->n; i++) {
		const struct ks_member *m = &from->members[i];

		to->members[i].key = ks_str_of(ks_arena_dup(arena, m->key.p, m->key.n), m->key.n);
		if (!to->members[i].key.p || !ks_value_copy(arena, &m->value, &to->members[i].value))
			return false;
	}
	return true;
}

bool ks_value_copy(struct ks_arena *arena, const struct ks_value *from, struct ks_value *to_r)
{
	struct ks_value to = *from;
	bool ok = true;

	if (from->kind == KS_STRING) {
		to.string = ks_arena_dup(arena, from->string, from->n);
		ok = to.string != NULL;
	} else if (from->kind == KS_LIST || from->kind == KS_STRUCT || (from->kind == KS_ABSENT && from->flags & KS_VALUE_WAS_EMPTY)) {
		set_room(&to, 0);
		ok = copy_items(arena, from, &to);
	} else if (from->kind == KS_MAP) {
		set_room(&to, 0);
		ok = copy_members(arena, from, &to);
	}
	if (ok)
		*to_r = to;
	return ok;
}

/* ---- equality ---- */

struct comparison {
	bool json; /* as JSON trees: numbers by value, empty is not absent */
};

static bool equal(const struct comparison *how, const struct ks_value *a, const struct ks_value *b);

static bool is_nothing(const struct comparison *how, const struct ks_value *v)
{
	if (!v || v->kind == KS_ABSENT)
		return true;
	if (how->json)
		return false;
	return v->kind == KS_NULL || ((v->kind == KS_LIST || v->kind == KS_MAP) && v->n == 0);
}

static bool equal_strings(const struct comparison *how, const struct ks_value *a, const struct ks_value *b)
{
	if (a->n == b->n && (a->n == 0 || memcmp(a->string, b->string, a->n) == 0))
		return true;
	/* The decoder marks quantities by their type: 1Gi equals 1024Mi. */
	if (how->json || a->type == 0 || a->type != b->type)
		return false;
	return ks_quantity_cmp_text(ks_value_str(a), ks_value_str(b)) == 0;
}

static bool equal_items(const struct comparison *how, const struct ks_value *a, const struct ks_value *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (!equal(how, &a->items[i], &b->items[i]))
			return false;
	return true;
}

static int by_key(const void *a, const void *b)
{
	return ks_str_cmp((*(const struct ks_member *const *)a)->key, (*(const struct ks_member *const *)b)->key);
}

/* Pointers to the members, sorted by key. NULL when out of memory. */
static const struct ks_member **sorted_members(const struct ks_value *map)
{
	const struct ks_member **sorted = malloc(map->n * sizeof(*sorted));

	if (!sorted)
		return NULL;
	for (uint32_t i = 0; i < map->n; i++)
		sorted[i] = &map->members[i];
	qsort(sorted, map->n, sizeof(*sorted), by_key);
	return sorted;
}

/* Out of order and long: sort both. Without memory they count as different, which costs a needless write at worst. */
static bool equal_members_sorted(const struct comparison *how, const struct ks_value *a, const struct ks_value *b)
{
	const struct ks_member **left = sorted_members(a), **right = sorted_members(b);
	bool same = left && right;

	for (uint32_t i = 0; same && i < a->n; i++)
		same = ks_str_eq(left[i]->key, right[i]->key) && equal(how, &left[i]->value, &right[i]->value);
	free(left);
	free(right);
	return same;
}

static bool equal_members(const struct comparison *how, const struct ks_value *a, const struct ks_value *b)
{
	uint32_t i = 0;

	if (a->n != b->n)
		return false;
	while (i < a->n && ks_str_eq(a->members[i].key, b->members[i].key)) {
		if (!equal(how, &a->members[i].value, &b->members[i].value))
			return false;
		i++;
	}
	if (i == a->n)
		return true;
	if (a->n > 16)
		return equal_members_sorted(how, a, b);
	for (; i < a->n; i++) {
		const struct ks_value *other = find_member(b, a->members[i].key);

		if (!other || !equal(how, &a->members[i].value, other))
			return false;
	}
	return true;
}

static bool equal_numbers(const struct ks_value *a, const struct ks_value *b)
{
	if (a->kind == KS_INT && b->kind == KS_INT)
		return a->integer == b->integer;
	if (a->kind == KS_FLOAT && b->kind == KS_FLOAT)
		return a->number == b->number;
	return (a->kind == KS_INT ? (double)a->integer : a->number) == (b->kind == KS_INT ? (double)b->integer : b->number);
}

static bool equal(const struct comparison *how, const struct ks_value *a, const struct ks_value *b)
{
	if (is_nothing(how, a) || is_nothing(how, b))
		return is_nothing(how, a) == is_nothing(how, b);
	if (a->kind != b->kind)
		return how->json && (a->kind == KS_INT || a->kind == KS_FLOAT) && (b->kind == KS_INT || b->kind == KS_FLOAT) && equal_numbers(a, b);
	switch (a->kind) {
	case KS_BOOL:
		return a->boolean == b->boolean;
	case KS_INT:
	case KS_FLOAT:
		return equal_numbers(a, b);
	case KS_STRING:
		return equal_strings(how, a, b);
	case KS_STRUCT:
		return a->type == b->type && equal_items(how, a, b);
	case KS_LIST:
		return equal_items(how, a, b);
	case KS_MAP:
		return equal_members(how, a, b);
	default:
		return true; /* two nulls */
	}
}

bool ks_value_equal(const struct ks_value *a, const struct ks_value *b)
{
	return equal(&(struct comparison){.json = false}, a, b);
}

bool ks_value_equal_json(const struct ks_value *a, const struct ks_value *b)
{
	return equal(&(struct comparison){.json = true}, a, b);
}
