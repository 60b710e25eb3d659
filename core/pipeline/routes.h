/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Which path leads to which handler. Resources are found by the schema tables, everything else here; the table can
 * change while requests run.
 */
#ifndef KS_PIPELINE_ROUTES_H
#define KS_PIPELINE_ROUTES_H

#include "core/pipeline/request.h"

struct ks_routes;
struct ks_lanes;

typedef enum ks_stage_result (*ks_handler)(struct ks_request *request, void *arg);

enum ks_route_flag {
	KS_ROUTE_PREFIX = 1 << 0,  /* everything below it, too; `path` ends in a slash */
	KS_ROUTE_LISTED = 1 << 1,  /* named in the answer to GET / */
	KS_ROUTE_GET_ONLY = 1 << 2, /* 405 for other methods */
};

struct ks_route {
	const char *path;
	const char *metric;  /* as metrics call it; static memory. NULL: metrics don't count it by name */
	unsigned flags;      /* enum ks_route_flag */
	ks_handler run;
	void *arg;
};

struct ks_routes *ks_routes_new(struct ks_lanes *lanes) __attribute__((warn_unused_result));
void ks_routes_free(struct ks_routes **routes);
/* Adds or replaces. The path is copied. 0 or -ENOMEM. Any thread. */
int ks_routes_add(struct ks_routes *routes, const struct ks_route *route) __attribute__((warn_unused_result));
/* 0, -ENOENT, -ENOMEM. Any thread. */
int ks_routes_remove(struct ks_routes *routes, const char *path) __attribute__((warn_unused_result));
/* The route of a decoded path: the exact one, else the longest prefix. On a worker, valid until its current task ends. NULL: none. */
const struct ks_route *ks_routes_find(struct ks_routes *routes, struct ks_str path);
/* Calls `visit` with each listed path, in order. On a worker. */
void ks_routes_each_listed(struct ks_routes *routes, void (*visit)(const char *path, void *arg), void *arg);

/* Every resource request whose resource, scope and method are served ends here: core/pipeline/resource. info.resource_index is valid. It is called
 * again after KS_STAGE_PENDING. */
enum ks_stage_result ks_resource_handle(struct ks_request *request);

/* -- answers for what isn't there ------------------------------------------------------------------------------ */

/* 404 as text: "404 page not found". */
enum ks_stage_result ks_no_page(struct ks_request *request);
/* 404 as a Status: "the server could not find the requested resource". */
enum ks_stage_result ks_no_resource(struct ks_request *request);
/* 405 as a Status; `allow`: the Allow header. */
enum ks_stage_result ks_no_method(struct ks_request *request, const char *allow);
/* The coarse check of Accept that comes before a handler: false, and 406 was answered. `stream`: watches are served here, too. */
bool ks_check_accept(struct ks_request *request, bool stream);

/* -- the routes of the server itself, each set in its own file ------------------------------------------------- */

struct ks_server_state;
int ks_discovery_routes(struct ks_server_state *server) __attribute__((warn_unused_result));
void ks_discovery_fini(struct ks_server_state *server);
int ks_openapi_routes(struct ks_server_state *server) __attribute__((warn_unused_result));
void ks_openapi_fini(struct ks_server_state *server);
int ks_version_routes(struct ks_server_state *server) __attribute__((warn_unused_result));
int ks_health_routes(struct ks_server_state *server) __attribute__((warn_unused_result));
int ks_metrics_routes(struct ks_server_state *server) __attribute__((warn_unused_result));

#endif
