/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the test's library and the test know of each other: the library notes what is done to it. */
#ifndef KS_TESTS_TEST_PLUGIN_H
#define KS_TESTS_TEST_PLUGIN_H

#include <keelson/admission.h>
#include <keelson/storage.h>
#include <stdatomic.h>

enum test_mode {
	TEST_ACCEPT, TEST_NOT_MINE, TEST_PENDING, TEST_PENDING_AND_DONE, TEST_UNKNOWN, TEST_FAIL, TEST_NAMELESS, TEST_WAIT
};

struct test_config {
	int32_t mode;
	uint8_t fail_start, fail_create, fail_attach, fail_reload;
	int64_t count, wait, size;
	const char *file, *secret, *word;
	struct ks_config_list words;
};

/* An instance, as the test may look at it. */
struct test_instance {
	const struct ks_host *host;
	const struct test_config *config;
	struct ks_informer *informer;
	struct ks_metric *calls;
	_Atomic int running, most_running, n_calls;
};

struct test_trace {
	_Atomic int created, started, attached, detached, drained, stopped, destroyed, reloaded;
	_Atomic(struct test_instance *) last;
	/* informer */
	_Atomic int added, modified, deleted, synced;
	_Atomic int slow_ms;             /* how long each event takes */
	_Atomic uint64_t last_name, last_value; /* test_text of them */
	/* writes */
	_Atomic int write_result, write_code, writes_done;
	/* what `mutate` and `validate` do; set by the test */
	int (*mutate)(struct test_instance *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result);
};

struct test_trace *test_trace(void);

/* The first eight bytes of a text, to be read and written at once. */
static inline uint64_t test_text(const char *p, size_t n)
{
	uint64_t text = 0;

	for (size_t i = 0; i < n && i < 8; i++)
		text = text << 8 | (unsigned char)p[i];
	return text;
}
#define TEST_TEXT(s) test_text(s, sizeof(s) - 1)

#endif
