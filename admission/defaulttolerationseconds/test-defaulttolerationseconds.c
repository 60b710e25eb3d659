/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/admission-fixture.h"

extern const struct ks_plugin ks_plugin_defaulttolerationseconds;

static int setup(void **state)
{
	*state = admission_fixture_new(&ks_plugin_defaulttolerationseconds, NULL);
	return 0;
}

static int teardown(void **state)
{
	admission_fixture_free((struct admission_fixture **)state);
	return 0;
}

#define READY "{\"key\":\"node.kubernetes.io/not-ready\",\"effect\":\"NoExecute\",\"operator\":\"Exists\",\"tolerationSeconds\":7}"

static void a_pod_tolerates_both_failures_for_a_while(void **state)
{
	const char *pod = admission_mutate(*state, (struct admission_question){"pods", "{\"spec\":{}}", NULL, NULL});

	assert_has(pod, "{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}");
	assert_has(pod, "{\"key\":\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}");
}

static void what_a_pod_says_itself_stays(void **state)
{
	const char *pod = admission_mutate(*state, (struct admission_question){"pods", "{\"spec\":{\"tolerations\":[" READY "]}}", NULL, NULL});

	assert_has(pod, "\"tolerationSeconds\":7");
	assert_has(pod, "unreachable");
	pod = admission_mutate(*state, (struct admission_question){"pods", "{\"spec\":{\"tolerations\":[{\"operator\":\"Exists\"}]}}", NULL, NULL});
	assert_has_not(pod, "NoExecute");
}

static void another_effect_is_another_taint(void **state)
{
	const char *pod = admission_mutate(*state,
		(struct admission_question){
			"pods", "{\"spec\":{\"tolerations\":[{\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}]}}", NULL, NULL});

	assert_has(pod, "not-ready");
	assert_has(pod, "unreachable");
}

static void the_times_come_from_the_configuration(void **state)
{
	static const char *const config[] = {"notReadySeconds=5", "unreachableSeconds=6", NULL};
	struct admission_fixture *f = admission_fixture_new(&ks_plugin_defaulttolerationseconds, config);
	const char *pod = admission_mutate(f, (struct admission_question){"pods", "{\"spec\":{}}", NULL, NULL});

	(void)state;
	assert_has(pod, "\"tolerationSeconds\":5");
	assert_has(pod, "\"tolerationSeconds\":6");
	admission_fixture_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_pod_tolerates_both_failures_for_a_while, setup, teardown),
		cmocka_unit_test_setup_teardown(what_a_pod_says_itself_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(another_effect_is_another_taint, setup, teardown),
		cmocka_unit_test_setup_teardown(the_times_come_from_the_configuration, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
