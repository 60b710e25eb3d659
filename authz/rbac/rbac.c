/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * rbac: Roles, ClusterRoles and their bindings, as kube-apiserver's RBAC authorizer reads them.
 *
 * Informers keep the objects (executor thread); after each burst of changes an index is built and
 * published. Workers ask the published index without a lock: each tells in a slot of its own which
 * index it is reading, and an old index is freed when no slot names it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "authz/rbac/bootstrap.h"
#include "authz/rbac/index.h"

enum { MAX_WORKERS = 256, REBUILD_AFTER_MS = 5 };

struct config {
	struct ks_config_list privileged_groups;
	uint8_t bootstrap;
};

struct reader_slot {
	_Alignas(64) struct rbac_index *_Atomic reading;
};

struct rbac;

struct source {
	struct rbac *rbac;
	enum rbac_kind kind;
	struct ks_informer *informer;
};

struct rbac {
	const struct ks_host *host;
	const struct config *config;
	struct source sources[RBAC_N_KINDS];
	/* executor thread */
	struct rbac_objects objects;
	unsigned n_synced;
	int rebuild_planned;
	struct rbac_bootstrap *bootstrap;
	/* shared */
	struct rbac_index *_Atomic current;
	struct reader_slot slots[MAX_WORKERS + 1];
	pthread_mutex_t outsiders; /* callers that are no worker share the last slot */
};

static const char *const resources[RBAC_N_KINDS] = {"clusterroles", "roles", "clusterrolebindings", "rolebindings"};

/* -- publishing ---------------------------------------------------------------------- */

static void wait_for_readers(struct rbac *r, const struct rbac_index *old)
{
	for (size_t i = 0; i <= MAX_WORKERS; i++)
		while (atomic_load(&r->slots[i].reading) == old)
			sched_yield(); /* a look-up takes microseconds and never waits */
}

static void publish(struct rbac *r)
{
	struct rbac_index *made = ks_rbac_index_build(&r->objects), *old;

	if (!made) {
		r->host->log(r->host, KS_HOST_LOG_ERROR, "out of memory; decisions rest on the rules from before the last change");
		return;
	}
	old = atomic_exchange(&r->current, made);
	if (!old)
		return;
	wait_for_readers(r, old);
	ks_rbac_index_free(old);
}

/* The index that is current, held until leave(). The slot is written before the pointer is read again: a publisher sees one or the other. */
static struct rbac_index *enter(struct rbac *r, uint32_t worker)
{
	struct reader_slot *slot;
	struct rbac_index *index;

	if (worker >= MAX_WORKERS) {
		worker = MAX_WORKERS;
		pthread_mutex_lock(&r->outsiders);
	}
	slot = &r->slots[worker];
	do {
		index = atomic_load(&r->current);
		atomic_store(&slot->reading, index);
	} while (index != atomic_load(&r->current));
	return index;
}

static void leave(struct rbac *r, uint32_t worker)
{
	atomic_store(&r->slots[worker >= MAX_WORKERS ? MAX_WORKERS : worker].reading, NULL);
	if (worker >= MAX_WORKERS)
		pthread_mutex_unlock(&r->outsiders);
}

/* -- informers ------------------------------------------------------------------------ */

static void rebuild(void *arg)
{
	struct rbac *r = arg;

	r->rebuild_planned = 0;
	publish(r);
}

/* A burst of changes leads to one index. */
static void plan_rebuild(struct rbac *r)
{
	if (r->rebuild_planned || r->n_synced < RBAC_N_KINDS)
		return;
	if (r->host->timer(r->host, REBUILD_AFTER_MS, rebuild, r) != KS_DONE) {
		publish(r);
		return;
	}
	r->rebuild_planned = 1;
}

static void on_event(void *arg, const struct ks_informer_event *event)
{
	struct source *source = arg;
	struct rbac *r = source->rbac;

	if (event->type == KS_EVENT_DELETED)
		ks_rbac_objects_delete(&r->objects, source->kind, event->namespace_, event->name);
	else if (ks_rbac_objects_set(&r->objects, source->kind, event->namespace_, event->name, event->object) < 0)
		r->host->log(r->host, KS_HOST_LOG_ERROR, "out of memory; %s \"%.*s\" keeps its state from before", resources[source->kind],
			(int)event->name.n, event->name.p);
	plan_rebuild(r);
}

static void bootstrapped(void *arg)
{
	struct rbac *r = arg;

	publish(r);
	r->host->set_ready(r->host, 1);
}

static void on_synced(void *arg)
{
	struct source *source = arg;
	struct rbac *r = source->rbac;

	if (++r->n_synced < RBAC_N_KINDS)
		return;
	publish(r);
	if (r->config->bootstrap)
		r->bootstrap = ks_rbac_bootstrap_start(r->host, &r->objects, bootstrapped, r);
	else
		r->host->set_ready(r->host, 1);
}

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

static int is_privileged(const struct rbac *r, const struct ks_user *user)
{
	const struct ks_config_list *groups = &r->config->privileged_groups;

	for (size_t i = 0; i < user->n_groups; i++)
		for (size_t j = 0; j < groups->n; j++)
			if (ks_view_is(user->groups[i], groups->items[j]))
				return 1;
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

	if (is_privileged(r, attributes->user)) {
		result->decision = KS_AUTHZ_ALLOW;
		return KS_DONE;
	}
	index = enter(r, worker);
	code = index ? decide(r, op, index, attributes, result) :
		r->host->op_error(op, "roles and bindings have not been read yet");
	leave(r, worker);
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
	struct rbac_index *index = enter(r, worker);

	if (index)
		ks_rbac_index_visit(index, user, namespace_, count_rules, &list);
	list.rules = r->host->op_alloc(op, (list.room + 1) * sizeof(*list.rules));
	if (index && list.rules)
		ks_rbac_index_visit(index, user, namespace_, copy_rules, &list);
	leave(r, worker);
	if (!list.rules || list.failed)
		return KS_ERR_NOMEM;
	out->rules = list.rules;
	out->n_rules = list.n;
	out->incomplete = !index || list.incomplete;
	return KS_DONE;
}

/* -- life -------------------------------------------------------------------------------- */

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	struct rbac *r = aligned_alloc(_Alignof(struct rbac), sizeof(*r));

	(void)error;
	if (!r)
		return KS_ERR_NOMEM;
	memset(r, 0, sizeof(*r));
	r->host = host;
	r->config = config;
	r->objects.values = host->values;
	pthread_mutex_init(&r->outsiders, NULL);
	*self = r;
	return KS_DONE;
}

static int start(void *self, struct ks_plugin_error *error)
{
	struct rbac *r = self;

	r->host->set_ready(r->host, 0);
	for (enum rbac_kind kind = 0; kind < RBAC_N_KINDS; kind++) {
		struct source *source = &r->sources[kind];
		const struct ks_informer_handler handler = {
			.size = sizeof(handler), .event = on_event, .synced = on_synced, .arg = source};

		source->rbac = r;
		source->kind = kind;
		source->informer = r->host->informer(r->host, ks_view_lit("rbac.authorization.k8s.io"), ks_view_lit("v1"),
			ks_view_lit(resources[kind]), &handler);
		if (!source->informer) {
			snprintf(error->text, sizeof(error->text), "%s.rbac.authorization.k8s.io can't be followed", resources[kind]);
			return KS_ERR;
		}
	}
	return KS_DONE;
}

static void destroy(void *self)
{
	struct rbac *r = self;

	ks_rbac_index_free(atomic_load(&r->current));
	ks_rbac_objects_fini(&r->objects);
	ks_rbac_bootstrap_free(r->bootstrap);
	pthread_mutex_destroy(&r->outsiders);
	free(r);
}

static const struct ks_config_key keys[] = {
	{.name = "privilegedGroups", .type = KS_CONFIG_STRINGS, .offset = offsetof(struct config, privileged_groups), .default_text = "system:masters",
		.help = "Members of these groups may do everything, whatever the roles say."},
	{.name = "bootstrap", .type = KS_CONFIG_BOOL, .offset = offsetof(struct config, bootstrap), .default_text = "true",
		.help = "Create the default roles and bindings at start when they are missing."},
};

static const struct ks_lifecycle lifecycle = {.size = sizeof(lifecycle), .create = create, .start = start, .destroy = destroy};
static const struct ks_authz_ops ops = {.size = sizeof(ops), .authorize = authorize, .rules = rules};

static const struct ks_interface interface = {
	.size = sizeof(interface),
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
};

KS_PLUGIN(rbac) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Role-based access control: Roles, ClusterRoles and their bindings",
};
