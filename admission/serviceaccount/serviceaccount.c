/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * serviceaccount: a new pod runs as a service account that exists, and its containers find the account's
 * token.
 *
 * A namespace's account `default` is made by a controller a moment after the namespace, so a pod that comes
 * in between waits for it, without holding its thread.
 */
#include <stdlib.h>

#include "admission/serviceaccount/serviceaccount.h"

enum { ATTEMPTS = 10, PAUSE_MS = 100 };

struct accounts {
	const struct ks_host *host;
	const struct ks_path *name, *automount, *pull_secrets, *mirror;
};

/* A pod that waits for its account; in the operation's memory. */
struct waiting {
	const struct accounts *self;
	struct ks_admit call;
	struct ks_view account;
	int left;
};

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	static const struct ks_admit_path paths[] = {
		{offsetof(struct accounts, name), "spec.serviceAccountName"},
		{offsetof(struct accounts, automount), "spec.automountServiceAccountToken"},
		{offsetof(struct accounts, pull_secrets), "spec.imagePullSecrets"},
		{offsetof(struct accounts, mirror), "metadata.annotations[\"kubernetes.io/config.mirror\"]"},
	};
	struct accounts *a = calloc(1, sizeof(*a));

	(void)config;
	(void)error;
	if (!a || ks_admit_paths(host, a, paths, sizeof(paths) / sizeof(*paths)) != KS_DONE) {
		free(a);
		return KS_ERR_NOMEM;
	}
	a->host = host;
	*self = a;
	return KS_DONE;
}

/* 1, 0 or negative. */
static int find_account(const struct ks_admit *call, struct ks_view name, struct ks_val *account_r)
{
	static const struct ks_view group = {"", 0}, version = {"v1", 2}, resource = {"serviceaccounts", 15};

	return call->host->cached_get(call->op, group, version, resource, call->request->namespace_, name, account_r);
}

static int deny_missing(const struct ks_admit *call, struct ks_view name)
{
	return ks_admit_deny(call, "error looking up service account %.*s/%.*s: serviceaccount %.*s not found",
		KS_VIEW_ARGS(call->request->namespace_), KS_VIEW_ARGS(name), KS_VIEW_ARGS(ks_admit_quote(call, name)));
}

static int is_mirror(const struct accounts *a, const struct ks_admit *call)
{
	return a->host->values->kind(a->host->values->get(call->request->object, a->mirror)) != KS_VAL_ABSENT;
}

/* The pod's word counts more than the account's; the default is yes. */
static int wants_token(const struct accounts *a, const struct ks_admit *call, struct ks_val account)
{
	const struct ks_value_ops *values = a->host->values;
	struct ks_val pod = values->get(call->request->object, a->automount);
	struct ks_val own = ks_admit_member(call, account, "automountServiceAccountToken");

	if (values->kind(pod) == KS_VAL_BOOL)
		return values->boolean(pod);
	return values->kind(own) != KS_VAL_BOOL || values->boolean(own);
}

static int add_pull_secrets(const struct accounts *a, const struct ks_admit *call, struct ks_val account)
{
	const struct ks_value_ops *values = a->host->values;
	struct ks_val secrets = ks_admit_member(call, account, "imagePullSecrets");

	if (values->length(values->get(call->request->object, a->pull_secrets)) || !values->length(secrets))
		return KS_DONE;
	return ks_admit_set(call, values->to_json(call->op, secrets), "/spec/imagePullSecrets");
}

static int use_account(const struct accounts *a, const struct ks_admit *call, struct ks_view name, struct ks_val account)
{
	int rc = ks_admit_set_text(call, name, "/spec/serviceAccountName");

	if (rc == KS_DONE)
		rc = ks_admit_set_text(call, name, "/spec/serviceAccount");
	if (rc == KS_DONE && wants_token(a, call, account))
		rc = ks_sa_mount(call);
	if (rc == KS_DONE)
		rc = add_pull_secrets(a, call, account);
	if (rc == KS_DONE)
		rc = ks_sa_check_secrets(call, account, 0);
	if (rc == KS_DONE && !ks_sa_refused(call))
		rc = ks_admit_allow(call);
	return rc;
}

/* -- waiting ------------------------------------------------------------------------------------------------------- */

static int look(struct waiting *w);

static void look_again(void *arg)
{
	struct waiting *w = arg;
	struct ks_op *op = w->call.op;
	int rc = look(w);

	if (rc != KS_PENDING)
		w->self->host->complete(op, rc);
}

static int look(struct waiting *w)
{
	struct ks_val account;
	int found = find_account(&w->call, w->account, &account);

	if (found < 0)
		return found;
	if (found)
		return use_account(w->self, &w->call, w->account, account);
	if (--w->left <= 0 || w->self->host->op_cancelled(w->call.op))
		return deny_missing(&w->call, w->account);
	if (w->self->host->timer(w->self->host, PAUSE_MS, look_again, w) != KS_DONE)
		return KS_ERR_NOMEM;
	return KS_PENDING;
}

/* -- the calls ----------------------------------------------------------------------------------------------------- */

static int mutate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	const struct accounts *a = self;
	struct waiting *w = a->host->op_scratch(op);

	*w = (struct waiting){.self = a, .call = {a->host, op, request, result}, .left = 1};
	if (request->operation != KS_OPERATION_CREATE || request->subresource.n)
		return ks_admit_allow(&w->call);
	if (is_mirror(a, &w->call)) {
		int rc = ks_sa_check_mirror(&w->call);

		return rc == KS_DONE && !ks_sa_refused(&w->call) ? ks_admit_allow(&w->call) : rc;
	}
	w->account = a->host->values->string(a->host->values->get(request->object, a->name));
	if (!w->account.n)
		w->account = (struct ks_view){"default", 7};
	if (ks_view_is(w->account, "default"))
		w->left = ATTEMPTS;
	return look(w);
}

static int check(const struct accounts *a, const struct ks_admit *call)
{
	struct ks_view name = a->host->values->string(a->host->values->get(call->request->object, a->name));
	int ephemeral = call->request->subresource.n > 0, found;
	struct ks_val account;

	if (!ephemeral && is_mirror(a, call))
		return ks_sa_check_mirror(call);
	found = find_account(call, name, &account);
	if (found < 0)
		return found;
	return found ? ks_sa_check_secrets(call, account, ephemeral) : deny_missing(call, name);
}

static int validate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	const struct accounts *a = self;
	const struct ks_admit call = {a->host, op, request, result};
	int rc = check(a, &call);

	return rc == KS_DONE && !ks_sa_refused(&call) ? ks_admit_allow(&call) : rc;
}

static const struct ks_admission_match matches[] = {
	{KS_OPERATION_CREATE, "", "pods"},
	{KS_OPERATION_UPDATE, "", "pods/ephemeralcontainers"},
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
	.name = "serviceaccount",
	.lifecycle = &life,
	.ops = &ops,
	.scratch_size = sizeof(struct waiting),
};

KS_PLUGIN(serviceaccount) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Gives pods a service account that exists, and its token",
};
