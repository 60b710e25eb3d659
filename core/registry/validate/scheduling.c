/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Where a pod may run: affinity, tolerations, spreading. */
#include "core/registry/validate/pod.h"

/* -- nodes ---------------------------------------------------------------------------------------------------------- */

static void check_node_requirement(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, bool any_values)
{
	static const char *const listed[] = {"In", "NotIn", NULL}, *const bare[] = {"Exists", "DoesNotExist", NULL}, *const single[] = {"Gt", "Lt", NULL};
	const struct ks_value *values = LIST(v, "values");
	struct ks_str operator= TEXT(v, "operator");
	struct ks_path at = ks_path_child(path, "values");

	if (ks_str_in(operator, listed)) {
		if (!ks_value_count(values))
			ks_err_required(c, path, "values", "must be specified when `operator` is 'In' or 'NotIn'");
	} else if (ks_str_in(operator, bare)) {
		if (ks_value_count(values))
			ks_err_forbidden(c, path, "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
	} else if (ks_str_in(operator, single)) {
		if (ks_value_count(values) != 1)
			ks_err_required(c, path, "values", "must be specified single value when `operator` is 'Lt' or 'Gt'");
	} else {
		ks_err_invalid_text(c, path, "operator", operator, "not a valid selector operator");
	}
	ks_check_name(c, path, "key", KS_NAME_LABEL_KEY, TEXT(v, "key"));
	for (uint32_t i = 0; !any_values && i < ks_value_count(values); i++) {
		struct ks_path item = ks_path_index(&at, i);

		ks_check_name(c, &item, NULL, KS_NAME_LABEL_VALUE, ks_value_str(&values->items[i]));
	}
}

static void check_node_field(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char *const listed[] = {"In", "NotIn", NULL};
	const struct ks_value *values = LIST(v, "values");
	struct ks_path at = ks_path_child(path, "values");

	if (!ks_str_in(TEXT(v, "operator"), listed))
		ks_err_invalid_text(c, path, "operator", TEXT(v, "operator"), "not a valid selector operator");
	else if (ks_value_count(values) != 1)
		ks_err_required(c, path, "values", "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
	if (!ks_str_is(TEXT(v, "key"), "metadata.name")) {
		ks_err_invalid_text(c, path, "key", TEXT(v, "key"), "not a valid field selector key");
		return;
	}
	EACH(i, values) {
		struct ks_path item = ks_path_index(&at, i);

		ks_check_name(c, &item, NULL, KS_NAME_DNS1123_SUBDOMAIN, ks_value_str(&values->items[i]));
	}
}

static void check_node_term(struct ks_check *c, const struct ks_path *path, const struct ks_value *term, bool any_values)
{
	const struct ks_value *expressions = LIST(term, "matchExpressions"), *fields = LIST(term, "matchFields");
	struct ks_path expressions_at = ks_path_child(path, "matchExpressions"), fields_at = ks_path_child(path, "matchFields");

	EACH(i, expressions) {
		struct ks_path item = ks_path_index(&expressions_at, i);

		check_node_requirement(c, &item, &expressions->items[i], any_values);
	}
	EACH(i, fields) {
		struct ks_path item = ks_path_index(&fields_at, i);

		check_node_field(c, &item, &fields->items[i]);
	}
}

static void check_node_selector(struct ks_check *c, const struct ks_path *path, const struct ks_value *selector, bool any_values)
{
	const struct ks_value *terms = LIST(selector, "nodeSelectorTerms");
	struct ks_path at = ks_path_child(path, "nodeSelectorTerms");

	if (!ks_value_count(terms))
		ks_err_required(c, &at, NULL, "must have at least one node selector term");
	EACH(i, terms) {
		struct ks_path item = ks_path_index(&at, i);

		check_node_term(c, &item, &terms->items[i], any_values);
	}
}

static void check_weight(struct ks_check *c, const struct ks_path *path, int64_t weight)
{
	if (weight <= 0 || weight > 100)
		ks_err_invalid_int(c, path, "weight", weight, "must be in the range 1-100");
}

static void check_node_affinity(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *required = IN(v, "requiredDuringSchedulingIgnoredDuringExecution");
	const struct ks_value *preferred = LIST(v, "preferredDuringSchedulingIgnoredDuringExecution");
	struct ks_path required_at = ks_path_child(path, "requiredDuringSchedulingIgnoredDuringExecution");
	struct ks_path preferred_at = ks_path_child(path, "preferredDuringSchedulingIgnoredDuringExecution");

	if (required)
		check_node_selector(c, &required_at, required, ks_pod_of(c)->any_node_values);
	EACH(i, preferred) {
		struct ks_path item = ks_path_index(&preferred_at, i), term = ks_path_child(&item, "preference");

		check_weight(c, &item, INT(&preferred->items[i], "weight"));
		check_node_term(c, &term, IN(&preferred->items[i], "preference"), true);
	}
}

/* -- pods ------------------------------------------------------------------------------------------------------------- */

static void check_label_keys(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *keys, const struct ks_value *selector)
{
	struct ks_path at = ks_path_child(path, name);

	if (!ks_value_count(keys))
		return;
	if (!selector) {
		ks_err_forbidden(c, &at, NULL, "must not be specified when labelSelector is not set");
		return;
	}
	EACH(i, keys) {
		struct ks_path item = ks_path_index(&at, i);

		ks_check_name(c, &item, NULL, KS_NAME_LABEL_KEY, ks_value_str(&keys->items[i]));
	}
}

static void add_texts(struct ks_check *c, struct ks_seen *seen, const struct ks_value *list)
{
	EACH(i, list)
		ks_seen_add(c, seen, ks_value_str(&list->items[i]));
}

/* A key of matchLabelKeys stands once in the selector, where the server put it; twice is once too often. */
static void check_merged_keys(struct ks_check *c, const struct ks_path *path, const struct ks_value *keys, const struct ks_value *selector)
{
	const struct ks_value *labels = MAP(selector, "matchLabels"), *expressions = LIST(selector, "matchExpressions");
	struct ks_seen seen = {.n = 0}, wanted = {.n = 0};

	add_texts(c, &wanted, keys);
	EACH(i, labels)
		ks_seen_add(c, &seen, labels->members[i].key);
	EACH(i, expressions) {
		struct ks_str key = TEXT(&expressions->items[i], "key");
		int64_t at = ks_seen_find(&wanted, key);
		struct ks_path item = ks_path_index(path, (uint32_t)(at < 0 ? 0 : at));

		if (at >= 0 && ks_seen_has(&seen, key))
			ks_err_invalid_text(c, &item, NULL, key, "exists in both matchLabelKeys and labelSelector");
		ks_seen_add(c, &seen, key);
	}
}

static void check_match_keys(struct ks_check *c, const struct ks_path *path, const struct ks_value *term, const struct ks_value *selector)
{
	const struct ks_value *match = LIST(term, "matchLabelKeys"), *mismatch = LIST(term, "mismatchLabelKeys");
	struct ks_path at = ks_path_child(path, "matchLabelKeys");
	struct ks_seen not_wanted = {.n = 0};

	add_texts(c, &not_wanted, mismatch);
	check_label_keys(c, path, "matchLabelKeys", match, selector);
	check_label_keys(c, path, "mismatchLabelKeys", mismatch, selector);
	if (selector && ks_value_count(match))
		check_merged_keys(c, path, match, selector);
	EACH(i, match) {
		struct ks_path item = ks_path_index(&at, i);

		if (ks_seen_has(&not_wanted, ks_value_str(&match->items[i])))
			ks_err_invalid_text(c, &item, NULL, ks_value_str(&match->items[i]), "exists in both matchLabelKeys and mismatchLabelKeys");
	}
}

static void check_pod_term(struct ks_check *c, const struct ks_path *path, const struct ks_value *term)
{
	const struct ks_value *selector = IN(term, "labelSelector"), *namespaces = LIST(term, "namespaces");
	struct ks_str topology = TEXT(term, "topologyKey");

	ks_check_label_selector(c, path, "labelSelector", selector, ks_pod_of(c)->selector_flags);
	ks_check_label_selector(c, path, "namespaceSelector", IN(term, "namespaceSelector"), ks_pod_of(c)->selector_flags);
	EACH(i, namespaces)
		ks_check_name(c, path, "namespace", KS_NAME_DNS1123_LABEL, ks_value_str(&namespaces->items[i]));
	check_match_keys(c, path, term, selector);
	if (!topology.n)
		ks_err_required(c, path, "topologyKey", "can not be empty");
	ks_check_name(c, path, "topologyKey", KS_NAME_LABEL_KEY, topology);
}

static void check_pod_affinity(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *required = LIST(v, "requiredDuringSchedulingIgnoredDuringExecution");
	const struct ks_value *preferred = LIST(v, "preferredDuringSchedulingIgnoredDuringExecution");
	struct ks_path required_at = ks_path_child(path, "requiredDuringSchedulingIgnoredDuringExecution");
	struct ks_path preferred_at = ks_path_child(path, "preferredDuringSchedulingIgnoredDuringExecution");

	EACH(i, required) {
		struct ks_path item = ks_path_index(&required_at, i);

		check_pod_term(c, &item, &required->items[i]);
	}
	EACH(i, preferred) {
		struct ks_path item = ks_path_index(&preferred_at, i), term = ks_path_child(&item, "podAffinityTerm");

		check_weight(c, &item, INT(&preferred->items[i], "weight"));
		check_pod_term(c, &term, IN(&preferred->items[i], "podAffinityTerm"));
	}
}

void ks_check_affinity(struct ks_check *c, const struct ks_path *path, const struct ks_value *affinity)
{
	struct ks_path node = ks_path_child(path, "nodeAffinity"), pod = ks_path_child(path, "podAffinity"), anti = ks_path_child(path, "podAntiAffinity");

	if (!affinity)
		return;
	check_node_affinity(c, &node, IN(affinity, "nodeAffinity"));
	check_pod_affinity(c, &pod, IN(affinity, "podAffinity"));
	check_pod_affinity(c, &anti, IN(affinity, "podAntiAffinity"));
}

/* -- tolerations -------------------------------------------------------------------------------------------------------- */

static void check_operator(struct ks_check *c, const struct ks_path *path, struct ks_str operator, struct ks_str value)
{
	static const char *const operators[] = {"Equal", "Exists", NULL};
	struct ks_name_errors errors;

	if (!operator.n || ks_str_is(operator, "Equal")) {
		if (!ks_name_check(KS_NAME_LABEL_VALUE, value, &errors)) {
			const char *all = ks_name_errors_join(c->arena, &errors, ";");

			ks_err_invalid_text(c, path, "operator", value, all ? all : "");
		}
	} else if (ks_str_is(operator, "Exists")) {
		if (value.n)
			ks_err_invalid_text(c, path, "operator", value, "value must be empty when `operator` is 'Exists'");
	} else {
		ks_err_not_supported(c, path, "operator", operator, operators);
	}
}

void ks_check_tolerations(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};

	EACH(i, list) {
		const struct ks_value *v = &list->items[i];
		struct ks_path item = ks_path_index(path, i);
		struct ks_str key = TEXT(v, "key"), operator= TEXT(v, "operator"), effect = TEXT(v, "effect");

		if (key.n)
			ks_check_name(c, &item, "key", KS_NAME_LABEL_KEY, key);
		else if (!ks_str_is(operator, "Exists"))
			ks_err_invalid_text(c, &item, "operator", operator,
				"operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
		if (IN(v, "tolerationSeconds") && !ks_str_is(effect, "NoExecute"))
			ks_err_invalid_text(c, &item, "effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
		check_operator(c, &item, operator, TEXT(v, "value"));
		if (effect.n && !ks_str_in(effect, effects))
			ks_err_not_supported(c, &item, "effect", effect, effects);
	}
}

/* -- spreading ------------------------------------------------------------------------------------------------------------ */

static const char *const actions[] = {"DoNotSchedule", "ScheduleAnyway", NULL};
static const char *const policies[] = {"Honor", "Ignore", NULL};

static struct ks_str spread_key(struct ks_check *c, const struct ks_value *v)
{
	struct ks_str key = TEXT(v, "topologyKey"), action = TEXT(v, "whenUnsatisfiable");

	return ks_str_from(ks_err_detail(c, "{%.*s, %.*s}", (int)key.n, key.p ? key.p : "", (int)action.n, action.p ? action.p : ""));
}

/* Which constraints are said again further on; NULL when none is. */
static const bool *find_repeated(struct ks_check *c, const struct ks_value *list)
{
	struct ks_seen seen = {.n = 0};
	bool *repeated;

	if (ks_value_count(list) < 2)
		return NULL;
	repeated = ks_arena_zalloc(c->arena, list->n, sizeof(*repeated));
	for (uint32_t i = list->n; repeated && i-- > 0;)
		repeated[i] = !ks_seen_add(c, &seen, spread_key(c, &list->items[i]));
	return repeated;
}

static void check_min_domains(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, struct ks_str action)
{
	const struct ks_value *min = IN(v, "minDomains");

	if (!min)
		return;
	if (ks_value_int_or(min, 0) <= 0)
		ks_err_invalid(c, path, "minDomains", min, "must be greater than zero");
	if (!ks_str_is(action, "DoNotSchedule"))
		ks_err_invalid(c, path, "minDomains", min,
			ks_err_detail(c, "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not %.*s", (int)action.n, action.p ? action.p : ""));
}

static void check_policy(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *policy)
{
	if (policy && !ks_str_in(ks_value_str(policy), policies))
		ks_err_not_supported(c, path, name, ks_value_str(policy), policies);
}

static void check_spread_keys(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *keys = LIST(v, "matchLabelKeys"), *selector = IN(v, "labelSelector");
	struct ks_path at = ks_path_child(path, "matchLabelKeys");

	if (ks_value_count(keys) && !selector)
		ks_err_forbidden(c, &at, NULL, "must not be specified when labelSelector is not set");
	EACH(i, keys) {
		struct ks_str key = ks_value_str(&keys->items[i]);
		struct ks_path item = ks_path_index(&at, i);

		ks_check_name(c, &item, NULL, KS_NAME_LABEL_KEY, key);
	}
	if (selector && ks_value_count(keys))
		check_merged_keys(c, &at, keys, selector);
}

void ks_check_spread(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	const bool *repeated = find_repeated(c, list);

	EACH(i, list) {
		const struct ks_value *v = &list->items[i];
		struct ks_path item = ks_path_index(path, i);
		struct ks_str action = TEXT(v, "whenUnsatisfiable");

		if (INT(v, "maxSkew") <= 0)
			ks_err_invalid_int(c, &item, "maxSkew", INT(v, "maxSkew"), "must be greater than zero");
		if (!TEXT(v, "topologyKey").n)
			ks_err_required(c, &item, "topologyKey", "can not be empty");
		if (!ks_str_in(action, actions))
			ks_err_not_supported(c, &item, "whenUnsatisfiable", action, actions);
		if (repeated && repeated[i])
			ks_err_duplicate_text(c, &item, "{topologyKey, whenUnsatisfiable}", spread_key(c, v));
		check_min_domains(c, &item, v, action);
		check_policy(c, &item, "nodeAffinityPolicy", IN(v, "nodeAffinityPolicy"));
		check_policy(c, &item, "nodeTaintsPolicy", IN(v, "nodeTaintsPolicy"));
		check_spread_keys(c, &item, v);
		if (!ks_pod_of(c)->any_spread_selector)
			ks_check_label_selector(c, &item, "labelSelector", IN(v, "labelSelector"), 0);
	}
}
