/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Unified diffs as Python's difflib (and its port to Go) makes them: the longest block that matches first, then left and right of it. */
#include <stdlib.h>

#include "core/api/gojson.h"
#include "core/api/schema.h"

enum { CONTEXT = 3, POPULAR_FROM = 200, STEPS_MOST = 5 * 1000 * 1000 };

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
	uint32_t *first, *after; /* of each line of a: where it stands in b first; of each line of b: where the same stands next. 1 + index */
	bool *popular; /* lines of b that are too frequent to begin a match with, and not in `first` */
	uint32_t *length, *stamp; /* of the match that ends in this line of b, as of turn `stamp`; two rows in turn */
	uint32_t turn;
	uint64_t steps;
	struct block *blocks;
	uint32_t n_blocks, cap;
	bool failed;
};

/* Lines of b by what they are: open addresses, 1 + the first index. */
struct line_table {
	uint32_t *slots, mask;
};

static uint32_t *line_slot(const struct line_table *table, const struct lines *b, struct ks_str line)
{
	uint32_t at = ks_schema_hash(line.p, line.n) & table->mask;

	while (table->slots[at] && !ks_str_eq(b->items[table->slots[at] - 1], line))
		at = (at + 1) & table->mask;
	return &table->slots[at];
}

static void find_popular(struct matcher *m, const struct line_table *table)
{
	const struct lines *b = m->b;

	for (uint32_t i = 0; b->n >= POPULAR_FROM && i < b->n; i++) {
		uint32_t same = 0;

		if (*line_slot(table, b, b->items[i]) != i + 1)
			continue;
		for (uint32_t k = i + 1; k; k = m->after[k - 1])
			same++;
		for (uint32_t k = i + 1; k; k = m->after[k - 1])
			m->popular[k - 1] = same > b->n / 100 + 1;
	}
}

/* Where the lines of a stand in b. False when out of memory. */
static bool find_lines(struct matcher *m)
{
	struct line_table table = {.mask = 15};

	while (table.mask < m->b->n * 2)
		table.mask = table.mask * 2 + 1;
	table.slots = calloc((size_t)table.mask + 1, sizeof(*table.slots));
	if (!table.slots)
		return false;
	for (uint32_t i = m->b->n; i > 0; i--) {
		uint32_t *slot = line_slot(&table, m->b, m->b->items[i - 1]);

		m->after[i - 1] = *slot;
		*slot = i;
	}
	find_popular(m, &table);
	for (uint32_t i = 0; i < m->a->n; i++) {
		uint32_t first = *line_slot(&table, m->b, m->a->items[i]);

		m->first[i] = first && m->popular[first - 1] ? 0 : first;
	}
	free(table.slots);
	return true;
}

static bool alike(const struct matcher *m, uint32_t i, uint32_t k)
{
	return ks_str_eq(m->a->items[i], m->b->items[k]);
}

/* The length of the match that ended in line `k` of b in the turn before. */
static uint32_t length_before(const struct matcher *m, uint32_t k)
{
	size_t at = (size_t)k * 2 + ((m->turn - 1) & 1);

	return m->stamp[at] == m->turn - 1 ? m->length[at] : 0;
}

static void find_in_row(struct matcher *m, uint32_t i, uint32_t blo, uint32_t bhi, struct block *best)
{
	m->turn++;
	m->steps++;
	for (uint32_t next = m->first[i]; next && next - 1 < bhi; next = m->after[next - 1]) {
		uint32_t k = next - 1, n;
		size_t at = (size_t)k * 2 + (m->turn & 1);

		m->steps++;
		if (k < blo)
			continue;
		n = (k > blo ? length_before(m, k - 1) : 0) + 1;
		m->length[at] = n;
		m->stamp[at] = m->turn;
		if (n > best->n)
			*best = (struct block){i + 1 - n, k + 1 - n, n};
	}
}

static struct block longest(struct matcher *m, uint32_t alo, uint32_t ahi, uint32_t blo, uint32_t bhi)
{
	struct block best = {alo, blo, 0};

	m->turn++; /* nothing goes on from another range */
	for (uint32_t i = alo; i < ahi; i++)
		find_in_row(m, i, blo, bhi, &best);
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

/* Texts that have next to nothing in common in their order are not compared to the end: what is left counts as changed. */
static void match(struct matcher *m, uint32_t alo, uint32_t ahi, uint32_t blo, uint32_t bhi)
{
	while (!m->failed && m->steps < STEPS_MOST && alo < ahi && blo < bhi) {
		struct block found = longest(m, alo, ahi, blo, bhi);

		if (!found.n)
			return;
		match(m, alo, found.a, blo, found.b);
		add_block(m, found);
		alo = found.a + found.n;
		blo = found.b + found.n;
	}
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

static void free_matcher(struct matcher *m)
{
	free(m->first);
	free(m->after);
	free(m->popular);
	free(m->length);
	free(m->stamp);
	free(m->blocks);
}

static bool prepare(struct matcher *m)
{
	m->first = calloc(m->a->n, sizeof(*m->first));
	m->after = calloc(m->b->n, sizeof(*m->after));
	m->popular = calloc(m->b->n, sizeof(*m->popular));
	m->length = calloc((size_t)m->b->n * 2, sizeof(*m->length));
	m->stamp = calloc((size_t)m->b->n * 2, sizeof(*m->stamp));
	m->turn = 1;
	return m->first && m->after && m->popular && m->length && m->stamp && find_lines(m);
}

void ks_gojson_diff(struct ks_str before, struct ks_str after, struct ks_buf *out)
{
	struct lines a = {0}, b = {0};
	struct matcher m = {.a = &a, .b = &b};

	if (split(before, &a) && split(after, &b) && prepare(&m)) {
		match(&m, 0, a.n, 0, b.n);
		if (!m.failed)
			write_hunks(&m, out);
	} else {
		m.failed = true;
	}
	out->failed |= m.failed;
	free_matcher(&m);
	free_lines(&a);
	free_lines(&b);
}
