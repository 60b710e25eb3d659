/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the requests of one worker share; only that worker's thread touches it. Private to core/pipeline. */
#ifndef KS_PIPELINE_LANE_H
#define KS_PIPELINE_LANE_H

#include <pthread.h>

#include "core/pipeline/request.h"

enum { KS_LANES_MOST = 256 };

struct ks_lane {
	struct ks_server_state *server;
	struct ks_loop *loop;
	uint32_t index;
	struct ks_request *spare;        /* finished ones, each with one block of arena */
	uint32_t n_spare;
	struct ks_request *live;         /* doubly linked */
	_Atomic uint32_t n_live;         /* read by others */
	uint64_t random[4];              /* for audit ids: unique, not secret */
	struct ks_metrics_shard *metrics;
	struct ks_task end_task;         /* ks_pipeline_end_watches */
	_Atomic bool end_posted;
};

/* All workers, by the index of their loop. Slots are filled once and emptied by fini. */
struct ks_lanes {
	struct ks_lane *_Atomic slots[KS_LANES_MOST];
	pthread_mutex_t lock;            /* for filling */
	_Atomic uint32_t next;           /* where the next request from inside goes */
};

struct ks_lanes *ks_lanes_new(void) __attribute__((warn_unused_result));
void ks_lanes_free(struct ks_lanes **lanes);
/* The worker of that loop; made on first use. NULL when out of memory, or when there are too many. */
struct ks_lane *ks_lane_of(struct ks_server_state *server, struct ks_loop *loop);
/* Calls `visit` for each worker that has started. Any thread. */
void ks_lanes_each(struct ks_lanes *lanes, void (*visit)(struct ks_lane *lane, void *arg), void *arg);
/* One that has started, in turn; NULL when none has. */
struct ks_lane *ks_lanes_any(struct ks_lanes *lanes);

/* Calls release(what) on some thread when every worker has finished the task that it runs now: nobody who found `what` by then still looks at it.
 * Memory for that may lack: then it is never called, and false returned. */
bool ks_lanes_retire(struct ks_lanes *lanes, void (*release)(void *what), void *what);

/* A zeroed request with an empty arena, in the worker's list; NULL when out of memory. */
struct ks_request *ks_lane_take(struct ks_lane *lane) __attribute__((warn_unused_result));
/* Gives it back: what it holds must have been released. */
void ks_lane_put(struct ks_lane *lane, struct ks_request *request);
/* Ends the watches of this worker, soon. Any thread. */
void ks_lane_end_watches(struct ks_lane *lane);
/* What end_task runs. */
void ks_lane_run_end(struct ks_task *end_task);
void ks_lane_audit_id(struct ks_lane *lane, char out[KS_AUDIT_ID_MOST + 1]);

/* -- request.c --------------------------------------------------------------------------------------------------- */

/* Fills a taken request from its stream. False when out of memory. */
bool ks_request_from_stream(struct ks_request *request, struct ks_stream *stream) __attribute__((warn_unused_result));
/* Runs its stages; it may be gone afterwards. */
void ks_request_run(struct ks_request *request);
/* Starts the clock of a request that waits, or that is sent in parts. Nothing happens when it runs, or for long-running ones. */
void ks_request_start_deadline(struct ks_request *request);
/* The stream is gone. */
void ks_request_closed(struct ks_request *request);
/* Frees the request if nothing can touch it any more. */
void ks_request_settle(struct ks_request *request);
/* A view of the first header of that name: dies with the stream. */
struct ks_str ks_request_header_view(const struct ks_request *request, const char *name);
/* Reads method, path and query ("/x?y", copied). False when out of memory. */
bool ks_request_set_target(struct ks_request *request, struct ks_str method, struct ks_str path, struct ks_str query) __attribute__((warn_unused_result));

#endif
