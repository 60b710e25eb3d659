/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/cache/filter.h"

#include <errno.h>
#include <stdlib.h>

#include "core/cache/index.h"

static struct ks_str keep(struct ks_str text, char **at)
{
	struct ks_str copy = ks_str_of(*at, text.n);

	if (text.n)
		memcpy(*at, text.p, text.n);
	*at += text.n;
	return copy;
}

/* A name or namespace that a field asks for is as good as one in the path. */
static void narrow(struct ks_filter *filter, const struct ks_filter_field *field)
{
	if (field->not_equal || field->value.n == 0)
		return;
	if (field->index == -1 && filter->name.n == 0)
		filter->name = field->value;
	if (field->index == -2 && filter->ns.n == 0)
		filter->ns = field->value;
}

static int copy_fields(struct ks_filter *filter, const struct ks_schema *schema, uint16_t resource, const struct ks_watch_filter *from, char *at)
{
	for (uint32_t i = 0; i < from->n_fields; i++) {
		struct ks_filter_field *field = &filter->fields[i];

		field->index = (int16_t)ks_index_stored_field(schema, resource, from->fields[i].path);
		if (field->index == -3)
			return -EINVAL;
		field->not_equal = from->fields[i].not_equal;
		field->value = keep(from->fields[i].value, &at);
		narrow(filter, field);
	}
	return 0;
}

int ks_filter_init(struct ks_filter *filter, const struct ks_schema *schema, uint16_t resource, const struct ks_watch_filter *from)
{
	size_t n = from->ns.n + from->name.n + 1;
	int result = -ENOMEM;
	char *at;

	*filter = (struct ks_filter){.n_fields = from->n_fields};
	for (uint32_t i = 0; i < from->n_fields; i++)
		n += from->fields[i].value.n;
	filter->texts = at = malloc(n);
	filter->fields = calloc(from->n_fields + 1u, sizeof(*filter->fields));
	if (from->labels)
		filter->labels = ks_selector_dup(from->labels);
	if (at && filter->fields && (filter->labels || !from->labels)) {
		filter->ns = keep(from->ns, &at);
		filter->name = keep(from->name, &at);
		result = copy_fields(filter, schema, resource, from, at);
	}
	if (result)
		ks_filter_fini(filter);
	return result;
}

void ks_filter_fini(struct ks_filter *filter)
{
	if (filter->labels)
		ks_selector_free(filter->labels);
	free(filter->fields);
	free(filter->texts);
	*filter = (struct ks_filter){0};
}

static struct ks_str field_of(const struct ks_object *object, int index)
{
	if (index == -1)
		return object->name;
	if (index == -2)
		return object->ns;
	return index >= 0 && index < object->n_fields ? object->fields[index] : (struct ks_str){0};
}

static bool match_place(struct ks_str ns, struct ks_str name, const struct ks_object *object)
{
	return (ns.n == 0 || ks_str_eq(ns, object->ns)) && (name.n == 0 || ks_str_eq(name, object->name));
}

bool ks_filter_match(const struct ks_filter *filter, const struct ks_object *object)
{
	if (!match_place(filter->ns, filter->name, object))
		return false;
	for (uint32_t i = 0; i < filter->n_fields; i++) {
		const struct ks_filter_field *field = &filter->fields[i];

		if (ks_str_eq(field_of(object, field->index), field->value) == field->not_equal)
			return false;
	}
	return ks_label_selector_match(filter->labels, object->labels, object->n_labels);
}

bool ks_watch_filter_match(const struct ks_schema *schema, const struct ks_watch_filter *filter, const struct ks_object *object)
{
	if (!match_place(filter->ns, filter->name, object))
		return false;
	for (uint32_t i = 0; i < filter->n_fields; i++) {
		const struct ks_field_requirement *field = &filter->fields[i];
		int index = ks_index_stored_field(schema, object->resource, field->path);

		if (index == -3 || ks_str_eq(field_of(object, index), field->value) == field->not_equal)
			return false;
	}
	return ks_label_selector_match(filter->labels, object->labels, object->n_labels);
}
