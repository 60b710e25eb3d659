/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The plugins that are linked into the server: with --enable-static-plugins all that were configured, else none. */
#ifndef KS_STATIC_PLUGINS_H
#define KS_STATIC_PLUGINS_H

#include <keelson/plugin.h>

extern const struct ks_plugin *const ks_static_plugins[]; /* ends with NULL */

#endif
