/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "storage/common/watchers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct watch {
	struct watch *next;
	uint64_t (*events)(void *arg, const struct ks_store_event *events, size_t n, uint64_t progress);
	void (*failed)(void *arg, int result);
	void *arg;
	uint64_t cursor;  /* the first revision not delivered yet */
	uint64_t credit;
	int over;         /* `failed` was called, or it was closed */
	int busy;         /* a callback runs */
	size_t prefix_n;
	char prefix[];
};

struct ks_watchers {
	const struct ks_host *host;
	struct ks_watch_source source;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;   /* for the thread */
	pthread_cond_t idle;   /* a callback has returned */
	struct watch *list;
	int woken, ending;
	/* the thread's own */
	struct ks_record *records[KS_WATCHERS_BATCH];
	struct ks_store_event events[KS_WATCHERS_BATCH];
};

/* Those of the fetched records that the watch wants, at most `max`; *next_r moves back when there are more. */
static size_t select_events(struct ks_watchers *ws, const struct watch *w, size_t n, uint64_t max, uint64_t *next_r)
{
	struct ks_view prefix = {w->prefix, w->prefix_n};
	size_t i, out = 0;

	for (i = 0; i < n; i++) {
		if (!ks_view_starts(ks_record_key(ws->records[i]), prefix))
			continue;
		if (out == max) {
			*next_r = ws->records[i]->revision;
			break;
		}
		ws->events[out++] = ks_record_event(ws->records[i]);
	}
	return out;
}

static void watch_fail(struct ks_watchers *ws, struct watch *w, int result)
{
	w->over = 1;
	pthread_mutex_unlock(&ws->lock);
	w->failed(w->arg, result);
	pthread_mutex_lock(&ws->lock);
}

static void watch_deliver(struct ks_watchers *ws, struct watch *w, size_t n, uint64_t next)
{
	uint64_t credit;

	w->credit = 0;
	pthread_mutex_unlock(&ws->lock);
	credit = w->events(w->arg, ws->events, n, next - 1);
	pthread_mutex_lock(&ws->lock);
	w->cursor = next;
	/* What watch_credit gave meanwhile counts too. */
	w->credit = credit > UINT64_MAX - w->credit ? UINT64_MAX : w->credit + credit;
}

/* One step of one watch, under the lock, which is let go around the callbacks. */
static void watch_step(struct ks_watchers *ws, struct watch *w)
{
	uint64_t from = w->cursor, next = from;
	size_t i, n = 0, out;
	int result;

	w->busy = 1;
	pthread_mutex_unlock(&ws->lock);
	result = ws->source.fetch(ws->source.self, from, ws->records, &n, &next);
	pthread_mutex_lock(&ws->lock);
	if (result != KS_DONE) {
		if (!w->over)
			watch_fail(ws, w, result);
	} else if (!w->over && next > from) {
		out = select_events(ws, w, n, w->credit, &next);
		watch_deliver(ws, w, out, next);
	}
	for (i = 0; i < n; i++)
		ks_record_unref(ws->host, ws->records[i]);
	w->busy = 0;
	pthread_cond_broadcast(&ws->idle);
}

static struct watch *find_ready(struct ks_watchers *ws)
{
	uint64_t current = ws->source.current(ws->source.self);
	struct watch *w;

	for (w = ws->list; w; w = w->next)
		if (!w->over && w->credit && w->cursor <= current)
			return w;
	return NULL;
}

/* Fairness: a watch that was served goes to the end of the list. */
static void move_last(struct ks_watchers *ws, struct watch *w)
{
	struct watch **p;

	for (p = &ws->list; *p && *p != w; p = &(*p)->next)
		;
	if (!*p)
		return;
	*p = w->next;
	while (*p)
		p = &(*p)->next;
	*p = w;
	w->next = NULL;
}

static void *watchers_main(void *arg)
{
	struct ks_watchers *ws = arg;
	struct watch *w;

	pthread_mutex_lock(&ws->lock);
	while (!ws->ending) {
		ws->woken = 0;
		while (!ws->ending && (w = find_ready(ws))) {
			move_last(ws, w);
			watch_step(ws, w);
		}
		while (!ws->ending && !ws->woken)
			pthread_cond_wait(&ws->wake, &ws->lock);
	}
	pthread_mutex_unlock(&ws->lock);
	return NULL;
}

struct ks_watchers *ks_watchers_new(const struct ks_host *host, const struct ks_watch_source *source)
{
	struct ks_watchers *ws = calloc(1, sizeof(*ws));

	if (!ws)
		return NULL;
	ws->host = host;
	ws->source = *source;
	pthread_mutex_init(&ws->lock, NULL);
	pthread_cond_init(&ws->wake, NULL);
	pthread_cond_init(&ws->idle, NULL);
	if (pthread_create(&ws->thread, NULL, watchers_main, ws)) {
		free(ws);
		return NULL;
	}
	return ws;
}

void ks_watchers_free(struct ks_watchers **watchers)
{
	struct ks_watchers *ws = *watchers;
	struct watch *w;

	if (!ws)
		return;
	pthread_mutex_lock(&ws->lock);
	ws->ending = 1;
	pthread_cond_signal(&ws->wake);
	pthread_mutex_unlock(&ws->lock);
	pthread_join(ws->thread, NULL);
	while ((w = ws->list)) {
		ws->list = w->next;
		free(w);
	}
	pthread_cond_destroy(&ws->idle);
	pthread_cond_destroy(&ws->wake);
	pthread_mutex_destroy(&ws->lock);
	free(ws);
	*watchers = NULL;
}

static void wake_locked(struct ks_watchers *ws)
{
	ws->woken = 1;
	pthread_cond_signal(&ws->wake);
}

void ks_watchers_wake(struct ks_watchers *watchers)
{
	pthread_mutex_lock(&watchers->lock);
	wake_locked(watchers);
	pthread_mutex_unlock(&watchers->lock);
}

int ks_watchers_open(struct ks_watchers *ws, const struct ks_store_watch *watch, void **watch_r)
{
	struct watch *w, **p;

	if (watch->from_revision && watch->from_revision < ws->source.oldest(ws->source.self))
		return KS_ERR_COMPACTED;
	w = calloc(1, sizeof(*w) + watch->prefix.n);
	if (!w)
		return KS_ERR_NOMEM;
	w->events = watch->events;
	w->failed = watch->failed;
	w->arg = watch->arg;
	w->credit = KS_WATCHERS_BATCH;
	w->cursor = watch->from_revision ? watch->from_revision : ws->source.current(ws->source.self) + 1;
	w->prefix_n = watch->prefix.n;
	if (w->prefix_n)
		memcpy(w->prefix, watch->prefix.p, w->prefix_n);
	pthread_mutex_lock(&ws->lock);
	/* Events may come at once: the receiver must know its watch by then. */
	*watch_r = w;
	for (p = &ws->list; *p; p = &(*p)->next)
		;
	*p = w;
	wake_locked(ws);
	pthread_mutex_unlock(&ws->lock);
	return KS_DONE;
}

void ks_watchers_credit(struct ks_watchers *ws, void *watch, uint64_t n)
{
	struct watch *w = watch;

	pthread_mutex_lock(&ws->lock);
	w->credit = n > UINT64_MAX - w->credit ? UINT64_MAX : w->credit + n;
	wake_locked(ws);
	pthread_mutex_unlock(&ws->lock);
}

void ks_watchers_close(struct ks_watchers *ws, void *watch)
{
	struct watch *w = watch, **p;

	pthread_mutex_lock(&ws->lock);
	w->over = 1;
	while (w->busy)
		pthread_cond_wait(&ws->idle, &ws->lock);
	for (p = &ws->list; *p && *p != w; p = &(*p)->next)
		;
	if (*p)
		*p = w->next;
	pthread_mutex_unlock(&ws->lock);
	free(w);
}
