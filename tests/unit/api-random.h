/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Objects of any built-in type with fields filled at random. */
#ifndef KS_TESTS_API_RANDOM_H
#define KS_TESTS_API_RANDOM_H

#include "api-help.h"

enum { KS_TEST_DEEPEST = 16 };

struct ks_test_maker {
	struct ks_arena *arena;
	uint64_t seed;
	unsigned depth;
	bool proto;  /* only what protobuf can say */
	bool likely; /* texts out of the enumerations too, down to the deepest field; a type is not put into itself */
	/* Slots from the root on: of likely structs along this path nothing else is filled but what is required. */
	uint16_t path[KS_TEST_DEEPEST];
	unsigned n_path;
	uint16_t open[KS_TEST_DEEPEST]; /* types that are being made */
};

/* False when nothing is in it, which only a pointer or an item (`kept`) can tell from absent. */
bool ks_test_make_struct(struct ks_test_maker *m, uint16_t type, bool kept, struct ks_value *out);

#endif
