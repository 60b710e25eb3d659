/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* GET /metrics, and what the rest of the server has to tell there. */
#include <inttypes.h>

#include "core/pipeline/lane.h"
#include "core/pipeline/metrics.h"
#include "core/pipeline/routes.h"
#include "core/pipeline/server.h"
#include "core/pipeline/version.h"
#include "plugins/host/host.h"

static enum ks_stage_result serve_metrics(struct ks_request *request, void *arg)
{
	struct ks_buf out;

	(void)arg;
	ks_buf_init(&out);
	ks_metrics_write(request->server->metrics, &out);
	ks_request_respond_buf(request, 200, "text/plain; version=0.0.4; charset=utf-8", &out);
	return KS_STAGE_ANSWERED;
}

/* Objects by resource, "deployments.apps"; one line for all versions of a resource. */
static void write_objects(void *arg, struct ks_buf *out)
{
	const struct ks_server_state *server = arg;
	const struct ks_schema *schema = server->schema;

	if (!server->cache)
		return;
	ks_buf_add_str(out, "# HELP apiserver_storage_objects Objects that are stored.\n# TYPE apiserver_storage_objects gauge\n");
	for (uint32_t i = 0; i < schema->n_resources; i++) {
		const struct ks_resource *r = &schema->resources[i];
		const char *group = ks_schema_text(schema, r->group);
		const struct ks_cache_resource *cached;

		if (r->is_subresource || r->storage != i)
			continue;
		cached = ks_cache_find(server->cache, (uint16_t)i);
		if (cached)
			ks_buf_printf(out, "apiserver_storage_objects{resource=\"%s%s%s\"} %" PRIu64 "\n", ks_schema_text(schema, r->resource),
				*group ? "." : "", group, ks_cache_count(cached));
	}
}

static void count_live(struct ks_lane *lane, void *arg)
{
	*(uint64_t *)arg += atomic_load_explicit(&lane->n_live, memory_order_relaxed);
}

static void write_own(void *arg, struct ks_buf *out)
{
	const struct ks_server_state *server = arg;
	uint64_t live = 0;

	ks_lanes_each(server->lanes, count_live, &live);
	ks_buf_printf(out,
		"# HELP keelson_requests_held Requests whose memory is held, answered or not.\n# TYPE keelson_requests_held gauge\n"
		"keelson_requests_held %" PRIu64 "\n",
		live);
	ks_buf_add_str(out,
		"# HELP kubernetes_build_info What this server is.\n# TYPE kubernetes_build_info gauge\n"
		"kubernetes_build_info{git_version=\"" KS_KUBERNETES_VERSION "\",major=\"1\",minor=\"36\"} 1\n");
}

static void write_features(void *arg, struct ks_buf *out)
{
	const struct ks_server_state *server = arg;

	if (!server->config)
		return;
	ks_buf_add_str(out, "# HELP kubernetes_feature_enabled Feature gates, and which are open.\n# TYPE kubernetes_feature_enabled gauge\n");
	for (int i = 0; i < KS_N_FEATURES; i++)
		ks_buf_printf(out, "kubernetes_feature_enabled{name=\"%s\",stage=\"%s\"} %d\n", ks_feature_name((enum ks_feature)i),
			ks_feature_stage((enum ks_feature)i), server->config->features.on[i]);
}

static void write_plugins(void *arg, struct ks_buf *out)
{
	const struct ks_server_state *server = arg;

	if (server->plugins)
		ks_plugins_metrics(server->plugins, out);
}

int ks_metrics_routes(struct ks_server_state *server)
{
	struct ks_route route = {.path = "/metrics", .metric = "/metrics", .flags = KS_ROUTE_LISTED, .run = serve_metrics};
	int rc = ks_routes_add(server->routes, &route);

	rc = rc ? rc : ks_metrics_add_source(server->metrics, write_objects, server);
	rc = rc ? rc : ks_metrics_add_source(server->metrics, write_plugins, server);
	rc = rc ? rc : ks_metrics_add_source(server->metrics, write_features, server);
	return rc ? rc : ks_metrics_add_source(server->metrics, write_own, server);
}
