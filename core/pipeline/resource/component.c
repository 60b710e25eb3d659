/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* ComponentStatus: a kind of before that has no objects. Whoever asks for it has the parts of the control plane asked how they are. */
#include <errno.h>
#include <stdio.h>

#include "core/api/json.h"
#include "core/net/probe.h"
#include "core/pipeline/resource/list_form.h"
#include "core/pipeline/resource/options.h"
#include "core/pipeline/resource/verbs.h"
#include "core/pipeline/server.h"

enum { PROBE_MS = 20 * 1000, N_PROBED = 2, MOST_STORES = 16 };

static const struct {
	const char *name;
	uint16_t port;
} probed[N_PROBED] = {{"controller-manager", 10257}, {"scheduler", 10259}};

struct component {
	char name[32];
	struct ks_value tree;
	struct ks_object *object;
};

struct survey {
	struct ks_handler_run handler; /* first: request->handler_data points here */
	struct ks_request *request;
	struct ks_list_options options;
	struct ks_probe probes[N_PROBED];
	unsigned n_open;
	struct component components[N_PROBED + MOST_STORES];
	size_t n;
	struct ks_request_end end;
};

static void end_survey(struct ks_request_end *end)
{
	struct survey *v = (struct survey *)((char *)end - offsetof(struct survey, end));

	for (size_t i = 0; i < v->n; i++)
		ks_object_unref(v->components[i].object);
}

static int out_of_memory(struct survey *v)
{
	return ks_status_internal(&v->request->status, &v->request->arena, "out of memory");
}

/* -- what there is ------------------------------------------------------------------------------------------------ */

static size_t n_stores(const struct survey *v)
{
	size_t n = v->request->server->config->stages[KS_STAGE_STORAGE].n;

	return n < MOST_STORES ? n : MOST_STORES;
}

static uint16_t resource_of(const struct survey *v)
{
	return v->request->info.resource_index;
}

/* A component and its one condition. 0, or the code set in request->status. */
static int add(struct survey *v, const char *name, bool healthy, const char *message, const char *error)
{
	struct component *c = &v->components[v->n];
	const struct ks_schema *s = v->request->server->schema;
	const char *why;
	struct ks_buf json;
	int result;

	snprintf(c->name, sizeof(c->name), "%s", name);
	ks_buf_init(&json);
	ks_buf_printf(&json,
		"{\"kind\":\"ComponentStatus\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\"},\"conditions\":[{\"type\":\"Healthy\",\"status\":"
		"\"%s\"",
		name, healthy ? "True" : "False");
	if (message[0]) {
		ks_buf_add_str(&json, ",\"message\":");
		ks_json_encode_string(ks_str_from(message), &json);
	}
	if (error[0]) {
		ks_buf_add_str(&json, ",\"error\":");
		ks_json_encode_string(ks_str_from(error), &json);
	}
	ks_buf_add_str(&json, "}]}");
	result = json.failed ? -ENOMEM
			     : ks_json_decode(&v->request->arena, s, s->resources[resource_of(v)].type, 0, json.data, json.len, &c->tree, NULL, &why);
	ks_buf_fini(&json);
	c->object = result ? NULL : ks_object_from_tree(s, resource_of(v), &c->tree);
	if (!c->object)
		return out_of_memory(v);
	v->n++;
	return 0;
}

static int add_stores(struct survey *v)
{
	const char *store = NULL;
	bool healthy = !ks_cache_health(v->request->server->cache, &store);
	char name[32], error[128] = "";

	if (!healthy)
		snprintf(error, sizeof(error), "store %s can't be followed", store ? store : "");
	for (size_t i = 0; i < n_stores(v); i++) {
		int code;

		snprintf(name, sizeof(name), "etcd-%zu", i);
		code = add(v, name, healthy, healthy ? "ok" : "", error);
		if (code)
			return code;
	}
	return 0;
}

/* In the order of names. */
static int gather(struct survey *v)
{
	int code = add(v, probed[0].name, v->probes[0].healthy, v->probes[0].text, "");

	if (!code)
		code = add_stores(v);
	return code ? code : add(v, probed[1].name, v->probes[1].healthy, v->probes[1].text, "");
}

/* -- answers ------------------------------------------------------------------------------------------------------ */

static enum ks_stage_result answer_one(struct survey *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (ks_str_is(v->request->info.name, v->components[i].name))
			return ks_reply_tree(v->request, 200, &v->components[i].tree);
	ks_status_not_found(&v->request->status, &v->request->arena, "", "componentstatus", v->request->info.name);
	return KS_STAGE_FAILED;
}

static bool is_wanted(const struct survey *v, const struct component *c)
{
	struct ks_watch_filter filter;

	ks_list_options_filter(v->request, &v->options, &filter);
	return ks_watch_filter_match(v->request->server->schema, &filter, c->object);
}

static int fill_list(struct survey *v, struct ks_list_form *form, struct ks_chunk *chunk)
{
	const struct ks_table_meta meta = {.remaining = -1};
	int rc = 0;

	for (size_t i = 0; !rc && ks_list_form_measures(form) && i < v->n; i++)
		if (is_wanted(v, &v->components[i]))
			rc = ks_list_form_measure(form, v->components[i].object);
	if (rc)
		return rc;
	ks_list_form_head(form, &meta, chunk);
	for (size_t i = 0; !rc && i < v->n; i++)
		if (is_wanted(v, &v->components[i]))
			rc = ks_list_form_item(form, v->components[i].object, chunk);
	ks_list_form_tail(form, chunk);
	return rc;
}

static enum ks_stage_result answer_list(struct survey *v)
{
	struct ks_list_form form;
	struct ks_chunk chunk;
	int rc;

	if (ks_list_form_open(v->request, resource_of(v), &form))
		return KS_STAGE_FAILED;
	ks_chunk_init(&chunk);
	rc = fill_list(v, &form, &chunk);
	ks_list_form_close(&form);
	if (rc || !ks_chunk_seal(&chunk)) {
		ks_chunk_fini(&chunk);
		out_of_memory(v);
		return KS_STAGE_FAILED;
	}
	if (ks_list_form_measures(&form))
		ks_request_respond_formed(v->request, 200, NULL, 0, chunk.pieces, chunk.n);
	else
		ks_request_respond_object(v->request, 200, NULL, 0, chunk.pieces, chunk.n);
	ks_chunk_taken(&chunk);
	return KS_STAGE_ANSWERED;
}

static enum ks_stage_result run(struct ks_handler_run *handler)
{
	struct survey *v = (struct survey *)handler;

	if (v->n_open)
		return KS_STAGE_PENDING;
	if (gather(v))
		return KS_STAGE_FAILED;
	return ks_str_is(v->request->info.verb, "get") ? answer_one(v) : answer_list(v);
}

/* -- asking ------------------------------------------------------------------------------------------------------- */

static void probed_one(struct ks_probe *probe)
{
	struct survey *v = probe->arg;

	if (--v->n_open == 0)
		ks_request_resume(v->request);
	ks_request_unpin(v->request);
}

static void ask(struct survey *v)
{
	v->n_open = N_PROBED;
	for (size_t i = 0; i < N_PROBED; i++) {
		struct ks_probe *p = &v->probes[i];

		p->loop = v->request->loop;
		p->port = probed[i].port;
		p->path = "/healthz";
		p->timeout_ms = PROBE_MS;
		p->done = probed_one;
		p->arg = v;
		ks_request_pin(v->request);
		ks_probe_start(p);
	}
}

static bool exists(const struct survey *v, struct ks_str name)
{
	char store[32];

	for (size_t i = 0; i < N_PROBED; i++)
		if (ks_str_is(name, probed[i].name))
			return true;
	for (size_t i = 0; i < n_stores(v); i++) {
		snprintf(store, sizeof(store), "etcd-%zu", i);
		if (ks_str_is(name, store))
			return true;
	}
	return false;
}

static enum ks_stage_result refuse_watch(struct ks_request *request)
{
	ks_status_set(
		&request->status, &request->arena, 405, "MethodNotAllowed", "watch is not supported on resources of kind \"componentstatuses\"");
	request->status.has_details = true;
	request->status.kind = "componentstatuses";
	return KS_STAGE_FAILED;
}

enum ks_stage_result ks_resource_component(struct ks_request *request)
{
	bool one = ks_str_is(request->info.verb, "get");
	struct survey *v;

	if (ks_str_is(request->info.verb, "watch"))
		return refuse_watch(request);
	v = ks_arena_zalloc(&request->arena, 1, sizeof(*v));
	if (!v) {
		ks_status_internal(&request->status, &request->arena, "out of memory");
		return KS_STAGE_FAILED;
	}
	v->handler.run = run;
	v->request = request;
	if (ks_request_negotiate(request, KS_ALLOW_PARTIAL | KS_ALLOW_TABLE) || (!one && ks_list_options_parse(request, false, &v->options)))
		return KS_STAGE_FAILED;
	if (one && !exists(v, request->info.name)) {
		ks_status_not_found(&request->status, &request->arena, "", "componentstatus", request->info.name);
		return KS_STAGE_FAILED;
	}
	request->handler_data = v;
	ks_request_on_end(request, &v->end, end_survey);
	ask(v);
	return KS_STAGE_PENDING;
}
