/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Conversion of autoscalers: what has no field of the same name in the other version. False when out of memory or when an annotation can't be read. */
#ifndef KS_REGISTRY_AUTOSCALER_H
#define KS_REGISTRY_AUTOSCALER_H

#include "core/registry/registry.h"

bool ks_autoscaler_to_v1(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *from, struct ks_value *to) __attribute__((warn_unused_result));
bool ks_autoscaler_to_v2(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *from, struct ks_value *to) __attribute__((warn_unused_result));
/* Of a v2 object that has a behaviour. */
bool ks_autoscaler_behavior_defaults(struct ks_arena *arena, const struct ks_schema *s, struct ks_value *scaler) __attribute__((warn_unused_result));

#endif
