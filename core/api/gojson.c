/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/gojson.h"

#include <ctype.h>
#include <stdlib.h>

#include "core/api/json.h"

/* -- names of fields ---------------------------------------------------------------------------------------------- */

/* Words that Go writes in capitals (or half of them). */
static const struct {
	const char *json, *go;
} initials[] = {
	{"api", "API"}, {"csi", "CSI"}, {"nfs", "NFS"}, {"rbd", "RBD"}, {"iscsi", "ISCSI"}, {"fc", "FC"}, {"gce", "GCE"}, {"aws", "AWS"},
	{"ip", "IP"}, {"ips", "IPs"}, {"id", "ID"}, {"uid", "UID"}, {"cel", "CEL"}, {"tty", "TTY"}, {"http", "HTTP"}, {"tcp", "TCP"}, {"grpc", "GRPC"},
	{"dns", "DNS"}, {"url", "URL"}, {"fs", "FS"}, {"pd", "PD"}, {"ssl", "SSL"}, {"cidr", "CIDR"}, {"cidrs", "CIDRs"}, {"iqn", "IQN"},
	{"wwids", "WWIDs"}, {"cephfs", "CephFS"}, {"storageos", "StorageOS"}, {"fsid", "FSID"},
	{"se", "SE"}, {"os", "OS"}, {"gmsa", "GMSA"},
};

/* Names that are not what the JSON name suggests. The type is the last part of its name. */
static const struct {
	const char *type, *json, *go;
} odd_names[] = {
	{"RBDVolumeSource", "monitors", "CephMonitors"}, {"RBDPersistentVolumeSource", "monitors", "CephMonitors"},
	{"RBDVolumeSource", "image", "RBDImage"}, {"RBDPersistentVolumeSource", "image", "RBDImage"},
	{"RBDVolumeSource", "pool", "RBDPool"}, {"RBDPersistentVolumeSource", "pool", "RBDPool"},
	{"RBDVolumeSource", "user", "RadosUser"}, {"RBDPersistentVolumeSource", "user", "RadosUser"},
	{"GlusterfsVolumeSource", "endpoints", "EndpointsName"}, {"GlusterfsPersistentVolumeSource", "endpoints", "EndpointsName"},
	{"ISCSIVolumeSource", "chapAuthDiscovery", "DiscoveryCHAPAuth"}, {"ISCSIPersistentVolumeSource", "chapAuthDiscovery", "DiscoveryCHAPAuth"},
	{"ISCSIVolumeSource", "chapAuthSession", "SessionCHAPAuth"}, {"ISCSIPersistentVolumeSource", "chapAuthSession", "SessionCHAPAuth"},
	{"AzureDiskVolumeSource", "diskURI", "DataDiskURI"},
};

/* Orders of fields that differ from those of the served types. */
static const struct {
	const char *type;
	const char *fields[40];
} odd_orders[] = {
	{"PodSpec", {"volumes", "initContainers", "containers", "ephemeralContainers", "restartPolicy", "terminationGracePeriodSeconds",
		"activeDeadlineSeconds", "dnsPolicy", "nodeSelector", "serviceAccountName", "automountServiceAccountToken", "nodeName", "securityContext",
		"imagePullSecrets", "hostname", "subdomain", "setHostnameAsFQDN", "affinity", "schedulerName", "tolerations", "hostAliases",
		"priorityClassName", "priority", "preemptionPolicy", "dnsConfig", "readinessGates", "runtimeClassName", "overhead", "enableServiceLinks",
		"topologySpreadConstraints", "os", "schedulingGates", "resourceClaims", "resources", "hostnameOverride", "schedulingGroup"}},
	{"Volume", {"name", "hostPath", "emptyDir", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "secret", "nfs", "iscsi", "glusterfs",
		"persistentVolumeClaim", "rbd", "quobyte", "flexVolume", "cinder", "cephfs", "flocker", "downwardAPI", "fc", "azureFile", "configMap",
		"vsphereVolume", "azureDisk", "photonPersistentDisk", "projected", "portworxVolume", "scaleIO", "storageos", "csi", "ephemeral", "image"}},
	{"PodSecurityContext", {"seLinuxOptions", "windowsOptions", "runAsUser", "runAsGroup", "runAsNonRoot", "supplementalGroups",
		"supplementalGroupsPolicy", "fsGroup", "fsGroupChangePolicy", "sysctls", "seccompProfile", "appArmorProfile", "seLinuxChangePolicy"}},
	{"ISCSIPersistentVolumeSource", {"targetPortal", "iqn", "lun", "iscsiInterface", "fsType", "readOnly", "portals", "chapAuthDiscovery",
		"chapAuthSession", "secretRef", "initiatorName"}},
};

static const char *short_name(const struct ks_schema *s, uint16_t type)
{
	const char *name = ks_schema_text(s, s->types[type].name), *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

static void write_name(const struct ks_schema *s, uint16_t type, const char *json, struct ks_buf *out)
{
	const char *of = short_name(s, type);
	size_t word = 0;

	for (size_t i = 0; i < sizeof(odd_names) / sizeof(odd_names[0]); i++) {
		if (strcmp(odd_names[i].json, json) || strcmp(odd_names[i].type, of))
			continue;
		ks_buf_printf(out, "\"%s\":", odd_names[i].go);
		return;
	}
	while (islower((unsigned char)json[word]) || isdigit((unsigned char)json[word]))
		word++;
	for (size_t i = 0; i < sizeof(initials) / sizeof(initials[0]); i++) {
		if (strlen(initials[i].json) != word || strncmp(initials[i].json, json, word))
			continue;
		ks_buf_printf(out, "\"%s%s\":", initials[i].go, json + word);
		return;
	}
	ks_buf_printf(out, "\"%c%s\":", toupper((unsigned char)json[0]), json + 1);
}

/* -- values ------------------------------------------------------------------------------------------------------- */

static bool is_meta(const struct ks_schema *s, uint16_t type)
{
	return !strncmp(ks_schema_text(s, s->types[type].name), "io.k8s.apimachinery.", strlen("io.k8s.apimachinery."));
}

/* Members of an embedded ObjectMeta stand among the others. */
static bool write_metadata(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out)
{
	size_t start = out->len;

	if (!ks_value_present(v))
		return false;
	ks_json_encode(s, v, out);
	if (out->failed || out->len - start <= 2) {
		out->len = start;
		return false;
	}
	memmove(out->data + start, out->data + start + 1, out->len - start - 1);
	out->len -= 2;
	return true;
}

/* What a pod has of its host belongs to its security context. */
static void write_pod_context(const struct ks_schema *s, uint16_t type, const struct ks_value *spec, const struct ks_value *v, struct ks_buf *out)
{
	static const char *const fields[] = {"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers", NULL};
	struct ks_value none = {.kind = KS_STRUCT, .type = type};

	ks_gojson_write_fields(s, spec->type, fields, spec, out);
	if (!out->failed && out->len)
		out->data[out->len - 1] = ',';
	size_t at = out->len;

	ks_gojson_write(s, type, false, ks_value_present(v) ? v : &none, out);
	if (out->failed)
		return;
	memmove(out->data + at, out->data + at + 1, out->len - at - 1);
	out->len--;
}

static bool write_field(const struct ks_schema *s, uint16_t type, uint16_t slot, const struct ks_value *v, bool first, struct ks_buf *out)
{
	const struct ks_field *f = ks_schema_field(s, type, slot);
	const struct ks_value *value = ks_value_present(v) && v->kind == KS_STRUCT && slot < v->n ? &v->items[slot] : NULL;
	const char *name = ks_schema_text(s, f->name);
	size_t start = out->len;

	if (!first)
		ks_buf_add_char(out, ',');
	if (!strcmp(name, "metadata")) {
		if (write_metadata(s, value, out))
			return true;
		out->len = start;
		return false;
	}
	write_name(s, type, name, out);
	if (!strcmp(name, "securityContext") && !strcmp(short_name(s, type), "PodSpec"))
		write_pod_context(s, f->type, v, value, out);
	else
		ks_gojson_write(s, f->type, f->flags & KS_FIELD_POINTER, value, out);
	return true;
}

void ks_gojson_write_fields(const struct ks_schema *s, uint16_t type, const char *const *fields, const struct ks_value *v, struct ks_buf *out)
{
	bool first = true;

	ks_buf_add_char(out, '{');
	for (size_t i = 0; fields[i]; i++) {
		uint16_t slot = ks_schema_slot(s, type, fields[i], strlen(fields[i]));

		if (slot != KS_NO_SLOT && write_field(s, type, slot, v, first, out))
			first = false;
	}
	ks_buf_add_char(out, '}');
}

static void write_struct(const struct ks_schema *s, uint16_t type, const struct ks_value *v, struct ks_buf *out)
{
	const char *name = short_name(s, type);
	bool first = true;

	for (size_t i = 0; i < sizeof(odd_orders) / sizeof(odd_orders[0]); i++) {
		if (strcmp(odd_orders[i].type, name))
			continue;
		ks_gojson_write_fields(s, type, odd_orders[i].fields, v, out);
		return;
	}
	ks_buf_add_char(out, '{');
	for (uint16_t i = 0; i < s->types[type].n_fields; i++)
		if (write_field(s, type, i, v, first, out))
			first = false;
	ks_buf_add_char(out, '}');
}

static int by_key(const void *a, const void *b)
{
	const struct ks_member *const *x = a, *const *y = b;

	return ks_str_cmp((*x)->key, (*y)->key);
}

static void write_map(const struct ks_schema *s, uint16_t type, const struct ks_value *v, struct ks_buf *out)
{
	const struct ks_member **sorted = calloc(v->n + 1, sizeof(*sorted));

	if (!sorted) {
		out->failed = true;
		return;
	}
	for (uint32_t i = 0; i < v->n; i++)
		sorted[i] = &v->members[i];
	qsort(sorted, v->n, sizeof(*sorted), by_key);
	ks_buf_add_char(out, '{');
	for (uint32_t i = 0; i < v->n; i++) {
		if (i)
			ks_buf_add_char(out, ',');
		ks_json_encode_string(sorted[i]->key, out);
		ks_buf_add_char(out, ':');
		ks_gojson_write(s, s->types[type].element, false, &sorted[i]->value, out);
	}
	ks_buf_add_char(out, '}');
	free(sorted);
}

static void write_list(const struct ks_schema *s, uint16_t type, const struct ks_value *v, struct ks_buf *out)
{
	ks_buf_add_char(out, '[');
	for (uint32_t i = 0; i < v->n; i++) {
		if (i)
			ks_buf_add_char(out, ',');
		ks_gojson_write(s, s->types[type].element, false, &v->items[i], out);
	}
	ks_buf_add_char(out, ']');
}

/* What Go's zero value looks like. */
static void write_zero(const struct ks_schema *s, uint16_t type, struct ks_buf *out)
{
	switch (s->types[type].class_) {
	case KS_TYPE_BOOL:
		ks_buf_add_str(out, "false");
		return;
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
	case KS_TYPE_FLOAT64:
	case KS_TYPE_INT_OR_STRING:
		ks_buf_add_char(out, '0');
		return;
	case KS_TYPE_STRING:
		ks_buf_add_str(out, "\"\"");
		return;
	case KS_TYPE_QUANTITY:
		ks_buf_add_str(out, "\"0\"");
		return;
	case KS_TYPE_DURATION:
		ks_buf_add_str(out, "\"0s\"");
		return;
	case KS_TYPE_STRUCT:
		if (is_meta(s, type))
			ks_buf_add_str(out, "{}");
		else
			write_struct(s, type, NULL, out);
		return;
	default:
		ks_buf_add_str(out, "null");
	}
}

/* What isn't there: nothing, or an empty list or map that was said. */
static void write_absent(const struct ks_schema *s, uint16_t type, bool pointer, const struct ks_value *v, struct ks_buf *out)
{
	bool said = v && v->kind == KS_ABSENT && v->flags & KS_VALUE_WAS_EMPTY;

	if (said && s->types[type].class_ == KS_TYPE_LIST) {
		ks_buf_add_str(out, "[]");
	} else if (said && s->types[type].class_ == KS_TYPE_MAP) {
		ks_buf_add_str(out, "{}");
	} else if (said && v->n && !is_meta(s, type)) {
		struct ks_value slots = *v;

		slots.kind = KS_STRUCT;
		write_struct(s, type, &slots, out);
	} else if (pointer) {
		ks_buf_add_str(out, "null");
	} else {
		write_zero(s, type, out);
	}
}

void ks_gojson_write(const struct ks_schema *s, uint16_t type, bool pointer, const struct ks_value *v, struct ks_buf *out)
{
	if (!ks_value_present(v))
		write_absent(s, type, pointer, v, out);
	else if (v->kind == KS_STRUCT && !is_meta(s, type))
		write_struct(s, type, v, out);
	else if (v->kind == KS_LIST && s->types[type].class_ == KS_TYPE_LIST)
		write_list(s, type, v, out);
	else if (v->kind == KS_MAP && s->types[type].class_ == KS_TYPE_MAP)
		write_map(s, type, v, out);
	else
		ks_json_encode(s, v, out);
}
