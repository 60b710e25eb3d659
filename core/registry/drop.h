/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Fields of features that are off (KS_FIELD_RULE_DROPPED): left out of what is stored. */
#ifndef KS_REGISTRY_DROP_H
#define KS_REGISTRY_DROP_H

#include "core/registry/registry.h"

/* Makes them absent. A field that `old` (NULL on create) has somewhere stays wherever it is. */
void ks_registry_drop(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_value *old);

#endif
