/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/registry/names.h"

static size_t problems_of(void (*check)(struct ks_str, struct ks_name_problems *), const char *name)
{
	struct ks_name_problems problems;

	check(ks_str_from(name), &problems);
	return problems.n;
}

static void test_subdomains(void **state)
{
	(void)state;
	assert_int_equal(problems_of(ks_name_check_subdomain, "a"), 0);
	assert_int_equal(problems_of(ks_name_check_subdomain, "a-b.c1"), 0);
	assert_int_equal(problems_of(ks_name_check_subdomain, ""), 1);
	assert_int_equal(problems_of(ks_name_check_subdomain, "a..b"), 1);
	assert_int_equal(problems_of(ks_name_check_subdomain, "-a"), 1);
	assert_int_equal(problems_of(ks_name_check_subdomain, "a-"), 1);
	assert_int_equal(problems_of(ks_name_check_subdomain, "A"), 1);
}

static void test_labels(void **state)
{
	struct ks_name_problems problems;

	(void)state;
	assert_int_equal(problems_of(ks_name_check_label, "a-1"), 0);
	ks_name_check_label(KS_STR_LIT("a.b"), &problems);
	assert_string_equal(problems.items[0], "must not contain dots");
	assert_int_equal(problems_of(ks_name_check_label_1035, "1a"), 1);
	assert_int_equal(problems_of(ks_name_check_label_1035, "a1"), 0);
}

static void test_a_name_can_be_wrong_twice(void **state)
{
	char name[65];

	(void)state;
	memset(name, '-', 64);
	name[64] = 0;
	assert_int_equal(problems_of(ks_name_check_label, name), 2);
}

static void test_keys_have_one_prefix_at_most(void **state)
{
	struct ks_name_problems problems;

	(void)state;
	ks_name_check_qualified(KS_STR_LIT("example.com/Key_1"), false, &problems);
	assert_int_equal(problems.n, 0);
	ks_name_check_qualified(KS_STR_LIT("a/b/c"), false, &problems);
	assert_int_equal(problems.n, 1);
	ks_name_check_qualified(KS_STR_LIT("/c"), false, &problems);
	assert_string_equal(problems.items[0], "prefix part must be non-empty");
	ks_name_check_qualified(KS_STR_LIT("Example.com/c"), false, &problems);
	assert_int_equal(problems.n, 1);
	ks_name_check_qualified(KS_STR_LIT("Example.com/c"), true, &problems);
	assert_int_equal(problems.n, 0);
}

static void test_path_segments(void **state)
{
	struct ks_name_problems problems;

	(void)state;
	ks_name_check_path(KS_STR_LIT(".."), false, &problems);
	assert_int_equal(problems.n, 1);
	ks_name_check_path(KS_STR_LIT(".."), true, &problems);
	assert_int_equal(problems.n, 0);
	ks_name_check_path(KS_STR_LIT("a/b%c"), false, &problems);
	assert_int_equal(problems.n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_subdomains),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_a_name_can_be_wrong_twice),
		cmocka_unit_test(test_keys_have_one_prefix_at_most),
		cmocka_unit_test(test_path_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
