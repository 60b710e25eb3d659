/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "authz/rbac/bootstrap.h"

#include <stdlib.h>

#include "authz/rbac/reconcile.h"

/* So many at once share the store's commits well, and take little memory. */
enum { AT_ONCE = 32, RETRY_MS = 5, MOST_ATTEMPTS = 2000 };

struct creation {
	struct rbac_bootstrap *bootstrap;
	const struct rbac_default *what;
	enum rbac_reconcile how;
	struct ks_view patch; /* RBAC_MEND */
	unsigned attempts;
};

struct rbac_bootstrap {
	const struct ks_host *host;
	struct ks_pool *pool;
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

static void write_default(void *arg);

static void finish(struct creation *c)
{
	struct rbac_bootstrap *b = c->bootstrap;

	if (--b->n_left == 0)
		b->done(b->arg);
	else if (b->next < b->n)
		write_default(&b->creations[b->next++]);
}

/* Another server may have been first: 409 is as good as 201, and what is gone is not mended. 404 of what is new: the namespace is being made at this
 * moment. */
static int is_good(const struct creation *c, int code)
{
	return code == 200 || code == 201 || code == 409 || (code == 404 && c->how != RBAC_CREATE);
}

static void written(void *arg, int code, struct ks_view body)
{
	struct creation *c = arg;
	const struct ks_host *host = c->bootstrap->host;
	int good = is_good(c, code), in_vain = code == 400 || code == 422;

	if (!good && !in_vain && ++c->attempts < MOST_ATTEMPTS && host->timer(host, RETRY_MS, write_default, c) == KS_DONE)
		return;
	if (!good)
		host->log(host, KS_HOST_LOG_ERROR, "default %s \"%s\" could not be written: %d %.*s", resources[c->what->kind], c->what->name, code,
			(int)body.n, body.p);
	if (good && c->how == RBAC_MAKE_ANEW) {
		c->how = RBAC_CREATE;
		write_default(c);
		return;
	}
	finish(c);
}

static void write_default(void *arg)
{
	struct creation *c = arg;
	const struct ks_host *host = c->bootstrap->host;
	struct ks_write write = {
		.size = sizeof(write),
		.verb = KS_WRITE_CREATE,
		.group = ks_view_lit("rbac.authorization.k8s.io"),
		.version = ks_view_lit("v1"),
		.resource = ks_view_lit(resources[c->what->kind]),
		.namespace_ = ks_view_lit(c->what->ns),
		.name = ks_view_lit(c->what->name),
		.body = ks_view_lit(c->what->json),
		.done = written,
		.arg = c,
	};

	if (c->how == RBAC_MEND) {
		write.verb = KS_WRITE_PATCH_JSON;
		write.body = c->patch;
	} else if (c->how == RBAC_MAKE_ANEW) {
		write.verb = KS_WRITE_DELETE;
		write.body = ks_view_lit("");
	}
	if (host->write(host, &write) == KS_PENDING)
		return;
	host->log(host, KS_HOST_LOG_ERROR, "default %s \"%s\" could not be written", resources[c->what->kind], c->what->name);
	finish(c);
}

/* 0, or -1 when out of memory. */
static int plan(struct rbac_bootstrap *b, const struct rbac_objects *objects)
{
	for (size_t i = 0; i < ks_rbac_n_defaults; i++) {
		const struct rbac_default *d = &ks_rbac_defaults[i];
		const struct rbac_object *there = ks_rbac_objects_find(objects, d->kind, ks_view_lit(d->ns), ks_view_lit(d->name));
		struct creation *c = &b->creations[b->n];

		*c = (struct creation){.bootstrap = b, .what = d, .how = RBAC_CREATE};
		if (there)
			c->how = ks_rbac_reconcile(b->pool, d, there, &c->patch);
		if (c->how == RBAC_NO_MEMORY)
			return -1;
		if (c->how != RBAC_LEAVE)
			b->n++;
	}
	return 0;
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
	b->pool = ks_pool_new();
	if (!b->pool || plan(b, objects) < 0) {
		ks_rbac_bootstrap_free(b);
		return NULL;
	}
	if (b->n == 0) {
		ks_rbac_bootstrap_free(b);
		done(arg);
		return NULL;
	}
	b->n_left = b->n;
	first = b->next = b->n < AT_ONCE ? b->n : AT_ONCE;
	for (size_t i = 0; i < first; i++)
		write_default(&b->creations[i]);
	return b;
}

void ks_rbac_bootstrap_free(struct rbac_bootstrap *bootstrap)
{
	if (bootstrap)
		ks_pool_free(bootstrap->pool);
	free(bootstrap);
}
