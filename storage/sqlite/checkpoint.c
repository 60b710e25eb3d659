/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the write-ahead log back into the database while the writer goes on. What the
 * writer added meanwhile is copied again, until the rest is so small that the writer
 * itself copies it between two batches: with all copied, its next transaction starts
 * at the beginning of the file.
 */
#include <time.h>

#include "storage/sqlite/store.h"

#define TAIL_FRAMES 256
#define ROUNDS 4
#define PAGE_BYTES 4096
/* What is written now and then is copied that much later, so that a restart finds little to read. */
#define IDLE_SECONDS 5

static int on_commit(void *arg, sqlite3 *db, const char *name, int frames)
{
	struct sqlite_store *store = arg;
	struct sqlite_checkpoint *c = &store->checkpoint;
	int enough = (int64_t)frames * PAGE_BYTES > store->config.wal / 2;

	(void)db;
	(void)name;
	pthread_mutex_lock(&c->lock);
	if (!c->dirty || (enough && !c->enough))
		pthread_cond_signal(&c->cond);
	c->dirty = 1;
	c->enough = c->enough || enough;
	pthread_mutex_unlock(&c->lock);
	return SQLITE_OK;
}

/* Until there are enough frames, or a while after the first one; 0 at the end. Under the lock. */
static int wait_for_frames(struct sqlite_checkpoint *c)
{
	struct timespec t;

	while (!c->ending && (!c->dirty || c->tail))
		pthread_cond_wait(&c->cond, &c->lock);
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += IDLE_SECONDS;
	while (!c->ending && !c->enough)
		if (pthread_cond_timedwait(&c->cond, &c->lock, &t))
			break;
	return !c->ending;
}

void ks_sqlite_checkpoint_tail(struct sqlite_store *store)
{
	struct sqlite_checkpoint *c = &store->checkpoint;

	pthread_mutex_lock(&c->lock);
	c->tail = c->dirty = c->enough = 0;
	pthread_cond_signal(&c->cond);
	pthread_mutex_unlock(&c->lock);
}

static void copy(struct sqlite_store *store)
{
	int i, frames = 0, copied = 0, rc;

	for (i = 0; i < ROUNDS; i++) {
		rc = sqlite3_wal_checkpoint_v2(store->checkpoint.db, NULL, SQLITE_CHECKPOINT_PASSIVE, &frames, &copied);
		if (rc != SQLITE_OK && rc != SQLITE_BUSY) {
			store->host->log(store->host, KS_HOST_LOG_ERROR, "%s: the write-ahead log can't be copied back: %s", store->config.path,
				sqlite3_errmsg(store->checkpoint.db));
			return;
		}
		if (frames - copied <= TAIL_FRAMES)
			break;
	}
}

static void *checkpoint_main(void *arg)
{
	struct sqlite_store *store = arg;
	struct sqlite_checkpoint *c = &store->checkpoint;

	pthread_mutex_lock(&c->lock);
	while (wait_for_frames(c)) {
		c->dirty = c->enough = 0;
		pthread_mutex_unlock(&c->lock);
		copy(store);
		pthread_mutex_lock(&c->lock);
		/* Not again before the writer has had its turn: two checkpoints at once are none. */
		c->tail = 1;
		pthread_mutex_unlock(&c->lock);
		ks_sqlite_writer_ask_tail(store);
		pthread_mutex_lock(&c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

int ks_sqlite_checkpoint_start(struct sqlite_store *store)
{
	struct sqlite_checkpoint *c = &store->checkpoint;

	sqlite3_wal_hook(store->db, on_commit, store);
	if (pthread_create(&c->thread, NULL, checkpoint_main, store))
		return KS_ERR_NOMEM;
	c->running = 1;
	return KS_DONE;
}

void ks_sqlite_checkpoint_stop(struct sqlite_store *store)
{
	struct sqlite_checkpoint *c = &store->checkpoint;

	if (!c->running)
		return;
	pthread_mutex_lock(&c->lock);
	c->ending = 1;
	pthread_cond_signal(&c->cond);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	c->running = 0;
}
