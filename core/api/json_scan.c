/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/json_scan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/api/quote.h"

const char *ks_json_what(char c)
{
	switch (c) {
	case '"':
		return "string";
	case '[':
		return "array";
	case '{':
		return "object";
	case 't':
	case 'f':
		return "bool";
	default:
		return "number";
	}
}

/* ---- errors ---- */

bool ks_json_out_of_memory(struct ks_json_scan *s)
{
	s->rc = -ENOMEM;
	return false;
}

static bool fail(struct ks_json_scan *s, const char *message)
{
	if (!message)
		return ks_json_out_of_memory(s);
	s->rc = -EINVAL;
	s->message = message;
	return false;
}

/* A byte as Go quotes a character. */
static void quote_byte(char out[16], unsigned char c)
{
	static const char letters[] = "abtnvfr"; /* 7 to 13 */
	char utf8[8];

	if (c == '\'' || c == '\\')
		snprintf(out, 16, "'\\%c'", c);
	else if (c >= 7 && c <= 13)
		snprintf(out, 16, "'\\%c'", letters[c - 7]);
	else if (c < ' ' || c == 0x7f)
		snprintf(out, 16, "'\\x%02x'", c);
	else if ((c >= 0x80 && c < 0xa1) || c == 0xad)
		snprintf(out, 16, "'\\u%04x'", c);
	else
		snprintf(out, 16, "'%.*s'", (int)ks_utf8_put(utf8, c), utf8);
}

bool ks_json_unexpected(struct ks_json_scan *s, const char *where)
{
	char c[16];

	if (s->p >= s->end)
		return fail(s, ks_arena_printf(s->arena, "unexpected end of JSON input"));
	quote_byte(c, (unsigned char)*s->p);
	return fail(s, ks_arena_printf(s->arena, "invalid character %s %s", c, where));
}

/* The same within a word, a number or an escape: where the text ends there, Go complains of the space that it puts behind the end. */
static bool broken(struct ks_json_scan *s, const char *where)
{
	if (s->p < s->end)
		return ks_json_unexpected(s, where);
	return fail(s, ks_arena_printf(s->arena, "invalid character ' ' %s", where));
}

bool ks_json_enter(struct ks_json_scan *s)
{
	if (s->depth >= KS_JSON_MAX_DEPTH)
		return ks_json_unexpected(s, "exceeded max depth");
	s->depth++;
	s->p++;
	return true;
}

bool ks_json_end(struct ks_json_scan *s)
{
	ks_json_space(s);
	return s->p == s->end || ks_json_unexpected(s, "after top-level value");
}

/* ---- words and numbers ---- */

bool ks_json_word(struct ks_json_scan *s, const char *word)
{
	char where[48];

	if (s->end - s->p >= 4 && memcmp(s->p, word, 4) == 0 && word[4] == '\0') {
		s->p += 4;
		return true;
	}
	for (const char *w = word; *w; w++) {
		if (s->p >= s->end || *s->p != *w) {
			snprintf(where, sizeof(where), "in literal %s (expecting '%c')", word, *w);
			return broken(s, where);
		}
		s->p++;
	}
	return true;
}

static bool at_digit(const struct ks_json_scan *s)
{
	return s->p < s->end && *s->p >= '0' && *s->p <= '9';
}

static void skip_digits(struct ks_json_scan *s)
{
	while (at_digit(s))
		s->p++;
}

static bool fraction_and_exponent(struct ks_json_scan *s)
{
	if (s->p < s->end && *s->p == '.') {
		s->p++;
		if (!at_digit(s))
			return broken(s, "after decimal point in numeric literal");
		skip_digits(s);
	}
	if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
		s->p++;
		if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
			s->p++;
		if (!at_digit(s))
			return broken(s, "in exponent of numeric literal");
		skip_digits(s);
	}
	return true;
}

bool ks_json_number(struct ks_json_scan *s, struct ks_json_number *out)
{
	const char *from = s->p;
	bool negative = *s->p == '-', fits = true;
	uint64_t n = 0;

	if (negative)
		s->p++;
	if (!at_digit(s))
		return broken(s, "in numeric literal");
	if (*s->p == '0') {
		s->p++;
	} else {
		for (; at_digit(s); s->p++)
			if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (uint64_t)(*s->p - '0'), &n))
				fits = false;
	}
	fits = fits && n <= (uint64_t)INT64_MAX + negative;
	if (s->p < s->end && (*s->p == '.' || *s->p == 'e' || *s->p == 'E')) {
		fits = false;
		if (!fraction_and_exponent(s))
			return false;
	}
	out->text = ks_str_of(from, (size_t)(s->p - from));
	out->integer = fits;
	out->value = negative ? (int64_t)(0 - n) : (int64_t)n;
	return true;
}

/* ---- strings ---- */

#define ONES 0x0101010101010101ULL
#define HIGHS 0x8080808080808080ULL

/* High bits of those of the eight bytes that are a quote, a backslash, a control character or not ASCII. The lowest one is right;
 * a borrow may set others above it. */
static uint64_t special_bits(const char *p)
{
	uint64_t w, quote, slash;

	memcpy(&w, p, 8);
	quote = w ^ (ONES * '"');
	slash = w ^ (ONES * '\\');
	return ((quote - ONES) | (slash - ONES) | (w - ONES * 0x20) | w) & HIGHS;
}

/* Moves over plain ASCII. */
static const char *plain_end(const char *p, const char *end)
{
	while (end - p >= 8) {
		uint64_t special = special_bits(p);

		if (special && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
			return p + __builtin_ctzll(special) / 8;
		if (special)
			break;
		p += 8;
	}
	while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80)
		p++;
	return p;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits behind \u, when they are digits; -1 otherwise. */
static int32_t four_digits(const char *p, const char *end)
{
	int32_t r = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int d = hex_digit(p[i]);

		if (d < 0)
			return -1;
		r = r * 16 + d;
	}
	return r;
}

/* At the digits of \uXXXX: the character, with its second half where it is a surrogate pair. */
static uint32_t unicode_escape(struct ks_json_scan *s)
{
	int32_t high = four_digits(s->p, s->end), low;

	s->p += 4;
	if (high < 0xd800 || high > 0xdfff)
		return (uint32_t)high;
	if (high < 0xdc00 && s->end - s->p >= 6 && s->p[0] == '\\' && s->p[1] == 'u') {
		low = four_digits(s->p + 2, s->end);
		if (low >= 0xdc00 && low <= 0xdfff) {
			s->p += 6;
			return 0x10000 + (((uint32_t)high - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
		}
	}
	return 0xfffd;
}

/* Checks the string's bytes and finds its end; is anything in it to be replaced? */
static bool find_end(struct ks_json_scan *s, bool *replace)
{
	uint32_t rune;

	for (;;) {
		s->p = plain_end(s->p, s->end);
		if (s->p >= s->end || (unsigned char)*s->p < 0x20)
			return ks_json_unexpected(s, "in string literal");
		if (*s->p == '"')
			return true;
		if (*s->p != '\\') {
			size_t n = ks_utf8_next(s->p, (size_t)(s->end - s->p), &rune);

			*replace |= n == 1;
			s->p += n;
			continue;
		}
		*replace = true;
		s->p++;
		if (s->p >= s->end || *s->p == '\0' || !strchr("\"\\/bfnrtu", *s->p))
			return broken(s, "in string escape code");
		if (*s->p++ != 'u')
			continue;
		for (int i = 0; i < 4; i++, s->p++)
			if (s->p >= s->end || hex_digit(*s->p) < 0)
				return broken(s, "in \\u hexadecimal character escape");
	}
}

static char simple_escape(char c)
{
	switch (c) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return c;
	}
}

/* The text between `from` and `to` (known to be well formed) with escapes and invalid UTF-8 replaced. */
static bool unescape(struct ks_json_scan *s, const char *from, const char *to, struct ks_str *out)
{
	/* A stray byte becomes three, nothing else grows. */
	struct ks_json_scan in = {.p = from, .end = to};
	char *copy = ks_arena_alloc(s->arena, (size_t)(to - from) * 3 + 1), *at = copy;
	uint32_t rune;

	if (!copy)
		return ks_json_out_of_memory(s);
	while (in.p < to) {
		if (*in.p != '\\') {
			in.p += ks_utf8_next(in.p, (size_t)(to - in.p), &rune);
			at += ks_utf8_put(at, rune);
		} else if (in.p[1] == 'u') {
			in.p += 2;
			at += ks_utf8_put(at, unicode_escape(&in));
		} else {
			*at++ = simple_escape(in.p[1]);
			in.p += 2;
		}
	}
	*at = '\0';
	*out = ks_str_of(copy, (size_t)(at - copy));
	return true;
}

bool ks_json_string(struct ks_json_scan *s, struct ks_str *out)
{
	const char *from = ++s->p;
	bool replace = false;

	s->p = plain_end(s->p, s->end);
	if ((s->p >= s->end || *s->p != '"') && !find_end(s, &replace))
		return false;
	*out = ks_str_of(from, (size_t)(s->p - from));
	if (replace && !unescape(s, from, s->p, out))
		return false;
	s->p++;
	return true;
}

/* ---- skipping ---- */

static bool skip_string(struct ks_json_scan *s)
{
	bool replace = false;

	s->p = plain_end(s->p + 1, s->end);
	if ((s->p >= s->end || *s->p != '"') && !find_end(s, &replace))
		return false;
	s->p++;
	return true;
}

static bool skip_key(struct ks_json_scan *s)
{
	if (ks_json_peek(s) != '"')
		return ks_json_unexpected(s, "looking for beginning of object key string");
	if (!skip_string(s))
		return false;
	if (ks_json_peek(s) != ':')
		return ks_json_unexpected(s, "after object key");
	s->p++;
	return true;
}

static bool skip_scalar(struct ks_json_scan *s, char c)
{
	struct ks_json_number number;

	switch (c) {
	case '"':
		return skip_string(s);
	case 't':
		return ks_json_word(s, "true");
	case 'f':
		return ks_json_word(s, "false");
	case 'n':
		return ks_json_word(s, "null");
	default:
		if (c == '-' || (c >= '0' && c <= '9'))
			return ks_json_number(s, &number);
		return ks_json_unexpected(s, "looking for beginning of value");
	}
}

struct nesting {
	uint8_t object[KS_JSON_MAX_DEPTH / 8 + 1]; /* a bit for each level: object or list */
	unsigned base;
};

static bool in_object(const struct nesting *n, unsigned depth)
{
	return n->object[depth / 8] >> depth % 8 & 1;
}

static void set_level(struct nesting *n, unsigned depth, bool object)
{
	uint8_t bit = (uint8_t)(1U << depth % 8);

	n->object[depth / 8] = (uint8_t)(object ? n->object[depth / 8] | bit : n->object[depth / 8] & ~bit);
}

/* Behind a value: closes what ends here and moves to where the next value starts. `*done_r`: the outermost value ended. */
static bool skip_to_next(struct ks_json_scan *s, struct nesting *n, bool *done_r)
{
	for (;;) {
		if (s->depth == n->base) {
			*done_r = true;
			return true;
		}
		bool object = in_object(n, s->depth);
		char c = ks_json_peek(s);

		if (c == ',') {
			s->p++;
			return !object || skip_key(s);
		}
		if (c != (object ? '}' : ']'))
			return ks_json_unexpected(s, object ? "after object key:value pair" : "after array element");
		s->p++;
		s->depth--;
	}
}

bool ks_json_skip(struct ks_json_scan *s)
{
	struct nesting n = {.base = s->depth};
	bool done = false;

	while (!done) {
		char c = ks_json_peek(s);

		if (c != '{' && c != '[') {
			if (!skip_scalar(s, c) || !skip_to_next(s, &n, &done))
				return false;
			continue;
		}
		if (!ks_json_enter(s))
			return false;
		set_level(&n, s->depth, c == '{');
		if (ks_json_peek(s) == (c == '{' ? '}' : ']')) {
			s->p++;
			s->depth--;
			if (!skip_to_next(s, &n, &done))
				return false;
		} else if (c == '{' && !skip_key(s)) {
			return false;
		}
	}
	return true;
}
