/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Router and cache over the stores that ship, each started as the server does. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/util/log.h"
#include "tests/unit/cache-help.h"
#include "tests/unit/cache-host.h"

extern const struct ks_plugin ks_plugin_memory, ks_plugin_sqlite;

static uint16_t configmaps;

struct fixture {
	const struct ks_plugin *plugin;
	char folder[64], file[96];
	struct cache_host host;
	struct ks_router *router;
	struct ks_cache *cache;
	struct ks_cache_resource *r;
	struct ks_loop *loop;
	struct ks_store_call call;
};

static void start(struct fixture *f)
{
	static const char *const all[] = {"*"};
	struct ks_router_entry entry = {.resources = all, .n_resources = 1};
	struct ks_error err = {.text = ""};

	assert_int_equal(cache_host_start(&f->host, f->plugin, f->file), 0);
	entry.store = f->host.store;
	f->router = ks_router_new(&entry, 1, &err);
	assert_non_null(f->router);
	if (ks_cache_start(&ks_schema_builtin, f->router, NULL, &f->cache, &err))
		fail_msg("%s", err.text);
	f->r = ks_cache_find(f->cache, configmaps);
}

static void stop(struct fixture *f)
{
	ks_cache_stop(&f->cache);
	ks_router_free(&f->router);
	cache_host_stop(&f->host);
}

static int setup_with(void **state, const struct ks_plugin *plugin)
{
	struct fixture *f = calloc(1, sizeof(*f));

	configmaps = help_resource("", "v1", "configmaps");
	f->plugin = plugin;
	strcpy(f->folder, "/tmp/ks-cache-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->file, sizeof(f->file), "%s/db", f->folder);
	start(f);
	*state = f;
	return 0;
}

static int setup_memory(void **state)
{
	return setup_with(state, &ks_plugin_memory);
}

static int setup_sqlite(void **state)
{
	return setup_with(state, &ks_plugin_sqlite);
}

static int teardown(void **state)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-guard"};
	struct fixture *f = *state;
	char name[128];

	stop(f);
	for (size_t i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "%s%s", f->file, suffixes[i]);
		unlink(name);
	}
	rmdir(f->folder);
	ks_buf_fini(&f->call.key);
	free(f);
	return 0;
}

static void on_done(struct ks_store_call *call)
{
	ks_loop_stop(call->loop);
}

/* The whole way of a write: parked, written, adopted. Returns the revision. */
static uint64_t write_object(struct fixture *f, const char *name, unsigned i, uint64_t expected, int outcome)
{
	struct ks_object *object;
	char rest[64];
	uint64_t revision;

	snprintf(rest, sizeof(rest), ",\"data\":{\"i\":\"%u\"}", i);
	object = help_object(configmaps, "a", name, NULL, rest);
	f->loop = ks_loop_new(0);
	ks_buf_fini(&f->call.key);
	f->call = (struct ks_store_call){.loop = f->loop, .value = object->json, .expected = expected, .done = on_done};
	ks_store_key(&f->call.key, &ks_schema_builtin, configmaps, KS_STR_LIT("a"), ks_str_from(name));
	ks_cache_park(f->r, object);
	ks_store_write_start(&f->host.store, &f->call);
	ks_loop_run(f->loop);
	ks_loop_free(&f->loop);
	assert_int_equal(f->call.outcome, outcome);
	if (outcome != KS_WRITE_COMMITTED)
		ks_cache_unpark(f->r, object);
	ks_bytes_unref(f->call.current);
	revision = f->call.revision;
	if (outcome == KS_WRITE_COMMITTED) {
		struct ks_object *found;

		help_wait(f->cache, configmaps, revision);
		found = ks_cache_get(f->r, KS_STR_LIT("a"), ks_str_from(name));
		assert_ptr_equal(found, object);
		assert_int_equal(found->revision, revision);
		ks_object_unref(found);
	}
	ks_object_unref(object);
	return revision;
}

static void no_wake(struct ks_watcher *watcher, void *arg)
{
	(void)watcher;
	(void)arg;
}

static unsigned count_events(struct fixture *f, uint64_t after, uint64_t *last_r)
{
	struct ks_watch_event event;
	struct ks_watcher *watcher;
	unsigned n = 0;

	f->loop = ks_loop_new(0);
	assert_int_equal(ks_watcher_new(f->r, f->loop, after, NULL, no_wake, NULL, &watcher), 0);
	while (ks_watcher_next(watcher, &event) == 1) {
		assert_true(event.revision > after);
		after = event.revision;
		n++;
		ks_object_unref(event.object);
	}
	ks_watcher_free(&watcher);
	ks_loop_free(&f->loop);
	*last_r = after;
	return n;
}

static void writes_are_seen(void **state)
{
	struct fixture *f = *state;
	uint64_t first = write_object(f, "one", 1, 0, KS_WRITE_COMMITTED), second, last;

	write_object(f, "one", 2, 0, KS_WRITE_LOST_RACE);
	second = write_object(f, "one", 3, first, KS_WRITE_COMMITTED);
	assert_true(second > first);
	assert_int_equal(count_events(f, first, &last), 1);
	assert_int_equal(last, second);
}

static void a_restart_forgets_nothing(void **state)
{
	enum { N = 500 };
	struct fixture *f = *state;
	uint64_t first = write_object(f, "one", 0, 0, KS_WRITE_COMMITTED), last = first, seen;
	char name[32];

	for (unsigned i = 1; i < N; i++) {
		snprintf(name, sizeof(name), "n%u", i % 50);
		last = write_object(f, name, i, UINT64_MAX, KS_WRITE_COMMITTED);
	}
	stop(f);
	start(f);
	assert_int_equal(ks_cache_count(f->r), 51);
	assert_int_equal(count_events(f, first, &seen), N - 1);
	assert_int_equal(seen, last);
	assert_true(write_object(f, "one", N, first, KS_WRITE_COMMITTED) > last);
}

static void the_past_can_be_read_after_a_restart(void **state)
{
	struct fixture *f = *state;
	uint64_t first = write_object(f, "one", 0, 0, KS_WRITE_COMMITTED);
	struct ks_snapshot snapshot;

	write_object(f, "two", 0, 0, KS_WRITE_COMMITTED);
	stop(f);
	start(f);
	assert_int_equal(ks_cache_snapshot_at(f->r, first, &snapshot), 0);
	assert_int_equal(snapshot.count, 1);
	ks_snapshot_release(&snapshot);
}

static void a_restart_of_a_store_that_forgets(void **state)
{
	struct fixture *f = *state;
	uint64_t last = write_object(f, "one", 0, 0, KS_WRITE_COMMITTED);
	struct ks_watcher *watcher;

	stop(f);
	start(f);
	assert_int_equal(ks_cache_count(f->r), 0);
	f->loop = ks_loop_new(0);
	assert_true(ks_cache_revision(f->r) > last);
	assert_int_equal(ks_watcher_new(f->r, f->loop, last, NULL, no_wake, NULL, &watcher), -ENOENT);
	ks_loop_free(&f->loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(writes_are_seen, setup_memory, teardown),
		cmocka_unit_test_setup_teardown(a_restart_of_a_store_that_forgets, setup_memory, teardown),
		cmocka_unit_test_setup_teardown(writes_are_seen, setup_sqlite, teardown),
		cmocka_unit_test_setup_teardown(a_restart_forgets_nothing, setup_sqlite, teardown),
		cmocka_unit_test_setup_teardown(the_past_can_be_read_after_a_restart, setup_sqlite, teardown),
	};

	ks_log_set_level(KS_LOG_WARN);
	return cmocka_run_group_tests_name("cache-stores", tests, NULL, NULL);
}
