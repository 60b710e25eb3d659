/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What calls of a store have in common. Private to core/store. */
#ifndef KS_STORE_INTERNAL_H
#define KS_STORE_INTERNAL_H

#include <keelson/storage.h>

#include "core/store/store.h"
#include "plugins/host/op.h"

enum { KS_STORE_TIMEOUT_S = 60 };

/* Shared bytes are the same thing on both sides of the border. */
static inline struct ks_bytes *ks_store_bytes(struct ks_host_bytes *bytes)
{
	return (struct ks_bytes *)bytes;
}
static inline struct ks_host_bytes *ks_store_host_bytes(struct ks_bytes *bytes)
{
	return (struct ks_host_bytes *)bytes;
}

static inline struct ks_view ks_store_view(const struct ks_buf *buf)
{
	return (struct ks_view){buf->data, buf->len};
}

void ks_store_op_init(
	struct ks_op *op, struct ks_loop *loop, uint64_t deadline_ns, const char *audit_id, void (*done)(struct ks_op *op, int result), void *arg);
/* Begins a call of the store, with the scratch memory that it declared. 0 or KS_ERR_NOMEM. */
int ks_store_op_begin(struct ks_op *op, const struct ks_store *store) __attribute__((warn_unused_result));
/* Keeps the operation's words of a failure. */
void ks_store_op_words(const struct ks_op *op, char *text, size_t size);

#endif
