/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KS_REGISTRY_VALIDATE_LIMITS_H
#define KS_REGISTRY_VALIDATE_LIMITS_H

#include "core/registry/validate/common.h"

/* An amount of a resource: not negative, and whole where it is counted in pieces. */
bool ks_check_amount(struct ks_check *c, const struct ks_path *path, struct ks_str resource, struct ks_str amount);

#endif
