/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "plugins/host/objects.h"

#include <errno.h>
#include <stdio.h>

#include "core/api/json.h"
#include "plugins/host/internal.h"

/* Another version than the stored one: its bytes are decoded. */
static int decode_version(struct ks_object *object, const struct ks_schema *schema, uint16_t resource, struct ks_arena *arena,
	struct ks_value *out_r)
{
	struct ks_representation text;
	const char *message = NULL;
	int result = ks_object_representation(object, schema, resource, &text);

	if (result < 0)
		return result;
	return ks_json_decode(arena, schema, schema->resources[resource].type, 0, text.bytes->data, text.bytes->len, out_r, NULL, &message);
}

static int set_revision(const struct ks_schema *schema, uint64_t revision, struct ks_arena *arena, struct ks_value *root)
{
	struct ks_value *slot = ks_value_put_at(arena, schema, root, "metadata.resourceVersion");
	char *text = ks_arena_printf(arena, "%llu", (unsigned long long)revision);

	if (!slot || !text)
		return -ENOMEM;
	*slot = ks_value_from_str(ks_str_from(text));
	return 0;
}

int ks_object_value(struct ks_object *object, const struct ks_schema *schema, uint16_t resource, uint64_t revision, struct ks_arena *arena,
	struct ks_value *out_r)
{
	bool stored = schema->resources[resource].storage == resource;
	int result = stored ? ks_object_tree(object, schema, arena, out_r) : decode_version(object, schema, resource, arena, out_r);

	if (result < 0 || (stored && !revision))
		return result;
	return set_revision(schema, revision ? revision : object->revision, arena, out_r);
}

uint16_t ks_find_resource(const struct ks_schema *schema, struct ks_view group, struct ks_view version, struct ks_view resource)
{
	if (version.n)
		return ks_schema_find_resource(schema, ks_str_of_view(group), ks_str_of_view(version), ks_str_of_view(resource));
	for (uint32_t i = 0; i < schema->n_group_versions; i++) {
		const struct ks_group_version *gv = &schema->group_versions[i];
		uint16_t index;

		if (!ks_str_eq(ks_str_from(ks_schema_text(schema, gv->group)), ks_str_of_view(group)))
			continue;
		index = ks_schema_find_resource(schema, ks_str_of_view(group), ks_str_from(ks_schema_text(schema, gv->version)),
			ks_str_of_view(resource));
		if (index != KS_NO_RESOURCE)
			return index; /* versions of a group stand in the order of preference */
	}
	return KS_NO_RESOURCE;
}
