/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/duration.h"

#include <stdbool.h>

#include "core/api/quote.h"

/* Longest first where one begins another. */
static const struct unit {
	const char *name;
	int64_t ns;
} units[] = {
	{"ns", 1}, {"us", 1000}, {"\u00b5s", 1000}, {"\u03bcs", 1000}, {"ms", 1000000}, {"s", 1000000000},
	{"m", INT64_C(60000000000)}, {"h", INT64_C(3600000000000)},
};

static const char *invalid(struct ks_arena *arena, struct ks_str text)
{
	const char *quoted = ks_quote(arena, text);
	const char *message = ks_arena_printf(arena, "time: invalid duration %s", quoted ? quoted : "");

	return message ? message : "time: invalid duration";
}

static struct ks_str skip(struct ks_str s, size_t n)
{
	return ks_str_of(s.p + n, s.n - n);
}

static bool is_digit(struct ks_str s)
{
	return s.n > 0 && s.p[0] >= '0' && s.p[0] <= '9';
}

/* "12.5": the whole part and a fraction as `fraction` / `scale`. False when there is no digit, or too many. */
static bool take_number(struct ks_str *s, uint64_t *whole, double *fraction)
{
	bool any = false;
	double scale = 1;

	*whole = 0;
	*fraction = 0;
	for (; is_digit(*s); *s = skip(*s, 1), any = true) {
		if (*whole > (uint64_t)INT64_MAX / 10)
			return false;
		*whole = *whole * 10 + (uint64_t)(s->p[0] - '0');
	}
	if (s->n > 0 && s->p[0] == '.')
		for (*s = skip(*s, 1); is_digit(*s); *s = skip(*s, 1), any = true) {
			scale *= 10;
			*fraction += (s->p[0] - '0') / scale;
		}
	return any;
}

static struct ks_str take_unit(struct ks_str *s)
{
	size_t n = 0;

	while (n < s->n && s->p[n] != '.' && !(s->p[n] >= '0' && s->p[n] <= '9'))
		n++;
	*s = skip(*s, n);
	return ks_str_of(s->p - n, n);
}

static const struct unit *find_unit(struct ks_str name)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (ks_str_is(name, units[i].name))
			return &units[i];
	return NULL;
}

static const char *bad_unit(struct ks_arena *arena, struct ks_str name, struct ks_str text)
{
	const char *quoted = ks_quote(arena, text), *unit = ks_quote(arena, name);
	const char *message;

	if (!quoted || !unit)
		return "time: invalid duration";
	if (name.n == 0)
		message = ks_arena_printf(arena, "time: missing unit in duration %s", quoted);
	else
		message = ks_arena_printf(arena, "time: unknown unit %s in duration %s", unit, quoted);
	return message ? message : "time: invalid duration";
}

const char *ks_duration_parse(struct ks_arena *arena, struct ks_str text, int64_t *ns_r)
{
	struct ks_str s = text;
	bool negative = false;
	int64_t total = 0;

	if (s.n > 0 && (s.p[0] == '-' || s.p[0] == '+')) {
		negative = s.p[0] == '-';
		s = skip(s, 1);
	}
	if (ks_str_is(s, "0")) {
		*ns_r = 0;
		return NULL;
	}
	if (s.n == 0)
		return invalid(arena, text);
	while (s.n > 0) {
		const struct unit *unit;
		struct ks_str name;
		uint64_t whole;
		double fraction;
		int64_t part;

		if (!take_number(&s, &whole, &fraction))
			return invalid(arena, text);
		name = take_unit(&s);
		unit = find_unit(name);
		if (!unit)
			return bad_unit(arena, name, text);
		if (__builtin_mul_overflow((int64_t)whole, unit->ns, &part) ||
			__builtin_add_overflow(part, (int64_t)(fraction * (double)unit->ns), &part) ||
			__builtin_add_overflow(total, part, &total))
			return invalid(arena, text);
	}
	*ns_r = negative ? -total : total;
	return NULL;
}
