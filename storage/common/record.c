/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "storage/common/record.h"

#include <stdlib.h>
#include <string.h>

struct ks_record *ks_record_new(struct ks_view key, struct ks_host_bytes *value)
{
	struct ks_record *r = malloc(sizeof(*r) + key.n);

	if (!r)
		return NULL;
	*r = (struct ks_record){.refs = 1, .value = value, .key_n = key.n};
	if (key.n)
		memcpy(r->key, key.p, key.n);
	return r;
}

struct ks_record *ks_record_ref(struct ks_record *record)
{
	__atomic_add_fetch(&record->refs, 1, __ATOMIC_RELAXED);
	return record;
}

void ks_record_unref(const struct ks_host *host, struct ks_record *record)
{
	if (!record || __atomic_sub_fetch(&record->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	if (record->value)
		host->bytes_unref(record->value);
	free(record);
}

struct ks_store_event ks_record_event(const struct ks_record *record)
{
	struct ks_store_event event = {.type = record->type, .revision = record->revision};

	event.kv.key = ks_record_key(record);
	event.kv.value = record->value;
	event.kv.create_revision = record->create_revision;
	event.kv.mod_revision = record->revision;
	event.kv.lease_until_ms = record->lease_until_ms;
	return event;
}

void ks_record_kv(const struct ks_host *host, const struct ks_record *record, struct ks_store_kv *kv_r)
{
	*kv_r = ks_record_event(record).kv;
	if (kv_r->value)
		kv_r->value = host->bytes_ref(kv_r->value);
}

int ks_view_cmp(struct ks_view a, struct ks_view b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;

	if (c)
		return c < 0 ? -1 : 1;
	return a.n < b.n ? -1 : a.n > b.n;
}

int ks_view_starts(struct ks_view a, struct ks_view prefix)
{
	return a.n >= prefix.n && (prefix.n == 0 || memcmp(a.p, prefix.p, prefix.n) == 0);
}
