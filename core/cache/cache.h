/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache: every object of every stored resource as bytes that are ready to be
 * sent, in an ordered tree per resource, with a history for watchers.
 *
 * One applier thread per store takes its events in the order of revisions and is the only
 * writer of trees and histories. Readers take no lock: they get a frozen root, or
 * a reference to an object, under RCU.
 *
 * A resource here is a *storage* resource (ks_resource.storage): all served versions of it share one entry.
 */
#ifndef KS_CACHE_CACHE_H
#define KS_CACHE_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/api/schema.h"
#include "core/api/selector.h"
#include "core/api/value.h"
#include "core/store/store.h"
#include "core/util/buf.h"
#include "core/util/loop.h"

struct ks_cache;
struct ks_cache_resource;

/* -- objects --------------------------------------------------------------------------------------------------- */

/* One version of one object; immutable but for representations that are made on first use; shared by count. */
struct ks_object {
	_Atomic uint32_t refs;
	uint16_t resource; /* storage resource, index into the schema */
	uint16_t n_labels, n_fields;
	uint64_t revision; /* its own: metadata.resourceVersion */
	uint64_t create_revision;
	uint64_t lease_until_ms;
	struct ks_str ns, name, uid;
	const struct ks_label *labels; /* sorted by key */
	const struct ks_str *fields; /* values of the resource's selectable fields, in the order of the tables; "" when absent */
	/* The stored form: JSON of the storage version without metadata.resourceVersion; `"resourceVersion":"N"` goes to rv_at (see
	 * ks_json_encode_object). */
	struct ks_bytes *json;
	uint32_t rv_at;
	bool rv_comma;
	void *_Atomic private_; /* further representations */
	/* the tree's: at which version of the resource it came in; a link among what is waiting to be freed */
	uint64_t born;
	struct ks_object *garbage;
};

/* From a finished tree (the write path): encodes it. `revision` may be 0 and set by the applier when the commit is known.
 * NULL when out of memory. */
struct ks_object *ks_object_from_tree(const struct ks_schema *schema, uint16_t resource, const struct ks_value *root);
/* From stored bytes (foreign events, start): reads the indexed parts. Takes a reference to `json`. NULL with err: memory, or it can't be read. */
struct ks_object *ks_object_from_json(const struct ks_schema *schema, uint16_t resource, struct ks_bytes *json, struct ks_error *err);
struct ks_object *ks_object_ref(struct ks_object *object);
void ks_object_unref(struct ks_object *object); /* NULL is safe */

/* The bytes of the object as served version `resource` (an index whose storage is the object's): `bytes` with the place for the revision.
 * The storage version's own are at once there; others are converted on first use and kept. Reference is the object's. 0 or negative. */
struct ks_representation {
	struct ks_bytes *bytes;
	uint32_t rv_at;
	bool rv_comma;
};
int ks_object_representation(struct ks_object *object, const struct ks_schema *schema, uint16_t resource, struct ks_representation *out_r);
/* The same in protobuf, made on first use and kept: what is in the metadata message without resourceVersion (`meta_n` bytes; the field goes to
 * `rv_at` in them), and behind it the rest of the object's message. -EINVAL when the kind has no such form. */
struct ks_proto_representation {
	struct ks_bytes *bytes;
	uint32_t meta_n, rv_at;
};
int ks_object_proto(struct ks_object *object, const struct ks_schema *schema, uint16_t resource, struct ks_proto_representation *out_r)
	__attribute__((warn_unused_result));
/* The same in CBOR: the pairs of metadata without resourceVersion (`meta_n` bytes), and behind them the object's other pairs without apiVersion and
 * kind. */
struct ks_cbor_representation {
	struct ks_bytes *bytes;
	uint32_t meta_n;
	uint32_t n_meta, n_rest; /* pairs */
};
int ks_object_cbor(struct ks_object *object, const struct ks_schema *schema, uint16_t resource, struct ks_cbor_representation *out_r)
	__attribute__((warn_unused_result));
/* Decodes the object (storage version) into a tree, resourceVersion set. Texts may point into the object's bytes: hold a reference. */
int ks_object_tree(const struct ks_object *object, const struct ks_schema *schema, struct ks_arena *arena, struct ks_value *out_r);
/* Converter between served versions of a group, set once at start by the registry. Default: only apiVersion and kind differ. */
typedef int (*ks_object_converter)(
	struct ks_arena *arena, const struct ks_schema *schema, uint16_t from_resource, uint16_t to_resource, struct ks_value *root);
void ks_object_set_converter(ks_object_converter convert);

/* -- life ------------------------------------------------------------------------------------------------------ */

struct ks_cache_config {
	uint32_t history_events; /* most events kept per resource; 0: 4096 */
	uint64_t history_bytes; /* 0: 16 MiB per resource */
	uint64_t replay_events; /* most revisions of a store's log read at start, so that watches resume over a restart; 0: 16384 */
};

/* Lists every resource of the schema from its store, then follows the store's watch: starts one applier thread a store. Returns when all are
 * loaded and have caught up with what their stores had at the start. */
int ks_cache_start(const struct ks_schema *schema, struct ks_router *router, const struct ks_cache_config *config, struct ks_cache **out_r,
	struct ks_error *err) __attribute__((warn_unused_result));
/* Loops that watched have ended; objects may outlive the cache, snapshots and watchers may not. */
void ks_cache_stop(struct ks_cache **cache);
/* Optional around the life of a thread that reads; any thread may read. */
void ks_cache_thread_enter(void);
void ks_cache_thread_leave(void);
/* A store's events can't be followed now (its watch is lost and could not be resumed yet): 0 means all is well. For /readyz. */
int ks_cache_health(const struct ks_cache *cache, const char **store_name_r);

/* NULL when that resource isn't stored. `resource`: any index whose storage it is. */
struct ks_cache_resource *ks_cache_find(struct ks_cache *cache, uint16_t resource);
/* Revision up to which the resource's tree is complete (advances with its store, also when the resource is quiet). */
uint64_t ks_cache_revision(const struct ks_cache_resource *r);
uint64_t ks_cache_count(const struct ks_cache_resource *r);
/* Bytes of the objects' JSON. */
uint64_t ks_cache_bytes(const struct ks_cache_resource *r);

/* -- reads ----------------------------------------------------------------------------------------------------- */

/* A reference, or NULL. */
struct ks_object *ks_cache_get(struct ks_cache_resource *r, struct ks_str ns, struct ks_str name);

/* A frozen view of the whole resource. O(1) to take; holds memory of that state until released. Any thread may release. */
struct ks_snapshot {
	void *root;
	uint64_t revision;
	uint64_t count;
	struct ks_cache_resource *resource;
};
void ks_cache_snapshot(struct ks_cache_resource *r, struct ks_snapshot *out_r);
/* The state at exactly `revision`: 0; -ENOENT: too old, or far back (read from the store); -EAGAIN: not reached yet. */
int ks_cache_snapshot_at(struct ks_cache_resource *r, uint64_t revision, struct ks_snapshot *out_r);
void ks_snapshot_release(struct ks_snapshot *snapshot);
/* Objects in key order (namespace, name), of one namespace (`ns` empty: all), beginning at the key `start` = "ns/name" or "name" inclusive (empty:
 * first). Objects are borrowed from the snapshot. */
struct ks_cursor {
	const void *stack[16];
	uint16_t at[16];
	int depth;
	struct ks_str ns;
	bool single_namespace;
};
void ks_cursor_init(struct ks_cursor *cursor, const struct ks_snapshot *snapshot, struct ks_str ns, struct ks_str start);
struct ks_object *ks_cursor_next(struct ks_cursor *cursor); /* NULL: the end */
/* How many more it would give; found in the tree's counts, without a walk. */
uint64_t ks_cursor_left(const struct ks_cursor *cursor);

/* Posts `task` to `loop` once the resource has reached `revision` (at once if it has). Cancelled with ks_cache_unwait: true when the task will not
 * run. */
struct ks_cache_wait {
	struct ks_task task;
	struct ks_loop *loop;
	uint64_t revision;
	struct ks_cache_wait *next;
	struct ks_cache_resource *resource;
	bool queued;
};
void ks_cache_wait_for(struct ks_cache_resource *r, struct ks_cache_wait *wait);
bool ks_cache_unwait(struct ks_cache_wait *wait);

/* -- the write path -------------------------------------------------------------------------------------------- */

/* Parks the finished object of a write that is on its way, by key; when the store's event with the same bytes comes by, the applier adopts it
 * instead of decoding, and sets its revision, create_revision and lease: until the write is committed and applied nobody else may read those.
 * Unparked when the write failed. */
void ks_cache_park(struct ks_cache_resource *r, struct ks_object *object);
void ks_cache_unpark(struct ks_cache_resource *r, struct ks_object *object);

/* -- watches --------------------------------------------------------------------------------------------------- */

enum ks_watch_event_type { KS_WATCH_ADDED = 1, KS_WATCH_MODIFIED, KS_WATCH_DELETED };

/* What a watcher is told. For DELETED (also: it no longer matches the selector) the object is the last one that matched and
 * `revision` that of the event, which stands in its resourceVersion. */
struct ks_watch_event {
	int type;
	struct ks_object *object;
	uint64_t revision;
};

/* A cursor into a resource's history; lives on one loop. Memory does not grow with what it hasn't read. */
struct ks_watcher;
struct ks_watch_filter {
	struct ks_str ns, name; /* empty: any */
	const struct ks_selector *labels; /* copied */
	const struct ks_field_requirement *fields; /* paths are resolved to indexes here; copied */
	uint32_t n_fields;
};
/* Events with revision > `after`; on the loop's thread (or while it doesn't run). `wake` runs on the loop when there may be events again after next()
 * said there are none; once per batch; not for progress alone (ks_watcher_revision tells at any time). It may free any watcher.
 * -ENOENT: `after` is older than the history (410 Expired); -EINVAL: a field that the resource can't be selected by. */
int ks_watcher_new(struct ks_cache_resource *r, struct ks_loop *loop, uint64_t after, const struct ks_watch_filter *filter,
	void (*wake)(struct ks_watcher *watcher, void *arg), void *arg, struct ks_watcher **out_r) __attribute__((warn_unused_result));
/* 1: an event (its object is a reference for the caller); 0: none now, wake will be called; -ENOENT: it fell behind the history. */
int ks_watcher_next(struct ks_watcher *watcher, struct ks_watch_event *event_r);
/* Revision up to which it has seen everything: for bookmarks. */
uint64_t ks_watcher_revision(const struct ks_watcher *watcher);
void ks_watcher_free(struct ks_watcher **watcher);
/* Does an object pass the filter? (lists use the same). */
bool ks_watch_filter_match(const struct ks_schema *schema, const struct ks_watch_filter *filter, const struct ks_object *object);
/* Index of a selectable field path of the resource; -1 metadata.name, -2 metadata.namespace; -3: not supported. */
int ks_cache_field_index(const struct ks_schema *schema, uint16_t resource, struct ks_str path);

#endif
