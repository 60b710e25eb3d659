/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the network layer: one TLS connection, and what a protocol on it
 * looks like.
 *
 * Bytes come in as they arrive and are given to the protocol at once. Bytes go out
 * only when a turn ends: the protocol writes what it has into the worker's
 * record buffer, and full records are collected and sent with one system call.
 * What the kernel does not take is kept by the connection, which then produces
 * nothing more until that has gone.
 */
#ifndef KS_NET_CONN_H
#define KS_NET_CONN_H

#include <event2/event_struct.h>
#include <gnutls/gnutls.h>

#include "core/net/h1-parser.h"
#include "core/net/stream.h"
#include "core/net/tls.h"

struct ks_protocol {
	/* 0, or negative: no memory. */
	int (*open)(struct ks_conn *conn);
	/* Negative: the connection ends when what is ready to be sent is sent. */
	int (*input)(struct ks_conn *conn, const void *p, size_t n);
	/* The peer will send nothing more. */
	void (*eof)(struct ks_conn *conn);
	/* Writes with ks_conn_put while ks_conn_may_put. Negative: the connection is lost. */
	int (*output)(struct ks_conn *conn);
	/* Detaches every stream, frees what open made. */
	void (*close)(struct ks_conn *conn);
	void (*drain)(struct ks_conn *conn);
	/* Twice a second. False: it has waited long enough. */
	bool (*tick)(struct ks_conn *conn, uint64_t now_ms);

	/* Of a stream: the answer's head (length: of the body, -1 not known); more was queued, or it was ended; give up; read on. */
	int (*answer)(struct ks_stream *stream, int status, const struct ks_header *headers, size_t n_headers, int64_t length);
	void (*more)(struct ks_stream *stream);
	void (*reset)(struct ks_stream *stream);
	void (*read_body)(struct ks_stream *stream);
};

extern const struct ks_protocol ks_h1, ks_h2;

/* So many events a second, and so many at once. */
struct ks_bucket {
	uint64_t at_ms;
	uint64_t level; /* thousandths of an event */
};
bool ks_bucket_add(struct ks_bucket *bucket, uint64_t now_ms, uint32_t per_second, uint32_t burst);

struct ks_h1_conn {
	struct ks_buf in; /* bytes from `in_off` on are not yet used */
	size_t in_off;
	struct ks_h1_scan scan;
	uint64_t head_since_ms; /* 0: no request has begun */
	struct ks_stream *stream;
	bool has_body;          /* a body is coming, for the stream or to be dropped */
	bool body_chunked;
	uint64_t body_left;     /* when not chunked */
	struct ks_h1_chunks chunks;
	size_t drop_left;       /* most bytes of an unread body to drop for keeping the connection */
	bool wants_continue, send_continue;
	bool http10, keep_alive;
	bool eof;
	struct ks_str farewell; /* answer to what is no request */
};

struct nghttp2_session;

struct ks_h2_conn {
	struct nghttp2_session *session;
	struct ks_stream *incoming; /* its headers are arriving */
	uint64_t head_since_ms;
	bool settings_seen;
	bool calm;                  /* told to calm down: nothing more is taken */
	uint64_t goaway_at_ms;      /* when the final GOAWAY is due; 0: no drain */
	struct ks_bucket resets, control;
};

enum ks_conn_state { KS_CONN_HANDSHAKE, KS_CONN_OPEN, KS_CONN_LINGER, KS_CONN_DEAD };
enum ks_conn_reading { KS_READ_OFF, KS_READ_DATA, KS_READ_CLOSED_ONLY };

struct ks_conn {
	struct ks_worker *worker;
	const struct ks_protocol *protocol; /* NULL before it is open */
	int fd;
	enum ks_conn_state state;
	enum ks_conn_reading reading;
	uint32_t pins;          /* streams that look at address and certificates */
	bool dirty, shaking;    /* in the worker's lists */
	bool finish;            /* close when all output has gone */
	bool half_closed;       /* the peer has shut down its side, seen while not reading */
	bool greeted;           /* its first bytes were seen */
	TAILQ_ENTRY(ks_conn) link, dirty_link, shake_link;
	struct event read_event, write_event;
	gnutls_session_t session;
	struct ks_tls_credentials *credentials;
	/* Bytes from the socket, in the worker's buffer, that GnuTLS has not pulled yet: only while we read. */
	const uint8_t *raw;
	size_t raw_len;
	bool raw_eof;
	/* Bytes for the socket that it did not take. */
	uint8_t *pending;
	size_t pending_off, pending_len, pending_cap;
	size_t put;             /* bytes written in this turn */
	bool failed;            /* output is broken */
	uint64_t since_ms;      /* of the state; of being idle, when open */
	uint64_t sent_ms;       /* last time that the socket took something */
	struct ks_streams streams;
	uint32_t n_streams;
	struct ks_str *peer;
	size_t n_peer;
	char address[64];
	union {
		struct ks_h1_conn h1;
		struct ks_h2_conn h2;
	};
};

TAILQ_HEAD(ks_conns, ks_conn);

/* Takes over the descriptor, on failure too. */
void ks_conn_open(struct ks_worker *worker, int fd, const char *address);
/* One step of a handshake. */
void ks_conn_shake(struct ks_conn *conn);
/* There may be something to send: it is asked at the end of the turn. */
void ks_conn_mark(struct ks_conn *conn);
/* Asks the protocol for output and sends it. */
void ks_conn_flush(struct ks_conn *conn);
void ks_conn_drain(struct ks_conn *conn);
void ks_conn_tick(struct ks_conn *conn, uint64_t now_ms);
/* The end, at once: streams are detached, the rest goes when the turn ends. */
void ks_conn_kill(struct ks_conn *conn, const char *why);
/* The last of a dead one, but for what streams still look at. */
void ks_conn_bury(struct ks_conn *conn);
void ks_conn_unpin(struct ks_conn *conn);

/* Stop or go on reading. */
void ks_conn_read_on(struct ks_conn *conn, bool on);
/* Asks to be told when the socket takes bytes again. */
void ks_conn_arm_write(struct ks_conn *conn);

/* -- output (output.c) ----------------------------------------------------------------------------------------- */

/* Bytes that a connection may put in one turn; the others want theirs too. */
enum { KS_PUT_PER_TURN = 256 * 1024 };

/* All calls of GnuTLS that may send stand between these two. */
void ks_output_begin(struct ks_conn *conn);
void ks_output_end(struct ks_conn *conn);
/* GnuTLS's way out. */
ssize_t ks_output_push(gnutls_transport_ptr_t transport, const giovec_t *vector, int n);
/* Bytes that the socket took (perhaps none); negative: it is broken. */
ssize_t ks_output_send(struct ks_conn *conn, const uint8_t *p, size_t n);
/* What the socket did not take before. */
void ks_output_send_pending(struct ks_conn *conn);

/* For protocols, inside their `output`. */
bool ks_conn_may_put(const struct ks_conn *conn);
void ks_conn_put(struct ks_conn *conn, const void *p, size_t n);

#endif
