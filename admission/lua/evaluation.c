/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "admission/lua/evaluation.h"

#include <stdio.h>
#include <string.h>

enum { SLICE = 20000, MOST_WARNINGS = 16 }; /* instructions: some 200 microseconds */

struct evaluation {
	struct lua_state *state;
	const struct ks_host *host;
	struct ks_op *op;
	const struct ks_admission_request *request;
	struct ks_admission_result *result;
	void (*give_back)(void *arg, struct lua_state *state);
	void *arg;
	size_t next;       /* policy to look at next */
	size_t running;    /* the one that runs */
	lua_State *thread; /* its coroutine; anchored at the bottom of the main stack */
	int outcome;       /* KS_DONE or a negative result, once it is over */
};

/* -- the request as Lua sees it -------------------------------------------------------------- */

static void set_text(lua_State *L, const char *key, struct ks_view text)
{
	lua_pushlstring(L, text.n ? text.p : "", text.n);
	lua_setfield(L, -2, key);
}

static void push_user(lua_State *L, const struct ks_user *user)
{
	lua_createtable(L, 0, 3);
	if (!user)
		return;
	set_text(L, "name", user->name);
	set_text(L, "uid", user->uid);
	lua_createtable(L, (int)user->n_groups, 0);
	for (size_t i = 0; i < user->n_groups; i++) {
		lua_pushlstring(L, user->groups[i].p, user->groups[i].n);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	lua_setfield(L, -2, "groups");
}

static const char *operation_name(uint32_t operation)
{
	switch (operation) {
	case KS_OPERATION_CREATE:
		return "CREATE";
	case KS_OPERATION_UPDATE:
		return "UPDATE";
	case KS_OPERATION_DELETE:
		return "DELETE";
	default:
		return "CONNECT";
	}
}

static void push_request(lua_State *L, const struct ks_admission_request *request)
{
	lua_createtable(L, 0, 10);
	set_text(L, "operation", ks_view_lit(operation_name(request->operation)));
	set_text(L, "group", request->group);
	set_text(L, "version", request->version);
	set_text(L, "resource", request->resource);
	set_text(L, "subresource", request->subresource);
	set_text(L, "kind", request->kind);
	set_text(L, "namespace", request->namespace_);
	set_text(L, "name", request->name);
	lua_pushboolean(L, request->dry_run != 0);
	lua_setfield(L, -2, "dryRun");
	push_user(L, request->user);
	lua_setfield(L, -2, "user");
}

/* Protected: makes the coroutine of the policy that runs, with function and arguments on its stack. */
static int prepare(lua_State *L)
{
	struct evaluation *e = lua_touserdata(L, 1);
	lua_State *thread = lua_newthread(L);

	lua_getfield(thread, LUA_REGISTRYINDEX, "policies");
	lua_rawgeti(thread, -1, (lua_Integer)e->running + 1);
	lua_remove(thread, -2);
	ks_lua_proxy_push(thread, e->request->object);
	ks_lua_proxy_push(thread, e->request->old_object);
	push_request(thread, e->request);
	e->thread = thread;
	return 1;
}

/* -- outcomes ---------------------------------------------------------------------------------- */

static const char *stop_words(enum lua_stop stop)
{
	switch (stop) {
	case LUA_STOP_INSTRUCTIONS:
		return "it takes too many instructions";
	case LUA_STOP_TIME:
		return "it takes too long";
	case LUA_STOP_MEMORY:
		return "it takes too much memory";
	default:
		return NULL;
	}
}

static struct ks_view printed(struct evaluation *e, const char *format, struct ks_view name, const char *words)
{
	size_t size = strlen(format) + name.n + strlen(words) + 1;
	char *text = e->host->op_alloc(e->op, size);
	int n = text ? snprintf(text, size, format, (int)name.n, name.p, words) : 0;

	return (struct ks_view){text, n > 0 ? (size_t)n : 0};
}

static void copy_warnings(struct evaluation *e)
{
	e->result->warnings = e->state->warnings;
	e->result->n_warnings = e->state->n_warnings;
}

/* 0: go on with the next policy; 1: the request is decided. */
static int take_failure(struct evaluation *e, const char *words)
{
	const struct lua_policy *policy = &e->state->policies->policies[e->running];

	e->host->log(e->host, KS_HOST_LOG_WARN, "audit_id=%s policy \"%.*s\" failed: %s", e->host->op_audit_id(e->op), (int)policy->name.n,
		policy->name.p, words);
	if (policy->failure_policy == LUA_IGNORE)
		return 0;
	e->result->message = printed(e, "policy \"%.*s\" could not be evaluated: %s", policy->name, words);
	e->outcome = KS_DONE;
	return 1;
}

static int take_end(struct evaluation *e, int status)
{
	struct lua_state *state = e->state;
	const char *words;

	if (status == LUA_OK)
		return 0;
	if (state->stop == LUA_STOP_DENIED) {
		e->outcome = KS_DONE;
		return 1;
	}
	words = stop_words(state->stop);
	if (!words && status == LUA_ERRMEM)
		words = stop_words(LUA_STOP_MEMORY);
	if (!words)
		words = lua_type(e->thread, -1) == LUA_TSTRING ? lua_tostring(e->thread, -1) : "an error that is no text was raised";
	return take_failure(e, words);
}

/* -- running ----------------------------------------------------------------------------------- */

static int start_policy(struct evaluation *e)
{
	struct lua_state *state = e->state;
	int status;

	state->serial++;
	lua_settop(state->L, 0);
	lua_pushcfunction(state->L, prepare);
	lua_pushlightuserdata(state->L, e);
	status = lua_pcall(state->L, 1, 1, 0);
	if (status == LUA_OK) {
		ks_lua_state_watch(state, e->thread, state->policies->bounds.time_ms);
		return 0;
	}
	e->thread = state->L;
	return take_end(e, status) ? 1 : -1;
}

/* Runs the policy until it ends or its slice does. LUA_YIELD: there is more to do. */
static int run_slice(struct evaluation *e, int nargs)
{
	int nresults = 0;
	int status = lua_resume(e->thread, NULL, nargs, &nresults);

	if (status == LUA_OK || status == LUA_YIELD)
		lua_pop(e->thread, nresults);
	return status;
}

static int next_matching(struct evaluation *e)
{
	const struct lua_policies *policies = e->state->policies;

	while (e->next < policies->n_policies) {
		e->running = e->next++;
		if (ks_lua_policy_matches(&policies->policies[e->running], e->state->values, e->request))
			return 1;
	}
	return 0;
}

/* Starts policies and runs each to its end or to the end of a slice. 1: all is decided; 0: the one that runs needs another slice. */
static int advance(struct evaluation *e, int resuming)
{
	for (;;) {
		int status, started = 0;

		if (!resuming) {
			if (!next_matching(e)) {
				e->result->allowed = 1;
				e->outcome = KS_DONE;
				return 1;
			}
			started = start_policy(e);
			if (started > 0)
				return 1;
			if (started < 0)
				continue;
		}
		status = run_slice(e, resuming ? 0 : 3);
		if (status == LUA_YIELD)
			return 0;
		resuming = 0;
		if (take_end(e, status))
			return 1;
	}
}

/* The state forgets the request; one whose script keeps too much alive is not used again. */
static void clean_up(struct evaluation *e)
{
	struct lua_state *state = e->state;

	copy_warnings(e);
	lua_settop(state->L, 0);
	state->serial++;
	state->op = NULL;
	state->result = NULL;
	state->warnings = NULL;
	state->n_warnings = 0;
	if (state->limit - state->used < state->policies->bounds.memory / 2)
		lua_gc(state->L, LUA_GCCOLLECT);
	if (state->limit - state->used < state->policies->bounds.memory / 2)
		ks_lua_state_free(state);
	else
		e->give_back(e->arg, state);
}

static int finish(struct evaluation *e)
{
	int outcome = e->outcome;

	clean_up(e);
	return outcome;
}

/* On the executor thread: nobody waits for the slice's end, but the bounds hold. */
static void go_on(void *arg)
{
	struct evaluation *e = arg;
	const struct ks_host *host = e->host;
	struct ks_op *op = e->op;

	e->state->slice = 0;
	while (!advance(e, 1))
		;
	host->complete(op, finish(e));
}

static struct evaluation *make_evaluation(struct lua_state *state, const struct ks_host *host, struct ks_op *op)
{
	struct evaluation *e = host->op_alloc(op, sizeof(*e));

	state->warnings = host->op_alloc(op, MOST_WARNINGS * sizeof(*state->warnings));
	if (!e || !state->warnings)
		return NULL;
	state->host = host;
	state->op = op;
	state->values = host->values;
	state->n_warnings = 0;
	state->slice = SLICE;
	return e;
}

int ks_lua_evaluate(struct lua_state *state, const struct ks_host *host, struct ks_op *op, const struct ks_admission_request *request,
	struct ks_admission_result *result, void (*give_back)(void *arg, struct lua_state *state), void *arg)
{
	struct evaluation *e = make_evaluation(state, host, op);

	if (!e) {
		give_back(arg, state);
		return KS_ERR_NOMEM;
	}
	*e = (struct evaluation){.state = state, .host = host, .op = op, .request = request, .result = result, .give_back = give_back, .arg = arg};
	state->result = result;
	if (advance(e, 0))
		return finish(e);
	if (host->timer(host, 0, go_on, e) == KS_DONE)
		return KS_PENDING;
	e->outcome = KS_ERR_NOMEM;
	return finish(e);
}
