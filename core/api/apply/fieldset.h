/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of field paths, as metadata.managedFields keeps them (fieldsV1).
 *
 * A set is a tree: each entry says how to get to a child of the value that the set
 * is about, whether that child itself is in the set, and which paths below it are.
 * Entries are sorted and unique; one that is no member has children. Sets live in
 * an arena and share subtrees: after it was given to an operation, a set is not changed.
 *
 * The order of path elements and the text form are those of the public
 * structured-merge-diff project (fieldpath).
 */
#ifndef KS_API_FIELDSET_H
#define KS_API_FIELDSET_H

#include "core/api/value.h"
#include "core/util/buf.h"

/* In the order in which they are sorted. */
enum ks_path_kind {
	KS_PATH_FIELD, /* f:NAME, a member of a struct or map */
	KS_PATH_KEY,   /* k:{"name":"x"}, an item of a list by its keys */
	KS_PATH_VALUE, /* v:"x", an item of a list that is a set */
	KS_PATH_INDEX, /* i:0, an item by its place */
};

struct ks_path_element {
	/* FIELD: a STRING. KEY: a MAP of scalars, sorted by name. VALUE: a scalar. INDEX: an INT. */
	struct ks_value value;
	enum ks_path_kind kind;
};

struct ks_fieldset_entry;

struct ks_fieldset { /* zeroed: the empty set */
	struct ks_fieldset_entry *entries;
	uint32_t n, cap;
};

struct ks_fieldset_entry {
	struct ks_path_element element;
	bool member;
	struct ks_fieldset children;
};

static inline bool ks_fieldset_empty(const struct ks_fieldset *set) { return set->n == 0; }

static inline struct ks_path_element ks_path_field(struct ks_str name)
{
	return (struct ks_path_element){.value = ks_value_from_str(name), .kind = KS_PATH_FIELD};
}

/* Negative, 0 or positive. */
int ks_path_element_compare(const struct ks_path_element *a, const struct ks_path_element *b);
/* As messages show it: .name, [name="x",port=80], [="x"], [0]. */
void ks_path_element_print(const struct ks_path_element *element, struct ks_buf *out);

/* NULL when there is none. */
const struct ks_fieldset_entry *ks_fieldset_find(const struct ks_fieldset *set, const struct ks_path_element *element);
/* The entry, made (no member, no children) if need be; good until the next put. NULL when out of memory. */
struct ks_fieldset_entry *ks_fieldset_put(struct ks_arena *arena, struct ks_fieldset *set, const struct ks_path_element *element)
	__attribute__((warn_unused_result));
/* Makes the path of `n` elements a member; the empty path is none. False when out of memory. */
bool ks_fieldset_insert(struct ks_arena *arena, struct ks_fieldset *set, const struct ks_path_element *path, uint32_t n)
	__attribute__((warn_unused_result));
bool ks_fieldset_has(const struct ks_fieldset *set, const struct ks_path_element *path, uint32_t n);
bool ks_fieldset_equal(const struct ks_fieldset *a, const struct ks_fieldset *b);
/* Is every member of `a` one of `b`? */
bool ks_fieldset_within(const struct ks_fieldset *a, const struct ks_fieldset *b);

/* False when out of memory; `out_r` may be one of the operands. */
bool ks_fieldset_union(struct ks_arena *arena, const struct ks_fieldset *a, const struct ks_fieldset *b, struct ks_fieldset *out_r)
	__attribute__((warn_unused_result));
/* Of many, by halves; `sets` is used up. */
bool ks_fieldset_union_all(struct ks_arena *arena, struct ks_fieldset *sets, uint32_t n, struct ks_fieldset *out_r) __attribute__((warn_unused_result));
bool ks_fieldset_intersection(struct ks_arena *arena, const struct ks_fieldset *a, const struct ks_fieldset *b, struct ks_fieldset *out_r)
	__attribute__((warn_unused_result));
bool ks_fieldset_difference(struct ks_arena *arena, const struct ks_fieldset *a, const struct ks_fieldset *b, struct ks_fieldset *out_r)
	__attribute__((warn_unused_result));
/* The members of `b` go with all that is below them. */
bool ks_fieldset_without(struct ks_arena *arena, const struct ks_fieldset *a, const struct ks_fieldset *b, struct ks_fieldset *out_r)
	__attribute__((warn_unused_result));
/* Calls `visit` for each member, those of a level before those below them. */
void ks_fieldset_each(const struct ks_fieldset *set, void (*visit)(void *arg, const struct ks_path_element *path, uint32_t n), void *arg);

/* From a decoded fieldsV1 object, whose texts the set borrows. 0, -EINVAL when a key is malformed, -ENOMEM.
 * Elements of an unknown kind are left out. */
int ks_fieldset_parse(struct ks_arena *arena, const struct ks_value *fields, struct ks_fieldset *out_r) __attribute__((warn_unused_result));
/* Into a free-form tree. False when out of memory. */
bool ks_fieldset_to_value(struct ks_arena *arena, const struct ks_fieldset *set, struct ks_value *out_r) __attribute__((warn_unused_result));

#endif
