/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/query.h"

#include <errno.h>
#include <stdint.h>

enum { MOST_PAIRS = 4096 };

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool needs_decoding(struct ks_str raw, bool in_query)
{
	if (raw.n == 0)
		return false;
	return memchr(raw.p, '%', raw.n) || (in_query && memchr(raw.p, '+', raw.n));
}

int ks_url_decode(struct ks_arena *arena, struct ks_str raw, bool in_query, struct ks_str *out_r)
{
	char *out;
	size_t n = 0;

	if (!needs_decoding(raw, in_query)) {
		*out_r = raw;
		return 0;
	}
	out = ks_arena_alloc(arena, raw.n);
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < raw.n; i++) {
		char c = raw.p[i];

		if (c == '%') {
			int high = raw.n - i > 2 ? hex_digit(raw.p[i + 1]) : -1;
			int low = raw.n - i > 2 ? hex_digit(raw.p[i + 2]) : -1;

			if (high < 0 || low < 0)
				return -EINVAL;
			c = (char)(high << 4 | low);
			i += 2;
		} else if (c == '+' && in_query) {
			c = ' ';
		}
		out[n++] = c;
	}
	*out_r = ks_str_of(out, n);
	return 0;
}

static size_t count_pairs(struct ks_str raw)
{
	size_t n = raw.n > 0;

	for (size_t i = 0; i < raw.n; i++)
		n += raw.p[i] == '&';
	return n;
}

/* 1: decoded; 0: to be left out; negative: out of memory. */
static int decode_pair(struct ks_arena *arena, struct ks_str pair, struct ks_query_item *item)
{
	const char *equals;
	struct ks_str key = pair, value = ks_str_of("", 0);
	int rc;

	if (pair.n == 0 || memchr(pair.p, ';', pair.n))
		return 0;
	equals = memchr(pair.p, '=', pair.n);
	if (equals) {
		key.n = (size_t)(equals - pair.p);
		value = ks_str_of(equals + 1, pair.n - key.n - 1);
	}
	rc = ks_url_decode(arena, key, true, &item->key);
	if (rc == 0)
		rc = ks_url_decode(arena, value, true, &item->value);
	if (rc == -EINVAL)
		return 0;
	return rc == 0 ? 1 : rc;
}

int ks_query_parse(struct ks_arena *arena, struct ks_str raw, struct ks_query *out_r)
{
	size_t room = count_pairs(raw), n = 0;
	struct ks_query_item *items = NULL;

	if (room > MOST_PAIRS)
		return -E2BIG;
	if (room) {
		items = ks_arena_zalloc(arena, room, sizeof(*items));
		if (!items)
			return -ENOMEM;
	}
	while (raw.n > 0 && n < room) {
		const char *end = memchr(raw.p, '&', raw.n);
		struct ks_str pair = end ? ks_str_of(raw.p, (size_t)(end - raw.p)) : raw;
		size_t skip = pair.n + (end != NULL);
		int rc = decode_pair(arena, pair, &items[n]);

		if (rc < 0)
			return rc;
		n += (size_t)rc;
		raw = ks_str_of(raw.p + skip, raw.n - skip);
	}
	*out_r = (struct ks_query){.items = items, .n = n, .parsed = true};
	return 0;
}

struct ks_str ks_query_get(const struct ks_query *query, const char *key)
{
	struct ks_str wanted = ks_str_from(key);

	for (size_t i = 0; i < query->n; i++)
		if (ks_str_eq(query->items[i].key, wanted))
			return query->items[i].value;
	return (struct ks_str){0};
}

int ks_parse_bool(struct ks_str text)
{
	static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
	static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};

	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++) {
		if (ks_str_is(text, yes[i]))
			return 1;
		if (ks_str_is(text, no[i]))
			return 0;
	}
	return -1;
}
