/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/admission-fixture.h"

extern const struct ks_plugin ks_plugin_taintnodesbycondition;

static int setup(void **state)
{
	*state = admission_fixture_new(&ks_plugin_taintnodesbycondition, NULL);
	return 0;
}

static int teardown(void **state)
{
	admission_fixture_free((struct admission_fixture **)state);
	return 0;
}

static void a_new_node_is_not_ready(void **state)
{
	assert_has(admission_mutate(*state, (struct admission_question){"nodes", "{\"metadata\":{\"name\":\"n\"}}", NULL, ""}),
		"\"taints\":[{\"key\":\"node.kubernetes.io/not-ready\",\"effect\":\"NoSchedule\"}]");
}

static void a_node_that_says_so_itself_is_tainted_once(void **state)
{
	static const char node[] = "{\"spec\":{\"taints\":[{\"key\":\"node.kubernetes.io/not-ready\",\"effect\":\"NoSchedule\"}]}}";

	assert_string_equal(admission_mutate(*state, (struct admission_question){"nodes", node, NULL, ""}), node);
}

static void other_taints_stay(void **state)
{
	const char *node = admission_mutate(*state,
		(struct admission_question){
			"nodes", "{\"spec\":{\"taints\":[{\"key\":\"node.kubernetes.io/not-ready\",\"effect\":\"NoExecute\"}]}}", NULL, ""});

	assert_has(node, "NoExecute");
	assert_has(node, "NoSchedule");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_new_node_is_not_ready, setup, teardown),
		cmocka_unit_test_setup_teardown(a_node_that_says_so_itself_is_tainted_once, setup, teardown),
		cmocka_unit_test_setup_teardown(other_taints_stay, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
