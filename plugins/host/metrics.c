/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "plugins/host/metrics.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MOST = 200 };

struct ks_metric {
	struct ks_metric *next;
	char *family, *instance, *help;
	int type;
	uint32_t users;       /* instances of the same name in two sets share it */
	_Atomic double value;
};

void ks_plugin_metrics_init(struct ks_plugin_metrics *metrics)
{
	pthread_mutex_init(&metrics->lock, NULL);
	metrics->first = NULL;
}

static void free_metric(struct ks_metric *metric)
{
	free(metric->family);
	free(metric->instance);
	free(metric->help);
	free(metric);
}

void ks_plugin_metrics_fini(struct ks_plugin_metrics *metrics)
{
	while (metrics->first) {
		struct ks_metric *metric = metrics->first;

		metrics->first = metric->next;
		free_metric(metric);
	}
	pthread_mutex_destroy(&metrics->lock);
}

static bool is_name(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!(*p >= 'a' && *p <= 'z') && *p != '_')
			return false;
	return name[0] && strlen(name) <= NAME_MOST / 2;
}

static char *family_name(const char *plugin, const char *name)
{
	char family[NAME_MOST];
	int n = snprintf(family, sizeof(family), "keelson_plugin_%s_%s", plugin, name);

	if (n < 0 || (size_t)n >= sizeof(family))
		return NULL;
	for (char *p = family; *p; p++)
		if (*p == '-' || *p == '.')
			*p = '_';
	return strdup(family);
}

static struct ks_metric *new_metric(int type, char *family, const char *instance, const char *help)
{
	struct ks_metric *metric = calloc(1, sizeof(*metric));

	if (!metric)
		return NULL;
	metric->type = type;
	metric->family = family;
	metric->instance = strdup(instance);
	metric->help = strdup(help ? help : "");
	if (metric->instance && metric->help)
		return metric;
	metric->family = NULL;
	free_metric(metric);
	return NULL;
}

static int order(const struct ks_metric *m, const char *family, const char *instance)
{
	int c = strcmp(m->family, family);

	return c ? c : strcmp(m->instance, instance);
}

/* Takes `family` over when it makes a new one. */
static struct ks_metric *find_or_insert(struct ks_plugin_metrics *metrics, int type, char **family, const char *instance, const char *help)
{
	struct ks_metric **at = &metrics->first;
	struct ks_metric *metric;

	while (*at && order(*at, *family, instance) < 0)
		at = &(*at)->next;
	if (*at && order(*at, *family, instance) == 0) {
		if ((*at)->type != type)
			return NULL;
		(*at)->users++;
		return *at;
	}
	metric = new_metric(type, *family, instance, help);
	if (!metric)
		return NULL;
	*family = NULL;
	metric->users = 1;
	metric->next = *at;
	*at = metric;
	return metric;
}

struct ks_metric *ks_plugin_metrics_add(struct ks_plugin_metrics *metrics, int type, const char *plugin, const char *instance, const char *name,
	const char *help)
{
	struct ks_metric *metric;
	char *family;

	if ((type != KS_METRIC_COUNTER && type != KS_METRIC_GAUGE) || !name || !is_name(name))
		return NULL;
	family = family_name(plugin, name);
	if (!family)
		return NULL;
	pthread_mutex_lock(&metrics->lock);
	metric = find_or_insert(metrics, type, &family, instance, help);
	pthread_mutex_unlock(&metrics->lock);
	free(family);
	return metric;
}

void ks_plugin_metrics_remove(struct ks_plugin_metrics *metrics, struct ks_metric *metric)
{
	pthread_mutex_lock(&metrics->lock);
	if (--metric->users == 0) {
		struct ks_metric **at = &metrics->first;

		while (*at != metric)
			at = &(*at)->next;
		*at = metric->next;
		free_metric(metric);
	}
	pthread_mutex_unlock(&metrics->lock);
}

/* Help and names are the plugin's: a newline or a quote may not break the format. */
static void add_escaped(struct ks_buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n') {
			ks_buf_add_str(out, "\\n");
			continue;
		}
		if (*text == '\\' || *text == '"')
			ks_buf_add_char(out, '\\');
		ks_buf_add_char(out, *text);
	}
}

static void write_value(struct ks_buf *out, double value)
{
	if (isnan(value))
		ks_buf_add_str(out, "NaN");
	else if (isinf(value))
		ks_buf_add_str(out, value > 0 ? "+Inf" : "-Inf");
	else
		ks_buf_printf(out, "%.17g", value);
}

static void write_head(const struct ks_metric *metric, struct ks_buf *out)
{
	ks_buf_printf(out, "# HELP %s ", metric->family);
	add_escaped(out, metric->help);
	ks_buf_printf(out, "\n# TYPE %s %s\n", metric->family, metric->type == KS_METRIC_COUNTER ? "counter" : "gauge");
}

void ks_plugin_metrics_write(struct ks_plugin_metrics *metrics, struct ks_buf *out)
{
	const struct ks_metric *previous = NULL;

	pthread_mutex_lock(&metrics->lock);
	for (const struct ks_metric *m = metrics->first; m; m = m->next) {
		if (!previous || strcmp(previous->family, m->family) != 0)
			write_head(m, out);
		ks_buf_printf(out, "%s{instance=\"", m->family);
		add_escaped(out, m->instance);
		ks_buf_add_str(out, "\"} ");
		write_value(out, atomic_load_explicit(&m->value, memory_order_relaxed));
		ks_buf_add_char(out, '\n');
		previous = m;
	}
	pthread_mutex_unlock(&metrics->lock);
}

void ks_metric_add(struct ks_metric *metric, double value)
{
	double before = atomic_load_explicit(&metric->value, memory_order_relaxed);

	while (!atomic_compare_exchange_weak_explicit(&metric->value, &before, before + value, memory_order_relaxed, memory_order_relaxed))
		;
}

void ks_metric_set(struct ks_metric *metric, double value)
{
	atomic_store_explicit(&metric->value, value, memory_order_relaxed);
}
