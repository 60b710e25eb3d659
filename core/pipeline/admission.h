/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission, as handlers call it: each controller that wants to see the object is asked in the order of the configuration,
 * first those that change it, later, when it is complete and valid, those that only judge.
 *
 *     ks_admission_init(&a, request, KS_OPERATION_CREATE, resource_index, resumed);
 *     a.ns = ...; a.name = ...; a.object = &tree; a.options = &options;
 *     result = ks_admission_mutate(&a);             // or later ks_admission_validate(&a)
 *     if (result == KS_PENDING) ...                 // a.done(&a) follows, on the worker; a.result is what it came to
 *     if (result != KS_DONE) return KS_STAGE_FAILED // request->status says why
 *
 * A mutation may have replaced *a.object: parts of the new tree are memory of `a`, so ks_admission_fini comes after
 * the tree's last use (at the latest it is called when the request ends).
 */
#ifndef KS_PIPELINE_ADMISSION_H
#define KS_PIPELINE_ADMISSION_H

#include <keelson/admission.h>

#include "core/pipeline/call.h"
#include "plugins/host/host.h"

struct ks_admission {
	/* the caller's */
	struct ks_request *request;
	enum ks_operation operation;
	uint16_t resource;            /* of the resource or subresource that is written, index into server->schema */
	struct ks_str ns, name;       /* name may be empty on create */
	struct ks_value *object;      /* NULL on delete */
	const struct ks_value *old;   /* NULL on create */
	const struct ks_value *options; /* free form or typed; NULL: none */
	bool dry_run;
	void (*done)(struct ks_admission *admission); /* after KS_PENDING. NULL: ks_request_resume, and the next ks_admission_mutate or _validate returns the result */
	void *arg;
	int result;
	/* private */
	struct ks_call call;
	struct ks_user user;
	struct ks_admission_request view;
	struct ks_admission_result answer;
	struct ks_admission_call invocation;
	uint64_t left;                /* controllers to ask in this phase */
	size_t asking;
	bool mutating, under_way, viewed, finished;
};

/* Zeroes it and fills the first four fields. `resource` is an index into server->schema. */
void ks_admission_init(struct ks_admission *admission, struct ks_request *request, enum ks_operation operation, uint16_t resource,
	void (*done)(struct ks_admission *admission));
/* KS_DONE: go on; KS_PENDING; or negative: request->status says why it was refused. Warnings have been added to the request. */
int ks_admission_mutate(struct ks_admission *admission) __attribute__((warn_unused_result));
int ks_admission_validate(struct ks_admission *admission) __attribute__((warn_unused_result));
/* Does any controller want to see this? When none does, mutate and validate return KS_DONE at once. */
bool ks_admission_wanted(const struct ks_admission *admission);
/* Gives its memory back before the end of the request (loops over many objects). Not while a call is pending. */
void ks_admission_fini(struct ks_admission *admission);

#endif
