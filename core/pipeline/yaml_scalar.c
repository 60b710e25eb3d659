/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/yaml_scalar.h"

#include <stdint.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* clang-format off */
static const char *const words[] = {
	"", "~", "null", "Null", "NULL", "<<", "y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO",
	"true", "True", "TRUE", "false", "False", "FALSE", "on", "On", "ON", "off", "Off", "OFF",
	".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF",
};
/* clang-format on */

static bool is_word(struct ks_str s)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (ks_str_is(s, words[i]))
			return true;
	return false;
}

static struct ks_str without_sign(struct ks_str s)
{
	return s.n && (s.p[0] == '-' || s.p[0] == '+') ? ks_str_of(s.p + 1, s.n - 1) : s;
}

/* All characters from `at` on are digits of the base, or underscores; at least one digit. */
static bool digits_from(struct ks_str s, size_t at, const char *digits)
{
	bool any = false;

	for (; at < s.n; at++) {
		if (s.p[at] == '_')
			continue;
		if (!strchr(digits, s.p[at]) || s.p[at] == '\0')
			return false;
		any = true;
	}
	return any;
}

static bool is_integer(struct ks_str s)
{
	s = without_sign(s);
	if (s.n > 2 && s.p[0] == '0') {
		switch (s.p[1]) {
		case 'x':
		case 'X':
			return digits_from(s, 2, "0123456789abcdefABCDEF");
		case 'b':
		case 'B':
			return digits_from(s, 2, "01");
		case 'o':
		case 'O':
			return digits_from(s, 2, "01234567");
		}
	}
	return digits_from(s, 0, "0123456789");
}

static size_t skip_digits(struct ks_str s, size_t at)
{
	while (at < s.n && (is_digit(s.p[at]) || s.p[at] == '_'))
		at++;
	return at;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool is_float(struct ks_str s)
{
	size_t at, whole, fraction = 0;

	s = without_sign(s);
	whole = at = skip_digits(s, 0);
	if (at < s.n && s.p[at] == '.') {
		size_t end = skip_digits(s, at + 1);

		fraction = end - at - 1;
		at = end;
	}
	if (whole == 0 && fraction == 0)
		return false;
	if (at < s.n && (s.p[at] == 'e' || s.p[at] == 'E')) {
		size_t from = ++at;

		if (at < s.n && (s.p[at] == '-' || s.p[at] == '+'))
			from = ++at;
		at = skip_digits(s, at);
		if (at == from)
			return false;
	}
	return at == s.n;
}

/* 1:30, 12:30:45.5: numbers to the base of sixty. */
static bool is_base60(struct ks_str s)
{
	bool colon = false;

	s = without_sign(s);
	if (s.n == 0 || !is_digit(s.p[0]))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == ':')
			colon = true;
		else if (!is_digit(s.p[i]) && s.p[i] != '_' && s.p[i] != '.')
			return false;
	}
	return colon;
}

/* 2026-01-02, with or without a time behind it. */
static bool is_time(struct ks_str s)
{
	size_t at = 0, dashes = 0;

	while (at < s.n && at < 10 && (is_digit(s.p[at]) || s.p[at] == '-'))
		dashes += s.p[at++] == '-';
	if (dashes != 2 || s.n < 8 || !is_digit(s.p[0]) || !is_digit(s.p[1]) || !is_digit(s.p[2]) || !is_digit(s.p[3]) || s.p[4] != '-')
		return false;
	return at == s.n || ((s.p[at] == 'T' || s.p[at] == 't' || s.p[at] == ' ') && at + 1 < s.n && is_digit(s.p[at + 1]));
}

bool ks_yaml_is_string(struct ks_str text)
{
	return !is_word(text) && !is_integer(text) && !is_float(text) && !is_base60(text) && !is_time(text);
}

/* The number that begins at `at`; where it ends. */
static uint64_t number_at(struct ks_str s, size_t at, uint64_t start, size_t *end)
{
	uint64_t n = start;

	while (at < s.n && is_digit(s.p[at]))
		n = n * 10 + (uint64_t)(s.p[at++] - '0');
	*end = at;
	return n;
}

/* Where `a` and `b` differ first, at `i`. */
static int compare_at(struct ks_str a, struct ks_str b, size_t i)
{
	bool letter_a = is_letter(a.p[i]), letter_b = is_letter(b.p[i]);
	uint64_t start = 0, na, nb;
	size_t end_a, end_b;
	int order = (unsigned char)a.p[i] < (unsigned char)b.p[i] ? -1 : 1;

	if (letter_a && letter_b)
		return order;
	if (letter_a || letter_b)
		return letter_b ? -1 : 1;
	if (a.p[i] == '0' || b.p[i] == '0')
		for (size_t k = i; k > 0 && is_digit(a.p[k - 1]); k--)
			if (a.p[k - 1] != '0')
				start = 1;
	na = number_at(a, i, start, &end_a);
	nb = number_at(b, i, start, &end_b);
	if (na != nb)
		return na < nb ? -1 : 1;
	if (end_a != end_b)
		return end_a < end_b ? -1 : 1;
	return order;
}

int ks_yaml_key_compare(struct ks_str a, struct ks_str b)
{
	for (size_t i = 0; i < a.n && i < b.n; i++)
		if (a.p[i] != b.p[i])
			return compare_at(a, b, i);
	return a.n < b.n ? -1 : a.n > b.n;
}
