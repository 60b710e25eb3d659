/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/net/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/util/log.h"

enum {
	HANDSHAKES_PER_TURN = 4,
	NOTES_PER_CLOCK = 8,
	TURN_BUDGET_NS = 1000000,
	TICK_MS = 500,
	STOP_LIMIT_MS = 10000,
};

struct hand_over {
	struct ks_task task;
	struct ks_worker *worker;
	int fd;
	char address[64];
};

/* -- telling the streams' users -------------------------------------------------------------------------------- */

void ks_worker_note(struct ks_worker *worker, struct ks_stream *stream, uint8_t note)
{
	stream->notes |= note;
	if (stream->noted)
		return;
	stream->noted = true;
	STAILQ_INSERT_TAIL(&worker->notes, stream, note_link);
}

static void deliver_notes(struct ks_worker *worker, uint64_t until_ns)
{
	struct ks_stream *stream;

	for (unsigned n = 1; (stream = STAILQ_FIRST(&worker->notes)); n++) {
		STAILQ_REMOVE_HEAD(&worker->notes, note_link);
		ks_stream_deliver(stream);
		if (n % NOTES_PER_CLOCK == 0 && ks_monotonic_ns() > until_ns)
			return;
	}
}

struct ks_str ks_worker_date(struct ks_worker *worker)
{
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (now.tv_sec != worker->date_second) {
		worker->date_second = now.tv_sec;
		gmtime_r(&now.tv_sec, &tm);
		strftime(worker->date, sizeof(worker->date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	}
	return ks_str_of(worker->date, 29);
}

/* -- the end of a turn ----------------------------------------------------------------------------------------- */

static void shake_some(struct ks_worker *worker, uint64_t until_ns)
{
	struct ks_conn *conn;

	for (int i = 0; i < HANDSHAKES_PER_TURN && (conn = TAILQ_FIRST(&worker->shaking)); i++) {
		TAILQ_REMOVE(&worker->shaking, conn, shake_link);
		conn->shaking = false;
		ks_conn_shake(conn);
		if (ks_monotonic_ns() > until_ns)
			return;
	}
}

/* Those that are marked now, each once; when time is up the rest comes first in the next turn. */
static void flush_marked(struct ks_worker *worker, uint64_t until_ns)
{
	struct ks_conn *conn, *last = TAILQ_LAST(&worker->dirty, ks_conns);

	while (last && (conn = TAILQ_FIRST(&worker->dirty))) {
		TAILQ_REMOVE(&worker->dirty, conn, dirty_link);
		conn->dirty = false;
		ks_conn_flush(conn);
		if (conn == last || ks_monotonic_ns() > until_ns)
			return;
	}
}

static void bury_dead(struct ks_worker *worker)
{
	struct ks_conn *conn;

	while ((conn = TAILQ_FIRST(&worker->dead)))
		ks_conn_bury(conn);
}

static void check_end(struct ks_worker *worker)
{
	struct ks_server *server = worker->server;

	if (worker->draining && !worker->drained_told && atomic_load_explicit(&worker->load_conns, memory_order_relaxed) == 0) {
		worker->drained_told = true;
		ks_loop_post(server->main_loop, &worker->drained_task);
	}
	if (worker->stopping && worker->n_streams == 0)
		ks_loop_stop(worker->loop);
}

static bool end_turn(struct ks_turn_hook *hook)
{
	struct ks_worker *worker = (struct ks_worker *)((char *)hook - offsetof(struct ks_worker, hook));
	uint64_t now = ks_monotonic_ns(), until = now + TURN_BUDGET_NS;
	bool more;

	worker->now_ms = now / 1000000;
	shake_some(worker, until);
	do {
		/* What a flush finishes is told at once, and may lead to more output: the next pipelined request. */
		deliver_notes(worker, until);
		now = ks_monotonic_ns();
		flush_marked(worker, now + TURN_BUDGET_NS);
		bury_dead(worker);
		more = !STAILQ_EMPTY(&worker->notes) || !TAILQ_EMPTY(&worker->dirty);
	} while (more && now < until);
	more |= !TAILQ_EMPTY(&worker->shaking);
	if (!more)
		check_end(worker);
	return more;
}

static void on_tick(struct ks_timer *timer)
{
	struct ks_worker *worker = (struct ks_worker *)((char *)timer - offsetof(struct ks_worker, tick));
	struct ks_conn *conn, *next;

	worker->now_ms = ks_monotonic_ns() / 1000000;
	for (conn = TAILQ_FIRST(&worker->conns); conn; conn = next) {
		next = TAILQ_NEXT(conn, link);
		ks_conn_tick(conn, worker->now_ms);
	}
	if (!TAILQ_EMPTY(&worker->conns))
		ks_timer_start(worker->loop, &worker->tick, TICK_MS);
}

/* -- what other threads ask for -------------------------------------------------------------------------------- */

static void take_over(struct ks_task *task)
{
	struct hand_over *hand_over = (struct hand_over *)task;
	struct ks_worker *worker = hand_over->worker;

	worker->now_ms = ks_monotonic_ns() / 1000000;
	if (worker->draining || worker->stopping) {
		close(hand_over->fd);
		atomic_fetch_sub_explicit(&worker->load_conns, 1, memory_order_relaxed);
	} else {
		ks_conn_open(worker, hand_over->fd, hand_over->address);
	}
	free(hand_over);
	if (!ks_timer_is_active(&worker->tick) && !TAILQ_EMPTY(&worker->conns))
		ks_timer_start(worker->loop, &worker->tick, TICK_MS);
}

void ks_worker_hand_over(struct ks_worker *worker, int fd, const char *address)
{
	struct hand_over *hand_over = calloc(1, sizeof(*hand_over));

	if (!hand_over) {
		close(fd);
		return;
	}
	hand_over->task.run = take_over;
	hand_over->worker = worker;
	hand_over->fd = fd;
	snprintf(hand_over->address, sizeof(hand_over->address), "%s", address);
	atomic_fetch_add_explicit(&worker->load_conns, 1, memory_order_relaxed);
	ks_loop_post(worker->loop, &hand_over->task);
}

static void kill_all(struct ks_worker *worker, const char *why)
{
	struct ks_conn *conn, *next;

	for (conn = TAILQ_FIRST(&worker->conns); conn; conn = next) {
		next = TAILQ_NEXT(conn, link);
		ks_conn_kill(conn, why);
	}
}

static void on_drain(struct ks_task *task)
{
	struct ks_worker *worker = (struct ks_worker *)((char *)task - offsetof(struct ks_worker, drain_task));
	struct ks_conn *conn, *next;

	worker->now_ms = ks_monotonic_ns() / 1000000;
	worker->draining = true;
	for (conn = TAILQ_FIRST(&worker->conns); conn; conn = next) {
		next = TAILQ_NEXT(conn, link);
		if (conn->state == KS_CONN_HANDSHAKE)
			ks_conn_kill(conn, "the server stops");
		else
			ks_conn_drain(conn);
	}
}

static void on_kill(struct ks_task *task)
{
	kill_all((struct ks_worker *)((char *)task - offsetof(struct ks_worker, kill_task)), "the server stops");
}

static void on_stop_limit(struct ks_timer *timer)
{
	struct ks_worker *worker = (struct ks_worker *)((char *)timer - offsetof(struct ks_worker, stop_limit));

	ks_log(KS_LOG_WARN, "net", "worker ends with streams still referenced worker=%u streams=%u", ks_loop_index(worker->loop),
		worker->n_streams);
	ks_loop_stop(worker->loop);
}

static void on_stop(struct ks_task *task)
{
	struct ks_worker *worker = (struct ks_worker *)((char *)task - offsetof(struct ks_worker, stop_task));

	worker->stopping = true;
	kill_all(worker, "the server stops");
	ks_timer_start(worker->loop, &worker->stop_limit, STOP_LIMIT_MS);
}

void ks_worker_stop(struct ks_worker *worker)
{
	ks_loop_post(worker->loop, &worker->stop_task);
}

/* -- life ------------------------------------------------------------------------------------------------------ */

static void *run(void *arg)
{
	struct ks_worker *worker = arg;
	struct ks_server *server = worker->server;
	char name[16];
	int r;

	snprintf(name, sizeof(name), "worker-%u", ks_loop_index(worker->loop));
	pthread_setname_np(pthread_self(), name);
	if (server->config.worker_started)
		server->config.worker_started(worker->loop, server->callbacks.arg);
	r = ks_loop_run(worker->loop);
	if (r < 0)
		ks_log(KS_LOG_ERROR, "net", "worker's event loop failed worker=%u", ks_loop_index(worker->loop));
	if (server->config.worker_stopped)
		server->config.worker_stopped(worker->loop, server->callbacks.arg);
	return NULL;
}

static void worker_free(struct ks_worker *worker)
{
	struct ks_stream *stream;

	while ((stream = STAILQ_FIRST(&worker->free_streams))) {
		STAILQ_REMOVE_HEAD(&worker->free_streams, note_link);
		ks_arena_fini(&stream->arena);
		free(stream);
	}
	ks_loop_free(&worker->loop);
	free(worker->record);
	free(worker->wire);
	free(worker->raw);
	free(worker);
}

static struct ks_worker *worker_new(struct ks_server *server, uint32_t index)
{
	struct ks_worker *worker = aligned_alloc(_Alignof(struct ks_worker), sizeof(*worker));

	if (!worker)
		return NULL;
	*worker = (struct ks_worker){.server = server, .loop = ks_loop_new(index), .now_ms = ks_monotonic_ns() / 1000000};
	TAILQ_INIT(&worker->conns);
	TAILQ_INIT(&worker->dirty);
	TAILQ_INIT(&worker->shaking);
	TAILQ_INIT(&worker->dead);
	STAILQ_INIT(&worker->notes);
	STAILQ_INIT(&worker->free_streams);
	worker->record = malloc(KS_RECORD_BYTES);
	worker->wire = malloc(KS_WIRE_BYTES);
	worker->raw = malloc(KS_RAW_BYTES);
	if (!worker->loop || !worker->record || !worker->wire || !worker->raw) {
		worker_free(worker);
		return NULL;
	}
	worker->hook.run = end_turn;
	worker->tick.fire = on_tick;
	worker->stop_limit.fire = on_stop_limit;
	worker->drain_task.run = on_drain;
	worker->kill_task.run = on_kill;
	worker->stop_task.run = on_stop;
	ks_loop_add_turn_hook(worker->loop, &worker->hook);
	return worker;
}

int ks_worker_start(struct ks_server *server, uint32_t index, struct ks_worker **out_r, struct ks_error *err)
{
	struct ks_worker *worker = worker_new(server, index);
	int r;

	if (!worker)
		return ks_error_set(err, -ENOMEM, "can't make worker %u: out of memory or descriptors", index);
	r = pthread_create(&worker->thread, NULL, run, worker);
	if (r != 0) {
		worker_free(worker);
		return ks_error_set(err, -r, "can't start the thread of worker %u: %s", index, strerror(r));
	}
	*out_r = worker;
	return 0;
}

void ks_worker_join(struct ks_worker *worker)
{
	pthread_join(worker->thread, NULL);
	bury_dead(worker);
}

void ks_worker_free(struct ks_worker **worker)
{
	worker_free(*worker);
	*worker = NULL;
}
