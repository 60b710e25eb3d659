/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Ingresses and their classes. */
#include "core/registry/validate/common.h"
#include "core/registry/validate/kinds.h"

enum { CONTROLLER_BYTES = 250 };

static bool is_ip(struct ks_check *c, struct ks_str text)
{
	struct ks_status aside = {0};
	struct ks_check quiet = *c;
	struct ks_path path = ks_path_root("ip");

	quiet.status = &aside;
	return ks_check_ip(&quiet, &path, NULL, text, false);
}

/* -- backends ----------------------------------------------------------------------------------------------------- */

static void check_reference(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	struct ks_str kind = KS_IN_TEXT(c, v, "kind"), name = KS_IN_TEXT(c, v, "name");

	if (KS_IN(c, v, "apiGroup"))
		ks_check_name(c, path, "apiGroup", KS_NAME_DNS1123_SUBDOMAIN, KS_IN_TEXT(c, v, "apiGroup"));
	if (!kind.n)
		ks_err_required(c, path, "kind", "");
	else
		ks_check_name(c, path, "kind", KS_NAME_PATH_SEGMENT, kind);
	if (!name.n)
		ks_err_required(c, path, "name", "");
	else
		ks_check_name(c, path, "name", KS_NAME_PATH_SEGMENT, name);
}

static void check_service_backend(struct ks_check *c, const struct ks_path *path, const struct ks_value *service)
{
	const struct ks_value *port = KS_IN(c, service, "port");
	struct ks_str name = KS_IN_TEXT(c, port, "name");
	int64_t number = KS_IN_INT(c, port, "number", 0);

	ks_check_required_name(c, path, "service.name", KS_NAME_DNS1123_LABEL, KS_IN_TEXT(c, service, "name"));
	if (name.n && number)
		ks_err_invalid_text(c, path, NULL, (struct ks_str){0}, "cannot set both port name & port number");
	else if (name.n)
		ks_check_name(c, path, "service.port.name", KS_NAME_PORT, name);
	else if (number)
		ks_check_port(c, path, "service.port.number", number);
	else
		ks_err_required(c, path, NULL, "port name or number is required");
}

static void check_backend(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *resource = KS_IN(c, v, "resource"), *service = KS_IN(c, v, "service");
	struct ks_path at = ks_path_child(path, "resource");

	if (resource && service)
		ks_err_invalid_text(c, path, NULL, (struct ks_str){0}, "cannot set both resource and service backends");
	else if (resource)
		check_reference(c, &at, resource);
	else if (service)
		check_service_backend(c, path, service);
	else
		ks_err_invalid_text(c, path, NULL, (struct ks_str){0}, "resource or service backend is required");
}

/* -- rules -------------------------------------------------------------------------------------------------------- */

static void check_url_path(struct ks_check *c, const struct ks_path *path, struct ks_str text)
{
	static const char *const inside[] = {"//", "/./", "/../", "%2f", "%2F"}, *const at_end[] = {"/..", "/."};

	if (!ks_str_starts_with(text, "/"))
		ks_err_invalid_text(c, path, "path", text, "must be an absolute path");
	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++)
		if (ks_str_has(text, inside[i]))
			ks_err_invalid_text(c, path, "path", text, ks_err_detail(c, "must not contain '%s'", inside[i]));
	for (size_t i = 0; i < sizeof(at_end) / sizeof(at_end[0]); i++)
		if (ks_str_ends_with(text, at_end[i]))
			ks_err_invalid_text(c, path, "path", text, ks_err_detail(c, "cannot end with '%s'", at_end[i]));
}

static void check_http_path(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char *const types[] = {"Exact", "ImplementationSpecific", "Prefix", NULL};
	const struct ks_value *type = KS_IN(c, v, "pathType");
	struct ks_str text = KS_IN_TEXT(c, v, "path");
	struct ks_path at = ks_path_child(path, "backend");

	if (!type) {
		ks_err_required(c, path, "pathType", "pathType must be specified");
		return;
	}
	if (ks_str_is(ks_value_str(type), "Exact") || ks_str_is(ks_value_str(type), "Prefix"))
		check_url_path(c, path, text);
	else if (!ks_str_is(ks_value_str(type), "ImplementationSpecific"))
		ks_err_not_supported(c, path, "pathType", ks_value_str(type), types);
	else if (text.n && text.p[0] != '/')
		ks_err_invalid_text(c, path, "path", text, "must be an absolute path");
	check_backend(c, &at, KS_IN(c, v, "backend"));
}

static void check_http(struct ks_check *c, const struct ks_path *path, const struct ks_value *rule)
{
	const struct ks_value *http = KS_IN(c, rule, "http"), *paths = KS_IN_LIST(c, http, "paths");
	struct ks_path at = ks_path_child(path, "http.paths");

	if (!http)
		return;
	if (!ks_value_count(paths))
		ks_err_required(c, &at, NULL, "");
	for (uint32_t i = 0; i < ks_value_count(paths); i++) {
		struct ks_path item = ks_path_index(&at, i);

		check_http_path(c, &item, &paths->items[i]);
	}
}

static bool is_wildcard(struct ks_str host)
{
	return host.n && memchr(host.p, '*', host.n);
}

static void check_rules(struct ks_check *c, const struct ks_path *path, const struct ks_value *rules, bool lax_wildcards)
{
	for (uint32_t i = 0; i < ks_value_count(rules); i++) {
		struct ks_path item = ks_path_index(path, i);
		struct ks_str host = KS_IN_TEXT(c, &rules->items[i], "host");

		if (host.n && is_ip(c, host))
			ks_err_invalid_text(c, &item, "host", host, "must be a DNS name, not an IP address");
		if (host.n)
			ks_check_name(c, &item, "host", is_wildcard(host) ? KS_NAME_WILDCARD_SUBDOMAIN : KS_NAME_DNS1123_SUBDOMAIN, host);
		if (!is_wildcard(host) || !lax_wildcards)
			check_http(c, &item, &rules->items[i]);
	}
}

static void check_tls(struct ks_check *c, const struct ks_path *path, const struct ks_value *list, bool lax_names)
{
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		const struct ks_value *hosts = KS_IN_LIST(c, &list->items[i], "hosts");
		struct ks_path item = ks_path_index(path, i), at = ks_path_child(&item, "hosts");
		struct ks_str secret = KS_IN_TEXT(c, &list->items[i], "secretName");

		for (uint32_t k = 0; k < ks_value_count(hosts); k++) {
			struct ks_path below = ks_path_index(&at, k);
			struct ks_str host = ks_value_str(&hosts->items[k]);

			ks_check_name(c, &below, NULL, is_wildcard(host) ? KS_NAME_WILDCARD_SUBDOMAIN : KS_NAME_DNS1123_SUBDOMAIN, host);
		}
		if (secret.n && !lax_names)
			ks_check_name(c, &item, "secretName", KS_NAME_DNS1123_SUBDOMAIN, secret);
	}
}

/* Was there a name of a secret before that is no proper one? */
static bool had_bad_names(struct ks_check *c, const struct ks_value *spec)
{
	const struct ks_value *list = KS_IN_LIST(c, spec, "tls");

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_str name = KS_IN_TEXT(c, &list->items[i], "secretName");

		if (name.n && !ks_name_check(KS_NAME_DNS1123_SUBDOMAIN, name, NULL))
			return true;
	}
	return false;
}

static bool had_bad_wildcards(struct ks_check *c, const struct ks_value *spec)
{
	const struct ks_value *rules = KS_IN_LIST(c, spec, "rules");
	struct ks_status aside = {0};
	struct ks_check quiet = *c;
	struct ks_path path = ks_path_root("rules");

	quiet.status = &aside;
	for (uint32_t i = 0; i < ks_value_count(rules); i++)
		if (is_wildcard(KS_IN_TEXT(c, &rules->items[i], "host")))
			check_http(&quiet, &path, &rules->items[i]);
	return aside.causes != NULL;
}

/* -- ingresses ---------------------------------------------------------------------------------------------------- */

static void check_status(struct ks_check *c, const struct ks_value *object, const struct ks_value *old)
{
	const struct ks_value *list = KS_IN_LIST(c, KS_IN(c, KS_IN(c, object, "status"), "loadBalancer"), "ingress");
	struct ks_path path = ks_path_root("status.loadBalancer.ingress");

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&path, i);
		struct ks_str ip = KS_IN_TEXT(c, &list->items[i], "ip"), host = KS_IN_TEXT(c, &list->items[i], "hostname");

		if (ip.n)
			ks_check_new_ip(c, &item, "ip", ip, KS_IN(c, old, "status"));
		if (!host.n)
			continue;
		ks_check_name(c, &item, "hostname", KS_NAME_DNS1123_SUBDOMAIN, host);
		if (is_ip(c, host))
			ks_err_invalid_text(c, &item, "hostname", host, "must be a DNS name, not an IP address");
	}
}

/* The annotation that came before the field must say the same. */
static void check_class_note(struct ks_check *c, const struct ks_value *object, const struct ks_value *class)
{
	const struct ks_value *notes = KS_IN(c, KS_IN(c, object, "metadata"), "annotations");
	const struct ks_value *note = notes ? ks_value_get_str(c->schema, notes, KS_STR_LIT("kubernetes.io/ingress.class")) : NULL;
	struct ks_path path = ks_path_root("annotations.kubernetes.io/ingress.class");

	if (note && class && !ks_value_equal(note, class))
		ks_err_invalid_text(c, &path, NULL, ks_value_str(note), "must match `ingressClassName` when both are specified");
}

void ks_validate_ingress(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec"), rules_path = ks_path_child(&path, "rules"), tls = ks_path_child(&path, "tls");
	struct ks_path backend_path = ks_path_child(&path, "defaultBackend");
	struct ks_value spec = ks_struct_in(&c, object, "spec"), before = {0};
	const struct ks_value *backend = KS_IN(&c, &spec, "defaultBackend"), *rules = KS_IN_LIST(&c, &spec, "rules");
	const struct ks_value *class = KS_IN(&c, &spec, "ingressClassName");

	if (ctx->subresource.n) {
		check_status(&c, object, old);
		return;
	}
	if (old)
		before = ks_struct_in(&c, old, "spec");
	if (!ks_value_count(rules) && !backend)
		ks_err_invalid_slot(&c, &path, NULL, &spec, "rules", "either `defaultBackend` or `rules` must be specified");
	if (backend)
		check_backend(&c, &backend_path, backend);
	check_rules(&c, &rules_path, rules, old && had_bad_wildcards(&c, &before));
	check_tls(&c, &tls, KS_IN_LIST(&c, &spec, "tls"), old && had_bad_names(&c, &before));
	if (class)
		ks_check_name(&c, &path, "ingressClassName", KS_NAME_DNS1123_SUBDOMAIN, ks_value_str(class));
	if (!old)
		check_class_note(&c, object, class);
}

/* -- classes ------------------------------------------------------------------------------------------------------ */

static void check_class_parameters(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char *const scopes[] = {"Cluster", "Namespace", NULL};
	const struct ks_value *scope = KS_IN(c, v, "scope"), *ns = KS_IN(c, v, "namespace");
	struct ks_str text = ks_value_str(scope);

	if (!v)
		return;
	check_reference(c, path, v);
	if (!scope) {
		ks_err_required(c, path, "scope", "");
		return;
	}
	if (!ks_check_one_of(c, path, "scope", text, scopes))
		return;
	if (ks_str_is(text, "Namespace") && !ns)
		ks_err_required(c, path, "namespace", "`parameters.scope` is set to 'Namespace'");
	else if (ks_str_is(text, "Namespace"))
		ks_check_name(c, path, "namespace", KS_NAME_DNS1123_LABEL, ks_value_str(ns));
	else if (ns)
		ks_err_forbidden(c, path, "namespace", "`parameters.scope` is set to 'Cluster'");
}

void ks_validate_ingressclass(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec"), controller = ks_path_child(&path, "controller"), parameters = ks_path_child(&path, "parameters");
	struct ks_value spec = ks_struct_in(&c, object, "spec"), before;
	struct ks_str name = KS_IN_TEXT(&c, &spec, "controller");

	if (old) {
		before = ks_struct_in(&c, old, "spec");
		ks_check_slot_immutable(&c, &controller, NULL, &spec, &before, "controller");
	}
	if (name.n > CONTROLLER_BYTES)
		ks_err_too_long(&c, &controller, NULL, CONTROLLER_BYTES);
	ks_check_domain_path(&c, &controller, name);
	check_class_parameters(&c, &parameters, KS_IN(&c, &spec, "parameters"));
}
