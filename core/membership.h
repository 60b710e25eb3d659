/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * This server as one of a group on a store. It keeps a lease at masterleases/ADDRESS, names all that have one in the endpoints of the
 * `kubernetes` Service, and makes again what a cluster can't do without: a round every ten seconds. The lease lasts fifteen; a server that
 * ends takes its own away.
 */
#ifndef KS_MEMBERSHIP_H
#define KS_MEMBERSHIP_H

#include "core/endpoints.h"
#include "core/registry/registry.h"

struct ks_membership;

/* On the main loop. The first round begins at once, and is repeated soon until it succeeds. `objects`: those that are kept are made again when they
 * are missing. NULL with err. */
struct ks_membership *ks_membership_new(struct ks_server_state *server, const struct ks_bootstrap_object *objects, size_t n_objects, unsigned port,
	struct ks_error *err) __attribute__((warn_unused_result));
/* After the workers and the store have ended. */
void ks_membership_free(struct ks_membership **membership);
/* A round has succeeded: what the server keeps is there. */
bool ks_membership_settled(const struct ks_membership *membership);
/* A last round that takes this server away; `stopped` is called on the main loop, soon whatever the store does. */
void ks_membership_stop(struct ks_membership *membership, void (*stopped)(void *arg), void *arg);

#endif
