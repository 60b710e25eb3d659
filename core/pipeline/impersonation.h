/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Being somebody else: what the Impersonate-* headers ask for, and the checks that each way of allowing it needs.
 * Private to core/pipeline.
 *
 * There are five ways, tried in order: four that limit what may be done as whom (the verbs impersonate:WAY, and impersonate-on:WAY:VERB for the
 * request itself), and the old one (the verb impersonate) that doesn't.
 */
#ifndef KS_PIPELINE_IMPERSONATION_H
#define KS_PIPELINE_IMPERSONATION_H

#include <keelson/authz.h>

#include "core/pipeline/request.h"

enum ks_impersonation_way { KS_AS_ASSOCIATED_NODE, KS_AS_ARBITRARY_NODE, KS_AS_SERVICE_ACCOUNT, KS_AS_USER_INFO, KS_AS_LEGACY, KS_N_IMPERSONATION_WAYS };

/* 1: *wanted_r is asked for; 0: nobody is; negative: request->status is set. Texts are the request's. */
int ks_impersonation_headers(struct ks_request *request, struct ks_user_info *wanted_r) __attribute__((warn_unused_result));

/* Can that way be used by `requestor` to be `wanted` at all? */
bool ks_impersonation_applies(enum ks_impersonation_way way, const struct ks_user_info *requestor, const struct ks_user_info *wanted);

/* The question number `index` of a way. `attributes` holds those of the request itself, and is changed to the question's.
 * 1: to be asked; 0: there are no more; -1: refused without asking, for `*reason_r`; -ENOMEM. */
int ks_impersonation_question(struct ks_arena *arena, enum ks_impersonation_way way, const struct ks_user_info *wanted, size_t index,
	struct ks_authz_attributes *attributes, const char **reason_r) __attribute__((warn_unused_result));

/* Whom the request is from now on, groups completed. False when out of memory. */
bool ks_impersonation_user(struct ks_arena *arena, enum ks_impersonation_way way, const struct ks_user_info *wanted, struct ks_user_info *user_r)
	__attribute__((warn_unused_result));
/* What authorizers see of a service account that wants to be its own node: which extra keys it has, not what they say. */
bool ks_impersonation_requestor(struct ks_arena *arena, const struct ks_user_info *user, struct ks_user_info *out_r) __attribute__((warn_unused_result));

#endif
