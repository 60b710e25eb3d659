/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What webhooks and policies of admission share. */
#ifndef KS_REGISTRY_VALIDATE_ADMISSION_H
#define KS_REGISTRY_VALIDATE_ADMISSION_H

#include "core/registry/validate/common.h"

/* A RuleWithOperations. */
void ks_admission_rule(struct ks_check *c, const struct ks_path *path, const struct ks_value *rule);
void ks_admission_match_conditions(struct ks_check *c, const struct ks_path *path, const struct ks_value *list);
/* Names of the pointers that may hold one of a few texts. */
void ks_admission_choice(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *v, const char *const *set);

#endif
