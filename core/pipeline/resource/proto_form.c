/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/proto_form.h"

#include <stdio.h>

#include "core/api/proto.h"
#include "core/api/proto_wire.h"

/* Tags of the fields that are written here: all are lengths and bytes, but for one. */
enum {
	TAG_TYPE_META = 0x0a,
	TAG_RAW = 0x12, /* Unknown */
	TAG_API_VERSION = 0x0a,
	TAG_KIND = 0x12, /* TypeMeta */
	TAG_METADATA = 0x0a,
	TAG_ITEM = 0x12, /* an object, a list */
	TAG_RESOURCE_VERSION = 0x32, /* ObjectMeta */
	TAG_SELF_LINK = 0x0a,
	TAG_LIST_VERSION = 0x12,
	TAG_CONTINUE = 0x1a,
	TAG_REMAINING = 0x20, /* ListMeta */
	TAG_EVENT_TYPE = 0x0a,
	TAG_EVENT_OBJECT = 0x12,
	TAG_EXTENSION = 0x0a, /* WatchEvent, RawExtension */
};

void ks_proto_kind_of(const struct ks_schema *schema, uint16_t resource, struct ks_proto_kind *out_r)
{
	const struct ks_resource *r = &schema->resources[resource];
	const char *group = ks_schema_text(schema, r->kind_group);

	snprintf(out_r->api_version, sizeof(out_r->api_version), "%s%s%s", group, group[0] ? "/" : "", ks_schema_text(schema, r->kind_version));
	out_r->kind = ks_str_from(ks_schema_text(schema, r->kind));
}

void ks_proto_kind_partial(struct ks_str version, bool list, struct ks_proto_kind *out_r)
{
	snprintf(out_r->api_version, sizeof(out_r->api_version), "meta.k8s.io/%.*s", (int)version.n, version.p ? version.p : "");
	out_r->kind = list ? KS_STR_LIT("PartialObjectMetadataList") : KS_STR_LIT("PartialObjectMetadata");
}

/* -- lengths --------------------------------------------------------------------------------------------------- */

/* Of a field with a one-byte tag. */
static size_t field_size(size_t n)
{
	return 1 + ks_proto_varint_length(n) + n;
}

static void add_field_head(struct ks_chunk *chunk, uint8_t tag, size_t n)
{
	uint8_t bytes[11] = {tag};

	ks_chunk_add(chunk, bytes, 1 + ks_proto_print_varint(n, bytes + 1));
}

static void add_field(struct ks_chunk *chunk, uint8_t tag, struct ks_str text)
{
	add_field_head(chunk, tag, text.n);
	ks_chunk_add(chunk, text.p, text.n);
}

/* -- envelopes ------------------------------------------------------------------------------------------------- */

static size_t type_meta_size(const struct ks_proto_kind *kind)
{
	return field_size(strlen(kind->api_version)) + field_size(kind->kind.n);
}

static size_t envelope_size(const struct ks_proto_kind *kind, size_t raw_n)
{
	return 4 + field_size(type_meta_size(kind)) + field_size(raw_n) + KS_PROTO_ENVELOPE_TAIL_LENGTH;
}

static void add_envelope_head(struct ks_chunk *chunk, const struct ks_proto_kind *kind, size_t raw_n)
{
	ks_chunk_add(chunk, "k8s", 4);
	add_field_head(chunk, TAG_TYPE_META, type_meta_size(kind));
	add_field(chunk, TAG_API_VERSION, ks_str_from(kind->api_version));
	add_field(chunk, TAG_KIND, kind->kind);
	add_field_head(chunk, TAG_RAW, raw_n);
}

static void add_envelope_tail(struct ks_chunk *chunk)
{
	ks_chunk_add(chunk, KS_PROTO_ENVELOPE_TAIL, KS_PROTO_ENVELOPE_TAIL_LENGTH);
}

/* -- objects --------------------------------------------------------------------------------------------------- */

int ks_proto_show(
	struct ks_object *object, const struct ks_schema *schema, uint16_t resource, uint64_t revision, bool partial, struct ks_proto_shown *out_r)
{
	struct ks_proto_shown *shown = out_r;
	int result = ks_object_proto(object, schema, resource, &shown->r);

	if (result)
		return result;
	shown->partial = partial;
	shown->revision_n = revision ? ks_u64_text(shown->revision, revision) : 0;
	shown->meta_n = shown->r.meta_n + field_size(shown->revision_n);
	shown->message_n = field_size(shown->meta_n);
	if (!partial)
		shown->message_n += shown->r.bytes->len - shown->r.meta_n;
	return 0;
}

static void add_message(const struct ks_proto_shown *shown, struct ks_chunk *chunk)
{
	const struct ks_proto_representation *r = &shown->r;
	size_t end = shown->partial ? r->meta_n : r->bytes->len;

	add_field_head(chunk, TAG_METADATA, shown->meta_n);
	ks_chunk_add(chunk, r->bytes->data, r->rv_at);
	add_field(chunk, TAG_RESOURCE_VERSION, ks_str_of(shown->revision, shown->revision_n));
	ks_chunk_add_shared(chunk, r->bytes, r->rv_at, end - r->rv_at);
}

size_t ks_proto_object_size(const struct ks_proto_shown *shown, const struct ks_proto_kind *kind)
{
	return envelope_size(kind, shown->message_n);
}

void ks_proto_add_object(const struct ks_proto_shown *shown, const struct ks_proto_kind *kind, struct ks_chunk *chunk)
{
	add_envelope_head(chunk, kind, shown->message_n);
	add_message(shown, chunk);
	add_envelope_tail(chunk);
}

/* -- lists ----------------------------------------------------------------------------------------------------- */

size_t ks_proto_item_size(const struct ks_proto_shown *shown)
{
	return field_size(shown->message_n);
}

void ks_proto_add_item(const struct ks_proto_shown *shown, struct ks_chunk *chunk)
{
	add_field_head(chunk, TAG_ITEM, shown->message_n);
	add_message(shown, chunk);
}

void ks_proto_add_list_head(
	const struct ks_proto_kind *kind, uint64_t revision, struct ks_str continue_, int64_t remaining, size_t items_n, struct ks_chunk *chunk)
{
	uint8_t count[11] = {TAG_REMAINING};
	size_t count_n = remaining >= 0 ? 1 + ks_proto_print_varint((uint64_t)remaining, count + 1) : 0, meta_n;
	char text[24];
	struct ks_str version = ks_str_of(text, ks_u64_text(text, revision));

	meta_n = field_size(0) + field_size(version.n) + field_size(continue_.n) + count_n;
	add_envelope_head(chunk, kind, field_size(meta_n) + items_n);
	add_field_head(chunk, TAG_METADATA, meta_n);
	add_field_head(chunk, TAG_SELF_LINK, 0);
	add_field(chunk, TAG_LIST_VERSION, version);
	add_field(chunk, TAG_CONTINUE, continue_);
	ks_chunk_add(chunk, count, count_n);
}

void ks_proto_add_list_tail(struct ks_chunk *chunk)
{
	add_envelope_tail(chunk);
}

/* -- watch events ---------------------------------------------------------------------------------------------- */

void ks_proto_add_event_head(const char *type, size_t object_n, struct ks_chunk *chunk)
{
	size_t extension_n = field_size(object_n), frame_n = field_size(strlen(type)) + field_size(extension_n);
	uint8_t length[4] = {(uint8_t)(frame_n >> 24), (uint8_t)(frame_n >> 16), (uint8_t)(frame_n >> 8), (uint8_t)frame_n};

	ks_chunk_add(chunk, length, sizeof(length));
	add_field(chunk, TAG_EVENT_TYPE, ks_str_from(type));
	add_field_head(chunk, TAG_EVENT_OBJECT, extension_n);
	add_field_head(chunk, TAG_EXTENSION, object_n);
}
