/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The three patch types. They work on free-form trees (ks_value_to_free before, ks_value_convert after).
 * Each returns 0 or a negative code with `*message_r` for the client (not for -ENOMEM); the object is then not to be used.
 * The patch itself is not changed, so it can be applied again.
 *
 *   -EINVAL  the patch is malformed: 400 BadRequest with this message
 *   -E2BIG   too many operations: 413 RequestEntityTooLarge with this message
 *   -EPERM   it can't be applied to this object: 422 Invalid; upstream words that by ks_status_generic(422) and shows no reason,
 *            `*message_r` is for the log
 *   -EPROTO  strategic merge patch only: 500 with this message and no reason (upstream lets the error through as it is)
 */
#ifndef KS_API_PATCH_H
#define KS_API_PATCH_H

#include "core/api/json.h"

/* RFC 6902. `patch` is a decoded list of operations; at most 10,000 (kube-apiserver's limit). */
int ks_patch_json(struct ks_arena *arena, struct ks_value *object, const struct ks_value *patch, const char **message_r) __attribute__((warn_unused_result));
/* What strict decoding of a list of operations complains of beside duplicates: `unknown field "[1].extra"`. Added to `strict`. False when out of memory. */
bool ks_patch_json_strict(struct ks_arena *arena, const struct ks_value *patch, struct ks_strict_errors *strict) __attribute__((warn_unused_result));
/* RFC 7386. */
int ks_patch_merge(struct ks_arena *arena, struct ks_value *object, const struct ks_value *patch, const char **message_r) __attribute__((warn_unused_result));
/* Strategic merge patch with every directive, by the merge keys of `type`. */
int ks_patch_strategic(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, struct ks_value *object, const struct ks_value *patch, const char **message_r) __attribute__((warn_unused_result));

#endif
