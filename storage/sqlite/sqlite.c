/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The SQLite store as a plugin: configuration, life, and the operations of keelson/storage.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/sqlite/store.h"

static int sqlite_create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	struct sqlite_store *store;

	if (sqlite3_threadsafe() == 0) {
		snprintf(error->text, sizeof(error->text), "this build of SQLite has no threads");
		return KS_ERR_CONFIG;
	}
	store = calloc(1, sizeof(*store));
	if (!store)
		return KS_ERR_NOMEM;
	store->host = host;
	store->config = *(const struct sqlite_config *)config;
	store->guard = SQLITE_GUARD_CLOSED;
	store->last = &store->first;
	pthread_mutex_init(&store->lock, NULL);
	pthread_mutex_init(&store->pins_lock, NULL);
	pthread_mutex_init(&store->recent.lock, NULL);
	pthread_mutex_init(&store->checkpoint.lock, NULL);
	pthread_cond_init(&store->wake, NULL);
	pthread_cond_init(&store->checkpoint.cond, NULL);
	*self = store;
	return KS_DONE;
}

static uint64_t current_revision(void *self)
{
	return atomic_load(&((struct sqlite_store *)self)->published);
}

static uint64_t oldest_revision(void *self)
{
	return atomic_load(&((struct sqlite_store *)self)->compacted);
}

static void sqlite_stop(void *self)
{
	struct sqlite_store *store = self;

	ks_sqlite_writer_stop(store);
	ks_sqlite_checkpoint_stop(store);
	ks_jobs_free(&store->reader);
	ks_watchers_free(&store->watchers);
	ks_sqlite_recent_fini(store);
	ks_sqlite_database_close(store);
}

static int sqlite_start(void *self, struct ks_plugin_error *error)
{
	struct sqlite_store *store = self;
	const struct ks_watch_source source = {ks_sqlite_recent_fetch, current_revision, oldest_revision, store};
	int result = ks_sqlite_database_open(store, error);

	if (result != KS_DONE) {
		sqlite_stop(store);
		return result;
	}
	store->watchers = ks_watchers_new(store->host, &source);
	store->reader = ks_jobs_new(NULL, NULL);
	if (store->watchers && store->reader && ks_sqlite_checkpoint_start(store) == KS_DONE && ks_sqlite_writer_start(store) == KS_DONE)
		return KS_DONE;
	snprintf(error->text, sizeof(error->text), "out of memory or threads");
	sqlite_stop(store);
	return KS_ERR_NOMEM;
}

static void sqlite_destroy(void *self)
{
	struct sqlite_store *store = self;

	if (!store)
		return;
	sqlite_stop(store);
	pthread_cond_destroy(&store->checkpoint.cond);
	pthread_cond_destroy(&store->wake);
	pthread_mutex_destroy(&store->checkpoint.lock);
	pthread_mutex_destroy(&store->recent.lock);
	pthread_mutex_destroy(&store->pins_lock);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

/* -- operations --------------------------------------------------------------------------------------------------- */

static int sqlite_write(void *self, struct ks_op *op, const struct ks_store_write *write, struct ks_store_write_result *result_r)
{
	struct sqlite_store *store = self;
	struct sqlite_request *request = store->host->op_scratch(op);

	memset(&result_r->current, 0, sizeof(result_r->current));
	result_r->outcome = KS_STORE_UNKNOWN;
	request->op = op;
	request->write = write;
	request->answer = result_r;
	ks_sqlite_writer_add(store, request);
	return KS_PENDING;
}

static int sqlite_compact(void *self, struct ks_op *op, uint64_t revision)
{
	struct sqlite_store *store = self;
	struct sqlite_request *request;

	if (revision > atomic_load(&store->published))
		return KS_ERR_FUTURE;
	request = store->host->op_scratch(op);
	request->op = op;
	request->compact_to = revision;
	ks_sqlite_writer_add(store, request);
	return KS_PENDING;
}

static int sqlite_watch(void *self, const struct ks_store_watch *watch, void **watch_r)
{
	return ks_watchers_open(((struct sqlite_store *)self)->watchers, watch, watch_r);
}

static void sqlite_watch_credit(void *self, void *watch, uint64_t n)
{
	ks_watchers_credit(((struct sqlite_store *)self)->watchers, watch, n);
}

static void sqlite_watch_close(void *self, void *watch)
{
	ks_watchers_close(((struct sqlite_store *)self)->watchers, watch);
}

static int sqlite_revision(void *self, uint64_t *current_r, uint64_t *oldest_r)
{
	*current_r = current_revision(self);
	*oldest_r = oldest_revision(self);
	return KS_DONE;
}

static const struct ks_config_key config_keys[] = {
	{.name = "file", .type = KS_CONFIG_PATH, .flags = KS_CONFIG_REQUIRED, .offset = offsetof(struct sqlite_config, path),
	 .help = "The database; FILE-wal, FILE-shm and FILE-guard stand beside it."},
	{.name = "history", .type = KS_CONFIG_INT, .offset = offsetof(struct sqlite_config, history), .default_text = "10000", .min = 1, .max = 10000000,
	 .help = "Revisions that can still be read and watched from, after a restart too."},
	{.name = "cache", .type = KS_CONFIG_SIZE, .offset = offsetof(struct sqlite_config, cache), .default_text = "1Mi", .min = 65536, .max = 1 << 30,
	 .help = "Memory for pages of the writer."},
	{.name = "wal", .type = KS_CONFIG_SIZE, .offset = offsetof(struct sqlite_config, wal), .default_text = "8Mi", .min = 1 << 20, .max = 1 << 30,
	 .help = "Size of the write-ahead log's file, written once and used again."},
};

static const struct ks_lifecycle lifecycle = {
	.size = sizeof(lifecycle), .create = sqlite_create, .start = sqlite_start, .stop = sqlite_stop, .destroy = sqlite_destroy,
};

static const struct ks_store_ops ops = {
	.size = sizeof(ops), .get = ks_sqlite_reader_get, .range = ks_sqlite_reader_range, .write = sqlite_write, .watch = sqlite_watch,
	.watch_credit = sqlite_watch_credit, .watch_close = sqlite_watch_close, .compact = sqlite_compact, .revision = sqlite_revision,
};

static const struct ks_interface interface = {
	.size = sizeof(interface), .kind = KS_KIND_STORE, .version = KS_STORE_VERSION, .threads = KS_THREADS_CONCURRENT, .blocking = KS_CALLS_INLINE,
	.flags = KS_STORE_SINGLE_WRITER | KS_STORE_NATIVE_TTL | KS_STORE_DURABLE, .name = "sqlite", .lifecycle = &lifecycle, .ops = &ops,
	.config_keys = config_keys, .n_config_keys = sizeof(config_keys) / sizeof(config_keys[0]), .config_size = sizeof(struct sqlite_config),
	.scratch_size = sizeof(struct sqlite_request),
};

KS_PLUGIN(sqlite) = {
	KS_PLUGIN_HEADER, .n_interfaces = 1, .interfaces = &interface, .version = "0.1.0",
	.description = "Keeps objects in a SQLite database: durable, one server.",
};
