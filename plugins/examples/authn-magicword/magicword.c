/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * magicword: who knows the word is the user.
 *
 *     authentication:
 *     - plugin: magicword
 *       config:
 *         word: sesame
 *         user: alibaba
 *         groups: [thieves]
 */
#include <keelson/authn.h>

#include <stdlib.h>
#include <string.h>

struct config {
	const char *word, *user;
	struct ks_config_list groups;
};

struct magicword {
	const struct ks_host *host;
	const struct config *config;
	struct ks_view *groups;
};

static struct ks_view view(const char *s)
{
	return (struct ks_view){s, strlen(s)};
}

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	const struct config *c = config;
	struct magicword *m = calloc(1, sizeof(*m));

	(void)error;
	if (!m)
		return KS_ERR_NOMEM;
	m->host = host;
	m->config = c;
	m->groups = calloc(c->groups.n + 1, sizeof(*m->groups));
	if (!m->groups) {
		free(m);
		return KS_ERR_NOMEM;
	}
	for (size_t i = 0; i < c->groups.n; i++)
		m->groups[i] = view(c->groups.items[i]);
	*self = m;
	return KS_DONE;
}

static int authenticate(void *self, struct ks_op *op, const struct ks_authn_request *request, struct ks_authn_result *result)
{
	const struct magicword *m = self;
	struct ks_view word = view(m->config->word);

	(void)op;
	if (request->token.n != word.n || !m->host->equal_constant_time(request->token.p, word.p, word.n))
		return KS_DONE; /* the result is zeroed: KS_AUTHN_NOT_MINE */
	result->decision = KS_AUTHN_AUTHENTICATED;
	result->name = view(m->config->user);
	result->groups = m->groups;
	result->n_groups = m->config->groups.n;
	return KS_DONE;
}

static void destroy(void *self)
{
	struct magicword *m = self;

	free(m->groups);
	free(m);
}

static const struct ks_config_key keys[] = {
	{.name = "word", .type = KS_CONFIG_STRING, .flags = KS_CONFIG_REQUIRED | KS_CONFIG_SECRET, .offset = offsetof(struct config, word),
		.help = "The bearer token."},
	{.name = "user", .type = KS_CONFIG_STRING, .offset = offsetof(struct config, user), .default_text = "magician",
		.help = "Name of the user who knows it."},
	{.name = "groups", .type = KS_CONFIG_STRINGS, .offset = offsetof(struct config, groups), .help = "Groups of that user."},
};

static const struct ks_lifecycle lifecycle = {.size = sizeof(lifecycle), .create = create, .destroy = destroy};
static const struct ks_authn_ops ops = {.size = sizeof(ops), .authenticate = authenticate};
static const struct ks_interface interface = {
	.size = sizeof(interface),
	.kind = KS_KIND_AUTHENTICATOR,
	.version = KS_AUTHN_VERSION,
	.flags = KS_AUTHN_TOKEN,
	.name = "magicword",
	.lifecycle = &lifecycle,
	.ops = &ops,
	.config_keys = keys,
	.n_config_keys = sizeof(keys) / sizeof(keys[0]),
	.config_size = sizeof(struct config),
};

KS_PLUGIN(magicword) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1.0",
	.description = "Whoever knows the word is the user.",
};
