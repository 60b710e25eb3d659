/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "authz/rbac/covers.h"

#include <stdlib.h>
#include <string.h>

/* One permission; or, when it is told, one resource with all verbs that are missing. */
struct permission {
	struct ks_view group, resource, name, path; /* path.p set: of a path */
	int has_name;
	struct ks_view *verbs;
	size_t n_verbs, room;
};

struct missing {
	struct ks_pool *pool;
	const struct rbac_rule_list *held;
	struct permission *items;
	size_t n, room;
	int failed;
};

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

/* All resources, this one, or all with this subresource. */
static int covers_resource(const struct rbac_strings *resources, struct ks_view wanted)
{
	const char *slash = wanted.n ? memchr(wanted.p, '/', wanted.n) : NULL;
	size_t sub = slash ? wanted.n - (size_t)(slash - wanted.p) : 0;

	if (holds(resources, wanted))
		return 1;
	for (size_t i = 0; slash && i < resources->n; i++)
		if (resources->items[i].n == sub + 1 && resources->items[i].p[0] == '*' && memcmp(resources->items[i].p + 1, slash, sub) == 0)
			return 1;
	return 0;
}

static int covers_path(const struct rbac_strings *paths, struct ks_view wanted)
{
	for (size_t i = 0; i < paths->n; i++) {
		struct ks_view path = paths->items[i];

		if (is_star(path) || ks_view_eq(path, wanted))
			return 1;
		if (path.n && path.p[path.n - 1] == '*' && wanted.n >= path.n - 1 && memcmp(path.p, wanted.p, path.n - 1) == 0)
			return 1;
	}
	return 0;
}

static int covers_name(const struct rbac_strings *names, const struct permission *p)
{
	if (names->n == 0)
		return 1;
	for (size_t i = 0; p->has_name && i < names->n; i++)
		if (ks_view_eq(names->items[i], p->name))
			return 1;
	return 0;
}

static int covered(const struct rbac_rule_list *held, const struct permission *p, struct ks_view verb)
{
	for (size_t i = 0; i < held->n; i++) {
		const struct rbac_rule *rule = held->items[i];

		if (!holds(&rule->verbs, verb))
			continue;
		if (p->path.p ? covers_path(&rule->paths, p->path) :
				holds(&rule->groups, p->group) && covers_resource(&rule->resources, p->resource) && covers_name(&rule->names, p))
			return 1;
	}
	return 0;
}

/* -- what is missing --------------------------------------------------------------------- */

static int same_target(const struct permission *a, const struct permission *b)
{
	return !a->path.p && !b->path.p && ks_view_eq(a->group, b->group) && ks_view_eq(a->resource, b->resource) && a->has_name == b->has_name &&
		ks_view_eq(a->name, b->name);
}

static struct permission *add_target(struct missing *m, const struct permission *p)
{
	for (size_t i = 0; i < m->n; i++)
		if (same_target(&m->items[i], p))
			return &m->items[i];
	if (m->n == m->room) {
		size_t room = m->room ? m->room * 2 : 16;
		struct permission *grown = ks_pool_alloc(m->pool, room, sizeof(*grown));

		if (!grown) {
			m->failed = 1;
			return NULL;
		}
		if (m->n)
			memcpy(grown, m->items, m->n * sizeof(*grown));
		m->items = grown;
		m->room = room;
	}
	m->items[m->n] = *p;
	return &m->items[m->n++];
}

static void add_missing(struct missing *m, const struct permission *p, struct ks_view verb)
{
	struct permission *target = add_target(m, p);

	if (!target)
		return;
	if (target->n_verbs == target->room) {
		size_t room = target->room ? target->room * 2 : 8;
		struct ks_view *grown = ks_pool_alloc(m->pool, room, sizeof(*grown));

		if (!grown) {
			m->failed = 1;
			return;
		}
		if (target->n_verbs)
			memcpy(grown, target->verbs, target->n_verbs * sizeof(*grown));
		target->verbs = grown;
		target->room = room;
	}
	target->verbs[target->n_verbs++] = verb;
}

static void check_verbs(struct missing *m, const struct rbac_rule *rule, const struct permission *p)
{
	for (size_t v = 0; v < rule->verbs.n && !m->failed; v++)
		if (!covered(m->held, p, rule->verbs.items[v]))
			add_missing(m, p, rule->verbs.items[v]);
}

static void check_resource(struct missing *m, const struct rbac_rule *rule, struct ks_view group, struct ks_view resource)
{
	struct permission p = {.group = group, .resource = resource};

	if (rule->names.n == 0)
		check_verbs(m, rule, &p);
	p.has_name = 1;
	for (size_t n = 0; n < rule->names.n; n++) {
		p.name = rule->names.items[n];
		check_verbs(m, rule, &p);
	}
}

static void check_rule(struct missing *m, const struct rbac_rule *rule)
{
	for (size_t g = 0; g < rule->groups.n; g++)
		for (size_t r = 0; r < rule->resources.n; r++)
			check_resource(m, rule, rule->groups.items[g], rule->resources.items[r]);
	for (size_t u = 0; u < rule->paths.n; u++)
		check_verbs(m, rule, &(struct permission){.path = rule->paths.items[u]});
}

/* -- words ---------------------------------------------------------------------------------- */

static struct ks_view quoted_list(struct ks_pool *pool, const struct ks_view *items, size_t n)
{
	struct ks_view text = ks_pool_printf(pool, "\"%.*s\"", (int)items[0].n, items[0].n ? items[0].p : "");

	for (size_t i = 1; i < n && text.p; i++)
		text = ks_pool_printf(pool, "%s \"%.*s\"", text.p, (int)items[i].n, items[i].n ? items[i].p : "");
	return text;
}

static struct ks_view word(struct ks_pool *pool, const struct permission *p)
{
	struct ks_view verbs = quoted_list(pool, p->verbs, p->n_verbs);

	if (!verbs.p)
		return verbs;
	if (p->path.p)
		return ks_pool_printf(pool, "{NonResourceURLs:[\"%.*s\"], Verbs:[%s]}", (int)p->path.n, p->path.p, verbs.p);
	if (p->has_name)
		return ks_pool_printf(pool, "{APIGroups:[\"%.*s\"], Resources:[\"%.*s\"], ResourceNames:[\"%.*s\"], Verbs:[%s]}", (int)p->group.n,
			p->group.n ? p->group.p : "", (int)p->resource.n, p->resource.p, (int)p->name.n, p->name.p, verbs.p);
	return ks_pool_printf(pool, "{APIGroups:[\"%.*s\"], Resources:[\"%.*s\"], Verbs:[%s]}", (int)p->group.n, p->group.n ? p->group.p : "",
		(int)p->resource.n, p->resource.p, verbs.p);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(((const struct ks_view *)a)->p, ((const struct ks_view *)b)->p);
}

static struct ks_view word_all(const struct missing *m)
{
	struct ks_view *lines = ks_pool_alloc(m->pool, m->n + 1, sizeof(*lines)), text = {"", 0};

	if (!lines)
		return (struct ks_view){0};
	for (size_t i = 0; i < m->n; i++) {
		lines[i] = word(m->pool, &m->items[i]);
		if (!lines[i].p)
			return lines[i];
	}
	qsort(lines, m->n, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < m->n && text.p; i++)
		text = i ? ks_pool_printf(m->pool, "%s\n%s", text.p, lines[i].p) : lines[i];
	return text;
}

struct ks_view ks_rbac_missing(struct ks_pool *pool, const struct rbac_rule_list *held, const struct rbac_rule_list *wanted)
{
	struct missing m = {.pool = pool, .held = held};

	for (size_t i = 0; i < wanted->n; i++)
		check_rule(&m, wanted->items[i]);
	return m.failed ? (struct ks_view){0} : word_all(&m);
}
