/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/bootstrap.h"

#include <errno.h>

#include "core/util/log.h"

static void create_next(struct ks_bootstrap *b);

/* 409: it exists, from an earlier start or by another server that is quicker. */
static void created(void *arg, int code, struct ks_str body)
{
	struct ks_bootstrap *b = arg;
	const struct ks_bootstrap_object *object = &b->objects[b->next];

	if (code != 201 && code != 409) {
		ks_log(KS_LOG_ERROR, "bootstrap", "%s/%s could not be created: %d %.*s", object->collection, object->name, code, (int)body.n, body.p);
		atomic_store(&b->failed, true);
		return;
	}
	b->next++;
	create_next(b);
}

static void create_next(struct ks_bootstrap *b)
{
	static const char *const groups[] = {"system:masters"};
	struct ks_inner_request inner = {
		.method = "POST",
		.user = "system:apiserver",
		.groups = groups,
		.n_groups = 1,
		.answer = created,
		.arg = b,
	};

	if (b->next == b->n) {
		atomic_store(&b->done, true);
		return;
	}
	inner.target = b->objects[b->next].collection;
	inner.body = ks_str_from(b->objects[b->next].json);
	if (ks_pipeline_inner_request(b->server, &inner) == 0)
		return;
	ks_log(KS_LOG_ERROR, "bootstrap", "%s/%s could not be created: out of memory", inner.target, b->objects[b->next].name);
	atomic_store(&b->failed, true);
}

int ks_bootstrap_start(struct ks_bootstrap *bootstrap, struct ks_server_state *server, struct ks_error *err)
{
	*bootstrap = (struct ks_bootstrap){.server = server};
	bootstrap->objects = ks_registry_bootstrap(server->config, &bootstrap->n);
	if (!bootstrap->objects)
		return ks_error_set(err, -EINVAL, "serviceClusterIPRange %s can't be used", server->config->service_cluster_ip_range);
	create_next(bootstrap);
	return 0;
}
