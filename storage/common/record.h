/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* One write as a store remembers it: immutable, counted. */
#ifndef KS_STORAGE_RECORD_H
#define KS_STORAGE_RECORD_H

#include <keelson/storage.h>
#include <stdint.h>

struct ks_record {
	uint32_t refs;
	uint32_t type;               /* KS_EVENT_ADDED, _MODIFIED or _DELETED */
	uint64_t revision;
	uint64_t create_revision;
	uint64_t lease_until_ms;
	struct ks_host_bytes *value; /* NULL in a deletion */
	size_t key_n;
	char key[];
};

/* Takes the value's reference when it succeeds. NULL when out of memory. One reference. */
struct ks_record *ks_record_new(struct ks_view key, struct ks_host_bytes *value);
struct ks_record *ks_record_ref(struct ks_record *record);
/* NULL is fine. */
void ks_record_unref(const struct ks_host *host, struct ks_record *record);

static inline struct ks_view ks_record_key(const struct ks_record *record)
{
	return (struct ks_view){record->key, record->key_n};
}

/* Borrowed: the record must live. */
struct ks_store_event ks_record_event(const struct ks_record *record);
/* The receiver gets a reference of the value; the key is a view of the record's. */
void ks_record_kv(const struct ks_host *host, const struct ks_record *record, struct ks_store_kv *kv_r);

/* -1, 0, 1: bytes are unsigned, a prefix comes first. */
int ks_view_cmp(struct ks_view a, struct ks_view b);
int ks_view_starts(struct ks_view a, struct ks_view prefix);

#endif
