/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/util/arena.h"
#include "core/util/buf.h"
#include "core/util/error.h"
#include "core/util/log.h"
#include "core/util/str.h"

static void an_arena_gives_aligned_memory_of_any_size(void **state)
{
	struct ks_arena arena;

	(void)state;
	ks_arena_init(&arena, 0);
	for (size_t size = 1; size < 1 << 20; size = size * 3 + 1) {
		char *p = ks_arena_alloc(&arena, size);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		memset(p, 0xab, size);
	}
	ks_arena_fini(&arena);
}

static void an_arena_keeps_its_limit(void **state)
{
	struct ks_arena arena;
	size_t got = 0;

	(void)state;
	ks_arena_init(&arena, 100000);
	while (ks_arena_alloc(&arena, 1000))
		got += 1000;
	assert_in_range(got, 50000, 100000);
	assert_true(arena.used <= 100000);
	assert_null(ks_arena_alloc(&arena, SIZE_MAX - 8));
	assert_null(ks_arena_zalloc(&arena, SIZE_MAX / 2, 4));
	ks_arena_fini(&arena);
}

static void a_reset_arena_uses_its_block_again(void **state)
{
	struct ks_arena arena;
	size_t used;

	(void)state;
	ks_arena_init(&arena, 0);
	assert_non_null(ks_arena_alloc(&arena, 100));
	used = arena.used;
	for (int i = 0; i < 1000; i++) {
		ks_arena_reset(&arena);
		assert_non_null(ks_arena_alloc(&arena, 100));
	}
	assert_int_equal(arena.used, used);
	assert_string_equal(ks_arena_printf(&arena, "%s-%d", "x", 7), "x-7");
	assert_string_equal(ks_arena_dup(&arena, "abc", 2), "ab");
	ks_arena_fini(&arena);
}

static void an_arena_uses_lent_memory_first(void **state)
{
	_Alignas(16) char lent[64];
	struct ks_arena arena;
	char *first, *second;

	(void)state;
	ks_arena_init(&arena, 0);
	ks_arena_lend(&arena, lent, sizeof(lent));
	first = ks_arena_alloc(&arena, 40);
	second = ks_arena_alloc(&arena, 40);
	assert_ptr_equal(first, lent);
	assert_int_equal(arena.used > 0, 1);
	assert_false(second >= lent && second < lent + sizeof(lent));
	ks_arena_fini(&arena);
	assert_non_null(ks_arena_alloc(&arena, 8));
	ks_arena_fini(&arena);
}

static void a_buffer_grows_and_prints(void **state)
{
	struct ks_buf buf;

	(void)state;
	ks_buf_init(&buf);
	ks_buf_add_u64(&buf, UINT64_MAX);
	ks_buf_add_char(&buf, ' ');
	ks_buf_add_i64(&buf, INT64_MIN);
	ks_buf_printf(&buf, " %s", "end");
	assert_true(ks_str_is(ks_buf_str(&buf), "18446744073709551615 -9223372036854775808 end"));
	for (int i = 0; i < 10000; i++)
		ks_buf_add_str(&buf, "0123456789");
	assert_int_equal(buf.len, 100000 + 45);
	ks_buf_fini(&buf);
}

static void a_buffer_remembers_that_it_failed(void **state)
{
	struct ks_buf buf;

	(void)state;
	ks_buf_init(&buf);
	ks_buf_add_str(&buf, "x");
	assert_false(ks_buf_reserve(&buf, SIZE_MAX - 4));
	ks_buf_add_str(&buf, "y");
	assert_true(buf.failed);
	assert_true(ks_str_is(ks_buf_str(&buf), "x"));
	ks_buf_fini(&buf);
}

static void strings_are_ordered_as_bytes(void **state)
{
	(void)state;
	assert_true(ks_str_cmp(KS_STR_LIT("a"), KS_STR_LIT("ab")) < 0);
	assert_true(ks_str_cmp(KS_STR_LIT("\xff"), KS_STR_LIT("a")) > 0);
	assert_int_equal(ks_str_cmp(KS_STR_LIT(""), ks_str_of(NULL, 0)), 0);
	assert_true(ks_str_starts(KS_STR_LIT("abc"), KS_STR_LIT("ab")));
	assert_false(ks_str_starts(KS_STR_LIT("a"), KS_STR_LIT("ab")));
}

static void an_error_is_cut_to_fit_and_wrapped(void **state)
{
	char longest[3000];
	struct ks_error err;

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(ks_error_set(&err, -5, "%s", longest), -5);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_int_equal(ks_error_set(&err, -1, "inner"), -1);
	assert_int_equal(ks_error_wrap(&err, -2, "outer %d", 1), -2);
	assert_string_equal(err.text, "outer 1: inner");
	assert_int_equal(ks_error_set(NULL, -3, "nobody listens"), -3);
}

/* What a log call wrote to standard error. */
static void log_to(char *text, size_t size, enum ks_log_level level, const char *message)
{
	int pipe_fds[2], saved = dup(STDERR_FILENO);
	ssize_t n;

	assert_int_equal(pipe(pipe_fds), 0);
	dup2(pipe_fds[1], STDERR_FILENO);
	ks_log(level, "area", "%s", message);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(pipe_fds[1]);
	n = read(pipe_fds[0], text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	close(pipe_fds[0]);
}

static void a_log_line_is_one_line(void **state)
{
	char text[8192];

	(void)state;
	log_to(text, sizeof(text), KS_LOG_WARN, "two\nlines");
	assert_non_null(strstr(text, " warn  area: two lines\n"));
	log_to(text, sizeof(text), KS_LOG_DEBUG, "not shown");
	assert_string_equal(text, "");
	assert_int_equal(ks_log_level_parse("debug"), KS_LOG_DEBUG);
	assert_int_equal(ks_log_level_parse("loud"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_arena_gives_aligned_memory_of_any_size),
		cmocka_unit_test(an_arena_keeps_its_limit),
		cmocka_unit_test(a_reset_arena_uses_its_block_again),
		cmocka_unit_test(an_arena_uses_lent_memory_first),
		cmocka_unit_test(a_buffer_grows_and_prints),
		cmocka_unit_test(a_buffer_remembers_that_it_failed),
		cmocka_unit_test(strings_are_ordered_as_bytes),
		cmocka_unit_test(an_error_is_cut_to_fit_and_wrapped),
		cmocka_unit_test(a_log_line_is_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
