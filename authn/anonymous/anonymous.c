/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* anonymous: whoever presents no credential is system:anonymous in group system:unauthenticated. */
#include <stdlib.h>
#include <string.h>

#include <keelson/authn.h>

struct config {
	struct ks_config_list paths;
};

struct anonymous {
	const struct config *config;
};

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	struct anonymous *a = calloc(1, sizeof(*a));

	(void)host;
	(void)error;
	if (!a)
		return KS_ERR_NOMEM;
	a->config = config;
	*self = a;
	return KS_DONE;
}

static int path_allowed(const struct anonymous *a, struct ks_view path)
{
	const struct ks_config_list *paths = &a->config->paths;

	for (size_t i = 0; i < paths->n; i++)
		if (strlen(paths->items[i]) == path.n && memcmp(paths->items[i], path.p, path.n) == 0)
			return 1;
	return paths->n == 0;
}

static int authenticate(void *self, struct ks_op *op, const struct ks_authn_request *request, struct ks_authn_result *result)
{
	static const struct ks_view groups[] = {{"system:unauthenticated", 22}};

	(void)op;
	if (!path_allowed(self, request->path))
		return KS_DONE;
	result->decision = KS_AUTHN_AUTHENTICATED;
	result->name = (struct ks_view){"system:anonymous", 16};
	result->groups = groups;
	result->n_groups = 1;
	return KS_DONE;
}

static const struct ks_config_key keys[] = {
	{.name = "paths", .type = KS_CONFIG_STRINGS, .offset = offsetof(struct config, paths),
		.help = "Only these exact paths are open to anonymous requests; without the key, all are (authorization still decides)."},
};

static const struct ks_lifecycle lifecycle = {.size = sizeof(lifecycle), .create = create, .destroy = free};
static const struct ks_authn_ops ops = {.size = sizeof(ops), .authenticate = authenticate};

static const struct ks_interface interface = {
	.size = sizeof(interface),
	.kind = KS_KIND_AUTHENTICATOR,
	.version = KS_AUTHN_VERSION,
	.threads = KS_THREADS_CONCURRENT,
	.blocking = KS_CALLS_INLINE,
	.flags = KS_AUTHN_NO_CREDENTIAL,
	.name = "anonymous",
	.lifecycle = &lifecycle,
	.ops = &ops,
	.config_keys = keys,
	.n_config_keys = sizeof(keys) / sizeof(keys[0]),
	.config_size = sizeof(struct config),
};

KS_PLUGIN(anonymous) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Lets requests without a credential through as system:anonymous",
};
