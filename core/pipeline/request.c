/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/request.h"

#include <errno.h>
#include <stddef.h>

#include "core/config/config.h"
#include "core/pipeline/chain.h"
#include "core/pipeline/inner.h"
#include "core/pipeline/lane.h"
#include "core/pipeline/metrics.h"
#include "core/pipeline/offload.h"
#include "core/pipeline/server.h"
#include "core/util/log.h"
#include "plugins/host/host.h"

#define CONTAINER(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

enum { BODY_NONE, BODY_READING, BODY_HERE, BODY_REFUSED };
enum { DEFAULT_BODY_LIMIT = 3 << 20 };

/* -- what was sent --------------------------------------------------------------------------------------------- */

struct ks_str ks_request_header_view(const struct ks_request *request, const char *name)
{
	if (request->copy)
		return ks_copy_header(request->copy, name);
	if (request->inner)
		return strcmp(name, "content-type") == 0 ? request->inner->content_type : (struct ks_str){0};
	return request->stream ? ks_stream_header(request->stream, name) : (struct ks_str){0};
}

/* A copy: the stream's own bytes go when the client goes, and that may be while somebody waits for a plugin. */
struct ks_str ks_request_header(struct ks_request *request, const char *name)
{
	struct ks_str view = ks_request_header_view(request, name);

	if (view.p)
		view.p = ks_arena_dup(&request->arena, view.p, view.n);
	return view.p ? view : (struct ks_str){0};
}

struct ks_str ks_request_query(struct ks_request *request, const char *key)
{
	if (!request->query.parsed && ks_query_parse(&request->arena, request->raw_query, &request->query) < 0)
		return (struct ks_str){0}; /* only before the first stage has looked: it refuses what can't be parsed */
	return ks_query_get(&request->query, key);
}

bool ks_request_has_feature(const struct ks_request *request, enum ks_feature feature)
{
	return request->server->config && request->server->config->features.on[feature];
}

/* KS_ALLOW_CBOR where its gate is open. */
static unsigned cbor_allowed(const struct ks_request *request)
{
	return ks_request_has_feature(request, KS_FEATURE_CBOR) ? KS_ALLOW_CBOR : 0;
}

int ks_request_negotiate_body(struct ks_request *request, enum ks_media_format *format_r)
{
	return ks_negotiate_body(&request->arena, ks_request_header(request, "content-type"), cbor_allowed(request), format_r, &request->status);
}

int ks_request_negotiate(struct ks_request *request, unsigned allowed)
{
	int rc = ks_negotiate(
		&request->arena, ks_request_header(request, "accept"), allowed | cbor_allowed(request), &request->media, &request->status);
	struct ks_str agent, pretty;

	if (rc != 0)
		return rc;
	pretty = memmem(request->raw_query.p, request->raw_query.n, "pretty", 6) ? ks_request_query(request, "pretty") : (struct ks_str){0};
	if (pretty.n > 0) {
		request->media.pretty |= ks_parse_bool(pretty) == 1;
		return 0;
	}
	agent = ks_request_header_view(request, "user-agent");
	if (ks_str_starts(agent, KS_STR_LIT("curl")) || ks_str_starts(agent, KS_STR_LIT("Wget")) || ks_str_starts(agent, KS_STR_LIT("Mozilla/5.0")))
		request->media.pretty = true;
	return 0;
}

static void body_done(struct ks_stream *stream, int code, struct ks_str body)
{
	struct ks_request *request = ks_stream_data(stream);

	if (!request)
		return;
	request->body_state = code == 0 ? BODY_HERE : BODY_REFUSED;
	request->body_code = code;
	if (code == 0 && body.n > 0) {
		request->body.p = ks_arena_dup(&request->arena, body.p, body.n);
		request->body.n = body.n;
		if (!request->body.p) {
			request->body_state = BODY_REFUSED;
			request->body_code = -ENOMEM;
		}
	}
	ks_request_resume(request);
}

static enum ks_stage_result refuse_body(struct ks_request *request)
{
	if (request->body_code == 413)
		ks_status_set(&request->status, &request->arena, 413, "RequestEntityTooLarge", "Request entity too large: limit is %u",
			request->server->config && request->server->config->server.body_limit ? request->server->config->server.body_limit
											      : (unsigned)DEFAULT_BODY_LIMIT);
	else if (request->body_code == -ENOMEM)
		ks_status_internal(&request->status, &request->arena, "out of memory");
	else
		ks_status_bad_request(&request->status, &request->arena, "the body of the request could not be read");
	return KS_STAGE_FAILED;
}

enum ks_stage_result ks_request_need_body(struct ks_request *request)
{
	const struct ks_config *config = request->server->config;
	size_t limit = config && config->server.body_limit ? config->server.body_limit : DEFAULT_BODY_LIMIT;

	switch (request->body_state) {
	case BODY_HERE:
		return KS_STAGE_NEXT;
	case BODY_REFUSED:
		return refuse_body(request);
	case BODY_READING:
		return KS_STAGE_PENDING;
	}
	request->body = KS_STR_LIT("");
	if (request->inner) {
		request->body = request->inner->body;
		request->body_state = BODY_HERE;
		return KS_STAGE_NEXT;
	}
	if (!request->stream)
		return KS_STAGE_PENDING; /* settled by the one who called us: nobody waits for an answer */
	if (!ks_stream_request(request->stream)->has_body) {
		request->body_state = BODY_HERE;
		return KS_STAGE_NEXT;
	}
	request->body_state = BODY_READING;
	ks_stream_read_body(request->stream, limit, body_done);
	return KS_STAGE_PENDING;
}

/* -- beginning ------------------------------------------------------------------------------------------------- */

static struct ks_str known_method(struct ks_arena *arena, struct ks_str method)
{
	static const char *const known[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (ks_str_is(method, known[i]))
			return ks_str_from(known[i]);
	method.p = ks_arena_dup(arena, method.p, method.n);
	return method;
}

bool ks_request_set_target(struct ks_request *request, struct ks_str method, struct ks_str path, struct ks_str query)
{
	char *copy = ks_arena_alloc(&request->arena, path.n + query.n + 2);

	request->method = known_method(&request->arena, method);
	if (!copy || !request->method.p)
		return false;
	if (path.n)
		memcpy(copy, path.p, path.n);
	copy[path.n] = '?';
	if (query.n)
		memcpy(copy + path.n + 1, query.p, query.n);
	request->raw_path = ks_str_of(copy, path.n);
	request->raw_query = ks_str_of(copy + path.n + 1, query.n);
	request->target = ks_str_of(copy, query.n ? path.n + 1 + query.n : path.n);
	return true;
}

/* It stands in log lines between spaces: one with a space in it could pretend to be more. */
static bool is_one_word(struct ks_str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] <= ' ' || text.p[i] == '=' || text.p[i] == '"' || text.p[i] > '~')
			return false;
	return text.n > 0;
}

static void take_audit_id(struct ks_request *request)
{
	struct ks_str sent = ks_request_header_view(request, "audit-id");

	if (!is_one_word(sent)) {
		ks_lane_audit_id(request->lane, request->audit_id);
		return;
	}
	if (sent.n > KS_AUDIT_ID_MOST)
		sent.n = KS_AUDIT_ID_MOST;
	memcpy(request->audit_id, sent.p, sent.n);
	request->audit_id[sent.n] = '\0';
}

bool ks_request_from_stream(struct ks_request *request, struct ks_stream *stream)
{
	const struct ks_http_request *http = ks_stream_request(stream);

	request->stream = stream;
	request->received_ns = ks_monotonic_ns();
	take_audit_id(request);
	return ks_request_set_target(request, http->method, http->path, http->query);
}

/* -- running --------------------------------------------------------------------------------------------------- */

static void deadline_passed(struct ks_timer *timer)
{
	struct ks_request *request = CONTAINER(timer, struct ks_request, deadline_timer);

	if (!request->answered) {
		ks_status_set(&request->status, &request->arena, 504, "Timeout", "Timeout: request did not complete within the allotted timeout");
		request->status.has_details = true;
		if (request->op)
			ks_op_cancel(request->op);
		ks_request_respond_status(request);
	} else if (request->streaming && request->stream) {
		ks_stream_reset(request->stream);
	}
	ks_request_settle(request);
}

/* Only who waits needs a timer: most requests are answered before this is ever called. */
void ks_request_start_deadline(struct ks_request *request)
{
	uint64_t now, left_ms;

	if (request->timer_started || request->deadline_ns == 0)
		return;
	now = ks_monotonic_ns();
	left_ms = request->deadline_ns > now ? (request->deadline_ns - now) / 1000000 + 1 : 1;
	request->deadline_timer.fire = deadline_passed;
	if (ks_timer_start(request->loop, &request->deadline_timer, left_ms) == 0)
		request->timer_started = true;
	else
		ks_log(KS_LOG_ERROR, "pipeline", "no deadline for a request audit-id=%s", request->audit_id);
}

static void account_stage(struct ks_request *request)
{
	uint64_t now = ks_monotonic_ns();

	ks_metrics_stage(request->lane->metrics, request->stage, now - request->stage_ns);
	request->stage_ns = now;
}

/* The stage that runs has answered; false: the request waits, or is over. */
static bool go_on(struct ks_request *request, enum ks_stage_result result)
{
	if (result == KS_STAGE_PENDING) {
		if (!ks_request_over(request))
			ks_request_start_deadline(request);
		return false;
	}
	account_stage(request);
	if (result == KS_STAGE_NEXT && request->stage + 1 < ks_chain_n_stages) {
		request->stage++;
		return !ks_request_over(request);
	}
	if (result == KS_STAGE_NEXT)
		ks_status_internal(&request->status, &request->arena, "no handler has answered");
	if (!ks_request_over(request) && !request->rendering)
		ks_request_respond_status(request);
	return false;
}

void ks_request_run(struct ks_request *request)
{
	if (request->stage_ns == 0)
		request->stage_ns = request->received_ns;
	request->in_run = true;
	if (!ks_request_over(request) && !request->rendering)
		while (go_on(request, ks_chain_stages[request->stage].run(request)))
			;
	request->in_run = false;
	ks_request_settle(request);
}

static void run_resumed(struct ks_task *task)
{
	struct ks_request *request = CONTAINER(task, struct ks_request, resume_task);

	request->resume_posted = false;
	ks_request_run(request);
}

void ks_request_resume(struct ks_request *request)
{
	if (request->resume_posted)
		return;
	request->resume_posted = true;
	request->resume_task.run = run_resumed;
	ks_loop_post(request->loop, &request->resume_task);
}

/* -- the end --------------------------------------------------------------------------------------------------- */

void ks_request_on_end(struct ks_request *request, struct ks_request_end *end, void (*run)(struct ks_request_end *end))
{
	end->run = run;
	end->next = request->ends;
	request->ends = end;
}

void ks_request_off_end(struct ks_request *request, struct ks_request_end *end)
{
	struct ks_request_end **at = &request->ends;

	while (*at && *at != end)
		at = &(*at)->next;
	if (*at)
		*at = end->next;
}

void ks_request_pin(struct ks_request *request)
{
	request->pins++;
}

void ks_request_unpin(struct ks_request *request)
{
	request->pins--;
	ks_request_settle(request);
}

static void destroy(struct ks_request *request)
{
	ks_timer_cancel(&request->deadline_timer);
	while (request->ends) {
		struct ks_request_end *end = request->ends;

		request->ends = end->next;
		end->run(end);
	}
	ks_metrics_end(request);
	if (request->set)
		ks_plugin_set_unref(request->set);
	if (request->inner)
		ks_inner_free(request->inner);
	ks_lane_put(request->lane, request);
}

void ks_request_settle(struct ks_request *request)
{
	if (request->closed && request->pins == 0 && !request->resume_posted && !request->in_run)
		destroy(request);
}

void ks_request_closed(struct ks_request *request)
{
	request->stream = NULL;
	request->closed = true;
	if (request->op && !request->answered)
		ks_op_cancel(request->op);
	ks_request_settle(request);
}
