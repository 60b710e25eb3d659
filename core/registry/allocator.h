/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of a range that are each given to one owner: cluster addresses and node ports. In memory, filled from the
 * cache before the first use; parallel creates never get the same number. Any thread.
 */
#ifndef KS_REGISTRY_ALLOCATOR_H
#define KS_REGISTRY_ALLOCATOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct ks_allocator {
	pthread_mutex_t lock;
	uint32_t first, count;  /* numbers first .. first + count - 1 */
	uint32_t reserved;      /* that many from the start are given only when asked for by number, or when all others are gone */
	uint32_t n_used;
	uint64_t *used;
};

/* 0 or -ENOMEM. */
int ks_allocator_init(struct ks_allocator *a, uint32_t first, uint32_t count, uint32_t reserved) __attribute__((warn_unused_result));
void ks_allocator_fini(struct ks_allocator *a);
bool ks_allocator_has(const struct ks_allocator *a, uint32_t number);
/* False when it is taken already or out of the range. */
bool ks_allocator_take(struct ks_allocator *a, uint32_t number) __attribute__((warn_unused_result));
/* Any free one. False when there is none. */
bool ks_allocator_take_any(struct ks_allocator *a, uint32_t *number_r) __attribute__((warn_unused_result));
void ks_allocator_give_back(struct ks_allocator *a, uint32_t number);

#endif
