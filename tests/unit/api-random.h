/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Objects of any built-in type with fields filled at random. */
#ifndef KS_TESTS_API_RANDOM_H
#define KS_TESTS_API_RANDOM_H

#include "api-help.h"

struct ks_test_maker {
	struct ks_arena *arena;
	uint64_t seed;
	unsigned depth;
	bool proto; /* only what protobuf can say */
};

/* False when nothing is in it, which only a pointer or an item (`kept`) can tell from absent. */
bool ks_test_make_struct(struct ks_test_maker *m, uint16_t type, bool kept, struct ks_value *out);

#endif
