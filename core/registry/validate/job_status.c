/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the status of a job may say. Most is only asked of what a write changes: older servers were less strict. */
#include "core/api/time.h"
#include "core/registry/validate/indexes.h"
#include "core/registry/validate/workloads.h"

/* The status as it is and as it was, and what differs. */
struct change {
	const struct ks_value *spec;
	struct ks_value now, before;
	bool complete, was_complete, failed, was_failed, success, had_success, target, had_target, finished, was_finished;
};

static bool is_condition(struct ks_check *c, const struct ks_value *status, const char *type)
{
	const struct ks_value *list = LIST(status, "conditions");

	EACH(i, list)
		if (ks_str_is(TEXT(&list->items[i], "type"), type) && ks_str_is(TEXT(&list->items[i], "status"), "True"))
			return true;
	return false;
}

static struct change change_of(struct ks_check *c, const struct ks_value *job, const struct ks_value *old)
{
	struct change ch = {.spec = IN(job, "spec"), .now = ks_struct_in(c, job, "status"), .before = ks_struct_in(c, old, "status")};

	ch.complete = is_condition(c, &ch.now, "Complete");
	ch.was_complete = is_condition(c, &ch.before, "Complete");
	ch.failed = is_condition(c, &ch.now, "Failed");
	ch.was_failed = is_condition(c, &ch.before, "Failed");
	ch.success = is_condition(c, &ch.now, "SuccessCriteriaMet");
	ch.had_success = is_condition(c, &ch.before, "SuccessCriteriaMet");
	ch.target = is_condition(c, &ch.now, "FailureTarget");
	ch.had_target = is_condition(c, &ch.before, "FailureTarget");
	ch.finished = ch.complete || ch.failed;
	ch.was_finished = ch.was_complete || ch.was_failed;
	return ch;
}

#define CHANGED(ch, name) (!ks_value_same(IN(&(ch)->now, name), IN(&(ch)->before, name)))

static bool is_before(struct ks_check *c, struct ks_str a, struct ks_str b)
{
	struct ks_time x, y;
	const char *message;

	return !ks_time_parse(c->arena, a, false, &x, &message) && !ks_time_parse(c->arena, b, false, &y, &message) && ks_time_cmp(x, y) < 0;
}

/* -- single fields -------------------------------------------------------------------------------------------------- */

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

static void check_completion_time(struct ks_check *c, const struct ks_path *path, const struct change *ch)
{
	const struct ks_value *end = IN(&ch->now, "completionTime"), *start = IN(&ch->now, "startTime");
	bool asked = ch->complete != ch->was_complete || CHANGED(ch, "completionTime");

	if (asked && end && !ch->complete)
		ks_err_invalid(c, path, "completionTime", end, "cannot set completionTime when there is no Complete=True condition");
	if (asked && !end && ch->complete)
		ks_err_required(c, path, "completionTime", "completionTime is required for Complete jobs");
	if ((CHANGED(ch, "startTime") || CHANGED(ch, "completionTime")) && start && end && is_before(c, ks_value_str(end), ks_value_str(start)))
		ks_err_invalid(c, path, "completionTime", end, "completionTime cannot be set before startTime");
}

static bool does_nothing(struct ks_check *c, const struct ks_value *spec)
{
	const struct ks_value *completions = IN(spec, "completions");

	return IS_TRUE(spec, "suspend") && completions && ks_value_int_or(completions, 1) == 0;
}

/* A job that has ended has nothing that goes on. */
static void check_finished(struct ks_check *c, const struct ks_path *path, const struct change *ch)
{
	const struct ks_value *uncounted = IN(&ch->now, "uncountedTerminatedPods");
	bool turned = ch->finished != ch->was_finished;

	if (!ch->finished)
		return;
	if ((turned || CHANGED(ch, "active")) && INT(&ch->now, "active") > 0)
		ks_err_invalid_int(c, path, "active", INT(&ch->now, "active"), "active>0 is invalid for finished job");
	if ((turned || CHANGED(ch, "startTime")) && !does_nothing(c, ch->spec) && !IN(&ch->now, "startTime"))
		ks_err_required(c, path, "startTime", "startTime is required for finished job");
	if ((turned || CHANGED(ch, "uncountedTerminatedPods")) && ks_value_count(LIST(uncounted, "failed")) + ks_value_count(LIST(uncounted, "succeeded")) > 0)
		ks_err_invalid_slot(c, path, "uncountedTerminatedPods", &ch->now, "uncountedTerminatedPods",
			"uncountedTerminatedPods needs to be empty for finished job");
}

static void check_index_list(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *v, int64_t completions)
{
	int64_t total;
	const char *problem = ks_index_count(c, ks_value_str(v), completions, &total);

	if (problem)
		ks_err_invalid_text(c, path, name, ks_value_str(v), ks_err_detail(c, "error parsing %s: %s", name, problem));
}

static void check_indexes(struct ks_check *c, const struct ks_path *path, const struct change *ch)
{
	const struct ks_value *completions = IN(ch->spec, "completions"), *limit = IN(ch->spec, "backoffLimitPerIndex");
	const struct ks_value *done = IN(&ch->now, "completedIndexes"), *failed = IN(&ch->now, "failedIndexes");
	bool other_done = CHANGED(ch, "completedIndexes"), other_failed = CHANGED(ch, "failedIndexes");
	int64_t n = ks_value_int_or(completions, 0), both;

	if (other_done && completions)
		check_index_list(c, path, "completedIndexes", done, n);
	if (other_failed && completions && limit && failed)
		check_index_list(c, path, "failedIndexes", failed, n);
	if (other_done && ks_value_str(done).n && !ks_str_is(TEXT(ch->spec, "completionMode"), "Indexed"))
		ks_err_invalid(c, path, "completedIndexes", done, "cannot set non-empty completedIndexes when non-indexed completion mode");
	if (other_failed && failed && !limit)
		ks_err_invalid(c, path, "failedIndexes", failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
	if (!(other_done || other_failed) || !completions || !failed)
		return;
	both = ks_index_overlap(c, ks_value_str(done), ks_value_str(failed), n);
	if (both >= 0)
		ks_err_invalid(c, path, "failedIndexes", failed,
			ks_err_detail(c, "failedIndexes and completedIndexes overlap at index: %lld", (long long)both));
}

static void check_pods(struct ks_check *c, const struct ks_path *path, const struct change *ch)
{
	const struct ks_value *ready = IN(&ch->now, "ready"), *terminating = IN(&ch->now, "terminating");

	if ((ch->finished != ch->was_finished || CHANGED(ch, "terminating")) && ch->finished && ks_value_int_or(terminating, 0) > 0)
		ks_err_invalid(c, path, "terminating", terminating, "terminating>0 is invalid for finished job");
	if ((CHANGED(ch, "ready") || CHANGED(ch, "active")) && ready && ks_value_int_or(ready, 0) > INT(&ch->now, "active"))
		ks_err_invalid(c, path, "ready", ready, "cannot set more ready pods than active");
}

/* -- conditions ------------------------------------------------------------------------------------------------------- */

static void refuse(struct ks_check *c, const struct ks_path *path, bool when, const char *why)
{
	if (when)
		ks_err_invalid_bare(c, path, "conditions", why);
}

/* How the job ended can't be said in two ways. */
static void check_ends(struct ks_check *c, const struct ks_path *path, const struct change *ch)
{
	bool completes = ch->complete != ch->was_complete;

	refuse(c, path, (completes || ch->failed != ch->was_failed) && ch->complete && ch->failed, "cannot set Complete=True and Failed=true conditions");
	refuse(c, path, (completes || ch->target != ch->had_target) && ch->complete && ch->target,
		"cannot set Complete=True and FailureTarget=true conditions");
}

/* A job comes to its end by way of another condition. */
static void check_ways(struct ks_check *c, const struct ks_path *path, const struct change *ch)
{
	refuse(c, path, (ch->failed != ch->was_failed || ch->target != ch->had_target) && ch->failed && !ch->target,
		"cannot set Failed=True condition without the FailureTarget=true condition");
	refuse(c, path, (ch->complete != ch->was_complete || ch->success != ch->had_success) && ch->complete && !ch->success,
		"cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
}

static void check_success(struct ks_check *c, const struct ks_path *path, const struct change *ch)
{
	refuse(c, path, ch->success && ch->failed, "cannot set SuccessCriteriaMet=True and Failed=true conditions");
	refuse(c, path, ch->success && ch->target, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
	refuse(c, path, IN(ch->spec, "successPolicy") && !ch->success && ch->complete,
		"cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True");
}

/* -- what can't be taken back ------------------------------------------------------------------------------------------ */

/* Who scales an indexed job down with its completions loses some that succeeded. */
static bool may_shrink(struct ks_check *c, const struct ks_value *spec)
{
	return ks_str_is(TEXT(spec, "completionMode"), "Indexed") && ks_value_same(IN(spec, "completions"), IN(spec, "parallelism"));
}

static void check_progress(struct ks_check *c, const struct ks_path *path, const struct change *ch)
{
	const struct ks_value *end = IN(&ch->now, "completionTime");

	refuse(c, path, ch->was_failed && !ch->failed, "cannot disable the terminal Failed=True condition");
	refuse(c, path, ch->was_complete && !ch->complete, "cannot disable the terminal Complete=True condition");
	refuse(c, path, ch->had_target && !ch->target, "cannot disable the terminal FailureTarget=True condition");
	if (INT(&ch->now, "failed") < INT(&ch->before, "failed"))
		ks_err_invalid_int(c, path, "failed", INT(&ch->now, "failed"), "cannot decrease the failed counter");
	if (INT(&ch->now, "succeeded") < INT(&ch->before, "succeeded") && !may_shrink(c, ch->spec))
		ks_err_invalid_int(c, path, "succeeded", INT(&ch->now, "succeeded"), "cannot decrease the succeeded counter");
	if (end && IN(&ch->before, "completionTime") && CHANGED(ch, "completionTime"))
		ks_err_invalid(c, path, "completionTime", end, "completionTime cannot be mutated");
	if (IN(&ch->before, "startTime") && CHANGED(ch, "startTime") && !IS_TRUE(ch->spec, "suspend"))
		ks_err_required(c, path, "startTime", "startTime cannot be removed for unsuspended job");
	refuse(c, path, ch->had_success && !ch->success, "cannot disable the SuccessCriteriaMet=True condition");
	refuse(c, path, ch->was_complete && !ch->had_success && ch->success,
		"cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions");
}

void ks_check_job_status(struct ks_check *c, const struct ks_value *job, const struct ks_value *old)
{
	static const char *const counts[] = {"active", "succeeded", "failed", "ready", "terminating", NULL};
	struct change ch = change_of(c, job, old);
	struct ks_path path = ks_path_root("status");

	ks_check_counts(c, &path, &ch.now, counts);
	check_uncounted(c, IN(&ch.now, "uncountedTerminatedPods"));
	check_ends(c, &path, &ch);
	check_completion_time(c, &path, &ch);
	check_ways(c, &path, &ch);
	check_finished(c, &path, &ch);
	check_indexes(c, &path, &ch);
	check_pods(c, &path, &ch);
	check_success(c, &path, &ch);
	check_progress(c, &path, &ch);
}
