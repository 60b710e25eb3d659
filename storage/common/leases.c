/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "storage/common/leases.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t ks_leases_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void swap(struct ks_leases *leases, size_t a, size_t b)
{
	struct ks_lease *l = leases->heap[a];

	leases->heap[a] = leases->heap[b];
	leases->heap[b] = l;
}

static void sift_down(struct ks_leases *leases, size_t i)
{
	for (;;) {
		size_t least = i, child = 2 * i + 1;

		if (child < leases->n && leases->heap[child]->until_ms < leases->heap[least]->until_ms)
			least = child;
		if (child + 1 < leases->n && leases->heap[child + 1]->until_ms < leases->heap[least]->until_ms)
			least = child + 1;
		if (least == i)
			return;
		swap(leases, i, least);
		i = least;
	}
}

int ks_leases_add(struct ks_leases *leases, struct ks_view key, uint64_t revision, uint64_t until_ms)
{
	struct ks_lease *l;
	size_t i;

	if (leases->n == leases->size) {
		size_t size = leases->size ? 2 * leases->size : 16;
		struct ks_lease **grown = realloc(leases->heap, size * sizeof(struct ks_lease *));

		if (!grown)
			return KS_ERR_NOMEM;
		leases->heap = grown;
		leases->size = size;
	}
	l = malloc(sizeof(*l) + key.n);
	if (!l)
		return KS_ERR_NOMEM;
	*l = (struct ks_lease){until_ms, revision, key.n};
	memcpy(l->key, key.p, key.n);
	leases->heap[leases->n] = l;
	for (i = leases->n++; i > 0 && leases->heap[(i - 1) / 2]->until_ms > until_ms; i = (i - 1) / 2)
		swap(leases, i, (i - 1) / 2);
	return KS_DONE;
}

uint64_t ks_leases_next_ms(const struct ks_leases *leases)
{
	return leases->n ? leases->heap[0]->until_ms : UINT64_MAX;
}

struct ks_lease *ks_leases_take(struct ks_leases *leases, uint64_t now_ms)
{
	struct ks_lease *l;

	if (ks_leases_next_ms(leases) > now_ms)
		return NULL;
	l = leases->heap[0];
	leases->heap[0] = leases->heap[--leases->n];
	sift_down(leases, 0);
	return l;
}

void ks_leases_fini(struct ks_leases *leases)
{
	while (leases->n)
		free(leases->heap[--leases->n]);
	free(leases->heap);
	*leases = (struct ks_leases){NULL, 0, 0};
}
