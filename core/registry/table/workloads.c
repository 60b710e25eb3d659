/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What keeps pods running: replica sets and their like, jobs, and the budgets of disruptions. */
#include "core/registry/table/cell.h"

#define CONTAINERS(spec) {ks_cell_containers, spec, NULL}, {ks_cell_images, spec, NULL}

/* "ready/desired" */
static void cell_ready(struct ks_row *row, const struct ks_cell *cell)
{
	(void)cell;
	ks_buf_printf(ks_compose(row), "%lld/%lld", (long long)ks_row_int(row, row->object, "status.readyReplicas"),
		(long long)ks_row_int(row, row->object, "spec.replicas"));
	ks_put_composed(row, NULL);
}

static const struct ks_cell deployments[] = {
	KS_CELL_NAME,
	{cell_ready, NULL, NULL},
	{ks_cell_int, "status.updatedReplicas", NULL},
	{ks_cell_int, "status.availableReplicas", NULL},
	KS_CELL_AGE,
	CONTAINERS("spec.template.spec"),
	{ks_cell_selector, "spec.selector", NULL},
};

static const struct ks_cell replica_sets[] = {
	KS_CELL_NAME,
	{ks_cell_int, "spec.replicas", NULL},
	{ks_cell_int, "status.replicas", NULL},
	{ks_cell_int, "status.readyReplicas", NULL},
	KS_CELL_AGE,
	CONTAINERS("spec.template.spec"),
	{ks_cell_selector, "spec.selector", "<none>"},
};

static const struct ks_cell replication_controllers[] = {
	KS_CELL_NAME,
	{ks_cell_int, "spec.replicas", NULL},
	{ks_cell_int, "status.replicas", NULL},
	{ks_cell_int, "status.readyReplicas", NULL},
	KS_CELL_AGE,
	CONTAINERS("spec.template.spec"),
	{ks_cell_labels, "spec.selector", NULL},
};

static const struct ks_cell stateful_sets[] = {
	KS_CELL_NAME, {cell_ready, NULL, NULL}, KS_CELL_AGE, CONTAINERS("spec.template.spec"),
};

static const struct ks_cell daemon_sets[] = {
	KS_CELL_NAME,
	{ks_cell_int, "status.desiredNumberScheduled", NULL},
	{ks_cell_int, "status.currentNumberScheduled", NULL},
	{ks_cell_int, "status.numberReady", NULL},
	{ks_cell_int, "status.updatedNumberScheduled", NULL},
	{ks_cell_int, "status.numberAvailable", NULL},
	{ks_cell_labels, "spec.template.spec.nodeSelector", NULL},
	KS_CELL_AGE,
	CONTAINERS("spec.template.spec"),
	{ks_cell_selector, "spec.selector", "<none>"},
};

/* -- controller revisions -------------------------------------------------------------------------------------- */

static const struct ks_value *controller_of(const struct ks_row *row)
{
	const struct ks_value *owners = ks_row_list(row, row->object, "metadata.ownerReferences");

	for (uint32_t i = 0; owners && i < owners->n; i++)
		if (ks_row_true(row, &owners->items[i], "controller"))
			return &owners->items[i];
	return NULL;
}

/* daemonset.apps/name */
static void cell_controller(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *owner = controller_of(row);
	struct ks_str version = ks_row_str(row, owner, "apiVersion");
	const char *slash = version.n ? memchr(version.p, '/', version.n) : NULL;
	struct ks_buf *text = ks_compose(row);

	if (!owner) {
		ks_put_text(row, cell->otherwise);
		return;
	}
	ks_add_lower(text, ks_row_str(row, owner, "kind"));
	if (slash) {
		ks_buf_add_char(text, '.');
		ks_add_lower(text, ks_str_of(version.p, (size_t)(slash - version.p)));
	}
	ks_add_separator(text, "/");
	ks_add_str(text, ks_row_str(row, owner, "name"));
	ks_put_composed(row, NULL);
}

static const struct ks_cell controller_revisions[] = {
	KS_CELL_NAME, {cell_controller, NULL, "<none>"}, {ks_cell_int, "revision", NULL}, KS_CELL_AGE,
};

/* -- jobs ------------------------------------------------------------------------------------------------------ */

static void cell_job_status(struct ks_row *row, const struct ks_cell *cell)
{
	const char *status = "Running";

	(void)cell;
	if (ks_row_condition_true(row, "status.conditions", "Complete"))
		status = "Complete";
	else if (ks_row_condition_true(row, "status.conditions", "Failed"))
		status = "Failed";
	else if (ks_row_deleted(row))
		status = "Terminating";
	else if (ks_row_condition_true(row, "status.conditions", "Suspended"))
		status = "Suspended";
	else if (ks_row_condition_true(row, "status.conditions", "FailureTarget"))
		status = "FailureTarget";
	ks_put_text(row, status);
}

static void cell_completions(struct ks_row *row, const struct ks_cell *cell)
{
	long long succeeded = ks_row_int(row, row->object, "status.succeeded");
	long long parallelism = ks_row_int(row, row->object, "spec.parallelism");
	struct ks_buf *text = ks_compose(row);

	(void)cell;
	if (ks_row_at(row, row->object, "spec.completions"))
		ks_buf_printf(text, "%lld/%lld", succeeded, (long long)ks_row_int(row, row->object, "spec.completions"));
	else if (parallelism > 1)
		ks_buf_printf(text, "%lld/1 of %lld", succeeded, parallelism);
	else
		ks_buf_printf(text, "%lld/1", succeeded);
	ks_put_composed(row, NULL);
}

static void cell_duration(struct ks_row *row, const struct ks_cell *cell)
{
	struct ks_time start, now = row->now;

	(void)cell;
	if (!ks_row_time(row, row->object, "status.startTime", &start)) {
		ks_put_text(row, "");
		return;
	}
	(void)ks_row_time(row, row->object, "status.completionTime", &row->now);
	ks_put_since(row, true, start);
	row->now = now;
}

static const struct ks_cell jobs[] = {
	KS_CELL_NAME,
	{cell_job_status, NULL, NULL},
	{cell_completions, NULL, NULL},
	{cell_duration, NULL, NULL},
	KS_CELL_AGE,
	CONTAINERS("spec.template.spec"),
	{ks_cell_selector, "spec.selector", "<none>"},
};

static void cell_suspend(struct ks_row *row, const struct ks_cell *cell)
{
	if (!ks_row_at(row, row->object, cell->path))
		ks_put_text(row, "<unset>");
	else
		ks_put_text(row, ks_row_true(row, row->object, cell->path) ? "True" : "False");
}

static const struct ks_cell cron_jobs[] = {
	KS_CELL_NAME,
	{ks_cell_text, "spec.schedule", NULL},
	{ks_cell_text, "spec.timeZone", "<none>"},
	{cell_suspend, "spec.suspend", NULL},
	{ks_cell_count, "status.active", NULL},
	{ks_cell_since, "status.lastScheduleTime", "<none>"},
	KS_CELL_AGE,
	CONTAINERS("spec.jobTemplate.spec.template.spec"),
	{ks_cell_selector, "spec.jobTemplate.spec.selector", "<none>"},
};

static const struct ks_cell disruption_budgets[] = {
	KS_CELL_NAME,
	{ks_cell_int_text, "spec.minAvailable", "N/A"},
	{ks_cell_int_text, "spec.maxUnavailable", "N/A"},
	{ks_cell_int, "status.disruptionsAllowed", NULL},
	KS_CELL_AGE,
};

static const struct ks_printer printers[] = {
	{"", "replicationcontrollers", KS_CELLS(replication_controllers), NULL},
	{"apps", "controllerrevisions", KS_CELLS(controller_revisions), NULL},
	{"apps", "daemonsets", KS_CELLS(daemon_sets), NULL},
	{"apps", "deployments", KS_CELLS(deployments), NULL},
	{"apps", "replicasets", KS_CELLS(replica_sets), NULL},
	{"apps", "statefulsets", KS_CELLS(stateful_sets), NULL},
	{"batch", "cronjobs", KS_CELLS(cron_jobs), NULL},
	{"batch", "jobs", KS_CELLS(jobs), NULL},
	{"policy", "poddisruptionbudgets", KS_CELLS(disruption_budgets), NULL},
};
const struct ks_printers ks_printers_workloads = KS_PRINTERS(printers);
