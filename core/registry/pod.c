/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/quantity.h"
#include "core/registry/kit.h"
#include "core/registry/strategies.h"
#include "core/registry/validate/pods.h"
#include "core/registry/validate/warnings.h"

/* -- defaults ----------------------------------------------------------------------------------------------------- */

/* A limit without a request asks for as much. */
static bool requests_from_limits(struct ks_registry_context *ctx, struct ks_value *owner)
{
	const struct ks_value *limits = ks_kit_map(ctx, owner, "resources.limits");
	struct ks_value *requests;

	if (!limits)
		return true;
	requests = ks_value_put_at(ctx->arena, ctx->schema, owner, "resources.requests");
	if (!requests)
		return false;
	if (requests->kind != KS_MAP)
		*requests = (struct ks_value){.kind = KS_MAP, .type = limits->type};
	for (uint32_t i = 0; i < limits->n; i++) {
		struct ks_value *place;

		if (ks_value_get_str(ctx->schema, requests, limits->members[i].key))
			continue;
		place = ks_value_put(ctx->arena, ctx->schema, requests, limits->members[i].key);
		if (!place)
			return false;
		*place = limits->members[i].value;
	}
	return true;
}

static bool host_ports(struct ks_registry_context *ctx, struct ks_value *container)
{
	struct ks_value *ports = ks_kit_list(ctx, container, "ports");

	for (uint32_t i = 0; ports && i < ports->n; i++) {
		int64_t port = ks_kit_int(ctx, &ports->items[i], "containerPort", 0);

		if (!ks_kit_int(ctx, &ports->items[i], "hostPort", 0) && port && !ks_kit_set(ctx, &ports->items[i], "hostPort", ks_value_from_int(port)))
			return false;
	}
	return true;
}

static bool each_container(struct ks_registry_context *ctx, struct ks_value *pod, const char *path)
{
	struct ks_value *list = ks_kit_list(ctx, pod, path);
	bool host_network = ks_kit_true(ctx, pod, "spec.hostNetwork");

	for (uint32_t i = 0; list && i < list->n; i++)
		if (!requests_from_limits(ctx, &list->items[i]) || (host_network && !host_ports(ctx, &list->items[i])))
			return false;
	return true;
}

/* podIP is the first of podIPs; who knows only the one has the other, too, and where they differ podIP is meant. */
static bool addresses(struct ks_registry_context *ctx, struct ks_value *pod)
{
	struct ks_value *all = ks_kit_list(ctx, pod, "status.podIPs"), *item;
	struct ks_str one = ks_kit_text(ctx, pod, "status.podIP"), first = all ? ks_kit_text(ctx, &all->items[0], "ip") : (struct ks_str){0};

	if (!one.n)
		return !first.n || ks_kit_set(ctx, pod, "status.podIP", ks_value_from_str(first));
	if (ks_str_eq(one, first))
		return true;
	if (all)
		all->n = 0;
	item = ks_kit_append_struct(ctx, pod, "status.podIPs");
	return item && ks_kit_set(ctx, item, "ip", ks_value_from_str(one));
}

static bool pod_defaults(struct ks_registry_context *ctx, struct ks_value *pod)
{
	struct ks_value *spec = ks_kit_at(ctx, pod, "spec");

	if (!addresses(ctx, pod))
		return false;
	if (!spec)
		return true;
	return each_container(ctx, pod, "spec.containers") && each_container(ctx, pod, "spec.initContainers") && ks_pod_requests_defaults(ctx, spec) &&
		ks_kit_default(ctx, pod, "spec.enableServiceLinks", ks_value_from_bool(true)) && ks_pod_spec_defaults(ctx, spec);
}

/* -- quality of service ------------------------------------------------------------------------------------------- */

struct qos { bool any, guaranteed; };

static bool counts(struct ks_str resource)
{
	return ks_str_is(resource, "cpu") || ks_str_is(resource, "memory");
}

static bool is_positive(const struct ks_value *v)
{
	struct ks_quantity q;
	const char *message;

	return !ks_quantity_parse(ks_value_str(v), &q, &message) && ks_quantity_sign(&q) > 0;
}

static void judge_container(struct ks_registry_context *ctx, const struct ks_value *container, struct qos *qos)
{
	const struct ks_value *requests = ks_kit_map(ctx, container, "resources.requests");
	const struct ks_value *limits = ks_kit_map(ctx, container, "resources.limits");
	uint32_t limited = 0;

	for (uint32_t i = 0; requests && i < requests->n; i++)
		qos->any |= counts(requests->members[i].key) && is_positive(&requests->members[i].value);
	for (uint32_t i = 0; limits && i < limits->n; i++) {
		struct ks_str name = limits->members[i].key;
		const struct ks_value *asked = requests ? ks_value_get_str(ctx->schema, requests, name) : NULL;

		if (!counts(name) || !is_positive(&limits->members[i].value))
			continue;
		qos->any = true;
		limited++;
		if (asked && ks_quantity_cmp_text(ks_value_str(asked), ks_value_str(&limits->members[i].value)))
			qos->guaranteed = false;
	}
	if (limited < 2)
		qos->guaranteed = false;
}

const char *ks_pod_qos(struct ks_registry_context *ctx, const struct ks_value *pod)
{
	struct qos qos = {.guaranteed = true};
	const char *const lists[] = {"spec.containers", "spec.initContainers"};

	const struct ks_value *spec = ks_kit_at(ctx, pod, "spec");
	bool as_a_whole = ks_kit_map(ctx, spec, "resources.requests") || ks_kit_map(ctx, spec, "resources.limits");

	if (as_a_whole)
		judge_container(ctx, spec, &qos);
	for (size_t k = 0; k < 2 && !as_a_whole; k++) {
		const struct ks_value *list = ks_kit_list(ctx, pod, lists[k]);

		for (uint32_t i = 0; list && i < list->n; i++)
			judge_container(ctx, &list->items[i], &qos);
	}
	return !qos.any ? "BestEffort" : qos.guaranteed ? "Guaranteed" : "Burstable";
}

/* -- strategy ----------------------------------------------------------------------------------------------------- */

/* A pod can't wait less than no time. */
static void mend_grace(struct ks_registry_context *ctx, struct ks_value *pod)
{
	if (ks_kit_int(ctx, pod, "spec.terminationGracePeriodSeconds", 0) < 0)
		ks_kit_set(ctx, pod, "spec.terminationGracePeriodSeconds", ks_value_from_int(1));
}

static void pod_prepare_create(struct ks_registry_context *ctx, struct ks_value *pod)
{
	mend_grace(ctx, pod);
	ks_pod_profiles_from_annotations(ctx, pod);
	ks_pod_merge_label_keys(ctx, pod);
	ks_kit_set_text(ctx, pod, "status.phase", "Pending");
	ks_kit_set_text(ctx, pod, "status.qosClass", ks_pod_qos(ctx, pod));
	ks_pod_begin_gated(ctx, pod);
}

/* Of a resize, what the containers may use is taken, and nothing else. Who renames or moves one is left to validation. */
static bool take_resources(struct ks_registry_context *ctx, struct ks_value *spec, const struct ks_value *wanted, const char *path)
{
	struct ks_value *list = ks_kit_list(ctx, spec, path);
	const struct ks_value *from = ks_kit_list(ctx, wanted, path);

	for (uint32_t i = 0; list && i < list->n; i++) {
		if (!ks_str_eq(ks_kit_text(ctx, &list->items[i], "name"), ks_kit_text(ctx, &from->items[i], "name")))
			return ks_kit_take(ctx, spec, wanted, path);
		ks_kit_take(ctx, &list->items[i], &from->items[i], "resources");
		ks_kit_take(ctx, &list->items[i], &from->items[i], "resizePolicy");
	}
	return true;
}

static uint32_t count_of(struct ks_registry_context *ctx, const struct ks_value *spec, const char *path)
{
	const struct ks_value *list = ks_kit_list(ctx, spec, path);

	return list ? list->n : 0;
}

static bool same_count(struct ks_registry_context *ctx, const struct ks_value *spec, const struct ks_value *wanted)
{
	return count_of(ctx, spec, "containers") == count_of(ctx, wanted, "containers") &&
		count_of(ctx, spec, "initContainers") == count_of(ctx, wanted, "initContainers");
}

/* Subresources change one part of the spec. */
static void change_part(struct ks_registry_context *ctx, struct ks_value *pod, const struct ks_value *old)
{
	static const char *const metadata[] = {"labels", "annotations", "finalizers", "ownerReferences"};
	const struct ks_value *before = ks_kit_at(ctx, old, "spec"), *place = ks_kit_at(ctx, pod, "spec");
	bool resizes = ks_str_is(ctx->subresource, "resize");
	struct ks_value wanted, spec;

	if (!before || !place || (resizes && !same_count(ctx, before, place)) || !ks_value_copy(ctx->arena, before, &spec))
		return;
	for (size_t i = 0; i < sizeof(metadata) / sizeof(metadata[0]); i++)
		ks_meta_take(ctx->arena, ctx->schema, pod, old, metadata[i]);
	wanted = *place;
	if (resizes) {
		ks_kit_take(ctx, &spec, &wanted, "resources");
		take_resources(ctx, &spec, &wanted, "containers");
		take_resources(ctx, &spec, &wanted, "initContainers");
	} else {
		ks_kit_take(ctx, &spec, &wanted, "ephemeralContainers");
	}
	ks_kit_set(ctx, pod, "spec", spec);
}

/* The generation that the n-th condition of a type was seen at; there may be several of one type. */
static int64_t seen_before(struct ks_registry_context *ctx, const struct ks_value *old, struct ks_str type, uint32_t nth)
{
	const struct ks_value *list = ks_kit_list(ctx, old, "status.conditions");

	for (uint32_t i = 0; list && i < list->n; i++)
		if (ks_str_eq(ks_kit_text(ctx, &list->items[i], "type"), type) && !nth--)
			return ks_kit_int(ctx, &list->items[i], "observedGeneration", 0);
	return 0;
}

/* Who writes a status and knows nothing of observed generations leaves them as they are. */
static void keep_observed(struct ks_registry_context *ctx, struct ks_value *pod, const struct ks_value *old)
{
	struct ks_value *list = ks_kit_list(ctx, pod, "status.conditions");

	if (!ks_kit_int(ctx, pod, "status.observedGeneration", 0) && ks_kit_int(ctx, old, "status.observedGeneration", 0))
		ks_kit_take(ctx, pod, old, "status.observedGeneration");
	for (uint32_t i = 0; list && i < list->n; i++) {
		struct ks_str type = ks_kit_text(ctx, &list->items[i], "type");
		uint32_t nth = 0;
		int64_t seen;

		for (uint32_t k = 0; k < i; k++)
			nth += ks_str_eq(ks_kit_text(ctx, &list->items[k], "type"), type);
		seen = ks_kit_int(ctx, &list->items[i], "observedGeneration", 0) ? 0 : seen_before(ctx, old, type, nth);
		if (seen)
			ks_kit_set(ctx, &list->items[i], "observedGeneration", ks_value_from_int(seen));
	}
}

static void pod_prepare_update(struct ks_registry_context *ctx, struct ks_value *pod, const struct ks_value *old)
{
	if (ks_str_is(ctx->subresource, "ephemeralcontainers") || ks_str_is(ctx->subresource, "resize"))
		change_part(ctx, pod, old);
	if (ks_str_is(ctx->subresource, "status")) {
		ks_meta_take(ctx->arena, ctx->schema, pod, old, "ownerReferences");
		ks_meta_take(ctx->arena, ctx->schema, pod, old, "deletionTimestamp");
		if (!ks_kit_text(ctx, pod, "status.qosClass").n)
			ks_kit_take(ctx, pod, old, "status.qosClass");
		keep_observed(ctx, pod, old);
	} else {
		mend_grace(ctx, pod);
	}
}

/* A pod that no node runs, or that has ended, has nobody to wait for. */
static enum ks_delete_decision pod_begin_delete(struct ks_registry_context *ctx, const struct ks_value *pod, int64_t *grace_seconds)
{
	struct ks_str phase = ks_kit_text(ctx, pod, "status.phase");

	if (*grace_seconds < 0)
		*grace_seconds = ks_kit_int(ctx, pod, "spec.terminationGracePeriodSeconds", 0);
	if (*grace_seconds < 0)
		*grace_seconds = 1;
	if (!ks_kit_text(ctx, pod, "spec.nodeName").n || ks_str_is(phase, "Failed") || ks_str_is(phase, "Succeeded"))
		*grace_seconds = 0;
	return KS_DELETE_GRACEFUL;
}

const struct ks_strategy ks_strategy_pods = {
	.group = "", .resource = "pods",
	.flags = KS_STRATEGY_RETURNS_DELETED | KS_STRATEGY_VALIDATES_METADATA_AGAIN,
	.generation = KS_GENERATION_SPEC,
	.defaults = pod_defaults,
	.prepare_create = pod_prepare_create,
	.prepare_update = pod_prepare_update,
	.validate = ks_validate_pod,
	.warnings = ks_warn_pod,
	.begin_delete = pod_begin_delete,
};

static bool template_defaults(struct ks_registry_context *ctx, struct ks_value *object)
{
	return ks_pod_spec_defaults(ctx, ks_kit_at(ctx, object, "template.spec"));
}

const struct ks_strategy ks_strategy_podtemplates = {
	.group = "", .resource = "podtemplates",
	.flags = KS_STRATEGY_RETURNS_DELETED,
	.generation = KS_GENERATION_CONTENT,
	.defaults = template_defaults,
	.validate = ks_validate_podtemplate,
	.warnings = ks_warn_podtemplate,
};
