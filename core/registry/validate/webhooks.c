/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Webhooks of admission. */
#include <ctype.h>
#include <strings.h>

#include "core/api/quote.h"
#include "core/registry/validate/admission.h"
#include "core/registry/validate/kinds.h"

enum { CONDITIONS_MOST = 64, SECONDS_MOST = 30 };

static const char *const failure_policies[] = {"Fail", "Ignore", NULL};
static const char *const match_policies[] = {"Equivalent", "Exact", NULL};
static const char *const reinvocation_policies[] = {"IfNeeded", "Never", NULL};

void ks_admission_choice(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *v, const char *const *set)
{
	if (v)
		ks_check_one_of(c, path, name, ks_value_str(v), set);
}

/* -- rules -------------------------------------------------------------------------------------------------------- */

/* At least one; "*" stands alone. */
static void check_texts(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *rule, const char *what)
{
	const struct ks_value *list = ks_value_get(c->schema, rule, name);

	if (!ks_value_count(list))
		ks_err_required(c, path, name, "");
	else if (list->n > 1 && ks_list_has(list, KS_STR_LIT("*")))
		ks_err_invalid(c, path, name, list, ks_err_detail(c, "if '*' is present, must not specify other %s", what));
}

static bool has_pair(const struct ks_value *list, uint32_t before, const char *format_head, struct ks_str part, const char *format_tail)
{
	size_t head = strlen(format_head), tail = strlen(format_tail);

	for (uint32_t i = 0; i < before; i++) {
		struct ks_str text = ks_value_str(&list->items[i]);

		if (text.n == head + part.n + tail && !memcmp(text.p, format_head, head) && (!part.n || !memcmp(text.p + head, part.p, part.n)) &&
			!memcmp(text.p + head + part.n, format_tail, tail))
			return true;
	}
	return false;
}

static void check_resources(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	bool one_star = false, two_stars = false, whole = false;

	if (!ks_value_count(list))
		ks_err_required(c, path, NULL, "");
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(path, i);
		struct ks_str text = ks_value_str(&list->items[i]), resource, sub;
		const char *slash = text.n ? memchr(text.p, '/', text.n) : NULL;

		if (!text.n) {
			ks_err_required(c, &item, NULL, "");
			continue;
		}
		two_stars |= ks_str_is(text, "*/*");
		one_star |= ks_str_is(text, "*");
		if (!slash) {
			whole = !ks_str_is(text, "*");
			continue;
		}
		resource = ks_str_of(text.p, (size_t)(slash - text.p));
		sub = ks_str_of(slash + 1, text.n - resource.n - 1);
		if (has_pair(list, i, "", resource, "/*"))
			ks_err_invalid_text(c, &item, NULL, text, ks_err_detail(c, "if '%.*s/*' is present, must not specify %.*s", (int)resource.n, resource.p,
				(int)text.n, text.p));
		if (has_pair(list, i, "*/", sub, ""))
			ks_err_invalid_text(c, &item, NULL, text, ks_err_detail(c, "if '*/%.*s' is present, must not specify %.*s", (int)sub.n, sub.p,
				(int)text.n, text.p));
	}
	if (two_stars && list->n > 1)
		ks_err_invalid(c, path, NULL, list, "if '*/*' is present, must not specify other resources");
	if (one_star && whole)
		ks_err_invalid(c, path, NULL, list, "if '*' is present, must not specify other resources without subresources");
}

void ks_admission_rule(struct ks_check *c, const struct ks_path *path, const struct ks_value *rule)
{
	static const char *const known[] = {"*", "CONNECT", "CREATE", "DELETE", "UPDATE", NULL}, *const scopes[] = {"*", "Cluster", "Namespaced", NULL};
	const struct ks_value *operations = KS_IN_LIST(c, rule, "operations"), *versions = KS_IN_LIST(c, rule, "apiVersions");
	struct ks_path at = ks_path_child(path, "operations"), at_versions = ks_path_child(path, "apiVersions"), at_resources = ks_path_child(path, "resources");

	check_texts(c, path, "operations", rule, "operations");
	for (uint32_t i = 0; i < ks_value_count(operations); i++) {
		struct ks_path item = ks_path_index(&at, i);

		ks_check_one_of(c, &item, NULL, ks_value_str(&operations->items[i]), known);
	}
	check_texts(c, path, "apiGroups", rule, "API groups");
	check_texts(c, path, "apiVersions", rule, "API versions");
	for (uint32_t i = 0; i < ks_value_count(versions); i++) {
		struct ks_path item = ks_path_index(&at_versions, i);

		if (!ks_value_str(&versions->items[i]).n)
			ks_err_required(c, &item, NULL, "");
	}
	check_resources(c, &at_resources, KS_IN_LIST(c, rule, "resources"));
	ks_admission_choice(c, path, "scope", KS_IN(c, rule, "scope"), scopes);
}

static bool is_blank(struct ks_str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (!strchr(" \t\r\n\v\f", text.p[i]))
			return false;
	return true;
}

void ks_admission_match_conditions(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	if (ks_value_count(list) > CONDITIONS_MOST)
		ks_err_too_many(c, path, NULL, list->n, CONDITIONS_MOST);
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(path, i);
		struct ks_str name = KS_IN_TEXT(c, &list->items[i], "name");
		bool seen = false;

		if (is_blank(KS_IN_TEXT(c, &list->items[i], "expression")))
			ks_err_required(c, &item, "expression", "");
		ks_check_required_name(c, &item, "name", KS_NAME_LABEL_KEY, name);
		for (uint32_t k = 0; name.n && k < i && !seen; k++)
			seen = ks_str_eq(name, KS_IN_TEXT(c, &list->items[k], "name"));
		if (seen)
			ks_err_duplicate_text(c, &item, "name", name);
	}
}

/* -- clients ------------------------------------------------------------------------------------------------------ */

/* The parts of a URL; all that is there is looked at. */
struct url {
	struct ks_str scheme, user, host, path, query, fragment;
	bool has_user;
};

static struct ks_str cut(struct ks_str *text, char at)
{
	const char *p = text->n ? memchr(text->p, at, text->n) : NULL;
	struct ks_str rest = {0};

	if (!p)
		return rest;
	rest = ks_str_of(p + 1, text->n - (size_t)(p + 1 - text->p));
	text->n = (size_t)(p - text->p);
	return rest;
}

static size_t scheme_of(struct ks_str text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == ':')
			return i;
		if (!isalpha((unsigned char)text.p[i]) && (!i || (!isdigit((unsigned char)text.p[i]) && !strchr("+-.", text.p[i]))))
			break;
	}
	return 0;
}

static struct url parse_url(struct ks_str text)
{
	struct url url = {0};

	url.fragment = cut(&text, '#');
	url.query = cut(&text, '?');
	url.scheme = ks_str_of(text.p, scheme_of(text));
	if (url.scheme.n)
		text = ks_str_of(text.p + url.scheme.n + 1, text.n - url.scheme.n - 1);
	if (ks_str_starts_with(text, "//")) {
		const char *at;

		url.host = ks_str_of(text.p + 2, text.n - 2);
		text = cut(&url.host, '/');
		at = url.host.n ? memrchr(url.host.p, '@', url.host.n) : NULL;
		if (at) {
			url.has_user = true;
			url.user = ks_str_of(url.host.p, (size_t)(at - url.host.p));
			url.host = ks_str_of(at + 1, url.host.n - url.user.n - 1);
		}
	}
	url.path = text;
	return url;
}

static const char *wrong_escape(struct ks_check *c, struct ks_str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == '%' && (i + 2 >= text.n || !isxdigit((unsigned char)text.p[i + 1]) || !isxdigit((unsigned char)text.p[i + 2])))
			return ks_err_detail(c, "invalid URL escape %s", ks_quote(c->arena, ks_str_of(text.p + i, text.n - i < 3 ? text.n - i : 3)));
	return NULL;
}

static const char *wrong_host(struct ks_check *c, struct ks_str host)
{
	const char *end = host.n && host.p[0] == '[' ? memrchr(host.p, ']', host.n) : NULL;
	const char *colon = end ? end + 1 : host.n ? memrchr(host.p, ':', host.n) : NULL;
	struct ks_str port = colon ? ks_str_of(colon, host.n - (size_t)(colon - host.p)) : (struct ks_str){0};

	if (host.n && host.p[0] == '[' && !end)
		return "missing ']' in host";
	for (size_t i = 0; i < port.n; i++)
		if (i ? !isdigit((unsigned char)port.p[i]) : port.p[i] != ':')
			return ks_err_detail(c, "invalid port %s after host", ks_quote(c->arena, port));
	for (size_t i = 0; i < host.n; i++)
		if (!(host.p[i] & 0x80) && !isalnum((unsigned char)host.p[i]) && !strchr("!$&'()*+,;=:[]<>\"-_.~%", host.p[i]))
			return ks_err_detail(c, "invalid character %s in host name", ks_quote(c->arena, ks_str_of(host.p + i, 1)));
	return wrong_escape(c, host);
}

/* What Go says of a text that is no URL; NULL when it is one. */
static const char *wrong_url(struct ks_check *c, struct ks_str text, const struct url *url)
{
	const char *slash = url->path.n ? memchr(url->path.p, '/', url->path.n) : NULL, *wrong;

	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
			return "net/url: invalid control character in URL";
	if (text.n && text.p[0] == ':')
		return "missing protocol scheme";
	if (!url->scheme.n && !url->host.n && url->path.n && memchr(url->path.p, ':', slash ? (size_t)(slash - url->path.p) : url->path.n))
		return "first path segment in URL cannot contain colon";
	wrong = wrong_host(c, url->host);
	return wrong ? wrong : wrong_escape(c, url->path);
}

static void check_url(struct ks_check *c, const struct ks_path *path, struct ks_str text)
{
	struct url url = parse_url(text);
	const char *wrong = wrong_url(c, text, &url);

	cut(&text, '#');
	if (wrong) {
		ks_err_required(c, path, NULL, ks_err_detail(c, "url must be a valid URL: parse %s: %s; desired format: https://host[/path]",
			ks_quote(c->arena, text), wrong));
		return;
	}
	if (url.scheme.n != 5 || strncasecmp(url.scheme.p, "https", 5) != 0)
		ks_err_invalid_text(c, path, NULL, url.scheme, "'https' is the only allowed URL scheme; desired format: https://host[/path]");
	if (!url.host.n)
		ks_err_invalid_text(c, path, NULL, url.host, "host must be specified; desired format: https://host[/path]");
	if (url.has_user)
		ks_err_invalid_text(c, path, NULL, url.user, "user information is not permitted in the URL");
	if (url.fragment.n)
		ks_err_invalid_text(c, path, NULL, url.fragment, "fragments are not permitted in the URL");
	if (url.query.n)
		ks_err_invalid_text(c, path, NULL, url.query, "query parameters are not permitted in the URL");
}

static void check_url_path(struct ks_check *c, const struct ks_path *path, struct ks_str text)
{
	struct ks_str rest;
	struct ks_name_errors errors;

	if (!text.n || ks_str_is(text, "/"))
		return;
	if (ks_str_is(text, "//")) {
		ks_err_invalid_text(c, path, "path", text, "segment[0] may not be empty");
		return;
	}
	if (text.p[0] != '/')
		ks_err_invalid_text(c, path, "path", text, "must start with a '/'");
	rest = ks_str_of(text.p + 1, text.n - 1);
	if (rest.n && rest.p[rest.n - 1] == '/')
		rest.n--;
	for (unsigned i = 0;; i++) {
		bool last = !rest.n || !memchr(rest.p, '/', rest.n);
		struct ks_str step = rest, after = cut(&step, '/');

		if (!step.n)
			ks_err_invalid_text(c, path, "path", text, ks_err_detail(c, "segment[%u] may not be empty", i));
		else if (!ks_name_check(KS_NAME_DNS1123_SUBDOMAIN, step, &errors))
			for (unsigned k = 0; k < errors.n; k++)
				ks_err_invalid_text(c, path, "path", text, ks_err_detail(c, "segment[%u]: %s", i, errors.text[k]));
		if (last)
			return;
		rest = after;
	}
}

static void check_service(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	int64_t port = KS_IN_INT(c, v, "port", 443);

	if (!KS_IN_TEXT(c, v, "name").n)
		ks_err_required(c, path, "name", "service name is required");
	if (!KS_IN_TEXT(c, v, "namespace").n)
		ks_err_required(c, path, "namespace", "service namespace is required");
	if (port < 1 || port > 65535)
		ks_err_invalid_int(c, path, "port", port, "port is not valid: must be between 1 and 65535, inclusive");
	check_url_path(c, path, KS_IN_TEXT(c, v, "path"));
}

static void check_client(struct ks_check *c, const struct ks_path *path, const struct ks_value *client)
{
	const struct ks_value *url = KS_IN(c, client, "url"), *service = KS_IN(c, client, "service");
	struct ks_path at = ks_path_child(path, "url"), below = ks_path_child(path, "service");

	if (!url == !service)
		ks_err_required(c, path, NULL, "exactly one of url or service is required");
	else if (url)
		check_url(c, &at, ks_value_str(url));
	else
		check_service(c, &below, service);
}

/* -- webhooks ----------------------------------------------------------------------------------------------------- */

/* A domain of three parts at least. */
static void check_name(struct ks_check *c, const struct ks_path *path, struct ks_str name)
{
	unsigned dots = 0;

	for (size_t i = 0; i < name.n; i++)
		dots += name.p[i] == '.';
	if (!name.n)
		ks_err_required(c, path, "name", "");
	else if (ks_check_name(c, path, "name", KS_NAME_DNS1123_SUBDOMAIN, name) && dots < 2)
		ks_err_invalid_text(c, path, "name", name, "should be a domain with at least three segments separated by dots");
}

static void check_versions(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	if (!ks_value_count(list)) {
		ks_err_required(c, path, NULL, "must specify one of v1, v1beta1");
		return;
	}
	for (uint32_t i = 0; i < list->n; i++) {
		struct ks_path item = ks_path_index(path, i);
		bool seen = false;

		for (uint32_t k = 0; k < i && !seen; k++)
			seen = ks_value_equal(&list->items[i], &list->items[k]);
		if (seen)
			ks_err_invalid(c, &item, NULL, &list->items[i], "duplicate version");
		ks_check_name(c, &item, NULL, KS_NAME_DNS1035_LABEL, ks_value_str(&list->items[i]));
	}
	if (!ks_list_has(list, KS_STR_LIT("v1")) && !ks_list_has(list, KS_STR_LIT("v1beta1")))
		ks_err_invalid(c, path, NULL, list, "must include at least one of v1, v1beta1");
}

static void check_webhook(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, bool mutating)
{
	static const char *const effects[] = {"None", "NoneOnDryRun", NULL};
	const struct ks_value *rules = KS_IN_LIST(c, v, "rules"), *seconds = KS_IN(c, v, "timeoutSeconds"), *effect = KS_IN(c, v, "sideEffects");
	struct ks_path at = ks_path_child(path, "rules"), client = ks_path_child(path, "clientConfig"), conditions = ks_path_child(path, "matchConditions");
	int64_t n = ks_value_int_or(seconds, 1);

	check_name(c, path, KS_IN_TEXT(c, v, "name"));
	for (uint32_t i = 0; i < ks_value_count(rules); i++) {
		struct ks_path item = ks_path_index(&at, i);

		ks_admission_rule(c, &item, &rules->items[i]);
	}
	ks_admission_choice(c, path, "failurePolicy", KS_IN(c, v, "failurePolicy"), failure_policies);
	ks_admission_choice(c, path, "matchPolicy", KS_IN(c, v, "matchPolicy"), match_policies);
	if (!effect)
		ks_err_required(c, path, "sideEffects", "must specify one of None, NoneOnDryRun");
	ks_admission_choice(c, path, "sideEffects", effect, effects);
	if (n < 1 || n > SECONDS_MOST)
		ks_err_invalid_int(c, path, "timeoutSeconds", n, "the timeout value must be between 1 and 30 seconds");
	ks_check_label_selector(c, path, "namespaceSelector", KS_IN(c, v, "namespaceSelector"), 0);
	ks_check_label_selector(c, path, "objectSelector", KS_IN(c, v, "objectSelector"), 0);
	if (mutating)
		ks_admission_choice(c, path, "reinvocationPolicy", ks_value_get(c->schema, v, "reinvocationPolicy"), reinvocation_policies);
	check_client(c, &client, KS_IN(c, v, "clientConfig"));
	ks_admission_match_conditions(c, &conditions, KS_IN_LIST(c, v, "matchConditions"));
}

static void check_configuration(struct ks_check *c, const struct ks_value *object, bool mutating)
{
	const struct ks_value *list = KS_IN_LIST(c, object, "webhooks");
	struct ks_path path = ks_path_root("webhooks");

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&path, i), versions = ks_path_child(&item, "admissionReviewVersions");
		struct ks_str name = KS_IN_TEXT(c, &list->items[i], "name");
		bool seen = false;

		check_webhook(c, &item, &list->items[i], mutating);
		check_versions(c, &versions, KS_IN_LIST(c, &list->items[i], "admissionReviewVersions"));
		for (uint32_t k = 0; name.n && k < i && !seen; k++)
			seen = ks_str_eq(name, KS_IN_TEXT(c, &list->items[k], "name"));
		if (seen)
			ks_err_duplicate_text(c, &item, "name", name);
	}
}

void ks_validate_validatingwebhookconfiguration(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);

	(void)old;
	check_configuration(&c, object, false);
}

void ks_validate_mutatingwebhookconfiguration(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);

	(void)old;
	check_configuration(&c, object, true);
}
