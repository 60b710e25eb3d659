/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Objects in protobuf as answers hold them: put together from bytes that were made once, around the revision and the lengths that it changes. */
#ifndef KS_PIPELINE_RESOURCE_PROTO_FORM_H
#define KS_PIPELINE_RESOURCE_PROTO_FORM_H

#include "core/pipeline/resource/reply.h"

/* What an envelope names. */
struct ks_proto_kind {
	char api_version[128];
	struct ks_str kind;
};
/* Of a served resource's objects. */
void ks_proto_kind_of(const struct ks_schema *schema, uint16_t resource, struct ks_proto_kind *out_r);
/* PartialObjectMetadata or PartialObjectMetadataList of meta.k8s.io. */
void ks_proto_kind_partial(struct ks_str version, bool list, struct ks_proto_kind *out_r);

/* One object that is about to be written. */
struct ks_proto_shown {
	struct ks_proto_representation r; /* the object's reference */
	bool partial; /* metadata alone */
	char revision[24];
	size_t revision_n;
	size_t meta_n; /* of the metadata with its revision */
	size_t message_n; /* of the whole message, without an envelope */
};
/* `resource`: as served; `partial`: only metadata is shown. 0 or negative (it can't be shown in this version). */
int ks_proto_show(struct ks_object *object, const struct ks_schema *schema, uint16_t resource, uint64_t revision, bool partial,
	struct ks_proto_shown *out_r) __attribute__((warn_unused_result));

/* An object by itself, with its envelope. */
size_t ks_proto_object_size(const struct ks_proto_shown *shown, const struct ks_proto_kind *kind);
void ks_proto_add_object(const struct ks_proto_shown *shown, const struct ks_proto_kind *kind, struct ks_chunk *chunk);

/* An item of a list. */
size_t ks_proto_item_size(const struct ks_proto_shown *shown);
void ks_proto_add_item(const struct ks_proto_shown *shown, struct ks_chunk *chunk);

/* A list up to its first item, of which all together take `items_n` bytes; and its end. `remaining` -1: not said. */
void ks_proto_add_list_head(
	const struct ks_proto_kind *kind, uint64_t revision, struct ks_str continue_, int64_t remaining, size_t items_n, struct ks_chunk *chunk);
void ks_proto_add_list_tail(struct ks_chunk *chunk);

/* A frame of a watch up to the object (with its envelope), which takes `object_n` bytes. */
void ks_proto_add_event_head(const char *type, size_t object_n, struct ks_chunk *chunk);

#endif
