/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the protobuf decoder. Private to core/api. */
#ifndef KS_API_PROTO_LEAF_H
#define KS_API_PROTO_LEAF_H

#include "core/api/proto_plan.h"
#include "core/api/proto_wire.h"
#include "core/api/value.h"

struct ks_proto_decoder {
	struct ks_arena *arena;
	const struct ks_schema *s;
	const struct ks_proto_plan *plan;
	const char *message; /* of -EINVAL */
	int rc; /* 0, -EINVAL, -ENOMEM: nothing more is to be read */
	unsigned depth;
	bool disorder; /* keys of a map came in no order, or twice */
};

/* A complaint ends decoding (NULL: there was no memory for its text); false. */
bool ks_proto_refuse(struct ks_proto_decoder *d, const char *message);
bool ks_proto_out_of_memory(struct ks_proto_decoder *d);

/* -- proto_decode.c -- */

/* A message as a struct; fields go on with what is there. */
bool ks_proto_struct(struct ks_proto_decoder *d, uint16_t type, struct ks_str data, struct ks_value *out);

/* -- proto_leaf.c -- */

/* The value at the reader, which is behind its tag, of the wire type that the class has. Absent: Go's zero value.
 * `pointer`: it stands behind one. */
bool ks_proto_value(struct ks_proto_decoder *d, uint16_t type, bool pointer, struct ks_proto_reader *r, struct ks_value *out);
/* What stands for Go's zero value in a list or map. */
void ks_proto_zero(struct ks_proto_decoder *d, uint16_t type, struct ks_value *out);
/* Sorts members of typed maps by key; of equal keys the last one stays. False when out of memory. */
bool ks_proto_order(struct ks_value *v) __attribute__((warn_unused_result));

#endif
