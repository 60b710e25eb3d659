/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/authorize.h"

#include "core/api/quote.h"
#include "core/util/log.h"
#include "plugins/host/host.h"

/* -- the chain ------------------------------------------------------------------------------------------------- */

void ks_authorize_init(struct ks_authorize *authorize, struct ks_request *request)
{
	*authorize = (struct ks_authorize){.attributes = {.size = sizeof(authorize->attributes)}};
	ks_call_init(&authorize->call, request, NULL);
}

void ks_authorize_fini(struct ks_authorize *authorize)
{
	ks_call_fini(&authorize->call);
}

static void add_reason(struct ks_authorize *a, struct ks_str reason)
{
	if (!reason.n)
		return;
	a->reason = ks_str_from(ks_arena_printf(&a->call.request->arena, "%.*s%s%.*s", (int)a->reason.n, a->reason.p ? a->reason.p : "",
		a->reason.n ? "\n" : "", (int)reason.n, reason.p));
}

/* One authorizer's word. True: the search is over. */
static bool judge(struct ks_authorize *a, struct ks_instance *instance, int result)
{
	struct ks_request *request = a->call.request;
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
		a->decision = KS_AUTHORIZE_ALLOWED;
		return true;
	case KS_AUTHZ_DENY:
		a->reason = (struct ks_str){0};
		add_reason(a, reason);
		return true;
	}
	add_reason(a, reason);
	return false;
}

int ks_authorize_run(struct ks_authorize *a)
{
	struct ks_plugin_set *set = a->call.request->set;
	size_t n = ks_plugin_set_count(set, KS_STAGE_AUTHORIZATION);
	bool over = false;
	int result;

	if (a->next == 0) {
		a->decision = KS_AUTHORIZE_DENIED;
		a->reason = (struct ks_str){0};
		a->error = NULL;
		a->failed = false;
	}
	while (a->next < n && !over) {
		struct ks_instance *instance = ks_plugin_set_at(set, KS_STAGE_AUTHORIZATION, a->next);

		if (!ks_call_take(&a->call, &result))
			result = ks_call_await(&a->call, ks_authz_call(instance, &a->call.op, &a->attributes, &a->result));
		if (result == KS_PENDING)
			return KS_PENDING;
		over = judge(a, instance, result);
		a->next++;
	}
	a->next = 0;
	if (!over && a->failed)
		a->decision = KS_AUTHORIZE_FAILED;
	return KS_DONE;
}

/* -- the refusal ----------------------------------------------------------------------------------------------- */

const char *ks_authorize_sanitize(struct ks_arena *arena, struct ks_str text)
{
	struct ks_buf out;
	const char *copy;

	ks_buf_init(&out);
	for (size_t i = 0; i < text.n; i++) {
		switch (text.p[i]) {
		case '&':
			ks_buf_add_str(&out, "&amp;");
			break;
		case '<':
			ks_buf_add_str(&out, "&lt;");
			break;
		case '>':
			ks_buf_add_str(&out, "&gt;");
			break;
		default:
			ks_buf_add_char(&out, text.p[i]);
		}
	}
	copy = out.failed ? NULL : ks_arena_dup(arena, out.data ? out.data : "", out.len);
	ks_buf_fini(&out);
	return copy;
}

static void add_resource(struct ks_buf *out, struct ks_arena *arena, const struct ks_authz_attributes *a)
{
	char *resource = ks_arena_printf(arena, "%.*s%s%.*s", (int)a->resource.n, a->resource.p ? a->resource.p : "", a->subresource.n ? "/" : "",
		(int)a->subresource.n, a->subresource.p ? a->subresource.p : "");

	ks_buf_add_str(out, "resource ");
	ks_quote_to(out, ks_str_from(resource));
	ks_buf_add_str(out, " in API group ");
	ks_quote_to(out, ks_str_of_view(a->group));
	ks_buf_add_str(out, a->namespace_.n ? " in the namespace " : " at the cluster scope");
	if (a->namespace_.n)
		ks_quote_to(out, ks_str_of_view(a->namespace_));
}

/* User "x" cannot list resource "pods" in API group "" in the namespace "ns" */
static const char *refusal(struct ks_arena *arena, const struct ks_authz_attributes *a)
{
	struct ks_buf out;
	const char *text;

	ks_buf_init(&out);
	ks_buf_add_str(&out, "User ");
	ks_quote_to(&out, ks_str_of_view(a->user->name));
	ks_buf_add_str(&out, " cannot ");
	ks_buf_add(&out, a->verb.p, a->verb.n);
	ks_buf_add_char(&out, ' ');
	if (a->is_resource) {
		add_resource(&out, arena, a);
	} else {
		ks_buf_add_str(&out, "path ");
		ks_quote_to(&out, ks_str_of_view(a->path));
	}
	text = out.failed ? NULL : ks_authorize_sanitize(arena, ks_buf_str(&out));
	ks_buf_fini(&out);
	return text ? text : "the request is not allowed";
}

static const char *text_of(struct ks_arena *arena, struct ks_view v)
{
	char *copy = ks_arena_dup(arena, v.p ? v.p : "", v.n);

	return copy ? copy : "";
}

void ks_authorize_refuse(struct ks_request *request, const struct ks_authz_attributes *a, struct ks_str reason)
{
	struct ks_arena *arena = &request->arena;
	const char *why = refusal(arena, a);

	if (reason.n)
		why = ks_arena_printf(arena, "%s: %.*s", why, (int)reason.n, reason.p);
	if (!why)
		why = "the request is not allowed";
	if (a->is_resource) {
		ks_status_forbidden(&request->status, arena, text_of(arena, a->group), text_of(arena, a->resource), ks_str_of_view(a->name), why);
		return;
	}
	ks_status_set(&request->status, arena, 403, "Forbidden", "forbidden: %s", why);
	request->status.has_details = true;
}
