/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* One object in the versions and groups that it is served in: events (core and events.k8s.io), autoscalers (v1 and v2). */
#include <errno.h>

#include "core/registry/autoscaler.h"

struct rename { const char *core, *events; };

/* A field of events.k8s.io is called otherwise than in the core group. */
static const struct rename event_fields[] = {
	{"metadata", "metadata"}, {"involvedObject", "regarding"}, {"reason", "reason"}, {"message", "note"}, {"source", "deprecatedSource"},
	{"firstTimestamp", "deprecatedFirstTimestamp"}, {"lastTimestamp", "deprecatedLastTimestamp"}, {"count", "deprecatedCount"},
	{"type", "type"}, {"eventTime", "eventTime"}, {"series", "series"}, {"action", "action"}, {"related", "related"},
	{"reportingComponent", "reportingController"}, {"reportingInstance", "reportingInstance"},
};

/* A struct of another type with the same field names. */
static bool retype(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, const struct ks_value *from, struct ks_value *to_r)
{
	if (from->kind != KS_STRUCT || from->type == type) {
		*to_r = *from;
		return true;
	}
	if (s->types[type].class_ != KS_TYPE_STRUCT || !ks_value_new_struct(arena, s, type, to_r))
		return false;
	for (uint32_t i = 0; i < from->n; i++) {
		const char *name = ks_schema_text(s, ks_schema_field(s, from->type, (uint16_t)i)->name);
		uint16_t slot = ks_schema_slot(s, type, name, strlen(name));

		if (slot == KS_NO_SLOT || !ks_value_present(&from->items[i]))
			continue;
		if (!retype(arena, s, ks_schema_field(s, type, slot)->type, &from->items[i], &to_r->items[slot]))
			return false;
	}
	return true;
}

static bool move(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *from, const char *from_name, struct ks_value *to,
	const char *to_name)
{
	const struct ks_value *v = ks_value_get(s, from, from_name);
	uint16_t slot = ks_schema_slot(s, to->type, to_name, strlen(to_name));

	if (slot == KS_NO_SLOT || !ks_value_present(v))
		return true;
	return retype(arena, s, ks_schema_field(s, to->type, slot)->type, v, &to->items[slot]);
}

static bool convert_event(struct ks_arena *arena, const struct ks_schema *s, bool to_core, const struct ks_value *from, struct ks_value *to)
{
	for (size_t i = 0; i < sizeof(event_fields) / sizeof(event_fields[0]); i++) {
		const char *source = to_core ? event_fields[i].events : event_fields[i].core;
		const char *target = to_core ? event_fields[i].core : event_fields[i].events;

		if (!move(arena, s, from, source, to, target))
			return false;
	}
	return true;
}

/* -- all ---------------------------------------------------------------------------------------------------------- */

static bool set_kind(struct ks_arena *arena, const struct ks_schema *s, uint16_t resource, struct ks_value *root)
{
	const struct ks_resource *r = &s->resources[resource];
	const char *group = ks_schema_text(s, r->group), *version = ks_schema_text(s, r->version);
	char *api_version = ks_arena_printf(arena, "%s%s%s", group, group[0] ? "/" : "", version);
	struct ks_value *place = ks_value_put(arena, s, root, KS_STR_LIT("apiVersion"));

	if (!api_version || !place)
		return false;
	*place = ks_value_from_str(ks_str_from(api_version));
	place = ks_value_put(arena, s, root, KS_STR_LIT("kind"));
	if (!place)
		return false;
	*place = ks_value_from_str(ks_str_from(ks_schema_text(s, r->kind)));
	return true;
}

int ks_registry_convert(struct ks_arena *arena, const struct ks_schema *schema, uint16_t from_resource, uint16_t to_resource, struct ks_value *root)
{
	const struct ks_resource *to = &schema->resources[to_resource];
	const char *name = ks_schema_text(schema, to->resource), *to_version = ks_schema_text(schema, to->version);
	struct ks_value made;
	bool good;

	if (from_resource == to_resource)
		return 0;
	if (root->kind != KS_STRUCT || root->type == to->type)
		return set_kind(arena, schema, to_resource, root) ? 0 : -ENOMEM;
	if (!strcmp(name, "events")) {
		good = ks_value_new_struct(arena, schema, to->type, &made) &&
			convert_event(arena, schema, !ks_schema_text(schema, to->group)[0], root, &made);
	} else {
		good = retype(arena, schema, to->type, root, &made);
		if (good && !strcmp(name, "horizontalpodautoscalers"))
			good = strcmp(to_version, "v1") ? ks_autoscaler_to_v2(arena, schema, root, &made) : ks_autoscaler_to_v1(arena, schema, root, &made);
	}
	if (!good || !set_kind(arena, schema, to_resource, &made))
		return -ENOMEM;
	*root = made;
	return 0;
}
