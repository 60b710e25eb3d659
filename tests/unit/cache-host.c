/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cache-host.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/host/op.h"

static void __attribute__((format(printf, 3, 4))) host_log(const struct ks_host *host, int level, const char *format, ...)
{
	va_list args;

	(void)host;
	if (level > KS_HOST_LOG_WARN)
		return;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

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
	return op->deadline_ns;
}

static int op_cancelled(const struct ks_op *op)
{
	return ks_monotonic_ns() >= op->deadline_ns;
}

static const char *op_audit_id(const struct ks_op *op)
{
	return op->audit_id;
}

static uint32_t op_worker(const struct ks_op *op)
{
	return op->loop ? ks_loop_index(op->loop) : UINT32_MAX;
}

static int __attribute__((format(printf, 2, 3))) op_error(struct ks_op *op, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return ks_op_fail(op, KS_ERR, "%s", text);
}

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

static const struct ks_host host = {
	.size = sizeof(host),
	.abi_major = KS_ABI_MAJOR,
	.abi_minor = KS_ABI_MINOR,
	.instance = "store",
	.log = host_log,
	.op_alloc = op_alloc,
	.op_scratch = op_scratch,
	.op_deadline_ns = op_deadline_ns,
	.op_cancelled = op_cancelled,
	.op_audit_id = op_audit_id,
	.op_worker = op_worker,
	.op_error = op_error,
	.complete = ks_op_complete,
	.bytes_new = bytes_new,
	.bytes_data = bytes_data,
	.bytes_view = bytes_view,
	.bytes_ref = bytes_ref,
	.bytes_unref = bytes_unref,
};

static int64_t number_of(const char *text)
{
	char *end;
	int64_t n = strtoll(text, &end, 10);

	return *end == 'K' ? n << 10 : *end == 'M' ? n << 20 : *end == 'G' ? n << 30 : n;
}

static void fill_config(const struct ks_interface *interface, const char *file, char *config)
{
	for (size_t i = 0; i < interface->n_config_keys; i++) {
		const struct ks_config_key *key = &interface->config_keys[i];

		if (strcmp(key->name, "file") == 0)
			*(const char **)(void *)(config + key->offset) = file;
		else if (key->default_text && (key->type == KS_CONFIG_INT || key->type == KS_CONFIG_SIZE))
			*(int64_t *)(void *)(config + key->offset) = number_of(key->default_text);
	}
}

int cache_host_start(struct cache_host *h, const struct ks_plugin *plugin, const char *file)
{
	const struct ks_interface *interface = &plugin->interfaces[0];
	struct ks_plugin_error error = {.text = ""};

	*h = (struct cache_host){.interface = interface, .config = calloc(1, interface->config_size + 1)};
	fill_config(interface, file, h->config);
	if (interface->lifecycle->create(&host, h->config, &h->self, &error) || interface->lifecycle->start(h->self, &error)) {
		fprintf(stderr, "%s: %s\n", interface->name, error.text);
		return -1;
	}
	h->store = (struct ks_store){
		.name = interface->name, .self = h->self, .ops = interface->ops, .flags = interface->flags, .scratch_size = interface->scratch_size};
	return 0;
}

void cache_host_stop(struct cache_host *h)
{
	if (h->self) {
		h->interface->lifecycle->stop(h->self);
		h->interface->lifecycle->destroy(h->self);
	}
	free(h->config);
	*h = (struct cache_host){0};
}
