/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KS_REGISTRY_VALIDATE_POD_STATUS_H
#define KS_REGISTRY_VALIDATE_POD_STATUS_H

#include "core/registry/validate/pod.h"

/* An update of pods/status. */
void ks_check_pod_status(struct ks_check *c, const struct ks_value *pod, const struct ks_value *old);
/* An update of pods/resize. */
void ks_check_pod_resize(struct ks_check *c, const struct ks_value *pod, const struct ks_value *old, const struct ks_value *spec, const struct ks_value *old_spec);
/* Forbidden with a diff behind the intro. */
void ks_pod_changed_diff(struct ks_check *c, const struct ks_path *path, const char *intro, const struct ks_value *before, const struct ks_value *now);

#endif
