/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQLite store. Four threads, each with a connection of its own:
 *
 *     writer      takes all writes that are waiting, judges them by the index in memory, commits them in one
 *                 transaction, answers them; expires leases; removes old history in slices
 *     reader      gets and ranges, one page a read transaction
 *     watchers    moves the cursors: out of the recent records in memory, or out of the log
 *     checkpoint  copies the write-ahead log back into the database while the writer goes on
 *
 * Tables: `log` has every write by revision, with its value; `current` has the keys that
 * exist and where in the log they are; `meta` a few numbers.
 */
#ifndef KS_SQLITE_STORE_H
#define KS_SQLITE_STORE_H

#include <keelson/storage.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

#include "storage/common/jobs.h"
#include "storage/common/leases.h"
#include "storage/common/pins.h"
#include "storage/common/watchers.h"
#include "storage/sqlite/guard.h"
#include "storage/sqlite/index.h"

#define SQLITE_STORE_SCHEMA 1
/* A power of two. */
#define SQLITE_RECENT 512
struct sqlite_config {
	const char *path;
	int64_t history;
	int64_t cache;
	int64_t wal;
};

/* One write or compaction that waits for the writer; in its operation's scratch memory, or the writer's own for an expiry. */
struct sqlite_request {
	struct sqlite_request *next;
	struct ks_op *op;                     /* NULL: an expiry */
	const struct ks_store_write *write;   /* NULL: a compaction */
	struct ks_store_write_result *answer;
	uint64_t compact_to;
	int result;                           /* enum ks_result */
	/* what it changed, to be undone when the commit fails */
	struct ks_record *record;
	struct sqlite_hash hash;
	uint64_t old_revision, old_created;
};

struct sqlite_statements {
	sqlite3_stmt *begin, *commit, *rollback, *append, *set, *remove, *value, *trim_scan, *trim, *meta_set;
};

/* The latest records, so that watchers that keep up never read the disk. */
struct sqlite_recent {
	pthread_mutex_t lock;
	struct ks_record *records[SQLITE_RECENT]; /* by revision */
	uint64_t first, next;                     /* empty: equal */
	size_t bytes;
};

struct sqlite_checkpoint {
	sqlite3 *db;
	pthread_t thread;
	int running;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int dirty;    /* something is in the write-ahead log that is not in the database */
	int enough;   /* so much that it is time */
	int tail;     /* the writer was asked to copy the rest */
	int ending;
};

struct sqlite_store {
	const struct ks_host *host;
	struct sqlite_config config;
	struct sqlite_guard guard;

	/* anybody's */
	_Atomic uint64_t published;  /* the last revision that is committed and can be seen */
	_Atomic uint64_t compacted;  /* the oldest that can be read or watched from */
	_Atomic int failed;          /* a sync failed: nothing is written any more */
	struct sqlite_recent recent;
	pthread_mutex_t pins_lock;
	struct ks_pin *pins;         /* what ranges still need */
	struct ks_watchers *watchers;
	struct ks_jobs *reader;
	struct sqlite_checkpoint checkpoint;

	/* the writer's queue */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct sqlite_request *first, **last;
	int tail;                    /* the checkpoint thread asks the writer to copy the rest */
	int ending;

	/* the writer's own */
	pthread_t writer;
	int running;
	sqlite3 *db;
	struct sqlite_statements s;
	struct sqlite_index index;
	struct ks_leases leases;
	uint64_t revision;           /* the last one given */
	uint64_t trimmed;            /* history before it has been removed */
	int in_transaction;
	int trim_failed;             /* old history is not removed until something else could be written */

	/* the reader's own */
	sqlite3 *read_db;
	sqlite3_stmt *read_begin, *read_end, *read_current, *read_first_after, *read_record, *read_changes, *read_range, *read_keys;

	/* the watchers' own */
	sqlite3 *watch_db;
	sqlite3_stmt *watch_log;
};

/* -- database.c: files, tables, statements ------------------------------------------------------------------------ */

int ks_sqlite_database_open(struct sqlite_store *store, struct ks_plugin_error *error) __attribute__((warn_unused_result));
void ks_sqlite_database_close(struct sqlite_store *store);

/* -- writer.c ----------------------------------------------------------------------------------------------------- */

int ks_sqlite_writer_start(struct sqlite_store *store) __attribute__((warn_unused_result));
/* Answers what is queued, then ends the thread. */
void ks_sqlite_writer_stop(struct sqlite_store *store);
void ks_sqlite_writer_add(struct sqlite_store *store, struct sqlite_request *request);
void ks_sqlite_writer_ask_tail(struct sqlite_store *store);

/* -- history.c: what is old ------------------------------------------------------------------------------------------ */

/* Moves the oldest readable revision as far as the configuration wants; within the writer's transaction. SQLite's code. */
int ks_sqlite_history_compact(struct sqlite_store *store, uint64_t revision);
int ks_sqlite_history_advance(struct sqlite_store *store);
/* 1 when there is something to be removed. */
int ks_sqlite_history_pending(struct sqlite_store *store);
/* Removes a slice, looking at `max` revisions; within the writer's transaction. SQLite's code. */
int ks_sqlite_history_trim(struct sqlite_store *store, int max);

/* -- recent.c ----------------------------------------------------------------------------------------------------- */

void ks_sqlite_recent_add(struct sqlite_store *store, struct ks_record *record);
void ks_sqlite_recent_fini(struct sqlite_store *store);
/* As ks_watch_source. */
int ks_sqlite_recent_fetch(void *self, uint64_t from, struct ks_record **records, size_t *n_r, uint64_t *next_r);

/* -- reader.c ----------------------------------------------------------------------------------------------------- */

int ks_sqlite_reader_get(void *self, struct ks_op *op, struct ks_view key, uint64_t revision, int *found_r, struct ks_store_kv *kv_r);
int ks_sqlite_reader_range(void *self, struct ks_op *op, const struct ks_store_range *range, struct ks_store_range_result *result_r);

/* -- checkpoint.c ------------------------------------------------------------------------------------------------- */

int ks_sqlite_checkpoint_start(struct sqlite_store *store) __attribute__((warn_unused_result));
void ks_sqlite_checkpoint_stop(struct sqlite_store *store);
/* The writer has had its turn. */
void ks_sqlite_checkpoint_tail(struct sqlite_store *store);

/* -- helpers ------------------------------------------------------------------------------------------------------ */

/* Columns: value, and by position; *value_r gets a reference. NULL value column: NULL. KS_DONE or KS_ERR_NOMEM. */
int ks_sqlite_column_bytes(const struct ks_host *host, sqlite3_stmt *stmt, int column, struct ks_host_bytes **value_r) __attribute__((warn_unused_result));
static inline struct ks_view ks_sqlite_column_view(sqlite3_stmt *stmt, int column)
{
	const char *p = sqlite3_column_blob(stmt, column);

	return (struct ks_view){p, (size_t)sqlite3_column_bytes(stmt, column)};
}

#endif
