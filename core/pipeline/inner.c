/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/inner.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/pipeline/chain.h"
#include "core/pipeline/lane.h"
#include "core/util/log.h"
#include "plugins/host/host.h"

#define NO_MEMORY                                                                                                 \
	"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"out of " \
	"memory\",\"reason\":\"InternalError\",\"code\":500}"
#define NOT_SERVING                                                                                                                    \
	"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"the server is not serving\"," \
	"\"reason\":\"ServiceUnavailable\",\"code\":503}"
#define AUTHENTICATED "system:authenticated"

/* -- one request ----------------------------------------------------------------------------------------------- */

void ks_inner_free(struct ks_inner *inner)
{
	ks_arena_fini(&inner->arena);
	free(inner);
}

void ks_inner_answer(struct ks_request *request, int code, const struct ks_piece *pieces, size_t n_pieces)
{
	struct ks_inner *inner = request->inner;
	struct ks_str body = {0};
	struct ks_buf joined;

	ks_buf_init(&joined);
	if (n_pieces == 1)
		body = ks_str_of(pieces[0].data, pieces[0].len);
	for (size_t i = 0; n_pieces > 1 && i < n_pieces; i++)
		ks_buf_add(&joined, pieces[i].data, pieces[i].len);
	if (n_pieces > 1)
		body = ks_buf_str(&joined);
	if (joined.failed)
		inner->answer(inner->arg, 500, KS_STR_LIT(NO_MEMORY));
	else
		inner->answer(inner->arg, code, body);
	ks_buf_fini(&joined);
	for (size_t i = 0; i < n_pieces; i++)
		if (pieces[i].release)
			pieces[i].release(pieces[i].owner);
}

static bool fill(struct ks_request *request, struct ks_inner *inner)
{
	request->inner = inner;
	request->received_ns = ks_monotonic_ns();
	request->write_depth = inner->write_depth;
	request->user = (struct ks_user_info){.name = inner->user, .groups = inner->groups, .n_groups = inner->n_groups};
	memcpy(request->audit_id, inner->audit_id, sizeof(request->audit_id));
	if (!request->audit_id[0])
		ks_lane_audit_id(request->lane, request->audit_id);
	if (inner->server->plugins) {
		request->set = ks_plugin_set_ref(ks_plugins_current(inner->server->plugins, request->loop));
		request->chain = ks_plugin_set_chain(request->set);
	}
	return ks_request_set_target(request, inner->method, inner->path, inner->query);
}

/* On the worker. */
static void start(struct ks_task *task)
{
	struct ks_inner *inner = (struct ks_inner *)((char *)task - offsetof(struct ks_inner, task));
	struct ks_request *request = ks_lane_take(inner->lane);

	if (!request) {
		inner->answer(inner->arg, 500, KS_STR_LIT(NO_MEMORY));
		ks_inner_free(inner);
		return;
	}
	if (!fill(request, inner)) {
		ks_status_internal(&request->status, &request->arena, "out of memory");
		ks_request_respond_status(request);
		return;
	}
	ks_request_run(request);
}

/* -- from the outside ------------------------------------------------------------------------------------------ */

static struct ks_str dup(struct ks_arena *arena, struct ks_str s, bool *ok)
{
	char *copy = ks_arena_dup(arena, s.p ? s.p : "", s.n);

	*ok = *ok && copy;
	return copy ? ks_str_of(copy, s.n) : (struct ks_str){0};
}

static void split_target(struct ks_inner *inner, struct ks_str target)
{
	const char *mark = memchr(target.p, '?', target.n);

	inner->path = target;
	if (!mark)
		return;
	inner->path.n = (size_t)(mark - target.p);
	inner->query = ks_str_of(mark + 1, target.n - inner->path.n - 1);
}

static bool copy(struct ks_inner *inner, const struct ks_inner_request *from)
{
	struct ks_arena *arena = &inner->arena;
	bool ok = true;

	inner->method = dup(arena, ks_str_from(from->method), &ok);
	inner->content_type = dup(arena, ks_str_from(from->content_type ? from->content_type : "application/json"), &ok);
	inner->body = dup(arena, from->body, &ok);
	inner->user = dup(arena, ks_str_from(from->user), &ok);
	inner->groups = ks_arena_zalloc(arena, from->n_groups + 1, sizeof(*inner->groups));
	if (!inner->groups || !ok)
		return false;
	for (size_t i = 0; i < from->n_groups; i++)
		inner->groups[inner->n_groups++] = dup(arena, ks_str_from(from->groups[i]), &ok);
	inner->groups[inner->n_groups++] = KS_STR_LIT(AUTHENTICATED);
	split_target(inner, dup(arena, ks_str_from(from->target), &ok));
	if (from->audit_id)
		strncpy(inner->audit_id, from->audit_id, KS_AUDIT_ID_MOST);
	return ok;
}

/* The lane to run on. A worker's thread may be about to begin: it will find the task then. */
static struct ks_lane *choose_lane(struct ks_server_state *server, struct ks_loop *loop)
{
	struct ks_lane *lane;

	if (loop)
		return ks_lane_of(server, loop);
	lane = ks_lanes_any(server->lanes);
	if (!lane && server->http)
		lane = ks_lane_of(server, ks_server_worker(server->http, 0));
	return lane;
}

int ks_pipeline_inner_request(struct ks_server_state *server, const struct ks_inner_request *from)
{
	struct ks_lane *lane = choose_lane(server, from->loop);
	struct ks_inner *inner;

	if (!lane)
		return -EAGAIN;
	inner = calloc(1, sizeof(*inner));
	if (!inner)
		return -ENOMEM;
	ks_arena_init(&inner->arena, 0);
	if (!copy(inner, from)) {
		ks_inner_free(inner);
		return -ENOMEM;
	}
	inner->server = server;
	inner->lane = lane;
	inner->deadline_ns = from->deadline_ns;
	inner->write_depth = from->write_depth;
	inner->answer = from->answer;
	inner->arg = from->arg;
	inner->task.run = start;
	ks_loop_post(lane->loop, &inner->task);
	return 0;
}

/* -- plugins' writes ------------------------------------------------------------------------------------------- */

/* One segment of a path, with what can't stand there escaped. */
static void add_segment(struct ks_buf *out, struct ks_str segment)
{
	static const char digits[] = "0123456789ABCDEF";

	ks_buf_add_char(out, '/');
	for (size_t i = 0; i < segment.n; i++) {
		unsigned char c = (unsigned char)segment.p[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == ':') {
			ks_buf_add_char(out, (char)c);
			continue;
		}
		ks_buf_add_char(out, '%');
		ks_buf_add_char(out, digits[c >> 4]);
		ks_buf_add_char(out, digits[c & 15]);
	}
}

/* The version that a group prefers. */
static struct ks_str preferred(const struct ks_schema *schema, struct ks_str group)
{
	for (uint32_t i = 0; i < schema->n_group_versions; i++)
		if (schema->group_versions[i].preferred && ks_str_is(group, ks_schema_text(schema, schema->group_versions[i].group)))
			return ks_str_from(ks_schema_text(schema, schema->group_versions[i].version));
	return KS_STR_LIT("v1");
}

static void write_target(const struct ks_schema *schema, const struct ks_inner_write *write, struct ks_buf *out)
{
	bool collection = write->verb == KS_WRITE_CREATE && write->subresource.n == 0;

	ks_buf_add_str(out, write->group.n ? "/apis" : "/api");
	if (write->group.n)
		add_segment(out, write->group);
	add_segment(out, write->version.n ? write->version : preferred(schema, write->group));
	if (write->ns.n) {
		ks_buf_add_str(out, "/namespaces");
		add_segment(out, write->ns);
	}
	add_segment(out, write->resource);
	if (!collection)
		add_segment(out, write->name);
	if (write->subresource.n)
		add_segment(out, write->subresource);
	ks_buf_add_char(out, '\0');
}

static void write_answered(void *arg, int code, struct ks_str body)
{
	ks_inner_write_done(arg, code, body);
}

void ks_inner_write_start(void *server_state, struct ks_inner_write *write)
{
	static const char *const masters[] = {"system:masters"};
	static const char *const methods[] = {[KS_WRITE_CREATE] = "POST",
		[KS_WRITE_UPDATE] = "PUT",
		[KS_WRITE_PATCH_JSON] = "PATCH",
		[KS_WRITE_PATCH_MERGE] = "PATCH",
		[KS_WRITE_DELETE] = "DELETE"};
	struct ks_server_state *server = server_state;
	struct ks_inner_request inner = {.body = write->body,
		.user = write->user,
		.groups = masters,
		.n_groups = 1,
		.audit_id = write->audit_id,
		.deadline_ns = write->deadline_ns,
		.write_depth = write->nesting,
		.loop = write->loop,
		.answer = write_answered,
		.arg = write};
	struct ks_buf target;
	int rc = -ENOMEM;

	ks_buf_init(&target);
	write_target(server->schema, write, &target);
	inner.method = methods[write->verb];
	inner.target = target.data;
	if (write->verb == KS_WRITE_PATCH_JSON)
		inner.content_type = "application/json-patch+json";
	else if (write->verb == KS_WRITE_PATCH_MERGE)
		inner.content_type = "application/merge-patch+json";
	if (!target.failed)
		rc = ks_pipeline_inner_request(server, &inner);
	ks_buf_fini(&target);
	if (rc != 0)
		ks_inner_write_done(write, rc == -EAGAIN ? 503 : 500, rc == -EAGAIN ? KS_STR_LIT(NOT_SERVING) : KS_STR_LIT(NO_MEMORY));
}
