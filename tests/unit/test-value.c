/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "api-help.h"

#include <string.h>

static uint16_t pod_type(void)
{
	return ks_schema_find_type(&ks_schema_builtin, "io.k8s.api.core.v1.Pod");
}

static void test_put_and_get_along_paths(void **state)
{
	struct ks_value pod, *place;

	assert_true(ks_value_new_struct(*state, &ks_schema_builtin, pod_type(), &pod));
	place = ks_value_put_at(*state, &ks_schema_builtin, &pod, "metadata.labels.app");
	assert_non_null(place);
	*place = ks_value_from_str(KS_STR_LIT("web"));
	assert_true(ks_str_is(ks_value_str(ks_value_at(&ks_schema_builtin, &pod, "metadata.labels.app")), "web"));
	assert_null(ks_value_put_at(*state, &ks_schema_builtin, &pod, "spec.nosuch"));
	assert_null(ks_value_put_at(*state, &ks_schema_builtin, &pod, "metadata.labels.app.x"));
	assert_null(ks_value_at(&ks_schema_builtin, &pod, "status.phase"));
	assert_null(ks_value_get(&ks_schema_builtin, NULL, "metadata"));
}

static void test_members_are_removed_in_order(void **state)
{
	struct ks_value v = ks_test_free(*state, "{\"a\":1,\"b\":2,\"c\":3}");

	ks_value_remove(NULL, &v, KS_STR_LIT("b"));
	ks_value_remove(NULL, &v, KS_STR_LIT("x"));
	assert_int_equal(v.n, 2);
	assert_true(ks_str_is(v.members[1].key, "c"));
}

static void test_lists_grow_and_shrink(void **state)
{
	struct ks_value v = ks_test_free(*state, "[0,1]");

	for (int i = 2; i < 100; i++) {
		struct ks_value *item = ks_value_append(*state, &v);

		assert_non_null(item);
		*item = ks_value_from_int(i);
	}
	*ks_value_insert_item(*state, &v, 0) = ks_value_from_int(-1);
	ks_value_remove_item(&v, 1);
	assert_int_equal(v.n, 100);
	assert_int_equal(v.items[0].integer, -1);
	for (uint32_t i = 1; i < v.n; i++)
		assert_int_equal(v.items[i].integer, i);
	assert_null(ks_value_insert_item(*state, &v, 101));
}

static void test_a_copy_is_whole(void **state)
{
	struct ks_value v = ks_test_free(*state, "{\"a\":[{\"b\":\"x\"},null,1.5],\"c\":{}}"), copy;
	struct ks_arena other;

	ks_arena_init(&other, 0);
	assert_true(ks_value_copy(&other, &v, &copy));
	assert_true(ks_value_equal_json(&v, &copy));
	*ks_value_put(&other, NULL, &copy, KS_STR_LIT("d")) = ks_value_from_int(1);
	assert_false(ks_value_equal_json(&v, &copy));
	ks_arena_fini(&other);
}

static void test_unsaid_values_are_left_out_and_settled(void **state)
{
	struct ks_value pod, empty;

	assert_true(ks_value_new_struct(*state, &ks_schema_builtin, pod_type(), &pod));
	assert_true(ks_value_new_struct(*state, &ks_schema_builtin, pod_type(), &empty));
	*ks_value_put_at(*state, &ks_schema_builtin, &pod, "spec.nodeName") = ks_value_from_str(KS_STR_LIT(""));
	*ks_value_put_at(*state, &ks_schema_builtin, &pod, "spec.hostNetwork") = ks_value_from_bool(false);
	*ks_value_put_at(*state, &ks_schema_builtin, &pod, "spec.tolerations") = (struct ks_value){.kind = KS_LIST};
	assert_string_equal(ks_test_json(*state, &pod), ks_test_json(*state, &empty));
	assert_false(ks_value_equal(&pod, &empty));
	ks_value_settle(&ks_schema_builtin, &pod);
	assert_true(ks_value_equal(&pod, &empty));
	*ks_value_put_at(*state, &ks_schema_builtin, &pod, "spec.priority") = ks_value_from_int(0);
	ks_value_settle(&ks_schema_builtin, &pod);
	assert_non_null(ks_value_at(&ks_schema_builtin, &pod, "spec.priority"));
}

static void test_semantic_equality(void **state)
{
	static const char *const same[][2] = {
		{"{\"a\":1,\"b\":[2]}", "{\"b\":[2],\"a\":1}"},
		{"[]", "null"},
		{"{}", "null"},
	};
	static const char *const different[][2] = {
		{"{\"a\":1}", "{\"a\":2}"}, {"[1,2]", "[2,1]"}, {"1", "1.0"}, {"\"\"", "null"}, {"{\"a\":1}", "{\"b\":1}"}};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		struct ks_value a = ks_test_free(*state, same[i][0]), b = ks_test_free(*state, same[i][1]);

		assert_true(ks_value_equal(&a, &b));
	}
	for (size_t i = 0; i < sizeof(different) / sizeof(different[0]); i++) {
		struct ks_value a = ks_test_free(*state, different[i][0]), b = ks_test_free(*state, different[i][1]);

		assert_false(ks_value_equal(&a, &b));
	}
}

static void test_quantities_are_equal_by_value(void **state)
{
	static const char format[] = "{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"spec\":{\"hard\":{\"x\":\"%s\"}}}";
	struct ks_value a, b;

	assert_null(ks_test_decode(*state, ks_arena_printf(*state, format, "1.500"), &a, NULL));
	assert_null(ks_test_decode(*state, ks_arena_printf(*state, format, "1500m"), &b, NULL));
	assert_true(ks_value_equal(&a, &b));
	assert_false(ks_value_equal_json(&a, &b));
}

static void test_json_equality(void **state)
{
	struct ks_value one = ks_test_free(*state, "1"), same = ks_test_free(*state, "1.0"), list = ks_test_free(*state, "[]"),
			null = {.kind = KS_NULL};

	assert_true(ks_value_equal_json(&one, &same));
	assert_false(ks_value_equal_json(&list, &null));
	assert_true(ks_value_equal_json(NULL, &(struct ks_value){0}));
}

static void test_long_maps_are_compared_in_any_order(void **state)
{
	struct ks_value a = {.kind = KS_MAP}, b = {.kind = KS_MAP};

	for (int i = 0; i < 50; i++) {
		const char *x = ks_arena_printf(*state, "k%d", i), *y = ks_arena_printf(*state, "k%d", 49 - i);

		*ks_value_put(*state, NULL, &a, ks_str_from(x)) = ks_value_from_int(i);
		*ks_value_put(*state, NULL, &b, ks_str_from(y)) = ks_value_from_int(49 - i);
	}
	assert_true(ks_value_equal(&a, &b));
	b.members[3].value.integer++;
	assert_false(ks_value_equal(&a, &b));
}

static void test_print_as_go(void **state)
{
	struct ks_value v = ks_test_free(*state, "{\"b\":[1,\"x\",null,true,1.5,1e30],\"a\":{}}");
	struct ks_buf out;

	ks_buf_init(&out);
	ks_value_print(&v, &out);
	ks_buf_add_char(&out, '\0');
	assert_string_equal(out.data, "map[a:map[] b:[1 x <nil> true 1.5 1e+30]]");
	ks_buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KS_TEST(test_put_and_get_along_paths),
		KS_TEST(test_members_are_removed_in_order),
		KS_TEST(test_lists_grow_and_shrink),
		KS_TEST(test_a_copy_is_whole),
		KS_TEST(test_unsaid_values_are_left_out_and_settled),
		KS_TEST(test_semantic_equality),
		KS_TEST(test_quantities_are_equal_by_value),
		KS_TEST(test_json_equality),
		KS_TEST(test_long_maps_are_compared_in_any_order),
		KS_TEST(test_print_as_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
