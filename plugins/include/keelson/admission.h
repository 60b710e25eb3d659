/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* keelson/admission.h: should this object be changed or refused. */
#ifndef KEELSON_ADMISSION_H
#define KEELSON_ADMISSION_H

#include <keelson/authz.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KS_ADMISSION_VERSION 1

enum ks_operation {
	KS_OPERATION_CREATE = 1 << 0,
	KS_OPERATION_UPDATE = 1 << 1, /* updates and patches */
	KS_OPERATION_DELETE = 1 << 2,
	KS_OPERATION_CONNECT = 1 << 3
};

/* ks_interface.flags */
enum ks_admission_flag {
	KS_ADMISSION_SIDE_EFFECTS = 1 << 0, /* writes elsewhere: not called for dry runs */
	KS_ADMISSION_NEEDS_OLD = 1 << 1     /* wants the old object on updates and deletes */
};

/* What it wants to see; the host calls it for nothing else. "*" matches all. */
struct ks_admission_match {
	uint32_t operations;        /* enum ks_operation, or-ed */
	const char *group;          /* "" is the core group */
	const char *resource;       /* "pods", "pods/status", "*" (resources), "*" "/" "*" (all, subresources too) */
};

struct ks_admission_request {
	uint32_t size;
	uint32_t operation;         /* one of enum ks_operation */
	const struct ks_user *user;
	struct ks_view group, version, resource, subresource, kind;
	struct ks_view namespace_, name; /* name may be empty on create with generateName */
	struct ks_val object;       /* absent on delete */
	struct ks_val old_object;   /* absent on create */
	uint32_t dry_run;
	struct ks_val options;      /* CreateOptions, ...; absent when none */
};

/* A cause of a denial; see metav1.StatusCause. */
struct ks_admission_cause { struct ks_view reason, field, message; };

/* Zeroed before the call. Memory: the operation's or the instance's. */
struct ks_admission_result {
	uint32_t size;
	uint32_t allowed;           /* 1: go on. 0, the safe value: denied */
	int32_t code;               /* of a denial; 0: 403 */
	struct ks_view reason;      /* metav1 reason; empty: Forbidden (or what fits the code) */
	struct ks_view message;     /* for the client. With code 0 the host says `pods "x" is forbidden: MESSAGE` */
	/* With code 422 and no message the host words `KIND "NAME" is invalid: ...` from the causes. */
	const struct ks_admission_cause *causes;
	size_t n_causes;
	const struct ks_view *warnings; /* Warning: 299 headers, whether allowed or not */
	size_t n_warnings;
	/* What the Status's details name, when that isn't the object under review: a missing namespace, say. With code 404 and no message
	 * the host says `RESOURCE "NAME" not found`. All empty: the object under review. */
	struct ks_view about_group, about_resource, about_name;
};

struct ks_admission_ops {
	uint32_t size;
	const struct ks_admission_match *matches; /* of this library; an instance narrows further itself */
	size_t n_matches;
	/* May edit (values->edit_*); the edits take effect when it ends with KS_DONE and allowed. NULL when it only validates. KS_DONE, KS_PENDING or
	 * negative (500). */
	int (*mutate)(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result);
	/* Sees the final object. NULL when it only mutates. */
	int (*validate)(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result);
	/* Reads its files again (SIGHUP, when its configuration has not changed); calls that run finish on what was before. NULL: nothing to read.
	 * Main thread. An error keeps the old state, and the whole reload is refused with its words. */
	int (*reload)(void *self, struct ks_plugin_error *error);
};

#ifdef __cplusplus
}
#endif

#endif
