/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the status of a job may say. */
#include "core/registry/validate/workloads.h"

static bool is_condition(struct ks_check *c, const struct ks_value *status, const char *type)
{
	const struct ks_value *list = LIST(status, "conditions");

	EACH(i, list)
		if (ks_str_is(TEXT(&list->items[i], "type"), type) && ks_str_is(TEXT(&list->items[i], "status"), "True"))
			return true;
	return false;
}

static void check_uncounted_list(struct ks_check *c, const struct ks_path *path, const struct ks_value *list, struct ks_seen *seen)
{
	EACH(i, list) {
		struct ks_str uid = ks_value_str(&list->items[i]);
		struct ks_path item = ks_path_index(path, i);

		if (!uid.n)
			ks_err_invalid_text(c, &item, NULL, uid, "must not be empty");
		else if (!ks_seen_add(c, seen, uid))
			ks_err_duplicate_text(c, &item, NULL, uid);
	}
}

static void check_uncounted(struct ks_check *c, const struct ks_value *uncounted)
{
	struct ks_path path = ks_path_root("status.uncountedTerminatedPods");
	struct ks_path succeeded = ks_path_child(&path, "succeeded"), failed = ks_path_child(&path, "failed");
	struct ks_seen seen = {.n = 0};

	check_uncounted_list(c, &succeeded, LIST(uncounted, "succeeded"), &seen);
	check_uncounted_list(c, &failed, LIST(uncounted, "failed"), &seen);
}

/* Conditions that can't be true together, and those that need another one first. */
static void check_conditions(struct ks_check *c, const struct ks_path *path, const struct ks_value *status, const struct ks_value *before)
{
	bool complete = is_condition(c, status, "Complete"), failed = is_condition(c, status, "Failed");
	bool success = is_condition(c, status, "SuccessCriteriaMet"), target = is_condition(c, status, "FailureTarget");

	if (complete && failed)
		ks_err_invalid_bare(c, path, "conditions", "cannot set Complete=True and Failed=true conditions");
	if (complete && target)
		ks_err_invalid_bare(c, path, "conditions", "cannot set Complete=True and FailureTarget=true conditions");
	if (!is_condition(c, before, "Complete") && complete && !success)
		ks_err_invalid_bare(c, path, "conditions", "cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
	if (!is_condition(c, before, "Failed") && failed && !target)
		ks_err_invalid_bare(c, path, "conditions", "cannot set Failed=True condition without the FailureTarget=true condition");
	if (is_condition(c, before, "Complete") && !complete)
		ks_err_invalid_bare(c, path, "conditions", "cannot disable the terminal Complete=True condition");
	if (is_condition(c, before, "Failed") && !failed)
		ks_err_invalid_bare(c, path, "conditions", "cannot disable the terminal Failed=True condition");
	if (success && failed)
		ks_err_invalid_bare(c, path, "conditions", "cannot set SuccessCriteriaMet=True and Failed=true conditions");
	if (success && target)
		ks_err_invalid_bare(c, path, "conditions", "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
}

void ks_check_job_status(struct ks_check *c, const struct ks_value *job, const struct ks_value *old)
{
	static const char *const counts[] = {"active", "succeeded", "failed", "ready", "terminating", NULL};
	struct ks_value status = ks_struct_in(c, job, "status"), before = ks_struct_in(c, old, "status");
	struct ks_path path = ks_path_root("status");
	bool complete = is_condition(c, &status, "Complete"), finished = complete || is_condition(c, &status, "Failed");

	ks_check_counts(c, &path, &status, counts);
	check_uncounted(c, IN(&status, "uncountedTerminatedPods"));
	if (complete && !IN(&status, "completionTime"))
		ks_err_required(c, &path, "completionTime", "completionTime is required for Complete jobs");
	if (!complete && IN(&status, "completionTime"))
		ks_err_invalid(c, &path, "completionTime", IN(&status, "completionTime"), "cannot set completionTime when there is no Complete=True condition");
	check_conditions(c, &path, &status, &before);
	if (finished && !IN(&status, "startTime"))
		ks_err_required(c, &path, "startTime", "startTime is required for finished job");
}
