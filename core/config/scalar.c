/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/config/scalar.h"

#include <errno.h>

int ks_scalar_bool(struct ks_str text, bool *out_r)
{
	if (!ks_str_is(text, "true") && !ks_str_is(text, "false"))
		return -EINVAL;
	*out_r = text.n == 4;
	return 0;
}

/* Takes the digits off the front of `text`; there must be one. */
static int take_digits(struct ks_str *text, int64_t *out_r)
{
	int64_t value = 0;
	size_t i = 0;

	for (; i < text->n && text->p[i] >= '0' && text->p[i] <= '9'; i++)
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text->p[i] - '0', &value))
			return -ERANGE;
	if (i == 0)
		return -EINVAL;
	*text = ks_str_of(text->p + i, text->n - i);
	*out_r = value;
	return 0;
}

int ks_scalar_int(struct ks_str text, int64_t *out_r)
{
	bool negative = text.n && text.p[0] == '-';
	int64_t value;
	int result;

	if (text.n && (text.p[0] == '-' || text.p[0] == '+'))
		text = ks_str_of(text.p + 1, text.n - 1);
	result = take_digits(&text, &value);
	if (result < 0)
		return result;
	if (text.n)
		return -EINVAL;
	*out_r = negative ? -value : value;
	return 0;
}

struct unit { const char *name; int64_t factor; };

/* The longest unit that `text` begins with is taken off; 0 when there is none. */
static int64_t take_unit(struct ks_str *text, const struct unit *units)
{
	for (; units->name; units++) {
		struct ks_str name = ks_str_from(units->name);

		if (!ks_str_starts(*text, name))
			continue;
		*text = ks_str_of(text->p + name.n, text->n - name.n);
		return units->factor;
	}
	return 0;
}

int ks_scalar_duration(struct ks_str text, int64_t *out_r)
{
	static const struct unit units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {NULL, 0}};
	int64_t sum = 0;

	if (ks_str_is(text, "0")) {
		*out_r = 0;
		return 0;
	}
	do {
		int64_t value, factor;
		int result = take_digits(&text, &value);

		if (result < 0)
			return result;
		factor = take_unit(&text, units);
		if (!factor)
			return -EINVAL;
		if (__builtin_mul_overflow(value, factor, &value) || __builtin_add_overflow(sum, value, &sum))
			return -ERANGE;
	} while (text.n);
	*out_r = sum;
	return 0;
}

int ks_scalar_size(struct ks_str text, int64_t *out_r)
{
	static const struct unit units[] = {
		{"Ki", 1ll << 10}, {"Mi", 1ll << 20}, {"Gi", 1ll << 30}, {"Ti", 1ll << 40}, {NULL, 0}
	};
	int64_t value, factor = 1;
	int result = take_digits(&text, &value);

	if (result < 0)
		return result;
	if (text.n)
		factor = take_unit(&text, units);
	if (!factor || text.n)
		return -EINVAL;
	if (__builtin_mul_overflow(value, factor, &value))
		return -ERANGE;
	*out_r = value;
	return 0;
}
