/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The user of a request as plugins see it. */
#ifndef KS_PIPELINE_USER_H
#define KS_PIPELINE_USER_H

#include <keelson/authz.h>

#include "core/pipeline/request.h"

/* Views of `user`, which must stay. False when out of memory. */
bool ks_user_view(struct ks_arena *arena, const struct ks_user_info *user, struct ks_user *out_r) __attribute__((warn_unused_result));

#endif
