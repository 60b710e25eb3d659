/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/allocate-help.h"

#include <keelson/storage.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/cache-help.h"

extern const struct ks_plugin ks_plugin_memory;

/* -- servers -- */

static void start(struct allocate_group *g, struct allocate_server *s)
{
	static const char *const all[] = {"*"};
	struct ks_router_entry entry = {.store = g->host.store, .resources = all, .n_resources = 1};
	struct ks_error err = {.text = ""};

	s->router = ks_router_new(&entry, 1, &err);
	assert_non_null(s->router);
	if (ks_cache_start(&ks_schema_builtin, s->router, NULL, &s->cache, &err))
		fail_msg("%s", err.text);
	s->pools = ks_pools_new(&ks_schema_builtin, s->router, s->cache, &g->config, &err);
	if (!s->pools)
		fail_msg("%s", err.text);
}

static void stop(struct allocate_server *s)
{
	ks_pools_free(&s->pools);
	ks_cache_stop(&s->cache);
	ks_router_free(&s->router);
}

void allocate_open(struct allocate_group *g, const char *addresses, const char *ports)
{
	memset(g, 0, sizeof(*g));
	assert_int_equal(cache_host_start(&g->host, &ks_plugin_memory, NULL), 0);
	g->host.store.flags &= ~(uint32_t)KS_STORE_SINGLE_WRITER;
	g->config.service_cluster_ip_range = addresses;
	g->config.service_node_port_range = ports;
	g->a.loop = ks_loop_new(KS_LOOP_NO_INDEX);
	g->b.loop = ks_loop_new(KS_LOOP_NO_INDEX);
	start(g, &g->a);
	start(g, &g->b);
}

void allocate_close(struct allocate_group *g)
{
	stop(&g->a);
	stop(&g->b);
	cache_host_stop(&g->host);
	/* Nobody posts to them any more. */
	ks_loop_free(&g->a.loop);
	ks_loop_free(&g->b.loop);
}

void allocate_restart(struct allocate_group *g, struct allocate_server *s)
{
	stop(s);
	start(g, s);
}

void allocate_run(struct allocate_server *s, const bool *flag)
{
	while (!*flag)
		assert_int_equal(ks_loop_turn(s->loop, true), 0);
}

/* -- the store -- */

static void wait_for_caches(struct allocate_group *g, uint64_t revision)
{
	help_wait(g->a.cache, g->a.pools->services.resource, revision);
	help_wait(g->a.cache, g->a.pools->addresses.resource, revision);
	help_wait(g->b.cache, g->b.pools->services.resource, revision);
	help_wait(g->b.cache, g->b.pools->addresses.resource, revision);
}

static void write_done(struct ks_store_call *call)
{
	*(bool *)call->arg = true;
}

static uint64_t write(struct allocate_group *g, const char *key, struct ks_bytes *value)
{
	bool done = false;
	struct ks_store_call *call = aligned_alloc(16, sizeof(*call));
	uint64_t revision;

	*call = (struct ks_store_call){.loop = g->a.loop, .value = value, .expected = UINT64_MAX, .done = write_done, .arg = &done};
	ks_buf_init(&call->key);
	ks_buf_add_str(&call->key, key);
	ks_store_write_start(&g->host.store, call);
	allocate_run(&g->a, &done);
	assert_true(call->outcome == KS_WRITE_COMMITTED || (!value && call->outcome == KS_WRITE_NOT_FOUND));
	revision = call->revision;
	ks_buf_fini(&call->key);
	free(call);
	wait_for_caches(g, revision);
	return revision;
}

void allocate_put(struct allocate_group *g, const char *key, const char *json)
{
	struct ks_bytes *value = json ? ks_bytes_dup(json, strlen(json)) : NULL;

	write(g, key, value);
	ks_bytes_unref(value);
}

static void read_done(struct ks_store_read *read)
{
	*(bool *)read->arg = true;
}

const char *allocate_get(struct allocate_group *g, const char *key)
{
	static char text[512 * 1024];
	struct ks_store_read *read = aligned_alloc(16, (sizeof(*read) + 15) / 16 * 16);
	bool done = false, found;

	*read = (struct ks_store_read){.loop = g->a.loop, .done = read_done, .arg = &done};
	ks_buf_init(&read->key);
	ks_buf_add_str(&read->key, key);
	ks_store_read_start(&g->host.store, read);
	allocate_run(&g->a, &done);
	assert_int_equal(read->result, 0);
	found = read->found;
	if (found)
		snprintf(text, sizeof(text), "%.*s", (int)read->value->len, read->value->data);
	ks_bytes_unref(read->value);
	ks_buf_fini(&read->key);
	free(read);
	return found ? text : NULL;
}

/* -- writes of services -- */

static void decode(struct registry_test *t, const char *json)
{
	struct ks_value *v = &t->object;

	*v = registry_object(t, json);
	*ks_value_put_at(&t->arena, t->ctx.schema, v, "kind") = ks_value_from_str(KS_STR_LIT("Service"));
	*ks_value_put_at(&t->arena, t->ctx.schema, v, "apiVersion") = ks_value_from_str(KS_STR_LIT("v1"));
	memset(&t->status, 0, sizeof(t->status));
	assert_true(ks_registry_default(&t->ctx, v));
}

static void resume(void *arg)
{
	((struct allocate_server *)arg)->resumed = true;
}

void allocate_begin(struct allocate_group *g, struct allocate_server *s, struct registry_test *t)
{
	registry_open(t, "", "v1", "services");
	t->ctx.config = &g->config;
	t->ctx.cache = s->cache;
	t->ctx.pools = s->pools;
	t->ctx.loop = s->loop;
	t->ctx.resume = resume;
	t->ctx.resume_arg = s;
}

static int wait_and_repeat(struct allocate_server *s, struct registry_test *t, const struct ks_value *old)
{
	int code;

	do {
		s->resumed = false;
		code = old ? ks_registry_before_update(&t->ctx, &t->object, old, &t->status)
			   : ks_registry_before_create(&t->ctx, &t->object, &t->status);
		if (code == KS_REGISTRY_WAIT)
			allocate_run(s, &s->resumed);
	} while (code == KS_REGISTRY_WAIT);
	return code;
}

int allocate_create(struct allocate_server *s, struct registry_test *t, const char *json)
{
	int code;

	/* As every round of a write begins. */
	ks_registry_rollback(&t->ctx);
	decode(t, json);
	code = ks_registry_begin_create(&t->ctx, &t->object, &t->status);
	return code ? code : wait_and_repeat(s, t, NULL);
}

int allocate_update(struct allocate_server *s, struct registry_test *t, const char *json)
{
	ks_registry_rollback(&t->ctx);
	decode(t, json);
	*ks_value_put_at(&t->arena, t->ctx.schema, &t->object, "metadata.resourceVersion") = ks_value_from_str(KS_STR_LIT("1"));
	return wait_and_repeat(s, t, &t->old);
}

void allocate_commit(struct allocate_group *g, struct allocate_server *s, struct registry_test *t, bool removal)
{
	const struct ks_value *named = removal ? &t->old : &t->object;
	struct ks_object *object = removal ? NULL : ks_object_from_tree(t->ctx.schema, t->ctx.resource, &t->object);
	bool had = t->old.kind == KS_STRUCT;
	char key[256];

	assert_true(removal || object);
	snprintf(key, sizeof(key), "/registry/services/specs/n/%s", registry_text(t, named, "metadata.name"));
	write(g, key, object ? object->json : NULL);
	ks_object_unref(object);
	s->resumed = false;
	if (ks_registry_committed(&t->ctx, had ? &t->old : NULL, removal ? NULL : &t->object))
		allocate_run(s, &s->resumed);
	wait_for_caches(g, t->ctx.outside_revision);
	if (!removal)
		t->old = t->object;
}

/* A wish that changes nothing comes after what was asked before. */
static void settled(struct ks_port_wish *wish)
{
	wish->n_claims = 1;
}

void allocate_fail(struct allocate_group *g, struct allocate_server *s, struct registry_test *t)
{
	struct ks_port_wish wish = {.loop = s->loop, .done = settled};
	uint64_t now, oldest;

	ks_registry_rollback(&t->ctx);
	ks_ports_ask(&s->pools->ports, &wish);
	while (!wish.n_claims)
		assert_int_equal(ks_loop_turn(s->loop, true), 0);
	assert_int_equal(g->host.store.ops->revision(g->host.store.self, &now, &oldest), 0);
	wait_for_caches(g, now);
}
