/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/source.h"

#include <errno.h>

#include <keelson/plugin.h>

#include "core/pipeline/resource/token.h"
#include "core/pipeline/server.h"

/* -- which state -------------------------------------------------------------------------------------------------- */

static int read_token(struct ks_source *s)
{
	struct ks_str revision = s->options->resource_version;
	struct ks_token token;
	const char *message = "";
	int result = ks_token_decode(&s->request->arena, s->request->server->schema, s->options->continue_token, &token, &message);

	if (result == -ENOMEM)
		return ks_status_internal(&s->request->status, &s->request->arena, "out of memory");
	if (result)
		return ks_status_bad_request(&s->request->status, &s->request->arena, "invalid continue token: %s", message);
	if (revision.n && !ks_str_is(revision, "0"))
		return ks_status_bad_request(&s->request->status, &s->request->arena, "specifying resource version is not allowed when using continue");
	s->start = token.start;
	s->exact = token.revision > 0;
	s->asked = token.revision > 0 ? (uint64_t)token.revision : 0;
	return 0;
}

static int read_revision(struct ks_source *s)
{
	const struct ks_list_options *o = s->options;
	const char *message = "";

	if (ks_revision_parse(&s->request->arena, o->resource_version, &s->asked, &message))
		return ks_status_bad_request(&s->request->status, &s->request->arena, "invalid resource version: %s", message);
	s->exact = s->asked && (ks_str_is(o->match, "Exact") || (!o->match.n && o->limit > 0));
	s->unlimited = o->resource_version.n && !s->asked;
	return 0;
}

/* -- from the store ------------------------------------------------------------------------------------------------ */

static void on_listed(struct ks_store_list *list)
{
	struct ks_source *s = list->arg;

	ks_request_resume(s->request);
	ks_request_unpin(s->request);
}

static enum ks_stage_result ask_store(struct ks_source *s)
{
	const struct ks_schema *schema = s->request->server->schema;
	bool selects = s->options->labels || s->options->n_fields;

	s->from_store = true;
	ks_buf_init(&s->list.prefix);
	ks_buf_init(&s->list.start);
	ks_store_key(&s->list.prefix, schema, s->storage, s->filter.ns, (struct ks_str){0});
	if (s->start.n) {
		ks_buf_add(&s->list.start, s->list.prefix.data, s->list.prefix.len);
		ks_buf_add(&s->list.start, s->start.p, s->start.n);
	}
	if (s->list.prefix.failed || s->list.start.failed) {
		ks_status_internal(&s->request->status, &s->request->arena, "out of memory");
		return KS_STAGE_FAILED;
	}
	s->list.loop = s->request->loop;
	s->list.revision = s->asked;
	s->list.limit = s->options->limit > 0 && !selects ? (uint64_t)s->options->limit + 1 : 0;
	s->list.done = on_listed;
	s->list.arg = s;
	ks_request_pin(s->request);
	ks_store_list_start(ks_router_find(s->request->server->router, schema, s->storage), &s->list);
	return KS_STAGE_PENDING;
}

/* The state that a list began with is gone. The answer has a token that goes on with whatever is there now. */
static enum ks_stage_result token_too_old(struct ks_source *s)
{
	struct ks_str last = s->start;
	const char *token;
	struct ks_buf json;

	if (last.n && !last.p[last.n - 1])
		last.n--;
	token = ks_token_encode(&s->request->arena, -1, last);
	if (!token) {
		ks_status_internal(&s->request->status, &s->request->arena, "out of memory");
		return KS_STAGE_FAILED;
	}
	ks_buf_init(&json);
	ks_buf_printf(&json, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{\"continue\":\"%s\"},\"status\":\"Failure\",\"message\":\"", token);
	ks_buf_add_str(&json, "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue "
		"parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token "
		"results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and "
		"now may show up in the list.\",\"reason\":\"Expired\",\"code\":410}\n");
	if (json.failed) {
		ks_buf_fini(&json);
		ks_status_internal(&s->request->status, &s->request->arena, "out of memory");
		return KS_STAGE_FAILED;
	}
	ks_request_respond_json(s->request, 410, &json);
	return KS_STAGE_ANSWERED;
}

static enum ks_stage_result too_old(struct ks_source *s)
{
	if (s->options->continue_token.n)
		return token_too_old(s);
	ks_status_set(&s->request->status, &s->request->arena, 410, "Expired", "The resourceVersion for the provided list is too old.");
	return KS_STAGE_FAILED;
}

static enum ks_stage_result take_store_answer(struct ks_source *s)
{
	if (s->list.result == KS_ERR_COMPACTED)
		return too_old(s);
	if (s->list.result) {
		ks_status_internal(&s->request->status, &s->request->arena, "the store could not be read");
		return KS_STAGE_FAILED;
	}
	s->revision = s->asked;
	return KS_STAGE_NEXT;
}

/* -- opening ------------------------------------------------------------------------------------------------------ */

static enum ks_stage_result take_snapshot(struct ks_source *s)
{
	int result = 0;

	if (s->exact)
		result = ks_cache_snapshot_at(s->cache, s->asked, &s->snapshot);
	else
		ks_cache_snapshot(s->cache, &s->snapshot);
	if (result == -ENOENT)
		return ask_store(s);
	if (result) {
		ks_status_internal(&s->request->status, &s->request->arena, "out of memory");
		return KS_STAGE_FAILED;
	}
	s->has_snapshot = true;
	s->revision = s->snapshot.revision;
	ks_cursor_init(&s->cursor, &s->snapshot, s->filter.ns, s->start);
	return KS_STAGE_NEXT;
}

enum ks_stage_result ks_source_open(struct ks_source *s)
{
	if (s->from_store)
		return take_store_answer(s);
	if (s->waited) {
		if (ks_revision_wait_result(&s->wait))
			return KS_STAGE_FAILED;
		return take_snapshot(s);
	}
	if (s->options->continue_token.n ? read_token(s) : read_revision(s))
		return KS_STAGE_FAILED;
	if (s->asked > ks_cache_revision(s->cache)) {
		s->waited = true;
		return ks_revision_wait_start(&s->wait, s->request, s->cache, s->asked);
	}
	return take_snapshot(s);
}

void ks_source_close(struct ks_source *s)
{
	if (s->has_snapshot)
		ks_snapshot_release(&s->snapshot);
	s->has_snapshot = false;
	ks_object_unref(s->made);
	s->made = NULL;
	if (!s->from_store)
		return;
	ks_store_list_fini(&s->list);
	ks_buf_fini(&s->list.prefix);
	ks_buf_fini(&s->list.start);
	s->from_store = false;
}

/* -- walking ------------------------------------------------------------------------------------------------------ */

static struct ks_object *next_of_store(struct ks_source *s)
{
	const struct ks_schema *schema = s->request->server->schema;
	struct ks_store_item *item;

	ks_object_unref(s->made);
	s->made = NULL;
	while (!s->made && s->at < s->list.n) {
		item = &s->list.items[s->at++];
		s->made = ks_object_from_json(schema, s->storage, item->value, NULL);
		if (s->made)
			s->made->revision = item->mod_revision;
	}
	return s->made;
}

struct ks_object *ks_source_next(struct ks_source *s, uint32_t *budget)
{
	const struct ks_schema *schema = s->request->server->schema;
	struct ks_object *object;

	while (*budget) {
		--*budget;
		object = s->from_store ? next_of_store(s) : ks_cursor_next(&s->cursor);
		if (!object) {
			/* The end is told by budget being left. */
			++*budget;
			return NULL;
		}
		if (ks_watch_filter_match(schema, &s->filter, object))
			return object;
	}
	return NULL;
}

bool ks_source_is_cut(const struct ks_source *s)
{
	return s->from_store && s->list.more && !s->list.count;
}

int64_t ks_source_left(const struct ks_source *s)
{
	if (!s->from_store)
		return (int64_t)ks_cursor_left(&s->cursor);
	if (s->list.count)
		return (int64_t)s->list.count - (int64_t)s->at;
	return s->list.more ? -1 : (int64_t)(s->list.n - s->at);
}
