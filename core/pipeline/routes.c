/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/routes.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/pipeline/lane.h"

/* One state of the table, sorted by path; never changed once it is published. The texts behind it are one allocation with it. */
struct table {
	size_t n;
	struct ks_route routes[];
};

struct ks_routes {
	struct table *_Atomic table;
	struct ks_lanes *lanes;
	pthread_mutex_t lock; /* of those who change it */
};

struct ks_routes *ks_routes_new(struct ks_lanes *lanes)
{
	struct ks_routes *routes = calloc(1, sizeof(*routes));
	struct table *empty = calloc(1, sizeof(*empty));

	if (!routes || !empty || pthread_mutex_init(&routes->lock, NULL) != 0) {
		free(routes);
		free(empty);
		return NULL;
	}
	routes->lanes = lanes;
	atomic_store_explicit(&routes->table, empty, memory_order_relaxed);
	return routes;
}

void ks_routes_free(struct ks_routes **routes)
{
	if (!*routes)
		return;
	free(atomic_load_explicit(&(*routes)->table, memory_order_relaxed));
	pthread_mutex_destroy(&(*routes)->lock);
	free(*routes);
	*routes = NULL;
}

/* A table with room for `n` routes whose paths need `bytes`. */
static struct table *new_table(size_t n, size_t bytes)
{
	return calloc(1, sizeof(struct table) + n * sizeof(struct ks_route) + bytes);
}

static size_t path_bytes(const struct table *table)
{
	size_t bytes = 0;

	for (size_t i = 0; i < table->n; i++)
		bytes += strlen(table->routes[i].path) + 1;
	return bytes;
}

/* Appends a copy of a route; `*text` is where the next path goes. */
static void append(struct table *table, const struct ks_route *route, char **text)
{
	size_t n = strlen(route->path) + 1;

	table->routes[table->n] = *route;
	memcpy(*text, route->path, n);
	table->routes[table->n].path = *text;
	*text += n;
	table->n++;
}

static void publish(struct ks_routes *routes, struct table *next)
{
	struct table *old = atomic_exchange_explicit(&routes->table, next, memory_order_acq_rel);

	/* Should there be no memory to wait for the workers, the old table stays: it is small. */
	(void)ks_lanes_retire(routes->lanes, free, old);
}

int ks_routes_add(struct ks_routes *routes, const struct ks_route *route)
{
	const struct table *old;
	struct table *next;
	bool placed = false;
	char *text;

	pthread_mutex_lock(&routes->lock);
	old = atomic_load_explicit(&routes->table, memory_order_relaxed);
	next = new_table(old->n + 1, path_bytes(old) + strlen(route->path) + 1);
	if (!next) {
		pthread_mutex_unlock(&routes->lock);
		return -ENOMEM;
	}
	text = (char *)&next->routes[old->n + 1];
	for (size_t i = 0; i < old->n; i++) {
		int order = strcmp(old->routes[i].path, route->path);

		if (!placed && order >= 0) {
			append(next, route, &text);
			placed = true;
		}
		if (order != 0)
			append(next, &old->routes[i], &text);
	}
	if (!placed)
		append(next, route, &text);
	publish(routes, next);
	pthread_mutex_unlock(&routes->lock);
	return 0;
}

int ks_routes_remove(struct ks_routes *routes, const char *path)
{
	const struct table *old;
	struct table *next;
	char *text;
	int rc = -ENOENT;

	pthread_mutex_lock(&routes->lock);
	old = atomic_load_explicit(&routes->table, memory_order_relaxed);
	next = new_table(old->n, path_bytes(old));
	text = next ? (char *)&next->routes[old->n] : NULL;
	for (size_t i = 0; next && i < old->n; i++) {
		if (strcmp(old->routes[i].path, path) == 0)
			rc = 0;
		else
			append(next, &old->routes[i], &text);
	}
	if (next && rc == 0)
		publish(routes, next);
	else
		free(next);
	pthread_mutex_unlock(&routes->lock);
	return next ? rc : -ENOMEM;
}

/* The last route whose path is not after `path`; -1 when all are. */
static ptrdiff_t last_not_after(const struct table *table, struct ks_str path)
{
	size_t low = 0, high = table->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ks_str_cmp(ks_str_from(table->routes[middle].path), path) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return (ptrdiff_t)low - 1;
}

const struct ks_route *ks_routes_find(struct ks_routes *routes, struct ks_str path)
{
	const struct table *table = atomic_load_explicit(&routes->table, memory_order_acquire);
	ptrdiff_t at = last_not_after(table, path);

	if (at >= 0 && ks_str_is(path, table->routes[at].path))
		return &table->routes[at];
	/* A prefix of the path is before it, and the nearest is the longest. */
	for (; at >= 0; at--)
		if ((table->routes[at].flags & KS_ROUTE_PREFIX) && ks_str_starts(path, ks_str_from(table->routes[at].path)))
			return &table->routes[at];
	return NULL;
}

void ks_routes_each_listed(struct ks_routes *routes, void (*visit)(const char *path, void *arg), void *arg)
{
	const struct table *table = atomic_load_explicit(&routes->table, memory_order_acquire);

	for (size_t i = 0; i < table->n; i++)
		if (table->routes[i].flags & KS_ROUTE_LISTED)
			visit(table->routes[i].path, arg);
}
