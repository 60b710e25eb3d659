/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "authz/rbac/rules.h"

#include <string.h>

int ks_rbac_strings_read(struct ks_pool *pool, const struct ks_value_ops *values, struct ks_val list, struct rbac_strings *out)
{
	size_t n = values->length(list);

	*out = (struct rbac_strings){.items = ks_pool_alloc(pool, n, sizeof(*out->items)), .n = n};
	if (!out->items)
		return -1;
	for (size_t i = 0; i < n; i++) {
		out->items[i] = ks_pool_view(pool, values->string(values->item(list, i)));
		if (!out->items[i].p)
			return -1;
	}
	return 0;
}

static int read_rule(struct ks_pool *pool, const struct ks_value_ops *values, struct ks_val object, struct rbac_rule *rule)
{
	const struct { const char *name; struct rbac_strings *to; } lists[] = {
		{"verbs", &rule->verbs},
		{"apiGroups", &rule->groups},
		{"resources", &rule->resources},
		{"resourceNames", &rule->names},
		{"nonResourceURLs", &rule->paths},
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (ks_rbac_strings_read(pool, values, values->member(object, ks_view_lit(lists[i].name)), lists[i].to) < 0)
			return -1;
	return 0;
}

int ks_rbac_rules_read(struct ks_pool *pool, const struct ks_value_ops *values, struct ks_val list, struct rbac_rule **rules_r, size_t *n_r)
{
	size_t n = values->length(list);

	*rules_r = ks_pool_alloc(pool, n, sizeof(**rules_r));
	if (!*rules_r)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (read_rule(pool, values, values->item(list, i), &(*rules_r)[i]) < 0)
			return -1;
	*n_r = n;
	return 0;
}

/* -- matching ------------------------------------------------------------------ */

static int is_star(struct ks_view v)
{
	return v.n == 1 && v.p[0] == '*';
}

static int holds(const struct rbac_strings *strings, struct ks_view wanted)
{
	for (size_t i = 0; i < strings->n; i++)
		if (is_star(strings->items[i]) || ks_view_eq(strings->items[i], wanted))
			return 1;
	return 0;
}

/* "pods/status" against resource and subresource, without joining them. */
static int is_combined(struct ks_view rule, struct ks_view resource, struct ks_view sub)
{
	if (sub.n == 0)
		return ks_view_eq(rule, resource);
	return rule.n == resource.n + 1 + sub.n && memcmp(rule.p, resource.p, resource.n) == 0 && rule.p[resource.n] == '/' &&
		memcmp(rule.p + resource.n + 1, sub.p, sub.n) == 0;
}

static int resource_matches(const struct rbac_strings *resources, struct ks_view resource, struct ks_view sub)
{
	for (size_t i = 0; i < resources->n; i++) {
		struct ks_view rule = resources->items[i];

		if (is_star(rule) || is_combined(rule, resource, sub))
			return 1;
		if (sub.n && rule.n == sub.n + 2 && memcmp(rule.p, "*/", 2) == 0 && memcmp(rule.p + 2, sub.p, sub.n) == 0)
			return 1;
	}
	return 0;
}

static int name_matches(const struct rbac_strings *names, struct ks_view name)
{
	for (size_t i = 0; i < names->n; i++)
		if (ks_view_eq(names->items[i], name))
			return 1;
	return names->n == 0;
}

static int path_matches(const struct rbac_strings *paths, struct ks_view path)
{
	for (size_t i = 0; i < paths->n; i++) {
		struct ks_view rule = paths->items[i];

		if (is_star(rule) || ks_view_eq(rule, path))
			return 1;
		if (rule.n && rule.p[rule.n - 1] == '*' && path.n >= rule.n - 1 && memcmp(rule.p, path.p, rule.n - 1) == 0)
			return 1;
	}
	return 0;
}

int ks_rbac_rule_allows(const struct rbac_rule *rule, const struct ks_authz_attributes *a)
{
	if (!holds(&rule->verbs, a->verb))
		return 0;
	if (!a->is_resource)
		return path_matches(&rule->paths, a->path);
	return holds(&rule->groups, a->group) && resource_matches(&rule->resources, a->resource, a->subresource) &&
		name_matches(&rule->names, a->name);
}
