/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes an object out of the store that can't be read any more. Nobody knows what finalizers it had, and admission
 * could not see it: that is why a permission of its own is needed, and why an object that can be read is not touched.
 *
 *     may he? -> what stands there -> can't it be read? -> out with it
 */
#include "core/api/json.h"
#include "core/pipeline/chain.h"
#include "core/pipeline/resource/delete.h"
#include "core/pipeline/user.h"

#define VERB "unsafe-delete-ignore-read-errors"

enum { MOST_TRIES = 20 };

struct corrupt {
	struct ks_store_read read;
	unsigned tries;
	struct ks_request_end end;
};

static enum ks_stage_result step_authorize(struct ks_edit *w);
static enum ks_stage_result step_read(struct ks_edit *w);
static enum ks_stage_result step_judge(struct ks_edit *w);
static enum ks_stage_result step_deleted(struct ks_edit *w);

static struct corrupt *corrupt_of(struct ks_edit *w)
{
	return w->data;
}

static void end_corrupt(struct ks_request_end *end)
{
	struct corrupt *c = (struct corrupt *)((char *)end - offsetof(struct corrupt, end));

	ks_bytes_unref(c->read.value);
	ks_buf_fini(&c->read.key);
}

enum ks_stage_result ks_corrupt_begin(struct ks_edit *w)
{
	struct corrupt *c = ks_arena_zalloc(&w->request->arena, 1, sizeof(*c));

	if (!c) {
		ks_edit_out_of_memory(w);
		return KS_STAGE_FAILED;
	}
	ks_buf_init(&c->read.key);
	w->data = c;
	ks_request_on_end(w->request, &c->end, end_corrupt);
	return ks_edit_next(w, step_authorize);
}

/* -- who asks ----------------------------------------------------------------------------------------------------- */

static void refuse(struct ks_edit *w)
{
	char *why = ks_arena_printf(&w->request->arena, "not permitted to do \"" VERB "\", reason: %.*s", (int)w->authorize.reason.n,
		w->authorize.reason.n ? w->authorize.reason.p : "");

	ks_status_forbidden(&w->request->status, &w->request->arena, ks_edit_group(w), ks_edit_resource(w), w->ctx.name, why ? why : "");
}

static enum ks_stage_result step_authorize(struct ks_edit *w)
{
	if (!w->asked) {
		if (!ks_user_view(&w->request->arena, &w->request->user, &w->user)) {
			ks_edit_out_of_memory(w);
			return KS_STAGE_FAILED;
		}
		ks_authorize_init(&w->authorize, w->request);
		ks_authorization_attributes(w->request, &w->user, &w->authorize.attributes);
		w->authorize.attributes.verb = (struct ks_view){VERB, sizeof(VERB) - 1};
		w->asked = true;
	}
	if (ks_authorize_run(&w->authorize) == KS_PENDING)
		return KS_STAGE_PENDING;
	if (w->authorize.decision != KS_AUTHORIZE_ALLOWED) {
		refuse(w);
		return KS_STAGE_FAILED;
	}
	return ks_edit_next(w, step_read);
}

/* -- what stands there -------------------------------------------------------------------------------------------- */

static void on_read(struct ks_store_read *read)
{
	struct ks_edit *w = read->arg;

	ks_request_resume(w->request);
	ks_request_unpin(w->request);
}

static enum ks_stage_result step_read(struct ks_edit *w)
{
	struct corrupt *c = corrupt_of(w);
	struct ks_buf key = c->read.key;

	if (!w->store) {
		ks_edit_not_found(w, w->ctx.name);
		return KS_STAGE_FAILED;
	}
	ks_bytes_unref(c->read.value);
	ks_buf_clear(&key);
	ks_store_key(&key, w->schema, w->storage, w->ctx.ns, w->ctx.name);
	c->read = (struct ks_store_read){.loop = w->request->loop, .key = key, .done = on_read, .arg = w};
	w->step = step_judge;
	ks_request_pin(w->request);
	ks_store_read_start(w->store, &c->read);
	return KS_STAGE_PENDING;
}

static bool can_be_read(struct ks_edit *w)
{
	struct corrupt *c = corrupt_of(w);
	struct ks_error err = {""};
	struct ks_object *object = c->read.found ? ks_object_from_json(w->schema, w->storage, c->read.value, &err) : NULL;
	bool good = !c->read.found || (object && ks_str_eq(object->ns, w->ctx.ns) && ks_str_eq(object->name, w->ctx.name));

	ks_object_unref(object);
	return good;
}

static enum ks_stage_result refuse_readable(struct ks_edit *w)
{
	struct ks_status *status = &w->request->status;

	ks_status_invalid(status, &w->request->arena, ks_edit_group(w), ks_edit_resource(w), w->ctx.name);
	ks_status_cause(status, &w->request->arena, "FieldValueInvalid", "ignoreStoreReadErrorWithClusterBreakingPotential",
		"Invalid value: true: is exclusively used to delete corrupt object(s), try again by removing this option");
	ks_status_invalid_finish(status, &w->request->arena);
	return KS_STAGE_FAILED;
}

/* -- out with it -------------------------------------------------------------------------------------------------- */

static void on_deleted(struct ks_store_call *call)
{
	struct ks_edit *w = call->arg;

	ks_request_resume(w->request);
	ks_request_unpin(w->request);
}

static enum ks_stage_result step_judge(struct ks_edit *w)
{
	struct corrupt *c = corrupt_of(w);
	struct ks_buf key = w->call.key;

	if (c->read.result < 0) {
		ks_status_internal(&w->request->status, &w->request->arena, "the store could not be read");
		return KS_STAGE_FAILED;
	}
	if (can_be_read(w))
		return refuse_readable(w);
	memset(&w->call, 0, sizeof(w->call));
	ks_buf_clear(&key);
	ks_store_key(&key, w->schema, w->storage, w->ctx.ns, w->ctx.name);
	w->call.key = key;
	w->call.loop = w->request->loop;
	w->call.expected = c->read.mod_revision;
	w->call.done = on_deleted;
	w->call.arg = w;
	w->step = step_deleted;
	ks_request_pin(w->request);
	ks_store_write_start(w->store, &w->call);
	return KS_STAGE_PENDING;
}

static enum ks_stage_result answer(struct ks_edit *w)
{
	struct ks_buf json;

	ks_buf_init(&json);
	ks_buf_add_str(&json, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\",\"details\":{\"name\":");
	ks_json_encode_string(w->ctx.name, &json);
	ks_buf_printf(&json, ",\"kind\":\"%s\"},\"code\":200}\n", ks_edit_kind(w));
	if (json.failed) {
		ks_buf_fini(&json);
		ks_edit_out_of_memory(w);
		return KS_STAGE_FAILED;
	}
	ks_request_respond_json(w->request, 200, &json);
	return KS_STAGE_ANSWERED;
}

static enum ks_stage_result step_deleted(struct ks_edit *w)
{
	switch (w->call.outcome) {
	case KS_WRITE_COMMITTED:
	case KS_WRITE_NOT_FOUND:
		return answer(w);
	case KS_WRITE_LOST_RACE:
		ks_bytes_unref(w->call.current);
		w->call.current = NULL;
		if (++corrupt_of(w)->tries < MOST_TRIES)
			return ks_edit_next(w, step_read);
		break;
	default:
		break;
	}
	ks_status_internal(&w->request->status, &w->request->arena, "the store could not carry out the write");
	return KS_STAGE_FAILED;
}
