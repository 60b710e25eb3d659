/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "authz/rbac/index.h"

#include <stdlib.h>

/* A cluster role with aggregationRule and what it amounts to. */
struct aggregate {
	struct rbac_object *role;
	const struct rbac_object **roles;
	size_t n;
};

struct rbac_index {
	struct ks_pool *pool;
	struct rbac_grant **buckets;
	size_t n_buckets; /* a power of two */
	struct rbac_object **held; /* what grants point to, by kind, namespace and name */
	size_t n_held;
	struct aggregate *aggregates;
	size_t n_aggregates;
};

struct builder {
	const struct rbac_objects *objects;
	struct rbac_index *index;
	size_t n_cluster_roles, n_subjects, n_objects;
	/* of the closure under way */
	struct aggregate *current;
	const struct rbac_object *selecting;
	int failed;
};

static uint64_t mix(uint64_t hash, struct ks_view v)
{
	for (size_t i = 0; i < v.n; i++)
		hash = (hash ^ (unsigned char)v.p[i]) * 0x100000001b3u; /* FNV-1a */
	return (hash ^ 0xff) * 0x100000001b3u;
}

static size_t bucket_of(const struct rbac_index *index, struct ks_view scope, int is_group, struct ks_view name)
{
	uint64_t hash = mix(mix(0xcbf29ce484222325u + (uint64_t)is_group, scope), name);

	return (hash ^ hash >> 32) & (index->n_buckets - 1);
}

/* -- aggregation ------------------------------------------------------------------- */

static void add_role(struct aggregate *a, const struct rbac_object *role)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->roles[i] == role)
			return;
	a->roles[a->n++] = role;
}

static void select_role(struct rbac_object *role, void *arg)
{
	struct builder *b = arg;

	if (ks_rbac_aggregates(b->selecting, role))
		add_role(b->current, role);
}

/* Roles that are selected may themselves select: the list is its own work list, and has room for every cluster role. */
static void close_aggregate(struct builder *b, struct aggregate *a)
{
	a->roles = ks_pool_alloc(b->index->pool, b->n_cluster_roles, sizeof(*a->roles));
	if (!a->roles) {
		b->failed = 1;
		return;
	}
	b->current = a;
	add_role(a, a->role);
	for (size_t i = 0; i < a->n; i++) {
		b->selecting = a->roles[i];
		if (b->selecting->n_selectors)
			ks_rbac_objects_each(b->objects, RBAC_CLUSTER_ROLE, select_role, b);
	}
}

static void note_aggregate(struct rbac_object *role, void *arg)
{
	struct builder *b = arg;

	if (role->n_selectors)
		b->index->aggregates[b->index->n_aggregates++].role = role;
}

static void build_aggregates(struct builder *b)
{
	b->index->aggregates = ks_pool_alloc(b->index->pool, b->n_cluster_roles, sizeof(*b->index->aggregates));
	if (!b->index->aggregates) {
		b->failed = 1;
		return;
	}
	ks_rbac_objects_each(b->objects, RBAC_CLUSTER_ROLE, note_aggregate, b);
	for (size_t i = 0; i < b->index->n_aggregates; i++)
		close_aggregate(b, &b->index->aggregates[i]);
}

/* -- grants ------------------------------------------------------------------------ */

static void resolve_role(struct builder *b, const struct rbac_object *binding, struct rbac_grant *grant)
{
	struct rbac_object *role = binding->to_cluster_role ?
		ks_rbac_objects_find(b->objects, RBAC_CLUSTER_ROLE, (struct ks_view){0}, binding->role) :
		ks_rbac_objects_find(b->objects, RBAC_ROLE, binding->ns, binding->role);
	const struct rbac_object **one;

	if (!role)
		return;
	for (size_t i = 0; i < b->index->n_aggregates; i++)
		if (b->index->aggregates[i].role == role) {
			grant->roles = b->index->aggregates[i].roles;
			grant->n_roles = b->index->aggregates[i].n;
			return;
		}
	one = ks_pool_alloc(b->index->pool, 1, sizeof(const struct rbac_object *));
	if (!one) {
		b->failed = 1;
		return;
	}
	*one = role;
	grant->roles = one;
	grant->n_roles = 1;
}

static void add_grants(struct rbac_object *binding, void *arg)
{
	struct builder *b = arg;
	struct rbac_grant of_role = {.scope = binding->ns, .binding = binding};

	resolve_role(b, binding, &of_role);
	for (size_t i = 0; i < binding->n_subjects && !b->failed; i++) {
		struct rbac_grant *grant = ks_pool_alloc(b->index->pool, 1, sizeof(*grant));
		const struct rbac_subject *subject = &binding->subjects[i];
		struct rbac_grant **bucket;

		if (!grant) {
			b->failed = 1;
			return;
		}
		bucket = &b->index->buckets[bucket_of(b->index, binding->ns, subject->is_group, subject->name)];
		*grant = of_role;
		grant->subject = subject;
		grant->next = *bucket;
		*bucket = grant;
	}
}

static void count_object(struct rbac_object *object, void *arg)
{
	struct builder *b = arg;

	b->n_objects++;
	b->n_cluster_roles += object->kind == RBAC_CLUSTER_ROLE;
	b->n_subjects += object->n_subjects;
}

static void hold_object(struct rbac_object *object, void *arg)
{
	struct builder *b = arg;

	b->index->held[b->index->n_held++] = ks_rbac_object_ref(object);
}

static void for_all(struct builder *b, void (*visit)(struct rbac_object *object, void *arg))
{
	for (enum rbac_kind kind = 0; kind < RBAC_N_KINDS; kind++)
		ks_rbac_objects_each(b->objects, kind, visit, b);
}

static int allocate(struct builder *b)
{
	struct rbac_index *index = b->index;

	index->n_buckets = 16;
	while (index->n_buckets < b->n_subjects * 2)
		index->n_buckets *= 2;
	index->buckets = ks_pool_alloc(index->pool, index->n_buckets, sizeof(struct rbac_grant *));
	index->held = ks_pool_alloc(index->pool, b->n_objects, sizeof(struct rbac_object *));
	return index->buckets && index->held ? 0 : -1;
}

struct rbac_index *ks_rbac_index_build(const struct rbac_objects *objects)
{
	struct builder b = {.objects = objects, .index = calloc(1, sizeof(*b.index))};

	if (!b.index)
		return NULL;
	b.index->pool = ks_pool_new();
	for_all(&b, count_object);
	if (!b.index->pool || allocate(&b) < 0) {
		ks_rbac_index_free(b.index);
		return NULL;
	}
	for_all(&b, hold_object);
	build_aggregates(&b);
	if (!b.failed) {
		ks_rbac_objects_each(objects, RBAC_CLUSTER_ROLE_BINDING, add_grants, &b);
		ks_rbac_objects_each(objects, RBAC_ROLE_BINDING, add_grants, &b);
	}
	if (b.failed) {
		ks_rbac_index_free(b.index);
		return NULL;
	}
	return b.index;
}

void ks_rbac_index_free(struct rbac_index *index)
{
	if (!index)
		return;
	for (size_t i = 0; i < index->n_held; i++)
		ks_rbac_object_unref(index->held[i]);
	ks_pool_free(index->pool);
	free(index);
}

static int visit_subject(const struct rbac_index *index, struct ks_view scope, int is_group, struct ks_view name,
	int (*visit)(const struct rbac_grant *grant, void *arg), void *arg)
{
	const struct rbac_grant *grant = index->buckets[bucket_of(index, scope, is_group, name)];
	int result = 0;

	for (; grant && !result; grant = grant->next)
		if (grant->subject->is_group == is_group && ks_view_eq(grant->subject->name, name) && ks_view_eq(grant->scope, scope))
			result = visit(grant, arg);
	return result;
}

int ks_rbac_index_visit(const struct rbac_index *index, const struct ks_user *user, struct ks_view namespace_,
	int (*visit)(const struct rbac_grant *grant, void *arg), void *arg)
{
	const struct ks_view scopes[] = {{0}, namespace_};
	size_t n_scopes = namespace_.n ? 2 : 1;
	int result = 0;

	for (size_t s = 0; s < n_scopes && !result; s++) {
		result = visit_subject(index, scopes[s], 0, user->name, visit, arg);
		for (size_t g = 0; g < user->n_groups && !result; g++)
			result = visit_subject(index, scopes[s], 1, user->groups[g], visit, arg);
	}
	return result;
}

/* Objects are held in the order of their table: kinds, then namespaces, then names. */
static int compare_place(const struct rbac_object *a, enum rbac_kind kind, struct ks_view ns, struct ks_view name)
{
	int c = a->kind == kind ? ks_rbac_view_compare(a->ns, ns) : (int)a->kind - (int)kind;

	return c ? c : ks_rbac_view_compare(a->name, name);
}

int ks_rbac_index_role(const struct rbac_index *index, int cluster, struct ks_view ns, struct ks_view name,
	const struct rbac_object *const **roles_r, size_t *n_r)
{
	enum rbac_kind kind = cluster ? RBAC_CLUSTER_ROLE : RBAC_ROLE;
	size_t low = 0, high = index->n_held;

	if (cluster)
		ns = (struct ks_view){0};
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_place(index->held[middle], kind, ns, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == index->n_held || compare_place(index->held[low], kind, ns, name) != 0)
		return 0;
	*roles_r = (const struct rbac_object *const *)&index->held[low];
	*n_r = 1;
	for (size_t i = 0; i < index->n_aggregates; i++)
		if (index->aggregates[i].role == index->held[low]) {
			*roles_r = index->aggregates[i].roles;
			*n_r = index->aggregates[i].n;
		}
	return 1;
}
