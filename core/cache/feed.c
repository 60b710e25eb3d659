/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * A store's events and the applier that takes them.
 *
 * When a few events come and nothing is waiting, they are applied on the spot, on the store's thread:
 * a write is seen without another thread having to wake up. Else the store's thread only
 * copies what it was given into a queue, and our own thread turns it into new states, several batches
 * together when it is behind. The queue is bounded by the credit that the store has.
 * One of the two threads applies at a time; `applying` and the queue, under the lock, say who.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "core/cache/internal.h"
#include "core/util/log.h"

enum { QUEUE_MOST = 8192, PUBLISH_MOST = 1024, DIRECT_MOST = 64, PAUSE_FIRST_MS = 50, PAUSE_MOST_MS = 5000 };

struct ks_feed_batch {
	struct ks_feed_batch *next;
	uint64_t progress;
	size_t n;
	struct ks_store_event events[]; /* keys are in the batch's own memory, values references */
};

/* -- batches ----------------------------------------------------------------------------------------------------- */

static struct ks_feed_batch *copy_events(const struct ks_store_event *events, size_t n, uint64_t progress)
{
	size_t bytes = sizeof(struct ks_feed_batch) + n * sizeof(struct ks_store_event);
	struct ks_feed_batch *batch;
	char *keys;

	for (size_t i = 0; i < n; i++)
		bytes += events[i].kv.key.n;
	batch = malloc(bytes);
	if (!batch)
		return NULL;
	*batch = (struct ks_feed_batch){.progress = progress, .n = n};
	keys = (char *)(batch->events + n);
	for (size_t i = 0; i < n; i++) {
		const struct ks_store_kv *kv = &events[i].kv;

		batch->events[i] = events[i];
		memcpy(keys, kv->key.p, kv->key.n);
		batch->events[i].kv.key.p = keys;
		keys += kv->key.n;
		if (kv->value)
			ks_bytes_ref((struct ks_bytes *)kv->value);
	}
	return batch;
}

static void free_batch(struct ks_feed_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		ks_bytes_unref((struct ks_bytes *)batch->events[i].kv.value);
	free(batch);
}

/* -- applying --------------------------------------------------------------------------------------------------- */

/* False when the feed is stopping. */
static bool pause_ms(struct ks_feed *feed, uint32_t milliseconds)
{
	struct timespec until;
	bool stopping;
	int result = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)(milliseconds % 1000) * 1000000;
	until.tv_sec += milliseconds / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&feed->lock);
	while (!feed->stopping && result != ETIMEDOUT)
		result = pthread_cond_timedwait(&feed->changed, &feed->lock, &until);
	stopping = feed->stopping;
	pthread_mutex_unlock(&feed->lock);
	return !stopping;
}

static int apply_event(struct ks_feed *feed, const struct ks_store_event *event)
{
	struct ks_str ns, name;
	struct ks_cache_resource *r = ks_feed_resolve(feed, ks_cache_view(event->kv.key), &ns, &name);
	struct ks_object *object;
	bool no_memory;
	int result;

	if (!r || event->revision <= atomic_load_explicit(&feed->revision, memory_order_relaxed))
		return 0;
	if (event->type == KS_EVENT_DELETED)
		return ks_apply_delete(r, ns, name, event->revision);
	object = ks_feed_object(r, ns, name, &event->kv, &no_memory);
	if (!object)
		return no_memory ? -ENOMEM : 0;
	result = ks_apply_put(r, object);
	if (result)
		ks_object_unref(object);
	return result;
}

/* An event can't be left out: without memory we wait for some. */
static void apply_batch(struct ks_feed *feed, const struct ks_feed_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		while (apply_event(feed, &batch->events[i]) == -ENOMEM) {
			ks_log(KS_LOG_ERROR, "cache", "store %s: out of memory while applying an event; trying again", feed->store->name);
			if (!pause_ms(feed, PAUSE_FIRST_MS))
				return;
		}
	}
}

static void give_credit(struct ks_feed *feed, size_t applied)
{
	uint64_t room = 0;

	pthread_mutex_lock(&feed->lock);
	feed->queued -= applied;
	if (feed->starved && feed->queued <= QUEUE_MOST / 2 && !feed->lost) {
		feed->starved = false;
		room = QUEUE_MOST - feed->queued;
	}
	pthread_mutex_unlock(&feed->lock);
	if (room && feed->watch)
		feed->store->ops->watch_credit(feed->store->self, feed->watch, room);
}

/* Applies what was queued and shows it: often enough for readers, not for each batch when we are behind. */
static void apply_all(struct ks_feed *feed, struct ks_feed_batch *batch)
{
	struct ks_feed_batch *next;
	size_t applied = 0;

	for (; batch; batch = next) {
		next = batch->next;
		apply_batch(feed, batch);
		applied += batch->n;
		if (!next || applied >= PUBLISH_MOST) {
			if (batch->progress >= atomic_load(&feed->revision))
				ks_apply_publish(feed, batch->progress);
			give_credit(feed, applied);
			applied = 0;
		}
		free_batch(batch);
	}
}

/* -- the store's thread ------------------------------------------------------------------------------------------ */

/* Whether the store's thread may apply what it brings: then nobody else does until end_direct. */
static bool begin_direct(struct ks_feed *feed)
{
	bool idle;

	pthread_mutex_lock(&feed->lock);
	idle = !feed->applying && !feed->first && !feed->lost && !feed->stopping;
	pthread_mutex_unlock(&feed->lock);
	return idle;
}

/* Returns how many were applied: all, unless memory was short. */
static size_t apply_direct(struct ks_feed *feed, const struct ks_store_event *events, size_t n, uint64_t progress)
{
	size_t i = 0;

	while (i < n && apply_event(feed, &events[i]) == 0)
		i++;
	if (i == n && progress >= atomic_load(&feed->revision))
		ks_apply_publish(feed, progress);
	pthread_mutex_lock(&feed->lock);
	if (!feed->loaded)
		pthread_cond_signal(&feed->changed);
	pthread_mutex_unlock(&feed->lock);
	return i;
}

static void append(struct ks_feed *feed, struct ks_feed_batch *batch)
{
	*feed->last = batch;
	feed->last = &batch->next;
	feed->queued += batch->n;
}

static uint64_t enqueue(struct ks_feed *feed, struct ks_feed_batch *batch)
{
	uint64_t room = 0;

	pthread_mutex_lock(&feed->lock);
	if (batch && !feed->lost)
		append(feed, batch);
	else if (batch)
		free_batch(batch);
	else
		feed->lost = KS_ERR_COMPACTED; /* an event is gone: a list has to make up for it */
	if (feed->queued < QUEUE_MOST)
		room = QUEUE_MOST - feed->queued;
	feed->starved = room == 0;
	pthread_cond_signal(&feed->changed);
	pthread_mutex_unlock(&feed->lock);
	return room;
}

static uint64_t on_events(void *arg, const struct ks_store_event *events, size_t n, uint64_t progress)
{
	struct ks_feed *feed = arg;
	size_t applied = 0;

	if (n <= DIRECT_MOST && begin_direct(feed)) {
		applied = apply_direct(feed, events, n, progress);
		if (applied == n)
			return QUEUE_MOST;
	}
	return enqueue(feed, copy_events(events + applied, n - applied, progress));
}

static void on_failed(void *arg, int result)
{
	struct ks_feed *feed = arg;

	pthread_mutex_lock(&feed->lock);
	if (!feed->lost)
		feed->lost = result < 0 ? result : KS_ERR;
	pthread_cond_signal(&feed->changed);
	pthread_mutex_unlock(&feed->lock);
}

/* -- following --------------------------------------------------------------------------------------------------- */

static int start_watch(struct ks_feed *feed)
{
	struct ks_store_watch watch = {.size = sizeof(watch),
		.prefix = {KS_STORE_ROOT, sizeof(KS_STORE_ROOT) - 1},
		.from_revision = atomic_load(&feed->revision) + 1,
		.events = on_events,
		.failed = on_failed,
		.arg = feed};
	int result;

	pthread_mutex_lock(&feed->lock);
	feed->lost = 0;
	feed->starved = false;
	pthread_mutex_unlock(&feed->lock);
	result = feed->store->ops->watch(feed->store->self, &watch, &feed->watch);
	if (result != KS_DONE)
		feed->watch = NULL;
	return result;
}

static struct ks_feed_batch *take_queue(struct ks_feed *feed)
{
	struct ks_feed_batch *batch = feed->first;

	feed->first = NULL;
	feed->last = &feed->first;
	return batch;
}

static void end_watch(struct ks_feed *feed)
{
	struct ks_feed_batch *batch;

	if (feed->watch)
		feed->store->ops->watch_close(feed->store->self, feed->watch);
	feed->watch = NULL;
	pthread_mutex_lock(&feed->lock);
	batch = take_queue(feed);
	pthread_mutex_unlock(&feed->lock);
	apply_all(feed, batch);
}

/* The watch is over with `result`: goes on from where it was, or lists again when that is gone. Until it works or we stop. */
static void recover(struct ks_feed *feed, int result)
{
	struct ks_error err = {.text = ""};
	uint32_t pause = PAUSE_FIRST_MS;
	bool listed;

	ks_log(KS_LOG_WARN, "cache", "store %s: its watch ended (%d) at revision %llu", feed->store->name, result,
		(unsigned long long)atomic_load(&feed->revision));
	end_watch(feed);
	for (;;) {
		listed = result != KS_ERR_COMPACTED || ks_feed_reload(feed, &err) == 0;
		if (listed)
			result = start_watch(feed);
		else
			ks_log(KS_LOG_ERROR, "cache", "can't list again: %s", err.text);
		if (listed && result == KS_DONE)
			break;
		atomic_store(&feed->health, -EIO);
		if (!pause_ms(feed, pause))
			return;
		pause = pause * 2 < PAUSE_MOST_MS ? pause * 2 : PAUSE_MOST_MS;
	}
	atomic_store(&feed->health, 0);
	ks_log(KS_LOG_INFO, "cache", "store %s: followed again from revision %llu", feed->store->name,
		(unsigned long long)atomic_load(&feed->revision));
}

/* -- the thread ------------------------------------------------------------------------------------------------- */

static void report_loaded(struct ks_feed *feed, int result, const struct ks_error *err)
{
	pthread_mutex_lock(&feed->lock);
	feed->loaded = true;
	feed->load_result = result;
	if (result)
		feed->load_error = *err;
	pthread_cond_broadcast(&feed->settled);
	pthread_mutex_unlock(&feed->lock);
}

/* The state of some time ago when the store still has it: what happened since then comes as events and fills the histories. */
static int load(struct ks_feed *feed, uint64_t *goal_r, struct ks_error *err)
{
	const struct ks_store *store = feed->store;
	uint64_t oldest = 0, from, got = 0;
	int result = store->ops->revision(store->self, goal_r, &oldest);

	if (result != KS_DONE)
		return ks_error_set(err, result, "store %s can't tell its revision", store->name);
	from = *goal_r > feed->cache->config.replay_events ? *goal_r - feed->cache->config.replay_events : 0;
	if (from < oldest)
		from = oldest;
	result = KS_ERR_COMPACTED;
	if (from > 0 && from < *goal_r)
		result = ks_feed_load(feed, from, &got, err);
	if (result == KS_ERR_COMPACTED)
		result = ks_feed_load(feed, 0, &got, err);
	return result;
}

static void follow(struct ks_feed *feed, uint64_t goal)
{
	struct ks_feed_batch *batch;
	bool stopping = false;
	int lost;

	while (!stopping) {
		pthread_mutex_lock(&feed->lock);
		feed->applying = false;
		while (!feed->first && !feed->lost && !feed->stopping && (feed->loaded || atomic_load(&feed->revision) < goal))
			pthread_cond_wait(&feed->changed, &feed->lock);
		batch = take_queue(feed);
		lost = feed->lost;
		stopping = feed->stopping;
		feed->applying = batch || lost;
		pthread_mutex_unlock(&feed->lock);
		apply_all(feed, batch);
		if (!feed->loaded && atomic_load(&feed->revision) >= goal)
			report_loaded(feed, 0, NULL);
		if (lost && !stopping)
			recover(feed, lost);
	}
	end_watch(feed);
}

static void *run(void *arg)
{
	struct ks_feed *feed = arg;
	struct ks_error err = {.text = ""};
	uint64_t goal = 0;
	int result = load(feed, &goal, &err);

	if (result) {
		report_loaded(feed, result, &err);
		return NULL;
	}
	result = start_watch(feed);
	if (result != KS_DONE)
		on_failed(feed, result);
	follow(feed, goal);
	ks_tree_pool_fini(&feed->pool);
	return NULL;
}

int ks_feed_start(struct ks_feed *feed)
{
	sigset_t all, before;
	int result;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = pthread_create(&feed->thread, NULL, run, feed);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	feed->has_thread = result == 0;
	return -result;
}

void ks_feed_stop(struct ks_feed *feed)
{
	if (!feed->has_thread)
		return;
	pthread_mutex_lock(&feed->lock);
	feed->stopping = true;
	pthread_cond_broadcast(&feed->changed);
	pthread_mutex_unlock(&feed->lock);
	pthread_join(feed->thread, NULL);
	feed->has_thread = false;
}
