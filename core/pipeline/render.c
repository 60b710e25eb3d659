/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/render.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

#include "core/api/cbor.h"
#include "core/api/json.h"
#include "core/api/proto.h"
#include "core/pipeline/yaml_scalar.h"

/* -- indented JSON --------------------------------------------------------------------------------------------- */

static void new_line(struct ks_buf *out, size_t depth)
{
	ks_buf_add_char(out, '\n');
	for (size_t i = 0; i < depth; i++)
		ks_buf_add(out, "  ", 2);
}

/* How much of the string that `p` is in belongs to it, its closing quote included. */
static size_t rest_of_string(struct ks_pretty *pretty, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (pretty->escaped) {
			pretty->escaped = false;
		} else if (p[i] == '\\') {
			pretty->escaped = true;
		} else if (p[i] == '"') {
			pretty->in_string = false;
			return i + 1;
		}
	}
	return n;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void close_bracket(struct ks_pretty *pretty, char c, struct ks_buf *out)
{
	pretty->depth -= pretty->depth > 0;
	if (!pretty->opened)
		new_line(out, pretty->depth);
	pretty->opened = false;
	ks_buf_add_char(out, c);
}

/* What is neither in a string nor closes anything. */
static void add_token(struct ks_pretty *pretty, char c, struct ks_buf *out)
{
	if (pretty->opened)
		new_line(out, pretty->depth);
	pretty->opened = c == '{' || c == '[';
	pretty->in_string = c == '"';
	ks_buf_add_char(out, c);
	pretty->depth += pretty->opened;
	if (c == ',')
		new_line(out, pretty->depth);
	else if (c == ':')
		ks_buf_add_char(out, ' ');
}

void ks_pretty_add(struct ks_pretty *pretty, struct ks_str json, struct ks_buf *out)
{
	size_t n;

	for (size_t i = 0; i < json.n; i += n) {
		char c = json.p[i];

		n = 1;
		if (pretty->in_string) {
			n = rest_of_string(pretty, json.p + i, json.n - i);
			ks_buf_add(out, json.p + i, n);
		} else if (c == '}' || c == ']') {
			close_bracket(pretty, c, out);
		} else if (!is_space(c)) {
			add_token(pretty, c, out);
		}
	}
}

void ks_render_pretty(struct ks_str json, struct ks_buf *out)
{
	struct ks_pretty pretty = {0};

	ks_pretty_add(&pretty, json, out);
}

/* -- YAML ------------------------------------------------------------------------------------------------------ */

struct writer {
	yaml_emitter_t emitter;
	struct ks_buf *out;
};

static int write_bytes(void *data, unsigned char *bytes, size_t n)
{
	struct writer *w = data;

	ks_buf_add(w->out, bytes, n);
	return !w->out->failed;
}

static bool emit(struct writer *w, yaml_event_t *event, int made)
{
	return made && yaml_emitter_emit(&w->emitter, event);
}

static bool emit_scalar(struct writer *w, struct ks_str text, yaml_scalar_style_t style)
{
	yaml_event_t event;
	const char *p = text.p ? text.p : "";

	if (text.n > INT32_MAX)
		return false;
	return emit(w, &event, yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)p, (int)text.n, 1, 1, style));
}

static bool emit_string(struct writer *w, struct ks_str text)
{
	if (text.n && memchr(text.p, '\n', text.n))
		return emit_scalar(w, text, YAML_LITERAL_SCALAR_STYLE);
	return emit_scalar(w, text, ks_yaml_is_string(text) ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
}

static bool emit_number(struct writer *w, const struct ks_value *v)
{
	char text[64];

	if (v->kind == KS_INT) {
		snprintf(text, sizeof(text), "%lld", (long long)v->integer);
	} else {
		for (int digits = 1; digits <= 17; digits++) {
			snprintf(text, sizeof(text), "%.*g", digits, v->number);
			if (strtod(text, NULL) == v->number)
				break;
		}
	}
	return emit_scalar(w, ks_str_from(text), YAML_PLAIN_SCALAR_STYLE);
}

static int by_key(const void *a, const void *b)
{
	return ks_yaml_key_compare(((const struct ks_member *)a)->key, ((const struct ks_member *)b)->key);
}

static bool emit_value(struct writer *w, struct ks_value *v);

static bool emit_list(struct writer *w, const struct ks_value *v)
{
	yaml_event_t event;
	bool ok = emit(w, &event, yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE));

	for (uint32_t i = 0; i < v->n && ok; i++)
		ok = emit_value(w, &v->items[i]);
	return ok && emit(w, &event, yaml_sequence_end_event_initialize(&event));
}

static bool emit_map(struct writer *w, struct ks_value *v)
{
	yaml_event_t event;
	bool ok = emit(w, &event, yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));

	if (v->n > 1)
		qsort(v->members, v->n, sizeof(*v->members), by_key);
	for (uint32_t i = 0; i < v->n && ok; i++)
		ok = emit_string(w, v->members[i].key) && emit_value(w, &v->members[i].value);
	return ok && emit(w, &event, yaml_mapping_end_event_initialize(&event));
}

/* Depth is that of JSON that we wrote ourselves: the decoder of what came in has bounded it. */
static bool emit_value(struct writer *w, struct ks_value *v)
{
	switch (v->kind) {
	case KS_BOOL:
		return emit_scalar(w, v->boolean ? KS_STR_LIT("true") : KS_STR_LIT("false"), YAML_PLAIN_SCALAR_STYLE);
	case KS_INT:
	case KS_FLOAT:
		return emit_number(w, v);
	case KS_STRING:
		return emit_string(w, ks_value_str(v));
	case KS_LIST:
		return emit_list(w, v);
	case KS_MAP:
		return emit_map(w, v);
	}
	return emit_scalar(w, KS_STR_LIT("null"), YAML_PLAIN_SCALAR_STYLE);
}

static bool emit_document(struct writer *w, struct ks_value *root)
{
	yaml_event_t event;

	return emit(w, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING)) &&
		emit(w, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1)) && emit_value(w, root) &&
		emit(w, &event, yaml_document_end_event_initialize(&event, 1)) && emit(w, &event, yaml_stream_end_event_initialize(&event)) &&
		yaml_emitter_flush(&w->emitter);
}

int ks_render_yaml(struct ks_str json, struct ks_buf *out)
{
	struct writer w = {.out = out};
	struct ks_arena arena;
	struct ks_value root;
	const char *message;
	int rc;

	ks_arena_init(&arena, 0);
	rc = ks_json_decode(&arena, &ks_schema_builtin, 0, KS_DECODE_BORROW, json.p, json.n, &root, NULL, &message);
	if (rc == 0 && !yaml_emitter_initialize(&w.emitter))
		rc = -ENOMEM;
	if (rc != 0) {
		ks_arena_fini(&arena);
		return rc;
	}
	yaml_emitter_set_output(&w.emitter, write_bytes, &w);
	yaml_emitter_set_unicode(&w.emitter, 1);
	if (!emit_document(&w, &root))
		rc = out->failed || w.emitter.error == YAML_MEMORY_ERROR ? -ENOMEM : -EINVAL;
	yaml_emitter_delete(&w.emitter);
	ks_arena_fini(&arena);
	return rc;
}

/* -- by the kind ----------------------------------------------------------------------------------------------- */

/* 0 when there is none. */
static uint16_t type_of(const struct ks_schema *schema, struct ks_str api_version, struct ks_str kind)
{
	const char *slash = api_version.n ? memchr(api_version.p, '/', api_version.n) : NULL;
	struct ks_str group = {0}, version = api_version;
	const struct ks_kind *found;

	if (slash) {
		group = ks_str_of(api_version.p, (size_t)(slash - api_version.p));
		version = ks_str_of(slash + 1, api_version.n - group.n - 1);
	}
	/* The oldest kinds of discovery name no version. */
	found = ks_schema_find_kind(schema, group, api_version.n ? version : KS_STR_LIT("v1"), kind);
	return found ? found->type : 0;
}

int ks_render_proto(const struct ks_schema *schema, struct ks_str json, struct ks_buf *out)
{
	struct ks_str api_version, kind;
	const char *message;
	struct ks_arena arena;
	struct ks_value root;
	uint16_t type;
	int rc;

	ks_arena_init(&arena, 0);
	rc = ks_json_peek_kind(&arena, json.p, json.n, &api_version, &kind, &message);
	type = rc == 0 ? type_of(schema, api_version, kind) : 0;
	if (rc == 0 && (type == 0 || !ks_proto_has(schema, type)))
		rc = -ENOTSUP;
	if (rc == 0)
		rc = ks_json_decode(&arena, schema, type, KS_DECODE_BORROW, json.p, json.n, &root, NULL, &message);
	if (rc == 0)
		ks_proto_encode_object(schema, &root, out);
	ks_arena_fini(&arena);
	return rc == 0 && out->failed ? -ENOMEM : rc;
}

int ks_render_cbor(const struct ks_schema *schema, struct ks_str json, struct ks_buf *out)
{
	struct ks_str api_version, kind;
	const char *message;
	struct ks_arena arena;
	struct ks_value root;
	int rc;

	ks_arena_init(&arena, 0);
	rc = ks_json_peek_kind(&arena, json.p, json.n, &api_version, &kind, &message);
	if (rc == 0)
		rc = ks_json_decode(&arena, schema, type_of(schema, api_version, kind), KS_DECODE_BORROW, json.p, json.n, &root, NULL, &message);
	if (rc == 0)
		ks_cbor_encode_object(schema, &root, out);
	ks_arena_fini(&arena);
	return rc == 0 && out->failed ? -ENOMEM : rc;
}
