/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Cluster addresses, families and node ports of services. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/registry/allocator.h"
#include "core/registry/service.h"

/* One process serves one cluster: its allocators are filled once, from the services in the cache. */
static struct {
	pthread_mutex_t lock;
	bool ready, failed;
	struct ks_allocator addresses, ports;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool ks_parse_ipv4(struct ks_str text, uint32_t *out_r)
{
	char copy[INET_ADDRSTRLEN];
	struct in_addr a;

	if (!text.n || text.n >= sizeof(copy))
		return false;
	memcpy(copy, text.p, text.n);
	copy[text.n] = 0;
	if (inet_pton(AF_INET, copy, &a) != 1)
		return false;
	*out_r = ntohl(a.s_addr);
	return true;
}

bool ks_is_ipv6(struct ks_str text)
{
	char copy[INET6_ADDRSTRLEN];
	struct in6_addr a;

	if (!text.n || text.n >= sizeof(copy))
		return false;
	memcpy(copy, text.p, text.n);
	copy[text.n] = 0;
	return inet_pton(AF_INET6, copy, &a) == 1;
}

bool ks_parse_service_range(const char *text, uint32_t *network_r, uint32_t *count_r)
{
	const char *slash = text ? strchr(text, '/') : NULL;
	uint32_t address;
	char *end;
	long bits;

	if (!slash || !ks_parse_ipv4(ks_str_of(text, (size_t)(slash - text)), &address))
		return false;
	bits = strtol(slash + 1, &end, 10);
	if (end == slash + 1 || *end || bits < 12 || bits > 30)
		return false;
	*count_r = 1u << (32 - bits);
	*network_r = address & ~(*count_r - 1);
	return true;
}

static void parse_port_range(const char *text, uint32_t *first_r, uint32_t *count_r)
{
	unsigned first = 30000, last = 32767;

	if (text && (sscanf(text, "%u-%u", &first, &last) != 2 || first < 1 || last > 65535 || first > last)) {
		first = 30000;
		last = 32767;
	}
	*first_r = first;
	*count_r = last - first + 1;
}

static void note_service(struct ks_registry_context *ctx, const struct ks_value *service)
{
	const struct ks_value *ips = ks_kit_list(ctx, service, "spec.clusterIPs");
	const struct ks_value *ports = ks_kit_list(ctx, service, "spec.ports");
	uint32_t address;

	for (uint32_t i = 0; ips && i < ips->n; i++)
		if (ks_parse_ipv4(ks_value_str(&ips->items[i]), &address) && ks_allocator_take(&pool.addresses, address))
			continue;
	for (uint32_t i = 0; ports && i < ports->n; i++)
		if (ks_allocator_take(&pool.ports, (uint32_t)ks_kit_int(ctx, &ports->items[i], "nodePort", 0)))
			continue;
	if (ks_allocator_take(&pool.ports, (uint32_t)ks_kit_int(ctx, service, "spec.healthCheckNodePort", 0)))
		return;
}

static void note_cached_services(struct ks_registry_context *ctx)
{
	struct ks_cache_resource *services = ctx->cache ? ks_cache_find(ctx->cache, ctx->resource) : NULL;
	struct ks_snapshot snapshot;
	struct ks_cursor cursor;
	struct ks_arena arena;
	struct ks_object *object;

	if (!services)
		return;
	ks_arena_init(&arena, 0);
	ks_cache_snapshot(services, &snapshot);
	ks_cursor_init(&cursor, &snapshot, (struct ks_str){0}, (struct ks_str){0});
	while ((object = ks_cursor_next(&cursor))) {
		struct ks_value tree;

		if (!ks_object_tree(object, ctx->schema, &arena, &tree))
			note_service(ctx, &tree);
		ks_arena_reset(&arena);
	}
	ks_snapshot_release(&snapshot);
	ks_arena_fini(&arena);
}

static uint32_t clamp(uint32_t value, uint32_t least, uint32_t most)
{
	return value < least ? least : value > most ? most : value;
}

/* The pool, filled. False when the range of the configuration can't be used or memory is out. */
static bool pool_ready(struct ks_registry_context *ctx)
{
	uint32_t network, count, first_port, n_ports;
	bool ready;

	pthread_mutex_lock(&pool.lock);
	if (!pool.ready && !pool.failed) {
		const char *range = ctx->config ? ctx->config->service_cluster_ip_range : "10.0.0.0/16";

		parse_port_range(ctx->config ? ctx->config->service_node_port_range : NULL, &first_port, &n_ports);
		pool.failed = !ks_parse_service_range(range, &network, &count);
		/* Neither the network's own address nor the broadcast address is given. */
		if (!pool.failed && ks_allocator_init(&pool.addresses, network + 1, count - 2, clamp(count / 16, 16, 256)))
			pool.failed = true;
		if (!pool.failed && ks_allocator_init(&pool.ports, first_port, n_ports, n_ports < 64 ? 0 : clamp(n_ports / 32, 16, 128)))
			pool.failed = true;
		if (!pool.failed) {
			note_cached_services(ctx);
			pool.ready = true;
		}
	}
	ready = pool.ready;
	pthread_mutex_unlock(&pool.lock);
	return ready;
}

/* -- what was taken by this write -------------------------------------------------------------------------------- */

static void give_back_address(struct ks_allocation *a)
{
	ks_allocator_give_back(&pool.addresses, (uint32_t)a->what);
}

static void give_back_port(struct ks_allocation *a)
{
	ks_allocator_give_back(&pool.ports, (uint32_t)a->what);
}

static bool note_taken(struct ks_registry_context *ctx, void (*give_back)(struct ks_allocation *), uint32_t what)
{
	struct ks_allocation *a = ks_arena_zalloc(ctx->arena, 1, sizeof(*a));

	if (!a) {
		give_back(&(struct ks_allocation){.what = what});
		return false;
	}
	a->what = what;
	a->give_back = give_back;
	a->next = ctx->taken;
	ctx->taken = a;
	return true;
}

static int begin_invalid(struct ks_registry_context *ctx, const struct ks_value *service, struct ks_status *status)
{
	return ks_status_invalid(status, ctx->arena, "", "Service", ks_meta_text(ctx->schema, service, "name"));
}

/* -- families ---------------------------------------------------------------------------------------------------- */

static void no_dual_stack(struct ks_registry_context *ctx, const struct ks_value *service, struct ks_status *status)
{
	const struct ks_value *families = ks_kit_list(ctx, service, "spec.ipFamilies");

	if (ks_str_is(ks_kit_text(ctx, service, "spec.ipFamilyPolicy"), "RequireDualStack"))
		ks_cause_invalid(status, ctx->arena, "spec.ipFamilyPolicy", KS_STR_LIT("RequireDualStack"),
			"this cluster is not configured for dual-stack services");
	for (uint32_t i = 0; families && i < families->n; i++)
		if (!ks_str_is(ks_value_str(&families->items[i]), "IPv4"))
			ks_cause_invalid(status, ctx->arena, ks_kit_path(ctx, "spec.ipFamilies[%u]", i), ks_value_str(&families->items[i]),
				"not configured on this cluster");
}

static bool default_policy(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old)
{
	if (ks_kit_at(ctx, service, "spec.ipFamilyPolicy"))
		return true;
	if (old && ks_kit_at(ctx, old, "spec.ipFamilyPolicy"))
		return ks_kit_take(ctx, service, old, "spec.ipFamilyPolicy");
	if (ks_service_is_headless(ctx, service) && !ks_service_has_selector(ctx, service))
		return ks_kit_set_text(ctx, service, "spec.ipFamilyPolicy", "RequireDualStack");
	return ks_kit_set_text(ctx, service, "spec.ipFamilyPolicy", "SingleStack");
}

static void check_single_stack(struct ks_registry_context *ctx, const struct ks_value *service, struct ks_status *status)
{
	const struct ks_value *families = ks_kit_list(ctx, service, "spec.ipFamilies");
	const struct ks_value *ips = ks_kit_list(ctx, service, "spec.clusterIPs");
	bool headless_list = ips && ks_str_is(ks_value_str(&ips->items[0]), "None");

	if (ks_str_is(ks_kit_text(ctx, service, "spec.ipFamilyPolicy"), "SingleStack")) {
		if (ips && ips->n == 2)
			ks_cause_invalid(status, ctx->arena, "spec.ipFamilyPolicy", KS_STR_LIT("SingleStack"),
				"must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified");
		if (families && families->n == 2)
			ks_cause_invalid(status, ctx->arena, "spec.ipFamilyPolicy", KS_STR_LIT("SingleStack"),
				"must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified");
	}
	for (uint32_t i = families ? families->n : 0; ips && !headless_list && i < ips->n; i++)
		if (ks_is_ipv6(ks_value_str(&ips->items[i])))
			ks_cause_invalid_value(status, ctx->arena, ctx->schema, ks_kit_path(ctx, "spec.clusterIPs[%u]", i), ips,
				"IPv6 is not configured on this cluster");
}

static bool default_families(struct ks_registry_context *ctx, struct ks_value *service)
{
	struct ks_value *families = ks_kit_make_list(ctx, service, "spec.ipFamilies");

	if (!families || (!families->n && !ks_kit_append_text(ctx, families, KS_STR_LIT("IPv4"))))
		return false;
	if (!ks_service_is_headless(ctx, service) || ks_service_has_selector(ctx, service) || families->n > 1 ||
		ks_str_is(ks_kit_text(ctx, service, "spec.ipFamilyPolicy"), "SingleStack"))
		return true;
	return ks_kit_append_text(ctx, families, ks_str_is(ks_value_str(&families->items[0]), "IPv4") ? KS_STR_LIT("IPv6") : KS_STR_LIT("IPv4"));
}

static int init_families(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old, struct ks_status *status)
{
	bool free_choice;

	if (!ks_service_needs_address(ctx, service))
		return 0;
	if (!default_policy(ctx, service, old))
		return ks_status_internal(status, ctx->arena, "out of memory");
	begin_invalid(ctx, service, status);
	ks_service_validate_addresses(ctx, service, old, status);
	if (!status->causes)
		check_single_stack(ctx, service, status);
	free_choice = ks_service_is_headless(ctx, service) && !ks_service_has_selector(ctx, service);
	if (!status->causes && !free_choice)
		no_dual_stack(ctx, service, status);
	if (status->causes)
		return ks_status_invalid_finish(status, ctx->arena);
	memset(status, 0, sizeof(*status));
	return default_families(ctx, service) ? 0 : ks_status_internal(status, ctx->arena, "out of memory");
}

/* -- addresses --------------------------------------------------------------------------------------------------- */

static bool list_has(const struct ks_value *list, struct ks_str text)
{
	for (uint32_t i = 0; list && i < list->n; i++)
		if (ks_str_eq(ks_value_str(&list->items[i]), text))
			return true;
	return false;
}

/* Is it this very service, made before, that has the address? */
static bool is_own(struct ks_registry_context *ctx, const struct ks_value *service, struct ks_str ip)
{
	struct ks_cache_resource *services = ctx->cache ? ks_cache_find(ctx->cache, ctx->resource) : NULL;
	struct ks_object *there = services ? ks_cache_get(services, ctx->ns, ks_meta_text(ctx->schema, service, "name")) : NULL;
	struct ks_value tree;
	bool own;

	if (!there)
		return false;
	own = !ks_object_tree(there, ctx->schema, ctx->arena, &tree) && list_has(ks_kit_list(ctx, &tree, "spec.clusterIPs"), ip);
	/* The tree's texts are not used any more. */
	ks_object_unref(there);
	return own;
}

static int take_asked_address(struct ks_registry_context *ctx, const struct ks_value *service, struct ks_str ip, struct ks_status *status)
{
	uint32_t address;
	const char *why = "provided IP is already allocated";

	if (ks_parse_ipv4(ip, &address) && ks_allocator_take(&pool.addresses, address))
		return note_taken(ctx, give_back_address, address) ? 0 : ks_status_internal(status, ctx->arena, "out of memory");
	if (is_own(ctx, service, ip))
		return ks_status_already_exists(status, ctx->arena, "", "services", ks_meta_text(ctx->schema, service, "name"));
	if (!ks_parse_ipv4(ip, &address) || !ks_allocator_has(&pool.addresses, address))
		why = ks_kit_path(ctx, "the provided IP (%.*s) is not in the valid range. The range of valid IPs is %s", (int)ip.n, ip.p,
			ctx->config ? ctx->config->service_cluster_ip_range : "10.0.0.0/16");
	begin_invalid(ctx, service, status);
	ks_cause_invalid_value(status, ctx->arena, ctx->schema, "spec.clusterIPs", ks_kit_list(ctx, service, "spec.clusterIPs"),
		ks_kit_path(ctx, "failed to allocate IP %.*s: %s", (int)ip.n, ip.p, why));
	return ks_status_invalid_finish(status, ctx->arena);
}

static int take_any_address(struct ks_registry_context *ctx, struct ks_value *service, struct ks_status *status)
{
	uint32_t address;
	struct ks_value *list;
	const char *text;

	if (!ks_allocator_take_any(&pool.addresses, &address))
		return ks_status_internal(status, ctx->arena, "failed to allocate a serviceIP: range is full");
	text = ks_kit_path(ctx, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
	list = ks_kit_make_list(ctx, service, "spec.clusterIPs");
	if (!note_taken(ctx, give_back_address, address) || !list || !text[0] || !ks_kit_append_text(ctx, list, ks_str_from(text)) ||
		!ks_kit_set_text(ctx, service, "spec.clusterIP", text))
		return ks_status_internal(status, ctx->arena, "out of memory");
	return 0;
}

static int allocate_addresses(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old, struct ks_status *status)
{
	const struct ks_value *ips = ks_kit_list(ctx, service, "spec.clusterIPs");
	const struct ks_value *had = old && ks_service_needs_address(ctx, old) ? ks_kit_list(ctx, old, "spec.clusterIPs") : NULL;
	int code = 0;

	if (!ks_service_needs_address(ctx, service) || ks_service_is_headless(ctx, service))
		return 0;
	if (!ips)
		return take_any_address(ctx, service, status);
	for (uint32_t i = 0; !code && i < ips->n; i++)
		if (!list_has(had, ks_value_str(&ips->items[i])))
			code = take_asked_address(ctx, service, ks_value_str(&ips->items[i]), status);
	return code;
}

/* -- node ports -------------------------------------------------------------------------------------------------- */

static bool has_node_port(struct ks_registry_context *ctx, const struct ks_value *service, int64_t port)
{
	const struct ks_value *ports = service ? ks_kit_list(ctx, service, "spec.ports") : NULL;

	for (uint32_t i = 0; ports && i < ports->n; i++)
		if (ks_kit_int(ctx, &ports->items[i], "nodePort", 0) == port)
			return true;
	return service && ks_kit_int(ctx, service, "spec.healthCheckNodePort", 0) == port;
}

/* The same number may serve two protocols of one service. */
static bool taken_by_this_write(struct ks_registry_context *ctx, int64_t port)
{
	for (struct ks_allocation *a = ctx->taken; a; a = a->next)
		if (a->give_back == give_back_port && (int64_t)a->what == port)
			return true;
	return false;
}

static bool same_port_other_protocol(struct ks_registry_context *ctx, const struct ks_value *ports, uint32_t at, int64_t *node_port_r)
{
	int64_t wanted = ks_kit_int(ctx, &ports->items[at], "port", 0);

	for (uint32_t i = 0; i < at; i++) {
		int64_t node_port = ks_kit_int(ctx, &ports->items[i], "nodePort", 0);

		if (ks_kit_int(ctx, &ports->items[i], "port", 0) != wanted || !node_port ||
			ks_str_eq(ks_kit_text(ctx, &ports->items[i], "protocol"), ks_kit_text(ctx, &ports->items[at], "protocol")))
			continue;
		*node_port_r = node_port;
		return true;
	}
	return false;
}

static int refuse_port(struct ks_registry_context *ctx, const struct ks_value *service, const char *field, int64_t port, struct ks_status *status)
{
	bool in_range = ks_allocator_has(&pool.ports, (uint32_t)port);

	begin_invalid(ctx, service, status);
	ks_cause_invalid_int(status, ctx->arena, field, port, in_range ? "provided port is already allocated" :
		ks_kit_path(ctx, "provided port is not in the valid range. The range of valid ports is %u-%u", pool.ports.first,
			pool.ports.first + pool.ports.count - 1));
	return ks_status_invalid_finish(status, ctx->arena);
}

/* Two ports of one protocol can't share a number. */
static bool number_repeated(struct ks_registry_context *ctx, const struct ks_value *ports, uint32_t at, int64_t number)
{
	for (uint32_t i = 0; i < at; i++)
		if (ks_kit_int(ctx, &ports->items[i], "nodePort", 0) == number &&
			ks_str_eq(ks_kit_text(ctx, &ports->items[i], "protocol"), ks_kit_text(ctx, &ports->items[at], "protocol")))
			return true;
	return false;
}

static int allocate_port(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old, struct ks_value *ports, uint32_t at,
	struct ks_status *status)
{
	struct ks_value *port = &ports->items[at];
	int64_t number = ks_kit_int(ctx, port, "nodePort", 0);
	uint32_t any;

	if (number) {
		if (!number_repeated(ctx, ports, at, number) && (taken_by_this_write(ctx, number) || has_node_port(ctx, old, number)))
			return 0;
		if (!ks_allocator_take(&pool.ports, (uint32_t)number))
			return refuse_port(ctx, service, ks_kit_path(ctx, "spec.ports[%u].nodePort", at), number, status);
		return note_taken(ctx, give_back_port, (uint32_t)number) ? 0 : ks_status_internal(status, ctx->arena, "out of memory");
	}
	if (!same_port_other_protocol(ctx, ports, at, &number)) {
		if (!ks_allocator_take_any(&pool.ports, &any))
			return ks_status_internal(status, ctx->arena, "failed to allocate a nodePort: range is full");
		if (!note_taken(ctx, give_back_port, any))
			return ks_status_internal(status, ctx->arena, "out of memory");
		number = any;
	}
	return ks_kit_set(ctx, port, "nodePort", ks_value_from_int(number)) ? 0 : ks_status_internal(status, ctx->arena, "out of memory");
}

static int allocate_health_port(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old, struct ks_status *status)
{
	int64_t number = ks_kit_int(ctx, service, "spec.healthCheckNodePort", 0);
	uint32_t any;

	if (!ks_service_needs_health_port(ctx, service))
		return 0;
	if (number && has_node_port(ctx, old, number))
		return 0;
	if (number) {
		if (!ks_allocator_take(&pool.ports, (uint32_t)number))
			return ks_status_internal(status, ctx->arena, "failed to allocate requested HealthCheck NodePort %lld: %s",
				(long long)number, "provided port is already allocated");
		return note_taken(ctx, give_back_port, (uint32_t)number) ? 0 : ks_status_internal(status, ctx->arena, "out of memory");
	}
	if (!ks_allocator_take_any(&pool.ports, &any) || !note_taken(ctx, give_back_port, any) ||
		!ks_kit_set(ctx, service, "spec.healthCheckNodePort", ks_value_from_int(any)))
		return ks_status_internal(status, ctx->arena, "failed to allocate a HealthCheck NodePort: range is full");
	return 0;
}

static bool wants_node_ports(struct ks_registry_context *ctx, const struct ks_value *service)
{
	const struct ks_value *allocate = ks_kit_at(ctx, service, "spec.allocateLoadBalancerNodePorts");

	return ks_service_needs_node_ports(ctx, service) &&
		!(ks_service_is_type(ctx, service, "LoadBalancer") && allocate && allocate->kind == KS_BOOL && !allocate->boolean);
}

int ks_service_allocate(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old, struct ks_status *status)
{
	struct ks_value *ports = ks_kit_list(ctx, service, "spec.ports");
	int code;

	if (!pool_ready(ctx))
		return ks_status_internal(status, ctx->arena, "the range of service addresses can't be used");
	code = init_families(ctx, service, old, status);
	if (!code)
		code = allocate_addresses(ctx, service, old, status);
	for (uint32_t i = 0; !code && ports && i < ports->n; i++)
		if (wants_node_ports(ctx, service) || (ks_service_needs_node_ports(ctx, service) && ks_kit_int(ctx, &ports->items[i], "nodePort", 0)))
			code = allocate_port(ctx, service, old && ks_service_needs_node_ports(ctx, old) ? old : NULL, ports, i, status);
	if (!code)
		code = allocate_health_port(ctx, service, old, status);
	return code;
}

void ks_service_release(struct ks_registry_context *ctx, const struct ks_value *old, const struct ks_value *service)
{
	const struct ks_value *had = ks_kit_list(ctx, old, "spec.clusterIPs");
	const struct ks_value *has = service ? ks_kit_list(ctx, service, "spec.clusterIPs") : NULL;
	const struct ks_value *ports = ks_kit_list(ctx, old, "spec.ports");
	int64_t health = ks_kit_int(ctx, old, "spec.healthCheckNodePort", 0);
	uint32_t address;

	if (!pool_ready(ctx))
		return;
	for (uint32_t i = 0; had && i < had->n; i++)
		if (!list_has(has, ks_value_str(&had->items[i])) && ks_parse_ipv4(ks_value_str(&had->items[i]), &address))
			ks_allocator_give_back(&pool.addresses, address);
	for (uint32_t i = 0; ports && i < ports->n; i++) {
		int64_t number = ks_kit_int(ctx, &ports->items[i], "nodePort", 0);

		if (number && !has_node_port(ctx, service, number))
			ks_allocator_give_back(&pool.ports, (uint32_t)number);
	}
	if (health && !has_node_port(ctx, service, health))
		ks_allocator_give_back(&pool.ports, (uint32_t)health);
}
