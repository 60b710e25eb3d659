/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* persistentvolumeclaimresize: a claim grows only when it is bound and its storage class lets it. */
#include <stdlib.h>

#include <keelson/sdk/admit.h>
#include <keelson/sdk/amount.h>

struct claims {
	const struct ks_host *host;
	const struct ks_path *size, *phase, *class_, *annotation;
};

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	static const struct ks_admit_path paths[] = {
		{offsetof(struct claims, size), "spec.resources.requests.storage"},
		{offsetof(struct claims, phase), "status.phase"},
		{offsetof(struct claims, class_), "spec.storageClassName"},
		{offsetof(struct claims, annotation), "metadata.annotations[\"volume.beta.kubernetes.io/storage-class\"]"},
	};
	struct claims *c = calloc(1, sizeof(*c));

	(void)config;
	(void)error;
	if (!c || ks_admit_paths(host, c, paths, sizeof(paths) / sizeof(*paths)) != KS_DONE) {
		free(c);
		return KS_ERR_NOMEM;
	}
	c->host = host;
	*self = c;
	return KS_DONE;
}

static struct ks_amount size_of(const struct claims *c, struct ks_val claim)
{
	struct ks_amount size;

	(void)ks_amount_parse(c->host->values->string(c->host->values->get(claim, c->size)), &size);
	return size;
}

/* The old annotation counts more than the field. */
static struct ks_view class_of(const struct claims *c, struct ks_val claim)
{
	const struct ks_value_ops *values = c->host->values;
	struct ks_val annotation = values->get(claim, c->annotation);

	return values->string(values->kind(annotation) == KS_VAL_STRING ? annotation : values->get(claim, c->class_));
}

/* 1, 0 or negative. */
static int class_lets_grow(const struct claims *c, const struct ks_admit *call)
{
	static const struct ks_view group = {"storage.k8s.io", 14}, version = {"v1", 2}, resource = {"storageclasses", 14};
	struct ks_view name = class_of(c, call->request->object), old = class_of(c, call->request->old_object);
	struct ks_val object;
	int found;

	if (!name.n || !ks_view_eq(name, old))
		return 0;
	found = call->host->cached_get(call->op, group, version, resource, (struct ks_view){0}, name, &object);
	return found == 1 ? call->host->values->boolean(ks_admit_member(call, object, "allowVolumeExpansion")) : found;
}

static int validate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	const struct claims *c = self;
	const struct ks_admit call = {c->host, op, request, result};
	struct ks_amount size = size_of(c, request->object), old = size_of(c, request->old_object);
	int lets;

	if (ks_amount_cmp(&size, &old) <= 0)
		return ks_admit_allow(&call);
	if (!ks_view_is(c->host->values->string(c->host->values->get(request->old_object, c->phase)), "Bound"))
		return ks_admit_deny(&call, "Only bound persistent volume claims can be expanded");
	lets = class_lets_grow(c, &call);
	if (lets < 0)
		return lets;
	if (lets)
		return ks_admit_allow(&call);
	return ks_admit_deny(
		&call, "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize");
}

static const struct ks_admission_match matches[] = {{KS_OPERATION_UPDATE, "", "persistentvolumeclaims"}};

static const struct ks_lifecycle life = {.size = sizeof(life), .create = create, .destroy = free};

static const struct ks_admission_ops ops = {
	.size = sizeof(ops),
	.matches = matches,
	.n_matches = sizeof(matches) / sizeof(*matches),
	.validate = validate,
};

static const struct ks_interface interface = {
	.size = sizeof(interface),
	.kind = KS_KIND_ADMISSION,
	.version = KS_ADMISSION_VERSION,
	.threads = KS_THREADS_CONCURRENT,
	.blocking = KS_CALLS_INLINE,
	.flags = KS_ADMISSION_NEEDS_OLD,
	.name = "persistentvolumeclaimresize",
	.lifecycle = &life,
	.ops = &ops,
};

KS_PLUGIN(persistentvolumeclaimresize) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Lets claims grow when their storage class allows it",
};
