/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The workers' view of the sets: each has its own slot, which only its own thread changes. */
#include <errno.h>
#include <stdlib.h>

#include "core/util/log.h"
#include "plugins/host/set.h"

/* -- one thing on every worker -- */

struct round {
	struct ks_plugins *plugins;
	int (*visit)(struct ks_plugins *plugins, uint32_t worker, void *arg);
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t over;
	uint32_t left;
	int result;
	struct visit { struct ks_task task; struct round *round; uint32_t worker; } visits[KS_HOST_WORKERS_MOST];
};

static void run_visit(struct ks_task *task)
{
	struct visit *visit = (struct visit *)task;
	struct round *round = visit->round;
	int result = round->visit(round->plugins, visit->worker, round->arg);

	pthread_mutex_lock(&round->lock);
	if (result < 0)
		round->result = result;
	if (--round->left == 0)
		pthread_cond_signal(&round->over);
	pthread_mutex_unlock(&round->lock);
}

static void post_visits(struct round *round)
{
	struct ks_plugins *plugins = round->plugins;

	pthread_mutex_lock(&plugins->lock);
	for (uint32_t i = 0; i < KS_HOST_WORKERS_MOST; i++) {
		struct visit *visit = &round->visits[i];

		if (!plugins->slots[i].loop)
			continue;
		*visit = (struct visit){.task.run = run_visit, .round = round, .worker = i};
		pthread_mutex_lock(&round->lock);
		round->left++;
		pthread_mutex_unlock(&round->lock);
		ks_loop_post(plugins->slots[i].loop, &visit->task);
	}
	pthread_mutex_unlock(&plugins->lock);
}

int ks_on_workers(struct ks_plugins *plugins, int (*visit)(struct ks_plugins *plugins, uint32_t worker, void *arg), void *arg)
{
	struct round *round = calloc(1, sizeof(*round));
	int result;

	if (!round)
		return -ENOMEM;
	round->plugins = plugins;
	round->visit = visit;
	round->arg = arg;
	pthread_mutex_init(&round->lock, NULL);
	pthread_cond_init(&round->over, NULL);
	post_visits(round);
	pthread_mutex_lock(&round->lock);
	while (round->left)
		pthread_cond_wait(&round->over, &round->lock);
	result = round->result;
	pthread_mutex_unlock(&round->lock);
	pthread_mutex_destroy(&round->lock);
	pthread_cond_destroy(&round->over);
	free(round);
	return result;
}

/* -- attaching -- */

static int attach_on(struct ks_plugin_set *set, uint32_t worker, const char **name_r)
{
	for (int stage = 0; stage < KS_N_STAGES; stage++)
		for (size_t i = 0; i < set->stages[stage].n; i++) {
			*name_r = set->stages[stage].items[i]->name;
			if (ks_instance_attach(set->stages[stage].items[i], worker) < 0)
				return -EINVAL;
		}
	return 0;
}

static int visit_attach(struct ks_plugins *plugins, uint32_t worker, void *arg)
{
	const char *name;
	int result = attach_on(arg, worker, &name);

	(void)plugins;
	if (result < 0)
		ks_log(KS_LOG_ERROR, name, "could not be attached to worker %u", worker);
	return result;
}

int ks_set_attach(struct ks_plugin_set *set)
{
	return ks_on_workers(set->plugins, visit_attach, set);
}

static int visit_detach(struct ks_plugins *plugins, uint32_t worker, void *arg)
{
	(void)plugins;
	ks_instance_detach(arg, worker);
	return 0;
}

void ks_instance_detach_all(struct ks_instance *instance)
{
	bool attached = false;

	for (uint32_t i = 0; i < KS_HOST_WORKERS_MOST && !attached; i++)
		attached = atomic_load_explicit(&instance->attached[i], memory_order_relaxed);
	if (!attached)
		return;
	ks_on_workers(instance->plugins, visit_detach, instance);
	for (uint32_t i = 0; i < KS_HOST_WORKERS_MOST; i++)
		ks_instance_detach(instance, i); /* of workers that have ended */
}

/* -- the set in use -- */

static int visit_swap(struct ks_plugins *plugins, uint32_t worker, void *arg)
{
	struct ks_worker_slot *slot = &plugins->slots[worker];
	struct ks_plugin_set *before = slot->set;

	slot->set = ks_plugin_set_ref(arg);
	ks_plugin_set_unref(before);
	return visit_attach(plugins, worker, arg); /* a worker that started while the others were attached */
}

void ks_set_swap_in(struct ks_plugin_set *set)
{
	struct ks_plugins *plugins = set->plugins;
	struct ks_plugin_set *before;

	pthread_mutex_lock(&plugins->lock);
	before = plugins->current;
	plugins->current = ks_plugin_set_ref(set);
	pthread_mutex_unlock(&plugins->lock);
	ks_on_workers(plugins, visit_swap, set);
	ks_plugin_set_unref(before);
}

int ks_plugins_worker_started(struct ks_plugins *plugins, struct ks_loop *loop, struct ks_error *err)
{
	uint32_t worker = ks_loop_index(loop);
	const char *name;

	if (worker >= KS_HOST_WORKERS_MOST)
		return ks_error_set(err, -EINVAL, "more than %d workers", KS_HOST_WORKERS_MOST);
	pthread_mutex_lock(&plugins->lock);
	if (plugins->current) {
		plugins->slots[worker].set = ks_plugin_set_ref(plugins->current);
		plugins->slots[worker].loop = loop;
	}
	pthread_mutex_unlock(&plugins->lock);
	if (!plugins->slots[worker].set)
		return ks_error_set(err, -EINVAL, "no plugins have been published");
	if (attach_on(plugins->slots[worker].set, worker, &name) < 0)
		return ks_error_set(err, -EINVAL, "the plugin %s could not be attached to worker %u", name, worker);
	ks_early_writes_give(plugins, loop);
	return 0;
}

void ks_plugins_worker_stopped(struct ks_plugins *plugins, struct ks_loop *loop)
{
	uint32_t worker = ks_loop_index(loop);
	struct ks_plugin_set *set = worker < KS_HOST_WORKERS_MOST ? plugins->slots[worker].set : NULL;

	if (!set)
		return;
	pthread_mutex_lock(&plugins->lock);
	plugins->slots[worker].loop = NULL;
	pthread_mutex_unlock(&plugins->lock);
	for (int stage = 0; stage < KS_N_STAGES; stage++)
		for (size_t i = 0; i < set->stages[stage].n; i++)
			ks_instance_detach(set->stages[stage].items[i], worker);
	plugins->slots[worker].set = NULL;
	ks_plugin_set_unref(set);
}

struct ks_plugin_set *ks_plugins_current(struct ks_plugins *plugins, const struct ks_loop *loop)
{
	uint32_t worker = ks_loop_index(loop);

	return worker < KS_HOST_WORKERS_MOST ? plugins->slots[worker].set : NULL;
}
