/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/allocate/pools.h"

#include <errno.h>
#include <stdlib.h>

#include "core/registry/allocate/use.h"

static bool find_resource(struct ks_pools *pools, struct ks_router *router, const char *group, const char *name, struct ks_pool_resource *out_r)
{
	uint16_t resource = ks_schema_find_resource(pools->schema, ks_str_from(group), KS_STR_LIT("v1"), ks_str_from(name));

	if (resource == KS_NO_RESOURCE)
		return false;
	*out_r = (struct ks_pool_resource){resource, ks_cache_find(pools->cache, resource), ks_router_find(router, pools->schema, resource)};
	return out_r->cache;
}

static int fill(struct ks_pools *pools, struct ks_router *router, const struct ks_config *config, struct ks_error *err)
{
	pools->n_configured = ks_ip_ranges_parse(config->service_cluster_ip_range, pools->configured);
	if (!pools->n_configured)
		return ks_error_set(err, -EINVAL, "serviceClusterIPRange %s can't be used", config->service_cluster_ip_range);
	if (!find_resource(pools, router, "", "services", &pools->services) || !find_resource(pools, router, "", "endpoints", &pools->endpoints) ||
		!find_resource(pools, router, "networking.k8s.io", "ipaddresses", &pools->addresses) ||
		!find_resource(pools, router, "networking.k8s.io", "servicecidrs", &pools->cidrs))
		return ks_error_set(err, -EINVAL, "services are not kept by any store");
	if (!ks_ports_init(&pools->ports, pools->services.store, config->service_node_port_range))
		return ks_error_set(err, -EINVAL, "serviceNodePortRange %s can't be used", config->service_node_port_range);
	pools->ports.seed = ks_pools_seed_ports;
	pools->ports.seed_arg = pools;
	return 0;
}

struct ks_pools *ks_pools_new(
	const struct ks_schema *schema, struct ks_router *router, struct ks_cache *cache, const struct ks_config *config, struct ks_error *err)
{
	struct ks_pools *pools = calloc(1, sizeof(*pools));

	if (!pools) {
		ks_error_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	pools->schema = schema;
	pools->cache = cache;
	if (fill(pools, router, config, err) < 0) {
		free(pools);
		return NULL;
	}
	return pools;
}

void ks_pools_free(struct ks_pools **pools)
{
	if (!*pools)
		return;
	ks_ports_fini(&(*pools)->ports);
	free(*pools);
	*pools = NULL;
}

/* -- ranges ------------------------------------------------------------------------------------------------------- */

/* Who says nothing of it is ready: there may be no controller that does. */
static bool is_ready(const struct ks_schema *schema, const struct ks_value *cidr)
{
	const struct ks_value *conditions = ks_value_at(schema, cidr, "status.conditions");

	if (ks_value_present(ks_value_at(schema, cidr, "metadata.deletionTimestamp")))
		return false;
	for (uint32_t i = 0; ks_value_present(conditions) && conditions->kind == KS_LIST && i < conditions->n; i++)
		if (ks_str_is(ks_value_str(ks_value_get(schema, &conditions->items[i], "type")), "Ready"))
			return ks_str_is(ks_value_str(ks_value_get(schema, &conditions->items[i], "status")), "True");
	return true;
}

static unsigned add_range(const struct ks_ip_range *range, bool v6, struct ks_ip_range *out, unsigned n, unsigned most)
{
	if (range->network.v6 != v6 || n == most)
		return n;
	for (unsigned i = 0; i < n; i++)
		if (out[i].bits == range->bits && ks_ip_cmp(&out[i].network, &range->network) == 0)
			return n;
	out[n] = *range;
	return n + 1;
}

static unsigned add_ranges_of(struct ks_pools *pools, const struct ks_value *cidr, bool v6, struct ks_ip_range *out, unsigned n, unsigned most)
{
	const struct ks_value *list = ks_value_at(pools->schema, cidr, "spec.cidrs");
	struct ks_ip_range range;

	for (uint32_t i = 0; ks_value_present(list) && list->kind == KS_LIST && i < list->n; i++)
		if (ks_ip_range_parse(ks_value_str(&list->items[i]), &range))
			n = add_range(&range, v6, out, n, most);
	return n;
}

unsigned ks_pools_ranges(struct ks_pools *pools, bool v6, bool ready, struct ks_ip_range *out, unsigned most)
{
	struct ks_snapshot snapshot;
	struct ks_cursor cursor;
	struct ks_arena arena;
	struct ks_object *object;
	bool has_default = false;
	unsigned n = 0;

	ks_arena_init(&arena, 0);
	ks_cache_snapshot(pools->cidrs.cache, &snapshot);
	ks_cursor_init(&cursor, &snapshot, (struct ks_str){0}, (struct ks_str){0});
	while ((object = ks_cursor_next(&cursor))) {
		struct ks_value cidr;

		has_default |= ks_str_is(object->name, "kubernetes");
		if (!ks_object_tree(object, pools->schema, &arena, &cidr) && (!ready || is_ready(pools->schema, &cidr)))
			n = add_ranges_of(pools, &cidr, v6, out, n, most);
		ks_arena_reset(&arena);
	}
	ks_snapshot_release(&snapshot);
	ks_arena_fini(&arena);
	for (unsigned i = 0; !has_default && i < pools->n_configured; i++)
		n = add_range(&pools->configured[i], v6, out, n, most);
	return n;
}
