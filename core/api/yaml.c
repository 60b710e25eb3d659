/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/api/base64.h"
#include "core/api/json_scan.h"
#include "core/api/quote.h"

/* Expanded aliases may make up most of a small document, and little of a large one. */
enum { FEW_NODES = 400000, MANY_NODES = 1000000 };

struct anchor {
	struct anchor *next;
	const char *name;
	struct ks_value value;
	uint32_t nodes; /* values in it */
	bool complete;
};

struct decoder {
	struct ks_arena *arena;
	yaml_parser_t parser;
	struct anchor *anchors;
	struct ks_strict_errors *strict;
	const char *message;
	const char *refused; /* the first repeated key, where it is not merely reported */
	int rc;
	unsigned depth;
	uint32_t nodes, aliased;
};

static bool decode_node(struct decoder *d, const yaml_event_t *event, struct ks_value *out);

/* ---- errors ---- */

static bool fail(struct decoder *d, const char *message)
{
	d->rc = message ? -EINVAL : -ENOMEM;
	d->message = message;
	return false;
}

static bool parser_failed(struct decoder *d)
{
	const yaml_parser_t *p = &d->parser;
	size_t line = p->problem_mark.line;

	if (p->error == YAML_MEMORY_ERROR)
		return fail(d, NULL);
	if (line && p->error == YAML_SCANNER_ERROR)
		line++;
	if (!line)
		line = p->context_mark.line;
	if (!line)
		return fail(d, ks_arena_printf(d->arena, "yaml: %s", p->problem ? p->problem : "unknown problem parsing YAML content"));
	return fail(d, ks_arena_printf(d->arena, "yaml: line %zu: %s", line, p->problem ? p->problem : "unknown problem parsing YAML content"));
}

static bool next_event(struct decoder *d, yaml_event_t *event)
{
	return yaml_parser_parse(&d->parser, event) || parser_failed(d);
}

/* ---- anchors and aliases ---- */

static struct anchor *find_anchor(struct decoder *d, const char *name)
{
	for (struct anchor *a = d->anchors; a; a = a->next)
		if (strcmp(a->name, name) == 0)
			return a;
	return NULL;
}

static const char *anchor_of(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return (const char *)event->data.scalar.anchor;
	case YAML_SEQUENCE_START_EVENT:
		return (const char *)event->data.sequence_start.anchor;
	case YAML_MAPPING_START_EVENT:
		return (const char *)event->data.mapping_start.anchor;
	default:
		return NULL;
	}
}

static bool begin_anchor(struct decoder *d, const yaml_event_t *event, struct anchor **anchor_r)
{
	const char *name = anchor_of(event);
	struct anchor *anchor;

	*anchor_r = NULL;
	if (!name)
		return true;
	anchor = ks_arena_zalloc(d->arena, 1, sizeof(*anchor));
	if (!anchor || !(anchor->name = ks_arena_dup(d->arena, name, strlen(name))))
		return fail(d, NULL);
	anchor->next = d->anchors;
	anchor->nodes = d->nodes;
	d->anchors = anchor;
	*anchor_r = anchor;
	return true;
}

static void end_anchor(struct decoder *d, struct anchor *anchor, const struct ks_value *value)
{
	if (!anchor)
		return;
	anchor->value = *value;
	anchor->nodes = d->nodes - anchor->nodes + 1;
	anchor->complete = true;
}

static bool within_budget(const struct decoder *d)
{
	double ratio = 0.99;

	if (d->nodes > FEW_NODES)
		ratio = 0.99 - 0.89 * ((double)(d->nodes - FEW_NODES) / (MANY_NODES - FEW_NODES));
	return d->nodes <= MANY_NODES && (d->aliased <= 100 || d->nodes <= 1000 || (double)d->aliased / (double)d->nodes <= ratio);
}

/* A copy that may be changed apart from the original; only texts are shared. */
static bool clone(struct ks_arena *arena, const struct ks_value *from, struct ks_value *to)
{
	*to = *from;
	if (from->kind == KS_LIST)
		*to = (struct ks_value){.kind = KS_LIST};
	else if (from->kind == KS_MAP)
		*to = (struct ks_value){.kind = KS_MAP};
	for (uint32_t i = 0; from->kind == KS_LIST && i < from->n; i++) {
		struct ks_value *item = ks_value_append(arena, to);

		if (!item || !clone(arena, &from->items[i], item))
			return false;
	}
	for (uint32_t i = 0; from->kind == KS_MAP && i < from->n; i++) {
		struct ks_value *value = ks_value_add(arena, to, from->members[i].key);

		if (!value || !clone(arena, &from->members[i].value, value))
			return false;
	}
	return true;
}

static bool decode_alias(struct decoder *d, const char *name, struct ks_value *out)
{
	struct anchor *anchor = find_anchor(d, name);

	if (!anchor)
		return fail(d, ks_arena_printf(d->arena, "yaml: unknown anchor '%s' referenced", name));
	if (!anchor->complete)
		return fail(d, ks_arena_printf(d->arena, "yaml: anchor '%s' value contains itself", name));
	d->nodes += anchor->nodes;
	d->aliased += anchor->nodes;
	if (!within_budget(d))
		return fail(d, "yaml: document contains excessive aliasing");
	return clone(d->arena, &anchor->value, out) || fail(d, NULL);
}

/* ---- scalars ---- */

static const char *tag_name(const struct ks_value *v)
{
	switch (v->kind) {
	case KS_BOOL:
		return "bool";
	case KS_INT:
		return "int";
	case KS_FLOAT:
		return "float";
	case KS_STRING:
		return "str";
	default:
		return "null";
	}
}

static bool decode_binary(struct decoder *d, struct ks_str text, struct ks_value *out)
{
	size_t bytes, bad;
	bool canonical;
	unsigned char *raw;

	if (!ks_base64_check(text, &bytes, &canonical, &bad))
		return fail(d, "yaml: !!binary value contains invalid base64 data");
	raw = ks_arena_alloc(d->arena, bytes + 1);
	if (!raw)
		return fail(d, NULL);
	ks_base64_decode(text, raw);
	*out = ks_value_from_str(ks_str_of((const char *)raw, bytes));
	return true;
}

/* A scalar with a tag of YAML's own; `wanted` is its name. */
static bool decode_tagged(struct decoder *d, const char *wanted, struct ks_str text, struct ks_value *out)
{
	if (strcmp(wanted, "binary") == 0)
		return decode_binary(d, text, out);
	*out = ks_value_from_str(text);
	if (strcmp(wanted, "str") == 0 || strcmp(wanted, "timestamp") == 0)
		return true;
	if (strcmp(wanted, "bool") != 0 && strcmp(wanted, "int") != 0 && strcmp(wanted, "float") != 0 && strcmp(wanted, "null") != 0)
		return true;
	*out = ks_yaml_resolve(text);
	if (strcmp(wanted, tag_name(out)) == 0)
		return true;
	if (strcmp(wanted, "float") == 0 && out->kind == KS_INT) {
		*out = (struct ks_value){.kind = KS_FLOAT, .number = (double)out->integer};
		return true;
	}
	return fail(d, ks_arena_printf(d->arena, "yaml: cannot decode !!%s `%.*s` as a !!%s", tag_name(out), (int)text.n, text.p, wanted));
}

static bool decode_scalar(struct decoder *d, const yaml_event_t *event, struct ks_value *out)
{
	static const char prefix[] = "tag:yaml.org,2002:";
	const char *tag = (const char *)event->data.scalar.tag;
	size_t n = event->data.scalar.length;
	const char *copy = ks_arena_dup(d->arena, (const char *)event->data.scalar.value, n);
	struct ks_str text = ks_str_of(copy, n);

	if (!copy)
		return fail(d, NULL);
	if (tag && strncmp(tag, prefix, sizeof(prefix) - 1) == 0)
		return decode_tagged(d, tag + sizeof(prefix) - 1, text, out);
	if (tag || !event->data.scalar.plain_implicit)
		*out = ks_value_from_str(text);
	else
		*out = ks_yaml_resolve(text);
	if (out->kind == KS_FLOAT && !isfinite(out->number))
		return fail(d,
			ks_arena_printf(d->arena, "json: unsupported value: %s",
				isnan(out->number)        ? "NaN"
					: out->number > 0 ? "+Inf"
							  : "-Inf"));
	return true;
}

/* ---- keys of maps ---- */

static bool float_key(struct decoder *d, double value, struct ks_str *key)
{
	char text[40];
	const char *copy;

	for (int digits = 1; digits <= 9; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtof(text, NULL) == (float)value)
			break;
	}
	copy = ks_arena_dup(d->arena, text, strlen(text));
	*key = ks_str_of(copy, strlen(text));
	return copy || fail(d, NULL);
}

static bool key_text(struct decoder *d, const struct ks_value *v, struct ks_str *key)
{
	const char *text;

	switch (v->kind) {
	case KS_STRING:
		*key = ks_value_str(v);
		return true;
	case KS_BOOL:
		*key = ks_str_from(v->boolean ? "true" : "false");
		return true;
	case KS_INT:
		text = ks_arena_printf(d->arena, "%lld", (long long)v->integer);
		*key = ks_str_from(text);
		return text || fail(d, NULL);
	case KS_FLOAT:
		return float_key(d, v->number, key);
	case KS_NULL:
		return fail(d, "Unsupported map key of type: %!s(<nil>), key: <nil>");
	default:
		return fail(d, "yaml: invalid map key");
	}
}

static bool report_duplicate(struct decoder *d, struct ks_str key, size_t line)
{
	const char *quoted = ks_quote(d->arena, key), *text;
	struct ks_strict_errors *strict = d->strict;

	text = quoted ? ks_arena_printf(d->arena, "line %zu: key %s already set in map", line + 1, quoted) : NULL;
	if (!text)
		return fail(d, NULL);
	if (!strict) {
		if (!d->refused)
			d->refused = text;
		return true;
	}
	if (strict->n == strict->cap) {
		uint32_t cap = strict->cap ? strict->cap * 2 : 8;
		struct ks_str *items = ks_arena_alloc(d->arena, cap * sizeof(*items));

		if (!items)
			return fail(d, NULL);
		if (strict->n)
			memcpy(items, strict->items, strict->n * sizeof(*items));
		strict->items = items;
		strict->cap = cap;
	}
	if (strict->n < 100)
		strict->items[strict->n++] = ks_str_from(text);
	else
		strict->dropped = true;
	return true;
}

/* Members of an open map by key. */
struct key_set {
	uint32_t *slots; /* member + 1 */
	uint32_t mask;
};

static uint32_t *key_slot(const struct key_set *set, const struct ks_value *map, struct ks_str key)
{
	uint32_t at = ks_schema_hash(key.p, key.n) & set->mask;

	while (set->slots[at] && !ks_str_eq(map->members[set->slots[at] - 1].key, key))
		at = (at + 1) & set->mask;
	return &set->slots[at];
}

static bool grow_keys(struct decoder *d, struct key_set *set, const struct ks_value *map)
{
	uint32_t size = set->slots ? (set->mask + 1) * 2 : 16;

	set->slots = ks_arena_zalloc(d->arena, size, sizeof(*set->slots));
	set->mask = size - 1;
	if (!set->slots)
		return fail(d, NULL);
	for (uint32_t i = 0; i < map->n; i++)
		*key_slot(set, map, map->members[i].key) = i + 1;
	return true;
}

/* Marks a member that came from another map: a key that repeats it is no mistake. */
enum { MERGED = 1 };

/* Sets a member; `*before_r`: it was there, and not by a merge. */
static bool set_member(struct decoder *d, struct key_set *set, struct ks_value *map, struct ks_str key, const struct ks_value *value, bool *before_r)
{
	struct ks_value *place;
	uint32_t *slot;

	if ((!set->slots || map->n >= set->mask / 2) && !grow_keys(d, set, map))
		return false;
	slot = key_slot(set, map, key);
	*before_r = *slot != 0 && !(map->members[*slot - 1].value.flags & MERGED);
	if (*slot) {
		map->members[*slot - 1].value = *value;
		return true;
	}
	place = ks_value_add(d->arena, map, key);
	if (!place)
		return fail(d, NULL);
	*place = *value;
	*slot = map->n;
	return true;
}

/* ---- maps and lists ---- */

static bool is_merge_key(const yaml_event_t *event)
{
	const char *tag;

	if (event->type != YAML_SCALAR_EVENT || strcmp((const char *)event->data.scalar.value, "<<") != 0)
		return false;
	tag = (const char *)event->data.scalar.tag;
	return event->data.scalar.plain_implicit || (tag && strcmp(tag, "tag:yaml.org,2002:merge") == 0);
}

static bool merge_map(struct decoder *d, struct key_set *set, struct ks_value *map, const struct ks_value *from)
{
	bool before;

	if (from->kind != KS_MAP)
		return fail(d, "yaml: map merge requires map or sequence of maps as the value");
	for (uint32_t i = 0; i < from->n; i++) {
		struct ks_value value = from->members[i].value;

		value.flags |= MERGED;
		if (!set_member(d, set, map, from->members[i].key, &value, &before))
			return false;
	}
	return true;
}

/* <<: a map, or several of which the first counts most. */
static bool merge(struct decoder *d, struct key_set *set, struct ks_value *map, const struct ks_value *from)
{
	if (from->kind != KS_LIST)
		return merge_map(d, set, map, from);
	for (uint32_t i = from->n; i > 0; i--)
		if (!merge_map(d, set, map, &from->items[i - 1]))
			return false;
	return true;
}

/* The next node, and on which line it stands. */
static bool decode_next(struct decoder *d, struct ks_value *out, size_t *line_r)
{
	yaml_event_t event;
	bool ok;

	if (!next_event(d, &event))
		return false;
	*line_r = event.start_mark.line;
	ok = decode_node(d, &event, out);
	yaml_event_delete(&event);
	return ok;
}

static bool decode_member(struct decoder *d, const yaml_event_t *key_event, struct key_set *set, struct ks_value *map)
{
	struct ks_value key, value;
	struct ks_str name;
	bool before;
	size_t line;

	if (is_merge_key(key_event))
		return decode_next(d, &value, &line) && merge(d, set, map, &value);
	if (!decode_node(d, key_event, &key) || !decode_next(d, &value, &line) || !key_text(d, &key, &name) ||
		!set_member(d, set, map, name, &value, &before))
		return false;
	return !before || report_duplicate(d, name, line);
}

static bool decode_map(struct decoder *d, struct ks_value *out)
{
	struct ks_value map = {.kind = KS_MAP};
	struct key_set set = {0};
	yaml_event_t event;
	bool ok = true, end = false;

	while (ok && !end) {
		ok = next_event(d, &event);
		if (!ok)
			break;
		end = event.type == YAML_MAPPING_END_EVENT;
		if (!end)
			ok = decode_member(d, &event, &set, &map);
		yaml_event_delete(&event);
	}
	for (uint32_t i = 0; i < map.n; i++)
		map.members[i].value.flags &= (uint8_t)~MERGED;
	*out = map;
	return ok;
}

static bool decode_list(struct decoder *d, struct ks_value *out)
{
	struct ks_value list = {.kind = KS_LIST};
	yaml_event_t event;
	bool ok = true, end = false;

	while (ok && !end) {
		struct ks_value *item, value;

		ok = next_event(d, &event);
		if (!ok)
			break;
		end = event.type == YAML_SEQUENCE_END_EVENT;
		if (!end) {
			ok = decode_node(d, &event, &value);
			item = ok ? ks_value_append(d->arena, &list) : NULL;
			if (item)
				*item = value;
			else if (ok)
				ok = fail(d, NULL);
		}
		yaml_event_delete(&event);
	}
	*out = list;
	return ok;
}

static bool decode_anchored(struct decoder *d, const yaml_event_t *event, struct ks_value *out)
{
	struct anchor *anchor;
	bool ok;

	if (d->depth >= KS_JSON_MAX_DEPTH)
		return fail(d, ks_arena_printf(d->arena, "yaml: exceeded max depth of %d", KS_JSON_MAX_DEPTH));
	if (!begin_anchor(d, event, &anchor))
		return false;
	d->depth++;
	if (event->type == YAML_SCALAR_EVENT)
		ok = decode_scalar(d, event, out);
	else if (event->type == YAML_MAPPING_START_EVENT)
		ok = decode_map(d, out);
	else
		ok = decode_list(d, out);
	d->depth--;
	end_anchor(d, anchor, out);
	return ok;
}

static bool decode_node(struct decoder *d, const yaml_event_t *event, struct ks_value *out)
{
	*out = (struct ks_value){.kind = KS_NULL};
	d->nodes++;
	switch (event->type) {
	case YAML_ALIAS_EVENT:
		return decode_alias(d, (const char *)event->data.alias.anchor, out);
	case YAML_SCALAR_EVENT:
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return decode_anchored(d, event, out);
	default:
		return fail(d, "yaml: unexpected event");
	}
}

static bool decode_document(struct decoder *d, struct ks_value *out)
{
	yaml_event_t event;
	yaml_event_type_t type;
	size_t line;

	do {
		if (!next_event(d, &event))
			return false;
		type = event.type;
		yaml_event_delete(&event);
	} while (type == YAML_STREAM_START_EVENT);
	if (type != YAML_DOCUMENT_START_EVENT)
		return true;
	if (!decode_next(d, out, &line))
		return false;
	if (d->refused)
		return fail(d, ks_arena_printf(d->arena, "yaml: unmarshal errors:\n  %s", d->refused));
	return true;
}

int ks_yaml_decode(
	struct ks_arena *arena, const char *yaml, size_t n, struct ks_value *out_r, struct ks_strict_errors *strict, const char **message_r)
{
	struct decoder d = {.arena = arena, .strict = strict};
	struct ks_value out = {.kind = KS_NULL};
	bool ok;

	if (!yaml_parser_initialize(&d.parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&d.parser, (const unsigned char *)yaml, n);
	ok = decode_document(&d, &out);
	yaml_parser_delete(&d.parser);
	if (ok) {
		*out_r = out;
		return 0;
	}
	if (d.rc == -EINVAL)
		*message_r = d.message;
	return d.rc;
}
