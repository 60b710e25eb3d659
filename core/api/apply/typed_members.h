/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The members of a map by key: large maps are not searched from the front. Private to typed_*.c. */
#ifndef KS_API_TYPED_MEMBERS_H
#define KS_API_TYPED_MEMBERS_H

#include "core/api/value.h"

struct ks_members {
	const struct ks_value *map;
	const struct ks_member **sorted; /* NULL: the map is small, or sorted as it is */
	bool in_order;
};

/* `map` may be NULL; anything but a MAP has no members. False when out of memory. */
bool ks_members_init(struct ks_arena *arena, const struct ks_value *map, struct ks_members *out_r) __attribute__((warn_unused_result));
/* The i-th: in the order of the keys when the map is large, so that sets are filled in their order. */
static inline const struct ks_member *ks_members_at(const struct ks_members *members, uint32_t i)
{
	return members->sorted ? members->sorted[i] : &members->map->members[i];
}
/* NULL when there is none. `hint`: where it probably is. */
const struct ks_member *ks_members_find(const struct ks_members *members, uint32_t hint, struct ks_str key);

#endif
