/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the controls share: one control's look at one pod, and the words for what it finds. */
#ifndef KS_ADMISSION_PODSECURITY_LOOK_H
#define KS_ADMISSION_PODSECURITY_LOOK_H

#include <string.h>

#include <keelson/sdk/podspec.h>

#include "admission/podsecurity/podsecurity.h"

/* One control's look at one pod. */
struct look {
	const struct ks_admit *call;
	const struct ks_value_ops *values;
	struct ks_val metadata, spec, context; /* the pod's own securityContext */
	int32_t minor;
	int failed;
	struct ks_view reason, detail; /* what is wrong; reason empty: nothing */
};

static inline const char *plural(const char *one, const char *many, size_t n)
{
	return n == 1 ? one : many;
}

static inline struct ks_podspec_walk walk_of(const struct look *l)
{
	return (struct ks_podspec_walk){.values = l->values, .spec = l->spec};
}

static inline struct ks_val context_of(const struct look *l, struct ks_val container)
{
	return ks_admit_member(l->call, container, "securityContext");
}

static inline struct ks_view name_of(const struct look *l, struct ks_val container)
{
	return ks_admit_text(l->call, container, "name");
}

static inline int is_true(const struct look *l, struct ks_val object, const char *member)
{
	return l->values->boolean(ks_admit_member(l->call, object, member));
}

static inline int is_false(const struct look *l, struct ks_val object, const char *member)
{
	struct ks_val v = ks_admit_member(l->call, object, member);

	return l->values->kind(v) == KS_VAL_BOOL && !l->values->boolean(v);
}

static inline int begins_with(struct ks_view text, const char *head)
{
	size_t n = strlen(head);

	return text.n >= n && memcmp(text.p, head, n) == 0;
}

static inline int is_among(struct ks_view text, const char *const *list)
{
	for (; *list; list++)
		if (ks_view_is(text, *list))
			return 1;
	return 0;
}

static inline void found(struct look *l, const char *reason, struct ks_view detail)
{
	l->reason = ks_view_lit(reason);
	l->detail = detail;
	l->failed |= !detail.p;
}

/* container "a", containers "a", "b" */
static inline struct ks_view containers_text(struct look *l, const struct ks_pss_names *names)
{
	l->failed |= names->failed;
	return ks_admit_printf(l->call, "%s %.*s", plural("container", "containers", names->n), KS_VIEW_ARGS(ks_pss_names_quoted(l->call, names)));
}

/* pod and containers "a", "b": who set something bad. Empty: nobody. */
static inline struct ks_view setters_text(struct look *l, int pod, const struct ks_pss_names *containers)
{
	if (!containers->n)
		return (struct ks_view){"pod", pod ? 3 : 0};
	return ks_admit_printf(l->call, "%s%.*s", pod ? "pod and " : "", KS_VIEW_ARGS(containers_text(l, containers)));
}

/* Since 1.35 a pod with users of its own may do what can't reach the host's. */
static inline int has_own_users(const struct look *l)
{
	return l->minor >= 35 && is_false(l, l->spec, "hostUsers");
}

struct ks_pss_control {
	void (*check)(struct look *l);
	int32_t since, before; /* minor versions: since <= v < before; 0: no end */
	int32_t overridden_since; /* a stricter one stands for it in `restricted`; -1: never */
};
/* In the order in which violations are told; the last one has no check. */
extern const struct ks_pss_control ks_pss_baseline[], ks_pss_restricted[];

/* -- what restricted shares of baseline -- */
/* Adds what a container adds and `good` doesn't list. 1: something. */
int ks_pss_bad_capabilities(const struct look *l, struct ks_val container, const char *const *good, struct ks_pss_names *values);
struct ks_view ks_pss_capabilities_text(struct look *l, const struct ks_pss_names *containers, const struct ks_pss_names *values);
/* 1: something bad was set, and is told. */
int ks_pss_tell_seccomp(struct look *l);
void ks_pss_check_proc_mount(struct look *l);

#endif
