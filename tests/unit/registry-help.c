/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "registry-help.h"

#include <stdio.h>
#include <string.h>

static void note_warning(void *arg, struct ks_str text)
{
	struct registry_test *t = arg;

	snprintf(t->warning, sizeof(t->warning), "%.*s", (int)text.n, text.p);
}

void registry_open(struct registry_test *t, const char *group, const char *version, const char *resource)
{
	const struct ks_schema *s = &ks_schema_builtin;

	memset(t, 0, sizeof(*t));
	ks_arena_init(&t->arena, 0);
	t->config.service_cluster_ip_range = "10.0.0.0/24";
	t->config.service_node_port_range = "30000-30100";
	t->ctx = (struct ks_registry_context){
		.schema = s, .arena = &t->arena, .config = &t->config, .ns = KS_STR_LIT("n"), .warn = note_warning, .warn_arg = t,
		.now_ms = 1700000000000,
	};
	t->ctx.resource = ks_schema_find_resource(s, ks_str_from(group), ks_str_from(version), ks_str_from(resource));
	assert_int_not_equal(t->ctx.resource, KS_NO_RESOURCE);
	t->ctx.strategy = ks_registry_find(s, t->ctx.resource);
	if (s->resources[t->ctx.resource].scope == KS_SCOPE_CLUSTER)
		t->ctx.ns = (struct ks_str){0};
}

void registry_close(struct registry_test *t)
{
	ks_registry_rollback(&t->ctx);
	ks_arena_fini(&t->arena);
}

struct ks_value registry_object(struct registry_test *t, const char *json)
{
	char *copy = ks_arena_dup(&t->arena, json, strlen(json));
	const char *message = "";
	struct ks_value v;

	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	if (ks_json_decode(&t->arena, t->ctx.schema, t->ctx.schema->resources[t->ctx.resource].type, 0, copy, strlen(copy), &v, NULL, &message))
		fail_msg("%s: %s", json, message);
	return v;
}

const char *registry_json(struct registry_test *t, const struct ks_value *v)
{
	struct ks_buf out;
	char *copy;

	ks_buf_init(&out);
	ks_json_encode(t->ctx.schema, v, &out);
	copy = ks_arena_dup(&t->arena, out.data, out.len);
	ks_buf_fini(&out);
	for (char *p = copy; *p; p++)
		if (*p == '"')
			*p = '\'';
	return copy;
}

const char *registry_text(struct registry_test *t, const struct ks_value *v, const char *path)
{
	struct ks_str text = ks_value_str(ks_value_at(t->ctx.schema, v, path));

	return ks_arena_dup(&t->arena, text.p ? text.p : "", text.n);
}

int registry_create(struct registry_test *t, const char *json)
{
	int code;

	t->object = registry_object(t, json);
	memset(&t->status, 0, sizeof(t->status));
	assert_true(ks_registry_default(&t->ctx, &t->object));
	code = ks_registry_begin_create(&t->ctx, &t->object, &t->status);
	return code ? code : ks_registry_before_create(&t->ctx, &t->object, &t->status);
}
