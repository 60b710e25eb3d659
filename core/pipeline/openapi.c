/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* /openapi/v2, /openapi/v3 and the documents below it. */
#include "core/api/openapi.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "core/api/openapi_message.h"
#include "core/pipeline/discovery_state.h"
#include "core/pipeline/lane.h"
#include "core/pipeline/routes.h"
#include "core/pipeline/server.h"
#include "core/pipeline/version.h"

#define V3 "/openapi/v3/"
#define JSON "application/json"
#define MESSAGE "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
#define YEAR_SECONDS (365 * 24 * 3600)

struct ks_openapi_state {
	struct ks_openapi api;
	struct ks_documents *documents;
};

static int make_v2_message(struct ks_openapi_state *state, struct ks_bytes **bytes_r)
{
	struct ks_bytes *json;
	int rc = ks_openapi_v2_document(&state->api, &json);

	if (rc)
		return rc;
	rc = ks_openapi_v2_message(json, bytes_r);
	ks_bytes_unref(json);
	return rc;
}

/* Keys: "v2", "v2 message", "v3", "v3/PATH". */
static int make_document(void *arg, struct ks_str key, struct ks_bytes **bytes_r, char *hash)
{
	struct ks_openapi_state *state = arg;
	struct ks_str path;
	int rc;

	if (ks_str_is(key, "v2"))
		return ks_openapi_v2_document(&state->api, bytes_r);
	if (ks_str_is(key, "v2 message"))
		return make_v2_message(state, bytes_r);
	if (ks_str_is(key, "v3"))
		return ks_openapi_v3_index(&state->api, bytes_r);
	path = ks_str_of(key.p + 3, key.n - 3);
	rc = ks_openapi_v3_hash(&state->api, path, hash);
	return rc ? rc : ks_openapi_v3_document(&state->api, path, bytes_r);
}

/* These answers have no body. */
static enum ks_stage_result bare(struct ks_request *request, int code)
{
	static const struct ks_header vary = {{"vary", 4}, {"Accept", 6}};

	ks_request_respond(request, code, NULL, &vary, 1, NULL, 0);
	return KS_STAGE_ANSWERED;
}

static bool accepts_json(struct ks_request *request)
{
	static const char *const types[] = {JSON, "application/*"};

	return ks_accepts(ks_request_header_view(request, "accept"), types, 2);
}

/* NEXT: *document_r is a document that could be made. */
static enum ks_stage_result get(struct ks_request *request, struct ks_openapi_state *state, struct ks_str key, struct ks_made_document **document_r)
{
	enum ks_stage_result stage = ks_documents_get(state->documents, request, key, document_r);

	if (stage != KS_STAGE_NEXT || (*document_r)->result == 0)
		return stage;
	if ((*document_r)->result == -ENOENT)
		return bare(request, 404);
	ks_status_internal(&request->status, &request->arena, "the document could not be made");
	return KS_STAGE_FAILED;
}

static enum ks_stage_result serve_whole(struct ks_request *request, struct ks_openapi_state *state, const char *key, const char *type)
{
	static const struct ks_header vary = {{"vary", 4}, {"Accept", 6}};
	struct ks_made_document *document;
	enum ks_stage_result stage = get(request, state, ks_str_from(key), &document);

	if (stage != KS_STAGE_NEXT)
		return stage;
	ks_documents_respond(request, document, type, &vary, 1);
	return KS_STAGE_ANSWERED;
}

static enum ks_stage_result serve_v2(struct ks_request *request, void *arg)
{
	static const char *const types[] = {JSON, "application/*", MESSAGE, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"};
	int which = ks_accepted(ks_request_header_view(request, "accept"), types, sizeof(types) / sizeof(*types));

	if (which < 0)
		return bare(request, 406);
	return which < 2 ? serve_whole(request, arg, "v2", JSON) : serve_whole(request, arg, "v2 message", MESSAGE);
}

static enum ks_stage_result serve_v3_index(struct ks_request *request, void *arg)
{
	return serve_whole(request, arg, "v3", JSON);
}

/* -- one document ---------------------------------------------------------------------------------------------- */

/* The hash in the address is not the document's: where the right one is. */
static enum ks_stage_result redirect(struct ks_request *request, struct ks_str path, struct ks_str hash)
{
	char *to = ks_arena_printf(&request->arena, V3 "%.*s?hash=%.*s", (int)path.n, path.p, (int)hash.n, hash.p);
	struct ks_header location = {KS_STR_LIT("location"), ks_str_from(to)};

	if (!to)
		return bare(request, 500);
	ks_request_respond(request, 301, NULL, &location, 1, NULL, 0);
	return KS_STAGE_ANSWERED;
}

static struct ks_str in_a_year(struct ks_arena *arena)
{
	time_t then = time(NULL) + YEAR_SECONDS;
	char text[64];
	struct tm parts;
	size_t n;

	gmtime_r(&then, &parts);
	n = strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts);
	return (struct ks_str){ks_arena_dup(arena, text, n), n};
}

static enum ks_stage_result serve_v3(struct ks_request *request, void *arg)
{
	struct ks_str path = request->info.path, wanted = ks_request_query(request, "hash"), hash;
	struct ks_header headers[3] = {{KS_STR_LIT("vary"), KS_STR_LIT("Accept")}};
	struct ks_made_document *document;
	enum ks_stage_result stage;
	size_t n = 1;
	char *key;

	path = ks_str_of(path.p + sizeof(V3) - 1, path.n - (sizeof(V3) - 1));
	if (path.n == 0)
		return serve_v3_index(request, arg);
	if (!accepts_json(request))
		return bare(request, 406);
	key = ks_arena_printf(&request->arena, "v3/%.*s", (int)path.n, path.p);
	if (!key)
		return bare(request, 500);
	stage = get(request, arg, ks_str_from(key), &document);
	if (stage != KS_STAGE_NEXT)
		return stage;
	hash = ks_str_of(document->etag + 1, strlen(document->etag) - 2);
	if (wanted.n && !ks_str_eq(wanted, hash))
		return redirect(request, path, hash);
	if (wanted.n) {
		headers[n++] = (struct ks_header){KS_STR_LIT("cache-control"), KS_STR_LIT("public, immutable")};
		headers[n] = (struct ks_header){KS_STR_LIT("expires"), in_a_year(&request->arena)};
		n += headers[n].value.p != NULL;
	}
	ks_documents_respond(request, document, JSON, headers, n);
	return KS_STAGE_ANSWERED;
}

/* -- life ------------------------------------------------------------------------------------------------------ */

int ks_openapi_routes(struct ks_server_state *server)
{
	struct ks_openapi_state *state = calloc(1, sizeof(*state));
	struct ks_route routes[3];
	int rc = 0;

	if (!state)
		return -ENOMEM;
	server->openapi = state;
	state->api = (struct ks_openapi){.served = &server->discovery->served, .version = KS_KUBERNETES_VERSION,
		.cbor = server->config && server->config->features.on[KS_FEATURE_CBOR]};
	state->documents = ks_documents_new(make_document, state);
	if (!state->documents)
		return -ENOMEM;
	routes[0] = (struct ks_route){.path = "/openapi/v2", .metric = "/openapi/v2", .flags = KS_ROUTE_LISTED, .run = serve_v2, .arg = state};
	routes[1] = (struct ks_route){.path = "/openapi/v3", .metric = "/openapi/v3", .flags = KS_ROUTE_LISTED, .run = serve_v3_index, .arg = state};
	routes[2] = (struct ks_route){.path = V3, .metric = "/openapi/v3", .flags = KS_ROUTE_LISTED | KS_ROUTE_PREFIX, .run = serve_v3, .arg = state};
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes) && rc == 0; i++)
		rc = ks_routes_add(server->routes, &routes[i]);
	return rc;
}

void ks_openapi_fini(struct ks_server_state *server)
{
	if (!server->openapi)
		return;
	ks_documents_free(&server->openapi->documents);
	free(server->openapi);
	server->openapi = NULL;
}
