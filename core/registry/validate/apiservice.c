/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Services that serve a group and version. */
#include "core/registry/validate/common.h"
#include "core/registry/validate/kinds.h"

enum { GROUP_PRIORITY_MOST = 20000, VERSION_PRIORITY_MOST = 1000 };

static void check_remote(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *service)
{
	struct ks_path at = ks_path_child(path, "service");
	int64_t port = KS_IN_INT(c, service, "port", 443);

	if (!KS_IN_TEXT(c, service, "namespace").n)
		ks_err_required(c, &at, "namespace", "");
	if (!KS_IN_TEXT(c, service, "name").n)
		ks_err_required(c, &at, "name", "");
	if (port < 1 || port > 65535)
		ks_err_invalid_int(c, &at, "port", port, "port is not valid: must be between 1 and 65535, inclusive");
	if (KS_IN_TRUE(c, spec, "insecureSkipTLSVerify") && KS_IN_TEXT(c, spec, "caBundle").n)
		ks_err_invalid_literal(c, path, "insecureSkipTLSVerify", "true", "may not be true if caBundle is present");
}

static void check_local(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	struct ks_str bundle = KS_IN_TEXT(c, spec, "caBundle");
	struct ks_buf bytes;

	ks_buf_init(&bytes);
	if (bundle.n && ks_bytes_of(bundle, &bytes))
		ks_err_invalid_text(c, path, "caBundle", ks_str_from(ks_err_detail(c, "%zu bytes", bytes.len)), "local APIServices may not have a caBundle");
	ks_buf_fini(&bytes);
	if (KS_IN_TRUE(c, spec, "insecureSkipTLSVerify"))
		ks_err_invalid_literal(c, path, "insecureSkipTLSVerify", "true", "local APIServices may not have insecureSkipTLSVerify");
}

static void check_status(struct ks_check *c, const struct ks_value *object)
{
	static const char *const statuses[] = {"False", "True", "Unknown", NULL};
	const struct ks_value *list = KS_IN_LIST(c, KS_IN(c, object, "status"), "conditions");
	struct ks_path path = ks_path_root("status.conditions");

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&path, i);

		ks_check_one_of(c, &item, "status", KS_IN_TEXT(c, &list->items[i], "status"), statuses);
	}
}

void ks_validate_apiservice(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec"), name_path = ks_path_root("metadata.name");
	struct ks_value spec = ks_struct_in(&c, object, "spec");
	struct ks_str group = KS_IN_TEXT(&c, &spec, "group"), version = KS_IN_TEXT(&c, &spec, "version");
	struct ks_str name = KS_IN_TEXT(&c, KS_IN(&c, object, "metadata"), "name");
	const struct ks_value *service = KS_IN(&c, &spec, "service");
	int64_t of_group = KS_IN_INT(&c, &spec, "groupPriorityMinimum", 0), of_version = KS_IN_INT(&c, &spec, "versionPriority", 0);

	(void)old;
	if (ctx->subresource.n) {
		check_status(&c, object);
		return;
	}
	if (name.n != version.n + 1 + group.n || !ks_str_starts(name, version) || name.p[version.n] != '.' ||
		!ks_str_eq(ks_str_of(name.p + version.n + 1, group.n), group))
		ks_err_invalid_text(&c, &name_path, NULL, name, ks_err_detail(&c, "must be `spec.version+\".\"+spec.group`: \"%.*s.%.*s\"", (int)version.n,
			version.p ? version.p : "", (int)group.n, group.p ? group.p : ""));
	if (group.n)
		ks_check_name(&c, &path, "group", KS_NAME_DNS1123_SUBDOMAIN, group);
	else if (!ks_str_is(version, "v1"))
		ks_err_required(&c, &path, "group", "only v1 may have an empty group and it better be legacy kube");
	ks_check_name(&c, &path, "version", KS_NAME_DNS1035_LABEL, version);
	if (of_group <= 0 || of_group > GROUP_PRIORITY_MOST)
		ks_err_invalid_int(&c, &path, "groupPriorityMinimum", of_group, "must be positive and less than 20000");
	if (of_version <= 0 || of_version > VERSION_PRIORITY_MOST)
		ks_err_invalid_int(&c, &path, "versionPriority", of_version, "must be positive and less than 1000");
	if (service)
		check_remote(&c, &path, &spec, service);
	else
		check_local(&c, &path, &spec);
}
