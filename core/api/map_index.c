/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/map_index.h"

/* Fewer are searched as fast from the front. */
enum { FEW = 24 };

/* -- the table ---------------------------------------------------------------------------------------------------- */

static uint32_t *slot_of(const struct ks_map_index *index, struct ks_str name)
{
	uint32_t at = ks_schema_hash(name.p, name.n) & index->mask;

	while (index->slots[at] && !ks_str_eq(index->members[index->slots[at] - 1].key, name))
		at = (at + 1) & index->mask;
	return &index->slots[at];
}

/* With room for as many again. False when out of memory. */
static bool build(struct ks_map_index *index, struct ks_arena *arena, const struct ks_value *map)
{
	uint64_t size = 64;

	while (size < (uint64_t)map->n * 4)
		size *= 2;
	if (size > UINT32_MAX / 2)
		return false;
	index->slots = ks_arena_zalloc(arena, size, sizeof(*index->slots));
	if (!index->slots)
		return false;
	index->mask = (uint32_t)size - 1;
	index->members = map->members;
	index->n = map->n;
	for (uint32_t i = 0; i < map->n; i++)
		if (!index->holes || map->members[i].value.kind != KS_ABSENT)
			*slot_of(index, map->members[i].key) = i + 1;
	return true;
}

/* -1 when out of memory, 0 when the map is so small that there is no table, 1. */
static int follow(struct ks_map_index *index, struct ks_arena *arena, const struct ks_value *map)
{
	if (index->slots && index->members == map->members && index->n == map->n)
		return 1;
	if (map->n <= FEW) {
		index->slots = NULL;
		return 0;
	}
	return build(index, arena, map) ? 1 : -1;
}

/* -- members ------------------------------------------------------------------------------------------------------ */

struct ks_value *ks_map_index_get(struct ks_map_index *index, struct ks_arena *arena, const struct ks_value *map, struct ks_str name, bool *failed)
{
	int has = follow(index, arena, map);
	struct ks_value *value;
	uint32_t at;

	*failed = has < 0;
	if (has < 0)
		return NULL;
	if (!has)
		return ks_value_get_str(NULL, map, name);
	at = *slot_of(index, name);
	value = at ? &map->members[at - 1].value : NULL;
	return value && value->kind != KS_ABSENT ? value : NULL;
}

/* A name that was taken out before comes to stand at the end, as a new one does. */
static struct ks_value *add(struct ks_map_index *index, struct ks_arena *arena, struct ks_value *map, struct ks_str name, uint32_t *slot)
{
	const char *copy = ks_arena_dup(arena, name.p, name.n);
	struct ks_value *value = copy ? ks_value_add(arena, map, ks_str_of(copy, name.n)) : NULL;

	if (!value)
		return NULL;
	if (*slot)
		map->members[*slot - 1].key = (struct ks_str){0};
	*slot = map->n;
	index->members = map->members;
	index->n = map->n;
	if ((uint64_t)index->n * 2 > index->mask)
		index->slots = NULL; /* made anew, larger, by the next call */
	return value;
}

struct ks_value *ks_map_index_put(struct ks_map_index *index, struct ks_arena *arena, struct ks_value *map, struct ks_str name)
{
	int has = follow(index, arena, map);
	uint32_t *slot;

	if (has <= 0)
		return has ? NULL : ks_value_put(arena, NULL, map, name);
	slot = slot_of(index, name);
	if (*slot && (!index->holes || map->members[*slot - 1].value.kind != KS_ABSENT))
		return &map->members[*slot - 1].value;
	return add(index, arena, map, name, slot);
}

bool ks_map_index_remove(struct ks_map_index *index, struct ks_arena *arena, struct ks_value *map, struct ks_str name)
{
	bool failed;
	struct ks_value *value = ks_map_index_get(index, arena, map, name, &failed);

	if (failed || !value)
		return !failed;
	if (!index->slots) {
		ks_value_remove(NULL, map, name);
		return true;
	}
	*value = (struct ks_value){.kind = KS_ABSENT};
	index->holes = true;
	return true;
}

void ks_map_index_finish(struct ks_map_index *index, struct ks_value *map)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; index->holes && i < map->n; i++)
		if (map->members[i].value.kind != KS_ABSENT)
			map->members[kept++] = map->members[i];
	if (index->holes)
		map->n = kept;
	*index = (struct ks_map_index){0};
}
