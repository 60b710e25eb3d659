/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Lists of strategic merge patches: finding items by key, and the order of what is merged. Private to core/api. */
#ifndef KS_API_PATCH_LIST_H
#define KS_API_PATCH_LIST_H

#include "core/api/patch.h"

struct ks_smp {
	struct ks_arena *arena;
	const struct ks_schema *s;
	const char *message;
	int rc;
};

/* Sets rc and message; false. A NULL message is out of memory. */
bool ks_smp_fail(struct ks_smp *m, int rc, const char *message);
/* -EPROTO with printf's text, %v's printed by ks_value_print before. */
const char *ks_smp_print(struct ks_smp *m, const struct ks_value *v);
/* "map: ... does not contain declared merge key: KEY" */
bool ks_smp_no_merge_key(struct ks_smp *m, const struct ks_value *map, struct ks_str key);
/* "expected a X, but received a Y" */
bool ks_smp_bad_type(struct ks_smp *m, const char *expected, const struct ks_value *v);

/* Equal as Go compares two interface values: of one type, and no lists or maps. */
bool ks_smp_same(const struct ks_value *a, const struct ks_value *b);

/* Items of a list by their scalar (or by their member `key`, when it has one): the first of equal ones. */
struct ks_smp_index {
	const struct ks_value *list;
	struct ks_str key; /* n 0: the items themselves */
	uint32_t *slots;   /* item + 1; 0: free */
	uint32_t mask, used;
};

/* `room`: how many items may be added later. False when out of memory. */
bool ks_smp_index_init(struct ks_smp *m, struct ks_smp_index *index, const struct ks_value *list, struct ks_str key, uint32_t room);
/* Adds item `at` of the list, if no earlier one has its scalar. */
void ks_smp_index_add(struct ks_smp_index *index, uint32_t at);
/* Number of the item with that scalar, or -1. */
int64_t ks_smp_index_find(const struct ks_smp_index *index, const struct ks_value *scalar);
/* What an item is found by; NULL when it has none. */
const struct ks_value *ks_smp_scalar(const struct ks_value *item, struct ks_str key);

/* Puts what was merged in order: items that the patch names in the order of `patch_order`, the others in the order of `server_order`, woven together by the latter. */
bool ks_smp_order(struct ks_smp *m, struct ks_value *merged, const struct ks_value *patch_order, const struct ks_value *server_order, struct ks_str key);

#endif
