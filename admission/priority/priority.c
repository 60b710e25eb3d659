/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * priority: a new pod gets the number and the preemption policy of its priority class, or of the default
 * class; there is one default class at most.
 *
 * Which class is the default one is kept up to date by an informer, since every pod asks.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <keelson/sdk/admit.h>

enum { NAME_MOST = 253 };

/* A class that is marked as default. There may be several, after a race: the one with the lowest value counts. */
struct class_ {
	struct class_ *next;
	int64_t value;
	int has_policy, never; /* preemptionPolicy: given; Never rather than PreemptLowerPriority */
	size_t n;
	char name[NAME_MOST];
};

struct priority {
	const struct ks_host *host;
	const struct ks_path *class_name, *priority, *policy;
	struct ks_informer *informer;
	pthread_mutex_t lock;
	struct class_ *defaults; /* under `lock` */
};

static const struct ks_view group = {"scheduling.k8s.io", 17}, version = {"v1", 2}, classes = {"priorityclasses", 15};

/* -- the default class ------------------------------------------------------------------------------------------- */

static void forget(struct priority *p, struct ks_view name)
{
	for (struct class_ **at = &p->defaults; *at; at = &(*at)->next) {
		struct class_ *found = *at;

		if (!ks_view_eq((struct ks_view){found->name, found->n}, name))
			continue;
		*at = found->next;
		free(found);
		return;
	}
}

static struct class_ read_class(const struct ks_host *host, struct ks_val object)
{
	const struct ks_value_ops *values = host->values;
	struct ks_view policy = values->string(values->member(object, ks_view_lit("preemptionPolicy")));

	return (struct class_){
		.value = values->integer(values->member(object, ks_view_lit("value"))),
		.has_policy = policy.n > 0,
		.never = ks_view_is(policy, "Never"),
	};
}

static void remember(struct priority *p, struct ks_view name, struct ks_val object)
{
	struct class_ *c = name.n <= NAME_MOST ? malloc(sizeof(*c)) : NULL;

	if (!c) {
		p->host->log(p->host, KS_HOST_LOG_ERROR, "out of memory: the default priority class is not known");
		return;
	}
	*c = read_class(p->host, object);
	c->n = name.n;
	memcpy(c->name, name.p, name.n);
	c->next = p->defaults;
	p->defaults = c;
}

static void class_changed(void *arg, const struct ks_informer_event *event)
{
	struct priority *p = arg;
	const struct ks_value_ops *values = p->host->values;

	pthread_mutex_lock(&p->lock);
	forget(p, event->name);
	if (event->type != KS_EVENT_DELETED && values->boolean(values->member(event->object, ks_view_lit("globalDefault"))))
		remember(p, event->name, event->object);
	pthread_mutex_unlock(&p->lock);
}

/* 1: there is one. */
static int default_class(struct priority *p, struct class_ *class_r)
{
	const struct class_ *lowest = NULL;

	pthread_mutex_lock(&p->lock);
	for (const struct class_ *c = p->defaults; c; c = c->next)
		if (!lowest || c->value < lowest->value)
			lowest = c;
	if (lowest)
		*class_r = *lowest;
	pthread_mutex_unlock(&p->lock);
	return lowest != NULL;
}

/* -- life -------------------------------------------------------------------------------------------------------- */

static void destroy(void *self)
{
	struct priority *p = self;

	while (p->defaults) {
		struct class_ *c = p->defaults;

		p->defaults = c->next;
		free(c);
	}
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	static const struct ks_admit_path paths[] = {
		{offsetof(struct priority, class_name), "spec.priorityClassName"},
		{offsetof(struct priority, priority), "spec.priority"},
		{offsetof(struct priority, policy), "spec.preemptionPolicy"},
	};
	struct priority *p = calloc(1, sizeof(*p));

	(void)config;
	(void)error;
	if (!p)
		return KS_ERR_NOMEM;
	pthread_mutex_init(&p->lock, NULL);
	p->host = host;
	if (ks_admit_paths(host, p, paths, sizeof(paths) / sizeof(*paths)) != KS_DONE) {
		destroy(p);
		return KS_ERR_NOMEM;
	}
	*self = p;
	return KS_DONE;
}

static int start(void *self, struct ks_plugin_error *error)
{
	struct priority *p = self;
	const struct ks_informer_handler handler = {.size = sizeof(handler), .event = class_changed, .arg = p};

	p->informer = p->host->informer(p->host, group, version, classes, &handler);
	if (p->informer)
		return KS_DONE;
	strcpy(error->text, "priority classes can't be followed");
	return KS_ERR_UNAVAILABLE;
}

/* -- pods -------------------------------------------------------------------------------------------------------- */

/* The class that the pod names. 1, 0: there is no such class, or negative. */
static int named_class(const struct ks_admit *call, struct ks_view name, struct class_ *class_r)
{
	struct ks_val object;
	int found = call->host->cached_get(call->op, group, version, classes, (struct ks_view){0}, name, &object);

	if (found == 1)
		*class_r = read_class(call->host, object);
	return found;
}

static int set_priority(const struct priority *p, const struct ks_admit *call, const struct class_ *c)
{
	struct ks_val given = call->host->values->get(call->request->object, p->priority);

	if (call->host->values->kind(given) == KS_VAL_INT && call->host->values->integer(given) != c->value)
		return ks_admit_deny(call,
			"the integer value of priority (%lld) must not be provided in pod spec; priority admission controller computed %lld "
			"from the given PriorityClass name",
			(long long)call->host->values->integer(given), (long long)c->value);
	return ks_admit_set(call, ks_admit_printf(call, "%lld", (long long)c->value), "/spec/priority");
}

static int set_policy(const struct priority *p, const struct ks_admit *call, const struct class_ *c)
{
	const struct ks_value_ops *values = call->host->values;
	struct ks_val value = values->get(call->request->object, p->policy);
	struct ks_view given = values->string(value);
	const char *policy = c->never ? "Never" : "PreemptLowerPriority";

	if (!c->has_policy)
		return KS_DONE;
	if (values->kind(value) > KS_VAL_NULL && !ks_view_is(given, policy)) /* also "" */
		return ks_admit_deny(call,
			"the string value of PreemptionPolicy (%.*s) must not be provided in pod spec; priority admission controller computed %s "
			"from the given PriorityClass name",
			KS_VIEW_ARGS(given), policy);
	return ks_admit_set_text(call, ks_view_lit(policy), "/spec/preemptionPolicy");
}

static int apply_class(const struct priority *p, const struct ks_admit *call, const struct class_ *c)
{
	int rc = set_priority(p, call, c);

	if (rc != KS_DONE || call->result->message.n)
		return rc;
	rc = set_policy(p, call, c);
	if (rc != KS_DONE || call->result->message.n)
		return rc;
	return ks_admit_allow(call);
}

static int admit_new_pod(struct priority *p, const struct ks_admit *call)
{
	struct ks_view name = call->host->values->string(call->host->values->get(call->request->object, p->class_name));
	struct class_ c = {.has_policy = 1};
	int rc = KS_DONE;

	if (name.n) {
		int found = named_class(call, name, &c);

		if (found < 0)
			return found;
		if (!found)
			return ks_admit_deny(call, "no PriorityClass with name %.*s was found", KS_VIEW_ARGS(name));
	} else if (default_class(p, &c)) {
		rc = ks_admit_set_text(call, (struct ks_view){c.name, c.n}, "/spec/priorityClassName");
	}
	return rc == KS_DONE ? apply_class(p, call, &c) : rc;
}

/* What a pod got when it was made stays, also when an update leaves it out. */
static int keep(const struct ks_admit *call, const struct ks_path *path, const char *pointer)
{
	const struct ks_value_ops *values = call->host->values;
	struct ks_val old = values->get(call->request->old_object, path);

	if (values->kind(values->get(call->request->object, path)) > KS_VAL_NULL || values->kind(old) <= KS_VAL_NULL)
		return KS_DONE;
	return ks_admit_set(call, values->to_json(call->op, old), "%s", pointer);
}

static int admit_changed_pod(const struct priority *p, const struct ks_admit *call)
{
	int rc = keep(call, p->priority, "/spec/priority");

	if (rc == KS_DONE)
		rc = keep(call, p->policy, "/spec/preemptionPolicy");
	return rc == KS_DONE ? ks_admit_allow(call) : rc;
}

static int mutate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	struct priority *p = self;
	const struct ks_admit call = {p->host, op, request, result};

	if (!ks_view_is(request->resource, "pods"))
		return ks_admit_allow(&call);
	return request->operation == KS_OPERATION_CREATE ? admit_new_pod(p, &call) : admit_changed_pod(p, &call);
}

/* -- classes ----------------------------------------------------------------------------------------------------- */

static int validate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	struct priority *p = self;
	const struct ks_admit call = {p->host, op, request, result};
	const struct ks_value_ops *values = p->host->values;
	struct ks_view name = ks_admit_text(&call, ks_admit_member(&call, request->object, "metadata"), "name");
	struct class_ c;

	if (!ks_view_is(request->resource, "priorityclasses") || !values->boolean(ks_admit_member(&call, request->object, "globalDefault")))
		return ks_admit_allow(&call);
	if (!default_class(p, &c) || (request->operation == KS_OPERATION_UPDATE && ks_view_eq((struct ks_view){c.name, c.n}, name)))
		return ks_admit_allow(&call);
	return ks_admit_deny(&call, "PriorityClass %.*s is already marked as default. Only one default can exist", (int)c.n, c.name);
}

static const struct ks_admission_match matches[] = {
	{KS_OPERATION_CREATE | KS_OPERATION_UPDATE, "", "pods"},
	{KS_OPERATION_CREATE | KS_OPERATION_UPDATE, "scheduling.k8s.io", "priorityclasses"},
};

static const struct ks_lifecycle life = {.size = sizeof(life), .create = create, .start = start, .destroy = destroy};

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
	.flags = KS_ADMISSION_NEEDS_OLD,
	.name = "priority",
	.lifecycle = &life,
	.ops = &ops,
};

KS_PLUGIN(priority) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Gives pods the priority of their class; keeps one class the default",
};
