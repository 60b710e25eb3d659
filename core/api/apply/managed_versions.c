/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/apply/managed_versions.h"

#include <errno.h>

#include "core/api/json.h"

/* -- objects in versions -------------------------------------------------------------------------------------- */

struct versioned {
	struct ks_str version;
	struct ks_value object;
};

int ks_managed_settle(struct ks_arena *arena, const struct ks_managed_op *op, const struct ks_value *merged, struct ks_value *out_r,
	const char **message_r)
{
	struct ks_value free_form;
	const char *message = "";
	int result;

	if (!ks_value_to_free(arena, op->schema, merged, &free_form))
		return -ENOMEM;
	result = ks_value_convert(arena, op->schema, merged->type, KS_CONVERT_UNSTRUCTURED, &free_form, out_r, NULL, &message);
	if (result == -EINVAL)
		*message_r = message;
	return result;
}

/* 0, -ENOENT when the version is not known, or another negative code. Merged trees are settled on the way. */
static int to_version(struct ks_arena *arena, const struct ks_managed_op *op, const struct versioned *from, struct ks_str version,
	struct versioned *out_r)
{
	struct ks_value settled;
	const char *message;
	int result;

	if (ks_str_eq(from->version, version)) {
		*out_r = *from;
		return 0;
	}
	if (!op->convert)
		return -ENOENT;
	result = ks_managed_settle(arena, op, &from->object, &settled, &message);
	if (!result)
		result = op->convert(op->convert_arg, arena, from->version, &settled, version, &out_r->object);
	if (!result)
		out_r->version = version;
	return result;
}

/* -- changes in versions -------------------------------------------------------------------------------------- */

static bool reset_set(struct ks_arena *arena, const struct ks_managed_op *op, struct ks_fieldset *out)
{
	for (uint32_t i = 0; i < op->n_reset; i++) {
		struct ks_path_element path[8];
		const char *rest = op->reset[i];
		uint32_t n = 0;

		while (rest && n < 8) {
			const char *dot = strchr(rest, '.');

			path[n++] = ks_path_field(ks_str_of(rest, dot ? (size_t)(dot - rest) : strlen(rest)));
			rest = dot ? dot + 1 : NULL;
		}
		if (!ks_fieldset_insert(arena, out, path, n))
			return false;
	}
	return true;
}

bool ks_managed_filter(struct ks_arena *arena, const struct ks_managed_op *op, struct ks_fieldset *set)
{
	struct ks_fieldset reset = {0};

	if (!op->n_reset || !set->n)
		return true;
	return reset_set(arena, op, &reset) && ks_fieldset_without(arena, set, &reset, set);
}

static int compare(struct ks_arena *arena, const struct ks_managed_op *op, const struct ks_value *live, const struct ks_value *object,
	struct ks_comparison *out_r)
{
	if (!ks_typed_compare(arena, op->schema, live, object, out_r) || !ks_managed_filter(arena, op, &out_r->removed) ||
		!ks_managed_filter(arena, op, &out_r->modified) || !ks_managed_filter(arena, op, &out_r->added))
		return -ENOMEM;
	return 0;
}

int ks_versions_init(struct ks_versions *v, struct ks_arena *arena, const struct ks_managed_op *op, const struct ks_value *live,
	const struct ks_value *object)
{
	*v = (struct ks_versions){.arena = arena, .op = op, .live = live, .object = object, .first = {.version = op->version, .type = op->type}};
	return compare(arena, op, live, object, &v->first.changes);
}

static int make_version(struct ks_versions *v, struct ks_version_changes *made)
{
	struct versioned live = {v->op->version, *v->live}, object = {v->op->version, *v->object};
	int result = to_version(v->arena, v->op, &live, made->version, &live);

	if (!result)
		result = to_version(v->arena, v->op, &object, made->version, &object);
	if (result)
		return result;
	made->type = object.object.type;
	return compare(v->arena, v->op, &live.object, &object.object, &made->changes);
}

/* 0, or -ENOENT when there is no such version. Those are not kept: clients may name any number of them. */
static int version_of(struct ks_versions *v, struct ks_str version, struct ks_version_changes **out_r)
{
	struct ks_version_changes *made = &v->first, *last = made;
	int result;

	for (; made; last = made, made = made->next) {
		*out_r = made;
		if (ks_str_eq(made->version, version))
			return 0;
	}
	if (v->op->has_version && !v->op->has_version(v->op->convert_arg, version))
		return -ENOENT;
	made = ks_arena_zalloc(v->arena, 1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->version = version;
	result = make_version(v, made);
	if (result)
		return result;
	*out_r = last->next = made;
	return 0;
}

int ks_versions_drop(struct ks_versions *v, struct ks_managers *managers)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < managers->n; i++) {
		struct ks_version_changes *seen;
		int result = version_of(v, managers->items[i].version, &seen);

		if (result && result != -ENOENT)
			return result;
		if (!result && (managers->items[i].fields || managers->items[i].set.n))
			managers->items[kept++] = managers->items[i];
	}
	managers->n = kept;
	return 0;
}

/* -- taking --------------------------------------------------------------------------------------------------- */

struct taking {
	bool gone;
	struct ks_fieldset left;
};

static int take_from(struct ks_versions *v, struct ks_manager *m, struct taking *t, struct ks_conflicts *conflicts)
{
	struct ks_version_changes *seen;
	struct ks_fieldset changed, theirs;
	int result = version_of(v, m->version, &seen);

	t->gone = result == -ENOENT;
	if (result)
		return t->gone ? 0 : result;
	if (ks_comparison_is_same(&seen->changes) && !ks_managed_schema_moves(v->op->schema))
		return 0;
	result = ks_manager_open(v->arena, v->op->schema, seen->type, m);
	if (result)
		return result;
	if (!ks_fieldset_union(v->arena, &seen->changes.modified, &seen->changes.added, &changed) ||
		!ks_fieldset_intersection(v->arena, &m->set, &changed, &theirs) || !ks_fieldset_difference(v->arena, &m->set, &theirs, &t->left) ||
		!ks_fieldset_difference(v->arena, &t->left, &seen->changes.removed, &t->left))
		return -ENOMEM;
	t->gone = !t->left.n;
	if (conflicts && theirs.n && !ks_conflicts_add(v->arena, conflicts, m, &theirs))
		return -ENOMEM;
	return 0;
}

int ks_versions_take_from(struct ks_versions *v, struct ks_managers *managers, const struct ks_manager *self, struct ks_conflicts *conflicts)
{
	struct taking *takings = ks_arena_zalloc(v->arena, managers->n + 1, sizeof(*takings));
	uint32_t kept = 0;

	if (!takings)
		return -ENOMEM;
	for (uint32_t i = 0; i < managers->n; i++) {
		int result = &managers->items[i] == self ? 0 : take_from(v, &managers->items[i], &takings[i], conflicts);

		if (result)
			return result;
	}
	if (conflicts && conflicts->groups)
		return -EEXIST;
	for (uint32_t i = 0; i < managers->n; i++) {
		struct ks_manager *m = &managers->items[i];

		if (takings[i].gone || (m == self && !m->set.n))
			continue;
		if (takings[i].left.n)
			m->set = takings[i].left;
		managers->items[kept++] = *m;
	}
	managers->n = kept;
	return 0;
}

/* -- pruning -------------------------------------------------------------------------------------------------- */

struct pruning {
	struct ks_arena *arena;
	const struct ks_managed_op *op;
	struct ks_managers *managers;
	struct versioned merged, pruned;
};

/* All that is in the object, as it is compared for removal. */
static bool named_fields(struct pruning *p, const struct ks_value *object, struct ks_fieldset *out)
{
	return ks_typed_fields(p->arena, p->op->schema, object, out) && ks_typed_named_members(p->arena, p->op->schema, object->type, out, out);
}

/* What anybody manages in one version. */
static int managed_at(struct pruning *p, struct ks_str version, uint16_t type, struct ks_fieldset *out)
{
	struct ks_fieldset *sets = ks_arena_alloc(p->arena, (p->managers->n + 1) * sizeof(*sets));
	uint32_t n = 0;

	if (!sets)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->managers->n; i++) {
		struct ks_manager *m = &p->managers->items[i];
		int result;

		if (!ks_str_eq(m->version, version))
			continue;
		result = ks_manager_open(p->arena, p->op->schema, type, m);
		if (result)
			return result;
		sets[n++] = m->set;
	}
	return ks_fieldset_union_all(p->arena, sets, n, out) && ks_typed_named_members(p->arena, p->op->schema, type, out, out) ? 0 : -ENOMEM;
}

/* Brings back what somebody manages in this version. */
static int restore_managed(struct pruning *p, struct ks_str version)
{
	struct ks_fieldset merged, pruned, managed = {0}, gone;
	int result = to_version(p->arena, p->op, &p->merged, version, &p->merged);

	if (!result)
		result = to_version(p->arena, p->op, &p->pruned, version, &p->pruned);
	if (result)
		return result == -ENOENT ? 0 : result;
	result = managed_at(p, version, p->merged.object.type, &managed);
	if (result)
		return result;
	if (!named_fields(p, &p->merged.object, &merged) || !named_fields(p, &p->pruned.object, &pruned) ||
		!ks_fieldset_union(p->arena, &pruned, &managed, &pruned) || !ks_fieldset_difference(p->arena, &merged, &pruned, &gone))
		return -ENOMEM;
	return ks_typed_remove(p->arena, p->op->schema, &p->merged.object, &gone, &p->pruned.object) ? 0 : -ENOMEM;
}

/* There are few versions: entries of others were dropped. */
struct seen_version {
	struct seen_version *next;
	struct ks_str version;
};

static int restore_all(struct pruning *p, struct ks_str first)
{
	struct seen_version begin = {.version = first}, *seen, *last = &begin;
	int result = restore_managed(p, first);

	for (uint32_t i = 0; !result && i < p->managers->n; i++) {
		struct ks_str version = p->managers->items[i].version;

		for (seen = &begin; seen && !ks_str_eq(seen->version, version); seen = seen->next)
			;
		if (seen)
			continue;
		last->next = ks_arena_zalloc(p->arena, 1, sizeof(*seen));
		if (!last->next)
			return -ENOMEM;
		last = last->next;
		last->version = version;
		result = restore_managed(p, version);
	}
	return result;
}

/* Brings back what the applier never had: it only lay inside of something that it had. `from` is what was merged, in its version
 * of last time: on its way through other versions it may have changed. */
static int restore_dangling(struct pruning *p, const struct ks_value *from, const struct ks_manager *before, const struct ks_fieldset *last)
{
	struct ks_fieldset merged, pruned, gone;
	int result = to_version(p->arena, p->op, &p->pruned, before->version, &p->pruned);

	if (result)
		return result;
	if (!named_fields(p, from, &merged) || !named_fields(p, &p->pruned.object, &pruned) ||
		!ks_fieldset_difference(p->arena, &merged, &pruned, &gone) || !ks_fieldset_intersection(p->arena, &gone, last, &gone))
		return -ENOMEM;
	return ks_typed_remove(p->arena, p->op->schema, from, &gone, &p->pruned.object) ? 0 : -ENOMEM;
}

int ks_managed_prune(struct ks_arena *arena, const struct ks_managed_op *op, struct ks_managers *managers, const struct ks_manager *self,
	struct ks_manager *before, struct ks_value *merged)
{
	struct pruning p = {.arena = arena, .op = op, .managers = managers, .merged = {op->version, *merged}};
	struct ks_value from;
	struct ks_fieldset last;
	int result = to_version(arena, op, &p.merged, before->version, &p.merged);

	if (!result)
		result = ks_manager_open(arena, op->schema, p.merged.object.type, before);
	if (result)
		return result == -ENOENT ? 0 : result;
	/* The usual case: all that was applied before is applied again. */
	if (!before->set.n || (ks_str_eq(before->version, op->version) && ks_fieldset_within(&before->set, &self->set)))
		return 0;
	if (!ks_typed_named_members(arena, op->schema, p.merged.object.type, &before->set, &last))
		return -ENOMEM;
	p.pruned.version = before->version;
	from = p.merged.object;
	if (!ks_typed_remove(arena, op->schema, &from, &last, &p.pruned.object))
		return -ENOMEM;
	result = restore_all(&p, before->version);
	if (!result)
		result = restore_dangling(&p, &from, before, &last);
	if (!result)
		result = to_version(arena, op, &p.pruned, op->version, &p.pruned);
	if (!result)
		*merged = p.pruned.object;
	return result == -ENOENT ? 0 : result;
}
