/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/lane.h"

#include <stdlib.h>
#include <sys/random.h>

#include "core/pipeline/metrics.h"
#include "core/pipeline/offload.h"
#include "core/pipeline/server.h"

enum { MOST_SPARE = 32 };

struct ks_lanes *ks_lanes_new(void)
{
	struct ks_lanes *lanes = calloc(1, sizeof(*lanes));

	if (!lanes)
		return NULL;
	if (pthread_mutex_init(&lanes->lock, NULL) != 0) {
		free(lanes);
		return NULL;
	}
	return lanes;
}

static void free_request(struct ks_request *request)
{
	ks_arena_fini(&request->arena);
	free(request);
}

static void free_lane(struct ks_lane *lane)
{
	while (lane->spare) {
		struct ks_request *request = lane->spare;

		lane->spare = request->next;
		free_request(request);
	}
	free(lane);
}

void ks_lanes_free(struct ks_lanes **lanes)
{
	if (!*lanes)
		return;
	for (size_t i = 0; i < KS_LANES_MOST; i++) {
		struct ks_lane *lane = atomic_load_explicit(&(*lanes)->slots[i], memory_order_relaxed);

		if (lane)
			free_lane(lane);
	}
	pthread_mutex_destroy(&(*lanes)->lock);
	free(*lanes);
	*lanes = NULL;
}

static struct ks_lane *new_lane(struct ks_server_state *server, struct ks_loop *loop)
{
	struct ks_lane *lane = calloc(1, sizeof(*lane));

	if (!lane)
		return NULL;
	lane->server = server;
	lane->loop = loop;
	lane->index = ks_loop_index(loop);
	lane->end_task.run = ks_lane_run_end;
	lane->metrics = ks_metrics_shard(server->metrics, lane->index);
	if (!lane->metrics || getrandom(lane->random, sizeof(lane->random), 0) != sizeof(lane->random)) {
		free(lane);
		return NULL;
	}
	return lane;
}

struct ks_lane *ks_lane_of(struct ks_server_state *server, struct ks_loop *loop)
{
	uint32_t index = ks_loop_index(loop);
	struct ks_lanes *lanes = server->lanes;
	struct ks_lane *lane;

	if (index >= KS_LANES_MOST)
		return NULL;
	lane = atomic_load_explicit(&lanes->slots[index], memory_order_acquire);
	if (lane)
		return lane;
	pthread_mutex_lock(&lanes->lock);
	lane = atomic_load_explicit(&lanes->slots[index], memory_order_acquire);
	if (!lane) {
		lane = new_lane(server, loop);
		atomic_store_explicit(&lanes->slots[index], lane, memory_order_release);
	}
	pthread_mutex_unlock(&lanes->lock);
	return lane;
}

void ks_lanes_each(struct ks_lanes *lanes, void (*visit)(struct ks_lane *lane, void *arg), void *arg)
{
	for (size_t i = 0; i < KS_LANES_MOST; i++) {
		struct ks_lane *lane = atomic_load_explicit(&lanes->slots[i], memory_order_acquire);

		if (lane)
			visit(lane, arg);
	}
}

struct ks_lane *ks_lanes_any(struct ks_lanes *lanes)
{
	uint32_t from = atomic_fetch_add_explicit(&lanes->next, 1, memory_order_relaxed);
	struct ks_lane *started[KS_LANES_MOST];
	uint32_t n = 0;

	for (size_t i = 0; i < KS_LANES_MOST; i++) {
		struct ks_lane *lane = atomic_load_explicit(&lanes->slots[i], memory_order_acquire);

		if (lane)
			started[n++] = lane;
	}
	return n ? started[from % n] : NULL;
}

/* Goes from worker to worker. */
struct retirement {
	struct ks_task task;
	struct ks_lanes *lanes;
	size_t next;
	void (*release)(void *what);
	void *what;
};

static void visit_next(struct ks_task *task)
{
	struct retirement *r = (struct retirement *)task;

	while (r->next < KS_LANES_MOST) {
		struct ks_lane *lane = atomic_load_explicit(&r->lanes->slots[r->next++], memory_order_acquire);

		if (lane) {
			ks_loop_post(lane->loop, &r->task);
			return;
		}
	}
	r->release(r->what);
	free(r);
}

bool ks_lanes_retire(struct ks_lanes *lanes, void (*release)(void *what), void *what)
{
	struct retirement *r = calloc(1, sizeof(*r));

	if (!r)
		return false;
	r->task.run = visit_next;
	r->lanes = lanes;
	r->release = release;
	r->what = what;
	visit_next(&r->task);
	return true;
}

static void link_live(struct ks_lane *lane, struct ks_request *request)
{
	request->prev = NULL;
	request->next = lane->live;
	if (lane->live)
		lane->live->prev = request;
	lane->live = request;
	atomic_fetch_add_explicit(&lane->n_live, 1, memory_order_relaxed);
}

static void unlink_live(struct ks_lane *lane, struct ks_request *request)
{
	if (request->prev)
		request->prev->next = request->next;
	else
		lane->live = request->next;
	if (request->next)
		request->next->prev = request->prev;
	atomic_fetch_sub_explicit(&lane->n_live, 1, memory_order_relaxed);
}

struct ks_request *ks_lane_take(struct ks_lane *lane)
{
	struct ks_request *request = lane->spare;
	struct ks_arena arena;

	if (request) {
		lane->spare = request->next;
		lane->n_spare--;
		arena = request->arena;
		memset(request, 0, sizeof(*request));
		request->arena = arena;
	} else {
		request = calloc(1, sizeof(*request));
		if (!request)
			return NULL;
		ks_arena_init(&request->arena, 0);
	}
	request->server = lane->server;
	request->lane = lane;
	request->loop = lane->loop;
	link_live(lane, request);
	return request;
}

void ks_lane_put(struct ks_lane *lane, struct ks_request *request)
{
	unlink_live(lane, request);
	if (lane->n_spare >= MOST_SPARE) {
		free_request(request);
		return;
	}
	/* A block that a large body has made is not kept for the small ones that follow. */
	if (request->arena.used > 64 * 1024)
		ks_offload_fini_arena(request->server->offload, &request->arena);
	else
		ks_arena_reset(&request->arena);
	request->next = lane->spare;
	lane->spare = request;
	lane->n_spare++;
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

void ks_lane_audit_id(struct ks_lane *lane, char out[KS_AUDIT_ID_MOST + 1])
{
	static const char digits[] = "0123456789abcdef";
	uint64_t words[2] = {next_random(lane->random), next_random(lane->random)};
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
