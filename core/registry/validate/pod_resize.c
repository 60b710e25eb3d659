/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* pods/resize: what containers, and a pod as a whole, may use of processors and memory, while they run. */
#include "core/registry/kit.h"
#include "core/registry/validate/pod.h"
#include "core/registry/validate/pod_status.h"

static bool has_lost(struct ks_check *c, const struct ks_value *now, const struct ks_value *before)
{
	EACH(i, before)
		if (!now || !ks_value_get_str(c->schema, now, before->members[i].key))
			return true;
	return false;
}

static void check_removals(struct ks_check *c, const struct ks_path *path, const struct ks_value *now, const struct ks_value *before)
{
	const struct ks_value *a = IN(now, "resources"), *b = IN(before, "resources");

	if (has_lost(c, MAP(a, "requests"), MAP(b, "requests")))
		ks_err_forbidden(c, path, "resources.requests", "resource requests cannot be removed");
	if (has_lost(c, MAP(a, "limits"), MAP(b, "limits")))
		ks_err_forbidden(c, path, "resources.limits", "resource limits cannot be removed");
}

/* A map without cpu and memory is as it was. */
static bool same_others(struct ks_check *c, const struct ks_value *now, const struct ks_value *before)
{
	uint32_t n = 0, m = 0;

	EACH(i, now) {
		struct ks_str key = now->members[i].key;

		if (ks_str_is(key, "cpu") || ks_str_is(key, "memory"))
			continue;
		if (!before || !ks_value_same(ks_value_get_str(c->schema, before, key), &now->members[i].value))
			return false;
		n++;
	}
	EACH(i, before)
		m += !ks_str_is(before->members[i].key, "cpu") && !ks_str_is(before->members[i].key, "memory");
	return n == m;
}

static bool same_but_amounts_of(struct ks_check *c, const struct ks_value *a, const struct ks_value *b)
{
	return same_others(c, MAP(a, "limits"), MAP(b, "limits")) && same_others(c, MAP(a, "requests"), MAP(b, "requests")) &&
		ks_value_same(IN(a, "claims"), IN(b, "claims"));
}

static bool same_but_amounts(struct ks_check *c, const struct ks_value *now, const struct ks_value *before)
{
	for (uint16_t i = 0; i < now->n && i < before->n; i++) {
		const char *name = ks_schema_text(c->schema, ks_schema_field(c->schema, now->type, i)->name);
		const struct ks_value *a = &now->items[i], *b = &before->items[i];

		if (strcmp(name, "resources")) {
			if (!ks_value_same(ks_value_present(a) ? a : NULL, ks_value_present(b) ? b : NULL))
				return false;
		} else if (!same_but_amounts_of(c, a, b)) {
			return false;
		}
	}
	return true;
}

/* A node that says nothing about a running container's resources knows nothing of resizing. */
static bool is_supported(struct ks_check *c, const struct ks_value *pod)
{
	const struct ks_value *statuses = LIST(IN(pod, "status"), "containerStatuses");

	EACH(i, statuses)
		if (IN(IN(&statuses->items[i], "state"), "running"))
			return IN(&statuses->items[i], "resources");
	return true;
}

static bool has_amounts(struct ks_check *c, const struct ks_value *resources)
{
	return MAP(resources, "requests") || MAP(resources, "limits");
}

static void check_whole(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old_spec)
{
	const struct ks_value *now = IN(spec, "resources"), *before = IN(old_spec, "resources");

	if (!has_amounts(c, now) && !has_amounts(c, before))
		return;
	if (before && !now) {
		ks_err_forbidden(c, path, "resources", "pod-level resources cannot be removed");
		return;
	}
	if (has_lost(c, MAP(now, "requests"), MAP(before, "requests")))
		ks_err_forbidden(c, path, "resources.requests", "pod-level resource requests cannot be removed");
	if (has_lost(c, MAP(now, "limits"), MAP(before, "limits")))
		ks_err_forbidden(c, path, "resources.limits", "pod-level resource limits cannot be removed");
	if (!same_but_amounts_of(c, now, before))
		ks_err_forbidden(c, path, NULL, "only cpu and memory resources are mutable at pod-level");
}

/* All that follows goes by position. */
static bool check_order(
	struct ks_check *c, const struct ks_path *path, const char *list, const struct ks_value *now, const struct ks_value *before)
{
	struct ks_path at = ks_path_child(path, list);
	bool good = true;

	if (ks_value_count(now) != ks_value_count(before)) {
		ks_err_forbidden(c, path, list, ks_err_detail(c, "%s may not be added or removed on resize", list));
		return false;
	}
	EACH(i, before) {
		struct ks_path item = ks_path_index(&at, i);

		if (ks_str_eq(TEXT(&now->items[i], "name"), TEXT(&before->items[i], "name")))
			continue;
		ks_err_forbidden(c, &item, "name", ks_err_detail(c, "%s may not be renamed or reordered on resize", list));
		good = false;
	}
	return good;
}

static void check_list_removals(
	struct ks_check *c, const struct ks_path *path, const char *list, const struct ks_value *now, const struct ks_value *before)
{
	struct ks_path at = ks_path_child(path, list);

	EACH(i, before) {
		struct ks_path item = ks_path_index(&at, i);

		check_removals(c, &item, &now->items[i], &before->items[i]);
	}
}

static bool restarts_on_resize(struct ks_check *c, const struct ks_value *container)
{
	const struct ks_value *policies = LIST(container, "resizePolicy");

	EACH(i, policies)
		if (ks_str_is(TEXT(&policies->items[i], "restartPolicy"), "RestartContainer"))
			return true;
	return false;
}

static void check_init_containers(struct ks_check *c, const struct ks_path *path, const struct ks_value *now, const struct ks_value *before)
{
	struct ks_path at = ks_path_child(path, "initContainers");

	EACH(i, before) {
		const struct ks_value *container = &now->items[i];
		struct ks_path item = ks_path_index(&at, i);

		if (!same_but_amounts(c, container, &before->items[i]))
			ks_err_forbidden(c, &item, NULL, "only cpu and memory resources for init or sidecar containers are mutable");
		if (!ks_value_same(container, &before->items[i]) && !ks_str_is(TEXT(container, "restartPolicy"), "Always") &&
			restarts_on_resize(c, container))
			ks_err_forbidden(c, &item, NULL, "non-sidecar init containers with a resize policy of RestartContainer cannot be resized");
	}
}

static void check_containers(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old_spec)
{
	const struct ks_value *now = LIST(spec, "containers"), *before = LIST(old_spec, "containers");
	const struct ks_value *init = LIST(spec, "initContainers"), *old_init = LIST(old_spec, "initContainers");
	bool ordered = check_order(c, path, "containers", now, before);

	if (!check_order(c, path, "initContainers", init, old_init) || !ordered)
		return;
	check_list_removals(c, path, "initContainers", init, old_init);
	check_list_removals(c, path, "containers", now, before);
	EACH(i, before)
		if (!same_but_amounts(c, &now->items[i], &before->items[i]))
			ks_err_forbidden(c, path, NULL, "only cpu and memory resources are mutable");
	check_init_containers(c, path, init, old_init);
}

void ks_check_pod_resize(
	struct ks_check *c, const struct ks_value *pod, const struct ks_value *old, const struct ks_value *spec, const struct ks_value *old_spec)
{
	const struct ks_value *annotations = MAP(IN(old, "metadata"), "annotations");
	struct ks_path path = ks_path_root("spec"), root = ks_path_root("");

	ks_check_pod_spec(c, &path, spec, old_spec, TEXT(IN(pod, "metadata"), "name"), true);
	if (annotations && ks_value_get(c->schema, annotations, "kubernetes.io/config.mirror")) {
		ks_err_forbidden(c, &root, NULL, "static pods cannot be resized");
		return;
	}
	if (ks_str_is(TEXT(IN(old_spec, "os"), "name"), "windows")) {
		ks_err_forbidden(c, &root, NULL, "windows pods cannot be resized");
		return;
	}
	if (!ks_str_is(TEXT(IN(old, "status"), "qosClass"), ks_pod_qos(c->user, pod)))
		ks_err_invalid_text(c, &path, NULL, TEXT(IN(old, "status"), "qosClass"), "Pod QOS Class may not change as a result of resizing");
	if (!is_supported(c, old))
		ks_err_forbidden(c, &path, NULL, "Pod running on node without support for resize");
	check_whole(c, &path, spec, old_spec);
	check_containers(c, &path, spec, old_spec);
}
