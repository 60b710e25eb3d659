/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Free form to typed without a text between, as upstream does after a strategic merge patch: other words for
 * what does not fit, and unknown fields sorted. Here it is a check in front of the ordinary way.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/json_decode.h"
#include "core/api/json_unstructured.h"

struct place {
	const struct place *up;
	const char *name; /* NULL: an item */
	uint32_t index;
};

struct check {
	struct ks_arena *arena;
	const struct ks_schema *s;
	struct ks_strict_errors *strict; /* NULL: unknown fields are nobody's business */
	const char *message;
	int rc;
};

static bool check_value(struct check *c, const struct place *at, uint16_t type, const struct ks_value *v);

static bool fail(struct check *c, const char *message)
{
	c->rc = message ? -EINVAL : -ENOMEM;
	c->message = message;
	return false;
}

/* Go's kind and type of a decoded value. */
static const char *kind_of(const struct ks_value *v)
{
	static const char *const names[] = {
		[KS_BOOL] = "bool", [KS_INT] = "int64", [KS_FLOAT] = "float64", [KS_STRING] = "string", [KS_LIST] = "slice", [KS_MAP] = "map"};

	return v->kind < sizeof(names) / sizeof(names[0]) && names[v->kind] ? names[v->kind] : "invalid";
}

static bool cannot_restore(struct check *c, const char *what, const struct ks_value *v)
{
	return fail(c, ks_arena_printf(c->arena, "cannot restore %s %s", what, kind_of(v)));
}

/* ---- unknown fields ---- */

static void add_path(struct ks_buf *out, const struct place *at)
{
	if (!at)
		return;
	add_path(out, at->up);
	if (!at->name) {
		ks_buf_printf(out, "[%u]", at->index);
		return;
	}
	ks_buf_printf(out, out->len ? ".%s" : "%s", at->name);
}

static bool add_unknown(struct check *c, const struct place *at, struct ks_str name)
{
	struct ks_strict_errors *strict = c->strict;
	struct ks_buf path;
	const char *text;

	if (strict->n == strict->cap) {
		uint32_t cap = strict->cap ? strict->cap * 2 : 8;
		struct ks_str *items = ks_arena_alloc(c->arena, cap * sizeof(*items));

		if (!items)
			return fail(c, NULL);
		if (strict->n)
			memcpy(items, strict->items, strict->n * sizeof(*items));
		strict->items = items;
		strict->cap = cap;
	}
	ks_buf_init(&path);
	add_path(&path, at);
	text = path.failed ? NULL
			   : ks_arena_printf(c->arena, "unknown field \"%.*s%s%.*s\"", (int)path.len, path.len ? path.data : "", path.len ? "." : "",
				     (int)name.n, name.p);
	ks_buf_fini(&path);
	if (!text)
		return fail(c, NULL);
	strict->items[strict->n++] = ks_str_from(text);
	return true;
}

static bool find_unknown(struct check *c, const struct place *at, uint16_t type, const struct ks_value *v)
{
	for (uint32_t i = 0; c->strict && i < v->n; i++) {
		if (ks_schema_slot(c->s, type, v->members[i].key.p, v->members[i].key.n) != KS_NO_SLOT)
			continue;
		if (c->strict->n >= KS_JSON_MAX_STRICT) {
			c->strict->dropped = true;
			return true;
		}
		if (!add_unknown(c, at, v->members[i].key))
			return false;
	}
	return true;
}

/* ---- values ---- */

static bool check_struct(struct check *c, const struct place *up, uint16_t type, const struct ks_value *v)
{
	const struct ks_type *t = &c->s->types[type];

	if (v->kind != KS_MAP)
		return cannot_restore(c, "struct from:", v);
	for (uint16_t slot = 0; slot < t->n_fields; slot++) {
		const struct ks_field *field = &c->s->fields[t->first_field + slot];
		struct place at = {.up = up, .name = ks_schema_text(c->s, field->name)};
		const struct ks_value *value = ks_value_get(NULL, v, at.name);

		if (ks_value_present(value) && !check_value(c, &at, field->type, value))
			return false;
	}
	return find_unknown(c, up, type, v);
}

static bool check_list(struct check *c, const struct place *up, uint16_t type, const struct ks_value *v)
{
	if (v->kind != KS_LIST)
		return cannot_restore(c, "slice from", v);
	for (uint32_t i = 0; i < v->n; i++) {
		struct place at = {.up = up, .index = i};

		if (ks_value_present(&v->items[i]) && !check_value(c, &at, c->s->types[type].element, &v->items[i]))
			return false;
	}
	return true;
}

static bool check_map(struct check *c, const struct place *at, uint16_t type, const struct ks_value *v)
{
	if (v->kind != KS_MAP)
		return cannot_restore(c, "map from", v);
	for (uint32_t i = 0; i < v->n; i++)
		if (ks_value_present(&v->members[i].value) && !check_value(c, at, c->s->types[type].element, &v->members[i].value))
			return false;
	return true;
}

/* Does Go convert a value of this kind to a simple type at all? Then it is said that it cannot; else that the type is not known. */
static bool convertible(uint8_t class_, uint8_t kind)
{
	bool number = kind == KS_INT || kind == KS_FLOAT;

	switch (class_) {
	case KS_TYPE_STRING:
		return kind == KS_STRING || kind == KS_INT;
	case KS_TYPE_BOOL:
		return kind == KS_BOOL;
	default:
		return number;
	}
}

static bool fits(uint8_t class_, const struct ks_value *v)
{
	switch (class_) {
	case KS_TYPE_STRING:
		return v->kind == KS_STRING;
	case KS_TYPE_BOOL:
		return v->kind == KS_BOOL;
	case KS_TYPE_FLOAT64:
		return v->kind == KS_INT || v->kind == KS_FLOAT;
	default:
		return v->kind == KS_INT || (v->kind == KS_FLOAT && v->number == trunc(v->number));
	}
}

static const char *simple_kind(uint8_t class_)
{
	return class_ == KS_TYPE_STRING   ? "string"
		: class_ == KS_TYPE_BOOL  ? "bool"
		: class_ == KS_TYPE_INT32 ? "int32"
		: class_ == KS_TYPE_INT64 ? "int64"
					  : "float64";
}

static bool check_simple(struct check *c, uint16_t type, const struct ks_value *v)
{
	uint8_t class_ = c->s->types[type].class_;

	if (fits(class_, v))
		return true;
	if (!convertible(class_, v->kind))
		return fail(c, ks_arena_printf(c->arena, "unrecognized type: %s", simple_kind(class_)));
	return fail(c, ks_arena_printf(c->arena, "cannot convert %s to %s", kind_of(v), ks_json_go_type(c->arena, c->s, type, 0)));
}

/* A scalar that decodes itself: by its own decoder. */
static bool check_leaf(struct check *c, uint16_t type, const struct ks_value *v)
{
	const char *message = "";
	struct ks_value out;
	int r;

	if (c->s->types[type].class_ == KS_TYPE_BYTES && v->kind != KS_STRING)
		return cannot_restore(c, "slice from", v);
	r = ks_value_convert(c->arena, c->s, type, 0, v, &out, NULL, &message);
	if (r == 0)
		return true;
	if (r == -EINVAL && c->s->types[type].class_ == KS_TYPE_BYTES)
		message = ks_arena_printf(c->arena, "error decoding from json: %s", message);
	return fail(c, r == -ENOMEM ? NULL : message);
}

static bool check_value(struct check *c, const struct place *at, uint16_t type, const struct ks_value *v)
{
	switch (c->s->types[type].class_) {
	case KS_TYPE_STRUCT:
		return check_struct(c, at, type, v);
	case KS_TYPE_LIST:
		return check_list(c, at, type, v);
	case KS_TYPE_MAP:
		return check_map(c, at, type, v);
	case KS_TYPE_BOOL:
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
	case KS_TYPE_FLOAT64:
	case KS_TYPE_STRING:
		return check_simple(c, type, v);
	case KS_TYPE_NONE:
	case KS_TYPE_RAW:
	case KS_TYPE_JSON:
	case KS_TYPE_FIELDS_V1:
		return true;
	default:
		return check_leaf(c, type, v);
	}
}

static int by_text(const void *a, const void *b)
{
	return ks_str_cmp(*(const struct ks_str *)a, *(const struct ks_str *)b);
}

int ks_unstructured_check(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, const struct ks_value *from,
	struct ks_strict_errors *strict, const char **message_r)
{
	struct check c = {.arena = arena, .s = s, .strict = strict};
	uint32_t before = strict ? strict->n : 0;

	if (ks_value_present(from) && !check_value(&c, NULL, type, from)) {
		if (c.rc == -EINVAL)
			*message_r = c.message;
		return c.rc;
	}
	if (strict && strict->n > before)
		qsort(strict->items + before, strict->n - before, sizeof(*strict->items), by_text);
	return 0;
}
