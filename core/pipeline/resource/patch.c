/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/patch.h"

#include <errno.h>

#include "core/api/patch.h"
#include "core/pipeline/resource/decode.h"
#include "core/pipeline/resource/track.h"
#include "core/pipeline/resource/write.h"
#include "core/registry/cause.h"

int ks_patch_negotiate(struct ks_request *request, struct ks_patch *out_r)
{
	static const char *const types[] = {
		"application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json",
		"application/apply-patch+yaml", "application/apply-patch+cbor",
	};
	size_t n = ks_request_has_feature(request, KS_FEATURE_CBOR) ? 5 : 4;
	int at = ks_negotiate_type(&request->arena, ks_request_header(request, "content-type"), types, n, &request->status);

	memset(out_r, 0, sizeof(*out_r));
	if (at < 0) /* upstream's router says so, which knows what each built-in kind takes */
		return ks_status_generic(&request->status, &request->arena, 415, "", "", "", (struct ks_str){0}, "415: Unsupported Media Type");
	out_r->cbor = at > KS_PATCH_APPLY;
	out_r->kind = out_r->cbor ? KS_PATCH_APPLY : (enum ks_patch_kind)at;
	return 0;
}

static int out_of_memory(struct ks_request *request)
{
	return ks_status_internal(&request->status, &request->arena, "out of memory");
}

/* -- reading ------------------------------------------------------------------------------------------------------ */

static const char *go_kind(const struct ks_value *v)
{
	switch (v->kind) {
	case KS_BOOL: return "bool";
	case KS_INT: case KS_FLOAT: return "number";
	case KS_STRING: return "string";
	case KS_LIST: return "array";
	default: return "object";
	}
}

static int refuse(struct ks_request *request, const struct ks_patch *patch, const char *message)
{
	if (patch->kind == KS_PATCH_STRATEGIC)
		return ks_status_bad_request(&request->status, &request->arena, "%s", message);
	return ks_status_bad_request(&request->status, &request->arena, "error decoding patch: %s", message);
}

static int refuse_type(struct ks_request *request, const struct ks_patch *patch, const struct ks_value *v, const char *target)
{
	char *message = ks_arena_printf(&request->arena, "json: cannot unmarshal %s into Go %s", go_kind(v), target);

	return message ? refuse(request, patch, message) : out_of_memory(request);
}

/* Operations have texts where texts belong. */
static int check_operations(struct ks_request *request, struct ks_patch *patch)
{
	static const char *const texts[] = {"op", "path", "from"};
	const struct ks_value *list = &patch->value;

	if (list->kind == KS_NULL || list->kind == KS_ABSENT) {
		patch->value = (struct ks_value){.kind = KS_LIST};
		return 0;
	}
	if (list->kind != KS_LIST)
		return refuse_type(request, patch, list, "value of type []handlers.jsonPatchOp");
	for (uint32_t i = 0; i < list->n; i++) {
		const struct ks_value *op = &list->items[i];

		if (op->kind != KS_MAP && op->kind != KS_NULL && op->kind != KS_ABSENT)
			return refuse_type(request, patch, op, "value of type handlers.jsonPatchOp");
		for (size_t k = 0; k < 3; k++) {
			const struct ks_value *text = ks_value_get(request->server->schema, op, texts[k]);

			if (ks_value_present(text) && text->kind != KS_STRING)
				return refuse_type(request, patch, text,
					ks_arena_printf(&request->arena, "struct field jsonPatchOp.%s of type string", texts[k]));
		}
	}
	if (patch->fields != KS_FIELDS_IGNORE && !ks_patch_json_strict(&request->arena, list, &patch->strict))
		return out_of_memory(request);
	for (uint32_t i = 0; i < patch->strict.n; i++) {
		struct ks_str *text = &patch->strict.items[i];
		char *longer = ks_arena_printf(&request->arena, "json patch %.*s", (int)text->n, text->p);

		if (!longer)
			return out_of_memory(request);
		*text = ks_str_from(longer);
	}
	return 0;
}

int ks_patch_read(struct ks_request *request, struct ks_patch *patch)
{
	bool strict = patch->fields != KS_FIELDS_IGNORE;
	const char *message = "";
	int result;

	if (patch->kind == KS_PATCH_APPLY)
		return ks_apply_read(request, patch);
	result = ks_json_decode(&request->arena, request->server->schema, 0, strict ? KS_DECODE_STRICT : 0, request->body.p, request->body.n,
		&patch->value, strict ? &patch->strict : NULL, &message);

	if (result == -ENOMEM)
		return out_of_memory(request);
	if (result)
		return refuse(request, patch, message);
	if (patch->kind == KS_PATCH_JSON)
		return check_operations(request, patch);
	if (patch->value.kind == KS_NULL || patch->value.kind == KS_ABSENT) {
		if (patch->kind == KS_PATCH_MERGE)
			return ks_status_bad_request(&request->status, &request->arena, "Invalid JSON Patch");
		patch->value = (struct ks_value){.kind = KS_MAP};
	}
	if (patch->value.kind != KS_MAP)
		return refuse_type(request, patch, &patch->value, "value of type map[string]interface {}");
	return 0;
}

/* -- applying ----------------------------------------------------------------------------------------------------- */

static int refuse_result(struct ks_request *request, struct ks_patch *patch, const struct ks_value *free_form, const char *message)
{
	struct ks_buf text;

	ks_buf_init(&text);
	if (patch->kind == KS_PATCH_STRATEGIC)
		ks_value_print(&patch->value, &text);
	else
		ks_json_encode(request->server->schema, free_form, &text);
	ks_status_invalid(&request->status, &request->arena, "", "", (struct ks_str){0});
	ks_cause_invalid(&request->status, &request->arena, "patch", text.failed ? (struct ks_str){0} : ks_buf_str(&text), message);
	ks_buf_fini(&text);
	return ks_status_invalid_finish(&request->status, &request->arena);
}

static int run_patch(struct ks_request *request, struct ks_patch *patch, struct ks_arena *arena, uint16_t type, struct ks_value *object,
	const char **message_r)
{
	if (patch->kind == KS_PATCH_JSON)
		return ks_patch_json(arena, object, &patch->value, message_r);
	if (patch->kind == KS_PATCH_MERGE)
		return ks_patch_merge(arena, object, &patch->value, message_r);
	return ks_patch_strategic(arena, request->server->schema, type, object, &patch->value, message_r);
}

static int refuse_patch(struct ks_request *request, int result, const char *message)
{
	struct ks_status *status = &request->status;

	switch (result) {
	case -EINVAL:
		return ks_status_bad_request(status, &request->arena, "%s", message);
	case -E2BIG:
		return ks_status_set(status, &request->arena, 413, "RequestEntityTooLarge", "Request entity too large: %s", message);
	case -EPERM:
		return ks_status_generic(status, &request->arena, 422, "", "", "", (struct ks_str){0}, message);
	case -EPROTO:
		return ks_status_set(status, &request->arena, 500, NULL, "%s", message);
	default:
		return out_of_memory(request);
	}
}

/* What was unknown or doubled, in the patch and in what came of it. */
static int tell_strict(struct ks_request *request, struct ks_patch *patch, const struct ks_value *free_form, const struct ks_strict_errors *found)
{
	const char *first, *second;
	char *message;

	if (patch->fields == KS_FIELDS_IGNORE || (!patch->strict.n && !found->n))
		return 0;
	if (patch->fields == KS_FIELDS_WARN) {
		if (!patch->warned) {
			ks_body_warn(request, &patch->strict);
			ks_body_warn(request, found);
		}
		patch->warned = true;
		return 0;
	}
	first = ks_body_strict_text(request, &patch->strict);
	second = ks_body_strict_text(request, found);
	message = ks_arena_printf(&request->arena, "strict decoding error: %s%s%s", first, first[0] && second[0] ? ", " : "", second);
	return message ? refuse_result(request, patch, free_form, message) : out_of_memory(request);
}

/* What is said of an object of another kind: it is read as one of that kind first. NULL when out of memory. */
static const char *complain_of_kind(struct ks_request *request, struct ks_arena *arena, const struct ks_value *free_form, struct ks_str was,
	struct ks_str version, struct ks_str kind)
{
	const struct ks_schema *s = request->server->schema;
	const char *slash = version.n ? memchr(version.p, '/', version.n) : NULL, *message = NULL;
	struct ks_str group = slash ? ks_str_of(version.p, (size_t)(slash - version.p)) : (struct ks_str){0};
	struct ks_str name = slash ? ks_str_of(slash + 1, version.n - group.n - 1) : version;
	const struct ks_kind *known = ks_schema_find_kind(s, group, name, kind);
	struct ks_value other;
	int result = known ? ks_value_convert(arena, s, known->type, 0, free_form, &other, NULL, &message) : 0;

	if (!known)
		return ks_arena_printf(&request->arena, "no kind \"%.*s\" is registered for version \"%.*s\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
			(int)kind.n, kind.p, (int)version.n, version.p);
	if (result)
		return result == -EINVAL ? message : NULL;
	return ks_arena_printf(&request->arena, "a %.*s can't be turned into a %.*s of %.*s", (int)was.n, was.p, (int)kind.n, kind.p, (int)version.n, version.p);
}

/* A patch can't turn an object into one of another kind. */
static int check_kind(struct ks_request *request, struct ks_patch *patch, struct ks_arena *arena, const struct ks_value *object,
	const struct ks_value *free_form)
{
	const struct ks_schema *s = request->server->schema;
	struct ks_str was = ks_value_str(ks_value_get(s, object, "kind")), was_version = ks_value_str(ks_value_get(s, object, "apiVersion"));
	struct ks_str kind = ks_value_str(ks_value_get(NULL, free_form, "kind")), version = ks_value_str(ks_value_get(NULL, free_form, "apiVersion"));
	const char *message;

	if ((!kind.n || ks_str_eq(kind, was)) && (!version.n || ks_str_eq(version, was_version)))
		return 0;
	message = complain_of_kind(request, arena, free_form, was, version.n ? version : was_version, kind.n ? kind : was);
	return message ? refuse_result(request, patch, free_form, message) : out_of_memory(request);
}

/* What it took away comes back. */
static int keep_kind(struct ks_request *request, struct ks_arena *arena, const struct ks_value *object, struct ks_value *out)
{
	static const char *const names[] = {"apiVersion", "kind"};
	const struct ks_schema *s = request->server->schema;

	for (size_t i = 0; i < 2; i++) {
		struct ks_value *place = ks_value_put(arena, s, out, ks_str_from(names[i]));

		if (!place)
			return out_of_memory(request);
		*place = ks_value_from_str(ks_value_str(ks_value_get(s, object, names[i])));
	}
	return 0;
}

int ks_patch_apply(struct ks_request *request, struct ks_patch *patch, struct ks_arena *arena, uint16_t type, const struct ks_value *object,
	struct ks_value *out_r)
{
	const struct ks_schema *s = request->server->schema;
	struct ks_strict_errors found = {0};
	struct ks_value free_form;
	const char *message = "";
	unsigned flags;
	int result;

	if (!ks_value_to_free(arena, s, object, &free_form))
		return out_of_memory(request);
	result = run_patch(request, patch, arena, type, &free_form, &message);
	if (result)
		return refuse_patch(request, result, message);
	result = check_kind(request, patch, arena, object, &free_form);
	if (result)
		return result;
	flags = (patch->fields == KS_FIELDS_IGNORE ? 0 : KS_DECODE_STRICT) | (patch->kind == KS_PATCH_STRATEGIC ? KS_CONVERT_UNSTRUCTURED : 0);
	result = ks_value_convert(arena, s, type, flags, &free_form, out_r, patch->fields == KS_FIELDS_IGNORE ? NULL : &found, &message);
	if (result == -ENOMEM)
		return out_of_memory(request);
	if (result)
		return refuse_result(request, patch, &free_form, message);
	result = keep_kind(request, arena, object, out_r);
	return result ? result : tell_strict(request, patch, &free_form, &found);
}

/* -- the verb ----------------------------------------------------------------------------------------------------- */

static int apply(struct ks_edit *w)
{
	struct ks_patch *patch = w->data;
	struct ks_tracked tracked;

	if (patch->kind == KS_PATCH_APPLY) {
		tracked = ks_edit_tracked(w);
		return ks_edit_apply(w, patch, &tracked);
	}
	return ks_patch_apply(w->request, patch, &w->round, w->schema->resources[w->resource].type, &w->old, &w->object);
}

static enum ks_stage_result read_patch(struct ks_edit *w)
{
	return ks_patch_read(w->request, w->data) ? KS_STAGE_FAILED : ks_edit_next(w, ks_edit_load);
}

static enum ks_stage_result read_request(struct ks_edit *w)
{
	struct ks_patch *patch = w->data;
	bool applies = patch->kind == KS_PATCH_APPLY;
	enum ks_stage_result body = ks_request_need_body(w->request);

	if (body != KS_STAGE_NEXT)
		return body;
	if (ks_write_options_parse(w->request, "PatchOptions", applies, &w->options))
		return KS_STAGE_FAILED;
	patch->fields = w->options.fields;
	w->change = apply;
	w->may_leave = true;
	w->tracks = !applies;
	w->may_create = applies && !w->ctx.subresource.n;
	w->ctx.dry_run = w->options.dry_run;
	w->current = w->cache ? ks_cache_get(w->cache, w->ctx.ns, w->ctx.name) : NULL;
	/* A patch of nothing is not looked at. */
	if (!w->current && !w->may_create) {
		ks_edit_not_found(w, w->ctx.name);
		return KS_STAGE_FAILED;
	}
	return ks_edit_compute(w, read_patch);
}

enum ks_stage_result ks_resource_patch(struct ks_request *request)
{
	struct ks_patch *patch = ks_arena_zalloc(&request->arena, 1, sizeof(*patch));
	struct ks_edit *w;

	if (!patch) {
		out_of_memory(request);
		return KS_STAGE_FAILED;
	}
	if (ks_patch_negotiate(request, patch) || ks_request_negotiate(request, KS_ALLOW_PARTIAL | KS_ALLOW_TABLE))
		return KS_STAGE_FAILED;
	w = ks_edit_new(request, read_request);
	if (!w)
		return KS_STAGE_FAILED;
	w->data = patch;
	return ks_edit_run(w);
}
