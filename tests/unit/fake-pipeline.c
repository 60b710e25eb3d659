/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/fake-pipeline.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "core/pipeline/chain.h"
#include "core/pipeline/routes.h"

enum { HEADERS_MOST = 32 };

/* -- streams --------------------------------------------------------------------------------------------------- */

struct ks_stream {
	struct fake *fake;
	struct ks_http_request request;
	struct ks_header headers[HEADERS_MOST];
	struct fake_answer answer;
	void *data;
	char *target, *body;
	void (*body_done)(struct ks_stream *stream, int code, struct ks_str body);
	struct ks_task body_task, close_task;
	bool open, closing;
};

const struct ks_http_request *ks_stream_request(const struct ks_stream *stream)
{
	return &stream->request;
}

struct ks_str ks_stream_header(const struct ks_stream *stream, const char *name)
{
	for (size_t i = 0; i < stream->request.n_headers; i++)
		if (ks_str_is(stream->headers[i].name, name))
			return stream->headers[i].value;
	return (struct ks_str){0};
}

struct ks_loop *ks_stream_loop(const struct ks_stream *stream)
{
	return stream->fake->loop;
}

void ks_stream_set_data(struct ks_stream *stream, void *data)
{
	stream->data = data;
}

void *ks_stream_data(const struct ks_stream *stream)
{
	return stream->data;
}

#define OF(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

static void give_body(struct ks_task *task)
{
	struct ks_stream *stream = OF(task, struct ks_stream, body_task);
	size_t n = strlen(stream->body);

	if (stream->open)
		stream->body_done(stream, n > 1000 ? 413 : 0, n > 1000 ? (struct ks_str){0} : ks_str_of(stream->body, n));
}

void ks_stream_read_body(struct ks_stream *stream, size_t limit, void (*done)(struct ks_stream *stream, int code, struct ks_str body))
{
	(void)limit;
	stream->body_done = done;
	stream->body_task.run = give_body;
	ks_loop_post(stream->fake->loop, &stream->body_task);
}

static void close_stream(struct ks_task *task)
{
	struct ks_stream *stream = OF(task, struct ks_stream, close_task);

	if (!stream->open)
		return;
	stream->open = false;
	ks_pipeline_on_closed(stream, &stream->fake->server);
}

static void close_later(struct ks_stream *stream)
{
	if (stream->closing)
		return;
	stream->closing = true;
	stream->close_task.run = close_stream;
	ks_loop_post(stream->fake->loop, &stream->close_task);
}

static void take_headers(struct ks_stream *stream, int status, const struct ks_header *headers, size_t n)
{
	size_t at = 0;

	assert(stream->open && stream->answer.code == 0);
	stream->answer.code = status;
	for (size_t i = 0; i < n; i++) {
		at += (size_t)snprintf(stream->answer.headers + at, sizeof(stream->answer.headers) - at, "%.*s: %.*s\n", (int)headers[i].name.n,
			headers[i].name.p, (int)headers[i].value.n, headers[i].value.p);
		assert(at < sizeof(stream->answer.headers));
	}
}

int ks_stream_write(struct ks_stream *stream, const struct ks_piece *pieces, size_t n)
{
	struct fake_answer *answer = &stream->answer;

	for (size_t i = 0; i < n; i++) {
		assert(answer->body_n + pieces[i].len < sizeof(answer->body));
		memcpy(answer->body + answer->body_n, pieces[i].data, pieces[i].len);
		answer->body_n += pieces[i].len;
		if (pieces[i].release)
			pieces[i].release(pieces[i].owner);
	}
	answer->body[answer->body_n] = '\0';
	return 0;
}

int ks_stream_respond(
	struct ks_stream *stream, int status, const struct ks_header *headers, size_t n_headers, const struct ks_piece *pieces, size_t n_pieces)
{
	take_headers(stream, status, headers, n_headers);
	ks_stream_write(stream, pieces, n_pieces);
	stream->answer.ended = true;
	close_later(stream);
	return 0;
}

int ks_stream_begin(struct ks_stream *stream, int status, const struct ks_header *headers, size_t n_headers)
{
	take_headers(stream, status, headers, n_headers);
	return 0;
}

void ks_stream_trim(struct ks_stream *stream)
{
	(void)stream;
}

/* What was written is gone at once. */
size_t ks_stream_queued(const struct ks_stream *stream)
{
	(void)stream;
	return 0;
}

void ks_stream_on_drained(struct ks_stream *stream, size_t below, void (*drained)(struct ks_stream *stream))
{
	(void)below;
	drained(stream);
}

void ks_stream_end(struct ks_stream *stream)
{
	stream->answer.ended = true;
	close_later(stream);
}

void ks_stream_reset(struct ks_stream *stream)
{
	stream->answer.reset = true;
	close_later(stream);
}

struct ks_loop *ks_server_worker(struct ks_server *server, uint32_t index)
{
	(void)server;
	(void)index;
	abort(); /* there is no server */
}

uint16_t ks_server_port(const struct ks_server *server)
{
	(void)server;
	return 6443;
}

/* -- plugins --------------------------------------------------------------------------------------------------- */

struct ks_plugin_set {
	unsigned refs;
	struct ks_chain *chain;
	struct ks_instance *instances[16];
	size_t n;
};

struct ks_instance *fake_instances[16];
size_t fake_n_instances;
static struct ks_plugin_set *current;

static struct ks_plugin_set *make_set(void)
{
	struct ks_plugin_set *set = calloc(1, sizeof(*set));
	struct ks_error err;

	set->refs = 1;
	set->n = fake_n_instances;
	memcpy(set->instances, fake_instances, sizeof(set->instances));
	assert(ks_chain_new(set, &ks_schema_builtin, &set->chain, &err) == 0);
	return set;
}

struct ks_plugin_set *ks_plugins_current(struct ks_plugins *plugins, const struct ks_loop *loop)
{
	(void)plugins;
	(void)loop;
	ks_plugin_set_unref(current);
	current = make_set();
	return current;
}

struct ks_plugin_set *ks_plugin_set_ref(struct ks_plugin_set *set)
{
	set->refs++;
	return set;
}

void ks_plugin_set_unref(struct ks_plugin_set *set)
{
	if (!set || --set->refs)
		return;
	ks_chain_free(set->chain);
	free(set);
}

void *ks_plugin_set_chain(const struct ks_plugin_set *set)
{
	return set->chain;
}

size_t ks_plugin_set_count(const struct ks_plugin_set *set, enum ks_stage stage)
{
	size_t n = 0;

	for (size_t i = 0; i < set->n; i++)
		n += set->instances[i]->stage == stage;
	return n;
}

struct ks_instance *ks_plugin_set_at(const struct ks_plugin_set *set, enum ks_stage stage, size_t index)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->instances[i]->stage == stage && index-- == 0)
			return set->instances[i];
	abort();
}

const char *ks_instance_name(const struct ks_instance *instance)
{
	return instance->name;
}

uint32_t ks_instance_flags(const struct ks_instance *instance)
{
	return instance->flags;
}

int ks_authn_call(struct ks_instance *instance, struct ks_op *op, const struct ks_authn_request *request, struct ks_authn_result *result)
{
	*result = (struct ks_authn_result){.size = sizeof(*result)};
	instance->calls++;
	ks_op_begin(op);
	return ks_op_end(op, instance->authenticate(instance, op, request, result));
}

int ks_authz_call(struct ks_instance *instance, struct ks_op *op, const struct ks_authz_attributes *attributes, struct ks_authz_result *result)
{
	*result = (struct ks_authz_result){.size = sizeof(*result)};
	instance->calls++;
	ks_op_begin(op);
	return ks_op_end(op, instance->authorize(instance, op, attributes, result));
}

bool ks_admission_mutates(const struct ks_instance *instance)
{
	return instance->mutates;
}

bool ks_admission_validates(const struct ks_instance *instance)
{
	return instance->validates;
}

bool ks_admission_matches(
	const struct ks_instance *instance, enum ks_operation operation, struct ks_str group, struct ks_str resource, struct ks_str subresource)
{
	(void)operation;
	if (!instance->resource)
		return true;
	return ks_str_is(group, instance->group) && ks_str_is(resource, instance->resource) && ks_str_is(subresource, instance->subresource);
}

int ks_admission_call(struct ks_instance *instance, struct ks_op *op, struct ks_admission_call *call)
{
	*call->result = (struct ks_admission_result){.size = sizeof(*call->result)};
	instance->calls++;
	ks_op_begin(op);
	return ks_op_end(op, instance->admit(instance, op, call));
}

void ks_plugins_on_set(struct ks_plugins *plugins, int (*build)(void *arg, struct ks_plugin_set *set, void **chain_r, struct ks_error *err),
	void (*release)(void *chain), void *arg)
{
	(void)plugins;
	(void)build;
	(void)release;
	(void)arg;
}

void ks_plugins_set_writer(struct ks_plugins *plugins, void (*writer)(void *arg, struct ks_inner_write *write), void *arg)
{
	(void)plugins;
	(void)writer;
	(void)arg;
}

void ks_inner_write_done(struct ks_inner_write *write, int code, struct ks_str body)
{
	(void)write;
	(void)code;
	(void)body;
}

int ks_plugins_synced(struct ks_plugins *plugins, const char **instance_r)
{
	(void)plugins;
	(void)instance_r;
	return 1;
}

void ks_plugins_metrics(struct ks_plugins *plugins, struct ks_buf *out)
{
	(void)plugins;
	(void)out;
}

/* -- the cache: there is none ---------------------------------------------------------------------------------- */

int ks_cache_health(const struct ks_cache *cache, const char **store_name_r)
{
	(void)cache;
	(void)store_name_r;
	return 0;
}

struct ks_cache_resource *ks_cache_find(struct ks_cache *cache, uint16_t resource)
{
	(void)cache;
	(void)resource;
	return NULL;
}

uint64_t ks_cache_count(const struct ks_cache_resource *r)
{
	(void)r;
	return 0;
}

/* -- handler --------------------------------------------------------------------------------------------------- */

enum ks_stage_result (*fake_resource_handler)(struct ks_request *request);

enum ks_stage_result ks_resource_handle(struct ks_request *request)
{
	struct ks_buf buf;

	if (fake_resource_handler)
		return fake_resource_handler(request);
	if (ks_request_negotiate(request, KS_ALLOW_TABLE | KS_ALLOW_PARTIAL) != 0)
		return KS_STAGE_FAILED;
	ks_buf_init(&buf);
	ks_buf_add_str(&buf, "{\"handled\":true}");
	ks_request_respond_json(request, 200, &buf);
	return KS_STAGE_ANSWERED;
}

/* -- driving --------------------------------------------------------------------------------------------------- */

static int good_token(struct ks_instance *self, struct ks_op *op, const struct ks_authn_request *request, struct ks_authn_result *result)
{
	static const struct ks_view groups[] = {{"dev", 3}};

	(void)self;
	(void)op;
	if (!ks_str_is(ks_str_of_view(request->token), "good"))
		return KS_DONE;
	result->decision = KS_AUTHN_AUTHENTICATED;
	result->name = (struct ks_view){"alice", 5};
	result->groups = groups;
	result->n_groups = 1;
	return KS_DONE;
}

static int allow(struct ks_instance *self, struct ks_op *op, const struct ks_authz_attributes *attributes, struct ks_authz_result *result)
{
	(void)self;
	(void)op;
	(void)attributes;
	result->decision = KS_AUTHZ_ALLOW;
	return KS_DONE;
}

static struct ks_instance tokens = {.name = "tokens", .stage = KS_STAGE_AUTHENTICATION, .flags = KS_AUTHN_TOKEN, .authenticate = good_token};
static struct ks_instance everything = {.name = "everything", .stage = KS_STAGE_AUTHORIZATION, .authorize = allow};

void fake_start(struct fake *fake)
{
	struct ks_error err;

	*fake = (struct fake){.server = {.schema = &ks_schema_builtin, .plugins = (struct ks_plugins *)fake, .ready = true}};
	fake->config.server.port = 6443;
	fake->config.advertise_address = "192.0.2.10";
	fake->server.config = &fake->config;
	fake->loop = ks_loop_new(0);
	assert(fake->loop);
	fake_instances[0] = &tokens;
	fake_instances[1] = &everything;
	fake_n_instances = 2;
	fake_resource_handler = NULL;
	if (ks_pipeline_init(&fake->server, &err) != 0 || ks_pipeline_worker_started(&fake->server, fake->loop) != 0)
		abort();
}

void fake_stop(struct fake *fake)
{
	fake_request(NULL, NULL, NULL, NULL, NULL);
	ks_pipeline_fini(&fake->server);
	ks_plugin_set_unref(current);
	current = NULL;
	ks_loop_free(&fake->loop);
}

static void add_header(struct ks_stream *stream, const char *name, const char *value)
{
	size_t n = stream->request.n_headers++;

	assert(n < HEADERS_MOST);
	stream->headers[n] = (struct ks_header){ks_str_from(name), ks_str_from(value)};
}

struct ks_stream *fake_open(struct fake *fake, const char *method, const char *target, const char *const *headers, const char *body)
{
	struct ks_stream *stream = calloc(1, sizeof(*stream));
	const char *mark;

	stream->fake = fake;
	stream->open = true;
	stream->target = strdup(target);
	stream->body = strdup(body ? body : "");
	mark = strchr(stream->target, '?');
	stream->request = (struct ks_http_request){.method = ks_str_from(method),
		.target = ks_str_from(stream->target),
		.path = ks_str_from(stream->target),
		.headers = stream->headers,
		.has_body = body != NULL,
		.content_length = body ? (int64_t)strlen(body) : -1,
		.remote_address = "192.0.2.1:4711"};
	if (mark) {
		stream->request.path.n = (size_t)(mark - stream->target);
		stream->request.query = ks_str_from(mark + 1);
	}
	for (; headers && headers[0]; headers += 2)
		add_header(stream, headers[0], headers[1]);
	ks_pipeline_on_request(stream, &fake->server);
	return stream;
}

void fake_hang_up(struct ks_stream *stream)
{
	if (stream->open) {
		stream->open = false;
		/* What the network gave is gone from now on. */
		memset(stream->target, 'X', strlen(stream->target));
		memset(stream->body, 'X', strlen(stream->body));
		ks_pipeline_on_closed(stream, &stream->fake->server);
	}
}

struct fake_answer *fake_answer_of(struct ks_stream *stream)
{
	return &stream->answer;
}

void fake_free_stream(struct ks_stream *stream)
{
	free(stream->target);
	free(stream->body);
	free(stream);
}

struct tick {
	struct ks_timer timer;
	struct ks_loop *loop;
};

static void tick(struct ks_timer *timer)
{
	struct tick *t = OF(timer, struct tick, timer);

	if (ks_timer_start(t->loop, &t->timer, 1) != 0)
		abort();
}

/* By turns: a loop that was stopped can't be run again. */
void fake_run_until(struct fake *fake, bool (*done)(void *arg), void *arg)
{
	struct tick t = {.timer.fire = tick, .loop = fake->loop};
	uint64_t until = ks_monotonic_ns() + UINT64_C(30000000000);

	tick(&t.timer);
	while (!done(arg) && ks_monotonic_ns() < until)
		(void)ks_loop_turn(fake->loop, true);
	ks_timer_cancel(&t.timer);
}

static bool is_over(void *arg)
{
	struct ks_stream *stream = arg;

	return !stream->open;
}

void fake_run_until_answered(struct fake *fake, struct ks_stream *stream)
{
	fake_run_until(fake, is_over, stream);
}

const struct fake_answer *fake_request(struct fake *fake, const char *method, const char *target, const char *const *headers, const char *body)
{
	static struct ks_stream *last;

	if (last)
		fake_free_stream(last);
	last = NULL;
	if (!fake)
		return NULL;
	last = fake_open(fake, method, target, headers, body);
	fake_run_until_answered(fake, last);
	return &last->answer;
}

const struct fake_answer *fake_get(struct fake *fake, const char *target)
{
	static const char *const headers[] = {"authorization", "Bearer good", NULL};

	return fake_request(fake, "GET", target, headers, NULL);
}
