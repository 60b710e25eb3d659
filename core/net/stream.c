/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/net/stream.h"

#include <errno.h>
#include <stdlib.h>

#include "core/net/worker.h"

enum {
	MAX_FREE_STREAMS = 256,
	LARGEST_KEPT_ARENA = 8192,
	FIRST_HEADERS = 24,
};

/* -- life ------------------------------------------------------------------------------------------------------ */

static struct ks_stream *take_free(struct ks_worker *worker)
{
	struct ks_stream *stream = STAILQ_FIRST(&worker->free_streams);
	struct ks_arena arena;

	if (!stream)
		return calloc(1, sizeof(*stream));
	STAILQ_REMOVE_HEAD(&worker->free_streams, note_link);
	worker->n_free_streams--;
	arena = stream->arena;
	memset(stream, 0, sizeof(*stream));
	stream->arena = arena;
	return stream;
}

struct ks_stream *ks_stream_new(struct ks_conn *conn)
{
	struct ks_worker *worker = conn->worker;
	struct ks_stream *stream = take_free(worker);

	if (!stream)
		return NULL;
	stream->worker = worker;
	stream->conn = stream->origin = conn;
	stream->refs = 1;
	stream->pieces = stream->inline_pieces;
	stream->max_pieces = KS_INLINE_PIECES;
	stream->progress_ms = worker->now_ms;
	stream->request.content_length = -1;
	stream->request.remote_address = conn->address;
	stream->request.peer_certificates = conn->peer;
	stream->request.n_peer_certificates = conn->n_peer;
	conn->pins++;
	conn->n_streams++;
	TAILQ_INSERT_TAIL(&conn->streams, stream, conn_link);
	worker->n_streams++;
	atomic_store_explicit(&worker->load_streams, worker->n_streams, memory_order_relaxed);
	return stream;
}

static void stream_free(struct ks_stream *stream)
{
	struct ks_worker *worker = stream->worker;

	worker->n_streams--;
	atomic_store_explicit(&worker->load_streams, worker->n_streams, memory_order_relaxed);
	ks_conn_unpin(stream->origin);
	ks_buf_fini(&stream->body);
	if (stream->pieces != stream->inline_pieces)
		free(stream->pieces);
	if (stream->arena.used > LARGEST_KEPT_ARENA)
		ks_arena_fini(&stream->arena);
	else
		ks_arena_reset(&stream->arena);
	if (worker->n_free_streams == MAX_FREE_STREAMS) {
		ks_arena_fini(&stream->arena);
		free(stream);
		return;
	}
	worker->n_free_streams++;
	STAILQ_INSERT_HEAD(&worker->free_streams, stream, note_link);
}

void ks_stream_ref(struct ks_stream *stream)
{
	stream->refs++;
}

void ks_stream_unref(struct ks_stream *stream)
{
	if (--stream->refs == 0)
		stream_free(stream);
}

static void release(struct ks_piece *piece)
{
	if (piece->release)
		piece->release(piece->owner);
}

static void release_all(const struct ks_piece *pieces, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (pieces[i].release)
			pieces[i].release(pieces[i].owner);
}

static void drop_pieces(struct ks_stream *stream)
{
	while (stream->first_piece < stream->n_pieces)
		release(&stream->pieces[stream->first_piece++]);
	stream->first_piece = stream->n_pieces = 0;
	stream->queued = stream->piece_sent = 0;
}

void ks_stream_detach(struct ks_stream *stream)
{
	struct ks_conn *conn = stream->conn;

	TAILQ_REMOVE(&conn->streams, stream, conn_link);
	if (--conn->n_streams == 0)
		conn->since_ms = conn->worker->now_ms;
	stream->conn = NULL;
	stream->answered = stream->ended = true;
	drop_pieces(stream);
	stream->notes = 0;
	ks_worker_note(stream->worker, stream, KS_NOTE_CLOSED);
}

/* -- the request ----------------------------------------------------------------------------------------------- */

struct ks_header *ks_stream_reserve_headers(struct ks_stream *stream, size_t n)
{
	if (n > SIZE_MAX / sizeof(struct ks_header))
		return NULL;
	stream->headers = ks_arena_alloc(&stream->arena, n * sizeof(struct ks_header));
	stream->max_headers = stream->headers ? n : 0;
	return stream->headers;
}

bool ks_stream_add_header(struct ks_stream *stream, struct ks_str name, struct ks_str value)
{
	if (stream->n_headers == stream->max_headers) {
		struct ks_header *old = stream->headers;

		if (!ks_stream_reserve_headers(stream, old ? stream->max_headers * 2 : FIRST_HEADERS))
			return false;
		if (old)
			memcpy(stream->headers, old, stream->n_headers * sizeof(*old));
	}
	stream->headers[stream->n_headers++] = (struct ks_header){name, value};
	return true;
}

void ks_stream_head_done(struct ks_stream *stream, struct ks_str target)
{
	struct ks_http_request *request = &stream->request;
	const char *mark = target.n ? memchr(target.p, '?', target.n) : NULL;

	request->target = request->path = target;
	request->query = KS_STR_LIT("");
	if (mark) {
		request->path.n = (size_t)(mark - target.p);
		request->query = ks_str_of(mark + 1, target.n - request->path.n - 1);
	}
	request->headers = stream->headers;
	request->n_headers = stream->n_headers;
	if (!request->authority.n)
		request->authority = ks_stream_header(stream, "host");
	stream->is_head = ks_str_is(request->method, "HEAD");
	if (!stream->refused)
		ks_worker_note(stream->worker, stream, KS_NOTE_REQUEST);
}

void ks_stream_trim(struct ks_stream *stream)
{
	stream->request = (struct ks_http_request){.http2 = stream->request.http2,
		.content_length = stream->request.content_length,
		.has_body = stream->request.has_body,
		.remote_address = stream->request.remote_address};
	stream->headers = NULL;
	stream->n_headers = stream->max_headers = 0;
	if (stream->head.n == 0) /* the head of an answer over HTTP/1.1 may still wait there */
		ks_arena_fini(&stream->arena);
}

const struct ks_http_request *ks_stream_request(const struct ks_stream *stream)
{
	return &stream->request;
}

struct ks_str ks_stream_header(const struct ks_stream *stream, const char *name)
{
	struct ks_str wanted = ks_str_from(name);

	for (size_t i = 0; i < stream->n_headers; i++)
		if (ks_str_eq(stream->headers[i].name, wanted))
			return stream->headers[i].value;
	return (struct ks_str){NULL, 0};
}

struct ks_loop *ks_stream_loop(const struct ks_stream *stream)
{
	return stream->worker->loop;
}

void ks_stream_set_data(struct ks_stream *stream, void *data)
{
	stream->data = data;
}

void *ks_stream_data(const struct ks_stream *stream)
{
	return stream->data;
}

/* -- the request's body ---------------------------------------------------------------------------------------- */

static void tell_body(struct ks_stream *stream, int code)
{
	stream->body_state = KS_BODY_READ;
	stream->body_code = code;
	ks_worker_note(stream->worker, stream, KS_NOTE_BODY);
}

void ks_stream_body_fail(struct ks_stream *stream, int code)
{
	if (stream->body_state == KS_BODY_READING)
		tell_body(stream, code);
}

bool ks_stream_body_data(struct ks_stream *stream, const void *p, size_t n)
{
	if (stream->body_state == KS_BODY_READ)
		return false;
	stream->progress_ms = stream->worker->now_ms;
	if (stream->body_state == KS_BODY_READING && n > stream->body_limit - stream->body.len) {
		tell_body(stream, 413);
		return false;
	}
	ks_buf_add(&stream->body, p, n);
	if (stream->body.failed) {
		ks_stream_reset(stream);
		return false;
	}
	return true;
}

void ks_stream_body_end(struct ks_stream *stream)
{
	stream->body_ended = true;
	if (stream->body_state == KS_BODY_READING)
		tell_body(stream, 0);
}

void ks_stream_read_body(struct ks_stream *stream, size_t limit, void (*done)(struct ks_stream *stream, int code, struct ks_str body))
{
	const struct ks_http_request *request = &stream->request;

	if (!stream->conn || stream->body_state != KS_BODY_UNREAD)
		return;
	stream->body_done = done;
	stream->body_limit = limit;
	stream->progress_ms = stream->worker->now_ms;
	if ((request->content_length > 0 && (uint64_t)request->content_length > limit) || stream->body.len > limit)
		tell_body(stream, 413);
	else if (!request->has_body || stream->body_ended)
		tell_body(stream, 0);
	else
		stream->body_state = KS_BODY_READING;
	stream->conn->protocol->read_body(stream);
}

/* -- the answer ------------------------------------------------------------------------------------------------ */

static bool make_room(struct ks_stream *stream, size_t n)
{
	size_t used = stream->n_pieces - stream->first_piece, max = stream->max_pieces;
	struct ks_piece *pieces;

	if (n > SIZE_MAX / sizeof(*pieces) / 4)
		return false;
	if (stream->max_pieces - stream->n_pieces >= n)
		return true;
	while (max - used < n)
		max *= 2;
	pieces = max > stream->max_pieces ? malloc(max * sizeof(*pieces)) : stream->pieces;
	if (!pieces)
		return false;
	memmove(pieces, stream->pieces + stream->first_piece, used * sizeof(*pieces));
	if (pieces != stream->pieces && stream->pieces != stream->inline_pieces)
		free(stream->pieces);
	stream->pieces = pieces;
	stream->max_pieces = max;
	stream->n_pieces = used;
	stream->first_piece = 0;
	return true;
}

/* Takes over the pieces, on failure too (the stream is then reset). */
static int queue(struct ks_stream *stream, const struct ks_piece *pieces, size_t n)
{
	if (!make_room(stream, n)) {
		release_all(pieces, n);
		ks_stream_reset(stream);
		return -ENOMEM;
	}
	if (stream->queued == 0)
		stream->progress_ms = stream->worker->now_ms;
	for (size_t i = 0; i < n; i++) {
		if (pieces[i].len == 0) {
			release_all(&pieces[i], 1);
			continue;
		}
		stream->queued += pieces[i].len;
		stream->pieces[stream->n_pieces++] = pieces[i];
	}
	return 0;
}

static int check_answerable(const struct ks_stream *stream)
{
	if (!stream->conn)
		return -ECONNRESET;
	return stream->answered ? -EALREADY : 0;
}

static bool has_no_body(const struct ks_stream *stream, int status)
{
	return stream->is_head || status == 204 || status == 304;
}

static int give_answer(struct ks_stream *stream, int status, const struct ks_header *headers, size_t n_headers, int64_t length)
{
	int r;

	stream->answered = true;
	r = stream->conn->protocol->answer(stream, status, headers, n_headers, length);
	if (r < 0) {
		ks_stream_reset(stream);
		return r;
	}
	ks_conn_mark(stream->conn);
	return 0;
}

int ks_stream_respond(struct ks_stream *stream, int status, const struct ks_header *headers, size_t n_headers, const struct ks_piece *pieces,
	size_t n_pieces)
{
	int64_t length = 0;
	int r = check_answerable(stream);

	for (size_t i = 0; i < n_pieces; i++)
		length += (int64_t)pieces[i].len;
	if (r < 0 || has_no_body(stream, status))
		release_all(pieces, n_pieces);
	else
		r = queue(stream, pieces, n_pieces);
	if (r < 0)
		return r;
	stream->ended = true;
	return give_answer(stream, status, headers, n_headers, length);
}

int ks_stream_begin(struct ks_stream *stream, int status, const struct ks_header *headers, size_t n_headers)
{
	int r = check_answerable(stream);

	if (r < 0)
		return r;
	stream->streamed = true;
	stream->ended = has_no_body(stream, status);
	return give_answer(stream, status, headers, n_headers, -1);
}

int ks_stream_write(struct ks_stream *stream, const struct ks_piece *pieces, size_t n_pieces)
{
	int r;

	if (!stream->conn || !stream->streamed || stream->ended) {
		bool dropped = stream->conn && stream->streamed && stream->is_head;

		release_all(pieces, n_pieces);
		return dropped ? 0 : -ECONNRESET;
	}
	r = queue(stream, pieces, n_pieces);
	if (r < 0)
		return r;
	stream->conn->protocol->more(stream);
	ks_conn_mark(stream->conn);
	return 0;
}

void ks_stream_end(struct ks_stream *stream)
{
	if (!stream->conn || !stream->streamed || stream->ended)
		return;
	stream->ended = true;
	stream->conn->protocol->more(stream);
	ks_conn_mark(stream->conn);
}

size_t ks_stream_queued(const struct ks_stream *stream)
{
	return stream->queued;
}

static void check_drained(struct ks_stream *stream)
{
	if (stream->drained && stream->queued <= stream->drained_below)
		ks_worker_note(stream->worker, stream, KS_NOTE_DRAINED);
}

void ks_stream_on_drained(struct ks_stream *stream, size_t below, void (*drained)(struct ks_stream *stream))
{
	if (!stream->conn)
		return;
	stream->notes &= (uint8_t)~KS_NOTE_DRAINED;
	stream->drained = drained;
	stream->drained_below = below;
	check_drained(stream);
}

void ks_stream_reset(struct ks_stream *stream)
{
	if (stream->conn)
		stream->conn->protocol->reset(stream);
}

void ks_stream_take(struct ks_stream *stream, size_t n)
{
	stream->progress_ms = stream->worker->now_ms;
	stream->queued -= n;
	while (n) {
		struct ks_piece *piece = &stream->pieces[stream->first_piece];
		size_t left = piece->len - stream->piece_sent, part = left < n ? left : n;

		ks_conn_put(stream->conn, (const char *)piece->data + stream->piece_sent, part);
		stream->piece_sent += part;
		n -= part;
		if (part < left)
			break;
		release(piece);
		stream->piece_sent = 0;
		stream->first_piece++;
	}
	if (stream->first_piece == stream->n_pieces)
		stream->first_piece = stream->n_pieces = 0;
	check_drained(stream);
}

/* -- telling the user ------------------------------------------------------------------------------------------ */

static void deliver_body(struct ks_stream *stream)
{
	struct ks_str body = stream->body_code == 0 ? ks_buf_str(&stream->body) : KS_STR_LIT("");

	stream->body_done(stream, stream->body_code, body);
}

static void deliver_drained(struct ks_stream *stream)
{
	void (*drained)(struct ks_stream *stream) = stream->drained;

	stream->drained = NULL;
	drained(stream);
}

static bool take_note(struct ks_stream *stream, uint8_t due, uint8_t note)
{
	if (!(due & stream->notes & note))
		return false;
	stream->notes &= (uint8_t)~note;
	return true;
}

/* Only what is due now: what the callbacks ask for comes after what others wait for. */
void ks_stream_deliver(struct ks_stream *stream)
{
	const struct ks_http_callbacks *callbacks = &stream->worker->server->callbacks;
	uint8_t due = stream->notes, left;

	if (take_note(stream, due, KS_NOTE_REQUEST)) {
		stream->delivered = true;
		callbacks->request(stream, callbacks->arg);
	}
	if (take_note(stream, due, KS_NOTE_BODY))
		deliver_body(stream);
	if (take_note(stream, due, KS_NOTE_DRAINED))
		deliver_drained(stream);
	if (take_note(stream, due, KS_NOTE_CLOSED)) {
		if (stream->delivered)
			callbacks->closed(stream, callbacks->arg);
		ks_stream_unref(stream);
		return;
	}
	stream->noted = false;
	left = stream->notes;
	stream->notes = 0;
	if (left)
		ks_worker_note(stream->worker, stream, left);
}
