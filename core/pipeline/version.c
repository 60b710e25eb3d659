/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* GET /version, and GET / with the paths that there are. */
#include <stdlib.h>
#include <sys/utsname.h>

#include "core/api/document.h"
#include "core/pipeline/health.h"
#include "core/pipeline/render.h"
#include "core/pipeline/routes.h"
#include "core/pipeline/server.h"
#include "core/pipeline/version.h"

#ifdef __clang__
#define COMPILER "clang"
#else
#define COMPILER "gcc"
#endif

/* Go's names of processors. */
static const char *architecture(void)
{
	static _Thread_local struct utsname name;

	if (uname(&name) != 0)
		return "unknown";
	if (strcmp(name.machine, "x86_64") == 0)
		return "amd64";
	if (strcmp(name.machine, "aarch64") == 0)
		return "arm64";
	return name.machine;
}

/* Always indented, whatever Accept says: that is how it has always been. */
static enum ks_stage_result respond_pretty(struct ks_request *request, struct ks_document *doc)
{
	struct ks_buf out;

	ks_buf_init(&out);
	ks_render_pretty(ks_buf_str(&doc->out), &out);
	out.failed |= doc->out.failed;
	ks_document_fini(doc);
	ks_request_respond_buf(request, 200, "application/json", &out);
	return KS_STAGE_ANSWERED;
}

static enum ks_stage_result serve_version(struct ks_request *request, void *arg)
{
	struct ks_document doc;
	char *platform = ks_arena_printf(&request->arena, "linux/%s", architecture());

	(void)arg;
	ks_document_init(&doc);
	ks_document_open(&doc, '{');
	ks_document_add(&doc, "major", "1");
	ks_document_add(&doc, "minor", "36");
	ks_document_add(&doc, "emulationMajor", "1");
	ks_document_add(&doc, "emulationMinor", "36");
	ks_document_add(&doc, "minCompatibilityMajor", "1");
	ks_document_add(&doc, "minCompatibilityMinor", "35");
	ks_document_add(&doc, "gitVersion", KS_KUBERNETES_VERSION);
	ks_document_add(&doc, "gitCommit", "");
	ks_document_add(&doc, "gitTreeState", "clean");
	ks_document_add(&doc, "buildDate", "1970-01-01T00:00:00Z");
	ks_document_add(&doc, "goVersion", "");
	ks_document_add(&doc, "compiler", COMPILER);
	ks_document_add(&doc, "platform", platform ? platform : "linux");
	ks_document_close(&doc, '}');
	return respond_pretty(request, &doc);
}

/* -- GET / ----------------------------------------------------------------------------------------------------- */

struct paths {
	struct ks_arena *arena;
	const char **items;
	size_t n, room;
};

static void add_path(const char *path, void *arg)
{
	struct paths *paths = arg;

	if (path && paths->n < paths->room)
		paths->items[paths->n++] = path;
}

/* /api/v1, /apis/apps, /apis/apps/v1 */
static void add_groups(const struct ks_schema *schema, struct paths *paths)
{
	const char *last = "";

	for (uint32_t i = 0; i < schema->n_group_versions; i++) {
		const char *group = ks_schema_text(schema, schema->group_versions[i].group);
		const char *version = ks_schema_text(schema, schema->group_versions[i].version);

		if (!*group) {
			add_path(ks_arena_printf(paths->arena, "/api/%s", version), paths);
			continue;
		}
		if (strcmp(group, last) != 0)
			add_path(ks_arena_printf(paths->arena, "/apis/%s", group), paths);
		add_path(ks_arena_printf(paths->arena, "/apis/%s/%s", group, version), paths);
		last = group;
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum ks_stage_result serve_root(struct ks_request *request, void *arg)
{
	const struct ks_schema *schema = request->server->schema;
	struct paths paths = {.arena = &request->arena, .room = 256 + 2 * (size_t)schema->n_group_versions};
	struct ks_document doc;

	(void)arg;
	paths.items = ks_arena_zalloc(&request->arena, paths.room, sizeof(*paths.items));
	if (!paths.items) {
		ks_status_internal(&request->status, &request->arena, "out of memory");
		return KS_STAGE_FAILED;
	}
	ks_routes_each_listed(request->server->routes, add_path, &paths);
	add_groups(schema, &paths);
	ks_health_each_path(request->server->health, &request->arena, add_path, &paths);
	qsort(paths.items, paths.n, sizeof(*paths.items), by_text);
	ks_document_init(&doc);
	ks_document_open(&doc, '{');
	ks_document_enter(&doc, "paths", '[');
	for (size_t i = 0; i < paths.n; i++)
		if (i == 0 || strcmp(paths.items[i], paths.items[i - 1]) != 0)
			ks_document_text(&doc, ks_str_from(paths.items[i]));
	ks_document_close(&doc, ']');
	ks_document_close(&doc, '}');
	return respond_pretty(request, &doc);
}

int ks_version_routes(struct ks_server_state *server)
{
	struct ks_route version = {.path = "/version", .metric = "/version", .flags = KS_ROUTE_LISTED | KS_ROUTE_GET_ONLY, .run = serve_version};
	struct ks_route version_slash = {.path = "/version/", .metric = "/version", .flags = KS_ROUTE_GET_ONLY, .run = serve_version};
	struct ks_route root = {.path = "/", .metric = "/", .run = serve_root};
	int rc = ks_routes_add(server->routes, &version);

	if (rc == 0)
		rc = ks_routes_add(server->routes, &version_slash);
	if (rc == 0)
		rc = ks_routes_add(server->routes, &root);
	return rc;
}
