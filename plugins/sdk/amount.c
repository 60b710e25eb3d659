/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The server's quantities behind a struct without its types. */
#include <keelson/sdk/amount.h>

#include <string.h>

#include "core/api/quantity.h"

_Static_assert(sizeof(struct ks_quantity) <= sizeof(struct ks_amount), "an amount is too small for a quantity");

static struct ks_quantity open_amount(const struct ks_amount *amount)
{
	struct ks_quantity q;

	memcpy(&q, amount, sizeof(q));
	return q;
}

static void close_amount(struct ks_amount *amount, const struct ks_quantity *q)
{
	memcpy(amount, q, sizeof(*q));
}

int ks_amount_parse(struct ks_view text, struct ks_amount *amount_r)
{
	const char *message;
	struct ks_quantity q = {0};
	int failed = ks_quantity_parse((struct ks_str){text.p, text.n}, &q, &message);

	*amount_r = (struct ks_amount){{0}};
	if (failed)
		return 0;
	close_amount(amount_r, &q);
	return 1;
}

struct ks_amount ks_amount_of(int64_t units)
{
	struct ks_quantity q = {.nano = (__int128)units * 1000000000, .format = KS_QUANTITY_DECIMAL_SI};
	struct ks_amount amount = {{0}};

	close_amount(&amount, &q);
	return amount;
}

size_t ks_amount_print(const struct ks_amount *amount, char out[KS_AMOUNT_TEXT])
{
	struct ks_quantity q = open_amount(amount);

	return ks_quantity_print(&q, out);
}

int ks_amount_cmp(const struct ks_amount *a, const struct ks_amount *b)
{
	struct ks_quantity left = open_amount(a), right = open_amount(b);

	return ks_quantity_cmp(&left, &right);
}

int ks_amount_sign(const struct ks_amount *amount)
{
	struct ks_quantity q = open_amount(amount);

	return ks_quantity_sign(&q);
}

void ks_amount_add(struct ks_amount *a, const struct ks_amount *b)
{
	struct ks_quantity left = open_amount(a), right = open_amount(b);

	ks_quantity_add(&left, &right);
	close_amount(a, &left);
}

void ks_amount_sub(struct ks_amount *a, const struct ks_amount *b)
{
	struct ks_quantity left = open_amount(a), right = open_amount(b);

	ks_quantity_sub(&left, &right);
	close_amount(a, &left);
}

int64_t ks_amount_value(const struct ks_amount *amount)
{
	struct ks_quantity q = open_amount(amount);

	return ks_quantity_value(&q);
}

int64_t ks_amount_milli(const struct ks_amount *amount)
{
	struct ks_quantity q = open_amount(amount);

	return ks_quantity_milli(&q);
}
