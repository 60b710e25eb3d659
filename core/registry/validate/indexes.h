/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Indexes of a job's pods as texts: "0,2-4,7". */
#ifndef KS_REGISTRY_VALIDATE_INDEXES_H
#define KS_REGISTRY_VALIDATE_INDEXES_H

#include "core/api/validate.h"

/* "3" or "3-7"; NULL, or what is wrong. */
const char *ks_index_interval(struct ks_check *c, struct ks_str s, int64_t completions, int64_t *from_r, int64_t *to_r);
/* Counts them; NULL, or what is wrong (they count as none then). */
const char *ks_index_count(struct ks_check *c, struct ks_str s, int64_t completions, int64_t *total_r);
/* The first index that both have; -1 when there is none. What can't be read is passed over. */
int64_t ks_index_overlap(struct ks_check *c, struct ks_str a, struct ks_str b, int64_t completions);

#endif
