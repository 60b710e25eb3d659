/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the network layer: a server in this process, and a client that
 * speaks raw bytes over TLS. What fails in here ends the test.
 *
 * The server answers by path:
 *   /hello      200 "hello"                       /later     the same, after 20 ms
 *   /echo       the request's body (most 1 MiB)   /refuse    403, the body is not read
 *   /big?N      N bytes, 'a' to 'z' round and round
 *   /stream     three writes of "tick\n" in turns of their own, then the end
 *   /watch      one write of "begun\n", then nothing
 *   /pour       writes 64 KiB whenever all but 64 KiB is gone, for ever
 *   /never      no answer                         /reset     reset
 *   /peer       number of certificates and bytes of the leaf
 *   /where      path|query|authority|remote       /hold      200 "hello"; refers to the stream for 50 ms
 */
#ifndef KS_TESTS_NET_HARNESS_H
#define KS_TESTS_NET_HARNESS_H

#include <gnutls/gnutls.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/net/http.h"

extern _Atomic unsigned net_requests, net_closed, net_bodies, net_drained, net_released;
/* An allocation of the harness on a worker's thread: it must not be made to fail. */
extern _Thread_local volatile bool net_allocates;
extern struct ks_server *net_server;
extern struct ks_loop *net_loop;

/* Certificate and key for the whole program; cmocka group fixtures. */
int net_group_setup(void **state);
int net_group_teardown(void **state);
extern char net_certificate_file[64], net_key_file[64];

/* Starts a server on its own main thread; NULL: defaults. Zeroes the counters. */
void net_start(const struct ks_server_config *config);
/* Stops it, and checks that each stream was closed once. */
void net_stop(void);
/* Bounded waiting for a counter. */
void net_wait(_Atomic unsigned *counter, unsigned at_least);

struct net_client {
	int fd;
	gnutls_session_t tls;
	gnutls_certificate_credentials_t credentials;
	gnutls_datum_t ticket;
};

/* TCP only. */
int net_connect(void);
/* With ALPN `protocol` (NULL: none), and a certificate when asked for. */
void net_open(struct net_client *client, const char *protocol, bool with_certificate);
/* The same without a certificate; false when the handshake fails. */
bool net_try_open(struct net_client *client, const char *protocol);
void net_close(struct net_client *client);
/* Resets the connection; the client must still be closed. */
void net_abort(struct net_client *client);
/* Shuts down our side, TLS and TCP. */
void net_half_close(struct net_client *client);
void net_send(struct net_client *client, const void *p, size_t n);
#define net_say(client, text) net_send(client, text, sizeof(text) - 1)
/* Some bytes; 0 at the end of the connection, whatever ended it. Fails the test after 10 seconds. */
size_t net_receive(struct net_client *client, void *p, size_t n);
/* Everything until the end; NUL-terminated, freed by the next call. */
const char *net_receive_all(struct net_client *client);
/* Until `text` has arrived; what came so far, freed by the next call. */
const char *net_expect(struct net_client *client, const char *text);

#endif
