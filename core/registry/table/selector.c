/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Labels and label selectors in words. */
#include <stdlib.h>

#include "core/api/selector.h"
#include "core/registry/table/cell.h"

static int by_text(const void *a, const void *b)
{
	return ks_str_cmp(*(const struct ks_str *)a, *(const struct ks_str *)b);
}

/* Sorted copies of the texts of a list. NULL when out of memory. */
static struct ks_str *sorted_texts(struct ks_arena *arena, const struct ks_value *list)
{
	struct ks_str *texts = ks_arena_zalloc(arena, list->n, sizeof(*texts));

	for (uint32_t i = 0; texts && i < list->n; i++)
		texts[i] = ks_value_str(&list->items[i]);
	if (texts)
		qsort(texts, list->n, sizeof(*texts), by_text);
	return texts;
}

/* "key=value" of a member. */
static struct ks_str pair_text(struct ks_arena *arena, const struct ks_member *m)
{
	struct ks_str value = ks_value_str(&m->value);
	char *text = ks_arena_alloc(arena, m->key.n + value.n + 1);

	if (!text)
		return (struct ks_str){0};
	memcpy(text, m->key.p, m->key.n);
	text[m->key.n] = '=';
	if (value.n)
		memcpy(text + m->key.n + 1, value.p, value.n);
	return ks_str_of(text, m->key.n + 1 + value.n);
}

void ks_cell_labels(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *map = ks_row_at(row, row->object, cell->path);
	uint32_t n = map && map->kind == KS_MAP ? map->n : 0;
	struct ks_str *pairs = n ? ks_arena_zalloc(row->arena, n, sizeof(*pairs)) : NULL;
	struct ks_buf *text = ks_compose(row);

	if (n && !pairs)
		row->out->failed = true;
	for (uint32_t i = 0; pairs && i < n; i++)
		pairs[i] = pair_text(row->arena, &map->members[i]);
	if (pairs)
		qsort(pairs, n, sizeof(*pairs), by_text);
	for (uint32_t i = 0; pairs && i < n; i++) {
		ks_add_separator(text, ",");
		ks_add_str(text, pairs[i]);
	}
	ks_put_composed(row, "<none>");
}

/* -- selectors ------------------------------------------------------------------------------------------------- */

/* A member of matchLabels, or an item of matchExpressions. */
struct term {
	struct ks_str key;
	const struct ks_value *label, *expression;
	uint32_t at;
};

static int by_key(const void *a, const void *b)
{
	const struct term *x = a, *y = b;
	int c = ks_str_cmp(x->key, y->key);

	return c ? c : (x->at > y->at) - (x->at < y->at);
}

static void add_values(struct ks_row *row, struct ks_buf *text, const char *operator_, const struct ks_value *values)
{
	struct ks_str *sorted = values ? sorted_texts(row->arena, values) : NULL;

	ks_buf_add_str(text, operator_);
	for (uint32_t i = 0; sorted && i < values->n; i++) {
		if (i)
			ks_buf_add_char(text, ',');
		ks_add_str(text, sorted[i]);
	}
	ks_buf_add_char(text, ')');
}

static void add_term(struct ks_row *row, struct ks_buf *text, const struct term *term)
{
	struct ks_str operator_;
	const struct ks_value *values;

	if (term->label) {
		ks_add_str(text, term->key);
		ks_buf_add_char(text, '=');
		ks_add_str(text, ks_value_str(term->label));
		return;
	}
	operator_ = ks_row_str(row, term->expression, "operator");
	values = ks_row_list(row, term->expression, "values");
	if (ks_str_is(operator_, "DoesNotExist"))
		ks_buf_add_char(text, '!');
	ks_add_str(text, term->key);
	if (ks_str_is(operator_, "In"))
		add_values(row, text, " in (", values);
	else if (ks_str_is(operator_, "NotIn"))
		add_values(row, text, " notin (", values);
}

static void add_selector(struct ks_row *row, struct ks_buf *text, const struct ks_value *selector)
{
	const struct ks_value *labels = ks_row_at(row, selector, "matchLabels");
	const struct ks_value *expressions = ks_row_list(row, selector, "matchExpressions");
	uint32_t n_labels = labels && labels->kind == KS_MAP ? labels->n : 0;
	uint32_t n = n_labels + (expressions ? expressions->n : 0);
	struct term *terms = n ? ks_arena_zalloc(row->arena, n, sizeof(*terms)) : NULL;

	if (!terms) {
		row->out->failed |= n != 0;
		return;
	}
	for (uint32_t i = 0; i < n_labels; i++)
		terms[i] = (struct term){.key = labels->members[i].key, .label = &labels->members[i].value, .at = i};
	for (uint32_t i = n_labels; i < n; i++) {
		const struct ks_value *e = &expressions->items[i - n_labels];

		terms[i] = (struct term){.key = ks_row_str(row, e, "key"), .expression = e, .at = i};
	}
	qsort(terms, n, sizeof(*terms), by_key);
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			ks_buf_add_char(text, ',');
		add_term(row, text, &terms[i]);
	}
}

void ks_cell_selector(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *v = ks_row_at(row, row->object, cell->path);
	struct ks_buf *text = ks_compose(row);
	struct ks_selector *parsed;
	const char *message;

	if (v && ks_label_selector_from_value(row->arena, row->schema, v, &parsed, &message) != 0) {
		ks_put_text(row, cell->otherwise ? "<error>" : "<invalid>");
		return;
	}
	if (v)
		add_selector(row, text, v);
	ks_put_composed(row, cell->otherwise);
}
