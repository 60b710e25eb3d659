/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Kinds that need a few lines each: configuration, volumes, policies, definitions. */
#include <ctype.h>

#include "core/api/base64.h"
#include "core/registry/kit.h"
#include "core/registry/strategies.h"

/* -- secrets and config maps -------------------------------------------------------------------------------------- */

/* stringData is a convenience for writers: it ends up in data. */
static bool secret_defaults(struct ks_registry_context *ctx, struct ks_value *secret)
{
	const struct ks_value *texts = ks_kit_map(ctx, secret, "stringData");
	struct ks_value *data;

	if (!texts)
		return true;
	data = ks_value_put(ctx->arena, ctx->schema, secret, KS_STR_LIT("data"));
	if (!data)
		return false;
	if (data->kind != KS_MAP)
		*data = (struct ks_value){.kind = KS_MAP};
	for (uint32_t i = 0; i < texts->n; i++) {
		struct ks_str text = ks_value_str(&texts->members[i].value);
		char *encoded = ks_arena_alloc(ctx->arena, ks_base64_length(text.n) + 1);
		struct ks_value *place = ks_value_put(ctx->arena, ctx->schema, data, texts->members[i].key);

		if (!encoded || !place)
			return false;
		ks_base64_encode((const unsigned char *)text.p, text.n, encoded);
		*place = ks_value_from_str(ks_str_of(encoded, ks_base64_length(text.n)));
	}
	ks_value_remove(ctx->schema, secret, KS_STR_LIT("stringData"));
	return true;
}

static void validate_frozen(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, const char *other,
	struct ks_status *status)
{
	static const char words[] = "field is immutable when `immutable` is set";

	if (!old || !ks_kit_true(ctx, old, "immutable"))
		return;
	if (!ks_kit_true(ctx, object, "immutable"))
		ks_cause_forbidden(status, ctx->arena, "immutable", words);
	if (!ks_kit_same(ctx, object, old, "data"))
		ks_cause_forbidden(status, ctx->arena, "data", words);
	if (other && !ks_kit_same(ctx, object, old, other))
		ks_cause_forbidden(status, ctx->arena, other, words);
}

static void secret_validate(struct ks_registry_context *ctx, const struct ks_value *secret, const struct ks_value *old, struct ks_status *status)
{
	if (old && !ks_kit_same(ctx, secret, old, "type"))
		ks_cause_invalid(status, ctx->arena, "type", ks_kit_text(ctx, secret, "type"), "field is immutable");
	validate_frozen(ctx, secret, old, NULL, status);
}

static void configmap_validate(struct ks_registry_context *ctx, const struct ks_value *map, const struct ks_value *old, struct ks_status *status)
{
	validate_frozen(ctx, map, old, "binaryData", status);
}

const struct ks_strategy ks_strategy_secrets = {
	.group = "", .resource = "secrets",
	.flags = KS_STRATEGY_VALIDATES_METADATA_AGAIN,
	.defaults = secret_defaults,
	.validate = secret_validate,
};

const struct ks_strategy ks_strategy_configmaps = {
	.group = "", .resource = "configmaps",
	.flags = KS_STRATEGY_VALIDATES_METADATA_AGAIN,
	.validate = configmap_validate,
};

/* -- volumes ------------------------------------------------------------------------------------------------------ */

static void pending_create(struct ks_registry_context *ctx, struct ks_value *object)
{
	ks_kit_set_text(ctx, object, "status.phase", "Pending");
}

const struct ks_strategy ks_strategy_persistentvolumes = {
	.group = "", .resource = "persistentvolumes",
	.flags = KS_STRATEGY_RETURNS_DELETED,
	.prepare_create = pending_create,
};

const struct ks_strategy ks_strategy_persistentvolumeclaims = {
	.group = "", .resource = "persistentvolumeclaims",
	.flags = KS_STRATEGY_RETURNS_DELETED,
	.prepare_create = pending_create,
};

/* -- policies ----------------------------------------------------------------------------------------------------- */

static bool networkpolicy_defaults(struct ks_registry_context *ctx, struct ks_value *policy)
{
	struct ks_value *types;

	if (ks_kit_list(ctx, policy, "spec.policyTypes"))
		return true;
	if (!ks_kit_struct(ctx, policy, "spec"))
		return false;
	types = ks_kit_make_list(ctx, policy, "spec.policyTypes");
	if (!ks_kit_append_text(ctx, types, KS_STR_LIT("Ingress")))
		return false;
	return !ks_kit_list(ctx, policy, "spec.egress") || ks_kit_append_text(ctx, types, KS_STR_LIT("Egress"));
}

const struct ks_strategy ks_strategy_networkpolicies = {
	.group = "networking.k8s.io", .resource = "networkpolicies",
	.generation = KS_GENERATION_SPEC,
	.defaults = networkpolicy_defaults,
};

static bool binding_defaults(struct ks_registry_context *ctx, struct ks_value *binding)
{
	struct ks_value *subjects = ks_kit_list(ctx, binding, "subjects");

	for (uint32_t i = 0; subjects && i < subjects->n; i++) {
		struct ks_str kind = ks_kit_text(ctx, &subjects->items[i], "kind");

		if ((ks_str_is(kind, "User") || ks_str_is(kind, "Group")) &&
			!ks_kit_default_text(ctx, &subjects->items[i], "apiGroup", "rbac.authorization.k8s.io"))
			return false;
	}
	return true;
}

static void binding_validate(struct ks_registry_context *ctx, const struct ks_value *binding, const struct ks_value *old, struct ks_status *status)
{
	if (old && !ks_kit_same(ctx, binding, old, "roleRef"))
		ks_cause_invalid_value(status, ctx->arena, ctx->schema, "roleRef", ks_kit_at(ctx, binding, "roleRef"), "cannot change roleRef");
}

const struct ks_strategy ks_strategy_rolebindings = {
	.group = "rbac.authorization.k8s.io", .resource = "rolebindings",
	.flags = KS_STRATEGY_CREATE_ON_UPDATE, .names = KS_NAME_PATH,
	.defaults = binding_defaults, .validate = binding_validate,
};

const struct ks_strategy ks_strategy_clusterrolebindings = {
	.group = "rbac.authorization.k8s.io", .resource = "clusterrolebindings",
	.flags = KS_STRATEGY_CREATE_ON_UPDATE, .names = KS_NAME_PATH,
	.defaults = binding_defaults, .validate = binding_validate,
};

/* -- definitions of custom resources ------------------------------------------------------------------------------ */

static bool crd_defaults(struct ks_registry_context *ctx, struct ks_value *crd)
{
	struct ks_str kind = ks_kit_text(ctx, crd, "spec.names.kind");
	char *singular;

	if (!kind.n)
		return true;
	singular = ks_arena_dup(ctx->arena, kind.p, kind.n);
	if (!singular)
		return false;
	for (size_t i = 0; i < kind.n; i++)
		singular[i] = (char)tolower((unsigned char)singular[i]);
	return ks_kit_default_text(ctx, crd, "spec.names.singular", singular) &&
		ks_kit_default_text(ctx, crd, "spec.names.listKind", ks_kit_path(ctx, "%.*sList", (int)kind.n, kind.p));
}

static void crd_prepare_create(struct ks_registry_context *ctx, struct ks_value *crd)
{
	const struct ks_value *versions = ks_kit_list(ctx, crd, "spec.versions");
	struct ks_value *stored = ks_kit_make_list(ctx, crd, "status.storedVersions");

	for (uint32_t i = 0; versions && stored && i < versions->n; i++)
		if (ks_kit_true(ctx, &versions->items[i], "storage"))
			ks_kit_append_text(ctx, stored, ks_kit_text(ctx, &versions->items[i], "name"));
}

const struct ks_strategy ks_strategy_customresourcedefinitions = {
	.group = "apiextensions.k8s.io", .resource = "customresourcedefinitions",
	.flags = KS_STRATEGY_NEEDS_REVISION,
	.generation = KS_GENERATION_SPEC,
	.defaults = crd_defaults,
	.prepare_create = crd_prepare_create,
};

/* -- autoscalers -------------------------------------------------------------------------------------------------- */

/* Without any metric: 80% of the processor. */
static bool autoscaler_defaults(struct ks_registry_context *ctx, struct ks_value *scaler)
{
	struct ks_value *metrics, *metric;
	uint16_t type;

	if (!ks_str_is(ks_str_from(ks_schema_text(ctx->schema, ctx->schema->resources[ctx->resource].version)), "v2"))
		return true;
	if (!ks_kit_at(ctx, scaler, "spec") || ks_kit_list(ctx, scaler, "spec.metrics"))
		return true;
	type = ks_schema_find_type(ctx->schema, "io.k8s.api.autoscaling.v2.MetricSpec");
	metrics = ks_kit_make_list(ctx, scaler, "spec.metrics");
	metric = metrics ? ks_value_append(ctx->arena, metrics) : NULL;
	if (!metric || !ks_value_new_struct(ctx->arena, ctx->schema, type, metric))
		return false;
	return ks_kit_set_text(ctx, metric, "type", "Resource") && ks_kit_set_text(ctx, metric, "resource.name", "cpu") &&
		ks_kit_set_text(ctx, metric, "resource.target.type", "Utilization") &&
		ks_kit_set(ctx, metric, "resource.target.averageUtilization", ks_value_from_int(80));
}

const struct ks_strategy ks_strategy_horizontalpodautoscalers = {
	.group = "autoscaling", .resource = "horizontalpodautoscalers",
	.defaults = autoscaler_defaults,
};
