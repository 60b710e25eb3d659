/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * What is old. The oldest readable revision moves at once, by a number in `meta`; the
 * rows that nobody can ask for any more go later, in slices.
 */
#include "storage/sqlite/store.h"

#define TRIM_MAX 2048

static int set_meta(struct sqlite_store *store, const char *name, uint64_t value)
{
	sqlite3_stmt *stmt = store->s.meta_set;
	int rc;

	sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, (sqlite3_int64)value);
	rc = sqlite3_step(stmt);
	sqlite3_reset(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int ks_sqlite_history_compact(struct sqlite_store *store, uint64_t revision)
{
	if (revision <= atomic_load(&store->compacted))
		return SQLITE_OK;
	/* First the number, then the rows: whoever reads checks it again after his snapshot was taken. */
	atomic_store(&store->compacted, revision);
	return set_meta(store, "compacted", revision);
}

int ks_sqlite_history_advance(struct sqlite_store *store)
{
	uint64_t keep = (uint64_t)store->config.history, have = store->revision - atomic_load(&store->compacted);
	uint64_t published = atomic_load(&store->published), revision = store->revision - keep;

	/* A tenth more is kept, so that not every write moves it. */
	if (have <= keep + keep / 10)
		return SQLITE_OK;
	/* Never past what a reader can know of. */
	return ks_sqlite_history_compact(store, revision < published ? revision : published);
}

static uint64_t target(struct sqlite_store *store)
{
	uint64_t revision;

	pthread_mutex_lock(&store->pins_lock);
	revision = ks_pins_min(store->pins, atomic_load(&store->compacted));
	pthread_mutex_unlock(&store->pins_lock);
	return revision;
}

int ks_sqlite_history_pending(struct sqlite_store *store)
{
	return store->trimmed < target(store);
}

static int trim_row(struct sqlite_store *store, uint64_t revision)
{
	int rc;

	sqlite3_bind_int64(store->s.trim, 1, (sqlite3_int64)revision);
	rc = sqlite3_step(store->s.trim);
	sqlite3_reset(store->s.trim);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/*
 * An event before the oldest revision makes the row unreachable that it replaced; a deletion
 * itself is unreachable too. The newest row of a key stays: it is its value.
 */
int ks_sqlite_history_trim(struct sqlite_store *store, int max)
{
	uint64_t gone[2 * TRIM_MAX], until = target(store), next = until;
	sqlite3_stmt *scan = store->s.trim_scan;
	int rc, n = 0, seen = 0, i;

	max = max > TRIM_MAX ? TRIM_MAX : max;
	sqlite3_bind_int64(scan, 1, (sqlite3_int64)store->trimmed);
	sqlite3_bind_int64(scan, 2, (sqlite3_int64)until);
	sqlite3_bind_int64(scan, 3, max);
	while ((rc = sqlite3_step(scan)) == SQLITE_ROW) {
		uint64_t revision = (uint64_t)sqlite3_column_int64(scan, 0), previous = (uint64_t)sqlite3_column_int64(scan, 2);

		if (previous)
			gone[n++] = previous;
		if (sqlite3_column_int(scan, 1) == KS_EVENT_DELETED)
			gone[n++] = revision;
		if (++seen == max)
			next = revision + 1;
	}
	sqlite3_reset(scan);
	rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
	for (i = 0; i < n && rc == SQLITE_OK; i++)
		rc = trim_row(store, gone[i]);
	if (rc == SQLITE_OK)
		rc = set_meta(store, "trimmed", next);
	if (rc == SQLITE_OK)
		store->trimmed = next;
	return rc;
}
