/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Pods: when they are made, when they change, what their status may say. */
#include "core/registry/validate/pod.h"

#include "core/api/gojson.h"
#include "core/registry/validate/pods.h"
#include "core/registry/validate/pod_status.h"

static void check_tokens(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	const struct ks_value *volumes = LIST(spec, "volumes");
	struct ks_path at = ks_path_child(path, "volumes");

	if (TEXT(spec, "serviceAccountName").n)
		return;
	EACH(i, volumes) {
		const struct ks_value *sources = LIST(IN(&volumes->items[i], "projected"), "sources");
		struct ks_path item = ks_path_index(&at, i), list = ks_path_child(&item, "projected.sources");

		EACH(k, sources) {
			struct ks_path source = ks_path_index(&list, k);

			if (IN(&sources->items[k], "serviceAccountToken"))
				ks_err_forbidden(c, &source, "serviceAccountToken", "must not be specified when serviceAccountName is not set");
		}
	}
}

static void check_images(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	static const char *const names[] = {"containers", "initContainers"};

	for (size_t k = 0; k < 2; k++) {
		const struct ks_value *list = ks_value_get(c->schema, spec, names[k]);
		struct ks_path at = ks_path_child(path, names[k]);

		EACH(i, list) {
			struct ks_path item = ks_path_index(&at, i);

			ks_check_container_of_pod(c, &item, &list->items[i]);
		}
	}
}

/* What holds on every write. */
static void check_whole(struct ks_check *c, const struct ks_value *pod, const struct ks_value *spec, const struct ks_value *old_spec)
{
	const struct ks_value *metadata = IN(pod, "metadata"), *annotations = MAP(metadata, "annotations");
	struct ks_path path = ks_path_root("spec"), notes = ks_path_root("metadata.annotations");

	ks_check_pod_annotations(c, &notes, annotations, spec, false);
	ks_check_pod_spec(c, &path, spec, old_spec, TEXT(metadata, "name"), true);
	check_tokens(c, &path, spec);
	check_images(c, &path, spec);
}

static void check_create(struct ks_check *c, const struct ks_value *pod, const struct ks_value *spec)
{
	struct ks_path path = ks_path_root("spec");

	check_whole(c, pod, spec, NULL);
	if (ks_value_count(LIST(spec, "ephemeralContainers")))
		ks_err_forbidden(c, &path, "ephemeralContainers", "cannot be set on create");
	if (TEXT(spec, "nodeName").n && ks_value_count(LIST(spec, "schedulingGates")))
		ks_err_forbidden(c, &path, "nodeName", "cannot be set until all schedulingGates have been cleared");
	ks_check_pod_profiles(c, &path, MAP(IN(pod, "metadata"), "annotations"), spec);
}

/* -- update ------------------------------------------------------------------------------------------------------- */

static bool is_guarded(struct ks_str key)
{
	return ks_str_starts(key, KS_STR_LIT("container.apparmor.security.beta.kubernetes.io/"));
}

static void check_annotation_changes(struct ks_check *c, const struct ks_value *pod, const struct ks_value *old, const struct ks_value *spec)
{
	const struct ks_value *now = MAP(IN(pod, "metadata"), "annotations"), *before = MAP(IN(old, "metadata"), "annotations");
	struct ks_path path = ks_path_root("metadata.annotations");

	EACH(i, before) {
		struct ks_str key = before->members[i].key;
		struct ks_path at = ks_path_key(&path, key);

		if (!is_guarded(key) && !ks_str_is(key, "kubernetes.io/config.mirror"))
			continue;
		if (now && ks_value_same(ks_value_get_str(c->schema, now, key), &before->members[i].value))
			continue;
		if (is_guarded(key))
			ks_err_forbidden(c, &at, NULL, "may not remove or update AppArmor annotations");
		if (ks_str_is(key, "kubernetes.io/config.mirror"))
			ks_err_forbidden(c, &at, NULL, "may not remove or update mirror pod annotation");
	}
	EACH(i, now) {
		struct ks_str key = now->members[i].key;
		struct ks_path at = ks_path_key(&path, key);

		if (!is_guarded(key) && !ks_str_is(key, "kubernetes.io/config.mirror"))
			continue;
		if (before && ks_value_get_str(c->schema, before, key))
			continue;
		if (is_guarded(key))
			ks_err_forbidden(c, &at, NULL, "may not add AppArmor annotations");
		if (ks_str_is(key, "kubernetes.io/config.mirror"))
			ks_err_forbidden(c, &at, NULL, "may not add mirror pod annotation");
	}
	ks_check_pod_annotations(c, &path, now, spec, false);
}

/* Containers stay as many as they were. False when they don't: nothing else is compared then. */
static bool check_container_list(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *now, const struct ks_value *before)
{
	struct ks_path at = ks_path_child(path, name);

	if (ks_value_count(now) != ks_value_count(before)) {
		ks_err_forbidden(c, &at, NULL, "pod updates may not add or remove containers");
		return false;
	}
	EACH(i, now) {
		struct ks_path item = ks_path_index(&at, i);

		if (!TEXT(&now->items[i], "image").n)
			ks_err_required(c, &item, "image", "");
		ks_check_container_of_pod(c, &item, &now->items[i]);
	}
	return true;
}

static bool check_deadline(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old)
{
	const struct ks_value *now = IN(spec, "activeDeadlineSeconds"), *before = IN(old, "activeDeadlineSeconds");

	if (!now) {
		if (before)
			ks_err_invalid(c, path, "activeDeadlineSeconds", NULL, "must not update from a positive integer to nil value");
		return true;
	}
	if (!ks_check_range(c, path, "activeDeadlineSeconds", ks_value_int_or(now, 0), 0, INT32_MAX))
		return false;
	if (!before || ks_value_int_or(before, 0) >= ks_value_int_or(now, 0))
		return true;
	ks_err_invalid(c, path, "activeDeadlineSeconds", now, "must be less than or equal to previous value");
	return false;
}

/* All of a toleration but how long it lasts. */
static struct ks_str toleration_text(struct ks_check *c, const struct ks_value *v)
{
	struct ks_str key = TEXT(v, "key"), operator= TEXT(v, "operator"), value = TEXT(v, "value"), effect = TEXT(v, "effect");

	return ks_str_from(ks_err_detail(c, "%.*s %.*s %.*s %.*s", (int)key.n, key.p ? key.p : "", (int)operator.n, operator.p ? operator.p : "",
		(int)value.n, value.p ? value.p : "", (int)effect.n, effect.p ? effect.p : ""));
}

/* Tolerations may be added; those there were may only change how long they last. */
static void check_tolerations(struct ks_check *c, const struct ks_path *path, const struct ks_value *now, const struct ks_value *before)
{
	struct ks_path at = ks_path_child(path, "tolerations");
	struct ks_seen seen = {.n = 0};
	bool same = ks_value_same(now, before);

	for (uint32_t i = 0; !same && i < ks_value_count(now); i++)
		ks_seen_add(c, &seen, toleration_text(c, &now->items[i]));
	for (uint32_t i = 0; !same && i < ks_value_count(before); i++) {
		if (ks_seen_has(&seen, toleration_text(c, &before->items[i])))
			continue;
		ks_err_forbidden(c, &at, NULL, "existing toleration can not be modified except its tolerationSeconds");
		return;
	}
	ks_check_tolerations(c, &at, now);
}

static void check_gates(struct ks_check *c, const struct ks_path *path, const struct ks_value *now, const struct ks_value *before)
{
	struct ks_path at = ks_path_child(path, "schedulingGates");
	struct ks_seen seen = {.n = 0};

	EACH(i, before)
		ks_seen_add(c, &seen, TEXT(&before->items[i], "name"));
	EACH(i, now) {
		struct ks_str name = TEXT(&now->items[i], "name");
		struct ks_path item = ks_path_index(&at, i);

		if (!ks_seen_has(&seen, name))
			ks_err_forbidden(c, &item, "name",
				ks_err_detail(c, "only deletion is allowed, but found new scheduling gate '%.*s'", (int)name.n, name.p ? name.p : ""));
	}
}

/* -- what is left of the spec --------------------------------------------------------------------------------------- */

/* Makes a field of `spec` what it is in `old`. */
static void take(struct ks_check *c, struct ks_value *spec, const struct ks_value *old, const char *name)
{
	uint16_t slot = ks_schema_slot(c->schema, spec->type, name, strlen(name));

	if (slot < spec->n && slot < old->n)
		spec->items[slot] = old->items[slot];
}

/* A copy of a struct's slots that may be changed. */
static bool loosen(struct ks_check *c, struct ks_value *v)
{
	struct ks_value *items = ks_arena_zalloc(c->arena, v->n + 1U, sizeof(*items));

	if (!items)
		return false;
	memcpy(items, v->items, v->n * sizeof(*items));
	v->items = items;
	return true;
}

/* Containers with the images that they had. */
static bool take_images(struct ks_check *c, struct ks_value *spec, const struct ks_value *old, const char *name)
{
	uint16_t slot = ks_schema_slot(c->schema, spec->type, name, strlen(name));
	struct ks_value *list = slot < spec->n ? &spec->items[slot] : NULL;
	const struct ks_value *before = ks_value_get(c->schema, old, name);

	if (!ks_value_count(list) || ks_value_count(before) != list->n)
		return true;
	if (!loosen(c, list))
		return false;
	for (uint32_t i = 0; i < list->n; i++) {
		if (list->items[i].kind != KS_STRUCT || before->items[i].kind != KS_STRUCT)
			continue;
		if (!loosen(c, &list->items[i]))
			return false;
		take(c, &list->items[i], &before->items[i], "image");
	}
	return true;
}

static void check_node_selector_additions(struct ks_check *c, const struct ks_path *path, struct ks_value *spec, const struct ks_value *old)
{
	const struct ks_value *now = MAP(spec, "nodeSelector"), *before = MAP(old, "nodeSelector");
	struct ks_index index = {.map = now};

	EACH(i, before) {
		if (ks_value_same(ks_index_find(c, &index, before->members[i].key), &before->members[i].value))
			continue;
		ks_err_invalid(c, path, "nodeSelector", now, "only additions to spec.nodeSelector are allowed (no mutations or deletions)");
		break;
	}
	take(c, spec, old, "nodeSelector");
}

static bool begins_with(const struct ks_value *now, const struct ks_value *before)
{
	struct ks_value head = {.kind = KS_LIST};

	if (!ks_value_count(before))
		return true;
	if (ks_value_count(now) < before->n)
		return false;
	head = *now;
	head.n = before->n;
	return ks_value_same(&head, before);
}

static bool only_adds(struct ks_check *c, const struct ks_value *now, const struct ks_value *before)
{
	const struct ks_value *expressions = LIST(before, "matchExpressions"), *fields = LIST(before, "matchFields");

	if (!ks_value_count(expressions) && !ks_value_count(fields))
		return !ks_value_count(LIST(now, "matchExpressions")) && !ks_value_count(LIST(now, "matchFields"));
	return begins_with(LIST(now, "matchExpressions"), expressions) && begins_with(LIST(now, "matchFields"), fields);
}

static void check_affinity_additions(struct ks_check *c, const struct ks_path *path, const struct ks_value *now, const struct ks_value *before)
{
	const struct ks_value *old_terms = LIST(IN(before, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms");
	const struct ks_value *terms = LIST(IN(now, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms");
	struct ks_path at = ks_path_child(path, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");

	if (!ks_value_count(old_terms))
		return;
	if (ks_value_count(terms) != old_terms->n) {
		ks_err_invalid(c, &at, NULL, terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
		return;
	}
	EACH(i, old_terms) {
		struct ks_path item = ks_path_index(&at, i);

		if (!only_adds(c, &terms->items[i], &old_terms->items[i]))
			ks_err_invalid(c, &item, NULL, &terms->items[i], "only additions are allowed (no mutations or deletions)");
	}
}

/* A pod that waits behind gates may be tied to fewer nodes. */
static void check_gated(struct ks_check *c, const struct ks_path *path, struct ks_value *spec, const struct ks_value *old)
{
	const struct ks_value *before = IN(IN(old, "affinity"), "nodeAffinity");
	struct ks_value *affinity = IN(spec, "affinity");

	if (!ks_value_count(LIST(old, "schedulingGates")))
		return;
	check_node_selector_additions(c, path, spec, old);
	if (ks_value_same(IN(affinity, "nodeAffinity"), before))
		return;
	check_affinity_additions(c, path, IN(affinity, "nodeAffinity"), before);
	if (!affinity || !IN(old, "affinity")) {
		if (!IN(affinity, "podAffinity") && !IN(affinity, "podAntiAffinity"))
			take(c, spec, old, "affinity");
		return;
	}
	if (loosen(c, affinity))
		take(c, affinity, IN(old, "affinity"), "nodeAffinity");
}

static void check_rest(struct ks_check *c, const struct ks_path *path, const struct ks_value *now, const struct ks_value *old)
{
	static const char intro[] = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
		"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
		"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
	struct ks_value spec = *now;
	struct ks_buf before, after;

	if (ks_value_same(now, old) || !loosen(c, &spec) || !take_images(c, &spec, old, "containers") || !take_images(c, &spec, old, "initContainers"))
		return;
	take(c, &spec, old, "activeDeadlineSeconds");
	take(c, &spec, old, "schedulingGates");
	take(c, &spec, old, "tolerations");
	take(c, &spec, old, "serviceAccount"); /* says what serviceAccountName says */
	if (INT(old, "terminationGracePeriodSeconds") < 0 && INT(&spec, "terminationGracePeriodSeconds") == 1)
		take(c, &spec, old, "terminationGracePeriodSeconds");
	check_gated(c, path, &spec, old);
	if (ks_value_same(&spec, old))
		return;
	ks_buf_init(&before);
	ks_buf_init(&after);
	ks_gojson_write(c->schema, old->type, false, old, &before);
	ks_gojson_write(c->schema, spec.type, false, &spec, &after);
	ks_err_forbidden_diff(c, path, NULL, intro, &before, &after);
	ks_buf_fini(&before);
	ks_buf_fini(&after);
}

static void check_update(struct ks_check *c, const struct ks_value *pod, const struct ks_value *old, const struct ks_value *spec, const struct ks_value *old_spec)
{
	struct ks_path path = ks_path_root("spec");

	check_whole(c, pod, spec, old_spec);
	check_annotation_changes(c, pod, old, spec);
	if (!check_container_list(c, &path, "containers", LIST(spec, "containers"), LIST(old_spec, "containers")) ||
		!check_container_list(c, &path, "initContainers", LIST(spec, "initContainers"), LIST(old_spec, "initContainers")) ||
		!check_deadline(c, &path, spec, old_spec))
		return;
	check_tolerations(c, &path, LIST(spec, "tolerations"), LIST(old_spec, "tolerations"));
	check_gates(c, &path, LIST(spec, "schedulingGates"), LIST(old_spec, "schedulingGates"));
	check_rest(c, &path, spec, old_spec);
}

/* -- containers for debugging ---------------------------------------------------------------------------------------- */

static void check_ephemeral(struct ks_check *c, const struct ks_value *pod, const struct ks_value *old, const struct ks_value *spec, const struct ks_value *old_spec)
{
	const struct ks_value *now = LIST(spec, "ephemeralContainers"), *before = LIST(old_spec, "ephemeralContainers");
	struct ks_path path = ks_path_root("spec.ephemeralContainers");

	check_whole(c, pod, spec, old_spec);
	check_annotation_changes(c, pod, old, spec);
	EACH(i, before) {
		struct ks_str name = TEXT(&before->items[i], "name");
		const struct ks_value *same = NULL;

		EACH(k, now)
			if (ks_str_eq(TEXT(&now->items[k], "name"), name))
				same = &now->items[k];
		if (!same)
			ks_err_forbidden(c, &path, NULL, ks_err_detail(c, "existing ephemeral containers \"%.*s\" may not be removed\n", (int)name.n, name.p));
		else if (!ks_value_same(same, &before->items[i]))
			ks_pod_changed_diff(c, &path, ks_err_detail(c, "existing ephemeral containers \"%.*s\" may not be changed", (int)name.n, name.p),
				&before->items[i], same);
	}
}

void ks_pod_changed_diff(struct ks_check *c, const struct ks_path *path, const char *intro, const struct ks_value *before, const struct ks_value *now)
{
	struct ks_buf a, b;

	ks_buf_init(&a);
	ks_buf_init(&b);
	ks_gojson_write(c->schema, before->type, false, before, &a);
	ks_gojson_write(c->schema, now->type, false, now, &b);
	ks_err_forbidden_diff(c, path, NULL, intro, &a, &b);
	ks_buf_fini(&a);
	ks_buf_fini(&b);
}

void ks_validate_pod(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_value spec = ks_struct_in(&c, object, "spec"), old_spec;

	if (!old) {
		check_create(&c, object, &spec);
		return;
	}
	old_spec = ks_struct_in(&c, old, "spec");
	if (ks_str_is(ctx->subresource, "status"))
		ks_check_pod_status(&c, object, old);
	else if (ks_str_is(ctx->subresource, "ephemeralcontainers"))
		check_ephemeral(&c, object, old, &spec, &old_spec);
	else if (ks_str_is(ctx->subresource, "resize"))
		ks_check_pod_resize(&c, object, old, &spec, &old_spec);
	else if (!ctx->subresource.n)
		check_update(&c, object, old, &spec, &old_spec);
}

void ks_validate_podtemplate(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_value template = ks_struct_in(&c, object, "template");
	struct ks_path path = ks_path_root("template");

	ks_check_pod_template(&c, &path, &template, old ? ks_value_get(ctx->schema, old, "template") : NULL);
}
