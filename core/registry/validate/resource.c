/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Claims of devices, their templates, and classes of devices. */
#include "core/registry/validate/device.h"
#include "core/registry/validate/kinds.h"

/* -- requests ----------------------------------------------------------------------------------------------------- */

static void check_class(struct ks_check *c, const struct ks_path *path, struct ks_str class)
{
	ks_check_required_name(c, path, "deviceClassName", KS_NAME_DNS1123_SUBDOMAIN, class);
}

static void check_mode(struct ks_check *c, const struct ks_path *path, struct ks_str mode, int64_t count)
{
	static const char *const modes[] = {"All", "ExactCount", NULL};

	if (ks_str_is(mode, "All")) {
		if (count)
			ks_err_invalid_int(c, path, "count", count, "must not be specified when allocationMode is 'All'");
	} else if (ks_str_is(mode, "ExactCount")) {
		if (count <= 0)
			ks_err_invalid_int(c, path, "count", count, "must be greater than zero");
	} else {
		ks_err_not_supported(c, path, "allocationMode", mode, modes);
	}
}

static void check_tolerations(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	static const char *const operators[] = {"Equal", "Exists", NULL}, *const effects[] = {"NoExecute", "NoSchedule", "None", NULL};
	struct ks_path at = ks_path_child(path, "tolerations");

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		const struct ks_value *v = &list->items[i];
		struct ks_path item = ks_path_index(&at, i);
		struct ks_str key = KS_IN_TEXT(c, v, "key"), op = KS_IN_TEXT(c, v, "operator"), value = KS_IN_TEXT(c, v, "value");
		struct ks_str effect = KS_IN_TEXT(c, v, "effect");

		if (key.n)
			ks_check_name(c, &item, "key", KS_NAME_LABEL_KEY, key);
		if (ks_str_is(op, "Exists") && value.n)
			ks_err_invalid_text(c, &item, "value", value, "must be empty for operator `Exists`");
		else if (ks_str_is(op, "Equal"))
			ks_check_name(c, &item, "value", KS_NAME_LABEL_VALUE, value);
		else if (!op.n)
			ks_err_required(c, &item, "operator", "");
		else
			ks_check_one_of(c, &item, "operator", op, operators);
		if (effect.n)
			ks_check_one_of(c, &item, "effect", effect, effects);
	}
}

static void check_how_many(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	check_class(c, path, KS_IN_TEXT(c, v, "deviceClassName"));
	ks_device_selectors(c, path, v);
	check_mode(c, path, KS_IN_TEXT(c, v, "allocationMode"), KS_IN_INT(c, v, "count", 0));
	check_tolerations(c, path, KS_IN_LIST(c, v, "tolerations"));
}

static void check_alternative(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	(void)arg;
	ks_check_name(c, path, "name", KS_NAME_DNS1123_LABEL, KS_IN_TEXT(c, item, "name"));
	check_how_many(c, path, item);
}

static void check_device_request(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	const struct ks_value *exactly = KS_IN(c, item, "exactly"), *list = KS_IN_LIST(c, item, "firstAvailable");
	struct ks_path at = ks_path_child(path, "exactly");

	(void)arg;
	ks_check_name(c, path, "name", KS_NAME_DNS1123_LABEL, KS_IN_TEXT(c, item, "name"));
	if (!exactly && !ks_value_count(list))
		ks_err_required(c, path, NULL, "exactly one of `exactly` or `firstAvailable` is required");
	else if (exactly && ks_value_count(list))
		ks_err_invalid(c, path, NULL, NULL, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set");
	else if (exactly)
		check_how_many(c, &at, exactly);
	else
		ks_device_list(c, path, "firstAvailable", list, KS_DEVICE_ALTERNATIVES_MOST, "name", check_alternative, NULL);
}

/* -- the rest of a claim ------------------------------------------------------------------------------------------ */

static void check_constraint(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	const struct ks_value *match = KS_IN(c, item, "matchAttribute"), *distinct = KS_IN(c, item, "distinctAttribute");

	ks_device_request_references(c, path, item, arg);
	if (match)
		ks_device_qualified_name(c, path, "matchAttribute", ks_value_str(match), true);
	else if (distinct)
		ks_device_qualified_name(c, path, "distinctAttribute", ks_value_str(distinct), true);
	else
		ks_err_required(c, path, NULL, "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set");
}

static void check_claim_config(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	ks_device_request_references(c, path, item, arg);
	ks_device_configuration(c, path, item, false);
}

static void check_claim_spec(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *spec)
{
	const struct ks_value *claim = KS_IN(c, spec, "devices");
	struct ks_path path = ks_path_child(spec_path, "devices");

	ks_device_list(c, &path, "requests", KS_IN_LIST(c, claim, "requests"), KS_DEVICE_REQUESTS_MOST, "name", check_device_request, NULL);
	ks_device_list(c, &path, "constraints", KS_IN_LIST(c, claim, "constraints"), KS_DEVICE_CONSTRAINTS_MOST, NULL, check_constraint, claim);
	ks_device_list(c, &path, "config", KS_IN_LIST(c, claim, "config"), KS_DEVICE_CONFIG_MOST, NULL, check_claim_config, claim);
}

/* -- administrators' access --------------------------------------------------------------------------------------- */

static bool namespace_allows(struct ks_registry_context *ctx)
{
	uint16_t resource = ks_schema_find_resource(ctx->schema, (struct ks_str){0}, KS_STR_LIT("v1"), KS_STR_LIT("namespaces"));
	struct ks_cache_resource *namespaces = ctx->cache ? ks_cache_find(ctx->cache, resource) : NULL;
	struct ks_object *ns = namespaces ? ks_cache_get(namespaces, (struct ks_str){0}, ctx->ns) : NULL;
	bool found = false;

	for (uint16_t i = 0; ns && i < ns->n_labels && !found; i++)
		found = ks_str_is(ns->labels[i].key, "resource.kubernetes.io/admin-access") && ks_str_is(ns->labels[i].value, "true");
	ks_object_unref(ns);
	return found;
}

/* Only in namespaces that say so may devices be asked for that others use. */
static void check_admin_access(struct ks_check *c, struct ks_registry_context *ctx, const struct ks_value *spec)
{
	const struct ks_value *list = KS_IN_LIST(c, KS_IN(c, spec, "devices"), "requests");
	struct ks_path path = ks_path_root("spec.devices.requests");

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&path, i);

		if (!KS_IN_TRUE(c, KS_IN(c, &list->items[i], "exactly"), "adminAccess"))
			continue;
		if (!namespace_allows(ctx))
			ks_err_forbidden(c, &item, "adminAccess",
				"admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace");
		return;
	}
}

void ks_validate_resourceclaim(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec");

	if (ctx->subresource.n)
		ks_device_claim_status(&c, object, old);
	else if (!old)
		check_claim_spec(&c, &path, KS_IN(&c, object, "spec"));
	else
		ks_check_slot_immutable(&c, &path, NULL, object, old, "spec");
	if (!ctx->subresource.n)
		check_admin_access(&c, ctx, KS_IN(&c, object, "spec"));
}

/* -- templates ---------------------------------------------------------------------------------------------------- */

void ks_validate_resourceclaimtemplate(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	static const char *const allowed[] = {"annotations", "labels", NULL};
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec"), meta_path = ks_path_child(&path, "metadata"), below = ks_path_child(&path, "spec");
	const struct ks_value *spec = KS_IN(&c, object, "spec"), *meta = KS_IN(&c, spec, "metadata");

	ks_check_annotations(&c, &meta_path, "annotations", KS_IN_MAP(&c, meta, "annotations"));
	ks_check_labels(&c, &meta_path, "labels", KS_IN_MAP(&c, meta, "labels"));
	for (uint32_t i = 0; meta && i < meta->n; i++) {
		const char *name = ks_schema_text(ctx->schema, ks_schema_field(ctx->schema, meta->type, (uint16_t)i)->name);

		if (ks_value_present(&meta->items[i]) && !ks_str_in(ks_str_from(name), allowed))
			ks_err_forbidden(&c, &meta_path, name, "cannot be set");
	}
	check_claim_spec(&c, &below, KS_IN(&c, spec, "spec"));
	if (old)
		ks_check_slot_immutable(&c, &path, NULL, object, old, "spec");
	check_admin_access(&c, ctx, KS_IN(&c, spec, "spec"));
}

/* -- classes ------------------------------------------------------------------------------------------------------ */

static void check_class_config(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	ks_device_configuration(c, path, item, arg != NULL);
}

static bool is_extended(struct ks_str name)
{
	return ks_str_has(name, "/") && !ks_str_has(name, "kubernetes.io/") && !ks_str_starts_with(name, "requests.") &&
		ks_name_check(KS_NAME_LABEL_KEY, name, NULL);
}

void ks_validate_deviceclass(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec");
	const struct ks_value *spec = KS_IN(&c, object, "spec"), *extended = KS_IN(&c, spec, "extendedResourceName");
	const struct ks_value *config = KS_IN_LIST(&c, spec, "config");
	bool stored = old && ks_value_same(config, KS_IN_LIST(&c, KS_IN(&c, old, "spec"), "config"));

	ks_device_selectors(&c, &path, spec);
	ks_device_list(&c, &path, "config", config, KS_DEVICE_CONFIG_MOST, NULL, check_class_config, stored ? config : NULL);
	if (extended && !is_extended(ks_value_str(extended)))
		ks_err_invalid(&c, &path, "extendedResourceName", extended, "must be a valid extended resource name");
}
