/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* flowcontrol.apiserver.k8s.io */
#include <math.h>

#include "core/api/json.h"
#include "core/registry/validate/common.h"
#include "core/registry/validate/kinds.h"

enum { PRECEDENCE_MOST = 10000, QUEUES_MOST = 10 * 1000 * 1000, ENTROPY_MOST = 60 };

/* -- what can't be changed ---------------------------------------------------------------------------------------- */

#define ALL_RULES \
	"\"resourceRules\":[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"clusterScope\":true,\"namespaces\":[\"*\"]}]," \
	"\"nonResourceRules\":[{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}]"

static const char exempt_schema[] = "{\"matchingPrecedence\":1,\"priorityLevelConfiguration\":{\"name\":\"exempt\"},\"rules\":[{\"subjects\":"
	"[{\"kind\":\"Group\",\"group\":{\"name\":\"system:masters\"}}]," ALL_RULES "}]}";
static const char last_schema[] = "{\"matchingPrecedence\":10000,\"priorityLevelConfiguration\":{\"name\":\"catch-all\"},\"distinguisherMethod\":"
	"{\"type\":\"ByUser\"},\"rules\":[{\"subjects\":[{\"kind\":\"Group\",\"group\":{\"name\":\"system:unauthenticated\"}},"
	"{\"kind\":\"Group\",\"group\":{\"name\":\"system:authenticated\"}}]," ALL_RULES "}]}";
static const char last_level[] = "{\"type\":\"Limited\",\"limited\":{\"nominalConcurrencyShares\":5,\"limitResponse\":{\"type\":\"Reject\"},"
	"\"lendablePercent\":0}}";

static bool is_fixed(struct ks_check *c, const struct ks_value *spec, const char *json)
{
	const char *message;
	struct ks_value fixed;

	return ks_json_decode(c->arena, c->schema, spec->type, 0, json, strlen(json), &fixed, NULL, &message) || ks_value_equal(spec, &fixed);
}

static struct ks_str name_of(struct ks_check *c, const struct ks_value *object)
{
	return KS_IN_TEXT(c, KS_IN(c, object, "metadata"), "name");
}

static void check_conditions(struct ks_check *c, const struct ks_value *object)
{
	const struct ks_value *list = KS_IN_LIST(c, KS_IN(c, object, "status"), "conditions");
	struct ks_path path = ks_path_root("status.conditions");

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&path, i);
		struct ks_str type = KS_IN_TEXT(c, &list->items[i], "type");
		bool seen = false;

		for (uint32_t k = 0; k < i && !seen; k++)
			seen = ks_str_eq(type, KS_IN_TEXT(c, &list->items[k], "type"));
		if (seen)
			ks_err_duplicate_text(c, &item, "type", type);
		if (!type.n)
			ks_err_required(c, &item, "type", "must not be empty");
	}
}

/* -- subjects ----------------------------------------------------------------------------------------------------- */

static void check_account(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	struct ks_str name = KS_IN_TEXT(c, v, "name"), ns = KS_IN_TEXT(c, v, "namespace");

	if (!name.n)
		ks_err_required(c, path, "name", "");
	else if (!ks_str_is(name, "*"))
		ks_check_name(c, path, "name", KS_NAME_DNS1123_SUBDOMAIN, name);
	if (!ns.n)
		ks_err_required(c, path, "namespace", "must specify namespace for service account");
	else
		ks_check_name(c, path, "namespace", KS_NAME_DNS1123_LABEL, ns);
}

/* Each kind of subject has a member of its own. */
static const struct {
	const char *kind, *field;
} subjects[] = {{"ServiceAccount", "serviceAccount"}, {"User", "user"}, {"Group", "group"}};

static void check_subject(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char *const kinds[] = {"Group", "ServiceAccount", "User", NULL};
	struct ks_str kind = KS_IN_TEXT(c, v, "kind");

	if (!ks_check_one_of(c, path, "kind", kind, kinds))
		return;
	for (size_t i = 0; i < 3; i++) {
		const struct ks_value *own = ks_value_get(c->schema, v, subjects[i].field);
		struct ks_path at = ks_path_child(path, subjects[i].field);

		if (!ks_str_is(kind, subjects[i].kind))
			continue;
		if (!ks_value_present(own))
			ks_err_required(c, &at, NULL, ks_err_detail(c, "%s is required when subject kind is '%s'", subjects[i].field, subjects[i].kind));
		else if (!i)
			check_account(c, &at, own);
		else if (!ks_value_str(ks_value_get(c->schema, own, "name")).n)
			ks_err_required(c, &at, "name", "");
	}
	for (size_t i = 0; i < 3; i++)
		if (!ks_str_is(kind, subjects[i].kind) && ks_value_present(ks_value_get(c->schema, v, subjects[i].field)))
			ks_err_forbidden(c, path, subjects[i].field,
				ks_err_detail(c, "%s is forbidden when subject kind is not '%s'", subjects[i].field, subjects[i].kind));
}

/* -- rules -------------------------------------------------------------------------------------------------------- */


static void check_verbs(struct ks_check *c, const struct ks_path *path, const struct ks_value *rule)
{
	static const char *const verbs[] = {"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch", NULL};
	const struct ks_value *list = ks_value_get(c->schema, rule, "verbs");

	if (!ks_value_count(list)) {
		ks_err_required(c, path, "verbs", "verbs must contain at least one value");
		return;
	}
	if (ks_list_has(list, KS_STR_LIT("*"))) {
		if (list->n > 1)
			ks_err_invalid(c, path, "verbs", list, "if '*' is present, must not specify other verbs");
		return;
	}
	for (uint32_t i = 0; i < list->n; i++) {
		if (ks_str_in(ks_value_str(&list->items[i]), verbs))
			continue;
		ks_err_not_supported_slot(c, path, "verbs", rule, "verbs", verbs);
		return;
	}
}

/* NULL when it is fine. */
static const char *wrong_url(struct ks_str url)
{
	unsigned stars = 0;

	if (!url.n)
		return "must not be empty";
	if (ks_str_is(url, "/"))
		return NULL;
	if (url.p[0] != '/')
		return "must start with slash";
	if (ks_str_has(url, " "))
		return "must not contain white-space";
	if (ks_str_has(url, "//"))
		return "must not contain double slash";
	for (size_t i = 0; i < url.n; i++)
		stars += url.p[i] == '*';
	return stars > 1 || (stars && !ks_str_ends_with(url, "/*")) ? "wildcard can only do suffix matching" : NULL;
}

static void check_url_rule(struct ks_check *c, const struct ks_path *path, const struct ks_value *rule)
{
	const struct ks_value *urls = KS_IN_LIST(c, rule, "nonResourceURLs");
	struct ks_path at = ks_path_child(path, "nonResourceURLs");

	check_verbs(c, path, rule);
	if (!ks_value_count(urls)) {
		ks_err_required(c, &at, NULL, "nonResourceURLs must contain at least one value");
		return;
	}
	if (ks_list_has(urls, KS_STR_LIT("*"))) {
		if (urls->n > 1)
			ks_err_invalid(c, &at, NULL, urls, "if '*' is present, must not specify other non-resource URLs");
		return;
	}
	for (uint32_t i = 0; i < urls->n; i++) {
		struct ks_path item = ks_path_index(&at, i);
		const char *wrong = wrong_url(ks_value_str(&urls->items[i]));

		if (wrong)
			ks_err_invalid(c, &item, NULL, &urls->items[i], wrong);
	}
}

static void check_namespaces(struct ks_check *c, const struct ks_path *path, const struct ks_value *list, bool cluster)
{
	struct ks_name_errors errors;

	if (!ks_value_count(list)) {
		if (!cluster)
			ks_err_required(c, path, NULL, "resource rules that are not cluster scoped must supply at least one namespace");
		return;
	}
	if (ks_list_has(list, KS_STR_LIT("*"))) {
		if (list->n > 1)
			ks_err_invalid(c, path, NULL, list, "if '*' is present, must not specify other namespaces");
		return;
	}
	for (uint32_t i = 0; i < list->n; i++) {
		struct ks_path item = ks_path_index(path, i);

		if (ks_name_check(KS_NAME_DNS1123_LABEL, ks_value_str(&list->items[i]), &errors))
			continue;
		for (unsigned k = 0; k < errors.n; k++)
			ks_err_invalid(c, &item, NULL, &list->items[i],
				ks_err_detail(c, "each member of this list must be '*' or a DNS-1123 label; %s", errors.text[k]));
	}
}

static void check_resource_rule(struct ks_check *c, const struct ks_path *path, const struct ks_value *rule)
{
	const struct ks_value *groups = KS_IN_LIST(c, rule, "apiGroups"), *resources = KS_IN_LIST(c, rule, "resources");
	struct ks_path at = ks_path_child(path, "namespaces");

	check_verbs(c, path, rule);
	if (!ks_value_count(groups))
		ks_err_required(c, path, "apiGroups", "resource rules must supply at least one api group");
	else if (groups->n > 1 && ks_list_has(groups, KS_STR_LIT("*")))
		ks_err_invalid(c, path, "apiGroups", groups, "if '*' is present, must not specify other api groups");
	if (!ks_value_count(resources))
		ks_err_required(c, path, "resources", "resource rules must supply at least one resource");
	else if (resources->n > 1 && ks_list_has(resources, KS_STR_LIT("*")))
		ks_err_invalid(c, path, "resources", resources, "if '*' is present, must not specify other resources");
	check_namespaces(c, &at, KS_IN_LIST(c, rule, "namespaces"), KS_IN_TRUE(c, rule, "clusterScope"));
}

static void check_rule(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *who = KS_IN_LIST(c, v, "subjects"), *resources = KS_IN_LIST(c, v, "resourceRules");
	const struct ks_value *urls = KS_IN_LIST(c, v, "nonResourceRules");
	struct ks_path at = ks_path_child(path, "subjects"), at_resources = ks_path_child(path, "resourceRules");
	struct ks_path at_urls = ks_path_child(path, "nonResourceRules");

	if (!ks_value_count(who))
		ks_err_required(c, &at, NULL, "subjects must contain at least one value");
	for (uint32_t i = 0; i < ks_value_count(who); i++) {
		struct ks_path item = ks_path_index(&at, i);

		check_subject(c, &item, &who->items[i]);
	}
	if (!ks_value_count(resources) && !ks_value_count(urls))
		ks_err_required(c, path, NULL, "at least one of resourceRules and nonResourceRules has to be non-empty");
	for (uint32_t i = 0; i < ks_value_count(resources); i++) {
		struct ks_path item = ks_path_index(&at_resources, i);

		check_resource_rule(c, &item, &resources->items[i]);
	}
	for (uint32_t i = 0; i < ks_value_count(urls); i++) {
		struct ks_path item = ks_path_index(&at_urls, i);

		check_url_rule(c, &item, &urls->items[i]);
	}
}

/* -- schemas ------------------------------------------------------------------------------------------------------ */

static void check_schema_spec(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, struct ks_str name)
{
	static const char *const methods[] = {"ByNamespace", "ByUser", NULL};
	const struct ks_value *method = KS_IN(c, spec, "distinguisherMethod"), *rules = KS_IN_LIST(c, spec, "rules");
	struct ks_str level = KS_IN_TEXT(c, KS_IN(c, spec, "priorityLevelConfiguration"), "name");
	int64_t precedence = KS_IN_INT(c, spec, "matchingPrecedence", 0);
	struct ks_path at = ks_path_child(path, "rules");

	if (precedence <= 0)
		ks_err_invalid_int(c, path, "matchingPrecedence", precedence, "must be a positive value");
	if (precedence > PRECEDENCE_MOST)
		ks_err_invalid_int(c, path, "matchingPrecedence", precedence, "must not be greater than 10000");
	if (precedence == 1 && !ks_str_is(name, "exempt"))
		ks_err_invalid_int(c, path, "matchingPrecedence", precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
	if (method && !ks_str_in(KS_IN_TEXT(c, method, "type"), methods))
		ks_err_not_supported_slot(c, path, "distinguisherMethod.type", spec, "distinguisherMethod", methods);
	if (level.n)
		ks_check_name(c, path, "priorityLevelConfiguration.name", KS_NAME_DNS1123_SUBDOMAIN, level);
	else
		ks_err_required(c, path, "priorityLevelConfiguration.name", "must reference a priority level");
	for (uint32_t i = 0; i < ks_value_count(rules); i++) {
		struct ks_path item = ks_path_index(&at, i);

		check_rule(c, &item, &rules->items[i]);
	}
}

void ks_validate_flowschema(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec");
	struct ks_value spec = ks_struct_in(&c, object, "spec");
	struct ks_str name = name_of(&c, object);

	(void)old;
	if (!ctx->subresource.n) {
		check_schema_spec(&c, &path, &spec, name);
		if (ks_str_is(name, "exempt") && !is_fixed(&c, &spec, exempt_schema))
			ks_err_invalid_slot(&c, &path, NULL, object, "spec", "spec of 'exempt' must equal the fixed value");
		if (ks_str_is(name, "catch-all") && !is_fixed(&c, &spec, last_schema))
			ks_err_invalid_slot(&c, &path, NULL, object, "spec", "spec of 'catch-all' must equal the fixed value");
	}
	check_conditions(&c, object);
}

/* -- levels ------------------------------------------------------------------------------------------------------- */

static void check_queuing(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	int64_t limit = KS_IN_INT(c, v, "queueLengthLimit", 0), queues = KS_IN_INT(c, v, "queues", 0), hand = KS_IN_INT(c, v, "handSize", 0);

	if (limit <= 0)
		ks_err_invalid_int(c, path, "queueLengthLimit", limit, "must be positive");
	if (queues <= 0)
		ks_err_invalid_int(c, path, "queues", queues, "must be positive");
	else if (queues > QUEUES_MOST)
		ks_err_invalid_int(c, path, "queues", queues, "must not be greater than 10000000");
	if (hand <= 0)
		ks_err_invalid_int(c, path, "handSize", hand, "must be positive");
	else if (hand > queues)
		ks_err_invalid_int(c, path, "handSize", hand, ks_err_detail(c, "should not be greater than queues (%lld)", (long long)queues));
	else if (ceil(log2((double)queues) * (double)hand) > ENTROPY_MOST)
		ks_err_invalid_int(c, path, "handSize", hand, ks_err_detail(c, "required entropy bits of deckSize %lld and handSize %lld should not be greater "
			"than %d", (long long)queues, (long long)hand, ENTROPY_MOST));
}

static void check_response(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char *const types[] = {"Queue", "Reject", NULL};
	struct ks_str type = KS_IN_TEXT(c, v, "type");
	const struct ks_value *queuing = KS_IN(c, v, "queuing");
	struct ks_path at = ks_path_child(path, "queuing");

	if (!type.n)
		ks_err_required(c, path, "type", "");
	else if (!ks_check_one_of(c, path, "type", type, types))
		return;
	else if (ks_str_is(type, "Reject") && queuing)
		ks_err_forbidden(c, &at, NULL, "must be nil if limited.limitResponse.type is not Limited");
	else if (ks_str_is(type, "Queue") && !queuing)
		ks_err_required(c, &at, NULL, "must not be empty if limited.limitResponse.type is Limited");
	else if (ks_str_is(type, "Queue"))
		check_queuing(c, &at, queuing);
}

static void check_limited(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	struct ks_path response = ks_path_child(path, "limitResponse");
	int64_t shares = KS_IN_INT(c, v, "nominalConcurrencyShares", 0), borrowed = KS_IN_INT(c, v, "borrowingLimitPercent", 0);

	if (shares < 0)
		ks_err_invalid_int(c, path, "nominalConcurrencyShares", shares, "must be a non-negative integer");
	check_response(c, &response, KS_IN(c, v, "limitResponse"));
	ks_check_range(c, path, "lendablePercent", KS_IN_INT(c, v, "lendablePercent", 0), 0, 100);
	if (borrowed < 0)
		ks_err_invalid_int(c, path, "borrowingLimitPercent", borrowed, "if specified, must be a non-negative integer");
}

static void check_exempt(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	int64_t shares = KS_IN_INT(c, v, "nominalConcurrencyShares", 0);

	if (shares < 0)
		ks_err_invalid_int(c, path, "nominalConcurrencyShares", shares, "must be a non-negative integer");
	ks_check_range(c, path, "lendablePercent", KS_IN_INT(c, v, "lendablePercent", 0), 0, 100);
}

static void check_level_spec(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, struct ks_str name)
{
	static const char *const types[] = {"Exempt", "Limited", NULL};
	struct ks_str type = KS_IN_TEXT(c, spec, "type");
	const struct ks_value *limited = KS_IN(c, spec, "limited"), *exempt = KS_IN(c, spec, "exempt");
	struct ks_path at = ks_path_child(path, "limited"), at_exempt = ks_path_child(path, "exempt");

	if (ks_str_is(name, "exempt") != ks_str_is(type, "Exempt"))
		ks_err_invalid_text(c, path, "type", type, "must be 'Exempt' if and only if `name` is 'exempt'");
	if (!ks_check_one_of(c, path, "type", type, types))
		return;
	if (ks_str_is(type, "Exempt")) {
		if (limited)
			ks_err_forbidden(c, &at, NULL, "must be nil if the type is not Limited");
		if (!exempt)
			ks_err_required(c, &at_exempt, NULL, "must not be empty when type is Exempt");
		else
			check_exempt(c, &at_exempt, exempt);
		return;
	}
	if (exempt)
		ks_err_forbidden(c, &at_exempt, NULL, "must be nil if the type is Limited");
	if (!limited)
		ks_err_required(c, &at, NULL, "must not be empty when type is Limited");
	else
		check_limited(c, &at, limited);
}

void ks_validate_prioritylevel(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec");
	struct ks_value spec = ks_struct_in(&c, object, "spec");
	struct ks_str name = name_of(&c, object);

	(void)old;
	if (!ctx->subresource.n) {
		check_level_spec(&c, &path, &spec, name);
		if (ks_str_is(name, "exempt") && (!ks_str_is(KS_IN_TEXT(&c, &spec, "type"), "Exempt") || KS_IN(&c, &spec, "limited")))
			ks_err_invalid_slot(&c, &path, NULL, object, "spec",
				"spec of 'exempt' except the 'spec.exempt' field must equal the fixed value");
		if (ks_str_is(name, "catch-all") && !is_fixed(&c, &spec, last_level))
			ks_err_invalid_slot(&c, &path, NULL, object, "spec", "spec of 'catch-all' must equal the fixed value");
	}
	check_conditions(&c, object);
}
