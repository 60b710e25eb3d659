/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "api-help.h"

#include <string.h>

#include "core/api/selector.h"

static const struct ks_label labels[] = {
	{{"app", 3}, {"web", 3}},
	{{"env", 3}, {"prod", 4}},
	{{"tier", 4}, {"7", 1}},
};

static void test_what_matches(void **state)
{
	static const struct {
		const char *text;
		bool matches;
	} cases[] = {
		{"", true},
		{"  ", true},
		{"app=web", true},
		{"app==web,env=prod", true},
		{"app=web,env=test", false},
		{"app!=web", false},
		{"none!=x", true},
		{"app", true},
		{"!app", false},
		{"!none", true},
		{"env in (test, prod)", true},
		{"env notin (prod)", false},
		{"none notin (x)", true},
		{"tier>6", true},
		{"tier<7", false},
		{"none>1", false},
		{"app>1", false},
		{"in=web", false},
		{"app in ()", false},
		{"app in (,web)", true},
		{"app=", false},
		{"app in (in,notin)", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ks_selector *selector, *copy;
		const char *message;

		assert_int_equal(ks_label_selector_parse(*state, ks_str_from(cases[i].text), &selector, &message), 0);
		assert_int_equal(ks_label_selector_match(selector, labels, 3), cases[i].matches);
		copy = ks_selector_dup(selector);
		assert_int_equal(ks_label_selector_match(copy, labels, 3), cases[i].matches);
		ks_selector_free(copy);
	}
}

static void test_what_is_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"tier>a", "unable to parse requirement: values[0]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value must be an integer"},
		{"tier<", "unable to parse requirement: values[0]: Invalid value: \"\": for 'Gt', 'Lt' operators, the value must be an integer"},
		{"tier>-1",
			"unable to parse requirement: values[0][tier]: Invalid value: \"-1\": a valid label must be an empty string or consist of "
			"alphanumeric "
			"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
			"'12345', regex used for "
			"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"env IN (prod)", "unable to parse requirement: found 'IN', expected: in, notin, =, ==, !=, gt, lt"},
		{"env notin", "unable to parse requirement: found '' expected: '('"},
		{"env,", "found '', expected: identifier after ','"},
		{",env", "found ',', expected: !, identifier, or 'end of string'"},
		{"env,,tier", "found ',', expected: identifier after ','"},
		{"a==b==c", "found '==', expected: ',' or 'end of string'"},
		{"=a", "found '=', expected: !, identifier, or 'end of string'"},
		{"!=a", "found '!=', expected: !, identifier, or 'end of string'"},
		{"!", "unable to parse requirement: found '', expected: identifier"},
		{"env in prod", "unable to parse requirement: found 'prod' expected: '('"},
		{"env in (prod", "unable to parse requirement: found '', expected: ',' or ')'"},
		{"env in (a b)", "unable to parse requirement: found 'b', expected: ',' or ')'"},
		{"!env=a", "found '=', expected: ',' or 'end of string'"},
		{"env!", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"},
		{"env=a b", "found 'b', expected: ',' or 'end of string'"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ks_selector *selector;
		const char *message = "";

		assert_int_equal(ks_label_selector_parse(*state, ks_str_from(cases[i].text), &selector, &message), -22);
		assert_string_equal(message, cases[i].message);
	}
}

static bool matches_value(void **state, const char *json)
{
	struct ks_value v = ks_test_free(*state, json);
	struct ks_selector *selector;
	const char *message;

	assert_int_equal(ks_label_selector_from_value(*state, NULL, &v, &selector, &message), 0);
	return ks_label_selector_match(selector, labels, 3);
}

static void test_selectors_of_objects(void **state)
{
	struct ks_value v;
	struct ks_selector *selector;
	const char *message;

	assert_true(matches_value(state, "{}"));
	assert_true(matches_value(
		state, "{\"matchLabels\":{\"app\":\"web\"},\"matchExpressions\":[{\"key\":\"env\",\"operator\":\"In\",\"values\":[\"prod\"]}]}"));
	assert_false(matches_value(state, "{\"matchExpressions\":[{\"key\":\"env\",\"operator\":\"DoesNotExist\"}]}"));
	assert_false(matches_value(state, "null"));
	v = ks_test_free(*state, "{\"matchExpressions\":[{\"key\":\"env\",\"operator\":\"Gt\"}]}");
	assert_int_equal(ks_label_selector_from_value(*state, NULL, &v, &selector, &message), -22);
	assert_string_equal(message, "\"Gt\" is not a valid label selector operator");
	v = ks_test_free(*state, "{\"matchExpressions\":[{\"key\":\"env\",\"operator\":\"In\"}]}");
	assert_int_equal(ks_label_selector_from_value(*state, NULL, &v, &selector, &message), -22);
	assert_string_equal(message, "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty");
}

static void test_labels_of_an_object(void **state)
{
	struct ks_value v = ks_test_free(*state, "{\"z\":\"1\",\"a\":\"2\"}");
	struct ks_selector *selector;
	const char *message;

	assert_int_equal(ks_label_selector_parse(*state, KS_STR_LIT("a=2,!b"), &selector, &message), 0);
	assert_true(ks_label_selector_match_value(selector, &v));
	assert_false(ks_label_selector_match_value(selector, NULL));
}

static void test_field_selectors(void **state)
{
	struct ks_field_requirement *r;
	const char *message;
	uint32_t n;

	assert_int_equal(ks_field_selector_parse(*state, KS_STR_LIT("spec.nodeName!=,metadata.name==a\\,b\\=c\\\\,,x=y"), &r, &n, &message), 0);
	assert_int_equal(n, 3);
	assert_true(ks_str_is(r[0].path, "metadata.name"));
	assert_true(ks_str_is(r[0].value, "a,b=c\\"));
	assert_true(r[1].not_equal);
	assert_true(ks_str_is(r[1].value, ""));
	assert_true(ks_str_is(r[2].path, "x"));
	assert_int_equal(ks_field_selector_parse(*state, KS_STR_LIT(""), &r, &n, &message), 0);
	assert_int_equal(n, 0);
	assert_int_equal(ks_field_selector_parse(*state, KS_STR_LIT("a"), &r, &n, &message), -22);
	assert_string_equal(message, "invalid selector: 'a'; can't understand 'a'");
	assert_int_equal(ks_field_selector_parse(*state, KS_STR_LIT("a=b=c"), &r, &n, &message), -22);
	assert_string_equal(message, "invalid field selector: unescaped character in value: 61");
	assert_int_equal(ks_field_selector_parse(*state, KS_STR_LIT("a=\\x"), &r, &n, &message), -22);
	assert_string_equal(message, "invalid field selector: invalid escape sequence: \\x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KS_TEST(test_what_matches),
		KS_TEST(test_what_is_refused),
		KS_TEST(test_selectors_of_objects),
		KS_TEST(test_labels_of_an_object),
		KS_TEST(test_field_selectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
