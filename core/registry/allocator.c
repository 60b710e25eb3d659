/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/allocator.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

int ks_allocator_init(struct ks_allocator *a, uint32_t first, uint32_t count, uint32_t reserved)
{
	*a = (struct ks_allocator){.first = first, .count = count, .reserved = reserved < count ? reserved : 0};
	a->used = calloc(count / 64 + 1, sizeof(*a->used));
	if (!a->used)
		return -ENOMEM;
	pthread_mutex_init(&a->lock, NULL);
	return 0;
}

void ks_allocator_fini(struct ks_allocator *a)
{
	if (!a->used)
		return;
	free(a->used);
	a->used = NULL;
	pthread_mutex_destroy(&a->lock);
}

bool ks_allocator_has(const struct ks_allocator *a, uint32_t number)
{
	return number >= a->first && number - a->first < a->count;
}

static bool is_used(const struct ks_allocator *a, uint32_t at)
{
	return a->used[at / 64] >> (at % 64) & 1;
}

static void set_used(struct ks_allocator *a, uint32_t at)
{
	a->used[at / 64] |= 1ull << (at % 64);
	a->n_used++;
}

bool ks_allocator_take(struct ks_allocator *a, uint32_t number)
{
	bool taken = false;

	if (!ks_allocator_has(a, number))
		return false;
	pthread_mutex_lock(&a->lock);
	if (!is_used(a, number - a->first)) {
		set_used(a, number - a->first);
		taken = true;
	}
	pthread_mutex_unlock(&a->lock);
	return taken;
}

/* A free place in [from, to), looked for from a random one on; `count` when there is none. */
static uint32_t find_free(const struct ks_allocator *a, uint32_t from, uint32_t to)
{
	uint32_t n = to - from, start = 0;

	if (!n)
		return a->count;
	if (getrandom(&start, sizeof(start), GRND_NONBLOCK) != sizeof(start))
		start = (uint32_t)time(NULL);
	start %= n;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = from + (start + i) % n;

		if (!is_used(a, at))
			return at;
	}
	return a->count;
}

bool ks_allocator_take_any(struct ks_allocator *a, uint32_t *number_r)
{
	uint32_t at = a->count;

	pthread_mutex_lock(&a->lock);
	if (a->n_used < a->count) {
		at = find_free(a, a->reserved, a->count);
		if (at == a->count)
			at = find_free(a, 0, a->reserved);
	}
	if (at < a->count)
		set_used(a, at);
	pthread_mutex_unlock(&a->lock);
	if (at == a->count)
		return false;
	*number_r = a->first + at;
	return true;
}

void ks_allocator_give_back(struct ks_allocator *a, uint32_t number)
{
	if (!ks_allocator_has(a, number))
		return;
	pthread_mutex_lock(&a->lock);
	if (is_used(a, number - a->first)) {
		a->used[(number - a->first) / 64] &= ~(1ull << ((number - a->first) % 64));
		a->n_used--;
	}
	pthread_mutex_unlock(&a->lock);
}
