/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "api-help.h"

#include <string.h>

#include "core/api/yaml.h"

/* JSON of the text's first document, or the message. */
static const char *convert(struct ks_arena *arena, const char *yaml, struct ks_strict_errors *strict)
{
	struct ks_value v;
	const char *message = "";
	int r = ks_yaml_decode(arena, yaml, strlen(yaml), &v, strict, &message);

	assert_true(r == 0 || r == -22);
	return r == 0 ? ks_test_json(arena, &v) : message;
}

static void test_plain_scalars(void **state)
{
	static const char *const pairs[][2] = {
		{"y", "true"},
		{"Yes", "true"},
		{"on", "true"},
		{"n", "false"},
		{"Off", "false"},
		{"yEs", "\"yEs\""},
		{"~", "null"},
		{"null", "null"},
		{"\"\"", "\"\""},
		{"12", "12"},
		{"+12", "12"},
		{"-12", "-12"},
		{"0x1f", "31"},
		{"0o17", "15"},
		{"017", "15"},
		{"08", "8"},
		{"0b101", "5"},
		{"-0b11", "-3"},
		{"1_000", "1000"},
		{"1.5", "1.5"},
		{".5", "0.5"},
		{"1e3", "1000"},
		{"1.", "1"},
		{"12:30:00", "\"12:30:00\""},
		{"2001-01-01", "\"2001-01-01\""},
		{"1.2.3", "\"1.2.3\""},
		{"'5'", "\"5\""},
		{"!!str 5", "\"5\""},
		{"!!float 5", "5"},
		{"!!binary aGk=", "\"hi\""},
		{"9223372036854775808", "9223372036854776000"},
		{"1e400", "\"1e400\""},
		{"_1", "\"_1\""},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		assert_string_equal(convert(*state, pairs[i][0], NULL), pairs[i][1]);
}

static void test_keys_become_texts(void **state)
{
	assert_string_equal(convert(*state, "on: a\n1: b\n1.5: c\n\"2\": d\n", NULL), "{\"1\":\"b\",\"1.5\":\"c\",\"2\":\"d\",\"true\":\"a\"}");
}

static void test_aliases_and_merge_keys(void **state)
{
	assert_string_equal(convert(*state, "a: &a {p: 1, q: 2}\nb: *a\nc: {<<: *a, q: 3}\n", NULL),
		"{\"a\":{\"p\":1,\"q\":2},\"b\":{\"p\":1,\"q\":2},\"c\":{\"p\":1,\"q\":3}}");
	assert_string_equal(convert(*state, "a: &a {p: 1}\nb: &b {p: 2, r: 3}\nc: {<<: [*a, *b]}\n", NULL),
		"{\"a\":{\"p\":1},\"b\":{\"p\":2,\"r\":3},\"c\":{\"p\":1,\"r\":3}}");
	assert_string_equal(convert(*state, "c: {<<: 1}\n", NULL), "yaml: map merge requires map or sequence of maps as the value");
}

static void test_block_scalars(void **state)
{
	assert_string_equal(convert(*state, "a: |\n  one\n  two\nb: >-\n  x\n  y\n", NULL), "{\"a\":\"one\\ntwo\\n\",\"b\":\"x y\"}");
}

static void test_the_first_document_counts(void **state)
{
	assert_string_equal(convert(*state, "---\na: 1\n---\n{", NULL), "{\"a\":1}");
	assert_string_equal(convert(*state, "", NULL), "null");
	assert_string_equal(convert(*state, "# nothing\n", NULL), "null");
}

static void test_repeated_keys(void **state)
{
	static const char yaml[] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: one\n  k: two\n";
	struct ks_strict_errors strict = {0};

	assert_string_equal(convert(*state, yaml, &strict),
		"{\"apiVersion\":\"v1\",\"data\":{\"k\":\"two\"},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}");
	assert_string_equal(ks_test_strict(*state, &strict), "line 6: key \"k\" already set in map");
	assert_string_equal(convert(*state, yaml, NULL), "yaml: unmarshal errors:\n  line 6: key \"k\" already set in map");
}

static void test_errors(void **state)
{
	static const char *const pairs[][2] = {
		{"apiVersion: v1\nkind: [ConfigMap\n", "yaml: line 2: did not find expected ',' or ']'"},
		{"a: b: c\n", "yaml: mapping values are not allowed in this context"},
		{"a: \"b\n", "yaml: line 2: found unexpected end of stream"},
		{"\ta: b\n", "yaml: found character that cannot start any token"},
		{"a: *x\n", "yaml: unknown anchor 'x' referenced"},
		{"a: &x [*x]\n", "yaml: anchor 'x' value contains itself"},
		{"a: !!int foo\n", "yaml: cannot decode !!str `foo` as a !!int"},
		{"a: .inf\n", "json: unsupported value: +Inf"},
		{"? [a]\n: b\n", "yaml: invalid map key"},
		{"\x01", "yaml: control characters are not allowed"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		assert_string_equal(convert(*state, pairs[i][0], NULL), pairs[i][1]);
}

static void test_bombs_are_refused(void **state)
{
	struct ks_buf yaml;
	char deep[3001];

	ks_buf_init(&yaml);
	ks_buf_add_str(&yaml, "a: &a [x,x,x,x,x,x,x,x,x]\n");
	for (char c = 'b'; c < 'k'; c++) {
		ks_buf_printf(&yaml, "%c: &%c [*%c", c, c, c - 1);
		for (int i = 0; i < 8; i++)
			ks_buf_printf(&yaml, ",*%c", c - 1);
		ks_buf_add_str(&yaml, "]\n");
	}
	ks_buf_add_char(&yaml, '\0');
	assert_string_equal(convert(*state, yaml.data, NULL), "yaml: document contains excessive aliasing");
	ks_buf_fini(&yaml);
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	assert_string_equal(convert(*state, deep, NULL), "yaml: exceeded max depth of 1000");
}

static void test_every_limit_of_memory_is_an_error(void **state)
{
	static const char yaml[] = "a: &a {p: [1, 2, 3], q: \"x\"}\nb: *a\nc: {<<: *a, c: 1, c: 2}\n";
	bool decoded = false;

	(void)state;
	for (size_t limit = 16; !decoded; limit += 16) {
		struct ks_strict_errors strict = {0};
		struct ks_arena arena;
		struct ks_value v;
		const char *message;
		int r;

		ks_arena_init(&arena, limit);
		r = ks_yaml_decode(&arena, yaml, sizeof(yaml) - 1, &v, &strict, &message);
		assert_true(r == 0 || r == -12);
		decoded = r == 0;
		ks_arena_fini(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KS_TEST(test_plain_scalars),
		KS_TEST(test_keys_become_texts),
		KS_TEST(test_aliases_and_merge_keys),
		KS_TEST(test_block_scalars),
		KS_TEST(test_the_first_document_counts),
		KS_TEST(test_repeated_keys),
		KS_TEST(test_errors),
		KS_TEST(test_bombs_are_refused),
		KS_TEST(test_every_limit_of_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
