/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects as server-side apply sees them: who can own what.
 *
 * The schema says of every list, map and struct whether it is owned whole (atomic) or
 * part by part, and how the items of a list are told apart. Everything here takes
 * typed trees (core/api/value.h) of such a schema. Two sorts of structs are told apart:
 *
 *   whole    of an object that is kept or is to be: absent fields have Go's zero value where
 *            Go's encoder would write it. The tree is settled: see ks_value_settle.
 *   sparse   of a configuration that is applied (flag KS_TYPED_SPARSE): what is absent was not
 *            said; nulls and empty lists and maps are kept, scalars are as they were written.
 *
 * The semantics are those of the public structured-merge-diff project, version 6.
 */
#ifndef KS_API_TYPED_H
#define KS_API_TYPED_H

#include "core/api/apply/fieldset.h"

/* In the flags of a STRUCT. */
#define KS_TYPED_SPARSE 0x01
/* In the flags of an absent slot: it was taken out, and has no zero value either. */
#define KS_TYPED_GONE 0x02

enum ks_relation {
	KS_RELATION_LEAF,     /* a scalar, or owned whole */
	KS_RELATION_GRANULAR, /* a struct or map, member by member */
	KS_RELATION_SET,      /* a list of scalars, each its own key */
	KS_RELATION_KEYED,    /* a list of structs with keys */
	KS_RELATION_FREE,     /* no schema: objects member by member, lists whole */
};

struct ks_shape {
	uint16_t type; /* 0: free form */
	uint8_t relation; /* enum ks_relation */
	uint8_t n_keys;
	const uint32_t *keys; /* their names, offsets of texts */
};

struct ks_shape ks_shape_of_type(const struct ks_schema *s, uint16_t type);
struct ks_shape ks_shape_of_field(const struct ks_schema *s, const struct ks_field *field);

/* The value of a struct's slot as the walkers see it: NULL when it is missing. `zero` is filled with what a whole object has there unsaid. */
const struct ks_value *ks_typed_slot(const struct ks_schema *s, const struct ks_value *v, uint16_t slot, struct ks_value *zero);
/* Null, or a struct, map or list without parts; NULL too. */
bool ks_typed_is_empty(const struct ks_schema *s, const struct ks_value *v);
/* How an item of a SET or KEYED list is found again. 1, or 0 when it has no key (no scalar, no struct, no key field), or -ENOMEM. */
int ks_typed_element(struct ks_arena *arena, const struct ks_schema *s, struct ks_shape list, const struct ks_value *item,
	struct ks_path_element *out_r);

/* Reads a free-form configuration as a sparse tree of `type`. 0; -EINVAL with what is wrong with it, worded as upstream does; -ENOMEM. */
int ks_typed_read(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, const struct ks_value *config, struct ks_value *out_r,
	const char **message_r) __attribute__((warn_unused_result));

/* All that an owner of the whole tree owns. False when out of memory. */
bool ks_typed_fields(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *v, struct ks_fieldset *out_r)
	__attribute__((warn_unused_result));

struct ks_comparison {
	struct ks_fieldset removed, modified, added;
};

static inline bool ks_comparison_is_same(const struct ks_comparison *c) { return !c->removed.n && !c->modified.n && !c->added.n; }

/* 1 when nothing said differs, the order of lists included; 0; or -ENOMEM. */
int ks_typed_same(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *a, const struct ks_value *b);
/* From `before` to `after`. False when out of memory. */
bool ks_typed_compare(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *before, const struct ks_value *after,
	struct ks_comparison *out_r) __attribute__((warn_unused_result));

/* `live` with what `config` says laid over it; shares parts of both. False when out of memory. */
bool ks_typed_merge(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *live, const struct ks_value *config,
	struct ks_value *out_r) __attribute__((warn_unused_result));

/* `v` without the members of `fields`; what is emptied by that becomes null. Shares parts of `v`. False when out of memory. */
bool ks_typed_remove(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *v, const struct ks_fieldset *fields,
	struct ks_value *out_r) __attribute__((warn_unused_result));

/* A set as it is compared for removal: a named field of a struct counts as a member when anything below it is. */
bool ks_typed_named_members(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, const struct ks_fieldset *set,
	struct ks_fieldset *out_r) __attribute__((warn_unused_result));
/* A set that was written under another schema: what is owned whole now is owned by its root alone. */
bool ks_typed_reconcile(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, const struct ks_fieldset *set, struct ks_fieldset *out_r)
	__attribute__((warn_unused_result));

#endif
