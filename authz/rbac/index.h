/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is granted what: every subject of every binding, by scope and name, with the roles
 * that it gets. Built whole from the objects, then immutable: any thread may ask it.
 */
#ifndef KS_RBAC_INDEX_H
#define KS_RBAC_INDEX_H

#include "authz/rbac/objects.h"

struct rbac_index;

struct rbac_grant {
	struct rbac_grant *next; /* in the bucket */
	struct ks_view scope;    /* namespace; empty: everywhere */
	const struct rbac_subject *subject;
	const struct rbac_object *binding;
	/* The role's own rules and those aggregated into it; n_roles 0: the role doesn't exist. */
	const struct rbac_object *const *roles;
	size_t n_roles;
};

/* NULL when out of memory. */
struct rbac_index *ks_rbac_index_build(const struct rbac_objects *objects);
/* NULL is safe. */
void ks_rbac_index_free(struct rbac_index *index);
/* Calls `visit` for each grant to the user or one of their groups, everywhere and in the namespace (when not empty), until it returns nonzero. */
int ks_rbac_index_visit(const struct rbac_index *index, const struct ks_user *user, struct ks_view namespace_,
	int (*visit)(const struct rbac_grant *grant, void *arg), void *arg);
/* The role that a binding in `ns` refers to, with what is aggregated into it. 1 found, 0 there is none. */
int ks_rbac_index_role(const struct rbac_index *index, int cluster, struct ks_view ns, struct ks_view name,
	const struct rbac_object *const **roles_r, size_t *n_r);

#endif
