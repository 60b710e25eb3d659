/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * One request on its way through the chain.
 *
 * A request is a state machine: its stages are called in order until one answers
 * KS_STAGE_PENDING; whatever it waits for calls ks_request_resume on the request's
 * own worker, and the same stage is called again. It lives and dies on that worker.
 *
 * Requests come from a stream, or from inside the server (no stream: the answer goes
 * to a callback). Handlers use the functions here for both and need not know which.
 *
 * End of a request: when it has been answered whole and the stream is over, or the
 * stream died, and no pin is left, its ks_request_end callbacks run and the memory
 * goes. A stage is never called again once the request was answered (the deadline does
 * that, too) or its stream died, so what must be given back belongs in ks_request_on_end,
 * and what must go on (a write that was begun) in the callback of what it waits for.
 */
#ifndef KS_PIPELINE_REQUEST_H
#define KS_PIPELINE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/api/schema.h"
#include "core/api/selector.h"
#include "core/api/status.h"
#include "core/api/value.h"
#include "core/config/features.h"
#include "core/net/http.h"
#include "core/pipeline/negotiate.h"
#include "core/pipeline/query.h"
#include "core/util/arena.h"
#include "core/util/loop.h"

struct ks_request;
struct ks_server_state; /* core/pipeline/server.h: what all requests share */
struct ks_chain;        /* core/pipeline/chain.h: what was made of one set of plugins */
struct ks_plugin_set;   /* plugins/host/host.h */
struct ks_lane;         /* core/pipeline/lane.h: what the requests of one worker share */
struct ks_inner;        /* core/pipeline/inner.h: of requests from inside */
struct ks_op;           /* plugins/host/op.h */

enum ks_stage_result {
	KS_STAGE_NEXT,     /* go on with the next stage */
	KS_STAGE_PENDING,  /* ks_request_resume will be called */
	KS_STAGE_ANSWERED, /* an answer was given or begun; the chain ends here */
	KS_STAGE_FAILED,   /* request->status says what to answer */
};

/* What is asked for, in Kubernetes' words (k8s.io/apiserver/pkg/endpoints/request.RequestInfo). */
struct ks_request_info {
	bool is_resource;
	bool watch_prefix;        /* the deprecated /api/v1/watch/... */
	bool name_from_selector;  /* name comes from fieldSelector=metadata.name=, the path is a collection's */
	struct ks_str verb;      /* get list watch create update patch delete deletecollection; lower-case method of non-resource paths */
	struct ks_str path;      /* decoded */
	struct ks_str api_prefix; /* "api", "apis" */
	struct ks_str group, version, ns, resource, subresource, name;
	struct ks_str rest;      /* what follows the subresource, with its slash (proxies) */
	uint16_t n_parts;        /* resource, name, subresource, more */
	uint16_t resource_index; /* of resource (or resource/subresource) in the schema; KS_NO_RESOURCE when not served */
};

struct ks_user_info {
	struct ks_str name, uid;
	struct ks_str *groups;
	size_t n_groups;
	struct ks_user_extra { struct ks_str key; struct ks_str *values; size_t n_values; } *extra;
	size_t n_extra;
};

/* Embedded in whatever has to be given back when the request ends. */
struct ks_request_end {
	struct ks_request_end *next;
	void (*run)(struct ks_request_end *end);
};

enum { KS_AUDIT_ID_MOST = 64 };

struct ks_request {
	struct ks_server_state *server;
	struct ks_lane *lane;
	struct ks_loop *loop;
	struct ks_stream *stream;        /* NULL: from inside, or the client has gone */
	struct ks_plugin_set *set;       /* a reference; NULL once a long-running answer has begun */
	const struct ks_chain *chain;    /* of `set` */
	struct ks_arena arena;
	struct ks_str method;            /* "GET" */
	struct ks_str target, raw_path, raw_query; /* as sent */
	size_t stage;                    /* index of the stage that runs */
	uint64_t received_ns, deadline_ns; /* CLOCK_MONOTONIC; deadline 0: long running */
	char audit_id[KS_AUDIT_ID_MOST + 1];
	uint32_t pins;                   /* operations under way that can still touch this memory */
	bool answered;                   /* an answer was given or begun */
	bool streaming;                  /* by ks_request_begin_stream */
	bool closed;                     /* the stream is gone (or the inner answer was given); the memory goes when pins is 0 */
	bool long_running;               /* watch, proxy, exec, log?follow: no deadline */
	bool dry_run;                    /* set by the handler */

	struct ks_request_info info;
	struct ks_query query;           /* filled on first use: ks_request_query */
	struct ks_media media;           /* what the client wants: ks_request_negotiate */
	struct ks_user_info user;
	struct ks_str body;              /* after ks_request_need_body */
	struct ks_status status;         /* of a refusal */
	const char *allow;               /* of a 405: the Allow header; NULL: none */
	struct ks_str *warnings;         /* Warning: 299 */
	uint32_t n_warnings;
	const char *metric_path;         /* of a non-resource route, as metrics call it; NULL: a resource's */

	struct ks_op *op;                /* the plugin call that is pending: it is told when nobody waits any more; NULL: none */
	void *stage_data;                /* private to the stage that is pending */
	void *handler_data;              /* private to the handler */
	/* The server is about to end: a long-running handler that needs to say something first sets this; it must end the stream. NULL: it is ended. */
	void (*drain)(struct ks_request *request);
	uint16_t write_depth;            /* 0: a client's; more: from a plugin's write */

	/* private to core/pipeline */
	struct ks_inner *inner;          /* NULL: from a stream */
	struct ks_copy *copy;            /* of a copy that another thread works with: offload.h; NULL: it is the request itself */
	struct ks_gzip_answer *gzip_answer; /* that is being written */
	struct ks_timer deadline_timer;
	struct ks_task resume_task;
	struct ks_request_end *ends;
	struct ks_request *next, *prev;  /* in the worker's list */
	uint64_t stage_ns;               /* when the stage began */
	void *metrics_entry;
	size_t warned;                   /* runes of warnings so far */
	int body_state, body_code;
	uint16_t code;                   /* answered with */
	bool rendering;                  /* the answer is being made on another thread */
	bool resume_posted, timer_started, listed, in_run, warnings_cut, counted, counted_read, drained;
};

/* -- what was sent ---------------------------------------------------------------------------------------------- */

/* First value of a query parameter, decoded; p NULL when absent ("" when it has no value). */
struct ks_str ks_request_query(struct ks_request *request, const char *key);
/* First header of that (lower-case) name; p NULL when absent. */
struct ks_str ks_request_header(struct ks_request *request, const char *name);
/* The whole body: KS_STAGE_NEXT when request->body is there (empty when none was sent), KS_STAGE_PENDING when it is still coming (return that: the
 * stage is called again), KS_STAGE_FAILED when it was too large (status is set). */
enum ks_stage_result ks_request_need_body(struct ks_request *request);
/* Chooses the answer's form from Accept (see negotiate.h) into request->media. 0, or the code that was set in request->status. */
int ks_request_negotiate(struct ks_request *request, unsigned allowed) __attribute__((warn_unused_result));
/* The form of the body, by Content-Type. 0, or 415 set in `status`. */
int ks_request_negotiate_body(struct ks_request *request, enum ks_media_format *format_r) __attribute__((warn_unused_result));
/* Is the feature's gate open? */
bool ks_request_has_feature(const struct ks_request *request, enum ks_feature feature);

/* -- life ------------------------------------------------------------------------------------------------------- */

/* Continue with the stage that answered KS_STAGE_PENDING. On the request's worker. Posted: never re-entrant; nothing happens when the request has
 * been answered or its stream is gone. */
void ks_request_resume(struct ks_request *request);
/* Something under way can touch the request: it stays until unpinned, whatever happens to its client. */
void ks_request_pin(struct ks_request *request);
void ks_request_unpin(struct ks_request *request); /* may free the request */
/* `end->run` is called when the request ends, last registered first. */
void ks_request_on_end(struct ks_request *request, struct ks_request_end *end, void (*run)(struct ks_request_end *end));
/* It needs not be called any more. Nothing happens when it isn't registered. */
void ks_request_off_end(struct ks_request *request, struct ks_request_end *end);
/* Nobody waits for the answer any more: it was given (the deadline has passed), or the client is gone. */
static inline bool ks_request_over(const struct ks_request *request) { return request->answered || request->closed; }

/* -- answers (once) --------------------------------------------------------------------------------------------- */

/* A warning header; duplicates are dropped, total size is bounded as upstream does. Only before the answer. */
void ks_request_warn(struct ks_request *request, struct ks_str text);
/* A whole answer. Takes over the pieces. Adds audit-id, cache-control, warnings; records metrics. Nothing is sent when the request is over. */
void ks_request_respond(struct ks_request *request, int code, const char *content_type, const struct ks_header *headers, size_t n_headers,
	const struct ks_piece *pieces, size_t n_pieces);
/* A buffer that is taken over (buf is emptied). */
void ks_request_respond_buf(struct ks_request *request, int code, const char *content_type, struct ks_buf *buf);
/* JSON of an object, sent in the form that was negotiated (request->media): as it is, indented, or as YAML. Takes over the pieces. */
void ks_request_respond_object(struct ks_request *request, int code, const struct ks_header *headers, size_t n_headers,
	const struct ks_piece *pieces, size_t n_pieces);
/* Bytes that are in the negotiated form already; long ones are compressed for clients that accept gzip. Takes over the pieces. */
void ks_request_respond_formed(struct ks_request *request, int code, const struct ks_header *headers, size_t n_headers,
	const struct ks_piece *pieces, size_t n_pieces);
/* Is an answer of so many bytes (and more) to be compressed? */
bool ks_request_compresses(const struct ks_request *request, size_t bytes);
/* ks_request_respond_object of a buffer that is taken over. */
void ks_request_respond_json(struct ks_request *request, int code, struct ks_buf *buf);
/* request->status as a metav1.Status, in a form that the client accepts. */
void ks_request_respond_status(struct ks_request *request);
/* Plain text: "404 page not found" and the like. */
void ks_request_respond_text(struct ks_request *request, int code, const char *text);
/* A streamed answer: headers go out; afterwards ks_stream_write on request->stream. A long-running one lets its plugins go, and is in the worker's list
 * for ks_pipeline_end_watches. 0, or negative: the stream is reset. Not for inner requests (-EOPNOTSUPP). */
int ks_request_begin_stream(struct ks_request *request, int code, const char *content_type, const struct ks_header *headers, size_t n_headers)
	__attribute__((warn_unused_result));
/* A long-running handler that keeps nothing in the arena gives it back: afterwards only info.resource_index, loop, stream and
 * handler_data may be used. */
void ks_request_trim(struct ks_request *request);

#endif
