/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Heads come from libcbor's stateless decoder, but for the few that it takes for errors though they are well-formed. */
#include "core/api/cbor_wire.h"

#include <cbor.h>
#include <math.h>
#include <string.h>

#include "core/api/cbor.h"
#include "core/api/quote.h"

static const char cut_short[] = "unexpected EOF";
static const char stray_break[] = "cbor: unexpected \"break\" code";

/* -- what libcbor calls back with ------------------------------------------------------------------------------ */

static void set(void *context, uint8_t major, uint64_t value)
{
	struct ks_cbor_head *head = context;

	head->major = major;
	head->value = value;
}

static void set_text(void *context, uint8_t major, const unsigned char *p, size_t n)
{
	struct ks_cbor_head *head = context;

	head->major = major;
	head->bytes = ks_str_of((const char *)p, n);
}

static void set_indefinite(void *context, uint8_t major)
{
	struct ks_cbor_head *head = context;

	head->major = major;
	head->indefinite = true;
}

static void set_float(void *context, double value)
{
	struct ks_cbor_head *head = context;

	head->major = KS_CBOR_PRIMITIVE;
	head->is_float = true;
	head->number = value;
}

static void on_uint8(void *context, uint8_t value)
{
	set(context, KS_CBOR_UINT, value);
}
static void on_uint16(void *context, uint16_t value)
{
	set(context, KS_CBOR_UINT, value);
}
static void on_uint32(void *context, uint32_t value)
{
	set(context, KS_CBOR_UINT, value);
}
static void on_uint64(void *context, uint64_t value)
{
	set(context, KS_CBOR_UINT, value);
}
static void on_negint8(void *context, uint8_t value)
{
	set(context, KS_CBOR_NEGATIVE, value);
}
static void on_negint16(void *context, uint16_t value)
{
	set(context, KS_CBOR_NEGATIVE, value);
}
static void on_negint32(void *context, uint32_t value)
{
	set(context, KS_CBOR_NEGATIVE, value);
}
static void on_negint64(void *context, uint64_t value)
{
	set(context, KS_CBOR_NEGATIVE, value);
}
static void on_bytes(void *context, cbor_data p, size_t n)
{
	set_text(context, KS_CBOR_BYTES, p, n);
}
static void on_bytes_start(void *context)
{
	set_indefinite(context, KS_CBOR_BYTES);
}
static void on_string(void *context, cbor_data p, size_t n)
{
	set_text(context, KS_CBOR_TEXT, p, n);
}
static void on_string_start(void *context)
{
	set_indefinite(context, KS_CBOR_TEXT);
}
static void on_list(void *context, size_t n)
{
	set(context, KS_CBOR_LIST, n);
}
static void on_list_start(void *context)
{
	set_indefinite(context, KS_CBOR_LIST);
}
static void on_map(void *context, size_t n)
{
	set(context, KS_CBOR_MAP, n);
}
static void on_map_start(void *context)
{
	set_indefinite(context, KS_CBOR_MAP);
}
static void on_tag(void *context, uint64_t value)
{
	set(context, KS_CBOR_TAG, value);
}
static void on_half(void *context, float value)
{
	set_float(context, value);
}
static void on_single(void *context, float value)
{
	set_float(context, value);
}
static void on_double(void *context, double value)
{
	set_float(context, value);
}
static void on_undefined(void *context)
{
	set(context, KS_CBOR_PRIMITIVE, KS_CBOR_UNDEFINED);
}
static void on_null(void *context)
{
	set(context, KS_CBOR_PRIMITIVE, KS_CBOR_NULL);
}
static void on_bool(void *context, bool value)
{
	set(context, KS_CBOR_PRIMITIVE, value ? KS_CBOR_TRUE : KS_CBOR_FALSE);
}

static void on_break(void *context)
{
	struct ks_cbor_head *head = context;

	head->major = KS_CBOR_PRIMITIVE;
	head->is_break = true;
}

static const struct cbor_callbacks callbacks = {
	.uint8 = on_uint8,
	.uint16 = on_uint16,
	.uint32 = on_uint32,
	.uint64 = on_uint64,
	.negint8 = on_negint8,
	.negint16 = on_negint16,
	.negint32 = on_negint32,
	.negint64 = on_negint64,
	.byte_string = on_bytes,
	.byte_string_start = on_bytes_start,
	.string = on_string,
	.string_start = on_string_start,
	.array_start = on_list,
	.indef_array_start = on_list_start,
	.map_start = on_map,
	.indef_map_start = on_map_start,
	.tag = on_tag,
	.float2 = on_half,
	.float4 = on_single,
	.float8 = on_double,
	.undefined = on_undefined,
	.null = on_null,
	.boolean = on_bool,
	.indef_break = on_break,
};

/* -- heads ----------------------------------------------------------------------------------------------------- */

struct ks_cbor_reader ks_cbor_reader_of(struct ks_arena *arena, struct ks_str data)
{
	const uint8_t *p = data.n ? (const uint8_t *)data.p : (const uint8_t *)"";

	return (struct ks_cbor_reader){.start = p, .p = p, .end = p + data.n, .arena = arena};
}

const char *ks_cbor_major_name(uint8_t major)
{
	static const char *const names[] = {
		"positive integer", "negative integer", "byte string", "UTF-8 text string", "array", "map", "tag", "primitives"};

	return names[major & 7];
}

bool ks_cbor_fail(struct ks_cbor_reader *r, const char *message)
{
	r->failed = true;
	r->message = message;
	return false;
}

static bool not_accepted(struct ks_cbor_reader *r, uint8_t major, const char *what)
{
	return ks_cbor_fail(
		r, ks_arena_printf(r->arena, "cbor: data item of cbor type %s is not accepted by protocol: %s", ks_cbor_major_name(major), what));
}

static bool bad_information(struct ks_cbor_reader *r, uint8_t first)
{
	return ks_cbor_fail(
		r, ks_arena_printf(r->arena, "cbor: invalid additional information %d for type %s", first & 0x1f, ks_cbor_major_name(first >> 5)));
}

/* Tags and simple values that nobody has given a meaning: well-formed all the same, and the profile passes over such tags. */
static bool is_unassigned(uint8_t first)
{
	return (first >= 0xc0 && first <= 0xd7) || (first >= 0xe0 && first <= 0xf3) || first == 0xf8;
}

static bool next_unassigned(struct ks_cbor_reader *r, struct ks_cbor_head *head)
{
	uint8_t first = *r->p++;

	head->major = first >> 5;
	head->value = first & 0x1f;
	if (first != 0xf8)
		return true;
	if (r->p == r->end)
		return ks_cbor_fail(r, cut_short);
	head->value = *r->p++;
	if (head->value < 32)
		return ks_cbor_fail(r, ks_arena_printf(r->arena, "cbor: invalid simple value %d for type primitives", (int)head->value));
	return true;
}

/* A length of 2^63 or more is more than Go's int holds. */
static bool is_beyond_int(const struct ks_cbor_head *head)
{
	return (head->major == KS_CBOR_LIST || head->major == KS_CBOR_MAP) && head->value > INT64_MAX;
}

static bool check_head(struct ks_cbor_reader *r, const struct ks_cbor_head *head)
{
	if (head->is_float && isnan(head->number))
		return not_accepted(r, KS_CBOR_PRIMITIVE, "floating-point NaN");
	if (head->is_float && isinf(head->number))
		return not_accepted(r, KS_CBOR_PRIMITIVE, "floating-point infinity");
	if (is_beyond_int(head))
		return ks_cbor_fail(r,
			ks_arena_printf(r->arena, "cbor: %s length %llu is too large, it would cause integer overflow",
				ks_cbor_major_name(head->major), (unsigned long long)head->value));
	return true;
}

/* What most items are: short texts, lists and maps, small numbers. False: it is something else. */
static bool next_short(struct ks_cbor_reader *r, struct ks_cbor_head *head)
{
	uint8_t first = *r->p, major = first >> 5, n = first & 0x1f;

	if (n > 23 || major >= KS_CBOR_TAG || ((major == KS_CBOR_BYTES || major == KS_CBOR_TEXT) && r->end - r->p <= n))
		return false;
	head->major = major;
	head->value = n;
	if (major == KS_CBOR_BYTES || major == KS_CBOR_TEXT)
		head->bytes = ks_str_of((const char *)r->p + 1, n), r->p += n;
	r->p++;
	return true;
}

bool ks_cbor_next(struct ks_cbor_reader *r, struct ks_cbor_head *head)
{
	struct cbor_decoder_result result;

	*head = (struct ks_cbor_head){0};
	if (r->p == r->end)
		return ks_cbor_fail(r, cut_short);
	if (next_short(r, head))
		return true;
	if (is_unassigned(*r->p))
		return next_unassigned(r, head);
	result = cbor_stream_decode(r->p, (size_t)(r->end - r->p), &callbacks, head);
	if (result.status == CBOR_DECODER_NEDATA)
		return ks_cbor_fail(r, cut_short);
	if (result.status != CBOR_DECODER_FINISHED)
		return bad_information(r, *r->p);
	r->p += result.read;
	return check_head(r, head);
}

/* -- what is in them ------------------------------------------------------------------------------------------- */

bool ks_cbor_enter(struct ks_cbor_reader *r, const struct ks_cbor_head *head)
{
	if (++r->depth > KS_CBOR_MAX_DEPTH)
		return ks_cbor_fail(r, ks_arena_printf(r->arena, "cbor: exceeded max nested level %d", KS_CBOR_MAX_DEPTH));
	if (head->major == KS_CBOR_LIST && head->value > INT32_MAX)
		return ks_cbor_fail(r, ks_arena_printf(r->arena, "cbor: exceeded max number of elements %d for CBOR array", INT32_MAX));
	if (head->major == KS_CBOR_MAP && head->value > KS_CBOR_MAX_PAIRS)
		return ks_cbor_fail(r, ks_arena_printf(r->arena, "cbor: exceeded max number of key-value pairs %d for CBOR map", KS_CBOR_MAX_PAIRS));
	return true;
}

bool ks_cbor_more(struct ks_cbor_reader *r, const struct ks_cbor_head *head, uint64_t read, bool *more_r)
{
	if (!head->indefinite) {
		*more_r = read < head->value;
		return true;
	}
	if (r->p == r->end)
		return ks_cbor_fail(r, cut_short);
	*more_r = *r->p != 0xff;
	if (!*more_r)
		r->p++;
	if (head->major == KS_CBOR_MAP && read > KS_CBOR_MAX_PAIRS)
		return ks_cbor_fail(r, ks_arena_printf(r->arena, "cbor: exceeded max number of key-value pairs %d for CBOR map", KS_CBOR_MAX_PAIRS));
	return true;
}

static bool next_chunk(struct ks_cbor_reader *r, uint8_t major, struct ks_cbor_head *chunk, bool *more_r)
{
	if (r->p == r->end)
		return ks_cbor_fail(r, cut_short);
	*more_r = *r->p != 0xff;
	if (!*more_r) {
		r->p++;
		return true;
	}
	if (*r->p >> 5 != major)
		return ks_cbor_fail(r,
			ks_arena_printf(r->arena, "cbor: wrong element type %s for indefinite-length %s", ks_cbor_major_name(*r->p >> 5),
				ks_cbor_major_name(major)));
	if ((*r->p & 0x1f) == 0x1f)
		return ks_cbor_fail(
			r, ks_arena_printf(r->arena, "cbor: indefinite-length %s chunk is not definite-length", ks_cbor_major_name(major)));
	return ks_cbor_next(r, chunk);
}

static bool skip_chunks(struct ks_cbor_reader *r, uint8_t major)
{
	struct ks_cbor_head chunk;
	bool more;

	do {
		if (!next_chunk(r, major, &chunk, &more))
			return false;
	} while (more);
	return true;
}

static bool skip_contents(struct ks_cbor_reader *r, const struct ks_cbor_head *head)
{
	bool more;

	if (!ks_cbor_enter(r, head) || !ks_cbor_more(r, head, 0, &more))
		return false;
	for (uint64_t n = 1; more; n++)
		if (!ks_cbor_skip(r) || (head->major == KS_CBOR_MAP && !ks_cbor_skip(r)) || !ks_cbor_more(r, head, n, &more))
			return false;
	r->depth--;
	return true;
}

/* Tags in tags without recursion, then what they are about. */
static bool skip_tagged(struct ks_cbor_reader *r, const struct ks_cbor_head *tag)
{
	struct ks_cbor_head head = *tag;
	unsigned depth = r->depth;
	bool ok;

	while (head.major == KS_CBOR_TAG) {
		if (r->p == r->end)
			return ks_cbor_fail(r, cut_short);
		if (head.value == KS_CBOR_TAG_BIGNUM || head.value == KS_CBOR_TAG_NEGATIVE_BIGNUM)
			return not_accepted(r, KS_CBOR_TAG, "bignum");
		if (!ks_cbor_next(r, &head))
			return false;
		if (head.major == KS_CBOR_TAG && ++r->depth > KS_CBOR_MAX_DEPTH)
			return ks_cbor_fail(r, ks_arena_printf(r->arena, "cbor: exceeded max nested level %d", KS_CBOR_MAX_DEPTH));
	}
	ok = ks_cbor_skip_rest(r, &head);
	r->depth = depth;
	return ok;
}

bool ks_cbor_skip_rest(struct ks_cbor_reader *r, const struct ks_cbor_head *head)
{
	if (head->is_break)
		return ks_cbor_fail(r, stray_break);
	switch (head->major) {
	case KS_CBOR_BYTES:
	case KS_CBOR_TEXT:
		return !head->indefinite || skip_chunks(r, head->major);
	case KS_CBOR_LIST:
	case KS_CBOR_MAP:
		return skip_contents(r, head);
	case KS_CBOR_TAG:
		return skip_tagged(r, head);
	default:
		return true;
	}
}

bool ks_cbor_skip(struct ks_cbor_reader *r)
{
	struct ks_cbor_head head;

	return ks_cbor_next(r, &head) && ks_cbor_skip_rest(r, &head);
}

static bool is_utf8(struct ks_str text)
{
	size_t at = 0, n;
	uint64_t word;
	uint32_t rune;

	while (at < text.n) {
		if (text.n - at >= sizeof(word)) {
			memcpy(&word, text.p + at, sizeof(word));
			if (!(word & 0x8080808080808080ULL)) {
				at += sizeof(word);
				continue;
			}
		}
		n = ks_utf8_next(text.p + at, text.n - at, &rune);
		if (n == 1 && (unsigned char)text.p[at] >= 0x80)
			return false;
		at += n;
	}
	return true;
}

bool ks_cbor_string(struct ks_cbor_reader *r, const struct ks_cbor_head *head, struct ks_str *out, bool *valid_r)
{
	struct ks_cbor_reader first = *r;
	struct ks_cbor_head chunk;
	size_t n = 0;
	bool more;
	char *to;

	*out = head->bytes;
	*valid_r = head->major == KS_CBOR_BYTES || is_utf8(head->bytes);
	if (!head->indefinite)
		return true;
	if (!skip_chunks(r, head->major))
		return false;
	/* What was skipped is more than there are bytes in the chunks. */
	to = ks_arena_alloc(r->arena, (size_t)(r->p - first.p));
	if (!to)
		return ks_cbor_fail(r, NULL);
	while (next_chunk(&first, head->major, &chunk, &more) && more) {
		*valid_r &= head->major == KS_CBOR_BYTES || is_utf8(chunk.bytes);
		if (chunk.bytes.n)
			memcpy(to + n, chunk.bytes.p, chunk.bytes.n);
		n += chunk.bytes.n;
	}
	*out = ks_str_of(to, n);
	return true;
}

bool ks_cbor_end(struct ks_cbor_reader *r)
{
	if (r->p == r->end)
		return true;
	return ks_cbor_fail(r,
		ks_arena_printf(
			r->arena, "cbor: %zu bytes of extraneous data starting at index %zu", (size_t)(r->end - r->p), (size_t)(r->p - r->start)));
}
