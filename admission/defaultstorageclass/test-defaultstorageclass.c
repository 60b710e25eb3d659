/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/admission-fixture.h"

#include <stdio.h>

extern const struct ks_plugin ks_plugin_defaultstorageclass;

static int setup(void **state)
{
	*state = admission_fixture_new(&ks_plugin_defaultstorageclass, NULL);
	return 0;
}

static int teardown(void **state)
{
	admission_fixture_free((struct admission_fixture **)state);
	return 0;
}

static void set_class(struct admission_fixture *f, const char *name, const char *created, const char *value)
{
	char json[512];

	snprintf(json, sizeof(json),
		"{\"metadata\":{\"name\":\"%s\",\"creationTimestamp\":\"%s\",\"annotations\":{\"storageclass.kubernetes.io/"
		"is-default-class\":\"%s\"}}}",
		name, created, value);
	assert_int_equal(ks_fake_object_set(f->fake, "storage.k8s.io", "storageclasses", json), 0);
}

static const char *new_claim(struct admission_fixture *f, const char *claim)
{
	return admission_mutate(f, (struct admission_question){"persistentvolumeclaims", claim, NULL, NULL});
}

static void the_newest_default_is_taken(void **state)
{
	assert_string_equal(new_claim(*state, "{\"spec\":{}}"), "{\"spec\":{}}");
	set_class(*state, "a", "2026-01-01T00:00:00Z", "true");
	set_class(*state, "b", "2026-01-02T00:00:00Z", "true");
	set_class(*state, "c", "2026-01-02T00:00:00Z", "true");
	set_class(*state, "d", "2026-01-03T00:00:00Z", "false");
	assert_has(new_claim(*state, "{\"spec\":{}}"), "\"storageClassName\":\"b\"");
}

static void a_claim_that_names_a_class_keeps_it(void **state)
{
	set_class(*state, "a", "2026-01-01T00:00:00Z", "true");
	assert_has(new_claim(*state, "{\"spec\":{\"storageClassName\":\"\"}}"), "\"storageClassName\":\"\"");
	assert_has_not(new_claim(*state, "{\"metadata\":{\"annotations\":{\"volume.beta.kubernetes.io/storage-class\":\"x\"}},\"spec\":{}}"),
		"storageClassName");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_newest_default_is_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(a_claim_that_names_a_class_keeps_it, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
