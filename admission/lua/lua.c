/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * lua: validating policies in Lua, from files.
 *
 * A worker takes a state out of the instance's pool (or makes one from the compiled files), runs
 * the policies that match, and puts it back. An evaluation that is longer than a slice
 * goes on with its state on the instance's executor thread, and the worker with other requests.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "admission/lua/evaluation.h"

enum { MOST_POOLED = 64 };

struct config {
	struct ks_config_list policies;
	int32_t failure_policy;
	int64_t instructions, memory, timeout;
};

struct lua {
	const struct ks_host *host;
	const struct config *config;
	pthread_mutex_t lock; /* of what follows; held for a few loads and stores */
	struct lua_policies *policies;
	struct lua_state *pool;
	size_t n_pooled;
};

static struct lua_policies *read_policies(const struct config *config, struct ks_plugin_error *error)
{
	const struct lua_bounds bounds = {
		.instructions = (uint64_t)config->instructions, .memory = (uint64_t)config->memory, .time_ms = (uint64_t)config->timeout};

	return ks_lua_policies_read(&config->policies, &bounds, (enum lua_failure_policy)config->failure_policy, error);
}

/* -- the pool ---------------------------------------------------------------------------- */

/* A state of the current policies out of the pool, or the policies (a reference) to make one from. */
static struct lua_state *take_pooled(struct lua *l, struct lua_policies **policies_r)
{
	struct lua_state *state;

	pthread_mutex_lock(&l->lock);
	state = l->pool;
	if (state) {
		l->pool = state->next;
		l->n_pooled--;
	} else {
		*policies_r = ks_lua_policies_ref(l->policies);
	}
	pthread_mutex_unlock(&l->lock);
	return state;
}

static struct lua_state *take_state(struct lua *l, struct ks_plugin_error *error)
{
	struct lua_policies *policies = NULL;
	struct lua_state *state = take_pooled(l, &policies);

	if (state)
		return state;
	state = ks_lua_state_load(policies, error);
	ks_lua_policies_unref(policies);
	return state;
}

/* States of policies that have been replaced are not kept. */
static void give_state_back(void *arg, struct lua_state *state)
{
	struct lua *l = arg;
	int keep;

	pthread_mutex_lock(&l->lock);
	keep = state->policies == l->policies && l->n_pooled < MOST_POOLED;
	if (keep) {
		state->next = l->pool;
		l->pool = state;
		l->n_pooled++;
	}
	pthread_mutex_unlock(&l->lock);
	if (!keep)
		ks_lua_state_free(state);
}

static void free_states(struct lua_state *state)
{
	while (state) {
		struct lua_state *next = state->next;

		ks_lua_state_free(state);
		state = next;
	}
}

static int anything_matches(struct lua *l, const struct ks_admission_request *request)
{
	struct lua_policies *policies;
	int matches = 0;

	pthread_mutex_lock(&l->lock);
	policies = ks_lua_policies_ref(l->policies);
	pthread_mutex_unlock(&l->lock);
	for (size_t i = 0; i < policies->n_policies && !matches; i++)
		matches = ks_lua_policy_matches(&policies->policies[i], l->host->values, request);
	ks_lua_policies_unref(policies);
	return matches;
}

/* -- calls --------------------------------------------------------------------------------- */

static int validate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	struct lua *l = self;
	struct ks_plugin_error error = {{0}};
	struct lua_state *state;

	if (!anything_matches(l, request)) {
		result->allowed = 1;
		return KS_DONE;
	}
	state = take_state(l, &error);
	if (!state)
		return l->host->op_error(op, "policies can't be loaded: %s", error.text);
	return ks_lua_evaluate(state, l->host, op, request, result, give_state_back, l);
}

static int reload(void *self, struct ks_plugin_error *error)
{
	struct lua *l = self;
	struct lua_policies *fresh = read_policies(l->config, error), *old;
	struct lua_state *states;

	if (!fresh)
		return KS_ERR_CONFIG;
	pthread_mutex_lock(&l->lock);
	old = l->policies;
	l->policies = fresh;
	states = l->pool;
	l->pool = NULL;
	l->n_pooled = 0;
	pthread_mutex_unlock(&l->lock);
	free_states(states);
	ks_lua_policies_unref(old);
	l->host->log(l->host, KS_HOST_LOG_INFO, "%zu policies read again from %zu files", fresh->n_policies, fresh->n_chunks);
	return KS_DONE;
}

/* -- life ----------------------------------------------------------------------------------- */

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	struct lua *l = calloc(1, sizeof(*l));
	struct lua_state *trial;

	if (!l)
		return KS_ERR_NOMEM;
	l->host = host;
	l->config = config;
	l->policies = read_policies(config, error);
	trial = l->policies ? ks_lua_state_load(l->policies, error) : NULL;
	if (!trial) {
		ks_lua_policies_unref(l->policies);
		free(l);
		return KS_ERR_CONFIG;
	}
	l->pool = trial;
	l->n_pooled = 1;
	pthread_mutex_init(&l->lock, NULL);
	*self = l;
	return KS_DONE;
}

static int start(void *self, struct ks_plugin_error *error)
{
	struct lua *l = self;

	(void)error;
	l->host->log(l->host, KS_HOST_LOG_INFO, "%zu policies from %zu files", l->policies->n_policies, l->policies->n_chunks);
	return KS_DONE;
}

static void destroy(void *self)
{
	struct lua *l = self;

	free_states(l->pool);
	ks_lua_policies_unref(l->policies);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static const char *const failure_policies[] = {"Fail", "Ignore", NULL};

static const struct ks_config_key keys[] = {
	{.name = "policies", .type = KS_CONFIG_PATHS, .flags = KS_CONFIG_REQUIRED, .offset = offsetof(struct config, policies),
		.help = "Policy files, and folders of which every *.lua is read in the order of names."},
	{.name = "failurePolicy", .type = KS_CONFIG_ENUM, .offset = offsetof(struct config, failure_policy), .default_text = "Fail",
		.names = failure_policies, .help = "What an error in a policy, or a bound that it passes, means when the policy doesn't say: refuse the request or ignore the policy."},
	{.name = "instructions", .type = KS_CONFIG_INT, .offset = offsetof(struct config, instructions), .default_text = "1000000", .min = 1000,
		.max = 1000000000, .help = "Most Lua instructions of one policy on one request."},
	{.name = "memory", .type = KS_CONFIG_SIZE, .offset = offsetof(struct config, memory), .default_text = "4Mi", .min = 65536, .max = 1 << 30,
		.help = "Most memory of one evaluation."},
	{.name = "timeout", .type = KS_CONFIG_DURATION, .offset = offsetof(struct config, timeout), .default_text = "1s", .min = 1, .max = 30000,
		.help = "Most time of one policy on one request."},
};

static const struct ks_admission_match matches[] = {
	{KS_OPERATION_CREATE | KS_OPERATION_UPDATE | KS_OPERATION_DELETE | KS_OPERATION_CONNECT, "*", "*/*"},
};

static const struct ks_lifecycle lifecycle = {.size = sizeof(lifecycle), .create = create, .start = start, .destroy = destroy};

static const struct ks_admission_ops ops = {
	.size = sizeof(ops),
	.matches = matches,
	.n_matches = sizeof(matches) / sizeof(matches[0]),
	.validate = validate,
	.reload = reload,
};

static const struct ks_interface interface = {
	.size = sizeof(interface),
	.kind = KS_KIND_ADMISSION,
	.version = KS_ADMISSION_VERSION,
	.threads = KS_THREADS_CONCURRENT,
	.blocking = KS_CALLS_INLINE,
	.flags = KS_ADMISSION_NEEDS_OLD,
	.name = "lua",
	.lifecycle = &lifecycle,
	.ops = &ops,
	.config_keys = keys,
	.n_config_keys = sizeof(keys) / sizeof(keys[0]),
	.config_size = sizeof(struct config),
};

KS_PLUGIN(lua) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Validating policies written in Lua, from files",
};
