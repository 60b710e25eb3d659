/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Which store keeps what, under which key, and writes whose outcome was not clear at first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/cache-help.h"

#define assert_key(expected, ...)                                     \
	do {                                                          \
		struct ks_buf key_;                                   \
		ks_buf_init(&key_);                                   \
		ks_store_key(&key_, &ks_schema_builtin, __VA_ARGS__); \
		assert_int_equal(key_.len, strlen(expected));         \
		assert_memory_equal(key_.data, expected, key_.len);   \
		ks_buf_fini(&key_);                                   \
	} while (0)

static const char *store_of(const struct ks_router *router, const char *group, const char *version, const char *resource)
{
	return ks_router_find(router, &ks_schema_builtin, help_resource(group, version, resource))->name;
}

static void the_last_route_that_matches_wins(void **state)
{
	static const char *const all[] = {"*"}, *const some[] = {"events", "deployments.apps"},
				 *const group[] = {"*.rbac.authorization.k8s.io", "deployments.other"};
	const struct ks_router_entry entries[] = {{{.name = "main"}, all, 1}, {{.name = "some"}, some, 2}, {{.name = "group"}, group, 2}};
	struct ks_router *router = ks_router_new(entries, 3, NULL);

	(void)state;
	assert_non_null(router);
	assert_int_equal(ks_router_n_stores(router), 3);
	assert_string_equal(ks_router_store(router, 0)->name, "main");
	assert_string_equal(store_of(router, "", "v1", "pods"), "main");
	assert_string_equal(store_of(router, "", "v1", "events"), "some");
	assert_string_equal(store_of(router, "apps", "v1", "deployments"), "some");
	assert_string_equal(store_of(router, "apps", "v1", "daemonsets"), "main");
	assert_string_equal(store_of(router, "rbac.authorization.k8s.io", "v1", "roles"), "group");
	ks_router_free(&router);
	assert_null(router);
}

static void the_first_store_is_the_default(void **state)
{
	static const char *const events[] = {"events"};
	const struct ks_router_entry entries[] = {{{.name = "main"}, NULL, 0}, {{.name = "other"}, events, 1}};
	struct ks_router *router = ks_router_new(entries, 2, NULL);

	(void)state;
	assert_string_equal(store_of(router, "", "v1", "pods"), "main");
	ks_router_free(&router);
}

static void without_stores_there_is_no_router(void **state)
{
	struct ks_error err = {.text = ""};

	(void)state;
	assert_null(ks_router_new(NULL, 0, &err));
	assert_string_not_equal(err.text, "");
}

static void keys_are_those_of_kube_apiserver(void **state)
{
	(void)state;
	assert_key("/registry/pods/default/web", help_resource("", "v1", "pods"), KS_STR_LIT("default"), KS_STR_LIT("web"));
	assert_key("/registry/pods/default/", help_resource("", "v1", "pods"), KS_STR_LIT("default"), KS_STR_LIT(""));
	assert_key("/registry/pods/", help_resource("", "v1", "pods"), KS_STR_LIT(""), KS_STR_LIT(""));
	assert_key("/registry/minions/n1", help_resource("", "v1", "nodes"), KS_STR_LIT(""), KS_STR_LIT("n1"));
	assert_key("/registry/services/specs/a/s", help_resource("", "v1", "services"), KS_STR_LIT("a"), KS_STR_LIT("s"));
	assert_key("/registry/apiextensions.k8s.io/customresourcedefinitions/x",
		help_resource("apiextensions.k8s.io", "v1", "customresourcedefinitions"), KS_STR_LIT(""), KS_STR_LIT("x"));
}

/* -- writes --------------------------------------------------------------------------------------------------------- */

struct fixture {
	struct help_store store;
	struct ks_loop *loop;
	struct ks_store_call call;
	struct ks_bytes *one, *two;
	unsigned done;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	help_store_init(&f->store, "test");
	f->loop = ks_loop_new(0);
	f->one = ks_bytes_dup("one", 3);
	f->two = ks_bytes_dup("two", 3);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ks_buf_fini(&f->call.key);
	ks_bytes_unref(f->call.current);
	ks_bytes_unref(f->one);
	ks_bytes_unref(f->two);
	help_store_join(&f->store);
	ks_loop_free(&f->loop);
	help_store_fini(&f->store);
	free(f);
	return 0;
}

static void on_done(struct ks_store_call *call)
{
	struct fixture *f = call->arg;

	f->done++;
	ks_loop_stop(f->loop);
}

/* A loop that was stopped stays so: each write has its own. */
static int run_write(struct fixture *f, struct ks_bytes *value, uint64_t expected)
{
	help_store_join(&f->store);
	ks_loop_free(&f->loop);
	f->loop = ks_loop_new(0);
	ks_bytes_unref(f->call.current);
	ks_buf_fini(&f->call.key);
	f->call = (struct ks_store_call){.loop = f->loop, .value = value, .expected = expected, .done = on_done, .arg = f};
	ks_buf_add_str(&f->call.key, "/registry/pods/a/x");
	f->done = 0;
	ks_store_write_start(&f->store.store, &f->call);
	assert_int_equal(f->done, 0);
	ks_loop_run(f->loop);
	assert_int_equal(f->done, 1);
	return f->call.outcome;
}

static void writes_compare_and_swap(void **state)
{
	struct fixture *f = *state;

	for (int pending = 0; pending < 2; pending++) {
		uint64_t base = f->store.revision;

		f->store.pending = pending;
		assert_int_equal(run_write(f, NULL, UINT64_MAX), KS_WRITE_NOT_FOUND);
		assert_int_equal(run_write(f, f->one, 0), KS_WRITE_COMMITTED);
		assert_int_equal(f->call.revision, base + 1);
		assert_int_equal(run_write(f, f->two, 0), KS_WRITE_LOST_RACE);
		assert_ptr_equal(f->call.current, f->one);
		assert_int_equal(f->call.current_revision, base + 1);
		assert_int_equal(run_write(f, f->two, base + 1), KS_WRITE_COMMITTED);
		assert_int_equal(run_write(f, f->one, UINT64_MAX), KS_WRITE_COMMITTED);
		assert_int_equal(run_write(f, NULL, base + 3), KS_WRITE_COMMITTED);
		assert_int_equal(run_write(f, f->two, base + 3), KS_WRITE_LOST_RACE);
		assert_null(f->call.current);
	}
}

static void a_store_that_is_away_fails_the_write(void **state)
{
	struct fixture *f = *state;

	f->store.trouble = HELP_UNAVAILABLE;
	assert_int_equal(run_write(f, f->one, 0), KS_WRITE_FAILED);
	assert_int_equal(f->call.result, KS_ERR_UNAVAILABLE);
}

static void an_uncertain_write_that_happened_is_committed(void **state)
{
	struct fixture *f = *state;

	f->store.trouble = HELP_UNCERTAIN_DONE;
	assert_int_equal(run_write(f, f->one, 0), KS_WRITE_COMMITTED);
	assert_int_equal(f->call.revision, 11);
	f->store.trouble = HELP_UNCERTAIN_DONE;
	assert_int_equal(run_write(f, f->two, 11), KS_WRITE_COMMITTED);
	assert_int_equal(f->call.revision, 12);
	f->store.trouble = HELP_UNCERTAIN_DONE;
	assert_int_equal(run_write(f, NULL, 12), KS_WRITE_COMMITTED);
	assert_int_equal(f->call.revision, 13);
}

static void an_uncertain_write_that_did_not_is_tried_again(void **state)
{
	struct fixture *f = *state;

	f->store.pending = true;
	f->store.trouble = HELP_UNCERTAIN_LOST;
	assert_int_equal(run_write(f, f->one, 0), KS_WRITE_COMMITTED);
	assert_int_equal(f->call.revision, 11);
	f->store.trouble = HELP_UNCERTAIN_LOST;
	assert_int_equal(run_write(f, f->two, 11), KS_WRITE_COMMITTED);
	f->store.trouble = HELP_UNCERTAIN_LOST;
	assert_int_equal(run_write(f, f->one, UINT64_MAX), KS_WRITE_COMMITTED);
	assert_int_equal(f->call.revision, 13);
}

static void somebody_elses_value_is_a_lost_race(void **state)
{
	struct fixture *f = *state;

	run_write(f, f->one, 0);
	f->store.trouble = HELP_UNCERTAIN_LOST;
	assert_int_equal(run_write(f, f->two, 5), KS_WRITE_LOST_RACE);
	assert_ptr_equal(f->call.current, f->one);
	assert_int_equal(f->call.current_revision, 11);
}

static void reading_again_is_patient_but_not_for_ever(void **state)
{
	struct fixture *f = *state;

	f->store.trouble = HELP_UNCERTAIN_DONE;
	f->store.read_failures = 2;
	assert_int_equal(run_write(f, f->one, 0), KS_WRITE_COMMITTED);
	f->store.trouble = HELP_UNCERTAIN_DONE;
	f->store.read_failures = 100;
	assert_int_equal(run_write(f, f->two, 11), KS_WRITE_FAILED);
	assert_int_equal(f->call.result, KS_ERR_UNCERTAIN);
}

/* -- reads ---------------------------------------------------------------------------------------------------------- */

static void read_done(struct ks_store_read *read)
{
	ks_loop_stop(read->loop);
}

static void keys_are_read_now_and_in_the_past(void **state)
{
	struct fixture *f = *state;
	struct ks_store_read read = {.done = read_done};

	run_write(f, f->one, 0);
	run_write(f, f->two, 11);
	ks_buf_add_str(&read.key, "/registry/pods/a/x");
	for (int i = 0; i < 4; i++) {
		static const uint64_t revisions[] = {0, 11, 10, 12};

		help_store_join(&f->store);
		ks_loop_free(&f->loop);
		read.loop = f->loop = ks_loop_new(0);
		read.revision = revisions[i];
		f->store.pending = i & 1;
		ks_store_read_start(&f->store.store, &read);
		ks_loop_run(f->loop);
		assert_int_equal(read.result, 0);
		assert_int_equal(read.found, i != 2);
		assert_ptr_equal(read.value, i == 2 ? NULL : i == 1 ? f->one : f->two);
		ks_bytes_unref(read.value);
	}
	ks_buf_fini(&read.key);
}

static void list_done(struct ks_store_list *list)
{
	ks_loop_stop(list->loop);
}

static void ranges_are_collected(void **state)
{
	struct fixture *f = *state;
	struct ks_store_list list = {.loop = f->loop, .done = list_done, .limit = 2};
	uint16_t pods = help_resource("", "v1", "pods");

	for (char name[] = "a"; name[0] < 'f'; name[0]++)
		help_store_put(&f->store, pods, "n", name, help_json(pods, "n", name, NULL, NULL));
	ks_buf_add_str(&list.prefix, "/registry/pods/n/");
	ks_buf_add_str(&list.start, "/registry/pods/n/b");
	ks_store_list_start(&f->store.store, &list);
	ks_loop_run(f->loop);
	assert_int_equal(list.result, 0);
	assert_int_equal(list.n, 2);
	assert_true(list.more);
	assert_int_equal(list.read_revision, 15);
	assert_memory_equal(list.items[1].key.p, "/registry/pods/n/c", list.items[1].key.n);
	assert_int_equal(list.items[1].mod_revision, 13);
	ks_store_list_fini(&list);
	ks_buf_fini(&list.prefix);
	ks_buf_fini(&list.start);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_route_that_matches_wins),
		cmocka_unit_test(the_first_store_is_the_default),
		cmocka_unit_test(without_stores_there_is_no_router),
		cmocka_unit_test(keys_are_those_of_kube_apiserver),
		cmocka_unit_test_setup_teardown(writes_compare_and_swap, setup, teardown),
		cmocka_unit_test_setup_teardown(a_store_that_is_away_fails_the_write, setup, teardown),
		cmocka_unit_test_setup_teardown(an_uncertain_write_that_happened_is_committed, setup, teardown),
		cmocka_unit_test_setup_teardown(an_uncertain_write_that_did_not_is_tried_again, setup, teardown),
		cmocka_unit_test_setup_teardown(somebody_elses_value_is_a_lost_race, setup, teardown),
		cmocka_unit_test_setup_teardown(reading_again_is_patient_but_not_for_ever, setup, teardown),
		cmocka_unit_test_setup_teardown(keys_are_read_now_and_in_the_past, setup, teardown),
		cmocka_unit_test_setup_teardown(ranges_are_collected, setup, teardown),
	};

	return cmocka_run_group_tests_name("router", tests, NULL, NULL);
}
