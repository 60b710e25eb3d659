/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Jobs and cron jobs. */
#include <strings.h>

#include "core/registry/validate/pods.h"
#include "core/registry/validate/workloads.h"

static const char *const modes[] = {"NonIndexed", "Indexed", NULL};

static void check_not_negative(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *v)
{
	if (v)
		ks_check_nonnegative(c, path, name, ks_value_int_or(v, 0));
}

/* -- the spec ------------------------------------------------------------------------------------------------------- */

/* "domain/path". */
static void check_managed_by(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	struct ks_path at = ks_path_child(path, "managedBy");

	ks_check_domain_path(c, &at, ks_value_str(v));
	if (ks_value_str(v).n > 63)
		ks_err_too_long(c, path, "managedBy", 63);
}

/* Very many indexes need limits on what may fail. */
static void check_many(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	const struct ks_value *failed = IN(spec, "maxFailedIndexes"), *parallelism = IN(spec, "parallelism");
	static const char why[] = "must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index";

	if (INT(spec, "completions") <= 100000 || !IN(spec, "backoffLimitPerIndex"))
		return;
	if (!failed)
		ks_err_required(c, path, "maxFailedIndexes", "must be specified when completions is above 100000");
	if (ks_value_int_or(parallelism, 0) > 10000)
		ks_err_invalid(c, path, "parallelism", parallelism, why);
	if (ks_value_int_or(failed, 0) > 10000)
		ks_err_invalid(c, path, "maxFailedIndexes", failed, why);
}

static void check_indexed(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	const struct ks_value *completions = IN(spec, "completions"), *parallelism = IN(spec, "parallelism"), *failed = IN(spec, "maxFailedIndexes");

	if (!completions)
		ks_err_required(c, path, "completions", "when completion mode is Indexed");
	if (ks_value_int_or(parallelism, 0) > 100000)
		ks_err_invalid(c, path, "parallelism", parallelism, "must be less than or equal to 100000 when completion mode is Indexed");
	if (completions && failed && ks_value_int_or(failed, 0) > ks_value_int_or(completions, 0))
		ks_err_invalid(c, path, "maxFailedIndexes", failed, "must be less than or equal to completions");
	if (ks_value_int_or(failed, 0) > 100000)
		ks_err_invalid(c, path, "maxFailedIndexes", failed, "must be less than or equal to 100000");
	check_many(c, path, spec);
}

static void check_mode(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	static const char why[] = "requires indexed completion mode";
	const struct ks_value *mode = IN(spec, "completionMode");
	struct ks_str text = ks_value_str(mode);

	if (mode && !ks_str_in(text, modes))
		ks_err_not_supported(c, path, "completionMode", text, modes);
	if (ks_str_is(text, "Indexed"))
		check_indexed(c, path, spec);
	if (mode && !ks_str_is(text, "NonIndexed"))
		return;
	if (IN(spec, "backoffLimitPerIndex"))
		ks_err_invalid(c, path, "backoffLimitPerIndex", IN(spec, "backoffLimitPerIndex"), why);
	if (IN(spec, "maxFailedIndexes"))
		ks_err_invalid(c, path, "maxFailedIndexes", IN(spec, "maxFailedIndexes"), why);
}

static void check_replacement(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	static const char *const failed[] = {"Failed", NULL}, *const all[] = {"Failed", "TerminatingOrFailed", NULL};
	const struct ks_value *policy = IN(spec, "podReplacementPolicy");

	if (policy)
		ks_check_one_of(c, path, "podReplacementPolicy", ks_value_str(policy), IN(spec, "podFailurePolicy") ? failed : all);
}

static void check_restart(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	static const char *const policies[] = {"OnFailure", "Never", NULL};
	struct ks_str policy = TEXT(IN(IN(spec, "template"), "spec"), "restartPolicy");
	struct ks_path at = ks_path_child(path, "template.spec");

	if (!policy.n || ks_str_is(policy, "Always"))
		ks_err_required(c, &at, "restartPolicy", "valid values: \"OnFailure\", \"Never\"");
	else if (!ks_str_in(policy, policies))
		ks_err_not_supported(c, &at, "restartPolicy", policy, policies);
	else if (IN(spec, "podFailurePolicy") && !ks_str_is(policy, "Never"))
		ks_err_invalid_text(c, &at, "restartPolicy", policy, "only \"Never\" is supported when podFailurePolicy is specified");
}

static void check_job_spec(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old)
{
	struct ks_value template = ks_struct_in(c, spec, "template");
	struct ks_path at = ks_path_child(path, "template");

	check_not_negative(c, path, "parallelism", IN(spec, "parallelism"));
	check_not_negative(c, path, "completions", IN(spec, "completions"));
	check_not_negative(c, path, "activeDeadlineSeconds", IN(spec, "activeDeadlineSeconds"));
	check_not_negative(c, path, "backoffLimit", IN(spec, "backoffLimit"));
	check_not_negative(c, path, "ttlSecondsAfterFinished", IN(spec, "ttlSecondsAfterFinished"));
	check_not_negative(c, path, "backoffLimitPerIndex", IN(spec, "backoffLimitPerIndex"));
	if (IN(spec, "maxFailedIndexes")) {
		check_not_negative(c, path, "maxFailedIndexes", IN(spec, "maxFailedIndexes"));
		if (!IN(spec, "backoffLimitPerIndex"))
			ks_err_required(c, path, "backoffLimitPerIndex", "when maxFailedIndexes is specified");
	}
	if (IN(spec, "managedBy"))
		check_managed_by(c, path, IN(spec, "managedBy"));
	check_mode(c, path, spec);
	if (IN(spec, "podFailurePolicy"))
		ks_check_failure_policy(c, path, spec);
	if (IN(spec, "successPolicy")) {
		if (ks_str_is(TEXT(spec, "completionMode"), "Indexed"))
			ks_check_success_policy(c, path, spec);
		else
			ks_err_invalid(c, path, "successPolicy", IN(spec, "successPolicy"), "requires indexed completion mode");
	}
	check_replacement(c, path, spec);
	ks_check_pod_template(c, &at, &template, IN(old, "template"));
	check_restart(c, path, spec);
}

static void check_whole_spec(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old)
{
	const struct ks_value *selector = IN(spec, "selector");
	struct ks_value template = ks_struct_in(c, spec, "template");
	struct ks_path at = ks_path_child(path, "template");

	check_job_spec(c, path, spec, old);
	if (!selector)
		ks_err_required(c, path, "selector", "");
	ks_check_label_selector(c, path, "selector", selector, 0);
	if (ks_selector_is_sound(c, selector) && !ks_selector_selects(c, selector, MAP(IN(&template, "metadata"), "labels")))
		ks_check_selected(c, &at, selector, &template);
}

/* -- labels by which a job finds its pods ------------------------------------------------------------------------------ */

static void check_label(struct ks_check *c, const struct ks_path *path, const struct ks_value *labels, const char *key, struct ks_str value)
{
	const struct ks_value *found = labels ? ks_value_get(c->schema, labels, key) : NULL;
	struct ks_path at = ks_path_key(path, ks_str_from(key));
	const char *must = ks_err_detail(c, "must be '%.*s'", (int)value.n, value.p ? value.p : "");

	if (!found)
		ks_err_required(c, &at, NULL, must);
	else if (!ks_str_eq(ks_value_str(found), value))
		ks_err_invalid(c, &at, NULL, labels, must);
}

static bool selects_own(struct ks_check *c, const struct ks_value *selector, struct ks_str uid, struct ks_str name)
{
	struct ks_member members[] = {
		{KS_STR_LIT("controller-uid"), ks_value_from_str(uid)}, {KS_STR_LIT("job-name"), ks_value_from_str(name)},
		{KS_STR_LIT("batch.kubernetes.io/controller-uid"), ks_value_from_str(uid)}, {KS_STR_LIT("batch.kubernetes.io/job-name"), ks_value_from_str(name)},
	};
	struct ks_value labels = {.kind = KS_MAP, .n = 4, .members = members};

	return ks_selector_selects(c, selector, &labels);
}

static void check_generated(struct ks_check *c, const struct ks_value *job, const struct ks_value *spec)
{
	const struct ks_value *metadata = IN(job, "metadata"), *selector = IN(spec, "selector"), *labels = MAP(IN(IN(spec, "template"), "metadata"), "labels");
	struct ks_str uid = TEXT(metadata, "uid"), name = TEXT(metadata, "name");
	struct ks_path path = ks_path_root("spec.template.metadata.labels"), root = ks_path_root("spec"), meta = ks_path_root("metadata");

	if (IS_TRUE(spec, "manualSelector") || !selector)
		return;
	if (!uid.n)
		ks_err_required(c, &meta, "uid", "");
	check_label(c, &path, labels, "controller-uid", uid);
	check_label(c, &path, labels, "job-name", name);
	check_label(c, &path, labels, "batch.kubernetes.io/controller-uid", uid);
	check_label(c, &path, labels, "batch.kubernetes.io/job-name", name);
	if (ks_selector_is_sound(c, selector) && !selects_own(c, selector, uid, name))
		ks_err_invalid(c, &root, "selector", selector, "`selector` not auto-generated");
}

/* Pods of an indexed job are named by their index: the longest name must be one for a host. */
static void check_host_name(struct ks_check *c, const struct ks_value *job, const struct ks_value *spec)
{
	struct ks_str name = TEXT(IN(job, "metadata"), "name");
	struct ks_path path = ks_path_root("metadata");
	const char *host;

	if (!ks_str_is(TEXT(spec, "completionMode"), "Indexed") || INT(spec, "completions") <= 0)
		return;
	host = ks_err_detail(c, "%.*s-%lld", (int)name.n, name.p ? name.p : "", (long long)INT(spec, "completions") - 1);
	if (!ks_name_check(KS_NAME_DNS1123_LABEL, ks_str_from(host), NULL))
		ks_err_invalid_text(c, &path, "name", name, ks_err_detail(c, "will not able to create pod with invalid DNS label: %s", host));
}

/* -- update ------------------------------------------------------------------------------------------------------------- */

static void check_completions(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old)
{
	const struct ks_value *now = IN(spec, "completions");

	if (!ks_str_is(TEXT(spec, "completionMode"), "Indexed")) {
		ks_check_immutable(c, path, "completions", now, IN(old, "completions"));
		return;
	}
	if (!now || ks_value_same(now, IN(old, "completions")))
		return;
	if (ks_value_int_or(now, 0) != INT(spec, "parallelism"))
		ks_err_invalid(c, path, "completions", now, "can only be modified in tandem with spec.parallelism");
}

/* Makes fields of a struct what they are in another. */
static bool take_all(struct ks_check *c, struct ks_value *v, const struct ks_value *from, const char *const *names)
{
	struct ks_value *items = ks_arena_zalloc(c->arena, c->schema->types[v->type].n_fields + 1U, sizeof(*items));

	if (!items)
		return false;
	if (v->n)
		memcpy(items, v->items, v->n * sizeof(*items));
	v->items = items;
	v->n = c->schema->types[v->type].n_fields;
	for (; *names; names++) {
		uint16_t slot = ks_schema_slot(c->schema, v->type, *names, strlen(*names));

		if (slot < v->n)
			v->items[slot] = from && slot < from->n ? from->items[slot] : (struct ks_value){.kind = KS_ABSENT};
	}
	return true;
}

/* A job that has not started may still be told where to run. */
static bool may_be_moved(struct ks_check *c, const struct ks_value *old_job)
{
	return IS_TRUE(IN(old_job, "spec"), "suspend") && !IN(IN(old_job, "status"), "startTime");
}

/* Containers with the resources that those of `from` ask for. */
static bool take_resources(struct ks_check *c, struct ks_value *pod, const struct ks_value *from, const char *list_name)
{
	static const char *const fields[] = {"resources", NULL};
	const struct ks_value *now = ks_value_get(c->schema, from, list_name), *before = ks_value_get(c->schema, pod, list_name);
	struct ks_value *items, *place;

	if (!ks_value_count(before) || ks_value_count(now) != before->n)
		return true;
	items = ks_arena_zalloc(c->arena, before->n, sizeof(*items));
	place = ks_value_put(c->arena, c->schema, pod, ks_str_from(list_name));
	if (!items || !place)
		return false;
	EACH(i, before) {
		items[i] = before->items[i];
		if (items[i].kind == KS_STRUCT && now->items[i].kind == KS_STRUCT && !take_all(c, &items[i], &now->items[i], fields))
			return false;
	}
	place->items = items;
	return true;
}

/* Of a job that may be moved only the rest of the spec stays. */
static void check_movable_template(struct ks_check *c, const struct ks_path *path, const struct ks_value *now, const struct ks_value *before)
{
	static const char *const of_spec[] = {"nodeSelector", "tolerations", "schedulingGates", NULL}, *const node[] = {"nodeAffinity", NULL};
	struct ks_value own = ks_struct_in(c, now, "spec"), pod = ks_struct_in(c, before, "spec"), affinity = ks_struct_in(c, &pod, "affinity"), *slot;
	bool has_affinity = IN(&own, "affinity") || IN(&pod, "affinity");

	if (!take_all(c, &pod, &own, of_spec) || !take_all(c, &affinity, IN(&own, "affinity"), node) || !take_resources(c, &pod, &own, "containers") ||
		!take_resources(c, &pod, &own, "initContainers"))
		return;
	slot = ks_value_put(c->arena, c->schema, &pod, KS_STR_LIT("affinity"));
	if (slot && has_affinity)
		*slot = affinity;
	if (!ks_value_same(&own, &pod))
		ks_err_invalid_struct(c, path, "template.spec", &own, "field is immutable");
}

static void check_template_stays(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old_spec, bool movable)
{
	struct ks_value now = ks_struct_in(c, spec, "template"), before = ks_struct_in(c, old_spec, "template");

	if (movable)
		check_movable_template(c, path, &now, &before);
	else if (!ks_value_same(&now, &before))
		ks_err_invalid_struct(c, path, "template", &now, "field is immutable");
}

static void check_update(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old)
{
	static const char *const fixed[] = {"completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy", NULL};
	struct ks_value old_spec = ks_struct_in(c, old, "spec");

	check_whole_spec(c, path, spec, &old_spec);
	check_completions(c, path, spec, &old_spec);
	ks_check_immutable(c, path, "selector", IN(spec, "selector"), IN(&old_spec, "selector"));
	check_template_stays(c, path, spec, &old_spec, may_be_moved(c, old));
	for (size_t i = 0; fixed[i]; i++)
		ks_check_slot_immutable(c, path, fixed[i], spec, &old_spec, fixed[i]);
}

void ks_validate_job(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check run = ks_check_begin(ctx, status), *c = &run;
	struct ks_value spec = ks_struct_in(c, object, "spec");
	struct ks_path path = ks_path_root("spec");

	if (ks_str_is(ctx->subresource, "status")) {
		ks_check_job_status(c, object, old);
		return;
	}
	check_generated(c, object, &spec);
	check_whole_spec(c, &path, &spec, old ? IN(old, "spec") : NULL);
	if (old)
		check_update(c, &path, &spec, old);
	else
		check_host_name(c, object, &spec);
}

/* -- cron jobs ------------------------------------------------------------------------------------------------------------ */

static bool names_zone(struct ks_str schedule)
{
	return schedule.n && memmem(schedule.p, schedule.n, "TZ", 2) != NULL;
}

/* A schedule that names its time zone itself is only taken where one did before. */
static void check_schedule(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old)
{
	struct ks_str schedule = TEXT(spec, "schedule");
	bool may_name_zone = names_zone(TEXT(old, "schedule"));
	const char *problem;

	if (!schedule.n) {
		ks_err_required(c, path, "schedule", "");
		return;
	}
	problem = ks_cron_problem(c, schedule);
	if (problem)
		ks_err_invalid_text(c, path, "schedule", schedule, problem);
	if (!names_zone(schedule))
		return;
	if (!may_name_zone)
		ks_err_invalid_text(c, path, "schedule", schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
	else if (IN(spec, "timeZone"))
		ks_err_invalid_text(c, path, "schedule", schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule");
}

static void check_time_zone(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old)
{
	const struct ks_value *zone = IN(spec, "timeZone");
	struct ks_str name = ks_value_str(zone);
	const char *problem;

	if (!zone || (old && ks_value_same(zone, IN(old, "timeZone"))))
		return;
	if (name.n == 5 && !strncasecmp(name.p, "local", 5))
		ks_err_invalid(c, path, "timeZone", zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
	problem = ks_time_zone_problem(c, name);
	if (problem)
		ks_err_invalid(c, path, "timeZone", zone, problem);
}

static void check_job_template(struct ks_check *c, const struct ks_path *path, const struct ks_value *template, const struct ks_value *old)
{
	static const char *const supported[] = {"nil", "false", NULL};
	struct ks_value spec = ks_struct_in(c, template, "spec");
	struct ks_path at = ks_path_child(path, "spec");

	check_job_spec(c, &at, &spec, IN(old, "spec"));
	if (IN(&spec, "selector"))
		ks_err_invalid(c, &at, "selector", IN(&spec, "selector"), "`selector` will be auto-generated");
	if (IS_TRUE(&spec, "manualSelector"))
		ks_err_not_supported_literal(c, &at, "manualSelector", "true", supported);
}

void ks_validate_cronjob(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	static const char *const policies[] = {"Allow", "Forbid", "Replace", NULL};
	struct ks_check run = ks_check_begin(ctx, status), *c = &run;
	struct ks_value spec = ks_struct_in(c, object, "spec"), template = ks_struct_in(c, &spec, "jobTemplate");
	const struct ks_value *before = old ? IN(old, "spec") : NULL;
	struct ks_path path = ks_path_root("spec"), template_at = ks_path_child(&path, "jobTemplate"), meta = ks_path_root("metadata");
	struct ks_str concurrency = TEXT(&spec, "concurrencyPolicy"), name = TEXT(IN(object, "metadata"), "name");

	if (ctx->subresource.n)
		return;
	check_schedule(c, &path, &spec, before);
	check_not_negative(c, &path, "startingDeadlineSeconds", IN(&spec, "startingDeadlineSeconds"));
	check_time_zone(c, &path, &spec, before);
	if (!concurrency.n)
		ks_err_required(c, &path, "concurrencyPolicy", "");
	else
		ks_check_one_of(c, &path, "concurrencyPolicy", concurrency, policies);
	check_job_template(c, &template_at, &template, before ? IN(before, "jobTemplate") : NULL);
	check_not_negative(c, &path, "successfulJobsHistoryLimit", IN(&spec, "successfulJobsHistoryLimit"));
	check_not_negative(c, &path, "failedJobsHistoryLimit", IN(&spec, "failedJobsHistoryLimit"));
	if (!old && name.n > 52)
		ks_err_invalid_text(c, &meta, "name", name, "must be no more than 52 characters");
}
