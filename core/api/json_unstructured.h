/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Private to core/api. */
#ifndef KS_API_JSON_UNSTRUCTURED_H
#define KS_API_JSON_UNSTRUCTURED_H

#include "core/api/json.h"

/* What upstream's converter says of a free-form tree as `type`; unknown fields go to `strict` (may be NULL), sorted. 0, -EINVAL (message), -ENOMEM. */
int ks_unstructured_check(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, const struct ks_value *from,
	struct ks_strict_errors *strict, const char **message_r) __attribute__((warn_unused_result));

#endif
