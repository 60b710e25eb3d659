/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Protobuf to working form: one pass over the bytes, values straight into their slots. Complaints are worded as those of Go's generated code. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "core/api/proto.h"
#include "core/api/proto_leaf.h"

/* What a message may take in memory: so many bytes, and so many times its length. */
enum { BUDGET_LEAST = 4 << 20, BUDGET_TIMES = 48 };

static bool decode_message(struct ks_proto_decoder *d, uint16_t type, const struct ks_proto_message *m, struct ks_str data, struct ks_value *out);

/* -- complaints ------------------------------------------------------------------------------------------------ */

bool ks_proto_refuse(struct ks_proto_decoder *d, const char *message)
{
	d->rc = message ? -EINVAL : -ENOMEM;
	d->message = message;
	return false;
}

bool ks_proto_out_of_memory(struct ks_proto_decoder *d)
{
	return ks_proto_refuse(d, NULL);
}

/* The last word of a type's name: Go's name of the struct. */
static const char *go_type(const struct ks_proto_decoder *d, uint16_t type)
{
	const char *name = ks_schema_text(d->s, d->s->types[type].name), *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

static bool refuse_wire(struct ks_proto_decoder *d, const struct ks_proto_entry *entry, unsigned wire)
{
	const char *name = entry->field ? ks_schema_text(d->s, entry->field->name) : "?";
	char *message = ks_arena_printf(d->arena, "proto: wrong wireType = %u for field %c%s", wire, toupper((unsigned char)name[0]), name + 1);

	return ks_proto_refuse(d, message);
}

static bool refuse_tag(struct ks_proto_decoder *d, uint16_t type, uint32_t number, unsigned wire)
{
	if (wire == KS_WIRE_END_GROUP)
		return ks_proto_refuse(d, ks_arena_printf(d->arena, "proto: %s: wiretype end group for non-group", go_type(d, type)));
	return ks_proto_refuse(d, ks_arena_printf(d->arena, "proto: %s: illegal tag %d (wire type %u)", go_type(d, type), (int)number, wire));
}

/* -- lists ----------------------------------------------------------------------------------------------------- */

static unsigned wire_of(uint8_t class_)
{
	switch (class_) {
	case KS_TYPE_BOOL:
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
		return KS_WIRE_VARINT;
	case KS_TYPE_FLOAT64:
		return KS_WIRE_FIXED64;
	default:
		return KS_WIRE_BYTES;
	}
}

/* How many values of the same field follow each other, the one at the reader included: its tag has been read. */
static uint32_t count_run(struct ks_proto_reader r, uint32_t number, unsigned wire)
{
	uint32_t n = 0, next_number;
	unsigned next_wire;

	do {
		n++;
	} while (ks_proto_skip(&r, wire) && r.p < r.end && ks_proto_read_tag(&r, &next_number, &next_wire) && next_number == number &&
		next_wire == wire);
	return n;
}

/* An empty list or map that has room for `n`. */
static bool make_room(struct ks_proto_decoder *d, uint8_t kind, uint16_t type, uint32_t n, struct ks_value *out)
{
	size_t size = kind == KS_MAP ? sizeof(struct ks_member) : sizeof(struct ks_value);
	void *items = ks_arena_alloc(d->arena, n * size);

	if (!items)
		return ks_proto_out_of_memory(d);
	*out = (struct ks_value){.kind = kind, .type = type, .items = items};
	return true;
}

/* The reader is behind the tag of the first of a run; afterwards it is behind the run. */
static bool next_of_run(struct ks_proto_reader *r, uint32_t number, unsigned wire)
{
	struct ks_proto_reader ahead = *r;
	uint32_t next_number;
	unsigned next_wire;

	if (ahead.p == ahead.end || !ks_proto_read_tag(&ahead, &next_number, &next_wire) || next_number != number || next_wire != wire)
		return false;
	*r = ahead;
	return true;
}

static bool decode_run(struct ks_proto_decoder *d, const struct ks_proto_entry *entry, struct ks_proto_reader *r, struct ks_value *list)
{
	unsigned wire = wire_of(entry->class_);
	uint32_t room = 0;

	if (list->kind != KS_LIST) {
		room = count_run(*r, entry->number, wire);
		if (!make_room(d, KS_LIST, entry->field->type, room, list))
			return false;
	}
	do {
		struct ks_value item = {0}, *place = list->n < room ? &list->items[list->n] : NULL;

		if (!ks_proto_value(d, entry->type, false, r, &item))
			return false;
		if (item.kind == KS_ABSENT)
			ks_proto_zero(d, entry->type, &item);
		if (place)
			list->n++;
		else if (!(place = ks_value_append(d->arena, list)))
			return ks_proto_out_of_memory(d);
		*place = item;
	} while (d->rc == 0 && next_of_run(r, entry->number, wire));
	return d->rc == 0;
}

/* Numbers that share one length. */
static bool decode_packed(struct ks_proto_decoder *d, const struct ks_proto_entry *entry, struct ks_proto_reader *r, struct ks_value *list)
{
	struct ks_proto_reader inner;
	struct ks_value *place, item;
	struct ks_str bytes;

	if (!ks_proto_read_bytes(r, &bytes))
		return ks_proto_refuse(d, r->message);
	if (list->kind != KS_LIST && bytes.n)
		*list = (struct ks_value){.kind = KS_LIST, .type = entry->field->type};
	inner = ks_proto_reader_of(bytes);
	while (inner.p < inner.end) {
		if (!ks_proto_value(d, entry->type, false, &inner, &item))
			return false;
		place = ks_value_append(d->arena, list);
		if (!place)
			return ks_proto_out_of_memory(d);
		*place = item;
	}
	return true;
}

static bool decode_list(
	struct ks_proto_decoder *d, const struct ks_proto_entry *entry, unsigned wire, struct ks_proto_reader *r, struct ks_value *list)
{
	unsigned wanted = wire_of(entry->class_);

	if (wire == wanted)
		return decode_run(d, entry, r, list);
	if (wire == KS_WIRE_BYTES)
		return decode_packed(d, entry, r, list);
	return refuse_wire(d, entry, wire);
}

/* -- maps ------------------------------------------------------------------------------------------------------ */

static bool decode_member(struct ks_proto_decoder *d, const struct ks_proto_entry *entry, struct ks_proto_reader *r, struct ks_member *out)
{
	struct ks_proto_reader inner;
	struct ks_str bytes;
	uint32_t number;
	unsigned wire;

	*out = (struct ks_member){.key = KS_STR_LIT("")};
	if (!ks_proto_read_bytes(r, &bytes))
		return ks_proto_refuse(d, r->message);
	inner = ks_proto_reader_of(bytes);
	while (inner.p < inner.end) {
		if (!ks_proto_read_tag(&inner, &number, &wire))
			return ks_proto_refuse(d, inner.message);
		if (number == 1 && wire == KS_WIRE_BYTES) {
			if (!ks_proto_read_bytes(&inner, &out->key))
				return ks_proto_refuse(d, inner.message);
		} else if (number == 2 && wire == wire_of(entry->class_)) {
			out->value = (struct ks_value){0};
			if (!ks_proto_value(d, entry->type, false, &inner, &out->value))
				return false;
		} else if (!ks_proto_skip(&inner, wire)) {
			return ks_proto_refuse(d, inner.message);
		}
	}
	if (out->value.kind == KS_ABSENT)
		ks_proto_zero(d, entry->type, &out->value);
	return d->rc == 0;
}

static bool decode_map(struct ks_proto_decoder *d, const struct ks_proto_entry *entry, unsigned wire, struct ks_proto_reader *r, struct ks_value *map)
{
	uint32_t room = 0;

	if (wire != KS_WIRE_BYTES)
		return refuse_wire(d, entry, wire);
	if (map->kind != KS_MAP) {
		room = count_run(*r, entry->number, wire);
		if (!make_room(d, KS_MAP, entry->field->type, room, map))
			return false;
	}
	do {
		struct ks_member member;
		struct ks_value *place;

		if (!decode_member(d, entry, r, &member))
			return false;
		/* Writers sort by key; what comes otherwise is put in order, and freed of duplicates, at the end. */
		d->disorder |= map->n && ks_str_cmp(map->members[map->n - 1].key, member.key) >= 0;
		if (map->n < room) {
			map->members[map->n++] = member;
			continue;
		}
		place = ks_value_add(d->arena, map, member.key);
		if (!place)
			return ks_proto_out_of_memory(d);
		*place = member.value;
	} while (next_of_run(r, entry->number, wire));
	return true;
}

/* -- structs --------------------------------------------------------------------------------------------------- */

bool ks_proto_struct(struct ks_proto_decoder *d, uint16_t type, struct ks_str data, struct ks_value *out)
{
	if (out->kind != KS_STRUCT && !ks_value_new_struct(d->arena, d->s, type, out))
		return ks_proto_out_of_memory(d);
	return decode_message(d, type, &d->plan->messages[type], data, out);
}

/* A message that has nothing in it, where nothing was: Go's zero value. */
static bool is_empty_message(const struct ks_proto_entry *entry, const struct ks_proto_reader *r, const struct ks_value *slot)
{
	return entry->class_ == KS_TYPE_STRUCT && !entry->pointer && slot->kind == KS_ABSENT && *r->p == 0;
}

static bool decode_one(
	struct ks_proto_decoder *d, const struct ks_proto_entry *entry, unsigned wire, struct ks_proto_reader *r, struct ks_value *slot)
{
	if (wire != wire_of(entry->class_))
		return refuse_wire(d, entry, wire);
	if (r->p < r->end && is_empty_message(entry, r, slot)) {
		r->p++;
		return true;
	}
	if (!ks_proto_value(d, entry->type, entry->pointer, r, slot))
		return false;
	if (slot->kind != KS_ABSENT && ks_value_is_unsaid(d->s, entry->field, slot))
		*slot = (struct ks_value){0};
	return true;
}

static bool decode_field(
	struct ks_proto_decoder *d, uint16_t type, const struct ks_proto_entry *entry, unsigned wire, struct ks_proto_reader *r, struct ks_value *out)
{
	struct ks_str bytes;

	switch (entry->shape) {
	case KS_SHAPE_ONE:
		return decode_one(d, entry, wire, r, &out->items[entry->slot]);
	case KS_SHAPE_LIST:
		return decode_list(d, entry, wire, r, &out->items[entry->slot]);
	case KS_SHAPE_MAP:
		return decode_map(d, entry, wire, r, &out->items[entry->slot]);
	default:
		if (wire != KS_WIRE_BYTES)
			return refuse_wire(d, entry, wire);
		if (!ks_proto_read_bytes(r, &bytes))
			return ks_proto_refuse(d, r->message);
		return decode_message(d, type, &d->plan->messages[entry->message], bytes, out);
	}
}

static bool decode_message(struct ks_proto_decoder *d, uint16_t type, const struct ks_proto_message *m, struct ks_str data, struct ks_value *out)
{
	struct ks_proto_reader r = ks_proto_reader_of(data);
	const struct ks_proto_entry *entry;
	uint32_t number;
	unsigned wire;

	if (++d->depth > KS_PROTO_MAX_DEPTH)
		return ks_proto_refuse(d, "proto: exceeded max depth");
	while (r.p < r.end) {
		if (!ks_proto_read_tag(&r, &number, &wire))
			return ks_proto_refuse(d, r.message);
		if (wire == KS_WIRE_END_GROUP || (int32_t)number <= 0)
			return refuse_tag(d, type, number, wire);
		entry = ks_proto_entry_of(d->plan, m, number);
		if (!entry) {
			if (!ks_proto_skip(&r, wire))
				return ks_proto_refuse(d, r.message);
		} else if (!decode_field(d, type, entry, wire, &r, out)) {
			return false;
		}
	}
	d->depth--;
	return true;
}

/* -- the whole ------------------------------------------------------------------------------------------------- */

/* Two bytes can stand for a struct of hundreds: an arena without a narrower limit gets one, by the size of the input. */
static void set_budget(struct ks_arena *arena, size_t n)
{
	size_t budget = arena->used + BUDGET_LEAST + BUDGET_TIMES * n;

	if (arena->limit == 0 || arena->limit > budget)
		arena->limit = budget;
}

int ks_proto_decode(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, unsigned flags, struct ks_str data, struct ks_value *out_r,
	const char **message_r)
{
	struct ks_proto_decoder d = {.arena = arena, .s = s, .plan = ks_proto_plan_of(s)};
	struct ks_value out = {0};
	size_t limit = arena->limit;

	if (!d.plan)
		return -ENOMEM;
	if (flags & KS_PROTO_COPY) {
		data.p = ks_arena_dup(arena, data.p, data.n);
		if (!data.p)
			return -ENOMEM;
	}
	set_budget(arena, data.n);
	if (ks_proto_struct(&d, type, data, &out) && d.rc == 0 && d.disorder && !ks_proto_order(&out))
		d.rc = -ENOMEM;
	if (d.rc == -ENOMEM && arena->limit != limit)
		ks_proto_refuse(&d, "proto: the message would take too much memory");
	arena->limit = limit;
	if (d.rc == 0)
		*out_r = out;
	else if (d.rc == -EINVAL)
		*message_r = d.message;
	return d.rc;
}

/* -- the envelope ---------------------------------------------------------------------------------------------- */

static bool open_type(struct ks_proto_reader *outer, struct ks_proto_envelope *out)
{
	struct ks_proto_reader r;
	struct ks_str bytes;
	uint32_t number;
	unsigned wire;

	if (!ks_proto_read_bytes(outer, &bytes))
		return false;
	r = ks_proto_reader_of(bytes);
	while (r.p < r.end) {
		struct ks_str *text;

		if (!ks_proto_read_tag(&r, &number, &wire))
			break;
		text = wire != KS_WIRE_BYTES ? NULL : number == 1 ? &out->api_version : number == 2 ? &out->kind : NULL;
		if (!(text ? ks_proto_read_bytes(&r, text) : ks_proto_skip(&r, wire)))
			break;
	}
	outer->message = r.message;
	return !r.message;
}

static bool open_field(struct ks_proto_reader *r, struct ks_proto_envelope *out)
{
	uint32_t number;
	unsigned wire;

	if (!ks_proto_read_tag(r, &number, &wire))
		return false;
	if (wire != KS_WIRE_BYTES)
		return ks_proto_skip(r, wire);
	switch (number) {
	case 1:
		return open_type(r, out);
	case 2:
		return ks_proto_read_bytes(r, &out->raw);
	case 3:
		return ks_proto_read_bytes(r, &out->content_encoding);
	case 4:
		return ks_proto_read_bytes(r, &out->content_type);
	default:
		return ks_proto_skip(r, wire);
	}
}

int ks_proto_open(struct ks_arena *arena, struct ks_str data, struct ks_proto_envelope *out_r, const char **message_r)
{
	struct ks_proto_envelope out = {0};
	struct ks_proto_reader r;

	(void)arena;
	*message_r = NULL;
	if (data.n == 0)
		*message_r = "empty data";
	else if (!ks_proto_is_enveloped(data))
		*message_r = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
	else if (data.n == 4)
		*message_r = "empty body";
	if (*message_r)
		return -EINVAL;
	r = ks_proto_reader_of(ks_str_of(data.p + 4, data.n - 4));
	while (r.p < r.end)
		if (!open_field(&r, &out)) {
			*message_r = r.message;
			return -EINVAL;
		}
	*out_r = out;
	return 0;
}
