/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The roles and bindings that the informers have told of, by namespace and name.
 * The table belongs to the plugin's executor thread; what is in it is immutable and
 * shared by count with the indexes that were built from it.
 */
#ifndef KS_RBAC_OBJECTS_H
#define KS_RBAC_OBJECTS_H

#include <stdatomic.h>

#include "authz/rbac/rules.h"

enum rbac_kind { RBAC_CLUSTER_ROLE, RBAC_ROLE, RBAC_CLUSTER_ROLE_BINDING, RBAC_ROLE_BINDING, RBAC_N_KINDS };

struct rbac_label { struct ks_view key, value; };

/* One requirement of an aggregationRule's selector. */
struct rbac_requirement {
	struct ks_view key;
	enum { RBAC_IN, RBAC_NOT_IN, RBAC_EXISTS, RBAC_DOES_NOT_EXIST } operator;
	struct rbac_strings values;
};

struct rbac_selector {
	struct rbac_requirement *requirements;
	size_t n;
};

struct rbac_subject {
	int is_group;
	struct ks_view name;  /* a service account is its user name */
	struct ks_view reason; /* what an answer says when this subject's binding allowed */
};

/* A role or a binding. */
struct rbac_object {
	_Atomic uint32_t refs;
	struct ks_pool *pool; /* everything below, and this */
	enum rbac_kind kind;
	struct ks_view ns, name;
	struct rbac_label *labels;
	size_t n_labels;
	struct ks_view autoupdate; /* the annotation of that name; p is NULL when there is none */
	int has_annotations;
	/* of roles */
	struct rbac_rule *rules;
	size_t n_rules;
	struct rbac_selector *selectors;
	size_t n_selectors;
	/* of bindings */
	struct rbac_subject *subjects;
	size_t n_subjects;
	int to_cluster_role;
	struct ks_view role;
};

struct rbac_objects {
	const struct ks_value_ops *values;
	void *trees[RBAC_N_KINDS]; /* search.h, of struct rbac_object */
};

/* Takes an object in or over. 0, or -1 when out of memory: the old state stays. */
int ks_rbac_objects_set(struct rbac_objects *objects, enum rbac_kind kind, struct ks_view ns, struct ks_view name, struct ks_val object);
void ks_rbac_objects_delete(struct rbac_objects *objects, enum rbac_kind kind, struct ks_view ns, struct ks_view name);
/* Borrowed from the table; NULL when there is none. */
struct rbac_object *ks_rbac_objects_find(const struct rbac_objects *objects, enum rbac_kind kind, struct ks_view ns, struct ks_view name);
void ks_rbac_objects_each(const struct rbac_objects *objects, enum rbac_kind kind, void (*visit)(struct rbac_object *object, void *arg), void *arg);
void ks_rbac_objects_fini(struct rbac_objects *objects);

struct rbac_object *ks_rbac_object_ref(struct rbac_object *object);
void ks_rbac_object_unref(struct rbac_object *object);
/* Reads an object that stands in no table (a default role). NULL when out of memory. */
struct rbac_object *ks_rbac_object_read(const struct ks_value_ops *values, enum rbac_kind kind, struct ks_view ns, struct ks_view name, struct ks_val object);
/* Orders by bytes, a prefix first. */
int ks_rbac_view_compare(struct ks_view a, struct ks_view b);
/* Does any of the selectors of `aggregate` match the labels of `role`? */
int ks_rbac_aggregates(const struct rbac_object *aggregate, const struct rbac_object *role);

#endif
