/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "plugins/host/executor.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct ks_executor {
	_Atomic uint32_t refs;
	struct ks_loop *loop;
	pthread_t thread;
	char name[16];
	void (*begin)(void);
	pthread_mutex_t lock;
	bool closed;             /* under lock */
	struct ks_job *jobs;     /* waiting to run; under lock */
	struct executor_timer *timers; /* its own thread's */
};

struct executor_timer {
	struct ks_job job;
	struct ks_timer timer;
	struct executor_timer *previous, *next;
	uint64_t due_ns;
	void (*fire)(void *arg);
	void *arg;
};

static void *run_thread(void *arg)
{
	struct ks_executor *executor = arg;

	pthread_setname_np(pthread_self(), executor->name);
	if (executor->begin)
		executor->begin();
	if (ks_loop_run(executor->loop) < 0)
		abort(); /* epoll failed: there is no going on */
	return NULL;
}

/* Signals are the main thread's. */
static int start_thread(struct ks_executor *executor)
{
	sigset_t all, before;
	int result;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = pthread_create(&executor->thread, NULL, run_thread, executor);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -result;
}

struct ks_executor *ks_executor_new(const char *name, void (*begin)(void))
{
	struct ks_executor *executor = calloc(1, sizeof(*executor));

	if (!executor)
		return NULL;
	executor->refs = 1;
	executor->begin = begin;
	snprintf(executor->name, sizeof(executor->name), "%s", name);
	pthread_mutex_init(&executor->lock, NULL);
	executor->loop = ks_loop_new(KS_LOOP_NO_INDEX);
	if (executor->loop && start_thread(executor) == 0)
		return executor;
	executor->closed = true;
	ks_executor_unref(executor);
	return NULL;
}

struct ks_executor *ks_executor_ref(struct ks_executor *executor)
{
	atomic_fetch_add_explicit(&executor->refs, 1, memory_order_relaxed);
	return executor;
}

void ks_executor_unref(struct ks_executor *executor)
{
	if (!executor || atomic_fetch_sub_explicit(&executor->refs, 1, memory_order_acq_rel) != 1)
		return;
	ks_loop_free(&executor->loop);
	pthread_mutex_destroy(&executor->lock);
	free(executor);
}

struct ks_loop *ks_executor_loop(struct ks_executor *executor)
{
	return executor->loop;
}

static void unlink_job(struct ks_executor *executor, struct ks_job *job)
{
	if (job->previous)
		job->previous->next = job->next;
	else
		executor->jobs = job->next;
	if (job->next)
		job->next->previous = job->previous;
}

static void run_job(struct ks_task *task)
{
	struct ks_job *job = (struct ks_job *)task;
	struct ks_executor *executor = job->executor;

	pthread_mutex_lock(&executor->lock);
	unlink_job(executor, job);
	pthread_mutex_unlock(&executor->lock);
	job->run(job);
}

void ks_executor_post(struct ks_executor *executor, struct ks_job *job)
{
	pthread_mutex_lock(&executor->lock);
	if (executor->closed) {
		pthread_mutex_unlock(&executor->lock);
		job->drop(job);
		return;
	}
	job->executor = executor;
	job->task.run = run_job;
	job->previous = NULL;
	job->next = executor->jobs;
	if (job->next)
		job->next->previous = job;
	executor->jobs = job;
	ks_loop_post(executor->loop, &job->task);
	pthread_mutex_unlock(&executor->lock);
}

static void drop_timer(struct ks_job *job)
{
	free(job);
}

static void remove_timer(struct executor_timer *t)
{
	struct ks_executor *executor = t->job.executor;

	if (t->previous)
		t->previous->next = t->next;
	else
		executor->timers = t->next;
	if (t->next)
		t->next->previous = t->previous;
	ks_timer_cancel(&t->timer);
}

static void fire_timer(struct ks_timer *timer)
{
	struct executor_timer *t = (struct executor_timer *)((char *)timer - offsetof(struct executor_timer, timer));
	void (*fire)(void *arg) = t->fire;
	void *arg = t->arg;

	remove_timer(t);
	free(t);
	fire(arg);
}

static void begin_timer(struct ks_job *job)
{
	struct executor_timer *t = (struct executor_timer *)job;
	struct ks_executor *executor = job->executor;
	uint64_t now = ks_monotonic_ns();

	t->previous = NULL;
	t->next = executor->timers;
	if (t->next)
		t->next->previous = t;
	executor->timers = t;
	t->timer.fire = fire_timer;
	if (ks_timer_start(executor->loop, &t->timer, t->due_ns > now ? (t->due_ns - now + 999999) / 1000000 : 0) < 0)
		fire_timer(&t->timer); /* early rather than never */
}

int ks_executor_timer(struct ks_executor *executor, uint64_t milliseconds, void (*fire)(void *arg), void *arg)
{
	struct executor_timer *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->job.run = begin_timer;
	t->job.drop = drop_timer;
	t->due_ns = ks_monotonic_ns() + milliseconds * 1000000;
	t->fire = fire;
	t->arg = arg;
	ks_executor_post(executor, &t->job);
	return 0;
}

static bool close_for_jobs(struct ks_executor *executor)
{
	bool was_open;

	pthread_mutex_lock(&executor->lock);
	was_open = !executor->closed;
	executor->closed = true;
	pthread_mutex_unlock(&executor->lock);
	return was_open;
}

void ks_executor_close(struct ks_executor *executor)
{
	if (!close_for_jobs(executor))
		return;
	ks_loop_stop(executor->loop);
	pthread_join(executor->thread, NULL);
	while (executor->timers) {
		struct executor_timer *t = executor->timers;

		remove_timer(t);
		free(t);
	}
	while (executor->jobs) {
		struct ks_job *job = executor->jobs;

		unlink_job(executor, job);
		job->drop(job);
	}
}
