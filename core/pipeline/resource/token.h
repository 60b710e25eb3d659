/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Continue tokens of lists, in the form that every API server of a cluster understands. */
#ifndef KS_PIPELINE_RESOURCE_TOKEN_H
#define KS_PIPELINE_RESOURCE_TOKEN_H

#include <stdint.h>

#include "core/api/schema.h"
#include "core/util/arena.h"

struct ks_token {
	int64_t revision;     /* below 0: whatever is there now */
	struct ks_str start;  /* first key wanted, relative to the list's prefix */
};

/* 0, -EINVAL with *message_r, -ENOMEM. */
int ks_token_decode(struct ks_arena *arena, const struct ks_schema *schema, struct ks_str text, struct ks_token *out_r, const char **message_r)
	__attribute__((warn_unused_result));
/* For what comes after the key `last`. NULL when out of memory. */
const char *ks_token_encode(struct ks_arena *arena, int64_t revision, struct ks_str last) __attribute__((warn_unused_result));

#endif
