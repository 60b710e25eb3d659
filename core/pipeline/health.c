/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/health.h"

#include <errno.h>
#include <stdlib.h>

#include "core/api/quote.h"
#include "core/pipeline/routes.h"
#include "core/pipeline/server.h"
#include "core/util/log.h"
#include "plugins/host/host.h"

enum { CHECKS_MOST = 64, EXCLUDED_MOST = 64 };

struct check {
	const char *name;
	unsigned endpoints;
	ks_health_check run;
	void *arg;
};

struct ks_health {
	struct check checks[CHECKS_MOST];
	size_t n;
};

struct endpoint {
	const char *name; /* "readyz" */
	const char *path, *below;
	enum ks_health_endpoint bit;
};

static const struct endpoint endpoints[] = {
	{"healthz", "/healthz", "/healthz/", KS_HEALTHZ},
	{"livez", "/livez", "/livez/", KS_LIVEZ},
	{"readyz", "/readyz", "/readyz/", KS_READYZ},
};

struct ks_health *ks_health_new(void)
{
	return calloc(1, sizeof(struct ks_health));
}

void ks_health_free(struct ks_health **health)
{
	free(*health);
	*health = NULL;
}

int ks_health_add(struct ks_health *health, const char *name, unsigned where, ks_health_check check, void *arg)
{
	if (health->n == CHECKS_MOST)
		return -ENOMEM;
	health->checks[health->n++] = (struct check){name, where, check, arg};
	return 0;
}

void ks_health_each_path(const struct ks_health *health, struct ks_arena *arena, void (*visit)(const char *path, void *arg), void *arg)
{
	for (size_t e = 0; e < sizeof(endpoints) / sizeof(*endpoints); e++)
		for (size_t i = 0; i < health->n; i++)
			if (health->checks[i].endpoints & endpoints[e].bit)
				visit(ks_arena_printf(arena, "%s%s", endpoints[e].below, health->checks[i].name), arg);
}

/* -- the whole ------------------------------------------------------------------------------------------------- */

/* The ?exclude= values, each once, with a mark for those that were met. */
struct excluded {
	struct {
		struct ks_str name;
		bool met;
	} items[EXCLUDED_MOST];
	size_t n;
};

static bool is_excluded(struct excluded *excluded, const char *name)
{
	for (size_t i = 0; i < excluded->n; i++)
		if (ks_str_is(excluded->items[i].name, name))
			return excluded->items[i].met = true;
	return false;
}

static void collect_excluded(struct ks_request *request, struct excluded *excluded)
{
	excluded->n = 0;
	(void)ks_request_query(request, "exclude");
	for (size_t i = 0; i < request->query.n && excluded->n < EXCLUDED_MOST; i++) {
		const struct ks_query_item *item = &request->query.items[i];
		size_t k = 0;

		if (!ks_str_is(item->key, "exclude"))
			continue;
		while (k < excluded->n && !ks_str_eq(excluded->items[k].name, item->value))
			k++;
		excluded->items[k].name = item->value;
		excluded->items[k].met = false;
		if (k == excluded->n)
			excluded->n++;
	}
}

static int by_name(const void *a, const void *b)
{
	return ks_str_cmp(*(const struct ks_str *)a, *(const struct ks_str *)b);
}

static void tell_unmatched(const struct excluded *excluded, struct ks_buf *out)
{
	struct ks_str names[EXCLUDED_MOST];
	size_t n = 0;

	for (size_t i = 0; i < excluded->n; i++)
		if (!excluded->items[i].met)
			names[n++] = excluded->items[i].name;
	if (n == 0)
		return;
	qsort(names, n, sizeof(*names), by_name);
	ks_buf_add_str(out, "warn: some health checks cannot be excluded: no matches for ");
	for (size_t i = 0; i < n; i++) {
		if (i)
			ks_buf_add_char(out, ',');
		ks_quote_to(out, names[i]);
	}
	ks_buf_add_char(out, '\n');
}

/* Runs all checks of an endpoint; the number that failed. */
static size_t run_checks(const struct ks_health *health, const struct endpoint *endpoint, struct excluded *excluded, struct ks_buf *out)
{
	size_t failed = 0;

	for (size_t i = 0; i < health->n; i++) {
		const struct check *check = &health->checks[i];
		struct ks_error err = {""};

		if (!(check->endpoints & endpoint->bit))
			continue;
		if (is_excluded(excluded, check->name)) {
			ks_buf_printf(out, "[+]%s excluded: ok\n", check->name);
		} else if (check->run(check->arg, &err) == 0) {
			ks_buf_printf(out, "[+]%s ok\n", check->name);
		} else {
			failed++;
			ks_buf_printf(out, "[-]%s failed: reason withheld\n", check->name);
			ks_log(KS_LOG_INFO, "health", "%s check %s failed: %s", endpoint->name, check->name, err.text);
		}
	}
	return failed;
}

static void respond_text(struct ks_request *request, int code, const struct ks_buf *text)
{
	const char *copy = text->failed ? NULL : ks_arena_dup(&request->arena, text->data ? text->data : "", text->len);

	ks_request_respond_text(request, copy ? code : 500, copy ? copy : "out of memory\n");
}

static enum ks_stage_result serve_all(struct ks_request *request, void *arg)
{
	const struct endpoint *endpoint = arg;
	struct excluded excluded;
	struct ks_buf out;
	size_t failed;

	collect_excluded(request, &excluded);
	ks_buf_init(&out);
	failed = run_checks(request->server->health, endpoint, &excluded, &out);
	tell_unmatched(&excluded, &out);
	ks_buf_printf(&out, "%s check %s\n", endpoint->name, failed ? "failed" : "passed");
	if (failed)
		respond_text(request, 500, &out);
	else if (ks_request_query(request, "verbose").p)
		respond_text(request, 200, &out);
	else
		ks_request_respond_text(request, 200, "ok");
	ks_buf_fini(&out);
	return KS_STAGE_ANSWERED;
}

static enum ks_stage_result serve_one(struct ks_request *request, void *arg)
{
	const struct endpoint *endpoint = arg;
	struct ks_health *health = request->server->health;
	struct ks_str path = request->info.path, name;
	struct ks_error err = {""};
	const char *text;

	name = ks_str_of(path.p + strlen(endpoint->below), path.n - strlen(endpoint->below));
	for (size_t i = 0; i < health->n; i++) {
		const struct check *check = &health->checks[i];

		if (!(check->endpoints & endpoint->bit) || !ks_str_is(name, check->name))
			continue;
		if (check->run(check->arg, &err) == 0) {
			ks_request_respond_text(request, 200, "ok");
			return KS_STAGE_ANSWERED;
		}
		text = ks_arena_printf(&request->arena, "internal server error: %s\n", err.text);
		ks_request_respond_text(request, 500, text ? text : "internal server error\n");
		return KS_STAGE_ANSWERED;
	}
	return ks_no_page(request);
}

/* -- what the server itself knows ------------------------------------------------------------------------------ */

static int always(void *arg, struct ks_error *err)
{
	(void)arg;
	(void)err;
	return 0;
}

/* kube-apiserver's name for "can we reach what keeps the objects". */
static int stores(void *arg, struct ks_error *err)
{
	const struct ks_server_state *server = arg;
	const char *name = "";
	int rc = server->cache ? ks_cache_health(server->cache, &name) : 0;

	return rc == 0 ? 0 : ks_error_set(err, rc, "store %s: its watch is lost: %s", name ? name : "", strerror(rc < 0 ? -rc : rc));
}

static int informers(void *arg, struct ks_error *err)
{
	const struct ks_server_state *server = arg;
	const char *instance = NULL;

	if (!server->plugins || ks_plugins_synced(server->plugins, &instance))
		return 0;
	return ks_error_set(err, -EAGAIN, "plugin %s has not seen all objects yet", instance ? instance : "");
}

static int bootstrap(void *arg, struct ks_error *err)
{
	const struct ks_server_state *server = arg;

	return server->ready ? 0 : ks_error_set(err, -EAGAIN, "the objects that exist after start are not all written yet");
}

static int shutting_down(void *arg, struct ks_error *err)
{
	const struct ks_server_state *server = arg;

	return server->draining ? ks_error_set(err, -ESHUTDOWN, "process is shutting down") : 0;
}

int ks_health_routes(struct ks_server_state *server)
{
	enum { ALL = KS_HEALTHZ | KS_LIVEZ | KS_READYZ };
	struct ks_health *health = server->health;
	int rc = ks_health_add(health, "ping", ALL, always, NULL);

	rc = rc ? rc : ks_health_add(health, "log", ALL, always, NULL);
	rc = rc ? rc : ks_health_add(health, "etcd", ALL, stores, server);
	rc = rc ? rc : ks_health_add(health, "etcd-readiness", KS_READYZ, stores, server);
	rc = rc ? rc : ks_health_add(health, "informer-sync", KS_READYZ, informers, server);
	rc = rc ? rc : ks_health_add(health, "poststarthook/bootstrap-controller", KS_HEALTHZ | KS_READYZ, bootstrap, server);
	rc = rc ? rc : ks_health_add(health, "shutdown", KS_READYZ, shutting_down, server);
	for (size_t i = 0; i < sizeof(endpoints) / sizeof(*endpoints) && rc == 0; i++) {
		struct ks_route all = {.path = endpoints[i].path,
			.metric = endpoints[i].path,
			.flags = KS_ROUTE_LISTED,
			.run = serve_all,
			.arg = (void *)(uintptr_t)&endpoints[i]};
		struct ks_route one = {
			.path = endpoints[i].below, .flags = KS_ROUTE_PREFIX, .run = serve_one, .arg = (void *)(uintptr_t)&endpoints[i]};

		rc = ks_routes_add(server->routes, &all);
		if (rc == 0)
			rc = ks_routes_add(server->routes, &one);
	}
	return rc;
}
