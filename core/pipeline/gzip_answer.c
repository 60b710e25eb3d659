/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/gzip_answer.h"

#include <stdlib.h>

#include "core/pipeline/gzip.h"
#include "core/pipeline/lane.h"

enum { PART_BYTES = 32 * 1024, DRAINED_BYTES = 64 * 1024 };

struct ks_gzip_answer {
	struct ks_request *request;
	struct ks_gzip *gzip;
	struct ks_piece *pieces;
	size_t n, at, offset; /* the piece that is next, and what was read of it */
	struct ks_task task;
	struct ks_request_end end;
};

bool ks_gzip_wanted(const struct ks_request *request)
{
	struct ks_str accepted;

	if (request->inner || !request->stream)
		return false;
	accepted = ks_request_header_view(request, "accept-encoding");
	return accepted.n && memmem(accepted.p, accepted.n, "gzip", 4) && !memmem(accepted.p, accepted.n, "gzip;q=0", 8);
}

static void give_back(struct ks_gzip_answer *a)
{
	ks_gzip_free(&a->gzip);
	free(a->pieces);
	free(a);
}

static void on_end(struct ks_request_end *end)
{
	struct ks_gzip_answer *a = (struct ks_gzip_answer *)((char *)end - offsetof(struct ks_gzip_answer, end));

	for (; a->at < a->n; a->at++)
		if (a->pieces[a->at].release)
			a->pieces[a->at].release(a->pieces[a->at].owner);
	a->request->gzip_answer = NULL;
	give_back(a);
}

/* Some bytes of the pieces; a piece that was read is released. 0 or negative. */
static int compress_part(struct ks_gzip_answer *a, struct ks_buf *out)
{
	size_t budget = PART_BYTES;
	int rc = 0;

	while (rc == 0 && budget > 0 && a->at < a->n) {
		struct ks_piece *piece = &a->pieces[a->at];
		size_t n = piece->len - a->offset;

		if (n > budget)
			n = budget;
		rc = ks_gzip_write(
			a->gzip, ks_str_of((const char *)piece->data + a->offset, n), a->at + 1 == a->n && a->offset + n == piece->len, out);
		a->offset += n;
		budget -= n;
		if (a->offset < piece->len)
			continue;
		if (piece->release)
			piece->release(piece->owner);
		a->at++;
		a->offset = 0;
	}
	return rc;
}

static void go_on(struct ks_gzip_answer *a);

static void on_drained(struct ks_stream *stream)
{
	struct ks_request *request = ks_stream_data(stream);

	if (request && request->gzip_answer)
		go_on(request->gzip_answer);
}

static void on_turn(struct ks_task *task)
{
	struct ks_gzip_answer *a = (struct ks_gzip_answer *)((char *)task - offsetof(struct ks_gzip_answer, task));
	struct ks_request *request = a->request;

	if (!request->closed)
		go_on(a);
	ks_request_unpin(request);
}

static void next_turn(struct ks_gzip_answer *a)
{
	a->task.run = on_turn;
	ks_request_pin(a->request);
	ks_loop_post(a->request->loop, &a->task);
}

static bool write_part(struct ks_gzip_answer *a)
{
	struct ks_stream *stream = a->request->stream;
	struct ks_piece piece;
	struct ks_buf out;

	ks_buf_init(&out);
	if (compress_part(a, &out) != 0 || out.failed) {
		ks_buf_fini(&out);
		ks_stream_reset(stream);
		return false;
	}
	piece = (struct ks_piece){.data = out.data, .len = out.len, .release = free, .owner = out.data};
	if (out.len == 0)
		ks_buf_fini(&out);
	return out.len == 0 || ks_stream_write(stream, &piece, 1) == 0;
}

static void go_on(struct ks_gzip_answer *a)
{
	struct ks_stream *stream = a->request->stream;

	if (!stream || !write_part(a))
		return;
	if (a->at == a->n)
		ks_stream_end(stream);
	else if (ks_stream_queued(stream) > DRAINED_BYTES)
		ks_stream_on_drained(stream, DRAINED_BYTES, on_drained);
	else
		next_turn(a);
}

static struct ks_gzip_answer *new_answer(struct ks_request *request, const struct ks_piece *pieces, size_t n)
{
	struct ks_gzip_answer *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->request = request;
	a->gzip = ks_gzip_new();
	a->pieces = malloc(n * sizeof(*pieces));
	if (!a->gzip || !a->pieces) {
		give_back(a);
		return NULL;
	}
	memcpy(a->pieces, pieces, n * sizeof(*pieces));
	a->n = n;
	return a;
}

bool ks_gzip_answer(struct ks_request *request, int code, const char *content_type, const struct ks_header *headers, size_t n_headers,
	const struct ks_piece *pieces, size_t n_pieces)
{
	struct ks_header *all = ks_arena_alloc(&request->arena, (n_headers + 2) * sizeof(*all));
	struct ks_gzip_answer *a = all ? new_answer(request, pieces, n_pieces) : NULL;

	if (!a)
		return false;
	if (n_headers)
		memcpy(all, headers, n_headers * sizeof(*all));
	all[n_headers] = (struct ks_header){KS_STR_LIT("content-encoding"), KS_STR_LIT("gzip")};
	all[n_headers + 1] = (struct ks_header){KS_STR_LIT("vary"), KS_STR_LIT("Accept-Encoding")};
	request->gzip_answer = a;
	ks_request_on_end(request, &a->end, on_end);
	if (ks_request_begin_stream(request, code, content_type, all, n_headers + 2) == 0)
		next_turn(a);
	return true;
}
