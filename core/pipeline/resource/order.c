/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/order.h"

#include "core/pipeline/resource/decode.h"
#include "core/registry/meta.h"

static enum ks_stage_result step_mutate(struct ks_edit *w);
static enum ks_stage_result step_validate(struct ks_edit *w);

/* Of the path, and the object says the same; an order without a name in its path has it in the object alone. */
static int check_name(struct ks_edit *w, struct ks_order *order)
{
	struct ks_str name = ks_meta_text(w->schema, &order->value, "name");

	order->name = w->request->info.name.n ? w->request->info.name : name;
	if (ks_str_eq(name, order->name))
		return 0;
	return ks_status_bad_request(&w->request->status, &w->request->arena, "name in URL does not match name in %s object",
		ks_schema_text(w->schema, w->schema->resources[w->target].kind));
}

static int decode(struct ks_edit *w, struct ks_order *order)
{
	struct ks_request *request = w->request;
	int code = ks_body_decode(request, &w->round, w->target, w->options.fields, false, &order->value);

	if (!code && !ks_default_constants(&w->round, w->schema, &order->value))
		code = ks_edit_out_of_memory(w);
	return code ? code : ks_registry_match_namespace(&w->ctx, &order->value, &request->status);
}

static enum ks_stage_result read_request(struct ks_edit *w)
{
	struct ks_order *order = w->data;
	enum ks_stage_result body = ks_request_need_body(w->request);

	if (body != KS_STAGE_NEXT)
		return body;
	if (ks_write_options_parse(w->request, "CreateOptions", false, &w->options) || decode(w, order))
		return KS_STAGE_FAILED;
	w->admitting = true;
	ks_admission_init(&w->admission, w->request, KS_OPERATION_CREATE, w->target, NULL);
	w->admission.ns = w->ctx.ns;
	w->admission.name = w->request->info.name.n ? w->request->info.name : ks_meta_text(w->schema, &order->value, "name");
	w->admission.object = &order->value;
	w->admission.options = &w->options.value;
	w->admission.dry_run = w->options.dry_run;
	return ks_edit_next(w, step_mutate);
}

static enum ks_stage_result step_mutate(struct ks_edit *w)
{
	struct ks_order *order = w->data;
	int result = ks_admission_mutate(&w->admission);

	if (result == KS_PENDING)
		return KS_STAGE_PENDING;
	if (result != KS_DONE || check_name(w, order) || (order->check && order->check(w, order)))
		return KS_STAGE_FAILED;
	return ks_edit_next(w, step_validate);
}

/* What it says has to outlive the rounds of what it is about. */
static enum ks_stage_result step_validate(struct ks_edit *w)
{
	struct ks_order *order = w->data;
	int result = ks_admission_validate(&w->admission);
	struct ks_value kept;

	if (result == KS_PENDING)
		return KS_STAGE_PENDING;
	if (result != KS_DONE)
		return KS_STAGE_FAILED;
	if (!ks_value_copy(&w->request->arena, &order->value, &kept)) {
		ks_edit_out_of_memory(w);
		return KS_STAGE_FAILED;
	}
	order->value = kept;
	if (!w->request->info.name.n)
		order->name = ks_meta_text(w->schema, &kept, "name");
	return ks_edit_next(w, order->carry_out);
}

enum ks_stage_result ks_order_start(struct ks_request *request, struct ks_order *order)
{
	struct ks_edit *w;

	if (ks_request_negotiate(request, 0))
		return KS_STAGE_FAILED;
	w = ks_edit_new(request, read_request);
	if (!w)
		return KS_STAGE_FAILED;
	w->data = order;
	w->admitted = true;
	return ks_edit_run(w);
}
