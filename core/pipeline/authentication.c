/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is asking. The authenticators that read what was presented are asked in order; the first identity wins.
 * A credential that nobody recognised is a 401; the one for those who presented nothing (anonymous) comes last.
 */
#include <stddef.h>
#include <strings.h>

#include "core/pipeline/call.h"
#include "core/pipeline/chain.h"
#include "core/pipeline/inner.h"
#include "core/pipeline/lane.h"
#include "core/pipeline/server.h"
#include "core/util/log.h"
#include "plugins/host/host.h"

#define AUTHENTICATED "system:authenticated"
#define UNAUTHENTICATED "system:unauthenticated"
#define ANONYMOUS "system:anonymous"

/* One run of the chain; in the request's arena. */
struct authentication {
	struct ks_call call;
	struct ks_authn_request request;
	struct ks_authn_result result;
	const struct ks_header *headers; /* a copy, for authenticators that read others than Authorization */
	size_t n_headers;
	size_t next; /* the one to ask */
	uint32_t presented; /* enum ks_authn_flag */
	bool refused; /* by one of them, or one has failed */
	bool last_round; /* for those who presented nothing */
};

static struct ks_view find_header(const struct ks_authn_request *request, const char *name)
{
	const struct authentication *a = (const struct authentication *)((const char *)request - offsetof(struct authentication, request));

	for (size_t i = 0; i < a->n_headers; i++)
		if (ks_str_is(a->headers[i].name, name))
			return ks_view_of(a->headers[i].value);
	return (struct ks_view){0};
}

static struct ks_str dup(struct ks_arena *arena, struct ks_str s, bool *ok)
{
	char *copy = s.n ? ks_arena_dup(arena, s.p, s.n) : NULL;

	if (s.n && !copy)
		*ok = false;
	return copy ? ks_str_of(copy, s.n) : (struct ks_str){0};
}

/* -- what was presented ---------------------------------------------------------------------------------------- */

static struct ks_str trim(struct ks_str s)
{
	while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = ks_str_of(s.p + 1, s.n - 1);
	while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* The second word of "Bearer TOKEN", if there is one. */
static struct ks_str bearer_token(struct ks_request *request, struct ks_str header)
{
	const char *space, *end;
	struct ks_str token;

	header = trim(header);
	space = header.n ? memchr(header.p, ' ', header.n) : NULL;
	if (!space || space - header.p != 6 || strncasecmp(header.p, "bearer", 6) != 0)
		return (struct ks_str){0};
	token = ks_str_of(space + 1, header.n - 7);
	end = memchr(token.p, ' ', token.n);
	if (end)
		token.n = (size_t)(end - token.p);
	if (token.n == 0 && end)
		ks_request_warn(
			request, KS_STR_LIT("the provided Authorization header contains extra space before the bearer token, and is ignored"));
	return token;
}

static bool copy_certificates(struct authentication *a, struct ks_arena *arena, const struct ks_http_request *http)
{
	struct ks_view *views = ks_arena_zalloc(arena, http->n_peer_certificates, sizeof(*views));
	bool ok = views != NULL;

	for (size_t i = 0; ok && i < http->n_peer_certificates; i++)
		views[i] = ks_view_of(dup(arena, http->peer_certificates[i], &ok));
	a->request.certificates = views;
	a->request.n_certificates = ok ? http->n_peer_certificates : 0;
	return ok;
}

static bool copy_headers(struct authentication *a, struct ks_arena *arena, const struct ks_http_request *http)
{
	struct ks_header *headers = ks_arena_zalloc(arena, http->n_headers + 1, sizeof(*headers));
	bool ok = headers != NULL;

	for (size_t i = 0; ok && i < http->n_headers; i++) {
		headers[i].name = dup(arena, http->headers[i].name, &ok);
		headers[i].value = dup(arena, http->headers[i].value, &ok);
	}
	a->headers = headers;
	a->n_headers = ok ? http->n_headers : 0;
	return ok;
}

/* Everything is copied: a call may outlive the stream. */
static struct authentication *begin(struct ks_request *request)
{
	const struct ks_http_request *http = ks_stream_request(request->stream);
	struct ks_arena *arena = &request->arena;
	struct authentication *a = ks_arena_zalloc(arena, 1, sizeof(*a));
	struct ks_str token;
	bool ok = true;
	size_t n = ks_plugin_set_count(request->set, KS_STAGE_AUTHENTICATION);

	if (!a)
		return NULL;
	ks_call_init(&a->call, request, NULL);
	a->request = (struct ks_authn_request){.size = sizeof(a->request), .header = find_header};
	token = dup(arena, bearer_token(request, ks_request_header_view(request, "authorization")), &ok);
	a->request.token = ks_view_of(token);
	a->request.path = ks_view_of(request->info.path);
	a->request.remote_address = ks_view_of(dup(arena, ks_str_from(http->remote_address), &ok));
	if (token.n)
		a->presented |= KS_AUTHN_TOKEN;
	if (http->n_peer_certificates && ok)
		ok = copy_certificates(a, arena, http);
	for (size_t i = 0; ok && i < n; i++) {
		uint32_t flags = ks_instance_flags(ks_plugin_set_at(request->set, KS_STAGE_AUTHENTICATION, i));

		if ((flags & KS_AUTHN_HEADERS) && !a->headers)
			ok = copy_headers(a, arena, http);
		/* A certificate that nobody is there to read was not presented to us. */
		if ((flags & KS_AUTHN_CERTIFICATE) && a->request.n_certificates)
			a->presented |= KS_AUTHN_CERTIFICATE;
	}
	return ok ? a : NULL;
}

/* -- who it is ------------------------------------------------------------------------------------------------- */

static bool has_group(const struct ks_authn_result *result, const char *group)
{
	for (size_t i = 0; i < result->n_groups; i++)
		if (ks_str_is(ks_str_of_view(result->groups[i]), group))
			return true;
	return false;
}

static bool copy_extra(struct ks_arena *arena, const struct ks_authn_result *result, struct ks_user_info *user)
{
	bool ok = true;

	user->extra = ks_arena_zalloc(arena, result->n_extra, sizeof(*user->extra));
	if (!user->extra)
		return false;
	user->n_extra = result->n_extra;
	for (size_t i = 0; i < result->n_extra && ok; i++) {
		const struct ks_authn_extra *from = &result->extra[i];
		struct ks_user_extra *to = &user->extra[i];

		to->key = dup(arena, ks_str_of_view(from->key), &ok);
		to->values = ks_arena_zalloc(arena, from->n_values + 1, sizeof(*to->values));
		to->n_values = to->values ? from->n_values : 0;
		ok = ok && to->values;
		for (size_t k = 0; k < to->n_values; k++)
			to->values[k] = dup(arena, ks_str_of_view(from->values[k]), &ok);
	}
	return ok;
}

/* The result's memory is the operation's: copied, and the group of all authenticated users added. */
static bool take_user(struct ks_request *request, const struct ks_authn_result *result)
{
	struct ks_user_info *user = &request->user;
	struct ks_arena *arena = &request->arena;
	bool ok = true, add;

	add = !ks_str_is(ks_str_of_view(result->name), ANONYMOUS) && !has_group(result, AUTHENTICATED) && !has_group(result, UNAUTHENTICATED);
	user->name = dup(arena, ks_str_of_view(result->name), &ok);
	user->uid = dup(arena, ks_str_of_view(result->uid), &ok);
	user->groups = ks_arena_zalloc(arena, result->n_groups + 1, sizeof(*user->groups));
	if (!user->groups || !ok)
		return false;
	for (size_t i = 0; i < result->n_groups; i++)
		user->groups[user->n_groups++] = dup(arena, ks_str_of_view(result->groups[i]), &ok);
	if (add)
		user->groups[user->n_groups++] = KS_STR_LIT(AUTHENTICATED);
	if (ok && result->n_extra)
		ok = copy_extra(arena, result, user);
	return ok;
}

/* -- the chain ------------------------------------------------------------------------------------------------- */

static bool is_asked(const struct authentication *a, uint32_t flags)
{
	if (a->last_round)
		return flags & KS_AUTHN_NO_CREDENTIAL;
	return (flags & a->presented) || (flags & KS_AUTHN_HEADERS);
}

static enum ks_stage_result unauthorized(struct ks_request *request)
{
	ks_status_set(&request->status, &request->arena, 401, "Unauthorized", "Unauthorized");
	return KS_STAGE_FAILED;
}

/* One authenticator's word. True: the search is over (`*stage_r`). */
static bool judge(struct ks_request *request, struct authentication *a, struct ks_instance *instance, int result, enum ks_stage_result *stage_r)
{
	if (result != KS_DONE) {
		a->refused = true;
		ks_log(KS_LOG_WARN, "authn", "%s failed: %s audit-id=%s", ks_instance_name(instance),
			a->call.op.error ? a->call.op.error : "no reason given", request->audit_id);
		return false;
	}
	if (a->result.decision == KS_AUTHN_REJECTED)
		a->refused = true;
	if (a->result.decision != KS_AUTHN_AUTHENTICATED)
		return false;
	*stage_r = KS_STAGE_NEXT;
	if (!take_user(request, &a->result)) {
		ks_status_internal(&request->status, &request->arena, "out of memory");
		*stage_r = KS_STAGE_FAILED;
	}
	return true;
}

static enum ks_stage_result ask_all(struct ks_request *request, struct authentication *a)
{
	size_t n = ks_plugin_set_count(request->set, KS_STAGE_AUTHENTICATION);
	enum ks_stage_result stage;

	for (;;) {
		for (; a->next < n; a->next++) {
			struct ks_instance *instance = ks_plugin_set_at(request->set, KS_STAGE_AUTHENTICATION, a->next);
			int result;

			if (!ks_call_take(&a->call, &result)) {
				if (!is_asked(a, ks_instance_flags(instance)))
					continue;
				result = ks_call_await(&a->call, ks_authn_call(instance, &a->call.op, &a->request, &a->result));
			}
			if (result == KS_PENDING)
				return KS_STAGE_PENDING;
			if (judge(request, a, instance, result, &stage))
				return stage;
		}
		if (a->last_round || a->refused || a->presented)
			return unauthorized(request);
		a->last_round = true;
		a->next = 0;
	}
}

enum ks_stage_result ks_stage_authentication(struct ks_request *request)
{
	struct authentication *a = request->stage_data;
	enum ks_stage_result stage;

	if (request->inner)
		return KS_STAGE_NEXT; /* its user came with it */
	if (!a) {
		a = request->stage_data = begin(request);
		if (!a) {
			ks_status_internal(&request->status, &request->arena, "out of memory");
			return KS_STAGE_FAILED;
		}
	}
	stage = ask_all(request, a);
	if (stage != KS_STAGE_PENDING) {
		ks_call_fini(&a->call);
		request->stage_data = NULL;
	}
	return stage;
}
