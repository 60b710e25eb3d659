/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The ring of a resource's events. */
#include "core/cache/history.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/cache-help.h"

static void append(struct ks_history *h, uint64_t revision, size_t padding)
{
	char rest[4096];
	struct ks_object *object;

	snprintf(rest, sizeof(rest), ",\"data\":{\"a\":\"%0*d\"}", (int)padding, 0);
	object = help_object(help_resource("", "v1", "configmaps"), "a", "x", NULL, rest);
	object->revision = revision;
	assert_int_equal(ks_history_reserve(h), 0);
	ks_history_append(h, revision, object, NULL);
	ks_object_unref(object);
}

static int get(const struct ks_history *h, uint64_t number, uint64_t *revision_r)
{
	struct ks_history_entry entry = {0};
	int result;

	ks_rcu_read_lock();
	result = ks_history_get(h, number, &entry);
	ks_rcu_read_unlock();
	*revision_r = entry.revision;
	return result;
}

static uint64_t find(const struct ks_history *h, uint64_t revision)
{
	uint64_t number;

	ks_rcu_read_lock();
	number = ks_history_find(h, revision, atomic_load(&h->end));
	ks_rcu_read_unlock();
	return number;
}

static void entries_are_seen_when_published(void **state)
{
	struct ks_history h;
	uint64_t revision;

	(void)state;
	assert_int_equal(ks_history_init(&h, 128, 1 << 20), 0);
	append(&h, 5, 1);
	assert_int_equal(get(&h, 0, &revision), -EAGAIN);
	ks_history_publish(&h);
	assert_int_equal(get(&h, 0, &revision), 0);
	assert_int_equal(revision, 5);
	assert_int_equal(get(&h, 1, &revision), -EAGAIN);
	ks_history_fini(&h);
}

static void nothing_is_kept_while_idle(void **state)
{
	struct ks_history h;

	(void)state;
	assert_int_equal(ks_history_init(&h, 4096, 16 << 20), 0);
	assert_int_equal(h.bytes, 0);
	assert_null(h.spare);
	assert_true(h.n_slots * sizeof(void *) < 1024);
	ks_history_fini(&h);
}

static void old_entries_fall_out_by_number(void **state)
{
	struct ks_history h;
	uint64_t revision;

	(void)state;
	assert_int_equal(ks_history_init(&h, 128, 1 << 30), 0);
	for (uint64_t i = 0; i < 1000; i++) {
		append(&h, 100 + i * 2, 1);
		ks_history_publish(&h);
	}
	assert_int_equal(get(&h, 0, &revision), -ENOENT);
	assert_int_equal(get(&h, 999, &revision), 0);
	assert_int_equal(revision, 100 + 999 * 2);
	assert_int_equal(get(&h, 999 - 127, &revision), 0);
	assert_int_equal(get(&h, h.first, &revision), 0);
	assert_false(ks_history_reaches(&h, revision - 3));
	assert_true(ks_history_reaches(&h, revision - 1));
	assert_true(1000 - h.first < 128 + 2 * KS_HISTORY_CHUNK);
	ks_history_fini(&h);
	ks_rcu_barrier();
}

static void old_entries_fall_out_by_bytes(void **state)
{
	struct ks_history h;

	(void)state;
	assert_int_equal(ks_history_init(&h, 100000, 100000), 0);
	for (uint64_t i = 0; i < 1000; i++) {
		append(&h, i + 1, 1000);
		ks_history_publish(&h);
		assert_true(h.bytes < 120000);
	}
	assert_true(h.next - h.first > 50);
	ks_history_fini(&h);
	ks_rcu_barrier();
}

static void one_batch_larger_than_the_ring(void **state)
{
	struct ks_history h;
	uint64_t revision;

	(void)state;
	assert_int_equal(ks_history_init(&h, 64, 1 << 30), 0);
	for (uint64_t i = 0; i < 10000; i++)
		append(&h, i + 1, 1);
	ks_history_publish(&h);
	assert_int_equal(get(&h, 9999, &revision), 0);
	assert_int_equal(revision, 10000);
	assert_int_equal(get(&h, 10, &revision), -ENOENT);
	assert_false(ks_history_reaches(&h, 100));
	ks_history_fini(&h);
	ks_rcu_barrier();
}

static void revisions_are_found(void **state)
{
	struct ks_history h;

	(void)state;
	assert_int_equal(ks_history_init(&h, 4096, 1 << 30), 0);
	for (uint64_t i = 0; i < 300; i++)
		append(&h, 10 * (i + 1), 1);
	ks_history_publish(&h);
	assert_int_equal(find(&h, 0), 0);
	assert_int_equal(find(&h, 9), 0);
	assert_int_equal(find(&h, 10), 1);
	assert_int_equal(find(&h, 1999), 199);
	assert_int_equal(find(&h, 3000), 300);
	assert_int_equal(find(&h, 5000), 300);
	ks_history_fini(&h);
}

static void a_gap_stops_those_who_saw_into_it(void **state)
{
	struct ks_history h;

	(void)state;
	assert_int_equal(ks_history_init(&h, 4096, 1 << 30), 0);
	atomic_store(&h.gap_from, 100);
	atomic_store(&h.gap_to, 200);
	assert_true(ks_history_reaches(&h, 100));
	assert_false(ks_history_reaches(&h, 101));
	assert_false(ks_history_reaches(&h, 199));
	assert_true(ks_history_reaches(&h, 200));
	ks_history_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_seen_when_published),
		cmocka_unit_test(nothing_is_kept_while_idle),
		cmocka_unit_test(old_entries_fall_out_by_number),
		cmocka_unit_test(old_entries_fall_out_by_bytes),
		cmocka_unit_test(one_batch_larger_than_the_ring),
		cmocka_unit_test(revisions_are_found),
		cmocka_unit_test(a_gap_stops_those_who_saw_into_it),
	};

	return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
