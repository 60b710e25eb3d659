/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * One write. What the store can't tell ("uncertain": the connection broke, the disk
 * failed while it was being written) is found out by reading the key again: either our value
 * stands there, or what stood there before (then the write is tried again: the
 * comparison keeps it from happening twice), or somebody else's.
 */
#include "core/store/internal.h"

enum { READS_MOST = 6, WRITES_MOST = 3, FIRST_PAUSE_MS = 20 };

struct state {
	const struct ks_store *store;
	struct ks_op op;
	struct ks_store_write write;
	struct ks_store_write_result result;
	struct ks_store_kv kv;
	int found;
	int answer; /* of a call that answered at once, until the task runs */
	uint8_t writes, reads;
	bool reading;
	_Alignas(16) char first_memory[192]; /* of the operation: room for what most stores need */
};

_Static_assert(sizeof(struct state) <= sizeof(((struct ks_store_call *)0)->private_), "the private part of a call holds its state");

static struct state *state_of(struct ks_store_call *call)
{
	return (struct state *)call->private_;
}

static void finish(struct ks_store_call *call, int outcome, int result)
{
	struct state *s = state_of(call);

	call->outcome = outcome;
	call->result = result;
	if (outcome == KS_WRITE_FAILED)
		ks_store_op_words(&s->op, call->error, sizeof(call->error));
	ks_op_fini(&s->op);
	call->done(call);
}

/* An answer that came at once waits its turn on the loop, too. */
static void answer_later(struct ks_store_call *call, int result)
{
	state_of(call)->answer = result;
	ks_loop_post(call->loop, &call->task);
}

static void settle(struct ks_store_call *call, int result)
{
	result = ks_op_end(&state_of(call)->op, result);
	if (result != KS_PENDING)
		answer_later(call, result);
}

static void start_write(struct ks_store_call *call)
{
	struct state *s = state_of(call);

	s->reading = false;
	s->writes++;
	s->write = (struct ks_store_write){.size = sizeof(s->write),
		.expect = KS_STORE_EXPECT_REVISION,
		.expected = call->expected,
		.key = ks_store_view(&call->key),
		.value = ks_store_host_bytes(call->value),
		.lease_until_ms = call->lease_until_ms};
	if (call->expected == 0)
		s->write.expect = KS_STORE_EXPECT_ABSENT;
	else if (call->expected == UINT64_MAX)
		s->write.expect = KS_STORE_EXPECT_ANY;
	s->result = (struct ks_store_write_result){.size = sizeof(s->result)};
	if (ks_store_op_begin(&s->op, s->store))
		answer_later(call, KS_ERR_NOMEM);
	else
		settle(call, s->store->ops->write(s->store->self, &s->op, &s->write, &s->result));
}

static void start_read(struct ks_store_call *call)
{
	struct state *s = state_of(call);

	s->reading = true;
	s->reads++;
	s->found = 0;
	s->kv = (struct ks_store_kv){0};
	if (ks_store_op_begin(&s->op, s->store))
		answer_later(call, KS_ERR_NOMEM);
	else
		settle(call, s->store->ops->get(s->store->self, &s->op, s->write.key, 0, &s->found, &s->kv));
}

static void pause_over(struct ks_timer *timer)
{
	start_read((struct ks_store_call *)((char *)timer - offsetof(struct ks_store_call, timer)));
}

/* The store may just be coming back: a few times, with growing pauses. */
static void read_again(struct ks_store_call *call)
{
	struct state *s = state_of(call);

	if (s->reads >= READS_MOST || ks_monotonic_ns() >= s->op.deadline_ns) {
		finish(call, KS_WRITE_FAILED, KS_ERR_UNCERTAIN);
		return;
	}
	call->timer = (struct ks_timer){.fire = pause_over};
	ks_timer_start(call->loop, &call->timer, (uint64_t)FIRST_PAUSE_MS << s->reads);
}

/* Nothing has changed: the write did not happen. */
static void write_again(struct ks_store_call *call)
{
	struct state *s = state_of(call);

	ks_bytes_unref(ks_store_bytes(s->kv.value));
	if (s->writes >= WRITES_MOST || ks_monotonic_ns() >= s->op.deadline_ns) {
		finish(call, KS_WRITE_FAILED, KS_ERR_UNAVAILABLE);
		return;
	}
	start_write(call);
}

static bool is_ours(const struct ks_store_call *call, const struct ks_bytes *value)
{
	return call->value && (value == call->value || (value->len == call->value->len && memcmp(value->data, call->value->data, value->len) == 0));
}

static void committed(struct ks_store_call *call, uint64_t revision)
{
	call->revision = revision;
	finish(call, KS_WRITE_COMMITTED, 0);
}

/* The key was read again and is not there. */
static void resolve_absent(struct ks_store_call *call)
{
	struct state *s = state_of(call);
	uint64_t now = 0, oldest = 0;

	if (!call->value) {
		if (s->store->ops->revision(s->store->self, &now, &oldest) != KS_DONE)
			read_again(call);
		else
			committed(call, now);
		return;
	}
	if (call->expected == 0 || call->expected == UINT64_MAX)
		write_again(call);
	else
		finish(call, KS_WRITE_LOST_RACE, 0);
}

static void resolve(struct ks_store_call *call)
{
	struct state *s = state_of(call);
	struct ks_bytes *value = ks_store_bytes(s->kv.value);

	if (!s->found) {
		resolve_absent(call);
		return;
	}
	if (s->kv.mod_revision == call->expected) {
		write_again(call);
		return;
	}
	if (is_ours(call, value)) {
		ks_bytes_unref(value);
		committed(call, s->kv.mod_revision);
		return;
	}
	if (call->expected == UINT64_MAX) {
		write_again(call);
		return;
	}
	call->current = value;
	call->current_revision = s->kv.mod_revision;
	finish(call, KS_WRITE_LOST_RACE, 0);
}

static void written(struct ks_store_call *call)
{
	struct state *s = state_of(call);

	switch (s->result.outcome) {
	case KS_STORE_COMMITTED:
		committed(call, s->result.revision);
		return;
	case KS_STORE_LOST_RACE:
		call->current = ks_store_bytes(s->result.current.value);
		call->current_revision = call->current ? s->result.current.mod_revision : 0;
		call->revision = s->result.revision;
		finish(call, KS_WRITE_LOST_RACE, 0);
		return;
	case KS_STORE_NOT_FOUND:
		call->revision = s->result.revision;
		finish(call, KS_WRITE_NOT_FOUND, 0);
		return;
	default:
		finish(call, KS_WRITE_FAILED,
			ks_op_fail(&s->op, KS_ERR, "store %s: a write was answered with %u, which means nothing", s->store->name, s->result.outcome));
	}
}

static void handle(struct ks_store_call *call, int result)
{
	struct state *s = state_of(call);

	if (s->reading && result == KS_DONE)
		resolve(call);
	else if (s->reading)
		read_again(call);
	else if (result == KS_DONE)
		written(call);
	else if (result == KS_ERR_UNCERTAIN)
		start_read(call);
	else
		finish(call, KS_WRITE_FAILED, result);
}

static void answered(struct ks_op *op, int result)
{
	handle(op->arg, result);
}

static void run_task(struct ks_task *task)
{
	struct ks_store_call *call = (struct ks_store_call *)((char *)task - offsetof(struct ks_store_call, task));

	handle(call, state_of(call)->answer);
}

void ks_store_write_start(const struct ks_store *store, struct ks_store_call *call)
{
	struct state *s = state_of(call);

	*s = (struct state){.store = store};
	call->outcome = 0;
	call->result = 0;
	call->revision = call->current_revision = 0;
	call->current = NULL;
	call->error[0] = '\0';
	call->task.run = run_task;
	ks_store_op_init(&s->op, call->loop, call->deadline_ns, call->audit_id, answered, call);
	ks_arena_lend(&s->op.arena, s->first_memory, sizeof(s->first_memory));
	start_write(call);
}
