/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/track.h"

#include <errno.h>

#include "core/api/apply/managed.h"
#include "core/api/cbor.h"
#include "core/api/quote.h"
#include "core/api/time.h"
#include "core/api/yaml.h"
#include "core/pipeline/inner.h"
#include "core/pipeline/resource/decode.h"
#include "core/registry/meta.h"
#include "core/registry/reset_fields.h"

/* -- who ---------------------------------------------------------------------------------------------------------- */

/* What prints of the first word of a User-Agent: kubectl/v1.36.0 ... is kubectl. NULL when out of memory. */
static struct ks_str manager_of_agent(struct ks_arena *arena, struct ks_str agent)
{
	const char *slash = agent.n ? memchr(agent.p, '/', agent.n) : NULL;
	struct ks_str word = slash ? ks_str_of(agent.p, (size_t)(slash - agent.p)) : agent;
	char *out = ks_arena_alloc(arena, KS_META_MOST_MANAGER);
	size_t n = 0;

	for (size_t at = 0; out && at < word.n;) {
		char text[4];
		uint32_t rune;
		size_t size;

		at += ks_utf8_next(word.p + at, word.n - at, &rune);
		if (!ks_rune_prints(rune))
			continue;
		size = ks_utf8_put(text, rune);
		if (n + size > KS_META_MOST_MANAGER)
			break;
		memcpy(out + n, text, size);
		n += size;
	}
	return ks_str_of(out, n);
}

static struct ks_str manager_of(struct ks_edit *w)
{
	struct ks_request *request = w->request;

	if (w->options.field_manager.n)
		return w->options.field_manager;
	/* What the server and its plugins write goes by the name that upstream's has. */
	if (request->inner)
		return KS_STR_LIT("kube-apiserver");
	return manager_of_agent(&w->round, ks_request_header(request, "user-agent"));
}

/* -- what --------------------------------------------------------------------------------------------------------- */

static uint16_t resource_of_version(const struct ks_edit *w, struct ks_str version)
{
	const char *slash = version.n ? memchr(version.p, '/', version.n) : NULL;
	struct ks_str group = slash ? ks_str_of(version.p, (size_t)(slash - version.p)) : (struct ks_str){0};
	struct ks_str name = slash ? ks_str_of(slash + 1, version.n - group.n - 1) : version;
	uint16_t found = ks_schema_find_resource(w->schema, group, name, ks_str_from(ks_edit_resource(w)));

	return found != KS_NO_RESOURCE && w->schema->resources[found].storage == w->storage ? found : KS_NO_RESOURCE;
}

static int convert(void *arg, struct ks_arena *arena, struct ks_str from, const struct ks_value *object, struct ks_str to, struct ks_value *out_r)
{
	struct ks_edit *w = arg;
	uint16_t before = resource_of_version(w, from), after = resource_of_version(w, to);

	if (before == KS_NO_RESOURCE || after == KS_NO_RESOURCE)
		return -ENOENT;
	if (!ks_value_copy(arena, object, out_r))
		return -ENOMEM;
	return ks_registry_convert(arena, w->schema, before, after, out_r) ? -ENOMEM : 0;
}

static bool has_version(void *arg, struct ks_str version)
{
	return resource_of_version(arg, version) != KS_NO_RESOURCE;
}

struct ks_tracked ks_edit_tracked(struct ks_edit *w)
{
	const struct ks_resource *r = &w->schema->resources[w->resource];
	const char *group = ks_schema_text(w->schema, r->group), *version = ks_schema_text(w->schema, r->version);
	char *text = ks_arena_printf(&w->round, "%s%s%s", group, group[0] ? "/" : "", version);

	return (struct ks_tracked){.type = r->type, .version = ks_str_from(text), .kind = ks_edit_kind(w), .live = w->creating ? NULL : &w->old,
		.object = &w->object};
}

static void set_reset(const struct ks_edit *w, struct ks_managed_op *op)
{
	const struct ks_resource *target = &w->schema->resources[w->target];
	const struct ks_reset_fields *reset =
		ks_reset_fields_find(ks_str_from(ks_edit_group(w)), ks_str_from(ks_schema_text(w->schema, target->resource)));

	if (!reset)
		return;
	op->reset = reset->paths;
	while (op->reset[op->n_reset])
		op->n_reset++;
}

/* `live_r`: what stands there, or the zero object. False when out of memory. */
static bool make_op(struct ks_edit *w, const struct ks_tracked *tracked, struct ks_managed_op *op, const struct ks_value **live_r)
{
	struct ks_value *zero;

	*op = (struct ks_managed_op){.schema = w->schema, .type = tracked->type, .version = tracked->version, .manager = manager_of(w),
		.subresource = w->ctx.subresource, .now = ks_time_now_text(&w->round, false), .force = w->options.force, .convert = convert, .has_version = has_version,
		.convert_arg = w};
	set_reset(w, op);
	*live_r = tracked->live;
	if (!op->now.p || !op->version.p || !op->manager.p)
		return false;
	if (tracked->live)
		return true;
	zero = ks_arena_zalloc(&w->round, 1, sizeof(*zero));
	*live_r = zero;
	return zero && ks_value_new_struct(&w->round, w->schema, tracked->type, zero);
}

int ks_edit_track(struct ks_edit *w, const struct ks_tracked *tracked)
{
	struct ks_managed_op op;
	const struct ks_value *live;

	if (!make_op(w, tracked, &op, &live) || ks_managed_update(&w->round, &op, live, tracked->object))
		return ks_edit_out_of_memory(w);
	return 0;
}

/* -- configurations ------------------------------------------------------------------------------------------------ */

static int out_of_memory(struct ks_request *request)
{
	return ks_status_internal(&request->status, &request->arena, "out of memory");
}

static int refuse_yaml(struct ks_request *request, const char *message)
{
	return ks_status_bad_request(&request->status, &request->arena, "error decoding YAML: error converting YAML to JSON: %s", message);
}

/* JSON is YAML, and read faster as what it is; what it says twice is told in the words of YAML. */
static bool read_json(struct ks_request *request, struct ks_patch *patch)
{
	struct ks_strict_errors repeated = {0};
	const char *message;

	if (!request->body.n || request->body.p[0] != '{')
		return false;
	return !ks_json_decode(&request->arena, NULL, 0, KS_DECODE_STRICT, request->body.p, request->body.n, &patch->value, &repeated, &message) &&
		!repeated.n;
}

/* Upstream speaks of YAML here, too. */
static int read_cbor(struct ks_request *request, struct ks_patch *patch)
{
	const char *message = "";
	int result = ks_cbor_decode_map(&request->arena, request->body, &patch->value, &message);

	if (result == -ENOMEM)
		return out_of_memory(request);
	return result ? ks_status_bad_request(&request->status, &request->arena, "error decoding YAML: %s", message) : 0;
}

int ks_apply_read(struct ks_request *request, struct ks_patch *patch)
{
	static const char *const kinds[] = {[KS_BOOL] = "bool", [KS_INT] = "number", [KS_FLOAT] = "number", [KS_STRING] = "string", [KS_LIST] = "array"};
	const char *message = "";
	int result;

	if (patch->cbor)
		return read_cbor(request, patch);
	if (read_json(request, patch))
		return 0;
	result = ks_yaml_decode(&request->arena, request->body.p, request->body.n, &patch->value, &patch->strict, &message);
	if (result)
		return result == -ENOMEM ? out_of_memory(request) : refuse_yaml(request, message);
	if (!ks_value_present(&patch->value))
		patch->value = (struct ks_value){.kind = KS_MAP};
	if (patch->value.kind == KS_MAP)
		return 0;
	return ks_status_bad_request(&request->status, &request->arena, "error decoding YAML: error unmarshaling JSON: while decoding JSON: "
		"json: cannot unmarshal %s into Go value of type map[string]interface {}", kinds[patch->value.kind]);
}

static struct ks_str text_at(const struct ks_value *config, const char *path)
{
	return ks_value_str(ks_value_at(NULL, config, path));
}

/* "v1" names the core group. */
static const char *print_version(struct ks_arena *arena, struct ks_str version)
{
	return ks_arena_printf(arena, "%s%.*s", version.n && memchr(version.p, '/', version.n) ? "" : "/", (int)version.n, version.p ? version.p : "");
}

static int check_config(struct ks_edit *w, const struct ks_value *config, const struct ks_tracked *tracked)
{
	struct ks_str version = text_at(config, "apiVersion"), kind = text_at(config, "kind");
	struct ks_request *request = w->request;

	if (!ks_str_eq(version, tracked->version) || !ks_str_is(kind, tracked->kind))
		return ks_status_bad_request(&request->status, &request->arena, "invalid object type: %s, Kind=%.*s",
			print_version(&request->arena, version), (int)kind.n, kind.p ? kind.p : "");
	if (ks_value_present(ks_value_at(NULL, config, "metadata.managedFields")))
		return ks_status_bad_request(&request->status, &request->arena, "metadata.managedFields must be nil");
	return 0;
}

/* The configuration as messages name it: namespace/name; group/version, Kind=Kind. */
static const char *print_config(struct ks_request *request, const struct ks_value *config, const struct ks_tracked *tracked)
{
	struct ks_str ns = text_at(config, "metadata.namespace"), name = text_at(config, "metadata.name");

	return ks_arena_printf(&request->arena, "%.*s/%.*s; %s, Kind=%s", (int)ns.n, ns.p ? ns.p : "", (int)name.n, name.p ? name.p : "",
		print_version(&request->arena, tracked->version), tracked->kind);
}

static int refuse_conflicts(struct ks_request *request, const struct ks_conflicts *conflicts)
{
	struct ks_status *status = &request->status;
	struct ks_arena *arena = &request->arena;
	int code = ks_status_set(status, arena, 409, "Conflict", "%s", conflicts->message);

	status->has_details = true;
	for (uint32_t i = 0; i < conflicts->n; i++)
		ks_status_cause(status, arena, "FieldManagerConflict", conflicts->items[i].path, "conflict with %s", conflicts->items[i].manager);
	return code;
}

static int refuse(struct ks_edit *w, enum ks_managed_result result, const struct ks_value *config, const struct ks_tracked *tracked,
	const struct ks_conflicts *conflicts, const char *message)
{
	struct ks_request *request = w->request;
	const char *name = print_config(request, config, tracked);

	if (result == KS_APPLY_CONFLICT)
		return refuse_conflicts(request, conflicts);
	if (result == KS_APPLY_BAD_CONFIG)
		return ks_status_set(&request->status, &request->arena, 500, NULL, "failed to create typed patch object (%s): %s", name, message);
	if (result == KS_APPLY_BAD_OBJECT)
		return ks_status_set(&request->status, &request->arena, 500, NULL,
			"failed to convert new object (%s) to proper version: unable to convert unstructured object to %s, Kind=%s: %s", name,
			print_version(&request->arena, tracked->version), tracked->kind, message);
	return ks_edit_out_of_memory(w);
}

/* What the text says twice: one error of many lines. */
static int tell_repeated(struct ks_edit *w, struct ks_patch *patch)
{
	struct ks_arena *arena = &w->request->arena;
	char *text = ks_arena_printf(arena, "error converting YAML to JSON: yaml: unmarshal errors:");

	if (!patch->strict.n || patch->fields == KS_FIELDS_IGNORE)
		return 0;
	for (uint32_t i = 0; text && i < patch->strict.n; i++)
		text = ks_arena_printf(arena, "%s\n  %.*s", text, (int)patch->strict.items[i].n, patch->strict.items[i].p);
	if (!text)
		return ks_edit_out_of_memory(w);
	if (patch->fields == KS_FIELDS_STRICT)
		return ks_status_bad_request(&w->request->status, arena, "error strict decoding YAML: %s", text);
	if (!patch->warned)
		ks_body_warn(w->request, &patch->strict);
	patch->warned = true;
	return 0;
}

/* Who names an object by its uid doesn't mean to make one. */
static int check_uid(struct ks_edit *w, const struct ks_tracked *tracked)
{
	struct ks_str uid = ks_meta_text(w->schema, tracked->object, "uid");
	char *why;

	if (tracked->live || !uid.n)
		return 0;
	why = ks_arena_printf(&w->request->arena, "uid mismatch: the provided object specified uid %.*s, and no existing object was found", (int)uid.n, uid.p);
	return ks_status_conflict(&w->request->status, &w->request->arena, ks_edit_group(w), ks_edit_resource(w), w->ctx.name, why ? why : "");
}

int ks_edit_apply(struct ks_edit *w, struct ks_patch *patch, const struct ks_tracked *tracked)
{
	struct ks_conflicts conflicts = {0};
	const char *message = "";
	const struct ks_value *live;
	struct ks_managed_op op;
	enum ks_managed_result result;
	int code = check_config(w, &patch->value, tracked);

	if (code)
		return code;
	if (!make_op(w, tracked, &op, &live))
		return ks_edit_out_of_memory(w);
	result = ks_managed_apply(&w->round, &op, live, &patch->value, tracked->object, &conflicts, &message);
	if (result)
		return refuse(w, result, &patch->value, tracked, &conflicts, message);
	code = tell_repeated(w, patch);
	return code ? code : check_uid(w, tracked);
}
