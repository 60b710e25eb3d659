/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "plugins/host/plugin_config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/config/scalar.h"

/* One key that is being filled. */
struct filling {
	const struct ks_build *build;
	const struct ks_config_entry *entry;
	struct ks_arena *arena;
	const struct ks_config_key *key;
	const char *shown; /* the value in messages */
	struct ks_place place;
	void *to;
};

static int refuse(const struct filling *f, struct ks_place place, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int refuse(const struct filling *f, struct ks_place place, const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return ks_problem(f->build->problems, f->build->config->file, place, "%s[%u] \"%s\": %s", ks_stage_names[f->entry->stage],
		f->entry->index, f->entry->name, text);
}

static int fill_path(const struct filling *f, struct ks_str text, const char **to)
{
	const char *folder = f->build->config->state_directory;
	const char *copy;

	if (text.n == 0)
		copy = ks_arena_dup(f->arena, "", 0);
	else if (text.p[0] == '/')
		copy = ks_arena_dup(f->arena, text.p, text.n);
	else
		copy = ks_arena_printf(f->arena, "%s/%.*s", folder, (int)text.n, text.p);
	if (!copy)
		return -ENOMEM;
	*to = copy;
	return 0;
}

static int fill_text(const struct filling *f, bool path, struct ks_str text, const char **to)
{
	const char *copy;

	if (path)
		return fill_path(f, text, to);
	copy = ks_arena_dup(f->arena, text.n ? text.p : "", text.n);
	if (!copy)
		return -ENOMEM;
	*to = copy;
	return 0;
}

static int fill_bool(const struct filling *f, struct ks_str text)
{
	bool value;

	if (ks_scalar_bool(text, &value) < 0)
		return refuse(f, f->place, "%s: %s is neither true nor false", f->key->name, f->shown);
	*(uint8_t *)f->to = value;
	return 0;
}

static const char *wanted_number(uint32_t type)
{
	if (type == KS_CONFIG_DURATION)
		return "duration such as 500ms, 10s, 5m or 1h";
	return type == KS_CONFIG_SIZE ? "size such as 65536, 64Ki or 3Mi" : "whole number";
}

static int fill_number(const struct filling *f, struct ks_str text)
{
	const struct ks_config_key *key = f->key;
	int64_t value;
	int result;

	if (key->type == KS_CONFIG_DURATION)
		result = ks_scalar_duration(text, &value);
	else
		result = key->type == KS_CONFIG_SIZE ? ks_scalar_size(text, &value) : ks_scalar_int(text, &value);
	if (result == -EINVAL)
		return refuse(f, f->place, "%s: %s is not a %s", key->name, f->shown, wanted_number(key->type));
	if (result < 0)
		return refuse(f, f->place, "%s: %s is too large", key->name, f->shown);
	if ((key->min || key->max) && (value < key->min || value > key->max))
		return refuse(f, f->place, "%s: %s is not between %lld and %lld%s", key->name, f->shown, (long long)key->min,
			(long long)key->max, key->type == KS_CONFIG_DURATION ? " milliseconds" : "");
	*(int64_t *)f->to = value;
	return 0;
}

static int fill_enum(const struct filling *f, struct ks_str text)
{
	char names[200] = "";
	size_t n = 0;

	for (int32_t i = 0; f->key->names[i]; i++) {
		if (ks_str_is(text, f->key->names[i])) {
			*(int32_t *)f->to = i;
			return 0;
		}
		if (n < sizeof(names))
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? ", " : "", f->key->names[i]);
	}
	return refuse(f, f->place, "%s: %s is none of %s", f->key->name, f->shown, names);
}

static int fill_scalar(const struct filling *f, struct ks_str text)
{
	switch (f->key->type) {
	case KS_CONFIG_STRING:
	case KS_CONFIG_PATH:
		return fill_text(f, f->key->type == KS_CONFIG_PATH, text, f->to);
	case KS_CONFIG_BOOL:
		return fill_bool(f, text);
	case KS_CONFIG_ENUM:
		return fill_enum(f, text);
	default:
		return fill_number(f, text);
	}
}

static int fill_list(const struct filling *f, const struct ks_yaml_node *node)
{
	struct ks_config_list *list = f->to;
	const char **items;

	if (node->kind != KS_YAML_SEQUENCE)
		return refuse(f, node->place, "%s: a list is expected", f->key->name);
	items = ks_arena_zalloc(f->arena, node->n + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < node->n; i++) {
		const struct ks_yaml_node *item = node->items[i];
		int result;

		if (item->kind != KS_YAML_SCALAR || ks_yaml_is_null(item))
			return refuse(f, item->place, "%s[%zu]: a text is expected", f->key->name, i);
		result = fill_text(f, f->key->type == KS_CONFIG_PATHS, item->text, &items[i]);
		if (result < 0)
			return result;
	}
	*list = (struct ks_config_list){items, node->n};
	return 0;
}

/* The default of a list: its items separated by commas. */
static int fill_default_list(const struct filling *f, const char *text)
{
	struct ks_config_list *list = f->to;
	const char **items;
	size_t n = 1;

	for (const char *p = text; *p; p++)
		n += *p == ',';
	items = ks_arena_zalloc(f->arena, n, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		size_t length = strcspn(text, ",");
		int result = fill_text(f, f->key->type == KS_CONFIG_PATHS, ks_str_of(text, length), &items[i]);

		if (result < 0)
			return result;
		text += length + 1;
	}
	*list = (struct ks_config_list){items, n};
	return 0;
}

static int fill_default(const struct filling *f)
{
	if (!f->key->default_text)
		return 0;
	if (f->key->type == KS_CONFIG_STRINGS || f->key->type == KS_CONFIG_PATHS)
		return fill_default_list(f, f->key->default_text);
	return fill_scalar(f, ks_str_from(f->key->default_text));
}

static int fill_from_node(struct filling *f, const struct ks_yaml_node *node)
{
	char shown[80];

	f->place = node->place;
	if (f->key->type == KS_CONFIG_STRINGS || f->key->type == KS_CONFIG_PATHS)
		return fill_list(f, node);
	if (node->kind != KS_YAML_SCALAR || ks_yaml_is_null(node))
		return refuse(f, node->place, "%s: a single value is expected", f->key->name);
	snprintf(shown, sizeof(shown), "\"%s\"", f->key->flags & KS_CONFIG_SECRET ? "(secret)" : node->text.p);
	f->shown = shown;
	return fill_scalar(f, node->text);
}

static int fill_key(struct filling *f)
{
	const struct ks_yaml_node *node = ks_yaml_get(f->entry->config, f->key->name);

	if (node)
		return fill_from_node(f, node);
	f->place = f->entry->config ? f->entry->config->place : f->entry->place;
	if (f->key->flags & KS_CONFIG_REQUIRED)
		return refuse(f, f->place, "%s is missing: %s", f->key->name, f->key->help);
	f->shown = "its default";
	return fill_default(f);
}

static bool is_declared(const struct ks_interface *interface, const char *name)
{
	for (size_t i = 0; i < interface->n_config_keys; i++)
		if (strcmp(interface->config_keys[i].name, name) == 0)
			return true;
	return false;
}

static int report_unknown(const struct filling *f, const struct ks_interface *interface, const struct ks_yaml_node *name)
{
	const char *names[65] = {0};
	const char *near;

	if (!interface->n_config_keys)
		return refuse(f, name->place, "it takes no configuration, \"%s\" means nothing to it", name->text.p);
	for (size_t i = 0; i < interface->n_config_keys && i < 64; i++)
		names[i] = interface->config_keys[i].name;
	near = ks_nearest_name(name->text.p, names);
	return refuse(f, name->place, "it has no key \"%s\"%s%s%s", name->text.p, near ? "; did you mean \"" : "", near ? near : "",
		near ? "\"?" : "");
}

static int check_unknown(const struct filling *f, const struct ks_interface *interface)
{
	const struct ks_yaml_node *node = f->entry->config;
	int result = 0;

	for (size_t i = 0; node && i < node->n; i++)
		if (!is_declared(interface, node->items[2 * i]->text.p))
			result = report_unknown(f, interface, node->items[2 * i]);
	return result;
}

int ks_plugin_config_fill(const struct ks_build *build, const struct ks_config_entry *entry, const struct ks_interface *interface,
	struct ks_arena *arena, void **config_r)
{
	struct filling f = {.build = build, .entry = entry, .arena = arena};
	char *config = interface->config_size ? ks_arena_zalloc(arena, 1, interface->config_size) : NULL;
	int worst;

	if (interface->config_size && !config)
		return -ENOMEM;
	worst = check_unknown(&f, interface);
	for (size_t i = 0; i < interface->n_config_keys; i++) {
		int result;

		f.key = &interface->config_keys[i];
		f.to = config + f.key->offset;
		result = fill_key(&f);
		if (result == -ENOMEM)
			return result;
		if (result < 0)
			worst = result;
	}
	if (worst == 0)
		*config_r = config;
	return worst;
}
