/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * meta.k8s.io PartialObjectMetadata: an object without all but its metadata, cut out of the bytes of the whole without
 * decoding them; and the small parts that such answers and lists are joined from.
 */
#ifndef KS_API_METADATA_ONLY_H
#define KS_API_METADATA_ONLY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/util/buf.h"

/* Offset behind the `}` that ends the object whose first member would stand at `at`; 0 when there is none. */
size_t ks_metadata_end(struct ks_str json, size_t at);

/* Writes {"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/VERSION","metadata":{...}} of an object's JSON in which the
 * resourceVersion's place is `rv_at` (see ks_json_encode_object). `revision` 0: none is written. Bytes in which metadata does not end
 * set `out->failed`. */
void ks_metadata_only(struct ks_str json, size_t rv_at, bool rv_comma, uint64_t revision, const char *version, struct ks_buf *out);

/* The whole object with its resourceVersion. `revision` 0: without. */
void ks_json_with_revision(struct ks_str json, size_t rv_at, bool rv_comma, uint64_t revision, struct ks_buf *out);

/* metadata of a list: {"resourceVersion":"N","continue":"...","remainingItemCount":N}; 0, empty and -1 are left out. */
void ks_list_meta(uint64_t revision, struct ks_str continue_, int64_t remaining, struct ks_buf *out);

#endif
