/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/uid.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* Random bytes of this thread: the kernel is asked once for several names. Nothing is given twice. */
static _Thread_local struct {
	unsigned char bytes[256]; /* no larger: the kernel gives so many whole */
	size_t left;
} pool;

static int fill_pool(void)
{
	ssize_t got;

	do {
		got = getrandom(pool.bytes, sizeof(pool.bytes), 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	pool.left = (size_t)got;
	return 0;
}

static int fill_random(unsigned char *p, size_t n)
{
	if (pool.left < n) {
		int r = fill_pool();

		if (r < 0)
			return r;
	}
	if (pool.left < n)
		return -EIO;
	pool.left -= n;
	memcpy(p, pool.bytes + pool.left, n);
	return 0;
}

int ks_uid_new(char out[KS_UID_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char b[16];
	size_t n = 0;
	int r = fill_random(b, sizeof(b));

	if (r < 0)
		return r;
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	for (size_t i = 0; i < sizeof(b); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out[n++] = '-';
		out[n++] = digits[b[i] >> 4];
		out[n++] = digits[b[i] & 15];
	}
	out[n] = '\0';
	return 0;
}

struct ks_str ks_name_generate(struct ks_arena *arena, struct ks_str base)
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	enum { N_LETTERS = sizeof(letters) - 1, SUFFIX = 5, LONGEST = 63 };
	unsigned char random[SUFFIX * 4];
	size_t n = base.n > LONGEST - SUFFIX ? LONGEST - SUFFIX : base.n;
	char *name;

	if (fill_random(random, sizeof(random)) < 0)
		return (struct ks_str){0};
	name = ks_arena_alloc(arena, n + SUFFIX + 1);
	if (!name)
		return (struct ks_str){0};
	if (n)
		memcpy(name, base.p, n);
	for (int i = 0; i < SUFFIX; i++) {
		unsigned value = random[i * 4] | (unsigned)random[i * 4 + 1] << 8 | (unsigned)random[i * 4 + 2] << 16;

		name[n++] = letters[value % N_LETTERS];
	}
	name[n] = '\0';
	return ks_str_of(name, n);
}
