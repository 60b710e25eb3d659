/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/config/section.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/config/scalar.h"
#include "core/util/log.h"

enum { KEYS_MOST = 48 };

int ks_section_problem(const struct ks_section_context *context, const struct ks_yaml_node *node, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	ks_problem(context->problems, context->config->file, node->place, "%s", text);
	return 0;
}

static void put_number(const struct ks_section_key *key, int64_t value, void *to)
{
	switch (key->type) {
	case KS_SECTION_U16:
		*(uint16_t *)to = (uint16_t)value;
		break;
	case KS_SECTION_SIZE64:
		*(uint64_t *)to = (uint64_t)value;
		break;
	default:
		*(uint32_t *)to = (uint32_t)value;
		break;
	}
}

static int read_number(const struct ks_section_context *context, const struct ks_yaml_node *node, const char *where, const struct ks_section_key *key,
	void *to)
{
	bool duration = key->type == KS_SECTION_DURATION;
	bool size = key->type == KS_SECTION_SIZE32 || key->type == KS_SECTION_SIZE64;
	const char *unit = duration ? " milliseconds" : size ? " bytes" : "";
	int64_t value;
	int result;

	if (duration)
		result = ks_scalar_duration(node->text, &value);
	else
		result = size ? ks_scalar_size(node->text, &value) : ks_scalar_int(node->text, &value);
	if (result == -EINVAL)
		return ks_section_problem(context, node, "%s.%s: \"%s\" is not a %s", where, key->name, node->text.p,
			duration ? "duration such as 500ms, 10s, 5m or 1h" : size ? "size such as 65536, 64Ki or 3Mi" : "whole number");
	if (result < 0 || value < key->min || value > key->max)
		return ks_section_problem(context, node, "%s.%s: \"%s\" is not between %lld and %lld%s", where, key->name, node->text.p,
			(long long)key->min, (long long)key->max, unit);
	put_number(key, value, to);
	return 0;
}

static int read_log_level(const struct ks_section_context *context, const struct ks_yaml_node *node, const char *where,
	const struct ks_section_key *key, void *to)
{
	int level = ks_log_level_parse(node->text.p);

	if (level < 0)
		return ks_section_problem(context, node, "%s.%s: \"%s\" is none of error, warn, info, debug", where, key->name, node->text.p);
	*(int *)to = level;
	return 0;
}

static int read_text(const struct ks_section_context *context, const struct ks_yaml_node *node, const char *where, const struct ks_section_key *key,
	void *to)
{
	if (!node->text.n)
		return ks_section_problem(context, node, "%s.%s: may not be empty", where, key->name);
	if (key->type == KS_SECTION_PATH)
		*(const char **)to = ks_config_path(context->config, &context->config->arena, node->text);
	else
		*(const char **)to = node->text.p;
	return *(const char **)to ? 0 : -ENOMEM;
}

int ks_section_texts(const struct ks_section_context *context, const struct ks_yaml_node *node, const char *where,
	const char *const **items_r, size_t *n_r)
{
	const char **items;

	if (node->kind != KS_YAML_SEQUENCE)
		return ks_section_problem(context, node, "%s: a list is expected", where);
	items = ks_arena_zalloc(&context->config->arena, node->n + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < node->n; i++) {
		items[i] = "";
		if (node->items[i]->kind != KS_YAML_SCALAR || !node->items[i]->text.n)
			ks_section_problem(context, node->items[i], "%s[%zu]: a text is expected", where, i);
		else
			items[i] = node->items[i]->text.p;
	}
	*items_r = items;
	*n_r = node->n;
	return 0;
}

struct text_list { const char *const *items; size_t n; };

static int read_paths(const struct ks_section_context *context, const struct ks_yaml_node *node, const char *where, const struct ks_section_key *key,
	void *to)
{
	struct text_list *list = to;
	const char **paths;
	char name[64];
	int result;

	snprintf(name, sizeof(name), "%s.%s", where, key->name);
	result = ks_section_texts(context, node, name, &list->items, &list->n);
	if (result < 0)
		return result;
	paths = (const char **)list->items;
	for (size_t i = 0; i < list->n; i++) {
		paths[i] = ks_config_path(context->config, &context->config->arena, ks_str_from(paths[i]));
		if (!paths[i])
			return -ENOMEM;
	}
	return 0;
}

static int read_key(const struct ks_section_context *context, const struct ks_yaml_node *node, const char *where, const struct ks_section_key *key,
	void *into)
{
	void *to = (char *)into + key->offset;

	if (key->type == KS_SECTION_TREE)
		return 0;
	if (key->type == KS_SECTION_PATHS)
		return read_paths(context, node, where, key, to);
	if (node->kind != KS_YAML_SCALAR || ks_yaml_is_null(node))
		return ks_section_problem(context, node, "%s.%s: a single value is expected", where, key->name);
	if (key->type == KS_SECTION_TEXT || key->type == KS_SECTION_PATH)
		return read_text(context, node, where, key, to);
	if (key->type == KS_SECTION_LOG_LEVEL)
		return read_log_level(context, node, where, key, to);
	return read_number(context, node, where, key, to);
}

static void report_unknown(const struct ks_section_context *context, const struct ks_yaml_node *node, const char *where,
	const struct ks_section_key *keys)
{
	const char *names[KEYS_MOST + 1] = {0};
	const char *near;

	for (size_t i = 0; keys[i].name && i < KEYS_MOST; i++)
		names[i] = keys[i].name;
	near = ks_nearest_name(node->text.p, names);
	if (near)
		ks_section_problem(context, node, "%s has no key \"%s\"; did you mean \"%s\"?", where, node->text.p, near);
	else
		ks_section_problem(context, node, "%s has no key \"%s\"", where, node->text.p);
}

int ks_section_read(const struct ks_section_context *context, const struct ks_yaml_node *node, const char *where, const struct ks_section_key *keys,
	void *into)
{
	if (node->kind != KS_YAML_MAPPING)
		return ks_section_problem(context, node, "%s: keys and values are expected", where);
	for (size_t i = 0; i < node->n; i++) {
		const struct ks_yaml_node *name = node->items[2 * i];
		const struct ks_section_key *key = keys;
		int result;

		while (key->name && !ks_str_is(name->text, key->name))
			key++;
		if (!key->name) {
			report_unknown(context, name, where, keys);
			continue;
		}
		result = read_key(context, node->items[2 * i + 1], where, key, into);
		if (result < 0)
			return result;
	}
	return 0;
}
