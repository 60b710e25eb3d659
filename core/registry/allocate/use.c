/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/allocate/use.h"

#include "core/util/log.h"

int ks_pools_each_service(
	struct ks_pools *pools, int (*each)(struct ks_pools *pools, struct ks_object *object, const struct ks_value *service, void *arg), void *arg)
{
	struct ks_snapshot snapshot;
	struct ks_cursor cursor;
	struct ks_arena arena;
	struct ks_object *object;
	int result = 0;

	ks_arena_init(&arena, 0);
	ks_cache_snapshot(pools->services.cache, &snapshot);
	ks_cursor_init(&cursor, &snapshot, (struct ks_str){0}, (struct ks_str){0});
	while (!result && (object = ks_cursor_next(&cursor))) {
		struct ks_value tree;

		if (!ks_object_tree(object, pools->schema, &arena, &tree))
			result = each(pools, object, &tree, arg);
		ks_arena_reset(&arena);
	}
	ks_snapshot_release(&snapshot);
	ks_arena_fini(&arena);
	return result;
}

static const struct ks_value *list_at(const struct ks_schema *schema, const struct ks_value *v, const char *path)
{
	const struct ks_value *list = ks_value_at(schema, v, path);

	return ks_value_present(list) && list->kind == KS_LIST ? list : NULL;
}

static uint32_t number_at(const struct ks_schema *schema, const struct ks_value *v, const char *path)
{
	const struct ks_value *number = ks_value_at(schema, v, path);

	return ks_value_present(number) && number->kind == KS_INT && number->integer > 0 && number->integer <= 65535 ? (uint32_t)number->integer : 0;
}

static void mark(struct ks_portmap *map, const struct ks_object *object, uint32_t port)
{
	if (port && !ks_portmap_take(map, port) && !ks_portmap_is_used(map, port))
		ks_log(KS_LOG_WARN, "ports", "the node port %u of service %.*s/%.*s is not within the range; please recreate it", (unsigned)port,
			(int)object->ns.n, object->ns.p, (int)object->name.n, object->name.p);
}

static int mark_ports(struct ks_pools *pools, struct ks_object *object, const struct ks_value *service, void *map)
{
	const struct ks_value *ports = list_at(pools->schema, service, "spec.ports");

	for (uint32_t i = 0; ports && i < ports->n; i++)
		mark(map, object, number_at(pools->schema, &ports->items[i], "nodePort"));
	mark(map, object, number_at(pools->schema, service, "spec.healthCheckNodePort"));
	return 0;
}

void ks_pools_seed_ports(struct ks_portmap *map, void *pools)
{
	ks_pools_each_service(pools, mark_ports, map);
}

bool ks_service_tree_has(const struct ks_schema *schema, const struct ks_value *service, struct ks_str text)
{
	const struct ks_value *list = list_at(schema, service, "spec.clusterIPs");
	struct ks_ip wanted, ip;

	for (uint32_t i = 0; list && ks_ip_parse(text, &wanted) && i < list->n; i++)
		if (ks_ip_parse(ks_value_str(&list->items[i]), &ip) && ip.v6 == wanted.v6 && ks_ip_cmp(&ip, &wanted) == 0)
			return true;
	return false;
}

bool ks_pools_service_has(struct ks_pools *pools, struct ks_str ns, struct ks_str name, struct ks_str address)
{
	struct ks_object *object = ks_cache_get(pools->services.cache, ns, name);
	struct ks_arena arena;
	struct ks_value tree;
	bool has;

	if (!object)
		return false;
	ks_arena_init(&arena, 0);
	has = !ks_object_tree(object, pools->schema, &arena, &tree) && ks_service_tree_has(pools->schema, &tree, address);
	ks_arena_fini(&arena);
	ks_object_unref(object);
	return has;
}
