/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/admission-fixture.h"

#include <stdio.h>

extern const struct ks_plugin ks_plugin_runtimeclass;

static int setup(void **state)
{
	*state = admission_fixture_new(&ks_plugin_runtimeclass, NULL);
	return 0;
}

static int teardown(void **state)
{
	admission_fixture_free((struct admission_fixture **)state);
	return 0;
}

static const char *new_pod(struct admission_fixture *f, const char *pod)
{
	return admission_mutate(f, (struct admission_question){"pods", pod, NULL, NULL});
}

static void set_class(struct admission_fixture *f, const char *more)
{
	char json[1024];

	snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"rt\"},\"handler\":\"h\"%s}", more);
	assert_int_equal(ks_fake_object_set(f->fake, "node.k8s.io", "runtimeclasses", json), 0);
}

static void a_class_must_exist(void **state)
{
	assert_string_equal(new_pod(*state, "{\"spec\":{\"runtimeClassName\":\"none\"}}"), "pod rejected: RuntimeClass \"none\" not found");
	assert_string_equal(new_pod(*state, "{\"spec\":{}}"), "{\"spec\":{}}");
}

static void the_overhead_comes_from_the_class_alone(void **state)
{
	static const char mismatch[] = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

	set_class(*state, ",\"overhead\":{\"podFixed\":{\"cpu\":\"1\"}}");
	assert_has(new_pod(*state, "{\"spec\":{\"runtimeClassName\":\"rt\"}}"), "\"overhead\":{\"cpu\":\"1\"}");
	assert_has(new_pod(*state, "{\"spec\":{\"runtimeClassName\":\"rt\",\"overhead\":{\"cpu\":\"1000m\"}}}"), "\"overhead\":{\"cpu\":\"1\"}");
	assert_string_equal(new_pod(*state, "{\"spec\":{\"runtimeClassName\":\"rt\",\"overhead\":{\"cpu\":\"2\"}}}"), mismatch);
	assert_string_equal(
		admission_validate(*state, (struct admission_question){"pods", "{\"spec\":{\"runtimeClassName\":\"rt\"}}", NULL, NULL}), mismatch);
	assert_string_equal(admission_validate(*state, (struct admission_question){"pods", "{\"spec\":{\"overhead\":{\"cpu\":\"1\"}}}", NULL, NULL}),
		"pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead");
}

static void the_node_selectors_are_joined(void **state)
{
	set_class(*state, ",\"scheduling\":{\"nodeSelector\":{\"a/b\":\"1\"}}");
	assert_has(new_pod(*state, "{\"spec\":{\"runtimeClassName\":\"rt\",\"nodeSelector\":{\"c\":\"2\"}}}"), "{\"c\":\"2\",\"a/b\":\"1\"}");
	assert_string_equal(new_pod(*state, "{\"spec\":{\"runtimeClassName\":\"rt\",\"nodeSelector\":{\"a/b\":\"2\"}}}"),
		"conflict: runtimeClass.scheduling.nodeSelector[a/b] = 1; pod.spec.nodeSelector[a/b] = 2");
}

static void of_tolerations_the_wider_one_stays(void **state)
{
	const char *pod;

	set_class(*state, ",\"scheduling\":{\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"},{\"key\":\"x\",\"operator\":\"Exists\"}]}");
	pod = new_pod(*state,
		"{\"spec\":{\"runtimeClassName\":\"rt\",\"tolerations\":[{\"key\":\"k\",\"operator\":\"Equal\",\"value\":\"v\"},{\"key\":\"x\","
		"\"operator\":\"Exists\"}]}}");
	assert_has(pod, "\"tolerations\":[{\"key\":\"x\",\"operator\":\"Exists\"},{\"key\":\"k\",\"operator\":\"Exists\"}]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_class_must_exist, setup, teardown),
		cmocka_unit_test_setup_teardown(the_overhead_comes_from_the_class_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(the_node_selectors_are_joined, setup, teardown),
		cmocka_unit_test_setup_teardown(of_tolerations_the_wider_one_stays, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
