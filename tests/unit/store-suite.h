/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * What every store must do, run against any plugin of that kind: each function drives the
 * started instance, compares with a small reference model and returns 0, or -1 with words
 * in `failure`.
 */
#ifndef KS_TESTS_STORE_SUITE_H
#define KS_TESTS_STORE_SUITE_H

#include <keelson/storage.h>

#include "tests/unit/fake-host.h"

struct ks_store_suite {
	struct ks_fake_host *fake;
	const struct ks_interface *iface;
	const char *const *config; /* for a restart */
	void *self;
	char failure[512];
};

int ks_store_suite_start(struct ks_store_suite *suite);
void ks_store_suite_stop(struct ks_store_suite *suite);

/* A random history of writes, gets, ranges, compactions, watches and, when the store is durable, restarts. Revisions may start anywhere; the store must be empty. */
int ks_store_suite_random(struct ks_store_suite *suite, uint64_t seed, unsigned steps);
/* Threads that all increase the same counters by compare and swap: nothing is lost, and a watch sees each revision once. */
int ks_store_suite_race(struct ks_store_suite *suite, unsigned threads, unsigned rounds);
/* A range of many keys is of one revision, whatever is written meanwhile. */
int ks_store_suite_snapshot(struct ks_store_suite *suite, unsigned keys);
/* Keys expire, and only those that still have the lease. */
int ks_store_suite_lease(struct ks_store_suite *suite);
/* The same over a restart of a durable store, also for what ended while it was away. */
int ks_store_suite_lease_restart(struct ks_store_suite *suite);

/* -- single calls, for other tests ----------------------------------------------------------------------------------- */

struct ks_host_bytes *ks_store_suite_bytes(struct ks_store_suite *suite, const char *p, size_t n);
/* Waits. `value` NULL deletes. result_r->current.value is the caller's reference. The result of enum ks_result. */
int ks_store_suite_write(struct ks_store_suite *suite, const char *key, const char *value, uint32_t expect, uint64_t expected,
	struct ks_store_write_result *result_r);
/* A copy of the value to be freed, NULL when there is none; *result_r tells of failures. */
char *ks_store_suite_get(struct ks_store_suite *suite, const char *key, uint64_t revision, int *result_r);

#endif
