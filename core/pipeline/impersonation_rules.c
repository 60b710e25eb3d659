/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Who may be whom: the ways of impersonation as questions to the authorizers. */
#include <errno.h>
#include <stdlib.h>

#include "core/api/name.h"
#include "core/api/quote.h"
#include "core/pipeline/impersonation.h"
#include "plugins/host/host.h"

#define NODE_PREFIX "system:node:"
#define ACCOUNT_PREFIX "system:serviceaccount:"
#define MASTERS "system:masters"
#define ANONYMOUS "system:anonymous"
#define AUTHENTICATED "system:authenticated"
#define UNAUTHENTICATED "system:unauthenticated"
#define AUTHENTICATION_GROUP "authentication.k8s.io"

static const char *const way_names[] = {"associated-node", "arbitrary-node", "serviceaccount", "user-info"};

static bool is_node(struct ks_str user, struct ks_str *name_r)
{
	struct ks_str prefix = KS_STR_LIT(NODE_PREFIX);

	if (!ks_str_starts(user, prefix))
		return false;
	*name_r = ks_str_of(user.p + prefix.n, user.n - prefix.n);
	return ks_name_check(KS_NAME_DNS1123_SUBDOMAIN, *name_r, NULL);
}

static bool is_account(struct ks_str user, struct ks_str *ns_r, struct ks_str *name_r)
{
	struct ks_str prefix = KS_STR_LIT(ACCOUNT_PREFIX), rest;
	const char *colon;

	if (!ks_str_starts(user, prefix))
		return false;
	rest = ks_str_of(user.p + prefix.n, user.n - prefix.n);
	colon = rest.n ? memchr(rest.p, ':', rest.n) : NULL;
	if (!colon)
		return false;
	*ns_r = ks_str_of(rest.p, (size_t)(colon - rest.p));
	*name_r = ks_str_of(colon + 1, rest.n - ns_r->n - 1);
	return ks_name_check(KS_NAME_DNS1123_LABEL, *ns_r, NULL) && ks_name_check(KS_NAME_DNS1123_SUBDOMAIN, *name_r, NULL);
}

static bool only_name(const struct ks_user_info *wanted)
{
	return wanted->uid.n == 0 && wanted->n_groups == 0 && wanted->n_extra == 0;
}

/* Is the requestor a service account whose token is bound to that node? */
static bool is_on_node(const struct ks_user_info *requestor, struct ks_str node)
{
	struct ks_str ns, name;

	if (!is_account(requestor->name, &ns, &name))
		return false;
	for (size_t i = 0; i < requestor->n_extra; i++)
		if (ks_str_is(requestor->extra[i].key, "authentication.kubernetes.io/node-name"))
			return requestor->extra[i].n_values == 1 && ks_str_eq(requestor->extra[i].values[0], node);
	return false;
}

bool ks_impersonation_applies(enum ks_impersonation_way way, const struct ks_user_info *requestor, const struct ks_user_info *wanted)
{
	struct ks_str name, ns;
	bool node = is_node(wanted->name, &name);

	switch (way) {
	case KS_AS_ASSOCIATED_NODE:
		return only_name(wanted) && node && is_on_node(requestor, name);
	case KS_AS_ARBITRARY_NODE:
		return only_name(wanted) && node;
	case KS_AS_SERVICE_ACCOUNT:
		return only_name(wanted) && is_account(wanted->name, &ns, &name);
	case KS_AS_USER_INFO:
		return !node && !is_account(wanted->name, &ns, &name);
	default:
		return true;
	}
}

/* -- questions ------------------------------------------------------------------------------------------------- */

static struct ks_view literal(const char *text)
{
	return ks_view_of(ks_str_from(text));
}

/* The attributes of "may they impersonate this". */
static void turn_to(struct ks_authz_attributes *a, const char *group, const char *resource, struct ks_str name, struct ks_view verb)
{
	*a = (struct ks_authz_attributes){.size = sizeof(*a),
		.user = a->user,
		.verb = verb,
		.is_resource = 1,
		.group = literal(group),
		.version = literal("v1"),
		.resource = literal(resource),
		.name = ks_view_of(name)};
}

static void ask_name(
	enum ks_impersonation_way way, const struct ks_user_info *wanted, const char *group, struct ks_view verb, struct ks_authz_attributes *a)
{
	struct ks_str ns, name;

	turn_to(a, group, "users", wanted->name, verb);
	if (way != KS_AS_LEGACY && is_node(wanted->name, &name)) {
		a->resource = literal("nodes");
		a->name = ks_view_of(way == KS_AS_ASSOCIATED_NODE ? KS_STR_LIT("*") : name);
	} else if (is_account(wanted->name, &ns, &name)) {
		a->resource = literal("serviceaccounts");
		a->namespace_ = ks_view_of(ns);
		a->name = ks_view_of(name);
	}
}

/* Groups that the limited ways never give. */
static const char *fault_of_groups(const struct ks_user_info *wanted, struct ks_authz_attributes *a)
{
	for (size_t i = 0; i < wanted->n_groups; i++)
		if (wanted->groups[i].n == 0)
			return "impersonating the empty string group is not allowed";
	for (size_t i = 0; i < wanted->n_groups; i++)
		if (ks_str_is(wanted->groups[i], MASTERS)) {
			a->name = literal(MASTERS);
			return "impersonating the system:masters group is not allowed";
		}
	return NULL;
}

/* A domain, a slash and a path. */
static bool is_domain_prefixed(struct ks_str key)
{
	const char *slash = memchr(key.p, '/', key.n);

	if (!slash || slash + 1 == key.p + key.n)
		return false;
	return ks_name_check(KS_NAME_DNS1123_SUBDOMAIN, ks_str_of(key.p, (size_t)(slash - key.p)), NULL);
}

static const char *fault_of_extra(struct ks_arena *arena, const struct ks_user_info *wanted)
{
	for (size_t i = 0; i < wanted->n_extra; i++) {
		const struct ks_user_extra *extra = &wanted->extra[i];
		const char *quoted;

		if (extra->key.n == 0)
			return "impersonating the empty string key in extra is not allowed";
		quoted = ks_quote(arena, extra->key);
		if (!is_domain_prefixed(extra->key))
			return ks_arena_printf(arena,
				"impersonating an invalid key in extra is not allowed: extra.key: Invalid value: %s: must be a domain-prefixed path "
				"(such as \"acme.io/foo\")",
				quoted ? quoted : "");
		for (size_t k = 0; k < extra->n_values; k++)
			if (extra->values[k].n == 0)
				return "impersonating the empty string value in extra is not allowed";
	}
	return NULL;
}

/* The extra value number `index`, counted through all keys. */
static bool find_extra(const struct ks_user_info *wanted, size_t index, struct ks_str *key, struct ks_str *value)
{
	for (size_t i = 0; i < wanted->n_extra; i++) {
		if (index < wanted->extra[i].n_values) {
			*key = wanted->extra[i].key;
			*value = wanted->extra[i].values[index];
			return true;
		}
		index -= wanted->extra[i].n_values;
	}
	return false;
}

/* `index` counts the uid (if there is one), the groups, the extra values. */
static int ask_rest(struct ks_arena *arena, enum ks_impersonation_way way, const struct ks_user_info *wanted, size_t index, const char *group,
	struct ks_view verb, struct ks_authz_attributes *a, const char **reason_r)
{
	size_t uids = wanted->uid.n > 0;
	struct ks_str key, value;

	if (index < uids) {
		turn_to(a, AUTHENTICATION_GROUP, "uids", wanted->uid, verb);
		return 1;
	}
	index -= uids;
	if (index < wanted->n_groups) {
		turn_to(a, group, "groups", (struct ks_str){0}, verb);
		*reason_r = way != KS_AS_LEGACY && index == 0 ? fault_of_groups(wanted, a) : NULL;
		if (*reason_r)
			return -1;
		a->name = ks_view_of(wanted->groups[index]);
		return 1;
	}
	index -= wanted->n_groups;
	if (!find_extra(wanted, index, &key, &value))
		return 0;
	turn_to(a, AUTHENTICATION_GROUP, "userextras", (struct ks_str){0}, verb);
	*reason_r = way != KS_AS_LEGACY && index == 0 ? fault_of_extra(arena, wanted) : NULL;
	if (*reason_r)
		return -1;
	a->subresource = ks_view_of(key);
	a->name = ks_view_of(value);
	return 1;
}

int ks_impersonation_question(struct ks_arena *arena, enum ks_impersonation_way way, const struct ks_user_info *wanted, size_t index,
	struct ks_authz_attributes *attributes, const char **reason_r)
{
	const char *group = way == KS_AS_LEGACY ? "" : AUTHENTICATION_GROUP;
	char *verb;

	*reason_r = "";
	if (way == KS_AS_LEGACY) {
		verb = ks_arena_dup(arena, "impersonate", 11);
	} else if (index == 0) {
		verb = ks_arena_printf(arena, "impersonate-on:%s:%.*s", way_names[way], (int)attributes->verb.n, attributes->verb.p);
		attributes->verb = literal(verb);
		return verb ? 1 : -ENOMEM;
	} else {
		verb = ks_arena_printf(arena, "impersonate:%s", way_names[way]);
		index--;
	}
	if (!verb)
		return -ENOMEM;
	if (index == 0) {
		ask_name(way, wanted, group, literal(verb), attributes);
		return 1;
	}
	return ask_rest(arena, way, wanted, index - 1, group, literal(verb), attributes, reason_r);
}

/* -- users ----------------------------------------------------------------------------------------------------- */

static bool has_group(const struct ks_user_info *user, const char *group)
{
	for (size_t i = 0; i < user->n_groups; i++)
		if (ks_str_is(user->groups[i], group))
			return true;
	return false;
}

static void add_group(struct ks_user_info *user, struct ks_str group)
{
	user->groups[user->n_groups++] = group;
}

bool ks_impersonation_user(struct ks_arena *arena, enum ks_impersonation_way way, const struct ks_user_info *wanted, struct ks_user_info *user_r)
{
	struct ks_str ns, name;
	char *accounts;

	*user_r = *wanted;
	user_r->groups = ks_arena_zalloc(arena, wanted->n_groups + 3, sizeof(*user_r->groups));
	if (!user_r->groups)
		return false;
	for (size_t i = 0; i < wanted->n_groups; i++)
		user_r->groups[i] = wanted->groups[i];
	if (way == KS_AS_ASSOCIATED_NODE || way == KS_AS_ARBITRARY_NODE)
		add_group(user_r, KS_STR_LIT("system:nodes"));
	if (is_account(wanted->name, &ns, &name) && wanted->n_groups == 0) {
		accounts = ks_arena_printf(arena, "system:serviceaccounts:%.*s", (int)ns.n, ns.p);
		if (!accounts)
			return false;
		add_group(user_r, KS_STR_LIT("system:serviceaccounts"));
		add_group(user_r, ks_str_from(accounts));
	}
	if (ks_str_is(wanted->name, ANONYMOUS)) {
		if (!has_group(user_r, UNAUTHENTICATED))
			add_group(user_r, KS_STR_LIT(UNAUTHENTICATED));
	} else if (!has_group(user_r, UNAUTHENTICATED) && !has_group(user_r, AUTHENTICATED)) {
		add_group(user_r, KS_STR_LIT(AUTHENTICATED));
	}
	return true;
}

static int by_text(const void *a, const void *b)
{
	return ks_str_cmp(*(const struct ks_str *)a, *(const struct ks_str *)b);
}

bool ks_impersonation_requestor(struct ks_arena *arena, const struct ks_user_info *user, struct ks_user_info *out_r)
{
	struct ks_str *keys = ks_arena_zalloc(arena, user->n_extra + 1, sizeof(*keys));

	*out_r = *user;
	out_r->extra = ks_arena_zalloc(arena, 1, sizeof(*out_r->extra));
	out_r->n_extra = 1;
	if (!keys || !out_r->extra)
		return false;
	for (size_t i = 0; i < user->n_extra; i++)
		keys[i] = user->extra[i].key;
	if (user->n_extra > 1)
		qsort(keys, user->n_extra, sizeof(*keys), by_text);
	*out_r->extra = (struct ks_user_extra){KS_STR_LIT("authentication.kubernetes.io/associated-node-keys"), keys, user->n_extra};
	return true;
}
