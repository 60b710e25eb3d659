/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the files of the plugin share. All give KS_DONE, with a refusal in the result or none, or negative. */
#ifndef KS_ADMISSION_SERVICEACCOUNT_H
#define KS_ADMISSION_SERVICEACCOUNT_H

#include <keelson/sdk/admit.h>

/* Was the call refused? */
static inline int ks_sa_refused(const struct ks_admit *call)
{
	return call->result->message.n > 0;
}

/* -- mount.c: every container gets the token, the CA and the namespace -- */
int ks_sa_mount(const struct ks_admit *call);

/* -- secrets.c -- */
/* A pod that a kubelet reads from a file may name no account and no secret. */
int ks_sa_check_mirror(const struct ks_admit *call);
/* An account may say that its pods use only the secrets that it lists. `ephemeral`: looks at ephemeral containers alone, else at all else. */
int ks_sa_check_secrets(const struct ks_admit *call, struct ks_val account, int ephemeral);

#endif
