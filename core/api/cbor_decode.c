/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* CBOR to working form: one pass over the bytes, values straight into their slots. Complaints are worded as Go's decoder words them. */
#include "core/api/cbor_decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/json_decode.h"

/* What an object may take in memory: so many bytes, and so many times its length. */
enum { BUDGET_LEAST = 4 << 20, BUDGET_TIMES = 48 };

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
	ok = type ? ks_cbor_typed(d, type, 0, out) : ks_cbor_free(d, out);
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
		if (!decode_element(d, element, flags, &item) || !ks_cbor_push(d, &item) || !ks_cbor_more(&d->r, head, n, &more))
			return false;
	d->r.depth--;
	return ks_cbor_pop_items(d, from, type, out);
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
	struct ks_cbor_repeats repeats;
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
	if (!ks_cbor_push_member(d, o->key, &value))
		return false;
	return !ks_cbor_is_repeated(d, o->from) || ks_cbor_duplicate(d, &o->repeats, NULL, o->key, o->index);
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
	struct open_map o = {.type = type, .flags = flags, .from = d->n_cells, .key = KS_STR_LIT(""), .repeats = ks_cbor_no_repeats(d)};
	uint32_t at;
	bool more;

	if (!ks_cbor_enter(&d->r, head) || !ks_cbor_more(&d->r, head, 0, &more))
		return false;
	for (; more; o.index++)
		if (!decode_pair_of_map(d, &o) || !ks_cbor_more(&d->r, head, o.index + 1, &more))
			return false;
	d->r.depth--;
	if (!ks_cbor_check_many(d, o.from, &at))
		return false;
	if (at != UINT32_MAX && !ks_cbor_duplicate(d, &o.repeats, NULL, d->cells[o.from + at * 2].key, at))
		return false;
	if (!ks_cbor_pop_members(d, o.from, type, out))
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

	if (!ks_cbor_check_tags(d, &ok) || !ok)
		return !d->r.failed;
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
		return ks_cbor_struct(d, type, &item.head, out);
	if (class_ == KS_TYPE_LIST && item.head.major == KS_CBOR_LIST)
		return decode_list(d, type, flags, &item.head, out);
	if (class_ == KS_TYPE_MAP && item.head.major == KS_CBOR_MAP)
		return decode_map(d, type, flags, &item.head, out);
	if (class_ == KS_TYPE_STRUCT && item.head.major == KS_CBOR_LIST)
		detail = "cannot decode CBOR array to struct without toarray option";
	return ks_cbor_refuse(d, &item.head, ks_json_go_type(d->arena, d->s, type, flags), detail);
}

bool ks_cbor_typed(struct ks_cbor_decoder *d, uint16_t type, unsigned flags, struct ks_value *out)
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

void ks_cbor_begin(struct ks_cbor_decoder *d, struct ks_arena *arena, const struct ks_schema *s, struct ks_str data)
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
int ks_cbor_finish(struct ks_cbor_decoder *d, bool ok, const char **message_r)
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
	return root == ROOT_TYPED ? ks_cbor_typed(d, type, 0, out) : ks_cbor_free(d, out);
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
	ks_cbor_begin(&d, arena, s, data);
	result = ks_cbor_finish(&d, decode_root(&d, root, type, out), message_r);
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
