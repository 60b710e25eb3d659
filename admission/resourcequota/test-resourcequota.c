/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/admission-fixture.h"

#include <stdio.h>

extern const struct ks_plugin ks_plugin_resourcequota;

static int setup(void **state)
{
	*state = admission_fixture_new(&ks_plugin_resourcequota, NULL);
	return 0;
}

static int teardown(void **state)
{
	admission_fixture_free((struct admission_fixture **)state);
	return 0;
}

#define QUOTA(spec, hard, used)                                                                                                         \
	"{\"metadata\":{\"name\":\"q\",\"namespace\":\"ns\",\"resourceVersion\":\"7\"},\"spec\":{" spec "},\"status\":{\"hard\":{" hard \
	"},\"used\":{" used "}}}"
#define POD(requests) "{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{" requests "}}}]}}"

static void set_quota(struct admission_fixture *f, const char *json)
{
	assert_int_equal(ks_fake_object_set(f->fake, "", "resourcequotas", json), 0);
}

/* How the server answers to writes, and what was asked last. */
struct writes {
	int code;
	size_t n;
	char body[512];
};

static int answer_write(void *arg, const struct ks_write *write, const char **body_r)
{
	struct writes *w = arg;

	snprintf(w->body, sizeof(w->body), "%.*s %.*s %.*s", (int)write->name.n, write->name.p, (int)write->subresource.n, write->subresource.p,
		(int)write->body.n, write->body.p);
	w->n++;
	*body_r = "{}";
	return w->code;
}

static const char *ask(struct admission_fixture *f, struct admission_question question)
{
	int returned = admission_begin_validate(f, question);

	for (int i = 0; i < 50 && returned == KS_PENDING && !ks_fake_op_done(f->op); i++) {
		ks_fake_timers_run(f->fake, 20);
		ks_fake_writes_run(f->fake);
	}
	return admission_verdict(f, returned);
}

static void what_fits_is_written_down_first(void **state)
{
	struct admission_fixture *f = *state;
	struct writes w = {.code = 200};

	ks_fake_on_write(f->fake, answer_write, &w);
	set_quota(f, QUOTA("", "\"configmaps\":\"2\"", "\"configmaps\":\"1\""));
	assert_string_equal(ask(f, (struct admission_question){"configmaps", "{}", NULL, NULL}), "");
	assert_string_equal(w.body, "q status {\"metadata\":{\"resourceVersion\":\"7\"},\"status\":{\"used\":{\"configmaps\":\"2\"}}}");
	assert_string_equal(ask(f, (struct admission_question){"secrets", "{}", NULL, NULL}), "");
	assert_int_equal(w.n, 1);
}

static void what_does_not_fit_is_refused(void **state)
{
	set_quota(*state, QUOTA("", "\"count/deployments.apps\":\"1\"", "\"count/deployments.apps\":\"1\""));
	assert_string_equal(ask(*state, (struct admission_question){"apps/deployments", "{}", NULL, NULL}),
		"exceeded quota: q, requested: count/deployments.apps=1, used: count/deployments.apps=1, limited: count/deployments.apps=1");
}

static void nobody_knows_what_is_not_counted_yet(void **state)
{
	set_quota(*state, QUOTA("", "\"pods\":\"1\",\"count/pods\":\"1\"", ""));
	assert_string_equal(
		ask(*state, (struct admission_question){"pods", POD(""), NULL, NULL}), "status unknown for quota: q, resources: count/pods,pods");
}

static void pods_must_say_what_is_counted(void **state)
{
	set_quota(*state, QUOTA("", "\"requests.cpu\":\"1\",\"limits.memory\":\"1Gi\"", "\"requests.cpu\":\"600m\",\"limits.memory\":\"0\""));
	assert_string_equal(ask(*state, (struct admission_question){"pods", POD(""), NULL, NULL}),
		"failed quota: q: must specify limits.memory for: c; requests.cpu for: c");
	set_quota(*state, QUOTA("", "\"requests.cpu\":\"1\"", "\"requests.cpu\":\"600m\""));
	assert_string_equal(ask(*state, (struct admission_question){"pods", POD("\"cpu\":\"500m\""), NULL, NULL}),
		"exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1");
}

static void a_lost_race_is_looked_at_again(void **state)
{
	struct admission_fixture *f = *state;
	struct writes w = {.code = 409};

	ks_fake_on_write(f->fake, answer_write, &w);
	set_quota(f, QUOTA("", "\"secrets\":\"2\"", "\"secrets\":\"1\""));
	assert_int_equal(admission_begin_validate(f, (struct admission_question){"secrets", "{}", NULL, NULL}), KS_PENDING);
	ks_fake_timers_run(f->fake, 1);
	ks_fake_writes_run(f->fake);
	assert_false(ks_fake_op_done(f->op));
	set_quota(f, QUOTA("", "\"secrets\":\"2\"", "\"secrets\":\"2\""));
	ks_fake_timers_run(f->fake, 20);
	assert_has(admission_verdict(f, KS_PENDING), "exceeded quota: q");
}

static void scopes_choose_pods(void **state)
{
	set_quota(*state, QUOTA("\"scopes\":[\"BestEffort\"]", "\"pods\":\"0\"", "\"pods\":\"0\""));
	assert_string_equal(ask(*state, (struct admission_question){"pods", POD("\"cpu\":\"1\""), NULL, NULL}), "");
	assert_has(ask(*state, (struct admission_question){"pods", POD(""), NULL, NULL}), "exceeded quota");
	set_quota(*state,
		QUOTA("\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\",\"operator\":\"In\",\"values\":[\"a\"]}]}",
			"\"pods\":\"0\"", "\"pods\":\"0\""));
	assert_string_equal(ask(*state, (struct admission_question){"pods", "{\"spec\":{\"priorityClassName\":\"b\"}}", NULL, NULL}), "");
	assert_has(ask(*state, (struct admission_question){"pods", "{\"spec\":{\"priorityClassName\":\"a\"}}", NULL, NULL}), "exceeded quota");
}

static void an_update_uses_only_what_is_more(void **state)
{
	static const char small[] = "{\"spec\":{\"type\":\"NodePort\",\"ports\":[{\"port\":1}]}}";
	static const char large[] = "{\"spec\":{\"type\":\"NodePort\",\"ports\":[{\"port\":1},{\"port\":2}]}}";

	set_quota(*state, QUOTA("", "\"services\":\"1\",\"services.nodeports\":\"1\"", "\"services\":\"1\",\"services.nodeports\":\"1\""));
	assert_string_equal(ask(*state, (struct admission_question){"services", small, large, NULL}), "");
	assert_string_equal(ask(*state, (struct admission_question){"services", large, small, NULL}),
		"exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=1, limited: services.nodeports=1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_fits_is_written_down_first, setup, teardown),
		cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(nobody_knows_what_is_not_counted_yet, setup, teardown),
		cmocka_unit_test_setup_teardown(pods_must_say_what_is_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(a_lost_race_is_looked_at_again, setup, teardown),
		cmocka_unit_test_setup_teardown(scopes_choose_pods, setup, teardown),
		cmocka_unit_test_setup_teardown(an_update_uses_only_what_is_more, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
