/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Where watchers read: the latest records in memory, what is older in the log. */
#include "storage/sqlite/store.h"

#define RECENT_BYTES (1 << 20)

static struct ks_record **slot(struct sqlite_recent *recent, uint64_t revision)
{
	return &recent->records[revision & (SQLITE_RECENT - 1)];
}

static size_t cost(const struct sqlite_store *store, const struct ks_record *record)
{
	return sizeof(*record) + record->key_n + (record->value ? store->host->bytes_view(record->value).n : 0);
}

static void drop_first(struct sqlite_store *store)
{
	struct sqlite_recent *recent = &store->recent;
	struct ks_record **p = slot(recent, recent->first++);

	recent->bytes -= cost(store, *p);
	ks_record_unref(store->host, *p);
	*p = NULL;
}

void ks_sqlite_recent_add(struct sqlite_store *store, struct ks_record *record)
{
	struct sqlite_recent *recent = &store->recent;

	pthread_mutex_lock(&recent->lock);
	/* A revision that was given to a transaction that failed leaves a gap: what is before it is in the log. */
	while (recent->first != recent->next && record->revision != recent->next)
		drop_first(store);
	if (recent->first == recent->next)
		recent->first = recent->next = record->revision;
	recent->bytes += cost(store, record);
	while (recent->first != recent->next && (recent->next - recent->first == SQLITE_RECENT || recent->bytes > RECENT_BYTES))
		drop_first(store);
	*slot(recent, recent->next++) = ks_record_ref(record);
	pthread_mutex_unlock(&recent->lock);
}

void ks_sqlite_recent_fini(struct sqlite_store *store)
{
	while (store->recent.first != store->recent.next)
		drop_first(store);
}

static int fetch_recent(struct sqlite_store *store, uint64_t from, uint64_t until, struct ks_record **records, size_t *n_r)
{
	struct sqlite_recent *recent = &store->recent;
	int found;
	size_t n = 0;

	pthread_mutex_lock(&recent->lock);
	found = recent->first != recent->next && from >= recent->first;
	for (; found && from < recent->next && from <= until && n < KS_WATCHERS_BATCH; from++)
		records[n++] = ks_record_ref(*slot(recent, from));
	pthread_mutex_unlock(&recent->lock);
	*n_r = n;
	return found;
}

static struct ks_record *row_record(struct sqlite_store *store, sqlite3_stmt *stmt)
{
	struct ks_host_bytes *value;
	struct ks_record *r;

	if (ks_sqlite_column_bytes(store->host, stmt, 5, &value))
		return NULL;
	r = ks_record_new(ks_sqlite_column_view(stmt, 1), value);
	if (!r) {
		if (value)
			store->host->bytes_unref(value);
		return NULL;
	}
	r->revision = (uint64_t)sqlite3_column_int64(stmt, 0);
	r->type = (uint32_t)sqlite3_column_int(stmt, 2);
	r->create_revision = (uint64_t)sqlite3_column_int64(stmt, 3);
	r->lease_until_ms = (uint64_t)sqlite3_column_int64(stmt, 4);
	return r;
}

static int fetch_log(struct sqlite_store *store, uint64_t from, uint64_t until, struct ks_record **records, size_t *n_r)
{
	sqlite3_stmt *stmt = store->watch_log;
	int rc, result = KS_DONE;
	size_t n = 0;

	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)from);
	sqlite3_bind_int64(stmt, 2, (sqlite3_int64)until);
	sqlite3_bind_int64(stmt, 3, KS_WATCHERS_BATCH);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && result == KS_DONE) {
		records[n] = row_record(store, stmt);
		if (!records[n])
			result = KS_ERR_NOMEM;
		else
			n++;
	}
	sqlite3_reset(stmt);
	if (rc != SQLITE_DONE && result == KS_DONE) {
		store->host->log(store->host, KS_HOST_LOG_ERROR, "%s: the history can't be read: %s", store->config.path, sqlite3_errmsg(store->watch_db));
		result = KS_ERR_UNAVAILABLE;
	}
	*n_r = n;
	return result;
}

int ks_sqlite_recent_fetch(void *self, uint64_t from, struct ks_record **records, size_t *n_r, uint64_t *next_r)
{
	struct sqlite_store *store = self;
	uint64_t until = atomic_load(&store->published);
	int result = KS_DONE;

	*n_r = 0;
	if (!fetch_recent(store, from, until, records, n_r))
		result = fetch_log(store, from, until, records, n_r);
	/* Rows are removed below this number only, and it moved before they were: what was read from there on is whole. */
	if (result == KS_DONE && from < atomic_load(&store->compacted))
		result = KS_ERR_COMPACTED;
	*next_r = *n_r == KS_WATCHERS_BATCH ? records[*n_r - 1]->revision + 1 : until + 1;
	return result;
}
