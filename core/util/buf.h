/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * ks_buf: bytes that grow while somebody writes them; a failed allocation is
 * remembered, so a writer checks once at the end.
 * ks_bytes: bytes that never change any more and are shared by count.
 */
#ifndef KS_UTIL_BUF_H
#define KS_UTIL_BUF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/util/str.h"

struct ks_buf {
	char *data;
	size_t len, cap;
	bool failed; /* out of memory at some point; what is in it is not whole */
};

void ks_buf_init(struct ks_buf *buf);
void ks_buf_fini(struct ks_buf *buf);
static inline void ks_buf_clear(struct ks_buf *buf) { buf->len = 0; buf->failed = false; }
/* Makes room for `n` more bytes; false (and failed set) when out of memory. */
bool ks_buf_reserve(struct ks_buf *buf, size_t n);
void ks_buf_add(struct ks_buf *buf, const void *p, size_t n);
void ks_buf_add_str(struct ks_buf *buf, const char *s);
void ks_buf_add_char(struct ks_buf *buf, char c);
/* The decimal digits, no NUL; returns how many. */
size_t ks_u64_text(char out[20], uint64_t n);
void ks_buf_add_u64(struct ks_buf *buf, uint64_t n);
void ks_buf_add_i64(struct ks_buf *buf, int64_t n);
void ks_buf_printf(struct ks_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline struct ks_str ks_buf_str(const struct ks_buf *buf) { return ks_str_of(buf->data, buf->len); }

struct ks_bytes {
	_Atomic uint32_t refs;
	uint32_t reserved;
	size_t len;
	char data[];
};

/* One reference, the caller's; contents not set. NULL when out of memory. */
struct ks_bytes *ks_bytes_new(size_t len) __attribute__((warn_unused_result));
struct ks_bytes *ks_bytes_dup(const void *p, size_t len) __attribute__((warn_unused_result));
static inline struct ks_bytes *ks_bytes_ref(struct ks_bytes *b)
{
	atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
	return b;
}
/* NULL is safe. Any thread. */
void ks_bytes_unref(struct ks_bytes *b);

#endif
