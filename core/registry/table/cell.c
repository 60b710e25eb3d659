/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/table/cell.h"

#include <ctype.h>

#include "core/api/json.h"

/* -- reading --------------------------------------------------------------------------------------------------- */

const struct ks_value *ks_row_at(const struct ks_row *row, const struct ks_value *v, const char *path)
{
	const struct ks_value *found = ks_value_at(row->schema, v, path);

	return ks_value_present(found) ? found : NULL;
}

struct ks_str ks_row_str(const struct ks_row *row, const struct ks_value *v, const char *path)
{
	return ks_value_str(ks_row_at(row, v, path));
}

int64_t ks_row_int(const struct ks_row *row, const struct ks_value *v, const char *path)
{
	const struct ks_value *found = ks_row_at(row, v, path);

	return found && found->kind == KS_INT ? found->integer : 0;
}

bool ks_row_true(const struct ks_row *row, const struct ks_value *v, const char *path)
{
	const struct ks_value *found = ks_row_at(row, v, path);

	return found && found->kind == KS_BOOL && found->boolean;
}

uint32_t ks_row_count(const struct ks_row *row, const struct ks_value *v, const char *path)
{
	const struct ks_value *found = ks_row_at(row, v, path);

	return found && (found->kind == KS_LIST || found->kind == KS_MAP) ? found->n : 0;
}

const struct ks_value *ks_row_list(const struct ks_row *row, const struct ks_value *v, const char *path)
{
	const struct ks_value *found = ks_row_at(row, v, path);

	return found && found->kind == KS_LIST && found->n ? found : NULL;
}

bool ks_row_time(const struct ks_row *row, const struct ks_value *v, const char *path, struct ks_time *time_r)
{
	struct ks_str text = ks_row_str(row, v, path);
	const char *message;

	if (text.n == 0 || ks_time_parse(row->arena, text, false, time_r, &message) != 0)
		return false;
	return time_r->seconds != KS_TIME_ZERO_SECONDS;
}

const struct ks_value *ks_row_condition(const struct ks_row *row, const char *path, const char *type)
{
	const struct ks_value *list = ks_row_list(row, row->object, path);

	for (uint32_t i = 0; list && i < list->n; i++)
		if (ks_str_is(ks_row_str(row, &list->items[i], "type"), type))
			return &list->items[i];
	return NULL;
}

bool ks_row_condition_true(const struct ks_row *row, const char *path, const char *type)
{
	return ks_str_is(ks_row_str(row, ks_row_condition(row, path, type), "status"), "True");
}

bool ks_row_deleted(const struct ks_row *row)
{
	return ks_row_at(row, row->object, "metadata.deletionTimestamp") != NULL;
}

const struct ks_value *ks_row_member(const struct ks_row *row, const struct ks_value *v, const char *path, const char *name)
{
	const struct ks_value *found = ks_value_get(row->schema, ks_row_at(row, v, path), name);

	return ks_value_present(found) ? found : NULL;
}

/* -- writing --------------------------------------------------------------------------------------------------- */

static void next_cell(struct ks_row *row)
{
	if (row->n++)
		ks_buf_add_char(row->out, ',');
}

void ks_put_str(struct ks_row *row, struct ks_str text)
{
	next_cell(row);
	ks_json_encode_string(text, row->out);
}

void ks_put_text(struct ks_row *row, const char *text)
{
	ks_put_str(row, ks_str_from(text ? text : ""));
}

void ks_put_int(struct ks_row *row, int64_t number)
{
	next_cell(row);
	ks_buf_add_i64(row->out, number);
}

void ks_put_bool(struct ks_row *row, bool value)
{
	next_cell(row);
	ks_buf_add_str(row->out, value ? "true" : "false");
}

/* Whole seconds from `from` to `to`, rounded towards zero. */
static int64_t seconds_between(struct ks_time from, struct ks_time to)
{
	int64_t seconds = to.seconds - from.seconds;

	if (seconds > 0 && to.nanoseconds < from.nanoseconds)
		seconds--;
	else if (seconds < 0 && to.nanoseconds > from.nanoseconds)
		seconds++;
	return seconds;
}

void ks_add_since(struct ks_row *row, struct ks_buf *text, struct ks_time time)
{
	char out[KS_HUMAN_TEXT];

	ks_buf_add(text, out, ks_human_duration(seconds_between(time, row->now), out));
}

void ks_put_since(struct ks_row *row, bool known, struct ks_time time)
{
	if (!known) {
		ks_put_text(row, "<unknown>");
		return;
	}
	ks_add_since(row, ks_compose(row), time);
	ks_put_composed(row, NULL);
}

struct ks_buf *ks_compose(struct ks_row *row)
{
	ks_buf_clear(row->text);
	return row->text;
}

void ks_put_composed(struct ks_row *row, const char *otherwise)
{
	if (row->text->failed)
		row->out->failed = true;
	if (row->text->len == 0)
		ks_put_text(row, otherwise);
	else
		ks_put_str(row, ks_buf_str(row->text));
}

void ks_add_str(struct ks_buf *text, struct ks_str s)
{
	ks_buf_add(text, s.p, s.n);
}

void ks_add_lower(struct ks_buf *text, struct ks_str s)
{
	for (size_t i = 0; i < s.n; i++)
		ks_buf_add_char(text, (char)tolower((unsigned char)s.p[i]));
}

void ks_add_separator(struct ks_buf *text, const char *separator)
{
	if (text->len)
		ks_buf_add_str(text, separator);
}

void ks_add_more(struct ks_buf *text, uint32_t count, uint32_t most)
{
	if (count > most)
		ks_buf_printf(text, " + %u more...", count - most);
}

void ks_add_list(struct ks_buf *text, const struct ks_value *list, const char *separator)
{
	for (uint32_t i = 0; list && i < list->n; i++) {
		if (i)
			ks_buf_add_str(text, separator);
		ks_add_str(text, ks_value_str(&list->items[i]));
	}
}

/* -- cells ----------------------------------------------------------------------------------------------------- */

void ks_cell_name(struct ks_row *row, const struct ks_cell *cell)
{
	(void)cell;
	ks_put_str(row, ks_row_str(row, row->object, "metadata.name"));
}

void ks_cell_age(struct ks_row *row, const struct ks_cell *cell)
{
	struct ks_time created = {0};
	bool known = ks_row_time(row, row->object, "metadata.creationTimestamp", &created);

	(void)cell;
	ks_put_since(row, known, created);
}

void ks_cell_created(struct ks_row *row, const struct ks_cell *cell)
{
	struct ks_str created = ks_row_str(row, row->object, "metadata.creationTimestamp");

	(void)cell;
	ks_put_str(row, created.n ? created : KS_STR_LIT("0001-01-01T00:00:00Z"));
}

void ks_cell_text(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *v = ks_row_at(row, row->object, cell->path);

	if (v)
		ks_put_str(row, ks_value_str(v));
	else
		ks_put_text(row, cell->otherwise);
}

void ks_cell_filled(struct ks_row *row, const struct ks_cell *cell)
{
	struct ks_str text = ks_row_str(row, row->object, cell->path);

	if (text.n)
		ks_put_str(row, text);
	else
		ks_put_text(row, cell->otherwise);
}

void ks_cell_int(struct ks_row *row, const struct ks_cell *cell)
{
	if (cell->otherwise && !ks_row_at(row, row->object, cell->path))
		ks_put_text(row, cell->otherwise);
	else
		ks_put_int(row, ks_row_int(row, row->object, cell->path));
}

void ks_cell_int_text(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *v = ks_row_at(row, row->object, cell->path);

	if (!v || v->kind != KS_INT) {
		ks_cell_text(row, cell);
		return;
	}
	ks_buf_add_i64(ks_compose(row), v->integer);
	ks_put_composed(row, NULL);
}

void ks_cell_bool(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *v = ks_row_at(row, row->object, cell->path);

	ks_put_bool(row, v ? v->kind == KS_BOOL && v->boolean : cell->otherwise != NULL);
}

void ks_cell_count(struct ks_row *row, const struct ks_cell *cell)
{
	ks_put_int(row, ks_row_count(row, row->object, cell->path));
}

void ks_cell_since(struct ks_row *row, const struct ks_cell *cell)
{
	struct ks_time time = {0};

	if (ks_row_time(row, row->object, cell->path, &time))
		ks_put_since(row, true, time);
	else
		ks_put_text(row, cell->otherwise);
}

void ks_cell_join(struct ks_row *row, const struct ks_cell *cell)
{
	ks_add_list(ks_compose(row), ks_row_list(row, row->object, cell->path), ",");
	ks_put_composed(row, cell->otherwise);
}

static void join_of_containers(struct ks_row *row, const struct ks_cell *cell, const char *member)
{
	const struct ks_value *containers = ks_row_list(row, ks_row_at(row, row->object, cell->path), "containers");
	struct ks_buf *text = ks_compose(row);

	for (uint32_t i = 0; containers && i < containers->n; i++) {
		if (i)
			ks_buf_add_char(text, ',');
		ks_add_str(text, ks_row_str(row, &containers->items[i], member));
	}
	ks_put_composed(row, NULL);
}

void ks_cell_containers(struct ks_row *row, const struct ks_cell *cell)
{
	join_of_containers(row, cell, "name");
}

void ks_cell_images(struct ks_row *row, const struct ks_cell *cell)
{
	join_of_containers(row, cell, "image");
}
