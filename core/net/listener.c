/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The one listening socket, on the main loop. */
#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/net/worker.h"
#include "core/util/log.h"

enum {
	BACKLOG = 4096,
	ACCEPTS_PER_TURN = 64,
	/* Out of descriptors: no use in being woken for a connection that can't be taken. */
	PAUSE_MS = 100,
	KEEPALIVE_IDLE_S = 30, KEEPALIVE_INTERVAL_S = 15, KEEPALIVE_COUNT = 4,
};

struct ks_listener {
	struct ks_server *server;
	int fd;
	uint16_t port;
	struct event *event;
	struct ks_timer pause;
	uint64_t last_warning_ms;
};

static void set_int(int fd, int level, int option, int value)
{
	/* A connection without such an option still works. */
	if (setsockopt(fd, level, option, &value, sizeof(value)) < 0)
		ks_log(KS_LOG_DEBUG, "net", "setsockopt failed option=%d error=\"%s\"", option, strerror(errno));
}

static void set_options(int fd)
{
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
	set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT);
}

static void format_address(const struct sockaddr_storage *address, char *out, size_t size)
{
	char text[INET6_ADDRSTRLEN] = "";
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;

	if (address->ss_family == AF_INET) {
		inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
		snprintf(out, size, "%s:%u", text, ntohs(v4->sin_port));
	} else if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		inet_ntop(AF_INET, v6->sin6_addr.s6_addr + 12, text, sizeof(text));
		snprintf(out, size, "%s:%u", text, ntohs(v6->sin6_port));
	} else {
		inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
		snprintf(out, size, "[%s]:%u", text, ntohs(v6->sin6_port));
	}
}

/* Connections first: they are few and long. Streams decide between equals. */
static struct ks_worker *least_loaded(struct ks_server *server, uint32_t *total_r)
{
	struct ks_worker *best = NULL;
	uint32_t best_conns = 0, best_streams = 0;

	*total_r = 0;
	for (uint32_t i = 0; i < server->n_workers; i++) {
		uint32_t conns = atomic_load_explicit(&server->workers[i]->load_conns, memory_order_relaxed);
		uint32_t streams = atomic_load_explicit(&server->workers[i]->load_streams, memory_order_relaxed);

		*total_r += conns;
		if (best && (conns > best_conns || (conns == best_conns && streams >= best_streams)))
			continue;
		best = server->workers[i];
		best_conns = conns;
		best_streams = streams;
	}
	return best;
}

static void warn(struct ks_listener *listener, const char *what)
{
	uint64_t now = ks_monotonic_ns() / 1000000;

	if (listener->last_warning_ms && now - listener->last_warning_ms < 1000)
		return;
	listener->last_warning_ms = now;
	ks_log(KS_LOG_WARN, "net", "connection refused reason=\"%s\"", what);
}

static void hand_out(struct ks_listener *listener, int fd, const struct sockaddr_storage *from)
{
	struct ks_server *server = listener->server;
	uint32_t total;
	struct ks_worker *worker = least_loaded(server, &total);
	char address[64];

	if (total >= server->config.max_connections) {
		warn(listener, "too many connections");
		close(fd);
		return;
	}
	set_options(fd);
	format_address(from, address, sizeof(address));
	ks_worker_hand_over(worker, fd, address);
}

static void go_on(struct ks_timer *timer)
{
	struct ks_listener *listener = (struct ks_listener *)((char *)timer - offsetof(struct ks_listener, pause));

	event_add(listener->event, NULL);
}

static void on_connection(evutil_socket_t fd, short what, void *arg)
{
	struct ks_listener *listener = arg;

	(void)what;
	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		struct sockaddr_storage from;
		socklen_t length = sizeof(from);
		int client = accept4(fd, (struct sockaddr *)&from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (client >= 0) {
			hand_out(listener, client, &from);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			warn(listener, strerror(errno));
			event_del(listener->event);
			ks_timer_start(listener->server->main_loop, &listener->pause, PAUSE_MS);
			return;
		}
		if (errno == EAGAIN || errno == EWOULDBLOCK)
			return;
	}
}

static int resolve(const char *address, uint16_t port, struct addrinfo **out_r, struct ks_error *err)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV};
	char service[8];
	int r;

	snprintf(service, sizeof(service), "%u", port);
	r = getaddrinfo(address, service, &hints, out_r);
	if (r != 0)
		return ks_error_set(err, -EINVAL, "bad listening address \"%s\": %s", address, gai_strerror(r));
	return 0;
}

/* SO_REUSEADDR lets us start again at once after an end; a second listener on the port is refused by the kernel all the same. */
static int bind_and_listen(const struct addrinfo *where, struct ks_error *err)
{
	int fd = socket(where->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return ks_error_set(err, -errno, "can't make a socket: %s", strerror(errno));
	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (where->ai_family == AF_INET6)
		set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	if (bind(fd, where->ai_addr, where->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	error = errno;
	close(fd);
	return ks_error_set(err, -error, "%s", strerror(error));
}

static uint16_t bound_port(int fd)
{
	struct sockaddr_storage address = {0};
	socklen_t length = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &length) < 0)
		return 0;
	if (address.ss_family == AF_INET)
		return ntohs(((struct sockaddr_in *)&address)->sin_port);
	return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
}

int ks_listener_new(struct ks_server *server, struct ks_listener **out_r, struct ks_error *err)
{
	const char *address = server->config.bind_address ? server->config.bind_address : "::";
	struct ks_listener *listener;
	struct addrinfo *where;
	int fd, r;

	r = resolve(address, server->config.port, &where, err);
	if (r < 0)
		return r;
	fd = bind_and_listen(where, err);
	freeaddrinfo(where);
	if (fd < 0)
		return ks_error_wrap(err, fd, "can't listen on %s port %u", address, server->config.port);
	listener = calloc(1, sizeof(*listener));
	if (!listener) {
		close(fd);
		return ks_error_set(err, -ENOMEM, "out of memory");
	}
	listener->server = server;
	listener->fd = fd;
	listener->port = bound_port(fd);
	listener->pause.fire = go_on;
	listener->event = event_new(ks_loop_base(server->main_loop), fd, EV_READ | EV_PERSIST, on_connection, listener);
	if (!listener->event || event_add(listener->event, NULL) < 0) {
		ks_listener_free(&listener);
		return ks_error_set(err, -ENOMEM, "out of memory");
	}
	*out_r = listener;
	return 0;
}

uint16_t ks_listener_port(const struct ks_listener *listener)
{
	return listener->port;
}

void ks_listener_free(struct ks_listener **listener)
{
	struct ks_listener *l = *listener;

	if (!l)
		return;
	*listener = NULL;
	ks_timer_cancel(&l->pause);
	if (l->event)
		event_free(l->event);
	close(l->fd);
	free(l);
}
