/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A store's events on their way into the cache: start, following, losses, restarts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/util/log.h"
#include "tests/unit/cache-help.h"

static uint16_t pods, configmaps, nodes, services;

struct fixture {
	struct help_store store;
	struct ks_router *router;
	struct ks_cache *cache;
	struct ks_loop *loop;
};

static void start(struct fixture *f)
{
	const struct ks_cache_config config = {.history_events = 256};
	struct ks_error err;

	assert_int_equal(ks_cache_start(&ks_schema_builtin, f->router, &config, &f->cache, &err), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	pods = help_resource("", "v1", "pods");
	configmaps = help_resource("", "v1", "configmaps");
	nodes = help_resource("", "v1", "nodes");
	services = help_resource("", "v1", "services");
	help_store_init(&f->store, "test");
	f->router = help_router(&f->store);
	f->loop = ks_loop_new(0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ks_cache_stop(&f->cache);
	ks_loop_free(&f->loop);
	ks_router_free(&f->router);
	help_store_fini(&f->store);
	free(f);
	return 0;
}

static uint64_t put(struct fixture *f, uint16_t resource, const char *ns, const char *name, const char *labels)
{
	return help_store_put(&f->store, resource, ns, name, help_json(resource, ns, name, labels, NULL));
}

static void wait_for(struct fixture *f, uint64_t revision)
{
	help_wait(f->cache, pods, revision);
}

static uint64_t revision_of(struct fixture *f, uint16_t resource, const char *ns, const char *name)
{
	struct ks_object *o = ks_cache_get(ks_cache_find(f->cache, resource), ks_str_from(ns), ks_str_from(name));
	uint64_t revision = o ? o->revision : 0;

	ks_object_unref(o);
	return revision;
}

/* -- watching without a running loop: next() is asked directly ----------------------------------------------------- */

static void no_wake(struct ks_watcher *watcher, void *arg)
{
	(void)watcher;
	(void)arg;
}

static int watch(struct fixture *f, uint16_t resource, uint64_t after, const struct ks_watch_filter *filter, struct ks_watcher **out_r)
{
	return ks_watcher_new(ks_cache_find(f->cache, resource), f->loop, after, filter, no_wake, NULL, out_r);
}

/* All events that are there, as "A:name@revision " and so on. */
static const char *events(struct ks_watcher *watcher)
{
	static char text[8192];
	struct ks_watch_event event;
	size_t n = 0;
	int result;

	text[0] = '\0';
	while ((result = ks_watcher_next(watcher, &event)) == 1) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%c:%.*s@%d ", " AMD"[event.type], (int)event.object->name.n, event.object->name.p,
			(int)event.revision);
		ks_object_unref(event.object);
	}
	if (result < 0)
		snprintf(text + n, sizeof(text) - n, "error %d", result);
	return text;
}

/* -- start and following -------------------------------------------------------------------------------------------- */

static void what_is_stored_is_there_after_the_start(void **state)
{
	struct fixture *f = *state;

	put(f, pods, "a", "one", NULL);
	put(f, nodes, NULL, "n1", NULL);
	put(f, services, "a", "s", NULL);
	put(f, pods, "b", "two", NULL);
	help_store_put(&f->store, pods, "a", "one", NULL);
	f->store.oldest = f->store.revision;
	start(f);
	assert_int_equal(ks_cache_revision(ks_cache_find(f->cache, pods)), 15);
	assert_int_equal(ks_cache_count(ks_cache_find(f->cache, pods)), 1);
	assert_int_equal(revision_of(f, pods, "b", "two"), 14);
	assert_int_equal(revision_of(f, nodes, "", "n1"), 12);
	assert_int_equal(revision_of(f, services, "a", "s"), 13);
	assert_int_equal(revision_of(f, pods, "a", "one"), 0);
	assert_true(ks_cache_bytes(ks_cache_find(f->cache, pods)) > 50);
	assert_null(ks_cache_find(f->cache, help_resource("", "v1", "bindings")));
	assert_ptr_equal(ks_cache_find(f->cache, help_resource("", "v1", "pods/status")), ks_cache_find(f->cache, pods));
}

static void a_store_that_is_away_fails_the_start(void **state)
{
	struct fixture *f = *state;
	struct ks_error err = {.text = ""};

	f->store.away = true;
	assert_int_not_equal(ks_cache_start(&ks_schema_builtin, f->router, NULL, &f->cache, &err), 0);
	assert_string_equal(err.text, "store test: a range failed");
	assert_null(f->cache);
}

static void resources_may_have_stores_of_their_own(void **state)
{
	static const char *const all[] = {"*"}, *const some[] = {"nodes"};
	struct fixture *f = *state;
	struct help_store other;
	const struct ks_router_entry entries[] = {{f->store.store, all, 1}, {{.name = "other", .self = &other, .ops = f->store.store.ops}, some, 1}};

	help_store_init(&other, "other");
	help_store_advance(&other, 90);
	ks_router_free(&f->router);
	f->router = ks_router_new(entries, 2, NULL);
	help_store_put(&f->store, nodes, NULL, "wrong", help_json(nodes, NULL, "wrong", NULL, NULL));
	start(f);
	help_store_put(&other, nodes, NULL, "right", help_json(nodes, NULL, "right", NULL, NULL));
	help_wait(f->cache, nodes, 101);
	assert_int_equal(ks_cache_count(ks_cache_find(f->cache, nodes)), 1);
	assert_int_equal(revision_of(f, nodes, "", "right"), 101);
	assert_int_equal(ks_cache_revision(ks_cache_find(f->cache, pods)), 11);
	ks_cache_stop(&f->cache);
	help_store_fini(&other);
}

static void changes_are_followed(void **state)
{
	struct fixture *f = *state;
	uint64_t revision;

	start(f);
	put(f, pods, "a", "one", NULL);
	revision = put(f, pods, "a", "one", "\"x\":\"y\"");
	put(f, configmaps, "a", "c", NULL);
	wait_for(f, revision + 1);
	assert_int_equal(revision_of(f, pods, "a", "one"), revision);
	help_store_put(&f->store, pods, "a", "one", NULL);
	wait_for(f, revision + 2);
	assert_int_equal(revision_of(f, pods, "a", "one"), 0);
}

static void quiet_resources_advance_with_their_store(void **state)
{
	struct fixture *f = *state;

	start(f);
	help_store_advance(&f->store, 7);
	help_wait(f->cache, nodes, 17);
	assert_int_equal(ks_cache_revision(ks_cache_find(f->cache, services)), 17);
}

static void a_value_that_is_no_object_is_left_out(void **state)
{
	struct fixture *f = *state;
	uint64_t revision;

	ks_log_set_level(KS_LOG_ERROR - 1);
	help_store_put(&f->store, pods, "a", "bad", ks_bytes_dup("nonsense", 8));
	help_store_put(&f->store, pods, "a", "other", help_json(pods, "a", "name", NULL, NULL));
	put(f, pods, "a", "good", NULL);
	f->store.oldest = f->store.revision;
	start(f);
	help_store_put(&f->store, pods, "a", "worse", ks_bytes_dup("{", 1));
	revision = put(f, pods, "a", "better", NULL);
	wait_for(f, revision);
	assert_int_equal(ks_cache_count(ks_cache_find(f->cache, pods)), 2);
	ks_log_set_level(KS_LOG_WARN);
}

static void many_pages_and_a_flood(void **state)
{
	enum { N = 300 };
	struct fixture *f = *state;
	char name[32];
	uint64_t revision = 0;

	start(f);
	help_store_hold(&f->store, true);
	for (unsigned i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "p%u", i);
		revision = put(f, pods, "a", name, NULL);
	}
	help_store_hold(&f->store, false);
	wait_for(f, revision);
	assert_int_equal(ks_cache_count(ks_cache_find(f->cache, pods)), N);
}

/* -- restarts and losses -------------------------------------------------------------------------------------------- */

static void a_watch_goes_on_over_a_restart(void **state)
{
	struct fixture *f = *state;
	struct ks_watcher *watcher;
	uint64_t seen;

	put(f, pods, "a", "one", NULL);
	seen = put(f, pods, "a", "two", NULL);
	start(f);
	ks_cache_stop(&f->cache);
	put(f, pods, "a", "one", "\"x\":\"y\"");
	help_store_put(&f->store, pods, "a", "two", NULL);
	start(f);
	assert_int_equal(watch(f, pods, seen, NULL, &watcher), 0);
	assert_string_equal(events(watcher), "M:one@13 D:two@14 ");
	ks_watcher_free(&watcher);
	assert_int_equal(watch(f, pods, 11, NULL, &watcher), 0);
	assert_string_equal(events(watcher), "A:two@12 M:one@13 D:two@14 ");
	ks_watcher_free(&watcher);
	assert_int_equal(ks_cache_count(ks_cache_find(f->cache, pods)), 1);
}

static void *let_go(void *arg)
{
	const struct timespec pause = {.tv_nsec = 20000000};

	nanosleep(&pause, NULL); /* both the applier and who starts the cache are waiting by now, most likely */
	help_store_hold(arg, false);
	return NULL;
}

static void a_start_waits_for_the_whole_log(void **state)
{
	struct fixture *f = *state;
	pthread_t thread;

	put(f, pods, "a", "one", NULL);
	put(f, pods, "a", "two", NULL);
	help_store_hold(&f->store, true);
	assert_int_equal(pthread_create(&thread, NULL, let_go, &f->store), 0);
	start(f);
	assert_int_equal(ks_cache_count(ks_cache_find(f->cache, pods)), 2);
	pthread_join(thread, NULL);
}

static void what_was_compacted_is_expired_after_a_restart(void **state)
{
	struct fixture *f = *state;
	struct ks_watcher *watcher;

	put(f, pods, "a", "one", NULL);
	put(f, pods, "a", "two", NULL);
	put(f, pods, "a", "three", NULL);
	f->store.oldest = 12;
	start(f);
	assert_int_equal(watch(f, pods, 11, NULL, &watcher), -ENOENT);
	assert_int_equal(watch(f, pods, 12, NULL, &watcher), 0);
	assert_string_equal(events(watcher), "A:three@13 ");
	ks_watcher_free(&watcher);
}

static void a_watch_that_breaks_is_taken_up_again(void **state)
{
	struct fixture *f = *state;
	uint64_t revision;

	ks_log_set_level(KS_LOG_ERROR);
	put(f, pods, "a", "one", NULL);
	start(f);
	f->store.watch_failures = 2;
	help_store_break(&f->store, KS_ERR_UNAVAILABLE, 0);
	revision = put(f, pods, "a", "two", NULL);
	wait_for(f, revision);
	assert_int_equal(revision_of(f, pods, "a", "two"), revision);
	assert_int_equal(f->store.ranges, 1);
	ks_log_set_level(KS_LOG_WARN);
}

/* Everything between hold and break is only seen by the second list. */
static void lost_events_are_made_up_for(void **state)
{
	struct fixture *f = *state;
	struct ks_watcher *watcher, *late;
	struct ks_object *same;
	uint64_t revision;

	ks_log_set_level(KS_LOG_ERROR);
	put(f, pods, "a", "changed", NULL);
	put(f, pods, "a", "gone", NULL);
	revision = put(f, pods, "a", "same", NULL);
	start(f);
	assert_int_equal(watch(f, pods, revision, NULL, &watcher), 0);
	same = ks_cache_get(ks_cache_find(f->cache, pods), KS_STR_LIT("a"), KS_STR_LIT("same"));
	help_store_hold(&f->store, true);
	f->store.watch_failures = 1;
	put(f, pods, "a", "changed", "\"x\":\"y\"");
	put(f, pods, "b", "new", NULL);
	help_store_put(&f->store, pods, "a", "gone", NULL);
	put(f, pods, "a", "brief", NULL);
	revision = help_store_put(&f->store, pods, "a", "brief", NULL);
	help_store_break(&f->store, KS_ERR_COMPACTED, revision);
	wait_for(f, revision);
	assert_string_equal(events(watcher), "M:changed@14 A:new@15 D:gone@18 ");
	assert_int_equal(ks_watcher_revision(watcher), 18);
	assert_int_equal(revision_of(f, pods, "a", "gone"), 0);
	assert_int_equal(watch(f, pods, 16, NULL, &late), -ENOENT);
	assert_int_equal(watch(f, pods, 13, NULL, &late), 0);
	ks_watcher_free(&late);
	assert_ptr_equal(same, ks_cache_get(ks_cache_find(f->cache, pods), KS_STR_LIT("a"), KS_STR_LIT("same")));
	ks_object_unref(same);
	ks_object_unref(same);
	ks_watcher_free(&watcher);
	ks_log_set_level(KS_LOG_WARN);
}

static void a_store_that_went_back_is_unhealthy(void **state)
{
	struct fixture *f = *state;
	const struct timespec pause = {.tv_nsec = 1000000};
	const char *name = "";

	ks_log_set_level(KS_LOG_ERROR - 1);
	put(f, pods, "a", "one", NULL);
	start(f);
	assert_int_equal(ks_cache_health(f->cache, &name), 0);
	pthread_mutex_lock(&f->store.lock);
	f->store.revision = 5;
	pthread_mutex_unlock(&f->store.lock);
	help_store_break(&f->store, KS_ERR_COMPACTED, 0);
	for (int i = 0; i < 10000 && !ks_cache_health(f->cache, &name); i++)
		nanosleep(&pause, NULL);
	assert_int_not_equal(ks_cache_health(f->cache, &name), 0);
	assert_string_equal(name, "test");
	assert_int_equal(revision_of(f, pods, "a", "one"), 11);
	ks_log_set_level(KS_LOG_WARN);
}

/* -- parked objects ------------------------------------------------------------------------------------------------- */

static void a_parked_object_is_adopted(void **state)
{
	struct fixture *f = *state;
	struct ks_object *object, *other, *found;
	uint64_t revision;

	start(f);
	object = help_object(pods, "a", "one", NULL, NULL);
	other = help_object(pods, "a", "one", "\"lost\":\"race\"", NULL);
	ks_cache_park(ks_cache_find(f->cache, pods), object);
	ks_cache_park(ks_cache_find(f->cache, pods), other);
	revision = help_store_put(&f->store, pods, "a", "one", ks_bytes_ref(object->json));
	wait_for(f, revision);
	found = ks_cache_get(ks_cache_find(f->cache, pods), KS_STR_LIT("a"), KS_STR_LIT("one"));
	assert_ptr_equal(found, object);
	assert_int_equal(found->revision, revision);
	assert_int_equal(found->create_revision, revision);
	ks_object_unref(found);
	ks_cache_unpark(ks_cache_find(f->cache, pods), other);
	ks_cache_unpark(ks_cache_find(f->cache, pods), object); /* harmless when it has been adopted */
	ks_object_unref(other);
	ks_object_unref(object);
}

static void equal_bytes_are_adopted_too(void **state)
{
	struct fixture *f = *state;
	struct ks_object *object, *found;
	uint64_t revision;

	start(f);
	object = help_object(pods, "a", "one", NULL, NULL);
	ks_cache_park(ks_cache_find(f->cache, pods), object);
	revision = put(f, pods, "a", "one", NULL);
	wait_for(f, revision);
	found = ks_cache_get(ks_cache_find(f->cache, pods), KS_STR_LIT("a"), KS_STR_LIT("one"));
	assert_ptr_equal(found, object);
	ks_object_unref(found);
	ks_object_unref(object);
}

/* -- states of the past --------------------------------------------------------------------------------------------- */

static void states_that_are_too_old_are_told(void **state)
{
	struct fixture *f = *state;
	struct ks_snapshot snapshot;
	struct ks_cache_resource *r;

	put(f, pods, "a", "one", NULL);
	put(f, pods, "a", "two", NULL);
	f->store.oldest = 12;
	start(f);
	put(f, pods, "a", "three", NULL);
	wait_for(f, 13);
	r = ks_cache_find(f->cache, pods);
	assert_int_equal(ks_cache_snapshot_at(r, 11, &snapshot), -ENOENT);
	assert_int_equal(ks_cache_snapshot_at(r, 14, &snapshot), -EAGAIN);
	assert_int_equal(ks_cache_snapshot_at(r, 12, &snapshot), 0);
	assert_int_equal(snapshot.count, 2);
	ks_snapshot_release(&snapshot);
	assert_int_equal(ks_cache_snapshot_at(r, 13, &snapshot), 0);
	assert_int_equal(snapshot.count, 3);
	ks_snapshot_release(&snapshot);
}

/* -- waits ---------------------------------------------------------------------------------------------------------- */

struct waiter {
	struct ks_cache_wait wait;
	int runs;
	bool stop;
};

static void run_wait(struct ks_task *task)
{
	struct waiter *w = (struct waiter *)((char *)task - offsetof(struct waiter, wait) - offsetof(struct ks_cache_wait, task));

	w->runs++;
	if (w->stop)
		ks_loop_stop(w->wait.loop);
}

static void waits_end_when_the_revision_has_come(void **state)
{
	struct fixture *f = *state;
	struct waiter now = {.wait = {.task = {.run = run_wait}, .loop = f->loop, .revision = 10}};
	struct waiter later = {.wait = {.task = {.run = run_wait}, .loop = f->loop, .revision = 12}, .stop = true};
	struct waiter never = {.wait = {.task = {.run = run_wait}, .loop = f->loop, .revision = 13}};

	start(f);
	ks_cache_wait_for(ks_cache_find(f->cache, pods), &never.wait);
	ks_cache_wait_for(ks_cache_find(f->cache, nodes), &later.wait);
	ks_cache_wait_for(ks_cache_find(f->cache, pods), &now.wait);
	put(f, pods, "a", "one", NULL);
	put(f, pods, "a", "two", NULL);
	ks_loop_run(f->loop);
	assert_int_equal(now.runs, 1);
	assert_int_equal(later.runs, 1);
	assert_false(ks_cache_unwait(&later.wait));
	assert_true(ks_cache_unwait(&never.wait));
	assert_false(ks_cache_unwait(&never.wait));
	assert_int_equal(never.runs, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_stored_is_there_after_the_start, setup, teardown),
		cmocka_unit_test_setup_teardown(a_store_that_is_away_fails_the_start, setup, teardown),
		cmocka_unit_test_setup_teardown(resources_may_have_stores_of_their_own, setup, teardown),
		cmocka_unit_test_setup_teardown(changes_are_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(quiet_resources_advance_with_their_store, setup, teardown),
		cmocka_unit_test_setup_teardown(a_value_that_is_no_object_is_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(many_pages_and_a_flood, setup, teardown),
		cmocka_unit_test_setup_teardown(a_watch_goes_on_over_a_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(a_start_waits_for_the_whole_log, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_compacted_is_expired_after_a_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(a_watch_that_breaks_is_taken_up_again, setup, teardown),
		cmocka_unit_test_setup_teardown(lost_events_are_made_up_for, setup, teardown),
		cmocka_unit_test_setup_teardown(a_store_that_went_back_is_unhealthy, setup, teardown),
		cmocka_unit_test_setup_teardown(a_parked_object_is_adopted, setup, teardown),
		cmocka_unit_test_setup_teardown(equal_bytes_are_adopted_too, setup, teardown),
		cmocka_unit_test_setup_teardown(states_that_are_too_old_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(waits_end_when_the_revision_has_come, setup, teardown),
	};

	ks_log_set_level(KS_LOG_WARN);
	return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
