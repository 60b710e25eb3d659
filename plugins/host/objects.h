/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Objects of the cache as trees, for plugins. */
#ifndef KS_PLUGINS_OBJECTS_H
#define KS_PLUGINS_OBJECTS_H

#include "core/cache/cache.h"

/* The object as `resource` (any served version of it). `revision`: what to show as its resourceVersion; 0: its own. Texts may point into the
 * object's bytes. 0 or negative. */
int ks_object_value(struct ks_object *object, const struct ks_schema *schema, uint16_t resource, uint64_t revision, struct ks_arena *arena,
	struct ks_value *out_r) __attribute__((warn_unused_result));

#endif
