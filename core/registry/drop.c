/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/drop.h"

enum { MOST_USED = 32 };

/* Fields that the stored object has. */
struct used {
	const struct ks_field *fields[MOST_USED];
	unsigned n;
};

typedef void visit(struct ks_value *value, const struct ks_field *field, struct used *used);

static bool is_used(const struct used *used, const struct ks_field *field)
{
	for (unsigned i = 0; i < used->n; i++)
		if (used->fields[i] == field)
			return true;
	return false;
}

static void note(struct ks_value *value, const struct ks_field *field, struct used *used)
{
	(void)value;
	if (used->n < MOST_USED && !is_used(used, field))
		used->fields[used->n++] = field;
}

static void drop(struct ks_value *value, const struct ks_field *field, struct used *used)
{
	if (!is_used(used, field))
		*value = (struct ks_value){.kind = KS_ABSENT};
}

/* Visits what is there of such fields; parts that can't have any are not looked at. */
static void walk(const struct ks_schema *s, struct ks_value *v, visit *visit, struct used *used)
{
	if (v->kind == KS_LIST) {
		for (uint32_t i = 0; i < v->n; i++)
			walk(s, &v->items[i], visit, used);
		return;
	}
	if (v->kind == KS_MAP) {
		for (uint32_t i = 0; i < v->n; i++)
			walk(s, &v->members[i].value, visit, used);
		return;
	}
	for (uint32_t i = 0; v->kind == KS_STRUCT && s->types[v->type].drops && i < v->n; i++) {
		const struct ks_field *field = ks_schema_field(s, v->type, (uint16_t)i);

		if (!ks_value_present(&v->items[i]))
			continue;
		if (field->rule == KS_FIELD_RULE_DROPPED)
			visit(&v->items[i], field, used);
		else if (s->types[field->type].drops)
			walk(s, &v->items[i], visit, used);
	}
}

void ks_registry_drop(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_value *old)
{
	struct used used = {.n = 0};

	if (object->kind != KS_STRUCT || !ctx->schema->types[object->type].drops)
		return;
	if (old)
		walk(ctx->schema, (struct ks_value *)old, note, &used); /* `note` changes nothing */
	walk(ctx->schema, object, drop, &used);
}
