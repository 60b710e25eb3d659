/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/apply/typed_items.h"

#include <stdlib.h>

static int by_element(const void *a, const void *b)
{
	const struct ks_typed_item *x = a, *y = b;
	int c = ks_path_element_compare(&x->element, &y->element);

	return c ? c : x->first < y->first ? -1 : x->first > y->first;
}

static void make_unique(struct ks_typed_items *all)
{
	uint32_t n = 0, last = 0;

	for (uint32_t i = 0; i < all->n; i++) {
		uint32_t index = all->items[i].first;

		if (n && !ks_path_element_compare(&all->items[n - 1].element, &all->items[i].element)) {
			all->items[n - 1].count++;
			all->next[last] = index;
		} else {
			all->items[n++] = all->items[i];
		}
		all->of[index] = n - 1;
		all->next[index] = KS_NO_ITEM;
		last = index;
	}
	all->n = n;
}

bool ks_typed_items(struct ks_arena *arena, const struct ks_schema *s, struct ks_shape shape, const struct ks_value *list,
	struct ks_typed_items *out_r)
{
	struct ks_typed_items all = {0};
	uint32_t n = list && list->kind == KS_LIST ? list->n : 0;

	all.items = ks_arena_alloc(arena, (n + 1) * sizeof(*all.items));
	all.of = ks_arena_alloc(arena, (n + 1) * sizeof(*all.of));
	all.next = ks_arena_alloc(arena, (n + 1) * sizeof(*all.next));
	if (!all.items || !all.of || !all.next)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct ks_typed_item *item = &all.items[all.n];
		int found = ks_typed_element(arena, s, shape, &list->items[i], &item->element);

		if (found < 0)
			return false;
		all.of[i] = KS_NO_ITEM;
		item->first = i;
		item->count = 1;
		all.n += found == 1;
	}
	if (all.n > 1)
		qsort(all.items, all.n, sizeof(*all.items), by_element);
	make_unique(&all);
	*out_r = all;
	return true;
}

uint32_t ks_typed_items_find(const struct ks_typed_items *items, const struct ks_path_element *element)
{
	uint32_t from = 0, to = items->n;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		int c = ks_path_element_compare(&items->items[middle].element, element);

		if (!c)
			return middle;
		if (c < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return KS_NO_ITEM;
}
