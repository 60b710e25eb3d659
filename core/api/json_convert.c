/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Between typed and free-form trees, and the part of a JSON object that says what it is. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "core/api/json_decode.h"
#include "core/api/json_unstructured.h"
#include "core/api/json_zero.h"

/* ---- typed to free form ---- */

static bool to_free(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *v, struct ks_value *out);
static bool zero_to_free(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, struct ks_value *out);

static bool field_to_free(
	struct ks_arena *arena, const struct ks_schema *s, const struct ks_field *field, const struct ks_value *value, struct ks_value *map)
{
	struct ks_member *m = &map->members[map->n];
	bool absent = !value || value->kind == KS_ABSENT;

	if (ks_field_left_out(s, field) && (absent || ks_value_is_unsaid(s, field, value)))
		return true;
	m->key = ks_str_from(ks_schema_text(s, field->name));
	m->value = (struct ks_value){.kind = KS_NULL};
	map->n++;
	if (!absent)
		return to_free(arena, s, value, &m->value);
	return field->flags & KS_FIELD_POINTER || zero_to_free(arena, s, field->type, &m->value);
}

/* `v` NULL: the zero struct. */
static bool struct_to_free(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, const struct ks_value *v, struct ks_value *out)
{
	const struct ks_type *t = &s->types[type];

	*out = (struct ks_value){.kind = KS_MAP, .flags = s->generation ? 0 : KS_VALUE_IN_ORDER};
	out->members = ks_arena_alloc(arena, (t->n_fields + 1U) * sizeof(*out->members));
	if (!out->members)
		return false;
	for (uint16_t slot = 0; slot < t->n_fields; slot++)
		if (!field_to_free(arena, s, &s->fields[t->first_field + slot], v && slot < v->n ? &v->items[slot] : NULL, out))
			return false;
	return true;
}

static bool zero_to_free(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, struct ks_value *out)
{
	switch (s->types[type].class_) {
	case KS_TYPE_STRUCT:
		return struct_to_free(arena, s, type, NULL, out);
	case KS_TYPE_BOOL:
		*out = ks_value_from_bool(false);
		return true;
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
	case KS_TYPE_FLOAT64:
	case KS_TYPE_INT_OR_STRING:
		*out = ks_value_from_int(0);
		return true;
	case KS_TYPE_STRING:
		*out = ks_value_from_str(KS_STR_LIT(""));
		return true;
	case KS_TYPE_QUANTITY:
		*out = ks_value_from_str(KS_STR_LIT("0"));
		return true;
	case KS_TYPE_DURATION:
		*out = ks_value_from_str(KS_STR_LIT("0s"));
		return true;
	default:
		*out = (struct ks_value){.kind = KS_NULL};
		return true;
	}
}

static bool list_to_free(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *v, struct ks_value *out)
{
	struct ks_value *items = v->n ? ks_arena_alloc(arena, v->n * sizeof(*items)) : NULL;

	if (v->n && !items)
		return false;
	for (uint32_t i = 0; i < v->n; i++)
		if (!to_free(arena, s, &v->items[i], &items[i]))
			return false;
	*out = (struct ks_value){.kind = KS_LIST, .n = v->n, .items = items};
	return true;
}

static bool map_to_free(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *v, struct ks_value *out)
{
	struct ks_member *members = v->n ? ks_arena_alloc(arena, v->n * sizeof(*members)) : NULL;
	uint32_t n = 0;

	if (v->n && !members)
		return false;
	for (uint32_t i = 0; i < v->n; i++) {
		if (v->members[i].value.kind == KS_ABSENT)
			continue;
		members[n].key = v->members[i].key;
		if (!to_free(arena, s, &v->members[i].value, &members[n++].value))
			return false;
	}
	*out = (struct ks_value){.kind = KS_MAP, .flags = s->generation || v->type ? 0 : KS_VALUE_IN_ORDER, .n = n, .members = members};
	return true;
}

static bool to_free(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *v, struct ks_value *out)
{
	switch (v->kind) {
	case KS_STRUCT:
		return struct_to_free(arena, s, v->type, v, out);
	case KS_LIST:
		return list_to_free(arena, s, v, out);
	case KS_MAP:
		return map_to_free(arena, s, v, out);
	case KS_ABSENT:
		*out = (struct ks_value){.kind = KS_NULL};
		return true;
	default:
		*out = *v;
		out->type = 0;
		return true;
	}
}

bool ks_value_to_free(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *v, struct ks_value *out_r)
{
	struct ks_value out;

	if (!to_free(arena, s, v, &out))
		return false;
	*out_r = out;
	return true;
}

/* ---- free form to typed ---- */

int ks_value_convert(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, unsigned flags, const struct ks_value *from,
	struct ks_value *out_r, struct ks_strict_errors *strict, const char **message_r)
{
	struct ks_buf json;
	const char *copy;
	int r;

	if (flags & KS_CONVERT_UNSTRUCTURED) {
		r = ks_unstructured_check(arena, s, type, from, flags & KS_DECODE_STRICT ? strict : NULL, message_r);
		if (r < 0)
			return r;
		flags &= ~(unsigned)(KS_CONVERT_UNSTRUCTURED | KS_DECODE_STRICT);
	}
	r = -ENOMEM;
	/* Through the text: what the decoder says of it is what a client is to read. */
	ks_buf_init(&json);
	ks_json_encode(s, from, &json);
	copy = json.failed ? NULL : ks_arena_dup(arena, json.data, json.len);
	if (copy)
		r = ks_json_decode(arena, s, type, flags | KS_DECODE_BORROW, copy, json.len, out_r, strict, message_r);
	ks_buf_fini(&json);
	return r;
}

/* ---- apiVersion and kind ---- */

static const char peeked_type[] = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";

struct peek {
	struct ks_json_scan scan;
	struct ks_str api_version, kind;
	const char *complaint; /* the first value of a wrong type */
};

static bool peek_member(struct peek *p)
{
	struct ks_str key, *place = NULL;
	const char *name = NULL;
	char c;

	if (ks_json_peek(&p->scan) != '"')
		return ks_json_unexpected(&p->scan, "looking for beginning of object key string");
	if (!ks_json_string(&p->scan, &key))
		return false;
	if (ks_json_peek(&p->scan) != ':')
		return ks_json_unexpected(&p->scan, "after object key");
	p->scan.p++;
	c = ks_json_peek(&p->scan);
	if (key.n == 4 && strncasecmp(key.p, name = "kind", 4) == 0)
		place = &p->kind;
	else if (key.n == 10 && strncasecmp(key.p, name = "apiVersion", 10) == 0)
		place = &p->api_version;
	if (place && c == '"')
		return ks_json_string(&p->scan, place);
	if (!ks_json_skip(&p->scan))
		return false;
	if (place && c != 'n' && !p->complaint) {
		p->complaint =
			ks_arena_printf(p->scan.arena, "json: cannot unmarshal %s into Go struct field .%s of type string", ks_json_what(c), name);
		return p->complaint || ks_json_out_of_memory(&p->scan);
	}
	return true;
}

static bool peek_object(struct peek *p)
{
	char c;

	p->scan.p++;
	p->scan.depth++;
	if (ks_json_peek(&p->scan) == '}') {
		p->scan.p++;
		return true;
	}
	do {
		if (!peek_member(p))
			return false;
		c = ks_json_peek(&p->scan);
		if (c != ',' && c != '}')
			return ks_json_unexpected(&p->scan, "after object key:value pair");
		p->scan.p++;
	} while (c == ',');
	return true;
}

static bool peek_other(struct peek *p, char c)
{
	if (!ks_json_skip(&p->scan))
		return false;
	if (c == 'n')
		return true;
	p->complaint = ks_arena_printf(p->scan.arena, "json: cannot unmarshal %s into Go value of type %s", ks_json_what(c), peeked_type);
	return p->complaint || ks_json_out_of_memory(&p->scan);
}

int ks_json_peek_kind(struct ks_arena *arena, const char *json, size_t n, struct ks_str *api_version_r, struct ks_str *kind_r, const char **message_r)
{
	struct peek p = {.scan = {.p = json, .end = json + n, .arena = arena}};
	char c = ks_json_peek(&p.scan);

	if (!(c == '{' ? peek_object(&p) : peek_other(&p, c)) || !ks_json_end(&p.scan)) {
		if (p.scan.rc == -EINVAL)
			*message_r = p.scan.message;
		return p.scan.rc;
	}
	if (p.complaint) {
		*message_r = p.complaint;
		return -EINVAL;
	}
	*api_version_r = p.api_version;
	*kind_r = p.kind;
	return 0;
}
