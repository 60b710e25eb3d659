/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that runs what a worker must not wait for, one after the other. A job lives
 * in its operation's scratch memory, so that queueing one allocates nothing.
 */
#ifndef KS_STORAGE_JOBS_H
#define KS_STORAGE_JOBS_H

#include <stdint.h>

struct ks_jobs;

struct ks_job {
	struct ks_job *next;
	void (*run)(struct ks_job *job); /* the job may be gone when it returns */
};

/* `tick` (may be NULL) runs before the thread waits; it returns the unix milliseconds at which it wants to run again, UINT64_MAX: never.
 * NULL when out of memory or threads. */
struct ks_jobs *ks_jobs_new(uint64_t (*tick)(void *self), void *self);
/* Runs what is queued, then ends the thread. */
void ks_jobs_free(struct ks_jobs **jobs);
void ks_jobs_add(struct ks_jobs *jobs, struct ks_job *job);
/* Makes `tick` run soon. */
void ks_jobs_wake(struct ks_jobs *jobs);

#endif
