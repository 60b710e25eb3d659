/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The objects that an informer has told of, by namespace and name: what it must tell the end of when it had to list again. One thread. */
#ifndef KS_PLUGINS_KNOWN_H
#define KS_PLUGINS_KNOWN_H

#include "core/cache/cache.h"

struct ks_known_entry {
	struct ks_object *object; /* a reference; NULL: free */
	uint32_t hash, round;
};

struct ks_known {
	struct ks_known_entry *entries;
	size_t n, size; /* size: a power of two, or 0 */
};

void ks_known_fini(struct ks_known *known);
/* The object of that name that was known before (the reference is the caller's), or NULL; `object` takes its place. `round` marks it.
 * -ENOMEM, and nothing has changed. */
int ks_known_put(struct ks_known *known, struct ks_object *object, uint32_t round, struct ks_object **before_r) __attribute__((warn_unused_result));
/* Forgets a name. */
void ks_known_remove(struct ks_known *known, const struct ks_object *object);
/* Takes out one that is not of `round`, from *at on (0 at first): its reference is the caller's. NULL: there is no other. */
struct ks_object *ks_known_take_stale(struct ks_known *known, uint32_t round, size_t *at);

#endif
