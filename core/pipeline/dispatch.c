/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The last stage: the handler of the path. What is not there, or not in that way, is answered here. */
#include "core/api/quote.h"
#include "core/pipeline/chain.h"
#include "core/pipeline/lane.h"
#include "core/pipeline/routes.h"
#include "core/pipeline/server.h"

#define NOT_ACCEPTABLE "406: Not Acceptable\n\nAvailable representations: "
#define TYPES "application/json, application/yaml, application/vnd.kubernetes.protobuf"
#define STREAM_TYPES "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"

/* What was found the first time; the stage is called again after waiting. */
struct dispatch {
	ks_handler run; /* NULL: a resource's */
	void *arg;
};

/* -- what isn't there ------------------------------------------------------------------------------------------ */

enum ks_stage_result ks_no_page(struct ks_request *request)
{
	ks_request_respond_text(request, 404, "404 page not found\n");
	return KS_STAGE_ANSWERED;
}

/* These answers have an empty `details`. */
static enum ks_stage_result refuse(struct ks_request *request, int code, const char *reason, const char *message)
{
	ks_status_set(&request->status, &request->arena, code, reason, "%s", message);
	request->status.has_details = true;
	return KS_STAGE_FAILED;
}

enum ks_stage_result ks_no_resource(struct ks_request *request)
{
	return refuse(request, 404, "NotFound", "the server could not find the requested resource");
}

enum ks_stage_result ks_no_method(struct ks_request *request, const char *allow)
{
	request->allow = allow;
	return refuse(request, 405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
}

bool ks_check_accept(struct ks_request *request, bool stream)
{
	static const char *const types[] = {
		"application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor", "application/cbor-seq"};
	bool cbor = ks_request_has_feature(request, KS_FEATURE_CBOR);
	size_t n = !cbor ? 3 : stream ? 5 : 4;

	if (request->inner || ks_accepts(ks_request_header_view(request, "accept"), types, n))
		return true;
	if (cbor && stream)
		(void)refuse(request, 406, "NotAcceptable", NOT_ACCEPTABLE TYPES ", application/cbor, " STREAM_TYPES ", application/cbor-seq");
	else if (cbor)
		(void)refuse(request, 406, "NotAcceptable", NOT_ACCEPTABLE TYPES ", application/cbor");
	else if (stream)
		(void)refuse(request, 406, "NotAcceptable", NOT_ACCEPTABLE TYPES ", " STREAM_TYPES);
	else
		(void)refuse(request, 406, "NotAcceptable", NOT_ACCEPTABLE TYPES);
	return false;
}

/* -- resources ------------------------------------------------------------------------------------------------- */

enum method { GET = 1 << 0, POST = 1 << 1, PUT = 1 << 2, PATCH = 1 << 3, DELETE = 1 << 4 };

static const struct {
	const char *name;
	enum method bit;
} methods[] = {
	{"GET", GET},
	{"POST", POST},
	{"PUT", PUT},
	{"PATCH", PATCH},
	{"DELETE", DELETE},
};

static unsigned methods_of_collection(uint16_t verbs)
{
	return (verbs & KS_VERB_LIST ? GET : 0) | (verbs & KS_VERB_CREATE ? POST : 0) | (verbs & KS_VERB_DELETECOLLECTION ? DELETE : 0);
}

static unsigned methods_of_item(uint16_t verbs)
{
	return (verbs & KS_VERB_GET ? GET : 0) | (verbs & KS_VERB_UPDATE ? PUT : 0) | (verbs & KS_VERB_PATCH ? PATCH : 0) |
		(verbs & KS_VERB_DELETE ? DELETE : 0);
}

/* The methods of the path that is asked for; 0: there is no such path. */
static unsigned methods_of_path(const struct ks_request *request)
{
	const struct ks_request_info *info = &request->info;
	const struct ks_resource *r = &request->server->schema->resources[info->resource_index];
	bool has_ns = info->ns.n > 0 && !ks_str_is(info->resource, "namespaces"), namespaced = r->scope == KS_SCOPE_NAMESPACED;

	if (info->n_parts >= 2 && info->name.n == 0)
		return 0;
	if (has_ns && !namespaced)
		return 0;
	if (namespaced && !has_ns)
		return info->n_parts == 1 && r->verbs & KS_VERB_LIST ? GET : 0;
	if (info->watch_prefix)
		return info->n_parts <= 2 && r->verbs & KS_VERB_WATCH ? GET : 0;
	switch (info->n_parts) {
	case 1:
		return methods_of_collection(r->verbs);
	case 2:
		return methods_of_item(r->verbs);
	case 3:
		break;
	default:
		if (!ks_str_is(info->subresource, "proxy"))
			return 0;
	}
	return methods_of_item(r->verbs) | (r->verbs & KS_VERB_CREATE ? POST : 0);
}

static unsigned method_bit(struct ks_str method)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		if (ks_str_is(method, methods[i].name))
			return methods[i].bit;
	return 0;
}

static const char *allow_text(struct ks_arena *arena, unsigned allowed)
{
	const char *text = "";

	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods) && text; i++)
		if (allowed & methods[i].bit)
			text = ks_arena_printf(arena, "%s%s%s", text, *text ? ", " : "", methods[i].name);
	return text;
}

static bool is_group_served(const struct ks_schema *schema, struct ks_str group)
{
	for (uint32_t i = 0; i < schema->n_group_versions; i++)
		if (ks_str_is(group, ks_schema_text(schema, schema->group_versions[i].group)))
			return true;
	return false;
}

/* Logs are text and proxies anything: their handlers negotiate for themselves. */
static bool checks_accept(const struct ks_request_info *info)
{
	static const char *const others[] = {"log", "exec", "attach", "portforward", "proxy"};

	for (size_t i = 0; info->subresource.n && i < sizeof(others) / sizeof(*others); i++)
		if (ks_str_is(info->subresource, others[i]))
			return false;
	return true;
}

/* Names that no object can have, because paths could not say them. */
static const char *fault_of_name(struct ks_str name)
{
	if (ks_str_is(name, "."))
		return "may not be '.'";
	if (ks_str_is(name, ".."))
		return "may not be '..'";
	return name.n && memchr(name.p, '%', name.n) ? "may not contain '%'" : NULL;
}

static enum ks_stage_result refuse_name(struct ks_request *request, const char *fault)
{
	const char *quoted = ks_quote(&request->arena, request->info.name);

	ks_status_bad_request(&request->status, &request->arena, "Name parameter invalid: %s: %s", quoted ? quoted : "", fault);
	return KS_STAGE_FAILED;
}

/* What Kubernetes means to give up one day. */
static void warn_of_deprecation(struct ks_request *request)
{
	static const struct {
		const char *resource, *warning;
	} deprecated[] = {
		{"endpoints", "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"},
		{"componentstatuses", "v1 ComponentStatus is deprecated in v1.19+"},
	};
	const struct ks_request_info *info = &request->info;

	for (size_t i = 0; info->group.n == 0 && i < sizeof(deprecated) / sizeof(*deprecated); i++)
		if (ks_str_is(info->resource, deprecated[i].resource))
			ks_request_warn(request, ks_str_from(deprecated[i].warning));
}

static enum ks_stage_result find_resource(struct ks_request *request)
{
	const struct ks_request_info *info = &request->info;
	unsigned allowed, method = method_bit(request->method);
	const char *fault = fault_of_name(info->name);

	if (info->resource_index == KS_NO_RESOURCE)
		return ks_str_is(info->api_prefix, "api") || is_group_served(request->server->schema, info->group) ? ks_no_resource(request)
														   : ks_no_page(request);
	allowed = methods_of_path(request);
	if (!allowed)
		return ks_no_resource(request);
	if (!(allowed & method))
		return ks_no_method(request, allow_text(&request->arena, allowed));
	if (checks_accept(info) && !ks_check_accept(request, method == GET && (info->n_parts == 1 || info->watch_prefix)))
		return KS_STAGE_FAILED;
	warn_of_deprecation(request);
	return fault ? refuse_name(request, fault) : KS_STAGE_NEXT;
}

/* -- the stage ------------------------------------------------------------------------------------------------- */

static enum ks_stage_result find_route(struct ks_request *request, struct dispatch *d)
{
	const struct ks_route *route = ks_routes_find(request->server->routes, request->info.path);

	if (!route)
		return ks_no_page(request);
	request->metric_path = route->metric;
	if ((route->flags & KS_ROUTE_GET_ONLY) && !ks_str_is(request->method, "GET"))
		return ks_no_method(request, "GET");
	d->run = route->run;
	d->arg = route->arg;
	return KS_STAGE_NEXT;
}

enum ks_stage_result ks_stage_dispatch(struct ks_request *request)
{
	struct dispatch *d = request->stage_data;
	enum ks_stage_result found;

	if (!d) {
		d = ks_arena_zalloc(&request->arena, 1, sizeof(*d));
		if (!d) {
			ks_status_internal(&request->status, &request->arena, "out of memory");
			return KS_STAGE_FAILED;
		}
		found = request->info.is_resource ? find_resource(request) : find_route(request, d);
		if (found != KS_STAGE_NEXT)
			return found;
		request->stage_data = d;
	}
	return d->run ? d->run(request, d->arg) : ks_resource_handle(request);
}
