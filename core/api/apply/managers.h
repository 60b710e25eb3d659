/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The entries of metadata.managedFields. Private to managed*.c. */
#ifndef KS_API_MANAGERS_H
#define KS_API_MANAGERS_H

#include "core/api/apply/managed.h"

struct ks_manager {
	struct ks_str name, version, subresource, time; /* `time` is "" when there is none */
	const struct ks_value *fields; /* as it was stored; NULL: see `set` */
	struct ks_fieldset set;        /* of an entry without `fields` */
	bool applied;                  /* by apply, not by update */
	uint32_t number;               /* its place when it was read */
};

struct ks_managers {
	struct ks_manager *items;
	uint32_t n, cap;
};

/* From an object's list (NULL: none). 0; -EINVAL when an entry is malformed; -ENOMEM. Sets are read later, by ks_manager_open,
 * unless `check`. */
int ks_managers_read(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *list, bool check, struct ks_managers *out_r)
	__attribute__((warn_unused_result));
/* Reads the set of an entry; `type` is the kind's in its version. 0, -EINVAL, -ENOMEM. */
int ks_manager_open(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, struct ks_manager *manager) __attribute__((warn_unused_result));
/* The entry with this identity: name, operation, subresource, and the version of an update. NULL when there is none. */
struct ks_manager *ks_managers_find(struct ks_managers *managers, const struct ks_manager *like);
/* A copy of `like` at the end. NULL when out of memory. */
struct ks_manager *ks_managers_add(struct ks_arena *arena, struct ks_managers *managers, const struct ks_manager *like) __attribute__((warn_unused_result));
void ks_managers_remove(struct ks_managers *managers, struct ks_manager *manager);
/* Of the oldest updaters, as many are put together as are over the limit. 0 or a negative code. */
int ks_managers_cap(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, struct ks_managers *managers) __attribute__((warn_unused_result));
/* Into the object, sorted as upstream sorts them. False when out of memory. */
bool ks_managers_write(struct ks_arena *arena, const struct ks_schema *s, const struct ks_managers *managers, struct ks_value *object)
	__attribute__((warn_unused_result));
/* As messages name it. NULL when out of memory. */
const char *ks_manager_print(struct ks_arena *arena, const struct ks_manager *manager) __attribute__((warn_unused_result));
/* What upstream keys its entries by, which orders messages. */
const char *ks_manager_identity(struct ks_arena *arena, const struct ks_manager *manager) __attribute__((warn_unused_result));

#endif
