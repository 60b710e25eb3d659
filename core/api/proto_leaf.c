/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Single values: numbers, texts, and the small messages that have a text of their own in the API. */
#include "core/api/proto_leaf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/base64.h"
#include "core/api/json.h"
#include "core/api/quantity.h"
#include "core/api/time.h"

/* Years 0 to 9999: what the texts of the API can say. */
#define FIRST_SECOND (-62167219200LL)
#define LAST_SECOND 253402300799LL

/* The fields of a small message, numbers up to 3. */
struct small {
	uint64_t number[4];
	struct ks_str text[4];
	bool has[4];
};

static bool read_small(struct ks_proto_decoder *d, struct ks_str data, struct small *out)
{
	struct ks_proto_reader r = ks_proto_reader_of(data);
	uint32_t number;
	unsigned wire;

	*out = (struct small){{0}, {{0}}, {false}};
	while (r.p < r.end) {
		bool wanted, good;

		if (!ks_proto_read_tag(&r, &number, &wire))
			break;
		wanted = number < 4 && (wire == KS_WIRE_VARINT || wire == KS_WIRE_BYTES);
		if (!wanted)
			good = ks_proto_skip(&r, wire);
		else if (wire == KS_WIRE_VARINT)
			good = ks_proto_read_varint(&r, &out->number[number]);
		else
			good = ks_proto_read_bytes(&r, &out->text[number]);
		if (!good)
			break;
		if (wanted)
			out->has[number] = true;
	}
	return r.message ? ks_proto_refuse(d, r.message) : true;
}

static bool keep_text(struct ks_proto_decoder *d, const char *text, size_t n, struct ks_value *out)
{
	const char *copy = ks_arena_dup(d->arena, text, n);

	if (!copy)
		return ks_proto_out_of_memory(d);
	*out = ks_value_from_str(ks_str_of(copy, n));
	return true;
}

static bool decode_time(struct ks_proto_decoder *d, bool micro, bool pointer, struct ks_str data, struct ks_value *out)
{
	char text[KS_TIME_TEXT];
	struct ks_time time;
	struct small fields;

	if (!read_small(d, data, &fields))
		return false;
	time = (struct ks_time){.seconds = (int64_t)fields.number[1], .nanoseconds = micro ? (int32_t)fields.number[2] : 0};
	if (data.n == 0 || (time.seconds == KS_TIME_ZERO_SECONDS && time.nanoseconds == 0)) {
		/* Go's zero time; behind a pointer it is written as null, not left out. */
		*out = (struct ks_value){.kind = pointer ? KS_NULL : KS_ABSENT};
		return true;
	}
	if (time.seconds < FIRST_SECOND || time.seconds > LAST_SECOND || time.nanoseconds < 0 || time.nanoseconds > 999999999)
		return ks_proto_refuse(d, "proto: time out of range");
	time.nanoseconds -= time.nanoseconds % 1000;
	return keep_text(d, text, ks_time_print(time, micro, text), out);
}

static bool decode_duration(struct ks_proto_decoder *d, struct ks_str data, struct ks_value *out)
{
	char text[KS_DURATION_TEXT];
	struct small fields;

	return read_small(d, data, &fields) && keep_text(d, text, ks_duration_print((int64_t)fields.number[1], text), out);
}

static bool decode_quantity(struct ks_proto_decoder *d, uint16_t type, struct ks_str data, struct ks_value *out)
{
	const char *message = "";
	struct small fields;
	struct ks_str text;
	int rc;

	if (!read_small(d, data, &fields))
		return false;
	text = fields.has[1] ? fields.text[1] : KS_STR_LIT("0");
	rc = ks_quantity_canonical(d->arena, text, &text, &message);
	if (rc != 0)
		return rc == -ENOMEM ? ks_proto_out_of_memory(d) : ks_proto_refuse(d, message);
	*out = ks_value_from_str(text);
	out->type = type;
	return true;
}

static bool decode_int_or_string(struct ks_proto_decoder *d, struct ks_str data, struct ks_value *out)
{
	struct small fields;

	if (!read_small(d, data, &fields))
		return false;
	if (fields.number[1] > 1)
		return ks_proto_refuse(d, "impossible IntOrString.Type");
	if (fields.number[1] == 1)
		*out = ks_value_from_str(fields.text[3].n ? fields.text[3] : KS_STR_LIT(""));
	else
		*out = ks_value_from_int((int32_t)fields.number[2]);
	return true;
}

/* A part that is kept as JSON. */
static bool decode_raw(struct ks_proto_decoder *d, struct ks_str data, struct ks_value *out)
{
	const char *message = "";
	struct small fields;
	int rc;

	if (!read_small(d, data, &fields))
		return false;
	if (fields.text[1].n == 0) {
		*out = (struct ks_value){0};
		return true;
	}
	rc = ks_json_decode(d->arena, NULL, 0, KS_DECODE_BORROW, fields.text[1].p, fields.text[1].n, out, NULL, &message);
	if (rc != 0)
		return rc == -ENOMEM ? ks_proto_out_of_memory(d) : ks_proto_refuse(d, message);
	return true;
}

/* -- JSON schemas, or something else --------------------------------------------------------------------------- */

static bool decode_schema(struct ks_proto_decoder *d, struct ks_str data, struct ks_value *out)
{
	struct ks_value typed = {0};

	if (!ks_proto_struct(d, d->plan->schema_props, data, &typed))
		return false;
	/* JSON has such parts in free form; keys have to be unique there. */
	if (d->disorder && !ks_proto_order(&typed))
		return ks_proto_out_of_memory(d);
	return ks_value_to_free(d->arena, d->s, &typed, out) || ks_proto_out_of_memory(d);
}

static bool decode_union_item(struct ks_proto_decoder *d, enum ks_proto_union which, struct ks_str bytes, struct ks_value *out)
{
	struct ks_value *item;

	if (out->kind != KS_LIST)
		*out = (struct ks_value){.kind = KS_LIST};
	item = ks_value_append(d->arena, out);
	if (!item)
		return ks_proto_out_of_memory(d);
	if (which == KS_UNION_OR_ARRAY)
		return decode_schema(d, bytes, item);
	*item = ks_value_from_str(bytes);
	return true;
}

static bool decode_union(struct ks_proto_decoder *d, enum ks_proto_union which, struct ks_str data, struct ks_value *out)
{
	uint32_t schema = which == KS_UNION_OR_BOOL ? 2 : 1, number;
	struct ks_proto_reader r = ks_proto_reader_of(data);
	struct ks_str bytes;
	uint64_t allows;
	unsigned wire;

	*out = (struct ks_value){.kind = which == KS_UNION_OR_BOOL ? KS_BOOL : KS_NULL};
	while (r.p < r.end && ks_proto_read_tag(&r, &number, &wire)) {
		if (wire == KS_WIRE_BYTES && (number == 1 || number == 2)) {
			if (!ks_proto_read_bytes(&r, &bytes))
				break;
			if (number == schema ? out->kind != KS_LIST && !decode_schema(d, bytes, out)
					     : which != KS_UNION_OR_BOOL && !decode_union_item(d, which, bytes, out))
				return false;
		} else if (wire == KS_WIRE_VARINT && number == 1) {
			if (!ks_proto_read_varint(&r, &allows))
				break;
			if (out->kind == KS_BOOL)
				out->boolean = allows != 0;
		} else if (!ks_proto_skip(&r, wire)) {
			break;
		}
	}
	return r.message ? ks_proto_refuse(d, r.message) : true;
}

/* -- values ---------------------------------------------------------------------------------------------------- */

static bool decode_bytes(struct ks_proto_decoder *d, struct ks_str data, struct ks_value *out)
{
	size_t n = ks_base64_length(data.n);
	char *text = ks_arena_alloc(d->arena, n + 1);

	if (!text)
		return ks_proto_out_of_memory(d);
	ks_base64_encode((const unsigned char *)data.p, data.n, text);
	*out = ks_value_from_str(ks_str_of(text, n));
	return true;
}

/* A list that is a message of its own. */
static bool decode_list_message(struct ks_proto_decoder *d, uint16_t type, struct ks_str data, struct ks_value *out)
{
	struct ks_proto_reader r = ks_proto_reader_of(data);
	uint16_t element = d->s->types[type].element;
	uint32_t number;
	unsigned wire;

	if (out->kind != KS_LIST)
		*out = (struct ks_value){.kind = KS_LIST, .type = type};
	while (r.p < r.end && ks_proto_read_tag(&r, &number, &wire)) {
		struct ks_value *item;

		if (number != 1 || wire != KS_WIRE_BYTES) {
			if (!ks_proto_skip(&r, wire))
				break;
			continue;
		}
		item = ks_value_append(d->arena, out);
		if (!item)
			return ks_proto_out_of_memory(d);
		if (!ks_proto_value(d, element, false, &r, item))
			return false;
	}
	return r.message ? ks_proto_refuse(d, r.message) : true;
}

static bool decode_inside(struct ks_proto_decoder *d, uint16_t type, bool pointer, struct ks_str data, struct ks_value *out)
{
	uint8_t class_ = d->s->types[type].class_;

	switch (class_) {
	case KS_TYPE_STRING:
		*out = ks_value_from_str(data.n ? data : KS_STR_LIT(""));
		return true;
	case KS_TYPE_BYTES:
		return decode_bytes(d, data, out);
	case KS_TYPE_STRUCT:
		return ks_proto_struct(d, type, data, out);
	case KS_TYPE_TIME:
	case KS_TYPE_MICRO_TIME:
		return decode_time(d, class_ == KS_TYPE_MICRO_TIME, pointer, data, out);
	case KS_TYPE_DURATION:
		return decode_duration(d, data, out);
	case KS_TYPE_QUANTITY:
		return decode_quantity(d, type, data, out);
	case KS_TYPE_INT_OR_STRING:
		return decode_int_or_string(d, data, out);
	case KS_TYPE_LIST:
		return decode_list_message(d, type, data, out);
	default:
		return d->plan->unions[type] ? decode_union(d, d->plan->unions[type], data, out) : decode_raw(d, data, out);
	}
}

static bool decode_float(struct ks_proto_decoder *d, struct ks_proto_reader *r, struct ks_value *out)
{
	uint64_t bits;
	double value;

	if (!ks_proto_read_fixed64(r, &bits))
		return ks_proto_refuse(d, r->message);
	memcpy(&value, &bits, sizeof(value));
	*out = (struct ks_value){.kind = KS_FLOAT, .number = value};
	return true;
}

bool ks_proto_value(struct ks_proto_decoder *d, uint16_t type, bool pointer, struct ks_proto_reader *r, struct ks_value *out)
{
	uint8_t class_ = d->s->types[type].class_;
	struct ks_str bytes;
	uint64_t n;

	if (class_ == KS_TYPE_FLOAT64)
		return decode_float(d, r, out);
	if (class_ != KS_TYPE_BOOL && class_ != KS_TYPE_INT32 && class_ != KS_TYPE_INT64) {
		if (!ks_proto_read_bytes(r, &bytes))
			return ks_proto_refuse(d, r->message);
		return decode_inside(d, type, pointer, bytes, out);
	}
	if (!ks_proto_read_varint(r, &n))
		return ks_proto_refuse(d, r->message);
	if (class_ == KS_TYPE_BOOL)
		*out = ks_value_from_bool(n != 0);
	else
		*out = ks_value_from_int(class_ == KS_TYPE_INT32 ? (int32_t)n : (int64_t)n);
	return true;
}

void ks_proto_zero(struct ks_proto_decoder *d, uint16_t type, struct ks_value *out)
{
	switch (d->s->types[type].class_) {
	case KS_TYPE_STRING:
	case KS_TYPE_BYTES:
		*out = ks_value_from_str(KS_STR_LIT(""));
		return;
	case KS_TYPE_QUANTITY:
		*out = ks_value_from_str(KS_STR_LIT("0"));
		out->type = type;
		return;
	case KS_TYPE_DURATION:
		*out = ks_value_from_str(KS_STR_LIT("0s"));
		return;
	case KS_TYPE_INT_OR_STRING:
		*out = ks_value_from_int(0);
		return;
	case KS_TYPE_STRUCT:
		if (!ks_value_new_struct(d->arena, d->s, type, out))
			ks_proto_out_of_memory(d);
		return;
	default:
		out->kind = KS_NULL;
	}
}

/* -- order of keys --------------------------------------------------------------------------------------------- */

static int by_key_then_place(const void *a, const void *b, void *members_of)
{
	const struct ks_member *members = members_of;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int c = ks_str_cmp(members[x].key, members[y].key);

	return c ? c : (x > y) - (x < y);
}

static bool is_ascending(const struct ks_value *map)
{
	for (uint32_t i = 1; i < map->n; i++)
		if (ks_str_cmp(map->members[i - 1].key, map->members[i].key) >= 0)
			return false;
	return true;
}

static bool order_map(struct ks_value *map)
{
	uint32_t *order = malloc(map->n * sizeof(*order)), kept = 0;
	struct ks_member *sorted = malloc(map->n * sizeof(*sorted));

	for (uint32_t i = 0; order && i < map->n; i++)
		order[i] = i;
	if (!order || !sorted) {
		free(order);
		free(sorted);
		return false;
	}
	qsort_r(order, map->n, sizeof(*order), by_key_then_place, map->members);
	for (uint32_t i = 0; i < map->n; i++) {
		const struct ks_member *m = &map->members[order[i]];

		if (kept && ks_str_eq(sorted[kept - 1].key, m->key))
			kept--;
		sorted[kept++] = *m;
	}
	memcpy(map->members, sorted, kept * sizeof(*sorted));
	map->n = kept;
	free(order);
	free(sorted);
	return true;
}

bool ks_proto_order(struct ks_value *v)
{
	if (v->kind == KS_MAP && v->type == 0)
		return true; /* free form: the JSON decoder's */
	if (v->kind == KS_MAP && !is_ascending(v) && !order_map(v))
		return false;
	for (uint32_t i = 0; v->kind == KS_MAP && i < v->n; i++)
		if (!ks_proto_order(&v->members[i].value))
			return false;
	for (uint32_t i = 0; (v->kind == KS_STRUCT || v->kind == KS_LIST) && i < v->n; i++)
		if (!ks_proto_order(&v->items[i]))
			return false;
	return true;
}
