/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Working form to JSON, byte for byte what Go's encoding/json writes for the same object. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/json.h"
#include "core/api/json_zero.h"
#include "core/api/quote.h"

struct encoder {
	const struct ks_schema *s;
	struct ks_buf *out;
	bool ordered; /* inside a part that Go keeps as raw bytes: members as they came */
	/* ks_json_encode_object: */
	size_t rv_at;
	bool rv_comma;
};

/* ks_buf_add_char without a call where there is room. */
static inline void put_char(struct ks_buf *out, char c)
{
	if (out->len < out->cap && !out->failed)
		out->data[out->len++] = c;
	else
		ks_buf_add_char(out, c);
}

static void encode(struct encoder *e, uint16_t type, const struct ks_value *v);
static void encode_zero(struct encoder *e, uint16_t type);

/* ---- texts and numbers ---- */

/* 1: may be copied as it is. */
static const uint8_t plain[256] = {
	[' ' ... '!'] = 1,
	['#' ... '%'] = 1,
	['\'' ... ';'] = 1,
	['='] = 1,
	['?' ... '['] = 1,
	[']' ... 0x7f] = 1,
};

#define ONES 0x0101010101010101ULL
#define HIGHS 0x8080808080808080ULL

/* Is one of the eight bytes not plain? Quote and ampersand differ in one bit, as the angle brackets do. */
static bool has_special(const char *p)
{
	uint64_t w, quote, angle, slash;

	memcpy(&w, p, 8);
	quote = (w | ONES * 4) ^ (ONES * '&');
	angle = (w | ONES * 2) ^ (ONES * '>');
	slash = w ^ (ONES * '\\');
	return (((quote - ONES) | (angle - ONES) | (slash - ONES) | (w - ONES * 0x20) | w) & HIGHS) != 0;
}

/* Where what may be copied as it is ends. */
static size_t plain_end(struct ks_str text, size_t at)
{
	while (text.n - at >= 8 && !has_special(text.p + at))
		at += 8;
	while (at < text.n && plain[(unsigned char)text.p[at]])
		at++;
	return at;
}

static void escape_ascii(struct ks_buf *out, unsigned char c)
{
	static const char short_forms[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};

	if (c == '"' || c == '\\' || (c < sizeof(short_forms) && short_forms[c])) {
		char escape[2] = {'\\', c < sizeof(short_forms) ? short_forms[c] : (char)c};

		ks_buf_add(out, escape, 2);
		return;
	}
	ks_buf_printf(out, "\\u%04x", c);
}

/* Writes the special character at `p`; returns its length. */
static size_t encode_special(struct ks_buf *out, const char *p, size_t n)
{
	uint32_t rune;
	size_t len;

	if ((unsigned char)*p < 0x80) {
		escape_ascii(out, (unsigned char)*p);
		return 1;
	}
	len = ks_utf8_next(p, n, &rune);
	if (len == 1)
		ks_buf_add(out, "\\ufffd", 6);
	else if (rune == 0x2028 || rune == 0x2029)
		ks_buf_printf(out, "\\u%04x", (unsigned)rune);
	else
		ks_buf_add(out, p, len);
	return len;
}

void ks_json_encode_string(struct ks_str text, struct ks_buf *out)
{
	size_t at = 0, from = 0;

	if (!ks_buf_reserve(out, text.n + 2))
		return;
	out->data[out->len++] = '"';
	while ((at = plain_end(text, at)) < text.n) {
		ks_buf_add(out, text.p + from, at - from);
		at += encode_special(out, text.p + at, text.n - at);
		from = at;
	}
	if (from == 0 && text.n) { /* nothing to escape; there is room */
		memcpy(out->data + out->len, text.p, text.n);
		out->len += text.n;
	} else if (text.n) { /* an empty one may be nowhere */
		ks_buf_add(out, text.p + from, at - from);
	}
	put_char(out, '"');
}

/* The shortest digits that read back as the same number: "d.ddde-07". */
static void shortest(double value, char out[40])
{
	for (int digits = 0; digits < 17; digits++) {
		snprintf(out, 40, "%.*e", digits, value);
		if (strtod(out, NULL) == value)
			return;
	}
}

/* Turns "d.ddde+NN" into plain decimals. */
static void expand(struct ks_buf *out, const char *text)
{
	char digits[40];
	int n = 0, exponent = atoi(strchr(text, 'e') + 1);

	if (*text == '-') {
		put_char(out, '-');
		text++;
	}
	for (; *text != 'e'; text++)
		if (*text != '.')
			digits[n++] = *text;
	if (exponent < 0) {
		ks_buf_add_str(out, "0.");
		for (int i = -1; i > exponent; i--)
			put_char(out, '0');
		ks_buf_add(out, digits, (size_t)n);
		return;
	}
	for (int i = 0; i < n || i <= exponent; i++) {
		if (i == exponent + 1)
			put_char(out, '.');
		put_char(out, i < n ? digits[i] : '0');
	}
}

void ks_json_encode_double(double value, struct ks_buf *out)
{
	double magnitude = fabs(value);
	char text[40], *e;

	if (!isfinite(value)) {
		ks_buf_add_str(out, "null");
		return;
	}
	if (value == 0) {
		ks_buf_add_str(out, signbit(value) ? "-0" : "0");
		return;
	}
	shortest(value, text);
	if (magnitude >= 1e-6 && magnitude < 1e21) {
		expand(out, text);
		return;
	}
	e = strchr(text, 'e');
	ks_buf_add(out, text, (size_t)(e - text) + 2);
	e += 2;
	ks_buf_add_str(out, *e == '0' && text[strlen(text) - 3] == '-' ? e + 1 : e); /* e-09 is e-9, but e+09 stays */
}

static void encode_key(struct encoder *e, struct ks_str key, bool plain_name)
{
	if (!plain_name) {
		ks_json_encode_string(key, e->out);
		put_char(e->out, ':');
		return;
	}
	if (!ks_buf_reserve(e->out, key.n + 3))
		return;
	char *p = e->out->data + e->out->len;

	*p++ = '"';
	memcpy(p, key.p, key.n);
	p[key.n] = '"';
	p[key.n + 1] = ':';
	e->out->len += key.n + 3;
}

/* ---- lists and maps ---- */

static void encode_list(struct encoder *e, uint16_t type, const struct ks_value *v)
{
	uint16_t element = type ? e->s->types[type].element : 0;

	put_char(e->out, '[');
	for (uint32_t i = 0; i < v->n; i++) {
		if (i)
			put_char(e->out, ',');
		encode(e, element, &v->items[i]);
	}
	put_char(e->out, ']');
}

static void encode_member(struct encoder *e, uint16_t element, const struct ks_member *m, bool *first)
{
	if (m->value.kind == KS_ABSENT)
		return;
	if (!*first)
		put_char(e->out, ',');
	*first = false;
	encode_key(e, m->key, false);
	encode(e, element, &m->value);
}

static int by_key(const void *a, const void *b)
{
	return ks_str_cmp((*(const struct ks_member *const *)a)->key, (*(const struct ks_member *const *)b)->key);
}

static bool is_sorted(const struct ks_value *v)
{
	for (uint32_t i = 1; i < v->n; i++)
		if (ks_str_cmp(v->members[i - 1].key, v->members[i].key) > 0)
			return false;
	return true;
}

static void encode_sorted(struct encoder *e, uint16_t element, const struct ks_value *v)
{
	const struct ks_member *few[64], **sorted = few;
	bool first = true;

	if (v->n > 64 && !(sorted = malloc(v->n * sizeof(*sorted)))) {
		e->out->failed = true;
		return;
	}
	for (uint32_t i = 0; i < v->n; i++)
		sorted[i] = &v->members[i];
	qsort(sorted, v->n, sizeof(*sorted), by_key);
	for (uint32_t i = 0; i < v->n; i++)
		encode_member(e, element, sorted[i], &first);
	if (sorted != few)
		free(sorted);
}

static void encode_map(struct encoder *e, uint16_t type, const struct ks_value *v)
{
	uint16_t element = type ? e->s->types[type].element : 0;
	bool first = true;

	put_char(e->out, '{');
	if (e->ordered || v->flags & KS_VALUE_IN_ORDER || is_sorted(v))
		for (uint32_t i = 0; i < v->n; i++)
			encode_member(e, element, &v->members[i], &first);
	else
		encode_sorted(e, element, v);
	put_char(e->out, '}');
}

/* ---- structs ---- */

static bool is_object_meta_name(const struct ks_str name)
{
	return ks_str_is(name, "metadata");
}

/* A quick look at what most values are not. */
static inline bool may_be_nothing(const struct ks_value *v)
{
	if (!v || v->kind == KS_ABSENT || v->kind == KS_STRUCT)
		return true;
	if (v->kind == KS_STRING || v->kind == KS_LIST || v->kind == KS_MAP)
		return v->n == 0;
	return v->kind == KS_BOOL ? !v->boolean : v->integer == 0;
}

static bool is_nothing(const struct ks_schema *s, const struct ks_field *field, const struct ks_value *v)
{
	return !v || v->kind == KS_ABSENT || ks_value_is_unsaid(s, field, v);
}

/* `v` NULL: the zero struct. */
static void encode_fields(struct encoder *e, uint16_t type, const struct ks_value *v, bool root, bool metadata)
{
	const struct ks_type *t = &e->s->types[type];
	size_t start;

	put_char(e->out, '{');
	start = e->out->len;
	if (metadata)
		e->rv_at = start;
	for (uint16_t slot = 0; slot < t->n_fields; slot++) {
		const struct ks_field *field = &e->s->fields[t->first_field + slot];
		const struct ks_value *value = v && slot < v->n ? &v->items[slot] : NULL;
		struct ks_str name;

		if (may_be_nothing(value) && ks_field_left_out(e->s, field) && is_nothing(e->s, field, value))
			continue;
		name = ks_str_of(ks_schema_text(e->s, field->name), field->name_n);
		if (metadata && ks_str_is(name, "resourceVersion"))
			continue;
		if (e->out->len > start)
			put_char(e->out, ',');
		encode_key(e, name, true);
		if (root && is_object_meta_name(name) && e->s->types[field->type].class_ == KS_TYPE_STRUCT)
			encode_fields(e, field->type, value && value->kind == KS_STRUCT ? value : NULL, false, true);
		else if (value && value->kind != KS_ABSENT)
			encode(e, field->type, value);
		else if (field->flags & KS_FIELD_POINTER)
			ks_buf_add_str(e->out, "null");
		else
			encode_zero(e, field->type);
	}
	if (metadata)
		e->rv_comma = e->out->len > start;
	put_char(e->out, '}');
}

static void encode_zero(struct encoder *e, uint16_t type)
{
	if (e->s->types[type].class_ == KS_TYPE_STRUCT)
		encode_fields(e, type, NULL, false, false);
	else
		ks_buf_add_str(e->out, ks_json_zero_text(e->s->types[type].class_));
}

static bool keeps_order(const struct encoder *e, uint16_t type)
{
	uint8_t class_ = type ? e->s->types[type].class_ : KS_TYPE_NONE;

	return class_ == KS_TYPE_RAW || class_ == KS_TYPE_JSON || class_ == KS_TYPE_FIELDS_V1;
}

static void encode_container(struct encoder *e, uint16_t type, const struct ks_value *v)
{
	bool before = e->ordered;

	if (keeps_order(e, type)) {
		e->ordered = true;
		type = 0;
	}
	if (v->type && v->kind != KS_STRUCT)
		type = v->type;
	if (type && v->kind != KS_STRUCT && e->s->types[type].class_ == KS_TYPE_STRUCT)
		type = 0;
	if (v->kind == KS_LIST)
		encode_list(e, type, v);
	else if (v->kind == KS_MAP)
		encode_map(e, type, v);
	else
		encode_fields(e, v->type, v, false, false);
	e->ordered = before;
}

static void encode(struct encoder *e, uint16_t type, const struct ks_value *v)
{
	switch (v->kind) {
	case KS_BOOL:
		ks_buf_add_str(e->out, v->boolean ? "true" : "false");
		return;
	case KS_INT:
		ks_buf_add_i64(e->out, v->integer);
		return;
	case KS_FLOAT:
		ks_json_encode_double(v->number, e->out);
		return;
	case KS_STRING:
		ks_json_encode_string(ks_value_str(v), e->out);
		return;
	case KS_LIST:
	case KS_MAP:
	case KS_STRUCT:
		encode_container(e, type, v);
		return;
	default:
		ks_buf_add_str(e->out, "null");
	}
}

void ks_json_encode(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out)
{
	struct encoder e = {.s = s, .out = out};

	encode(&e, 0, v);
}

void ks_json_encode_ordered(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out)
{
	struct encoder e = {.s = s, .out = out, .ordered = true};

	encode(&e, 0, v);
}

/* ---- objects without their resourceVersion ---- */

/* metadata of a free-form object. */
static void encode_free_metadata(struct encoder *e, const struct ks_value *metadata)
{
	bool first = true;

	put_char(e->out, '{');
	e->rv_at = e->out->len;
	for (uint32_t i = 0; i < metadata->n; i++)
		if (!ks_str_is(metadata->members[i].key, "resourceVersion"))
			encode_member(e, 0, &metadata->members[i], &first);
	e->rv_comma = !first;
	put_char(e->out, '}');
}

static void encode_free_object(struct encoder *e, const struct ks_value *v)
{
	bool first = true;

	put_char(e->out, '{');
	for (uint32_t i = 0; i < v->n; i++) {
		const struct ks_member *m = &v->members[i];

		if (!ks_str_is(m->key, "metadata") || m->value.kind != KS_MAP) {
			encode_member(e, 0, m, &first);
			continue;
		}
		if (!first)
			put_char(e->out, ',');
		first = false;
		encode_key(e, m->key, true);
		encode_free_metadata(e, &m->value);
	}
	put_char(e->out, '}');
}

void ks_json_encode_object(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out, size_t *rv_at_r, bool *rv_comma_r)
{
	struct encoder e = {.s = s, .out = out};

	if (v->kind == KS_STRUCT)
		encode_fields(&e, v->type, v, true, false);
	else if (v->kind == KS_MAP)
		encode_free_object(&e, v);
	else
		encode(&e, 0, v);
	*rv_at_r = e.rv_at;
	*rv_comma_r = e.rv_comma;
}
