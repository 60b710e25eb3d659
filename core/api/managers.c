/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/managers.h"

#include <errno.h>
#include <stdlib.h>

#include "core/api/json.h"
#include "core/api/quote.h"
#include "core/api/typed.h"

/* Where updates go that are too old and too many for an entry of their own. */
#define OLD_UPDATES "ancient-changes"

/* -- reading -------------------------------------------------------------------------------------------------- */

static struct ks_str text_of(const struct ks_schema *s, const struct ks_value *entry, const char *name)
{
	return ks_value_str(ks_value_get(s, entry, name));
}

static int read_entry(const struct ks_schema *s, const struct ks_value *entry, struct ks_manager *out)
{
	static const struct ks_value no_fields = {.kind = KS_MAP};
	struct ks_str operation = text_of(s, entry, "operation");

	out->applied = ks_str_is(operation, "Apply");
	if (!out->applied && !ks_str_is(operation, "Update"))
		return -EINVAL;
	out->version = text_of(s, entry, "apiVersion");
	if (!out->version.n || !ks_str_is(text_of(s, entry, "fieldsType"), "FieldsV1"))
		return -EINVAL;
	out->name = text_of(s, entry, "manager");
	out->subresource = text_of(s, entry, "subresource");
	out->time = text_of(s, entry, "time");
	out->fields = ks_value_get(s, entry, "fieldsV1");
	if (!ks_value_present(out->fields))
		out->fields = &no_fields;
	return 0;
}

static int check_entry(struct ks_arena *arena, struct ks_manager *manager)
{
	int result = ks_fieldset_parse(arena, manager->fields, &manager->set);

	manager->fields = NULL;
	return result;
}

int ks_managers_read(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *list, bool check, struct ks_managers *out_r)
{
	struct ks_managers out = {0};

	for (uint32_t i = 0; list && list->kind == KS_LIST && i < list->n; i++) {
		struct ks_manager manager = {0}, *same;
		int result = read_entry(s, &list->items[i], &manager);

		if (!result && check)
			result = check_entry(arena, &manager);
		if (result)
			return result;
		same = ks_managers_find(&out, &manager);
		if (same)
			*same = manager; /* upstream keeps the last one */
		else if (!ks_managers_add(arena, &out, &manager))
			return -ENOMEM;
	}
	*out_r = out;
	return 0;
}

int ks_manager_open(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, struct ks_manager *manager)
{
	struct ks_fieldset set = {0};
	int result;

	if (!manager->fields)
		return 0;
	result = ks_fieldset_parse(arena, manager->fields, &set);
	if (result)
		return result;
	if (!ks_typed_reconcile(arena, s, type, &set, &manager->set))
		return -ENOMEM;
	manager->fields = NULL;
	return 0;
}

/* -- the list ------------------------------------------------------------------------------------------------- */

struct ks_manager *ks_managers_find(struct ks_managers *managers, const struct ks_manager *like)
{
	for (uint32_t i = 0; i < managers->n; i++) {
		struct ks_manager *m = &managers->items[i];

		if (m->applied == like->applied && ks_str_eq(m->name, like->name) && ks_str_eq(m->subresource, like->subresource) &&
			(m->applied || ks_str_eq(m->version, like->version)))
			return m;
	}
	return NULL;
}

struct ks_manager *ks_managers_add(struct ks_arena *arena, struct ks_managers *managers, const struct ks_manager *like)
{
	if (managers->n == managers->cap) {
		uint32_t cap = managers->cap ? managers->cap * 2 : 8;
		struct ks_manager *items = ks_arena_alloc(arena, cap * sizeof(*items));

		if (!items)
			return NULL;
		if (managers->n)
			memcpy(items, managers->items, managers->n * sizeof(*items));
		managers->items = items;
		managers->cap = cap;
	}
	managers->items[managers->n] = *like;
	return &managers->items[managers->n++];
}

void ks_managers_remove(struct ks_managers *managers, struct ks_manager *manager)
{
	uint32_t at = (uint32_t)(manager - managers->items);

	managers->n--;
	memmove(manager, manager + 1, (managers->n - at) * sizeof(*manager));
}

/* Times are of one form, so that their texts are in order; none is the oldest. */
static int by_age(const void *a, const void *b)
{
	const struct ks_manager *x = a, *y = b;
	int c = (int)y->applied - (int)x->applied;

	if (!c)
		c = ks_str_cmp(x->time, y->time);
	if (!c)
		c = ks_str_cmp(x->name, y->name);
	if (!c)
		c = ks_str_cmp(x->version, y->version);
	return c ? c : ks_str_cmp(x->subresource, y->subresource);
}

/* -- a limit for updaters ------------------------------------------------------------------------------------- */

/* The first updater of a version that was found to be too old. */
static struct ks_manager *bucket_of(struct ks_managers *old, struct ks_str version)
{
	for (uint32_t i = 0; i < old->n; i++)
		if (ks_str_eq(old->items[i].version, version))
			return &old->items[i];
	return NULL;
}

static int put_together(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, struct ks_manager *into, struct ks_manager *from)
{
	int result = ks_manager_open(arena, s, type, into);

	if (!result)
		result = ks_manager_open(arena, s, type, from);
	if (!result && !ks_fieldset_union(arena, &into->set, &from->set, &into->set))
		result = -ENOMEM;
	into->name = KS_STR_LIT(OLD_UPDATES);
	into->subresource = (struct ks_str){0};
	into->time = from->time;
	return result;
}

int ks_managers_cap(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, struct ks_managers *managers)
{
	struct ks_managers old = {0};
	uint32_t n_updaters = 0, first = 0;

	for (uint32_t i = 0; i < managers->n; i++)
		n_updaters += !managers->items[i].applied;
	if (n_updaters <= KS_MANAGED_MOST_UPDATERS)
		return 0;
	qsort(managers->items, managers->n, sizeof(*managers->items), by_age);
	while (managers->items[first].applied)
		first++;
	while (first < managers->n && n_updaters > KS_MANAGED_MOST_UPDATERS) {
		struct ks_manager oldest = managers->items[first], *bucket = bucket_of(&old, oldest.version);
		int result;

		ks_managers_remove(managers, &managers->items[first]);
		if (!bucket) {
			if (!ks_managers_add(arena, &old, &oldest))
				return -ENOMEM;
			continue;
		}
		result = put_together(arena, s, type, bucket, &oldest);
		if (result)
			return result;
		n_updaters--;
	}
	for (uint32_t i = 0; i < old.n; i++) {
		struct ks_manager *same = ks_managers_find(managers, &old.items[i]);
		int result = same ? put_together(arena, s, type, same, &old.items[i]) : 0;

		if (result || (!same && !ks_managers_add(arena, managers, &old.items[i])))
			return result ? result : -ENOMEM;
	}
	return 0;
}

/* -- writing -------------------------------------------------------------------------------------------------- */

static bool set_text(struct ks_arena *arena, const struct ks_schema *s, struct ks_value *entry, const char *name, struct ks_str text)
{
	struct ks_value *place = text.n ? ks_value_put(arena, s, entry, ks_str_from(name)) : NULL;

	if (place)
		*place = ks_value_from_str(text);
	return place || !text.n;
}

static bool write_entry(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, const struct ks_manager *m, struct ks_value *out)
{
	struct ks_value *fields;

	if (!ks_value_new_struct(arena, s, type, out) || !set_text(arena, s, out, "manager", m->name) ||
		!set_text(arena, s, out, "operation", m->applied ? KS_STR_LIT("Apply") : KS_STR_LIT("Update")) ||
		!set_text(arena, s, out, "apiVersion", m->version) || !set_text(arena, s, out, "time", m->time) ||
		!set_text(arena, s, out, "fieldsType", KS_STR_LIT("FieldsV1")) || !set_text(arena, s, out, "subresource", m->subresource))
		return false;
	fields = ks_value_put(arena, s, out, KS_STR_LIT("fieldsV1"));
	if (!fields)
		return false;
	if (m->fields)
		*fields = *m->fields;
	return m->fields || ks_fieldset_to_value(arena, &m->set, fields);
}

bool ks_managers_write(struct ks_arena *arena, const struct ks_schema *s, const struct ks_managers *managers, struct ks_value *object)
{
	struct ks_value *list = ks_value_put_at(arena, s, object, "metadata.managedFields"), *metadata = ks_value_get(s, object, "metadata");
	struct ks_value out = {.kind = KS_LIST};
	uint16_t slot, type;

	if (!list || !metadata)
		return false;
	*list = (struct ks_value){0};
	if (!managers->n)
		return true;
	slot = ks_schema_slot(s, metadata->type, "managedFields", strlen("managedFields"));
	type = ks_schema_field(s, metadata->type, slot)->type;
	out.type = type;
	qsort(managers->items, managers->n, sizeof(*managers->items), by_age);
	for (uint32_t i = 0; i < managers->n; i++) {
		struct ks_value *item = ks_value_append(arena, &out);

		if (!item || !write_entry(arena, s, s->types[type].element, &managers->items[i], item))
			return false;
	}
	*list = out;
	return true;
}

/* -- names ---------------------------------------------------------------------------------------------------- */

const char *ks_manager_print(struct ks_arena *arena, const struct ks_manager *manager)
{
	const char *name = ks_quote(arena, manager->name), *subresource = ks_quote(arena, manager->subresource);

	if (!name || !subresource)
		return NULL;
	return ks_arena_printf(arena, "%s%s%s%s%.*s", name, manager->subresource.n ? " with subresource " : "", manager->subresource.n ? subresource : "",
		manager->applied ? "" : " using ", manager->applied ? 0 : (int)manager->version.n, manager->version.p);
}

const char *ks_manager_identity(struct ks_arena *arena, const struct ks_manager *manager)
{
	const char *out;
	struct ks_buf text;

	ks_buf_init(&text);
	ks_buf_add_str(&text, "{\"manager\":");
	ks_json_encode_string(manager->name, &text);
	ks_buf_printf(&text, ",\"operation\":\"%s\"", manager->applied ? "Apply" : "Update");
	if (!manager->applied) {
		ks_buf_add_str(&text, ",\"apiVersion\":");
		ks_json_encode_string(manager->version, &text);
	}
	if (manager->subresource.n) {
		ks_buf_add_str(&text, ",\"subresource\":");
		ks_json_encode_string(manager->subresource, &text);
	}
	ks_buf_add_char(&text, '}');
	out = text.failed ? NULL : ks_arena_dup(arena, text.data, text.len);
	ks_buf_fini(&text);
	return out;
}
