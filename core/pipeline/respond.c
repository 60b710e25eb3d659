/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Answers: headers that every answer has, warnings, forms. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/pipeline/chain.h"
#include "core/pipeline/gzip_answer.h"
#include "core/pipeline/inner.h"
#include "core/pipeline/lane.h"
#include "core/pipeline/metrics.h"
#include "core/pipeline/offload.h"
#include "core/pipeline/render.h"
#include "core/pipeline/request.h"
#include "core/pipeline/server.h"
#include "core/util/log.h"
#include "plugins/host/host.h"

/* Answers that are longer are compressed for clients that can take it. */
enum { GZIP_LEAST = 128 * 1024 };
/* kube-apiserver's bounds, in runes: of all warnings, and of each once they are passed. */
enum { WARNINGS_MOST = 4096, WARNING_CUT = 256, WARNINGS_ROOM = 512, WARNINGS_FIRST = 8 };

/* -- warnings -------------------------------------------------------------------------------------------------- */

static size_t runes(struct ks_str text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++)
		n += ((unsigned char)text.p[i] & 0xc0) != 0x80;
	return n;
}

static struct ks_str cut(struct ks_str text, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++) {
		n += ((unsigned char)text.p[i] & 0xc0) != 0x80;
		if (n > most)
			return ks_str_of(text.p, i);
	}
	return text;
}

static bool fits_header(struct ks_str text)
{
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7f)
			return false;
	return text.n > 0;
}

/* From now on each is cut, those before, too. */
static void start_cutting(struct ks_request *request)
{
	request->warnings_cut = true;
	request->warned = 0;
	for (uint32_t i = 0; i < request->n_warnings; i++) {
		request->warnings[i] = cut(request->warnings[i], WARNING_CUT);
		request->warned += runes(request->warnings[i]);
	}
}

/* Room for one more: doubled whenever the count is a power of two. */
static bool warning_room(struct ks_request *request)
{
	uint32_t n = request->n_warnings;
	struct ks_str *more;

	if (n != 0 && (n < WARNINGS_FIRST || (n & (n - 1)) != 0))
		return true;
	more = ks_arena_zalloc(&request->arena, n ? 2 * n : WARNINGS_FIRST, sizeof(*more));
	if (!more)
		return false;
	if (n)
		memcpy(more, request->warnings, n * sizeof(*more));
	request->warnings = more;
	return true;
}

void ks_request_warn(struct ks_request *request, struct ks_str text)
{
	char *copy;

	if (!fits_header(text) || request->answered || request->n_warnings == WARNINGS_ROOM)
		return;
	if (request->warnings_cut && request->warned >= WARNINGS_MOST)
		return;
	for (uint32_t i = 0; i < request->n_warnings; i++)
		if (ks_str_eq(request->warnings[i], request->warnings_cut ? cut(text, WARNING_CUT) : text))
			return;
	copy = ks_arena_dup(&request->arena, text.p, text.n);
	if (!copy || !warning_room(request))
		return;
	if (!request->warnings_cut && request->warned + runes(text) > WARNINGS_MOST)
		start_cutting(request);
	text = ks_str_of(copy, text.n);
	if (request->warnings_cut)
		text = cut(text, WARNING_CUT);
	request->warnings[request->n_warnings++] = text;
	request->warned += runes(text);
}

/* 299 - "text" */
static struct ks_str warning_header(struct ks_arena *arena, struct ks_str text)
{
	static const char start[] = "299 - \"";
	char *out = ks_arena_alloc(arena, sizeof(start) + 2 * text.n + 1);
	size_t n = sizeof(start) - 1;

	if (!out)
		return (struct ks_str){0};
	memcpy(out, start, n);
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '"' || text.p[i] == '\\')
			out[n++] = '\\';
		out[n++] = text.p[i];
	}
	out[n++] = '"';
	return ks_str_of(out, n);
}

/* -- headers --------------------------------------------------------------------------------------------------- */

static bool has_header(const struct ks_header *headers, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (ks_str_is(headers[i].name, name))
			return true;
	return false;
}

/* The caller's headers and those that every answer has; NULL when out of memory. */
static struct ks_header *all_headers(
	struct ks_request *request, const char *content_type, const struct ks_header *headers, size_t n_headers, size_t *n_r)
{
	struct ks_header *all = ks_arena_alloc(&request->arena, (n_headers + request->n_warnings + 4) * sizeof(*all));
	size_t n = 0;

	if (!all)
		return NULL;
	all[n++] = (struct ks_header){KS_STR_LIT("audit-id"), ks_str_from(request->audit_id)};
	if (!has_header(headers, n_headers, "cache-control"))
		all[n++] = (struct ks_header){KS_STR_LIT("cache-control"), KS_STR_LIT("no-cache, private")};
	if (content_type)
		all[n++] = (struct ks_header){KS_STR_LIT("content-type"), ks_str_from(content_type)};
	for (size_t i = 0; i < n_headers; i++)
		all[n++] = headers[i];
	for (uint32_t i = 0; i < request->n_warnings; i++) {
		struct ks_str value = warning_header(&request->arena, request->warnings[i]);

		if (value.p)
			all[n++] = (struct ks_header){KS_STR_LIT("warning"), value};
	}
	*n_r = n;
	return all;
}

static void release_pieces(const struct ks_piece *pieces, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (pieces[i].release)
			pieces[i].release(pieces[i].owner);
}

/* The request is answered: nothing else will be. */
static void mark_answered(struct ks_request *request, int code)
{
	request->answered = true;
	request->code = (uint16_t)code;
	ks_metrics_answered(request);
}

/* -- whole answers --------------------------------------------------------------------------------------------- */

void ks_request_respond(struct ks_request *request, int code, const char *content_type, const struct ks_header *headers, size_t n_headers,
	const struct ks_piece *pieces, size_t n_pieces)
{
	struct ks_header *all;
	size_t n;

	if (ks_request_over(request)) {
		release_pieces(pieces, n_pieces);
		return;
	}
	if (request->copy) {
		ks_copy_answer(request, code, content_type, false, headers, n_headers, pieces, n_pieces);
		return;
	}
	mark_answered(request, code);
	ks_timer_cancel(&request->deadline_timer);
	if (request->inner) {
		ks_inner_answer(request, code, pieces, n_pieces);
		request->closed = true;
		ks_request_resume(request); /* nothing runs any more, but the request is given back at a time when nobody uses it */
		return;
	}
	all = all_headers(request, content_type, headers, n_headers, &n);
	if (!all) {
		release_pieces(pieces, n_pieces);
		ks_stream_reset(request->stream);
		return;
	}
	if (ks_stream_respond(request->stream, code, all, n, pieces, n_pieces) != 0)
		ks_log(KS_LOG_DEBUG, "pipeline", "an answer could not be sent audit-id=%s", request->audit_id);
}

void ks_request_respond_buf(struct ks_request *request, int code, const char *content_type, struct ks_buf *buf)
{
	struct ks_piece piece = {.data = buf->data, .len = buf->len, .release = free, .owner = buf->data};

	if (buf->failed) {
		ks_buf_fini(buf);
		ks_status_internal(&request->status, &request->arena, "out of memory");
		ks_request_respond_status(request);
		return;
	}
	ks_buf_init(buf);
	ks_request_respond(request, code, content_type, NULL, 0, &piece, 1);
}

void ks_request_respond_text(struct ks_request *request, int code, const char *text)
{
	static const struct ks_header nosniff = {{"x-content-type-options", 22}, {"nosniff", 7}};
	struct ks_piece piece = {.data = text, .len = strlen(text)};

	if (!request->inner && piece.len)
		piece.data = ks_arena_dup(&request->arena, text, piece.len);
	if (!piece.data)
		piece = (struct ks_piece){.data = "", .len = 0};
	ks_request_respond(request, code, "text/plain; charset=utf-8", &nosniff, 1, &piece, 1);
}

/* -- forms ----------------------------------------------------------------------------------------------------- */

/* JSON in the form of `media`: into `out`. 0 or negative. */
static int render(struct ks_request *request, struct ks_str json, struct ks_buf *out)
{
	if (request->media.format == KS_MEDIA_YAML)
		return ks_render_yaml(json, out);
	if (request->media.format == KS_MEDIA_PROTOBUF)
		return ks_render_proto(request->server->schema, json, out);
	if (request->media.format == KS_MEDIA_CBOR)
		return ks_render_cbor(request->server->schema, json, out);
	ks_render_pretty(json, out);
	return out->failed ? -ENOMEM : 0;
}

static struct ks_str join(const struct ks_piece *pieces, size_t n, struct ks_buf *joined)
{
	if (n == 1)
		return ks_str_of(pieces[0].data, pieces[0].len);
	for (size_t i = 0; i < n; i++)
		ks_buf_add(joined, pieces[i].data, pieces[i].len);
	return ks_buf_str(joined);
}

static size_t length_of(const struct ks_piece *pieces, size_t n)
{
	size_t length = 0;

	for (size_t i = 0; i < n; i++)
		length += pieces[i].len;
	return length;
}

bool ks_request_compresses(const struct ks_request *request, size_t bytes)
{
	return bytes > GZIP_LEAST && ks_gzip_wanted(request);
}

void ks_request_respond_formed(
	struct ks_request *request, int code, const struct ks_header *headers, size_t n_headers, const struct ks_piece *pieces, size_t n_pieces)
{
	if (request->copy && !ks_request_over(request)) {
		ks_copy_answer(request, code, NULL, true, headers, n_headers, pieces, n_pieces);
		return;
	}
	if (!ks_request_over(request) && ks_request_compresses(request, length_of(pieces, n_pieces)) &&
		ks_gzip_answer(request, code, ks_media_name(&request->media), headers, n_headers, pieces, n_pieces))
		return;
	ks_request_respond(request, code, ks_media_name(&request->media), headers, n_headers, pieces, n_pieces);
}

/* The answer has no form that the client asked for. */
static void respond_no_form(struct ks_request *request)
{
	request->media = (struct ks_media){.chosen = true};
	ks_status_set(&request->status, &request->arena, 406, "NotAcceptable",
		"the object does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message");
	ks_request_respond_status(request);
}

struct rendering {
	struct ks_away *away;
	struct ks_header *headers;
	struct ks_piece *pieces;
	size_t n_headers, n_pieces;
	int code;
};

static enum ks_stage_result run_rendering(struct ks_request *copy, void *arg)
{
	struct rendering *r = arg;

	ks_request_respond_object(copy, r->code, r->headers, r->n_headers, r->pieces, r->n_pieces);
	return KS_STAGE_ANSWERED;
}

/* Long answers are rendered on another thread; until then the request counts as not answered. False when that can't be. */
static bool render_elsewhere(
	struct ks_request *request, int code, const struct ks_header *headers, size_t n_headers, const struct ks_piece *pieces, size_t n_pieces)
{
	struct rendering *r = ks_arena_zalloc(&request->arena, 1, sizeof(*r));

	if (!r)
		return false;
	*r = (struct rendering){.n_headers = n_headers,
		.n_pieces = n_pieces,
		.code = code,
		.headers = ks_arena_alloc(&request->arena, (n_headers + 1) * sizeof(*headers)),
		.pieces = ks_arena_alloc(&request->arena, (n_pieces + 1) * sizeof(*pieces))};
	if (!r->headers || !r->pieces)
		return false;
	if (n_headers)
		memcpy(r->headers, headers, n_headers * sizeof(*headers));
	memcpy(r->pieces, pieces, n_pieces * sizeof(*pieces));
	if (!ks_request_leave(request, &r->away, run_rendering, r))
		return false;
	request->rendering = true;
	ks_request_start_deadline(request);
	return true;
}

void ks_request_respond_object(
	struct ks_request *request, int code, const struct ks_header *headers, size_t n_headers, const struct ks_piece *pieces, size_t n_pieces)
{
	const struct ks_media *media = &request->media;
	struct ks_buf joined, out;
	struct ks_piece piece;
	int rc;

	if (request->inner || ks_request_over(request)) {
		ks_request_respond(request, code, "application/json", headers, n_headers, pieces, n_pieces);
		return;
	}
	if (media->format == KS_MEDIA_JSON && !media->pretty) {
		ks_request_respond_formed(request, code, headers, n_headers, pieces, n_pieces);
		return;
	}
	if (!request->copy && length_of(pieces, n_pieces) >= KS_HEAVY_BYTES / 8 &&
		render_elsewhere(request, code, headers, n_headers, pieces, n_pieces))
		return;
	ks_buf_init(&joined);
	ks_buf_init(&out);
	rc = render(request, join(pieces, n_pieces, &joined), &out);
	if (joined.failed)
		rc = -ENOMEM;
	release_pieces(pieces, n_pieces);
	ks_buf_fini(&joined);
	piece = (struct ks_piece){.data = out.data, .len = out.len, .release = free, .owner = out.data};
	if (rc != 0)
		ks_buf_fini(&out);
	if (rc == -ENOTSUP) {
		respond_no_form(request);
		return;
	}
	if (rc != 0) {
		ks_log(KS_LOG_ERROR, "pipeline", "an answer could not be rendered audit-id=%s", request->audit_id);
		piece = (struct ks_piece){.data = "", .len = 0};
		code = 500;
	}
	ks_request_respond_formed(request, code, headers, n_headers, &piece, 1);
}

void ks_request_respond_json(struct ks_request *request, int code, struct ks_buf *buf)
{
	struct ks_piece piece = {.data = buf->data, .len = buf->len, .release = free, .owner = buf->data};

	if (buf->failed) {
		ks_request_respond_buf(request, code, "application/json", buf);
		return;
	}
	ks_buf_init(buf);
	ks_request_respond_object(request, code, NULL, 0, &piece, 1);
}

/* The form of an error: what was negotiated, else (and where another kind than the object was) what Accept says; JSON for those who accept
 * nothing that we have. */
static void choose_error_form(struct ks_request *request)
{
	struct ks_status kept = request->status;

	if (request->media.chosen && request->media.as == KS_AS_OBJECT)
		return;
	if (ks_request_negotiate(request, 0) != 0)
		request->media = (struct ks_media){.chosen = true};
	request->status = kept;
}

void ks_request_respond_status(struct ks_request *request)
{
	struct ks_status *status = &request->status;
	struct ks_header headers[3];
	struct ks_piece piece;
	struct ks_buf buf;
	size_t n = 0;
	char *seconds;

	if (ks_request_over(request))
		return;
	ks_buf_init(&buf);
	if (!request->inner)
		choose_error_form(request);
	ks_status_encode_json(status, &buf);
	if (status->retry_after_seconds > 0) {
		seconds = ks_arena_printf(&request->arena, "%d", status->retry_after_seconds);
		if (seconds)
			headers[n++] = (struct ks_header){KS_STR_LIT("retry-after"), ks_str_from(seconds)};
	}
	if (status->code == 405 && request->allow)
		headers[n++] = (struct ks_header){KS_STR_LIT("allow"), ks_str_from(request->allow)};
	if (status->code == 403)
		headers[n++] = (struct ks_header){KS_STR_LIT("x-content-type-options"), KS_STR_LIT("nosniff")};
	piece = (struct ks_piece){.data = buf.data, .len = buf.len, .release = free, .owner = buf.data};
	if (buf.failed) {
		ks_buf_fini(&buf);
		piece = (struct ks_piece){.data = "", .len = 0};
	}
	ks_request_respond_object(request, status->code ? status->code : 500, headers, n, &piece, 1);
}

/* -- streamed answers ------------------------------------------------------------------------------------------ */

int ks_request_begin_stream(struct ks_request *request, int code, const char *content_type, const struct ks_header *headers, size_t n_headers)
{
	struct ks_header *all;
	size_t n;
	int rc = -ENOMEM;

	if (request->inner)
		return -EOPNOTSUPP;
	if (ks_request_over(request))
		return -ECANCELED;
	all = all_headers(request, content_type, headers, n_headers, &n);
	mark_answered(request, code);
	request->streaming = true;
	if (all)
		rc = ks_stream_begin(request->stream, code, all, n);
	if (rc != 0) {
		ks_stream_reset(request->stream);
		return rc;
	}
	ks_request_start_deadline(request);
	if (request->long_running) {
		ks_metrics_long_running(request);
		ks_plugin_set_unref(request->set);
		request->set = NULL;
		request->chain = NULL;
		if (request->server->draining)
			ks_lane_end_watches(request->lane); /* it came too late to be among those that were ended */
	}
	return 0;
}

void ks_request_trim(struct ks_request *request)
{
	uint16_t index = request->info.resource_index;

	request->info = (struct ks_request_info){.is_resource = request->info.is_resource, .resource_index = index};
	request->query = (struct ks_query){.parsed = true};
	request->user = (struct ks_user_info){0};
	request->method = request->target = request->raw_path = request->raw_query = request->body = (struct ks_str){0};
	request->status = (struct ks_status){0};
	request->media.as_version = (struct ks_str){0};
	request->warnings = NULL;
	request->n_warnings = 0;
	request->stage_data = NULL;
	ks_arena_fini(&request->arena);
	if (request->stream)
		ks_stream_trim(request->stream);
}
