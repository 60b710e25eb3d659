/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the tests of core/api share: an arena for each test, types by their short names, trees from and to JSON. */
#ifndef KS_TESTS_API_HELP_H
#define KS_TESTS_API_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/api/json.h"

/* cmocka setup and teardown: `*state` is a struct ks_arena *. */
int ks_test_arena_new(void **state);
int ks_test_arena_free(void **state);

#define KS_TEST(f) cmocka_unit_test_setup_teardown(f, ks_test_arena_new, ks_test_arena_free)

/* Type by group, version and kind of the text's apiVersion and kind; fails the test when there is none. */
uint16_t ks_test_type(struct ks_arena *arena, const char *json);
/* Free-form tree; fails the test when it is no JSON. */
struct ks_value ks_test_free(struct ks_arena *arena, const char *json);
/* JSON of a tree, NUL-terminated. */
const char *ks_test_json(struct ks_arena *arena, const struct ks_value *v);
/* Decodes as the type of its kind; the message, or NULL when it was decoded. */
const char *ks_test_decode(struct ks_arena *arena, const char *json, struct ks_value *out, struct ks_strict_errors *strict);
/* Strict errors joined by "; ". */
const char *ks_test_strict(struct ks_arena *arena, const struct ks_strict_errors *strict);

#endif
