/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Texts in messages, quoted as Go's %q quotes them. */
#ifndef KS_API_QUOTE_H
#define KS_API_QUOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/util/arena.h"
#include "core/util/buf.h"
#include "core/util/str.h"

/* With double quotes around it; control characters, invalid UTF-8 and what does not print are escaped. */
void ks_quote_to(struct ks_buf *out, struct ks_str text);
/* NULL when out of memory. */
const char *ks_quote(struct ks_arena *arena, struct ks_str text) __attribute__((warn_unused_result));

/* Reads one UTF-8 character: its length (1 and U+FFFD for a byte that is none). */
size_t ks_utf8_next(const char *p, size_t n, uint32_t *rune_r);
/* Writes one; at most 4 bytes. */
size_t ks_utf8_put(char *out, uint32_t rune);
/* Letters, marks, numbers, punctuation, symbols and the plain space, as Go tells them. */
bool ks_rune_prints(uint32_t rune);

#endif
