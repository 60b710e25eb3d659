/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "plugins/host/op.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/util/log.h"

enum { IDLE, ACTIVE, COMPLETED };

_Static_assert(sizeof(struct ks_op) <= 184, "the storage router keeps one in every write");

struct ks_op_pin {
	struct ks_op_pin *next;
	void (*release)(void *what);
	void *what;
};

/* Who waits without a loop is rare (start, appliers): one lock for all of them. */
static pthread_mutex_t wait_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wait_over = PTHREAD_COND_INITIALIZER;

void ks_op_init(struct ks_op *op, struct ks_loop *loop, uint64_t deadline_ns, const char *audit_id)
{
	memset(op, 0, sizeof(*op));
	ks_arena_init(&op->arena, KS_OP_ARENA_MOST);
	op->loop = loop;
	op->deadline_ns = deadline_ns;
	op->audit_id = audit_id ? audit_id : "";
}

void ks_op_fini(struct ks_op *op)
{
	for (struct ks_op_pin *pin = op->pins; pin; pin = pin->next)
		pin->release(pin->what);
	op->pins = NULL;
	ks_arena_fini(&op->arena);
}

void ks_op_cancel(struct ks_op *op)
{
	atomic_store_explicit(&op->cancelled, true, memory_order_relaxed);
}

int ks_op_fail(struct ks_op *op, int code, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	op->error = ks_arena_dup(&op->arena, text, strlen(text));
	return code;
}

bool ks_op_hold(struct ks_op *op, void (*release)(void *what), void *what)
{
	struct ks_op_pin *pin = ks_arena_alloc(&op->arena, sizeof(*pin));

	if (!pin) {
		release(what);
		return false;
	}
	*pin = (struct ks_op_pin){op->pins, release, what};
	op->pins = pin;
	return true;
}

static int close_call(struct ks_op *op, int result)
{
	atomic_store_explicit(&op->state, IDLE, memory_order_relaxed);
	return op->finish ? op->finish(op, result) : result;
}

static void run_done(struct ks_task *task)
{
	struct ks_op *op = (struct ks_op *)((char *)task - offsetof(struct ks_op, task));

	op->done(op, close_call(op, op->result));
}

void ks_op_begin(struct ks_op *op)
{
	op->error = NULL;
	op->task.run = run_done;
	atomic_store_explicit(&op->state, ACTIVE, memory_order_release);
}

int ks_op_end(struct ks_op *op, int result)
{
	uint8_t active = ACTIVE;

	if (result == KS_PENDING)
		return KS_PENDING;
	if (atomic_compare_exchange_strong(&op->state, &active, IDLE))
		return close_call(op, result);
	ks_log(KS_LOG_ERROR, "plugins", "a plugin completed an operation and answered %d, too; the completion counts", result);
	return KS_PENDING;
}

/* The call that was pending is answered now; false: none was. */
static bool end_pending(struct ks_op *op, int result)
{
	uint8_t active = ACTIVE;

	if (!atomic_compare_exchange_strong(&op->state, &active, COMPLETED)) {
		ks_log(KS_LOG_ERROR, "plugins", "a plugin completed an operation that was not pending; ignored");
		return false;
	}
	op->result = result;
	return true;
}

static void wake_waiter(struct ks_op *op, int result)
{
	pthread_mutex_lock(&wait_lock);
	if (end_pending(op, result))
		pthread_cond_broadcast(&wait_over);
	pthread_mutex_unlock(&wait_lock);
}

void ks_op_complete(struct ks_op *op, int result)
{
	if (!op->loop)
		wake_waiter(op, result);
	else if (end_pending(op, result))
		ks_loop_post(op->loop, &op->task);
}

int ks_op_wait(struct ks_op *op, int result)
{
	if (result != KS_PENDING)
		return result;
	pthread_mutex_lock(&wait_lock);
	while (atomic_load(&op->state) != COMPLETED)
		pthread_cond_wait(&wait_over, &wait_lock);
	pthread_mutex_unlock(&wait_lock);
	return close_call(op, op->result);
}
