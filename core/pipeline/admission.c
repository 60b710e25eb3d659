/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/admission.h"

#include "core/pipeline/chain.h"
#include "core/pipeline/server.h"
#include "core/pipeline/user.h"
#include "core/util/log.h"

/* -- who is asked ---------------------------------------------------------------------------------------------- */

static size_t operation_slot(enum ks_operation operation)
{
	return (size_t)__builtin_ctz((unsigned)operation) & 3;
}

/* Bits of the controllers that want to see it in any phase. */
static uint64_t matching(const struct ks_admission *a)
{
	const struct ks_chain *chain = a->request->chain;
	const struct ks_schema *schema = a->request->server->schema;

	if (!chain || chain->schema != schema || a->resource >= schema->n_resources)
		return 0;
	return chain->matches[(size_t)a->resource * 4 + operation_slot(a->operation)] & (a->dry_run ? ~chain->no_dry_run : UINT64_MAX);
}

bool ks_admission_wanted(const struct ks_admission *admission)
{
	return matching(admission) != 0;
}

/* -- what they are told ---------------------------------------------------------------------------------------- */

static struct ks_view text(const struct ks_schema *schema, uint32_t offset)
{
	const char *s = ks_schema_text(schema, offset);

	return (struct ks_view){s, strlen(s)};
}

/* "pods/status" into its two halves. */
static void name_resource(struct ks_admission_request *view, const struct ks_schema *schema, const struct ks_resource *resource)
{
	const char *slash;

	view->group = text(schema, resource->group);
	view->version = text(schema, resource->version);
	view->kind = text(schema, resource->kind);
	view->resource = text(schema, resource->resource);
	slash = memchr(view->resource.p, '/', view->resource.n);
	if (!slash)
		return;
	view->subresource = (struct ks_view){slash + 1, view->resource.n - (size_t)(slash + 1 - view->resource.p)};
	view->resource.n = (size_t)(slash - view->resource.p);
}

static bool make_view(struct ks_admission *a)
{
	const struct ks_schema *schema = a->request->server->schema;

	if (!a->viewed && !ks_user_view(&a->request->arena, &a->request->user, &a->user))
		return false;
	a->viewed = true;
	a->view = (struct ks_admission_request){
		.size = sizeof(a->view),
		.operation = (uint32_t)a->operation,
		.user = &a->user,
		.namespace_ = ks_view_of(a->ns),
		.name = ks_view_of(a->name),
		.object = ks_val_of(schema, a->object),
		.old_object = ks_val_of(schema, a->old),
		.options = ks_val_of(schema, a->options),
		.dry_run = a->dry_run,
	};
	name_resource(&a->view, schema, &schema->resources[a->resource]);
	return true;
}

/* -- what they say --------------------------------------------------------------------------------------------- */

static const char *dup(struct ks_arena *arena, struct ks_view v)
{
	const char *copy = ks_arena_dup(arena, v.p ? v.p : "", v.n);

	return copy ? copy : "";
}

static const char *reason_of(int code)
{
	static const struct {
		int code;
		const char *reason;
	} reasons[] = {
		{400, "BadRequest"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "NotFound"},
		{405, "MethodNotAllowed"},
		{406, "NotAcceptable"},
		{409, "Conflict"},
		{410, "Gone"},
		{413, "RequestEntityTooLarge"},
		{415, "UnsupportedMediaType"},
		{422, "Invalid"},
		{429, "TooManyRequests"},
		{500, "InternalError"},
		{503, "ServiceUnavailable"},
		{504, "Timeout"},
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].code == code)
			return reasons[i].reason;
	return code >= 500 ? "InternalError" : "Forbidden";
}

/* The name that a refusal tells: the object may not have got one yet. */
static struct ks_str name_of(const struct ks_admission *a)
{
	const struct ks_schema *schema = a->request->server->schema;
	struct ks_str name = a->name;

	if (name.n == 0 && a->object)
		name = ks_value_str(ks_value_at(schema, a->object, "metadata.name"));
	if (name.n == 0 && a->object)
		name = ks_value_str(ks_value_at(schema, a->object, "metadata.generateName"));
	return name.n ? name : KS_STR_LIT("Unknown");
}

/* The denial may be about another object than the one under review: a namespace that is missing. */
static void name_the_other(const struct ks_admission_result *answer, struct ks_status *status, struct ks_arena *arena)
{
	struct ks_str name = ks_str_of_view(answer->about_name);

	if (status->code == 404 && !answer->message.n) {
		ks_status_not_found(status, arena, dup(arena, answer->about_group), dup(arena, answer->about_resource), name);
		return;
	}
	status->has_details = true;
	status->group = answer->about_group.n ? dup(arena, answer->about_group) : NULL;
	status->kind = dup(arena, answer->about_resource);
	status->name = dup(arena, answer->about_name);
}

static void add_causes(struct ks_admission *a)
{
	const struct ks_admission_result *answer = &a->answer;
	struct ks_arena *arena = &a->request->arena;

	for (size_t i = 0; i < answer->n_causes; i++) {
		const struct ks_admission_cause *cause = &answer->causes[i];

		ks_status_cause(&a->request->status, arena, cause->reason.n ? dup(arena, cause->reason) : NULL,
			cause->field.n ? dup(arena, cause->field) : NULL, "%s", dup(arena, cause->message));
	}
}

/* A controller that tells causes alone: the same words as of validation. */
static int deny_invalid(struct ks_admission *a)
{
	struct ks_arena *arena = &a->request->arena;

	ks_status_invalid(&a->request->status, arena, dup(arena, a->view.group), dup(arena, a->view.kind), name_of(a));
	add_causes(a);
	ks_status_invalid_finish(&a->request->status, arena);
	return KS_ERR;
}

static int deny(struct ks_admission *a)
{
	const struct ks_admission_result *answer = &a->answer;
	struct ks_arena *arena = &a->request->arena;
	struct ks_status *status = &a->request->status;
	const char *message = dup(arena, answer->message), *resource = dup(arena, a->view.resource), *group = dup(arena, a->view.group);

	if (answer->code == 422 && answer->message.n == 0 && answer->n_causes)
		return deny_invalid(a);
	ks_status_forbidden(status, arena, group, resource, name_of(a), message);
	if (answer->code != 0) {
		status->code = answer->code >= 400 && answer->code < 600 ? answer->code : 403;
		status->message = message;
		status->reason = reason_of(status->code);
	}
	if (answer->reason.n)
		status->reason = dup(arena, answer->reason);
	if (answer->about_resource.n)
		name_the_other(answer, status, arena);
	add_causes(a);
	return KS_ERR;
}

static int take_answer(struct ks_admission *a, int result)
{
	struct ks_request *request = a->request;
	struct ks_instance *instance = ks_plugin_set_at(request->set, KS_STAGE_ADMISSION, a->asking);
	const char *error = a->call.op.error ? a->call.op.error : "no reason given";

	if (result != KS_DONE) {
		ks_log(KS_LOG_ERROR, "admission", "%s failed: %s audit-id=%s", ks_instance_name(instance), error, request->audit_id);
		ks_status_internal(&request->status, &request->arena, "admission controller %s failed: %s", ks_instance_name(instance), error);
		return KS_ERR;
	}
	for (size_t i = 0; i < a->answer.n_warnings; i++)
		ks_request_warn(request, ks_str_of_view(a->answer.warnings[i]));
	return a->answer.allowed == 1 ? KS_DONE : deny(a);
}

/* -- the loop -------------------------------------------------------------------------------------------------- */

static int call_next(struct ks_admission *a)
{
	struct ks_instance *instance;

	a->asking = (size_t)__builtin_ctzll(a->left);
	a->left &= a->left - 1;
	instance = ks_plugin_set_at(a->request->set, KS_STAGE_ADMISSION, a->asking);
	if (!make_view(a)) {
		ks_status_internal(&a->request->status, &a->request->arena, "out of memory");
		return KS_ERR_NOMEM;
	}
	if (!(ks_instance_flags(instance) & KS_ADMISSION_NEEDS_OLD) && a->object)
		a->view.old_object = (struct ks_val){0};
	a->invocation = (struct ks_admission_call){
		.request = &a->view, .result = &a->answer, .object = a->mutating ? a->object : NULL, .mutate = a->mutating};
	a->call.op.edited = false;
	return ks_call_await(&a->call, ks_admission_call(instance, &a->call.op, &a->invocation));
}

/* Goes on with the result of the call that was pending, or KS_DONE to begin. */
static int go_on(struct ks_admission *a)
{
	int result = KS_DONE;

	while (a->left && result == KS_DONE) {
		result = call_next(a);
		if (result == KS_PENDING)
			return KS_PENDING;
		if (result != KS_ERR_NOMEM || a->viewed)
			result = take_answer(a, result);
	}
	return result;
}

/* A pending call has been answered. */
static void came(struct ks_call *call)
{
	struct ks_admission *a = (struct ks_admission *)((char *)call - offsetof(struct ks_admission, call));
	int result = KS_ERR;

	call->came = false;
	if (!ks_request_over(a->request))
		result = take_answer(a, call->result);
	if (result == KS_DONE)
		result = go_on(a);
	if (result == KS_PENDING)
		return;
	a->result = result;
	a->finished = true;
	if (a->done) {
		a->under_way = false;
		a->done(a);
	} else {
		ks_request_resume(a->request);
	}
}

static int start(struct ks_admission *a, bool mutating, uint64_t who)
{
	if (a->under_way) {
		if (!a->finished)
			return KS_PENDING;
		a->under_way = false;
		return a->result;
	}
	a->left = matching(a) & who;
	if (!a->left)
		return KS_DONE;
	if (!a->call.request)
		ks_call_init(&a->call, a->request, came);
	a->mutating = mutating;
	a->finished = false;
	a->result = go_on(a);
	a->under_way = a->result == KS_PENDING;
	return a->result;
}

void ks_admission_init(struct ks_admission *admission, struct ks_request *request, enum ks_operation operation, uint16_t resource,
	void (*done)(struct ks_admission *admission))
{
	*admission = (struct ks_admission){.request = request, .operation = operation, .resource = resource, .done = done};
}

int ks_admission_mutate(struct ks_admission *admission)
{
	return start(admission, true, admission->request->chain ? admission->request->chain->mutates : 0);
}

int ks_admission_validate(struct ks_admission *admission)
{
	return start(admission, false, admission->request->chain ? admission->request->chain->validates : 0);
}

void ks_admission_fini(struct ks_admission *admission)
{
	if (admission->call.request)
		ks_call_fini(&admission->call);
	admission->call.request = NULL;
}
