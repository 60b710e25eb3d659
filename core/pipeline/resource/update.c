/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/decode.h"
#include "core/pipeline/resource/write.h"

/* Every round begins with the object as it was sent; the first one has it already. */
static int decode(struct ks_edit *w)
{
	if (w->rounds == 1)
		return 0;
	return ks_body_decode(w->request, &w->round, w->resource, w->options.fields, w->quiet, &w->object);
}

/* What is wrong with the body is told before the object is looked for. */
static enum ks_stage_result decode_first(struct ks_edit *w)
{
	if (ks_body_decode(w->request, &w->round, w->resource, w->options.fields, w->quiet, &w->object) ||
		ks_registry_begin_update(&w->ctx, &w->object, &w->request->status))
		return KS_STAGE_FAILED;
	return ks_edit_next(w, ks_edit_load);
}

static enum ks_stage_result read_request(struct ks_edit *w)
{
	enum ks_stage_result body = ks_request_need_body(w->request);

	if (body != KS_STAGE_NEXT)
		return body;
	if (ks_write_options_parse(w->request, "UpdateOptions", false, &w->options))
		return KS_STAGE_FAILED;
	w->change = decode;
	w->may_leave = true;
	w->tracks = true;
	w->may_create = (w->ctx.strategy->flags & KS_STRATEGY_CREATE_ON_UPDATE) && !w->ctx.subresource.n;
	w->ctx.dry_run = w->options.dry_run;
	return ks_edit_compute(w, decode_first);
}

enum ks_stage_result ks_resource_update(struct ks_request *request)
{
	struct ks_edit *w;

	if (ks_request_negotiate(request, KS_ALLOW_PARTIAL | KS_ALLOW_TABLE))
		return KS_STAGE_FAILED;
	w = ks_edit_new(request, read_request);
	return w ? ks_edit_run(w) : KS_STAGE_FAILED;
}
