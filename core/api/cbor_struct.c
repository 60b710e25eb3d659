/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Maps with the fields of a type. */
#include <string.h>

#include "core/api/cbor_decode.h"
#include "core/api/json_decode.h"

static bool name_is(const struct ks_schema *s, const struct ks_field *field, struct ks_str name)
{
	return field->name_n == name.n && memcmp(ks_schema_text(s, field->name), name.p, name.n) == 0;
}

/* Writers keep some order of the fields, often that of the schema. */
static uint16_t find_slot(const struct ks_schema *s, uint16_t type, struct ks_str name, uint16_t guess)
{
	const struct ks_type *t = &s->types[type];

	if (guess < t->n_fields && name_is(s, &s->fields[t->first_field + guess], name))
		return guess;
	return ks_schema_slot(s, type, name.p, name.n);
}

static bool see(struct ks_cbor_open_struct *o, uint16_t slot, const struct ks_value *place)
{
	uint64_t bit = (uint64_t)1 << slot % 64;
	bool before;

	if (slot >= 256)
		return place->kind != KS_ABSENT;
	before = o->seen[slot / 64] & bit;
	o->seen[slot / 64] |= bit;
	return before;
}

static bool decode_null_field(struct ks_cbor_decoder *d)
{
	struct ks_cbor_head head;

	return ks_cbor_next(&d->r, &head);
}

static bool decode_field(struct ks_cbor_decoder *d, const struct ks_field *field, struct ks_value *slot)
{
	uint8_t class_ = d->s->types[field->type].class_;

	/* Behind a pointer null is nothing; IntOrString takes it for a text. */
	if (d->r.p < d->r.end && *d->r.p == 0xf6 && (class_ != KS_TYPE_INT_OR_STRING || field->flags & KS_FIELD_POINTER))
		return decode_null_field(d);
	if (d->r.p < d->r.end && *d->r.p == 0xf7 && field->flags & KS_FIELD_POINTER)
		return decode_null_field(d);
	if (!ks_cbor_typed(d, field->type, field->flags, slot))
		return false;
	ks_json_unsay(d->s, field, slot);
	return true;
}

/* A field that the struct has. Complaints in it name the outermost field that they are in. */
static bool decode_known(struct ks_cbor_decoder *d, struct ks_cbor_open_struct *o, uint16_t slot, struct ks_value *out)
{
	const struct ks_field *field = ks_schema_field(d->s, o->type, slot);
	bool root = !d->root_field;
	uint8_t later = d->later;
	bool ok;

	if (root) {
		d->root_type = ks_json_go_type(d->arena, d->s, o->type, 0);
		d->root_field = ks_schema_text(d->s, field->name);
		if (!d->root_type)
			return ks_cbor_out_of_memory(d);
	}
	o->slot = (uint16_t)(slot + 1);
	ok = decode_field(d, field, &out->items[slot]);
	d->later = later;
	if (root)
		d->root_field = NULL;
	return ok;
}

bool ks_cbor_unknown(struct ks_cbor_decoder *d, struct ks_cbor_open_struct *o, struct ks_str key, struct ks_value *kept)
{
	if (o->own_unknown < 0)
		o->own_unknown = (int64_t)o->index;
	if (!ks_cbor_push_member(d, key, kept))
		return false;
	if (ks_cbor_is_repeated(d, o->unknown_from) && !ks_cbor_duplicate(d, &o->repeats, kept, key, o->index))
		return false;
	return ks_cbor_skip(&d->r);
}

/* A key that is a number: no field has one. */
bool ks_cbor_number_key(struct ks_cbor_decoder *d, struct ks_cbor_open_struct *o, const struct ks_cbor_head *head)
{
	int64_t number = head->major == KS_CBOR_UINT ? (int64_t)head->value : -1 - (int64_t)head->value;
	struct ks_value kept = ks_value_from_int(number);
	char bytes[1 + sizeof(number)] = {'\xff'}, *key; /* no name of a field, or of anything that is UTF-8, begins so */

	if (head->major == KS_CBOR_NEGATIVE && head->value > INT64_MAX)
		return ks_cbor_save_mismatch(
			       d, head->major, "int64", ks_arena_printf(d->arena, "-1-%llu overflows Go's int64", (unsigned long long)head->value)) &&
			ks_cbor_skip(&d->r);
	memcpy(bytes + 1, &number, sizeof(number));
	key = ks_arena_dup(d->arena, bytes, sizeof(bytes));
	return key ? ks_cbor_unknown(d, o, ks_str_of(key, sizeof(bytes)), &kept) : ks_cbor_out_of_memory(d);
}

bool ks_cbor_other_key(struct ks_cbor_decoder *d, const struct ks_cbor_head *head)
{
	const char *detail =
		ks_arena_printf(d->arena, "map key is of type %s and cannot be used to match struct field name", ks_cbor_major_name(head->major));

	return ks_cbor_mismatch(d, head, "string", detail) && ks_cbor_skip(&d->r);
}

static bool decode_named(struct ks_cbor_decoder *d, struct ks_cbor_open_struct *o, struct ks_str key, struct ks_value *out)
{
	struct ks_value kept = {.kind = KS_STRING};
	uint16_t slot = find_slot(d->s, o->type, key, o->slot);

	if (slot == KS_NO_SLOT || slot >= out->n)
		return ks_cbor_unknown(d, o, key, &kept);
	if (see(o, slot, &out->items[slot]))
		return ks_cbor_duplicate(d, &o->repeats, NULL, key, o->index) && ks_cbor_skip(&d->r);
	return decode_known(d, o, slot, out);
}

static bool decode_pair_of_struct(struct ks_cbor_decoder *d, struct ks_cbor_open_struct *o, struct ks_value *out)
{
	struct ks_cbor_head head;
	struct ks_str key;
	bool valid;

	if (!ks_cbor_next(&d->r, &head))
		return false;
	if (head.major == KS_CBOR_UINT || head.major == KS_CBOR_NEGATIVE)
		return ks_cbor_number_key(d, o, &head);
	if (head.major != KS_CBOR_BYTES && head.major != KS_CBOR_TEXT)
		return ks_cbor_other_key(d, &head);
	if (!ks_cbor_string(&d->r, &head, &key, &valid))
		return false;
	if (!valid)
		return ks_cbor_save(d, "cbor: invalid UTF-8 string") && ks_cbor_skip(&d->r);
	return decode_named(d, o, key, out);
}

/* Unknown keys have been read: does one repeat, and which field is to be told? */
static bool close_struct(struct ks_cbor_decoder *d, struct ks_cbor_open_struct *o, int64_t before)
{
	uint32_t at;

	if (!ks_cbor_check_many(d, o->unknown_from, &at))
		return false;
	if (at != UINT32_MAX &&
		!ks_cbor_duplicate(d, &o->repeats, &d->cells[o->unknown_from + at * 2 + 1].value, d->cells[o->unknown_from + at * 2].key, at))
		return false;
	d->n_cells = o->unknown_from;
	/* A struct's own unknown field is told before those of what is in it, and the first one of all before the others. */
	if (o->own_unknown >= 0)
		d->unknown = o->own_unknown;
	if (before >= 0)
		d->unknown = before;
	return true;
}

bool ks_cbor_struct(struct ks_cbor_decoder *d, uint16_t type, const struct ks_cbor_head *head, struct ks_value *out)
{
	struct ks_cbor_open_struct o = {.type = type, .unknown_from = d->n_cells, .repeats = ks_cbor_no_repeats(d), .own_unknown = -1};
	int64_t before = d->unknown;
	bool more;

	if (out->kind != KS_STRUCT && !ks_value_new_struct(d->arena, d->s, type, out))
		return ks_cbor_out_of_memory(d);
	d->unknown = -1;
	if (!ks_cbor_enter(&d->r, head) || !ks_cbor_more(&d->r, head, 0, &more))
		return false;
	for (; more; o.index++)
		if (!decode_pair_of_struct(d, &o, out) || !ks_cbor_more(&d->r, head, o.index + 1, &more))
			return false;
	d->r.depth--;
	return close_struct(d, &o, before);
}
