/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Making sets of instances and taking them apart. Main thread. Private to plugins/host. */
#ifndef KS_PLUGINS_SET_H
#define KS_PLUGINS_SET_H

#include "plugins/host/internal.h"

/* A set of what the configuration names, with one reference. Instances of `previous` (may be NULL) that are the same are kept, and all of its
 * stores. 0, or negative with every problem told. */
int ks_set_build(const struct ks_build *build, const struct ks_plugin_set *previous, struct ks_plugin_set **out_r)
	__attribute__((warn_unused_result));
/* Undoes ks_set_build at once: what only this set holds is stopped and freed. Nobody uses the set any more. */
void ks_set_take_apart(struct ks_plugin_set *set);
/* Frees the sets alone, when all instances are gone. */
void ks_sets_free(struct ks_plugins *plugins);
/* Ends the use of an instance: detached, stopped, freed. */
void ks_instance_retire(struct ks_instance *instance, uint64_t drain_ms);

/* -- workers.c -- */

/* Runs `visit` once on each worker that has started and waits until all have. `visit` returns 0 or negative; the result is one of the
 * negative ones. */
int ks_on_workers(struct ks_plugins *plugins, int (*visit)(struct ks_plugins *plugins, uint32_t worker, void *arg), void *arg);
/* Attaches all instances of a set that are not yet, on every worker. 0 or negative. */
int ks_set_attach(struct ks_plugin_set *set) __attribute__((warn_unused_result));
/* Requests get this set from now on; takes a reference for itself. */
void ks_set_swap_in(struct ks_plugin_set *set);
/* Detaches an instance from every worker, also from those that have ended. */
void ks_instance_detach_all(struct ks_instance *instance);

#endif
