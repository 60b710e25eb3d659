/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* storageobjectinuseprotection: volumes, claims and attribute classes get a finalizer, so that they stay while somebody uses them. */
#include <stdlib.h>

#include <keelson/sdk/admit.h>

struct protection {
	const struct ks_host *host;
	const struct ks_path *finalizers;
};

static const struct {
	const char *group, *resource, *finalizer;
} protected[] = {
	{"", "persistentvolumeclaims", "kubernetes.io/pvc-protection"},
	{"", "persistentvolumes", "kubernetes.io/pv-protection"},
	{"storage.k8s.io", "volumeattributesclasses", "kubernetes.io/vac-protection"},
};

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	static const struct ks_admit_path paths[] = {{offsetof(struct protection, finalizers), "metadata.finalizers"}};
	struct protection *p = calloc(1, sizeof(*p));

	(void)config;
	(void)error;
	if (!p || ks_admit_paths(host, p, paths, sizeof(paths) / sizeof(*paths)) != KS_DONE) {
		free(p);
		return KS_ERR_NOMEM;
	}
	p->host = host;
	*self = p;
	return KS_DONE;
}

static const char *finalizer_of(const struct ks_admission_request *request)
{
	for (size_t i = 0; i < sizeof(protected) / sizeof(*protected); i++)
		if (ks_view_is(request->resource, protected[i].resource) && ks_view_is(request->group, protected[i].group))
			return protected[i].finalizer;
	return NULL;
}

static int has(const struct ks_value_ops *values, struct ks_val list, const char *text)
{
	for (size_t i = 0; i < values->length(list); i++)
		if (ks_view_is(values->string(values->item(list, i)), text))
			return 1;
	return 0;
}

static int mutate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	const struct protection *p = self;
	const struct ks_admit call = {p->host, op, request, result};
	const char *finalizer = finalizer_of(request);
	int rc = KS_DONE;

	if (finalizer && !has(p->host->values, p->host->values->get(request->object, p->finalizers), finalizer))
		rc = ks_admit_set_text(&call, ks_view_lit(finalizer), "/metadata/finalizers/-");
	return rc == KS_DONE ? ks_admit_allow(&call) : rc;
}

static const struct ks_admission_match matches[] = {
	{KS_OPERATION_CREATE, "", "persistentvolumeclaims"},
	{KS_OPERATION_CREATE, "", "persistentvolumes"},
	{KS_OPERATION_CREATE, "storage.k8s.io", "volumeattributesclasses"},
};

static const struct ks_lifecycle life = {.size = sizeof(life), .create = create, .destroy = free};

static const struct ks_admission_ops ops = {
	.size = sizeof(ops),
	.matches = matches,
	.n_matches = sizeof(matches) / sizeof(*matches),
	.mutate = mutate,
};

static const struct ks_interface interface = {
	.size = sizeof(interface),
	.kind = KS_KIND_ADMISSION,
	.version = KS_ADMISSION_VERSION,
	.threads = KS_THREADS_CONCURRENT,
	.blocking = KS_CALLS_INLINE,
	.name = "storageobjectinuseprotection",
	.lifecycle = &life,
	.ops = &ops,
};

KS_PLUGIN(storageobjectinuseprotection) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Protects volumes, claims and volume attribute classes that are in use from removal",
};
