/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/call.h"

#include <stddef.h>

static void end_call(struct ks_request_end *end)
{
	struct ks_call *call = (struct ks_call *)((char *)end - offsetof(struct ks_call, end));

	ks_op_fini(&call->op);
}

static void op_done(struct ks_op *op, int result)
{
	struct ks_call *call = op->arg;
	struct ks_request *request = call->request;

	request->op = NULL;
	call->waiting = false;
	call->came = true;
	call->result = result;
	if (call->done)
		call->done(call);
	else
		ks_request_resume(request);
	ks_request_unpin(request);
}

void ks_call_init(struct ks_call *call, struct ks_request *request, void (*done)(struct ks_call *call))
{
	/* A long-running request has no deadline, but its decisions have one. */
	uint64_t deadline = request->deadline_ns ? request->deadline_ns : request->received_ns + UINT64_C(60000000000);

	call->request = request;
	call->done = done;
	call->result = 0;
	call->waiting = call->came = false;
	ks_op_init(&call->op, request->loop, deadline, request->audit_id);
	ks_arena_lend(&call->op.arena, call->first_memory, sizeof(call->first_memory));
	call->op.done = op_done;
	call->op.arg = call;
	call->op.nesting = request->write_depth;
	ks_request_on_end(request, &call->end, end_call);
}

void ks_call_fini(struct ks_call *call)
{
	ks_request_off_end(call->request, &call->end);
	ks_op_fini(&call->op);
}

int ks_call_await(struct ks_call *call, int result)
{
	if (result != KS_PENDING)
		return result;
	call->waiting = true;
	call->request->op = &call->op;
	ks_request_pin(call->request);
	return KS_PENDING;
}

bool ks_call_take(struct ks_call *call, int *result_r)
{
	if (!call->came)
		return false;
	call->came = false;
	*result_r = call->result;
	return true;
}
