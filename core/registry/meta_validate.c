/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/meta.h"

#include <stdlib.h>

#include "core/api/quote.h"
#include "core/registry/cause.h"
#include "core/registry/names.h"

enum { ANNOTATIONS_LIMIT = 256 * 1024, SUBRESOURCE_LIMIT = 256 };
/* Of what is wrong with the names of managers this much is told: a name can have many characters, and an object many names. */
enum { MOST_CHARACTERS = 16, MOST_MANAGERS = 32 };

static void say_all(struct ks_registry_context *ctx, struct ks_status *status, const char *field, struct ks_str value,
	const struct ks_name_problems *problems)
{
	for (size_t i = 0; i < problems->n; i++)
		ks_cause_invalid(status, ctx->arena, field, value, problems->items[i]);
}

static void check_name(uint8_t rule, struct ks_str name, bool prefix, struct ks_name_problems *out)
{
	char masked[256];

	if (rule == KS_NAME_PATH) {
		ks_name_check_path(name, prefix, out);
		return;
	}
	/* A dash at the end of a prefix is followed by letters: judged as if by one. */
	if (prefix && name.n > 1 && name.n < sizeof(masked) && name.p[name.n - 1] == '-') {
		memcpy(masked, name.p, name.n - 2);
		masked[name.n - 2] = 'a';
		name = ks_str_of(masked, name.n - 1);
	}
	if (rule == KS_NAME_LABEL)
		ks_name_check_label(name, out);
	else if (rule == KS_NAME_LABEL_1035)
		ks_name_check_label_1035(name, out);
	else
		ks_name_check_subdomain(name, out);
}

static void validate_names(struct ks_registry_context *ctx, const struct ks_value *object, bool generic, struct ks_status *status)
{
	uint8_t rule = generic ? KS_NAME_PATH : ctx->strategy->names;
	struct ks_str name = ks_meta_text(ctx->schema, object, "name");
	struct ks_str base = ks_meta_text(ctx->schema, object, "generateName");
	struct ks_str ns = ks_meta_text(ctx->schema, object, "namespace");
	struct ks_name_problems problems;

	if (base.n) {
		check_name(rule, base, true, &problems);
		say_all(ctx, status, "metadata.generateName", base, &problems);
	}
	if (!name.n) {
		ks_cause_required(status, ctx->arena, "metadata.name", "name or generateName is required");
	} else {
		check_name(rule, name, false, &problems);
		say_all(ctx, status, "metadata.name", name, &problems);
	}
	if (ctx->schema->resources[ctx->resource].scope == KS_SCOPE_NAMESPACED) {
		ks_name_check_label(ns, &problems);
		if (!ns.n)
			ks_cause_required(status, ctx->arena, "metadata.namespace", "");
		else
			say_all(ctx, status, "metadata.namespace", ns, &problems);
	} else if (ns.n) {
		ks_cause_forbidden(status, ctx->arena, "metadata.namespace", "not allowed on this type");
	}
}

static void validate_labels(struct ks_registry_context *ctx, const struct ks_value *object, struct ks_status *status)
{
	const struct ks_value *labels = ks_meta_get(ctx->schema, object, "labels");
	struct ks_name_problems problems;

	for (uint32_t i = 0; labels && labels->kind == KS_MAP && i < labels->n; i++) {
		struct ks_str value = ks_value_str(&labels->members[i].value);

		ks_name_check_qualified(labels->members[i].key, false, &problems);
		say_all(ctx, status, "metadata.labels", labels->members[i].key, &problems);
		ks_name_check_label_value(value, &problems);
		say_all(ctx, status, "metadata.labels", value, &problems);
	}
}

static void validate_annotations(struct ks_registry_context *ctx, const struct ks_value *object, struct ks_status *status)
{
	const struct ks_value *notes = ks_meta_get(ctx->schema, object, "annotations");
	struct ks_name_problems problems;
	size_t total = 0;

	for (uint32_t i = 0; notes && notes->kind == KS_MAP && i < notes->n; i++) {
		ks_name_check_qualified(notes->members[i].key, true, &problems);
		say_all(ctx, status, "metadata.annotations", notes->members[i].key, &problems);
		total += notes->members[i].key.n + ks_value_str(&notes->members[i].value).n;
	}
	if (total > ANNOTATIONS_LIMIT)
		ks_status_cause(status, ctx->arena, "FieldValueTooLong", "metadata.annotations", "Too long: may not be more than %d bytes",
			ANNOTATIONS_LIMIT);
}

/* "group/version" or "version"; no version in what has more slashes. */
static bool split_api_version(struct ks_str text, struct ks_str *group_r, struct ks_str *version_r)
{
	const char *slash = text.n ? memchr(text.p, '/', text.n) : NULL;

	*group_r = (struct ks_str){0};
	*version_r = text;
	if (slash) {
		*group_r = ks_str_of(text.p, (size_t)(slash - text.p));
		*version_r = ks_str_of(slash + 1, text.n - group_r->n - 1);
		if (version_r->n && memchr(version_r->p, '/', version_r->n))
			*version_r = *group_r = (struct ks_str){0};
	}
	return version_r->n > 0;
}

static void validate_owner(struct ks_registry_context *ctx, const struct ks_value *owner, struct ks_status *status)
{
	struct ks_str api_version = ks_value_str(ks_value_get(ctx->schema, owner, "apiVersion"));
	struct ks_str kind = ks_value_str(ks_value_get(ctx->schema, owner, "kind"));
	struct ks_str name = ks_value_str(ks_value_get(ctx->schema, owner, "name"));
	struct ks_str uid = ks_value_str(ks_value_get(ctx->schema, owner, "uid"));
	struct ks_str group, version;

	if (!split_api_version(api_version, &group, &version))
		ks_cause_invalid(status, ctx->arena, "metadata.ownerReferences.apiVersion", api_version, "version must not be empty");
	if (!kind.n)
		ks_cause_invalid(status, ctx->arena, "metadata.ownerReferences.kind", kind, "must not be empty");
	if (!name.n)
		ks_cause_invalid(status, ctx->arena, "metadata.ownerReferences.name", name, "must not be empty");
	if (!uid.n)
		ks_cause_invalid(status, ctx->arena, "metadata.ownerReferences.uid", uid, "must not be empty");
	if (!group.n && ks_str_is(version, "v1") && ks_str_is(kind, "Event"))
		ks_cause_invalid_value(status, ctx->arena, ctx->schema, "metadata.ownerReferences", owner,
			"/v1, Kind=Event is disallowed from being an owner");
}

static bool is_controller(struct ks_registry_context *ctx, const struct ks_value *owner)
{
	const struct ks_value *controller = ks_value_get(ctx->schema, owner, "controller");

	return controller && controller->kind == KS_BOOL && controller->boolean;
}

static void validate_owners(struct ks_registry_context *ctx, const struct ks_value *object, struct ks_status *status)
{
	const struct ks_value *owners = ks_meta_get(ctx->schema, object, "ownerReferences");
	const struct ks_value *first = NULL;

	for (uint32_t i = 0; owners && owners->kind == KS_LIST && i < owners->n; i++) {
		const struct ks_value *owner = &owners->items[i];
		struct ks_str kind = ks_value_str(ks_value_get(ctx->schema, owner, "kind"));
		struct ks_str name = ks_value_str(ks_value_get(ctx->schema, owner, "name"));
		struct ks_str first_kind = ks_value_str(ks_value_get(ctx->schema, first, "kind"));
		struct ks_str first_name = ks_value_str(ks_value_get(ctx->schema, first, "name"));
		char *message;

		validate_owner(ctx, owner, status);
		if (!is_controller(ctx, owner))
			continue;
		if (!first) {
			first = owner;
			continue;
		}
		message = ks_arena_printf(ctx->arena,
			"Only one reference can have Controller set to true. Found \"true\" in references for %.*s/%.*s and %.*s/%.*s",
			(int)first_kind.n, first_kind.p, (int)first_name.n, first_name.p, (int)kind.n, kind.p, (int)name.n, name.p);
		ks_cause_invalid_value(status, ctx->arena, ctx->schema, "metadata.ownerReferences", owners,
			message ? message : "Only one reference can have Controller set to true.");
	}
}

static void validate_finalizer_names(struct ks_registry_context *ctx, const struct ks_value *object, struct ks_status *status)
{
	const struct ks_value *list = ks_meta_get(ctx->schema, object, "finalizers");
	bool orphan = false, foreground = false;
	struct ks_name_problems problems;

	for (uint32_t i = 0; list && list->kind == KS_LIST && i < list->n; i++) {
		struct ks_str name = ks_value_str(&list->items[i]);

		ks_name_check_qualified(name, false, &problems);
		say_all(ctx, status, "metadata.finalizers", name, &problems);
		orphan |= ks_str_is(name, "orphan");
		foreground |= ks_str_is(name, "foregroundDeletion");
	}
	if (orphan && foreground)
		ks_cause_invalid_value(status, ctx->arena, ctx->schema, "metadata.finalizers", list,
			"finalizer orphan and foregroundDeletion cannot be both set");
}

/* -- managers of fields ---------------------------------------------------------------------------------------- */

static bool is_manager(struct ks_str manager)
{
	uint32_t rune = ' ';

	for (size_t i = 0; i < manager.n && ks_rune_prints(rune);)
		i += ks_utf8_next(manager.p + i, manager.n - i, &rune);
	return manager.n <= KS_META_MOST_MANAGER && ks_rune_prints(rune);
}

void ks_meta_validate_manager(struct ks_status *status, struct ks_arena *arena, const char *field, struct ks_str manager)
{
	uint32_t told = 0;

	if (manager.n > KS_META_MOST_MANAGER)
		ks_status_cause(status, arena, "FieldValueTooLong", field, "Too long: may not be more than %d bytes", KS_META_MOST_MANAGER);
	/* Each shows the whole name. */
	for (size_t i = 0, n; i < manager.n && told < MOST_CHARACTERS; i += n) {
		uint32_t rune;
		char *message;

		n = ks_utf8_next(manager.p + i, manager.n - i, &rune);
		if (ks_rune_prints(rune))
			continue;
		told++;
		message = ks_arena_printf(arena, "invalid character U+%04X (at position %zu)", rune, i);
		ks_cause_invalid(status, arena, field, manager, message ? message : "invalid character");
	}
}

static const char *field_of_entry(struct ks_registry_context *ctx, uint32_t at, const char *name)
{
	const char *field = ks_arena_printf(ctx->arena, "metadata.managedFields[%u].%s", at, name);

	return field ? field : "metadata.managedFields";
}

static void validate_managers(struct ks_registry_context *ctx, const struct ks_value *object, struct ks_status *status)
{
	const struct ks_value *list = ks_meta_get(ctx->schema, object, "managedFields");
	uint32_t bad = 0;

	for (uint32_t i = 0; list && list->kind == KS_LIST && i < list->n && bad < MOST_MANAGERS; i++) {
		const struct ks_value *entry = &list->items[i];
		struct ks_str operation = ks_value_str(ks_value_get(ctx->schema, entry, "operation"));
		struct ks_str type = ks_value_str(ks_value_get(ctx->schema, entry, "fieldsType"));
		struct ks_str manager = ks_value_str(ks_value_get(ctx->schema, entry, "manager"));

		if (!ks_str_is(operation, "Apply") && !ks_str_is(operation, "Update"))
			ks_cause_invalid(status, ctx->arena, field_of_entry(ctx, i, "operation"), operation, "must be `Apply` or `Update`");
		if (type.n && !ks_str_is(type, "FieldsV1"))
			ks_cause_invalid(status, ctx->arena, field_of_entry(ctx, i, "fieldsType"), type, "must be `FieldsV1`");
		if (!is_manager(manager) && ++bad)
			ks_meta_validate_manager(status, ctx->arena, field_of_entry(ctx, i, "manager"), manager);
		if (ks_value_str(ks_value_get(ctx->schema, entry, "subresource")).n > SUBRESOURCE_LIMIT)
			ks_status_cause(status, ctx->arena, "FieldValueTooLong", field_of_entry(ctx, i, "subresource"),
				"Too long: may not be more than %d bytes", SUBRESOURCE_LIMIT);
	}
}

/* -- the whole -------------------------------------------------------------------------------------------------- */

void ks_meta_validate(struct ks_registry_context *ctx, const struct ks_value *object, bool generic, struct ks_status *status)
{
	int64_t generation = ks_meta_int(ctx->schema, object, "generation", 0);

	validate_names(ctx, object, generic, status);
	if (generation < 0)
		ks_cause_invalid_int(status, ctx->arena, "metadata.generation", generation, "must be greater than or equal to 0");
	validate_labels(ctx, object, status);
	validate_annotations(ctx, object, status);
	validate_owners(ctx, object, status);
	validate_finalizer_names(ctx, object, status);
	validate_managers(ctx, object, status);
}

void ks_meta_validate_finalizers(struct ks_registry_context *ctx, const struct ks_value *object, struct ks_status *status)
{
	const struct ks_value *list = ks_meta_get(ctx->schema, object, "finalizers");

	for (uint32_t i = 0; list && list->kind == KS_LIST && i < list->n; i++) {
		struct ks_str name = ks_value_str(&list->items[i]);
		char *field;

		if ((name.n && memchr(name.p, '/', name.n)) || ks_str_is(name, "kubernetes") || ks_str_is(name, "orphan") ||
			ks_str_is(name, "foregroundDeletion"))
			continue;
		field = ks_arena_printf(ctx->arena, "metadata.finalizers[%u]", i);
		ks_cause_invalid(status, ctx->arena, field ? field : "metadata.finalizers", name, "name is neither a standard finalizer name nor is it fully qualified");
	}
}

static bool list_has(const struct ks_value *list, struct ks_str text)
{
	for (uint32_t i = 0; list && list->kind == KS_LIST && i < list->n; i++)
		if (ks_str_eq(ks_value_str(&list->items[i]), text))
			return true;
	return false;
}

static int by_text(const void *a, const void *b)
{
	return ks_str_cmp(*(const struct ks_str *)a, *(const struct ks_str *)b);
}

/* Finalizers can't be added to what is being deleted. */
static void validate_no_new_finalizers(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	const struct ks_value *now = ks_meta_get(ctx->schema, object, "finalizers");
	const struct ks_value *before = ks_meta_get(ctx->schema, old, "finalizers");
	struct ks_str *extra;
	size_t n = 0;
	struct ks_buf text;

	if (!now || now->kind != KS_LIST)
		return;
	extra = ks_arena_zalloc(ctx->arena, now->n + 1, sizeof(*extra));
	if (!extra)
		return;
	for (uint32_t i = 0; i < now->n; i++)
		if (!list_has(before, ks_value_str(&now->items[i])))
			extra[n++] = ks_value_str(&now->items[i]);
	if (!n)
		return;
	qsort(extra, n, sizeof(*extra), by_text);
	ks_buf_init(&text);
	for (size_t i = 0; i < n; i++) {
		if (i)
			ks_buf_add_str(&text, ", ");
		ks_quote_to(&text, extra[i]);
	}
	ks_status_cause(status, ctx->arena, "FieldValueForbidden", "metadata.finalizers",
		"Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{%.*s}",
		text.failed ? 0 : (int)text.len, text.data);
	ks_buf_fini(&text);
}

static void check_immutable(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, const char *name,
	struct ks_status *status)
{
	static const struct ks_value nothing;
	const struct ks_value *now = ks_meta_get(ctx->schema, object, name);
	const struct ks_value *before = ks_meta_get(ctx->schema, old, name);
	char *field;

	if (ks_value_equal(now ? now : &nothing, before ? before : &nothing))
		return;
	field = ks_arena_printf(ctx->arena, "metadata.%s", name);
	if (!field)
		return;
	if (now && now->kind == KS_STRING)
		ks_cause_invalid(status, ctx->arena, field, ks_value_str(now), "field is immutable");
	else
		ks_cause_invalid_value(status, ctx->arena, ctx->schema, field, now, "field is immutable");
}

void ks_meta_validate_update(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	static const char *const immutable[] = {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"};
	int64_t generation = ks_meta_int(ctx->schema, object, "generation", 0);

	if (ks_meta_get(ctx->schema, old, "deletionTimestamp"))
		validate_no_new_finalizers(ctx, object, old, status);
	if (!ks_meta_text(ctx->schema, object, "resourceVersion").n)
		ks_cause_invalid(status, ctx->arena, "metadata.resourceVersion", (struct ks_str){0}, "must be specified for an update");
	if (generation < ks_meta_int(ctx->schema, old, "generation", 0))
		ks_cause_invalid_int(status, ctx->arena, "metadata.generation", generation, "must not be decremented");
	for (size_t i = 0; i < sizeof(immutable) / sizeof(immutable[0]); i++)
		check_immutable(ctx, object, old, immutable[i], status);
	validate_labels(ctx, object, status);
	validate_annotations(ctx, object, status);
	validate_owners(ctx, object, status);
	validate_managers(ctx, object, status);
}
