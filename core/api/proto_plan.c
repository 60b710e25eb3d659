/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/proto_plan.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define APIEXTENSIONS "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

/* Where a message is embedded: the numbers on the way to it. */
struct path {
	uint16_t numbers[3];
	unsigned n;
};

static void plan_free(struct ks_proto_plan *plan)
{
	free(plan->messages);
	free(plan->entries);
	free(plan->numbers);
	free(plan->unions);
	free(plan);
}

static bool grow(void **items, uint32_t *cap, uint32_t n, size_t size)
{
	uint32_t more = *cap ? *cap : 1024;
	void *grown;

	if (n <= *cap)
		return true;
	while (more < n)
		more *= 2;
	grown = realloc(*items, more * size);
	if (!grown)
		return false;
	*items = grown;
	*cap = more;
	return true;
}

static struct path path_of(const struct ks_field *field)
{
	struct path path = {.n = field->proto_parent == 0 ? 0 : field->proto_parent > 0xff ? 2 : 1};

	path.numbers[0] = field->proto_parent & 0xff;
	path.numbers[1] = field->proto_parent >> 8;
	return path;
}

static bool is_within(const struct path *path, const struct path *outer)
{
	return path->n >= outer->n && memcmp(path->numbers, outer->numbers, outer->n * sizeof(path->numbers[0])) == 0;
}

static bool add_entry(struct ks_proto_plan *plan, struct ks_proto_message *m, const struct ks_proto_entry *entry)
{
	uint32_t at;

	if (!grow((void **)&plan->entries, &plan->cap_entries, plan->n_entries + 1, sizeof(*entry)))
		return false;
	for (at = plan->n_entries; at > m->first && plan->entries[at - 1].number > entry->number; at--)
		plan->entries[at] = plan->entries[at - 1];
	plan->entries[at] = *entry;
	plan->n_entries++;
	m->n++;
	return true;
}

static struct ks_proto_entry entry_of(const struct ks_schema *s, const struct ks_field *field, uint16_t slot)
{
	const struct ks_type *t = &s->types[field->type];
	struct ks_proto_entry entry = {
		.field = field, .number = field->proto, .slot = slot, .type = field->type, .pointer = field->flags & KS_FIELD_POINTER};

	if (t->class_ == KS_TYPE_MAP || (t->class_ == KS_TYPE_LIST && !t->proto_message)) {
		entry.shape = t->class_ == KS_TYPE_MAP ? KS_SHAPE_MAP : KS_SHAPE_LIST;
		entry.type = t->element;
	}
	entry.class_ = s->types[entry.type].class_;
	return entry;
}

static bool has_number(const struct ks_proto_plan *plan, const struct ks_proto_message *m, uint16_t number)
{
	for (uint32_t i = m->first; i < plan->n_entries; i++)
		if (plan->entries[i].number == number)
			return true;
	return false;
}

/* The fields of `type` that stand at `path`; messages embedded there get a number, and are made afterwards. */
static bool add_fields(struct ks_proto_plan *plan, const struct ks_schema *s, uint16_t type, const struct path *at, struct ks_proto_message *m)
{
	m->first = plan->n_entries;
	for (uint16_t slot = 0; slot < s->types[type].n_fields; slot++) {
		const struct ks_field *field = ks_schema_field(s, type, slot);
		struct path path = path_of(field);
		struct ks_proto_entry entry;

		if (field->flags & KS_FIELD_PROTO_NONE || !is_within(&path, at))
			continue;
		entry = entry_of(s, field, slot);
		if (path.n > at->n) {
			entry = (struct ks_proto_entry){.number = path.numbers[at->n], .shape = KS_SHAPE_MESSAGE};
			if (has_number(plan, m, entry.number))
				continue;
		}
		if (!add_entry(plan, m, &entry))
			return false;
	}
	return true;
}

static bool add_numbers(struct ks_proto_plan *plan, struct ks_proto_message *m)
{
	uint16_t most = m->n ? plan->entries[m->first + m->n - 1].number : 0;

	m->first_number = plan->n_numbers;
	m->n_numbers = (uint16_t)(most + 1);
	if (!grow((void **)&plan->numbers, &plan->cap_numbers, plan->n_numbers + m->n_numbers, sizeof(*plan->numbers)))
		return false;
	memset(plan->numbers + plan->n_numbers, 0, m->n_numbers * sizeof(*plan->numbers));
	plan->n_numbers += m->n_numbers;
	for (uint16_t i = 0; i < m->n; i++)
		plan->numbers[m->first_number + plan->entries[m->first + i].number] = (uint16_t)(i + 1);
	return true;
}

static bool add_message(struct ks_proto_plan *plan, const struct ks_schema *s, uint16_t type, const struct path *at, uint32_t index)
{
	struct ks_proto_message m = {0};

	if (!add_fields(plan, s, type, at, &m) || !add_numbers(plan, &m))
		return false;
	plan->messages[index] = m;
	for (uint32_t i = m.first; i < m.first + m.n; i++) {
		struct path inner = *at;
		uint32_t next = plan->n_messages;

		if (plan->entries[i].shape != KS_SHAPE_MESSAGE)
			continue;
		if (!grow((void **)&plan->messages, &plan->cap_messages, next + 1, sizeof(*plan->messages)) || next > UINT16_MAX)
			return false;
		plan->n_messages++;
		plan->entries[i].message = (uint16_t)next;
		inner.numbers[inner.n++] = plan->entries[i].number;
		if (!add_message(plan, s, type, &inner, next))
			return false;
	}
	return true;
}

static void find_unions(struct ks_proto_plan *plan, const struct ks_schema *s)
{
	static const struct {
		const char *name;
		enum ks_proto_union which;
	} unions[] = {
		{APIEXTENSIONS "JSONSchemaPropsOrArray", KS_UNION_OR_ARRAY},
		{APIEXTENSIONS "JSONSchemaPropsOrBool", KS_UNION_OR_BOOL},
		{APIEXTENSIONS "JSONSchemaPropsOrStringArray", KS_UNION_OR_STRINGS},
	};

	for (uint32_t type = 1; type < s->n_types; type++)
		for (size_t i = 0; i < sizeof(unions) / sizeof(unions[0]) && s->types[type].class_ == KS_TYPE_JSON; i++)
			if (strcmp(ks_schema_text(s, s->types[type].name), unions[i].name) == 0)
				plan->unions[type] = (uint8_t)unions[i].which;
	plan->schema_props = ks_schema_find_type(s, APIEXTENSIONS "JSONSchemaProps");
}

static struct ks_proto_plan *plan_new(const struct ks_schema *s)
{
	static const struct path outermost;
	struct ks_proto_plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return NULL;
	plan->unions = calloc(s->n_types, 1);
	plan->n_messages = s->n_types;
	if (!plan->unions || !grow((void **)&plan->messages, &plan->cap_messages, s->n_types, sizeof(*plan->messages)))
		goto failed;
	memset(plan->messages, 0, s->n_types * sizeof(*plan->messages));
	for (uint32_t type = 1; type < s->n_types; type++)
		if (s->types[type].class_ == KS_TYPE_STRUCT && !add_message(plan, s, (uint16_t)type, &outermost, type))
			goto failed;
	find_unions(plan, s);
	return plan;
failed:
	plan_free(plan);
	return NULL;
}

const struct ks_proto_plan *ks_proto_plan_of(const struct ks_schema *s)
{
	static struct ks_proto_plan *_Atomic builtin;
	struct ks_proto_plan *plan, *there = NULL;

	if (s != &ks_schema_builtin)
		return NULL;
	plan = atomic_load_explicit(&builtin, memory_order_acquire);
	if (plan)
		return plan;
	plan = plan_new(s);
	if (plan && !atomic_compare_exchange_strong(&builtin, &there, plan)) {
		plan_free(plan);
		plan = there;
	}
	return plan;
}
