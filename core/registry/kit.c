/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/kit.h"

#include <stdarg.h>
#include <stdio.h>

bool ks_kit_set(struct ks_registry_context *ctx, struct ks_value *v, const char *path, struct ks_value value)
{
	struct ks_value *place = ks_value_put_at(ctx->arena, ctx->schema, v, path);

	if (!place)
		return false;
	*place = value;
	return true;
}

bool ks_kit_set_text(struct ks_registry_context *ctx, struct ks_value *v, const char *path, const char *text)
{
	return ks_kit_set(ctx, v, path, ks_value_from_str(ks_str_from(text)));
}

bool ks_kit_default(struct ks_registry_context *ctx, struct ks_value *v, const char *path, struct ks_value value)
{
	const struct ks_value *there = ks_kit_at(ctx, v, path);

	if (there && !(there->kind == KS_STRING && !there->n))
		return true;
	return ks_kit_set(ctx, v, path, value);
}

bool ks_kit_default_text(struct ks_registry_context *ctx, struct ks_value *v, const char *path, const char *text)
{
	return ks_kit_default(ctx, v, path, ks_value_from_str(ks_str_from(text)));
}

struct ks_value *ks_kit_struct(struct ks_registry_context *ctx, struct ks_value *v, const char *path)
{
	char parent_path[128];
	const char *dot = strrchr(path, '.');
	struct ks_value *place = ks_value_put_at(ctx->arena, ctx->schema, v, path);
	struct ks_value *parent = v;
	uint16_t slot;

	if (!place || ks_value_present(place))
		return place;
	if (dot) {
		snprintf(parent_path, sizeof(parent_path), "%.*s", (int)(dot - path), path);
		parent = ks_value_at(ctx->schema, v, parent_path);
	}
	if (!parent || parent->kind != KS_STRUCT)
		return NULL;
	slot = (uint16_t)(place - parent->items);
	if (!ks_value_new_struct(ctx->arena, ctx->schema, ks_schema_field(ctx->schema, parent->type, slot)->type, place))
		return NULL;
	return place;
}

struct ks_value *ks_kit_make_list(struct ks_registry_context *ctx, struct ks_value *v, const char *path)
{
	struct ks_value *place = ks_value_put_at(ctx->arena, ctx->schema, v, path);

	if (place && place->kind != KS_LIST)
		*place = (struct ks_value){.kind = KS_LIST};
	return place;
}

bool ks_kit_append_text(struct ks_registry_context *ctx, struct ks_value *list, struct ks_str text)
{
	struct ks_value *place = list ? ks_value_append(ctx->arena, list) : NULL;

	if (!place)
		return false;
	*place = ks_value_from_str(text);
	return true;
}

/* Where `path` leads is a place in a struct, whose field knows its type. */
static uint16_t type_of_place(struct ks_registry_context *ctx, struct ks_value *v, const char *path)
{
	const char *dot = strrchr(path, '.'), *name = dot ? dot + 1 : path;
	const struct ks_value *parent = v;
	char parent_path[128];
	uint16_t slot;

	if (dot) {
		snprintf(parent_path, sizeof(parent_path), "%.*s", (int)(dot - path), path);
		parent = ks_kit_at(ctx, v, parent_path);
	}
	if (!parent || parent->kind != KS_STRUCT)
		return 0;
	slot = ks_schema_slot(ctx->schema, parent->type, name, strlen(name));
	return slot == KS_NO_SLOT ? 0 : ks_schema_field(ctx->schema, parent->type, slot)->type;
}

struct ks_value *ks_kit_append_struct(struct ks_registry_context *ctx, struct ks_value *v, const char *path)
{
	struct ks_value *list = ks_value_put_at(ctx->arena, ctx->schema, v, path), *item;

	if (!list)
		return NULL;
	if (list->kind != KS_LIST)
		*list = (struct ks_value){.kind = KS_LIST, .type = type_of_place(ctx, v, path)};
	item = ks_value_append(ctx->arena, list);
	if (!item || !ks_value_new_struct(ctx->arena, ctx->schema, ctx->schema->types[list->type].element, item))
		return NULL;
	return item;
}

struct ks_value *ks_kit_condition(struct ks_registry_context *ctx, struct ks_value *object, const char *type, const char *status)
{
	struct ks_value *list = ks_kit_list(ctx, object, "status.conditions"), *condition = NULL;

	for (uint32_t i = 0; list && i < list->n && !condition; i++)
		if (ks_str_is(ks_kit_text(ctx, &list->items[i], "type"), type))
			condition = &list->items[i];
	if (!condition)
		condition = ks_kit_append_struct(ctx, object, "status.conditions");
	if (!condition || ks_str_is(ks_kit_text(ctx, condition, "status"), status))
		return condition;
	if (!ks_kit_set_text(ctx, condition, "type", type) || !ks_kit_set_text(ctx, condition, "status", status) ||
		!ks_kit_set(ctx, condition, "lastTransitionTime", ks_value_from_str(ks_time_text(ctx->arena, ctx->now_ms))))
		return NULL;
	return condition;
}

void ks_kit_clear(struct ks_registry_context *ctx, struct ks_value *v, const char *path)
{
	char parent_path[128];
	const char *dot = strrchr(path, '.');

	if (!dot) {
		ks_value_remove(ctx->schema, v, ks_str_from(path));
		return;
	}
	snprintf(parent_path, sizeof(parent_path), "%.*s", (int)(dot - path), path);
	v = ks_value_at(ctx->schema, v, parent_path);
	if (v)
		ks_value_remove(ctx->schema, v, ks_str_from(dot + 1));
}

bool ks_kit_take(struct ks_registry_context *ctx, struct ks_value *v, const struct ks_value *from, const char *path)
{
	const struct ks_value *theirs = ks_kit_at(ctx, from, path);

	if (theirs)
		return ks_kit_set(ctx, v, path, *theirs);
	ks_kit_clear(ctx, v, path);
	return true;
}

bool ks_kit_same(struct ks_registry_context *ctx, const struct ks_value *a, const struct ks_value *b, const char *path)
{
	static const struct ks_value nothing;
	const struct ks_value *x = ks_kit_at(ctx, a, path), *y = ks_kit_at(ctx, b, path);

	return ks_value_equal(x ? x : &nothing, y ? y : &nothing);
}

const char *ks_kit_path(struct ks_registry_context *ctx, const char *format, ...)
{
	va_list args, again;
	char *text = NULL;
	int n;

	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	if (n >= 0)
		text = ks_arena_alloc(ctx->arena, (size_t)n + 1);
	if (text)
		vsnprintf(text, (size_t)n + 1, format, again);
	va_end(again);
	va_end(args);
	return text ? text : "";
}
