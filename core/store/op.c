/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/store/internal.h"

void ks_store_op_init(
	struct ks_op *op, struct ks_loop *loop, uint64_t deadline_ns, const char *audit_id, void (*done)(struct ks_op *op, int result), void *arg)
{
	if (!deadline_ns)
		deadline_ns = ks_monotonic_ns() + KS_STORE_TIMEOUT_S * UINT64_C(1000000000);
	ks_op_init(op, loop, deadline_ns, audit_id);
	op->done = done;
	op->arg = arg;
}

void ks_store_op_words(const struct ks_op *op, char *text, size_t size)
{
	snprintf(text, size, "%s", op->error ? op->error : "");
}

int ks_store_op_begin(struct ks_op *op, const struct ks_store *store)
{
	if (store->scratch_size && op->scratch)
		memset(op->scratch, 0, store->scratch_size);
	else if (store->scratch_size)
		op->scratch = ks_arena_zalloc(&op->arena, 1, store->scratch_size);
	if (store->scratch_size && !op->scratch)
		return KS_ERR_NOMEM;
	ks_op_begin(op);
	return 0;
}
