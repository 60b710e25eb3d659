/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Files, tables and statements: what is opened before the threads start, and closed after they ended. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/sqlite/store.h"

#define APPLICATION_ID 0x4b53544f /* "KSTO" */
/* Added to the revision of a database that was put back from a copy: more than can have been given since. */
#define RESTORE_STEP 1000000000u

static int refuse(struct ks_plugin_error *error, const char *path, const char *what)
{
	snprintf(error->text, sizeof(error->text), "%s: %s", path, what);
	return KS_ERR;
}

static int refuse_db(struct ks_plugin_error *error, const char *path, sqlite3 *db)
{
	return refuse(error, path, db ? sqlite3_errmsg(db) : "out of memory");
}

int ks_sqlite_column_bytes(const struct ks_host *host, sqlite3_stmt *stmt, int column, struct ks_host_bytes **value_r)
{
	struct ks_view v = ks_sqlite_column_view(stmt, column);
	struct ks_host_bytes *bytes;

	*value_r = NULL;
	if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
		return KS_DONE;
	bytes = host->bytes_new(v.n);
	if (!bytes)
		return KS_ERR_NOMEM;
	if (v.n)
		memcpy(host->bytes_data(bytes), v.p, v.n);
	*value_r = bytes;
	return KS_DONE;
}

/* -- connections -------------------------------------------------------------------------------------------------- */

static int connect_to(const char *path, int64_t cache, sqlite3 **db_r)
{
	char text[512];
	int rc = sqlite3_open_v2(path, db_r, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_extended_result_codes(*db_r, 1);
	sqlite3_busy_timeout(*db_r, 5000);
	/* The write-ahead log stays as it is: it is read again at the next start, and its file is used again. */
	sqlite3_db_config(*db_r, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	snprintf(text, sizeof(text),
		"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=-1;"
		"PRAGMA secure_delete=OFF; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0; PRAGMA cache_size=-%lld;",
		(long long)(cache / 1024));
	return sqlite3_exec(*db_r, text, NULL, NULL, NULL);
}

static int one_number(sqlite3 *db, const char *sql, uint64_t *out)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	*out = 0;
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*out = (uint64_t)sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int statement(sqlite3 *db, const char *sql, sqlite3_stmt **out)
{
	return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
}

/* Some file systems have no shared memory; SQLite then stays with its old journal and only says so. */
static int uses_wal(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	const unsigned char *mode = NULL;
	int yes;

	if (sqlite3_prepare_v2(db, "PRAGMA journal_mode", -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		mode = sqlite3_column_text(stmt, 0);
	yes = mode && strcmp((const char *)mode, "wal") == 0;
	sqlite3_finalize(stmt);
	return yes;
}

/* -- tables ------------------------------------------------------------------------------------------------------- */

static int create_tables(sqlite3 *db)
{
	char id[64];
	int rc;

	snprintf(id, sizeof(id), "PRAGMA application_id=%d", APPLICATION_ID);
	rc = sqlite3_exec(db, id, NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		return rc;
	return sqlite3_exec(db,
		"BEGIN IMMEDIATE;"
		"CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
		"CREATE TABLE log(revision INTEGER PRIMARY KEY, key BLOB NOT NULL, type INTEGER NOT NULL, created INTEGER NOT NULL,"
		" previous INTEGER NOT NULL, lease INTEGER NOT NULL, value BLOB);"
		"CREATE TABLE current(key BLOB PRIMARY KEY, revision INTEGER NOT NULL, created INTEGER NOT NULL, lease INTEGER NOT NULL) WITHOUT ROWID;"
		"INSERT INTO meta VALUES('schema', 1), ('compacted', 1), ('trimmed', 1), ('floor', 1);"
		"COMMIT",
		NULL, NULL, NULL);
}

/* Ours and of a version that we know; an empty file becomes ours. */
static int check_tables(struct sqlite_store *store, struct ks_plugin_error *error)
{
	const char *path = store->config.path;
	uint64_t id, tables, schema;

	if (one_number(store->db, "PRAGMA application_id", &id) || one_number(store->db, "SELECT count(*) FROM sqlite_schema", &tables))
		return refuse_db(error, path, store->db);
	if (tables == 0 && create_tables(store->db))
		return refuse_db(error, path, store->db);
	if (tables && id != APPLICATION_ID)
		return refuse(error, path, "this is a SQLite database of another program");
	if (one_number(store->db, "SELECT value FROM meta WHERE name='schema'", &schema))
		return refuse_db(error, path, store->db);
	if (schema == SQLITE_STORE_SCHEMA)
		return KS_DONE;
	snprintf(error->text, sizeof(error->text), "%s: the database has schema version %llu, this plugin knows version %d: %s", path,
		(unsigned long long)schema, SQLITE_STORE_SCHEMA, schema > SQLITE_STORE_SCHEMA ? "a newer Keelson has written it" : "it is damaged");
	return KS_ERR;
}

/* The revision goes on behind everything that was ever given; history that was lost on the way counts as compacted. */
static int check_restored(struct sqlite_store *store)
{
	uint64_t seen = ks_sqlite_guard_revision(&store->guard), next;
	char sql[256];

	if (seen && seen <= store->revision)
		return SQLITE_OK;
	if (!seen && store->revision == 1)
		return SQLITE_OK;
	next = (seen > store->revision ? seen : store->revision) + RESTORE_STEP;
	store->host->log(store->host, KS_HOST_LOG_WARN, "%s was put back from a copy or moved here: revisions go on at %llu, older watches start anew",
		store->config.path, (unsigned long long)next);
	store->revision = next;
	atomic_store(&store->compacted, next);
	snprintf(sql, sizeof(sql), "UPDATE meta SET value=%llu WHERE name IN ('floor', 'compacted')", (unsigned long long)next);
	return sqlite3_exec(store->db, sql, NULL, NULL, NULL);
}

static int load_meta(struct sqlite_store *store)
{
	uint64_t last, floor, compacted;
	int rc = one_number(store->db, "SELECT max(revision) FROM log", &last);

	if (rc == SQLITE_OK)
		rc = one_number(store->db, "SELECT value FROM meta WHERE name='floor'", &floor);
	if (rc == SQLITE_OK)
		rc = one_number(store->db, "SELECT value FROM meta WHERE name='compacted'", &compacted);
	if (rc == SQLITE_OK)
		rc = one_number(store->db, "SELECT value FROM meta WHERE name='trimmed'", &store->trimmed);
	if (rc != SQLITE_OK)
		return rc;
	store->revision = last > floor ? last : floor;
	atomic_store(&store->compacted, compacted);
	return check_restored(store);
}

static int load_index(struct sqlite_store *store)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(store->db, "SELECT key, revision, created, lease FROM current", -1, &stmt, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct ks_view key = ks_sqlite_column_view(stmt, 0);
		uint64_t revision = (uint64_t)sqlite3_column_int64(stmt, 1), created = (uint64_t)sqlite3_column_int64(stmt, 2);
		uint64_t lease = (uint64_t)sqlite3_column_int64(stmt, 3);

		rc = SQLITE_OK;
		if (ks_sqlite_index_set(&store->index, ks_sqlite_index_hash(&store->index, key), revision, created) ||
		    (lease && ks_leases_add(&store->leases, key, revision, lease)))
			rc = SQLITE_NOMEM;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/*
 * A log file that has its final size and written blocks is overwritten in place: a sync then
 * carries data alone, where a file that grows carries its metadata too. SQLite takes
 * zeros behind its frames for the end.
 */
static int grow_wal(struct sqlite_store *store)
{
	char name[4096], zeros[65536] = {0};
	struct stat st;
	off_t at;
	int fd, failed = 0;

	if ((size_t)snprintf(name, sizeof(name), "%s-wal", store->config.path) >= sizeof(name))
		return -1;
	fd = open(name, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	failed = fstat(fd, &st);
	for (at = st.st_size; !failed && at < store->config.wal; at += (off_t)sizeof(zeros))
		failed = pwrite(fd, zeros, sizeof(zeros), at) != (ssize_t)sizeof(zeros);
	close(fd);
	return failed ? -1 : 0;
}

/* -- statements --------------------------------------------------------------------------------------------------- */

static int prepare_writer(struct sqlite_store *store)
{
	struct sqlite_statements *s = &store->s;
	sqlite3 *db = store->db;

	if (statement(db, "BEGIN IMMEDIATE", &s->begin) || statement(db, "COMMIT", &s->commit) || statement(db, "ROLLBACK", &s->rollback) ||
	    statement(db, "INSERT INTO log(revision, key, type, created, previous, lease, value) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)", &s->append) ||
	    statement(db, "INSERT INTO current(key, revision, created, lease) VALUES(?1, ?2, ?3, ?4) ON CONFLICT(key) DO UPDATE SET"
		" revision=excluded.revision, created=excluded.created, lease=excluded.lease", &s->set) ||
	    statement(db, "DELETE FROM current WHERE key=?1", &s->remove) ||
	    statement(db, "SELECT value, lease FROM log WHERE revision=?1", &s->value))
		return -1;
	return statement(db, "SELECT revision, type, previous FROM log WHERE revision>=?1 AND revision<?2 ORDER BY revision LIMIT ?3", &s->trim_scan) ||
		statement(db, "DELETE FROM log WHERE revision=?1", &s->trim) ||
		statement(db, "UPDATE meta SET value=?2 WHERE name=?1", &s->meta_set);
}

static int prepare_reader(struct sqlite_store *store)
{
	sqlite3 *db = store->read_db;

	if (statement(db, "BEGIN", &store->read_begin) || statement(db, "COMMIT", &store->read_end) ||
	    statement(db, "SELECT c.key, c.revision, c.created, c.lease, l.value FROM current c CROSS JOIN log l ON l.revision=c.revision WHERE c.key=?1",
		&store->read_current) ||
	    statement(db, "SELECT previous FROM log WHERE revision>?1 AND key=?2 ORDER BY revision LIMIT 1", &store->read_first_after))
		return -1;
	return statement(db, "SELECT key, revision, created, lease, value FROM log WHERE revision=?1", &store->read_record) ||
		statement(db, "SELECT revision, key, previous FROM log WHERE revision>?1 ORDER BY revision", &store->read_changes) ||
		statement(db, "SELECT c.key, c.revision, c.created, c.lease, l.value FROM current c CROSS JOIN log l ON l.revision=c.revision"
			" WHERE c.key>=?1 ORDER BY c.key", &store->read_range) ||
		statement(db, "SELECT key, revision, created, lease, NULL FROM current WHERE key>=?1 ORDER BY key", &store->read_keys);
}

static int prepare_watchers(struct sqlite_store *store)
{
	return statement(store->watch_db,
		"SELECT revision, key, type, created, lease, value FROM log WHERE revision BETWEEN ?1 AND ?2 ORDER BY revision LIMIT ?3", &store->watch_log);
}

/* A connection takes its memory when it is opened; only the writer's cache is worth more than the least. */
static int open_others(struct sqlite_store *store, struct ks_plugin_error *error)
{
	const char *path = store->config.path;

	if (connect_to(path, 256 * 1024, &store->read_db) || prepare_reader(store))
		return refuse_db(error, path, store->read_db);
	if (connect_to(path, 64 * 1024, &store->watch_db) || prepare_watchers(store))
		return refuse_db(error, path, store->watch_db);
	if (connect_to(path, 64 * 1024, &store->checkpoint.db))
		return refuse_db(error, path, store->checkpoint.db);
	return KS_DONE;
}

/* What is kept is for nobody else's eyes. SQLite gives its other files the mode of this one. */
static int create_private(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : close(fd);
}

int ks_sqlite_database_open(struct sqlite_store *store, struct ks_plugin_error *error)
{
	const char *path = store->config.path;

	if (ks_sqlite_guard_open(&store->guard, path, error))
		return KS_ERR;
	/* Before SQLite has it open: closing it later would drop SQLite's locks. */
	if (create_private(path))
		return refuse(error, path, strerror(errno));
	if (ks_sqlite_index_init(&store->index))
		return refuse(error, path, "out of memory or randomness");
	if (connect_to(path, store->config.cache, &store->db))
		return refuse_db(error, path, store->db);
	if (!uses_wal(store->db))
		return refuse(error, path, "a write-ahead log is not possible on this file system");
	if (check_tables(store, error))
		return KS_ERR;
	if (load_meta(store) || load_index(store) || prepare_writer(store))
		return refuse_db(error, path, store->db);
	if (grow_wal(store))
		return refuse(error, path, "the write-ahead log can't be grown: is the disk full?");
	ks_sqlite_guard_note(&store->guard, store->revision);
	atomic_store(&store->published, store->revision);
	return open_others(store, error);
}

static void disconnect(sqlite3 **db)
{
	sqlite3_stmt *stmt;

	while (*db && (stmt = sqlite3_next_stmt(*db, NULL)))
		sqlite3_finalize(stmt);
	sqlite3_close(*db);
	*db = NULL;
}

void ks_sqlite_database_close(struct sqlite_store *store)
{
	disconnect(&store->checkpoint.db);
	disconnect(&store->watch_db);
	disconnect(&store->read_db);
	disconnect(&store->db);
	ks_sqlite_index_fini(&store->index);
	ks_leases_fini(&store->leases);
	ks_sqlite_guard_close(&store->guard);
}
