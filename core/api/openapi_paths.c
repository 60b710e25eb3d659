/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Which paths and operations a resource has, by its verbs. */
#include <ctype.h>
#include <errno.h>

#include "core/api/openapi_private.h"

/* What is being written, and the texts made for it. */
struct path_maker {
	struct ks_openapi_writer *w;
	const struct ks_resource *r;    /* whose paths */
	const char *parent_kind;        /* kind of the resource itself */
	const char *subresource;        /* "status"; "" for the resource itself */
	struct ks_buf root;             /* /apis/apps/v1 */
	struct ks_buf path;
	struct ks_buf group_version_id; /* AppsV1 */
	struct ks_buf tag;              /* apps_v1, with a NUL */
	struct ks_buf ids[7];
	struct ks_openapi_operation operations[7];
	size_t n;
	const char *scope_id;           /* "Namespaced" or "" */
};

void ks_openapi_add_group_id(struct ks_buf *out, const char *group, bool capital)
{
	size_t n = strlen(group);

	if (n == 0)
		group = "core", n = 4;
	else if (n > 7 && strcmp(group + n - 7, ".k8s.io") == 0)
		n -= 7;
	for (size_t i = 0; i < n; i++) {
		if (group[i] == '.' || group[i] == '-')
			capital = true;
		else if (capital)
			ks_buf_add_char(out, (char)toupper((unsigned char)group[i])), capital = false;
		else
			ks_buf_add_char(out, group[i]);
	}
}

static void add_capital(struct ks_buf *out, const char *text)
{
	if (!*text)
		return;
	ks_buf_add_char(out, (char)toupper((unsigned char)*text));
	ks_buf_add_str(out, text + 1);
}

static const char *text_of(const struct path_maker *m, uint32_t offset)
{
	return ks_schema_text(m->w->s, offset);
}

/* The operation id: what it does, to what; `middle` stands after the version, `tail` at the end. */
static struct ks_str make_id(struct path_maker *m, const char *prefix, const char *middle, const char *tail)
{
	struct ks_buf *id = &m->ids[m->n];

	ks_buf_clear(id);
	ks_buf_add_str(id, prefix);
	ks_buf_add(id, m->group_version_id.data, m->group_version_id.len);
	add_capital(id, middle);
	ks_buf_add_str(id, m->scope_id);
	ks_buf_add_str(id, m->parent_kind);
	add_capital(id, m->subresource);
	ks_buf_add_str(id, tail);
	return ks_buf_str(id);
}

static struct ks_openapi_operation *add_operation(
	struct path_maker *m, const char *method, const char *action, struct ks_str id, uint64_t parameters)
{
	struct ks_openapi_operation *o = &m->operations[m->n++];

	*o = (struct ks_openapi_operation){
		.method = method,
		.action = action,
		.id = id,
		.parameters = parameters,
		.tag = m->tag.data,
		.answer = KS_BODY_TYPE,
		.answer_type = m->r->type,
		.kind_group = text_of(m, m->r->kind_group),
		.kind_version = text_of(m, m->r->kind_version),
		.kind = text_of(m, m->r->kind),
	};
	return o;
}

static void add_list(struct path_maker *m, uint64_t where, const char *tail)
{
	struct ks_openapi_operation *o =
		add_operation(m, "get", "list", make_id(m, "list", "", tail), KS_PARAMS_LIST | where);

	o->answer_type = m->r->list_type;
	o->produces = KS_MEDIA_STREAM;
}

static void add_watch(struct path_maker *m, const char *action, uint64_t where, const char *tail)
{
	struct ks_openapi_operation *o =
		add_operation(m, "get", action, make_id(m, "watch", "", tail), KS_PARAMS_LIST | where);

	o->answer_type = m->w->watch_event;
	o->produces = KS_MEDIA_STREAM;
}

static void add_create(struct path_maker *m, uint64_t where)
{
	struct ks_openapi_operation *o =
		add_operation(m, "post", "post", make_id(m, "create", "", ""), KS_PARAMS_WRITE | where);

	o->body = KS_BODY_TYPE;
	o->body_type = m->r->type;
	o->body_required = true;
	o->answers = KS_ANSWER_CREATED | KS_ANSWER_ACCEPTED;
}

static void add_update(struct path_maker *m, uint64_t where)
{
	struct ks_openapi_operation *o =
		add_operation(m, "put", "put", make_id(m, "replace", "", ""), KS_PARAMS_WRITE | where);

	o->body = KS_BODY_TYPE;
	o->body_type = m->r->type;
	o->body_required = true;
	o->answers = KS_ANSWER_CREATED;
}

static void add_patch(struct path_maker *m, uint64_t where)
{
	struct ks_openapi_operation *o =
		add_operation(m, "patch", "patch", make_id(m, "patch", "", ""), KS_PARAMS_PATCH | where);

	o->body = KS_BODY_PATCH;
	o->body_required = true;
	o->answers = KS_ANSWER_CREATED;
}

static void add_delete(struct path_maker *m, uint64_t where)
{
	struct ks_openapi_operation *o =
		add_operation(m, "delete", "delete", make_id(m, "delete", "", ""), KS_PARAMS_DELETE | where);

	o->body = KS_BODY_TYPE;
	o->body_type = m->w->delete_options;
	if (!(m->r->flags & KS_RESOURCE_RETURNS_DELETED))
		o->answer_type = m->w->status;
	o->answers = KS_ANSWER_ACCEPTED;
}

static void add_delete_collection(struct path_maker *m, uint64_t where)
{
	struct ks_str id = make_id(m, "delete", "Collection", "");
	struct ks_openapi_operation *o =
		add_operation(m, "delete", "deletecollection", id, KS_PARAMS_DELETE_COLLECTION | where);

	o->body = KS_BODY_TYPE;
	o->body_type = m->w->delete_options;
	o->answer_type = m->w->status;
}

/* Writes the path that is root + `middle` + resource + `tail` with the operations collected. */
static void flush_path(
	struct path_maker *m, const char *middle, const char *resource, const char *tail, uint16_t options)
{
	ks_buf_clear(&m->path);
	ks_buf_add(&m->path, m->root.data, m->root.len);
	ks_buf_add_str(&m->path, middle);
	ks_buf_add_str(&m->path, resource);
	ks_buf_add_str(&m->path, tail);
	ks_openapi_path(m->w, ks_buf_str(&m->path), m->operations, m->n, options);
	m->n = 0;
}

static void add_collection_paths(struct path_maker *m, bool namespaced, const char *in_namespace, uint64_t scope)
{
	const char *resource = text_of(m, m->r->resource);
	unsigned verbs = m->r->verbs;

	if (verbs & KS_VERB_LIST)
		add_list(m, scope, "");
	if (verbs & KS_VERB_CREATE)
		add_create(m, scope | KS_PARAM(PRETTY));
	if (verbs & KS_VERB_DELETECOLLECTION)
		add_delete_collection(m, scope);
	flush_path(m, in_namespace, resource, "", 0);
	if (!namespaced || !(verbs & KS_VERB_LIST))
		return;
	m->scope_id = "";
	add_list(m, 0, "ForAllNamespaces");
	flush_path(m, "/", resource, "", 0);
	m->scope_id = "Namespaced";
}

static void add_watch_paths(struct path_maker *m, bool namespaced, uint64_t scope)
{
	const char *resource = text_of(m, m->r->resource);
	const char *in_namespace = namespaced ? "/watch/namespaces/{namespace}/" : "/watch/";

	if (!(m->r->verbs & KS_VERB_WATCH))
		return;
	add_watch(m, "watchlist", scope, "List");
	flush_path(m, in_namespace, resource, "", 0);
	add_watch(m, "watch", scope | KS_PARAM(NAME), "");
	flush_path(m, in_namespace, resource, "/{name}", 0);
	if (!namespaced)
		return;
	m->scope_id = "";
	add_watch(m, "watchlist", 0, "ListForAllNamespaces");
	flush_path(m, "/watch/", resource, "", 0);
	m->scope_id = "Namespaced";
}

/* Get, update, patch, delete of one object or of its subresource. */
static void add_object_operations(struct path_maker *m, uint64_t where)
{
	unsigned verbs = m->r->verbs;

	if (verbs & KS_VERB_GET)
		add_operation(m, "get", "get", make_id(m, "read", "", ""), KS_PARAM(PRETTY) | where);
	if (verbs & KS_VERB_UPDATE)
		add_update(m, where);
	if (m->r->is_subresource && verbs & KS_VERB_CREATE)
		add_create(m, where);
	if (verbs & KS_VERB_DELETE)
		add_delete(m, where);
	if (verbs & KS_VERB_PATCH)
		add_patch(m, where);
}

static void add_connect(struct path_maker *m, uint64_t where, const char *tail)
{
	static const char *const all[] = {"get", "put", "post", "delete", "options", "head", "patch"};
	bool proxied = m->r->verbs & KS_VERB_UPDATE;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct ks_openapi_operation *o;

		if (!proxied && strcmp(all[i], "get") != 0 && strcmp(all[i], "post") != 0)
			continue;
		o = add_operation(m, all[i], "connect", make_id(m, "connect", all[i], tail), where);
		o->answer = KS_BODY_TEXT;
		o->produces = KS_MEDIA_ANY;
	}
}

static bool ends_with(const char *text, const char *tail)
{
	size_t n = strlen(text), m = strlen(tail);

	return n >= m && strcmp(text + n - m, tail) == 0;
}

static bool is_connect(const struct path_maker *m)
{
	return m->r->is_subresource && ends_with(text_of(m, m->r->kind), "Options");
}

static uint16_t log_options(const struct path_maker *m)
{
	const struct ks_kind *k =
		ks_schema_find_kind(m->w->s, KS_STR_LIT(""), KS_STR_LIT("v1"), KS_STR_LIT("PodLogOptions"));

	return k ? k->type : 0;
}

static void add_object_paths(struct path_maker *m, const char *in_namespace, uint64_t scope)
{
	const char *parent = text_of(m, m->w->s->resources[m->r->parent].resource);
	struct ks_buf tail = {0};
	uint64_t where = scope | KS_PARAM(NAME);
	uint16_t options = 0;

	ks_buf_add_str(&tail, "/{name}");
	if (*m->subresource) {
		ks_buf_add_char(&tail, '/');
		ks_buf_add_str(&tail, m->subresource);
	}
	ks_buf_add_char(&tail, '\0');
	if (tail.failed)
		goto out;
	if (is_connect(m)) {
		options = m->r->type;
		add_connect(m, where, "");
	} else {
		add_object_operations(m, where);
		if (strcmp(text_of(m, m->r->resource), "pods/log") == 0 && m->n == 1) {
			m->operations[0].answer = KS_BODY_TEXT;
			m->operations[0].produces = KS_MEDIA_LOG;
			options = log_options(m);
		}
	}
	flush_path(m, in_namespace, parent, tail.data, options);
	if (is_connect(m) && m->r->verbs & KS_VERB_UPDATE) {
		tail.len--;
		ks_buf_add(&tail, "/{path}", sizeof("/{path}"));
		add_connect(m, where | KS_PARAM(PATH), "WithPath");
		if (!tail.failed)
			flush_path(m, in_namespace, parent, tail.data, options);
	}
out:
	m->w->doc.out.failed |= tail.failed;
	ks_buf_fini(&tail);
}

static void add_resource(struct path_maker *m, const struct ks_resource *r)
{
	bool namespaced = r->scope == KS_SCOPE_NAMESPACED;
	uint64_t scope = namespaced ? KS_PARAM(NAMESPACE) : 0;
	const char *in_namespace = namespaced ? "/namespaces/{namespace}/" : "/";
	const char *slash = strchr(text_of(m, r->resource), '/');

	m->r = r;
	m->parent_kind = text_of(m, m->w->s->resources[r->parent].kind);
	m->subresource = slash ? slash + 1 : "";
	m->scope_id = namespaced ? "Namespaced" : "";
	if (!r->is_subresource)
		add_collection_paths(m, namespaced, in_namespace, scope);
	add_object_paths(m, in_namespace, scope);
	if (!r->is_subresource)
		add_watch_paths(m, namespaced, scope);
}

static void add_group_version_path(struct path_maker *m, uint16_t resource_list)
{
	struct ks_openapi_operation o = {
		.method = "get", .tag = m->tag.data, .answer = KS_BODY_TYPE, .answer_type = resource_list,
	};

	ks_buf_clear(&m->ids[0]);
	ks_buf_add_str(&m->ids[0], "get");
	ks_buf_add(&m->ids[0], m->group_version_id.data, m->group_version_id.len);
	ks_buf_add_str(&m->ids[0], "APIResources");
	o.id = ks_buf_str(&m->ids[0]);
	ks_buf_add(&m->path, m->root.data, m->root.len);
	ks_buf_add_char(&m->path, '/');
	ks_openapi_path(m->w, ks_buf_str(&m->path), &o, 1, 0);
}

static bool collect_failures(struct path_maker *m)
{
	bool failed = m->root.failed || m->path.failed || m->group_version_id.failed || m->tag.failed;

	ks_buf_fini(&m->root);
	ks_buf_fini(&m->path);
	ks_buf_fini(&m->group_version_id);
	ks_buf_fini(&m->tag);
	for (size_t i = 0; i < sizeof(m->ids) / sizeof(m->ids[0]); i++) {
		failed = failed || m->ids[i].failed;
		ks_buf_fini(&m->ids[i]);
	}
	return failed;
}

int ks_openapi_group_version_paths(struct ks_openapi_writer *w, const struct ks_group_version *gv)
{
	struct path_maker m = {.w = w};
	const char *group = ks_schema_text(w->s, gv->group), *version = ks_schema_text(w->s, gv->version);

	ks_buf_printf(&m.root, *group ? "/apis/%s/%s" : "/api%s/%s", group, version);
	ks_openapi_add_group_id(&m.group_version_id, group, true);
	add_capital(&m.group_version_id, version);
	ks_openapi_add_group_id(&m.tag, group, false);
	ks_buf_printf(&m.tag, "_%s", version);
	ks_buf_add_char(&m.tag, '\0');
	if (!m.root.failed && !m.tag.failed) {
		add_group_version_path(&m, ks_schema_find_type(w->s, "io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList"));
		for (uint16_t i = 0; i < gv->n_resources; i++)
			add_resource(&m, &w->s->resources[gv->first_resource + i]);
	}
	return collect_failures(&m) || w->doc.out.failed ? -ENOMEM : 0;
}
