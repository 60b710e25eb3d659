/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * What all requests share: made once by main, read from every worker.
 *
 * Start, on the main thread (see plugins/host/host.h for the plugins' side):
 *
 *     fill config, schema, plugins, main_loop; ks_pipeline_init
 *     -> stores, router, cache: fill them -> ks_plugins_start, ks_plugins_publish
 *     -> ks_server_start with ks_pipeline_on_request and ks_pipeline_on_closed; its worker_started
 *        calls ks_pipeline_worker_started on each worker
 *     -> bootstrap writes (ks_pipeline_inner_request) -> ready = true
 *
 * A reload is ks_plugins_reload: requests in flight finish with the plugins that they began with.
 * Stop: draining = true, ks_pipeline_end_watches, ks_server_drain, ks_server_stop, ks_pipeline_stop, ks_server_free, then ks_pipeline_fini.
 */
#ifndef KS_PIPELINE_SERVER_H
#define KS_PIPELINE_SERVER_H

#include "core/cache/cache.h"
#include "core/config/config.h"
#include "core/net/http.h"
#include "core/pipeline/request.h"
#include "core/store/store.h"

struct ks_plugins; /* plugins/host/host.h */
struct ks_routes;  /* core/pipeline/routes.h: paths to handlers; discovery; can change at run time */
struct ks_pools;
struct ks_metrics; /* core/pipeline/metrics.h */
struct ks_health;  /* core/pipeline/health.h: named checks */
struct ks_lanes; /* core/pipeline/lane.h */
struct ks_offload; /* core/pipeline/offload.h: threads for long computations */
struct ks_discovery_state;
struct ks_openapi_state;

struct ks_server_state {
	/* main's */
	const struct ks_config *config;
	const struct ks_schema *schema;
	struct ks_plugins *plugins;
	struct ks_router *router;
	struct ks_cache *cache;
	struct ks_pools *pools;  /* core/registry/allocate/pools.h; NULL: services are given nothing */
	struct ks_server *http;
	struct ks_loop *main_loop;
	uint64_t started_ns;
	_Atomic bool ready;      /* bootstrap has finished */
	_Atomic bool draining;   /* SIGTERM was seen: /readyz fails, watches end */
	/* the pipeline's */
	struct ks_routes *routes;
	struct ks_metrics *metrics;
	struct ks_health *health;
	struct ks_lanes *lanes;
	struct ks_offload *offload;
	struct ks_discovery_state *discovery;
	struct ks_openapi_state *openapi;
};

/* Makes what the pipeline owns (routes, metrics, health) and tells the plugin host how chains are built and where plugins' writes go. Before
 * ks_plugins_publish. 0 or negative. */
int ks_pipeline_init(struct ks_server_state *server, struct ks_error *err) __attribute__((warn_unused_result));
/* The workers have ended, their loops are there still: ends the threads that post to them. Nothing happens when ks_pipeline_init failed. */
void ks_pipeline_stop(struct ks_server_state *server);
/* After the workers have ended. */
void ks_pipeline_fini(struct ks_server_state *server);
/* On each worker's thread, before its first request. 0 or negative. */
int ks_pipeline_worker_started(struct ks_server_state *server, struct ks_loop *loop) __attribute__((warn_unused_result));
/* Callbacks for ks_server_start. */
void ks_pipeline_on_request(struct ks_stream *stream, void *server_state);
void ks_pipeline_on_closed(struct ks_stream *stream, void *server_state);
/* Ends all watches cleanly (they are told nothing but the end of the stream). Main thread; any number of times. */
void ks_pipeline_end_watches(struct ks_server_state *server);

/* A request from inside (plugins' writes, bootstrap): runs the whole pipeline but authentication, as `user`. `answer` runs on the worker that
 * carries it, exactly once. Any thread, once ks_server_start has returned. 0; or negative, and `answer` will not be called. */
struct ks_inner_request {
	const char *method;        /* "POST" */
	const char *target;        /* "/api/v1/namespaces?..." */
	const char *content_type;  /* of the body; NULL: application/json */
	struct ks_str body;        /* copied */
	const char *user;
	const char *const *groups; size_t n_groups; /* system:authenticated is added */
	const char *audit_id;      /* NULL or "": a new one */
	uint64_t deadline_ns;      /* 0: as configured */
	uint16_t write_depth;
	struct ks_loop *loop;      /* the worker to run on; NULL: any */
	void (*answer)(void *arg, int code, struct ks_str body); /* body valid during the call */
	void *arg;
};
int ks_pipeline_inner_request(struct ks_server_state *server, const struct ks_inner_request *inner) __attribute__((warn_unused_result));

#endif
