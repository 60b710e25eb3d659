/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP as the pipeline sees it: one stream is one request and its answer, over
 * HTTP/1.1 or HTTP/2, always over TLS.
 *
 * A stream lives on one worker; all calls are made on that worker's thread. Calls
 * never run the caller's callbacks before they return.
 */
#ifndef KS_NET_HTTP_H
#define KS_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/util/buf.h"
#include "core/util/error.h"
#include "core/util/loop.h"
#include "core/util/str.h"

struct ks_stream;
struct ks_server;

struct ks_header {
	struct ks_str name;  /* lower case */
	struct ks_str value;
};

/* What came in. Views are valid until the stream is gone. */
struct ks_http_request {
	struct ks_str method; /* "GET" */
	struct ks_str target; /* as sent: path?query, still percent-encoded */
	struct ks_str path;   /* percent-encoded, without the query */
	struct ks_str query;  /* without '?', "" when none */
	struct ks_str authority;
	const struct ks_header *headers; /* in order of arrival; pseudo headers are not among them */
	size_t n_headers;
	bool http2;
	int64_t content_length; /* -1 when not said */
	bool has_body;
	/* The peer's certificates in DER, leaf first, when it presented any. Not verified by the network layer: an authenticator does. */
	const struct ks_str *peer_certificates;
	size_t n_peer_certificates;
	const char *remote_address; /* "192.0.2.1:4711", "[2001:db8::1]:4711" */
};

/* Bytes to send. `release(owner)` is called on the worker's thread when they are no longer needed (sent, or the stream died), at the earliest
 * inside the call that took them over; it must not call back into the stream. NULL: static memory. */
struct ks_piece {
	const void *data;
	size_t len;
	void (*release)(void *owner);
	void *owner;
};

struct ks_http_callbacks {
	/* Headers are complete; the body has not been read. Must lead to an answer, at once or later. */
	void (*request)(struct ks_stream *stream, void *arg);
	/* The stream is over (answered whole, reset by the peer, connection lost). Called exactly once for each stream that `request` was called for,
	 * the last thing the network says of it; afterwards the pointer is dead. */
	void (*closed)(struct ks_stream *stream, void *arg);
	void *arg;
};

const struct ks_http_request *ks_stream_request(const struct ks_stream *stream);
/* First header of that (lower-case) name; n 0 and p NULL when absent. */
struct ks_str ks_stream_header(const struct ks_stream *stream, const char *name);
struct ks_loop *ks_stream_loop(const struct ks_stream *stream);
/* One pointer of the user's. */
void ks_stream_set_data(struct ks_stream *stream, void *data);
void *ks_stream_data(const struct ks_stream *stream);

/* Keeps the memory of the stream (request, headers, body) beyond closed(), for work under way that reads it. After closed() only the views
 * may be used, and ks_stream_request, ks_stream_header, ks_stream_loop, ks_stream_data; the other calls do nothing. */
void ks_stream_ref(struct ks_stream *stream);
void ks_stream_unref(struct ks_stream *stream);

/* Reads the whole body, at most `limit` bytes; `done` gets it once, posted, unless an answer is out or closed() comes before: code 0 and bytes that live as long as the stream;
 * 413 when it is larger, 400 when it is malformed (chunks of HTTP/1.1); a lost connection is never reported here (closed() is).
 * Once per stream. A client that waits for "100 Continue" gets it now. */
void ks_stream_read_body(struct ks_stream *stream, size_t limit, void (*done)(struct ks_stream *stream, int code, struct ks_str body));

/* A whole answer: status, headers (content-length and date are added) and body pieces. Takes over the pieces, on failure too.
 * For a HEAD request the body is not sent. Headers are copied, their names are in lower case. One answer per stream (-EALREADY).
 * -ENOMEM resets the stream; -ECONNRESET: it is gone already, closed() is under way. */
int ks_stream_respond(struct ks_stream *stream, int status, const struct ks_header *headers, size_t n_headers, const struct ks_piece *pieces,
	size_t n_pieces);

/* A streamed answer (watch, log): begin, any number of writes, end. Without content-length: chunked in HTTP/1.1, until the end of the connection
 * in HTTP/1.0. A client that shuts down its side of an HTTP/1.x connection loses a streamed answer (closed() comes), a whole one it still gets. */
int ks_stream_begin(struct ks_stream *stream, int status, const struct ks_header *headers, size_t n_headers);
/* Takes over the pieces. Flushed without delay at the end of the loop's turn. */
int ks_stream_write(struct ks_stream *stream, const struct ks_piece *pieces, size_t n_pieces);
void ks_stream_end(struct ks_stream *stream);
/* Gives the memory of the request's head back: its views are dead from now on, ks_stream_request is empty. For streamed answers that last. */
void ks_stream_trim(struct ks_stream *stream);
/* Bytes taken over and not yet handed to TLS. A watcher writes only while this is small. */
size_t ks_stream_queued(const struct ks_stream *stream);
/* Called once, posted, when ks_stream_queued has fallen to `below` or less (or is there already). One at a time: a second call replaces the first. */
void ks_stream_on_drained(struct ks_stream *stream, size_t below, void (*drained)(struct ks_stream *stream));
/* Gives up: RST_STREAM or a closed connection. closed() follows later. */
void ks_stream_reset(struct ks_stream *stream);

/* -- the server ------------------------------------------------------------------------------------------------ */

struct ks_server_config {
	const char *bind_address; /* "127.0.0.1", "0.0.0.0", "::" */
	uint16_t port;            /* 0: any free one; ks_server_port tells */
	uint32_t n_workers;       /* 0: one per core */
	const char *certificate_file, *key_file; /* PEM */
	const char *client_ca_file; /* names offered in the certificate request; NULL: none named, certificates asked for all the same */
	uint32_t header_limit_bytes;      /* of one request; 0: 1 MiB as Go's default */
	uint32_t idle_timeout_seconds;    /* 0: 90 */
	uint32_t handshake_timeout_seconds; /* 0: 10 */
	uint32_t header_timeout_seconds;    /* from the first byte of a request to the end of its headers; 0: 32 */
	uint32_t body_timeout_seconds;      /* without a byte of a body that is being read; 0: 30 */
	uint32_t write_timeout_seconds;     /* without progress of a whole answer that the client does not take; 0: 120 */
	uint32_t max_streams;             /* concurrent, per HTTP/2 connection; 0: 250 */
	uint32_t max_connections;         /* 0: by RLIMIT_NOFILE */
	/* Called on each worker's own thread when its loop starts and ends, for per-worker state; `arg` is that of the callbacks. May be NULL.
	 * Every stream has been closed() and unreferenced before worker_stopped (the worker waits for that, 10 seconds at most). */
	void (*worker_started)(struct ks_loop *loop, void *arg);
	void (*worker_stopped)(struct ks_loop *loop, void *arg);
};

/* Opens the socket and starts the workers. `main_loop` accepts and hands connections out, as soon as it runs. SIGPIPE is ignored from now on. */
int ks_server_start(struct ks_loop *main_loop, const struct ks_server_config *config, const struct ks_http_callbacks *callbacks,
	struct ks_server **out_r, struct ks_error *err) __attribute__((warn_unused_result));
uint16_t ks_server_port(const struct ks_server *server);
uint32_t ks_server_n_workers(const struct ks_server *server);
struct ks_loop *ks_server_worker(struct ks_server *server, uint32_t index);
/* Reads certificate and key again; new handshakes use them. The old ones stay on failure. */
int ks_server_reload_tls(struct ks_server *server, const struct ks_server_config *config, struct ks_error *err) __attribute__((warn_unused_result));
/* On the main loop's thread, once. Stops accepting, sends GOAWAY (HTTP/2) or Connection: close (HTTP/1.1) on every connection, lets requests in
 * flight finish; `drained` is called on the main loop's thread when all connections are gone; after `deadline_ms` those that are left are cut.
 * The pipeline ends its watches itself before that. */
void ks_server_drain(struct ks_server *server, uint64_t deadline_ms, void (*drained)(void *arg), void *arg);
/* A drain waits no longer: the connections that are left are cut, and `drained` follows. On the main loop's thread. */
void ks_server_cut(struct ks_server *server);
/* Ends the workers' threads, on the main loop's thread. At once, or after `drained` was called; not between. Every stream that is still there
 * gets closed() first. The loops stay until ks_server_free, for threads that are about to have posted to them. */
void ks_server_stop(struct ks_server *server);
/* ks_server_stop, and frees everything. */
void ks_server_free(struct ks_server **server);

#endif
