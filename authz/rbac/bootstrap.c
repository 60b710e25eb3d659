/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "authz/rbac/bootstrap.h"

#include <stdlib.h>

/* So many at once share the store's commits well, and take little memory. */
enum { AT_ONCE = 32, RETRY_MS = 5, MOST_ATTEMPTS = 2000 };

struct creation {
	struct rbac_bootstrap *bootstrap;
	const struct rbac_default *what;
	unsigned attempts;
};

struct rbac_bootstrap {
	const struct ks_host *host;
	void (*done)(void *arg);
	void *arg;
	size_t n, next, n_left; /* `next`: the first that is not on its way */
	struct creation creations[];
};

static const char *const resources[RBAC_N_KINDS] = {
	[RBAC_CLUSTER_ROLE] = "clusterroles",
	[RBAC_ROLE] = "roles",
	[RBAC_CLUSTER_ROLE_BINDING] = "clusterrolebindings",
	[RBAC_ROLE_BINDING] = "rolebindings",
};

static void create_default(void *arg);

static void finish(struct creation *c)
{
	struct rbac_bootstrap *b = c->bootstrap;

	if (--b->n_left == 0)
		b->done(b->arg);
	else if (b->next < b->n)
		create_default(&b->creations[b->next++]);
}

/* Another server may have been first: 409 is as good as 201. 404: the namespace is being made at this moment. */
static void created(void *arg, int code, struct ks_view body)
{
	struct creation *c = arg;
	const struct ks_host *host = c->bootstrap->host;

	if (code != 201 && code != 409 && ++c->attempts < MOST_ATTEMPTS && host->timer(host, RETRY_MS, create_default, c) == KS_DONE)
		return;
	if (code != 201 && code != 409)
		host->log(host, KS_HOST_LOG_ERROR, "default %s \"%s\" could not be created: %d %.*s", resources[c->what->kind], c->what->name, code,
			(int)body.n, body.p);
	finish(c);
}

static void create_default(void *arg)
{
	struct creation *c = arg;
	const struct ks_host *host = c->bootstrap->host;
	const struct ks_write write = {
		.size = sizeof(write),
		.verb = KS_WRITE_CREATE,
		.group = ks_view_lit("rbac.authorization.k8s.io"),
		.version = ks_view_lit("v1"),
		.resource = ks_view_lit(resources[c->what->kind]),
		.namespace_ = ks_view_lit(c->what->ns),
		.name = ks_view_lit(c->what->name),
		.body = ks_view_lit(c->what->json),
		.done = created,
		.arg = c,
	};

	if (host->write(host, &write) == KS_PENDING)
		return;
	host->log(host, KS_HOST_LOG_ERROR, "default %s \"%s\" could not be written", resources[c->what->kind], c->what->name);
	finish(c);
}

struct rbac_bootstrap *ks_rbac_bootstrap_start(const struct ks_host *host, const struct rbac_objects *objects, void (*done)(void *arg), void *arg)
{
	struct rbac_bootstrap *b = calloc(1, sizeof(*b) + ks_rbac_n_defaults * sizeof(b->creations[0]));
	size_t first;

	if (!b)
		return NULL;
	b->host = host;
	b->done = done;
	b->arg = arg;
	for (size_t i = 0; i < ks_rbac_n_defaults; i++) {
		const struct rbac_default *d = &ks_rbac_defaults[i];

		if (!ks_rbac_objects_find(objects, d->kind, ks_view_lit(d->ns), ks_view_lit(d->name)))
			b->creations[b->n++] = (struct creation){.bootstrap = b, .what = d};
	}
	if (b->n == 0) {
		free(b);
		done(arg);
		return NULL;
	}
	b->n_left = b->n;
	first = b->next = b->n < AT_ONCE ? b->n : AT_ONCE;
	for (size_t i = 0; i < first; i++)
		create_default(&b->creations[i]);
	return b;
}

void ks_rbac_bootstrap_free(struct rbac_bootstrap *bootstrap)
{
	free(bootstrap);
}
