/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The ordered lists of plugins. Private to this folder. */
#ifndef KS_CONFIG_ENTRIES_H
#define KS_CONFIG_ENTRIES_H

#include "core/config/section.h"

/* Reads the list of one stage into context->config. 0 or -ENOMEM; problems are told. */
int ks_config_read_entries(const struct ks_section_context *context, const struct ks_yaml_node *root, enum ks_stage stage)
	__attribute__((warn_unused_result));

#endif
