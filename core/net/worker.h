/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Inside of the network layer: a worker (a thread, its loop, its connections) and the server that owns the workers. */
#ifndef KS_NET_WORKER_H
#define KS_NET_WORKER_H

#include <pthread.h>

#include "core/net/conn.h"

struct nghttp2_session_callbacks;
struct nghttp2_option;

enum {
	KS_RECORD_BYTES = 16384,     /* the largest plaintext of one TLS record */
	KS_WIRE_BYTES = 128 * 1024,  /* records for one system call */
	KS_RAW_BYTES = 64 * 1024,    /* one read from a socket */
};

struct ks_worker {
	struct ks_server *server;
	struct ks_loop *loop;
	pthread_t thread;
	bool draining, stopping;
	struct ks_turn_hook hook;
	struct ks_timer tick, stop_limit;
	struct ks_conns conns, dirty, shaking, dead;
	STAILQ_HEAD(ks_notes, ks_stream) notes;
	STAILQ_HEAD(, ks_stream) free_streams;
	uint32_t n_free_streams, n_streams;
	uint64_t now_ms; /* of this turn */
	/* Output of the connection that is being flushed. */
	struct ks_conn *writing;
	size_t record_len, wire_len;
	time_t date_second;
	char date[32];
	struct ks_task drain_task, kill_task, stop_task, drained_task;
	bool drained_told;
	uint8_t *record, *wire, *raw;
	/* Read by the thread that accepts. */
	_Alignas(64) _Atomic uint32_t load_conns;
	_Atomic uint32_t load_streams;
};

struct ks_server {
	struct ks_loop *main_loop;
	struct ks_http_callbacks callbacks;
	struct ks_server_config config; /* with defaults filled in; its strings are not kept */
	struct ks_tls_policy *tls;
	pthread_mutex_t credentials_lock;
	struct ks_tls_credentials *credentials;
	struct nghttp2_session_callbacks *h2_callbacks;
	struct nghttp2_option *h2_options;
	struct ks_worker **workers;
	uint32_t n_workers;
	struct ks_listener *listener;
	uint32_t n_drained;
	struct ks_timer drain_limit;
	bool draining, cut, stopped;
	void (*drained)(void *arg);
	void *drained_arg;
};

int ks_worker_start(struct ks_server *server, uint32_t index, struct ks_worker **out_r, struct ks_error *err)
	__attribute__((warn_unused_result));
/* Asks the thread to end; ks_worker_join waits for it. */
void ks_worker_stop(struct ks_worker *worker);
void ks_worker_join(struct ks_worker *worker);
void ks_worker_free(struct ks_worker **worker);
/* Any thread. Takes over the descriptor. */
void ks_worker_hand_over(struct ks_worker *worker, int fd, const char *address);
/* The value of a Date header, now: 29 characters. */
struct ks_str ks_worker_date(struct ks_worker *worker);
void ks_worker_note(struct ks_worker *worker, struct ks_stream *stream, uint8_t note);

/* Opens the listening socket; connections go to the server's workers. */
int ks_listener_new(struct ks_server *server, struct ks_listener **out_r, struct ks_error *err) __attribute__((warn_unused_result));
uint16_t ks_listener_port(const struct ks_listener *listener);
void ks_listener_free(struct ks_listener **listener);

/* nghttp2's tables of callbacks and options, shared by all sessions. 0 or -ENOMEM. */
int ks_h2_setup(struct ks_server *server) __attribute__((warn_unused_result));

/* "OK" of 200; NULL when it has no name. */
const char *ks_http_reason(int status);

#endif
