/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/delete.h"

#include "core/api/json.h"
#include "core/pipeline/resource/reply.h"
#include "core/registry/meta.h"

static enum ks_stage_result step_decide(struct ks_edit *w);
static enum ks_stage_result step_judge(struct ks_edit *w);
static enum ks_stage_result step_admit(struct ks_edit *w);
static enum ks_stage_result step_mutate(struct ks_edit *w);
static enum ks_stage_result step_validate(struct ks_edit *w);
static enum ks_stage_result step_commit(struct ks_edit *w);

static int conflict(struct ks_edit *w, const char *why)
{
	return ks_status_conflict(&w->request->status, &w->request->arena, ks_edit_group(w), ks_edit_kind(w), w->ctx.name, why ? why : "");
}

/* Namespaces have words of their own, since upstream deletes them in code of their own. */
static int conflict_of_namespace(struct ks_edit *w, const char *what, struct ks_str asked, struct ks_str has)
{
	char *why = ks_arena_printf(&w->request->arena, "Precondition failed: %s in precondition: %.*s, %s in object meta: %.*s", what,
		(int)asked.n, asked.p, what, (int)has.n, has.p);

	return ks_status_conflict(&w->request->status, &w->request->arena, ks_edit_group(w), ks_edit_resource(w), w->ctx.name, why ? why : "");
}

static bool is_namespace(const struct ks_edit *w)
{
	return !strcmp(ks_edit_resource(w), "namespaces") && !ks_edit_group(w)[0];
}

static int check_preconditions(struct ks_edit *w)
{
	const struct ks_delete_options *o = &w->delete_options;
	struct ks_str uid = w->current->uid, revision = ks_meta_text(w->schema, &w->old, "resourceVersion");

	if (o->has_uid && !ks_str_eq(o->uid, uid)) {
		if (is_namespace(w))
			return conflict_of_namespace(w, "UID", o->uid, uid);
		return conflict(w, ks_arena_printf(&w->request->arena, "the UID in the precondition (%.*s) does not match the UID in record (%.*s). The "
			"object might have been deleted and then recreated", (int)o->uid.n, o->uid.p, (int)uid.n, uid.p));
	}
	if (o->has_resource_version && !ks_str_eq(o->resource_version, revision)) {
		if (is_namespace(w))
			return conflict_of_namespace(w, "ResourceVersion", o->resource_version, revision);
		return conflict(w, ks_arena_printf(&w->request->arena, "the ResourceVersion in the precondition (%.*s) does not match the "
			"ResourceVersion in record (%.*s). The object might have been modified", (int)o->resource_version.n, o->resource_version.p,
			(int)revision.n, revision.p));
	}
	return 0;
}

enum ks_stage_result ks_delete_begin(struct ks_edit *w)
{
	if (w->cache && !w->current)
		w->current = ks_cache_get(w->cache, w->ctx.ns, w->ctx.name);
	w->again = step_decide;
	w->step = step_decide;
	return KS_STAGE_NEXT;
}

/* Whoever leaves words has them seen: they are written before the object goes. */
static int take_last_words(struct ks_edit *w)
{
	if (!w->last_words || w->delete_options.dry_run)
		return 0;
	if (!w->last_words(w))
		return ks_edit_out_of_memory(w);
	if (w->removal == KS_DELETE_REMOVE)
		w->removal = KS_DELETE_UPDATE_REMOVE;
	else if (w->removal == KS_DELETE_PENDING)
		w->removal = KS_DELETE_UPDATE;
	return 0;
}

static enum ks_stage_result step_decide(struct ks_edit *w)
{
	if (w->rounds++)
		ks_edit_end_round(w);
	w->removed = w->then_remove = false;
	if (!w->current) {
		ks_edit_not_found(w, w->ctx.name);
		return KS_STAGE_FAILED;
	}
	return ks_edit_compute(w, step_judge);
}

static enum ks_stage_result step_judge(struct ks_edit *w)
{
	if (ks_edit_decode_old(w) || check_preconditions(w))
		return KS_STAGE_FAILED;
	if (!ks_value_copy(&w->round, &w->old, &w->object)) {
		ks_edit_out_of_memory(w);
		return KS_STAGE_FAILED;
	}
	if (ks_str_is(w->request->info.verb, "delete") && ks_registry_may_delete(&w->ctx, &w->object, &w->request->status))
		return KS_STAGE_FAILED;
	w->removal = ks_registry_delete(&w->ctx, &w->object, &w->delete_options.policy);
	w->revision = w->current->revision;
	if (take_last_words(w))
		return KS_STAGE_FAILED;
	if (w->removal == KS_DELETE_PENDING)
		return ks_edit_compute(w, w->answer);
	return ks_edit_next(w, w->admitted ? step_commit : step_admit);
}

static enum ks_stage_result step_admit(struct ks_edit *w)
{
	w->admitting = true;
	ks_admission_init(&w->admission, w->request, KS_OPERATION_DELETE, w->target, NULL);
	w->admission.ns = w->ctx.ns;
	w->admission.name = w->ctx.name;
	w->admission.old = &w->old;
	w->admission.options = ks_value_present(&w->delete_options.value) ? &w->delete_options.value : NULL;
	w->admission.dry_run = w->delete_options.dry_run;
	return ks_edit_next(w, step_mutate);
}

static enum ks_stage_result step_mutate(struct ks_edit *w)
{
	int result = ks_admission_mutate(&w->admission);

	if (result == KS_PENDING)
		return KS_STAGE_PENDING;
	w->step = step_validate;
	return result == KS_DONE ? KS_STAGE_NEXT : KS_STAGE_FAILED;
}

static enum ks_stage_result step_validate(struct ks_edit *w)
{
	int result = ks_admission_validate(&w->admission);

	if (result == KS_PENDING)
		return KS_STAGE_PENDING;
	w->step = step_commit;
	return result == KS_DONE ? KS_STAGE_NEXT : KS_STAGE_FAILED;
}

static enum ks_stage_result step_commit(struct ks_edit *w)
{
	w->removed = w->removal == KS_DELETE_REMOVE;
	w->then_remove = w->removal == KS_DELETE_UPDATE_REMOVE;
	return ks_edit_compute(w, ks_edit_commit);
}

/* -- the verb ----------------------------------------------------------------------------------------------------- */

static void add_member(struct ks_buf *out, const char *name, struct ks_str text)
{
	ks_buf_printf(out, "%s\"%s\":", out->data[out->len - 1] == '{' ? "" : ",", name);
	ks_json_encode_string(text, out);
}

/* What was deleted, in the details. This Status has no code. */
static enum ks_stage_result answer_success(struct ks_edit *w)
{
	struct ks_buf json;

	ks_buf_init(&json);
	ks_buf_add_str(&json, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\",\"details\":{");
	if (json.failed)
		goto failed;
	add_member(&json, "name", w->ctx.name);
	if (ks_edit_group(w)[0])
		add_member(&json, "group", ks_str_from(ks_edit_group(w)));
	add_member(&json, "kind", ks_str_from(ks_edit_resource(w)));
	add_member(&json, "uid", w->current->uid);
	ks_buf_add_str(&json, "}}\n");
	if (json.failed)
		goto failed;
	ks_request_respond_json(w->request, 200, &json);
	return KS_STAGE_ANSWERED;
failed:
	ks_buf_fini(&json);
	ks_edit_out_of_memory(w);
	return KS_STAGE_FAILED;
}

/* The object as it was when it went, with the revision of its end. */
static enum ks_stage_result answer_removed(struct ks_edit *w)
{
	char *revision = ks_arena_printf(&w->request->arena, "%llu", (unsigned long long)w->revision);

	if (!revision || !ks_meta_set_text(&w->round, w->schema, &w->object, "resourceVersion", ks_str_from(revision))) {
		ks_edit_out_of_memory(w);
		return KS_STAGE_FAILED;
	}
	return ks_reply_tree(w->request, 200, &w->object);
}

static enum ks_stage_result answer(struct ks_edit *w)
{
	bool shows = w->ctx.strategy->flags & KS_STRATEGY_RETURNS_DELETED;
	bool gone = w->removal == KS_DELETE_REMOVE || w->removal == KS_DELETE_UPDATE_REMOVE;
	int code = !gone && w->delete_options.policy.orphan_dependents == 0 ? 202 : 200;

	if (w->removal == KS_DELETE_PENDING)
		return shows ? ks_reply_tree(w->request, code, &w->old) : answer_success(w);
	if (gone && !shows)
		return answer_success(w);
	if (gone)
		return answer_removed(w);
	if (w->delete_options.dry_run)
		return ks_reply_tree(w->request, code, &w->object);
	return ks_reply_object(w->request, code, w->finished, w->resource, w->revision);
}

static enum ks_stage_result read_request(struct ks_edit *w)
{
	enum ks_stage_result body = ks_request_need_body(w->request);

	if (body != KS_STAGE_NEXT)
		return body;
	if (ks_delete_options_parse(w->request, &w->delete_options))
		return KS_STAGE_FAILED;
	w->ctx.dry_run = w->delete_options.dry_run;
	w->answer = answer;
	w->may_leave = !w->delete_options.ignore_read_errors;
	w->step = w->delete_options.ignore_read_errors ? ks_corrupt_begin : ks_delete_begin;
	return KS_STAGE_NEXT;
}

enum ks_stage_result ks_resource_delete(struct ks_request *request)
{
	struct ks_edit *w;

	if (ks_request_negotiate(request, KS_ALLOW_PARTIAL | KS_ALLOW_TABLE))
		return KS_STAGE_FAILED;
	w = ks_edit_new(request, read_request);
	return w ? ks_edit_run(w) : KS_STAGE_FAILED;
}
