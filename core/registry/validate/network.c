/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* networking.k8s.io, but ingresses. */
#include <arpa/inet.h>
#include <stdlib.h>

#include "core/registry/validate/common.h"
#include "core/registry/validate/kinds.h"

/* -- ranges of addresses ------------------------------------------------------------------------------------------ */

struct range {
	int family; /* AF_INET, AF_INET6; 0: none */
	unsigned char bytes[16];
	int bits;
};

static bool parse_range(struct ks_str text, struct range *out)
{
	char copy[80];
	char *slash;

	*out = (struct range){0};
	if (!text.n || text.n >= sizeof(copy))
		return false;
	memcpy(copy, text.p, text.n);
	copy[text.n] = 0;
	slash = strchr(copy, '/');
	if (!slash)
		return false;
	*slash = 0;
	out->bits = (int)strtol(slash + 1, NULL, 10);
	out->family = strchr(copy, ':') ? AF_INET6 : AF_INET;
	return inet_pton(out->family, copy, out->bytes) == 1 && out->bits >= 0 && out->bits <= (out->family == AF_INET ? 32 : 128);
}

/* Is `inner` a part of `outer`, and smaller? */
static bool is_part(const struct range *inner, const struct range *outer)
{
	if (inner->family != outer->family || inner->bits <= outer->bits)
		return false;
	for (int i = 0; i < outer->bits; i++)
		if ((inner->bytes[i / 8] ^ outer->bytes[i / 8]) & (0x80 >> (i % 8)))
			return false;
	return true;
}

/* -- policies ----------------------------------------------------------------------------------------------------- */

static void check_policy_port(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char *const protocols[] = {"TCP", "UDP", "SCTP", NULL};
	const struct ks_value *protocol = KS_IN(c, v, "protocol"), *port = KS_IN(c, v, "port"), *end = KS_IN(c, v, "endPort");
	int64_t last = ks_value_int_or(end, 0);

	if (protocol)
		ks_check_one_of(c, path, "protocol", ks_value_str(protocol), protocols);
	if (!port) {
		if (end)
			ks_err_invalid_int(c, path, "endPort", last, "may not be specified when `port` is not specified");
		return;
	}
	if (port->kind == KS_STRING) {
		if (end)
			ks_err_invalid_int(c, path, "endPort", last, "may not be specified when `port` is non-numeric");
		ks_check_name(c, path, "port", KS_NAME_PORT, ks_value_str(port));
		return;
	}
	ks_check_port(c, path, "port", ks_value_int_or(port, 0));
	if (!end)
		return;
	if (last < ks_value_int_or(port, 0))
		ks_err_invalid_int(c, path, "endPort", ks_value_int_or(port, 0), "must be greater than or equal to `port`");
	ks_check_port(c, path, "endPort", last);
}

static void check_block(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, const struct ks_value *old)
{
	struct ks_str cidr = KS_IN_TEXT(c, v, "cidr");
	const struct ks_value *except = KS_IN_LIST(c, v, "except");
	struct ks_path at = ks_path_child(path, "except");
	struct range outer, inner;

	if (!cidr.n) {
		ks_err_required(c, path, "cidr", "");
		return;
	}
	ks_check_new_cidr(c, path, "cidr", cidr, old);
	if (!parse_range(cidr, &outer))
		return;
	for (uint32_t i = 0; i < ks_value_count(except); i++) {
		struct ks_path item = ks_path_index(&at, i);
		struct ks_str text = ks_value_str(&except->items[i]);

		ks_check_new_cidr(c, &item, NULL, text, old);
		if (parse_range(text, &inner) && !is_part(&inner, &outer))
			ks_err_invalid_text(c, &item, NULL, text, "must be a strict subset of `cidr`");
	}
}

static void check_peer(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, const struct ks_value *old, unsigned flags)
{
	const struct ks_value *pods = KS_IN(c, v, "podSelector"), *namespaces = KS_IN(c, v, "namespaceSelector"), *block = KS_IN(c, v, "ipBlock");
	struct ks_path at = ks_path_child(path, "ipBlock");

	ks_check_label_selector(c, path, "podSelector", pods, flags);
	ks_check_label_selector(c, path, "namespaceSelector", namespaces, flags);
	if (block)
		check_block(c, &at, block, old);
	if (!pods && !namespaces && !block)
		ks_err_required(c, path, NULL, "must specify a peer");
	else if (block && (pods || namespaces))
		ks_err_forbidden(c, path, NULL, "may not specify both ipBlock and another peer");
}

static void check_direction(struct ks_check *c, const struct ks_path *path, const struct ks_value *rules, const char *peers, const struct ks_value *old,
	unsigned flags)
{
	for (uint32_t i = 0; i < ks_value_count(rules); i++) {
		const struct ks_value *ports = KS_IN_LIST(c, &rules->items[i], "ports"), *list = ks_value_get(c->schema, &rules->items[i], peers);
		struct ks_path item = ks_path_index(path, i), at_ports = ks_path_child(&item, "ports"), at_peers = ks_path_child(&item, peers);

		for (uint32_t k = 0; k < ks_value_count(ports); k++) {
			struct ks_path below = ks_path_index(&at_ports, k);

			check_policy_port(c, &below, &ports->items[k]);
		}
		for (uint32_t k = 0; k < ks_value_count(list); k++) {
			struct ks_path below = ks_path_index(&at_peers, k);

			check_peer(c, &below, &list->items[k], old, flags);
		}
	}
}

static unsigned selector_flags(struct ks_check *c, const struct ks_value *old)
{
	struct ks_status aside = {0};
	struct ks_check quiet = *c;
	struct ks_path path = ks_path_root("podSelector");

	quiet.status = &aside;
	if (!old || ks_check_label_selector(&quiet, &path, NULL, KS_IN(c, KS_IN(c, old, "spec"), "podSelector"), 0))
		return 0;
	return KS_SELECTOR_VALUES_FREE;
}

void ks_validate_networkpolicy(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	static const char *const types[] = {"Ingress", "Egress", NULL};
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec"), ingress = ks_path_child(&path, "ingress"), egress = ks_path_child(&path, "egress");
	struct ks_path at = ks_path_child(&path, "policyTypes");
	struct ks_value spec = ks_struct_in(&c, object, "spec");
	const struct ks_value *list = KS_IN_LIST(&c, &spec, "policyTypes"), *before = old ? KS_IN(&c, old, "spec") : NULL;
	unsigned flags = selector_flags(&c, old);

	ks_check_label_selector(&c, &path, "podSelector", KS_IN(&c, &spec, "podSelector"), flags);
	check_direction(&c, &ingress, KS_IN(&c, &spec, "ingress"), "from", before, flags);
	check_direction(&c, &egress, KS_IN(&c, &spec, "egress"), "to", before, flags);
	if (ks_value_count(list) > 2) {
		ks_err_invalid(&c, &at, NULL, list, "may not specify more than two policyTypes");
		return;
	}
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&at, i);

		ks_check_one_of(&c, &item, NULL, ks_value_str(&list->items[i]), types);
	}
}

/* -- addresses ---------------------------------------------------------------------------------------------------- */

static void check_parent(struct ks_check *c, const struct ks_path *path, const struct ks_value *parent)
{
	struct ks_str group = KS_IN_TEXT(c, parent, "group"), ns = KS_IN_TEXT(c, parent, "namespace");

	if (!parent) {
		ks_err_required(c, path, NULL, "");
		return;
	}
	if (group.n)
		ks_check_name(c, path, "group", KS_NAME_DNS1123_SUBDOMAIN, group);
	ks_check_required_name(c, path, "resource", KS_NAME_PATH_SEGMENT, KS_IN_TEXT(c, parent, "resource"));
	ks_check_required_name(c, path, "name", KS_NAME_PATH_SEGMENT, KS_IN_TEXT(c, parent, "name"));
	if (ns.n)
		ks_check_name(c, path, "namespace", KS_NAME_PATH_SEGMENT, ns);
}

void ks_validate_ipaddress(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec.parentRef"), name_path = ks_path_root("metadata.name");
	struct ks_value spec = ks_struct_in(&c, object, "spec"), before;
	struct ks_str name = KS_IN_TEXT(&c, KS_IN(&c, object, "metadata"), "name");

	if (name.n)
		ks_check_canonical_ip(&c, &name_path, NULL, name);
	check_parent(&c, &path, KS_IN(&c, &spec, "parentRef"));
	if (!old)
		return;
	before = ks_struct_in(&c, old, "spec");
	ks_check_slot_immutable(&c, &path, NULL, &spec, &before, "parentRef");
}

static bool are_of_one_family(const struct ks_value *list)
{
	struct range a, b;

	return parse_range(ks_value_str(&list->items[0]), &a) && parse_range(ks_value_str(&list->items[1]), &b) && a.family == b.family;
}

static void check_new_ranges(struct ks_check *c, const struct ks_path *path, const struct ks_value *object, const struct ks_value *list)
{
	if (!ks_value_count(list)) {
		ks_err_required(c, path, NULL, "at least one CIDR required");
		return;
	}
	if (list->n > 2) {
		ks_err_invalid_slot(c, path, NULL, object, "spec", "may only hold up to 2 values");
		return;
	}
	if (list->n == 2 && are_of_one_family(list)) {
		ks_err_invalid(c, path, NULL, list, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64");
		return;
	}
	for (uint32_t i = 0; i < list->n; i++) {
		struct ks_path item = ks_path_index(path, i);

		ks_check_canonical_cidr(c, &item, NULL, ks_value_str(&list->items[i]));
	}
}

/* A second family may be added; what is there stays. */
static void check_range_update(
	struct ks_check *c, const struct ks_path *path, const struct ks_value *object, const struct ks_value *spec, const struct ks_value *before)
{
	const struct ks_value *now = KS_IN_LIST(c, spec, "cidrs"), *had = KS_IN_LIST(c, before, "cidrs");
	uint32_t n = ks_value_count(now), was = ks_value_count(had);

	if (n != was && !(was == 1 && n == 2)) {
		const struct ks_value *said = ks_value_get(c->schema, spec, "cidrs");

		if (!n && said && said->kind == KS_LIST)
			ks_err_invalid_literal(c, path, NULL, "[]", "field is immutable");
		else
			ks_err_invalid_slot(c, path, NULL, spec, "cidrs", "field is immutable");
		return;
	}
	for (uint32_t i = 0; i < was; i++) {
		struct ks_path item = ks_path_index(path, i);

		if (!ks_value_equal(&now->items[i], &had->items[i]))
			ks_err_invalid(c, &item, NULL, &now->items[i], "field is immutable");
	}
	if (n > was)
		check_new_ranges(c, path, object, now);
}

void ks_validate_servicecidr(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec.cidrs");
	struct ks_value spec = ks_struct_in(&c, object, "spec"), before;

	if (ctx->subresource.n)
		return;
	if (!old) {
		check_new_ranges(&c, &path, object, KS_IN_LIST(&c, &spec, "cidrs"));
		return;
	}
	before = ks_struct_in(&c, old, "spec");
	check_range_update(&c, &path, object, &spec, &before);
}
