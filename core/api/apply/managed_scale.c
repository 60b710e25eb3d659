/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The managers of spec.replicas, as /scale shows them and takes them back. */
#include <errno.h>

#include "core/api/apply/managers.h"

#define SCALE_VERSION "autoscaling/v1"

static const struct ks_value *list_of(const struct ks_schema *s, const struct ks_value *object)
{
	return ks_value_at(s, object, "metadata.managedFields");
}

static bool replicas_set(struct ks_arena *arena, struct ks_fieldset *out)
{
	struct ks_path_element path[] = {ks_path_field(KS_STR_LIT("spec")), ks_path_field(KS_STR_LIT("replicas"))};

	*out = (struct ks_fieldset){0};
	return ks_fieldset_insert(arena, out, path, 2);
}

static bool has_replicas(const struct ks_manager *manager)
{
	struct ks_path_element path[] = {ks_path_field(KS_STR_LIT("spec")), ks_path_field(KS_STR_LIT("replicas"))};

	return ks_fieldset_has(&manager->set, path, 2);
}

/* Entries that can't be read are as good as none. */
static int read(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *object, struct ks_managers *out)
{
	int result = ks_managers_read(arena, s, list_of(s, object), true, out);

	if (result == -EINVAL)
		*out = (struct ks_managers){0};
	return result == -ENOMEM ? result : 0;
}

int ks_managed_to_scale(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *object, struct ks_value *scale)
{
	struct ks_managers all = {0}, shown = {0};
	int result = read(arena, s, object, &all);

	for (uint32_t i = 0; !result && i < all.n; i++) {
		struct ks_manager manager = all.items[i];

		if (!has_replicas(&manager))
			continue;
		manager.version = KS_STR_LIT(SCALE_VERSION);
		manager.fields = NULL;
		if (!replicas_set(arena, &manager.set) || !ks_managers_add(arena, &shown, &manager))
			result = -ENOMEM;
	}
	if (!result && !ks_managers_write(arena, s, &shown, scale))
		result = -ENOMEM;
	return result;
}

/* An entry of the object: keeps the replicas when the Scale still names its manager. */
static int keep(struct ks_arena *arena, const struct ks_manager *before, struct ks_managers *scale, struct ks_managers *out)
{
	struct ks_manager manager = *before, *shown = has_replicas(before) ? ks_managers_find(scale, before) : NULL;
	struct ks_fieldset replicas;

	if (shown) {
		ks_managers_remove(scale, shown);
	} else if (has_replicas(before)) {
		manager.fields = NULL;
		if (!replicas_set(arena, &replicas) || !ks_fieldset_difference(arena, &manager.set, &replicas, &manager.set))
			return -ENOMEM;
		if (!manager.set.n)
			return 0;
	}
	return ks_managers_add(arena, out, &manager) ? 0 : -ENOMEM;
}

int ks_managed_from_scale(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *scale, struct ks_str version,
	struct ks_value *object)
{
	struct ks_managers before = {0}, shown = {0}, out = {0};
	int result = read(arena, s, object, &before);

	if (!result)
		result = read(arena, s, scale, &shown);
	for (uint32_t i = 0; !result && i < before.n; i++)
		result = keep(arena, &before.items[i], &shown, &out);
	for (uint32_t i = 0; !result && i < shown.n; i++) {
		struct ks_manager manager = shown.items[i];

		if (!has_replicas(&manager))
			continue;
		/* Upstream looks for the time under the manager's other name, and finds none. */
		manager.time = (struct ks_str){0};
		manager.version = version;
		manager.fields = NULL;
		if (!replicas_set(arena, &manager.set) || !ks_managers_add(arena, &out, &manager))
			result = -ENOMEM;
	}
	if (!result && !ks_managers_write(arena, s, &out, object))
		result = -ENOMEM;
	return result;
}
