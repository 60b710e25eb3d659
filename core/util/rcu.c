/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/util/rcu.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#if defined(__SANITIZE_THREAD__)
#define KS_RCU_BY_LOCK 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KS_RCU_BY_LOCK 1
#endif
#endif

#ifdef KS_RCU_BY_LOCK

static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;

void ks_rcu_read_lock(void)
{
	pthread_rwlock_rdlock(&readers);
}

void ks_rcu_read_unlock(void)
{
	pthread_rwlock_unlock(&readers);
}

static void wait_for_readers(void)
{
	pthread_rwlock_wrlock(&readers);
	pthread_rwlock_unlock(&readers);
}

#else

#include <urcu/urcu-bp.h>

void ks_rcu_read_lock(void)
{
	urcu_bp_read_lock();
}

void ks_rcu_read_unlock(void)
{
	urcu_bp_read_unlock();
}

static void wait_for_readers(void)
{
	urcu_bp_synchronize_rcu();
}

#endif

/* One thread reclaims for the whole process; it is made when there is something to do for the first time. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t work, idle;
	struct ks_rcu_head *first, **last;
	bool started, busy;
	unsigned hurried; /* somebody waits for a barrier */
} reclaim = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.idle = PTHREAD_COND_INITIALIZER,
	.last = &reclaim.first,
};

static struct ks_rcu_head *take_all(void)
{
	struct ks_rcu_head *batch = reclaim.first;

	reclaim.first = NULL;
	reclaim.last = &reclaim.first;
	return batch;
}

static void run_all(struct ks_rcu_head *batch)
{
	struct ks_rcu_head *next;

	for (; batch; batch = next) {
		next = batch->next;
		batch->run(batch);
	}
}

/* Nobody is in a hurry to free: what comes within a moment shares one grace period and one wake-up. Under the lock, which is let go. */
static void gather(void)
{
	const struct timespec moment = {.tv_nsec = 2000000};

	if (reclaim.hurried)
		return;
	pthread_mutex_unlock(&reclaim.lock);
	nanosleep(&moment, NULL);
	pthread_mutex_lock(&reclaim.lock);
}

static void *reclaim_thread(void *arg)
{
	struct ks_rcu_head *batch;

	(void)arg;
	pthread_mutex_lock(&reclaim.lock);
	for (;;) {
		while (!reclaim.first) {
			reclaim.busy = false;
			pthread_cond_broadcast(&reclaim.idle);
			pthread_cond_wait(&reclaim.work, &reclaim.lock);
		}
		reclaim.busy = true;
		gather();
		batch = take_all();
		pthread_mutex_unlock(&reclaim.lock);
		wait_for_readers();
		run_all(batch);
		pthread_mutex_lock(&reclaim.lock);
	}
	return NULL;
}

/* Signals are for the threads that expect them. When no thread can be had, whoever asks for a barrier does the work. */
static void start_thread(void)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;

	if (pthread_attr_init(&attr))
		return;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	reclaim.started = pthread_create(&thread, &attr, reclaim_thread, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
}

void ks_rcu_defer(struct ks_rcu_head *head, void (*run)(struct ks_rcu_head *head))
{
	head->run = run;
	head->next = NULL;
	pthread_mutex_lock(&reclaim.lock);
	*reclaim.last = head;
	reclaim.last = &head->next;
	if (!reclaim.started)
		start_thread();
	if (!reclaim.busy)
		pthread_cond_signal(&reclaim.work);
	pthread_mutex_unlock(&reclaim.lock);
}

static void reclaim_here(void)
{
	struct ks_rcu_head *batch = take_all();

	pthread_mutex_unlock(&reclaim.lock);
	wait_for_readers();
	run_all(batch);
	pthread_mutex_lock(&reclaim.lock);
}

void ks_rcu_barrier(void)
{
	pthread_mutex_lock(&reclaim.lock);
	reclaim.hurried++;
	while (reclaim.first || reclaim.busy) {
		if (reclaim.started)
			pthread_cond_wait(&reclaim.idle, &reclaim.lock);
		else
			reclaim_here();
	}
	reclaim.hurried--;
	pthread_mutex_unlock(&reclaim.lock);
}
