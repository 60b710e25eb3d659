/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/net/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void on_event(evutil_socket_t fd, short what, void *arg);

/* -- the end ------------------------------------------------------------------------------------------------------ */

static void give_back(struct ks_probe *p)
{
	ks_timer_cancel(&p->timer);
	if (p->event)
		event_free(p->event);
	if (p->session)
		gnutls_deinit(p->session);
	if (p->credentials)
		gnutls_certificate_free_credentials(p->credentials);
	if (p->fd >= 0)
		close(p->fd);
	p->event = NULL;
	p->session = NULL;
	p->credentials = NULL;
	p->fd = -1;
}

static void finish(struct ks_probe *p)
{
	give_back(p);
	p->state = KS_PROBE_OVER;
	p->done(p);
}

static void say(struct ks_probe *p, const char *why)
{
	snprintf(p->text, sizeof(p->text), "Get \"https://127.0.0.1:%u%s\": %s", (unsigned)p->port, p->path, why);
}

static void fail(struct ks_probe *p, const char *why)
{
	say(p, why);
	finish(p);
}

static void fail_connect(struct ks_probe *p, int error)
{
	char why[128];

	/* Go writes the system's words small. */
	snprintf(why, sizeof(why), "dial tcp 127.0.0.1:%u: connect: %s", (unsigned)p->port, strerror(error));
	for (char *c = strrchr(why, ':'); *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	fail(p, why);
}

static void on_timeout(struct ks_timer *timer)
{
	fail((struct ks_probe *)((char *)timer - offsetof(struct ks_probe, timer)),
		"context deadline exceeded (Client.Timeout exceeded while awaiting headers)");
}

/* -- the answer --------------------------------------------------------------------------------------------------- */

static void read_answer(struct ks_probe *p)
{
	char *body = strstr(p->answer, "\r\n\r\n");
	int code = 0;

	if (!body || sscanf(p->answer, "HTTP/1.%*d %d", &code) != 1) {
		fail(p, "EOF");
		return;
	}
	p->healthy = code >= 200 && code < 400;
	if (p->healthy)
		snprintf(p->text, sizeof(p->text), "%s", body + 4);
	else
		snprintf(p->text, sizeof(p->text), "HTTP probe failed with statuscode: %d", code);
	finish(p);
}

/* -- steps -------------------------------------------------------------------------------------------------------- */

static void wait_for(struct ks_probe *p, short what)
{
	if (p->event)
		event_free(p->event);
	p->event = event_new(ks_loop_base(p->loop), p->fd, what, on_event, p);
	if (!p->event || event_add(p->event, NULL) < 0)
		fail(p, "out of memory");
}

/* 1: it has been done; 0: it has to wait; negative: a fault of GnuTLS. */
static int settle(struct ks_probe *p, ssize_t result)
{
	if (result == GNUTLS_E_AGAIN || result == GNUTLS_E_INTERRUPTED) {
		wait_for(p, gnutls_record_get_direction(p->session) ? EV_WRITE : EV_READ);
		return 0;
	}
	return result < 0 ? (int)result : 1;
}

static int begin_tls(struct ks_probe *p)
{
	if (gnutls_init(&p->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK) < 0 || gnutls_certificate_allocate_credentials(&p->credentials) < 0 ||
		gnutls_set_default_priority(p->session) < 0 || gnutls_credentials_set(p->session, GNUTLS_CRD_CERTIFICATE, p->credentials) < 0)
		return -1;
	gnutls_transport_set_int(p->session, p->fd);
	return 0;
}

static int shake_hands(struct ks_probe *p)
{
	int result;

	do {
		result = gnutls_handshake(p->session);
	} while (result < 0 && result != GNUTLS_E_AGAIN && result != GNUTLS_E_INTERRUPTED && !gnutls_error_is_fatal(result));
	return settle(p, result);
}

static int send_request(struct ks_probe *p)
{
	char request[256];
	int n = snprintf(request, sizeof(request),
		"GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUser-Agent: kube-probe/1.36\r\nAccept: */*\r\nConnection: close\r\n\r\n", p->path,
		(unsigned)p->port);

	return settle(p, gnutls_record_send(p->session, request, (size_t)n));
}

/* Until the other side has said all. */
static int receive(struct ks_probe *p)
{
	ssize_t got;

	do {
		got = gnutls_record_recv(p->session, p->answer + p->n, sizeof(p->answer) - 1 - p->n);
		if (got > 0)
			p->n += (size_t)got;
	} while (got > 0 && p->n < sizeof(p->answer) - 1);
	/* Who closes without saying goodbye has said all, too. */
	return got == GNUTLS_E_PREMATURE_TERMINATION ? 1 : settle(p, got);
}

static int connected(struct ks_probe *p)
{
	int error = 0;
	socklen_t size = sizeof(error);

	if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	return error;
}

static void go_on(struct ks_probe *p)
{
	static int (*const steps[])(struct ks_probe * p) = {
		[KS_PROBE_HANDSHAKE] = shake_hands, [KS_PROBE_SEND] = send_request, [KS_PROBE_RECEIVE] = receive};

	while (p->state != KS_PROBE_OVER) {
		int result = steps[p->state](p);

		if (p->state == KS_PROBE_OVER || !result)
			return;
		if (result < 0) {
			fail(p, gnutls_strerror(result));
			return;
		}
		if (p->state == KS_PROBE_RECEIVE) {
			read_answer(p);
			return;
		}
		p->state++;
	}
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct ks_probe *p = arg;
	int error;

	(void)fd;
	(void)what;
	if (p->state == KS_PROBE_CONNECT) {
		error = connected(p);
		if (error) {
			fail_connect(p, error);
			return;
		}
		if (begin_tls(p) < 0) {
			fail(p, "out of memory");
			return;
		}
		p->state = KS_PROBE_HANDSHAKE;
	}
	go_on(p);
}

/* What went wrong at once is told a turn later. */
static void on_fault(struct ks_timer *timer)
{
	finish((struct ks_probe *)((char *)timer - offsetof(struct ks_probe, timer)));
}

static void fail_later(struct ks_probe *p)
{
	p->timer.fire = on_fault;
	ks_timer_start(p->loop, &p->timer, 0);
}

void ks_probe_start(struct ks_probe *p)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(p->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	p->state = KS_PROBE_CONNECT;
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (p->fd < 0) {
		say(p, "socket: too many open files");
		fail_later(p);
		return;
	}
	/* Refused at once: the descriptor is ready, and its error says so. */
	if (connect(p->fd, (struct sockaddr *)&address, sizeof(address)) < 0 && errno != EINPROGRESS) {
		int error = errno;

		snprintf(p->text, sizeof(p->text), "Get \"https://127.0.0.1:%u%s\": dial tcp 127.0.0.1:%u: connect: %s", (unsigned)p->port, p->path,
			(unsigned)p->port, error == ECONNREFUSED ? "connection refused" : "network is unreachable");
		fail_later(p);
		return;
	}
	p->event = event_new(ks_loop_base(p->loop), p->fd, EV_WRITE, on_event, p);
	if (!p->event || event_add(p->event, NULL) < 0) {
		say(p, "out of memory");
		fail_later(p);
		return;
	}
	p->timer.fire = on_timeout;
	ks_timer_start(p->loop, &p->timer, p->timeout_ms);
}
