/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "api-help.h"

#include <string.h>
#include <time.h>

#include "core/api/status.h"

static const char *json_of(struct ks_arena *arena, const struct ks_status *status)
{
	struct ks_buf out;
	const char *copy;

	ks_buf_init(&out);
	ks_status_encode_json(status, &out);
	copy = ks_arena_dup(arena, out.data, out.len);
	ks_buf_fini(&out);
	return copy;
}

static void test_not_found(void **state)
{
	struct ks_status status;

	assert_int_equal(ks_status_not_found(&status, *state, "apps", "deployments", KS_STR_LIT("x")), 404);
	assert_string_equal(json_of(*state, &status),
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"deployments.apps \\\"x\\\" not "
		"found\","
		"\"reason\":\"NotFound\",\"details\":{\"name\":\"x\",\"group\":\"apps\",\"kind\":\"deployments\"},\"code\":404}");
	ks_status_not_found(&status, *state, "", "pods", KS_STR_LIT("x"));
	assert_string_equal(status.message, "pods \"x\" not found");
}

/* Each of many causes is told twice. To compare each with each would take a minute. */
static void test_causes_are_named_once(void **state)
{
	enum { MANY = 100000, MOST_SECONDS = 10 };
	static const char first[] = "Pod \"x\" is invalid: [a: 0, a: 1, a: 2, ", last[] = ", a: 99998, a: 99999]";
	clock_t start = clock();
	struct ks_status status;
	size_t n;

	ks_status_invalid(&status, *state, "", "Pod", KS_STR_LIT("x"));
	for (int i = 0; i < 2 * MANY; i++)
		ks_status_cause(&status, *state, "FieldValueInvalid", "a", "%d", i % MANY);
	assert_int_equal(ks_status_invalid_finish(&status, *state), 422);
	assert_true(clock() - start < (clock_t)MOST_SECONDS * CLOCKS_PER_SEC);
	n = strlen(status.message);
	assert_memory_equal(status.message, first, sizeof(first) - 1);
	assert_string_equal(status.message + n - sizeof(last) + 1, last);
}

static void test_messages(void **state)
{
	struct ks_status status;

	ks_status_already_exists(&status, *state, "", "pods", KS_STR_LIT("x"));
	assert_string_equal(status.message, "pods \"x\" already exists");
	ks_status_conflict(&status, *state, "", "pods", KS_STR_LIT("x"), "why");
	assert_string_equal(status.message, "Operation cannot be fulfilled on pods \"x\": why");
	ks_status_forbidden(&status, *state, "", "pods", KS_STR_LIT(""), "why");
	assert_string_equal(status.message, "pods is forbidden: why");
	ks_status_forbidden(&status, *state, "", "", KS_STR_LIT(""), "why");
	assert_string_equal(status.message, "forbidden: why");
	assert_int_equal(ks_status_internal(&status, *state, "%d", 7), 500);
	assert_string_equal(status.message, "Internal error occurred: 7");
	assert_string_equal(status.causes->message, "7");
}

static void test_invalid_objects(void **state)
{
	struct ks_status status;

	ks_status_invalid(&status, *state, "apps", "Deployment", KS_STR_LIT("d"));
	ks_status_cause(&status, *state, "FieldValueRequired", "spec.x", "Required value");
	ks_status_invalid_finish(&status, *state);
	assert_string_equal(status.message, "Deployment.apps \"d\" is invalid: spec.x: Required value");
	ks_status_cause(&status, *state, "FieldValueRequired", "spec.x", "Required value");
	ks_status_invalid_finish(&status, *state);
	assert_string_equal(status.message, "Deployment.apps \"d\" is invalid: spec.x: Required value");
	ks_status_cause(&status, *state, "FieldValueInvalid", "spec.y", "Invalid value: %d", 1);
	ks_status_invalid_finish(&status, *state);
	assert_string_equal(json_of(*state, &status),
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"Deployment.apps \\\"d\\\" is "
		"invalid: "
		"[spec.x: Required value, spec.y: Invalid value: "
		"1]\",\"reason\":\"Invalid\",\"details\":{\"name\":\"d\",\"group\":\"apps\",\"kind\":\"Deployment\",\"causes\":["
		"{\"reason\":\"FieldValueRequired\",\"message\":\"Required "
		"value\",\"field\":\"spec.x\"},{\"reason\":\"FieldValueRequired\",\"message\":\"Required value\",\"field\":\"spec.x\"},"
		"{\"reason\":\"FieldValueInvalid\",\"message\":\"Invalid value: 1\",\"field\":\"spec.y\"}]},\"code\":422}");
	ks_status_invalid(&status, *state, "", "", KS_STR_LIT(""));
	ks_status_cause(&status, *state, "FieldValueInvalid", "patch", "Invalid value: \"x\"");
	ks_status_invalid_finish(&status, *state);
	assert_string_equal(status.message, " \"\" is invalid: patch: Invalid value: \"x\"");
}

static void test_generic_answers(void **state)
{
	struct ks_status status;

	ks_status_generic(&status, *state, 422, "", "", "", KS_STR_LIT(""), "x");
	assert_string_equal(json_of(*state, &status),
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"the server rejected our request due "
		"to an "
		"error in our request\",\"reason\":\"Invalid\",\"details\":{},\"code\":422}");
	ks_status_generic(&status, *state, 405, "POST", "apps", "deployments", KS_STR_LIT("d"), "x");
	assert_string_equal(status.message, "the server does not allow this method on the requested resource (post deployments.apps d)");
	ks_status_generic(&status, *state, 500, "GET", "", "pods", KS_STR_LIT(""), "boom");
	assert_string_equal(status.message, "an error on the server (\"boom\") has prevented the request from succeeding (get pods)");
}

static void test_success(void **state)
{
	struct ks_status status = {.success = true, .has_details = true, .name = "x", .kind = "pods", .uid = "u"};

	assert_string_equal(json_of(*state, &status),
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\",\"details\":{\"name\":\"x\",\"kind\":\"pods\","
		"\"uid\":\"u\"}}");
}

static void test_without_memory_there_is_still_a_message(void **state)
{
	struct ks_arena arena;
	struct ks_status status;

	(void)state;
	ks_arena_init(&arena, 1);
	assert_int_equal(ks_status_not_found(&status, &arena, "apps", "deployments", KS_STR_LIT("x")), 404);
	assert_non_null(status.message);
	ks_status_cause(&status, &arena, "r", "f", "m");
	assert_int_equal(ks_status_invalid_finish(&status, &arena), 404);
	ks_arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KS_TEST(test_not_found),
		KS_TEST(test_messages),
		KS_TEST(test_causes_are_named_once),
		KS_TEST(test_invalid_objects),
		KS_TEST(test_generic_answers),
		KS_TEST(test_success),
		KS_TEST(test_without_memory_there_is_still_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
