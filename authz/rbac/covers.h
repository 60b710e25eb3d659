/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Do the rules that somebody has cover the rules that he would give? Rules are taken apart into single
 * permissions first, as k8s.io/component-helpers/auth/rbac/validation does it.
 */
#ifndef KS_RBAC_COVERS_H
#define KS_RBAC_COVERS_H

#include "authz/rbac/rules.h"

struct rbac_rule_list {
	const struct rbac_rule **items;
	size_t n;
};

/* What of `wanted` is not covered, one line for each resource (its verbs together) or path, sorted, in kube-apiserver's
 * words; an empty view when all is covered. p is NULL when out of memory. */
struct ks_view ks_rbac_missing(struct ks_pool *pool, const struct rbac_rule_list *held, const struct rbac_rule_list *wanted);

#endif
