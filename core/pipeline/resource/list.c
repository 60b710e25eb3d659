/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists: a walk over a frozen state, encoded by putting pieces together. What is small goes
 * out whole; what is large is streamed, a bounded part at a time, and the worker is given
 * back between the parts. A list with a limit is gathered first, because its token and the
 * count of what remains stand before the items; one in protobuf or CBOR, too, whose length or number does.
 */
#include <stdlib.h>

#include "core/pipeline/gzip.h"
#include "core/pipeline/offload.h"
#include "core/pipeline/render.h"
#include "core/pipeline/resource/list_form.h"
#include "core/pipeline/resource/printing.h"
#include "core/pipeline/resource/source.h"
#include "core/pipeline/resource/token.h"
#include "core/pipeline/resource/verbs.h"
#include "core/pipeline/server.h"

/* SLICE_ENCODED: where objects may have to be encoded first. LARGE_OBJECT: one that is worth another thread when it has to be. */
enum {
	SLICE_OBJECTS = 512,
	SLICE_ENCODED = 64,
	LARGE_OBJECT = 16 * 1024,
	PART_BYTES = 128 * 1024,
	COMPRESSED_PART_BYTES = 32 * 1024,
	WHOLE_BYTES = 1024 * 1024,
	DRAINED_BYTES = 64 * 1024,
};

struct list;
typedef enum ks_stage_result (*list_step)(struct list *l);

struct list {
	struct ks_handler_run handler;
	struct ks_request *request;
	list_step step;
	struct ks_list_options options;
	struct ks_source source;
	uint16_t resource;             /* in the version asked for */
	struct ks_list_form form;
	/* with a limit, or where the items' length stands before them: the page, gathered */
	uint64_t limit;
	struct ks_object **page;
	size_t n, cap;
	uint64_t rest;                 /* objects behind it */
	bool full;
	/* the answer */
	struct ks_chunk chunk;
	size_t sent;                   /* of the page */
	bool first, streaming;
	struct ks_pretty pretty;
	bool compresses;               /* once it is long enough */
	struct ks_gzip *gzip;          /* what is streamed goes through it */
	struct ks_away *away;          /* working on `large` */
	struct ks_object *large;       /* of the page, or of the source */
	struct ks_task task;
	struct ks_request_end end;
};

static enum ks_stage_result step_open(struct list *l);
static enum ks_stage_result step_gather(struct list *l);
static enum ks_stage_result step_build(struct list *l);
static enum ks_stage_result step_send(struct list *l);
static void next_turn(struct list *l);

static void end_list(struct ks_request_end *end)
{
	struct list *l = (struct list *)((char *)end - offsetof(struct list, end));

	for (size_t i = 0; i < l->n; i++)
		ks_object_unref(l->page[i]);
	free(l->page);
	ks_chunk_fini(&l->chunk);
	ks_gzip_free(&l->gzip);
	ks_list_form_close(&l->form);
	ks_source_close(&l->source);
}

static enum ks_stage_result fail(struct list *l)
{
	ks_status_internal(&l->request->status, &l->request->arena, "out of memory");
	return KS_STAGE_FAILED;
}

static enum ks_stage_result run(struct list *l)
{
	enum ks_stage_result result;

	if (ks_request_is_away(l->away))
		return KS_STAGE_PENDING;
	result = KS_STAGE_NEXT;
	ks_away_take(l->away, &result);
	while (result == KS_STAGE_NEXT)
		result = l->step(l);
	return result;
}

static enum ks_stage_result run_again(struct ks_handler_run *handler)
{
	return run((struct list *)handler);
}

/* Lets others have the worker. */
static enum ks_stage_result yield(struct list *l)
{
	ks_request_resume(l->request);
	return KS_STAGE_PENDING;
}

static enum ks_stage_result step_open(struct list *l)
{
	enum ks_stage_result result = ks_source_open(&l->source);

	if (result != KS_STAGE_NEXT)
		return result;
	l->limit = l->options.limit > 0 && !l->source.unlimited ? (uint64_t)l->options.limit : UINT64_MAX;
	l->step = l->limit != UINT64_MAX || ks_list_form_measures(&l->form) ? step_gather : step_build;
	l->first = true;
	return KS_STAGE_NEXT;
}

/* -- a page ------------------------------------------------------------------------------------------------------- */

static bool keep(struct list *l, struct ks_object *object)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 64;
		struct ks_object **page = realloc(l->page, cap * sizeof(*page));

		if (!page)
			return false;
		l->page = page;
		l->cap = cap;
	}
	l->page[l->n++] = ks_object_ref(object);
	return true;
}

static enum ks_stage_result measure_large(struct ks_request *copy, void *arg)
{
	struct list *l = arg;

	if (!ks_list_form_measure(&l->form, l->large))
		return KS_STAGE_NEXT;
	ks_status_internal(&copy->status, &copy->arena, "out of memory");
	return KS_STAGE_FAILED;
}

static enum ks_stage_result add_large(struct ks_request *copy, void *arg)
{
	struct list *l = arg;

	if (!ks_list_form_item(&l->form, l->large, &l->chunk))
		return KS_STAGE_NEXT;
	ks_status_internal(&copy->status, &copy->arena, "out of memory");
	return KS_STAGE_FAILED;
}

/* What takes long with a large object is done on another thread, as long as the answer has not begun. */
static bool leave(struct list *l, struct ks_object *object, enum ks_stage_result (*work)(struct ks_request *copy, void *arg))
{
	if (object->json->len < LARGE_OBJECT || l->streaming)
		return false;
	l->large = object;
	return ks_request_leave(l->request, &l->away, work, l);
}

static enum ks_stage_result step_gather(struct list *l)
{
	bool counts = !l->options.labels && !l->options.n_fields;
	uint32_t budget = ks_list_form_measures(&l->form) ? SLICE_ENCODED : SLICE_OBJECTS;
	struct ks_object *object;
	int64_t left;

	while ((object = ks_source_next(&l->source, &budget))) {
		if (l->n < l->limit) {
			if (!keep(l, object))
				return fail(l);
			if (ks_list_form_measures(&l->form) && leave(l, object, measure_large))
				return KS_STAGE_PENDING;
			if (ks_list_form_measures(&l->form) && ks_list_form_measure(&l->form, object))
				return fail(l);
			continue;
		}
		l->rest++;
		/* With a selector, or when the rest is known otherwise, one more is enough. */
		left = counts ? ks_source_left(&l->source) : 0;
		if (left >= 0) {
			l->rest += (uint64_t)left;
			break;
		}
	}
	if (!object && !budget)
		return yield(l);
	l->full = true;
	l->step = step_build;
	return KS_STAGE_NEXT;
}

/* -- building ----------------------------------------------------------------------------------------------------- */

/* The token of the next page; NULL when out of memory. */
static const char *continue_token(struct list *l)
{
	struct ks_object *last = l->page[l->n - 1];
	struct ks_str key = last->name;

	/* Relative to what was asked for: of all namespaces the key begins with the namespace. */
	if (last->ns.n && !l->source.filter.ns.n) {
		char *both = ks_arena_printf(&l->request->arena, "%.*s/%.*s", (int)last->ns.n, last->ns.p, (int)last->name.n, last->name.p);

		if (!both)
			return NULL;
		key = ks_str_from(both);
	}
	return ks_token_encode(&l->request->arena, (int64_t)l->source.revision, key);
}

static bool add_head(struct list *l)
{
	struct ks_table_meta meta = {.revision = l->source.revision, .remaining = -1};

	if (l->full && l->rest) {
		meta.continue_ = ks_str_from(continue_token(l));
		if (!meta.continue_.n)
			return false;
		if (!l->options.labels && !l->options.n_fields && !ks_source_is_cut(&l->source))
			meta.remaining = (int64_t)l->rest;
	}
	l->first = false;
	ks_list_form_head(&l->form, &meta, &l->chunk);
	return true;
}

static struct ks_object *next_object(struct list *l, uint32_t *budget)
{
	if (!l->full)
		return ks_source_next(&l->source, budget);
	if (l->sent == l->n)
		return NULL;
	if (!*budget)
		return NULL;
	--*budget;
	return l->page[l->sent++];
}

static bool is_pretty(const struct list *l)
{
	return l->request->media.format == KS_MEDIA_JSON && l->request->media.pretty;
}

/* Compressing and indenting take longer than copying: in smaller parts, and from the first moment when it is called for. */
static bool is_large(struct list *l)
{
	size_t bytes = l->chunk.bytes + l->chunk.used;

	if (l->gzip || (l->streaming && is_pretty(l)))
		return bytes >= COMPRESSED_PART_BYTES;
	if (l->streaming || is_pretty(l))
		return bytes >= PART_BYTES;
	return bytes >= WHOLE_BYTES || (l->compresses && ks_request_compresses(l->request, bytes));
}

/* Can parts be sent as they are made? */
static bool can_stream(const struct list *l)
{
	return l->request->stream && (l->form.proto || l->form.cbor || l->request->media.format == KS_MEDIA_JSON);
}

/* What was gathered, indented when people read it. False when out of memory. */
static bool indent(struct list *l)
{
	struct ks_buf out;

	if (!is_pretty(l))
		return true;
	ks_buf_init(&out);
	for (size_t i = 0; i < l->chunk.n; i++)
		ks_pretty_add(&l->pretty, ks_str_of(l->chunk.pieces[i].data, l->chunk.pieces[i].len), &out);
	ks_chunk_fini(&l->chunk);
	if (!out.failed)
		ks_chunk_add(&l->chunk, out.data, out.len);
	l->chunk.failed |= out.failed;
	ks_buf_fini(&out);
	return ks_chunk_seal(&l->chunk);
}

/* What was gathered, if it is to be, compressed. False when out of memory. */
static bool compress(struct list *l, bool last)
{
	struct ks_buf out;
	bool good = true;

	if (!l->gzip)
		return true;
	ks_buf_init(&out);
	for (size_t i = 0; good && i < l->chunk.n; i++)
		good = ks_gzip_write(l->gzip, ks_str_of(l->chunk.pieces[i].data, l->chunk.pieces[i].len), false, &out) == 0;
	if (good && last) /* there may be nothing behind the last item */
		good = ks_gzip_write(l->gzip, (struct ks_str){0}, true, &out) == 0;
	ks_chunk_fini(&l->chunk);
	if (good)
		ks_chunk_add(&l->chunk, out.data, out.len);
	ks_buf_fini(&out);
	return good && ks_chunk_seal(&l->chunk);
}

static enum ks_stage_result end_of_items(struct list *l)
{
	if (l->first && !add_head(l))
		return fail(l);
	ks_list_form_tail(&l->form, &l->chunk);
	if (!ks_chunk_seal(&l->chunk))
		return fail(l);
	if (l->streaming) {
		if (!indent(l) || !compress(l, true))
			return fail(l);
		if (ks_stream_write(l->request->stream, l->chunk.pieces, l->chunk.n) == 0)
			ks_stream_end(l->request->stream);
		ks_chunk_taken(&l->chunk);
		return KS_STAGE_ANSWERED;
	}
	if (ks_list_form_measures(&l->form))
		ks_request_respond_formed(l->request, 200, NULL, 0, l->chunk.pieces, l->chunk.n);
	else
		ks_request_respond_object(l->request, 200, NULL, 0, l->chunk.pieces, l->chunk.n);
	ks_chunk_taken(&l->chunk);
	return KS_STAGE_ANSWERED;
}

static enum ks_stage_result step_build(struct list *l)
{
	uint32_t budget = l->form.table ? KS_PRINTING_SLICE : SLICE_OBJECTS;
	struct ks_object *object;

	while (!(is_large(l) && can_stream(l)) && (object = next_object(l, &budget))) {
		if (l->first && !add_head(l))
			return fail(l);
		if (l->form.table && leave(l, object, add_large))
			return KS_STAGE_PENDING;
		if (ks_list_form_item(&l->form, object, &l->chunk))
			return fail(l);
		if (l->form.table && object->json->len >= LARGE_OBJECT && budget > 1)
			budget = 0; /* one is enough for a slice */
	}
	if (is_large(l) && can_stream(l)) {
		l->step = step_send;
		return KS_STAGE_NEXT;
	}
	if (budget)
		return end_of_items(l);
	if (!l->streaming)
		return yield(l);
	next_turn(l);
	return KS_STAGE_ANSWERED;
}

/* -- streaming ---------------------------------------------------------------------------------------------------- */

/* Once an answer has begun, stages are not called any more: the list carries itself on. */
static void carry_on(struct list *l)
{
	enum ks_stage_result result;

	if (l->request->closed)
		return;
	result = run(l);
	if (result == KS_STAGE_FAILED)
		ks_stream_reset(l->request->stream);
}

static void on_drained(struct ks_stream *stream)
{
	struct ks_request *request = ks_stream_data(stream);

	if (request)
		carry_on(request->handler_data);
}

static void on_turn(struct ks_task *task)
{
	struct list *l = (struct list *)((char *)task - offsetof(struct list, task));
	struct ks_request *request = l->request;

	carry_on(l);
	ks_request_unpin(request);
}

static void next_turn(struct list *l)
{
	l->task.run = on_turn;
	ks_request_pin(l->request);
	ks_loop_post(l->request->loop, &l->task);
}

static int begin_stream(struct list *l)
{
	static const struct ks_header headers[] = {{{"content-encoding", 16}, {"gzip", 4}}, {{"vary", 4}, {"Accept-Encoding", 15}}};

	if (l->compresses)
		l->gzip = ks_gzip_new();
	return ks_request_begin_stream(l->request, 200, ks_media_name(&l->request->media), headers, l->gzip ? 2 : 0);
}

static enum ks_stage_result step_send(struct list *l)
{
	int result;

	if (!ks_chunk_seal(&l->chunk))
		return fail(l);
	if (!l->streaming && begin_stream(l))
		return KS_STAGE_ANSWERED;
	l->streaming = true;
	if (!indent(l) || !compress(l, false))
		return fail(l);
	result = ks_stream_write(l->request->stream, l->chunk.pieces, l->chunk.n);
	ks_chunk_taken(&l->chunk);
	l->step = step_build;
	if (result)
		return KS_STAGE_ANSWERED;
	if (ks_stream_queued(l->request->stream) > DRAINED_BYTES)
		ks_stream_on_drained(l->request->stream, DRAINED_BYTES, on_drained);
	else
		next_turn(l);
	return KS_STAGE_ANSWERED;
}

/* -- the verb ----------------------------------------------------------------------------------------------------- */

enum ks_stage_result ks_resource_list(struct ks_request *request)
{
	const struct ks_schema *s = request->server->schema;
	struct list *l = ks_arena_zalloc(&request->arena, 1, sizeof(*l));

	if (!l) {
		ks_status_internal(&request->status, &request->arena, "out of memory");
		return KS_STAGE_FAILED;
	}
	if (ks_request_negotiate(request, KS_ALLOW_PARTIAL | KS_ALLOW_TABLE) || ks_list_options_parse(request, false, &l->options))
		return KS_STAGE_FAILED;
	l->handler.run = run_again;
	l->request = request;
	l->step = step_open;
	l->resource = s->resources[request->info.resource_index].parent;
	l->source.request = request;
	l->source.options = &l->options;
	l->source.storage = s->resources[l->resource].storage;
	l->source.cache = ks_cache_find(request->server->cache, l->source.storage);
	ks_list_options_filter(request, &l->options, &l->source.filter);
	l->compresses = ks_request_compresses(request, SIZE_MAX);
	ks_chunk_init(&l->chunk);
	if (ks_list_form_open(request, l->resource, &l->form))
		return KS_STAGE_FAILED;
	request->handler_data = l;
	ks_request_on_end(request, &l->end, end_list);
	return run(l);
}
