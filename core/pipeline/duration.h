/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Go's duration texts: "1h2m3.5s", "500ms". */
#ifndef KS_PIPELINE_DURATION_H
#define KS_PIPELINE_DURATION_H

#include <stdint.h>

#include "core/util/arena.h"

/* Nanoseconds. NULL, or what time.ParseDuration says of it. */
const char *ks_duration_parse(struct ks_arena *arena, struct ks_str text, int64_t *ns_r);

#endif
