/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/write.h"

#include <time.h>

#include "core/api/apply/managed.h"
#include "core/pipeline/chain.h"
#include "core/pipeline/resource/reply.h"
#include "core/pipeline/resource/track.h"
#include "core/pipeline/user.h"
#include "core/registry/cause.h"
#include "core/registry/meta.h"

enum { MOST_ROUNDS = 200 };

static enum ks_stage_result step_decode(struct ks_edit *w);
static enum ks_stage_result step_change(struct ks_edit *w);
static enum ks_stage_result step_admit(struct ks_edit *w);
static enum ks_stage_result step_mutate(struct ks_edit *w);
static enum ks_stage_result step_complete(struct ks_edit *w);
static enum ks_stage_result step_authorize(struct ks_edit *w);
static enum ks_stage_result step_validate(struct ks_edit *w);

/* -- life --------------------------------------------------------------------------------------------------------- */

static void drop_round(struct ks_edit *w)
{
	ks_registry_rollback(&w->ctx);
	ks_object_unref(w->finished);
	w->finished = NULL;
}

static void end_admission(struct ks_edit *w)
{
	if (w->admitting)
		ks_admission_fini(&w->admission);
	w->admitting = false;
}

static void end_write(struct ks_request_end *end)
{
	struct ks_edit *w = (struct ks_edit *)((char *)end - offsetof(struct ks_edit, end));

	drop_round(w);
	ks_object_unref(w->current);
	ks_bytes_unref(w->call.current);
	ks_buf_fini(&w->call.key);
	ks_timer_cancel(&w->timer);
	ks_offload_fini_arena(w->request->server->offload, &w->round);
}

static void warn(void *arg, struct ks_str text)
{
	struct ks_edit *w = arg;

	if (!w->quiet)
		ks_request_warn(w->request, text);
}

static uint64_t unix_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Whatever the strategy waited for has come. */
static void on_outside(void *arg)
{
	struct ks_edit *w = arg;

	ks_request_resume(w->request);
	ks_request_unpin(w->request);
}

static struct ks_str subresource_of(const struct ks_request *request)
{
	return request->info.subresource;
}

static void fill_context(struct ks_edit *w)
{
	struct ks_request *request = w->request;

	w->ctx = (struct ks_registry_context){
		.schema = w->schema, .strategy = ks_registry_find(w->schema, w->resource), .arena = &w->round, .cache = request->server->cache,
		.config = request->server->config, .resource = w->resource, .subresource = subresource_of(request), .ns = request->info.ns,
		.name = request->info.name, .user = request->user.name, .user_uid = request->user.uid, .groups = request->user.groups,
		.n_groups = request->user.n_groups, .warn = warn, .warn_arg = w, .now_ms = unix_ms(),
		.pools = request->server->pools, .loop = request->loop, .resume = on_outside, .resume_arg = w,
	};
	if (w->schema->resources[w->resource].scope == KS_SCOPE_CLUSTER)
		w->ctx.ns = (struct ks_str){0};
}

static enum ks_stage_result run_again(struct ks_handler_run *handler)
{
	return ks_edit_run((struct ks_edit *)handler);
}

struct ks_edit *ks_edit_new(struct ks_request *request, ks_edit_step first)
{
	struct ks_edit *w = ks_arena_zalloc(&request->arena, 1, sizeof(*w));
	const struct ks_schema *schema = request->server->schema;

	if (!w) {
		ks_status_internal(&request->status, &request->arena, "out of memory");
		return NULL;
	}
	w->handler.run = run_again;
	w->request = request;
	w->step = first;
	request->handler_data = w;
	w->schema = schema;
	w->target = request->info.resource_index;
	w->resource = schema->resources[w->target].parent;
	w->storage = schema->resources[w->resource].storage;
	w->cache = ks_cache_find(request->server->cache, w->storage);
	w->store = ks_router_find(request->server->router, schema, w->storage);
	w->answer = ks_edit_answer_object;
	w->again = ks_edit_begin_round;
	ks_buf_init(&w->call.key);
	ks_arena_init(&w->round, 0);
	fill_context(w);
	ks_request_on_end(request, &w->end, end_write);
	return w;
}

void ks_edit_reset(struct ks_edit *w, struct ks_str ns, struct ks_str name)
{
	drop_round(w);
	ks_object_unref(w->current);
	w->current = NULL;
	end_admission(w);
	ks_arena_reset(&w->round);
	w->removed = w->unchanged = w->then_remove = w->creating = false;
	w->revision = 0;
	w->rounds = 0;
	fill_context(w);
	w->ctx.ns = ns;
	w->ctx.name = name;
}

void ks_edit_turn_to(struct ks_edit *w, uint16_t resource, struct ks_str ns, struct ks_str name)
{
	w->resource = resource;
	w->storage = w->schema->resources[resource].storage;
	w->cache = ks_cache_find(w->request->server->cache, w->storage);
	w->store = ks_router_find(w->request->server->router, w->schema, w->storage);
	ks_edit_reset(w, ns, name);
	w->ctx.subresource = (struct ks_str){0};
	w->ctx.dry_run = w->options.dry_run || w->delete_options.dry_run;
}

/* What a write of so many bytes costs, as bytes of JSON that are only decoded, checked and encoded. */
static size_t weight(const struct ks_edit *w)
{
	enum { JSON = 1, PATCH = 4, APPLY = 8 };
	const struct ks_request *request = w->request;
	size_t n = request->body.n + (w->current ? w->current->json->len : 0);

	if (n < KS_HEAVY_BYTES / APPLY)
		return n;
	if (ks_str_is(request->info.verb, "patch"))
		return n * (w->tracks ? PATCH : APPLY);
	return n * (request->body.n && request->body.p[0] != '{' ? APPLY : JSON);
}

static enum ks_stage_result compute(struct ks_request *copy, void *arg)
{
	struct ks_edit *w = arg;
	struct ks_request *request = w->request;
	enum ks_stage_result result;

	w->request = copy;
	do {
		result = w->step(w);
	} while (result == KS_STAGE_NEXT && w->computes);
	w->request = request;
	return result;
}

enum ks_stage_result ks_edit_run(struct ks_edit *w)
{
	enum ks_stage_result result = KS_STAGE_NEXT;

	if (ks_request_is_away(w->away))
		return KS_STAGE_PENDING;
	ks_away_take(w->away, &result);
	while (result == KS_STAGE_NEXT) {
		if (w->computes && w->may_leave && weight(w) >= KS_HEAVY_BYTES && ks_request_leave(w->request, &w->away, compute, w))
			return KS_STAGE_PENDING;
		result = w->step(w);
	}
	return result;
}

const char *ks_edit_group(const struct ks_edit *w)
{
	return ks_schema_text(w->schema, w->schema->resources[w->resource].group);
}

const char *ks_edit_resource(const struct ks_edit *w)
{
	return ks_schema_text(w->schema, w->schema->resources[w->resource].resource);
}

const char *ks_edit_kind(const struct ks_edit *w)
{
	return ks_schema_text(w->schema, w->schema->resources[w->resource].kind);
}

int ks_edit_out_of_memory(struct ks_edit *w)
{
	return ks_status_internal(&w->request->status, &w->request->arena, "out of memory");
}

int ks_edit_not_found(struct ks_edit *w, struct ks_str name)
{
	return ks_status_not_found(&w->request->status, &w->request->arena, ks_edit_group(w), ks_edit_resource(w), name);
}

/* -- load --------------------------------------------------------------------------------------------------------- */

int ks_edit_decode_old(struct ks_edit *w)
{
	memset(&w->old, 0, sizeof(w->old));
	if (!w->current)
		return 0;
	if (ks_object_tree(w->current, w->schema, &w->round, &w->old) ||
		ks_registry_convert(&w->round, w->schema, w->storage, w->resource, &w->old))
		return ks_status_internal(&w->request->status, &w->request->arena, "the stored object can't be decoded");
	return 0;
}

enum ks_stage_result ks_edit_load(struct ks_edit *w)
{
	if (!w->cache) {
		ks_edit_not_found(w, w->ctx.name);
		return KS_STAGE_FAILED;
	}
	if (!w->current)
		w->current = ks_cache_get(w->cache, w->ctx.ns, w->ctx.name);
	return ks_edit_next(w, ks_edit_begin_round);
}

void ks_edit_end_round(struct ks_edit *w)
{
	drop_round(w);
	end_admission(w);
	ks_arena_reset(&w->round);
	w->quiet = true;
}

enum ks_stage_result ks_edit_begin_round(struct ks_edit *w)
{
	if (w->rounds++)
		ks_edit_end_round(w);
	if (w->rounds > MOST_ROUNDS) {
		ks_status_conflict(&w->request->status, &w->request->arena, ks_edit_group(w), ks_edit_resource(w), w->ctx.name,
			"the object has been modified; please apply your changes to the latest version and try again");
		return KS_STAGE_FAILED;
	}
	w->removed = w->unchanged = w->then_remove = false;
	w->creating = !w->current;
	w->ctx.now_ms = unix_ms();
	return ks_edit_compute(w, step_decode);
}

static enum ks_stage_result step_decode(struct ks_edit *w)
{
	return ks_edit_decode_old(w) ? KS_STAGE_FAILED : ks_edit_compute(w, step_change);
}

/* -- change ------------------------------------------------------------------------------------------------------- */

static int check_uid(struct ks_edit *w)
{
	struct ks_str asked = ks_meta_text(w->schema, &w->object, "uid"), has = w->current->uid;
	struct ks_buf key;
	char *why;

	if (!asked.n || ks_str_eq(asked, has))
		return 0;
	ks_buf_init(&key);
	ks_store_key(&key, w->schema, w->storage, w->ctx.ns, w->ctx.name);
	why = ks_arena_printf(&w->request->arena, "StorageError: invalid object, Code: 4, Key: %.*s, ResourceVersion: 0, AdditionalErrorMsg: Precondition "
		"failed: UID in precondition: %.*s, UID in object meta: %.*s", (int)key.len, key.data, (int)asked.n, asked.p, (int)has.n, has.p);
	ks_buf_fini(&key);
	return ks_status_conflict(&w->request->status, &w->request->arena, ks_edit_group(w), ks_edit_resource(w), w->ctx.name, why ? why : "");
}

/* Who names no revision means the one that stands; else it must be that one. Sets the revision that validation wants to see. */
static int check_revision(struct ks_edit *w)
{
	struct ks_str text = ks_meta_text(w->schema, &w->object, "resourceVersion");
	struct ks_status *status = &w->request->status;
	struct ks_arena *arena = &w->request->arena;
	const char *message;
	uint64_t asked;

	if (ks_revision_of_object(arena, text, &asked, &message))
		return ks_status_set(status, arena, 500, NULL, "%s", message);
	if (!asked && (w->ctx.strategy->flags & KS_STRATEGY_NEEDS_REVISION)) {
		ks_status_invalid(status, arena, ks_edit_group(w), ks_edit_resource(w), w->ctx.name);
		ks_cause_invalid_int(status, arena, "metadata.resourceVersion", 0, "must be specified for an update");
		return ks_status_invalid_finish(status, arena);
	}
	if (asked && asked != w->current->revision)
		return ks_status_conflict(status, arena, ks_edit_group(w), ks_edit_resource(w), w->ctx.name,
			"the object has been modified; please apply your changes to the latest version and try again");
	if (!asked && !ks_meta_take(&w->round, w->schema, &w->object, &w->old, "resourceVersion"))
		return ks_edit_out_of_memory(w);
	return 0;
}

static int check_update(struct ks_edit *w)
{
	int code = ks_registry_begin_update(&w->ctx, &w->object, &w->request->status);

	if (code || w->creating)
		return code;
	code = w->request->info.verb.n && ks_str_is(w->request->info.verb, "update") ? check_uid(w) : 0;
	return code ? code : check_revision(w);
}

static int track(struct ks_edit *w)
{
	struct ks_tracked tracked = ks_edit_tracked(w);

	return ks_edit_track(w, &tracked);
}

static enum ks_stage_result step_change(struct ks_edit *w)
{
	bool is_create = ks_str_is(w->request->info.verb, "create");

	if (w->creating && !is_create && !w->may_create) {
		ks_edit_not_found(w, w->ctx.name);
		return KS_STAGE_FAILED;
	}
	if (w->change(w))
		return KS_STAGE_FAILED;
	if (!ks_registry_default(&w->ctx, &w->object)) {
		ks_edit_out_of_memory(w);
		return KS_STAGE_FAILED;
	}
	if (is_create ? ks_registry_begin_create(&w->ctx, &w->object, &w->request->status) : check_update(w))
		return KS_STAGE_FAILED;
	ks_registry_dedup_owners(&w->ctx, &w->object, false);
	if (w->tracks && track(w))
		return KS_STAGE_FAILED;
	return ks_edit_next(w, step_admit);
}

/* -- admission and validation --------------------------------------------------------------------------------------- */

static enum ks_stage_result step_admit(struct ks_edit *w)
{
	w->admitting = true;
	ks_admission_init(&w->admission, w->request, w->creating ? KS_OPERATION_CREATE : KS_OPERATION_UPDATE, w->target, NULL);
	w->admission.ns = w->ctx.ns;
	w->admission.name = w->ctx.name.n ? w->ctx.name : ks_meta_text(w->schema, &w->object, "name");
	w->admission.object = w->shown ? w->shown : &w->object;
	w->admission.old = w->creating ? NULL : w->shown ? w->shown_old : &w->old;
	w->admission.options = &w->options.value;
	w->admission.dry_run = w->options.dry_run;
	return ks_edit_next(w, step_mutate);
}

static enum ks_stage_result step_mutate(struct ks_edit *w)
{
	int result = ks_admission_mutate(&w->admission);

	if (result == KS_PENDING)
		return KS_STAGE_PENDING;
	if (result != KS_DONE)
		return KS_STAGE_FAILED;
	/* What is allocated is asked for on the worker, which is where the answer comes. */
	return w->ctx.strategy->allocate ? ks_edit_next(w, step_complete) : ks_edit_compute(w, step_complete);
}

static enum ks_stage_result step_complete(struct ks_edit *w)
{
	int code;

	if (w->take_shown && w->take_shown(w))
		return KS_STAGE_FAILED;
	if (!ks_registry_default(&w->ctx, &w->object)) {
		ks_edit_out_of_memory(w);
		return KS_STAGE_FAILED;
	}
	ks_registry_dedup_owners(&w->ctx, &w->object, true);
	if (!w->creating)
		ks_managed_keep_times(w->schema, &w->old, &w->object);
	if (w->creating)
		code = ks_registry_before_create(&w->ctx, &w->object, &w->request->status);
	else
		code = ks_registry_before_update(&w->ctx, &w->object, &w->old, &w->request->status);
	if (code == KS_REGISTRY_WAIT) {
		ks_request_pin(w->request);
		return KS_STAGE_PENDING;
	}
	if (code)
		return KS_STAGE_FAILED;
	if (!w->admission.name.n)
		w->admission.name = ks_meta_text(w->schema, &w->object, "name");
	return ks_edit_next(w, w->creating && !w->may && !ks_str_is(w->request->info.verb, "create") ? step_authorize : step_validate);
}

/* An update that makes the object needs the permission to create. */
static enum ks_stage_result step_authorize(struct ks_edit *w)
{
	if (!w->asked) {
		if (!ks_user_view(&w->request->arena, &w->request->user, &w->user)) {
			ks_edit_out_of_memory(w);
			return KS_STAGE_FAILED;
		}
		ks_authorize_init(&w->authorize, w->request);
		ks_authorization_attributes(w->request, &w->user, &w->authorize.attributes);
		w->authorize.attributes.verb = (struct ks_view){"create", 6};
		w->asked = true;
	}
	if (ks_authorize_run(&w->authorize) == KS_PENDING)
		return KS_STAGE_PENDING;
	if (w->authorize.decision == KS_AUTHORIZE_FAILED)
		ks_status_internal(&w->request->status, &w->request->arena, "%s", w->authorize.error ? w->authorize.error : "");
	else if (w->authorize.decision == KS_AUTHORIZE_DENIED)
		ks_authorize_refuse(w->request, &w->authorize.attributes, w->authorize.reason);
	w->may = w->authorize.decision == KS_AUTHORIZE_ALLOWED;
	return w->may ? ks_edit_next(w, step_validate) : KS_STAGE_FAILED;
}

/* What can't be read counts as nothing, and a dry run does not come as far. */
static int check_no_revision(struct ks_edit *w)
{
	struct ks_str text = ks_meta_text(w->schema, &w->object, "resourceVersion");
	const char *message;
	uint64_t revision;

	if (w->options.dry_run)
		return 0;
	if (!ks_revision_of_object(&w->request->arena, text, &revision, &message) && revision)
		return ks_status_set(&w->request->status, &w->request->arena, 500, NULL, "resourceVersion should not be set on objects to be created");
	ks_meta_remove(w->schema, &w->object, "resourceVersion");
	return 0;
}

static enum ks_stage_result step_validate(struct ks_edit *w)
{
	int result = ks_admission_validate(&w->admission);

	if (result == KS_PENDING)
		return KS_STAGE_PENDING;
	if (result != KS_DONE || (w->creating && check_no_revision(w)))
		return KS_STAGE_FAILED;
	w->removed = !w->creating && ks_registry_gone_by_update(&w->ctx, &w->object, &w->old);
	return ks_edit_compute(w, ks_edit_commit);
}

/* -- the end ------------------------------------------------------------------------------------------------------ */

enum ks_stage_result ks_edit_answer_object(struct ks_edit *w)
{
	int code = w->creating ? 201 : 200;

	if (w->options.dry_run || w->removed)
		return ks_reply_tree(w->request, code, &w->object);
	return ks_reply_object(w->request, code, w->finished, w->resource, w->revision);
}

enum ks_stage_result ks_edit_answer_done(struct ks_edit *w)
{
	w->request->status = (struct ks_status){.code = 201, .success = true};
	ks_request_respond_status(w->request);
	return KS_STAGE_ANSWERED;
}
