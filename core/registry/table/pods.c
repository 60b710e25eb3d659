/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Pods and their templates. */
#include "core/registry/table/cell.h"

#define SUCCEEDED "[{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"Succeeded\"," \
	"\"message\":\"The pod has completed successfully.\"}]"
#define FAILED "[{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"Failed\",\"message\":\"The pod failed.\"}]"

/* What the statuses of its containers say of a pod. */
struct summary {
	int64_t ready, total, restarts, sidecar_restarts;
	struct ks_time last, sidecar_last; /* restart; zero: none */
	bool initializing, running;
	struct ks_str reason;              /* a view of the object, or of the arena */
};

static struct ks_str printed(struct ks_row *row, const char *text)
{
	row->out->failed |= text == NULL;
	return ks_str_from(text);
}

static bool is_sidecar(const struct ks_row *row, const struct ks_value *container)
{
	return ks_str_is(ks_row_str(row, container, "restartPolicy"), "Always");
}

/* The init container that a status speaks of. */
static const struct ks_value *init_container(const struct ks_row *row, struct ks_str name)
{
	const struct ks_value *list = ks_row_list(row, row->object, "spec.initContainers");

	/* The last one of a name counts, where two have the same. */
	for (uint32_t i = list ? list->n : 0; i > 0; i--)
		if (ks_str_eq(ks_row_str(row, &list->items[i - 1], "name"), name))
			return &list->items[i - 1];
	return NULL;
}

static void note_restart(const struct ks_row *row, const struct ks_value *status, struct ks_time *last)
{
	struct ks_time finished;

	if (ks_row_time(row, status, "lastState.terminated.finishedAt", &finished) && ks_time_cmp(*last, finished) < 0)
		*last = finished;
}

/* Signal:9 or ExitCode:1, where no reason is given. */
static struct ks_str exit_text(struct ks_row *row, const struct ks_value *terminated, const char *prefix)
{
	int64_t sig = ks_row_int(row, terminated, "signal");

	if (sig)
		return printed(row, ks_arena_printf(row->arena, "%sSignal:%lld", prefix, (long long)sig));
	return printed(row,
		ks_arena_printf(row->arena, "%sExitCode:%lld", prefix, (long long)ks_row_int(row, terminated, "exitCode")));
}

static struct ks_str init_reason(struct ks_row *row, struct ks_str reason)
{
	return printed(row, ks_arena_printf(row->arena, "Init:%.*s", (int)reason.n, reason.p));
}

/* The reason of a pod whose init container `at` isn't done. */
static struct ks_str init_state(struct ks_row *row, const struct ks_value *status, uint32_t at)
{
	const struct ks_value *terminated = ks_row_at(row, status, "state.terminated");
	struct ks_str reason = ks_row_str(row, terminated, "reason");

	if (terminated)
		return reason.n ? init_reason(row, reason) : exit_text(row, terminated, "Init:");
	reason = ks_row_str(row, status, "state.waiting.reason");
	if (reason.n && !ks_str_is(reason, "PodInitializing"))
		return init_reason(row, reason);
	return printed(row,
		ks_arena_printf(row->arena, "Init:%u/%u", at, ks_row_count(row, row->object, "spec.initContainers")));
}

/* One init container: false when the pod waits for it, and those behind it don't count. */
static bool sum_init_container(struct ks_row *row, struct summary *sum, const struct ks_value *status, uint32_t at)
{
	const struct ks_value *terminated = ks_row_at(row, status, "state.terminated");
	bool sidecar = is_sidecar(row, init_container(row, ks_row_str(row, status, "name")));
	int64_t restarts = ks_row_int(row, status, "restartCount");

	sum->restarts += restarts;
	note_restart(row, status, &sum->last);
	if (sidecar) {
		sum->sidecar_restarts += restarts;
		note_restart(row, status, &sum->sidecar_last);
	}
	if (terminated && ks_row_int(row, terminated, "exitCode") == 0)
		return true;
	if (sidecar && ks_row_true(row, status, "started")) {
		sum->ready += ks_row_true(row, status, "ready");
		return true;
	}
	sum->reason = init_state(row, status, at);
	sum->initializing = true;
	return false;
}

static void sum_init_containers(struct ks_row *row, struct summary *sum)
{
	const struct ks_value *list = ks_row_list(row, row->object, "status.initContainerStatuses");

	for (uint32_t i = 0; list && i < list->n; i++)
		if (!sum_init_container(row, sum, &list->items[i], i))
			return;
}

static void sum_container(struct ks_row *row, struct summary *sum, const struct ks_value *status)
{
	const struct ks_value *terminated = ks_row_at(row, status, "state.terminated");
	struct ks_str waiting = ks_row_str(row, status, "state.waiting.reason");
	struct ks_str reason = ks_row_str(row, terminated, "reason");

	sum->restarts += ks_row_int(row, status, "restartCount");
	note_restart(row, status, &sum->last);
	if (waiting.n) {
		sum->reason = waiting;
	} else if (terminated) {
		sum->reason = reason.n ? reason : exit_text(row, terminated, "");
	} else if (ks_row_true(row, status, "ready") && ks_row_at(row, status, "state.running")) {
		sum->running = true;
		sum->ready++;
	}
}

/* The first container that has something to say gives the reason, so they are gone through from the end. */
static void sum_containers(struct ks_row *row, struct summary *sum)
{
	const struct ks_value *list = ks_row_list(row, row->object, "status.containerStatuses");

	sum->restarts = sum->sidecar_restarts;
	sum->last = sum->sidecar_last;
	for (uint32_t i = list ? list->n : 0; i > 0; i--)
		sum_container(row, sum, &list->items[i - 1]);
	if (ks_str_is(sum->reason, "Completed") && sum->running)
		sum->reason = ks_row_condition_true(row, "status.conditions", "Ready") ? KS_STR_LIT("Running") : KS_STR_LIT("NotReady");
}

static bool is_gated(const struct ks_row *row)
{
	const struct ks_value *list = ks_row_list(row, row->object, "status.conditions");

	for (uint32_t i = 0; list && i < list->n; i++)
		if (ks_str_is(ks_row_str(row, &list->items[i], "type"), "PodScheduled") &&
			ks_str_is(ks_row_str(row, &list->items[i], "reason"), "SchedulingGated"))
			return true;
	return false;
}

static void sum_up(struct ks_row *row, struct summary *sum)
{
	const struct ks_value *init = ks_row_list(row, row->object, "spec.initContainers");
	struct ks_str phase = ks_row_str(row, row->object, "status.phase");
	struct ks_str reason = ks_row_str(row, row->object, "status.reason");
	bool done = ks_str_is(phase, "Succeeded") || ks_str_is(phase, "Failed");

	sum->reason = is_gated(row) ? KS_STR_LIT("SchedulingGated") : reason.n ? reason : phase;
	sum->total = ks_row_count(row, row->object, "spec.containers");
	for (uint32_t i = 0; init && i < init->n; i++)
		sum->total += is_sidecar(row, &init->items[i]);
	sum_init_containers(row, sum);
	if (!sum->initializing || ks_row_condition_true(row, "status.conditions", "Initialized"))
		sum_containers(row, sum);
	if (ks_row_deleted(row) && ks_str_is(reason, "NodeLost"))
		sum->reason = KS_STR_LIT("Unknown");
	else if (ks_row_deleted(row) && !done)
		sum->reason = KS_STR_LIT("Terminating");
}

static void put_restarts(struct ks_row *row, const struct summary *sum)
{
	struct ks_buf *text = ks_compose(row);

	ks_buf_add_i64(text, sum->restarts);
	if (sum->restarts && (sum->last.seconds || sum->last.nanoseconds)) {
		ks_buf_add_str(text, " (");
		ks_add_since(row, text, sum->last);
		ks_buf_add_str(text, " ago)");
	}
	ks_put_composed(row, NULL);
}

/* Ready, Status and Restarts come out of one look at the containers. */
static void cell_summary(struct ks_row *row, const struct ks_cell *cell)
{
	struct ks_str phase = ks_row_str(row, row->object, "status.phase");
	struct summary sum = {0};

	(void)cell;
	sum_up(row, &sum);
	if (ks_str_is(phase, "Succeeded"))
		row->conditions = SUCCEEDED;
	else if (ks_str_is(phase, "Failed"))
		row->conditions = FAILED;
	ks_buf_printf(ks_compose(row), "%lld/%lld", (long long)sum.ready, (long long)sum.total);
	ks_put_composed(row, NULL);
	ks_put_str(row, sum.reason);
	put_restarts(row, &sum);
}

static void cell_ip(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *ips = ks_row_list(row, row->object, "status.podIPs");
	struct ks_str ip = ks_row_str(row, row->object, "status.podIP");

	if (ip.n == 0 && ips)
		ip = ks_row_str(row, &ips->items[0], "ip");
	if (ip.n)
		ks_put_str(row, ip);
	else
		ks_put_text(row, cell->otherwise);
}

static bool gate_is_open(const struct ks_row *row, struct ks_str type)
{
	const struct ks_value *list = ks_row_list(row, row->object, "status.conditions");

	for (uint32_t i = 0; list && i < list->n; i++)
		if (ks_str_eq(ks_row_str(row, &list->items[i], "type"), type))
			return ks_str_is(ks_row_str(row, &list->items[i], "status"), "True");
	return false;
}

static void cell_gates(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *gates = ks_row_list(row, row->object, "spec.readinessGates");
	unsigned open = 0;

	for (uint32_t i = 0; gates && i < gates->n; i++)
		open += gate_is_open(row, ks_row_str(row, &gates->items[i], "conditionType"));
	if (!gates) {
		ks_put_text(row, cell->otherwise);
		return;
	}
	ks_buf_printf(ks_compose(row), "%u/%u", open, gates->n);
	ks_put_composed(row, NULL);
}

static const struct ks_cell pods[] = {
	KS_CELL_NAME,
	{cell_summary, NULL, NULL},
	KS_CELL_AGE,
	{cell_ip, NULL, "<none>"},
	{ks_cell_filled, "spec.nodeName", "<none>"},
	{ks_cell_filled, "status.nominatedNodeName", "<none>"},
	{cell_gates, NULL, "<none>"},
};

static const struct ks_cell pod_templates[] = {
	KS_CELL_NAME,
	{ks_cell_containers, "template.spec", NULL},
	{ks_cell_images, "template.spec", NULL},
	{ks_cell_labels, "template.metadata.labels", NULL},
};

static const struct ks_printer printers[] = {
	{"", "pods", KS_CELLS(pods), NULL},
	{"", "podtemplates", KS_CELLS(pod_templates), NULL},
};
const struct ks_printers ks_printers_pods = KS_PRINTERS(printers);
