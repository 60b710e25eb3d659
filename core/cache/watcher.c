/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/cache/watcher.h"

#include <errno.h>
#include <stdlib.h>

static void choose_key(struct ks_watcher *watcher)
{
	const struct ks_filter *filter = &watcher->filter;

	if (filter->name.n) {
		watcher->key_kind = KS_KEY_NAME;
		return;
	}
	if (filter->ns.n) {
		watcher->key_kind = KS_KEY_NAMESPACE;
		return;
	}
	for (uint32_t i = 0; i < filter->n_fields; i++) {
		if (filter->fields[i].index < 0 || filter->fields[i].not_equal)
			continue;
		watcher->key_kind = KS_KEY_FIELD;
		watcher->key_field = (uint8_t)i;
		return;
	}
}

/* Where to begin; false when entries after `after` are gone. */
static bool find_start(struct ks_watcher *watcher)
{
	const struct ks_history *history = &watcher->set->resource->history;
	bool reaches;

	ks_rcu_read_lock();
	watcher->number = ks_history_find(history, watcher->after, atomic_load_explicit(&history->end, memory_order_acquire));
	reaches = ks_history_reaches(history, watcher->after);
	ks_rcu_read_unlock();
	return reaches;
}

int ks_watcher_new(struct ks_cache_resource *r, struct ks_loop *loop, uint64_t after, const struct ks_watch_filter *filter,
	void (*wake)(struct ks_watcher *watcher, void *arg), void *arg, struct ks_watcher **out_r)
{
	static const struct ks_watch_filter everything;
	struct ks_watcher *watcher = calloc(1, sizeof(*watcher));
	int result;

	if (!watcher)
		return -ENOMEM;
	*watcher = (struct ks_watcher){.wake = wake, .arg = arg, .after = after, .revision = after};
	result = ks_filter_init(&watcher->filter, r->cache->schema, r->index, filter ? filter : &everything);
	if (result)
		goto failed;
	choose_key(watcher);
	watcher->set = ks_watch_set_of(r, loop);
	result = -ENOMEM;
	if (!watcher->set || !ks_watch_set_add(watcher->set, watcher))
		goto failed_filter;
	/* from here on the applier marks our set, or we see what it has published */
	atomic_thread_fence(memory_order_seq_cst);
	if (!find_start(watcher)) {
		ks_watcher_free(&watcher);
		return -ENOENT;
	}
	*out_r = watcher;
	return 0;
failed_filter:
	ks_filter_fini(&watcher->filter);
failed:
	free(watcher);
	return result;
}

void ks_watcher_free(struct ks_watcher **watcher)
{
	struct ks_watcher *w = *watcher;

	if (!w)
		return;
	*watcher = NULL;
	ks_watch_set_remove(w);
	ks_filter_fini(&w->filter);
	free(w);
}

/* What the entry means to this watcher; false: nothing. */
static bool translate(const struct ks_watcher *watcher, const struct ks_history_entry *entry, struct ks_watch_event *event)
{
	bool before = entry->previous && ks_filter_match(&watcher->filter, entry->previous);
	bool after = entry->object && ks_filter_match(&watcher->filter, entry->object);

	if ((!before && !after) || entry->revision <= watcher->after)
		return false;
	event->revision = entry->revision;
	event->object = ks_object_ref(after ? entry->object : entry->previous);
	event->type = !after ? KS_WATCH_DELETED : before ? KS_WATCH_MODIFIED : KS_WATCH_ADDED;
	return true;
}

/* One entry: 1 an event, 0 nothing for us, or negative as ks_history_get. */
static int read_entry(struct ks_watcher *watcher, struct ks_watch_event *event)
{
	struct ks_history_entry entry;
	int result;

	ks_rcu_read_lock();
	result = ks_history_get(&watcher->set->resource->history, watcher->number, &entry);
	if (!result)
		result = translate(watcher, &entry, event);
	ks_rcu_read_unlock();
	if (result >= 0) {
		watcher->number++;
		watcher->revision = entry.revision;
	}
	return result;
}

static void leave_idle(struct ks_watcher *watcher)
{
	if (watcher->idle && watcher->key_kind != KS_KEY_NONE && watcher->number < watcher->set->seen)
		watcher->number = watcher->set->seen;
	watcher->idle = false;
}

int ks_watcher_next(struct ks_watcher *watcher, struct ks_watch_event *event_r)
{
	uint64_t reached;
	int result;

	if (watcher->lost)
		return -ENOENT;
	leave_idle(watcher);
	do {
		/* read before the history's end: whatever has happened up to it is in the history */
		reached = ks_cache_revision(watcher->set->resource);
		result = read_entry(watcher, event_r);
	} while (result == 0);
	if (result != -EAGAIN)
		return result;
	watcher->idle = true;
	if (reached > watcher->revision)
		watcher->revision = reached;
	return 0;
}

uint64_t ks_watcher_revision(const struct ks_watcher *watcher)
{
	const struct ks_watch_set *set = watcher->set;
	uint64_t reached = ks_cache_revision(set->resource);
	uint64_t end = atomic_load_explicit(&set->resource->history.end, memory_order_acquire);
	uint64_t seen = watcher->number;

	if (!watcher->idle || watcher->lost)
		return watcher->revision;
	if (watcher->key_kind != KS_KEY_NONE && set->seen > seen)
		seen = set->seen;
	return seen >= end && reached > watcher->revision ? reached : watcher->revision;
}
