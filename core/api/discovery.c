/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/discovery.h"

#include <errno.h>
#include <stdlib.h>

#include "core/api/document.h"

/* One group version of one schema; a group version may have several (custom resources have a schema each). */
struct served {
	const struct ks_schema *s;
	const struct ks_group_version *gv;
	struct ks_str group, version;
	size_t group_rank; /* where the group stands among the built-in ones; SIZE_MAX: after them, by name */
	size_t position;
};

struct served_list {
	struct served *items;
	size_t n;
};

struct version_parts {
	int stability; /* 2: GA, 1: beta, 0: alpha, -1: another name */
	unsigned long major, minor;
};

static bool take_number(struct ks_str *rest, unsigned long *out)
{
	size_t i = 0;

	*out = 0;
	while (i < rest->n && i < 9 && rest->p[i] >= '0' && rest->p[i] <= '9')
		*out = *out * 10 + (unsigned long)(rest->p[i++] - '0');
	*rest = ks_str_of(rest->p + i, rest->n - i);
	return i > 0;
}

static bool take_word(struct ks_str *rest, const char *word)
{
	if (!ks_str_starts(*rest, ks_str_from(word)))
		return false;
	*rest = ks_str_of(rest->p + strlen(word), rest->n - strlen(word));
	return true;
}

static struct version_parts parse_version(struct ks_str text)
{
	const struct version_parts other = {.stability = -1};
	struct version_parts v = {.stability = 2};

	if (!take_word(&text, "v") || !take_number(&text, &v.major))
		return other;
	if (text.n == 0)
		return v;
	if (take_word(&text, "beta"))
		v.stability = 1;
	else if (take_word(&text, "alpha"))
		v.stability = 0;
	else
		return other;
	if (!take_number(&text, &v.minor) || text.n != 0)
		return other;
	return v;
}

int ks_version_compare(struct ks_str a, struct ks_str b)
{
	struct version_parts x = parse_version(a), y = parse_version(b);

	if (x.stability != y.stability)
		return x.stability > y.stability ? -1 : 1;
	if (x.major != y.major)
		return x.major > y.major ? -1 : 1;
	if (x.minor != y.minor)
		return x.minor > y.minor ? -1 : 1;
	return x.stability < 0 ? ks_str_cmp(a, b) : 0;
}

/* Built-in groups keep the order of their tables, custom ones follow by name; so what belongs together stands together.
 */
static int compare_served(const void *a, const void *b)
{
	const struct served *x = a, *y = b;
	bool x_builtin = x->s->generation == 0, y_builtin = y->s->generation == 0;
	int c;

	if (x->group_rank != y->group_rank)
		return x->group_rank < y->group_rank ? -1 : 1;
	c = ks_str_cmp(x->group, y->group);
	if (c == 0 && x_builtin != y_builtin)
		c = x_builtin ? -1 : 1;
	if (c == 0 && !x_builtin)
		c = ks_version_compare(x->version, y->version);
	if (c)
		return c;
	return x->position < y->position ? -1 : x->position > y->position;
}

static size_t rank_of_group(const struct served_list *list, struct ks_str group, bool builtin)
{
	for (size_t i = 0; i < list->n && list->items[i].s->generation == 0; i++) {
		if (ks_str_eq(list->items[i].group, group))
			return list->items[i].group_rank;
	}
	return builtin ? list->n : SIZE_MAX;
}

static void collect_schema(const struct ks_discovery *d, const struct ks_schema *s, struct served_list *list)
{
	for (uint32_t g = 0; g < s->n_group_versions; g++) {
		const struct ks_group_version *gv = &s->group_versions[g];
		struct served *v = &list->items[list->n];

		if (d->is_served && !d->is_served(s, gv, d->data))
			continue;
		*v = (struct served){
			.s = s, .gv = gv, .position = list->n,
			.group = ks_str_from(ks_schema_text(s, gv->group)),
			.version = ks_str_from(ks_schema_text(s, gv->version)),
		};
		v->group_rank = rank_of_group(list, v->group, s->generation == 0);
		list->n++;
	}
}

static int collect(const struct ks_discovery *d, struct served_list *list)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_schemas; i++)
		n += d->schemas[i]->n_group_versions;
	*list = (struct served_list){.items = calloc(n ? n : 1, sizeof(*list->items))};
	if (!list->items)
		return -ENOMEM;
	for (size_t i = 0; i < d->n_schemas; i++)
		collect_schema(d, d->schemas[i], list);
	qsort(list->items, list->n, sizeof(*list->items), compare_served);
	return 0;
}

static bool same_group(const struct served *a, const struct served *b)
{
	return ks_str_eq(a->group, b->group);
}

static bool same_version(const struct served *a, const struct served *b)
{
	return same_group(a, b) && ks_str_eq(a->version, b->version);
}

static bool starts_group(const struct served_list *list, size_t i)
{
	return i == 0 || !same_group(&list->items[i - 1], &list->items[i]);
}

static bool starts_version(const struct served_list *list, size_t i)
{
	return i == 0 || !same_version(&list->items[i - 1], &list->items[i]);
}

static const char *text_of(const struct served *v, uint32_t offset)
{
	return ks_schema_text(v->s, offset);
}

static void add_group_version(struct ks_document *doc, struct ks_str group, struct ks_str version)
{
	ks_document_key(doc, "groupVersion");
	ks_document_open(doc, '"');
	ks_buf_add(&doc->out, group.p, group.n);
	ks_buf_add_str(&doc->out, group.n ? "/" : "");
	ks_buf_add(&doc->out, version.p, version.n);
	ks_document_close(doc, '"');
}

static void add_version(struct ks_document *doc, const struct served *v)
{
	ks_document_open(doc, '{');
	add_group_version(doc, v->group, v->version);
	ks_document_add(doc, "version", text_of(v, v->gv->version));
	ks_document_close(doc, '}');
}

/* The members of an APIGroup from its first served version on. */
static void add_group(struct ks_document *doc, const struct served_list *list, size_t first)
{
	const struct served *preferred = &list->items[first];

	ks_document_add(doc, "name", text_of(preferred, preferred->gv->group));
	ks_document_enter(doc, "versions", '[');
	for (size_t i = first; i < list->n && same_group(&list->items[i], preferred); i++) {
		if (starts_version(list, i))
			add_version(doc, &list->items[i]);
	}
	ks_document_close(doc, ']');
	ks_document_key(doc, "preferredVersion");
	add_version(doc, preferred);
}

static int finish(struct ks_document *doc, struct served_list *list, int rc, struct ks_bytes **out_r)
{
	struct ks_bytes *bytes;

	free(list->items);
	if (rc) {
		ks_document_fini(doc);
		return rc;
	}
	bytes = ks_document_finish(doc);
	if (!bytes)
		return -ENOMEM;
	*out_r = bytes;
	return 0;
}

int ks_discovery_versions(const struct ks_discovery *d, struct ks_bytes **out_r)
{
	struct served_list list;
	struct ks_document doc;
	int rc = collect(d, &list);

	if (rc)
		return rc;
	ks_document_init(&doc);
	ks_document_open(&doc, '{');
	ks_document_add(&doc, "kind", "APIVersions");
	ks_document_enter(&doc, "versions", '[');
	for (size_t i = 0; i < list.n; i++) {
		if (list.items[i].group.n == 0)
			ks_document_text(&doc, list.items[i].version);
	}
	ks_document_close(&doc, ']');
	ks_document_enter(&doc, "serverAddressByClientCIDRs", '[');
	if (d->server_address) {
		ks_document_open(&doc, '{');
		ks_document_add(&doc, "clientCIDR", "0.0.0.0/0");
		ks_document_add(&doc, "serverAddress", d->server_address);
		ks_document_close(&doc, '}');
	}
	ks_document_close(&doc, ']');
	ks_document_close(&doc, '}');
	return finish(&doc, &list, 0, out_r);
}

int ks_discovery_groups(const struct ks_discovery *d, struct ks_bytes **out_r)
{
	struct served_list list;
	struct ks_document doc;
	int rc = collect(d, &list);

	if (rc)
		return rc;
	ks_document_init(&doc);
	ks_document_open(&doc, '{');
	ks_document_add(&doc, "kind", "APIGroupList");
	ks_document_add(&doc, "apiVersion", "v1");
	ks_document_enter(&doc, "groups", '[');
	for (size_t i = 0; i < list.n; i++) {
		if (list.items[i].group.n == 0 || !starts_group(&list, i))
			continue;
		ks_document_open(&doc, '{');
		add_group(&doc, &list, i);
		ks_document_close(&doc, '}');
	}
	ks_document_close(&doc, ']');
	ks_document_close(&doc, '}');
	return finish(&doc, &list, 0, out_r);
}

int ks_discovery_group(const struct ks_discovery *d, struct ks_str group, struct ks_bytes **out_r)
{
	struct served_list list;
	struct ks_document doc;
	int rc = collect(d, &list);
	size_t first = 0;

	if (rc)
		return rc;
	ks_document_init(&doc);
	while (first < list.n && !ks_str_eq(list.items[first].group, group))
		first++;
	if (group.n == 0 || first == list.n)
		return finish(&doc, &list, -ENOENT, out_r);
	ks_document_open(&doc, '{');
	ks_document_add(&doc, "kind", "APIGroup");
	ks_document_add(&doc, "apiVersion", "v1");
	add_group(&doc, &list, first);
	ks_document_close(&doc, '}');
	return finish(&doc, &list, 0, out_r);
}

static void add_texts(struct ks_document *doc, const struct ks_schema *s, const char *key, uint16_t first, uint16_t n)
{
	if (n == 0)
		return;
	ks_document_enter(doc, key, '[');
	for (uint16_t i = 0; i < n; i++)
		ks_document_text(doc, ks_str_from(ks_schema_text(s, s->lists[first + i])));
	ks_document_close(doc, ']');
}

static void add_verbs(struct ks_document *doc, uint16_t verbs)
{
	static const struct { uint16_t bit; const char *name;
	} names[] = {
		{KS_VERB_CONNECT, "connect"},
		{KS_VERB_CREATE, "create"},
		{KS_VERB_DELETE, "delete"},
		{KS_VERB_DELETECOLLECTION, "deletecollection"},
		{KS_VERB_GET, "get"},
		{KS_VERB_LIST, "list"},
		{KS_VERB_PATCH, "patch"},
		{KS_VERB_PROXY, "proxy"},
		{KS_VERB_UPDATE, "update"},
		{KS_VERB_WATCH, "watch"},
	};

	ks_document_enter(doc, "verbs", '[');
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (verbs & names[i].bit)
			ks_document_text(doc, ks_str_from(names[i].name));
	}
	ks_document_close(doc, ']');
}

/* A subresource's body may be a kind of another group (Scale, Eviction). */
static bool foreign_kind(const struct ks_schema *s, const struct ks_resource *r)
{
	return strcmp(ks_schema_text(s, r->kind_group), ks_schema_text(s, r->group)) != 0 ||
		strcmp(ks_schema_text(s, r->kind_version), ks_schema_text(s, r->version)) != 0;
}

static void add_plain_resource(struct ks_document *doc, const struct ks_schema *s, const struct ks_resource *r)
{
	ks_document_open(doc, '{');
	ks_document_add(doc, "name", ks_schema_text(s, r->resource));
	ks_document_add(doc, "singularName", ks_schema_text(s, r->singular));
	ks_document_add_raw(doc, "namespaced", r->scope == KS_SCOPE_NAMESPACED ? "true" : "false");
	if (foreign_kind(s, r)) {
		ks_document_add(doc, "group", ks_schema_text(s, r->kind_group));
		ks_document_add(doc, "version", ks_schema_text(s, r->kind_version));
	}
	ks_document_add(doc, "kind", ks_schema_text(s, r->kind));
	add_verbs(doc, r->verbs);
	if (!r->is_subresource) {
		add_texts(doc, s, "shortNames", r->first_short_name, r->n_short_names);
		add_texts(doc, s, "categories", r->first_category, r->n_categories);
		if (*ks_schema_text(s, r->storage_version_hash))
			ks_document_add(doc, "storageVersionHash", ks_schema_text(s, r->storage_version_hash));
	}
	ks_document_close(doc, '}');
}

int ks_discovery_resources(
	const struct ks_discovery *d, struct ks_str group, struct ks_str version, struct ks_bytes **out_r)
{
	struct served_list list;
	struct ks_document doc;
	int rc = collect(d, &list), found = -ENOENT;

	if (rc)
		return rc;
	ks_document_init(&doc);
	ks_document_open(&doc, '{');
	ks_document_add(&doc, "kind", "APIResourceList");
	if (group.n > 0)
		ks_document_add(&doc, "apiVersion", "v1");
	for (size_t i = 0; i < list.n; i++) {
		const struct served *v = &list.items[i];

		if (!ks_str_eq(v->group, group) || !ks_str_eq(v->version, version))
			continue;
		if (found != 0) {
			add_group_version(&doc, group, version);
			ks_document_enter(&doc, "resources", '[');
			found = 0;
		}
		for (uint16_t r = 0; r < v->gv->n_resources; r++)
			add_plain_resource(&doc, v->s, &v->s->resources[v->gv->first_resource + r]);
	}
	ks_document_close(&doc, ']');
	ks_document_close(&doc, '}');
	return finish(&doc, &list, found, out_r);
}

static void add_response_kind(struct ks_document *doc, const struct ks_schema *s, const struct ks_resource *r)
{
	bool foreign = foreign_kind(s, r);

	ks_document_enter(doc, "responseKind", '{');
	ks_document_add(doc, "group", foreign ? ks_schema_text(s, r->kind_group) : "");
	ks_document_add(doc, "version", foreign ? ks_schema_text(s, r->kind_version) : "");
	ks_document_add(doc, "kind", ks_schema_text(s, r->kind));
	ks_document_close(doc, '}');
}

static void add_subresources(struct ks_document *doc, const struct served *v, uint16_t parent)
{
	const struct ks_schema *s = v->s;
	bool any = false;

	for (uint16_t i = 0; i < v->gv->n_resources; i++) {
		const struct ks_resource *r = &s->resources[v->gv->first_resource + i];

		if (!r->is_subresource || r->parent != parent)
			continue;
		if (!any)
			ks_document_enter(doc, "subresources", '[');
		any = true;
		ks_document_open(doc, '{');
		ks_document_add(doc, "subresource", strchr(ks_schema_text(s, r->resource), '/') + 1);
		add_response_kind(doc, s, r);
		add_verbs(doc, r->verbs);
		ks_document_close(doc, '}');
	}
	if (any)
		ks_document_close(doc, ']');
}

static void add_aggregated_resource(struct ks_document *doc, const struct served *v, uint16_t index)
{
	const struct ks_schema *s = v->s;
	const struct ks_resource *r = &s->resources[index];

	ks_document_open(doc, '{');
	ks_document_add(doc, "resource", ks_schema_text(s, r->resource));
	add_response_kind(doc, s, r);
	ks_document_add(doc, "scope", r->scope == KS_SCOPE_NAMESPACED ? "Namespaced" : "Cluster");
	ks_document_add(doc, "singularResource", ks_schema_text(s, r->singular));
	add_verbs(doc, r->verbs);
	add_texts(doc, s, "shortNames", r->first_short_name, r->n_short_names);
	add_texts(doc, s, "categories", r->first_category, r->n_categories);
	add_subresources(doc, v, index);
	ks_document_close(doc, '}');
}

static void add_aggregated_version(struct ks_document *doc, const struct served_list *list, size_t first)
{
	const struct served *v = &list->items[first];

	ks_document_open(doc, '{');
	ks_document_add(doc, "version", text_of(v, v->gv->version));
	ks_document_enter(doc, "resources", '[');
	for (size_t i = first; i < list->n && same_version(&list->items[i], v); i++) {
		const struct served *part = &list->items[i];

		for (uint16_t r = 0; r < part->gv->n_resources; r++) {
			uint16_t index = (uint16_t)(part->gv->first_resource + r);

			if (!part->s->resources[index].is_subresource)
				add_aggregated_resource(doc, part, index);
		}
	}
	ks_document_close(doc, ']');
	ks_document_add(doc, "freshness", "Current");
	ks_document_close(doc, '}');
}

static void add_aggregated_group(struct ks_document *doc, const struct served_list *list, size_t first)
{
	const struct served *v = &list->items[first];

	ks_document_open(doc, '{');
	ks_document_enter(doc, "metadata", '{');
	if (v->group.n > 0)
		ks_document_add(doc, "name", text_of(v, v->gv->group));
	ks_document_close(doc, '}');
	ks_document_enter(doc, "versions", '[');
	for (size_t i = first; i < list->n && same_group(&list->items[i], v); i++) {
		if (starts_version(list, i))
			add_aggregated_version(doc, list, i);
	}
	ks_document_close(doc, ']');
	ks_document_close(doc, '}');
}

int ks_discovery_aggregated(
	const struct ks_discovery *d, bool core, enum ks_discovery_form form, struct ks_bytes **out_r)
{
	struct served_list list;
	struct ks_document doc;
	int rc = collect(d, &list);

	if (rc)
		return rc;
	ks_document_init(&doc);
	ks_document_open(&doc, '{');
	ks_document_add(&doc, "kind", "APIGroupDiscoveryList");
	ks_document_add(
		&doc, "apiVersion", form == KS_DISCOVERY_V2 ? "apidiscovery.k8s.io/v2" : "apidiscovery.k8s.io/v2beta1");
	ks_document_add_raw(&doc, "metadata", "{}");
	ks_document_enter(&doc, "items", '[');
	for (size_t i = 0; i < list.n; i++) {
		if ((list.items[i].group.n == 0) == core && starts_group(&list, i))
			add_aggregated_group(&doc, &list, i);
	}
	ks_document_close(&doc, ']');
	ks_document_close(&doc, '}');
	return finish(&doc, &list, 0, out_r);
}

const char *ks_discovery_content_type(enum ks_discovery_form form)
{
	return form == KS_DISCOVERY_V2 ? "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" :
		"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
}
