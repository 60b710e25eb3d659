/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Which warnings which kind gives. Updates warn only when the spec has changed. */
#include "core/registry/meta.h"
#include "core/registry/validate/warnings.h"

static const char pod_hosts[] = "this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [%s]";
static const char pod_host[] = "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [%s]";

static struct ks_check begin(struct ks_registry_context *ctx)
{
	return (struct ks_check){.schema = ctx->schema, .arena = ctx->arena, .user = ctx};
}

static bool unchanged(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	return old && ks_meta_int(ctx->schema, object, "generation", 0) == ks_meta_int(ctx->schema, old, "generation", 0);
}

static void warn_name(struct ks_check *c, const struct ks_value *object, bool of_pod)
{
	struct ks_name_errors errors;
	const char *all;

	if (ks_name_check(KS_NAME_DNS1123_LABEL, TEXT(IN(object, "metadata"), "name"), &errors))
		return;
	all = ks_name_errors_join(c->arena, &errors, " ");
	if (of_pod)
		ks_warn_at(c, NULL, "metadata.name", pod_host, all ? all : "");
	else
		ks_warn_at(c, NULL, "metadata.name", pod_hosts, all ? all : "");
}

static void warn_template(struct ks_check *c, const struct ks_path *path, const struct ks_value *template)
{
	ks_warn_pod_parts(c, path, IN(template, "spec"), IN(template, "metadata"));
}

void ks_warn_pod(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;

	if (old)
		return;
	ks_warn_pod_parts(c, NULL, IN(object, "spec"), IN(object, "metadata"));
	warn_name(c, object, true);
}

void ks_warn_podtemplate(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;
	struct ks_path path = ks_path_root("template");

	if (!unchanged(ctx, object, old))
		warn_template(c, &path, IN(object, "template"));
}

/* An update tells what was wrong with the template before: so clients know it. */
void ks_warn_replicationcontroller(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;
	struct ks_path path = ks_path_root("spec.template");

	if (!old)
		ks_warn_workload(ctx, object, NULL);
	else if (!unchanged(ctx, object, old))
		warn_template(c, &path, IN(IN(old, "spec"), "template"));
}

/* Only another template counts as a change. */
void ks_warn_daemonset(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;

	if (!old || !ks_value_same(IN(IN(object, "spec"), "template"), IN(IN(old, "spec"), "template")))
		ks_warn_workload(ctx, object, old);
}

void ks_warn_workload(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;
	struct ks_path path = ks_path_root("spec.template");

	if (unchanged(ctx, object, old))
		return;
	if (!old)
		warn_name(c, object, false);
	warn_template(c, &path, IN(IN(object, "spec"), "template"));
}

void ks_warn_statefulset(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;
	const struct ks_value *spec = IN(object, "spec"), *claims = LIST(spec, "volumeClaimTemplates");
	struct ks_path path = ks_path_root("spec"), template_at = ks_path_child(&path, "template"), claims_at = ks_path_child(&path, "volumeClaimTemplates");

	if (!unchanged(ctx, object, old)) {
		warn_template(c, &template_at, IN(spec, "template"));
		EACH(i, claims) {
			struct ks_path item = ks_path_index(&claims_at, i), requests = ks_path_child(&item, "resources.requests");

			ks_warn_fraction(c, &requests, MAP(IN(IN(&claims->items[i], "spec"), "resources"), "requests"), KS_STR_LIT("storage"));
		}
	}
	if (INT(spec, "revisionHistoryLimit") < 0)
		ks_warn_at(c, &path, "revisionHistoryLimit", "a negative value retains all historical revisions; a value >= 0 is recommended");
}

static void warn_job_spec(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	struct ks_path template_at = ks_path_child(path, "template");

	if (ks_str_is(TEXT(spec, "completionMode"), "Indexed") && INT(spec, "completions") > 100000 && INT(spec, "parallelism") > 10000)
		ks_warn_at(c, path, NULL,
			"In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track "
			"completedIndexes when a big number of indexes fail");
	warn_template(c, &template_at, IN(spec, "template"));
}

void ks_warn_job(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;
	struct ks_path path = ks_path_root("spec");

	if (unchanged(ctx, object, old))
		return;
	if (!old)
		warn_name(c, object, false);
	warn_job_spec(c, &path, IN(object, "spec"));
}

void ks_warn_cronjob(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;
	struct ks_path path = ks_path_root("spec.jobTemplate.spec");

	if (unchanged(ctx, object, old))
		return;
	if (!old)
		warn_name(c, object, false);
	warn_job_spec(c, &path, IN(IN(IN(object, "spec"), "jobTemplate"), "spec"));
}
