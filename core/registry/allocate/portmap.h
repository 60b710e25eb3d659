/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Which node ports are taken, and the form in which kube-apiserver keeps that in the store: a RangeAllocation whose data is one large number,
 * most significant byte first, with a bit for each port from the first of the range on. */
#ifndef KS_REGISTRY_ALLOCATE_PORTMAP_H
#define KS_REGISTRY_ALLOCATE_PORTMAP_H

#include "core/util/buf.h"

enum { KS_PORTMAP_WORDS = 1024 };

struct ks_portmap {
	uint32_t first, count, reserved; /* the first `reserved` are only given to those who ask, until the others are gone */
	uint32_t used;
	uint64_t words[KS_PORTMAP_WORDS];
};

/* "30000-32767". False when it is no range of ports. */
bool ks_portmap_init(struct ks_portmap *map, const char *range);
bool ks_portmap_has(const struct ks_portmap *map, uint32_t port);
bool ks_portmap_is_used(const struct ks_portmap *map, uint32_t port);
/* False when it is taken already or out of the range. */
bool ks_portmap_take(struct ks_portmap *map, uint32_t port);
/* Any free one, from a random place on; 0: all are taken. */
uint32_t ks_portmap_take_any(struct ks_portmap *map);
void ks_portmap_give_back(struct ks_portmap *map, uint32_t port);

/* The stored form; NULL when out of memory. */
struct ks_bytes *ks_portmap_encode(const struct ks_portmap *map) __attribute__((warn_unused_result));
/* 0; -ERANGE: it is of another range; -EINVAL: it can't be read; -ENOMEM. */
int ks_portmap_decode(struct ks_portmap *map, const struct ks_bytes *stored) __attribute__((warn_unused_result));

#endif
