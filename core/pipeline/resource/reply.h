/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Answers with objects: bytes that are there already, with the revision put in. */
#ifndef KS_PIPELINE_RESOURCE_REPLY_H
#define KS_PIPELINE_RESOURCE_REPLY_H

#include "core/cache/cache.h"
#include "core/pipeline/request.h"

/* The object in the version of the request's resource, as of `revision`. Takes no reference of the caller's. */
enum ks_stage_result ks_reply_object(struct ks_request *request, int code, struct ks_object *object, uint16_t resource, uint64_t revision);
/* A tree that no object was made of (dry runs, objects that are gone, Scale), as it is. */
enum ks_stage_result ks_reply_tree(struct ks_request *request, int code, const struct ks_value *tree);

/* Many objects: small ones are copied together, the bytes of large ones are referenced. */
struct ks_chunk {
	struct ks_piece *pieces;
	size_t n, cap;
	char *block;             /* the one that is being filled */
	size_t used, room;
	size_t bytes;            /* altogether */
	bool failed;             /* out of memory */
};
void ks_chunk_init(struct ks_chunk *chunk);
/* Drops what is in it, unless it was handed over. */
void ks_chunk_fini(struct ks_chunk *chunk);
void ks_chunk_add(struct ks_chunk *chunk, const void *p, size_t n);
void ks_chunk_add_text(struct ks_chunk *chunk, const char *text);
void ks_chunk_add_u64(struct ks_chunk *chunk, uint64_t n);
/* `n` bytes of `bytes`: copied when they are few, else referenced. */
void ks_chunk_add_shared(struct ks_chunk *chunk, struct ks_bytes *bytes, size_t at, size_t n);
enum ks_object_form {
	KS_FORM_WHOLE,
	KS_FORM_ITEM,    /* of a list: built-in ones without kind and apiVersion */
	KS_FORM_PARTIAL, /* PartialObjectMetadata */
};
/* 0 or negative (it can't be shown in this version). `as_version`: of meta.k8s.io, for KS_FORM_PARTIAL. */
int ks_chunk_add_object(struct ks_chunk *chunk, const struct ks_schema *schema, struct ks_object *object, uint16_t resource, uint64_t revision,
	enum ks_object_form form, struct ks_str as_version) __attribute__((warn_unused_result));
/* Ends the block that is being filled: `pieces` is complete. False when something failed: nothing may be sent. */
bool ks_chunk_seal(struct ks_chunk *chunk) __attribute__((warn_unused_result));
/* The pieces were taken over by somebody. */
void ks_chunk_taken(struct ks_chunk *chunk);

#endif
