/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The table of functions that a plugin gets (keelson/host.h). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/cache/cache.h"
#include "core/util/log.h"
#include "plugins/host/internal.h"
#include "plugins/host/objects.h"

/* -- the log -- */

static void host_log(const struct ks_host *host, int level, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void host_log(const struct ks_host *host, int level, const char *format, ...)
{
	enum ks_log_level known = level >= KS_LOG_ERROR && level <= KS_LOG_DEBUG ? (enum ks_log_level)level : KS_LOG_INFO;
	char text[2048];
	va_list args;

	if (known > ks_log_get_level())
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	ks_log(known, host->instance, "%s", text);
}

/* -- operations -- */

static void *op_alloc(struct ks_op *op, size_t size)
{
	return ks_arena_alloc(&op->arena, size);
}

static void *op_scratch(struct ks_op *op)
{
	return op->scratch;
}

static uint64_t op_deadline_ns(const struct ks_op *op)
{
	return op->deadline_ns ? op->deadline_ns : UINT64_MAX;
}

static int op_cancelled(const struct ks_op *op)
{
	return atomic_load_explicit(&op->cancelled, memory_order_relaxed) || ks_monotonic_ns() >= op_deadline_ns(op);
}

static const char *op_audit_id(const struct ks_op *op)
{
	return op->audit_id;
}

static uint32_t op_worker(const struct ks_op *op)
{
	return op->loop && ks_loop_is_current(op->loop) ? ks_loop_index(op->loop) : UINT32_MAX;
}

static int op_error(struct ks_op *op, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int op_error(struct ks_op *op, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return ks_op_fail(op, KS_ERR, "%s", text);
}

/* -- bytes: struct ks_host_bytes is struct ks_bytes -- */

static struct ks_host_bytes *bytes_new(size_t n)
{
	return (struct ks_host_bytes *)ks_bytes_new(n);
}

static void *bytes_data(struct ks_host_bytes *bytes)
{
	return ((struct ks_bytes *)bytes)->data;
}

static struct ks_view bytes_view(const struct ks_host_bytes *bytes)
{
	const struct ks_bytes *b = (const struct ks_bytes *)bytes;

	return (struct ks_view){b->data, b->len};
}

static struct ks_host_bytes *bytes_ref(struct ks_host_bytes *bytes)
{
	return (struct ks_host_bytes *)ks_bytes_ref((struct ks_bytes *)bytes);
}

static void bytes_unref(struct ks_host_bytes *bytes)
{
	ks_bytes_unref((struct ks_bytes *)bytes);
}

/* -- timers -- */

static int timer(const struct ks_host *host, uint64_t milliseconds, void (*fire)(void *arg), void *arg)
{
	struct ks_executor *executor = ks_instance_executor(ks_instance_of(host));
	int result = executor ? ks_executor_timer(executor, milliseconds, fire, arg) : KS_ERR_NOMEM;

	ks_executor_unref(executor);
	return result < 0 ? KS_ERR_NOMEM : KS_DONE;
}

/* -- the cache -- */

/* Threads of the pool and executors enter for good, workers are entered by the server; a thread of the plugin's own enters for the call. */
static _Thread_local bool entered;

void ks_thread_enter_cache(void)
{
	ks_cache_thread_enter();
	entered = true;
}

/* The cache may be asked by threads that have entered it: workers and executors have, others visit. */
static bool must_visit(const struct ks_op *op)
{
	return !entered && !(op->loop && ks_loop_is_current(op->loop));
}

static struct ks_object *get_object(struct ks_cache_resource *cached, struct ks_op *op, struct ks_str ns, struct ks_str name)
{
	bool visit = must_visit(op);
	struct ks_object *object;

	if (visit)
		ks_cache_thread_enter();
	object = ks_cache_get(cached, ns, name);
	if (visit)
		ks_cache_thread_leave();
	return object;
}

static void unref_object(void *object)
{
	ks_object_unref(object);
}

/* NULL: the server keeps no such resource. */
static struct ks_cache_resource *find_cached(const struct ks_op *op, struct ks_view group, struct ks_view version, struct ks_view resource,
	uint16_t *index_r)
{
	const struct ks_plugins *plugins = op->instance->plugins;
	const struct ks_schema *schema = plugins->options.schema;

	*index_r = schema ? ks_find_resource(schema, group, version, resource) : KS_NO_RESOURCE;
	if (*index_r == KS_NO_RESOURCE || !plugins->cache)
		return NULL;
	return ks_cache_find(plugins->cache, *index_r);
}

static int cached_get(struct ks_op *op, struct ks_view group, struct ks_view version, struct ks_view resource, struct ks_view namespace_,
	struct ks_view name, struct ks_val *value)
{
	const struct ks_schema *schema = op->instance->plugins->options.schema;
	uint16_t index;
	struct ks_cache_resource *cached = find_cached(op, group, version, resource, &index);
	struct ks_object *object;
	struct ks_value *root;

	if (!cached)
		return KS_ERR_UNAVAILABLE;
	object = get_object(cached, op, ks_str_of_view(namespace_), ks_str_of_view(name));
	if (!object)
		return 0;
	root = ks_arena_zalloc(&op->arena, 1, sizeof(*root));
	if (!ks_op_hold(op, unref_object, object) || !root)
		return KS_ERR_NOMEM;
	if (ks_object_value(object, schema, index, 0, &op->arena, root) < 0)
		return ks_op_fail(op, KS_ERR, "an object of the cache could not be read");
	*value = ks_val_of(schema, root);
	return 1;
}

/* One after the other, each in the memory of the one before. */
static int emit_objects(struct ks_op *op, uint16_t index, const struct ks_snapshot *snapshot, struct ks_str ns,
	int (*emit)(void *arg, struct ks_val object), void *arg)
{
	const struct ks_schema *schema = op->instance->plugins->options.schema;
	struct ks_arena arena;
	struct ks_cursor cursor;
	struct ks_object *object;
	int result = KS_DONE, enough = 0;

	ks_arena_init(&arena, 0);
	ks_cursor_init(&cursor, snapshot, ns, (struct ks_str){0});
	while (!enough && result == KS_DONE && (object = ks_cursor_next(&cursor))) {
		struct ks_value root = {0};

		ks_arena_reset(&arena);
		if (ks_object_value(object, schema, index, 0, &arena, &root) < 0)
			result = ks_op_fail(op, KS_ERR, "an object of the cache could not be read");
		else
			enough = emit(arg, ks_val_of(schema, &root));
	}
	ks_arena_fini(&arena);
	return result;
}

static int cached_list(struct ks_op *op, struct ks_view group, struct ks_view version, struct ks_view resource, struct ks_view namespace_,
	int (*emit)(void *arg, struct ks_val object), void *arg)
{
	uint16_t index;
	struct ks_cache_resource *cached = find_cached(op, group, version, resource, &index);
	bool visit = must_visit(op);
	struct ks_snapshot snapshot;
	int result;

	if (!cached)
		return KS_ERR_UNAVAILABLE;
	if (visit)
		ks_cache_thread_enter();
	ks_cache_snapshot(cached, &snapshot);
	result = emit_objects(op, index, &snapshot, ks_str_of_view(namespace_), emit, arg);
	ks_snapshot_release(&snapshot);
	if (visit)
		ks_cache_thread_leave();
	return result;
}

/* -- metrics -- */

struct ks_metric_use {
	struct ks_metric_use *next;
	struct ks_metric *metric;
};

static struct ks_metric *metric(const struct ks_host *host, int type, const char *name, const char *help)
{
	struct ks_instance *instance = ks_instance_of(host);
	struct ks_plugin_metrics *metrics = &instance->plugins->metrics;
	struct ks_metric_use *use;

	pthread_mutex_lock(&instance->lock);
	use = ks_arena_zalloc(&instance->arena, 1, sizeof(*use));
	if (use)
		use->metric = ks_plugin_metrics_add(metrics, type, instance->interface->name, instance->name, name, help);
	if (use && use->metric) {
		use->next = instance->metrics;
		instance->metrics = use;
	}
	pthread_mutex_unlock(&instance->lock);
	return use ? use->metric : NULL;
}

void ks_services_release(struct ks_instance *instance)
{
	for (struct ks_metric_use *use = instance->metrics; use; use = use->next)
		ks_plugin_metrics_remove(&instance->plugins->metrics, use->metric);
	instance->metrics = NULL;
}

/* -- secrets -- */

static int equal_constant_time(const void *a, const void *b, size_t n)
{
	const volatile unsigned char *x = a, *y = b;
	unsigned char difference = 0;

	for (size_t i = 0; i < n; i++)
		difference |= x[i] ^ y[i];
	return difference == 0;
}

static void wipe(void *p, size_t n)
{
	explicit_bzero(p, n);
}

static void set_ready(const struct ks_host *host, int ready)
{
	struct ks_instance *instance = host->context;

	atomic_store(&instance->busy, !ready);
}

void ks_services_fill(struct ks_host *host, struct ks_instance *instance)
{
	*host = (struct ks_host){
		.size = sizeof(*host),
		.abi_major = KS_ABI_MAJOR,
		.abi_minor = KS_ABI_MINOR,
		.instance = instance->name,
		.context = instance,
		.log = host_log,
		.op_alloc = op_alloc,
		.op_scratch = op_scratch,
		.op_deadline_ns = op_deadline_ns,
		.op_cancelled = op_cancelled,
		.op_audit_id = op_audit_id,
		.op_worker = op_worker,
		.op_error = op_error,
		.complete = ks_op_complete,
		.values = &ks_value_operations,
		.bytes_new = bytes_new,
		.bytes_data = bytes_data,
		.bytes_view = bytes_view,
		.bytes_ref = bytes_ref,
		.bytes_unref = bytes_unref,
		.timer = timer,
		.informer = ks_informer_add,
		.informer_synced = ks_informer_is_synced,
		.cached_get = cached_get,
		.write = ks_write_start,
		.metric = metric,
		.metric_add = ks_metric_add,
		.metric_set = ks_metric_set,
		.equal_constant_time = equal_constant_time,
		.wipe = wipe,
		.set_ready = set_ready,
		.cached_list = cached_list,
	};
}
