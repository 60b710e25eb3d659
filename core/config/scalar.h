/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Texts of a configuration as numbers: 0, or -EINVAL (no such number) or -ERANGE (it doesn't fit). Outputs are untouched on failure. */
#ifndef KS_CONFIG_SCALAR_H
#define KS_CONFIG_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/util/str.h"

/* true, false */
int ks_scalar_bool(struct ks_str text, bool *out_r);
/* Decimal, with an optional sign. */
int ks_scalar_int(struct ks_str text, int64_t *out_r);
/* Milliseconds: 500ms, 10s, 5m, 1h, 1h30m; 0 alone needs no unit. */
int ks_scalar_duration(struct ks_str text, int64_t *out_r);
/* Bytes: plain or with Ki, Mi, Gi, Ti. */
int ks_scalar_size(struct ks_str text, int64_t *out_r);

#endif
