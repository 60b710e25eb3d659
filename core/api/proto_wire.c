/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/proto_wire.h"

#include <stdlib.h>

enum { FIRST_BLOCK = 2048 };

static bool stop(struct ks_proto_reader *r, const char *message)
{
	r->message = message;
	return false;
}

bool ks_proto_read_varint_slow(struct ks_proto_reader *r, uint64_t *out)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (r->p == r->end)
			return stop(r, "unexpected EOF");
		byte = *r->p++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*out = value;
			return true;
		}
	}
	return stop(r, "proto: integer overflow");
}

bool ks_proto_read_bytes(struct ks_proto_reader *r, struct ks_str *out)
{
	uint64_t n;

	if (!ks_proto_read_varint(r, &n))
		return false;
	if (n > INT64_MAX)
		return stop(r, "proto: negative length found during unmarshaling");
	if (n > (uint64_t)(r->end - r->p))
		return stop(r, "unexpected EOF");
	*out = ks_str_of((const char *)r->p, (size_t)n);
	r->p += n;
	return true;
}

bool ks_proto_read_fixed64(struct ks_proto_reader *r, uint64_t *out)
{
	uint64_t value = 0;

	if (r->end - r->p < 8)
		return stop(r, "unexpected EOF");
	for (int i = 0; i < 8; i++)
		value |= (uint64_t)r->p[i] << 8 * i;
	r->p += 8;
	*out = value;
	return true;
}

bool ks_proto_read_tag(struct ks_proto_reader *r, uint32_t *number, unsigned *wire)
{
	uint64_t tag;

	if (!ks_proto_read_varint(r, &tag))
		return false;
	*number = (uint32_t)(tag >> 3);
	*wire = tag & 7;
	return true;
}

static bool skip_fixed(struct ks_proto_reader *r, ptrdiff_t n)
{
	if (r->end - r->p < n)
		return stop(r, "unexpected EOF");
	r->p += n;
	return true;
}

/* One value, or the beginning or end of a group. */
static bool skip_one(struct ks_proto_reader *r, unsigned wire, size_t *depth)
{
	struct ks_str bytes;
	uint64_t n;

	switch (wire) {
	case KS_WIRE_VARINT:
		return ks_proto_read_varint(r, &n);
	case KS_WIRE_FIXED64:
		return skip_fixed(r, 8);
	case KS_WIRE_BYTES:
		return ks_proto_read_bytes(r, &bytes);
	case KS_WIRE_GROUP:
		++*depth;
		return true;
	case KS_WIRE_END_GROUP:
		if (*depth == 0)
			return stop(r, "proto: unexpected end of group");
		--*depth;
		return true;
	case KS_WIRE_FIXED32:
		return skip_fixed(r, 4);
	default:
		return stop(r, wire == 6 ? "proto: illegal wireType 6" : "proto: illegal wireType 7");
	}
}

bool ks_proto_skip(struct ks_proto_reader *r, unsigned wire)
{
	size_t depth = 0;
	uint32_t number;

	for (;;) {
		if (!skip_one(r, wire, &depth))
			return false;
		if (depth == 0)
			return true;
		if (!ks_proto_read_tag(r, &number, &wire))
			return false;
	}
}

/* -- writing --------------------------------------------------------------------------------------------------- */

bool ks_proto_grow(struct ks_proto_writer *w, size_t n)
{
	size_t cap = w->cap ? w->cap * 2 : FIRST_BLOCK;
	uint8_t *block;

	if (w->failed)
		return false;
	while (cap - w->len < n && cap < SIZE_MAX / 4)
		cap *= 2;
	block = cap - w->len < n ? NULL : malloc(cap);
	if (!block) {
		w->failed = true;
		return false;
	}
	if (w->len)
		memcpy(block + cap - w->len, w->block + w->cap - w->len, w->len);
	free(w->block);
	w->block = block;
	w->cap = cap;
	return true;
}

size_t ks_proto_print_varint(uint64_t n, uint8_t out[10])
{
	size_t at = 0;

	for (; n >= 0x80; n >>= 7)
		out[at++] = (uint8_t)(n | 0x80);
	out[at++] = (uint8_t)n;
	return at;
}

void ks_proto_put_varint_slow(struct ks_proto_writer *w, uint64_t n)
{
	uint8_t bytes[10];

	ks_proto_put(w, bytes, ks_proto_print_varint(n, bytes));
}

void ks_proto_finish(struct ks_proto_writer *w, struct ks_buf *out)
{
	if (w->failed)
		out->failed = true;
	else if (w->len)
		ks_buf_add(out, w->block + (w->cap - w->len), w->len);
	free(w->block);
	*w = (struct ks_proto_writer){0};
}
