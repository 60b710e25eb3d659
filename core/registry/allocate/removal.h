/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Removes what belongs to a service that has gone or has become another: its IPAddress objects, its Endpoints. */
#ifndef KS_REGISTRY_ALLOCATE_REMOVAL_H
#define KS_REGISTRY_ALLOCATE_REMOVAL_H

#include "core/registry/allocate/pools.h"

struct ks_removal {
	struct ks_pools *pools;
	const struct ks_pool_resource *of;
	struct ks_loop *loop;
	struct ks_str ns, name; /* of the object */
	/* An IPAddress goes only while it is this service's; no name: whatever it says. */
	struct ks_str owner_ns, owner_name;
	uint64_t revision; /* the very one; 0: whichever stands there */
	/* May be NULL. Gets the revision of the removal, 0: there was none. It may run before ks_removal_start returns. */
	void (*done)(void *arg, uint64_t revision);
	void *arg;
};
/* All is copied. An object with finalizers stays. What could not be removed is a case for the next repair. */
void ks_removal_start(const struct ks_removal *removal);

#endif
