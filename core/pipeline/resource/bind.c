/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A Binding, which puts a pod on a node. */
#include "core/pipeline/resource/order.h"
#include "core/registry/meta.h"
#include "core/registry/subresources.h"

static enum ks_stage_result assign(struct ks_edit *w);

static int check(struct ks_edit *w, struct ks_order *order)
{
	return ks_binding_validate(&w->ctx, &order->value, &w->request->status);
}

static enum ks_stage_result carry_out(struct ks_edit *w)
{
	ks_edit_turn_to(w, ks_order_resource(w, "", "pods"), w->request->info.ns, ks_order_of(w)->name);
	if (w->cache)
		w->current = ks_cache_get(w->cache, w->ctx.ns, w->ctx.name);
	w->again = assign;
	w->answer = ks_edit_answer_done;
	return ks_edit_next(w, assign);
}

static int conflict(struct ks_edit *w, const char *resource, const char *why)
{
	return ks_status_conflict(&w->request->status, &w->request->arena, "", resource, w->ctx.name, why);
}

/* The binding may say which pod it means. */
static int check_identity(struct ks_edit *w, const struct ks_value *binding)
{
	struct ks_str uid = ks_meta_text(w->schema, binding, "uid"), revision = ks_meta_text(w->schema, binding, "resourceVersion");
	struct ks_str has = ks_meta_text(w->schema, &w->old, "resourceVersion");
	const char *what = NULL;
	struct ks_buf key;
	char *why;

	if (uid.n && !ks_str_eq(uid, w->current->uid))
		what = ks_arena_printf(&w->round, "UID in precondition: %.*s, UID in object meta: %.*s", (int)uid.n, uid.p, (int)w->current->uid.n,
			w->current->uid.p);
	else if (revision.n && !ks_str_eq(revision, has))
		what = ks_arena_printf(&w->round, "ResourceVersion in precondition: %.*s, ResourceVersion in object meta: %.*s", (int)revision.n,
			revision.p, (int)has.n, has.p);
	if (!what)
		return 0;
	ks_buf_init(&key);
	ks_store_key(&key, w->schema, w->storage, w->ctx.ns, w->ctx.name);
	why = ks_arena_printf(&w->round,
		"StorageError: invalid object, Code: 4, Key: %.*s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: %s", (int)key.len,
		key.data, what);
	ks_buf_fini(&key);
	return conflict(w, "pods", why ? why : "");
}

static enum ks_stage_result assign(struct ks_edit *w)
{
	struct ks_order *order = ks_order_of(w);
	const char *why;

	if (w->rounds++)
		ks_edit_end_round(w);
	if (!w->current) {
		ks_edit_not_found(w, w->ctx.name);
		return KS_STAGE_FAILED;
	}
	if (ks_edit_decode_old(w) || check_identity(w, &order->value))
		return KS_STAGE_FAILED;
	if (!ks_value_copy(&w->round, &w->old, &w->object)) {
		ks_edit_out_of_memory(w);
		return KS_STAGE_FAILED;
	}
	why = ks_pod_bind(&w->ctx, &w->object, &order->value);
	if (why) {
		conflict(w, "pods/binding", why);
		return KS_STAGE_FAILED;
	}
	return ks_edit_next(w, ks_edit_commit);
}

enum ks_stage_result ks_resource_bind(struct ks_request *request)
{
	struct ks_order *order = ks_arena_zalloc(&request->arena, 1, sizeof(*order));

	if (!order) {
		ks_status_internal(&request->status, &request->arena, "out of memory");
		return KS_STAGE_FAILED;
	}
	order->check = check;
	order->carry_out = carry_out;
	return ks_order_start(request, order);
}
