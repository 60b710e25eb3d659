/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/admission-fixture.h"

extern const struct ks_plugin ks_plugin_persistentvolumeclaimresize;

static int setup(void **state)
{
	*state = admission_fixture_new(&ks_plugin_persistentvolumeclaimresize, NULL);
	return 0;
}

static int teardown(void **state)
{
	admission_fixture_free((struct admission_fixture **)state);
	return 0;
}

#define CLAIM(size, phase) \
	"{\"spec\":{\"storageClassName\":\"c\",\"resources\":{\"requests\":{\"storage\":\"" size "\"}}},\"status\":{\"phase\":\"" phase "\"}}"

static const char *resize(struct admission_fixture *f, const char *from, const char *to)
{
	return admission_validate(f, (struct admission_question){"persistentvolumeclaims", to, from, NULL});
}

static void a_claim_grows_when_its_class_lets_it(void **state)
{
	struct admission_fixture *f = *state;
	static const char refusal[] =
		"only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";

	assert_string_equal(resize(f, CLAIM("1Gi", "Bound"), CLAIM("2Gi", "Bound")), refusal);
	ks_fake_object_set(f->fake, "storage.k8s.io", "storageclasses", "{\"metadata\":{\"name\":\"c\"}}");
	assert_string_equal(resize(f, CLAIM("1Gi", "Bound"), CLAIM("2Gi", "Bound")), refusal);
	ks_fake_object_set(f->fake, "storage.k8s.io", "storageclasses", "{\"metadata\":{\"name\":\"c\"},\"allowVolumeExpansion\":true}");
	assert_string_equal(resize(f, CLAIM("1Gi", "Bound"), CLAIM("2Gi", "Bound")), "");
}

static void a_claim_that_is_not_bound_does_not_grow(void **state)
{
	assert_string_equal(resize(*state, CLAIM("1Gi", "Pending"), CLAIM("2Gi", "Pending")), "Only bound persistent volume claims can be expanded");
}

static void what_does_not_grow_is_not_looked_at(void **state)
{
	assert_string_equal(resize(*state, CLAIM("1Gi", "Bound"), CLAIM("1024Mi", "Bound")), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_claim_grows_when_its_class_lets_it, setup, teardown),
		cmocka_unit_test_setup_teardown(a_claim_that_is_not_bound_does_not_grow, setup, teardown),
		cmocka_unit_test_setup_teardown(what_does_not_grow_is_not_looked_at, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
