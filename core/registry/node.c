/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/kit.h"
#include "core/registry/strategies.h"
#include "core/registry/validate/kinds.h"
#include "core/registry/validate/warn_objects.h"

/* podCIDR is the first of podCIDRs; who knows only the one has the other, too, and where they differ podCIDR is meant. */
static bool ranges(struct ks_registry_context *ctx, struct ks_value *node)
{
	struct ks_value *all = ks_kit_list(ctx, node, "spec.podCIDRs");
	struct ks_str one = ks_kit_text(ctx, node, "spec.podCIDR"), first = all ? ks_value_str(&all->items[0]) : (struct ks_str){0};

	if (!one.n)
		return !first.n || ks_kit_set(ctx, node, "spec.podCIDR", ks_value_from_str(first));
	if (ks_str_eq(one, first))
		return true;
	if (all)
		all->n = 0;
	return ks_kit_append_text(ctx, ks_kit_make_list(ctx, node, "spec.podCIDRs"), one);
}

/* A node that doesn't say what pods may use lets them use all it has. */
static bool node_defaults(struct ks_registry_context *ctx, struct ks_value *node)
{
	const struct ks_value *capacity = ks_kit_map(ctx, node, "status.capacity");
	struct ks_value all;

	if (!ranges(ctx, node))
		return false;
	if (!capacity || ks_kit_at(ctx, node, "status.allocatable"))
		return true;
	return ks_value_copy(ctx->arena, capacity, &all) && ks_kit_set(ctx, node, "status.allocatable", all);
}

/* Where a kubelet's configuration comes from is nothing that the API says any more; what stands there stays. */
static void drop_source(struct ks_registry_context *ctx, struct ks_value *node, const struct ks_value *old)
{
	if (!old || !ks_kit_at(ctx, old, "spec.configSource"))
		ks_kit_clear(ctx, node, "spec.configSource");
	if (!old || !ks_kit_at(ctx, old, "status.config"))
		ks_kit_clear(ctx, node, "status.config");
}

static void node_create(struct ks_registry_context *ctx, struct ks_value *node)
{
	drop_source(ctx, node, NULL);
}

static void node_update(struct ks_registry_context *ctx, struct ks_value *node, const struct ks_value *old)
{
	drop_source(ctx, node, old);
}

const struct ks_strategy ks_strategy_nodes = {
	.group = "", .resource = "nodes",
	.flags = KS_STRATEGY_KEEPS_STATUS,
	.defaults = node_defaults,
	.prepare_create = node_create,
	.prepare_update = node_update,
	.validate = ks_validate_node,
	.warnings = ks_warn_node,
};
