/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* How requests are kept apart: flow schemas and priority levels. */
#include "core/registry/table/cell.h"

static void cell_dangling(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *dangling = ks_row_condition(row, cell->path, "Dangling");

	if (dangling)
		ks_put_str(row, ks_row_str(row, dangling, "status"));
	else
		ks_put_text(row, cell->otherwise);
}

/* Lists come in the order in which requests are matched. */
static int64_t by_precedence(const struct ks_schema *schema, const struct ks_value *object)
{
	const struct ks_value *v = ks_value_at(schema, object, "spec.matchingPrecedence");

	return v && v->kind == KS_INT ? v->integer : 0;
}

static const struct ks_cell flow_schemas[] = {
	KS_CELL_NAME,
	{ks_cell_text, "spec.priorityLevelConfiguration.name", NULL},
	{ks_cell_int, "spec.matchingPrecedence", NULL},
	{ks_cell_text, "spec.distinguisherMethod.type", "<none>"},
	KS_CELL_AGE,
	{cell_dangling, "status.conditions", "?"},
};

/* What only a limited level has. */
static void cell_limited(struct ks_row *row, const struct ks_cell *cell)
{
	if (ks_row_at(row, row->object, cell->otherwise))
		ks_put_int(row, ks_row_int(row, row->object, cell->path));
	else
		ks_put_text(row, "<none>");
}

#define QUEUING "spec.limited.limitResponse.queuing"
static const struct ks_cell priority_levels[] = {
	KS_CELL_NAME,
	{ks_cell_text, "spec.type", NULL},
	{cell_limited, "spec.limited.nominalConcurrencyShares", "spec.limited"},
	{cell_limited, QUEUING ".queues", QUEUING},
	{cell_limited, QUEUING ".handSize", QUEUING},
	{cell_limited, QUEUING ".queueLengthLimit", QUEUING},
	KS_CELL_AGE,
};

static const struct ks_printer printers[] = {
	{"flowcontrol.apiserver.k8s.io", "flowschemas", KS_CELLS(flow_schemas), by_precedence},
	{"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", KS_CELLS(priority_levels), NULL},
};
const struct ks_printers ks_printers_flowcontrol = KS_PRINTERS(printers);
