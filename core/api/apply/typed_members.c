/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/apply/typed_members.h"

#include <stdlib.h>

/* Fewer are searched as fast from the front. */
enum { FEW = 16 };

static int by_key(const void *a, const void *b)
{
	return ks_str_cmp((*(const struct ks_member *const *)a)->key, (*(const struct ks_member *const *)b)->key);
}

static bool is_in_order(const struct ks_value *map)
{
	for (uint32_t i = 1; i < map->n; i++)
		if (ks_str_cmp(map->members[i - 1].key, map->members[i].key) > 0)
			return false;
	return true;
}

bool ks_members_init(struct ks_arena *arena, const struct ks_value *map, struct ks_members *out_r)
{
	*out_r = (struct ks_members){.map = map && map->kind == KS_MAP ? map : NULL};
	if (!out_r->map || map->n <= FEW)
		return true;
	out_r->in_order = is_in_order(map);
	if (out_r->in_order)
		return true;
	out_r->sorted = ks_arena_alloc(arena, map->n * sizeof(*out_r->sorted));
	if (!out_r->sorted)
		return false;
	for (uint32_t i = 0; i < map->n; i++)
		out_r->sorted[i] = &map->members[i];
	qsort(out_r->sorted, map->n, sizeof(*out_r->sorted), by_key);
	return true;
}

static const struct ks_member *search(const struct ks_members *m, struct ks_str key)
{
	uint32_t from = 0, to = m->map->n;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		const struct ks_member *member = m->sorted ? m->sorted[middle] : &m->map->members[middle];
		int c = ks_str_cmp(member->key, key);

		if (!c)
			return member;
		if (c < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return NULL;
}

const struct ks_member *ks_members_find(const struct ks_members *m, uint32_t hint, struct ks_str key)
{
	const struct ks_value *map = m->map;

	if (!map)
		return NULL;
	if (hint < map->n && ks_str_eq(map->members[hint].key, key))
		return &map->members[hint];
	if (m->sorted || m->in_order)
		return search(m, key);
	for (uint32_t i = 0; i < map->n; i++)
		if (ks_str_eq(map->members[i].key, key))
			return &map->members[i];
	return NULL;
}
