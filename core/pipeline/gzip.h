/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Answers compressed as they are written. With the least effort, as upstream: more takes several times as long and gains little. */
#ifndef KS_PIPELINE_GZIP_H
#define KS_PIPELINE_GZIP_H

#include <stdbool.h>

#include "core/util/buf.h"
#include "core/util/str.h"

struct ks_gzip;

/* NULL when out of memory. */
struct ks_gzip *ks_gzip_new(void) __attribute__((warn_unused_result));
/* NULL is safe. */
void ks_gzip_free(struct ks_gzip **gzip);
/* Appends what is ready to `out`; with `last`, all that is left. 0 or -ENOMEM. */
int ks_gzip_write(struct ks_gzip *gzip, struct ks_str bytes, bool last, struct ks_buf *out) __attribute__((warn_unused_result));

#endif
