/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/offload.h"
#include "core/pipeline/resource/options.h"
#include "core/pipeline/resource/reply.h"
#include "core/pipeline/resource/revision.h"
#include "core/pipeline/resource/verbs.h"
#include "core/pipeline/server.h"

struct get {
	struct ks_handler_run handler;
	struct ks_request *request;
	struct ks_revision_wait wait;
	struct ks_away *away;
};

static uint16_t resource_of(const struct ks_request *request)
{
	return request->server->schema->resources[request->info.resource_index].parent;
}

/* JSON is there as it is sent; all else is made of it, which costs more. */
static bool is_heavy(const struct ks_request *request, const struct ks_object *object)
{
	const struct ks_media *media = &request->media;
	bool as_it_is = media->format == KS_MEDIA_JSON && media->as == KS_AS_OBJECT && !media->pretty && object->resource == resource_of(request);

	return !as_it_is && object->json->len >= KS_HEAVY_BYTES / 8;
}

struct showing {
	struct ks_request_end end;
	struct ks_object *object;
};

static void end_showing(struct ks_request_end *end)
{
	ks_object_unref(((struct showing *)end)->object);
}

static enum ks_stage_result show(struct ks_request *copy, void *arg)
{
	struct ks_object *object = ((struct showing *)arg)->object;

	return ks_reply_object(copy, 200, object, resource_of(copy), object->revision);
}

static struct get *new_get(struct ks_request *request, enum ks_stage_result (*run)(struct ks_handler_run *handler))
{
	struct get *g = ks_arena_zalloc(&request->arena, 1, sizeof(*g));

	if (!g)
		return NULL;
	g->handler.run = run;
	g->request = request;
	request->handler_data = g;
	return g;
}

static enum ks_stage_result shown(struct ks_handler_run *handler)
{
	struct get *g = (struct get *)handler;
	enum ks_stage_result result;

	return ks_away_take(g->away, &result) ? result : KS_STAGE_PENDING;
}

/* Takes over the object when it does. */
static bool show_elsewhere(struct ks_request *request, struct ks_object *object)
{
	struct get *g = new_get(request, shown);
	struct showing *showing = ks_arena_zalloc(&request->arena, 1, sizeof(*showing));

	if (!g || !showing)
		return false;
	showing->object = object;
	if (!ks_request_leave(request, &g->away, show, showing))
		return false;
	ks_request_on_end(request, &showing->end, end_showing);
	return true;
}

static enum ks_stage_result answer(struct ks_request *request)
{
	const struct ks_schema *s = request->server->schema;
	uint16_t resource = resource_of(request);
	const struct ks_resource *r = &s->resources[resource];
	struct ks_str ns = r->scope == KS_SCOPE_NAMESPACED ? request->info.ns : (struct ks_str){0};
	struct ks_cache_resource *cache = ks_cache_find(request->server->cache, r->storage);
	struct ks_object *object = cache ? ks_cache_get(cache, ns, request->info.name) : NULL;
	enum ks_stage_result result;

	if (!object) {
		ks_status_not_found(
			&request->status, &request->arena, ks_schema_text(s, r->group), ks_schema_text(s, r->resource), request->info.name);
		return KS_STAGE_FAILED;
	}
	if (is_heavy(request, object) && show_elsewhere(request, object))
		return KS_STAGE_PENDING;
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
	g = new_get(request, again);
	if (!g) {
		ks_status_internal(&request->status, &request->arena, "out of memory");
		return KS_STAGE_FAILED;
	}
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
