/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/util/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void ks_buf_init(struct ks_buf *buf)
{
	*buf = (struct ks_buf){0};
}

void ks_buf_fini(struct ks_buf *buf)
{
	free(buf->data);
	ks_buf_init(buf);
}

bool ks_buf_reserve(struct ks_buf *buf, size_t n)
{
	size_t needed, cap = buf->cap ? buf->cap : 256;
	char *data;

	if (buf->failed)
		return false;
	if (buf->cap - buf->len >= n)
		return true;
	if (__builtin_add_overflow(buf->len, n, &needed) || needed > SIZE_MAX / 2)
		goto failed;
	while (cap < needed)
		cap *= 2;
	data = realloc(buf->data, cap);
	if (!data)
		goto failed;
	buf->data = data;
	buf->cap = cap;
	return true;
failed:
	buf->failed = true;
	return false;
}

void ks_buf_add(struct ks_buf *buf, const void *p, size_t n)
{
	if (n == 0 || !ks_buf_reserve(buf, n))
		return;
	memcpy(buf->data + buf->len, p, n);
	buf->len += n;
}

void ks_buf_add_str(struct ks_buf *buf, const char *s)
{
	ks_buf_add(buf, s, strlen(s));
}

void ks_buf_add_char(struct ks_buf *buf, char c)
{
	ks_buf_add(buf, &c, 1);
}

size_t ks_u64_text(char out[20], uint64_t n)
{
	char digits[20];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	memcpy(out, digits + i, sizeof(digits) - i);
	return sizeof(digits) - i;
}

void ks_buf_add_u64(struct ks_buf *buf, uint64_t n)
{
	char digits[20];

	ks_buf_add(buf, digits, ks_u64_text(digits, n));
}

void ks_buf_add_i64(struct ks_buf *buf, int64_t n)
{
	if (n < 0) {
		ks_buf_add_char(buf, '-');
		ks_buf_add_u64(buf, -(uint64_t)n);
		return;
	}
	ks_buf_add_u64(buf, (uint64_t)n);
}

void ks_buf_printf(struct ks_buf *buf, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0 || !ks_buf_reserve(buf, (size_t)n + 1)) {
		buf->failed = true;
		return;
	}
	va_start(args, format);
	vsnprintf(buf->data + buf->len, (size_t)n + 1, format, args);
	va_end(args);
	buf->len += (size_t)n;
}

struct ks_bytes *ks_bytes_new(size_t len)
{
	struct ks_bytes *b;

	if (len > SIZE_MAX / 2)
		return NULL;
	b = malloc(sizeof(*b) + len);
	if (!b)
		return NULL;
	atomic_init(&b->refs, 1);
	b->reserved = 0;
	b->len = len;
	return b;
}

struct ks_bytes *ks_bytes_dup(const void *p, size_t len)
{
	struct ks_bytes *b = ks_bytes_new(len);

	if (b && len)
		memcpy(b->data, p, len);
	return b;
}

void ks_bytes_unref(struct ks_bytes *b)
{
	if (b && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1)
		free(b);
}
