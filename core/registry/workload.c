/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Deployments, replica sets, stateful sets, daemon sets, replication controllers: what owns a pod template and a number of pods. */
#include <stdio.h>

#include "core/registry/kit.h"
#include "core/registry/strategies.h"
#include "core/registry/validate/pods.h"
#include "core/registry/validate/warnings.h"

static bool template_defaults(struct ks_registry_context *ctx, struct ks_value *object)
{
	return ks_pod_spec_defaults(ctx, ks_kit_at(ctx, object, "spec.template.spec"));
}

/* The parameters of rolling updates, where the strategy is that one. */
static bool rolling_defaults(struct ks_registry_context *ctx, struct ks_value *object, const char *strategy)
{
	char path[64];
	struct ks_value *parameters;

	snprintf(path, sizeof(path), "%s.type", strategy);
	if (!ks_str_is(ks_kit_text(ctx, object, path), "RollingUpdate"))
		return true;
	snprintf(path, sizeof(path), "%s.rollingUpdate", strategy);
	parameters = ks_kit_struct(ctx, object, path);
	return parameters && ks_default_constants(ctx->arena, ctx->schema, parameters);
}

static bool deployment_defaults(struct ks_registry_context *ctx, struct ks_value *object)
{
	return !ks_kit_at(ctx, object, "spec") || (rolling_defaults(ctx, object, "spec.strategy") && template_defaults(ctx, object));
}

static bool updated_defaults(struct ks_registry_context *ctx, struct ks_value *object)
{
	return !ks_kit_at(ctx, object, "spec") || (rolling_defaults(ctx, object, "spec.updateStrategy") && template_defaults(ctx, object));
}

/* Who names the strategy may leave out its parameters. */
static bool stateful_strategy(struct ks_registry_context *ctx, struct ks_value *object)
{
	if (ks_kit_text(ctx, object, "spec.updateStrategy.type").n)
		return true;
	return ks_kit_set_text(ctx, object, "spec.updateStrategy.type", "RollingUpdate") && rolling_defaults(ctx, object, "spec.updateStrategy");
}

static bool stateful_defaults(struct ks_registry_context *ctx, struct ks_value *object)
{
	struct ks_value *claims = ks_kit_list(ctx, object, "spec.volumeClaimTemplates");

	for (uint32_t i = 0; claims && i < claims->n; i++)
		if (!ks_kit_set_text(ctx, &claims->items[i], "apiVersion", "v1") ||
			!ks_kit_set_text(ctx, &claims->items[i], "kind", "PersistentVolumeClaim") ||
			!ks_kit_default_text(ctx, &claims->items[i], "status.phase", "Pending"))
			return false;
	return !ks_kit_at(ctx, object, "spec") || (stateful_strategy(ctx, object) && template_defaults(ctx, object));
}

/* Selector and labels of a replication controller come from its template. */
static bool controller_defaults(struct ks_registry_context *ctx, struct ks_value *object)
{
	const struct ks_value *labels = ks_kit_map(ctx, object, "spec.template.metadata.labels");

	if (!ks_kit_at(ctx, object, "spec"))
		return true;
	if (labels && !ks_kit_map(ctx, object, "spec.selector") && !ks_kit_set(ctx, object, "spec.selector", *labels))
		return false;
	if (labels && !ks_kit_map(ctx, object, "metadata.labels") && !ks_kit_set(ctx, object, "metadata.labels", *labels))
		return false;
	return template_defaults(ctx, object);
}

/* The count of templates is always there, as upstream's conversion has it: the updates set what it is. */
static bool daemon_defaults(struct ks_registry_context *ctx, struct ks_value *object)
{
	struct ks_value *notes = ks_value_put_at(ctx->arena, ctx->schema, object, "metadata.annotations"), *place;

	if (!notes || !updated_defaults(ctx, object))
		return false;
	if (notes->kind != KS_MAP)
		*notes = (struct ks_value){.kind = KS_MAP};
	place = ks_value_put(ctx->arena, ctx->schema, notes, KS_STR_LIT("deprecated.daemonset.template.generation"));
	if (place && place->kind != KS_STRING)
		*place = ks_value_from_str(KS_STR_LIT("0"));
	return place;
}

static void daemon_prepare_create(struct ks_registry_context *ctx, struct ks_value *object)
{
	struct ks_value *notes = ks_value_put_at(ctx->arena, ctx->schema, object, "metadata.annotations");
	struct ks_value *place;

	if (!notes)
		return;
	if (notes->kind != KS_MAP)
		*notes = (struct ks_value){.kind = KS_MAP};
	place = ks_value_put(ctx->arena, ctx->schema, notes, KS_STR_LIT("deprecated.daemonset.template.generation"));
	if (place)
		*place = ks_value_from_str(KS_STR_LIT("1"));
}

/* The generation of the template is counted apart, in an annotation. */
static void daemon_prepare_update(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_value *old)
{
	static const char name[] = "deprecated.daemonset.template.generation";
	const struct ks_value *before = ks_kit_at(ctx, old, "metadata.annotations");
	struct ks_value *notes, *place;
	struct ks_str count = ks_value_str(before ? ks_value_get(ctx->schema, before, name) : NULL);
	unsigned long n = 0;

	for (size_t i = 0; i < count.n && count.p[i] >= '0' && count.p[i] <= '9'; i++)
		n = n * 10 + (unsigned long)(count.p[i] - '0');
	if (!ctx->subresource.n && !ks_kit_same(ctx, object, old, "spec.template"))
		n++;
	notes = ks_value_put_at(ctx->arena, ctx->schema, object, "metadata.annotations");
	if (!notes)
		return;
	if (notes->kind != KS_MAP)
		*notes = (struct ks_value){.kind = KS_MAP};
	place = ks_value_put(ctx->arena, ctx->schema, notes, ks_str_from(name));
	if (place)
		*place = ks_value_from_str(ks_str_from(ks_kit_path(ctx, "%lu", n)));
}

const struct ks_strategy ks_strategy_deployments = {
	.group = "apps", .resource = "deployments",
	.flags = KS_STRATEGY_STATUS_KEEPS_LABELS,
	.generation = KS_GENERATION_ANNOTATIONS,
	.defaults = deployment_defaults,
	.validate = ks_validate_deployment,
	.warnings = ks_warn_workload,
};

const struct ks_strategy ks_strategy_replicasets = {
	.group = "apps", .resource = "replicasets",
	.generation = KS_GENERATION_SPEC,
	.defaults = template_defaults,
	.validate = ks_validate_replicaset,
	.warnings = ks_warn_workload,
};

const struct ks_strategy ks_strategy_statefulsets = {
	.group = "apps", .resource = "statefulsets", .names = KS_NAME_LABEL,
	.generation = KS_GENERATION_SPEC,
	.defaults = stateful_defaults,
	.validate = ks_validate_statefulset,
	.warnings = ks_warn_statefulset,
};

const struct ks_strategy ks_strategy_daemonsets = {
	.group = "apps", .resource = "daemonsets",
	.generation = KS_GENERATION_SPEC,
	.defaults = daemon_defaults,
	.prepare_create = daemon_prepare_create,
	.prepare_update = daemon_prepare_update,
	.validate = ks_validate_daemonset,
	.warnings = ks_warn_daemonset,
};

const struct ks_strategy ks_strategy_replicationcontrollers = {
	.group = "", .resource = "replicationcontrollers",
	.flags = KS_STRATEGY_ORPHANS,
	.generation = KS_GENERATION_SPEC,
	.defaults = controller_defaults,
	.validate = ks_validate_replicationcontroller,
	.warnings = ks_warn_replicationcontroller,
};
