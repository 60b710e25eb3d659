/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the services that there are use. */
#ifndef KS_REGISTRY_ALLOCATE_USE_H
#define KS_REGISTRY_ALLOCATE_USE_H

#include "core/registry/allocate/pools.h"

/* Calls `each` for every service in the cache; the tree lives during the call. Nonzero: stop, and that is the result. */
int ks_pools_each_service(
	struct ks_pools *pools, int (*each)(struct ks_pools *pools, struct ks_object *object, const struct ks_value *service, void *arg), void *arg);
/* Marks the node ports of all services; ks_ports.seed. */
void ks_pools_seed_ports(struct ks_portmap *map, void *pools);
/* Does the service in the cache have this cluster address? */
bool ks_pools_service_has(struct ks_pools *pools, struct ks_str ns, struct ks_str name, struct ks_str address);
/* Is the address among those of a service's tree, in whatever form? */
bool ks_service_tree_has(const struct ks_schema *schema, const struct ks_value *service, struct ks_str text);

#endif
