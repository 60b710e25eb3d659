/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The second half of a write: to the store, and what its answer means. */
#include "core/pipeline/resource/write.h"
#include "core/registry/meta.h"

enum { MOST_NAMES = 8, SETTLE_MS = 3000 };

static enum ks_stage_result step_dry(struct ks_edit *w);
static enum ks_stage_result step_remove(struct ks_edit *w);
static enum ks_stage_result step_store(struct ks_edit *w);
static enum ks_stage_result step_stored(struct ks_edit *w);
static enum ks_stage_result step_lost(struct ks_edit *w);
static enum ks_stage_result step_settle(struct ks_edit *w);

/* Built-in kinds are kept in a form that has no empty lists and maps: what is empty is not there. */
static void drop_empty(const struct ks_schema *s, struct ks_value *v)
{
	bool bytes = v->kind == KS_MAP && v->type && s->types[s->types[v->type].element].class_ == KS_TYPE_BYTES;

	for (uint32_t i = 0; v->kind == KS_STRUCT && i < v->n; i++) {
		struct ks_value *slot = &v->items[i];

		if ((slot->kind == KS_LIST || slot->kind == KS_MAP) && slot->type && !slot->n) /* not in free-form parts */
			*slot = (struct ks_value){.kind = KS_ABSENT};
		else
			drop_empty(s, slot);
	}
	for (uint32_t i = 0; v->kind == KS_LIST && v->type && i < v->n; i++)
		drop_empty(s, &v->items[i]);
	for (uint32_t i = 0; v->kind == KS_MAP && v->type && i < v->n; i++) {
		struct ks_value *value = &v->members[i].value;

		if (bytes && !ks_value_present(value))
			*value = ks_value_from_str(KS_STR_LIT(""));
		else
			drop_empty(s, value);
	}
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
		if (ks_registry_committed(&w->ctx, w->creating ? NULL : &w->old, call->value ? &w->object : NULL))
			ks_request_pin(w->request);
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
		w->call.lease_until_ms = w->ctx.now_ms + w->ctx.config->event_ttl_ms;
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
static enum ks_stage_result step_dry(struct ks_edit *w)
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
	return ks_edit_compute(w, w->answer);
}

enum ks_stage_result ks_edit_commit(struct ks_edit *w)
{
	/* Nobody has links of his own any more. */
	if (!w->removed)
		ks_meta_remove(w->schema, &w->object, "selfLink");
	if (!w->removed && !keeps_empty(w))
		drop_empty(w->schema, &w->object);
	if (w->options.dry_run || w->delete_options.dry_run)
		return ks_edit_next(w, step_dry);
	if (w->removed)
		return ks_edit_next(w, step_remove);
	if (finish_object(w))
		return KS_STAGE_FAILED;
	w->unchanged = w->current && same_bytes(w->finished, w->current);
	return ks_edit_next(w, step_store);
}

static struct ks_str name_of(const struct ks_edit *w)
{
	return w->ctx.name.n ? w->ctx.name : ks_meta_text(w->schema, &w->object, "name");
}

static enum ks_stage_result step_remove(struct ks_edit *w)
{
	w->step = step_stored;
	start_call(w, NULL, w->current->revision, name_of(w));
	return KS_STAGE_PENDING;
}

static enum ks_stage_result step_store(struct ks_edit *w)
{
	w->step = step_stored;
	if (w->unchanged) {
		ks_registry_rollback(&w->ctx);
		w->revision = w->current->revision;
		if (!w->then_remove)
			return ks_edit_compute(w, w->answer);
		start_removal(w);
		return KS_STAGE_PENDING;
	}
	ks_cache_park(w->cache, w->finished);
	start_call(w, w->finished->json, w->current ? w->current->revision : 0, name_of(w));
	return KS_STAGE_PENDING;
}

/* -- after the store ---------------------------------------------------------------------------------------------- */

static enum ks_stage_result store_failed(struct ks_edit *w)
{
	struct ks_status *status = &w->request->status;

	if (w->call.result == KS_ERR_TIMEOUT)
		ks_status_set(status, &w->request->arena, 504, "Timeout", "the store did not answer in time");
	else if (w->call.result == KS_ERR_UNCERTAIN)
		ks_status_set(status, &w->request->arena, 504, "Timeout", "the store did not tell whether the write was carried out");
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
		return ks_edit_next(w, ks_edit_begin_round);
	}
	name = ks_str_of(ks_arena_dup(&w->request->arena, name.p, name.n), name.n);
	if (ks_edit_decode_old(w))
		return KS_STAGE_FAILED;
	return exists_already(w, name, w->current ? &w->old : NULL);
}

static enum ks_stage_result step_lost(struct ks_edit *w)
{
	if (w->creating && ks_str_is(w->request->info.verb, "create"))
		return create_lost(w);
	return take_current(w) ? KS_STAGE_FAILED : ks_edit_next(w, w->again);
}

static enum ks_stage_result step_stored(struct ks_edit *w)
{
	switch (w->call.outcome) {
	case KS_WRITE_COMMITTED:
		if (!w->then_remove)
			return ks_edit_next(w, step_settle);
		start_removal(w);
		return KS_STAGE_PENDING;
	case KS_WRITE_LOST_RACE:
		return ks_edit_compute(w, step_lost);
	case KS_WRITE_NOT_FOUND:
		ks_object_unref(w->current);
		w->current = NULL;
		return ks_edit_next(w, w->again);
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
	uint64_t revision = w->ctx.outside_revision > w->revision ? w->ctx.outside_revision : w->revision;

	/* What the object had is still being given back. */
	if (w->ctx.pending)
		return KS_STAGE_PENDING;
	if (ks_edit_compute(w, w->answer) == KS_STAGE_NEXT && ks_cache_revision(w->cache) >= revision)
		return KS_STAGE_NEXT;
	w->wait = (struct ks_cache_wait){.task = {.run = on_cache}, .loop = w->request->loop, .revision = revision, .resource = w->cache};
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
