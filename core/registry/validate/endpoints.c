/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Endpoints and slices of endpoints. */
#include "core/registry/validate/common.h"
#include "core/registry/validate/kinds.h"

enum { ENDPOINTS_MOST = 1000, ADDRESSES_MOST = 100, PORTS_MOST = 20000, TOPOLOGY_MOST = 16, HINTS_MOST = 8 };

static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};

/* -- endpoints ---------------------------------------------------------------------------------------------------- */

static void check_addresses(struct ks_check *c, const struct ks_path *path, const struct ks_value *list, const struct ks_value *old)
{
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		const struct ks_value *v = &list->items[i];
		struct ks_path item = ks_path_index(path, i);
		struct ks_str ip = KS_IN_TEXT(c, v, "ip"), host = KS_IN_TEXT(c, v, "hostname");

		ks_check_new_ip(c, &item, "ip", ip, old);
		if (host.n)
			ks_check_name(c, &item, "hostname", KS_NAME_DNS1123_LABEL, host);
		if (KS_IN(c, v, "nodeName"))
			ks_check_name(c, &item, "nodeName", KS_NAME_DNS1123_SUBDOMAIN, KS_IN_TEXT(c, v, "nodeName"));
		ks_check_ip_not_special(c, &item, "ip", ip);
	}
}

static void check_ports(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		const struct ks_value *v = &list->items[i];
		struct ks_path item = ks_path_index(path, i);
		struct ks_str name = KS_IN_TEXT(c, v, "name"), protocol = KS_IN_TEXT(c, v, "protocol");

		if (!name.n && list->n > 1)
			ks_err_required(c, &item, "name", "");
		else if (name.n)
			ks_check_name(c, &item, "name", KS_NAME_DNS1123_LABEL, name);
		ks_check_port(c, &item, "port", KS_IN_INT(c, v, "port", 0));
		if (!protocol.n)
			ks_err_required(c, &item, "protocol", "");
		else
			ks_check_one_of(c, &item, "protocol", protocol, protocols);
		if (KS_IN(c, v, "appProtocol"))
			ks_check_name(c, &item, "appProtocol", KS_NAME_LABEL_KEY, KS_IN_TEXT(c, v, "appProtocol"));
	}
}

void ks_validate_endpoints(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	const struct ks_value *subsets = KS_IN_LIST(&c, object, "subsets");
	const struct ks_value *old_subsets = old ? KS_IN(&c, old, "subsets") : NULL;
	struct ks_path path = ks_path_root("subsets");

	for (uint32_t i = 0; i < ks_value_count(subsets); i++) {
		const struct ks_value *ready = KS_IN_LIST(&c, &subsets->items[i], "addresses");
		const struct ks_value *others = KS_IN_LIST(&c, &subsets->items[i], "notReadyAddresses");
		struct ks_path item = ks_path_index(&path, i), at_ready = ks_path_child(&item, "addresses");
		struct ks_path at_others = ks_path_child(&item, "notReadyAddresses"), at_ports = ks_path_child(&item, "ports");

		if (!ks_value_count(ready) && !ks_value_count(others))
			ks_err_required(&c, &item, NULL, "must specify `addresses` or `notReadyAddresses`");
		check_addresses(&c, &at_ready, ready, old_subsets);
		check_addresses(&c, &at_others, others, old_subsets);
		check_ports(&c, &at_ports, KS_IN_LIST(&c, &subsets->items[i], "ports"));
	}
}

/* -- slices ------------------------------------------------------------------------------------------------------- */

static bool is_v4(struct ks_str text)
{
	return text.n && !memchr(text.p, ':', text.n);
}

static void check_slice_address(struct ks_check *c, const struct ks_path *list_path, const struct ks_path *path, struct ks_str type,
	struct ks_str address, const struct ks_value *old)
{
	bool v4 = ks_str_is(type, "IPv4");

	if (ks_str_is(type, "FQDN")) {
		if (!address.n)
			ks_err_required(c, path, NULL, "");
		else if (ks_check_name(c, path, NULL, KS_NAME_DNS1123_SUBDOMAIN, address) && !memchr(address.p, '.', address.n))
			ks_err_invalid_text(c, path, NULL, address, "should be a domain with at least two segments separated by dots");
		return;
	}
	if (!v4 && !ks_str_is(type, "IPv6"))
		return;
	if (!ks_check_new_canonical_ip(c, path, NULL, address, old))
		return;
	if (v4 != is_v4(address))
		ks_err_invalid_text(c, list_path, NULL, address, v4 ? "must be an IPv4 address" : "must be an IPv6 address");
	ks_check_ip_not_special(c, path, NULL, address);
}

static void check_hints(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *list)
{
	struct ks_path at = ks_path_child(path, name);
	struct ks_seen seen = {.n = 0};

	if (ks_value_count(list) > HINTS_MOST) {
		ks_err_too_many(c, &at, NULL, list->n, HINTS_MOST);
		return;
	}
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&at, i);
		struct ks_str zone = KS_IN_TEXT(c, &list->items[i], "name");

		if (!ks_seen_add(c, &seen, zone))
			ks_err_duplicate_text(c, &item, "name", zone);
		if (!strcmp(name, "forNodes"))
			ks_check_name(c, &item, "name", KS_NAME_DNS1123_SUBDOMAIN, zone);
		else
			ks_check_name(c, &item, "name", KS_NAME_LABEL_VALUE, zone);
	}
}

static void check_endpoint(struct ks_check *c, const struct ks_path *path, struct ks_str type, const struct ks_value *v, const struct ks_value *old)
{
	const struct ks_value *addresses = KS_IN_LIST(c, v, "addresses"), *topology = KS_IN_MAP(c, v, "deprecatedTopology");
	struct ks_path at = ks_path_child(path, "addresses"), hints = ks_path_child(path, "hints");

	if (!ks_value_count(addresses))
		ks_err_required(c, &at, NULL, "must contain at least 1 address");
	else if (addresses->n > ADDRESSES_MOST)
		ks_err_too_many(c, &at, NULL, addresses->n, ADDRESSES_MOST);
	for (uint32_t i = 0; i < ks_value_count(addresses); i++) {
		struct ks_path item = ks_path_index(&at, i);

		check_slice_address(c, &at, &item, type, ks_value_str(&addresses->items[i]), old);
	}
	if (KS_IN(c, v, "nodeName"))
		ks_check_name(c, path, "nodeName", KS_NAME_DNS1123_SUBDOMAIN, KS_IN_TEXT(c, v, "nodeName"));
	if (ks_value_count(topology) > TOPOLOGY_MOST)
		ks_err_too_many(c, path, "deprecatedTopology", topology->n, TOPOLOGY_MOST);
	ks_check_labels(c, path, "deprecatedTopology", topology);
	if (KS_IN(c, v, "hostname"))
		ks_check_name(c, path, "hostname", KS_NAME_DNS1123_LABEL, KS_IN_TEXT(c, v, "hostname"));
	check_hints(c, &hints, "forZones", KS_IN_LIST(c, KS_IN(c, v, "hints"), "forZones"));
	check_hints(c, &hints, "forNodes", KS_IN_LIST(c, KS_IN(c, v, "hints"), "forNodes"));
}

static void check_slice_ports(struct ks_check *c, const struct ks_value *list)
{
	struct ks_path path = ks_path_root("ports");
	struct ks_seen seen = {.n = 0};

	if (ks_value_count(list) > PORTS_MOST) {
		ks_err_too_many(c, &path, NULL, list->n, PORTS_MOST);
		return;
	}
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		const struct ks_value *v = &list->items[i];
		struct ks_path item = ks_path_index(&path, i);
		struct ks_str name = KS_IN_TEXT(c, v, "name");

		if (name.n)
			ks_check_name(c, &item, "name", KS_NAME_DNS1123_LABEL, name);
		if (!ks_seen_add(c, &seen, name))
			ks_err_duplicate_text(c, &item, "name", name);
		if (!KS_IN(c, v, "protocol"))
			ks_err_required(c, &item, "protocol", "");
		else
			ks_check_one_of(c, &item, "protocol", KS_IN_TEXT(c, v, "protocol"), protocols);
		if (KS_IN(c, v, "appProtocol"))
			ks_check_name(c, &item, "appProtocol", KS_NAME_LABEL_KEY, KS_IN_TEXT(c, v, "appProtocol"));
	}
}

void ks_validate_endpointslice(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	static const char *const types[] = {"FQDN", "IPv4", "IPv6", NULL};
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path type_path = ks_path_root("addressType"), path = ks_path_root("endpoints");
	struct ks_str type = KS_IN_TEXT(&c, object, "addressType");
	const struct ks_value *list = KS_IN_LIST(&c, object, "endpoints"), *kept = old ? KS_IN(&c, old, "endpoints") : NULL;
	/* Addresses that stay are not held against another type: that it changed is said of the type. */
	bool stay = kept && list && ks_value_equal(kept, list);

	if (!type.n)
		ks_err_required(&c, &type_path, NULL, "");
	else
		ks_check_one_of(&c, &type_path, NULL, type, types);
	if (ks_value_count(list) > ENDPOINTS_MOST) {
		ks_err_too_many(&c, &path, NULL, list->n, ENDPOINTS_MOST);
	} else {
		for (uint32_t i = 0; i < ks_value_count(list); i++) {
			struct ks_path item = ks_path_index(&path, i);

			check_endpoint(&c, &item, stay ? (struct ks_str){0} : type, &list->items[i], kept);
		}
	}
	check_slice_ports(&c, KS_IN_LIST(&c, object, "ports"));
	if (old)
		ks_check_slot_immutable(&c, &type_path, NULL, object, old, "addressType");
}
