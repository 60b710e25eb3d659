/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Budgets of disruptions, and priorities. */
#include "core/registry/validate/common.h"
#include "core/registry/validate/kinds.h"

enum { USER_PRIORITY_MOST = 1000000000 };

/* -- budgets ------------------------------------------------------------------------------------------------------ */

/* The number of "25%"; -1 when it is none. */
static int64_t percent(struct ks_str text)
{
	int64_t n = 0;

	for (size_t i = 0; i + 1 < text.n && n < 1000000; i++)
		n = n * 10 + (text.p[i] - '0');
	return n;
}

static void check_count(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *v)
{
	struct ks_str text = ks_value_str(v);

	if (!v)
		return;
	if (v->kind == KS_INT) {
		ks_check_nonnegative(c, path, name, v->integer);
		return;
	}
	if (ks_check_name(c, path, name, KS_NAME_PERCENT, text) && percent(text) > 100)
		ks_err_invalid_text(c, path, name, text, "must not be greater than 100%");
}

static void check_budget_status(struct ks_check *c, const struct ks_value *v)
{
	struct ks_path path = ks_path_root("status"), conditions = ks_path_child(&path, "conditions");

	ks_check_conditions(c, &conditions, KS_IN_LIST(c, v, "conditions"));
	ks_check_nonnegative(c, &path, "disruptionsAllowed", KS_IN_INT(c, v, "disruptionsAllowed", 0));
	ks_check_nonnegative(c, &path, "currentHealthy", KS_IN_INT(c, v, "currentHealthy", 0));
	ks_check_nonnegative(c, &path, "desiredHealthy", KS_IN_INT(c, v, "desiredHealthy", 0));
	ks_check_nonnegative(c, &path, "expectedPods", KS_IN_INT(c, v, "expectedPods", 0));
}

static unsigned selector_flags(struct ks_check *c, const struct ks_value *old)
{
	struct ks_path path = ks_path_root("selector");
	struct ks_status aside = {0};
	struct ks_check quiet = *c;

	quiet.status = &aside;
	if (!old || ks_check_label_selector(&quiet, &path, NULL, KS_IN(c, KS_IN(c, old, "spec"), "selector"), 0))
		return 0;
	return KS_SELECTOR_VALUES_FREE;
}

void ks_validate_poddisruptionbudget(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	static const char *const policies[] = {"AlwaysAllow", "IfHealthyBudget", NULL};
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec");
	struct ks_value spec = ks_struct_in(&c, object, "spec");
	const struct ks_value *min = KS_IN(&c, &spec, "minAvailable"), *max = KS_IN(&c, &spec, "maxUnavailable");
	const struct ks_value *policy = KS_IN(&c, &spec, "unhealthyPodEvictionPolicy");

	if (ctx->subresource.n) {
		check_budget_status(&c, KS_IN(&c, object, "status"));
		return;
	}
	if (min && max)
		ks_err_invalid_slot(&c, &path, NULL, object, "spec", "minAvailable and maxUnavailable cannot be both set");
	check_count(&c, &path, "minAvailable", min);
	check_count(&c, &path, "maxUnavailable", max);
	ks_check_label_selector(&c, &path, "selector", KS_IN(&c, &spec, "selector"), selector_flags(&c, old));
	if (policy)
		ks_check_one_of(&c, &path, "unhealthyPodEvictionPolicy", ks_value_str(policy), policies);
}

/* -- priorities --------------------------------------------------------------------------------------------------- */

/* Those of the system have fixed values. */
static const char *wrong_system_class(struct ks_check *c, const struct ks_value *object, struct ks_str name, int64_t value)
{
	int64_t fixed = ks_str_is(name, "system-node-critical") ? 2000001000 : ks_str_is(name, "system-cluster-critical") ? 2000000000 : -1;

	if (fixed < 0)
		return ks_err_detail(c, "%.*s is not a known system priority class", (int)name.n, name.p);
	if (value != fixed)
		return ks_err_detail(c, "value of %.*s PriorityClass must be %lld", (int)name.n, name.p, (long long)fixed);
	if (KS_IN_TRUE(c, object, "globalDefault"))
		return ks_err_detail(c, "globalDefault of %.*s PriorityClass must be false", (int)name.n, name.p);
	return NULL;
}

static void check_new_class(struct ks_check *c, const struct ks_value *object)
{
	static const char *const policies[] = {"PreemptLowerPriority", "Never", NULL};
	struct ks_path name_path = ks_path_root("metadata.name"), value_path = ks_path_root("value"), path = ks_path_root("preemptionPolicy");
	struct ks_str name = KS_IN_TEXT(c, KS_IN(c, object, "metadata"), "name"), policy = KS_IN_TEXT(c, object, "preemptionPolicy");
	int64_t value = KS_IN_INT(c, object, "value", 0);

	if (ks_str_starts_with(name, "system-")) {
		const char *wrong = wrong_system_class(c, object, name, value);

		if (wrong)
			ks_err_forbidden(c, &name_path, NULL,
				ks_err_detail(c, "priority class names with 'system-' prefix are reserved for system use only. error: %s", wrong));
	} else if (value > USER_PRIORITY_MOST) {
		ks_err_forbidden(c, &value_path, NULL, "maximum allowed value of a user defined priority is 1000000000");
	}
	if (!KS_IN(c, object, "preemptionPolicy"))
		return;
	if (!policy.n)
		ks_err_required(c, &path, NULL, "");
	else
		ks_check_one_of(c, &path, NULL, policy, policies);
}

void ks_validate_priorityclass(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path value = ks_path_root("value"), policy = ks_path_root("preemptionPolicy");

	if (!old) {
		check_new_class(&c, object);
		return;
	}
	if (KS_IN_INT(&c, object, "value", 0) != KS_IN_INT(&c, old, "value", 0))
		ks_err_forbidden(&c, &value, NULL, "may not be changed in an update.");
	ks_check_slot_immutable(&c, &policy, NULL, object, old, "preemptionPolicy");
}
