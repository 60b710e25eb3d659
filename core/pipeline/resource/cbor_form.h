/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Objects in CBOR as answers hold them: put together from bytes that were made once, around the revision. */
#ifndef KS_PIPELINE_RESOURCE_CBOR_FORM_H
#define KS_PIPELINE_RESOURCE_CBOR_FORM_H

#include "core/pipeline/resource/proto_form.h"
#include "core/pipeline/resource/reply.h"

/* The tag that every object begins with that is nobody's item. */
void ks_cbor_add_tag(struct ks_chunk *chunk);
/* An object, without a tag. `kind`: what it is to be called; NULL: it does without (items of built-in lists). `partial`: metadata alone.
 * 0 or negative (it can't be shown in this version). */
int ks_cbor_add_object(struct ks_chunk *chunk, const struct ks_schema *schema, struct ks_object *object, uint16_t resource, uint64_t revision,
	const struct ks_proto_kind *kind, bool partial) __attribute__((warn_unused_result));
/* A list up to its first item. `remaining` -1: not said. Nothing follows the last item. */
void ks_cbor_add_list_head(
	const struct ks_proto_kind *kind, uint64_t revision, struct ks_str continue_, int64_t remaining, size_t items, struct ks_chunk *chunk);
/* An event of a watch up to its object, which begins with its own tag. */
void ks_cbor_add_event_head(const char *type, struct ks_chunk *chunk);

#endif
