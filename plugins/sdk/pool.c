/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <keelson/sdk/pool.h>

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, FIRST = 256, BLOCK = 4096 };

struct block {
	struct block *older;
	size_t used, size;
	_Alignas(ALIGNMENT) char memory[];
};

struct ks_pool {
	struct block *head;
};

struct ks_pool *ks_pool_new(void)
{
	return calloc(1, sizeof(struct ks_pool));
}

void ks_pool_free(struct ks_pool *pool)
{
	if (!pool)
		return;
	for (struct block *b = pool->head; b;) {
		struct block *older = b->older;

		free(b);
		b = older;
	}
	free(pool);
}

static struct block *add_block(struct ks_pool *pool, size_t size)
{
	/* Many pools hold little: blocks begin small and grow. */
	size_t room = !pool->head ? FIRST : pool->head->size < BLOCK / 2 ? pool->head->size * 2 : BLOCK;
	struct block *b;

	if (room < size)
		room = size;
	b = calloc(1, sizeof(*b) + room);
	if (!b)
		return NULL;
	b->size = room;
	b->older = pool->head;
	pool->head = b;
	return b;
}

void *ks_pool_alloc(struct ks_pool *pool, size_t n, size_t size)
{
	struct block *b = pool->head;
	size_t total;
	void *p;

	if (__builtin_mul_overflow(n, size, &total) || total > SIZE_MAX / 4)
		return NULL;
	total = (total + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if (!b || b->size - b->used < total)
		b = add_block(pool, total);
	if (!b)
		return NULL;
	p = b->memory + b->used;
	b->used += total;
	return p;
}

struct ks_view ks_pool_view(struct ks_pool *pool, struct ks_view from)
{
	char *copy = ks_pool_alloc(pool, from.n + 1, 1);

	if (copy && from.n)
		memcpy(copy, from.p, from.n);
	return (struct ks_view){copy, copy ? from.n : 0};
}

struct ks_view ks_pool_printf(struct ks_pool *pool, const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	text = n < 0 ? NULL : ks_pool_alloc(pool, (size_t)n + 1, 1);
	if (!text)
		return (struct ks_view){0};
	va_start(args, format);
	vsnprintf(text, (size_t)n + 1, format, args);
	va_end(args);
	return (struct ks_view){text, (size_t)n};
}

int ks_view_eq(struct ks_view a, struct ks_view b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

int ks_view_is(struct ks_view a, const char *s)
{
	return ks_view_eq(a, ks_view_lit(s));
}
