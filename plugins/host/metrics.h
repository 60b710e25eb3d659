/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Counters and gauges of plugins, kept sorted by family for /metrics. Any thread. */
#ifndef KS_PLUGINS_METRICS_H
#define KS_PLUGINS_METRICS_H

#include <keelson/host.h>
#include <pthread.h>

#include "core/util/buf.h"

struct ks_plugin_metrics {
	pthread_mutex_t lock;
	struct ks_metric *first;
};

void ks_plugin_metrics_init(struct ks_plugin_metrics *metrics);
void ks_plugin_metrics_fini(struct ks_plugin_metrics *metrics);
/* keelson_plugin_PLUGIN_NAME{instance="INSTANCE"}. The same one again when the instance has it already. NULL: bad name, memory, or another
 * type under that name. Each is given back by ks_plugin_metrics_remove. */
struct ks_metric *ks_plugin_metrics_add(struct ks_plugin_metrics *metrics, int type, const char *plugin, const char *instance, const char *name,
	const char *help) __attribute__((warn_unused_result));
/* The counterpart of ks_plugin_metrics_add. */
void ks_plugin_metrics_remove(struct ks_plugin_metrics *metrics, struct ks_metric *metric);
void ks_plugin_metrics_write(struct ks_plugin_metrics *metrics, struct ks_buf *out);
void ks_metric_add(struct ks_metric *metric, double value);
void ks_metric_set(struct ks_metric *metric, double value);

#endif
