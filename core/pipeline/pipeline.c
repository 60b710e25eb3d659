/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The pipeline's beginning and end, and where requests come in. */
#include <errno.h>
#include <stddef.h>

#include "core/pipeline/chain.h"
#include "core/pipeline/health.h"
#include "core/pipeline/inner.h"
#include "core/pipeline/lane.h"
#include "core/pipeline/metrics.h"
#include "core/pipeline/offload.h"
#include "core/pipeline/routes.h"
#include "core/pipeline/server.h"
#include "plugins/host/host.h"

static int build_chain(void *arg, struct ks_plugin_set *set, void **chain_r, struct ks_error *err)
{
	const struct ks_server_state *server = arg;
	struct ks_chain *chain;
	int rc = ks_chain_new(set, server->schema, &chain, err);

	if (rc == 0)
		*chain_r = chain;
	return rc;
}

static void release_chain(void *chain)
{
	ks_chain_free(chain);
}

static int add_routes(struct ks_server_state *server)
{
	int rc = ks_version_routes(server);

	rc = rc ? rc : ks_health_routes(server);
	rc = rc ? rc : ks_metrics_routes(server);
	rc = rc ? rc : ks_discovery_routes(server);
	return rc ? rc : ks_openapi_routes(server);
}

int ks_pipeline_init(struct ks_server_state *server, struct ks_error *err)
{
	server->lanes = ks_lanes_new();
	server->metrics = ks_metrics_new(server->schema);
	server->health = ks_health_new();
	server->offload = ks_offload_new();
	if (server->lanes)
		server->routes = ks_routes_new(server->lanes);
	if (!server->lanes || !server->metrics || !server->health || !server->offload || !server->routes || add_routes(server) != 0) {
		ks_pipeline_fini(server);
		return ks_error_set(err, -ENOMEM, "out of memory");
	}
	if (server->plugins) {
		ks_plugins_on_set(server->plugins, build_chain, release_chain, server);
		ks_plugins_set_writer(server->plugins, ks_inner_write_start, server);
	}
	return 0;
}

void ks_pipeline_stop(struct ks_server_state *server)
{
	ks_offload_stop(server->offload);
}

void ks_pipeline_fini(struct ks_server_state *server)
{
	ks_offload_free(&server->offload);
	ks_openapi_fini(server);
	ks_discovery_fini(server);
	ks_routes_free(&server->routes);
	ks_health_free(&server->health);
	ks_lanes_free(&server->lanes);
	ks_metrics_free(&server->metrics);
}

int ks_pipeline_worker_started(struct ks_server_state *server, struct ks_loop *loop)
{
	return ks_lane_of(server, loop) ? 0 : -ENOMEM;
}

/* -- requests -------------------------------------------------------------------------------------------------- */

void ks_pipeline_on_request(struct ks_stream *stream, void *server_state)
{
	struct ks_server_state *server = server_state;
	struct ks_lane *lane = ks_lane_of(server, ks_stream_loop(stream));
	struct ks_request *request = lane ? ks_lane_take(lane) : NULL;

	ks_stream_set_data(stream, request);
	if (!request) {
		ks_stream_reset(stream);
		return;
	}
	if (server->plugins) {
		request->set = ks_plugin_set_ref(ks_plugins_current(server->plugins, request->loop));
		request->chain = ks_plugin_set_chain(request->set);
	}
	if (!ks_request_from_stream(request, stream)) {
		ks_stream_reset(stream);
		return;
	}
	ks_request_run(request);
}

void ks_pipeline_on_closed(struct ks_stream *stream, void *server_state)
{
	struct ks_request *request = ks_stream_data(stream);

	(void)server_state;
	if (request)
		ks_request_closed(request);
}

/* -- the end of watches ---------------------------------------------------------------------------------------- */

static bool is_watching(const struct ks_request *request)
{
	return request->streaming && request->long_running && request->stream && !request->drained;
}

/* On the worker. A drain hook may end requests, so the list is looked at anew after each. */
void ks_lane_run_end(struct ks_task *task)
{
	struct ks_lane *lane = (struct ks_lane *)((char *)task - offsetof(struct ks_lane, end_task));
	struct ks_request *request;

	atomic_store_explicit(&lane->end_posted, false, memory_order_relaxed);
	do {
		request = lane->live;
		while (request && !is_watching(request))
			request = request->next;
		if (!request)
			return;
		request->drained = true;
		if (request->drain)
			request->drain(request);
		else
			ks_stream_end(request->stream);
	} while (request);
}

void ks_lane_end_watches(struct ks_lane *lane)
{
	if (!atomic_exchange_explicit(&lane->end_posted, true, memory_order_acq_rel))
		ks_loop_post(lane->loop, &lane->end_task);
}

static void end_lane(struct ks_lane *lane, void *arg)
{
	(void)arg;
	ks_lane_end_watches(lane);
}

void ks_pipeline_end_watches(struct ks_server_state *server)
{
	ks_lanes_each(server->lanes, end_lane, NULL);
}
