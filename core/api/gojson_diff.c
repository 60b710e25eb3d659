/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Unified diffs as Python's difflib (and its port to Go) makes them: the longest block that matches first, then left and right of it. */
#include <stdlib.h>

#include "core/api/gojson.h"

enum { CONTEXT = 3, POPULAR_FROM = 200 };

/* -- lines -------------------------------------------------------------------------------------------------------- */

static void new_line(struct ks_buf *out, unsigned depth)
{
	ks_buf_add_char(out, '\n');
	for (unsigned i = 0; i < depth; i++)
		ks_buf_add_char(out, ' ');
}

/* What is behind a text that begins at `i`. */
static size_t skip_text(struct ks_str json, size_t i)
{
	for (i++; i < json.n && json.p[i] != '"'; i++)
		if (json.p[i] == '\\')
			i++;
	return i + 1 < json.n ? i + 1 : json.n;
}

static void indent(struct ks_str json, struct ks_buf *out)
{
	unsigned depth = 0;

	for (size_t i = 0; i < json.n;) {
		char c = json.p[i];
		size_t end;

		if (c == '"') {
			end = skip_text(json, i);
			ks_buf_add(out, json.p + i, end - i);
			i = end;
			continue;
		}
		i++;
		if ((c == '{' || c == '[') && i < json.n && (json.p[i] == '}' || json.p[i] == ']')) {
			ks_buf_add_char(out, c);
			ks_buf_add_char(out, json.p[i++]);
			continue;
		}
		if (c == '}' || c == ']')
			new_line(out, --depth);
		ks_buf_add_char(out, c);
		if (c == '{' || c == '[')
			new_line(out, ++depth);
		else if (c == ',')
			new_line(out, depth);
		else if (c == ':')
			ks_buf_add_char(out, ' ');
	}
}

struct lines {
	struct ks_buf text;
	struct ks_str *items;
	uint32_t n;
};

static bool split(struct ks_str json, struct lines *out)
{
	uint32_t n = 1, at = 0;
	size_t start = 0;

	indent(json, &out->text);
	if (out->text.failed)
		return false;
	for (size_t i = 0; i < out->text.len; i++)
		n += out->text.data[i] == '\n';
	out->items = calloc(n, sizeof(*out->items));
	if (!out->items)
		return false;
	for (size_t i = 0; i <= out->text.len; i++) {
		if (i < out->text.len && out->text.data[i] != '\n')
			continue;
		out->items[at++] = ks_str_of(out->text.data + start, i - start);
		start = i + 1;
	}
	out->n = n;
	return true;
}

static void free_lines(struct lines *lines)
{
	free(lines->items);
	ks_buf_fini(&lines->text);
}

/* -- matching ----------------------------------------------------------------------------------------------------- */

struct block {
	uint32_t a, b, n;
};

struct matcher {
	const struct lines *a, *b;
	bool *popular;         /* lines of b that are too frequent to begin a match with */
	uint32_t *row, *next;  /* lengths of matches that end here */
	struct block *blocks;
	uint32_t n_blocks, cap;
	bool failed;
};

static void find_popular(struct matcher *m)
{
	const struct lines *b = m->b;

	if (b->n < POPULAR_FROM)
		return;
	for (uint32_t i = 0; i < b->n; i++) {
		uint32_t same = 0;

		for (uint32_t k = 0; k < b->n; k++)
			same += ks_str_eq(b->items[i], b->items[k]);
		m->popular[i] = same > b->n / 100 + 1;
	}
}

static bool alike(const struct matcher *m, uint32_t i, uint32_t k)
{
	return ks_str_eq(m->a->items[i], m->b->items[k]);
}

static struct block longest(struct matcher *m, uint32_t alo, uint32_t ahi, uint32_t blo, uint32_t bhi)
{
	struct block best = {alo, blo, 0};

	memset(m->row, 0, (m->b->n + 1) * sizeof(*m->row));
	for (uint32_t i = alo; i < ahi; i++) {
		uint32_t *swap;

		memset(m->next, 0, (m->b->n + 1) * sizeof(*m->next));
		for (uint32_t k = blo; k < bhi; k++) {
			if (m->popular[k] || !alike(m, i, k))
				continue;
			m->next[k + 1] = m->row[k] + 1;
			if (m->next[k + 1] > best.n)
				best = (struct block){i + 1 - m->next[k + 1], k + 1 - m->next[k + 1], m->next[k + 1]};
		}
		swap = m->row;
		m->row = m->next;
		m->next = swap;
	}
	while (best.a > alo && best.b > blo && alike(m, best.a - 1, best.b - 1))
		best = (struct block){best.a - 1, best.b - 1, best.n + 1};
	while (best.a + best.n < ahi && best.b + best.n < bhi && alike(m, best.a + best.n, best.b + best.n))
		best.n++;
	return best;
}

/* Blocks that touch are one. */
static void add_block(struct matcher *m, struct block block)
{
	struct block *last = m->n_blocks ? &m->blocks[m->n_blocks - 1] : NULL;

	if (last && last->a + last->n == block.a && last->b + last->n == block.b) {
		last->n += block.n;
		return;
	}
	if (m->n_blocks == m->cap) {
		uint32_t cap = m->cap ? m->cap * 2 : 32;
		struct block *more = realloc(m->blocks, cap * sizeof(*more));

		if (!more) {
			m->failed = true;
			return;
		}
		m->blocks = more;
		m->cap = cap;
	}
	m->blocks[m->n_blocks++] = block;
}

static void match(struct matcher *m, uint32_t alo, uint32_t ahi, uint32_t blo, uint32_t bhi)
{
	struct block found;

	if (m->failed || alo >= ahi || blo >= bhi)
		return;
	found = longest(m, alo, ahi, blo, bhi);
	if (!found.n)
		return;
	match(m, alo, found.a, blo, found.b);
	add_block(m, found);
	match(m, found.a + found.n, ahi, found.b + found.n, bhi);
}

/* -- hunks -------------------------------------------------------------------------------------------------------- */

static void write_range(uint32_t start, uint32_t n, struct ks_buf *out)
{
	if (n == 1)
		ks_buf_printf(out, "%u", start + 1);
	else
		ks_buf_printf(out, "%u,%u", n ? start + 1 : start, n);
}

static void write_lines(char mark, const struct lines *lines, uint32_t from, uint32_t to, struct ks_buf *out)
{
	for (uint32_t i = from; i < to; i++) {
		ks_buf_add_char(out, mark);
		ks_buf_add(out, lines->items[i].p, lines->items[i].n);
		ks_buf_add_char(out, '\n');
	}
}

/* The change in front of block `i` (the last is in front of the end). */
static struct block block_at(const struct matcher *m, uint32_t i)
{
	return i < m->n_blocks ? m->blocks[i] : (struct block){m->a->n, m->b->n, 0};
}

/* One hunk: the changes in front of blocks first..last. */
static void write_hunk(const struct matcher *m, uint32_t first, uint32_t last, struct ks_buf *out)
{
	struct block before = first ? block_at(m, first - 1) : (struct block){0, 0, 0}, after = block_at(m, last);
	uint32_t lead = before.n < CONTEXT ? before.n : CONTEXT, tail = after.n < CONTEXT ? after.n : CONTEXT;
	uint32_t a = before.a + before.n, b = before.b + before.n;

	ks_buf_add_str(out, "@@ -");
	write_range(a - lead, after.a + tail - (a - lead), out);
	ks_buf_add_str(out, " +");
	write_range(b - lead, after.b + tail - (b - lead), out);
	ks_buf_add_str(out, " @@\n");
	write_lines(' ', m->a, a - lead, a, out);
	for (uint32_t i = first; i <= last; i++) {
		struct block next = block_at(m, i);

		write_lines('-', m->a, a, next.a, out);
		write_lines('+', m->b, b, next.b, out);
		a = next.a + next.n;
		b = next.b + next.n;
		if (i < last)
			write_lines(' ', m->a, next.a, a, out);
		else
			write_lines(' ', m->a, next.a, next.a + tail, out);
	}
}

static bool changed_before(const struct matcher *m, uint32_t i)
{
	struct block before = i ? block_at(m, i - 1) : (struct block){0, 0, 0}, block = block_at(m, i);

	return before.a + before.n < block.a || before.b + before.n < block.b;
}

/* A block ends a hunk when there is more in it than the context of both sides. */
static void write_hunks(const struct matcher *m, struct ks_buf *out)
{
	uint32_t i = changed_before(m, 0) ? 0 : 1;
	uint32_t end = m->n_blocks + (changed_before(m, m->n_blocks) ? 1 : 0);

	while (i < end) {
		uint32_t last = i;

		while (last + 1 < end && block_at(m, last).n <= 2 * CONTEXT)
			last++;
		write_hunk(m, i, last, out);
		i = last + 1;
	}
}

void ks_gojson_diff(struct ks_str before, struct ks_str after, struct ks_buf *out)
{
	struct lines a = {0}, b = {0};
	struct matcher m = {.a = &a, .b = &b};

	if (split(before, &a) && split(after, &b)) {
		m.popular = calloc(b.n, sizeof(*m.popular));
		m.row = calloc(b.n + 1, sizeof(*m.row));
		m.next = calloc(b.n + 1, sizeof(*m.next));
	}
	if (m.popular && m.row && m.next) {
		find_popular(&m);
		match(&m, 0, a.n, 0, b.n);
	}
	if (!m.next || !m.row || !m.popular || m.failed)
		out->failed = true;
	else
		write_hunks(&m, out);
	free(m.popular);
	free(m.row);
	free(m.next);
	free(m.blocks);
	free_lines(&a);
	free_lines(&b);
}
