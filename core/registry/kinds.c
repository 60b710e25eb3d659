/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Kinds that need a few lines each: volumes, policies, definitions, limits. */
#include <ctype.h>

#include "core/api/uid.h"
#include "core/registry/kit.h"
#include "core/registry/strategies.h"
#include "core/registry/validate/kinds.h"
#include "core/registry/validate/warn_objects.h"

/* -- volumes ------------------------------------------------------------------------------------------------------ */

/* What dataSource could always say: another claim, or a snapshot. */
static bool is_old_source(struct ks_registry_context *ctx, struct ks_value *claim)
{
	struct ks_str kind = ks_kit_text(ctx, claim, "spec.dataSource.kind"), group = ks_kit_text(ctx, claim, "spec.dataSource.apiGroup");

	return (ks_str_is(kind, "PersistentVolumeClaim") && !group.n) ||
		(ks_str_is(kind, "VolumeSnapshot") && ks_str_is(group, "snapshot.storage.k8s.io"));
}

/*
 * A source in another namespace is nothing that is served. And other sources than there were once are only taken from
 * dataSourceRef: dataSource has always dropped them without a word. What the stored claim has may stay.
 */
static void drop_sources(struct ks_registry_context *ctx, struct ks_value *claim, const struct ks_value *old)
{
	bool had_ref = old && ks_kit_at(ctx, old, "spec.dataSourceRef"), had_source = old && ks_kit_at(ctx, old, "spec.dataSource");

	if (!had_ref && ks_kit_text(ctx, claim, "spec.dataSourceRef.namespace").n)
		ks_kit_clear(ctx, claim, "spec.dataSourceRef");
	if (!had_ref && !had_source && !ks_kit_at(ctx, claim, "spec.dataSourceRef") && ks_kit_at(ctx, claim, "spec.dataSource") &&
		!is_old_source(ctx, claim))
		ks_kit_clear(ctx, claim, "spec.dataSource");
}

/* dataSource and dataSourceRef say the same in two ways; who says one has both. */
static void claim_sources(struct ks_registry_context *ctx, struct ks_value *claim)
{
	static const char *const names[] = {"apiGroup", "kind", "name"};
	const char *to = NULL, *from = NULL;

	if (ks_kit_at(ctx, claim, "spec.dataSource") && !ks_kit_at(ctx, claim, "spec.dataSourceRef")) {
		from = "spec.dataSource";
		to = "spec.dataSourceRef";
	} else if (ks_kit_at(ctx, claim, "spec.dataSourceRef") && !ks_kit_at(ctx, claim, "spec.dataSource") &&
		!ks_kit_text(ctx, claim, "spec.dataSourceRef.namespace").n) {
		from = "spec.dataSourceRef";
		to = "spec.dataSource";
	}
	for (size_t i = 0; to && i < 3; i++) {
		const struct ks_value *v = ks_kit_at(ctx, claim, ks_kit_path(ctx, "%s.%s", from, names[i]));

		if (v)
			ks_kit_set(ctx, claim, ks_kit_path(ctx, "%s.%s", to, names[i]), *v);
	}
}

static void claim_create(struct ks_registry_context *ctx, struct ks_value *claim)
{
	drop_sources(ctx, claim, NULL);
	claim_sources(ctx, claim);
	ks_kit_set_text(ctx, claim, "status.phase", "Pending");
}

static void claim_update(struct ks_registry_context *ctx, struct ks_value *claim, const struct ks_value *old)
{
	if (ctx->subresource.n)
		return;
	drop_sources(ctx, claim, old);
	claim_sources(ctx, claim);
}

static void volume_create(struct ks_registry_context *ctx, struct ks_value *volume)
{
	ks_kit_set_text(ctx, volume, "status.phase", "Pending");
	ks_kit_set(ctx, volume, "status.lastPhaseTransitionTime", ks_value_from_str(ks_time_text(ctx->arena, ctx->now_ms)));
}

/* A phase that changes has the time of its change. */
static void volume_update(struct ks_registry_context *ctx, struct ks_value *volume, const struct ks_value *old)
{
	if (ks_str_is(ctx->subresource, "status") && !ks_kit_same(ctx, volume, old, "status.phase") &&
		ks_kit_same(ctx, volume, old, "status.lastPhaseTransitionTime"))
		ks_kit_set(ctx, volume, "status.lastPhaseTransitionTime", ks_value_from_str(ks_time_text(ctx->arena, ctx->now_ms)));
}

const struct ks_strategy ks_strategy_persistentvolumes = {
	.group = "", .resource = "persistentvolumes",
	.flags = KS_STRATEGY_RETURNS_DELETED,
	.prepare_create = volume_create,
	.prepare_update = volume_update,
	.validate = ks_validate_persistentvolume,
	.warnings = ks_warn_persistentvolume,
};

const struct ks_strategy ks_strategy_persistentvolumeclaims = {
	.group = "", .resource = "persistentvolumeclaims",
	.flags = KS_STRATEGY_RETURNS_DELETED,
	.prepare_create = claim_create,
	.prepare_update = claim_update,
	.validate = ks_validate_persistentvolumeclaim,
	.warnings = ks_warn_persistentvolumeclaim,
};

/* What a kubelet has to learn anew is counted. */
static void driver_update(struct ks_registry_context *ctx, struct ks_value *driver, const struct ks_value *old)
{
	if (!ks_kit_same(ctx, driver, old, "spec.tokenRequests") || !ks_kit_same(ctx, driver, old, "spec.requiresRepublish") ||
		!ks_kit_same(ctx, driver, old, "spec.seLinuxMount"))
		ks_meta_set_int(ctx->arena, ctx->schema, driver, "generation", ks_meta_int(ctx->schema, old, "generation", 0) + 1);
}

const struct ks_strategy ks_strategy_csidrivers = {
	.group = "storage.k8s.io", .resource = "csidrivers",
	.flags = KS_STRATEGY_RETURNS_DELETED | KS_STRATEGY_NEEDS_REVISION,
	.prepare_update = driver_update,
	.validate = ks_validate_csidriver,
	.warnings = ks_warn_csidriver,
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
	.validate = ks_validate_networkpolicy,
	.warnings = ks_warn_networkpolicy,
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

const struct ks_strategy ks_strategy_rolebindings = {
	.group = "rbac.authorization.k8s.io", .resource = "rolebindings",
	.flags = KS_STRATEGY_CREATE_ON_UPDATE, .names = KS_NAME_PATH,
	.defaults = binding_defaults, .validate = ks_validate_rolebinding,
};

const struct ks_strategy ks_strategy_clusterrolebindings = {
	.group = "rbac.authorization.k8s.io", .resource = "clusterrolebindings",
	.flags = KS_STRATEGY_CREATE_ON_UPDATE, .names = KS_NAME_PATH,
	.defaults = binding_defaults, .validate = ks_validate_clusterrolebinding,
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

/* -- limits ------------------------------------------------------------------------------------------------------- */

/* What `from` has and `to` has not. */
static bool fill(struct ks_registry_context *ctx, struct ks_value *limit, const char *to, const char *from)
{
	const struct ks_value *source = ks_kit_map(ctx, limit, from);
	struct ks_value *target;

	if (!source)
		return true;
	target = ks_value_put(ctx->arena, ctx->schema, limit, ks_str_from(to));
	if (!target)
		return false;
	if (target->kind != KS_MAP)
		*target = (struct ks_value){.kind = KS_MAP, .type = source->type};
	for (uint32_t i = 0; i < source->n; i++) {
		struct ks_value *place;

		if (ks_value_get_str(ctx->schema, target, source->members[i].key))
			continue;
		place = ks_value_put(ctx->arena, ctx->schema, target, source->members[i].key);
		if (!place)
			return false;
		*place = source->members[i].value;
	}
	return true;
}

/* Of containers: the most is the default, the default is what is asked for, and so is the least. */
static bool limitrange_defaults(struct ks_registry_context *ctx, struct ks_value *range)
{
	struct ks_value *limits = ks_kit_list(ctx, range, "spec.limits");

	for (uint32_t i = 0; limits && i < limits->n; i++) {
		struct ks_value *limit = &limits->items[i];

		if (!ks_str_is(ks_kit_text(ctx, limit, "type"), "Container"))
			continue;
		if (!fill(ctx, limit, "default", "max") || !fill(ctx, limit, "defaultRequest", "default") || !fill(ctx, limit, "defaultRequest", "min"))
			return false;
	}
	return true;
}

/* One that has no name gets a unique one, which is not its uid. */
static void limitrange_create(struct ks_registry_context *ctx, struct ks_value *range)
{
	char name[KS_UID_TEXT];
	const char *copy;

	if (ks_meta_text(ctx->schema, range, "name").n || ks_uid_new(name))
		return; /* without a name it is refused */
	copy = ks_arena_dup(ctx->arena, name, KS_UID_TEXT - 1);
	if (copy)
		ks_meta_set_text(ctx->arena, ctx->schema, range, "name", ks_str_of(copy, KS_UID_TEXT - 1));
}

const struct ks_strategy ks_strategy_limitranges = {
	.group = "", .resource = "limitranges",
	.flags = KS_STRATEGY_CREATE_ON_UPDATE,
	.defaults = limitrange_defaults,
	.prepare_create = limitrange_create,
	.validate = ks_validate_limitrange,
};

/* -- priorities --------------------------------------------------------------------------------------------------- */

static int refuse_system_priority(struct ks_registry_context *ctx, const struct ks_value *class, struct ks_status *status)
{
	struct ks_str name = ks_meta_text(ctx->schema, class, "name");

	if (!ks_str_is(name, "system-node-critical") && !ks_str_is(name, "system-cluster-critical"))
		return 0;
	return ks_status_forbidden(status, ctx->arena, "scheduling.k8s.io", "priorityclasses", name,
		"this is a system priority class and cannot be deleted");
}

const struct ks_strategy ks_strategy_priorityclasses = {
	.group = "scheduling.k8s.io", .resource = "priorityclasses",
	.generation = KS_GENERATION_ONCE,
	.validate = ks_validate_priorityclass,
	.refuse_delete = refuse_system_priority,
};

/* -- requests for certificates ------------------------------------------------------------------------------------ */

/* Who asks is who is logged in. */
static void csr_create(struct ks_registry_context *ctx, struct ks_value *csr)
{
	struct ks_value *groups;

	ks_kit_clear(ctx, csr, "spec.username");
	ks_kit_clear(ctx, csr, "spec.uid");
	ks_kit_clear(ctx, csr, "spec.groups");
	ks_kit_clear(ctx, csr, "spec.extra");
	ks_kit_set(ctx, csr, "spec.username", ks_value_from_str(ctx->user));
	if (ctx->user_uid.n)
		ks_kit_set(ctx, csr, "spec.uid", ks_value_from_str(ctx->user_uid));
	groups = ctx->n_groups ? ks_kit_make_list(ctx, csr, "spec.groups") : NULL;
	for (size_t i = 0; groups && i < ctx->n_groups; i++)
		ks_kit_append_text(ctx, groups, ctx->groups[i]);
}

/* When a condition was said, and since when it holds. */
static void stamp_conditions(struct ks_registry_context *ctx, struct ks_value *csr, const struct ks_value *old)
{
	struct ks_value *list = ks_kit_list(ctx, csr, "status.conditions"), now = ks_value_from_str(ks_time_text(ctx->arena, ctx->now_ms));
	const struct ks_value *before = ks_kit_list(ctx, old, "status.conditions");

	for (uint32_t i = 0; list && i < list->n; i++) {
		struct ks_value *condition = &list->items[i], since = now;

		ks_kit_default(ctx, condition, "lastUpdateTime", now);
		for (uint32_t k = 0; before && k < before->n; k++)
			if (ks_kit_same(ctx, &before->items[k], condition, "type") && ks_kit_same(ctx, &before->items[k], condition, "status") &&
				ks_kit_at(ctx, &before->items[k], "lastTransitionTime"))
				since = *ks_kit_at(ctx, &before->items[k], "lastTransitionTime");
		ks_kit_default(ctx, condition, "lastTransitionTime", since);
	}
}

/* The request stays as it was made; each subresource changes its own part of status. */
static void csr_update(struct ks_registry_context *ctx, struct ks_value *csr, const struct ks_value *old)
{
	ks_kit_take(ctx, csr, old, "spec");
	if (!ks_str_is(ctx->subresource, "status") && !ks_str_is(ctx->subresource, "approval")) {
		ks_kit_take(ctx, csr, old, "status");
		return;
	}
	if (ks_str_is(ctx->subresource, "approval"))
		ks_kit_take(ctx, csr, old, "status.certificate");
	stamp_conditions(ctx, csr, old);
}

const struct ks_strategy ks_strategy_certificatesigningrequests = {
	.group = "certificates.k8s.io", .resource = "certificatesigningrequests",
	.prepare_create = csr_create,
	.prepare_update = csr_update,
	.validate = ks_validate_certificatesigningrequest,
};

/* -- claims of devices -------------------------------------------------------------------------------------------- */

/* Who wants an exact number and says none wants one. */
static bool count_devices(struct ks_registry_context *ctx, struct ks_value *request)
{
	if (!request || !ks_str_is(ks_kit_text(ctx, request, "allocationMode"), "ExactCount") || ks_kit_int(ctx, request, "count", 0))
		return true;
	return ks_kit_set(ctx, request, "count", ks_value_from_int(1));
}

static bool device_requests(struct ks_registry_context *ctx, struct ks_value *object, const char *path)
{
	struct ks_value *requests = ks_kit_list(ctx, object, path);

	for (uint32_t i = 0; requests && i < requests->n; i++) {
		struct ks_value *choices = ks_kit_list(ctx, &requests->items[i], "firstAvailable");

		if (!count_devices(ctx, ks_kit_at(ctx, &requests->items[i], "exactly")))
			return false;
		for (uint32_t k = 0; choices && k < choices->n; k++)
			if (!count_devices(ctx, &choices->items[k]))
				return false;
	}
	return true;
}

static bool resourceclaim_defaults(struct ks_registry_context *ctx, struct ks_value *claim)
{
	return device_requests(ctx, claim, "spec.devices.requests");
}

static bool resourceclaimtemplate_defaults(struct ks_registry_context *ctx, struct ks_value *template)
{
	return device_requests(ctx, template, "spec.spec.devices.requests");
}

static bool is_allocated(struct ks_registry_context *ctx, const struct ks_value *claim, const struct ks_value *device)
{
	const struct ks_value *results = ks_kit_list(ctx, claim, "status.allocation.devices.results");

	for (uint32_t i = 0; results && i < results->n; i++)
		if (ks_kit_same(ctx, &results->items[i], device, "driver") && ks_kit_same(ctx, &results->items[i], device, "pool") &&
			ks_kit_same(ctx, &results->items[i], device, "device"))
			return true;
	return false;
}

/* What is said about a device goes when the claim gives the device back. */
static void resourceclaim_update(struct ks_registry_context *ctx, struct ks_value *claim, const struct ks_value *old)
{
	struct ks_value *devices = ks_str_is(ctx->subresource, "status") ? ks_kit_list(ctx, claim, "status.devices") : NULL;

	for (uint32_t i = 0; devices && i < devices->n;) {
		if (is_allocated(ctx, old, &devices->items[i]) && !is_allocated(ctx, claim, &devices->items[i]))
			ks_value_remove_item(devices, i);
		else
			i++;
	}
	if (devices && !devices->n)
		ks_kit_clear(ctx, claim, "status.devices");
}

/* A taint holds since it is known. */
static bool resourceslice_defaults(struct ks_registry_context *ctx, struct ks_value *slice)
{
	struct ks_value *devices = ks_kit_list(ctx, slice, "spec.devices");

	for (uint32_t i = 0; devices && i < devices->n; i++) {
		struct ks_value *taints = ks_kit_list(ctx, &devices->items[i], "taints");

		for (uint32_t k = 0; taints && k < taints->n; k++)
			if (!ks_kit_default(ctx, &taints->items[k], "timeAdded", ks_value_from_str(ks_time_text(ctx->arena, ctx->now_ms))))
				return false;
	}
	return true;
}

const struct ks_strategy ks_strategy_resourceslices = {
	.group = "resource.k8s.io", .resource = "resourceslices",
	.generation = KS_GENERATION_SPEC,
	.defaults = resourceslice_defaults,
	.validate = ks_validate_resourceslice,
};

const struct ks_strategy ks_strategy_resourceclaims = {
	.group = "resource.k8s.io", .resource = "resourceclaims",
	.flags = KS_STRATEGY_STATUS_KEEPS_METADATA,
	.defaults = resourceclaim_defaults,
	.prepare_update = resourceclaim_update,
	.validate = ks_validate_resourceclaim,
};

const struct ks_strategy ks_strategy_resourceclaimtemplates = {
	.group = "resource.k8s.io", .resource = "resourceclaimtemplates",
	.defaults = resourceclaimtemplate_defaults,
	.validate = ks_validate_resourceclaimtemplate,
};
