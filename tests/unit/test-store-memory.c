/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/store-suite.h"

extern const struct ks_plugin ks_plugin_memory;

static struct ks_store_suite suite;

static int setup(void **state)
{
	static const char *const config[] = {"history=300", NULL};

	(void)state;
	suite = (struct ks_store_suite){.fake = ks_fake_host_new("memory"), .config = config};
	suite.iface = ks_fake_interface(&ks_plugin_memory, KS_KIND_STORE);
	return ks_store_suite_start(&suite);
}

static int teardown(void **state)
{
	(void)state;
	ks_store_suite_stop(&suite);
	ks_fake_host_free(&suite.fake);
	return 0;
}

static void check(int failed)
{
	if (failed)
		fail_msg("%s", suite.failure);
}

static void test_random_history(void **state)
{
	(void)state;
	/* Another history with KS_TEST_SEED=N. */
	check(ks_store_suite_random(&suite, getenv("KS_TEST_SEED") ? strtoull(getenv("KS_TEST_SEED"), NULL, 10) : 1, 3000));
}

static void test_race(void **state)
{
	(void)state;
	check(ks_store_suite_race(&suite, 4, 60));
}

static void test_snapshot(void **state)
{
	(void)state;
	check(ks_store_suite_snapshot(&suite, 2000));
}

static void test_lease(void **state)
{
	(void)state;
	check(ks_store_suite_lease(&suite));
}

/* A watch from before a restart must hear that it is too old. */
static void test_restart_goes_forward(void **state)
{
	const struct ks_store_ops *ops = suite.iface->ops;
	struct ks_store_write_result r;
	uint64_t before, after, oldest;

	(void)state;
	assert_int_equal(ks_store_suite_write(&suite, "/a", "x", KS_STORE_EXPECT_ANY, 0, &r), KS_DONE);
	ops->revision(suite.self, &before, &oldest);
	ks_store_suite_stop(&suite);
	check(ks_store_suite_start(&suite));
	ops->revision(suite.self, &after, &oldest);
	assert_true(after > before);
	assert_true(oldest > before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random_history, setup, teardown),
		cmocka_unit_test_setup_teardown(test_race, setup, teardown),
		cmocka_unit_test_setup_teardown(test_snapshot, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lease, setup, teardown),
		cmocka_unit_test_setup_teardown(test_restart_goes_forward, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
