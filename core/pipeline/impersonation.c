/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The user of the rest of the chain may be another one, if the one who asks is allowed to be them. */
#include "core/pipeline/impersonation.h"

#include "core/pipeline/authorize.h"
#include "core/pipeline/chain.h"
#include "core/pipeline/lane.h"
#include "core/pipeline/user.h"
#include "core/util/log.h"
#include "plugins/host/host.h"

/* In the request's arena. */
struct impersonation {
	struct ks_authorize authorize;
	struct ks_user_info wanted, narrowed;
	struct ks_user user, node_agent; /* the one who asks, as authorizers see them */
	size_t way, index;
	struct ks_status first; /* why the first way that was tried was refused; code 0: none was */
	bool asked; /* an answer is awaited */
};

static bool has_headers(const struct ks_request *request)
{
	const struct ks_http_request *http = ks_stream_request(request->stream);

	for (size_t i = 0; i < http->n_headers; i++)
		if (ks_str_starts(http->headers[i].name, KS_STR_LIT("impersonate-")))
			return true;
	return false;
}

static enum ks_stage_result out_of_memory(struct ks_request *request)
{
	ks_status_internal(&request->status, &request->arena, "out of memory");
	return KS_STAGE_FAILED;
}

/* 1: somebody is asked for; 0: nobody; negative: status is set. */
static int begin(struct ks_request *request, struct impersonation **out_r)
{
	struct impersonation *im = ks_arena_zalloc(&request->arena, 1, sizeof(*im));
	int rc;

	if (!im) {
		out_of_memory(request);
		return -1;
	}
	rc = ks_impersonation_headers(request, &im->wanted);
	if (rc <= 0)
		return rc;
	if (!ks_user_view(&request->arena, &request->user, &im->user) ||
		!ks_impersonation_requestor(&request->arena, &request->user, &im->narrowed) ||
		!ks_user_view(&request->arena, &im->narrowed, &im->node_agent)) {
		out_of_memory(request);
		return -1;
	}
	ks_authorize_init(&im->authorize, request);
	*out_r = im;
	return 1;
}

/* This way is closed: the refusal of the first one is what the client is told. */
static void close_way(struct ks_request *request, struct impersonation *im, struct ks_str reason)
{
	ks_authorize_refuse(request, &im->authorize.attributes, reason);
	if (im->first.code == 0)
		im->first = request->status;
	request->status = (struct ks_status){0};
	im->way++;
	im->index = 0;
}

static struct ks_str why(struct ks_request *request, const struct ks_authorize *a)
{
	if (a->decision != KS_AUTHORIZE_FAILED || !a->error)
		return a->reason;
	if (!a->reason.n)
		return ks_str_from(a->error);
	return ks_str_from(ks_arena_printf(&request->arena, "%s: %.*s", a->error, (int)a->reason.n, a->reason.p));
}

/* Asks one question, or takes its answer. KS_STAGE_NEXT: all of this way's questions have been allowed. KS_STAGE_FAILED: go on with
 * the next way or question. KS_STAGE_PENDING. */
static enum ks_stage_result ask(struct ks_request *request, struct impersonation *im)
{
	struct ks_authorize *a = &im->authorize;
	const char *reason = "";
	int rc = 1;

	if (!im->asked) {
		ks_authorization_attributes(request, im->way == KS_AS_ASSOCIATED_NODE ? &im->node_agent : &im->user, &a->attributes);
		rc = ks_impersonation_question(&request->arena, (enum ks_impersonation_way)im->way, &im->wanted, im->index, &a->attributes, &reason);
	}
	if (rc == 0)
		return KS_STAGE_NEXT;
	if (rc < 0) {
		close_way(request, im, ks_str_from(reason));
		return KS_STAGE_FAILED;
	}
	im->asked = ks_authorize_run(a) == KS_PENDING;
	if (im->asked)
		return KS_STAGE_PENDING;
	if (a->decision == KS_AUTHORIZE_ALLOWED)
		im->index++;
	else
		close_way(request, im, why(request, a));
	return KS_STAGE_FAILED;
}

static enum ks_stage_result find_way(struct ks_request *request, struct impersonation *im)
{
	enum ks_stage_result stage;

	while (im->way < KS_N_IMPERSONATION_WAYS) {
		if (!ks_impersonation_applies((enum ks_impersonation_way)im->way, &request->user, &im->wanted)) {
			im->way++;
			continue;
		}
		stage = ask(request, im);
		if (stage != KS_STAGE_FAILED)
			return stage;
	}
	request->status = im->first;
	return KS_STAGE_FAILED;
}

static enum ks_stage_result become(struct ks_request *request, struct impersonation *im)
{
	struct ks_user_info user;

	if (!ks_impersonation_user(&request->arena, (enum ks_impersonation_way)im->way, &im->wanted, &user))
		return out_of_memory(request);
	ks_log(KS_LOG_DEBUG, "authn", "%.*s is impersonating %.*s audit-id=%s", (int)request->user.name.n, request->user.name.p, (int)user.name.n,
		user.name.p, request->audit_id);
	request->user = user;
	return KS_STAGE_NEXT;
}

enum ks_stage_result ks_stage_impersonation(struct ks_request *request)
{
	struct impersonation *im = request->stage_data;
	enum ks_stage_result stage;
	int rc;

	if (!im) {
		if (request->inner || !has_headers(request))
			return KS_STAGE_NEXT;
		rc = begin(request, &im);
		if (rc <= 0)
			return rc == 0 ? KS_STAGE_NEXT : KS_STAGE_FAILED;
		request->stage_data = im;
	}
	stage = find_way(request, im);
	if (stage == KS_STAGE_PENDING)
		return stage;
	ks_authorize_fini(&im->authorize);
	request->stage_data = NULL;
	return stage == KS_STAGE_NEXT ? become(request, im) : stage;
}
