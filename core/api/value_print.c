/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Free-form values as Go's %v prints them, for messages: map[a:1 b:[x y]]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/value.h"
#include "core/util/buf.h"

static int by_key(const void *a, const void *b)
{
	return ks_str_cmp((*(const struct ks_member *const *)a)->key, (*(const struct ks_member *const *)b)->key);
}

static void print_map(const struct ks_value *v, struct ks_buf *out)
{
	const struct ks_member **sorted = malloc((v->n + 1U) * sizeof(*sorted));

	if (!sorted) {
		out->failed = true;
		return;
	}
	for (uint32_t i = 0; i < v->n; i++)
		sorted[i] = &v->members[i];
	qsort(sorted, v->n, sizeof(*sorted), by_key);
	ks_buf_add_str(out, "map[");
	for (uint32_t i = 0; i < v->n; i++) {
		if (i)
			ks_buf_add_char(out, ' ');
		ks_buf_add(out, sorted[i]->key.p, sorted[i]->key.n);
		ks_buf_add_char(out, ':');
		ks_value_print(&sorted[i]->value, out);
	}
	ks_buf_add_char(out, ']');
	free(sorted);
}

/* %v of a float64: the shortest digits, an exponent below 1e-4 and from 1e21 on. */
static void print_double(double value, struct ks_buf *out)
{
	char text[40];
	int digits = 1, exponent;

	do
		snprintf(text, sizeof(text), "%.*e", digits - 1, value);
	while (strtod(text, NULL) != value && ++digits <= 17);
	exponent = atoi(strchr(text, 'e') + 1);
	if (exponent >= -4 && exponent < 21)
		snprintf(text, sizeof(text), "%.*f", digits - 1 - exponent > 0 ? digits - 1 - exponent : 0, value);
	ks_buf_add_str(out, text);
}

void ks_value_print(const struct ks_value *v, struct ks_buf *out)
{
	switch (v->kind) {
	case KS_BOOL:
		ks_buf_add_str(out, v->boolean ? "true" : "false");
		return;
	case KS_INT:
		ks_buf_add_i64(out, v->integer);
		return;
	case KS_FLOAT:
		print_double(v->number, out);
		return;
	case KS_STRING:
		ks_buf_add(out, v->string, v->n);
		return;
	case KS_LIST:
		ks_buf_add_char(out, '[');
		for (uint32_t i = 0; i < v->n; i++) {
			if (i)
				ks_buf_add_char(out, ' ');
			ks_value_print(&v->items[i], out);
		}
		ks_buf_add_char(out, ']');
		return;
	case KS_MAP:
		print_map(v, out);
		return;
	default:
		ks_buf_add_str(out, "<nil>");
	}
}
