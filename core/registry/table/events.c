/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Events, in the words of the core group. */
#include "core/registry/table/cell.h"

/* When it was first seen: events without counts have the time of the event alone. */
static bool first_seen(const struct ks_row *row, struct ks_time *time_r)
{
	return ks_row_time(row, row->object, "firstTimestamp", time_r) || ks_row_time(row, row->object, "eventTime", time_r);
}

static void cell_first_seen(struct ks_row *row, const struct ks_cell *cell)
{
	struct ks_time time = {0};
	bool known = first_seen(row, &time);

	(void)cell;
	ks_put_since(row, known, time);
}

static void cell_last_seen(struct ks_row *row, const struct ks_cell *cell)
{
	struct ks_time time = {0};
	bool known;

	(void)cell;
	if (ks_row_at(row, row->object, "series"))
		known = ks_row_time(row, row->object, "series.lastObservedTime", &time);
	else
		known = ks_row_time(row, row->object, "lastTimestamp", &time) || first_seen(row, &time);
	ks_put_since(row, known, time);
}

static void cell_count(struct ks_row *row, const struct ks_cell *cell)
{
	int64_t count = ks_row_int(row, row->object, "count");

	(void)cell;
	if (ks_row_at(row, row->object, "series"))
		count = ks_row_int(row, row->object, "series.count");
	else if (count == 0)
		count = 1;
	ks_put_int(row, count);
}

/* pod/name */
static void cell_object(struct ks_row *row, const struct ks_cell *cell)
{
	struct ks_str name = ks_row_str(row, row->object, "involvedObject.name");
	struct ks_buf *text = ks_compose(row);

	(void)cell;
	ks_add_lower(text, ks_row_str(row, row->object, "involvedObject.kind"));
	if (name.n)
		ks_buf_add_char(text, '/');
	ks_add_str(text, name);
	ks_put_composed(row, NULL);
}

static struct ks_str either(const struct ks_row *row, const char *path, const char *other)
{
	struct ks_str text = ks_row_str(row, row->object, path);

	return text.n ? text : ks_row_str(row, row->object, other);
}

static void cell_source(struct ks_row *row, const struct ks_cell *cell)
{
	struct ks_str instance = either(row, "source.host", "reportingInstance");
	struct ks_buf *text = ks_compose(row);

	(void)cell;
	ks_add_str(text, either(row, "source.component", "reportingComponent"));
	if (instance.n)
		ks_buf_add_str(text, ", ");
	ks_add_str(text, instance);
	ks_put_composed(row, NULL);
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void cell_message(struct ks_row *row, const struct ks_cell *cell)
{
	struct ks_str text = ks_row_str(row, row->object, cell->path);

	while (text.n && is_space(text.p[0]))
		text = ks_str_of(text.p + 1, text.n - 1);
	while (text.n && is_space(text.p[text.n - 1]))
		text.n--;
	ks_put_str(row, text);
}

static const struct ks_cell events[] = {
	{cell_last_seen, NULL, NULL},
	{ks_cell_text, "type", NULL},
	{ks_cell_text, "reason", NULL},
	{cell_object, NULL, NULL},
	{ks_cell_text, "involvedObject.fieldPath", NULL},
	{cell_source, NULL, NULL},
	{cell_message, "message", NULL},
	{cell_first_seen, NULL, NULL},
	{cell_count, NULL, NULL},
	KS_CELL_NAME,
};

static const struct ks_printer printers[] = {
	{"", "events", KS_CELLS(events), NULL},
	{"events.k8s.io", "events", KS_CELLS(events), NULL},
};
const struct ks_printers ks_printers_events = KS_PRINTERS(printers);
