/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "plugins/host/blocking.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum { IDLE_SECONDS = 30 };

struct ks_blocking_pool {
	int (*run)(struct ks_op *op);
	void (*begin)(void);
	pthread_mutex_t lock;
	pthread_cond_t work, ended;
	struct ks_op *head, *tail; /* may run now; op->pool_share says whose */
	uint32_t threads, idle;
	bool closing;
};

static void append(struct ks_op **head, struct ks_op **tail, struct ks_op *op)
{
	op->next = NULL;
	if (*tail)
		(*tail)->next = op;
	else
		*head = op;
	*tail = op;
}

static struct ks_op *take(struct ks_op **head, struct ks_op **tail)
{
	struct ks_op *op = *head;

	if (!op)
		return NULL;
	*head = op->next;
	if (!*head)
		*tail = NULL;
	return op;
}

struct ks_blocking_pool *ks_blocking_new(int (*run)(struct ks_op *op), void (*begin)(void))
{
	struct ks_blocking_pool *pool = calloc(1, sizeof(*pool));
	pthread_condattr_t monotonic;

	if (!pool)
		return NULL;
	pool->run = run;
	pool->begin = begin;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->work, &monotonic);
	pthread_cond_init(&pool->ended, NULL);
	pthread_condattr_destroy(&monotonic);
	return pool;
}

void ks_blocking_free(struct ks_blocking_pool **pool)
{
	struct ks_blocking_pool *p = *pool;

	if (!p)
		return;
	*pool = NULL;
	pthread_mutex_lock(&p->lock);
	p->closing = true;
	pthread_cond_broadcast(&p->work);
	while (p->threads)
		pthread_cond_wait(&p->ended, &p->lock);
	pthread_mutex_unlock(&p->lock);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->ended);
	free(p);
}

/* The share has one call less; its next one may run. Under the lock. */
static void give_back(struct ks_blocking_pool *pool, struct ks_blocking_share *share)
{
	struct ks_op *op = take(&share->head, &share->tail);

	if (!op) {
		share->running--;
		return;
	}
	share->queued--;
	append(&pool->head, &pool->tail, op);
	pthread_cond_signal(&pool->work);
}

/* Waits for work; NULL when the thread should end. Under the lock. */
static struct ks_op *next_op(struct ks_blocking_pool *pool)
{
	struct timespec until;
	int result = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += IDLE_SECONDS;
	while (!pool->head && !pool->closing && result == 0) {
		pool->idle++;
		result = pthread_cond_timedwait(&pool->work, &pool->lock, &until);
		pool->idle--;
	}
	return take(&pool->head, &pool->tail);
}

/* The share is left before the answer is given: with the answer the instance may go. */
static void run_op(struct ks_blocking_pool *pool, struct ks_op *op)
{
	struct ks_blocking_share *share = op->pool_share;
	int result;

	pthread_mutex_unlock(&pool->lock);
	result = pool->run(op);
	pthread_mutex_lock(&pool->lock);
	give_back(pool, share);
	if (result == KS_PENDING)
		return; /* against its word; it has promised a completion by that, though */
	pthread_mutex_unlock(&pool->lock);
	ks_op_complete(op, result);
	pthread_mutex_lock(&pool->lock);
}

static void *run_thread(void *arg)
{
	struct ks_blocking_pool *pool = arg;
	struct ks_op *op;

	pthread_setname_np(pthread_self(), "blocking");
	if (pool->begin)
		pool->begin();
	pthread_mutex_lock(&pool->lock);
	while ((op = next_op(pool)))
		run_op(pool, op);
	pool->threads--;
	pthread_cond_signal(&pool->ended);
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Signals are the main thread's. */
static int start_thread(struct ks_blocking_pool *pool)
{
	sigset_t all, before;
	pthread_t thread;
	int result;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = pthread_create(&thread, NULL, run_thread, pool);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (result)
		return -result;
	pthread_detach(thread);
	pool->threads++;
	return 0;
}

/* Idle threads that nothing is waiting for yet. */
static uint32_t waiting(const struct ks_blocking_pool *pool)
{
	uint32_t n = 0;

	for (const struct ks_op *op = pool->head; op && n < pool->idle; op = op->next)
		n++;
	return n;
}

static int enqueue(struct ks_blocking_pool *pool, struct ks_blocking_share *share, struct ks_op *op)
{
	if (share->running >= share->most) {
		if (share->queued >= KS_BLOCKING_QUEUED_MOST)
			return KS_ERR_LIMIT;
		share->queued++;
		append(&share->head, &share->tail, op);
		return KS_PENDING;
	}
	if (waiting(pool) >= pool->idle && pool->threads < KS_BLOCKING_THREADS_MOST && start_thread(pool) < 0 && !pool->threads)
		return KS_ERR_NOMEM;
	share->running++;
	append(&pool->head, &pool->tail, op);
	pthread_cond_signal(&pool->work);
	return KS_PENDING;
}

int ks_blocking_submit(struct ks_blocking_pool *pool, struct ks_blocking_share *share, struct ks_op *op)
{
	int result;

	op->pool_share = share;
	pthread_mutex_lock(&pool->lock);
	result = enqueue(pool, share, op);
	pthread_mutex_unlock(&pool->lock);
	return result;
}
