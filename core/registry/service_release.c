/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What goes back to the pools: what a write took that failed, and what a service had that it has no more. */
#include <stdlib.h>

#include "core/registry/allocate/removal.h"
#include "core/registry/allocate/use.h"
#include "core/registry/service.h"
#include "core/util/log.h"

/* Ports on their way back. */
struct returned {
	struct ks_port_wish wish;
	struct ks_registry_context *ctx; /* that waits; NULL: nobody does */
	uint32_t numbers[];
};

static void were_returned(struct ks_port_wish *wish)
{
	struct returned *r = (struct returned *)wish;

	if (wish->result)
		ks_log(KS_LOG_WARN, "ports", "node ports could not be given back, the next repair will");
	if (r->ctx)
		ks_registry_let(r->ctx, 0);
	free(r);
}

static struct returned *new_returned(size_t most)
{
	struct returned *r = calloc(1, sizeof(*r) + most * sizeof(r->numbers[0]));

	if (!r)
		ks_log(KS_LOG_WARN, "ports", "out of memory: node ports are given back by the next repair");
	return r;
}

static void give_back_ports(struct ks_pools *pools, struct ks_loop *loop, struct returned *r)
{
	r->wish.loop = loop;
	r->wish.returned = r->numbers;
	r->wish.done = were_returned;
	ks_ports_ask(&pools->ports, &r->wish);
}

/* -- of a write that failed ---------------------------------------------------------------------------------------- */

struct taken_ports {
	struct ks_allocation base;
	struct ks_pools *pools;
	struct ks_loop *loop;
	const struct ks_port_claim *claims;
	size_t n;
};

static void roll_back_ports(struct ks_allocation *a)
{
	struct taken_ports *t = (struct taken_ports *)a;
	struct returned *r = new_returned(t->n);

	if (!r)
		return;
	for (size_t i = 0; i < t->n; i++)
		r->numbers[r->wish.n_returned++] = t->claims[i].got;
	give_back_ports(t->pools, t->loop, r);
}

bool ks_service_note_ports(struct ks_registry_context *ctx, const struct ks_port_claim *claims, size_t n)
{
	struct taken_ports *t = ks_arena_zalloc(ctx->arena, 1, sizeof(*t));

	if (!t) {
		roll_back_ports(&(struct taken_ports){.pools = ctx->pools, .loop = ctx->loop, .claims = claims, .n = n}.base);
		return false;
	}
	*t = (struct taken_ports){
		.base = {.next = ctx->taken, .give_back = roll_back_ports}, .pools = ctx->pools, .loop = ctx->loop, .claims = claims, .n = n};
	ctx->taken = &t->base;
	return true;
}

/* -- of a service that has changed --------------------------------------------------------------------------------- */

static void was_removed(void *ctx, uint64_t revision)
{
	ks_registry_let(ctx, revision);
}

/* The revisions of two stores say nothing of each other. */
static void was_removed_elsewhere(void *ctx, uint64_t revision)
{
	(void)revision;
	ks_registry_let(ctx, 0);
}

static void remove_object(struct ks_registry_context *ctx, const struct ks_removal *removal)
{
	struct ks_removal full = *removal;

	full.pools = ctx->pools;
	full.loop = ctx->loop;
	full.done = removal->of->store == ctx->pools->services.store ? was_removed : was_removed_elsewhere;
	full.arg = ctx;
	ks_registry_hold(ctx);
	ks_removal_start(&full);
}

static void release_addresses(struct ks_registry_context *ctx, const struct ks_value *old, const struct ks_value *service)
{
	const struct ks_value *had = ks_kit_list(ctx, old, "spec.clusterIPs");

	for (uint32_t i = 0; had && i < had->n; i++) {
		struct ks_str text = ks_value_str(&had->items[i]);
		char name[KS_IP_TEXT];
		struct ks_ip ip;
		struct ks_removal removal = {.of = &ctx->pools->addresses,
			.owner_ns = ks_meta_text(ctx->schema, old, "namespace"),
			.owner_name = ks_meta_text(ctx->schema, old, "name")};

		if (!ks_ip_parse(text, &ip) || (service && ks_service_tree_has(ctx->schema, service, text)))
			continue;
		ks_ip_print(&ip, name);
		removal.name = ks_str_from(name);
		remove_object(ctx, &removal);
	}
}

static bool has_port(struct ks_registry_context *ctx, const struct ks_value *service, int64_t number)
{
	const struct ks_value *ports = service ? ks_kit_list(ctx, service, "spec.ports") : NULL;

	for (uint32_t i = 0; ports && i < ports->n; i++)
		if (ks_kit_int(ctx, &ports->items[i], "nodePort", 0) == number)
			return true;
	return service && ks_kit_int(ctx, service, "spec.healthCheckNodePort", 0) == number;
}

static void add_lost(struct ks_registry_context *ctx, struct returned *r, const struct ks_value *service, int64_t number)
{
	if (number > 0 && number <= UINT16_MAX && !has_port(ctx, service, number))
		r->numbers[r->wish.n_returned++] = (uint32_t)number;
}

static void release_ports(struct ks_registry_context *ctx, const struct ks_value *old, const struct ks_value *service)
{
	const struct ks_value *ports = ks_kit_list(ctx, old, "spec.ports");
	struct returned *r;

	if (!ks_service_needs_node_ports(ctx, old) || !(r = new_returned((ports ? ports->n : 0) + 1)))
		return;
	for (uint32_t i = 0; ports && i < ports->n; i++)
		add_lost(ctx, r, service, ks_kit_int(ctx, &ports->items[i], "nodePort", 0));
	add_lost(ctx, r, service, ks_kit_int(ctx, old, "spec.healthCheckNodePort", 0));
	if (!r->wish.n_returned) {
		free(r);
		return;
	}
	r->ctx = ctx;
	ks_registry_hold(ctx);
	give_back_ports(ctx->pools, ctx->loop, r);
}

void ks_service_release(struct ks_registry_context *ctx, const struct ks_value *old, const struct ks_value *service)
{
	const struct ks_removal endpoints = {.of = ctx->pools ? &ctx->pools->endpoints : NULL,
		.ns = ks_meta_text(ctx->schema, old, "namespace"),
		.name = ks_meta_text(ctx->schema, old, "name")};

	if (!ctx->pools)
		return;
	release_addresses(ctx, old, service);
	release_ports(ctx, old, service);
	if (!service)
		remove_object(ctx, &endpoints);
}
