/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Requests from inside the server. Private to core/pipeline; ks_pipeline_inner_request is the way in. */
#ifndef KS_PIPELINE_INNER_H
#define KS_PIPELINE_INNER_H

#include "core/pipeline/server.h"

struct ks_inner_write; /* plugins/host/host.h */

/* One of them, with copies of all it needs. */
struct ks_inner {
	struct ks_server_state *server;
	struct ks_lane *lane;
	struct ks_task task;
	struct ks_arena arena;
	struct ks_str method, path, query, content_type, body;
	struct ks_str user;
	struct ks_str *groups;
	size_t n_groups;
	char audit_id[KS_AUDIT_ID_MOST + 1];
	uint64_t deadline_ns;
	uint16_t write_depth;
	void (*answer)(void *arg, int code, struct ks_str body);
	void *arg;
};

/* The answer of request->inner: joins the pieces, calls `answer`, releases the pieces. */
void ks_inner_answer(struct ks_request *request, int code, const struct ks_piece *pieces, size_t n_pieces);
void ks_inner_free(struct ks_inner *inner);
/* The plugin host's writer: ks_plugins_set_writer(plugins, ks_inner_write_start, server). */
void ks_inner_write_start(void *server_state, struct ks_inner_write *write);

#endif
