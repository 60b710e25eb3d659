/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A library whose ks_plugin is code, not data. */
__attribute__((visibility("default"))) int ks_plugin(void);

int ks_plugin(void)
{
	return 1;
}
