/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Working form to CBOR, byte for byte what Kubernetes' deterministic encoder writes for the same object: shortest
 * heads and floats, texts as byte strings, keys in bytewise order of their encoded form, which is by length first.
 */
#include <cbor.h>
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/base64.h"
#include "core/api/cbor.h"
#include "core/api/cbor_wire.h"
#include "core/api/json.h"
#include "core/api/json_zero.h"
#include "core/api/proto_plan.h"

enum { HEAD_MOST = 9, FEW_MEMBERS = 64 };

struct encoder {
	const struct ks_schema *s;
	const uint16_t *order; /* of the fields: see order_of */
	struct ks_buf *out;
};

static void encode(struct encoder *e, uint16_t type, const struct ks_value *v);

/* -- heads ----------------------------------------------------------------------------------------------------- */

typedef size_t (*head_writer)(size_t n, unsigned char *to, size_t room);

static void add_head(struct ks_buf *out, head_writer write, size_t n)
{
	if (ks_buf_reserve(out, HEAD_MOST))
		out->len += write(n, (unsigned char *)out->data + out->len, HEAD_MOST);
}

static void add_byte(struct ks_buf *out, uint8_t byte)
{
	ks_buf_add_char(out, (char)byte);
}

void ks_cbor_add_null(struct ks_buf *out)
{
	add_byte(out, 0xe0 | KS_CBOR_NULL);
}

void ks_cbor_add_map(struct ks_buf *out, size_t pairs)
{
	add_head(out, cbor_encode_map_start, pairs);
}

void ks_cbor_add_list(struct ks_buf *out, size_t items)
{
	add_head(out, cbor_encode_array_start, items);
}

void ks_cbor_add_int(struct ks_buf *out, int64_t value)
{
	unsigned char *to;

	if (!ks_buf_reserve(out, HEAD_MOST))
		return;
	to = (unsigned char *)out->data + out->len;
	out->len += value < 0 ? cbor_encode_negint((uint64_t)(-1 - value), to, HEAD_MOST) : cbor_encode_uint((uint64_t)value, to, HEAD_MOST);
}

void ks_cbor_add_text(struct ks_buf *out, struct ks_str text)
{
	if (out->cap - out->len < HEAD_MOST + text.n && !ks_buf_reserve(out, HEAD_MOST + text.n))
		return;
	if (text.n < 24)
		out->data[out->len++] = (char)(KS_CBOR_BYTES << 5 | text.n);
	else
		out->len += cbor_encode_bytestring_start(text.n, (unsigned char *)out->data + out->len, HEAD_MOST);
	if (text.n)
		memcpy(out->data + out->len, text.p, text.n);
	out->len += text.n;
}

/* -- floats ---------------------------------------------------------------------------------------------------- */

/* The half-precision number that is exactly this one, if there is one. */
static bool to_half(float value, uint16_t *out)
{
	uint32_t bits, fraction, lost;
	int exponent;

	memcpy(&bits, &value, sizeof(bits));
	exponent = (int)(bits >> 23 & 0xff) - 127;
	fraction = (bits & 0x7fffff) | 0x800000;
	*out = (uint16_t)(bits >> 16 & 0x8000);
	if (value == 0)
		return true;
	if (exponent > 15 || exponent < -24)
		return false;
	/* Below -14 a half has no leading one, and loses a digit with every step down. */
	lost = exponent < -14 ? 13u + (uint32_t)(-14 - exponent) : 13u;
	if (fraction & ((1u << lost) - 1))
		return false;
	fraction >>= lost;
	*out |= (uint16_t)(exponent < -14 ? fraction : ((uint32_t)(exponent + 15) << 10 | (fraction & 0x3ff)));
	return true;
}

static void add_float(struct ks_buf *out, double value)
{
	float single = (float)value;
	uint16_t half;

	if (!isfinite(value)) {
		out->failed = true; /* no decoder has let one in */
		return;
	}
	if (!ks_buf_reserve(out, HEAD_MOST))
		return;
	if ((double)single != value) {
		out->len += cbor_encode_double(value, (unsigned char *)out->data + out->len, HEAD_MOST);
	} else if (!to_half(single, &half)) {
		out->len += cbor_encode_single(single, (unsigned char *)out->data + out->len, HEAD_MOST);
	} else {
		add_byte(out, 0xf9);
		add_byte(out, (uint8_t)(half >> 8));
		add_byte(out, (uint8_t)half);
	}
}

/* -- bytes ----------------------------------------------------------------------------------------------------- */

/* What the text is base64 of, in the tag that says so. */
static void add_bytes(struct ks_buf *out, const struct ks_value *v)
{
	bool canonical;
	size_t n, bad;

	if (v->kind != KS_STRING || !ks_base64_check(ks_value_str(v), &n, &canonical, &bad)) {
		ks_cbor_add_null(out);
		return;
	}
	if (!ks_buf_reserve(out, HEAD_MOST))
		return;
	out->len += cbor_encode_tag(KS_CBOR_TAG_BASE64, (unsigned char *)out->data + out->len, HEAD_MOST);
	add_head(out, cbor_encode_bytestring_start, n);
	if (!ks_buf_reserve(out, n))
		return;
	ks_base64_decode(ks_value_str(v), (unsigned char *)out->data + out->len);
	out->len += n;
}

/* -- the order of fields --------------------------------------------------------------------------------------- */

/* As the encoded keys compare: the head, and so the length, comes first. */
static int compare_keys(struct ks_str a, struct ks_str b)
{
	if (a.n != b.n)
		return a.n < b.n ? -1 : 1;
	return a.n ? memcmp(a.p, b.p, a.n) : 0;
}

static int by_name(const void *a, const void *b, void *fields_of)
{
	const struct ks_schema *s = &ks_schema_builtin;
	const struct ks_field *x = (const struct ks_field *)fields_of + *(const uint16_t *)a;
	const struct ks_field *y = (const struct ks_field *)fields_of + *(const uint16_t *)b;

	return compare_keys(ks_str_of(ks_schema_text(s, x->name), x->name_n), ks_str_of(ks_schema_text(s, y->name), y->name_n));
}

static uint16_t *make_order(const struct ks_schema *s)
{
	uint16_t *order = malloc((s->n_fields + 1) * sizeof(*order));

	for (uint32_t type = 0; order && type < s->n_types; type++) {
		const struct ks_type *t = &s->types[type];

		if (t->class_ != KS_TYPE_STRUCT)
			continue;
		for (uint16_t slot = 0; slot < t->n_fields; slot++)
			order[t->first_field + slot] = slot;
		qsort_r(order + t->first_field, t->n_fields, sizeof(*order), by_name, (void *)&s->fields[t->first_field]);
	}
	return order;
}

/* For each struct of the built-in schema, from its first field on: its slots in the order of their keys. Made on first use and kept; any thread.
 * NULL when out of memory; run-time schemas have none, and write their fields as they stand. */
static const uint16_t *order_of(const struct ks_schema *s)
{
	static _Atomic(uint16_t *) kept;
	uint16_t *order = atomic_load_explicit(&kept, memory_order_acquire), *other = NULL;

	if (!s || s != &ks_schema_builtin || order)
		return s == &ks_schema_builtin ? order : NULL;
	order = make_order(s);
	if (!order || atomic_compare_exchange_strong_explicit(&kept, &other, order, memory_order_acq_rel, memory_order_acquire))
		return order;
	free(order);
	return other;
}

/* -- structs --------------------------------------------------------------------------------------------------- */

static bool is_left_out(const struct encoder *e, const struct ks_field *field, const struct ks_value *v)
{
	return ks_field_left_out(e->s, field) && (!v || v->kind == KS_ABSENT || ks_value_is_unsaid(e->s, field, v));
}

static void encode_zero(struct encoder *e, uint16_t type);

static void encode_pair(struct encoder *e, const struct ks_field *field, const struct ks_value *v)
{
	ks_cbor_add_text(e->out, ks_str_of(ks_schema_text(e->s, field->name), field->name_n));
	if (v && v->kind != KS_ABSENT)
		encode(e, field->type, v);
	else if (field->flags & KS_FIELD_POINTER)
		ks_cbor_add_null(e->out);
	else
		encode_zero(e, field->type);
}

/* All pairs of a struct but those of the fields named in `without`; returns how many. `v` NULL: the zero struct. */
static uint32_t encode_pairs(struct encoder *e, uint16_t type, const struct ks_value *v, const char *const *without)
{
	const struct ks_type *t = &e->s->types[type];
	uint32_t n = 0;

	for (uint16_t i = 0; i < t->n_fields; i++) {
		uint16_t slot = e->order ? e->order[t->first_field + i] : i;
		const struct ks_field *field = &e->s->fields[t->first_field + slot];
		const struct ks_value *value = v && slot < v->n ? &v->items[slot] : NULL;
		const char *const *name = without;

		while (name && *name && strcmp(*name, ks_schema_text(e->s, field->name)) != 0)
			name++;
		if ((name && *name) || is_left_out(e, field, value))
			continue;
		encode_pair(e, field, value);
		n++;
	}
	return n;
}

/* The head of a map whose pairs stand at `at` already: mostly one byte, for which room was left. */
static void put_head(struct ks_buf *out, size_t at, uint32_t pairs)
{
	unsigned char head[HEAD_MOST];
	size_t n = cbor_encode_map_start(pairs, head, sizeof(head));

	if (out->failed || !ks_buf_reserve(out, n))
		return;
	if (n > 1)
		memmove(out->data + at + n, out->data + at + 1, out->len - at - 1);
	memcpy(out->data + at, head, n);
	out->len += n - 1;
}

static void encode_struct(struct encoder *e, uint16_t type, const struct ks_value *v)
{
	size_t at = e->out->len;

	add_byte(e->out, 0);
	put_head(e->out, at, encode_pairs(e, type, v, NULL));
}

static void encode_zero(struct encoder *e, uint16_t type)
{
	switch (e->s->types[type].class_) {
	case KS_TYPE_STRUCT:
		encode_struct(e, type, NULL);
		return;
	case KS_TYPE_BOOL:
		add_byte(e->out, 0xe0 | KS_CBOR_FALSE);
		return;
	case KS_TYPE_FLOAT64:
		add_float(e->out, 0);
		return;
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
	case KS_TYPE_INT_OR_STRING:
		ks_cbor_add_int(e->out, 0);
		return;
	case KS_TYPE_STRING:
		ks_cbor_add_text(e->out, KS_STR_LIT(""));
		return;
	case KS_TYPE_QUANTITY:
		ks_cbor_add_text(e->out, KS_STR_LIT("0"));
		return;
	case KS_TYPE_DURATION:
		ks_cbor_add_text(e->out, KS_STR_LIT("0s"));
		return;
	default:
		ks_cbor_add_null(e->out);
	}
}

/* -- lists and maps -------------------------------------------------------------------------------------------- */

static void encode_list(struct encoder *e, uint16_t element, const struct ks_value *v)
{
	ks_cbor_add_list(e->out, v->n);
	for (uint32_t i = 0; i < v->n; i++)
		encode(e, element, &v->items[i]);
}

static int by_key(const void *a, const void *b)
{
	return compare_keys((*(const struct ks_member *const *)a)->key, (*(const struct ks_member *const *)b)->key);
}

static bool is_sorted(const struct ks_value *v)
{
	for (uint32_t i = 1; i < v->n; i++)
		if (compare_keys(v->members[i - 1].key, v->members[i].key) > 0)
			return false;
	return true;
}

static void encode_member(struct encoder *e, uint16_t element, const struct ks_member *m)
{
	ks_cbor_add_text(e->out, m->key);
	encode(e, element, &m->value);
}

static void encode_sorted(struct encoder *e, uint16_t element, const struct ks_value *v)
{
	const struct ks_member *few[FEW_MEMBERS], **sorted = few;

	if (v->n > FEW_MEMBERS && !(sorted = malloc(v->n * sizeof(*sorted)))) {
		e->out->failed = true;
		return;
	}
	for (uint32_t i = 0; i < v->n; i++)
		sorted[i] = &v->members[i];
	qsort(sorted, v->n, sizeof(*sorted), by_key);
	for (uint32_t i = 0; i < v->n; i++)
		encode_member(e, element, sorted[i]);
	if (sorted != few)
		free(sorted);
}

static void encode_map(struct encoder *e, uint16_t element, const struct ks_value *v)
{
	ks_cbor_add_map(e->out, v->n);
	if (!is_sorted(v)) {
		encode_sorted(e, element, v);
		return;
	}
	for (uint32_t i = 0; i < v->n; i++)
		encode_member(e, element, &v->members[i]);
}

/* -- values ---------------------------------------------------------------------------------------------------- */

/* JSON schemas, or something else: their numbers are floats where the type says so. */
static bool holds_schema(const struct encoder *e, uint16_t type, const struct ks_value *v)
{
	const struct ks_proto_plan *plan = type && e->s->types[type].class_ == KS_TYPE_JSON ? ks_proto_plan_of(e->s) : NULL;

	if (!plan || plan->unions[type] == KS_UNION_NONE)
		return false;
	return v->kind == KS_MAP || plan->unions[type] == KS_UNION_OR_ARRAY;
}

static void encode_schema(struct encoder *e, const struct ks_value *v)
{
	struct ks_strict_errors unknown = {0};
	const char *message;
	struct ks_arena arena;
	struct ks_value typed;
	int result;

	ks_arena_init(&arena, 0);
	result = ks_value_convert(&arena, e->s, ks_proto_plan_of(e->s)->schema_props, KS_DECODE_STRICT, v, &typed, &unknown, &message);
	if (result == -ENOMEM)
		e->out->failed = true;
	else if (result == 0 && typed.kind == KS_STRUCT && unknown.n == 0)
		encode_struct(e, typed.type, &typed);
	else
		encode_map(e, 0, v);
	ks_arena_fini(&arena);
}

/* One, or a list of them. */
static void encode_schemas(struct encoder *e, const struct ks_value *v)
{
	if (v->kind == KS_MAP) {
		encode_schema(e, v);
		return;
	}
	ks_cbor_add_list(e->out, v->n);
	for (uint32_t i = 0; i < v->n; i++)
		if (v->items[i].kind == KS_MAP)
			encode_schema(e, &v->items[i]);
		else
			encode(e, 0, &v->items[i]);
}

static void encode_container(struct encoder *e, uint16_t type, const struct ks_value *v)
{
	uint16_t element;

	if (v->kind == KS_STRUCT) {
		encode_struct(e, v->type, v);
		return;
	}
	if (holds_schema(e, type, v)) {
		encode_schemas(e, v);
		return;
	}
	if (v->type)
		type = v->type;
	element = type && (e->s->types[type].class_ == KS_TYPE_LIST || e->s->types[type].class_ == KS_TYPE_MAP) ? e->s->types[type].element : 0;
	if (v->kind == KS_LIST)
		encode_list(e, element, v);
	else
		encode_map(e, element, v);
}

static void encode(struct encoder *e, uint16_t type, const struct ks_value *v)
{
	uint8_t class_ = type ? e->s->types[type].class_ : KS_TYPE_NONE;

	switch (v->kind) {
	case KS_BOOL:
		add_byte(e->out, 0xe0 | (v->boolean ? KS_CBOR_TRUE : KS_CBOR_FALSE));
		return;
	case KS_INT:
		if (class_ == KS_TYPE_FLOAT64)
			add_float(e->out, (double)v->integer);
		else
			ks_cbor_add_int(e->out, v->integer);
		return;
	case KS_FLOAT:
		add_float(e->out, v->number);
		return;
	case KS_STRING:
		if (class_ == KS_TYPE_BYTES)
			add_bytes(e->out, v);
		else
			ks_cbor_add_text(e->out, ks_value_str(v));
		return;
	case KS_LIST:
	case KS_MAP:
	case KS_STRUCT:
		encode_container(e, type, v);
		return;
	default:
		ks_cbor_add_null(e->out);
	}
}

static bool begin(struct encoder *e, const struct ks_schema *s, struct ks_buf *out)
{
	*e = (struct encoder){.s = s, .order = order_of(s), .out = out};
	if (s == &ks_schema_builtin && !e->order)
		out->failed = true;
	return !out->failed;
}

void ks_cbor_encode(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out)
{
	struct encoder e;

	if (begin(&e, s, out))
		encode(&e, 0, v);
}

void ks_cbor_encode_object(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out)
{
	ks_buf_add(out, KS_CBOR_SELF_DESCRIBED, KS_CBOR_SELF_DESCRIBED_LENGTH);
	ks_cbor_encode(s, v, out);
}

/* -- in parts -------------------------------------------------------------------------------------------------- */

static const char *const not_of_metadata[] = {"resourceVersion", NULL};
static const char *const not_of_rest[] = {"apiVersion", "kind", "metadata", NULL};

static uint32_t encode_free_pairs(struct encoder *e, const struct ks_value *map, const char *const *without)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < map->n; i++) {
		const char *const *name = without;

		while (*name && !ks_str_is(map->members[i].key, *name))
			name++;
		if (*name)
			continue;
		encode_member(e, 0, &map->members[i]);
		n++;
	}
	return n;
}

/* Of a struct, or of a free-form map. */
static uint32_t encode_some(struct encoder *e, const struct ks_value *v, const char *const *without)
{
	if (v && v->kind == KS_STRUCT)
		return encode_pairs(e, v->type, v, without);
	return v && v->kind == KS_MAP ? encode_free_pairs(e, v, without) : 0;
}

bool ks_cbor_encode_split(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out, struct ks_cbor_split *split_r)
{
	const struct ks_value *metadata = ks_value_get(s, v, "metadata");
	size_t start = out->len;
	struct encoder e;

	if ((v->kind != KS_STRUCT && v->kind != KS_MAP) || !begin(&e, s, out))
		return false;
	split_r->n_meta = encode_some(&e, metadata, not_of_metadata);
	split_r->meta_n = out->len - start;
	split_r->n_rest = encode_some(&e, v, not_of_rest);
	return true;
}
