/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads for the calls of plugins that block. Each instance has a bound on what
 * runs and on what waits, so that a stuck one takes neither all threads nor memory.
 * Threads are made when they are needed and end after a while without work.
 */
#ifndef KS_PLUGINS_BLOCKING_H
#define KS_PLUGINS_BLOCKING_H

#include "plugins/host/op.h"

enum { KS_BLOCKING_THREADS_MOST = 64, KS_BLOCKING_RUNNING_MOST = 16, KS_BLOCKING_QUEUED_MOST = 1024 };

struct ks_blocking_pool;

/* An instance's part of the pool; zeroed with `most` set. */
struct ks_blocking_share {
	uint32_t most;   /* calls at the same time; 1 for a SERIAL instance */
	uint32_t running, queued;
	struct ks_op *head, *tail;
};

/* `run` makes the call of an operation, on a thread of the pool; `begin` is called on each new thread. NULL when out of memory. */
struct ks_blocking_pool *ks_blocking_new(int (*run)(struct ks_op *op), void (*begin)(void)) __attribute__((warn_unused_result));
/* Nothing is queued or running any more. Waits for the threads to end. */
void ks_blocking_free(struct ks_blocking_pool **pool);
/* KS_PENDING; or KS_ERR_LIMIT (too much is waiting), KS_ERR_NOMEM (no thread), and the operation is not touched. */
int ks_blocking_submit(struct ks_blocking_pool *pool, struct ks_blocking_share *share, struct ks_op *op) __attribute__((warn_unused_result));

#endif
