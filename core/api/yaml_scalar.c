/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What a plain scalar means: YAML 1.1 as Go's yaml.v2 reads it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/yaml.h"

static const struct {
	const char *text;
	struct ks_value value;
} words[] = {
	{"", {.kind = KS_NULL}},
	{"~", {.kind = KS_NULL}},
	{"null", {.kind = KS_NULL}},
	{"Null", {.kind = KS_NULL}},
	{"NULL", {.kind = KS_NULL}},
	{"y", {.kind = KS_BOOL, .boolean = true}},
	{"Y", {.kind = KS_BOOL, .boolean = true}},
	{"yes", {.kind = KS_BOOL, .boolean = true}},
	{"Yes", {.kind = KS_BOOL, .boolean = true}},
	{"YES", {.kind = KS_BOOL, .boolean = true}},
	{"true", {.kind = KS_BOOL, .boolean = true}},
	{"True", {.kind = KS_BOOL, .boolean = true}},
	{"TRUE", {.kind = KS_BOOL, .boolean = true}},
	{"on", {.kind = KS_BOOL, .boolean = true}},
	{"On", {.kind = KS_BOOL, .boolean = true}},
	{"ON", {.kind = KS_BOOL, .boolean = true}},
	{"n", {.kind = KS_BOOL}},
	{"N", {.kind = KS_BOOL}},
	{"no", {.kind = KS_BOOL}},
	{"No", {.kind = KS_BOOL}},
	{"NO", {.kind = KS_BOOL}},
	{"false", {.kind = KS_BOOL}},
	{"False", {.kind = KS_BOOL}},
	{"FALSE", {.kind = KS_BOOL}},
	{"off", {.kind = KS_BOOL}},
	{"Off", {.kind = KS_BOOL}},
	{"OFF", {.kind = KS_BOOL}},
	{".nan", {.kind = KS_FLOAT, .number = NAN}},
	{".NaN", {.kind = KS_FLOAT, .number = NAN}},
	{".NAN", {.kind = KS_FLOAT, .number = NAN}},
	{".inf", {.kind = KS_FLOAT, .number = INFINITY}},
	{".Inf", {.kind = KS_FLOAT, .number = INFINITY}},
	{".INF", {.kind = KS_FLOAT, .number = INFINITY}},
	{"+.inf", {.kind = KS_FLOAT, .number = INFINITY}},
	{"+.Inf", {.kind = KS_FLOAT, .number = INFINITY}},
	{"+.INF", {.kind = KS_FLOAT, .number = INFINITY}},
	{"-.inf", {.kind = KS_FLOAT, .number = -INFINITY}},
	{"-.Inf", {.kind = KS_FLOAT, .number = -INFINITY}},
	{"-.INF", {.kind = KS_FLOAT, .number = -INFINITY}},
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits of a base to their end; false when there is another character, none at all, or too many. */
static bool read_digits(const char *p, unsigned base, uint64_t *out)
{
	uint64_t n = 0;

	if (!*p)
		return false;
	for (; *p; p++) {
		unsigned d = is_digit(*p) ? (unsigned)(*p - '0') : (*p | 0x20) >= 'a' && (*p | 0x20) <= 'f' ? (unsigned)((*p | 0x20) - 'a') + 10 : 99;

		if (d >= base || __builtin_mul_overflow(n, base, &n) || __builtin_add_overflow(n, d, &n))
			return false;
	}
	*out = n;
	return true;
}

/* 0x1F, 0o17, 017, 0b11 and decimals, with a sign. Beyond int64 it is a float. */
static bool read_integer(const char *text, struct ks_value *out)
{
	bool negative = *text == '-';
	unsigned base = 10;
	uint64_t n;

	if (*text == '-' || *text == '+')
		text++;
	if (text[0] == '0' && text[1]) {
		char c = text[1] | 0x20;

		base = c == 'x' ? 16 : c == 'b' ? 2 : 8;
		text += c == 'x' || c == 'b' || c == 'o' ? 2 : 1;
	}
	if (!read_digits(text, base, &n) || n > (uint64_t)INT64_MAX + (negative ? 1 : 0)) {
		if (negative || !read_digits(text, base, &n))
			return false;
		*out = (struct ks_value){.kind = KS_FLOAT, .number = (double)n};
		return true;
	}
	*out = ks_value_from_int(negative ? (int64_t)(0 - n) : (int64_t)n);
	return true;
}

/* [-+]?(.[0-9]+|[0-9]+(.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool looks_like_float(const char *p)
{
	if (*p == '-' || *p == '+')
		p++;
	if (!is_digit(*p) && !(*p == '.' && is_digit(p[1])))
		return false;
	while (is_digit(*p))
		p++;
	if (*p == '.')
		p++;
	while (is_digit(*p))
		p++;
	if (*p == 'e' || *p == 'E') {
		p++;
		if (*p == '-' || *p == '+')
			p++;
		if (!is_digit(*p))
			return false;
		while (is_digit(*p))
			p++;
	}
	return *p == '\0';
}

static bool read_number(struct ks_str text, bool underscores, struct ks_value *out)
{
	char plain[512];
	size_t n = 0;
	double value;

	if (text.n >= sizeof(plain))
		return false;
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] != '_' || !underscores)
			plain[n++] = text.p[i];
	plain[n] = '\0';
	if (memchr(plain, '\0', n))
		return false;
	if (underscores && read_integer(plain, out))
		return true;
	if (!looks_like_float(plain))
		return false;
	value = strtod(plain, NULL);
	if (isinf(value))
		return false;
	*out = (struct ks_value){.kind = KS_FLOAT, .number = value};
	return true;
}

struct ks_value ks_yaml_resolve(struct ks_str text)
{
	struct ks_value v;
	char first = text.n ? text.p[0] : '\0';

	if (text.n <= 5 && (!first || strchr("yYnNtTfFoO~.+-", first)))
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (ks_str_is(text, words[i].text))
				return words[i].value;
	if (first == '.' && read_number(text, false, &v))
		return v;
	if ((is_digit(first) || first == '+' || first == '-') && read_number(text, true, &v))
		return v;
	return ks_value_from_str(text);
}
