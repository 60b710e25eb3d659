/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* `keelson check-config` and `keelson plugins`. argv[0] is the subcommand's name; both return the exit status: 0 fine, 1 something is wrong,
 * 2 wrong usage. */
#ifndef KS_PLUGINS_CLI_H
#define KS_PLUGINS_CLI_H

struct ks_plugins_options;

/* check-config [--plugin-dir DIRS] [--state-dir DIR] FILE: reads the file, loads every plugin and has it check its configuration; starts nothing. */
int ks_cli_check_config(int argc, char **argv, const struct ks_plugins_options *options);
/* plugins [--plugin-dir DIRS]: a line for each plugin that is found. plugins --help NAME: its configuration keys. */
int ks_cli_plugins(int argc, char **argv, const struct ks_plugins_options *options);

#endif
