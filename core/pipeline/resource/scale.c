/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* /scale: the number of replicas of anything that has one, in one shape for all. */
#include <stdlib.h>

#include "core/api/apply/managed.h"
#include "core/pipeline/resource/decode.h"
#include "core/pipeline/resource/patch.h"
#include "core/pipeline/resource/reply.h"
#include "core/pipeline/resource/track.h"
#include "core/pipeline/resource/write.h"
#include "core/registry/cause.h"
#include "core/registry/meta.h"

struct scale {
	struct ks_value now, old; /* Scale */
	struct ks_patch patch;
	bool patches;
};

/* -- from an object ----------------------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
	return ks_str_cmp(*(const struct ks_str *)a, *(const struct ks_str *)b);
}

static int by_key(const void *a, const void *b)
{
	return ks_str_cmp((*(const struct ks_member *const *)a)->key, (*(const struct ks_member *const *)b)->key);
}

static void add_comma(struct ks_buf *out)
{
	if (out->len)
		ks_buf_add_char(out, ',');
}

static void add_map(struct ks_arena *arena, const struct ks_value *map, struct ks_buf *out)
{
	const struct ks_member **sorted = ks_arena_zalloc(arena, map->n + 1U, sizeof(*sorted));

	out->failed |= !sorted;
	for (uint32_t i = 0; sorted && i < map->n; i++)
		sorted[i] = &map->members[i];
	if (sorted)
		qsort(sorted, map->n, sizeof(*sorted), by_key);
	for (uint32_t i = 0; sorted && i < map->n; i++) {
		struct ks_str value = ks_value_str(&sorted[i]->value);

		add_comma(out);
		ks_buf_add(out, sorted[i]->key.p, sorted[i]->key.n);
		ks_buf_add_char(out, '=');
		ks_buf_add(out, value.p, value.n);
	}
}

static void add_expression(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *e, struct ks_buf *out)
{
	struct ks_str key = ks_value_str(ks_value_get(s, e, "key")), op = ks_value_str(ks_value_get(s, e, "operator"));
	const struct ks_value *values = ks_value_get(s, e, "values");
	uint32_t n = values && values->kind == KS_LIST ? values->n : 0;
	struct ks_str *sorted = ks_arena_zalloc(arena, n + 1U, sizeof(*sorted));

	out->failed |= !sorted;
	add_comma(out);
	if (ks_str_is(op, "DoesNotExist"))
		ks_buf_add_char(out, '!');
	ks_buf_add(out, key.p, key.n);
	if (!ks_str_is(op, "In") && !ks_str_is(op, "NotIn"))
		return;
	for (uint32_t i = 0; sorted && i < n; i++)
		sorted[i] = ks_value_str(&values->items[i]);
	if (sorted)
		qsort(sorted, n, sizeof(*sorted), by_text);
	ks_buf_add_str(out, ks_str_is(op, "In") ? " in (" : " notin (");
	for (uint32_t i = 0; sorted && i < n; i++)
		ks_buf_printf(out, "%s%.*s", i ? "," : "", (int)sorted[i].n, sorted[i].p);
	ks_buf_add_char(out, ')');
}

/* spec.selector as text: a LabelSelector, or (replication controllers) plain labels. NULL when out of memory. */
static const char *selector_text(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *object)
{
	const struct ks_value *selector = ks_value_at(s, object, "spec.selector");
	const struct ks_value *labels = selector && selector->kind == KS_MAP ? selector : ks_value_get(s, selector, "matchLabels");
	const struct ks_value *expressions = selector && selector->kind == KS_MAP ? NULL : ks_value_get(s, selector, "matchExpressions");
	struct ks_buf text;
	char *copy = NULL;

	ks_buf_init(&text);
	if (labels && labels->kind == KS_MAP)
		add_map(arena, labels, &text);
	for (uint32_t i = 0; expressions && expressions->kind == KS_LIST && i < expressions->n; i++)
		add_expression(arena, s, &expressions->items[i], &text);
	if (!text.failed)
		copy = ks_arena_dup(arena, text.data, text.len);
	ks_buf_fini(&text);
	return copy;
}

static bool put(struct ks_arena *arena, const struct ks_schema *s, struct ks_value *v, const char *path, struct ks_value value)
{
	struct ks_value *place = ks_value_put_at(arena, s, v, path);

	if (!place)
		return false;
	*place = value;
	return true;
}

/* `object` carries its resourceVersion. */
static bool scale_of(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, const struct ks_value *object, struct ks_value *out_r)
{
	static const char *const names[] = {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"};
	const struct ks_value *wanted = ks_value_at(s, object, "spec.replicas"), *has = ks_value_at(s, object, "status.replicas");
	const char *selector = selector_text(arena, s, object);

	if (!selector || !ks_value_new_struct(arena, s, type, out_r) || !put(arena, s, out_r, "kind", ks_value_from_str(KS_STR_LIT("Scale"))) ||
		!put(arena, s, out_r, "apiVersion", ks_value_from_str(KS_STR_LIT("autoscaling/v1"))))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!ks_meta_take(arena, s, out_r, object, names[i]))
			return false;
	if (ks_value_present(wanted) && wanted->integer && !put(arena, s, out_r, "spec.replicas", *wanted))
		return false;
	if (!put(arena, s, out_r, "status.replicas", ks_value_present(has) ? *has : ks_value_from_int(0)))
		return false;
	return !selector[0] || put(arena, s, out_r, "status.selector", ks_value_from_str(ks_str_from(selector)));
}

/* -- reading ------------------------------------------------------------------------------------------------------ */

static enum ks_stage_result show(struct ks_edit *w)
{
	struct ks_value scale;

	if (w->cache && !w->current)
		w->current = ks_cache_get(w->cache, w->ctx.ns, w->ctx.name);
	if (!w->current) {
		ks_edit_not_found(w, w->ctx.name);
		return KS_STAGE_FAILED;
	}
	if (ks_edit_decode_old(w))
		return KS_STAGE_FAILED;
	if (!scale_of(&w->round, w->schema, w->schema->resources[w->target].type, &w->old, &scale)) {
		ks_edit_out_of_memory(w);
		return KS_STAGE_FAILED;
	}
	return ks_reply_tree(w->request, 200, &scale);
}

enum ks_stage_result ks_resource_get_scale(struct ks_request *request)
{
	struct ks_edit *w;

	if (ks_request_negotiate(request, KS_ALLOW_PARTIAL | KS_ALLOW_TABLE))
		return KS_STAGE_FAILED;
	w = ks_edit_new(request, show);
	return w ? ks_edit_run(w) : KS_STAGE_FAILED;
}

/* -- writing ------------------------------------------------------------------------------------------------------ */

static struct ks_tracked tracked_scale(struct ks_edit *w)
{
	struct scale *scale = w->data;

	return (struct ks_tracked){.type = w->schema->resources[w->target].type, .version = KS_STR_LIT("autoscaling/v1"), .kind = "Scale",
		.live = &scale->old, .object = &scale->now};
}

static int apply_scale(struct ks_edit *w)
{
	struct scale *scale = w->data;
	struct ks_tracked tracked = tracked_scale(w);

	return ks_edit_apply(w, &scale->patch, &tracked);
}

static int read_scale(struct ks_edit *w)
{
	struct scale *scale = w->data;
	uint16_t type = w->schema->resources[w->target].type;

	if (!scale_of(&w->round, w->schema, type, &w->old, &scale->old) || ks_managed_to_scale(&w->round, w->schema, &w->old, &scale->old))
		return ks_edit_out_of_memory(w);
	if (scale->patches && scale->patch.kind == KS_PATCH_APPLY)
		return apply_scale(w);
	if (scale->patches)
		return ks_patch_apply(w->request, &scale->patch, &w->round, type, &scale->old, &scale->now);
	return ks_body_decode(w->request, &w->round, w->target, w->options.fields, w->quiet, &scale->now);
}

static int check_scale(struct ks_edit *w)
{
	struct scale *scale = w->data;
	const struct ks_value *replicas = ks_value_at(w->schema, &scale->now, "spec.replicas");
	struct ks_status *status = &w->request->status;
	int code = ks_registry_begin_update(&w->ctx, &scale->now, status);

	if (code)
		return code;
	if (ks_value_present(replicas) && replicas->integer < 0) {
		ks_status_invalid(status, &w->request->arena, "autoscaling", "Scale", w->ctx.name);
		ks_cause_invalid_int(status, &w->request->arena, "spec.replicas", replicas->integer, "must be greater than or equal to 0");
		return ks_status_invalid_finish(status, &w->request->arena);
	}
	return 0;
}

/* The object as it is, with what the Scale says of it: identity and revision now, replicas after admission. */
static int change(struct ks_edit *w)
{
	struct scale *scale = w->data;
	int code = read_scale(w);

	if (!code)
		code = check_scale(w);
	if (!code && !(scale->patches && scale->patch.kind == KS_PATCH_APPLY)) {
		struct ks_tracked tracked = tracked_scale(w);

		code = ks_edit_track(w, &tracked);
	}
	if (code)
		return code;
	if (!ks_value_copy(&w->round, &w->old, &w->object))
		return ks_edit_out_of_memory(w);
	if (ks_meta_text(w->schema, &scale->now, "uid").n && !ks_meta_take(&w->round, w->schema, &w->object, &scale->now, "uid"))
		return ks_edit_out_of_memory(w);
	if (ks_meta_text(w->schema, &scale->now, "resourceVersion").n &&
		!ks_meta_take(&w->round, w->schema, &w->object, &scale->now, "resourceVersion"))
		return ks_edit_out_of_memory(w);
	w->shown = &scale->now;
	w->shown_old = &scale->old;
	return 0;
}

static int take_replicas(struct ks_edit *w)
{
	struct scale *scale = w->data;
	const struct ks_value *replicas = ks_value_at(w->schema, &scale->now, "spec.replicas");

	if (!put(&w->round, w->schema, &w->object, "spec.replicas", ks_value_present(replicas) ? *replicas : ks_value_from_int(0)) ||
		ks_managed_from_scale(&w->round, w->schema, &scale->now, ks_edit_tracked(w).version, &w->object))
		return ks_edit_out_of_memory(w);
	return 0;
}

static enum ks_stage_result answer(struct ks_edit *w)
{
	char *revision = ks_arena_printf(&w->request->arena, "%llu", (unsigned long long)(w->revision ? w->revision : w->current->revision));
	struct ks_value scale;

	if (!revision || !ks_meta_set_text(&w->round, w->schema, &w->object, "resourceVersion", ks_str_from(revision)) ||
		!scale_of(&w->round, w->schema, w->schema->resources[w->target].type, &w->object, &scale)) {
		ks_edit_out_of_memory(w);
		return KS_STAGE_FAILED;
	}
	return ks_reply_tree(w->request, 200, &scale);
}

static enum ks_stage_result read_request(struct ks_edit *w)
{
	struct scale *scale = w->data;
	enum ks_stage_result body = ks_request_need_body(w->request);

	if (body != KS_STAGE_NEXT)
		return body;
	if (ks_write_options_parse(w->request, scale->patches ? "PatchOptions" : "UpdateOptions", scale->patches && scale->patch.kind == KS_PATCH_APPLY, &w->options))
		return KS_STAGE_FAILED;
	scale->patch.fields = w->options.fields;
	if (scale->patches && ks_patch_read(w->request, &scale->patch))
		return KS_STAGE_FAILED;
	w->change = change;
	w->take_shown = take_replicas;
	w->answer = answer;
	w->ctx.dry_run = w->options.dry_run;
	w->step = ks_edit_load;
	return KS_STAGE_NEXT;
}

enum ks_stage_result ks_resource_write_scale(struct ks_request *request)
{
	struct scale *scale = ks_arena_zalloc(&request->arena, 1, sizeof(*scale));
	struct ks_edit *w;

	if (!scale) {
		ks_status_internal(&request->status, &request->arena, "out of memory");
		return KS_STAGE_FAILED;
	}
	scale->patches = ks_str_is(request->info.verb, "patch");
	if ((scale->patches && ks_patch_negotiate(request, &scale->patch)) ||
		ks_request_negotiate(request, KS_ALLOW_PARTIAL | KS_ALLOW_TABLE))
		return KS_STAGE_FAILED;
	w = ks_edit_new(request, read_request);
	if (!w)
		return KS_STAGE_FAILED;
	w->data = scale;
	return ks_edit_run(w);
}
