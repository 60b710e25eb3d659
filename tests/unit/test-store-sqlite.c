/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "storage/sqlite/index.h"
#include "tests/unit/store-suite.h"

extern const struct ks_plugin ks_plugin_sqlite;

static struct ks_store_suite suite;
static char folder[64], path_pair[128], path[96];
static const char *config[] = {path_pair, "history=300", "wal=1Mi", NULL};

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/keelson-store-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/test.db", folder);
	snprintf(path_pair, sizeof(path_pair), "file=%s", path);
	suite = (struct ks_store_suite){.fake = ks_fake_host_new("sqlite"), .config = config};
	suite.iface = ks_fake_interface(&ks_plugin_sqlite, KS_KIND_STORE);
	return ks_store_suite_start(&suite);
}

static void remove_file(const char *suffix)
{
	char name[160];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	unlink(name);
}

static int teardown(void **state)
{
	(void)state;
	ks_store_suite_stop(&suite);
	ks_fake_host_free(&suite.fake);
	remove_file("");
	remove_file("-wal");
	remove_file("-shm");
	remove_file("-guard");
	remove_file(".copy");
	return rmdir(folder);
}

static void check(int failed)
{
	if (failed)
		fail_msg("%s", suite.failure);
}

static uint64_t put(const char *key, const char *value)
{
	struct ks_store_write_result r;

	assert_int_equal(ks_store_suite_write(&suite, key, value, KS_STORE_EXPECT_ANY, 0, &r), KS_DONE);
	assert_int_equal(r.outcome, KS_STORE_COMMITTED);
	return r.revision;
}

static void revisions(uint64_t *current, uint64_t *oldest)
{
	assert_int_equal(((const struct ks_store_ops *)suite.iface->ops)->revision(suite.self, current, oldest), KS_DONE);
}

static void test_random_history(void **state)
{
	(void)state;
	/* Another history with KS_TEST_SEED=N. */
	check(ks_store_suite_random(&suite, getenv("KS_TEST_SEED") ? strtoull(getenv("KS_TEST_SEED"), NULL, 10) : 1, 3000));
}

static void test_race(void **state)
{
	(void)state;
	check(ks_store_suite_race(&suite, 4, 60));
}

static void test_snapshot(void **state)
{
	(void)state;
	check(ks_store_suite_snapshot(&suite, 2000));
}

static void test_lease(void **state)
{
	(void)state;
	check(ks_store_suite_lease(&suite));
}

/* A lease is kept over a restart. */
static void test_lease_after_restart(void **state)
{
	(void)state;
	check(ks_store_suite_lease_restart(&suite));
}

static void test_second_server_is_refused(void **state)
{
	struct ks_store_suite second = {.fake = ks_fake_host_new("second"), .iface = suite.iface, .config = config};

	(void)state;
	assert_int_equal(ks_store_suite_start(&second), -1);
	assert_non_null(strstr(ks_fake_error(second.fake), "another server has this database open"));
	ks_fake_host_free(&second.fake);
}

/* There are secrets in it, whatever the umask of whoever starts the server. */
static void test_files_are_private(void **state)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-guard"};
	char name[160];
	struct stat st;

	(void)state;
	put("/registry/secrets/a/b", "{}");
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		assert_int_equal(stat(name, &st), 0);
		assert_int_equal(st.st_mode & 077, 0);
	}
}

static void test_newer_schema_is_refused(void **state)
{
	sqlite3 *db;

	(void)state;
	ks_store_suite_stop(&suite);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "UPDATE meta SET value=9 WHERE name='schema'", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(ks_store_suite_start(&suite), -1);
	assert_non_null(strstr(ks_fake_error(suite.fake), "schema version 9"));
	assert_non_null(strstr(ks_fake_error(suite.fake), "a newer Keelson"));
}

static void test_foreign_database_is_refused(void **state)
{
	sqlite3 *db;

	(void)state;
	ks_store_suite_stop(&suite);
	remove_file("");
	remove_file("-wal");
	remove_file("-shm");
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE bookmarks(url)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(ks_store_suite_start(&suite), -1);
	assert_non_null(strstr(ks_fake_error(suite.fake), "another program"));
}

static void test_missing_folder_is_named(void **state)
{
	static const char *const nowhere[] = {"file=/nonexistent/folder/x.db", NULL};
	struct ks_store_suite other = {.fake = ks_fake_host_new("other"), .iface = suite.iface, .config = nowhere};

	(void)state;
	assert_int_equal(ks_store_suite_start(&other), -1);
	assert_non_null(strstr(ks_fake_error(other.fake), "/nonexistent/folder/x.db"));
	ks_fake_host_free(&other.fake);
}

static void copy_file(const char *from, const char *to)
{
	char command[400];

	snprintf(command, sizeof(command), "cp %s %s", from, to);
	assert_int_equal(system(command), 0);
}

/* A database that was put back from a copy goes on behind the revisions that were given since. */
static void test_revisions_after_restore(void **state)
{
	char copy[128];
	uint64_t given, current, oldest;
	int result;
	char *text;
	sqlite3 *db;

	(void)state;
	put("/a", "old");
	ks_store_suite_stop(&suite);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
	sqlite3_close(db);
	snprintf(copy, sizeof(copy), "%s.copy", path);
	copy_file(path, copy);
	check(ks_store_suite_start(&suite));
	put("/a", "new");
	given = put("/b", "new");
	ks_store_suite_stop(&suite);
	remove_file("-wal");
	remove_file("-shm");
	copy_file(copy, path);
	check(ks_store_suite_start(&suite));
	revisions(&current, &oldest);
	assert_true(current > given);
	assert_true(oldest > given);
	text = ks_store_suite_get(&suite, "/a", 0, &result);
	assert_string_equal(text, "old");
	free(text);
	assert_true(put("/a", "newer") > current);
}

/* Old rows go, values of living keys stay. */
static void test_history_is_bounded(void **state)
{
	uint64_t current, oldest;
	char key[32], *text;
	sqlite3_stmt *stmt;
	sqlite3 *db;
	int i, result;

	(void)state;
	put("/first", "kept");
	for (i = 0; i < 2000; i++) {
		snprintf(key, sizeof(key), "/k%d", i % 10);
		put(key, i % 7 ? "value" : "other");
	}
	revisions(&current, &oldest);
	assert_true(current - oldest <= 331);
	text = ks_store_suite_get(&suite, "/first", 0, &result);
	assert_string_equal(text, "kept");
	free(text);
	ks_store_suite_stop(&suite);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM log", -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_true(sqlite3_column_int(stmt, 0) < 400);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

/* The write-ahead log's file is used again and again: it does not grow with what is written. */
static void test_wal_is_reused(void **state)
{
	static char big[20001];
	char name[160];
	struct stat st;
	int i;

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	for (i = 0; i < 1500; i++)
		put("/big", big);
	snprintf(name, sizeof(name), "%s-wal", path);
	assert_int_equal(stat(name, &st), 0);
	assert_true(st.st_size < 12 << 20);
}

/* -- a disk whose syncs fail: the methods of SQLite's own files, with another xSync ------------------------------------ */

static int (*real_open)(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags);
static int (*real_sync)(sqlite3_file *file, int flags);
static sqlite3_io_methods broken_methods;
static int sync_fails;

static int broken_sync(sqlite3_file *file, int flags)
{
	return __atomic_load_n(&sync_fails, __ATOMIC_RELAXED) ? SQLITE_IOERR_FSYNC : real_sync(file, flags);
}

static int broken_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
	int rc = real_open(vfs, name, file, flags, out_flags);

	if (rc == SQLITE_OK && (flags & SQLITE_OPEN_WAL)) {
		broken_methods = *file->pMethods;
		real_sync = broken_methods.xSync;
		broken_methods.xSync = broken_sync;
		file->pMethods = &broken_methods;
	}
	return rc;
}

static int broken_setup(void **state)
{
	static sqlite3_vfs broken;

	broken = *sqlite3_vfs_find(NULL);
	broken.zName = "broken";
	broken.pNext = NULL;
	real_open = broken.xOpen;
	broken.xOpen = broken_open;
	sqlite3_vfs_register(&broken, 1);
	return setup(state);
}

static int broken_teardown(void **state)
{
	int failed;

	__atomic_store_n(&sync_fails, 0, __ATOMIC_RELAXED);
	failed = teardown(state);
	sqlite3_vfs_unregister(sqlite3_vfs_find("broken"));
	return failed;
}

/* A sync that failed is not tried again: the write is uncertain, later ones are refused, and the server must be started again. */
static void test_failed_sync_ends_writing(void **state)
{
	struct ks_store_write_result r;
	uint64_t current, oldest, before = put("/a", "before");
	int result;
	char *text;

	(void)state;
	__atomic_store_n(&sync_fails, 1, __ATOMIC_RELAXED);
	assert_int_equal(ks_store_suite_write(&suite, "/a", "lost", KS_STORE_EXPECT_ANY, 0, &r), KS_ERR_UNCERTAIN);
	__atomic_store_n(&sync_fails, 0, __ATOMIC_RELAXED);
	assert_int_equal(ks_store_suite_write(&suite, "/b", "x", KS_STORE_EXPECT_ANY, 0, &r), KS_ERR_UNAVAILABLE);
	assert_non_null(strstr(ks_fake_log(suite.fake), "nothing more is written"));
	text = ks_store_suite_get(&suite, "/a", 0, &result);
	assert_string_equal(text, "before");
	free(text);
	revisions(&current, &oldest);
	assert_int_equal(current, before);
	ks_store_suite_stop(&suite);
	check(ks_store_suite_start(&suite));
	put("/b", "again");
}

static void test_index_against_a_list(void **state)
{
	enum { N = 5000 };
	static uint64_t there[N];
	struct sqlite_index index;
	char key[32];
	unsigned i, k, random = 7;

	(void)state;
	memset(there, 0, sizeof(there));
	assert_int_equal(ks_sqlite_index_init(&index), KS_DONE);
	for (i = 1; i < 40000; i++) {
		struct sqlite_hash h;
		const struct sqlite_entry *e;

		random = random * 1103515245 + 12345;
		k = (random >> 8) % N;
		snprintf(key, sizeof(key), "/registry/pods/%u", k);
		h = ks_sqlite_index_hash(&index, (struct ks_view){key, strlen(key)});
		e = ks_sqlite_index_find(&index, h);
		assert_int_equal(e ? e->revision : 0, there[k]);
		if (random & 64) {
			assert_int_equal(ks_sqlite_index_set(&index, h, i, 1), KS_DONE);
			there[k] = i;
		} else {
			ks_sqlite_index_remove(&index, h);
			there[k] = 0;
		}
	}
	for (i = k = 0; i < N; i++)
		k += there[i] != 0;
	assert_int_equal(index.n, k);
	ks_sqlite_index_fini(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index_against_a_list),
		cmocka_unit_test_setup_teardown(test_random_history, setup, teardown),
		cmocka_unit_test_setup_teardown(test_race, setup, teardown),
		cmocka_unit_test_setup_teardown(test_snapshot, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lease, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lease_after_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_second_server_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files_are_private, setup, teardown),
		cmocka_unit_test_setup_teardown(test_newer_schema_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_foreign_database_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missing_folder_is_named, setup, teardown),
		cmocka_unit_test_setup_teardown(test_revisions_after_restore, setup, teardown),
		cmocka_unit_test_setup_teardown(test_history_is_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wal_is_reused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_sync_ends_writing, broken_setup, broken_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
