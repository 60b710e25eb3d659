/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* tokenfile: bearer tokens from a file that is read once, at start and on each reload that changed the configuration. */
#include <stdlib.h>

#include "authn/tokenfile/tokens.h"

struct config {
	const char *file;
};

struct tokenfile {
	struct tokens *tokens;
};

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	struct tokenfile *t = calloc(1, sizeof(*t));

	if (!t)
		return KS_ERR_NOMEM;
	t->tokens = ks_tokenfile_read(((const struct config *)config)->file, host, error);
	if (!t->tokens) {
		free(t);
		return KS_ERR_CONFIG;
	}
	*self = t;
	return KS_DONE;
}

static int authenticate(void *self, struct ks_op *op, const struct ks_authn_request *request, struct ks_authn_result *result)
{
	struct tokenfile *t = self;
	const struct token_user *user = ks_tokenfile_find(t->tokens, request->token);

	(void)op;
	if (!user)
		return KS_DONE;
	result->decision = KS_AUTHN_AUTHENTICATED;
	result->name = user->name;
	result->uid = user->uid;
	result->groups = user->groups;
	result->n_groups = user->n_groups;
	return KS_DONE;
}

static void destroy(void *self)
{
	struct tokenfile *t = self;

	ks_tokenfile_free(t->tokens);
	free(t);
}

static const struct ks_config_key keys[] = {
	{.name = "file", .type = KS_CONFIG_PATH, .flags = KS_CONFIG_REQUIRED, .offset = offsetof(struct config, file),
		.help = "CSV file with a line for each token: token,user,uid,\"group1,group2\"."},
};

static const struct ks_lifecycle lifecycle = {.size = sizeof(lifecycle), .create = create, .destroy = destroy};
static const struct ks_authn_ops ops = {.size = sizeof(ops), .authenticate = authenticate};

static const struct ks_interface interface = {
	.size = sizeof(interface),
	.kind = KS_KIND_AUTHENTICATOR,
	.version = KS_AUTHN_VERSION,
	.threads = KS_THREADS_CONCURRENT,
	.blocking = KS_CALLS_INLINE,
	.flags = KS_AUTHN_TOKEN,
	.name = "tokenfile",
	.lifecycle = &lifecycle,
	.ops = &ops,
	.config_keys = keys,
	.n_config_keys = sizeof(keys) / sizeof(keys[0]),
	.config_size = sizeof(struct config),
};

KS_PLUGIN(tokenfile) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Authenticates bearer tokens listed in a CSV file",
};
