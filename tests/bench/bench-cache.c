/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * What the cache costs: bytes an object, time to load, to read, to walk, to apply. Figures, one JSON line each; nothing is asserted.
 *
 *     bench-cache [OBJECTS [FILE]]
 *
 * With FILE the objects are kept by the SQLite store, else by the memory store.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/cache/internal.h"
#include "core/util/log.h"
#include "tests/unit/cache-host.h"

extern const struct ks_plugin ks_plugin_memory, ks_plugin_sqlite;

enum { IN_FLIGHT = 256 };

static uint16_t pods;
static unsigned n_objects = 100000;
static const struct ks_store *store;
static struct ks_loop *loop;
static struct ks_cache *cache;

static double now(void)
{
	return (double)ks_monotonic_ns() * 1e-9;
}

/* Of all threads of the process: other load on the machine doesn't count. */
static double cpu(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static size_t allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void key_of(unsigned i, char *ns, char *name)
{
	sprintf(ns, "namespace-%u", i % 100);
	sprintf(name, "some-deployment-%08x-%05u", i * 2654435761u, i);
}

/* About 2 KiB, as small Pods are. */
static struct ks_bytes *json_of(unsigned i, unsigned change)
{
	char ns[32], name[64];
	struct ks_bytes *bytes;
	struct ks_buf b;

	key_of(i, ns, name);
	ks_buf_init(&b);
	ks_buf_printf(&b,
		"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"8a3d3f6e-0000-4000-8000-%"
		"012u\","
		"\"generation\":%u,\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{\"app\":\"some-deployment\",\"pod-template-hash\":\"%"
		"08x\",\"tier\":\"web\"}},"
		"\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"registry.example/image:1.2.3\",\"env\":[",
		name, ns, i, change, i);
	for (int e = 0; e < 20; e++)
		ks_buf_printf(&b, "%s{\"name\":\"VARIABLE_NUMBER_%d\",\"value\":\"some value of variable number %d\"}", e ? "," : "", e, e);
	ks_buf_printf(&b,
		"],\"resources\":{}}],\"restartPolicy\":\"Always\",\"nodeName\":\"node-%u\",\"serviceAccountName\":\"default\",\"schedulerName\":"
		"\"default-scheduler\"},"
		"\"status\":{\"phase\":\"Running\",\"podIP\":\"10.1.%u.%u\"}}",
		i % 1000, i / 256 % 256, i % 256);
	bytes = ks_bytes_dup(b.data, b.len);
	ks_buf_fini(&b);
	return bytes;
}

/* -- writing ---------------------------------------------------------------------------------------------------- */

static struct ks_store_call calls[IN_FLIGHT];
static unsigned next_write, end_write, change_of_write, done_writes;

static void start_next(struct ks_store_call *call)
{
	char ns[32], name[64];

	if (next_write == end_write)
		return;
	key_of(next_write, ns, name);
	ks_buf_clear(&call->key);
	ks_store_key(&call->key, &ks_schema_builtin, pods, ks_str_from(ns), ks_str_from(name));
	call->value = json_of(next_write++, change_of_write);
	ks_store_write_start(store, call);
}

static void write_done(struct ks_store_call *call)
{
	ks_bytes_unref(call->value);
	if (call->outcome != KS_WRITE_COMMITTED)
		fprintf(stderr, "a write failed: %d %d %s\n", call->outcome, call->result, call->error);
	if (++done_writes == end_write)
		ks_loop_stop(loop);
	start_next(call);
}

/* Seconds that it took. */
static double write_all(unsigned n, unsigned change)
{
	double began = now();

	loop = ks_loop_new(0);
	next_write = done_writes = 0;
	end_write = n;
	change_of_write = change;
	for (unsigned i = 0; i < IN_FLIGHT; i++) {
		calls[i].loop = loop;
		calls[i].expected = UINT64_MAX;
		calls[i].done = write_done;
		start_next(&calls[i]);
	}
	ks_loop_run(loop);
	ks_loop_free(&loop);
	return now() - began;
}

/* One write after the other, each waited for until the cache shows it: what a client sees that reads what it wrote. */
struct settle {
	struct ks_cache_wait wait;
	struct ks_cache_resource *r;
	unsigned left;
};
static struct settle settling;

static void settle_next(void)
{
	calls[0].loop = loop;
	calls[0].expected = UINT64_MAX;
	next_write = settling.left % n_objects;
	end_write = next_write + 1;
	start_next(&calls[0]);
}

static void settled(struct ks_task *task)
{
	(void)task;
	if (--settling.left == 0)
		ks_loop_stop(loop);
	else
		settle_next();
}

static void settle_written(struct ks_store_call *call)
{
	ks_bytes_unref(call->value);
	settling.wait = (struct ks_cache_wait){.task = {.run = settled}, .loop = loop, .revision = call->revision};
	ks_cache_wait_for(settling.r, &settling.wait);
}

static void bench_settle(struct ks_cache_resource *r, unsigned n)
{
	double began = now(), used = cpu();

	loop = ks_loop_new(0);
	settling = (struct settle){.r = r, .left = n};
	calls[0].done = settle_written;
	change_of_write = 5;
	settle_next();
	ks_loop_run(loop);
	ks_loop_free(&loop);
	printf("{\"bench\":\"cache-settle\",\"us_per_write\":%.1f,\"cpu_us_per_write\":%.1f}\n", (now() - began) * 1e6 / n, (cpu() - used) * 1e6 / n);
}

/* -- reading ---------------------------------------------------------------------------------------------------- */

static void bench_get(struct ks_cache_resource *r)
{
	enum { N = 1000000 };
	double began = now();
	unsigned found = 0;
	char ns[32], name[64];

	for (unsigned i = 0; i < N; i++) {
		struct ks_object *object;

		key_of(i * 7919u % n_objects, ns, name);
		object = ks_cache_get(r, ks_str_from(ns), ks_str_from(name));
		found += object != NULL;
		ks_object_unref(object);
	}
	printf("{\"bench\":\"cache-get\",\"ns\":%.0f,\"found\":%u}\n", (now() - began) * 1e9 / N, found);
}

static void bench_walk(struct ks_cache_resource *r)
{
	struct ks_snapshot snapshot;
	struct ks_cursor cursor;
	struct ks_object *object;
	double began = now();
	uint64_t n = 0, bytes = 0;

	ks_cache_snapshot(r, &snapshot);
	ks_cursor_init(&cursor, &snapshot, (struct ks_str){0}, (struct ks_str){0});
	while ((object = ks_cursor_next(&cursor))) {
		bytes += object->json->len;
		n++;
	}
	printf("{\"bench\":\"cache-walk\",\"objects\":%llu,\"json_bytes\":%llu,\"ns_per_object\":%.1f}\n", (unsigned long long)n,
		(unsigned long long)bytes, (now() - began) * 1e9 / (double)(n ? n : 1));
	ks_snapshot_release(&snapshot);
}

static void bench_past(struct ks_cache_resource *r, uint64_t back)
{
	struct ks_snapshot snapshot;
	double began = now();
	int result = ks_cache_snapshot_at(r, ks_cache_revision(r) - back, &snapshot);

	printf("{\"bench\":\"cache-past\",\"events_back\":%llu,\"us\":%.0f,\"result\":%d}\n", (unsigned long long)back, (now() - began) * 1e6,
		result);
	if (!result)
		ks_snapshot_release(&snapshot);
}

/* -- applying --------------------------------------------------------------------------------------------------- */

static void bench_apply(struct ks_cache_resource *r, unsigned batch)
{
	enum { N = 20000 };
	struct ks_object **objects = calloc(N, sizeof(*objects));
	uint64_t revision = ks_cache_revision(r);
	double began;

	for (unsigned i = 0; i < N; i++) {
		struct ks_bytes *json = json_of(i * 7919u % n_objects, 3);

		objects[i] = ks_object_from_json(&ks_schema_builtin, pods, json, NULL);
		objects[i]->revision = ++revision;
		ks_bytes_unref(json);
	}
	began = now();
	for (unsigned i = 0; i < N; i++) {
		if (ks_apply_put(r, objects[i]))
			abort();
		if (i % batch == batch - 1)
			ks_apply_publish(r->feed, objects[i]->revision);
	}
	printf("{\"bench\":\"cache-apply\",\"batch\":%u,\"us_per_event\":%.2f}\n", batch, (now() - began) * 1e6 / N);
	free(objects);
}

static void bench_decode(void)
{
	enum { N = 20000 };
	struct ks_bytes *json = json_of(1, 1);
	double began = now();

	for (unsigned i = 0; i < N; i++)
		ks_object_unref(ks_object_from_json(&ks_schema_builtin, pods, json, NULL));
	printf("{\"bench\":\"cache-decode\",\"json_bytes\":%zu,\"us\":%.2f}\n", json->len, (now() - began) * 1e6 / N);
	ks_bytes_unref(json);
}

/* -- all -------------------------------------------------------------------------------------------------------- */

static int start_cache(const struct ks_router *router, const char *what)
{
	size_t before = allocated();
	double began = now();
	struct ks_error err;
	struct ks_cache_resource *r;

	if (ks_cache_start(&ks_schema_builtin, (struct ks_router *)router, NULL, &cache, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	r = ks_cache_find(cache, pods);
	printf("{\"bench\":\"cache-start\",\"what\":\"%s\",\"objects\":%llu,\"ms\":%.1f,\"heap_bytes\":%zu,\"heap_bytes_per_object\":%.0f,\"json_"
	       "bytes_per_object\":%.0f}\n",
		what, (unsigned long long)ks_cache_count(r), (now() - began) * 1e3, allocated() - before,
		ks_cache_count(r) ? (double)(allocated() - before) / (double)ks_cache_count(r) : 0.0,
		ks_cache_count(r) ? (double)ks_cache_bytes(r) / (double)ks_cache_count(r) : 0.0);
	return 0;
}

static void stop_cache(void)
{
	double began = now();

	ks_cache_stop(&cache);
	printf("{\"bench\":\"cache-stop\",\"ms\":%.1f}\n", (now() - began) * 1e3);
}

int main(int argc, char **argv)
{
	static const char *const all[] = {"*"};
	const char *file = argc > 2 ? argv[2] : NULL;
	struct ks_router_entry entry = {.resources = all, .n_resources = 1};
	struct ks_router *router;
	struct cache_host host;
	double seconds, used;

	if (argc > 1)
		n_objects = (unsigned)atoi(argv[1]);
	ks_log_set_level(KS_LOG_WARN);
	pods = ks_schema_find_resource(&ks_schema_builtin, (struct ks_str){0}, KS_STR_LIT("v1"), KS_STR_LIT("pods"));
	if (cache_host_start(&host, file ? &ks_plugin_sqlite : &ks_plugin_memory, file))
		return 1;
	store = &host.store;
	entry.store = host.store;
	router = ks_router_new(&entry, 1, NULL);
	bench_decode();
	if (start_cache(router, "empty"))
		return 1;
	used = cpu();
	seconds = write_all(n_objects, 1);
	printf("{\"bench\":\"cache-write\",\"in_flight\":%d,\"per_second\":%.0f,\"cpu_us_per_write\":%.1f}\n", IN_FLIGHT, n_objects / seconds,
		(cpu() - used) * 1e6 / n_objects);
	stop_cache();
	if (start_cache(router, "full"))
		return 1;
	bench_get(ks_cache_find(cache, pods));
	bench_walk(ks_cache_find(cache, pods));
	bench_past(ks_cache_find(cache, pods), 100);
	bench_past(ks_cache_find(cache, pods), 4000);
	bench_settle(ks_cache_find(cache, pods), file ? 1000 : 20000);
	stop_cache();
	if (start_cache(router, "again"))
		return 1;
	bench_apply(ks_cache_find(cache, pods), 1);
	bench_apply(ks_cache_find(cache, pods), 64);
	stop_cache();
	ks_router_free(&router);
	cache_host_stop(&host);
	for (unsigned i = 0; i < IN_FLIGHT; i++)
		ks_buf_fini(&calls[i].key);
	return 0;
}
