/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/admission-fixture.h"

extern const struct ks_plugin ks_plugin_storageobjectinuseprotection;

static int setup(void **state)
{
	*state = admission_fixture_new(&ks_plugin_storageobjectinuseprotection, NULL);
	return 0;
}

static int teardown(void **state)
{
	admission_fixture_free((struct admission_fixture **)state);
	return 0;
}

static void what_can_be_in_use_gets_a_finalizer(void **state)
{
	static const char *const wanted[][2] = {
		{"persistentvolumeclaims", "\"finalizers\":[\"kubernetes.io/pvc-protection\"]"},
		{"persistentvolumes", "\"finalizers\":[\"kubernetes.io/pv-protection\"]"},
		{"storage.k8s.io/volumeattributesclasses", "\"finalizers\":[\"kubernetes.io/vac-protection\"]"},
	};

	for (size_t i = 0; i < 3; i++)
		assert_has(admission_mutate(*state, (struct admission_question){wanted[i][0], "{\"metadata\":{\"name\":\"a\"}}", NULL, NULL}),
			wanted[i][1]);
}

static void a_finalizer_is_added_once_and_after_others(void **state)
{
	assert_has(admission_mutate(
			   *state, (struct admission_question){"persistentvolumes", "{\"metadata\":{\"finalizers\":[\"a.io/b\"]}}", NULL, NULL}),
		"[\"a.io/b\",\"kubernetes.io/pv-protection\"]");
	assert_has(admission_mutate(*state,
			   (struct admission_question){
				   "persistentvolumes", "{\"metadata\":{\"finalizers\":[\"kubernetes.io/pv-protection\"]}}", NULL, NULL}),
		"[\"kubernetes.io/pv-protection\"]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_can_be_in_use_gets_a_finalizer, setup, teardown),
		cmocka_unit_test_setup_teardown(a_finalizer_is_added_once_and_after_others, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
