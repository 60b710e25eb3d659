/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Random names: uids and the ends of generated names. Any thread. */
#ifndef KS_API_UID_H
#define KS_API_UID_H

#include "core/util/arena.h"
#include "core/util/str.h"

enum { KS_UID_TEXT = 37 };

/* A random (version 4) UUID as text, NUL-terminated. 0, or a negative errno when the system has no randomness to give. */
int ks_uid_new(char out[KS_UID_TEXT]) __attribute__((warn_unused_result));

/* metadata.generateName: the base cut to 58 bytes and five random letters that form no words. `p` is NULL when out of memory or randomness. */
struct ks_str ks_name_generate(struct ks_arena *arena, struct ks_str base) __attribute__((warn_unused_result));

#endif
