/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Durable creates through the SQLite store at several concurrencies, beside a plain loop of
 * single transactions on the same disk. Figures, one JSON line each; nothing is asserted.
 *
 *     bench-store [FOLDER [SECONDS]]
 */
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/store-suite.h"

#define VALUE_BYTES 2048

extern const struct ks_plugin ks_plugin_sqlite;

static char folder[256], path_pair[300], value[VALUE_BYTES + 1];
static const char *config[] = {path_pair, NULL};
static struct ks_store_suite suite;
static _Atomic unsigned next_key;
static _Atomic unsigned done;
static _Atomic int ending;
static struct ks_host_bytes *bytes;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* One slot of concurrency: its next write starts when the last one has completed. */
struct slot {
	struct ks_op *op;
	struct ks_store_write write;
	struct ks_store_write_result result;
	char key[80];
	int failed;
};

static void slot_next(struct slot *s)
{
	unsigned n = atomic_fetch_add(&next_key, 1);

	snprintf(s->key, sizeof(s->key), "/registry/configmaps/namespace-%u/some-longer-name-%08u", n % 50, n);
	s->write = (struct ks_store_write){.size = sizeof(s->write), .expect = KS_STORE_EXPECT_ABSENT, .key = {s->key, strlen(s->key)}, .value = bytes};
	s->result = (struct ks_store_write_result){.size = sizeof(s->result)};
	if (((const struct ks_store_ops *)suite.iface->ops)->write(suite.self, s->op, &s->write, &s->result) != KS_PENDING)
		s->failed = 1;
}

static _Atomic int running;

static void slot_done(struct ks_op *op, int result, void *arg)
{
	struct slot *s = arg;

	(void)op;
	s->failed |= result != KS_DONE || s->result.outcome != KS_STORE_COMMITTED;
	atomic_fetch_add(&done, 1);
	if (s->failed || atomic_load(&ending))
		atomic_fetch_sub(&running, 1);
	else
		slot_next(s);
}

static double creates(unsigned concurrency, double seconds)
{
	struct slot *slots = calloc(concurrency, sizeof(*slots));
	double begin = now(), rate;
	unsigned i;

	if (!slots)
		return 0;
	atomic_store(&done, 0);
	atomic_store(&ending, 0);
	atomic_store(&running, (int)concurrency);
	for (i = 0; i < concurrency; i++) {
		slots[i].op = ks_fake_op_new(suite.fake);
		ks_fake_op_on_complete(slots[i].op, slot_done, &slots[i]);
		slot_next(&slots[i]);
	}
	usleep((useconds_t)(seconds * 1e6));
	rate = atomic_load(&done) / (now() - begin);
	atomic_store(&ending, 1);
	while (atomic_load(&running))
		usleep(1000);
	for (i = 0; i < concurrency; i++)
		ks_fake_op_free(&slots[i].op);
	free(slots);
	return rate;
}

static double plain_loop(double seconds)
{
	char name[320];
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	double begin;
	unsigned n = 0;

	snprintf(name, sizeof(name), "%s/plain.db", folder);
	if (sqlite3_open(name, &db) != SQLITE_OK ||
	    sqlite3_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t(id INTEGER PRIMARY KEY, value BLOB)", NULL, NULL, NULL) ||
	    sqlite3_prepare_v2(db, "INSERT INTO t(value) VALUES(?1)", -1, &stmt, NULL)) {
		sqlite3_close(db);
		return 0;
	}
	begin = now();
	while (now() - begin < seconds) {
		sqlite3_bind_blob(stmt, 1, value, VALUE_BYTES, SQLITE_STATIC);
		sqlite3_step(stmt);
		sqlite3_reset(stmt);
		n++;
	}
	begin = n / (now() - begin);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return begin;
}

static long resident_kib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages = 0, resident = 0;

	if (f && fscanf(f, "%ld %ld", &pages, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return resident * 4;
}

static void clean(void)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command))
		fprintf(stderr, "%s stays\n", folder);
}

int main(int argc, char **argv)
{
	static const unsigned concurrencies[] = {1, 16, 64, 256};
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 2.0, plain, rate, begin;
	size_t i;

	snprintf(folder, sizeof(folder), "%s/keelson-bench-XXXXXX", argc > 1 ? argv[1] : "/tmp");
	if (!mkdtemp(folder))
		return 1;
	memset(value, 'x', VALUE_BYTES);
	plain = plain_loop(seconds);
	printf("{\"workload\":\"plain single commits\",\"per_second\":%.0f}\n", plain);
	snprintf(path_pair, sizeof(path_pair), "file=%s/store.db", folder);
	suite = (struct ks_store_suite){.fake = ks_fake_host_new("bench"), .config = config};
	suite.iface = ks_fake_interface(&ks_plugin_sqlite, KS_KIND_STORE);
	begin = now();
	if (ks_store_suite_start(&suite)) {
		fprintf(stderr, "%s\n", suite.failure);
		return 1;
	}
	printf("{\"workload\":\"start, empty\",\"milliseconds\":%.1f,\"resident_kib\":%ld}\n", (now() - begin) * 1e3, resident_kib());
	bytes = ks_store_suite_bytes(&suite, value, VALUE_BYTES);
	for (i = 0; i < sizeof(concurrencies) / sizeof(concurrencies[0]); i++) {
		rate = creates(concurrencies[i], seconds);
		printf("{\"workload\":\"durable creates\",\"concurrency\":%u,\"per_second\":%.0f,\"of_plain\":%.2f,\"keys\":%u,\"resident_kib\":%ld}\n",
			concurrencies[i], rate, plain > 0 ? rate / plain : 0, atomic_load(&next_key), resident_kib());
	}
	ks_fake_host_table(suite.fake)->bytes_unref(bytes);
	ks_store_suite_stop(&suite);
	begin = now();
	if (ks_store_suite_start(&suite) == 0)
		printf("{\"workload\":\"start\",\"keys\":%u,\"milliseconds\":%.1f,\"resident_kib\":%ld}\n", atomic_load(&next_key), (now() - begin) * 1e3,
			resident_kib());
	ks_store_suite_stop(&suite);
	ks_fake_host_free(&suite.fake);
	clean();
	return 0;
}
