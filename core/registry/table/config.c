/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Namespaces, configuration, accounts, quotas and priorities. */
#include <stdlib.h>

#include "core/registry/table/cell.h"

static void cell_data(struct ks_row *row, const struct ks_cell *cell)
{
	(void)cell;
	ks_put_int(row, (int64_t)ks_row_count(row, row->object, "data") + ks_row_count(row, row->object, "binaryData"));
}

static const struct ks_cell config_maps[] = {KS_CELL_NAME, {cell_data, NULL, NULL}, KS_CELL_AGE};

static const struct ks_cell secrets[] = {
	KS_CELL_NAME, {ks_cell_text, "type", NULL}, {ks_cell_count, "data", NULL}, KS_CELL_AGE,
};

static const struct ks_cell service_accounts[] = {KS_CELL_NAME, KS_CELL_AGE};

static const struct ks_cell namespaces[] = {KS_CELL_NAME, {ks_cell_text, "status.phase", NULL}, KS_CELL_AGE};

/* -- quotas ---------------------------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
	return ks_str_cmp((*(const struct ks_member *const *)a)->key, (*(const struct ks_member *const *)b)->key);
}

/* Members of a map by their keys. NULL when there are none or memory is out. */
static const struct ks_member **sorted_members(struct ks_row *row, const struct ks_value *map)
{
	const struct ks_member **members = map ? ks_arena_zalloc(row->arena, map->n, sizeof(*members)) : NULL;

	row->out->failed |= map && !members;
	for (uint32_t i = 0; members && i < map->n; i++)
		members[i] = &map->members[i];
	if (members)
		qsort(members, map->n, sizeof(*members), by_key);
	return members;
}

static const struct ks_value *filled_map(const struct ks_row *row, const char *path)
{
	const struct ks_value *map = ks_row_at(row, row->object, path);

	return map && map->kind == KS_MAP && map->n ? map : NULL;
}

/* "cpu: 1/2, pods: 3/10": used and allowed. With a path: what begins with "limits."; without: all else. */
static void cell_quota(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *hard = filled_map(row, "status.hard"), *used = ks_row_at(row, row->object, "status.used");
	const struct ks_member **members = sorted_members(row, hard);
	struct ks_buf *text = ks_compose(row);

	for (uint32_t i = 0; members && i < hard->n; i++) {
		const struct ks_value *now = ks_value_get_str(row->schema, used, members[i]->key);

		if (ks_str_starts(members[i]->key, KS_STR_LIT("limits.")) != (cell->path != NULL))
			continue;
		ks_add_separator(text, ", ");
		ks_add_str(text, members[i]->key);
		ks_buf_add_str(text, ": ");
		ks_add_str(text, ks_value_present(now) ? ks_value_str(now) : KS_STR_LIT("0"));
		ks_buf_add_char(text, '/');
		ks_add_str(text, ks_value_str(&members[i]->value));
	}
	ks_put_composed(row, NULL);
}

static const struct ks_cell quotas[] = {KS_CELL_NAME, {cell_quota, NULL, NULL}, {cell_quota, "limits", NULL}, KS_CELL_AGE};

static const struct ks_cell priority_classes[] = {
	KS_CELL_NAME,
	{ks_cell_int, "value", NULL},
	{ks_cell_bool, "globalDefault", NULL},
	KS_CELL_AGE,
	{ks_cell_text, "preemptionPolicy", NULL},
};

static const struct ks_printer printers[] = {
	{"", "configmaps", KS_CELLS(config_maps), NULL},
	{"", "namespaces", KS_CELLS(namespaces), NULL},
	{"", "resourcequotas", KS_CELLS(quotas), NULL},
	{"", "secrets", KS_CELLS(secrets), NULL},
	{"", "serviceaccounts", KS_CELLS(service_accounts), NULL},
	{"scheduling.k8s.io", "priorityclasses", KS_CELLS(priority_classes), NULL},
};
const struct ks_printers ks_printers_config = KS_PRINTERS(printers);
