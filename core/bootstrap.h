/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The objects that every cluster has: created at start where they are missing, one after the other, through the whole pipeline. */
#ifndef KS_BOOTSTRAP_H
#define KS_BOOTSTRAP_H

#include <stdatomic.h>

#include "core/pipeline/server.h"
#include "core/registry/registry.h"

struct ks_bootstrap {
	struct ks_server_state *server;
	const struct ks_bootstrap_object *objects;
	size_t n, next;
	_Atomic bool done;       /* all exist */
	_Atomic bool failed;     /* one could not be created; the log says which */
};

/* Starts; `done` or `failed` is set later, on a worker. The struct must live until then. 0 or negative. */
int ks_bootstrap_start(struct ks_bootstrap *bootstrap, struct ks_server_state *server, struct ks_error *err) __attribute__((warn_unused_result));

#endif
