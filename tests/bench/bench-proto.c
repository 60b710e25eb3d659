/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Microseconds that a Pod of about 3 KiB costs to decode and to encode: in JSON, in protobuf, and in CBOR. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/api/cbor.h"
#include "core/api/json.h"
#include "core/api/proto.h"
#include "tests/bench/pod.h"

enum { ROUNDS = 20000 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

typedef int (*decoder)(struct ks_arena *arena, uint16_t type, struct ks_str data, struct ks_value *v);
typedef void (*encoder)(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out);

static int decode_json(struct ks_arena *arena, uint16_t type, struct ks_str data, struct ks_value *v)
{
	struct ks_strict_errors strict = {0};
	const char *message;

	return ks_json_decode(arena, &ks_schema_builtin, type, KS_DECODE_BORROW | KS_DECODE_STRICT, data.p, data.n, v, &strict, &message);
}

static int decode_proto(struct ks_arena *arena, uint16_t type, struct ks_str data, struct ks_value *v)
{
	const char *message;

	return ks_proto_decode(arena, &ks_schema_builtin, type, 0, data, v, &message);
}

#ifdef KS_HAVE_CBOR
static int decode_cbor(struct ks_arena *arena, uint16_t type, struct ks_str data, struct ks_value *v)
{
	struct ks_strict_errors strict = {0};
	const char *message;

	return ks_cbor_decode(arena, &ks_schema_builtin, type, KS_DECODE_BORROW | KS_DECODE_STRICT, data, v, &strict, &message);
}
#endif

static double time_decoder(decoder decode, uint16_t type, struct ks_str data)
{
	struct ks_arena arena;
	struct ks_value v;
	double start;

	ks_arena_init(&arena, 0);
	start = now();
	for (int i = 0; i < ROUNDS; i++) {
		ks_arena_reset(&arena);
		if (decode(&arena, type, data, &v) < 0)
			return -1;
	}
	start = now() - start;
	ks_arena_fini(&arena);
	return start / ROUNDS;
}

static double time_encoder(encoder encode, const struct ks_value *v, struct ks_buf *out)
{
	double start = now();

	for (int i = 0; i < ROUNDS; i++) {
		ks_buf_clear(out);
		encode(&ks_schema_builtin, v, out);
	}
	return (now() - start) / ROUNDS;
}

static void show(const char *name, size_t bytes, double decoded, double encoded)
{
	printf("pod in %s, %zu bytes: decode %.2f us, encode %.2f us, both %.2f us\n", name, bytes, decoded, encoded, decoded + encoded);
}

int main(void)
{
	uint16_t type = ks_schema_find_type(&ks_schema_builtin, "io.k8s.api.core.v1.Pod");
	struct ks_str json = ks_str_of(ks_bench_pod, sizeof(ks_bench_pod) - 1);
	double json_encoded, json_decoded, proto_encoded, proto_decoded;
	struct ks_buf out, message;
	struct ks_arena arena;
	struct ks_value v;

	ks_arena_init(&arena, 0);
	ks_buf_init(&out);
	ks_buf_init(&message);
	if (decode_json(&arena, type, json, &v) != 0)
		return 1;
	json_encoded = time_encoder(ks_json_encode, &v, &out);
	proto_encoded = time_encoder(ks_proto_encode, &v, &message);
	json_decoded = time_decoder(decode_json, type, json);
	proto_decoded = time_decoder(decode_proto, type, ks_buf_str(&message));
	show("JSON", json.n, json_decoded, json_encoded);
	show("protobuf", message.len, proto_decoded, proto_encoded);
#ifdef KS_HAVE_CBOR
	double cbor_encoded = time_encoder(ks_cbor_encode_object, &v, &message);

	show("CBOR", message.len, time_decoder(decode_cbor, type, ks_buf_str(&message)), cbor_encoded);
#endif
	ks_buf_fini(&out);
	ks_buf_fini(&message);
	ks_arena_fini(&arena);
	return 0;
}
