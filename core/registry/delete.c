/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Deletion: grace, finalizers and garbage collection decide between an update and the end. */
#include "core/api/time.h"
#include "core/registry/meta.h"

static bool is_collector(struct ks_str finalizer)
{
	return ks_str_is(finalizer, "orphan") || ks_str_is(finalizer, "foregroundDeletion");
}

static bool has_finalizer(struct ks_registry_context *ctx, const struct ks_value *object, const char *name)
{
	const struct ks_value *list = ks_meta_get(ctx->schema, object, "finalizers");

	for (uint32_t i = 0; list && list->kind == KS_LIST && i < list->n; i++)
		if (ks_str_is(ks_value_str(&list->items[i]), name))
			return true;
	return false;
}

static uint32_t n_finalizers(struct ks_registry_context *ctx, const struct ks_value *object)
{
	const struct ks_value *list = ks_meta_get(ctx->schema, object, "finalizers");

	return list && list->kind == KS_LIST ? list->n : 0;
}

/* "orphan", "foregroundDeletion" or NULL: what the garbage collector is asked to do first. The options come before the finalizers that are there, those
 * before the kind's habit. */
static const char *collector_wanted(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_delete_policy *policy)
{
	if (ctx->strategy->flags & KS_STRATEGY_NO_COLLECTION)
		return NULL;
	if (policy->orphan_dependents >= 0)
		return policy->orphan_dependents ? "orphan" : NULL;
	if (policy->propagation)
		return policy->propagation == 'O' ? "orphan" : policy->propagation == 'F' ? "foregroundDeletion" : NULL;
	if (has_finalizer(ctx, object, "orphan"))
		return "orphan";
	if (has_finalizer(ctx, object, "foregroundDeletion"))
		return "foregroundDeletion";
	return ctx->strategy->flags & KS_STRATEGY_ORPHANS ? "orphan" : NULL;
}

/* True when the list was changed. */
static bool update_finalizers(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_delete_policy *policy)
{
	const char *wanted = collector_wanted(ctx, object, policy);
	struct ks_value *list = ks_meta_get(ctx->schema, object, "finalizers");
	struct ks_value *place;
	bool changed = false;

	for (uint32_t i = 0; list && list->kind == KS_LIST && i < list->n;) {
		struct ks_str name = ks_value_str(&list->items[i]);

		if (is_collector(name) && !(wanted && ks_str_is(name, wanted))) {
			ks_value_remove_item(list, i);
			changed = true;
		} else {
			i++;
		}
	}
	if (list && list->kind == KS_LIST && !list->n)
		ks_meta_remove(ctx->schema, object, "finalizers");
	if (!wanted || has_finalizer(ctx, object, wanted))
		return changed;
	list = ks_value_put_at(ctx->arena, ctx->schema, object, "metadata.finalizers");
	if (!list)
		return changed;
	if (list->kind != KS_LIST)
		*list = (struct ks_value){.kind = KS_LIST};
	place = ks_value_append(ctx->arena, list);
	if (place)
		*place = ks_value_from_str(ks_str_from(wanted));
	return true;
}

static bool raise_generation(struct ks_registry_context *ctx, struct ks_value *object)
{
	int64_t generation = ks_meta_int(ctx->schema, object, "generation", 0);

	return generation <= 0 || ks_meta_set_int(ctx->arena, ctx->schema, object, "generation", generation + 1);
}

static int64_t deletion_seconds(struct ks_registry_context *ctx, const struct ks_value *object)
{
	struct ks_str text = ks_meta_text(ctx->schema, object, "deletionTimestamp");
	const char *message;
	struct ks_time time;

	return text.n && !ks_time_parse(ctx->arena, text, false, &time, &message) ? time.seconds : -1;
}

static bool mark(struct ks_registry_context *ctx, struct ks_value *object, uint64_t when_ms, int64_t grace)
{
	return ks_meta_set_text(ctx->arena, ctx->schema, object, "deletionTimestamp", ks_time_text(ctx->arena, when_ms)) &&
		ks_meta_set_int(ctx->arena, ctx->schema, object, "deletionGracePeriodSeconds", grace);
}

/* Finalizers are left and there is no grace: it is marked as going now. */
static void mark_now(struct ks_registry_context *ctx, struct ks_value *object)
{
	int64_t before = deletion_seconds(ctx, object);
	uint64_t when = ctx->now_ms;

	if (before < 0)
		raise_generation(ctx, object);
	else if ((uint64_t)before * 1000 <= ctx->now_ms)
		when = (uint64_t)before * 1000;
	mark(ctx, object, when, 0);
}

enum grace { GRACE_NONE, GRACE_SET, GRACE_PENDING };

/* A second graceful deletion may only shorten the time. */
static enum grace shorten(struct ks_registry_context *ctx, struct ks_value *object, int64_t *asked)
{
	int64_t left = ks_meta_int(ctx->schema, object, "deletionGracePeriodSeconds", 0);
	int64_t when;

	if (left <= 0)
		return GRACE_NONE;
	if (*asked < 0 || *asked >= left)
		return GRACE_PENDING;
	when = deletion_seconds(ctx, object) - left + *asked;
	if (when * 1000 < (int64_t)ctx->now_ms) {
		when = (int64_t)(ctx->now_ms / 1000);
		if (*asked)
			*asked = 1;
	}
	mark(ctx, object, (uint64_t)when * 1000, *asked);
	return GRACE_SET;
}

static enum grace begin_grace(struct ks_registry_context *ctx, struct ks_value *object, int64_t *asked)
{
	if (!ctx->strategy->begin_delete)
		return GRACE_NONE;
	if (ks_meta_get(ctx->schema, object, "deletionTimestamp"))
		return shorten(ctx, object, asked);
	if (ctx->strategy->begin_delete(ctx, object, asked) == KS_DELETE_NOW)
		return GRACE_NONE;
	mark(ctx, object, ctx->now_ms + (uint64_t)*asked * 1000, *asked);
	raise_generation(ctx, object);
	return GRACE_SET;
}

/* Who deletes a job and does not say what becomes of its pods is told. */
static void warn_of_orphans(struct ks_registry_context *ctx, const struct ks_delete_policy *policy)
{
	if (ctx->warn && policy->orphan_dependents < 0 && !policy->propagation && !strcmp(ctx->strategy->resource, "jobs"))
		ctx->warn(ctx->warn_arg, KS_STR_LIT("child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove "
			"them or set propagationPolicy=Orphan to suppress this warning"));
}

int ks_registry_may_delete(struct ks_registry_context *ctx, const struct ks_value *object, struct ks_status *status)
{
	return ctx->strategy->refuse_delete ? ctx->strategy->refuse_delete(ctx, object, status) : 0;
}

enum ks_delete_step ks_registry_delete(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_delete_policy *policy)
{
	int64_t asked = policy->grace_seconds;
	enum ks_delete_step step;
	enum grace grace;

	warn_of_orphans(ctx, policy);
	if (ctx->strategy->delete_ && ctx->strategy->delete_(ctx, object, &step)) {
		if (step == KS_DELETE_UPDATE)
			update_finalizers(ctx, object, policy);
		return step;
	}
	grace = begin_grace(ctx, object, &asked);
	if (grace == GRACE_PENDING)
		return KS_DELETE_PENDING;
	update_finalizers(ctx, object, policy);
	if (grace == GRACE_NONE) {
		if (!n_finalizers(ctx, object))
			return KS_DELETE_REMOVE;
		mark_now(ctx, object);
		return KS_DELETE_UPDATE;
	}
	if (n_finalizers(ctx, object) || asked > 0)
		return KS_DELETE_UPDATE;
	return KS_DELETE_UPDATE_REMOVE;
}

bool ks_registry_gone_by_update(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	if (n_finalizers(ctx, object) || !ks_meta_get(ctx->schema, old, "deletionTimestamp"))
		return false;
	if (ks_meta_int(ctx->schema, old, "deletionGracePeriodSeconds", 0) != 0)
		return false;
	return !ctx->strategy->may_go || ctx->strategy->may_go(ctx, object);
}
