/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* RFC 7386: null removes, objects are merged, everything else replaces. */
#include <errno.h>

#include "core/api/map_index.h"
#include "core/api/patch.h"

/* A copy without the nulls of objects: what a patch brings to a place where there was nothing. Nulls of lists stay. */
static bool copy_pruned(struct ks_arena *arena, const struct ks_value *from, struct ks_value *to)
{
	if (from->kind == KS_LIST) {
		*to = (struct ks_value){.kind = KS_LIST};
		for (uint32_t i = 0; i < from->n; i++) {
			struct ks_value *item = ks_value_append(arena, to);

			if (!item || !copy_pruned(arena, &from->items[i], item))
				return false;
		}
		return true;
	}
	if (from->kind != KS_MAP)
		return ks_value_copy(arena, from, to);
	*to = (struct ks_value){.kind = KS_MAP};
	for (uint32_t i = 0; i < from->n; i++) {
		struct ks_value *member, pruned;
		const char *key;

		if (from->members[i].value.kind == KS_NULL)
			continue;
		if (!copy_pruned(arena, &from->members[i].value, &pruned))
			return false;
		key = ks_arena_dup(arena, from->members[i].key.p, from->members[i].key.n);
		member = key ? ks_value_add(arena, to, ks_str_of(key, from->members[i].key.n)) : NULL;
		if (!member)
			return false;
		*member = pruned;
	}
	return true;
}

static bool merge(struct ks_arena *arena, struct ks_value *object, const struct ks_value *patch)
{
	struct ks_map_index index = {0};

	object->flags &= (uint8_t)~KS_VALUE_IN_ORDER;
	for (uint32_t i = 0; i < patch->n; i++) {
		const struct ks_member *change = &patch->members[i];
		struct ks_value *place;

		if (change->value.kind == KS_NULL) {
			if (!ks_map_index_remove(&index, arena, object, change->key))
				return false;
			continue;
		}
		place = ks_map_index_put(&index, arena, object, change->key);
		if (!place)
			return false;
		if (!(place->kind == KS_MAP && change->value.kind == KS_MAP ? merge(arena, place, &change->value)
									    : copy_pruned(arena, &change->value, place)))
			return false;
	}
	ks_map_index_finish(&index, object);
	return true;
}

int ks_patch_merge(struct ks_arena *arena, struct ks_value *object, const struct ks_value *patch, const char **message_r)
{
	const char *what = patch->kind == KS_BOOL ? "bool" : patch->kind == KS_STRING ? "string" : patch->kind == KS_LIST ? "array" : "number";

	if (patch->kind == KS_MAP && object->kind == KS_MAP)
		return merge(arena, object, patch) ? 0 : -ENOMEM;
	if (patch->kind == KS_NULL || patch->kind == KS_MAP) {
		*message_r = "Invalid JSON Patch";
		return -EINVAL;
	}
	*message_r = ks_arena_printf(arena, "error decoding patch: json: cannot unmarshal %s into Go value of type map[string]interface {}", what);
	return *message_r ? -EINVAL : -ENOMEM;
}
