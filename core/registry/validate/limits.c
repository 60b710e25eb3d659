/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Limits and quotas. */
#include "core/registry/validate/limits.h"

#include "core/api/quantity.h"
#include "core/registry/validate/kinds.h"

static const char *const standard[] = {"cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
	"limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas", "services", "replicationcontrollers", "secrets",
	"configmaps", "persistentvolumeclaims", "storage", "requests.storage", "services.nodeports", "services.loadbalancers", NULL};
static const char *const of_containers[] = {"cpu", "memory", "ephemeral-storage", NULL};
static const char *const of_quotas[] = {"cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage",
	"requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas", "services",
	"replicationcontrollers", "secrets", "persistentvolumeclaims", "configmaps", "services.nodeports", "services.loadbalancers", NULL};
static const char *const whole[] = {"pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
	"persistentvolumeclaims", "services.nodeports", "services.loadbalancers", NULL};

static bool is_huge(struct ks_str name)
{
	return ks_str_starts_with(name, "hugepages-");
}

static bool is_native(struct ks_str name)
{
	return !ks_str_has(name, "/") || ks_str_has(name, "kubernetes.io/");
}

static bool is_extended(struct ks_str name)
{
	return !is_native(name) && !ks_str_starts_with(name, "requests.") && name.n + strlen("requests.") <= 317;
}

static bool check_resource(struct ks_check *c, const struct ks_path *path, struct ks_str name)
{
	if (!ks_check_name(c, path, NULL, KS_NAME_LABEL_KEY, name))
		return false;
	if (ks_str_has(name, "/") || ks_str_in(name, standard) || is_huge(name) || ks_str_starts_with(name, "requests.hugepages-"))
		return true;
	ks_err_invalid_text(c, path, NULL, name, "must be a standard resource type or fully qualified");
	return false;
}

static void check_container_resource(struct ks_check *c, const struct ks_path *path, struct ks_str name)
{
	check_resource(c, path, name);
	if (!ks_str_has(name, "/")) {
		if (!ks_str_in(name, of_containers) && !is_huge(name))
			ks_err_invalid_text(c, path, NULL, name, "must be a standard resource for containers");
	} else if (!is_native(name) && !is_extended(name)) {
		ks_err_invalid_text(c, path, NULL, name, "doesn't follow extended resource name standard");
	}
}

bool ks_check_amount(struct ks_check *c, const struct ks_path *path, struct ks_str resource, struct ks_str amount)
{
	const struct ks_status_cause *mark = ks_check_mark(c);
	struct ks_quantity q;
	const char *message;

	ks_check_quantity_nonnegative(c, path, NULL, amount);
	if ((ks_str_in(resource, whole) || is_extended(resource)) && !ks_quantity_parse(amount, &q, &message) && ks_quantity_milli(&q) % 1000)
		ks_err_invalid_text(c, path, NULL, amount, "must be an integer");
	return !ks_check_failed_since(c, mark);
}

/* -- limits ------------------------------------------------------------------------------------------------------- */

struct limit {
	struct ks_check *c;
	const struct ks_path *path;
	const struct ks_value *max, *min, *defaults, *requests, *ratios;
	bool of_pods; /* or containers: fewer resources */
};

static void check_limit_resources(const struct limit *l, const char *name, const struct ks_value *map)
{
	struct ks_path at = ks_path_child(l->path, name);

	for (uint32_t i = 0; i < ks_value_count(map); i++) {
		struct ks_path item = ks_path_key(&at, map->members[i].key);

		if (l->of_pods)
			check_container_resource(l->c, &item, map->members[i].key);
		else
			check_resource(l->c, &item, map->members[i].key);
	}
}

/* `shown` is what the message shows: it must be `above` no more than `below`. */
static void check_order(const struct limit *l, const char *name, struct ks_str key, struct ks_str shown, const char *format, struct ks_str low,
	struct ks_str high)
{
	struct ks_path at = ks_path_child(l->path, name), item = ks_path_key(&at, key);

	if (ks_quantity_text_cmp(low, high) <= 0)
		return;
	ks_status_cause(l->c->status, l->c->arena, "FieldValueInvalid", ks_path_text(l->c->arena, &item, NULL), "Invalid value: \"%.*s\": %s", (int)shown.n,
		shown.p, ks_err_detail(l->c, format, (int)low.n, low.p, (int)high.n, high.p));
}

static double as_double(struct ks_str text)
{
	struct ks_quantity q;
	const char *message;

	return ks_quantity_parse(text, &q, &message) ? 0 : (double)ks_quantity_milli(&q) / 1000;
}

static void check_ratio(const struct limit *l, struct ks_str key, struct ks_str ratio, bool bounded, struct ks_str min, struct ks_str max)
{
	struct ks_path at = ks_path_child(l->path, "maxLimitRequestRatio"), item = ks_path_key(&at, key);
	double most;

	if (ks_quantity_text_cmp(ratio, KS_STR_LIT("1")) < 0)
		ks_err_invalid_text(l->c, &item, NULL, ratio, ks_err_detail(l->c, "ratio %.*s is less than 1", (int)ratio.n, ratio.p));
	if (!bounded)
		return;
	most = as_double(max) / as_double(min);
	if (as_double(ratio) > most)
		ks_err_invalid_text(l->c, &item, NULL, ratio, ks_err_detail(l->c, "ratio %.*s is greater than max/min = %f", (int)ratio.n, ratio.p, most));
}

static void check_resource_limits(const struct limit *l, struct ks_str key)
{
	struct ks_str min, max, def, request, ratio;
	bool has_min = ks_quantity_in(l->c, l->min, key, &min), has_max = ks_quantity_in(l->c, l->max, key, &max);
	bool has_default = ks_quantity_in(l->c, l->defaults, key, &def), has_request = ks_quantity_in(l->c, l->requests, key, &request);
	struct ks_path at = ks_path_child(l->path, "defaultRequest"), item = ks_path_key(&at, key);

	if (has_min && has_max)
		check_order(l, "min", key, min, "min value %.*s is greater than max value %.*s", min, max);
	if (has_request && has_min)
		check_order(l, "defaultRequest", key, request, "min value %.*s is greater than default request value %.*s", min, request);
	if (has_request && has_max)
		check_order(l, "defaultRequest", key, request, "default request value %.*s is greater than max value %.*s", request, max);
	if (has_request && has_default)
		check_order(l, "defaultRequest", key, request, "default request value %.*s is greater than default limit value %.*s", request, def);
	if (has_default && has_min)
		check_order(l, "default", key, min, "min value %.*s is greater than default value %.*s", min, def);
	if (has_default && has_max)
		check_order(l, "default", key, max, "default value %.*s is greater than max value %.*s", def, max);
	if (ks_quantity_in(l->c, l->ratios, key, &ratio))
		check_ratio(l, key, ratio, has_min && has_max, min, max);
	if ((!is_native(key) || is_huge(key)) && has_default && has_request && ks_quantity_text_cmp(def, request))
		ks_err_invalid_text(l->c, &item, NULL, request, ks_err_detail(l->c, "default value %.*s must equal to defaultRequest value %.*s in %.*s",
			(int)def.n, def.p, (int)request.n, request.p, (int)key.n, key.p));
}

/* Each resource once, in whatever maps it is. */
static void check_all_resources(const struct limit *l)
{
	const struct ks_value *maps[] = {l->max, l->min, l->defaults, l->requests, l->ratios};

	for (size_t m = 0; m < sizeof(maps) / sizeof(maps[0]); m++) {
		for (uint32_t i = 0; i < ks_value_count(maps[m]); i++) {
			struct ks_str key = maps[m]->members[i].key;
			bool seen = false;

			for (size_t k = 0; k < m && !seen; k++)
				seen = maps[k] && ks_value_get_str(l->c->schema, maps[k], key);
			if (!seen)
				check_resource_limits(l, key);
		}
	}
}

static void check_type(struct ks_check *c, const struct ks_path *path, struct ks_str type)
{
	static const char *const types[] = {"Pod", "Container", "PersistentVolumeClaim", NULL};

	if (ks_check_name(c, path, "type", KS_NAME_LABEL_KEY, type) && !ks_str_has(type, "/") && !ks_str_in(type, types))
		ks_err_invalid_text(c, path, "type", type, "must be a standard limit type or fully qualified");
}

static void check_limit(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char not_for_pods[] = "may not be specified when `type` is 'Pod'";
	struct ks_str type = KS_IN_TEXT(c, v, "type"), unused;
	bool pod = ks_str_is(type, "Pod");
	struct limit l = {.c = c, .path = path, .max = KS_IN_MAP(c, v, "max"), .min = KS_IN_MAP(c, v, "min"),
		.ratios = KS_IN_MAP(c, v, "maxLimitRequestRatio"), .of_pods = pod || ks_str_is(type, "Container")};

	check_limit_resources(&l, "max", l.max);
	check_limit_resources(&l, "min", l.min);
	if (pod && ks_value_count(KS_IN(c, v, "default")))
		ks_err_forbidden(c, path, "default", not_for_pods);
	if (pod && ks_value_count(KS_IN(c, v, "defaultRequest")))
		ks_err_forbidden(c, path, "defaultRequest", not_for_pods);
	if (!pod) {
		l.defaults = KS_IN_MAP(c, v, "default");
		l.requests = KS_IN_MAP(c, v, "defaultRequest");
		check_limit_resources(&l, "default", l.defaults);
		check_limit_resources(&l, "defaultRequest", l.requests);
	}
	if (ks_str_is(type, "PersistentVolumeClaim") && !ks_quantity_in(c, l.min, KS_STR_LIT("storage"), &unused) &&
		!ks_quantity_in(c, l.max, KS_STR_LIT("storage"), &unused))
		ks_err_required(c, path, "limits", "either minimum or maximum storage value is required, but neither was provided");
	check_limit_resources(&l, "maxLimitRequestRatio", l.ratios);
	check_all_resources(&l);
}

void ks_validate_limitrange(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	const struct ks_value *limits = KS_IN_LIST(&c, KS_IN(&c, object, "spec"), "limits");
	struct ks_path path = ks_path_root("spec.limits");
	struct ks_seen seen = {.n = 0};

	(void)old;
	for (uint32_t i = 0; i < ks_value_count(limits); i++) {
		struct ks_path item = ks_path_index(&path, i);
		struct ks_str type = KS_IN_TEXT(&c, &limits->items[i], "type");

		check_type(&c, &item, type);
		if (!ks_seen_add(&c, &seen, type))
			ks_err_duplicate_text(&c, &item, "type", type);
		check_limit(&c, &item, &limits->items[i]);
	}
}

/* -- quotas ------------------------------------------------------------------------------------------------------- */

static bool is_quota_resource(struct ks_str name)
{
	return ks_str_in(name, of_quotas) || is_huge(name) || ks_str_starts_with(name, "requests.hugepages-");
}

static void check_amounts(struct ks_check *c, const struct ks_path *path, const struct ks_value *map)
{
	for (uint32_t i = 0; i < ks_value_count(map); i++) {
		struct ks_str name = map->members[i].key;
		struct ks_path item = ks_path_key(path, name);

		check_resource(c, &item, name);
		if (!ks_str_has(name, "/") && !is_quota_resource(name))
			ks_err_invalid_text(c, &item, NULL, name, "must be a standard resource for quota");
		ks_check_amount(c, &item, name, ks_value_str(&map->members[i].value));
	}
}

static const char *const scopes[] = {"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity",
	"VolumeAttributesClass", NULL};
static const char *const pod_resources[] = {"cpu", "memory", "pods", "limits.cpu", "limits.memory", "limits.ephemeral-storage", "requests.cpu",
	"requests.memory", "requests.ephemeral-storage", NULL};
static const char *const claim_resources[] = {"persistentvolumeclaims", "requests.storage", NULL};

/* Does it make sense to count that of what the scope holds? */
static bool scope_fits(struct ks_str scope, struct ks_str resource)
{
	if (ks_str_is(scope, "BestEffort"))
		return ks_str_is(resource, "pods");
	if (ks_str_is(scope, "VolumeAttributesClass"))
		return ks_str_in(resource, claim_resources);
	if (ks_str_in(scope, scopes))
		return ks_str_in(resource, pod_resources) || ks_str_starts_with(resource, "requests.hugepages-") || is_huge(resource);
	return true;
}

static uint32_t misfits(const struct ks_value *hard, struct ks_str scope)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ks_value_count(hard); i++)
		n += is_quota_resource(hard->members[i].key) && !scope_fits(scope, hard->members[i].key);
	return n;
}

static void check_scopes(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	const struct ks_value *list = KS_IN_LIST(c, spec, "scopes"), *hard = KS_IN_MAP(c, spec, "hard");

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_str scope = ks_value_str(&list->items[i]);

		if (!ks_str_in(scope, scopes))
			ks_err_invalid(c, path, "scopes", list, "unsupported scope");
		for (uint32_t k = misfits(hard, scope); k; k--)
			ks_err_invalid(c, path, "scopes", list, "unsupported scope applied to resource");
	}
	if (ks_list_has(list, KS_STR_LIT("BestEffort")) && ks_list_has(list, KS_STR_LIT("NotBestEffort")))
		ks_err_invalid(c, path, "scopes", list, "conflicting scopes");
	if (ks_list_has(list, KS_STR_LIT("Terminating")) && ks_list_has(list, KS_STR_LIT("NotTerminating")))
		ks_err_invalid(c, path, "scopes", list, "conflicting scopes");
}

static void check_scope_requirement(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, struct ks_str scope)
{
	static const char *const existing[] = {"BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity", NULL};
	struct ks_str op = KS_IN_TEXT(c, v, "operator");
	const struct ks_value *values = KS_IN_LIST(c, v, "values");

	if (ks_str_in(scope, existing) && !ks_str_is(op, "Exists"))
		ks_err_invalid_text(c, path, "operator", op, "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, "
			"ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
			"ResourceQuotaScopeCrossNamespacePodAffinity");
	if (ks_str_is(op, "In") || ks_str_is(op, "NotIn")) {
		if (!ks_value_count(values))
			ks_err_required(c, path, "values", "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector");
	} else if (ks_str_is(op, "Exists") || ks_str_is(op, "DoesNotExist")) {
		if (ks_value_count(values))
			ks_err_invalid(c, path, "values", values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector");
	} else {
		ks_err_invalid_text(c, path, "operator", op, "not a valid selector operator");
	}
}

static bool selects(struct ks_check *c, const struct ks_value *list, const char *scope)
{
	for (uint32_t i = 0; i < ks_value_count(list); i++)
		if (ks_str_is(KS_IN_TEXT(c, &list->items[i], "scopeName"), scope))
			return true;
	return false;
}

static void check_scope_selector(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *spec)
{
	const struct ks_value *list = KS_IN_LIST(c, KS_IN(c, spec, "scopeSelector"), "matchExpressions");
	struct ks_path path = ks_path_child(spec_path, "scopeSelector.matchExpressions");

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_str scope = KS_IN_TEXT(c, &list->items[i], "scopeName");

		if (!ks_str_in(scope, scopes))
			ks_err_invalid_text(c, &path, "scopeName", scope, "unsupported scope");
		for (uint32_t k = misfits(KS_IN_MAP(c, spec, "hard"), scope); k; k--)
			ks_err_invalid_slot(c, &path, NULL, spec, "scopeSelector", "unsupported scope applied to resource");
		check_scope_requirement(c, &path, &list->items[i], scope);
	}
	if (selects(c, list, "BestEffort") && selects(c, list, "NotBestEffort"))
		ks_err_invalid_slot(c, &path, NULL, spec, "scopes", "conflicting scopes");
	if (selects(c, list, "Terminating") && selects(c, list, "NotTerminating"))
		ks_err_invalid_slot(c, &path, NULL, spec, "scopes", "conflicting scopes");
}

static bool same_scopes(const struct ks_value *a, const struct ks_value *b)
{
	for (uint32_t i = 0; i < ks_value_count(a); i++)
		if (!ks_list_has(b, ks_value_str(&a->items[i])))
			return false;
	for (uint32_t i = 0; i < ks_value_count(b); i++)
		if (!ks_list_has(a, ks_value_str(&b->items[i])))
			return false;
	return true;
}

void ks_validate_resourcequota(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec"), hard = ks_path_child(&path, "hard");
	struct ks_path status_hard = ks_path_root("status.hard"), used = ks_path_root("status.used");
	struct ks_value spec = ks_struct_in(&c, object, "spec");
	const struct ks_value *state = KS_IN(&c, object, "status");

	if (!ctx->subresource.n) {
		check_amounts(&c, &hard, KS_IN_MAP(&c, &spec, "hard"));
		check_scopes(&c, &path, &spec);
		check_scope_selector(&c, &path, &spec);
	}
	if (!old || ctx->subresource.n) {
		check_amounts(&c, &status_hard, KS_IN_MAP(&c, state, "hard"));
		check_amounts(&c, &used, KS_IN_MAP(&c, state, "used"));
		return;
	}
	if (!same_scopes(KS_IN_LIST(&c, &spec, "scopes"), KS_IN_LIST(&c, KS_IN(&c, old, "spec"), "scopes")))
		ks_err_invalid_slot(&c, &path, "scopes", &spec, "scopes", "field is immutable");
}
