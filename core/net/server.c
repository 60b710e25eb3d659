/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "core/net/worker.h"
#include "core/util/log.h"

enum {
	DEFAULT_HEADER_LIMIT = 1024 * 1024,
	DEFAULT_IDLE_S = 90,
	DEFAULT_HANDSHAKE_S = 10,
	DEFAULT_HEADER_S = 32,
	DEFAULT_BODY_S = 30,
	DEFAULT_WRITE_S = 120,
	DEFAULT_STREAMS = 250,
	/* Descriptors that are left to stores, logs and outgoing connections. */
	RESERVED_DESCRIPTORS = 128,
	MAX_WORKERS = 1024,
};

static uint32_t n_cores(void)
{
	cpu_set_t set;
	int n = 1;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	return n > 0 ? (uint32_t)n : 1;
}

static uint32_t connections_by_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > 1000000)
		return 1000000;
	return limit.rlim_cur > 2 * RESERVED_DESCRIPTORS ? (uint32_t)limit.rlim_cur - RESERVED_DESCRIPTORS : (uint32_t)limit.rlim_cur / 2;
}

static void set_default(uint32_t *value, uint32_t fallback)
{
	if (*value == 0)
		*value = fallback;
}

static void fill_defaults(struct ks_server_config *config)
{
	set_default(&config->n_workers, n_cores());
	if (config->n_workers > MAX_WORKERS)
		config->n_workers = MAX_WORKERS;
	set_default(&config->header_limit_bytes, DEFAULT_HEADER_LIMIT);
	set_default(&config->idle_timeout_seconds, DEFAULT_IDLE_S);
	set_default(&config->handshake_timeout_seconds, DEFAULT_HANDSHAKE_S);
	set_default(&config->header_timeout_seconds, DEFAULT_HEADER_S);
	set_default(&config->body_timeout_seconds, DEFAULT_BODY_S);
	set_default(&config->write_timeout_seconds, DEFAULT_WRITE_S);
	set_default(&config->max_streams, DEFAULT_STREAMS);
	set_default(&config->max_connections, connections_by_limit());
}

void ks_server_stop(struct ks_server *server)
{
	if (server->stopped)
		return;
	server->stopped = true;
	ks_listener_free(&server->listener);
	ks_timer_cancel(&server->drain_limit);
	for (uint32_t i = 0; i < server->n_workers; i++)
		ks_worker_stop(server->workers[i]);
	for (uint32_t i = 0; i < server->n_workers; i++)
		ks_worker_join(server->workers[i]);
}

static void free_all(struct ks_server *server)
{
	ks_server_stop(server);
	for (uint32_t i = 0; i < server->n_workers; i++)
		ks_worker_free(&server->workers[i]);
	free(server->workers);
	nghttp2_session_callbacks_del(server->h2_callbacks);
	nghttp2_option_del(server->h2_options);
	ks_tls_credentials_unref(server->credentials);
	ks_tls_policy_free(&server->tls);
	pthread_mutex_destroy(&server->credentials_lock);
	free(server);
}

static int start_workers(struct ks_server *server, struct ks_error *err)
{
	server->workers = calloc(server->config.n_workers, sizeof(struct ks_worker *));
	if (!server->workers)
		return ks_error_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < server->config.n_workers; i++) {
		int r = ks_worker_start(server, i, &server->workers[i], err);

		if (r < 0)
			return r;
		server->n_workers++;
	}
	return 0;
}

static int set_up(struct ks_server *server, const struct ks_server_config *config, struct ks_error *err)
{
	int r = ks_tls_policy_new(&server->tls, err);

	if (r == 0)
		r = ks_tls_credentials_new(config, &server->credentials, err);
	if (r < 0)
		return r;
	if (ks_h2_setup(server) < 0)
		return ks_error_set(err, -ENOMEM, "out of memory");
	r = start_workers(server, err);
	return r < 0 ? r : ks_listener_new(server, &server->listener, err);
}

static void on_drained(struct ks_task *task);
static void on_drain_limit(struct ks_timer *timer);

int ks_server_start(struct ks_loop *main_loop, const struct ks_server_config *config, const struct ks_http_callbacks *callbacks,
	struct ks_server **out_r, struct ks_error *err)
{
	struct ks_server *server = calloc(1, sizeof(*server));
	int r;

	if (!server)
		return ks_error_set(err, -ENOMEM, "out of memory");
	server->main_loop = main_loop;
	server->callbacks = *callbacks;
	server->config = *config;
	fill_defaults(&server->config);
	pthread_mutex_init(&server->credentials_lock, NULL);
	server->drain_limit.fire = on_drain_limit;
	signal(SIGPIPE, SIG_IGN);
	r = set_up(server, config, err);
	if (r < 0) {
		free_all(server);
		return r;
	}
	server->config.bind_address = server->config.certificate_file = server->config.key_file = server->config.client_ca_file = NULL;
	*out_r = server;
	return 0;
}

uint16_t ks_server_port(const struct ks_server *server)
{
	return ks_listener_port(server->listener);
}

uint32_t ks_server_n_workers(const struct ks_server *server)
{
	return server->n_workers;
}

struct ks_loop *ks_server_worker(struct ks_server *server, uint32_t index)
{
	return server->workers[index]->loop;
}

int ks_server_reload_tls(struct ks_server *server, const struct ks_server_config *config, struct ks_error *err)
{
	struct ks_tls_credentials *credentials, *old;
	int r = ks_tls_credentials_new(config, &credentials, err);

	if (r < 0)
		return r;
	pthread_mutex_lock(&server->credentials_lock);
	old = server->credentials;
	server->credentials = credentials;
	pthread_mutex_unlock(&server->credentials_lock);
	ks_tls_credentials_unref(old);
	return 0;
}

/* -- the end --------------------------------------------------------------------------------------------------- */

static void on_drained(struct ks_task *task)
{
	struct ks_worker *worker = (struct ks_worker *)((char *)task - offsetof(struct ks_worker, drained_task));
	struct ks_server *server = worker->server;

	if (++server->n_drained < server->n_workers)
		return;
	ks_timer_cancel(&server->drain_limit);
	server->drained(server->drained_arg);
}

static void on_drain_limit(struct ks_timer *timer)
{
	ks_server_cut((struct ks_server *)((char *)timer - offsetof(struct ks_server, drain_limit)));
}

void ks_server_cut(struct ks_server *server)
{
	if (!server->draining || server->cut)
		return;
	server->cut = true;
	ks_timer_cancel(&server->drain_limit);
	for (uint32_t i = 0; i < server->n_workers; i++)
		ks_loop_post(server->workers[i]->loop, &server->workers[i]->kill_task);
}

void ks_server_drain(struct ks_server *server, uint64_t deadline_ms, void (*drained)(void *arg), void *arg)
{
	server->draining = true;
	server->drained = drained;
	server->drained_arg = arg;
	ks_listener_free(&server->listener);
	ks_timer_start(server->main_loop, &server->drain_limit, deadline_ms);
	for (uint32_t i = 0; i < server->n_workers; i++) {
		server->workers[i]->drained_task.run = on_drained;
		ks_loop_post(server->workers[i]->loop, &server->workers[i]->drain_task);
	}
}

void ks_server_free(struct ks_server **server)
{
	if (!*server)
		return;
	free_all(*server);
	*server = NULL;
}
