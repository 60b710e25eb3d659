/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Where a list reads from: a frozen state of the cache, or what the store still has of the past. */
#ifndef KS_PIPELINE_RESOURCE_SOURCE_H
#define KS_PIPELINE_RESOURCE_SOURCE_H

#include "core/pipeline/resource/options.h"
#include "core/pipeline/resource/revision.h"
#include "core/store/store.h"

/* Finds the state that a list asks for and walks it. Zeroed before; memory of the request. */
struct ks_source {
	struct ks_request *request;
	const struct ks_list_options *options;
	struct ks_cache_resource *cache;
	uint16_t storage;
	struct ks_watch_filter filter;
	uint64_t revision;             /* of the list */
	struct ks_str start;           /* first key wanted */
	bool unlimited;                /* the limit does not count here */
	/* private */
	struct ks_revision_wait wait;
	uint64_t asked;
	bool exact, waited, from_store, has_snapshot;
	struct ks_snapshot snapshot;
	struct ks_cursor cursor;
	struct ks_store_list list;
	size_t at;
	struct ks_object *made;        /* of the store's item that was returned last */
};

/* KS_STAGE_NEXT: ready to walk. KS_STAGE_PENDING: call again. KS_STAGE_FAILED: request->status is set. */
enum ks_stage_result ks_source_open(struct ks_source *source);
void ks_source_close(struct ks_source *source);
/* The next object that passes the filter, borrowed until the next call; NULL at the end, or when `*budget` (objects looked at) is used up. */
struct ks_object *ks_source_next(struct ks_source *source, uint32_t *budget);
/* Objects behind the one that was given last, whether they pass the filter or not; -1: not known without walking. */
int64_t ks_source_left(const struct ks_source *source);
/* There is more than the walk will show, and nobody knows how much. */
bool ks_source_is_cut(const struct ks_source *source);

#endif
