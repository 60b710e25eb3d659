/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Paths, and the words for what is wrong with a field. */
#include "core/api/validate.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/api/gojson.h"
#include "core/api/json.h"
#include "core/api/quote.h"

/* -- paths ------------------------------------------------------------------------------------------------------ */

static void add_path(struct ks_buf *out, const struct ks_path *path)
{
	if (!path)
		return;
	add_path(out, path->parent);
	if (!path->name) {
		ks_buf_add_char(out, '[');
		ks_buf_add_u64(out, path->n);
		ks_buf_add_char(out, ']');
		return;
	}
	if (path->key)
		ks_buf_add_char(out, '[');
	else if (out->len)
		ks_buf_add_char(out, '.');
	ks_buf_add(out, path->name, path->n == KS_PATH_TERMINATED ? strlen(path->name) : path->n);
	if (path->key)
		ks_buf_add_char(out, ']');
}

const char *ks_path_text(struct ks_arena *arena, const struct ks_path *path, const char *name)
{
	struct ks_buf text;
	char *copy = NULL;

	ks_buf_init(&text);
	add_path(&text, path);
	if (name && text.len)
		ks_buf_add_char(&text, '.');
	if (name)
		ks_buf_add_str(&text, name);
	if (!text.failed)
		copy = ks_arena_dup(arena, text.data ? text.data : "", text.len);
	ks_buf_fini(&text);
	return copy ? copy : "";
}

/* -- values ------------------------------------------------------------------------------------------------------ */

bool ks_value_same(const struct ks_value *a, const struct ks_value *b)
{
	static const struct ks_value nothing;

	return a == b || ks_value_equal(a ? a : &nothing, b ? b : &nothing);
}

bool ks_str_in(struct ks_str text, const char *const *set)
{
	for (; *set; set++)
		if (ks_str_is(text, *set))
			return true;
	return false;
}

static struct ks_seen_text *seen_place(struct ks_seen_text *table, uint32_t size, struct ks_str text)
{
	uint32_t at = ks_schema_hash(text.p, text.n) & (size - 1);

	while (table[at].text.p && !ks_str_eq(table[at].text, text))
		at = (at + 1) & (size - 1);
	return &table[at];
}

int64_t ks_seen_find(const struct ks_seen *seen, struct ks_str text)
{
	if (!text.p)
		text = KS_STR_LIT("");
	if (seen->table) {
		const struct ks_seen_text *place = seen_place(seen->table, seen->size, text);

		return place->text.p ? (int64_t)place->at : -1;
	}
	for (uint32_t i = 0; i < seen->n; i++)
		if (ks_str_eq(seen->first[i], text))
			return i;
	return -1;
}

bool ks_seen_has(const struct ks_seen *seen, struct ks_str text)
{
	return ks_seen_find(seen, text) >= 0;
}

/* A bigger table with all that was seen; false when out of memory. */
static bool seen_grow(struct ks_check *c, struct ks_seen *seen)
{
	uint32_t size = seen->table ? seen->size * 2 : 64;
	struct ks_seen_text *table = ks_arena_zalloc(c->arena, size, sizeof(*table));

	if (!table)
		return false;
	for (uint32_t i = 0; !seen->table && i < seen->n; i++)
		*seen_place(table, size, seen->first[i]) = (struct ks_seen_text){seen->first[i], i};
	for (uint32_t i = 0; seen->table && i < seen->size; i++)
		if (seen->table[i].text.p)
			*seen_place(table, size, seen->table[i].text) = seen->table[i];
	seen->table = table;
	seen->size = size;
	return true;
}

bool ks_seen_add(struct ks_check *c, struct ks_seen *seen, struct ks_str text)
{
	bool full = seen->table ? seen->n * 2 >= seen->size : seen->n == sizeof(seen->first) / sizeof(seen->first[0]);

	if (!text.p)
		text = KS_STR_LIT("");
	if (ks_seen_has(seen, text))
		return false;
	if (full && !seen_grow(c, seen))
		return true; /* the arena is spent: the request fails anyhow */
	if (seen->table)
		*seen_place(seen->table, seen->size, text) = (struct ks_seen_text){text, seen->n};
	else
		seen->first[seen->n] = text;
	seen->n++;
	return true;
}

bool ks_seen_add_pair(struct ks_check *c, struct ks_seen *seen, struct ks_str one, struct ks_str other)
{
	char *text = ks_arena_alloc(c->arena, sizeof(one.n) + one.n + other.n);

	if (!text)
		return true; /* the request fails anyhow */
	memcpy(text, &one.n, sizeof(one.n));
	if (one.n)
		memcpy(text + sizeof(one.n), one.p, one.n);
	if (other.n)
		memcpy(text + sizeof(one.n) + one.n, other.p, other.n);
	return ks_seen_add(c, seen, ks_str_of(text, sizeof(one.n) + one.n + other.n));
}

bool ks_seen_add_value(struct ks_check *c, struct ks_seen *seen, const struct ks_value *value)
{
	struct ks_buf json;
	char *text = NULL;
	size_t n;

	ks_buf_init(&json);
	ks_json_encode(c->schema, value, &json);
	n = json.len;
	if (!json.failed)
		text = ks_arena_dup(c->arena, json.data, n);
	ks_buf_fini(&json);
	return !text || ks_seen_add(c, seen, ks_str_of(text, n));
}

const struct ks_value *ks_index_find(struct ks_check *c, struct ks_index *index, struct ks_str key)
{
	enum { SHORT = 24 };
	uint32_t n = index->map && index->map->kind == KS_MAP ? index->map->n : 0;
	int64_t at;

	if (n <= SHORT)
		return n ? ks_value_get_str(c->schema, index->map, key) : NULL;
	for (uint32_t i = index->seen.n; i < n; i++)
		ks_seen_add(c, &index->seen, index->map->members[i].key);
	at = ks_seen_find(&index->seen, key);
	if (index->seen.n != n) /* the arena is spent */
		return ks_value_get_str(c->schema, index->map, key);
	return at >= 0 ? &index->map->members[at].value : NULL;
}

/* A value as messages show it. */
static void add_value(struct ks_check *c, struct ks_buf *out, const struct ks_value *value)
{
	if (!value || value->kind <= KS_NULL)
		ks_buf_add_str(out, "null");
	else if (value->kind == KS_STRING)
		ks_quote_to(out, ks_value_str(value));
	else if (value->kind == KS_INT || value->kind == KS_BOOL || value->kind == KS_FLOAT)
		ks_value_print(value, out);
	else if (value->type)
		ks_gojson_write(c->schema, value->type, false, value, out);
	else
		ks_gojson_write(c->schema, value->type, false, value, out);
}

/* -- words -------------------------------------------------------------------------------------------------------- */

struct words {
	const char *reason, *title;
};

static const struct words required = {"FieldValueRequired", "Required value"};
static const struct words invalid = {"FieldValueInvalid", "Invalid value"};
static const struct words type_invalid = {"FieldValueTypeInvalid", "Invalid value"};
static const struct words forbidden = {"FieldValueForbidden", "Forbidden"};
static const struct words not_supported = {"FieldValueNotSupported", "Unsupported value"};
static const struct words duplicate = {"FieldValueDuplicate", "Duplicate value"};
static const struct words not_found = {"FieldValueNotFound", "Not found"};
static const struct words too_long = {"FieldValueTooLong", "Too long"};
static const struct words too_many = {"FieldValueTooMany", "Too many"};
static const struct words too_few = {"FieldValueTooFew", "Too few"};
static const struct words internal = {"InternalError", "Internal error"};

/* `TITLE: SHOWN: DETAIL`, without the parts that are NULL or "". */
static void say(struct ks_check *c, const struct words *words, const struct ks_path *path, const char *name, const struct ks_buf *shown, const char *detail)
{
	struct ks_buf text;
	struct ks_str s;

	ks_buf_init(&text);
	ks_buf_add_str(&text, words->title);
	if (shown) {
		ks_buf_add_str(&text, ": ");
		ks_buf_add(&text, shown->data, shown->len);
		text.failed |= shown->failed;
	}
	if (detail && detail[0]) {
		ks_buf_add_str(&text, ": ");
		ks_buf_add_str(&text, detail);
	}
	s = ks_buf_str(&text);
	ks_status_cause(c->status, c->arena, words->reason, ks_path_text(c->arena, path, name), "%.*s", text.failed ? 0 : (int)s.n, s.p ? s.p : "");
	ks_buf_fini(&text);
}

static void say_value(struct ks_check *c, const struct words *words, const struct ks_path *path, const char *name, const struct ks_value *value, const char *detail)
{
	struct ks_buf shown;

	ks_buf_init(&shown);
	add_value(c, &shown, value);
	say(c, words, path, name, &shown, detail);
	ks_buf_fini(&shown);
}

static void say_text(struct ks_check *c, const struct words *words, const struct ks_path *path, const char *name, struct ks_str text, const char *detail)
{
	struct ks_value value = ks_value_from_str(text);

	say_value(c, words, path, name, &value, detail);
}

static void say_int(struct ks_check *c, const struct words *words, const struct ks_path *path, const char *name, int64_t n, const char *detail)
{
	struct ks_value value = ks_value_from_int(n);

	say_value(c, words, path, name, &value, detail);
}

void ks_err_required(struct ks_check *c, const struct ks_path *path, const char *name, const char *detail)
{
	say(c, &required, path, name, NULL, detail);
}

void ks_err_invalid(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *value, const char *detail)
{
	say_value(c, &invalid, path, name, value, detail);
}

void ks_err_invalid_text(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const char *detail)
{
	say_text(c, &invalid, path, name, value, detail);
}

void ks_err_invalid_int(struct ks_check *c, const struct ks_path *path, const char *name, int64_t value, const char *detail)
{
	say_int(c, &invalid, path, name, value, detail);
}

void ks_err_invalid_literal(struct ks_check *c, const struct ks_path *path, const char *name, const char *literal, const char *detail)
{
	struct ks_buf shown;

	ks_buf_init(&shown);
	ks_buf_add_str(&shown, literal);
	say(c, &invalid, path, name, &shown, detail);
	ks_buf_fini(&shown);
}

void ks_err_invalid_bare(struct ks_check *c, const struct ks_path *path, const char *name, const char *detail)
{
	say(c, &invalid, path, name, NULL, detail);
}

void ks_err_type_invalid(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *value, const char *detail)
{
	say_value(c, &type_invalid, path, name, value, detail);
}

void ks_err_forbidden(struct ks_check *c, const struct ks_path *path, const char *name, const char *detail)
{
	say(c, &forbidden, path, name, NULL, detail);
}

/* `supported values: "A", "B"`, ended by a NUL byte. */
static void list_supported(struct ks_buf *out, const char *const *supported)
{
	if (*supported)
		ks_buf_add_str(out, "supported values: ");
	for (size_t i = 0; supported[i]; i++) {
		if (i)
			ks_buf_add_str(out, ", ");
		ks_quote_to(out, ks_str_from(supported[i]));
	}
	ks_buf_add_char(out, 0);
}

void ks_err_not_supported(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const char *const *supported)
{
	struct ks_buf list;

	ks_buf_init(&list);
	list_supported(&list, supported);
	say_text(c, &not_supported, path, name, value, list.failed ? "" : list.data);
	ks_buf_fini(&list);
}

void ks_err_not_supported_literal(struct ks_check *c, const struct ks_path *path, const char *name, const char *literal, const char *const *supported)
{
	struct ks_buf list, shown;

	ks_buf_init(&list);
	ks_buf_init(&shown);
	list_supported(&list, supported);
	ks_buf_add_str(&shown, literal);
	say(c, &not_supported, path, name, &shown, list.failed ? "" : list.data);
	ks_buf_fini(&shown);
	ks_buf_fini(&list);
}

void ks_err_duplicate(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *value)
{
	say_value(c, &duplicate, path, name, value, NULL);
}

void ks_err_duplicate_text(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value)
{
	say_text(c, &duplicate, path, name, value, NULL);
}

void ks_err_not_found(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const char *detail)
{
	say_text(c, &not_found, path, name, value, detail);
}

void ks_err_too_long(struct ks_check *c, const struct ks_path *path, const char *name, int64_t max_bytes)
{
	say(c, &too_long, path, name, NULL, ks_err_detail(c, "may not be more than %lld %s", (long long)max_bytes, max_bytes == 1 ? "byte" : "bytes"));
}

void ks_err_too_long_characters(struct ks_check *c, const struct ks_path *path, const char *name, int64_t max)
{
	say(c, &too_long, path, name, NULL, ks_err_detail(c, "may not be more than %lld %s", (long long)max, max == 1 ? "character" : "characters"));
}

void ks_err_too_many(struct ks_check *c, const struct ks_path *path, const char *name, int64_t actual, int64_t max)
{
	say_int(c, &too_many, path, name, actual, ks_err_detail(c, "must have at most %lld %s", (long long)max, max == 1 ? "item" : "items"));
}

void ks_err_too_few(struct ks_check *c, const struct ks_path *path, const char *name, int64_t actual, int64_t min)
{
	say_int(c, &too_few, path, name, actual, ks_err_detail(c, "must have at least %lld %s", (long long)min, min == 1 ? "item" : "items"));
}

void ks_err_internal(struct ks_check *c, const struct ks_path *path, const char *name, const char *detail)
{
	say(c, &internal, path, name, NULL, detail);
}

const char *ks_err_detail(struct ks_check *c, const char *format, ...)
{
	char text[2048], *copy;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n < 0)
		return "";
	copy = ks_arena_dup(c->arena, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	return copy ? copy : "";
}
