/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * What a default role or binding lacks that a cluster has from before: an earlier release had fewer rules, or
 * somebody took some away. Nothing is ever taken away here, and whoever sets the annotation
 * rbac.authorization.kubernetes.io/autoupdate to "false" keeps what he has.
 */
#ifndef KS_RBAC_RECONCILE_H
#define KS_RBAC_RECONCILE_H

#include "authz/rbac/bootstrap.h"

enum rbac_reconcile {
	RBAC_LEAVE,
	RBAC_CREATE,
	RBAC_MEND,       /* by a patch */
	RBAC_MAKE_ANEW,  /* a binding to another role, which no update can change: deleted and created */
	RBAC_NO_MEMORY,
};

/* *patch_r: a JSON patch in the pool, with RBAC_MEND. */
enum rbac_reconcile ks_rbac_reconcile(struct ks_pool *pool, const struct rbac_default *wanted, const struct rbac_object *there, struct ks_view *patch_r);

#endif
