/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* An instance's `config:` as the struct that the plugin declared. */
#ifndef KS_PLUGINS_PLUGIN_CONFIG_H
#define KS_PLUGINS_PLUGIN_CONFIG_H

#include "plugins/host/internal.h"

/* Fills *config_r (in `arena`; NULL when the interface declares no struct) from the entry's mapping and the defaults. All that is wrong is told.
 * 0, -EINVAL, -ENOMEM. */
int ks_plugin_config_fill(const struct ks_build *build, const struct ks_config_entry *entry, const struct ks_interface *interface,
	struct ks_arena *arena, void **config_r) __attribute__((warn_unused_result));

#endif
