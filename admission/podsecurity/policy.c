/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Which policy a namespace asks for, by its labels. */
#include "admission/podsecurity/podsecurity.h"

#define PREFIX "pod-security.kubernetes.io/"

static const char *const levels[] = {"privileged", "baseline", "restricted"};

struct ks_view ks_pss_policy_text(const struct ks_admit *call, const struct ks_pss_policy *policy)
{
	if (policy->minor == KS_PSS_LATEST)
		return ks_admit_printf(call, "%s:latest", levels[policy->level]);
	return ks_admit_printf(call, "%s:v1.%d", levels[policy->level], policy->minor);
}

int ks_pss_level_parse(struct ks_view text, int *level_r)
{
	for (int i = 0; i < 3; i++)
		if (ks_view_is(text, levels[i])) {
			*level_r = i;
			return 0;
		}
	*level_r = KS_PSS_RESTRICTED;
	return -1;
}

int ks_pss_version_parse(struct ks_view text, int32_t *minor_r)
{
	int32_t minor = 0;

	*minor_r = KS_PSS_LATEST;
	if (ks_view_is(text, "latest"))
		return 0;
	if (text.n < 4 || text.n > 9 || !ks_view_is((struct ks_view){text.p, 3}, "v1.") || (text.p[3] == '0' && text.n > 4))
		return -1;
	for (size_t i = 3; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return -1;
		minor = minor * 10 + (text.p[i] - '0');
	}
	*minor_r = minor;
	return 0;
}

static void tell(const struct ks_admit *call, struct ks_admission_cause *cause, const char *label, struct ks_view value, const char *must)
{
	*cause = (struct ks_admission_cause){
		.reason = ks_view_lit("FieldValueInvalid"),
		.field = ks_admit_printf(call, "metadata.labels[%s]", label),
		.message = ks_admit_printf(call, "Invalid value: %.*s: must be %s", KS_VIEW_ARGS(ks_admit_quote(call, value)), must),
	};
}

size_t ks_pss_labels(const struct ks_admit *call, struct ks_val namespace_, const struct ks_pss_policy defaults[KS_PSS_N_MODES],
	struct ks_pss_policy out[KS_PSS_N_MODES], struct ks_admission_cause *causes)
{
	static const char *const names[KS_PSS_N_MODES][2] = {
		{PREFIX "enforce", PREFIX "enforce-version"}, {PREFIX "audit", PREFIX "audit-version"}, {PREFIX "warn", PREFIX "warn-version"}};
	struct ks_val labels = ks_admit_member(call, ks_admit_member(call, namespace_, "metadata"), "labels");
	size_t n = 0;

	for (int i = 0; i < KS_PSS_N_MODES; i++) {
		struct ks_val level = ks_admit_member(call, labels, names[i][0]), version = ks_admit_member(call, labels, names[i][1]);
		struct ks_view text = call->host->values->string(level);

		out[i] = defaults[i];
		if (level.node && ks_pss_level_parse(text, &out[i].level) < 0) {
			if (i != KS_PSS_ENFORCE)
				out[i].level = KS_PSS_PRIVILEGED; /* what only tells must not be stricter than what was meant */
			if (causes)
				tell(call, &causes[n], names[i][0], text, "one of privileged, baseline, restricted");
			n++;
		}
		text = call->host->values->string(version);
		if (version.node && ks_pss_version_parse(text, &out[i].minor) < 0) {
			if (causes)
				tell(call, &causes[n], names[i][1], text, "\"latest\" or \"v1.x\"");
			n++;
		}
	}
	return n;
}
