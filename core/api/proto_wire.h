/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The wire format: varints, tags, lengths; a reader that goes forward, a writer that goes backward (lengths are known when their turn comes). */
#ifndef KS_API_PROTO_WIRE_H
#define KS_API_PROTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/util/buf.h"
#include "core/util/str.h"

enum ks_proto_wire { KS_WIRE_VARINT = 0, KS_WIRE_FIXED64 = 1, KS_WIRE_BYTES = 2, KS_WIRE_GROUP = 3, KS_WIRE_END_GROUP = 4, KS_WIRE_FIXED32 = 5 };

/* -- reading --------------------------------------------------------------------------------------------------- */

struct ks_proto_reader {
	const uint8_t *p, *end;
	const char *message; /* what was wrong, in Go's words (constant); NULL: nothing */
};

static inline struct ks_proto_reader ks_proto_reader_of(struct ks_str data)
{
	const uint8_t *p = (const uint8_t *)data.p;

	return (struct ks_proto_reader){.p = p, .end = data.n ? p + data.n : p};
}

/* All of these return false when they set `message`. */
bool ks_proto_read_varint_slow(struct ks_proto_reader *r, uint64_t *out);
static inline bool ks_proto_read_varint(struct ks_proto_reader *r, uint64_t *out)
{
	if (r->p < r->end && *r->p < 0x80) {
		*out = *r->p++;
		return true;
	}
	return ks_proto_read_varint_slow(r, out);
}
/* A length and so many bytes. */
bool ks_proto_read_bytes(struct ks_proto_reader *r, struct ks_str *out);
bool ks_proto_read_fixed64(struct ks_proto_reader *r, uint64_t *out);
/* Field number and wire type. */
bool ks_proto_read_tag(struct ks_proto_reader *r, uint32_t *number, unsigned *wire);
/* Passes over a value that nobody wants. */
bool ks_proto_skip(struct ks_proto_reader *r, unsigned wire);

/* -- writing --------------------------------------------------------------------------------------------------- */

/* What was written stands in the last `len` bytes of the block. */
struct ks_proto_writer {
	uint8_t *block;
	size_t cap, len;
	bool failed; /* out of memory */
};

bool ks_proto_grow(struct ks_proto_writer *w, size_t n);
/* Room before what is there, or NULL. */
static inline uint8_t *ks_proto_room(struct ks_proto_writer *w, size_t n)
{
	if ((w->cap - w->len < n || !w->block) && !ks_proto_grow(w, n))
		return NULL;
	w->len += n;
	return w->block + (w->cap - w->len);
}
static inline void ks_proto_put(struct ks_proto_writer *w, const void *p, size_t n)
{
	uint8_t *at = ks_proto_room(w, n);

	if (at && n)
		memcpy(at, p, n);
}
static inline void ks_proto_put_byte(struct ks_proto_writer *w, uint8_t byte)
{
	uint8_t *at = ks_proto_room(w, 1);

	if (at)
		*at = byte;
}
void ks_proto_put_varint_slow(struct ks_proto_writer *w, uint64_t n);
static inline void ks_proto_put_varint(struct ks_proto_writer *w, uint64_t n)
{
	if (n < 0x80)
		ks_proto_put_byte(w, (uint8_t)n);
	else
		ks_proto_put_varint_slow(w, n);
}
static inline void ks_proto_put_tag(struct ks_proto_writer *w, uint32_t number, unsigned wire)
{
	ks_proto_put_varint(w, (uint64_t)number << 3 | wire);
}
/* Length and tag of what was written since `before` (a former `len`). */
static inline void ks_proto_put_head(struct ks_proto_writer *w, size_t before, uint32_t number)
{
	ks_proto_put_varint(w, w->len - before);
	ks_proto_put_tag(w, number, KS_WIRE_BYTES);
}
static inline void ks_proto_put_text(struct ks_proto_writer *w, uint32_t number, struct ks_str text)
{
	size_t before = w->len;

	ks_proto_put(w, text.p, text.n);
	ks_proto_put_head(w, before, number);
}
/* Appends all to `out` and gives the block back. */
void ks_proto_finish(struct ks_proto_writer *w, struct ks_buf *out);

/* Bytes of a varint. */
static inline size_t ks_proto_varint_length(uint64_t n)
{
	return (size_t)(63 - __builtin_clzll(n | 1)) / 7 + 1;
}
/* Writes a varint forward; returns its length. */
size_t ks_proto_print_varint(uint64_t n, uint8_t out[10]);

#endif
