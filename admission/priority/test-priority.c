/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/admission-fixture.h"

extern const struct ks_plugin ks_plugin_priority;

static int setup(void **state)
{
	*state = admission_fixture_new(&ks_plugin_priority, NULL);
	return 0;
}

static int teardown(void **state)
{
	admission_fixture_free((struct admission_fixture **)state);
	return 0;
}

static void set_class(struct admission_fixture *f, const char *json)
{
	assert_int_equal(ks_fake_object_set(f->fake, "scheduling.k8s.io", "priorityclasses", json), 0);
}

static const char *new_pod(struct admission_fixture *f, const char *spec)
{
	return admission_mutate(f, (struct admission_question){"pods", spec, NULL, NULL});
}

static void a_pod_without_any_class_has_priority_0(void **state)
{
	const char *pod = new_pod(*state, "{\"spec\":{}}");

	assert_has(pod, "\"priority\":0");
	assert_has(pod, "\"preemptionPolicy\":\"PreemptLowerPriority\"");
	assert_has_not(pod, "priorityClassName");
}

static void a_pod_gets_what_its_class_says(void **state)
{
	const char *pod;

	set_class(*state, "{\"metadata\":{\"name\":\"high\"},\"value\":1000,\"preemptionPolicy\":\"Never\"}");
	pod = new_pod(*state, "{\"spec\":{\"priorityClassName\":\"high\"}}");
	assert_has(pod, "\"priority\":1000");
	assert_has(pod, "\"preemptionPolicy\":\"Never\"");
	assert_string_equal(new_pod(*state, "{\"spec\":{\"priorityClassName\":\"low\"}}"), "no PriorityClass with name low was found");
}

static void a_pod_may_not_say_otherwise(void **state)
{
	assert_string_equal(new_pod(*state, "{\"spec\":{\"priority\":10}}"),
		"the integer value of priority (10) must not be provided in pod spec; priority admission controller computed 0 from the given "
		"PriorityClass name");
	assert_string_equal(new_pod(*state, "{\"spec\":{\"preemptionPolicy\":\"Never\"}}"),
		"the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed "
		"PreemptLowerPriority from the given PriorityClass name");
	assert_has(new_pod(*state, "{\"spec\":{\"preemptionPolicy\":\"\"}}"), "PreemptionPolicy () must not be provided");
	assert_has(new_pod(*state, "{\"spec\":{\"priority\":0,\"preemptionPolicy\":\"PreemptLowerPriority\"}}"), "\"priority\":0");
}

static void the_default_class_with_the_lowest_value_counts(void **state)
{
	struct admission_fixture *f = *state;
	const char *pod;

	set_class(f, "{\"metadata\":{\"name\":\"b\"},\"value\":20,\"globalDefault\":true,\"preemptionPolicy\":\"PreemptLowerPriority\"}");
	set_class(f, "{\"metadata\":{\"name\":\"a\"},\"value\":30,\"globalDefault\":true,\"preemptionPolicy\":\"PreemptLowerPriority\"}");
	pod = new_pod(f, "{\"spec\":{}}");
	assert_has(pod, "\"priorityClassName\":\"b\"");
	assert_has(pod, "\"priority\":20");
	ks_fake_object_delete(f->fake, "scheduling.k8s.io", "priorityclasses", "", "b");
	assert_has(new_pod(f, "{\"spec\":{}}"), "\"priority\":30");
	set_class(f, "{\"metadata\":{\"name\":\"a\"},\"value\":30}");
	assert_has(new_pod(f, "{\"spec\":{}}"), "\"priority\":0");
}

static void an_update_keeps_what_it_leaves_out(void **state)
{
	const char *pod = admission_mutate(
		*state, (struct admission_question){"pods", "{\"spec\":{}}", "{\"spec\":{\"priority\":5,\"preemptionPolicy\":\"Never\"}}", NULL});

	assert_has(pod, "\"priority\":5");
	assert_has(pod, "\"preemptionPolicy\":\"Never\"");
}

static void there_is_one_default_class(void **state)
{
	static const char class_[] = "{\"metadata\":{\"name\":\"b\"},\"value\":2,\"globalDefault\":true}",
			  resource[] = "scheduling.k8s.io/priorityclasses";

	assert_string_equal(admission_validate(*state, (struct admission_question){resource, class_, NULL, ""}), "");
	set_class(*state, "{\"metadata\":{\"name\":\"a\"},\"value\":1,\"globalDefault\":true}");
	assert_string_equal(admission_validate(*state, (struct admission_question){resource, class_, NULL, ""}),
		"PriorityClass a is already marked as default. Only one default can exist");
	assert_has(admission_validate(*state, (struct admission_question){resource, class_, class_, ""}), "already");
	assert_string_equal(admission_validate(*state,
				    (struct admission_question){resource, "{\"metadata\":{\"name\":\"a\"},\"globalDefault\":true}",
					    "{\"metadata\":{\"name\":\"a\"}}", ""}),
		"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_pod_without_any_class_has_priority_0, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pod_gets_what_its_class_says, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pod_may_not_say_otherwise, setup, teardown),
		cmocka_unit_test_setup_teardown(the_default_class_with_the_lowest_value_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(an_update_keeps_what_it_leaves_out, setup, teardown),
		cmocka_unit_test_setup_teardown(there_is_one_default_class, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
