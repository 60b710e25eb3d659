/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The life of one instance, from its entry in the configuration to destroy. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "plugins/host/internal.h"
#include "plugins/host/plugin_config.h"

enum { INSTANCE_ARENA_MOST = 16 << 20 };

int ks_build_problem(const struct ks_build *build, const struct ks_config_entry *entry, const char *format, ...)
{
	char text[800];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return ks_problem(build->problems, build->config->file, entry->place, "%s[%u] \"%s\": %s", ks_stage_names[entry->stage],
		entry->index, entry->name, text);
}

/* A file that has been written since is another one. */
static void sign_file(const struct ks_build *build, struct ks_str path, struct ks_buf *out)
{
	char whole[PATH_MAX];
	const char *folder = path.n && path.p[0] == '/' ? "" : build->config->state_directory;
	int n = snprintf(whole, sizeof(whole), "%s%s%.*s", folder, folder[0] ? "/" : "", (int)path.n, path.p);
	struct stat st;

	if (n > 0 && (size_t)n < sizeof(whole) && stat(whole, &st) == 0 && S_ISREG(st.st_mode))
		ks_buf_printf(out, " %llx.%llx.%llx.%llx.%lx", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
			(unsigned long long)st.st_size, (unsigned long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

/* The files that the configuration names: whoever read them must read them again when they have changed. */
static void sign_files(const struct ks_build *build, const struct ks_config_entry *entry, const struct ks_interface *interface, struct ks_buf *out)
{
	for (size_t i = 0; i < interface->n_config_keys; i++) {
		const struct ks_config_key *key = &interface->config_keys[i];
		const struct ks_yaml_node *node = ks_yaml_get(entry->config, key->name);

		if (key->type != KS_CONFIG_PATH && key->type != KS_CONFIG_PATHS)
			continue;
		if (!node && key->default_text)
			sign_file(build, ks_str_from(key->default_text), out);
		else if (node && node->kind == KS_YAML_SCALAR)
			sign_file(build, node->text, out);
		for (size_t j = 0; node && node->kind == KS_YAML_SEQUENCE && j < node->n; j++)
			if (node->items[j]->kind == KS_YAML_SCALAR)
				sign_file(build, node->items[j]->text, out);
	}
}

char *ks_instance_signature(const struct ks_build *build, const struct ks_config_entry *entry, const struct ks_library *library,
	const struct ks_interface *interface)
{
	struct ks_buf text;

	ks_buf_init(&text);
	ks_buf_printf(&text, "%d %s %s %s %s ", (int)entry->stage, entry->name, library->path, interface->name, build->config->state_directory);
	ks_yaml_signature(entry->config, &text);
	if (entry->stage != KS_STAGE_STORAGE)
		sign_files(build, entry, interface, &text);
	ks_buf_add_char(&text, 0);
	if (text.failed) {
		ks_buf_fini(&text);
		return NULL;
	}
	return text.data;
}

static int fill_identity(struct ks_instance *i, const struct ks_build *build, const struct ks_config_entry *entry)
{
	i->plugins = build->plugins;
	i->stage = entry->stage;
	i->index = entry->index;
	i->place = entry->place;
	i->pool.most = i->interface->threads == KS_THREADS_SERIAL ? 1 : KS_BLOCKING_RUNNING_MOST;
	i->name = ks_arena_dup(&build->plugins->arena, entry->name, strlen(entry->name));
	i->signature = ks_instance_signature(build, entry, i->library, i->interface);
	if (!i->name || !i->signature)
		return ks_build_problem(build, entry, "out of memory");
	ks_services_fill(&i->host, i);
	return 0;
}

static int find(struct ks_instance *i, const struct ks_build *build, const struct ks_config_entry *entry)
{
	uint32_t kind = ks_stage_kind(entry->stage);
	struct ks_error err;

	if (ks_library_find(build->plugins, build->config, kind, entry->plugin, &i->library, &err) < 0)
		return ks_build_problem(build, entry, "%s", err.text);
	i->interface = ks_library_interface(i->library, kind, entry->interface, &err);
	if (!i->interface)
		return ks_build_problem(build, entry, "%s", err.text);
	return 0;
}

static const char *or_result(const struct ks_plugin_error *error, int result)
{
	if (error->text[0])
		return error->text;
	return result == KS_ERR_NOMEM ? "out of memory" : "it gave no reason";
}

static int call_create(struct ks_instance *i, const struct ks_build *build, const struct ks_config_entry *entry)
{
	struct ks_plugin_error error = {0};
	int result = i->interface->lifecycle->create ? i->interface->lifecycle->create(&i->host, i->config, &i->self, &error) : KS_DONE;

	error.text[sizeof(error.text) - 1] = 0;
	if (result != KS_DONE)
		return ks_build_problem(build, entry, "%s", or_result(&error, result));
	i->created = true;
	return 0;
}

int ks_instance_new(const struct ks_build *build, const struct ks_config_entry *entry, struct ks_instance **out_r)
{
	struct ks_instance *i = calloc(1, sizeof(*i));
	int result;

	if (!i)
		return ks_build_problem(build, entry, "out of memory");
	ks_arena_init(&i->arena, INSTANCE_ARENA_MOST);
	pthread_mutex_init(&i->lock, NULL);
	pthread_mutex_init(&i->serial.lock, NULL);
	i->plugins = build->plugins;
	i->next = build->plugins->instances;
	build->plugins->instances = i;
	result = find(i, build, entry);
	if (result == 0)
		result = fill_identity(i, build, entry);
	if (result == 0)
		result = ks_plugin_config_fill(build, entry, i->interface, &i->arena, &i->config);
	if (result == 0)
		result = call_create(i, build, entry);
	if (result < 0)
		ks_instance_free(i);
	else
		*out_r = i;
	return result;
}

static void set_started(struct ks_instance *i, bool started)
{
	pthread_mutex_lock(&i->lock);
	i->started = started;
	pthread_mutex_unlock(&i->lock);
}

int ks_instance_start(struct ks_instance *i, struct ks_plugin_error *error)
{
	const struct ks_lifecycle *lifecycle = i->interface->lifecycle;
	int result;

	error->text[0] = 0;
	set_started(i, true); /* timers that `start` itself asks for have their thread */
	result = lifecycle->start ? lifecycle->start(i->self, error) : KS_DONE;
	error->text[sizeof(error->text) - 1] = 0;
	if (result != KS_DONE) {
		if (!error->text[0])
			snprintf(error->text, sizeof(error->text), "it did not start: %s", or_result(error, result));
		set_started(i, false);
		return result < 0 ? result : KS_ERR;
	}
	if (ks_informers_start(i) < 0) {
		snprintf(error->text, sizeof(error->text), "its informers could not be started: a resource is not stored, or out of memory");
		return KS_ERR;
	}
	return KS_DONE;
}

struct ks_executor *ks_instance_executor(struct ks_instance *i)
{
	struct ks_executor *executor;

	pthread_mutex_lock(&i->lock);
	if (!i->executor && i->started)
		i->executor = ks_executor_new(i->name, ks_thread_enter_cache);
	executor = i->started && i->executor ? ks_executor_ref(i->executor) : NULL;
	pthread_mutex_unlock(&i->lock);
	return executor;
}

void ks_instance_drain(struct ks_instance *i, uint64_t deadline_ms)
{
	if (i->started && i->interface->lifecycle->drain)
		i->interface->lifecycle->drain(i->self, deadline_ms);
}

/* The cache may have seen the loop of an executor that followed it, and wake it once more: such a loop stays until the cache is gone. */
static void keep_for_cache(struct ks_plugins *plugins, struct ks_executor *executor)
{
	struct ks_closed_executor *closed = ks_arena_alloc(&plugins->arena, sizeof(*closed));

	if (!closed)
		return; /* out of memory: it stays for ever */
	*closed = (struct ks_closed_executor){plugins->closed, executor};
	plugins->closed = closed;
}

/* The executor ends first: nothing calls the plugin any more when `stop` does. */
static void close_executor(struct ks_instance *i)
{
	if (!i->executor)
		return;
	ks_executor_close(i->executor);
	ks_informers_stop(i);
	if (i->informers)
		keep_for_cache(i->plugins, i->executor);
	else
		ks_executor_unref(i->executor);
	i->executor = NULL;
}

void ks_instance_stop(struct ks_instance *i)
{
	bool started = i->started;

	set_started(i, false);
	close_executor(i);
	if (started && i->interface->lifecycle->stop)
		i->interface->lifecycle->stop(i->self);
}

static void unlink_instance(struct ks_instance *i)
{
	struct ks_instance **at = &i->plugins->instances;

	while (*at && *at != i)
		at = &(*at)->next;
	if (*at)
		*at = i->next;
}

void ks_instance_free(struct ks_instance *i)
{
	if (i->created && i->interface->lifecycle->destroy)
		i->interface->lifecycle->destroy(i->self);
	ks_informers_free(i);
	ks_services_release(i);
	unlink_instance(i);
	pthread_mutex_destroy(&i->lock);
	pthread_mutex_destroy(&i->serial.lock);
	ks_arena_fini(&i->arena);
	free(i->signature);
	free(i);
}

int ks_instance_attach(struct ks_instance *i, uint32_t worker)
{
	const struct ks_lifecycle *lifecycle = i->interface->lifecycle;
	int result = KS_DONE;

	if (i->attached[worker])
		return KS_DONE;
	if (lifecycle->worker_attach)
		result = lifecycle->worker_attach(i->self, worker);
	if (result == KS_DONE)
		i->attached[worker] = 1;
	return result == KS_DONE ? 0 : result < 0 ? result : KS_ERR;
}

void ks_instance_detach(struct ks_instance *i, uint32_t worker)
{
	if (!i->attached[worker])
		return;
	i->attached[worker] = 0;
	if (i->interface->lifecycle->worker_detach)
		i->interface->lifecycle->worker_detach(i->self, worker);
}

const char *ks_instance_name(const struct ks_instance *instance)
{
	return instance->name;
}

uint32_t ks_instance_flags(const struct ks_instance *instance)
{
	return instance->interface->flags;
}

const struct ks_interface *ks_instance_interface(const struct ks_instance *instance)
{
	return instance->interface;
}
