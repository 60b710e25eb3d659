/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* May they. The authorizers are asked in order; the first opinion wins, the end of the chain denies. */
#include "core/api/quote.h"
#include "core/pipeline/authorize.h"
#include "core/pipeline/chain.h"
#include "core/pipeline/user.h"
#include "plugins/host/host.h"

/* In the request's arena. */
struct authorization {
	struct ks_authorize authorize;
	struct ks_user user;
};

static bool has_selectors(const struct ks_request_info *info)
{
	return info->is_resource && !info->watch_prefix &&
		(ks_str_is(info->verb, "list") || ks_str_is(info->verb, "watch") || ks_str_is(info->verb, "deletecollection"));
}

void ks_authorization_attributes(struct ks_request *request, const struct ks_user *user, struct ks_authz_attributes *out_r)
{
	const struct ks_request_info *info = &request->info;

	*out_r = (struct ks_authz_attributes){
		.size = sizeof(*out_r),
		.user = user,
		.verb = ks_view_of(info->verb),
		.is_resource = info->is_resource,
		.group = ks_view_of(info->group),
		.version = ks_view_of(info->version),
		.resource = ks_view_of(info->resource),
		.subresource = ks_view_of(info->subresource),
		.namespace_ = ks_view_of(info->ns),
		.name = ks_view_of(info->name),
		.path = ks_view_of(info->path),
	};
	if (has_selectors(info) && request->raw_query.n && memmem(request->raw_query.p, request->raw_query.n, "Selector", 8)) {
		out_r->label_selector = ks_view_of(ks_request_query(request, "labelSelector"));
		out_r->field_selector = ks_view_of(ks_request_query(request, "fieldSelector"));
	}
}

static struct authorization *begin(struct ks_request *request)
{
	struct authorization *a = ks_arena_zalloc(&request->arena, 1, sizeof(*a));

	if (!a || !ks_user_view(&request->arena, &request->user, &a->user))
		return NULL;
	ks_authorize_init(&a->authorize, request);
	ks_authorization_attributes(request, &a->user, &a->authorize.attributes);
	return a;
}

/* Nobody allowed it, and one that might have could not tell. */
static enum ks_stage_result fail(struct ks_request *request, const char *error)
{
	const char *target = ks_quote(&request->arena, request->target);
	const char *text = ks_arena_printf(&request->arena, "Internal Server Error: %s: %s\n", target ? target : "", error ? error : "out of memory");
	const char *safe = text ? ks_authorize_sanitize(&request->arena, ks_str_from(text)) : NULL;

	ks_request_respond_text(request, 500, safe ? safe : "Internal Server Error\n");
	return KS_STAGE_ANSWERED;
}

static enum ks_stage_result conclude(struct ks_request *request, const struct ks_authorize *a)
{
	switch (a->decision) {
	case KS_AUTHORIZE_ALLOWED:
		return KS_STAGE_NEXT;
	case KS_AUTHORIZE_FAILED:
		return fail(request, a->error);
	case KS_AUTHORIZE_DENIED:
		break;
	}
	ks_authorize_refuse(request, &a->attributes, a->reason);
	return KS_STAGE_FAILED;
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
	if (ks_authorize_run(&a->authorize) == KS_PENDING)
		return KS_STAGE_PENDING;
	stage = conclude(request, &a->authorize);
	ks_authorize_fini(&a->authorize);
	request->stage_data = NULL;
	return stage;
}
