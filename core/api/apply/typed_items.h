/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The items of a SET or KEYED list by their keys. Private to typed_*.c. */
#ifndef KS_API_TYPED_ITEMS_H
#define KS_API_TYPED_ITEMS_H

#include "core/api/apply/typed.h"

struct ks_typed_item {
	struct ks_path_element element;
	uint32_t first; /* index in the list */
	uint32_t count; /* more than 1: the key is there several times */
};

#define KS_NO_ITEM UINT32_MAX

struct ks_typed_items {
	struct ks_typed_item *items; /* sorted, unique */
	uint32_t n;
	uint32_t *of;                /* for each item of the list, its place in `items`; KS_NO_ITEM without a key */
	uint32_t *next;              /* for each item of the list with a key, the next one with the same; KS_NO_ITEM after the last */
};

/* `list` may be NULL. False when out of memory. */
bool ks_typed_items(struct ks_arena *arena, const struct ks_schema *s, struct ks_shape shape, const struct ks_value *list,
	struct ks_typed_items *out_r) __attribute__((warn_unused_result));
/* Its place, or KS_NO_ITEM. */
uint32_t ks_typed_items_find(const struct ks_typed_items *items, const struct ks_path_element *element);

#endif
