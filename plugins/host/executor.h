/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * An instance's own thread: timers, informers and the ends of writes call the
 * plugin there, one at a time, so that a slow plugin delays nobody but itself.
 * Made when it is first needed.
 */
#ifndef KS_PLUGINS_EXECUTOR_H
#define KS_PLUGINS_EXECUTOR_H

#include "core/util/loop.h"

struct ks_executor;

/* Something to be run once. Exactly one of `run` (on the executor) and `drop` (it closed before) is called; either may free it. */
struct ks_job {
	struct ks_task task;
	struct ks_executor *executor;
	struct ks_job *previous, *next;
	void (*run)(struct ks_job *job);
	void (*drop)(struct ks_job *job);
};

/* One reference; the thread runs. `name` is the thread's; `begin` (may be NULL) is called on it first. NULL when out of memory or threads. */
struct ks_executor *ks_executor_new(const char *name, void (*begin)(void)) __attribute__((warn_unused_result));
struct ks_executor *ks_executor_ref(struct ks_executor *executor);
void ks_executor_unref(struct ks_executor *executor); /* NULL is safe */
/* Waits for the job that runs, drops the others and all timers. Nothing runs any more when it returns. Not from the executor itself. */
void ks_executor_close(struct ks_executor *executor);

struct ks_loop *ks_executor_loop(struct ks_executor *executor);
/* Any thread. When the executor is closed, the job is dropped at once. */
void ks_executor_post(struct ks_executor *executor, struct ks_job *job);
/* Any thread. 0 or -ENOMEM. A timer that has not fired when the executor closes never does. */
int ks_executor_timer(struct ks_executor *executor, uint64_t milliseconds, void (*fire)(void *arg), void *arg) __attribute__((warn_unused_result));

#endif
