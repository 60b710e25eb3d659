/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * CBOR (RFC 8949) to working form and back, as Kubernetes profiles it.
 *
 * An object is one item in the tag of self-described CBOR. Names and texts are written as byte strings and read as
 * byte or text strings; bytes stand in tag 22 (base64 is expected later); lengths are definite when written and may be
 * indefinite when read; numbers take the shortest form that keeps their value, and integers stay integers.
 * Refused are keys that repeat, texts that are no UTF-8, not-a-number and infinity, bignums, and simple values other
 * than false, true and null.
 *
 * libcbor reads and writes the heads of items. It is optional: in a build without it the feature gate can't be opened, and
 * what is declared here only fails.
 */
#ifndef KS_API_CBOR_H
#define KS_API_CBOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/api/json.h"
#include "core/api/value.h"
#include "core/util/buf.h"

/* Lists and maps in each other, at most: as in JSON, for walkers of trees are recursive. */
enum { KS_CBOR_MAX_DEPTH = 1000, KS_CBOR_MAX_PAIRS = 2097152 };

/* -- reading --------------------------------------------------------------------------------------------------- */

/* apiVersion and kind of an object without decoding the rest. 0 when both could be read (empty when absent), -EINVAL with a message worded as
 * Go's decoder words it (arena text or constant), -ENOMEM. The texts are views of `data`, or in the arena. */
int ks_cbor_peek_kind(struct ks_arena *arena, struct ks_str data, struct ks_str *api_version_r, struct ks_str *kind_r, const char **message_r)
	__attribute__((warn_unused_result));

/* Decodes one item as `type` of `s`; type 0: free form (`s` may be NULL then). `flags`: KS_DECODE_STRICT, KS_DECODE_BORROW.
 * Of unknown fields `strict` gets what kube-apiserver tells: the first one, by its index. A type of a run-time schema is read
 * as free form and converted. 0, -EINVAL with a message as above, -ENOMEM. */
int ks_cbor_decode(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, unsigned flags, struct ks_str data, struct ks_value *out_r,
	struct ks_strict_errors *strict, const char **message_r) __attribute__((warn_unused_result));

/* Decodes one item, which has to be a map, without types; an empty map when it is null. Texts are copied. 0, -EINVAL with a message as above,
 * -ENOMEM. */
int ks_cbor_decode_map(struct ks_arena *arena, struct ks_str data, struct ks_value *out_r, const char **message_r)
	__attribute__((warn_unused_result));

/* -- writing --------------------------------------------------------------------------------------------------- */

/* The tag that all objects begin with. */
#define KS_CBOR_SELF_DESCRIBED "\xd9\xd9\xf7"
enum { KS_CBOR_SELF_DESCRIBED_LENGTH = 3 };

/* Appends one item (no tag around it). Keys are in bytewise order of their encoded form, so equal trees give equal bytes.
 * `s` may be NULL for free form. */
void ks_cbor_encode(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out);
/* The same in the tag of self-described CBOR. */
void ks_cbor_encode_object(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out);

/* Heads of items that are put together elsewhere. */
void ks_cbor_add_map(struct ks_buf *out, size_t pairs);
void ks_cbor_add_list(struct ks_buf *out, size_t items);
void ks_cbor_add_int(struct ks_buf *out, int64_t value);
void ks_cbor_add_null(struct ks_buf *out);
void ks_cbor_add_text(struct ks_buf *out, struct ks_str text);

/* An object in parts: pairs of `metadata` without resourceVersion, which end at `meta_n`, then the object's other pairs without
 * apiVersion and kind. */
struct ks_cbor_split {
	size_t meta_n;
	uint32_t n_meta, n_rest; /* pairs */
};
/* Appends them; offsets are relative to where out->len was. False when the tree is no object. */
bool ks_cbor_encode_split(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out, struct ks_cbor_split *split_r)
	__attribute__((warn_unused_result));

#endif
