/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Classes of ingresses, policies between pods, and ranges of addresses. */
#include "core/registry/table/cell.h"

static void cell_parameters(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *parameters = ks_row_at(row, row->object, cell->path);
	const struct ks_value *group = ks_row_at(row, parameters, "apiGroup");
	struct ks_buf *text = ks_compose(row);

	if (!parameters) {
		ks_put_text(row, cell->otherwise);
		return;
	}
	ks_add_str(text, ks_row_str(row, parameters, "kind"));
	if (group) {
		ks_buf_add_char(text, '.');
		ks_add_str(text, ks_value_str(group));
	}
	ks_buf_add_char(text, '/');
	ks_add_str(text, ks_row_str(row, parameters, "name"));
	ks_put_composed(row, NULL);
}

static const struct ks_cell ingress_classes[] = {
	KS_CELL_NAME, {ks_cell_text, "spec.controller", NULL}, {cell_parameters, "spec.parameters", "<none>"}, KS_CELL_AGE,
};

static const struct ks_cell network_policies[] = {
	KS_CELL_NAME, {ks_cell_selector, "spec.podSelector", "<none>"}, KS_CELL_AGE,
};

static const struct ks_cell service_cidrs[] = {KS_CELL_NAME, {ks_cell_join, "spec.cidrs", NULL}, KS_CELL_AGE};

/* services/default/kubernetes; with a group: gateways.example.com/default/x */
static void cell_parent(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *parent = ks_row_at(row, row->object, cell->path);
	struct ks_str group = ks_row_str(row, parent, "group"), ns = ks_row_str(row, parent, "namespace");
	struct ks_buf *text = ks_compose(row);

	if (!parent) {
		ks_put_text(row, cell->otherwise);
		return;
	}
	ks_add_lower(text, ks_row_str(row, parent, "resource"));
	if (group.n)
		ks_buf_add_char(text, '.');
	ks_add_lower(text, group);
	if (ns.n)
		ks_buf_add_char(text, '/');
	ks_add_str(text, ns);
	ks_buf_add_char(text, '/');
	ks_add_str(text, ks_row_str(row, parent, "name"));
	ks_put_composed(row, NULL);
}

/* Rows have an age for which there is no column, as kube-apiserver's do. */
static const struct ks_cell ip_addresses[] = {KS_CELL_NAME, {cell_parent, "spec.parentRef", "<none>"}, KS_CELL_AGE};

static const struct ks_printer printers[] = {
	{"networking.k8s.io", "ingressclasses", KS_CELLS(ingress_classes), NULL},
	{"networking.k8s.io", "ipaddresses", KS_CELLS(ip_addresses), NULL},
	{"networking.k8s.io", "networkpolicies", KS_CELLS(network_policies), NULL},
	{"networking.k8s.io", "servicecidrs", KS_CELLS(service_cidrs), NULL},
};
const struct ks_printers ks_printers_network = KS_PRINTERS(printers);
