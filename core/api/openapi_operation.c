/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A path of an OpenAPI document: its operations, their parameters, bodies and answers. */
#include "core/api/openapi_private.h"

/* Which options a query parameter belongs to: their field of the same name describes it. */
enum options { NONE, LIST, DELETE, PATCH };

static const struct parameter {
	const char *name, *in, *type;
	enum options options;
	const char *description; /* of those that are no field */
} parameters[KS_PARAM_COUNT] = {
	[KS_PARAM_ALLOW_BOOKMARKS] = {"allowWatchBookmarks", "query", "boolean", LIST, NULL},
	[KS_PARAM_CONTINUE] = {"continue", "query", "string", LIST, NULL},
	[KS_PARAM_DRY_RUN] = {"dryRun", "query", "string", PATCH, NULL},
	[KS_PARAM_FIELD_MANAGER] = {"fieldManager", "query", "string", PATCH, NULL},
	[KS_PARAM_FIELD_SELECTOR] = {"fieldSelector", "query", "string", LIST, NULL},
	[KS_PARAM_FIELD_VALIDATION] = {"fieldValidation", "query", "string", PATCH, NULL},
	[KS_PARAM_FORCE] = {"force", "query", "boolean", PATCH, NULL},
	[KS_PARAM_GRACE_PERIOD] = {"gracePeriodSeconds", "query", "integer", DELETE, NULL},
	[KS_PARAM_IGNORE_READ_ERROR] = {"ignoreStoreReadErrorWithClusterBreakingPotential", "query", "boolean", DELETE, NULL},
	[KS_PARAM_LABEL_SELECTOR] = {"labelSelector", "query", "string", LIST, NULL},
	[KS_PARAM_LIMIT] = {"limit", "query", "integer", LIST, NULL},
	[KS_PARAM_NAME] = {"name", "path", "string", NONE, "the name of the object"},
	[KS_PARAM_NAMESPACE] = {"namespace", "path", "string", NONE, "the namespace of the objects"},
	[KS_PARAM_ORPHAN] = {"orphanDependents", "query", "boolean", DELETE, NULL},
	[KS_PARAM_PATH] = {"path", "path", "string", NONE, "the path behind the proxy"},
	[KS_PARAM_PRETTY] = {"pretty", "query", "string", NONE,
		"whether the answer is indented; browsers, curl and wget get it so when they don't say"},
	[KS_PARAM_PROPAGATION] = {"propagationPolicy", "query", "string", DELETE, NULL},
	[KS_PARAM_VERSION] = {"resourceVersion", "query", "string", LIST, NULL},
	[KS_PARAM_VERSION_MATCH] = {"resourceVersionMatch", "query", "string", LIST, NULL},
	[KS_PARAM_INITIAL_EVENTS] = {"sendInitialEvents", "query", "boolean", LIST, NULL},
	[KS_PARAM_SHARD] = {"shardSelector", "query", "string", LIST, NULL},
	[KS_PARAM_TIMEOUT] = {"timeoutSeconds", "query", "integer", LIST, NULL},
	[KS_PARAM_WATCH] = {"watch", "query", "boolean", LIST, NULL},
};

static const char *const media_types[][6] = {
	[KS_MEDIA_ALL] = {"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"},
	[KS_MEDIA_STREAM] = {"application/json", "application/yaml", "application/vnd.kubernetes.protobuf",
		"application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"},
	[KS_MEDIA_LOG] = {"text/plain", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"},
	[KS_MEDIA_JSON] = {"application/json"},
	[KS_MEDIA_KEY_SET] = {"application/jwk-set+json"},
	[KS_MEDIA_ANY] = {"*/*"},
};

/* Where there is CBOR. */
static const char *const media_types_cbor[][8] = {
	[KS_MEDIA_ALL] = {"application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor"},
	[KS_MEDIA_STREAM] = {"application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor",
		"application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch", "application/cbor-seq"},
	[KS_MEDIA_LOG] = {"text/plain", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor"},
};

static const char *const *answer_media(const struct ks_openapi_writer *w, enum ks_openapi_media media)
{
	return w->cbor && media <= KS_MEDIA_LOG ? media_types_cbor[media] : media_types[media];
}

static const char *const patch_types[] = {"application/json-patch+json", "application/merge-patch+json",
	"application/strategic-merge-patch+json", "application/apply-patch+yaml", NULL};
static const char *const patch_types_cbor[] = {"application/json-patch+json", "application/merge-patch+json",
	"application/strategic-merge-patch+json", "application/apply-patch+yaml", "application/apply-patch+cbor", NULL};
static const char *const any_type[] = {"*/*", NULL};

static void add_parameter(
	struct ks_openapi_writer *w, const char *name, const char *in, const char *type, const char *description)
{
	struct ks_document *doc = &w->doc;

	ks_document_open(doc, '{');
	ks_document_add(doc, "name", name);
	ks_document_add(doc, "in", in);
	ks_openapi_describe(w, description);
	if (strcmp(in, "path") == 0)
		ks_document_add_raw(doc, "required", "true");
	if (w->version == 3)
		ks_document_enter(doc, "schema", '{');
	ks_document_add(doc, "type", type);
	ks_document_add_raw(doc, "uniqueItems", "true");
	if (w->version == 3)
		ks_document_close(doc, '}');
	ks_document_close(doc, '}');
}

static const char *describe_parameter(const struct ks_openapi_writer *w, const struct parameter *p)
{
	const uint16_t types[] = {[NONE] = 0, [LIST] = w->list_options, [DELETE] = w->delete_options, [PATCH] = w->patch_options};
	uint16_t type = types[p->options], slot;

	if (p->description)
		return p->description;
	slot = type ? ks_schema_slot(w->s, type, p->name, strlen(p->name)) : KS_NO_SLOT;
	return slot == KS_NO_SLOT ? "" : ks_schema_field_description(w->s, ks_schema_field(w->s, type, slot));
}

static void add_known_parameter(struct ks_openapi_writer *w, const struct parameter *p)
{
	add_parameter(w, p->name, p->in, p->type, describe_parameter(w, p));
}

static void add_parameter_reference(struct ks_openapi_writer *w, const struct parameter *p)
{
	ks_document_open(&w->doc, '{');
	ks_document_key(&w->doc, "$ref");
	ks_document_open(&w->doc, '"');
	ks_buf_printf(&w->doc.out, "#/parameters/%s", p->name);
	ks_document_close(&w->doc, '"');
	ks_document_close(&w->doc, '}');
}

static void add_parameter_bits(struct ks_openapi_writer *w, uint64_t bits)
{
	for (int i = 0; i < KS_PARAM_COUNT; i++) {
		if (!(bits & (UINT64_C(1) << i)))
			continue;
		if (w->version == 2)
			add_parameter_reference(w, &parameters[i]);
		else
			add_known_parameter(w, &parameters[i]);
	}
}

void ks_openapi_parameters(struct ks_openapi_writer *w)
{
	ks_document_enter(&w->doc, "parameters", '{');
	for (int i = 0; i < KS_PARAM_COUNT; i++) {
		ks_document_key(&w->doc, parameters[i].name);
		add_known_parameter(w, &parameters[i]);
	}
	ks_document_close(&w->doc, '}');
}

static const char *parameter_type(const struct ks_type *t)
{
	switch (t->class_) {
	case KS_TYPE_BOOL:
		return "boolean";
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
		return "integer";
	default:
		return "string";
	}
}

/* The fields of an options kind (PodExecOptions) are the query parameters of its subresource. */
static void add_option_parameters(struct ks_openapi_writer *w, uint16_t options)
{
	const struct ks_type *t = &w->s->types[options];

	for (uint16_t i = 0; i < t->n_fields; i++) {
		const struct ks_field *f = &w->s->fields[t->first_field + i];
		const struct ks_type *field_type = &w->s->types[f->type];
		const char *name = ks_schema_text(w->s, f->name);

		if (strcmp(name, "kind") == 0 || strcmp(name, "apiVersion") == 0)
			continue;
		if (field_type->class_ == KS_TYPE_LIST)
			field_type = &w->s->types[field_type->element];
		if (field_type->class_ != KS_TYPE_TIME && field_type->class_ != KS_TYPE_STRUCT)
			add_parameter(w, name, "query", parameter_type(field_type), ks_schema_field_description(w->s, f));
	}
}

/* The members that refer to what a body is. */
static void add_body_schema(struct ks_openapi_writer *w, enum ks_openapi_body body, uint16_t type)
{
	ks_document_key(&w->doc, "schema");
	if (body == KS_BODY_PATCH)
		ks_openapi_ref_patch(w);
	else if (body == KS_BODY_TYPE)
		ks_openapi_ref(w, type);
	else
		ks_document_raw(&w->doc, "{\"type\":\"string\"}");
}

static void add_content(struct ks_openapi_writer *w, const char *const *media, enum ks_openapi_body body, uint16_t type)
{
	ks_document_enter(&w->doc, "content", '{');
	for (; *media; media++) {
		ks_document_enter(&w->doc, *media, '{');
		add_body_schema(w, body, type);
		ks_document_close(&w->doc, '}');
	}
	ks_document_close(&w->doc, '}');
}

static const char *const *body_media(const struct ks_openapi_writer *w, const struct ks_openapi_operation *o)
{
	if (o->body != KS_BODY_PATCH)
		return any_type;
	return w->cbor ? patch_types_cbor : patch_types;
}

static void add_request_body(struct ks_openapi_writer *w, const struct ks_openapi_operation *o)
{
	if (o->body == KS_BODY_NONE)
		return;
	ks_document_enter(&w->doc, "requestBody", '{');
	add_content(w, body_media(w, o), o->body, o->body_type);
	if (o->body_required)
		ks_document_add_raw(&w->doc, "required", "true");
	ks_document_close(&w->doc, '}');
}

static void add_body_parameter(struct ks_openapi_writer *w, const struct ks_openapi_operation *o)
{
	ks_document_open(&w->doc, '{');
	ks_document_add(&w->doc, "name", "body");
	ks_document_add(&w->doc, "in", "body");
	if (o->body_required)
		ks_document_add_raw(&w->doc, "required", "true");
	add_body_schema(w, o->body, o->body_type);
	ks_document_close(&w->doc, '}');
}

static void add_operation_parameters(struct ks_openapi_writer *w, const struct ks_openapi_operation *o, uint64_t bits)
{
	bool body = w->version == 2 && o->body != KS_BODY_NONE;

	if (!bits && !body)
		return;
	ks_document_enter(&w->doc, "parameters", '[');
	if (body)
		add_body_parameter(w, o);
	add_parameter_bits(w, bits);
	ks_document_close(&w->doc, ']');
}

static void add_answer(
	struct ks_openapi_writer *w, const struct ks_openapi_operation *o, const char *code, const char *description)
{
	ks_document_enter(&w->doc, code, '{');
	ks_document_add(&w->doc, "description", description);
	if (w->version == 3)
		add_content(w, answer_media(w, o->produces), o->answer, o->answer_type);
	else
		add_body_schema(w, o->answer, o->answer_type);
	ks_document_close(&w->doc, '}');
}

static void add_answers(struct ks_openapi_writer *w, const struct ks_openapi_operation *o)
{
	ks_document_enter(&w->doc, "responses", '{');
	add_answer(w, o, "200", "OK");
	if (o->answers & KS_ANSWER_CREATED)
		add_answer(w, o, "201", "Created");
	if (o->answers & KS_ANSWER_ACCEPTED)
		add_answer(w, o, "202", "Accepted");
	ks_document_enter(&w->doc, "401", '{');
	ks_document_add(&w->doc, "description", "Unauthorized");
	ks_document_close(&w->doc, '}');
	ks_document_close(&w->doc, '}');
}

static void add_media_list(struct ks_openapi_writer *w, const char *key, const char *const *media)
{
	ks_document_enter(&w->doc, key, '[');
	for (; *media; media++)
		ks_document_text(&w->doc, ks_str_from(*media));
	ks_document_close(&w->doc, ']');
}

static void add_kubernetes_members(struct ks_openapi_writer *w, const struct ks_openapi_operation *o)
{
	if (!o->action)
		return;
	ks_document_add(&w->doc, "x-kubernetes-action", o->action);
	ks_document_enter(&w->doc, "x-kubernetes-group-version-kind", '{');
	ks_document_add(&w->doc, "group", o->kind_group);
	ks_document_add(&w->doc, "kind", o->kind);
	ks_document_add(&w->doc, "version", o->kind_version);
	ks_document_close(&w->doc, '}');
}

static void add_operation(struct ks_openapi_writer *w, const struct ks_openapi_operation *o, uint64_t common)
{
	struct ks_document *doc = &w->doc;

	ks_document_enter(doc, o->method, '{');
	ks_document_enter(doc, "tags", '[');
	ks_document_text(doc, ks_str_from(o->tag));
	ks_document_close(doc, ']');
	ks_document_key(doc, "operationId");
	ks_document_text(doc, o->id);
	if (w->version == 2) {
		add_media_list(w, "consumes", body_media(w, o));
		add_media_list(w, "produces", answer_media(w, o->produces));
		ks_document_add_raw(doc, "schemes", "[\"https\"]");
	}
	add_operation_parameters(w, o, o->parameters & ~common);
	if (w->version == 3)
		add_request_body(w, o);
	add_answers(w, o);
	add_kubernetes_members(w, o);
	ks_document_close(doc, '}');
}

void ks_openapi_path(struct ks_openapi_writer *w, struct ks_str path, const struct ks_openapi_operation *operations,
	size_t n, uint16_t options)
{
	uint64_t common = UINT64_MAX;
	struct ks_document *doc = &w->doc;

	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++)
		common &= operations[i].parameters;
	ks_document_text(doc, path);
	ks_buf_add_char(&doc->out, ':');
	doc->comma = false;
	ks_document_open(doc, '{');
	for (size_t i = 0; i < n; i++)
		add_operation(w, &operations[i], common);
	if (common || options) {
		ks_document_enter(doc, "parameters", '[');
		add_parameter_bits(w, common);
		if (options)
			add_option_parameters(w, options);
		ks_document_close(doc, ']');
	}
	ks_document_close(doc, '}');
}
