/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* May they. The authorizers are asked in order; the first opinion wins, the end of the chain denies. */
#include "core/api/quote.h"
#include "core/pipeline/call.h"
#include "core/pipeline/chain.h"
#include "core/pipeline/server.h"
#include "core/pipeline/user.h"
#include "core/util/log.h"
#include "plugins/host/host.h"

/* One run of the chain; in the request's arena. */
struct authorization {
	struct ks_call call;
	struct ks_user user;
	struct ks_authz_attributes attributes;
	struct ks_authz_result result;
	size_t next;         /* the one to ask */
	bool failed;         /* one could not tell */
	const char *error;   /* what it said */
	struct ks_str reasons; /* of those without an opinion, one a line */
};

static bool has_selectors(const struct ks_request_info *info)
{
	return info->is_resource && !info->watch_prefix &&
		(ks_str_is(info->verb, "list") || ks_str_is(info->verb, "watch") || ks_str_is(info->verb, "deletecollection"));
}

static struct authorization *begin(struct ks_request *request)
{
	const struct ks_request_info *info = &request->info;
	struct authorization *a = ks_arena_zalloc(&request->arena, 1, sizeof(*a));

	if (!a || !ks_user_view(&request->arena, &request->user, &a->user))
		return NULL;
	ks_call_init(&a->call, request, NULL);
	a->attributes = (struct ks_authz_attributes){
		.size = sizeof(a->attributes), .user = &a->user, .verb = ks_view_of(info->verb), .is_resource = info->is_resource,
		.group = ks_view_of(info->group), .version = ks_view_of(info->version), .resource = ks_view_of(info->resource),
		.subresource = ks_view_of(info->subresource), .namespace_ = ks_view_of(info->ns), .name = ks_view_of(info->name),
		.path = ks_view_of(info->path),
	};
	if (has_selectors(info) && request->raw_query.n && memmem(request->raw_query.p, request->raw_query.n, "Selector", 8)) {
		a->attributes.label_selector = ks_view_of(ks_request_query(request, "labelSelector"));
		a->attributes.field_selector = ks_view_of(ks_request_query(request, "fieldSelector"));
	}
	return a;
}

/* -- the refusal ----------------------------------------------------------------------------------------------- */

/* Names come from the client: nothing in them may look like HTML. */
static const char *sanitized(struct ks_arena *arena, struct ks_str text)
{
	struct ks_buf out;
	const char *copy;

	ks_buf_init(&out);
	for (size_t i = 0; i < text.n; i++) {
		switch (text.p[i]) {
		case '&': ks_buf_add_str(&out, "&amp;"); break;
		case '<': ks_buf_add_str(&out, "&lt;"); break;
		case '>': ks_buf_add_str(&out, "&gt;"); break;
		default: ks_buf_add_char(&out, text.p[i]);
		}
	}
	copy = out.failed ? NULL : ks_arena_dup(arena, out.data ? out.data : "", out.len);
	ks_buf_fini(&out);
	return copy;
}

/* User "x" cannot list resource "pods" in API group "" in the namespace "ns" */
static const char *refusal(struct ks_request *request)
{
	const struct ks_request_info *info = &request->info;
	struct ks_buf out;
	const char *text;

	ks_buf_init(&out);
	ks_buf_add_str(&out, "User ");
	ks_quote_to(&out, request->user.name);
	ks_buf_printf(&out, " cannot %.*s ", (int)info->verb.n, info->verb.p);
	if (!info->is_resource) {
		ks_buf_add_str(&out, "path ");
		ks_quote_to(&out, info->path);
	} else {
		char *resource = ks_arena_printf(&request->arena, "%.*s%s%.*s", (int)info->resource.n, info->resource.p ? info->resource.p : "",
			info->subresource.n ? "/" : "", (int)info->subresource.n, info->subresource.p ? info->subresource.p : "");

		ks_buf_add_str(&out, "resource ");
		ks_quote_to(&out, ks_str_from(resource));
		ks_buf_add_str(&out, " in API group ");
		ks_quote_to(&out, info->group);
		ks_buf_add_str(&out, info->ns.n ? " in the namespace " : " at the cluster scope");
		if (info->ns.n)
			ks_quote_to(&out, info->ns);
	}
	text = out.failed ? NULL : sanitized(&request->arena, ks_buf_str(&out));
	ks_buf_fini(&out);
	return text ? text : "the request is not allowed";
}

static const char *text_of(struct ks_arena *arena, struct ks_str s)
{
	char *copy = ks_arena_dup(arena, s.p ? s.p : "", s.n);

	return copy ? copy : "";
}

static enum ks_stage_result forbid(struct ks_request *request, struct ks_str reason)
{
	const struct ks_request_info *info = &request->info;
	struct ks_arena *arena = &request->arena;
	const char *why = refusal(request);

	if (reason.n)
		why = ks_arena_printf(arena, "%s: %.*s", why, (int)reason.n, reason.p);
	if (!why)
		why = "the request is not allowed";
	if (info->is_resource) {
		ks_status_forbidden(&request->status, arena, text_of(arena, info->group), text_of(arena, info->resource), info->name, why);
		return KS_STAGE_FAILED;
	}
	ks_status_set(&request->status, arena, 403, "Forbidden", "forbidden: %s", why);
	request->status.has_details = true;
	return KS_STAGE_FAILED;
}

/* Nobody allowed it, and one that might have could not tell. */
static enum ks_stage_result fail(struct ks_request *request, const struct authorization *a)
{
	const char *target = ks_quote(&request->arena, request->target);
	const char *text = ks_arena_printf(&request->arena, "Internal Server Error: %s: %s\n", target ? target : "", a->error ? a->error : "out of memory");
	const char *safe = text ? sanitized(&request->arena, ks_str_from(text)) : NULL;

	ks_request_respond_text(request, 500, safe ? safe : "Internal Server Error\n");
	return KS_STAGE_ANSWERED;
}

/* -- the chain ------------------------------------------------------------------------------------------------- */

/* One authorizer's word. True: the search is over (`*stage_r`). */
static bool judge(struct ks_request *request, struct authorization *a, struct ks_instance *instance, int result, enum ks_stage_result *stage_r)
{
	struct ks_str reason = ks_str_of_view(a->result.reason);

	if (result != KS_DONE) {
		const char *error = a->call.op.error ? a->call.op.error : "no reason given";

		a->failed = true;
		a->error = ks_arena_printf(&request->arena, "%s", error);
		ks_log(KS_LOG_WARN, "authz", "%s failed: %s audit-id=%s", ks_instance_name(instance), error, request->audit_id);
		return false;
	}
	switch (a->result.decision) {
	case KS_AUTHZ_ALLOW:
		*stage_r = KS_STAGE_NEXT;
		return true;
	case KS_AUTHZ_DENY:
		*stage_r = forbid(request, reason);
		return true;
	}
	if (reason.n) {
		char *all = ks_arena_printf(&request->arena, "%.*s%s%.*s", (int)a->reasons.n, a->reasons.p ? a->reasons.p : "", a->reasons.n ? "\n" : "",
			(int)reason.n, reason.p);

		a->reasons = ks_str_from(all);
	}
	return false;
}

static enum ks_stage_result ask_all(struct ks_request *request, struct authorization *a)
{
	size_t n = ks_plugin_set_count(request->set, KS_STAGE_AUTHORIZATION);
	enum ks_stage_result stage;

	for (; a->next < n; a->next++) {
		struct ks_instance *instance = ks_plugin_set_at(request->set, KS_STAGE_AUTHORIZATION, a->next);
		int result;

		if (!ks_call_take(&a->call, &result))
			result = ks_call_await(&a->call, ks_authz_call(instance, &a->call.op, &a->attributes, &a->result));
		if (result == KS_PENDING)
			return KS_STAGE_PENDING;
		if (judge(request, a, instance, result, &stage))
			return stage;
	}
	return a->failed ? fail(request, a) : forbid(request, a->reasons);
}

enum ks_stage_result ks_stage_authorization(struct ks_request *request)
{
	struct authorization *a = request->stage_data;
	enum ks_stage_result stage;

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
