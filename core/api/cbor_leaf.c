/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Scalars out of CBOR: read, checked, and kept in the canonical text that Go would write again. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/api/base64.h"
#include "core/api/cbor_decode.h"
#include "core/api/json_decode.h"
#include "core/api/quantity.h"
#include "core/api/quote.h"
#include "core/api/time.h"

static const char *go_type(struct ks_cbor_decoder *d, uint16_t type)
{
	return ks_json_go_type(d->arena, d->s, type, 0);
}

/* -- complaints ------------------------------------------------------------------------------------------------ */

static bool is_known_simple(const struct ks_cbor_head *head)
{
	return head->is_float || (head->value >= KS_CBOR_FALSE && head->value <= KS_CBOR_NULL);
}

static bool save_simple(struct ks_cbor_decoder *d, const struct ks_cbor_head *head)
{
	return ks_cbor_save(d,
		ks_arena_printf(d->arena, "cbor: data item of cbor type primitives is not accepted by protocol: simple value %llu is not recognized",
			(unsigned long long)head->value));
}

/* -1 - value, in digits. */
static const char *negative_text(struct ks_cbor_decoder *d, uint64_t value)
{
	if (value == UINT64_MAX)
		return "-18446744073709551616";
	return ks_arena_printf(d->arena, "-%llu", (unsigned long long)value + 1);
}

static const char *overflow_text(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, const char *what)
{
	const char *digits =
		head->major == KS_CBOR_NEGATIVE ? negative_text(d, head->value) : ks_arena_printf(d->arena, "%llu", (unsigned long long)head->value);

	return digits ? ks_arena_printf(d->arena, "%s overflows %s", digits, what) : NULL;
}

bool ks_cbor_refuse(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, const char *type, const char *detail)
{
	struct ks_cbor_head read = *head;
	struct ks_str text;
	bool ok;

	switch (head->major) {
	case KS_CBOR_BYTES:
	case KS_CBOR_TEXT:
		if (!ks_cbor_text(d, head, &text, &ok))
			return false;
		read.indefinite = false;
		return !ok || ks_cbor_mismatch(d, &read, type, detail);
	case KS_CBOR_PRIMITIVE:
		if (!is_known_simple(head))
			return save_simple(d, head);
		return (!head->is_float && head->value == KS_CBOR_NULL) || ks_cbor_mismatch(d, head, type, detail);
	case KS_CBOR_NEGATIVE:
		if (head->value > INT64_MAX)
			detail = overflow_text(d, head, "Go's int64");
		return ks_cbor_mismatch(d, head, type, detail);
	default:
		return ks_cbor_mismatch(d, head, type, detail);
	}
}

/* -- texts ----------------------------------------------------------------------------------------------------- */

static bool to_base64(struct ks_cbor_decoder *d, struct ks_str bytes, struct ks_str *out)
{
	size_t n = ks_base64_length(bytes.n);
	char *text = ks_arena_alloc(d->arena, n + 1);

	if (!text)
		return ks_cbor_out_of_memory(d);
	ks_base64_encode((const unsigned char *)bytes.p, bytes.n, text);
	*out = ks_str_of(text, n);
	return true;
}

/* Without padding, for URLs. */
static bool to_base64url(struct ks_cbor_decoder *d, struct ks_str bytes, struct ks_str *out)
{
	char *p;

	if (!to_base64(d, bytes, out))
		return false;
	while (out->n && out->p[out->n - 1] == '=')
		out->n--;
	p = (char *)out->p;
	for (size_t i = 0; i < out->n; i++)
		p[i] = (char)(p[i] == '+' ? '-' : p[i] == '/' ? '_' : p[i]);
	return true;
}

static bool to_base16(struct ks_cbor_decoder *d, struct ks_str bytes, struct ks_str *out)
{
	static const char digits[] = "0123456789abcdef";
	char *text = ks_arena_alloc(d->arena, 2 * bytes.n + 1);

	if (!text)
		return ks_cbor_out_of_memory(d);
	for (size_t i = 0; i < bytes.n; i++) {
		text[2 * i] = digits[(unsigned char)bytes.p[i] >> 4];
		text[2 * i + 1] = digits[bytes.p[i] & 15];
	}
	*out = ks_str_of(text, 2 * bytes.n);
	return true;
}

bool ks_cbor_text(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, struct ks_str *out, bool *ok_r)
{
	struct ks_str bytes;

	if (!ks_cbor_string(&d->r, head, &bytes, ok_r))
		return false;
	*out = bytes;
	if (!*ok_r)
		return ks_cbor_save(d, "cbor: invalid UTF-8 string");
	if (head->major == KS_CBOR_TEXT || !d->later)
		return true;
	if (d->later == KS_CBOR_TAG_BASE64)
		return to_base64(d, bytes, out);
	return d->later == KS_CBOR_TAG_BASE16 ? to_base16(d, bytes, out) : to_base64url(d, bytes, out);
}

/* -- without a type -------------------------------------------------------------------------------------------- */

static bool free_integer(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, struct ks_value *out)
{
	if (head->value > INT64_MAX)
		return ks_cbor_mismatch(d, head, "int64", overflow_text(d, head, "Go's int64"));
	*out = ks_value_from_int(head->major == KS_CBOR_UINT ? (int64_t)head->value : -1 - (int64_t)head->value);
	return true;
}

/* "2006-01-02T15:04:05", a fraction without zeros at its end, and Z or an offset: from a text that is such a time. */
static size_t time_text(struct ks_str text, char out[KS_TIME_TEXT])
{
	size_t hour = text.p[12] == ':' ? 1 : 2, from = 17 + hour, n = 19; /* Go takes an hour of one digit */

	memcpy(out, text.p, 11);
	out[11] = '0';
	memcpy(out + 13 - hour, text.p + 11, 6 + hour);
	if (text.n > from && (text.p[from] == '.' || text.p[from] == ',')) {
		out[n++] = '.';
		for (from++; from < text.n && text.p[from] >= '0' && text.p[from] <= '9'; from++)
			if (n < 29)
				out[n++] = text.p[from];
		while (out[n - 1] == '0')
			n--;
		n -= out[n - 1] == '.';
	}
	if (text.n - from == 6 && memcmp(text.p + from + 1, "00:00", 5) != 0) {
		memcpy(out + n, text.p + from, 6);
		return n + 6;
	}
	out[n] = 'Z';
	return n + 1;
}

/* A text in tag 0. */
static bool tagged_time(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, struct ks_value *out)
{
	const char *message = "", *copy;
	char canonical[KS_TIME_TEXT];
	struct ks_time time;
	struct ks_str text;
	size_t n;
	bool ok;
	int r;

	if (!ks_cbor_string(&d->r, head, &text, &ok))
		return false;
	if (!ok)
		return ks_cbor_save(d, "cbor: invalid UTF-8 string");
	r = ks_time_parse(d->arena, text, false, &time, &message);
	if (r == -EINVAL)
		return ks_cbor_save(d, ks_arena_printf(d->arena, "cbor: cannot set %.*s for time.Time: %s", (int)text.n, text.p, message));
	if (r < 0)
		return ks_cbor_out_of_memory(d);
	n = time_text(text, canonical);
	copy = ks_arena_dup(d->arena, canonical, n);
	*out = ks_value_from_str(ks_str_of(copy, n));
	return copy || ks_cbor_out_of_memory(d);
}

/* A number of seconds in tag 1, as a text. */
static bool epoch_time(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, struct ks_value *out)
{
	/* Of the years 0 to 9999, which RFC 3339 can say. */
	static const int64_t first = -62167219200LL, last = 253402300799LL;
	double whole, fraction = head->is_float ? modf(head->number, &whole) : 0;
	char text[KS_TIME_TEXT], fine[64];
	struct ks_time time = {0};
	const char *copy;
	size_t n;

	if (!head->is_float && head->value > INT64_MAX)
		return ks_cbor_mismatch(d, head, "time.Time", overflow_text(d, head, "Go's int64"));
	if (!head->is_float)
		time.seconds = head->major == KS_CBOR_UINT ? (int64_t)head->value : -1 - (int64_t)head->value;
	else
		time.seconds = whole < (double)first ? first - 1 : whole > (double)last ? last + 1 : (int64_t)whole;
	time.nanoseconds = (int32_t)(fraction * 1e9);
	if (time.nanoseconds < 0) {
		time.seconds--;
		time.nanoseconds += 1000000000;
	}
	if (time.seconds < first || time.seconds > last)
		return ks_cbor_save(d,
			"cbor: decoded time cannot be represented in RFC3339 format with sub-second precision: "
			"Time.MarshalText: year outside of range [0,9999]");
	n = ks_time_print(time, false, text);
	n = (size_t)snprintf(fine, sizeof(fine), "%.*s.%09dZ", (int)n - 1, text, (int)time.nanoseconds);
	n = time_text(ks_str_of(fine, n), text);
	copy = ks_arena_dup(d->arena, text, n);
	*out = ks_value_from_str(ks_str_of(copy, n));
	return copy || ks_cbor_out_of_memory(d);
}

bool ks_cbor_free_scalar(struct ks_cbor_decoder *d, const struct ks_cbor_item *item, struct ks_value *out)
{
	const struct ks_cbor_head *head = &item->head;

	if (item->tag == KS_CBOR_TAG_TIME)
		return tagged_time(d, head, out);
	if (item->tag == KS_CBOR_TAG_EPOCH)
		return epoch_time(d, head, out);
	if (head->major != KS_CBOR_PRIMITIVE)
		return free_integer(d, head, out);
	if (!is_known_simple(head))
		return save_simple(d, head);
	if (head->is_float)
		*out = (struct ks_value){.kind = KS_FLOAT, .number = head->number};
	else if (head->value != KS_CBOR_NULL)
		*out = ks_value_from_bool(head->value == KS_CBOR_TRUE);
	return true;
}

/* -- numbers and truth of a type ------------------------------------------------------------------------------- */

static bool decode_bool(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, uint16_t type, struct ks_value *out)
{
	if (head->major != KS_CBOR_PRIMITIVE || head->is_float || (head->value != KS_CBOR_TRUE && head->value != KS_CBOR_FALSE))
		return ks_cbor_refuse(d, head, go_type(d, type), NULL);
	*out = ks_value_from_bool(head->value == KS_CBOR_TRUE);
	return true;
}

static bool decode_integer(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, const char *type, bool narrow, struct ks_value *out)
{
	uint64_t most = narrow ? INT32_MAX : INT64_MAX;

	if (head->major != KS_CBOR_UINT && head->major != KS_CBOR_NEGATIVE)
		return ks_cbor_refuse(d, head, type, NULL);
	if (head->value > most)
		return ks_cbor_mismatch(
			d, head, type, overflow_text(d, head, head->major == KS_CBOR_NEGATIVE && head->value > INT64_MAX ? "Go's int64" : type));
	*out = ks_value_from_int(head->major == KS_CBOR_UINT ? (int64_t)head->value : -1 - (int64_t)head->value);
	return true;
}

static bool decode_float(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, uint16_t type, struct ks_value *out)
{
	*out = (struct ks_value){.kind = KS_FLOAT, .number = head->number};
	if (head->major == KS_CBOR_UINT)
		out->number = (double)head->value;
	else if (head->major == KS_CBOR_NEGATIVE && head->value <= INT64_MAX)
		out->number = (double)(-1 - (int64_t)head->value);
	else if (!head->is_float) {
		*out = (struct ks_value){0};
		return ks_cbor_refuse(d, head, go_type(d, type), NULL);
	}
	return true;
}

/* -- texts with a meaning -------------------------------------------------------------------------------------- */

/* A text's own decoder has failed: its message, or out of memory. */
static bool stop(struct ks_cbor_decoder *d, int result, const char *message)
{
	return result == -ENOMEM ? ks_cbor_out_of_memory(d) : ks_cbor_save(d, message);
}

static bool keep_text(struct ks_cbor_decoder *d, const char *text, size_t n, struct ks_str original, struct ks_value *out)
{
	const char *copy = original.p;

	if (!ks_str_eq(ks_str_of(text, n), original) && !(copy = ks_arena_dup(d->arena, text, n)))
		return ks_cbor_out_of_memory(d);
	*out = ks_value_from_str(ks_str_of(copy, n));
	return true;
}

static bool decode_time(struct ks_cbor_decoder *d, struct ks_str text, bool micro, unsigned flags, struct ks_value *out)
{
	const char *message = "";
	char canonical[KS_TIME_TEXT];
	struct ks_time time;
	int r = ks_time_parse(d->arena, text, micro, &time, &message);

	if (r < 0)
		return stop(d, r, message);
	if (time.seconds == KS_TIME_ZERO_SECONDS && time.nanoseconds == 0) {
		/* Go's zero time; behind a pointer it is written as null, not left out. */
		if (flags & KS_FIELD_POINTER)
			out->kind = KS_NULL;
		return true;
	}
	if (text.n == (micro ? sizeof("2006-01-02T15:04:05.000000Z") : sizeof("2006-01-02T15:04:05Z")) - 1 && text.p[text.n - 1] == 'Z') {
		*out = ks_value_from_str(text);
		return true;
	}
	return keep_text(d, canonical, ks_time_print(time, micro, canonical), text, out);
}

static struct ks_str trimmed(struct ks_str s)
{
	while (s.n && s.p[0] && strchr(" \t\n\r\v\f", s.p[0]))
		s = ks_str_of(s.p + 1, s.n - 1);
	while (s.n && s.p[s.n - 1] && strchr(" \t\n\r\v\f", s.p[s.n - 1]))
		s.n--;
	return s;
}

static bool decode_quantity(struct ks_cbor_decoder *d, struct ks_str text, uint16_t type, struct ks_value *out)
{
	const char *message = "";
	int r = ks_quantity_canonical(d->arena, trimmed(text), &text, &message);

	if (r < 0)
		return stop(d, r, message);
	*out = ks_value_from_str(text);
	out->type = type;
	return true;
}

static bool decode_special(struct ks_cbor_decoder *d, const struct ks_cbor_item *item, uint16_t type, unsigned flags, struct ks_value *out)
{
	uint8_t class_ = d->s->types[type].class_;
	const struct ks_cbor_head *head = &item->head;
	struct ks_str text = KS_STR_LIT("");
	bool ok = true;

	if (ks_cbor_is_null(head) && item->tag < 0)
		return true;
	/* A null in a tag is an empty text to Go. */
	if (!ks_cbor_is_null(head) || head->value != KS_CBOR_NULL) {
		if (head->major != KS_CBOR_BYTES && head->major != KS_CBOR_TEXT)
			return ks_cbor_refuse(d, head, "string", NULL);
		if (!ks_cbor_text(d, head, &text, &ok))
			return false;
	}
	if (!ok)
		return true;
	if (class_ == KS_TYPE_QUANTITY)
		return decode_quantity(d, text, type, out);
	return decode_time(d, text, class_ == KS_TYPE_MICRO_TIME, flags, out);
}

/* Durations know JSON alone: that is what they complain of. */
static const char *json_name(const struct ks_value *v)
{
	switch (v->kind) {
	case KS_BOOL:
		return "bool";
	case KS_LIST:
		return "array";
	case KS_MAP:
		return "object";
	default:
		return "number";
	}
}

static bool decode_duration(struct ks_cbor_decoder *d, struct ks_value *out)
{
	const char *before = d->prefix, *saved = d->saved, *message = "";
	char text[KS_DURATION_TEXT];
	struct ks_value v;
	int64_t nanoseconds;
	int r;

	d->prefix = "cbor: cannot transcode from cbor to json: ";
	if (!ks_cbor_free(d, &v))
		return false;
	d->prefix = before;
	if (d->saved != saved || v.kind == KS_NULL)
		return true;
	if (v.kind != KS_STRING)
		return ks_cbor_save(d, ks_arena_printf(d->arena, "json: cannot unmarshal %s into Go value of type string", json_name(&v)));
	r = ks_duration_parse(d->arena, ks_value_str(&v), &nanoseconds, &message);
	if (r < 0)
		return stop(d, r, message);
	return keep_text(d, text, ks_duration_print(nanoseconds, text), ks_value_str(&v), out);
}

static bool decode_int_or_string(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, struct ks_value *out)
{
	struct ks_str text = KS_STR_LIT("");
	bool ok = true;

	if (head->major == KS_CBOR_BYTES || head->major == KS_CBOR_TEXT) {
		if (!ks_cbor_text(d, head, &text, &ok) || !ok)
			return !d->r.failed;
	} else if (!ks_cbor_is_null(head) || head->value != KS_CBOR_NULL) {
		return decode_integer(d, head, "int32", true, out);
	}
	*out = ks_value_from_str(text);
	return true;
}

/* -- bytes ----------------------------------------------------------------------------------------------------- */

/* What stands there is base64 already. */
static bool keep_base64(struct ks_cbor_decoder *d, struct ks_str text, struct ks_value *out)
{
	size_t n, bad;
	bool canonical;
	unsigned char *raw;

	if (!ks_base64_check(text, &n, &canonical, &bad))
		return ks_cbor_save(
			d, ks_arena_printf(d->arena, "cbor: failed to decode base64 from byte string: illegal base64 data at input byte %zu", bad));
	if (!canonical) {
		raw = ks_arena_alloc(d->arena, n + 1);
		if (!raw)
			return ks_cbor_out_of_memory(d);
		ks_base64_decode(text, raw);
		if (!to_base64(d, ks_str_of((const char *)raw, n), &text))
			return false;
	}
	*out = ks_value_from_str(text);
	return true;
}

/* A list of numbers, one a byte. */
static bool bytes_of_list(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, struct ks_value *out)
{
	struct ks_cbor_item item;
	struct ks_str text = {0};
	struct ks_buf raw;
	bool more = false, ok;

	ks_buf_init(&raw);
	ok = ks_cbor_enter(&d->r, head) && ks_cbor_more(&d->r, head, 0, &more);
	for (uint64_t n = 1; ok && more; n++) {
		bool good;

		ok = ks_cbor_item(d, &item, &good);
		if (ok && good && item.head.major == KS_CBOR_UINT && item.head.value < 256)
			ks_buf_add_char(&raw, (char)item.head.value);
		else if (ok && good)
			ok = ks_cbor_refuse(d, &item.head, "uint8", item.head.major == KS_CBOR_UINT ? overflow_text(d, &item.head, "uint8") : NULL);
		ok = ok && ks_cbor_more(&d->r, head, n, &more);
	}
	if (ok && raw.failed)
		ok = ks_cbor_out_of_memory(d);
	if (ok) {
		d->r.depth--;
		ok = to_base64(d, ks_buf_str(&raw), &text);
	}
	if (ok)
		*out = ks_value_from_str(text);
	ks_buf_fini(&raw);
	return ok;
}

static bool decode_bytes(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, struct ks_value *out)
{
	struct ks_str bytes;
	bool valid;

	if (head->major == KS_CBOR_LIST)
		return bytes_of_list(d, head, out);
	if (head->major != KS_CBOR_BYTES)
		return ks_cbor_refuse(d, head, "[]uint8", NULL);
	if (!ks_cbor_string(&d->r, head, &bytes, &valid))
		return false;
	if (!d->later)
		return keep_base64(d, bytes, out);
	if (!to_base64(d, bytes, &bytes))
		return false;
	*out = ks_value_from_str(bytes);
	return true;
}

/* -- all of them ----------------------------------------------------------------------------------------------- */

static bool decode_string(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, uint16_t type, struct ks_value *out)
{
	struct ks_str text;
	bool ok;

	if (head->major != KS_CBOR_BYTES && head->major != KS_CBOR_TEXT)
		return ks_cbor_refuse(d, head, go_type(d, type), NULL);
	if (!ks_cbor_text(d, head, &text, &ok))
		return false;
	if (ok)
		*out = ks_value_from_str(text);
	return true;
}

static bool decode_scalar(struct ks_cbor_decoder *d, const struct ks_cbor_item *item, uint16_t type, unsigned flags, struct ks_value *out)
{
	const struct ks_cbor_head *head = &item->head;

	switch (d->s->types[type].class_) {
	case KS_TYPE_STRING:
		return decode_string(d, head, type, out);
	case KS_TYPE_BOOL:
		return decode_bool(d, head, type, out);
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
		return decode_integer(d, head, go_type(d, type), d->s->types[type].class_ == KS_TYPE_INT32, out);
	case KS_TYPE_FLOAT64:
		return decode_float(d, head, type, out);
	case KS_TYPE_BYTES:
		return decode_bytes(d, head, out);
	case KS_TYPE_INT_OR_STRING:
		return decode_int_or_string(d, head, out);
	default:
		return decode_special(d, item, type, flags, out);
	}
}

bool ks_cbor_leaf(struct ks_cbor_decoder *d, uint16_t type, unsigned flags, struct ks_value *out)
{
	uint8_t class_ = d->s->types[type].class_;
	struct ks_cbor_item item;
	bool ok;

	*out = (struct ks_value){0};
	/* Those with a decoder of their own know nothing of the tags around them. */
	if (class_ == KS_TYPE_DURATION || class_ == KS_TYPE_TIME || class_ == KS_TYPE_MICRO_TIME || class_ == KS_TYPE_QUANTITY ||
		class_ == KS_TYPE_INT_OR_STRING)
		d->later = 0;
	if (class_ == KS_TYPE_DURATION)
		return decode_duration(d, out);
	if (!ks_cbor_item(d, &item, &ok))
		return false;
	return !ok || decode_scalar(d, &item, type, flags, out);
}

bool ks_cbor_zero(struct ks_cbor_decoder *d, uint16_t type, struct ks_value *out)
{
	*out = (struct ks_value){.kind = KS_NULL};
	switch (d->s->types[type].class_) {
	case KS_TYPE_BOOL:
		*out = ks_value_from_bool(false);
		return true;
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
		*out = ks_value_from_int(0);
		return true;
	case KS_TYPE_FLOAT64:
		*out = (struct ks_value){.kind = KS_FLOAT};
		return true;
	case KS_TYPE_STRING:
	case KS_TYPE_INT_OR_STRING:
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
		return ks_value_new_struct(d->arena, d->s, type, out) || ks_cbor_out_of_memory(d);
	default:
		return true;
	}
}
