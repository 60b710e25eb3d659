/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of a large MAP by name, while it is changed: looking for a name, adding and taking out take constant time, where
 * ks_value_get, _put and _remove go through the map.
 *
 * An index holds no reference to the map, it knows its members: each call is given the map, and makes the index anew when
 * somebody else has added or removed members since. Members that are taken out stay as absent ones until
 * ks_map_index_finish; nobody else should look at the map before.
 */
#ifndef KS_API_MAP_INDEX_H
#define KS_API_MAP_INDEX_H

#include "core/api/value.h"

struct ks_map_index { /* zeroed: of no map yet */
	const struct ks_member *members;
	uint32_t *slots; /* hashed by name: 1 + the place of the member */
	uint32_t n; /* members that are in it */
	uint32_t mask;
	bool holes; /* some were taken out */
};

/* The value of the member; NULL when there is none, and when out of memory, which `*failed` then says. */
struct ks_value *ks_map_index_get(struct ks_map_index *index, struct ks_arena *arena, const struct ks_value *map, struct ks_str name, bool *failed);
/* The same, made (absent) if need be; the name is copied. NULL when out of memory. */
struct ks_value *ks_map_index_put(struct ks_map_index *index, struct ks_arena *arena, struct ks_value *map, struct ks_str name)
	__attribute__((warn_unused_result));
/* Takes the member out, if there is one. False when out of memory. */
bool ks_map_index_remove(struct ks_map_index *index, struct ks_arena *arena, struct ks_value *map, struct ks_str name)
	__attribute__((warn_unused_result));
/* Closes the gaps of what was taken out. */
void ks_map_index_finish(struct ks_map_index *index, struct ks_value *map);

#endif
