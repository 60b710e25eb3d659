/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "plugins/host/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/log.h"

enum { DRAIN_MS = 5000 };

/* -- building -- */

static struct ks_instance *find_same(const struct ks_plugin_set *previous, const struct ks_build *build, const struct ks_config_entry *entry)
{
	const struct ks_stage_list *list = &previous->stages[entry->stage];
	uint32_t kind = ks_stage_kind(entry->stage);
	const struct ks_library *library;
	const struct ks_interface *interface;
	struct ks_instance *found = NULL;
	char *signature;

	if (ks_library_find(build->plugins, build->config, kind, entry->plugin, &library, NULL) < 0)
		return NULL;
	interface = ks_library_interface(library, kind, entry->interface, NULL);
	signature = interface ? ks_instance_signature(build, entry, library, interface) : NULL;
	for (size_t i = 0; signature && i < list->n && !found; i++)
		if (strcmp(list->items[i]->signature, signature) == 0)
			found = list->items[i];
	free(signature);
	return found;
}

static void hold(struct ks_stage_list *list, struct ks_instance *instance)
{
	instance->sets++;
	list->items[list->n++] = instance;
}

static int build_stage(const struct ks_build *build, const struct ks_plugin_set *previous, struct ks_plugin_set *set, enum ks_stage stage)
{
	const struct ks_config_entries *entries = &build->config->stages[stage];
	struct ks_stage_list *list = &set->stages[stage];
	int worst = 0;

	list->items = ks_arena_zalloc(&set->arena, entries->n + 1, sizeof(struct ks_instance *));
	if (!list->items)
		return ks_problem(build->problems, NULL, (struct ks_place){0}, "out of memory");
	for (size_t i = 0; i < entries->n; i++) {
		const struct ks_config_entry *entry = &entries->items[i];
		struct ks_instance *instance = previous ? find_same(previous, build, entry) : NULL;
		int result = instance ? 0 : ks_instance_new(build, entry, &instance);

		if (result == 0)
			hold(list, instance);
		else
			worst = result;
	}
	return worst;
}

static bool store_unchanged(const struct ks_build *build, const struct ks_plugin_set *previous, size_t at)
{
	const struct ks_config_entry *entry = &build->config->stages[KS_STAGE_STORAGE].items[at];
	const struct ks_router_entry *before = &previous->router_entries[at];

	if (find_same(previous, build, entry) != previous->stages[KS_STAGE_STORAGE].items[at] || before->n_resources != entry->n_resources)
		return false;
	for (size_t i = 0; i < entry->n_resources; i++)
		if (strcmp(before->resources[i], entry->resources[i]) != 0)
			return false;
	return true;
}

/* Stores stay as they were; a change of them is only told. */
static int keep_stores(const struct ks_build *build, const struct ks_plugin_set *previous, struct ks_plugin_set *set)
{
	const struct ks_stage_list *before = &previous->stages[KS_STAGE_STORAGE];
	struct ks_stage_list *list = &set->stages[KS_STAGE_STORAGE];
	const struct ks_config_entries *entries = &build->config->stages[KS_STAGE_STORAGE];
	bool changed = entries->n != before->n;

	list->items = ks_arena_zalloc(&set->arena, before->n + 1, sizeof(struct ks_instance *));
	if (!list->items)
		return ks_problem(build->problems, NULL, (struct ks_place){0}, "out of memory");
	for (size_t i = 0; i < before->n && !changed; i++)
		changed = !store_unchanged(build, previous, i);
	if (changed)
		ks_log(KS_LOG_WARN, "plugins", "%s: storage has changed; that needs a restart, the stores stay as they are", build->config->file);
	for (size_t i = 0; i < before->n; i++)
		hold(list, before->items[i]);
	set->router_entries = previous->router_entries;
	return 0;
}

static const char *const *copy_texts(struct ks_arena *arena, const char *const *texts, size_t n)
{
	const char **copy = ks_arena_zalloc(arena, n + 1, sizeof(*copy));

	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = ks_arena_dup(arena, texts[i], strlen(texts[i]));
		if (!copy[i])
			return NULL;
	}
	return copy;
}

/* In the host's memory: they stay when the set goes. */
static int note_routes(const struct ks_build *build, struct ks_plugin_set *set)
{
	const struct ks_config_entries *entries = &build->config->stages[KS_STAGE_STORAGE];
	const struct ks_stage_list *list = &set->stages[KS_STAGE_STORAGE];
	struct ks_arena *arena = &build->plugins->arena;

	set->router_entries = ks_arena_zalloc(arena, list->n + 1, sizeof(*set->router_entries));
	for (size_t i = 0; set->router_entries && i < list->n; i++) {
		struct ks_router_entry *route = &set->router_entries[i];
		const struct ks_instance *store = list->items[i];

		route->store = (struct ks_store){store->name, store->self, store->interface->ops, store->interface->flags,
			store->interface->scratch_size};
		route->n_resources = entries->items[i].n_resources;
		route->resources = copy_texts(arena, entries->items[i].resources, route->n_resources);
		if (!route->resources)
			return ks_problem(build->problems, NULL, (struct ks_place){0}, "out of memory");
	}
	return set->router_entries ? 0 : ks_problem(build->problems, NULL, (struct ks_place){0}, "out of memory");
}

static int build_stages(const struct ks_build *build, const struct ks_plugin_set *previous, struct ks_plugin_set *set)
{
	int worst = 0;

	for (int stage = 0; stage < KS_N_STAGES; stage++) {
		bool keep = stage == KS_STAGE_STORAGE && previous;
		int result = keep ? keep_stores(build, previous, set) : build_stage(build, previous, set, (enum ks_stage)stage);

		if (result < 0)
			worst = result;
	}
	return worst == 0 && !previous ? note_routes(build, set) : worst;
}

int ks_set_build(const struct ks_build *build, const struct ks_plugin_set *previous, struct ks_plugin_set **out_r)
{
	struct ks_plugin_set *set = calloc(1, sizeof(*set));
	int result;

	if (!set)
		return ks_problem(build->problems, NULL, (struct ks_place){0}, "out of memory");
	set->refs = 1;
	set->plugins = build->plugins;
	ks_arena_init(&set->arena, 0);
	set->next = build->plugins->sets;
	build->plugins->sets = set;
	result = build_stages(build, previous, set);
	if (result < 0)
		ks_set_take_apart(set);
	else
		*out_r = set;
	return result;
}

/* -- the end -- */

void ks_instance_retire(struct ks_instance *instance, uint64_t drain_ms)
{
	ks_instance_detach_all(instance);
	ks_instance_drain(instance, drain_ms);
	ks_instance_stop(instance);
	ks_instance_free(instance);
}

static void free_set(struct ks_plugin_set *set)
{
	ks_arena_fini(&set->arena);
	free(set);
}

static void unlink_set(struct ks_plugin_set *set)
{
	struct ks_plugin_set **at = &set->plugins->sets;

	while (*at && *at != set)
		at = &(*at)->next;
	if (*at)
		*at = set->next;
}

void ks_set_take_apart(struct ks_plugin_set *set)
{
	if (set->chain)
		set->plugins->release(set->chain);
	for (int stage = 0; stage < KS_N_STAGES; stage++)
		for (size_t i = 0; i < set->stages[stage].n; i++)
			if (--set->stages[stage].items[i]->sets == 0)
				ks_instance_retire(set->stages[stage].items[i], DRAIN_MS);
	unlink_set(set);
	free_set(set);
}

void ks_sets_free(struct ks_plugins *plugins)
{
	while (plugins->sets) {
		struct ks_plugin_set *set = plugins->sets;

		plugins->sets = set->next;
		free_set(set);
	}
}

/* -- shared use -- */

struct ks_plugin_set *ks_plugin_set_ref(struct ks_plugin_set *set)
{
	atomic_fetch_add_explicit(&set->refs, 1, memory_order_relaxed);
	return set;
}

static void run_take_apart(struct ks_task *task)
{
	ks_set_take_apart((struct ks_plugin_set *)((char *)task - offsetof(struct ks_plugin_set, task)));
}

void ks_plugin_set_unref(struct ks_plugin_set *set)
{
	if (!set || atomic_fetch_sub_explicit(&set->refs, 1, memory_order_acq_rel) != 1)
		return;
	set->task.run = run_take_apart;
	if (set->plugins->options.main_loop)
		ks_loop_post(set->plugins->options.main_loop, &set->task);
}

size_t ks_plugin_set_count(const struct ks_plugin_set *set, enum ks_stage stage)
{
	return set->stages[stage].n;
}

struct ks_instance *ks_plugin_set_at(const struct ks_plugin_set *set, enum ks_stage stage, size_t index)
{
	return set->stages[stage].items[index];
}

void *ks_plugin_set_chain(const struct ks_plugin_set *set)
{
	return set->chain;
}

const struct ks_router_entry *ks_plugin_set_router_entries(const struct ks_plugin_set *set, size_t *n_r)
{
	*n_r = set->stages[KS_STAGE_STORAGE].n;
	return set->router_entries;
}
