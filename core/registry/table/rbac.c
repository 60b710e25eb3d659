/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Bindings of roles, and requests for certificates. */
#include "core/registry/table/cell.h"

static void cell_role(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *role = ks_row_at(row, row->object, cell->path);
	struct ks_buf *text = ks_compose(row);

	ks_add_str(text, ks_row_str(row, role, "kind"));
	ks_buf_add_char(text, '/');
	ks_add_str(text, ks_row_str(row, role, "name"));
	ks_put_composed(row, NULL);
}

/* Names of the subjects whose kind `path` says; service accounts with their namespace. */
static void cell_subjects(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *subjects = ks_row_list(row, row->object, "subjects");
	bool accounts = strcmp(cell->path, "ServiceAccount") == 0;
	struct ks_buf *text = ks_compose(row);

	for (uint32_t i = 0; subjects && i < subjects->n; i++) {
		const struct ks_value *subject = &subjects->items[i];

		if (!ks_str_is(ks_row_str(row, subject, "kind"), cell->path))
			continue;
		ks_add_separator(text, ", ");
		if (accounts) {
			ks_add_str(text, ks_row_str(row, subject, "namespace"));
			ks_buf_add_char(text, '/');
		}
		ks_add_str(text, ks_row_str(row, subject, "name"));
	}
	ks_put_composed(row, NULL);
}

static const struct ks_cell bindings[] = {
	KS_CELL_NAME,
	{cell_role, "roleRef", NULL},
	KS_CELL_AGE,
	{cell_subjects, "User", NULL},
	{cell_subjects, "Group", NULL},
	{cell_subjects, "ServiceAccount", NULL},
};

/* -- certificates ---------------------------------------------------------------------------------------------- */

static void cell_lifetime(struct ks_row *row, const struct ks_cell *cell)
{
	char out[KS_HUMAN_TEXT];

	if (!ks_row_at(row, row->object, cell->path)) {
		ks_put_text(row, cell->otherwise);
		return;
	}
	ks_human_duration(ks_row_int(row, row->object, cell->path), out);
	ks_put_text(row, out);
}

/* A denial goes before an approval; a failure and a certificate are told besides. */
static void cell_condition(struct ks_row *row, const struct ks_cell *cell)
{
	struct ks_buf *text = ks_compose(row);

	if (ks_row_condition(row, cell->path, "Denied"))
		ks_buf_add_str(text, "Denied");
	else if (ks_row_condition(row, cell->path, "Approved"))
		ks_buf_add_str(text, "Approved");
	else
		ks_buf_add_str(text, "Pending");
	if (ks_row_condition(row, cell->path, "Failed"))
		ks_buf_add_str(text, ",Failed");
	if (ks_row_str(row, row->object, "status.certificate").n)
		ks_buf_add_str(text, ",Issued");
	ks_put_composed(row, NULL);
}

static const struct ks_cell signing_requests[] = {
	KS_CELL_NAME,
	KS_CELL_AGE,
	{ks_cell_filled, "spec.signerName", "<none>"},
	{ks_cell_text, "spec.username", NULL},
	{cell_lifetime, "spec.expirationSeconds", "<none>"},
	{cell_condition, "status.conditions", NULL},
};

static const struct ks_printer printers[] = {
	{"certificates.k8s.io", "certificatesigningrequests", KS_CELLS(signing_requests), NULL},
	{"rbac.authorization.k8s.io", "clusterrolebindings", KS_CELLS(bindings), NULL},
	{"rbac.authorization.k8s.io", "rolebindings", KS_CELLS(bindings), NULL},
};
const struct ks_printers ks_printers_rbac = KS_PRINTERS(printers);
