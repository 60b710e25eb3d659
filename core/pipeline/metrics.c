/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/metrics.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/pipeline/chain.h"
#include "core/pipeline/lane.h"
#include "core/pipeline/metrics_entry.h"

enum { SOURCES_MOST = 16, SLOTS_FIRST = 64 };

struct ks_metrics {
	const struct ks_schema *schema;
	struct ks_metrics_shard *_Atomic shards[KS_LANES_MOST];
	pthread_mutex_t lock; /* for making shards */
	struct {
		void (*write)(void *arg, struct ks_buf *out);
		void *arg;
	} sources[SOURCES_MOST];
	size_t n_sources;
};

/* Upper bounds in seconds, those of kube-apiserver's histograms. */
const double ks_metric_request_bounds[KS_METRIC_REQUEST_BUCKETS] = {
	0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60};
const double ks_metric_stage_bounds[KS_METRIC_STAGE_BUCKETS] = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5, 10, 15, 30};

struct ks_metrics *ks_metrics_new(const struct ks_schema *schema)
{
	struct ks_metrics *metrics = calloc(1, sizeof(*metrics));

	if (!metrics)
		return NULL;
	metrics->schema = schema;
	pthread_mutex_init(&metrics->lock, NULL);
	return metrics;
}

static void free_shard(struct ks_metrics_shard *shard)
{
	struct ks_metric_entry *entry = atomic_load_explicit(&shard->entries, memory_order_relaxed);

	while (entry) {
		struct ks_metric_entry *next = entry->next;

		free(entry);
		entry = next;
	}
	free(shard->slots);
	free(shard);
}

void ks_metrics_free(struct ks_metrics **metrics)
{
	if (!*metrics)
		return;
	for (size_t i = 0; i < KS_LANES_MOST; i++) {
		struct ks_metrics_shard *shard = atomic_load_explicit(&(*metrics)->shards[i], memory_order_relaxed);

		if (shard)
			free_shard(shard);
	}
	pthread_mutex_destroy(&(*metrics)->lock);
	free(*metrics);
	*metrics = NULL;
}

static struct ks_metrics_shard *new_shard(void)
{
	struct ks_metrics_shard *shard = calloc(1, sizeof(*shard));

	if (!shard)
		return NULL;
	shard->n_slots = SLOTS_FIRST;
	shard->slots = calloc(shard->n_slots, sizeof(struct ks_metric_entry *));
	if (!shard->slots) {
		free(shard);
		return NULL;
	}
	return shard;
}

struct ks_metrics_shard *ks_metrics_shard(struct ks_metrics *metrics, uint32_t worker)
{
	struct ks_metrics_shard *shard;

	if (worker >= KS_LANES_MOST)
		return NULL;
	pthread_mutex_lock(&metrics->lock);
	shard = atomic_load_explicit(&metrics->shards[worker], memory_order_relaxed);
	if (!shard) {
		shard = new_shard();
		atomic_store_explicit(&metrics->shards[worker], shard, memory_order_release);
	}
	pthread_mutex_unlock(&metrics->lock);
	return shard;
}

int ks_metrics_add_source(struct ks_metrics *metrics, void (*write)(void *arg, struct ks_buf *out), void *arg)
{
	if (metrics->n_sources == SOURCES_MOST)
		return -ENOMEM;
	metrics->sources[metrics->n_sources].write = write;
	metrics->sources[metrics->n_sources++].arg = arg;
	return 0;
}

/* -- counting: the worker's own thread ------------------------------------------------------------------------- */

/* Only one thread writes: no read-modify-write that the bus has to know of. */
static void add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

static enum ks_metric_verb verb_of(struct ks_request *request)
{
	static const struct {
		const char *verb;
		enum ks_metric_verb metric;
	} verbs[] = {
		{"get", KS_METRIC_GET},
		{"list", KS_METRIC_LIST},
		{"watch", KS_METRIC_WATCH},
		{"create", KS_METRIC_POST},
		{"update", KS_METRIC_PUT},
		{"patch", KS_METRIC_PATCH},
		{"delete", KS_METRIC_DELETE},
		{"deletecollection", KS_METRIC_DELETECOLLECTION},
		{"head", KS_METRIC_HEAD},
		{"post", KS_METRIC_POST},
		{"put", KS_METRIC_PUT},
	};
	struct ks_str verb = request->info.verb;

	if (request->long_running && !ks_str_is(verb, "watch") && !ks_str_is(request->info.subresource, "log"))
		return KS_METRIC_CONNECT;
	if (ks_str_is(verb, "patch") && ks_str_starts(ks_request_header_view(request, "content-type"), KS_STR_LIT("application/apply-patch")))
		return KS_METRIC_APPLY;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (ks_str_is(verb, verbs[i].verb))
			return verbs[i].metric;
	return KS_METRIC_OTHER;
}

static enum ks_metric_scope scope_of(const struct ks_request_info *info)
{
	if (info->name.n > 0 || ks_str_is(info->verb, "create"))
		return info->is_resource ? KS_METRIC_SCOPE_RESOURCE : KS_METRIC_SCOPE_NONE;
	if (info->ns.n > 0)
		return KS_METRIC_SCOPE_NAMESPACE;
	return info->is_resource ? KS_METRIC_SCOPE_CLUSTER : KS_METRIC_SCOPE_NONE;
}

static struct ks_metric_key key_of(struct ks_request *request)
{
	struct ks_metric_key key = {.path = request->metric_path,
		.resource = request->info.resource_index,
		.verb = (uint8_t)verb_of(request),
		.scope = (uint8_t)scope_of(&request->info),
		.dry_run = request->dry_run};

	if (key.resource == KS_NO_RESOURCE)
		key.scope = KS_METRIC_SCOPE_NONE;
	return key;
}

static size_t hash_of(const struct ks_metric_key *key)
{
	uint64_t h = (uint64_t)(uintptr_t)key->path;

	h = (h ^ ((uint64_t)key->resource << 24 | (uint64_t)key->verb << 16 | (uint64_t)key->scope << 8 | key->dry_run)) *
		UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(h >> 32);
}

static bool same_key(const struct ks_metric_key *a, const struct ks_metric_key *b)
{
	return a->path == b->path && a->resource == b->resource && a->verb == b->verb && a->scope == b->scope && a->dry_run == b->dry_run;
}

static void insert(struct ks_metric_entry **slots, size_t n_slots, struct ks_metric_entry *entry)
{
	size_t at = hash_of(&entry->key) & (n_slots - 1);

	while (slots[at])
		at = (at + 1) & (n_slots - 1);
	slots[at] = entry;
}

static bool grow(struct ks_metrics_shard *shard)
{
	size_t n = shard->n_slots * 2;
	struct ks_metric_entry **slots;

	if (shard->n_entries * 2 < shard->n_slots)
		return true;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; i < shard->n_slots; i++)
		if (shard->slots[i])
			insert(slots, n, shard->slots[i]);
	free(shard->slots);
	shard->slots = slots;
	shard->n_slots = n;
	return true;
}

/* NULL when out of memory: that request is not counted. */
static struct ks_metric_entry *entry_of(struct ks_metrics_shard *shard, const struct ks_metric_key *key)
{
	struct ks_metric_entry *entry;
	size_t at = hash_of(key) & (shard->n_slots - 1);

	for (; shard->slots[at]; at = (at + 1) & (shard->n_slots - 1))
		if (same_key(&shard->slots[at]->key, key))
			return shard->slots[at];
	entry = grow(shard) ? calloc(1, sizeof(*entry)) : NULL;
	if (!entry)
		return NULL;
	entry->key = *key;
	entry->next = atomic_load_explicit(&shard->entries, memory_order_relaxed);
	atomic_store_explicit(&shard->entries, entry, memory_order_release);
	insert(shard->slots, shard->n_slots, entry);
	shard->n_entries++;
	return entry;
}

static bool is_read(struct ks_str method)
{
	return ks_str_is(method, "GET") || ks_str_is(method, "HEAD");
}

void ks_metrics_begin(struct ks_request *request)
{
	request->counted = true;
	request->counted_read = is_read(request->method);
	add(&request->lane->metrics->in_flight[request->counted_read], 1);
}

static void leave_flight(struct ks_request *request)
{
	if (request->counted)
		add(&request->lane->metrics->in_flight[request->counted_read], UINT64_MAX);
	request->counted = false;
}

void ks_metrics_long_running(struct ks_request *request)
{
	struct ks_metric_entry *entry = request->metrics_entry;

	leave_flight(request);
	if (entry)
		add(&entry->long_running, 1);
}

static void observe(struct ks_metric_entry *entry, uint64_t nanoseconds)
{
	size_t i = 0;

	while (i < KS_METRIC_REQUEST_BUCKETS && (double)nanoseconds > ks_metric_request_bounds[i] * 1e9)
		i++;
	add(&entry->buckets[i], 1);
	add(&entry->sum_ns, nanoseconds);
}

static void count_code(struct ks_metric_entry *entry, uint16_t code)
{
	size_t i = 0;

	while (i < KS_METRIC_CODES - 1 && entry->codes[i].code != 0 && entry->codes[i].code != code)
		i++;
	if (entry->codes[i].code == 0)
		atomic_store_explicit(&entry->codes[i].code, code, memory_order_relaxed);
	add(&entry->codes[i].n, 1);
}

void ks_metrics_answered(struct ks_request *request)
{
	struct ks_metric_key key = key_of(request);
	struct ks_metric_entry *entry = entry_of(request->lane->metrics, &key);

	request->metrics_entry = entry;
	if (!entry)
		return;
	count_code(entry, request->code);
	if (!request->long_running)
		observe(entry, ks_monotonic_ns() - request->received_ns);
}

void ks_metrics_end(struct ks_request *request)
{
	struct ks_metric_entry *entry = request->metrics_entry;

	leave_flight(request);
	if (!entry || !request->long_running)
		return;
	observe(entry, ks_monotonic_ns() - request->received_ns);
	if (request->streaming)
		add(&entry->long_running, UINT64_MAX);
}

void ks_metrics_stage(struct ks_metrics_shard *shard, size_t stage, uint64_t nanoseconds)
{
	size_t i = 0;

	if (stage >= KS_METRIC_STAGES)
		return;
	while (i < KS_METRIC_STAGE_BUCKETS && (double)nanoseconds > ks_metric_stage_bounds[i] * 1e9)
		i++;
	add(&shard->stages[stage].buckets[i], 1);
	add(&shard->stages[stage].sum_ns, nanoseconds);
}

/* -- a scrape -------------------------------------------------------------------------------------------------- */

void ks_metrics_each_shard(struct ks_metrics *metrics, void (*visit)(const struct ks_metrics_shard *shard, void *arg), void *arg)
{
	for (size_t i = 0; i < KS_LANES_MOST; i++) {
		const struct ks_metrics_shard *shard = atomic_load_explicit(&metrics->shards[i], memory_order_acquire);

		if (shard)
			visit(shard, arg);
	}
}

void ks_metrics_write(struct ks_metrics *metrics, struct ks_buf *out)
{
	ks_metrics_write_requests(metrics, metrics->schema, out);
	ks_metrics_write_process(out);
	for (size_t i = 0; i < metrics->n_sources; i++)
		metrics->sources[i].write(metrics->sources[i].arg, out);
}
