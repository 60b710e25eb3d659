/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of one resource in a few lines, for tests of what reads it: the functions
 * of core/cache/cache.h that the plugin host calls, with a history as short as the
 * test wants it to be.
 */
#ifndef KS_TESTS_SMALL_CACHE_H
#define KS_TESTS_SMALL_CACHE_H

#include "core/cache/cache.h"

/* Empties it; it keeps `resource` from now on, and at most `history` events. */
void small_cache_begin(const struct ks_schema *schema, uint16_t resource, size_t history);
void small_cache_end(void);
struct ks_cache *small_cache(void);
/* Stores the JSON text of an object (without resourceVersion) under the next revision. */
void small_cache_put(const char *ns, const char *name, const char *json);
void small_cache_delete(const char *ns, const char *name);
/* References to objects that nobody has given back. */
int small_cache_references(void);

#endif
