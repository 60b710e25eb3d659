/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * What a policy can call. From Lua's libraries only what can neither reach outside, nor run long in one
 * instruction, nor change what other policies see; tables of functions are read-only.
 */
#include "admission/lua/state.h"

#include <lualib.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WARNINGS = 16, MOST_WARNING_BYTES = 256 };

/* -- strings -------------------------------------------------------------------------- */

static int contains(lua_State *L)
{
	size_t n, m;
	const char *text = luaL_checklstring(L, 1, &n), *part = luaL_checklstring(L, 2, &m);

	lua_pushboolean(L, m == 0 || memmem(text, n, part, m) != NULL);
	return 1;
}

static int starts_with(lua_State *L)
{
	size_t n, m;
	const char *text = luaL_checklstring(L, 1, &n), *part = luaL_checklstring(L, 2, &m);

	lua_pushboolean(L, n >= m && memcmp(text, part, m) == 0);
	return 1;
}

static int ends_with(lua_State *L)
{
	size_t n, m;
	const char *text = luaL_checklstring(L, 1, &n), *part = luaL_checklstring(L, 2, &m);

	lua_pushboolean(L, n >= m && memcmp(text + n - m, part, m) == 0);
	return 1;
}

static int split(lua_State *L)
{
	size_t n, m;
	const char *text = luaL_checklstring(L, 1, &n), *separator = luaL_checklstring(L, 2, &m), *found;
	lua_Integer count = 0;

	luaL_argcheck(L, m > 0, 2, "the separator is empty");
	lua_newtable(L);
	while ((found = memmem(text, n, separator, m))) {
		lua_pushlstring(L, text, (size_t)(found - text));
		lua_rawseti(L, -2, ++count);
		n -= (size_t)(found - text) + m;
		text = found + m;
	}
	lua_pushlstring(L, text, n);
	lua_rawseti(L, -2, ++count);
	return 1;
}

static const struct ks_lua_regex *find_pattern(const struct lua_state *state, const char *text, size_t n)
{
	for (size_t i = 0; i < LUA_MOST_PATTERNS; i++) {
		const struct lua_pattern *p = &state->patterns[i];

		if (p->regex && p->n == n && memcmp(p->text, text, n) == 0)
			return p->regex;
	}
	return NULL;
}

/* Nothing here can raise between the allocations. NULL with `why` set. */
static const struct ks_lua_regex *compile_pattern(struct lua_state *state, const char *text, size_t n, char *why, size_t why_size)
{
	struct lua_pattern *place = &state->patterns[state->next_pattern];
	struct ks_lua_regex *regex = ks_lua_regex_new(text, n, why, why_size);
	char *copy = regex ? malloc(n + 1) : NULL;

	if (!copy) {
		if (regex)
			ks_lua_regex_free(regex);
		return NULL;
	}
	memcpy(copy, text, n);
	free(place->text);
	if (place->regex)
		ks_lua_regex_free(place->regex);
	*place = (struct lua_pattern){copy, n, regex};
	state->next_pattern = (state->next_pattern + 1) % LUA_MOST_PATTERNS;
	return regex;
}

static int matches(lua_State *L)
{
	struct lua_state *state = ks_lua_state_of(L);
	size_t n, m;
	const char *text = luaL_checklstring(L, 1, &n), *pattern = luaL_checklstring(L, 2, &m);
	const struct ks_lua_regex *regex = find_pattern(state, pattern, m);
	char why[256] = "out of memory";

	if (!regex)
		regex = compile_pattern(state, pattern, m, why, sizeof(why));
	if (!regex)
		return luaL_error(L, "bad regular expression '%s': %s", pattern, why);
	lua_pushboolean(L, ks_lua_regex_matches(regex, text, n));
	return 1;
}

/* -- pcall ----------------------------------------------------------------------------- */

/* A bound that was passed, and a denial, can't be caught by the script. */
static int finish_pcall(lua_State *L, int status, lua_KContext context)
{
	struct lua_state *state = ks_lua_state_of(L);

	(void)context;
	if (status == LUA_ERRMEM)
		return ks_lua_state_stop(L, LUA_STOP_MEMORY);
	if (state->stop != LUA_RUNS)
		return ks_lua_state_stop(L, state->stop);
	if (status != LUA_OK && status != LUA_YIELD) {
		lua_pushboolean(L, 0);
		lua_insert(L, -2);
		return 2;
	}
	return lua_gettop(L);
}

static int safe_pcall(lua_State *L)
{
	luaL_checkany(L, 1);
	lua_pushboolean(L, 1);
	lua_insert(L, 1);
	return finish_pcall(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, finish_pcall), 0);
}

/* -- what a policy says --------------------------------------------------------------- */

static struct ks_view keep_text(lua_State *L, int at)
{
	struct lua_state *state = ks_lua_state_of(L);
	size_t n;
	const char *text = luaL_checklstring(L, at, &n);
	char *copy = state->host->op_alloc(state->op, n + 1);

	if (!copy)
		ks_lua_state_stop(L, LUA_STOP_MEMORY);
	memcpy(copy, text, n + 1);
	return (struct ks_view){copy, n};
}

static int need_evaluation(lua_State *L, const char *what)
{
	return ks_lua_state_of(L)->op ? 0 : luaL_error(L, "%s can only be called while a request is looked at", what);
}

static int warn(lua_State *L)
{
	struct lua_state *state = ks_lua_state_of(L);
	struct ks_view text;

	need_evaluation(L, "warn");
	text = keep_text(L, 1);
	if (text.n > MOST_WARNING_BYTES)
		text.n = MOST_WARNING_BYTES;
	if (state->n_warnings < MOST_WARNINGS)
		state->warnings[state->n_warnings++] = text;
	return 0;
}

/* deny(message [, reason [, code]]) ends the evaluation. */
static int deny(lua_State *L)
{
	struct lua_state *state = ks_lua_state_of(L);
	struct ks_admission_result *result = state->result;

	need_evaluation(L, "deny");
	result->message = keep_text(L, 1);
	if (!lua_isnoneornil(L, 2))
		result->reason = keep_text(L, 2);
	if (!lua_isnoneornil(L, 3)) {
		lua_Integer code = luaL_checkinteger(L, 3);

		luaL_argcheck(L, code >= 400 && code <= 599, 3, "a code from 400 to 599 is expected");
		result->code = (int32_t)code;
	}
	return ks_lua_state_stop(L, LUA_STOP_DENIED);
}

/* In a state that evaluates, policy{} keeps the function; while files are read, policies.c puts its own in the place. */
static int policy(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_getfield(L, LUA_REGISTRYINDEX, "policies");
	lua_getfield(L, 1, "validate");
	lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
	return 0;
}

/* -- the tables ------------------------------------------------------------------------ */

static int refuse_write(lua_State *L)
{
	return luaL_error(L, "'%s' can't be set: global tables are read-only, use local variables", luaL_tolstring(L, 2, NULL));
}

/* The table on top becomes an empty one in front of it that can be read but not written. */
static void make_read_only(lua_State *L)
{
	lua_newtable(L);
	lua_newtable(L);
	lua_pushvalue(L, -3);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, refuse_write);
	lua_setfield(L, -2, "__newindex");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_setmetatable(L, -2);
	lua_remove(L, -2);
}

/* Pushes a table with the named functions of the library that is on top; the library stays below it. */
static void pick(lua_State *L, const char *const *names)
{
	lua_newtable(L);
	for (; *names; names++) {
		lua_getfield(L, -2, *names);
		lua_setfield(L, -2, *names);
	}
}

static void open_library(lua_State *L, lua_CFunction open, const char *name, const char *const *names, const luaL_Reg *more)
{
	lua_pushcfunction(L, open);
	lua_call(L, 0, 1);
	pick(L, names);
	if (more)
		luaL_setfuncs(L, more, 0);
	lua_remove(L, -2);
	make_read_only(L);
	lua_setfield(L, -2, name);
}

static void open_string(lua_State *L)
{
	static const char *const names[] = {"byte", "char", "format", "len", "lower", "rep", "reverse", "sub", "upper", NULL};
	static const luaL_Reg more[] = {
		{"contains", contains}, {"startswith", starts_with}, {"endswith", ends_with}, {"split", split}, {"matches", matches}, {NULL, NULL}};

	open_library(L, luaopen_string, "string", names, more);
	/* luaopen_string gave strings a metatable that leads to the whole library: lead it to ours. */
	lua_pushliteral(L, "");
	lua_newtable(L);
	lua_getfield(L, -3, "string");
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_setmetatable(L, -2);
	lua_pop(L, 1);
}

static void open_base(lua_State *L)
{
	static const char *const names[] = {"assert", "error", "ipairs", "next", "pairs", "select", "tonumber", "tostring", "type", NULL};
	static const luaL_Reg ours[] = {{"pcall", safe_pcall}, {"policy", policy}, {"warn", warn}, {"deny", deny}, {NULL, NULL}};

	lua_pushcfunction(L, luaopen_base);
	lua_call(L, 0, 1);
	pick(L, names);
	luaL_setfuncs(L, ours, 0);
	lua_remove(L, -2);
}

int ks_lua_sandbox_open(lua_State *L)
{
	static const char *const table_names[] = {"concat", "insert", "pack", "remove", "sort", "unpack", NULL};
	static const char *const math_names[] = {"abs", "ceil", "floor", "fmod", "huge", "max", "maxinteger", "min", "mininteger", "modf", "pi",
		"sqrt", "tointeger", "type", "ult", NULL};
	static const char *const utf8_names[] = {"char", "codepoint", "len", "offset", NULL};

	ks_lua_proxy_open(L);
	lua_newtable(L);
	lua_setfield(L, LUA_REGISTRYINDEX, "policies");
	open_base(L);
	open_string(L);
	open_library(L, luaopen_table, "table", table_names, NULL);
	open_library(L, luaopen_math, "math", math_names, NULL);
	open_library(L, luaopen_utf8, "utf8", utf8_names, NULL);
	lua_pushvalue(L, -1);
	lua_setfield(L, LUA_REGISTRYINDEX, "environment");
	make_read_only(L);
	lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
	return 0;
}
