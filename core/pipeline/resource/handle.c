/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* By verb and subresource to the handler. */
#include "core/pipeline/resource/handlers.h"
#include "core/pipeline/resource/verbs.h"
#include "core/pipeline/server.h"

static enum ks_stage_result no_method(struct ks_request *request)
{
	ks_status_set(&request->status, &request->arena, 405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
	request->status.has_details = true;
	return KS_STAGE_FAILED;
}

static bool is_stored(const struct ks_request *request)
{
	const struct ks_schema *s = request->server->schema;
	const struct ks_resource *r = &s->resources[s->resources[request->info.resource_index].parent];

	return ks_schema_text(s, s->resources[r->storage].storage_prefix)[0] != 0;
}

static enum ks_stage_result handle_scale(struct ks_request *request)
{
	if (ks_str_is(request->info.verb, "get"))
		return ks_resource_get_scale(request);
	if (ks_str_is(request->info.verb, "update") || ks_str_is(request->info.verb, "patch"))
		return ks_resource_write_scale(request);
	return no_method(request);
}

/* The part of an object that is read and written as the whole. */
static bool is_part(struct ks_str subresource)
{
	static const char *const parts[] = {"status", "finalize", "approval", "ephemeralcontainers", "resize"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (ks_str_is(subresource, parts[i]))
			return true;
	return !subresource.n;
}

/* What a node or a signer would have to answer: of an object that isn't there, that is said first. */
static enum ks_stage_result not_here(struct ks_request *request)
{
	static const char *const elsewhere[] = {"log", "proxy", "exec", "attach", "portforward", "token"};
	const struct ks_schema *s = request->server->schema;
	const struct ks_resource *r = &s->resources[s->resources[request->info.resource_index].parent];
	struct ks_cache_resource *cache = ks_cache_find(request->server->cache, r->storage);
	struct ks_object *object;

	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		if (!ks_str_is(request->info.subresource, elsewhere[i]) || !cache)
			continue;
		object = ks_cache_get(cache, request->info.ns, request->info.name);
		if (!object) {
			ks_status_not_found(&request->status, &request->arena, ks_schema_text(s, r->group), ks_schema_text(s, r->resource), request->info.name);
			return KS_STAGE_FAILED;
		}
		ks_object_unref(object);
	}
	return no_method(request);
}

/* What is posted and never kept. */
static enum ks_stage_result (*order_handler(const struct ks_request_info *info))(struct ks_request *request)
{
	if (info->group.n || !ks_str_is(info->verb, "create"))
		return NULL;
	if (ks_str_is(info->resource, "bindings") && !info->subresource.n)
		return ks_resource_bind;
	if (!ks_str_is(info->resource, "pods"))
		return NULL;
	if (ks_str_is(info->subresource, "binding"))
		return ks_resource_bind;
	return ks_str_is(info->subresource, "eviction") ? ks_resource_evict : NULL;
}

static const struct { const char *verb; enum ks_stage_result (*run)(struct ks_request *request); bool whole; } verbs[] = {
	{"get", ks_resource_get, false}, {"list", ks_resource_list, true}, {"watch", ks_resource_watch, true},
	{"create", ks_resource_create, true}, {"update", ks_resource_update, false}, {"patch", ks_resource_patch, false},
	{"delete", ks_resource_delete, true}, {"deletecollection", ks_resource_delete_collection, true},
};

/* Kinds that nobody should use any more say so with every answer. */
static void warn_deprecated(struct ks_request *request)
{
	const struct ks_request_info *info = &request->info;

	if (info->group.n || !ks_str_is(info->version, "v1"))
		return;
	if (ks_str_is(info->resource, "endpoints"))
		ks_request_warn(request, KS_STR_LIT("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"));
	else if (ks_str_is(info->resource, "componentstatuses"))
		ks_request_warn(request, KS_STR_LIT("v1 ComponentStatus is deprecated in v1.19+"));
}

enum ks_stage_result ks_resource_handle(struct ks_request *request)
{
	struct ks_handler_run *handler = request->handler_data;
	struct ks_str subresource = request->info.subresource;
	enum ks_stage_result (*order)(struct ks_request *request);

	if (handler)
		return handler->run(handler);
	warn_deprecated(request);
	if (!request->info.group.n && ks_str_is(request->info.resource, "componentstatuses"))
		return ks_resource_component(request);
	order = order_handler(&request->info);
	if (order)
		return order(request);
	if (!is_stored(request))
		return no_method(request);
	if (ks_str_is(subresource, "scale"))
		return handle_scale(request);
	if (!is_part(subresource))
		return not_here(request);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (ks_str_is(request->info.verb, verbs[i].verb) && !(verbs[i].whole && subresource.n))
			return verbs[i].run(request);
	return no_method(request);
}
