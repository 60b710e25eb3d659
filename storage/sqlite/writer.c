/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's thread: group commit. Whatever waits when it turns around goes into one
 * transaction and one sync; a write that comes alone is committed alone, at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "storage/sqlite/store.h"

#define BATCH_MAX 512
#define EXPIRE_MAX 128
#define TRIM_IDLE 128

static int sql_result(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return KS_DONE;
	case SQLITE_NOMEM:
		return KS_ERR_NOMEM;
	default:
		return KS_ERR_UNAVAILABLE;
	}
}

static int run(sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);

	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int begin(struct sqlite_store *store)
{
	int rc;

	if (store->in_transaction)
		return SQLITE_OK;
	rc = run(store->s.begin);
	store->in_transaction = rc == SQLITE_OK;
	return rc;
}

/* -- one write ---------------------------------------------------------------------------------------------------- */

static int append_row(struct sqlite_store *store, const struct ks_record *r, uint64_t previous)
{
	sqlite3_stmt *stmt = store->s.append;
	struct ks_view value = r->value ? store->host->bytes_view(r->value) : (struct ks_view){NULL, 0};

	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)r->revision);
	sqlite3_bind_blob64(stmt, 2, r->key, r->key_n, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, r->type);
	sqlite3_bind_int64(stmt, 4, (sqlite3_int64)r->create_revision);
	sqlite3_bind_int64(stmt, 5, (sqlite3_int64)previous);
	sqlite3_bind_int64(stmt, 6, (sqlite3_int64)r->lease_until_ms);
	if (r->value)
		sqlite3_bind_blob64(stmt, 7, value.n ? value.p : "", value.n, SQLITE_STATIC);
	return run(stmt);
}

static int set_row(struct sqlite_store *store, const struct ks_record *r)
{
	sqlite3_stmt *stmt = r->value ? store->s.set : store->s.remove;

	sqlite3_bind_blob64(stmt, 1, r->key, r->key_n, SQLITE_STATIC);
	if (r->value) {
		sqlite3_bind_int64(stmt, 2, (sqlite3_int64)r->revision);
		sqlite3_bind_int64(stmt, 3, (sqlite3_int64)r->create_revision);
		sqlite3_bind_int64(stmt, 4, (sqlite3_int64)r->lease_until_ms);
	}
	return run(stmt);
}

/* The index follows; `undo` takes it back. */
static int index_row(struct sqlite_store *store, const struct sqlite_request *request)
{
	const struct ks_record *r = request->record;

	if (r->value)
		return ks_sqlite_index_set(&store->index, request->hash, r->revision, r->create_revision);
	ks_sqlite_index_remove(&store->index, request->hash);
	return KS_DONE;
}

static struct ks_record *make_record(struct sqlite_store *store, const struct sqlite_request *request)
{
	const struct ks_store_write *write = request->write;
	struct ks_record *r = ks_record_new(write->key, NULL);

	if (!r)
		return NULL;
	r->value = write->value ? store->host->bytes_ref(write->value) : NULL;
	r->type = !write->value ? KS_EVENT_DELETED : request->old_revision ? KS_EVENT_MODIFIED : KS_EVENT_ADDED;
	r->revision = store->revision + 1;
	r->create_revision = request->old_revision ? request->old_created : r->revision;
	r->lease_until_ms = write->value ? write->lease_until_ms : 0;
	return r;
}

/* Nothing is changed, neither here nor in the transaction, when it fails for want of memory before the first row. */
static int change(struct sqlite_store *store, struct sqlite_request *request)
{
	struct ks_record *r = make_record(store, request);
	int result;

	if (!r)
		return KS_ERR_NOMEM;
	result = r->lease_until_ms ? ks_leases_add(&store->leases, ks_record_key(r), r->revision, r->lease_until_ms) : KS_DONE;
	if (result == KS_DONE)
		result = sql_result(begin(store));
	if (result == KS_DONE)
		result = sql_result(append_row(store, r, request->old_revision));
	if (result == KS_DONE)
		result = sql_result(set_row(store, r));
	request->record = r;
	if (result == KS_DONE)
		result = index_row(store, request);
	if (result == KS_DONE) {
		store->revision = r->revision;
		request->answer->outcome = KS_STORE_COMMITTED;
		return KS_DONE;
	}
	request->record = NULL;
	ks_record_unref(store->host, r);
	return result;
}

/* What stands there goes to the one who lost; it may be of this very transaction. */
static int lost_race(struct sqlite_store *store, struct sqlite_request *request)
{
	struct ks_store_kv *current = &request->answer->current;
	sqlite3_stmt *stmt = store->s.value;
	int rc, result = KS_DONE;

	request->answer->outcome = KS_STORE_LOST_RACE;
	memset(current, 0, sizeof(*current));
	current->key = request->write->key;
	if (!request->old_revision)
		return KS_DONE;
	current->mod_revision = request->old_revision;
	current->create_revision = request->old_created;
	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)request->old_revision);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		current->lease_until_ms = (uint64_t)sqlite3_column_int64(stmt, 1);
		result = ks_sqlite_column_bytes(store->host, stmt, 0, &current->value);
	} else {
		result = rc == SQLITE_DONE ? KS_ERR_UNAVAILABLE : sql_result(rc);
	}
	sqlite3_reset(stmt);
	return result;
}

static int expectation_met(const struct sqlite_request *request)
{
	switch (request->write->expect) {
	case KS_STORE_EXPECT_ABSENT:
		return request->old_revision == 0;
	case KS_STORE_EXPECT_REVISION:
		return request->old_revision && request->old_revision == request->write->expected;
	default:
		return 1;
	}
}

static int apply(struct sqlite_store *store, struct sqlite_request *request)
{
	const struct sqlite_entry *entry;

	if (!request->write) {
		int rc = begin(store);

		return sql_result(rc == SQLITE_OK ? ks_sqlite_history_compact(store, request->compact_to) : rc);
	}
	request->hash = ks_sqlite_index_hash(&store->index, request->write->key);
	entry = ks_sqlite_index_find(&store->index, request->hash);
	request->old_revision = entry ? entry->revision : 0;
	request->old_created = entry ? entry->created : 0;
	if (!expectation_met(request))
		return lost_race(store, request);
	if (!entry && !request->write->value) {
		request->answer->outcome = KS_STORE_NOT_FOUND;
		return KS_DONE;
	}
	return change(store, request);
}

/* -- expiry ------------------------------------------------------------------------------------------------------- */

/* An expiry is an ordinary deletion of the revision that had the lease. */
struct expiry {
	struct sqlite_request request;
	struct ks_store_write write;
	struct ks_store_write_result answer;
	char key[];
};

static struct sqlite_request *expiry_new(const struct ks_lease *lease)
{
	struct expiry *e = calloc(1, sizeof(*e) + lease->key_n);

	if (!e)
		return NULL;
	memcpy(e->key, lease->key, lease->key_n);
	e->write = (struct ks_store_write){.size = sizeof(e->write), .expect = KS_STORE_EXPECT_REVISION, .expected = lease->revision,
		.key = {e->key, lease->key_n}};
	e->request.write = &e->write;
	e->request.answer = &e->answer;
	return &e->request;
}

/* One that failed is tried again later. */
static void expiry_end(struct sqlite_store *store, struct sqlite_request *r)
{
	if (r->answer->current.value)
		store->host->bytes_unref(r->answer->current.value);
	if (r->result != KS_DONE && ks_leases_add(&store->leases, r->write->key, r->write->expected, ks_leases_now_ms() + 1000))
		store->host->log(store->host, KS_HOST_LOG_ERROR, "out of memory: a key that has expired stays until the next start");
	free(r);
}

/* -- a batch ------------------------------------------------------------------------------------------------------ */

struct batch {
	struct sqlite_request *first, **last;
	uint64_t revision; /* before it */
	int changes;
};

static void undo(struct sqlite_store *store, struct batch *batch)
{
	struct sqlite_request *r, *reversed = NULL, *next;

	for (r = batch->first; r; r = next) {
		next = r->next;
		r->next = reversed;
		reversed = r;
	}
	batch->first = NULL;
	for (r = reversed; r; r = next) {
		next = r->next;
		if (r->record && r->old_revision) {
			/* The table has held that many before: no memory is needed. */
			if (ks_sqlite_index_set(&store->index, r->hash, r->old_revision, r->old_created))
				atomic_store(&store->failed, 1);
		} else if (r->record) {
			ks_sqlite_index_remove(&store->index, r->hash);
		}
		r->next = batch->first;
		batch->first = r;
	}
}

/* A write of this batch that could not be done ends the batch: its transaction is rolled back, and no answer of it is true. */
static void fail_batch(struct sqlite_store *store, struct batch *batch, int result)
{
	const char *why = sqlite3_errmsg(store->db);
	struct sqlite_request *r;

	store->host->log(store->host, KS_HOST_LOG_ERROR, "%s: a transaction failed: %s%s", store->config.path, why,
		result == KS_ERR_UNCERTAIN ? "; nothing more is written until the server is started again" : "");
	store->trim_failed = 1;
	for (r = batch->first; r; r = r->next) {
		r->result = result;
		if (r->op)
			store->host->op_error(r->op, "the database refused: %s", why);
		if (r->answer && r->answer->current.value)
			store->host->bytes_unref(r->answer->current.value);
		if (r->answer)
			r->answer->current.value = NULL;
	}
	if (store->in_transaction && !sqlite3_get_autocommit(store->db))
		run(store->s.rollback);
	store->in_transaction = 0;
	undo(store, batch);
	if (result == KS_ERR_UNCERTAIN)
		atomic_store(&store->failed, 1);
	else
		store->revision = batch->revision;
}

/*
 * A full disk is a clean no. Any other error of the commit may have come after the log was
 * written, and a sync that failed once says nothing the second time: the kernel has dropped
 * the pages. So it is not tried again.
 */
static int commit(struct sqlite_store *store)
{
	int rc;

	if (!store->in_transaction)
		return KS_DONE;
	rc = run(store->s.commit);
	if (rc == SQLITE_OK) {
		store->in_transaction = 0;
		store->trim_failed = 0;
		return KS_DONE;
	}
	return (rc & 0xff) == SQLITE_IOERR ? KS_ERR_UNCERTAIN : KS_ERR_UNAVAILABLE;
}

static void publish(struct sqlite_store *store, struct batch *batch)
{
	struct sqlite_request *r;

	ks_sqlite_guard_note(&store->guard, store->revision);
	for (r = batch->first; r; r = r->next)
		if (r->record)
			ks_sqlite_recent_add(store, r->record);
	atomic_store(&store->published, store->revision);
	if (store->revision != batch->revision)
		ks_watchers_wake(store->watchers);
}

static void answer(struct sqlite_store *store, struct sqlite_request *r)
{
	struct ks_op *op = r->op;
	int result = r->result;

	if (r->answer)
		r->answer->revision = r->record && result == KS_DONE ? r->record->revision : store->revision;
	ks_record_unref(store->host, r->record);
	if (!op) {
		expiry_end(store, r);
		return;
	}
	/* The request is in the operation's memory: not ours from here on. */
	store->host->complete(op, result);
}

/* The requests in their order, as long as they can be done. */
static int apply_all(struct sqlite_store *store, struct batch *batch)
{
	struct sqlite_request *r;
	int result = KS_DONE;

	for (r = batch->first; r && result == KS_DONE; r = r->next) {
		if (r->op && r->write && store->host->op_cancelled(r->op)) {
			r->result = KS_ERR_TIMEOUT;
			continue;
		}
		result = apply(store, r);
		batch->changes += r->record != NULL;
	}
	return result;
}

/* Old history goes with the batches that make new one, and in small ones of its own when nobody writes. */
static int tidy(struct sqlite_store *store, const struct batch *batch, int idle)
{
	int result = store->in_transaction ? sql_result(ks_sqlite_history_advance(store)) : KS_DONE;

	if (result != KS_DONE || (!idle && !store->in_transaction) || !ks_sqlite_history_pending(store))
		return result;
	result = sql_result(begin(store));
	return result == KS_DONE ? sql_result(ks_sqlite_history_trim(store, idle ? TRIM_IDLE : 2 * batch->changes + 8)) : result;
}

static void refuse_batch(struct sqlite_store *store, struct batch *batch)
{
	struct sqlite_request *r;

	for (r = batch->first; r; r = r->next) {
		r->result = KS_ERR_UNAVAILABLE;
		if (r->op)
			store->host->op_error(r->op, "the database is not written any more since a sync failed");
	}
}

static void run_batch(struct sqlite_store *store, struct batch *batch, int idle)
{
	struct sqlite_request *r, *next;
	int result;

	if (atomic_load(&store->failed)) {
		refuse_batch(store, batch);
	} else {
		result = apply_all(store, batch);
		if (result == KS_DONE)
			result = tidy(store, batch, idle);
		if (result == KS_DONE)
			result = commit(store);
		if (result == KS_DONE)
			publish(store, batch);
		else
			fail_batch(store, batch, result);
	}
	for (r = batch->first; r; r = next) {
		next = r->next;
		answer(store, r);
	}
}

/* -- the thread --------------------------------------------------------------------------------------------------- */

static int lease_is_stale(struct sqlite_store *store, const struct ks_lease *lease)
{
	const struct sqlite_entry *entry =
		ks_sqlite_index_find(&store->index, ks_sqlite_index_hash(&store->index, (struct ks_view){lease->key, lease->key_n}));

	return !entry || entry->revision != lease->revision;
}

static void add_expired(struct sqlite_store *store, struct batch *batch)
{
	uint64_t now = ks_leases_now_ms();
	struct ks_lease *lease;
	struct sqlite_request *r;
	int n;

	for (n = 0; n < EXPIRE_MAX && (lease = ks_leases_take(&store->leases, now)); n++) {
		r = lease_is_stale(store, lease) ? NULL : expiry_new(lease);
		free(lease);
		if (!r)
			continue;
		*batch->last = r;
		batch->last = &r->next;
	}
}

/* Takes what waits, at most BATCH_MAX. Under the lock. */
static void take_batch(struct sqlite_store *store, struct batch *batch)
{
	struct sqlite_request **p = &store->first;
	int n;

	*batch = (struct batch){.revision = store->revision};
	batch->last = &batch->first;
	for (n = 0; *p && n < BATCH_MAX; n++)
		p = &(*p)->next;
	if (!n)
		return;
	batch->first = store->first;
	store->first = *p;
	if (!store->first)
		store->last = &store->first;
	*p = NULL;
	batch->last = p;
}

static uint64_t next_expiry(struct sqlite_store *store)
{
	return atomic_load(&store->failed) ? UINT64_MAX : ks_leases_next_ms(&store->leases);
}

static int wait_for_work(struct sqlite_store *store)
{
	uint64_t due = next_expiry(store);
	struct timespec t = {(time_t)(due / 1000), (long)(due % 1000) * 1000000};

	if (due == UINT64_MAX)
		return pthread_cond_wait(&store->wake, &store->lock);
	return pthread_cond_timedwait(&store->wake, &store->lock, &t);
}

static void copy_tail(struct sqlite_store *store)
{
	/* With nothing written behind it, the log starts again at its beginning; when somebody reads, it does so at a later time. */
	sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	ks_sqlite_checkpoint_tail(store);
}

static void *writer_main(void *arg)
{
	struct sqlite_store *store = arg;
	struct batch batch;
	int tail, trim;

	pthread_mutex_lock(&store->lock);
	for (;;) {
		trim = 0;
		while (!store->first && !store->tail && !store->ending && next_expiry(store) > ks_leases_now_ms()) {
			trim = !store->trim_failed && ks_sqlite_history_pending(store);
			if (trim)
				break;
			wait_for_work(store);
		}
		if (!store->first && store->ending)
			break;
		take_batch(store, &batch);
		tail = store->tail;
		store->tail = 0;
		pthread_mutex_unlock(&store->lock);
		if (!atomic_load(&store->failed))
			add_expired(store, &batch);
		if (batch.first || trim)
			run_batch(store, &batch, trim);
		if (tail)
			copy_tail(store);
		pthread_mutex_lock(&store->lock);
	}
	pthread_mutex_unlock(&store->lock);
	return NULL;
}

int ks_sqlite_writer_start(struct sqlite_store *store)
{
	if (pthread_create(&store->writer, NULL, writer_main, store))
		return KS_ERR_NOMEM;
	store->running = 1;
	return KS_DONE;
}

void ks_sqlite_writer_stop(struct sqlite_store *store)
{
	if (!store->running)
		return;
	pthread_mutex_lock(&store->lock);
	store->ending = 1;
	pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->lock);
	pthread_join(store->writer, NULL);
	store->running = 0;
}

void ks_sqlite_writer_add(struct sqlite_store *store, struct sqlite_request *request)
{
	request->next = NULL;
	pthread_mutex_lock(&store->lock);
	*store->last = request;
	store->last = &request->next;
	pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->lock);
}

void ks_sqlite_writer_ask_tail(struct sqlite_store *store)
{
	pthread_mutex_lock(&store->lock);
	store->tail = 1;
	pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->lock);
}
