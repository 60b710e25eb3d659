/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchers of a store: each is a cursor into the store's history, and one thread
 * that moves them. The store says where events come from; whether they are recent and
 * in memory or old and on disk makes no difference to a cursor, so the change from
 * history to live has no seam.
 */
#ifndef KS_STORAGE_WATCHERS_H
#define KS_STORAGE_WATCHERS_H

#include <keelson/storage.h>
#include <stdint.h>

#include "storage/common/record.h"

#define KS_WATCHERS_BATCH 256

struct ks_watchers;

struct ks_watch_source {
	/* Fills records[] (at most KS_WATCHERS_BATCH) with what was written from revision `from` on, in order, a reference of each for the caller;
	 * *next_r: the first revision that was not looked at. KS_DONE, KS_ERR_COMPACTED when `from` is gone, or another error. On the watchers' thread. */
	int (*fetch)(void *self, uint64_t from, struct ks_record **records, size_t *n_r, uint64_t *next_r);
	/* The revision up to which all is known. Any thread. */
	uint64_t (*current)(void *self);
	/* The oldest revision that can be watched from. Any thread. */
	uint64_t (*oldest)(void *self);
	void *self;
};

/* Starts the thread. NULL when out of memory or threads. */
struct ks_watchers *ks_watchers_new(const struct ks_host *host, const struct ks_watch_source *source);
/* Ends the thread; watches that are open never hear again. */
void ks_watchers_free(struct ks_watchers **watchers);
/* There is something new. Any thread. */
void ks_watchers_wake(struct ks_watchers *watchers);

/* As in struct ks_store_ops. */
int ks_watchers_open(struct ks_watchers *watchers, const struct ks_store_watch *watch, void **watch_r);
void ks_watchers_credit(struct ks_watchers *watchers, void *watch, uint64_t n);
void ks_watchers_close(struct ks_watchers *watchers, void *watch);

#endif
