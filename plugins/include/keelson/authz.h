/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* keelson/authz.h: may they. */
#ifndef KEELSON_AUTHZ_H
#define KEELSON_AUTHZ_H

#include <keelson/authn.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KS_AUTHZ_VERSION 1

enum ks_authz_decision {
	KS_AUTHZ_DENY = 0,
	KS_AUTHZ_ALLOW = 1,
	KS_AUTHZ_NO_OPINION = 2  /* the next one is asked; the end of the chain denies */
};

struct ks_user {
	uint32_t size;
	struct ks_view name, uid;
	const struct ks_view *groups;
	size_t n_groups;
	const struct ks_authn_extra *extra;
	size_t n_extra;
};

struct ks_authz_attributes {
	uint32_t size;
	const struct ks_user *user;
	struct ks_view verb;            /* get, list, watch, create, update, patch, delete, deletecollection, ...; lower-case HTTP method for paths */
	uint32_t is_resource;           /* 0: a non-resource path */
	struct ks_view group, version, resource, subresource, namespace_, name;
	struct ks_view path;            /* always */
	struct ks_view label_selector, field_selector; /* of list, watch, deletecollection, as sent; empty when none */
};

struct ks_authz_result {
	uint32_t size;
	uint32_t decision;      /* enum ks_authz_decision */
	struct ks_view reason;  /* for the refusal's message; the operation's or instance's memory */
};

/* What a user may do in a namespace (SelfSubjectRulesReview, and the check against escalation). */
struct ks_authz_rule {
	const struct ks_view *verbs, *groups, *resources, *names, *paths;
	size_t n_verbs, n_groups, n_resources, n_names, n_paths;
};
struct ks_authz_rules {
	uint32_t size;
	uint32_t incomplete;    /* 1: there may be more */
	const struct ks_authz_rule *rules;
	size_t n_rules;
};

struct ks_authz_ops {
	uint32_t size;
	/* KS_DONE with the result filled, KS_PENDING, or negative: the next authorizer is asked; without any opinion the end is a 500 rather than
	 * a 403. */
	int (*authorize)(void *self, struct ks_op *op, const struct ks_authz_attributes *attributes, struct ks_authz_result *result);
	/* NULL when it can't tell. Same results. */
	int (*rules)(void *self, struct ks_op *op, const struct ks_user *user, struct ks_view namespace_, struct ks_authz_rules *rules);
};

#ifdef __cplusplus
}
#endif

#endif
