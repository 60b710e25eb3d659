/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the chain of authorizers one question on behalf of a request: the stage does it with what the request itself asks for,
 * impersonation and reviews with other attributes.
 *
 *     ks_authorize_init(&a, request);
 *     a.attributes = ...;
 *     if (ks_authorize_run(&a) == KS_PENDING) return KS_STAGE_PENDING;   // called again after the resume
 *     ... a.decision ...
 *     ks_authorize_fini(&a);
 */
#ifndef KS_PIPELINE_AUTHORIZE_H
#define KS_PIPELINE_AUTHORIZE_H

#include <keelson/authz.h>

#include "core/pipeline/call.h"

enum ks_authorize_decision {
	KS_AUTHORIZE_DENIED,  /* by one of them, or nobody had an opinion */
	KS_AUTHORIZE_ALLOWED,
	KS_AUTHORIZE_FAILED   /* nobody had an opinion, and one that might have could not tell: `error` */
};

struct ks_authorize {
	struct ks_authz_attributes attributes; /* the caller's; lives until the answer has come */
	enum ks_authorize_decision decision;
	struct ks_str reason;  /* of the denial; of several, one a line; the request's memory */
	const char *error;
	/* private */
	struct ks_call call;
	struct ks_authz_result result;
	size_t next;
	bool failed;
};

void ks_authorize_init(struct ks_authorize *authorize, struct ks_request *request);
/* KS_DONE or KS_PENDING. After KS_DONE a new question can be asked with the same struct: fill in attributes and run. */
int ks_authorize_run(struct ks_authorize *authorize) __attribute__((warn_unused_result));
/* Not while it is pending. Otherwise done when the request ends. */
void ks_authorize_fini(struct ks_authorize *authorize);

/* request->status: 403, as kube-apiserver words it for these attributes. `reason` may be empty. */
void ks_authorize_refuse(struct ks_request *request, const struct ks_authz_attributes *attributes, struct ks_str reason);
/* Nothing in the text looks like HTML afterwards. NULL when out of memory. */
const char *ks_authorize_sanitize(struct ks_arena *arena, struct ks_str text);

#endif
