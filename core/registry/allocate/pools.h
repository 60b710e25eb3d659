/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * What services are given: cluster addresses and node ports. One for a server, made at start; any thread.
 *
 * An address is taken by creating the IPAddress object of its name: the store lets one of all servers do so. Where addresses come from stand
 * in ServiceCIDR objects; the ranges of the configuration are those of the one that is called "kubernetes", which every server makes when
 * it is missing. Node ports are in ports.h.
 */
#ifndef KS_REGISTRY_ALLOCATE_POOLS_H
#define KS_REGISTRY_ALLOCATE_POOLS_H

#include "core/cache/cache.h"
#include "core/config/config.h"
#include "core/registry/allocate/ip.h"
#include "core/registry/allocate/ports.h"

/* A stored resource: where it is, and what is known of it. */
struct ks_pool_resource {
	uint16_t resource;
	struct ks_cache_resource *cache;
	const struct ks_store *store;
};

struct ks_pools {
	const struct ks_schema *schema;
	struct ks_cache *cache;
	struct ks_pool_resource services, addresses, cidrs, endpoints;
	struct ks_ip_range configured[2];
	unsigned n_configured;
	struct ks_ports ports;
};

/* NULL with err: memory, or the configuration's ranges can't be used. */
struct ks_pools *ks_pools_new(const struct ks_schema *schema, struct ks_router *router, struct ks_cache *cache, const struct ks_config *config,
	struct ks_error *err) __attribute__((warn_unused_result));
/* Nothing may be under way. NULL inside is safe. */
void ks_pools_free(struct ks_pools **pools);

/* The ranges of a family that addresses may be taken from now (`ready`), or all that services may have addresses of. At most `most`, how many. */
unsigned ks_pools_ranges(struct ks_pools *pools, bool v6, bool ready, struct ks_ip_range *out, unsigned most);

#endif
