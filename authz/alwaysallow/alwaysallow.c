/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* alwaysallow: yes to everything. For development, and for control planes that sit behind something that decides. */
#include <keelson/authz.h>

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	(void)config;
	(void)error;
	host->log(host, KS_HOST_LOG_WARN, "every authenticated request will be allowed");
	*self = (void *)host;
	return KS_DONE;
}

static int authorize(void *self, struct ks_op *op, const struct ks_authz_attributes *attributes, struct ks_authz_result *result)
{
	(void)self;
	(void)op;
	(void)attributes;
	result->decision = KS_AUTHZ_ALLOW;
	return KS_DONE;
}

static int rules(void *self, struct ks_op *op, const struct ks_user *user, struct ks_view namespace_, struct ks_authz_rules *out)
{
	static const struct ks_view all[] = {{"*", 1}};
	static const struct ks_authz_rule everything[] = {
		{.verbs = all, .n_verbs = 1, .groups = all, .n_groups = 1, .resources = all, .n_resources = 1},
		{.verbs = all, .n_verbs = 1, .paths = all, .n_paths = 1},
	};

	(void)self;
	(void)op;
	(void)user;
	(void)namespace_;
	out->rules = everything;
	out->n_rules = 2;
	return KS_DONE;
}

static const struct ks_lifecycle lifecycle = {.size = sizeof(lifecycle), .create = create};
static const struct ks_authz_ops ops = {.size = sizeof(ops), .authorize = authorize, .rules = rules};

static const struct ks_interface interface = {
	.size = sizeof(interface),
	.kind = KS_KIND_AUTHORIZER,
	.version = KS_AUTHZ_VERSION,
	.threads = KS_THREADS_CONCURRENT,
	.blocking = KS_CALLS_INLINE,
	.name = "alwaysallow",
	.lifecycle = &lifecycle,
	.ops = &ops,
};

KS_PLUGIN(alwaysallow) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Allows every request",
};
