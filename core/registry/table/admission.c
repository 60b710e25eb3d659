/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What guards and extends the API: webhooks, policies with their bindings, aggregated groups. */
#include <stdlib.h>

#include "core/registry/table/cell.h"

static const struct ks_cell webhooks[] = {KS_CELL_NAME, {ks_cell_count, "webhooks", NULL}, KS_CELL_AGE};

static void cell_param_kind(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *kind = ks_row_at(row, row->object, cell->path);
	struct ks_buf *text = ks_compose(row);

	if (!kind) {
		ks_put_text(row, cell->otherwise);
		return;
	}
	ks_add_str(text, ks_row_str(row, kind, "apiVersion"));
	ks_buf_add_char(text, '/');
	ks_add_str(text, ks_row_str(row, kind, "kind"));
	ks_put_composed(row, NULL);
}

static const struct ks_cell validating_policies[] = {
	KS_CELL_NAME, {ks_cell_count, "spec.validations", NULL}, {cell_param_kind, "spec.paramKind", "<unset>"}, KS_CELL_AGE,
};
static const struct ks_cell mutating_policies[] = {
	KS_CELL_NAME, {ks_cell_count, "spec.mutations", NULL}, {cell_param_kind, "spec.paramKind", "<unset>"}, KS_CELL_AGE,
};

/* -- bindings -------------------------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
	return ks_str_cmp(((const struct ks_member *)a)->key, ((const struct ks_member *)b)->key);
}

static void add_match_labels(struct ks_row *row, struct ks_buf *text, const struct ks_value *labels)
{
	uint32_t n = labels && labels->kind == KS_MAP ? labels->n : 0;
	struct ks_member *sorted = n ? ks_arena_alloc(row->arena, n * sizeof(*sorted)) : NULL;

	row->out->failed |= n && !sorted;
	if (sorted) {
		memcpy(sorted, labels->members, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), by_key);
	}
	for (uint32_t i = 0; sorted && i < n; i++) {
		ks_add_str(text, sorted[i].key);
		ks_buf_add_str(text, ": ");
		ks_add_str(text, ks_value_str(&sorted[i].value));
		ks_buf_add_char(text, ',');
	}
}

/* The selector as kube-apiserver shows it here: the dump of its structure. */
static void add_dump(struct ks_row *row, struct ks_buf *text, const struct ks_value *selector)
{
	const struct ks_value *list = ks_row_list(row, selector, "matchExpressions");

	ks_buf_add_str(text, "&LabelSelector{MatchLabels:map[string]string{");
	add_match_labels(row, text, ks_row_at(row, selector, "matchLabels"));
	ks_buf_add_str(text, "},MatchExpressions:[]LabelSelectorRequirement{");
	for (uint32_t i = 0; list && i < list->n; i++) {
		ks_buf_add_str(text, "LabelSelectorRequirement{Key:");
		ks_add_str(text, ks_row_str(row, &list->items[i], "key"));
		ks_buf_add_str(text, ",Operator:");
		ks_add_str(text, ks_row_str(row, &list->items[i], "operator"));
		ks_buf_add_str(text, ",Values:[");
		ks_add_list(text, ks_row_list(row, &list->items[i], "values"), " ");
		ks_buf_add_str(text, "],},");
	}
	ks_buf_add_str(text, "},}");
}

static void cell_param_ref(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *ref = ks_row_at(row, row->object, cell->path), *selector = ks_row_at(row, ref, "selector");
	struct ks_str name = ks_row_str(row, ref, "name"), ns = ks_row_str(row, ref, "namespace");
	struct ks_buf *text = ks_compose(row);

	if (name.n) {
		ks_add_str(text, ns.n ? ns : KS_STR_LIT("*"));
		ks_buf_add_char(text, '/');
		ks_add_str(text, name);
	} else if (selector) {
		add_dump(row, text, selector);
	}
	ks_put_composed(row, cell->otherwise);
}

static const struct ks_cell bindings[] = {
	KS_CELL_NAME, {ks_cell_text, "spec.policyName", NULL}, {cell_param_ref, "spec.paramRef", "<unset>"}, KS_CELL_AGE,
};

/* -- aggregated groups ----------------------------------------------------------------------------------------- */

static void cell_service(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *service = ks_row_at(row, row->object, cell->path);
	struct ks_buf *text = ks_compose(row);

	if (service) {
		ks_add_str(text, ks_row_str(row, service, "namespace"));
		ks_buf_add_char(text, '/');
		ks_add_str(text, ks_row_str(row, service, "name"));
	}
	ks_put_composed(row, cell->otherwise);
}

static void cell_available(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *available = ks_row_condition(row, cell->path, "Available");
	struct ks_str status = ks_row_str(row, available, "status"), reason = ks_row_str(row, available, "reason");
	struct ks_buf *text = ks_compose(row);

	if (!available) {
		ks_put_text(row, cell->otherwise);
		return;
	}
	ks_add_str(text, status);
	if (!ks_str_is(status, "True") && reason.n) {
		ks_buf_add_str(text, " (");
		ks_add_str(text, reason);
		ks_buf_add_char(text, ')');
	}
	ks_put_composed(row, NULL);
}

static const struct ks_cell api_services[] = {
	KS_CELL_NAME, {cell_service, "spec.service", "Local"}, {cell_available, "status.conditions", "Unknown"}, KS_CELL_AGE,
};

#define GROUP "admissionregistration.k8s.io"
static const struct ks_printer printers[] = {
	{GROUP, "mutatingadmissionpolicies", KS_CELLS(mutating_policies), NULL},
	{GROUP, "mutatingadmissionpolicybindings", KS_CELLS(bindings), NULL},
	{GROUP, "mutatingwebhookconfigurations", KS_CELLS(webhooks), NULL},
	{GROUP, "validatingadmissionpolicies", KS_CELLS(validating_policies), NULL},
	{GROUP, "validatingadmissionpolicybindings", KS_CELLS(bindings), NULL},
	{GROUP, "validatingwebhookconfigurations", KS_CELLS(webhooks), NULL},
	{"apiregistration.k8s.io", "apiservices", KS_CELLS(api_services), NULL},
};
const struct ks_printers ks_printers_admission = KS_PRINTERS(printers);
