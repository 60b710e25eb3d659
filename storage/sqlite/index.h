/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Which keys there are, and at which revision: what a write is judged by before any I/O.
 * A key is known by 128 bits of a keyed hash, 32 bytes an entry, so that 100,000 keys
 * take four megabytes whatever their length. The hash's key is drawn at start: nobody
 * can prepare two keys that meet. Belongs to the writer's thread.
 */
#ifndef KS_SQLITE_INDEX_H
#define KS_SQLITE_INDEX_H

#include <keelson/plugin.h>
#include <stdint.h>

struct sqlite_hash {
	uint64_t a, b;
};

struct sqlite_entry {
	struct sqlite_hash hash;
	uint64_t revision; /* 0: a free place */
	uint64_t created;
};

struct sqlite_index {
	struct sqlite_entry *entries;
	size_t n, size; /* size is a power of two */
	uint64_t seed[4];
};

int ks_sqlite_index_init(struct sqlite_index *index) __attribute__((warn_unused_result));
void ks_sqlite_index_fini(struct sqlite_index *index);
struct sqlite_hash ks_sqlite_index_hash(const struct sqlite_index *index, struct ks_view key);
/* NULL when the key is not there. Valid until the next change. */
const struct sqlite_entry *ks_sqlite_index_find(const struct sqlite_index *index, struct sqlite_hash hash);
/* Adds or changes. KS_DONE or KS_ERR_NOMEM; never the latter when the index has held that many keys before. */
int ks_sqlite_index_set(struct sqlite_index *index, struct sqlite_hash hash, uint64_t revision, uint64_t created) __attribute__((warn_unused_result));
void ks_sqlite_index_remove(struct sqlite_index *index, struct sqlite_hash hash);

#endif
