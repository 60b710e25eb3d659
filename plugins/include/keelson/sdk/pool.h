/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* keelson/sdk/pool.h: memory of one thing (a parsed object, a compiled policy) that is freed at once. Link with -lkeelson-sdk. One thread at a time. */
#ifndef KEELSON_SDK_POOL_H
#define KEELSON_SDK_POOL_H

#include <keelson/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ks_pool;

/* NULL when out of memory. */
struct ks_pool *ks_pool_new(void);
/* NULL is safe. */
void ks_pool_free(struct ks_pool *pool);
/* Zeroed memory, aligned for anything; `n * size` is checked. NULL when out of memory. */
void *ks_pool_alloc(struct ks_pool *pool, size_t n, size_t size);
/* A copy with a NUL behind it. p is NULL when out of memory. */
struct ks_view ks_pool_view(struct ks_pool *pool, struct ks_view from);
/* printf; p is NULL when out of memory. */
struct ks_view ks_pool_printf(struct ks_pool *pool, const char *format, ...)
#if defined(__GNUC__)
	__attribute__((format(printf, 2, 3)))
#endif
	;

static inline struct ks_view ks_view_lit(const char *s)
{
	size_t n = 0;

	while (s && s[n])
		n++;
	return (struct ks_view){s, n};
}
/* 1 when equal. */
int ks_view_eq(struct ks_view a, struct ks_view b);
int ks_view_is(struct ks_view a, const char *s);

#ifdef __cplusplus
}
#endif

#endif
