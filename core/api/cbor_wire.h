/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Items of CBOR as they stand on the wire: heads, what is well-formed, what is passed over. Private to core/api. */
#ifndef KS_API_CBOR_WIRE_H
#define KS_API_CBOR_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/util/arena.h"
#include "core/util/str.h"

enum ks_cbor_major { KS_CBOR_UINT, KS_CBOR_NEGATIVE, KS_CBOR_BYTES, KS_CBOR_TEXT, KS_CBOR_LIST, KS_CBOR_MAP, KS_CBOR_TAG, KS_CBOR_PRIMITIVE };

enum { KS_CBOR_FALSE = 20, KS_CBOR_TRUE = 21, KS_CBOR_NULL = 22, KS_CBOR_UNDEFINED = 23 };

enum ks_cbor_tag {
	KS_CBOR_TAG_TIME = 0,
	KS_CBOR_TAG_EPOCH = 1,
	KS_CBOR_TAG_BIGNUM = 2,
	KS_CBOR_TAG_NEGATIVE_BIGNUM = 3,
	KS_CBOR_TAG_BASE64URL = 21,
	KS_CBOR_TAG_BASE64 = 22,
	KS_CBOR_TAG_BASE16 = 23,
	KS_CBOR_TAG_SELF_DESCRIBED = 55799,
};

struct ks_cbor_head {
	uint8_t major; /* enum ks_cbor_major */
	bool indefinite; /* BYTES, TEXT, LIST, MAP: as far as the break */
	bool is_float; /* PRIMITIVE: `number`; else a simple value */
	bool is_break;
	uint64_t value; /* UINT; NEGATIVE: -1 - value; TAG; PRIMITIVE; LIST, MAP: items or pairs */
	double number;
	struct ks_str bytes; /* BYTES, TEXT of definite length */
};

struct ks_cbor_reader {
	const uint8_t *start, *p, *end;
	struct ks_arena *arena;
	unsigned depth; /* of lists and maps that are open */
	const char *message; /* why reading has ended, in Go's words; NULL with `failed`: out of memory */
	bool failed;
};

struct ks_cbor_reader ks_cbor_reader_of(struct ks_arena *arena, struct ks_str data);

/* "byte string", "map": how Go's decoder calls a type of item. */
const char *ks_cbor_major_name(uint8_t major);

/* All of these return false when they have set `failed`. */

/* Reading ends with this complaint (arena text; NULL: there was no memory for it). */
bool ks_cbor_fail(struct ks_cbor_reader *r, const char *message);
/* The next head; behind a BYTES or TEXT of definite length with its contents. A break is left to who knows whether one may stand there. */
bool ks_cbor_next(struct ks_cbor_reader *r, struct ks_cbor_head *head);
/* What belongs to a head that was read: contents of lists and maps, chunks, the item in a tag. Checks that it is well-formed. */
bool ks_cbor_skip_rest(struct ks_cbor_reader *r, const struct ks_cbor_head *head);
bool ks_cbor_skip(struct ks_cbor_reader *r);
/* Counts a list or map as open, or refuses one too many. It is closed by depth--. */
bool ks_cbor_enter(struct ks_cbor_reader *r, const struct ks_cbor_head *head);
/* Is there another item (pair) in the open list (map)? `read` so many were; consumes the break. */
bool ks_cbor_more(struct ks_cbor_reader *r, const struct ks_cbor_head *head, uint64_t read, bool *more_r);
/* The bytes of a BYTES or TEXT, chunks put together in the arena. `valid_r`: no (chunk of a) TEXT is anything but UTF-8. */
bool ks_cbor_string(struct ks_cbor_reader *r, const struct ks_cbor_head *head, struct ks_str *out, bool *valid_r);
/* Nothing may follow. */
bool ks_cbor_end(struct ks_cbor_reader *r);

static inline bool ks_cbor_is_null(const struct ks_cbor_head *head)
{
	return head->major == KS_CBOR_PRIMITIVE && !head->is_float && (head->value == KS_CBOR_NULL || head->value == KS_CBOR_UNDEFINED);
}

#endif
