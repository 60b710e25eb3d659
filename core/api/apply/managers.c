/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/apply/managers.h"

#include <errno.h>
#include <stdlib.h>

#include "core/api/apply/typed.h"
#include "core/api/json.h"
#include "core/api/quote.h"

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

static int compare_identity(const struct ks_manager *x, const struct ks_manager *y)
{
	int c = (int)x->applied - (int)y->applied;

	if (!c)
		c = ks_str_cmp(x->name, y->name);
	if (!c)
		c = ks_str_cmp(x->subresource, y->subresource);
	return c || x->applied ? c : ks_str_cmp(x->version, y->version);
}

static int by_identity(const void *a, const void *b)
{
	const struct ks_manager *x = a, *y = b;
	int c = compare_identity(x, y);

	return c ? c : x->number < y->number ? -1 : x->number > y->number;
}

/* Of entries with one identity, upstream keeps the last. */
static void drop_doubles(struct ks_managers *managers)
{
	uint32_t kept = 0;

	if (managers->n < 2)
		return;
	qsort(managers->items, managers->n, sizeof(*managers->items), by_identity);
	for (uint32_t i = 0; i < managers->n; i++)
		if (i + 1 == managers->n || compare_identity(&managers->items[i], &managers->items[i + 1]))
			managers->items[kept++] = managers->items[i];
	managers->n = kept;
}

int ks_managers_read(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *list, bool check, struct ks_managers *out_r)
{
	struct ks_managers out = {0};

	for (uint32_t i = 0; list && list->kind == KS_LIST && i < list->n; i++) {
		struct ks_manager manager = {.number = i};
		int result = read_entry(s, &list->items[i], &manager);

		if (!result && check)
			result = check_entry(arena, &manager);
		if (result)
			return result;
		if (!ks_managers_add(arena, &out, &manager))
			return -ENOMEM;
	}
	drop_doubles(&out);
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
	for (uint32_t i = 0; i < managers->n; i++)
		if (!compare_identity(&managers->items[i], like))
			return &managers->items[i];
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

/* The old updates of one version. */
struct bucket {
	struct bucket *next;
	struct ks_manager manager; /* the first of them; from the second on, all of them */
	struct ks_fieldset *sets;
	uint32_t n;
};

static struct bucket *bucket_of(struct ks_arena *arena, struct bucket **buckets, const struct ks_manager *manager, uint32_t most)
{
	struct bucket *b = *buckets;

	while (b && !ks_str_eq(b->manager.version, manager->version))
		b = b->next;
	if (b)
		return b;
	b = ks_arena_zalloc(arena, 1, sizeof(*b));
	if (!b || !(b->sets = ks_arena_alloc(arena, most * sizeof(*b->sets))))
		return NULL;
	b->manager = *manager;
	b->next = *buckets;
	*buckets = b;
	return b;
}

static void put_into(struct bucket *b, const struct ks_manager *oldest)
{
	b->sets[b->n++] = oldest->set;
	if (b->n == 1)
		return;
	b->manager.name = KS_STR_LIT(OLD_UPDATES);
	b->manager.subresource = (struct ks_str){0};
	b->manager.time = oldest->time;
}

static int put_back(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, struct ks_managers *managers, struct bucket *b)
{
	struct ks_manager *same = ks_managers_find(managers, &b->manager);
	int result = same ? ks_manager_open(arena, s, type, same) : 0;

	if (result)
		return result;
	if (!ks_fieldset_union_all(arena, b->sets, b->n, &b->manager.set))
		return -ENOMEM;
	if (!same)
		return ks_managers_add(arena, managers, &b->manager) ? 0 : -ENOMEM;
	return ks_fieldset_union(arena, &same->set, &b->manager.set, &same->set) ? 0 : -ENOMEM;
}

static uint32_t count_updaters(const struct ks_managers *managers)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < managers->n; i++)
		n += !managers->items[i].applied;
	return n;
}

int ks_managers_cap(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, struct ks_managers *managers)
{
	uint32_t n_updaters = count_updaters(managers), first = managers->n - n_updaters, i = first;
	struct bucket *buckets = NULL;
	int result = 0;

	if (n_updaters <= KS_MANAGED_MOST_UPDATERS)
		return 0;
	qsort(managers->items, managers->n, sizeof(*managers->items), by_age);
	for (; i < managers->n && n_updaters > KS_MANAGED_MOST_UPDATERS; i++) {
		struct bucket *b = bucket_of(arena, &buckets, &managers->items[i], managers->n);

		result = b ? ks_manager_open(arena, s, type, &managers->items[i]) : -ENOMEM;
		if (result)
			return result;
		n_updaters -= b->n > 0;
		put_into(b, &managers->items[i]);
	}
	memmove(&managers->items[first], &managers->items[i], (managers->n - i) * sizeof(*managers->items));
	managers->n -= i - first;
	for (struct bucket *b = buckets; b && !result; b = b->next) {
		b->manager.fields = NULL;
		result = put_back(arena, s, type, managers, b);
	}
	return result;
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
