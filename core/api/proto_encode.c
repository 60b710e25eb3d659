/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Working form to protobuf, byte for byte what Go's generated code writes: fields in ascending order, plain values
 * also when they are zero, map entries sorted by key. It writes from the end to the beginning.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/base64.h"
#include "core/api/json.h"
#include "core/api/proto.h"
#include "core/api/proto_plan.h"
#include "core/api/proto_wire.h"
#include "core/api/time.h"

struct encoder {
	struct ks_proto_writer w;
	const struct ks_schema *s;
	const struct ks_proto_plan *plan;
	struct ks_arena scratch; /* what has to be converted on the way */
};

static void put_message(struct encoder *e, const struct ks_proto_message *m, const struct ks_value *v);
static void put_value(struct encoder *e, uint32_t number, uint16_t type, const struct ks_value *v);

static bool is_nil(const struct ks_value *v)
{
	return !v || v->kind == KS_ABSENT || v->kind == KS_NULL;
}

/* -- scalars with a message of their own: what is in it -------------------------------------------------------- */

static void put_integer(struct encoder *e, uint32_t number, int64_t value)
{
	ks_proto_put_varint(&e->w, (uint64_t)value);
	ks_proto_put_tag(&e->w, number, KS_WIRE_VARINT);
}

static void put_time(struct encoder *e, const struct ks_value *v, bool micro)
{
	const char *message;
	struct ks_time time;

	if (is_nil(v) || ks_time_parse(&e->scratch, ks_value_str(v), micro, &time, &message) != 0)
		return;
	if (time.seconds == KS_TIME_ZERO_SECONDS && time.nanoseconds == 0)
		return;
	put_integer(e, 2, micro ? time.nanoseconds : 0);
	put_integer(e, 1, time.seconds);
}

static void put_duration(struct encoder *e, const struct ks_value *v)
{
	int64_t nanoseconds = 0;
	const char *message;

	if (!is_nil(v) && ks_duration_parse(&e->scratch, ks_value_str(v), &nanoseconds, &message) != 0)
		nanoseconds = 0;
	put_integer(e, 1, nanoseconds);
}

static void put_int_or_string(struct encoder *e, const struct ks_value *v)
{
	bool text = v && v->kind == KS_STRING;

	ks_proto_put_text(&e->w, 3, ks_value_str(v));
	put_integer(e, 2, v && v->kind == KS_INT ? v->integer : 0);
	put_integer(e, 1, text);
}

/* A part that is kept as JSON. */
static void put_raw(struct encoder *e, const struct ks_value *v)
{
	struct ks_buf json;

	if (is_nil(v))
		return;
	ks_buf_init(&json);
	ks_json_encode_ordered(e->s, v, &json);
	ks_proto_put_text(&e->w, 1, ks_buf_str(&json));
	e->w.failed |= json.failed;
	ks_buf_fini(&json);
}

/* -- JSON schemas, or something else --------------------------------------------------------------------------- */

static void put_schema(struct encoder *e, uint32_t number, const struct ks_value *v)
{
	const struct ks_proto_message *m = &e->plan->messages[e->plan->schema_props];
	size_t before = e->w.len;
	const char *message;
	struct ks_value typed;

	if (v->kind != KS_STRUCT) {
		if (ks_value_convert(&e->scratch, e->s, e->plan->schema_props, 0, v, &typed, NULL, &message) == -ENOMEM)
			e->w.failed = true;
		else
			put_message(e, m, typed.kind == KS_STRUCT ? &typed : NULL);
	} else {
		put_message(e, m, v);
	}
	ks_proto_put_head(&e->w, before, number);
}

static void put_union(struct encoder *e, enum ks_proto_union which, const struct ks_value *v)
{
	bool schema = v && (v->kind == KS_MAP || v->kind == KS_STRUCT);

	if (schema)
		put_schema(e, which == KS_UNION_OR_BOOL ? 2 : 1, v);
	if (which == KS_UNION_OR_BOOL) {
		ks_proto_put_varint(&e->w, schema || (v && v->kind == KS_BOOL && v->boolean));
		ks_proto_put_tag(&e->w, 1, KS_WIRE_VARINT);
		return;
	}
	for (uint32_t i = v && v->kind == KS_LIST ? v->n : 0; i-- > 0;)
		if (which == KS_UNION_OR_ARRAY)
			put_schema(e, 2, &v->items[i]);
		else
			ks_proto_put_text(&e->w, 2, ks_value_str(&v->items[i]));
}

/* -- values ---------------------------------------------------------------------------------------------------- */

static void put_float(struct encoder *e, uint32_t number, const struct ks_value *v)
{
	double value = is_nil(v) ? 0 : v->kind == KS_FLOAT ? v->number : v->kind == KS_INT ? (double)v->integer : 0;
	uint64_t bits;
	uint8_t bytes[8];

	memcpy(&bits, &value, sizeof(bits));
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(bits >> 8 * i);
	ks_proto_put(&e->w, bytes, sizeof(bytes));
	ks_proto_put_tag(&e->w, number, KS_WIRE_FIXED64);
}

static void put_bytes(struct encoder *e, uint32_t number, const struct ks_value *v)
{
	size_t n, bad, before = e->w.len;
	uint8_t *room;
	bool canonical;

	if (is_nil(v) || !ks_base64_check(ks_value_str(v), &n, &canonical, &bad))
		return;
	room = ks_proto_room(&e->w, n);
	if (room)
		ks_base64_decode(ks_value_str(v), room);
	ks_proto_put_head(&e->w, before, number);
}

/* What is inside a value that is a message. */
static void put_inside(struct encoder *e, uint16_t type, const struct ks_value *v)
{
	const struct ks_type *t = &e->s->types[type];

	switch (t->class_) {
	case KS_TYPE_TIME:
	case KS_TYPE_MICRO_TIME:
		put_time(e, v, t->class_ == KS_TYPE_MICRO_TIME);
		return;
	case KS_TYPE_DURATION:
		put_duration(e, v);
		return;
	case KS_TYPE_QUANTITY:
		ks_proto_put_text(&e->w, 1, v && v->kind == KS_STRING ? ks_value_str(v) : KS_STR_LIT("0"));
		return;
	case KS_TYPE_INT_OR_STRING:
		put_int_or_string(e, v);
		return;
	case KS_TYPE_LIST: /* one that is a message */
		for (uint32_t i = v && v->kind == KS_LIST ? v->n : 0; i-- > 0;)
			put_value(e, 1, t->element, &v->items[i]);
		return;
	case KS_TYPE_STRUCT:
		put_message(e, &e->plan->messages[type], v && v->kind == KS_STRUCT && v->type == type ? v : NULL);
		return;
	default:
		if (e->plan->unions[type])
			put_union(e, e->plan->unions[type], v);
		else
			put_raw(e, v);
	}
}

/* A value with its tag; nil is zero. */
static void put_value(struct encoder *e, uint32_t number, uint16_t type, const struct ks_value *v)
{
	size_t before = e->w.len;

	switch (e->s->types[type].class_) {
	case KS_TYPE_BOOL:
		ks_proto_put_varint(&e->w, v && v->kind == KS_BOOL && v->boolean);
		ks_proto_put_tag(&e->w, number, KS_WIRE_VARINT);
		return;
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
		put_integer(e, number, v && v->kind == KS_INT ? v->integer : 0);
		return;
	case KS_TYPE_FLOAT64:
		put_float(e, number, v);
		return;
	case KS_TYPE_STRING:
		ks_proto_put_text(&e->w, number, ks_value_str(v));
		return;
	case KS_TYPE_BYTES:
		put_bytes(e, number, v);
		return;
	default:
		put_inside(e, type, v);
		ks_proto_put_head(&e->w, before, number);
	}
}

/* -- maps ------------------------------------------------------------------------------------------------------ */

static void put_member(struct encoder *e, const struct ks_proto_entry *entry, const struct ks_member *m)
{
	size_t before = e->w.len;

	put_value(e, 2, entry->type, &m->value);
	ks_proto_put_text(&e->w, 1, m->key);
	ks_proto_put_head(&e->w, before, entry->number);
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

static void put_sorted(struct encoder *e, const struct ks_proto_entry *entry, const struct ks_value *v)
{
	const struct ks_member *few[64], **sorted = few;

	if (v->n > 64 && !(sorted = malloc(v->n * sizeof(*sorted)))) {
		e->w.failed = true;
		return;
	}
	for (uint32_t i = 0; i < v->n; i++)
		sorted[i] = &v->members[i];
	qsort(sorted, v->n, sizeof(*sorted), by_key);
	for (uint32_t i = v->n; i-- > 0;)
		put_member(e, entry, sorted[i]);
	if (sorted != few)
		free(sorted);
}

static void put_map(struct encoder *e, const struct ks_proto_entry *entry, const struct ks_value *v)
{
	if (!is_sorted(v)) {
		put_sorted(e, entry, v);
		return;
	}
	for (uint32_t i = v->n; i-- > 0;)
		put_member(e, entry, &v->members[i]);
}

/* -- messages -------------------------------------------------------------------------------------------------- */

static void put_one(struct encoder *e, const struct ks_proto_entry *entry, const struct ks_value *v)
{
	/* Behind a pointer an explicit null is Go's zero time; a list that is a message can be nil like a pointer. */
	if (!v && (entry->pointer || entry->class_ == KS_TYPE_LIST))
		return;
	put_value(e, entry->number, entry->type, v);
}

static void put_field(struct encoder *e, const struct ks_proto_entry *entry, const struct ks_value *v)
{
	switch (entry->shape) {
	case KS_SHAPE_ONE:
		put_one(e, entry, v);
		return;
	case KS_SHAPE_LIST:
		for (uint32_t i = v && v->kind == KS_LIST ? v->n : 0; i-- > 0;)
			put_value(e, entry->number, entry->type, &v->items[i]);
		return;
	case KS_SHAPE_MAP:
		if (v && v->kind == KS_MAP)
			put_map(e, entry, v);
		return;
	default:
		return;
	}
}

/* `v` NULL: the zero struct. */
static void put_message(struct encoder *e, const struct ks_proto_message *m, const struct ks_value *v)
{
	for (uint32_t i = m->first + m->n; i-- > m->first;) {
		const struct ks_proto_entry *entry = &e->plan->entries[i];
		size_t before = e->w.len;
		const struct ks_value *value;

		if (entry->shape == KS_SHAPE_MESSAGE) {
			put_message(e, &e->plan->messages[entry->message], v);
			ks_proto_put_head(&e->w, before, entry->number);
			continue;
		}
		value = v && entry->slot < v->n && v->items[entry->slot].kind != KS_ABSENT ? &v->items[entry->slot] : NULL;
		put_field(e, entry, value);
	}
}

/* -- the whole ------------------------------------------------------------------------------------------------- */

static bool begin(struct encoder *e, const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out)
{
	*e = (struct encoder){.s = s, .plan = ks_proto_plan_of(s)};
	ks_arena_init(&e->scratch, 0);
	if (!e->plan || v->kind != KS_STRUCT)
		out->failed = true;
	return !out->failed;
}

static void end(struct encoder *e, struct ks_buf *out)
{
	ks_proto_finish(&e->w, out);
	ks_arena_fini(&e->scratch);
}

void ks_proto_encode(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out)
{
	struct encoder e;

	if (begin(&e, s, v, out))
		put_message(&e, &e.plan->messages[v->type], v);
	end(&e, out);
}

void ks_proto_encode_object(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out)
{
	struct encoder e;
	size_t before;

	if (begin(&e, s, v, out)) {
		ks_proto_put(&e.w, KS_PROTO_ENVELOPE_TAIL, KS_PROTO_ENVELOPE_TAIL_LENGTH);
		before = e.w.len;
		put_message(&e, &e.plan->messages[v->type], v);
		ks_proto_put_head(&e.w, before, 2);
		before = e.w.len;
		ks_proto_put_text(&e.w, 2, ks_value_str(ks_value_get(s, v, "kind")));
		ks_proto_put_text(&e.w, 1, ks_value_str(ks_value_get(s, v, "apiVersion")));
		ks_proto_put_head(&e.w, before, 1);
		ks_proto_put(&e.w, "k8s", 4);
	}
	end(&e, out);
}

void ks_proto_envelope_head(struct ks_str api_version, struct ks_str kind, size_t raw_n, struct ks_buf *out)
{
	struct ks_proto_writer w = {0};

	ks_proto_put_varint(&w, raw_n);
	ks_proto_put_tag(&w, 2, KS_WIRE_BYTES);
	size_t before = w.len;

	ks_proto_put_text(&w, 2, kind);
	ks_proto_put_text(&w, 1, api_version);
	ks_proto_put_head(&w, before, 1);
	ks_proto_put(&w, "k8s", 4);
	ks_proto_finish(&w, out);
}

bool ks_proto_has(const struct ks_schema *s, uint16_t type)
{
	const struct ks_proto_plan *plan = ks_proto_plan_of(s);

	return plan && type < s->n_types && s->types[type].class_ == KS_TYPE_STRUCT && plan->messages[type].n > 0;
}

/* -- in two parts ---------------------------------------------------------------------------------------------- */

/* The fields of a message with numbers in [from, to), last first. */
static void put_range(struct encoder *e, const struct ks_proto_message *m, const struct ks_value *v, uint16_t from, uint16_t to)
{
	struct ks_proto_message part = *m;

	while (part.n && e->plan->entries[part.first + part.n - 1].number >= to)
		part.n--;
	while (part.n && e->plan->entries[part.first].number < from) {
		part.first++;
		part.n--;
	}
	put_message(e, &part, v);
}

static bool is_named(const struct ks_schema *s, const struct ks_proto_entry *entry, const char *name)
{
	return entry && entry->shape == KS_SHAPE_ONE && strcmp(ks_schema_text(s, entry->field->name), name) == 0;
}

bool ks_proto_encode_split(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out, struct ks_proto_split *split_r)
{
	const struct ks_proto_entry *metadata, *version = NULL;
	const struct ks_proto_message *m;
	const struct ks_value *meta;
	size_t behind, behind_version;
	struct encoder e;

	if (!begin(&e, s, v, out))
		return false;
	metadata = ks_proto_entry_of(e.plan, &e.plan->messages[v->type], 1);
	if (!is_named(s, metadata, "metadata") || metadata->class_ != KS_TYPE_STRUCT)
		return false;
	m = &e.plan->messages[metadata->type];
	for (uint32_t i = m->first; i < m->first + m->n && !version; i++)
		if (is_named(s, &e.plan->entries[i], "resourceVersion"))
			version = &e.plan->entries[i];
	if (!version)
		return false;
	meta = metadata->slot < v->n && v->items[metadata->slot].kind == KS_STRUCT ? &v->items[metadata->slot] : NULL;
	put_range(&e, &e.plan->messages[v->type], v, 2, UINT16_MAX);
	behind = e.w.len;
	put_range(&e, m, meta, (uint16_t)(version->number + 1), UINT16_MAX);
	behind_version = e.w.len;
	put_range(&e, m, meta, 0, version->number);
	*split_r = (struct ks_proto_split){.meta_n = e.w.len - behind, .rv_at = e.w.len - behind_version};
	end(&e, out);
	return true;
}
