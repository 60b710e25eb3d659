/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Paths and queries of URLs, decoded as Go's net/url does. */
#ifndef KS_PIPELINE_QUERY_H
#define KS_PIPELINE_QUERY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/util/arena.h"
#include "core/util/str.h"

struct ks_query {
	const struct ks_query_item { struct ks_str key, value; } *items;
	size_t n;
	bool parsed;
};

/* "a=1&b=%20" into items, in order. A pair that can't be decoded, or that has a semicolon, is left out. 0, -ENOMEM, or -E2BIG for more than
 * 4,096 pairs. */
int ks_query_parse(struct ks_arena *arena, struct ks_str raw, struct ks_query *out_r) __attribute__((warn_unused_result));
/* First value; p NULL when the key is absent, "" when it has no value. */
struct ks_str ks_query_get(const struct ks_query *query, const char *key);

/* Percent-decodes; '+' stays in a path and is a space in a query. 0, -EINVAL (a malformed escape), -ENOMEM. The input itself when nothing is escaped. */
int ks_url_decode(struct ks_arena *arena, struct ks_str raw, bool in_query, struct ks_str *out_r) __attribute__((warn_unused_result));

/* strconv.ParseBool. 1 true, 0 false, -1 neither. */
int ks_parse_bool(struct ks_str text);

#endif
