/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Where CPU or memory are counted, every container has to say how much it takes. */
#include <keelson/sdk/podspec.h>

#include "admission/resourcequota/quota.h"

/* Names of quotas in their order, and what they need of a container. */
static const struct need {
	const char *name, *list, *resource;
} needs[] = {
	{"cpu", "requests", "cpu"},
	{"limits.cpu", "limits", "cpu"},
	{"limits.memory", "limits", "memory"},
	{"memory", "requests", "memory"},
	{"requests.cpu", "requests", "cpu"},
	{"requests.memory", "requests", "memory"},
};

static int says(const struct ks_admit *call, struct ks_val holder, const struct need *need)
{
	return ks_admit_has(call, ks_admit_member(call, ks_admit_member(call, holder, "resources"), need->list), need->resource);
}

/* The containers, in the order of their names, that don't say it; init containers, too. */
static struct ks_view containers_without(const struct ks_admit *call, struct ks_val spec, const struct need *need)
{
	struct ks_podspec_walk walk = {.values = call->host->values, .spec = spec};
	struct ks_view text = {0};

	if (says(call, spec, need))
		return text;
	while (ks_podspec_next(&walk) && walk.kind != KS_CONTAINER_EPHEMERAL) {
		struct ks_view name = ks_admit_text(call, walk.container, "name");

		if (says(call, walk.container, need))
			continue;
		text = text.n ? ks_admit_printf(call, "%.*s,%.*s", KS_VIEW_ARGS(text), KS_VIEW_ARGS(name)) : name;
	}
	return text;
}

struct ks_view ks_quota_missing(const struct ks_admit *call, const struct ks_amounts *hard, struct ks_val pod)
{
	struct ks_val spec = ks_admit_member(call, pod, "spec");
	struct ks_view text = {0};

	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
		struct ks_view names;

		if (!ks_amounts_get(hard, ks_view_lit(needs[i].name)))
			continue;
		names = containers_without(call, spec, &needs[i]);
		if (names.n)
			text = ks_admit_printf(
				call, "%.*s%s%s for: %.*s", KS_VIEW_ARGS(text), text.n ? "; " : "must specify ", needs[i].name, KS_VIEW_ARGS(names));
	}
	return text;
}
