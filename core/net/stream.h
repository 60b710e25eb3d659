/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Inside of the network layer: a stream, seen from the protocols below it. */
#ifndef KS_NET_STREAM_H
#define KS_NET_STREAM_H

#include <sys/queue.h>

#include "core/net/http.h"
#include "core/util/arena.h"

struct ks_conn;
struct ks_worker;

/* What the user is to be told, in this order. */
enum { KS_NOTE_REQUEST = 1, KS_NOTE_BODY = 2, KS_NOTE_DRAINED = 4, KS_NOTE_CLOSED = 8 };

enum ks_body_state {
	KS_BODY_UNREAD,  /* nobody asked for it */
	KS_BODY_READING,
	KS_BODY_READ,    /* `body_code` was or will be told; what still comes is dropped */
};

enum { KS_INLINE_PIECES = 4 };

struct ks_stream {
	struct ks_http_request request;
	struct ks_worker *worker;
	struct ks_conn *conn;   /* NULL once the protocol has let go of it */
	struct ks_conn *origin; /* keeps address and certificates */
	TAILQ_ENTRY(ks_stream) conn_link;
	STAILQ_ENTRY(ks_stream) note_link;
	uint32_t refs;          /* the network's own until closed() has returned, and the user's */
	uint8_t notes;
	bool noted;             /* in the worker's list */
	bool delivered;         /* `request` was called */
	bool is_head;
	bool answered;          /* respond or begin was called */
	bool streamed;          /* it was begin */
	bool ended;             /* nothing will be added */
	bool body_ended;        /* the request's body has come whole */
	bool refused;           /* never shown to the user */
	bool deferred;          /* HTTP/2: its DATA waits for us */
	void *data;
	struct ks_arena arena;

	struct ks_header *headers; /* grows while they arrive; request.headers at the end */
	size_t n_headers, max_headers;
	size_t header_bytes;

	enum ks_body_state body_state;
	int body_code;
	size_t body_limit;
	struct ks_buf body;
	size_t unconsumed;      /* HTTP/2: bytes not given back to the sender's window */
	void (*body_done)(struct ks_stream *stream, int code, struct ks_str body);

	struct ks_piece inline_pieces[KS_INLINE_PIECES];
	struct ks_piece *pieces; /* a queue: first_piece .. n_pieces */
	size_t first_piece, n_pieces, max_pieces;
	size_t piece_sent;       /* of the first */
	size_t queued;           /* bytes in all pieces */
	size_t drained_below;
	void (*drained)(struct ks_stream *stream);

	int32_t id;              /* HTTP/2 */
	bool end_sent;           /* HTTP/2: the answer is out, but the body was not in */
	size_t dropped;          /* HTTP/2: bytes of the body since then */
	struct ks_str head;      /* HTTP/1: what is to be sent before the body */
	bool chunked;            /* HTTP/1: the answer is */
	uint64_t progress_ms;    /* last byte in either direction */
};

TAILQ_HEAD(ks_streams, ks_stream);

/* A new stream of the connection, in its list. NULL when out of memory. */
struct ks_stream *ks_stream_new(struct ks_conn *conn) __attribute__((warn_unused_result));
/* Room for the headers of a request that are known to be so many. NULL when out of memory. */
struct ks_header *ks_stream_reserve_headers(struct ks_stream *stream, size_t n) __attribute__((warn_unused_result));
/* One more header (views are kept as they are). False when out of memory. */
bool ks_stream_add_header(struct ks_stream *stream, struct ks_str name, struct ks_str value) __attribute__((warn_unused_result));
/* Headers and target are in: fills in what follows from them and tells the user, unless it is refused. */
void ks_stream_head_done(struct ks_stream *stream, struct ks_str target);

/* Bytes of the body; false when the stream wants no more of it (too large, nobody reads). */
bool ks_stream_body_data(struct ks_stream *stream, const void *p, size_t n);
void ks_stream_body_end(struct ks_stream *stream);
/* The body can't be had: tells a reader `code`. */
void ks_stream_body_fail(struct ks_stream *stream, int code);

/* Copies the first `n` queued bytes into the connection's output and drops what is sent. */
void ks_stream_take(struct ks_stream *stream, size_t n);
/* The protocol lets go: no more calls of it, the user will be told. */
void ks_stream_detach(struct ks_stream *stream);

/* Calls the user's callbacks that are due. */
void ks_stream_deliver(struct ks_stream *stream);

#endif
