/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Policies of admission and their bindings: structure; expressions are not compiled here. */
#include "core/registry/validate/admission.h"
#include "core/registry/validate/kinds.h"

enum { ANNOTATIONS_MOST = 20, VALUE_BYTES = 5 * 1024 };

static const char *const failure_policies[] = {"Fail", "Ignore", NULL};

static bool is_blank(struct ks_str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (!strchr(" \t\r\n\v\f", text.p[i]))
			return false;
	return true;
}

static bool has_lines(struct ks_str text)
{
	return text.n && (memchr(text.p, '\n', text.n) || memchr(text.p, '\r', text.n));
}

/* -- what is matched ---------------------------------------------------------------------------------------------- */

static void check_kind(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	struct ks_str version = KS_IN_TEXT(c, v, "apiVersion"), kind = KS_IN_TEXT(c, v, "kind"), lowered, group = {0};
	const char *slash = version.n ? memchr(version.p, '/', version.n) : NULL;
	struct ks_name_errors errors;
	char copy[128];

	if (!version.n) {
		ks_err_required(c, path, "apiVersion", "");
	} else {
		if (slash) {
			group = ks_str_of(version.p, (size_t)(slash - version.p));
			version = ks_str_of(slash + 1, version.n - group.n - 1);
		}
		if (version.n && memchr(version.p, '/', version.n)) {
			version = KS_IN_TEXT(c, v, "apiVersion");
			ks_err_invalid_text(c, path, "apiVersion", version, ks_err_detail(c, "unexpected GroupVersion string: %.*s", (int)version.n, version.p));
		} else {
			if (group.n)
				ks_check_name(c, path, "apiVersion", KS_NAME_DNS1123_SUBDOMAIN, group);
			if (!version.n)
				ks_err_invalid_text(c, path, "apiVersion", KS_IN_TEXT(c, v, "apiVersion"), "version must be specified");
			else
				ks_check_name(c, path, "apiVersion", KS_NAME_DNS1035_LABEL, version);
		}
	}
	if (!kind.n) {
		ks_err_required(c, path, "kind", "");
		return;
	}
	for (size_t i = 0; i < kind.n && i < sizeof(copy); i++)
		copy[i] = kind.p[i] >= 'A' && kind.p[i] <= 'Z' ? (char)(kind.p[i] + 'a' - 'A') : kind.p[i];
	lowered = kind.n <= sizeof(copy) ? ks_str_of(copy, kind.n) : kind;
	if (!ks_name_check(KS_NAME_DNS1035_LABEL, lowered, &errors)) {
		const char *all = ks_name_errors_join(c->arena, &errors, ",");

		ks_err_invalid_text(c, path, "kind", kind, ks_err_detail(c, "may have mixed case, but should otherwise match: %s", all ? all : ""));
	}
}

static void check_named_rules(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		const struct ks_value *names = KS_IN_LIST(c, &list->items[i], "resourceNames");
		struct ks_path item = ks_path_index(path, i), at = ks_path_child(&item, "resourceNames");

		for (uint32_t k = 0; k < ks_value_count(names); k++) {
			struct ks_path below = ks_path_index(&at, k);
			bool seen = false;

			ks_check_name(c, &below, NULL, KS_NAME_PATH_SEGMENT, ks_value_str(&names->items[k]));
			for (uint32_t j = 0; j < k && !seen; j++)
				seen = ks_value_equal(&names->items[k], &names->items[j]);
			if (seen)
				ks_err_duplicate(c, &below, NULL, &names->items[k]);
		}
		ks_admission_rule(c, &item, &list->items[i]);
	}
}

static void check_match(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char *const policies[] = {"Equivalent", "Exact", NULL};
	const struct ks_value *policy = KS_IN(c, v, "matchPolicy"), *namespaces = KS_IN(c, v, "namespaceSelector");
	const struct ks_value *objects = KS_IN(c, v, "objectSelector");
	struct ks_path rules = ks_path_child(path, "resourceRules"), excluded = ks_path_child(path, "excludeResourceRules");

	if (!policy)
		ks_err_required(c, path, "matchPolicy", "");
	ks_admission_choice(c, path, "matchPolicy", policy, policies);
	if (!namespaces)
		ks_err_required(c, path, "namespaceSelector", "");
	ks_check_label_selector(c, path, "namespaceSelector", namespaces, 0);
	if (!objects)
		ks_err_required(c, path, "objectSelector", "");
	ks_check_label_selector(c, path, "objectSelector", objects, 0);
	check_named_rules(c, &rules, KS_IN_LIST(c, v, "resourceRules"));
	check_named_rules(c, &excluded, KS_IN_LIST(c, v, "excludeResourceRules"));
}

/* -- expressions -------------------------------------------------------------------------------------------------- */

static void check_expression(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str text)
{
	if (is_blank(text))
		ks_err_required(c, path, name, ks_err_detail(c, "%s is not specified", name));
}

static void check_variables(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(path, i);
		struct ks_str name = KS_IN_TEXT(c, &list->items[i], "name");
		bool seen = false;

		if (is_blank(name))
			ks_err_required(c, &item, "name", "name is not specified");
		else if (!ks_name_check(KS_NAME_C_IDENTIFIER, name, NULL))
			ks_err_invalid_text(c, &item, "name", name, "must be a valid CEL identifier");
		check_expression(c, &item, "expression", KS_IN_TEXT(c, &list->items[i], "expression"));
		for (uint32_t k = 0; name.n && k < i && !seen; k++)
			seen = ks_str_eq(name, KS_IN_TEXT(c, &list->items[k], "name"));
		if (seen)
			ks_err_duplicate_text(c, &item, "name", name);
	}
}

static void check_validation(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char *const reasons[] = {"Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized", NULL};
	struct ks_str expression = KS_IN_TEXT(c, v, "expression"), message = KS_IN_TEXT(c, v, "message");
	struct ks_str of_message = KS_IN_TEXT(c, v, "messageExpression");

	check_expression(c, path, "expression", expression);
	if (of_message.n && is_blank(of_message))
		ks_err_invalid_text(c, path, "messageExpression", of_message, "must be non-empty if specified");
	if (message.n && is_blank(message))
		ks_err_invalid_text(c, path, "message", message, "message must be non-empty if specified");
	else if (has_lines(message))
		ks_err_invalid_text(c, path, "message", message, "message must not contain line breaks");
	else if (!message.n && has_lines(expression))
		ks_err_required(c, path, "message", "message must be specified if expression contains line breaks");
	ks_admission_choice(c, path, "reason", KS_IN(c, v, "reason"), reasons);
}

static void check_annotation(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, struct ks_str policy)
{
	struct ks_str key = KS_IN_TEXT(c, v, "key"), value = KS_IN_TEXT(c, v, "valueExpression");
	struct ks_str whole = ks_str_from(ks_err_detail(c, "%.*s/%.*s", (int)policy.n, policy.p ? policy.p : "", (int)key.n, key.p ? key.p : ""));
	struct ks_name_errors errors;

	if (!ks_name_check(KS_NAME_LABEL_KEY, policy.n ? whole : key, &errors))
		for (unsigned i = 0; i < errors.n; i++)
			ks_err_invalid_text(c, path, "key", key, errors.text[i]);
	check_expression(c, path, "valueExpression", value);
	if (value.n > VALUE_BYTES)
		ks_err_too_long(c, path, "valueExpression", VALUE_BYTES);
}

static void check_annotations(struct ks_check *c, const struct ks_path *path, const struct ks_value *list, struct ks_str policy)
{
	if (ks_value_count(list) > ANNOTATIONS_MOST)
		ks_err_invalid(c, path, NULL, list, "must not have more than 20 auditAnnotations");
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(path, i);
		struct ks_str key = KS_IN_TEXT(c, &list->items[i], "key");
		bool seen = false;

		check_annotation(c, &item, &list->items[i], policy);
		for (uint32_t k = 0; k < i && !seen; k++)
			seen = ks_str_eq(key, KS_IN_TEXT(c, &list->items[k], "key"));
		if (seen)
			ks_err_duplicate_text(c, &item, "key", key);
	}
}

/* -- policies ----------------------------------------------------------------------------------------------------- */

/* What both kinds of policies have. */
static void check_policy(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	const struct ks_value *failure = KS_IN(c, spec, "failurePolicy"), *kind = KS_IN(c, spec, "paramKind"), *match = KS_IN(c, spec, "matchConstraints");
	struct ks_path at_kind = ks_path_child(path, "paramKind"), at_match = ks_path_child(path, "matchConstraints");
	struct ks_path conditions = ks_path_child(path, "matchConditions"), variables = ks_path_child(path, "variables");

	if (!failure)
		ks_err_required(c, path, "failurePolicy", "");
	ks_admission_choice(c, path, "failurePolicy", failure, failure_policies);
	if (kind)
		check_kind(c, &at_kind, kind);
	if (!match) {
		ks_err_required(c, path, "matchConstraints", "");
	} else {
		check_match(c, &at_match, match);
		if (!ks_value_count(KS_IN(c, match, "resourceRules")))
			ks_err_required(c, &at_match, "resourceRules", "");
	}
	ks_admission_match_conditions(c, &conditions, KS_IN_LIST(c, spec, "matchConditions"));
	check_variables(c, &variables, KS_IN_LIST(c, spec, "variables"));
}

/* What the type checker said of expressions. */
static void check_policy_status(struct ks_check *c, const struct ks_value *object)
{
	const struct ks_value *status = KS_IN(c, object, "status"), *list = KS_IN_LIST(c, KS_IN(c, status, "typeChecking"), "expressionWarnings");
	struct ks_path path = ks_path_root("status"), at = ks_path_child(&path, "typeChecking.expressionWarnings");
	struct ks_path conditions = ks_path_child(&path, "conditions");

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&at, i);

		if (!KS_IN_TEXT(c, &list->items[i], "warning").n)
			ks_err_required(c, &item, "warning", "");
		if (is_blank(KS_IN_TEXT(c, &list->items[i], "fieldRef")))
			ks_err_required(c, &item, "fieldRef", "");
	}
	ks_check_conditions(c, &conditions, KS_IN_LIST(c, status, "conditions"));
}

void ks_validate_validatingadmissionpolicy(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	static const char one[] = "validations or auditAnnotations must contain at least one item";
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec"), at = ks_path_child(&path, "validations"), notes = ks_path_child(&path, "auditAnnotations");
	struct ks_value spec = ks_struct_in(&c, object, "spec");
	const struct ks_value *list = KS_IN_LIST(&c, &spec, "validations"), *annotations = KS_IN_LIST(&c, &spec, "auditAnnotations");

	(void)old;
	if (ctx->subresource.n) {
		check_policy_status(&c, object);
		return;
	}
	check_policy(&c, &path, &spec);
	if (!ks_value_count(list) && !ks_value_count(annotations)) {
		ks_err_required(&c, &at, NULL, one);
		ks_err_required(&c, &notes, NULL, one);
	}
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&at, i);

		check_validation(&c, &item, &list->items[i]);
	}
	check_annotations(&c, &notes, annotations, KS_IN_TEXT(&c, KS_IN(&c, object, "metadata"), "name"));
}

/* A patch of one type, and not of the other. */
static void check_patch(struct ks_check *c, const struct ks_path *path, const char *type, const char *field, const struct ks_value *own,
	const char *other_field, const struct ks_value *other)
{
	struct ks_path at = ks_path_child(path, field);

	if (!ks_value_present(own))
		ks_err_required(c, path, field, ks_err_detail(c, "must be specified when patchType is %s", type));
	else
		check_expression(c, &at, "expression", KS_IN_TEXT(c, own, "expression"));
	if (ks_value_present(other))
		ks_err_invalid_text(c, path, other_field, ks_str_from(ks_err_detail(c, "{%s}", other_field)),
			ks_err_detail(c, "must not be specified when patchType is %s", type));
}

static void check_mutation(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char *const types[] = {"ApplyConfiguration", "JSONPatch", NULL};
	struct ks_str type = KS_IN_TEXT(c, v, "patchType");
	const struct ks_value *apply = KS_IN(c, v, "applyConfiguration"), *json = KS_IN(c, v, "jsonPatch");

	if (!type.n)
		ks_err_required(c, path, "patchType", "");
	else if (ks_str_is(type, "ApplyConfiguration"))
		check_patch(c, path, "ApplyConfiguration", "applyConfiguration", apply, "jsonPatch", json);
	else if (ks_str_is(type, "JSONPatch"))
		check_patch(c, path, "JSONPatch", "jsonPatch", json, "applyConfiguration", apply);
	else
		ks_err_not_supported(c, path, "patchType", type, types);
}

void ks_validate_mutatingadmissionpolicy(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	static const char *const reinvocations[] = {"IfNeeded", "Never", NULL};
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec"), at = ks_path_child(&path, "mutations");
	struct ks_value spec = ks_struct_in(&c, object, "spec");
	const struct ks_value *list = KS_IN_LIST(&c, &spec, "mutations");
	struct ks_str again = KS_IN_TEXT(&c, &spec, "reinvocationPolicy");

	(void)old;
	if (ctx->subresource.n)
		return;
	check_policy(&c, &path, &spec);
	if (!ks_value_count(list))
		ks_err_required(&c, &at, NULL, "mutations must contain at least one item");
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&at, i);

		check_mutation(&c, &item, &list->items[i]);
	}
	if (!again.n)
		ks_err_required(&c, &path, "reinvocationPolicy", "");
	else
		ks_check_one_of(&c, &path, "reinvocationPolicy", again, reinvocations);
}

/* -- bindings ----------------------------------------------------------------------------------------------------- */

static void check_parameter(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char one[] = "name and selector are mutually exclusive";
	static const char *const actions[] = {"Allow", "Deny", NULL};
	struct ks_str name = KS_IN_TEXT(c, v, "name"), action = KS_IN_TEXT(c, v, "parameterNotFoundAction");
	const struct ks_value *selector = KS_IN(c, v, "selector");

	if (name.n) {
		ks_check_name(c, path, "name", KS_NAME_PATH_SEGMENT, name);
		if (selector)
			ks_err_forbidden(c, path, "name", one);
	}
	if (selector) {
		ks_check_label_selector(c, path, "selector", selector, 0);
		if (name.n)
			ks_err_forbidden(c, path, "selector", one);
	}
	if (!name.n && !selector)
		ks_err_required(c, path, NULL, "one of name or selector must be specified");
	if (!action.n)
		ks_err_required(c, path, "parameterNotFoundAction", "");
	else
		ks_check_one_of(c, path, "parameterNotFoundAction", action, actions);
}

static void check_binding(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	struct ks_path parameter = ks_path_child(path, "paramRef"), match = ks_path_child(path, "matchResources");
	const struct ks_value *ref = KS_IN(c, spec, "paramRef"), *resources = KS_IN(c, spec, "matchResources");

	ks_check_required_name(c, path, "policyName", KS_NAME_DNS1123_SUBDOMAIN, KS_IN_TEXT(c, spec, "policyName"));
	if (ref)
		check_parameter(c, &parameter, ref);
	if (resources)
		check_match(c, &match, resources);
}

static void check_actions(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	static const char *const actions[] = {"Audit", "Deny", "Warn", NULL};

	if (!ks_value_count(list))
		ks_err_required(c, path, NULL, "at least one validation action is required");
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(path, i);
		bool seen = false;

		ks_check_one_of(c, &item, NULL, ks_value_str(&list->items[i]), actions);
		for (uint32_t k = 0; k < i && !seen; k++)
			seen = ks_value_equal(&list->items[i], &list->items[k]);
		if (seen)
			ks_err_duplicate(c, &item, NULL, &list->items[i]);
	}
	if (ks_list_has(list, KS_STR_LIT("Deny")) && ks_list_has(list, KS_STR_LIT("Warn")))
		ks_err_invalid(c, path, NULL, list, "must not contain both Deny and Warn (repeating the same validation failure information in the API response "
			"and headers serves no purpose)");
}

void ks_validate_validatingadmissionpolicybinding(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec"), actions = ks_path_child(&path, "validationActions");
	const struct ks_value *spec = KS_IN(&c, object, "spec");

	(void)old;
	check_binding(&c, &path, spec);
	check_actions(&c, &actions, KS_IN_LIST(&c, spec, "validationActions"));
}

void ks_validate_mutatingadmissionpolicybinding(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec");

	(void)old;
	check_binding(&c, &path, KS_IN(&c, object, "spec"));
}
