/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON documents that the server makes itself (discovery, OpenAPI):
 * commas and quotes are its business. A failed allocation is remembered by the buffer.
 */
#ifndef KS_API_DOCUMENT_H
#define KS_API_DOCUMENT_H

#include "core/util/buf.h"

struct ks_document {
	struct ks_buf out;
	bool comma; /* something stands before in this object or list */
};

void ks_document_init(struct ks_document *doc);
void ks_document_fini(struct ks_document *doc);
/* The bytes written, and the document is finished. NULL when out of memory. */
struct ks_bytes *ks_document_finish(struct ks_document *doc) __attribute__((warn_unused_result));

void ks_document_open(struct ks_document *doc, char bracket);  /* '{' or '[' */
void ks_document_close(struct ks_document *doc, char bracket); /* '}' or ']' */
/* Begins a member; a value or an opening bracket follows. */
void ks_document_key(struct ks_document *doc, const char *key);
void ks_document_text(struct ks_document *doc, struct ks_str text);
/* Any JSON value, written as it is. */
void ks_document_raw(struct ks_document *doc, const char *json);

/* Whole members. */
void ks_document_add(struct ks_document *doc, const char *key, const char *text);
void ks_document_add_raw(struct ks_document *doc, const char *key, const char *json);
/* key:{ or key:[ */
void ks_document_enter(struct ks_document *doc, const char *key, char bracket);

/* SHA-512 in upper-case hexadecimal with a NUL: what kube-apiserver makes ETags and ?hash= of. 0, or -EIO. */
#define KS_DOCUMENT_HASH_SIZE 129
int ks_document_hash(const void *p, size_t n, char hash_r[KS_DOCUMENT_HASH_SIZE]) __attribute__((warn_unused_result));

#endif
