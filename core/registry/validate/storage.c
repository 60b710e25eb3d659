/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* storage.k8s.io */
#include "core/registry/validate/kinds.h"
#include "core/registry/validate/volume.h"

enum { PARAMETERS_MOST = 512, PARAMETERS_BYTES = 256 * 1024, ERROR_BYTES = 1024, NODE_ID_BYTES = 256 };

static const char *const reclaim_policies[] = {"Delete", "Retain", NULL};
static const char *const binding_modes[] = {"Immediate", "WaitForFirstConsumer", NULL};

/* -- classes ------------------------------------------------------------------------------------------------------ */

static void check_driver(struct ks_check *c, const struct ks_path *path, struct ks_str value)
{
	struct ks_name_errors errors;
	char lowered[512];

	if (!value.n) {
		ks_err_required(c, path, NULL, "");
		return;
	}
	if (value.n > sizeof(lowered)) {
		ks_check_name(c, path, NULL, KS_NAME_LABEL_KEY, value);
		return;
	}
	for (size_t i = 0; i < value.n; i++)
		lowered[i] = value.p[i] >= 'A' && value.p[i] <= 'Z' ? (char)(value.p[i] + 'a' - 'A') : value.p[i];
	value = ks_str_of(lowered, value.n);
	if (ks_name_check(KS_NAME_LABEL_KEY, value, &errors))
		return;
	for (unsigned i = 0; i < errors.n; i++)
		ks_err_invalid_text(c, path, NULL, value, errors.text[i]);
}

static void check_parameters(struct ks_check *c, const struct ks_value *map, bool may_be_empty)
{
	struct ks_path path = ks_path_root("parameters");
	size_t total = 0;

	if (ks_value_count(map) > PARAMETERS_MOST) {
		ks_err_too_long(c, &path, NULL, PARAMETERS_MOST);
		return;
	}
	for (uint32_t i = 0; i < ks_value_count(map); i++) {
		if (!map->members[i].key.n)
			ks_err_invalid_text(c, &path, NULL, map->members[i].key, "field can not be empty.");
		total += map->members[i].key.n + map->members[i].value.n;
	}
	if (total > PARAMETERS_BYTES)
		ks_err_too_long(c, &path, NULL, PARAMETERS_BYTES);
	if (!may_be_empty && !ks_value_count(map))
		ks_err_required(c, &path, NULL, "must contain at least one key/value pair");
}

static void check_topology_requirement(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *values = KS_IN_LIST(c, v, "values");
	struct ks_path at = ks_path_child(path, "values");

	if (!ks_value_count(values))
		ks_err_required(c, path, "values", "");
	for (uint32_t i = 0; i < ks_value_count(values); i++) {
		struct ks_path item = ks_path_index(&at, i);

		for (uint32_t k = 0; k < i; k++) {
			if (!ks_value_equal(&values->items[i], &values->items[k]))
				continue;
			ks_err_duplicate(c, &item, NULL, &values->items[i]);
			break;
		}
	}
	ks_check_name(c, path, "key", KS_NAME_LABEL_KEY, KS_IN_TEXT(c, v, "key"));
}

static void check_topology_term(struct ks_check *c, const struct ks_path *path, const struct ks_value *term)
{
	const struct ks_value *list = KS_IN_LIST(c, term, "matchLabelExpressions");
	struct ks_path at = ks_path_child(path, "matchLabelExpressions");

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&at, i);
		struct ks_str key = KS_IN_TEXT(c, &list->items[i], "key");

		check_topology_requirement(c, &item, &list->items[i]);
		for (uint32_t k = 0; k < i; k++) {
			if (!ks_str_eq(key, KS_IN_TEXT(c, &list->items[k], "key")))
				continue;
			ks_err_duplicate_text(c, &item, "key", key);
			break;
		}
	}
}

static void check_topologies(struct ks_check *c, const struct ks_value *terms)
{
	struct ks_path path = ks_path_root("allowedTopologies");

	for (uint32_t i = 0; i < ks_value_count(terms); i++) {
		struct ks_path item = ks_path_index(&path, i);

		check_topology_term(c, &item, &terms->items[i]);
		/* An empty term is told from nothing as often as there are terms. */
		for (uint32_t k = 0; !ks_value_count(KS_IN(c, &terms->items[i], "matchLabelExpressions")) && k < terms->n; k++)
			ks_err_duplicate_text(c, &item, "matchLabelExpressions", (struct ks_str){0});
		for (uint32_t k = 0; k < i; k++) {
			if (ks_value_equal(&terms->items[i], &terms->items[k]))
				ks_err_duplicate_text(c, &item, "matchLabelExpressions", (struct ks_str){0});
		}
	}
}

void ks_validate_storageclass(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	static const char *const fixed[] = {"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"};
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path driver = ks_path_root("provisioner"), policy = ks_path_root("reclaimPolicy"), mode = ks_path_root("volumeBindingMode");
	struct ks_str text;

	check_driver(&c, &driver, KS_IN_TEXT(&c, object, "provisioner"));
	check_parameters(&c, KS_IN_MAP(&c, object, "parameters"), true);
	text = KS_IN_TEXT(&c, object, "reclaimPolicy");
	if (text.n)
		ks_check_one_of(&c, &policy, NULL, text, reclaim_policies);
	if (!KS_IN(&c, object, "volumeBindingMode"))
		ks_err_required(&c, &mode, NULL, "");
	else
		ks_check_one_of(&c, &mode, NULL, KS_IN_TEXT(&c, object, "volumeBindingMode"), binding_modes);
	check_topologies(&c, KS_IN_LIST(&c, object, "allowedTopologies"));
	for (size_t i = 0; old && i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		struct ks_path path = ks_path_root(fixed[i]);

		ks_check_slot_immutable(&c, &path, NULL, object, old, fixed[i]);
	}
}

void ks_validate_volumeattributesclass(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path driver = ks_path_root("driverName"), parameters = ks_path_root("parameters");

	if (old && !ks_str_eq(KS_IN_TEXT(&c, object, "driverName"), KS_IN_TEXT(&c, old, "driverName")))
		ks_err_forbidden(&c, &driver, NULL, "updates to driverName are forbidden.");
	if (old && !ks_value_same(KS_IN(&c, object, "parameters"), KS_IN(&c, old, "parameters")))
		ks_err_forbidden(&c, &parameters, NULL, "updates to parameters are forbidden.");
	check_driver(&c, &driver, KS_IN_TEXT(&c, object, "driverName"));
	check_parameters(&c, KS_IN_MAP(&c, object, "parameters"), false);
}

/* -- drivers ------------------------------------------------------------------------------------------------------ */

static void check_token_requests(struct ks_check *c, const struct ks_path *spec, const struct ks_value *list)
{
	struct ks_path at = ks_path_child(spec, "tokenRequests");

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&at, i);
		struct ks_str audience = KS_IN_TEXT(c, &list->items[i], "audience");
		int64_t seconds = KS_IN_INT(c, &list->items[i], "expirationSeconds", 600);
		bool seen = false;

		for (uint32_t k = 0; k < i && !seen; k++)
			seen = ks_str_eq(audience, KS_IN_TEXT(c, &list->items[k], "audience"));
		if (seen) {
			ks_err_duplicate_text(c, &item, "audience", audience);
			continue;
		}
		if (seconds < 600)
			ks_err_invalid_int(c, &item, "expirationSeconds", seconds, "may not specify a duration less than 10 minutes");
		if (seconds > (int64_t)1 << 32)
			ks_err_invalid_int(c, &item, "expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds");
	}
}

static void check_lifecycle_modes(struct ks_check *c, const struct ks_path *spec, const struct ks_value *list)
{
	static const char *const modes[] = {"Persistent", "Ephemeral", NULL};

	for (uint32_t i = 0; i < ks_value_count(list); i++)
		ks_check_one_of(c, spec, "volumeLifecycleModes", ks_value_str(&list->items[i]), modes);
}

void ks_validate_csidriver(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	static const char *const policies[] = {"File", "None", "ReadWriteOnceWithFSType", NULL};
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec");
	struct ks_value spec = ks_struct_in(&c, object, "spec"), before;
	int64_t period = KS_IN_INT(&c, &spec, "nodeAllocatableUpdatePeriodSeconds", 10);

	if (!KS_IN(&c, &spec, "attachRequired"))
		ks_err_required(&c, &path, "attachedRequired", "");
	if (!KS_IN(&c, &spec, "podInfoOnMount"))
		ks_err_required(&c, &path, "podInfoOnMount", "");
	if (!KS_IN(&c, &spec, "storageCapacity"))
		ks_err_required(&c, &path, "storageCapacity", "");
	if (KS_IN(&c, &spec, "fsGroupPolicy"))
		ks_check_one_of(&c, &path, "fsGroupPolicy", KS_IN_TEXT(&c, &spec, "fsGroupPolicy"), policies);
	check_token_requests(&c, &path, KS_IN_LIST(&c, &spec, "tokenRequests"));
	check_lifecycle_modes(&c, &path, KS_IN_LIST(&c, &spec, "volumeLifecycleModes"));
	if (!KS_IN(&c, &spec, "seLinuxMount"))
		ks_err_required(&c, &path, "seLinuxMount", "");
	if (period < 10)
		ks_err_invalid_int(&c, &path, "nodeAllocatableUpdatePeriodSeconds", period, "must be greater than or equal to 10 seconds");
	if (KS_IN(&c, &spec, "serviceAccountTokenInSecrets") && !ks_value_count(KS_IN_LIST(&c, &spec, "tokenRequests")))
		ks_err_invalid(&c, &path, "serviceAccountTokenInSecrets", KS_IN(&c, &spec, "serviceAccountTokenInSecrets"),
			"serviceAccountTokenInSecrets is set but no tokenRequests are specified");
	if (!old)
		return;
	before = ks_struct_in(&c, old, "spec");
	ks_check_slot_immutable(&c, &path, "attachedRequired", &spec, &before, "attachRequired");
	ks_check_slot_immutable(&c, &path, "volumeLifecycleModes", &spec, &before, "volumeLifecycleModes");
}

/* -- nodes -------------------------------------------------------------------------------------------------------- */

static void check_topology_keys(struct ks_check *c, const struct ks_path *path, const struct ks_value *keys)
{
	for (uint32_t i = 0; i < ks_value_count(keys); i++) {
		struct ks_str key = ks_value_str(&keys->items[i]);
		bool seen = false;

		if (!key.n)
			ks_err_required(c, path, NULL, "");
		for (uint32_t k = 0; k < i && !seen; k++)
			seen = ks_str_eq(key, ks_value_str(&keys->items[k]));
		if (seen)
			ks_err_duplicate_text(c, path, NULL, key);
		ks_check_name(c, path, NULL, KS_NAME_LABEL_KEY, key);
	}
}

static void check_node_driver(struct ks_check *c, const struct ks_path *path, const struct ks_value *list, uint32_t at)
{
	const struct ks_value *driver = &list->items[at];
	struct ks_str name = KS_IN_TEXT(c, driver, "name"), id = KS_IN_TEXT(c, driver, "nodeID");
	const struct ks_value *count = KS_IN(c, KS_IN(c, driver, "allocatable"), "count");

	ks_check_csi_driver_name(c, path, "name", name);
	if (!id.n)
		ks_err_required(c, path, "nodeID", "");
	if (id.n > NODE_ID_BYTES)
		ks_err_invalid_text(c, path, "nodeID", id, "must be 256 characters or less");
	if (count)
		ks_check_nonnegative(c, path, "allocatable.count", ks_value_int_or(count, 0));
	for (uint32_t k = 0; k < at; k++) {
		if (!ks_str_eq(name, KS_IN_TEXT(c, &list->items[k], "name")))
			continue;
		ks_err_duplicate_text(c, path, "name", name);
		break;
	}
	check_topology_keys(c, path, KS_IN_LIST(c, driver, "topologyKeys"));
}

static bool same_driver(struct ks_check *c, const struct ks_value *a, const struct ks_value *b)
{
	return ks_value_same(KS_IN(c, a, "name"), KS_IN(c, b, "name")) && ks_value_same(KS_IN(c, a, "nodeID"), KS_IN(c, b, "nodeID")) &&
		ks_value_same(KS_IN(c, a, "topologyKeys"), KS_IN(c, b, "topologyKeys"));
}

/* All of a driver but how much it can attach is fixed. */
static void check_driver_update(struct ks_check *c, const struct ks_path *path, const struct ks_value *driver, const struct ks_value *before)
{
	struct ks_value copy;

	if (same_driver(c, driver, before) || !ks_value_new_struct(c->arena, c->schema, driver->type, &copy))
		return;
	memcpy(copy.items, driver->items, driver->n * sizeof(*driver->items));
	ks_value_remove(c->schema, &copy, KS_STR_LIT("allocatable"));
	ks_err_invalid_struct(c, path, NULL, &copy, "field is immutable");
}

void ks_validate_csinode(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	const struct ks_value *drivers = KS_IN_LIST(&c, KS_IN(&c, object, "spec"), "drivers");
	const struct ks_value *before = old ? KS_IN_LIST(&c, KS_IN(&c, old, "spec"), "drivers") : NULL;
	struct ks_path path = ks_path_root("spec.drivers");

	for (uint32_t i = 0; i < ks_value_count(drivers); i++) {
		struct ks_path item = ks_path_index(&path, i);

		check_node_driver(&c, &item, drivers, i);
	}
	for (uint32_t i = 0; i < ks_value_count(before); i++)
		for (uint32_t k = 0; k < ks_value_count(drivers); k++)
			if (ks_str_eq(KS_IN_TEXT(&c, &before->items[i], "name"), KS_IN_TEXT(&c, &drivers->items[k], "name")))
				check_driver_update(&c, &path, &drivers->items[k], &before->items[i]);
}

/* -- capacities --------------------------------------------------------------------------------------------------- */

void ks_validate_csistoragecapacity(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path topology = ks_path_root("nodeTopology"), class = ks_path_root("storageClassName"), capacity = ks_path_root("capacity");

	ks_check_label_selector(&c, &topology, NULL, KS_IN(&c, object, "nodeTopology"), 0);
	ks_check_name(&c, &class, NULL, KS_NAME_DNS1123_SUBDOMAIN, KS_IN_TEXT(&c, object, "storageClassName"));
	ks_check_quantity_nonnegative(&c, &capacity, NULL, KS_IN_TEXT(&c, object, "capacity"));
	if (!old)
		return;
	ks_check_slot_immutable(&c, &topology, NULL, object, old, "nodeTopology");
	if (!ks_str_eq(KS_IN_TEXT(&c, object, "storageClassName"), KS_IN_TEXT(&c, old, "storageClassName")))
		ks_err_invalid_text(&c, &class, NULL, KS_IN_TEXT(&c, object, "storageClassName"), "field is immutable");
}

/* -- attachments -------------------------------------------------------------------------------------------------- */

static void check_attachment_source(struct ks_check *c, const struct ks_path *path, const struct ks_value *source)
{
	const struct ks_value *name = KS_IN(c, source, "persistentVolumeName"), *inlined = KS_IN(c, source, "inlineVolumeSpec");
	struct ks_path at = ks_path_child(path, "inlineVolumeSpec");

	if (!name && !inlined)
		ks_err_required(c, path, NULL, "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
	else if (name && inlined)
		ks_err_forbidden(c, path, NULL, "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
	else if (inlined)
		ks_check_volume_spec(c, &at, inlined, (struct ks_str){0}, true);
	else if (!ks_value_str(name).n)
		ks_err_required(c, path, "persistentVolumeName", "must specify non empty persistentVolumeName");
	else
		ks_check_name(c, path, "persistentVolumeName", KS_NAME_DNS1123_SUBDOMAIN, ks_value_str(name));
}

static void check_volume_error(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	int64_t code = KS_IN_INT(c, v, "errorCode", 0);

	if (KS_IN_TEXT(c, v, "message").n > ERROR_BYTES)
		ks_err_too_long(c, path, "message", PARAMETERS_BYTES);
	if (code < 0)
		ks_err_invalid_int(c, path, "errorCode", code, "must be between 0 and 2147483647, inclusive");
}

static void check_attachment_status(struct ks_check *c, const struct ks_value *status)
{
	struct ks_path path = ks_path_root("status"), attach = ks_path_child(&path, "attachError"), detach = ks_path_child(&path, "detachError");
	const struct ks_value *notes = KS_IN_MAP(c, status, "attachmentMetadata");
	size_t total = 0;

	for (uint32_t i = 0; i < ks_value_count(notes); i++)
		total += notes->members[i].key.n + notes->members[i].value.n;
	if (total > PARAMETERS_BYTES)
		ks_err_too_long(c, &path, "attachmentMetadata", PARAMETERS_BYTES);
	check_volume_error(c, &attach, KS_IN(c, status, "attachError"));
	check_volume_error(c, &detach, KS_IN(c, status, "detachError"));
}

void ks_validate_volumeattachment(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec"), source = ks_path_child(&path, "source");
	struct ks_value spec = ks_struct_in(&c, object, "spec");
	struct ks_str attacher = KS_IN_TEXT(&c, &spec, "attacher");

	ks_check_csi_driver_name(&c, &path, "attacher", attacher);
	check_attachment_source(&c, &source, KS_IN(&c, &spec, "source"));
	ks_check_name(&c, &path, "nodeName", KS_NAME_DNS1123_SUBDOMAIN, KS_IN_TEXT(&c, &spec, "nodeName"));
	check_attachment_status(&c, KS_IN(&c, object, "status"));
	if (old && !ks_value_same(KS_IN(&c, object, "spec"), KS_IN(&c, old, "spec")))
		ks_err_invalid_slot(&c, &path, NULL, object, "spec", "field is immutable");
}
