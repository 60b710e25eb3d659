/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/validate/pem.h"

#include <stdio.h>

#include "core/registry/validate/common.h"

static struct ks_str next_line(struct ks_str *rest)
{
	const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
	struct ks_str line = ks_str_of(rest->p, end ? (size_t)(end - rest->p) : rest->n);

	*rest = end ? ks_str_of(end + 1, rest->n - line.n - 1) : (struct ks_str){0};
	while (line.n && strchr(" \t\r", line.p[line.n - 1]))
		line.n--;
	return line;
}

bool ks_pem_next(struct ks_str *rest, struct ks_pem *block_r)
{
	while (rest->n) {
		struct ks_str line = next_line(rest), ahead = *rest;
		struct ks_pem block = {.body = ahead};
		char end[160];
		int n;

		if (line.n < 16 || !ks_str_starts_with(line, "-----BEGIN ") || !ks_str_ends_with(line, "-----"))
			continue;
		block.type = ks_str_of(line.p + 11, line.n - 16);
		n = snprintf(end, sizeof(end), "-----END %.*s-----", (int)block.type.n, block.type.p);
		while (n > 0 && (size_t)n < sizeof(end) && ahead.n) {
			line = next_line(&ahead);
			if (ks_str_is(line, end)) {
				block.body.n = (size_t)(line.p - block.body.p);
				*block_r = block;
				*rest = ahead;
				return true;
			}
			if (ks_str_has(line, ":")) {
				block.headers = true;
				block.body = ahead;
			}
		}
	}
	return false;
}
