/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Slices of devices. */
#include <stdio.h>

#include "core/api/quantity.h"
#include "core/registry/validate/device.h"
#include "core/registry/validate/kinds.h"

enum { DEVICES_MOST = 128, DEVICES_MOST_TAINTED = 64, COUNTER_SETS_MOST = 8, COUNTERS_MOST = 32, CONSUMPTIONS_MOST = 2, ATTRIBUTES_MOST = 32,
	ATTRIBUTE_BYTES = 64, KEY_BYTES = 63 + 1 + KS_DEVICE_ID_BYTES, POLICY_VALUES_MOST = 10 };

/* -- versions ----------------------------------------------------------------------------------------------------- */

static bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }

/* Digits without a leading zero. */
static bool take_number(struct ks_str text, size_t *at)
{
	size_t start = *at;

	while (*at < text.n && is_digit(text.p[*at]))
		(*at)++;
	return *at > start && (text.p[start] != '0' || *at == start + 1);
}

/* Identifiers between dots; in a prerelease a number has no leading zero. */
static bool take_identifiers(struct ks_str text, size_t *at, bool prerelease)
{
	do {
		size_t start = ++*at;
		bool number = true;

		while (*at < text.n && (is_digit(text.p[*at]) || text.p[*at] == '-' || (text.p[*at] >= 'a' && text.p[*at] <= 'z') ||
			(text.p[*at] >= 'A' && text.p[*at] <= 'Z')))
			number &= is_digit(text.p[(*at)++]);
		if (*at == start || (prerelease && number && text.p[start] == '0' && *at > start + 1))
			return false;
	} while (*at < text.n && text.p[*at] == '.');
	return true;
}

static bool is_version(struct ks_str text)
{
	size_t at = 0;

	for (int i = 0; i < 3; i++) {
		if (i && (at >= text.n || text.p[at++] != '.'))
			return false;
		if (!take_number(text, &at))
			return false;
	}
	if (at < text.n && text.p[at] == '-' && !take_identifiers(text, &at, true))
		return false;
	if (at < text.n && text.p[at] == '+' && !take_identifiers(text, &at, false))
		return false;
	return at == text.n;
}

/* -- attributes and capacities ------------------------------------------------------------------------------------ */

/* Keys that are too long are shown without their middle. */
static struct ks_path key_path(struct ks_check *c, const struct ks_path *path, struct ks_str key, size_t most)
{
	size_t remaining = most - 3;

	if (key.n > most)
		key = ks_str_from(ks_err_detail(c, "%.*s...%.*s", (int)((remaining + 1) / 2), key.p, (int)(remaining / 2), key.p + key.n - remaining / 2));
	return ks_path_key(path, key);
}

static void check_attribute(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *text = KS_IN(c, v, "string"), *version = KS_IN(c, v, "version");
	unsigned n = (KS_IN(c, v, "bool") != NULL) + (KS_IN(c, v, "int") != NULL) + (text != NULL) + (version != NULL);

	if (text && ks_value_str(text).n > ATTRIBUTE_BYTES)
		ks_err_too_long(c, path, "string", ATTRIBUTE_BYTES);
	if (version && !is_version(ks_value_str(version)))
		ks_err_invalid(c, path, "version", version, "must be a string compatible with semver.org spec 2.0.0");
	if (version && ks_value_str(version).n > ATTRIBUTE_BYTES)
		ks_err_too_long(c, path, "version", ATTRIBUTE_BYTES);
	if (n == 0)
		ks_err_invalid_text(c, path, NULL, (struct ks_str){0}, "exactly one value must be specified");
	else if (n > 1)
		ks_err_invalid_literal(c, path, NULL, ks_err_detail(c, "{\"IntValue\":%s,\"BoolValue\":%s,\"StringValue\":%s,\"VersionValue\":%s,"
			"\"IntValues\":null,\"BoolValues\":null,\"StringValues\":null,\"VersionValues\":null}",
			KS_IN(c, v, "int") ? ks_err_detail(c, "%lld", (long long)KS_IN_INT(c, v, "int", 0)) : "null",
			KS_IN(c, v, "bool") ? KS_IN_TRUE(c, v, "bool") ? "true" : "false" : "null",
			text ? ks_err_detail(c, "\"%.*s\"", (int)text->n, text->string) : "null",
			version ? ks_err_detail(c, "\"%.*s\"", (int)version->n, version->string) : "null"), "exactly one value must be specified");
}

static void check_values(struct ks_check *c, const struct ks_path *path, const struct ks_value *policy, struct ks_str most)
{
	const struct ks_value *list = KS_IN_LIST(c, policy, "validValues");
	struct ks_path at = ks_path_child(path, "validValues");
	struct ks_str def = KS_IN_TEXT(c, policy, "default");
	bool found = false;

	for (uint32_t i = 0; i + 1 < list->n; i++) {
		struct ks_path item = ks_path_index(&at, i + 1);

		if (ks_quantity_text_cmp(ks_value_str(&list->items[i]), ks_value_str(&list->items[i + 1])) > 0)
			ks_err_invalid(c, &item, NULL, &list->items[i + 1], "values must be sorted in ascending order");
	}
	if (list->n > POLICY_VALUES_MOST)
		ks_err_too_many(c, &at, NULL, list->n, POLICY_VALUES_MOST);
	for (uint32_t i = 0; i < list->n && list->n <= POLICY_VALUES_MOST; i++) {
		struct ks_path item = ks_path_index(&at, i);
		struct ks_str option = ks_value_str(&list->items[i]);

		if (ks_quantity_text_cmp(option, most) > 0)
			ks_err_invalid(c, &item, NULL, &list->items[i], ks_err_detail(c, "option is larger than capacity value: %.*s", (int)most.n, most.p));
		found |= !ks_quantity_text_cmp(option, def);
	}
	if (!found)
		ks_err_invalid_text(c, &at, NULL, def, "default value is not valid according to the requestPolicy");
}

static int64_t amount_of(struct ks_str text)
{
	struct ks_quantity q;
	const char *message;

	return ks_quantity_parse(text, &q, &message) ? 0 : ks_quantity_value(&q);
}

static void check_step(struct ks_check *c, const struct ks_path *path, struct ks_str value, struct ks_str min, struct ks_str step)
{
	int64_t n = amount_of(step);

	if (n && (amount_of(value) - amount_of(min)) % n)
		ks_err_invalid_text(c, path, "step", value,
			ks_err_detail(c, "value is not a multiple of a given step (%.*s) from (%.*s)", (int)step.n, step.p, (int)min.n, min.p));
}

static void check_range(struct ks_check *c, const struct ks_path *policy_path, const struct ks_value *policy, struct ks_str most)
{
	const struct ks_value *range = KS_IN(c, policy, "validRange");
	struct ks_path path = ks_path_child(policy_path, "validRange");
	struct ks_str min = KS_IN_TEXT(c, range, "min"), max = KS_IN_TEXT(c, range, "max"), step = KS_IN_TEXT(c, range, "step");
	struct ks_str def = KS_IN_TEXT(c, policy, "default");

	if (!min.n) {
		ks_err_required(c, &path, "min", "required when validRange is defined");
		return;
	}
	if (ks_quantity_text_cmp(min, most) > 0)
		ks_err_invalid_text(c, &path, "min", min, ks_err_detail(c, "min is larger than capacity value: %.*s", (int)most.n, most.p));
	if (ks_quantity_text_cmp(def, min) < 0)
		ks_err_invalid_text(c, &path, "min", def, ks_err_detail(c, "default is less than min: %.*s", (int)min.n, min.p));
	if (max.n && ks_quantity_text_cmp(min, max) > 0)
		ks_err_invalid_text(c, &path, "max", min, ks_err_detail(c, "min is larger than max: %.*s", (int)max.n, max.p));
	if (max.n && ks_quantity_text_cmp(max, most) > 0)
		ks_err_invalid_text(c, &path, "max", max, ks_err_detail(c, "max is larger than capacity value: %.*s", (int)most.n, most.p));
	if (max.n && ks_quantity_text_cmp(def, max) > 0)
		ks_err_invalid_text(c, &path, "max", def, ks_err_detail(c, "default is more than max: %.*s", (int)max.n, max.p));
	if (!step.n)
		return;
	check_step(c, &path, def, min, step);
	if (max.n)
		check_step(c, &path, max, min, step);
}

static void check_request_policy(struct ks_check *c, const struct ks_path *path, const struct ks_value *policy, struct ks_str most)
{
	uint32_t values = ks_value_count(KS_IN(c, policy, "validValues"));
	const struct ks_value *range = KS_IN(c, policy, "validRange"), *def = KS_IN(c, policy, "default");

	if (values && range)
		ks_err_forbidden(c, path, NULL, "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the same time");
	else if (values && !def)
		ks_err_required(c, path, "default", "required when validValues is defined");
	else if (values)
		check_values(c, path, policy, most);
	else if (range && !def)
		ks_err_required(c, path, "default", "required when validRange is defined");
	else if (range)
		check_range(c, path, policy, most);
}

static void check_maps(struct ks_check *c, const struct ks_path *path, const struct ks_value *device)
{
	const struct ks_value *attributes = KS_IN_MAP(c, device, "attributes"), *capacities = KS_IN_MAP(c, device, "capacity");
	struct ks_path at_attributes = ks_path_child(path, "attributes"), at_capacities = ks_path_child(path, "capacity");
	uint32_t n = ks_value_count(attributes) + ks_value_count(capacities);

	if (n > ATTRIBUTES_MOST)
		ks_err_invalid_int(c, path, NULL, n, "the total number of attributes and capacities must not exceed 32");
	for (uint32_t i = 0; i < ks_value_count(attributes); i++) {
		struct ks_path item = key_path(c, &at_attributes, attributes->members[i].key, KEY_BYTES);

		ks_device_qualified_name(c, &at_attributes, NULL, attributes->members[i].key, false);
		check_attribute(c, &item, &attributes->members[i].value);
	}
	for (uint32_t i = 0; i < ks_value_count(capacities); i++) {
		const struct ks_value *v = &capacities->members[i].value, *policy = KS_IN(c, v, "requestPolicy");
		struct ks_path item = key_path(c, &at_capacities, capacities->members[i].key, KEY_BYTES), below = ks_path_child(&item, "requestPolicy");

		ks_device_qualified_name(c, &at_capacities, NULL, capacities->members[i].key, false);
		if (policy && KS_IN_TRUE(c, device, "allowMultipleAllocations"))
			check_request_policy(c, &below, policy, KS_IN_TEXT(c, v, "value"));
		else if (policy)
			ks_err_forbidden(c, &below, NULL, "allowMultipleAllocations must be true");
	}
}

/* -- counters and taints ------------------------------------------------------------------------------------------ */

static void check_counters(struct ks_check *c, const struct ks_path *path, const struct ks_value *map)
{
	struct ks_path at = ks_path_child(path, "counters");

	if (!ks_value_count(map)) {
		ks_err_required(c, &at, NULL, "");
		return;
	}
	if (map->n > COUNTERS_MOST) {
		ks_err_too_many(c, &at, NULL, map->n, COUNTERS_MOST);
		return;
	}
	for (uint32_t i = 0; i < map->n; i++)
		ks_check_name(c, &at, NULL, KS_NAME_DNS1123_LABEL, map->members[i].key);
}

static void check_consumption(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	(void)arg;
	ks_check_required_name(c, path, "counterSet", KS_NAME_DNS1123_LABEL, KS_IN_TEXT(c, item, "counterSet"));
	check_counters(c, path, KS_IN_MAP(c, item, "counters"));
}

static void check_counter_set(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	(void)arg;
	ks_check_required_name(c, path, "name", KS_NAME_DNS1123_LABEL, KS_IN_TEXT(c, item, "name"));
	check_counters(c, path, KS_IN_MAP(c, item, "counters"));
}

static void check_taint(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	static const char *const effects[] = {"NoExecute", "NoSchedule", "None", NULL};
	struct ks_str value = KS_IN_TEXT(c, item, "value"), effect = KS_IN_TEXT(c, item, "effect");

	(void)arg;
	ks_check_name(c, path, "key", KS_NAME_LABEL_KEY, KS_IN_TEXT(c, item, "key"));
	if (value.n)
		ks_check_name(c, path, "value", KS_NAME_LABEL_VALUE, value);
	if (!effect.n)
		ks_err_required(c, path, "effect", "");
	else
		ks_check_one_of(c, path, "effect", effect, effects);
}

/* -- where devices are -------------------------------------------------------------------------------------------- */

/* Which of the ways to say a node are used, in the words of messages. */
struct places {
	char text[96];
	unsigned n;
};

static void add_place(struct places *p, const char *name)
{
	size_t len = strlen(p->text);

	snprintf(p->text + len, sizeof(p->text) - len, "%s`%s`", p->n++ ? ", " : "", name);
}

static void check_places(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, const char *no_name, bool one_term, struct places *p)
{
	const struct ks_value *name = KS_IN(c, v, "nodeName"), *selector = KS_IN(c, v, "nodeSelector"), *all = KS_IN(c, v, "allNodes");
	struct ks_path at = ks_path_child(path, "nodeSelector");

	if (name && ks_value_str(name).n) {
		add_place(p, "nodeName");
		ks_check_name(c, path, "nodeName", KS_NAME_DNS1123_SUBDOMAIN, ks_value_str(name));
	} else if (name) {
		ks_err_invalid(c, path, "nodeName", name, no_name);
	}
	if (selector) {
		add_place(p, "nodeSelector");
		ks_check_node_selector(c, &at, selector);
		if (one_term && ks_value_count(KS_IN(c, selector, "nodeSelectorTerms")) != 1)
			ks_err_invalid_slot(c, &at, "nodeSelectorTerms", selector, "nodeSelectorTerms", "must have exactly one node selector term");
	}
	if (all && ks_value_is_true(all))
		add_place(p, "allNodes");
	else if (all)
		ks_err_invalid(c, path, "allNodes", all, "must be either unset or set to true");
}

static void check_device_places(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, bool per_device)
{
	static const char one[] = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the "
		"ResourceSlice spec";
	struct places p = {.n = 0};

	if (!per_device) {
		if (KS_IN(c, v, "nodeName") || KS_IN(c, v, "nodeSelector") || KS_IN(c, v, "allNodes"))
			ks_err_invalid(c, path, NULL, NULL, "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in "
				"the ResourceSlice spec");
		return;
	}
	check_places(c, path, v, "must not be empty", false, &p);
	if (!p.n)
		ks_err_required(c, path, NULL, one);
	else if (p.n > 1)
		ks_err_invalid_text(c, path, NULL, ks_str_from(ks_err_detail(c, "{%s}", p.text)), one);
}

/* -- devices ------------------------------------------------------------------------------------------------------ */

struct slice {
	const struct ks_value *spec, *before;
};

static const struct ks_value *find_device(struct ks_check *c, const struct ks_value *spec, struct ks_str name)
{
	const struct ks_value *list = spec ? KS_IN_LIST(c, spec, "devices") : NULL;

	for (uint32_t i = 0; i < ks_value_count(list); i++)
		if (ks_str_eq(name, KS_IN_TEXT(c, &list->items[i], "name")))
			return &list->items[i];
	return NULL;
}

static void check_device(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	const struct slice *slice = arg;
	struct ks_str name = KS_IN_TEXT(c, item, "name");
	const struct ks_value *before = find_device(c, slice->before, name), *taints = KS_IN_LIST(c, item, "taints");

	ks_check_name(c, path, "name", KS_NAME_DNS1123_LABEL, name);
	check_maps(c, path, item);
	if (!before || !ks_value_same(taints, KS_IN_LIST(c, before, "taints")))
		ks_device_list(c, path, "taints", taints, KS_DEVICE_TAINTS_MOST, NULL, check_taint, NULL);
	ks_device_list(c, path, "consumesCounters", KS_IN_LIST(c, item, "consumesCounters"), CONSUMPTIONS_MOST, "counterSet", check_consumption, NULL);
	check_device_places(c, path, item, KS_IN_TRUE(c, slice->spec, "perDeviceNodeSelection"));
	ks_device_binding_conditions(c, path, item);
}

static int64_t most_devices(struct ks_check *c, const struct ks_value *list)
{
	for (uint32_t i = 0; i < ks_value_count(list); i++)
		if (ks_value_count(KS_IN(c, &list->items[i], "taints")) || ks_value_count(KS_IN(c, &list->items[i], "consumesCounters")))
			return DEVICES_MOST_TAINTED;
	return DEVICES_MOST;
}

static void check_slice_places(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	const struct ks_value *per_device = KS_IN(c, spec, "perDeviceNodeSelection");
	struct places p = {.n = 0};

	check_places(c, path, spec, "must be either unset or set to a non-empty string", true, &p);
	if (per_device && ks_value_is_true(per_device))
		add_place(&p, "perDeviceNodeSelection");
	else if (per_device)
		ks_err_invalid(c, path, "perDeviceNodeSelection", per_device, "must be either unset or set to true");
	if (!p.n)
		ks_err_required(c, path, NULL, "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required");
	else if (p.n > 1)
		ks_err_invalid_text(c, path, NULL, ks_str_from(ks_err_detail(c, "{%s}", p.text)), "exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
			"`perDeviceNodeSelection` is required, but multiple fields are set");
}

static void check_pool(struct ks_check *c, const struct ks_path *path, const struct ks_value *pool)
{
	int64_t slices = KS_IN_INT(c, pool, "resourceSliceCount", 0), generation = KS_IN_INT(c, pool, "generation", 0);

	ks_device_pool_name(c, path, "name", KS_IN_TEXT(c, pool, "name"));
	if (slices <= 0)
		ks_err_invalid_int(c, path, "resourceSliceCount", slices, "must be greater than zero");
	if (generation < 0)
		ks_err_invalid_int(c, path, "generation", generation, "must be greater than or equal to zero");
}

static void check_text_fixed(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str now, struct ks_str before)
{
	if (!ks_str_eq(now, before))
		ks_err_invalid_text(c, path, name, now, "field is immutable");
}

void ks_validate_resourceslice(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec"), pool = ks_path_child(&path, "pool");
	struct ks_value spec = ks_struct_in(&c, object, "spec"), before = {0};
	struct slice slice = {.spec = &spec};
	const struct ks_value *devices = KS_IN_LIST(&c, &spec, "devices"), *counters = KS_IN_LIST(&c, &spec, "sharedCounters");

	ks_check_csi_driver_name(&c, &path, "driver", KS_IN_TEXT(&c, &spec, "driver"));
	check_pool(&c, &pool, KS_IN(&c, &spec, "pool"));
	if (old) {
		before = ks_struct_in(&c, old, "spec");
		slice.before = &before;
		check_text_fixed(&c, &pool, "name", KS_IN_TEXT(&c, KS_IN(&c, &spec, "pool"), "name"), KS_IN_TEXT(&c, KS_IN(&c, &before, "pool"), "name"));
		check_text_fixed(&c, &path, "driver", KS_IN_TEXT(&c, &spec, "driver"), KS_IN_TEXT(&c, &before, "driver"));
		ks_check_slot_immutable(&c, &path, "nodeName", &spec, &before, "nodeName");
	}
	check_slice_places(&c, &path, &spec);
	if (counters && devices)
		ks_err_invalid_text(&c, &path, NULL, (struct ks_str){0}, "only one of `sharedCounters` or `devices` is allowed");
	ks_device_list(&c, &path, "devices", devices, most_devices(&c, devices), "name", check_device, &slice);
	ks_device_list(&c, &path, "sharedCounters", counters, COUNTER_SETS_MOST, "name", check_counter_set, NULL);
}
