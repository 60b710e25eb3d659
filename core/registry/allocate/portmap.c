/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/allocate/portmap.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

#include "core/api/base64.h"
#include "core/api/json.h"

enum { RESERVED_LEAST = 16, RESERVED_MOST = 128, RESERVED_PART = 32, BYTES_MOST = KS_PORTMAP_WORDS * 8, RANGE_TEXT = 24 };

bool ks_portmap_init(struct ks_portmap *map, const char *range)
{
	unsigned first, last;
	uint32_t part;
	char rest;

	if (!range || sscanf(range, "%u-%u%c", &first, &last, &rest) != 2 || first < 1 || last > 65535 || first > last)
		return false;
	*map = (struct ks_portmap){.first = first, .count = last - first + 1};
	part = map->count / RESERVED_PART;
	if (map->count > RESERVED_LEAST)
		map->reserved = part < RESERVED_LEAST ? RESERVED_LEAST : part > RESERVED_MOST ? RESERVED_MOST : part;
	return true;
}

bool ks_portmap_has(const struct ks_portmap *map, uint32_t port)
{
	return port >= map->first && port - map->first < map->count;
}

static bool is_set(const struct ks_portmap *map, uint32_t at)
{
	return map->words[at / 64] >> (at % 64) & 1;
}

bool ks_portmap_is_used(const struct ks_portmap *map, uint32_t port)
{
	return ks_portmap_has(map, port) && is_set(map, port - map->first);
}

bool ks_portmap_take(struct ks_portmap *map, uint32_t port)
{
	uint32_t at = port - map->first;

	if (!ks_portmap_has(map, port) || is_set(map, at))
		return false;
	map->words[at / 64] |= 1ull << (at % 64);
	map->used++;
	return true;
}

/* A free place in [from, to), looked for from a random one on; `to` when there is none. */
static uint32_t find_free(const struct ks_portmap *map, uint32_t from, uint32_t to)
{
	uint32_t n = to - from, start = 0;

	if (!n)
		return to;
	if (getrandom(&start, sizeof(start), GRND_NONBLOCK) != sizeof(start))
		start = (uint32_t)time(NULL);
	start %= n;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = from + (start + i) % n;

		if (!is_set(map, at))
			return at;
	}
	return to;
}

uint32_t ks_portmap_take_any(struct ks_portmap *map)
{
	uint32_t at;

	if (map->used >= map->count)
		return 0;
	at = find_free(map, map->reserved, map->count);
	if (at == map->count)
		at = find_free(map, 0, map->reserved);
	return ks_portmap_take(map, map->first + at) ? map->first + at : 0;
}

void ks_portmap_give_back(struct ks_portmap *map, uint32_t port)
{
	uint32_t at = port - map->first;

	if (!ks_portmap_is_used(map, port))
		return;
	map->words[at / 64] &= ~(1ull << (at % 64));
	map->used--;
}

/* -- the stored form ---------------------------------------------------------------------------------------------- */

static void print_range(const struct ks_portmap *map, char out[RANGE_TEXT])
{
	snprintf(out, RANGE_TEXT, "%u-%u", (unsigned)map->first, (unsigned)(map->first + map->count - 1));
}

/* The number's bytes, the most significant first, without leading zeros. */
static size_t number_of(const struct ks_portmap *map, unsigned char out[BYTES_MOST])
{
	size_t n = 0;

	for (uint32_t i = KS_PORTMAP_WORDS * 8; i-- > 0;) {
		unsigned char byte = (unsigned char)(map->words[i / 8] >> (i % 8 * 8));

		if (n || byte)
			out[n++] = byte;
	}
	return n;
}

struct ks_bytes *ks_portmap_encode(const struct ks_portmap *map)
{
	unsigned char number[BYTES_MOST];
	size_t n = number_of(map, number);
	struct ks_bytes *bytes = NULL;
	struct ks_buf out;
	char range[RANGE_TEXT];

	print_range(map, range);
	ks_buf_init(&out);
	ks_buf_printf(&out, "{\"kind\":\"RangeAllocation\",\"apiVersion\":\"v1\",\"metadata\":{},\"range\":\"%s\",\"data\":", range);
	if (!n) {
		ks_buf_add_str(&out, "\"\"");
	} else if (ks_buf_reserve(&out, ks_base64_length(n) + 2)) {
		ks_buf_add_char(&out, '"');
		ks_base64_encode(number, n, out.data + out.len);
		out.len += ks_base64_length(n);
		ks_buf_add_char(&out, '"');
	}
	ks_buf_add_char(&out, '}');
	if (!out.failed)
		bytes = ks_bytes_dup(out.data, out.len);
	ks_buf_fini(&out);
	return bytes;
}

static int read_number(struct ks_portmap *map, struct ks_str text)
{
	unsigned char number[BYTES_MOST];
	size_t n, bad;
	bool canonical;

	if (!ks_base64_check(text, &n, &canonical, &bad) || n > sizeof(number))
		return -EINVAL;
	ks_base64_decode(text, number);
	for (uint32_t at = 0; at < map->count && at / 8 < n; at++)
		if (number[n - 1 - at / 8] >> (at % 8) & 1)
			ks_portmap_take(map, map->first + at);
	return 0;
}

int ks_portmap_decode(struct ks_portmap *map, const struct ks_bytes *stored)
{
	struct ks_portmap read = {.first = map->first, .count = map->count, .reserved = map->reserved};
	struct ks_arena arena;
	struct ks_value root;
	const char *message;
	char range[RANGE_TEXT];
	int result;

	print_range(map, range);
	ks_arena_init(&arena, 0);
	result = ks_json_decode(&arena, NULL, 0, 0, stored->data, stored->len, &root, NULL, &message);
	if (!result && !ks_str_is(ks_value_str(ks_value_get(NULL, &root, "range")), range))
		result = -ERANGE;
	if (!result)
		result = read_number(&read, ks_value_str(ks_value_get(NULL, &root, "data")));
	if (!result)
		*map = read;
	ks_arena_fini(&arena);
	return result;
}
