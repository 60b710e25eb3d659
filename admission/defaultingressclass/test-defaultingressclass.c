/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/admission-fixture.h"

extern const struct ks_plugin ks_plugin_defaultingressclass;

static int setup(void **state)
{
	*state = admission_fixture_new(&ks_plugin_defaultingressclass, NULL);
	return 0;
}

static int teardown(void **state)
{
	admission_fixture_free((struct admission_fixture **)state);
	return 0;
}

static const char *new_ingress(struct admission_fixture *f, const char *ingress)
{
	return admission_mutate(f, (struct admission_question){"networking.k8s.io/ingresses", ingress, NULL, NULL});
}

static void an_ingress_without_a_class_gets_the_default(void **state)
{
	struct admission_fixture *f = *state;

	assert_has_not(new_ingress(f, "{\"spec\":{}}"), "ingressClassName");
	ks_fake_object_set(f->fake, "networking.k8s.io", "ingressclasses",
		"{\"metadata\":{\"name\":\"c\",\"annotations\":{\"ingressclass.kubernetes.io/is-default-class\":\"true\"}}}");
	assert_has(new_ingress(f, "{\"spec\":{}}"), "\"ingressClassName\":\"c\"");
	assert_has(new_ingress(f, "{\"spec\":{\"ingressClassName\":\"own\"}}"), "\"ingressClassName\":\"own\"");
	assert_has_not(new_ingress(f, "{\"metadata\":{\"annotations\":{\"kubernetes.io/ingress.class\":\"x\"}},\"spec\":{}}"), "ingressClassName");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_ingress_without_a_class_gets_the_default, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
