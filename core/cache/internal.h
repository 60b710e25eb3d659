/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the files of the cache share. Private to core/cache. */
#ifndef KS_CACHE_INTERNAL_H
#define KS_CACHE_INTERNAL_H

#include <keelson/storage.h>
#include <pthread.h>

#include "core/cache/cache.h"
#include "core/cache/history.h"
#include "core/cache/root.h"
#include "core/cache/tree.h"

/* -- parked objects (park.c) ------------------------------------------------------------------------------------ */

struct ks_parked;
struct ks_park {
	pthread_mutex_t lock; /* held for a few instructions */
	struct ks_parked **buckets;
	uint32_t n_buckets, n;
};
int ks_park_init(struct ks_park *park) __attribute__((warn_unused_result));
void ks_park_fini(struct ks_park *park);
/* The parked object with these bytes, its reference handed over; NULL when there is none. */
struct ks_object *ks_park_take(struct ks_park *park, struct ks_str ns, struct ks_str name, const struct ks_bytes *json);
/* Forgets everything: after events were lost, what is still parked may never be asked for. */
void ks_park_clear(struct ks_park *park);

uint32_t ks_cache_hash(struct ks_str a, struct ks_str b);

/* -- who waits for a revision (wait.c) --------------------------------------------------------------------------- */

struct ks_waits {
	pthread_mutex_t lock; /* held for a few instructions */
	struct ks_cache_wait *first; /* by revision */
};
int ks_waits_init(struct ks_waits *waits) __attribute__((warn_unused_result));
void ks_waits_fini(struct ks_waits *waits);
/* The applier: `revision` has been reached and stored where ks_cache_revision reads it. */
void ks_waits_reached(struct ks_waits *waits, uint64_t revision);

/* -- states of the past (past.c) ---------------------------------------------------------------------------------- */

struct ks_past {
	pthread_mutex_t lock; /* held for a few instructions */
	struct ks_root *root; /* the last one that was made */
	uint64_t revision;
	_Atomic uint64_t used_ns; /* 0: there is none */
};
int ks_past_init(struct ks_past *past) __attribute__((warn_unused_result));
/* Before the roots are closed. */
void ks_past_close(struct ks_past *past);
void ks_past_fini(struct ks_past *past);
/* The applier: lets go what nobody has asked for lately, so that it doesn't hold old objects for ever. */
void ks_past_expire(struct ks_past *past);

/* -- resources -------------------------------------------------------------------------------------------------- */

struct ks_feed;
struct ks_watch_set;

struct ks_cache_resource {
	struct ks_cache *cache;
	struct ks_feed *feed; /* of its store */
	uint16_t index; /* of the storage resource in the schema */
	bool namespaced;
	struct ks_str prefix; /* of its keys, after /registry/ */
	struct ks_roots roots;
	struct ks_history history;
	struct ks_park park;
	struct ks_past past;
	struct ks_watch_set *_Atomic sets; /* one for each loop that watches; only grows */
	/* the applier's */
	struct ks_tree_edit edit;
	uint64_t bytes;
	struct ks_root *next_root; /* made when the first event of a batch touches the resource */
	struct ks_cache_resource *next_touched;
	/* while it is being loaded */
	struct ks_object **loading;
	size_t n_loading, loading_cap;
};

/* One store's events and what they change (feed.c, load.c). */
struct ks_feed {
	struct ks_cache *cache;
	const struct ks_store *store;
	struct ks_cache_resource *resources; /* sorted by prefix */
	size_t n_resources;
	struct ks_waits waits;
	_Atomic uint64_t revision; /* all of its resources are complete up to here */
	_Atomic int health; /* 0, or negative: it has failed for good */
	pthread_t thread;
	bool has_thread;
	/* between the store's thread and ours */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* the feed's thread alone waits for it */
	pthread_cond_t settled; /* loaded has become true; who starts the cache waits for it */
	struct ks_feed_batch *first, **last;
	uint64_t queued; /* events */
	bool starved; /* the store was told to wait for credit */
	bool applying; /* the feed's thread has taken something */
	bool stopping, loaded;
	int lost; /* enum ks_result: the watch is over; 0: it isn't */
	int load_result;
	struct ks_error load_error;
	/* the applier's own */
	void *watch;
	struct ks_tree_pool pool;
	struct ks_cache_resource *touched;
	uint64_t undecodable;
};

struct ks_cache {
	const struct ks_schema *schema;
	struct ks_cache_config config;
	struct ks_feed *feeds;
	size_t n_feeds;
	struct ks_cache_resource **by_index; /* [schema->n_resources] */
	struct ks_watch_hub *_Atomic hubs; /* one for each loop that watches; only grows */
};

/* The current state, counted, and the revision that it is the state of. */
struct ks_root *ks_cache_take_root(struct ks_cache_resource *r, uint64_t *revision_r);

int ks_cache_resource_init(struct ks_cache_resource *r, struct ks_feed *feed, uint16_t index) __attribute__((warn_unused_result));
/* Nobody reads any more: lets everything go. Then ks_rcu_barrier, then ks_cache_resource_fini. */
void ks_cache_resource_close(struct ks_cache_resource *r);
void ks_cache_resource_fini(struct ks_cache_resource *r);

/* Which resource a key belongs to, and whose object it is; views into the key. NULL: of none of this feed. */
struct ks_cache_resource *ks_feed_resolve(struct ks_feed *feed, struct ks_str key, struct ks_str *ns_r, struct ks_str *name_r);
/* The object of a stored value: parked, or decoded. NULL with a log line when it can't be read; *memory_r when only memory is short. */
struct ks_object *ks_feed_object(struct ks_cache_resource *r, struct ks_str ns, struct ks_str name, const struct ks_store_kv *kv, bool *memory_r);

/* -- applying (apply.c); the applier's thread ---------------------------------------------------------------------- */

/* What a store's event changes. The history and tree take their own references. 0 or -ENOMEM: nothing has changed, try again. */
int ks_apply_put(struct ks_cache_resource *r, struct ks_object *object) __attribute__((warn_unused_result));
int ks_apply_delete(struct ks_cache_resource *r, struct ks_str ns, struct ks_str name, uint64_t revision) __attribute__((warn_unused_result));
/* Shows everything applied since the last call, and that nothing else has happened up to `revision`. */
void ks_apply_publish(struct ks_feed *feed, uint64_t revision);

/* Fills the trees from the store: the state of `revision` (0: now). Returns 0 and the revision read, or enum ks_result with err. */
int ks_feed_load(struct ks_feed *feed, uint64_t revision, uint64_t *revision_r, struct ks_error *err) __attribute__((warn_unused_result));
/* Events were lost: lists again and applies the difference. */
int ks_feed_reload(struct ks_feed *feed, struct ks_error *err) __attribute__((warn_unused_result));

int ks_feed_start(struct ks_feed *feed) __attribute__((warn_unused_result));
void ks_feed_stop(struct ks_feed *feed);

/* -- watching (watcher.c) --------------------------------------------------------------------------------------- */

/* The applier: the resource has new entries. */
void ks_watch_sets_notify(struct ks_cache_resource *r);
void ks_watch_hubs_free(struct ks_cache *cache);

static inline struct ks_str ks_cache_view(struct ks_view v)
{
	return (struct ks_str){v.p, v.n};
}

#endif
