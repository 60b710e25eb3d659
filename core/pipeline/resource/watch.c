/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches: first, where it is asked for, what there is, out of a frozen state; then a cursor
 * into the history. Events are written only while the stream takes them; what a slow client
 * has not read stays in the history, and costs nothing here.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "core/api/json.h"
#include "core/pipeline/render.h"
#include "core/pipeline/resource/cbor_form.h"
#include "core/pipeline/resource/options.h"
#include "core/pipeline/resource/printing.h"
#include "core/pipeline/resource/proto_form.h"
#include "core/pipeline/resource/reply.h"
#include "core/pipeline/resource/revision.h"
#include "core/pipeline/resource/verbs.h"
#include "core/pipeline/server.h"

enum { SLICE_EVENTS = 256, FULL_BYTES = 64 * 1024, DRAINED_BYTES = 16 * 1024, BOOKMARK_MS = 60 * 1000 };

struct watch {
	struct ks_handler_run handler;
	struct ks_request *request;
	struct ks_list_options options;  /* in the request's arena until the beginning is over */
	struct ks_watch_filter filter;
	struct ks_cache_resource *cache;
	const struct ks_schema *schema;
	uint16_t resource;
	enum ks_object_form form;
	char as_version[16];
	struct ks_table *table;          /* events are told as tables; NULL: not */
	bool as_list;                    /* a list was asked for: no event can be told so */
	bool proto, cbor;                /* frames in protobuf, in CBOR */
	struct ks_proto_kind kind;       /* of their objects */
	uint64_t asked;
	struct ks_revision_wait wait;
	/* the beginning */
	struct ks_snapshot snapshot;
	struct ks_cursor cursor;
	bool beginning, tells_end;
	/* what follows */
	struct ks_watcher *watcher;
	uint64_t told;                   /* revision that the client knows of */
	bool bookmarks, blocked, over;
	struct ks_timer bookmark_timer, end_timer;
	struct ks_task task;
	bool task_posted;
	struct ks_request_end end;
};

static void pump(struct watch *w);

static void end_watch(struct ks_request_end *end)
{
	struct watch *w = (struct watch *)((char *)end - offsetof(struct watch, end));

	if (w->beginning)
		ks_snapshot_release(&w->snapshot);
	ks_watcher_free(&w->watcher);
	ks_timer_cancel(&w->bookmark_timer);
	ks_timer_cancel(&w->end_timer);
	ks_printing_close(&w->table);
	free(w);
}

/* -- events ------------------------------------------------------------------------------------------------------- */

static const char *type_name(int type)
{
	return type == KS_WATCH_ADDED ? "ADDED" : type == KS_WATCH_MODIFIED ? "MODIFIED" : "DELETED";
}

static int add_proto_event(struct watch *w, struct ks_chunk *chunk, const char *type, struct ks_object *object, uint64_t revision)
{
	struct ks_proto_shown shown;
	int result = ks_proto_show(object, w->schema, w->resource, revision, w->form == KS_FORM_PARTIAL, &shown);

	if (result)
		return result;
	ks_proto_add_event_head(type, ks_proto_object_size(&shown, &w->kind), chunk);
	ks_proto_add_object(&shown, &w->kind, chunk);
	return 0;
}

static int add_cbor_event(struct watch *w, struct ks_chunk *chunk, const char *type, struct ks_object *object, uint64_t revision)
{
	ks_cbor_add_event_head(type, chunk);
	ks_cbor_add_tag(chunk);
	return ks_cbor_add_object(chunk, w->schema, object, w->resource, revision, &w->kind, w->form == KS_FORM_PARTIAL);
}

static void add_rendered(struct watch *w, struct ks_chunk *chunk, const char *type, struct ks_str json)
{
	struct ks_buf out;

	ks_buf_init(&out);
	chunk->failed |= (w->cbor ? ks_render_cbor : ks_render_proto)(w->schema, json, &out) != 0;
	if (w->cbor)
		ks_cbor_add_event_head(type, chunk);
	else
		ks_proto_add_event_head(type, out.len, chunk);
	ks_chunk_add(chunk, out.data, out.len);
	ks_buf_fini(&out);
}

/* An event with an object that is there as JSON. */
static void add_json(struct watch *w, struct ks_chunk *chunk, const char *type, struct ks_str json)
{
	if (w->proto || w->cbor) {
		add_rendered(w, chunk, type, json);
		return;
	}
	ks_chunk_add_text(chunk, "{\"type\":\"");
	ks_chunk_add_text(chunk, type);
	ks_chunk_add_text(chunk, "\",\"object\":");
	ks_chunk_add(chunk, json.p, json.n);
	ks_chunk_add_text(chunk, "}\n");
}

/* As a Table, which is made as JSON. */
static int add_cbor_table(struct watch *w, struct ks_chunk *chunk, const char *type, struct ks_object *object, uint64_t revision)
{
	struct ks_chunk table;
	struct ks_buf json;
	int result;

	ks_chunk_init(&table);
	ks_buf_init(&json);
	result = ks_printing_event(w->table, object, revision, &table);
	chunk->failed |= !ks_chunk_seal(&table);
	for (size_t i = 0; i < table.n; i++)
		ks_buf_add(&json, table.pieces[i].data, table.pieces[i].len);
	chunk->failed |= json.failed;
	if (!result && !chunk->failed)
		add_rendered(w, chunk, type, ks_buf_str(&json));
	ks_buf_fini(&json);
	ks_chunk_fini(&table);
	return result;
}

/* One line or frame. 0 or negative. */
static int add_event(struct watch *w, struct ks_chunk *chunk, const char *type, struct ks_object *object, uint64_t revision)
{
	int result;

	if (w->as_list)
		return -EINVAL;
	if (w->proto)
		return add_proto_event(w, chunk, type, object, revision);
	if (w->cbor)
		return w->table ? add_cbor_table(w, chunk, type, object, revision) : add_cbor_event(w, chunk, type, object, revision);
	ks_chunk_add_text(chunk, "{\"type\":\"");
	ks_chunk_add_text(chunk, type);
	ks_chunk_add_text(chunk, "\",\"object\":");
	if (w->table)
		result = ks_printing_event(w->table, object, revision, chunk);
	else
		result = ks_chunk_add_object(chunk, w->schema, object, w->resource, revision, w->form, ks_str_from(w->as_version));
	ks_chunk_add_text(chunk, "}\n");
	return result;
}

static bool set_text(struct ks_arena *arena, const struct ks_schema *s, struct ks_value *v, const char *path, const char *text)
{
	struct ks_value *place = text ? ks_value_put_at(arena, s, v, path) : NULL;

	if (!place)
		return false;
	*place = ks_value_from_str(ks_str_from(text));
	return true;
}

/* An object of the kind that has a revision and nothing else. */
static bool bookmark_object(struct watch *w, struct ks_arena *arena, uint64_t revision, bool initial, struct ks_value *out_r)
{
	const struct ks_resource *r = &w->schema->resources[w->resource];
	const char *group = ks_schema_text(w->schema, r->group);
	struct ks_value *notes, *note;

	if (!ks_value_new_struct(arena, w->schema, r->type, out_r) ||
		!set_text(arena, w->schema, out_r, "kind", ks_schema_text(w->schema, r->kind)) ||
		!set_text(arena, w->schema, out_r, "apiVersion",
			ks_arena_printf(arena, "%s%s%s", group, group[0] ? "/" : "", ks_schema_text(w->schema, r->version))) ||
		!set_text(arena, w->schema, out_r, "metadata.resourceVersion", ks_arena_printf(arena, "%llu", (unsigned long long)revision)))
		return false;
	/* Where there is a number of replicas, it is told. */
	notes = ks_value_put_at(arena, w->schema, out_r, "spec.replicas");
	if (notes)
		*notes = ks_value_from_int(0);
	if (!initial)
		return true;
	notes = ks_value_put_at(arena, w->schema, out_r, "metadata.annotations");
	if (!notes)
		return false;
	*notes = (struct ks_value){.kind = KS_MAP};
	note = ks_value_put(arena, w->schema, notes, KS_STR_LIT("k8s.io/initial-events-end"));
	if (!note)
		return false;
	*note = ks_value_from_str(KS_STR_LIT("true"));
	return true;
}

static void add_bookmark(struct watch *w, struct ks_chunk *chunk, uint64_t revision, bool initial)
{
	struct ks_arena arena;
	struct ks_value object;
	struct ks_buf json;

	ks_arena_init(&arena, 0);
	ks_buf_init(&json);
	if (w->form == KS_FORM_PARTIAL) {
		ks_buf_printf(&json, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/%s\",\"metadata\":{\"resourceVersion\":\"%llu\"%s}}",
			w->as_version, (unsigned long long)revision, initial ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
	} else if (bookmark_object(w, &arena, revision, initial, &object)) {
		if (!w->table)
			ks_json_encode(w->schema, &object, &json);
		else if (ks_printing_bookmark(w->table, &object, revision, &json))
			json.failed = true;
	}
	if (json.len && !json.failed) {
		add_json(w, chunk, "BOOKMARK", ks_buf_str(&json));
		w->told = revision;
	}
	ks_buf_fini(&json);
	ks_arena_fini(&arena);
}

static void add_expired(struct watch *w, struct ks_chunk *chunk, uint64_t asked, uint64_t oldest)
{
	struct ks_buf json;

	ks_buf_init(&json);
	ks_buf_printf(&json,
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"too old resource version: %llu (%llu)\","
		"\"reason\":\"Expired\",\"code\":410}",
		(unsigned long long)asked, (unsigned long long)oldest);
	chunk->failed |= json.failed;
	add_json(w, chunk, "ERROR", ks_buf_str(&json));
	ks_buf_fini(&json);
}

/* -- writing ------------------------------------------------------------------------------------------------------ */

/* The stream ends, with what is in the chunk as its last words. */
static void finish(struct watch *w, struct ks_chunk *chunk)
{
	w->over = true;
	if (!ks_chunk_seal(chunk)) {
		ks_chunk_fini(chunk);
		ks_stream_reset(w->request->stream);
		return;
	}
	if (chunk->n == 0 || ks_stream_write(w->request->stream, chunk->pieces, chunk->n) == 0)
		ks_stream_end(w->request->stream);
	ks_chunk_taken(chunk);
}

static bool is_full(const struct watch *w, const struct ks_chunk *chunk)
{
	return chunk->bytes + chunk->used + ks_stream_queued(w->request->stream) >= FULL_BYTES;
}

static void on_drained(struct ks_stream *stream)
{
	struct ks_request *request = ks_stream_data(stream);
	struct watch *w = request ? request->handler_data : NULL;

	if (!w)
		return;
	w->blocked = false;
	pump(w);
}

static void on_turn(struct ks_task *task)
{
	struct watch *w = (struct watch *)((char *)task - offsetof(struct watch, task));
	struct ks_request *request = w->request;

	w->task_posted = false;
	if (!request->closed)
		pump(w);
	ks_request_unpin(request);
}

static void next_turn(struct watch *w)
{
	if (w->task_posted)
		return;
	w->task_posted = true;
	w->task.run = on_turn;
	ks_request_pin(w->request);
	ks_loop_post(w->request->loop, &w->task);
}

/* Sends what was gathered. False when the stream has failed. */
static bool flush(struct watch *w, struct ks_chunk *chunk)
{
	bool good = ks_chunk_seal(chunk);

	if (!good) {
		ks_chunk_fini(chunk);
		ks_stream_reset(w->request->stream);
		w->over = true;
		return false;
	}
	if (chunk->n && ks_stream_write(w->request->stream, chunk->pieces, chunk->n))
		w->over = true;
	ks_chunk_taken(chunk);
	return !w->over;
}

enum progress { ALL_SENT, MORE, FAILED };

static enum progress pump_beginning(struct watch *w, struct ks_chunk *chunk)
{
	struct ks_object *object;

	for (int i = 0; i < SLICE_EVENTS; i++) {
		if (is_full(w, chunk))
			return MORE;
		object = ks_cursor_next(&w->cursor);
		if (!object) {
			if (w->tells_end)
				add_bookmark(w, chunk, w->snapshot.revision, true);
			ks_snapshot_release(&w->snapshot);
			w->beginning = false;
			/* What was asked for has been copied by the watcher: the request's memory goes. */
			ks_request_trim(w->request);
			w->options = (struct ks_list_options){0};
			return ALL_SENT;
		}
		if (ks_watch_filter_match(w->schema, &w->filter, object) && add_event(w, chunk, "ADDED", object, object->revision))
			return FAILED;
	}
	return MORE;
}

static enum progress pump_events(struct watch *w, struct ks_chunk *chunk)
{
	struct ks_watch_event event;
	int result;

	for (int i = 0; i < SLICE_EVENTS; i++) {
		if (is_full(w, chunk))
			return MORE;
		result = ks_watcher_next(w->watcher, &event);
		if (result == 0)
			return ALL_SENT;
		if (result < 0) {
			add_expired(w, chunk, w->told, ks_cache_revision(w->cache));
			return FAILED;
		}
		result = add_event(w, chunk, type_name(event.type), event.object, event.revision);
		ks_object_unref(event.object);
		w->told = event.revision;
		if (result)
			return FAILED;
	}
	return MORE;
}

static void pump(struct watch *w)
{
	struct ks_chunk chunk;
	enum progress progress = ALL_SENT;

	if (w->over || w->blocked || w->request->closed)
		return;
	ks_chunk_init(&chunk);
	if (w->beginning)
		progress = pump_beginning(w, &chunk);
	if (!w->beginning && progress == ALL_SENT)
		progress = pump_events(w, &chunk);
	if (progress == FAILED) {
		finish(w, &chunk);
		return;
	}
	if (!flush(w, &chunk) || progress == ALL_SENT)
		return;
	if (ks_stream_queued(w->request->stream) > DRAINED_BYTES) {
		w->blocked = true;
		ks_stream_on_drained(w->request->stream, DRAINED_BYTES, on_drained);
	} else {
		next_turn(w);
	}
}

static void on_wake(struct ks_watcher *watcher, void *arg)
{
	(void)watcher;
	pump(arg);
}

/* -- timers ------------------------------------------------------------------------------------------------------- */

/* The client learns how far it is, when nothing is waiting to be sent. */
static void send_bookmark(struct watch *w, struct ks_chunk *chunk)
{
	uint64_t revision = ks_watcher_revision(w->watcher);

	if (w->bookmarks && !w->beginning && !w->blocked && revision > w->told)
		add_bookmark(w, chunk, revision, false);
}

static void on_bookmark(struct ks_timer *timer)
{
	struct watch *w = (struct watch *)((char *)timer - offsetof(struct watch, bookmark_timer));
	struct ks_chunk chunk;

	if (w->over || w->request->closed)
		return;
	pump(w);
	if (w->over)
		return;
	ks_chunk_init(&chunk);
	send_bookmark(w, &chunk);
	if (flush(w, &chunk) && ks_timer_start(w->request->loop, &w->bookmark_timer, BOOKMARK_MS))
		w->bookmarks = false;
}

static void on_end(struct ks_timer *timer)
{
	struct watch *w = (struct watch *)((char *)timer - offsetof(struct watch, end_timer));
	struct ks_chunk chunk;

	if (w->over || w->request->closed)
		return;
	pump(w);
	if (w->over)
		return;
	ks_chunk_init(&chunk);
	send_bookmark(w, &chunk);
	finish(w, &chunk);
}

/* As asked for; else some time between the least and twice of it, so that clients don't come back all at once. */
static uint64_t time_to_serve(const struct watch *w)
{
	uint64_t least = w->request->server->config ? w->request->server->config->server.watch_timeout_ms : 0;
	uint32_t random = 0;

	if (w->options.has_timeout && w->options.timeout_seconds)
		return w->options.timeout_seconds < 0 ? 0 : (uint64_t)w->options.timeout_seconds * 1000;
	if (!least)
		least = 30 * 60 * 1000;
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = 0;
	return least + random % least;
}

static int start_timers(struct watch *w)
{
	struct ks_loop *loop = w->request->loop;

	w->bookmark_timer.fire = on_bookmark;
	w->end_timer.fire = on_end;
	if (w->bookmarks && ks_timer_start(loop, &w->bookmark_timer, BOOKMARK_MS))
		return -ENOMEM;
	return ks_timer_start(loop, &w->end_timer, time_to_serve(w));
}

/* -- the start ---------------------------------------------------------------------------------------------------- */

static enum ks_stage_result no_memory(struct ks_request *request)
{
	ks_status_internal(&request->status, &request->arena, "out of memory");
	return KS_STAGE_FAILED;
}

static const char *content_type(const struct watch *w)
{
	if (w->cbor)
		return "application/cbor-seq";
	return w->proto ? "application/vnd.kubernetes.protobuf;stream=watch" : "application/json";
}

/* The history doesn't reach back so far: told in the stream, as clients expect it. */
static enum ks_stage_result answer_expired(struct watch *w)
{
	struct ks_chunk chunk;

	if (ks_request_begin_stream(w->request, 200, content_type(w), NULL, 0))
		return KS_STAGE_ANSWERED;
	ks_chunk_init(&chunk);
	add_expired(w, &chunk, w->asked, ks_cache_revision(w->cache));
	finish(w, &chunk);
	return KS_STAGE_ANSWERED;
}

static enum ks_stage_result begin(struct watch *w)
{
	uint64_t after = w->asked;
	int result;

	if (w->options.send_initial) {
		ks_cache_snapshot(w->cache, &w->snapshot);
		ks_cursor_init(&w->cursor, &w->snapshot, w->filter.ns, (struct ks_str){0});
		w->beginning = true;
		w->tells_end = w->bookmarks;
		after = w->snapshot.revision;
	} else if (!w->asked) {
		after = ks_cache_revision(w->cache);
	}
	w->told = after;
	result = ks_watcher_new(w->cache, w->request->loop, after, &w->filter, on_wake, w, &w->watcher);
	if (result == -ENOENT)
		return answer_expired(w);
	if (result)
		return no_memory(w->request);
	if (ks_request_begin_stream(w->request, 200, content_type(w), NULL, 0))
		return KS_STAGE_ANSWERED;
	if (start_timers(w)) {
		ks_stream_reset(w->request->stream);
		return KS_STAGE_ANSWERED;
	}
	if (!w->beginning)
		ks_request_trim(w->request);
	next_turn(w);
	return KS_STAGE_ANSWERED;
}

static enum ks_stage_result run_again(struct ks_handler_run *handler)
{
	struct watch *w = (struct watch *)handler;

	return ks_revision_wait_result(&w->wait) ? KS_STAGE_FAILED : begin(w);
}

static struct watch *new_watch(struct ks_request *request)
{
	const struct ks_schema *s = request->server->schema;
	struct watch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->handler.run = run_again;
	w->request = request;
	w->schema = s;
	w->resource = s->resources[request->info.resource_index].parent;
	w->cache = ks_cache_find(request->server->cache, s->resources[w->resource].storage);
	w->form = request->media.as == KS_AS_PARTIAL ? KS_FORM_PARTIAL : KS_FORM_WHOLE;
	w->as_list = request->media.as == KS_AS_PARTIAL_LIST;
	if (request->media.as_version.n < sizeof(w->as_version))
		memcpy(w->as_version, request->media.as_version.p ? request->media.as_version.p : "", request->media.as_version.n);
	w->proto = request->media.format == KS_MEDIA_PROTOBUF;
	w->cbor = request->media.format == KS_MEDIA_CBOR;
	if (w->form == KS_FORM_PARTIAL)
		ks_proto_kind_partial(ks_str_from(w->as_version), false, &w->kind);
	else
		ks_proto_kind_of(s, w->resource, &w->kind);
	request->handler_data = w;
	ks_request_on_end(request, &w->end, end_watch);
	return w;
}

enum ks_stage_result ks_resource_watch(struct ks_request *request)
{
	const char *message = "";
	struct watch *w;

	if (!request->stream) {
		ks_status_bad_request(&request->status, &request->arena, "a watch needs a stream");
		return KS_STAGE_FAILED;
	}
	if (ks_request_negotiate(request, KS_ALLOW_PARTIAL | KS_ALLOW_TABLE | KS_ALLOW_WATCH))
		return KS_STAGE_FAILED;
	w = new_watch(request);
	if (!w)
		return no_memory(request);
	if (ks_list_options_parse(request, true, &w->options) || ks_printing_open(request, w->resource, &w->table))
		return KS_STAGE_FAILED;
	if (ks_revision_parse(&request->arena, w->options.resource_version, &w->asked, &message)) {
		ks_status_set(&request->status, &request->arena, 500, NULL, "%s", message);
		return KS_STAGE_FAILED;
	}
	w->bookmarks = w->options.bookmarks;
	ks_list_options_filter(request, &w->options, &w->filter);
	if (w->options.send_initial && w->asked > ks_cache_revision(w->cache))
		return ks_revision_wait_start(&w->wait, request, w->cache, w->asked);
	return begin(w);
}
