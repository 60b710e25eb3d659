/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the files of single kinds are made of: lists of cells. Private to core/registry/table. */
#ifndef KS_REGISTRY_TABLE_CELL_H
#define KS_REGISTRY_TABLE_CELL_H

#include "core/registry/table/table.h"

/* The row that is being written. */
struct ks_row {
	const struct ks_schema *schema;
	const struct ks_value *object;
	struct ks_arena *arena;  /* until the row is done */
	struct ks_time now;
	struct ks_buf *out;      /* the cells */
	struct ks_buf *text;     /* of the cell that is composed */
	uint32_t n;              /* cells so far */
	const char *conditions;  /* JSON of the row's conditions; NULL: none */
};

/* A cell, or several: `write` does what its name says with `path` (dotted). */
struct ks_cell {
	void (*write)(struct ks_row *row, const struct ks_cell *cell);
	const char *path;
	const char *otherwise; /* where there is nothing; NULL: "" */
};

struct ks_printer {
	const char *group, *resource;
	const struct ks_cell *cells;
	size_t n_cells;
	/* Lists are ordered by this first, then by name; NULL: by key. */
	int64_t (*order)(const struct ks_schema *schema, const struct ks_value *object);
};

#define KS_CELLS(list) (list), sizeof(list) / sizeof((list)[0])

/* A family of kinds. */
struct ks_printers {
	const struct ks_printer *items;
	size_t n;
};
#define KS_PRINTERS(list) {(list), sizeof(list) / sizeof((list)[0])}

extern const struct ks_printers ks_printers_admission, ks_printers_autoscaling, ks_printers_config, ks_printers_devices,
	ks_printers_events, ks_printers_flowcontrol, ks_printers_network, ks_printers_nodes, ks_printers_pods, ks_printers_rbac,
	ks_printers_services, ks_printers_storage, ks_printers_workloads;

/* -- reading: nothing fails on what is absent ------------------------------------------------------------------ */

/* What is at `path` below `v`; NULL when absent or null. */
const struct ks_value *ks_row_at(const struct ks_row *row, const struct ks_value *v, const char *path);
struct ks_str ks_row_str(const struct ks_row *row, const struct ks_value *v, const char *path);
int64_t ks_row_int(const struct ks_row *row, const struct ks_value *v, const char *path);
bool ks_row_true(const struct ks_row *row, const struct ks_value *v, const char *path);
/* Items of a list, members of a map. */
uint32_t ks_row_count(const struct ks_row *row, const struct ks_value *v, const char *path);
/* A list with items, or NULL. */
const struct ks_value *ks_row_list(const struct ks_row *row, const struct ks_value *v, const char *path);
/* A time; false when there is none. */
bool ks_row_time(const struct ks_row *row, const struct ks_value *v, const char *path, struct ks_time *time_r);
/* The item of the list `conditions` at `path` whose type is `type`. */
const struct ks_value *ks_row_condition(const struct ks_row *row, const char *path, const char *type);
bool ks_row_condition_true(const struct ks_row *row, const char *path, const char *type);
bool ks_row_deleted(const struct ks_row *row);
/* Member of a map by a name that may have dots. */
const struct ks_value *ks_row_member(const struct ks_row *row, const struct ks_value *v, const char *path, const char *name);

/* -- writing a whole cell -------------------------------------------------------------------------------------- */

void ks_put_str(struct ks_row *row, struct ks_str text);
void ks_put_text(struct ks_row *row, const char *text);
void ks_put_int(struct ks_row *row, int64_t number);
void ks_put_bool(struct ks_row *row, bool value);
/* How long ago that is; "<unknown>" when `known` is false. */
void ks_put_since(struct ks_row *row, bool known, struct ks_time time);

/* -- composing a text cell: begin, add to the buffer, put -------------------------------------------------------- */

struct ks_buf *ks_compose(struct ks_row *row);
void ks_put_composed(struct ks_row *row, const char *otherwise);
void ks_add_str(struct ks_buf *text, struct ks_str s);
void ks_add_lower(struct ks_buf *text, struct ks_str s);
/* A separator unless it is empty. */
void ks_add_separator(struct ks_buf *text, const char *separator);
/* "5m"; seconds against now. */
void ks_add_since(struct ks_row *row, struct ks_buf *text, struct ks_time time);
/* "a,b,c + 2 more...": the separator and the first `most` are the caller's. */
void ks_add_more(struct ks_buf *text, uint32_t count, uint32_t most);
/* Items of a list of texts, with `separator`. */
void ks_add_list(struct ks_buf *text, const struct ks_value *list, const char *separator);

/* -- cells of many kinds --------------------------------------------------------------------------------------- */

void ks_cell_name(struct ks_row *row, const struct ks_cell *cell);
void ks_cell_age(struct ks_row *row, const struct ks_cell *cell);
void ks_cell_created(struct ks_row *row, const struct ks_cell *cell);  /* the time itself */
void ks_cell_text(struct ks_row *row, const struct ks_cell *cell);     /* `otherwise` when absent */
void ks_cell_filled(struct ks_row *row, const struct ks_cell *cell);   /* `otherwise` when absent or empty */
void ks_cell_int(struct ks_row *row, const struct ks_cell *cell);
void ks_cell_int_text(struct ks_row *row, const struct ks_cell *cell); /* a number or text, as text */
void ks_cell_bool(struct ks_row *row, const struct ks_cell *cell);     /* `otherwise` "true": so when absent */
void ks_cell_count(struct ks_row *row, const struct ks_cell *cell);
void ks_cell_since(struct ks_row *row, const struct ks_cell *cell);    /* of a time; `otherwise` when absent */
void ks_cell_join(struct ks_row *row, const struct ks_cell *cell);     /* a list of texts with commas */
void ks_cell_labels(struct ks_row *row, const struct ks_cell *cell);   /* a map: a=b,c=d */
void ks_cell_selector(struct ks_row *row, const struct ks_cell *cell); /* a LabelSelector */
void ks_cell_containers(struct ks_row *row, const struct ks_cell *cell); /* names of the containers of the spec at `path` */
void ks_cell_images(struct ks_row *row, const struct ks_cell *cell);

#define KS_CELL_NAME {ks_cell_name, NULL, NULL}
#define KS_CELL_AGE {ks_cell_age, NULL, NULL}

#endif
