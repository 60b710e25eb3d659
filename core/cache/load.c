/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Lists of a whole store: the first one, and those that stand in for events that were lost. */
#include <errno.h>
#include <stdlib.h>

#include "core/cache/internal.h"
#include "core/util/log.h"

enum { PAGE = 10000 };

struct load {
	struct ks_feed *feed;
	bool again; /* objects whose revision is the same are taken from the tree */
	bool no_memory;
	struct ks_buf last; /* key */
	uint64_t n;
};

/* -- objects ---------------------------------------------------------------------------------------------------- */

static void complain(struct ks_cache_resource *r, struct ks_str ns, struct ks_str name, const char *why)
{
	uint64_t n = ++r->feed->undecodable;

	if (n <= 10 || n % 1000 == 0)
		ks_log(KS_LOG_ERROR, "cache", "store %s: %.*s %.*s/%.*s can't be read and is left out: %s", r->feed->store->name, (int)r->prefix.n,
			r->prefix.p, (int)ns.n, ns.p, (int)name.n, name.p, why);
}

static struct ks_object *decode(struct ks_cache_resource *r, struct ks_str ns, struct ks_str name, struct ks_bytes *json, bool *memory_r)
{
	struct ks_error err = {.text = ""};
	struct ks_object *object = ks_object_from_json(r->cache->schema, r->index, json, &err);

	*memory_r = !object && strcmp(err.text, "out of memory") == 0;
	if (object && (!ks_str_eq(object->ns, ns) || !ks_str_eq(object->name, name))) {
		ks_object_unref(object);
		object = NULL;
		ks_error_set(&err, 0, "it says that it has another name");
	}
	if (!object && !*memory_r)
		complain(r, ns, name, err.text);
	return object;
}

struct ks_object *ks_feed_object(struct ks_cache_resource *r, struct ks_str ns, struct ks_str name, const struct ks_store_kv *kv, bool *memory_r)
{
	struct ks_bytes *json = (struct ks_bytes *)kv->value;
	struct ks_object *object = NULL;

	*memory_r = false;
	if (json)
		object = ks_park_take(&r->park, ns, name, json);
	if (json && !object)
		object = decode(r, ns, name, json, memory_r);
	if (!object)
		return NULL;
	object->revision = kv->mod_revision;
	object->create_revision = kv->create_revision;
	object->lease_until_ms = kv->lease_until_ms;
	return object;
}

/* -- collecting ------------------------------------------------------------------------------------------------- */

static bool add_loading(struct ks_cache_resource *r, struct ks_object *object)
{
	size_t cap = r->loading_cap ? r->loading_cap * 2 : 64;
	struct ks_object **grown;

	if (r->n_loading == r->loading_cap) {
		grown = realloc(r->loading, cap * sizeof(struct ks_object *));
		if (!grown)
			return false;
		r->loading = grown;
		r->loading_cap = cap;
	}
	r->loading[r->n_loading++] = object;
	return true;
}

static void drop_loading(struct ks_feed *feed)
{
	for (size_t i = 0; i < feed->n_resources; i++) {
		struct ks_cache_resource *r = &feed->resources[i];

		for (size_t j = 0; j < r->n_loading; j++)
			ks_object_unref(r->loading[j]);
		free(r->loading);
		r->loading = NULL;
		r->n_loading = r->loading_cap = 0;
	}
}

/* What the tree has already needn't be decoded again. An object that can't be read stays as it was known. */
static struct ks_object *object_of(struct load *load, struct ks_cache_resource *r, struct ks_str ns, struct ks_str name, const struct ks_store_kv *kv)
{
	struct ks_object *known = load->again ? ks_tree_find(r->edit.top, ns, name) : NULL, *object;

	if (known && known->revision == kv->mod_revision)
		return ks_object_ref(known);
	object = ks_feed_object(r, ns, name, kv, &load->no_memory);
	return object || !known || load->no_memory ? object : ks_object_ref(known);
}

static int emit(void *arg, const struct ks_store_kv *kv)
{
	struct load *load = arg;
	struct ks_str key = ks_cache_view(kv->key), ns, name;
	struct ks_cache_resource *r = ks_feed_resolve(load->feed, key, &ns, &name);
	struct ks_object *object = r ? object_of(load, r, ns, name, kv) : NULL;

	if (object && !add_loading(r, object)) {
		ks_object_unref(object);
		load->no_memory = true;
	}
	ks_bytes_unref((struct ks_bytes *)kv->value);
	ks_buf_clear(&load->last);
	ks_buf_add(&load->last, key.p, key.n);
	load->n++;
	return load->no_memory || load->last.failed;
}

/* Page after page, all of the same revision. */
static int collect(struct load *load, uint64_t revision, uint64_t *revision_r, struct ks_error *err)
{
	struct ks_store_range range = {.size = sizeof(range),
		.prefix = {KS_STORE_ROOT, sizeof(KS_STORE_ROOT) - 1},
		.limit = PAGE,
		.revision = revision,
		.emit = emit,
		.arg = load};
	struct ks_store_range_result page;
	int result;

	do {
		page = (struct ks_store_range_result){.size = sizeof(page)};
		result = ks_store_range_wait(load->feed->store, &range, &page, err);
		if (load->no_memory || load->last.failed)
			return ks_error_set(err, KS_ERR_NOMEM, "out of memory");
		if (result != KS_DONE)
			return result;
		range.revision = page.revision;
		ks_buf_add_char(&load->last, '\0'); /* the first key that can follow it */
		range.start = (struct ks_view){load->last.data, load->last.len};
	} while (page.more && !load->last.failed);
	*revision_r = page.revision;
	return 0;
}

static int compare_objects(const void *a, const void *b)
{
	const struct ks_object *left = *(struct ks_object *const *)a, *right = *(struct ks_object *const *)b;

	return ks_tree_compare(left->ns, left->name, right);
}

static int list(struct ks_feed *feed, bool again, uint64_t revision, uint64_t *revision_r, struct ks_error *err)
{
	struct load load = {.feed = feed, .again = again};
	int result;

	ks_buf_init(&load.last);
	result = collect(&load, revision, revision_r, err);
	ks_buf_fini(&load.last);
	if (result)
		drop_loading(feed);
	return result;
}

/* -- the first list ---------------------------------------------------------------------------------------------- */

/* Keys come in order; a store that has another idea of it costs a sort. */
static int build(struct ks_cache_resource *r)
{
	int result;

	if (r->n_loading == 0)
		return 0;
	r->edit.version++;
	result = ks_tree_build(&r->edit, r->loading, r->n_loading);
	if (result == -EINVAL) {
		qsort(r->loading, r->n_loading, sizeof(struct ks_object *), compare_objects);
		result = ks_tree_build(&r->edit, r->loading, r->n_loading);
	}
	if (result)
		return result;
	r->next_root = calloc(1, sizeof(*r->next_root));
	for (size_t i = 0; i < r->n_loading; i++)
		r->bytes += r->loading[i]->json->len;
	r->n_loading = 0; /* the tree's now */
	if (!r->next_root)
		return -ENOMEM;
	r->next_touched = r->feed->touched;
	r->feed->touched = r;
	return 0;
}

int ks_feed_load(struct ks_feed *feed, uint64_t revision, uint64_t *revision_r, struct ks_error *err)
{
	int result = list(feed, false, revision, revision_r, err);

	if (result)
		return result;
	for (size_t i = 0; i < feed->n_resources && !result; i++) {
		result = build(&feed->resources[i]);
		atomic_store(&feed->resources[i].history.floor, *revision_r);
	}
	drop_loading(feed);
	if (result)
		return ks_error_set(
			err, KS_ERR, "store %s: %s", feed->store->name, result == -EINVAL ? "a range gives a key twice" : "out of memory");
	ks_apply_publish(feed, *revision_r);
	return 0;
}

/* -- after a loss ------------------------------------------------------------------------------------------------ */

struct change {
	uint64_t revision;
	struct ks_object *object; /* a reference; NULL: `gone` is no more */
	struct ks_object *gone; /* a reference */
};

static int compare_changes(const void *a, const void *b)
{
	const struct change *left = a, *right = b;

	return left->revision < right->revision ? -1 : left->revision > right->revision;
}

/* Both are in order: what is new or differs is a change of its own revision, what is missing went at the latest with the list. */
static size_t find_changes(struct ks_cache_resource *r, uint64_t revision, struct change *changes)
{
	struct ks_root root = {.top = r->edit.top};
	struct ks_snapshot snapshot = {.root = &root, .resource = r};
	struct ks_cursor cursor;
	struct ks_object *old;
	size_t n = 0, i = 0;

	ks_cursor_init(&cursor, &snapshot, (struct ks_str){0}, (struct ks_str){0});
	old = ks_cursor_next(&cursor);
	while (old || i < r->n_loading) {
		struct ks_object *now = i < r->n_loading ? r->loading[i] : NULL;
		int c = !old ? -1 : !now ? 1 : ks_tree_compare(now->ns, now->name, old);

		if (c > 0)
			changes[n++] = (struct change){.revision = revision, .gone = ks_object_ref(old)};
		else if (now != old)
			changes[n++] = (struct change){.revision = now->revision, .object = ks_object_ref(now)};
		i += c <= 0;
		if (c >= 0)
			old = ks_cursor_next(&cursor);
	}
	qsort(changes, n, sizeof(*changes), compare_changes);
	return n;
}

/* An object that no change takes over is given back. */
static int apply_changes(struct ks_cache_resource *r, struct change *changes, size_t n)
{
	int result = 0;

	for (size_t i = 0; i < n; i++) {
		struct change *c = &changes[i];

		if (!result && c->object) {
			result = ks_apply_put(r, c->object);
			if (!result)
				c->object = NULL;
		} else if (!result) {
			result = ks_apply_delete(r, c->gone->ns, c->gone->name, c->revision);
		}
		ks_object_unref(c->object);
		ks_object_unref(c->gone);
	}
	return result;
}

static int apply_list(struct ks_cache_resource *r, uint64_t revision)
{
	struct change *changes;
	int result;

	if (r->n_loading > 1)
		qsort(r->loading, r->n_loading, sizeof(struct ks_object *), compare_objects);
	changes = calloc(r->n_loading + r->edit.count + 1, sizeof(*changes));
	if (!changes)
		return -ENOMEM;
	result = apply_changes(r, changes, find_changes(r, revision, changes));
	free(changes);
	return result;
}

int ks_feed_reload(struct ks_feed *feed, struct ks_error *err)
{
	uint64_t before = atomic_load(&feed->revision), now = 0;
	int result = list(feed, true, 0, &now, err);

	if (result)
		return result;
	if (now < before)
		result = ks_error_set(err, KS_ERR, "store %s: its revision went back from %llu to %llu", feed->store->name,
			(unsigned long long)before, (unsigned long long)now);
	for (size_t i = 0; i < feed->n_resources && !result; i++) {
		struct ks_cache_resource *r = &feed->resources[i];

		/* who has seen a revision that we have not may have missed a deletion that the list can't show */
		atomic_store(&r->history.gap_from, before);
		atomic_store(&r->history.gap_to, now);
		if (apply_list(r, now))
			result = ks_error_set(err, KS_ERR_NOMEM, "out of memory");
		ks_park_clear(&r->park);
	}
	drop_loading(feed);
	if (!result)
		ks_apply_publish(feed, now);
	return result;
}
