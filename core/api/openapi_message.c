/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The v2 document as the protobuf message openapi.v2.Document, which Go clients read: the JSON of it, member by member, by tables. */
#include "core/api/openapi_message.h"

#include <errno.h>

#include "core/api/json.h"
#include "core/api/proto_wire.h"

enum form {
	TEXT,
	BOOL,
	WHOLE,
	DOUBLE,
	ANY,     /* free-form, kept as the text of its YAML */
	EACH,    /* ANY, for each item of a list */
	MESSAGE,
};

enum message {
	DOCUMENT, INFO, PATHS, PATH_ITEM, OPERATION, PARAMETERS, PARAMETERS_ITEM, REFERENCE, PARAMETER, BODY_PARAMETER, OTHER_PARAMETER, HEADER_PARAMETER,
	QUERY_PARAMETER, PATH_PARAMETER, PRIMITIVE_ITEMS, RESPONSES, RESPONSE_VALUE, RESPONSE, SCHEMA_ITEM, SCHEMA, SCHEMAS, ADDITIONAL, TYPE_ITEM,
	ITEMS_ITEM, SECURITY_DEFINITIONS, SECURITY_ITEM, API_KEY, BASIC, SECURITY_REQUIREMENT, TEXT_LIST,
};

/* What a member becomes; a list becomes the field repeated, unless it is ANY or a message that has the list in it. */
struct field {
	const char *name;
	uint8_t number, form, message;
};

struct plan {
	const struct field *fields;
	uint8_t n;
	uint8_t vendor;            /* field of x-... members; 0: they are left out */
	uint8_t rest_number, rest; /* all other members: field and message of pairs of a name and a value; 0: they are left out */
	bool lists; /* its value may be a list */
	/* Instead of all this: the value itself is one field of the message. */
	struct field (*hold)(const struct ks_value *value);
};

static struct ks_str text_at(const struct ks_value *object, const char *name)
{
	return ks_value_str(ks_value_get(NULL, object, name));
}

static struct field hold_parameters_item(const struct ks_value *value)
{
	return text_at(value, "$ref").n ? (struct field){NULL, 2, MESSAGE, REFERENCE} : (struct field){NULL, 1, MESSAGE, PARAMETER};
}

static struct field hold_parameter(const struct ks_value *value)
{
	return ks_str_is(text_at(value, "in"), "body") ? (struct field){NULL, 1, MESSAGE, BODY_PARAMETER} : (struct field){NULL, 2, MESSAGE, OTHER_PARAMETER};
}

static struct field hold_other_parameter(const struct ks_value *value)
{
	struct ks_str in = text_at(value, "in");

	if (ks_str_is(in, "header"))
		return (struct field){NULL, 1, MESSAGE, HEADER_PARAMETER};
	if (ks_str_is(in, "query"))
		return (struct field){NULL, 3, MESSAGE, QUERY_PARAMETER};
	return (struct field){NULL, 4, MESSAGE, PATH_PARAMETER};
}

static struct field hold_response(const struct ks_value *value)
{
	return text_at(value, "$ref").n ? (struct field){NULL, 2, MESSAGE, REFERENCE} : (struct field){NULL, 1, MESSAGE, RESPONSE};
}

static struct field hold_schema(const struct ks_value *value)
{
	(void)value;
	return (struct field){NULL, 1, MESSAGE, SCHEMA};
}

static struct field hold_additional(const struct ks_value *value)
{
	return value->kind == KS_BOOL ? (struct field){NULL, 2, BOOL, 0} : (struct field){NULL, 1, MESSAGE, SCHEMA};
}

static struct field hold_texts(const struct ks_value *value)
{
	(void)value;
	return (struct field){NULL, 1, TEXT, 0};
}

static struct field hold_security(const struct ks_value *value)
{
	return ks_str_is(text_at(value, "type"), "basic") ? (struct field){NULL, 1, MESSAGE, BASIC} : (struct field){NULL, 2, MESSAGE, API_KEY};
}

static const struct field document[] = {{"swagger", 1, TEXT, 0}, {"info", 2, MESSAGE, INFO}, {"host", 3, TEXT, 0}, {"basePath", 4, TEXT, 0},
	{"schemes", 5, TEXT, 0}, {"consumes", 6, TEXT, 0}, {"produces", 7, TEXT, 0}, {"paths", 8, MESSAGE, PATHS}, {"definitions", 9, MESSAGE, SCHEMAS},
	{"parameters", 10, MESSAGE, PARAMETERS}, {"security", 12, MESSAGE, SECURITY_REQUIREMENT}, {"securityDefinitions", 13, MESSAGE, SECURITY_DEFINITIONS}};
static const struct field info[] = {{"title", 1, TEXT, 0}, {"version", 2, TEXT, 0}, {"description", 3, TEXT, 0}};
static const struct field path_item[] = {{"$ref", 1, TEXT, 0}, {"get", 2, MESSAGE, OPERATION}, {"put", 3, MESSAGE, OPERATION},
	{"post", 4, MESSAGE, OPERATION}, {"delete", 5, MESSAGE, OPERATION}, {"options", 6, MESSAGE, OPERATION}, {"head", 7, MESSAGE, OPERATION},
	{"patch", 8, MESSAGE, OPERATION}, {"parameters", 9, MESSAGE, PARAMETERS_ITEM}};
static const struct field operation[] = {{"tags", 1, TEXT, 0}, {"summary", 2, TEXT, 0}, {"description", 3, TEXT, 0}, {"operationId", 5, TEXT, 0},
	{"produces", 6, TEXT, 0}, {"consumes", 7, TEXT, 0}, {"parameters", 8, MESSAGE, PARAMETERS_ITEM}, {"responses", 9, MESSAGE, RESPONSES},
	{"schemes", 10, TEXT, 0}, {"deprecated", 11, BOOL, 0}, {"security", 12, MESSAGE, SECURITY_REQUIREMENT}};
static const struct field reference[] = {{"$ref", 1, TEXT, 0}, {"description", 2, TEXT, 0}};
static const struct field body_parameter[] = {
	{"description", 1, TEXT, 0}, {"name", 2, TEXT, 0}, {"in", 3, TEXT, 0}, {"required", 4, BOOL, 0}, {"schema", 5, MESSAGE, SCHEMA}};
/* Parameters that are no body share their members, and differ in one number. */
/* clang-format off */
#define PLACE {"required", 1, BOOL, 0}, {"in", 2, TEXT, 0}, {"description", 3, TEXT, 0}, {"name", 4, TEXT, 0}
#define SHAPE(n) {"type", n, TEXT, 0}, {"format", n + 1, TEXT, 0}, {"items", n + 2, MESSAGE, PRIMITIVE_ITEMS}, {"collectionFormat", n + 3, TEXT, 0}, \
	{"default", n + 4, ANY, 0}, {"maximum", n + 5, DOUBLE, 0}, {"exclusiveMaximum", n + 6, BOOL, 0}, {"minimum", n + 7, DOUBLE, 0}, \
	{"exclusiveMinimum", n + 8, BOOL, 0}, {"maxLength", n + 9, WHOLE, 0}, {"minLength", n + 10, WHOLE, 0}, {"pattern", n + 11, TEXT, 0}, \
	{"maxItems", n + 12, WHOLE, 0}, {"minItems", n + 13, WHOLE, 0}, {"uniqueItems", n + 14, BOOL, 0}, {"enum", n + 15, EACH, 0}, \
	{"multipleOf", n + 16, DOUBLE, 0}
/* clang-format on */
static const struct field plain_parameter[] = {PLACE, SHAPE(5)};
static const struct field query_parameter[] = {PLACE, {"allowEmptyValue", 5, BOOL, 0}, SHAPE(6)};
static const struct field primitive_items[] = {SHAPE(1)};
static const struct field response[] = {{"description", 1, TEXT, 0}, {"schema", 2, MESSAGE, SCHEMA_ITEM}};
static const struct field schema[] = {{"$ref", 1, TEXT, 0}, {"format", 2, TEXT, 0}, {"title", 3, TEXT, 0}, {"description", 4, TEXT, 0},
	{"default", 5, ANY, 0}, {"multipleOf", 6, DOUBLE, 0}, {"maximum", 7, DOUBLE, 0}, {"exclusiveMaximum", 8, BOOL, 0}, {"minimum", 9, DOUBLE, 0},
	{"exclusiveMinimum", 10, BOOL, 0}, {"maxLength", 11, WHOLE, 0}, {"minLength", 12, WHOLE, 0}, {"pattern", 13, TEXT, 0}, {"maxItems", 14, WHOLE, 0},
	{"minItems", 15, WHOLE, 0}, {"uniqueItems", 16, BOOL, 0}, {"maxProperties", 17, WHOLE, 0}, {"minProperties", 18, WHOLE, 0},
	{"required", 19, TEXT, 0}, {"enum", 20, EACH, 0}, {"additionalProperties", 21, MESSAGE, ADDITIONAL}, {"type", 22, MESSAGE, TYPE_ITEM},
	{"items", 23, MESSAGE, ITEMS_ITEM}, {"allOf", 24, MESSAGE, SCHEMA}, {"properties", 25, MESSAGE, SCHEMAS}, {"discriminator", 26, TEXT, 0},
	{"readOnly", 27, BOOL, 0}, {"example", 30, ANY, 0}};
static const struct field api_key[] = {{"type", 1, TEXT, 0}, {"name", 2, TEXT, 0}, {"in", 3, TEXT, 0}, {"description", 4, TEXT, 0}};
static const struct field basic[] = {{"type", 1, TEXT, 0}, {"description", 2, TEXT, 0}};

#define FIELDS(list) .fields = list, .n = sizeof(list) / sizeof(*(list))
static const struct plan plans[] = {
	[DOCUMENT] = {FIELDS(document), .vendor = 16},
	[INFO] = {FIELDS(info), .vendor = 7},
	[PATHS] = {.vendor = 1, .rest_number = 2, .rest = PATH_ITEM},
	[PATH_ITEM] = {FIELDS(path_item), .vendor = 10},
	[OPERATION] = {FIELDS(operation), .vendor = 13},
	[PARAMETERS] = {.rest_number = 1, .rest = PARAMETER},
	[PARAMETERS_ITEM] = {.hold = hold_parameters_item},
	[REFERENCE] = {FIELDS(reference)},
	[PARAMETER] = {.hold = hold_parameter},
	[BODY_PARAMETER] = {FIELDS(body_parameter), .vendor = 6},
	[OTHER_PARAMETER] = {.hold = hold_other_parameter},
	[HEADER_PARAMETER] = {FIELDS(plain_parameter), .vendor = 22},
	[QUERY_PARAMETER] = {FIELDS(query_parameter), .vendor = 23},
	[PATH_PARAMETER] = {FIELDS(plain_parameter), .vendor = 22},
	[PRIMITIVE_ITEMS] = {FIELDS(primitive_items), .vendor = 18},
	[RESPONSES] = {.vendor = 2, .rest_number = 1, .rest = RESPONSE_VALUE},
	[RESPONSE_VALUE] = {.hold = hold_response},
	[RESPONSE] = {FIELDS(response), .vendor = 5},
	[SCHEMA_ITEM] = {.hold = hold_schema},
	[SCHEMA] = {FIELDS(schema), .vendor = 31},
	[SCHEMAS] = {.rest_number = 1, .rest = SCHEMA},
	[ADDITIONAL] = {.hold = hold_additional},
	[TYPE_ITEM] = {.hold = hold_texts, .lists = true},
	[ITEMS_ITEM] = {.hold = hold_schema, .lists = true},
	[SECURITY_DEFINITIONS] = {.rest_number = 1, .rest = SECURITY_ITEM},
	[SECURITY_ITEM] = {.hold = hold_security},
	[API_KEY] = {FIELDS(api_key), .vendor = 5},
	[BASIC] = {FIELDS(basic), .vendor = 3},
	[SECURITY_REQUIREMENT] = {.rest_number = 1, .rest = TEXT_LIST},
	[TEXT_LIST] = {.hold = hold_texts, .lists = true},
};

static void put_message(struct ks_proto_writer *w, enum message m, const struct ks_value *value);

static void put_any(struct ks_proto_writer *w, uint32_t number, const struct ks_value *value)
{
	size_t before = w->len;
	struct ks_buf text;

	ks_buf_init(&text);
	ks_json_encode_ordered(NULL, value, &text);
	ks_buf_add_char(&text, '\n');
	if (text.failed)
		w->failed = true;
	else
		ks_proto_put_text(w, 2, ks_buf_str(&text));
	ks_buf_fini(&text);
	ks_proto_put_head(w, before, number);
}

static void put_double(struct ks_proto_writer *w, uint32_t number, const struct ks_value *value)
{
	double d = value->kind == KS_INT ? (double)value->integer : value->number;
	uint8_t bytes[sizeof(d)];
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(bits >> 8 * i);
	ks_proto_put(w, bytes, sizeof(bytes));
	ks_proto_put_tag(w, number, KS_WIRE_FIXED64);
}

/* One field with one value. */
static void put_one(struct ks_proto_writer *w, const struct field *field, const struct ks_value *value)
{
	size_t before = w->len;

	switch ((enum form)field->form) {
	case TEXT:
		ks_proto_put_text(w, field->number, ks_value_str(value));
		return;
	case BOOL:
	case WHOLE:
		ks_proto_put_varint(w, field->form == BOOL ? value->boolean : (uint64_t)value->integer);
		ks_proto_put_tag(w, field->number, KS_WIRE_VARINT);
		return;
	case DOUBLE:
		put_double(w, field->number, value);
		return;
	case ANY:
	case EACH:
		put_any(w, field->number, value);
		return;
	case MESSAGE:
		put_message(w, field->message, value);
		ks_proto_put_head(w, before, field->number);
		return;
	}
}

static bool is_repeated(const struct field *field, const struct ks_value *value)
{
	if (value->kind != KS_LIST || field->form == ANY)
		return false;
	return field->form != MESSAGE || !plans[field->message].lists;
}

static void put_field(struct ks_proto_writer *w, const struct field *field, const struct ks_value *value)
{
	if (!is_repeated(field, value)) {
		put_one(w, field, value);
		return;
	}
	for (uint32_t i = value->n; i > 0; i--)
		put_one(w, field, &value->items[i - 1]);
}

/* A name and a value. */
static void put_named(struct ks_proto_writer *w, uint32_t number, const struct ks_member *member, const struct field *value)
{
	size_t before = w->len;

	put_one(w, value, &member->value);
	ks_proto_put_text(w, 1, member->key);
	ks_proto_put_head(w, before, number);
}

static void put_member(struct ks_proto_writer *w, const struct plan *plan, const struct ks_member *member)
{
	const struct field any = {NULL, 2, ANY, 0}, rest = {NULL, 2, MESSAGE, plan->rest};

	for (size_t i = 0; i < plan->n; i++) {
		if (ks_str_is(member->key, plan->fields[i].name)) {
			put_field(w, &plan->fields[i], &member->value);
			return;
		}
	}
	if (member->key.n > 2 && memcmp(member->key.p, "x-", 2) == 0 && plan->vendor)
		put_named(w, plan->vendor, member, &any);
	else if (plan->rest_number)
		put_named(w, plan->rest_number, member, &rest);
}

/* Backwards, as the writer goes. */
static void put_message(struct ks_proto_writer *w, enum message m, const struct ks_value *value)
{
	const struct plan *plan = &plans[m];

	if (plan->hold) {
		const struct field held = plan->hold(value);

		put_field(w, &held, value);
		return;
	}
	for (uint32_t i = value->kind == KS_MAP ? value->n : 0; i > 0; i--)
		put_member(w, plan, &value->members[i - 1]);
}

int ks_openapi_v2_message(const struct ks_bytes *json, struct ks_bytes **out_r)
{
	struct ks_proto_writer w = {0};
	struct ks_arena arena;
	struct ks_value root;
	struct ks_buf out;
	const char *message;
	int rc;

	ks_arena_init(&arena, 0);
	ks_buf_init(&out);
	rc = ks_json_decode(&arena, NULL, 0, KS_DECODE_BORROW, json->data, json->len, &root, NULL, &message);
	if (rc == 0) {
		put_message(&w, DOCUMENT, &root);
		if (w.failed)
			rc = -ENOMEM;
	}
	ks_proto_finish(&w, &out);
	ks_arena_fini(&arena);
	if (rc == 0 && !out.failed)
		*out_r = ks_bytes_dup(out.data, out.len);
	if (rc == 0 && (out.failed || !*out_r))
		rc = -ENOMEM;
	ks_buf_fini(&out);
	return rc;
}
