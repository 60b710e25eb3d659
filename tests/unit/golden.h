/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Recorded JSON documents and how they are compared with what we make. */
#ifndef KS_TESTS_UNIT_GOLDEN_H
#define KS_TESTS_UNIT_GOLDEN_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/* The document in tests/golden/NAME (decompressed when the name ends in .gz). Fails the test when it can't be read. */
struct json_object *golden_read(const char *name);
/* Parses `n` bytes; fails the test when they are no JSON. */
struct json_object *golden_parse(const char *json, size_t n);
/* Prints up to 20 differences with their paths; returns how many there are. */
size_t golden_differences(struct json_object *ours, struct json_object *theirs, const char *path);

#endif
