/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Volumes, claims, and what storage is made of. */
#include "core/registry/table/cell.h"

/* Its phase, or that it is going. */
static void cell_phase(struct ks_row *row, const struct ks_cell *cell)
{
	(void)cell;
	if (ks_row_deleted(row))
		ks_put_text(row, "Terminating");
	else
		ks_put_str(row, ks_row_str(row, row->object, "status.phase"));
}

static bool has_mode(const struct ks_value *modes, const char *mode)
{
	for (uint32_t i = 0; modes && i < modes->n; i++)
		if (ks_str_is(ks_value_str(&modes->items[i]), mode))
			return true;
	return false;
}

/* Access modes in short, each once, in a fixed order. */
static void put_modes(struct ks_row *row, const struct ks_value *modes)
{
	static const struct { const char *mode, *letters; } known[] = {
		{"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"},
	};
	struct ks_buf *text = ks_compose(row);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!has_mode(modes, known[i].mode))
			continue;
		ks_add_separator(text, ",");
		ks_buf_add_str(text, known[i].letters);
	}
	ks_put_composed(row, NULL);
}

/* The class: an annotation is older than the field and wins. */
static void cell_class(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *old = ks_row_member(row, row->object, "metadata.annotations", "volume.beta.kubernetes.io/storage-class");

	(void)cell;
	ks_put_str(row, old ? ks_value_str(old) : ks_row_str(row, row->object, "spec.storageClassName"));
}

static void put_quantity(struct ks_row *row, const struct ks_value *quantity)
{
	ks_put_str(row, quantity ? ks_value_str(quantity) : KS_STR_LIT("0"));
}

static void cell_capacity(struct ks_row *row, const struct ks_cell *cell)
{
	put_quantity(row, ks_row_member(row, row->object, cell->path, "storage"));
}

static void cell_modes(struct ks_row *row, const struct ks_cell *cell)
{
	put_modes(row, ks_row_list(row, row->object, cell->path));
}

static void cell_claim(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *claim = ks_row_at(row, row->object, cell->path);
	struct ks_buf *text = ks_compose(row);

	if (claim) {
		ks_add_str(text, ks_row_str(row, claim, "namespace"));
		ks_buf_add_char(text, '/');
		ks_add_str(text, ks_row_str(row, claim, "name"));
	}
	ks_put_composed(row, NULL);
}

static const struct ks_cell volumes[] = {
	KS_CELL_NAME,
	{cell_capacity, "spec.capacity", NULL},
	{cell_modes, "spec.accessModes", NULL},
	{ks_cell_text, "spec.persistentVolumeReclaimPolicy", NULL},
	{cell_phase, NULL, NULL},
	{cell_claim, "spec.claimRef", NULL},
	{cell_class, NULL, NULL},
	{ks_cell_text, "spec.volumeAttributesClassName", "<unset>"},
	{ks_cell_text, "status.reason", NULL},
	KS_CELL_AGE,
	{ks_cell_text, "spec.volumeMode", "<unset>"},
};

/* Capacity and Access Modes are those of the volume: there is none before it is bound. */
static void cell_bound(struct ks_row *row, const struct ks_cell *cell)
{
	(void)cell;
	if (ks_row_str(row, row->object, "spec.volumeName").n == 0) {
		ks_put_text(row, "");
		ks_put_text(row, "");
		return;
	}
	put_quantity(row, ks_row_member(row, row->object, "status.capacity", "storage"));
	put_modes(row, ks_row_list(row, row->object, "status.accessModes"));
}

static const struct ks_cell claims[] = {
	KS_CELL_NAME,
	{cell_phase, NULL, NULL},
	{ks_cell_text, "spec.volumeName", NULL},
	{cell_bound, NULL, NULL},
	{cell_class, NULL, NULL},
	{ks_cell_text, "spec.volumeAttributesClassName", "<unset>"},
	KS_CELL_AGE,
	{ks_cell_text, "spec.volumeMode", "<unset>"},
};

/* -- classes and drivers --------------------------------------------------------------------------------------- */

static bool annotation_is_true(const struct ks_row *row, const char *name)
{
	return name && ks_str_is(ks_value_str(ks_row_member(row, row->object, "metadata.annotations", name)), "true");
}

/* The name, and whether it is the default: by one annotation (`path`) or by an older one (`otherwise`). */
static void cell_class_name(struct ks_row *row, const struct ks_cell *cell)
{
	struct ks_buf *text = ks_compose(row);

	ks_add_str(text, ks_row_str(row, row->object, "metadata.name"));
	if (annotation_is_true(row, cell->path) || annotation_is_true(row, cell->otherwise))
		ks_buf_add_str(text, " (default)");
	ks_put_composed(row, NULL);
}

static const struct ks_cell storage_classes[] = {
	{cell_class_name, "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"},
	{ks_cell_text, "provisioner", NULL},
	{ks_cell_text, "reclaimPolicy", "Delete"},
	{ks_cell_text, "volumeBindingMode", "Immediate"},
	{ks_cell_bool, "allowVolumeExpansion", NULL},
	KS_CELL_AGE,
};

static const struct ks_cell attributes_classes[] = {
	{cell_class_name, "volumeattributesclass.alpha.kubernetes.io/is-default-class", NULL},
	{ks_cell_text, "driverName", NULL},
	KS_CELL_AGE,
};

static void cell_token_requests(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *requests = ks_row_at(row, row->object, cell->path);
	struct ks_buf *text = ks_compose(row);

	if (!requests || requests->kind != KS_LIST) {
		ks_put_text(row, cell->otherwise);
		return;
	}
	for (uint32_t i = 0; i < requests->n; i++) {
		if (i)
			ks_buf_add_char(text, ',');
		ks_add_str(text, ks_row_str(row, &requests->items[i], "audience"));
	}
	ks_put_composed(row, NULL);
}

static const struct ks_cell drivers[] = {
	KS_CELL_NAME,
	{ks_cell_bool, "spec.attachRequired", "true"},
	{ks_cell_bool, "spec.podInfoOnMount", NULL},
	{ks_cell_bool, "spec.storageCapacity", NULL},
	{cell_token_requests, "spec.tokenRequests", "<unset>"},
	{ks_cell_bool, "spec.requiresRepublish", NULL},
	{ks_cell_join, "spec.volumeLifecycleModes", "<none>"},
	KS_CELL_AGE,
};

static const struct ks_cell driver_nodes[] = {KS_CELL_NAME, {ks_cell_count, "spec.drivers", NULL}, KS_CELL_AGE};

static const struct ks_cell attachments[] = {
	KS_CELL_NAME,
	{ks_cell_text, "spec.attacher", NULL},
	{ks_cell_text, "spec.source.persistentVolumeName", NULL},
	{ks_cell_text, "spec.nodeName", NULL},
	{ks_cell_bool, "status.attached", NULL},
	KS_CELL_AGE,
};

static const struct ks_printer printers[] = {
	{"", "persistentvolumeclaims", KS_CELLS(claims), NULL},
	{"", "persistentvolumes", KS_CELLS(volumes), NULL},
	{"storage.k8s.io", "csidrivers", KS_CELLS(drivers), NULL},
	{"storage.k8s.io", "csinodes", KS_CELLS(driver_nodes), NULL},
	{"storage.k8s.io", "storageclasses", KS_CELLS(storage_classes), NULL},
	{"storage.k8s.io", "volumeattachments", KS_CELLS(attachments), NULL},
	{"storage.k8s.io", "volumeattributesclasses", KS_CELLS(attributes_classes), NULL},
};
const struct ks_printers ks_printers_storage = KS_PRINTERS(printers);
