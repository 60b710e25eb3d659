/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * An event loop on one thread, with a queue that any thread can post to.
 *
 * Each worker owns one. What finishes elsewhere (a store, a blocking plugin, a
 * webhook) posts a task; the loop runs tasks in the order of posting, on its own
 * thread. Posting takes no lock: tasks are linked through themselves, many
 * producers, one consumer, and an eventfd wakes the loop once per batch.
 *
 * A turn is: wait, run what is ready (descriptors, timers, tasks: at most about a
 * millisecond of tasks), then the hooks that want to see the end of each turn.
 */
#ifndef KS_UTIL_LOOP_H
#define KS_UTIL_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct event_base;

/* Embedded in whatever waits. In a queue at most once at a time. */
struct ks_task {
	struct ks_task *_Atomic next;
	void (*run)(struct ks_task *task);
};

struct ks_loop;

/* `index` numbers workers from 0; a loop that is no worker has KS_LOOP_NO_INDEX. NULL when out of memory or descriptors. */
#define KS_LOOP_NO_INDEX UINT32_MAX
struct ks_loop *ks_loop_new(uint32_t index) __attribute__((warn_unused_result));
/* Only when the loop does not run. Tasks that are still queued are dropped. */
void ks_loop_free(struct ks_loop **loop);

struct event_base *ks_loop_base(struct ks_loop *loop);
uint32_t ks_loop_index(const struct ks_loop *loop);
/* Runs on the calling thread until ks_loop_stop. 0, or a negative errno. */
int ks_loop_run(struct ks_loop *loop);
/* One turn of a loop that does not run otherwise; without `wait` it only does what is due. 0, or a negative errno. */
int ks_loop_turn(struct ks_loop *loop, bool wait);
/* Any thread. */
void ks_loop_stop(struct ks_loop *loop);
/* Any thread; never runs the task before it returns. */
void ks_loop_post(struct ks_loop *loop, struct ks_task *task);
/* Is the caller on the loop's thread (while it runs)? */
bool ks_loop_is_current(const struct ks_loop *loop);

/* Called at the end of each turn, in the order of adding, on the loop's thread. Embedded in the caller's struct. */
struct ks_turn_hook {
	struct ks_turn_hook *next; /* private */
	/* True: there is more to do, the next turn must not sleep. */
	bool (*run)(struct ks_turn_hook *hook);
};
/* On the loop's thread or while it does not run; not from inside a hook. */
void ks_loop_add_turn_hook(struct ks_loop *loop, struct ks_turn_hook *hook);
void ks_loop_remove_turn_hook(struct ks_loop *loop, struct ks_turn_hook *hook);

/* One-shot timers, on the loop's thread only (or while it does not run). The struct is the caller's, zeroed but for `fire`, and must stay
 * until it fired or was cancelled; it holds no memory of its own. Starting and cancelling take constant time. */
struct ks_timer {
	struct ks_timer *next, **link; /* private */
	uint64_t due;                  /* private: milliseconds of CLOCK_MONOTONIC */
	void (*fire)(struct ks_timer *timer);
};
/* Starts or restarts. Always 0. Fires once, never early, never before the call returns. */
int ks_timer_start(struct ks_loop *loop, struct ks_timer *timer, uint64_t milliseconds);
/* Safe on a zeroed timer and on one that has fired. */
void ks_timer_cancel(struct ks_timer *timer);
static inline bool ks_timer_is_active(const struct ks_timer *timer) { return timer->link; }

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t ks_monotonic_ns(void);

#endif
