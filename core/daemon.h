/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The server from start to end: puts the parts together in the order that they need each other, and takes them apart. */
#ifndef KS_DAEMON_H
#define KS_DAEMON_H

#include "core/util/error.h"

struct ks_daemon_options {
	const char *config_file;
	const char *state_directory;       /* NULL: as the file says */
	const char *plugin_directories;    /* separated by ':', searched before those of the file; may be NULL */
	int ready_fd;                      /* gets the line "ready PORT" when the server is ready; -1: none */
};

/* Runs until SIGTERM or SIGINT and everything is drained. 0, or negative when it could not start: the reason has been written to stderr. */
int ks_daemon_run(const struct ks_daemon_options *options);

#endif
