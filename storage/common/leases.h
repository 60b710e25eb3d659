/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys that expire, ordered by time. An entry names the revision that set the lease:
 * when the key has moved on since, the entry is stale and its owner drops it.
 * Not locked: belongs to one thread, or to its owner's lock.
 */
#ifndef KS_STORAGE_LEASES_H
#define KS_STORAGE_LEASES_H

#include <keelson/storage.h>
#include <stdint.h>

struct ks_lease {
	uint64_t until_ms; /* unix milliseconds */
	uint64_t revision;
	size_t key_n;
	char key[];
};

struct ks_leases {
	struct ks_lease **heap; /* the earliest first */
	size_t n, size;
};

/* KS_DONE or KS_ERR_NOMEM. */
int ks_leases_add(struct ks_leases *leases, struct ks_view key, uint64_t revision, uint64_t until_ms) __attribute__((warn_unused_result));
/* The earliest time, or UINT64_MAX. */
uint64_t ks_leases_next_ms(const struct ks_leases *leases);
/* Takes the earliest entry when it is due, else NULL. The caller frees it with free(). */
struct ks_lease *ks_leases_take(struct ks_leases *leases, uint64_t now_ms);
void ks_leases_fini(struct ks_leases *leases);

/* Unix milliseconds. */
uint64_t ks_leases_now_ms(void);

#endif
