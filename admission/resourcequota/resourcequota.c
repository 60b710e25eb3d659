/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * resourcequota: what a namespace may use in all. A request that fits is first written down in the status
 * of the quotas that it counts for, and goes on when that has happened; the controller manager
 * takes back what was written for a request that failed later, or was deleted.
 *
 * Requests of one namespace are looked at one after the other, so that they don't lose races against each other;
 * against another server they may, and are looked at again.
 */
#include <pthread.h>
#include <stdlib.h>

#include "admission/resourcequota/quota.h"

enum { ATTEMPTS = 8, PAUSE_MS = 10 };

/* A request that waits or is looked at; in the operation's memory. */
struct job {
	struct quotas *self;
	struct ks_admit call;
	struct ks_quota_change *changes;
	int attempts;
	struct job *next;
};

/* The requests of one namespace; the first one is looked at. In the memory of the instance. */
struct line {
	struct line *next;
	struct job *first, *last;
};

struct quotas {
	const struct ks_host *host;
	pthread_mutex_t lock;
	struct line *lines; /* under `lock` */
};

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	struct quotas *q = calloc(1, sizeof(*q));

	(void)config;
	(void)error;
	if (!q)
		return KS_ERR_NOMEM;
	q->host = host;
	pthread_mutex_init(&q->lock, NULL);
	*self = q;
	return KS_DONE;
}

static void destroy(void *self)
{
	struct quotas *q = self;

	pthread_mutex_destroy(&q->lock);
	free(q);
}

/* -- one after the other ---------------------------------------------------------------------------------------------- */

static struct line **find_line(struct quotas *q, struct ks_view namespace_)
{
	struct line **at = &q->lines;

	while (*at && !ks_view_eq((*at)->first->call.request->namespace_, namespace_))
		at = &(*at)->next;
	return at;
}

/* 1: it is this one's turn; 0: it waits; negative. */
static int enter(struct quotas *q, struct job *job)
{
	struct line **at, *line;
	int turn = 0;

	pthread_mutex_lock(&q->lock);
	at = find_line(q, job->call.request->namespace_);
	line = *at;
	if (line) {
		line->last->next = job;
		line->last = job;
	} else {
		line = *at = malloc(sizeof(*line));
		turn = line ? 1 : KS_ERR_NOMEM;
		if (line)
			*line = (struct line){NULL, job, job};
	}
	pthread_mutex_unlock(&q->lock);
	return turn;
}

/* The next one in line, or NULL. */
static struct job *leave(struct quotas *q, struct job *job)
{
	struct line **at, *line;
	struct job *next;

	pthread_mutex_lock(&q->lock);
	at = find_line(q, job->call.request->namespace_);
	line = *at;
	next = line->first = job->next;
	if (!next) {
		*at = line->next;
		free(line);
	}
	pthread_mutex_unlock(&q->lock);
	return next;
}

static void work(void *arg);

/* Ends a job's turn. The line is left before the answer is given: the job's memory goes with that. */
static void finish(struct job *job, int result)
{
	struct quotas *q = job->self;
	struct job *next = leave(q, job);

	q->host->complete(job->call.op, result);
	if (next && q->host->timer(q->host, 0, work, next) != KS_DONE)
		finish(next, KS_ERR_NOMEM);
}

/* -- looking ----------------------------------------------------------------------------------------------------------- */

static struct ks_quota_change *next_change(const struct job *job)
{
	struct ks_quota_change *change = job->changes;

	while (change && change->written)
		change = change->next;
	return change;
}

static void forget_unwritten(struct job *job)
{
	for (struct ks_quota_change **at = &job->changes; *at;)
		if ((*at)->written)
			at = &(*at)->next;
		else
			*at = (*at)->next;
}

static void write_down(struct job *job);

/* A lost race: the cache will have what the other one wrote. */
static void look_again(struct job *job)
{
	forget_unwritten(job);
	if (--job->attempts <= 0)
		finish(job, job->self->host->op_error(job->call.op, "quotas of the namespace change too often"));
	else if (job->self->host->timer(job->self->host, PAUSE_MS, work, job) != KS_DONE)
		finish(job, KS_ERR_NOMEM);
}

static void written(void *arg, int code, struct ks_view body)
{
	struct job *job = arg;

	(void)body;
	if (code == 409) {
		look_again(job);
	} else if (code == 404 || (code >= 200 && code < 300)) {
		next_change(job)->written = 1; /* a quota that is gone limits nothing */
		write_down(job);
	} else {
		finish(job, job->self->host->op_error(job->call.op, "a quota could not be updated: %d", code));
	}
}

/* One quota after the other. */
static void write_down(struct job *job)
{
	const struct ks_quota_change *change = next_change(job);
	struct ks_write write = {
		.size = sizeof(write),
		.verb = KS_WRITE_PATCH_MERGE,
		.group = {"", 0},
		.version = {"v1", 2},
		.resource = {"resourcequotas", 14},
		.subresource = {"status", 6},
		.namespace_ = job->call.request->namespace_,
		.parent = job->call.op,
		.done = written,
		.arg = job,
	};

	if (!change) {
		finish(job, ks_admit_allow(&job->call));
		return;
	}
	write.name = change->name;
	write.body = change->body;
	if (job->self->host->write(job->self->host, &write) != KS_PENDING)
		finish(job, job->self->host->op_error(job->call.op, "a quota could not be updated"));
}

/* On the executor. */
static void work(void *arg)
{
	struct job *job = arg;
	int rc = ks_quota_check(&job->call, &job->changes);

	if (rc != KS_DONE || job->call.result->message.n)
		finish(job, rc);
	else if (!next_change(job) || job->call.request->dry_run)
		finish(job, ks_admit_allow(&job->call));
	else
		write_down(job);
}

/* -- the call ---------------------------------------------------------------------------------------------------------- */

/* Events are not counted: a namespace that is full must still be able to say so. */
static int is_counted(const struct ks_admission_request *request)
{
	if (!request->namespace_.n || ks_view_is(request->resource, "events") || ks_view_is(request->resource, "namespaces"))
		return 0;
	if (request->subresource.n)
		return ks_quota_kind_of(request) == KS_QUOTA_POD && ks_view_is(request->subresource, "resize");
	if (request->operation == KS_OPERATION_CREATE)
		return 1;
	return ks_quota_kind_of(request) == KS_QUOTA_SERVICE || ks_quota_kind_of(request) == KS_QUOTA_CLAIM;
}

static int note_quota(void *arg, struct ks_val quota)
{
	(void)quota;
	*(int *)arg = 1;
	return 1;
}

static int validate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	struct quotas *q = self;
	const struct ks_admit call = {q->host, op, request, result};
	struct job *job;
	int any = 0, rc;

	if (!is_counted(request))
		return ks_admit_allow(&call);
	rc = q->host->cached_list(op, ks_view_lit(""), ks_view_lit("v1"), ks_view_lit("resourcequotas"), request->namespace_, note_quota, &any);
	if (rc != KS_DONE)
		return rc;
	if (!any)
		return ks_admit_allow(&call);
	job = q->host->op_alloc(op, sizeof(*job));
	if (!job)
		return KS_ERR_NOMEM;
	*job = (struct job){.self = q, .call = call, .attempts = ATTEMPTS};
	rc = enter(q, job);
	if (rc <= 0)
		return rc ? rc : KS_PENDING;
	if (q->host->timer(q->host, 0, work, job) != KS_DONE)
		finish(job, KS_ERR_NOMEM);
	return KS_PENDING;
}

static const struct ks_admission_match matches[] = {
	{KS_OPERATION_CREATE, "*", "*"},
	{KS_OPERATION_UPDATE, "", "services"},
	{KS_OPERATION_UPDATE, "", "persistentvolumeclaims"},
	{KS_OPERATION_UPDATE, "", "pods/resize"},
};

static const struct ks_lifecycle life = {.size = sizeof(life), .create = create, .destroy = destroy};

static const struct ks_admission_ops ops = {
	.size = sizeof(ops),
	.matches = matches,
	.n_matches = sizeof(matches) / sizeof(*matches),
	.validate = validate,
};

static const struct ks_interface interface = {
	.size = sizeof(interface),
	.kind = KS_KIND_ADMISSION,
	.version = KS_ADMISSION_VERSION,
	.threads = KS_THREADS_CONCURRENT,
	.blocking = KS_CALLS_INLINE,
	.flags = KS_ADMISSION_NEEDS_OLD,
	.name = "resourcequota",
	.lifecycle = &life,
	.ops = &ops,
};

KS_PLUGIN(resourcequota) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Keeps namespaces within their quotas, and writes down what they use",
};
