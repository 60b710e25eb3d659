/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/cbor_form.h"

#include "core/api/cbor.h"

void ks_cbor_add_tag(struct ks_chunk *chunk)
{
	ks_chunk_add(chunk, KS_CBOR_SELF_DESCRIBED, KS_CBOR_SELF_DESCRIBED_LENGTH);
}

static void add_key(struct ks_buf *out, const char *name)
{
	ks_cbor_add_text(out, ks_str_from(name));
}

static void add_kind(struct ks_buf *out, const struct ks_proto_kind *kind)
{
	add_key(out, "kind");
	ks_cbor_add_text(out, kind->kind);
	add_key(out, "apiVersion");
	add_key(out, kind->api_version);
}

static void add_revision(struct ks_buf *out, uint64_t revision)
{
	char text[20];

	add_key(out, "resourceVersion");
	ks_cbor_add_text(out, ks_str_of(text, ks_u64_text(text, revision)));
}

/* Hands what was written over to the chunk. */
static void finish(struct ks_buf *out, struct ks_chunk *chunk)
{
	chunk->failed |= out->failed;
	ks_chunk_add(chunk, out->data, out->len);
	ks_buf_fini(out);
}

int ks_cbor_add_object(struct ks_chunk *chunk, const struct ks_schema *schema, struct ks_object *object, uint16_t resource, uint64_t revision,
	const struct ks_proto_kind *kind, bool partial)
{
	struct ks_cbor_representation r;
	struct ks_buf head;
	int result = ks_object_cbor(object, schema, resource, &r);

	if (result)
		return result;
	ks_buf_init(&head);
	ks_cbor_add_map(&head, (partial ? 0 : r.n_rest) + (kind ? 3 : 1));
	if (kind)
		add_kind(&head, kind);
	add_key(&head, "metadata");
	ks_cbor_add_map(&head, r.n_meta + 1);
	add_revision(&head, revision);
	finish(&head, chunk);
	ks_chunk_add_shared(chunk, r.bytes, 0, partial ? r.meta_n : r.bytes->len);
	return 0;
}

void ks_cbor_add_list_head(
	const struct ks_proto_kind *kind, uint64_t revision, struct ks_str continue_, int64_t remaining, size_t items, struct ks_chunk *chunk)
{
	struct ks_buf head;

	ks_cbor_add_tag(chunk);
	ks_buf_init(&head);
	ks_cbor_add_map(&head, 4);
	add_kind(&head, kind);
	add_key(&head, "metadata");
	ks_cbor_add_map(&head, 1 + (continue_.n > 0) + (remaining >= 0));
	add_revision(&head, revision);
	if (continue_.n) {
		add_key(&head, "continue");
		ks_cbor_add_text(&head, continue_);
	}
	if (remaining >= 0) {
		add_key(&head, "remainingItemCount");
		ks_cbor_add_int(&head, remaining);
	}
	add_key(&head, "items");
	/* As it is in Go, where a list of metadata without items is nil. */
	if (items == 0 && ks_str_is(kind->kind, "PartialObjectMetadataList"))
		ks_cbor_add_null(&head);
	else
		ks_cbor_add_list(&head, items);
	finish(&head, chunk);
}

void ks_cbor_add_event_head(const char *type, struct ks_chunk *chunk)
{
	struct ks_buf head;

	ks_cbor_add_tag(chunk);
	ks_buf_init(&head);
	ks_cbor_add_map(&head, 2);
	add_key(&head, "type");
	add_key(&head, type);
	add_key(&head, "object");
	finish(&head, chunk);
}
