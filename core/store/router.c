/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "core/store/store.h"

struct route {
	struct ks_store store;
	struct ks_str *texts; /* into `bytes` of the router */
	size_t n_texts;
};

struct ks_router {
	size_t n;
	struct route *routes;
	char *bytes; /* names and texts */
};

static size_t bytes_needed(const struct ks_router_entry *entries, size_t n)
{
	size_t bytes = 1;

	for (size_t i = 0; i < n; i++) {
		bytes += strlen(entries[i].store.name) + 1;
		for (size_t j = 0; j < entries[i].n_resources; j++)
			bytes += strlen(entries[i].resources[j]) + 1;
	}
	return bytes;
}

static const char *keep(const char *text, char **at)
{
	char *copy = *at;
	size_t n = strlen(text) + 1;

	memcpy(copy, text, n);
	*at += n;
	return copy;
}

static int fill_route(struct route *route, const struct ks_router_entry *entry, char **at)
{
	route->store = entry->store;
	route->store.name = keep(entry->store.name, at);
	route->texts = calloc(entry->n_resources + 1, sizeof(*route->texts));
	if (!route->texts)
		return -ENOMEM;
	for (; route->n_texts < entry->n_resources; route->n_texts++)
		route->texts[route->n_texts] = ks_str_from(keep(entry->resources[route->n_texts], at));
	return 0;
}

struct ks_router *ks_router_new(const struct ks_router_entry *entries, size_t n, struct ks_error *err)
{
	struct ks_router *router;
	char *at;

	if (n == 0) {
		ks_error_set(err, -EINVAL, "there is no store");
		return NULL;
	}
	router = calloc(1, sizeof(*router));
	if (!router)
		goto no_memory;
	router->routes = calloc(n, sizeof(*router->routes));
	router->bytes = at = malloc(bytes_needed(entries, n));
	if (!router->routes || !at)
		goto no_memory;
	for (; router->n < n; router->n++)
		if (fill_route(&router->routes[router->n], &entries[router->n], &at))
			goto no_memory;
	return router;
no_memory:
	ks_router_free(&router);
	ks_error_set(err, -ENOMEM, "out of memory");
	return NULL;
}

void ks_router_free(struct ks_router **router)
{
	struct ks_router *r = *router;

	if (!r)
		return;
	*router = NULL;
	for (size_t i = 0; r->routes && i < r->n; i++)
		free(r->routes[i].texts);
	free(r->routes);
	free(r->bytes);
	free(r);
}

size_t ks_router_n_stores(const struct ks_router *router)
{
	return router->n;
}

const struct ks_store *ks_router_store(const struct ks_router *router, size_t index)
{
	return &router->routes[index].store;
}

static bool is_star_or(struct ks_str text, const char *name)
{
	return ks_str_is(text, "*") || ks_str_is(text, name);
}

/* "*", "events" (of any group), "deployments.apps", "*.apps". */
static bool matches(struct ks_str text, const char *group, const char *resource)
{
	const char *dot = text.n ? memchr(text.p, '.', text.n) : NULL;
	size_t n;

	if (!dot)
		return is_star_or(text, resource);
	n = (size_t)(dot - text.p);
	return is_star_or(ks_str_of(text.p, n), resource) && ks_str_is(ks_str_of(dot + 1, text.n - n - 1), group);
}

const struct ks_store *ks_router_find(const struct ks_router *router, const struct ks_schema *schema, uint16_t resource)
{
	const struct ks_resource *r = &schema->resources[resource];
	const char *group = ks_schema_text(schema, r->group), *name = ks_schema_text(schema, r->resource);

	for (size_t i = router->n; i-- > 0;)
		for (size_t j = 0; j < router->routes[i].n_texts; j++)
			if (matches(router->routes[i].texts[j], group, name))
				return &router->routes[i].store;
	return &router->routes[0].store;
}

void ks_store_key(struct ks_buf *out, const struct ks_schema *schema, uint16_t resource, struct ks_str ns, struct ks_str name)
{
	ks_buf_add_str(out, KS_STORE_ROOT);
	ks_buf_add_str(out, ks_schema_text(schema, schema->resources[resource].storage_prefix));
	ks_buf_add_char(out, '/');
	if (ns.n) {
		ks_buf_add(out, ns.p, ns.n);
		ks_buf_add_char(out, '/');
	}
	ks_buf_add(out, name.p, name.n);
}
