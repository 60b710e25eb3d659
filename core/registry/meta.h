/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* metadata of an object: reading, setting, validating. */
#ifndef KS_REGISTRY_META_H
#define KS_REGISTRY_META_H

#include "core/registry/registry.h"

/* Bytes of the name of a field manager, as the API limits them. */
#define KS_META_MOST_MANAGER 128

/* "" when absent. */
struct ks_str ks_meta_text(const struct ks_schema *schema, const struct ks_value *object, const char *name);
/* `otherwise` when absent. */
int64_t ks_meta_int(const struct ks_schema *schema, const struct ks_value *object, const char *name, int64_t otherwise);
/* NULL when absent. */
struct ks_value *ks_meta_get(const struct ks_schema *schema, const struct ks_value *object, const char *name);
/* An absent or empty text makes the field absent. False when out of memory. */
bool ks_meta_set_text(struct ks_arena *arena, const struct ks_schema *schema, struct ks_value *object, const char *name, struct ks_str text);
bool ks_meta_set_int(struct ks_arena *arena, const struct ks_schema *schema, struct ks_value *object, const char *name, int64_t value);
void ks_meta_remove(const struct ks_schema *schema, struct ks_value *object, const char *name);
/* Takes the field (a shallow copy, or its absence) from `from`. */
bool ks_meta_take(struct ks_arena *arena, const struct ks_schema *schema, struct ks_value *object, const struct ks_value *from, const char *name);

/* "2006-01-02T15:04:05Z" of a unix time in milliseconds; an empty text when out of memory. */
struct ks_str ks_time_text(struct ks_arena *arena, uint64_t unix_ms);

/* Causes for what is wrong with metadata: names are held against `names`; a path segment alone when `generic`. */
void ks_meta_validate(struct ks_registry_context *ctx, const struct ks_value *object, bool generic, struct ks_status *status);
/* The name of a field manager: `field` is where it stands. */
void ks_meta_validate_manager(struct ks_status *status, struct ks_arena *arena, const char *field, struct ks_str manager);
void ks_meta_validate_update(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status);
/* The second look that most kinds take at finalizers. */
void ks_meta_validate_finalizers(struct ks_registry_context *ctx, const struct ks_value *object, struct ks_status *status);

#endif
