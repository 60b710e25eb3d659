/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Every built-in kind with fields filled at random: what is written is read back equal, and written again byte for byte. */
#include "api-random.h"

#include <string.h>

enum { ROUNDS = 3 };

static void check(struct ks_arena *arena, uint16_t type, const struct ks_value *v)
{
	const char *json = ks_test_json(arena, v), *message = "";
	struct ks_strict_errors strict = {0};
	struct ks_value again, free_form, converted;

	if (ks_json_decode(arena, &ks_schema_builtin, type, KS_DECODE_STRICT | KS_DECODE_BORROW, json, strlen(json), &again, &strict, &message) < 0)
		fail_msg("%s\n%s", message, json);
	assert_string_equal(ks_test_strict(arena, &strict), "");
	if (!ks_value_equal(v, &again))
		fail_msg("not equal after decoding: %s", json);
	assert_string_equal(ks_test_json(arena, &again), json);
	assert_true(ks_value_to_free(arena, &ks_schema_builtin, v, &free_form));
	assert_int_equal(ks_value_convert(arena, &ks_schema_builtin, type, KS_DECODE_STRICT | KS_CONVERT_UNSTRUCTURED, &free_form, &converted,
				 &strict, &message),
		0);
	assert_string_equal(ks_test_json(arena, &converted), json);
	assert_true(ks_value_copy(arena, v, &again));
	assert_true(ks_value_equal(v, &again));
}

static void test_every_kind_round_trips(void **state)
{
	struct ks_test_maker m = {.arena = *state, .seed = 0x9e3779b97f4a7c15ULL};

	for (uint32_t i = 0; i < ks_schema_builtin.n_kinds; i++)
		for (int round = 0; round < ROUNDS; round++) {
			uint16_t type = ks_schema_builtin.kinds[i].type;
			struct ks_value v;

			ks_arena_reset(*state);
			if (ks_test_make_struct(&m, type, true, &v))
				check(*state, type, &v);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {KS_TEST(test_every_kind_round_trips)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
