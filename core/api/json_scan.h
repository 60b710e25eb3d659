/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The lexical part of the JSON decoder: what it finds wrong is worded as Go's
 * scanner words it. Private to core/api.
 */
#ifndef KS_API_JSON_SCAN_H
#define KS_API_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/util/arena.h"
#include "core/util/str.h"

/* Deeper texts are refused: every walker of a tree is recursive, and this is safe on a worker's stack. */
enum { KS_JSON_MAX_DEPTH = 1000 };

struct ks_json_scan {
	const char *p, *end;
	struct ks_arena *arena;
	const char *message; /* arena text, when rc is -EINVAL */
	int rc;              /* 0, -EINVAL or -ENOMEM: nothing more is to be read */
	unsigned depth;
};

struct ks_json_number {
	struct ks_str text;
	bool integer; /* digits only, and it fits */
	int64_t value;
};

static inline void ks_json_space(struct ks_json_scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
		s->p++;
}

/* The next byte after white space; NUL at the end. */
static inline char ks_json_peek(struct ks_json_scan *s)
{
	if (s->p < s->end && (unsigned char)*s->p > ' ')
		return *s->p;
	ks_json_space(s);
	return s->p < s->end ? *s->p : '\0';
}

/* What Go calls the value that starts with `c`: "string", "array", "object", "bool", "number". */
const char *ks_json_what(char c);

/* All of these return false when they set rc. */

/* "invalid character 'x' WHERE" for the byte at p, or the end of input. */
bool ks_json_unexpected(struct ks_json_scan *s, const char *where);
bool ks_json_out_of_memory(struct ks_json_scan *s);
/* One level deeper, at a '[' or '{' that is consumed. */
bool ks_json_enter(struct ks_json_scan *s);
/* At the opening quote. The text is a view of the input where nothing had to be replaced, else arena memory. */
bool ks_json_string(struct ks_json_scan *s, struct ks_str *out);
/* At '-' or a digit. */
bool ks_json_number(struct ks_json_scan *s, struct ks_json_number *out);
/* At the first letter of true, false or null. */
bool ks_json_word(struct ks_json_scan *s, const char *word);
/* Any value; iterative. */
bool ks_json_skip(struct ks_json_scan *s);
/* White space and then the end. */
bool ks_json_end(struct ks_json_scan *s);

#endif
