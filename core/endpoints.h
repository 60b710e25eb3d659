/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the `kubernetes` Service leads to: the Endpoints and EndpointSlices of namespace default that name the servers of the group.
 * What is there in the cache is held against what should be; the difference comes as requests to the server itself.
 */
#ifndef KS_ENDPOINTS_H
#define KS_ENDPOINTS_H

#include "core/pipeline/server.h"
#include "core/registry/allocate/ip.h"

enum { KS_ENDPOINTS_SERVERS = 256 };

struct ks_endpoints {
	struct ks_ip servers[KS_ENDPOINTS_SERVERS]; /* in ascending order of their texts */
	unsigned n_servers;
	bool v6[2]; /* the families of the cluster, the default one first */
	unsigned n_families;
	unsigned port;
	bool own_port; /* a port that stands there is replaced by ours */
};

/* A request that makes an object what it should be; `body` may be empty. What is given lives during the call. Nonzero: stop. */
typedef int (*ks_endpoints_change)(void *arg, const char *method, const char *content_type, const char *target, struct ks_str body);

/* Calls `change` for each that is needed. 0, -ENOMEM, or what `change` said. */
int ks_endpoints_compare(struct ks_server_state *server, const struct ks_endpoints *wanted, ks_endpoints_change change, void *arg)
	__attribute__((warn_unused_result));

#endif
