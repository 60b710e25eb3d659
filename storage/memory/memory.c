/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory store: everything in one ordered tree under one lock that is held for
 * microseconds. Nothing survives a restart; revisions begin at the wall clock, so that
 * they never go back and a watch from before the restart hears that it is too old.
 */
#include <keelson/storage.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "storage/common/jobs.h"
#include "storage/common/leases.h"
#include "storage/common/pins.h"
#include "storage/common/watchers.h"
#include "storage/memory/tree.h"

#define RANGE_PAGE 128
#define EXPIRE_BATCH 128

struct memory_config {
	int64_t history;
};

struct memory {
	const struct ks_host *host;
	uint64_t keep;                  /* revisions of history */
	pthread_mutex_t lock;
	struct memory_tree tree;
	struct memory_version **ring;   /* those of revisions first .. current */
	size_t ring_size;
	uint64_t first, current;        /* empty: first == current + 1 */
	uint64_t compacted;             /* the oldest that can be read */
	struct ks_pin *pins;
	struct ks_leases leases;
	struct ks_jobs *jobs;
	struct ks_watchers *watchers;
};

/* -- history ---------------------------------------------------------------------------------------------------- */

static struct memory_version **ring_at(const struct memory *m, uint64_t revision)
{
	return &m->ring[revision & (m->ring_size - 1)];
}

static int ring_grow(struct memory *m)
{
	size_t size = m->ring_size ? 2 * m->ring_size : 256;
	struct memory_version **grown = malloc(size * sizeof(struct memory_version *));
	uint64_t r;

	if (!grown)
		return KS_ERR_NOMEM;
	for (r = m->first; r <= m->current; r++)
		grown[r & (size - 1)] = *ring_at(m, r);
	free(m->ring);
	m->ring = grown;
	m->ring_size = size;
	return KS_DONE;
}

static void versions_free(struct memory *m, struct memory_version *v)
{
	struct memory_version *older;

	for (; v; v = older) {
		older = v->older;
		ks_record_unref(m->host, v->record);
		free(v);
	}
}

/* A deletion that nobody can ask for any more. */
static void tombstone_forget(struct memory *m, struct memory_version *v)
{
	struct memory_node *node = v->node;
	struct memory_version **p = &node->newest;

	while (*p != v)
		p = &(*p)->older;
	if (p == &node->newest) {
		ks_memory_tree_remove(&m->tree, node);
		free(node);
	} else {
		*p = NULL;
	}
	versions_free(m, v);
}

/* Forgets up to `max` of the events before the compacted revision. */
static void history_trim(struct memory *m, int max)
{
	uint64_t target = ks_pins_min(m->pins, m->compacted);

	for (; max > 0 && m->first < target && m->first <= m->current; max--) {
		struct memory_version *v = *ring_at(m, m->first++);

		versions_free(m, v->older);
		v->older = NULL;
		if (v->record->type == KS_EVENT_DELETED)
			tombstone_forget(m, v);
	}
}

static const struct ks_record *version_at(const struct memory_node *node, uint64_t revision)
{
	const struct memory_version *v = node->newest;

	while (v && v->record->revision > revision)
		v = v->older;
	return v && v->record->type != KS_EVENT_DELETED ? v->record : NULL;
}

/* KS_DONE and the revision to read at. */
static int check_revision(const struct memory *m, uint64_t asked, uint64_t *revision_r)
{
	if (asked > m->current)
		return KS_ERR_FUTURE;
	if (asked && asked < m->compacted)
		return KS_ERR_COMPACTED;
	*revision_r = asked ? asked : m->current;
	return KS_DONE;
}

/* -- writes ----------------------------------------------------------------------------------------------------- */

/* Makes the next revision of a key; `node` is NULL for one that was never there. */
static int append(struct memory *m, struct memory_node *node, const struct ks_store_write *write)
{
	const struct ks_record *old = node ? version_at(node, UINT64_MAX) : NULL;
	struct memory_version *v = calloc(1, sizeof(*v));
	struct memory_node *made = NULL;
	struct ks_record *r;

	if (!v)
		return KS_ERR_NOMEM;
	r = v->record = ks_record_new(write->key, NULL);
	if (!node)
		node = made = ks_memory_node_new(&m->tree);
	if (!r || !node || (m->current + 1 - m->first == m->ring_size && ring_grow(m)) ||
	    (write->lease_until_ms && ks_leases_add(&m->leases, write->key, m->current + 1, write->lease_until_ms))) {
		versions_free(m, v);
		free(made);
		return KS_ERR_NOMEM;
	}
	r->value = write->value ? m->host->bytes_ref(write->value) : NULL;
	r->type = !write->value ? KS_EVENT_DELETED : old ? KS_EVENT_MODIFIED : KS_EVENT_ADDED;
	r->revision = ++m->current;
	r->create_revision = old ? old->create_revision : r->revision;
	r->lease_until_ms = write->lease_until_ms;
	v->node = node;
	v->older = node->newest;
	node->newest = v;
	*ring_at(m, r->revision) = v;
	if (made)
		ks_memory_tree_insert(&m->tree, made);
	return KS_DONE;
}

static void history_advance(struct memory *m)
{
	if (m->current - m->compacted > m->keep)
		m->compacted = m->current - m->keep;
	/* Two for each one that is added: the rest shrinks, and no write pays for many. */
	history_trim(m, 2);
}

static int expectation_met(const struct ks_store_write *write, const struct ks_record *there)
{
	switch (write->expect) {
	case KS_STORE_EXPECT_ABSENT:
		return !there;
	case KS_STORE_EXPECT_REVISION:
		return there && there->revision == write->expected;
	default:
		return 1;
	}
}

static int write_locked(struct memory *m, const struct ks_store_write *write, struct ks_store_write_result *result)
{
	struct memory_node *node = ks_memory_tree_find(&m->tree, write->key);
	const struct ks_record *there = node ? version_at(node, UINT64_MAX) : NULL;
	int failed;

	if (!expectation_met(write, there)) {
		result->outcome = KS_STORE_LOST_RACE;
		if (there)
			ks_record_kv(m->host, there, &result->current);
		result->current.key = write->key;
	} else if (!there && !write->value) {
		result->outcome = KS_STORE_NOT_FOUND;
	} else {
		failed = append(m, node, write);
		if (failed)
			return failed;
		result->outcome = KS_STORE_COMMITTED;
		history_advance(m);
	}
	result->revision = m->current;
	return KS_DONE;
}

static int memory_write(void *self, struct ks_op *op, const struct ks_store_write *write, struct ks_store_write_result *result_r)
{
	struct memory *m = self;
	struct ks_store_write_result result = {.size = result_r->size};
	uint64_t earliest;
	int failed;

	(void)op;
	pthread_mutex_lock(&m->lock);
	earliest = ks_leases_next_ms(&m->leases);
	failed = write_locked(m, write, &result);
	earliest = ks_leases_next_ms(&m->leases) < earliest;
	pthread_mutex_unlock(&m->lock);
	if (failed)
		return failed;
	*result_r = result;
	if (result.outcome == KS_STORE_COMMITTED)
		ks_watchers_wake(m->watchers);
	if (earliest)
		ks_jobs_wake(m->jobs);
	return KS_DONE;
}

/* Deletes what has expired, a bounded number in one hold of the lock. */
static uint64_t expire(void *self)
{
	struct memory *m = self;
	uint64_t next, now = ks_leases_now_ms();
	struct ks_lease *lease;
	int n = 0;

	pthread_mutex_lock(&m->lock);
	while (n < EXPIRE_BATCH && (lease = ks_leases_take(&m->leases, now))) {
		struct ks_store_write write = {
			.size = sizeof(write), .expect = KS_STORE_EXPECT_REVISION, .expected = lease->revision, .key = {lease->key, lease->key_n}};
		struct ks_store_write_result result = {.size = sizeof(result)};

		if (write_locked(m, &write, &result))
			m->host->log(m->host, KS_HOST_LOG_ERROR, "out of memory: a key that has expired stays");
		if (result.current.value)
			m->host->bytes_unref(result.current.value);
		free(lease);
		n++;
	}
	next = ks_leases_next_ms(&m->leases);
	pthread_mutex_unlock(&m->lock);
	if (n)
		ks_watchers_wake(m->watchers);
	return next;
}

/* -- reads ------------------------------------------------------------------------------------------------------ */

static int memory_get(void *self, struct ks_op *op, struct ks_view key, uint64_t revision, int *found_r, struct ks_store_kv *kv_r)
{
	struct memory *m = self;
	const struct memory_node *node;
	const struct ks_record *r = NULL;
	uint64_t at;
	int result;

	(void)op;
	pthread_mutex_lock(&m->lock);
	result = check_revision(m, revision, &at);
	if (result == KS_DONE) {
		node = ks_memory_tree_find(&m->tree, key);
		r = node ? version_at(node, at) : NULL;
		if (r)
			ks_record_kv(m->host, r, kv_r);
		kv_r->key = key;
		*found_r = r != NULL;
	}
	pthread_mutex_unlock(&m->lock);
	return result;
}

struct range_job {
	struct ks_job job;
	struct memory *m;
	struct ks_op *op;
	const struct ks_store_range *range;
	struct ks_store_range_result *result;
	uint64_t revision, emitted;
	struct ks_pin pin;
	struct ks_record *last; /* where the next page goes on */
	struct ks_record *page[RANGE_PAGE];
};

/* References of the next records into page[]; how many. */
static size_t range_page(struct range_job *job)
{
	const struct ks_store_range *range = job->range;
	struct memory *m = job->m;
	const struct memory_node *node;
	struct ks_view from = ks_view_cmp(range->start, range->prefix) > 0 ? range->start : range->prefix;
	size_t n = 0, visited = 0;

	if (job->last)
		from = ks_record_key(job->last);
	pthread_mutex_lock(&m->lock);
	node = ks_memory_tree_seek(&m->tree, from);
	if (node && job->last && ks_view_cmp(memory_node_key(node), from) == 0)
		node = node->next[0];
	for (; node && ks_view_starts(memory_node_key(node), range->prefix) && n < RANGE_PAGE && visited < 4 * RANGE_PAGE; node = node->next[0]) {
		const struct ks_record *r = version_at(node, job->revision);

		visited++;
		ks_record_unref(m->host, job->last);
		job->last = ks_record_ref(node->newest->record);
		if (r)
			job->page[n++] = ks_record_ref((struct ks_record *)(uintptr_t)r);
	}
	pthread_mutex_unlock(&m->lock);
	/* Many dead keys in a row are no end. */
	return n ? n : visited == 4 * RANGE_PAGE ? SIZE_MAX : 0;
}

static int range_emit(struct range_job *job, const struct ks_record *r)
{
	const struct ks_store_range *range = job->range;
	struct ks_store_kv kv;

	if (range->limit && job->emitted == range->limit) {
		job->result->more = 1;
		return 1;
	}
	job->emitted++;
	ks_record_kv(job->m->host, r, &kv);
	if (range->keys_only) {
		job->m->host->bytes_unref(kv.value);
		kv.value = NULL;
	}
	return range->emit(range->arg, &kv);
}

static void range_run(struct ks_job *base)
{
	struct range_job *job = (struct range_job *)base;
	struct memory *m = job->m;
	size_t n, i;
	int stop = 0;

	while (!stop && (n = range_page(job)))
		for (i = 0; n != SIZE_MAX && i < n; i++) {
			if (!stop)
				stop = range_emit(job, job->page[i]);
			ks_record_unref(m->host, job->page[i]);
		}
	ks_record_unref(m->host, job->last);
	pthread_mutex_lock(&m->lock);
	ks_pins_remove(&job->pin);
	pthread_mutex_unlock(&m->lock);
	job->result->revision = job->revision;
	m->host->complete(job->op, KS_DONE);
}

static int memory_range(void *self, struct ks_op *op, const struct ks_store_range *range, struct ks_store_range_result *result_r)
{
	struct memory *m = self;
	struct range_job *job = m->host->op_scratch(op);
	int result;

	*job = (struct range_job){.job.run = range_run, .m = m, .op = op, .range = range, .result = result_r};
	result_r->more = 0;
	result_r->count = 0;
	pthread_mutex_lock(&m->lock);
	result = check_revision(m, range->revision, &job->revision);
	if (result == KS_DONE)
		ks_pins_add(&m->pins, &job->pin, job->revision);
	pthread_mutex_unlock(&m->lock);
	if (result != KS_DONE)
		return result;
	ks_jobs_add(m->jobs, &job->job);
	return KS_PENDING;
}

/* -- watches ---------------------------------------------------------------------------------------------------- */

static int fetch(void *self, uint64_t from, struct ks_record **records, size_t *n_r, uint64_t *next_r)
{
	struct memory *m = self;
	int result = KS_DONE;
	size_t n = 0;

	pthread_mutex_lock(&m->lock);
	if (from < m->compacted)
		result = KS_ERR_COMPACTED;
	else
		for (from = from < m->first ? m->first : from; from <= m->current && n < KS_WATCHERS_BATCH; from++)
			records[n++] = ks_record_ref((*ring_at(m, from))->record);
	pthread_mutex_unlock(&m->lock);
	*n_r = n;
	*next_r = from;
	return result;
}

static uint64_t current_revision(void *self)
{
	struct memory *m = self;
	uint64_t revision;

	pthread_mutex_lock(&m->lock);
	revision = m->current;
	pthread_mutex_unlock(&m->lock);
	return revision;
}

static uint64_t oldest_revision(void *self)
{
	struct memory *m = self;
	uint64_t revision;

	pthread_mutex_lock(&m->lock);
	revision = m->compacted;
	pthread_mutex_unlock(&m->lock);
	return revision;
}

static int memory_watch(void *self, const struct ks_store_watch *watch, void **watch_r)
{
	return ks_watchers_open(((struct memory *)self)->watchers, watch, watch_r);
}

static void memory_watch_credit(void *self, void *watch, uint64_t n)
{
	ks_watchers_credit(((struct memory *)self)->watchers, watch, n);
}

static void memory_watch_close(void *self, void *watch)
{
	ks_watchers_close(((struct memory *)self)->watchers, watch);
}

static int memory_compact(void *self, struct ks_op *op, uint64_t revision)
{
	struct memory *m = self;
	int result = KS_DONE;

	(void)op;
	pthread_mutex_lock(&m->lock);
	if (revision > m->current)
		result = KS_ERR_FUTURE;
	else if (revision > m->compacted)
		m->compacted = revision;
	pthread_mutex_unlock(&m->lock);
	return result;
}

static int memory_revision(void *self, uint64_t *current_r, uint64_t *oldest_r)
{
	struct memory *m = self;

	pthread_mutex_lock(&m->lock);
	*current_r = m->current;
	*oldest_r = m->compacted;
	pthread_mutex_unlock(&m->lock);
	return KS_DONE;
}

/* -- life ------------------------------------------------------------------------------------------------------- */

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static int memory_create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	struct memory *m = calloc(1, sizeof(*m));

	(void)error;
	if (!m)
		return KS_ERR_NOMEM;
	m->host = host;
	m->keep = (uint64_t)((const struct memory_config *)config)->history;
	/* No write takes less than a microsecond: the clock is ahead of the counter at the next start. */
	m->current = m->compacted = now_us();
	m->first = m->current + 1;
	m->tree.random = m->current;
	pthread_mutex_init(&m->lock, NULL);
	*self = m;
	return KS_DONE;
}

static int memory_start(void *self, struct ks_plugin_error *error)
{
	struct memory *m = self;
	const struct ks_watch_source source = {fetch, current_revision, oldest_revision, m};

	(void)error;
	m->watchers = ks_watchers_new(m->host, &source);
	if (m->watchers)
		m->jobs = ks_jobs_new(expire, m);
	return m->jobs ? KS_DONE : KS_ERR_NOMEM;
}

static void memory_stop(void *self)
{
	struct memory *m = self;

	ks_jobs_free(&m->jobs);
	ks_watchers_free(&m->watchers);
}

static void memory_destroy(void *self)
{
	struct memory *m = self;
	struct memory_node *node;

	if (!m)
		return;
	memory_stop(m);
	while ((node = m->tree.head[0])) {
		ks_memory_tree_remove(&m->tree, node);
		versions_free(m, node->newest);
		free(node);
	}
	ks_leases_fini(&m->leases);
	free(m->ring);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static const struct ks_config_key config_keys[] = {
	{.name = "history", .type = KS_CONFIG_INT, .offset = offsetof(struct memory_config, history), .default_text = "10000", .min = 1, .max = 10000000,
	 .help = "Revisions that can still be read and watched from."},
};

static const struct ks_lifecycle lifecycle = {
	.size = sizeof(lifecycle), .create = memory_create, .start = memory_start, .stop = memory_stop, .destroy = memory_destroy,
};

static const struct ks_store_ops ops = {
	.size = sizeof(ops), .get = memory_get, .range = memory_range, .write = memory_write, .watch = memory_watch,
	.watch_credit = memory_watch_credit, .watch_close = memory_watch_close, .compact = memory_compact, .revision = memory_revision,
};

static const struct ks_interface interface = {
	.size = sizeof(interface), .kind = KS_KIND_STORE, .version = KS_STORE_VERSION, .threads = KS_THREADS_CONCURRENT, .blocking = KS_CALLS_INLINE,
	.flags = KS_STORE_SINGLE_WRITER | KS_STORE_NATIVE_TTL, .name = "memory", .lifecycle = &lifecycle, .ops = &ops,
	.config_keys = config_keys, .n_config_keys = sizeof(config_keys) / sizeof(config_keys[0]), .config_size = sizeof(struct memory_config),
	.scratch_size = sizeof(struct range_job),
};

KS_PLUGIN(memory) = {
	KS_PLUGIN_HEADER, .n_interfaces = 1, .interfaces = &interface, .version = "0.1.0",
	.description = "Keeps objects in memory; for tests and control planes that may be thrown away.",
};
