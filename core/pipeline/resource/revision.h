/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Reads that name a revision wait, for a while, until the cache has reached it. */
#ifndef KS_PIPELINE_RESOURCE_REVISION_H
#define KS_PIPELINE_RESOURCE_REVISION_H

#include "core/cache/cache.h"
#include "core/pipeline/request.h"

struct ks_revision_wait {
	struct ks_request *request;
	struct ks_cache_resource *cache;
	uint64_t revision;
	struct ks_cache_wait wait;
	struct ks_timer timer;
	bool waiting, late;
};

/* KS_STAGE_PENDING: the request is resumed; KS_STAGE_FAILED. Zeroed before. Memory of the request. */
enum ks_stage_result ks_revision_wait_start(struct ks_revision_wait *wait, struct ks_request *request, struct ks_cache_resource *cache, uint64_t revision);
/* After being resumed: 0, or 504 in request->status when it took too long. */
int ks_revision_wait_result(struct ks_revision_wait *wait) __attribute__((warn_unused_result));

#endif
