/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenAPI documents, made from the schema tables on demand: v3 with an index and a document a group version, and v2.
 * Pure functions; who serves them keeps what they return. A document of a large group takes a few milliseconds
 * and v2 some tens: not for the event loop of a worker.
 *
 * Functions return 0, -ENOENT when there is no such document, -ENOMEM, or -EIO when a hash can't be made.
 */
#ifndef KS_API_OPENAPI_H
#define KS_API_OPENAPI_H

#include "core/api/discovery.h"
#include "core/api/document.h"

struct ks_openapi {
	const struct ks_discovery *served;
	const char *version; /* info.version: the version of Kubernetes, as /version tells it */
	bool issuer;         /* the documents of the service account issuer are served too */
	bool cbor;           /* CBOR is among the media types */
};

/* /openapi/v3: where the documents are, each with its hash. */
int ks_openapi_v3_index(const struct ks_openapi *api, struct ks_bytes **out_r) __attribute__((warn_unused_result));
/* /openapi/v3/PATH, such as "apis/apps/v1", "api" or "version". */
int ks_openapi_v3_document(const struct ks_openapi *api, struct ks_str path, struct ks_bytes **out_r)
	__attribute__((warn_unused_result));
/* The hash of a document as the index has it (its ?hash= and ETag), without making the document: it changes when the
 * tables, the path or the server's version do. */
int ks_openapi_v3_hash(const struct ks_openapi *api, struct ks_str path, char hash_r[KS_DOCUMENT_HASH_SIZE])
	__attribute__((warn_unused_result));
/* /openapi/v2 as JSON: everything in one. */
int ks_openapi_v2_document(const struct ks_openapi *api, struct ks_bytes **out_r) __attribute__((warn_unused_result));

#endif
