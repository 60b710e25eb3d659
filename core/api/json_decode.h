/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the JSON decoder. Private to core/api. */
#ifndef KS_API_JSON_DECODE_H
#define KS_API_JSON_DECODE_H

#include "core/api/json.h"
#include "core/api/json_scan.h"

enum ks_json_frame_kind { KS_FRAME_FIELD, KS_FRAME_KEY, KS_FRAME_ITEM };

/* Where the decoder is: one for each container that is open, on its stack. */
struct ks_json_frame {
	const struct ks_json_frame *up;
	uint8_t kind;  /* enum ks_json_frame_kind */
	uint16_t type; /* FIELD: the struct */
	uint16_t slot;
	uint32_t index;
	struct ks_str key;
};

union ks_json_cell {
	struct ks_value value;
	struct ks_str key;
};

enum { KS_JSON_CELLS = 128, KS_JSON_MAX_STRICT = 100 };

struct ks_json_decoder {
	struct ks_json_scan scan;
	const struct ks_schema *s;
	const struct ks_json_frame *frame;
	struct ks_strict_errors *strict; /* NULL: not collected */
	const char *saved;               /* the first complaint that did not stop decoding */
	bool stopped;                    /* one that did: `saved` is it */
	unsigned quiet;                  /* inside a part where duplicates are nobody's business */
	/* Items and members of open lists and maps, until their number is known. */
	union ks_json_cell *cells;
	size_t n_cells, cap_cells;
	union ks_json_cell first_cells[KS_JSON_CELLS];
};

/* ---- json_error.c: the wording ---- */

/* "cannot unmarshal WHAT into Go struct field ... of type TYPE": kept if it is the first, decoding goes on. False when out of memory. */
bool ks_json_mismatch(struct ks_json_decoder *d, const char *what, struct ks_str number, const char *go_type);
/* A complaint that is kept if it is the first; true. */
bool ks_json_save(struct ks_json_decoder *d, const char *message);
/* A complaint that ends decoding (unless the rest has a syntax error, which wins); false. */
bool ks_json_stop(struct ks_json_decoder *d, const char *message);
/* ks_json_mismatch that ends decoding. */
bool ks_json_stop_mismatch(struct ks_json_decoder *d, const char *what, struct ks_str number, const char *go_type);
/* Go's name of a schema type ("[]v1.Container"), arena text; NULL when out of memory. */
const char *ks_json_go_type(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, unsigned field_flags);
/* `unknown field "PATH.NAME"` or `duplicate field ...`. False when out of memory. */
bool ks_json_strict(struct ks_json_decoder *d, const char *what, struct ks_str name);

/* ---- json_leaf.c: scalars that have a form of their own ---- */

/* Decodes the value at the scanner as a TIME, QUANTITY, ... Absent for null. */
bool ks_json_leaf(struct ks_json_decoder *d, uint16_t type, unsigned field_flags, char c, struct ks_value *out);
/* The number as a double, or the complaint that it is out of range. */
bool ks_json_double(struct ks_json_decoder *d, const struct ks_json_number *number, struct ks_value *out);

/* ---- json_decode.c ---- */

/* Makes the value of a field absent when Go could not tell it from nothing; that it was said to be empty is kept for messages. */
void ks_json_unsay(const struct ks_schema *s, const struct ks_field *field, struct ks_value *slot);

#endif
