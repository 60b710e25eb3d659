/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON to working form and back, driven by the schema tables.
 *
 * The decoder reads bytes straight into slots. It is as strict as
 * sigs.k8s.io/json (the decoder of kube-apiserver): names are case-sensitive,
 * a number for an integer field must be an integer in range, a null leaves the zero
 * value. Depth is limited to 1,000 (Go: 10,000), which every recursive walker of a tree can rely on;
 * memory by the arena's limit.
 */
#ifndef KS_API_JSON_H
#define KS_API_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/api/value.h"
#include "core/util/buf.h"

/* What strict decoding found wrong though the object could be decoded: messages such as
 * `unknown field "spec.foo"` and `duplicate field "spec.replicas"`. In the order of kube-apiserver. */
struct ks_strict_errors {
	struct ks_str *items; /* arena */
	uint32_t n, cap;
	bool dropped; /* there were more than the limit (100) */
};

enum ks_decode_flag {
	KS_DECODE_STRICT = 1 << 0,    /* collect unknown and duplicate fields */
	KS_DECODE_BORROW = 1 << 1,    /* texts without escapes may point into the input, which outlives the tree */
	KS_CONVERT_UNSTRUCTURED = 1 << 2, /* ks_value_convert only: complaints in the words that upstream has after a strategic merge patch */
};

/* Decodes one JSON text (white space around it allowed) as `type` of `s`; type 0: free form (`s` may be NULL then).
 * In run-time schemas (generation not 0), a NULLABLE field keeps its null, and POINTER on a list or map keeps an empty one.
 * 0, or -EINVAL with a message worded as the Go decoder words it (arena text), or -ENOMEM. */
int ks_json_decode(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, unsigned flags,
	const char *json, size_t n, struct ks_value *out_r, struct ks_strict_errors *strict, const char **message_r)
	__attribute__((warn_unused_result));

/* Turns a free-form tree into a typed one (`from` may have been patched as plain JSON), with the same checks. */
int ks_value_convert(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, unsigned flags,
	const struct ks_value *from, struct ks_value *out_r, struct ks_strict_errors *strict, const char **message_r)
	__attribute__((warn_unused_result));

/* Writes the value as compact JSON: struct fields in schema order, map members sorted by key as Go does;
 * fields without omitempty are written with their zero value. */
void ks_json_encode(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out);

/* The same with members of maps as they came. */
void ks_json_encode_ordered(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out);

/* ks_json_encode for a top-level object, and tells where metadata's first member begins, for `"resourceVersion":"N",`
 * to be put there: the bytes before `*rv_at_r` end in `"metadata":{`. When metadata has no other member, `*rv_comma_r`
 * is false and the insertion takes no comma. metadata.resourceVersion itself is left out. */
void ks_json_encode_object(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out, size_t *rv_at_r, bool *rv_comma_r);

/* A finite number as Go prints it. */
void ks_json_encode_double(double value, struct ks_buf *out);

/* A JSON string with quotes and Go's escapes (HTML characters escaped as encoding/json does by default). */
void ks_json_encode_string(struct ks_str text, struct ks_buf *out);

/* apiVersion and kind of a JSON object without decoding the rest. 0 when both could be read (empty when absent), -EINVAL. */
int ks_json_peek_kind(struct ks_arena *arena, const char *json, size_t n, struct ks_str *api_version_r, struct ks_str *kind_r, const char **message_r);

/* Typed tree to free-form tree (as a JSON decoder would give it), for patches and policies. */
bool ks_value_to_free(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *v, struct ks_value *out_r) __attribute__((warn_unused_result));

#endif
