/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* CBOR to working form: one pass over the bytes, values straight into their slots. Complaints are worded as Go's decoder words them. */
#include "core/api/cbor_decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/json_decode.h"
#include "core/api/quote.h"

/* What an object may take in memory: so many bytes, and so many times its length. */
enum { BUDGET_LEAST = 4 << 20, BUDGET_TIMES = 48 };
enum { FEW_MEMBERS = 16 }; /* so many keys are compared with each other; more are sorted at the end */

static bool decode_typed(struct ks_cbor_decoder *d, uint16_t type, unsigned flags, struct ks_value *out);

/* -- complaints ------------------------------------------------------------------------------------------------ */

bool ks_cbor_out_of_memory(struct ks_cbor_decoder *d)
{
	return ks_cbor_fail(&d->r, NULL);
}

bool ks_cbor_save(struct ks_cbor_decoder *d, const char *message)
{
	const char **place = d->is_late ? &d->late : &d->saved;

	d->complaints++;
	if (message && !*place && d->prefix)
		message = ks_arena_printf(d->arena, "%s%s", d->prefix, message);
	if (!message)
		return ks_cbor_out_of_memory(d);
	if (!*place)
		*place = message;
	return true;
}

static bool save_mismatch(struct ks_cbor_decoder *d, uint8_t major, const char *go_type, const char *detail)
{
	const char *open = detail ? " (" : "", *close = detail ? ")" : "";

	if (d->saved && !d->is_late) {
		d->complaints++;
		return true;
	}
	if (!go_type || !d->root_field || d->prefix)
		return ks_cbor_save(d,
			go_type ? ks_arena_printf(d->arena, "cbor: cannot unmarshal %s into Go value of type %s%s%s%s", ks_cbor_major_name(major),
					  go_type, open, detail ? detail : "", close)
				: NULL);
	return ks_cbor_save(d,
		ks_arena_printf(d->arena, "cbor: cannot unmarshal %s into Go struct field %s.%s of type %s%s%s%s", ks_cbor_major_name(major),
			d->root_type, d->root_field, go_type, open, detail ? detail : "", close));
}

bool ks_cbor_mismatch(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, const char *go_type, const char *detail)
{
	return save_mismatch(d, head->major, go_type, detail) && ks_cbor_skip_rest(&d->r, head);
}

/* Keys of an open map that repeat: the first one is told, and before whatever else there was to say of the map. */
struct repeats {
	const char *saved; /* complaint from before the map */
	bool told;
};

static struct repeats no_repeats(const struct ks_cbor_decoder *d)
{
	return (struct repeats){.saved = d->is_late ? d->late : d->saved};
}

static bool save_duplicate(struct ks_cbor_decoder *d, struct repeats *repeats, const struct ks_value *key, struct ks_str text, uint64_t index)
{
	const char *quoted;

	if (repeats->told)
		return true;
	quoted = key && key->kind == KS_INT ? ks_arena_printf(d->arena, "%lld", (long long)key->integer) : ks_quote(d->arena, text);
	repeats->told = true;
	*(d->is_late ? &d->late : &d->saved) = repeats->saved;
	return ks_cbor_save(d,
		quoted ? ks_arena_printf(d->arena, "cbor: found duplicate map key %s at map element index %llu", quoted, (unsigned long long)index)
		       : NULL);
}

/* -- tags ------------------------------------------------------------------------------------------------------ */

/* The first byte of what is in a tag must fit its number. NULL: it does. */
static const char *bad_content(const struct ks_cbor_decoder *d, uint64_t tag)
{
	uint8_t first = *d->r.p, major = first >> 5;
	const char *wanted = NULL;

	if (tag == KS_CBOR_TAG_TIME && major != KS_CBOR_TEXT)
		wanted = "text string";
	else if (tag == KS_CBOR_TAG_EPOCH && major != KS_CBOR_UINT && major != KS_CBOR_NEGATIVE && (first < 0xf9 || first > 0xfb))
		wanted = "integer or floating-point number";
	return wanted ? ks_arena_printf(d->arena, "cbor: tag number %llu must be followed by %s, got %s", (unsigned long long)tag, wanted,
				ks_cbor_major_name(major))
		      : NULL;
}

static bool is_later(uint64_t tag)
{
	return tag >= KS_CBOR_TAG_BASE64URL && tag <= KS_CBOR_TAG_BASE16;
}

/* One tag: false in `ok` when its item was passed over with a complaint. */
static bool open_tag(struct ks_cbor_decoder *d, struct ks_cbor_item *item, bool *ok)
{
	struct ks_cbor_head *head = &item->head;
	const char *bad;

	item->tag = (int64_t)head->value;
	if (is_later(head->value))
		d->later = (uint8_t)head->value;
	if (head->value <= KS_CBOR_TAG_NEGATIVE_BIGNUM) {
		if (head->value >= KS_CBOR_TAG_BIGNUM || d->r.p == d->r.end)
			return ks_cbor_skip_rest(&d->r, head); /* it is refused there */
		bad = bad_content(d, head->value);
		if (bad) {
			*ok = false;
			return ks_cbor_save(d, bad) && ks_cbor_skip_rest(&d->r, head);
		}
	}
	if (!ks_cbor_next(&d->r, head))
		return false;
	if (head->major == KS_CBOR_TAG && ++d->r.depth > KS_CBOR_MAX_DEPTH)
		return ks_cbor_fail(&d->r, ks_arena_printf(d->arena, "cbor: exceeded max nested level %d", KS_CBOR_MAX_DEPTH));
	return true;
}

bool ks_cbor_item(struct ks_cbor_decoder *d, struct ks_cbor_item *item, bool *ok_r)
{
	unsigned depth = d->r.depth;

	*ok_r = true;
	item->tag = -1;
	if (!ks_cbor_next(&d->r, &item->head))
		return false;
	while (*ok_r && item->head.major == KS_CBOR_TAG)
		if (!open_tag(d, item, ok_r))
			return false;
	d->r.depth = depth;
	return !*ok_r || !item->head.is_break || ks_cbor_skip_rest(&d->r, &item->head);
}

/* -- cells: what was read of open lists and maps --------------------------------------------------------------- */

static bool grow_cells(struct ks_cbor_decoder *d)
{
	size_t cap = d->cap_cells * 2;
	bool first = d->cells == d->first_cells;
	union ks_cbor_cell *cells = realloc(first ? NULL : d->cells, cap * sizeof(*cells));

	if (!cells)
		return ks_cbor_out_of_memory(d);
	if (first)
		memcpy(cells, d->first_cells, sizeof(d->first_cells));
	d->cells = cells;
	d->cap_cells = cap;
	return true;
}

static bool push_value(struct ks_cbor_decoder *d, const struct ks_value *value)
{
	if (d->n_cells == d->cap_cells && !grow_cells(d))
		return false;
	d->cells[d->n_cells++].value = *value;
	return true;
}

static bool push_member(struct ks_cbor_decoder *d, struct ks_str key, const struct ks_value *value)
{
	if (d->n_cells == d->cap_cells && !grow_cells(d))
		return false;
	d->cells[d->n_cells++].key = key;
	return push_value(d, value);
}

static bool pop_items(struct ks_cbor_decoder *d, size_t from, uint16_t type, struct ks_value *out)
{
	size_t n = d->n_cells - from;

	*out = (struct ks_value){.kind = KS_LIST, .type = type, .n = (uint32_t)n};
	if (n) {
		out->items = ks_arena_alloc(d->arena, n * sizeof(*out->items));
		if (!out->items)
			return ks_cbor_out_of_memory(d);
		memcpy(out->items, &d->cells[from], n * sizeof(*out->items));
	}
	d->n_cells = from;
	return true;
}

static bool pop_members(struct ks_cbor_decoder *d, size_t from, uint16_t type, struct ks_value *out)
{
	size_t n = (d->n_cells - from) / 2;

	*out = (struct ks_value){.kind = KS_MAP, .type = type, .n = (uint32_t)n};
	if (n) {
		out->members = ks_arena_alloc(d->arena, n * sizeof(*out->members));
		if (!out->members)
			return ks_cbor_out_of_memory(d);
		for (size_t i = 0; i < n; i++)
			out->members[i] = (struct ks_member){d->cells[from + i * 2].key, d->cells[from + i * 2 + 1].value};
	}
	d->n_cells = from;
	return true;
}

/* -- keys that repeat ------------------------------------------------------------------------------------------ */

static bool same_key(const union ks_cbor_cell *a, const union ks_cbor_cell *b)
{
	return ks_str_eq(a[0].key, b[0].key);
}

/* Was the last one of the pairs since `from` there before? Of few it is told at once. */
static bool is_repeated(const struct ks_cbor_decoder *d, size_t from)
{
	size_t last = d->n_cells - 2;

	if (last - from > FEW_MEMBERS * 2)
		return false; /* check_many finds it */
	for (size_t i = from; i < last; i += 2)
		if (same_key(&d->cells[i], &d->cells[last]))
			return true;
	return false;
}

static int by_key_then_place(const void *a, const void *b, void *cells_of)
{
	const union ks_cbor_cell *cells = cells_of;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int c = ks_str_cmp(cells[x * 2].key, cells[y * 2].key);

	return c ? c : (x > y) - (x < y);
}

/* Of many pairs: the first that repeats a key. `at_r` is its place among those since `from`; UINT32_MAX: none does. */
static bool check_many(struct ks_cbor_decoder *d, size_t from, uint32_t *at_r)
{
	size_t n = (d->n_cells - from) / 2;
	uint32_t *order;

	*at_r = UINT32_MAX;
	if (n <= FEW_MEMBERS)
		return true;
	order = malloc(n * sizeof(*order));
	if (!order)
		return ks_cbor_out_of_memory(d);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), by_key_then_place, &d->cells[from]);
	for (size_t i = 1; i < n; i++)
		if (same_key(&d->cells[from + order[i - 1] * 2], &d->cells[from + order[i] * 2]) && order[i] < *at_r)
			*at_r = order[i];
	free(order);
	return true;
}

/* -- structs --------------------------------------------------------------------------------------------------- */

struct open_struct {
	uint16_t type, slot; /* the field that is expected next: the one behind the last */
	uint64_t index; /* of the pair */
	size_t unknown_from; /* cells: unknown keys, each with its index */
	struct repeats repeats;
	int64_t own_unknown; /* index of the struct's own first unknown field; -1: none */
	uint64_t seen[4];
};

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

static bool see(struct open_struct *o, uint16_t slot, const struct ks_value *place)
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
	if (!decode_typed(d, field->type, field->flags, slot))
		return false;
	ks_json_unsay(d->s, field, slot);
	return true;
}

/* A field that the struct has. Complaints in it name the outermost field that they are in. */
static bool decode_known(struct ks_cbor_decoder *d, struct open_struct *o, uint16_t slot, struct ks_value *out)
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

static bool decode_unknown(struct ks_cbor_decoder *d, struct open_struct *o, struct ks_str key, struct ks_value *kept)
{
	if (o->own_unknown < 0)
		o->own_unknown = (int64_t)o->index;
	if (!push_member(d, key, kept))
		return false;
	if (is_repeated(d, o->unknown_from) && !save_duplicate(d, &o->repeats, kept, key, o->index))
		return false;
	return ks_cbor_skip(&d->r);
}

/* A key that is a number: no field has one. */
static bool decode_number_key(struct ks_cbor_decoder *d, struct open_struct *o, const struct ks_cbor_head *head)
{
	int64_t number = head->major == KS_CBOR_UINT ? (int64_t)head->value : -1 - (int64_t)head->value;
	struct ks_value kept = ks_value_from_int(number);
	char bytes[1 + sizeof(number)] = {'\xff'}, *key; /* no name of a field, or of anything that is UTF-8, begins so */

	if (head->major == KS_CBOR_NEGATIVE && head->value > INT64_MAX)
		return save_mismatch(
			       d, head->major, "int64", ks_arena_printf(d->arena, "-1-%llu overflows Go's int64", (unsigned long long)head->value)) &&
			ks_cbor_skip(&d->r);
	memcpy(bytes + 1, &number, sizeof(number));
	key = ks_arena_dup(d->arena, bytes, sizeof(bytes));
	return key ? decode_unknown(d, o, ks_str_of(key, sizeof(bytes)), &kept) : ks_cbor_out_of_memory(d);
}

static bool decode_other_key(struct ks_cbor_decoder *d, const struct ks_cbor_head *head)
{
	const char *detail =
		ks_arena_printf(d->arena, "map key is of type %s and cannot be used to match struct field name", ks_cbor_major_name(head->major));

	return ks_cbor_mismatch(d, head, "string", detail) && ks_cbor_skip(&d->r);
}

static bool decode_named(struct ks_cbor_decoder *d, struct open_struct *o, struct ks_str key, struct ks_value *out)
{
	struct ks_value kept = {.kind = KS_STRING};
	uint16_t slot = find_slot(d->s, o->type, key, o->slot);

	if (slot == KS_NO_SLOT || slot >= out->n)
		return decode_unknown(d, o, key, &kept);
	if (see(o, slot, &out->items[slot]))
		return save_duplicate(d, &o->repeats, NULL, key, o->index) && ks_cbor_skip(&d->r);
	return decode_known(d, o, slot, out);
}

static bool decode_pair_of_struct(struct ks_cbor_decoder *d, struct open_struct *o, struct ks_value *out)
{
	struct ks_cbor_head head;
	struct ks_str key;
	bool valid;

	if (!ks_cbor_next(&d->r, &head))
		return false;
	if (head.major == KS_CBOR_UINT || head.major == KS_CBOR_NEGATIVE)
		return decode_number_key(d, o, &head);
	if (head.major != KS_CBOR_BYTES && head.major != KS_CBOR_TEXT)
		return decode_other_key(d, &head);
	if (!ks_cbor_string(&d->r, &head, &key, &valid))
		return false;
	if (!valid)
		return ks_cbor_save(d, "cbor: invalid UTF-8 string") && ks_cbor_skip(&d->r);
	return decode_named(d, o, key, out);
}

/* Unknown keys have been read: does one repeat, and which field is to be told? */
static bool close_struct(struct ks_cbor_decoder *d, struct open_struct *o, int64_t before)
{
	uint32_t at;

	if (!check_many(d, o->unknown_from, &at))
		return false;
	if (at != UINT32_MAX &&
		!save_duplicate(d, &o->repeats, &d->cells[o->unknown_from + at * 2 + 1].value, d->cells[o->unknown_from + at * 2].key, at))
		return false;
	d->n_cells = o->unknown_from;
	/* A struct's own unknown field is told before those of what is in it, and the first one of all before the others. */
	if (o->own_unknown >= 0)
		d->unknown = o->own_unknown;
	if (before >= 0)
		d->unknown = before;
	return true;
}

static bool decode_struct(struct ks_cbor_decoder *d, uint16_t type, const struct ks_cbor_head *head, struct ks_value *out)
{
	struct open_struct o = {.type = type, .unknown_from = d->n_cells, .repeats = no_repeats(d), .own_unknown = -1};
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

/* -- lists and maps of a type ---------------------------------------------------------------------------------- */

/* An item or map value; one that did not fit (a complaint was kept) is null. */
static bool decode_element(struct ks_cbor_decoder *d, uint16_t type, unsigned flags, struct ks_value *out)
{
	uint8_t later = d->later;
	struct ks_cbor_head head;
	bool ok;

	*out = (struct ks_value){0};
	if (type && d->r.p < d->r.end && *d->r.p == 0xf6) {
		if (!ks_cbor_next(&d->r, &head))
			return false;
		out->kind = KS_NULL;
		return flags & KS_FIELD_ELEMENT_POINTER || ks_cbor_zero(d, type, out);
	}
	ok = type ? decode_typed(d, type, 0, out) : ks_cbor_free(d, out);
	d->later = later;
	if (out->kind == KS_ABSENT)
		out->kind = KS_NULL;
	return ok;
}

static bool decode_list(struct ks_cbor_decoder *d, uint16_t type, unsigned flags, const struct ks_cbor_head *head, struct ks_value *out)
{
	uint16_t element = type ? d->s->types[type].element : 0;
	size_t from = d->n_cells;
	struct ks_value item;
	bool more;

	if (!ks_cbor_enter(&d->r, head) || !ks_cbor_more(&d->r, head, 0, &more))
		return false;
	for (uint64_t n = 1; more; n++)
		if (!decode_element(d, element, flags, &item) || !push_value(d, &item) || !ks_cbor_more(&d->r, head, n, &more))
			return false;
	d->r.depth--;
	return pop_items(d, from, type, out);
}

/* A null leaves the key that was read before. `ok_r` false: a complaint was kept. */
static bool decode_key(struct ks_cbor_decoder *d, struct ks_str *key, bool *ok_r)
{
	uint8_t later = d->later;
	struct ks_cbor_item item;

	if (!ks_cbor_item(d, &item, ok_r) || !*ok_r)
		return !d->r.failed;
	if (ks_cbor_is_null(&item.head) && item.head.value == KS_CBOR_NULL)
		return true;
	if (item.head.major != KS_CBOR_BYTES && item.head.major != KS_CBOR_TEXT) {
		*ok_r = false;
		return ks_cbor_refuse(d, &item.head, "string", NULL);
	}
	if (!ks_cbor_text(d, &item.head, key, ok_r))
		return false;
	d->later = later;
	return true;
}

struct open_map {
	uint16_t type;
	unsigned flags; /* of its field */
	size_t from; /* cells */
	uint64_t index; /* of the pair */
	struct ks_str key;
	struct repeats repeats;
};

static bool decode_pair_of_map(struct ks_cbor_decoder *d, struct open_map *o)
{
	uint16_t element = o->type ? d->s->types[o->type].element : 0;
	struct ks_value value;
	unsigned complaints;
	bool ok;

	if (!decode_key(d, &o->key, &ok))
		return false;
	if (!ok)
		return ks_cbor_skip(&d->r);
	complaints = d->complaints;
	if (!decode_element(d, element, o->flags, &value))
		return false;
	if (d->complaints != complaints)
		return true; /* Go has not put it into the map */
	if (!push_member(d, o->key, &value))
		return false;
	return !is_repeated(d, o->from) || save_duplicate(d, &o->repeats, NULL, o->key, o->index);
}

static int by_key(const void *a, const void *b)
{
	return ks_str_cmp(((const struct ks_member *)a)->key, ((const struct ks_member *)b)->key);
}

/* Free form comes back from Go with its keys in order. */
static void sort_members(struct ks_value *map)
{
	for (uint32_t i = 1; i < map->n; i++)
		if (ks_str_cmp(map->members[i - 1].key, map->members[i].key) > 0) {
			qsort(map->members, map->n, sizeof(*map->members), by_key);
			return;
		}
}

static bool decode_map(struct ks_cbor_decoder *d, uint16_t type, unsigned flags, const struct ks_cbor_head *head, struct ks_value *out)
{
	struct open_map o = {.type = type, .flags = flags, .from = d->n_cells, .key = KS_STR_LIT(""), .repeats = no_repeats(d)};
	uint32_t at;
	bool more;

	if (!ks_cbor_enter(&d->r, head) || !ks_cbor_more(&d->r, head, 0, &more))
		return false;
	for (; more; o.index++)
		if (!decode_pair_of_map(d, &o) || !ks_cbor_more(&d->r, head, o.index + 1, &more))
			return false;
	d->r.depth--;
	if (!check_many(d, o.from, &at))
		return false;
	if (at != UINT32_MAX && !save_duplicate(d, &o.repeats, NULL, d->cells[o.from + at * 2].key, at))
		return false;
	if (!pop_members(d, o.from, type, out))
		return false;
	if (!type)
		sort_members(out);
	return true;
}

/* -- values ---------------------------------------------------------------------------------------------------- */

bool ks_cbor_free(struct ks_cbor_decoder *d, struct ks_value *out)
{
	struct ks_cbor_item item;
	struct ks_str text;
	bool ok;

	*out = (struct ks_value){.kind = KS_NULL};
	if (!ks_cbor_item(d, &item, &ok))
		return false;
	if (!ok)
		return true;
	switch (item.head.major) {
	case KS_CBOR_LIST:
		return decode_list(d, 0, 0, &item.head, out);
	case KS_CBOR_MAP:
		return decode_map(d, 0, 0, &item.head, out);
	case KS_CBOR_BYTES:
	case KS_CBOR_TEXT:
		if (item.tag == KS_CBOR_TAG_TIME)
			return ks_cbor_free_scalar(d, &item, out);
		if (!ks_cbor_text(d, &item.head, &text, &ok))
			return false;
		if (ok)
			*out = ks_value_from_str(text);
		return true;
	default:
		return ks_cbor_free_scalar(d, &item, out);
	}
}

/* A part that Go keeps as it came and looks at afterwards, without a thought of where it stands. */
static bool decode_raw(struct ks_cbor_decoder *d, uint8_t class_, struct ks_value *out)
{
	const char *before = d->prefix;
	bool ok;

	d->is_late = class_ != KS_TYPE_JSON;
	if (class_ == KS_TYPE_RAW)
		d->prefix = "failed to transcode RawExtension to JSON: failed to parse RawExtension bytes as CBOR: ";
	else if (class_ == KS_TYPE_FIELDS_V1)
		d->prefix = "failed to transcode FieldsV1 to JSON: metav1.FieldsV1 cbor invalid: ";
	d->later = 0;
	ok = ks_cbor_free(d, out);
	if (ok && class_ == KS_TYPE_FIELDS_V1 && out->kind != KS_MAP && out->kind != KS_NULL)
		ok = ks_cbor_save(d, "it is no map");
	d->prefix = before;
	d->is_late = false;
	return ok;
}

static bool decode_container(struct ks_cbor_decoder *d, uint16_t type, unsigned flags, struct ks_value *out)
{
	uint8_t class_ = d->s->types[type].class_;
	struct ks_cbor_item item;
	const char *detail = NULL;
	bool ok;

	if (!ks_cbor_item(d, &item, &ok))
		return false;
	if (!ok)
		return true;
	if (class_ == KS_TYPE_STRUCT && item.head.major == KS_CBOR_MAP)
		return decode_struct(d, type, &item.head, out);
	if (class_ == KS_TYPE_LIST && item.head.major == KS_CBOR_LIST)
		return decode_list(d, type, flags, &item.head, out);
	if (class_ == KS_TYPE_MAP && item.head.major == KS_CBOR_MAP)
		return decode_map(d, type, flags, &item.head, out);
	if (class_ == KS_TYPE_STRUCT && item.head.major == KS_CBOR_LIST)
		detail = "cannot decode CBOR array to struct without toarray option";
	return ks_cbor_refuse(d, &item.head, ks_json_go_type(d->arena, d->s, type, flags), detail);
}

static bool decode_typed(struct ks_cbor_decoder *d, uint16_t type, unsigned flags, struct ks_value *out)
{
	switch (d->s->types[type].class_) {
	case KS_TYPE_STRUCT:
	case KS_TYPE_LIST:
	case KS_TYPE_MAP:
		return decode_container(d, type, flags, out);
	case KS_TYPE_RAW:
	case KS_TYPE_JSON:
	case KS_TYPE_FIELDS_V1:
		return decode_raw(d, d->s->types[type].class_, out);
	case KS_TYPE_NONE:
		return ks_cbor_free(d, out);
	default:
		return ks_cbor_leaf(d, type, flags, out);
	}
}

/* -- the whole ------------------------------------------------------------------------------------------------- */

/* Two bytes can stand for a struct of hundreds: an arena without a narrower limit gets one, by the size of the input. */
static void set_budget(struct ks_arena *arena, size_t n)
{
	size_t budget = arena->used + BUDGET_LEAST + BUDGET_TIMES * n;

	if (arena->limit == 0 || arena->limit > budget)
		arena->limit = budget;
}

static void init(struct ks_cbor_decoder *d, struct ks_arena *arena, const struct ks_schema *s, struct ks_str data)
{
	d->r = ks_cbor_reader_of(arena, data);
	d->arena = arena;
	d->s = s;
	d->saved = d->late = d->root_type = d->root_field = d->prefix = NULL;
	d->is_late = false;
	d->complaints = 0;
	d->later = 0;
	d->unknown = -1;
	d->cells = d->first_cells;
	d->n_cells = 0;
	d->cap_cells = KS_CBOR_CELLS;
}

/* Ends decoding: 0, -EINVAL with a message, -ENOMEM. */
static int finish(struct ks_cbor_decoder *d, bool ok, const char **message_r)
{
	if (d->cells != d->first_cells)
		free(d->cells);
	if (ok && !ks_cbor_end(&d->r))
		ok = false;
	if (!ok && !d->r.message)
		return -ENOMEM;
	if (ok && !d->saved && !d->late)
		return 0;
	*message_r = !ok ? d->r.message : d->saved ? d->saved : d->late;
	return -EINVAL;
}

/* A map without types, which the root has to be where a type is no matter but the shape is. */
static bool decode_root_map(struct ks_cbor_decoder *d, struct ks_value *out)
{
	struct ks_cbor_item item;
	bool ok;

	*out = (struct ks_value){.kind = KS_MAP};
	if (!ks_cbor_item(d, &item, &ok) || !ok)
		return !d->r.failed;
	if (item.head.major == KS_CBOR_MAP)
		return decode_map(d, 0, 0, &item.head, out);
	return ks_cbor_refuse(d, &item.head, "map[string]interface {}", NULL);
}

enum root { ROOT_TYPED, ROOT_FREE, ROOT_MAP };

static bool decode_root(struct ks_cbor_decoder *d, enum root root, uint16_t type, struct ks_value *out)
{
	if (root == ROOT_MAP)
		return decode_root_map(d, out);
	return root == ROOT_TYPED ? decode_typed(d, type, 0, out) : ks_cbor_free(d, out);
}

static int decode_whole(struct ks_arena *arena, const struct ks_schema *s, enum root root, uint16_t type, struct ks_str data, struct ks_value *out,
	int64_t *unknown_r, const char **message_r)
{
	struct ks_cbor_decoder d;
	size_t limit = arena->limit;
	int result;

	if (data.n == 0) {
		*message_r = "EOF";
		return -EINVAL;
	}
	set_budget(arena, data.n);
	init(&d, arena, s, data);
	result = finish(&d, decode_root(&d, root, type, out), message_r);
	if (result == -ENOMEM && arena->limit != limit) {
		*message_r = "cbor: the object would take too much memory";
		result = -EINVAL;
	}
	arena->limit = limit;
	*unknown_r = d.unknown;
	return result;
}

static bool add_unknown(struct ks_arena *arena, struct ks_strict_errors *strict, int64_t index)
{
	const char *text = ks_arena_printf(arena, "cbor: found unknown field at map element index %lld", (long long)index);

	if (!text)
		return false;
	if (strict->n == strict->cap) {
		struct ks_str *items = ks_arena_alloc(arena, (strict->n + 1) * sizeof(*items));

		if (!items)
			return false;
		if (strict->n)
			memcpy(items, strict->items, strict->n * sizeof(*items));
		strict->items = items;
		strict->cap = strict->n + 1;
	}
	strict->items[strict->n++] = ks_str_from(text);
	return true;
}

/* A type of a custom resource: upstream reads those without a type, too, and looks at the types afterwards. */
static int convert(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, unsigned flags, struct ks_str data, struct ks_value *out_r,
	struct ks_strict_errors *strict, const char **message_r)
{
	struct ks_value free_form = {0};
	int64_t unknown;
	int result = decode_whole(arena, NULL, ROOT_FREE, 0, data, &free_form, &unknown, message_r);

	return result ? result : ks_value_convert(arena, s, type, flags & ~(unsigned)KS_DECODE_BORROW, &free_form, out_r, strict, message_r);
}

int ks_cbor_decode(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, unsigned flags, struct ks_str data, struct ks_value *out_r,
	struct ks_strict_errors *strict, const char **message_r)
{
	struct ks_value out = {0};
	int64_t unknown;
	int result;

	if (!(flags & KS_DECODE_BORROW) && data.n && !(data.p = ks_arena_dup(arena, data.p, data.n)))
		return -ENOMEM;
	if (type && s->generation)
		return convert(arena, s, type, flags, data, out_r, strict, message_r);
	result = decode_whole(arena, s, type ? ROOT_TYPED : ROOT_FREE, type, data, &out, &unknown, message_r);
	if (result)
		return result;
	if (unknown >= 0 && strict && flags & KS_DECODE_STRICT && !add_unknown(arena, strict, unknown))
		return -ENOMEM;
	*out_r = out;
	return 0;
}

int ks_cbor_decode_map(struct ks_arena *arena, struct ks_str data, struct ks_value *out_r, const char **message_r)
{
	struct ks_value out = {0};
	int64_t unknown;
	int result;

	data.p = ks_arena_dup(arena, data.p, data.n);
	if (!data.p)
		return -ENOMEM;
	result = decode_whole(arena, NULL, ROOT_MAP, 0, data, &out, &unknown, message_r);
	if (result == 0)
		*out_r = out;
	return result;
}

/* -- apiVersion and kind --------------------------------------------------------------------------------------- */

struct peek {
	struct ks_cbor_decoder d;
	struct ks_str api_version, kind;
	bool has_api_version, has_kind;
	struct open_struct all; /* of which two fields are looked at */
};

static bool peek_text(struct peek *p, struct ks_str *place, const char *name)
{
	struct ks_cbor_decoder *d = &p->d;
	struct ks_cbor_item item;
	bool ok, valid;

	d->root_type = "v1.TypeMeta";
	d->root_field = name;
	if (!ks_cbor_item(d, &item, &ok) || !ok)
		return !d->r.failed;
	if (item.head.major == KS_CBOR_BYTES || item.head.major == KS_CBOR_TEXT)
		ok = ks_cbor_text(d, &item.head, place, &valid);
	else
		ok = ks_cbor_refuse(d, &item.head, "string", NULL);
	d->root_field = NULL;
	d->later = 0;
	return ok;
}

static bool peek_pair(struct peek *p)
{
	struct ks_cbor_decoder *d = &p->d;
	struct ks_value kept = {.kind = KS_STRING};
	struct open_struct *o = &p->all;
	struct ks_cbor_head head;
	struct ks_str key;
	bool valid, *seen;

	if (!ks_cbor_next(&d->r, &head))
		return false;
	if (head.major == KS_CBOR_UINT || head.major == KS_CBOR_NEGATIVE)
		return decode_number_key(d, o, &head);
	if (head.major != KS_CBOR_BYTES && head.major != KS_CBOR_TEXT)
		return decode_other_key(d, &head);
	if (!ks_cbor_string(&d->r, &head, &key, &valid))
		return false;
	if (!valid)
		return ks_cbor_save(d, "cbor: invalid UTF-8 string") && ks_cbor_skip(&d->r);
	seen = ks_str_is(key, "kind") ? &p->has_kind : ks_str_is(key, "apiVersion") ? &p->has_api_version : NULL;
	if (!seen)
		return decode_unknown(d, o, key, &kept);
	if (*seen)
		return save_duplicate(d, &o->repeats, NULL, key, o->index) && ks_cbor_skip(&d->r);
	*seen = true;
	return peek_text(p, seen == &p->has_kind ? &p->kind : &p->api_version, seen == &p->has_kind ? "kind" : "apiVersion");
}

static bool peek_map(struct peek *p, const struct ks_cbor_head *head)
{
	uint32_t at;
	bool more;

	if (!ks_cbor_enter(&p->d.r, head) || !ks_cbor_more(&p->d.r, head, 0, &more))
		return false;
	for (; more; p->all.index++)
		if (!peek_pair(p) || !ks_cbor_more(&p->d.r, head, p->all.index + 1, &more))
			return false;
	p->d.r.depth--;
	if (!check_many(&p->d, 0, &at))
		return false;
	return at == UINT32_MAX || save_duplicate(&p->d, &p->all.repeats, &p->d.cells[at * 2 + 1].value, p->d.cells[at * 2].key, at);
}

static bool peek_root(struct peek *p)
{
	struct ks_cbor_item item;
	const char *detail = NULL;
	bool ok;

	if (!ks_cbor_item(&p->d, &item, &ok) || !ok)
		return !p->d.r.failed;
	if (item.head.major == KS_CBOR_MAP)
		return peek_map(p, &item.head);
	if (item.head.major == KS_CBOR_LIST)
		detail = "cannot decode CBOR array to struct without toarray option";
	return ks_cbor_refuse(&p->d, &item.head, "v1.TypeMeta", detail);
}

int ks_cbor_peek_kind(struct ks_arena *arena, struct ks_str data, struct ks_str *api_version_r, struct ks_str *kind_r, const char **message_r)
{
	struct peek p = {0};
	int result;

	if (data.n == 0) {
		*message_r = "EOF";
		return -EINVAL;
	}
	init(&p.d, arena, NULL, data);
	result = finish(&p.d, peek_root(&p), message_r);
	if (result == 0) {
		*api_version_r = p.api_version;
		*kind_r = p.kind;
	}
	return result;
}
