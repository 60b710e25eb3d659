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

/* Keys of an open map that repeat: the first one is told, and before whatever else there was to say of the map. */
struct ks_cbor_repeats {
	const char *saved; /* complaint from before the map */
	bool told;
};

struct ks_cbor_open_struct {
	uint16_t type, slot; /* the field that is expected next: the one behind the last */
	uint64_t index; /* of the pair */
	size_t unknown_from; /* cells: unknown keys, each with its index */
	struct ks_cbor_repeats repeats;
	int64_t own_unknown; /* index of the struct's own first unknown field; -1: none */
	uint64_t seen[4];
};

/* All functions return false when reading has ended, by `failed` of the reader. */

/* -- cbor_items.c -- */

/* A complaint that is kept if it is the first. False when `message` is NULL: out of memory. */
bool ks_cbor_save(struct ks_cbor_decoder *d, const char *message);
/* "cannot unmarshal ITEM into Go ... of type TYPE (DETAIL)": kept if it is the first. `go_type` NULL: out of memory; `detail` NULL: none. */
bool ks_cbor_save_mismatch(struct ks_cbor_decoder *d, uint8_t major, const char *go_type, const char *detail);
/* The same, and what belongs to the item is passed over. */
bool ks_cbor_mismatch(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, const char *go_type, const char *detail);
struct ks_cbor_repeats ks_cbor_no_repeats(const struct ks_cbor_decoder *d);
/* The pair at `index` repeats a key: a text, or the number that `key` has. */
bool ks_cbor_duplicate(struct ks_cbor_decoder *d, struct ks_cbor_repeats *repeats, const struct ks_value *key, struct ks_str text, uint64_t index);
bool ks_cbor_out_of_memory(struct ks_cbor_decoder *d);
/* Tags and the head behind them; `later` is what they say. `ok_r` false: a complaint was kept and the item passed over. */
bool ks_cbor_item(struct ks_cbor_decoder *d, struct ks_cbor_item *item, bool *ok_r);
/* Looks at the tags that stand before the next item. `ok_r` false: a complaint was kept and the item passed over. */
bool ks_cbor_check_tags(struct ks_cbor_decoder *d, bool *ok_r);
/* Cells of what is open: pushed while it is read, popped (those since `from`) when it is closed. */
bool ks_cbor_push(struct ks_cbor_decoder *d, const struct ks_value *value);
bool ks_cbor_push_member(struct ks_cbor_decoder *d, struct ks_str key, const struct ks_value *value);
bool ks_cbor_pop_items(struct ks_cbor_decoder *d, size_t from, uint16_t type, struct ks_value *out);
bool ks_cbor_pop_members(struct ks_cbor_decoder *d, size_t from, uint16_t type, struct ks_value *out);
/* Was the key of the last pair since `from` there before? Of few it is told at once, of many by ks_cbor_check_many at the end. */
bool ks_cbor_is_repeated(const struct ks_cbor_decoder *d, size_t from);
/* `at_r`: the first pair among those since `from` that repeats a key; UINT32_MAX: none does. */
bool ks_cbor_check_many(struct ks_cbor_decoder *d, size_t from, uint32_t *at_r);

/* -- cbor_struct.c -- */

bool ks_cbor_struct(struct ks_cbor_decoder *d, uint16_t type, const struct ks_cbor_head *head, struct ks_value *out);
/* Pairs of a struct that are none of its fields, read up to their value, which is passed over: a number as a key, another key that is no
 * text, a text that names no field. */
bool ks_cbor_number_key(struct ks_cbor_decoder *d, struct ks_cbor_open_struct *o, const struct ks_cbor_head *head);
bool ks_cbor_other_key(struct ks_cbor_decoder *d, const struct ks_cbor_head *head);
bool ks_cbor_unknown(struct ks_cbor_decoder *d, struct ks_cbor_open_struct *o, struct ks_str key, struct ks_value *kept);

/* -- cbor_decode.c -- */

bool ks_cbor_typed(struct ks_cbor_decoder *d, uint16_t type, unsigned flags, struct ks_value *out);
/* A value of any kind. */
bool ks_cbor_free(struct ks_cbor_decoder *d, struct ks_value *out);
void ks_cbor_begin(struct ks_cbor_decoder *d, struct ks_arena *arena, const struct ks_schema *s, struct ks_str data);
/* Ends decoding: 0, -EINVAL with a message, -ENOMEM. `ok`: all was read. */
int ks_cbor_finish(struct ks_cbor_decoder *d, bool ok, const char **message_r);

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
