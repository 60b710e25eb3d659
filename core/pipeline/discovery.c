/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* /api, /apis and what is below them, as long as no resource is named. */
#include "core/api/discovery.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/pipeline/discovery_state.h"
#include "core/pipeline/documents.h"
#include "core/pipeline/routes.h"
#include "core/pipeline/server.h"

/* -- documents: made on the thread of the documents ------------------------------------------------------------ */

static struct ks_str rest_after(struct ks_str s, const char *prefix)
{
	size_t n = strlen(prefix);

	if (s.n < n)
		return (struct ks_str){"", 0};
	return ks_str_of(s.p + n, s.n - n);
}

/* "v2/api", "v2beta1/apis" */
static int make_aggregated(const struct ks_discovery *d, struct ks_str key, struct ks_bytes **bytes_r)
{
	bool beta = ks_str_starts(key, KS_STR_LIT("v2beta1/"));
	struct ks_str which = rest_after(key, beta ? "v2beta1/" : "v2/");

	return ks_discovery_aggregated(d, ks_str_is(which, "api"), beta ? KS_DISCOVERY_V2BETA1 : KS_DISCOVERY_V2, bytes_r);
}

/* "GROUP" or "GROUP/VERSION" */
static int make_group(const struct ks_discovery *d, struct ks_str key, struct ks_bytes **bytes_r)
{
	const char *slash = memchr(key.p, '/', key.n);
	struct ks_str group = key, version;

	if (!slash)
		return ks_discovery_group(d, key, bytes_r);
	group.n = (size_t)(slash - key.p);
	version = ks_str_of(slash + 1, key.n - group.n - 1);
	return ks_discovery_resources(d, group, version, bytes_r);
}

static void set_address(struct ks_discovery_state *state)
{
	const struct ks_server_state *server = state->server;
	const char *host = server->config ? server->config->advertise_address : NULL;
	uint16_t port = server->config ? server->config->server.port : 0;

	if (!host && server->config)
		host = server->config->server.bind_address;
	if (port == 0 && server->http)
		port = ks_server_port(server->http);
	if (!host || port == 0)
		return;
	snprintf(state->address, sizeof(state->address), strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
	state->served.server_address = state->address;
}

static int make_document(void *arg, struct ks_str key, struct ks_bytes **bytes_r, char *hash)
{
	struct ks_discovery_state *state = arg;
	const struct ks_discovery *d = &state->served;

	(void)hash; /* of the bytes */
	if (!d->server_address)
		set_address(state);
	if (ks_str_is(key, "api"))
		return ks_discovery_versions(d, bytes_r);
	if (ks_str_is(key, "apis"))
		return ks_discovery_groups(d, bytes_r);
	if (ks_str_starts(key, KS_STR_LIT("v2")))
		return make_aggregated(d, key, bytes_r);
	if (ks_str_starts(key, KS_STR_LIT("api/")))
		return ks_discovery_resources(d, KS_STR_LIT(""), rest_after(key, "api/"), bytes_r);
	return make_group(d, rest_after(key, "apis/"), bytes_r);
}

/* -- answers --------------------------------------------------------------------------------------------------- */

static void release_bytes(void *bytes)
{
	ks_bytes_unref(bytes);
}

static enum ks_stage_result respond(struct ks_request *request, struct ks_made_document *document)
{
	struct ks_piece piece = {
		.data = document->bytes->data, .len = document->bytes->len, .release = release_bytes, .owner = ks_bytes_ref(document->bytes)};

	ks_request_respond_object(request, 200, NULL, 0, &piece, 1);
	return KS_STAGE_ANSWERED;
}

static enum ks_stage_result respond_aggregated(struct ks_request *request, struct ks_made_document *document)
{
	static const struct ks_header headers[] = {{{"vary", 4}, {"Accept", 6}}, {{"cache-control", 13}, {"public", 6}}};
	bool beta = ks_str_is(request->media.as_version, "v2beta1");

	if (request->media.format != KS_MEDIA_JSON)
		return respond(request, document);
	ks_documents_respond(request, document, ks_discovery_content_type(beta ? KS_DISCOVERY_V2BETA1 : KS_DISCOVERY_V2), headers,
		sizeof(headers) / sizeof(*headers));
	return KS_STAGE_ANSWERED;
}

/* `key`: of the plain document; `allowed`: may the aggregated one be asked for? */
static enum ks_stage_result serve(struct ks_request *request, struct ks_discovery_state *state, struct ks_str key, unsigned allowed)
{
	struct ks_made_document *document;
	enum ks_stage_result stage;

	if (!request->media.chosen && ks_request_negotiate(request, allowed) != 0)
		return KS_STAGE_FAILED;
	if (request->media.as == KS_AS_DISCOVERY) {
		char *text = ks_arena_printf(
			&request->arena, "%s/%.*s", ks_str_is(request->media.as_version, "v2beta1") ? "v2beta1" : "v2", (int)key.n, key.p);

		if (!text) {
			ks_status_internal(&request->status, &request->arena, "out of memory");
			return KS_STAGE_FAILED;
		}
		key = ks_str_from(text);
	}
	stage = ks_documents_get(state->documents, request, key, &document);
	if (stage != KS_STAGE_NEXT)
		return stage;
	if (document->result == -ENOENT)
		return ks_no_page(request);
	if (document->result != 0) {
		ks_status_internal(&request->status, &request->arena, "the document could not be made");
		return KS_STAGE_FAILED;
	}
	return request->media.as == KS_AS_DISCOVERY ? respond_aggregated(request, document) : respond(request, document);
}

/* What upstream serves by its web service framework: GET only, and Accept looked at beforehand. */
static bool check_strict(struct ks_request *request, enum ks_stage_result *stage_r)
{
	*stage_r = KS_STAGE_FAILED;
	if (!ks_str_is(request->method, "GET")) {
		*stage_r = ks_no_method(request, "GET");
		return false;
	}
	return ks_check_accept(request, false);
}

static struct ks_str without_slash(struct ks_str path)
{
	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	return path;
}

static bool is_served(const struct ks_schema *schema, struct ks_str group, struct ks_str version)
{
	for (uint32_t i = 0; i < schema->n_group_versions; i++)
		if (ks_str_is(group, ks_schema_text(schema, schema->group_versions[i].group)) &&
			(version.n == 0 || ks_str_is(version, ks_schema_text(schema, schema->group_versions[i].version))))
			return true;
	return false;
}

/* /api and /api/VERSION */
static enum ks_stage_result serve_core(struct ks_request *request, void *arg)
{
	struct ks_str key = rest_after(without_slash(request->info.path), "/"), version;
	enum ks_stage_result stage;

	if (ks_str_is(key, "api"))
		return check_strict(request, &stage) ? serve(request, arg, key, KS_ALLOW_DISCOVERY) : stage;
	version = rest_after(key, "api/");
	if (memchr(version.p, '/', version.n) || !is_served(request->server->schema, KS_STR_LIT(""), version))
		return ks_no_resource(request);
	return check_strict(request, &stage) ? serve(request, arg, key, 0) : stage;
}

/* /apis, /apis/GROUP and /apis/GROUP/VERSION */
static enum ks_stage_result serve_groups(struct ks_request *request, void *arg)
{
	struct ks_str key = rest_after(without_slash(request->info.path), "/"), group, version = {0};
	const struct ks_schema *schema = request->server->schema;
	enum ks_stage_result stage;
	const char *slash;

	if (ks_str_is(key, "apis"))
		return serve(request, arg, key, KS_ALLOW_DISCOVERY);
	group = rest_after(key, "apis/");
	slash = memchr(group.p, '/', group.n);
	if (slash) {
		version = ks_str_of(slash + 1, group.n - (size_t)(slash + 1 - group.p));
		group.n = (size_t)(slash - group.p);
	}
	if (group.n == 0 || !is_served(schema, group, (struct ks_str){0}))
		return ks_no_page(request);
	if (!slash)
		return serve(request, arg, key, 0);
	if (version.n == 0 || !is_served(schema, group, version))
		return ks_no_resource(request);
	return check_strict(request, &stage) ? serve(request, arg, key, 0) : stage;
}

/* -- life ------------------------------------------------------------------------------------------------------ */

int ks_discovery_routes(struct ks_server_state *server)
{
	struct ks_discovery_state *state = calloc(1, sizeof(*state));
	struct ks_route routes[4];
	int rc = 0;

	if (!state)
		return -ENOMEM;
	state->server = server;
	state->schemas[0] = server->schema;
	state->served = (struct ks_discovery){.schemas = state->schemas, .n_schemas = 1};
	state->documents = ks_documents_new(make_document, state);
	server->discovery = state;
	if (!state->documents)
		return -ENOMEM;
	routes[0] = (struct ks_route){.path = "/api", .metric = "/api", .flags = KS_ROUTE_LISTED, .run = serve_core, .arg = state};
	routes[1] = (struct ks_route){.path = "/api/", .metric = "/api", .flags = KS_ROUTE_PREFIX, .run = serve_core, .arg = state};
	routes[2] = (struct ks_route){.path = "/apis", .metric = "/apis", .flags = KS_ROUTE_LISTED, .run = serve_groups, .arg = state};
	routes[3] =
		(struct ks_route){.path = "/apis/", .metric = "/apis", .flags = KS_ROUTE_PREFIX | KS_ROUTE_LISTED, .run = serve_groups, .arg = state};
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes) && rc == 0; i++)
		rc = ks_routes_add(server->routes, &routes[i]);
	return rc;
}

void ks_discovery_fini(struct ks_server_state *server)
{
	if (!server->discovery)
		return;
	ks_documents_free(&server->discovery->documents);
	free(server->discovery);
	server->discovery = NULL;
}
