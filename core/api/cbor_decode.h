/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the CBOR decoder. Private to core/api. */
#ifndef KS_API_CBOR_DECODE_H
#define KS_API_CBOR_DECODE_H

#include "core/api/cbor.h"
#include "core/api/cbor_wire.h"

/* Of an open list or map: items, or keys and values by turns. */
union ks_cbor_cell {
	struct ks_value value;
	struct ks_str key;
};

enum { KS_CBOR_CELLS = 128 };

struct ks_cbor_decoder {
	struct ks_cbor_reader r;
	struct ks_arena *arena;
	const struct ks_schema *s;
	const char *saved; /* the first complaint: decoding goes on, for what is not well-formed comes before it */
	const char *late; /* the first one of what Go looks at afterwards: it comes behind all others */
	unsigned complaints; /* kept or not */
	/* The field of the outermost struct that is being read: complaints about types name it. */
	const char *root_type, *root_field;
	const char *prefix; /* said before complaints, which then name no field; NULL: nothing */
	bool is_late; /* in a part that Go looks at afterwards */
	uint8_t later; /* tag of the encoding that is expected later for byte strings: 0, or 21 to 23 */
	int64_t unknown; /* index of the unknown field that is told; -1: none */
	union ks_cbor_cell *cells;
	size_t n_cells, cap_cells;
	union ks_cbor_cell first_cells[KS_CBOR_CELLS];
};

/* An item's head behind its tags. */
struct ks_cbor_item {
	struct ks_cbor_head head;
	int64_t tag; /* the last one, -1: none */
};

/* -- cbor_decode.c -- */

/* A complaint that is kept if it is the first. False when `message` is NULL: out of memory. */
bool ks_cbor_save(struct ks_cbor_decoder *d, const char *message);
/* "cannot unmarshal ITEM into Go ... of type TYPE (DETAIL)": kept if it is the first, and what belongs to the item is passed over. */
bool ks_cbor_mismatch(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, const char *go_type, const char *detail);
bool ks_cbor_out_of_memory(struct ks_cbor_decoder *d);
/* Tags and the head behind them; `later` is what they say. `ok_r` false: a complaint was kept and the item passed over. */
bool ks_cbor_item(struct ks_cbor_decoder *d, struct ks_cbor_item *item, bool *ok_r);
/* A value of any kind. */
bool ks_cbor_free(struct ks_cbor_decoder *d, struct ks_value *out);

/* -- cbor_leaf.c: what is neither struct nor list nor map -- */

/* The text of a BYTES or TEXT, in the encoding that a tag expects. `ok_r` false: a complaint was kept. */
bool ks_cbor_text(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, struct ks_str *out, bool *ok_r);
/* An item where another belongs: passed over with a complaint, but for null, which changes nothing. */
bool ks_cbor_refuse(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, const char *go_type, const char *detail);
/* A number, truth or null without a type. */
bool ks_cbor_free_scalar(struct ks_cbor_decoder *d, const struct ks_cbor_item *item, struct ks_value *out);
/* The value of a scalar type; absent when it does not fit (a complaint was kept) or is nothing. `flags`: of its field. */
bool ks_cbor_leaf(struct ks_cbor_decoder *d, uint16_t type, unsigned flags, struct ks_value *out);
/* What Go has where a list or map holds a null. */
bool ks_cbor_zero(struct ks_cbor_decoder *d, uint16_t type, struct ks_value *out);

#endif
