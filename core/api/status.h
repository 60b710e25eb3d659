/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * metav1.Status: what a client is told when a request is refused (and for some
 * deletions, done). Constructors word the message and details as
 * k8s.io/apimachinery/pkg/api/errors does. Memory is the arena's of the request.
 */
#ifndef KS_API_STATUS_H
#define KS_API_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/util/arena.h"
#include "core/util/buf.h"

struct ks_status_cause {
	const char *reason;  /* "FieldValueInvalid", ...; NULL: none */
	const char *message;
	const char *field;
	struct ks_status_cause *next;
};

struct ks_status {
	int code;               /* HTTP status; 0: no error set */
	bool success;           /* status "Success" (answers of some deletes) */
	const char *reason;     /* "NotFound", ...; NULL: none */
	const char *message;
	const char *name, *group, *kind, *uid; /* details; NULL: left out */
	int retry_after_seconds; /* details.retryAfterSeconds and the Retry-After header; 0: none */
	bool has_details;
	struct ks_status_cause *causes, *last_cause;
};

/* Sets code, reason and a printed message. A failed allocation falls back to a constant text. Always returns `code`,
 * so that handlers write `return ks_status_set(...)`. */
int ks_status_set(struct ks_status *status, struct ks_arena *arena, int code, const char *reason, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* 404 NotFound: `pods "x" not found`; group-qualified as `deployments.apps "x" not found`. */
int ks_status_not_found(struct ks_status *status, struct ks_arena *arena, const char *group, const char *resource, struct ks_str name);
/* 409 AlreadyExists: `pods "x" already exists`. */
int ks_status_already_exists(struct ks_status *status, struct ks_arena *arena, const char *group, const char *resource, struct ks_str name);
/* 409 Conflict: `Operation cannot be fulfilled on pods "x": WHY`. */
int ks_status_conflict(struct ks_status *status, struct ks_arena *arena, const char *group, const char *resource, struct ks_str name, const char *why);
/* 403 Forbidden: `pods "x" is forbidden: WHY` (without a name: `pods is forbidden: WHY`). */
int ks_status_forbidden(struct ks_status *status, struct ks_arena *arena, const char *group, const char *resource, struct ks_str name, const char *why);
int ks_status_bad_request(struct ks_status *status, struct ks_arena *arena, const char *format, ...) __attribute__((format(printf, 3, 4)));
int ks_status_internal(struct ks_status *status, struct ks_arena *arena, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* What upstream says when all it has is a code: its reason and sentence, with ` (VERB RESOURCE NAME)` behind it when there is a resource.
 * `verb` is the HTTP method; `server_message` is shown for codes 403, 406 and 415, and inside the sentence of other codes from 500 on. */
int ks_status_generic(struct ks_status *status, struct ks_arena *arena, int code, const char *verb, const char *group, const char *resource, struct ks_str name, const char *server_message);
/* 422 Invalid. Causes are added afterwards with ks_status_cause; ks_status_invalid_finish words the message from them. */
int ks_status_invalid(struct ks_status *status, struct ks_arena *arena, const char *group, const char *kind, struct ks_str name);
void ks_status_cause(struct ks_status *status, struct ks_arena *arena, const char *reason, const char *field, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
int ks_status_invalid_finish(struct ks_status *status, struct ks_arena *arena);

/* Writes the Status as JSON. */
void ks_status_encode_json(const struct ks_status *status, struct ks_buf *out);

#endif
