/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Claims of volumes. */
#include "core/api/gojson.h"
#include "core/api/quantity.h"
#include "core/registry/validate/kinds.h"
#include "core/registry/validate/limits.h"
#include "core/registry/validate/volume.h"

static const char *const volume_modes[] = {"Block", "Filesystem", NULL};

#define BETA_CLASS KS_STR_LIT("volume.beta.kubernetes.io/storage-class")

static struct ks_str requested(struct ks_check *c, const struct ks_value *spec, bool *there)
{
	struct ks_str text;

	*there = ks_quantity_in(c, KS_IN(c, KS_IN(c, spec, "resources"), "requests"), KS_STR_LIT("storage"), &text);
	return text;
}

/* dataSource, or dataSourceRef, which may name a namespace. `lax`: the group was wrong before, too. */
static void check_data_source(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, bool lax)
{
	struct ks_str kind = KS_IN_TEXT(c, v, "kind"), group = KS_IN_TEXT(c, v, "apiGroup");

	if (!v)
		return;
	if (!KS_IN_TEXT(c, v, "name").n)
		ks_err_required(c, path, "name", "");
	if (!kind.n)
		ks_err_required(c, path, "kind", "");
	if (!group.n && !ks_str_is(kind, "PersistentVolumeClaim"))
		ks_err_invalid_text(c, path, NULL, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
	if (group.n && !lax)
		ks_check_name(c, path, "apiGroup", KS_NAME_DNS1123_SUBDOMAIN, group);
}

static void check_sources(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, bool lax)
{
	const struct ks_value *source = KS_IN(c, spec, "dataSource"), *ref = KS_IN(c, spec, "dataSourceRef");
	struct ks_path at = ks_path_child(path, "dataSource"), at_ref = ks_path_child(path, "dataSourceRef");
	struct ks_str ns = KS_IN_TEXT(c, ref, "namespace");

	check_data_source(c, &at, source, lax);
	check_data_source(c, &at_ref, ref, lax);
	if (ns.n)
		ks_check_name(c, &at_ref, "namespace", KS_NAME_DNS1123_LABEL, ns);
	if (!source || !ref)
		return;
	if (ns.n)
		ks_err_invalid_literal(c, path, NULL, "{}", "may not be specified when dataSourceRef.namespace is specified");
	else if (!ks_value_same(KS_IN(c, source, "apiGroup"), KS_IN(c, ref, "apiGroup")) ||
		!ks_str_eq(KS_IN_TEXT(c, source, "kind"), KS_IN_TEXT(c, ref, "kind")) ||
		!ks_str_eq(KS_IN_TEXT(c, source, "name"), KS_IN_TEXT(c, ref, "name")))
		ks_err_invalid_literal(c, path, NULL, "{}", "must match dataSourceRef");
}

static void check_size(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	struct ks_path resources = ks_path_child(path, "resources"), at = ks_path_key(&resources, KS_STR_LIT("storage"));
	bool there;
	struct ks_str text = requested(c, spec, &there);
	struct ks_quantity q;
	const char *message;

	if (!there)
		ks_err_required(c, &at, NULL, "");
	else if (!ks_quantity_parse(text, &q, &message) && ks_quantity_sign(&q) <= 0)
		ks_err_invalid_text(c, &at, NULL, text, "must be greater than zero");
}

static void check_spec(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, bool lax_group, unsigned selector_flags)
{
	struct ks_str class = KS_IN_TEXT(c, spec, "storageClassName"), attributes = KS_IN_TEXT(c, spec, "volumeAttributesClassName");

	if (!ks_value_count(KS_IN(c, spec, "accessModes")))
		ks_err_required(c, path, "accessModes", "at least 1 access mode is required");
	ks_check_label_selector(c, path, "selector", KS_IN(c, spec, "selector"), selector_flags);
	ks_check_access_modes(c, path, spec);
	check_size(c, path, spec);
	if (class.n)
		ks_check_name(c, path, "storageClassName", KS_NAME_DNS1123_SUBDOMAIN, class);
	if (KS_IN(c, spec, "volumeMode"))
		ks_check_one_of(c, path, "volumeMode", KS_IN_TEXT(c, spec, "volumeMode"), volume_modes);
	check_sources(c, path, spec, lax_group);
	if (attributes.n)
		ks_check_name(c, path, "volumeAttributesClassName", KS_NAME_DNS1123_SUBDOMAIN, attributes);
}

void ks_check_claim_spec(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	check_spec(c, path, spec, false, 0);
}

/* -- update ------------------------------------------------------------------------------------------------------- */

struct update {
	const struct ks_value *object, *old;
	struct ks_value spec, before;
	struct ks_str note, note_before; /* the annotation that once named the class */
	bool class_may_differ;
};

static struct ks_str note_of(struct ks_check *c, const struct ks_value *object)
{
	const struct ks_value *notes = KS_IN(c, KS_IN(c, object, "metadata"), "annotations");

	return notes ? ks_value_str(ks_value_get_str(c->schema, notes, BETA_CLASS)) : (struct ks_str){0};
}

/* The class moved from the annotation to its field: {old note, no field} became {field}. */
static bool class_from_note(struct ks_check *c, const struct update *u)
{
	return u->note_before.n && !KS_IN(c, &u->before, "storageClassName") &&
		ks_str_eq(KS_IN_TEXT(c, &u->spec, "storageClassName"), u->note_before) && (!u->note.n || ks_str_eq(u->note, u->note_before));
}

/* A claim that named no class may be given one. */
static bool class_from_nothing(struct ks_check *c, const struct update *u)
{
	return !KS_IN(c, &u->before, "storageClassName") && KS_IN(c, &u->spec, "storageClassName") && !u->note_before.n &&
		KS_IN_TEXT(c, &u->spec, "storageClassName").n;
}

static bool is_bound(struct ks_check *c, const struct update *u)
{
	return ks_str_is(KS_IN_TEXT(c, KS_IN(c, u->object, "status"), "phase"), "Bound") &&
		KS_IN(c, KS_IN(c, &u->spec, "resources"), "requests");
}

/* The two specs as they would be without the changes that are allowed. */
static bool mask(struct ks_check *c, const struct update *u, struct ks_value *now, struct ks_value *before)
{
	struct ks_value *requests, *place, *had;

	if (!ks_value_new_struct(c->arena, c->schema, u->spec.type, now) || !ks_value_new_struct(c->arena, c->schema, u->before.type, before))
		return false;
	if (u->spec.n && !ks_value_copy(c->arena, &u->spec, now))
		return false;
	if (u->before.n && !ks_value_copy(c->arena, &u->before, before))
		return false;
	if (!KS_IN_TEXT(c, before, "volumeName").n) {
		place = ks_value_put(c->arena, c->schema, before, KS_STR_LIT("volumeName"));
		if (!place)
			return false;
		*place = *ks_value_put(c->arena, c->schema, now, KS_STR_LIT("volumeName"));
	}
	place = ks_value_put(c->arena, c->schema, now, KS_STR_LIT("volumeAttributesClassName"));
	had = ks_value_put(c->arena, c->schema, before, KS_STR_LIT("volumeAttributesClassName"));
	if (!place || !had)
		return false;
	*place = *had;
	if (u->class_may_differ)
		*ks_value_put(c->arena, c->schema, now, KS_STR_LIT("storageClassName")) =
			*ks_value_put(c->arena, c->schema, before, KS_STR_LIT("storageClassName"));
	if (!is_bound(c, u))
		return true;
	requests = KS_IN(c, KS_IN(c, now, "resources"), "requests");
	had = KS_IN(c, KS_IN(c, before, "resources"), "requests");
	place = ks_value_put(c->arena, c->schema, requests, KS_STR_LIT("storage"));
	if (!place)
		return false;
	had = had ? ks_value_get(c->schema, had, "storage") : NULL;
	*place = had ? *had : ks_value_from_str(KS_STR_LIT("0"));
	return true;
}

static bool same_spec(struct ks_check *c, const struct update *u)
{
	return ks_value_same(KS_IN(c, u->object, "spec"), KS_IN(c, u->old, "spec"));
}

static void check_spec_update(struct ks_check *c, const struct update *u)
{
	struct ks_path path = ks_path_root("spec");
	struct ks_value now, before;
	struct ks_buf was, is;

	if (same_spec(c, u) || !mask(c, u, &now, &before) || ks_value_equal(&now, &before))
		return;
	ks_buf_init(&was);
	ks_buf_init(&is);
	ks_gojson_write(c->schema, before.type, false, &before, &was);
	ks_gojson_write(c->schema, now.type, false, &now, &is);
	ks_err_forbidden_diff(c, &path, NULL,
		"spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims", &was, &is);
	ks_buf_fini(&was);
	ks_buf_fini(&is);
}

static void check_update(struct ks_check *c, struct update *u)
{
	struct ks_path mode = ks_path_root("volumeMode"), metadata = ks_path_root("metadata"), path = ks_path_root("spec");
	struct ks_path at = ks_path_child(&path, "resources.requests.storage");
	struct ks_str size, size_before, capacity;
	bool there;

	u->class_may_differ = class_from_note(c, u);
	if (!u->class_may_differ) {
		if (!ks_str_eq(u->note, u->note_before))
			ks_err_invalid_text(c, &metadata, "annotations[volume.beta.kubernetes.io/storage-class]", u->note, "field is immutable");
		u->class_may_differ = class_from_nothing(c, u);
	}
	check_spec_update(c, u);
	size = requested(c, &u->spec, &there);
	size_before = requested(c, &u->before, &there);
	ks_quantity_in(c, KS_IN(c, KS_IN(c, u->old, "status"), "capacity"), KS_STR_LIT("storage"), &capacity);
	if (ks_quantity_text_cmp(size, size_before) < 0 && ks_quantity_text_cmp(size, capacity) <= 0)
		ks_err_forbidden(c, &at, NULL, "field can not be less than status.capacity");
	ks_check_slot_immutable(c, &mode, NULL, &u->spec, &u->before, "volumeMode");
	if (KS_IN(c, &u->before, "volumeAttributesClassName") && !KS_IN(c, &u->spec, "volumeAttributesClassName"))
		ks_err_forbidden(c, &path, "volumeAttributesClassName", "update from non-nil value to nil is forbidden");
}

/* -- status ------------------------------------------------------------------------------------------------------- */

/* Whatever is not Kubernetes' own may be counted, and of that only storage. */
static bool check_counted(struct ks_check *c, const struct ks_path *path, struct ks_str name)
{
	static const char *const supported[] = {"storage", NULL};

	if (!ks_check_name(c, path, NULL, KS_NAME_LABEL_KEY, name))
		return false;
	if ((ks_str_has(name, "/") && !ks_str_has(name, "kubernetes.io/")) || ks_str_in(name, supported))
		return true;
	ks_err_not_supported(c, path, NULL, name, supported);
	return false;
}

/* A whole number that isn't negative. */
static bool check_basic_amount(struct ks_check *c, const struct ks_path *path, struct ks_str amount)
{
	struct ks_quantity q;
	const char *message;

	if (ks_quantity_parse(amount, &q, &message) || ks_quantity_value(&q) >= 0)
		return true;
	ks_err_invalid_int(c, path, NULL, ks_quantity_value(&q), "must be a valid resource quantity");
	return false;
}

static void check_allocated(struct ks_check *c, const struct ks_path *path, const struct ks_value *map)
{
	for (uint32_t i = 0; i < ks_value_count(map); i++) {
		struct ks_path item = ks_path_key(path, map->members[i].key);
		struct ks_str amount = ks_value_str(&map->members[i].value);

		if (check_counted(c, path, map->members[i].key) && check_basic_amount(c, &item, amount))
			ks_check_amount(c, &item, KS_STR_LIT("storage"), amount);
	}
}

static void check_resize(struct ks_check *c, const struct ks_path *path, const struct ks_value *map)
{
	static const char *const states[] = {"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible",
		"NodeResizePending", NULL};

	for (uint32_t i = 0; i < ks_value_count(map); i++) {
		struct ks_str name = map->members[i].key;

		check_counted(c, path, name);
		if (!ks_str_in(ks_value_str(&map->members[i].value), states))
			ks_err_not_supported(c, path, NULL, name, states);
	}
}

static void check_status(struct ks_check *c, const struct ks_value *object)
{
	struct ks_path spec = ks_path_root("Spec"), path = ks_path_root("status"), capacity = ks_path_child(&path, "capacity");
	struct ks_path resize = ks_path_child(&path, "allocatedResourceStatus"), allocated = ks_path_child(&path, "allocatedResources");
	const struct ks_value *status = KS_IN(c, object, "status"), *amounts = KS_IN_MAP(c, status, "capacity");

	if (!ks_value_count(KS_IN(c, KS_IN(c, object, "spec"), "accessModes")))
		ks_err_required(c, &spec, "accessModes", "");
	for (uint32_t i = 0; i < ks_value_count(amounts); i++) {
		struct ks_path item = ks_path_key(&capacity, amounts->members[i].key);

		check_basic_amount(c, &item, ks_value_str(&amounts->members[i].value));
	}
	check_resize(c, &resize, KS_IN_MAP(c, status, "allocatedResourceStatuses"));
	check_allocated(c, &allocated, KS_IN_MAP(c, status, "allocatedResources"));
}

/* Was the selector of the stored claim faulty? Then it may stay so. */
static unsigned selector_flags(struct ks_check *c, const struct ks_value *before)
{
	struct ks_status aside = {0};
	struct ks_check quiet = *c;
	struct ks_path path = ks_path_root("selector");

	quiet.status = &aside;
	return ks_check_label_selector(&quiet, &path, NULL, KS_IN(c, before, "selector"), 0) ? 0 : KS_SELECTOR_VALUES_FREE;
}

static bool names_a_group(struct ks_check *c, const struct ks_value *spec)
{
	return KS_IN(c, KS_IN(c, spec, "dataSource"), "apiGroup") || KS_IN(c, KS_IN(c, spec, "dataSourceRef"), "apiGroup");
}

void ks_validate_persistentvolumeclaim(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec");
	struct update u = {.object = object, .old = old, .spec = ks_struct_in(&c, object, "spec")};

	if (ctx->subresource.n) {
		check_status(&c, object);
		return;
	}
	if (!old) {
		check_spec(&c, &path, &u.spec, false, 0);
		return;
	}
	u.before = ks_struct_in(&c, old, "spec");
	u.note = note_of(&c, object);
	u.note_before = note_of(&c, old);
	check_spec(&c, &path, &u.spec, names_a_group(&c, &u.before), selector_flags(&c, &u.before));
	check_update(&c, &u);
}
