/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain: the table of stages, and what was made ahead of one set of plugins.
 * It belongs to the set, which is shared by count: a request that holds the set holds its chain.
 */
#ifndef KS_PIPELINE_CHAIN_H
#define KS_PIPELINE_CHAIN_H

#include "core/pipeline/request.h"

struct ks_chain_stage {
	const char *name; /* as metrics and logs call it */
	enum ks_stage_result (*run)(struct ks_request *request);
};

/* In order. */
extern const struct ks_chain_stage ks_chain_stages[];
extern const size_t ks_chain_n_stages;

/* Which admission controllers see which resource: bits by their place in the set. At most 64 controllers. */
enum { KS_ADMISSION_MOST = 64 };
struct ks_chain {
	const struct ks_schema *schema;      /* that the index was made for */
	uint64_t mutates, validates;         /* which of them do what */
	uint64_t no_dry_run;                 /* have side effects */
	uint64_t *matches;                   /* [resource * 4 + operation] */
	size_t n_admission;
};

/* 0 or negative: too many controllers, or out of memory. */
int ks_chain_new(struct ks_plugin_set *set, const struct ks_schema *schema, struct ks_chain **out_r, struct ks_error *err) __attribute__((warn_unused_result));
void ks_chain_free(struct ks_chain *chain);

/* The stages, one file each. */
enum ks_stage_result ks_stage_info(struct ks_request *request);
enum ks_stage_result ks_stage_deadline(struct ks_request *request);
enum ks_stage_result ks_stage_authentication(struct ks_request *request);
enum ks_stage_result ks_stage_impersonation(struct ks_request *request);
enum ks_stage_result ks_stage_authorization(struct ks_request *request);
enum ks_stage_result ks_stage_dispatch(struct ks_request *request);

/* RequestInfo of method, raw path and query, which is all it needs; used by the stage and by tests. 0; -EINVAL with request->status set: a malformed
 * escape; -ENOMEM. */
int ks_info_parse(struct ks_request *request) __attribute__((warn_unused_result));

/* What the request asks for, as authorizers are asked. `user` must stay. */
struct ks_user;
struct ks_authz_attributes;
void ks_authorization_attributes(struct ks_request *request, const struct ks_user *user, struct ks_authz_attributes *out_r);

#endif
