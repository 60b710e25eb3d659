/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/kit.h"
#include "core/registry/strategies.h"

static bool has_finalizer(struct ks_registry_context *ctx, const struct ks_value *ns, const char *name)
{
	const struct ks_value *list = ks_kit_list(ctx, ns, "spec.finalizers");

	for (uint32_t i = 0; list && i < list->n; i++)
		if (ks_str_is(ks_value_str(&list->items[i]), name))
			return true;
	return false;
}

/* Every namespace carries its own name as a label, so that selectors can choose it. */
static bool namespace_defaults(struct ks_registry_context *ctx, struct ks_value *ns)
{
	struct ks_str name = ks_meta_text(ctx->schema, ns, "name");
	struct ks_value *labels, *place;

	if (!name.n)
		return true;
	labels = ks_value_put_at(ctx->arena, ctx->schema, ns, "metadata.labels");
	if (!labels)
		return false;
	if (labels->kind != KS_MAP)
		*labels = (struct ks_value){.kind = KS_MAP};
	place = ks_value_put(ctx->arena, ctx->schema, labels, KS_STR_LIT("kubernetes.io/metadata.name"));
	if (!place)
		return false;
	*place = ks_value_from_str(name);
	return true;
}

static void namespace_prepare_create(struct ks_registry_context *ctx, struct ks_value *ns)
{
	ks_kit_set_text(ctx, ns, "status.phase", "Active");
	if (!has_finalizer(ctx, ns, "kubernetes"))
		ks_kit_append_text(ctx, ks_kit_make_list(ctx, ns, "spec.finalizers"), KS_STR_LIT("kubernetes"));
	/* The name may have been generated after the defaults. */
	if (!namespace_defaults(ctx, ns))
		return;
}

static void namespace_prepare_update(struct ks_registry_context *ctx, struct ks_value *ns, const struct ks_value *old)
{
	if (ks_str_is(ctx->subresource, "finalize")) {
		ks_kit_take(ctx, ns, old, "status");
		return;
	}
	if (!ctx->subresource.n)
		ks_kit_take(ctx, ns, old, "spec.finalizers");
}

static void validate_finalizers(struct ks_registry_context *ctx, const struct ks_value *ns, bool numbered, struct ks_status *status)
{
	const struct ks_value *list = ks_kit_list(ctx, ns, "spec.finalizers");

	for (uint32_t i = 0; list && i < list->n; i++) {
		struct ks_str name = ks_value_str(&list->items[i]);
		const char *field = numbered ? ks_kit_path(ctx, "spec.finalizers[%u]", i) : "spec.finalizers";
		struct ks_name_problems problems;

		ks_name_check_qualified(name, false, &problems);
		for (size_t k = 0; k < problems.n; k++)
			ks_cause_invalid(status, ctx->arena, field, name, problems.items[k]);
		if (!(name.n && memchr(name.p, '/', name.n)) && !ks_str_is(name, "kubernetes") && !ks_str_is(name, "orphan") &&
			!ks_str_is(name, "foregroundDeletion"))
			ks_cause_invalid(status, ctx->arena, field, name, "name is neither a standard finalizer name nor is it fully qualified");
	}
}

static void namespace_validate(struct ks_registry_context *ctx, const struct ks_value *ns, const struct ks_value *old, struct ks_status *status)
{
	struct ks_str phase = ks_kit_text(ctx, ns, "status.phase");

	if (!ks_str_is(ctx->subresource, "status"))
		validate_finalizers(ctx, ns, old != NULL, status);
	if (!old || !ks_str_is(ctx->subresource, "status"))
		return;
	if (!ks_meta_get(ctx->schema, ns, "deletionTimestamp") && !ks_str_is(phase, "Active"))
		ks_cause_invalid(status, ctx->arena, "status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty");
	else if (ks_meta_get(ctx->schema, ns, "deletionTimestamp") && !ks_str_is(phase, "Terminating"))
		ks_cause_invalid(status, ctx->arena, "status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty");
}

/* The first request to delete only says so; the end comes when whoever cleans up has taken its finalizers. */
static bool namespace_delete(struct ks_registry_context *ctx, struct ks_value *ns, enum ks_delete_step *step_r)
{
	if (!ks_meta_get(ctx->schema, ns, "deletionTimestamp")) {
		ks_meta_set_text(ctx->arena, ctx->schema, ns, "deletionTimestamp", ks_time_text(ctx->arena, ctx->now_ms));
		ks_kit_set_text(ctx, ns, "status.phase", "Terminating");
		*step_r = KS_DELETE_UPDATE;
		return true;
	}
	*step_r = KS_DELETE_PENDING;
	return ks_kit_list(ctx, ns, "spec.finalizers") != NULL;
}

/* Its own finalizers must be gone, too. */
static bool namespace_may_go(struct ks_registry_context *ctx, const struct ks_value *ns)
{
	return !ks_kit_list(ctx, ns, "spec.finalizers");
}

const struct ks_strategy ks_strategy_namespaces = {
	.group = "", .resource = "namespaces",
	.flags = KS_STRATEGY_RETURNS_DELETED,
	.names = KS_NAME_LABEL,
	.defaults = namespace_defaults,
	.prepare_create = namespace_prepare_create,
	.prepare_update = namespace_prepare_update,
	.validate = namespace_validate,
	.delete_ = namespace_delete,
	.may_go = namespace_may_go,
};
