/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/table/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/api/json.h"
#include "core/api/metadata_only.h"
#include "core/registry/table/cell.h"

static const struct ks_printers *const families[] = {
	&ks_printers_admission, &ks_printers_autoscaling, &ks_printers_config, &ks_printers_devices, &ks_printers_events,
	&ks_printers_flowcontrol, &ks_printers_network, &ks_printers_nodes, &ks_printers_pods, &ks_printers_rbac,
	&ks_printers_services, &ks_printers_storage, &ks_printers_workloads,
};

/* Where the row of an ordered list lies in table->rows. */
struct ks_table_place {
	int64_t key;
	size_t from, to, at;
};

/* -- which kind ------------------------------------------------------------------------------------------------ */

/* A kind without an entry. */
static const struct ks_cell plain_cells[] = {KS_CELL_NAME, {ks_cell_created, NULL, NULL}};
static const struct ks_printer plain = {"", "", KS_CELLS(plain_cells), NULL};

/* The same of a custom resource. */
static const struct ks_cell custom_cells[] = {KS_CELL_NAME, KS_CELL_AGE};
static const struct ks_printer custom = {"", "", KS_CELLS(custom_cells), NULL};

static const struct ks_cell scale_cells[] = {
	KS_CELL_NAME, {ks_cell_int, "spec.replicas", NULL}, {ks_cell_int, "status.replicas", NULL}, KS_CELL_AGE,
};
static const struct ks_printer scale = {"autoscaling", "scale", KS_CELLS(scale_cells), NULL};

/* The resource whose kind is shown: what a subresource answers with may be its resource's own. */
static const struct ks_resource *shown(const struct ks_schema *s, uint16_t resource)
{
	const struct ks_resource *r = &s->resources[resource];

	return r->is_subresource && r->type == s->resources[r->parent].type ? &s->resources[r->parent] : r;
}

static const struct ks_printer *find_printer(const struct ks_schema *s, uint16_t resource)
{
	const struct ks_resource *r = shown(s, resource);
	const char *name = ks_schema_text(s, r->resource), *group = ks_schema_text(s, r->group);

	if (r->is_subresource)
		return strcmp(ks_schema_text(s, r->kind), "Scale") == 0 ? &scale : &plain;
	if (r->n_columns == 0)
		return s->generation ? &custom : &plain;
	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++)
		for (size_t i = 0; i < families[f]->n; i++) {
			const struct ks_printer *p = &families[f]->items[i];

			if (strcmp(p->resource, name) == 0 && strcmp(p->group, group) == 0)
				return p;
		}
	return &plain;
}

/* -- columns --------------------------------------------------------------------------------------------------- */

struct column {
	const char *name, *type, *format, *description; /* no description: that of metadata, if it is its */
	int32_t priority;
};

static void add_member(struct ks_buf *out, const char *key, const char *text)
{
	ks_buf_printf(out, "\"%s\":", key);
	ks_json_encode_string(ks_str_from(text), out);
	ks_buf_add_char(out, ',');
}

static void add_column(struct ks_buf *out, const struct column *c, bool first)
{
	ks_buf_add_str(out, first ? "{" : ",{");
	add_member(out, "name", c->name);
	add_member(out, "type", c->type);
	add_member(out, "format", c->format);
	add_member(out, "description", c->description);
	ks_buf_printf(out, "\"priority\":%d}", (int)c->priority);
}

/* Names and ages are described everywhere as in the first table that has them. */
static const char *describe_metadata(const char *name)
{
	const struct ks_schema *s = &ks_schema_builtin;
	const char *same = strcmp(name, "Created At") ? name : "Age";

	for (uint32_t i = 0; i < s->n_columns; i++)
		if (!strcmp(ks_schema_text(s, s->columns[i].name), same))
			return ks_schema_column_description(s, &s->columns[i]);
	return "";
}

static void add_fixed_columns(struct ks_buf *out, const struct column *columns, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct column column = columns[i];

		column.description = describe_metadata(column.name);
		add_column(out, &column, i == 0);
	}
}

void ks_table_columns(const struct ks_schema *s, uint16_t resource, struct ks_buf *out)
{
	static const struct column plain_columns[] = {
		{"Name", "string", "name", NULL, 0}, {"Created At", "date", "", NULL, 0},
	};
	static const struct column custom_columns[] = {
		{"Name", "string", "name", NULL, 0}, {"Age", "date", "", NULL, 0},
	};
	static const struct column scale_columns[] = {
		{"Name", "string", "name", NULL, 0}, {"Desired", "integer", "", NULL, 0}, {"Available", "integer", "", NULL, 0},
		{"Age", "string", "", NULL, 0},
	};
	const struct ks_printer *printer = find_printer(s, resource);
	const struct ks_resource *r = shown(s, resource);

	ks_buf_add_char(out, '[');
	for (uint16_t i = 0; i < r->n_columns; i++) {
		const struct ks_column *c = &s->columns[r->first_column + i];
		struct column column = {
			ks_schema_text(s, c->name), ks_schema_text(s, c->type), ks_schema_text(s, c->format),
			ks_schema_column_description(s, c), c->priority,
		};

		add_column(out, &column, i == 0);
	}
	if (printer == &scale)
		add_fixed_columns(out, scale_columns, sizeof(scale_columns) / sizeof(scale_columns[0]));
	else if (printer == &custom)
		add_fixed_columns(out, custom_columns, sizeof(custom_columns) / sizeof(custom_columns[0]));
	else if (r->n_columns == 0)
		add_fixed_columns(out, plain_columns, sizeof(plain_columns) / sizeof(plain_columns[0]));
	ks_buf_add_char(out, ']');
}

/* -- rows ------------------------------------------------------------------------------------------------------ */

static void write_cells(struct ks_row *row, const struct ks_printer *printer)
{
	ks_buf_add_char(row->out, '[');
	for (size_t i = 0; i < printer->n_cells; i++)
		printer->cells[i].write(row, &printer->cells[i]);
	ks_buf_add_char(row->out, ']');
}

void ks_table_cells(const struct ks_schema *schema, uint16_t resource, const struct ks_value *tree, struct ks_time now,
	struct ks_arena *scratch, struct ks_buf *out)
{
	struct ks_row row = {.schema = schema, .object = tree, .arena = scratch, .now = now, .out = out};
	struct ks_buf text;

	ks_buf_init(&text);
	row.text = &text;
	write_cells(&row, find_printer(schema, resource));
	ks_buf_fini(&text);
}

static void write_object(struct ks_table *table, const struct ks_table_object *object)
{
	if (table->include == KS_INCLUDE_NONE)
		ks_buf_add_str(&table->rows, "null");
	else if (table->include == KS_INCLUDE_OBJECT)
		ks_json_with_revision(object->json, object->rv_at, object->rv_comma, object->revision, &table->rows);
	else
		ks_metadata_only(object->json, object->rv_at, object->rv_comma, object->revision, table->version, &table->rows);
}

static bool remember_place(struct ks_table *table, int64_t key, size_t from)
{
	if (table->n_rows == table->places_room) {
		size_t room = table->places_room ? 2 * table->places_room : 64;
		struct ks_table_place *more = realloc(table->places, room * sizeof(*more));

		if (!more)
			return false;
		table->places = more;
		table->places_room = room;
	}
	table->places[table->n_rows] = (struct ks_table_place){key, from, table->rows.len, table->n_rows};
	return true;
}

int ks_table_add(struct ks_table *table, const struct ks_value *tree, const struct ks_table_object *object)
{
	struct ks_row row = {
		.schema = table->schema, .object = tree, .arena = &table->scratch, .now = table->now, .out = &table->rows, .text = &table->text,
	};
	int64_t (*order)(const struct ks_schema *, const struct ks_value *) = table->printer->order;
	size_t from = table->rows.len;
	bool placed = true;

	ks_buf_add_str(&table->rows, table->n_rows && !order ? ",{\"cells\":" : "{\"cells\":");
	write_cells(&row, table->printer);
	if (row.conditions)
		ks_buf_printf(&table->rows, ",\"conditions\":%s", row.conditions);
	ks_buf_add_str(&table->rows, ",\"object\":");
	write_object(table, object);
	ks_buf_add_char(&table->rows, '}');
	if (order)
		placed = remember_place(table, order(table->schema, tree), from);
	table->n_rows++;
	ks_arena_reset(&table->scratch);
	return placed && !table->rows.failed ? 0 : -ENOMEM;
}

/* -- the whole ------------------------------------------------------------------------------------------------- */

bool ks_include_object_parse(struct ks_str text, enum ks_include_object *include_r)
{
	static const struct { const char *text; enum ks_include_object include; } known[] = {
		{"", KS_INCLUDE_METADATA}, {"Metadata", KS_INCLUDE_METADATA}, {"Object", KS_INCLUDE_OBJECT}, {"None", KS_INCLUDE_NONE},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (ks_str_is(text, known[i].text)) {
			*include_r = known[i].include;
			return true;
		}
	return false;
}

void ks_table_init(struct ks_table *table, const struct ks_schema *schema, uint16_t resource, enum ks_include_object include,
	const char *version)
{
	*table = (struct ks_table){
		.schema = schema, .resource = resource, .include = include, .version = version, .now = ks_time_now(),
		.printer = find_printer(schema, resource),
	};
	ks_arena_init(&table->scratch, 0);
	ks_buf_init(&table->rows);
	ks_buf_init(&table->text);
}

void ks_table_fini(struct ks_table *table)
{
	ks_arena_fini(&table->scratch);
	ks_buf_fini(&table->rows);
	ks_buf_fini(&table->text);
	free(table->places);
	*table = (struct ks_table){0};
}

void ks_table_clear(struct ks_table *table)
{
	ks_buf_clear(&table->rows);
	table->n_rows = 0;
}

static int by_place(const void *a, const void *b)
{
	const struct ks_table_place *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static void add_in_order(struct ks_table *table, struct ks_buf *out)
{
	if (table->n_rows)
		qsort(table->places, table->n_rows, sizeof(*table->places), by_place);
	for (size_t i = 0; i < table->n_rows; i++) {
		if (i)
			ks_buf_add_char(out, ',');
		ks_buf_add(out, table->rows.data + table->places[i].from, table->places[i].to - table->places[i].from);
	}
}

void ks_table_take_rows(struct ks_table *table, bool last, struct ks_buf *out)
{
	if (table->rows.failed)
		out->failed = true;
	if (out->failed || (table->printer->order && !last))
		return;
	if (table->printer->order)
		add_in_order(table, out);
	else
		ks_buf_add(out, table->rows.data, table->rows.len);
	ks_buf_clear(&table->rows);
}

void ks_table_head(const struct ks_table *table, const struct ks_table_meta *meta, struct ks_buf *out)
{
	ks_buf_printf(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%s\",\"metadata\":", table->version);
	ks_list_meta(meta->revision, meta->continue_, meta->remaining, out);
	ks_buf_add_str(out, ",\"columnDefinitions\":");
	if (table->no_headers)
		ks_buf_add_str(out, "null");
	else
		ks_table_columns(table->schema, table->resource, out);
	ks_buf_add_str(out, ",\"rows\":[");
}

void ks_table_write(struct ks_table *table, const struct ks_table_meta *meta, struct ks_buf *out)
{
	ks_table_head(table, meta, out);
	ks_table_take_rows(table, true, out);
	ks_buf_add_str(out, "]}");
}

/* -- ages ------------------------------------------------------------------------------------------------------ */

enum { MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR, YEAR = 365 * DAY };

/* "3m20s": the second figure only when it isn't zero. */
static int two_figures(char *out, int64_t major, char major_unit, int64_t minor, char minor_unit)
{
	if (minor == 0)
		return snprintf(out, KS_HUMAN_TEXT, "%lld%c", (long long)major, major_unit);
	return snprintf(out, KS_HUMAN_TEXT, "%lld%c%lld%c", (long long)major, major_unit, (long long)minor, minor_unit);
}

static int human(int64_t s, char *out)
{
	if (s < -1)
		return snprintf(out, KS_HUMAN_TEXT, "<invalid>");
	if (s < 0)
		return snprintf(out, KS_HUMAN_TEXT, "0s");
	if (s < 2 * MINUTE)
		return two_figures(out, s, 's', 0, 0);
	if (s < 10 * MINUTE)
		return two_figures(out, s / MINUTE, 'm', s % MINUTE, 's');
	if (s < 3 * HOUR)
		return two_figures(out, s / MINUTE, 'm', 0, 0);
	if (s < 8 * HOUR)
		return two_figures(out, s / HOUR, 'h', s % HOUR / MINUTE, 'm');
	if (s < 2 * DAY)
		return two_figures(out, s / HOUR, 'h', 0, 0);
	if (s < 8 * DAY)
		return two_figures(out, s / DAY, 'd', s % DAY / HOUR, 'h');
	if (s < 2 * (int64_t)YEAR)
		return two_figures(out, s / DAY, 'd', 0, 0);
	if (s < 8 * (int64_t)YEAR)
		return two_figures(out, s / YEAR, 'y', s % YEAR / DAY, 'd');
	return two_figures(out, s / YEAR, 'y', 0, 0);
}

size_t ks_human_duration(int64_t seconds, char out[KS_HUMAN_TEXT])
{
	return (size_t)human(seconds, out);
}
