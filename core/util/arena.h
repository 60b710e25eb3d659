/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that lives and dies together: a request's working tree, a decoded
 * object. One thread at a time uses an arena.
 */
#ifndef KS_UTIL_ARENA_H
#define KS_UTIL_ARENA_H

#include <stddef.h>

#include "core/util/str.h"

struct ks_arena_block;

struct ks_arena {
	struct ks_arena_block *head;
	char *next, *end;
	size_t used;  /* bytes taken from the system */
	size_t limit; /* most bytes to take; 0: no limit */
};

/* `limit`: most bytes that it may take from the system, 0 for no limit. */
void ks_arena_init(struct ks_arena *arena, size_t limit);
/* Lends an empty arena its first memory, aligned to 16, which lives longer than what is allocated. Until fini. */
void ks_arena_lend(struct ks_arena *arena, void *memory, size_t size);
/* Frees everything; the arena can be used again. Safe on a zeroed arena. */
void ks_arena_fini(struct ks_arena *arena);
/* Forgets everything but keeps one block for the next use. */
void ks_arena_reset(struct ks_arena *arena);

/* Memory aligned to 16, not zeroed. NULL when memory or the limit is used up. */
void *ks_arena_alloc(struct ks_arena *arena, size_t size) __attribute__((warn_unused_result));
/* The same, zeroed. `n * size` is checked for overflow. */
void *ks_arena_zalloc(struct ks_arena *arena, size_t n, size_t size) __attribute__((warn_unused_result));
/* Copies `n` bytes and puts a NUL after them. */
char *ks_arena_dup(struct ks_arena *arena, const char *p, size_t n) __attribute__((warn_unused_result));
/* printf into the arena; NULL when out of memory. */
char *ks_arena_printf(struct ks_arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3), warn_unused_result));

#endif
