/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf to working form and back, driven by the schema tables: the bytes are those that Go's
 * generated code reads and writes for the built-in types.
 *
 * An object on the wire or in a store is "k8s\0" and a runtime.Unknown message, which names apiVersion and kind
 * and holds the object's own message as `raw`; the messages themselves know neither.
 * Only built-in types have a form in protobuf (schemas of generation 0).
 */
#ifndef KS_API_PROTO_H
#define KS_API_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/api/value.h"
#include "core/util/buf.h"

/* Messages in messages, at most: walkers of trees are recursive. */
enum { KS_PROTO_MAX_DEPTH = 200 };

/* -- the envelope ---------------------------------------------------------------------------------------------- */

struct ks_proto_envelope {
	struct ks_str api_version, kind, raw, content_encoding, content_type; /* views of the input */
};

static inline bool ks_proto_is_enveloped(struct ks_str data)
{
	return ks_str_starts(data, ks_str_of("k8s\0", 4));
}
/* Takes an envelope apart. 0, -EINVAL with a message (arena text or constant), -ENOMEM. */
int ks_proto_open(struct ks_arena *arena, struct ks_str data, struct ks_proto_envelope *out_r, const char **message_r)
	__attribute__((warn_unused_result));
/* What stands before the `raw_n` bytes of the object's message: up to and with their length. */
void ks_proto_envelope_head(struct ks_str api_version, struct ks_str kind, size_t raw_n, struct ks_buf *out);
/* What stands behind them: contentEncoding and contentType, both empty. */
#define KS_PROTO_ENVELOPE_TAIL "\x1a\0\"\0"
enum { KS_PROTO_ENVELOPE_TAIL_LENGTH = 4 };

/* -- objects --------------------------------------------------------------------------------------------------- */

/* Can the type be said in protobuf? Tables, for one, can't. */
bool ks_proto_has(const struct ks_schema *s, uint16_t type);

/* Decodes one message as the STRUCT `type`; kind and apiVersion stay absent. Texts are views of `data`, which outlives the tree
 * (KS_PROTO_COPY: of a copy in the arena). Unknown fields are skipped. 0, -EINVAL with a message worded as Go's decoder words it, -ENOMEM. */
enum { KS_PROTO_COPY = 1 << 0 };
int ks_proto_decode(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, unsigned flags, struct ks_str data, struct ks_value *out_r,
	const char **message_r) __attribute__((warn_unused_result));

/* Appends the message of a STRUCT, without its envelope. What does not fit its type in the tree is written as zero. */
void ks_proto_encode(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out);
/* The same with the envelope around it, apiVersion and kind as the tree has them. */
void ks_proto_encode_object(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out);

/* The message of an object in two parts: what is in `metadata` (the first field), without resourceVersion, and what follows metadata.
 * The bytes of metadata end at `meta_n`, and resourceVersion goes to `rv_at` in them. */
struct ks_proto_split {
	size_t meta_n, rv_at;
};
/* Appends them; offsets are relative to where out->len was. False when the object has no metadata of that kind. */
bool ks_proto_encode_split(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out, struct ks_proto_split *split_r)
	__attribute__((warn_unused_result));

#endif
