/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Deployments, replica sets, daemon sets, replication controllers: a selector, a template, a way to change. */
#include "core/registry/validate/pods.h"
#include "core/registry/validate/workloads.h"

static const char *const deployment_strategies[] = {"Recreate", "RollingUpdate", NULL};
static const char *const daemon_strategies[] = {"RollingUpdate", "OnDelete", NULL};
static const char invalid_selector[] = "invalid label selector";

static void check_not_negative(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *v)
{
	if (v)
		ks_check_nonnegative(c, path, name, ks_value_int_or(v, 0));
}

/* -- replica sets ----------------------------------------------------------------------------------------------------- */

static void check_replica_template(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old)
{
	const struct ks_value *selector = IN(spec, "selector");
	struct ks_value template = ks_struct_in(c, spec, "template");
	struct ks_path at = ks_path_child(path, "template");

	if (!ks_selector_is_sound(c, selector)) {
		ks_err_invalid(c, path, "selector", selector, invalid_selector);
		return;
	}
	if (!ks_selector_is_empty(c, selector))
		ks_check_selected(c, &at, selector, &template);
	ks_check_pod_template(c, &at, &template, IN(old, "template"));
	ks_check_lasting_template(c, &at, &template, "ReplicaSet");
}

static void check_selector_stays(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old)
{
	if (old)
		ks_check_immutable(c, path, "selector", IN(spec, "selector"), IN(old, "selector"));
}

static void check_replica_status(struct ks_check *c, const struct ks_value *object)
{
	static const char *const counts[] = {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "terminatingReplicas", "observedGeneration", NULL};
	static const char *const parts[] = {"fullyLabeledReplicas", "readyReplicas", "availableReplicas"};
	struct ks_path path = ks_path_root("status");
	struct ks_value status = ks_struct_in(c, object, "status");
	int64_t all = INT(&status, "replicas");

	for (size_t i = 0; counts[i]; i++) {
		const struct ks_value *v = ks_value_get(c->schema, &status, counts[i]);

		ks_check_nonnegative(c, &path, counts[i], ks_value_int_or(v, 0));
	}
	for (size_t i = 0; i < 3; i++) {
		int64_t n = ks_value_int_or(ks_value_get(c->schema, &status, parts[i]), 0);

		if (n > all)
			ks_err_invalid_int(c, &path, parts[i], n, "cannot be greater than status.replicas");
	}
	if (INT(&status, "availableReplicas") > INT(&status, "readyReplicas"))
		ks_err_invalid_int(c, &path, "availableReplicas", INT(&status, "availableReplicas"), "cannot be greater than readyReplicas");
}

void ks_validate_replicaset(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check run = ks_check_begin(ctx, status), *c = &run;
	struct ks_value spec = ks_struct_in(c, object, "spec");
	struct ks_path path = ks_path_root("spec");

	if (ks_str_is(ctx->subresource, "status")) {
		check_replica_status(c, object);
		return;
	}
	ks_check_nonnegative(c, &path, "replicas", INT(&spec, "replicas"));
	ks_check_nonnegative(c, &path, "minReadySeconds", INT(&spec, "minReadySeconds"));
	ks_check_own_selector(c, &path, IN(&spec, "selector"), "deployment");
	check_replica_template(c, &path, &spec, old ? IN(old, "spec") : NULL);
	check_selector_stays(c, &path, &spec, old ? IN(old, "spec") : NULL);
}

/* -- deployments -------------------------------------------------------------------------------------------------------- */

static void check_rolling_deployment(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *unavailable = IN(v, "maxUnavailable"), *surge = IN(v, "maxSurge");

	ks_check_int_or_percent(c, path, "maxUnavailable", unavailable);
	ks_check_int_or_percent(c, path, "maxSurge", surge);
	if (!ks_int_or_percent(unavailable) && !ks_int_or_percent(surge))
		ks_err_invalid(c, path, "maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0");
	ks_check_at_most_all(c, path, "maxUnavailable", unavailable);
}

static void check_deployment_strategy(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *spec)
{
	struct ks_value strategy = ks_struct_in(c, spec, "strategy");
	const struct ks_value *rolling = IN(&strategy, "rollingUpdate");
	struct ks_path path = ks_path_child(spec_path, "strategy"), at = ks_path_child(&path, "rollingUpdate");
	struct ks_str type = TEXT(&strategy, "type");

	if (ks_str_is(type, "Recreate")) {
		if (rolling)
			ks_err_forbidden(c, &at, NULL, "may not be specified when strategy `type` is 'Recreate'");
	} else if (!ks_str_is(type, "RollingUpdate")) {
		ks_err_not_supported_slot(c, &path, NULL, spec, "strategy", deployment_strategies);
	} else if (!rolling) {
		ks_err_required(c, &at, NULL, "this should be defaulted and never be nil");
	} else {
		check_rolling_deployment(c, &at, rolling);
	}
}

static void check_deployment_spec(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old)
{
	const struct ks_value *progress = IN(spec, "progressDeadlineSeconds");

	ks_check_nonnegative(c, path, "replicas", INT(spec, "replicas"));
	ks_check_own_selector(c, path, IN(spec, "selector"), "deployment");
	check_replica_template(c, path, spec, old);
	check_deployment_strategy(c, path, spec);
	ks_check_nonnegative(c, path, "minReadySeconds", INT(spec, "minReadySeconds"));
	check_not_negative(c, path, "revisionHistoryLimit", IN(spec, "revisionHistoryLimit"));
	check_not_negative(c, path, "progressDeadlineSeconds", progress);
	if (progress && ks_value_int_or(progress, 0) <= INT(spec, "minReadySeconds"))
		ks_err_invalid(c, path, "progressDeadlineSeconds", progress, "must be greater than minReadySeconds");
}

static void check_deployment_status(struct ks_check *c, const struct ks_value *object, const struct ks_value *old)
{
	static const char *const counts[] = {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas",
		"terminatingReplicas", "collisionCount", NULL};
	static const char *const parts[] = {"updatedReplicas", "readyReplicas", "availableReplicas"};
	struct ks_value status = ks_struct_in(c, object, "status"), before = ks_struct_in(c, old, "status");
	struct ks_path path = ks_path_root("status");

	ks_check_counts(c, &path, &status, counts);
	for (size_t i = 0; i < 3; i++) {
		int64_t n = ks_value_int_or(ks_value_get(c->schema, &status, parts[i]), 0);

		if (n > INT(&status, "replicas"))
			ks_err_invalid_int(c, &path, parts[i], n, "cannot be greater than status.replicas");
	}
	if (INT(&status, "availableReplicas") > INT(&status, "readyReplicas"))
		ks_err_invalid_int(c, &path, "availableReplicas", INT(&status, "availableReplicas"), "cannot be greater than readyReplicas");
	if (IN(&before, "collisionCount") && INT(&status, "collisionCount") < INT(&before, "collisionCount"))
		ks_err_invalid_int(c, &path, "collisionCount", INT(&status, "collisionCount"), "cannot be decremented");
}

void ks_validate_deployment(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check run = ks_check_begin(ctx, status), *c = &run;
	struct ks_value spec = ks_struct_in(c, object, "spec");
	struct ks_path path = ks_path_root("spec");

	if (ks_str_is(ctx->subresource, "status")) {
		check_deployment_status(c, object, old);
		return;
	}
	check_deployment_spec(c, &path, &spec, old ? IN(old, "spec") : NULL);
	check_selector_stays(c, &path, &spec, old ? IN(old, "spec") : NULL);
}

/* -- daemon sets ---------------------------------------------------------------------------------------------------------- */

static void check_rolling_daemons(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *unavailable = IN(v, "maxUnavailable"), *surge = IN(v, "maxSurge");
	bool any_unavailable, any_surge;

	ks_check_int_or_percent(c, path, "maxUnavailable", unavailable);
	ks_check_int_or_percent(c, path, "maxSurge", surge);
	ks_check_at_most_all(c, path, "maxUnavailable", unavailable);
	ks_check_at_most_all(c, path, "maxSurge", surge);
	any_unavailable = ks_int_or_percent(unavailable) != 0;
	any_surge = ks_int_or_percent(surge) != 0;
	if (any_unavailable && any_surge)
		ks_err_invalid(c, path, "maxSurge", surge, "may not be set when maxUnavailable is non-zero");
	else if (!any_unavailable && !any_surge)
		ks_err_required(c, path, "maxUnavailable", "cannot be 0 when maxSurge is 0");
}

static void check_daemon_strategy(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *spec)
{
	struct ks_value strategy = ks_struct_in(c, spec, "updateStrategy");
	const struct ks_value *rolling = IN(&strategy, "rollingUpdate");
	struct ks_path path = ks_path_child(spec_path, "updateStrategy"), at = ks_path_child(&path, "rollingUpdate");
	struct ks_str type = TEXT(&strategy, "type");

	if (ks_str_is(type, "OnDelete"))
		return;
	if (!ks_str_is(type, "RollingUpdate"))
		ks_err_not_supported_slot(c, &path, NULL, spec, "updateStrategy", daemon_strategies);
	else if (!rolling)
		ks_err_required(c, &at, NULL, "");
	else
		check_rolling_daemons(c, &at, rolling);
}

static void check_daemon_spec(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old)
{
	const struct ks_value *selector = IN(spec, "selector");
	struct ks_value template = ks_struct_in(c, spec, "template");
	struct ks_path at = ks_path_child(path, "template");

	ks_check_label_selector(c, path, "selector", selector, 0);
	if (ks_selector_is_sound(c, selector))
		ks_check_selected(c, &at, selector, &template);
	if (ks_selector_is_empty(c, selector))
		ks_err_invalid(c, path, "selector", selector, "empty selector is invalid for daemonset");
	ks_check_pod_template(c, &at, &template, IN(old, "template"));
	ks_check_lasting_template(c, &at, &template, "DaemonSet");
	ks_check_nonnegative(c, path, "minReadySeconds", INT(spec, "minReadySeconds"));
	check_daemon_strategy(c, path, spec);
	check_not_negative(c, path, "revisionHistoryLimit", IN(spec, "revisionHistoryLimit"));
}

static void check_daemon_status(struct ks_check *c, const struct ks_value *object, const struct ks_value *old)
{
	static const char *const counts[] = {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
		"updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount", NULL};
	struct ks_value status = ks_struct_in(c, object, "status"), before = ks_struct_in(c, old, "status");
	struct ks_path path = ks_path_root("status");

	ks_check_counts(c, &path, &status, counts);
	if (IN(&before, "collisionCount") && INT(&status, "collisionCount") < INT(&before, "collisionCount"))
		ks_err_invalid_int(c, &path, "collisionCount", INT(&status, "collisionCount"), "cannot be decremented");
}

void ks_validate_daemonset(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check run = ks_check_begin(ctx, status), *c = &run;
	struct ks_value spec = ks_struct_in(c, object, "spec");
	struct ks_path path = ks_path_root("spec");

	if (ks_str_is(ctx->subresource, "status")) {
		check_daemon_status(c, object, old);
		return;
	}
	check_selector_stays(c, &path, &spec, old ? IN(old, "spec") : NULL);
	check_daemon_spec(c, &path, &spec, old ? IN(old, "spec") : NULL);
}

/* -- replication controllers ------------------------------------------------------------------------------------------------ */

static bool map_selects(struct ks_check *c, const struct ks_value *wanted, const struct ks_value *labels)
{
	struct ks_index index = {.map = labels};

	EACH(i, wanted)
		if (!ks_value_same(ks_index_find(c, &index, wanted->members[i].key), &wanted->members[i].value))
			return false;
	return true;
}

void ks_validate_replicationcontroller(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check run = ks_check_begin(ctx, status), *c = &run;
	struct ks_value spec = ks_struct_in(c, object, "spec");
	const struct ks_value *selector = MAP(&spec, "selector"), *template = IN(&spec, "template"), *labels = MAP(IN(template, "metadata"), "labels");
	struct ks_path path = ks_path_root("spec"), at = ks_path_child(&path, "template");

	if (ks_str_is(ctx->subresource, "status")) {
		check_replica_status(c, object);
		return;
	}
	ks_check_nonnegative(c, &path, "minReadySeconds", INT(&spec, "minReadySeconds"));
	if (!ks_value_count(selector))
		ks_err_required(c, &path, "selector", "");
	ks_check_nonnegative(c, &path, "replicas", INT(&spec, "replicas"));
	if (!template) {
		ks_err_required(c, &at, NULL, "");
		return;
	}
	if (ks_value_count(selector) && !map_selects(c, selector, labels))
		ks_err_labels_differ(c, &at, template);
	ks_check_pod_template(c, &at, template, old ? IN(IN(old, "spec"), "template") : NULL);
	ks_check_lasting_template(c, &at, template, "ReplicationController");
}
