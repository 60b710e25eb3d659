/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Nodes, and classes of runtimes. */
#include <ctype.h>

#include "core/api/gojson.h"
#include "core/api/quote.h"
#include "core/registry/validate/kinds.h"
#include "core/registry/validate/limits.h"
#include "core/registry/validate/pod.h"

enum { FEATURE_BYTES = 253 };

/* -- taints ------------------------------------------------------------------------------------------------------- */

static void check_taint(struct ks_check *c, const struct ks_path *path, const struct ks_value *taint, struct ks_seen *seen)
{
	static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};
	struct ks_str key = KS_IN_TEXT(c, taint, "key"), value = KS_IN_TEXT(c, taint, "value"), effect = KS_IN_TEXT(c, taint, "effect");
	struct ks_name_errors errors;
	struct ks_buf shown;

	ks_check_name(c, path, "key", KS_NAME_LABEL_KEY, key);
	if (!ks_name_check(KS_NAME_LABEL_VALUE, value, &errors)) {
		const char *all = ks_name_errors_join(c->arena, &errors, ";");

		ks_err_invalid_text(c, path, "value", value, all ? all : "");
	}
	if (!effect.n)
		ks_err_required(c, path, "effect", "");
	else
		ks_check_one_of(c, path, "effect", effect, effects);
	if (ks_seen_add_pair(c, seen, key, effect))
		return;
	ks_buf_init(&shown);
	ks_gojson_write(c->schema, taint->type, false, taint, &shown);
	ks_status_cause(c->status, c->arena, "FieldValueDuplicate", ks_path_text(c->arena, path, NULL),
		"Duplicate value: %.*s: taints must be unique by key and effect pair", shown.failed ? 0 : (int)shown.len, shown.data);
	ks_buf_fini(&shown);
}

static void check_taints(struct ks_check *c, const struct ks_value *list)
{
	struct ks_path path = ks_path_root("metadata.taints");
	struct ks_seen seen = {.n = 0};

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&path, i);

		check_taint(c, &item, &list->items[i], &seen);
	}
}

/* -- ranges of pods ----------------------------------------------------------------------------------------------- */

static bool is_v6(const struct ks_value *cidr)
{
	return ks_str_has(ks_value_str(cidr), ":");
}

static void check_ranges(struct ks_check *c, const struct ks_value *list, const struct ks_value *old)
{
	struct ks_path path = ks_path_root("spec.podCIDRs");

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&path, i);

		ks_check_new_cidr(c, &item, NULL, ks_value_str(&list->items[i]), old);
	}
	if (ks_value_count(list) < 2)
		return;
	if (list->n > 2 || is_v6(&list->items[0]) == is_v6(&list->items[1]))
		ks_err_invalid(c, &path, NULL, list, "may specify no more than one CIDR for each IP family");
	for (uint32_t i = 1; i < list->n; i++) {
		struct ks_path item = ks_path_index(&path, i);
		bool seen = false;

		for (uint32_t k = 0; k < i && !seen; k++)
			seen = ks_value_equal(&list->items[i], &list->items[k]);
		if (seen)
			ks_err_duplicate(c, &item, NULL, &list->items[i]);
	}
}

static void check_range_update(struct ks_check *c, const struct ks_value *now, const struct ks_value *before)
{
	struct ks_path path = ks_path_root("spec.podCIDRs");
	bool other_count = ks_value_count(now) != ks_value_count(before);

	for (uint32_t i = 0; i < ks_value_count(before); i++) {
		if (!other_count && ks_value_equal(&now->items[i], &before->items[i]))
			continue;
		ks_err_forbidden(c, &path, NULL, "node updates may not change podCIDR except from \"\" to valid");
		if (other_count)
			return;
	}
}

/* -- what a node says of itself ----------------------------------------------------------------------------------- */

/* Words after slashes, the first of them in upper camel case. */
static bool is_feature(struct ks_str name)
{
	for (size_t i = 0; i < name.n; i++) {
		bool first = !i || name.p[i - 1] == '/';

		if (!i ? !isupper((unsigned char)name.p[i]) : first ? !isalpha((unsigned char)name.p[i]) : !isalnum((unsigned char)name.p[i]) && name.p[i] != '/')
			return false;
	}
	return name.n && name.p[name.n - 1] != '/';
}

static void check_features(struct ks_check *c, const struct ks_value *list)
{
	struct ks_path path = ks_path_root("status.declaredFeatures");

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&path, i), next = ks_path_index(&path, i + 1);
		struct ks_str name = ks_value_str(&list->items[i]), after;

		if (name.n > FEATURE_BYTES)
			ks_err_invalid_text(c, &item, NULL, name, ks_err_detail(c, "invalid feature name %s: must be no more than 253 characters",
				ks_quote(c->arena, name)));
		else if (!is_feature(name))
			ks_err_invalid_text(c, &item, NULL, name, ks_err_detail(c, "invalid feature name %s: must start with an UpperCamelCase segment, with "
				"subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes",
				ks_quote(c->arena, name)));
		if (i + 1 == list->n)
			continue;
		after = ks_value_str(&list->items[i + 1]);
		if (ks_str_eq(name, after))
			ks_err_duplicate_text(c, &next, NULL, after);
		else if (ks_str_cmp(name, after) > 0)
			ks_err_invalid_text(c, &next, NULL, after, "list must be sorted alphabetically");
	}
}

static void check_swap(struct ks_check *c, const struct ks_value *status)
{
	const struct ks_value *capacity = KS_IN(c, KS_IN(c, KS_IN(c, status, "nodeInfo"), "swap"), "capacity");
	struct ks_path path = ks_path_root("metadata.nodeSwapStatus");

	if (capacity && ks_value_int_or(capacity, 0) <= 0)
		ks_err_invalid_int(c, &path, "capacity", ks_value_int_or(capacity, 0), "must be greater than zero");
}

/* -- nodes -------------------------------------------------------------------------------------------------------- */

static void check_amounts(struct ks_check *c, const struct ks_path *path, const struct ks_value *map)
{
	for (uint32_t i = 0; i < ks_value_count(map); i++) {
		struct ks_str name = map->members[i].key;
		struct ks_path item = {path, name.n ? name.p : "", (uint32_t)name.n, false};

		ks_check_amount(c, &item, name, ks_value_str(&map->members[i].value));
	}
}

static void check_resources(struct ks_check *c, const struct ks_value *object)
{
	struct ks_path capacity = ks_path_root("status.capacity"), allocatable = ks_path_root("status.allocatable");
	const struct ks_value *status = KS_IN(c, object, "status");

	check_amounts(c, &capacity, KS_IN_MAP(c, status, "capacity"));
	check_amounts(c, &allocatable, KS_IN_MAP(c, status, "allocatable"));
}

static void check_addresses(struct ks_check *c, const struct ks_value *list)
{
	struct ks_path path = ks_path_root("status.addresses");
	struct ks_seen seen = {.n = 0};

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&path, i);

		if (!ks_seen_add_value(c, &seen, &list->items[i]))
			ks_err_duplicate(c, &item, NULL, &list->items[i]);
	}
}

static void check_update(struct ks_check *c, const struct ks_value *object, const struct ks_value *spec, const struct ks_value *before)
{
	struct ks_path path = ks_path_root("spec");
	struct ks_str provider = KS_IN_TEXT(c, before, "providerID");

	check_resources(c, object);
	check_features(c, KS_IN_LIST(c, KS_IN(c, object, "status"), "declaredFeatures"));
	check_addresses(c, KS_IN_LIST(c, KS_IN(c, object, "status"), "addresses"));
	check_range_update(c, KS_IN_LIST(c, spec, "podCIDRs"), KS_IN_LIST(c, before, "podCIDRs"));
	if (provider.n && !ks_str_eq(provider, KS_IN_TEXT(c, spec, "providerID")))
		ks_err_forbidden(c, &path, "providerID", "node updates may not change providerID except from \"\" to valid");
	check_taints(c, KS_IN_LIST(c, spec, "taints"));
	if (!ks_str_eq(KS_IN_TEXT(c, spec, "externalID"), KS_IN_TEXT(c, before, "externalID")))
		ks_err_forbidden(c, &path, "externalID", "may not be updated");
}

void ks_validate_node(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_value spec = ks_struct_in(&c, object, "spec"), before;

	/* Of an update of /status only what an update may not do is looked at. */
	if (!old || !ctx->subresource.n) {
		check_taints(&c, KS_IN_LIST(&c, &spec, "taints"));
		check_resources(&c, object);
		check_swap(&c, KS_IN(&c, object, "status"));
		check_features(&c, KS_IN_LIST(&c, KS_IN(&c, object, "status"), "declaredFeatures"));
		check_ranges(&c, KS_IN_LIST(&c, &spec, "podCIDRs"), old ? KS_IN(&c, old, "spec") : NULL);
	}
	if (!old)
		return;
	before = ks_struct_in(&c, old, "spec");
	check_update(&c, object, &spec, &before);
}

/* -- classes of runtimes ------------------------------------------------------------------------------------------ */

static void check_overhead(struct ks_check *c, const struct ks_value *fixed)
{
	struct ks_path path = ks_path_root("overhead.limits");

	for (uint32_t i = 0; i < ks_value_count(fixed); i++) {
		struct ks_path item = ks_path_key(&path, fixed->members[i].key);

		ks_check_resource_name(c, &item, fixed->members[i].key, false);
		ks_check_amount(c, &item, fixed->members[i].key, ks_value_str(&fixed->members[i].value));
	}
}

static void check_no_repeated(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	for (uint32_t i = 1; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(path, i);
		bool seen = false;

		for (uint32_t k = 0; k < i && !seen; k++)
			seen = ks_value_equal(&list->items[i], &list->items[k]);
		if (seen)
			ks_err_duplicate(c, &item, NULL, &list->items[i]);
	}
}

void ks_validate_runtimeclass(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path handler = ks_path_root("handler"), scheduling = ks_path_root("scheduling");
	struct ks_path tolerations = ks_path_child(&scheduling, "tolerations");
	const struct ks_value *where = KS_IN(&c, object, "scheduling"), *list = KS_IN_LIST(&c, where, "tolerations");

	ks_check_required_name(&c, &handler, NULL, KS_NAME_DNS1123_LABEL, KS_IN_TEXT(&c, object, "handler"));
	check_overhead(&c, KS_IN_MAP(&c, KS_IN(&c, object, "overhead"), "podFixed"));
	ks_check_labels(&c, &scheduling, "nodeSelector", KS_IN_MAP(&c, where, "nodeSelector"));
	ks_check_tolerations(&c, &tolerations, list);
	check_no_repeated(&c, &tolerations, list);
	if (old)
		ks_check_slot_immutable(&c, &handler, NULL, object, old, "handler");
}
