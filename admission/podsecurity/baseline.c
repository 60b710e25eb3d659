/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The controls that keep pods off the host. */
#include "admission/podsecurity/look.h"

static int is_apparmor_value(struct ks_view v)
{
	return v.n == 0 || ks_view_is(v, "runtime/default") || begins_with(v, "localhost/");
}

static const char *const good_profiles[] = {"RuntimeDefault", "Localhost", NULL};

/* The type of a profile in a securityContext; 1 when it is set and bad. */
static int bad_profile(const struct look *l, struct ks_val context, const char *member, struct ks_pss_names *values)
{
	struct ks_val profile = ks_admit_member(l->call, context, member);
	struct ks_view type = ks_admit_text(l->call, profile, "type");

	if (l->values->kind(profile) <= KS_VAL_NULL || is_among(type, good_profiles))
		return 0;
	ks_pss_names_insert(l->call, values, type);
	return 1;
}

static int bad_profiles(struct look *l, const char *member, struct ks_pss_names *containers, struct ks_pss_names *values)
{
	struct ks_podspec_walk walk = walk_of(l);

	while (ks_podspec_next(&walk))
		if (bad_profile(l, context_of(l, walk.container), member, values))
			ks_pss_names_add(l->call, containers, name_of(l, walk.container));
	return bad_profile(l, l->context, member, values);
}

static size_t bad_apparmor_annotations(struct look *l, struct ks_pss_names *values)
{
	struct ks_val annotations = ks_admit_member(l->call, l->metadata, "annotations");
	struct ks_val_iter iter = {0};
	struct ks_val_item item;
	size_t n = 0;

	while (l->values->iterate(annotations, &iter, &item, 1)) {
		struct ks_view value = l->values->string(item.value);

		if (!begins_with(item.key, "container.apparmor.security.beta.kubernetes.io/") || is_apparmor_value(value))
			continue;
		ks_pss_names_insert(
			l->call, values, ks_admit_printf(l->call, "%.*s=%.*s", KS_VIEW_ARGS(item.key), KS_VIEW_ARGS(ks_admit_quote(l->call, value))));
		n++;
	}
	return n;
}

static void check_apparmor(struct look *l)
{
	struct ks_pss_names containers = {0}, values = {0};
	int pod = bad_profiles(l, "appArmorProfile", &containers, &values);
	size_t n = bad_apparmor_annotations(l, &values);
	struct ks_view setters = setters_text(l, pod, &containers);

	if (n)
		setters =
			ks_admit_printf(l->call, "%.*s%s%s", KS_VIEW_ARGS(setters), setters.n ? " and " : "", plural("annotation", "annotations", n));
	if (setters.n)
		found(l, plural("forbidden AppArmor profile", "forbidden AppArmor profiles", values.n),
			ks_admit_printf(l->call, "%.*s must not set AppArmor profile type to %.*s", KS_VIEW_ARGS(setters),
				KS_VIEW_ARGS(ks_pss_names_quoted(l->call, &values))));
}

/* Capabilities that a container adds and `good` doesn't list. */
int ks_pss_bad_capabilities(const struct look *l, struct ks_val container, const char *const *good, struct ks_pss_names *values)
{
	struct ks_val add = ks_admit_member(l->call, ks_admit_member(l->call, context_of(l, container), "capabilities"), "add");
	int bad = 0;

	for (size_t i = 0; i < l->values->length(add); i++) {
		struct ks_view name = l->values->string(l->values->item(add, i));

		if (is_among(name, good))
			continue;
		ks_pss_names_insert(l->call, values, name);
		bad = 1;
	}
	return bad;
}

struct ks_view ks_pss_capabilities_text(struct look *l, const struct ks_pss_names *containers, const struct ks_pss_names *values)
{
	return ks_admit_printf(l->call, "%.*s must not include %.*s in securityContext.capabilities.add",
		KS_VIEW_ARGS(containers_text(l, containers)), KS_VIEW_ARGS(ks_pss_names_quoted(l->call, values)));
}

static void check_capabilities(struct look *l)
{
	static const char *const good[] = {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
		"SETGID", "SETPCAP", "SETUID", "SYS_CHROOT", NULL};
	struct ks_pss_names containers = {0}, values = {0};
	struct ks_podspec_walk walk = walk_of(l);

	while (ks_podspec_next(&walk))
		if (ks_pss_bad_capabilities(l, walk.container, good, &values))
			ks_pss_names_add(l->call, &containers, name_of(l, walk.container));
	if (containers.n)
		found(l, "non-default capabilities", ks_pss_capabilities_text(l, &containers, &values));
}

static void check_host_namespaces(struct look *l)
{
	static const char *const members[] = {"hostNetwork", "hostPID", "hostIPC"};
	struct ks_pss_names set = {0};

	for (size_t i = 0; i < 3; i++)
		if (is_true(l, l->spec, members[i]))
			ks_pss_names_add(l->call, &set, ks_admit_printf(l->call, "%s=true", members[i]));
	if (set.n)
		found(l, "host namespaces", ks_pss_names_joined(l->call, &set, ", "));
}

static void check_host_path(struct look *l)
{
	struct ks_val volumes = ks_admit_member(l->call, l->spec, "volumes");
	struct ks_pss_names names = {0};

	for (size_t i = 0; i < l->values->length(volumes); i++) {
		struct ks_val volume = l->values->item(volumes, i);

		if (ks_admit_has(l->call, volume, "hostPath"))
			ks_pss_names_add(l->call, &names, name_of(l, volume));
	}
	if (names.n)
		found(l, "hostPath volumes",
			ks_admit_printf(
				l->call, "%s %.*s", plural("volume", "volumes", names.n), KS_VIEW_ARGS(ks_pss_names_quoted(l->call, &names))));
}

static int host_ports(const struct look *l, struct ks_val container, struct ks_pss_names *values)
{
	struct ks_val ports = ks_admit_member(l->call, container, "ports");
	int bad = 0;

	for (size_t i = 0; i < l->values->length(ports); i++) {
		int64_t port = l->values->integer(ks_admit_member(l->call, l->values->item(ports, i), "hostPort"));

		if (!port)
			continue;
		ks_pss_names_insert(l->call, values, ks_admit_printf(l->call, "%lld", (long long)port));
		bad = 1;
	}
	return bad;
}

static void check_host_ports(struct look *l)
{
	struct ks_pss_names containers = {0}, values = {0};
	struct ks_podspec_walk walk = walk_of(l);

	while (ks_podspec_next(&walk))
		if (host_ports(l, walk.container, &values))
			ks_pss_names_add(l->call, &containers, name_of(l, walk.container));
	if (containers.n)
		found(l, "hostPort",
			ks_admit_printf(l->call, "%.*s %s %s %.*s", KS_VIEW_ARGS(containers_text(l, &containers)),
				plural("uses", "use", containers.n), plural("hostPort", "hostPorts", values.n),
				KS_VIEW_ARGS(ks_pss_names_joined(l->call, &values, ", "))));
}

static int handler_hosts(const struct look *l, struct ks_val handler, struct ks_pss_names *values)
{
	static const char *const kinds[] = {"httpGet", "tcpSocket"};
	int bad = 0;

	for (size_t i = 0; i < 2; i++) {
		struct ks_view host = ks_admit_text(l->call, ks_admit_member(l->call, handler, kinds[i]), "host");

		if (!host.n)
			continue;
		ks_pss_names_insert(l->call, values, host);
		bad = 1;
	}
	return bad;
}

static void check_probe_hosts(struct look *l)
{
	static const char *const probes[] = {"livenessProbe", "readinessProbe", "startupProbe"}, *const hooks[] = {"postStart", "preStop"};
	struct ks_pss_names containers = {0}, values = {0};
	struct ks_podspec_walk walk = walk_of(l);

	while (ks_podspec_next(&walk)) {
		struct ks_val lifecycle = ks_admit_member(l->call, walk.container, "lifecycle");
		int bad = 0;

		for (size_t i = 0; i < 3; i++)
			bad |= handler_hosts(l, ks_admit_member(l->call, walk.container, probes[i]), &values);
		for (size_t i = 0; i < 2; i++)
			bad |= handler_hosts(l, ks_admit_member(l->call, lifecycle, hooks[i]), &values);
		if (bad)
			ks_pss_names_insert(l->call, &containers, name_of(l, walk.container));
	}
	if (containers.n)
		found(l, "probe or lifecycle host",
			ks_admit_printf(l->call, "%.*s %s %s %.*s", KS_VIEW_ARGS(containers_text(l, &containers)),
				plural("uses", "use", containers.n), plural("probe or lifecycle host", "probe or lifecycle hosts", values.n),
				KS_VIEW_ARGS(ks_pss_names_quoted(l->call, &values))));
}

static void check_privileged(struct look *l)
{
	struct ks_pss_names containers = {0};
	struct ks_podspec_walk walk = walk_of(l);

	while (ks_podspec_next(&walk))
		if (is_true(l, context_of(l, walk.container), "privileged"))
			ks_pss_names_add(l->call, &containers, name_of(l, walk.container));
	if (containers.n)
		found(l, "privileged",
			ks_admit_printf(l->call, "%.*s must not set securityContext.privileged=true", KS_VIEW_ARGS(containers_text(l, &containers))));
}

void ks_pss_check_proc_mount(struct look *l)
{
	struct ks_pss_names containers = {0}, values = {0};
	struct ks_podspec_walk walk = walk_of(l);

	while (ks_podspec_next(&walk)) {
		struct ks_view mount = ks_admit_text(l->call, context_of(l, walk.container), "procMount");

		if (!mount.n || ks_view_is(mount, "Default"))
			continue;
		ks_pss_names_add(l->call, &containers, name_of(l, walk.container));
		ks_pss_names_insert(l->call, &values, mount);
	}
	if (containers.n)
		found(l, "procMount",
			ks_admit_printf(l->call, "%.*s must not set securityContext.procMount to %.*s", KS_VIEW_ARGS(containers_text(l, &containers)),
				KS_VIEW_ARGS(ks_pss_names_quoted(l->call, &values))));
}

static void check_proc_mount_of_host_users(struct look *l)
{
	if (!has_own_users(l))
		ks_pss_check_proc_mount(l);
}

struct selinux {
	struct ks_pss_names types;
	int user, role;
};

static int bad_selinux(const struct look *l, struct ks_val context, struct selinux *s)
{
	static const char *const good[] = {"", "container_t", "container_init_t", "container_kvm_t", NULL};
	struct ks_val options = ks_admit_member(l->call, context, "seLinuxOptions");
	struct ks_view type = ks_admit_text(l->call, options, "type");
	int bad_type = !is_among(type, good) && !(l->minor >= 31 && ks_view_is(type, "container_engine_t"));
	int user = ks_admit_text(l->call, options, "user").n > 0, role = ks_admit_text(l->call, options, "role").n > 0;

	if (bad_type)
		ks_pss_names_insert(l->call, &s->types, type);
	s->user |= user;
	s->role |= role;
	return bad_type || user || role;
}

static void check_selinux(struct look *l)
{
	struct ks_pss_names containers = {0}, data = {0};
	struct ks_podspec_walk walk = walk_of(l);
	struct selinux s = {0};
	int pod = bad_selinux(l, l->context, &s);

	while (ks_podspec_next(&walk))
		if (bad_selinux(l, context_of(l, walk.container), &s))
			ks_pss_names_add(l->call, &containers, name_of(l, walk.container));
	if (!pod && !containers.n)
		return;
	if (s.types.n)
		ks_pss_names_add(l->call, &data,
			ks_admit_printf(
				l->call, "%s %.*s", plural("type", "types", s.types.n), KS_VIEW_ARGS(ks_pss_names_quoted(l->call, &s.types))));
	if (s.user)
		ks_pss_names_add(l->call, &data, ks_view_lit("user may not be set"));
	if (s.role)
		ks_pss_names_add(l->call, &data, ks_view_lit("role may not be set"));
	found(l, "seLinuxOptions",
		ks_admit_printf(l->call, "%.*s set forbidden securityContext.seLinuxOptions: %.*s", KS_VIEW_ARGS(setters_text(l, pod, &containers)),
			KS_VIEW_ARGS(ks_pss_names_joined(l->call, &data, "; "))));
}

/* Before there was a field, 1.19, profiles were annotations. */
static void seccomp_annotation(const struct look *l, struct ks_view key, struct ks_pss_names *bad)
{
	struct ks_val v = l->values->member(ks_admit_member(l->call, l->metadata, "annotations"), key);
	struct ks_view value = l->values->string(v);

	if (v.node && !ks_view_is(value, "runtime/default") && !ks_view_is(value, "docker/default") && !begins_with(value, "localhost/"))
		ks_pss_names_insert(
			l->call, bad, ks_admit_printf(l->call, "%.*s=%.*s", KS_VIEW_ARGS(key), KS_VIEW_ARGS(ks_admit_quote(l->call, value))));
}

static void check_seccomp_annotations(struct look *l)
{
	struct ks_podspec_walk walk = walk_of(l);
	struct ks_pss_names bad = {0};

	seccomp_annotation(l, ks_view_lit("seccomp.security.alpha.kubernetes.io/pod"), &bad);
	while (ks_podspec_next(&walk))
		seccomp_annotation(l,
			ks_admit_printf(l->call, "container.seccomp.security.alpha.kubernetes.io/%.*s", KS_VIEW_ARGS(name_of(l, walk.container))),
			&bad);
	if (bad.n)
		found(l, "seccompProfile",
			ks_admit_printf(l->call, "forbidden %s %.*s", plural("annotation", "annotations", bad.n),
				KS_VIEW_ARGS(ks_pss_names_joined(l->call, &bad, ", "))));
}

/* 1: something bad was set, and is told. */
int ks_pss_tell_seccomp(struct look *l)
{
	struct ks_pss_names containers = {0}, values = {0};
	int pod = bad_profiles(l, "seccompProfile", &containers, &values);
	struct ks_view setters = setters_text(l, pod, &containers);

	if (setters.n)
		found(l, "seccompProfile",
			ks_admit_printf(l->call, "%.*s must not set securityContext.seccompProfile.type to %.*s", KS_VIEW_ARGS(setters),
				KS_VIEW_ARGS(ks_pss_names_quoted(l->call, &values))));
	return setters.n > 0;
}

static void check_seccomp(struct look *l)
{
	(void)ks_pss_tell_seccomp(l);
}

/* The sysctls that change nothing outside the pod, and since when they count as such. */
static int is_safe_sysctl(struct ks_view name, int32_t minor)
{
	static const struct {
		int32_t since;
		const char *name;
	} safe[] = {
		{0, "kernel.shm_rmid_forced"},
		{0, "net.ipv4.ip_local_port_range"},
		{0, "net.ipv4.tcp_syncookies"},
		{0, "net.ipv4.ping_group_range"},
		{0, "net.ipv4.ip_unprivileged_port_start"},
		{27, "net.ipv4.ip_local_reserved_ports"},
		{29, "net.ipv4.tcp_keepalive_time"},
		{29, "net.ipv4.tcp_fin_timeout"},
		{29, "net.ipv4.tcp_keepalive_intvl"},
		{29, "net.ipv4.tcp_keepalive_probes"},
		{32, "net.ipv4.tcp_rmem"},
		{32, "net.ipv4.tcp_wmem"},
	};

	for (size_t i = 0; i < sizeof(safe) / sizeof(*safe); i++)
		if (minor >= safe[i].since && ks_view_is(name, safe[i].name))
			return 1;
	return 0;
}

static void check_sysctls(struct look *l)
{
	struct ks_val sysctls = ks_admit_member(l->call, l->context, "sysctls");
	struct ks_pss_names bad = {0};

	for (size_t i = 0; i < l->values->length(sysctls); i++) {
		struct ks_view name = name_of(l, l->values->item(sysctls, i));

		if (!is_safe_sysctl(name, l->minor))
			ks_pss_names_add(l->call, &bad, name);
	}
	if (bad.n)
		found(l, "forbidden sysctls", ks_pss_names_joined(l->call, &bad, ", "));
}

static void check_host_process(struct look *l)
{
	struct ks_podspec_walk walk = walk_of(l);
	struct ks_pss_names containers = {0};
	struct ks_view setters;

	while (ks_podspec_next(&walk))
		if (is_true(l, ks_admit_member(l->call, context_of(l, walk.container), "windowsOptions"), "hostProcess"))
			ks_pss_names_add(l->call, &containers, name_of(l, walk.container));
	setters = setters_text(l, is_true(l, ks_admit_member(l->call, l->context, "windowsOptions"), "hostProcess"), &containers);
	if (setters.n)
		found(l, "hostProcess",
			ks_admit_printf(l->call, "%.*s must not set securityContext.windowsOptions.hostProcess=true", KS_VIEW_ARGS(setters)));
}

/* -- the table -- */

const struct ks_pss_control ks_pss_baseline[] = {
	{check_apparmor, 0, 0, -1},
	{check_capabilities, 0, 0, 22},
	{check_host_namespaces, 0, 0, -1},
	{check_host_path, 0, 0, 0},
	{check_host_ports, 0, 0, -1},
	{check_probe_hosts, 34, 0, -1},
	{check_privileged, 0, 0, -1},
	{check_proc_mount_of_host_users, 0, 0, 35},
	{check_selinux, 0, 0, -1},
	{check_seccomp_annotations, 0, 19, -1},
	{check_seccomp, 19, 0, 19},
	{check_sysctls, 0, 0, -1},
	{check_host_process, 0, 0, -1},
	{NULL, 0, 0, -1},
};
