/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with a configuration: one line each, `file:line:column: text`, so
 * that several faults are told at once and an editor can jump to them.
 */
#ifndef KS_CONFIG_PROBLEMS_H
#define KS_CONFIG_PROBLEMS_H

#include <stdint.h>

#include "core/util/buf.h"

enum { KS_PROBLEMS_MOST = 20 }; /* more are counted, not kept */

struct ks_place {
	uint32_t line, column; /* from 1; 0: of the file as a whole */
};

struct ks_problems {
	struct ks_buf text; /* lines, each ended by a newline */
	uint32_t n;
};

void ks_problems_init(struct ks_problems *problems);
void ks_problems_fini(struct ks_problems *problems);
/* `file` may be NULL: no place is put before the text. Returns -EINVAL, so that callers write `return ks_problem(...)`. */
int ks_problem(struct ks_problems *problems, const char *file, struct ks_place place, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The name among `names` (ends with NULL) that `text` was probably meant to be; NULL when none is near. */
const char *ks_nearest_name(const char *text, const char *const *names);

#endif
