/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Configuration and life of the instance under test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fake-internal.h"

void *ks_fake_alloc(struct ks_fake_host *fake, size_t n)
{
	struct ks_fake_text *t = calloc(1, sizeof(*t) + n);

	if (!t)
		return NULL;
	t->next = fake->texts;
	fake->texts = t;
	return t->data;
}

static char *keep(struct ks_fake_host *fake, const char *text, size_t n)
{
	char *copy = ks_fake_alloc(fake, n + 1);

	if (copy)
		memcpy(copy, text, n);
	return copy;
}

const struct ks_interface *ks_fake_interface(const struct ks_plugin *plugin, uint32_t kind)
{
	uint32_t i;

	for (i = 0; i < plugin->n_interfaces; i++)
		if (plugin->interfaces[i].kind == kind)
			return &plugin->interfaces[i];
	return NULL;
}

static int parse_scaled(const char *text, const char *const *units, const int64_t *factors, int64_t *out)
{
	char *end;
	long long value = strtoll(text, &end, 10);
	size_t i;

	if (end == text)
		return -1;
	for (i = 0; units[i]; i++)
		if (strcmp(end, units[i]) == 0) {
			*out = value * factors[i];
			return 0;
		}
	return -1;
}

static int parse_duration(const char *text, int64_t *out)
{
	static const char *const units[] = {"ms", "s", "m", "h", NULL};
	static const int64_t factors[] = {1, 1000, 60000, 3600000};

	return parse_scaled(text, units, factors, out);
}

static int parse_size(const char *text, int64_t *out)
{
	static const char *const units[] = {"", "Ki", "Mi", "Gi", NULL};
	static const int64_t factors[] = {1, 1 << 10, 1 << 20, 1 << 30};

	return parse_scaled(text, units, factors, out);
}

static int parse_int(const char *text, int64_t *out)
{
	static const char *const units[] = {"", NULL};
	static const int64_t factors[] = {1};

	return parse_scaled(text, units, factors, out);
}

static int parse_bool(const char *text, void *out)
{
	uint8_t value = strcmp(text, "true") == 0;

	if (!value && strcmp(text, "false") != 0)
		return -1;
	memcpy(out, &value, sizeof(value));
	return 0;
}

static int parse_enum(const struct ks_config_key *key, const char *text, void *out)
{
	int32_t i;

	for (i = 0; key->names[i]; i++)
		if (strcmp(key->names[i], text) == 0) {
			memcpy(out, &i, sizeof(i));
			return 0;
		}
	return -1;
}

static int parse_list(struct ks_fake_host *fake, const char *text, void *out)
{
	struct ks_config_list list = {NULL, 0};
	const char *p, *comma;
	const char **items;
	size_t max = 1;

	for (p = text; *p; p++)
		max += *p == ',';
	items = ks_fake_alloc(fake, max * sizeof(*items));
	if (!items)
		return -1;
	for (p = text; *p; p = *comma ? comma + 1 : comma) {
		comma = p + strcspn(p, ",");
		items[list.n] = keep(fake, p, (size_t)(comma - p));
		if (!items[list.n++])
			return -1;
	}
	list.items = items;
	memcpy(out, &list, sizeof(list));
	return 0;
}

static int parse_key(struct ks_fake_host *fake, const struct ks_config_key *key, const char *text, void *out)
{
	int64_t number = 0;
	const char *copy;
	int failed;

	switch (key->type) {
	case KS_CONFIG_STRING:
	case KS_CONFIG_PATH:
		copy = keep(fake, text, strlen(text));
		memcpy(out, &copy, sizeof(copy));
		return copy ? 0 : -1;
	case KS_CONFIG_BOOL:
		return parse_bool(text, out);
	case KS_CONFIG_ENUM:
		return parse_enum(key, text, out);
	case KS_CONFIG_STRINGS:
	case KS_CONFIG_PATHS:
		return parse_list(fake, text, out);
	case KS_CONFIG_DURATION:
		failed = parse_duration(text, &number);
		break;
	case KS_CONFIG_SIZE:
		failed = parse_size(text, &number);
		break;
	default:
		failed = parse_int(text, &number);
	}
	if (failed || ((key->min || key->max) && (number < key->min || number > key->max)))
		return -1;
	memcpy(out, &number, sizeof(number));
	return 0;
}

static const char *find_pair(const char *const *config, const char *name)
{
	size_t n = strlen(name);

	for (; config && *config; config++)
		if (strncmp(*config, name, n) == 0 && (*config)[n] == '=')
			return *config + n + 1;
	return NULL;
}

static int fill_config(struct ks_fake_host *fake, const struct ks_interface *iface, const char *const *config, char *out)
{
	size_t i;

	for (i = 0; i < iface->n_config_keys; i++) {
		const struct ks_config_key *key = &iface->config_keys[i];
		const char *text = find_pair(config, key->name);

		if (!text)
			text = key->default_text;
		if (!text && !(key->flags & KS_CONFIG_REQUIRED))
			continue;
		if (!text || parse_key(fake, key, text, out + key->offset)) {
			snprintf(fake->error.text, sizeof(fake->error.text), "bad or missing key %s", key->name);
			return KS_ERR_CONFIG;
		}
	}
	return KS_DONE;
}

static int said(struct ks_fake_host *fake, int result)
{
	if (result != KS_DONE)
		fake->host.log(&fake->host, KS_HOST_LOG_ERROR, "%s", fake->error.text);
	return result;
}

int ks_fake_create(struct ks_fake_host *fake, const struct ks_interface *iface, const char *const *config, void **self_r)
{
	char *filled = ks_fake_alloc(fake, iface->config_size + 1);
	int result;

	if (!filled)
		return KS_ERR_NOMEM;
	fake->error.text[0] = '\0';
	result = fill_config(fake, iface, config, filled);
	if (result == KS_DONE)
		result = iface->lifecycle->create(&fake->host, iface->n_config_keys ? filled : NULL, self_r, &fake->error);
	return said(fake, result);
}

int ks_fake_start(struct ks_fake_host *fake, const struct ks_interface *iface, const char *const *config, void **self_r)
{
	const struct ks_lifecycle *life = iface->lifecycle;
	void *self = NULL;
	int result = ks_fake_create(fake, iface, config, &self);

	if (result != KS_DONE)
		return result;
	result = life->start ? life->start(self, &fake->error) : KS_DONE;
	if (result == KS_DONE && life->worker_attach)
		result = life->worker_attach(self, 0);
	if (result == KS_DONE)
		*self_r = self;
	else if (life->destroy)
		life->destroy(self);
	return said(fake, result);
}

void ks_fake_stop(struct ks_fake_host *fake, const struct ks_interface *iface, void *self)
{
	const struct ks_lifecycle *life = iface->lifecycle;

	(void)fake;
	if (!self)
		return;
	if (life->worker_detach)
		life->worker_detach(self, 0);
	if (life->drain)
		life->drain(self, 5000);
	if (life->stop)
		life->stop(self);
	if (life->destroy)
		life->destroy(self);
}
