/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Security contexts of pods and containers. */
#include "core/registry/validate/pod.h"

static void check_id(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *id)
{
	if (id)
		ks_check_range(c, path, name, ks_value_int_or(id, 0), 0, INT32_MAX);
}

/* -- profiles ------------------------------------------------------------------------------------------------------- */

static const char *const profile_types[] = {"Localhost", "RuntimeDefault", "Unconfined", NULL};

static void check_seccomp(struct ks_check *c, const struct ks_path *path, const struct ks_value *context)
{
	const struct ks_value *profile = IN(context, "seccompProfile"), *local = IN(profile, "localhostProfile");
	struct ks_path at = ks_path_child(path, "seccompProfile");
	struct ks_str type = TEXT(profile, "type");

	if (!profile)
		return;
	if (!type.n)
		ks_err_required(c, &at, "type", "type is required when seccompProfile is set");
	else if (!ks_str_in(type, profile_types))
		ks_err_not_supported(c, &at, "type", type, profile_types);
	if (!ks_str_is(type, "Localhost")) {
		if (local)
			ks_err_invalid(c, &at, "localhostProfile", profile, "can only be set when seccomp type is Localhost");
	} else if (!local) {
		ks_err_required(c, &at, "localhostProfile", "must be set when seccomp type is Localhost");
	} else {
		ks_check_descending_path(c, &at, "localhostProfile", ks_value_str(local));
	}
}

static bool is_space(char ch)
{
	return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

static void check_local_apparmor(struct ks_check *c, const struct ks_path *path, const struct ks_value *local)
{
	static const char missing[] = "must be set when AppArmor type is Localhost";
	struct ks_str name = ks_value_str(local);

	if (!local || !name.n)
		ks_err_required(c, path, "localhostProfile", missing);
	else if (is_space(name.p[0]) || is_space(name.p[name.n - 1]))
		ks_err_invalid_text(c, path, "localhostProfile", name, "must not be padded with whitespace");
	if (name.n > 4095)
		ks_err_too_long(c, path, "localhostProfile", 4095);
}

static void check_apparmor(struct ks_check *c, const struct ks_path *path, const struct ks_value *context)
{
	const struct ks_value *profile = IN(context, "appArmorProfile"), *local = IN(profile, "localhostProfile");
	struct ks_path at = ks_path_child(path, "appArmorProfile");
	struct ks_str type = TEXT(profile, "type");

	if (!profile)
		return;
	if (!type.n)
		ks_err_required(c, &at, "type", "type is required when appArmorProfile is set");
	else if (!ks_str_in(type, profile_types))
		ks_err_not_supported(c, &at, "type", type, profile_types);
	else if (ks_str_is(type, "Localhost"))
		check_local_apparmor(c, &at, local);
	else if (local)
		ks_err_invalid(c, &at, "localhostProfile", local, "can only be set when AppArmor type is Localhost");
}

/* -- windows ---------------------------------------------------------------------------------------------------------- */

static bool is_only(struct ks_str s, const char *set)
{
	for (size_t i = 0; i < s.n; i++)
		if (!strchr(set, s.p[i]))
			return false;
	return s.n > 0;
}

static bool has_any(struct ks_str s, const char *set)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] && strchr(set, s.p[i]))
			return true;
	return false;
}

static bool is_net_bios(struct ks_str s)
{
	return s.n >= 1 && s.n <= 15 && s.p[0] != '.' && !has_any(s, "\\/:*?\"<>|");
}

/* Labels of letters, digits and dashes, of any case, up to 63 of them. */
static bool is_windows_domain(struct ks_str s)
{
	size_t start = 0;

	for (size_t i = 0; i <= s.n; i++) {
		if (i < s.n && s.p[i] != '.') {
			char ch = (char)(s.p[i] | 32);

			if (!(ch >= 'a' && ch <= 'z') && !(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != '-')
				return false;
			continue;
		}
		if (i == start || i - start > 63 || s.p[start] == '-' || s.p[i - 1] == '-')
			return false;
		start = i + 1;
	}
	return true;
}

static void check_windows_user(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, struct ks_str domain, struct ks_str user, bool has_domain)
{
	static const char field[] = "runAsUserName";

	if (domain.n >= 256)
		ks_err_invalid(c, path, field, value, "runAsUserName's Domain length must be under 256 characters");
	if (has_domain && !is_net_bios(domain) && !is_windows_domain(domain))
		ks_err_invalid(c, path, field, value, "runAsUserName's Domain doesn't match the NetBios nor the DNS format");
	if (!user.n)
		ks_err_invalid(c, path, field, value, "runAsUserName's User cannot be empty");
	else if (user.n > 104)
		ks_err_invalid(c, path, field, value, "runAsUserName's User length must not be longer than 104 characters");
	if (is_only(user, ". "))
		ks_err_invalid(c, path, field, value, "runAsUserName's User cannot contain only periods or spaces");
	if (has_any(user, "\"/\\:;|=,+*?<>@[]"))
		ks_err_invalid(c, path, field, value, "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
}

static void check_windows_name(struct ks_check *c, const struct ks_path *path, const struct ks_value *value)
{
	struct ks_str s = ks_value_str(value);
	const char *slash = s.n ? memchr(s.p, '\\', s.n) : NULL;
	size_t n = slash ? (size_t)(slash - s.p) : 0;

	if (!s.n) {
		ks_err_invalid(c, path, "runAsUserName", value, "runAsUserName cannot be an empty string");
		return;
	}
	for (size_t i = 0; i < s.n; i++) {
		if ((unsigned char)s.p[i] >= ' ' && s.p[i] != 0x7f)
			continue;
		ks_err_invalid(c, path, "runAsUserName", value, "runAsUserName cannot contain control characters");
		return;
	}
	if (slash && memchr(slash + 1, '\\', s.n - n - 1)) {
		ks_err_invalid(c, path, "runAsUserName", value, "runAsUserName cannot contain more than one backslash");
		return;
	}
	if (slash)
		check_windows_user(c, path, value, ks_str_of(s.p, n), ks_str_of(slash + 1, s.n - n - 1), true);
	else
		check_windows_user(c, path, value, KS_STR_LIT(""), s, false);
}

static void check_windows(struct ks_check *c, const struct ks_path *path, const struct ks_value *context)
{
	const struct ks_value *options = IN(context, "windowsOptions"), *spec = IN(options, "gmsaCredentialSpec");
	struct ks_path at = ks_path_child(path, "windowsOptions");

	if (!options)
		return;
	if (IN(options, "gmsaCredentialSpecName"))
		ks_check_name(c, &at, "gmsaCredentialSpecName", KS_NAME_DNS1123_SUBDOMAIN, TEXT(options, "gmsaCredentialSpecName"));
	if (spec && !spec->n)
		ks_err_invalid(c, &at, "gmsaCredentialSpec", spec, "gmsaCredentialSpec cannot be an empty string");
	else if (spec && spec->n > 64 * 1024)
		ks_err_invalid(c, &at, "gmsaCredentialSpec", spec, "gmsaCredentialSpec size must be under 64 KiB");
	if (IN(options, "runAsUserName"))
		check_windows_name(c, &at, IN(options, "runAsUserName"));
}

struct host_process {
	const struct ks_value *pod;
	int containers, host;
};

static void visit_host_process(struct ks_check *c, const struct ks_path *path, const struct ks_value *container, void *arg)
{
	struct host_process *h = arg;
	const struct ks_value *own = IN(IN(IN(container, "securityContext"), "windowsOptions"), "hostProcess");

	h->containers++;
	if (own && h->pod && own->boolean != h->pod->boolean)
		ks_err_invalid(c, path, "securityContext.windowsOptions.hostProcess", own,
			ks_err_detail(c, "pod hostProcess value must be identical if both are specified, was %s", h->pod->boolean ? "true" : "false"));
	h->host += own ? own->boolean : ks_value_is_true(h->pod);
}

void ks_check_host_process(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	struct host_process h = {.pod = IN(IN(IN(spec, "securityContext"), "windowsOptions"), "hostProcess")};
	struct ks_value no = ks_value_from_bool(false);

	ks_pod_each_container(c, path, spec, visit_host_process, &h);
	if (!h.host)
		return;
	if (h.host != h.containers)
		ks_err_invalid_text(c, path, NULL, KS_STR_LIT(""), "If pod contains any hostProcess containers then all containers must be HostProcess containers");
	if (!IS_TRUE(spec, "hostNetwork"))
		ks_err_invalid(c, path, "hostNetwork", &no, "hostNetwork must be true if pod contains any hostProcess containers");
}

/* -- pods --------------------------------------------------------------------------------------------------------------- */

/* Segments of small letters, digits, dashes and underscores, separated by dots or slashes. */
static bool is_sysctl(struct ks_str name)
{
	size_t start = 0;

	if (!name.n || name.n > 253)
		return false;
	for (size_t i = 0; i <= name.n; i++) {
		char ch = i < name.n ? name.p[i] : '.';

		if ((ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || ch == '-' || ch == '_')
			continue;
		if ((ch != '.' && ch != '/') || i == start || strchr("-_", name.p[start]) || strchr("-_", name.p[i - 1]))
			return false;
		start = i + 1;
	}
	return true;
}

static bool is_of(struct ks_str name, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (ks_str_starts(name, ks_str_from(*prefixes)))
			return true;
	return false;
}

static void check_sysctls(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *list)
{
	static const char *const net[] = {"net.", "net/", NULL};
	static const char *const ipc[] = {"kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.", "kernel/shm", "kernel/msg", "kernel/sem", "fs/mqueue/", NULL};
	struct ks_path at = ks_path_child(path, "sysctls");
	struct ks_seen seen = {.n = 0};

	EACH(i, list) {
		struct ks_path item = ks_path_index(&at, i);
		struct ks_str name = TEXT(&list->items[i], "name");

		if (!name.n)
			ks_err_required(c, &item, "name", "");
		else if (!is_sysctl(name))
			ks_err_invalid_text(c, &item, "name", name,
				"must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$");
		else if (ks_seen_has(&seen, name))
			ks_err_duplicate_text(c, &item, "name", name);
		if (IS_TRUE(spec, "hostNetwork") && is_of(name, net))
			ks_err_invalid_text(c, &item, "name", name, "may not be specified when 'hostNetwork' is true");
		else if (IS_TRUE(spec, "hostIPC") && is_of(name, ipc))
			ks_err_invalid_text(c, &item, "name", name, "may not be specified when 'hostIPC' is true");
		ks_seen_add(c, &seen, name);
	}
}

static void check_enum(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *value, const char *const *set)
{
	if (value && !ks_str_in(ks_value_str(value), set))
		ks_err_not_supported(c, path, name, ks_value_str(value), set);
}

void ks_check_pod_security(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *spec)
{
	static const char *const change[] = {"Always", "OnRootMismatch", NULL}, *const groups_policy[] = {"Merge", "Strict", NULL};
	static const char *const selinux[] = {"Recursive", NULL};
	const struct ks_value *context = IN(spec, "securityContext"), *groups = LIST(context, "supplementalGroups"), *share = IN(spec, "shareProcessNamespace");
	struct ks_path path = ks_path_child(spec_path, "securityContext"), groups_at = ks_path_child(&path, "supplementalGroups");

	if (!context && !share)
		return;
	check_id(c, &path, "fsGroup", IN(context, "fsGroup"));
	check_id(c, &path, "runAsUser", IN(context, "runAsUser"));
	check_id(c, &path, "runAsGroup", IN(context, "runAsGroup"));
	EACH(i, groups) {
		struct ks_path item = ks_path_index(&groups_at, i);

		check_id(c, &item, NULL, &groups->items[i]);
	}
	if (ks_value_is_true(share) && IS_TRUE(spec, "hostPID"))
		ks_err_invalid(c, &path, "shareProcessNamespace", share, "ShareProcessNamespace and HostPID cannot both be enabled");
	check_sysctls(c, &path, spec, LIST(context, "sysctls"));
	check_enum(c, &path, "fsGroupChangePolicy", IN(context, "fsGroupChangePolicy"), change);
	check_seccomp(c, &path, context);
	check_windows(c, &path, context);
	check_apparmor(c, &path, context);
	check_enum(c, &path, "supplementalGroupsPolicy", IN(context, "supplementalGroupsPolicy"), groups_policy);
	check_enum(c, &path, "seLinuxChangePolicy", IN(context, "seLinuxChangePolicy"), selinux);
}

static void check_escalation(struct ks_check *c, const struct ks_path *path, const struct ks_value *context)
{
	const struct ks_value *allow = IN(context, "allowPrivilegeEscalation"), *added = LIST(IN(context, "capabilities"), "add");

	if (!allow || allow->boolean)
		return;
	if (IS_TRUE(context, "privileged"))
		ks_err_invalid(c, path, NULL, context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
	EACH(i, added)
		if (ks_str_is(ks_value_str(&added->items[i]), "CAP_SYS_ADMIN"))
			ks_err_invalid(c, path, NULL, context, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
}

void ks_check_container_security(struct ks_check *c, const struct ks_path *container_path, const struct ks_value *container)
{
	static const char *const mounts[] = {"Default", "Unmasked", NULL};
	const struct ks_value *context = IN(container, "securityContext"), *mount = IN(context, "procMount");
	struct ks_path path = ks_path_child(container_path, "securityContext");

	if (!context)
		return;
	check_id(c, &path, "runAsUser", IN(context, "runAsUser"));
	check_id(c, &path, "runAsGroup", IN(context, "runAsGroup"));
	check_enum(c, &path, "procMount", mount, mounts);
	if (mount && ks_pod_of(c)->host_users && ks_str_is(ks_value_str(mount), "Unmasked"))
		ks_err_invalid(c, &path, "procMount", mount, "`hostUsers` must be false to use `Unmasked`");
	check_seccomp(c, &path, context);
	check_escalation(c, &path, context);
	check_windows(c, &path, context);
	check_apparmor(c, &path, context);
}

/* -- operating systems ----------------------------------------------------------------------------------------------------- */

static void visit_linux(struct ks_check *c, const struct ks_path *path, const struct ks_value *container, void *arg)
{
	(void)arg;
	if (IN(IN(container, "securityContext"), "windowsOptions"))
		ks_err_forbidden(c, path, "securityContext.windowsOptions", "windows options cannot be set for a linux pod");
}

static void forbid_fields(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, const char *const *names)
{
	for (; *names; names++)
		if (ks_value_present(ks_value_get(c->schema, v, *names)))
			ks_err_forbidden(c, path, *names, "cannot be set for a windows pod");
}

static void visit_windows(struct ks_check *c, const struct ks_path *path, const struct ks_value *container, void *arg)
{
	static const char *const names[] = {"appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
		"allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup", NULL};
	struct ks_path at = ks_path_child(path, "securityContext");

	(void)arg;
	forbid_fields(c, &at, IN(container, "securityContext"), names);
}

/* Fields of the context and fields of the spec, in the order in which clients know their causes. */
static void check_windows_pod(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	static const char *const first[] = {"appArmorProfile", "seLinuxOptions", NULL}, *const host[] = {"hostUsers", "hostPID", "hostIPC", NULL};
	static const char *const second[] = {"seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls", NULL};
	static const char *const share[] = {"shareProcessNamespace", NULL};
	static const char *const third[] = {"runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy", NULL};
	const struct ks_value *context = IN(spec, "securityContext");
	struct ks_path at = ks_path_child(path, "securityContext");

	forbid_fields(c, &at, context, first);
	forbid_fields(c, path, spec, host);
	forbid_fields(c, &at, context, second);
	forbid_fields(c, path, spec, share);
	forbid_fields(c, &at, context, third);
	ks_pod_each_container(c, path, spec, visit_windows, NULL);
}

void ks_check_os(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	static const char *const systems[] = {"linux", "windows", NULL};
	const struct ks_value *os = IN(spec, "os");
	struct ks_str name = TEXT(os, "name");

	if (!os)
		return;
	if (!name.n) {
		ks_err_required(c, path, "os.name", "cannot be empty");
	} else if (!ks_str_in(name, systems)) {
		ks_err_not_supported(c, path, "os", name, systems);
	} else if (ks_str_is(name, "windows")) {
		check_windows_pod(c, path, spec);
	} else {
		if (IN(IN(spec, "securityContext"), "windowsOptions"))
			ks_err_forbidden(c, path, "securityContext.windowsOptions", "windows options cannot be set for a linux pod");
		ks_pod_each_container(c, path, spec, visit_linux, NULL);
	}
}
