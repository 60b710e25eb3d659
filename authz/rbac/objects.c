/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "authz/rbac/objects.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* What reading one object takes along. */
struct reader {
	struct ks_pool *pool;
	const struct ks_value_ops *values;
	struct rbac_object *object;
};

static struct ks_val member(const struct reader *r, struct ks_val object, const char *name)
{
	return r->values->member(object, ks_view_lit(name));
}

static struct ks_view text(const struct reader *r, struct ks_val object, const char *name)
{
	return ks_pool_view(r->pool, r->values->string(member(r, object, name)));
}

/* -- roles --------------------------------------------------------------------- */

static int read_labels(struct reader *r, struct ks_val labels, struct rbac_label **out_r, size_t *n_r)
{
	size_t n = r->values->length(labels), got = 0;
	struct rbac_label *out = ks_pool_alloc(r->pool, n, sizeof(*out));
	struct ks_val_iter iter = {0};
	struct ks_val_item item;

	if (!out)
		return -1;
	while (got < n && r->values->iterate(labels, &iter, &item, 1) == 1) {
		out[got].key = ks_pool_view(r->pool, item.key);
		out[got].value = ks_pool_view(r->pool, r->values->string(item.value));
		if (!out[got].key.p || !out[got].value.p)
			return -1;
		got++;
	}
	*out_r = out;
	*n_r = got;
	return 0;
}

static int operator_of(struct ks_view name)
{
	if (ks_view_is(name, "In"))
		return RBAC_IN;
	if (ks_view_is(name, "NotIn"))
		return RBAC_NOT_IN;
	return ks_view_is(name, "Exists") ? RBAC_EXISTS : RBAC_DOES_NOT_EXIST;
}

static int read_selector(struct reader *r, struct ks_val selector, struct rbac_selector *out)
{
	struct ks_val expressions = member(r, selector, "matchExpressions");
	size_t n_expressions = r->values->length(expressions), n_labels;
	struct rbac_label *labels;

	if (read_labels(r, member(r, selector, "matchLabels"), &labels, &n_labels) < 0)
		return -1;
	out->requirements = ks_pool_alloc(r->pool, n_labels + n_expressions, sizeof(*out->requirements));
	if (!out->requirements)
		return -1;
	for (size_t i = 0; i < n_labels; i++)
		out->requirements[out->n++] = (struct rbac_requirement){labels[i].key, RBAC_IN, {&labels[i].value, 1}};
	for (size_t i = 0; i < n_expressions; i++) {
		struct ks_val expression = r->values->item(expressions, i);
		struct rbac_requirement *q = &out->requirements[out->n++];

		q->key = text(r, expression, "key");
		q->operator = operator_of(r->values->string(member(r, expression, "operator")));
		if (!q->key.p || ks_rbac_strings_read(r->pool, r->values, member(r, expression, "values"), &q->values) < 0)
			return -1;
	}
	return 0;
}

static int read_selectors(struct reader *r, struct ks_val list)
{
	size_t n = r->values->length(list);

	r->object->selectors = ks_pool_alloc(r->pool, n, sizeof(*r->object->selectors));
	if (!r->object->selectors)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (read_selector(r, r->values->item(list, i), &r->object->selectors[i]) < 0)
			return -1;
	r->object->n_selectors = n;
	return 0;
}

static int read_role(struct reader *r, struct ks_val object)
{
	struct rbac_object *o = r->object;

	if (read_selectors(r, member(r, member(r, object, "aggregationRule"), "clusterRoleSelectors")) < 0)
		return -1;
	return ks_rbac_rules_read(r->pool, r->values, member(r, object, "rules"), &o->rules, &o->n_rules);
}

static int read_metadata(struct reader *r, struct ks_val metadata)
{
	static const char autoupdate[] = "rbac.authorization.kubernetes.io/autoupdate";
	struct ks_val annotations = member(r, metadata, "annotations");
	struct rbac_object *o = r->object;
	struct ks_val said = member(r, annotations, autoupdate);

	o->has_annotations = r->values->length(annotations) > 0;
	if (r->values->kind(said) == KS_VAL_STRING) {
		o->autoupdate = ks_pool_view(r->pool, r->values->string(said));
		if (!o->autoupdate.p)
			return -1;
	}
	return read_labels(r, member(r, metadata, "labels"), &o->labels, &o->n_labels);
}

/* -- bindings ------------------------------------------------------------------ */

/* The reason that kube-apiserver gives, worded when the binding is read and not when it is used. */
static struct ks_view word_reason(struct reader *r, struct ks_view kind, struct ks_view shown)
{
	const struct rbac_object *o = r->object;
	const char *role = o->to_cluster_role ? "ClusterRole" : "Role";

	if (o->kind == RBAC_CLUSTER_ROLE_BINDING)
		return ks_pool_printf(r->pool, "RBAC: allowed by ClusterRoleBinding \"%.*s\" of %s \"%.*s\" to %.*s \"%.*s\"", (int)o->name.n,
			o->name.p, role, (int)o->role.n, o->role.p, (int)kind.n, kind.p, (int)shown.n, shown.p);
	return ks_pool_printf(r->pool, "RBAC: allowed by RoleBinding \"%.*s/%.*s\" of %s \"%.*s\" to %.*s \"%.*s\"", (int)o->name.n, o->name.p,
		(int)o->ns.n, o->ns.p, role, (int)o->role.n, o->role.p, (int)kind.n, kind.p, (int)shown.n, shown.p);
}

static int read_service_account(struct reader *r, struct ks_val subject, struct ks_view name, struct rbac_subject *out)
{
	struct ks_view ns = text(r, subject, "namespace"), shown;

	if (ns.n == 0)
		ns = r->object->ns;
	out->name = ks_pool_printf(r->pool, "system:serviceaccount:%.*s:%.*s", (int)ns.n, ns.p, (int)name.n, name.p);
	shown = ks_pool_printf(r->pool, "%.*s/%.*s", (int)name.n, name.p, (int)ns.n, ns.p);
	out->reason = word_reason(r, ks_view_lit("ServiceAccount"), shown);
	return out->name.p && shown.p && out->reason.p ? 0 : -1;
}

static int read_subject(struct reader *r, struct ks_val subject, struct rbac_subject *out)
{
	struct ks_view kind = text(r, subject, "kind"), name = text(r, subject, "name");

	if (!kind.p || !name.p)
		return -1;
	if (ks_view_is(kind, "ServiceAccount"))
		return read_service_account(r, subject, name, out);
	out->is_group = ks_view_is(kind, "Group");
	out->name = name;
	out->reason = word_reason(r, kind, name);
	return out->reason.p ? 0 : -1;
}

static int read_binding(struct reader *r, struct ks_val object)
{
	struct ks_val ref = member(r, object, "roleRef"), subjects = member(r, object, "subjects");
	struct rbac_object *o = r->object;

	o->to_cluster_role = ks_view_is(r->values->string(member(r, ref, "kind")), "ClusterRole");
	o->role = text(r, ref, "name");
	o->n_subjects = r->values->length(subjects);
	o->subjects = ks_pool_alloc(r->pool, o->n_subjects, sizeof(*o->subjects));
	if (!o->role.p || !o->subjects)
		return -1;
	for (size_t i = 0; i < o->n_subjects; i++)
		if (read_subject(r, r->values->item(subjects, i), &o->subjects[i]) < 0)
			return -1;
	return 0;
}

/* -- objects and their table ------------------------------------------------------ */

struct rbac_object *ks_rbac_object_read(const struct ks_value_ops *values, enum rbac_kind kind, struct ks_view ns, struct ks_view name, struct ks_val object)
{
	struct reader r = {.pool = ks_pool_new(), .values = values};
	int failed;

	if (!r.pool)
		return NULL;
	r.object = ks_pool_alloc(r.pool, 1, sizeof(*r.object));
	if (!r.object)
		goto failed;
	atomic_init(&r.object->refs, 1);
	r.object->pool = r.pool;
	r.object->kind = kind;
	r.object->ns = ks_pool_view(r.pool, ns);
	r.object->name = ks_pool_view(r.pool, name);
	failed = read_metadata(&r, member(&r, object, "metadata"));
	if (!failed)
		failed = kind == RBAC_ROLE || kind == RBAC_CLUSTER_ROLE ? read_role(&r, object) : read_binding(&r, object);
	if (failed || !r.object->ns.p || !r.object->name.p)
		goto failed;
	return r.object;
failed:
	ks_pool_free(r.pool);
	return NULL;
}

struct rbac_object *ks_rbac_object_ref(struct rbac_object *object)
{
	atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);
	return object;
}

void ks_rbac_object_unref(struct rbac_object *object)
{
	if (object && atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) == 1)
		ks_pool_free(object->pool);
}

int ks_rbac_view_compare(struct ks_view a, struct ks_view b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;

	return c ? c : (a.n > b.n) - (a.n < b.n);
}

static int compare_objects(const void *a, const void *b)
{
	const struct rbac_object *x = a, *y = b;
	int c = ks_rbac_view_compare(x->ns, y->ns);

	return c ? c : ks_rbac_view_compare(x->name, y->name);
}

struct rbac_object *ks_rbac_objects_find(const struct rbac_objects *objects, enum rbac_kind kind, struct ks_view ns, struct ks_view name)
{
	struct rbac_object wanted = {.ns = ns, .name = name}, **found;

	found = tfind(&wanted, &objects->trees[kind], compare_objects);
	return found ? *found : NULL;
}

void ks_rbac_objects_delete(struct rbac_objects *objects, enum rbac_kind kind, struct ks_view ns, struct ks_view name)
{
	struct rbac_object *old = ks_rbac_objects_find(objects, kind, ns, name);

	if (!old)
		return;
	tdelete(old, &objects->trees[kind], compare_objects);
	ks_rbac_object_unref(old);
}

int ks_rbac_objects_set(struct rbac_objects *objects, enum rbac_kind kind, struct ks_view ns, struct ks_view name, struct ks_val value)
{
	struct rbac_object *made = ks_rbac_object_read(objects->values, kind, ns, name, value), **place;

	if (!made)
		return -1;
	place = tsearch(made, &objects->trees[kind], compare_objects);
	if (!place) {
		ks_rbac_object_unref(made);
		return -1;
	}
	if (*place != made) {
		struct rbac_object *old = *place;

		*place = made;
		ks_rbac_object_unref(old);
	}
	return 0;
}

struct visit {
	void (*visit)(struct rbac_object *object, void *arg);
	void *arg;
};

static void visit_node(const void *node, VISIT which, void *closure)
{
	const struct visit *v = closure;

	if (which == postorder || which == leaf)
		v->visit(*(struct rbac_object *const *)node, v->arg);
}

void ks_rbac_objects_each(const struct rbac_objects *objects, enum rbac_kind kind, void (*visit)(struct rbac_object *object, void *arg), void *arg)
{
	struct visit v = {visit, arg};

	twalk_r(objects->trees[kind], visit_node, &v);
}

static void drop(void *object)
{
	ks_rbac_object_unref(object);
}

void ks_rbac_objects_fini(struct rbac_objects *objects)
{
	for (int i = 0; i < RBAC_N_KINDS; i++) {
		tdestroy(objects->trees[i], drop);
		objects->trees[i] = NULL;
	}
}

/* -- aggregation ----------------------------------------------------------------- */

static int meets(const struct rbac_requirement *q, const struct rbac_object *role)
{
	const struct rbac_label *label = NULL;
	int among = 0;

	for (size_t i = 0; i < role->n_labels && !label; i++)
		if (ks_view_eq(role->labels[i].key, q->key))
			label = &role->labels[i];
	for (size_t i = 0; label && i < q->values.n; i++)
		among |= ks_view_eq(q->values.items[i], label->value);
	switch (q->operator) {
	case RBAC_IN:
		return among;
	case RBAC_NOT_IN:
		return !among;
	case RBAC_EXISTS:
		return label != NULL;
	case RBAC_DOES_NOT_EXIST:
		return label == NULL;
	}
	return 0;
}

int ks_rbac_aggregates(const struct rbac_object *aggregate, const struct rbac_object *role)
{
	for (size_t i = 0; i < aggregate->n_selectors; i++) {
		const struct rbac_selector *s = &aggregate->selectors[i];
		size_t met = 0;

		while (met < s->n && meets(&s->requirements[met], role))
			met++;
		if (met == s->n)
			return 1;
	}
	return 0;
}
