/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * namespacelifecycle: nothing is made or changed in a namespace that does not exist, nothing is made in
 * one that is being terminated, and the namespaces that a cluster stands on are not deleted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <keelson/admission.h>

struct lifecycle {
	const struct ks_host *host;
	const struct ks_path *phase;
};

static const struct ks_view core_group = {"", 0}, version_v1 = {"v1", 2}, namespaces = {"namespaces", 10};

/* k8s.io/apiserver names these three immortal. */
static const char *const immortal[] = {"default", "kube-system", "kube-public"};

static int view_is(struct ks_view v, const char *s)
{
	return v.n == strlen(s) && memcmp(v.p, s, v.n) == 0;
}

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	struct lifecycle *l = calloc(1, sizeof(*l));

	(void)config;
	(void)error;
	if (!l)
		return KS_ERR_NOMEM;
	l->host = host;
	l->phase = host->values->path(host, "status.phase");
	if (!l->phase) {
		free(l);
		return KS_ERR_NOMEM;
	}
	*self = l;
	return KS_DONE;
}

/* "FORMAT with %.*s", in the operation's memory; empty when out of memory. */
static struct ks_view say(const struct lifecycle *l, struct ks_op *op, const char *format, struct ks_view name)
{
	size_t size = strlen(format) + name.n + 1;
	char *text = l->host->op_alloc(op, size);
	int n = text ? snprintf(text, size, format, (int)name.n, name.p) : 0;

	return (struct ks_view){text, n > 0 ? (size_t)n : 0};
}

static int protect_immortal(const struct ks_admission_request *request, struct ks_admission_result *result)
{
	for (size_t i = 0; i < sizeof(immortal) / sizeof(immortal[0]); i++)
		if (view_is(request->name, immortal[i])) {
			result->message = (struct ks_view){"this namespace may not be deleted", 33};
			return KS_DONE;
		}
	result->allowed = 1;
	return KS_DONE;
}

static int deny_missing(const struct ks_admission_request *request, struct ks_admission_result *result)
{
	result->code = 404;
	result->about_resource = namespaces;
	result->about_name = request->namespace_;
	return KS_DONE;
}

static int deny_terminating(const struct lifecycle *l, struct ks_op *op, const struct ks_admission_request *request,
	struct ks_admission_result *result)
{
	struct ks_admission_cause *cause = l->host->op_alloc(op, sizeof(*cause));

	if (!cause)
		return KS_ERR_NOMEM;
	*cause = (struct ks_admission_cause){
		.reason = {"NamespaceTerminating", 20},
		.field = {"metadata.namespace", 18},
		.message = say(l, op, "namespace %.*s is being terminated", request->namespace_),
	};
	result->message = say(l, op, "unable to create new content in namespace %.*s because it is being terminated", request->namespace_);
	result->causes = cause;
	result->n_causes = 1;
	return KS_DONE;
}

static int is_terminating(const struct lifecycle *l, struct ks_val namespace)
{
	const struct ks_value_ops *values = l->host->values;

	return view_is(values->string(values->get(namespace, l->phase)), "Terminating");
}

/* Who asks whether he may do something in a namespace is answered whether it exists or not. */
static int is_review(const struct ks_admission_request *request)
{
	return view_is(request->group, "authorization.k8s.io") && view_is(request->resource, "localsubjectaccessreviews");
}

static int review(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	const struct lifecycle *l = self;
	struct ks_val namespace;
	int found;

	if (request->group.n == 0 && view_is(request->resource, "namespaces") && request->operation == KS_OPERATION_DELETE)
		return protect_immortal(request, result);
	if (request->namespace_.n == 0 || view_is(request->resource, "namespaces") || request->operation == KS_OPERATION_DELETE ||
		is_review(request)) {
		result->allowed = 1;
		return KS_DONE;
	}
	found = l->host->cached_get(op, core_group, version_v1, namespaces, (struct ks_view){0}, request->namespace_, &namespace);
	if (found < 0)
		return found;
	if (!found)
		return deny_missing(request, result);
	if (request->operation == KS_OPERATION_CREATE && is_terminating(l, namespace))
		return deny_terminating(l, op, request, result);
	result->allowed = 1;
	return KS_DONE;
}

static const struct ks_admission_match matches[] = {
	{KS_OPERATION_CREATE | KS_OPERATION_UPDATE | KS_OPERATION_DELETE, "*", "*/*"},
};

static const struct ks_lifecycle life = {.size = sizeof(life), .create = create, .destroy = free};

/* Asked in the first phase, as upstream does, so that nothing else works on an object that can't be. */
static const struct ks_admission_ops ops = {
	.size = sizeof(ops),
	.matches = matches,
	.n_matches = sizeof(matches) / sizeof(matches[0]),
	.mutate = review,
};

static const struct ks_interface interface = {
	.size = sizeof(interface),
	.kind = KS_KIND_ADMISSION,
	.version = KS_ADMISSION_VERSION,
	.threads = KS_THREADS_CONCURRENT,
	.blocking = KS_CALLS_INLINE,
	.name = "namespacelifecycle",
	.lifecycle = &life,
	.ops = &ops,
};

KS_PLUGIN(namespacelifecycle) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Refuses objects in namespaces that are missing or terminating; protects the system's namespaces",
};
