/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * rbac: Roles, ClusterRoles and their bindings, as kube-apiserver's RBAC authorizer reads them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "authz/rbac/bootstrap.h"
#include "authz/rbac/escalation.h"
#include "authz/rbac/source.h"

struct config {
	struct ks_config_list privileged_groups;
	uint8_t bootstrap;
};

struct rbac {
	const struct ks_host *host;
	const struct config *config;
	struct rbac_source source;
	struct rbac_bootstrap *bootstrap; /* executor thread */
};

/* -- decisions ------------------------------------------------------------------------ */

struct question {
	const struct ks_authz_attributes *attributes;
	const struct rbac_grant *allowed_by;
	const struct rbac_grant *missing; /* a grant whose role does not exist */
};

static int ask_grant(const struct rbac_grant *grant, void *arg)
{
	struct question *q = arg;

	if (grant->n_roles == 0)
		q->missing = grant;
	for (size_t i = 0; i < grant->n_roles; i++)
		for (size_t j = 0; j < grant->roles[i]->n_rules; j++)
			if (ks_rbac_rule_allows(&grant->roles[i]->rules[j], q->attributes)) {
				q->allowed_by = grant;
				return 1;
			}
	return 0;
}

static int set_reason(const struct rbac *r, struct ks_op *op, struct ks_view text, struct ks_authz_result *result)
{
	char *copy = r->host->op_alloc(op, text.n + 1);

	if (!copy)
		return KS_ERR_NOMEM;
	memcpy(copy, text.p, text.n);
	result->reason = (struct ks_view){copy, text.n};
	return KS_DONE;
}

static int say_missing(const struct rbac *r, struct ks_op *op, const struct rbac_grant *grant, struct ks_authz_result *result)
{
	const char *kind = grant->binding->to_cluster_role ? "clusterrole" : "role";
	struct ks_view role = grant->binding->role;
	size_t size = role.n + 80;
	char *text = r->host->op_alloc(op, size);
	int n;

	if (!text)
		return KS_ERR_NOMEM;
	n = snprintf(text, size, "RBAC: %s.rbac.authorization.k8s.io \"%.*s\" not found", kind, (int)role.n, role.p);
	result->reason = (struct ks_view){text, (size_t)n};
	return KS_DONE;
}

static int decide(const struct rbac *r, struct ks_op *op, const struct rbac_index *index, const struct ks_authz_attributes *attributes,
	struct ks_authz_result *result)
{
	struct question q = {.attributes = attributes};

	ks_rbac_index_visit(index, attributes->user, attributes->namespace_, ask_grant, &q);
	if (q.allowed_by) {
		result->decision = KS_AUTHZ_ALLOW;
		return set_reason(r, op, q.allowed_by->subject->reason, result);
	}
	result->decision = KS_AUTHZ_NO_OPINION;
	return q.missing ? say_missing(r, op, q.missing, result) : KS_DONE;
}

static int authorize(void *self, struct ks_op *op, const struct ks_authz_attributes *attributes, struct ks_authz_result *result)
{
	struct rbac *r = self;
	uint32_t worker = r->host->op_worker(op);
	struct rbac_index *index;
	int code;

	if (ks_rbac_is_privileged(attributes->user, &r->config->privileged_groups)) {
		result->decision = KS_AUTHZ_ALLOW;
		return KS_DONE;
	}
	index = ks_rbac_source_enter(&r->source, worker);
	code = index ? decide(r, op, index, attributes, result) :
		r->host->op_error(op, "roles and bindings have not been read yet");
	ks_rbac_source_leave(&r->source, worker);
	return code;
}

/* -- rules of a user -------------------------------------------------------------------- */

struct rule_list {
	const struct rbac *rbac;
	struct ks_op *op;
	struct ks_authz_rule *rules;
	size_t n, room;
	int failed, incomplete;
};

static int count_rules(const struct rbac_grant *grant, void *arg)
{
	struct rule_list *list = arg;

	for (size_t i = 0; i < grant->n_roles; i++)
		list->room += grant->roles[i]->n_rules;
	list->incomplete |= grant->n_roles == 0;
	return 0;
}

static const struct ks_view *copy_strings(struct rule_list *list, const struct rbac_strings *from, size_t *n_r)
{
	const struct ks_host *host = list->rbac->host;
	struct ks_view *to = host->op_alloc(list->op, (from->n + 1) * sizeof(*to));

	*n_r = 0;
	for (size_t i = 0; to && i < from->n; i++) {
		char *text = host->op_alloc(list->op, from->items[i].n + 1);

		if (!text) {
			list->failed = 1;
			return NULL;
		}
		memcpy(text, from->items[i].p, from->items[i].n);
		to[i] = (struct ks_view){text, from->items[i].n};
		*n_r = i + 1;
	}
	list->failed |= !to;
	return to;
}

static int copy_rules(const struct rbac_grant *grant, void *arg)
{
	struct rule_list *list = arg;

	for (size_t i = 0; i < grant->n_roles; i++)
		for (size_t j = 0; j < grant->roles[i]->n_rules && list->n < list->room; j++) {
			const struct rbac_rule *from = &grant->roles[i]->rules[j];
			struct ks_authz_rule *to = &list->rules[list->n++];

			to->verbs = copy_strings(list, &from->verbs, &to->n_verbs);
			to->groups = copy_strings(list, &from->groups, &to->n_groups);
			to->resources = copy_strings(list, &from->resources, &to->n_resources);
			to->names = copy_strings(list, &from->names, &to->n_names);
			to->paths = copy_strings(list, &from->paths, &to->n_paths);
		}
	return list->failed;
}

static int rules(void *self, struct ks_op *op, const struct ks_user *user, struct ks_view namespace_, struct ks_authz_rules *out)
{
	struct rbac *r = self;
	struct rule_list list = {.rbac = r, .op = op};
	uint32_t worker = r->host->op_worker(op);
	struct rbac_index *index = ks_rbac_source_enter(&r->source, worker);

	if (index)
		ks_rbac_index_visit(index, user, namespace_, count_rules, &list);
	list.rules = r->host->op_alloc(op, (list.room + 1) * sizeof(*list.rules));
	if (index && list.rules)
		ks_rbac_index_visit(index, user, namespace_, copy_rules, &list);
	ks_rbac_source_leave(&r->source, worker);
	if (!list.rules || list.failed)
		return KS_ERR_NOMEM;
	out->rules = list.rules;
	out->n_rules = list.n;
	out->incomplete = !index || list.incomplete;
	return KS_DONE;
}

/* -- life -------------------------------------------------------------------------------- */

static void bootstrapped(void *arg)
{
	struct rbac *r = arg;

	ks_rbac_source_publish(&r->source);
	r->host->set_ready(r->host, 1);
}

static void synced(void *arg)
{
	struct rbac *r = arg;

	if (r->config->bootstrap)
		r->bootstrap = ks_rbac_bootstrap_start(r->host, &r->source.objects, bootstrapped, r);
	else
		r->host->set_ready(r->host, 1);
}

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	struct rbac *r = aligned_alloc(_Alignof(struct rbac), sizeof(*r));

	(void)error;
	if (!r)
		return KS_ERR_NOMEM;
	memset(r, 0, sizeof(*r));
	r->host = host;
	r->config = config;
	ks_rbac_source_init(&r->source, host, synced, r);
	*self = r;
	return KS_DONE;
}

static int start(void *self, struct ks_plugin_error *error)
{
	struct rbac *r = self;

	r->host->set_ready(r->host, 0);
	return ks_rbac_source_start(&r->source, error);
}

static void destroy(void *self)
{
	struct rbac *r = self;

	ks_rbac_source_fini(&r->source);
	ks_rbac_bootstrap_free(r->bootstrap);
	free(r);
}

static const struct ks_config_key keys[] = {
	{.name = "privilegedGroups", .type = KS_CONFIG_STRINGS, .offset = offsetof(struct config, privileged_groups), .default_text = "system:masters",
		.help = "Members of these groups may do everything, whatever the roles say."},
	{.name = "bootstrap", .type = KS_CONFIG_BOOL, .offset = offsetof(struct config, bootstrap), .default_text = "true",
		.help = "Create the default roles and bindings at start when they are missing, and give those that are there what they lack."},
};

static const struct ks_lifecycle lifecycle = {.size = sizeof(lifecycle), .create = create, .start = start, .destroy = destroy};
static const struct ks_authz_ops ops = {.size = sizeof(ops), .authorize = authorize, .rules = rules};

static const struct ks_interface interfaces[] = {{
	.size = sizeof(struct ks_interface),
	.kind = KS_KIND_AUTHORIZER,
	.version = KS_AUTHZ_VERSION,
	.threads = KS_THREADS_CONCURRENT,
	.blocking = KS_CALLS_INLINE,
	.name = "rbac",
	.lifecycle = &lifecycle,
	.ops = &ops,
	.config_keys = keys,
	.n_config_keys = sizeof(keys) / sizeof(keys[0]),
	.config_size = sizeof(struct config),
}, {
	.size = sizeof(struct ks_interface),
	.kind = KS_KIND_ADMISSION,
	.version = KS_ADMISSION_VERSION,
	.threads = KS_THREADS_CONCURRENT,
	.blocking = KS_CALLS_INLINE,
	.name = "rbac",
	.lifecycle = &ks_rbac_escalation_lifecycle,
	.ops = &ks_rbac_escalation_ops,
	.config_keys = ks_rbac_escalation_keys,
	.n_config_keys = RBAC_ESCALATION_KEYS,
	.config_size = sizeof(struct rbac_escalation_config),
}};

KS_PLUGIN(rbac) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 2,
	.interfaces = interfaces,
	.version = "1",
	.description = "Role-based access control: Roles, ClusterRoles and their bindings",
};
