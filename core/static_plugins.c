/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/static_plugins.h"

/* static-plugins.def is made by configure: a line KS_STATIC_PLUGIN(name) for each plugin. */
#define KS_STATIC_PLUGIN(name) extern const struct ks_plugin ks_plugin_##name;
#include "static-plugins.def"
#undef KS_STATIC_PLUGIN

const struct ks_plugin *const ks_static_plugins[] = {
#define KS_STATIC_PLUGIN(name) &ks_plugin_##name,
#include "static-plugins.def"
#undef KS_STATIC_PLUGIN
	0,
};
