/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/endpoints.h"

#include <errno.h>
#include <stdio.h>

#include "core/api/json.h"

#define SERVICE_LABEL "kubernetes.io/service-name"
#define MIRROR_LABEL "endpointslice.kubernetes.io/skip-mirror"
#define MANAGER "?fieldManager=kube-apiserver"
#define ENDPOINTS "/api/v1/namespaces/default/endpoints"
#define SLICES "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"

enum { TARGET_ROOM = 512 };

/* A comparison under way: of one object at a time. */
struct comparison {
	struct ks_server_state *server;
	const struct ks_endpoints *wanted;
	ks_endpoints_change change;
	void *arg;
	struct ks_arena arena;
	uint16_t resource;
	struct ks_cache_resource *cache;
	const char *collection;
};

static bool turn_to(struct comparison *c, const char *group, const char *resource, const char *collection)
{
	c->resource = ks_schema_find_resource(c->server->schema, ks_str_from(group), KS_STR_LIT("v1"), ks_str_from(resource));
	c->cache = c->resource == KS_NO_RESOURCE ? NULL : ks_cache_find(c->server->cache, c->resource);
	c->collection = collection;
	return c->cache;
}

/* -- what should be --------------------------------------------------------------------------------------------------- */

static bool both_everywhere(const struct ks_endpoints *wanted)
{
	unsigned n = 0;

	for (unsigned i = 0; i < wanted->n_servers; i++)
		n += wanted->servers[i].v6;
	return n * 2 == wanted->n_servers;
}

/* The servers of a family; those of the second one count only when every server has an address of both. */
static unsigned servers_of(const struct ks_endpoints *wanted, unsigned family, const struct ks_ip *out[KS_ENDPOINTS_SERVERS])
{
	unsigned n = 0;

	if (family == 1 && !both_everywhere(wanted))
		return 0;
	for (unsigned i = 0; i < wanted->n_servers; i++)
		if ((wanted->servers[i].v6 == wanted->v6[0]) == (family == 0))
			out[n++] = &wanted->servers[i];
	return n;
}

static void print_endpoints(const struct ks_endpoints *wanted, struct ks_buf *out)
{
	const struct ks_ip *servers[KS_ENDPOINTS_SERVERS];
	unsigned n = servers_of(wanted, 0, servers);
	char text[KS_IP_TEXT];

	ks_buf_add_str(out,
		"{\"kind\":\"Endpoints\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\",\"labels\":{"
		"\"" MIRROR_LABEL "\":\"true\"}},\"subsets\":[{\"addresses\":[");
	for (unsigned i = 0; i < n; i++) {
		ks_ip_print(servers[i], text);
		ks_buf_printf(out, "%s{\"ip\":\"%s\"}", i ? "," : "", text);
	}
	ks_buf_printf(out, "],\"ports\":[{\"name\":\"https\",\"port\":%u,\"protocol\":\"TCP\"}]}]}", wanted->port);
}

static const char *slice_name(const struct ks_endpoints *wanted, unsigned family)
{
	if (!family)
		return "kubernetes";
	return wanted->v6[family] ? "kubernetes-v6" : "kubernetes-v4";
}

static const char *address_type(const struct ks_endpoints *wanted, unsigned family)
{
	return wanted->v6[family] ? "IPv6" : "IPv4";
}

static void print_slice(const struct ks_endpoints *wanted, unsigned family, struct ks_buf *out)
{
	const struct ks_ip *servers[KS_ENDPOINTS_SERVERS];
	unsigned n = servers_of(wanted, family, servers);
	char text[KS_IP_TEXT];

	ks_buf_printf(out,
		"{\"kind\":\"EndpointSlice\",\"apiVersion\":\"discovery.k8s.io/"
		"v1\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\",\"labels\":{"
		"\"" SERVICE_LABEL "\":\"kubernetes\"}},\"addressType\":\"%s\",\"endpoints\":[",
		slice_name(wanted, family), address_type(wanted, family));
	for (unsigned i = 0; i < n; i++) {
		ks_ip_print(servers[i], text);
		ks_buf_printf(out, "%s{\"addresses\":[\"%s\"],\"conditions\":{\"ready\":true}}", i ? "," : "", text);
	}
	ks_buf_printf(out, "],\"ports\":[{\"name\":\"https\",\"port\":%u,\"protocol\":\"TCP\"}]}", wanted->port);
}

/* -- what is ---------------------------------------------------------------------------------------------------------- */

static struct ks_value *at(struct comparison *c, const struct ks_value *v, const char *path)
{
	return ks_value_at(c->server->schema, v, path);
}

static bool same(struct comparison *c, const struct ks_value *a, const struct ks_value *b, const char *path)
{
	static const struct ks_value nothing;
	const struct ks_value *x = at(c, a, path), *y = at(c, b, path);

	return ks_value_equal(x ? x : &nothing, y ? y : &nothing);
}

/* Ports that stand there stay, unless ours are to be put in their place. */
static void keep_ports(struct comparison *c, const struct ks_value *current, struct ks_value *wanted, const char *holder)
{
	const struct ks_value *list = at(c, current, holder), *had;
	struct ks_value *mine = at(c, wanted, holder);

	if (c->wanted->own_port)
		return;
	if (strcmp(holder, "subsets") == 0) {
		if (!ks_value_present(list) || list->kind != KS_LIST || list->n != 1)
			return;
		had = at(c, &list->items[0], "ports");
		mine = at(c, &mine->items[0], "ports");
	} else {
		had = list;
	}
	if (ks_value_present(had) && had->kind == KS_LIST && had->n)
		*mine = *had;
}

static int request(struct comparison *c, const char *method, const char *content_type, struct ks_str name, struct ks_str body)
{
	char target[TARGET_ROOM];

	snprintf(target, sizeof(target), "%s%s%.*s" MANAGER, c->collection, name.n ? "/" : "", (int)name.n, name.p ? name.p : "");
	return c->change(c->arg, method, content_type, target, body);
}

static void print_replacement(struct comparison *c, const struct ks_value *wanted, const char *path, const char *pointer, struct ks_buf *out)
{
	const struct ks_value *value = at(c, wanted, path);

	ks_buf_printf(out, "%s{\"op\":\"add\",\"path\":\"%s\",\"value\":", out->len ? "," : "[", pointer);
	if (ks_value_present(value))
		ks_json_encode(c->server->schema, value, out);
	else
		ks_buf_add_str(out, "[]");
	ks_buf_add_char(out, '}');
}

static int patch(struct comparison *c, const struct ks_value *wanted, struct ks_str name, const char *const *paths)
{
	struct ks_buf body;
	int result = -ENOMEM;

	ks_buf_init(&body);
	print_replacement(c, wanted, "metadata.labels", "/metadata/labels", &body);
	for (size_t i = 0; paths[i]; i++) {
		char pointer[64];

		snprintf(pointer, sizeof(pointer), "/%s", paths[i]);
		print_replacement(c, wanted, paths[i], pointer, &body);
	}
	ks_buf_add_char(&body, ']');
	if (!body.failed)
		result = request(c, "PATCH", "application/json-patch+json", name, ks_buf_str(&body));
	ks_buf_fini(&body);
	return result;
}

/* `paths`: what is ours of such an object beside its labels, the holder of the ports last. */
static int compare(struct comparison *c, struct ks_str name, const struct ks_buf *text, const char *const *paths)
{
	struct ks_object *object = ks_cache_get(c->cache, KS_STR_LIT("default"), name);
	struct ks_value wanted, current;
	const char *message, *holder = "";
	bool good;
	int result;

	if (text->failed) {
		ks_object_unref(object);
		return -ENOMEM;
	}
	if (!object)
		return request(c, "POST", NULL, (struct ks_str){0}, ks_buf_str(text));
	result = ks_json_decode(
		&c->arena, c->server->schema, c->server->schema->resources[c->resource].type, 0, text->data, text->len, &wanted, NULL, &message);
	if (!result)
		result = ks_object_tree(object, c->server->schema, &c->arena, &current);
	for (size_t i = 0; paths[i]; i++)
		holder = paths[i];
	if (!result)
		keep_ports(c, &current, &wanted, holder);
	good = !result && same(c, &wanted, &current, "metadata.labels");
	for (size_t i = 0; good && paths[i]; i++)
		good = same(c, &wanted, &current, paths[i]);
	if (!result && !good)
		result = patch(c, &wanted, name, paths);
	ks_object_unref(object);
	ks_arena_reset(&c->arena);
	return result;
}

/* -- slices ----------------------------------------------------------------------------------------------------------- */

static bool has_service_label(const struct ks_object *object)
{
	for (uint32_t i = 0; i < object->n_labels; i++)
		if (ks_str_is(object->labels[i].key, SERVICE_LABEL))
			return ks_str_is(object->labels[i].value, "kubernetes");
	return false;
}

static bool is_wanted(struct comparison *c, const struct ks_object *object)
{
	struct ks_value tree;
	bool wanted = false;

	if (ks_object_tree(object, c->server->schema, &c->arena, &tree))
		return true;
	for (unsigned i = 0; i < c->wanted->n_families; i++)
		wanted |= ks_str_is(object->name, slice_name(c->wanted, i)) &&
			ks_str_is(ks_value_str(at(c, &tree, "addressType")), address_type(c->wanted, i));
	ks_arena_reset(&c->arena);
	return wanted;
}

/* Slices of the service that are none of ours: of a family that the cluster has no more, or made by somebody else. */
static int remove_others(struct comparison *c)
{
	struct ks_snapshot snapshot;
	struct ks_cursor cursor;
	struct ks_object *object;
	int result = 0;

	ks_cache_snapshot(c->cache, &snapshot);
	ks_cursor_init(&cursor, &snapshot, KS_STR_LIT("default"), (struct ks_str){0});
	while (!result && (object = ks_cursor_next(&cursor)))
		if (has_service_label(object) && !is_wanted(c, object))
			result = request(c, "DELETE", NULL, object->name, (struct ks_str){0});
	ks_snapshot_release(&snapshot);
	return result;
}

static int compare_slices(struct comparison *c)
{
	static const char *const paths[] = {"endpoints", "ports", NULL};
	int result = remove_others(c);

	for (unsigned i = 0; !result && i < c->wanted->n_families; i++) {
		struct ks_buf text;

		ks_buf_init(&text);
		print_slice(c->wanted, i, &text);
		result = compare(c, ks_str_from(slice_name(c->wanted, i)), &text, paths);
		ks_buf_fini(&text);
	}
	return result;
}

int ks_endpoints_compare(struct ks_server_state *server, const struct ks_endpoints *wanted, ks_endpoints_change change, void *arg)
{
	static const char *const paths[] = {"subsets", NULL};
	struct comparison c = {.server = server, .wanted = wanted, .change = change, .arg = arg};
	struct ks_buf text;
	int result = 0;

	ks_buf_init(&text);
	ks_arena_init(&c.arena, 0);
	print_endpoints(wanted, &text);
	if (turn_to(&c, "", "endpoints", ENDPOINTS))
		result = compare(&c, KS_STR_LIT("kubernetes"), &text, paths);
	if (!result && turn_to(&c, "discovery.k8s.io", "endpointslices", SLICES))
		result = compare_slices(&c);
	ks_arena_fini(&c.arena);
	ks_buf_fini(&text);
	return result;
}
