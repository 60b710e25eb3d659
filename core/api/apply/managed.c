/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/apply/managed.h"

#include <errno.h>

#include "core/api/apply/managed_versions.h"
#include "core/api/apply/managers.h"
#include "core/api/apply/typed.h"

/* -- objects without what is kept about them ------------------------------------------------------------------ */

static const struct ks_value *managed_fields(const struct ks_schema *s, const struct ks_value *object)
{
	return ks_value_at(s, object, "metadata.managedFields");
}

/* A shallow copy without managedFields. */
static bool bare(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *object, struct ks_value *out)
{
	uint16_t slot = ks_schema_slot(s, object->type, "metadata", 8), inner;
	struct ks_value metadata, *items;

	*out = *object;
	if (!managed_fields(s, object))
		return true;
	metadata = object->items[slot];
	inner = ks_schema_slot(s, metadata.type, "managedFields", strlen("managedFields"));
	out->items = ks_arena_alloc(arena, object->n * sizeof(*items));
	items = ks_arena_alloc(arena, metadata.n * sizeof(*items));
	if (!out->items || !items)
		return false;
	memcpy(out->items, object->items, object->n * sizeof(*items));
	memcpy(items, metadata.items, metadata.n * sizeof(*items));
	items[inner] = (struct ks_value){0};
	out->items[slot].items = items;
	return true;
}

/* -- what nobody manages -------------------------------------------------------------------------------------- */

static bool is_one_of(const struct ks_fieldset_entry *entry, const char *const *names)
{
	for (; entry->element.kind == KS_PATH_FIELD && *names; names++)
		if (ks_str_is(ks_value_str(&entry->element.value), *names))
			return true;
	return false;
}

/* A copy in which those names are no members. False when out of memory. */
static bool leave_names(struct ks_arena *arena, const struct ks_fieldset *set, const char *const *names, struct ks_fieldset *out_r)
{
	struct ks_fieldset out = {.cap = set->n};

	out.entries = ks_arena_alloc(arena, (set->n + 1) * sizeof(*out.entries));
	if (!out.entries)
		return false;
	for (uint32_t i = 0; i < set->n; i++) {
		struct ks_fieldset_entry *entry = &out.entries[out.n];

		*entry = set->entries[i];
		entry->member &= !is_one_of(entry, names);
		out.n += entry->member || entry->children.n;
	}
	*out_r = out;
	return true;
}

/* Names and what the server sets: never in an entry of the manager who writes. */
static bool strip(struct ks_arena *arena, struct ks_fieldset *set)
{
	static const char *const top[] = {"apiVersion", "kind", "metadata", NULL};
	static const char *const inner[] = {"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
		"resourceVersion", NULL};
	uint32_t kept = 0;

	if (!leave_names(arena, set, top, set))
		return false;
	for (uint32_t i = 0; i < set->n; i++) {
		struct ks_fieldset_entry *entry = &set->entries[i];

		if (entry->element.kind == KS_PATH_FIELD && ks_str_is(ks_value_str(&entry->element.value), "metadata") &&
			!leave_names(arena, &entry->children, inner, &entry->children))
			return false;
		if (entry->member || entry->children.n)
			set->entries[kept++] = *entry;
	}
	set->n = kept;
	return true;
}

/* -- update --------------------------------------------------------------------------------------------------- */

/* {}, or [{}], says: forget who manages what. */
static bool is_reset(const struct ks_value *object_r, const struct ks_schema *s)
{
	const struct ks_value *metadata = ks_value_get(s, object_r, "metadata"), *list;
	uint16_t slot;

	if (!metadata)
		return false;
	slot = ks_schema_slot(s, metadata->type, "managedFields", strlen("managedFields"));
	list = &metadata->items[slot];
	if (list->kind == KS_ABSENT)
		return list->flags & KS_VALUE_WAS_EMPTY;
	if (list->kind != KS_LIST || list->n > 1)
		return false;
	for (uint32_t i = 0; list->n && i < list->items[0].n; i++)
		if (list->items[0].kind == KS_STRUCT && list->items[0].items[i].kind != KS_ABSENT)
			return false;
	return true;
}

/* The entries that the write begins with. `*same_r`: they are those of `live`. */
static int begin_update(struct ks_arena *arena, const struct ks_managed_op *op, const struct ks_value *live, const struct ks_value *object,
	struct ks_managers *managers, bool *same_r)
{
	const struct ks_value *kept = managed_fields(op->schema, live), *given = managed_fields(op->schema, object);
	int result;

	*same_r = false;
	if (!op->subresource.n && is_reset(object, op->schema))
		return 0;
	if (!op->subresource.n && given && given->n && (!kept || !ks_value_equal(kept, given))) {
		result = ks_managers_read(arena, op->schema, given, true, managers);
		if (result != -EINVAL)
			return result;
	}
	*same_r = true;
	result = ks_managers_read(arena, op->schema, kept, false, managers);
	return result == -EINVAL ? 0 : result;
}

static bool has_uid(const struct ks_schema *s, const struct ks_value *object)
{
	return ks_value_str(ks_value_at(s, object, "metadata.uid")).n;
}

/* What the write has changed becomes its manager's. */
static int take_changes(struct ks_arena *arena, const struct ks_managed_op *op, struct ks_str name, const struct ks_comparison *changes,
	struct ks_managers *managers)
{
	struct ks_manager self = {.name = name, .version = op->version, .subresource = op->subresource, .time = op->now}, *before;
	int result;

	if (!ks_fieldset_union(arena, &changes->modified, &changes->added, &self.set) || !strip(arena, &self.set))
		return -ENOMEM;
	if (!self.set.n)
		return 0;
	before = ks_managers_find(managers, &self);
	if (!before)
		return ks_managers_add(arena, managers, &self) ? 0 : -ENOMEM;
	result = ks_manager_open(arena, op->schema, op->type, before);
	if (result == -EINVAL)
		before->fields = NULL;
	else if (result)
		return result;
	before->time = op->now;
	return ks_fieldset_union(arena, &before->set, &self.set, &before->set) ? 0 : -ENOMEM;
}

/* The change from one bare object to another, made by an update. */
static int track(struct ks_arena *arena, const struct ks_managed_op *op, struct ks_str name, const struct ks_value *live,
	const struct ks_value *object, struct ks_managers *managers)
{
	struct ks_versions versions;
	int result = ks_versions_init(&versions, arena, op, live, object);

	if (!result)
		result = ks_versions_drop(&versions, managers);
	if (!result && (!ks_comparison_is_same(&versions.first.changes) || ks_managed_schema_moves(op->schema)))
		result = ks_versions_take_from(&versions, managers, NULL, NULL);
	return result ? result : take_changes(arena, op, name, &versions.first.changes, managers);
}

int ks_managed_update(struct ks_arena *arena, const struct ks_managed_op *op, const struct ks_value *live, struct ks_value *object)
{
	struct ks_value bare_live, bare_object;
	struct ks_managers managers = {0};
	bool same;
	int result = begin_update(arena, op, live, object, &managers, &same);

	if (result)
		return result;
	if (!bare(arena, op->schema, live, &bare_live) || !bare(arena, op->schema, object, &bare_object))
		return -ENOMEM;
	/* Nobody was ever noted: only an apply begins with that. */
	if (managers.n || !has_uid(op->schema, live)) {
		ks_value_settle(op->schema, &bare_object);
		result = track(arena, op, op->manager.n ? op->manager : KS_STR_LIT("unknown"), &bare_live, &bare_object, &managers);
		if (!result)
			result = ks_managers_cap(arena, op->schema, op->type, &managers);
		if (result)
			return result == -EINVAL ? 0 : result;
	}
	return ks_managers_write(arena, op->schema, &managers, object) ? 0 : -ENOMEM;
}

/* -- times ---------------------------------------------------------------------------------------------------- */

static bool same_entry(const struct ks_schema *s, const struct ks_value *a, const struct ks_value *b)
{
	uint16_t time = ks_schema_slot(s, a->type, "time", 4);

	for (uint32_t i = 0; i < a->n; i++)
		if (i != time && !ks_value_equal(&a->items[i], &b->items[i]))
			return false;
	return true;
}

static bool same_entries(const struct ks_schema *s, const struct ks_value *a, const struct ks_value *b)
{
	if (!a || !b || a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (!same_entry(s, &a->items[i], &b->items[i]))
			return false;
	return true;
}

void ks_managed_keep_times(const struct ks_schema *s, const struct ks_value *old, struct ks_value *object)
{
	struct ks_value *kept = ks_value_at(s, old, "metadata.managedFields"), *now = ks_value_at(s, object, "metadata.managedFields"), list;
	bool same;

	if (!same_entries(s, kept, now))
		return;
	list = *now;
	*now = *kept;
	same = ks_value_equal(old, object);
	if (!same)
		*now = list;
}

/* -- apply ---------------------------------------------------------------------------------------------------- */

struct application {
	struct ks_arena *arena;
	const struct ks_managed_op *op;
	struct ks_value live;         /* bare */
	struct ks_value config;       /* sparse */
	struct ks_managers managers;
	struct ks_manager before;     /* the applier's entry of last time */
	bool applied_before;
	struct ks_value object;       /* what comes of it */
};

/* Entries of versions that are gone say nothing any more. */
static void drop_unknown(const struct ks_managed_op *op, struct ks_managers *managers)
{
	uint32_t kept = 0;

	if (!op->has_version)
		return;
	for (uint32_t i = 0; i < managers->n; i++)
		if (ks_str_eq(managers->items[i].version, op->version) || op->has_version(op->convert_arg, managers->items[i].version))
			managers->items[kept++] = managers->items[i];
	managers->n = kept;
}

/* Objects that nobody ever noted the managers of: all that is there was somebody's. */
static int begin_tracking(struct application *a)
{
	struct ks_value nothing;

	if (a->managers.n) {
		drop_unknown(a->op, &a->managers);
		return 0;
	}
	if (!ks_value_new_struct(a->arena, a->op->schema, a->op->type, &nothing))
		return -ENOMEM;
	return track(a->arena, a->op, KS_STR_LIT("before-first-apply"), &nothing, &a->live, &a->managers);
}

/* The applier's entry is what the configuration says now. */
static int take_configuration(struct application *a, struct ks_manager **self_r)
{
	const struct ks_managed_op *op = a->op;
	struct ks_manager like = {.name = op->manager.n ? op->manager : KS_STR_LIT("unknown"), .version = op->version, .subresource = op->subresource,
		.applied = true};
	struct ks_manager *self = ks_managers_find(&a->managers, &like);

	if (!ks_typed_fields(a->arena, op->schema, &a->config, &like.set) || !ks_managed_filter(a->arena, op, &like.set))
		return -ENOMEM;
	a->applied_before = self;
	if (self) {
		a->before = *self;
		like.time = self->time;
		*self = like;
	} else if (!(self = ks_managers_add(a->arena, &a->managers, &like))) {
		return -ENOMEM;
	}
	*self_r = self;
	return 0;
}

/* `same`: the object is as it was. */
static int finish_entry(struct application *a, bool same)
{
	const struct ks_managed_op *op = a->op;
	struct ks_manager like = {.name = op->manager.n ? op->manager : KS_STR_LIT("unknown"), .subresource = op->subresource, .applied = true};
	struct ks_manager *self = ks_managers_find(&a->managers, &like);

	if (self && !strip(a->arena, &self->set))
		return -ENOMEM;
	if (self && !self->set.n)
		ks_managers_remove(&a->managers, self);
	else if (self && !same)
		self->time = op->now;
	return 0;
}

/* 0; -EEXIST with conflicts; -EINVAL with a message; -ENOMEM. */
static int run(struct application *a, bool force, struct ks_conflicts *conflicts, const char **message_r)
{
	struct ks_manager *self;
	struct ks_versions versions;
	struct ks_value merged;
	int result = begin_tracking(a), same;

	if (result || (result = take_configuration(a, &self)))
		return result;
	if (!ks_typed_merge(a->arena, a->op->schema, &a->live, &a->config, &merged))
		return -ENOMEM;
	if (a->applied_before && (result = ks_managed_prune(a->arena, a->op, &a->managers, self, &a->before, &merged)))
		return result;
	result = ks_versions_init(&versions, a->arena, a->op, &a->live, &merged);
	if (!result)
		result = ks_versions_take_from(&versions, &a->managers, self, force ? NULL : conflicts);
	if (result || (same = ks_typed_same(a->arena, a->op->schema, &a->live, &merged)) < 0 || (result = finish_entry(a, same)))
		return result ? result : same;
	if (same)
		return ks_value_copy(a->arena, &a->live, &a->object) ? 0 : -ENOMEM;
	return ks_managed_settle(a->arena, a->op, &merged, &a->object, message_r);
}

static int begin_application(struct application *a, const struct ks_value *live)
{
	int result = ks_managers_read(a->arena, a->op->schema, managed_fields(a->op->schema, live), false, &a->managers);

	if (result)
		return result;
	a->applied_before = false;
	return bare(a->arena, a->op->schema, live, &a->live) ? 0 : -ENOMEM;
}

/* Who comes from client-side apply keeps what the annotation says was applied. */
static int run_as_kubectl(struct application *a, const struct ks_value *live, struct ks_conflicts *conflicts, const char **message_r)
{
	int result = run(a, a->op->force, conflicts, message_r);

	if (result != -EEXIST || !ks_str_is(a->op->manager, "kubectl"))
		return result;
	result = ks_managed_forgive(a->arena, a->op, &a->live, conflicts);
	if (result)
		return result;
	result = begin_application(a, live);
	return result ? result : run(a, true, conflicts, message_r);
}

enum ks_managed_result ks_managed_apply(struct ks_arena *arena, const struct ks_managed_op *op, const struct ks_value *live,
	const struct ks_value *config, struct ks_value *object_r, struct ks_conflicts *conflicts_r, const char **message_r)
{
	struct application a = {.arena = arena, .op = op};
	struct ks_conflicts conflicts = {0};
	int result = ks_typed_read(arena, op->schema, op->type, config, &a.config, message_r);

	if (result)
		return result == -EINVAL ? KS_APPLY_BAD_CONFIG : KS_APPLY_NO_MEMORY;
	*message_r = NULL;
	result = begin_application(&a, live);
	if (!result)
		result = run_as_kubectl(&a, live, &conflicts, message_r);
	if (!result && ks_str_is(op->manager, "kubectl"))
		result = ks_managed_note_applied(arena, op, config, &a.object);
	if (!result && !ks_managers_write(arena, op->schema, &a.managers, &a.object))
		result = -ENOMEM;
	if (result == -EEXIST) {
		*conflicts_r = conflicts;
		return ks_conflicts_print(arena, conflicts_r) ? KS_APPLY_CONFLICT : KS_APPLY_NO_MEMORY;
	}
	if (result == -EINVAL && !*message_r)
		*message_r = "failed to decode managed fields";
	if (result)
		return result == -EINVAL ? KS_APPLY_BAD_OBJECT : KS_APPLY_NO_MEMORY;
	*object_r = a.object;
	return KS_APPLIED;
}
