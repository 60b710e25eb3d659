/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened to one resource of late: a ring of chunks, written by the applier
 * alone and read without a lock under RCU. Entries are numbered; a number never
 * means another entry. What has fallen out is told apart from what is yet to come.
 *
 * Entries are never overwritten: a full ring lets its oldest chunk go as a whole. A
 * chunk is closed by number or by bytes, so that few large objects don't hold much.
 */
#ifndef KS_CACHE_HISTORY_H
#define KS_CACHE_HISTORY_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/cache/cache.h"
#include "core/util/rcu.h"

enum { KS_HISTORY_CHUNK = 64 };

/* Neither is NULL for a change, `previous` is for a creation, `object` for a deletion. */
struct ks_history_entry {
	uint64_t revision;
	struct ks_object *object, *previous;
};

struct ks_history_chunk {
	struct ks_rcu_head rcu;
	uint64_t base; /* number of its first entry */
	uint64_t bytes;
	_Atomic uint32_t n; /* readers go by the history's end; this tells them a chunk that they found in time from one that they didn't */
	struct ks_history_entry entries[KS_HISTORY_CHUNK];
};

struct ks_history {
	/* Readers: entries first <= number < end; chunks chunk_first <= index < chunk_end. */
	_Atomic uint64_t first, end;
	_Atomic uint64_t chunk_first, chunk_end;
	_Atomic uint64_t floor; /* every event after this revision is there */
	_Atomic uint64_t gap_from, gap_to; /* after a list that stood in for lost events: who has seen a revision in between may have missed some */
	struct ks_history_chunk *_Atomic *slots;
	uint32_t n_slots;
	/* the applier's */
	uint64_t next; /* number of the next entry: >= end until published */
	uint64_t bytes, bytes_most, chunk_bytes_most;
	uint32_t events_most;
	struct ks_history_chunk *spare;
};

int ks_history_init(struct ks_history *history, uint32_t events_most, uint64_t bytes_most) __attribute__((warn_unused_result));
void ks_history_fini(struct ks_history *history);

/* -- the applier ------------------------------------------------------------------------------------------------ */

/* Makes sure that the next append can't fail. 0 or -ENOMEM. */
int ks_history_reserve(struct ks_history *history) __attribute__((warn_unused_result));
/* Takes its own references. Not seen by readers before ks_history_publish. */
void ks_history_append(struct ks_history *history, uint64_t revision, struct ks_object *object, struct ks_object *previous);
/* Shows what was appended, and lets go what is over the limits. */
void ks_history_publish(struct ks_history *history);

/* -- readers, under RCU ------------------------------------------------------------------------------------------ */

/* The entry's objects are valid until the read section ends. 0; -ENOENT: it has fallen out; -EAGAIN: not there yet. */
int ks_history_get(const struct ks_history *history, uint64_t number, struct ks_history_entry *out_r);
/* The same up to a limit that is known from elsewhere (a root's), whatever is published. */
int ks_history_get_below(const struct ks_history *history, uint64_t number, uint64_t end, struct ks_history_entry *out_r);
/* Number of the first entry with a revision above `revision` (or of the next entry to come), below `end`. */
uint64_t ks_history_find(const struct ks_history *history, uint64_t revision, uint64_t end);
/* Can somebody who has seen everything up to `revision` go on from here? */
bool ks_history_reaches(const struct ks_history *history, uint64_t revision);

#endif
