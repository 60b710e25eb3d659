/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * One Lua state: an allocator with a bound, the sandbox, the policies' functions. Used by one thread at a time.
 */
#ifndef KS_LUA_STATE_H
#define KS_LUA_STATE_H

#include <lauxlib.h>
#include <lua.h>

#include "admission/lua/policies.h"
#include "admission/lua/regex.h"

enum { LUA_MOST_PATTERNS = 64 };

/* Why an evaluation was stopped from outside; it goes through every pcall of the script. */
enum lua_stop { LUA_RUNS, LUA_STOP_INSTRUCTIONS, LUA_STOP_TIME, LUA_STOP_MEMORY, LUA_STOP_DENIED };

struct lua_pattern { char *text; size_t n; struct ks_lua_regex *regex; };

struct lua_state {
	lua_State *L;
	struct lua_policies *policies; /* a reference; NULL while files are being read */
	struct lua_state *next;        /* in a pool */
	/* memory */
	size_t used, limit;
	/* the evaluation that runs */
	const struct ks_host *host;
	struct ks_op *op;
	const struct ks_value_ops *values;
	struct ks_admission_result *result;
	uint64_t serial;               /* of the evaluation: values of an earlier one are refused */
	uint64_t executed, end_ns;
	uint64_t slice;                /* instructions after which it yields; 0: never */
	enum lua_stop stop;
	size_t n_warnings;
	struct ks_view *warnings;
	/* compiled regular expressions, by the pattern's text; the oldest goes first */
	struct lua_pattern patterns[LUA_MOST_PATTERNS];
	unsigned next_pattern;
};

/* A state with the sandbox and nothing loaded. `memory`: most bytes. NULL when out of memory. */
struct lua_state *ks_lua_state_new(size_t memory);
/* A state with all policies loaded and ready. NULL with the error worded. */
struct lua_state *ks_lua_state_load(struct lua_policies *policies, struct ks_plugin_error *error);
void ks_lua_state_free(struct lua_state *state); /* NULL is safe */
struct lua_state *ks_lua_state_of(lua_State *L);
/* Ends the evaluation whatever the script tries. Does not return. */
int ks_lua_state_stop(lua_State *L, enum lua_stop why);
/* Runs a function on the stack with `nargs` arguments for at most `time_ms`, without yielding; as lua_pcall. */
int ks_lua_state_call(struct lua_state *state, int nargs, int nresults, uint64_t time_ms);
uint64_t ks_lua_now_ns(void);
/* The hook that counts; set on each thread that runs. */
void ks_lua_state_watch(struct lua_state *state, lua_State *thread, uint64_t time_ms);

/* sandbox.c: makes the globals of the state, and policy(), warn(), deny(). Protected call: a C function for lua_pcall. */
int ks_lua_sandbox_open(lua_State *L);

/* proxy.c: values of the host as Lua sees them. */
int ks_lua_proxy_open(lua_State *L);
/* Pushes a value: nil, a boolean, number or string, or a proxy. */
void ks_lua_proxy_push(lua_State *L, struct ks_val value);

#endif
