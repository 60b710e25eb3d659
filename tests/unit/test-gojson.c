/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Objects as messages show them: Go names, nothing left out, and the difference of two of them. */
#include "api-help.h"

#include <string.h>

#include "core/api/gojson.h"

static const char *text_of(struct ks_arena *arena, struct ks_buf *out)
{
	const char *copy;

	assert_false(out->failed);
	copy = ks_arena_dup(arena, out->data, out->len);
	ks_buf_fini(out);
	assert_non_null(copy);
	return copy;
}

static const char *shown(void **state, const char *json)
{
	struct ks_value v;
	struct ks_buf out;

	assert_null(ks_test_decode(*state, json, &v, NULL));
	ks_buf_init(&out);
	ks_gojson_write(&ks_schema_builtin, ks_test_type(*state, json), false, &v, &out);
	return text_of(*state, &out);
}

static const char *difference(void **state, const char *before, const char *after)
{
	struct ks_buf out;

	ks_buf_init(&out);
	ks_gojson_diff(ks_str_from(before), ks_str_from(after), &out);
	return text_of(*state, &out);
}

static void test_fields_have_go_names_and_none_is_left_out(void **state)
{
	const char *text = shown(state, "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"RoleBinding\","
									"\"roleRef\":{\"kind\":\"Role\",\"name\":\"r\"}}");

	assert_non_null(strstr(text, "\"RoleRef\":{\"APIGroup\":\"\",\"Kind\":\"Role\",\"Name\":\"r\"}"));
	assert_non_null(strstr(text, "\"Subjects\":null"));
}

/* Also in a struct that is absent but for that, and in a copy of it. */
static void test_what_was_said_to_be_empty_is_shown_so(void **state)
{
	static const char json[] = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{\"tolerations\":[],\"containers\":[{\"resources\":"
							   "{\"claims\":[],\"limits\":{}}}]}}";
	struct ks_value v, copy;
	struct ks_buf out;
	const char *text = shown(state, json);

	assert_non_null(strstr(text, "\"Resources\":{\"Limits\":{},\"Requests\":null,\"Claims\":[]}"));
	assert_non_null(strstr(text, "\"Tolerations\":[]"));
	assert_null(ks_test_decode(*state, json, &v, NULL));
	assert_true(ks_value_copy(*state, &v, &copy));
	ks_buf_init(&out);
	ks_gojson_write(&ks_schema_builtin, ks_test_type(*state, json), false, &copy, &out);
	assert_string_equal(text_of(*state, &out), text);
}

static void test_the_same_twice_has_no_difference(void **state)
{
	assert_string_equal(difference(state, "{\"A\":1}", "{\"A\":1}"), "");
}

static void test_a_changed_line_stands_between_its_neighbours(void **state)
{
	const char *text = difference(state, "{\"A\":1,\"B\":2}", "{\"A\":1,\"B\":3}");

	assert_non_null(strstr(text, "@@"));
	assert_non_null(strstr(text, "\n-"));
	assert_non_null(strstr(text, "\"B\": 2"));
	assert_non_null(strstr(text, "\n+"));
	assert_non_null(strstr(text, "\"B\": 3"));
}

/* Lines that begin with a minus and a plus. */
static void count_changes(const char *text, unsigned *gone_r, unsigned *came_r)
{
	*gone_r = *came_r = 0;
	for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		*gone_r += *line == '-';
		*came_r += *line == '+';
	}
}

static void test_long_texts_are_compared(void **state)
{
	unsigned gone, came;
	struct ks_buf a, b;
	const char *before;

	ks_buf_init(&a);
	ks_buf_init(&b);
	for (int i = 0; i < 20000; i++) {
		ks_buf_printf(&a, "%s{\"Name\":\"n%d\",\"Image\":\"i\"}", i ? "," : "[", i);
		if (i != 10000)
			ks_buf_printf(&b, "%s{\"Name\":\"n%d\",\"Image\":\"%s\"}", i ? "," : "[", i, i == 15000 ? "another" : "i");
	}
	ks_buf_add_char(&a, ']');
	ks_buf_add_char(&b, ']');
	before = text_of(*state, &a);
	count_changes(difference(state, before, text_of(*state, &b)), &gone, &came);
	assert_int_equal(gone, 5); /* the four lines of the item, and the image */
	assert_int_equal(came, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KS_TEST(test_fields_have_go_names_and_none_is_left_out),
		KS_TEST(test_what_was_said_to_be_empty_is_shown_so),
		KS_TEST(test_the_same_twice_has_no_difference),
		KS_TEST(test_long_texts_are_compared),
		KS_TEST(test_a_changed_line_stands_between_its_neighbours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
