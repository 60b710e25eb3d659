/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Autoscalers, in their version v2. */
#include "core/registry/table/cell.h"

enum { MOST_METRICS = 2 };

/* A source of metrics: its name among the types, its member in spec and status, and whether it is a resource of containers. */
struct source {
	const char *type, *member;
	bool resource;
};
static const struct source sources[] = {
	{"External", "external", false}, {"Pods", "pods", false}, {"Object", "object", false}, {"Resource", "resource", true},
	{"ContainerResource", "containerResource", true},
};

/* A quantity that isn't there is shown as `otherwise`. */
static void add_quantity(struct ks_row *row, struct ks_buf *text, const struct ks_value *v, const char *path, const char *otherwise)
{
	const struct ks_value *quantity = ks_row_at(row, v, path);

	if (quantity)
		ks_add_str(text, ks_value_str(quantity));
	else
		ks_buf_add_str(text, otherwise);
}

/* "80%", or `otherwise`. */
static void add_percent(struct ks_row *row, struct ks_buf *text, const struct ks_value *v, const char *path, const char *otherwise)
{
	if (ks_row_at(row, v, path))
		ks_buf_printf(text, "%lld%%", (long long)ks_row_int(row, v, path));
	else
		ks_buf_add_str(text, otherwise);
}

/* `current` may be NULL. */
static void add_resource(struct ks_row *row, struct ks_buf *text, const struct ks_value *spec, const struct ks_value *current)
{
	ks_add_str(text, ks_row_str(row, spec, "name"));
	ks_buf_add_str(text, ": ");
	if (ks_row_at(row, spec, "target.averageValue")) {
		add_quantity(row, text, current, "current.averageValue", current ? "<nil>" : "<unknown>");
		ks_buf_add_char(text, '/');
		add_quantity(row, text, spec, "target.averageValue", "<nil>");
		return;
	}
	add_percent(row, text, current, "current.averageUtilization", "<unknown>");
	ks_buf_add_char(text, '/');
	add_percent(row, text, spec, "target.averageUtilization", "<auto>");
}

static void add_value(struct ks_row *row, struct ks_buf *text, const struct source *source, const struct ks_value *spec,
	const struct ks_value *current)
{
	bool pods = strcmp(source->member, "pods") == 0;
	bool average = pods || ks_row_at(row, spec, "target.averageValue");

	/* A current average that is missing is unknown but for pods, where it is always there. */
	if (average)
		add_quantity(row, text, current, "current.averageValue", pods && current ? "<nil>" : "<unknown>");
	else
		add_quantity(row, text, current, "current.value", current ? "<nil>" : "<unknown>");
	ks_buf_add_char(text, '/');
	add_quantity(row, text, spec, average ? "target.averageValue" : "target.value", "<nil>");
	if (average && !pods)
		ks_buf_add_str(text, " (avg)");
}

static void add_metric(struct ks_row *row, struct ks_buf *text, const struct ks_value *spec, const struct ks_value *status)
{
	struct ks_str type = ks_row_str(row, spec, "type");

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		const struct source *source = &sources[i];

		if (!ks_str_is(type, source->type))
			continue;
		spec = ks_row_at(row, spec, source->member);
		status = ks_row_at(row, status, source->member);
		if (source->resource)
			add_resource(row, text, spec, status);
		else
			add_value(row, text, source, spec, status);
		return;
	}
	ks_buf_add_str(text, "<unknown type>");
}

static void cell_targets(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *specs = ks_row_list(row, row->object, "spec.metrics");
	const struct ks_value *statuses = ks_row_list(row, row->object, "status.currentMetrics");
	struct ks_buf *text = ks_compose(row);

	for (uint32_t i = 0; specs && i < specs->n && i < MOST_METRICS; i++) {
		if (i)
			ks_buf_add_str(text, ", ");
		add_metric(row, text, &specs->items[i], statuses && i < statuses->n ? &statuses->items[i] : NULL);
	}
	if (specs)
		ks_add_more(text, specs->n, MOST_METRICS);
	ks_put_composed(row, cell->otherwise);
}

static void cell_reference(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *target = ks_row_at(row, row->object, cell->path);
	struct ks_buf *text = ks_compose(row);

	ks_add_str(text, ks_row_str(row, target, "kind"));
	ks_buf_add_char(text, '/');
	ks_add_str(text, ks_row_str(row, target, "name"));
	ks_put_composed(row, NULL);
}

static const struct ks_cell autoscalers[] = {
	KS_CELL_NAME,
	{cell_reference, "spec.scaleTargetRef", NULL},
	{cell_targets, NULL, "<none>"},
	{ks_cell_int_text, "spec.minReplicas", "<unset>"},
	{ks_cell_int, "spec.maxReplicas", NULL},
	{ks_cell_int, "status.currentReplicas", NULL},
	KS_CELL_AGE,
};

static const struct ks_printer printers[] = {
	{"autoscaling", "horizontalpodautoscalers", KS_CELLS(autoscalers), NULL},
};
const struct ks_printers ks_printers_autoscaling = KS_PRINTERS(printers);
