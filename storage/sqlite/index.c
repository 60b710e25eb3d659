/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "storage/sqlite/index.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define FIRST_SIZE 1024

/* -- SipHash-2-4 ------------------------------------------------------------------------------------------------ */

static uint64_t rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], int n)
{
	while (n-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

static void sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_rounds(v, 2);
	v[0] ^= word;
}

static uint64_t sip_hash(const uint64_t seed[2], struct ks_view key)
{
	uint64_t v[4] = {
		seed[0] ^ 0x736f6d6570736575u, seed[1] ^ 0x646f72616e646f6du,
		seed[0] ^ 0x6c7967656e657261u, seed[1] ^ 0x7465646279746573u,
	};
	uint64_t word, last = (uint64_t)key.n << 56;
	size_t i;

	for (i = 0; i + 8 <= key.n; i += 8) {
		memcpy(&word, key.p + i, 8);
		sip_word(v, word);
	}
	word = 0;
	if (key.n > i)
		memcpy(&word, key.p + i, key.n - i);
	sip_word(v, last | word);
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct sqlite_hash ks_sqlite_index_hash(const struct sqlite_index *index, struct ks_view key)
{
	return (struct sqlite_hash){sip_hash(index->seed, key), sip_hash(index->seed + 2, key)};
}

/* -- the table: open addressing, linear probing ------------------------------------------------------------------- */

int ks_sqlite_index_init(struct sqlite_index *index)
{
	memset(index, 0, sizeof(*index));
	if (getrandom(index->seed, sizeof(index->seed), 0) != (ssize_t)sizeof(index->seed))
		return KS_ERR;
	index->entries = calloc(FIRST_SIZE, sizeof(struct sqlite_entry));
	if (!index->entries)
		return KS_ERR_NOMEM;
	index->size = FIRST_SIZE;
	return KS_DONE;
}

void ks_sqlite_index_fini(struct sqlite_index *index)
{
	free(index->entries);
	memset(index, 0, sizeof(*index));
}

/* Where the hash stands, or the free place where it would. */
static size_t place(const struct sqlite_index *index, struct sqlite_hash hash)
{
	size_t i = hash.a & (index->size - 1);

	while (index->entries[i].revision && (index->entries[i].hash.a != hash.a || index->entries[i].hash.b != hash.b))
		i = (i + 1) & (index->size - 1);
	return i;
}

const struct sqlite_entry *ks_sqlite_index_find(const struct sqlite_index *index, struct sqlite_hash hash)
{
	const struct sqlite_entry *e = &index->entries[place(index, hash)];

	return e->revision ? e : NULL;
}

static int grow(struct sqlite_index *index)
{
	struct sqlite_index bigger = *index;
	size_t i;

	bigger.size = 2 * index->size;
	bigger.entries = calloc(bigger.size, sizeof(struct sqlite_entry));
	if (!bigger.entries)
		return KS_ERR_NOMEM;
	for (i = 0; i < index->size; i++)
		if (index->entries[i].revision)
			bigger.entries[place(&bigger, index->entries[i].hash)] = index->entries[i];
	free(index->entries);
	*index = bigger;
	return KS_DONE;
}

int ks_sqlite_index_set(struct sqlite_index *index, struct sqlite_hash hash, uint64_t revision, uint64_t created)
{
	size_t i = place(index, hash);

	if (!index->entries[i].revision) {
		/* Four fifths: probes stay short. */
		if ((index->n + 1) * 5 > index->size * 4) {
			if (grow(index))
				return KS_ERR_NOMEM;
			i = place(index, hash);
		}
		index->n++;
	}
	index->entries[i] = (struct sqlite_entry){hash, revision, created};
	return KS_DONE;
}

void ks_sqlite_index_remove(struct sqlite_index *index, struct sqlite_hash hash)
{
	size_t mask = index->size - 1, hole = place(index, hash), i = hole, home;

	if (!index->entries[hole].revision)
		return;
	/* Entries behind the hole move into it when their search would have passed it. */
	for (;;) {
		i = (i + 1) & mask;
		if (!index->entries[i].revision)
			break;
		home = index->entries[i].hash.a & mask;
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			index->entries[hole] = index->entries[i];
			hole = i;
		}
	}
	index->entries[hole].revision = 0;
	index->n--;
}
