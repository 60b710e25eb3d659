/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The counts of all workers, added up, in the text format of Prometheus. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/pipeline/chain.h"
#include "core/pipeline/metrics_entry.h"

/* Copies of the entries of all shards; entries with the same labels become one. */
struct total {
	struct ks_metric_key key;
	uint64_t buckets[KS_METRIC_REQUEST_BUCKETS + 1], sum_ns, long_running;
	struct {
		uint16_t code;
		uint64_t n;
	} codes[KS_METRIC_CODES];
};

struct totals {
	struct total *items;
	size_t n, cap;
	uint64_t in_flight[2];
	uint64_t stage_buckets[KS_METRIC_STAGES][KS_METRIC_STAGE_BUCKETS + 1], stage_sum_ns[KS_METRIC_STAGES];
	bool failed;
};

static uint64_t get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void copy_entry(const struct ks_metric_entry *entry, struct total *total)
{
	*total = (struct total){.key = entry->key, .sum_ns = get(&entry->sum_ns), .long_running = get(&entry->long_running)};
	for (size_t i = 0; i <= KS_METRIC_REQUEST_BUCKETS; i++)
		total->buckets[i] = get(&entry->buckets[i]);
	for (size_t i = 0; i < KS_METRIC_CODES; i++) {
		total->codes[i].code = atomic_load_explicit(&entry->codes[i].code, memory_order_relaxed);
		total->codes[i].n = get(&entry->codes[i].n);
	}
}

static void collect(const struct ks_metrics_shard *shard, void *arg)
{
	struct totals *totals = arg;

	for (size_t i = 0; i < 2; i++)
		totals->in_flight[i] += get(&shard->in_flight[i]);
	for (size_t s = 0; s < KS_METRIC_STAGES; s++) {
		totals->stage_sum_ns[s] += get(&shard->stages[s].sum_ns);
		for (size_t i = 0; i <= KS_METRIC_STAGE_BUCKETS; i++)
			totals->stage_buckets[s][i] += get(&shard->stages[s].buckets[i]);
	}
	for (const struct ks_metric_entry *entry = atomic_load_explicit(&shard->entries, memory_order_acquire); entry; entry = entry->next) {
		if (totals->n == totals->cap) {
			size_t cap = totals->cap ? totals->cap * 2 : 64;
			struct total *more = realloc(totals->items, cap * sizeof(*more));

			if (!more) {
				totals->failed = true;
				return;
			}
			totals->items = more;
			totals->cap = cap;
		}
		copy_entry(entry, &totals->items[totals->n++]);
	}
}

static int order(const void *pa, const void *pb)
{
	const struct ks_metric_key *a = &((const struct total *)pa)->key, *b = &((const struct total *)pb)->key;
	int c = strcmp(a->path ? a->path : "", b->path ? b->path : "");

	if (c == 0)
		c = (int)a->resource - (int)b->resource;
	if (c == 0)
		c = (int)a->verb - (int)b->verb;
	if (c == 0)
		c = (int)a->scope - (int)b->scope;
	return c ? c : (int)a->dry_run - (int)b->dry_run;
}

static void add_codes(struct total *to, const struct total *from)
{
	for (size_t i = 0; i < KS_METRIC_CODES && from->codes[i].code; i++) {
		size_t k = 0;

		while (k < KS_METRIC_CODES - 1 && to->codes[k].code != 0 && to->codes[k].code != from->codes[i].code)
			k++;
		if (to->codes[k].code == 0)
			to->codes[k].code = from->codes[i].code;
		to->codes[k].n += from->codes[i].n;
	}
}

static void merge(struct totals *totals)
{
	size_t n = 0;

	if (totals->n == 0)
		return;
	qsort(totals->items, totals->n, sizeof(*totals->items), order);
	for (size_t i = 1; i < totals->n; i++) {
		struct total *to = &totals->items[n], *from = &totals->items[i];

		if (order(to, from) != 0) {
			totals->items[++n] = *from;
			continue;
		}
		to->sum_ns += from->sum_ns;
		to->long_running += from->long_running;
		for (size_t k = 0; k <= KS_METRIC_REQUEST_BUCKETS; k++)
			to->buckets[k] += from->buckets[k];
		add_codes(to, from);
	}
	totals->n = n + 1;
}

/* -- text ------------------------------------------------------------------------------------------------------ */

static const char *const verb_names[] = {
	[KS_METRIC_OTHER] = "OTHER",
	[KS_METRIC_GET] = "GET",
	[KS_METRIC_LIST] = "LIST",
	[KS_METRIC_WATCH] = "WATCH",
	[KS_METRIC_POST] = "POST",
	[KS_METRIC_PUT] = "PUT",
	[KS_METRIC_PATCH] = "PATCH",
	[KS_METRIC_APPLY] = "APPLY",
	[KS_METRIC_DELETE] = "DELETE",
	[KS_METRIC_DELETECOLLECTION] = "DELETECOLLECTION",
	[KS_METRIC_CONNECT] = "CONNECT",
	[KS_METRIC_HEAD] = "HEAD",
};
static const char *const scope_names[] = {"", "cluster", "namespace", "resource"};

static void head(struct ks_buf *out, const char *name, const char *type, const char *help)
{
	ks_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* component="apiserver",...: all labels but code and le; `with_dry_run`: the long-running ones have none. */
static void labels(struct ks_buf *out, const struct ks_schema *schema, const struct ks_metric_key *key, bool with_dry_run)
{
	const char *group = "", *version = "", *resource = "", *slash;
	int resource_n = 0;

	if (key->resource < schema->n_resources) {
		const struct ks_resource *r = &schema->resources[key->resource];

		group = ks_schema_text(schema, r->group);
		version = ks_schema_text(schema, r->version);
		resource = ks_schema_text(schema, r->resource);
	}
	slash = strchr(resource, '/');
	resource_n = slash ? (int)(slash - resource) : (int)strlen(resource);
	ks_buf_add_str(out, "component=\"apiserver\"");
	if (with_dry_run)
		ks_buf_printf(out, ",dry_run=\"%s\"", key->dry_run ? "All" : "");
	ks_buf_printf(out, ",group=\"%s\",resource=\"%.*s\",scope=\"%s\",subresource=\"%s\",verb=\"%s\",version=\"%s\"", group, resource_n, resource,
		scope_names[key->scope],
		slash               ? slash + 1
			: key->path ? key->path
				    : "",
		verb_names[key->verb], version);
}

static void write_totals(struct ks_buf *out, const struct ks_schema *schema, const struct totals *totals)
{
	head(out, "apiserver_request_total", "counter", "Requests answered, by code.");
	for (size_t i = 0; i < totals->n; i++)
		for (size_t k = 0; k < KS_METRIC_CODES && totals->items[i].codes[k].code; k++) {
			ks_buf_printf(out, "apiserver_request_total{code=\"%u\",", totals->items[i].codes[k].code);
			labels(out, schema, &totals->items[i].key, true);
			ks_buf_printf(out, "} %" PRIu64 "\n", totals->items[i].codes[k].n);
		}
	head(out, "apiserver_longrunning_requests", "gauge", "Watches and connections that are open.");
	for (size_t i = 0; i < totals->n; i++) {
		if (totals->items[i].long_running == 0)
			continue;
		ks_buf_add_str(out, "apiserver_longrunning_requests{");
		labels(out, schema, &totals->items[i].key, false);
		ks_buf_printf(out, "} %" PRIu64 "\n", totals->items[i].long_running);
	}
}

static void write_durations(struct ks_buf *out, const struct ks_schema *schema, const struct totals *totals)
{
	head(out, "apiserver_request_duration_seconds", "histogram",
		"Time from a request's arrival to its answer; of long-running ones, to their end.");
	for (size_t i = 0; i < totals->n; i++) {
		const struct total *t = &totals->items[i];
		uint64_t n = 0;

		for (size_t k = 0; k <= KS_METRIC_REQUEST_BUCKETS; k++) {
			n += t->buckets[k];
			ks_buf_add_str(out, "apiserver_request_duration_seconds_bucket{");
			labels(out, schema, &t->key, true);
			if (k < KS_METRIC_REQUEST_BUCKETS)
				ks_buf_printf(out, ",le=\"%g\"} %" PRIu64 "\n", ks_metric_request_bounds[k], n);
			else
				ks_buf_printf(out, ",le=\"+Inf\"} %" PRIu64 "\n", n);
		}
		ks_buf_add_str(out, "apiserver_request_duration_seconds_sum{");
		labels(out, schema, &t->key, true);
		ks_buf_printf(out, "} %.9g\napiserver_request_duration_seconds_count{", (double)t->sum_ns / 1e9);
		labels(out, schema, &t->key, true);
		ks_buf_printf(out, "} %" PRIu64 "\n", n);
	}
}

static void write_stages(struct ks_buf *out, const struct totals *totals)
{
	static const char name[] = "apiserver_request_filter_duration_seconds";

	head(out, name, "histogram", "Time that each stage of the chain took, waiting included.");
	for (size_t s = 0; s < ks_chain_n_stages && s < KS_METRIC_STAGES; s++) {
		const char *stage = ks_chain_stages[s].name;
		uint64_t n = 0;

		for (size_t k = 0; k <= KS_METRIC_STAGE_BUCKETS; k++) {
			n += totals->stage_buckets[s][k];
			if (k < KS_METRIC_STAGE_BUCKETS)
				ks_buf_printf(out, "%s_bucket{filter=\"%s\",le=\"%g\"} %" PRIu64 "\n", name, stage, ks_metric_stage_bounds[k], n);
			else
				ks_buf_printf(out, "%s_bucket{filter=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", name, stage, n);
		}
		ks_buf_printf(out, "%s_sum{filter=\"%s\"} %.9g\n%s_count{filter=\"%s\"} %" PRIu64 "\n", name, stage,
			(double)totals->stage_sum_ns[s] / 1e9, name, stage, n);
	}
}

void ks_metrics_write_requests(struct ks_metrics *metrics, const struct ks_schema *schema, struct ks_buf *out)
{
	struct totals totals = {0};

	ks_metrics_each_shard(metrics, collect, &totals);
	merge(&totals);
	head(out, "apiserver_current_inflight_requests", "gauge", "Requests being served, without the long-running ones.");
	ks_buf_printf(out, "apiserver_current_inflight_requests{request_kind=\"mutating\"} %" PRId64 "\n", (int64_t)totals.in_flight[0]);
	ks_buf_printf(out, "apiserver_current_inflight_requests{request_kind=\"readOnly\"} %" PRId64 "\n", (int64_t)totals.in_flight[1]);
	write_totals(out, schema, &totals);
	write_durations(out, schema, &totals);
	write_stages(out, &totals);
	if (totals.failed)
		out->failed = true;
	free(totals.items);
}
