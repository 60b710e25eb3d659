/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Who manages which field: metadata.managedFields kept up to date by writes, and
 * server-side apply.
 *
 * Works on any type by its schema tables. Objects are whole typed trees (core/api/apply/typed.h)
 * of one version; entries of managers that wrote another version of the kind are compared
 * in that version, with the help of `convert`.
 */
#ifndef KS_API_MANAGED_H
#define KS_API_MANAGED_H

#include "core/api/apply/fieldset.h"

/* Upstream's limits and names. */
#define KS_MANAGED_MOST_UPDATERS 10
#define KS_LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

struct ks_managed_op {
	const struct ks_schema *schema;
	uint16_t type;            /* of the objects */
	struct ks_str version;    /* theirs, as in apiVersion: "apps/v1" */
	struct ks_str manager;    /* "" is "unknown" */
	struct ks_str subresource;
	struct ks_str now;        /* RFC 3339, UTC, whole seconds */
	/* Fields that this resource's writes don't set, dotted. */
	const char *const *reset;
	uint32_t n_reset;
	bool force;               /* apply: take fields from other managers */
	/* `object` of version `from` in version `to`. 0, -ENOENT when there is no such version (any more), -ENOMEM. NULL: there is one version. */
	int (*convert)(void *arg, struct ks_arena *arena, struct ks_str from, const struct ks_value *object, struct ks_str to, struct ks_value *out_r);
	/* Is there such a version of the kind? NULL: `convert` tells. */
	bool (*has_version)(void *arg, struct ks_str version);
	void *convert_arg;
};

struct ks_conflict {
	const char *manager; /* as messages name it: "alpha" with subresource "status" using v1 */
	const char *path;    /* .data.k */
};

struct ks_conflicts {
	struct ks_conflict *items; /* by manager, then path; not all of them when their texts are very long */
	uint32_t n;
	const char *message; /* for the whole */
	/* private */
	struct ks_conflict_group *groups;
};

/* After a create, update or patch made `object` out of `live` (the zero object of the type when there was none): sets
 * object's managedFields. 0 or -ENOMEM. */
int ks_managed_update(struct ks_arena *arena, const struct ks_managed_op *op, const struct ks_value *live, struct ks_value *object)
	__attribute__((warn_unused_result));

enum ks_managed_result {
	KS_APPLIED = 0,
	KS_APPLY_CONFLICT,   /* conflicts_r says with whom */
	KS_APPLY_BAD_CONFIG, /* message_r: the configuration doesn't fit the schema */
	KS_APPLY_BAD_OBJECT, /* message_r: what came out is no object of the type */
	KS_APPLY_NO_MEMORY,
};

/* Applies `config`, a free-form tree without managedFields, to `live` (the zero object of the type when there is none). `*object_r` is then
 * the object with its managedFields, to be defaulted. */
enum ks_managed_result ks_managed_apply(struct ks_arena *arena, const struct ks_managed_op *op, const struct ks_value *live,
	const struct ks_value *config, struct ks_value *object_r, struct ks_conflicts *conflicts_r, const char **message_r)
	__attribute__((warn_unused_result));

/* Gives `scale` those managers of `object` that manage spec.replicas, and after a write to it takes them back: `version` is the object's. 0 or -ENOMEM. */
int ks_managed_to_scale(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *object, struct ks_value *scale)
	__attribute__((warn_unused_result));
int ks_managed_from_scale(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *scale, struct ks_str version,
	struct ks_value *object) __attribute__((warn_unused_result));

/* When `object` differs from `old` in the times of managedFields alone, it gets the old ones back. */
void ks_managed_keep_times(const struct ks_schema *s, const struct ks_value *old, struct ks_value *object);

#endif
