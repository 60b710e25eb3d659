/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "admission/lua/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HOOK_EVERY = 1000, LOAD_MS = 2000, LOAD_BYTES = 64 << 20 };

uint64_t ks_lua_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *allocate(void *ud, void *p, size_t old_size, size_t size)
{
	struct lua_state *state = ud;
	size_t old = p ? old_size : 0;
	void *grown;

	if (size == 0) {
		state->used -= old;
		free(p);
		return NULL;
	}
	if (size > old && size - old > state->limit - state->used)
		return NULL; /* Lua collects its garbage and tries once more */
	grown = realloc(p, size);
	if (!grown)
		return NULL;
	state->used += size - old;
	return grown;
}

struct lua_state *ks_lua_state_of(lua_State *L)
{
	return *(struct lua_state **)lua_getextraspace(L);
}

int ks_lua_state_stop(lua_State *L, enum lua_stop why)
{
	struct lua_state *state = ks_lua_state_of(L);

	state->stop = why;
	lua_pushlightuserdata(L, state);
	return lua_error(L);
}

/* Counts and looks at the clock; yields at the end of a slice, which only the coroutine of an evaluation can. */
static void hook(lua_State *L, lua_Debug *ar)
{
	struct lua_state *state = ks_lua_state_of(L);

	(void)ar;
	state->executed += HOOK_EVERY;
	if (state->policies && state->executed > state->policies->bounds.instructions)
		ks_lua_state_stop(L, LUA_STOP_INSTRUCTIONS);
	if (ks_lua_now_ns() > state->end_ns)
		ks_lua_state_stop(L, LUA_STOP_TIME);
	if (state->slice && state->executed % state->slice == 0 && lua_isyieldable(L))
		lua_yield(L, 0);
}

void ks_lua_state_watch(struct lua_state *state, lua_State *thread, uint64_t time_ms)
{
	state->executed = 0;
	state->stop = LUA_RUNS;
	state->end_ns = ks_lua_now_ns() + time_ms * 1000000u;
	lua_sethook(thread, hook, LUA_MASKCOUNT, HOOK_EVERY);
}

int ks_lua_state_call(struct lua_state *state, int nargs, int nresults, uint64_t time_ms)
{
	int result;

	state->slice = 0;
	ks_lua_state_watch(state, state->L, time_ms);
	result = lua_pcall(state->L, nargs, nresults, 0);
	lua_sethook(state->L, NULL, 0, 0);
	return result;
}

static int panic(lua_State *L)
{
	(void)L;
	return 0; /* Lua aborts: every call into it is protected, so this is our own bug */
}

struct lua_state *ks_lua_state_new(size_t memory)
{
	struct lua_state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->limit = memory;
	state->L = lua_newstate(allocate, state);
	if (!state->L) {
		free(state);
		return NULL;
	}
	*(struct lua_state **)lua_getextraspace(state->L) = state;
	lua_atpanic(state->L, panic);
	lua_pushcfunction(state->L, ks_lua_sandbox_open);
	if (lua_pcall(state->L, 0, 0, 0) != LUA_OK) {
		ks_lua_state_free(state);
		return NULL;
	}
	return state;
}

void ks_lua_state_free(struct lua_state *state)
{
	if (!state)
		return;
	lua_close(state->L);
	for (size_t i = 0; i < LUA_MOST_PATTERNS; i++) {
		free(state->patterns[i].text);
		if (state->patterns[i].regex)
			ks_lua_regex_free(state->patterns[i].regex);
	}
	ks_lua_policies_unref(state->policies);
	free(state);
}

static int run_chunk(struct lua_state *state, const struct lua_chunk *chunk, struct ks_plugin_error *error)
{
	int result = luaL_loadbufferx(state->L, chunk->code.p, chunk->code.n, chunk->file, "b");

	if (result == LUA_OK)
		result = ks_lua_state_call(state, 0, 0, LOAD_MS);
	if (result == LUA_OK)
		return 0;
	snprintf(error->text, sizeof(error->text), "%s", lua_isstring(state->L, -1) ? lua_tostring(state->L, -1) : "a policy file ran too long");
	return -1;
}

struct lua_state *ks_lua_state_load(struct lua_policies *policies, struct ks_plugin_error *error)
{
	struct lua_state *state = ks_lua_state_new(LOAD_BYTES);

	if (!state) {
		snprintf(error->text, sizeof(error->text), "out of memory");
		return NULL;
	}
	for (size_t i = 0; i < policies->n_chunks; i++)
		if (run_chunk(state, &policies->chunks[i], error) < 0) {
			ks_lua_state_free(state);
			return NULL;
		}
	lua_gc(state->L, LUA_GCCOLLECT);
	lua_gc(state->L, LUA_GCGEN, 0, 0);
	state->limit = state->used + policies->bounds.memory;
	state->policies = ks_lua_policies_ref(policies);
	return state;
}
