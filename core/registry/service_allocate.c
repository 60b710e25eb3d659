/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * What a write of a service takes from the pools, and what it gives back.
 *
 * The first call makes a plan out of the service and what it was, and asks for all of it at once; the second one, when all
 * answers are there, puts them into the service or says what could not be had. Whatever was taken is on ctx->taken from the
 * moment that it is known, so that it goes back when the write fails or nobody waits for it any more.
 */
#include <errno.h>
#include <stddef.h>

#include "core/registry/allocate/address.h"
#include "core/registry/allocate/removal.h"
#include "core/registry/service.h"

enum { SOURCE_NONE = -1, MOST_FAMILIES = 2 };

struct taken_address {
	struct ks_allocation base;
	struct ks_pools *pools;
	struct ks_loop *loop;
	char text[KS_IP_TEXT];
	uint64_t revision;
};

struct plan {
	struct ks_registry_context *ctx;
	struct ks_address_wish addresses[MOST_FAMILIES];
	unsigned n_addresses;
	unsigned places[MOST_FAMILIES]; /* in clusterIPs */
	struct ks_port_wish ports;
	struct ks_port_claim *claims;
	uint32_t *claim_ports; /* which of spec.ports a claim is for; their number: the health check */
	int32_t *sources; /* of each of spec.ports: the claim that its number comes from */
	bool asked_ports, repeated;
	uint32_t repeated_at;
};

static int out_of_memory(struct ks_registry_context *ctx, struct ks_status *status)
{
	return ks_status_internal(status, ctx->arena, "out of memory");
}

static int begin_invalid(struct ks_registry_context *ctx, const struct ks_value *service, struct ks_status *status)
{
	return ks_status_invalid(status, ctx->arena, "", "Service", ks_meta_text(ctx->schema, service, "name"));
}

/* -- the plan: addresses ------------------------------------------------------------------------------------------- */

static void plan_address(struct plan *plan, const struct ks_value *service, uint32_t at)
{
	struct ks_registry_context *ctx = plan->ctx;
	const struct ks_value *ips = ks_kit_list(ctx, service, "spec.clusterIPs");
	const struct ks_value *families = ks_kit_list(ctx, service, "spec.ipFamilies");
	struct ks_address_wish *wish = &plan->addresses[plan->n_addresses];

	wish->pools = ctx->pools;
	wish->loop = ctx->loop;
	wish->ns = ks_meta_text(ctx->schema, service, "namespace");
	wish->name = ks_meta_text(ctx->schema, service, "name");
	wish->wanted = ips && at < ips->n ? ks_value_str(&ips->items[at]) : (struct ks_str){0};
	wish->v6 = families && at < families->n && ks_str_is(ks_value_str(&families->items[at]), "IPv6");
	plan->places[plan->n_addresses++] = at;
}

static uint32_t count_families(struct ks_registry_context *ctx, const struct ks_value *service)
{
	const struct ks_value *families = ks_kit_list(ctx, service, "spec.ipFamilies");

	return families ? families->n : 0;
}

static void plan_addresses(struct plan *plan, const struct ks_value *service, const struct ks_value *old)
{
	struct ks_registry_context *ctx = plan->ctx;
	bool had = old && ks_service_needs_address(ctx, old);
	uint32_t n = count_families(ctx, service);

	if (!ks_service_needs_address(ctx, service) || ks_service_prefers_as_before(ctx, service, old))
		return;
	if (!had && !ks_service_is_headless(ctx, service)) {
		for (uint32_t i = 0; i < n && i < MOST_FAMILIES; i++)
			plan_address(plan, service, i);
		return;
	}
	if (had && !ks_service_is_headless(ctx, old) && count_families(ctx, old) == 1 && n == 2)
		plan_address(plan, service, 1);
}

/* -- the plan: node ports ------------------------------------------------------------------------------------------ */

static bool should_have_ports(struct ks_registry_context *ctx, const struct ks_value *service)
{
	return ks_service_is_type(ctx, service, "NodePort") ||
		(ks_service_is_type(ctx, service, "LoadBalancer") && ks_kit_true(ctx, service, "spec.allocateLoadBalancerNodePorts"));
}

static int64_t node_port_of(struct ks_registry_context *ctx, const struct ks_value *port)
{
	return ks_kit_int(ctx, port, "nodePort", 0);
}

static int64_t number_of(struct ks_registry_context *ctx, const struct ks_value *port)
{
	return ks_kit_int(ctx, port, "port", 0);
}

static int32_t add_claim(struct plan *plan, uint32_t at, int64_t wanted)
{
	size_t n = plan->ports.n_claims++;

	/* What is no port of the range anyway is refused as such. */
	plan->claims[n].wanted = wanted < 0 || wanted > UINT32_MAX ? UINT32_MAX : (uint32_t)wanted;
	plan->claim_ports[n] = at;
	return (int32_t)n;
}

/* The number that is asked for by one of the ports with this port number; 0: none. */
static int64_t requested_for(struct ks_registry_context *ctx, const struct ks_value *ports, int64_t number)
{
	for (uint32_t i = 0; i < ports->n; i++)
		if (number_of(ctx, &ports->items[i]) == number && node_port_of(ctx, &ports->items[i]))
			return node_port_of(ctx, &ports->items[i]);
	return 0;
}

/* An earlier port of the same number (of another protocol) that has its node port from a claim; SOURCE_NONE. */
static int32_t source_of_same(struct plan *plan, const struct ks_value *ports, uint32_t at)
{
	struct ks_registry_context *ctx = plan->ctx;

	for (uint32_t i = 0; i < at; i++)
		if (plan->sources[i] != SOURCE_NONE && number_of(ctx, &ports->items[i]) == number_of(ctx, &ports->items[at]))
			return plan->sources[i];
	return SOURCE_NONE;
}

/* Ports of one number share a node port. */
static void plan_new_ports(struct plan *plan, const struct ks_value *service, const struct ks_value *ports)
{
	struct ks_registry_context *ctx = plan->ctx;
	bool any = should_have_ports(ctx, service);

	for (uint32_t i = 0; i < ports->n; i++) {
		int64_t own = node_port_of(ctx, &ports->items[i]);
		int32_t source = source_of_same(plan, ports, i);

		if (!own && !any)
			continue;
		if (source == SOURCE_NONE)
			plan->sources[i] = add_claim(plan, i, requested_for(ctx, ports, number_of(ctx, &ports->items[i])));
		else if (!own || plan->claims[source].wanted == own)
			plan->sources[i] = source;
		else
			add_claim(plan, i, own);
	}
}

static bool has_number(struct ks_registry_context *ctx, const struct ks_value *ports, int64_t number)
{
	for (uint32_t i = 0; ports && i < ports->n; i++)
		if (node_port_of(ctx, &ports->items[i]) == number)
			return true;
	return false;
}

static bool is_claimed(const struct plan *plan, int64_t number)
{
	for (size_t i = 0; i < plan->ports.n_claims; i++)
		if (plan->claims[i].wanted == number)
			return true;
	return false;
}

static bool same_protocol_before(struct ks_registry_context *ctx, const struct ks_value *ports, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (node_port_of(ctx, &ports->items[i]) == node_port_of(ctx, &ports->items[at]) &&
			ks_str_eq(ks_kit_text(ctx, &ports->items[i], "protocol"), ks_kit_text(ctx, &ports->items[at], "protocol")))
			return true;
	return false;
}

static void plan_changed_ports(struct plan *plan, const struct ks_value *service, const struct ks_value *ports, const struct ks_value *had)
{
	struct ks_registry_context *ctx = plan->ctx;
	bool any = should_have_ports(ctx, service);

	for (uint32_t i = 0; i < ports->n && !plan->repeated; i++) {
		int64_t own = node_port_of(ctx, &ports->items[i]);

		if (!own && any)
			plan->sources[i] = add_claim(plan, i, 0);
		if (!own)
			continue;
		if (!has_number(ctx, had, own) && !is_claimed(plan, own))
			add_claim(plan, i, own);
		plan->repeated = same_protocol_before(ctx, ports, i);
		plan->repeated_at = i;
	}
}

static bool plan_ports(struct plan *plan, const struct ks_value *service, const struct ks_value *old)
{
	struct ks_registry_context *ctx = plan->ctx;
	const struct ks_value *ports = ks_kit_list(ctx, service, "spec.ports");
	uint32_t n = ports ? ports->n : 0;

	plan->claims = ks_arena_zalloc(ctx->arena, n + 1, sizeof(*plan->claims));
	plan->claim_ports = ks_arena_zalloc(ctx->arena, n + 1, sizeof(*plan->claim_ports));
	plan->sources = ks_arena_zalloc(ctx->arena, n + 1, sizeof(*plan->sources));
	if (!plan->claims || !plan->claim_ports || !plan->sources)
		return false;
	for (uint32_t i = 0; i < n; i++)
		plan->sources[i] = SOURCE_NONE;
	if (n && ks_service_needs_node_ports(ctx, service)) {
		if (old)
			plan_changed_ports(plan, service, ports, ks_kit_list(ctx, old, "spec.ports"));
		else
			plan_new_ports(plan, service, ports);
	}
	if (ks_service_needs_health_port(ctx, service) && !(old && ks_service_needs_health_port(ctx, old)))
		add_claim(plan, n, ks_kit_int(ctx, service, "spec.healthCheckNodePort", 0));
	return true;
}

/* -- asking -------------------------------------------------------------------------------------------------------- */

static void give_back_address(struct ks_allocation *a)
{
	struct taken_address *t = (struct taken_address *)a;
	struct ks_removal removal = {
		.pools = t->pools, .of = &t->pools->addresses, .loop = t->loop, .name = ks_str_from(t->text), .revision = t->revision};

	ks_removal_start(&removal);
}

static void address_answered(struct ks_address_wish *wish)
{
	struct plan *plan = wish->arg;
	struct ks_registry_context *ctx = plan->ctx;
	struct taken_address *t = wish->result == KS_ADDRESS_TAKEN ? ks_arena_zalloc(ctx->arena, 1, sizeof(*t)) : NULL;

	if (t) {
		t->base = (struct ks_allocation){.next = ctx->taken, .give_back = give_back_address};
		t->pools = wish->pools;
		t->loop = wish->loop;
		memcpy(t->text, wish->text, sizeof(t->text));
		t->revision = wish->revision;
		ctx->taken = &t->base;
	} else if (wish->result == KS_ADDRESS_TAKEN) {
		struct taken_address at_once = {.pools = wish->pools, .loop = wish->loop, .revision = wish->revision};

		/* Nobody would give it back. */
		memcpy(at_once.text, wish->text, sizeof(at_once.text));
		give_back_address(&at_once.base);
		wish->result = KS_ADDRESS_FAILED;
	}
	ks_registry_let(ctx, 0);
}

static void ports_answered(struct ks_port_wish *wish)
{
	struct plan *plan = (struct plan *)((char *)wish - offsetof(struct plan, ports));
	struct ks_registry_context *ctx = plan->ctx;

	if (!wish->result && !wish->dry && wish->n_claims && !ks_service_note_ports(ctx, plan->claims, wish->n_claims))
		wish->result = -ENOMEM;
	ks_registry_let(ctx, 0);
}

static void ask(struct plan *plan)
{
	struct ks_registry_context *ctx = plan->ctx;

	for (unsigned i = 0; !ctx->dry_run && i < plan->n_addresses; i++) {
		plan->addresses[i].done = address_answered;
		plan->addresses[i].arg = plan;
		ks_registry_hold(ctx);
		ks_address_ask(&plan->addresses[i]);
	}
	plan->asked_ports = plan->ports.n_claims;
	if (!plan->asked_ports)
		return;
	plan->ports.loop = ctx->loop;
	plan->ports.claims = plan->claims;
	plan->ports.dry = ctx->dry_run;
	plan->ports.done = ports_answered;
	ks_registry_hold(ctx);
	ks_ports_ask(&ctx->pools->ports, &plan->ports);
}

/* -- answers: addresses -------------------------------------------------------------------------------------------- */

static int refuse_address(
	struct ks_registry_context *ctx, const struct ks_value *service, struct ks_str ip, const char *why, struct ks_status *status)
{
	begin_invalid(ctx, service, status);
	ks_cause_invalid_value(status, ctx->arena, ctx->schema, "spec.clusterIPs", ks_kit_list(ctx, service, "spec.clusterIPs"),
		ks_kit_path(ctx, "failed to allocate IP %.*s: %s", (int)ip.n, ip.p, why));
	return ks_status_invalid_finish(status, ctx->arena);
}

/* A dry run takes nothing: of what is asked for, the range is checked; in place of any address stands that of the network. */
static void pretend_address(struct plan *plan, struct ks_address_wish *wish)
{
	struct ks_ip_range range;
	struct ks_ip ip;

	wish->result = KS_ADDRESS_NO_RANGE;
	if (!ks_pools_ranges(plan->ctx->pools, wish->v6, false, &range, 1))
		return;
	ks_ip_print(&range.network, wish->text);
	if (!wish->wanted.n || (ks_ip_parse(wish->wanted, &ip) && ks_ip_range_has(&range, &ip)))
		wish->result = KS_ADDRESS_TAKEN;
}

static const char *why_no_range(struct plan *plan, struct ks_address_wish *wish)
{
	struct ks_registry_context *ctx = plan->ctx;
	char text[KS_IP_RANGE_TEXT];
	struct ks_ip_range range;

	if (!ctx->dry_run || !ks_pools_ranges(ctx->pools, wish->v6, false, &range, 1))
		return "the provided network does not match the current range";
	ks_ip_range_print(&range, text);
	return ks_kit_path(
		ctx, "the provided IP (%.*s) is not in the valid range. The range of valid IPs is %s", (int)wish->wanted.n, wish->wanted.p, text);
}

static int put_address(struct plan *plan, struct ks_value *service, unsigned which, struct ks_status *status)
{
	struct ks_registry_context *ctx = plan->ctx;
	struct ks_address_wish *wish = &plan->addresses[which];
	struct ks_value *list = ks_kit_make_list(ctx, service, "spec.clusterIPs");

	if (ctx->dry_run)
		pretend_address(plan, wish);
	if (wish->wanted.n && wish->result == KS_ADDRESS_IN_USE)
		return refuse_address(ctx, service, wish->wanted, "provided IP is already allocated", status);
	if (wish->wanted.n && wish->result == KS_ADDRESS_NO_RANGE)
		return refuse_address(ctx, service, wish->wanted, why_no_range(plan, wish), status);
	if (wish->result == KS_ADDRESS_NO_RANGE || wish->result == KS_ADDRESS_NONE_LEFT)
		return ks_status_internal(status, ctx->arena, "failed to allocate a serviceIP: range is full");
	if (wish->result != KS_ADDRESS_TAKEN)
		return ks_status_internal(status, ctx->arena, "failed to allocate a serviceIP: the store could not carry out the write");
	if (wish->wanted.n)
		return 0;
	if (!list || plan->places[which] > list->n)
		return out_of_memory(ctx, status);
	if (plan->places[which] == list->n && !ks_kit_append_text(ctx, list, ks_str_from(wish->text)))
		return out_of_memory(ctx, status);
	return 0;
}

static int put_addresses(struct plan *plan, struct ks_value *service, struct ks_status *status)
{
	struct ks_registry_context *ctx = plan->ctx;
	const struct ks_value *list;
	int code = 0;

	for (unsigned i = 0; !code && i < plan->n_addresses; i++)
		code = put_address(plan, service, i, status);
	list = ks_kit_list(ctx, service, "spec.clusterIPs");
	if (!code && plan->n_addresses && list && !ks_kit_set(ctx, service, "spec.clusterIP", list->items[0]))
		return out_of_memory(ctx, status);
	return code;
}

/* -- answers: node ports ------------------------------------------------------------------------------------------- */

static const char *why_no_port(struct ks_registry_context *ctx, int result)
{
	const struct ks_ports *ports = &ctx->pools->ports;

	if (result == -EEXIST)
		return "provided port is already allocated";
	if (result == -ENOSPC)
		return "range is full";
	if (result == -ERANGE)
		return ks_kit_path(ctx, "provided port is not in the valid range. The range of valid ports is %u-%u", (unsigned)ports->first,
			(unsigned)(ports->first + ports->count - 1));
	return "the store could not carry out the write";
}

static int refuse_ports(struct plan *plan, const struct ks_value *service, uint32_t n_ports, struct ks_status *status)
{
	struct ks_registry_context *ctx = plan->ctx;
	const struct ks_port_wish *wish = &plan->ports;
	const char *why = why_no_port(ctx, wish->result);
	uint32_t at = plan->claim_ports[wish->failed], wanted = plan->claims[wish->failed].wanted;

	if (at == n_ports && wanted)
		return ks_status_internal(status, ctx->arena, "failed to allocate requested HealthCheck NodePort %u: %s", (unsigned)wanted, why);
	if (at == n_ports)
		return ks_status_internal(status, ctx->arena, "failed to allocate a HealthCheck NodePort 0: %s", why);
	if (!wanted || (wish->result != -EEXIST && wish->result != -ERANGE))
		return ks_status_internal(status, ctx->arena, "failed to allocate a nodePort: %s", why);
	begin_invalid(ctx, service, status);
	ks_cause_invalid_int(status, ctx->arena, ks_kit_path(ctx, "spec.ports[%u].nodePort", (unsigned)at), wanted, why);
	return ks_status_invalid_finish(status, ctx->arena);
}

static int put_ports(struct plan *plan, struct ks_value *service, struct ks_status *status)
{
	struct ks_registry_context *ctx = plan->ctx;
	struct ks_value *ports = ks_kit_list(ctx, service, "spec.ports");
	uint32_t n = ports ? ports->n : 0;

	if (plan->repeated) {
		struct ks_str protocol = ks_kit_text(ctx, &ports->items[plan->repeated_at], "protocol");

		return ks_status_set(status, ctx->arena, 500, NULL, "duplicate nodePort: {%.*s %lld}", (int)protocol.n, protocol.p,
			(long long)node_port_of(ctx, &ports->items[plan->repeated_at]));
	}
	if (plan->asked_ports && plan->ports.result)
		return refuse_ports(plan, service, n, status);
	for (uint32_t i = 0; i < n; i++)
		if (plan->sources[i] != SOURCE_NONE &&
			!ks_kit_set(ctx, &ports->items[i], "nodePort", ks_value_from_int(plan->claims[plan->sources[i]].got)))
			return out_of_memory(ctx, status);
	for (size_t i = 0; i < plan->ports.n_claims; i++)
		if (plan->claim_ports[i] == n && !ks_kit_set(ctx, service, "spec.healthCheckNodePort", ks_value_from_int(plan->claims[i].got)))
			return out_of_memory(ctx, status);
	return 0;
}

/* -- the hook ------------------------------------------------------------------------------------------------------ */

static int begin(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old, struct ks_status *status)
{
	struct plan *plan;
	int code = ks_service_init_families(ctx, service, old, status);

	if (code || !ctx->pools)
		return code;
	plan = ks_arena_zalloc(ctx->arena, 1, sizeof(*plan));
	if (!plan)
		return out_of_memory(ctx, status);
	plan->ctx = ctx;
	plan_addresses(plan, service, old);
	if (!plan_ports(plan, service, old))
		return out_of_memory(ctx, status);
	ctx->plan = plan;
	if (!plan->repeated)
		ask(plan);
	return ctx->pending ? KS_REGISTRY_WAIT : 0;
}

int ks_service_allocate(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old, struct ks_status *status)
{
	int code = ctx->plan ? 0 : begin(ctx, service, old, status);

	if (code || !ctx->plan)
		return code;
	code = put_addresses(ctx->plan, service, status);
	return code ? code : put_ports(ctx->plan, service, status);
}
