/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Microseconds that a Pod of about 3 KiB costs to decode and to encode, beside json-c's parser. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/api/json.h"
#include "tests/bench/pod.h"

enum { ROUNDS = 20000 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int decode(struct ks_arena *arena, uint16_t type, struct ks_value *v)
{
	struct ks_strict_errors strict = {0};
	const char *message;

	return ks_json_decode(arena, &ks_schema_builtin, type, KS_DECODE_BORROW | KS_DECODE_STRICT, ks_bench_pod, sizeof(ks_bench_pod) - 1, v, &strict, &message);
}

static double time_decoder(uint16_t type)
{
	struct ks_arena arena;
	struct ks_value v;
	double start;

	ks_arena_init(&arena, 0);
	start = now();
	for (int i = 0; i < ROUNDS; i++) {
		ks_arena_reset(&arena);
		if (decode(&arena, type, &v) < 0)
			return -1;
	}
	start = now() - start;
	ks_arena_fini(&arena);
	return start / ROUNDS;
}

static double time_encoder(uint16_t type)
{
	struct ks_arena arena;
	struct ks_value v;
	struct ks_buf out;
	double start = -1;

	ks_arena_init(&arena, 0);
	ks_buf_init(&out);
	if (decode(&arena, type, &v) == 0) {
		start = now();
		for (int i = 0; i < ROUNDS; i++) {
			ks_buf_clear(&out);
			ks_json_encode(&ks_schema_builtin, &v, &out);
		}
		start = now() - start;
	}
	ks_buf_fini(&out);
	ks_arena_fini(&arena);
	return start / ROUNDS;
}

static double time_json_c(void)
{
	struct json_tokener *tokener = json_tokener_new();
	double start = now();

	for (int i = 0; i < ROUNDS / 10; i++) {
		json_tokener_reset(tokener);
		json_object_put(json_tokener_parse_ex(tokener, ks_bench_pod, sizeof(ks_bench_pod) - 1));
	}
	start = now() - start;
	json_tokener_free(tokener);
	return start / (ROUNDS / 10);
}

int main(void)
{
	uint16_t type = ks_schema_find_type(&ks_schema_builtin, "io.k8s.api.core.v1.Pod");
	double typed = time_decoder(type), free_form = time_decoder(0), encoded = time_encoder(type), other = time_json_c();

	printf("pod of %zu bytes: decode %.2f us, decode free form %.2f us, encode %.2f us, json-c parse %.2f us (%.1f times the decoder)\n",
		sizeof(ks_bench_pod) - 1, typed, free_form, encoded, other, other / typed);
	return 0;
}
