/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Volumes of a pod: names, and what each kind of source needs. */
#include <strings.h>

#include "core/registry/validate/pod.h"

typedef void source_check(struct ks_check *c, const struct ks_path *path, const struct ks_value *v);

static void need(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, const char *name)
{
	if (ks_value_is_empty(ks_value_get(c->schema, v, name)))
		ks_err_required(c, path, name, "");
}

/* Sources of which a few texts or lists must be there, and nothing else is judged. */
static void need_all(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, const char *const *names)
{
	for (; *names; names++)
		need(c, path, v, *names);
}

static void check_host_path(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char *const types[] = {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket", NULL};
	struct ks_str where = TEXT(v, "path"), type = TEXT(v, "type");

	if (!where.n) {
		ks_err_required(c, path, "path", "");
		return;
	}
	ks_check_no_backsteps(c, path, "path", where);
	if (!ks_str_in(type, types))
		ks_err_not_supported(c, path, "type", type, types);
}

static void check_git(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	need(c, path, v, "repository");
	ks_check_descending_path(c, path, "directory", TEXT(v, "directory"));
}

static void check_disk(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, const char *name)
{
	int64_t partition = INT(v, "partition");

	need(c, path, v, name);
	if (partition < 0 || partition > 255)
		ks_err_invalid_int(c, path, "partition", partition, "must be between 1 and 255, inclusive");
}

static void check_gce(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	check_disk(c, path, v, "pdName");
}

static void check_aws(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	check_disk(c, path, v, "volumeID");
}

static void check_secret(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	need(c, path, v, "secretName");
	ks_check_file_mode(c, path, "defaultMode", IN(v, "defaultMode"));
	ks_check_key_to_paths(c, path, v);
}

static void check_config_map(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	need(c, path, v, "name");
	ks_check_file_mode(c, path, "defaultMode", IN(v, "defaultMode"));
	ks_check_key_to_paths(c, path, v);
}

static void check_downward(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	ks_check_file_mode(c, path, "defaultMode", IN(v, "defaultMode"));
	ks_check_downward_files(c, path, v);
}

static void check_nfs(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	struct ks_str where = TEXT(v, "path");

	need(c, path, v, "server");
	need(c, path, v, "path");
	if (!where.n || where.p[0] != '/')
		ks_err_invalid_text(c, path, "path", where, "must be an absolute path");
}

/* -- iSCSI and fibre channels ------------------------------------------------------------------------------------------ */

static bool all_alnum(struct ks_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!((s.p[i] >= '0' && s.p[i] <= '9') || ((s.p[i] | 32) >= 'a' && (s.p[i] | 32) <= 'z')))
			return false;
	return true;
}

static bool is_digits(struct ks_str s, size_t from, size_t n)
{
	for (size_t i = from; i < from + n; i++)
		if (i >= s.n || s.p[i] < '0' || s.p[i] > '9')
			return false;
	return true;
}

/* iqn.YYYY-MM.naming-authority:unique-name */
static bool is_iqn(struct ks_str s)
{
	const char *colon = s.n ? memchr(s.p, ':', s.n) : NULL;
	size_t at;

	if (s.n < 14 || !ks_str_starts(s, KS_STR_LIT("iqn.")) || !is_digits(s, 4, 4) || s.p[8] != '-' || !is_digits(s, 9, 2) || s.p[11] != '.' || !colon)
		return false;
	at = (size_t)(colon - s.p);
	if (at < 13 || at + 1 >= s.n)
		return false;
	for (size_t i = 12; i < at; i++)
		if (s.p[i] != '-' && s.p[i] != '.' && !all_alnum(ks_str_of(s.p + i, 1)))
			return false;
	for (size_t i = at + 1; i < s.n; i++)
		if (strchr(",;*&$|", s.p[i]) || s.p[i] == ' ' || (s.p[i] >= '\t' && s.p[i] <= '\r'))
			return false;
	return true;
}

static bool is_initiator(struct ks_str s)
{
	if (ks_str_starts(s, KS_STR_LIT("iqn")))
		return is_iqn(s);
	if (ks_str_starts(s, KS_STR_LIT("eui")))
		return s.n == 20 && all_alnum(ks_str_of(s.p + 4, 16));
	return s.n == 36 && all_alnum(ks_str_of(s.p + 4, 32));
}

static void check_initiator(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str s)
{
	bool known = ks_str_starts(s, KS_STR_LIT("iqn")) || ks_str_starts(s, KS_STR_LIT("eui")) || ks_str_starts(s, KS_STR_LIT("naa"));

	if (!known)
		ks_err_invalid_text(c, path, name, s, "must be valid format starting with iqn, eui, or naa");
	else if (!is_initiator(s))
		ks_err_invalid_text(c, path, name, s, "must be valid format");
}

static void check_iscsi(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	need(c, path, v, "targetPortal");
	if (!TEXT(v, "iqn").n)
		ks_err_required(c, path, "iqn", "");
	else
		check_initiator(c, path, "iqn", TEXT(v, "iqn"));
	ks_check_range(c, path, "lun", INT(v, "lun"), 0, 255);
	if ((IS_TRUE(v, "chapAuthDiscovery") || IS_TRUE(v, "chapAuthSession")) && !IN(v, "secretRef"))
		ks_err_required(c, path, "secretRef", "");
	if (IN(v, "initiatorName"))
		check_initiator(c, path, "initiatorname", TEXT(v, "initiatorName"));
}

static void check_fc(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *names = LIST(v, "targetWWNs"), *ids = LIST(v, "wwids"), *lun = IN(v, "lun");

	if (!ks_value_count(names) && !ks_value_count(ids))
		ks_err_required(c, path, "targetWWNs", "must specify either targetWWNs or wwids, but not both");
	if (!ks_value_count(names))
		return;
	if (ks_value_count(ids))
		ks_err_invalid(c, path, "targetWWNs", names, "targetWWNs and wwids can not be specified simultaneously");
	if (!lun)
		ks_err_required(c, path, "lun", "lun is required if targetWWNs is specified");
	else
		ks_check_range(c, path, "lun", ks_value_int_or(lun, 0), 0, 255);
}

/* -- the others --------------------------------------------------------------------------------------------------------- */

static void check_glusterfs(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	need_all(c, path, v, (const char *const[]){"endpoints", "path", NULL});
}

static void check_flocker(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	struct ks_str name = TEXT(v, "datasetName"), uuid = TEXT(v, "datasetUUID");

	if (!name.n && !uuid.n)
		ks_err_required(c, path, NULL, "one of datasetName and datasetUUID is required");
	if (name.n && uuid.n)
		ks_err_invalid_text(c, path, NULL, KS_STR_LIT("resource"), "datasetName and datasetUUID can not be specified simultaneously");
	if (ks_text_has(name, '/'))
		ks_err_invalid_text(c, path, "datasetName", name, "must not contain '/'");
}

static void check_claim(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	need(c, path, v, "claimName");
}

static void check_rbd(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	need_all(c, path, v, (const char *const[]){"monitors", "image", NULL});
}

static void check_secret_ref(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	struct ks_path at = ks_path_child(path, "secretRef");

	if (IN(v, "secretRef") && !TEXT(IN(v, "secretRef"), "name").n)
		ks_err_required(c, &at, "name", "");
}

static void check_cinder(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	need(c, path, v, "volumeID");
	check_secret_ref(c, path, v);
}

static void check_cephfs(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	need(c, path, v, "monitors");
}

/* "host:port", host maybe in brackets. */
static bool is_host_port(struct ks_str s)
{
	const char *colon = s.n ? memrchr(s.p, ':', s.n) : NULL;
	struct ks_str host;

	if (!colon)
		return false;
	host = ks_str_of(s.p, (size_t)(colon - s.p));
	if (host.n && host.p[0] == '[')
		return host.p[host.n - 1] == ']';
	return !ks_text_has(host, ':') && !ks_text_has(host, ']') && !ks_text_has(host, '[');
}

static void check_quobyte(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char pairs[] = "must be a host:port pair or multiple pairs separated by commas";
	struct ks_str registry = TEXT(v, "registry"), rest = registry;

	if (!registry.n) {
		ks_err_required(c, path, "registry", pairs);
	} else if (TEXT(v, "tenant").n >= 65) {
		ks_err_required(c, path, "tenant", "must be a UUID and may not exceed a length of 64 characters");
	} else {
		for (;;) {
			const char *comma = rest.n ? memchr(rest.p, ',', rest.n) : NULL;
			struct ks_str one = comma ? ks_str_of(rest.p, (size_t)(comma - rest.p)) : rest;

			if (!is_host_port(one))
				ks_err_invalid_text(c, path, "registry", registry, pairs);
			if (!comma)
				break;
			rest = ks_str_of(comma + 1, rest.n - one.n - 1);
		}
	}
	need(c, path, v, "volume");
}

/* Does the part before the slash end with a name that is ours? */
static bool is_reserved_option(struct ks_str key)
{
	static const char *const reserved[] = {"kubernetes.io", "k8s.io", NULL};
	const char *slash = key.n ? memchr(key.p, '/', key.n) : NULL;
	size_t n = slash ? (size_t)(slash - key.p) : key.n;

	for (size_t i = 0; reserved[i]; i++) {
		size_t own = strlen(reserved[i]);

		if (n >= own && !strncasecmp(key.p + n - own, reserved[i], own) && (n == own || key.p[n - own - 1] == '.'))
			return true;
	}
	return false;
}

static void check_flex(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *options = MAP(v, "options");
	struct ks_path at = ks_path_child(path, "options");

	need(c, path, v, "driver");
	EACH(i, options) {
		struct ks_path key = ks_path_key(&at, options->members[i].key);

		if (is_reserved_option(options->members[i].key))
			ks_err_invalid_text(c, &key, NULL, options->members[i].key, "kubernetes.io and k8s.io namespaces are reserved");
	}
}

static void check_azure_file(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	need_all(c, path, v, (const char *const[]){"secretName", "shareName", NULL});
}

static void check_vsphere(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	need(c, path, v, "volumePath");
}

static void check_photon(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	need(c, path, v, "pdID");
}

static void check_portworx(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	need(c, path, v, "volumeID");
}

static void check_azure_disk(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char *const caching[] = {"None", "ReadOnly", "ReadWrite", NULL}, *const disks[] = {"Dedicated", "Managed", "Shared", NULL};
	static const char *const managed[] = {"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}", NULL};
	static const char *const blobs[] = {"https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd", NULL};
	const struct ks_value *mode = IN(v, "cachingMode"), *kind = IN(v, "kind");
	struct ks_str uri = TEXT(v, "diskURI");

	need_all(c, path, v, (const char *const[]){"diskName", "diskURI", NULL});
	if (mode && !ks_str_in(ks_value_str(mode), caching))
		ks_err_not_supported(c, path, "cachingMode", ks_value_str(mode), caching);
	if (kind && !ks_str_in(ks_value_str(kind), disks))
		ks_err_not_supported(c, path, "kind", ks_value_str(kind), disks);
	if (kind && ks_str_is(ks_value_str(kind), "Managed") && !ks_str_starts(uri, KS_STR_LIT("/subscriptions/")))
		ks_err_not_supported(c, path, "diskURI", uri, managed);
	if (kind && !ks_str_is(ks_value_str(kind), "Managed") && !ks_str_starts(uri, KS_STR_LIT("https://")))
		ks_err_not_supported(c, path, "diskURI", uri, blobs);
}

static void check_storageos(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	if (!TEXT(v, "volumeName").n)
		ks_err_required(c, path, "volumeName", "");
	else
		ks_check_name(c, path, "volumeName", KS_NAME_DNS1123_LABEL, TEXT(v, "volumeName"));
	if (TEXT(v, "volumeNamespace").n)
		ks_check_name(c, path, "volumeNamespace", KS_NAME_DNS1123_LABEL, TEXT(v, "volumeNamespace"));
	check_secret_ref(c, path, v);
}

static void check_scaleio(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	need_all(c, path, v, (const char *const[]){"gateway", "system", "volumeName", NULL});
}

static void check_driver_name(struct ks_check *c, const struct ks_path *path, struct ks_str name)
{
	struct ks_name_errors errors;
	char lowered[512];
	size_t n = name.n < sizeof(lowered) ? name.n : sizeof(lowered);

	if (!name.n)
		ks_err_required(c, path, "driver", "");
	if (name.n > 63)
		ks_err_too_long(c, path, "driver", 63);
	for (size_t i = 0; i < n; i++)
		lowered[i] = name.p[i] >= 'A' && name.p[i] <= 'Z' ? (char)(name.p[i] + 32) : name.p[i];
	if (ks_name_check(KS_NAME_DNS1123_SUBDOMAIN, ks_str_of(lowered, n), &errors))
		return;
	for (unsigned i = 0; i < errors.n; i++)
		ks_err_invalid_text(c, path, "driver", name, errors.text[i]);
}

static void check_csi(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *secret = IN(v, "nodePublishSecretRef");

	check_driver_name(c, path, TEXT(v, "driver"));
	if (!secret)
		return;
	if (!TEXT(secret, "name").n)
		ks_err_required(c, path, "nodePublishSecretRef.name", "");
	else
		ks_check_name(c, path, "name", KS_NAME_DNS1123_SUBDOMAIN, TEXT(secret, "name"));
}

static void check_image(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char *const policies[] = {"Always", "IfNotPresent", "Never", NULL};
	struct ks_str policy = TEXT(v, "pullPolicy");

	if (ks_pod_of(c)->is_pod && !TEXT(v, "reference").n)
		ks_err_required(c, path, "reference", "");
	if (!policy.n)
		ks_err_required(c, path, "pullPolicy", "");
	else if (!ks_str_in(policy, policies))
		ks_err_not_supported(c, path, "pullPolicy", policy, policies);
}

/* -- claims made for the pod -------------------------------------------------------------------------------------------- */

static void check_only_labels(struct ks_check *c, const struct ks_path *path, const struct ks_value *metadata)
{
	if (!metadata || metadata->kind != KS_STRUCT)
		return;
	for (uint32_t i = 0; i < metadata->n; i++) {
		const char *name = ks_schema_text(c->schema, ks_schema_field(c->schema, metadata->type, (uint16_t)i)->name);

		if (ks_value_present(&metadata->items[i]) && strcmp(name, "labels") && strcmp(name, "annotations"))
			ks_err_forbidden(c, path, name, "cannot be set");
	}
}

static void check_ephemeral(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *template = IN(v, "volumeClaimTemplate"), *metadata = IN(template, "metadata");
	struct ks_path at = ks_path_child(path, "volumeClaimTemplate"), meta_at = ks_path_child(&at, "metadata"), spec_at = ks_path_child(&at, "spec");

	if (!template) {
		ks_err_required(c, &at, NULL, "");
		return;
	}
	ks_check_annotations(c, &meta_at, "annotations", MAP(metadata, "annotations"));
	ks_check_labels(c, &meta_at, "labels", MAP(metadata, "labels"));
	check_only_labels(c, &meta_at, metadata);
	ks_check_claim_spec(c, &spec_at, IN(template, "spec"));
}

/* -- all of them ---------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name, *extra, *inner; /* the field; its name when it is one too many; its name in the paths of its causes */
	source_check *check;
} sources[] = {
	{"hostPath", "hostPath", "hostPath", check_host_path},
	{"gitRepo", "gitRepo", "gitRepo", check_git},
	{"gcePersistentDisk", "gcePersistentDisk", "persistentDisk", check_gce},
	{"awsElasticBlockStore", "awsElasticBlockStore", "awsElasticBlockStore", check_aws},
	{"secret", "secret", "secret", check_secret},
	{"nfs", "nfs", "nfs", check_nfs},
	{"iscsi", "iscsi", "iscsi", check_iscsi},
	{"glusterfs", "glusterfs", "glusterfs", check_glusterfs},
	{"flocker", "flocker", "flocker", check_flocker},
	{"persistentVolumeClaim", "persistentVolumeClaim", "persistentVolumeClaim", check_claim},
	{"rbd", "rbd", "rbd", check_rbd},
	{"cinder", "cinder", "cinder", check_cinder},
	{"cephfs", "cephFS", "cephfs", check_cephfs},
	{"quobyte", "quobyte", "quobyte", check_quobyte},
	{"downwardAPI", "downwarAPI", "downwardAPI", check_downward},
	{"fc", "fc", "fc", check_fc},
	{"flexVolume", "flexVolume", "flexVolume", check_flex},
	{"configMap", "configMap", "configMap", check_config_map},
	{"azureFile", "azureFile", "azureFile", check_azure_file},
	{"vsphereVolume", "vsphereVolume", "vsphereVolume", check_vsphere},
	{"photonPersistentDisk", "photonPersistentDisk", "photonPersistentDisk", check_photon},
	{"portworxVolume", "portworxVolume", "portworxVolume", check_portworx},
	{"azureDisk", "azureDisk", "azureDisk", check_azure_disk},
	{"storageos", "storageos", "storageos", check_storageos},
	{"projected", "projected", "projected", ks_check_projected},
	{"scaleIO", "scaleIO", "scaleIO", check_scaleio},
	{"csi", "csi", "csi", check_csi},
	{"ephemeral", "ephemeral", "ephemeral", check_ephemeral},
	{"image", "image", "image", check_image},
};

static void check_claim_name(struct ks_check *c, const struct ks_path *path, struct ks_str volume)
{
	struct ks_str pod = ks_pod_of(c)->name;
	struct ks_name_errors errors;
	const char *claim;

	if (!pod.n || !volume.n)
		return;
	claim = ks_err_detail(c, "%.*s-%.*s", (int)pod.n, pod.p, (int)volume.n, volume.p);
	if (ks_name_check(KS_NAME_DNS1123_SUBDOMAIN, ks_str_from(claim), &errors))
		return;
	for (unsigned i = 0; i < errors.n; i++)
		ks_err_invalid_text(c, path, "name", volume, ks_err_detail(c, "PVC name \"%s\": %s", claim, errors.text[i]));
}

static void check_portal(struct ks_check *c, const struct ks_path *path, const struct ks_value *iscsi, struct ks_str volume)
{
	if (IN(iscsi, "initiatorName") && volume.n + 1 + TEXT(iscsi, "targetPortal").n > 64)
		ks_err_invalid_text(c, path, "name", volume,
			"Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.");
}

/* How many sources a volume names: mostly one, and then it is looked for no further. */
static uint32_t count_sources(struct ks_check *c, const struct ks_value *v)
{
	uint32_t n = 0;

	for (uint32_t i = 0; v->kind == KS_STRUCT && i < v->n; i++)
		n += ks_value_present(&v->items[i]);
	return n - (IN(v, "name") != NULL);
}

static void check_source(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, struct ks_str name)
{
	static _Atomic uint32_t places[sizeof(sources) / sizeof(sources[0])];
	const struct ks_value *empty = IN(v, "emptyDir");
	uint32_t left = count_sources(c, v);
	bool any = empty != NULL;

	if (!left)
		ks_err_required(c, path, NULL, "must specify a volume type");
	if (empty && ks_str_starts(TEXT(empty, "sizeLimit"), KS_STR_LIT("-")))
		ks_err_forbidden(c, path, "emptyDir.sizeLimit", "SizeLimit field must be a valid resource quantity");
	left -= any;
	for (size_t i = 0; left && i < sizeof(sources) / sizeof(sources[0]); i++) {
		const struct ks_value *source = ks_field_at(c, v, sources[i].name, &places[i]);
		struct ks_path at = ks_path_child(path, sources[i].inner);

		if (!ks_value_present(source))
			continue;
		left--;
		if (any)
			ks_err_forbidden(c, path, sources[i].extra, "may not specify more than 1 volume type");
		else
			sources[i].check(c, &at, source);
		if (!any && sources[i].check == check_ephemeral)
			check_claim_name(c, path, name);
		if (sources[i].check == check_iscsi)
			check_portal(c, path, source, name);
		any = true;
	}
}

/* A claim that is made for the pod can't be named by another volume. */
static void check_made_claims(struct ks_check *c, const struct ks_path *path, const struct ks_seen *made, const struct ks_value *v)
{
	struct ks_str claim = TEXT(IN(v, "persistentVolumeClaim"), "claimName"), pod = ks_pod_of(c)->name;

	if (!claim.n || !pod.n || claim.n <= pod.n + 1 || !ks_str_starts(claim, pod) || claim.p[pod.n] != '-')
		return;
	if (ks_seen_has(made, ks_str_of(claim.p + pod.n + 1, claim.n - pod.n - 1)))
		ks_err_invalid_text(c, path, "persistentVolumeClaim.claimName", claim, "must not reference a PVC that gets created for an ephemeral volume");
}

void ks_check_volumes(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	struct ks_pod_check *pod = ks_pod_of(c);
	struct ks_seen *names = &pod->volume_names;
	struct ks_seen made = {.n = 0};

	pod->volumes = list;
	if (ks_value_count(list) > 8)
		pod->good_volumes = ks_arena_alloc(c->arena, list->n * sizeof(*pod->good_volumes));
	EACH(i, list)
		if (IN(&list->items[i], "ephemeral"))
			ks_seen_add(c, &made, TEXT(&list->items[i], "name"));
	EACH(i, list) {
		const struct ks_status_cause *mark = ks_check_mark(c);
		const struct ks_value *v = &list->items[i];
		struct ks_path item = ks_path_index(path, i);
		struct ks_str name = TEXT(v, "name");

		check_source(c, &item, v, name);
		if (!name.n)
			ks_err_required(c, &item, "name", "");
		else
			ks_check_name(c, &item, "name", KS_NAME_DNS1123_LABEL, name);
		if (ks_seen_has(names, name))
			ks_err_duplicate_text(c, &item, "name", name);
		if (!ks_check_failed_since(c, mark)) {
			if (pod->good_volumes)
				pod->good_volumes[names->n] = i;
			ks_seen_add(c, names, name);
		} else {
			if (!pod->bad_volumes)
				pod->bad_volumes = ks_arena_zalloc(c->arena, list->n, 1);
			if (pod->bad_volumes)
				pod->bad_volumes[i] = 1;
		}
		check_made_claims(c, &item, &made, v);
	}
}

const struct ks_value *ks_pod_volume(struct ks_check *c, struct ks_str name)
{
	const struct ks_pod_check *pod = ks_pod_of(c);
	int64_t at;

	if (pod->good_volumes) {
		at = ks_seen_find(&pod->volume_names, name);
		return at >= 0 ? &pod->volumes->items[pod->good_volumes[at]] : NULL;
	}
	EACH(i, pod->volumes)
		if (!(pod->bad_volumes && pod->bad_volumes[i]) && ks_str_eq(TEXT(&pod->volumes->items[i], "name"), name))
			return &pod->volumes->items[i];
	return NULL;
}
