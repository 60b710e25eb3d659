/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The state of claims of devices: who has reserved them, what was allocated, what drivers report. */
#include "core/registry/validate/device.h"

enum { RESERVATIONS_MOST = 256, RESULTS_MOST = 32, DEVICE_CONDITIONS_MOST = 8, IPS_MOST = 16, DATA_BYTES = 10 * 1024 };

static void check_uid(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str uid)
{
	bool good = uid.n == 36;

	for (size_t i = 0; good && i < uid.n; i++) {
		char ch = uid.p[i];

		good = i == 8 || i == 13 || i == 18 || i == 23 ? ch == '-' : (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'f') || (ch >= 'A' && ch <= 'F');
	}
	if (!good) {
		ks_err_invalid_text(c, path, name, uid, ks_err_detail(c, "error validating uid: invalid UUID length: %zu", uid.n));
		return;
	}
	for (size_t i = 0; i < uid.n; i++) {
		if (uid.p[i] < 'A' || uid.p[i] > 'F')
			continue;
		ks_err_invalid_text(c, path, name, uid,
			"uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters");
		return;
	}
}

static void check_consumer(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	(void)arg;
	if (!KS_IN_TEXT(c, item, "resource").n)
		ks_err_required(c, path, "resource", "");
	if (!KS_IN_TEXT(c, item, "name").n)
		ks_err_required(c, path, "name", "");
	if (!KS_IN_TEXT(c, item, "uid").n)
		ks_err_required(c, path, "uid", "");
}

/* -- allocations -------------------------------------------------------------------------------------------------- */

static void check_result(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	struct ks_path request = ks_path_child(path, "request");

	ks_device_request_reference(c, &request, KS_IN_TEXT(c, item, "request"), arg);
	ks_check_csi_driver_name(c, path, "driver", KS_IN_TEXT(c, item, "driver"));
	ks_device_pool_name(c, path, "pool", KS_IN_TEXT(c, item, "pool"));
	ks_check_name(c, path, "device", KS_NAME_DNS1123_LABEL, KS_IN_TEXT(c, item, "device"));
	ks_device_binding_conditions(c, path, item);
	if (KS_IN(c, item, "shareID"))
		check_uid(c, path, "shareID", KS_IN_TEXT(c, item, "shareID"));
}

static void check_allocated_config(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	static const char *const origins[] = {"FromClaim", "FromClass", NULL};
	struct ks_str source = KS_IN_TEXT(c, item, "source");

	if (!source.n)
		ks_err_required(c, path, "source", "");
	else
		ks_check_one_of(c, path, "source", source, origins);
	ks_device_request_references(c, path, item, arg);
	ks_device_configuration(c, path, item, false);
}

static void check_allocation(struct ks_check *c, const struct ks_path *path, const struct ks_value *allocation, const struct ks_value *claim)
{
	const struct ks_value *devices = KS_IN(c, allocation, "devices"), *selector = KS_IN(c, allocation, "nodeSelector");
	struct ks_path at = ks_path_child(path, "devices"), below = ks_path_child(path, "nodeSelector");

	ks_device_list(c, &at, "results", KS_IN_LIST(c, devices, "results"), RESULTS_MOST, NULL, check_result, claim);
	ks_device_list(c, &at, "config", KS_IN_LIST(c, devices, "config"), 2 * KS_DEVICE_CONFIG_MOST, NULL, check_allocated_config, claim);
	if (selector)
		ks_check_node_selector(c, &below, selector);
}

/* -- devices ------------------------------------------------------------------------------------------------------ */

static bool same_device(struct ks_check *c, const struct ks_value *a, const struct ks_value *b)
{
	return ks_str_eq(KS_IN_TEXT(c, a, "driver"), KS_IN_TEXT(c, b, "driver")) && ks_str_eq(KS_IN_TEXT(c, a, "pool"), KS_IN_TEXT(c, b, "pool")) &&
		ks_str_eq(KS_IN_TEXT(c, a, "device"), KS_IN_TEXT(c, b, "device")) && ks_str_eq(KS_IN_TEXT(c, a, "shareID"), KS_IN_TEXT(c, b, "shareID"));
}

static bool is_allocated(struct ks_check *c, const struct ks_value *results, const struct ks_value *device)
{
	for (uint32_t i = 0; i < ks_value_count(results); i++)
		if (same_device(c, device, &results->items[i]))
			return true;
	return false;
}

/* How upstream shows which device is meant. */
static const char *device_id(struct ks_check *c, const struct ks_value *v)
{
	struct ks_str driver = KS_IN_TEXT(c, v, "driver"), pool = KS_IN_TEXT(c, v, "pool"), device = KS_IN_TEXT(c, v, "device");
	struct ks_str share = KS_IN_TEXT(c, v, "shareID");

	return ks_err_detail(c, "{\"Driver\":\"%.*s\",\"Pool\":\"%.*s\",\"Device\":\"%.*s\",\"ShareID\":\"%.*s\"}", (int)driver.n, driver.p ? driver.p : "",
		(int)pool.n, pool.p ? pool.p : "", (int)device.n, device.p ? device.p : "", (int)share.n, share.p ? share.p : "");
}

static void check_address(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	struct ks_str text = ks_value_str(item), bits;
	char canonical[KS_ADDRESS_TEXT], single[KS_ADDRESS_TEXT], *slash;
	bool beyond;

	(void)arg;
	if (ks_cidr_form(text, canonical, single, &beyond) == KS_ADDRESS_NONE) {
		ks_err_invalid(c, path, NULL, item, "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)");
		return;
	}
	/* The address stays whole: it is not that of its network. */
	slash = strchr(canonical, '/');
	bits = ks_str_from(slash ? slash : "");
	slash = strchr(single, '/');
	if (slash)
		*slash = 0;
	single[sizeof(single) - 1] = 0;
	if (text.n != strlen(single) + bits.n || !ks_str_starts(text, ks_str_from(single)) || memcmp(text.p + strlen(single), bits.p, bits.n))
		ks_err_invalid(c, path, NULL, item, ks_err_detail(c, "must be in canonical form (\"%s%s\")", single, bits.p));
}

static void check_network(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	if (!v)
		return;
	if (KS_IN_TEXT(c, v, "interfaceName").n > 256)
		ks_err_too_long(c, path, "interfaceName", 256);
	if (KS_IN_TEXT(c, v, "hardwareAddress").n > 128)
		ks_err_too_long(c, path, "hardwareAddress", 128);
	ks_device_list(c, path, "ips", KS_IN_LIST(c, v, "ips"), IPS_MOST, "", check_address, NULL);
}

static void check_device(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	const struct ks_value *conditions = KS_IN_LIST(c, item, "conditions"), *data = KS_IN(c, item, "data");
	struct ks_path at = ks_path_child(path, "conditions"), network = ks_path_child(path, "networkData");

	ks_check_csi_driver_name(c, path, "driver", KS_IN_TEXT(c, item, "driver"));
	ks_device_pool_name(c, path, "pool", KS_IN_TEXT(c, item, "pool"));
	ks_check_name(c, path, "device", KS_NAME_DNS1123_LABEL, KS_IN_TEXT(c, item, "device"));
	if (KS_IN(c, item, "shareID"))
		check_uid(c, path, "shareID", KS_IN_TEXT(c, item, "shareID"));
	if (!is_allocated(c, arg, item))
		ks_err_invalid_literal(c, path, NULL, device_id(c, item), "must be an allocated device in the claim");
	if (ks_value_count(conditions) > DEVICE_CONDITIONS_MOST)
		ks_err_too_many(c, &at, NULL, conditions->n, DEVICE_CONDITIONS_MOST);
	ks_check_conditions(c, &at, conditions);
	if (data)
		ks_device_raw(c, path, "data", data, false, DATA_BYTES);
	check_network(c, &network, KS_IN(c, item, "networkData"));
}

static void check_devices(struct ks_check *c, const struct ks_path *path, const struct ks_value *list, const struct ks_value *results)
{
	struct ks_path at = ks_path_child(path, "devices");

	ks_device_list(c, path, "devices", list, -1, NULL, check_device, results);
	for (uint32_t i = 1; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&at, i);
		bool seen = false;

		for (uint32_t k = 0; k < i && !seen; k++)
			seen = same_device(c, &list->items[i], &list->items[k]);
		if (seen)
			ks_status_cause(c->status, c->arena, "FieldValueDuplicate", ks_path_text(c->arena, &item, NULL), "Duplicate value: %s",
				device_id(c, &list->items[i]));
	}
}

/* -- the state ---------------------------------------------------------------------------------------------------- */

static bool has_new_item(const struct ks_value *now, const struct ks_value *before)
{
	for (uint32_t i = 0; i < ks_value_count(now); i++) {
		bool seen = false;

		for (uint32_t k = 0; k < ks_value_count(before) && !seen; k++)
			seen = ks_value_equal(&now->items[i], &before->items[k]);
		if (!seen)
			return true;
	}
	return false;
}

void ks_device_claim_status(struct ks_check *c, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_path path = ks_path_root("status"), at = ks_path_child(&path, "allocation");
	struct ks_value status = ks_struct_in(c, object, "status"), before = ks_struct_in(c, old, "status");
	const struct ks_value *reserved = KS_IN_LIST(c, &status, "reservedFor"), *allocation = KS_IN(c, &status, "allocation");
	const struct ks_value *claim = KS_IN(c, KS_IN(c, object, "spec"), "devices");

	ks_device_list(c, &path, "reservedFor", reserved, RESERVATIONS_MOST, "uid", check_consumer, NULL);
	check_devices(c, &path, KS_IN_LIST(c, &status, "devices"), KS_IN_LIST(c, KS_IN(c, allocation, "devices"), "results"));
	if (ks_value_count(reserved) && !allocation)
		ks_err_forbidden(c, &path, "reservedFor", "may not be specified when `allocated` is not set");
	else if (ks_value_count(reserved) && KS_IN(c, KS_IN(c, object, "metadata"), "deletionTimestamp") &&
		has_new_item(reserved, KS_IN_LIST(c, &before, "reservedFor")))
		ks_err_forbidden(c, &path, "reservedFor", "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set");
	if (allocation && KS_IN(c, &before, "allocation"))
		ks_check_slot_immutable(c, &path, "allocation", &status, &before, "allocation");
	else if (allocation)
		check_allocation(c, &at, allocation, claim);
}
