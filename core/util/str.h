/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A view of bytes that somebody else owns. Never NUL-terminated by contract. */
#ifndef KS_UTIL_STR_H
#define KS_UTIL_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct ks_str {
	const char *p; /* may be NULL when n is 0 */
	size_t n;
};

#define KS_STR_LIT(s) ((struct ks_str){(s), sizeof(s) - 1})

static inline struct ks_str ks_str_from(const char *s)
{
	return (struct ks_str){s, s ? strlen(s) : 0};
}

static inline struct ks_str ks_str_of(const char *p, size_t n)
{
	return (struct ks_str){p, n};
}

static inline bool ks_str_eq(struct ks_str a, struct ks_str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool ks_str_is(struct ks_str a, const char *s)
{
	return ks_str_eq(a, ks_str_from(s));
}

/* Orders as Go orders strings: by unsigned bytes, a prefix first. */
static inline int ks_str_cmp(struct ks_str a, struct ks_str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;

	if (c)
		return c;
	return a.n < b.n ? -1 : a.n > b.n;
}

static inline bool ks_str_starts(struct ks_str a, struct ks_str prefix)
{
	return a.n >= prefix.n && (prefix.n == 0 || memcmp(a.p, prefix.p, prefix.n) == 0);
}

#endif
