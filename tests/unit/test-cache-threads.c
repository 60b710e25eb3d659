/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Readers on several threads while a store's events come in: what each sees is whole and in order. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/util/log.h"
#include "tests/unit/cache-help.h"

enum { WRITES = 3000, NAMES = 100 };

static uint16_t configmaps;

struct fixture {
	struct help_store store;
	struct ks_router *router;
	struct ks_cache *cache;
	struct ks_cache_resource *r;
	_Atomic bool over;
	_Atomic unsigned failures;
};

static void check(struct fixture *f, bool fine)
{
	if (!fine)
		atomic_fetch_add(&f->failures, 1);
}

/* Every name is written in turn, so all but a few are there, in order, and none is newer than the state. */
static void check_state(struct fixture *f, const struct ks_snapshot *snapshot)
{
	struct ks_cursor cursor;
	struct ks_object *object;
	struct ks_str last = {0};
	uint64_t n = 0, newest = 0;

	ks_cursor_init(&cursor, snapshot, (struct ks_str){0}, (struct ks_str){0});
	while ((object = ks_cursor_next(&cursor))) {
		check(f, n == 0 || ks_str_cmp(last, object->name) < 0);
		check(f, object->revision <= snapshot->revision);
		newest = object->revision > newest ? object->revision : newest;
		last = object->name;
		n++;
	}
	check(f, n == snapshot->count);
}

static void *read_states(void *arg)
{
	struct fixture *f = arg;
	struct ks_snapshot held = {0}, past;
	uint64_t last = 0;
	unsigned round = 0;

	while (!atomic_load(&f->over)) {
		struct ks_snapshot now;

		ks_cache_snapshot(f->r, &now);
		check(f, now.revision >= last);
		last = now.revision;
		check_state(f, &now);
		if (round++ % 7 == 0) {
			if (held.root) {
				check_state(f, &held);
				ks_snapshot_release(&held);
			}
			held = now;
		} else {
			ks_snapshot_release(&now);
		}
		if (last > 30 && ks_cache_snapshot_at(f->r, last - 20, &past) == 0) {
			check_state(f, &past);
			ks_snapshot_release(&past);
		}
	}
	if (held.root)
		ks_snapshot_release(&held);
	return NULL;
}

static void *read_objects(void *arg)
{
	struct fixture *f = arg;
	uint64_t last[NAMES] = {0};
	char name[16];
	unsigned i = 0;

	while (!atomic_load(&f->over)) {
		struct ks_object *object;

		i = (i + 7) % NAMES;
		snprintf(name, sizeof(name), "n%u", i);
		object = ks_cache_get(f->r, KS_STR_LIT("a"), ks_str_from(name));
		if (!object)
			continue;
		check(f, object->revision >= last[i]);
		check(f, ks_str_is(object->name, name));
		last[i] = object->revision;
		ks_object_unref(object);
	}
	return NULL;
}

struct worker {
	struct fixture *f;
	struct ks_loop *loop;
	struct ks_watcher *broad, *narrow;
	uint64_t seen_broad, seen_narrow, last;
};

static void read_narrow(struct ks_watcher *watcher, void *arg)
{
	struct worker *w = arg;
	struct ks_watch_event event;

	while (ks_watcher_next(watcher, &event) == 1) {
		check(w->f, ks_str_is(event.object->name, "n5"));
		w->seen_narrow++;
		ks_object_unref(event.object);
	}
}

static void read_broad(struct ks_watcher *watcher, void *arg)
{
	struct worker *w = arg;
	struct ks_watch_event event;

	while (ks_watcher_next(watcher, &event) == 1) {
		check(w->f, event.revision > w->last);
		w->last = event.revision;
		w->seen_broad++;
		ks_object_unref(event.object);
	}
	check(w->f, ks_watcher_revision(watcher) >= w->last);
	if (w->seen_broad == WRITES)
		ks_loop_stop(w->loop);
}

static void *run_worker(void *arg)
{
	struct worker *w = arg;
	const struct ks_watch_filter narrow = {.ns = KS_STR_LIT("a"), .name = KS_STR_LIT("n5")};

	check(w->f, ks_watcher_new(w->f->r, w->loop, 10, &narrow, read_narrow, w, &w->narrow) == 0);
	check(w->f, ks_watcher_new(w->f->r, w->loop, 10, NULL, read_broad, w, &w->broad) == 0);
	read_narrow(w->narrow, w);
	read_broad(w->broad, w);
	ks_loop_run(w->loop);
	read_narrow(w->narrow, w);
	ks_watcher_free(&w->broad);
	ks_watcher_free(&w->narrow);
	return NULL;
}

static void write_all(struct fixture *f)
{
	char name[16], rest[64];

	for (unsigned i = 0; i < WRITES; i++) {
		snprintf(name, sizeof(name), "n%u", i * 13 % NAMES);
		snprintf(rest, sizeof(rest), ",\"data\":{\"i\":\"%u\"}", i);
		if (i % 17 == 16) { /* a parked object, as a write makes it */
			struct ks_object *object = help_object(configmaps, "a", name, NULL, rest);

			ks_cache_park(f->r, object);
			help_store_put(&f->store, configmaps, "a", name, ks_bytes_ref(object->json));
			ks_object_unref(object);
		} else {
			help_store_put(&f->store, configmaps, "a", name, help_json(configmaps, "a", name, NULL, rest));
		}
	}
}

static void all_see_the_same_story(void **state)
{
	const struct ks_cache_config config = {.history_events = 2 * WRITES};
	struct fixture f = {0};
	struct worker workers[2] = {{.f = &f}, {.f = &f}};
	pthread_t readers[3], loops[2];

	(void)state;
	configmaps = help_resource("", "v1", "configmaps");
	help_store_init(&f.store, "test");
	f.router = help_router(&f.store);
	assert_int_equal(ks_cache_start(&ks_schema_builtin, f.router, &config, &f.cache, NULL), 0);
	f.r = ks_cache_find(f.cache, configmaps);
	pthread_create(&readers[0], NULL, read_states, &f);
	pthread_create(&readers[1], NULL, read_states, &f);
	pthread_create(&readers[2], NULL, read_objects, &f);
	for (int i = 0; i < 2; i++) {
		workers[i].loop = ks_loop_new((uint32_t)i);
		pthread_create(&loops[i], NULL, run_worker, &workers[i]);
	}
	write_all(&f);
	for (int i = 0; i < 2; i++)
		pthread_join(loops[i], NULL);
	atomic_store(&f.over, true);
	for (int i = 0; i < 3; i++)
		pthread_join(readers[i], NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(workers[i].seen_broad, WRITES);
		assert_int_equal(workers[i].seen_narrow, WRITES / NAMES);
		ks_loop_free(&workers[i].loop);
	}
	assert_int_equal(atomic_load(&f.failures), 0);
	assert_int_equal(ks_cache_count(f.r), NAMES);
	ks_cache_stop(&f.cache);
	ks_router_free(&f.router);
	help_store_fini(&f.store);
}

static struct ks_object *shared;

static int convert_nothing(struct ks_arena *arena, const struct ks_schema *schema, uint16_t from, uint16_t to, struct ks_value *root)
{
	(void)arena;
	(void)schema;
	(void)from;
	(void)to;
	(void)root;
	return 0;
}

static void *ask_for_version(void *arg)
{
	struct ks_representation r;

	for (int i = 0; i < 100; i++)
		if (ks_object_representation(shared, &ks_schema_builtin, help_resource("events.k8s.io", "v1", "events"), &r))
			return NULL;
	*(const struct ks_bytes **)arg = r.bytes;
	return arg;
}

static void one_representation_for_all(void **state)
{
	const struct ks_bytes *bytes[4] = {NULL};
	pthread_t threads[4];

	(void)state;
	ks_object_set_converter(convert_nothing);
	shared = help_object(help_resource("", "v1", "events"), "n", "e", NULL, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, ask_for_version, &bytes[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++)
		assert_ptr_equal(bytes[i], bytes[0]);
	assert_non_null(bytes[0]);
	ks_object_unref(shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_see_the_same_story),
		cmocka_unit_test(one_representation_for_all),
	};

	ks_log_set_level(KS_LOG_WARN);
	return cmocka_run_group_tests_name("cache-threads", tests, NULL, NULL);
}
