/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The working form of an object: a tree in an arena.
 *
 * A STRUCT value holds one slot for each field of its schema type, so a field is
 * an index away and names are looked up once, by the decoder. A MAP and a free-form
 * object hold members. A slot or value that is zero is absent.
 *
 * Texts are views into the arena or into bytes that outlive it; they are not
 * NUL-terminated. A tree belongs to one schema (its types are indexes into it) and
 * to one thread at a time.
 *
 * Go's nil and zero values: a decoder leaves out (absent) what Go's decode then
 * encode would leave out, so an absent slot is Go's zero value, and the encoder
 * writes the zero value of an absent field that has neither omitempty nor omitzero.
 */
#ifndef KS_API_VALUE_H
#define KS_API_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/api/schema.h"
#include "core/util/arena.h"
#include "core/util/str.h"

enum ks_value_kind {
	KS_ABSENT = 0,
	KS_NULL,   /* an explicit null, kept only where it means something: free-form parts, patches */
	KS_BOOL,
	KS_INT,    /* int64 */
	KS_FLOAT,
	KS_STRING, /* also TIME, QUANTITY, BYTES (as base64) and so on: in their canonical JSON text */
	KS_LIST,
	KS_MAP,    /* members in order of arrival; keys are unique */
	KS_STRUCT, /* slots of `type` */
};

/* What of `flags` users may have; a shallow copy of a LIST or MAP shares its spare room: append to one of the copies only. */
#define KS_VALUE_USER_FLAGS 0x07
#define KS_VALUE_ROOM_SHIFT 3
/* Of an absent value that was decoded: an empty list or map was said ([] or {}), which only messages tell from nothing. A
 * struct that held nothing else is absent, too, but has its slots still. */
#define KS_VALUE_WAS_EMPTY 0x04

/* Of a MAP in a free-form tree: it is written in the order of its members. Upstream keeps bytes that nobody looked into as they
 * were, and sorts the keys of what was. */
#define KS_VALUE_IN_ORDER 0x04

struct ks_member;

struct ks_value { /* 16 bytes */
	uint8_t kind;
	uint8_t flags;  /* the lower three bits are private to whoever works on the tree, the others to value.c (room behind LIST and MAP) */
	uint16_t type;  /* STRUCT: its schema type. LIST, MAP: theirs, 0 in free-form parts. STRING: the type of a QUANTITY, else 0 */
	uint32_t n;     /* bytes of a STRING, items of a LIST, members of a MAP, slots of a STRUCT */
	union {
		bool boolean;
		int64_t integer;
		double number;
		const char *string;
		struct ks_value *items;    /* LIST; STRUCT: the slots */
		struct ks_member *members; /* MAP */
	};
};

struct ks_member {
	struct ks_str key;
	struct ks_value value;
};

_Static_assert(sizeof(struct ks_value) == 16, "values are two words");

static inline struct ks_str ks_value_str(const struct ks_value *v)
{
	return v && v->kind == KS_STRING ? ks_str_of(v->string, v->n) : (struct ks_str){0};
}
static inline bool ks_value_present(const struct ks_value *v) { return v && v->kind != KS_ABSENT && v->kind != KS_NULL; }

static inline struct ks_value ks_value_from_str(struct ks_str s)
{
	return (struct ks_value){.kind = KS_STRING, .n = (uint32_t)s.n, .string = s.p};
}
static inline struct ks_value ks_value_from_int(int64_t i) { return (struct ks_value){.kind = KS_INT, .integer = i}; }
static inline struct ks_value ks_value_from_bool(bool b) { return (struct ks_value){.kind = KS_BOOL, .boolean = b}; }

/* An empty STRUCT of `type` (all slots absent). False when out of memory. */
bool ks_value_new_struct(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, struct ks_value *out_r) __attribute__((warn_unused_result));

/* Member of a STRUCT or MAP by JSON name; NULL when absent, or when `v` is NULL or something else. */
struct ks_value *ks_value_get(const struct ks_schema *s, const struct ks_value *v, const char *name);
struct ks_value *ks_value_get_str(const struct ks_schema *s, const struct ks_value *v, struct ks_str name);
/* Walks names separated by dots ("metadata.labels"); names with dots can't be said. NULL when any is absent. */
struct ks_value *ks_value_at(const struct ks_schema *s, const struct ks_value *v, const char *path);
/* A place to write: the slot or member `name`, made (absent) if need be. NULL when out of memory or the type has no such field. */
struct ks_value *ks_value_put(struct ks_arena *arena, const struct ks_schema *s, struct ks_value *v, struct ks_str name) __attribute__((warn_unused_result));
/* Adds a member to a MAP without looking whether there is one; the key is not copied. Returns its (absent) value; NULL when out of memory. */
struct ks_value *ks_value_add(struct ks_arena *arena, struct ks_value *map, struct ks_str key) __attribute__((warn_unused_result));
/* ks_value_put along a dotted path; structs and maps on the way are made. */
struct ks_value *ks_value_put_at(struct ks_arena *arena, const struct ks_schema *s, struct ks_value *v, const char *path) __attribute__((warn_unused_result));
/* Makes slot or member absent (a member is taken out, order kept). */
void ks_value_remove(const struct ks_schema *s, struct ks_value *v, struct ks_str name);
/* Appends an absent item and returns it; NULL when out of memory. */
struct ks_value *ks_value_append(struct ks_arena *arena, struct ks_value *list) __attribute__((warn_unused_result));
/* Takes item `at` out; order kept. */
void ks_value_remove_item(struct ks_value *list, uint32_t at);
/* Inserts an absent item at `at` (<= n). */
struct ks_value *ks_value_insert_item(struct ks_arena *arena, struct ks_value *list, uint32_t at) __attribute__((warn_unused_result));

/* Is the value of a struct's field one that Go could not tell from a missing one (0, "", an empty list that is left out ...)?
 * Decoders make such values absent, encoders leave them out where Go does. */
bool ks_value_is_unsaid(const struct ks_schema *s, const struct ks_field *field, const struct ks_value *v);
/* Makes all such values of a typed tree absent: after edits, before ks_value_equal. */
void ks_value_settle(const struct ks_schema *s, struct ks_value *v);

/* A free-form value as Go's %v prints it (upstream shows patches so in messages): map[a:1 b:[x y]]. */
struct ks_buf;
void ks_value_print(const struct ks_value *v, struct ks_buf *out);

/* A whole copy, texts included (into `arena`). False when out of memory. */
bool ks_value_copy(struct ks_arena *arena, const struct ks_value *from, struct ks_value *to_r) __attribute__((warn_unused_result));
/* Deep equality as Go's apiequality.Semantic.DeepEqual sees two decoded objects: member order does not matter, absent equals empty. */
bool ks_value_equal(const struct ks_value *a, const struct ks_value *b);
/* The same for JSON trees: 1 and 1.0 are equal, absent and empty are not. */
bool ks_value_equal_json(const struct ks_value *a, const struct ks_value *b);

#endif
