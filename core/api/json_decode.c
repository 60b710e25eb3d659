/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* JSON to working form: one pass over the bytes, values straight into their slots. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/base64.h"
#include "core/api/json_decode.h"

enum { FEW_MEMBERS = 16 }; /* so many are compared with each other; more are sorted at the end */

static const struct ks_str no_number;

static bool decode_typed(struct ks_json_decoder *d, uint16_t type, unsigned field_flags, char c, struct ks_value *out);
static bool decode_free(struct ks_json_decoder *d, char c, struct ks_value *out);

/* The value at the scanner does not fit the type: said once, and skipped. */
static bool mismatch(struct ks_json_decoder *d, uint16_t type, unsigned field_flags, char c)
{
	return ks_json_mismatch(d, ks_json_what(c), no_number, ks_json_go_type(d->scan.arena, d->s, type, field_flags)) && ks_json_skip(&d->scan);
}

static bool starts_number(char c)
{
	return c == '-' || (c >= '0' && c <= '9');
}

/* ---- cells: what was read of open lists and maps ---- */

static bool grow_cells(struct ks_json_decoder *d)
{
	size_t cap = d->cap_cells * 2;
	bool first = d->cells == d->first_cells;
	union ks_json_cell *cells = realloc(first ? NULL : d->cells, cap * sizeof(*cells));

	if (!cells)
		return ks_json_out_of_memory(&d->scan);
	if (first)
		memcpy(cells, d->first_cells, sizeof(d->first_cells));
	d->cells = cells;
	d->cap_cells = cap;
	return true;
}

static bool push_value(struct ks_json_decoder *d, const struct ks_value *value)
{
	if (d->n_cells == d->cap_cells && !grow_cells(d))
		return false;
	d->cells[d->n_cells++].value = *value;
	return true;
}

static bool push_member(struct ks_json_decoder *d, struct ks_str key, const struct ks_value *value)
{
	if (d->n_cells == d->cap_cells && !grow_cells(d))
		return false;
	d->cells[d->n_cells++].key = key;
	return push_value(d, value);
}

static bool pop_items(struct ks_json_decoder *d, size_t from, uint16_t type, struct ks_value *out)
{
	size_t n = d->n_cells - from;

	*out = (struct ks_value){.kind = KS_LIST, .type = type, .n = (uint32_t)n};
	if (n) {
		out->items = ks_arena_alloc(d->scan.arena, n * sizeof(*out->items));
		if (!out->items)
			return ks_json_out_of_memory(&d->scan);
		memcpy(out->items, &d->cells[from], n * sizeof(*out->items));
	}
	d->n_cells = from;
	return true;
}

/* ---- duplicate keys of maps ---- */

static int by_key_then_place(const void *a, const void *b, void *cells_of)
{
	const union ks_json_cell *cells = cells_of;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int c = ks_str_cmp(cells[x * 2].key, cells[y * 2].key);

	return c ? c : (x > y) - (x < y);
}

/* Of equal keys the first keeps its place and gets the last one's value; the others are marked by a NULL key. */
static bool merge_equal_keys(struct ks_json_decoder *d, union ks_json_cell *cells, const uint32_t *order, size_t n, bool *found)
{
	for (size_t i = 0, first = 0; i < n; i++) {
		if (i == first)
			continue;
		if (!ks_str_eq(cells[order[i] * 2].key, cells[order[first] * 2].key)) {
			first = i;
			continue;
		}
		if (!ks_json_strict(d, "duplicate", cells[order[i] * 2].key))
			return false;
		cells[order[first] * 2 + 1] = cells[order[i] * 2 + 1];
		cells[order[i] * 2].key.n = SIZE_MAX;
		*found = true;
	}
	return true;
}

static bool drop_duplicates(struct ks_json_decoder *d, size_t from)
{
	union ks_json_cell *cells = &d->cells[from];
	size_t n = (d->n_cells - from) / 2, kept = 0;
	uint32_t *order = malloc(n * sizeof(*order));
	bool found = false, ok;

	if (!order)
		return ks_json_out_of_memory(&d->scan);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), by_key_then_place, cells);
	ok = merge_equal_keys(d, cells, order, n, &found);
	free(order);
	if (!ok || !found)
		return ok;
	for (size_t i = 0; i < n; i++) {
		if (cells[i * 2].key.n == SIZE_MAX)
			continue;
		cells[kept * 2] = cells[i * 2];
		cells[kept * 2 + 1] = cells[i * 2 + 1];
		kept++;
	}
	d->n_cells = from + kept * 2;
	return true;
}

/* What we have written ourselves is: then no key is there twice. */
static bool is_in_order(const struct ks_json_decoder *d, size_t from)
{
	for (size_t i = from + 2; i < d->n_cells; i += 2)
		if (ks_str_cmp(d->cells[i - 2].key, d->cells[i].key) >= 0)
			return false;
	return true;
}

static bool pop_members(struct ks_json_decoder *d, size_t from, uint16_t type, struct ks_value *out)
{
	size_t n;

	if (d->n_cells - from > FEW_MEMBERS * 2 && !is_in_order(d, from) && !drop_duplicates(d, from))
		return false;
	n = (d->n_cells - from) / 2;
	*out = (struct ks_value){.kind = KS_MAP, .type = type, .n = (uint32_t)n};
	if (n) {
		out->members = ks_arena_alloc(d->scan.arena, n * sizeof(*out->members));
		if (!out->members)
			return ks_json_out_of_memory(&d->scan);
		for (size_t i = 0; i < n; i++)
			out->members[i] = (struct ks_member){d->cells[from + i * 2].key, d->cells[from + i * 2 + 1].value};
	}
	d->n_cells = from;
	return true;
}

/* A member that was read; the first few are compared at once, so that complaints come in the order of the text. */
static bool add_member(struct ks_json_decoder *d, size_t from, struct ks_str key, const struct ks_value *value)
{
	if (d->n_cells - from <= FEW_MEMBERS * 2) {
		for (size_t i = from; i < d->n_cells; i += 2)
			if (ks_str_eq(d->cells[i].key, key)) {
				d->cells[i + 1].value = *value;
				return true;
			}
	}
	return push_member(d, key, value);
}

static bool is_duplicate(const struct ks_json_decoder *d, size_t from, struct ks_str key)
{
	if (d->n_cells - from > FEW_MEMBERS * 2)
		return false; /* pop_members finds it */
	for (size_t i = from; i < d->n_cells; i += 2)
		if (ks_str_eq(d->cells[i].key, key))
			return true;
	return false;
}

/* ---- what objects have in common ---- */

static bool read_key(struct ks_json_decoder *d, struct ks_str *key)
{
	if (ks_json_peek(&d->scan) != '"')
		return ks_json_unexpected(&d->scan, "looking for beginning of object key string");
	if (!ks_json_string(&d->scan, key))
		return false;
	if (ks_json_peek(&d->scan) != ':')
		return ks_json_unexpected(&d->scan, "after object key");
	d->scan.p++;
	return true;
}

/* Behind a value: a comma and more, or the end. */
static bool more(struct ks_json_decoder *d, char end, bool *more_r)
{
	char c = ks_json_peek(&d->scan);

	if (c != ',' && c != end)
		return ks_json_unexpected(&d->scan, end == '}' ? "after object key:value pair" : "after array element");
	d->scan.p++;
	*more_r = c == ',';
	if (c == end)
		d->scan.depth--;
	return true;
}

/* Consumes the bracket; is there anything in it? */
static bool open_container(struct ks_json_decoder *d, char end, bool *more_r)
{
	if (!ks_json_enter(&d->scan))
		return false;
	*more_r = ks_json_peek(&d->scan) != end;
	if (!*more_r) {
		d->scan.p++;
		d->scan.depth--;
	}
	return true;
}

/* ---- structs ---- */

static bool name_is(const struct ks_schema *s, const struct ks_field *field, struct ks_str name)
{
	return field->name_n == name.n && memcmp(ks_schema_text(s, field->name), name.p, name.n) == 0;
}

/* Writers keep the order of the schema, so the next field is the best guess. */
static uint16_t find_slot(const struct ks_schema *s, uint16_t type, struct ks_str name, uint16_t guess)
{
	const struct ks_type *t = &s->types[type];

	for (uint16_t slot = guess; slot < t->n_fields && slot < guess + 2; slot++)
		if (name_is(s, &s->fields[t->first_field + slot], name))
			return slot;
	return ks_schema_slot(s, type, name.p, name.n);
}

static bool decode_null_field(struct ks_json_decoder *d, const struct ks_field *field, struct ks_value *slot)
{
	uint8_t class_ = d->s->types[field->type].class_;

	if (!ks_json_word(&d->scan, "null"))
		return false;
	if (d->s->generation && field->flags & KS_FIELD_NULLABLE)
		*slot = (struct ks_value){.kind = KS_NULL};
	else if (field->flags & KS_FIELD_POINTER || (class_ >= KS_TYPE_BYTES && class_ != KS_TYPE_STRUCT))
		*slot = (struct ks_value){0};
	return true; /* a null leaves plain values and structs as they are */
}

/* An empty list or map, or a struct that was made of such. */
static bool says_empty(const struct ks_value *v)
{
	if (v->kind == KS_LIST || v->kind == KS_MAP)
		return true;
	for (uint32_t i = 0; v->kind == KS_STRUCT && i < v->n; i++)
		if (v->items[i].flags & KS_VALUE_WAS_EMPTY)
			return true;
	return false;
}

void ks_json_unsay(const struct ks_schema *s, const struct ks_field *field, struct ks_value *slot)
{
	if (!ks_value_is_unsaid(s, field, slot))
		return;
	if (!says_empty(slot))
		*slot = (struct ks_value){0};
	else if (slot->kind == KS_STRUCT) /* absent, but messages show which of its lists and maps were empty */
		slot->kind = KS_ABSENT, slot->flags = KS_VALUE_WAS_EMPTY;
	else
		*slot = (struct ks_value){.flags = KS_VALUE_WAS_EMPTY};
}

static bool decode_field(struct ks_json_decoder *d, const struct ks_field *field, struct ks_value *slot)
{
	char c = ks_json_peek(&d->scan);

	if (c == 'n')
		return decode_null_field(d, field, slot);
	if (!decode_typed(d, field->type, field->flags, c, slot))
		return false;
	ks_json_unsay(d->s, field, slot);
	return true;
}

struct seen { /* which fields an object had already */
	uint64_t bits[4];
};

static bool see(struct seen *seen, uint16_t slot, const struct ks_value *place)
{
	uint64_t bit = (uint64_t)1 << slot % 64;
	bool before;

	if (slot >= 256)
		return place->kind != KS_ABSENT;
	before = seen->bits[slot / 64] & bit;
	seen->bits[slot / 64] |= bit;
	return before;
}

static bool decode_member_of_struct(struct ks_json_decoder *d, struct ks_json_frame *frame, struct seen *seen, struct ks_value *out)
{
	struct ks_str key;
	uint16_t slot;
	bool ok;

	if (!read_key(d, &key))
		return false;
	slot = find_slot(d->s, frame->type, key, frame->slot);
	if (slot == KS_NO_SLOT || slot >= out->n)
		return ks_json_strict(d, "unknown", key) && ks_json_skip(&d->scan);
	if (see(seen, slot, &out->items[slot]) && !ks_json_strict(d, "duplicate", key))
		return false;
	frame->slot = slot;
	d->frame = frame;
	ok = decode_field(d, ks_schema_field(d->s, frame->type, slot), &out->items[slot]);
	d->frame = frame->up;
	frame->slot = (uint16_t)(slot + 1);
	return ok;
}

static bool decode_struct(struct ks_json_decoder *d, uint16_t type, struct ks_value *out)
{
	struct ks_json_frame frame = {.up = d->frame, .kind = KS_FRAME_FIELD, .type = type};
	struct seen seen = {{0}};
	bool more_members;

	/* A repeated field goes on with what the first one left, as in Go. */
	if (out->kind != KS_STRUCT && !ks_value_new_struct(d->scan.arena, d->s, type, out))
		return ks_json_out_of_memory(&d->scan);
	if (!open_container(d, '}', &more_members))
		return false;
	while (more_members)
		if (!decode_member_of_struct(d, &frame, &seen, out) || !more(d, '}', &more_members))
			return false;
	return true;
}

/* ---- lists and maps of a type ---- */

/* What Go has for a null in a list or map. */
static bool decode_null_element(struct ks_json_decoder *d, uint16_t type, unsigned field_flags, struct ks_value *out)
{
	if (!ks_json_word(&d->scan, "null"))
		return false;
	if (field_flags & KS_FIELD_ELEMENT_POINTER) {
		out->kind = KS_NULL;
		return true;
	}
	switch (d->s->types[type].class_) {
	case KS_TYPE_BOOL:
		*out = ks_value_from_bool(false);
		return true;
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
	case KS_TYPE_INT_OR_STRING:
		*out = ks_value_from_int(0);
		return true;
	case KS_TYPE_FLOAT64:
		*out = (struct ks_value){.kind = KS_FLOAT};
		return true;
	case KS_TYPE_STRING:
		*out = ks_value_from_str(KS_STR_LIT(""));
		return true;
	case KS_TYPE_QUANTITY:
		*out = ks_value_from_str(KS_STR_LIT("0"));
		out->type = type;
		return true;
	case KS_TYPE_DURATION:
		*out = ks_value_from_str(KS_STR_LIT("0s"));
		return true;
	case KS_TYPE_STRUCT:
		return ks_value_new_struct(d->scan.arena, d->s, type, out) || ks_json_out_of_memory(&d->scan);
	default:
		out->kind = KS_NULL;
		return true;
	}
}

/* An item or map value; one that did not fit (a complaint was kept) is null. */
static bool decode_element(struct ks_json_decoder *d, uint16_t type, unsigned field_flags, struct ks_value *out)
{
	char c = ks_json_peek(&d->scan);

	*out = (struct ks_value){0};
	if (c == 'n' && d->s->types[type].class_ != KS_TYPE_NONE)
		return decode_null_element(d, type, field_flags, out);
	if (!decode_typed(d, type, 0, c, out))
		return false;
	if (out->kind == KS_ABSENT)
		out->kind = KS_NULL;
	return true;
}

static bool decode_list(struct ks_json_decoder *d, uint16_t type, unsigned field_flags, struct ks_value *out)
{
	struct ks_json_frame frame = {.up = d->frame, .kind = KS_FRAME_ITEM};
	uint16_t element = d->s->types[type].element;
	size_t from = d->n_cells;
	struct ks_value item;
	bool more_items;

	if (!open_container(d, ']', &more_items))
		return false;
	d->frame = &frame;
	for (; more_items; frame.index++)
		if (!decode_element(d, element, field_flags, &item) || !push_value(d, &item) || !more(d, ']', &more_items))
			return false;
	d->frame = frame.up;
	return pop_items(d, from, type, out);
}

/* A map whose field was repeated: entries that are already there come first. Repeated is the field then, not its keys. */
static bool join_maps(struct ks_json_decoder *d, const struct ks_value *before, struct ks_value *map)
{
	const struct ks_value *parts[] = {before, map};
	size_t from = d->n_cells;
	bool ok = true;

	if (before->kind != KS_MAP || !before->n)
		return true;
	d->quiet++;
	for (size_t part = 0; part < 2; part++)
		for (uint32_t i = 0; ok && i < parts[part]->n; i++)
			ok = add_member(d, from, parts[part]->members[i].key, &parts[part]->members[i].value);
	ok = ok && pop_members(d, from, map->type, map);
	d->quiet--;
	return ok;
}

static bool decode_map(struct ks_json_decoder *d, uint16_t type, unsigned field_flags, struct ks_value *out)
{
	struct ks_json_frame frame = {.up = d->frame, .kind = KS_FRAME_KEY};
	uint16_t element = d->s->types[type].element;
	struct ks_value before = *out, value;
	size_t from = d->n_cells;
	bool more_members;

	if (!open_container(d, '}', &more_members))
		return false;
	while (more_members) {
		if (!read_key(d, &frame.key) || (is_duplicate(d, from, frame.key) && !ks_json_strict(d, "duplicate", frame.key)))
			return false;
		d->frame = &frame;
		if (!decode_element(d, element, field_flags, &value))
			return false;
		d->frame = frame.up;
		if (!add_member(d, from, frame.key, &value) || !more(d, '}', &more_members))
			return false;
	}
	return pop_members(d, from, type, out) && join_maps(d, &before, out);
}

/* ---- free form ---- */

static bool decode_free_list(struct ks_json_decoder *d, struct ks_value *out)
{
	struct ks_json_frame frame = {.up = d->frame, .kind = KS_FRAME_ITEM};
	size_t from = d->n_cells;
	struct ks_value item;
	bool more_items;

	if (!open_container(d, ']', &more_items))
		return false;
	d->frame = &frame;
	for (; more_items; frame.index++)
		if (!decode_free(d, ks_json_peek(&d->scan), &item) || !push_value(d, &item) || !more(d, ']', &more_items))
			return false;
	d->frame = frame.up;
	return pop_items(d, from, 0, out);
}

static bool decode_free_map(struct ks_json_decoder *d, struct ks_value *out)
{
	struct ks_json_frame frame = {.up = d->frame, .kind = KS_FRAME_KEY};
	size_t from = d->n_cells;
	struct ks_value value;
	bool more_members;

	if (!open_container(d, '}', &more_members))
		return false;
	while (more_members) {
		if (!read_key(d, &frame.key) || (is_duplicate(d, from, frame.key) && !ks_json_strict(d, "duplicate", frame.key)))
			return false;
		d->frame = &frame;
		if (!decode_free(d, ks_json_peek(&d->scan), &value))
			return false;
		d->frame = frame.up;
		if (!add_member(d, from, frame.key, &value) || !more(d, '}', &more_members))
			return false;
	}
	return pop_members(d, from, 0, out);
}

static bool decode_free_number(struct ks_json_decoder *d, struct ks_value *out)
{
	struct ks_json_number number;

	if (!ks_json_number(&d->scan, &number))
		return false;
	if (!number.integer)
		return ks_json_double(d, &number, out);
	*out = ks_value_from_int(number.value);
	return true;
}

static bool decode_free(struct ks_json_decoder *d, char c, struct ks_value *out)
{
	struct ks_str s;

	*out = (struct ks_value){.kind = KS_NULL};
	switch (c) {
	case '{':
		return decode_free_map(d, out);
	case '[':
		return decode_free_list(d, out);
	case '"':
		if (!ks_json_string(&d->scan, &s))
			return false;
		*out = ks_value_from_str(s);
		return true;
	case 't':
		*out = ks_value_from_bool(true);
		return ks_json_word(&d->scan, "true");
	case 'f':
		*out = ks_value_from_bool(false);
		return ks_json_word(&d->scan, "false");
	case 'n':
		return ks_json_word(&d->scan, "null");
	default:
		if (starts_number(c))
			return decode_free_number(d, out);
		return ks_json_unexpected(&d->scan, "looking for beginning of value");
	}
}

/* A part that Go keeps as raw bytes: nobody looks for duplicates in it. */
static bool decode_raw(struct ks_json_decoder *d, char c, struct ks_value *out)
{
	bool ok;

	d->quiet++;
	ok = decode_free(d, c, out);
	d->quiet--;
	return ok;
}

/* ---- typed values ---- */

static bool decode_number(struct ks_json_decoder *d, uint16_t type, struct ks_value *out)
{
	uint8_t class_ = d->s->types[type].class_;
	struct ks_json_number number;

	if (!ks_json_number(&d->scan, &number))
		return false;
	if (class_ == KS_TYPE_FLOAT64)
		return ks_json_double(d, &number, out);
	if (!number.integer || (class_ == KS_TYPE_INT32 && (number.value < INT32_MIN || number.value > INT32_MAX)))
		return ks_json_mismatch(d, "number", number.text, ks_json_go_type(d->scan.arena, d->s, type, 0));
	*out = ks_value_from_int(number.value);
	return true;
}

/* An item of a list of bytes. */
static bool decode_byte(struct ks_json_decoder *d, struct ks_value *out)
{
	char c = ks_json_peek(&d->scan);
	struct ks_json_number number;

	*out = ks_value_from_int(0);
	if (c == 'n')
		return ks_json_word(&d->scan, "null");
	if (!starts_number(c))
		return ks_json_mismatch(d, ks_json_what(c), no_number, "uint8") && ks_json_skip(&d->scan);
	if (!ks_json_number(&d->scan, &number))
		return false;
	if (!number.integer || number.value < 0 || number.value > UINT8_MAX)
		return ks_json_mismatch(d, "number", number.text, "uint8");
	*out = ks_value_from_int(number.value);
	return true;
}

/* Go takes a list of numbers for bytes, too. They are kept as base64, as all bytes are. */
static bool decode_bytes(struct ks_json_decoder *d, struct ks_value *out)
{
	size_t from = d->n_cells, n;
	unsigned char *bytes;
	struct ks_value item;
	bool more_items;
	char *text;

	if (!open_container(d, ']', &more_items))
		return false;
	while (more_items)
		if (!decode_byte(d, &item) || !push_value(d, &item) || !more(d, ']', &more_items))
			return false;
	n = d->n_cells - from;
	bytes = ks_arena_alloc(d->scan.arena, n + 1);
	text = ks_arena_alloc(d->scan.arena, ks_base64_length(n) + 1);
	if (!bytes || !text)
		return ks_json_out_of_memory(&d->scan);
	for (size_t i = 0; i < n; i++)
		bytes[i] = (unsigned char)d->cells[from + i].value.integer;
	d->n_cells = from;
	ks_base64_encode(bytes, n, text);
	*out = ks_value_from_str(ks_str_of(text, ks_base64_length(n)));
	return true;
}

static bool decode_bool(struct ks_json_decoder *d, char c, struct ks_value *out)
{
	*out = ks_value_from_bool(c == 't');
	return ks_json_word(&d->scan, c == 't' ? "true" : "false");
}

static bool decode_string(struct ks_json_decoder *d, struct ks_value *out)
{
	struct ks_str s;

	if (!ks_json_string(&d->scan, &s))
		return false;
	*out = ks_value_from_str(s);
	return true;
}

/* `c`: the first byte of the value, not "null". */
static bool decode_typed(struct ks_json_decoder *d, uint16_t type, unsigned field_flags, char c, struct ks_value *out)
{
	switch (d->s->types[type].class_) {
	case KS_TYPE_STRUCT:
		return c == '{' ? decode_struct(d, type, out) : mismatch(d, type, field_flags, c);
	case KS_TYPE_LIST:
		return c == '[' ? decode_list(d, type, field_flags, out) : mismatch(d, type, field_flags, c);
	case KS_TYPE_MAP:
		return c == '{' ? decode_map(d, type, field_flags, out) : mismatch(d, type, field_flags, c);
	case KS_TYPE_STRING:
		return c == '"' ? decode_string(d, out) : mismatch(d, type, field_flags, c);
	case KS_TYPE_BOOL:
		return c == 't' || c == 'f' ? decode_bool(d, c, out) : mismatch(d, type, field_flags, c);
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
	case KS_TYPE_FLOAT64:
		return starts_number(c) ? decode_number(d, type, out) : mismatch(d, type, field_flags, c);
	case KS_TYPE_RAW:
	case KS_TYPE_JSON:
	case KS_TYPE_FIELDS_V1:
		return decode_raw(d, c, out);
	case KS_TYPE_NONE:
		return decode_free(d, c, out);
	case KS_TYPE_BYTES:
		return c == '[' ? decode_bytes(d, out) : ks_json_leaf(d, type, field_flags, c, out);
	default:
		return ks_json_leaf(d, type, field_flags, c, out);
	}
}

/* ---- the whole text ---- */

static bool decode_root(struct ks_json_decoder *d, uint16_t type, struct ks_value *out)
{
	char c = ks_json_peek(&d->scan);

	if (type == 0)
		return decode_free(d, c, out);
	if (c == 'n')
		return decode_null_element(d, type, 0, out);
	return decode_typed(d, type, 0, c, out);
}

/* A complaint ended decoding in the middle: Go checks the whole text first, so a syntax error further on comes before it. */
static bool has_syntax_error(struct ks_json_decoder *d, const char *json, size_t n)
{
	struct ks_json_scan whole = {.p = json, .end = json + n, .arena = d->scan.arena};

	if (ks_json_skip(&whole) && ks_json_end(&whole))
		return false;
	d->scan.rc = whole.rc;
	d->scan.message = whole.message;
	return true;
}

static int failure(struct ks_json_decoder *d, const char *json, size_t n, const char **message_r)
{
	if (d->stopped && !has_syntax_error(d, json, n))
		d->scan.message = d->saved;
	if (d->scan.rc == -EINVAL)
		*message_r = d->scan.message;
	return d->scan.rc;
}

static int custom_rank(struct ks_str text)
{
	if (ks_str_starts(text, KS_STR_LIT("duplicate")))
		return 0;
	return ks_str_starts(text, KS_STR_LIT("unknown field \"metadata.")) ? 1 : 2;
}

static int by_custom_rank(const void *a, const void *b)
{
	struct ks_str x = *(const struct ks_str *)a, y = *(const struct ks_str *)b;
	int rank = custom_rank(x) - custom_rank(y);

	return rank ? rank : ks_str_cmp(x, y);
}

/* Upstream looks at custom resources in several passes: repeated fields as they stand, then unknown ones sorted. */
static void order_custom(struct ks_strict_errors *strict, uint32_t from)
{
	uint32_t kept = from;

	for (uint32_t i = from; i < strict->n; i++) {
		struct ks_str text = strict->items[i];

		if (custom_rank(text) > 0)
			continue;
		memmove(&strict->items[kept + 1], &strict->items[kept], (i - kept) * sizeof(text));
		strict->items[kept++] = text;
	}
	if (strict->n > kept)
		qsort(strict->items + kept, strict->n - kept, sizeof(*strict->items), by_custom_rank);
}

int ks_json_decode(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, unsigned flags, const char *json, size_t n,
	struct ks_value *out_r, struct ks_strict_errors *strict, const char **message_r)
{
	struct ks_json_decoder d;
	struct ks_value out = {0};
	uint32_t strict_before = strict ? strict->n : 0;
	bool ok;

	if (!(flags & KS_DECODE_BORROW) && !(json = ks_arena_dup(arena, json, n)))
		return -ENOMEM;
	d.scan = (struct ks_json_scan){.p = json, .end = json + n, .arena = arena};
	d.s = s;
	d.frame = NULL;
	d.strict = flags & KS_DECODE_STRICT ? strict : NULL;
	d.saved = NULL;
	d.stopped = false;
	d.quiet = 0;
	d.cells = d.first_cells;
	d.n_cells = 0;
	d.cap_cells = KS_JSON_CELLS;
	ok = decode_root(&d, type, &out) && ks_json_end(&d.scan);
	if (d.cells != d.first_cells)
		free(d.cells);
	if (!ok)
		return failure(&d, json, n, message_r);
	if (d.saved) {
		*message_r = d.saved;
		return -EINVAL;
	}
	if (d.strict && s && s->generation)
		order_custom(d.strict, strict_before);
	*out_r = out;
	return 0;
}
