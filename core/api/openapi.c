/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Whole OpenAPI documents: which there are, and what each holds. */
#include "core/api/openapi.h"

#include <errno.h>
#include <stdlib.h>

#include "core/api/openapi_private.h"

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."

/* Documents beside those of groups and versions: one GET each. */
static const struct plain_document {
	const char *path, *operation_id, *tag, *answer;
	enum ks_openapi_media produces;
	bool issuer;
} plain_documents[] = {
	{".well-known/openid-configuration", "getServiceAccountIssuerOpenIDConfiguration", "WellKnown", NULL, KS_MEDIA_JSON,
		true},
	{"api", "getCoreAPIVersions", "core", META "APIVersions", KS_MEDIA_ALL, false},
	{"apis", "getAPIVersions", "apis", META "APIGroupList", KS_MEDIA_ALL, false},
	{"openid/v1/jwks", "getServiceAccountIssuerOpenIDKeyset", "openid", NULL, KS_MEDIA_KEY_SET, true},
	{"version", "getCodeVersion", "version", "io.k8s.apimachinery.pkg.version.Info", KS_MEDIA_JSON, false},
};
#define N_PLAIN (sizeof(plain_documents) / sizeof(plain_documents[0]))

/* One document of the index. */
struct entry {
	char *path;
	const struct ks_schema *s;
	const struct ks_group_version *gv;  /* of a group version, or the first one of a group */
	const struct plain_document *plain; /* or neither */
	bool is_group;
};

struct entry_list {
	struct entry *items;
	size_t n, cap;
	bool failed;
};

static void add_entry(struct entry_list *list, struct entry e, const char *group, const char *version)
{
	struct ks_buf path = {0};

	if (list->failed)
		return;
	if (e.plain)
		ks_buf_add_str(&path, e.plain->path);
	else if (e.is_group)
		ks_buf_printf(&path, "apis/%s", group);
	else
		ks_buf_printf(&path, *group ? "apis/%s/%s" : "api%s/%s", group, version);
	ks_buf_add_char(&path, '\0');
	if (list->n == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 64;
		struct entry *items = realloc(list->items, cap * sizeof(*items));

		if (!items)
			goto failed;
		list->items = items;
		list->cap = cap;
	}
	if (path.failed)
		goto failed;
	e.path = path.data;
	list->items[list->n++] = e;
	return;
failed:
	ks_buf_fini(&path);
	list->failed = true;
}

static bool has_path(const struct entry_list *list, const char *path, bool is_group)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].is_group == is_group && strcmp(list->items[i].path, path) == 0)
			return true;
	}
	return false;
}

static void add_group_entry(struct entry_list *list, const struct ks_schema *s, const struct ks_group_version *gv)
{
	const char *group = ks_schema_text(s, gv->group);
	size_t n = list->n;

	if (!*group)
		return;
	add_entry(list, (struct entry){.s = s, .gv = gv, .is_group = true}, group, "");
	if (list->n == n + 1) {
		struct entry last = list->items[--list->n];

		if (has_path(list, last.path, true))
			free(last.path);
		else
			list->items[list->n++] = last;
	}
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

static void free_entries(struct entry_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i].path);
	free(list->items);
}

static int collect_entries(const struct ks_openapi *api, struct entry_list *list)
{
	const struct ks_discovery *d = api->served;

	*list = (struct entry_list){0};
	for (size_t i = 0; i < N_PLAIN; i++) {
		if (!plain_documents[i].issuer || api->issuer)
			add_entry(list, (struct entry){.s = &ks_schema_builtin, .plain = &plain_documents[i]}, "", "");
	}
	for (size_t i = 0; i < d->n_schemas; i++) {
		const struct ks_schema *s = d->schemas[i];

		for (uint32_t g = 0; g < s->n_group_versions; g++) {
			const struct ks_group_version *gv = &s->group_versions[g];

			if (d->is_served && !d->is_served(s, gv, d->data))
				continue;
			add_group_entry(list, s, gv);
			add_entry(
				list, (struct entry){.s = s, .gv = gv}, ks_schema_text(s, gv->group), ks_schema_text(s, gv->version));
		}
	}
	if (list->failed) {
		free_entries(list);
		return -ENOMEM;
	}
	qsort(list->items, list->n, sizeof(*list->items), compare_entries);
	return 0;
}

static int writer_init(struct ks_openapi_writer *w, const struct ks_openapi *api, const struct ks_schema *s, int version)
{
	*w = (struct ks_openapi_writer){.s = s, .version = version, .cbor = api->cbor};
	ks_document_init(&w->doc);
	w->used = calloc(s->n_types, 1);
	if (!w->used)
		return -ENOMEM;
	w->status = ks_schema_find_type(s, META "Status");
	w->delete_options = ks_schema_find_type(s, META "DeleteOptions");
	w->watch_event = ks_schema_find_type(s, META "WatchEvent");
	w->list_options = ks_schema_find_type(s, META "ListOptions");
	w->patch_options = ks_schema_find_type(s, META "PatchOptions");
	return 0;
}

static int writer_finish(struct ks_openapi_writer *w, int rc, struct ks_bytes **out_r)
{
	struct ks_bytes *bytes;

	free(w->used);
	if (rc) {
		ks_document_fini(&w->doc);
		return rc;
	}
	bytes = ks_document_finish(&w->doc);
	if (!bytes)
		return -ENOMEM;
	*out_r = bytes;
	return 0;
}

static void add_plain_path(struct ks_openapi_writer *w, const struct plain_document *p)
{
	struct ks_buf path = {0};
	struct ks_openapi_operation o = {
		.method = "get", .tag = p->tag, .id = ks_str_from(p->operation_id), .produces = p->produces,
		.answer = p->answer ? KS_BODY_TYPE : KS_BODY_TEXT,
		.answer_type = p->answer ? ks_schema_find_type(w->s, p->answer) : 0,
	};

	ks_buf_printf(&path, "/%s/", p->path);
	ks_openapi_path(w, ks_buf_str(&path), &o, 1, 0);
	w->doc.out.failed |= path.failed;
	ks_buf_fini(&path);
}

static void add_group_path(struct ks_openapi_writer *w, const char *path_text, const char *group)
{
	struct ks_buf path = {0}, id = {0}, tag = {0};
	struct ks_openapi_operation o = {
		.method = "get", .answer = KS_BODY_TYPE, .answer_type = ks_schema_find_type(w->s, META "APIGroup")};

	ks_buf_printf(&path, "/%s/", path_text);
	ks_buf_add_str(&id, "get");
	ks_openapi_add_group_id(&id, group, true);
	ks_buf_add_str(&id, "APIGroup");
	ks_openapi_add_group_id(&tag, group, false);
	ks_buf_add_char(&tag, '\0');
	if (!tag.failed) {
		o.tag = tag.data;
		o.id = ks_buf_str(&id);
		ks_openapi_path(w, ks_buf_str(&path), &o, 1, 0);
	}
	w->doc.out.failed |= path.failed || id.failed || tag.failed;
	ks_buf_fini(&path);
	ks_buf_fini(&id);
	ks_buf_fini(&tag);
}

static int add_entry_paths(struct ks_openapi_writer *w, const struct entry *e)
{
	if (e->plain)
		add_plain_path(w, e->plain);
	else if (e->is_group)
		add_group_path(w, e->path, ks_schema_text(w->s, e->gv->group));
	else
		return ks_openapi_group_version_paths(w, e->gv);
	return w->doc.out.failed ? -ENOMEM : 0;
}

static void add_head(struct ks_openapi_writer *w, const char *key, const char *value, const char *version)
{
	struct ks_document *doc = &w->doc;

	ks_document_open(doc, '{');
	ks_document_add(doc, key, value);
	ks_document_enter(doc, "info", '{');
	ks_document_add(doc, "title", "Kubernetes");
	ks_document_add(doc, "version", version);
	ks_document_close(doc, '}');
	ks_document_enter(doc, "paths", '{');
}

static const char security_schemes[] = "{\"BearerToken\":{\"type\":\"apiKey\",\"description\":\"Bearer Token "
									   "authentication\",\"name\":\"authorization\",\"in\":\"header\"}}";

static int write_v3(const struct ks_openapi *api, const struct entry *e, struct ks_bytes **out_r)
{
	struct ks_openapi_writer w;
	int rc = writer_init(&w, api, e->s, 3);

	if (rc)
		return writer_finish(&w, rc, out_r);
	if (e->gv && !e->is_group) {
		w.group = ks_schema_text(e->s, e->gv->group);
		w.group_version = ks_schema_text(e->s, e->gv->version);
	}
	add_head(&w, "openapi", "3.0.0", api->version);
	rc = add_entry_paths(&w, e);
	if (rc)
		return writer_finish(&w, rc, out_r);
	ks_document_close(&w.doc, '}');
	ks_document_enter(&w.doc, "components", '{');
	ks_document_enter(&w.doc, "schemas", '{');
	rc = ks_openapi_schemas(&w);
	ks_document_close(&w.doc, '}');
	ks_document_add_raw(&w.doc, "securitySchemes", security_schemes);
	ks_document_close(&w.doc, '}');
	ks_document_close(&w.doc, '}');
	return writer_finish(&w, rc, out_r);
}

static const struct entry *find_entry(const struct entry_list *list, struct ks_str path)
{
	for (size_t i = 0; i < list->n; i++) {
		if (ks_str_is(path, list->items[i].path))
			return &list->items[i];
	}
	return NULL;
}

int ks_openapi_v3_document(const struct ks_openapi *api, struct ks_str path, struct ks_bytes **out_r)
{
	struct entry_list list;
	const struct entry *e;
	int rc = collect_entries(api, &list);

	if (rc)
		return rc;
	e = find_entry(&list, path);
	rc = e ? write_v3(api, e, out_r) : -ENOENT;
	free_entries(&list);
	return rc;
}

/* A digest of everything that documents of this schema are made of. */
static int hash_schema(const struct ks_openapi *api, const struct ks_schema *s, char hash_r[KS_DOCUMENT_HASH_SIZE])
{
	struct ks_buf all = {0};
	int rc;

	ks_buf_add_str(&all, api->version);
	ks_buf_add_char(&all, api->cbor ? '\1' : '\0');
	ks_buf_add(&all, s->types, s->n_types * sizeof(*s->types));
	ks_buf_add(&all, s->fields, s->n_fields * sizeof(*s->fields));
	ks_buf_add(&all, s->resources, s->n_resources * sizeof(*s->resources));
	ks_buf_add(&all, s->kinds, s->n_kinds * sizeof(*s->kinds));
	ks_buf_add(&all, s->strings, s->strings_size);
	if (s->descriptions)
		ks_buf_add(&all, &s->descriptions->hash, sizeof(s->descriptions->hash));
	rc = all.failed ? -ENOMEM : ks_document_hash(all.data, all.len, hash_r);
	ks_buf_fini(&all);
	return rc;
}

static int hash_path(const char *schema_hash, struct ks_str path, char hash_r[KS_DOCUMENT_HASH_SIZE])
{
	struct ks_buf all = {0};
	int rc;

	ks_buf_add_str(&all, schema_hash);
	ks_buf_add(&all, path.p, path.n);
	rc = all.failed ? -ENOMEM : ks_document_hash(all.data, all.len, hash_r);
	ks_buf_fini(&all);
	return rc;
}

int ks_openapi_v3_hash(const struct ks_openapi *api, struct ks_str path, char hash_r[KS_DOCUMENT_HASH_SIZE])
{
	char schema_hash[KS_DOCUMENT_HASH_SIZE];
	struct entry_list list;
	const struct entry *e;
	int rc = collect_entries(api, &list);

	if (rc)
		return rc;
	e = find_entry(&list, path);
	rc = e ? hash_schema(api, e->s, schema_hash) : -ENOENT;
	free_entries(&list);
	return rc ? rc : hash_path(schema_hash, path, hash_r);
}

static int add_index_entry(struct ks_document *doc, const struct entry *e, const char *schema_hash)
{
	char hash[KS_DOCUMENT_HASH_SIZE];
	int rc = hash_path(schema_hash, ks_str_from(e->path), hash);

	if (rc)
		return rc;
	ks_document_enter(doc, e->path, '{');
	ks_document_key(doc, "serverRelativeURL");
	ks_document_open(doc, '"');
	ks_buf_printf(&doc->out, "/openapi/v3/%s?hash=%s", e->path, hash);
	ks_document_close(doc, '"');
	ks_document_close(doc, '}');
	return 0;
}

int ks_openapi_v3_index(const struct ks_openapi *api, struct ks_bytes **out_r)
{
	char schema_hash[KS_DOCUMENT_HASH_SIZE];
	const struct ks_schema *hashed = NULL;
	struct entry_list list;
	struct ks_document doc;
	int rc = collect_entries(api, &list);

	if (rc)
		return rc;
	ks_document_init(&doc);
	ks_document_open(&doc, '{');
	ks_document_enter(&doc, "paths", '{');
	for (size_t i = 0; rc == 0 && i < list.n; i++) {
		if (list.items[i].s != hashed)
			rc = hash_schema(api, list.items[i].s, schema_hash);
		hashed = list.items[i].s;
		if (rc == 0)
			rc = add_index_entry(&doc, &list.items[i], schema_hash);
	}
	ks_document_close(&doc, '}');
	ks_document_close(&doc, '}');
	free_entries(&list);
	if (rc) {
		ks_document_fini(&doc);
		return rc;
	}
	*out_r = ks_document_finish(&doc);
	return *out_r ? 0 : -ENOMEM;
}

static int write_v2_paths(struct ks_openapi_writer *w, const struct entry_list *list)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < list->n; i++) {
		if (list->items[i].s == w->s)
			rc = add_entry_paths(w, &list->items[i]);
	}
	return rc;
}

int ks_openapi_v2_document(const struct ks_openapi *api, struct ks_bytes **out_r)
{
	struct ks_openapi_writer w;
	struct entry_list list;
	int rc = collect_entries(api, &list);

	if (rc)
		return rc;
	rc = writer_init(&w, api, &ks_schema_builtin, 2);
	if (rc == 0) {
		add_head(&w, "swagger", "2.0", api->version);
		rc = write_v2_paths(&w, &list);
	}
	free_entries(&list);
	if (rc)
		return writer_finish(&w, rc, out_r);
	ks_document_close(&w.doc, '}');
	ks_document_enter(&w.doc, "definitions", '{');
	rc = ks_openapi_schemas(&w);
	ks_document_close(&w.doc, '}');
	ks_openapi_parameters(&w);
	ks_document_add_raw(&w.doc, "securityDefinitions", security_schemes);
	ks_document_add_raw(&w.doc, "security", "[{\"BearerToken\":[]}]");
	ks_document_close(&w.doc, '}');
	return writer_finish(&w, rc, out_r);
}
