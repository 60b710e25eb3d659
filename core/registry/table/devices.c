/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Devices and the claims on them. */
#include "core/registry/table/cell.h"

static void cell_state(struct ks_row *row, const struct ks_cell *cell)
{
	bool deleted = ks_row_deleted(row), allocated = ks_row_at(row, row->object, "status.allocation") != NULL;
	struct ks_buf *text = ks_compose(row);

	(void)cell;
	if (deleted)
		ks_buf_add_str(text, "deleted");
	if (!allocated && !deleted)
		ks_buf_add_str(text, "pending");
	if (allocated) {
		ks_add_separator(text, ",");
		ks_buf_add_str(text, "allocated");
		if (ks_row_count(row, row->object, "status.reservedFor"))
			ks_buf_add_str(text, ",reserved");
	}
	ks_put_composed(row, NULL);
}

static const struct ks_cell claims[] = {KS_CELL_NAME, {cell_state, NULL, NULL}, KS_CELL_AGE};

static const struct ks_cell named[] = {KS_CELL_NAME, KS_CELL_AGE};

static const struct ks_cell slices[] = {
	KS_CELL_NAME,
	{ks_cell_text, "spec.nodeName", NULL},
	{ks_cell_text, "spec.driver", NULL},
	{ks_cell_text, "spec.pool.name", NULL},
	KS_CELL_AGE,
};

static const struct ks_printer printers[] = {
	{"resource.k8s.io", "deviceclasses", KS_CELLS(named), NULL},
	{"resource.k8s.io", "resourceclaims", KS_CELLS(claims), NULL},
	{"resource.k8s.io", "resourceclaimtemplates", KS_CELLS(named), NULL},
	{"resource.k8s.io", "resourceslices", KS_CELLS(slices), NULL},
};
const struct ks_printers ks_printers_devices = KS_PRINTERS(printers);
