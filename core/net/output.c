/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Bytes out: gathered into records, records gathered into system calls. */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "core/net/worker.h"

enum {
	LARGEST_KEPT_PENDING = 64 * 1024,
	RECORD_ROOM = KS_RECORD_BYTES + 512, /* of one record on the wire */
};

static bool keep_pending(struct ks_conn *conn, const uint8_t *p, size_t n)
{
	if (conn->pending_len + n > conn->pending_cap - conn->pending_off) {
		size_t cap = conn->pending_len + n + 4096;
		uint8_t *bigger = malloc(cap);

		if (!bigger) {
			conn->failed = true;
			return false;
		}
		if (conn->pending_len)
			memcpy(bigger, conn->pending + conn->pending_off, conn->pending_len);
		free(conn->pending);
		conn->pending = bigger;
		conn->pending_cap = cap;
		conn->pending_off = 0;
	}
	memcpy(conn->pending + conn->pending_off + conn->pending_len, p, n);
	conn->pending_len += n;
	return true;
}

ssize_t ks_output_send(struct ks_conn *conn, const uint8_t *p, size_t n)
{
	ssize_t sent;

	do
		sent = send(conn->fd, p, n, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent > 0)
		conn->sent_ms = conn->worker->now_ms;
	if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	if (sent < 0)
		conn->failed = true;
	return sent;
}

static void send_wire(struct ks_conn *conn)
{
	struct ks_worker *worker = conn->worker;
	ssize_t sent = 0;

	if (worker->wire_len == 0 || conn->failed)
		return;
	if (!conn->pending_len)
		sent = ks_output_send(conn, worker->wire, worker->wire_len);
	if (sent >= 0 && (size_t)sent < worker->wire_len)
		if (keep_pending(conn, worker->wire + sent, worker->wire_len - (size_t)sent))
			ks_conn_arm_write(conn);
	worker->wire_len = 0;
}

void ks_output_send_pending(struct ks_conn *conn)
{
	ssize_t sent = ks_output_send(conn, conn->pending + conn->pending_off, conn->pending_len);

	if (sent <= 0)
		return;
	conn->pending_off += (size_t)sent;
	conn->pending_len -= (size_t)sent;
	if (conn->pending_len)
		return;
	conn->pending_off = 0;
	event_del(&conn->write_event);
	if (conn->pending_cap > LARGEST_KEPT_PENDING) {
		free(conn->pending);
		conn->pending = NULL;
		conn->pending_cap = 0;
	}
}

/* GnuTLS hands over whole records; they are collected. */
ssize_t ks_output_push(gnutls_transport_ptr_t transport, const giovec_t *vector, int n)
{
	struct ks_conn *conn = transport;
	struct ks_worker *worker = conn->worker;
	ssize_t total = 0;

	for (int i = 0; i < n; i++) {
		const uint8_t *p = vector[i].iov_base;
		size_t left = vector[i].iov_len;

		total += (ssize_t)left;
		while (left) {
			size_t room = KS_WIRE_BYTES - worker->wire_len, part = left < room ? left : room;

			memcpy(worker->wire + worker->wire_len, p, part);
			worker->wire_len += part;
			p += part;
			left -= part;
			if (worker->wire_len == KS_WIRE_BYTES)
				send_wire(conn);
		}
	}
	if (!conn->failed)
		return total;
	gnutls_transport_set_errno(conn->session, EPIPE);
	return -1;
}

void ks_output_begin(struct ks_conn *conn)
{
	conn->worker->writing = conn;
	conn->worker->record_len = conn->worker->wire_len = 0;
	conn->put = 0;
}

static void emit_record(struct ks_conn *conn, const void *p, size_t n)
{
	const char *next = p;

	while (n && !conn->failed) {
		ssize_t r;

		if (KS_WIRE_BYTES - conn->worker->wire_len < RECORD_ROOM)
			send_wire(conn);
		r = gnutls_record_send(conn->session, next, n); /* less than n when the peer wants small records */
		if (r < 0 && r != GNUTLS_E_INTERRUPTED)
			conn->failed = true;
		if (r <= 0)
			continue;
		next += r;
		n -= (size_t)r;
	}
}

void ks_output_end(struct ks_conn *conn)
{
	struct ks_worker *worker = conn->worker;

	if (worker->record_len)
		emit_record(conn, worker->record, worker->record_len);
	worker->record_len = 0;
	send_wire(conn);
	worker->writing = NULL;
}

bool ks_conn_may_put(const struct ks_conn *conn)
{
	return conn->pending_len == 0 && !conn->failed && conn->put < KS_PUT_PER_TURN;
}

void ks_conn_put(struct ks_conn *conn, const void *data, size_t n)
{
	struct ks_worker *worker = conn->worker;
	const uint8_t *p = data;

	conn->put += n;
	while (n) {
		size_t room = KS_RECORD_BYTES - worker->record_len, part = n < room ? n : room;

		if (part == KS_RECORD_BYTES) {
			emit_record(conn, p, part); /* a whole record of one piece need not be gathered */
		} else {
			memcpy(worker->record + worker->record_len, p, part);
			worker->record_len += part;
			if (worker->record_len == KS_RECORD_BYTES) {
				emit_record(conn, worker->record, KS_RECORD_BYTES);
				worker->record_len = 0;
			}
		}
		p += part;
		n -= part;
	}
}
