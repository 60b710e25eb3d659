/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* An object's bytes in other versions than the one that is stored. Private to core/cache. */
#ifndef KS_CACHE_REPRESENTATION_H
#define KS_CACHE_REPRESENTATION_H

#include "core/cache/cache.h"
#include "core/util/error.h"

/* Makes the object from bytes that are stored in another version of its group: decodes, converts, encodes. 0 or negative with err. */
int ks_representation_normalise(struct ks_arena *arena, const struct ks_schema *schema, uint16_t resource, struct ks_bytes *json,
	struct ks_str api_version, struct ks_str kind, struct ks_object **out_r, struct ks_error *err) __attribute__((warn_unused_result));
void ks_representation_free_all(struct ks_object *object);

#endif
