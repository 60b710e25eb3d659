/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Which pods may be sent away, and what that costs their disruption budget. */
#include "core/api/selector.h"
#include "core/registry/kit.h"
#include "core/registry/subresources.h"

enum { MOST_DISRUPTED = 2000, RETRY_SECONDS = 10 };

#define REFUSAL "Cannot evict pod as it would violate the pod's disruption budget."

/* -- pods --------------------------------------------------------------------------------------------------------- */

bool ks_pod_is_ready(struct ks_registry_context *ctx, const struct ks_value *pod)
{
	const struct ks_value *conditions = ks_kit_list(ctx, pod, "status.conditions");

	for (uint32_t i = 0; conditions && i < conditions->n; i++)
		if (ks_str_is(ks_kit_text(ctx, &conditions->items[i], "type"), "Ready"))
			return ks_str_is(ks_kit_text(ctx, &conditions->items[i], "status"), "True");
	return false;
}

static bool is_over(struct ks_registry_context *ctx, const struct ks_value *pod)
{
	struct ks_str phase = ks_kit_text(ctx, pod, "status.phase");

	return ks_str_is(phase, "Succeeded") || ks_str_is(phase, "Failed") || ks_meta_get(ctx->schema, pod, "deletionTimestamp");
}

bool ks_pod_is_idle(struct ks_registry_context *ctx, const struct ks_value *pod)
{
	return is_over(ctx, pod) || ks_str_is(ks_kit_text(ctx, pod, "status.phase"), "Pending");
}

bool ks_pod_may_wake(struct ks_registry_context *ctx, const struct ks_value *pod)
{
	return !is_over(ctx, pod);
}

bool ks_pod_mark_evicted(struct ks_registry_context *ctx, struct ks_value *pod)
{
	struct ks_value *condition = ks_kit_condition(ctx, pod, "DisruptionTarget", "True");

	return condition && ks_kit_set_text(ctx, condition, "reason", "EvictionByEvictionAPI") &&
		ks_kit_set_text(ctx, condition, "message", "Eviction API: evicting");
}

/* -- budgets ------------------------------------------------------------------------------------------------------ */

bool ks_budget_covers(struct ks_registry_context *ctx, const struct ks_value *budget, const struct ks_label *labels, size_t n_labels)
{
	struct ks_selector *selector = NULL;
	const char *message;

	/* One that asks for nothing would be met by every pod: it is meant to be met by none. */
	if (ks_label_selector_from_value(ctx->arena, ctx->schema, ks_kit_at(ctx, budget, "spec.selector"), &selector, &message) || !selector)
		return false;
	return ks_label_selector_match(selector, labels, n_labels);
}

bool ks_budget_ignores_unready(struct ks_registry_context *ctx, const struct ks_value *budget)
{
	int64_t healthy = ks_kit_int(ctx, budget, "status.currentHealthy", 0), desired = ks_kit_int(ctx, budget, "status.desiredHealthy", 0);

	return ks_str_is(ks_kit_text(ctx, budget, "spec.unhealthyPodEvictionPolicy"), "AlwaysAllow") || (healthy >= desired && desired > 0);
}

static int refuse(struct ks_registry_context *ctx, struct ks_status *status, int retry_after, const char *why)
{
	ks_status_set(status, ctx->arena, 429, "TooManyRequests", REFUSAL);
	status->has_details = true;
	status->retry_after_seconds = retry_after;
	ks_status_cause(status, ctx->arena, "DisruptionBudget", NULL, "%s", why);
	return status->code;
}

int ks_budget_busy(struct ks_registry_context *ctx, struct ks_str name, struct ks_status *status)
{
	return refuse(ctx, status, RETRY_SECONDS,
		ks_kit_path(ctx, "The disruption budget %.*s is still being processed by the server.", (int)name.n, name.p));
}

static int check(struct ks_registry_context *ctx, const struct ks_value *budget, struct ks_str name, struct ks_status *status)
{
	int64_t allowed = ks_kit_int(ctx, budget, "status.disruptionsAllowed", 0);
	const struct ks_value *disrupted = ks_kit_map(ctx, budget, "status.disruptedPods");

	if (ks_kit_int(ctx, budget, "status.observedGeneration", 0) < ks_meta_int(ctx->schema, budget, "generation", 0))
		return ks_budget_busy(ctx, name, status);
	if (allowed < 0)
		return ks_status_forbidden(status, ctx->arena, "policy", "poddisruptionbudget", name, "pdb disruptions allowed is negative");
	if (disrupted && disrupted->n > MOST_DISRUPTED)
		return ks_status_forbidden(status, ctx->arena, "policy", "poddisruptionbudget", name,
			"DisruptedPods map too big - too many evictions not confirmed by PDB controller");
	if (allowed)
		return 0;
	return refuse(ctx, status, 0, ks_kit_path(ctx, "The disruption budget %.*s needs %lld healthy pods and has %lld currently", (int)name.n, name.p,
		(long long)ks_kit_int(ctx, budget, "status.desiredHealthy", 0), (long long)ks_kit_int(ctx, budget, "status.currentHealthy", 0)));
}

/* The controller learns of the pod that is about to go, and doesn't count it any more. */
static bool note(struct ks_registry_context *ctx, struct ks_value *budget, struct ks_str pod_name)
{
	int64_t left = ks_kit_int(ctx, budget, "status.disruptionsAllowed", 0) - 1;
	struct ks_value *condition, *pods = ks_value_put_at(ctx->arena, ctx->schema, budget, "status.disruptedPods"), *place;

	if (!pods || !ks_kit_set(ctx, budget, "status.disruptionsAllowed", ks_value_from_int(left)))
		return false;
	if (pods->kind != KS_MAP)
		*pods = (struct ks_value){.kind = KS_MAP};
	place = ks_value_put(ctx->arena, ctx->schema, pods, pod_name);
	if (!place)
		return false;
	*place = ks_value_from_str(ks_time_text(ctx->arena, ctx->now_ms));
	if (left)
		return true;
	condition = ks_kit_condition(ctx, budget, "DisruptionAllowed", "False");
	return condition && ks_kit_set_text(ctx, condition, "reason", "InsufficientPods") &&
		ks_kit_set(ctx, condition, "observedGeneration", ks_value_from_int(ks_kit_int(ctx, budget, "status.observedGeneration", 0)));
}

int ks_budget_take(struct ks_registry_context *ctx, struct ks_value *budget, struct ks_str pod_name, struct ks_status *status)
{
	int code = check(ctx, budget, ks_meta_text(ctx->schema, budget, "name"), status);

	if (code)
		return code;
	return note(ctx, budget, pod_name) ? 0 : ks_status_internal(status, ctx->arena, "out of memory");
}
