/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What a plugin says of itself, looked at before any of its functions is called. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <keelson/admission.h>
#include <keelson/authn.h>
#include <keelson/authz.h>
#include <keelson/storage.h>

#include "plugins/host/library.h"

enum { INTERFACES_MOST = 16, KEYS_MOST = 64, CONFIG_MOST = 64 << 10, SCRATCH_MOST = 64 << 10, MATCHES_MOST = 1000 };

struct kind {
	const char *name, *folder;
	uint32_t version, ops_size, flags;
};

static const struct kind kinds[] = {
	[KS_KIND_AUTHENTICATOR] = {"authenticator", "authn", KS_AUTHN_VERSION, sizeof(struct ks_authn_ops),
		KS_AUTHN_TOKEN | KS_AUTHN_CERTIFICATE | KS_AUTHN_HEADERS | KS_AUTHN_NO_CREDENTIAL},
	[KS_KIND_AUTHORIZER] = {"authorizer", "authz", KS_AUTHZ_VERSION, sizeof(struct ks_authz_ops), 0},
	[KS_KIND_ADMISSION] = {"admission controller", "admission", KS_ADMISSION_VERSION, sizeof(struct ks_admission_ops),
		KS_ADMISSION_SIDE_EFFECTS | KS_ADMISSION_NEEDS_OLD},
	[KS_KIND_STORE] = {"store", "storage", KS_STORE_VERSION, sizeof(struct ks_store_ops),
		KS_STORE_SINGLE_WRITER | KS_STORE_NATIVE_TTL | KS_STORE_DURABLE},
};

static const struct kind *find_kind(uint32_t kind)
{
	return kind >= KS_KIND_AUTHENTICATOR && kind <= KS_KIND_STORE ? &kinds[kind] : NULL;
}

uint32_t ks_stage_kind(enum ks_stage stage)
{
	return KS_KIND_AUTHENTICATOR + (uint32_t)stage;
}

const char *ks_kind_folder(uint32_t kind)
{
	return kinds[kind].folder;
}

const char *ks_kind_name(uint32_t kind)
{
	return kinds[kind].name;
}

int ks_plugin_judge_head(const struct ks_plugin *plugin, struct ks_error *err)
{
	if (plugin->magic != KS_PLUGIN_MAGIC)
		return ks_error_set(err, -EINVAL, "its ks_plugin is not a Keelson plugin's (magic %08x)", plugin->magic);
	if (plugin->abi_major != KS_ABI_MAJOR || plugin->abi_minor != KS_ABI_MINOR)
		return ks_error_set(err, -EINVAL, "it was built for plugin ABI %u.%u, this server has %u.%u", plugin->abi_major,
			plugin->abi_minor, KS_ABI_MAJOR, KS_ABI_MINOR);
	if (plugin->size != sizeof(*plugin))
		return ks_error_set(err, -EINVAL, "its ks_plugin has %u bytes, ABI %u.%u has %zu", plugin->size, KS_ABI_MAJOR, KS_ABI_MINOR,
			sizeof(*plugin));
	return 0;
}

static size_t size_of_key(uint32_t type)
{
	switch (type) {
	case KS_CONFIG_STRING:
	case KS_CONFIG_PATH:
		return sizeof(const char *);
	case KS_CONFIG_BOOL:
		return sizeof(uint8_t);
	case KS_CONFIG_INT:
	case KS_CONFIG_DURATION:
	case KS_CONFIG_SIZE:
		return sizeof(int64_t);
	case KS_CONFIG_ENUM:
		return sizeof(int32_t);
	case KS_CONFIG_STRINGS:
	case KS_CONFIG_PATHS:
		return sizeof(struct ks_config_list);
	}
	return 0;
}

static int judge_key(const struct ks_interface *i, const struct ks_config_key *key, struct ks_error *err)
{
	size_t size = size_of_key(key->type);

	if (!key->name || !key->name[0] || !key->help)
		return ks_error_set(err, -EINVAL, "interface \"%s\": a configuration key lacks name or help", i->name);
	if (!size || key->flags & ~(uint32_t)(KS_CONFIG_REQUIRED | KS_CONFIG_SECRET))
		return ks_error_set(err, -EINVAL, "interface \"%s\": key \"%s\" has an unknown type or flag", i->name, key->name);
	if (key->offset > i->config_size || size > i->config_size - key->offset || key->offset % (size < 8 ? size : 8))
		return ks_error_set(err, -EINVAL, "interface \"%s\": key \"%s\" lies outside of its struct", i->name, key->name);
	if (key->type == KS_CONFIG_ENUM && !key->names)
		return ks_error_set(err, -EINVAL, "interface \"%s\": key \"%s\" has no names to choose from", i->name, key->name);
	return 0;
}

static int judge_keys(const struct ks_interface *i, struct ks_error *err)
{
	if (i->n_config_keys > KEYS_MOST || i->config_size > CONFIG_MOST || (i->n_config_keys && !i->config_keys))
		return ks_error_set(err, -EINVAL, "interface \"%s\": its configuration keys are not usable", i->name);
	for (size_t k = 0; k < i->n_config_keys; k++) {
		int result = judge_key(i, &i->config_keys[k], err);

		if (result < 0)
			return result;
		for (size_t j = 0; j < k; j++)
			if (strcmp(i->config_keys[j].name, i->config_keys[k].name) == 0)
				return ks_error_set(err, -EINVAL, "interface \"%s\": key \"%s\" is declared twice", i->name,
					i->config_keys[k].name);
	}
	return 0;
}

static bool admission_complete(const struct ks_admission_ops *ops)
{
	if (ops->n_matches > MATCHES_MOST || (ops->n_matches && !ops->matches))
		return false;
	for (size_t m = 0; m < ops->n_matches; m++)
		if (!ops->matches[m].group || !ops->matches[m].resource)
			return false;
	return ops->n_matches && (ops->mutate || ops->validate);
}

static bool store_complete(const struct ks_store_ops *ops)
{
	return ops->get && ops->range && ops->write && ops->watch && ops->watch_credit && ops->watch_close && ops->compact && ops->revision;
}

/* Has it the functions that its kind can't do without? */
static bool ops_complete(const struct ks_interface *i)
{
	switch (i->kind) {
	case KS_KIND_AUTHENTICATOR:
		return ((const struct ks_authn_ops *)i->ops)->authenticate;
	case KS_KIND_AUTHORIZER:
		return ((const struct ks_authz_ops *)i->ops)->authorize;
	case KS_KIND_ADMISSION:
		return admission_complete(i->ops);
	default:
		return store_complete(i->ops);
	}
}

static int judge_store(const struct ks_interface *i, struct ks_error *err)
{
	if (i->threads != KS_THREADS_CONCURRENT || i->blocking != KS_CALLS_INLINE)
		return ks_error_set(err, -EINVAL, "interface \"%s\": a store is concurrent and inline", i->name);
	return 0;
}

static int judge_ops(const struct ks_interface *i, const struct kind *kind, struct ks_error *err)
{
	uint32_t size;

	if (!i->ops || !i->lifecycle)
		return ks_error_set(err, -EINVAL, "interface \"%s\": it has no functions", i->name);
	memcpy(&size, i->ops, sizeof(size));
	if (size != kind->ops_size || i->lifecycle->size != sizeof(struct ks_lifecycle))
		return ks_error_set(err, -EINVAL, "interface \"%s\": its tables of functions have other sizes than this server's", i->name);
	if (!ops_complete(i))
		return ks_error_set(err, -EINVAL, "interface \"%s\": a function that every %s needs is missing", i->name, kind->name);
	return i->kind == KS_KIND_STORE ? judge_store(i, err) : 0;
}

static int judge_interface(const struct ks_interface *i, struct ks_error *err)
{
	const struct kind *kind;

	if (i->size != sizeof(*i))
		return ks_error_set(err, -EINVAL, "an interface has %u bytes, this server's has %zu", i->size, sizeof(*i));
	if (!i->name || !i->name[0])
		return ks_error_set(err, -EINVAL, "an interface has no name");
	kind = find_kind(i->kind);
	if (!kind)
		return ks_error_set(err, -EINVAL, "interface \"%s\" is of the unknown kind %u", i->name, i->kind);
	if (i->version != kind->version)
		return ks_error_set(err, -EINVAL, "interface \"%s\" is version %u of an %s, this server has %u", i->name, i->version,
			kind->name, kind->version);
	if (i->threads > KS_THREADS_SERIAL || i->blocking > KS_CALLS_BLOCKING || i->flags & ~kind->flags)
		return ks_error_set(err, -EINVAL, "interface \"%s\" declares threads, blocking or flags that this server doesn't know", i->name);
	if (i->scratch_size > SCRATCH_MOST)
		return ks_error_set(err, -EINVAL, "interface \"%s\" wants %zu bytes of scratch memory, at most %d", i->name, i->scratch_size,
			SCRATCH_MOST);
	if (judge_keys(i, err) < 0)
		return -EINVAL;
	return judge_ops(i, kind, err);
}

int ks_plugin_judge(const struct ks_plugin *plugin, struct ks_error *err)
{
	int result = ks_plugin_judge_head(plugin, err);

	if (result < 0)
		return result;
	if (!plugin->n_interfaces || plugin->n_interfaces > INTERFACES_MOST || !plugin->interfaces)
		return ks_error_set(err, -EINVAL, "it has no interface");
	for (uint32_t i = 0; i < plugin->n_interfaces; i++) {
		result = judge_interface(&plugin->interfaces[i], err);
		if (result < 0)
			return result;
	}
	return 0;
}
