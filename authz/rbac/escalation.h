/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The library's second interface: an admission controller that lets nobody give rights that he doesn't have. */
#ifndef KS_RBAC_ESCALATION_H
#define KS_RBAC_ESCALATION_H

#include <keelson/admission.h>

enum { RBAC_ESCALATION_KEYS = 1 };

struct rbac_escalation_config {
	struct ks_config_list privileged_groups;
};

extern const struct ks_lifecycle ks_rbac_escalation_lifecycle;
extern const struct ks_admission_ops ks_rbac_escalation_ops;
extern const struct ks_config_key ks_rbac_escalation_keys[RBAC_ESCALATION_KEYS];

#endif
