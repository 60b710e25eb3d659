/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/revision.h"

enum { PATIENCE_MS = 3000 };

static void end_wait(struct ks_revision_wait *w)
{
	struct ks_request *request = w->request;

	w->waiting = false;
	ks_timer_cancel(&w->timer);
	ks_request_resume(request);
	ks_request_unpin(request);
}

static void on_cache(struct ks_task *task)
{
	end_wait((struct ks_revision_wait *)((char *)task - offsetof(struct ks_revision_wait, wait.task)));
}

static void on_impatience(struct ks_timer *timer)
{
	struct ks_revision_wait *w = (struct ks_revision_wait *)((char *)timer - offsetof(struct ks_revision_wait, timer));

	if (!w->waiting || !ks_cache_unwait(&w->wait))
		return;
	w->late = true;
	end_wait(w);
}

enum ks_stage_result ks_revision_wait_start(struct ks_revision_wait *w, struct ks_request *request, struct ks_cache_resource *cache, uint64_t revision)
{
	w->request = request;
	w->cache = cache;
	w->revision = revision;
	w->timer.fire = on_impatience;
	if (ks_timer_start(request->loop, &w->timer, PATIENCE_MS)) {
		ks_status_internal(&request->status, &request->arena, "out of memory");
		return KS_STAGE_FAILED;
	}
	w->wait = (struct ks_cache_wait){.task = {.run = on_cache}, .loop = request->loop, .revision = revision, .resource = cache};
	w->waiting = true;
	ks_request_pin(request);
	ks_cache_wait_for(cache, &w->wait);
	return KS_STAGE_PENDING;
}

int ks_revision_wait_result(struct ks_revision_wait *w)
{
	struct ks_status *status = &w->request->status;
	struct ks_arena *arena = &w->request->arena;

	if (!w->late)
		return 0;
	ks_status_set(status, arena, 504, "Timeout", "Timeout: Too large resource version: %llu, current: %llu", (unsigned long long)w->revision,
		(unsigned long long)ks_cache_revision(w->cache));
	status->has_details = true;
	status->retry_after_seconds = 1;
	ks_status_cause(status, arena, "ResourceVersionTooLarge", NULL, "Too large resource version");
	return status->code;
}
