/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* taintnodesbycondition: a new node takes no pods until its controller has seen it ready. */
#include <stdlib.h>

#include <keelson/sdk/admit.h>

struct tainter {
	const struct ks_host *host;
	const struct ks_path *taints;
};

#define NOT_READY "node.kubernetes.io/not-ready"

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	static const struct ks_admit_path paths[] = {{offsetof(struct tainter, taints), "spec.taints"}};
	struct tainter *t = calloc(1, sizeof(*t));

	(void)config;
	(void)error;
	if (!t || ks_admit_paths(host, t, paths, sizeof(paths) / sizeof(*paths)) != KS_DONE) {
		free(t);
		return KS_ERR_NOMEM;
	}
	t->host = host;
	*self = t;
	return KS_DONE;
}

static int is_tainted(const struct ks_admit *call, struct ks_val taints)
{
	const struct ks_value_ops *values = call->host->values;

	for (size_t i = 0; i < values->length(taints); i++) {
		struct ks_val taint = values->item(taints, i);

		if (ks_view_is(ks_admit_text(call, taint, "key"), NOT_READY) && ks_view_is(ks_admit_text(call, taint, "effect"), "NoSchedule"))
			return 1;
	}
	return 0;
}

static int mutate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	const struct tainter *t = self;
	const struct ks_admit call = {t->host, op, request, result};
	int rc = KS_DONE;

	if (!is_tainted(&call, t->host->values->get(request->object, t->taints)))
		rc = ks_admit_set(&call, ks_view_lit("{\"key\":\"" NOT_READY "\",\"effect\":\"NoSchedule\"}"), "/spec/taints/-");
	return rc == KS_DONE ? ks_admit_allow(&call) : rc;
}

static const struct ks_admission_match matches[] = {{KS_OPERATION_CREATE, "", "nodes"}};

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
	.name = "taintnodesbycondition",
	.lifecycle = &life,
	.ops = &ops,
};

KS_PLUGIN(taintnodesbycondition) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Taints new nodes as not ready until their controller says otherwise",
};
