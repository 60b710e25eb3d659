/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1 and 1.0 on a connection: one request at a time, the next one waits in the input buffer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/net/worker.h"

enum {
	READ_AHEAD = 64 * 1024,     /* of later requests, or of a body that nobody reads yet */
	MAX_DROP = 256 * 1024,      /* of a body that nobody wanted, for keeping the connection */
	MAX_HEADERS = 1000,
	LARGEST_KEPT_INPUT = 16 * 1024,
	CHUNK_BYTES = 64 * 1024,
};

static void advance(struct ks_conn *conn);

static size_t in_left(const struct ks_h1_conn *h1)
{
	return h1->in.len - h1->in_off;
}

static const char *in_next(const struct ks_h1_conn *h1)
{
	return h1->in.data + h1->in_off;
}

static void in_use(struct ks_h1_conn *h1, size_t n)
{
	h1->in_off += n;
	if (h1->in_off < h1->in.len)
		return;
	h1->in_off = 0;
	ks_buf_clear(&h1->in);
	if (h1->in.cap > LARGEST_KEPT_INPUT)
		ks_buf_fini(&h1->in);
}

static int h1_open(struct ks_conn *conn)
{
	conn->h1 = (struct ks_h1_conn){.keep_alive = true};
	return 0;
}

static void h1_close(struct ks_conn *conn)
{
	struct ks_h1_conn *h1 = &conn->h1;

	if (h1->stream)
		ks_stream_detach(h1->stream);
	h1->stream = NULL;
	ks_buf_fini(&h1->in);
}

/* -- requests -------------------------------------------------------------------------------------------------- */

static void refuse(struct ks_conn *conn, enum ks_h1_error error)
{
	conn->h1.farewell = ks_h1_error_answer(error);
	conn->h1.keep_alive = false;
	ks_conn_mark(conn);
}

static void start_body(struct ks_h1_conn *h1, struct ks_stream *stream, const struct ks_h1_head *head)
{
	h1->has_body = head->chunked || head->content_length > 0;
	h1->body_chunked = head->chunked;
	h1->body_left = head->content_length > 0 ? (uint64_t)head->content_length : 0;
	h1->chunks = (struct ks_h1_chunks){0};
	h1->wants_continue = head->expect_continue && h1->has_body;
	stream->request.content_length = head->content_length;
	stream->request.has_body = h1->has_body;
	stream->body_ended = !h1->has_body;
}

static enum ks_h1_error parse_head(struct ks_conn *conn, struct ks_stream *stream, size_t n)
{
	struct ks_h1_conn *h1 = &conn->h1;
	struct ks_h1_head head = {.max_headers = h1->scan.n_lines};
	char *text = ks_arena_dup(&stream->arena, in_next(h1), n);
	enum ks_h1_error error;

	head.headers = ks_stream_reserve_headers(stream, head.max_headers);
	if (!text || !head.headers)
		return KS_H1_TOO_LARGE;
	error = ks_h1_head_parse(&head, text, n);
	if (error)
		return error;
	h1->http10 = head.minor == 0;
	h1->keep_alive = head.keep_alive && !conn->worker->draining;
	stream->n_headers = head.n_headers;
	stream->request.method = head.method;
	stream->request.authority = head.authority;
	start_body(h1, stream, &head);
	ks_stream_head_done(stream, head.target);
	return KS_H1_OK;
}

/* The next request, when its head is there whole. */
static void next_request(struct ks_conn *conn)
{
	struct ks_h1_conn *h1 = &conn->h1;
	size_t limit = conn->worker->server->config.header_limit_bytes;
	ssize_t n = ks_h1_head_end(&h1->scan, in_next(h1), in_left(h1));
	enum ks_h1_error error;

	if (n == 0 && h1->head_since_ms == 0)
		h1->head_since_ms = conn->worker->now_ms;
	if (n < 0) {
		refuse(conn, KS_H1_BAD_REQUEST);
		return;
	}
	if ((size_t)n > limit || (n == 0 && in_left(h1) > limit) || h1->scan.n_lines > MAX_HEADERS) {
		refuse(conn, KS_H1_TOO_LARGE);
		return;
	}
	if (n == 0)
		return;
	h1->stream = ks_stream_new(conn);
	if (!h1->stream) {
		ks_conn_kill(conn, "out of memory");
		return;
	}
	error = parse_head(conn, h1->stream, (size_t)n);
	in_use(h1, (size_t)n);
	h1->scan = (struct ks_h1_scan){0};
	h1->head_since_ms = 0;
	if (!error)
		return;
	ks_stream_detach(h1->stream);
	h1->stream = NULL;
	refuse(conn, error);
}

/* -- bodies ---------------------------------------------------------------------------------------------------- */

/* A piece of the body out of the input: bytes used, 0 when there is nothing, -1 malformed. */
static ssize_t next_body_data(struct ks_h1_conn *h1, struct ks_str *data_r)
{
	size_t left = in_left(h1);

	if (h1->body_chunked)
		return ks_h1_chunks_next(&h1->chunks, in_next(h1), left, data_r);
	*data_r = ks_str_of(in_next(h1), left < h1->body_left ? left : (size_t)h1->body_left);
	h1->body_left -= data_r->n;
	return (ssize_t)data_r->n;
}

static bool body_is_over(const struct ks_h1_conn *h1)
{
	return h1->body_chunked ? ks_h1_chunks_done(&h1->chunks) : h1->body_left == 0;
}

static void body_is_malformed(struct ks_conn *conn)
{
	conn->h1.keep_alive = false;
	conn->h1.has_body = false;
	if (conn->h1.stream)
		ks_stream_body_fail(conn->h1.stream, 400);
	else
		conn->finish = true;
}

/* Gives data to the stream, or counts what is dropped. False: no more of it is taken. */
static bool take_body_data(struct ks_conn *conn, struct ks_str data)
{
	struct ks_h1_conn *h1 = &conn->h1;

	if (data.n == 0)
		return true;
	if (h1->stream && ks_stream_body_data(h1->stream, data.p, data.n))
		return true;
	if (h1->drop_left >= data.n) {
		h1->drop_left -= data.n;
		return true;
	}
	h1->drop_left = 0;
	h1->keep_alive = false;
	if (!h1->stream)
		conn->finish = true;
	return false;
}

/* Uses what is there of the current body. */
static void read_body_data(struct ks_conn *conn)
{
	struct ks_h1_conn *h1 = &conn->h1;

	while (in_left(h1) && !body_is_over(h1)) {
		struct ks_str data;
		ssize_t n = next_body_data(h1, &data);
		bool wanted = n >= 0 && take_body_data(conn, data);

		if (n < 0) {
			body_is_malformed(conn);
			return;
		}
		in_use(h1, (size_t)n);
		if (!wanted)
			return;
	}
	if (!body_is_over(h1))
		return;
	h1->has_body = false;
	if (h1->stream)
		ks_stream_body_end(h1->stream);
}

/* Is there a use for the bytes that follow? */
static bool can_use_input(const struct ks_conn *conn)
{
	const struct ks_h1_conn *h1 = &conn->h1;

	if (conn->finish || h1->farewell.n || in_left(h1) == 0)
		return false;
	if (!h1->has_body)
		return !h1->stream;
	if (!h1->stream)
		return true;
	return h1->stream->body_state == KS_BODY_READING || (h1->stream->body_state == KS_BODY_READ && h1->drop_left);
}

/* The client sends nothing more, and all that it has sent is used: what is missing will not come. */
static void end_input(struct ks_conn *conn)
{
	struct ks_h1_conn *h1 = &conn->h1;

	if (h1->has_body && h1->stream && h1->stream->body_state == KS_BODY_READING)
		ks_conn_kill(conn, "the client has gone");
	if (h1->stream || h1->farewell.n)
		return;
	conn->finish = true;
	ks_conn_mark(conn);
}

static void advance(struct ks_conn *conn)
{
	struct ks_h1_conn *h1 = &conn->h1;

	while (conn->state == KS_CONN_OPEN && can_use_input(conn)) {
		size_t before = in_left(h1);

		if (h1->has_body)
			read_body_data(conn);
		else
			next_request(conn);
		if (in_left(h1) == before)
			break;
	}
	if (h1->eof)
		end_input(conn);
	else
		ks_conn_read_on(conn, in_left(h1) < READ_AHEAD || can_use_input(conn));
}

static int h1_input(struct ks_conn *conn, const void *p, size_t n)
{
	struct ks_h1_conn *h1 = &conn->h1;

	if (h1->farewell.n || conn->finish)
		return 0;
	if (h1->in_off && h1->in.cap - h1->in.len < n) {
		memmove(h1->in.data, in_next(h1), in_left(h1));
		h1->in.len = in_left(h1);
		h1->in_off = 0;
	}
	ks_buf_add(&h1->in, p, n);
	if (h1->in.failed)
		return -ENOMEM;
	advance(conn);
	return 0;
}

/* A client that has shut down its side may still wait for a whole answer; a streamed one has no other end than this. */
static void h1_eof(struct ks_conn *conn)
{
	struct ks_h1_conn *h1 = &conn->h1;
	struct ks_stream *stream = h1->stream;

	if (stream && stream->streamed) {
		ks_conn_kill(conn, "the client has gone");
		return;
	}
	if (!conn->raw_eof)
		return; /* there is more to read before the end */
	h1->eof = true;
	ks_conn_read_on(conn, false);
	advance(conn);
}

static void h1_read_body(struct ks_stream *stream)
{
	struct ks_conn *conn = stream->conn;
	struct ks_h1_conn *h1 = &conn->h1;

	if (stream->body_state == KS_BODY_READING && h1->wants_continue) {
		h1->send_continue = !in_left(h1);
		h1->wants_continue = false;
		ks_conn_mark(conn);
	}
	advance(conn);
}

/* -- answers --------------------------------------------------------------------------------------------------- */

static size_t head_size(const struct ks_header *headers, size_t n)
{
	size_t size = 512; /* the status line and what we add */

	for (size_t i = 0; i < n; i++)
		size += headers[i].name.n + headers[i].value.n + 4;
	return size;
}

static char *add(char *p, struct ks_str s)
{
	memcpy(p, s.p, s.n);
	return p + s.n;
}

static char *add_status(char *p, int status, bool http10)
{
	const char *reason = ks_http_reason(status);

	p = add(p, http10 ? KS_STR_LIT("HTTP/1.0 ") : KS_STR_LIT("HTTP/1.1 "));
	if (reason)
		return p + sprintf(p, "%d %s\r\n", status, reason);
	return p + sprintf(p, "%d status code %d\r\n", status, status);
}

/* A value can hold what a client sent: it must not begin a new line. */
static char *add_value(char *p, struct ks_str value)
{
	for (size_t i = 0; i < value.n; i++)
		p[i] = value.p[i] == '\r' || value.p[i] == '\n' || value.p[i] == '\0' ? ' ' : value.p[i];
	return p + value.n;
}

static char *add_headers(char *p, const struct ks_header *headers, size_t n, bool *has_length_r)
{
	for (size_t i = 0; i < n; i++) {
		*has_length_r |= ks_str_is(headers[i].name, "content-length");
		p = add(p, headers[i].name);
		p = add(p, KS_STR_LIT(": "));
		p = add_value(p, headers[i].value);
		p = add(p, KS_STR_LIT("\r\n"));
	}
	return p;
}

/* Can the connection go on after an answer that comes before the end of the request's body? */
static void decide_about_body(struct ks_conn *conn)
{
	struct ks_h1_conn *h1 = &conn->h1;

	if (!h1->has_body)
		return;
	h1->drop_left = MAX_DROP;
	if (h1->wants_continue || h1->body_left > MAX_DROP)
		h1->keep_alive = false;
}

static int h1_answer(struct ks_stream *stream, int status, const struct ks_header *headers, size_t n_headers, int64_t length)
{
	struct ks_conn *conn = stream->conn;
	struct ks_h1_conn *h1 = &conn->h1;
	char *text = ks_arena_alloc(&stream->arena, head_size(headers, n_headers)), *p = text;
	bool has_length = false, bodyless = status == 204 || status == 304;

	if (!text)
		return -ENOMEM;
	if (stream->streamed && conn->half_closed) {
		ks_conn_kill(conn, "the client has gone");
		return 0;
	}
	if (conn->worker->draining)
		h1->keep_alive = false;
	decide_about_body(conn);
	p = add_status(p, status, h1->http10);
	p = add_headers(p, headers, n_headers, &has_length);
	if (length >= 0 && !has_length && !bodyless)
		p += sprintf(p, "content-length: %lld\r\n", (long long)length);
	stream->chunked = length < 0 && !has_length && !bodyless && !h1->http10 && !stream->is_head;
	if (stream->chunked)
		p = add(p, KS_STR_LIT("transfer-encoding: chunked\r\n"));
	else if (length < 0 && !has_length && !bodyless && !stream->is_head)
		h1->keep_alive = false; /* its end is the end of the connection */
	p = add(p, KS_STR_LIT("date: "));
	p = add(p, ks_worker_date(conn->worker));
	if (!h1->keep_alive)
		p = add(p, KS_STR_LIT("\r\nconnection: close"));
	else if (h1->http10)
		p = add(p, KS_STR_LIT("\r\nconnection: keep-alive"));
	p = add(p, KS_STR_LIT("\r\n\r\n"));
	stream->head = ks_str_of(text, (size_t)(p - text));
	return 0;
}

static void h1_more(struct ks_stream *stream)
{
	(void)stream; /* output looks for itself */
}

static void h1_reset(struct ks_stream *stream)
{
	ks_conn_kill(stream->conn, "reset");
}

static void put_str(struct ks_conn *conn, struct ks_str s)
{
	ks_conn_put(conn, s.p, s.n);
}

static void put_chunk(struct ks_conn *conn, struct ks_stream *stream, size_t n)
{
	char size[24];

	ks_conn_put(conn, size, (size_t)sprintf(size, "%zx\r\n", n));
	ks_stream_take(stream, n);
	put_str(conn, KS_STR_LIT("\r\n"));
}

/* The answer is out. */
static void finish_stream(struct ks_conn *conn)
{
	struct ks_h1_conn *h1 = &conn->h1;

	ks_stream_detach(h1->stream);
	h1->stream = NULL;
	if (h1->has_body && (h1->drop_left == 0 || h1->wants_continue))
		h1->keep_alive = false;
	if (!h1->keep_alive) {
		conn->finish = true;
		return;
	}
	advance(conn);
}

static void put_answer(struct ks_conn *conn, struct ks_stream *stream)
{
	if (stream->head.n)
		put_str(conn, stream->head);
	stream->head.n = 0;
	while (stream->queued && ks_conn_may_put(conn)) {
		size_t n = stream->queued < CHUNK_BYTES ? stream->queued : CHUNK_BYTES;

		if (stream->chunked)
			put_chunk(conn, stream, n);
		else
			ks_stream_take(stream, n);
	}
	if (stream->queued || !stream->ended)
		return;
	if (stream->chunked)
		put_str(conn, KS_STR_LIT("0\r\n\r\n"));
	finish_stream(conn);
}

static int h1_output(struct ks_conn *conn)
{
	struct ks_h1_conn *h1 = &conn->h1;

	if (h1->send_continue && h1->stream && !h1->stream->answered)
		put_str(conn, KS_STR_LIT("HTTP/1.1 100 Continue\r\n\r\n"));
	h1->send_continue = false;
	if (h1->stream && h1->stream->answered)
		put_answer(conn, h1->stream);
	if (h1->farewell.n && !h1->stream) {
		put_str(conn, h1->farewell);
		h1->farewell.n = 0;
		conn->finish = true;
	}
	return 0;
}

/* -- time ------------------------------------------------------------------------------------------------------ */

static void h1_drain(struct ks_conn *conn)
{
	struct ks_h1_conn *h1 = &conn->h1;

	h1->keep_alive = false;
	if (!h1->stream && in_left(h1) == 0)
		conn->finish = true;
}

static bool h1_tick(struct ks_conn *conn, uint64_t now_ms)
{
	const struct ks_server_config *config = &conn->worker->server->config;
	struct ks_h1_conn *h1 = &conn->h1;

	if (h1->stream || conn->pending_len)
		return true;
	if (h1->head_since_ms)
		return now_ms - h1->head_since_ms <= config->header_timeout_seconds * UINT64_C(1000);
	if (h1->has_body)
		return now_ms - conn->since_ms <= config->body_timeout_seconds * UINT64_C(1000);
	if (now_ms - conn->since_ms > config->idle_timeout_seconds * UINT64_C(1000)) {
		conn->finish = true;
		ks_conn_mark(conn);
	}
	return true;
}

const struct ks_protocol ks_h1 = {
	.open = h1_open,
	.input = h1_input,
	.eof = h1_eof,
	.output = h1_output,
	.close = h1_close,
	.drain = h1_drain,
	.tick = h1_tick,
	.answer = h1_answer,
	.more = h1_more,
	.reset = h1_reset,
	.read_body = h1_read_body,
};
