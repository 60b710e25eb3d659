/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "small-cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/api/json.h"

enum { MOST = 4096, WATCHERS = 8 };

struct ks_cache_resource {
	const struct ks_schema *schema;
	uint16_t resource;
	size_t history;
};

struct ks_watcher {
	struct ks_task task;
	struct ks_loop *loop;
	uint64_t seen;
	void (*wake)(struct ks_watcher *watcher, void *arg);
	void *arg;
	bool asleep;
};

static struct {
	pthread_mutex_t lock;
	struct ks_cache_resource resource;
	struct ks_object *objects[MOST];
	size_t n;
	struct ks_watch_event events[MOST]; /* by revision */
	uint64_t revision;
	struct ks_watcher *watchers[WATCHERS];
	int references;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* -- objects -- */

struct ks_object *ks_object_ref(struct ks_object *object)
{
	atomic_fetch_add(&object->refs, 1);
	__atomic_fetch_add(&cache.references, 1, __ATOMIC_RELAXED);
	return object;
}

void ks_object_unref(struct ks_object *object)
{
	if (!object)
		return;
	__atomic_fetch_sub(&cache.references, 1, __ATOMIC_RELAXED);
	if (atomic_fetch_sub(&object->refs, 1) != 1)
		return;
	ks_bytes_unref(object->json);
	free((char *)object->ns.p);
	free((char *)object->name.p);
	free(object);
}

static struct ks_object *make(const char *ns, const char *name, const char *json, uint64_t revision)
{
	struct ks_object *object = calloc(1, sizeof(*object));

	object->refs = 1;
	__atomic_fetch_add(&cache.references, 1, __ATOMIC_RELAXED);
	object->revision = revision;
	object->ns = ks_str_from(strdup(ns));
	object->name = ks_str_from(strdup(name));
	object->json = ks_bytes_dup(json, strlen(json));
	return object;
}

int ks_object_tree(const struct ks_object *object, const struct ks_schema *schema, struct ks_arena *arena, struct ks_value *out_r)
{
	const char *message;
	struct ks_value *slot;
	int result = ks_json_decode(arena, schema, schema->resources[cache.resource.resource].type, 0, object->json->data, object->json->len,
		out_r, NULL, &message);

	if (result < 0)
		return result;
	slot = ks_value_put_at(arena, schema, out_r, "metadata.resourceVersion");
	*slot = ks_value_from_str(ks_str_from(ks_arena_printf(arena, "%llu", (unsigned long long)object->revision)));
	return 0;
}

int ks_object_representation(struct ks_object *object, const struct ks_schema *schema, uint16_t resource, struct ks_representation *out_r)
{
	(void)schema;
	(void)resource;
	out_r->bytes = object->json;
	return 0;
}

/* -- the cache -- */

void small_cache_begin(const struct ks_schema *schema, uint16_t resource, size_t history)
{
	small_cache_end();
	cache.resource = (struct ks_cache_resource){schema, resource, history};
}

void small_cache_end(void)
{
	for (size_t i = 0; i < cache.n; i++)
		ks_object_unref(cache.objects[i]);
	for (uint64_t i = 0; i < cache.revision; i++)
		ks_object_unref(cache.events[i].object);
	cache.n = 0;
	cache.revision = 0;
}

struct ks_cache *small_cache(void)
{
	return (struct ks_cache *)&cache;
}

int small_cache_references(void)
{
	return __atomic_load_n(&cache.references, __ATOMIC_RELAXED);
}

static void run_wake(struct ks_task *task)
{
	struct ks_watcher *watcher = (struct ks_watcher *)task;

	watcher->wake(watcher, watcher->arg);
}

static void wake_all(void)
{
	for (int i = 0; i < WATCHERS; i++) {
		struct ks_watcher *watcher = cache.watchers[i];

		if (!watcher || !watcher->asleep)
			continue;
		watcher->asleep = false;
		watcher->task.run = run_wake;
		ks_loop_post(watcher->loop, &watcher->task);
	}
}

static size_t find(const char *ns, const char *name)
{
	size_t i = 0;

	while (i < cache.n && !(ks_str_is(cache.objects[i]->ns, ns) && ks_str_is(cache.objects[i]->name, name)))
		i++;
	return i;
}

void small_cache_put(const char *ns, const char *name, const char *json)
{
	struct ks_object *object;
	size_t at;
	int type = KS_WATCH_MODIFIED;

	pthread_mutex_lock(&cache.lock);
	object = make(ns, name, json, cache.revision + 1);
	at = find(ns, name);
	if (at == cache.n) {
		type = KS_WATCH_ADDED;
		cache.n++;
	} else {
		ks_object_unref(cache.objects[at]);
	}
	cache.objects[at] = object;
	cache.events[cache.revision] = (struct ks_watch_event){type, ks_object_ref(object), cache.revision + 1};
	cache.revision++;
	wake_all();
	pthread_mutex_unlock(&cache.lock);
}

void small_cache_delete(const char *ns, const char *name)
{
	size_t at;

	pthread_mutex_lock(&cache.lock);
	at = find(ns, name);
	if (at < cache.n) {
		cache.events[cache.revision] = (struct ks_watch_event){KS_WATCH_DELETED, cache.objects[at], cache.revision + 1};
		cache.revision++;
		cache.objects[at] = cache.objects[--cache.n];
		wake_all();
	}
	pthread_mutex_unlock(&cache.lock);
}

void ks_cache_thread_enter(void)
{
}

void ks_cache_thread_leave(void)
{
}

struct ks_cache_resource *ks_cache_find(struct ks_cache *c, uint16_t resource)
{
	(void)c;
	return resource == cache.resource.resource ? &cache.resource : NULL;
}

struct ks_object *ks_cache_get(struct ks_cache_resource *r, struct ks_str ns, struct ks_str name)
{
	struct ks_object *found = NULL;

	(void)r;
	pthread_mutex_lock(&cache.lock);
	for (size_t i = 0; i < cache.n && !found; i++)
		if (ks_str_eq(cache.objects[i]->ns, ns) && ks_str_eq(cache.objects[i]->name, name))
			found = ks_object_ref(cache.objects[i]);
	pthread_mutex_unlock(&cache.lock);
	return found;
}

struct frozen {
	size_t n;
	struct ks_object *objects[];
};

void ks_cache_snapshot(struct ks_cache_resource *r, struct ks_snapshot *out_r)
{
	struct frozen *frozen;

	pthread_mutex_lock(&cache.lock);
	frozen = malloc(sizeof(*frozen) + cache.n * sizeof(frozen->objects[0]));
	frozen->n = cache.n;
	for (size_t i = 0; i < cache.n; i++)
		frozen->objects[i] = ks_object_ref(cache.objects[i]);
	*out_r = (struct ks_snapshot){.root = frozen, .revision = cache.revision, .count = cache.n, .resource = r};
	pthread_mutex_unlock(&cache.lock);
}

void ks_snapshot_release(struct ks_snapshot *snapshot)
{
	struct frozen *frozen = snapshot->root;

	for (size_t i = 0; i < frozen->n; i++)
		ks_object_unref(frozen->objects[i]);
	free(frozen);
}

void ks_cursor_init(struct ks_cursor *cursor, const struct ks_snapshot *snapshot, struct ks_str ns, struct ks_str start)
{
	(void)ns;
	(void)start;
	*cursor = (struct ks_cursor){.stack = {snapshot->root}};
}

struct ks_object *ks_cursor_next(struct ks_cursor *cursor)
{
	const struct frozen *frozen = cursor->stack[0];

	return cursor->at[0] < frozen->n ? frozen->objects[cursor->at[0]++] : NULL;
}

/* -- watches -- */

int ks_watcher_new(struct ks_cache_resource *r, struct ks_loop *loop, uint64_t after, const struct ks_watch_filter *filter,
	void (*wake)(struct ks_watcher *watcher, void *arg), void *arg, struct ks_watcher **out_r)
{
	struct ks_watcher *watcher = calloc(1, sizeof(*watcher));

	(void)r;
	(void)filter;
	*watcher = (struct ks_watcher){.loop = loop, .seen = after, .wake = wake, .arg = arg};
	pthread_mutex_lock(&cache.lock);
	for (int i = 0; i < WATCHERS; i++)
		if (!cache.watchers[i]) {
			cache.watchers[i] = watcher;
			break;
		}
	pthread_mutex_unlock(&cache.lock);
	*out_r = watcher;
	return 0;
}

int ks_watcher_next(struct ks_watcher *watcher, struct ks_watch_event *event_r)
{
	int result = 0;

	pthread_mutex_lock(&cache.lock);
	if (watcher->seen == cache.revision) {
		watcher->asleep = true;
	} else if (cache.revision - watcher->seen > cache.resource.history) {
		result = -ENOENT;
	} else {
		*event_r = cache.events[watcher->seen++];
		ks_object_ref(event_r->object);
		result = 1;
	}
	pthread_mutex_unlock(&cache.lock);
	return result;
}

void ks_watcher_free(struct ks_watcher **watcher)
{
	if (!*watcher)
		return;
	pthread_mutex_lock(&cache.lock);
	for (int i = 0; i < WATCHERS; i++)
		if (cache.watchers[i] == *watcher)
			cache.watchers[i] = NULL;
	pthread_mutex_unlock(&cache.lock);
	free(*watcher);
	*watcher = NULL;
}
