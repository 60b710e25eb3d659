/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/net/conn.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/net/worker.h"
#include "core/util/log.h"

enum {
	READS_PER_TURN = 4,            /* of KS_RAW_BYTES */
	LINGER_MS = 1000,
};

static void on_readable(evutil_socket_t fd, short what, void *arg);
static void on_writable(evutil_socket_t fd, short what, void *arg);

/* -- reading --------------------------------------------------------------------------------------------------- */

static ssize_t pull(gnutls_transport_ptr_t transport, void *data, size_t n)
{
	struct ks_conn *conn = transport;

	if (conn->raw_len == 0) {
		if (conn->raw_eof)
			return 0;
		gnutls_transport_set_errno(conn->session, EAGAIN);
		return -1;
	}
	if (n > conn->raw_len)
		n = conn->raw_len;
	memcpy(data, conn->raw, n);
	conn->raw += n;
	conn->raw_len -= n;
	return (ssize_t)n;
}

/*
 * A connection that is not read is still watched for its end. EV_CLOSED alone is not told of errors, so that libevent would spin; edges of
 * EV_READ are. Edge-triggered events don't mix with others on a descriptor.
 */
static short trigger(const struct ks_conn *conn)
{
	return conn->reading == KS_READ_CLOSED_ONLY ? EV_PERSIST | EV_ET : EV_PERSIST;
}

void ks_conn_arm_write(struct ks_conn *conn)
{
	/* A dead one is closed when the turn ends: the loop must not know its descriptor then, or it would take the next one for this. */
	if (conn->state == KS_CONN_DEAD || event_pending(&conn->write_event, EV_WRITE, NULL))
		return;
	event_assign(&conn->write_event, ks_loop_base(conn->worker->loop), conn->fd, EV_WRITE | trigger(conn), on_writable, conn);
	if (event_add(&conn->write_event, NULL) < 0)
		conn->failed = true;
}

static void arm_read(struct ks_conn *conn)
{
	short what = conn->reading == KS_READ_CLOSED_ONLY ? EV_READ | EV_CLOSED : EV_READ;

	event_assign(&conn->read_event, ks_loop_base(conn->worker->loop), conn->fd, what | trigger(conn), on_readable, conn);
	if (event_add(&conn->read_event, NULL) < 0)
		conn->failed = true;
}

static void set_reading(struct ks_conn *conn, enum ks_conn_reading reading)
{
	if (conn->reading == reading || conn->state == KS_CONN_DEAD)
		return;
	if (conn->reading != KS_READ_OFF)
		event_del(&conn->read_event);
	event_del(&conn->write_event);
	conn->reading = reading;
	if (reading != KS_READ_OFF)
		arm_read(conn);
	if (conn->pending_len)
		ks_conn_arm_write(conn);
	if (conn->failed)
		ks_conn_kill(conn, "out of memory");
}

void ks_conn_read_on(struct ks_conn *conn, bool on)
{
	if (on)
		set_reading(conn, KS_READ_DATA);
	else
		set_reading(conn, conn->half_closed || conn->raw_eof ? KS_READ_OFF : KS_READ_CLOSED_ONLY);
}

void ks_conn_mark(struct ks_conn *conn)
{
	if (conn->dirty || conn->state != KS_CONN_OPEN)
		return;
	conn->dirty = true;
	TAILQ_INSERT_TAIL(&conn->worker->dirty, conn, dirty_link);
}

static void peer_is_done(struct ks_conn *conn)
{
	conn->raw_eof = true;
	conn->protocol->eof(conn);
}

static void give_input(struct ks_conn *conn, gnutls_packet_t packet)
{
	gnutls_datum_t data;

	gnutls_packet_get(packet, &data, NULL);
	if (conn->protocol->input(conn, data.data, data.size) < 0)
		conn->finish = true;
	gnutls_packet_deinit(packet);
	ks_conn_mark(conn);
}

/* Decrypts what has arrived. False when the connection reads no more. */
static bool read_records(struct ks_conn *conn)
{
	while (conn->state == KS_CONN_OPEN && !conn->finish) {
		gnutls_packet_t packet = NULL;
		ssize_t n = gnutls_record_recv_packet(conn->session, &packet);

		if (n > 0) {
			give_input(conn, packet);
			continue;
		}
		if (packet)
			gnutls_packet_deinit(packet);
		if (n == GNUTLS_E_AGAIN && conn->raw_len == 0)
			return true;
		/* It says AGAIN after a key update too. */
		if (n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED || (n < 0 && n != GNUTLS_E_REHANDSHAKE && !gnutls_error_is_fatal((int)n)))
			continue;
		if (n == 0 || n == GNUTLS_E_PREMATURE_TERMINATION)
			peer_is_done(conn);
		else
			ks_conn_kill(conn, gnutls_strerror((int)n)); /* a renegotiation too: it is refused */
		return false;
	}
	return false;
}

/* Fills the worker's buffer from the socket: bytes, 0 at the end, negative: nothing now or broken (then dead). */
static ssize_t fill_raw(struct ks_conn *conn)
{
	ssize_t n;

	do
		n = recv(conn->fd, conn->worker->raw, KS_RAW_BYTES, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
		ks_conn_kill(conn, "connection reset");
		return n;
	}
	conn->raw = conn->worker->raw;
	conn->raw_len = n > 0 ? (size_t)n : 0;
	conn->raw_eof = n == 0;
	return n;
}

static void read_open(struct ks_conn *conn)
{
	for (int i = 0; i < READS_PER_TURN && conn->reading == KS_READ_DATA; i++) {
		ssize_t n = fill_raw(conn);
		bool goes_on;

		if (n < 0)
			return;
		ks_output_begin(conn);
		goes_on = read_records(conn);
		ks_output_end(conn);
		if (!goes_on || n < KS_RAW_BYTES)
			return;
	}
}

/* After our last word: what still comes is thrown away, so that the peer is not sent a reset before it has read. */
static void read_lingering(struct ks_conn *conn)
{
	ssize_t n = fill_raw(conn);

	conn->raw_len = 0;
	if (n != 0)
		return;
	if (conn->pending_len)
		set_reading(conn, KS_READ_OFF);
	else
		ks_conn_kill(conn, "closed");
}

/* Something happened to a connection that is not read: its end, an error, or only more data. */
static void look_for_end(struct ks_conn *conn, bool closed)
{
	int error = 0;
	socklen_t length = sizeof(error);

	if (closed) {
		conn->half_closed = true;
		set_reading(conn, KS_READ_OFF);
		conn->protocol->eof(conn);
	} else if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 || error) {
		ks_conn_kill(conn, "connection reset");
	}
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct ks_conn *conn = arg;
	struct ks_worker *worker = conn->worker;

	(void)fd;
	worker->now_ms = ks_monotonic_ns() / 1000000;
	if (conn->state == KS_CONN_HANDSHAKE) {
		if (!conn->shaking)
			TAILQ_INSERT_TAIL(&worker->shaking, conn, shake_link);
		conn->shaking = true;
		return;
	}
	if (conn->state == KS_CONN_LINGER) {
		read_lingering(conn);
		return;
	}
	if (conn->reading == KS_READ_CLOSED_ONLY)
		look_for_end(conn, what & EV_CLOSED);
	else
		read_open(conn);
}

/* -- writing --------------------------------------------------------------------------------------------------- */

/* All is sent: the peer may read it in peace, unless it has said its last word itself. */
static void all_sent(struct ks_conn *conn)
{
	conn->since_ms = conn->worker->now_ms;
	if (conn->raw_eof || conn->half_closed)
		ks_conn_kill(conn, "closed");
	else
		shutdown(conn->fd, SHUT_WR);
}

static void start_linger(struct ks_conn *conn)
{
	if (conn->protocol) {
		ks_output_begin(conn);
		gnutls_bye(conn->session, GNUTLS_SHUT_WR);
		ks_output_end(conn);
		conn->protocol->close(conn);
		conn->protocol = NULL;
	}
	if (conn->failed) {
		ks_conn_kill(conn, "connection reset");
		return;
	}
	conn->state = KS_CONN_LINGER;
	set_reading(conn, conn->raw_eof ? KS_READ_OFF : KS_READ_DATA);
	if (conn->pending_len == 0)
		all_sent(conn);
}

void ks_conn_flush(struct ks_conn *conn)
{
	int r;

	if (conn->state != KS_CONN_OPEN || conn->pending_len)
		return;
	ks_output_begin(conn);
	r = conn->protocol->output(conn);
	ks_output_end(conn);
	if (conn->state != KS_CONN_OPEN)
		return; /* it was killed meanwhile */
	if (r < 0 || conn->failed)
		ks_conn_kill(conn, "can't send");
	else if (conn->put >= KS_PUT_PER_TURN && conn->pending_len == 0)
		ks_conn_mark(conn);
	else if (conn->finish && conn->pending_len == 0)
		start_linger(conn);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct ks_conn *conn = arg;

	(void)fd;
	(void)what;
	conn->worker->now_ms = ks_monotonic_ns() / 1000000;
	ks_output_send_pending(conn);
	if (conn->failed)
		ks_conn_kill(conn, "connection reset");
	else if (conn->pending_len == 0 && conn->state == KS_CONN_LINGER)
		all_sent(conn);
	else if (conn->pending_len == 0)
		ks_conn_mark(conn);
}

/* -- life ------------------------------------------------------------------------------------------------------ */

static void conn_free(struct ks_conn *conn)
{
	free(conn->peer);
	free(conn);
}

void ks_conn_unpin(struct ks_conn *conn)
{
	if (--conn->pins == 0)
		conn_free(conn);
}

static int set_up_tls(struct ks_conn *conn)
{
	struct ks_server *server = conn->worker->server;

	pthread_mutex_lock(&server->credentials_lock);
	conn->credentials = ks_tls_credentials_ref(server->credentials);
	pthread_mutex_unlock(&server->credentials_lock);
	conn->session = ks_tls_session_new(server->tls, conn->credentials);
	if (!conn->session)
		return -ENOMEM;
	gnutls_transport_set_ptr(conn->session, conn);
	gnutls_transport_set_pull_function(conn->session, pull);
	gnutls_transport_set_vec_push_function(conn->session, ks_output_push);
	return 0;
}

void ks_conn_open(struct ks_worker *worker, int fd, const char *address)
{
	struct ks_conn *conn = calloc(1, sizeof(*conn));

	if (!conn) {
		close(fd);
		atomic_fetch_sub_explicit(&worker->load_conns, 1, memory_order_relaxed);
		return;
	}
	conn->worker = worker;
	conn->fd = fd;
	conn->pins = 1;
	conn->state = KS_CONN_HANDSHAKE;
	conn->since_ms = conn->sent_ms = worker->now_ms;
	TAILQ_INIT(&conn->streams);
	snprintf(conn->address, sizeof(conn->address), "%s", address);
	TAILQ_INSERT_TAIL(&worker->conns, conn, link);
	event_assign(&conn->write_event, ks_loop_base(worker->loop), fd, EV_WRITE | EV_PERSIST, on_writable, conn);
	if (set_up_tls(conn) < 0) {
		ks_conn_kill(conn, "out of memory");
		return;
	}
	set_reading(conn, KS_READ_DATA);
}

void ks_conn_kill(struct ks_conn *conn, const char *why)
{
	struct ks_worker *worker = conn->worker;

	if (conn->state == KS_CONN_DEAD)
		return;
	ks_log(KS_LOG_DEBUG, "net", "connection ends remote=%s reason=\"%s\"", conn->address, why);
	conn->state = KS_CONN_DEAD;
	if (conn->reading != KS_READ_OFF)
		event_del(&conn->read_event);
	event_del(&conn->write_event);
	conn->reading = KS_READ_OFF;
	if (conn->dirty)
		TAILQ_REMOVE(&worker->dirty, conn, dirty_link);
	if (conn->shaking)
		TAILQ_REMOVE(&worker->shaking, conn, shake_link);
	conn->dirty = conn->shaking = false;
	TAILQ_REMOVE(&worker->conns, conn, link);
	TAILQ_INSERT_TAIL(&worker->dead, conn, link);
}

void ks_conn_bury(struct ks_conn *conn)
{
	TAILQ_REMOVE(&conn->worker->dead, conn, link);
	if (conn->protocol)
		conn->protocol->close(conn);
	conn->protocol = NULL;
	if (conn->session)
		gnutls_deinit(conn->session);
	ks_tls_credentials_unref(conn->credentials);
	close(conn->fd);
	free(conn->pending);
	conn->pending = NULL;
	atomic_fetch_sub_explicit(&conn->worker->load_conns, 1, memory_order_relaxed);
	ks_conn_unpin(conn);
}

/* -- handshake ------------------------------------------------------------------------------------------------- */

/* What GnuTLS would only call an unexpected record. */
static bool looks_like_http(const struct ks_conn *conn)
{
	static const char *const starts[] = {"GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "PATCH", "DELET", "PRI *"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (conn->raw_len >= 5 && memcmp(conn->raw, starts[i], 5) == 0)
			return true;
	return false;
}

static void answer_plain_http(struct ks_conn *conn)
{
	static const char text[] = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

	if (ks_output_send(conn, (const uint8_t *)text, sizeof(text) - 1) != (ssize_t)(sizeof(text) - 1))
		ks_conn_kill(conn, "plain HTTP");
	else
		start_linger(conn);
}

/* The handshake is over: more of what was read may be the first request. */
static void start_protocol(struct ks_conn *conn)
{
	conn->protocol = ks_tls_is_http2(conn->session) ? &ks_h2 : &ks_h1;
	conn->state = KS_CONN_OPEN;
	conn->since_ms = conn->worker->now_ms;
	if (ks_tls_copy_peer(conn->session, &conn->peer, &conn->n_peer) < 0 || conn->protocol->open(conn) < 0) {
		ks_conn_kill(conn, "out of memory");
		return;
	}
	ks_conn_mark(conn);
	ks_output_begin(conn);
	read_records(conn);
	ks_output_end(conn);
}

void ks_conn_shake(struct ks_conn *conn)
{
	ssize_t n = fill_raw(conn);
	int r;

	if (n < 0)
		return;
	if (!conn->greeted && looks_like_http(conn)) {
		answer_plain_http(conn);
		return;
	}
	conn->greeted = true;
	ks_output_begin(conn);
	do
		r = gnutls_handshake(conn->session);
	while (r == GNUTLS_E_INTERRUPTED || r == GNUTLS_E_WARNING_ALERT_RECEIVED || r == GNUTLS_E_GOT_APPLICATION_DATA);
	if (r < 0 && gnutls_error_is_fatal(r))
		gnutls_alert_send_appropriate(conn->session, r);
	ks_output_end(conn);
	if (r == 0)
		start_protocol(conn);
	else if (gnutls_error_is_fatal(r))
		ks_conn_kill(conn, gnutls_strerror(r));
	else if (n == 0)
		ks_conn_kill(conn, "closed in the handshake");
}

/* -- time ------------------------------------------------------------------------------------------------------ */

void ks_conn_drain(struct ks_conn *conn)
{
	if (conn->state != KS_CONN_OPEN)
		return;
	conn->protocol->drain(conn);
	ks_conn_mark(conn);
}

/* A whole answer that the client does not take holds memory for nothing. */
static void reset_stuck(struct ks_conn *conn, uint64_t now_ms)
{
	uint64_t limit = conn->worker->server->config.write_timeout_seconds * UINT64_C(1000);
	struct ks_stream *stream, *next;

	for (stream = TAILQ_FIRST(&conn->streams); stream; stream = next) {
		next = TAILQ_NEXT(stream, conn_link);
		if (stream->ended && stream->queued && now_ms - stream->progress_ms > limit)
			ks_stream_reset(stream);
		if (conn->state == KS_CONN_DEAD)
			return;
	}
}

static void reset_slow_bodies(struct ks_conn *conn, uint64_t now_ms)
{
	uint64_t limit = conn->worker->server->config.body_timeout_seconds * UINT64_C(1000);
	struct ks_stream *stream, *next;

	for (stream = TAILQ_FIRST(&conn->streams); stream; stream = next) {
		next = TAILQ_NEXT(stream, conn_link);
		if (stream->body_state == KS_BODY_READING && now_ms - stream->progress_ms > limit)
			ks_stream_reset(stream);
		if (conn->state == KS_CONN_DEAD)
			return;
	}
}

static void tick_open(struct ks_conn *conn, uint64_t now_ms)
{
	const struct ks_server_config *config = &conn->worker->server->config;

	if (conn->pending_len && now_ms - conn->sent_ms > config->write_timeout_seconds * UINT64_C(1000)) {
		ks_conn_kill(conn, "the client takes nothing");
		return;
	}
	if (!conn->protocol->tick(conn, now_ms)) {
		ks_conn_kill(conn, "timed out");
		return;
	}
	reset_slow_bodies(conn, now_ms);
	if (conn->state == KS_CONN_OPEN)
		reset_stuck(conn, now_ms);
}

void ks_conn_tick(struct ks_conn *conn, uint64_t now_ms)
{
	const struct ks_server_config *config = &conn->worker->server->config;
	uint64_t age = now_ms - conn->since_ms, unsent = conn->pending_len ? now_ms - conn->sent_ms : 0;

	switch (conn->state) {
	case KS_CONN_HANDSHAKE:
		if (age > config->handshake_timeout_seconds * UINT64_C(1000))
			ks_conn_kill(conn, "handshake timed out");
		break;
	case KS_CONN_LINGER:
		if (conn->pending_len ? unsent > config->write_timeout_seconds * UINT64_C(1000) : age > LINGER_MS)
			ks_conn_kill(conn, "closed");
		break;
	case KS_CONN_OPEN:
		tick_open(conn, now_ms);
		break;
	default:
		break;
	}
}
