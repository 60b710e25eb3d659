/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/util/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ALIGN = 16, FIRST_BLOCK = 4096, LARGEST_BLOCK = 256 * 1024 };

struct ks_arena_block {
	struct ks_arena_block *older;
	size_t size; /* of the memory behind this header */
	_Alignas(ALIGN) char memory[];
};

void ks_arena_init(struct ks_arena *arena, size_t limit)
{
	*arena = (struct ks_arena){.limit = limit};
}

void ks_arena_lend(struct ks_arena *arena, void *memory, size_t size)
{
	arena->next = memory;
	arena->end = arena->next + size;
}

static void free_from(struct ks_arena_block *block)
{
	while (block) {
		struct ks_arena_block *older = block->older;

		free(block);
		block = older;
	}
}

void ks_arena_fini(struct ks_arena *arena)
{
	free_from(arena->head);
	ks_arena_init(arena, arena->limit);
}

void ks_arena_reset(struct ks_arena *arena)
{
	struct ks_arena_block *kept = arena->head;

	if (!kept)
		return;
	free_from(kept->older);
	kept->older = NULL;
	arena->next = kept->memory;
	arena->end = kept->memory + kept->size;
	arena->used = kept->size;
}

static size_t next_block_size(const struct ks_arena *arena, size_t size)
{
	size_t wanted = arena->head ? arena->head->size * 2 : FIRST_BLOCK;

	if (wanted > LARGEST_BLOCK)
		wanted = LARGEST_BLOCK;
	return wanted < size ? size : wanted;
}

static void *alloc_in_new_block(struct ks_arena *arena, size_t size)
{
	size_t block_size = next_block_size(arena, size);
	struct ks_arena_block *block;

	if (arena->limit && (arena->used > arena->limit || block_size > arena->limit - arena->used)) {
		block_size = size;
		if (arena->used > arena->limit || size > arena->limit - arena->used)
			return NULL;
	}
	block = malloc(sizeof(*block) + block_size);
	if (!block)
		return NULL;
	block->older = arena->head;
	block->size = block_size;
	arena->head = block;
	arena->used += block_size;
	arena->next = block->memory + size;
	arena->end = block->memory + block_size;
	return block->memory;
}

void *ks_arena_alloc(struct ks_arena *arena, size_t size)
{
	char *p = arena->next;

	if (size > SIZE_MAX / 4)
		return NULL;
	size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if ((size_t)(arena->end - p) < size || !p)
		return alloc_in_new_block(arena, size);
	arena->next = p + size;
	return p;
}

void *ks_arena_zalloc(struct ks_arena *arena, size_t n, size_t size)
{
	size_t total;
	void *p;

	if (__builtin_mul_overflow(n, size, &total))
		return NULL;
	p = ks_arena_alloc(arena, total);
	return p ? memset(p, 0, total) : NULL;
}

char *ks_arena_dup(struct ks_arena *arena, const char *p, size_t n)
{
	char *copy = ks_arena_alloc(arena, n + 1);

	if (!copy)
		return NULL;
	if (n)
		memcpy(copy, p, n);
	copy[n] = '\0';
	return copy;
}

char *ks_arena_printf(struct ks_arena *arena, const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0)
		return NULL;
	text = ks_arena_alloc(arena, (size_t)n + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)n + 1, format, args);
	va_end(args);
	return text;
}
