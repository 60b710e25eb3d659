/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the files of the plugin share. */
#ifndef KS_ADMISSION_RESOURCEQUOTA_QUOTA_H
#define KS_ADMISSION_RESOURCEQUOTA_QUOTA_H

#include <keelson/sdk/amounts.h>

/* What is counted differently from "one object more". */
enum ks_quota_kind { KS_QUOTA_OBJECT, KS_QUOTA_POD, KS_QUOTA_SERVICE, KS_QUOTA_CLAIM };

/* -- usage.c -- */
enum ks_quota_kind ks_quota_kind_of(const struct ks_admission_request *request);
/* What an object of the request's resource uses. */
void ks_quota_usage(const struct ks_admit *call, struct ks_val object, struct ks_amounts *usage);
/* Does a quota of this name speak of the request's resource? */
int ks_quota_counts(const struct ks_admit *call, struct ks_view name);

/* -- scopes.c -- */
/* Is the object within all scopes of the quota's spec? */
int ks_quota_in_scope(const struct ks_admit *call, struct ks_val quota, struct ks_val object);

/* -- required.c -- */
/* What a pod must say since the quota counts it: "must specify requests.cpu for: a"; empty: nothing is missing. */
struct ks_view ks_quota_missing(const struct ks_admit *call, const struct ks_amounts *hard, struct ks_val pod);

/* -- check.c -- */
/* A quota whose `used` changes. */
struct ks_quota_change {
	struct ks_quota_change *next;
	struct ks_view name, body; /* a merge patch of its status */
	int written;
};
/* Holds the request against the quotas of its namespace but those that `changes` has as written. A refusal stands in the result, or the changes
 * to be made are added to the list. KS_DONE or negative. */
int ks_quota_check(const struct ks_admit *call, struct ks_quota_change **changes);

#endif
