/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Which IP families a service has: what is not said follows from the cluster, from the addresses that are named, and from before. */
#include "core/registry/allocate/ip.h"
#include "core/registry/service.h"

bool ks_parse_ipv4(struct ks_str text, uint32_t *out_r)
{
	struct ks_ip ip;

	if (!ks_ip_parse(text, &ip) || ip.v6)
		return false;
	*out_r = (uint32_t)ip.bytes[12] << 24 | (uint32_t)ip.bytes[13] << 16 | (uint32_t)ip.bytes[14] << 8 | ip.bytes[15];
	return true;
}

bool ks_is_ipv6(struct ks_str text)
{
	struct ks_ip ip;

	return ks_ip_parse(text, &ip) && ip.v6;
}

/* -- the cluster's ------------------------------------------------------------------------------------------------- */

static unsigned cluster_families(struct ks_registry_context *ctx, const char *families[2])
{
	struct ks_ip_range ranges[2];
	unsigned n = ks_ip_ranges_parse(
		ctx->config && ctx->config->service_cluster_ip_range ? ctx->config->service_cluster_ip_range : "10.0.0.0/16", ranges);

	for (unsigned i = 0; i < n; i++)
		families[i] = ranges[i].network.v6 ? "IPv6" : "IPv4";
	return n;
}

static bool cluster_has(struct ks_registry_context *ctx, struct ks_str family)
{
	const char *families[2];
	unsigned n = cluster_families(ctx, families);

	for (unsigned i = 0; i < n; i++)
		if (ks_str_is(family, families[i]))
			return true;
	return false;
}

static struct ks_str other_family(struct ks_str family)
{
	return ks_str_is(family, "IPv4") ? KS_STR_LIT("IPv6") : KS_STR_LIT("IPv4");
}

/* -- compared with before ------------------------------------------------------------------------------------------ */

static uint32_t count(const struct ks_value *list)
{
	return list ? list->n : 0;
}

static bool is_policy(struct ks_registry_context *ctx, const struct ks_value *service, const char *policy)
{
	return ks_str_is(ks_kit_text(ctx, service, "spec.ipFamilyPolicy"), policy);
}

/* A service that prefers two families is not changed because the cluster has got a second one, or lost it. */
bool ks_service_prefers_as_before(struct ks_registry_context *ctx, const struct ks_value *service, const struct ks_value *old)
{
	return old && is_policy(ctx, service, "PreferDualStack") && ks_kit_same(ctx, service, old, "spec.type") &&
		ks_service_needs_address(ctx, service) && (!ks_kit_at(ctx, old, "spec.ipFamilyPolicy") || is_policy(ctx, old, "PreferDualStack")) &&
		ks_kit_same(ctx, service, old, "spec.clusterIPs") && ks_kit_same(ctx, service, old, "spec.ipFamilies");
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

static void refuse_policy(struct ks_registry_context *ctx, const struct ks_value *service, const char *why, struct ks_status *status)
{
	ks_cause_invalid(status, ctx->arena, "spec.ipFamilyPolicy", ks_kit_text(ctx, service, "spec.ipFamilyPolicy"), why);
}

static void cut_to_one(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old, const char *path)
{
	struct ks_value *list = ks_kit_list(ctx, service, path), *copy;
	struct ks_value first;

	if (count(list) < 2 || !ks_kit_same(ctx, service, old, path))
		return;
	/* The list may be shared with `old`. */
	first = list->items[0];
	ks_kit_clear(ctx, service, path);
	copy = ks_kit_make_list(ctx, service, path);
	if (copy)
		ks_kit_append_text(ctx, copy, ks_value_str(&first));
}

static bool is_reduced(struct ks_registry_context *ctx, const struct ks_value *service, const struct ks_value *old, const char *path)
{
	uint32_t n = count(ks_kit_list(ctx, service, path));

	return n && n < count(ks_kit_list(ctx, old, path));
}

/* One stack is asked for: what was the second one goes. It can't go for another reason. */
static void follow_policy(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old, struct ks_status *status)
{
	if (is_policy(ctx, service, "SingleStack")) {
		cut_to_one(ctx, service, old, "spec.clusterIPs");
		cut_to_one(ctx, service, old, "spec.ipFamilies");
		return;
	}
	if (is_reduced(ctx, service, old, "spec.clusterIPs"))
		refuse_policy(ctx, service, "must be 'SingleStack' to release the secondary cluster IP", status);
	if (is_reduced(ctx, service, old, "spec.ipFamilies"))
		refuse_policy(ctx, service, "must be 'SingleStack' to release the secondary IP family", status);
}

/* -- what follows from what is said -------------------------------------------------------------------------------- */

static void check_single_stack(struct ks_registry_context *ctx, const struct ks_value *service, struct ks_status *status)
{
	if (!is_policy(ctx, service, "SingleStack"))
		return;
	if (count(ks_kit_list(ctx, service, "spec.clusterIPs")) == 2)
		refuse_policy(ctx, service, "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified", status);
	if (count(ks_kit_list(ctx, service, "spec.ipFamilies")) == 2)
		refuse_policy(ctx, service, "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified", status);
}

static bool add_family(struct ks_registry_context *ctx, struct ks_value *service, struct ks_str family)
{
	return ks_kit_append_text(ctx, ks_kit_make_list(ctx, service, "spec.ipFamilies"), family);
}

/* Addresses that are named have families that need not be. */
static bool infer_families(struct ks_registry_context *ctx, struct ks_value *service, struct ks_status *status)
{
	const struct ks_value *ips = ks_kit_list(ctx, service, "spec.clusterIPs");

	for (uint32_t i = 0; ips && i < ips->n; i++) {
		struct ks_str ip = ks_value_str(&ips->items[i]), family = ks_is_ipv6(ip) ? KS_STR_LIT("IPv6") : KS_STR_LIT("IPv4");

		if (ks_str_is(ip, "None"))
			break;
		if (i < count(ks_kit_list(ctx, service, "spec.ipFamilies")))
			continue;
		if (!cluster_has(ctx, family))
			ks_cause_invalid_value(status, ctx->arena, ctx->schema, ks_kit_path(ctx, "spec.clusterIPs[%u]", i), ips,
				ks_kit_path(ctx, "%.*s is not configured on this cluster", (int)family.n, family.p));
		else if (!add_family(ctx, service, family))
			return false;
	}
	return true;
}

static void check_cluster(struct ks_registry_context *ctx, const struct ks_value *service, struct ks_status *status)
{
	const struct ks_value *families = ks_kit_list(ctx, service, "spec.ipFamilies");
	const char *unused[2];

	if (is_policy(ctx, service, "RequireDualStack") && cluster_families(ctx, unused) < 2)
		refuse_policy(ctx, service, "this cluster is not configured for dual-stack services", status);
	for (uint32_t i = 0; families && i < families->n; i++)
		if (!cluster_has(ctx, ks_value_str(&families->items[i])))
			ks_cause_invalid(status, ctx->arena, ks_kit_path(ctx, "spec.ipFamilies[%u]", i), ks_value_str(&families->items[i]),
				"not configured on this cluster");
}

static bool default_families(struct ks_registry_context *ctx, struct ks_value *service, bool free_choice)
{
	const char *known[2] = {"IPv4", "IPv6"};
	unsigned n = cluster_families(ctx, known);
	const struct ks_value *families = ks_kit_list(ctx, service, "spec.ipFamilies");

	if (!families && !add_family(ctx, service, ks_str_from(known[0])))
		return false;
	families = ks_kit_list(ctx, service, "spec.ipFamilies");
	if (is_policy(ctx, service, "SingleStack") || count(families) != 1 || (!free_choice && n < 2))
		return true;
	return add_family(ctx, service, other_family(ks_value_str(&families->items[0])));
}

int ks_service_init_families(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old, struct ks_status *status)
{
	bool free_choice;

	if (!ks_service_needs_address(ctx, service) || ks_service_prefers_as_before(ctx, service, old))
		return 0;
	if (!default_policy(ctx, service, old))
		return ks_status_internal(status, ctx->arena, "out of memory");
	ks_status_invalid(status, ctx->arena, "", "Service", ks_meta_text(ctx->schema, service, "name"));
	ks_service_validate_addresses(ctx, service, old, status);
	if (status->causes)
		return ks_status_invalid_finish(status, ctx->arena);
	if (old)
		follow_policy(ctx, service, old, status);
	check_single_stack(ctx, service, status);
	if (!infer_families(ctx, service, status))
		return ks_status_internal(status, ctx->arena, "out of memory");
	free_choice = ks_service_is_headless(ctx, service) && !ks_service_has_selector(ctx, service);
	if (!status->causes && !free_choice)
		check_cluster(ctx, service, status);
	if (status->causes)
		return ks_status_invalid_finish(status, ctx->arena);
	memset(status, 0, sizeof(*status));
	return default_families(ctx, service, free_choice) ? 0 : ks_status_internal(status, ctx->arena, "out of memory");
}
