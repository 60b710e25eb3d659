/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* rbac.authorization.k8s.io */
#include "core/registry/validate/common.h"
#include "core/registry/validate/kinds.h"

#define GROUP "rbac.authorization.k8s.io"

static const char *const only_group[] = {GROUP, NULL};

/* -- roles -------------------------------------------------------------------------------------------------------- */

static void check_rule(struct ks_check *c, const struct ks_path *path, const struct ks_value *rule, bool namespaced)
{
	if (!ks_value_count(KS_IN(c, rule, "verbs")))
		ks_err_required(c, path, "verbs", "verbs must contain at least one value");
	if (ks_value_count(KS_IN(c, rule, "nonResourceURLs"))) {
		if (namespaced)
			ks_err_invalid_slot(c, path, "nonResourceURLs", rule, "nonResourceURLs", "namespaced rules cannot apply to non-resource URLs");
		if (ks_value_count(KS_IN(c, rule, "apiGroups")) || ks_value_count(KS_IN(c, rule, "resources")) ||
			ks_value_count(KS_IN(c, rule, "resourceNames")))
			ks_err_invalid_slot(c, path, "nonResourceURLs", rule, "nonResourceURLs",
				"rules cannot apply to both regular resources and non-resource URLs");
		return;
	}
	if (!ks_value_count(KS_IN(c, rule, "apiGroups")))
		ks_err_required(c, path, "apiGroups", "resource rules must supply at least one api group");
	if (!ks_value_count(KS_IN(c, rule, "resources")))
		ks_err_required(c, path, "resources", "resource rules must supply at least one resource");
}

static void check_rules(struct ks_check *c, const struct ks_value *object, bool namespaced)
{
	const struct ks_value *rules = KS_IN_LIST(c, object, "rules");
	struct ks_path path = ks_path_root("rules");

	for (uint32_t i = 0; i < ks_value_count(rules); i++) {
		struct ks_path item = ks_path_index(&path, i);

		check_rule(c, &item, &rules->items[i], namespaced);
	}
}

void ks_validate_role(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);

	(void)old;
	check_rules(&c, object, true);
}

/* Was the selector faulty before? Its values may stay so. */
static unsigned selector_flags(struct ks_check *c, const struct ks_value *old)
{
	const struct ks_value *list = old ? KS_IN_LIST(c, KS_IN(c, old, "aggregationRule"), "clusterRoleSelectors") : NULL;
	struct ks_path path = ks_path_root("aggregationRule");
	struct ks_status aside = {0};
	struct ks_check quiet = *c;

	quiet.status = &aside;
	for (uint32_t i = 0; i < ks_value_count(list); i++)
		if (!ks_check_label_selector(&quiet, &path, NULL, &list->items[i], 0))
			return KS_SELECTOR_VALUES_FREE;
	return 0;
}

void ks_validate_clusterrole(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	const struct ks_value *aggregation = KS_IN(&c, object, "aggregationRule"), *list = KS_IN_LIST(&c, aggregation, "clusterRoleSelectors");
	struct ks_path path = ks_path_root("aggregationRule.clusterRoleSelectors");
	unsigned flags = selector_flags(&c, old);

	check_rules(&c, object, false);
	if (aggregation && !ks_value_count(list))
		ks_err_required(&c, &path, NULL, "at least one clusterRoleSelector required if aggregationRule is non-nil");
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&path, i);

		if (!ks_check_label_selector(&c, &item, NULL, &list->items[i], flags))
			ks_err_invalid(&c, &item, NULL, NULL, "invalid label selector.");
	}
}

/* -- bindings ----------------------------------------------------------------------------------------------------- */

static void check_subject(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, bool namespaced)
{
	static const char *const kinds[] = {"ServiceAccount", "User", "Group", NULL}, *const no_group[] = {"", NULL};
	struct ks_str name = KS_IN_TEXT(c, v, "name"), kind = KS_IN_TEXT(c, v, "kind"), group = KS_IN_TEXT(c, v, "apiGroup");

	if (!name.n)
		ks_err_required(c, path, "name", "");
	if (ks_str_is(kind, "ServiceAccount")) {
		if (name.n)
			ks_check_name(c, path, "name", KS_NAME_DNS1123_SUBDOMAIN, name);
		if (group.n)
			ks_err_not_supported(c, path, "apiGroup", group, no_group);
		if (!namespaced && !KS_IN_TEXT(c, v, "namespace").n)
			ks_err_required(c, path, "namespace", "");
	} else if (ks_str_is(kind, "User") || ks_str_is(kind, "Group")) {
		ks_check_one_of(c, path, "apiGroup", group, only_group);
	} else {
		ks_err_not_supported(c, path, "kind", kind, kinds);
	}
}

static void check_binding(struct ks_check *c, const struct ks_value *object, const struct ks_value *old, const char *const *kinds, bool namespaced)
{
	struct ks_path path = ks_path_root("roleRef"), at = ks_path_root("subjects");
	const struct ks_value *ref = KS_IN(c, object, "roleRef"), *subjects = KS_IN_LIST(c, object, "subjects");

	ks_check_one_of(c, &path, "apiGroup", KS_IN_TEXT(c, ref, "apiGroup"), only_group);
	ks_check_one_of(c, &path, "kind", KS_IN_TEXT(c, ref, "kind"), kinds);
	ks_check_required_name(c, &path, "name", KS_NAME_PATH_SEGMENT, KS_IN_TEXT(c, ref, "name"));
	for (uint32_t i = 0; i < ks_value_count(subjects); i++) {
		struct ks_path item = ks_path_index(&at, i);

		check_subject(c, &item, &subjects->items[i], namespaced);
	}
	if (old && !ks_value_same(ref, KS_IN(c, old, "roleRef")))
		ks_err_invalid_slot(c, &path, NULL, object, "roleRef", "cannot change roleRef");
}

void ks_validate_rolebinding(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	static const char *const kinds[] = {"Role", "ClusterRole", NULL};
	struct ks_check c = ks_check_begin(ctx, status);

	check_binding(&c, object, old, kinds, true);
}

void ks_validate_clusterrolebinding(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	static const char *const kinds[] = {"ClusterRole", NULL};
	struct ks_check c = ks_check_begin(ctx, status);

	check_binding(&c, object, old, kinds, false);
}
