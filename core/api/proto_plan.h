/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The schema tables as the wire sees them: for each message its fields in the order of their numbers. Private to core/api. */
#ifndef KS_API_PROTO_PLAN_H
#define KS_API_PROTO_PLAN_H

#include "core/api/schema.h"

/* How the values of a field are written. */
enum ks_proto_shape {
	KS_SHAPE_ONE,
	KS_SHAPE_LIST, /* repeated */
	KS_SHAPE_MAP,
	KS_SHAPE_MESSAGE, /* an embedded message: its fields are slots of the same struct */
};

/* JSON classes that are messages of a schema and something else. */
enum ks_proto_union { KS_UNION_NONE, KS_UNION_OR_ARRAY, KS_UNION_OR_BOOL, KS_UNION_OR_STRINGS };

struct ks_proto_entry {
	const struct ks_field *field; /* NULL: MESSAGE */
	uint16_t number;
	uint16_t slot;
	uint16_t type; /* of the field, of the list's items, of the map's values */
	uint16_t message; /* MESSAGE: which one */
	uint8_t shape; /* enum ks_proto_shape */
	uint8_t class_; /* of `type` */
	bool pointer;
};

struct ks_proto_message {
	uint32_t first; /* entry, in ascending order of numbers */
	uint32_t first_number; /* numbers[first_number + n]: 1 + index of the entry (relative to first) of field number n; 0: none */
	uint16_t n, n_numbers;
};

struct ks_proto_plan {
	struct ks_proto_message *messages; /* of a STRUCT type: at its index; embedded ones behind those */
	struct ks_proto_entry *entries;
	uint16_t *numbers;
	uint8_t *unions; /* by type: enum ks_proto_union */
	uint32_t n_messages, n_entries, n_numbers;
	uint32_t cap_messages, cap_entries, cap_numbers;
	uint16_t schema_props; /* the type that unions hold */
};

/* The plan of the built-in schema, made on first use and kept; any thread. NULL when out of memory, or when the schema has none. */
const struct ks_proto_plan *ks_proto_plan_of(const struct ks_schema *s);

static inline const struct ks_proto_entry *ks_proto_entry_of(const struct ks_proto_plan *plan, const struct ks_proto_message *m, uint32_t number)
{
	uint16_t at = number < m->n_numbers ? plan->numbers[m->first_number + number] : 0;

	return at ? &plan->entries[m->first + at - 1] : NULL;
}

#endif
