/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * readonly: members of a group may look at everything but secrets; of all else it has no opinion.
 *
 *     authorization:
 *     - plugin: readonly
 *       config:
 *         group: auditors
 *     - plugin: rbac
 */
#include <keelson/authz.h>

#include <stdlib.h>
#include <string.h>

struct config {
	const char *group;
};

struct readonly {
	const struct config *config;
};

static int is(struct ks_view v, const char *s)
{
	return v.n == strlen(s) && memcmp(v.p, s, v.n) == 0;
}

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	struct readonly *r = malloc(sizeof(*r));

	(void)host;
	(void)error;
	if (!r)
		return KS_ERR_NOMEM;
	r->config = config;
	*self = r;
	return KS_DONE;
}

static int is_member(const struct ks_user *user, const char *group)
{
	for (size_t i = 0; i < user->n_groups; i++)
		if (is(user->groups[i], group))
			return 1;
	return 0;
}

static int authorize(void *self, struct ks_op *op, const struct ks_authz_attributes *a, struct ks_authz_result *result)
{
	const struct readonly *r = self;
	int reads = is(a->verb, "get") || is(a->verb, "list") || is(a->verb, "watch");
	int is_secret = a->is_resource && a->group.n == 0 && is(a->resource, "secrets");

	(void)op;
	if (reads && !is_secret && is_member(a->user, r->config->group))
		result->decision = KS_AUTHZ_ALLOW;
	else
		result->decision = KS_AUTHZ_NO_OPINION;
	return KS_DONE;
}

static const struct ks_config_key keys[] = {
	{.name = "group", .type = KS_CONFIG_STRING, .flags = KS_CONFIG_REQUIRED, .offset = offsetof(struct config, group),
		.help = "The group whose members may look."},
};

static const struct ks_lifecycle lifecycle = {.size = sizeof(lifecycle), .create = create, .destroy = free};
static const struct ks_authz_ops ops = {.size = sizeof(ops), .authorize = authorize};
static const struct ks_interface interface = {
	.size = sizeof(interface),
	.kind = KS_KIND_AUTHORIZER,
	.version = KS_AUTHZ_VERSION,
	.name = "readonly",
	.lifecycle = &lifecycle,
	.ops = &ops,
	.config_keys = keys,
	.n_config_keys = sizeof(keys) / sizeof(keys[0]),
	.config_size = sizeof(struct config),
};

KS_PLUGIN(readonly) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1.0",
	.description = "Lets a group look at everything but secrets.",
};
