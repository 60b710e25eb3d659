/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of plugins on behalf of a request: while one is pending the request is pinned, and told when nobody waits any more.
 * Private to core/pipeline.
 *
 *     ks_call_init(&call, request, NULL);
 *     result = ks_call_await(&call, ks_authn_call(instance, &call.op, ...));
 *     if (result == KS_PENDING) return KS_STAGE_PENDING;   // the stage is called again, and ks_call_take gives the result
 */
#ifndef KS_PIPELINE_CALL_H
#define KS_PIPELINE_CALL_H

#include "core/pipeline/request.h"
#include "plugins/host/op.h"

struct ks_call {
	struct ks_op op;
	struct ks_request *request;
	struct ks_request_end end;
	void (*done)(struct ks_call *call); /* NULL: the request is resumed */
	int result;
	bool waiting, came;
	_Alignas(16) char first_memory[320]; /* of the op: most calls need no more */
};

/* The op lives until ks_call_fini, or else until the request ends. */
void ks_call_init(struct ks_call *call, struct ks_request *request, void (*done)(struct ks_call *call));
void ks_call_fini(struct ks_call *call);
/* Passes a final result on; for KS_PENDING it arranges the waiting. */
int ks_call_await(struct ks_call *call, int result);
/* Has the answer to a pending call come? Then it is taken. */
bool ks_call_take(struct ks_call *call, int *result_r);

#endif
