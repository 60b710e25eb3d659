/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "core/cache/watcher.h"

/* -- the table -------------------------------------------------------------------------------------------------- */

static uint32_t field_hash(int field, struct ks_str value)
{
	char digit = (char)('0' + field);

	return ks_cache_hash(ks_str_of(&digit, 1), value) ^ 0x9e3779b9u;
}

static uint32_t key_hash(const struct ks_watcher *watcher)
{
	const struct ks_filter *filter = &watcher->filter;

	switch (watcher->key_kind) {
	case KS_KEY_NAME:
		return ks_cache_hash((struct ks_str){0}, filter->name);
	case KS_KEY_NAMESPACE:
		return ks_cache_hash(filter->ns, (struct ks_str){0});
	default:
		return field_hash(filter->fields[watcher->key_field].index, filter->fields[watcher->key_field].value);
	}
}

static uint32_t *users(struct ks_watch_set *set, const struct ks_watcher *watcher)
{
	switch (watcher->key_kind) {
	case KS_KEY_NAME:
		return &set->n_named;
	case KS_KEY_NAMESPACE:
		return &set->n_of_namespace;
	default:
		return &set->n_of_field[watcher->filter.fields[watcher->key_field].index];
	}
}

static void link_watcher(struct ks_watcher **head, struct ks_watcher *watcher)
{
	watcher->next = *head;
	watcher->link = head;
	if (*head)
		(*head)->link = &watcher->next;
	*head = watcher;
}

static void unlink_watcher(struct ks_watcher *watcher)
{
	*watcher->link = watcher->next;
	if (watcher->next)
		watcher->next->link = watcher->link;
}

static bool grow(struct ks_watch_set *set)
{
	uint32_t n = set->n_buckets ? set->n_buckets * 2 : 16;
	struct ks_watcher **buckets, *watcher;

	if (set->n_keyed < set->n_buckets)
		return true;
	buckets = calloc(n, sizeof(struct ks_watcher *));
	if (!buckets)
		return set->n_buckets > 0;
	for (uint32_t i = 0; i < set->n_buckets; i++) {
		while ((watcher = set->buckets[i])) {
			unlink_watcher(watcher);
			link_watcher(&buckets[watcher->hash & (n - 1)], watcher);
		}
	}
	free(set->buckets);
	set->buckets = buckets;
	set->n_buckets = n;
	return true;
}

bool ks_watch_set_add(struct ks_watch_set *set, struct ks_watcher *watcher)
{
	if (watcher->key_kind == KS_KEY_NONE) {
		link_watcher(&set->broad, watcher);
	} else {
		if (!grow(set))
			return false;
		watcher->hash = key_hash(watcher);
		link_watcher(&set->buckets[watcher->hash & (set->n_buckets - 1)], watcher);
		if (set->n_keyed++ == 0) /* without users nobody kept it up to date */
			set->seen = atomic_load_explicit(&set->resource->history.end, memory_order_acquire);
		++*users(set, watcher);
	}
	atomic_fetch_add(&set->n_watchers, 1);
	return true;
}

static void unready(struct ks_watcher *watcher)
{
	struct ks_watch_hub *hub = watcher->set->hub;

	if (!watcher->ready_link)
		return;
	*watcher->ready_link = watcher->ready_next;
	if (watcher->ready_next)
		watcher->ready_next->ready_link = watcher->ready_link;
	else
		hub->ready_last = watcher->ready_link;
	watcher->ready_link = NULL;
}

void ks_watch_set_remove(struct ks_watcher *watcher)
{
	struct ks_watch_set *set = watcher->set;

	unready(watcher);
	unlink_watcher(watcher);
	if (watcher->key_kind != KS_KEY_NONE) {
		set->n_keyed--;
		--*users(set, watcher);
	}
	atomic_fetch_sub(&set->n_watchers, 1);
}

/* -- waking ----------------------------------------------------------------------------------------------------- */

static void make_ready(struct ks_watcher *watcher, uint64_t number)
{
	struct ks_watch_hub *hub = watcher->set->hub;

	if (!watcher->idle)
		return;
	watcher->idle = false;
	if (watcher->key_kind != KS_KEY_NONE && watcher->number < number)
		watcher->number = number;
	if (watcher->ready_link)
		return; /* it has read without being woken */
	watcher->ready_next = NULL;
	watcher->ready_link = hub->ready_last;
	*hub->ready_last = watcher;
	hub->ready_last = &watcher->ready_next;
}

static bool is_key(const struct ks_watcher *watcher, int kind, int field, struct ks_str text)
{
	const struct ks_filter *filter = &watcher->filter;

	if (watcher->key_kind != kind)
		return false;
	switch (kind) {
	case KS_KEY_NAME:
		return ks_str_eq(filter->name, text);
	case KS_KEY_NAMESPACE:
		return ks_str_eq(filter->ns, text);
	default:
		return filter->fields[watcher->key_field].index == field && ks_str_eq(filter->fields[watcher->key_field].value, text);
	}
}

static void wake_key(struct ks_watch_set *set, uint32_t hash, int kind, int field, struct ks_str text, uint64_t number)
{
	for (struct ks_watcher *w = set->buckets[hash & (set->n_buckets - 1)]; w; w = w->next)
		if (w->hash == hash && is_key(w, kind, field, text))
			make_ready(w, number);
}

static void wake_fields(struct ks_watch_set *set, const struct ks_object *object, uint64_t number)
{
	for (unsigned i = 0; object && i < object->n_fields; i++)
		if (set->n_of_field[i])
			wake_key(set, field_hash((int)i, object->fields[i]), KS_KEY_FIELD, (int)i, object->fields[i], number);
}

static void look_up(struct ks_watch_set *set, const struct ks_history_entry *entry, uint64_t number)
{
	const struct ks_object *object = entry->object ? entry->object : entry->previous;

	if (set->n_named)
		wake_key(set, ks_cache_hash((struct ks_str){0}, object->name), KS_KEY_NAME, 0, object->name, number);
	if (set->n_of_namespace)
		wake_key(set, ks_cache_hash(object->ns, (struct ks_str){0}), KS_KEY_NAMESPACE, 0, object->ns, number);
	wake_fields(set, entry->object, number);
	wake_fields(set, entry->previous, number);
}

/* The ring has passed us before we could look: whoever has read everything may have missed something now. */
static void lose_keyed(struct ks_watch_set *set)
{
	uint64_t first = atomic_load_explicit(&set->resource->history.first, memory_order_acquire);

	for (uint32_t i = 0; i < set->n_buckets; i++) {
		for (struct ks_watcher *w = set->buckets[i]; w; w = w->next) {
			w->lost = w->lost || (w->idle && w->number < first);
			make_ready(w, 0);
		}
	}
}

static void look_at_entries(struct ks_watch_set *set)
{
	const struct ks_history *history = &set->resource->history;
	struct ks_history_entry entry;
	int result = 0;

	while (!result && set->n_keyed > 0) {
		ks_rcu_read_lock();
		for (int i = 0; !result && i < KS_HISTORY_CHUNK; i++) {
			result = ks_history_get(history, set->seen, &entry);
			if (!result)
				look_up(set, &entry, set->seen++);
		}
		ks_rcu_read_unlock();
	}
	if (result == -ENOENT)
		lose_keyed(set);
	if (result != -EAGAIN)
		set->seen = atomic_load_explicit(&history->end, memory_order_acquire);
}

static void look_at_set(struct ks_watch_set *set)
{
	look_at_entries(set);
	for (struct ks_watcher *w = set->broad; w; w = w->next)
		make_ready(w, 0);
}

/* Wakes for about half a millisecond, then lets the loop breathe. */
static bool wake_ready(struct ks_watch_hub *hub)
{
	uint64_t until = ks_monotonic_ns() + 500000;
	struct ks_watcher *watcher;

	while ((watcher = hub->ready)) {
		unready(watcher);
		watcher->wake(watcher, watcher->arg);
		if (hub->ready && ks_monotonic_ns() > until)
			return true;
	}
	return false;
}

static void post_hub(struct ks_watch_hub *hub)
{
	if (!atomic_exchange(&hub->posted, true))
		ks_loop_post(hub->loop, &hub->task);
}

static void run_hub(struct ks_task *task)
{
	struct ks_watch_hub *hub = (struct ks_watch_hub *)((char *)task - offsetof(struct ks_watch_hub, task));

	atomic_exchange(&hub->posted, false);
	for (struct ks_watch_set *set = hub->sets; set; set = set->next_of_hub)
		if (atomic_exchange(&set->dirty, false))
			look_at_set(set);
	if (wake_ready(hub))
		post_hub(hub);
}

void ks_watch_sets_notify(struct ks_cache_resource *r)
{
	/* against a watcher that is just beginning: it sees our entries, or we see it */
	atomic_thread_fence(memory_order_seq_cst);
	for (struct ks_watch_set *set = atomic_load(&r->sets); set; set = set->next_of_resource) {
		if (atomic_load(&set->n_watchers) == 0 || atomic_exchange(&set->dirty, true))
			continue;
		post_hub(set->hub);
	}
}

/* -- hubs ------------------------------------------------------------------------------------------------------- */

static struct ks_watch_hub *hub_of(struct ks_cache *cache, struct ks_loop *loop)
{
	struct ks_watch_hub *hub, *head = atomic_load_explicit(&cache->hubs, memory_order_acquire);

	for (hub = head; hub; hub = hub->next)
		if (hub->loop == loop)
			return hub; /* only the loop itself makes its hub */
	hub = calloc(1, sizeof(*hub));
	if (!hub)
		return NULL;
	hub->loop = loop;
	hub->task.run = run_hub;
	hub->ready_last = &hub->ready;
	hub->next = head;
	while (!atomic_compare_exchange_weak(&cache->hubs, &hub->next, hub))
		;
	return hub;
}

struct ks_watch_set *ks_watch_set_of(struct ks_cache_resource *r, struct ks_loop *loop)
{
	struct ks_watch_hub *hub = hub_of(r->cache, loop);
	struct ks_watch_set *set;

	if (!hub)
		return NULL;
	for (set = hub->sets; set; set = set->next_of_hub)
		if (set->resource == r)
			return set;
	set = calloc(1, sizeof(*set));
	if (!set)
		return NULL;
	set->hub = hub;
	set->resource = r;
	set->seen = atomic_load_explicit(&r->history.end, memory_order_acquire);
	set->next_of_hub = hub->sets;
	hub->sets = set;
	set->next_of_resource = atomic_load(&r->sets);
	while (!atomic_compare_exchange_weak(&r->sets, &set->next_of_resource, set))
		;
	return set;
}

void ks_watch_hubs_free(struct ks_cache *cache)
{
	struct ks_watch_hub *hub = atomic_exchange(&cache->hubs, NULL), *next;
	struct ks_watch_set *set, *next_set;

	for (; hub; hub = next) {
		next = hub->next;
		for (set = hub->sets; set; set = next_set) {
			next_set = set->next_of_hub;
			free(set->buckets);
			free(set);
		}
		free(hub);
	}
}
