/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the OpenAPI writers share. */
#ifndef KS_API_OPENAPI_PRIVATE_H
#define KS_API_OPENAPI_PRIVATE_H

#include "core/api/document.h"
#include "core/api/openapi.h"

/* One document being written. Types that it refers to are remembered, so that their schemas can be written afterwards. */
struct ks_openapi_writer {
	struct ks_document doc;
	const struct ks_schema *s;
	int version;                       /* 2 or 3 */
	bool cbor;                         /* CBOR is among the media types */
	const char *group, *group_version; /* v3: whose document it is; NULL: of no group */
	unsigned char *used;               /* by type: 1 referred to, 2 written too */
	bool uses_patch;
	uint16_t status, delete_options, watch_event; /* types that operations refer to */
	uint16_t list_options, patch_options;         /* types whose fields are query parameters */
};

/* What a body or an answer is. */
enum ks_openapi_body {
	KS_BODY_NONE,
	KS_BODY_TEXT,
	KS_BODY_PATCH,
	KS_BODY_TYPE, /* `type` of the operation's resource, or another one that the operation names */
};

enum ks_openapi_media {
	KS_MEDIA_ALL,     /* JSON, YAML, protobuf */
	KS_MEDIA_STREAM,  /* the same, and their streams */
	KS_MEDIA_LOG,     /* the same, and text */
	KS_MEDIA_JSON,
	KS_MEDIA_KEY_SET, /* application/jwk-set+json */
	KS_MEDIA_ANY,     /* anything */
};

enum { KS_ANSWER_CREATED = 1, KS_ANSWER_ACCEPTED = 2 }; /* beside 200 and 401 */

struct ks_openapi_operation {
	const char *method;      /* "get" */
	const char *action;      /* x-kubernetes-action; NULL: none, and no kind either */
	const char *tag;
	struct ks_str id;        /* operationId */
	uint64_t parameters;     /* bits of enum ks_openapi_parameter */
	enum ks_openapi_body body, answer;
	uint16_t body_type, answer_type;
	bool body_required;
	unsigned answers;
	enum ks_openapi_media produces;
	const char *kind_group, *kind_version, *kind;
};

enum ks_openapi_parameter {
	KS_PARAM_ALLOW_BOOKMARKS, KS_PARAM_CONTINUE, KS_PARAM_DRY_RUN, KS_PARAM_FIELD_MANAGER, KS_PARAM_FIELD_SELECTOR,
	KS_PARAM_FIELD_VALIDATION, KS_PARAM_FORCE, KS_PARAM_GRACE_PERIOD, KS_PARAM_IGNORE_READ_ERROR, KS_PARAM_LABEL_SELECTOR,
	KS_PARAM_LIMIT, KS_PARAM_NAME, KS_PARAM_NAMESPACE, KS_PARAM_ORPHAN, KS_PARAM_PATH, KS_PARAM_PRETTY, KS_PARAM_PROPAGATION,
	KS_PARAM_VERSION, KS_PARAM_VERSION_MATCH, KS_PARAM_INITIAL_EVENTS, KS_PARAM_SHARD, KS_PARAM_TIMEOUT, KS_PARAM_WATCH,
	KS_PARAM_COUNT,
};

#define KS_PARAM(name) (UINT64_C(1) << KS_PARAM_##name)
#define KS_PARAMS_LIST (KS_PARAM(ALLOW_BOOKMARKS) | KS_PARAM(CONTINUE) | KS_PARAM(FIELD_SELECTOR) | \
	KS_PARAM(LABEL_SELECTOR) | KS_PARAM(LIMIT) | KS_PARAM(PRETTY) | KS_PARAM(VERSION) | KS_PARAM(VERSION_MATCH) | \
	KS_PARAM(INITIAL_EVENTS) | KS_PARAM(SHARD) | KS_PARAM(TIMEOUT) | KS_PARAM(WATCH))
#define KS_PARAMS_DELETE (KS_PARAM(DRY_RUN) | KS_PARAM(GRACE_PERIOD) | KS_PARAM(IGNORE_READ_ERROR) | \
	KS_PARAM(ORPHAN) | KS_PARAM(PRETTY) | KS_PARAM(PROPAGATION))
#define KS_PARAMS_DELETE_COLLECTION (KS_PARAMS_DELETE | (KS_PARAMS_LIST & ~(KS_PARAM(ALLOW_BOOKMARKS) | KS_PARAM(WATCH))))
#define KS_PARAMS_WRITE (KS_PARAM(DRY_RUN) | KS_PARAM(FIELD_MANAGER) | KS_PARAM(FIELD_VALIDATION) | KS_PARAM(PRETTY))
#define KS_PARAMS_PATCH (KS_PARAMS_WRITE | KS_PARAM(FORCE))

/* Writes a path with its operations, of which all have `common` in the path (name, namespace, path). What all operations
 * take is written once, with the query parameters that the fields of `options` (a STRUCT, or 0) are. */
void ks_openapi_path(struct ks_openapi_writer *w, struct ks_str path, const struct ks_openapi_operation *operations,
	size_t n, uint16_t options);

/* v2: the parameters that operations refer to, the member `parameters` of the document. */
void ks_openapi_parameters(struct ks_openapi_writer *w);

/* The member "description", when there is something to say. */
void ks_openapi_describe(struct ks_openapi_writer *w, const char *description);
/* {"$ref": ...}, marking the type used. */
void ks_openapi_ref(struct ks_openapi_writer *w, uint16_t type);
void ks_openapi_ref_patch(struct ks_openapi_writer *w);
/* The schemas of all types used, and those that they use: the members of `definitions` or `components.schemas`. */
int ks_openapi_schemas(struct ks_openapi_writer *w) __attribute__((warn_unused_result));

/* The paths of one group version: members of `paths`. 0 or -ENOMEM. */
int ks_openapi_group_version_paths(struct ks_openapi_writer *w, const struct ks_group_version *gv)
	__attribute__((warn_unused_result));
/* Group as operation ids ("RbacAuthorization") and tags ("rbacAuthorization") have it. */
void ks_openapi_add_group_id(struct ks_buf *out, const char *group, bool capital);

#endif
