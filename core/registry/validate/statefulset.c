/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Stateful sets and revisions of controllers. */
#include "core/registry/validate/pods.h"
#include "core/registry/validate/workloads.h"

static void check_rolling(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *unavailable = IN(v, "maxUnavailable");

	ks_check_nonnegative(c, path, "partition", INT(v, "partition"));
	if (!unavailable)
		return;
	ks_check_int_or_percent(c, path, "maxUnavailable", unavailable);
	if (!ks_int_or_percent(unavailable))
		ks_err_invalid(c, path, "maxUnavailable", unavailable, "cannot be 0");
	ks_check_at_most_all(c, path, "maxUnavailable", unavailable);
}

static void check_update_strategy(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *spec)
{
	struct ks_value strategy = ks_struct_in(c, spec, "updateStrategy");
	const struct ks_value *rolling = IN(&strategy, "rollingUpdate");
	struct ks_path path = ks_path_child(spec_path, "updateStrategy"), at = ks_path_child(&path, "rollingUpdate");
	struct ks_str type = TEXT(&strategy, "type");

	if (!type.n)
		ks_err_required(c, &path, NULL, "");
	else if (ks_str_is(type, "OnDelete") && rolling)
		ks_err_invalid(c, &at, NULL, rolling, "only allowed for updateStrategy 'RollingUpdate'");
	else if (ks_str_is(type, "RollingUpdate") && rolling)
		check_rolling(c, &at, rolling);
	else if (!ks_str_is(type, "OnDelete") && !ks_str_is(type, "RollingUpdate"))
		ks_err_invalid(c, &path, NULL, &strategy, "must be 'RollingUpdate' or 'OnDelete'");
}

static void check_retention(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *policy)
{
	static const char *const policies[] = {"Retain", "Delete", NULL};
	struct ks_path path = ks_path_child(spec_path, "persistentVolumeClaimRetentionPolicy");

	if (!policy)
		return;
	ks_check_one_of(c, &path, "whenDeleted", TEXT(policy, "whenDeleted"), policies);
	ks_check_one_of(c, &path, "whenScaled", TEXT(policy, "whenScaled"), policies);
}

static void check_labels(struct ks_check *c, const struct ks_path *path, const struct ks_value *template)
{
	const struct ks_value *metadata = IN(template, "metadata"), *annotations = MAP(metadata, "annotations");
	struct ks_path notes = ks_path_child(path, "annotations");

	ks_check_labels(c, path, "labels", MAP(metadata, "labels"));
	ks_check_annotations(c, path, "annotations", annotations);
	ks_check_pod_annotations(c, &notes, annotations, IN(template, "spec"), false);
}

static bool is_claimed(struct ks_check *c, const struct ks_value *claims, struct ks_str name)
{
	EACH(i, claims)
		if (ks_str_eq(TEXT(IN(&claims->items[i], "metadata"), "name"), name))
			return true;
	return false;
}

/* A volume of a claim. */
static bool claim_volume(struct ks_check *c, uint16_t type, const struct ks_value *claim, struct ks_value *out)
{
	struct ks_value name = ks_value_from_str(TEXT(IN(claim, "metadata"), "name")), *place;

	if (!ks_value_new_struct(c->arena, c->schema, type, out))
		return false;
	place = ks_value_put(c->arena, c->schema, out, KS_STR_LIT("name"));
	if (!place)
		return false;
	*place = name;
	place = ks_value_put_at(c->arena, c->schema, out, "persistentVolumeClaim.claimName");
	if (!place)
		return false;
	*place = name;
	return true;
}

/* Pods have a volume for each claim, before their own: templates are judged with them. */
static bool add_claims(struct ks_check *c, const struct ks_value *spec, struct ks_value *template)
{
	const struct ks_value *claims = LIST(spec, "volumeClaimTemplates"), *own;
	struct ks_value *items, *place, pod = ks_struct_in(c, template, "spec"), list;
	uint16_t slot = ks_schema_slot(c->schema, pod.type, "volumes", 7);
	struct ks_seen seen = {.n = 0};

	if (!ks_value_count(claims) || slot == KS_NO_SLOT || !ks_value_copy(c->arena, &pod, &pod) || !ks_value_copy(c->arena, template, template))
		return true;
	own = LIST(&pod, "volumes");
	list = (struct ks_value){.kind = KS_LIST, .type = ks_schema_field(c->schema, pod.type, slot)->type};
	items = ks_arena_zalloc(c->arena, claims->n + ks_value_count(own), sizeof(*items));
	if (!items)
		return false;
	list.items = items;
	EACH(i, claims)
		if (ks_seen_add(c, &seen, TEXT(IN(&claims->items[i], "metadata"), "name")) && !claim_volume(c, c->schema->types[list.type].element, &claims->items[i], &items[list.n++]))
			return false;
	EACH(i, own)
		if (!is_claimed(c, claims, TEXT(&own->items[i], "name")))
			items[list.n++] = own->items[i];
	place = ks_value_put_at(c->arena, c->schema, template, "spec.volumes");
	if (place)
		*place = list;
	return place != NULL;
}

static void check_template(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old)
{
	const struct ks_value *selector = IN(spec, "selector");
	struct ks_value template = ks_struct_in(c, spec, "template");
	struct ks_path at = ks_path_child(path, "template");

	if (!ks_selector_is_sound(c, selector)) {
		ks_err_invalid(c, path, "selector", selector, "");
	} else {
		if (!ks_selector_is_empty(c, selector))
			ks_check_selected(c, &at, selector, &template);
		check_labels(c, &at, &template);
		if (add_claims(c, spec, &template))
			ks_check_pod_template(c, &at, &template, IN(old, "template"));
	}
	ks_check_lasting_template(c, &at, &template, "StatefulSet");
}

static void check_claims(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	struct ks_path at = ks_path_child(path, "volumeClaimTemplates");

	EACH(i, list) {
		struct ks_path item = ks_path_index(&at, i), spec = ks_path_child(&item, "spec");

		ks_check_claim_spec(c, &spec, IN(&list->items[i], "spec"));
	}
}

static void check_spec(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old)
{
	struct ks_str management = TEXT(spec, "podManagementPolicy");
	const struct ks_value *ordinals = IN(spec, "ordinals");

	if (!management.n)
		ks_err_required(c, path, "podManagementPolicy", "");
	else if (!ks_str_is(management, "OrderedReady") && !ks_str_is(management, "Parallel"))
		ks_err_invalid_text(c, path, "podManagementPolicy", management, "must be 'OrderedReady' or 'Parallel'");
	check_update_strategy(c, path, spec);
	check_retention(c, path, IN(spec, "persistentVolumeClaimRetentionPolicy"));
	ks_check_nonnegative(c, path, "replicas", INT(spec, "replicas"));
	ks_check_nonnegative(c, path, "minReadySeconds", INT(spec, "minReadySeconds"));
	if (ordinals)
		ks_check_nonnegative(c, path, "ordinals.start", INT(ordinals, "start"));
	ks_check_own_selector(c, path, IN(spec, "selector"), "statefulset");
	check_template(c, path, spec, old);
}

/* Is everything but the fields that may change as it was? */
static bool same_rest(struct ks_check *c, const struct ks_value *a, const struct ks_value *b)
{
	static const char *const free_fields[] = {"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
		"persistentVolumeClaimRetentionPolicy", "minReadySeconds", NULL};

	for (uint16_t i = 0; i < c->schema->types[a->type].n_fields; i++) {
		const char *name = ks_schema_text(c->schema, ks_schema_field(c->schema, a->type, i)->name);
		const struct ks_value *x = i < a->n && ks_value_present(&a->items[i]) ? &a->items[i] : NULL;
		const struct ks_value *y = i < b->n && ks_value_present(&b->items[i]) ? &b->items[i] : NULL;

		if (!ks_str_in(ks_str_from(name), free_fields) && !ks_value_same(x, y))
			return false;
	}
	return true;
}

static void check_status(struct ks_check *c, const struct ks_value *object, const struct ks_value *old)
{
	static const char *const counts[] = {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "observedGeneration",
		"collisionCount", NULL};
	static const char *const parts[] = {"readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"};
	struct ks_value status = ks_struct_in(c, object, "status"), before = ks_struct_in(c, old, "status");
	struct ks_path path = ks_path_root("status");

	ks_check_counts(c, &path, &status, counts);
	for (size_t i = 0; i < 4; i++) {
		int64_t n = ks_value_int_or(ks_value_get(c->schema, &status, parts[i]), 0);

		if (n > INT(&status, "replicas"))
			ks_err_invalid_int(c, &path, parts[i], n, "cannot be greater than status.replicas");
	}
	if (INT(&status, "availableReplicas") > INT(&status, "readyReplicas"))
		ks_err_invalid_int(c, &path, "availableReplicas", INT(&status, "availableReplicas"), "cannot be greater than status.readyReplicas");
	if (IN(&before, "collisionCount") && INT(&status, "collisionCount") < INT(&before, "collisionCount"))
		ks_err_invalid_int(c, &path, "collisionCount", INT(&status, "collisionCount"), "cannot be decremented");
}

void ks_validate_statefulset(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check run = ks_check_begin(ctx, status), *c = &run;
	struct ks_value spec = ks_struct_in(c, object, "spec"), before;
	struct ks_path path = ks_path_root("spec");

	if (ks_str_is(ctx->subresource, "status")) {
		check_status(c, object, old);
		return;
	}
	check_spec(c, &path, &spec, old ? IN(old, "spec") : NULL);
	if (!old) {
		if (TEXT(&spec, "serviceName").n)
			ks_check_name(c, &path, "serviceName", KS_NAME_DNS1123_LABEL, TEXT(&spec, "serviceName"));
		check_claims(c, &path, LIST(&spec, "volumeClaimTemplates"));
		return;
	}
	before = ks_struct_in(c, old, "spec");
	if (!same_rest(c, &spec, &before))
		ks_err_forbidden(c, &path, NULL,
			"updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
			"'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden");
}

void ks_validate_controllerrevision(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check run = ks_check_begin(ctx, status), *c = &run;
	struct ks_path data = ks_path_root("data"), revision = ks_path_root("revision");

	if (!IN(object, "data"))
		ks_err_required(c, &data, NULL, "data is mandatory");
	ks_check_nonnegative(c, &revision, NULL, INT(object, "revision"));
	if (old)
		ks_check_immutable(c, &data, NULL, IN(object, "data"), IN(old, "data"));
}
