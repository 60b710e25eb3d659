/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "admission/podsecurity/podsecurity.h"

static int grow(const struct ks_admit *call, struct ks_pss_names *names)
{
	size_t cap = names->cap ? names->cap * 2 : 8;
	struct ks_view *items;

	if (names->n < names->cap)
		return 1;
	items = call->host->op_alloc(call->op, cap * sizeof(*items));
	names->failed |= !items;
	if (!items)
		return 0;
	if (names->n)
		memcpy(items, names->items, names->n * sizeof(*items));
	names->items = items;
	names->cap = cap;
	return 1;
}

void ks_pss_names_add(const struct ks_admit *call, struct ks_pss_names *names, struct ks_view name)
{
	if (grow(call, names))
		names->items[names->n++] = name;
}

static int compare(struct ks_view a, struct ks_view b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;

	return c ? c : (a.n > b.n) - (a.n < b.n);
}

void ks_pss_names_insert(const struct ks_admit *call, struct ks_pss_names *names, struct ks_view name)
{
	size_t at = 0;

	while (at < names->n && compare(names->items[at], name) < 0)
		at++;
	if ((at < names->n && ks_view_eq(names->items[at], name)) || !grow(call, names))
		return;
	memmove(&names->items[at + 1], &names->items[at], (names->n - at) * sizeof(*names->items));
	names->items[at] = name;
	names->n++;
}

struct ks_view ks_pss_names_joined(const struct ks_admit *call, const struct ks_pss_names *names, const char *between)
{
	struct ks_view text = {"", 0};

	for (size_t i = 0; i < names->n; i++)
		text = ks_admit_printf(call, "%.*s%s%.*s", KS_VIEW_ARGS(text), i ? between : "", KS_VIEW_ARGS(names->items[i]));
	return text;
}

struct ks_view ks_pss_names_quoted(const struct ks_admit *call, const struct ks_pss_names *names)
{
	return ks_admit_printf(call, "\"%.*s\"", KS_VIEW_ARGS(ks_pss_names_joined(call, names, "\", \"")));
}
