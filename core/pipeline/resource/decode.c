/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/decode.h"

#include <ctype.h>
#include <errno.h>

#include "core/api/cbor.h"
#include "core/api/proto.h"
#include "core/api/quote.h"
#include "core/api/yaml.h"
#include "core/pipeline/server.h"

struct body {
	struct ks_request *request;
	const struct ks_schema *schema;
	struct ks_arena *arena;
	uint16_t resource;
	enum ks_media_format format;
	struct ks_value raw;           /* of YAML */
	struct ks_str message;         /* of protobuf: what its envelope holds */
	struct ks_strict_errors strict;
	uint32_t n_repeated;           /* of `strict`: what YAML says twice */
	struct ks_str api_version, kind;
};

/* What a body may be whose type has no form in protobuf; the last one behind its gate. */
static const char *const structured[] = {"application/json", "application/yaml", "application/cbor"};

/* The beginning of the body, for messages: as it is when it looks like JSON, else in hexadecimal. */
static const char *summary(struct ks_request *request)
{
	struct ks_str body = request->body;
	size_t n = body.n > 30 ? 30 : body.n;
	const char *more = body.n > 30 ? " ..." : "";
	struct ks_buf hex;
	char *text;

	if (!body.n)
		return "<empty>";
	if (body.p[0] == '{') {
		text = ks_arena_printf(&request->arena, "%.*s%s", (int)n, body.p, more);
		return text ? text : "";
	}
	ks_buf_init(&hex);
	for (size_t i = 0; i < n; i++)
		ks_buf_printf(&hex, "%02x", (unsigned char)body.p[i]);
	text = ks_arena_printf(&request->arena, "%.*s%s", (int)hex.len, hex.data, more);
	ks_buf_fini(&hex);
	return text ? text : "";
}

static const char *kind_of(const struct body *b)
{
	return ks_schema_text(b->schema, b->schema->resources[b->resource].kind);
}

static int out_of_memory(struct ks_request *request)
{
	return ks_status_internal(&request->status, &request->arena, "out of memory");
}

static int refuse_unrecognized(struct body *b, const char *prefix, const char *message)
{
	return ks_status_bad_request(&b->request->status, &b->request->arena, "the object provided is unrecognized (must be of type %s): %s%s (%s)",
		kind_of(b), prefix, message, summary(b->request));
}

static int refuse_kind(struct body *b, const char *why)
{
	struct ks_str version = b->api_version;
	const char *slash = version.n ? memchr(version.p, '/', version.n) : NULL;
	const char *quoted;

	if (slash)
		version = ks_str_of(slash + 1, version.n - (size_t)(slash + 1 - version.p));
	quoted = ks_quote(&b->request->arena, version);
	return ks_status_bad_request(&b->request->status, &b->request->arena, "%.*s in version %s cannot be handled as a %s: %s", (int)b->kind.n,
		b->kind.p, quoted ? quoted : "\"\"", kind_of(b), why);
}

/* -- apiVersion and kind ------------------------------------------------------------------------------------------ */

static struct ks_str own_api_version(const struct body *b, const struct ks_resource *r)
{
	const char *group = ks_schema_text(b->schema, r->kind_group), *version = ks_schema_text(b->schema, r->kind_version);
	char *text = group[0] ? ks_arena_printf(b->arena, "%s/%s", group, version) : NULL;

	return ks_str_from(text ? text : version);
}

/* Versions of before, which the API server still knows the kinds of. */
static bool is_former_version(struct ks_str group, struct ks_str version)
{
	if (ks_str_is(group, "extensions"))
		return true;
	if (ks_str_is(group, "autoscaling"))
		return false;
	for (size_t i = 1; i < version.n; i++)
		if (!isdigit((unsigned char)version.p[i]))
			return version.p[0] == 'v' && i > 1 && (version.p[i] == 'a' || version.p[i] == 'b');
	return false;
}

/* The Go package of a group's internal types, which messages name. */
static struct ks_str internal_package(struct ks_str group)
{
	const char *dot = group.n ? memchr(group.p, '.', group.n) : NULL;

	if (!group.n || ks_str_is(group, "events.k8s.io"))
		return KS_STR_LIT("core");
	return dot ? ks_str_of(group.p, (size_t)(dot - group.p)) : group;
}

static int refuse_other_kind(struct body *b, struct ks_str group, struct ks_str version)
{
	const struct ks_resource *r = &b->schema->resources[b->resource];
	struct ks_str ours = ks_str_from(ks_schema_text(b->schema, r->kind_group)), package = internal_package(ours);
	const struct ks_kind *known = ks_schema_find_kind(b->schema, group, version, b->kind);
	bool same_kind = ks_str_is(b->kind, kind_of(b));
	const char *quoted_kind = ks_quote(&b->request->arena, b->kind), *quoted_version = ks_quote(&b->request->arena, b->api_version);
	char *why;

	if (same_kind && (known || (is_former_version(group, version) && (ks_str_eq(group, ours) || ks_str_is(group, "extensions")))))
		return ks_status_bad_request(&b->request->status, &b->request->arena,
			"the API version in the data (%.*s) does not match the expected API version (%.*s)", (int)b->api_version.n, b->api_version.p,
			(int)own_api_version(b, r).n, own_api_version(b, r).p);
	if (known || (!group.n && ks_str_is(version, "v1") && ks_str_is(b->kind, "List")))
		why = ks_arena_printf(&b->request->arena, "converting (%.*s.%.*s) to (%.*s.%s): unknown conversion", (int)version.n, version.p,
			(int)b->kind.n, b->kind.p, (int)package.n, package.p, kind_of(b));
	else
		why = ks_arena_printf(&b->request->arena, "no kind %s is registered for version %s in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
			quoted_kind ? quoted_kind : "", quoted_version ? quoted_version : "");
	return why ? refuse_kind(b, why) : out_of_memory(b->request);
}

static int check_kind(struct body *b)
{
	const struct ks_resource *r = &b->schema->resources[b->resource];
	struct ks_str wanted = own_api_version(b, r), group = {0}, version;
	const char *slash;

	if (!b->api_version.n)
		b->api_version = wanted;
	if (!b->kind.n)
		b->kind = ks_str_from(kind_of(b));
	if (ks_str_eq(b->api_version, wanted) && ks_str_is(b->kind, kind_of(b)))
		return 0;
	/* An eviction may be of the version of before, which has the same fields. */
	if (ks_str_is(wanted, "policy/v1") && ks_str_is(b->api_version, "policy/v1beta1") && ks_str_is(b->kind, "Eviction") &&
		ks_str_is(b->kind, kind_of(b)))
		return 0;
	version = b->api_version;
	slash = memchr(version.p, '/', version.n);
	if (slash && memchr(slash + 1, '/', version.n - (size_t)(slash + 1 - version.p))) {
		char *text = ks_arena_dup(b->arena, version.p, version.n);

		return text ? refuse_unrecognized(b, "unexpected GroupVersion string: ", text) : out_of_memory(b->request);
	}
	if (slash) {
		group = ks_str_of(version.p, (size_t)(slash - version.p));
		version = ks_str_of(slash + 1, version.n - group.n - 1);
	}
	return refuse_other_kind(b, group, version);
}

/* -- the object --------------------------------------------------------------------------------------------------- */

static int read_json_kind(struct body *b)
{
	const char *message = "";
	int result = ks_json_peek_kind(b->arena, b->request->body.p, b->request->body.n, &b->api_version, &b->kind, &message);

	if (result == -ENOMEM)
		return out_of_memory(b->request);
	if (result)
		return refuse_unrecognized(b, "couldn't get version/kind; json parse error: ", message);
	return 0;
}

static bool is_text_or_absent(const struct ks_value *v)
{
	return !ks_value_present(v) || v->kind == KS_STRING;
}

/* What can't be an object is refused in the words of JSON. */
static int refuse_yaml(struct body *b)
{
	const char *message = "";
	struct ks_buf json;
	int result;

	ks_buf_init(&json);
	ks_json_encode(b->schema, &b->raw, &json);
	result = json.failed ? -ENOMEM : ks_json_peek_kind(b->arena, json.data, json.len, &b->api_version, &b->kind, &message);
	ks_buf_fini(&json);
	if (result == -ENOMEM)
		return out_of_memory(b->request);
	return refuse_unrecognized(b, "couldn't get version/kind; json parse error: ", message);
}

static int read_yaml_kind(struct body *b, bool strict)
{
	const char *message = "";
	int result = ks_yaml_decode(b->arena, b->request->body.p, b->request->body.n, &b->raw, &b->strict, &message);

	if (result == -ENOMEM)
		return out_of_memory(b->request);
	if (result)
		return refuse_unrecognized(b, "", message);
	if (!strict)
		b->strict.n = 0;
	b->n_repeated = b->strict.n;
	if ((b->raw.kind != KS_MAP && ks_value_present(&b->raw)) || !is_text_or_absent(ks_value_get(b->schema, &b->raw, "apiVersion")) ||
		!is_text_or_absent(ks_value_get(b->schema, &b->raw, "kind")))
		return refuse_yaml(b);
	b->api_version = ks_value_str(ks_value_get(b->schema, &b->raw, "apiVersion"));
	b->kind = ks_value_str(ks_value_get(b->schema, &b->raw, "kind"));
	return 0;
}

static int read_proto_kind(struct body *b)
{
	struct ks_proto_envelope envelope;
	const char *message = "";
	size_t n = ks_request_has_feature(b->request, KS_FEATURE_CBOR) ? 3 : 2;
	int result = 0;

	if (!ks_proto_has(b->schema, b->schema->resources[b->resource].type))
		result = ks_negotiate_type(&b->request->arena, (struct ks_str){0}, structured, n, &b->request->status);
	if (result < 0)
		return 415;
	result = ks_proto_open(b->arena, b->request->body, &envelope, &message);
	if (result == -ENOMEM)
		return out_of_memory(b->request);
	if (result)
		return refuse_unrecognized(b, "", message);
	b->api_version = envelope.api_version;
	b->kind = envelope.kind;
	b->message = envelope.raw;
	return 0;
}

static int read_cbor_kind(struct body *b)
{
	const char *message = "";
	int result = ks_cbor_peek_kind(b->arena, b->request->body, &b->api_version, &b->kind, &message);

	if (result == -ENOMEM)
		return out_of_memory(b->request);
	return result ? refuse_unrecognized(b, "unable to determine group/version/kind: ", message) : 0;
}

static int read_kind(struct body *b, bool strict)
{
	switch (b->format) {
	case KS_MEDIA_YAML:
		return read_yaml_kind(b, strict);
	case KS_MEDIA_PROTOBUF:
		return read_proto_kind(b);
	case KS_MEDIA_CBOR:
		return read_cbor_kind(b);
	case KS_MEDIA_JSON:
		break;
	}
	return read_json_kind(b);
}

static int decode_object(struct body *b, bool strict, struct ks_value *out_r)
{
	uint16_t type = b->schema->resources[b->resource].type;
	unsigned flags = strict ? KS_DECODE_STRICT : 0;
	struct ks_strict_errors *errors = strict ? &b->strict : NULL;
	const char *message = "";
	int result;

	if (b->format == KS_MEDIA_YAML)
		result = ks_value_convert(b->arena, b->schema, type, flags, &b->raw, out_r, errors, &message);
	else if (b->format == KS_MEDIA_PROTOBUF)
		result = ks_proto_decode(b->arena, b->schema, type, KS_PROTO_COPY, b->message, out_r, &message);
	else if (b->format == KS_MEDIA_CBOR)
		result = ks_cbor_decode(b->arena, b->schema, type, flags, b->request->body, out_r, errors, &message);
	else
		result = ks_json_decode(b->arena, b->schema, type, flags, b->request->body.p, b->request->body.n, out_r, errors, &message);
	if (result == -ENOMEM)
		return out_of_memory(b->request);
	if (result)
		return refuse_kind(b, message);
	/* A body of "null" is an empty object. */
	if (out_r->kind != KS_STRUCT && !ks_value_new_struct(b->arena, b->schema, type, out_r))
		return out_of_memory(b->request);
	return 0;
}

static int set_kind(struct body *b, struct ks_value *object)
{
	struct ks_value *place = ks_value_put(b->arena, b->schema, object, KS_STR_LIT("apiVersion"));

	if (!place)
		return out_of_memory(b->request);
	*place = ks_value_from_str(b->api_version);
	place = ks_value_put(b->arena, b->schema, object, KS_STR_LIT("kind"));
	if (!place)
		return out_of_memory(b->request);
	*place = ks_value_from_str(b->kind);
	return 0;
}

void ks_body_warn(struct ks_request *request, const struct ks_strict_errors *strict)
{
	for (uint32_t i = 0; i < strict->n; i++)
		ks_request_warn(request, strict->items[i]);
}

const char *ks_body_strict_text(struct ks_request *request, const struct ks_strict_errors *strict)
{
	struct ks_buf text;
	char *copy = NULL;

	ks_buf_init(&text);
	for (uint32_t i = 0; i < strict->n; i++) {
		if (i)
			ks_buf_add_str(&text, ", ");
		ks_buf_add(&text, strict->items[i].p, strict->items[i].n);
	}
	if (!text.failed)
		copy = ks_arena_dup(&request->arena, text.data ? text.data : "", text.len);
	ks_buf_fini(&text);
	return copy ? copy : "";
}

/* What YAML says twice is one error of many lines. */
static const char *strict_text(struct body *b)
{
	struct ks_strict_errors rest = {.items = b->strict.items + b->n_repeated, .n = b->strict.n - b->n_repeated};
	const char *tail = ks_body_strict_text(b->request, &rest), *text = "yaml: unmarshal errors:";

	if (!b->n_repeated)
		return tail;
	for (uint32_t i = 0; i < b->n_repeated && text; i++)
		text = ks_arena_printf(&b->request->arena, "%s\n  %.*s", text, (int)b->strict.items[i].n, b->strict.items[i].p);
	if (text && rest.n)
		text = ks_arena_printf(&b->request->arena, "%s, %s", text, tail);
	return text ? text : "";
}

int ks_body_decode(struct ks_request *request, struct ks_arena *arena, uint16_t resource, enum ks_field_validation fields, bool quiet,
	struct ks_value *out_r)
{
	struct body b = {.request = request, .schema = request->server->schema, .arena = arena, .resource = resource};
	bool strict = fields != KS_FIELDS_IGNORE && !quiet;
	char *why;
	int code = ks_request_negotiate_body(request, &b.format);

	if (!code)
		code = read_kind(&b, strict);
	if (!code)
		code = check_kind(&b);
	if (!code)
		code = decode_object(&b, strict, out_r);
	if (code)
		return code;
	if (b.strict.n && fields == KS_FIELDS_STRICT) {
		why = ks_arena_printf(&request->arena, "strict decoding error: %s", strict_text(&b));
		return why ? refuse_kind(&b, why) : out_of_memory(request);
	}
	ks_body_warn(request, &b.strict);
	return set_kind(&b, out_r);
}
