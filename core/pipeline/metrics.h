/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * What /metrics shows. Each worker counts in its own shard, without locks; a scrape
 * adds the shards up.
 */
#ifndef KS_PIPELINE_METRICS_H
#define KS_PIPELINE_METRICS_H

#include "core/util/buf.h"

struct ks_metrics;
struct ks_metrics_shard;
struct ks_request;
struct ks_schema;

struct ks_metrics *ks_metrics_new(const struct ks_schema *schema) __attribute__((warn_unused_result));
void ks_metrics_free(struct ks_metrics **metrics);
/* The shard of a worker; made on first use; NULL when out of memory. */
struct ks_metrics_shard *ks_metrics_shard(struct ks_metrics *metrics, uint32_t worker);

/* A request whose info is known: counted as in flight until ks_metrics_end. */
void ks_metrics_begin(struct ks_request *request);
/* A long-running request has begun its answer: it moves from the ones in flight to the long-running ones. */
void ks_metrics_long_running(struct ks_request *request);
/* It was answered with request->code. */
void ks_metrics_answered(struct ks_request *request);
void ks_metrics_end(struct ks_request *request);
/* Time that one stage took, waiting included. */
void ks_metrics_stage(struct ks_metrics_shard *shard, size_t stage, uint64_t nanoseconds);

/* Something else that has metrics: appends them in the text format of Prometheus. Before the server starts. 0 or -ENOMEM. */
int ks_metrics_add_source(struct ks_metrics *metrics, void (*write)(void *arg, struct ks_buf *out), void *arg) __attribute__((warn_unused_result));
/* Everything. Any thread. */
void ks_metrics_write(struct ks_metrics *metrics, struct ks_buf *out);

/* process.c: memory, CPU time, descriptors of this process. */
void ks_metrics_write_process(struct ks_buf *out);

#endif
