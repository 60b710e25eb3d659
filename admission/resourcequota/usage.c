/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What objects use, under the names that quotas have for it. */
#include <string.h>

#include "admission/resourcequota/quota.h"

#define BY_CLASS ".storageclass.storage.k8s.io/"

enum ks_quota_kind ks_quota_kind_of(const struct ks_admission_request *request)
{
	if (request->group.n)
		return KS_QUOTA_OBJECT;
	if (ks_view_is(request->resource, "pods"))
		return KS_QUOTA_POD;
	if (ks_view_is(request->resource, "services"))
		return KS_QUOTA_SERVICE;
	return ks_view_is(request->resource, "persistentvolumeclaims") ? KS_QUOTA_CLAIM : KS_QUOTA_OBJECT;
}

static int begins_with(struct ks_view text, const char *head)
{
	size_t n = strlen(head);

	return text.n >= n && memcmp(text.p, head, n) == 0;
}

static int ends_with(struct ks_view text, const char *tail)
{
	size_t n = strlen(tail);

	return text.n >= n && memcmp(text.p + text.n - n, tail, n) == 0;
}

static int is_among(struct ks_view name, const char *const *list)
{
	for (; *list; list++)
		if (ks_view_is(name, *list))
			return 1;
	return 0;
}

/* "example.com/gpu": not of Kubernetes' own. */
static int is_extended(struct ks_view name)
{
	const char *slash = name.n ? memchr(name.p, '/', name.n) : NULL;

	return slash && !begins_with(name, "requests.") && !memmem(name.p, (size_t)(slash - name.p), "kubernetes.io", 13);
}

/* "count/pods", "count/deployments.apps" */
static struct ks_view count_name(const struct ks_admit *call)
{
	const struct ks_admission_request *r = call->request;

	return ks_admit_printf(call, "count/%.*s%s%.*s", KS_VIEW_ARGS(r->resource), r->group.n ? "." : "", KS_VIEW_ARGS(r->group));
}

/* Resources that had a name of their own before all could be counted. */
static const char *const old_names[] = {"configmaps", "secrets", "replicationcontrollers", "resourcequotas", NULL};

/* -- usage --------------------------------------------------------------------------------------------------------- */

static void count(const struct ks_admit *call, struct ks_amounts *usage, struct ks_view name, int64_t n)
{
	struct ks_amount amount = ks_amount_of(n);

	ks_amounts_set(call, usage, name, &amount);
}

static void set(const struct ks_admit *call, struct ks_amounts *usage, const char *prefix, struct ks_view name, const struct ks_amount *amount)
{
	ks_amounts_set(call, usage, prefix ? ks_admit_printf(call, "%s%.*s", prefix, KS_VIEW_ARGS(name)) : name, amount);
}

static int is_basic(struct ks_view name)
{
	static const char *const names[] = {"cpu", "memory", "ephemeral-storage", NULL};

	return is_among(name, names);
}

static void add_compute(const struct ks_admit *call, const struct ks_amounts *requests, const struct ks_amounts *limits, struct ks_amounts *usage)
{
	for (size_t i = 0; i < requests->n; i++) {
		const struct ks_named_amount *r = &requests->items[i];

		if (is_basic(r->name) || begins_with(r->name, "hugepages-"))
			set(call, usage, NULL, r->name, &r->amount);
		if (is_basic(r->name) || begins_with(r->name, "hugepages-") || is_extended(r->name))
			set(call, usage, "requests.", r->name, &r->amount);
	}
	for (size_t i = 0; i < limits->n; i++)
		if (is_basic(limits->items[i].name))
			set(call, usage, "limits.", limits->items[i].name, &limits->items[i].amount);
}

static void pod_usage(const struct ks_admit *call, struct ks_val pod, struct ks_amounts *usage)
{
	struct ks_val spec = ks_admit_member(call, pod, "spec");
	struct ks_view phase = ks_admit_text(call, ks_admit_member(call, pod, "status"), "phase");
	struct ks_amounts requests = {0}, limits = {0};

	if (ks_view_is(phase, "Succeeded") || ks_view_is(phase, "Failed"))
		return;
	count(call, usage, ks_view_lit("pods"), 1);
	ks_pod_amounts(call, spec, "requests", &requests);
	ks_pod_amounts(call, spec, "limits", &limits);
	add_compute(call, &requests, &limits, usage);
	usage->failed |= requests.failed | limits.failed;
}

/* Node ports are given later: what counts is how many will be. */
static int64_t node_ports(const struct ks_admit *call, struct ks_val spec, int balanced)
{
	const struct ks_value_ops *values = call->host->values;
	struct ks_val ports = ks_admit_member(call, spec, "ports"), wanted = ks_admit_member(call, spec, "allocateLoadBalancerNodePorts");
	int64_t n = 0;

	if (!balanced || values->kind(wanted) != KS_VAL_BOOL || values->boolean(wanted))
		return (int64_t)values->length(ports);
	for (size_t i = 0; i < values->length(ports); i++)
		n += values->integer(ks_admit_member(call, values->item(ports, i), "nodePort")) != 0;
	return n;
}

static void service_usage(const struct ks_admit *call, struct ks_val service, struct ks_amounts *usage)
{
	struct ks_val spec = ks_admit_member(call, service, "spec");
	struct ks_view type = ks_admit_text(call, spec, "type");
	int balanced = ks_view_is(type, "LoadBalancer");

	count(call, usage, ks_view_lit("services"), 1);
	count(call, usage, ks_view_lit("services.loadbalancers"), balanced);
	count(call, usage, ks_view_lit("services.nodeports"), balanced || ks_view_is(type, "NodePort") ? node_ports(call, spec, balanced) : 0);
}

/* What was asked for, or what is being given if that is more; in whole bytes. 1: something. */
static int claimed(const struct ks_admit *call, struct ks_val claim, struct ks_amount *amount_r)
{
	struct ks_val requests = ks_admit_member(call, ks_admit_member(call, ks_admit_member(call, claim, "spec"), "resources"), "requests");
	struct ks_val given = ks_admit_member(call, ks_admit_member(call, claim, "status"), "allocatedResources");
	struct ks_amount allocated, whole;

	if (!ks_amount_parse(ks_admit_text(call, requests, "storage"), amount_r))
		return 0;
	if (ks_amount_parse(ks_admit_text(call, given, "storage"), &allocated) && ks_amount_cmp(&allocated, amount_r) > 0)
		*amount_r = allocated;
	whole = ks_amount_of(ks_amount_value(amount_r));
	if (ks_amount_cmp(&whole, amount_r))
		*amount_r = whole;
	return 1;
}

static void claim_usage(const struct ks_admit *call, struct ks_val claim, struct ks_amounts *usage)
{
	struct ks_val annotations = ks_admit_member(call, ks_admit_member(call, claim, "metadata"), "annotations");
	struct ks_view class_ = ks_admit_text(call, annotations, "volume.beta.kubernetes.io/storage-class");
	struct ks_amount storage;

	if (!class_.n)
		class_ = ks_admit_text(call, ks_admit_member(call, claim, "spec"), "storageClassName");
	count(call, usage, ks_view_lit("persistentvolumeclaims"), 1);
	if (class_.n)
		count(call, usage, ks_admit_printf(call, "%.*s" BY_CLASS "persistentvolumeclaims", KS_VIEW_ARGS(class_)), 1);
	if (!claimed(call, claim, &storage))
		return;
	ks_amounts_set(call, usage, ks_view_lit("requests.storage"), &storage);
	if (class_.n)
		ks_amounts_set(call, usage, ks_admit_printf(call, "%.*s" BY_CLASS "requests.storage", KS_VIEW_ARGS(class_)), &storage);
}

void ks_quota_usage(const struct ks_admit *call, struct ks_val object, struct ks_amounts *usage)
{
	count(call, usage, count_name(call), 1);
	switch (ks_quota_kind_of(call->request)) {
	case KS_QUOTA_POD:
		pod_usage(call, object, usage);
		break;
	case KS_QUOTA_SERVICE:
		service_usage(call, object, usage);
		break;
	case KS_QUOTA_CLAIM:
		claim_usage(call, object, usage);
		break;
	case KS_QUOTA_OBJECT:
		if (!call->request->group.n && is_among(call->request->resource, old_names))
			count(call, usage, call->request->resource, 1);
		break;
	}
}

/* -- names ----------------------------------------------------------------------------------------------------------- */

static int counts_pods(struct ks_view name)
{
	static const char *const names[] = {"pods", "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory",
		"requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage", NULL};
	static const char requests[] = "requests.";

	if (is_among(name, names) || begins_with(name, "hugepages-") || begins_with(name, "requests.hugepages-"))
		return 1;
	return begins_with(name, requests) && is_extended((struct ks_view){name.p + sizeof(requests) - 1, name.n - (sizeof(requests) - 1)});
}

static int counts_claims(struct ks_view name)
{
	return ks_view_is(name, "persistentvolumeclaims") || ks_view_is(name, "requests.storage") ||
		ends_with(name, BY_CLASS "persistentvolumeclaims") || ends_with(name, BY_CLASS "requests.storage");
}

int ks_quota_counts(const struct ks_admit *call, struct ks_view name)
{
	static const char *const services[] = {"services", "services.nodeports", "services.loadbalancers", NULL};

	if (ks_view_eq(name, count_name(call)))
		return 1;
	switch (ks_quota_kind_of(call->request)) {
	case KS_QUOTA_POD:
		return counts_pods(name);
	case KS_QUOTA_SERVICE:
		return is_among(name, services);
	case KS_QUOTA_CLAIM:
		return counts_claims(name);
	case KS_QUOTA_OBJECT:
		return !call->request->group.n && ks_view_eq(name, call->request->resource) && is_among(name, old_names);
	}
	return 0;
}
