/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* keelson/sdk/admit.h: what admission controllers have in common: texts, refusals and edits in the operation's memory. Link with -lkeelson-sdk. */
#ifndef KEELSON_SDK_ADMIT_H
#define KEELSON_SDK_ADMIT_H

#include <keelson/admission.h>
#include <keelson/sdk/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define KS_ADMIT_PRINTF(text_at, first_at) __attribute__((format(printf, text_at, first_at)))
#else
#define KS_ADMIT_PRINTF(text_at, first_at)
#endif

/* printf arguments for "%.*s". */
#define KS_VIEW_ARGS(v) (int)(v).n, (v).n ? (v).p : ""

/* One call: who is asked, and what about. */
struct ks_admit {
	const struct ks_host *host;
	struct ks_op *op;
	const struct ks_admission_request *request;
	struct ks_admission_result *result;
};

/* printf in the operation's memory, with a NUL behind it; p is NULL when out of memory. */
struct ks_view ks_admit_printf(const struct ks_admit *call, const char *format, ...) KS_ADMIT_PRINTF(2, 3);
/* As a JSON string, quotes included; as Go's %q prints it. p is NULL when out of memory. */
struct ks_view ks_admit_json(const struct ks_admit *call, struct ks_view text);
struct ks_view ks_admit_quote(const struct ks_admit *call, struct ks_view text);

/* The answers. KS_DONE, or KS_ERR_NOMEM. A refusal is a 403 `pods "x" is forbidden: MESSAGE`. */
int ks_admit_allow(const struct ks_admit *call);
int ks_admit_deny(const struct ks_admit *call, const char *format, ...) KS_ADMIT_PRINTF(2, 3);

/* Sets what the pointer names (see values->edit_set); `json` with p NULL means that there was no memory for it. */
int ks_admit_set(const struct ks_admit *call, struct ks_view json, const char *pointer, ...) KS_ADMIT_PRINTF(3, 4);
/* The same with a text, which is made a JSON string. */
int ks_admit_set_text(const struct ks_admit *call, struct ks_view text, const char *pointer, ...) KS_ADMIT_PRINTF(3, 4);
/* The object with the edits so far; in `validate` the object itself. */
struct ks_val ks_admit_object(const struct ks_admit *call);

/* A member of an object, by a name that is no constant path (a label's key). */
struct ks_val ks_admit_member(const struct ks_admit *call, struct ks_val object, const char *name);
/* The text of a member; empty when it is absent. */
struct ks_view ks_admit_text(const struct ks_admit *call, struct ks_val object, const char *name);
/* Present, and not null. */
int ks_admit_has(const struct ks_admit *call, struct ks_val object, const char *name);

/* Paths that an instance compiles in `create`, into members of its struct. */
struct ks_admit_path {
	size_t offset; /* of a const struct ks_path * */
	const char *text;
};
/* KS_DONE or KS_ERR_NOMEM. */
int ks_admit_paths(const struct ks_host *host, void *self, const struct ks_admit_path *paths, size_t n);

#ifdef __cplusplus
}
#endif

#endif
