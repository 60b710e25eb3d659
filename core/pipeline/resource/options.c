/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/options.h"

#include <errno.h>
#include <strings.h>

#include "core/api/cbor.h"
#include "core/api/json.h"
#include "core/api/proto.h"
#include "core/api/quote.h"
#include "core/api/yaml.h"
#include "core/pipeline/server.h"
#include "core/registry/cause.h"
#include "core/registry/meta.h"

#define META_GROUP "meta.k8s.io"
#define IGNORE_READ_ERRORS "ignoreStoreReadErrorWithClusterBreakingPotential"

/* -- numbers ------------------------------------------------------------------------------------------------------ */

static const char *refuse_number(struct ks_arena *arena, const char *function, struct ks_str text, bool range)
{
	const char *quoted = ks_quote(arena, text);
	char *message = ks_arena_printf(arena, "strconv.%s: parsing %s: %s", function, quoted ? quoted : "\"\"",
		range ? "value out of range" : "invalid syntax");

	return message ? message : "out of memory";
}

/* Decimal digits as a 64-bit number. 0, -EINVAL, -ERANGE. */
static int parse_digits(struct ks_str text, uint64_t most, uint64_t *out_r)
{
	uint64_t n = 0;
	bool over = false;

	if (!text.n)
		return -EINVAL;
	for (size_t i = 0; i < text.n; i++) {
		unsigned digit = (unsigned)(text.p[i] - '0');

		if (digit > 9)
			return -EINVAL;
		if (n > (most - digit) / 10)
			over = true;
		n = n * 10 + digit;
	}
	*out_r = n;
	return over ? -ERANGE : 0;
}

static int parse_int64(struct ks_arena *arena, struct ks_str text, int64_t *out_r, const char **message_r)
{
	bool negative = text.n && text.p[0] == '-';
	struct ks_str digits = text;
	uint64_t n = 0;
	int result;

	if (text.n && (text.p[0] == '-' || text.p[0] == '+'))
		digits = ks_str_of(text.p + 1, text.n - 1);
	result = parse_digits(digits, negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX, &n);
	if (result) {
		*message_r = refuse_number(arena, "ParseInt", text, result == -ERANGE);
		return -EINVAL;
	}
	*out_r = negative ? (int64_t)(0 - n) : (int64_t)n;
	return 0;
}

int ks_revision_of_object(struct ks_arena *arena, struct ks_str text, uint64_t *out_r, const char **message_r)
{
	int result;

	*out_r = 0;
	if (!text.n)
		return 0;
	result = parse_digits(text, UINT64_MAX, out_r);
	if (!result)
		return 0;
	*message_r = refuse_number(arena, "ParseUint", text, result == -ERANGE);
	return -EINVAL;
}

int ks_revision_parse(struct ks_arena *arena, struct ks_str text, uint64_t *out_r, const char **message_r)
{
	const char *quoted, *why;
	char *message;

	if (!ks_revision_of_object(arena, text, out_r, &why))
		return 0;
	quoted = ks_quote(arena, text);
	message = ks_arena_printf(arena, "resourceVersion: Invalid value: %s: %s", quoted ? quoted : "\"\"", why);
	*message_r = message ? message : "out of memory";
	return -EINVAL;
}

/* A flag of the query: present and not "0" or "false". */
static bool flag(struct ks_str text)
{
	if (!text.p)
		return false;
	return !(ks_str_is(text, "0") || (text.n == 5 && !strncasecmp(text.p, "false", 5)));
}

static int optional_int(struct ks_request *request, const char *key, int64_t *out_r, bool *has_r)
{
	struct ks_str text = ks_request_query(request, key);
	const char *message;

	*has_r = text.p != NULL;
	if (!text.p)
		return 0;
	if (parse_int64(&request->arena, text, out_r, &message))
		return ks_status_bad_request(&request->status, &request->arena, "%s", message);
	return 0;
}

/* -- writes ------------------------------------------------------------------------------------------------------- */

/* All values of dryRun, and whether each is "All". Adds a cause when not. */
static void parse_dry_run(struct ks_request *request, bool *dry_run_r, struct ks_status *status)
{
	struct ks_buf all;
	bool bad = false;

	ks_request_query(request, "dryRun");
	ks_buf_init(&all);
	for (size_t i = 0; i < request->query.n; i++) {
		const struct ks_query_item *item = &request->query.items[i];

		if (!ks_str_is(item->key, "dryRun"))
			continue;
		bad |= !ks_str_is(item->value, "All");
		*dry_run_r |= ks_str_is(item->value, "All");
		ks_buf_add_char(&all, all.len ? ',' : '[');
		ks_json_encode_string(item->value, &all);
	}
	if (bad && !all.failed)
		ks_status_cause(status, &request->arena, "FieldValueNotSupported", "dryRun", "Unsupported value: %.*s]: supported values: \"All\"",
			(int)all.len, all.data);
	ks_buf_fini(&all);
}

static bool parse_field_validation(struct ks_str text, enum ks_field_validation *out_r)
{
	if (!text.n || ks_str_is(text, "Warn"))
		*out_r = KS_FIELDS_WARN;
	else if (ks_str_is(text, "Ignore"))
		*out_r = KS_FIELDS_IGNORE;
	else if (ks_str_is(text, "Strict"))
		*out_r = KS_FIELDS_STRICT;
	else
		return false;
	return true;
}

/* What admission sees: kind, apiVersion and what was said. */
static bool options_value(struct ks_request *request, const char *kind, const struct ks_write_options *options, struct ks_value *out_r)
{
	struct ks_value *place;
	const struct ks_schema *s = request->server->schema;

	*out_r = (struct ks_value){.kind = KS_MAP};
	if (!(place = ks_value_put(&request->arena, s, out_r, KS_STR_LIT("kind"))))
		return false;
	*place = ks_value_from_str(ks_str_from(kind));
	if (!(place = ks_value_put(&request->arena, s, out_r, KS_STR_LIT("apiVersion"))))
		return false;
	*place = ks_value_from_str(KS_STR_LIT("meta.k8s.io/v1"));
	if (options->field_manager.n) {
		if (!(place = ks_value_put(&request->arena, s, out_r, KS_STR_LIT("fieldManager"))))
			return false;
		*place = ks_value_from_str(options->field_manager);
	}
	if (options->dry_run) {
		if (!(place = ks_value_put(&request->arena, s, out_r, KS_STR_LIT("dryRun"))))
			return false;
		*place = (struct ks_value){.kind = KS_LIST};
		if (!(place = ks_value_append(&request->arena, place)))
			return false;
		*place = ks_value_from_str(KS_STR_LIT("All"));
	}
	return true;
}

int ks_write_options_parse(struct ks_request *request, const char *kind, bool apply, struct ks_write_options *out_r)
{
	static const char *const known[] = {"", "Ignore", "Strict", "Warn", NULL};
	struct ks_str fields = ks_request_query(request, "fieldValidation"), force = ks_request_query(request, "force");
	struct ks_status *status = &request->status;

	*out_r = (struct ks_write_options){.field_manager = ks_request_query(request, "fieldManager"), .has_force = force.p != NULL, .force = flag(force)};
	ks_status_invalid(status, &request->arena, META_GROUP, kind, (struct ks_str){0});
	if (apply && !out_r->field_manager.n)
		ks_cause_required(status, &request->arena, "fieldManager", "is required for apply patch");
	if (!strcmp(kind, "PatchOptions") && !apply && out_r->has_force)
		ks_cause_forbidden(status, &request->arena, "force", "may not be specified for non-apply patch");
	ks_meta_validate_manager(status, &request->arena, "fieldManager", out_r->field_manager);
	parse_dry_run(request, &out_r->dry_run, status);
	if (!parse_field_validation(fields, &out_r->fields))
		ks_cause_unsupported(status, &request->arena, "fieldValidation", fields, known);
	if (status->causes)
		return ks_status_invalid_finish(status, &request->arena);
	memset(status, 0, sizeof(*status));
	request->dry_run = out_r->dry_run;
	if (!options_value(request, kind, out_r, &out_r->value))
		return ks_status_internal(status, &request->arena, "out of memory");
	return 0;
}

/* -- deletes ------------------------------------------------------------------------------------------------------ */

static void set_grace(struct ks_delete_options *options, int64_t seconds)
{
	options->policy.grace_seconds = seconds < 0 ? 1 : seconds;
}

static int delete_from_query(struct ks_request *request, struct ks_delete_options *o, struct ks_str *propagation_r)
{
	struct ks_str orphan = ks_request_query(request, "orphanDependents");
	int64_t grace;
	bool has;
	int code = optional_int(request, "gracePeriodSeconds", &grace, &has);

	if (code)
		return code;
	if (has)
		set_grace(o, grace);
	if (orphan.p)
		o->policy.orphan_dependents = flag(orphan);
	o->ignore_read_errors = flag(ks_request_query(request, IGNORE_READ_ERRORS));
	*propagation_r = ks_request_query(request, "propagationPolicy");
	return 0;
}

#define META_SCHEME "pkg/apis/meta/internalversion/scheme/register.go:27"

static int refuse_delete_kind(struct ks_request *request, const struct ks_value *options, struct ks_str kind)
{
	struct ks_str version = ks_value_str(ks_value_get(request->server->schema, options, "apiVersion"));
	const char *quoted_kind = ks_quote(&request->arena, kind), *quoted = ks_quote(&request->arena, version.n ? version : KS_STR_LIT(META_GROUP "/v1"));

	return ks_status_bad_request(&request->status, &request->arena, "no kind %s is registered for version %s in scheme \"" META_SCHEME "\"",
		quoted_kind ? quoted_kind : "\"\"", quoted ? quoted : "\"\"");
}

/* 0, or a negative errno with *message_r. */
static int decode_delete_body(struct ks_request *request, enum ks_media_format format, uint16_t type, struct ks_value *out_r, const char **message_r)
{
	const struct ks_schema *s = request->server->schema;
	struct ks_proto_envelope envelope;
	struct ks_str version, kind;
	struct ks_value raw;
	int result;

	if (format == KS_MEDIA_YAML) {
		result = ks_yaml_decode(&request->arena, request->body.p, request->body.n, &raw, NULL, message_r);
		return result ? result : ks_value_convert(&request->arena, s, type, 0, &raw, out_r, NULL, message_r);
	}
	if (format == KS_MEDIA_PROTOBUF) {
		result = ks_proto_open(&request->arena, request->body, &envelope, message_r);
		return result ? result : ks_proto_decode(&request->arena, s, type, KS_PROTO_COPY, envelope.raw, out_r, message_r);
	}
	if (format == KS_MEDIA_CBOR) {
		result = ks_cbor_peek_kind(&request->arena, request->body, &version, &kind, message_r);
		if (result == -EINVAL)
			*message_r = ks_arena_printf(&request->arena, "unable to determine group/version/kind: %s", *message_r);
		return result ? result : ks_cbor_decode(&request->arena, s, type, 0, request->body, out_r, NULL, message_r);
	}
	result = ks_json_peek_kind(&request->arena, request->body.p, request->body.n, &version, &kind, message_r);
	if (result == -EINVAL)
		*message_r = ks_arena_printf(&request->arena, "couldn't get version/kind; json parse error: %s", *message_r);
	return result ? result : ks_json_decode(&request->arena, s, type, 0, request->body.p, request->body.n, out_r, NULL, message_r);
}

static int decode_delete_options(struct ks_request *request, struct ks_value *out_r)
{
	const struct ks_schema *s = request->server->schema;
	uint16_t type = ks_schema_find_type(s, "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
	enum ks_media_format format = KS_MEDIA_JSON;
	const char *message = NULL;
	struct ks_str kind;
	int code = ks_request_negotiate_body(request, &format);
	int result;

	if (code)
		return code;
	result = decode_delete_body(request, format, type, out_r, &message);
	if (result == -ENOMEM)
		return ks_status_internal(&request->status, &request->arena, "out of memory");
	if (result)
		return ks_status_bad_request(&request->status, &request->arena, "%s", message ? message : "malformed DeleteOptions");
	kind = ks_value_str(ks_value_get(s, out_r, "kind"));
	return kind.n && !ks_str_is(kind, "DeleteOptions") ? refuse_delete_kind(request, out_r, kind) : 0;
}

static void delete_dry_run(struct ks_request *request, const struct ks_value *list, struct ks_delete_options *o)
{
	struct ks_buf all;
	bool bad = false;

	for (uint32_t i = 0; list && list->kind == KS_LIST && i < list->n; i++) {
		bool yes = ks_str_is(ks_value_str(&list->items[i]), "All");

		bad |= !yes;
		o->dry_run |= yes;
	}
	if (!bad)
		return;
	ks_buf_init(&all);
	ks_json_encode(request->server->schema, list, &all);
	ks_status_cause(&request->status, &request->arena, "FieldValueNotSupported", "dryRun", "Unsupported value: %.*s: supported values: \"All\"",
		all.failed ? 0 : (int)all.len, all.data);
	ks_buf_fini(&all);
}

static struct ks_str read_delete_value(struct ks_request *request, struct ks_delete_options *o)
{
	const struct ks_schema *s = request->server->schema;
	const struct ks_value *v = ks_value_get(s, &o->value, "gracePeriodSeconds");

	if (ks_value_present(v) && v->kind == KS_INT)
		set_grace(o, v->integer);
	v = ks_value_get(s, &o->value, "orphanDependents");
	if (ks_value_present(v) && v->kind == KS_BOOL)
		o->policy.orphan_dependents = v->boolean;
	v = ks_value_get(s, &o->value, IGNORE_READ_ERRORS);
	o->ignore_read_errors = ks_value_present(v) && v->kind == KS_BOOL && v->boolean;
	v = ks_value_at(s, &o->value, "preconditions.uid");
	o->has_uid = ks_value_present(v);
	o->uid = ks_value_str(v);
	v = ks_value_at(s, &o->value, "preconditions.resourceVersion");
	o->has_resource_version = ks_value_present(v);
	o->resource_version = ks_value_str(v);
	v = ks_value_get(s, &o->value, "propagationPolicy");
	return ks_value_present(v) ? ks_value_str(v) : (struct ks_str){0};
}

/* It stands alone, or says nothing. */
static void check_read_errors(struct ks_request *request, struct ks_delete_options *o, struct ks_str propagation, bool said_dry_run)
{
	struct ks_status *status = &request->status;
	const struct {
		bool said;
		const char *why;
	} others[] = {
		{said_dry_run, "cannot be set together with .dryRun"},
		{propagation.p, "cannot be set together with .propagationPolicy"},
		{o->policy.orphan_dependents >= 0, "cannot be set together with .orphanDependents"},
		{o->policy.grace_seconds >= 0, "cannot be set together with .gracePeriodSeconds"},
		{ks_value_present(ks_value_get(request->server->schema, &o->value, "preconditions")), "cannot be set together with .preconditions"},
	};

	o->ignore_read_errors &= request->server->config->features.on[KS_FEATURE_UNSAFE_DELETION];
	for (size_t i = 0; o->ignore_read_errors && i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].said)
			ks_status_cause(status, &request->arena, "FieldValueInvalid", IGNORE_READ_ERRORS, "Invalid value: true: %s", others[i].why);
}

static int check_delete(struct ks_request *request, struct ks_delete_options *o, struct ks_str propagation, bool from_query)
{
	static const char *const known[] = {"Foreground", "Background", "Orphan", "nil", NULL};
	struct ks_status *status = &request->status;

	ks_status_invalid(status, &request->arena, META_GROUP, "DeleteOptions", (struct ks_str){0});
	if (propagation.p && o->policy.orphan_dependents >= 0)
		ks_cause_invalid(status, &request->arena, "propagationPolicy", propagation, "orphanDependents and deletionPropagation cannot be both set");
	if (ks_str_is(propagation, "Foreground") || ks_str_is(propagation, "Background") || ks_str_is(propagation, "Orphan"))
		o->policy.propagation = propagation.p[0];
	else if (propagation.p)
		ks_cause_unsupported(status, &request->arena, "propagationPolicy", propagation, known);
	if (from_query)
		parse_dry_run(request, &o->dry_run, status);
	else
		delete_dry_run(request, ks_value_get(request->server->schema, &o->value, "dryRun"), o);
	check_read_errors(request, o, propagation, o->dry_run);
	if (status->causes)
		return ks_status_invalid_finish(status, &request->arena);
	memset(status, 0, sizeof(*status));
	request->dry_run |= o->dry_run;
	return 0;
}

static const struct ks_delete_policy no_policy = {.grace_seconds = -1, .orphan_dependents = -1};

int ks_delete_options_take(struct ks_request *request, struct ks_delete_options *out_r)
{
	struct ks_str propagation;

	*out_r = (struct ks_delete_options){.policy = no_policy, .value = out_r->value};
	propagation = read_delete_value(request, out_r);
	return check_delete(request, out_r, propagation, false);
}

int ks_delete_options_parse(struct ks_request *request, struct ks_delete_options *out_r)
{
	struct ks_str propagation = {0};
	int code;

	*out_r = (struct ks_delete_options){.policy = no_policy};
	if (request->body.n) {
		code = decode_delete_options(request, &out_r->value);
		return code ? code : ks_delete_options_take(request, out_r);
	}
	code = delete_from_query(request, out_r, &propagation);
	return code ? code : check_delete(request, out_r, propagation, true);
}

/* -- lists -------------------------------------------------------------------------------------------------------- */

/* How an unknown field label is refused depends on who converts the labels of that kind. */
static int refuse_label(struct ks_request *request, struct ks_str label)
{
	const struct ks_schema *s = request->server->schema;
	const struct ks_resource *r = &s->resources[request->info.resource_index];
	const char *group = ks_schema_text(s, r->group), *kind = ks_schema_text(s, r->kind);
	struct ks_arena *arena = &request->arena;
	const char *quoted = ks_quote(arena, label);

	if (!strcmp(group, "batch") && r->n_selectable)
		return ks_status_bad_request(&request->status, arena, "field label %s not supported for %s", quoted ? quoted : "", kind);
	if (!strcmp(group, "resource.k8s.io") && r->n_selectable)
		return ks_status_bad_request(&request->status, arena, "field label not supported for %s/%s, Kind=%s: %.*s", group,
			ks_schema_text(s, r->version), kind, (int)label.n, label.p);
	if (r->n_selectable)
		return ks_status_bad_request(&request->status, arena, "field label not supported: %.*s", (int)label.n, label.p);
	return ks_status_bad_request(&request->status, arena, "%s is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
		quoted ? quoted : "");
}

static int check_labels(struct ks_request *request, struct ks_list_options *o)
{
	const struct ks_schema *s = request->server->schema;
	const struct ks_resource *r = &s->resources[request->info.resource_index];
	bool own_names = r->scope == KS_SCOPE_CLUSTER && r->n_selectable;

	for (uint32_t i = 0; i < o->n_fields; i++) {
		int index = ks_cache_field_index(s, request->info.resource_index, o->fields[i].path);

		if (index == -3 || (index == -2 && own_names))
			return refuse_label(request, o->fields[i].path);
	}
	return 0;
}

static int parse_selectors(struct ks_request *request, struct ks_list_options *o)
{
	struct ks_str labels = ks_request_query(request, "labelSelector"), fields = ks_request_query(request, "fieldSelector");
	const char *message = "";

	if (labels.p && ks_label_selector_parse(&request->arena, labels, &o->labels, &message))
		return ks_status_bad_request(&request->status, &request->arena, "%s", message);
	if (fields.p && ks_field_selector_parse(&request->arena, fields, &o->fields, &o->n_fields, &message))
		return ks_status_bad_request(&request->status, &request->arena, "%s", message);
	return 0;
}

static void validate_list(struct ks_request *request, const struct ks_list_options *o)
{
	static const char *const known[] = {"Exact", "NotOlderThan", "", NULL};
	static const char field[] = "resourceVersionMatch";
	struct ks_status *status = &request->status;
	struct ks_arena *arena = &request->arena;

	if (o->match.n) {
		if (!o->resource_version.n)
			ks_cause_forbidden(status, arena, field, "resourceVersionMatch is forbidden unless resourceVersion is provided");
		if (o->continue_token.n)
			ks_cause_forbidden(status, arena, field, "resourceVersionMatch is forbidden when continue is provided");
		if (!ks_str_is(o->match, "Exact") && !ks_str_is(o->match, "NotOlderThan"))
			ks_cause_unsupported(status, arena, field, o->match, known);
		if (ks_str_is(o->match, "Exact") && ks_str_is(o->resource_version, "0"))
			ks_cause_forbidden(status, arena, field, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
	}
	if (o->has_send_initial)
		ks_cause_forbidden(status, arena, "sendInitialEvents", "sendInitialEvents is forbidden for list");
}

static void validate_watch(struct ks_request *request, const struct ks_list_options *o)
{
	static const char *const known[] = {"NotOlderThan", NULL};
	static const char field[] = "resourceVersionMatch";
	struct ks_status *status = &request->status;
	struct ks_arena *arena = &request->arena;
	bool not_older = ks_str_is(o->match, "NotOlderThan");

	if (o->has_send_initial && !not_older)
		ks_cause_forbidden(status, arena, field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
	if (!o->match.n)
		return;
	if (!o->has_send_initial)
		ks_cause_forbidden(status, arena, field, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
	if (!not_older)
		ks_cause_unsupported(status, arena, field, o->match, known);
	if (o->continue_token.n)
		ks_cause_forbidden(status, arena, field, "resourceVersionMatch is forbidden when continue is provided");
}

/* A watch from "now" or "any" begins with what there is. */
static void default_initial_events(struct ks_list_options *o)
{
	if (!o->watch || o->has_send_initial || o->match.n || (o->resource_version.n && !ks_str_is(o->resource_version, "0")))
		return;
	o->has_send_initial = o->send_initial = true;
	o->match = KS_STR_LIT("NotOlderThan");
}

/* A name in the path (or one that the selector asks for) and a selector must not contradict. */
static int check_name(struct ks_request *request, const struct ks_list_options *o)
{
	if (!request->info.name.n || !o->n_fields)
		return 0;
	for (uint32_t i = 0; i < o->n_fields; i++)
		if (ks_str_is(o->fields[i].path, "metadata.name") && !o->fields[i].not_equal && ks_str_eq(o->fields[i].value, request->info.name))
			return 0;
	return ks_status_bad_request(&request->status, &request->arena, "fieldSelector metadata.name doesn't match requested name");
}

int ks_list_options_parse(struct ks_request *request, bool watch, struct ks_list_options *out_r)
{
	struct ks_list_options *o = out_r;
	struct ks_str initial = ks_request_query(request, "sendInitialEvents");
	bool has_limit;
	int code;

	*o = (struct ks_list_options){
		.watch = watch || flag(ks_request_query(request, "watch")),
		.bookmarks = flag(ks_request_query(request, "allowWatchBookmarks")),
		.has_send_initial = initial.p != NULL, .send_initial = flag(initial),
		.resource_version = ks_request_query(request, "resourceVersion"),
		.match = ks_request_query(request, "resourceVersionMatch"),
		.continue_token = ks_request_query(request, "continue"),
	};
	code = parse_selectors(request, o);
	if (!code)
		code = optional_int(request, "timeoutSeconds", &o->timeout_seconds, &o->has_timeout);
	if (!code)
		code = optional_int(request, "limit", &o->limit, &has_limit);
	if (code)
		return code;
	default_initial_events(o);
	ks_status_invalid(&request->status, &request->arena, META_GROUP, "ListOptions", (struct ks_str){0});
	if (o->watch)
		validate_watch(request, o);
	else
		validate_list(request, o);
	if (request->status.causes)
		return ks_status_invalid_finish(&request->status, &request->arena);
	memset(&request->status, 0, sizeof(request->status));
	code = check_labels(request, o);
	return code ? code : check_name(request, o);
}

void ks_list_options_filter(const struct ks_request *request, const struct ks_list_options *options, struct ks_watch_filter *out_r)
{
	*out_r = (struct ks_watch_filter){
		.ns = request->info.ns, .name = request->info.name, .labels = options->labels, .fields = options->fields, .n_fields = options->n_fields,
	};
	/* The namespace of a request for one namespace is its own name. */
	if (request->server->schema->resources[request->info.resource_index].scope == KS_SCOPE_CLUSTER)
		out_r->ns = (struct ks_str){0};
}
