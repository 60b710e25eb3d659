/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "storage/common/jobs.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

struct ks_jobs {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct ks_job *first, **last;
	uint64_t (*tick)(void *self);
	void *self;
	int woken, ending;
};

static void wait_until(struct ks_jobs *jobs, uint64_t until_ms)
{
	struct timespec t = {(time_t)(until_ms / 1000), (long)(until_ms % 1000) * 1000000};

	if (until_ms == UINT64_MAX)
		pthread_cond_wait(&jobs->cond, &jobs->lock);
	else
		pthread_cond_timedwait(&jobs->cond, &jobs->lock, &t);
}

static struct ks_job *take(struct ks_jobs *jobs)
{
	struct ks_job *job = jobs->first;

	if (!job)
		return NULL;
	jobs->first = job->next;
	if (!jobs->first)
		jobs->last = &jobs->first;
	return job;
}

static void *jobs_main(void *arg)
{
	struct ks_jobs *jobs = arg;
	struct ks_job *job;
	uint64_t until;

	pthread_mutex_lock(&jobs->lock);
	for (;;) {
		jobs->woken = 0;
		job = take(jobs);
		if (!job && jobs->ending)
			break;
		pthread_mutex_unlock(&jobs->lock);
		if (job)
			job->run(job);
		until = jobs->tick ? jobs->tick(jobs->self) : UINT64_MAX;
		pthread_mutex_lock(&jobs->lock);
		if (!jobs->first && !jobs->woken && !jobs->ending)
			wait_until(jobs, until);
	}
	pthread_mutex_unlock(&jobs->lock);
	return NULL;
}

struct ks_jobs *ks_jobs_new(uint64_t (*tick)(void *self), void *self)
{
	struct ks_jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs)
		return NULL;
	jobs->last = &jobs->first;
	jobs->tick = tick;
	jobs->self = self;
	pthread_mutex_init(&jobs->lock, NULL);
	pthread_cond_init(&jobs->cond, NULL);
	if (pthread_create(&jobs->thread, NULL, jobs_main, jobs)) {
		free(jobs);
		return NULL;
	}
	return jobs;
}

void ks_jobs_free(struct ks_jobs **jobs_p)
{
	struct ks_jobs *jobs = *jobs_p;

	if (!jobs)
		return;
	pthread_mutex_lock(&jobs->lock);
	jobs->ending = 1;
	pthread_cond_signal(&jobs->cond);
	pthread_mutex_unlock(&jobs->lock);
	pthread_join(jobs->thread, NULL);
	pthread_cond_destroy(&jobs->cond);
	pthread_mutex_destroy(&jobs->lock);
	free(jobs);
	*jobs_p = NULL;
}

void ks_jobs_add(struct ks_jobs *jobs, struct ks_job *job)
{
	job->next = NULL;
	pthread_mutex_lock(&jobs->lock);
	*jobs->last = job;
	jobs->last = &job->next;
	pthread_cond_signal(&jobs->cond);
	pthread_mutex_unlock(&jobs->lock);
}

void ks_jobs_wake(struct ks_jobs *jobs)
{
	pthread_mutex_lock(&jobs->lock);
	jobs->woken = 1;
	pthread_cond_signal(&jobs->cond);
	pthread_mutex_unlock(&jobs->lock);
}
