/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/write.h"

#include <time.h>

#include "core/api/json.h"
#include "core/pipeline/chain.h"
#include "core/pipeline/resource/reply.h"
#include "core/pipeline/user.h"
#include "core/registry/cause.h"
#include "core/registry/meta.h"

enum { MOST_ROUNDS = 200, MOST_NAMES = 8, SETTLE_MS = 3000, EVENT_TTL_MS = 3600 * 1000 };

static enum ks_stage_result step_change(struct ks_edit *w);
static enum ks_stage_result step_mutate(struct ks_edit *w);
static enum ks_stage_result step_complete(struct ks_edit *w);
static enum ks_stage_result step_authorize(struct ks_edit *w);
static enum ks_stage_result step_validate(struct ks_edit *w);
static enum ks_stage_result step_stored(struct ks_edit *w);
static enum ks_stage_result step_settle(struct ks_edit *w);

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
	ks_arena_fini(&w->round);
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
		.name = request->info.name, .user = request->user.name, .user_uid = request->user.uid, .groups = request->user.groups, .n_groups = request->user.n_groups, .warn = warn, .warn_arg = w, .now_ms = unix_ms(),
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

enum ks_stage_result ks_edit_run(struct ks_edit *w)
{
	enum ks_stage_result result;

	do {
		result = w->step(w);
	} while (result == KS_STAGE_NEXT);
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

static enum ks_stage_result next(struct ks_edit *w, ks_edit_step step)
{
	w->step = step;
	return KS_STAGE_NEXT;
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
	return next(w, ks_edit_begin_round);
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
	if (ks_edit_decode_old(w))
		return KS_STAGE_FAILED;
	return next(w, step_change);
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

	if (ks_revision_parse(arena, text, &asked, &message))
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

static enum ks_stage_result step_change(struct ks_edit *w)
{
	bool is_create = ks_str_is(w->request->info.verb, "create");

	if (w->creating && !is_create && !w->may_create) {
		ks_edit_not_found(w, w->ctx.name);
		return KS_STAGE_FAILED;
	}
	if (w->change(w))
		return KS_STAGE_FAILED;
	/* Managed fields are not kept. */
	ks_meta_remove(w->schema, &w->object, "managedFields");
	if (!ks_registry_default(&w->ctx, &w->object)) {
		ks_edit_out_of_memory(w);
		return KS_STAGE_FAILED;
	}
	if (is_create ? ks_registry_begin_create(&w->ctx, &w->object, &w->request->status) : check_update(w))
		return KS_STAGE_FAILED;
	ks_registry_dedup_owners(&w->ctx, &w->object, false);
	w->admitting = true;
	ks_admission_init(&w->admission, w->request, w->creating ? KS_OPERATION_CREATE : KS_OPERATION_UPDATE, w->target, NULL);
	w->admission.ns = w->ctx.ns;
	w->admission.name = w->ctx.name.n ? w->ctx.name : ks_meta_text(w->schema, &w->object, "name");
	w->admission.object = w->shown ? w->shown : &w->object;
	w->admission.old = w->creating ? NULL : w->shown ? w->shown_old : &w->old;
	w->admission.options = &w->options.value;
	w->admission.dry_run = w->options.dry_run;
	return next(w, step_mutate);
}

/* -- admission and validation --------------------------------------------------------------------------------------- */

static enum ks_stage_result step_mutate(struct ks_edit *w)
{
	int result = ks_admission_mutate(&w->admission);

	if (result == KS_PENDING)
		return KS_STAGE_PENDING;
	return result == KS_DONE ? next(w, step_complete) : KS_STAGE_FAILED;
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
	if (w->creating)
		code = ks_registry_before_create(&w->ctx, &w->object, &w->request->status);
	else
		code = ks_registry_before_update(&w->ctx, &w->object, &w->old, &w->request->status);
	if (code)
		return KS_STAGE_FAILED;
	if (!w->admission.name.n)
		w->admission.name = ks_meta_text(w->schema, &w->object, "name");
	return next(w, w->creating && !w->may && !ks_str_is(w->request->info.verb, "create") ? step_authorize : step_validate);
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
		ks_status_internal(&w->request->status, &w->request->arena, "Internal error occurred: %s", w->authorize.error ? w->authorize.error : "");
	else if (w->authorize.decision == KS_AUTHORIZE_DENIED)
		ks_authorize_refuse(w->request, &w->authorize.attributes, w->authorize.reason);
	w->may = w->authorize.decision == KS_AUTHORIZE_ALLOWED;
	return w->may ? next(w, step_validate) : KS_STAGE_FAILED;
}

static int check_no_revision(struct ks_edit *w)
{
	struct ks_str text = ks_meta_text(w->schema, &w->object, "resourceVersion");
	const char *message;
	uint64_t revision;

	if (ks_revision_parse(&w->request->arena, text, &revision, &message))
		return ks_status_set(&w->request->status, &w->request->arena, 500, NULL, "%s", message);
	if (revision)
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
	return next(w, ks_edit_commit);
}

/* -- commit ------------------------------------------------------------------------------------------------------- */

/* Built-in kinds are kept in a form that has no empty lists and maps: what is empty is not there. */
static void drop_empty(struct ks_value *v)
{
	for (uint32_t i = 0; v->kind == KS_STRUCT && i < v->n; i++) {
		struct ks_value *slot = &v->items[i];

		if ((slot->kind == KS_LIST || slot->kind == KS_MAP) && !slot->n)
			*slot = (struct ks_value){.kind = KS_ABSENT};
		else
			drop_empty(slot);
	}
	for (uint32_t i = 0; v->kind == KS_LIST && v->type && i < v->n; i++)
		drop_empty(&v->items[i]);
	for (uint32_t i = 0; v->kind == KS_MAP && v->type && i < v->n; i++)
		drop_empty(&v->members[i].value);
}

static bool keeps_empty(const struct ks_edit *w)
{
	const char *group = ks_edit_group(w);

	return w->schema->generation || !strcmp(group, "apiextensions.k8s.io") || !strcmp(group, "apiregistration.k8s.io");
}

/* Encodes `object` as it is kept. */
static int finish_object(struct ks_edit *w)
{
	struct ks_value kept;

	if (!keeps_empty(w))
		drop_empty(&w->object);
	kept = w->object;
	if (w->resource != w->storage &&
		(!ks_value_copy(&w->round, &w->object, &kept) || ks_registry_convert(&w->round, w->schema, w->resource, w->storage, &kept)))
		return ks_edit_out_of_memory(w);
	ks_object_unref(w->finished);
	w->finished = ks_object_from_tree(w->schema, w->storage, &kept);
	return w->finished ? 0 : ks_edit_out_of_memory(w);
}

static bool same_bytes(const struct ks_object *a, const struct ks_object *b)
{
	return a->json->len == b->json->len && a->rv_at == b->rv_at && !memcmp(a->json->data, b->json->data, a->json->len);
}

static void start_removal(struct ks_edit *w);

/* Runs whatever has become of the client: what was begun is carried through. */
static void on_stored(struct ks_store_call *call)
{
	struct ks_edit *w = call->arg;

	if (w->finished && call->value)
		if (call->outcome != KS_WRITE_COMMITTED)
			ks_cache_unpark(w->cache, w->finished);
	if (call->outcome == KS_WRITE_COMMITTED) {
		ks_registry_committed(&w->ctx, w->creating ? NULL : &w->old, call->value ? &w->object : NULL);
		w->revision = call->revision;
	} else {
		ks_registry_rollback(&w->ctx);
	}
	if (call->outcome == KS_WRITE_COMMITTED && w->then_remove && ks_request_over(w->request)) {
		start_removal(w);
		ks_request_unpin(w->request);
		return;
	}
	ks_request_resume(w->request);
	ks_request_unpin(w->request);
}

static void start_call(struct ks_edit *w, struct ks_bytes *value, uint64_t expected, struct ks_str name)
{
	struct ks_buf key = w->call.key;

	memset(&w->call, 0, sizeof(w->call));
	w->call.key = key;
	ks_buf_clear(&w->call.key);
	ks_store_key(&w->call.key, w->schema, w->storage, w->ctx.ns, name);
	w->call.loop = w->request->loop;
	w->call.value = value;
	w->call.expected = expected;
	w->call.done = on_stored;
	w->call.arg = w;
	if (value && !strcmp(ks_schema_text(w->schema, w->schema->resources[w->storage].resource), "events"))
		w->call.lease_until_ms = w->ctx.now_ms + EVENT_TTL_MS;
	ks_request_pin(w->request);
	ks_store_write_start(w->store, &w->call);
}

/* The second half: the object that was just marked is taken out. */
static void start_removal(struct ks_edit *w)
{
	w->then_remove = false;
	w->removed = true;
	start_call(w, NULL, w->revision, w->ctx.name);
}

static enum ks_stage_result exists_already(struct ks_edit *w, struct ks_str name, const struct ks_value *there)
{
	struct ks_status *status = &w->request->status;
	char *message;

	ks_status_already_exists(status, &w->request->arena, ks_edit_group(w), ks_edit_resource(w), name);
	if (there && ks_meta_get(w->schema, there, "deletionTimestamp")) {
		message = ks_arena_printf(&w->request->arena, "object is being deleted: %s", status->message);
		if (message)
			status->message = message;
	}
	return KS_STAGE_FAILED;
}

static bool name_was_generated(struct ks_edit *w)
{
	return !w->ctx.name.n && ks_meta_text(w->schema, &w->object, "generateName").n &&
		!ks_str_eq(ks_meta_text(w->schema, &w->object, "generateName"), ks_meta_text(w->schema, &w->object, "name"));
}

/* Nothing is stored: the answer is what would have been. */
static enum ks_stage_result commit_dry(struct ks_edit *w)
{
	struct ks_str name = ks_meta_text(w->schema, &w->object, "name");
	struct ks_object *there;

	ks_registry_rollback(&w->ctx);
	if (w->creating && !w->removed && (there = ks_cache_get(w->cache, w->ctx.ns, name))) {
		struct ks_value tree;
		bool decoded = !ks_object_tree(there, w->schema, &w->round, &tree);

		exists_already(w, name, decoded ? &tree : NULL);
		ks_object_unref(there);
		return KS_STAGE_FAILED;
	}
	return next(w, w->answer);
}

enum ks_stage_result ks_edit_commit(struct ks_edit *w)
{
	struct ks_str name = w->ctx.name.n ? w->ctx.name : ks_meta_text(w->schema, &w->object, "name");

	if (w->options.dry_run || w->delete_options.dry_run)
		return commit_dry(w);
	if (w->removed) {
		w->step = step_stored;
		start_call(w, NULL, w->current->revision, name);
		return KS_STAGE_PENDING;
	}
	if (finish_object(w))
		return KS_STAGE_FAILED;
	if (w->current && same_bytes(w->finished, w->current)) {
		ks_registry_rollback(&w->ctx);
		w->unchanged = true;
		w->revision = w->current->revision;
		if (!w->then_remove)
			return next(w, w->answer);
		w->step = step_stored;
		start_removal(w);
		return KS_STAGE_PENDING;
	}
	w->step = step_stored;
	ks_cache_park(w->cache, w->finished);
	start_call(w, w->finished->json, w->current ? w->current->revision : 0, name);
	return KS_STAGE_PENDING;
}

/* -- after the store ---------------------------------------------------------------------------------------------- */

static enum ks_stage_result store_failed(struct ks_edit *w)
{
	struct ks_status *status = &w->request->status;

	if (w->call.result == KS_ERR_TIMEOUT)
		ks_status_set(status, &w->request->arena, 504, "Timeout", "the store did not answer in time");
	else if (w->call.result == KS_ERR_UNAVAILABLE)
		ks_status_set(status, &w->request->arena, 503, "ServiceUnavailable", "the store is not available");
	else
		ks_status_internal(status, &w->request->arena, "the store could not carry out the write");
	return KS_STAGE_FAILED;
}

/* What stands there becomes the current object. */
static int take_current(struct ks_edit *w)
{
	struct ks_error err = {""};

	ks_object_unref(w->current);
	w->current = NULL;
	if (!w->call.current)
		return 0;
	w->current = ks_object_from_json(w->schema, w->storage, w->call.current, &err);
	ks_bytes_unref(w->call.current);
	w->call.current = NULL;
	if (!w->current)
		return ks_status_internal(&w->request->status, &w->request->arena, "the stored object can't be decoded: %s", err.text);
	w->current->revision = w->call.current_revision;
	return 0;
}

static enum ks_stage_result create_lost(struct ks_edit *w)
{
	struct ks_str name = ks_meta_text(w->schema, &w->object, "name");
	bool generated = name_was_generated(w);

	if (take_current(w))
		return KS_STAGE_FAILED;
	if (generated && w->rounds < MOST_NAMES) {
		ks_object_unref(w->current);
		w->current = NULL;
		return next(w, ks_edit_begin_round);
	}
	name = ks_str_of(ks_arena_dup(&w->request->arena, name.p, name.n), name.n);
	if (ks_edit_decode_old(w))
		return KS_STAGE_FAILED;
	return exists_already(w, name, w->current ? &w->old : NULL);
}

static enum ks_stage_result step_stored(struct ks_edit *w)
{
	switch (w->call.outcome) {
	case KS_WRITE_COMMITTED:
		if (!w->then_remove)
			return next(w, step_settle);
		start_removal(w);
		return KS_STAGE_PENDING;
	case KS_WRITE_LOST_RACE:
		if (w->creating && ks_str_is(w->request->info.verb, "create"))
			return create_lost(w);
		return take_current(w) ? KS_STAGE_FAILED : next(w, w->again);
	case KS_WRITE_NOT_FOUND:
		ks_object_unref(w->current);
		w->current = NULL;
		return next(w, w->again);
	default:
		return store_failed(w);
	}
}

/* -- settle: the cache has seen it -------------------------------------------------------------------------------- */

static void on_cache(struct ks_task *task)
{
	struct ks_edit *w = (struct ks_edit *)((char *)task - offsetof(struct ks_edit, wait.task));

	ks_timer_cancel(&w->timer);
	w->waiting = false;
	ks_request_resume(w->request);
	ks_request_unpin(w->request);
}

/* The write stands, whatever the cache does: the answer goes out. */
static void on_impatience(struct ks_timer *timer)
{
	struct ks_edit *w = (struct ks_edit *)((char *)timer - offsetof(struct ks_edit, timer));

	if (!w->waiting || !ks_cache_unwait(&w->wait))
		return;
	w->waiting = false;
	ks_request_resume(w->request);
	ks_request_unpin(w->request);
}

static enum ks_stage_result step_settle(struct ks_edit *w)
{
	w->step = w->answer;
	if (ks_cache_revision(w->cache) >= w->revision)
		return KS_STAGE_NEXT;
	w->wait = (struct ks_cache_wait){.task = {.run = on_cache}, .loop = w->request->loop, .revision = w->revision, .resource = w->cache};
	w->timer.fire = on_impatience;
	w->waiting = true;
	if (ks_timer_start(w->request->loop, &w->timer, SETTLE_MS)) {
		w->waiting = false;
		return KS_STAGE_NEXT;
	}
	ks_request_pin(w->request);
	ks_cache_wait_for(w->cache, &w->wait);
	return KS_STAGE_PENDING;
}

/* -- the end ------------------------------------------------------------------------------------------------------ */

enum ks_stage_result ks_edit_answer_object(struct ks_edit *w)
{
	int code = w->creating ? 201 : 200;

	if (w->options.dry_run || w->removed)
		return ks_reply_tree(w->request, code, &w->object);
	return ks_reply_object(w->request, code, w->finished, w->resource, w->revision);
}
