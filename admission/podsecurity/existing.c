/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "admission/podsecurity/podsecurity.h"

enum { PODS_MOST = 3000 };
#define TIME_MOST_NS 1000000000u

/* Pods that violate the same. */
struct group {
	struct group *next;
	struct ks_view reasons, first; /* the first pod by name: they come in that order */
	size_t n;
};

struct look_at_pods {
	const struct ks_admit *call;
	const struct ks_pss_policy *policy;
	struct group *groups;
	size_t n_groups, checked, total;
	uint64_t until_ns;
	int late, failed;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void count(struct look_at_pods *look, struct ks_view reasons, struct ks_view name)
{
	struct group *g;

	for (g = look->groups; g; g = g->next)
		if (ks_view_eq(g->reasons, reasons)) {
			g->n++;
			return;
		}
	g = look->call->host->op_alloc(look->call->op, sizeof(*g));
	if (!g) {
		look->failed = 1;
		return;
	}
	*g = (struct group){look->groups, reasons, ks_admit_printf(look->call, "%.*s", KS_VIEW_ARGS(name)), 1};
	look->failed |= !g->first.p;
	look->groups = g;
	look->n_groups++;
}

static int look_at(void *arg, struct ks_val pod)
{
	struct look_at_pods *look = arg;
	struct ks_val metadata = ks_admit_member(look->call, pod, "metadata");
	struct ks_pss_verdict verdict;

	look->total++;
	if (look->late || look->checked >= PODS_MOST)
		return 0;
	look->checked++;
	verdict = ks_pss_evaluate(look->call, look->policy, metadata, ks_admit_member(look->call, pod, "spec"));
	look->failed |= verdict.failed;
	if (verdict.reasons.n)
		count(look, verdict.reasons, ks_admit_text(look->call, metadata, "name"));
	look->late = now_ns() > look->until_ns;
	return look->failed;
}

static struct ks_view group_text(const struct ks_admit *call, const struct group *g)
{
	if (g->n == 1)
		return ks_admit_printf(call, "%.*s: %.*s", KS_VIEW_ARGS(g->first), KS_VIEW_ARGS(g->reasons));
	if (g->n == 2)
		return ks_admit_printf(call, "%.*s (and 1 other pod): %.*s", KS_VIEW_ARGS(g->first), KS_VIEW_ARGS(g->reasons));
	return ks_admit_printf(call, "%.*s (and %zu other pods): %.*s", KS_VIEW_ARGS(g->first), g->n - 1, KS_VIEW_ARGS(g->reasons));
}

static int warn(const struct look_at_pods *look, struct ks_view namespace_)
{
	const struct ks_admit *call = look->call;
	struct ks_pss_names warnings = {0}, pods = {0};

	if (look->checked < look->total)
		ks_pss_names_add(call, &warnings,
			ks_admit_printf(call, "new PodSecurity enforce level only checked against the first %zu of %zu existing pods", look->checked,
				look->total));
	if (look->n_groups)
		ks_pss_names_add(call, &warnings,
			ks_admit_printf(call, "existing pods in namespace %.*s violate the new PodSecurity enforce level \"%.*s\"",
				KS_VIEW_ARGS(ks_admit_quote(call, namespace_)), KS_VIEW_ARGS(ks_pss_policy_text(call, look->policy))));
	for (const struct group *g = look->groups; g; g = g->next)
		ks_pss_names_insert(call, &pods, group_text(call, g));
	for (size_t i = 0; i < pods.n; i++)
		ks_pss_names_add(call, &warnings, pods.items[i]);
	if (warnings.failed || pods.failed)
		return KS_ERR_NOMEM;
	call->result->warnings = warnings.items;
	call->result->n_warnings = warnings.n;
	return KS_DONE;
}

int ks_pss_warn_of_pods(const struct ks_admit *call, const struct ks_pss_policy *policy, struct ks_view namespace_)
{
	struct look_at_pods look = {.call = call, .policy = policy, .until_ns = now_ns() + TIME_MOST_NS};
	int rc = call->host->cached_list(call->op, ks_view_lit(""), ks_view_lit("v1"), ks_view_lit("pods"), namespace_, look_at, &look);

	if (rc == KS_DONE && look.failed)
		rc = KS_ERR_NOMEM;
	return rc == KS_DONE ? warn(&look, namespace_) : rc;
}
