/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Which objects a quota with scopes is about. */
#include <keelson/sdk/podspec.h>

#include "admission/resourcequota/quota.h"

/* A scope, and the object that is looked at. */
struct scope {
	const struct ks_admit *call;
	struct ks_val object, spec;
	struct ks_view name, op;
	struct ks_val wanted; /* a list of texts */
};

static int is_terminating(const struct scope *s)
{
	struct ks_val deadline = ks_admit_member(s->call, s->spec, "activeDeadlineSeconds");

	return s->call->host->values->kind(deadline) == KS_VAL_INT && s->call->host->values->integer(deadline) >= 0;
}

static int asks(const struct ks_admit *call, struct ks_val holder)
{
	static const char *const lists[] = {"requests", "limits"}, *const names[] = {"cpu", "memory"};
	struct ks_val resources = ks_admit_member(call, holder, "resources");

	for (size_t i = 0; i < 4; i++) {
		struct ks_amount amount;

		if (ks_amount_parse(ks_admit_text(call, ks_admit_member(call, resources, lists[i / 2]), names[i % 2]), &amount) &&
			ks_amount_sign(&amount) > 0)
			return 1;
	}
	return 0;
}

static int is_best_effort(const struct scope *s)
{
	struct ks_podspec_walk walk = {.values = s->call->host->values, .spec = s->spec};

	if (asks(s->call, s->spec))
		return 0;
	while (ks_podspec_next(&walk) && walk.kind != KS_CONTAINER_EPHEMERAL)
		if (asks(s->call, walk.container))
			return 0;
	return 1;
}

static int crosses(const struct ks_admit *call, struct ks_val term)
{
	return call->host->values->length(ks_admit_member(call, term, "namespaces")) || ks_admit_has(call, term, "namespaceSelector");
}

static int affinity_crosses(const struct ks_admit *call, struct ks_val affinity)
{
	const struct ks_value_ops *values = call->host->values;
	struct ks_val required = ks_admit_member(call, affinity, "requiredDuringSchedulingIgnoredDuringExecution");
	struct ks_val preferred = ks_admit_member(call, affinity, "preferredDuringSchedulingIgnoredDuringExecution");

	for (size_t i = 0; i < values->length(required); i++)
		if (crosses(call, values->item(required, i)))
			return 1;
	for (size_t i = 0; i < values->length(preferred); i++)
		if (crosses(call, ks_admit_member(call, values->item(preferred, i), "podAffinityTerm")))
			return 1;
	return 0;
}

static int crosses_namespaces(const struct scope *s)
{
	struct ks_val affinity = ks_admit_member(s->call, s->spec, "affinity");

	return affinity_crosses(s->call, ks_admit_member(s->call, affinity, "podAffinity")) ||
		affinity_crosses(s->call, ks_admit_member(s->call, affinity, "podAntiAffinity"));
}

/* As a label selector over one label, which is there when the text is not empty. */
static int selects(const struct scope *s, struct ks_view text)
{
	const struct ks_value_ops *values = s->call->host->values;
	int among = 0;

	for (size_t i = 0; text.n && i < values->length(s->wanted); i++)
		among |= ks_view_eq(values->string(values->item(s->wanted, i)), text);
	if (ks_view_is(s->op, "In"))
		return among;
	if (ks_view_is(s->op, "NotIn"))
		return !among;
	if (ks_view_is(s->op, "DoesNotExist"))
		return text.n == 0;
	return text.n > 0;
}

static int pod_is_in(const struct scope *s)
{
	if (ks_view_is(s->name, "Terminating"))
		return is_terminating(s);
	if (ks_view_is(s->name, "NotTerminating"))
		return !is_terminating(s);
	if (ks_view_is(s->name, "BestEffort"))
		return is_best_effort(s);
	if (ks_view_is(s->name, "NotBestEffort"))
		return !is_best_effort(s);
	if (ks_view_is(s->name, "PriorityClass"))
		return selects(s, ks_admit_text(s->call, s->spec, "priorityClassName"));
	return ks_view_is(s->name, "CrossNamespacePodAffinity") && crosses_namespaces(s);
}

/* A claim may have the class that it asks for, the one it has, and the one it is on its way to. */
static int claim_is_in(const struct scope *s)
{
	struct ks_val status = ks_admit_member(s->call, s->object, "status");
	const struct ks_view names[] = {
		ks_admit_text(s->call, s->spec, "volumeAttributesClassName"),
		ks_admit_text(s->call, status, "currentVolumeAttributesClassName"),
		ks_admit_text(s->call, ks_admit_member(s->call, status, "modifyVolumeStatus"), "targetVolumeAttributesClassName"),
	};
	int any = 0;

	if (!ks_view_is(s->name, "VolumeAttributesClass"))
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (names[i].n && selects(s, names[i]))
			return 1;
		any |= names[i].n > 0;
	}
	return !any && selects(s, (struct ks_view){0});
}

static int is_in(const struct scope *s)
{
	switch (ks_quota_kind_of(s->call->request)) {
	case KS_QUOTA_POD:
		return pod_is_in(s);
	case KS_QUOTA_CLAIM:
		return claim_is_in(s);
	default:
		return 0;
	}
}

int ks_quota_in_scope(const struct ks_admit *call, struct ks_val quota, struct ks_val object)
{
	const struct ks_value_ops *values = call->host->values;
	struct ks_val spec = ks_admit_member(call, quota, "spec"), scopes = ks_admit_member(call, spec, "scopes");
	struct ks_val selectors = ks_admit_member(call, ks_admit_member(call, spec, "scopeSelector"), "matchExpressions");
	struct scope s = {.call = call, .object = object, .spec = ks_admit_member(call, object, "spec")};

	for (size_t i = 0; i < values->length(scopes); i++) {
		s.name = values->string(values->item(scopes, i));
		s.op = ks_view_lit("Exists");
		if (!is_in(&s))
			return 0;
	}
	for (size_t i = 0; i < values->length(selectors); i++) {
		struct ks_val selector = values->item(selectors, i);

		s.name = ks_admit_text(call, selector, "scopeName");
		s.op = ks_admit_text(call, selector, "operator");
		s.wanted = ks_admit_member(call, selector, "values");
		if (!is_in(&s))
			return 0;
	}
	return 1;
}
