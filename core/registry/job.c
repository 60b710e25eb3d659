/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/kit.h"
#include "core/registry/strategies.h"
#include "core/registry/validate/pods.h"
#include "core/registry/validate/warnings.h"

/* An empty text is something said, here. */
static bool unsaid_text(struct ks_registry_context *ctx, struct ks_value *job, const char *path, const char *text)
{
	return ks_kit_at(ctx, job, path) || ks_kit_set_text(ctx, job, path, text);
}

static bool job_defaults(struct ks_registry_context *ctx, struct ks_value *job)
{
	bool counted = ks_kit_at(ctx, job, "spec.completions") || ks_kit_at(ctx, job, "spec.parallelism");
	bool has_policy = ks_kit_at(ctx, job, "spec.podFailurePolicy") != NULL;

	if (!ks_kit_at(ctx, job, "spec"))
		return true;
	if (!counted && !ks_kit_set(ctx, job, "spec.completions", ks_value_from_int(1)))
		return false;
	return ks_kit_default(ctx, job, "spec.parallelism", ks_value_from_int(1)) &&
		ks_kit_default(ctx, job, "spec.backoffLimit",
			ks_value_from_int(ks_kit_at(ctx, job, "spec.backoffLimitPerIndex") ? INT32_MAX : 6)) &&
		unsaid_text(ctx, job, "spec.completionMode", "NonIndexed") &&
		ks_kit_default(ctx, job, "spec.suspend", ks_value_from_bool(false)) &&
		unsaid_text(ctx, job, "spec.podReplacementPolicy", has_policy ? "Failed" : "TerminatingOrFailed") &&
		ks_kit_default(ctx, job, "spec.manualSelector", ks_value_from_bool(false)) &&
		ks_pod_spec_defaults(ctx, ks_kit_at(ctx, job, "spec.template.spec"));
}

static bool add_label(struct ks_registry_context *ctx, struct ks_value *labels, const char *key, struct ks_str value)
{
	struct ks_value *place = ks_value_put(ctx->arena, ctx->schema, labels, ks_str_from(key));

	if (!place)
		return false;
	*place = ks_value_from_str(value);
	return true;
}

/* A job finds its pods by its uid, unless the client chose the selector itself. */
static void job_prepare_create(struct ks_registry_context *ctx, struct ks_value *job)
{
	struct ks_str uid = ks_meta_text(ctx->schema, job, "uid"), name = ks_meta_text(ctx->schema, job, "name");
	struct ks_value *labels, *wanted, *share = NULL;

	if (ks_kit_true(ctx, job, "spec.manualSelector") || !ks_kit_at(ctx, job, "spec"))
		return;
	labels = ks_value_put_at(ctx->arena, ctx->schema, job, "spec.template.metadata.labels");
	if (!labels)
		return;
	if (labels->kind != KS_MAP)
		*labels = (struct ks_value){.kind = KS_MAP};
	/* A job without labels has those of its pods. */
	if (!ks_kit_map(ctx, job, "metadata.labels"))
		share = ks_value_put_at(ctx->arena, ctx->schema, job, "metadata.labels");
	if (!add_label(ctx, labels, "job-name", name) || !add_label(ctx, labels, "batch.kubernetes.io/job-name", name) ||
		!add_label(ctx, labels, "controller-uid", uid) || !add_label(ctx, labels, "batch.kubernetes.io/controller-uid", uid))
		return;
	if (share && !ks_value_copy(ctx->arena, labels, share))
		return;
	if (!ks_kit_struct(ctx, job, "spec.selector"))
		return;
	wanted = ks_value_put_at(ctx->arena, ctx->schema, job, "spec.selector.matchLabels");
	if (!wanted)
		return;
	if (wanted->kind != KS_MAP)
		*wanted = (struct ks_value){.kind = KS_MAP};
	add_label(ctx, wanted, "batch.kubernetes.io/controller-uid", uid);
}

const struct ks_strategy ks_strategy_jobs = {
	.group = "batch", .resource = "jobs",
	.flags = KS_STRATEGY_ORPHANS | KS_STRATEGY_VALIDATES_METADATA_AGAIN,
	.generation = KS_GENERATION_SPEC,
	.defaults = job_defaults,
	.prepare_create = job_prepare_create,
	.validate = ks_validate_job,
	.warnings = ks_warn_job,
};

static bool cronjob_defaults(struct ks_registry_context *ctx, struct ks_value *object)
{
	return ks_pod_spec_defaults(ctx, ks_kit_at(ctx, object, "spec.jobTemplate.spec.template.spec"));
}

const struct ks_strategy ks_strategy_cronjobs = {
	.group = "batch", .resource = "cronjobs",
	.generation = KS_GENERATION_SPEC,
	.defaults = cronjob_defaults,
	.validate = ks_validate_cronjob,
	.warnings = ks_warn_cronjob,
};
