/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * An Eviction: the deletion of a pod that its disruption budget has something to say about.
 *
 *     look at the pod -> (count it in its budget) -> delete it
 */
#include "core/pipeline/resource/delete.h"
#include "core/pipeline/resource/order.h"
#include "core/registry/meta.h"
#include "core/registry/subresources.h"

enum { MOST_TRIES = 20 };

struct eviction {
	struct ks_order order;
	struct ks_delete_options asked; /* as the client said them */
	struct ks_str budget;          /* that speaks of the pod; empty: none */
	uint32_t tries;
	bool exact;                    /* what was decided holds for one revision of the pod */
};

static enum ks_stage_result look(struct ks_edit *w);
static enum ks_stage_result count(struct ks_edit *w);

static struct eviction *eviction_of(struct ks_edit *w)
{
	return (struct eviction *)ks_order_of(w);
}

/* -- the order ---------------------------------------------------------------------------------------------------- */

static int check(struct ks_edit *w, struct ks_order *order)
{
	struct eviction *e = (struct eviction *)order;
	const struct ks_value *options = ks_value_get(w->schema, &order->value, "deleteOptions");

	if (ks_value_present(options) && !ks_value_copy(&w->request->arena, options, &e->asked.value))
		return ks_edit_out_of_memory(w);
	if (ks_delete_options_take(w->request, &e->asked))
		return w->request->status.code;
	e->asked.dry_run |= w->options.dry_run;
	return 0;
}

/* -- deletion ----------------------------------------------------------------------------------------------------- */

/* The pod has changed since it was looked at: when that mattered, everything is looked at again. */
static enum ks_stage_result look_again(struct ks_edit *w)
{
	struct eviction *e = eviction_of(w);

	if (!e->budget.n && ++e->tries < MOST_TRIES)
		return ks_edit_next(w, look);
	ks_budget_busy(&w->ctx, e->budget, &w->request->status);
	return KS_STAGE_FAILED;
}

static bool say_evicted(struct ks_edit *w)
{
	return ks_pod_mark_evicted(&w->ctx, &w->object);
}

static enum ks_stage_result delete_pod(struct ks_edit *w)
{
	struct eviction *e = eviction_of(w);
	enum ks_stage_result result;

	w->delete_options = e->asked;
	w->answer = ks_edit_answer_done;
	w->last_words = say_evicted;
	result = ks_delete_begin(w);
	if (e->exact && !e->asked.has_resource_version)
		w->again = look_again;
	return result;
}

/* -- the budget --------------------------------------------------------------------------------------------------- */

static enum ks_stage_result back_to_pod(struct ks_edit *w)
{
	ks_edit_turn_to(w, ks_order_resource(w, "", "pods"), w->request->info.ns, ks_order_of(w)->name);
	return delete_pod(w);
}

static enum ks_stage_result count(struct ks_edit *w)
{
	struct eviction *e = eviction_of(w);

	if (w->rounds++)
		ks_edit_end_round(w);
	if (!w->current) {
		ks_edit_not_found(w, w->ctx.name);
		return KS_STAGE_FAILED;
	}
	if (w->rounds > MOST_TRIES) {
		ks_status_set(&w->request->status, &w->request->arena, 504, "Timeout", "Timeout: couldn't update PodDisruptionBudget \"%.*s\" due to conflicts",
			(int)e->budget.n, e->budget.p);
		return KS_STAGE_FAILED;
	}
	if (ks_edit_decode_old(w))
		return KS_STAGE_FAILED;
	if (!ks_value_copy(&w->round, &w->old, &w->object)) {
		ks_edit_out_of_memory(w);
		return KS_STAGE_FAILED;
	}
	if (ks_budget_take(&w->ctx, &w->object, e->order.name, &w->request->status))
		return KS_STAGE_FAILED;
	return ks_edit_next(w, ks_edit_commit);
}

static enum ks_stage_result turn_to_budget(struct ks_edit *w, struct ks_object *budget)
{
	ks_edit_turn_to(w, ks_order_resource(w, "policy", "poddisruptionbudgets"), w->request->info.ns, eviction_of(w)->budget);
	w->current = budget;
	w->again = count;
	w->answer = back_to_pod;
	return ks_edit_next(w, count);
}

/* The budgets that cover the pod: how many there are, and a reference to one. */
static unsigned find_budgets(struct ks_edit *w, struct ks_object **budget_r)
{
	struct ks_cache_resource *budgets = ks_cache_find(w->request->server->cache, ks_order_resource(w, "policy", "poddisruptionbudgets"));
	struct ks_snapshot snapshot;
	struct ks_cursor cursor;
	struct ks_object *object;
	unsigned n = 0;

	*budget_r = NULL;
	if (!budgets)
		return 0;
	ks_cache_snapshot(budgets, &snapshot);
	ks_cursor_init(&cursor, &snapshot, w->ctx.ns, (struct ks_str){0});
	while ((object = ks_cursor_next(&cursor))) {
		struct ks_value tree;

		if (ks_object_tree(object, w->schema, &w->round, &tree) ||
			!ks_budget_covers(&w->ctx, &tree, w->current->labels, w->current->n_labels))
			continue;
		if (!n++)
			*budget_r = ks_object_ref(object);
	}
	ks_snapshot_release(&snapshot);
	return n;
}

static enum ks_stage_result ask_budgets(struct ks_edit *w)
{
	struct eviction *e = eviction_of(w);
	struct ks_object *budget;
	struct ks_value tree;
	unsigned n = find_budgets(w, &budget);
	char *name;

	if (n > 1)
		ks_status_set(&w->request->status, &w->request->arena, 500, NULL,
			"This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
	if (n != 1) {
		ks_object_unref(budget);
		return n ? KS_STAGE_FAILED : delete_pod(w);
	}
	name = ks_arena_dup(&w->request->arena, budget->name.p, budget->name.n);
	if (!name || ks_object_tree(budget, w->schema, &w->round, &tree)) {
		ks_object_unref(budget);
		ks_edit_out_of_memory(w);
		return KS_STAGE_FAILED;
	}
	e->budget = ks_str_of(name, budget->name.n);
	if (!ks_pod_is_ready(&w->ctx, &w->old) && ks_budget_ignores_unready(&w->ctx, &tree)) {
		ks_object_unref(budget);
		e->exact = true;
		return delete_pod(w);
	}
	return turn_to_budget(w, budget);
}

/* -- the pod ------------------------------------------------------------------------------------------------------ */

static enum ks_stage_result look(struct ks_edit *w)
{
	struct eviction *e = eviction_of(w);

	if (w->rounds)
		ks_edit_end_round(w);
	w->rounds = 0;
	e->exact = false;
	if (!w->current) {
		ks_edit_not_found(w, w->ctx.name);
		return KS_STAGE_FAILED;
	}
	if (ks_edit_decode_old(w))
		return KS_STAGE_FAILED;
	if (!ks_pod_is_idle(&w->ctx, &w->old))
		return ask_budgets(w);
	e->exact = ks_pod_may_wake(&w->ctx, &w->old);
	return delete_pod(w);
}

static enum ks_stage_result carry_out(struct ks_edit *w)
{
	ks_edit_turn_to(w, ks_order_resource(w, "", "pods"), w->request->info.ns, ks_order_of(w)->name);
	w->delete_options = eviction_of(w)->asked;
	if (w->cache)
		w->current = ks_cache_get(w->cache, w->ctx.ns, w->ctx.name);
	return ks_edit_next(w, look);
}

enum ks_stage_result ks_resource_evict(struct ks_request *request)
{
	struct eviction *e = ks_arena_zalloc(&request->arena, 1, sizeof(*e));

	if (!e) {
		ks_status_internal(&request->status, &request->arena, "out of memory");
		return KS_STAGE_FAILED;
	}
	e->order.check = check;
	e->order.carry_out = carry_out;
	return ks_order_start(request, &e->order);
}
