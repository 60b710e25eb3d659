/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Values, edits and cached objects, as a mutation sees them. */
#include "host-fixture.h"

#include <stdio.h>

#include "core/api/json.h"

static struct fixture f;
static char failure[256];

#define MUST(condition) \
	do { \
		if (!(condition) && !failure[0]) \
			snprintf(failure, sizeof(failure), "line %d: %s", __LINE__, #condition); \
	} while (0)

static int begin(void **state)
{
	(void)state;
	failure[0] = 0;
	fixture_begin(&f);
	assert_int_equal(fixture_load(&f, "{plugin: " GOOD ", interface: good}", "{plugin: " GOOD ", interface: good}"), 0);
	fixture_run(&f);
	return 0;
}

static int end(void **state)
{
	(void)state;
	fixture_end(&f);
	return 0;
}

static struct ks_view view(const char *s)
{
	return (struct ks_view){s, strlen(s)};
}

static bool is(struct ks_view v, const char *s)
{
	return v.n == strlen(s) && memcmp(v.p, s, v.n) == 0;
}

typedef int (*mutate_fn)(struct test_instance *self, struct ks_op *op, const struct ks_admission_request *request,
	struct ks_admission_result *result);

struct try {
	struct ks_op op;
	struct ks_value root;
	int result;
	char json[2000];
};

/* Runs a mutation on a Pod (on this thread) and encodes what stands there afterwards. */
static void mutate(struct try *t, const char *json, mutate_fn fn)
{
	const struct ks_kind *kind = ks_schema_find_kind(&ks_schema_builtin, KS_STR_LIT(""), KS_STR_LIT("v1"), KS_STR_LIT("Pod"));
	struct ks_admission_request request = {.size = sizeof(request)};
	struct ks_admission_result result;
	struct ks_admission_call call = {.request = &request, .result = &result, .object = &t->root, .mutate = true};
	const char *message = NULL;
	struct ks_buf out;

	ks_op_init(&t->op, f.workers[0], 0, "audit-7");
	assert_int_equal(ks_json_decode(&t->op.arena, &ks_schema_builtin, kind->type, 0, json, strlen(json), &t->root, NULL, &message), 0);
	request.object = ks_val_of(&ks_schema_builtin, &t->root);
	f.trace->mutate = fn;
	t->result = ks_admission_call(ks_plugin_set_at(ks_plugins_loaded(f.plugins), KS_STAGE_ADMISSION, 0), &t->op, &call);
	f.trace->mutate = NULL;
	ks_buf_init(&out);
	ks_json_encode(&ks_schema_builtin, &t->root, &out);
	snprintf(t->json, sizeof(t->json), "%.*s", (int)out.len, out.data);
	ks_buf_fini(&out);
	if (failure[0])
		fail_msg("%s", failure);
}

#define POD(spec) \
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"labels\":{\"a.b/c\":\"x\",\"d\":\"y\"}},\"spec\":{" spec "}}"
#define ONE "\"containers\":[{\"name\":\"one\",\"image\":\"i\"},{\"name\":\"two\"}],\"hostNetwork\":true,\"priority\":-5"

static int look(struct test_instance *self, struct ks_op *op, const struct ks_admission_request *request,
	struct ks_admission_result *result)
{
	const struct ks_value_ops *v = self->host->values;
	struct ks_val pod = request->object, spec = v->member(pod, view("spec")), nothing = v->member(pod, view("nothing"));

	(void)result;
	MUST(v->kind(pod) == KS_VAL_OBJECT);
	MUST(is(v->string(v->member(pod, view("kind"))), "Pod"));
	MUST(v->kind(v->member(spec, view("containers"))) == KS_VAL_LIST);
	MUST(v->length(v->member(spec, view("containers"))) == 2);
	MUST(is(v->string(v->member(v->item(v->member(spec, view("containers")), 1), view("name"))), "two"));
	MUST(v->boolean(v->member(spec, view("hostNetwork"))) == 1);
	MUST(v->integer(v->member(spec, view("priority"))) == -5);
	MUST(v->number(v->member(spec, view("priority"))) == -5.0);
	MUST(v->length(v->member(v->member(pod, view("metadata")), view("labels"))) == 2);
	MUST(v->kind(nothing) == KS_VAL_ABSENT);
	MUST(v->kind(v->member(v->item(nothing, 3), view("x"))) == KS_VAL_ABSENT);
	MUST(v->string(nothing).n == 0 && v->integer(nothing) == 0 && v->boolean(nothing) == 0 && v->length(nothing) == 0);
	MUST(is(v->to_json(op, v->member(v->member(pod, view("metadata")), view("labels"))), "{\"a.b/c\":\"x\",\"d\":\"y\"}"));
	MUST(is(v->to_json(op, nothing), "null"));
	MUST(strcmp(self->host->op_audit_id(op), "audit-7") == 0);
	return KS_DONE;
}

static void values_are_read_by_name(void **state)
{
	struct try t;

	(void)state;
	mutate(&t, POD(ONE), look);
	assert_int_equal(t.result, KS_DONE);
	assert_false(t.op.edited);
	ks_op_fini(&t.op);
}

static int follow_paths(struct test_instance *self, struct ks_op *op, const struct ks_admission_request *request,
	struct ks_admission_result *result)
{
	const struct ks_value_ops *v = self->host->values;
	const struct ks_path *label = v->path(self->host, "metadata.labels[\"a.b/c\"]"), *name = v->path(self->host, "spec.containers[1].name"),
		*missing = v->path(self->host, "spec.securityContext.runAsUser"), *wrong = v->path(self->host, "spec.nothing.x");

	(void)op;
	(void)result;
	for (int i = 0; i < 2; i++) { /* the second time from what the steps remember */
		MUST(label && is(v->string(v->get(request->object, label)), "x"));
		MUST(name && is(v->string(v->get(request->object, name)), "two"));
		MUST(missing && v->kind(v->get(request->object, missing)) == KS_VAL_ABSENT);
		MUST(wrong && v->kind(v->get(request->object, wrong)) == KS_VAL_ABSENT);
	}
	MUST(!v->path(self->host, "a..b"));
	MUST(!v->path(self->host, "a."));
	MUST(!v->path(self->host, "a[x]"));
	MUST(!v->path(self->host, "a[\"b]"));
	return KS_DONE;
}

static void values_are_read_by_path(void **state)
{
	struct try t;

	(void)state;
	mutate(&t, POD(ONE), follow_paths);
	ks_op_fini(&t.op);
}

static int walk(struct test_instance *self, struct ks_op *op, const struct ks_admission_request *request,
	struct ks_admission_result *result)
{
	const struct ks_value_ops *v = self->host->values;
	struct ks_val_iter iter = {0};
	struct ks_val_item items[2];
	char seen[200] = "";
	size_t n;

	(void)op;
	(void)result;
	while ((n = v->iterate(v->member(request->object, view("metadata")), &iter, items, 2)) > 0)
		for (size_t i = 0; i < n; i++)
			strncat(seen, items[i].key.p, items[i].key.n);
	MUST(strcmp(seen, "namelabels") == 0);
	iter = (struct ks_val_iter){0};
	n = v->iterate(v->member(v->member(request->object, view("spec")), view("containers")), &iter, items, 2);
	MUST(n == 2 && items[0].key.n == 0 && is(v->string(v->member(items[0].value, view("name"))), "one"));
	return KS_DONE;
}

static void values_are_iterated_in_batches(void **state)
{
	struct try t;

	(void)state;
	mutate(&t, POD(ONE), walk);
	ks_op_fini(&t.op);
}

static int edit(struct test_instance *self, struct ks_op *op, const struct ks_admission_request *request,
	struct ks_admission_result *result)
{
	const struct ks_value_ops *v = self->host->values;

	(void)request;
	(void)result;
	MUST(v->edit_set(op, view("/metadata/labels/new~1one"), view("\"z\"")) == KS_DONE);
	MUST(v->edit_set(op, view("/metadata/annotations/deep"), view("\"made\"")) == KS_DONE);
	MUST(v->edit_set(op, view("/spec/securityContext/runAsUser"), view("7")) == KS_DONE);
	MUST(v->edit_set(op, view("/spec/containers/-"), view("{\"name\":\"three\"}")) == KS_DONE);
	MUST(v->edit_set(op, view("/spec/containers/0/image"), view("\"j\"")) == KS_DONE);
	MUST(v->edit_remove(op, view("/spec/containers/1")) == KS_DONE);
	MUST(v->edit_remove(op, view("/metadata/labels/d")) == KS_DONE);
	MUST(v->edit_remove(op, view("/spec/priority")) == KS_DONE);
	MUST(v->length(v->member(v->member(v->edited(op), view("spec")), view("containers"))) == 2);
	return KS_DONE;
}

static void edits_take_effect_when_the_call_is_done(void **state)
{
	struct try t;

	(void)state;
	mutate(&t, POD(ONE), edit);
	assert_int_equal(t.result, KS_DONE);
	assert_true(t.op.edited);
	assert_string_equal(t.json,
		"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\",\"labels\":{\"a.b/c\":\"x\",\"new/one\":\"z\"},"
		"\"annotations\":{\"deep\":\"made\"}},\"spec\":{\"containers\":[{\"name\":\"one\",\"image\":\"j\",\"resources\":{}},"
		"{\"name\":\"three\",\"resources\":{}}],\"hostNetwork\":true,\"securityContext\":{\"runAsUser\":7}},\"status\":{}}");
	ks_op_fini(&t.op);
}

static int edit_and_fail(struct test_instance *self, struct ks_op *op, const struct ks_admission_request *request,
	struct ks_admission_result *result)
{
	(void)request;
	(void)result;
	MUST(self->host->values->edit_set(op, view("/metadata/labels/n"), view("\"z\"")) == KS_DONE);
	return KS_ERR;
}

static int edit_and_deny(struct test_instance *self, struct ks_op *op, const struct ks_admission_request *request,
	struct ks_admission_result *result)
{
	edit_and_fail(self, op, request, result);
	result->allowed = 0;
	return KS_DONE;
}

static void edits_of_a_call_that_fails_or_denies_are_dropped(void **state)
{
	struct try t;

	(void)state;
	mutate(&t, POD(ONE), edit_and_fail);
	assert_int_equal(t.result, KS_ERR);
	assert_false(t.op.edited);
	assert_null(strstr(t.json, "\"n\":\"z\""));
	ks_op_fini(&t.op);
	mutate(&t, POD(ONE), edit_and_deny);
	assert_int_equal(t.result, KS_DONE);
	assert_false(t.op.edited);
	assert_null(strstr(t.json, "\"n\":\"z\""));
	ks_op_fini(&t.op);
}

static int edit_wrongly(struct test_instance *self, struct ks_op *op, const struct ks_admission_request *request,
	struct ks_admission_result *result)
{
	static const struct { const char *pointer, *json, *words; } wrong[] = {
		{"/spec/priority", "\"x\"", "/spec/priority"},
		{"/spec/nothing", "1", "nothing"},
		{"/spec/containers/9", "{}", "9"},
		{"/spec/containers/01", "{}", "01"},
		{"/spec/containers/x", "{}", "x"},
		{"/spec/containers/0", "{\"naem\":\"x\"}", "naem"},
		{"/spec/hostNetwork/x", "1", "x"},
		{"/metadata/labels/a~2", "\"\"", "JSON pointer"},
		{"metadata", "{}", "JSON pointer"},
		{"", "{}", "JSON pointer"},
		{"/metadata/labels/q", "{", "/metadata/labels/q"},
	};
	const struct ks_value_ops *v = self->host->values;

	(void)request;
	(void)result;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		int code = v->edit_set(op, view(wrong[i].pointer), view(wrong[i].json));

		if (code != KS_ERR || !op->error || !strstr(op->error, wrong[i].words))
			snprintf(failure, sizeof(failure), "%s %s: %d %s", wrong[i].pointer, wrong[i].json, code, op->error ? op->error : "");
	}
	MUST(v->edit_remove(op, view("/metadata/labels/none")) == KS_ERR);
	MUST(v->edit_remove(op, view("/spec/containers/7")) == KS_ERR);
	MUST(v->edit_remove(op, view("/spec/none/x")) == KS_ERR);
	return KS_DONE;
}

static void edits_are_checked_against_the_type(void **state)
{
	struct try t;

	(void)state;
	mutate(&t, POD(ONE), edit_wrongly);
	assert_int_equal(t.result, KS_DONE);
	ks_op_fini(&t.op);
}

static int edit_too_often(struct test_instance *self, struct ks_op *op, const struct ks_admission_request *request,
	struct ks_admission_result *result)
{
	int code = KS_DONE, n = 0;

	(void)request;
	(void)result;
	while (code == KS_DONE && n++ < 20000)
		code = self->host->values->edit_set(op, view("/metadata/labels/n"), view("\"z\""));
	MUST(code == KS_ERR_LIMIT && n == 10001);
	return code;
}

static void edits_are_bounded(void **state)
{
	struct try t;

	(void)state;
	mutate(&t, POD(ONE), edit_too_often);
	assert_int_equal(t.result, KS_ERR_LIMIT);
	ks_op_fini(&t.op);
}

static int get_cached(struct test_instance *self, struct ks_op *op, const struct ks_admission_request *request,
	struct ks_admission_result *result)
{
	const struct ks_host *h = self->host;
	struct ks_val object;

	(void)request;
	(void)result;
	MUST(h->cached_get(op, view(""), view(""), view("configmaps"), view("ns"), view("one"), &object) == 1);
	MUST(is(h->values->string(h->values->member(h->values->member(object, view("data")), view("a"))), "cached"));
	MUST(is(h->values->string(h->values->member(h->values->member(object, view("metadata")), view("resourceVersion"))), "1"));
	MUST(h->cached_get(op, view(""), view("v1"), view("configmaps"), view("ns"), view("two"), &object) == 0);
	MUST(h->cached_get(op, view("no.such"), view(""), view("things"), view("ns"), view("two"), &object) < 0);
	return KS_DONE;
}

struct seen {
	const struct ks_value_ops *values;
	char names[64];
	size_t most;
};

static int note_name(void *arg, struct ks_val object)
{
	struct seen *seen = arg;
	struct ks_view name = seen->values->string(seen->values->member(seen->values->member(object, view("metadata")), view("name")));
	size_t n = strlen(seen->names);

	snprintf(seen->names + n, sizeof(seen->names) - n, "%.*s ", (int)name.n, name.p);
	return --seen->most == 0;
}

static int list_cached(struct test_instance *self, struct ks_op *op, const struct ks_admission_request *request,
	struct ks_admission_result *result)
{
	const struct ks_host *h = self->host;
	struct seen all = {h->values, "", 9}, first = {h->values, "", 1};

	(void)request;
	(void)result;
	MUST(h->cached_list(op, view(""), view("v1"), view("configmaps"), view(""), note_name, &all) == KS_DONE);
	MUST(strcmp(all.names, "one two ") == 0);
	MUST(h->cached_list(op, view(""), view("v1"), view("configmaps"), view(""), note_name, &first) == KS_DONE);
	MUST(strcmp(first.names, "one ") == 0);
	MUST(h->cached_list(op, view("no.such"), view(""), view("things"), view(""), note_name, &first) < 0);
	return KS_DONE;
}

static void objects_of_the_cache_are_listed_in_order(void **state)
{
	struct try t;
	int before;

	(void)state;
	small_cache_put("ns", "one", "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"one\",\"namespace\":\"ns\"}}");
	small_cache_put("ns", "two", "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"two\",\"namespace\":\"ns\"}}");
	before = small_cache_references();
	mutate(&t, POD(ONE), list_cached);
	assert_int_equal(small_cache_references(), before);
	ks_op_fini(&t.op);
}

static void objects_of_the_cache_live_as_long_as_the_operation(void **state)
{
	struct try t;
	int before;

	(void)state;
	small_cache_put("ns", "one",
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"one\",\"namespace\":\"ns\"},\"data\":{\"a\":\"cached\"}}");
	before = small_cache_references();
	mutate(&t, POD(ONE), get_cached);
	assert_int_equal(small_cache_references(), before + 1);
	ks_op_fini(&t.op);
	assert_int_equal(small_cache_references(), before);
}

#define BORDER_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BORDER_TEST(values_are_read_by_name),
		BORDER_TEST(values_are_read_by_path),
		BORDER_TEST(values_are_iterated_in_batches),
		BORDER_TEST(edits_take_effect_when_the_call_is_done),
		BORDER_TEST(edits_of_a_call_that_fails_or_denies_are_dropped),
		BORDER_TEST(edits_are_checked_against_the_type),
		BORDER_TEST(edits_are_bounded),
		BORDER_TEST(objects_of_the_cache_are_listed_in_order),
		BORDER_TEST(objects_of_the_cache_live_as_long_as_the_operation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
