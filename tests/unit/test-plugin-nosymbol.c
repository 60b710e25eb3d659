/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A library that is no plugin. */
__attribute__((visibility("default"))) const int not_a_plugin = 1;
