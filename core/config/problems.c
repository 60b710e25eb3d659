/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/config/problems.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ks_problems_init(struct ks_problems *problems)
{
	ks_buf_init(&problems->text);
	problems->n = 0;
}

void ks_problems_fini(struct ks_problems *problems)
{
	ks_buf_fini(&problems->text);
}

static void add_text(struct ks_buf *out, const char *text)
{
	for (; *text; text++)
		ks_buf_add_char(out, (unsigned char)*text < 0x20 ? ' ' : *text);
}

int ks_problem(struct ks_problems *problems, const char *file, struct ks_place place, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (++problems->n > KS_PROBLEMS_MOST)
		return -EINVAL;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (file && place.line)
		ks_buf_printf(&problems->text, "%s:%u:%u: ", file, place.line, place.column);
	else if (file)
		ks_buf_printf(&problems->text, "%s: ", file);
	add_text(&problems->text, text);
	ks_buf_add_char(&problems->text, '\n');
	return -EINVAL;
}

enum { NAME_MOST = 32 };

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* Levenshtein's distance of two short names. */
static unsigned distance(const char *a, size_t n, const char *b, size_t m)
{
	unsigned row[NAME_MOST + 1];

	for (size_t j = 0; j <= m; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned above = row[j];

			row[j] = least(above + 1, row[j - 1] + 1, diagonal + ((a[i - 1] | 0x20) != (b[j - 1] | 0x20)));
			diagonal = above;
		}
	}
	return row[m];
}

const char *ks_nearest_name(const char *text, const char *const *names)
{
	const char *best = NULL;
	size_t n = strlen(text);
	unsigned best_distance = n > 8 ? 4 : n > 3 ? 3 : 2;

	if (n > NAME_MOST)
		return NULL;
	for (; *names; names++) {
		size_t m = strlen(*names);
		unsigned d;

		if (m > NAME_MOST)
			continue;
		d = distance(text, n, *names, m);
		if (d < best_distance) {
			best_distance = d;
			best = *names;
		}
	}
	return best;
}
