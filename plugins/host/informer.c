/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Informers: a list, then changes, out of the cache, told on the instance's
 * executor. An informer is a cursor into the resource's history; one that is too
 * slow is passed by the history and lists again, telling what it missed. So it
 * holds nobody up, and what it has not read takes no memory.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/cache/cache.h"
#include "core/util/log.h"
#include "plugins/host/internal.h"
#include "plugins/host/known.h"
#include "plugins/host/objects.h"

enum { BATCH = 256, RETRY_MS = 1000 };

struct ks_informer {
	struct ks_informer *next;
	struct ks_instance *instance;
	const struct ks_schema *schema;
	uint16_t resource;
	struct ks_informer_handler handler;
	_Atomic bool synced;
	/* the executor's */
	struct ks_cache_resource *cached;
	struct ks_watcher *watcher;
	struct ks_known known;
	uint32_t round;
	struct ks_job job;
	bool queued;
	struct ks_arena arena;
};

/* What a list found that must be told, and the state that it is of. */
struct changes {
	struct change { int type; struct ks_object *object; } *items;
	size_t n, cap;
	uint64_t revision;
};

/* -- telling -- */

static void tell(struct ks_informer *informer, int type, struct ks_object *object, uint64_t revision)
{
	struct ks_informer_event event = {
		.size = sizeof(event), .type = (uint32_t)type, .revision = revision,
		.namespace_ = ks_view_of(object->ns), .name = ks_view_of(object->name),
	};
	struct ks_value root = {0};

	ks_arena_reset(&informer->arena);
	if (ks_object_value(object, informer->schema, informer->resource, type == KS_EVENT_DELETED ? revision : 0, &informer->arena, &root) < 0) {
		ks_log(KS_LOG_ERROR, informer->instance->name, "an informer could not read the object %.*s/%.*s", (int)object->ns.n,
			object->ns.p ? object->ns.p : "", (int)object->name.n, object->name.p);
		return;
	}
	event.object = ks_val_of(informer->schema, &root);
	informer->handler.event(informer->handler.arg, &event);
}

static void set_synced(struct ks_informer *informer)
{
	if (atomic_load(&informer->synced))
		return;
	if (informer->handler.synced)
		informer->handler.synced(informer->handler.arg);
	atomic_store(&informer->synced, true);
}

/* -- listing -- */

/* Takes over the reference. */
static int changes_add(struct changes *changes, int type, struct ks_object *object)
{
	if (changes->n == changes->cap) {
		size_t cap = changes->cap ? changes->cap * 2 : 256;
		struct change *items = realloc(changes->items, cap * sizeof(*items));

		if (!items) {
			ks_object_unref(object);
			return -ENOMEM;
		}
		changes->items = items;
		changes->cap = cap;
	}
	changes->items[changes->n++] = (struct change){type, object};
	return 0;
}

static int note_object(struct ks_informer *informer, struct changes *changes, struct ks_object *object)
{
	struct ks_object *before = NULL;
	int type;

	if (ks_known_put(&informer->known, object, informer->round, &before) < 0)
		return -ENOMEM;
	if (before && before->revision == object->revision) {
		ks_object_unref(before);
		return 0;
	}
	type = before ? KS_EVENT_MODIFIED : KS_EVENT_ADDED;
	ks_object_unref(before);
	return changes_add(changes, type, ks_object_ref(object));
}

static int collect(struct ks_informer *informer, const struct ks_snapshot *snapshot, struct changes *changes)
{
	struct ks_cursor cursor;
	struct ks_object *object;
	size_t at = 0;

	ks_cursor_init(&cursor, snapshot, (struct ks_str){0}, (struct ks_str){0});
	while ((object = ks_cursor_next(&cursor)))
		if (note_object(informer, changes, object) < 0)
			return -ENOMEM;
	while ((object = ks_known_take_stale(&informer->known, informer->round, &at)))
		if (changes_add(changes, KS_EVENT_DELETED, object) < 0)
			return -ENOMEM;
	return 0;
}

static void wake(struct ks_watcher *watcher, void *arg);

/* The snapshot is held only until its objects are counted: telling them may take long. */
static int list(struct ks_informer *informer, struct changes *changes)
{
	static const struct ks_watch_filter everything;
	struct ks_snapshot snapshot;
	int result;

	ks_watcher_free(&informer->watcher);
	informer->round++;
	ks_cache_snapshot(informer->cached, &snapshot);
	changes->revision = snapshot.revision;
	result = collect(informer, &snapshot, changes);
	if (result == 0)
		result = ks_watcher_new(informer->cached, ks_executor_loop(informer->instance->executor), snapshot.revision, &everything, wake,
			informer, &informer->watcher);
	ks_snapshot_release(&snapshot);
	return result;
}

static void tell_changes(struct ks_informer *informer, struct changes *changes)
{
	for (size_t i = 0; i < changes->n; i++) {
		const struct change *c = &changes->items[i];

		tell(informer, c->type, c->object, c->type == KS_EVENT_DELETED ? changes->revision : c->object->revision);
		ks_object_unref(c->object);
	}
	free(changes->items);
}

/* -- following -- */

static void queue(struct ks_informer *informer)
{
	if (informer->queued)
		return;
	informer->queued = true;
	ks_executor_post(informer->instance->executor, &informer->job);
}

static void retry(void *arg)
{
	queue(arg);
}

static void note_event(struct ks_informer *informer, const struct ks_watch_event *event)
{
	struct ks_object *before = NULL;

	if (event->type == KS_WATCH_DELETED)
		ks_known_remove(&informer->known, event->object);
	else if (ks_known_put(&informer->known, event->object, informer->round, &before) < 0)
		ks_watcher_free(&informer->watcher); /* out of memory: list again later */
	ks_object_unref(before);
}

/* Tells what there is, a batch at most. */
static void follow(struct ks_informer *informer)
{
	for (int i = 0; i < BATCH && informer->watcher; i++) {
		struct ks_watch_event event;
		int result = ks_watcher_next(informer->watcher, &event);

		if (result == 0)
			return;
		if (result < 0) {
			ks_log(KS_LOG_DEBUG, informer->instance->name, "an informer fell behind and lists again");
			ks_watcher_free(&informer->watcher);
			break;
		}
		note_event(informer, &event);
		tell(informer, event.type, event.object, event.revision);
		ks_object_unref(event.object);
	}
	queue(informer);
}

static void relist(struct ks_informer *informer)
{
	struct changes changes = {0};
	int result = list(informer, &changes);

	tell_changes(informer, &changes);
	if (result < 0) {
		ks_watcher_free(&informer->watcher);
		ks_log(KS_LOG_WARN, informer->instance->name, "an informer could not list: %s; it tries again",
			result == -ENOENT ? "the history is too short" : "out of memory");
		if (ks_executor_timer(informer->instance->executor, RETRY_MS, retry, informer) < 0)
			queue(informer);
		return;
	}
	set_synced(informer);
	follow(informer);
}

static void run(struct ks_job *job)
{
	struct ks_informer *informer = (struct ks_informer *)((char *)job - offsetof(struct ks_informer, job));

	informer->queued = false;
	if (informer->watcher)
		follow(informer);
	else
		relist(informer);
}

static void wake(struct ks_watcher *watcher, void *arg)
{
	(void)watcher;
	queue(arg);
}

static void drop(struct ks_job *job)
{
	(void)job; /* the informer is freed with its instance */
}

/* -- life -- */

struct ks_informer *ks_informer_add(const struct ks_host *host, struct ks_view group, struct ks_view version, struct ks_view resource,
	const struct ks_informer_handler *handler)
{
	struct ks_instance *instance = ks_instance_of(host);
	const struct ks_schema *schema = instance->plugins->options.schema;
	uint16_t index = schema ? ks_find_resource(schema, group, version, resource) : KS_NO_RESOURCE;
	struct ks_informer *informer;

	if (index == KS_NO_RESOURCE || instance->serving || !handler->event)
		return NULL;
	informer = calloc(1, sizeof(*informer));
	if (!informer)
		return NULL;
	ks_arena_init(&informer->arena, 0);
	informer->instance = instance;
	informer->schema = schema;
	informer->resource = index;
	informer->handler = *handler;
	informer->job.run = run;
	informer->job.drop = drop;
	informer->next = instance->informers;
	instance->informers = informer;
	return informer;
}

int ks_informer_is_synced(const struct ks_informer *informer)
{
	return atomic_load(&informer->synced);
}

int ks_informers_start(struct ks_instance *instance)
{
	struct ks_cache *cache = instance->plugins->cache;
	struct ks_executor *executor;

	instance->serving = true;
	if (!instance->informers)
		return 0;
	executor = ks_instance_executor(instance);
	if (!executor)
		return -ENOMEM;
	for (struct ks_informer *i = instance->informers; i; i = i->next) {
		i->cached = cache ? ks_cache_find(cache, i->resource) : NULL;
		if (!i->cached) {
			ks_executor_unref(executor);
			return -ENOENT;
		}
		i->queued = true;
		ks_executor_post(executor, &i->job);
	}
	ks_executor_unref(executor);
	return 0;
}

bool ks_informers_synced(struct ks_instance *instance)
{
	for (const struct ks_informer *i = instance->informers; i; i = i->next)
		if (!atomic_load(&i->synced))
			return false;
	return true;
}

void ks_informers_stop(struct ks_instance *instance)
{
	for (struct ks_informer *i = instance->informers; i; i = i->next)
		ks_watcher_free(&i->watcher);
}

void ks_informers_free(struct ks_instance *instance)
{
	while (instance->informers) {
		struct ks_informer *informer = instance->informers;

		instance->informers = informer->next;
		ks_known_fini(&informer->known);
		ks_arena_fini(&informer->arena);
		free(informer);
	}
}
