/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "api-random.h"

#include <string.h>

#include "core/api/base64.h"
#include "core/api/quantity.h"
#include "core/api/time.h"

enum { DEEPEST = 5 };

static bool make(struct ks_test_maker *m, uint16_t type, unsigned flags, bool item, struct ks_value *out);

/* xorshift: the same objects in every run. */
static uint32_t roll(struct ks_test_maker *m, uint32_t sides)
{
	m->seed ^= m->seed << 13;
	m->seed ^= m->seed >> 7;
	m->seed ^= m->seed << 17;
	return (uint32_t)(m->seed >> 20) % sides;
}

static struct ks_value text(struct ks_test_maker *m, const char *p, size_t n)
{
	const char *copy = ks_arena_dup(m->arena, p, n);

	assert_non_null(copy);
	return ks_value_from_str(ks_str_of(copy, n));
}

static struct ks_value any_text(struct ks_test_maker *m)
{
	static const char *const samples[] = {"x", "a/b", "<&>", "\"q\"\\", "\xc3\xa9\xf0\x9f\x98\x80", "\xe2\x80\xa8", "line\nline\ttab",
		"a much longer text than the others are", "\x01\x7f"};
	const char *sample = samples[roll(m, sizeof(samples) / sizeof(samples[0]))];

	return text(m, sample, strlen(sample));
}

/* One of the texts that a type or a field knows, where it knows any. */
static struct ks_value known_text(struct ks_test_maker *m, uint32_t first, uint16_t n)
{
	if (!m->likely)
		return any_text(m);
	if (n == 0 || roll(m, 4) == 0)
		return roll(m, 8) ? ks_value_from_str(KS_STR_LIT("x")) : any_text(m);
	return ks_value_from_str(ks_str_from(ks_schema_text(&ks_schema_builtin, ks_schema_builtin.enums[first + roll(m, n)])));
}

static struct ks_value any_free(struct ks_test_maker *m, bool object)
{
	static const char *const objects[] = {"{}", "{\"z\":1,\"a\":[null,true,-2.5,\"x\"]}", "{\"f:spec\":{\"f:x\":{}}}"};
	static const char *const others[] = {"[]", "true", "\"x\"", "-7", "1e-07"};

	return ks_test_free(m->arena, object || roll(m, 2) ? objects[roll(m, 3)] : others[roll(m, 5)]);
}

static struct ks_value any_time(struct ks_test_maker *m, bool micro)
{
	char out[KS_TIME_TEXT];
	struct ks_time time = {(int64_t)roll(m, 2000000000), micro ? (int32_t)roll(m, 1000000) * 1000 : 0};

	return text(m, out, ks_time_print(time, micro, out));
}

static struct ks_value any_quantity(struct ks_test_maker *m, uint16_t type)
{
	struct ks_quantity q = {.nano = ((__int128)roll(m, 1000000) + 1) * 1000000, .format = KS_QUANTITY_DECIMAL_SI};
	char out[KS_QUANTITY_TEXT];
	struct ks_value v;

	if (roll(m, 2))
		q = (struct ks_quantity){.nano = ((__int128)roll(m, 1000) + 1) * 1048576 * 1000000000, .format = KS_QUANTITY_BINARY_SI};
	v = text(m, out, ks_quantity_print(&q, out));
	v.type = type;
	return v;
}

static struct ks_value any_duration(struct ks_test_maker *m)
{
	char out[KS_DURATION_TEXT];

	return text(m, out, ks_duration_print((int64_t)roll(m, 1000000) * 12345678 + 1, out));
}

static struct ks_value any_bytes(struct ks_test_maker *m)
{
	unsigned char raw[9];
	char out[16];
	size_t n = roll(m, 8) + 1;

	for (size_t i = 0; i < n; i++)
		raw[i] = (unsigned char)roll(m, 256);
	ks_base64_encode(raw, n, out);
	return text(m, out, ks_base64_length(n));
}

static bool make_list(struct ks_test_maker *m, uint16_t type, unsigned flags, struct ks_value *out)
{
	uint32_t n = roll(m, 3) + (m->proto || m->n_path || flags & KS_FIELD_OMIT_EMPTY ? 1 : 0);

	*out = (struct ks_value){.kind = KS_LIST, .type = type};
	for (uint32_t i = 0; i < n; i++) {
		struct ks_value item;

		if (!make(m, ks_schema_builtin.types[type].element, 0, true, &item))
			continue;
		*ks_value_append(m->arena, out) = item;
	}
	return out->n > 0 || !(flags & KS_FIELD_OMIT_EMPTY);
}

static bool make_map(struct ks_test_maker *m, uint16_t type, unsigned flags, struct ks_value *out)
{
	static const char *const keys[] = {"a", "b.c/d", "\xc3\xa9", "Z", ""};
	uint32_t n = roll(m, 4) + (m->proto || m->n_path || flags & KS_FIELD_OMIT_EMPTY ? 1 : 0);

	*out = (struct ks_value){.kind = KS_MAP, .type = type};
	for (uint32_t i = 0; i < n; i++) {
		struct ks_value value;

		if (make(m, ks_schema_builtin.types[type].element, 0, true, &value))
			*ks_value_put(m->arena, NULL, out, ks_str_from(keys[i])) = value;
	}
	return out->n > 0 || !(flags & KS_FIELD_OMIT_EMPTY);
}

static bool may_open(const struct ks_test_maker *m, uint16_t type)
{
	if (!m->likely)
		return m->depth < DEEPEST;
	for (unsigned i = 0; i < m->depth; i++)
		if (m->open[i] == type)
			return false;
	return m->depth < KS_TEST_DEEPEST;
}

/* How a struct is filled. A likely one may have all fields, or what it must have and one more, as unions want it. */
struct filling {
	uint32_t in, of; /* so many out of so many fields */
	uint16_t alone;  /* the one beside the required ones; KS_NO_SLOT: not so */
};

/* `depth` counts from 1. */
static struct filling choose_filling(struct ks_test_maker *m, uint16_t n_fields)
{
	struct filling f = {2, 3, KS_NO_SLOT};

	if (!m->likely || n_fields == 0)
		return f;
	if (m->depth <= m->n_path)
		f.alone = m->path[m->depth - 1];
	else if (roll(m, m->n_path ? 2 : 6) == 0)
		f.alone = (uint16_t)roll(m, n_fields);
	f.in = roll(m, m->n_path ? 3 : 2) + (m->n_path ? 1 : 2);
	return f;
}

static bool is_filled(struct ks_test_maker *m, const struct filling *f, const struct ks_field *field, uint16_t slot)
{
	if (m->proto && field->flags & KS_FIELD_PROTO_NONE)
		return false;
	if (f->alone != KS_NO_SLOT)
		return slot == f->alone || field->flags & KS_FIELD_REQUIRED;
	return roll(m, f->of) < f->in;
}

/* False when nothing is in it, which only a pointer or an item can tell from absent. */
bool ks_test_make_struct(struct ks_test_maker *m, uint16_t type, bool kept, struct ks_value *out)
{
	const struct ks_type *t = &ks_schema_builtin.types[type];
	struct filling filling;
	bool any = false;

	assert_true(ks_value_new_struct(m->arena, &ks_schema_builtin, type, out));
	if (!may_open(m, type))
		return kept;
	m->open[m->depth++] = type;
	filling = choose_filling(m, t->n_fields);
	for (uint16_t slot = 0; slot < t->n_fields; slot++) {
		const struct ks_field *field = &ks_schema_builtin.fields[t->first_field + slot];
		struct ks_value value;

		if (!is_filled(m, &filling, field, slot) || !make(m, field->type, field->flags, false, &value))
			continue;
		if (value.kind == KS_STRING && field->n_enum)
			value = known_text(m, field->enum_first, field->n_enum);
		out->items[slot] = value;
		any = true;
	}
	m->depth--;
	return any || kept;
}

static bool make(struct ks_test_maker *m, uint16_t type, unsigned flags, bool item, struct ks_value *out)
{
	bool kept = item || flags & KS_FIELD_POINTER;
	uint8_t class_ = ks_schema_builtin.types[type].class_;

	switch (class_) {
	case KS_TYPE_BOOL:
		*out = ks_value_from_bool(!kept || roll(m, 2));
		return true;
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
		*out = ks_value_from_int((int64_t)roll(m, 1000) - (kept ? 500 : 2000));
		return true;
	case KS_TYPE_FLOAT64:
		*out = (struct ks_value){.kind = KS_FLOAT, .number = (roll(m, 1000) + 1) / 7.0};
		return true;
	case KS_TYPE_STRING:
		*out = known_text(m, ks_schema_builtin.types[type].enum_first, ks_schema_builtin.types[type].n_enum);
		return true;
	case KS_TYPE_BYTES:
		*out = any_bytes(m);
		return true;
	case KS_TYPE_TIME:
	case KS_TYPE_MICRO_TIME:
		*out = any_time(m, class_ == KS_TYPE_MICRO_TIME);
		return true;
	case KS_TYPE_DURATION:
		*out = any_duration(m);
		return true;
	case KS_TYPE_QUANTITY:
		*out = any_quantity(m, type);
		return true;
	case KS_TYPE_INT_OR_STRING:
		*out = roll(m, 2) ? any_text(m) : ks_value_from_int(roll(m, 100) + 1);
		return true;
	case KS_TYPE_JSON:
		if (m->proto && strstr(ks_schema_text(&ks_schema_builtin, ks_schema_builtin.types[type].name), "PropsOr")) {
			*out = ks_test_free(m->arena, "{\"type\":\"object\",\"required\":[\"x\"]}");
			return true;
		}
		*out = any_free(m, false);
		return true;
	case KS_TYPE_RAW:
	case KS_TYPE_FIELDS_V1:
	case KS_TYPE_NONE:
		*out = any_free(m, true);
		return true;
	case KS_TYPE_LIST:
		return make_list(m, type, flags, out);
	case KS_TYPE_MAP:
		return make_map(m, type, flags, out);
	default:
		return ks_test_make_struct(m, type, kept, out);
	}
}
