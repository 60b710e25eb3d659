/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Watchers: what they are told, when they are woken, when they are too late. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/cache/watcher.h"
#include "core/util/log.h"
#include "tests/unit/cache-help.h"

static uint16_t pods;

struct fixture {
	struct help_store store;
	struct ks_router *router;
	struct ks_cache *cache;
	struct ks_cache_resource *r;
	struct ks_loop *loop;
	struct ks_arena arena;
};

struct seen {
	struct ks_watcher *watcher;
	unsigned wakes;
	bool keep_asleep; /* a wake doesn't read */
	struct ks_watcher **kills;
	char text[4096];
};

static int setup(void **state)
{
	const struct ks_cache_config config = {.history_events = 128};
	struct fixture *f = calloc(1, sizeof(*f));

	pods = help_resource("", "v1", "pods");
	help_store_init(&f->store, "test");
	f->store.oldest = f->store.revision;
	f->router = help_router(&f->store);
	f->loop = ks_loop_new(0);
	ks_arena_init(&f->arena, 0);
	assert_int_equal(ks_cache_start(&ks_schema_builtin, f->router, &config, &f->cache, NULL), 0);
	f->r = ks_cache_find(f->cache, pods);
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
	ks_arena_fini(&f->arena);
	free(f);
	return 0;
}

static uint64_t put(struct fixture *f, const char *ns, const char *name, const char *labels, const char *rest)
{
	return help_store_put(&f->store, pods, ns, name, help_json(pods, ns, name, labels, rest));
}

static int read_all(struct seen *s)
{
	struct ks_watch_event event;
	size_t n = strlen(s->text);
	int result;

	while ((result = ks_watcher_next(s->watcher, &event)) == 1) {
		n += (size_t)snprintf(s->text + n, sizeof(s->text) - n, "%c:%.*s@%d/%d ", " AMD"[event.type], (int)event.object->name.n,
			event.object->name.p, (int)event.revision, (int)event.object->revision);
		ks_object_unref(event.object);
	}
	return result;
}

static void on_wake(struct ks_watcher *watcher, void *arg)
{
	struct seen *s = arg;

	assert_ptr_equal(watcher, s->watcher);
	s->wakes++;
	if (s->kills) {
		ks_watcher_free(s->kills);
		s->kills = NULL;
	}
	if (!s->keep_asleep)
		read_all(s);
}

static void watch(struct fixture *f, struct seen *s, uint64_t after, const struct ks_watch_filter *filter)
{
	*s = (struct seen){0};
	assert_int_equal(ks_watcher_new(f->r, f->loop, after, filter, on_wake, s, &s->watcher), 0);
	assert_int_equal(read_all(s), 0);
}

/* Everything that was written has been applied and its wakes have run. */
static void settle(struct fixture *f, uint64_t revision)
{
	help_settle(f->cache, pods, revision);
	for (int i = 0; i < 3; i++) /* a hub with much to do posts itself again */
		(void)ks_loop_turn(f->loop, false);
}

static struct ks_watch_filter by_label(struct fixture *f, const char *text)
{
	struct ks_selector *selector;
	const char *message;

	assert_int_equal(ks_label_selector_parse(&f->arena, ks_str_from(text), &selector, &message), 0);
	return (struct ks_watch_filter){.labels = selector};
}

/* -- what is told --------------------------------------------------------------------------------------------------- */

static void everything_in_order(void **state)
{
	struct fixture *f = *state;
	struct seen s;

	watch(f, &s, 10, NULL);
	put(f, "a", "x", NULL, NULL);
	put(f, "b", "y", NULL, NULL);
	put(f, "a", "x", "\"k\":\"v\"", NULL);
	settle(f, help_store_put(&f->store, pods, "a", "x", NULL));
	assert_string_equal(s.text, "A:x@11/11 A:y@12/12 M:x@13/13 D:x@14/13 ");
	ks_watcher_free(&s.watcher);
}

static void selectors_have_a_border(void **state)
{
	struct fixture *f = *state;
	struct ks_watch_filter filter = by_label(f, "k=v");
	struct seen s;

	watch(f, &s, 10, &filter);
	put(f, "a", "x", NULL, NULL);
	put(f, "a", "x", "\"k\":\"v\"", NULL);
	put(f, "a", "x", "\"k\":\"v\",\"l\":\"w\"", NULL);
	put(f, "a", "x", "\"k\":\"other\"", NULL);
	put(f, "a", "x", "\"k\":\"v\"", NULL);
	help_store_put(&f->store, pods, "a", "x", NULL);
	put(f, "a", "x", NULL, NULL);
	settle(f, help_store_put(&f->store, pods, "a", "x", NULL));
	assert_string_equal(s.text, "A:x@12/12 M:x@13/13 D:x@14/13 A:x@15/15 D:x@16/15 ");
	ks_watcher_free(&s.watcher);
}

static void fields_have_one_too(void **state)
{
	struct fixture *f = *state;
	const struct ks_field_requirement field = {KS_STR_LIT("spec.nodeName"), KS_STR_LIT("n1"), false};
	const struct ks_watch_filter filter = {.fields = &field, .n_fields = 1};
	struct seen s;

	watch(f, &s, 10, &filter);
	put(f, "a", "x", NULL, NULL);
	put(f, "a", "x", NULL, ",\"spec\":{\"nodeName\":\"n1\"}");
	settle(f, put(f, "a", "x", NULL, ",\"spec\":{\"nodeName\":\"n2\"}"));
	assert_string_equal(s.text, "A:x@12/12 D:x@13/12 ");
	ks_watcher_free(&s.watcher);
}

static void a_future_revision_is_waited_for(void **state)
{
	struct fixture *f = *state;
	struct seen s;

	watch(f, &s, 12, NULL);
	put(f, "a", "x", NULL, NULL);
	put(f, "a", "y", NULL, NULL);
	settle(f, put(f, "a", "z", NULL, NULL));
	assert_string_equal(s.text, "A:z@13/13 ");
	ks_watcher_free(&s.watcher);
}

static void an_unknown_field_is_refused(void **state)
{
	struct fixture *f = *state;
	const struct ks_field_requirement field = {KS_STR_LIT("spec.nonsense"), KS_STR_LIT("n1"), false};
	const struct ks_watch_filter filter = {.fields = &field, .n_fields = 1};
	struct ks_watcher *watcher;

	assert_int_equal(ks_watcher_new(f->r, f->loop, 10, &filter, on_wake, NULL, &watcher), -EINVAL);
}

/* -- waking --------------------------------------------------------------------------------------------------------- */

static void once_per_batch(void **state)
{
	struct fixture *f = *state;
	struct seen s;

	watch(f, &s, 10, NULL);
	settle(f, 10);
	assert_int_equal(s.wakes, 0);
	help_store_hold(&f->store, true);
	for (int i = 0; i < 20; i++)
		put(f, "a", "x", NULL, NULL);
	help_store_hold(&f->store, false);
	help_wait(f->cache, pods, 30);
	settle(f, 30);
	assert_in_range(s.wakes, 1, 5);
	assert_int_equal(s.text[0], 'A');
	ks_watcher_free(&s.watcher);
}

static void not_before_it_has_read_everything(void **state)
{
	struct fixture *f = *state;
	struct seen s;

	watch(f, &s, 10, NULL);
	s.keep_asleep = true;
	settle(f, put(f, "a", "x", NULL, NULL));
	settle(f, put(f, "a", "y", NULL, NULL));
	assert_int_equal(s.wakes, 1);
	assert_int_equal(read_all(&s), 0);
	settle(f, put(f, "a", "z", NULL, NULL));
	assert_int_equal(s.wakes, 2);
	ks_watcher_free(&s.watcher);
}

static void only_those_whom_it_concerns(void **state)
{
	struct fixture *f = *state;
	const struct ks_field_requirement on_n1 = {KS_STR_LIT("spec.nodeName"), KS_STR_LIT("n1"), false},
					  named = {KS_STR_LIT("metadata.name"), KS_STR_LIT("x"), false};
	const struct ks_watch_filter in_a = {.ns = KS_STR_LIT("a")}, in_b = {.ns = KS_STR_LIT("b")},
				     x_in_a = {.ns = KS_STR_LIT("a"), .name = KS_STR_LIT("x")};
	const struct ks_watch_filter node = {.fields = &on_n1, .n_fields = 1}, name = {.fields = &named, .n_fields = 1};
	struct seen a, b, x, n, m;

	watch(f, &a, 10, &in_a);
	watch(f, &b, 10, &in_b);
	watch(f, &x, 10, &x_in_a);
	watch(f, &n, 10, &node);
	watch(f, &m, 10, &name);
	put(f, "a", "y", NULL, NULL);
	put(f, "a", "y", NULL, ",\"spec\":{\"nodeName\":\"n1\"}");
	settle(f, put(f, "c", "z", NULL, ",\"spec\":{\"nodeName\":\"n2\"}"));
	assert_string_equal(a.text, "A:y@11/11 M:y@12/12 ");
	assert_string_equal(n.text, "A:y@12/12 ");
	assert_int_equal(b.wakes, 0);
	assert_int_equal(x.wakes, 0);
	assert_int_equal(m.wakes, 0);
	put(f, "a", "y", NULL, NULL);
	settle(f, put(f, "a", "x", NULL, NULL));
	assert_string_equal(x.text, "A:x@15/15 ");
	assert_string_equal(m.text, "A:x@15/15 ");
	assert_string_equal(n.text, "A:y@12/12 D:y@14/12 ");
	assert_int_equal(b.wakes, 0);
	ks_watcher_free(&a.watcher);
	ks_watcher_free(&b.watcher);
	ks_watcher_free(&x.watcher);
	ks_watcher_free(&n.watcher);
	ks_watcher_free(&m.watcher);
}

static void one_may_free_another_when_woken(void **state)
{
	struct fixture *f = *state;
	struct seen s[3];

	for (int i = 0; i < 3; i++)
		watch(f, &s[i], 10, NULL);
	s[0].kills = &s[1].watcher;
	s[2].kills = &s[1].watcher;
	settle(f, put(f, "a", "x", NULL, NULL));
	assert_null(s[1].watcher);
	assert_int_equal(s[1].wakes, 0);
	assert_int_equal(s[0].wakes, 1);
	assert_int_equal(s[2].wakes, 1);
	ks_watcher_free(&s[0].watcher);
	ks_watcher_free(&s[2].watcher);
}

/* -- progress and lateness ------------------------------------------------------------------------------------------- */

static void its_revision_is_what_it_has_seen(void **state)
{
	struct fixture *f = *state;
	const struct ks_watch_filter in_b = {.ns = KS_STR_LIT("b")};
	struct seen s, asleep;

	watch(f, &s, 10, &in_b);
	watch(f, &asleep, 10, NULL);
	asleep.keep_asleep = true;
	assert_int_equal(ks_watcher_revision(s.watcher), 10);
	help_store_advance(&f->store, 5);
	settle(f, 15);
	assert_int_equal(ks_watcher_revision(s.watcher), 15);
	settle(f, put(f, "a", "x", NULL, NULL));
	assert_int_equal(ks_watcher_revision(s.watcher), 16);
	assert_int_equal(ks_watcher_revision(asleep.watcher), 10);
	assert_int_equal(read_all(&asleep), 0);
	assert_int_equal(ks_watcher_revision(asleep.watcher), 16);
	ks_watcher_free(&s.watcher);
	ks_watcher_free(&asleep.watcher);
}

static void who_does_not_read_falls_behind(void **state)
{
	struct fixture *f = *state;
	struct ks_watch_event event;
	struct seen s;
	char name[32];

	watch(f, &s, 10, NULL);
	s.keep_asleep = true;
	for (int i = 0; i < 600; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		put(f, "a", name, NULL, NULL);
	}
	settle(f, 610);
	assert_int_equal(ks_watcher_next(s.watcher, &event), -ENOENT);
	assert_int_equal(ks_watcher_next(s.watcher, &event), -ENOENT);
	ks_watcher_free(&s.watcher);
}

/* The ring turns over many times with nothing for this one: it has missed nothing. */
static void who_is_not_concerned_does_not(void **state)
{
	struct fixture *f = *state;
	const struct ks_watch_filter in_b = {.ns = KS_STR_LIT("b")};
	struct seen s;
	char name[32];

	watch(f, &s, 10, &in_b);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		put(f, "a", name, NULL, NULL);
		if (i % 50 == 49) {
			help_wait(f->cache, pods, f->store.revision);
			settle(f, f->store.revision);
		}
	}
	assert_int_equal(s.wakes, 0);
	settle(f, put(f, "b", "x", NULL, NULL));
	assert_string_equal(s.text, "A:x@2011/2011 ");
	ks_watcher_free(&s.watcher);
}

/* The loop sleeps while the ring turns over: nobody can tell what was missed. */
static void a_loop_that_sleeps_loses_its_watchers(void **state)
{
	struct fixture *f = *state;
	const struct ks_watch_filter in_b = {.ns = KS_STR_LIT("b")};
	struct ks_watch_event event;
	struct seen s, fresh;
	char name[32];

	watch(f, &s, 10, &in_b);
	s.keep_asleep = true;
	for (int i = 0; i < 600; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		put(f, "a", name, NULL, NULL);
	}
	help_wait(f->cache, pods, 610);
	watch(f, &fresh, 610, &in_b);
	settle(f, 610);
	assert_int_equal(ks_watcher_next(s.watcher, &event), -ENOENT);
	assert_int_equal(ks_watcher_next(fresh.watcher, &event), 0);
	ks_watcher_free(&s.watcher);
	ks_watcher_free(&fresh.watcher);
}

static void too_old_is_refused(void **state)
{
	struct fixture *f = *state;
	struct ks_watcher *watcher;

	assert_int_equal(ks_watcher_new(f->r, f->loop, 9, NULL, on_wake, NULL, &watcher), -ENOENT);
}

/* -- many ------------------------------------------------------------------------------------------------------------ */

static void ten_thousand_idle_ones_cost_nothing(void **state)
{
	enum { N = 10000 };
	struct fixture *f = *state;
	struct seen *s = calloc(N, sizeof(*s));
	char ns[16];
	unsigned wakes = 0;

	for (int i = 0; i < N; i++) {
		struct ks_watch_filter filter = {.ns = ks_str_of(ns, (size_t)snprintf(ns, sizeof(ns), "ns-%d", i))};

		watch(f, &s[i], 10, &filter);
	}
	for (int i = 0; i < 100; i++)
		put(f, "ns-77", "x", NULL, i % 2 ? NULL : ",\"spec\":{}");
	settle(f, put(f, "ns-9999", "y", NULL, NULL));
	for (int i = 0; i < N; i++) {
		wakes += i != 77 ? s[i].wakes : 0;
		ks_watcher_free(&s[i].watcher);
	}
	assert_int_equal(wakes, 1);
	assert_true(s[77].wakes > 0);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(everything_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(selectors_have_a_border, setup, teardown),
		cmocka_unit_test_setup_teardown(fields_have_one_too, setup, teardown),
		cmocka_unit_test_setup_teardown(a_future_revision_is_waited_for, setup, teardown),
		cmocka_unit_test_setup_teardown(an_unknown_field_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(once_per_batch, setup, teardown),
		cmocka_unit_test_setup_teardown(not_before_it_has_read_everything, setup, teardown),
		cmocka_unit_test_setup_teardown(only_those_whom_it_concerns, setup, teardown),
		cmocka_unit_test_setup_teardown(one_may_free_another_when_woken, setup, teardown),
		cmocka_unit_test_setup_teardown(its_revision_is_what_it_has_seen, setup, teardown),
		cmocka_unit_test_setup_teardown(who_does_not_read_falls_behind, setup, teardown),
		cmocka_unit_test_setup_teardown(who_is_not_concerned_does_not, setup, teardown),
		cmocka_unit_test_setup_teardown(a_loop_that_sleeps_loses_its_watchers, setup, teardown),
		cmocka_unit_test_setup_teardown(too_old_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(ten_thousand_idle_ones_cost_nothing, setup, teardown),
	};

	ks_log_set_level(KS_LOG_WARN);
	return cmocka_run_group_tests_name("watcher", tests, NULL, NULL);
}
