/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* ?fieldSelector=: path=value, path==value, path!=value, joined by commas; `\`, `,` and `=` in values are escaped by `\`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/quote.h"
#include "core/api/selector.h"

/* The end of the term at `from`: a comma that is not escaped. */
static size_t term_end(struct ks_str text, size_t from)
{
	bool escaped = false;

	for (size_t i = from; i < text.n; i++) {
		if (escaped)
			escaped = false;
		else if (text.p[i] == '\\')
			escaped = true;
		else if (text.p[i] == ',')
			return i;
	}
	return text.n;
}

static uint32_t count_terms(struct ks_str text)
{
	uint32_t n = 1;

	for (size_t at = 0; (at = term_end(text, at)) < text.n; at++)
		n++;
	return n;
}

static int by_text(const void *a, const void *b)
{
	return ks_str_cmp(*(const struct ks_str *)a, *(const struct ks_str *)b);
}

static struct ks_str *split(struct ks_arena *arena, struct ks_str text, uint32_t n)
{
	struct ks_str *terms = ks_arena_alloc(arena, n * sizeof(*terms));
	size_t at = 0;

	if (!terms)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		size_t end = term_end(text, at);

		terms[i] = ks_str_of(text.p + at, end - at);
		at = end + 1;
	}
	qsort(terms, n, sizeof(*terms), by_text);
	return terms;
}

static int say(struct ks_arena *arena, const char **message_r, const char *what, const char *text, size_t n)
{
	*message_r = ks_arena_printf(arena, "invalid field selector: %s: %.*s", what, (int)n, text);
	return *message_r ? -EINVAL : -ENOMEM;
}

static int unescape(struct ks_arena *arena, struct ks_str text, struct ks_str *out, const char **message_r)
{
	char *copy = ks_arena_alloc(arena, text.n + 1);
	size_t n = 0;
	uint32_t rune;

	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (c == ',' || c == '=')
			return say(arena, message_r, "unescaped character in value", c == ',' ? "44" : "61", 2);
		if (c == '\\') {
			if (i + 1 == text.n)
				return say(arena, message_r, "invalid escape sequence", "\\", 1);
			c = text.p[++i];
			if (c != '\\' && c != ',' && c != '=')
				return say(
					arena, message_r, "invalid escape sequence", text.p + i - 1, 1 + ks_utf8_next(text.p + i, text.n - i, &rune));
		}
		copy[n++] = c;
	}
	*out = ks_str_of(copy, n);
	return 0;
}

/* Cuts the term at its first operator. */
static bool cut(struct ks_str term, struct ks_field_requirement *r)
{
	for (size_t i = 0; i < term.n; i++) {
		size_t n = term.p[i] == '=' ? 1 : 0;

		if (i + 1 < term.n && term.p[i + 1] == '=' && (term.p[i] == '!' || term.p[i] == '='))
			n = 2;
		if (n == 0)
			continue;
		r->path = ks_str_of(term.p, i);
		r->not_equal = term.p[i] == '!';
		r->value = ks_str_of(term.p + i + n, term.n - i - n);
		return true;
	}
	return false;
}

static int parse_term(struct ks_arena *arena, struct ks_str all, struct ks_str term, struct ks_field_requirement *r, const char **message_r)
{
	if (!cut(term, r)) {
		*message_r = ks_arena_printf(arena, "invalid selector: '%.*s'; can't understand '%.*s'", (int)all.n, all.p, (int)term.n, term.p);
		return *message_r ? -EINVAL : -ENOMEM;
	}
	return unescape(arena, r->value, &r->value, message_r);
}

int ks_field_selector_parse(struct ks_arena *arena, struct ks_str text, struct ks_field_requirement **out_r, uint32_t *n_r, const char **message_r)
{
	struct ks_field_requirement *requirements;
	struct ks_str *terms;
	uint32_t n_terms = count_terms(text), n = 0;
	const char *copy = text.n ? ks_arena_dup(arena, text.p, text.n) : "";
	int rc;

	if (!copy)
		return -ENOMEM;
	text.p = copy;
	terms = split(arena, text, n_terms);
	requirements = ks_arena_alloc(arena, n_terms * sizeof(*requirements));
	if (!terms || !requirements)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_terms; i++) {
		if (terms[i].n == 0)
			continue;
		rc = parse_term(arena, text, terms[i], &requirements[n], message_r);
		if (rc < 0)
			return rc;
		if (requirements[n].path.n || requirements[n].value.n)
			n++;
	}
	*out_r = requirements;
	*n_r = n;
	return 0;
}
