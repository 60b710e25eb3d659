/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A cluster address being taken, and given back: its IPAddress object is made, and removed. */
#ifndef KS_REGISTRY_ALLOCATE_ADDRESS_H
#define KS_REGISTRY_ALLOCATE_ADDRESS_H

#include "core/registry/allocate/pools.h"

enum ks_address_result {
	KS_ADDRESS_TAKEN = 1,
	KS_ADDRESS_IN_USE, /* somebody else has it */
	KS_ADDRESS_NO_RANGE, /* no ready range holds it, or there is none */
	KS_ADDRESS_NONE_LEFT,
	KS_ADDRESS_FAILED /* the store, or memory */
};

enum { KS_ADDRESS_RANGES = 32 };

/* The caller's; on one loop; lives until `done`. */
struct ks_address_wish {
	/* in */
	struct ks_pools *pools;
	struct ks_loop *loop;
	struct ks_str ns, name; /* of the service that it is for */
	struct ks_str wanted; /* empty: any of the family */
	bool v6;
	void (*done)(struct ks_address_wish *wish); /* never before ks_address_ask returns */
	void *arg;
	/* out */
	int result; /* enum ks_address_result */
	char text[KS_IP_TEXT];
	uint64_t revision; /* of the IPAddress object */
	/* private */
	struct ks_ip_range ranges[KS_ADDRESS_RANGES];
	unsigned n_ranges, first_range, n_tried;
	bool lower; /* what is kept for those who ask is looked through, too */
	uint64_t from, count, start, at; /* of the part of the range that is looked through */
	struct ks_object *object;
	struct ks_store_call call;
	struct ks_task task;
};
void ks_address_ask(struct ks_address_wish *wish);

/* Whose address it is, by its tree. False: it is no service's. */
bool ks_address_owner(struct ks_pools *pools, const struct ks_value *address, struct ks_str *ns_r, struct ks_str *name_r);
/* Was it made here? */
bool ks_address_is_managed(struct ks_pools *pools, const struct ks_value *address);
/* Does it have all labels that one of ours has? */
bool ks_address_is_labelled(struct ks_pools *pools, const struct ks_value *address);

/* The IPAddress of a service; NULL when out of memory. */
struct ks_object *ks_address_object(struct ks_pools *pools, const struct ks_ip *ip, struct ks_str ns, struct ks_str name)
	__attribute__((warn_unused_result));

#endif
