/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation: the causes of a 422, worded and ordered as clients know them.
 *
 * A run (struct ks_check) walks an object with functions that say what is wrong.
 * Paths are chains of frames on the stack and become text only when something is
 * wrong, so that a good object costs no allocation. Simple fields are judged by rows of
 * a table (struct ks_rules) in their order; rows with a hook, and functions that call
 * the helpers directly, do the rest. The order of rows is the order of causes.
 *
 *   static bool ...
 *   KS_RULES(port_rules,
 *       {"name", KS_RULE_NAME, .form = KS_NAME_PORT},
 *       {"containerPort", KS_RULE_PORT, .required = true},
 *       {"protocol", KS_RULE_ENUM, .required = true, .set = protocols});
 *   ...
 *   struct ks_path at = ks_path_child(path, "ports"), item;
 *   for (i ...) { item = ks_path_index(&at, i); ks_rules_apply(c, &item, &ports->items[i], NULL, &port_rules); }
 *
 * Only for objects of built-in types. One thread per run.
 */
#ifndef KS_API_VALIDATE_H
#define KS_API_VALIDATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/api/name.h"
#include "core/api/status.h"
#include "core/api/value.h"

/* -- paths ------------------------------------------------------------------------------------------------------ */

struct ks_path {
	const struct ks_path *parent;
	const char *name; /* NULL: an index */
	uint32_t n;       /* length of a key or name (KS_PATH_TERMINATED: up to its NUL byte); the index */
	bool key;         /* [name] instead of .name */
};

#define KS_PATH_TERMINATED UINT32_MAX

static inline struct ks_path ks_path_root(const char *name)
{
	return (struct ks_path){NULL, name, KS_PATH_TERMINATED, false};
}
/* `name` may hold dots ("securityContext.runAsUser") and must outlive the path. */
static inline struct ks_path ks_path_child(const struct ks_path *parent, const char *name)
{
	return (struct ks_path){parent, name, KS_PATH_TERMINATED, false};
}
static inline struct ks_path ks_path_index(const struct ks_path *parent, uint32_t i)
{
	return (struct ks_path){parent, NULL, i, false};
}
static inline struct ks_path ks_path_key(const struct ks_path *parent, struct ks_str key)
{
	return (struct ks_path){parent, key.n ? key.p : "", (uint32_t)key.n, true};
}
/* `spec.containers[0].ports[1].name`, in arena memory; "" when out of memory. `name` (may be NULL) is appended as a child. */
const char *ks_path_text(struct ks_arena *arena, const struct ks_path *path, const char *name);

/* -- a run ------------------------------------------------------------------------------------------------------ */

struct ks_check {
	const struct ks_schema *schema;
	struct ks_arena *arena;
	struct ks_status *status; /* causes are added to it */
	void *user;               /* of the functions of a kind */
};

/* How many causes there are more than `before` says (take ks_check_mark before). */
static inline const struct ks_status_cause *ks_check_mark(const struct ks_check *c) { return c->status->last_cause; }
static inline bool ks_check_failed_since(const struct ks_check *c, const struct ks_status_cause *mark) { return c->status->last_cause != mark; }

/* -- fields ----------------------------------------------------------------------------------------------------- */

/* Field of a STRUCT with a place that remembers where it is found in which type; NULL when absent. */
static inline struct ks_value *ks_field_cached(const struct ks_check *c, const struct ks_value *v, const char *name, size_t n, _Atomic uint32_t *cache)
{
	uint32_t seen;
	struct ks_value *slot;

	if (!v || v->kind != KS_STRUCT)
		return NULL;
	seen = atomic_load_explicit(cache, memory_order_relaxed);
	if (seen >> 16 != v->type) {
		seen = (uint32_t)v->type << 16 | ks_schema_slot(c->schema, v->type, name, n);
		atomic_store_explicit(cache, seen, memory_order_relaxed);
	}
	if ((seen & 0xffff) >= v->n)
		return NULL;
	slot = &v->items[seen & 0xffff];
	return slot->kind > KS_NULL ? slot : NULL;
}
/* The same for names out of a table, which has a place for each. */
static inline struct ks_value *ks_field_at(const struct ks_check *c, const struct ks_value *v, const char *name, _Atomic uint32_t *place)
{
	if (v && v->kind == KS_STRUCT && atomic_load_explicit(place, memory_order_relaxed) >> 16 == v->type)
		return ks_field_cached(c, v, name, 0, place);
	return ks_field_cached(c, v, name, strlen(name), place);
}
/* `name` is a literal. */
#define KS_IN(c, v, name) KS_IN_NUMBERED(c, v, name, __COUNTER__)
#define KS_IN_NUMBERED(c, v, name, number) KS_IN_CACHED(c, v, name, number) /* may stand in itself: each has a name of its own */
#define KS_IN_CACHED(c, v, name, number) \
	({ \
		static _Atomic uint32_t cache_##number; \
		ks_field_cached((c), (v), (name), sizeof(name) - 1, &cache_##number); \
	})
#define KS_IN_TEXT(c, v, name) ks_value_str(KS_IN(c, v, name))
#define KS_IN_INT(c, v, name, otherwise) ks_value_int_or(KS_IN(c, v, name), (otherwise))
#define KS_IN_TRUE(c, v, name) ks_value_is_true(KS_IN(c, v, name))
/* A LIST, with or without items; NULL when absent. */
#define KS_IN_LIST(c, v, name) ks_value_of_kind(KS_IN(c, v, name), KS_LIST)
#define KS_IN_MAP(c, v, name) ks_value_of_kind(KS_IN(c, v, name), KS_MAP)

static inline int64_t ks_value_int_or(const struct ks_value *v, int64_t otherwise) { return v && v->kind == KS_INT ? v->integer : otherwise; }
static inline bool ks_value_is_true(const struct ks_value *v) { return v && v->kind == KS_BOOL && v->boolean; }
static inline struct ks_value *ks_value_of_kind(struct ks_value *v, uint8_t kind) { return v && v->kind == kind ? v : NULL; }
/* Items of a LIST, members of a MAP; 0 when absent. */
static inline uint32_t ks_value_count(const struct ks_value *v) { return v && (v->kind == KS_LIST || v->kind == KS_MAP) ? v->n : 0; }
/* Nothing, "", or a list or map without anything in it. */
static inline bool ks_value_is_empty(const struct ks_value *v)
{
	return !v || v->kind <= KS_NULL || (v->n == 0 && (v->kind == KS_STRING || v->kind == KS_LIST || v->kind == KS_MAP));
}
/* Are both absent, or deeply equal? Either may be NULL. */
bool ks_value_same(const struct ks_value *a, const struct ks_value *b);
/* Is it one of the texts? `set` ends with NULL. */
bool ks_str_in(struct ks_str text, const char *const *set);

struct ks_seen_text {
	struct ks_str text;
	uint32_t at; /* the how manieth it was */
};

/* Texts that were seen before; no allocation for the first few. */
struct ks_seen {
	struct ks_str first[8];
	struct ks_seen_text *table; /* open addresses, when there are more */
	uint32_t n, size;
};
/* False when it was there already. */
bool ks_seen_add(struct ks_check *c, struct ks_seen *seen, struct ks_str text);
/* The same of two texts together, and of a whole value (which has no quantities in it), as JSON says it. */
bool ks_seen_add_pair(struct ks_check *c, struct ks_seen *seen, struct ks_str one, struct ks_str other);
bool ks_seen_add_value(struct ks_check *c, struct ks_seen *seen, const struct ks_value *value);
bool ks_seen_has(const struct ks_seen *seen, struct ks_str text);
/* The how manieth it was, from 0 on; -1 when it wasn't seen. */
int64_t ks_seen_find(const struct ks_seen *seen, struct ks_str text);

/* A MAP in which many keys are looked for: begin with {.map = MAP} (NULL is an empty one). */
struct ks_index {
	const struct ks_value *map;
	struct ks_seen seen; /* filled at the first look at a long map */
};
/* NULL when there is no such member. */
const struct ks_value *ks_index_find(struct ks_check *c, struct ks_index *index, struct ks_str key);

/* -- what is wrong ----------------------------------------------------------------------------------------------- */

/*
 * `name` is the child that is meant; NULL: the path itself. `detail` may be "".
 * Values: texts are quoted, numbers and booleans plain, anything else as JSON; NULL is null.
 */
void ks_err_required(struct ks_check *c, const struct ks_path *path, const char *name, const char *detail);
void ks_err_invalid(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *value, const char *detail);
void ks_err_invalid_text(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const char *detail);
void ks_err_invalid_int(struct ks_check *c, const struct ks_path *path, const char *name, int64_t value, const char *detail);
/* The value in `literal`, just as it is to be printed. */
void ks_err_invalid_literal(struct ks_check *c, const struct ks_path *path, const char *name, const char *literal, const char *detail);
/* Without a value. */
void ks_err_invalid_bare(struct ks_check *c, const struct ks_path *path, const char *name, const char *detail);
void ks_err_type_invalid(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *value, const char *detail);
void ks_err_forbidden(struct ks_check *c, const struct ks_path *path, const char *name, const char *detail);
/* `supported` ends with NULL and is shown in its order: sort it where upstream does. */
void ks_err_not_supported(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const char *const *supported);
/* The value in `literal`, just as it is to be printed. */
void ks_err_not_supported_literal(struct ks_check *c, const struct ks_path *path, const char *name, const char *literal, const char *const *supported);
void ks_err_duplicate(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *value);
void ks_err_duplicate_text(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value);
void ks_err_not_found(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const char *detail);
void ks_err_too_long(struct ks_check *c, const struct ks_path *path, const char *name, int64_t max_bytes);
void ks_err_too_long_characters(struct ks_check *c, const struct ks_path *path, const char *name, int64_t max);
void ks_err_too_many(struct ks_check *c, const struct ks_path *path, const char *name, int64_t actual, int64_t max);
void ks_err_too_few(struct ks_check *c, const struct ks_path *path, const char *name, int64_t actual, int64_t min);
void ks_err_internal(struct ks_check *c, const struct ks_path *path, const char *name, const char *detail);
/* A printed detail; "" when out of memory. */
const char *ks_err_detail(struct ks_check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* -- checks that many kinds share: true when all is well ------------------------------------------------------------ */

/* One Invalid for each thing that is wrong with the form; the value is what is checked, also when it is "". */
bool ks_check_name(struct ks_check *c, const struct ks_path *path, const char *name, enum ks_name_form form, struct ks_str value);
/* "must be greater than or equal to 0". */
bool ks_check_nonnegative(struct ks_check *c, const struct ks_path *path, const char *name, int64_t value);
/* "must be between MIN and MAX, inclusive". */
bool ks_check_range(struct ks_check *c, const struct ks_path *path, const char *name, int64_t value, int64_t min, int64_t max);
/* 1 to 65535. */
bool ks_check_port(struct ks_check *c, const struct ks_path *path, const char *name, int64_t value);
/* A number as above, or the name of a port. */
bool ks_check_port_or_name(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *value);
bool ks_check_quantity_nonnegative(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value);
/* A MAP of labels; keys and values give causes at `path` itself. */
bool ks_check_labels(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *labels);
bool ks_check_annotations(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *annotations);
enum {
	KS_SELECTOR_VALUES_FREE = 1 << 0, /* values may be anything (objects that were stored so) */
};
/* A metav1.LabelSelector; NULL is fine. */
bool ks_check_label_selector(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *selector, unsigned flags);
/* An address or range; legacy forms (leading zeros, IPv4-mapped, bits beyond the prefix) are taken unless `strict`. */
bool ks_check_ip(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, bool strict);
bool ks_check_cidr(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, bool strict);
/* The same strictly, and as it is written canonically. */
bool ks_check_canonical_ip(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value);
bool ks_check_canonical_cidr(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value);

/* How an address or range is written. */
enum ks_address_form {
	KS_ADDRESS_NONE,      /* it is none */
	KS_ADDRESS_CANONICAL,
	KS_ADDRESS_LOOSE,     /* IPv6 that can be written shorter, or in small letters */
	KS_ADDRESS_LEGACY,    /* leading zeros, IPv4-mapped */
};
enum { KS_ADDRESS_TEXT = 56 };
enum ks_address_form ks_ip_form(struct ks_str value, char canonical_r[KS_ADDRESS_TEXT]);
/* `*beyond_r`: bits are set beyond the prefix; `single_r` is the address alone as a range. */
enum ks_address_form ks_cidr_form(struct ks_str value, char canonical_r[KS_ADDRESS_TEXT], char single_r[KS_ADDRESS_TEXT], bool *beyond_r);
/* "field is immutable" when they differ; shows `now`. */
bool ks_check_immutable(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *now, const struct ks_value *old);

/* -- rules as tables ----------------------------------------------------------------------------------------------- */

struct ks_rules;

enum ks_rule_kind {
	KS_RULE_HOOK,        /* only `hook` */
	KS_RULE_PRESENT,     /* nothing but `required` */
	KS_RULE_ENUM,        /* one of `set` */
	KS_RULE_RANGE,       /* min to max */
	KS_RULE_NONNEGATIVE,
	KS_RULE_POSITIVE,    /* "must be greater than 0" */
	KS_RULE_NAME,        /* of `form` */
	KS_RULE_PORT,
	KS_RULE_PORT_OR_NAME,
	KS_RULE_IP, KS_RULE_CIDR,
	KS_RULE_QUANTITY,    /* not negative */
	KS_RULE_LABELS, KS_RULE_ANNOTATIONS, KS_RULE_SELECTOR,
	KS_RULE_MAX_BYTES,   /* a text of at most `max` bytes */
	KS_RULE_MAX_ITEMS,   /* a list of at most `max` items */
	KS_RULE_UNIQUE,      /* items of a list are unique, by `key` or (NULL) as texts */
	KS_RULE_IMMUTABLE,   /* on update */
	KS_RULE_STRUCT,      /* `rules` of a struct */
	KS_RULE_EACH,        /* `rules` of each item of a list (or `hook` for each, when there are none) */
	KS_RULE_FORBIDDEN,   /* must be absent; `detail` says why */
};

/* `value` is the field (NULL when absent), `owner` the struct it is in, `path` the field's; `old` as `value`, NULL on create. */
typedef void ks_rule_hook(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old, const struct ks_value *owner);

/* A row. What is absent or "" is only judged by `required`; hooks see everything. */
struct ks_rule {
	const char *field; /* NULL or "": the struct itself */
	uint8_t kind;      /* enum ks_rule_kind */
	uint8_t form;      /* enum ks_name_form */
	bool required;     /* "Required value", with `detail` */
	bool stop;         /* when this row fails, the following rows are not looked at */
	int64_t min, max;
	const char *detail;
	const char *key;
	const char *const *set;
	const struct ks_rules *rules;
	ks_rule_hook *hook;
};

struct ks_rules {
	const struct ks_rule *rows;
	uint32_t n;
	_Atomic uint32_t *places; /* one a row: where the field was found last */
};

#define KS_RULES(name_, ...) \
	static const struct ks_rule name_##_rows[] = {__VA_ARGS__}; \
	static _Atomic uint32_t name_##_places[sizeof(name_##_rows) / sizeof(name_##_rows[0])]; \
	static const struct ks_rules name_ = {name_##_rows, sizeof(name_##_rows) / sizeof(name_##_rows[0]), name_##_places}

/* Checks a struct; NULL is taken as one with nothing in it. `old`: what it was before, NULL on create. True when nothing was wrong. */
bool ks_rules_apply(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, const struct ks_value *old, const struct ks_rules *rules);

#endif
