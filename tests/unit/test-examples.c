/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The example plugins, built out of tree into the folder that KEELSON_EXAMPLES names, run by the real host. tests/abi/test-sdk builds them. */
#include "host-fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/api/json.h"

static struct fixture f;
static const char *examples;

static int begin(void **state)
{
	char lists[4096];
	int n;

	(void)state;
	fixture_begin_with(&f, "namespaces");
	n = snprintf(lists, sizeof(lists),
		"authentication:\n- plugin: %s/authn-magicword/magicword.so\n  config: {word: sesame, user: alibaba, groups: [thieves]}\n"
		"authorization:\n- plugin: %s/authz-readonly/readonly.so\n  config: {group: auditors}\n"
		"admission:\n- plugin: %s/admission-label/label.so\n"
		"storage:\n- plugin: %s/storage-list/list.so\n", examples, examples, examples, examples);
	assert_true(n > 0 && (size_t)n < sizeof(lists));
	if (fixture_load_lists(&f, lists) < 0)
		fail_msg("%s", fixture_problems(&f));
	return 0;
}

static int end(void **state)
{
	(void)state;
	fixture_end(&f);
	return 0;
}

static struct ks_instance *instance(enum ks_stage stage)
{
	return ks_plugin_set_at(ks_plugins_loaded(f.plugins), stage, 0);
}

/* -- the authenticator -- */

static uint32_t decision_for(const char *word, struct ks_authn_result *result)
{
	struct ks_authn_request request = {.size = sizeof(request), .token = {word, strlen(word)}};
	struct ks_op op;

	ks_op_init(&op, f.workers[0], 0, NULL);
	assert_int_equal(ks_authn_call(instance(KS_STAGE_AUTHENTICATION), &op, &request, result), KS_DONE);
	ks_op_fini(&op);
	return result->decision;
}

static void who_knows_the_word_is_the_user(void **state)
{
	struct ks_authn_result result;

	(void)state;
	fixture_run(&f);
	assert_int_equal(decision_for("sesame", &result), KS_AUTHN_AUTHENTICATED);
	assert_memory_equal(result.name.p, "alibaba", 7);
	assert_int_equal(result.n_groups, 1);
	assert_int_equal(decision_for("sesamE", &result), KS_AUTHN_NOT_MINE);
	assert_int_equal(decision_for("", &result), KS_AUTHN_NOT_MINE);
}

/* -- the authorizer -- */

static uint32_t decision_on(const char *verb, const char *resource, const char *group)
{
	struct ks_view groups[] = {{group, strlen(group)}};
	struct ks_user user = {.size = sizeof(user), .groups = groups, .n_groups = 1};
	struct ks_authz_attributes a = {
		.size = sizeof(a), .user = &user, .verb = {verb, strlen(verb)}, .is_resource = 1, .group = {"", 0},
		.resource = {resource, strlen(resource)},
	};
	struct ks_authz_result result;
	struct ks_op op;

	ks_op_init(&op, f.workers[0], 0, NULL);
	assert_int_equal(ks_authz_call(instance(KS_STAGE_AUTHORIZATION), &op, &a, &result), KS_DONE);
	ks_op_fini(&op);
	return result.decision;
}

static void auditors_may_look_but_not_at_secrets(void **state)
{
	(void)state;
	fixture_run(&f);
	assert_int_equal(decision_on("list", "pods", "auditors"), KS_AUTHZ_ALLOW);
	assert_int_equal(decision_on("delete", "pods", "auditors"), KS_AUTHZ_NO_OPINION);
	assert_int_equal(decision_on("get", "secrets", "auditors"), KS_AUTHZ_NO_OPINION);
	assert_int_equal(decision_on("get", "pods", "others"), KS_AUTHZ_NO_OPINION);
}

/* -- the mutation -- */

/* One ConfigMap on its way through admission. */
struct creation {
	struct waited waited;
	struct ks_value root;
	struct ks_admission_request request;
	struct ks_admission_result result;
	struct ks_admission_call call;
	struct ks_inner_write *write;
	char name[64];
};

static void admit(struct creation *c, struct ks_str json, struct ks_str name)
{
	const struct ks_kind *kind = ks_schema_find_kind(&ks_schema_builtin, KS_STR_LIT(""), KS_STR_LIT("v1"), KS_STR_LIT("ConfigMap"));
	const char *message = NULL;

	assert_int_equal(ks_json_decode(&c->waited.op.arena, &ks_schema_builtin, kind->type, 0, json.p, json.n, &c->root, NULL, &message), 0);
	c->request = (struct ks_admission_request){
		.size = sizeof(c->request), .operation = KS_OPERATION_CREATE, .namespace_ = {"ns", 2}, .name = ks_view_of(name),
		.object = ks_val_of(&ks_schema_builtin, &c->root),
	};
	c->call = (struct ks_admission_call){.request = &c->request, .result = &c->result, .object = &c->root, .mutate = true};
	waited_returned(&c->waited, ks_admission_call(instance(KS_STAGE_ADMISSION), &c->waited.op, &c->call));
}

static struct ks_str label_of(const struct creation *c)
{
	return ks_value_str(ks_value_at(&ks_schema_builtin, &c->root, "metadata.labels.team"));
}

static struct creation *creation_new(struct ks_loop *loop)
{
	struct creation *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	waited_begin(&c->waited, loop, 5000);
	return c;
}

static void creation_free(struct creation *c)
{
	waited_end(&c->waited);
	free(c);
}

struct trial {
	struct creation *creation;
	const char *json;
};

static void try_it(void *arg)
{
	struct trial *t = arg;

	admit(t->creation, ks_str_from(t->json), KS_STR_LIT("x"));
}

static struct creation *create(const char *json)
{
	struct trial t = {creation_new(f.workers[0]), json};

	fixture_on_worker(&f, 0, try_it, &t);
	assert_int_equal(waited_wait(&t.creation->waited), KS_DONE);
	return t.creation;
}

static void put_namespace(const char *team)
{
	char json[200];

	snprintf(json, sizeof(json),
		"{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"ns\",\"labels\":{\"team\":\"%s\"}}}", team);
	small_cache_put("", "ns", json);
}

#define PLAIN "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\"}}"

static bool gets_label(const char *team)
{
	struct creation *c = create(PLAIN);
	bool same = ks_str_is(label_of(c), team);

	creation_free(c);
	return same;
}

static void a_configmap_gets_the_label_of_its_namespace(void **state)
{
	struct creation *c;

	(void)state;
	put_namespace("blue");
	fixture_run(&f);
	wait_until(gets_label("blue"));
	c = create("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\",\"labels\":{\"team\":\"own\"}}}");
	assert_true(ks_str_is(label_of(c), "own"));
	creation_free(c);
	put_namespace("red");
	wait_until(gets_label("red"));
}

/* A pipeline of one stage: admission, then the answer. */
static _Atomic int n_written;

static void on_admitted(struct ks_op *op, int result)
{
	struct creation *c = op->arg;
	bool fine = result == KS_DONE && c->result.allowed;

	n_written += fine;
	ks_inner_write_done(c->write, fine ? 201 : 403, KS_STR_LIT("{}"));
	creation_free(c);
}

static void writer(void *arg, struct ks_inner_write *write)
{
	struct creation *c = creation_new(write->loop);

	(void)arg;
	c->write = write;
	c->waited.op.nesting = write->nesting;
	c->waited.op.done = on_admitted;
	c->waited.op.arg = c;
	snprintf(c->name, sizeof(c->name), "x%u", write->nesting);
	admit(c, write->body, ks_str_from(c->name));
	if (c->waited.done)
		on_admitted(&c->waited.op, c->waited.result);
}

static bool mirrored(const char *mirrors)
{
	struct creation *c;
	char json[300];
	bool allowed;

	snprintf(json, sizeof(json), "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\",\"annotations\":{"
		"\"example.keelson.dev/mirrors\":\"%s\"}}}", mirrors);
	n_written = 0;
	c = create(json);
	allowed = c->result.allowed;
	creation_free(c);
	return allowed;
}

static void a_write_leads_to_a_write_but_not_for_ever(void **state)
{
	(void)state;
	ks_plugins_set_writer(f.plugins, writer, NULL);
	fixture_run(&f);
	assert_true(mirrored("1"));
	assert_int_equal(n_written, 1);
	assert_true(mirrored("4"));
	assert_int_equal(n_written, 4);
	assert_false(mirrored("5"));
	assert_int_equal(n_written, 0);
}

/* -- the store -- */

static const struct ks_store *store(void)
{
	size_t n;

	return &ks_plugin_set_router_entries(ks_plugins_loaded(f.plugins), &n)->store;
}

static struct ks_store_write_result put(const char *key, const char *value, uint32_t expect, uint64_t expected)
{
	struct ks_store_write_result result = {.size = sizeof(result)};
	struct ks_bytes *bytes = value ? ks_bytes_dup(value, strlen(value)) : NULL;
	struct ks_store_write w = {
		.size = sizeof(w), .expect = expect, .expected = expected, .key = {key, strlen(key)}, .value = (struct ks_host_bytes *)bytes,
	};
	struct ks_op op;

	ks_op_init(&op, NULL, 0, NULL);
	ks_op_begin(&op);
	assert_int_equal(ks_op_wait(&op, ks_op_end(&op, store()->ops->write(store()->self, &op, &w, &result))), KS_DONE);
	ks_op_fini(&op);
	ks_bytes_unref(bytes);
	return result;
}

static void a_store_swaps_by_revision(void **state)
{
	struct ks_store_write_result first, second, lost;

	(void)state;
	fixture_run(&f);
	first = put("/a", "1", KS_STORE_EXPECT_ABSENT, 0);
	assert_int_equal(first.outcome, KS_STORE_COMMITTED);
	lost = put("/a", "2", KS_STORE_EXPECT_ABSENT, 0);
	assert_int_equal(lost.outcome, KS_STORE_LOST_RACE);
	assert_true(lost.current.mod_revision == first.revision);
	ks_bytes_unref((struct ks_bytes *)lost.current.value);
	second = put("/a", "2", KS_STORE_EXPECT_REVISION, first.revision);
	assert_int_equal(second.outcome, KS_STORE_COMMITTED);
	assert_true(second.revision == first.revision + 1);
	assert_int_equal(put("/a", NULL, KS_STORE_EXPECT_ANY, 0).outcome, KS_STORE_COMMITTED);
	assert_int_equal(put("/a", NULL, KS_STORE_EXPECT_ANY, 0).outcome, KS_STORE_NOT_FOUND);
}

struct seen {
	char keys[100];
	_Atomic int n;
	_Atomic uint64_t progress;
};

static int emit(void *arg, const struct ks_store_kv *kv)
{
	struct seen *seen = arg;

	strncat(seen->keys, kv->key.p, kv->key.n);
	ks_bytes_unref((struct ks_bytes *)kv->value);
	seen->n++;
	return 0;
}

static int list(const char *prefix, uint64_t limit, uint64_t revision, struct seen *seen, struct ks_store_range_result *result)
{
	struct ks_store_range r = {
		.size = sizeof(r), .prefix = {prefix, strlen(prefix)}, .limit = limit, .revision = revision, .emit = emit, .arg = seen,
	};
	struct ks_op op;
	int code;

	memset(seen, 0, sizeof(*seen));
	*result = (struct ks_store_range_result){.size = sizeof(*result)};
	ks_op_init(&op, NULL, 0, NULL);
	ks_op_begin(&op);
	code = ks_op_wait(&op, ks_op_end(&op, store()->ops->range(store()->self, &op, &r, result)));
	ks_op_fini(&op);
	return code;
}

static void a_store_lists_in_order_and_at_a_revision(void **state)
{
	struct ks_store_range_result result;
	struct seen seen;
	uint64_t then;
	struct ks_op op;

	(void)state;
	fixture_run(&f);
	put("/b/2", "x", KS_STORE_EXPECT_ANY, 0);
	put("/b/1", "x", KS_STORE_EXPECT_ANY, 0);
	put("/c", "x", KS_STORE_EXPECT_ANY, 0);
	then = put("/b/3", "x", KS_STORE_EXPECT_ANY, 0).revision;
	put("/b/1", NULL, KS_STORE_EXPECT_ANY, 0);
	assert_int_equal(list("/b/", 0, 0, &seen, &result), KS_DONE);
	assert_string_equal(seen.keys, "/b/2/b/3");
	assert_int_equal(list("/b/", 2, then, &seen, &result), KS_DONE);
	assert_string_equal(seen.keys, "/b/1/b/2");
	assert_int_equal(result.more, 1);
	assert_int_equal(list("/b/", 0, then + 5, &seen, &result), KS_ERR_FUTURE);
	ks_op_init(&op, NULL, 0, NULL);
	assert_int_equal(store()->ops->compact(store()->self, &op, then + 1), KS_DONE);
	ks_op_fini(&op);
	assert_int_equal(list("/b/", 0, then - 1, &seen, &result), KS_ERR_COMPACTED);
	assert_int_equal(list("/b/", 0, 0, &seen, &result), KS_DONE);
	assert_string_equal(seen.keys, "/b/2/b/3");
}

static uint64_t events(void *arg, const struct ks_store_event *e, size_t n, uint64_t progress)
{
	struct seen *seen = arg;

	(void)e;
	seen->n += (int)n;
	seen->progress = progress;
	return 10;
}

static void failed(void *arg, int result)
{
	(void)arg;
	(void)result;
}

static void a_store_tells_what_happens(void **state)
{
	struct seen seen = {.n = 0};
	struct ks_store_watch watch = {.size = sizeof(watch), .prefix = {"/w/", 3}, .events = events, .failed = failed, .arg = &seen};
	uint64_t oldest, last = 0;
	void *handle;

	(void)state;
	fixture_run(&f);
	put("/w/0", "x", KS_STORE_EXPECT_ANY, 0);
	assert_int_equal(store()->ops->revision(store()->self, &watch.from_revision, &oldest), KS_DONE);
	assert_int_equal(store()->ops->watch(store()->self, &watch, &handle), KS_DONE);
	for (int i = 0; i < 200; i++)
		last = put(i % 2 ? "/w/1" : "/other", "x", KS_STORE_EXPECT_ANY, 0).revision;
	wait_until(seen.progress == last);
	assert_int_equal(seen.n, 101);
	store()->ops->watch_close(store()->self, handle);
	watch.from_revision = 1;
	assert_int_equal(store()->ops->watch(store()->self, &watch, &handle), KS_ERR_COMPACTED);
}

#define EXAMPLE_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXAMPLE_TEST(who_knows_the_word_is_the_user),
		EXAMPLE_TEST(auditors_may_look_but_not_at_secrets),
		EXAMPLE_TEST(a_configmap_gets_the_label_of_its_namespace),
		EXAMPLE_TEST(a_write_leads_to_a_write_but_not_for_ever),
		EXAMPLE_TEST(a_store_swaps_by_revision),
		EXAMPLE_TEST(a_store_lists_in_order_and_at_a_revision),
		EXAMPLE_TEST(a_store_tells_what_happens),
	};

	examples = getenv("KEELSON_EXAMPLES");
	if (!examples)
		return 77; /* tests/abi/test-sdk builds them and runs this */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
