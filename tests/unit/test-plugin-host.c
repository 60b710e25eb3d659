/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "host-fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define AUTHN(config) "{plugin: " GOOD ", interface: good, config: {" config "}}"
#define ADMISSION(config) "{plugin: " GOOD ", name: adm, interface: good, config: {" config "}}"

static struct fixture f;

static int begin(void **state)
{
	(void)state;
	fixture_begin(&f);
	return 0;
}

static int end(void **state)
{
	(void)state;
	fixture_end(&f);
	return 0;
}

static void run(const char *authn, const char *admission)
{
	assert_int_equal(fixture_load(&f, authn, admission), 0);
	fixture_run(&f);
}

static struct ks_instance *first(enum ks_stage stage)
{
	return ks_plugin_set_at(ks_plugins_loaded(f.plugins), stage, 0);
}

/* The load must fail with one line that holds both words. */
static void assert_refused(const char *authn, const char *admission, const char *words, const char *more)
{
	char place[64];

	assert_true(fixture_load(&f, authn, admission) < 0);
	snprintf(place, sizeof(place), "%s:4:", f.file);
	if (!strstr(fixture_problems(&f), place) || !strstr(fixture_problems(&f), words) || !strstr(fixture_problems(&f), more))
		fail_msg("wanted %s, \"%s\" and \"%s\" in:\n%s", place, words, more, fixture_problems(&f));
}

/* -- loading -- */

static void a_missing_library_is_named(void **state)
{
	(void)state;
	assert_refused("{plugin: /nowhere/x.so}", "", "authentication[0] \"x\": /nowhere/x.so: No such file", "");
	assert_refused("{plugin: nosuch}", "", "authentication[0] \"nosuch\": there is no such plugin: nosuch.so was looked for in",
		TEST_PLUGINS "/authn");
}

static void a_library_without_the_symbol_is_refused(void **state)
{
	(void)state;
	assert_refused("{plugin: " TEST_PLUGINS "/test-plugin-nosymbol.so}", "", "test-plugin-nosymbol.so: it is no Keelson plugin",
		"exports no symbol ks_plugin");
}

static void a_library_of_another_abi_is_refused(void **state)
{
	(void)state;
	assert_refused("{plugin: " TEST_PLUGINS "/test-plugin-abi.so}", "", "it was built for plugin ABI 9.3, this server has 0.",
		"test-plugin-abi.so");
}

static void code_is_not_taken_for_data(void **state)
{
	(void)state;
	assert_refused("{plugin: " TEST_PLUGINS "/test-plugin-function.so}", "", "its symbol ks_plugin is not a struct ks_plugin", "");
}

static void one_of_several_interfaces_must_be_named(void **state)
{
	(void)state;
	assert_refused("{plugin: " GOOD "}", "", "has several authenticators; `interface:` must name one", "");
	assert_refused("{plugin: " GOOD ", interface: nosuch}", "", "has no authenticator called nosuch", "");
}

static void a_failing_create_is_told_in_its_words(void **state)
{
	(void)state;
	assert_refused(AUTHN("failCreate: true"), "", "authentication[0] \"test-plugin-good\": the moon is wrong", "");
}

static void wrong_configuration_is_told_with_its_place(void **state)
{
	(void)state;
	assert_refused(AUTHN("cuont: 3"), "", "it has no key \"cuont\"; did you mean \"count\"?", "");
	assert_refused(AUTHN("count: 11"), "", "count: \"11\" is not between 1 and 10", "");
	assert_refused(AUTHN("count: x"), "", "count: \"x\" is not a whole number", "");
	assert_refused(AUTHN("mode: x"), "", "mode: \"x\" is none of accept, not-mine,", "");
	assert_refused(AUTHN("wait: 5"), "", "wait: \"5\" is not a duration", "");
	assert_refused(AUTHN("failStart: 1"), "", "failStart: \"1\" is neither true nor false", "");
	assert_refused(AUTHN("words: x"), "", "words: a list is expected", "");
	assert_refused(AUTHN("word: [x]"), "", "word: a single value is expected", "");
}

static void several_plugins_are_complained_of_at_once(void **state)
{
	(void)state;
	assert_refused(AUTHN("count: 11, mode: x") ", {plugin: /nowhere/y.so}", "", "count: \"11\"", "/nowhere/y.so");
	assert_int_equal(f.problems.n, 3);
}

static void values_and_defaults_reach_the_plugin(void **state)
{
	const struct test_config *c;

	(void)state;
	/* the store is created last, with defaults */
	assert_int_equal(fixture_load(&f, AUTHN(""), ""), 0);
	c = f.trace->last->config;
	assert_int_equal(c->mode, TEST_ACCEPT);
	assert_int_equal(c->count, 7);
	assert_int_equal(c->wait, 20);
	assert_int_equal(c->size, 65536);
	assert_null(c->file);
	assert_string_equal(c->word, "word");
	assert_int_equal(c->words.n, 0);
}

static void a_failing_start_is_told_with_its_place(void **state)
{
	(void)state;
	assert_int_equal(fixture_load(&f, AUTHN("failStart: true, word: ldap.example"), ""), 0);
	assert_int_equal(ks_plugins_start_stores(f.plugins, &f.problems), 0);
	assert_true(ks_plugins_start(f.plugins, &f.problems) < 0);
	assert_non_null(strstr(fixture_problems(&f), ":4:18: authentication[0] \"test-plugin-good\": nobody answers at ldap.example"));
}

static void a_checked_configuration_starts_nothing(void **state)
{
	(void)state;
	assert_int_equal(fixture_load(&f, AUTHN(""), ADMISSION("")), 0);
	assert_int_equal(f.trace->created, 4);
	ks_plugins_stop(f.plugins);
	assert_int_equal(f.trace->started, 0);
	assert_int_equal(f.trace->stopped, 0);
}

static void life_is_lived_in_order(void **state)
{
	(void)state;
	run(AUTHN(""), "");
	assert_int_equal(f.trace->started, 3);
	assert_int_equal(f.trace->attached, 3 * FIXTURE_WORKERS);
	fixture_end(&f);
	assert_int_equal(f.trace->detached, 3 * FIXTURE_WORKERS);
	assert_int_equal(f.trace->stopped, 3);
	assert_int_equal(f.trace->destroyed, 3);
	fixture_begin(&f);
}

/* -- calls -- */

struct authn_try {
	struct waited waited;
	struct ks_instance *instance;
	struct ks_authn_request request;
	struct ks_authn_result result;
};

static void make_call(void *arg)
{
	struct authn_try *try_ = arg;

	waited_returned(&try_->waited, ks_authn_call(try_->instance, &try_->waited.op, &try_->request, &try_->result));
}

static int authenticate(struct authn_try *try_, uint64_t timeout_ms)
{
	memset(try_, 0, sizeof(*try_));
	try_->instance = first(KS_STAGE_AUTHENTICATION);
	waited_begin(&try_->waited, f.workers[0], timeout_ms);
	fixture_on_worker(&f, 0, make_call, try_);
	return waited_wait(&try_->waited);
}

static void an_answer_comes_at_once(void **state)
{
	struct authn_try t;

	(void)state;
	run(AUTHN(""), "");
	assert_int_equal(authenticate(&t, 1000), KS_DONE);
	assert_true(t.waited.at_once);
	assert_int_equal(t.result.decision, KS_AUTHN_AUTHENTICATED);
	assert_int_equal(t.result.name.n, 6);
	waited_end(&t.waited);
}

static void an_answer_comes_later(void **state)
{
	struct authn_try t;

	(void)state;
	run(AUTHN("mode: pending, wait: 5ms"), "");
	assert_int_equal(authenticate(&t, 1000), KS_DONE);
	assert_false(t.waited.at_once);
	assert_int_equal(t.result.decision, KS_AUTHN_AUTHENTICATED);
	waited_end(&t.waited);
}

static void a_completion_within_the_call_is_not_reentrant(void **state)
{
	struct authn_try t;

	(void)state;
	run(AUTHN("mode: pending-and-done"), "");
	assert_int_equal(authenticate(&t, 1000), KS_DONE);
	assert_false(t.waited.at_once);
	waited_end(&t.waited);
}

static void a_cancelled_call_still_ends(void **state)
{
	struct authn_try t;

	(void)state;
	run(AUTHN("mode: pending, wait: 30ms"), "");
	memset(&t, 0, sizeof(t));
	t.instance = first(KS_STAGE_AUTHENTICATION);
	waited_begin(&t.waited, f.workers[0], 1000);
	fixture_on_worker(&f, 0, make_call, &t);
	ks_op_cancel(&t.waited.op);
	assert_int_equal(waited_wait(&t.waited), KS_DONE);
	waited_end(&t.waited);
}

static void *complete_in_a_while(void *op)
{
	fixture_nap();
	ks_op_complete(op, KS_ERR_TIMEOUT);
	return NULL;
}

static void a_thread_without_a_loop_waits(void **state)
{
	pthread_t thread;
	struct ks_op op;

	(void)state;
	ks_op_init(&op, NULL, 0, NULL);
	ks_op_begin(&op);
	assert_int_equal(pthread_create(&thread, NULL, complete_in_a_while, &op), 0);
	assert_int_equal(ks_op_wait(&op, ks_op_end(&op, KS_PENDING)), KS_ERR_TIMEOUT);
	pthread_join(thread, NULL);
	ks_op_complete(&op, KS_DONE); /* once too often: told, and nothing happens */
	ks_op_fini(&op);
}

static void an_unknown_decision_is_an_error(void **state)
{
	struct authn_try t;

	(void)state;
	run(AUTHN("mode: unknown"), "");
	assert_int_equal(authenticate(&t, 1000), KS_ERR);
	assert_string_equal(t.waited.op.error, "it decided 77, which means nothing");
	waited_end(&t.waited);
}

static void nobody_is_authenticated_without_a_name(void **state)
{
	struct authn_try t;

	(void)state;
	run(AUTHN("mode: nameless"), "");
	assert_int_equal(authenticate(&t, 1000), KS_ERR);
	waited_end(&t.waited);
}

static void a_failure_has_words(void **state)
{
	struct authn_try t;

	(void)state;
	run(AUTHN("mode: fail, word: key"), "");
	assert_int_equal(authenticate(&t, 1000), KS_ERR);
	assert_string_equal(t.waited.op.error, "the key has gone");
	waited_end(&t.waited);
}

static void scratch_memory_is_zeroed_for_each_call(void **state)
{
	struct ks_authz_attributes attributes = {.size = sizeof(attributes)};
	struct ks_authz_result result;
	struct ks_op op;

	(void)state;
	run(AUTHN(""), "");
	ks_op_init(&op, f.workers[0], 0, NULL);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ks_authz_call(first(KS_STAGE_AUTHORIZATION), &op, &attributes, &result), KS_DONE);
		assert_int_equal(result.decision, KS_AUTHZ_ALLOW);
	}
	ks_op_fini(&op);
}

enum { CALLS = 24 };

static void make_calls(struct authn_try *tries, const char *interface, const char *config)
{
	char entry[300];

	snprintf(entry, sizeof(entry), "{plugin: " GOOD ", interface: %s, config: {%s}}", interface, config);
	run(entry, "");
	memset(tries, 0, CALLS * sizeof(*tries));
	for (int i = 0; i < CALLS; i++) {
		tries[i].instance = first(KS_STAGE_AUTHENTICATION);
		waited_begin(&tries[i].waited, f.workers[i % FIXTURE_WORKERS], 5000);
	}
	for (int i = 0; i < CALLS; i++)
		fixture_on_worker(&f, i % FIXTURE_WORKERS, make_call, &tries[i]);
	for (int i = 0; i < CALLS; i++) {
		assert_int_equal(waited_wait(&tries[i].waited), KS_DONE);
		waited_end(&tries[i].waited);
	}
}

static void a_serial_plugin_is_called_one_at_a_time(void **state)
{
	struct authn_try *tries = calloc(CALLS, sizeof(*tries));

	(void)state;
	make_calls(tries, "serial", "mode: pending, wait: 1ms");
	for (int i = 0; i < CALLS; i++)
		assert_int_equal(tries[i].result.decision, KS_AUTHN_AUTHENTICATED);
	free(tries);
}

static void blocking_calls_run_beside_each_other(void **state)
{
	struct authn_try *tries = calloc(CALLS, sizeof(*tries));
	uint64_t begun = ks_monotonic_ns();

	(void)state;
	make_calls(tries, "blocking", "mode: wait, wait: 50ms");
	assert_true(ks_monotonic_ns() - begun < (uint64_t)CALLS * 50 * 1000000);
	free(tries);
}

static void a_blocking_serial_plugin_is_called_one_at_a_time(void **state)
{
	struct authn_try *tries = calloc(CALLS, sizeof(*tries));
	uint64_t begun = ks_monotonic_ns();

	(void)state;
	make_calls(tries, "one-blocking", "mode: wait, wait: 2ms");
	assert_true(ks_monotonic_ns() - begun >= (uint64_t)CALLS * 2 * 1000000);
	free(tries);
}

static void a_call_that_waited_too_long_is_not_made(void **state)
{
	struct authn_try one, two;

	(void)state;
	run("{plugin: " GOOD ", interface: one-blocking, config: {mode: wait, wait: 60ms}}", "");
	memset(&one, 0, sizeof(one));
	memset(&two, 0, sizeof(two));
	one.instance = two.instance = first(KS_STAGE_AUTHENTICATION);
	waited_begin(&one.waited, f.workers[0], 5000);
	waited_begin(&two.waited, f.workers[1], 10);
	fixture_on_worker(&f, 0, make_call, &one);
	fixture_on_worker(&f, 1, make_call, &two);
	assert_int_equal(waited_wait(&two.waited), KS_ERR_TIMEOUT);
	assert_int_equal(waited_wait(&one.waited), KS_DONE);
	waited_end(&one.waited);
	waited_end(&two.waited);
}

static void admission_sees_what_it_asked_for(void **state)
{
	struct ks_instance *i;

	(void)state;
	run(AUTHN(""), ADMISSION(""));
	i = first(KS_STAGE_ADMISSION);
	assert_true(ks_admission_matches(i, KS_OPERATION_CREATE, KS_STR_LIT(""), KS_STR_LIT("configmaps"), KS_STR_LIT("")));
	assert_false(ks_admission_matches(i, KS_OPERATION_CREATE, KS_STR_LIT(""), KS_STR_LIT("configmaps"), KS_STR_LIT("status")));
	assert_false(ks_admission_matches(i, KS_OPERATION_CREATE, KS_STR_LIT("apps"), KS_STR_LIT("configmaps"), KS_STR_LIT("")));
	assert_true(ks_admission_matches(i, KS_OPERATION_CREATE, KS_STR_LIT("apps"), KS_STR_LIT("deployments"), KS_STR_LIT("scale")));
	assert_false(ks_admission_matches(i, KS_OPERATION_CREATE, KS_STR_LIT("apps"), KS_STR_LIT("deployments"), KS_STR_LIT("")));
	assert_true(ks_admission_matches(i, KS_OPERATION_DELETE, KS_STR_LIT("apps"), KS_STR_LIT("x"), KS_STR_LIT("")));
	assert_false(ks_admission_matches(i, KS_OPERATION_DELETE, KS_STR_LIT("apps"), KS_STR_LIT("x"), KS_STR_LIT("status")));
	assert_true(ks_admission_mutates(i));
	assert_false(ks_admission_validates(i));
}

static void metrics_are_shown(void **state)
{
	struct authn_try t;
	struct ks_buf out;

	(void)state;
	run(AUTHN(""), "");
	assert_int_equal(authenticate(&t, 1000), KS_DONE);
	waited_end(&t.waited);
	ks_buf_init(&out);
	ks_plugins_metrics(f.plugins, &out);
	ks_buf_add_char(&out, 0);
	assert_non_null(strstr(out.data, "# HELP keelson_plugin_good_calls_total Calls so far.\n# TYPE keelson_plugin_good_calls_total counter\n"));
	assert_non_null(strstr(out.data, "keelson_plugin_good_calls_total{instance=\"test-plugin-good\"} "));
	ks_buf_fini(&out);
}

/* -- reloading -- */

static void a_reload_keeps_what_has_not_changed(void **state)
{
	struct ks_instance *authn, *store;

	(void)state;
	run(AUTHN("count: 3"), ADMISSION(""));
	authn = first(KS_STAGE_AUTHENTICATION);
	store = first(KS_STAGE_STORAGE);
	assert_int_equal(fixture_reload(&f, AUTHN("count: 3"), ADMISSION("count: 4")), 0);
	assert_ptr_equal(first(KS_STAGE_AUTHENTICATION), authn);
	assert_ptr_equal(first(KS_STAGE_STORAGE), store);
	assert_int_equal(f.trace->created, 5);
	fixture_turn_main(&f);
	assert_int_equal(f.trace->destroyed, 1);
	assert_int_equal(f.trace->detached, FIXTURE_WORKERS);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void a_changed_file_makes_an_instance_anew(void **state)
{
	char path[] = "/tmp/ks-host-file-XXXXXX", entry[200];
	struct ks_instance *authn;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	snprintf(entry, sizeof(entry), AUTHN("file: %s"), path);
	run(entry, "");
	authn = first(KS_STAGE_AUTHENTICATION);
	assert_int_equal(fixture_reload(&f, entry, ""), 0);
	assert_ptr_equal(first(KS_STAGE_AUTHENTICATION), authn);
	write_file(path, "more");
	assert_int_equal(fixture_reload(&f, entry, ""), 0);
	assert_ptr_not_equal(first(KS_STAGE_AUTHENTICATION), authn);
	unlink(path);
}

static void a_reload_has_kept_admission_read_its_files(void **state)
{
	(void)state;
	run(AUTHN(""), ADMISSION(""));
	assert_int_equal(fixture_reload(&f, AUTHN(""), ADMISSION("")), 0);
	assert_int_equal(f.trace->reloaded, 1);
}

static void a_bad_new_configuration_changes_nothing(void **state)
{
	struct ks_plugin_set *set;

	(void)state;
	run(AUTHN(""), ADMISSION("failReload: true"));
	set = ks_plugins_loaded(f.plugins);
	assert_true(fixture_reload(&f, AUTHN("count: 99"), ADMISSION("")) < 0);
	assert_true(fixture_reload(&f, AUTHN("failStart: true"), ADMISSION("")) < 0);
	assert_true(fixture_reload(&f, AUTHN("failAttach: true"), ADMISSION("")) < 0);
	assert_true(fixture_reload(&f, AUTHN(""), ADMISSION("failReload: true")) < 0);
	assert_non_null(strstr(fixture_problems(&f), "admission[0] \"adm\": a policy does not compile"));
	assert_ptr_equal(ks_plugins_loaded(f.plugins), set);
	assert_int_equal(f.trace->created - f.trace->destroyed, 4);
}

static void a_reload_that_fails_has_no_files_read(void **state)
{
	(void)state;
	run(AUTHN(""), ADMISSION(""));
	assert_true(fixture_reload(&f, AUTHN("failStart: true"), ADMISSION("")) < 0);
	assert_true(fixture_reload(&f, AUTHN("failAttach: true"), ADMISSION("")) < 0);
	assert_int_equal(f.trace->reloaded, 0);
}

struct holding {
	struct ks_plugin_set *set;
};

static void take_set(void *arg)
{
	struct holding *h = arg;

	h->set = ks_plugin_set_ref(ks_plugins_current(f.plugins, f.workers[0]));
}

static void give_set_back(void *arg)
{
	ks_plugin_set_unref(((struct holding *)arg)->set);
}

static void look_at_set(void *arg)
{
	((struct holding *)arg)->set = ks_plugins_current(f.plugins, f.workers[0]);
}

static void a_request_keeps_the_set_that_it_began_with(void **state)
{
	struct holding held, now;

	(void)state;
	run(AUTHN("count: 1"), "");
	fixture_on_worker(&f, 0, take_set, &held);
	assert_int_equal(fixture_reload(&f, AUTHN("count: 2"), ""), 0);
	fixture_turn_main(&f);
	fixture_on_worker(&f, 0, look_at_set, &now);
	assert_ptr_not_equal(now.set, held.set);
	assert_int_equal(f.trace->destroyed, 0);
	fixture_on_worker(&f, 0, give_set_back, &held);
	fixture_turn_main(&f);
	assert_int_equal(f.trace->destroyed, 1);
}

static int build_chain(void *arg, struct ks_plugin_set *set, void **chain_r, struct ks_error *err)
{
	(void)set;
	if (*(int *)arg < 0)
		return ks_error_set(err, -1, "no chain today");
	*chain_r = arg;
	++*(int *)arg;
	return 0;
}

static void release_chain(void *chain)
{
	*(int *)chain += 100;
}

static void a_set_carries_the_chain_of_the_pipeline(void **state)
{
	static int built;

	(void)state;
	built = 0;
	ks_plugins_on_set(f.plugins, build_chain, release_chain, &built);
	run(AUTHN("count: 1"), "");
	assert_ptr_equal(ks_plugin_set_chain(ks_plugins_loaded(f.plugins)), &built);
	assert_int_equal(fixture_reload(&f, AUTHN("count: 2"), ""), 0);
	fixture_turn_main(&f);
	assert_int_equal(built, 102);
}

static void stores_are_handed_to_the_router(void **state)
{
	const struct ks_router_entry *entries;
	size_t n;

	(void)state;
	run(AUTHN(""), "");
	entries = ks_plugin_set_router_entries(ks_plugins_loaded(f.plugins), &n);
	assert_int_equal(n, 1);
	assert_string_equal(entries[0].resources[0], "*");
	assert_string_equal(entries[0].store.name, "test-plugin-good");
	assert_non_null(entries[0].store.ops->write);
}

/* -- informers -- */

#define WATCHING "{plugin: " GOOD ", interface: watching}"

static void put(const char *name, const char *value)
{
	char json[200];

	snprintf(json, sizeof(json), "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\"},"
		"\"data\":{\"a\":\"%s\"}}", name, value);
	small_cache_put("ns", name, json);
}

static void an_informer_tells_what_is_there_and_what_comes(void **state)
{
	const char *name = NULL;

	(void)state;
	put("one", "1");
	put("two", "2");
	run(AUTHN(""), WATCHING);
	wait_until(f.trace->synced == 1);
	wait_until(ks_plugins_synced(f.plugins, &name));
	assert_int_equal(f.trace->added, 2);
	put("one", "11");
	wait_until(f.trace->modified == 1);
	assert_true(f.trace->last_value == TEST_TEXT("11"));
	small_cache_delete("ns", "two");
	wait_until(f.trace->deleted == 1);
	assert_true(f.trace->last_name == TEST_TEXT("two"));
}

static void the_server_is_not_ready_before_informers_are(void **state)
{
	const char *name = NULL;

	(void)state;
	put("one", "1");
	f.trace->slow_ms = 100;
	run(AUTHN(""), WATCHING);
	assert_int_equal(ks_plugins_synced(f.plugins, &name), 0);
	assert_string_equal(name, "test-plugin-good");
	wait_until(ks_plugins_synced(f.plugins, &name));
}

/* The history holds 100 events; the informer takes 2 ms for each of 400. */
static void an_informer_that_lags_delays_nobody(void **state)
{
	uint64_t begun;
	struct authn_try t;

	(void)state;
	put("gone", "0");
	run(AUTHN(""), WATCHING);
	wait_until(f.trace->synced == 1);
	f.trace->slow_ms = 2;
	begun = ks_monotonic_ns();
	small_cache_delete("ns", "gone");
	for (int i = 0; i < 400; i++) {
		char value[16];

		snprintf(value, sizeof(value), "%d", i);
		put("busy", value);
	}
	assert_int_equal(authenticate(&t, 1000), KS_DONE);
	waited_end(&t.waited);
	assert_true(ks_monotonic_ns() - begun < 400 * 2 * 1000000ull);
	f.trace->slow_ms = 0;
	wait_until(f.trace->deleted == 1);
	put("busy", "end");
	wait_until(f.trace->last_value == TEST_TEXT("end"));
	assert_true(f.trace->added + f.trace->modified < 300);
}

static void an_informer_ends_in_the_middle_of_its_list(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		put(name, "1");
	}
	f.trace->slow_ms = 1;
	run(AUTHN(""), WATCHING);
	wait_until(f.trace->added > 0);
	fixture_end(&f);
	assert_int_equal(small_cache_references(), 0);
	fixture_begin(&f);
}

/* -- writes -- */

static _Atomic int deepest;
static _Atomic uint64_t deadline;
static _Atomic bool right_body;

/* A pipeline that has every write lead to another one, as an admission plugin might. */
static void on_written(void *arg, int code, struct ks_view body)
{
	(void)arg;
	(void)body;
	f.trace->write_code = code;
	f.trace->writes_done++;
}

static int write_configmap(const struct test_instance *t, struct ks_op *parent)
{
	struct ks_write w = {
		.size = sizeof(w), .verb = KS_WRITE_CREATE, .version = {"v1", 2}, .resource = {"configmaps", 10}, .namespace_ = {"ns", 2},
		.name = {"x", 1}, .body = {"{}", 2}, .parent = parent, .done = on_written,
	};

	return t->host->write(t->host, &w);
}

static void writer(void *arg, struct ks_inner_write *write)
{
	struct ks_op op;
	int result;

	(void)arg;
	if (write->nesting > deepest)
		deepest = write->nesting;
	deadline = write->deadline_ns;
	right_body = ks_str_is(write->body, "{}") && strcmp(write->user, "system:keelson:plugin:test-plugin-good") == 0;
	ks_op_init(&op, write->loop, write->deadline_ns, write->audit_id);
	op.nesting = write->nesting;
	result = write_configmap((const struct test_instance *)f.trace->last, &op);
	if (result != KS_PENDING)
		f.trace->write_result = result;
	ks_op_fini(&op);
	ks_inner_write_done(write, 201, KS_STR_LIT("{\"a\":1}"));
}

static void start_writing(void *arg)
{
	struct waited *w = arg;

	waited_returned(w, write_configmap((const struct test_instance *)f.trace->last, &w->op) == KS_PENDING ? KS_DONE : KS_ERR);
}

static void a_write_that_leads_to_a_write_is_bounded(void **state)
{
	struct waited w;

	(void)state;
	ks_plugins_set_writer(f.plugins, writer, NULL);
	run(AUTHN(""), "");
	waited_begin(&w, f.workers[0], 1000);
	fixture_on_worker(&f, 0, start_writing, &w);
	assert_int_equal(waited_wait(&w), KS_DONE);
	wait_until(f.trace->writes_done == 4);
	assert_int_equal(f.trace->write_result, KS_ERR_LIMIT);
	assert_int_equal(f.trace->write_code, 201);
	assert_int_equal(deepest, 4);
	assert_true(deadline == w.op.deadline_ns);
	assert_true(right_body);
	waited_end(&w);
}

static void a_write_without_a_pipeline_is_refused(void **state)
{
	(void)state;
	run(AUTHN(""), "");
	assert_int_equal(write_configmap((const struct test_instance *)f.trace->last, NULL), KS_ERR_UNAVAILABLE);
}

#define HOST_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HOST_TEST(a_missing_library_is_named),
		HOST_TEST(a_library_without_the_symbol_is_refused),
		HOST_TEST(a_library_of_another_abi_is_refused),
		HOST_TEST(code_is_not_taken_for_data),
		HOST_TEST(one_of_several_interfaces_must_be_named),
		HOST_TEST(a_failing_create_is_told_in_its_words),
		HOST_TEST(wrong_configuration_is_told_with_its_place),
		HOST_TEST(several_plugins_are_complained_of_at_once),
		HOST_TEST(values_and_defaults_reach_the_plugin),
		HOST_TEST(a_failing_start_is_told_with_its_place),
		HOST_TEST(a_checked_configuration_starts_nothing),
		HOST_TEST(life_is_lived_in_order),
		HOST_TEST(an_answer_comes_at_once),
		HOST_TEST(an_answer_comes_later),
		HOST_TEST(a_completion_within_the_call_is_not_reentrant),
		HOST_TEST(a_cancelled_call_still_ends),
		HOST_TEST(a_thread_without_a_loop_waits),
		HOST_TEST(an_unknown_decision_is_an_error),
		HOST_TEST(nobody_is_authenticated_without_a_name),
		HOST_TEST(a_failure_has_words),
		HOST_TEST(scratch_memory_is_zeroed_for_each_call),
		HOST_TEST(a_serial_plugin_is_called_one_at_a_time),
		HOST_TEST(blocking_calls_run_beside_each_other),
		HOST_TEST(a_blocking_serial_plugin_is_called_one_at_a_time),
		HOST_TEST(a_call_that_waited_too_long_is_not_made),
		HOST_TEST(admission_sees_what_it_asked_for),
		HOST_TEST(metrics_are_shown),
		HOST_TEST(a_reload_keeps_what_has_not_changed),
		HOST_TEST(a_changed_file_makes_an_instance_anew),
		HOST_TEST(a_reload_has_kept_admission_read_its_files),
		HOST_TEST(a_reload_that_fails_has_no_files_read),
		HOST_TEST(a_bad_new_configuration_changes_nothing),
		HOST_TEST(a_request_keeps_the_set_that_it_began_with),
		HOST_TEST(a_set_carries_the_chain_of_the_pipeline),
		HOST_TEST(stores_are_handed_to_the_router),
		HOST_TEST(an_informer_tells_what_is_there_and_what_comes),
		HOST_TEST(the_server_is_not_ready_before_informers_are),
		HOST_TEST(an_informer_that_lags_delays_nobody),
		HOST_TEST(an_informer_ends_in_the_middle_of_its_list),
		HOST_TEST(a_write_that_leads_to_a_write_is_bounded),
		HOST_TEST(a_write_without_a_pipeline_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
