/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/service.h"

#include "core/registry/strategies.h"
#include "core/registry/validate/kinds.h"
#include "core/registry/validate/warn_objects.h"

bool ks_service_is_type(struct ks_registry_context *ctx, const struct ks_value *service, const char *type)
{
	return ks_str_is(ks_kit_text(ctx, service, "spec.type"), type);
}

bool ks_service_needs_address(struct ks_registry_context *ctx, const struct ks_value *service)
{
	return !ks_service_is_type(ctx, service, "ExternalName");
}

bool ks_service_needs_node_ports(struct ks_registry_context *ctx, const struct ks_value *service)
{
	return ks_service_is_type(ctx, service, "NodePort") || ks_service_is_type(ctx, service, "LoadBalancer");
}

bool ks_service_needs_health_port(struct ks_registry_context *ctx, const struct ks_value *service)
{
	return ks_service_is_type(ctx, service, "LoadBalancer") && ks_str_is(ks_kit_text(ctx, service, "spec.externalTrafficPolicy"), "Local");
}

bool ks_service_is_headless(struct ks_registry_context *ctx, const struct ks_value *service)
{
	return ks_str_is(ks_kit_text(ctx, service, "spec.clusterIP"), "None");
}

bool ks_service_has_selector(struct ks_registry_context *ctx, const struct ks_value *service)
{
	return ks_kit_map(ctx, service, "spec.selector") != NULL;
}

static bool is_reachable_from_outside(struct ks_registry_context *ctx, const struct ks_value *service)
{
	return ks_service_needs_node_ports(ctx, service) ||
		(ks_service_is_type(ctx, service, "ClusterIP") && ks_kit_list(ctx, service, "spec.externalIPs"));
}

/* -- defaults ----------------------------------------------------------------------------------------------------- */

static bool default_ports(struct ks_registry_context *ctx, struct ks_value *service)
{
	struct ks_value *ports = ks_kit_list(ctx, service, "spec.ports");

	for (uint32_t i = 0; ports && i < ports->n; i++) {
		struct ks_value *target = ks_kit_at(ctx, &ports->items[i], "targetPort");
		bool nothing = !target || (target->kind == KS_INT && !target->integer) || (target->kind == KS_STRING && !target->n);

		if (!ks_kit_default_text(ctx, &ports->items[i], "protocol", "TCP"))
			return false;
		if (nothing && !ks_kit_set(ctx, &ports->items[i], "targetPort", ks_value_from_int(ks_kit_int(ctx, &ports->items[i], "port", 0))))
			return false;
	}
	return true;
}

static bool default_affinity(struct ks_registry_context *ctx, struct ks_value *service)
{
	if (ks_str_is(ks_kit_text(ctx, service, "spec.sessionAffinity"), "None")) {
		ks_kit_clear(ctx, service, "spec.sessionAffinityConfig");
		return true;
	}
	if (!ks_str_is(ks_kit_text(ctx, service, "spec.sessionAffinity"), "ClientIP"))
		return true;
	return ks_kit_default(ctx, service, "spec.sessionAffinityConfig.clientIP.timeoutSeconds", ks_value_from_int(10800));
}

/* An address that a load balancer has given is its own unless it says otherwise. */
static bool default_balancer_addresses(struct ks_registry_context *ctx, struct ks_value *service)
{
	struct ks_value *list = ks_kit_list(ctx, service, "status.loadBalancer.ingress");

	for (uint32_t i = 0; list && i < list->n; i++)
		if (ks_kit_text(ctx, &list->items[i], "ip").n && !ks_kit_default_text(ctx, &list->items[i], "ipMode", "VIP"))
			return false;
	return true;
}

static bool service_defaults(struct ks_registry_context *ctx, struct ks_value *service)
{
	if (!ks_kit_struct(ctx, service, "spec") || !ks_default_constants(ctx->arena, ctx->schema, service))
		return false;
	if (!default_ports(ctx, service) || !default_affinity(ctx, service))
		return false;
	if (is_reachable_from_outside(ctx, service) && !ks_kit_default_text(ctx, service, "spec.externalTrafficPolicy", "Cluster"))
		return false;
	if ((ks_service_needs_node_ports(ctx, service) || ks_service_is_type(ctx, service, "ClusterIP")) &&
		!ks_kit_at(ctx, service, "spec.internalTrafficPolicy") && !ks_kit_set_text(ctx, service, "spec.internalTrafficPolicy", "Cluster"))
		return false;
	if (ks_service_is_type(ctx, service, "LoadBalancer") &&
		(!ks_kit_default(ctx, service, "spec.allocateLoadBalancerNodePorts", ks_value_from_bool(true)) ||
		!default_balancer_addresses(ctx, service)))
		return false;
	return true;
}

/* -- update ------------------------------------------------------------------------------------------------------- */

/* clusterIP is the first of clusterIPs; who says only one of them means both. */
static void match_addresses(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old)
{
	struct ks_str ip = ks_kit_text(ctx, service, "spec.clusterIP");
	struct ks_value *list;

	if (!old) {
		if (ip.n && !ks_kit_list(ctx, service, "spec.clusterIPs") && (list = ks_kit_make_list(ctx, service, "spec.clusterIPs")))
			ks_kit_append_text(ctx, list, ip);
		return;
	}
	if (ks_kit_same(ctx, service, old, "spec.clusterIP")) {
		/* clusterIPs alone was taken away. */
		if (ip.n && !ks_kit_list(ctx, service, "spec.clusterIPs") && ks_kit_list(ctx, old, "spec.clusterIPs"))
			ks_kit_clear(ctx, service, "spec.clusterIP");
		return;
	}
	if (!ks_kit_same(ctx, service, old, "spec.clusterIPs"))
		return;
	ks_kit_clear(ctx, service, "spec.clusterIPs");
	if (ip.n && (list = ks_kit_make_list(ctx, service, "spec.clusterIPs")))
		ks_kit_append_text(ctx, list, ip);
}

static bool port_number_in(struct ks_registry_context *ctx, const struct ks_value *ports, int64_t number)
{
	for (uint32_t i = 0; ports && i < ports->n; i++)
		if (ks_kit_int(ctx, &ports->items[i], "nodePort", 0) == number)
			return true;
	return false;
}

static void keep_node_ports(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old)
{
	struct ks_value *ports = ks_kit_list(ctx, service, "spec.ports");
	const struct ks_value *had = ks_kit_list(ctx, old, "spec.ports");

	for (uint32_t i = 0; ports && i < ports->n; i++) {
		for (uint32_t k = 0; had && k < had->n && !ks_kit_int(ctx, &ports->items[i], "nodePort", 0); k++) {
			int64_t number = ks_kit_int(ctx, &had->items[k], "nodePort", 0);

			if (number && ks_kit_same(ctx, &ports->items[i], &had->items[k], "name") && !port_number_in(ctx, ports, number) &&
				!ks_kit_set(ctx, &ports->items[i], "nodePort", ks_value_from_int(number)))
				return;
		}
	}
}

/* What was allocated before and isn't said now stays. */
static void keep_allocated(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old)
{
	if (ks_service_needs_address(ctx, old) && ks_service_needs_address(ctx, service)) {
		if (!ks_kit_text(ctx, service, "spec.clusterIP").n)
			ks_kit_take(ctx, service, old, "spec.clusterIP");
		if (!ks_kit_list(ctx, service, "spec.clusterIPs") && ks_kit_same(ctx, service, old, "spec.clusterIP"))
			ks_kit_take(ctx, service, old, "spec.clusterIPs");
	}
	if (ks_service_needs_node_ports(ctx, old) && ks_service_needs_node_ports(ctx, service))
		keep_node_ports(ctx, service, old);
	if (ks_service_needs_health_port(ctx, old) && ks_service_needs_health_port(ctx, service) &&
		!ks_kit_int(ctx, service, "spec.healthCheckNodePort", 0))
		ks_kit_take(ctx, service, old, "spec.healthCheckNodePort");
}

static int service_allocate(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old, struct ks_status *status)
{
	if (old)
		keep_allocated(ctx, service, old);
	match_addresses(ctx, service, old);
	return ks_service_allocate(ctx, service, old, status);
}

static bool same_node_ports(struct ks_registry_context *ctx, const struct ks_value *a, const struct ks_value *b)
{
	const struct ks_value *x = ks_kit_list(ctx, a, "spec.ports"), *y = ks_kit_list(ctx, b, "spec.ports");

	for (uint32_t i = 0; x && i < x->n; i++) {
		int64_t number = ks_kit_int(ctx, &x->items[i], "nodePort", 0);

		if (number && !port_number_in(ctx, y, number))
			return false;
	}
	return true;
}

static void drop_if_same(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old, const char *path)
{
	if (ks_kit_same(ctx, service, old, path))
		ks_kit_clear(ctx, service, path);
}

/* A change of type takes along what only the old type had, when the client left it as it was. */
static void drop_what_the_type_has_not(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old)
{
	bool was_balanced = ks_service_is_type(ctx, old, "LoadBalancer"), is_balanced = ks_service_is_type(ctx, service, "LoadBalancer");
	struct ks_value *ports = ks_kit_list(ctx, service, "spec.ports");

	if (ks_service_needs_address(ctx, old) && !ks_service_needs_address(ctx, service)) {
		drop_if_same(ctx, service, old, "spec.clusterIP");
		drop_if_same(ctx, service, old, "spec.clusterIPs");
		drop_if_same(ctx, service, old, "spec.ipFamilies");
		drop_if_same(ctx, service, old, "spec.ipFamilyPolicy");
		drop_if_same(ctx, service, old, "spec.internalTrafficPolicy");
	}
	if (ks_service_needs_node_ports(ctx, old) && !ks_service_needs_node_ports(ctx, service) && same_node_ports(ctx, service, old))
		for (uint32_t i = 0; ports && i < ports->n; i++)
			ks_kit_clear(ctx, &ports->items[i], "nodePort");
	if (ks_service_needs_health_port(ctx, old) && !ks_service_needs_health_port(ctx, service))
		drop_if_same(ctx, service, old, "spec.healthCheckNodePort");
	if (was_balanced && !is_balanced) {
		drop_if_same(ctx, service, old, "spec.allocateLoadBalancerNodePorts");
		drop_if_same(ctx, service, old, "spec.loadBalancerClass");
	}
	if (is_reachable_from_outside(ctx, old) && !is_reachable_from_outside(ctx, service))
		drop_if_same(ctx, service, old, "spec.externalTrafficPolicy");
}

static void service_prepare_create(struct ks_registry_context *ctx, struct ks_value *service)
{
	ks_kit_struct(ctx, service, "status.loadBalancer");
}

/* The balancer is given up in the background; the object says so at once. Its status is shared with the old object. */
static void forget_balancer(struct ks_registry_context *ctx, struct ks_value *service)
{
	const struct ks_value *status = ks_kit_at(ctx, service, "status");
	struct ks_value copy;

	if (!ks_kit_list(ctx, service, "status.loadBalancer.ingress") || !ks_value_copy(ctx->arena, status, &copy) ||
		!ks_kit_set(ctx, service, "status", copy))
		return;
	ks_kit_clear(ctx, service, "status.loadBalancer");
	ks_kit_struct(ctx, service, "status.loadBalancer");
}

static void service_prepare_update(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old)
{
	if (ctx->subresource.n)
		return;
	drop_what_the_type_has_not(ctx, service, old);
	if (!ks_service_is_type(ctx, service, "LoadBalancer"))
		forget_balancer(ctx, service);
}

/* -- validation --------------------------------------------------------------------------------------------------- */

static bool has_text(const struct ks_value *list, struct ks_str text)
{
	for (uint32_t i = 0; list && i < list->n; i++) {
		if (ks_str_eq(text, ks_value_str(&list->items[i])))
			return true;
	}
	return false;
}

/* What `old` (may be NULL) holds may stay, whatever it is. */
static void validate_each_address(
	struct ks_registry_context *ctx, const struct ks_value *ips, const struct ks_value *old, bool *broken, struct ks_status *status)
{
	for (uint32_t i = 0; i < ips->n; i++) {
		struct ks_str ip = ks_value_str(&ips->items[i]);
		uint32_t unused;

		if (!i && ks_str_is(ip, "None")) {
			if (ips->n > 1)
				ks_cause_invalid_value(status, ctx->arena, ctx->schema, "spec.clusterIPs", ips, "'None' must be the first and only value");
			*broken |= ips->n > 1;
		} else if (!ks_parse_ipv4(ip, &unused) && !ks_is_ipv6(ip) && !has_text(old, ip)) {
			*broken = true;
			ks_cause_invalid(status, ctx->arena, ks_kit_path(ctx, "spec.clusterIPs[%u]", i), ip,
				"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
		}
	}
	if (ips->n > 2)
		ks_cause_invalid_value(status, ctx->arena, ctx->schema, "spec.clusterIPs", ips, "may only hold up to 2 values");
}

static void validate_families(struct ks_registry_context *ctx, const struct ks_value *service, struct ks_status *status)
{
	static const char *const families_known[] = {"IPv4", "IPv6", NULL};
	static const char *const policies_known[] = {"PreferDualStack", "RequireDualStack", "SingleStack", NULL};
	const struct ks_value *families = ks_kit_list(ctx, service, "spec.ipFamilies");
	struct ks_str policy = ks_kit_text(ctx, service, "spec.ipFamilyPolicy");

	for (uint32_t i = 0; families && i < families->n; i++) {
		struct ks_str family = ks_value_str(&families->items[i]);

		if (!ks_str_is(family, "IPv4") && !ks_str_is(family, "IPv6"))
			ks_cause_unsupported(status, ctx->arena, ks_kit_path(ctx, "spec.ipFamilies[%u]", i), family, families_known);
		for (uint32_t k = 0; k < i; k++) {
			if (!ks_str_eq(family, ks_value_str(&families->items[k])))
				continue;
			ks_cause_duplicate(status, ctx->arena, ks_kit_path(ctx, "spec.ipFamilies[%u]", i), family);
			break;
		}
	}
	if (ks_kit_at(ctx, service, "spec.ipFamilyPolicy") && !ks_str_is(policy, "SingleStack") && !ks_str_is(policy, "PreferDualStack") && !ks_str_is(policy, "RequireDualStack"))
		ks_cause_unsupported(status, ctx->arena, "spec.ipFamilyPolicy", policy, policies_known);
}

static void validate_family_of_each(struct ks_registry_context *ctx, const struct ks_value *service, const struct ks_value *ips,
	struct ks_status *status)
{
	const struct ks_value *families = ks_kit_list(ctx, service, "spec.ipFamilies");
	uint32_t unused;

	for (uint32_t i = 0; families && i < ips->n && i < families->n; i++) {
		struct ks_str ip = ks_value_str(&ips->items[i]), family = ks_value_str(&families->items[i]);
		const char *field = ks_kit_path(ctx, "spec.clusterIPs[%u]", i);

		if (ks_str_is(family, "IPv4") && ks_is_ipv6(ip))
			ks_cause_invalid(status, ctx->arena, field, ip, ks_kit_path(ctx, "expected an IPv4 value as indicated by `ipFamilies[%u]`", i));
		if (ks_str_is(family, "IPv6") && ks_parse_ipv4(ip, &unused))
			ks_cause_invalid(status, ctx->arena, field, ip, ks_kit_path(ctx, "expected an IPv6 value as indicated by `ipFamilies[%u]`", i));
	}
}

void ks_service_validate_addresses(
	struct ks_registry_context *ctx, const struct ks_value *service, const struct ks_value *old, struct ks_status *status)
{
	const struct ks_value *ips = ks_kit_list(ctx, service, "spec.clusterIPs");
	struct ks_str ip = ks_kit_text(ctx, service, "spec.clusterIP");
	bool broken = false;
	uint32_t unused;

	if (!ks_service_needs_address(ctx, service))
		return;
	if (!ip.n && ips)
		ks_cause_invalid_value(status, ctx->arena, ctx->schema, "spec.clusterIPs", ips, "must be empty when `clusterIP` is not specified");
	else if (ips && !ks_str_eq(ip, ks_value_str(&ips->items[0])))
		ks_cause_invalid_value(status, ctx->arena, ctx->schema, "spec.clusterIPs", ips, "first value must match `clusterIP`");
	validate_families(ctx, service, status);
	if (ips)
		validate_each_address(ctx, ips, old ? ks_kit_list(ctx, old, "spec.clusterIPs") : NULL, &broken, status);
	if (broken || !ips)
		return;
	if (ips->n == 2 && ks_parse_ipv4(ks_value_str(&ips->items[0]), &unused) == ks_parse_ipv4(ks_value_str(&ips->items[1]), &unused))
		ks_cause_invalid_value(status, ctx->arena, ctx->schema, "spec.clusterIPs", ips, "may specify no more than one IP for each IP family");
	if (!ks_service_is_headless(ctx, service) && !status->causes)
		validate_family_of_each(ctx, service, ips, status);
}

const struct ks_strategy ks_strategy_services = {
	.group = "", .resource = "services",
	.flags = KS_STRATEGY_CREATE_ON_UPDATE | KS_STRATEGY_RETURNS_DELETED | KS_STRATEGY_VALIDATES_METADATA_AGAIN,
	.names = KS_NAME_LABEL,
	.defaults = service_defaults,
	.prepare_create = service_prepare_create,
	.prepare_update = service_prepare_update,
	.validate = ks_validate_service,
	.warnings = ks_warn_service,
	.allocate = service_allocate,
	.release = ks_service_release,
};
