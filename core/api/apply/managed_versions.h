/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What managed.c is made of: comparisons in each manager's version, pruning, conflicts. Private to managed*.c. */
#ifndef KS_API_MANAGED_VERSIONS_H
#define KS_API_MANAGED_VERSIONS_H

#include "core/api/apply/managers.h"
#include "core/api/apply/typed.h"

struct ks_version_changes {
	struct ks_version_changes *next;
	struct ks_str version;
	uint16_t type;
	struct ks_comparison changes;
};

/* One change of an object, as seen in each version. */
struct ks_versions {
	struct ks_arena *arena;
	const struct ks_managed_op *op;
	const struct ks_value *live, *object;
	struct ks_version_changes first; /* in the version of the write */
};

/* Leaves out what the resource's writes don't set. False when out of memory. */
bool ks_managed_filter(struct ks_arena *arena, const struct ks_managed_op *op, struct ks_fieldset *set) __attribute__((warn_unused_result));
/* The schema can have been another one when an entry was written: entries are brought into line with every write. */
static inline bool ks_managed_schema_moves(const struct ks_schema *s) { return s->generation != 0; }

int ks_versions_init(struct ks_versions *versions, struct ks_arena *arena, const struct ks_managed_op *op, const struct ks_value *live,
	const struct ks_value *object) __attribute__((warn_unused_result));
/* Drops entries of versions that are gone, and empty ones. */
int ks_versions_drop(struct ks_versions *versions, struct ks_managers *managers) __attribute__((warn_unused_result));
/* Takes what was changed from all managers but `self`. With `conflicts`: -EEXIST when that is somebody's, and nothing is taken. */
int ks_versions_take_from(struct ks_versions *versions, struct ks_managers *managers, const struct ks_manager *self, struct ks_conflicts *conflicts)
	__attribute__((warn_unused_result));

/* Takes out of `merged` what the applier had applied before, doesn't now, and nobody else has. */
int ks_managed_prune(struct ks_arena *arena, const struct ks_managed_op *op, struct ks_managers *managers, const struct ks_manager *self,
	struct ks_manager *before, struct ks_value *merged) __attribute__((warn_unused_result));
/* A merged tree as an object of the type. 0, -EINVAL with a message, -ENOMEM. */
int ks_managed_settle(struct ks_arena *arena, const struct ks_managed_op *op, const struct ks_value *merged, struct ks_value *out_r,
	const char **message_r) __attribute__((warn_unused_result));

/* Takes out the conflicts over fields that the last-applied annotation of `live` names as they are. 0 when none is left, else -EEXIST. */
int ks_managed_forgive(struct ks_arena *arena, const struct ks_managed_op *op, const struct ks_value *live, struct ks_conflicts *conflicts)
	__attribute__((warn_unused_result));
/* Keeps a last-applied annotation, where there is one, in step with what was applied. */
int ks_managed_note_applied(struct ks_arena *arena, const struct ks_managed_op *op, const struct ks_value *config, struct ks_value *object)
	__attribute__((warn_unused_result));

/* One manager's set. False when out of memory. */
bool ks_conflicts_add(struct ks_arena *arena, struct ks_conflicts *conflicts, const struct ks_manager *manager, const struct ks_fieldset *set)
	__attribute__((warn_unused_result));
/* Fills the list and the message out of the sets. False when out of memory. */
bool ks_conflicts_print(struct ks_arena *arena, struct ks_conflicts *conflicts) __attribute__((warn_unused_result));

#endif
