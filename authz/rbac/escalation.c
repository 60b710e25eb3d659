/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "authz/rbac/escalation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "authz/rbac/covers.h"
#include "authz/rbac/source.h"

struct escalation {
	const struct ks_host *host;
	const struct rbac_escalation_config *config;
	struct rbac_source source;
};

/* One review of one object. */
struct review {
	struct escalation *e;
	struct ks_op *op;
	const struct ks_admission_request *request;
	struct ks_admission_result *result;
	struct ks_pool *pool;
	const struct rbac_index *index;
	struct rbac_rule_list held;
	size_t room;
};

static const struct ks_view group_name = {"rbac.authorization.k8s.io", 25};

/* -- what the user has ---------------------------------------------------------------------- */

static int count_rules(const struct rbac_grant *grant, void *arg)
{
	struct review *r = arg;

	for (size_t i = 0; i < grant->n_roles; i++)
		r->room += grant->roles[i]->n_rules;
	return 0;
}

static int collect_rules(const struct rbac_grant *grant, void *arg)
{
	struct review *r = arg;

	for (size_t i = 0; i < grant->n_roles; i++)
		for (size_t j = 0; j < grant->roles[i]->n_rules; j++)
			r->held.items[r->held.n++] = &grant->roles[i]->rules[j];
	return 0;
}

static int read_held(struct review *r)
{
	ks_rbac_index_visit(r->index, r->request->user, r->request->namespace_, count_rules, r);
	r->held.items = ks_pool_alloc(r->pool, r->room, sizeof(*r->held.items));
	if (!r->held.items)
		return KS_ERR_NOMEM;
	ks_rbac_index_visit(r->index, r->request->user, r->request->namespace_, collect_rules, r);
	return KS_DONE;
}

/* May the user `verb` that role, whatever is in it? */
static int may(const struct review *r, const char *verb, struct ks_view resource, struct ks_view name)
{
	const struct ks_authz_attributes attributes = {
		.size = sizeof(attributes), .user = r->request->user, .verb = ks_view_lit(verb), .is_resource = 1, .group = group_name,
		.version = ks_view_lit("v1"), .resource = resource, .namespace_ = r->request->namespace_, .name = name};

	for (size_t i = 0; i < r->held.n; i++)
		if (ks_rbac_rule_allows(r->held.items[i], &attributes))
			return 1;
	return 0;
}

/* -- denials --------------------------------------------------------------------------------- */

static int deny(struct review *r, struct ks_view message)
{
	char *copy = message.p ? r->e->host->op_alloc(r->op, message.n + 1) : NULL;

	if (!copy)
		return KS_ERR_NOMEM;
	memcpy(copy, message.p, message.n);
	r->result->message = (struct ks_view){copy, message.n};
	return KS_DONE;
}

static struct ks_view groups_text(const struct review *r)
{
	const struct ks_user *user = r->request->user;
	struct ks_view text = {"", 0};

	for (size_t i = 0; i < user->n_groups && text.p; i++)
		text = ks_pool_printf(r->pool, "%s%s\"%.*s\"", text.p, i ? " " : "", (int)user->groups[i].n, user->groups[i].p);
	return text;
}

static int require(struct review *r, const struct rbac_rule_list *wanted)
{
	struct ks_view missing = ks_rbac_missing(r->pool, &r->held, wanted), groups;
	struct ks_view name = r->request->user->name;

	if (!missing.p)
		return KS_ERR_NOMEM;
	if (missing.n == 0) {
		r->result->allowed = 1;
		return KS_DONE;
	}
	groups = groups_text(r);
	if (!groups.p)
		return KS_ERR_NOMEM;
	return deny(r, ks_pool_printf(r->pool, "user \"%.*s\" (groups=[%s]) is attempting to grant RBAC permissions not currently held:\n%s", (int)name.n,
		name.p, groups.p, missing.p));
}

/* -- roles and bindings ------------------------------------------------------------------------ */

static int require_rules(struct review *r, const struct rbac_object *const *roles, size_t n)
{
	struct rbac_rule_list wanted = {0};
	size_t room = 0;

	for (size_t i = 0; i < n; i++)
		room += roles[i]->n_rules;
	wanted.items = ks_pool_alloc(r->pool, room, sizeof(*wanted.items));
	if (!wanted.items)
		return KS_ERR_NOMEM;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < roles[i]->n_rules; j++)
			wanted.items[wanted.n++] = &roles[i]->rules[j];
	return require(r, &wanted);
}

/* An aggregated role may come to hold anything: who makes one must hold everything. */
static int holds_everything(const struct review *r)
{
	static struct ks_view star[] = {{"*", 1}};
	static const struct rbac_rule all[] = {
		{.verbs = {star, 1}, .groups = {star, 1}, .resources = {star, 1}},
		{.verbs = {star, 1}, .paths = {star, 1}},
	};
	const struct rbac_rule *items[] = {&all[0], &all[1]};
	const struct rbac_rule_list everything = {items, 2};
	struct ks_view missing = ks_rbac_missing(r->pool, &r->held, &everything);

	return missing.p && missing.n == 0;
}

static int review_role(struct review *r, enum rbac_kind kind)
{
	struct rbac_object *role;
	int result;

	if (may(r, "escalate", r->request->resource, r->request->name)) {
		r->result->allowed = 1;
		return KS_DONE;
	}
	role = ks_rbac_object_read(r->e->host->values, kind, r->request->namespace_, r->request->name, r->request->object);
	if (!role)
		return KS_ERR_NOMEM;
	if (role->n_selectors && !holds_everything(r))
		result = deny(r, ks_view_lit("must have cluster-admin privileges to use the aggregationRule"));
	else
		result = require_rules(r, (const struct rbac_object *const[]){role}, 1);
	ks_rbac_object_unref(role);
	return result;
}

static int deny_missing_role(struct review *r, struct ks_view resource, struct ks_view name)
{
	char *copy = r->e->host->op_alloc(r->op, name.n + 1);

	if (!copy)
		return KS_ERR_NOMEM;
	memcpy(copy, name.p, name.n);
	r->result->code = 404;
	r->result->about_group = group_name;
	r->result->about_resource = resource;
	r->result->about_name = (struct ks_view){copy, name.n};
	return KS_DONE;
}

static int review_binding(struct review *r, enum rbac_kind kind)
{
	struct rbac_object *binding = ks_rbac_object_read(r->e->host->values, kind, r->request->namespace_, r->request->name, r->request->object);
	const struct rbac_object *const *roles;
	struct ks_view resource;
	size_t n;
	int result;

	if (!binding)
		return KS_ERR_NOMEM;
	resource = ks_view_lit(ks_rbac_resources[binding->to_cluster_role ? RBAC_CLUSTER_ROLE : RBAC_ROLE]);
	if (may(r, "bind", resource, binding->role)) {
		r->result->allowed = 1;
		result = KS_DONE;
	} else if (!ks_rbac_index_role(r->index, binding->to_cluster_role, binding->ns, binding->role, &roles, &n)) {
		result = deny_missing_role(r, resource, binding->role);
	} else {
		result = require_rules(r, roles, n);
	}
	ks_rbac_object_unref(binding);
	return result;
}

static int review(struct review *r)
{
	int result = read_held(r);

	if (result != KS_DONE)
		return result;
	for (enum rbac_kind kind = 0; kind < RBAC_N_KINDS; kind++)
		if (ks_view_is(r->request->resource, ks_rbac_resources[kind]))
			return kind == RBAC_ROLE || kind == RBAC_CLUSTER_ROLE ? review_role(r, kind) : review_binding(r, kind);
	r->result->allowed = 1;
	return KS_DONE;
}

static int validate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	struct escalation *e = self;
	struct review r = {.e = e, .op = op, .request = request, .result = result};
	uint32_t worker = e->host->op_worker(op);
	int code;

	if (ks_rbac_is_privileged(request->user, &e->config->privileged_groups)) {
		result->allowed = 1;
		return KS_DONE;
	}
	r.pool = ks_pool_new();
	if (!r.pool)
		return KS_ERR_NOMEM;
	r.index = ks_rbac_source_enter(&e->source, worker);
	code = r.index ? review(&r) : e->host->op_error(op, "roles and bindings have not been read yet");
	ks_rbac_source_leave(&e->source, worker);
	ks_pool_free(r.pool);
	return code;
}

/* -- life --------------------------------------------------------------------------------------- */

static void synced(void *arg)
{
	(void)arg; /* the first index is published: that is all */
}

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	struct escalation *e = aligned_alloc(_Alignof(struct escalation), sizeof(*e));

	(void)error;
	if (!e)
		return KS_ERR_NOMEM;
	memset(e, 0, sizeof(*e));
	e->host = host;
	e->config = config;
	ks_rbac_source_init(&e->source, host, synced, e);
	*self = e;
	return KS_DONE;
}

static int start(void *self, struct ks_plugin_error *error)
{
	return ks_rbac_source_start(&((struct escalation *)self)->source, error);
}

static void destroy(void *self)
{
	struct escalation *e = self;

	ks_rbac_source_fini(&e->source);
	free(e);
}

const struct ks_config_key ks_rbac_escalation_keys[RBAC_ESCALATION_KEYS] = {
	{.name = "privilegedGroups", .type = KS_CONFIG_STRINGS, .offset = offsetof(struct rbac_escalation_config, privileged_groups),
		.default_text = "system:masters", .help = "Members of these groups may give any rights."},
};

static const struct ks_admission_match matches[] = {
	{KS_OPERATION_CREATE | KS_OPERATION_UPDATE, "rbac.authorization.k8s.io", "roles"},
	{KS_OPERATION_CREATE | KS_OPERATION_UPDATE, "rbac.authorization.k8s.io", "clusterroles"},
	{KS_OPERATION_CREATE | KS_OPERATION_UPDATE, "rbac.authorization.k8s.io", "rolebindings"},
	{KS_OPERATION_CREATE | KS_OPERATION_UPDATE, "rbac.authorization.k8s.io", "clusterrolebindings"},
};

const struct ks_lifecycle ks_rbac_escalation_lifecycle = {
	.size = sizeof(struct ks_lifecycle), .create = create, .start = start, .destroy = destroy};

const struct ks_admission_ops ks_rbac_escalation_ops = {
	.size = sizeof(struct ks_admission_ops),
	.matches = matches,
	.n_matches = sizeof(matches) / sizeof(matches[0]),
	.validate = validate,
};
