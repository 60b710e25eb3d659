/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KS_REGISTRY_VALIDATE_VOLUME_H
#define KS_REGISTRY_VALIDATE_VOLUME_H

#include "core/registry/validate/common.h"

/* A PersistentVolumeSpec; `inline_` as part of a VolumeAttachment. `name` is the volume's. */
void ks_check_volume_spec(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, struct ks_str name, bool inline_);
/* The sources alone. False when there is none. `has_affinity`: a local volume needs one. */
bool ks_check_volume_sources(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, struct ks_str name, bool has_affinity);
/* Access modes of volumes and claims, but not that there are any. */
void ks_check_access_modes(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec);
/* A PersistentVolumeClaimSpec in a template: of a volume, or of a stateful set. */
void ks_check_claim_spec(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec);

#endif
