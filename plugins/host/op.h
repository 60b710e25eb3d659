/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * ks_op: one call of a plugin, from the asking to the answer.
 *
 * It belongs to whoever asks, mostly embedded in a request or a store call, and
 * must stay where it is until the answer came, cancelled or not: that is what pins
 * arena, plugin instance and whatever the call's structs point to. One call at a
 * time; it can be used for the next call, and keeps what was allocated from it
 * until ks_op_fini.
 *
 *     ks_op_init(&op, loop, deadline, audit_id);
 *     op.done = ...; op.arg = ...;
 *     result = ks_authn_call(instance, &op, &request, &answer);   // plugins/host/host.h
 *     if (result != KS_PENDING) ... it is over, done() will not be called
 *     else ... done(&op, result) runs on the loop, later, exactly once
 *
 * While the answer is pending the arena is the plugin's: nobody else allocates from it.
 */
#ifndef KS_PLUGINS_OP_H
#define KS_PLUGINS_OP_H

#include <keelson/plugin.h>

#include "core/util/arena.h"
#include "core/util/loop.h"

struct ks_instance;
struct ks_op_pin;

/* At most 184 bytes: the router keeps one in every write. */
struct ks_op {
	/* the asker's */
	struct ks_arena arena;      /* host->op_alloc; results of plugins live here */
	struct ks_loop *loop;       /* where done runs. NULL: no loop, the asker waits with ks_op_wait */
	void (*done)(struct ks_op *op, int result);
	void *arg;
	uint64_t deadline_ns;       /* CLOCK_MONOTONIC; 0: none */
	const char *audit_id;       /* "" when none; outlives the operation */
	const char *error;          /* words of a negative result, or NULL */
	uint16_t nesting;           /* 0: a client's; of a plugin's write: one more than of the operation that led to it */
	bool edited;                /* a mutation changed the object */
	/* private */
	_Atomic uint8_t state;
	_Atomic bool cancelled;
	int result;
	int (*finish)(struct ks_op *op, int result); /* the host's last look at a result, on the asker's thread */
	struct ks_task task;
	struct ks_instance *instance;
	const void *call;           /* the arguments, by kind */
	struct ks_op *next;         /* in a queue of the instance or the pool */
	void *scratch, *edits;
	void *pool_share;           /* of a blocking call */
	struct ks_op_pin *pins;
};

/* `arena_limit` of op->arena is KS_OP_ARENA_MOST. */
enum { KS_OP_ARENA_MOST = 64 << 20 };
void ks_op_init(struct ks_op *op, struct ks_loop *loop, uint64_t deadline_ns, const char *audit_id);
/* Frees arena and pins. Not while a call is pending. */
void ks_op_fini(struct ks_op *op);
/* The asker doesn't want the answer any more. Only a hint for the plugin: done still comes. Any thread. */
void ks_op_cancel(struct ks_op *op);
/* Sets the words of a failure in the operation's memory; returns `code`. */
int ks_op_fail(struct ks_op *op, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/*
 * For those who call a plugin's function themselves (the storage router, which must not depend on the host):
 *
 *     ks_op_begin(&op);
 *     result = ks_op_end(&op, store->ops->get(store->self, &op, ...));
 *
 * ks_op_end returns KS_PENDING (done is posted, once) or the final result.
 */
void ks_op_begin(struct ks_op *op);
int ks_op_end(struct ks_op *op, int result) __attribute__((warn_unused_result));
/* On a thread without a loop (op->loop NULL): waits until the pending call is over and returns its result; any other `result` comes back as it is. */
int ks_op_wait(struct ks_op *op, int result);

/* host->complete, for the functions of struct ks_host. */
void ks_op_complete(struct ks_op *op, int result);

/* Calls release(what) in ks_op_fini. False (and released at once) when out of memory. */
bool ks_op_hold(struct ks_op *op, void (*release)(void *what), void *what) __attribute__((warn_unused_result));

#endif
