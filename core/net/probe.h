/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a program on this machine whether it is well: one GET over TLS to a port of 127.0.0.1, whoever's certificate
 * answers. In the words of Go's client when it fails.
 */
#ifndef KS_NET_PROBE_H
#define KS_NET_PROBE_H

#include <gnutls/gnutls.h>

#include "core/util/loop.h"

struct event;

struct ks_probe {
	/* the caller's */
	struct ks_loop *loop;
	uint16_t port;
	const char *path;
	uint32_t timeout_ms;
	void (*done)(struct ks_probe *probe); /* on the loop, once, never before ks_probe_start has returned */
	void *arg;
	/* the result */
	bool healthy;
	char text[256]; /* what was answered, or what went wrong */
	/* private */
	int fd;
	enum { KS_PROBE_CONNECT, KS_PROBE_HANDSHAKE, KS_PROBE_SEND, KS_PROBE_RECEIVE, KS_PROBE_OVER } state;
	struct event *event;
	struct ks_timer timer;
	gnutls_session_t session;
	gnutls_certificate_credentials_t credentials;
	char answer[4096];
	size_t n;
};

/* On the loop's thread, zeroed but for the caller's part; it must stay until `done`. */
void ks_probe_start(struct ks_probe *probe);

#endif
