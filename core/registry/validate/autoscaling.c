/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Autoscalers of pods, judged in the form of v2. */
#include "core/api/quantity.h"
#include "core/registry/validate/common.h"
#include "core/registry/validate/kinds.h"

enum { PERIOD_MOST = 1800, WINDOW_MOST = 3600 };

/* -- references --------------------------------------------------------------------------------------------------- */

static void check_reference(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	ks_check_required_name(c, path, "kind", KS_NAME_PATH_SEGMENT, KS_IN_TEXT(c, v, "kind"));
	ks_check_required_name(c, path, "name", KS_NAME_PATH_SEGMENT, KS_IN_TEXT(c, v, "name"));
}

static const char *wrong_version(struct ks_check *c, const struct ks_value *ref)
{
	struct ks_str text = KS_IN_TEXT(c, ref, "apiVersion");
	const char *slash = text.n ? memchr(text.p, '/', text.n) : NULL;

	if (slash && memchr(slash + 1, '/', text.n - (size_t)(slash + 1 - text.p)))
		return ks_err_detail(c, "unexpected GroupVersion string: %.*s", (int)text.n, text.p);
	if (slash && slash > text.p)
		return NULL;
	if (ks_str_is(text, "v1") && ks_str_is(KS_IN_TEXT(c, ref, "kind"), "ReplicationController"))
		return NULL;
	return "apiVersion must specify API group";
}

/* -- metrics ------------------------------------------------------------------------------------------------------ */

static bool is_positive(const struct ks_value *v)
{
	struct ks_quantity q;
	const char *message;

	return v && !ks_quantity_parse(ks_value_str(v), &q, &message) && ks_quantity_sign(&q) > 0;
}

static void check_identifier(struct ks_check *c, const struct ks_path *path, const struct ks_value *source)
{
	struct ks_path at = ks_path_child(path, "metric");
	struct ks_str name = KS_IN_TEXT(c, KS_IN(c, source, "metric"), "name");

	if (!name.n)
		ks_err_required(c, &at, "name", "must specify a metric name");
	else
		ks_check_name(c, &at, "name", KS_NAME_PATH_SEGMENT, name);
}

static void check_target(struct ks_check *c, const struct ks_path *path, const struct ks_value *source)
{
	static const char *const types[] = {"Utilization", "Value", "AverageValue", NULL};
	struct ks_path at = ks_path_child(path, "target");
	const struct ks_value *target = KS_IN(c, source, "target"), *value = KS_IN(c, target, "value");
	const struct ks_value *average = KS_IN(c, target, "averageValue"), *share = KS_IN(c, target, "averageUtilization");
	struct ks_str type = KS_IN_TEXT(c, target, "type");

	if (!type.n)
		ks_err_required(c, &at, "type", "must specify a metric target type");
	if (!ks_str_in(type, types))
		ks_err_invalid_text(c, &at, "type", type, "must be either Utilization, Value, or AverageValue");
	if (value && !is_positive(value))
		ks_err_invalid(c, &at, "value", value, "must be positive");
	if (average && !is_positive(average))
		ks_err_invalid(c, &at, "averageValue", average, "must be positive");
	if (share && ks_value_int_or(share, 0) < 1)
		ks_err_invalid(c, &at, "averageUtilization", share, "must be greater than 0");
}

static void check_object_source(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	struct ks_path at = ks_path_child(path, "describedObject");
	const struct ks_value *target = KS_IN(c, v, "target");

	check_reference(c, &at, KS_IN(c, v, "describedObject"));
	check_identifier(c, path, v);
	check_target(c, path, v);
	if (!KS_IN(c, target, "value") && !KS_IN(c, target, "averageValue"))
		ks_err_required(c, path, "target.averageValue", "must set either a target value or averageValue");
}

static void check_external_source(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *target = KS_IN(c, v, "target"), *value = KS_IN(c, target, "value"), *average = KS_IN(c, target, "averageValue");

	check_identifier(c, path, v);
	check_target(c, path, v);
	if (!value && !average)
		ks_err_required(c, path, "target.averageValue", "must set either a target value for metric or a per-pod target");
	if (value && average)
		ks_err_forbidden(c, path, "target.value", "may not set both a target value for metric and a per-pod target");
}

static void check_pods_source(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	check_identifier(c, path, v);
	check_target(c, path, v);
	if (!is_positive(KS_IN(c, KS_IN(c, v, "target"), "averageValue")))
		ks_err_required(c, path, "target.averageValue", "must specify a positive target averageValue");
}

static void check_share(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *target = KS_IN(c, v, "target"), *share = KS_IN(c, target, "averageUtilization");
	const struct ks_value *average = KS_IN(c, target, "averageValue");

	check_target(c, path, v);
	if (!share && !average)
		ks_err_required(c, path, "target.averageUtilization", "must set either a target raw value or a target utilization");
	if (share && average)
		ks_err_forbidden(c, path, "target.averageValue", "may not set both a target raw value and a target utilization");
}

static void check_container_source(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	if (!KS_IN_TEXT(c, v, "name").n)
		ks_err_required(c, path, "name", "must specify a resource name");
	if (!KS_IN_TEXT(c, v, "container").n)
		ks_err_required(c, path, "container", "must specify a container");
	check_share(c, path, v);
}

static void check_resource_source(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	if (!KS_IN_TEXT(c, v, "name").n)
		ks_err_required(c, path, "name", "must specify a resource name");
	check_share(c, path, v);
}

/* In the order in which they are looked at: the first that is there is judged. */
static const struct {
	const char *field, *type;
	void (*check)(struct ks_check *c, const struct ks_path *path, const struct ks_value *v);
} sources[] = {
	{"object", "Object", check_object_source},
	{"external", "External", check_external_source},
	{"pods", "Pods", check_pods_source},
	{"resource", "Resource", check_resource_source},
	{"containerResource", "ContainerResource", check_container_source},
};

enum { SOURCES = sizeof(sources) / sizeof(sources[0]) };

static void check_metric(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char *const types[] = {"ContainerResource", "External", "Object", "Pods", "Resource", NULL};
	struct ks_str type = KS_IN_TEXT(c, v, "type");
	const char *expected = NULL;
	unsigned n = 0;

	if (!type.n)
		ks_err_required(c, path, "type", "must specify a metric source type");
	ks_check_one_of(c, path, "type", type, types);
	for (size_t i = 0; i < SOURCES; i++) {
		const struct ks_value *source = ks_value_get(c->schema, v, sources[i].field);
		struct ks_path at = ks_path_child(path, sources[i].field);

		if (ks_value_present(source) && ++n == 1)
			sources[i].check(c, &at, source);
		if (!ks_str_is(type, sources[i].type))
			continue;
		expected = sources[i].field;
	}
	if (!expected)
		ks_err_not_supported(c, path, "type", type, types);
	else if (!ks_value_present(ks_value_get(c->schema, v, expected)))
		ks_err_required(c, path, expected, "must populate information for the given metric source");
	for (size_t i = 0; n != 1 && i < SOURCES; i++)
		if ((!expected || strcmp(sources[i].field, expected)) && ks_value_present(ks_value_get(c->schema, v, sources[i].field)))
			ks_err_forbidden(c, path, sources[i].field, "must populate the given metric source only");
}

static void check_metrics(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *spec)
{
	const struct ks_value *list = KS_IN_LIST(c, spec, "metrics");
	struct ks_path path = ks_path_child(spec_path, "metrics");
	bool can_be_idle = false;

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&path, i);
		struct ks_str type = KS_IN_TEXT(c, &list->items[i], "type");

		check_metric(c, &item, &list->items[i]);
		can_be_idle |= ks_str_is(type, "Object") || ks_str_is(type, "External");
	}
	if (KS_IN(c, spec, "minReplicas") && !KS_IN_INT(c, spec, "minReplicas", 0) && !can_be_idle)
		ks_err_forbidden(c, &path, NULL, "must specify at least one Object or External metric to support scaling to zero replicas");
}

/* -- behaviour ---------------------------------------------------------------------------------------------------- */

static void check_scaling_policy(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char *const types[] = {"Percent", "Pods", NULL};
	int64_t value = KS_IN_INT(c, v, "value", 0), period = KS_IN_INT(c, v, "periodSeconds", 0);

	ks_check_one_of(c, path, "type", KS_IN_TEXT(c, v, "type"), types);
	if (value <= 0)
		ks_err_invalid_int(c, path, "value", value, "must be greater than zero");
	if (period <= 0)
		ks_err_invalid_int(c, path, "periodSeconds", period, "must be greater than zero");
	if (period > PERIOD_MOST)
		ks_err_invalid_int(c, path, "periodSeconds", period, "must be less than or equal to 1800");
}

static void check_scaling(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char *const selects[] = {"Disabled", "Max", "Min", NULL};
	const struct ks_value *select = KS_IN(c, v, "selectPolicy"), *policies = KS_IN_LIST(c, v, "policies"), *tolerance = KS_IN(c, v, "tolerance");
	struct ks_path at = ks_path_child(path, "policies");
	int64_t window = KS_IN_INT(c, v, "stabilizationWindowSeconds", 0);

	if (!v)
		return;
	if (window < 0)
		ks_err_invalid_int(c, path, "stabilizationWindowSeconds", window, "must be greater than or equal to zero");
	if (window > WINDOW_MOST)
		ks_err_invalid_int(c, path, "stabilizationWindowSeconds", window, "must be less than or equal to 3600");
	if (select)
		ks_check_one_of(c, path, "selectPolicy", ks_value_str(select), selects);
	if (!ks_value_count(policies))
		ks_err_required(c, &at, NULL, "must specify at least one Policy");
	for (uint32_t i = 0; i < ks_value_count(policies); i++) {
		struct ks_path item = ks_path_index(&at, i);

		check_scaling_policy(c, &item, &policies->items[i]);
	}
	if (tolerance)
		ks_check_quantity_nonnegative(c, path, "tolerance", ks_value_str(tolerance));
}

/* -- autoscalers -------------------------------------------------------------------------------------------------- */

static void check_spec(struct ks_check *c, const struct ks_value *spec, const struct ks_value *before)
{
	struct ks_path path = ks_path_root("spec"), target = ks_path_child(&path, "scaleTargetRef");
	struct ks_path up = ks_path_child(&path, "behavior.scaleUp"), down = ks_path_child(&path, "behavior.scaleDown");
	const struct ks_value *ref = KS_IN(c, spec, "scaleTargetRef"), *behavior = KS_IN(c, spec, "behavior");
	const struct ks_value *min = KS_IN(c, spec, "minReplicas"), *min_before = KS_IN(c, before, "minReplicas");
	int64_t most = KS_IN_INT(c, spec, "maxReplicas", 0), least = min_before && !ks_value_int_or(min_before, 1) ? 0 : 1;
	const char *wrong;

	if (min && ks_value_int_or(min, 0) < least)
		ks_err_invalid(c, &path, "minReplicas", min, ks_err_detail(c, "must be greater than or equal to %d", (int)least));
	if (!most)
		ks_err_required(c, &path, "maxReplicas", "must be set and greater than 0");
	else if (most < 1)
		ks_err_invalid_int(c, &path, "maxReplicas", most, "must be greater than or equal to 1");
	if (min && most < ks_value_int_or(min, 0))
		ks_err_invalid_int(c, &path, "maxReplicas", most, "must be greater than or equal to `minReplicas`");
	check_reference(c, &target, ref);
	wrong = before && wrong_version(c, KS_IN(c, before, "scaleTargetRef")) ? NULL : wrong_version(c, ref);
	if (wrong)
		ks_err_invalid_text(c, &target, "apiVersion", KS_IN_TEXT(c, ref, "apiVersion"), wrong);
	check_metrics(c, &path, spec);
	check_scaling(c, &up, KS_IN(c, behavior, "scaleUp"));
	check_scaling(c, &down, KS_IN(c, behavior, "scaleDown"));
}

/* A copy of the object in the form of v2; false when out of memory. */
static bool as_v2(struct ks_registry_context *ctx, const struct ks_value *object, struct ks_value *out)
{
	uint16_t v2 = ks_schema_find_resource(ctx->schema, KS_STR_LIT("autoscaling"), KS_STR_LIT("v2"), KS_STR_LIT("horizontalpodautoscalers"));

	if (v2 == KS_NO_RESOURCE || v2 == ctx->resource) {
		*out = *object;
		return true;
	}
	return ks_value_copy(ctx->arena, object, out) && !ks_registry_convert(ctx->arena, ctx->schema, ctx->resource, v2, out);
}

void ks_validate_horizontalpodautoscaler(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("status");
	const struct ks_value *state = KS_IN(&c, object, "status");
	struct ks_value now, before = {0}, spec, spec_before;

	if (ctx->subresource.n) {
		ks_check_nonnegative(&c, &path, "currentReplicas", KS_IN_INT(&c, state, "currentReplicas", 0));
		ks_check_nonnegative(&c, &path, "desiredReplicas", KS_IN_INT(&c, state, "desiredReplicas", 0));
		return;
	}
	if (!as_v2(ctx, object, &now) || (old && !as_v2(ctx, old, &before))) {
		path = ks_path_root("spec");
		ks_err_internal(&c, &path, NULL, "out of memory");
		return;
	}
	spec = ks_struct_in(&c, &now, "spec");
	if (old)
		spec_before = ks_struct_in(&c, &before, "spec");
	check_spec(&c, &spec, old ? &spec_before : NULL);
}
