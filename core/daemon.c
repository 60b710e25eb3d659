/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/daemon.h"

#include <errno.h>
#include <event2/event.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/bootstrap.h"
#include "core/cache/cache.h"
#include "core/config/config.h"
#include "core/membership.h"
#include "core/pipeline/server.h"
#include "core/registry/allocate/pools.h"
#include "core/registry/allocate/repair.h"
#include "core/registry/registry.h"
#include "core/static_plugins.h"
#include "core/upkeep.h"
#include "core/util/log.h"
#include "plugins/host/host.h"

enum { READY_POLL_MS = 2, N_SIGNALS = 3, REPAIR_MS = 3 * 60 * 1000 };

struct ks_daemon {
	const struct ks_daemon_options *options;
	struct ks_config *config;
	struct ks_loop *loop;
	struct ks_plugins *plugins;
	struct ks_server_state server;
	struct ks_bootstrap bootstrap;
	struct ks_membership *membership;
	struct ks_repair *repair;
	struct ks_upkeep upkeep;
	struct ks_timer ready_timer, repair_timer;
	struct event *signals[N_SIGNALS];
	bool pipeline_made, plugins_started, ending, failed;
	bool asked_to_stop; /* before there was a server */
};

/* The reason of a failed start goes to stderr as it is, without time and level: a person reads it. */
static int tell(const struct ks_error *err, int code)
{
	fprintf(stderr, "keelson: %s\n", err->text);
	return code;
}

static int tell_problems(const struct ks_problems *problems, int code)
{
	fwrite(problems->text.data, 1, problems->text.len, stderr);
	return code;
}

/* -- reload ------------------------------------------------------------------------------------- */

static void fill_server_config(struct ks_daemon *d, const struct ks_config *config, struct ks_server_config *out);

static void reload_tls(struct ks_daemon *d, const struct ks_config *config)
{
	struct ks_server_config http;
	struct ks_error err;

	fill_server_config(d, config, &http);
	if (ks_server_reload_tls(d->server.http, &http, &err) < 0)
		ks_log(KS_LOG_ERROR, "reload", "the serving certificate stays as it is: %s", err.text);
}

/* What is read from the configuration at start alone keeps its value: the first configuration lives as long as the server. */
static void reload(struct ks_daemon *d)
{
	struct ks_config *config = NULL;
	struct ks_problems problems;

	ks_problems_init(&problems);
	if (ks_config_load(d->options->config_file, d->options->state_directory, &config, &problems) < 0 ||
		ks_plugins_reload(d->plugins, config, &problems) < 0) {
		ks_log(KS_LOG_ERROR, "reload", "the new configuration is refused, the old one stays in force");
		tell_problems(&problems, 0);
	} else {
		ks_log_set_level((enum ks_log_level)config->log_level);
		reload_tls(d, config);
		ks_log(KS_LOG_INFO, "reload", "%s is in force", d->options->config_file);
	}
	ks_config_free(&config);
	ks_problems_fini(&problems);
}

/* -- the end ------------------------------------------------------------------------------------- */

static void drained(void *arg)
{
	struct ks_daemon *d = arg;

	ks_loop_stop(d->loop);
}

static void end_connections(void *arg)
{
	struct ks_daemon *d = arg;

	if (d->ending)
		return;
	d->ending = true;
	ks_pipeline_end_watches(&d->server);
	ks_server_drain(d->server.http, d->config->server.drain_timeout_ms, drained, d);
}

/* Nobody is sent here any more; then those who are here go. */
static void begin_drain(struct ks_daemon *d)
{
	if (atomic_exchange(&d->server.draining, true)) {
		ks_log(KS_LOG_WARN, "server", "asked to stop a second time: requests in flight are dropped");
		end_connections(d);
		ks_server_cut(d->server.http);
		return;
	}
	ks_log(KS_LOG_INFO, "server", "draining");
	if (d->membership)
		ks_membership_stop(d->membership, end_connections, d);
	else
		end_connections(d);
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
	struct ks_daemon *d = arg;

	(void)what;
	if (!d->server.http)
		d->asked_to_stop |= number != SIGHUP;
	else if (number == SIGHUP)
		reload(d);
	else
		begin_drain(d);
}

static int watch_signals(struct ks_daemon *d)
{
	static const int numbers[N_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};

	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < N_SIGNALS; i++) {
		d->signals[i] = evsignal_new(ks_loop_base(d->loop), numbers[i], on_signal, d);
		if (!d->signals[i] || event_add(d->signals[i], NULL) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* -- ready ---------------------------------------------------------------------------------------- */

static void announce(struct ks_daemon *d)
{
	uint64_t ms = (ks_monotonic_ns() - d->server.started_ns) / 1000000;

	ks_log(KS_LOG_INFO, "server", "ready after_ms=%llu port=%u", (unsigned long long)ms, (unsigned)ks_server_port(d->server.http));
	if (d->options->ready_fd < 0)
		return;
	dprintf(d->options->ready_fd, "ready %u\n", (unsigned)ks_server_port(d->server.http));
	close(d->options->ready_fd);
}

/* What the cluster can't do without is there: this server joins those that look after it. */
static bool join(struct ks_daemon *d)
{
	struct ks_error err = {"out of memory"};

	if (!d->membership && !atomic_load(&d->server.draining))
		d->membership = ks_membership_new(&d->server, d->bootstrap.objects, d->bootstrap.n, ks_server_port(d->server.http), &err);
	if (d->membership || atomic_load(&d->server.draining))
		return true;
	ks_log(KS_LOG_ERROR, "server", "%s", err.text);
	return false;
}

/* Nothing signals that all of it is true, and it takes milliseconds: it is looked at until it is. */
static void look_whether_ready(struct ks_timer *timer)
{
	struct ks_daemon *d = (struct ks_daemon *)((char *)timer - offsetof(struct ks_daemon, ready_timer));
	const char *waiting_for;

	if (atomic_load(&d->bootstrap.failed) || (atomic_load(&d->bootstrap.done) && !join(d))) {
		d->failed = true;
		ks_loop_stop(d->loop);
		return;
	}
	if (atomic_load(&d->bootstrap.done) && !d->upkeep.started)
		ks_upkeep_start(&d->upkeep, &d->server);
	if (d->membership && ks_membership_settled(d->membership) && ks_upkeep_is_settled(&d->upkeep) && ks_plugins_synced(d->plugins, &waiting_for)) {
		atomic_store(&d->server.ready, true);
		announce(d);
		/* What the start took and gave back: plugins and policies were read, a new store was filled. */
		malloc_trim(0);
		return;
	}
	if (ks_timer_start(d->loop, timer, READY_POLL_MS) < 0)
		ks_loop_stop(d->loop);
}

/* -- the start -------------------------------------------------------------------------------------- */

static int load_config(struct ks_daemon *d)
{
	struct ks_problems problems;
	int result;

	ks_problems_init(&problems);
	result = ks_config_load(d->options->config_file, d->options->state_directory, &d->config, &problems);
	if (result < 0)
		tell_problems(&problems, result);
	else
		ks_log_set_level((enum ks_log_level)d->config->log_level);
	ks_problems_fini(&problems);
	return result;
}

static uint32_t count_workers(const struct ks_config *config)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (config->server.workers)
		return config->server.workers;
	return cores < 1 ? 1 : (uint32_t)cores;
}

static int make_plugins(struct ks_daemon *d, struct ks_problems *problems)
{
	const struct ks_plugins_options options = {
		.static_plugins = ks_static_plugins,
		.directories = d->options->plugin_directories,
		.default_directory = KS_DEFAULT_PLUGIN_DIR,
		.schema = &ks_schema_builtin,
		.main_loop = d->loop,
	};

	if (ks_plugins_new(&options, &d->plugins) < 0)
		return ks_problem(problems, NULL, (struct ks_place){0}, "out of memory");
	if (ks_plugins_load(d->plugins, d->config, problems) < 0)
		return -EINVAL;
	return ks_plugins_start_stores(d->plugins, problems);
}

static int make_cache(struct ks_daemon *d, struct ks_error *err)
{
	const struct ks_cache_config config = {.history_events = d->config->history_events, .history_bytes = d->config->history_bytes};
	const struct ks_router_entry *entries;
	size_t n;

	entries = ks_plugin_set_router_entries(ks_plugins_loaded(d->plugins), &n);
	if (!entries)
		return ks_error_set(err, -ENOMEM, "out of memory");
	d->server.router = ks_router_new(entries, n, err);
	if (!d->server.router)
		return -EINVAL;
	return ks_cache_start(&ks_schema_builtin, d->server.router, &config, &d->server.cache, err);
}

/* -- services' addresses and ports -------------------------------------------------------------------- */

static void repair_later(struct ks_daemon *d);

static void repaired(void *arg, int result)
{
	struct ks_daemon *d = arg;

	(void)result; /* the log has it, and it is tried again */
	repair_later(d);
}

static void repair_again(struct ks_timer *timer)
{
	struct ks_daemon *d = (struct ks_daemon *)((char *)timer - offsetof(struct ks_daemon, repair_timer));

	ks_repair_start(d->repair, d->loop, repaired, d);
}

static void repair_later(struct ks_daemon *d)
{
	d->repair_timer.fire = repair_again;
	ks_timer_start(d->loop, &d->repair_timer, REPAIR_MS);
}

/* Before anybody can ask for an address, all that are in use are known. */
static int make_pools(struct ks_daemon *d, struct ks_error *err)
{
	d->server.pools = ks_pools_new(&ks_schema_builtin, d->server.router, d->server.cache, d->config, err);
	if (!d->server.pools)
		return -EINVAL;
	d->repair = ks_repair_new(d->server.pools);
	if (!d->repair)
		return ks_error_set(err, -ENOMEM, "out of memory");
	if (ks_repair_run(d->repair, d->loop) < 0)
		return ks_error_set(err, -EIO, "the addresses and ports of services could not be looked through");
	repair_later(d);
	return 0;
}

/* -- the parts ------------------------------------------------------------------------------------------ */

static int make_pipeline(struct ks_daemon *d, struct ks_error *err)
{
	d->server.config = d->config;
	d->server.schema = &ks_schema_builtin;
	d->server.plugins = d->plugins;
	d->server.main_loop = d->loop;
	ks_object_set_converter(ks_registry_convert);
	if (ks_pipeline_init(&d->server, err) < 0)
		return -EINVAL;
	d->pipeline_made = true;
	return 0;
}

static int start_plugins(struct ks_daemon *d, struct ks_problems *problems)
{
	ks_plugins_set_cache(d->plugins, d->server.cache);
	if (ks_plugins_start(d->plugins, problems) < 0)
		return -EINVAL;
	d->plugins_started = true;
	return ks_plugins_publish(d->plugins, problems);
}

static struct ks_daemon *daemon_of(void *server_state)
{
	return (struct ks_daemon *)((char *)server_state - offsetof(struct ks_daemon, server));
}

static void worker_started(struct ks_loop *loop, void *arg)
{
	struct ks_daemon *d = daemon_of(arg);
	struct ks_error err = {"out of memory"};

	ks_cache_thread_enter();
	if (ks_plugins_worker_started(d->plugins, loop, &err) == 0 && ks_pipeline_worker_started(&d->server, loop) == 0)
		return;
	ks_log(KS_LOG_ERROR, "server", "a worker could not start: %s", err.text);
	d->failed = true;
	ks_loop_stop(d->loop);
}

static void worker_stopped(struct ks_loop *loop, void *arg)
{
	struct ks_daemon *d = daemon_of(arg);

	ks_plugins_worker_stopped(d->plugins, loop);
	ks_cache_thread_leave();
}

static void fill_server_config(struct ks_daemon *d, const struct ks_config *config, struct ks_server_config *out)
{
	*out = (struct ks_server_config){
		.bind_address = config->server.bind_address,
		.port = config->server.port,
		.n_workers = count_workers(d->config),
		.certificate_file = config->server.certificate_file,
		.key_file = config->server.key_file,
		.client_ca_file = config->server.client_ca_file,
		.header_limit_bytes = config->server.header_limit,
		.idle_timeout_seconds = config->server.idle_timeout_ms / 1000,
		.handshake_timeout_seconds = config->server.handshake_timeout_ms / 1000,
		.max_streams = config->server.max_streams,
		.max_connections = config->server.max_connections,
		.worker_started = worker_started,
		.worker_stopped = worker_stopped,
	};
}

static int start_server(struct ks_daemon *d, struct ks_error *err)
{
	const struct ks_http_callbacks callbacks = {
		.request = ks_pipeline_on_request, .closed = ks_pipeline_on_closed, .arg = &d->server};
	struct ks_server_config config;

	fill_server_config(d, d->config, &config);
	if (ks_server_start(d->loop, &config, &callbacks, &d->server.http, err) < 0)
		return -EINVAL;
	return ks_bootstrap_start(&d->bootstrap, &d->server, ks_server_port(d->server.http), err);
}

static int start_with_problems(struct ks_daemon *d, int (*step)(struct ks_daemon *d, struct ks_problems *problems))
{
	struct ks_problems problems;
	int result;

	ks_problems_init(&problems);
	result = step(d, &problems);
	if (result < 0)
		tell_problems(&problems, result);
	ks_problems_fini(&problems);
	return result;
}

static int start_with_error(struct ks_daemon *d, int (*step)(struct ks_daemon *d, struct ks_error *err))
{
	struct ks_error err = {"it could not start"};
	int result = step(d, &err);

	return result < 0 ? tell(&err, result) : 0;
}

static int start(struct ks_daemon *d)
{
	d->server.started_ns = ks_monotonic_ns();
	d->loop = ks_loop_new(KS_LOOP_NO_INDEX);
	if (!d->loop || watch_signals(d) < 0)
		return tell(&(struct ks_error){"no event loop could be made"}, -ENOMEM);
	if (load_config(d) < 0)
		return -EINVAL;
	ks_cache_thread_enter();
	if (start_with_problems(d, make_plugins) < 0 || start_with_error(d, make_pipeline) < 0 || start_with_error(d, make_cache) < 0 ||
		start_with_error(d, make_pools) < 0 || start_with_problems(d, start_plugins) < 0 || start_with_error(d, start_server) < 0)
		return -EINVAL;
	if (d->asked_to_stop)
		begin_drain(d);
	d->ready_timer.fire = look_whether_ready;
	return ks_timer_start(d->loop, &d->ready_timer, READY_POLL_MS);
}

/* In the opposite order; safe after a start that failed half way. */
static void stop(struct ks_daemon *d)
{
	ks_upkeep_stop(&d->upkeep);
	if (d->plugins_started)
		ks_plugins_drain(d->plugins, d->config->server.drain_timeout_ms);
	if (d->server.http)
		ks_server_stop(d->server.http);
	if (d->plugins_started)
		ks_plugins_stop(d->plugins);
	ks_pipeline_stop(&d->server);
	ks_cache_stop(&d->server.cache);
	ks_router_free(&d->server.router);
	ks_plugins_free(&d->plugins);
	/* The threads of plugins and stores have ended: nobody posts to the workers' loops any more. */
	ks_server_free(&d->server.http);
	ks_membership_free(&d->membership);
	ks_repair_free(&d->repair);
	ks_pools_free(&d->server.pools);
	if (d->pipeline_made)
		ks_pipeline_fini(&d->server);
	ks_timer_cancel(&d->ready_timer);
	ks_timer_cancel(&d->repair_timer);
	for (int i = 0; i < N_SIGNALS; i++)
		if (d->signals[i])
			event_free(d->signals[i]);
	ks_loop_free(&d->loop);
	ks_config_free(&d->config);
	ks_cache_thread_leave();
}

int ks_daemon_run(const struct ks_daemon_options *options)
{
	struct ks_daemon *d = calloc(1, sizeof(*d));
	int result;

	if (!d)
		return -ENOMEM;
	d->options = options;
	result = start(d);
	if (result == 0)
		result = ks_loop_run(d->loop);
	if (d->failed)
		result = -EIO;
	stop(d);
	free(d);
	if (result == 0)
		ks_log(KS_LOG_INFO, "server", "stopped");
	return result;
}
