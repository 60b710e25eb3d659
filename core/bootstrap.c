/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/bootstrap.h"

#include <errno.h>
#include <string.h>

#include "core/util/log.h"

static void start_round(struct ks_bootstrap *b);

static void fail(const struct ks_bootstrap_creation *c, int code, struct ks_str why)
{
	ks_log(KS_LOG_ERROR, "bootstrap", "%s/%s could not be created: %d %.*s", c->object->collection, c->object->name, code, (int)why.n, why.p);
	atomic_store(&c->bootstrap->failed, true);
}

/* 409: it exists, from an earlier start or by another server that is quicker. What is kept is looked after again before the server is ready: another
 * server may just be making it, and hold what it needs (422). */
static bool is_good(const struct ks_bootstrap_creation *c, int code)
{
	return code == 201 || code == 409 || (code == 422 && c->object->kept);
}

static void created(void *arg, int code, struct ks_str body)
{
	struct ks_bootstrap_creation *c = arg;

	if (!is_good(c, code))
		fail(c, code, body);
	else if (atomic_fetch_sub(&c->bootstrap->n_left, 1) == 1)
		start_round(c->bootstrap);
}

static bool exists(const struct ks_bootstrap_creation *c)
{
	const struct ks_server_state *server = c->bootstrap->server;
	uint16_t resource = ks_schema_find_resource(
		server->schema, ks_str_from(c->object->group), KS_STR_LIT("v1"), ks_str_from(c->object->resource));
	struct ks_cache_resource *cache = resource == KS_NO_RESOURCE ? NULL : ks_cache_find(server->cache, resource);
	struct ks_object *object = cache ? ks_cache_get(cache, ks_str_from(c->object->ns), ks_str_from(c->object->name)) : NULL;

	ks_object_unref(object);
	return object;
}

static void create(struct ks_bootstrap_creation *c)
{
	static const char *const groups[] = {"system:masters"};
	const struct ks_inner_request inner = {
		.method = "POST",
		.target = c->object->collection,
		.body = ks_str_from(c->object->json),
		.user = "system:apiserver",
		.groups = groups,
		.n_groups = 1,
		.answer = created,
		.arg = c,
	};

	if (exists(c))
		created(c, 409, (struct ks_str){0});
	else if (ks_pipeline_inner_request(c->bootstrap->server, &inner) < 0)
		fail(c, 500, KS_STR_LIT("out of memory"));
}

static bool is_namespace(const struct ks_bootstrap_creation *c)
{
	return strcmp(c->object->collection, "/api/v1/namespaces") == 0;
}

static void start_round(struct ks_bootstrap *b)
{
	size_t first = b->next, end = first;

	if (first == b->n) {
		atomic_store(&b->done, true);
		return;
	}
	while (end < b->n && is_namespace(&b->creations[end]) == is_namespace(&b->creations[first]))
		end++;
	b->next = end;
	atomic_store(&b->n_left, end - first);
	for (size_t i = first; i < end; i++)
		create(&b->creations[i]);
}

int ks_bootstrap_start(struct ks_bootstrap *bootstrap, struct ks_server_state *server, unsigned port, struct ks_error *err)
{
	const struct ks_bootstrap_object *objects;

	*bootstrap = (struct ks_bootstrap){.server = server};
	objects = ks_registry_bootstrap(server->config, port, &bootstrap->n);
	bootstrap->objects = objects;
	if (!objects)
		return ks_error_set(err, -EINVAL, "serviceClusterIPRange %s can't be used", server->config->service_cluster_ip_range);
	if (bootstrap->n > KS_BOOTSTRAP_MOST)
		return ks_error_set(err, -EINVAL, "more than %d objects at start", KS_BOOTSTRAP_MOST);
	for (size_t i = 0; i < bootstrap->n; i++)
		bootstrap->creations[i] = (struct ks_bootstrap_creation){bootstrap, &objects[i]};
	start_round(bootstrap);
	return 0;
}
