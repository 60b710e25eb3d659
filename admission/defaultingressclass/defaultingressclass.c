/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* defaultingressclass: an ingress that names no class gets the default one. */
#include <stdlib.h>

#include <keelson/sdk/defaultclass.h>

struct ingresses {
	const struct ks_host *host;
	const struct ks_path *class_, *annotation;
};

static const struct ks_default_class classes = {
	"networking.k8s.io",
	"v1",
	"ingressclasses",
	{"ingressclass.kubernetes.io/is-default-class", NULL},
};

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	static const struct ks_admit_path paths[] = {
		{offsetof(struct ingresses, class_), "spec.ingressClassName"},
		{offsetof(struct ingresses, annotation), "metadata.annotations[\"kubernetes.io/ingress.class\"]"},
	};
	struct ingresses *i = calloc(1, sizeof(*i));

	(void)config;
	(void)error;
	if (!i || ks_admit_paths(host, i, paths, sizeof(paths) / sizeof(*paths)) != KS_DONE) {
		free(i);
		return KS_ERR_NOMEM;
	}
	i->host = host;
	*self = i;
	return KS_DONE;
}

static int names_class(const struct ingresses *i, struct ks_val ingress)
{
	const struct ks_value_ops *values = i->host->values;

	return values->kind(values->get(ingress, i->class_)) == KS_VAL_STRING || values->kind(values->get(ingress, i->annotation)) == KS_VAL_STRING;
}

static int mutate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	const struct ingresses *i = self;
	const struct ks_admit call = {i->host, op, request, result};
	struct ks_view name = {0};
	int rc;

	if (names_class(i, request->object))
		return ks_admit_allow(&call);
	rc = ks_default_class_find(&call, &classes, &name);
	if (rc == KS_DONE && name.n)
		rc = ks_admit_set_text(&call, name, "/spec/ingressClassName");
	return rc == KS_DONE ? ks_admit_allow(&call) : rc;
}

static const struct ks_admission_match matches[] = {{KS_OPERATION_CREATE, "networking.k8s.io", "ingresses"}};

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
	.name = "defaultingressclass",
	.lifecycle = &life,
	.ops = &ops,
};

KS_PLUGIN(defaultingressclass) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Gives ingresses that name no class the default one",
};
