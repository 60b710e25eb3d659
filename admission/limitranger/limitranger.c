/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* limitranger: containers that don't say what they need get the namespace's defaults, and pods and claims stay in its bounds. */
#include <stdlib.h>

#include "admission/limitranger/limitranger.h"

struct ranger {
	const struct ks_host *host;
	const struct ks_path *deletion;
};

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	static const struct ks_admit_path paths[] = {{offsetof(struct ranger, deletion), "metadata.deletionTimestamp"}};
	struct ranger *r = calloc(1, sizeof(*r));

	(void)config;
	(void)error;
	if (!r || ks_admit_paths(host, r, paths, sizeof(paths) / sizeof(*paths)) != KS_DONE) {
		free(r);
		return KS_ERR_NOMEM;
	}
	r->host = host;
	*self = r;
	return KS_DONE;
}

/* What is being deleted is let go. */
static int is_ending(const struct ranger *r, const struct ks_admission_request *request)
{
	return r->host->values->kind(r->host->values->get(request->old_object, r->deletion)) > KS_VAL_NULL;
}

static int each_range(struct ks_limits *l, int (*apply)(void *arg, struct ks_val range))
{
	static const struct ks_view group = {"", 0}, version = {"v1", 2}, resource = {"limitranges", 11};
	const struct ks_admit *call = &l->call;
	int rc = call->host->cached_list(call->op, group, version, resource, call->request->namespace_, apply, l);

	if (rc == KS_DONE)
		rc = l->result;
	if (rc != KS_DONE)
		return rc;
	return l->n_problems ? ks_admit_deny(call, "%.*s", KS_VIEW_ARGS(ks_limits_problems(l))) : ks_admit_allow(call);
}

static int apply_defaults(void *arg, struct ks_val range)
{
	struct ks_limits *l = arg;

	ks_limits_default(l, range);
	return l->result != KS_DONE;
}

/* The first range that is broken is told. */
static int check(void *arg, struct ks_val range)
{
	struct ks_limits *l = arg;

	if (ks_view_is(l->call.request->resource, "pods"))
		ks_limits_check_pod(l, range);
	else
		ks_limits_check_claim(l, range);
	return l->result != KS_DONE || l->n_problems;
}

static int mutate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	const struct ranger *r = self;
	struct ks_limits l = {.call = {r->host, op, request, result}, .object = request->object};

	if (!ks_view_is(request->resource, "pods") || is_ending(r, request))
		return ks_admit_allow(&l.call);
	return each_range(&l, apply_defaults);
}

static int validate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	const struct ranger *r = self;
	struct ks_limits l = {.call = {r->host, op, request, result}, .object = request->object};

	return is_ending(r, request) ? ks_admit_allow(&l.call) : each_range(&l, check);
}

/* An update of a pod can't change what its containers need, but for a resize. */
static const struct ks_admission_match matches[] = {
	{KS_OPERATION_CREATE, "", "pods"},
	{KS_OPERATION_UPDATE, "", "pods/resize"},
	{KS_OPERATION_CREATE | KS_OPERATION_UPDATE, "", "persistentvolumeclaims"},
};

static const struct ks_lifecycle life = {.size = sizeof(life), .create = create, .destroy = free};

static const struct ks_admission_ops ops = {
	.size = sizeof(ops),
	.matches = matches,
	.n_matches = sizeof(matches) / sizeof(*matches),
	.mutate = mutate,
	.validate = validate,
};

static const struct ks_interface interface = {
	.size = sizeof(interface),
	.kind = KS_KIND_ADMISSION,
	.version = KS_ADMISSION_VERSION,
	.threads = KS_THREADS_CONCURRENT,
	.blocking = KS_CALLS_INLINE,
	.flags = KS_ADMISSION_NEEDS_OLD,
	.name = "limitranger",
	.lifecycle = &life,
	.ops = &ops,
};

KS_PLUGIN(limitranger) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Gives containers the defaults of their namespace; keeps pods and claims in its bounds",
};
