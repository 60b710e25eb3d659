/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The rules of a Role or ClusterRole, read once and matched many times. */
#ifndef KS_RBAC_RULES_H
#define KS_RBAC_RULES_H

#include <keelson/authz.h>
#include <keelson/sdk/pool.h>

struct rbac_strings {
	struct ks_view *items;
	size_t n;
};

/* rbac.authorization.k8s.io/v1 PolicyRule. */
struct rbac_rule {
	struct rbac_strings verbs, groups, resources, names, paths;
};

/* A list of strings, in the pool. 0, or -1 when out of memory. */
int ks_rbac_strings_read(struct ks_pool *pool, const struct ks_value_ops *values, struct ks_val list, struct rbac_strings *out);
/* A list of PolicyRules, in the pool. 0, or -1 when out of memory. */
int ks_rbac_rules_read(struct ks_pool *pool, const struct ks_value_ops *values, struct ks_val list, struct rbac_rule **rules_r, size_t *n_r);

/* Does the rule allow this? As k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac does it. */
int ks_rbac_rule_allows(const struct rbac_rule *rule, const struct ks_authz_attributes *attributes);

#endif
