/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The pod security standards: which controls apply in a level and version, and what they find.
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/
 */
#include "admission/podsecurity/look.h"

static int applies(const struct ks_pss_control *c, const struct ks_pss_policy *policy)
{
	if (policy->minor < c->since || (c->before && policy->minor >= c->before))
		return 0;
	return !(policy->level == KS_PSS_RESTRICTED && c->overridden_since >= 0 && policy->minor >= c->overridden_since);
}

static void add_violation(const struct look *l, struct ks_pss_verdict *v)
{
	const char *between = v->reasons.n ? ", " : "";

	v->reasons = ks_admit_printf(l->call, "%.*s%s%.*s", KS_VIEW_ARGS(v->reasons), between, KS_VIEW_ARGS(l->reason));
	v->details =
		ks_admit_printf(l->call, "%.*s%s%.*s (%.*s)", KS_VIEW_ARGS(v->details), between, KS_VIEW_ARGS(l->reason), KS_VIEW_ARGS(l->detail));
	v->failed |= !v->reasons.p || !v->details.p;
}

static void look_with(const struct ks_pss_control *controls, struct look *l, const struct ks_pss_policy *policy, struct ks_pss_verdict *verdict)
{
	for (; controls->check; controls++) {
		if (!applies(controls, policy))
			continue;
		l->reason = (struct ks_view){0};
		controls->check(l);
		verdict->failed |= l->failed;
		if (l->reason.n)
			add_violation(l, verdict);
	}
}

struct ks_pss_verdict ks_pss_evaluate(const struct ks_admit *call, const struct ks_pss_policy *policy, struct ks_val metadata, struct ks_val spec)
{
	struct look l = {.call = call, .values = call->host->values, .metadata = metadata, .spec = spec, .minor = policy->minor};
	struct ks_pss_verdict verdict = {0};

	l.context = ks_admit_member(call, spec, "securityContext");
	if (policy->level >= KS_PSS_BASELINE)
		look_with(ks_pss_baseline, &l, policy, &verdict);
	if (policy->level >= KS_PSS_RESTRICTED)
		look_with(ks_pss_restricted, &l, policy, &verdict);
	return verdict;
}
