/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Addresses and ranges that could be written better. */
#include "core/registry/validate/pod.h"
#include "core/registry/validate/warn_objects.h"
#include "core/registry/validate/warnings.h"

void ks_warn_ip(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value)
{
	char canonical[KS_ADDRESS_TEXT];

	switch (ks_ip_form(value, canonical)) {
	case KS_ADDRESS_LEGACY:
		ks_warn_at(c, path, name, "non-standard IP address \"%.*s\" will be considered invalid in a future Kubernetes release: use \"%s\"", (int)value.n,
			value.p, canonical);
		return;
	case KS_ADDRESS_LOOSE:
		ks_warn_at(c, path, name, "IPv6 address \"%.*s\" should be in RFC 5952 canonical format (\"%s\")", (int)value.n, value.p, canonical);
		return;
	default:
		return;
	}
}

void ks_warn_cidr(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value)
{
	char canonical[KS_ADDRESS_TEXT], single[KS_ADDRESS_TEXT];
	bool beyond = false;
	enum ks_address_form form = ks_cidr_form(value, canonical, single, &beyond);

	if (beyond)
		ks_warn_at(c, path, name, "CIDR value \"%.*s\" is ambiguous in this context (should be \"%s\" or \"%s\"?)", (int)value.n, value.p, canonical, single);
	if (form == KS_ADDRESS_LEGACY)
		ks_warn_at(c, path, name, "non-standard CIDR value \"%.*s\" will be considered invalid in a future Kubernetes release: use \"%s\"", (int)value.n,
			value.p, canonical);
	if (form == KS_ADDRESS_LOOSE && !beyond)
		ks_warn_at(c, path, name, "IPv6 CIDR value \"%.*s\" should be in RFC 5952 canonical format (\"%s\")", (int)value.n, value.p, canonical);
}

void ks_warn_ips(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *list)
{
	struct ks_path at = ks_path_child(path, name);

	EACH(i, list) {
		struct ks_path item = ks_path_index(&at, i);

		ks_warn_ip(c, &item, NULL, ks_value_str(&list->items[i]));
	}
}

void ks_warn_cidrs(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *list)
{
	struct ks_path at = ks_path_child(path, name);

	EACH(i, list) {
		struct ks_path item = ks_path_index(&at, i);

		ks_warn_cidr(c, &item, NULL, ks_value_str(&list->items[i]));
	}
}

void ks_warn_service_addresses(struct ks_check *c, const struct ks_value *spec)
{
	struct ks_path path = ks_path_root("spec");
	bool external = ks_str_is(TEXT(spec, "type"), "ExternalName"), headless = ks_str_is(TEXT(spec, "clusterIP"), "None");

	if (!external && !headless)
		ks_warn_ips(c, &path, "clusterIPs", LIST(spec, "clusterIPs"));
	ks_warn_ips(c, &path, "externalIPs", LIST(spec, "externalIPs"));
	if (TEXT(spec, "loadBalancerIP").n)
		ks_warn_ip(c, &path, "loadBalancerIP", TEXT(spec, "loadBalancerIP"));
	ks_warn_cidrs(c, &path, "loadBalancerSourceRanges", LIST(spec, "loadBalancerSourceRanges"));
}

static void warn_peers(struct ks_check *c, const char *field, const char *peers, const struct ks_value *rules)
{
	struct ks_path root = ks_path_root("spec"), at = ks_path_child(&root, field);

	EACH(i, rules) {
		const struct ks_value *list = ks_value_get(c->schema, &rules->items[i], peers);
		struct ks_path rule = ks_path_index(&at, i), below = ks_path_child(&rule, peers);

		EACH(k, list) {
			const struct ks_value *block = IN(&list->items[k], "ipBlock");
			struct ks_path item = ks_path_index(&below, k), block_at = ks_path_child(&item, "ipBlock");

			if (!block)
				continue;
			ks_warn_cidr(c, &block_at, "cidr", TEXT(block, "cidr"));
			ks_warn_cidrs(c, &block_at, "except", LIST(block, "except"));
		}
	}
}

static struct ks_check begin(struct ks_registry_context *ctx)
{
	return (struct ks_check){.schema = ctx->schema, .arena = ctx->arena, .user = ctx};
}

void ks_warn_networkpolicy(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;

	(void)old;
	warn_peers(c, "ingress", "from", LIST(IN(object, "spec"), "ingress"));
	warn_peers(c, "egress", "to", LIST(IN(object, "spec"), "egress"));
}

void ks_warn_endpoints(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;
	static const char *const lists[] = {"addresses", "notReadyAddresses"};
	const struct ks_value *subsets = LIST(object, "subsets");
	struct ks_path at = ks_path_root("subsets");

	(void)old;
	EACH(i, subsets) {
		struct ks_path subset = ks_path_index(&at, i);

		for (size_t k = 0; k < 2; k++) {
			const struct ks_value *list = ks_value_get(c->schema, &subsets->items[i], lists[k]);
			struct ks_path below = ks_path_child(&subset, lists[k]);

			EACH(m, list) {
				struct ks_path item = ks_path_index(&below, m);

				ks_warn_ip(c, &item, "ip", TEXT(&list->items[m], "ip"));
			}
		}
	}
}
