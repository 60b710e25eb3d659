/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Variables of a container's environment, and references to fields. */
#include "core/api/quantity.h"
#include "core/registry/validate/pod.h"

static const char *const env_fields[] = {"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
	"status.hostIPs", "status.podIP", "status.podIPs", NULL};
static const char *const convertible[] = {"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
	"spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName", "status.phase", "status.hostIP", "status.hostIPs", "status.podIP",
	"status.podIPs", "spec.host", "status.nominatedNodeName", NULL};

/* "path['subscript']"; false when there is no subscript. */
static bool split_subscript(struct ks_str text, struct ks_str *path_r, struct ks_str *subscript_r)
{
	const char *open = text.n > 4 ? memmem(text.p, text.n, "['", 2) : NULL;

	if (!open || text.n < 4 || memcmp(text.p + text.n - 2, "']", 2) || open == text.p)
		return false;
	*path_r = ks_str_of(text.p, (size_t)(open - text.p));
	*subscript_r = ks_str_of(open + 2, text.n - path_r->n - 4);
	return true;
}

static void check_subscript(struct ks_check *c, const struct ks_path *path, struct ks_str base, struct ks_str subscript)
{
	char lowered[512];

	if (ks_str_is(base, "metadata.labels")) {
		ks_check_name(c, path, NULL, KS_NAME_LABEL_KEY, subscript);
	} else if (ks_str_is(base, "metadata.annotations")) {
		size_t n = subscript.n < sizeof(lowered) ? subscript.n : sizeof(lowered);

		for (size_t i = 0; i < n; i++)
			lowered[i] = subscript.p[i] >= 'A' && subscript.p[i] <= 'Z' ? (char)(subscript.p[i] + 32) : subscript.p[i];
		ks_check_name(c, path, NULL, KS_NAME_LABEL_KEY, ks_str_of(lowered, n));
	} else {
		ks_err_invalid_text(c, path, NULL, base, "does not support subscript");
	}
}

void ks_check_field_ref(struct ks_check *c, const struct ks_path *path, const struct ks_value *ref, const char *const *allowed)
{
	struct ks_str version = TEXT(ref, "apiVersion"), field = TEXT(ref, "fieldPath"), base = field, subscript = {0};
	bool has_subscript;

	if (!version.n) {
		ks_err_required(c, path, "apiVersion", "");
		return;
	}
	if (!field.n) {
		ks_err_required(c, path, "fieldPath", "");
		return;
	}
	has_subscript = split_subscript(field, &base, &subscript);
	if (!ks_str_is(version, "v1")) {
		ks_err_invalid_text(c, path, "fieldPath", field,
			ks_err_detail(c, "error converting fieldPath: unsupported pod version: %.*s", (int)version.n, version.p));
		return;
	}
	if (has_subscript && (ks_str_is(base, "metadata.annotations") || ks_str_is(base, "metadata.labels"))) {
		check_subscript(c, path, base, subscript);
		return;
	}
	if (has_subscript && ks_str_in(base, convertible)) {
		check_subscript(c, path, base, subscript);
		return;
	}
	if (has_subscript || !ks_str_in(field, convertible)) {
		ks_err_invalid_text(c, path, "fieldPath", field,
			ks_err_detail(c, "error converting fieldPath: field label not supported: %.*s", (int)field.n, field.p));
		return;
	}
	if (ks_str_is(field, "spec.host"))
		field = KS_STR_LIT("spec.nodeName");
	if (!ks_str_in(field, allowed))
		ks_err_not_supported(c, path, "fieldPath", field, allowed);
}

static const char *const resource_fields[] = {
	"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory", NULL};
static const char *const units[] = {"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei", NULL};
static const char *const cpu_units[] = {"1m", "1", NULL};

static bool is_huge_pages(struct ks_str resource)
{
	return ks_str_starts(resource, KS_STR_LIT("requests.hugepages-")) || ks_str_starts(resource, KS_STR_LIT("limits.hugepages-"));
}

static void check_divisor(struct ks_check *c, const struct ks_path *path, struct ks_str resource, struct ks_str divisor)
{
	static const char *const cpu[] = {"limits.cpu", "requests.cpu", NULL}, *const memory[] = {"limits.memory", "requests.memory", NULL};
	static const char *const storage[] = {"limits.ephemeral-storage", "requests.ephemeral-storage", NULL};
	const char *what = NULL;
	struct ks_quantity q;
	const char *message;

	if (!divisor.n || ks_quantity_parse(divisor, &q, &message) || !ks_quantity_sign(&q))
		return;
	if (ks_str_in(resource, cpu)) {
		if (!ks_str_in(divisor, cpu_units))
			ks_err_invalid_text(c, path, "divisor", resource, "only divisor's values 1m and 1 are supported with the cpu resource");
		return;
	}
	what = ks_str_in(resource, memory) ? "memory" : ks_str_in(resource, storage) ? "local ephemeral storage" : is_huge_pages(resource) ? "hugepages" : NULL;
	if (what && !ks_str_in(divisor, units))
		ks_err_invalid_text(c, path, "divisor", resource,
			ks_err_detail(c, "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the %s resource", what));
}

void ks_check_resource_ref(struct ks_check *c, const struct ks_path *path, const struct ks_value *ref, bool in_volume)
{
	struct ks_str resource = TEXT(ref, "resource");

	if (in_volume && !TEXT(ref, "containerName").n)
		ks_err_required(c, path, "containerName", "");
	else if (!resource.n)
		ks_err_required(c, path, "resource", "");
	else if (!ks_str_in(resource, resource_fields) && !is_huge_pages(resource))
		ks_err_not_supported(c, path, "resource", resource, resource_fields);
	check_divisor(c, path, resource, TEXT(ref, "divisor"));
}

static void check_key_ref(struct ks_check *c, const struct ks_path *path, const struct ks_value *ref)
{
	struct ks_str key = TEXT(ref, "key");

	ks_check_name(c, path, "name", KS_NAME_DNS1123_SUBDOMAIN, TEXT(ref, "name"));
	if (!key.n)
		ks_err_required(c, path, "key", "");
	else
		ks_check_name(c, path, "key", KS_NAME_CONFIG_KEY, key);
}

static void check_file_ref(struct ks_check *c, const struct ks_path *path, const struct ks_value *ref)
{
	struct ks_str volume = TEXT(ref, "volumeName"), file = TEXT(ref, "path"), key = TEXT(ref, "key");
	const struct ks_value *found = ks_pod_volume(c, volume);

	if (!key.n)
		ks_err_required(c, path, "key", "");
	else
		ks_check_name(c, path, "key", KS_NAME_ENVIRONMENT, key);
	if (!volume.n)
		ks_err_required(c, path, "volumeName", "");
	else
		ks_check_name(c, path, "volumeName", KS_NAME_DNS1123_LABEL, volume);
	if (!file.n)
		ks_err_required(c, path, "path", "");
	else
		ks_check_local_path(c, path, "path", file);
	if (!found)
		ks_err_not_found(c, path, "volumeName", volume, NULL);
}

static void check_value_from(struct ks_check *c, const struct ks_path *path, const struct ks_value *var)
{
	static _Atomic uint32_t places[5];
	static const char *const names[] = {"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"};
	const struct ks_value *from = IN(var, "valueFrom");
	struct ks_path own = ks_path_child(path, "valueFrom");
	int n = 0;

	for (size_t i = 0; from && i < sizeof(names) / sizeof(names[0]); i++) {
		const struct ks_value *ref = ks_field_at(c, from, names[i], &places[i]);
		struct ks_path at = ks_path_child(&own, names[i]);

		if (!ks_value_present(ref))
			continue;
		n++;
		if (i == 0)
			ks_check_field_ref(c, &at, ref, env_fields);
		else if (i == 1)
			ks_check_resource_ref(c, &at, ref, false);
		else if (i == 4)
			check_file_ref(c, &at, ref);
		else
			check_key_ref(c, &at, ref);
	}
	if (!from)
		return;
	if (n == 0)
		ks_err_invalid_text(c, &own, NULL, KS_STR_LIT(""), "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`");
	else if (TEXT(var, "value").n)
		ks_err_invalid_text(c, &own, NULL, KS_STR_LIT(""), "may not be specified when `value` is not empty");
	else if (n > 1)
		ks_err_invalid_text(c, &own, NULL, KS_STR_LIT(""), "may not have more than one field specified at a time");
}

static void check_env_source(struct ks_check *c, const struct ks_path *path, const char *field, const struct ks_value *source)
{
	struct ks_path at = ks_path_child(path, field);
	struct ks_str name = TEXT(source, "name");
	struct ks_name_errors errors;

	if (!name.n) {
		ks_err_required(c, &at, "name", "");
		return;
	}
	/* Judged as a prefix: a dash may end it. */
	if (ks_name_check_prefix(KS_NAME_DNS1123_SUBDOMAIN, name, &errors))
		return;
	for (unsigned i = 0; i < errors.n; i++)
		ks_err_invalid_text(c, &at, "name", name, errors.text[i]);
}

static void check_env_from(struct ks_check *c, const struct ks_path *list_path, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *map = IN(v, "configMapRef"), *secret = IN(v, "secretRef");

	if (TEXT(v, "prefix").n)
		ks_check_name(c, path, "prefix", KS_NAME_ENVIRONMENT, TEXT(v, "prefix"));
	if (map)
		check_env_source(c, path, "configMapRef", map);
	if (secret)
		check_env_source(c, path, "secretRef", secret);
	if (!map && !secret)
		ks_err_invalid_text(c, list_path, NULL, KS_STR_LIT(""), "must specify one of: `configMapRef` or `secretRef`");
	else if (map && secret)
		ks_err_invalid_text(c, list_path, NULL, KS_STR_LIT(""), "may not have more than one field specified at a time");
}

void ks_check_env(struct ks_check *c, const struct ks_path *path, const struct ks_value *container)
{
	const struct ks_value *vars = LIST(container, "env"), *from = LIST(container, "envFrom");
	struct ks_path at = ks_path_child(path, "env"), from_at = ks_path_child(path, "envFrom");

	EACH(i, vars) {
		struct ks_path item = ks_path_index(&at, i);
		struct ks_str name = TEXT(&vars->items[i], "name");

		if (!name.n)
			ks_err_required(c, &item, "name", "");
		else
			ks_check_name(c, &item, "name", KS_NAME_ENVIRONMENT, name);
		check_value_from(c, &item, &vars->items[i]);
	}
	EACH(i, from) {
		struct ks_path item = ks_path_index(&from_at, i);

		check_env_from(c, &from_at, &item, &from->items[i]);
	}
}
