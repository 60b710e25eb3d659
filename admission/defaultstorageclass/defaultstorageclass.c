/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* defaultstorageclass: a claim that names no storage class gets the default one. */
#include <stdlib.h>

#include <keelson/sdk/defaultclass.h>

struct claims {
	const struct ks_host *host;
	const struct ks_path *class_, *annotation;
};

static const struct ks_default_class classes = {
	"storage.k8s.io",
	"v1",
	"storageclasses",
	{"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"},
};

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	static const struct ks_admit_path paths[] = {
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

/* An empty name is one, too: it asks for a volume without a class. */
static int names_class(const struct claims *c, struct ks_val claim)
{
	const struct ks_value_ops *values = c->host->values;

	return values->kind(values->get(claim, c->class_)) == KS_VAL_STRING || values->kind(values->get(claim, c->annotation)) == KS_VAL_STRING;
}

static int mutate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	const struct claims *c = self;
	const struct ks_admit call = {c->host, op, request, result};
	struct ks_view name = {0};
	int rc;

	if (names_class(c, request->object))
		return ks_admit_allow(&call);
	rc = ks_default_class_find(&call, &classes, &name);
	if (rc == KS_DONE && name.n)
		rc = ks_admit_set_text(&call, name, "/spec/storageClassName");
	return rc == KS_DONE ? ks_admit_allow(&call) : rc;
}

static const struct ks_admission_match matches[] = {{KS_OPERATION_CREATE, "", "persistentvolumeclaims"}};

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
	.name = "defaultstorageclass",
	.lifecycle = &life,
	.ops = &ops,
};

KS_PLUGIN(defaultstorageclass) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Gives claims that name no storage class the default one",
};
