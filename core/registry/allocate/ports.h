/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Node ports, shared by every server on a store: the map of those that are taken stands at ranges/servicenodeports,
 * and a port is taken when a compare-and-swap of that map has succeeded. What asks while a swap is under way shares the
 * next one.
 */
#ifndef KS_REGISTRY_ALLOCATE_PORTS_H
#define KS_REGISTRY_ALLOCATE_PORTS_H

#include <pthread.h>

#include "core/registry/allocate/portmap.h"
#include "core/store/store.h"

struct ks_port_claim {
	uint32_t wanted; /* 0: any */
	uint32_t got;
};

/* A wish: all of its ports are taken, or none. The caller's; lives until `done`. */
struct ks_port_wish {
	/* in */
	struct ks_loop *loop; /* where `done` runs */
	struct ks_port_claim *claims;
	size_t n_claims;
	const uint32_t *returned; /* given back */
	size_t n_returned;
	bool dry; /* only says what would be */
	struct ks_portmap *copy; /* gets what stands in the store, without this wish; NULL: not wanted */
	void (*done)(struct ks_port_wish *wish);
	/* out */
	int result; /* 0; -EEXIST: taken already; -ERANGE: not of the range; -ENOSPC: none is left; -EIO: the store; -ENOMEM */
	size_t failed; /* which claim */
	/* private */
	struct ks_port_wish *next;
	struct ks_task task;
};

struct ks_ports {
	pthread_mutex_t lock;
	const struct ks_store *store;
	uint32_t first, count; /* of the range */
	bool alone; /* nobody else writes to the store: what is known is what stands there */
	/* What is taken by objects; asked where no map can be read. May be NULL. */
	void (*seed)(struct ks_portmap *map, void *arg);
	void *seed_arg;
	struct ks_portmap known, next;
	uint64_t revision; /* of `known`; 0: nothing stands there */
	bool fresh; /* `known` was read, or written, and not contradicted since */
	struct ks_port_wish *waiting, **last, *flying;
	struct ks_store_call call;
	struct ks_store_read read;
	struct ks_bytes *value;
	bool busy, live; /* `live`: `known` was read for what is flying */
};

/* False when the range can't be used. */
bool ks_ports_init(struct ks_ports *ports, const struct ks_store *store, const char *range);
/* No wish may be under way. */
void ks_ports_fini(struct ks_ports *ports);
/* Any thread. `done` never runs before it returns. */
void ks_ports_ask(struct ks_ports *ports, struct ks_port_wish *wish);

#endif
