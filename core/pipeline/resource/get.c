/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/options.h"
#include "core/pipeline/resource/reply.h"
#include "core/pipeline/resource/revision.h"
#include "core/pipeline/resource/verbs.h"
#include "core/pipeline/server.h"

struct get {
	struct ks_handler_run handler;
	struct ks_request *request;
	struct ks_revision_wait wait;
};

static enum ks_stage_result answer(struct ks_request *request)
{
	const struct ks_schema *s = request->server->schema;
	uint16_t resource = s->resources[request->info.resource_index].parent;
	const struct ks_resource *r = &s->resources[resource];
	struct ks_str ns = r->scope == KS_SCOPE_NAMESPACED ? request->info.ns : (struct ks_str){0};
	struct ks_cache_resource *cache = ks_cache_find(request->server->cache, r->storage);
	struct ks_object *object = cache ? ks_cache_get(cache, ns, request->info.name) : NULL;
	enum ks_stage_result result;

	if (!object) {
		ks_status_not_found(&request->status, &request->arena, ks_schema_text(s, r->group), ks_schema_text(s, r->resource), request->info.name);
		return KS_STAGE_FAILED;
	}
	result = ks_reply_object(request, 200, object, resource, object->revision);
	ks_object_unref(object);
	return result;
}

static enum ks_stage_result again(struct ks_handler_run *handler)
{
	struct get *g = (struct get *)handler;

	return ks_revision_wait_result(&g->wait) ? KS_STAGE_FAILED : answer(g->request);
}

/* Not before the cache has seen that revision. */
static enum ks_stage_result wait_for(struct ks_request *request, uint64_t revision)
{
	const struct ks_schema *s = request->server->schema;
	struct ks_cache_resource *cache = ks_cache_find(request->server->cache, s->resources[request->info.resource_index].storage);
	struct get *g;

	if (!cache || ks_cache_revision(cache) >= revision)
		return answer(request);
	g = ks_arena_zalloc(&request->arena, 1, sizeof(*g));
	if (!g) {
		ks_status_internal(&request->status, &request->arena, "out of memory");
		return KS_STAGE_FAILED;
	}
	g->handler.run = again;
	g->request = request;
	request->handler_data = g;
	return ks_revision_wait_start(&g->wait, request, cache, revision);
}

enum ks_stage_result ks_resource_get(struct ks_request *request)
{
	const char *message;
	uint64_t revision;

	if (ks_request_negotiate(request, KS_ALLOW_PARTIAL | KS_ALLOW_TABLE))
		return KS_STAGE_FAILED;
	if (ks_revision_parse(&request->arena, ks_request_query(request, "resourceVersion"), &revision, &message)) {
		ks_status_set(&request->status, &request->arena, 500, NULL, "%s", message);
		return KS_STAGE_FAILED;
	}
	return revision ? wait_for(request, revision) : answer(request);
}
