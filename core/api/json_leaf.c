/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Scalars with a form of their own: read, checked, and kept in the canonical text that Go would write again. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/base64.h"
#include "core/api/json_decode.h"
#include "core/api/quantity.h"
#include "core/api/time.h"

static const struct ks_str no_number;

static bool looks_like_value(char c)
{
	return c && (strchr("\"{[tfn-", c) || (c >= '0' && c <= '9'));
}

/* A leaf's own decoder failed: its message, or out of memory. */
static bool stop(struct ks_json_decoder *d, int rc, const char *message)
{
	return rc == -ENOMEM ? ks_json_out_of_memory(&d->scan) : ks_json_stop(d, message);
}

static bool keep_text(struct ks_json_decoder *d, const char *text, size_t n, struct ks_str original, struct ks_value *out)
{
	const char *copy = text;

	if (ks_str_eq(ks_str_of(text, n), original))
		copy = original.p;
	else if (!(copy = ks_arena_dup(d->scan.arena, text, n)))
		return ks_json_out_of_memory(&d->scan);
	*out = ks_value_from_str(ks_str_of(copy, n));
	return true;
}

static bool decode_time(struct ks_json_decoder *d, bool micro, unsigned field_flags, struct ks_value *out)
{
	char text[KS_TIME_TEXT];
	const char *message;
	struct ks_time time;
	struct ks_str s;
	int r;

	if (!ks_json_string(&d->scan, &s))
		return false;
	r = ks_time_parse(d->scan.arena, s, micro, &time, &message);
	if (r < 0)
		return stop(d, r, message);
	if (time.seconds == KS_TIME_ZERO_SECONDS && time.nanoseconds == 0) {
		/* Go's zero time; behind a pointer it is written as null, not left out. */
		if (field_flags & KS_FIELD_POINTER)
			out->kind = KS_NULL;
		return true;
	}
	if (s.n == (micro ? sizeof("2006-01-02T15:04:05.000000Z") : sizeof("2006-01-02T15:04:05Z")) - 1 && s.p[s.n - 1] == 'Z') {
		*out = ks_value_from_str(s);
		return true;
	}
	return keep_text(d, text, ks_time_print(time, micro, text), s, out);
}

static bool decode_duration(struct ks_json_decoder *d, struct ks_value *out)
{
	char text[KS_DURATION_TEXT];
	const char *message;
	int64_t nanoseconds;
	struct ks_str s;
	int r;

	if (!ks_json_string(&d->scan, &s))
		return false;
	r = ks_duration_parse(d->scan.arena, s, &nanoseconds, &message);
	if (r < 0)
		return stop(d, r, message);
	return keep_text(d, text, ks_duration_print(nanoseconds, text), s, out);
}

static struct ks_str trimmed(struct ks_str s)
{
	while (s.n && strchr(" \t\n\r\v\f", s.p[0]) && s.p[0])
		s = ks_str_of(s.p + 1, s.n - 1);
	while (s.n && strchr(" \t\n\r\v\f", s.p[s.n - 1]) && s.p[s.n - 1])
		s.n--;
	return s;
}

static bool decode_quantity(struct ks_json_decoder *d, uint16_t type, char c, struct ks_value *out)
{
	struct ks_json_number number;
	const char *message = "";
	struct ks_str s = KS_STR_LIT("?");
	int r;

	if (c == '"') {
		if (!ks_json_string(&d->scan, &s))
			return false;
		s = trimmed(s);
	} else if (c == '-' || (c >= '0' && c <= '9')) {
		if (!ks_json_number(&d->scan, &number))
			return false;
		s = number.text;
	}
	r = ks_quantity_canonical(d->scan.arena, s, &s, &message);
	if (r < 0)
		return stop(d, r, message);
	*out = ks_value_from_str(s);
	out->type = type;
	return true;
}

static bool decode_int_or_string(struct ks_json_decoder *d, char c, struct ks_value *out)
{
	struct ks_json_number number;
	struct ks_str s;

	if (c == '"') {
		if (!ks_json_string(&d->scan, &s))
			return false;
		*out = ks_value_from_str(s);
		return true;
	}
	if (c != '-' && (c < '0' || c > '9'))
		return ks_json_stop_mismatch(d, ks_json_what(c), no_number, "int32");
	if (!ks_json_number(&d->scan, &number))
		return false;
	if (!number.integer || number.value < INT32_MIN || number.value > INT32_MAX)
		return ks_json_stop_mismatch(d, "number", number.text, "int32");
	*out = ks_value_from_int(number.value);
	return true;
}

static bool recode_base64(struct ks_json_decoder *d, struct ks_str *text, size_t bytes)
{
	unsigned char *raw = ks_arena_alloc(d->scan.arena, bytes + 1);
	size_t n = ks_base64_length(bytes);
	char *canonical = ks_arena_alloc(d->scan.arena, n + 1);

	if (!raw || !canonical)
		return ks_json_out_of_memory(&d->scan);
	ks_base64_decode(*text, raw);
	ks_base64_encode(raw, bytes, canonical);
	*text = ks_str_of(canonical, n);
	return true;
}

static bool decode_bytes(struct ks_json_decoder *d, char c, struct ks_value *out)
{
	size_t bytes, bad;
	bool canonical;
	struct ks_str s;

	if (c != '"')
		return ks_json_mismatch(d, ks_json_what(c), no_number, "[]uint8") && ks_json_skip(&d->scan);
	if (!ks_json_string(&d->scan, &s))
		return false;
	if (!ks_base64_check(s, &bytes, &canonical, &bad))
		return ks_json_save(d, ks_arena_printf(d->scan.arena, "illegal base64 data at input byte %zu", bad));
	if (!canonical && !recode_base64(d, &s, bytes))
		return false;
	*out = ks_value_from_str(s);
	return true;
}

bool ks_json_leaf(struct ks_json_decoder *d, uint16_t type, unsigned field_flags, char c, struct ks_value *out)
{
	uint8_t class_ = d->s->types[type].class_;

	*out = (struct ks_value){0};
	if (!looks_like_value(c))
		return ks_json_unexpected(&d->scan, "looking for beginning of value");
	if (c == 'n')
		return ks_json_word(&d->scan, "null");
	switch (class_) {
	case KS_TYPE_QUANTITY:
		return decode_quantity(d, type, c, out);
	case KS_TYPE_INT_OR_STRING:
		return decode_int_or_string(d, c, out);
	case KS_TYPE_BYTES:
		return decode_bytes(d, c, out);
	default:
		break;
	}
	if (c != '"')
		return ks_json_stop_mismatch(d, ks_json_what(c), no_number, "string");
	if (class_ == KS_TYPE_DURATION)
		return decode_duration(d, out);
	return decode_time(d, class_ == KS_TYPE_MICRO_TIME, field_flags, out);
}

bool ks_json_double(struct ks_json_decoder *d, const struct ks_json_number *number, struct ks_value *out)
{
	char small[64], *text = small;
	double value;

	if (number->text.n >= sizeof(small) && !(text = ks_arena_alloc(d->scan.arena, number->text.n + 1)))
		return ks_json_out_of_memory(&d->scan);
	memcpy(text, number->text.p, number->text.n);
	text[number->text.n] = '\0';
	value = strtod(text, NULL);
	if (isinf(value))
		return ks_json_mismatch(d, "number", number->text, "float64");
	*out = (struct ks_value){.kind = KS_FLOAT, .number = value};
	return true;
}
