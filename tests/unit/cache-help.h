/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What tests of the cache and the router share: objects by a line, and a store in memory that fails when told to. */
#ifndef KS_TESTS_CACHE_HELP_H
#define KS_TESTS_CACHE_HELP_H

#include <keelson/storage.h>
#include <pthread.h>

#include "core/cache/cache.h"
#include "core/store/store.h"

/* Index of a resource of the built-in schema; `group` "" for core. */
uint16_t help_resource(const char *group, const char *version, const char *resource);
/* JSON of an object of a storage resource; `ns` may be NULL; `labels` such as "\"a\":\"b\"" or NULL; `rest` such as ",\"data\":{}" or NULL. */
struct ks_bytes *help_json(uint16_t resource, const char *ns, const char *name, const char *labels, const char *rest);
struct ks_object *help_object(uint16_t resource, const char *ns, const char *name, const char *labels, const char *rest);

/* -- the store -------------------------------------------------------------------------------------------------- */

struct help_record {
	uint64_t revision, create_revision, lease_until_ms;
	char *key;
	struct ks_bytes *value; /* NULL: a deletion */
	uint32_t type;
};

enum help_trouble { HELP_NONE, HELP_UNCERTAIN_DONE, HELP_UNCERTAIN_LOST, HELP_UNAVAILABLE };

struct help_store {
	struct ks_store store;
	pthread_mutex_t lock;
	struct help_record *log; /* everything ever written */
	size_t n, cap;
	uint64_t revision, oldest;
	enum help_trouble trouble; /* of the next write */
	int read_failures; /* how many gets are to fail first */
	int watch_failures; /* how many times the watch is refused */
	bool away; /* it can't be read */
	bool pending; /* writes answer later, on another thread */
	pthread_t completer;
	bool has_completer;
	bool held; /* events are not delivered */
	unsigned ranges, watches; /* calls */
	/* the one watch */
	struct ks_store_watch watch;
	bool watching;
	size_t cursor; /* into the log */
	uint64_t credit, told;
};

void help_store_init(struct help_store *s, const char *name);
void help_store_fini(struct help_store *s);
/* Writes at once, whatever is there; `json` NULL deletes. Takes over the bytes. Returns the revision. */
uint64_t help_store_put(struct help_store *s, uint16_t resource, const char *ns, const char *name, struct ks_bytes *json);
/* The watch fails; what was written before `oldest` is forgotten. */
void help_store_break(struct help_store *s, int result, uint64_t oldest);
/* The thread that completed the last call has ended: its loop can go. */
void help_store_join(struct help_store *s);
void help_store_hold(struct help_store *s, bool held);
/* Takes `n` revisions for things that are not objects, and tells the watch. */
void help_store_advance(struct help_store *s, uint64_t n);

struct ks_router *help_router(struct help_store *s);
/* Waits (at most 20 s) until the resource has come to the store's revision. */
void help_wait(struct ks_cache *cache, uint16_t resource, uint64_t revision);
/* The same, and until everybody whom it concerns has been told. */
void help_settle(struct ks_cache *cache, uint16_t resource, uint64_t revision);

#endif
