/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The featureGates of a configuration. Private to this folder. */
#ifndef KS_CONFIG_FEATURES_READ_H
#define KS_CONFIG_FEATURES_READ_H

#include "core/config/section.h"

/* Sets what the mapping says; problems are told. */
void ks_features_read(const struct ks_section_context *context, const struct ks_yaml_node *node, struct ks_features *features);

#endif
