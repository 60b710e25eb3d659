/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * defaulttolerationseconds: a pod that says nothing about nodes that are not ready or can't be reached
 * stays on them for some minutes.
 */
#include <stdlib.h>

#include <keelson/sdk/admit.h>

struct config {
	int64_t not_ready, unreachable;
};

struct tolerations {
	const struct ks_host *host;
	const struct config *config;
	const struct ks_path *tolerations;
};

static const struct ks_config_key keys[] = {
	{.name = "notReadySeconds",
		.type = KS_CONFIG_INT,
		.offset = offsetof(struct config, not_ready),
		.default_text = "300",
		.max = INT32_MAX,
		.help = "How long a pod stays on a node that is not ready."},
	{.name = "unreachableSeconds",
		.type = KS_CONFIG_INT,
		.offset = offsetof(struct config, unreachable),
		.default_text = "300",
		.max = INT32_MAX,
		.help = "How long a pod stays on a node that can't be reached."},
};

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	static const struct ks_admit_path paths[] = {{offsetof(struct tolerations, tolerations), "spec.tolerations"}};
	struct tolerations *t = calloc(1, sizeof(*t));

	(void)error;
	if (!t || ks_admit_paths(host, t, paths, sizeof(paths) / sizeof(*paths)) != KS_DONE) {
		free(t);
		return KS_ERR_NOMEM;
	}
	t->host = host;
	t->config = config;
	*self = t;
	return KS_DONE;
}

/* Does one of them speak of this taint with effect NoExecute? An empty key or effect means any. */
static int tolerates(const struct ks_admit *call, struct ks_val list, const char *taint)
{
	const struct ks_value_ops *values = call->host->values;

	for (size_t i = 0; i < values->length(list); i++) {
		struct ks_val toleration = values->item(list, i);
		struct ks_view key = ks_admit_text(call, toleration, "key"), effect = ks_admit_text(call, toleration, "effect");

		if ((key.n == 0 || ks_view_is(key, taint)) && (effect.n == 0 || ks_view_is(effect, "NoExecute")))
			return 1;
	}
	return 0;
}

static int add(const struct ks_admit *call, struct ks_val list, const char *taint, int64_t seconds)
{
	if (tolerates(call, list, taint))
		return KS_DONE;
	return ks_admit_set(call,
		ks_admit_printf(call, "{\"key\":\"%s\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":%lld}", taint,
			(long long)seconds),
		"/spec/tolerations/-");
}

static int mutate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	const struct tolerations *t = self;
	const struct ks_admit call = {t->host, op, request, result};
	struct ks_val list = t->host->values->get(request->object, t->tolerations);
	int rc = add(&call, list, "node.kubernetes.io/not-ready", t->config->not_ready);

	if (rc == KS_DONE)
		rc = add(&call, list, "node.kubernetes.io/unreachable", t->config->unreachable);
	return rc == KS_DONE ? ks_admit_allow(&call) : rc;
}

static const struct ks_admission_match matches[] = {{KS_OPERATION_CREATE | KS_OPERATION_UPDATE, "", "pods"}};

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
	.name = "defaulttolerationseconds",
	.lifecycle = &life,
	.ops = &ops,
	.config_keys = keys,
	.n_config_keys = sizeof(keys) / sizeof(*keys),
	.config_size = sizeof(struct config),
};

KS_PLUGIN(defaulttolerationseconds) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Lets pods stay for some minutes on nodes that are not ready or can't be reached",
};
