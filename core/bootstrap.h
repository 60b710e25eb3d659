/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that every cluster has: created at start where they are missing, through the whole pipeline.
 * First the namespaces, then what stands in them; those of a round go at once, and share a commit of the store.
 */
#ifndef KS_BOOTSTRAP_H
#define KS_BOOTSTRAP_H

#include <stdatomic.h>

#include "core/pipeline/server.h"
#include "core/registry/registry.h"

enum { KS_BOOTSTRAP_MOST = 32 };

struct ks_bootstrap_creation {
	struct ks_bootstrap *bootstrap;
	const struct ks_bootstrap_object *object;
};

struct ks_bootstrap {
	struct ks_server_state *server;
	const struct ks_bootstrap_object *objects;
	struct ks_bootstrap_creation creations[KS_BOOTSTRAP_MOST];
	size_t n, next;          /* `next`: the first of the next round */
	atomic_size_t n_left;    /* of this round */
	_Atomic bool done;       /* all exist */
	_Atomic bool failed;     /* one could not be created; the log says which */
};

/* Starts; `done` or `failed` is set later, on a worker. The struct must live until then. `port` is where the server listens. 0 or negative. */
int ks_bootstrap_start(struct ks_bootstrap *bootstrap, struct ks_server_state *server, unsigned port, struct ks_error *err) __attribute__((warn_unused_result));

#endif
