/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/config/entries.h"

#include <errno.h>
#include <stdio.h>

enum { ENTRIES_MOST = 256, NAME_MOST = 63 };

const char *const ks_stage_names[KS_N_STAGES] = {"authentication", "authorization", "admission", "storage"};

#define ENTRY(member) offsetof(struct ks_config_entry, member)

static const struct ks_section_key entry_keys[] = {
	{"plugin", KS_SECTION_TEXT, ENTRY(plugin), 0, 0},
	{"name", KS_SECTION_TEXT, ENTRY(name), 0, 0},
	{"interface", KS_SECTION_TEXT, ENTRY(interface), 0, 0},
	{"config", KS_SECTION_TREE, 0, 0, 0},
	{NULL, 0, 0, 0, 0}
};

static const struct ks_section_key store_keys[] = {
	{"plugin", KS_SECTION_TEXT, ENTRY(plugin), 0, 0},
	{"name", KS_SECTION_TEXT, ENTRY(name), 0, 0},
	{"interface", KS_SECTION_TEXT, ENTRY(interface), 0, 0},
	{"config", KS_SECTION_TREE, 0, 0, 0},
	{"resources", KS_SECTION_TREE, 0, 0, 0},
	{NULL, 0, 0, 0, 0}
};

/* Names go into log lines, metrics and user names. */
static bool is_name(const char *text)
{
	size_t n = 0;

	for (; text[n]; n++) {
		char c = text[n];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && !(n && (c == '-' || c == '.')))
			return false;
	}
	return n > 0 && n <= NAME_MOST;
}

static bool is_library(const char *text)
{
	struct ks_str s = ks_str_from(text);

	return s.n > 4 && s.p[0] == '/' && ks_str_eq(ks_str_of(s.p + s.n - 3, 3), KS_STR_LIT(".so"));
}

/* "/opt/vendor/ldap.so" is called ldap. */
static const char *default_name(struct ks_arena *arena, const char *plugin)
{
	const char *slash = strrchr(plugin, '/');

	if (!slash)
		return plugin;
	return ks_arena_dup(arena, slash + 1, strlen(slash + 1) - 3);
}

static int check_plugin(const struct ks_section_context *context, const struct ks_yaml_node *node, const char *where, struct ks_config_entry *entry)
{
	const struct ks_yaml_node *plugin = ks_yaml_get(node, "plugin");

	if (!entry->plugin)
		return plugin ? 0 : ks_section_problem(context, node, "%s: plugin is missing", where);
	if (!is_library(entry->plugin) && !is_name(entry->plugin))
		return ks_section_problem(context, plugin, "%s.plugin: \"%s\" is neither a short name such as x509 nor the absolute path of a .so",
			where, entry->plugin);
	if (entry->name && !is_name(entry->name))
		return ks_section_problem(context, ks_yaml_get(node, "name"), "%s.name: \"%s\" is not made of a-z, 0-9, '-' and '.'", where,
			entry->name);
	if (!entry->name)
		entry->name = default_name(&context->config->arena, entry->plugin);
	return entry->name ? 0 : -ENOMEM;
}

static int read_resources(const struct ks_section_context *context, const struct ks_yaml_node *node, const char *where, struct ks_config_entry *entry)
{
	static const char *const all[] = {"*"};
	const struct ks_yaml_node *resources = ks_yaml_get(node, "resources");
	char name[64];

	snprintf(name, sizeof(name), "%s.resources", where);
	if (resources)
		return ks_section_texts(context, resources, name, &entry->resources, &entry->n_resources);
	if (entry->index > 0)
		return ks_section_problem(context, node, "%s: resources are missing: only the first store takes what no other does", where);
	entry->resources = all;
	entry->n_resources = 1;
	return 0;
}

static int read_entry(const struct ks_section_context *context, const struct ks_yaml_node *node, struct ks_config_entry *entry)
{
	const struct ks_yaml_node *config;
	char where[40];
	int result;

	snprintf(where, sizeof(where), "%s[%u]", ks_stage_names[entry->stage], entry->index);
	entry->place = node->place;
	result = ks_section_read(context, node, where, entry->stage == KS_STAGE_STORAGE ? store_keys : entry_keys, entry);
	if (result < 0 || node->kind != KS_YAML_MAPPING)
		return result;
	config = ks_yaml_get(node, "config");
	if (config && config->kind == KS_YAML_MAPPING)
		entry->config = config;
	else if (config && !ks_yaml_is_null(config))
		ks_section_problem(context, config, "%s.config: keys and values are expected", where);
	result = check_plugin(context, node, where, entry);
	if (result == 0 && entry->stage == KS_STAGE_STORAGE)
		result = read_resources(context, node, where, entry);
	return result;
}

static void check_unique(const struct ks_section_context *context, const struct ks_config_entry *items, size_t at, const struct ks_yaml_node *node)
{
	for (size_t i = 0; i < at; i++) {
		if (!items[i].name || !items[at].name || strcmp(items[i].name, items[at].name) != 0)
			continue;
		ks_section_problem(context, node, "%s[%zu]: \"%s\" is also the name of entry %zu; give one of them another `name:`",
			ks_stage_names[items[at].stage], at, items[at].name, i);
		return;
	}
}

static int read_list(const struct ks_section_context *context, const struct ks_yaml_node *list, enum ks_stage stage)
{
	struct ks_config_entry *items = ks_arena_zalloc(&context->config->arena, list->n + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < list->n; i++) {
		int result;

		items[i].stage = stage;
		items[i].index = (uint32_t)i;
		result = read_entry(context, list->items[i], &items[i]);
		if (result < 0)
			return result;
		check_unique(context, items, i, list->items[i]);
	}
	context->config->stages[stage] = (struct ks_config_entries){items, list->n};
	return 0;
}

int ks_config_read_entries(const struct ks_section_context *context, const struct ks_yaml_node *root, enum ks_stage stage)
{
	const struct ks_yaml_node *list = ks_yaml_get(root, ks_stage_names[stage]);
	bool empty = !list || ks_yaml_is_null(list) || (list->kind == KS_YAML_SEQUENCE && list->n == 0);

	if (empty && stage == KS_STAGE_ADMISSION)
		return 0;
	if (empty)
		return ks_section_problem(context, list ? list : root, "%s: at least one plugin is needed", ks_stage_names[stage]);
	if (list->kind != KS_YAML_SEQUENCE || list->n > ENTRIES_MOST)
		return ks_section_problem(context, list, "%s: a list of at most %d plugins is expected", ks_stage_names[stage], ENTRIES_MOST);
	return read_list(context, list, stage);
}
