/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Base64 with padding, as Go's StdEncoding reads and writes it (line breaks are skipped). */
#ifndef KS_API_BASE64_H
#define KS_API_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "core/util/str.h"

/* Checks a text. True when it is well formed; then `*bytes_r` is the number of bytes it stands for and `*canonical_r` tells whether encoding them
 * would give the same text. Else `*bad_r` is the offset that Go complains about. */
bool ks_base64_check(struct ks_str text, size_t *bytes_r, bool *canonical_r, size_t *bad_r);
/* Bytes of a text that passed the check; `out` has room for bytes_r. */
void ks_base64_decode(struct ks_str text, unsigned char *out);
static inline size_t ks_base64_length(size_t bytes) { return (bytes + 2) / 3 * 4; }
/* Writes ks_base64_length(n) characters, no NUL. */
void ks_base64_encode(const unsigned char *p, size_t n, char *out);

#endif
