/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/quantity.h"

#include <errno.h>
#include <string.h>

typedef unsigned __int128 u128;

static const char format_message[] = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
static const char suffix_message[] = "unable to parse quantity's suffix";

#define NANO_LIMIT ((__int128)(~(u128)0 >> 1))
static const __int128 giga = 1000000000;

/* ---- reading ---- */

struct parts {
	bool negative;
	struct ks_str num, denom, suffix; /* num without leading zeros */
};

static struct ks_str take_digits(struct ks_str text, size_t *at)
{
	size_t from = *at;

	while (*at < text.n && text.p[*at] >= '0' && text.p[*at] <= '9')
		(*at)++;
	return ks_str_of(text.p + from, *at - from);
}

static bool is_suffix_letter(char c)
{
	return c && strchr("eEinumkKMGTP", c) != NULL;
}

/* Splits sign, digits, fraction and suffix; false when the text has another shape. */
static bool split(struct ks_str text, struct parts *parts)
{
	size_t at = 0, suffix_at;

	*parts = (struct parts){.num = KS_STR_LIT("0")};
	if (at < text.n && (text.p[at] == '-' || text.p[at] == '+'))
		parts->negative = text.p[at++] == '-';
	while (at < text.n && text.p[at] == '0')
		at++;
	if (at == text.n)
		return true;
	struct ks_str num = take_digits(text, &at);
	if (num.n)
		parts->num = num;
	if (at < text.n && text.p[at] == '.') {
		at++;
		parts->denom = take_digits(text, &at);
	}
	suffix_at = at;
	while (at < text.n && is_suffix_letter(text.p[at]))
		at++;
	if (at < text.n && (text.p[at] == '-' || text.p[at] == '+'))
		at++;
	take_digits(text, &at);
	parts->suffix = ks_str_of(text.p + suffix_at, at - suffix_at);
	return at == text.n;
}

struct scale {
	int base;
	int32_t exponent;
	uint8_t format;
};

static const struct {
	const char *suffix;
	struct scale scale;
} suffixes[] = {
	{"", {10, 0, KS_QUANTITY_DECIMAL_SI}},
	{"n", {10, -9, KS_QUANTITY_DECIMAL_SI}},
	{"u", {10, -6, KS_QUANTITY_DECIMAL_SI}},
	{"m", {10, -3, KS_QUANTITY_DECIMAL_SI}},
	{"k", {10, 3, KS_QUANTITY_DECIMAL_SI}},
	{"M", {10, 6, KS_QUANTITY_DECIMAL_SI}},
	{"G", {10, 9, KS_QUANTITY_DECIMAL_SI}},
	{"T", {10, 12, KS_QUANTITY_DECIMAL_SI}},
	{"P", {10, 15, KS_QUANTITY_DECIMAL_SI}},
	{"E", {10, 18, KS_QUANTITY_DECIMAL_SI}},
	{"Ki", {2, 10, KS_QUANTITY_BINARY_SI}},
	{"Mi", {2, 20, KS_QUANTITY_BINARY_SI}},
	{"Gi", {2, 30, KS_QUANTITY_BINARY_SI}},
	{"Ti", {2, 40, KS_QUANTITY_BINARY_SI}},
	{"Pi", {2, 50, KS_QUANTITY_BINARY_SI}},
	{"Ei", {2, 60, KS_QUANTITY_BINARY_SI}},
};
enum { N_SUFFIXES = sizeof(suffixes) / sizeof(suffixes[0]) };

/* "e3", "E-6": an exponent in digits. */
static bool read_exponent(struct ks_str suffix, struct scale *scale)
{
	size_t at = 1;
	int64_t n = 0;
	bool negative = false;

	if (suffix.n < 2 || (suffix.p[0] != 'e' && suffix.p[0] != 'E'))
		return false;
	if (suffix.p[at] == '-' || suffix.p[at] == '+')
		negative = suffix.p[at++] == '-';
	if (at == suffix.n)
		return false;
	for (; at < suffix.n; at++) {
		if (suffix.p[at] < '0' || suffix.p[at] > '9')
			return false;
		n = n * 10 + (suffix.p[at] - '0');
		if (n > INT32_MAX / 2)
			return false;
	}
	*scale = (struct scale){10, (int32_t)(negative ? -n : n), KS_QUANTITY_DECIMAL_EXPONENT};
	return true;
}

static bool read_suffix(struct ks_str suffix, struct scale *scale)
{
	for (int i = 0; i < N_SUFFIXES; i++)
		if (ks_str_is(suffix, suffixes[i].suffix)) {
			*scale = suffixes[i].scale;
			return true;
		}
	return read_exponent(suffix, scale);
}

static bool multiply(u128 *n, u128 factor)
{
	return !__builtin_mul_overflow(*n, factor, n) && *n <= (u128)NANO_LIMIT;
}

static bool add_digits(u128 *n, struct ks_str digits)
{
	for (size_t i = 0; i < digits.n; i++)
		if (!multiply(n, 10) || __builtin_add_overflow(*n, (u128)(digits.p[i] - '0'), n))
			return false;
	return true;
}

/* Cuts `k` digits off the end of num and denom; was any of them not zero? */
static bool drop_digits(struct parts *parts, int64_t k)
{
	bool lost = false;

	while (k > 0 && parts->num.n + parts->denom.n > 0) {
		struct ks_str *from = parts->denom.n ? &parts->denom : &parts->num;

		lost |= from->p[--from->n] != '0';
		k--;
	}
	return lost;
}

/* |value| * 10^9, rounded up. False when out of range. */
static bool nano_of(struct parts parts, const struct scale *scale, u128 *nano_r)
{
	int64_t shift = 9 - (int64_t)parts.denom.n + (scale->base == 10 ? scale->exponent : 0);
	u128 nano = 0;
	bool lost = false;

	if (scale->base == 10 && shift < 0) {
		lost = drop_digits(&parts, -shift);
		shift = 0;
	}
	if (!add_digits(&nano, parts.num) || !add_digits(&nano, parts.denom))
		return false;
	if (scale->base == 2 && !multiply(&nano, (u128)1 << scale->exponent))
		return false;
	for (; shift > 0 && nano; shift--)
		if (!multiply(&nano, 10))
			return false;
	for (; shift < 0; shift++) {
		lost |= nano % 10 != 0;
		nano /= 10;
	}
	*nano_r = nano + lost;
	return *nano_r <= (u128)NANO_LIMIT;
}

static bool ends_in_three_zeros(const struct parts *parts)
{
	size_t n = parts->num.n + parts->denom.n;

	for (size_t i = 1; i <= 3; i++) {
		if (n < i)
			return false;
		n -= i;
		char c = n >= parts->num.n ? parts->denom.p[n - parts->num.n] : parts->num.p[n];
		n += i;
		if (c != '0')
			return false;
	}
	return true;
}

/* Upstream keeps the text of a short number whose shape is good enough (so "1.500" stays, and "+5"). */
static bool keeps_text(const struct parts *parts, const struct scale *scale, u128 nano)
{
	size_t digits = parts->num.n + parts->denom.n;
	int64_t e = (int64_t)scale->exponent - (int64_t)parts->denom.n;

	if (scale->base == 2)
		return parts->denom.n == 0 && 14 - (int64_t)digits - scale->exponent * 3 / 10 >= 0 &&
			((uint64_t)((nano / (u128)giga) >> scale->exponent) & 7) != 0;
	if (digits > 18 || e < -9 || parts->num.p[0] == '0')
		return false;
	return e % 3 == 0 && !ends_in_three_zeros(parts);
}

int ks_quantity_parse(struct ks_str text, struct ks_quantity *q_r, const char **message_r)
{
	const u128 most = (u128)INT64_MAX * (u128)giga;
	struct ks_quantity q = {0};
	struct parts parts;
	struct scale scale;
	u128 nano;

	if (text.n == 0 || !split(text, &parts)) {
		*message_r = format_message;
		return -EINVAL;
	}
	if (!read_suffix(parts.suffix, &scale)) {
		*message_r = suffix_message;
		return -EINVAL;
	}
	q.format = scale.format;
	if (!nano_of(parts, &scale, &nano)) {
		nano = (u128)NANO_LIMIT;
		q.huge = q.kept = scale.base != 2;
	} else {
		q.kept = keeps_text(&parts, &scale, nano);
	}
	if (scale.base == 2 && nano > most)
		nano = most;
	if (scale.base == 2 && nano > 0 && nano < (u128)giga)
		q.format = KS_QUANTITY_DECIMAL_SI;
	q.nano = parts.negative ? -(__int128)nano : (__int128)nano;
	*q_r = q;
	return 0;
}

/* ---- writing ---- */

static size_t print_number(__int128 value, char *out)
{
	u128 n = value < 0 ? -(u128)value : (u128)value;
	char digits[40];
	size_t at = sizeof(digits), len = 0;

	do {
		digits[--at] = (char)('0' + (int)(n % 10));
		n /= 10;
	} while (n);
	if (value < 0)
		out[len++] = '-';
	memcpy(out + len, digits + at, sizeof(digits) - at);
	return len + sizeof(digits) - at;
}

static const char *suffix_of(int base, int exponent)
{
	for (int i = 0; i < N_SUFFIXES; i++)
		if (suffixes[i].scale.base == base && suffixes[i].scale.exponent == exponent)
			return suffixes[i].suffix;
	return "";
}

static size_t print_decimal(const struct ks_quantity *q, char *out)
{
	__int128 mantissa = q->nano;
	int exponent = -9, most = q->format == KS_QUANTITY_DECIMAL_EXPONENT ? 99 : 18;
	size_t n;

	while (mantissa % 1000 == 0 && exponent < most) {
		mantissa /= 1000;
		exponent += 3;
	}
	n = print_number(mantissa, out);
	if (q->format == KS_QUANTITY_DECIMAL_EXPONENT) {
		if (exponent == 0)
			return n;
		out[n++] = 'e';
		return n + print_number(exponent, out + n);
	}
	strcpy(out + n, suffix_of(10, exponent));
	return n + strlen(out + n);
}

static size_t print_binary(const struct ks_quantity *q, char *out)
{
	__int128 mantissa = q->nano / giga;
	int exponent = 0;
	size_t n;

	while (mantissa % 1024 == 0 && exponent < 60) {
		mantissa /= 1024;
		exponent += 10;
	}
	n = print_number(mantissa, out);
	strcpy(out + n, exponent ? suffix_of(2, exponent) : "");
	return n + strlen(out + n);
}

size_t ks_quantity_print(const struct ks_quantity *q, char out[KS_QUANTITY_TEXT])
{
	struct ks_quantity decimal = *q;
	size_t n;

	if (q->nano == 0) {
		strcpy(out, "0");
		return 1;
	}
	if (q->format == KS_QUANTITY_BINARY_SI && (q->nano >= 1024 * giga || q->nano <= -1024 * giga) && q->nano % giga == 0) {
		n = print_binary(q, out);
	} else {
		if (q->format == KS_QUANTITY_BINARY_SI)
			decimal.format = KS_QUANTITY_DECIMAL_SI;
		n = print_decimal(&decimal, out);
	}
	out[n] = '\0';
	return n;
}

int ks_quantity_canonical(struct ks_arena *arena, struct ks_str text, struct ks_str *out_r, const char **message_r)
{
	char canonical[KS_QUANTITY_TEXT];
	struct ks_quantity q;
	const char *copy;
	size_t n;
	int r = ks_quantity_parse(text, &q, message_r);

	if (r < 0)
		return r;
	if (!q.kept) {
		n = ks_quantity_print(&q, canonical);
		if (!ks_str_eq(text, ks_str_of(canonical, n))) {
			copy = ks_arena_dup(arena, canonical, n);
			if (!copy)
				return -ENOMEM;
			text = ks_str_of(copy, n);
		}
	}
	*out_r = text;
	return 0;
}

/* ---- arithmetic ---- */

int ks_quantity_cmp(const struct ks_quantity *a, const struct ks_quantity *b)
{
	return (a->nano > b->nano) - (a->nano < b->nano);
}

int ks_quantity_cmp_text(struct ks_str a, struct ks_str b)
{
	struct ks_quantity x, y;
	const char *message;
	bool left = ks_quantity_parse(a, &x, &message) == 0, right = ks_quantity_parse(b, &y, &message) == 0;

	if (!left || !right)
		return left != right ? (int)left - (int)right : ks_str_cmp(a, b);
	if (x.huge && y.huge)
		return ks_str_cmp(a, b);
	return ks_quantity_cmp(&x, &y);
}

static void set_sum(struct ks_quantity *a, __int128 b, uint8_t format)
{
	__int128 sum;

	if (a->nano == 0)
		a->format = format;
	if (__builtin_add_overflow(a->nano, b, &sum)) {
		sum = b > 0 ? NANO_LIMIT : -NANO_LIMIT;
		a->huge = true;
	}
	a->nano = sum;
	a->kept = false;
}

void ks_quantity_add(struct ks_quantity *a, const struct ks_quantity *b)
{
	set_sum(a, b->nano, b->format);
}

void ks_quantity_sub(struct ks_quantity *a, const struct ks_quantity *b)
{
	set_sum(a, -b->nano, b->format);
}

static int64_t scaled(__int128 nano, __int128 unit)
{
	__int128 n = nano / unit;

	if (nano % unit)
		n += nano > 0 ? 1 : -1;
	if (n > INT64_MAX)
		return INT64_MAX;
	return n < INT64_MIN ? INT64_MIN : (int64_t)n;
}

int64_t ks_quantity_value(const struct ks_quantity *q)
{
	return scaled(q->nano, giga);
}

int64_t ks_quantity_milli(const struct ks_quantity *q)
{
	return scaled(q->nano, giga / 1000);
}
