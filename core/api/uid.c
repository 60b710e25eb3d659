/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/uid.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

static int fill_random(unsigned char *p, size_t n)
{
	while (n) {
		ssize_t got = getrandom(p, n, 0);

		if (got < 0 && errno != EINTR)
			return -errno;
		if (got > 0) {
			p += got;
			n -= (size_t)got;
		}
	}
	return 0;
}

int ks_uid_new(char out[KS_UID_TEXT])
{
	unsigned char b[16];
	int r = fill_random(b, sizeof(b));

	if (r < 0)
		return r;
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	snprintf(out, KS_UID_TEXT, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5], b[6],
		b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
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
