/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/worker.h"

#include <stdlib.h>
#include <sys/random.h>

#include "core/pipeline/metrics.h"
#include "core/pipeline/server.h"

enum { MOST_SPARE = 64 };

struct ks_workers *ks_workers_new(void)
{
	struct ks_workers *workers = calloc(1, sizeof(*workers));

	if (!workers)
		return NULL;
	if (pthread_mutex_init(&workers->lock, NULL) != 0) {
		free(workers);
		return NULL;
	}
	return workers;
}

static void free_request(struct ks_request *request)
{
	ks_arena_fini(&request->arena);
	free(request);
}

static void free_worker(struct ks_worker *worker)
{
	while (worker->spare) {
		struct ks_request *request = worker->spare;

		worker->spare = request->next;
		free_request(request);
	}
	free(worker);
}

void ks_workers_free(struct ks_workers **workers)
{
	if (!*workers)
		return;
	for (size_t i = 0; i < KS_WORKER_SLOTS; i++) {
		struct ks_worker *worker = atomic_load_explicit(&(*workers)->slots[i], memory_order_relaxed);

		if (worker)
			free_worker(worker);
	}
	pthread_mutex_destroy(&(*workers)->lock);
	free(*workers);
	*workers = NULL;
}

static struct ks_worker *new_worker(struct ks_server_state *server, struct ks_loop *loop)
{
	struct ks_worker *worker = calloc(1, sizeof(*worker));

	if (!worker)
		return NULL;
	worker->server = server;
	worker->loop = loop;
	worker->index = ks_loop_index(loop);
	worker->metrics = ks_metrics_shard(server->metrics, worker->index);
	if (!worker->metrics || getrandom(worker->random, sizeof(worker->random), 0) != sizeof(worker->random)) {
		free(worker);
		return NULL;
	}
	return worker;
}

struct ks_worker *ks_worker_of(struct ks_server_state *server, struct ks_loop *loop)
{
	uint32_t index = ks_loop_index(loop);
	struct ks_workers *workers = server->workers;
	struct ks_worker *worker;

	if (index >= KS_WORKER_SLOTS)
		return NULL;
	worker = atomic_load_explicit(&workers->slots[index], memory_order_acquire);
	if (worker)
		return worker;
	pthread_mutex_lock(&workers->lock);
	worker = atomic_load_explicit(&workers->slots[index], memory_order_acquire);
	if (!worker) {
		worker = new_worker(server, loop);
		atomic_store_explicit(&workers->slots[index], worker, memory_order_release);
	}
	pthread_mutex_unlock(&workers->lock);
	return worker;
}

void ks_workers_each(struct ks_workers *workers, void (*visit)(struct ks_worker *worker, void *arg), void *arg)
{
	for (size_t i = 0; i < KS_WORKER_SLOTS; i++) {
		struct ks_worker *worker = atomic_load_explicit(&workers->slots[i], memory_order_acquire);

		if (worker)
			visit(worker, arg);
	}
}

struct ks_worker *ks_workers_any(struct ks_workers *workers)
{
	uint32_t from = atomic_fetch_add_explicit(&workers->next, 1, memory_order_relaxed);
	struct ks_worker *started[KS_WORKER_SLOTS];
	uint32_t n = 0;

	for (size_t i = 0; i < KS_WORKER_SLOTS; i++) {
		struct ks_worker *worker = atomic_load_explicit(&workers->slots[i], memory_order_acquire);

		if (worker)
			started[n++] = worker;
	}
	return n ? started[from % n] : NULL;
}

/* Goes from worker to worker. */
struct retirement {
	struct ks_task task;
	struct ks_workers *workers;
	size_t next;
	void (*release)(void *what);
	void *what;
};

static void visit_next(struct ks_task *task)
{
	struct retirement *r = (struct retirement *)task;

	while (r->next < KS_WORKER_SLOTS) {
		struct ks_worker *worker = atomic_load_explicit(&r->workers->slots[r->next++], memory_order_acquire);

		if (worker) {
			ks_loop_post(worker->loop, &r->task);
			return;
		}
	}
	r->release(r->what);
	free(r);
}

bool ks_workers_retire(struct ks_workers *workers, void (*release)(void *what), void *what)
{
	struct retirement *r = calloc(1, sizeof(*r));

	if (!r)
		return false;
	r->task.run = visit_next;
	r->workers = workers;
	r->release = release;
	r->what = what;
	visit_next(&r->task);
	return true;
}

static void link_live(struct ks_worker *worker, struct ks_request *request)
{
	request->prev = NULL;
	request->next = worker->live;
	if (worker->live)
		worker->live->prev = request;
	worker->live = request;
	worker->n_live++;
}

static void unlink_live(struct ks_worker *worker, struct ks_request *request)
{
	if (request->prev)
		request->prev->next = request->next;
	else
		worker->live = request->next;
	if (request->next)
		request->next->prev = request->prev;
	worker->n_live--;
}

struct ks_request *ks_worker_take(struct ks_worker *worker)
{
	struct ks_request *request = worker->spare;
	struct ks_arena arena;

	if (request) {
		worker->spare = request->next;
		worker->n_spare--;
		arena = request->arena;
		memset(request, 0, sizeof(*request));
		request->arena = arena;
	} else {
		request = calloc(1, sizeof(*request));
		if (!request)
			return NULL;
		ks_arena_init(&request->arena, 0);
	}
	request->server = worker->server;
	request->worker = worker;
	request->loop = worker->loop;
	link_live(worker, request);
	return request;
}

void ks_worker_put(struct ks_worker *worker, struct ks_request *request)
{
	unlink_live(worker, request);
	if (worker->n_spare >= MOST_SPARE) {
		free_request(request);
		return;
	}
	/* A block that a large body has made is not kept for the small ones that follow. */
	if (request->arena.used > 64 * 1024)
		ks_arena_fini(&request->arena);
	else
		ks_arena_reset(&request->arena);
	request->next = worker->spare;
	worker->spare = request;
	worker->n_spare++;
}

static uint64_t rotate(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

/* xoshiro256**, by Blackman and Vigna. */
static uint64_t next_random(uint64_t s[4])
{
	uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

void ks_worker_audit_id(struct ks_worker *worker, char out[KS_AUDIT_ID_MOST + 1])
{
	static const char digits[] = "0123456789abcdef";
	uint64_t words[2] = {next_random(worker->random), next_random(worker->random)};
	unsigned char bytes[16];
	size_t n = 0;

	memcpy(bytes, words, sizeof(bytes));
	bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40);
	bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out[n++] = '-';
		out[n++] = digits[bytes[i] >> 4];
		out[n++] = digits[bytes[i] & 15];
	}
	out[n] = '\0';
}
