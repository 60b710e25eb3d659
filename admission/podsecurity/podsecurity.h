/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the files of the plugin share. */
#ifndef KS_ADMISSION_PODSECURITY_H
#define KS_ADMISSION_PODSECURITY_H

#include <keelson/sdk/admit.h>

enum ks_pss_level { KS_PSS_PRIVILEGED, KS_PSS_BASELINE, KS_PSS_RESTRICTED };

#define KS_PSS_LATEST INT32_MAX

/* A level of the pod security standards as it was in version 1.MINOR. */
struct ks_pss_policy {
	int level; /* enum ks_pss_level */
	int32_t minor; /* KS_PSS_LATEST */
};

/* What a pod violates: "privileged, hostPort", and with the details in brackets. Empty: nothing. */
struct ks_pss_verdict {
	struct ks_view reasons, details;
	int failed; /* 1: out of memory */
};

/* -- policy.c -- */
enum ks_pss_mode { KS_PSS_ENFORCE, KS_PSS_AUDIT, KS_PSS_WARN, KS_PSS_N_MODES };
/* "restricted:latest", in the operation's memory. */
struct ks_view ks_pss_policy_text(const struct ks_admit *call, const struct ks_pss_policy *policy);
/* 0, or -1: it is none; the strictest then. */
int ks_pss_level_parse(struct ks_view text, int *level_r);
int ks_pss_version_parse(struct ks_view text, int32_t *minor_r);
/* What the labels of a namespace say over the defaults. Returns how many of them are wrong; a cause for each, when asked for (6 at most). */
size_t ks_pss_labels(const struct ks_admit *call, struct ks_val namespace_, const struct ks_pss_policy defaults[KS_PSS_N_MODES],
	struct ks_pss_policy out[KS_PSS_N_MODES], struct ks_admission_cause *causes);

/* -- checks.c -- */
/* Looks at a pod or a pod template (`metadata` may be absent). */
struct ks_pss_verdict ks_pss_evaluate(const struct ks_admit *call, const struct ks_pss_policy *policy, struct ks_val metadata, struct ks_val spec);

/* -- names.c: lists of names in the operation's memory -- */
struct ks_pss_names {
	struct ks_view *items;
	size_t n, cap;
	int failed;
};
void ks_pss_names_add(const struct ks_admit *call, struct ks_pss_names *names, struct ks_view name);
/* Keeps them sorted, each once. */
void ks_pss_names_insert(const struct ks_admit *call, struct ks_pss_names *names, struct ks_view name);
/* "a", "b" in quotes; and joined by a text. */
struct ks_view ks_pss_names_quoted(const struct ks_admit *call, const struct ks_pss_names *names);
struct ks_view ks_pss_names_joined(const struct ks_admit *call, const struct ks_pss_names *names, const char *between);

/* -- existing.c: what a stricter policy would say of the pods that are there -- */
/* Warnings into the call's result. May take long: not on a worker. KS_DONE or negative. */
int ks_pss_warn_of_pods(const struct ks_admit *call, const struct ks_pss_policy *policy, struct ks_view namespace_);

#endif
