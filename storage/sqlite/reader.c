/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Gets and ranges, now and at an old revision.
 *
 * `current` shows what is there now. A key that was written after the revision asked for
 * is in the log behind it, and the first such row says which row was there before. So a
 * range at a revision is `current` with an overlay of what changed since: short for a
 * young revision, bounded by the history for an old one. A long range is read in pages,
 * each in a read transaction of its own, and the overlay grows between them.
 */
#include <stdlib.h>
#include <string.h>

#include "storage/sqlite/store.h"

#define PAGE_KEYS 256
#define PAGE_BYTES (1 << 20)

/* A key that was written after the revision of the range. */
struct overlay {
	uint64_t revision; /* the first such write */
	uint64_t previous; /* the row it replaced; 0: the key was not there */
	size_t key_n;
	char key[];
};

struct read_job {
	struct ks_job job;
	struct sqlite_store *store;
	struct ks_op *op;
	uint64_t revision;
	struct ks_pin pin;
	/* a get */
	struct ks_view key;
	int *found_r;
	struct ks_store_kv *kv_r;
	/* a range */
	const struct ks_store_range *range;
	struct ks_store_range_result *answer;
	uint64_t emitted;
	uint64_t seen;            /* the overlay has what was written up to here */
	struct overlay **overlay; /* by key */
	size_t overlay_n, overlay_size, overlay_at;
	char *cursor;             /* the last key that is done with */
	size_t cursor_n, cursor_size;
	int begun;
	struct ks_record *page[PAGE_KEYS];
	size_t page_n, page_bytes;
};

/* -- revisions ---------------------------------------------------------------------------------------------------- */

/* KS_DONE: the revision is settled and pinned. */
static int pin(struct read_job *job, uint64_t asked)
{
	struct sqlite_store *store = job->store;
	uint64_t current;
	int result = KS_DONE;

	pthread_mutex_lock(&store->pins_lock);
	current = atomic_load(&store->published);
	if (asked > current)
		result = KS_ERR_FUTURE;
	else if (asked && asked < atomic_load(&store->compacted))
		result = KS_ERR_COMPACTED;
	else
		ks_pins_add(&store->pins, &job->pin, asked ? asked : current);
	pthread_mutex_unlock(&store->pins_lock);
	job->revision = asked ? asked : current;
	return result;
}

static void finish(struct read_job *job, int result)
{
	struct sqlite_store *store = job->store;

	pthread_mutex_lock(&store->pins_lock);
	ks_pins_remove(&job->pin);
	pthread_mutex_unlock(&store->pins_lock);
	if (result == KS_ERR_UNAVAILABLE)
		store->host->op_error(job->op, "the database can't be read: %s", sqlite3_errmsg(store->read_db));
	store->host->complete(job->op, result);
}

static int step(sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc == SQLITE_DONE)
		return 0;
	return rc == SQLITE_NOMEM ? KS_ERR_NOMEM : KS_ERR_UNAVAILABLE;
}

static int snapshot_begin(struct sqlite_store *store)
{
	int r = step(store->read_begin);

	sqlite3_reset(store->read_begin);
	return r < 0 ? r : KS_DONE;
}

static void snapshot_end(struct sqlite_store *store)
{
	sqlite3_step(store->read_end);
	sqlite3_reset(store->read_end);
}

/* Columns: key, revision, created, lease, value. */
static struct ks_record *row_record(struct sqlite_store *store, sqlite3_stmt *stmt)
{
	struct ks_host_bytes *value;
	struct ks_record *r;

	if (ks_sqlite_column_bytes(store->host, stmt, 4, &value))
		return NULL;
	r = ks_record_new(ks_sqlite_column_view(stmt, 0), value);
	if (!r) {
		if (value)
			store->host->bytes_unref(value);
		return NULL;
	}
	r->revision = (uint64_t)sqlite3_column_int64(stmt, 1);
	r->create_revision = (uint64_t)sqlite3_column_int64(stmt, 2);
	r->lease_until_ms = (uint64_t)sqlite3_column_int64(stmt, 3);
	return r;
}

/* -- get ---------------------------------------------------------------------------------------------------------- */

/* The row that the first write after the revision replaced: 1 with it, 0 when nothing was written since. */
static int replaced_since(struct read_job *job, uint64_t *previous_r)
{
	sqlite3_stmt *stmt = job->store->read_first_after;
	int r;

	if (job->revision == atomic_load(&job->store->published))
		return 0;
	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)job->revision);
	sqlite3_bind_blob64(stmt, 2, job->key.p, job->key.n, SQLITE_STATIC);
	r = step(stmt);
	if (r == 1)
		*previous_r = (uint64_t)sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	return r;
}

static int get_row(struct read_job *job, sqlite3_stmt *stmt)
{
	struct sqlite_store *store = job->store;
	int r = step(stmt), result = r < 0 ? r : KS_DONE;
	struct ks_record *record;

	*job->found_r = 0;
	if (r == 1) {
		record = row_record(store, stmt);
		result = record ? KS_DONE : KS_ERR_NOMEM;
		if (record) {
			ks_record_kv(store->host, record, job->kv_r);
			job->kv_r->key = job->key;
			*job->found_r = 1;
		}
		ks_record_unref(store->host, record);
	}
	sqlite3_reset(stmt);
	return result;
}

static int get_at(struct read_job *job)
{
	struct sqlite_store *store = job->store;
	uint64_t previous = 0;
	int r = replaced_since(job, &previous);

	if (r < 0)
		return r;
	if (r == 0) {
		sqlite3_bind_blob64(store->read_current, 1, job->key.p, job->key.n, SQLITE_STATIC);
		return get_row(job, store->read_current);
	}
	sqlite3_bind_int64(store->read_record, 1, (sqlite3_int64)previous);
	return get_row(job, store->read_record);
}

static void get_run(struct ks_job *base)
{
	struct read_job *job = (struct read_job *)base;
	int result = snapshot_begin(job->store);

	if (result == KS_DONE) {
		result = get_at(job);
		snapshot_end(job->store);
	}
	finish(job, result);
}

static struct read_job *job_new(struct sqlite_store *store, struct ks_op *op, void (*run)(struct ks_job *job))
{
	struct read_job *job = store->host->op_alloc(op, sizeof(*job));

	if (!job)
		return NULL;
	memset(job, 0, sizeof(*job));
	job->job.run = run;
	job->store = store;
	job->op = op;
	return job;
}

int ks_sqlite_reader_get(void *self, struct ks_op *op, struct ks_view key, uint64_t revision, int *found_r, struct ks_store_kv *kv_r)
{
	struct sqlite_store *store = self;
	struct read_job *job = job_new(store, op, get_run);
	int result = job ? pin(job, revision) : KS_ERR_NOMEM;

	if (result != KS_DONE)
		return result;
	/* "Now" is when it is read. */
	if (!revision)
		job->revision = UINT64_MAX >> 1;
	job->key = key;
	job->found_r = found_r;
	job->kv_r = kv_r;
	ks_jobs_add(store->reader, &job->job);
	return KS_PENDING;
}

/* -- the overlay of a range --------------------------------------------------------------------------------------- */

static struct ks_view overlay_key(const struct overlay *o)
{
	return (struct ks_view){o->key, o->key_n};
}

static int overlay_add(struct read_job *job, uint64_t revision, struct ks_view key, uint64_t previous)
{
	struct overlay *o;

	if (job->overlay_n == job->overlay_size) {
		size_t size = job->overlay_size ? 2 * job->overlay_size : 64;
		struct overlay **grown = realloc(job->overlay, size * sizeof(struct overlay *));

		if (!grown)
			return KS_ERR_NOMEM;
		job->overlay = grown;
		job->overlay_size = size;
	}
	o = malloc(sizeof(*o) + key.n);
	if (!o)
		return KS_ERR_NOMEM;
	*o = (struct overlay){revision, previous, key.n};
	memcpy(o->key, key.p, key.n);
	job->overlay[job->overlay_n++] = o;
	return KS_DONE;
}

static int overlay_cmp(const void *a, const void *b)
{
	const struct overlay *x = *(struct overlay *const *)a, *y = *(struct overlay *const *)b;
	int c = ks_view_cmp(overlay_key(x), overlay_key(y));

	return c ? c : x->revision < y->revision ? -1 : x->revision > y->revision;
}

/* In order, of each key the first write alone. */
static void overlay_sort(struct read_job *job)
{
	size_t i, n = 0;

	qsort(job->overlay, job->overlay_n, sizeof(struct overlay *), overlay_cmp);
	for (i = 0; i < job->overlay_n; i++) {
		if (n && ks_view_cmp(overlay_key(job->overlay[n - 1]), overlay_key(job->overlay[i])) == 0)
			free(job->overlay[i]);
		else
			job->overlay[n++] = job->overlay[i];
	}
	job->overlay_n = n;
}

static void overlay_free(struct read_job *job)
{
	while (job->overlay_n)
		free(job->overlay[--job->overlay_n]);
	free(job->overlay);
}

static struct ks_view range_from(const struct read_job *job)
{
	const struct ks_store_range *range = job->range;

	if (job->begun)
		return (struct ks_view){job->cursor, job->cursor_n};
	return range->start.n && ks_view_cmp(range->start, range->prefix) > 0 ? range->start : range->prefix;
}

/* 1 when the key lies behind what is done already. */
static int is_ahead(const struct read_job *job, struct ks_view key)
{
	int c = ks_view_cmp(key, range_from(job));

	return job->begun ? c > 0 : c >= 0;
}

/* What was written since the last look, as far as the range has not passed it. */
static int overlay_load(struct read_job *job)
{
	sqlite3_stmt *stmt = job->store->read_changes;
	size_t before = job->overlay_n;
	int r, result = KS_DONE;

	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)job->seen);
	while (result == KS_DONE && (r = step(stmt)) != 0) {
		struct ks_view key;

		if (r < 0) {
			result = r;
			break;
		}
		job->seen = (uint64_t)sqlite3_column_int64(stmt, 0);
		key = ks_sqlite_column_view(stmt, 1);
		if (ks_view_starts(key, job->range->prefix) && is_ahead(job, key))
			result = overlay_add(job, job->seen, key, (uint64_t)sqlite3_column_int64(stmt, 2));
	}
	sqlite3_reset(stmt);
	if (job->overlay_n != before)
		overlay_sort(job);
	for (job->overlay_at = 0; job->overlay_at < job->overlay_n; job->overlay_at++)
		if (is_ahead(job, overlay_key(job->overlay[job->overlay_at])))
			break;
	return result;
}

/* -- a page of a range -------------------------------------------------------------------------------------------- */

static int page_is_full(const struct read_job *job)
{
	const struct ks_store_range *range = job->range;

	/* One more than wanted tells that there is more. */
	return job->page_n == PAGE_KEYS || job->page_bytes >= PAGE_BYTES || (range->limit && job->emitted + job->page_n > range->limit);
}

static int page_add(struct read_job *job, sqlite3_stmt *stmt)
{
	struct ks_record *r = row_record(job->store, stmt);

	if (!r)
		return KS_ERR_NOMEM;
	if (job->range->keys_only && r->value) {
		job->store->host->bytes_unref(r->value);
		r->value = NULL;
	}
	job->page[job->page_n++] = r;
	job->page_bytes += r->value ? job->store->host->bytes_view(r->value).n : 0;
	return KS_DONE;
}

static int page_add_previous(struct read_job *job, uint64_t previous)
{
	sqlite3_stmt *stmt = job->store->read_record;
	int r, result;

	if (!previous)
		return KS_DONE;
	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)previous);
	r = step(stmt);
	result = r == 1 ? page_add(job, stmt) : r < 0 ? r : KS_ERR_COMPACTED;
	sqlite3_reset(stmt);
	return result;
}

static int cursor_set(struct read_job *job, struct ks_view key)
{
	if (key.n > job->cursor_size) {
		char *grown = realloc(job->cursor, key.n + 256);

		if (!grown)
			return KS_ERR_NOMEM;
		job->cursor = grown;
		job->cursor_size = key.n + 256;
	}
	memcpy(job->cursor, key.p, key.n);
	job->cursor_n = key.n;
	job->begun = 1;
	return KS_DONE;
}

/* Takes the lesser of the next row and the next key of the overlay. 1: the row was used; 0: it was not; negative. */
static int page_merge(struct read_job *job, sqlite3_stmt *stmt, int have_row)
{
	const struct overlay *o = job->overlay_at < job->overlay_n ? job->overlay[job->overlay_at] : NULL;
	struct ks_view key = {NULL, 0};
	int c, result;

	if (have_row)
		key = ks_sqlite_column_view(stmt, 0);
	c = !o ? 1 : !have_row ? -1 : ks_view_cmp(overlay_key(o), key);
	if (c > 0) {
		result = page_add(job, stmt);
		if (result == KS_DONE)
			result = cursor_set(job, key);
		return result == KS_DONE ? 1 : result;
	}
	result = page_add_previous(job, o->previous);
	if (result == KS_DONE)
		result = cursor_set(job, overlay_key(o));
	job->overlay_at++;
	return result == KS_DONE ? c == 0 : result;
}

/* Fills page[] within one snapshot: 1 when there may be more behind it, 0 at the end. */
static int page_fill(struct read_job *job)
{
	sqlite3_stmt *stmt = job->range->keys_only ? job->store->read_keys : job->store->read_range;
	struct ks_view from;
	int row = 1, used = 1, result = overlay_load(job);

	if (result != KS_DONE)
		return result;
	from = range_from(job);
	sqlite3_bind_blob64(stmt, 1, from.n ? from.p : "", from.n, SQLITE_TRANSIENT);
	while (!page_is_full(job)) {
		if (used && row == 1)
			row = step(stmt);
		/* The cursor's own key is done. */
		if (row == 1 && used && !is_ahead(job, ks_sqlite_column_view(stmt, 0)))
			continue;
		if (row == 1 && !ks_view_starts(ks_sqlite_column_view(stmt, 0), job->range->prefix))
			row = 0;
		if (row < 0 || (row == 0 && job->overlay_at == job->overlay_n))
			break;
		used = page_merge(job, stmt, row);
		if (used < 0) {
			row = used;
			break;
		}
	}
	sqlite3_reset(stmt);
	return row < 0 ? row : page_is_full(job);
}

static int page_read(struct read_job *job)
{
	int result = snapshot_begin(job->store);

	job->page_n = job->page_bytes = 0;
	if (result != KS_DONE)
		return result;
	result = page_fill(job);
	snapshot_end(job->store);
	return result;
}

/* Gives the page away; 1: the receiver has had enough, or the limit is reached. */
static int page_emit(struct read_job *job)
{
	const struct ks_store_range *range = job->range;
	struct ks_store_kv kv;
	int stop = 0;
	size_t i;

	for (i = 0; i < job->page_n; i++) {
		if (!stop && range->limit && job->emitted == range->limit) {
			job->answer->more = 1;
			stop = 1;
		}
		if (!stop) {
			ks_record_kv(job->store->host, job->page[i], &kv);
			job->emitted++;
			stop = range->emit(range->arg, &kv);
		}
		ks_record_unref(job->store->host, job->page[i]);
	}
	return stop;
}

static void range_run(struct ks_job *base)
{
	struct read_job *job = (struct read_job *)base;
	int more, stop;

	do {
		more = page_read(job);
		stop = page_emit(job);
	} while (more == 1 && !stop);
	job->answer->revision = job->revision;
	overlay_free(job);
	free(job->cursor);
	finish(job, more < 0 ? more : KS_DONE);
}

int ks_sqlite_reader_range(void *self, struct ks_op *op, const struct ks_store_range *range, struct ks_store_range_result *result_r)
{
	struct sqlite_store *store = self;
	struct read_job *job = job_new(store, op, range_run);
	int result = job ? pin(job, range->revision) : KS_ERR_NOMEM;

	if (result != KS_DONE)
		return result;
	job->seen = job->revision;
	job->range = range;
	job->answer = result_r;
	result_r->more = 0;
	result_r->count = 0;
	ks_jobs_add(store->reader, &job->job);
	return KS_PENDING;
}
