/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/pipeline/resource/token.h"

static void test_a_token_names_what_comes_next(void **state)
{
	struct ks_arena arena;
	struct ks_token token;
	const char *text, *message;

	(void)state;
	ks_arena_init(&arena, 0);
	text = ks_token_encode(&arena, 42, KS_STR_LIT("default/web"));
	assert_non_null(text);
	assert_int_equal(ks_token_decode(&arena, &ks_schema_builtin, ks_str_from(text), &token, &message), 0);
	assert_int_equal(token.revision, 42);
	assert_int_equal(token.start.n, 12);
	assert_memory_equal(token.start.p, "default/web", 12);
	ks_arena_fini(&arena);
}

/* {"v":"meta.k8s.io/v1","rv":7,"start":"a\u0000"} as another server writes it. */
static void test_tokens_of_others_are_understood(void **state)
{
	struct ks_arena arena;
	struct ks_token token;
	const char *message;

	(void)state;
	ks_arena_init(&arena, 0);
	assert_int_equal(ks_token_decode(&arena, &ks_schema_builtin, KS_STR_LIT("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Nywic3RhcnQiOiJhXHUwMDAwIn0"), &token,
		&message), 0);
	assert_int_equal(token.revision, 7);
	assert_int_equal(token.start.n, 2);
	assert_memory_equal(token.start.p, "a", 2);
	ks_arena_fini(&arena);
}

static void test_bad_tokens_are_named(void **state)
{
	static const struct { const char *token, *message; } cases[] = {
		{"!!", "continue key is not valid: illegal base64 data at input byte 0"},
		/* {"v":"v9","rv":1,"start":"a"} */
		{"eyJ2IjoidjkiLCJydiI6MSwic3RhcnQiOiJhIn0", "continue key is not valid: server does not recognize this encoded version v9"},
		/* {"v":"meta.k8s.io/v1","rv":0,"start":"a"} */
		{"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0",
			"continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)"},
		/* {"v":"meta.k8s.io/v1","rv":1,"start":"../a"} */
		{"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi9hIn0", "continue key is not valid: ../a"},
	};
	struct ks_arena arena;
	struct ks_token token;
	const char *message;

	(void)state;
	ks_arena_init(&arena, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_not_equal(ks_token_decode(&arena, &ks_schema_builtin, ks_str_from(cases[i].token), &token, &message), 0);
		assert_string_equal(message, cases[i].message);
	}
	ks_arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_token_names_what_comes_next),
		cmocka_unit_test(test_tokens_of_others_are_understood),
		cmocka_unit_test(test_bad_tokens_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
