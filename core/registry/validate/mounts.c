/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Volumes that a container mounts, and devices that it uses as they are. */
#include "core/registry/validate/pod.h"

static void check_propagation(struct ks_check *c, const struct ks_path *path, const struct ks_value *mount, const struct ks_value *container)
{
	static const char *const modes[] = {"Bidirectional", "HostToContainer", "None", NULL};
	const struct ks_value *mode = IN(mount, "mountPropagation");

	if (!mode)
		return;
	if (!ks_str_in(ks_value_str(mode), modes))
		ks_err_not_supported(c, path, "mountPropagation", ks_value_str(mode), modes);
	if (ks_str_is(ks_value_str(mode), "Bidirectional") && !IS_TRUE(IN(container, "securityContext"), "privileged"))
		ks_err_forbidden(c, path, "mountPropagation", "Bidirectional mount propagation is available only to privileged containers");
}

static void check_recursive(struct ks_check *c, const struct ks_path *path, const struct ks_value *mount)
{
	static const char *const modes[] = {"Disabled", "Enabled", "IfPossible", NULL};
	const struct ks_value *mode = IN(mount, "recursiveReadOnly"), *propagation = IN(mount, "mountPropagation");

	if (!mode || ks_str_is(ks_value_str(mode), "Disabled"))
		return;
	if (!ks_str_in(ks_value_str(mode), modes)) {
		ks_err_not_supported(c, path, "recursiveReadOnly", ks_value_str(mode), modes);
		return;
	}
	if (!IS_TRUE(mount, "readOnly"))
		ks_err_forbidden(c, path, "recursiveReadOnly", "may only be specified when readOnly is true");
	if (propagation && !ks_str_is(ks_value_str(propagation), "None"))
		ks_err_forbidden(c, path, "recursiveReadOnly", "may only be specified when mountPropagation is None or not specified");
}

/* Names and paths of what the other list has. */
struct others {
	struct ks_seen names, paths;
};

static void collect(struct ks_check *c, const struct ks_value *list, const char *path_field, struct others *others)
{
	EACH(i, list) {
		ks_seen_add(c, &others->names, TEXT(&list->items[i], "name"));
		ks_seen_add(c, &others->paths, ks_value_str(ks_value_get(c->schema, &list->items[i], path_field)));
	}
}

static void check_sub_paths(struct ks_check *c, const struct ks_path *list_path, const struct ks_path *item, const struct ks_value *mount, const struct ks_value *volume)
{
	struct ks_str sub = TEXT(mount, "subPath"), expression = TEXT(mount, "subPathExpr");

	if (volume && IN(volume, "image")) {
		if (sub.n)
			ks_err_invalid_text(c, item, "subPath", sub, "not allowed in image volume sources");
		if (expression.n)
			ks_err_invalid_text(c, item, "subPathExpr", expression, "not allowed in image volume sources");
	}
	if (sub.n)
		ks_check_descending_path(c, list_path, "subPath", sub);
	if (!expression.n)
		return;
	if (sub.n)
		ks_err_invalid_text(c, item, "subPathExpr", expression, "subPathExpr and subPath are mutually exclusive");
	ks_check_descending_path(c, list_path, "subPathExpr", expression);
}

static void check_mount(struct ks_check *c, const struct ks_path *list_path, const struct ks_path *item, const struct ks_value *mount,
	const struct ks_value *container, struct ks_seen *paths, const struct others *devices)
{
	struct ks_str name = TEXT(mount, "name"), at = TEXT(mount, "mountPath");
	const struct ks_value *volume = ks_pod_volume(c, name);

	if (!name.n)
		ks_err_required(c, item, "name", "");
	if (!volume)
		ks_err_not_found(c, item, "name", name, NULL);
	if (!at.n)
		ks_err_required(c, item, "mountPath", "");
	if (!ks_seen_add(c, paths, at))
		ks_err_invalid_text(c, item, "mountPath", at, "must be unique");
	if (ks_seen_has(&devices->names, name))
		ks_err_invalid_text(c, item, "name", name, "must not already exist in volumeDevices");
	if (ks_seen_has(&devices->paths, at))
		ks_err_invalid_text(c, item, "mountPath", at, "must not already exist as a path in volumeDevices");
	check_sub_paths(c, list_path, item, mount, volume);
	check_propagation(c, list_path, mount, container);
	check_recursive(c, list_path, mount);
}

static bool has_backsteps(struct ks_str path)
{
	for (size_t i = 0; i + 2 <= path.n; i++)
		if (path.p[i] == '.' && path.p[i + 1] == '.' && (!i || path.p[i - 1] == '/') && (i + 2 == path.n || path.p[i + 2] == '/'))
			return true;
	return false;
}

static void check_device_name(struct ks_check *c, const struct ks_path *item, struct ks_str name, const struct ks_seen *names)
{
	const struct ks_value *volume = ks_pod_volume(c, name);

	if (!name.n)
		ks_err_required(c, item, "name", "");
	if (ks_seen_has(names, name))
		ks_err_invalid_text(c, item, "name", name, "must be unique");
	if (volume && !IN(volume, "persistentVolumeClaim") && !IN(volume, "ephemeral"))
		ks_err_invalid_text(c, item, "name", name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode");
	if (!volume)
		ks_err_not_found(c, item, "name", name, NULL);
}

static void check_device(struct ks_check *c, const struct ks_path *item, const struct ks_value *device, const struct others *mounts, struct ks_seen *names,
	struct ks_seen *paths)
{
	struct ks_str name = TEXT(device, "name"), at = TEXT(device, "devicePath");

	check_device_name(c, item, name, names);
	if (!at.n)
		ks_err_required(c, item, "devicePath", "");
	if (ks_seen_has(paths, at))
		ks_err_invalid_text(c, item, "devicePath", at, "must be unique");
	if (has_backsteps(at))
		ks_err_invalid_text(c, item, "devicePath", at, "can not contain backsteps ('..')");
	else
		ks_seen_add(c, paths, at);
	if (ks_seen_has(&mounts->names, name))
		ks_err_invalid_text(c, item, "name", name, "must not already exist in volumeMounts");
	if (ks_seen_has(&mounts->paths, at))
		ks_err_invalid_text(c, item, "devicePath", at, "must not already exist as a path in volumeMounts");
	if (name.n)
		ks_seen_add(c, names, name);
}

void ks_check_mounts(struct ks_check *c, const struct ks_path *path, const struct ks_value *container)
{
	const struct ks_value *mounts = LIST(container, "volumeMounts"), *devices = LIST(container, "volumeDevices");
	struct ks_path mounts_at = ks_path_child(path, "volumeMounts"), devices_at = ks_path_child(path, "volumeDevices");
	struct ks_seen mount_paths = {.n = 0}, names = {.n = 0}, paths = {.n = 0};
	struct others all_mounts = {.names.n = 0}, all_devices = {.names.n = 0};

	if (ks_value_count(devices)) {
		collect(c, devices, "devicePath", &all_devices);
		collect(c, mounts, "mountPath", &all_mounts);
	}
	EACH(i, mounts) {
		struct ks_path item = ks_path_index(&mounts_at, i);

		check_mount(c, &mounts_at, &item, &mounts->items[i], container, &mount_paths, &all_devices);
	}
	EACH(i, devices) {
		struct ks_path item = ks_path_index(&devices_at, i);

		check_device(c, &item, &devices->items[i], &all_mounts, &names, &paths);
	}
}
