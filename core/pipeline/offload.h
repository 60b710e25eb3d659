/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Long computations of a request, on threads of their own: a worker that decoded, patched and encoded an object of
 * megabytes itself would keep all its other clients waiting.
 *
 *     if (ks_request_leave(request, &away, compute, arg))
 *             return KS_STAGE_PENDING;          // the stage is called again
 *     ...
 *     if (ks_away_take(&away, &result))         // when it is called again: what `compute` has returned
 *
 * `compute` runs on another thread, with a copy of the request to work with: the copy has memory, a status and warnings of
 * its own, and the headers that it needs, so that on the worker the request can meanwhile be answered (its deadline), or its
 * client can go. What the copy was told is brought home on the worker: warnings, the status, and an answer
 * (ks_request_respond and the like), which is sent if there was none before. The request is pinned until then.
 *
 * `compute` must not touch what belongs to the worker: the request itself, its stream, timers, calls of plugins, operations of a
 * store. It may read the cache and everything else that is shared. Nothing but `compute` may touch what it works on.
 */
#ifndef KS_PIPELINE_OFFLOAD_H
#define KS_PIPELINE_OFFLOAD_H

#include "core/pipeline/request.h"

/* Computations below take less than a millisecond: JSON of so many bytes is decoded, checked and encoded in about half of one. */
enum { KS_HEAVY_BYTES = 64 * 1024 };

struct ks_offload;

/* One job: `run` on a thread of the pool, then `done` on the loop; without a loop it is over (and the job may be gone) with `run`. */
struct ks_job {
	struct ks_job *next;
	struct ks_task task;
	struct ks_loop *loop;
	void (*run)(struct ks_job *job);
	void (*done)(struct ks_job *job);
};

/* Threads are started with the first job. NULL when out of memory. */
struct ks_offload *ks_offload_new(void) __attribute__((warn_unused_result));
/* Waits for the jobs that run; those that wait are dropped. No job may be given any more. While the loops can still be posted to. */
void ks_offload_stop(struct ks_offload *offload);
void ks_offload_free(struct ks_offload **offload);
/* False when there are no threads: the caller does it himself. Workers only. */
bool ks_offload_start(struct ks_offload *offload, struct ks_job *job) __attribute__((warn_unused_result));

/* ks_arena_fini, elsewhere when there is much to give back. Workers only. */
void ks_offload_fini_arena(struct ks_offload *offload, struct ks_arena *arena);

/* -- requests ----------------------------------------------------------------------------------------------------- */

struct ks_kept_header {
	const char *name;
	struct ks_str value;
};
enum { KS_KEPT_HEADERS = 3 };

/* An answer that was given on another thread. */
struct ks_kept_answer {
	const char *content_type; /* NULL when `formed` */
	struct ks_header *fields;
	struct ks_piece *pieces;
	size_t n_fields, n_pieces;
	int code;
	bool given, formed;
};

/* Of a copy: what stands for the stream. */
struct ks_copy {
	struct ks_kept_header headers[KS_KEPT_HEADERS];
	struct ks_kept_answer answer;
};

struct ks_away;

/* Takes `run` to another thread; `*away` is NULL at first, and can be used again for the next computation of the request. False when that
 * can't be: the caller goes on himself. */
bool ks_request_leave(struct ks_request *request, struct ks_away **away, enum ks_stage_result (*run)(struct ks_request *copy, void *arg), void *arg)
	__attribute__((warn_unused_result));
/* Is it still away? */
bool ks_request_is_away(const struct ks_away *away);
/* Has it come back? Then what `run` returned is taken. */
bool ks_away_take(struct ks_away *away, enum ks_stage_result *result_r);

/* -- for request.c and respond.c -------------------------------------------------------------------------------------- */

struct ks_str ks_copy_header(const struct ks_copy *copy, const char *name);
/* Keeps the answer; takes over the pieces. */
void ks_copy_answer(struct ks_request *request, int code, const char *content_type, bool formed, const struct ks_header *headers, size_t n_headers,
	const struct ks_piece *pieces, size_t n_pieces);

#endif
