/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The flow schemas and priority levels that the server itself sees to. */
#ifndef KS_REGISTRY_FLOWCONTROL_H
#define KS_REGISTRY_FLOWCONTROL_H

#include "core/registry/meta.h"
#include "core/registry/registry.h"

#define KS_FLOW_AUTOUPDATE "apf.kubernetes.io/autoupdate-spec"
#define KS_FLOW_MANAGER "api-priority-and-fairness-config-producer-v1"

/* The mandatory ones are what their release says; of the others an operator may keep his own. */
struct ks_flow_default {
	const char *collection, *name, *json;
	bool mandatory;
};
const struct ks_flow_default *ks_flowcontrol_defaults(size_t *n_r);
/* Makes `current` what it should be; `wanted` is complete with defaults. 1: it was changed; 0: it is as it should be; -1: out of memory. */
int ks_flowcontrol_revise(struct ks_arena *arena, const struct ks_schema *schema, bool mandatory, const struct ks_value *wanted,
	struct ks_value *current);
/* One that an earlier release made and that this one doesn't have. */
bool ks_flowcontrol_is_left_over(const struct ks_schema *schema, const struct ks_value *object, struct ks_str collection);

#endif
