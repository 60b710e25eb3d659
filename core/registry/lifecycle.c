/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What every create and update goes through, whatever the kind. */
#include "core/api/uid.h"
#include "core/api/validate.h"
#include "core/registry/cause.h"
#include "core/registry/drop.h"
#include "core/registry/meta.h"

static int out_of_memory(struct ks_registry_context *ctx, struct ks_status *status)
{
	return ks_status_internal(status, ctx->arena, "out of memory");
}

static const char *kind_of(struct ks_registry_context *ctx)
{
	return ks_schema_text(ctx->schema, ctx->schema->resources[ctx->resource].kind);
}

/* As messages say it: events are one kind, whichever group shows them. */
static const char *group_of(struct ks_registry_context *ctx)
{
	const char *group = ks_schema_text(ctx->schema, ctx->schema->resources[ctx->resource].group);

	return strcmp(group, "events.k8s.io") ? group : "";
}

static bool has_status_subresource(struct ks_registry_context *ctx)
{
	for (uint32_t i = ctx->resource + 1u; i < ctx->schema->n_resources; i++) {
		const struct ks_resource *sub = &ctx->schema->resources[i];
		const char *name = ks_schema_text(ctx->schema, sub->resource);
		const char *slash = strchr(name, '/');

		if (!sub->is_subresource || sub->parent != ctx->resource)
			break;
		if (slash && !strcmp(slash, "/status"))
			return true;
	}
	return false;
}

int ks_registry_match_namespace(struct ks_registry_context *ctx, struct ks_value *object, struct ks_status *status)
{
	struct ks_str ns = ks_meta_text(ctx->schema, object, "namespace");
	bool namespaced = ctx->schema->resources[ctx->resource].scope == KS_SCOPE_NAMESPACED;
	struct ks_str wanted = namespaced ? ctx->ns : (struct ks_str){0};

	if (ks_str_eq(ns, wanted))
		return 0;
	if (ns.n && wanted.n)
		return ks_status_bad_request(status, ctx->arena, "%s",
			"the namespace of the provided object does not match the namespace sent on the request");
	if (ns.n) {
		ks_meta_remove(ctx->schema, object, "namespace");
		return 0;
	}
	return ks_meta_set_text(ctx->arena, ctx->schema, object, "namespace", wanted) ? 0 : out_of_memory(ctx, status);
}

void ks_registry_dedup_owners(struct ks_registry_context *ctx, struct ks_value *object, bool after_admission)
{
	struct ks_value *list = ks_meta_get(ctx->schema, object, "ownerReferences");
	struct ks_check check = {.schema = ctx->schema, .arena = ctx->arena};
	struct ks_seen seen = {.n = 0};
	struct ks_buf uids;
	uint32_t kept = 0;

	if (!list || list->kind != KS_LIST || list->n < 2)
		return;
	ks_buf_init(&uids);
	for (uint32_t i = 0; i < list->n; i++) {
		struct ks_str uid = ks_value_str(ks_value_get(ctx->schema, &list->items[i], "uid"));

		if (ks_seen_add_value(&check, &seen, &list->items[i]))
			list->items[kept++] = list->items[i];
		else
			ks_buf_printf(&uids, "%s%.*s", uids.len ? ", " : "", (int)uid.n, uid.p ? uid.p : "");
	}
	list->n = kept;
	if (uids.len && !uids.failed && ctx->warn) {
		char *text = ks_arena_printf(ctx->arena, ".metadata.ownerReferences contains duplicate entries%s; API server dedups owner references in "
			"1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %.*s",
			after_admission ? " after mutating admission happens" : "", (int)uids.len, uids.data);
		if (text)
			ctx->warn(ctx->warn_arg, ks_str_from(text));
	}
	ks_buf_fini(&uids);
}

int ks_registry_begin_create(struct ks_registry_context *ctx, struct ks_value *object, struct ks_status *status)
{
	static const char *const theirs[] = {"creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"};
	int code;

	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
		ks_meta_remove(ctx->schema, object, theirs[i]);
	code = ks_registry_match_namespace(ctx, object, status);
	if (code)
		return code;
	ks_registry_dedup_owners(ctx, object, false);
	return 0;
}

int ks_registry_begin_update(struct ks_registry_context *ctx, struct ks_value *object, struct ks_status *status)
{
	struct ks_str name = ks_meta_text(ctx->schema, object, "name");
	int code = ks_registry_match_namespace(ctx, object, status);

	if (code)
		return code;
	if (!name.n)
		return ks_status_bad_request(status, ctx->arena, "the name of the object (%s based on URL) was undeterminable: name must be provided",
			ks_arena_dup(ctx->arena, ctx->name.p, ctx->name.n));
	if (!ks_str_eq(name, ctx->name))
		return ks_status_bad_request(status, ctx->arena, "the name of the object (%.*s) does not match the name on the URL (%.*s)",
			(int)name.n, name.p, (int)ctx->name.n, ctx->name.p);
	return 0;
}

static int allocate(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	if (!ctx->strategy->allocate || ctx->subresource.n)
		return 0;
	return ctx->strategy->allocate(ctx, object, old, status);
}

/* -- create ---------------------------------------------------------------------------------------------------- */

static bool fill_system_fields(struct ks_registry_context *ctx, struct ks_value *object)
{
	struct ks_str base = ks_meta_text(ctx->schema, object, "generateName");
	struct ks_str now = ks_time_text(ctx->arena, ctx->now_ms);
	char uid[KS_UID_TEXT], *copy;

	if (ks_uid_new(uid) || !(copy = ks_arena_dup(ctx->arena, uid, KS_UID_TEXT - 1)) || !now.n)
		return false;
	if (!ks_meta_set_text(ctx->arena, ctx->schema, object, "creationTimestamp", now) ||
		!ks_meta_set_text(ctx->arena, ctx->schema, object, "uid", ks_str_of(copy, KS_UID_TEXT - 1)))
		return false;
	if (base.n && !ks_meta_text(ctx->schema, object, "name").n) {
		struct ks_str name = ks_name_generate(ctx->arena, base);

		return name.p && ks_meta_set_text(ctx->arena, ctx->schema, object, "name", name);
	}
	return true;
}

static void run_warnings(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	if (ctx->warn && ctx->strategy->warnings && !ctx->subresource.n)
		ctx->strategy->warnings(ctx, object, old);
}

int ks_registry_before_create(struct ks_registry_context *ctx, struct ks_value *object, struct ks_status *status)
{
	const struct ks_strategy *strategy = ctx->strategy;
	int code;

	if (!fill_system_fields(ctx, object))
		return out_of_memory(ctx, status);
	code = ks_registry_match_namespace(ctx, object, status);
	if (!code)
		code = allocate(ctx, object, NULL, status);
	if (code)
		return code;
	if (has_status_subresource(ctx) && !(strategy->flags & KS_STRATEGY_KEEPS_STATUS))
		ks_value_remove(ctx->schema, object, KS_STR_LIT("status"));
	if (strategy->generation != KS_GENERATION_NONE && !ks_meta_set_int(ctx->arena, ctx->schema, object, "generation", 1))
		return out_of_memory(ctx, status);
	ks_registry_drop(ctx, object, NULL);
	if (strategy->prepare_create)
		strategy->prepare_create(ctx, object);
	ks_status_invalid(status, ctx->arena, group_of(ctx), kind_of(ctx), ks_meta_text(ctx->schema, object, "name"));
	ks_meta_validate(ctx, object, false, status);
	ks_meta_validate_finalizers(ctx, object, status);
	if (strategy->validate)
		strategy->validate(ctx, object, NULL, status);
	if (status->causes)
		return ks_status_invalid_finish(status, ctx->arena);
	memset(status, 0, sizeof(*status));
	run_warnings(ctx, object, NULL);
	return 0;
}

/* -- update ---------------------------------------------------------------------------------------------------- */

static bool same_field(struct ks_registry_context *ctx, const struct ks_value *a, const struct ks_value *b, const char *path)
{
	static const struct ks_value nothing;
	const struct ks_value *x = ks_value_at(ctx->schema, a, path), *y = ks_value_at(ctx->schema, b, path);

	return ks_value_equal(x ? x : &nothing, y ? y : &nothing);
}

/* Is everything but metadata and status as it was? */
static bool same_content(struct ks_registry_context *ctx, const struct ks_value *a, const struct ks_value *b)
{
	static const struct ks_value nothing;

	if (a->kind != KS_STRUCT || b->kind != KS_STRUCT || a->n != b->n)
		return ks_value_equal(a, b);
	for (uint32_t i = 0; i < a->n; i++) {
		const char *name = ks_schema_text(ctx->schema, ks_schema_field(ctx->schema, a->type, (uint16_t)i)->name);

		if (!strcmp(name, "metadata") || !strcmp(name, "status") || !strcmp(name, "kind") || !strcmp(name, "apiVersion"))
			continue;
		if (!ks_value_equal(ks_value_present(&a->items[i]) ? &a->items[i] : &nothing, ks_value_present(&b->items[i]) ? &b->items[i] : &nothing))
			return false;
	}
	return true;
}

static bool raise_generation(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_value *old)
{
	bool changed = false;

	switch (ctx->strategy->generation) {
	case KS_GENERATION_SPEC:
		changed = !same_field(ctx, object, old, "spec");
		break;
	case KS_GENERATION_ANNOTATIONS:
		changed = !same_field(ctx, object, old, "spec") || !same_field(ctx, object, old, "metadata.annotations");
		break;
	case KS_GENERATION_CONTENT:
		changed = !same_content(ctx, object, old);
		break;
	case KS_GENERATION_LABELS:
		changed = !same_content(ctx, object, old) || !same_field(ctx, object, old, "metadata.labels");
		break;
	default:
		break;
	}
	if (!changed)
		return true;
	return ks_meta_set_int(ctx->arena, ctx->schema, object, "generation", ks_meta_int(ctx->schema, old, "generation", 0) + 1);
}

/* Takes a top-level field as it was. */
static bool take_field(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_value *old, const char *name)
{
	const struct ks_value *before = ks_value_get(ctx->schema, old, name);
	struct ks_value *place;

	if (!ks_value_present(before)) {
		ks_value_remove(ctx->schema, object, ks_str_from(name));
		return true;
	}
	place = ks_value_put(ctx->arena, ctx->schema, object, ks_str_from(name));
	if (!place)
		return false;
	*place = *before;
	return true;
}

/* What of metadata an update of /status leaves alone. */
static bool keep_metadata(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_value *old)
{
	static const char *const names[] = {"labels", "annotations", "finalizers", "ownerReferences"};
	size_t n = 0;

	if (ctx->strategy->flags & KS_STRATEGY_STATUS_KEEPS_METADATA)
		n = sizeof(names) / sizeof(names[0]);
	else if (ctx->strategy->flags & KS_STRATEGY_STATUS_KEEPS_LABELS)
		n = 1;
	for (size_t i = 0; i < n; i++)
		if (!ks_meta_take(ctx->arena, ctx->schema, object, old, names[i]))
			return false;
	return true;
}

/* An update of /status changes status alone (and what metadata the strategy allows). */
static bool keep_all_but_status(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_value *old)
{
	if (object->kind == KS_STRUCT && old->kind == KS_STRUCT && object->n == old->n) {
		for (uint32_t i = 0; i < object->n; i++) {
			const char *name = ks_schema_text(ctx->schema, ks_schema_field(ctx->schema, object->type, (uint16_t)i)->name);

			if (strcmp(name, "metadata") && strcmp(name, "status") && strcmp(name, "kind") && strcmp(name, "apiVersion"))
				object->items[i] = old->items[i];
		}
	}
	return keep_metadata(ctx, object, old);
}

/* What an update can't take away. */
static bool keep_system_fields(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_value *old)
{
	if (!ks_meta_text(ctx->schema, object, "uid").n && !ks_meta_take(ctx->arena, ctx->schema, object, old, "uid"))
		return false;
	if (ks_meta_get(ctx->schema, old, "creationTimestamp") && !ks_meta_take(ctx->arena, ctx->schema, object, old, "creationTimestamp"))
		return false;
	if (ks_meta_get(ctx->schema, old, "deletionTimestamp") && !ks_meta_take(ctx->arena, ctx->schema, object, old, "deletionTimestamp"))
		return false;
	if (ks_meta_get(ctx->schema, old, "deletionGracePeriodSeconds") && !ks_meta_get(ctx->schema, object, "deletionGracePeriodSeconds"))
		return ks_meta_take(ctx->arena, ctx->schema, object, old, "deletionGracePeriodSeconds");
	return true;
}

static bool prepare_update(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_value *old)
{
	ks_meta_remove(ctx->schema, object, "selfLink");
	if (!ks_meta_take(ctx->arena, ctx->schema, object, old, "generation"))
		return false;
	if (ks_str_is(ctx->subresource, "status")) {
		if (!keep_all_but_status(ctx, object, old))
			return false;
	} else if (!ks_str_is(ctx->subresource, "approval") && has_status_subresource(ctx) && !take_field(ctx, object, old, "status")) {
		return false;
	}
	ks_registry_drop(ctx, object, old);
	if (ctx->strategy->prepare_update)
		ctx->strategy->prepare_update(ctx, object, old);
	return ks_str_is(ctx->subresource, "status") || raise_generation(ctx, object, old);
}

int ks_registry_before_update(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	int code = ks_registry_match_namespace(ctx, object, status);

	if (!code)
		code = allocate(ctx, object, old, status);
	if (code)
		return code;
	if (!prepare_update(ctx, object, old) || !keep_system_fields(ctx, object, old))
		return out_of_memory(ctx, status);
	ks_status_invalid(status, ctx->arena, group_of(ctx), kind_of(ctx), ks_meta_text(ctx->schema, object, "name"));
	ks_meta_validate(ctx, object, true, status);
	ks_meta_validate_update(ctx, object, old, status);
	ks_meta_validate_update(ctx, object, old, status);
	ks_meta_validate_finalizers(ctx, object, status);
	if (ctx->strategy->flags & KS_STRATEGY_VALIDATES_METADATA_AGAIN) {
		ks_meta_validate(ctx, object, false, status);
		ks_meta_validate_finalizers(ctx, object, status);
	}
	if (ctx->strategy->validate)
		ctx->strategy->validate(ctx, object, old, status);
	if (status->causes)
		return ks_status_invalid_finish(status, ctx->arena);
	memset(status, 0, sizeof(*status));
	run_warnings(ctx, object, old);
	return 0;
}

/* -- what lies outside ----------------------------------------------------------------------------------------- */

void ks_registry_rollback(struct ks_registry_context *ctx)
{
	struct ks_allocation *a = ctx->taken;

	ctx->taken = NULL;
	ctx->plan = NULL;
	while (a) {
		struct ks_allocation *next = a->next;

		a->give_back(a);
		a = next;
	}
}

bool ks_registry_committed(struct ks_registry_context *ctx, const struct ks_value *old, const struct ks_value *object)
{
	ctx->taken = NULL;
	ctx->plan = NULL;
	/* One more than there is, so that nothing resumes before all has begun. */
	ks_registry_hold(ctx);
	if (ctx->strategy->release && old)
		ctx->strategy->release(ctx, old, object);
	return --ctx->pending;
}

void ks_registry_let(struct ks_registry_context *ctx, uint64_t revision)
{
	if (revision > ctx->outside_revision)
		ctx->outside_revision = revision;
	if (--ctx->pending == 0 && ctx->resume)
		ctx->resume(ctx->resume_arg);
}
