/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents that are made once, on first use, on a thread of their own, and then served
 * from memory: discovery and OpenAPI. Private to core/pipeline.
 */
#ifndef KS_PIPELINE_DOCUMENTS_H
#define KS_PIPELINE_DOCUMENTS_H

#include "core/api/document.h"
#include "core/pipeline/request.h"

struct ks_documents;

/* A finished document; shared by count. */
struct ks_made_document {
	_Atomic uint32_t refs;
	int result;               /* 0, or the negative that `make` returned */
	struct ks_bytes *bytes, *gzip; /* gzip NULL: not worth it */
	char etag[KS_DOCUMENT_HASH_SIZE + 2]; /* in double quotes */
};

/* Makes the bytes of one document, on the maker's thread. `hash` may be filled; when it is left empty, it is that of the bytes. 0 or negative. */
typedef int (*ks_document_maker)(void *arg, struct ks_str key, struct ks_bytes **bytes_r, char hash[KS_DOCUMENT_HASH_SIZE]);

struct ks_documents *ks_documents_new(ks_document_maker make, void *arg) __attribute__((warn_unused_result));
/* Waits for the one that is being made. */
void ks_documents_free(struct ks_documents **documents);
/* All are made anew when they are asked for again. Any thread. */
void ks_documents_forget(struct ks_documents *documents);

/* KS_STAGE_NEXT: *out_r is there, owned by the request until it ends; KS_STAGE_PENDING: it is being made, the stage is called again;
 * KS_STAGE_FAILED: status is set (out of memory). */
enum ks_stage_result ks_documents_get(struct ks_documents *documents, struct ks_request *request, struct ks_str key, struct ks_made_document **out_r)
	__attribute__((warn_unused_result));

/* Sends it: 304 for a matching If-None-Match, compressed for who accepts that. `headers` need no etag. */
void ks_documents_respond(struct ks_request *request, struct ks_made_document *document, const char *content_type, const struct ks_header *headers,
	size_t n_headers);

#endif
