/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Nodes, what runs on them, and who holds which lease. */
#include <stdlib.h>

#include "core/registry/table/cell.h"

#define ROLE_PREFIX "node-role.kubernetes.io/"

static void cell_status(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *list = ks_row_list(row, row->object, "status.conditions"), *ready = NULL;
	struct ks_buf *text = ks_compose(row);

	(void)cell;
	/* The last one counts, should there be two. */
	for (uint32_t i = 0; list && i < list->n; i++)
		if (ks_str_is(ks_row_str(row, &list->items[i], "type"), "Ready"))
			ready = &list->items[i];
	if (!ready)
		ks_buf_add_str(text, "Unknown");
	else
		ks_buf_add_str(text, ks_str_is(ks_row_str(row, ready, "status"), "True") ? "Ready" : "NotReady");
	if (ks_row_true(row, row->object, "spec.unschedulable"))
		ks_buf_add_str(text, ",SchedulingDisabled");
	ks_put_composed(row, NULL);
}

static int by_text(const void *a, const void *b)
{
	return ks_str_cmp(*(const struct ks_str *)a, *(const struct ks_str *)b);
}

/* The role that a label says: empty when none. */
static struct ks_str role_of(const struct ks_member *label)
{
	if (ks_str_starts(label->key, KS_STR_LIT(ROLE_PREFIX)))
		return ks_str_of(label->key.p + sizeof(ROLE_PREFIX) - 1, label->key.n - (sizeof(ROLE_PREFIX) - 1));
	return ks_str_is(label->key, "kubernetes.io/role") ? ks_value_str(&label->value) : (struct ks_str){0};
}

static void cell_roles(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *labels = ks_row_at(row, row->object, "metadata.labels");
	uint32_t n_labels = labels && labels->kind == KS_MAP ? labels->n : 0;
	struct ks_str *roles = n_labels ? ks_arena_zalloc(row->arena, n_labels, sizeof(*roles)) : NULL;
	struct ks_buf *text = ks_compose(row);
	size_t n = 0;

	row->out->failed |= n_labels && !roles;
	for (uint32_t i = 0; roles && i < n_labels; i++) {
		roles[n] = role_of(&labels->members[i]);
		n += roles[n].n != 0;
	}
	if (n)
		qsort(roles, n, sizeof(*roles), by_text);
	for (size_t i = 0; i < n; i++) {
		if (i && ks_str_eq(roles[i], roles[i - 1]))
			continue;
		ks_add_separator(text, ",");
		ks_add_str(text, roles[i]);
	}
	ks_put_composed(row, cell->otherwise);
}

/* The first address of the type that `path` names. */
static void cell_address(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *list = ks_row_list(row, row->object, "status.addresses");

	for (uint32_t i = 0; list && i < list->n; i++)
		if (ks_str_is(ks_row_str(row, &list->items[i], "type"), cell->path)) {
			ks_put_str(row, ks_row_str(row, &list->items[i], "address"));
			return;
		}
	ks_put_text(row, cell->otherwise);
}

static const struct ks_cell nodes[] = {
	KS_CELL_NAME,
	{cell_status, NULL, NULL},
	{cell_roles, NULL, "<none>"},
	KS_CELL_AGE,
	{ks_cell_text, "status.nodeInfo.kubeletVersion", NULL},
	{cell_address, "InternalIP", "<none>"},
	{cell_address, "ExternalIP", "<none>"},
	{ks_cell_filled, "status.nodeInfo.osImage", "<unknown>"},
	{ks_cell_filled, "status.nodeInfo.kernelVersion", "<unknown>"},
	{ks_cell_filled, "status.nodeInfo.containerRuntimeVersion", "<unknown>"},
};

/* Status, Message and Error come from the condition Healthy. */
static void cell_health(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *healthy = ks_row_condition(row, "conditions", "Healthy");

	(void)cell;
	if (!healthy)
		ks_put_text(row, "Unknown");
	else
		ks_put_text(row, ks_str_is(ks_row_str(row, healthy, "status"), "True") ? "Healthy" : "Unhealthy");
	ks_put_str(row, ks_row_str(row, healthy, "message"));
	ks_put_str(row, ks_row_str(row, healthy, "error"));
}

static const struct ks_cell component_statuses[] = {KS_CELL_NAME, {cell_health, NULL, NULL}};

static const struct ks_cell runtime_classes[] = {KS_CELL_NAME, {ks_cell_text, "handler", NULL}, KS_CELL_AGE};

static const struct ks_cell leases[] = {KS_CELL_NAME, {ks_cell_text, "spec.holderIdentity", NULL}, KS_CELL_AGE};

static const struct ks_printer printers[] = {
	{"", "componentstatuses", KS_CELLS(component_statuses), NULL},
	{"", "nodes", KS_CELLS(nodes), NULL},
	{"coordination.k8s.io", "leases", KS_CELLS(leases), NULL},
	{"node.k8s.io", "runtimeclasses", KS_CELLS(runtime_classes), NULL},
};
const struct ks_printers ks_printers_nodes = KS_PRINTERS(printers);
