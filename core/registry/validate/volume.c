/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Persistent volumes, but their sources. */
#include "core/registry/validate/volume.h"

#include "core/api/gojson.h"
#include "core/api/quantity.h"
#include "core/registry/validate/kinds.h"

static const char *const access_modes[] = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod", NULL};
static const char *const reclaim_policies[] = {"Delete", "Recycle", "Retain", NULL};
static const char *const volume_modes[] = {"Block", "Filesystem", NULL};

/* Sources in the order of upstream's internal type. */
static const char *const sources[] = {"gcePersistentDisk", "awsElasticBlockStore", "hostPath", "glusterfs", "nfs", "rbd", "quobyte", "iscsi",
	"flexVolume", "cinder", "cephfs", "fc", "flocker", "azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk", "portworxVolume",
	"scaleIO", "local", "storageos", "csi", NULL};

void ks_check_access_modes(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	const struct ks_value *list = KS_IN_LIST(c, spec, "accessModes");
	bool pod = false, other = false;

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_str mode = ks_value_str(&list->items[i]);
		bool known = ks_check_one_of(c, path, "accessModes", mode, access_modes);

		if (ks_str_is(mode, "ReadWriteOncePod"))
			pod = true;
		else
			other |= known;
	}
	if (pod && other)
		ks_err_forbidden(c, path, "accessModes", "may not use ReadWriteOncePod with other access modes");
}

static void check_capacity(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	static const char *const supported[] = {"storage", NULL};
	const struct ks_value *capacity = KS_IN_MAP(c, spec, "capacity");
	struct ks_path at = ks_path_child(path, "capacity");
	struct ks_str text;

	if (!ks_value_count(capacity))
		ks_err_required(c, path, "capacity", "");
	if (!ks_quantity_in(c, capacity, KS_STR_LIT("storage"), &text) || capacity->n > 1)
		ks_err_not_supported_slot(c, path, "capacity", spec, "capacity", supported);
	for (uint32_t i = 0; i < ks_value_count(capacity); i++) {
		struct ks_path item = ks_path_key(&at, capacity->members[i].key);
		struct ks_quantity q;
		const char *message;

		text = ks_value_str(&capacity->members[i].value);
		if (ks_quantity_parse(text, &q, &message))
			continue;
		if (ks_quantity_sign(&q) < 0)
			ks_err_invalid_int(c, &item, NULL, ks_quantity_value(&q), "must be a valid resource quantity");
		if (ks_quantity_sign(&q) <= 0)
			ks_err_invalid_text(c, &item, NULL, text, "must be greater than zero");
	}
}

static bool check_affinity(struct ks_check *c, const struct ks_path *path, const struct ks_value *affinity)
{
	const struct ks_value *required = KS_IN(c, affinity, "required");
	struct ks_path at = ks_path_child(path, "nodeAffinity"), below = ks_path_child(&at, "required");

	if (!affinity)
		return false;
	if (required)
		ks_check_node_selector(c, &below, required);
	else
		ks_err_required(c, &at, "required", "must specify required node constraints");
	return true;
}

static void check_inline(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	if (KS_IN(c, spec, "claimRef"))
		ks_err_forbidden(c, path, "claimRef", "may not be specified in the context of inline volumes");
	if (ks_value_count(KS_IN(c, spec, "capacity")))
		ks_err_forbidden(c, path, "capacity", "may not be specified in the context of inline volumes");
	if (!KS_IN(c, spec, "csi"))
		ks_err_required(c, path, "csi", "has to be specified in the context of inline volumes");
}

static void check_reclaim_policy(struct ks_check *c, const struct ks_path *path, struct ks_str policy, bool inline_)
{
	if (!policy.n)
		return;
	if (!inline_)
		ks_check_one_of(c, path, "persistentVolumeReclaimPolicy", policy, reclaim_policies);
	else if (!ks_str_is(policy, "Retain"))
		ks_err_forbidden(c, path, "persistentVolumeReclaimPolicy", "may only be Retain in the context of inline volumes");
}

/* "/", "//", "/./" and so on. */
static bool is_root(struct ks_str path)
{
	size_t depth = 0;

	if (!path.n || path.p[0] != '/')
		return false;
	for (size_t i = 0; i < path.n;) {
		size_t start;

		while (i < path.n && path.p[i] == '/')
			i++;
		start = i;
		while (i < path.n && path.p[i] != '/')
			i++;
		if (i == start || (i - start == 1 && path.p[start] == '.'))
			continue;
		if (i - start == 2 && path.p[start] == '.' && path.p[start + 1] == '.')
			depth -= depth > 0;
		else
			depth++;
	}
	return depth == 0;
}

static void check_class(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, bool inline_)
{
	struct ks_str class = KS_IN_TEXT(c, spec, "storageClassName"), mode = KS_IN_TEXT(c, spec, "volumeMode");
	const struct ks_value *attributes = KS_IN(c, spec, "volumeAttributesClassName");

	if (class.n && inline_)
		ks_err_forbidden(c, path, "storageClassName", "may not be specified in the context of inline volumes");
	else if (class.n)
		ks_check_name(c, path, "storageClassName", KS_NAME_DNS1123_SUBDOMAIN, class);
	if (KS_IN(c, spec, "volumeMode") && !inline_)
		ks_check_one_of(c, path, "volumeMode", mode, volume_modes);
	else if (KS_IN(c, spec, "volumeMode") && !ks_str_is(mode, "Filesystem"))
		ks_err_forbidden(c, path, "volumeMode", "may not specify volumeMode other than Filesystem in the context of inline volumes");
	if (!attributes)
		return;
	if (!ks_value_str(attributes).n)
		ks_err_required(c, path, "volumeAttributesClassName", "an empty string is disallowed");
	else
		ks_check_name(c, path, "volumeAttributesClassName", KS_NAME_DNS1123_SUBDOMAIN, ks_value_str(attributes));
	if (!KS_IN(c, spec, "csi"))
		ks_err_required(c, path, "csi", "has to be specified when using volumeAttributesClassName");
}

void ks_check_volume_spec(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, struct ks_str name, bool inline_)
{
	struct ks_str policy = KS_IN_TEXT(c, spec, "persistentVolumeReclaimPolicy");
	bool affinity = false;

	if (inline_)
		check_inline(c, path, spec);
	if (!ks_value_count(KS_IN(c, spec, "accessModes")))
		ks_err_required(c, path, "accessModes", "");
	ks_check_access_modes(c, path, spec);
	if (!inline_)
		check_capacity(c, path, spec);
	check_reclaim_policy(c, path, policy, inline_);
	if (inline_ && KS_IN(c, spec, "nodeAffinity"))
		ks_err_forbidden(c, path, "nodeAffinity", "may not be specified in the context of inline volumes");
	else
		affinity = check_affinity(c, path, KS_IN(c, spec, "nodeAffinity"));
	if (!ks_check_volume_sources(c, path, spec, name, affinity))
		ks_err_required(c, path, NULL, "must specify a volume type");
	if (ks_str_is(policy, "Recycle") && is_root(KS_IN_TEXT(c, KS_IN(c, spec, "hostPath"), "path")))
		ks_err_forbidden(c, path, "persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'");
	check_class(c, path, spec, inline_);
}

/* -- update ------------------------------------------------------------------------------------------------------- */

/* The names of labels that were renamed: the new name may be put in place of the old one. */
static const struct {
	const char *beta, *stable;
} renamed[] = {
	{"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
	{"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
	{"beta.kubernetes.io/os", "kubernetes.io/os"},
	{"beta.kubernetes.io/arch", "kubernetes.io/arch"},
	{"beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"},
};

static bool same_key(struct ks_str now, struct ks_str before)
{
	if (ks_str_eq(now, before))
		return true;
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (ks_str_is(before, renamed[i].beta) && ks_str_is(now, renamed[i].stable))
			return true;
	return false;
}

static bool same_expressions(struct ks_check *c, const struct ks_value *now, const struct ks_value *before)
{
	if (ks_value_count(now) != ks_value_count(before))
		return false;
	for (uint32_t i = 0; i < ks_value_count(now); i++) {
		const struct ks_value *a = &now->items[i], *b = &before->items[i];

		if (!same_key(KS_IN_TEXT(c, a, "key"), KS_IN_TEXT(c, b, "key")) || !ks_value_same(KS_IN(c, a, "operator"), KS_IN(c, b, "operator")) ||
			!ks_value_same(KS_IN(c, a, "values"), KS_IN(c, b, "values")))
			return false;
	}
	return true;
}

static bool same_affinity(struct ks_check *c, const struct ks_value *now, const struct ks_value *before)
{
	const struct ks_value *x = KS_IN(c, now, "required"), *y = KS_IN(c, before, "required");

	if (!now || !x != !y)
		return false;
	x = KS_IN_LIST(c, x, "nodeSelectorTerms");
	y = KS_IN_LIST(c, y, "nodeSelectorTerms");
	if (ks_value_count(x) != ks_value_count(y))
		return false;
	for (uint32_t i = 0; i < ks_value_count(x); i++) {
		const struct ks_value *a = &x->items[i], *b = &y->items[i];

		if (!same_expressions(c, KS_IN(c, a, "matchExpressions"), KS_IN(c, b, "matchExpressions")) ||
			!same_expressions(c, KS_IN(c, a, "matchFields"), KS_IN(c, b, "matchFields")))
			return false;
	}
	return true;
}

static bool same_source(struct ks_check *c, const struct ks_value *spec, const struct ks_value *before)
{
	for (size_t i = 0; sources[i]; i++)
		if (!ks_value_same(ks_value_get(c->schema, spec, sources[i]), ks_value_get(c->schema, before, sources[i])))
			return false;
	return true;
}

/* The secret for expansion may be added to a CSI volume: the spec as if it had not been. */
static bool without_new_secret(struct ks_check *c, const struct ks_value *spec, const struct ks_value *before, struct ks_value *out)
{
	const struct ks_value *csi = KS_IN(c, spec, "csi"), *had = KS_IN(c, before, "csi");
	struct ks_value *place;

	*out = *spec;
	if (!csi || !had || !KS_IN(c, csi, "controllerExpandSecretRef") || KS_IN(c, had, "controllerExpandSecretRef"))
		return true;
	if (!ks_value_new_struct(c->arena, c->schema, spec->type, out))
		return false;
	memcpy(out->items, spec->items, spec->n * sizeof(*spec->items));
	place = ks_value_get(c->schema, out, "csi");
	if (!ks_value_new_struct(c->arena, c->schema, csi->type, place))
		return false;
	memcpy(place->items, csi->items, csi->n * sizeof(*csi->items));
	ks_value_remove(c->schema, place, KS_STR_LIT("controllerExpandSecretRef"));
	return true;
}

static void check_source_update(struct ks_check *c, const struct ks_value *spec, const struct ks_value *before)
{
	struct ks_path path = ks_path_root("spec.persistentvolumesource");
	struct ks_value masked;
	struct ks_buf was, is;

	if (same_source(c, spec, before) || !without_new_secret(c, spec, before, &masked) || same_source(c, &masked, before))
		return;
	ks_buf_init(&was);
	ks_buf_init(&is);
	ks_gojson_write_fields(c->schema, before->type, sources, before, &was);
	ks_gojson_write_fields(c->schema, masked.type, sources, &masked, &is);
	ks_err_forbidden_diff(c, &path, NULL, "spec.persistentvolumesource is immutable after creation", &was, &is);
	ks_buf_fini(&was);
	ks_buf_fini(&is);
}

static void check_update(struct ks_check *c, const struct ks_value *spec, const struct ks_value *before)
{
	struct ks_path mode = ks_path_root("volumeMode"), affinity = ks_path_root("nodeAffinity"), path = ks_path_root("spec");

	check_source_update(c, spec, before);
	ks_check_slot_immutable(c, &mode, NULL, spec, before, "volumeMode");
	if (KS_IN(c, before, "nodeAffinity") && !same_affinity(c, KS_IN(c, spec, "nodeAffinity"), KS_IN(c, before, "nodeAffinity")))
		ks_err_invalid_slot(c, &affinity, NULL, spec, "nodeAffinity", "field is immutable, except for updating from beta label to GA");
	if (KS_IN(c, before, "volumeAttributesClassName") && !KS_IN(c, spec, "volumeAttributesClassName"))
		ks_err_forbidden(c, &path, "volumeAttributesClassName", "update from non-nil value to nil is forbidden");
}

/* -- the volume --------------------------------------------------------------------------------------------------- */

/* Kinds of volumes that know options for mounting. */
static const char *const mountable[] = {"gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder", "cephfs",
	"azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk"};

static void check_mount_options(struct ks_check *c, const struct ks_value *object, const struct ks_value *spec)
{
	const struct ks_value *notes = KS_IN(c, KS_IN(c, object, "metadata"), "annotations");
	struct ks_path path = ks_path_root("metadata.annotations.volume.beta.kubernetes.io/mount-options");

	if (!notes || !ks_value_get_str(c->schema, notes, KS_STR_LIT("volume.beta.kubernetes.io/mount-options")))
		return;
	for (size_t i = 0; i < sizeof(mountable) / sizeof(mountable[0]); i++)
		if (ks_value_present(ks_value_get(c->schema, spec, mountable[i])))
			return;
	ks_err_forbidden(c, &path, NULL, "may not specify mount options for this volume type");
}

void ks_validate_persistentvolume(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec");
	struct ks_value spec = ks_struct_in(&c, object, "spec"), before;
	struct ks_str name = KS_IN_TEXT(&c, KS_IN(&c, object, "metadata"), "name");

	if (ctx->subresource.n)
		return;
	ks_check_volume_spec(&c, &path, &spec, name, false);
	check_mount_options(&c, object, &spec);
	if (!old)
		return;
	before = ks_struct_in(&c, old, "spec");
	ks_check_volume_spec(&c, &path, &spec, name, false);
	check_update(&c, &spec, &before);
}
