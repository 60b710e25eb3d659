/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts right what a crash, a lost write or somebody's hand has left: each service has an IPAddress object for each of its addresses, none is
 * there for a service that isn't, and the map of node ports is what the services use.
 *
 * What looks lost may be on its way to a service: an IPAddress is left alone for a minute, a node port until it has been found so three
 * times. That is not so for the first look of a server that is the only one to write to its store.
 */
#ifndef KS_REGISTRY_ALLOCATE_REPAIR_H
#define KS_REGISTRY_ALLOCATE_REPAIR_H

#include "core/registry/allocate/pools.h"

struct ks_repair;

/* NULL when out of memory. */
struct ks_repair *ks_repair_new(struct ks_pools *pools) __attribute__((warn_unused_result));
/* Not while it runs. NULL inside is safe. */
void ks_repair_free(struct ks_repair **repair);
/* One look at all, on that loop. `done` is never called before this returns; `result`: 0, or negative when something could not be repaired. */
void ks_repair_start(struct ks_repair *repair, struct ks_loop *loop, void (*done)(void *arg, int result), void *arg);
/* The same, for the start of a server: turns the loop, which does not run yet, until it is over. Whoever answers may still be about to wake the loop
 * then, so it has to live as long as the stores. 0 or negative. */
int ks_repair_run(struct ks_repair *repair, struct ks_loop *loop) __attribute__((warn_unused_result));

#endif
