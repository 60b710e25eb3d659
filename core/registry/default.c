/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Constant defaults: what the tables say of a field that is absent; and amounts, which are kept in thousandths. */
#include <pthread.h>
#include <stdlib.h>

#include "core/api/json.h"
#include "core/api/quantity.h"
#include "core/registry/registry.h"

/* Which built-in types have a default in them or below: most values need no look inside. */
static unsigned char *below;
/* Amounts of resources by name. */
static uint16_t amounts_type;

static bool type_has_default(const struct ks_schema *s, uint16_t type)
{
	const struct ks_type *t = &s->types[type];

	if (t->class_ == KS_TYPE_LIST || t->class_ == KS_TYPE_MAP)
		return below[t->element];
	for (uint16_t i = 0; t->class_ == KS_TYPE_STRUCT && i < t->n_fields; i++) {
		const struct ks_field *f = ks_schema_field(s, type, i);

		if (f->default_value || below[f->type])
			return true;
	}
	return false;
}

static void find_types(void)
{
	const struct ks_schema *s = &ks_schema_builtin;
	bool changed = true;

	below = calloc(s->n_types, 1);
	amounts_type = ks_schema_find_type(s, "io.k8s.api.core.v1.ResourceList");
	if (below)
		below[amounts_type] = 1;
	while (below && changed) {
		changed = false;
		for (uint32_t i = 1; i < s->n_types; i++) {
			if (below[i] || !type_has_default(s, (uint16_t)i))
				continue;
			below[i] = 1;
			changed = true;
		}
	}
}

static bool worth_looking(const struct ks_schema *s, uint16_t type)
{
	return s != &ks_schema_builtin || !below || below[type];
}

/* The common texts are read in place; anything else by the decoder. */
static bool set_constant(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, const char *json, struct ks_value *out)
{
	size_t n = strlen(json);
	const char *message;

	if (n >= 2 && json[0] == '"' && !memchr(json, '\\', n)) {
		*out = ks_value_from_str(ks_str_of(json + 1, n - 2));
		return true;
	}
	if (!strcmp(json, "{}") && s->types[type].class_ == KS_TYPE_STRUCT)
		return ks_value_new_struct(arena, s, type, out);
	if (!strcmp(json, "true") || !strcmp(json, "false")) {
		*out = ks_value_from_bool(json[0] == 't');
		return true;
	}
	return !ks_json_decode(arena, s, type, 0, json, n, out, NULL, &message);
}

/* What is smaller than a thousandth is rounded up. */
static bool round_amounts(struct ks_arena *arena, struct ks_value *map)
{
	for (uint32_t i = 0; map->kind == KS_MAP && i < map->n; i++) {
		struct ks_value *v = &map->members[i].value;
		struct ks_quantity q, milli = {0};
		const char *message;
		char text[KS_QUANTITY_TEXT], *copy;
		size_t n;

		if (ks_quantity_parse(ks_value_str(v), &q, &message) || q.huge || q.nano % 1000000 == 0)
			continue;
		milli.nano = (__int128)ks_quantity_milli(&q) * 1000000;
		milli.format = q.format;
		n = ks_quantity_print(&milli, text);
		copy = ks_arena_dup(arena, text, n);
		if (!copy)
			return false;
		v->string = copy;
		v->n = (uint32_t)n;
	}
	return true;
}

static bool default_value(struct ks_arena *arena, const struct ks_schema *s, struct ks_value *v);
static bool default_embedded(struct ks_arena *arena, const struct ks_schema *s, const struct ks_field *f, struct ks_value *slot);

static bool default_struct(struct ks_arena *arena, const struct ks_schema *s, struct ks_value *v)
{
	for (uint32_t i = 0; i < v->n; i++) {
		const struct ks_field *f = ks_schema_field(s, v->type, (uint16_t)i);
		struct ks_value *slot = &v->items[i];

		if (f->default_value && !ks_value_present(slot)) {
			if (!set_constant(arena, s, f->type, ks_schema_text(s, f->default_value), slot))
				return false;
			if (slot->kind != KS_STRUCT && ks_value_is_unsaid(s, f, slot))
				*slot = (struct ks_value){0}; /* Go's zero value, which nobody can tell from absent */
		}
		if (!ks_value_present(slot) && !default_embedded(arena, s, f, slot))
			return false;
		if (s == &ks_schema_builtin && f->type == amounts_type && amounts_type && !round_amounts(arena, slot))
			return false;
		if (ks_value_present(slot) && worth_looking(s, f->type) && !default_value(arena, s, slot))
			return false;
	}
	return true;
}

/* A struct that is always there (no pointer) has its defaults even when nothing was said of it. */
static bool default_embedded(struct ks_arena *arena, const struct ks_schema *s, const struct ks_field *f, struct ks_value *slot)
{
	struct ks_value before = *slot;

	if ((f->flags & KS_FIELD_POINTER) || s->types[f->type].class_ != KS_TYPE_STRUCT || !worth_looking(s, f->type))
		return true;
	if (!ks_value_new_struct(arena, s, f->type, slot) || !default_struct(arena, s, slot))
		return false;
	for (uint32_t i = 0; i < slot->n; i++)
		if (ks_value_present(&slot->items[i]))
			return true;
	*slot = before;
	return true;
}

static bool default_value(struct ks_arena *arena, const struct ks_schema *s, struct ks_value *v)
{
	switch (v->kind) {
	case KS_STRUCT:
		return default_struct(arena, s, v);
	case KS_LIST:
		for (uint32_t i = 0; i < v->n; i++)
			if (!default_value(arena, s, &v->items[i]))
				return false;
		return true;
	case KS_MAP:
		for (uint32_t i = 0; v->type && i < v->n; i++)
			if (!default_value(arena, s, &v->members[i].value))
				return false;
		return true;
	default:
		return true;
	}
}

bool ks_default_constants(struct ks_arena *arena, const struct ks_schema *schema, struct ks_value *value)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_types);
	return default_value(arena, schema, value);
}

bool ks_registry_default(struct ks_registry_context *ctx, struct ks_value *object)
{
	if (!ks_default_constants(ctx->arena, ctx->schema, object))
		return false;
	return !ctx->strategy->defaults || ctx->strategy->defaults(ctx, object);
}
