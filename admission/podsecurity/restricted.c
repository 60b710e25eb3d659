/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The controls that ask for what is good practice. */
#include "admission/podsecurity/look.h"

/* Since 1.25 what Windows does not have is not asked of its pods. */
static int is_windows(const struct look *l)
{
	return l->minor >= 25 && ks_view_is(name_of(l, ks_admit_member(l->call, l->spec, "os")), "windows");
}

static void check_escalation(struct look *l)
{
	struct ks_podspec_walk walk = walk_of(l);
	struct ks_pss_names containers = {0};

	if (is_windows(l))
		return;
	while (ks_podspec_next(&walk))
		if (!is_false(l, context_of(l, walk.container), "allowPrivilegeEscalation"))
			ks_pss_names_add(l->call, &containers, name_of(l, walk.container));
	if (containers.n)
		found(l, "allowPrivilegeEscalation != false",
			ks_admit_printf(l->call, "%.*s must set securityContext.allowPrivilegeEscalation=false",
				KS_VIEW_ARGS(containers_text(l, &containers))));
}

static int drops_all(const struct look *l, struct ks_val container)
{
	struct ks_val drop = ks_admit_member(l->call, ks_admit_member(l->call, context_of(l, container), "capabilities"), "drop");

	for (size_t i = 0; i < l->values->length(drop); i++)
		if (ks_view_is(l->values->string(l->values->item(drop, i)), "ALL"))
			return 1;
	return 0;
}

static void check_dropped_capabilities(struct look *l)
{
	static const char *const good[] = {"NET_BIND_SERVICE", NULL};
	struct ks_pss_names missing = {0}, adding = {0}, values = {0}, details = {0};
	struct ks_podspec_walk walk = walk_of(l);

	if (is_windows(l))
		return;
	while (ks_podspec_next(&walk)) {
		if (!drops_all(l, walk.container))
			ks_pss_names_add(l->call, &missing, name_of(l, walk.container));
		if (ks_pss_bad_capabilities(l, walk.container, good, &values))
			ks_pss_names_add(l->call, &adding, name_of(l, walk.container));
	}
	if (missing.n)
		ks_pss_names_add(l->call, &details,
			ks_admit_printf(
				l->call, "%.*s must set securityContext.capabilities.drop=[\"ALL\"]", KS_VIEW_ARGS(containers_text(l, &missing))));
	if (adding.n)
		ks_pss_names_add(l->call, &details, ks_pss_capabilities_text(l, &adding, &values));
	if (details.n)
		found(l, "unrestricted capabilities", ks_pss_names_joined(l->call, &details, "; "));
}

static const char *bad_volume_type(const struct look *l, struct ks_val volume)
{
	static const char *const good[] = {
		"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret"};
	static const char *const bad[] = {"hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd",
		"flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk", "portworxVolume",
		"photonPersistentDisk", "scaleIO", "storageos"};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (ks_admit_has(l->call, volume, good[i]))
			return NULL;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (ks_admit_has(l->call, volume, bad[i]))
			return bad[i];
	return "unknown";
}

static void check_volumes(struct look *l)
{
	struct ks_val volumes = ks_admit_member(l->call, l->spec, "volumes");
	struct ks_pss_names names = {0}, types = {0};

	for (size_t i = 0; i < l->values->length(volumes); i++) {
		struct ks_val volume = l->values->item(volumes, i);
		const char *type = bad_volume_type(l, volume);

		if (!type)
			continue;
		ks_pss_names_add(l->call, &names, name_of(l, volume));
		ks_pss_names_insert(l->call, &types, ks_view_lit(type));
	}
	if (names.n)
		found(l, "restricted volume types",
			ks_admit_printf(l->call, "%s %.*s %s %s %.*s", plural("volume", "volumes", names.n),
				KS_VIEW_ARGS(ks_pss_names_quoted(l->call, &names)), plural("uses", "use", names.n),
				plural("restricted volume type", "restricted volume types", types.n),
				KS_VIEW_ARGS(ks_pss_names_quoted(l->call, &types))));
}

static void check_non_root(struct look *l)
{
	struct ks_pss_names bad = {0}, unset = {0};
	struct ks_podspec_walk walk = walk_of(l);
	struct ks_view setters;

	if (has_own_users(l))
		return;
	while (ks_podspec_next(&walk)) {
		struct ks_val context = context_of(l, walk.container);

		if (is_false(l, context, "runAsNonRoot"))
			ks_pss_names_add(l->call, &bad, name_of(l, walk.container));
		else if (!is_true(l, context, "runAsNonRoot") && !is_true(l, l->context, "runAsNonRoot"))
			ks_pss_names_add(l->call, &unset, name_of(l, walk.container));
	}
	setters = setters_text(l, is_false(l, l->context, "runAsNonRoot"), &bad);
	if (setters.n)
		found(l, "runAsNonRoot != true",
			ks_admit_printf(l->call, "%.*s must not set securityContext.runAsNonRoot=false", KS_VIEW_ARGS(setters)));
	else if (unset.n)
		found(l, "runAsNonRoot != true",
			ks_admit_printf(l->call, "pod or %.*s must set securityContext.runAsNonRoot=true", KS_VIEW_ARGS(containers_text(l, &unset))));
}

static int runs_as_root(const struct look *l, struct ks_val context)
{
	struct ks_val user = ks_admit_member(l->call, context, "runAsUser");

	return l->values->kind(user) == KS_VAL_INT && l->values->integer(user) == 0;
}

static void check_user(struct look *l)
{
	struct ks_podspec_walk walk = walk_of(l);
	struct ks_pss_names bad = {0};
	struct ks_view setters;

	if (has_own_users(l))
		return;
	while (ks_podspec_next(&walk))
		if (runs_as_root(l, context_of(l, walk.container)))
			ks_pss_names_add(l->call, &bad, name_of(l, walk.container));
	setters = setters_text(l, runs_as_root(l, l->context), &bad);
	if (setters.n)
		found(l, "runAsUser=0", ks_admit_printf(l->call, "%.*s must not set runAsUser=0", KS_VIEW_ARGS(setters)));
}

static void check_seccomp_set(struct look *l)
{
	struct ks_podspec_walk walk = walk_of(l);
	struct ks_pss_names unset = {0};

	if (is_windows(l) || ks_pss_tell_seccomp(l) || ks_admit_has(l->call, l->context, "seccompProfile"))
		return;
	while (ks_podspec_next(&walk))
		if (!ks_admit_has(l->call, context_of(l, walk.container), "seccompProfile"))
			ks_pss_names_add(l->call, &unset, name_of(l, walk.container));
	if (unset.n)
		found(l, "seccompProfile",
			ks_admit_printf(l->call, "pod or %.*s must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
				KS_VIEW_ARGS(containers_text(l, &unset))));
}

/* -- the table -- */

const struct ks_pss_control ks_pss_restricted[] = {
	{check_escalation, 8, 0, -1},
	{check_dropped_capabilities, 22, 0, -1},
	{ks_pss_check_proc_mount, 35, 0, -1},
	{check_volumes, 0, 0, -1},
	{check_non_root, 0, 0, -1},
	{check_user, 23, 0, -1},
	{check_seccomp_set, 19, 0, -1},
	{NULL, 0, 0, -1},
};
