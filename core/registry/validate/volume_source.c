/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Sources of persistent volumes: rows of rules, and functions for what rows can't say. */
#include "core/registry/validate/volume.h"

static void check_no_backsteps(struct ks_check *c, const struct ks_path *path, struct ks_str text)
{
	for (size_t i = 0; i < text.n;) {
		size_t end = i;

		while (end < text.n && text.p[end] != '/')
			end++;
		if (end - i == 2 && text.p[i] == '.' && text.p[i + 1] == '.') {
			ks_err_invalid_text(c, path, NULL, text, "must not contain '..'");
			return;
		}
		i = end + 1;
	}
}

static void local_path(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old,
	const struct ks_value *owner)
{
	(void)old, (void)owner;
	if (!ks_value_str(value).n)
		ks_err_required(c, path, NULL, "");
	else
		check_no_backsteps(c, path, ks_value_str(value));
}

static void absolute_path(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old,
	const struct ks_value *owner)
{
	struct ks_str text = ks_value_str(value);

	(void)old, (void)owner;
	if (!text.n || text.p[0] != '/')
		ks_err_invalid_text(c, path, NULL, text, "must be an absolute path");
}

/* A reference to a secret in any namespace, when there is one. */
static void secret_reference(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old,
	const struct ks_value *owner)
{
	(void)old, (void)owner;
	if (!value)
		return;
	if (!KS_IN_TEXT(c, value, "name").n)
		ks_err_required(c, path, "name", "");
	if (!KS_IN_TEXT(c, value, "namespace").n)
		ks_err_required(c, path, "namespace", "");
}

static void checked_secret_reference(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old,
	const struct ks_value *owner)
{
	(void)old, (void)owner;
	if (!value)
		return;
	ks_check_required_name(c, path, "name", KS_NAME_DNS1123_SUBDOMAIN, KS_IN_TEXT(c, value, "name"));
	ks_check_required_name(c, path, "namespace", KS_NAME_DNS1123_LABEL, KS_IN_TEXT(c, value, "namespace"));
}

static void endpoints_namespace(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old,
	const struct ks_value *owner)
{
	(void)old, (void)owner;
	if (!value)
		return;
	if (!ks_value_str(value).n)
		ks_err_invalid_text(c, path, NULL, ks_value_str(value), "if the endpointnamespace is set, it must be a valid namespace name");
	else
		ks_check_name(c, path, NULL, KS_NAME_DNS1123_LABEL, ks_value_str(value));
}

static void not_empty(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old,
	const struct ks_value *owner)
{
	(void)old, (void)owner;
	if (value && !ks_value_str(value).n)
		ks_err_required(c, path, NULL, "");
}

static void csi_driver(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old,
	const struct ks_value *owner)
{
	(void)old, (void)owner;
	ks_check_csi_driver_name(c, path, NULL, ks_value_str(value));
}

static void flocker(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old,
	const struct ks_value *owner)
{
	struct ks_str name = KS_IN_TEXT(c, value, "datasetName"), uuid = KS_IN_TEXT(c, value, "datasetUUID");

	(void)old, (void)owner;
	if (!name.n && !uuid.n)
		ks_err_required(c, path, NULL, "one of datasetName and datasetUUID is required");
	if (name.n && uuid.n)
		ks_err_invalid_text(c, path, NULL, KS_STR_LIT("resource"), "datasetName and datasetUUID can not be specified simultaneously");
	if (ks_str_has(name, "/"))
		ks_err_invalid_text(c, path, "datasetName", name, "must not contain '/'");
}

static void quobyte(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old,
	const struct ks_value *owner)
{
	static const char ports[] = "must be a host:port pair or multiple pairs separated by commas";
	struct ks_str registry = KS_IN_TEXT(c, value, "registry");

	(void)old, (void)owner;
	if (!registry.n)
		ks_err_required(c, path, "registry", ports);
	else if (KS_IN_TEXT(c, value, "tenant").n >= 65)
		ks_err_required(c, path, "tenant", "must be a UUID and may not exceed a length of 64 characters");
	for (size_t i = 0; registry.n && i <= registry.n;) {
		size_t end = i;

		while (end < registry.n && registry.p[end] != ',')
			end++;
		if (!memchr(registry.p + i, ':', end - i))
			ks_err_invalid_text(c, path, "registry", registry, ports);
		i = end + 1;
	}
	if (!KS_IN_TEXT(c, value, "volume").n)
		ks_err_required(c, path, "volume", "");
}

static bool all_alphanumeric(struct ks_str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (!((text.p[i] >= '0' && text.p[i] <= '9') || (text.p[i] >= 'a' && text.p[i] <= 'z') || (text.p[i] >= 'A' && text.p[i] <= 'Z')))
			return false;
	return true;
}

static bool digits(struct ks_str text, size_t from, size_t n)
{
	for (size_t i = from; i < from + n; i++)
		if (i >= text.n || text.p[i] < '0' || text.p[i] > '9')
			return false;
	return true;
}

/* iqn.2026-01.com.example:disk */
static bool is_iqn(struct ks_str text)
{
	size_t i = 12;

	if (text.n < 14 || !digits(text, 4, 4) || text.p[8] != '-' || !digits(text, 9, 2) || text.p[11] != '.')
		return false;
	while (i < text.n && (all_alphanumeric(ks_str_of(text.p + i, 1)) || text.p[i] == '-' || text.p[i] == '.'))
		i++;
	if (i == 12 || i >= text.n || text.p[i] != ':' || i + 1 == text.n)
		return false;
	for (i++; i < text.n; i++)
		if (strchr("^,;*&$| \t\n\f\r", text.p[i]))
			return false;
	return true;
}

static void check_initiator(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str text, const char *otherwise)
{
	bool good;

	if (ks_str_starts_with(text, "iqn"))
		good = is_iqn(text);
	else if (ks_str_starts_with(text, "eui"))
		good = text.n == 20 && all_alphanumeric(ks_str_of(text.p + 4, 16));
	else if (ks_str_starts_with(text, "naa"))
		good = text.n == 36 && all_alphanumeric(ks_str_of(text.p + 4, 32));
	else {
		ks_err_invalid_text(c, path, name, text, otherwise);
		return;
	}
	if (!good)
		ks_err_invalid_text(c, path, name, text, "must be valid format");
}

static void iscsi(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old,
	const struct ks_value *owner)
{
	struct ks_str portal = KS_IN_TEXT(c, value, "targetPortal"), iqn = KS_IN_TEXT(c, value, "iqn"), *volume = c->user;
	const struct ks_value *secret = KS_IN(c, value, "secretRef"), *initiator = KS_IN(c, value, "initiatorName");
	int64_t lun = KS_IN_INT(c, value, "lun", 0);

	(void)old, (void)owner;
	if (!portal.n)
		ks_err_required(c, path, "targetPortal", "");
	if (!iqn.n)
		ks_err_required(c, path, "iqn", "");
	else
		check_initiator(c, path, "iqn", iqn, "must be valid format starting with iqn, eui, or naa");
	ks_check_range(c, path, "lun", lun, 0, 255);
	if ((KS_IN_TRUE(c, value, "chapAuthDiscovery") || KS_IN_TRUE(c, value, "chapAuthSession")) && !secret)
		ks_err_required(c, path, "secretRef", "");
	if (secret && !KS_IN_TEXT(c, secret, "name").n)
		ks_err_required(c, path, "secretRef.name", "");
	if (!initiator)
		return;
	check_initiator(c, path, "initiatorname", ks_value_str(initiator), "must be valid format");
	if (volume && volume->n + 1 + portal.n > 64)
		ks_err_invalid_text(c, path, "targetportal", portal,
			"Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.");
}

static void fibre_channel(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old,
	const struct ks_value *owner)
{
	uint32_t names = ks_value_count(KS_IN(c, value, "targetWWNs")), wwids = ks_value_count(KS_IN(c, value, "wwids"));
	const struct ks_value *lun = KS_IN(c, value, "lun");

	(void)old, (void)owner;
	if (!names && !wwids)
		ks_err_required(c, path, "targetWWNs", "must specify either targetWWNs or wwids, but not both");
	if (names && wwids)
		ks_err_invalid_slot(c, path, "targetWWNs", value, "targetWWNs", "targetWWNs and wwids can not be specified simultaneously");
	if (!names)
		return;
	if (!lun)
		ks_err_required(c, path, "lun", "lun is required if targetWWNs is specified");
	else
		ks_check_range(c, path, "lun", ks_value_int_or(lun, 0), 0, 255);
}

/* kubernetes.io and k8s.io, and what is below them. */
static bool is_reserved(struct ks_str key)
{
	const char *slash = key.n ? memchr(key.p, '/', key.n) : NULL;
	char lowered[256];
	size_t n = slash ? (size_t)(slash - key.p) : key.n;

	if (n + 1 > sizeof(lowered))
		return false;
	lowered[0] = '.';
	for (size_t i = 0; i < n; i++)
		lowered[i + 1] = key.p[i] >= 'A' && key.p[i] <= 'Z' ? (char)(key.p[i] + 'a' - 'A') : key.p[i];
	return ks_str_ends_with(ks_str_of(lowered, n + 1), ".kubernetes.io") || ks_str_ends_with(ks_str_of(lowered, n + 1), ".k8s.io");
}

static void flex_options(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old,
	const struct ks_value *owner)
{
	(void)old, (void)owner;
	for (uint32_t i = 0; i < ks_value_count(value); i++) {
		struct ks_path item = ks_path_key(path, value->members[i].key);

		if (is_reserved(value->members[i].key))
			ks_err_invalid_text(c, &item, NULL, value->members[i].key, "kubernetes.io and k8s.io namespaces are reserved");
	}
}

/* A pointer to a text: "" is not one of those that may be said. */
static void caching_mode(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old,
	const struct ks_value *owner)
{
	static const char *const modes[] = {"None", "ReadOnly", "ReadWrite", NULL};

	(void)old, (void)owner;
	if (value)
		ks_check_one_of(c, path, NULL, ks_value_str(value), modes);
}

static void disk_kind(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old,
	const struct ks_value *owner)
{
	static const char *const kinds[] = {"Dedicated", "Managed", "Shared", NULL};

	(void)old, (void)owner;
	if (value)
		ks_check_one_of(c, path, NULL, ks_value_str(value), kinds);
}

static void azure_disk_uri(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old,
	const struct ks_value *owner)
{
	static const char *const managed[] = {
		"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}", NULL};
	static const char *const blob[] = {"https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd", NULL};
	struct ks_str uri = ks_value_str(value);
	const struct ks_value *kind = KS_IN(c, owner, "kind");

	(void)old;
	if (kind && ks_str_is(ks_value_str(kind), "Managed") && !ks_str_starts_with(uri, "/subscriptions"))
		ks_err_not_supported(c, path, NULL, uri, managed);
	if (kind && !ks_str_is(ks_value_str(kind), "Managed") && !ks_str_starts_with(uri, "https://"))
		ks_err_not_supported(c, path, NULL, uri, blob);
}

/* -- rows --------------------------------------------------------------------------------------------------------- */

static const char *const host_path_types[] = {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket", NULL};

KS_RULES(host_path_rules, {"path", KS_RULE_HOOK, .hook = local_path}, {"type", KS_RULE_ENUM, .set = host_path_types});
KS_RULES(gce_rules, {"pdName", KS_RULE_PRESENT, .required = true}, {"partition", KS_RULE_RANGE, .min = 0, .max = 255});
KS_RULES(aws_rules, {"volumeID", KS_RULE_PRESENT, .required = true}, {"partition", KS_RULE_RANGE, .min = 0, .max = 255});
KS_RULES(glusterfs_rules, {"endpoints", KS_RULE_PRESENT, .required = true}, {"path", KS_RULE_PRESENT, .required = true},
	{"endpointsNamespace", KS_RULE_HOOK, .hook = endpoints_namespace});
KS_RULES(flocker_rules, {"", KS_RULE_HOOK, .hook = flocker});
KS_RULES(nfs_rules, {"server", KS_RULE_PRESENT, .required = true}, {"path", KS_RULE_PRESENT, .required = true},
	{"path", KS_RULE_HOOK, .hook = absolute_path});
KS_RULES(rbd_rules, {"monitors", KS_RULE_PRESENT, .required = true}, {"image", KS_RULE_PRESENT, .required = true});
KS_RULES(quobyte_rules, {"", KS_RULE_HOOK, .hook = quobyte});
KS_RULES(cephfs_rules, {"monitors", KS_RULE_PRESENT, .required = true});
KS_RULES(iscsi_rules, {"", KS_RULE_HOOK, .hook = iscsi});
KS_RULES(cinder_rules, {"volumeID", KS_RULE_PRESENT, .required = true}, {"secretRef", KS_RULE_HOOK, .hook = secret_reference});
KS_RULES(fc_rules, {"", KS_RULE_HOOK, .hook = fibre_channel});
KS_RULES(flex_rules, {"driver", KS_RULE_PRESENT, .required = true}, {"options", KS_RULE_HOOK, .hook = flex_options});
KS_RULES(azure_file_rules, {"secretName", KS_RULE_PRESENT, .required = true}, {"shareName", KS_RULE_PRESENT, .required = true},
	{"secretNamespace", KS_RULE_HOOK, .hook = not_empty});
KS_RULES(vsphere_rules, {"volumePath", KS_RULE_PRESENT, .required = true});
KS_RULES(photon_rules, {"pdID", KS_RULE_PRESENT, .required = true});
KS_RULES(portworx_rules, {"volumeID", KS_RULE_PRESENT, .required = true});
KS_RULES(azure_disk_rules, {"diskName", KS_RULE_PRESENT, .required = true}, {"diskURI", KS_RULE_PRESENT, .required = true},
	{"cachingMode", KS_RULE_HOOK, .hook = caching_mode}, {"kind", KS_RULE_HOOK, .hook = disk_kind},
	{"diskURI", KS_RULE_HOOK, .hook = azure_disk_uri});
KS_RULES(scaleio_rules, {"gateway", KS_RULE_PRESENT, .required = true}, {"system", KS_RULE_PRESENT, .required = true},
	{"volumeName", KS_RULE_PRESENT, .required = true});
KS_RULES(local_rules, {"path", KS_RULE_HOOK, .hook = local_path});
KS_RULES(storageos_rules, {"volumeName", KS_RULE_NAME, .form = KS_NAME_DNS1123_LABEL, .required = true},
	{"volumeNamespace", KS_RULE_NAME, .form = KS_NAME_DNS1123_LABEL}, {"secretRef", KS_RULE_HOOK, .hook = secret_reference});
KS_RULES(csi_rules, {"driver", KS_RULE_HOOK, .hook = csi_driver}, {"volumeHandle", KS_RULE_PRESENT, .required = true},
	{"controllerPublishSecretRef", KS_RULE_HOOK, .hook = checked_secret_reference},
	{"controllerExpandSecretRef", KS_RULE_HOOK, .hook = checked_secret_reference},
	{"nodePublishSecretRef", KS_RULE_HOOK, .hook = checked_secret_reference},
	{"nodeExpandSecretRef", KS_RULE_HOOK, .hook = checked_secret_reference});

/* In the order in which they are judged, with the names that messages have. */
static const struct {
	const char *field, *shown, *shown_second;
	const struct ks_rules *rules;
} sources[] = {
	{"hostPath", "hostPath", NULL, &host_path_rules},
	{"gcePersistentDisk", "persistentDisk", "gcePersistentDisk", &gce_rules},
	{"awsElasticBlockStore", "awsElasticBlockStore", NULL, &aws_rules},
	{"glusterfs", "glusterfs", NULL, &glusterfs_rules},
	{"flocker", "flocker", NULL, &flocker_rules},
	{"nfs", "nfs", NULL, &nfs_rules},
	{"rbd", "rbd", NULL, &rbd_rules},
	{"quobyte", "quobyte", NULL, &quobyte_rules},
	{"cephfs", "cephfs", "cephFS", &cephfs_rules},
	{"iscsi", "iscsi", NULL, &iscsi_rules},
	{"cinder", "cinder", NULL, &cinder_rules},
	{"fc", "fc", NULL, &fc_rules},
	{"flexVolume", "flexVolume", NULL, &flex_rules},
	{"azureFile", "azureFile", NULL, &azure_file_rules},
	{"vsphereVolume", "vsphereVolume", NULL, &vsphere_rules},
	{"photonPersistentDisk", "photonPersistentDisk", NULL, &photon_rules},
	{"portworxVolume", "portworxVolume", NULL, &portworx_rules},
	{"azureDisk", "azureDisk", NULL, &azure_disk_rules},
	{"scaleIO", "scaleIO", NULL, &scaleio_rules},
	{"local", "local", NULL, &local_rules},
	{"storageos", "storageos", NULL, &storageos_rules},
	{"csi", "csi", NULL, &csi_rules},
};

bool ks_check_volume_sources(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, struct ks_str name, bool has_affinity)
{
	struct ks_check own = *c;
	bool any = false;

	own.user = name.n ? &name : NULL;
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		const struct ks_value *source = ks_value_get(c->schema, spec, sources[i].field);
		struct ks_path at = ks_path_child(path, sources[i].shown);

		if (!ks_value_present(source))
			continue;
		if (any && strcmp(sources[i].field, "flexVolume")) {
			ks_err_forbidden(c, path, sources[i].shown_second ? sources[i].shown_second : sources[i].shown,
				"may not specify more than 1 volume type");
			continue;
		}
		any = true;
		ks_rules_apply(&own, &at, source, NULL, sources[i].rules);
		if (!strcmp(sources[i].field, "local") && !has_affinity)
			ks_err_required(c, path, "nodeAffinity", "Local volume requires node affinity");
	}
	return any;
}
