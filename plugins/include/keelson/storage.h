/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * keelson/storage.h: where objects are kept.
 *
 * The model is etcd's. Keys and values are bytes. The store has one revision
 * counter; every write that changes something takes the next revision, and the
 * order of revisions is the order of events. Revisions never go back, not after a
 * restart or a restore; they start above 0.
 *
 * A write compares the key's last modified revision and swaps; a lost race is not
 * an error: the result says so and carries the value that stands there.
 *
 * A store declares KS_THREADS_CONCURRENT and KS_CALLS_INLINE: what takes time it does on threads
 * of its own, and answers KS_PENDING.
 */
#ifndef KEELSON_STORAGE_H
#define KEELSON_STORAGE_H

#include <keelson/host.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KS_STORE_VERSION 1

/* ks_interface.flags */
enum ks_store_flag {
	KS_STORE_SINGLE_WRITER = 1 << 0, /* nobody else writes: the cache is always current */
	KS_STORE_NATIVE_TTL = 1 << 1,    /* expires keys itself; otherwise the host deletes them */
	KS_STORE_DURABLE = 1 << 2        /* an acknowledged write survives a crash */
};

struct ks_store_kv {
	struct ks_view key;
	struct ks_host_bytes *value;      /* NULL in deletions. A reference for the receiver unless said otherwise */
	uint64_t create_revision, mod_revision;
	uint64_t lease_until_ms;          /* unix milliseconds when it expires; 0: never */
};

enum ks_store_expect {
	KS_STORE_EXPECT_ANY = 0,      /* whatever is there */
	KS_STORE_EXPECT_ABSENT = 1,   /* the key must not exist */
	KS_STORE_EXPECT_REVISION = 2  /* its mod_revision must be `expected` */
};

struct ks_store_write {
	uint32_t size;
	uint32_t expect;              /* enum ks_store_expect */
	uint64_t expected;
	struct ks_view key;           /* valid until the operation completes */
	struct ks_host_bytes *value;  /* NULL: delete. The store takes its own reference if it keeps it */
	uint64_t lease_until_ms;
};

enum ks_store_outcome {
	KS_STORE_UNKNOWN = 0,         /* never a valid answer of KS_DONE */
	KS_STORE_COMMITTED = 1,
	KS_STORE_LOST_RACE = 2,       /* expectation not met; `current` is what is there (value NULL: nothing) */
	KS_STORE_NOT_FOUND = 3        /* delete of a key that isn't there, with EXPECT_ANY */
};

struct ks_store_write_result {
	uint32_t size;
	uint32_t outcome;             /* enum ks_store_outcome */
	uint64_t revision;            /* of the commit; of the store now, otherwise */
	struct ks_store_kv current;   /* LOST_RACE. Its key is a view of the request's */
};

struct ks_store_range {
	uint32_t size;
	uint32_t keys_only;
	struct ks_view prefix;
	struct ks_view start;         /* first key wanted (inclusive), within the prefix; empty: from the beginning */
	uint64_t limit;               /* 0: all */
	uint64_t revision;            /* 0: now */
	/* Called for each key in order, on any one thread, before the operation completes. The value's reference is the receiver's. Nonzero: stop. */
	int (*emit)(void *arg, const struct ks_store_kv *kv);
	void *arg;
};

struct ks_store_range_result {
	uint32_t size;
	uint32_t more;                /* 1: the limit cut it */
	uint64_t revision;            /* of the store when it was read (or the revision asked for) */
	uint64_t count;               /* keys in prefix from start; only when cheap, else 0 */
};

struct ks_store_event {
	uint32_t type;                /* KS_EVENT_ADDED (create), KS_EVENT_MODIFIED, KS_EVENT_DELETED */
	uint32_t reserved;
	uint64_t revision;
	struct ks_store_kv kv;        /* borrowed: valid during the call; take a reference to keep the value */
};

struct ks_store_watch {
	uint32_t size;
	uint32_t reserved;
	struct ks_view prefix;        /* copied */
	uint64_t from_revision;       /* first revision wanted (inclusive), 0: the next one; KS_ERR_COMPACTED when that is gone */
	/* Batches in revision order, every revision once, from one thread of the store at a time. `progress` is the revision up to which all is
	 * known;
	 * n may be 0 (only progress). Returns the number of further events it can take now; when 0, the store waits for `watch_credit`. */
	uint64_t (*events)(void *arg, const struct ks_store_event *events, size_t n, uint64_t progress);
	/* The watch is over: it fell behind (KS_ERR_COMPACTED) or the store failed. Nothing follows. */
	void (*failed)(void *arg, int result);
	void *arg;
};

struct ks_store_ops {
	uint32_t size;
	/* The current value, or that at `revision`. found_r: 1 or 0. */
	int (*get)(void *self, struct ks_op *op, struct ks_view key, uint64_t revision, int *found_r, struct ks_store_kv *kv_r);
	int (*range)(void *self, struct ks_op *op, const struct ks_store_range *range, struct ks_store_range_result *result_r);
	/* Durable before it completes, if the store is durable. KS_ERR_UNCERTAIN when it can't be told whether it happened. Structs live until
	 * then. */
	int (*write)(void *self, struct ks_op *op, const struct ks_store_write *write, struct ks_store_write_result *result_r);
	/* Starts at once; events may come before it returns. KS_DONE or an error. */
	int (*watch)(void *self, const struct ks_store_watch *watch, void **watch_r);
	/* The receiver can take `n` more events. Any thread. */
	void (*watch_credit)(void *self, void *watch, uint64_t n);
	/* No callback runs any more when it returns. Not from within a callback. */
	void (*watch_close)(void *self, void *watch);
	/* Forgets history before `revision`; reads and watches below it get KS_ERR_COMPACTED. */
	int (*compact)(void *self, struct ks_op *op, uint64_t revision);
	/* The store's revision now, at once; the oldest that can be read or watched from. */
	int (*revision)(void *self, uint64_t *current_r, uint64_t *oldest_r);
};

#ifdef __cplusplus
}
#endif

#endif
