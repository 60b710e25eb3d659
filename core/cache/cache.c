/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "core/cache/internal.h"
#include "core/util/log.h"

enum { HISTORY_EVENTS = 4096, HISTORY_BYTES = 16 << 20, REPLAY_EVENTS = 16384 };

/* Liburcu's flavour registers a thread at its first read and notices its end. */
void ks_cache_thread_enter(void) {}

void ks_cache_thread_leave(void) {}

/* -- resources -------------------------------------------------------------------------------------------------- */

int ks_cache_resource_init(struct ks_cache_resource *r, struct ks_feed *feed, uint16_t index)
{
	const struct ks_schema *schema = feed->cache->schema;
	const struct ks_cache_config *config = &feed->cache->config;
	int result;

	*r = (struct ks_cache_resource){.cache = feed->cache,
		.feed = feed,
		.index = index,
		.namespaced = schema->resources[index].scope == KS_SCOPE_NAMESPACED,
		.prefix = ks_str_from(ks_schema_text(schema, schema->resources[index].storage_prefix))};
	result = ks_history_init(&r->history, config->history_events, config->history_bytes);
	if (result)
		return result;
	result = ks_park_init(&r->park);
	if (result)
		goto failed_history;
	result = ks_past_init(&r->past);
	if (result)
		goto failed_park;
	result = ks_roots_init(&r->roots, 0);
	if (result)
		goto failed_past;
	return 0;
failed_past:
	ks_past_fini(&r->past);
failed_park:
	ks_park_fini(&r->park);
failed_history:
	ks_history_fini(&r->history);
	return result;
}

/* An empty state comes last, so that all nodes and objects are garbage of the one before. */
void ks_cache_resource_close(struct ks_cache_resource *r)
{
	struct ks_root *last = r->next_root ? r->next_root : calloc(1, sizeof(*last));

	ks_past_close(&r->past);
	r->next_root = NULL;
	if (last) {
		ks_tree_clear(&r->edit);
		last->version = r->edit.version + 1;
		ks_roots_publish(&r->roots, last, &r->edit.garbage);
	}
	ks_roots_close(&r->roots);
}

void ks_cache_resource_fini(struct ks_cache_resource *r)
{
	ks_roots_fini(&r->roots);
	ks_past_fini(&r->past);
	ks_history_fini(&r->history);
	ks_park_fini(&r->park);
}

static int compare_prefix(const void *a, const void *b)
{
	return ks_str_cmp(((const struct ks_cache_resource *)a)->prefix, ((const struct ks_cache_resource *)b)->prefix);
}

static struct ks_cache_resource *find_prefix(struct ks_feed *feed, struct ks_str prefix)
{
	size_t low = 0, high = feed->n_resources;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int c = ks_str_cmp(prefix, feed->resources[middle].prefix);

		if (c == 0)
			return &feed->resources[middle];
		if (c < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static bool split_name(const struct ks_cache_resource *r, struct ks_str rest, struct ks_str *ns_r, struct ks_str *name_r)
{
	const char *slash = rest.n ? memchr(rest.p, '/', rest.n) : NULL;

	if (!r->namespaced) {
		*ns_r = (struct ks_str){0};
		*name_r = rest;
		return rest.n > 0 && !slash;
	}
	if (!slash)
		return false;
	*ns_r = ks_str_of(rest.p, (size_t)(slash - rest.p));
	*name_r = ks_str_of(slash + 1, rest.n - ns_r->n - 1);
	return name_r->n > 0 && !memchr(name_r->p, '/', name_r->n);
}

/* A prefix has one part or two ("services/specs"). */
struct ks_cache_resource *ks_feed_resolve(struct ks_feed *feed, struct ks_str key, struct ks_str *ns_r, struct ks_str *name_r)
{
	const size_t root = sizeof(KS_STORE_ROOT) - 1;
	struct ks_cache_resource *r;
	const char *slash, *from;

	if (!ks_str_starts(key, KS_STR_LIT(KS_STORE_ROOT)))
		return NULL;
	key = ks_str_of(key.p + root, key.n - root);
	from = key.p;
	for (int parts = 0; parts < 2; parts++) {
		slash = memchr(from, '/', key.n - (size_t)(from - key.p));
		if (!slash)
			return NULL;
		from = slash + 1;
		r = find_prefix(feed, ks_str_of(key.p, (size_t)(slash - key.p)));
		if (r && split_name(r, ks_str_of(from, key.n - (size_t)(from - key.p)), ns_r, name_r))
			return r;
	}
	return NULL;
}

/* -- life ------------------------------------------------------------------------------------------------------- */

static bool is_stored(const struct ks_schema *schema, uint16_t index)
{
	const struct ks_resource *r = &schema->resources[index];

	return !r->is_subresource && r->storage == index && *ks_schema_text(schema, r->storage_prefix);
}

/* Which resources are the feed's, in the order of their prefixes. */
static size_t choose_resources(struct ks_feed *feed, const struct ks_router *router)
{
	const struct ks_schema *schema = feed->cache->schema;
	size_t n = 0;

	for (uint16_t i = 0; i < schema->n_resources; i++) {
		if (!is_stored(schema, i) || ks_router_find(router, schema, i) != feed->store)
			continue;
		feed->resources[n].index = i;
		feed->resources[n++].prefix = ks_str_from(ks_schema_text(schema, schema->resources[i].storage_prefix));
	}
	qsort(feed->resources, n, sizeof(*feed->resources), compare_prefix);
	return n;
}

static int feed_init(struct ks_feed *feed, struct ks_cache *cache, const struct ks_router *router, const struct ks_store *store)
{
	pthread_condattr_t attr;
	size_t n;
	int result;

	*feed = (struct ks_feed){.cache = cache, .store = store};
	feed->last = &feed->first;
	pthread_mutex_init(&feed->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&feed->changed, &attr);
	pthread_condattr_destroy(&attr);
	pthread_cond_init(&feed->settled, NULL);
	result = ks_waits_init(&feed->waits);
	if (result)
		return result;
	feed->resources = calloc(cache->schema->n_resources + 1u, sizeof(*feed->resources));
	if (!feed->resources)
		return -ENOMEM;
	n = choose_resources(feed, router);
	while (feed->n_resources < n) {
		struct ks_cache_resource *r = &feed->resources[feed->n_resources];

		result = ks_cache_resource_init(r, feed, r->index);
		if (result)
			return result;
		cache->by_index[r->index] = r;
		feed->n_resources++;
	}
	return 0;
}

static void feed_close(struct ks_feed *feed)
{
	ks_feed_stop(feed);
	for (size_t i = 0; i < feed->n_resources; i++)
		ks_cache_resource_close(&feed->resources[i]);
}

static void feed_fini(struct ks_feed *feed)
{
	for (size_t i = 0; i < feed->n_resources; i++)
		ks_cache_resource_fini(&feed->resources[i]);
	free(feed->resources);
	ks_waits_fini(&feed->waits);
	pthread_cond_destroy(&feed->settled);
	pthread_cond_destroy(&feed->changed);
	pthread_mutex_destroy(&feed->lock);
}

static int wait_loaded(struct ks_feed *feed, struct ks_error *err)
{
	int result;

	pthread_mutex_lock(&feed->lock);
	while (!feed->loaded)
		pthread_cond_wait(&feed->settled, &feed->lock);
	result = feed->load_result;
	if (result)
		ks_error_set(err, result, "%s", feed->load_error.text);
	pthread_mutex_unlock(&feed->lock);
	return result;
}

static void set_defaults(struct ks_cache_config *config)
{
	if (!config->history_events)
		config->history_events = HISTORY_EVENTS;
	if (!config->history_bytes)
		config->history_bytes = HISTORY_BYTES;
	if (!config->replay_events)
		config->replay_events = REPLAY_EVENTS;
}

static struct ks_cache *cache_new(const struct ks_schema *schema, size_t n_stores, const struct ks_cache_config *config)
{
	struct ks_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	cache->schema = schema;
	if (config)
		cache->config = *config;
	set_defaults(&cache->config);
	cache->feeds = calloc(n_stores, sizeof(*cache->feeds));
	cache->by_index = calloc(schema->n_resources + 1u, sizeof(struct ks_cache_resource *));
	if (!cache->feeds || !cache->by_index)
		ks_cache_stop(&cache);
	return cache;
}

int ks_cache_start(
	const struct ks_schema *schema, struct ks_router *router, const struct ks_cache_config *config, struct ks_cache **out_r, struct ks_error *err)
{
	size_t n = ks_router_n_stores(router);
	struct ks_cache *cache = cache_new(schema, n, config);
	int result = cache ? 0 : -ENOMEM;

	while (!result && cache->n_feeds < n) {
		struct ks_feed *feed = &cache->feeds[cache->n_feeds];

		result = feed_init(feed, cache, router, ks_router_store(router, cache->n_feeds++));
		if (!result)
			result = ks_feed_start(feed);
	}
	if (result)
		ks_error_set(err, result, "cache: %s", result == -ENOMEM ? "out of memory" : "no thread can be started");
	for (size_t i = 0; !result && i < n; i++)
		result = wait_loaded(&cache->feeds[i], err);
	if (result)
		ks_cache_stop(&cache);
	else
		*out_r = cache;
	return result;
}

void ks_cache_stop(struct ks_cache **cache)
{
	struct ks_cache *c = *cache;

	if (!c)
		return;
	*cache = NULL;
	for (size_t i = 0; i < c->n_feeds; i++)
		feed_close(&c->feeds[i]);
	ks_rcu_barrier();
	for (size_t i = 0; i < c->n_feeds; i++)
		feed_fini(&c->feeds[i]);
	ks_watch_hubs_free(c);
	free(c->feeds);
	free(c->by_index);
	free(c);
}

int ks_cache_health(const struct ks_cache *cache, const char **store_name_r)
{
	for (size_t i = 0; i < cache->n_feeds; i++) {
		int health = atomic_load(&cache->feeds[i].health);

		if (!health)
			continue;
		*store_name_r = cache->feeds[i].store->name;
		return health;
	}
	return 0;
}

struct ks_cache_resource *ks_cache_find(struct ks_cache *cache, uint16_t resource)
{
	const struct ks_resource *resources = cache->schema->resources;
	uint16_t stored;

	if (resource >= cache->schema->n_resources)
		return NULL;
	stored = resources[resources[resource].parent].storage;
	return stored < cache->schema->n_resources ? cache->by_index[stored] : NULL;
}
