/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Schemas of a made-up kind, Thing of group example.com, built out of OpenAPI properties as a custom resource's are. */
#ifndef KS_TESTS_MANAGED_SCHEMA_H
#define KS_TESTS_MANAGED_SCHEMA_H

#include "api-help.h"

#define THING_GROUP "example.com/"
#define THING_VERSIONS 4

struct thing_version {
	struct ks_str name; /* "v1" */
	uint16_t type;
};

struct thing_schema {
	struct ks_schema schema; /* the built-in types and these */
	struct thing_version versions[THING_VERSIONS];
	uint32_t n_versions;
	const struct ks_value *moves; /* lists of VERSION, PATH, VERSION, PATH ...: one value has these places */
};

/* From a free-form tree {"versions": {NAME: {FIELD: SCHEMA}}, "moves": ...}, which it borrows. */
void thing_schema_init(struct thing_schema *things, struct ks_arena *arena, const struct ks_value *from);
/* NULL when there is no such version. `api_version` is "example.com/v1". */
const struct thing_version *thing_version_of(const struct thing_schema *things, struct ks_str api_version);
/* The convert of struct ks_managed_op; `arg` is a struct thing_schema *. */
int thing_convert(void *arg, struct ks_arena *arena, struct ks_str from, const struct ks_value *object, struct ks_str to, struct ks_value *out_r);

#endif
