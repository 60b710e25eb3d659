/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Causes of a 422, worded as clients know them from field errors. */
#ifndef KS_REGISTRY_CAUSE_H
#define KS_REGISTRY_CAUSE_H

#include <stdint.h>

#include "core/api/status.h"
#include "core/api/value.h"

/* `Invalid value: "VALUE": MESSAGE`, the value quoted as Go quotes texts. */
void ks_cause_invalid(struct ks_status *status, struct ks_arena *arena, const char *field, struct ks_str value, const char *message);
void ks_cause_invalid_int(struct ks_status *status, struct ks_arena *arena, const char *field, int64_t value, const char *message);
/* The value as JSON. */
void ks_cause_invalid_value(struct ks_status *status, struct ks_arena *arena, const struct ks_schema *schema, const char *field,
	const struct ks_value *value, const char *message);
/* `Required value: MESSAGE`; an empty message leaves the colon out. */
void ks_cause_required(struct ks_status *status, struct ks_arena *arena, const char *field, const char *message);
void ks_cause_forbidden(struct ks_status *status, struct ks_arena *arena, const char *field, const char *message);
void ks_cause_duplicate(struct ks_status *status, struct ks_arena *arena, const char *field, struct ks_str value);
/* `Unsupported value: "VALUE": supported values: "A", "B"`; `supported` ends with NULL. */
void ks_cause_unsupported(struct ks_status *status, struct ks_arena *arena, const char *field, struct ks_str value, const char *const *supported);

#endif
