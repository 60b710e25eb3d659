/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait until a store's events have come as far as a revision. */
#include <errno.h>

#include "core/cache/internal.h"

int ks_waits_init(struct ks_waits *waits)
{
	waits->first = NULL;
	return pthread_mutex_init(&waits->lock, NULL) ? -ENOMEM : 0;
}

void ks_waits_fini(struct ks_waits *waits)
{
	pthread_mutex_destroy(&waits->lock);
}

void ks_cache_wait_for(struct ks_cache_resource *r, struct ks_cache_wait *wait)
{
	struct ks_waits *waits = &r->feed->waits;
	struct ks_cache_wait **link;

	wait->resource = r;
	pthread_mutex_lock(&waits->lock);
	wait->queued = atomic_load(&r->feed->revision) < wait->revision;
	if (wait->queued) {
		for (link = &waits->first; *link && (*link)->revision <= wait->revision; link = &(*link)->next)
			;
		wait->next = *link;
		*link = wait;
	} else {
		ks_loop_post(wait->loop, &wait->task);
	}
	pthread_mutex_unlock(&waits->lock);
}

bool ks_cache_unwait(struct ks_cache_wait *wait)
{
	struct ks_waits *waits = &wait->resource->feed->waits;
	struct ks_cache_wait **link;
	bool queued;

	pthread_mutex_lock(&waits->lock);
	queued = wait->queued;
	if (queued) {
		for (link = &waits->first; *link != wait; link = &(*link)->next)
			;
		*link = wait->next;
		wait->queued = false;
	}
	pthread_mutex_unlock(&waits->lock);
	return queued;
}

void ks_waits_reached(struct ks_waits *waits, uint64_t revision)
{
	struct ks_cache_wait *wait;

	pthread_mutex_lock(&waits->lock);
	while ((wait = waits->first) && wait->revision <= revision) {
		waits->first = wait->next;
		wait->queued = false;
		ks_loop_post(wait->loop, &wait->task); /* it may be gone once this has run */
	}
	pthread_mutex_unlock(&waits->lock);
}
