/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "admission/lua/policies.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "admission/lua/state.h"

enum { MOST_FILE_BYTES = 1 << 20, MOST_POLICIES = 1024, READ_BYTES = 64 << 20, READ_MS = 2000 };

/* What reading takes along. */
struct reader {
	struct lua_policies *policies;
	struct lua_state *state;
	enum lua_failure_policy failure_policy;
	struct ks_plugin_error *error;
	size_t chunk_room;
};

static int fail(struct reader *r, const char *format, const char *a, const char *b)
{
	snprintf(r->error->text, sizeof(r->error->text), format, a, b);
	return -1;
}

/* -- policy{...}: all of this runs inside Lua and may raise; what it allocates is the pool's ----------- */

static struct ks_view pool_text(lua_State *L, struct reader *r, int at, const char *what)
{
	struct ks_view text;

	if (lua_type(L, at) != LUA_TSTRING)
		luaL_error(L, "%s: a string is expected, not %s", what, luaL_typename(L, at));
	text.p = lua_tolstring(L, at, &text.n);
	text = ks_pool_view(r->policies->pool, text);
	if (!text.p)
		luaL_error(L, "out of memory");
	return text;
}

static void check_keys(lua_State *L, int table, const char *const *known, const char *what)
{
	lua_pushnil(L);
	while (lua_next(L, table)) {
		const char *const *k = known;
		const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;

		while (key && *k && strcmp(*k, key) != 0)
			k++;
		if (!key || !*k)
			luaL_error(L, "%s has no key '%s'", what, key ? key : luaL_typename(L, -2));
		lua_pop(L, 1);
	}
}

/* A list of strings; "*" in it means any. */
static struct lua_names read_names(lua_State *L, struct reader *r, int match, const char *key)
{
	struct lua_names names = {0};
	size_t n;
	int list;

	if (lua_getfield(L, match, key) == LUA_TNIL) {
		lua_pop(L, 1);
		return names;
	}
	list = lua_gettop(L);
	if (!lua_istable(L, list))
		luaL_error(L, "match.%s: a list of strings is expected", key);
	n = lua_rawlen(L, list);
	names.items = ks_pool_alloc(r->policies->pool, n, sizeof(*names.items));
	if (!names.items)
		luaL_error(L, "out of memory");
	for (size_t i = 0; i < n; i++) {
		lua_rawgeti(L, list, (lua_Integer)i + 1);
		names.items[i] = pool_text(L, r, -1, key);
		if (ks_view_is(names.items[i], "*")) {
			lua_pop(L, 2);
			return (struct lua_names){0};
		}
		lua_pop(L, 1);
	}
	names.n = n;
	lua_pop(L, 1);
	return names;
}

static uint32_t read_operations(lua_State *L, struct reader *r, int match)
{
	static const struct { const char *name; uint32_t bit; } known[] = {
		{"CREATE", KS_OPERATION_CREATE}, {"UPDATE", KS_OPERATION_UPDATE}, {"DELETE", KS_OPERATION_DELETE}, {"CONNECT", KS_OPERATION_CONNECT}};
	struct lua_names names = read_names(L, r, match, "operations");
	uint32_t operations = 0;

	if (names.n == 0)
		return KS_OPERATION_CREATE | KS_OPERATION_UPDATE | KS_OPERATION_DELETE | KS_OPERATION_CONNECT;
	for (size_t i = 0; i < names.n; i++) {
		size_t k = 0;

		while (k < 4 && !ks_view_is(names.items[i], known[k].name))
			k++;
		if (k == 4)
			luaL_error(L, "match.operations: '%s' is none of CREATE, UPDATE, DELETE, CONNECT", names.items[i].p);
		operations |= known[k].bit;
	}
	return operations;
}

static void read_labels(lua_State *L, struct reader *r, int match, struct lua_policy *p)
{
	size_t room = 0;
	int labels;

	if (lua_getfield(L, match, "labels") == LUA_TNIL) {
		lua_pop(L, 1);
		return;
	}
	labels = lua_gettop(L);
	if (!lua_istable(L, labels))
		luaL_error(L, "match.labels: a table of strings is expected");
	for (lua_pushnil(L); lua_next(L, labels); lua_pop(L, 1))
		room++;
	p->labels = ks_pool_alloc(r->policies->pool, room, sizeof(*p->labels));
	if (!p->labels)
		luaL_error(L, "out of memory");
	for (lua_pushnil(L); lua_next(L, labels); lua_pop(L, 1)) {
		p->labels[p->n_labels].key = pool_text(L, r, -2, "match.labels");
		p->labels[p->n_labels++].value = pool_text(L, r, -1, "match.labels");
	}
	lua_pop(L, 1);
}

static void read_match(lua_State *L, struct reader *r, struct lua_policy *p)
{
	static const char *const known[] = {"operations", "groups", "versions", "resources", "namespaces", "exceptNamespaces", "labels", NULL};
	int match;

	p->operations = KS_OPERATION_CREATE | KS_OPERATION_UPDATE | KS_OPERATION_DELETE | KS_OPERATION_CONNECT;
	if (lua_getfield(L, 1, "match") == LUA_TNIL)
		luaL_error(L, "policy needs match = {...}: say at least resources");
	match = lua_gettop(L);
	if (!lua_istable(L, match))
		luaL_error(L, "match: a table is expected");
	check_keys(L, match, known, "match");
	p->operations = read_operations(L, r, match);
	p->groups = read_names(L, r, match, "groups");
	p->versions = read_names(L, r, match, "versions");
	p->resources = read_names(L, r, match, "resources");
	p->namespaces = read_names(L, r, match, "namespaces");
	p->except_namespaces = read_names(L, r, match, "exceptNamespaces");
	read_labels(L, r, match, p);
	lua_pop(L, 1);
}

static enum lua_failure_policy read_failure_policy(lua_State *L, const struct reader *r)
{
	static const char *const names[] = {"Fail", "Ignore", NULL};
	enum lua_failure_policy policy = r->failure_policy;

	if (lua_getfield(L, 1, "failurePolicy") != LUA_TNIL) {
		if (lua_type(L, -1) != LUA_TSTRING || (strcmp(lua_tostring(L, -1), names[0]) && strcmp(lua_tostring(L, -1), names[1])))
			luaL_error(L, "failurePolicy: Fail or Ignore is expected");
		policy = strcmp(lua_tostring(L, -1), names[0]) == 0 ? LUA_FAIL : LUA_IGNORE;
	}
	lua_pop(L, 1);
	return policy;
}

static struct lua_policy *add_policy(lua_State *L, struct lua_policies *policies)
{
	if (policies->n_policies == policies->room)
		luaL_error(L, "more than %d policies", MOST_POLICIES);
	return &policies->policies[policies->n_policies];
}

static int read_policy(lua_State *L)
{
	static const char *const known[] = {"name", "match", "failurePolicy", "validate", NULL};
	struct reader *r = lua_touserdata(L, lua_upvalueindex(1));
	struct lua_policy *p = add_policy(L, r->policies);

	luaL_checktype(L, 1, LUA_TTABLE);
	check_keys(L, 1, known, "policy");
	lua_getfield(L, 1, "name");
	p->name = pool_text(L, r, -1, "name");
	lua_pop(L, 1);
	for (size_t i = 0; i < r->policies->n_policies; i++)
		if (ks_view_eq(r->policies->policies[i].name, p->name))
			luaL_error(L, "there is a policy named '%s' already", p->name.p);
	read_match(L, r, p);
	p->failure_policy = read_failure_policy(L, r);
	if (lua_getfield(L, 1, "validate") != LUA_TFUNCTION)
		luaL_error(L, "policy '%s' needs validate = function(object, old, request) ... end", p->name.p);
	r->policies->n_policies++;
	return 0;
}

static int install_reader(lua_State *L)
{
	lua_getfield(L, LUA_REGISTRYINDEX, "environment");
	lua_pushvalue(L, 1);
	lua_pushcclosure(L, read_policy, 1);
	lua_setfield(L, -2, "policy");
	return 0;
}

/* -- files ------------------------------------------------------------------------------- */

static char *read_file(struct reader *r, const char *path, size_t *n_r)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	struct stat st;

	if (!file || fstat(fileno(file), &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > MOST_FILE_BYTES) {
		fail(r, "%s: %s", path, file ? "not a file of at most 1 MiB" : strerror(errno));
		goto out;
	}
	text = malloc((size_t)st.st_size + 1);
	if (!text) {
		fail(r, "%s: %s", path, "out of memory");
		goto out;
	}
	*n_r = fread(text, 1, (size_t)st.st_size, file);
out:
	if (file)
		fclose(file);
	return text;
}

/* lua_dump's writer: everything goes into one block of the pool at the end. */
struct dump {
	char *bytes;
	size_t n, room;
};

static int dump_some(lua_State *L, const void *p, size_t n, void *arg)
{
	struct dump *d = arg;

	(void)L;
	if (d->n + n > d->room) {
		size_t room = (d->n + n) * 2;
		char *grown = realloc(d->bytes, room);

		if (!grown)
			return 1;
		d->bytes = grown;
		d->room = room;
	}
	memcpy(d->bytes + d->n, p, n);
	d->n += n;
	return 0;
}

/* States of the workers load what was compiled here and need no parser. */
static int keep_chunk(struct reader *r, const char *path)
{
	struct lua_policies *policies = r->policies;
	struct lua_chunk *chunk = &policies->chunks[policies->n_chunks];
	struct dump dump = {0};
	int failed = lua_dump(r->state->L, dump_some, &dump, 0);

	if (!failed) {
		chunk->file = ks_pool_view(policies->pool, ks_view_lit(path)).p;
		chunk->code = ks_pool_view(policies->pool, (struct ks_view){dump.bytes, dump.n});
		failed = !chunk->file || !chunk->code.p;
	}
	free(dump.bytes);
	if (failed)
		return fail(r, "%s: %s", path, "out of memory");
	policies->n_chunks++;
	return 0;
}

static int compile(struct reader *r, const char *path, const char *text, size_t n)
{
	lua_State *L = r->state->L;
	char name[1024];
	int result;

	snprintf(name, sizeof(name), "@%s", path);
	result = luaL_loadbufferx(L, text, n, name, "t");
	if (result == LUA_OK && keep_chunk(r, path) < 0)
		return -1;
	if (result == LUA_OK)
		result = ks_lua_state_call(r->state, 0, 0, READ_MS);
	if (result == LUA_OK)
		return 0;
	if (lua_isstring(L, -1))
		return fail(r, "%s%s", lua_tostring(L, -1), "");
	return fail(r, "%s: %s", path, "the file runs for too long");
}

static int read_policy_file(struct reader *r, const char *path)
{
	size_t n = 0;
	char *text = read_file(r, path, &n);
	int result;

	if (!text)
		return -1;
	result = compile(r, path, text, n);
	free(text);
	lua_settop(r->state->L, 0);
	return result;
}

static int is_policy_file(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n > 4 && entry->d_name[0] != '.' && strcmp(entry->d_name + n - 4, ".lua") == 0;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int reserve_chunks(struct reader *r, size_t n)
{
	struct lua_chunk *grown = ks_pool_alloc(r->policies->pool, r->policies->n_chunks + n, sizeof(*grown));

	if (!grown)
		return fail(r, "%s%s", "out of memory", "");
	if (r->policies->n_chunks)
		memcpy(grown, r->policies->chunks, r->policies->n_chunks * sizeof(*grown));
	r->policies->chunks = grown;
	return 0;
}

static int read_folder(struct reader *r, const char *path)
{
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, is_policy_file, compare_names), result = 0;

	if (n < 0)
		return fail(r, "%s: %s", path, strerror(errno));
	if (n > 0)
		result = reserve_chunks(r, (size_t)n);
	for (int i = 0; i < n; i++) {
		char file[1024];

		snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
		if (result == 0)
			result = read_policy_file(r, file);
		free(entries[i]);
	}
	free(entries);
	return result;
}

static int read_path(struct reader *r, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return fail(r, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return read_folder(r, path);
	return reserve_chunks(r, 1) < 0 ? -1 : read_policy_file(r, path);
}

static struct lua_policies *make_policies(const struct lua_bounds *bounds)
{
	struct ks_pool *pool = ks_pool_new();
	struct lua_policies *policies = pool ? ks_pool_alloc(pool, 1, sizeof(*policies)) : NULL;

	if (!policies) {
		ks_pool_free(pool);
		return NULL;
	}
	atomic_init(&policies->refs, 1);
	policies->pool = pool;
	policies->bounds = *bounds;
	policies->room = MOST_POLICIES;
	policies->policies = ks_pool_alloc(pool, MOST_POLICIES, sizeof(*policies->policies));
	if (!policies->policies) {
		ks_pool_free(pool);
		return NULL;
	}
	return policies;
}

static int prepare_state(struct reader *r)
{
	r->state = ks_lua_state_new(READ_BYTES);
	if (!r->state)
		return fail(r, "%s%s", "out of memory", "");
	lua_pushcfunction(r->state->L, install_reader);
	lua_pushlightuserdata(r->state->L, r);
	return lua_pcall(r->state->L, 1, 0, 0) == LUA_OK ? 0 : fail(r, "%s%s", "out of memory", "");
}

struct lua_policies *ks_lua_policies_read(const struct ks_config_list *paths, const struct lua_bounds *bounds, enum lua_failure_policy failure_policy,
	struct ks_plugin_error *error)
{
	struct reader r = {.policies = make_policies(bounds), .failure_policy = failure_policy, .error = error};
	int result;

	if (!r.policies) {
		fail(&r, "%s%s", "out of memory", "");
		return NULL;
	}
	result = prepare_state(&r);
	for (size_t i = 0; i < paths->n && result == 0; i++)
		result = read_path(&r, paths->items[i]);
	ks_lua_state_free(r.state);
	if (result < 0) {
		ks_lua_policies_unref(r.policies);
		return NULL;
	}
	return r.policies;
}

struct lua_policies *ks_lua_policies_ref(struct lua_policies *policies)
{
	atomic_fetch_add_explicit(&policies->refs, 1, memory_order_relaxed);
	return policies;
}

void ks_lua_policies_unref(struct lua_policies *policies)
{
	if (policies && atomic_fetch_sub_explicit(&policies->refs, 1, memory_order_acq_rel) == 1)
		ks_pool_free(policies->pool);
}

/* -- matching ------------------------------------------------------------------------------ */

static int among(const struct lua_names *names, struct ks_view wanted)
{
	for (size_t i = 0; i < names->n; i++)
		if (ks_view_eq(names->items[i], wanted))
			return 1;
	return names->n == 0;
}

/* "pods" is the resource alone, "pods/status" one subresource, and with a star behind the slash all of them. */
static int resource_among(const struct lua_names *names, struct ks_view resource, struct ks_view sub)
{
	if (names->n == 0)
		return sub.n == 0;
	for (size_t i = 0; i < names->n; i++) {
		struct ks_view name = names->items[i], rest = {"", 0};
		const char *slash = memchr(name.p, '/', name.n);

		if (slash) {
			rest = (struct ks_view){slash + 1, name.n - (size_t)(slash + 1 - name.p)};
			name.n = (size_t)(slash - name.p);
		}
		if ((ks_view_is(name, "*") || ks_view_eq(name, resource)) && (ks_view_eq(rest, sub) || (slash && ks_view_is(rest, "*"))))
			return 1;
	}
	return 0;
}

static int labels_match(const struct lua_policy *policy, const struct ks_value_ops *values, struct ks_val object)
{
	struct ks_val labels = values->member(values->member(object, ks_view_lit("metadata")), ks_view_lit("labels"));

	for (size_t i = 0; i < policy->n_labels; i++) {
		struct ks_val label = values->member(labels, policy->labels[i].key);

		if (values->kind(label) != KS_VAL_STRING || !ks_view_eq(values->string(label), policy->labels[i].value))
			return 0;
	}
	return 1;
}

int ks_lua_policy_matches(const struct lua_policy *policy, const struct ks_value_ops *values, const struct ks_admission_request *request)
{
	if (!(policy->operations & request->operation) || !among(&policy->groups, request->group) || !among(&policy->versions, request->version) ||
		!resource_among(&policy->resources, request->resource, request->subresource))
		return 0;
	if (policy->namespaces.n && !among(&policy->namespaces, request->namespace_))
		return 0;
	if (policy->except_namespaces.n && among(&policy->except_namespaces, request->namespace_))
		return 0;
	if (policy->n_labels == 0)
		return 1;
	return labels_match(policy, values, values->kind(request->object) == KS_VAL_ABSENT ? request->old_object : request->object);
}
