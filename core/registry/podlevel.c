/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What a pod as a whole has from its containers and annotations. */
#include "core/api/quantity.h"
#include "core/registry/kit.h"

/* -- resources ---------------------------------------------------------------------------------------------------- */

static bool is_pod_resource(struct ks_str name)
{
	return ks_str_is(name, "cpu") || ks_str_is(name, "memory");
}

static void add_amount(struct ks_registry_context *ctx, const struct ks_value *container, struct ks_str name, struct ks_quantity *sum, bool *any)
{
	const struct ks_value *requests = ks_kit_map(ctx, container, "resources.requests");
	const struct ks_value *amount = requests ? ks_value_get_str(ctx->schema, requests, name) : NULL;
	struct ks_quantity q;
	const char *message;

	if (!amount || ks_quantity_parse(ks_value_str(amount), &q, &message))
		return;
	ks_quantity_add(sum, &q);
	*any = true;
}

/* Containers and sidecars together, or the init container that needs more than they do. */
static void sum_amounts(struct ks_registry_context *ctx, const struct ks_value *spec, struct ks_str name, struct ks_quantity *sum, bool *any)
{
	const struct ks_value *list = ks_kit_list(ctx, spec, "containers"), *init = ks_kit_list(ctx, spec, "initContainers");
	struct ks_quantity sidecars = {0}, most = {0};

	for (uint32_t i = 0; list && i < list->n; i++)
		add_amount(ctx, &list->items[i], name, sum, any);
	for (uint32_t i = 0; init && i < init->n; i++) {
		struct ks_quantity own = sidecars;

		add_amount(ctx, &init->items[i], name, &own, any);
		if (ks_str_is(ks_kit_text(ctx, &init->items[i], "restartPolicy"), "Always")) {
			sidecars = own;
			add_amount(ctx, &init->items[i], name, sum, any);
		}
		if (ks_quantity_cmp(&own, &most) > 0)
			most = own;
	}
	if (ks_quantity_cmp(&most, sum) > 0)
		*sum = most;
}

static bool set_request(struct ks_registry_context *ctx, struct ks_value *spec, struct ks_str name, struct ks_str amount)
{
	struct ks_value *requests = ks_value_put_at(ctx->arena, ctx->schema, spec, "resources.requests"), *place;

	if (!requests)
		return false;
	if (requests->kind != KS_MAP) {
		const struct ks_value *limits = ks_kit_map(ctx, spec, "resources.limits");

		*requests = (struct ks_value){.kind = KS_MAP, .type = limits ? limits->type : 0};
	}
	if (ks_value_get_str(ctx->schema, requests, name))
		return true;
	place = ks_value_put(ctx->arena, ctx->schema, requests, name);
	if (!place)
		return false;
	*place = ks_value_from_str(amount);
	return true;
}

static bool request_from_containers(struct ks_registry_context *ctx, struct ks_value *spec, struct ks_str name)
{
	struct ks_quantity sum = {0};
	bool any = false;
	char text[KS_QUANTITY_TEXT], *copy;
	size_t n;

	sum_amounts(ctx, spec, name, &sum, &any);
	if (!any)
		return true;
	n = ks_quantity_print(&sum, text);
	copy = ks_arena_dup(ctx->arena, text, n);
	return copy && set_request(ctx, spec, name, ks_str_of(copy, n));
}

bool ks_pod_requests_defaults(struct ks_registry_context *ctx, struct ks_value *spec)
{
	const struct ks_value *limits = ks_kit_map(ctx, spec, "resources.limits");

	if (!limits && !ks_kit_map(ctx, spec, "resources.requests"))
		return true;
	if (!request_from_containers(ctx, spec, KS_STR_LIT("cpu")) || !request_from_containers(ctx, spec, KS_STR_LIT("memory")))
		return false;
	for (uint32_t i = 0; limits && i < limits->n; i++)
		if ((is_pod_resource(limits->members[i].key) || ks_str_starts(limits->members[i].key, KS_STR_LIT("hugepages-"))) &&
			!set_request(ctx, spec, limits->members[i].key, ks_value_str(&limits->members[i].value)))
			return false;
	return true;
}

/* -- profiles ------------------------------------------------------------------------------------------------------- */

#define APPARMOR "container.apparmor.security.beta.kubernetes.io/"

struct profile {
	const char *type;
	struct ks_str local;
};

/* NULL type: the annotation says nothing that a field can. */
static struct profile profile_of(struct ks_str said)
{
	static const struct ks_str localhost = {"localhost/", 10};

	if (!said.n || ks_str_is(said, "runtime/default"))
		return (struct profile){said.n ? "RuntimeDefault" : NULL, {0}};
	if (ks_str_is(said, "unconfined"))
		return (struct profile){"Unconfined", {0}};
	if (ks_str_starts(said, localhost) && said.n > localhost.n)
		return (struct profile){"Localhost", ks_str_of(said.p + localhost.n, said.n - localhost.n)};
	return (struct profile){NULL, {0}};
}

static bool is_pods_own(struct ks_registry_context *ctx, const struct ks_value *pod, struct profile profile)
{
	const struct ks_value *own = ks_kit_at(ctx, pod, "spec.securityContext.appArmorProfile");

	return own && ks_str_is(ks_kit_text(ctx, own, "type"), profile.type) && ks_str_eq(ks_kit_text(ctx, own, "localhostProfile"), profile.local);
}

static void take_profile(struct ks_registry_context *ctx, struct ks_value *pod, struct ks_value *container)
{
	struct ks_str name = ks_kit_text(ctx, container, "name");
	const char *key = ks_kit_path(ctx, APPARMOR "%.*s", (int)name.n, name.p ? name.p : "");
	const struct ks_value *notes = ks_kit_map(ctx, pod, "metadata.annotations"), *said = notes ? ks_value_get(ctx->schema, notes, key) : NULL;
	struct profile profile;

	if (!said || ks_kit_at(ctx, container, "securityContext.appArmorProfile"))
		return;
	profile = profile_of(ks_value_str(said));
	if (profile.type && is_pods_own(ctx, pod, profile))
		return;
	if (profile.type)
		ks_kit_set_text(ctx, container, "securityContext.appArmorProfile.type", profile.type);
	if (profile.local.n)
		ks_kit_set(ctx, container, "securityContext.appArmorProfile.localhostProfile", ks_value_from_str(profile.local));
	if (ctx->warn)
		ctx->warn(ctx->warn_arg, ks_str_from(ks_kit_path(ctx,
			"metadata.annotations[%s]: deprecated since v1.30; use the \"appArmorProfile\" field instead", key)));
}

void ks_pod_profiles_from_annotations(struct ks_registry_context *ctx, struct ks_value *pod)
{
	static const char *const lists[] = {"spec.initContainers", "spec.containers", "spec.ephemeralContainers"};

	if (!ks_kit_map(ctx, pod, "metadata.annotations") || ks_str_is(ks_kit_text(ctx, pod, "spec.os.name"), "windows"))
		return;
	for (size_t k = 0; k < 3; k++) {
		struct ks_value *list = ks_kit_list(ctx, pod, lists[k]);

		for (uint32_t i = 0; list && i < list->n; i++)
			take_profile(ctx, pod, &list->items[i]);
	}
}

/* -- keys of labels --------------------------------------------------------------------------------------------------- */

static bool add_expression(struct ks_registry_context *ctx, struct ks_value *term, struct ks_str key, const char *operator, struct ks_str value)
{
	struct ks_value *item = ks_kit_append_struct(ctx, term, "labelSelector.matchExpressions"), *values;

	if (!item || !ks_kit_set(ctx, item, "key", ks_value_from_str(key)) || !ks_kit_set_text(ctx, item, "operator", operator))
		return false;
	values = ks_kit_make_list(ctx, item, "values");
	return values && ks_kit_append_text(ctx, values, value);
}

static void merge_keys(struct ks_registry_context *ctx, const struct ks_value *labels, struct ks_value *term, const char *list_name, const char *operator)
{
	const struct ks_value *keys = ks_kit_list(ctx, term, list_name);

	if (!labels || !ks_kit_at(ctx, term, "labelSelector"))
		return;
	for (uint32_t i = 0; keys && i < keys->n; i++) {
		struct ks_str key = ks_value_str(&keys->items[i]);
		const struct ks_value *value = ks_value_get_str(ctx->schema, labels, key);

		if (value && !add_expression(ctx, term, key, operator, ks_value_str(value)))
			return;
	}
}

static void merge_term(struct ks_registry_context *ctx, const struct ks_value *labels, struct ks_value *term)
{
	if (!term)
		return;
	merge_keys(ctx, labels, term, "matchLabelKeys", "In");
	merge_keys(ctx, labels, term, "mismatchLabelKeys", "NotIn");
}

void ks_pod_merge_label_keys(struct ks_registry_context *ctx, struct ks_value *pod)
{
	static const char *const required[] = {"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution",
		"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution", "spec.topologySpreadConstraints"};
	static const char *const preferred[] = {"spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution",
		"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution"};
	const struct ks_value *labels = ks_kit_map(ctx, pod, "metadata.labels");

	for (size_t k = 0; k < 3; k++) {
		struct ks_value *list = ks_kit_list(ctx, pod, required[k]);

		for (uint32_t i = 0; list && i < list->n; i++)
			merge_term(ctx, labels, &list->items[i]);
	}
	for (size_t k = 0; k < 2; k++) {
		struct ks_value *list = ks_kit_list(ctx, pod, preferred[k]);

		for (uint32_t i = 0; list && i < list->n; i++)
			merge_term(ctx, labels, ks_kit_at(ctx, &list->items[i], "podAffinityTerm"));
	}
}

/* -- gates -------------------------------------------------------------------------------------------------------------- */

void ks_pod_begin_gated(struct ks_registry_context *ctx, struct ks_value *pod)
{
	struct ks_value *condition;

	if (!ks_kit_list(ctx, pod, "spec.schedulingGates"))
		return;
	condition = ks_kit_append_struct(ctx, pod, "status.conditions");
	if (!condition)
		return;
	ks_kit_set_text(ctx, condition, "type", "PodScheduled");
	ks_kit_set_text(ctx, condition, "status", "False");
	ks_kit_set_text(ctx, condition, "reason", "SchedulingGated");
	ks_kit_set_text(ctx, condition, "message", "Scheduling is blocked due to non-empty scheduling gates");
	ks_kit_set(ctx, condition, "lastTransitionTime", ks_value_from_str(ks_time_text(ctx->arena, ctx->now_ms)));
}
