/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The host's own life: load, start, publish, reload, stop. Main thread. */
#include "plugins/host/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/host/calls.h"
#include "plugins/host/set.h"

int ks_plugins_new(const struct ks_plugins_options *options, struct ks_plugins **out_r)
{
	struct ks_plugins *plugins = calloc(1, sizeof(*plugins));

	if (!plugins)
		return -ENOMEM;
	plugins->options = *options;
	pthread_mutex_init(&plugins->lock, NULL);
	ks_plugin_metrics_init(&plugins->metrics);
	ks_arena_init(&plugins->arena, 0);
	plugins->directories = strdup(options->directories ? options->directories : "");
	plugins->pool = ks_blocking_new(ks_call_run_blocking, ks_thread_enter_cache);
	if (!plugins->directories || !plugins->pool) {
		ks_plugins_free(&plugins);
		return -ENOMEM;
	}
	*out_r = plugins;
	return 0;
}

/* The newest first: what was started last may need what was started before it. */
static void retire_instances(struct ks_plugins *plugins, bool stores)
{
	struct ks_instance *next;

	for (struct ks_instance *i = plugins->instances; i; i = next) {
		next = i->next;
		if (stores || i->stage != KS_STAGE_STORAGE)
			ks_instance_retire(i, 0);
	}
}

void ks_plugins_drain(struct ks_plugins *plugins, uint64_t deadline_ms)
{
	for (struct ks_instance *i = plugins->instances; i; i = i->next)
		if (i->stage != KS_STAGE_STORAGE)
			ks_instance_drain(i, deadline_ms);
}

void ks_plugins_stop(struct ks_plugins *plugins)
{
	for (struct ks_plugin_set *set = plugins->sets; set; set = set->next) {
		if (set->chain)
			plugins->release(set->chain);
		set->chain = NULL;
	}
	retire_instances(plugins, false);
}

void ks_plugins_free(struct ks_plugins **plugins)
{
	struct ks_plugins *p = *plugins;

	if (!p)
		return;
	*plugins = NULL;
	ks_plugins_stop(p);
	ks_early_writes_drop(p);
	retire_instances(p, true);
	for (struct ks_closed_executor *closed = p->closed; closed; closed = closed->next)
		ks_executor_unref(closed->executor);
	ks_sets_free(p);
	ks_blocking_free(&p->pool);
	ks_libraries_free(p);
	ks_plugin_metrics_fini(&p->metrics);
	ks_arena_fini(&p->arena);
	pthread_mutex_destroy(&p->lock);
	free(p->directories);
	free(p->file);
	free(p);
}

int ks_plugins_load(struct ks_plugins *plugins, const struct ks_config *config, struct ks_problems *problems)
{
	struct ks_build build = {plugins, config, problems};

	free(plugins->file);
	plugins->file = strdup(config->file);
	if (!plugins->file)
		return ks_problem(problems, config->file, (struct ks_place){0}, "out of memory");
	return ks_set_build(&build, NULL, &plugins->loaded);
}

/* -- starting -- */

static int instance_problem(const struct ks_instance *i, struct ks_problems *problems, const struct ks_plugin_error *error)
{
	return ks_problem(problems, i->plugins->file, i->place, "%s[%u] \"%s\": %s", ks_stage_names[i->stage], i->index, i->name, error->text);
}

/* Those of a stage that have not been started. The first that fails ends it: others may depend on it. */
static int start_stage(struct ks_plugin_set *set, enum ks_stage stage, struct ks_problems *problems)
{
	struct ks_plugin_error error;

	for (size_t i = 0; i < set->stages[stage].n; i++) {
		struct ks_instance *instance = set->stages[stage].items[i];

		if (!instance->serving && ks_instance_start(instance, &error) < 0)
			return instance_problem(instance, problems, &error);
	}
	return 0;
}

int ks_plugins_start_stores(struct ks_plugins *plugins, struct ks_problems *problems)
{
	return start_stage(plugins->loaded, KS_STAGE_STORAGE, problems);
}

void ks_plugins_set_cache(struct ks_plugins *plugins, struct ks_cache *cache)
{
	plugins->cache = cache;
}

static int start_others(struct ks_plugin_set *set, struct ks_problems *problems)
{
	for (int stage = 0; stage < KS_STAGE_STORAGE; stage++) {
		int result = start_stage(set, (enum ks_stage)stage, problems);

		if (result < 0)
			return result;
	}
	return 0;
}

int ks_plugins_start(struct ks_plugins *plugins, struct ks_problems *problems)
{
	return start_others(plugins->loaded, problems);
}

/* -- publishing -- */

void ks_plugins_on_set(struct ks_plugins *plugins, int (*build)(void *arg, struct ks_plugin_set *set, void **chain_r, struct ks_error *err),
	void (*release)(void *chain), void *arg)
{
	plugins->build = build;
	plugins->release = release;
	plugins->build_arg = arg;
}

/* All that can fail before the set is in use. */
static int prepare(struct ks_plugin_set *set, struct ks_problems *problems)
{
	struct ks_plugins *plugins = set->plugins;
	struct ks_error err = {""};

	if (plugins->build && plugins->build(plugins->build_arg, set, &set->chain, &err) < 0)
		return ks_problem(problems, plugins->file, (struct ks_place){0}, "%s", err.text);
	if (ks_set_attach(set) < 0)
		return ks_problem(problems, plugins->file, (struct ks_place){0}, "a plugin could not be attached to a worker");
	return 0;
}

int ks_plugins_publish(struct ks_plugins *plugins, struct ks_problems *problems)
{
	int result = prepare(plugins->loaded, problems);

	if (result == 0)
		ks_set_swap_in(plugins->loaded);
	return result;
}

/* -- reloading -- */

static bool is_new(const struct ks_instance *instance)
{
	return instance->sets == 1;
}

static bool reloads(const struct ks_instance *instance)
{
	return !is_new(instance) && ((const struct ks_admission_ops *)instance->interface->ops)->reload;
}

/* What kept controllers would read is tried first, by instances that nobody will ask: a reload is refused whole, or changes all. */
static int try_files(const struct ks_build *build, const struct ks_plugin_set *set)
{
	const struct ks_stage_list *list = &set->stages[KS_STAGE_ADMISSION];
	int worst = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct ks_instance *trial;
		int result;

		if (!reloads(list->items[i]))
			continue;
		result = ks_instance_new(build, &build->config->stages[KS_STAGE_ADMISSION].items[i], &trial);
		if (result == 0)
			ks_instance_free(trial);
		else
			worst = result;
	}
	return worst;
}

/* Kept admission controllers read their files again. One that can't keeps what it had, and the reload is refused. */
static int reload_files(struct ks_plugin_set *set, struct ks_problems *problems)
{
	const struct ks_stage_list *list = &set->stages[KS_STAGE_ADMISSION];
	int worst = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct ks_instance *instance = list->items[i];
		const struct ks_admission_ops *ops = instance->interface->ops;
		struct ks_plugin_error error = {""};

		if (!reloads(instance) || ops->reload(instance->self, &error) == KS_DONE)
			continue;
		error.text[sizeof(error.text) - 1] = 0;
		worst = instance_problem(instance, problems, &error);
	}
	return worst;
}

/* Messages name the place in the new file. */
static void move_places(struct ks_plugin_set *set, const struct ks_config *config)
{
	for (int stage = 0; stage < KS_STAGE_STORAGE; stage++)
		for (size_t i = 0; i < set->stages[stage].n; i++) {
			set->stages[stage].items[i]->place = config->stages[stage].items[i].place;
			set->stages[stage].items[i]->index = (uint32_t)i;
		}
}

int ks_plugins_reload(struct ks_plugins *plugins, const struct ks_config *config, struct ks_problems *problems)
{
	struct ks_build build = {plugins, config, problems};
	struct ks_plugin_set *set = NULL, *before = plugins->loaded;
	int result;

	ks_libraries_check(plugins);
	result = ks_set_build(&build, before, &set);
	if (result < 0)
		return result;
	result = start_others(set, problems);
	if (result == 0)
		result = try_files(&build, set);
	if (result == 0)
		result = prepare(set, problems);
	/* Last: what kept instances have read can't be taken back. */
	if (result == 0)
		result = reload_files(set, problems);
	if (result < 0) {
		ks_set_take_apart(set);
		return result;
	}
	ks_set_swap_in(set);
	move_places(set, config);
	plugins->loaded = set;
	ks_plugin_set_unref(before);
	return 0;
}

/* -- for /readyz, /metrics, and main -- */

int ks_plugins_synced(struct ks_plugins *plugins, const char **instance_r)
{
	struct ks_plugin_set *set;
	int synced = 1;

	pthread_mutex_lock(&plugins->lock);
	set = plugins->current ? ks_plugin_set_ref(plugins->current) : NULL;
	pthread_mutex_unlock(&plugins->lock);
	for (int stage = 0; set && stage < KS_N_STAGES && synced; stage++)
		for (size_t i = 0; i < set->stages[stage].n && synced; i++) {
			synced = ks_informers_synced(set->stages[stage].items[i]) && !atomic_load(&set->stages[stage].items[i]->busy);
			*instance_r = set->stages[stage].items[i]->name;
		}
	ks_plugin_set_unref(set);
	return synced;
}

void ks_plugins_metrics(struct ks_plugins *plugins, struct ks_buf *out)
{
	ks_plugin_metrics_write(&plugins->metrics, out);
}

struct ks_plugin_set *ks_plugins_loaded(struct ks_plugins *plugins)
{
	return plugins->loaded;
}
