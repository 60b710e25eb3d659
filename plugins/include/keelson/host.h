/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * keelson/host.h: what the server does for a plugin.
 *
 * `create` gets a struct ks_host; it stays valid until `destroy` returned. Functions
 * that take `host` may be called from any thread unless said otherwise; functions
 * that take an operation may be called while that operation is the plugin's: from the
 * call until it returned something else than KS_PENDING, or until `complete`.
 */
#ifndef KEELSON_HOST_H
#define KEELSON_HOST_H

#include <keelson/plugin.h>
#include <keelson/value.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ks_host_log_level { KS_HOST_LOG_ERROR, KS_HOST_LOG_WARN, KS_HOST_LOG_INFO, KS_HOST_LOG_DEBUG };

/* Immutable bytes with a count, shared between host and stores without copying. */
struct ks_host_bytes; /* the host's; data and length by bytes_view */

/* -- informers -------------------------------------------------------------------------------------------------- */

enum ks_event_type { KS_EVENT_ADDED = 1, KS_EVENT_MODIFIED = 2, KS_EVENT_DELETED = 3 };

struct ks_informer_event {
	uint32_t size;
	uint32_t type;           /* enum ks_event_type */
	uint64_t revision;
	struct ks_view namespace_, name;
	struct ks_val object;    /* valid during the callback; the last state when DELETED */
};

struct ks_informer_handler {
	uint32_t size;
	/* On the instance's own executor thread, one call at a time, in the order of revisions. May block: only this plugin waits. */
	void (*event)(void *arg, const struct ks_informer_event *event);
	/* Once, when everything that existed at the start has been delivered. */
	void (*synced)(void *arg);
	void *arg;
};
struct ks_informer;

/* -- in-process writes ------------------------------------------------------------------------------------------ */

enum ks_write_verb { KS_WRITE_CREATE = 1, KS_WRITE_UPDATE, KS_WRITE_PATCH_JSON, KS_WRITE_PATCH_MERGE, KS_WRITE_DELETE };

struct ks_write {
	uint32_t size;
	uint32_t verb;           /* enum ks_write_verb */
	struct ks_view group, version, resource, subresource; /* subresource may be empty */
	struct ks_view namespace_, name;
	struct ks_view body;     /* JSON; copied */
	struct ks_op *parent;    /* the operation that leads to this write: deadline and nesting are inherited. NULL: none, 60 s */
	/* Exactly once, on the instance's executor thread. `code` is the HTTP status; `body` the object or Status as JSON, valid during the call. */
	void (*done)(void *arg, int code, struct ks_view body);
	void *arg;
};

/* -- metrics ---------------------------------------------------------------------------------------------------- */

enum ks_metric_type { KS_METRIC_COUNTER = 1, KS_METRIC_GAUGE = 2 };
struct ks_metric;

/* -- the table -------------------------------------------------------------------------------------------------- */

struct ks_host {
	uint32_t size;
	uint16_t abi_major, abi_minor;
	const char *instance;    /* name of the instance, for messages */
	void *context;           /* the host's own */

	/* One line; the plugin's name is put before it. Never a secret. */
	void (*log)(const struct ks_host *host, int level, const char *format, ...)
#if defined(__GNUC__)
		__attribute__((format(printf, 3, 4)))
#endif
		;

	/* Memory of the operation: freed with it. NULL when out of memory. */
	void *(*op_alloc)(struct ks_op *op, size_t size);
	/* Zeroed memory of the interface's scratch_size. */
	void *(*op_scratch)(struct ks_op *op);
	/* CLOCK_MONOTONIC nanoseconds after which nobody waits for the answer any more. */
	uint64_t (*op_deadline_ns)(const struct ks_op *op);
	/* Has the client gone or the deadline passed? A hint: the answer must still be given. */
	int (*op_cancelled)(const struct ks_op *op);
	const char *(*op_audit_id)(const struct ks_op *op);
	/* Index of the calling worker, for per-worker state; UINT32_MAX on other threads. */
	uint32_t (*op_worker)(const struct ks_op *op);
	/* Words for a negative result; logged with the audit id, and in the 500's message. Returns KS_ERR. */
	int (*op_error)(struct ks_op *op, const char *format, ...)
#if defined(__GNUC__)
		__attribute__((format(printf, 2, 3)))
#endif
		;
	/* Ends a pending operation with a result of enum ks_result (not KS_PENDING). Exactly once, any thread. The operation is dead afterwards. */
	void (*complete)(struct ks_op *op, int result);

	/* Values: see keelson/value.h. */
	const struct ks_value_ops *values;

	/* Bytes. `bytes_new` has one reference and memory to be written through bytes_data before it is shared. */
	struct ks_host_bytes *(*bytes_new)(size_t n);
	void *(*bytes_data)(struct ks_host_bytes *bytes);
	struct ks_view (*bytes_view)(const struct ks_host_bytes *bytes);
	struct ks_host_bytes *(*bytes_ref)(struct ks_host_bytes *bytes);
	void (*bytes_unref)(struct ks_host_bytes *bytes);

	/* Runs `fire(arg)` once on the instance's executor thread after `milliseconds`. From `start` on. KS_DONE or KS_ERR_NOMEM. Timers that have
	 * not fired at `stop` never do. */
	int (*timer)(const struct ks_host *host, uint64_t milliseconds, void (*fire)(void *arg), void *arg);

	/* Follows a resource: list, then changes. In `create` or `start`. `version` empty: the preferred one. The informer ends with the instance.
	 * The server is ready only when all informers of all plugins have synced. NULL when there is no such resource or memory. */
	struct ks_informer *(*informer)(const struct ks_host *host, struct ks_view group, struct ks_view version, struct ks_view resource,
		const struct ks_informer_handler *handler);
	/* 1 when `synced` was delivered. */
	int (*informer_synced)(const struct ks_informer *informer);

	/* An object out of the server's cache, at once: 1 found, 0 not there, negative. `object` lives as long as the operation. */
	int (*cached_get)(struct ks_op *op, struct ks_view group, struct ks_view version, struct ks_view resource, struct ks_view namespace_,
		struct ks_view name, struct ks_val *object);

	/* A write through the whole pipeline (authentication excepted) as user system:keelson:plugin:NAME in group system:masters, exempt from
	 * flow control. From `start` on; what is written before the server listens waits for it. At most 4 writes deep: a write that leads to a
	 * write that leads to ... is refused with KS_ERR_LIMIT. KS_PENDING: `done` will be called, unless the instance stops before. */
	int (*write)(const struct ks_host *host, const struct ks_write *write);

	/* A metric that /metrics shows as keelson_plugin_PLUGIN_NAME with the label instance. In `create` or `start`. Names: [a-z_]+. NULL when
	 * out of memory, or when the name is taken by another type. */
	struct ks_metric *(*metric)(const struct ks_host *host, int type, const char *name, const char *help);
	/* Adds to a counter, sets a gauge. */
	void (*metric_add)(struct ks_metric *metric, double value);
	void (*metric_set)(struct ks_metric *metric, double value);

	/* 1 when equal; time depends on the length alone. */
	int (*equal_constant_time)(const void *a, const void *b, size_t n);
	/* Overwrites a secret so that the compiler can't leave it out. */
	void (*wipe)(void *p, size_t n);

	/* An instance that has something to finish before the server may be ready says 0 in `create` or `start`, and 1 when it is done. Any
	 * thread. */
	void (*set_ready)(const struct ks_host *host, int ready);

	/* The objects of one namespace (empty: all there are) out of one state of the server's cache, in the order of namespace and name. `emit` gets each;
	 * `object` is valid during the call. Not 0: enough. KS_DONE or negative. A call reads a few; what reads many keeps an informer. */
	int (*cached_list)(struct ks_op *op, struct ks_view group, struct ks_view version, struct ks_view resource, struct ks_view namespace_,
		int (*emit)(void *arg, struct ks_val object), void *arg);
};

#ifdef __cplusplus
}
#endif

#endif
