/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Volumes made of keys, fields and tokens. */
#include "core/registry/validate/pod.h"

static const char *const file_fields[] = {"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid", NULL};

static void check_key_to_path(struct ks_check *c, const struct ks_path *path, const struct ks_value *item)
{
	struct ks_str where = TEXT(item, "path");

	if (!TEXT(item, "key").n)
		ks_err_required(c, path, "key", "");
	if (!where.n)
		ks_err_required(c, path, "path", "");
	ks_check_local_path(c, path, "path", where);
	ks_check_file_mode(c, path, "mode", IN(item, "mode"));
}

void ks_check_key_to_paths(struct ks_check *c, const struct ks_path *path, const struct ks_value *source)
{
	const struct ks_value *items = LIST(source, "items");
	struct ks_path at = ks_path_child(path, "items");

	EACH(i, items) {
		struct ks_path item = ks_path_index(&at, i);

		check_key_to_path(c, &item, &items->items[i]);
	}
}

static void check_file(struct ks_check *c, const struct ks_path *path, const struct ks_value *file)
{
	const struct ks_value *field = IN(file, "fieldRef"), *resource = IN(file, "resourceFieldRef");
	struct ks_path field_at = ks_path_child(path, "fieldRef"), resource_at = ks_path_child(path, "resourceFieldRef");

	if (!TEXT(file, "path").n)
		ks_err_required(c, path, "path", "");
	ks_check_local_path(c, path, "path", TEXT(file, "path"));
	if (field) {
		ks_check_field_ref(c, &field_at, field, file_fields);
		if (resource)
			ks_err_invalid_text(c, path, NULL, KS_STR_LIT("resource"), "fieldRef and resourceFieldRef can not be specified simultaneously");
	} else if (resource) {
		ks_check_resource_ref(c, &resource_at, resource, true);
	} else {
		ks_err_required(c, path, NULL, "one of fieldRef and resourceFieldRef is required");
	}
	ks_check_file_mode(c, path, "mode", IN(file, "mode"));
}

void ks_check_downward_files(struct ks_check *c, const struct ks_path *path, const struct ks_value *source)
{
	const struct ks_value *items = LIST(source, "items");

	EACH(i, items)
		check_file(c, path, &items->items[i]);
}

/* Files of all sources land in one folder. */
static void check_taken(struct ks_check *c, const struct ks_path *path, struct ks_seen *taken, struct ks_str where, struct ks_str shown)
{
	if (where.n && !ks_seen_add(c, taken, where))
		ks_err_invalid_text(c, path, NULL, shown, "conflicting duplicate paths");
}

static void check_keys(struct ks_check *c, const struct ks_path *path, const struct ks_path *at, const struct ks_value *source, struct ks_seen *taken)
{
	const struct ks_value *items = LIST(source, "items");
	struct ks_path items_at = ks_path_child(at, "items");

	if (!TEXT(source, "name").n)
		ks_err_required(c, at, "name", "");
	EACH(i, items) {
		struct ks_path item = ks_path_index(&items_at, i);

		check_key_to_path(c, &item, &items->items[i]);
		check_taken(c, path, taken, TEXT(&items->items[i], "path"), TEXT(source, "name"));
	}
}

static void check_files(struct ks_check *c, const struct ks_path *path, const struct ks_path *at, const struct ks_value *source, struct ks_seen *taken)
{
	const struct ks_value *items = LIST(source, "items");

	EACH(i, items) {
		struct ks_str where = TEXT(&items->items[i], "path");

		check_file(c, at, &items->items[i]);
		check_taken(c, path, taken, where, where);
	}
}

static void check_token(struct ks_check *c, const struct ks_path *path, const struct ks_path *at, const struct ks_value *source, struct ks_seen *taken)
{
	int64_t seconds = INT(source, "expirationSeconds");
	struct ks_str where = TEXT(source, "path");

	(void)taken;
	if (seconds < 600)
		ks_err_invalid_int(c, at, "expirationSeconds", seconds, "may not specify a duration less than 10 minutes");
	if (seconds > (int64_t)1 << 32)
		ks_err_invalid_int(c, at, "expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds");
	if (!where.n)
		ks_err_required(c, path, "path", "");
	else if (!ks_pod_of(c)->any_token_path)
		ks_check_local_path(c, path, "path", where);
}

static void check_bundle(struct ks_check *c, const struct ks_path *path, const struct ks_path *at, const struct ks_value *source, struct ks_seen *taken)
{
	const struct ks_value *name = IN(source, "name"), *signer = IN(source, "signerName");
	struct ks_str where = TEXT(source, "path");

	if (name && signer) {
		ks_err_invalid(c, at, NULL, source, "only one of name and signerName may be used");
	} else if (name) {
		if (!name->n)
			ks_err_required(c, at, "name", "must be a valid object name");
		if (IN(source, "labelSelector"))
			ks_err_invalid(c, at, "labelSelector", IN(source, "labelSelector"), "labelSelector must be unset if name is specified");
	} else if (signer) {
		if (!signer->n)
			ks_err_required(c, at, "signerName", "must be a valid signer name");
		ks_check_label_selector(c, at, "labelSelector", IN(source, "labelSelector"), 0);
	} else {
		ks_err_required(c, at, NULL, "either name or signerName must be specified");
	}
	if (!where.n)
		ks_err_required(c, at, "path", "");
	ks_check_local_path(c, at, "path", where);
	check_taken(c, path, taken, where, where);
}

static void check_certificate(struct ks_check *c, const struct ks_path *path, const struct ks_path *at, const struct ks_value *source, struct ks_seen *taken)
{
	static const char *const types[] = {"RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", NULL};
	static const char *const names[] = {"credentialBundlePath", "keyPath", "certificateChainPath"};

	if (!ks_str_in(TEXT(source, "keyType"), types))
		ks_err_not_supported(c, at, "keyType", TEXT(source, "keyType"), types);
	for (size_t i = 0; i < 3; i++) {
		struct ks_str where = ks_value_str(ks_value_get(c->schema, source, names[i]));

		if (!where.n)
			continue;
		ks_check_local_path(c, at, names[i], where);
		check_taken(c, path, taken, where, where);
	}
}

static const struct {
	const char *name;
	void (*check)(struct ks_check *c, const struct ks_path *path, const struct ks_path *at, const struct ks_value *source, struct ks_seen *taken);
} sources[] = {
	{"secret", check_keys}, {"configMap", check_keys}, {"downwardAPI", check_files}, {"serviceAccountToken", check_token},
	{"clusterTrustBundle", check_bundle}, {"podCertificate", check_certificate},
};

void ks_check_projected(struct ks_check *c, const struct ks_path *path, const struct ks_value *source)
{
	static _Atomic uint32_t places[sizeof(sources) / sizeof(sources[0])];
	const struct ks_value *list = LIST(source, "sources");
	struct ks_path list_at = ks_path_child(path, "sources");
	struct ks_seen taken = {.n = 0};

	ks_check_file_mode(c, path, "defaultMode", IN(source, "defaultMode"));
	EACH(i, list) {
		struct ks_path item = ks_path_index(&list_at, i);
		int n = 0;

		for (size_t k = 0; k < sizeof(sources) / sizeof(sources[0]); k++) {
			const struct ks_value *v = ks_field_at(c, &list->items[i], sources[k].name, &places[k]);
			struct ks_path at = ks_path_child(&item, sources[k].name);

			if (!ks_value_present(v))
				continue;
			sources[k].check(c, path, &at, v, &taken);
			n++;
		}
		if (n > 1)
			ks_err_forbidden(c, &item, NULL, "may not specify more than 1 volume type per source");
	}
}
