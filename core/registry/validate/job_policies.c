/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* When a job has failed, and when it has succeeded. */
#include "core/registry/validate/indexes.h"
#include "core/registry/validate/workloads.h"

static const char *const actions[] = {"Count", "FailIndex", "FailJob", "Ignore", NULL};
static const char *const operators[] = {"In", "NotIn", NULL};
static const char *const condition_statuses[] = {"False", "True", "Unknown", NULL};

/* -- failure ------------------------------------------------------------------------------------------------------------ */

static bool has_container(struct ks_check *c, const struct ks_value *pod, struct ks_str name)
{
	const struct ks_value *list = LIST(pod, "containers"), *init = LIST(pod, "initContainers");

	EACH(i, list)
		if (ks_str_eq(TEXT(&list->items[i], "name"), name))
			return true;
	EACH(i, init)
		if (ks_str_eq(TEXT(&init->items[i], "name"), name))
			return true;
	return false;
}

static void check_exit_values(struct ks_check *c, const struct ks_path *path, const struct ks_value *values, bool in)
{
	struct ks_path at = ks_path_child(path, "values");
	bool ordered = true;

	if (!ks_value_count(values))
		ks_err_invalid(c, &at, NULL, values, "at least one value is required");
	else if (values->n > 255)
		ks_err_too_many(c, &at, NULL, values->n, 255);
	for (uint32_t i = 0; i < ks_value_count(values) && i < 512; i++) {
		int64_t n = ks_value_int_or(&values->items[i], 0);
		struct ks_path item = ks_path_index(&at, i);
		bool twice = false;

		if (in && !n)
			ks_err_invalid_int(c, &item, NULL, n, "must not be 0 for the In operator");
		for (uint32_t k = 0; k < i; k++)
			twice |= ks_value_int_or(&values->items[k], 0) == n;
		if (twice)
			ks_err_duplicate(c, &item, NULL, &values->items[i]);
		ordered &= !i || ks_value_int_or(&values->items[i - 1], 0) <= n;
	}
	if (!ordered)
		ks_err_invalid(c, &at, NULL, values, "must be ordered");
}

static void check_exit_codes(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, const struct ks_value *pod)
{
	struct ks_str operator= TEXT(v, "operator");
	const struct ks_value *container = IN(v, "containerName");

	if (!operator.n)
		ks_err_required(c, path, "operator", "valid values: [\"In\" \"NotIn\"]");
	else if (!ks_str_in(operator, operators))
		ks_err_not_supported(c, path, "operator", operator, operators);
	if (container && !has_container(c, pod, ks_value_str(container)))
		ks_err_invalid(c, path, "containerName", container, "must be one of the container or initContainer names in the pod template");
	check_exit_values(c, path, LIST(v, "values"), ks_str_is(operator, "In"));
}

static void check_conditions(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	if (ks_value_count(list) > 20)
		ks_err_too_many(c, path, NULL, list->n, 20);
	EACH(i, list) {
		struct ks_path item = ks_path_index(path, i);
		struct ks_str status = TEXT(&list->items[i], "status");

		ks_check_name(c, &item, "type", KS_NAME_LABEL_KEY, TEXT(&list->items[i], "type"));
		if (!status.n)
			ks_err_required(c, &item, "status", "valid values: [\"False\" \"True\" \"Unknown\"]");
		else if (!ks_str_in(status, condition_statuses))
			ks_err_not_supported(c, &item, "status", status, condition_statuses);
	}
}

static void check_failure_rule(struct ks_check *c, const struct ks_path *path, const struct ks_value *rule, const struct ks_value *spec)
{
	const struct ks_value *codes = IN(rule, "onExitCodes"), *conditions = LIST(rule, "onPodConditions");
	struct ks_path codes_at = ks_path_child(path, "onExitCodes"), conditions_at = ks_path_child(path, "onPodConditions");
	struct ks_str action = TEXT(rule, "action");

	if (!action.n)
		ks_err_required(c, path, "action", "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]");
	else if (!ks_str_in(action, actions))
		ks_err_not_supported(c, path, "action", action, actions);
	else if (ks_str_is(action, "FailIndex") && !IN(spec, "backoffLimitPerIndex"))
		ks_err_invalid_text(c, path, "action", action, "requires the backoffLimitPerIndex to be set");
	if (codes)
		check_exit_codes(c, &codes_at, codes, IN(IN(spec, "template"), "spec"));
	if (ks_value_count(conditions))
		check_conditions(c, &conditions_at, conditions);
	if (codes && ks_value_count(conditions))
		ks_err_invalid_bare(c, path, NULL, "specifying both OnExitCodes and OnPodConditions is not supported");
	if (!codes && !ks_value_count(conditions))
		ks_err_invalid_bare(c, path, NULL, "specifying one of OnExitCodes and OnPodConditions is required");
}

void ks_check_failure_policy(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	const struct ks_value *rules = LIST(IN(spec, "podFailurePolicy"), "rules");
	struct ks_path at = ks_path_child(path, "podFailurePolicy.rules");

	if (ks_value_count(rules) > 20)
		ks_err_too_many(c, &at, NULL, rules->n, 20);
	EACH(i, rules) {
		struct ks_path item = ks_path_index(&at, i);

		check_failure_rule(c, &item, &rules->items[i], spec);
	}
}

/* -- success ------------------------------------------------------------------------------------------------------------ */

static void check_success_rule(struct ks_check *c, const struct ks_path *path, const struct ks_value *rule, int64_t completions)
{
	const struct ks_value *indexes = IN(rule, "succeededIndexes"), *count = IN(rule, "succeededCount");
	int64_t total = 0, wanted = ks_value_int_or(count, 0);

	if (!indexes && !count)
		ks_err_required(c, path, NULL, "at least one of succeededCount or succeededIndexes must be specified");
	if (indexes) {
		const char *problem = ks_index_count(c, ks_value_str(indexes), completions, &total);

		if (indexes->n > 64 * 1024)
			ks_err_too_long(c, path, "succeededIndexes", 64 * 1024);
		if (problem)
			ks_err_invalid(c, path, "succeededIndexes", indexes, ks_err_detail(c, "error parsing succeededIndexes: %s", problem));
	}
	if (!count)
		return;
	ks_check_nonnegative(c, path, "succeededCount", wanted);
	if (wanted > completions)
		ks_err_invalid(c, path, "succeededCount", count,
			ks_err_detail(c, "must be less than or equal to %lld (the number of specified completions)", (long long)completions));
	if (indexes && wanted > total)
		ks_err_invalid(c, path, "succeededCount", count,
			ks_err_detail(c, "must be less than or equal to %lld (the number of indexes in the specified succeededIndexes field)", (long long)total));
}

void ks_check_success_policy(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	const struct ks_value *rules = LIST(IN(spec, "successPolicy"), "rules");
	struct ks_path at = ks_path_child(path, "successPolicy.rules");

	if (!ks_value_count(rules))
		ks_err_required(c, &at, NULL, "at least one rules must be specified when the successPolicy is specified");
	else if (rules->n > 20)
		ks_err_too_many(c, &at, NULL, rules->n, 20);
	EACH(i, rules) {
		struct ks_path item = ks_path_index(&at, i);

		check_success_rule(c, &item, &rules->items[i], INT(spec, "completions"));
	}
}
