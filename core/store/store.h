/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The storage router: which store plugin keeps which resource, under which key,
 * and one way to write to any of them.
 *
 * Keys are kube-apiserver's: /registry/<prefix>/[<namespace>/]<name>, prefix from the
 * schema tables (ks_resource.storage_prefix), so that a store can be read by either.
 */
#ifndef KS_STORE_STORE_H
#define KS_STORE_STORE_H

#include <stdint.h>

#include "core/api/schema.h"
#include "core/util/buf.h"
#include "core/util/error.h"
#include "core/util/loop.h"

struct ks_store_ops;
struct ks_store_range;
struct ks_store_range_result;

/* Every key begins with this. */
#define KS_STORE_ROOT "/registry/"

/* A started store plugin, as the router and the cache see it. */
struct ks_store {
	const char *name; /* of the instance */
	void *self;
	const struct ks_store_ops *ops;
	uint32_t flags; /* enum ks_store_flag */
	size_t scratch_size; /* of its interface: zeroed memory that each of its operations gets */
};

struct ks_router;

/* The first entry is the default. `resources` of each: "*", "events" (of any group), "deployments.apps", "*.apps"; the last entry that matches wins.
 * Everything is copied. */
struct ks_router_entry {
	struct ks_store store;
	const char *const *resources;
	size_t n_resources;
};
struct ks_router *ks_router_new(const struct ks_router_entry *entries, size_t n, struct ks_error *err);
void ks_router_free(struct ks_router **router);
size_t ks_router_n_stores(const struct ks_router *router);
const struct ks_store *ks_router_store(const struct ks_router *router, size_t index);
/* The store that keeps a resource (index into the schema, of its storage resource). Never NULL. */
const struct ks_store *ks_router_find(const struct ks_router *router, const struct ks_schema *schema, uint16_t resource);

/* Appends the key of an object; `name` empty: the prefix of a namespace, `ns` empty too: of the resource (with its closing slash). */
void ks_store_key(struct ks_buf *out, const struct ks_schema *schema, uint16_t resource, struct ks_str ns, struct ks_str name);

/* -- writes ---------------------------------------------------------------------------------------------------- */

enum ks_write_outcome {
	KS_WRITE_COMMITTED = 1,
	KS_WRITE_LOST_RACE,
	KS_WRITE_NOT_FOUND,
	KS_WRITE_FAILED /* see result: the store is not available, or can't tell */
};

/* One write on its way. The caller fills the first part; embedded in the request; lives until `done`. */
struct ks_store_call {
	/* in */
	struct ks_loop *loop; /* where `done` runs; the same worker that started it */
	struct ks_buf key; /* owned by the caller */
	struct ks_bytes *value; /* NULL: delete; borrowed */
	uint64_t expected; /* mod revision that must stand; 0: must not exist; UINT64_MAX: whatever */
	uint64_t lease_until_ms;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: 60 s from now. Not waited for: the store is told, and answers */
	const char *audit_id; /* NULL: none; outlives the call */
	void (*done)(struct ks_store_call *call);
	void *arg;
	/* out */
	int outcome; /* enum ks_write_outcome */
	int result; /* enum ks_result when FAILED */
	uint64_t revision; /* of the commit */
	struct ks_bytes *current; /* LOST_RACE: what stands there (the caller's reference), NULL: nothing */
	uint64_t current_revision;
	char error[256]; /* words of a failure; "" when there are none */
	/* private */
	struct ks_task task;
	struct ks_timer timer;
	_Alignas(16) void *private_[82];
};
/* Starts the write. `done` is posted to the loop exactly once, never before this returns. An uncertain outcome is resolved by
 * reading again (the value written is compared) before `done`. */
void ks_store_write_start(const struct ks_store *store, struct ks_store_call *call);

/* -- reads ----------------------------------------------------------------------------------------------------- */

/* A read of one key that the cache can't answer (a revision of the past, or a live one). Life as of ks_store_call. */
struct ks_store_read {
	/* in */
	struct ks_loop *loop;
	struct ks_buf key; /* owned by the caller */
	uint64_t revision; /* 0: now */
	uint64_t deadline_ns; /* as above */
	const char *audit_id;
	void (*done)(struct ks_store_read *read);
	void *arg;
	/* out */
	int result; /* 0, or negative enum ks_result */
	bool found;
	struct ks_bytes *value; /* the caller's reference */
	uint64_t mod_revision, create_revision, lease_until_ms;
	char error[256];
	/* private */
	struct ks_task task;
	void *private_[40];
};
void ks_store_read_start(const struct ks_store *store, struct ks_store_read *read);

/* A part of the keys in order, of the past (continue tokens older than the cache's history) or live. Items are collected; bounded by `limit`. */
struct ks_store_item {
	struct ks_str key;
	struct ks_bytes *value;
	uint64_t mod_revision, create_revision, lease_until_ms;
};
struct ks_store_list {
	/* in */
	struct ks_loop *loop;
	struct ks_buf prefix, start; /* owned by the caller; start: first key wanted, empty: the prefix's first */
	uint64_t limit; /* 0: all */
	uint64_t revision; /* 0: now */
	uint64_t deadline_ns; /* as above */
	const char *audit_id;
	void (*done)(struct ks_store_list *list);
	void *arg;
	/* out */
	int result; /* 0, or negative enum ks_result (KS_ERR_COMPACTED: 410) */
	struct ks_store_item *items; /* with their keys and values, until ks_store_list_fini */
	size_t n;
	bool more;
	uint64_t read_revision, count;
	char error[256];
	/* private */
	struct ks_task task;
	size_t cap;
	void *private_[64];
};
void ks_store_list_start(const struct ks_store *store, struct ks_store_list *list);
void ks_store_list_fini(struct ks_store_list *list);

/* Waits for a range, on a thread without a loop. 0, or negative enum ks_result with err. */
int ks_store_range_wait(const struct ks_store *store, const struct ks_store_range *range, struct ks_store_range_result *result_r,
	struct ks_error *err) __attribute__((warn_unused_result));

#endif
