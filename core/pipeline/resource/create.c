/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/decode.h"
#include "core/pipeline/resource/write.h"

static int decode(struct ks_edit *w)
{
	return ks_body_decode(w->request, &w->round, w->resource, w->options.fields, w->quiet, &w->object);
}

static enum ks_stage_result read_request(struct ks_edit *w)
{
	enum ks_media_format format;
	enum ks_stage_result body;

	if (ks_request_negotiate_body(w->request, &format))
		return KS_STAGE_FAILED;
	body = ks_request_need_body(w->request);
	if (body != KS_STAGE_NEXT)
		return body;
	if (ks_write_options_parse(w->request, "CreateOptions", false, &w->options))
		return KS_STAGE_FAILED;
	w->change = decode;
	w->may_leave = true;
	w->tracks = true;
	w->ctx.dry_run = w->options.dry_run;
	w->step = ks_edit_begin_round;
	return KS_STAGE_NEXT;
}

enum ks_stage_result ks_resource_create(struct ks_request *request)
{
	struct ks_edit *w;

	if (ks_request_negotiate(request, KS_ALLOW_PARTIAL | KS_ALLOW_TABLE))
		return KS_STAGE_FAILED;
	w = ks_edit_new(request, read_request);
	return w ? ks_edit_run(w) : KS_STAGE_FAILED;
}
