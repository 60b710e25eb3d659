/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * podsecurity: the pod security standards. The labels of a namespace say which level its pods must meet
 * (enforce), and of which one its users are told (warn).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admission/podsecurity/podsecurity.h"

struct config {
	const char *level[KS_PSS_N_MODES], *version[KS_PSS_N_MODES];
	struct ks_config_list users, namespaces, runtime_classes;
};

struct podsecurity {
	const struct ks_host *host;
	const struct config *config;
	struct ks_pss_policy defaults[KS_PSS_N_MODES];
};

#define LEVEL(key, mode)                                                                                                             \
	{                                                                                                                            \
		.name = key, .type = KS_CONFIG_STRING, .offset = offsetof(struct config, level[mode]), .default_text = "privileged", \
		.help = "Level of a namespace without the label: privileged, baseline or restricted."                                \
	}
#define VERSION(key, mode)                                                                                                         \
	{                                                                                                                          \
		.name = key, .type = KS_CONFIG_STRING, .offset = offsetof(struct config, version[mode]), .default_text = "latest", \
		.help = "Version of a namespace without the label: latest or v1.x."                                                \
	}
#define EXEMPT(key, member, what)                                                                               \
	{                                                                                                       \
		.name = key, .type = KS_CONFIG_STRINGS, .offset = offsetof(struct config, member), .help = what \
	}

static const struct ks_config_key keys[] = {
	LEVEL("enforce", KS_PSS_ENFORCE),
	VERSION("enforceVersion", KS_PSS_ENFORCE),
	LEVEL("audit", KS_PSS_AUDIT),
	VERSION("auditVersion", KS_PSS_AUDIT),
	LEVEL("warn", KS_PSS_WARN),
	VERSION("warnVersion", KS_PSS_WARN),
	EXEMPT("exemptUsers", users, "Users whose requests are not looked at."),
	EXEMPT("exemptNamespaces", namespaces, "Namespaces that are not looked at."),
	EXEMPT("exemptRuntimeClasses", runtime_classes, "Runtime classes whose pods are not looked at."),
};

/* -- life ---------------------------------------------------------------------------------------------------------- */

static int read_defaults(struct podsecurity *p, struct ks_plugin_error *error)
{
	for (int i = 0; i < KS_PSS_N_MODES; i++) {
		if (ks_pss_level_parse(ks_view_lit(p->config->level[i]), &p->defaults[i].level) < 0) {
			snprintf(error->text, sizeof(error->text), "\"%.100s\" is not privileged, baseline or restricted", p->config->level[i]);
			return KS_ERR_CONFIG;
		}
		if (ks_pss_version_parse(ks_view_lit(p->config->version[i]), &p->defaults[i].minor) < 0) {
			snprintf(error->text, sizeof(error->text), "\"%.100s\" is not latest or v1.x", p->config->version[i]);
			return KS_ERR_CONFIG;
		}
	}
	return KS_DONE;
}

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	struct podsecurity *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return KS_ERR_NOMEM;
	p->host = host;
	p->config = config;
	rc = read_defaults(p, error);
	if (rc != KS_DONE) {
		free(p);
		return rc;
	}
	*self = p;
	return KS_DONE;
}

static int is_exempt(const struct ks_config_list *list, struct ks_view name)
{
	for (size_t i = 0; name.n && i < list->n; i++)
		if (ks_view_is(name, list->items[i]))
			return 1;
	return 0;
}

/* -- pods and what makes pods ---------------------------------------------------------------------------------------- */

static int warn_of(const struct ks_admit *call, struct ks_view text)
{
	struct ks_view *warning = call->host->op_alloc(call->op, sizeof(*warning));

	if (!warning || !text.p)
		return KS_ERR_NOMEM;
	*warning = text;
	call->result->warnings = warning;
	call->result->n_warnings = 1;
	return ks_admit_allow(call);
}

/* `enforce`: 0 for what only makes pods; its pods are looked at when they come. */
static int evaluate(
	const struct ks_admit *call, const struct ks_pss_policy policies[KS_PSS_N_MODES], struct ks_val metadata, struct ks_val spec, int enforce)
{
	struct ks_pss_verdict verdict = {0};

	if (enforce)
		verdict = ks_pss_evaluate(call, &policies[KS_PSS_ENFORCE], metadata, spec);
	if (verdict.failed)
		return KS_ERR_NOMEM;
	if (verdict.details.n)
		return ks_admit_deny(call, "violates PodSecurity \"%.*s\": %.*s", KS_VIEW_ARGS(ks_pss_policy_text(call, &policies[KS_PSS_ENFORCE])),
			KS_VIEW_ARGS(verdict.details));
	verdict = ks_pss_evaluate(call, &policies[KS_PSS_WARN], metadata, spec);
	if (verdict.failed)
		return KS_ERR_NOMEM;
	if (!verdict.details.n)
		return ks_admit_allow(call);
	return warn_of(call,
		ks_admit_printf(call, "would violate PodSecurity \"%.*s\": %.*s", KS_VIEW_ARGS(ks_pss_policy_text(call, &policies[KS_PSS_WARN])),
			KS_VIEW_ARGS(verdict.details)));
}

static struct ks_view annotation(const struct ks_admit *call, struct ks_val pod, const char *head, struct ks_view name)
{
	struct ks_val annotations = ks_admit_member(call, ks_admit_member(call, pod, "metadata"), "annotations");
	struct ks_view key = ks_admit_printf(call, "%s%.*s", head, KS_VIEW_ARGS(name));

	return call->host->values->string(call->host->values->member(annotations, key));
}

static int container_changed(const struct ks_admit *call, struct ks_val container, struct ks_val old)
{
	static const char seccomp[] = "container.seccomp.security.alpha.kubernetes.io/";
	struct ks_view name = ks_admit_text(call, container, "name");

	return !ks_view_eq(ks_admit_text(call, container, "image"), ks_admit_text(call, old, "image")) ||
		!ks_view_eq(annotation(call, call->request->object, seccomp, name), annotation(call, call->request->old_object, seccomp, name));
}

static int list_changed(const struct ks_admit *call, struct ks_val list, struct ks_val old)
{
	const struct ks_value_ops *values = call->host->values;

	if (values->length(list) != values->length(old))
		return 1;
	for (size_t i = 0; i < values->length(list); i++)
		if (container_changed(call, values->item(list, i), values->item(old, i)))
			return 1;
	return 0;
}

/* Of an update that changes nothing that matters here, nobody needs to hear. */
static int is_significant(const struct ks_admit *call)
{
	static const char *const lists[] = {"containers", "initContainers", "ephemeralContainers"};
	static const char seccomp[] = "seccomp.security.alpha.kubernetes.io/pod";
	struct ks_val spec = ks_admit_member(call, call->request->object, "spec"), old = ks_admit_member(call, call->request->old_object, "spec");

	if (!ks_view_eq(annotation(call, call->request->object, seccomp, (struct ks_view){0}),
		    annotation(call, call->request->old_object, seccomp, (struct ks_view){0})))
		return 1;
	for (size_t i = 0; i < 3; i++)
		if (list_changed(call, ks_admit_member(call, spec, lists[i]), ks_admit_member(call, old, lists[i])))
			return 1;
	return 0;
}

/* The pod's template in what makes pods; the object itself for a pod. */
static struct ks_val template_of(const struct ks_admit *call)
{
	struct ks_val object = call->request->object, spec = ks_admit_member(call, object, "spec");

	if (ks_view_is(call->request->resource, "pods"))
		return object;
	if (ks_view_is(call->request->resource, "podtemplates"))
		return ks_admit_member(call, object, "template");
	if (ks_view_is(call->request->resource, "cronjobs"))
		spec = ks_admit_member(call, ks_admit_member(call, spec, "jobTemplate"), "spec");
	return ks_admit_member(call, spec, "template");
}

/* 1, 0: it doesn't exist, or negative. */
static int find_policies(const struct podsecurity *p, const struct ks_admit *call, struct ks_pss_policy policies[KS_PSS_N_MODES])
{
	struct ks_val namespace_;
	int found = call->host->cached_get(
		call->op, ks_view_lit(""), ks_view_lit("v1"), ks_view_lit("namespaces"), (struct ks_view){0}, call->request->namespace_, &namespace_);

	if (found == 1)
		(void)ks_pss_labels(call, namespace_, p->defaults, policies, NULL);
	return found;
}

static int validate_pod(const struct podsecurity *p, const struct ks_admit *call)
{
	int is_pod = ks_view_is(call->request->resource, "pods"), found;
	struct ks_pss_policy policies[KS_PSS_N_MODES];
	struct ks_val template = template_of(call), spec = ks_admit_member(call, template, "spec");

	if (is_exempt(&p->config->namespaces, call->request->namespace_) ||
		(call->request->user && is_exempt(&p->config->users, call->request->user->name)))
		return ks_admit_allow(call);
	found = find_policies(p, call, policies);
	if (found < 0)
		return found;
	if (!found)
		return call->host->op_error(call->op, "failed to lookup namespace %.*s", KS_VIEW_ARGS(call->request->namespace_));
	if (is_pod && call->request->operation == KS_OPERATION_UPDATE && !is_significant(call))
		return ks_admit_allow(call);
	if (call->host->values->kind(template) <= KS_VAL_NULL ||
		is_exempt(&p->config->runtime_classes, ks_admit_text(call, spec, "runtimeClassName")))
		return ks_admit_allow(call);
	return evaluate(call, policies, ks_admit_member(call, template, "metadata"), spec, is_pod);
}

/* -- namespaces ------------------------------------------------------------------------------------------------------ */

/* Labels that were as wrong before are let go, so that such a namespace can be changed at all. */
static int same_causes(const struct ks_admission_cause *a, size_t n_a, const struct ks_admission_cause *b, size_t n_b)
{
	for (size_t i = 0; i < n_a && n_a == n_b; i++)
		if (!ks_view_eq(a[i].field, b[i].field) || !ks_view_eq(a[i].message, b[i].message))
			return 0;
	return n_a == n_b;
}

static int deny_labels(const struct ks_admit *call, const struct ks_admission_cause *causes, size_t n)
{
	struct ks_admission_cause *copy = call->host->op_alloc(call->op, n * sizeof(*copy));

	if (!copy)
		return KS_ERR_NOMEM;
	memcpy(copy, causes, n * sizeof(*copy));
	call->result->code = 422;
	call->result->causes = copy;
	call->result->n_causes = n;
	return KS_DONE;
}

/* A namespace whose pods must be looked at: in the operation's memory. */
struct stricter {
	struct ks_admit call;
	struct ks_pss_policy policy;
};

/* On the executor: many pods take longer than a worker has time. */
static void look_at_pods(void *arg)
{
	struct stricter *s = arg;
	int rc = ks_pss_warn_of_pods(&s->call, &s->policy, s->call.request->name);

	if (rc == KS_DONE)
		rc = ks_admit_allow(&s->call);
	s->call.host->complete(s->call.op, rc);
}

static int validate_namespace(const struct podsecurity *p, const struct ks_admit *call)
{
	struct ks_admission_cause causes[2 * KS_PSS_N_MODES], old_causes[2 * KS_PSS_N_MODES];
	struct ks_pss_policy now[KS_PSS_N_MODES], old[KS_PSS_N_MODES];
	size_t n = ks_pss_labels(call, call->request->object, p->defaults, now, causes), n_old;
	struct stricter *s;

	if (call->request->operation == KS_OPERATION_CREATE)
		return n ? deny_labels(call, causes, n) : ks_admit_allow(call);
	n_old = ks_pss_labels(call, call->request->old_object, p->defaults, old, old_causes);
	if (n && !same_causes(causes, n, old_causes, n_old))
		return deny_labels(call, causes, n);
	if (now->level == KS_PSS_PRIVILEGED || (now->minor == old->minor && now->level <= old->level) ||
		is_exempt(&p->config->namespaces, call->request->name))
		return ks_admit_allow(call);
	s = call->host->op_alloc(call->op, sizeof(*s));
	if (!s)
		return KS_ERR_NOMEM;
	*s = (struct stricter){*call, now[KS_PSS_ENFORCE]};
	return call->host->timer(call->host, 0, look_at_pods, s) == KS_DONE ? KS_PENDING : KS_ERR_NOMEM;
}

static int validate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	const struct podsecurity *p = self;
	const struct ks_admit call = {p->host, op, request, result};

	return ks_view_is(request->resource, "namespaces") ? validate_namespace(p, &call) : validate_pod(p, &call);
}

#define WRITES (KS_OPERATION_CREATE | KS_OPERATION_UPDATE)

static const struct ks_admission_match matches[] = {
	{WRITES, "", "namespaces"},
	{WRITES, "", "pods"},
	{WRITES, "", "pods/ephemeralcontainers"},
	{WRITES, "", "pods/resize"},
	{WRITES, "", "replicationcontrollers"},
	{WRITES, "", "podtemplates"},
	{WRITES, "apps", "replicasets"},
	{WRITES, "apps", "deployments"},
	{WRITES, "apps", "statefulsets"},
	{WRITES, "apps", "daemonsets"},
	{WRITES, "batch", "jobs"},
	{WRITES, "batch", "cronjobs"},
};

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
	.name = "podsecurity",
	.lifecycle = &life,
	.ops = &ops,
	.config_keys = keys,
	.n_config_keys = sizeof(keys) / sizeof(*keys),
	.config_size = sizeof(struct config),
};

KS_PLUGIN(podsecurity) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Keeps pods to the security level of their namespace",
};
