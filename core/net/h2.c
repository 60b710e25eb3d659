/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 on a connection, by nghttp2. */
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/net/worker.h"
#include "core/util/log.h"

enum {
	STREAM_WINDOW = 256 * 1024,
	CONN_WINDOW = 16 * 1024 * 1024,
	/* Beyond this many times the limit a request is not answered, but cut off. */
	HOPELESS_HEADERS = 4,
	GOAWAY_WAIT_MS = 1000,
	/* What a client may still send after its answer before it is cut off. Some (curl 7.88) lose the answer when the reset comes with it, or
	 * read nothing more after the answer, neither a reset nor a window update; so what an API's client sends is let in. */
	MAX_DROP = 4 * 1024 * 1024, DROP_MS = 5000,
	/* Streams that the client cancels, or makes us reset: a few bytes of it, and all the work of a request for us. */
	RESETS_PER_SECOND = 100, RESETS_AT_ONCE = 500,
	/* Frames that carry nothing: PING, SETTINGS, PRIORITY, empty DATA, what we don't know. */
	CONTROL_PER_SECOND = 200, CONTROL_AT_ONCE = 1000,
};

#define NV_STATIC (NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE)

bool ks_bucket_add(struct ks_bucket *bucket, uint64_t now_ms, uint32_t per_second, uint32_t burst)
{
	uint64_t drained = (now_ms - bucket->at_ms) * per_second;

	bucket->at_ms = now_ms;
	bucket->level = bucket->level > drained ? bucket->level - drained : 0;
	bucket->level += 1000;
	return bucket->level <= burst * UINT64_C(1000);
}

static void calm_down(struct ks_conn *conn, const char *why)
{
	if (conn->h2.calm)
		return;
	conn->h2.calm = true;
	ks_log(KS_LOG_WARN, "net", "flood on a connection remote=%s kind=%s", conn->address, why);
	nghttp2_session_terminate_session(conn->h2.session, NGHTTP2_ENHANCE_YOUR_CALM);
}

static void count_reset(struct ks_conn *conn)
{
	if (!ks_bucket_add(&conn->h2.resets, conn->worker->now_ms, RESETS_PER_SECOND, RESETS_AT_ONCE))
		calm_down(conn, "resets");
}

static void count_control(struct ks_conn *conn)
{
	if (!ks_bucket_add(&conn->h2.control, conn->worker->now_ms, CONTROL_PER_SECOND, CONTROL_AT_ONCE))
		calm_down(conn, "control frames");
}

/* -- requests -------------------------------------------------------------------------------------------------- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct ks_conn *conn = user;
	struct ks_stream *stream;

	conn->h2.head_since_ms = conn->worker->now_ms;
	conn->h2.incoming = NULL;
	if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	stream = ks_stream_new(conn);
	if (!stream)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	stream->id = frame->hd.stream_id;
	stream->request.http2 = true;
	conn->h2.incoming = stream;
	return nghttp2_session_set_stream_user_data(session, stream->id, stream);
}

static void refuse(struct ks_stream *stream)
{
	stream->refused = true;
	nghttp2_submit_rst_stream(stream->conn->h2.session, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_PROTOCOL_ERROR);
}

static struct ks_str copy(struct ks_stream *stream, nghttp2_rcbuf *text)
{
	nghttp2_vec v = nghttp2_rcbuf_get_buf(text);

	if (nghttp2_rcbuf_is_static(text))
		return ks_str_of((const char *)v.base, v.len);
	return ks_str_of(ks_arena_dup(&stream->arena, (const char *)v.base, v.len), v.len);
}

static int take_pseudo_header(struct ks_stream *stream, struct ks_str name, struct ks_str value)
{
	if (ks_str_is(name, ":method"))
		stream->request.method = value;
	else if (ks_str_is(name, ":path"))
		stream->request.target = value;
	else if (ks_str_is(name, ":authority"))
		stream->request.authority = value;
	return 0;
}

/* nghttp2 has checked that it is a number. */
static int64_t parse_length(struct ks_str value)
{
	int64_t length = 0;

	for (size_t i = 0; i < value.n && i < 18; i++)
		length = length * 10 + (value.p[i] - '0');
	return length;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name, nghttp2_rcbuf *value, uint8_t flags,
	void *user)
{
	struct ks_conn *conn = user;
	struct ks_stream *stream = conn->h2.incoming;
	size_t limit = conn->worker->server->config.header_limit_bytes;
	struct ks_str n, v;

	(void)session;
	(void)frame;
	(void)flags;
	if (!stream)
		return 0; /* a trailer */
	stream->header_bytes += nghttp2_rcbuf_get_buf(name).len + nghttp2_rcbuf_get_buf(value).len + 32;
	if (stream->header_bytes > limit)
		return stream->header_bytes > HOPELESS_HEADERS * limit ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : 0;
	n = copy(stream, name);
	v = copy(stream, value);
	if (!n.p || !v.p)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (n.n && n.p[0] == ':')
		return take_pseudo_header(stream, n, v);
	if (ks_str_is(n, "content-length"))
		stream->request.content_length = parse_length(v);
	return ks_stream_add_header(stream, n, v) ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t namelen,
	const uint8_t *value, size_t valuelen, uint8_t flags, void *user)
{
	struct ks_conn *conn = user;

	(void)session;
	(void)frame;
	(void)name;
	(void)namelen;
	(void)value;
	(void)valuelen;
	(void)flags;
	if (conn->h2.incoming && !conn->h2.incoming->refused)
		refuse(conn->h2.incoming);
	return 0;
}

static void answer_too_large(struct ks_stream *stream)
{
	static const struct ks_header headers[] = {{KS_STR_LIT("content-type"), KS_STR_LIT("text/plain; charset=utf-8")}};
	static const struct ks_piece text = {"Request Header Fields Too Large", 31, NULL, NULL};

	if (ks_stream_respond(stream, 431, headers, 1, &text, 1) < 0)
		ks_stream_reset(stream);
}

static void head_is_in(struct ks_conn *conn, bool end)
{
	struct ks_stream *stream = conn->h2.incoming;
	bool too_large;

	conn->h2.incoming = NULL;
	if (!stream)
		return;
	stream->body_ended = end;
	stream->request.has_body = !end;
	if (stream->refused || conn->h2.calm)
		return;
	too_large = stream->header_bytes > conn->worker->server->config.header_limit_bytes;
	if (too_large)
		stream->refused = true;
	else if (!stream->request.target.n || !stream->request.method.n) /* CONNECT */
		refuse(stream);
	ks_stream_head_done(stream, stream->request.target);
	if (too_large)
		answer_too_large(stream);
}

static void body_is_in(nghttp2_session *session, int32_t id)
{
	struct ks_stream *stream = nghttp2_session_get_stream_user_data(session, id);

	if (stream && !stream->body_ended)
		ks_stream_body_end(stream);
}

/* No stream that begins after this is looked at. */
static void final_goaway(struct ks_conn *conn)
{
	nghttp2_session *session = conn->h2.session;

	conn->h2.goaway_at_ms = UINT64_MAX;
	nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session), NGHTTP2_NO_ERROR, NULL, 0);
	ks_conn_mark(conn);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct ks_conn *conn = user;
	bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
		conn->h2.head_since_ms = 0;
		if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
			head_is_in(conn, end);
		else if (end)
			body_is_in(session, frame->hd.stream_id);
		break;
	case NGHTTP2_DATA:
		if (end)
			body_is_in(session, frame->hd.stream_id);
		else if (frame->hd.length == 0)
			count_control(conn);
		break;
	case NGHTTP2_RST_STREAM:
		count_reset(conn);
		break;
	case NGHTTP2_SETTINGS:
		conn->h2.settings_seen = true;
		count_control(conn);
		break;
	case NGHTTP2_PING:
		if ((frame->hd.flags & NGHTTP2_FLAG_ACK) && conn->h2.goaway_at_ms && conn->h2.goaway_at_ms != UINT64_MAX)
			final_goaway(conn); /* the client has seen the notice */
		count_control(conn);
		break;
	case NGHTTP2_WINDOW_UPDATE:
		break;
	default:
		count_control(conn);
	}
	return 0;
}

/* -- bodies: their bytes go back to the client's window when somebody has taken them ----------------------------- */

static void consume(struct ks_stream *stream)
{
	if (stream->unconsumed)
		nghttp2_session_consume(stream->conn->h2.session, stream->id, stream->unconsumed);
	stream->unconsumed = 0;
}

static void cut_off_upload(struct ks_stream *stream)
{
	nghttp2_submit_rst_stream(stream->conn->h2.session, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_NO_ERROR);
	ks_conn_mark(stream->conn);
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t n, void *user)
{
	struct ks_stream *stream = nghttp2_session_get_stream_user_data(session, id);

	(void)flags;
	(void)user;
	if (!stream) {
		nghttp2_session_consume_connection(session, n);
		return 0;
	}
	stream->unconsumed += n;
	if (!ks_stream_body_data(stream, data, n) || stream->body_state == KS_BODY_READING)
		consume(stream);
	if (stream->end_sent) {
		stream->dropped += n;
		if (stream->dropped > MAX_DROP)
			cut_off_upload(stream);
	}
	return 0;
}

static void submit_continue(struct ks_stream *stream)
{
	static const nghttp2_nv status = {(uint8_t *)":status", (uint8_t *)"100", 7, 3, NV_STATIC};

	nghttp2_submit_headers(stream->conn->h2.session, NGHTTP2_FLAG_NONE, stream->id, NULL, &status, 1, NULL);
}

static void h2_read_body(struct ks_stream *stream)
{
	struct ks_str expect = ks_stream_header(stream, "expect");

	if (stream->body_state == KS_BODY_READING && stream->body.len == 0 && !stream->answered && ks_str_is(expect, "100-continue"))
		submit_continue(stream);
	consume(stream);
	ks_conn_mark(stream->conn);
}

/* -- answers --------------------------------------------------------------------------------------------------- */

static nghttp2_nv make_nv(struct ks_str name, struct ks_str value, uint8_t flags)
{
	return (nghttp2_nv){(uint8_t *)name.p, (uint8_t *)value.p, name.n, value.n, flags};
}

/*
 * A value that no other answer has: in the compression table it would push out what all answers have, and
 * nghttp2 looks at every entry of that name before it knows that none is the same.
 */
static uint8_t indexing(struct ks_str name)
{
	return ks_str_is(name, "audit-id") ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE;
}

static nghttp2_nv make_status(int status, char text[12])
{
	static const struct { int code; struct ks_str text; } common[] = {
		{200, KS_STR_LIT("200")}, {201, KS_STR_LIT("201")}, {400, KS_STR_LIT("400")}, {401, KS_STR_LIT("401")}, {403, KS_STR_LIT("403")},
		{404, KS_STR_LIT("404")}, {409, KS_STR_LIT("409")}, {422, KS_STR_LIT("422")}, {429, KS_STR_LIT("429")}, {500, KS_STR_LIT("500")},
	};
	struct ks_str name = KS_STR_LIT(":status");

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		if (common[i].code == status)
			return make_nv(name, common[i].text, NV_STATIC);
	return make_nv(name, ks_str_of(text, (size_t)snprintf(text, 12, "%d", status)), NGHTTP2_NV_FLAG_NO_COPY_NAME);
}

static ssize_t read_data(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length, uint32_t *flags, nghttp2_data_source *source,
	void *user)
{
	struct ks_stream *stream = source->ptr;
	size_t n = stream->queued < length ? stream->queued : length;

	(void)session;
	(void)id;
	(void)buf;
	(void)user;
	if (n == 0 && !stream->ended) {
		stream->deferred = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	if (n == stream->queued && stream->ended)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static int submit(struct ks_stream *stream, const nghttp2_nv *nv, size_t n)
{
	bool has_body = stream->queued || !stream->ended;
	nghttp2_data_provider provider = {.source.ptr = stream, .read_callback = read_data};

	return nghttp2_submit_response(stream->conn->h2.session, stream->id, nv, n, has_body ? &provider : NULL) < 0 ? -ENOMEM : 0;
}

/* The answer comes before the end of the upload: room for the rest is given in front of it. */
static void open_window(struct ks_stream *stream)
{
	int64_t length = stream->request.content_length;

	if (!stream->body_ended && (length < 0 || length > STREAM_WINDOW))
		nghttp2_session_set_local_window_size(stream->conn->h2.session, NGHTTP2_FLAG_NONE, stream->id, MAX_DROP);
}

static int h2_answer(struct ks_stream *stream, int status, const struct ks_header *headers, size_t n_headers, int64_t length)
{
	bool has_length = status == 204 || status == 304 || length < 0;
	nghttp2_nv few[32], *nv = few;
	char status_text[12], length_text[24];
	size_t n = 0;

	if (n_headers > 29)
		nv = ks_arena_zalloc(&stream->arena, n_headers + 3, sizeof(*nv));
	if (!nv)
		return -ENOMEM;
	open_window(stream);
	nv[n++] = make_status(status, status_text);
	for (size_t i = 0; i < n_headers; i++) {
		has_length |= ks_str_is(headers[i].name, "content-length");
		nv[n++] = make_nv(headers[i].name, headers[i].value, indexing(headers[i].name));
	}
	if (!has_length)
		nv[n++] = make_nv(KS_STR_LIT("content-length"),
			ks_str_of(length_text, ks_u64_text(length_text, (uint64_t)length)),
			NGHTTP2_NV_FLAG_NO_COPY_NAME);
	nv[n++] = make_nv(KS_STR_LIT("date"), ks_worker_date(stream->worker), NGHTTP2_NV_FLAG_NO_COPY_NAME);
	return submit(stream, nv, n);
}

static void h2_more(struct ks_stream *stream)
{
	if (!stream->deferred)
		return;
	stream->deferred = false;
	nghttp2_session_resume_data(stream->conn->h2.session, stream->id);
}

static void h2_reset(struct ks_stream *stream)
{
	nghttp2_submit_rst_stream(stream->conn->h2.session, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_INTERNAL_ERROR);
	ks_conn_mark(stream->conn);
}

static int send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t length, nghttp2_data_source *source, void *user)
{
	struct ks_conn *conn = user;

	(void)session;
	(void)frame;
	if (!ks_conn_may_put(conn))
		return NGHTTP2_ERR_WOULDBLOCK;
	ks_conn_put(conn, head, 9);
	ks_stream_take(source->ptr, length);
	return 0;
}

static ssize_t send_frames(nghttp2_session *session, const uint8_t *data, size_t length, int flags, void *user)
{
	struct ks_conn *conn = user;

	(void)session;
	(void)flags;
	if (!ks_conn_may_put(conn))
		return NGHTTP2_ERR_WOULDBLOCK;
	ks_conn_put(conn, data, length);
	return (ssize_t)length;
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct ks_conn *conn = user;
	struct ks_stream *stream;

	if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR)
		count_reset(conn);
	if ((frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (!stream || stream->body_ended)
		return 0;
	stream->end_sent = true;
	stream->body_state = KS_BODY_READ;
	stream->progress_ms = conn->worker->now_ms;
	consume(stream);
	return 0;
}

static int on_frame_not_send(nghttp2_session *session, const nghttp2_frame *frame, int error, void *user)
{
	(void)user;
	if (frame->hd.type == NGHTTP2_HEADERS && error != NGHTTP2_ERR_STREAM_CLOSED && error != NGHTTP2_ERR_STREAM_CLOSING)
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_INTERNAL_ERROR);
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error, void *user)
{
	struct ks_conn *conn = user;
	struct ks_stream *stream = nghttp2_session_get_stream_user_data(session, id);

	(void)error;
	if (!stream)
		return 0;
	if (conn->h2.incoming == stream)
		conn->h2.incoming = NULL;
	if (stream->unconsumed)
		nghttp2_session_consume_connection(session, stream->unconsumed);
	stream->unconsumed = 0;
	nghttp2_session_set_stream_user_data(session, id, NULL);
	ks_stream_detach(stream);
	return 0;
}

/* -- the connection -------------------------------------------------------------------------------------------- */

static int submit_settings(struct ks_conn *conn)
{
	const struct ks_server_config *config = &conn->worker->server->config;
	const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, config->max_streams},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, config->header_limit_bytes},
		{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
	};

	if (nghttp2_submit_settings(conn->h2.session, NGHTTP2_FLAG_NONE, settings, sizeof(settings) / sizeof(settings[0])) < 0)
		return -ENOMEM;
	return nghttp2_session_set_local_window_size(conn->h2.session, NGHTTP2_FLAG_NONE, 0, CONN_WINDOW) < 0 ? -ENOMEM : 0;
}

static int h2_open(struct ks_conn *conn)
{
	struct ks_server *server = conn->worker->server;

	conn->h2 = (struct ks_h2_conn){0};
	if (nghttp2_session_server_new2(&conn->h2.session, server->h2_callbacks, conn, server->h2_options) < 0)
		return -ENOMEM;
	return submit_settings(conn);
}

static void h2_close(struct ks_conn *conn)
{
	struct ks_stream *stream;

	while ((stream = TAILQ_FIRST(&conn->streams)))
		ks_stream_detach(stream);
	nghttp2_session_del(conn->h2.session);
	conn->h2.session = NULL;
}

static int h2_input(struct ks_conn *conn, const void *p, size_t n)
{
	ssize_t used = nghttp2_session_mem_recv(conn->h2.session, p, n);

	if (used == (ssize_t)n && !conn->h2.calm)
		return 0;
	return -EPROTO;
}

static void h2_eof(struct ks_conn *conn)
{
	ks_conn_kill(conn, "the client has gone");
}

static int h2_output(struct ks_conn *conn)
{
	nghttp2_session *session = conn->h2.session;
	int r = nghttp2_session_send(session);

	if (r < 0)
		return -EPROTO;
	if (!nghttp2_session_want_read(session) && !nghttp2_session_want_write(session))
		conn->finish = true;
	return 0;
}

/* First a notice that keeps every stream that the client has begun; the ping tells when it has seen that. */
static void h2_drain(struct ks_conn *conn)
{
	static const uint8_t opaque[8] = "drain";

	if (conn->h2.goaway_at_ms)
		return;
	nghttp2_submit_shutdown_notice(conn->h2.session);
	nghttp2_submit_ping(conn->h2.session, NGHTTP2_FLAG_NONE, opaque);
	conn->h2.goaway_at_ms = conn->worker->now_ms + GOAWAY_WAIT_MS;
}

static void cut_off_uploads(struct ks_conn *conn, uint64_t now_ms)
{
	struct ks_stream *stream;

	TAILQ_FOREACH(stream, &conn->streams, conn_link)
		if (stream->end_sent && now_ms - stream->progress_ms > DROP_MS)
			cut_off_upload(stream);
}

static bool h2_tick(struct ks_conn *conn, uint64_t now_ms)
{
	const struct ks_server_config *config = &conn->worker->server->config;
	struct ks_h2_conn *h2 = &conn->h2;

	if (h2->goaway_at_ms && h2->goaway_at_ms <= now_ms)
		final_goaway(conn);
	cut_off_uploads(conn, now_ms);
	if (h2->head_since_ms && now_ms - h2->head_since_ms > config->header_timeout_seconds * UINT64_C(1000))
		return false;
	if (conn->n_streams || conn->pending_len)
		return true;
	if (!h2->settings_seen)
		return now_ms - conn->since_ms <= config->header_timeout_seconds * UINT64_C(1000);
	if (!h2->goaway_at_ms && now_ms - conn->since_ms > config->idle_timeout_seconds * UINT64_C(1000)) {
		h2_drain(conn);
		ks_conn_mark(conn);
	}
	return true;
}

static int make_options(nghttp2_option **out_r)
{
	nghttp2_option *options;

	if (nghttp2_option_new(&options) < 0)
		return -ENOMEM;
	nghttp2_option_set_no_auto_window_update(options, 1);
	nghttp2_option_set_no_closed_streams(options, 1);
	nghttp2_option_set_max_settings(options, 32);
	nghttp2_option_set_max_outbound_ack(options, 8 * CONTROL_AT_ONCE); /* ours says why it ends */
	*out_r = options;
	return 0;
}

int ks_h2_setup(struct ks_server *server)
{
	nghttp2_session_callbacks *callbacks;

	if (nghttp2_session_callbacks_new(&callbacks) < 0)
		return -ENOMEM;
	server->h2_callbacks = callbacks;
	nghttp2_session_callbacks_set_send_callback(callbacks, send_frames);
	nghttp2_session_callbacks_set_send_data_callback(callbacks, send_data);
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback2(callbacks, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_send);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
	return make_options(&server->h2_options);
}

const struct ks_protocol ks_h2 = {
	.open = h2_open,
	.input = h2_input,
	.eof = h2_eof,
	.output = h2_output,
	.close = h2_close,
	.drain = h2_drain,
	.tick = h2_tick,
	.answer = h2_answer,
	.more = h2_more,
	.reset = h2_reset,
	.read_body = h2_read_body,
};
