/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* How requests are counted. Private to the metrics: metrics.c counts, metrics_text.c tells. */
#ifndef KS_PIPELINE_METRICS_ENTRY_H
#define KS_PIPELINE_METRICS_ENTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/pipeline/metrics.h"

enum { KS_METRIC_REQUEST_BUCKETS = 23, KS_METRIC_STAGE_BUCKETS = 13, KS_METRIC_CODES = 16, KS_METRIC_STAGES = 16 };

enum ks_metric_verb {
	KS_METRIC_OTHER, KS_METRIC_GET, KS_METRIC_LIST, KS_METRIC_WATCH, KS_METRIC_POST, KS_METRIC_PUT, KS_METRIC_PATCH, KS_METRIC_APPLY,
	KS_METRIC_DELETE, KS_METRIC_DELETECOLLECTION, KS_METRIC_CONNECT, KS_METRIC_HEAD
};

enum ks_metric_scope { KS_METRIC_SCOPE_NONE, KS_METRIC_SCOPE_CLUSTER, KS_METRIC_SCOPE_NAMESPACE, KS_METRIC_SCOPE_RESOURCE };

/* The labels, all but the code. */
struct ks_metric_key {
	const char *path;  /* of a route, or NULL */
	uint16_t resource; /* or KS_NO_RESOURCE */
	uint8_t verb, scope, dry_run;
};

struct ks_metric_entry {
	struct ks_metric_entry *next;
	struct ks_metric_key key;
	_Atomic uint64_t buckets[KS_METRIC_REQUEST_BUCKETS + 1]; /* not cumulative */
	_Atomic uint64_t sum_ns;
	_Atomic uint64_t long_running;
	struct { _Atomic uint16_t code; _Atomic uint64_t n; } codes[KS_METRIC_CODES]; /* the last one takes what finds no room */
};

struct ks_metrics_shard {
	struct ks_metric_entry *_Atomic entries; /* newest first; never taken out */
	struct ks_metric_entry **slots;          /* the worker's own index: open addressing */
	size_t n_slots, n_entries;
	_Atomic uint64_t in_flight[2];           /* mutating, read only */
	struct { _Atomic uint64_t buckets[KS_METRIC_STAGE_BUCKETS + 1], sum_ns; } stages[KS_METRIC_STAGES];
};

extern const double ks_metric_request_bounds[KS_METRIC_REQUEST_BUCKETS];
extern const double ks_metric_stage_bounds[KS_METRIC_STAGE_BUCKETS];

void ks_metrics_each_shard(struct ks_metrics *metrics, void (*visit)(const struct ks_metrics_shard *shard, void *arg), void *arg);
/* metrics_text.c */
void ks_metrics_write_requests(struct ks_metrics *metrics, const struct ks_schema *schema, struct ks_buf *out);

#endif
