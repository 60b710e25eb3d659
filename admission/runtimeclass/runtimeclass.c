/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * runtimeclass: a new pod gets the overhead, the node selector and the tolerations of its runtime class,
 * and has an overhead only from there.
 */
#include <stdlib.h>

#include <keelson/sdk/admit.h>
#include <keelson/sdk/amount.h>

struct runtime {
	const struct ks_host *host;
	const struct ks_path *class_name, *overhead, *node_selector, *tolerations; /* of a pod */
	const struct ks_path *class_overhead, *class_fixed, *scheduling, *class_selector, *class_tolerations; /* of a class */
};

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	static const struct ks_admit_path paths[] = {
		{offsetof(struct runtime, class_name), "spec.runtimeClassName"},
		{offsetof(struct runtime, overhead), "spec.overhead"},
		{offsetof(struct runtime, node_selector), "spec.nodeSelector"},
		{offsetof(struct runtime, tolerations), "spec.tolerations"},
		{offsetof(struct runtime, class_overhead), "overhead"},
		{offsetof(struct runtime, class_fixed), "overhead.podFixed"},
		{offsetof(struct runtime, scheduling), "scheduling"},
		{offsetof(struct runtime, class_selector), "scheduling.nodeSelector"},
		{offsetof(struct runtime, class_tolerations), "scheduling.tolerations"},
	};
	struct runtime *r = calloc(1, sizeof(*r));

	(void)config;
	(void)error;
	if (!r || ks_admit_paths(host, r, paths, sizeof(paths) / sizeof(*paths)) != KS_DONE) {
		free(r);
		return KS_ERR_NOMEM;
	}
	r->host = host;
	*self = r;
	return KS_DONE;
}

/* 1: found, or the pod names none (class absent); 0: there is no such class; negative. */
static int find_class(const struct runtime *r, const struct ks_admit *call, struct ks_val *class_r)
{
	static const struct ks_view group = {"node.k8s.io", 11}, version = {"v1", 2}, resource = {"runtimeclasses", 14};
	struct ks_val name = r->host->values->get(call->request->object, r->class_name);

	*class_r = (struct ks_val){0};
	if (r->host->values->kind(name) != KS_VAL_STRING)
		return 1;
	return r->host->cached_get(call->op, group, version, resource, (struct ks_view){0}, r->host->values->string(name), class_r);
}

static int deny_class(const struct runtime *r, const struct ks_admit *call)
{
	struct ks_view name = r->host->values->string(r->host->values->get(call->request->object, r->class_name));

	return ks_admit_deny(call, "pod rejected: RuntimeClass %.*s not found", KS_VIEW_ARGS(ks_admit_quote(call, name)));
}

/* -- overhead ------------------------------------------------------------------------------------------------------ */

/* Are two lists of resources the same amounts? */
static int same_amounts(const struct ks_value_ops *values, struct ks_val a, struct ks_val b)
{
	struct ks_val_iter iter = {0};
	struct ks_val_item item;

	if (values->length(a) != values->length(b))
		return 0;
	while (values->iterate(a, &iter, &item, 1)) {
		struct ks_val other = values->member(b, item.key);
		struct ks_amount left, right;

		if (!values->kind(other) || !ks_amount_parse(values->string(item.value), &left) || !ks_amount_parse(values->string(other), &right) ||
			ks_amount_cmp(&left, &right))
			return 0;
	}
	return 1;
}

static int deny_overhead(const struct ks_admit *call)
{
	return ks_admit_deny(call, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
}

static int set_overhead(const struct runtime *r, const struct ks_admit *call, struct ks_val class_)
{
	const struct ks_value_ops *values = r->host->values;
	struct ks_val given = values->get(call->request->object, r->overhead), fixed = values->get(class_, r->class_fixed);

	if (values->kind(values->get(class_, r->class_overhead)) <= KS_VAL_NULL)
		return KS_DONE;
	if (values->kind(given) == KS_VAL_OBJECT && !same_amounts(values, fixed, given))
		return deny_overhead(call);
	if (!values->length(fixed))
		return KS_DONE;
	return ks_admit_set(call, values->to_json(call->op, fixed), "/spec/overhead");
}

/* -- scheduling ---------------------------------------------------------------------------------------------------- */

/* A JSON pointer's part: ~ and / are escaped. */
static struct ks_view pointer_part(const struct ks_admit *call, struct ks_view key)
{
	char *out = call->host->op_alloc(call->op, key.n * 2 + 1);
	size_t n = 0;

	for (size_t i = 0; out && i < key.n; i++) {
		int special = key.p[i] == '~' || key.p[i] == '/';

		if (special)
			out[n++] = '~';
		out[n++] = special ? (key.p[i] == '~' ? '0' : '1') : key.p[i];
	}
	return (struct ks_view){out, out ? n : 0};
}

static int set_selector(const struct runtime *r, const struct ks_admit *call, struct ks_val class_)
{
	const struct ks_value_ops *values = r->host->values;
	struct ks_val own = values->get(call->request->object, r->node_selector);
	struct ks_val_iter iter = {0};
	struct ks_val_item item;
	int rc = KS_DONE;

	while (rc == KS_DONE && values->iterate(values->get(class_, r->class_selector), &iter, &item, 1)) {
		struct ks_val mine = values->member(own, item.key);
		struct ks_view wanted = values->string(item.value), part;

		if (values->kind(mine) && !ks_view_eq(values->string(mine), wanted))
			return ks_admit_deny(call, "conflict: runtimeClass.scheduling.nodeSelector[%.*s] = %.*s; pod.spec.nodeSelector[%.*s] = %.*s",
				KS_VIEW_ARGS(item.key), KS_VIEW_ARGS(wanted), KS_VIEW_ARGS(item.key), KS_VIEW_ARGS(values->string(mine)));
		part = pointer_part(call, item.key);
		rc = part.p ? ks_admit_set_text(call, wanted, "/spec/nodeSelector/%.*s", KS_VIEW_ARGS(part)) : KS_ERR_NOMEM;
	}
	return rc;
}

struct toleration {
	struct ks_val value;
	struct ks_view key, op, text, effect;
	int has_seconds;
	int64_t seconds;
};

static struct toleration read_toleration(const struct ks_admit *call, struct ks_val v)
{
	struct ks_val seconds = ks_admit_member(call, v, "tolerationSeconds");

	return (struct toleration){
		.value = v,
		.key = ks_admit_text(call, v, "key"),
		.op = ks_admit_text(call, v, "operator"),
		.text = ks_admit_text(call, v, "value"),
		.effect = ks_admit_text(call, v, "effect"),
		.has_seconds = call->host->values->kind(seconds) == KS_VAL_INT,
		.seconds = call->host->values->integer(seconds),
	};
}

static int same_toleration(const struct toleration *a, const struct toleration *b)
{
	return ks_view_eq(a->key, b->key) && ks_view_eq(a->op, b->op) && ks_view_eq(a->text, b->text) && ks_view_eq(a->effect, b->effect) &&
		a->has_seconds == b->has_seconds && (!a->has_seconds || a->seconds == b->seconds);
}

/* Does `wide` tolerate all that `t` does? */
static int covers(const struct toleration *wide, const struct toleration *t)
{
	if (same_toleration(wide, t))
		return 1;
	if (!ks_view_eq(wide->key, t->key) && !(wide->key.n == 0 && ks_view_is(wide->op, "Exists")))
		return 0;
	if (wide->effect.n && !ks_view_eq(wide->effect, t->effect))
		return 0;
	if (ks_view_is(wide->effect, "NoExecute") && wide->has_seconds && (!t->has_seconds || t->seconds > wide->seconds))
		return 0;
	if (wide->op.n == 0 || ks_view_is(wide->op, "Equal"))
		return ks_view_is(t->op, "Equal") && ks_view_eq(t->text, wide->text);
	return ks_view_is(wide->op, "Exists");
}

/* Is the toleration at `i` said by one that is kept before it, or by another one after it? */
static int is_redundant(const struct toleration *all, size_t n, const char *kept, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (kept[k] && covers(&all[k], &all[i]))
			return 1;
	for (size_t k = i + 1; k < n; k++)
		if (!same_toleration(&all[k], &all[i]) && covers(&all[k], &all[i]))
			return 1;
	return 0;
}

/* The list anew: the pod's own, then the class's, without those that others cover. */
static int set_tolerations(const struct runtime *r, const struct ks_admit *call, struct ks_val class_)
{
	const struct ks_value_ops *values = r->host->values;
	struct ks_val own = values->get(call->request->object, r->tolerations), more = values->get(class_, r->class_tolerations);
	size_t n_own = values->length(own), n = n_own + values->length(more);
	struct toleration *all = call->host->op_alloc(call->op, (n + 1) * sizeof(*all));
	char *kept = call->host->op_alloc(call->op, n + 1);
	int rc = KS_DONE;

	if (!all || !kept)
		return KS_ERR_NOMEM;
	for (size_t i = 0; i < n; i++)
		all[i] = read_toleration(call, i < n_own ? values->item(own, i) : values->item(more, i - n_own));
	for (size_t i = 0; i < n; i++)
		kept[i] = (char)!is_redundant(all, n, kept, i);
	if (n)
		rc = ks_admit_set(call, ks_view_lit("[]"), "/spec/tolerations");
	for (size_t i = 0; rc == KS_DONE && i < n; i++)
		if (kept[i])
			rc = ks_admit_set(call, values->to_json(call->op, all[i].value), "/spec/tolerations/-");
	return rc;
}

/* -- the calls ----------------------------------------------------------------------------------------------------- */

static int mutate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	const struct runtime *r = self;
	const struct ks_admit call = {r->host, op, request, result};
	struct ks_val class_;
	int rc = find_class(r, &call, &class_);

	if (rc <= 0)
		return rc ? rc : deny_class(r, &call);
	rc = set_overhead(r, &call, class_);
	if (rc == KS_DONE && !result->message.n && r->host->values->kind(r->host->values->get(class_, r->scheduling)) == KS_VAL_OBJECT) {
		rc = set_selector(r, &call, class_);
		if (rc == KS_DONE && !result->message.n)
			rc = set_tolerations(r, &call, class_);
	}
	return rc == KS_DONE && !result->message.n ? ks_admit_allow(&call) : rc;
}

static int validate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	const struct runtime *r = self;
	const struct ks_admit call = {r->host, op, request, result};
	const struct ks_value_ops *values = r->host->values;
	struct ks_val given = values->get(request->object, r->overhead), class_;
	int found = find_class(r, &call, &class_);

	if (found <= 0)
		return found ? found : deny_class(r, &call);
	if (values->kind(values->get(class_, r->class_overhead)) <= KS_VAL_NULL) {
		if (values->kind(given) <= KS_VAL_NULL)
			return ks_admit_allow(&call);
		return ks_admit_deny(&call, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead");
	}
	return same_amounts(values, values->get(class_, r->class_fixed), given) ? ks_admit_allow(&call) : deny_overhead(&call);
}

static const struct ks_admission_match matches[] = {{KS_OPERATION_CREATE, "", "pods"}};

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
	.name = "runtimeclass",
	.lifecycle = &life,
	.ops = &ops,
};

KS_PLUGIN(runtimeclass) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Gives pods the overhead and the scheduling of their runtime class",
};
