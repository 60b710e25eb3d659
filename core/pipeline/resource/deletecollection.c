/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Deletes what a list finds, one object after the other, and answers that list. What has gone in the meantime is passed over. */
#include <stdlib.h>

#include "core/pipeline/resource/delete.h"
#include "core/pipeline/resource/list_form.h"
#include "core/pipeline/resource/source.h"
#include "core/pipeline/resource/token.h"

enum { SLICE_OBJECTS = 512, SLICE_DELETIONS = 16 };

struct collection {
	struct ks_list_options options;
	struct ks_source source;
	struct ks_object **items;
	size_t n, cap, at;
	uint64_t rest;
	bool rested;
	struct ks_request_end end;
};

static enum ks_stage_result next_item(struct ks_edit *w);

static void end_collection(struct ks_request_end *end)
{
	struct collection *c = (struct collection *)((char *)end - offsetof(struct collection, end));

	for (size_t i = 0; i < c->n; i++)
		ks_object_unref(c->items[i]);
	free(c->items);
	ks_source_close(&c->source);
}

/* -- what there is ------------------------------------------------------------------------------------------------ */

static bool keep(struct collection *c, struct ks_object *object)
{
	if (c->n == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 64;
		struct ks_object **items = realloc(c->items, cap * sizeof(*items));

		if (!items)
			return false;
		c->items = items;
		c->cap = cap;
	}
	c->items[c->n++] = ks_object_ref(object);
	return true;
}

static enum ks_stage_result gather(struct ks_edit *w)
{
	struct collection *c = w->data;
	uint32_t budget = SLICE_OBJECTS;
	struct ks_object *object;

	while ((object = ks_source_next(&c->source, &budget))) {
		if (c->options.limit > 0 && c->n >= (uint64_t)c->options.limit) {
			c->rest++;
			continue;
		}
		if (!keep(c, object)) {
			ks_edit_out_of_memory(w);
			return KS_STAGE_FAILED;
		}
	}
	if (!budget) {
		ks_request_resume(w->request);
		return KS_STAGE_PENDING;
	}
	w->step = next_item;
	return KS_STAGE_NEXT;
}

static enum ks_stage_result open_source(struct ks_edit *w)
{
	struct collection *c = w->data;
	enum ks_stage_result result = ks_source_open(&c->source);

	if (result == KS_STAGE_NEXT)
		w->step = gather;
	return result;
}

/* -- the answer --------------------------------------------------------------------------------------------------- */

static const char *continue_token(struct ks_edit *w)
{
	struct collection *c = w->data;
	struct ks_object *last = c->items[c->n - 1];
	struct ks_str key = last->name;

	if (last->ns.n && !c->source.filter.ns.n) {
		char *both = ks_arena_printf(&w->request->arena, "%.*s/%.*s", (int)last->ns.n, last->ns.p, (int)last->name.n, last->name.p);

		key = ks_str_from(both);
	}
	return key.p ? ks_token_encode(&w->request->arena, (int64_t)c->source.revision, key) : NULL;
}

static bool list_meta(struct ks_edit *w, struct ks_table_meta *meta_r)
{
	struct collection *c = w->data;

	*meta_r = (struct ks_table_meta){.revision = c->source.revision, .remaining = -1};
	if (!c->rest)
		return true;
	meta_r->continue_ = ks_str_from(continue_token(w));
	if (!c->options.labels && !c->options.n_fields)
		meta_r->remaining = (int64_t)c->rest;
	return meta_r->continue_.n != 0;
}

/* The objects as the list saw them. */
static enum ks_stage_result answer_list(struct ks_edit *w)
{
	struct collection *c = w->data;
	struct ks_table_meta meta;
	struct ks_list_form form;
	struct ks_chunk chunk;
	bool good;

	if (ks_list_form_open(w->request, w->resource, &form))
		return KS_STAGE_FAILED;
	ks_chunk_init(&chunk);
	good = list_meta(w, &meta);
	for (size_t i = 0; good && ks_list_form_measures(&form) && i < c->n; i++)
		good = !ks_list_form_measure(&form, c->items[i]);
	if (good)
		ks_list_form_head(&form, &meta, &chunk);
	for (size_t i = 0; good && i < c->n; i++)
		good = !ks_list_form_item(&form, c->items[i], &chunk);
	ks_list_form_tail(&form, &chunk);
	ks_list_form_close(&form);
	if (!good || !ks_chunk_seal(&chunk)) {
		ks_chunk_fini(&chunk);
		ks_edit_out_of_memory(w);
		return KS_STAGE_FAILED;
	}
	if (ks_list_form_measures(&form))
		ks_request_respond_formed(w->request, 200, NULL, 0, chunk.pieces, chunk.n);
	else
		ks_request_respond_object(w->request, 200, NULL, 0, chunk.pieces, chunk.n);
	ks_chunk_taken(&chunk);
	return KS_STAGE_ANSWERED;
}

/* -- one after the other ------------------------------------------------------------------------------------------ */

static enum ks_stage_result next_item(struct ks_edit *w)
{
	struct collection *c = w->data;
	struct ks_object *item;

	if (c->at == c->n) {
		w->step = answer_list;
		return KS_STAGE_NEXT;
	}
	/* Deletions that wait for nothing (of a dry run) would keep the worker. */
	if (c->at && c->at % SLICE_DELETIONS == 0 && !c->rested) {
		c->rested = true;
		ks_request_resume(w->request);
		return KS_STAGE_PENDING;
	}
	c->rested = false;
	item = c->items[c->at++];
	ks_list_form_prepare(w->request, w->resource, item);
	ks_edit_reset(w, item->ns, item->name);
	w->ctx.dry_run = w->delete_options.dry_run;
	w->step = ks_delete_begin;
	return KS_STAGE_NEXT;
}

/* Runs the steps; what somebody else has deleted is as good as deleted here. */
static enum ks_stage_result run(struct ks_edit *w)
{
	enum ks_stage_result result;

	for (;;) {
		result = ks_edit_run(w);
		if (result != KS_STAGE_FAILED || w->request->status.code != 404)
			return result;
		memset(&w->request->status, 0, sizeof(w->request->status));
		w->step = next_item;
	}
}

static enum ks_stage_result run_again(struct ks_handler_run *handler)
{
	return run((struct ks_edit *)handler);
}

/* What can't be read is deleted one by one. */
static enum ks_stage_result refuse_corrupt(struct ks_edit *w)
{
	struct ks_status *status = &w->request->status;

	ks_status_invalid(status, &w->request->arena, "meta.k8s.io", "DeleteOptions", (struct ks_str){0});
	ks_status_cause(status, &w->request->arena, "FieldValueInvalid", "ignoreStoreReadErrorWithClusterBreakingPotential",
		"Invalid value: true: is not allowed with DELETECOLLECTION, try again after removing the option");
	ks_status_invalid_finish(status, &w->request->arena);
	return KS_STAGE_FAILED;
}

static enum ks_stage_result read_request(struct ks_edit *w)
{
	enum ks_stage_result body = ks_request_need_body(w->request);

	if (body != KS_STAGE_NEXT)
		return body;
	if (ks_delete_options_parse(w->request, &w->delete_options))
		return KS_STAGE_FAILED;
	if (w->delete_options.ignore_read_errors)
		return refuse_corrupt(w);
	w->answer = next_item;
	w->step = open_source;
	return KS_STAGE_NEXT;
}

enum ks_stage_result ks_resource_delete_collection(struct ks_request *request)
{
	struct collection *c = ks_arena_zalloc(&request->arena, 1, sizeof(*c));
	struct ks_edit *w;

	if (!c) {
		ks_status_internal(&request->status, &request->arena, "out of memory");
		return KS_STAGE_FAILED;
	}
	if (ks_request_negotiate(request, KS_ALLOW_PARTIAL | KS_ALLOW_TABLE) || ks_list_options_parse(request, false, &c->options))
		return KS_STAGE_FAILED;
	w = ks_edit_new(request, read_request);
	if (!w)
		return KS_STAGE_FAILED;
	w->handler.run = run_again;
	w->data = c;
	c->source.request = request;
	c->source.options = &c->options;
	c->source.storage = w->storage;
	c->source.cache = w->cache;
	ks_list_options_filter(request, &c->options, &c->source.filter);
	ks_request_on_end(request, &c->end, end_collection);
	return run(w);
}
