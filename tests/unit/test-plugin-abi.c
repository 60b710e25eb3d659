/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A library of another ABI: nothing behind its head may be believed. */
#include <keelson/plugin.h>

KS_PLUGIN(abi) = {.magic = KS_PLUGIN_MAGIC, .abi_major = 9, .abi_minor = 3, .size = sizeof(struct ks_plugin), .n_interfaces = 4000000000u};
