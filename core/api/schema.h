/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema tables: what an API type is made of, as constant data.
 *
 * A schema is a set of flat arrays that refer to each other by index and to their
 * texts by offset into one string pool: no pointers, so that the built-in tables
 * are shared read-only pages in every process. Built-in tables are compiled from
 * core/api/schema/<group>_<version>.schema (imported facts) and .rules (ours) at build time;
 * custom resources compile theirs at run time into the same form.
 *
 * Index 0 of `types`, `fields` and offset 0 of `strings` ("") mean "none".
 * Everything here is immutable and may be read from any thread.
 */
#ifndef KS_API_SCHEMA_H
#define KS_API_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/util/str.h"

/* What the Go type is, as far as encoding is concerned. */
enum ks_type_class {
	KS_TYPE_NONE,
	KS_TYPE_BOOL,
	KS_TYPE_INT32,
	KS_TYPE_INT64,
	KS_TYPE_FLOAT64,
	KS_TYPE_STRING,        /* and every named string: each is a type of its own */
	KS_TYPE_BYTES,         /* []byte: base64 in JSON */
	KS_TYPE_TIME,          /* meta/v1.Time: RFC 3339, seconds, UTC; null when zero */
	KS_TYPE_MICRO_TIME,    /* meta/v1.MicroTime: six digits of a second */
	KS_TYPE_DURATION,      /* meta/v1.Duration: Go's duration text */
	KS_TYPE_QUANTITY,      /* resource.Quantity: canonical text */
	KS_TYPE_INT_OR_STRING, /* intstr.IntOrString */
	KS_TYPE_RAW,           /* runtime.RawExtension: an object of any kind, kept as it came */
	KS_TYPE_JSON,          /* apiextensions JSON, JSONSchemaPropsOr...: any JSON value */
	KS_TYPE_FIELDS_V1,     /* meta/v1.FieldsV1: a JSON object */
	KS_TYPE_STRUCT,
	KS_TYPE_LIST,
	KS_TYPE_MAP,           /* keys are strings */
};

enum ks_list_kind { KS_LIST_ATOMIC, KS_LIST_SET, KS_LIST_MAP }; /* x-kubernetes-list-type; atomic is the default */

struct ks_type {
	uint8_t class_;     /* enum ks_type_class */
	uint8_t list_kind;  /* enum ks_list_kind, of a LIST, from the type; a field can say otherwise */
	uint8_t atomic;     /* a STRUCT or MAP that server-side apply owns as a whole */
	uint8_t proto_message; /* a LIST that is a message of its own in protobuf: { repeated items = 1 } (Verbs, ExtraValue) */
	uint16_t element;   /* type of a LIST's items or a MAP's values; 0 otherwise */
	uint16_t n_fields;  /* of a STRUCT */
	uint32_t first_field;
	uint32_t name;      /* STRUCT: OpenAPI name, such as io.k8s.api.core.v1.Pod; what else has a name: the same way; else "" */
	uint32_t name_table; /* STRUCT: index into `slots` of its hash table of field names: see ks_schema_slot */
	uint16_t name_table_size; /* a power of two, 0 for a struct without fields */
	uint16_t enum_first, n_enum; /* into `enums`: allowed values of a named string, as imported */
	uint16_t is_union; /* a STRUCT of which one member is set (+union): see the fields' flags */
	uint16_t key;      /* of a MAP: the type of its keys where they have a name of their own; 0: any string */
	uint16_t drops;    /* 1: a field in it, or in what it holds, is KS_FIELD_RULE_DROPPED */
};

enum ks_field_flag {
	KS_FIELD_OMIT_EMPTY = 1 << 0, /* left out of JSON when it is Go's empty value (false, 0, "", nil, empty list or map) */
	KS_FIELD_OMIT_ZERO  = 1 << 1, /* left out when the struct is the zero value */
	KS_FIELD_POINTER    = 1 << 2, /* a Go pointer: "", 0 and false are kept when present */
	KS_FIELD_REQUIRED   = 1 << 3,
	KS_FIELD_NULLABLE   = 1 << 4,
	KS_FIELD_ELEMENT_POINTER = 1 << 5, /* list of pointers: null items are kept */
	KS_FIELD_RETAIN_KEYS = 1 << 6, /* patchStrategy retainKeys */
	KS_FIELD_PATCH_MERGE = 1 << 7, /* patchStrategy merge */
	KS_FIELD_ATOMIC     = 1 << 8,
	KS_FIELD_GRANULAR   = 1 << 9,
	KS_FIELD_UNION_MEMBER = 1 << 10,
	KS_FIELD_UNION_DISCRIMINATOR = 1 << 11,
	KS_FIELD_PROTO_NONE = 1 << 12, /* not in protobuf */
	KS_FIELD_DEFAULT_OURS = 1 << 13, /* default_value comes from .rules (what upstream says in code): not shown in OpenAPI */
	KS_FIELD_LIST_SAID = 1 << 14, /* the list kind was declared, not just assumed atomic */
	KS_FIELD_PATCH_REPLACE = 1 << 15, /* patchStrategy replace: what happens anyway, but said */
};

/* What .rules says of a field's values; a rule in code is not listed here. */
enum ks_field_rule {
	KS_FIELD_RULE_NONE,
	KS_FIELD_RULE_ANY,       /* any value of its type will do: there is nothing to judge */
	KS_FIELD_RULE_DROPPED,   /* of a feature that is off: left out of what is stored, unless it stood there before */
	KS_FIELD_RULE_ELSEWHERE, /* judged by what is not a validator of its kind; the rule says where */
};

/* A member of a STRUCT. Embedded (`,inline`) structs are flattened into their parent, in the order of declaration. */
struct ks_field {
	uint32_t name;           /* JSON name */
	uint16_t type;
	uint16_t flags;          /* enum ks_field_flag */
	uint16_t proto;          /* protobuf field number */
	uint16_t proto_parent;   /* number of the embedded message that holds it in protobuf; 0: in the struct itself.
	                          * Where that one lies in another, the high byte is the inner number and the low byte the outer one. */
	uint8_t list_kind;       /* enum ks_list_kind, when the field is a LIST */
	uint8_t n_list_keys;     /* keys of a map list, into `list_keys` */
	uint16_t first_list_key;
	uint32_t patch_merge_key; /* "" when none */
	uint32_t default_value;  /* JSON text of a constant default; "" when none */
	uint32_t enum_first;     /* into `enums`: allowed texts; n_enum 0: none */
	uint16_t n_enum;
	uint16_t rule;           /* enum ks_field_rule */
	uint32_t union_name;     /* which union it is a member of; "" for the unnamed one */
	uint16_t name_n;         /* length of `name` */
	uint16_t embedded;       /* into `lists`: the embedded struct that it comes from ("TypeMeta", "RuleWithOperations.Rule"); "" none */
};

enum ks_scope { KS_SCOPE_CLUSTER, KS_SCOPE_NAMESPACED };

enum ks_verb {
	KS_VERB_GET = 1 << 0, KS_VERB_LIST = 1 << 1, KS_VERB_WATCH = 1 << 2, KS_VERB_CREATE = 1 << 3,
	KS_VERB_UPDATE = 1 << 4, KS_VERB_PATCH = 1 << 5, KS_VERB_DELETE = 1 << 6, KS_VERB_DELETECOLLECTION = 1 << 7,
	KS_VERB_PROXY = 1 << 8, KS_VERB_CONNECT = 1 << 9,
};

enum ks_resource_flag {
	KS_RESOURCE_RETURNS_DELETED = 1 << 0, /* DELETE answers with the object that is gone, not with a Status */
};

/* A resource or subresource as discovery lists it. Subresources follow their resource. */
struct ks_resource {
	uint32_t group, version; /* "" for the core group */
	uint32_t resource;       /* plural: pods; a subresource's is pods/status */
	uint32_t singular;       /* "" for subresources */
	uint32_t kind;           /* what its body is; Scale, Eviction, ... for some subresources */
	uint32_t kind_group, kind_version; /* of `kind`, where it differs from the resource's own; else the same */
	uint16_t type;           /* STRUCT of `kind` */
	uint16_t list_type;      /* STRUCT of the list kind; 0 when it can't be listed */
	uint16_t verbs;          /* enum ks_verb */
	uint8_t scope;           /* enum ks_scope */
	uint8_t is_subresource;
	uint16_t first_short_name, n_short_names; /* into `lists` */
	uint16_t first_category, n_categories;    /* into `lists` */
	uint16_t first_column, n_columns;         /* into `columns` */
	uint16_t first_selectable, n_selectable;  /* into `lists`: paths for field selectors beside metadata.name and .namespace */
	uint16_t parent;         /* subresource: index of its resource; else its own index */
	uint16_t storage;        /* index of the resource in whose version objects are kept; its own mostly */
	uint32_t storage_prefix; /* etcd key part: "pods", "minions", "services/specs"; "" when nothing is stored */
	uint32_t storage_version_hash; /* as discovery shows it; "" when none */
	uint16_t flags;          /* enum ks_resource_flag */
	uint16_t reserved;
};

struct ks_column { /* of a Table */
	uint32_t name, type, format, description;
	int32_t priority;
};

/* A group and version, in the order of discovery. */
struct ks_group_version {
	uint32_t group, version;
	uint16_t first_resource, n_resources;
	uint16_t preferred; /* 1: the group's preferred version */
	uint16_t reserved;
};

struct ks_kind { /* group, version, kind -> type: every top-level kind, lists and options included */
	uint32_t group, version, kind;
	uint16_t type;
	uint16_t resource; /* main resource of that kind in that version; 0xffff when none */
};

/*
 * What types, fields and columns are for, in words, as the types' authors say it: of the Go packages that were there
 * when the server was built; all NULL without. Read on demand only, so that it takes no memory before somebody asks.
 */
struct ks_descriptions {
	const uint32_t *types, *fields, *columns; /* by index of the tables: offsets into `texts` */
	const char *texts;
	uint64_t hash; /* changes when they do */
};

extern const struct ks_descriptions ks_descriptions_builtin;

struct ks_schema {
	const struct ks_type *types;
	const struct ks_field *fields;
	const struct ks_resource *resources;
	const struct ks_group_version *group_versions;
	const struct ks_kind *kinds; /* sorted by kind, group, version texts */
	const struct ks_column *columns;
	const uint16_t *slots;       /* hash tables of field names */
	const uint32_t *lists;       /* string offsets */
	const uint32_t *list_keys;   /* string offsets */
	const uint32_t *enums;       /* string offsets */
	const char *strings;         /* NUL-terminated texts */
	const uint16_t *resource_table; /* hash table of resources: see ks_schema_find_resource */
	uint32_t resource_table_size;   /* a power of two; 0: no table */
	uint32_t n_types, n_fields, n_resources, n_group_versions, n_kinds;
	uint32_t strings_size, n_slots, n_columns;
	uint32_t generation;         /* 0: built in */
	const struct ks_descriptions *descriptions; /* NULL: none */
};

/* All built-in types; compiled at build time. */
extern const struct ks_schema ks_schema_builtin;

#define KS_NO_SLOT UINT16_MAX
#define KS_NO_RESOURCE UINT16_MAX

static inline const char *ks_schema_text(const struct ks_schema *s, uint32_t offset)
{
	return s->strings + offset;
}

static inline const struct ks_field *ks_schema_field(const struct ks_schema *s, uint16_t type, uint16_t slot)
{
	return &s->fields[s->types[type].first_field + slot];
}

/*
 * FNV-1a over the name; the compiler uses the same function.
 *
 * Hash tables (a struct's part of `slots`, and `resource_table`) have open addresses: an entry is looked for at
 * hash & (size - 1) and then upwards, around the end, until it is met or KS_NO_SLOT is. At most half of a table is full.
 * A resource's hash is that of the text "group/version/resource".
 */
uint32_t ks_schema_hash(const char *name, size_t n);
/* Fills such a table of `size` places from `n` hashes; the entry of hash i is i.
 * False when n > size / 2 or size is no power of two. */
bool ks_schema_hash_fill(uint16_t *table, uint32_t size, const uint32_t *hashes, uint32_t n)
	__attribute__((warn_unused_result));
/* The slot (index among the struct's fields) of a JSON name, exactly as spelled; KS_NO_SLOT when there is none. */
uint16_t ks_schema_slot(const struct ks_schema *s, uint16_t type, const char *name, size_t n);
/* The same, letters compared without case (encoding/json does so for what has no exact match). */
uint16_t ks_schema_slot_fold(const struct ks_schema *s, uint16_t type, const char *name, size_t n);

/* Index of group/version/resource; `resource` may be "pods/status". KS_NO_RESOURCE when it isn't served. */
uint16_t ks_schema_find_resource(
	const struct ks_schema *s, struct ks_str group, struct ks_str version, struct ks_str resource);
/* NULL when there is no such kind. */
const struct ks_kind *ks_schema_find_kind(
	const struct ks_schema *s, struct ks_str group, struct ks_str version, struct ks_str kind);
/* STRUCT by OpenAPI name; 0 when there is none. Slow: for set-up. */
uint16_t ks_schema_find_type(const struct ks_schema *s, const char *name);

/* Descriptions; "" when there is none. */
const char *ks_schema_type_description(const struct ks_schema *s, uint16_t type);
const char *ks_schema_field_description(const struct ks_schema *s, const struct ks_field *f);
const char *ks_schema_column_description(const struct ks_schema *s, const struct ks_column *c);

#endif
