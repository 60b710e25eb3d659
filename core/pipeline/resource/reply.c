/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/reply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/api/cbor.h"
#include "core/api/json.h"
#include "core/api/metadata_only.h"
#include "core/api/proto.h"
#include "core/pipeline/resource/cbor_form.h"
#include "core/pipeline/resource/printing.h"
#include "core/pipeline/resource/proto_form.h"
#include "core/pipeline/server.h"

enum { BLOCK = 32 * 1024, LARGE = 8 * 1024 };

static void release_object(void *owner)
{
	ks_object_unref(owner);
}

static void release_bytes(void *owner)
{
	ks_bytes_unref(owner);
}

/* `"resourceVersion":"N"`, with a comma when more follows; `out` has room for 48 characters. */
static size_t revision_text(char *out, uint64_t revision, bool comma)
{
	static const char key[] = "\"resourceVersion\":\"";
	size_t n = sizeof(key) - 1;

	if (!revision)
		return 0; /* of what is not kept */
	memcpy(out, key, n);
	n += ks_u64_text(out + n, revision);
	out[n++] = '"';
	if (comma)
		out[n++] = ',';
	return n;
}

static enum ks_stage_result reply_partial(struct ks_request *request, int code, struct ks_object *object, uint16_t resource, uint64_t revision)
{
	struct ks_chunk chunk;

	ks_chunk_init(&chunk);
	if (ks_chunk_add_object(&chunk, request->server->schema, object, resource, revision, KS_FORM_PARTIAL, request->media.as_version) ||
		!ks_chunk_seal(&chunk)) {
		ks_chunk_fini(&chunk);
		ks_status_internal(&request->status, &request->arena, "the object can't be shown in this version");
		return KS_STAGE_FAILED;
	}
	ks_request_respond_object(request, code, NULL, 0, chunk.pieces, chunk.n);
	ks_chunk_taken(&chunk);
	return KS_STAGE_ANSWERED;
}

static int add_proto(struct ks_chunk *chunk, const struct ks_schema *schema, struct ks_object *object, uint16_t resource, uint64_t revision,
	const struct ks_proto_kind *kind, bool partial)
{
	struct ks_proto_shown shown;
	int result = ks_proto_show(object, schema, resource, revision, partial, &shown);

	if (result == 0)
		ks_proto_add_object(&shown, kind, chunk);
	return result;
}

/* In protobuf or CBOR, from bytes in that form. */
static enum ks_stage_result reply_binary(struct ks_request *request, int code, struct ks_object *object, uint16_t resource, uint64_t revision)
{
	const struct ks_schema *schema = request->server->schema;
	bool partial = request->media.as == KS_AS_PARTIAL;
	struct ks_proto_kind kind;
	struct ks_chunk chunk;

	ks_chunk_init(&chunk);
	if (partial)
		ks_proto_kind_partial(request->media.as_version, false, &kind);
	else
		ks_proto_kind_of(schema, resource, &kind);
	if (request->media.format == KS_MEDIA_CBOR)
		ks_cbor_add_tag(&chunk);
	if ((request->media.format == KS_MEDIA_CBOR ? ks_cbor_add_object : add_proto)(&chunk, schema, object, resource, revision, &kind, partial))
		chunk.failed = true;
	if (!ks_chunk_seal(&chunk)) {
		ks_chunk_fini(&chunk);
		ks_status_internal(&request->status, &request->arena, "the object can't be shown in this version");
		return KS_STAGE_FAILED;
	}
	ks_request_respond_formed(request, code, NULL, 0, chunk.pieces, chunk.n);
	ks_chunk_taken(&chunk);
	return KS_STAGE_ANSWERED;
}

enum ks_stage_result ks_reply_object(struct ks_request *request, int code, struct ks_object *object, uint16_t resource, uint64_t revision)
{
	struct ks_representation r;
	struct ks_piece pieces[3];
	char *text;

	if (ks_printing_check(request, resource, false))
		return KS_STAGE_FAILED;
	if (request->media.as == KS_AS_TABLE)
		return ks_printing_reply_object(request, code, object, resource, revision);
	if (request->media.format == KS_MEDIA_PROTOBUF || request->media.format == KS_MEDIA_CBOR)
		return reply_binary(request, code, object, resource, revision);
	if (request->media.as == KS_AS_PARTIAL)
		return reply_partial(request, code, object, resource, revision);
	text = malloc(48);
	if (!text || ks_object_representation(object, request->server->schema, resource, &r)) {
		free(text);
		ks_status_internal(&request->status, &request->arena, "the object can't be shown in this version");
		return KS_STAGE_FAILED;
	}
	pieces[0] = (struct ks_piece){r.bytes->data, r.rv_at, release_object, ks_object_ref(object)};
	pieces[1] = (struct ks_piece){text, revision_text(text, revision, r.rv_comma), free, text};
	pieces[2] = (struct ks_piece){r.bytes->data + r.rv_at, r.bytes->len - r.rv_at, release_object, ks_object_ref(object)};
	ks_request_respond_object(request, code, NULL, 0, pieces, 3);
	return KS_STAGE_ANSWERED;
}

static enum ks_stage_result reply_tree_binary(struct ks_request *request, int code, const struct ks_value *tree)
{
	struct ks_piece piece;
	struct ks_buf buf;

	ks_buf_init(&buf);
	(request->media.format == KS_MEDIA_CBOR ? ks_cbor_encode_object : ks_proto_encode_object)(request->server->schema, tree, &buf);
	if (buf.failed) {
		ks_buf_fini(&buf);
		ks_status_internal(&request->status, &request->arena, "out of memory");
		return KS_STAGE_FAILED;
	}
	piece = (struct ks_piece){.data = buf.data, .len = buf.len, .release = free, .owner = buf.data};
	ks_request_respond_formed(request, code, NULL, 0, &piece, 1);
	return KS_STAGE_ANSWERED;
}

enum ks_stage_result ks_reply_tree(struct ks_request *request, int code, const struct ks_value *tree)
{
	struct ks_buf buf;

	if (ks_printing_check(request, request->info.resource_index, false))
		return KS_STAGE_FAILED;
	if (request->media.as == KS_AS_TABLE)
		return ks_printing_reply_tree(request, code, tree);
	if (request->media.as == KS_AS_OBJECT && (request->media.format == KS_MEDIA_PROTOBUF || request->media.format == KS_MEDIA_CBOR))
		return reply_tree_binary(request, code, tree);
	ks_buf_init(&buf);
	if (request->media.as == KS_AS_PARTIAL) {
		ks_buf_printf(&buf, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/%.*s\",\"metadata\":", (int)request->media.as_version.n,
			request->media.as_version.p);
		ks_json_encode(request->server->schema, ks_value_get(request->server->schema, tree, "metadata"), &buf);
		ks_buf_add_char(&buf, '}');
	} else {
		ks_json_encode(request->server->schema, tree, &buf);
	}
	if (buf.failed) {
		ks_buf_fini(&buf);
		ks_status_internal(&request->status, &request->arena, "out of memory");
		return KS_STAGE_FAILED;
	}
	ks_request_respond_json(request, code, &buf);
	return KS_STAGE_ANSWERED;
}

/* -- chunks ------------------------------------------------------------------------------------------------------- */

void ks_chunk_init(struct ks_chunk *chunk)
{
	memset(chunk, 0, sizeof(*chunk));
}

void ks_chunk_fini(struct ks_chunk *chunk)
{
	for (size_t i = 0; i < chunk->n; i++)
		if (chunk->pieces[i].release)
			chunk->pieces[i].release(chunk->pieces[i].owner);
	free(chunk->pieces);
	free(chunk->block);
	ks_chunk_init(chunk);
}

static bool add_piece(struct ks_chunk *chunk, struct ks_piece piece)
{
	if (chunk->n == chunk->cap) {
		size_t cap = chunk->cap ? chunk->cap * 2 : 8;
		struct ks_piece *pieces = realloc(chunk->pieces, cap * sizeof(*pieces));

		if (!pieces) {
			chunk->failed = true;
			return false;
		}
		chunk->pieces = pieces;
		chunk->cap = cap;
	}
	chunk->pieces[chunk->n++] = piece;
	chunk->bytes += piece.len;
	return true;
}

static void end_block(struct ks_chunk *chunk)
{
	if (!chunk->block)
		return;
	if (chunk->used && add_piece(chunk, (struct ks_piece){chunk->block, chunk->used, free, chunk->block}))
		chunk->block = NULL;
	free(chunk->block);
	chunk->block = NULL;
	chunk->used = chunk->room = 0;
}

void ks_chunk_add(struct ks_chunk *chunk, const void *p, size_t n)
{
	if (chunk->failed || !n)
		return;
	if (chunk->room - chunk->used < n) {
		end_block(chunk);
		chunk->room = n > BLOCK ? n : BLOCK;
		chunk->block = malloc(chunk->room);
		if (!chunk->block) {
			chunk->room = 0;
			chunk->failed = true;
			return;
		}
	}
	memcpy(chunk->block + chunk->used, p, n);
	chunk->used += n;
}

void ks_chunk_add_text(struct ks_chunk *chunk, const char *text)
{
	ks_chunk_add(chunk, text, strlen(text));
}

void ks_chunk_add_u64(struct ks_chunk *chunk, uint64_t n)
{
	char text[20];

	ks_chunk_add(chunk, text, ks_u64_text(text, n));
}

void ks_chunk_add_shared(struct ks_chunk *chunk, struct ks_bytes *bytes, size_t at, size_t n)
{
	if (n < LARGE) {
		ks_chunk_add(chunk, bytes->data + at, n);
		return;
	}
	end_block(chunk);
	if (!chunk->failed && !add_piece(chunk, (struct ks_piece){bytes->data + at, n, release_bytes, ks_bytes_ref(bytes)}))
		ks_bytes_unref(bytes);
}

int ks_chunk_add_object(struct ks_chunk *chunk, const struct ks_schema *schema, struct ks_object *object, uint16_t resource, uint64_t revision,
	enum ks_object_form form, struct ks_str as_version)
{
	static const char opening[] = "{\"metadata\":{", partial[] = "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/";
	struct ks_representation r;
	char text[48];
	size_t end;
	int result = ks_object_representation(object, schema, resource, &r);

	if (result)
		return result;
	/* kind and apiVersion stand before metadata; built-in items do without. */
	if (form == KS_FORM_PARTIAL) {
		ks_chunk_add(chunk, partial, sizeof(partial) - 1);
		ks_chunk_add(chunk, as_version.p, as_version.n);
		ks_chunk_add_text(chunk, "\",\"metadata\":{");
	} else if (form == KS_FORM_ITEM && schema->generation == 0) {
		ks_chunk_add(chunk, opening, sizeof(opening) - 1);
	} else {
		ks_chunk_add(chunk, r.bytes->data, r.rv_at);
	}
	ks_chunk_add(chunk, text, revision_text(text, revision, r.rv_comma));
	if (form != KS_FORM_PARTIAL) {
		ks_chunk_add_shared(chunk, r.bytes, r.rv_at, r.bytes->len - r.rv_at);
		return 0;
	}
	end = ks_metadata_end(ks_str_of(r.bytes->data, r.bytes->len), r.rv_at);
	if (end == 0)
		return -EINVAL;
	ks_chunk_add_shared(chunk, r.bytes, r.rv_at, end - r.rv_at);
	ks_chunk_add_text(chunk, "}");
	return 0;
}

bool ks_chunk_seal(struct ks_chunk *chunk)
{
	end_block(chunk);
	return !chunk->failed;
}

void ks_chunk_taken(struct ks_chunk *chunk)
{
	free(chunk->pieces);
	ks_chunk_init(chunk);
}
