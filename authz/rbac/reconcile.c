/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "authz/rbac/reconcile.h"

#include <string.h>

#include "authz/rbac/covers.h"

#define AUTOUPDATE "rbac.authorization.kubernetes.io/autoupdate"
#define ESCAPED_AUTOUPDATE "rbac.authorization.kubernetes.io~1autoupdate"

/* A JSON patch that grows. */
struct patch {
	struct ks_pool *pool;
	struct ks_view text; /* without brackets */
	int failed;
};

/* `rest`: the operation behind "op". */
static void add(struct patch *p, struct ks_view rest)
{
	if (!rest.p || p->failed) {
		p->failed = 1;
		return;
	}
	p->text = ks_pool_printf(
		p->pool, "%.*s%s{\"op\":\"add\",%.*s}", (int)p->text.n, p->text.n ? p->text.p : "", p->text.n ? "," : "", (int)rest.n, rest.p);
	p->failed = !p->text.p;
}

/* An item for a list; the first one makes the list. */
static void add_item(struct patch *p, const char *path, int *there, const char *json)
{
	if (*there)
		add(p, ks_pool_printf(p->pool, "\"path\":\"%s/-\",\"value\":%s", path, json));
	else
		add(p, ks_pool_printf(p->pool, "\"path\":\"%s\",\"value\":[%s]", path, json));
	*there = 1;
}

/* -- rules ------------------------------------------------------------------------------------------------------- */

static int split(struct ks_pool *pool, const char *list, struct rbac_strings *out)
{
	size_t n = list ? 1 : 0;

	for (const char *p = list; p && (p = strchr(p, ',')); p++)
		n++;
	out->items = ks_pool_alloc(pool, n + 1, sizeof(*out->items));
	if (!out->items)
		return -1;
	for (out->n = 0; out->n < n; out->n++) {
		size_t len = strcspn(list, ",");

		out->items[out->n] = (struct ks_view){list, len};
		list += len + 1;
	}
	return 0;
}

static int read_rule(struct ks_pool *pool, const struct rbac_default_rule *from, struct rbac_rule *out)
{
	return split(pool, from->verbs, &out->verbs) || split(pool, from->groups, &out->groups) || split(pool, from->resources, &out->resources) ||
		split(pool, from->names, &out->names) || split(pool, from->paths, &out->paths);
}

static void add_rules(struct patch *p, const struct rbac_default *wanted, const struct rbac_object *there)
{
	struct rbac_rule_list held = {.items = ks_pool_alloc(p->pool, there->n_rules + 1, sizeof(*held.items)), .n = there->n_rules};
	int any = there->n_rules > 0;

	if (!held.items) {
		p->failed = 1;
		return;
	}
	for (size_t i = 0; i < there->n_rules; i++)
		held.items[i] = &there->rules[i];
	for (size_t i = 0; i < wanted->n_rules && !p->failed; i++) {
		struct rbac_rule rule;
		const struct rbac_rule *one = &rule;
		struct ks_view missing;

		p->failed = read_rule(p->pool, &wanted->rules[i], &rule);
		if (p->failed)
			return;
		missing = ks_rbac_missing(p->pool, &held, &(struct rbac_rule_list){.items = &one, .n = 1});
		p->failed = !missing.p;
		if (missing.n)
			add_item(p, "/rules", &any, wanted->rules[i].json);
	}
}

static int takes_in(const struct rbac_object *role, const char *label)
{
	for (size_t i = 0; i < role->n_selectors; i++) {
		const struct rbac_selector *s = &role->selectors[i];

		if (s->n == 1 && ks_view_is(s->requirements[0].key, label) &&
			s->requirements[0].operator== RBAC_IN && s->requirements[0].values.n == 1 &&
			ks_view_is(s->requirements[0].values.items[0], "true"))
			return 1;
	}
	return 0;
}

static void add_selector(struct patch *p, const struct rbac_default *wanted, const struct rbac_object *there)
{
	if (takes_in(there, wanted->aggregated))
		return;
	if (there->n_selectors)
		add(p,
			ks_pool_printf(p->pool, "\"path\":\"/aggregationRule/clusterRoleSelectors/-\",\"value\":{\"matchLabels\":{\"%s\":\"true\"}}",
				wanted->aggregated));
	else
		add(p,
			ks_pool_printf(p->pool,
				"\"path\":\"/aggregationRule\",\"value\":{\"clusterRoleSelectors\":[{\"matchLabels\":{\"%s\":\"true\"}}]}",
				wanted->aggregated));
}

/* -- subjects ---------------------------------------------------------------------------------------------------- */

static int has_subject(const struct rbac_object *binding, const struct rbac_default_subject *subject)
{
	for (size_t i = 0; i < binding->n_subjects; i++)
		if (binding->subjects[i].is_group == subject->is_group && ks_view_is(binding->subjects[i].name, subject->name))
			return 1;
	return 0;
}

static void add_subjects(struct patch *p, const struct rbac_default *wanted, const struct rbac_object *there)
{
	int any = there->n_subjects > 0;

	for (size_t i = 0; i < wanted->n_subjects; i++)
		if (!has_subject(there, &wanted->subjects[i]))
			add_item(p, "/subjects", &any, wanted->subjects[i].json);
}

/* -- metadata ---------------------------------------------------------------------------------------------------- */

static int has_label(const struct rbac_object *object, struct ks_view key)
{
	for (size_t i = 0; i < object->n_labels; i++)
		if (ks_view_eq(object->labels[i].key, key))
			return 1;
	return 0;
}

/* "/" in a key is "~1" in a pointer; a key has one at most. */
static void add_label(struct patch *p, struct ks_view key, struct ks_view value)
{
	const char *slash = memchr(key.p, '/', key.n);
	size_t n = slash ? (size_t)(slash - key.p) : key.n;

	add(p,
		ks_pool_printf(p->pool, "\"path\":\"/metadata/labels/%.*s%s%.*s\",\"value\":\"%.*s\"", (int)n, key.p, slash ? "~1" : "",
			slash ? (int)(key.n - n - 1) : 0, slash ? slash + 1 : "", (int)value.n, value.p));
}

/* A value that is there stays, whatever it is. */
static void add_labels(struct patch *p, const struct rbac_default *wanted, const struct rbac_object *there)
{
	struct rbac_strings labels;
	int any = there->n_labels > 0;

	p->failed = p->failed || split(p->pool, wanted->labels, &labels);
	for (size_t i = 0; !p->failed && i < labels.n; i++) {
		const char *equals = memchr(labels.items[i].p, '=', labels.items[i].n);
		struct ks_view key, value;

		if (!equals)
			continue;
		key = (struct ks_view){labels.items[i].p, (size_t)(equals - labels.items[i].p)};
		value = (struct ks_view){equals + 1, labels.items[i].n - key.n - 1};
		if (has_label(there, key))
			continue;
		if (!any)
			add(p, (struct ks_view)ks_view_lit("\"path\":\"/metadata/labels\",\"value\":{}"));
		any = 1;
		add_label(p, key, value);
	}
}

static void add_annotation(struct patch *p, const struct rbac_object *there)
{
	if (there->autoupdate.p)
		return;
	if (there->has_annotations)
		add(p, (struct ks_view)ks_view_lit("\"path\":\"/metadata/annotations/" ESCAPED_AUTOUPDATE "\",\"value\":\"true\""));
	else
		add(p, (struct ks_view)ks_view_lit("\"path\":\"/metadata/annotations\",\"value\":{\"" AUTOUPDATE "\":\"true\"}"));
}

enum rbac_reconcile ks_rbac_reconcile(
	struct ks_pool *pool, const struct rbac_default *wanted, const struct rbac_object *there, struct ks_view *patch_r)
{
	struct patch p = {.pool = pool};
	int binds = wanted->kind == RBAC_CLUSTER_ROLE_BINDING || wanted->kind == RBAC_ROLE_BINDING;

	if (ks_view_is(there->autoupdate, "false"))
		return RBAC_LEAVE;
	if (binds && (there->to_cluster_role != wanted->to_cluster_role || !ks_view_is(there->role, wanted->role)))
		return RBAC_MAKE_ANEW;
	add_annotation(&p, there);
	add_labels(&p, wanted, there);
	if (binds)
		add_subjects(&p, wanted, there);
	else if (wanted->aggregated)
		add_selector(&p, wanted, there);
	else
		add_rules(&p, wanted, there);
	if (p.failed)
		return RBAC_NO_MEMORY;
	if (!p.text.n)
		return RBAC_LEAVE;
	*patch_r = ks_pool_printf(pool, "[%.*s]", (int)p.text.n, p.text.p);
	return patch_r->p ? RBAC_MEND : RBAC_NO_MEMORY;
}
