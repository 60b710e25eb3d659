/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What requests that are no objects of their own do to objects: bindings and evictions of pods. Trees only; the handlers store them. */
#ifndef KS_REGISTRY_SUBRESOURCES_H
#define KS_REGISTRY_SUBRESOURCES_H

#include "core/registry/registry.h"

/* Is the Binding one? 0 or the code set in `status`. */
int ks_binding_validate(struct ks_registry_context *ctx, const struct ks_value *binding, struct ks_status *status);
/* Puts the pod on the binding's node. NULL, or why that can't be. */
const char *ks_pod_bind(struct ks_registry_context *ctx, struct ks_value *pod, const struct ks_value *binding);

bool ks_pod_is_ready(struct ks_registry_context *ctx, const struct ks_value *pod);
/* A pod that serves nobody (not yet, or no more) counts for no budget. */
bool ks_pod_is_idle(struct ks_registry_context *ctx, const struct ks_value *pod);
/* It could begin to serve in the meantime: what was decided holds for this revision alone. */
bool ks_pod_may_wake(struct ks_registry_context *ctx, const struct ks_value *pod);

/* The pod's status says why it goes. False when out of memory. */
bool ks_pod_mark_evicted(struct ks_registry_context *ctx, struct ks_value *pod) __attribute__((warn_unused_result));

/* Does the budget speak of pods with these labels? */
bool ks_budget_covers(struct ks_registry_context *ctx, const struct ks_value *budget, const struct ks_label *labels, size_t n_labels);
/* May a pod that isn't ready go without being counted? */
bool ks_budget_ignores_unready(struct ks_registry_context *ctx, const struct ks_value *budget);
/* Notes one disruption in the budget's status. 0 or the code set in `status`: there is none to spare. */
int ks_budget_take(struct ks_registry_context *ctx, struct ks_value *budget, struct ks_str pod_name, struct ks_status *status);
/* 429: the budget can't be judged now. */
int ks_budget_busy(struct ks_registry_context *ctx, struct ks_str budget_name, struct ks_status *status);

#endif
