/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Schema objects of OpenAPI: one for each type that a document refers to. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "core/api/openapi_private.h"

#define PATCH_NAME "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"

static const char *text_of(const struct ks_openapi_writer *w, uint32_t offset)
{
	return ks_schema_text(w->s, offset);
}

static bool has_name(const struct ks_openapi_writer *w, const struct ks_type *t)
{
	return *text_of(w, t->name) != '\0';
}

void ks_openapi_describe(struct ks_openapi_writer *w, const char *description)
{
	if (*description)
		ks_document_add(&w->doc, "description", description);
}

/* Types that are schemas of their own; named strings and lists are written where they are used. */
static bool is_referred(const struct ks_openapi_writer *w, const struct ks_type *t)
{
	switch (t->class_) {
	case KS_TYPE_STRUCT:
	case KS_TYPE_TIME:
	case KS_TYPE_MICRO_TIME:
	case KS_TYPE_DURATION:
	case KS_TYPE_QUANTITY:
	case KS_TYPE_INT_OR_STRING:
	case KS_TYPE_RAW:
	case KS_TYPE_FIELDS_V1:
		return true;
	case KS_TYPE_JSON:
		return has_name(w, t);
	default:
		return false;
	}
}

static void add_ref(struct ks_openapi_writer *w, const char *name)
{
	struct ks_document *doc = &w->doc;

	ks_document_key(doc, "$ref");
	ks_document_open(doc, '"');
	ks_buf_add_str(&doc->out, w->version == 3 ? "#/components/schemas/" : "#/definitions/");
	ks_buf_add_str(&doc->out, name);
	ks_document_close(doc, '"');
}

void ks_openapi_ref(struct ks_openapi_writer *w, uint16_t type)
{
	if (!w->used[type])
		w->used[type] = 1;
	ks_document_open(&w->doc, '{');
	add_ref(w, text_of(w, w->s->types[type].name));
	ks_document_close(&w->doc, '}');
}

void ks_openapi_ref_patch(struct ks_openapi_writer *w)
{
	w->uses_patch = true;
	ks_document_open(&w->doc, '{');
	add_ref(w, PATCH_NAME);
	ks_document_close(&w->doc, '}');
}

static void add_type(struct ks_document *doc, const char *type, const char *format)
{
	ks_document_add(doc, "type", type);
	if (format)
		ks_document_add(doc, "format", format);
}

static void add_scalar(struct ks_openapi_writer *w, const struct ks_type *t)
{
	struct ks_document *doc = &w->doc;

	switch (t->class_) {
	case KS_TYPE_BOOL:
		add_type(doc, "boolean", NULL);
		break;
	case KS_TYPE_INT32:
		add_type(doc, "integer", "int32");
		break;
	case KS_TYPE_INT64:
		add_type(doc, "integer", "int64");
		break;
	case KS_TYPE_FLOAT64:
		add_type(doc, "number", "double");
		break;
	case KS_TYPE_BYTES:
		add_type(doc, "string", "byte");
		break;
	case KS_TYPE_JSON:
		add_type(doc, "object", NULL);
		break;
	default:
		add_type(doc, "string", NULL);
	}
	if (t->n_enum == 0)
		return;
	ks_document_enter(doc, "enum", '[');
	for (uint16_t i = 0; i < t->n_enum; i++)
		ks_document_text(doc, ks_str_from(text_of(w, w->s->enums[t->enum_first + i])));
	ks_document_close(doc, ']');
}

/* The default that a value has because Go has no absent values: "" when there is none. */
static const char *implied_default(const struct ks_type *t, bool pointer, bool omitted)
{
	if (pointer)
		return "";
	switch (t->class_) {
	case KS_TYPE_STRUCT:
		return "{}";
	case KS_TYPE_STRING:
		return omitted ? "" : "\"\"";
	case KS_TYPE_BOOL:
		return omitted ? "" : "false";
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
	case KS_TYPE_FLOAT64:
		return omitted ? "" : "0";
	default:
		return "";
	}
}

static void add_value_schema(struct ks_openapi_writer *w, uint16_t type, const char *default_json, bool siblings);

/* The element of a list or map: null is none, so that a default is shown unless it is a pointer. */
static void add_element(struct ks_openapi_writer *w, uint16_t type, bool pointer)
{
	ks_document_open(&w->doc, '{');
	add_value_schema(w, type, implied_default(&w->s->types[type], pointer, false), false);
	ks_document_close(&w->doc, '}');
}

/* The members that say what a value of `type` is. `siblings`: others follow, which a bare $ref can't have beside it in
 * v3. */
static void add_value_schema(struct ks_openapi_writer *w, uint16_t type, const char *default_json, bool siblings)
{
	const struct ks_type *t = &w->s->types[type];
	struct ks_document *doc = &w->doc;
	bool show_default = w->version == 3 && *default_json;

	if (is_referred(w, t)) {
		if (show_default || (siblings && w->version == 3)) {
			ks_document_enter(doc, "allOf", '[');
			ks_openapi_ref(w, type);
			ks_document_close(doc, ']');
		} else {
			if (!w->used[type])
				w->used[type] = 1;
			add_ref(w, text_of(w, t->name));
		}
	} else if (t->class_ == KS_TYPE_LIST) {
		add_type(doc, "array", NULL);
		ks_document_key(doc, "items");
		add_element(w, t->element, false);
	} else if (t->class_ == KS_TYPE_MAP) {
		add_type(doc, "object", NULL);
		ks_document_key(doc, "additionalProperties");
		add_element(w, t->element, false);
	} else {
		add_scalar(w, t);
	}
	if (show_default)
		ks_document_add_raw(doc, "default", default_json);
}

static void add_list_extensions(struct ks_openapi_writer *w, const struct ks_field *f)
{
	static const char *const kinds[] = {"atomic", "set", "map"};
	struct ks_document *doc = &w->doc;

	if (!(f->flags & KS_FIELD_LIST_SAID))
		return;
	ks_document_add(doc, "x-kubernetes-list-type", kinds[f->list_kind % 3]);
	if (f->n_list_keys == 0)
		return;
	ks_document_enter(doc, "x-kubernetes-list-map-keys", '[');
	for (uint8_t i = 0; i < f->n_list_keys; i++)
		ks_document_text(doc, ks_str_from(text_of(w, w->s->list_keys[f->first_list_key + i])));
	ks_document_close(doc, ']');
}

static bool has_extensions(const struct ks_field *f)
{
	return f->patch_merge_key ||
		f->flags &
		(KS_FIELD_LIST_SAID | KS_FIELD_ATOMIC | KS_FIELD_GRANULAR | KS_FIELD_PATCH_MERGE | KS_FIELD_PATCH_REPLACE |
			KS_FIELD_RETAIN_KEYS);
}

static void add_extensions(struct ks_openapi_writer *w, const struct ks_field *f)
{
	struct ks_document *doc = &w->doc;

	add_list_extensions(w, f);
	if (f->flags & (KS_FIELD_ATOMIC | KS_FIELD_GRANULAR))
		ks_document_add(doc, "x-kubernetes-map-type", f->flags & KS_FIELD_ATOMIC ? "atomic" : "granular");
	if (f->patch_merge_key)
		ks_document_add(doc, "x-kubernetes-patch-merge-key", text_of(w, f->patch_merge_key));
	if ((f->flags & KS_FIELD_PATCH_MERGE) && (f->flags & KS_FIELD_RETAIN_KEYS))
		ks_document_add(doc, "x-kubernetes-patch-strategy", "merge,retainKeys");
	else if (f->flags & KS_FIELD_PATCH_MERGE)
		ks_document_add(doc, "x-kubernetes-patch-strategy", "merge");
	else if (f->flags & KS_FIELD_RETAIN_KEYS)
		ks_document_add(doc, "x-kubernetes-patch-strategy", "retainKeys");
	else if (f->flags & KS_FIELD_PATCH_REPLACE)
		ks_document_add(doc, "x-kubernetes-patch-strategy", "replace");
}

static void add_property(struct ks_openapi_writer *w, const struct ks_field *f)
{
	const struct ks_type *t = &w->s->types[f->type];
	bool omitted = f->flags & (KS_FIELD_OMIT_EMPTY | KS_FIELD_OMIT_ZERO);
	const char *default_json = implied_default(t, f->flags & KS_FIELD_POINTER, omitted);
	const char *description = ks_schema_field_description(w->s, f);

	if (f->default_value && !(f->flags & KS_FIELD_DEFAULT_OURS))
		default_json = text_of(w, f->default_value);
	ks_document_key(&w->doc, text_of(w, f->name));
	ks_document_open(&w->doc, '{');
	ks_openapi_describe(w, description);
	add_value_schema(w, f->type, default_json, *description || has_extensions(f));
	add_extensions(w, f);
	ks_document_close(&w->doc, '}');
}

static void add_required(struct ks_openapi_writer *w, const struct ks_type *t)
{
	bool any = false;

	for (uint16_t i = 0; i < t->n_fields; i++) {
		const struct ks_field *f = &w->s->fields[t->first_field + i];

		if (!(f->flags & KS_FIELD_REQUIRED))
			continue;
		if (!any)
			ks_document_enter(&w->doc, "required", '[');
		any = true;
		ks_document_text(&w->doc, ks_str_from(text_of(w, f->name)));
	}
	if (any)
		ks_document_close(&w->doc, ']');
}

/* The unnamed union of a struct: its discriminator and the members that it chooses from, by their Go names. */
static void add_union(struct ks_openapi_writer *w, const struct ks_type *t)
{
	struct ks_document *doc = &w->doc;
	bool any = false;

	for (uint16_t i = 0; i < t->n_fields; i++) {
		const struct ks_field *f = &w->s->fields[t->first_field + i];

		if (!(f->flags & KS_FIELD_UNION_DISCRIMINATOR))
			continue;
		ks_document_add(doc, "discriminator", text_of(w, f->name));
	}
	for (uint16_t i = 0; i < t->n_fields; i++) {
		const struct ks_field *f = &w->s->fields[t->first_field + i];
		char go_name[128];
		struct ks_str name = ks_str_of(text_of(w, f->name), f->name_n);

		if (!(f->flags & KS_FIELD_UNION_MEMBER) || name.n == 0 || name.n >= sizeof(go_name))
			continue;
		if (!any)
			ks_document_enter(doc, "fields-to-discriminateBy", '{');
		any = true;
		memcpy(go_name, name.p, name.n + 1);
		go_name[0] = (char)toupper((unsigned char)go_name[0]);
		ks_document_add(doc, name.p, go_name);
	}
	if (any)
		ks_document_close(doc, '}');
}

static void add_kind(struct ks_document *doc, const char *group, const char *version, const char *kind)
{
	ks_document_open(doc, '{');
	ks_document_add(doc, "group", group);
	ks_document_add(doc, "kind", kind);
	ks_document_add(doc, "version", version);
	ks_document_close(doc, '}');
}

/* Whether a document shows that a type is this kind: kinds that every group has are shown for the core and the
 * document's own. */
static bool shows_kind(const struct ks_openapi_writer *w, const struct ks_kind *k)
{
	const char *group = text_of(w, k->group);

	if (strcmp(group, "meta.k8s.io") == 0)
		return false;
	if (!w->group || *group == '\0')
		return true;
	return strncmp(text_of(w, w->s->types[k->type].name), "io.k8s.apimachinery.", 20) != 0 ||
		(strcmp(group, w->group) == 0 && strcmp(text_of(w, k->version), w->group_version) == 0);
}

static void add_kinds(struct ks_openapi_writer *w, uint16_t type)
{
	bool any = false;

	for (uint32_t i = 0; i < w->s->n_kinds; i++) {
		const struct ks_kind *k = &w->s->kinds[i];

		if (k->type != type || !shows_kind(w, k))
			continue;
		if (!any)
			ks_document_enter(&w->doc, "x-kubernetes-group-version-kind", '[');
		any = true;
		add_kind(&w->doc, text_of(w, k->group), text_of(w, k->version), text_of(w, k->kind));
	}
	if (any)
		ks_document_close(&w->doc, ']');
}

static void add_struct(struct ks_openapi_writer *w, uint16_t type)
{
	const struct ks_type *t = &w->s->types[type];
	struct ks_document *doc = &w->doc;

	ks_document_add(doc, "type", "object");
	if (t->n_fields > 0) {
		ks_document_enter(doc, "properties", '{');
		for (uint16_t i = 0; i < t->n_fields; i++)
			add_property(w, &w->s->fields[t->first_field + i]);
		ks_document_close(doc, '}');
	}
	add_required(w, t);
	add_kinds(w, type);
	if (t->atomic)
		ks_document_add(doc, "x-kubernetes-map-type", "atomic");
	if (t->is_union) {
		ks_document_enter(doc, "x-kubernetes-unions", '[');
		ks_document_open(doc, '{');
		add_union(w, t);
		ks_document_close(doc, '}');
		ks_document_close(doc, ']');
	}
}

static void add_one_of(struct ks_document *doc, const char *first, const char *second)
{
	ks_document_enter(doc, "oneOf", '[');
	ks_document_open(doc, '{');
	ks_document_add(doc, "type", first);
	ks_document_close(doc, '}');
	ks_document_open(doc, '{');
	ks_document_add(doc, "type", second);
	ks_document_close(doc, '}');
	ks_document_close(doc, ']');
}

static void add_named_scalar(struct ks_openapi_writer *w, const struct ks_type *t)
{
	struct ks_document *doc = &w->doc;

	switch (t->class_) {
	case KS_TYPE_TIME:
	case KS_TYPE_MICRO_TIME:
		add_type(doc, "string", "date-time");
		break;
	case KS_TYPE_DURATION:
		add_type(doc, "string", NULL);
		break;
	case KS_TYPE_QUANTITY:
		if (w->version == 3)
			add_one_of(doc, "string", "number");
		else
			add_type(doc, "string", NULL);
		break;
	case KS_TYPE_INT_OR_STRING:
		if (w->version == 3)
			add_one_of(doc, "integer", "string");
		else
			ks_document_add(doc, "type", "string");
		ks_document_add(doc, "format", "int-or-string");
		break;
	case KS_TYPE_RAW:
	case KS_TYPE_FIELDS_V1:
		add_type(doc, "object", NULL);
		break;
	default: /* any JSON: nothing is said */
		break;
	}
}

static void add_schema(struct ks_openapi_writer *w, uint16_t type)
{
	const struct ks_type *t = &w->s->types[type];

	ks_document_key(&w->doc, text_of(w, t->name));
	ks_document_open(&w->doc, '{');
	ks_openapi_describe(w, ks_schema_type_description(w->s, type));
	if (t->class_ == KS_TYPE_STRUCT)
		add_struct(w, type);
	else
		add_named_scalar(w, t);
	ks_document_close(&w->doc, '}');
}

int ks_openapi_schemas(struct ks_openapi_writer *w)
{
	bool again = true;

	if (w->uses_patch)
		ks_document_add_raw(&w->doc, PATCH_NAME, "{\"description\":\"What is to change, in the form that the media type says.\",\"type\":\"object\"}");
	while (again) {
		again = false;
		for (uint32_t i = 1; i < w->s->n_types; i++) {
			if (w->used[i] != 1)
				continue;
			w->used[i] = 2;
			add_schema(w, (uint16_t)i);
			again = true;
		}
	}
	return w->doc.out.failed ? -ENOMEM : 0;
}
