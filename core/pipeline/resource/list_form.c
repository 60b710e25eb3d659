/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/list_form.h"

#include <stdio.h>

#include "core/api/metadata_only.h"
#include "core/pipeline/resource/cbor_form.h"
#include "core/pipeline/resource/printing.h"
#include "core/pipeline/resource/proto_form.h"
#include "core/pipeline/server.h"

int ks_list_form_open(struct ks_request *request, uint16_t resource, struct ks_list_form *form_r)
{
	int code;

	*form_r = (struct ks_list_form){
		.schema = request->server->schema,
		.resource = resource,
		.as_version = request->media.as_version,
		.form = request->media.as == KS_AS_PARTIAL_LIST ? KS_FORM_PARTIAL : KS_FORM_ITEM,
		.proto = request->media.format == KS_MEDIA_PROTOBUF && request->media.as != KS_AS_TABLE,
		.cbor = request->media.format == KS_MEDIA_CBOR && request->media.as != KS_AS_TABLE,
	};
	code = ks_printing_check(request, resource, true);
	return code ? code : ks_printing_open(request, resource, &form_r->table);
}

void ks_list_form_close(struct ks_list_form *form)
{
	ks_printing_close(&form->table);
}

/* {"kind":"PodList","apiVersion":"v1" */
static void add_kind(const struct ks_list_form *form, struct ks_chunk *chunk)
{
	const struct ks_resource *r = &form->schema->resources[form->resource];
	const char *group = ks_schema_text(form->schema, r->group);

	ks_chunk_add_text(chunk, "{\"kind\":\"");
	if (form->form == KS_FORM_PARTIAL) {
		ks_chunk_add_text(chunk, "PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/");
		ks_chunk_add(chunk, form->as_version.p, form->as_version.n);
	} else {
		ks_chunk_add_text(chunk, ks_schema_text(form->schema, r->kind));
		ks_chunk_add_text(chunk, "List\",\"apiVersion\":\"");
		ks_chunk_add_text(chunk, group);
		if (group[0])
			ks_chunk_add_text(chunk, "/");
		ks_chunk_add_text(chunk, ks_schema_text(form->schema, r->version));
	}
	ks_chunk_add_text(chunk, "\"");
}

/* -- protobuf and CBOR -- */

static int show(const struct ks_list_form *form, struct ks_object *object, struct ks_proto_shown *shown)
{
	return ks_proto_show(object, form->schema, form->resource, object->revision, form->form == KS_FORM_PARTIAL, shown);
}

void ks_list_form_prepare(const struct ks_request *request, uint16_t resource, struct ks_object *object)
{
	struct ks_proto_representation proto;
	struct ks_cbor_representation cbor;
	int result = 0;

	if (request->media.format == KS_MEDIA_PROTOBUF)
		result = ks_object_proto(object, request->server->schema, resource, &proto);
	else if (request->media.format == KS_MEDIA_CBOR)
		result = ks_object_cbor(object, request->server->schema, resource, &cbor);
	(void)result; /* whoever measures it sees the same */
}

static int measure_cbor(struct ks_list_form *form, struct ks_object *object)
{
	struct ks_cbor_representation ready;
	int result = ks_object_cbor(object, form->schema, form->resource, &ready);

	form->items_n += result == 0;
	return result;
}

int ks_list_form_measure(struct ks_list_form *form, struct ks_object *object)
{
	struct ks_proto_shown shown;
	int result;

	if (form->cbor)
		return measure_cbor(form, object);
	result = show(form, object, &shown);
	if (!result)
		form->items_n += ks_proto_item_size(&shown);
	return result;
}

static void add_binary_head(const struct ks_list_form *form, const struct ks_table_meta *meta, struct ks_chunk *chunk)
{
	struct ks_proto_kind kind;
	char name[128];

	if (form->form == KS_FORM_PARTIAL) {
		ks_proto_kind_partial(form->as_version, true, &kind);
	} else {
		ks_proto_kind_of(form->schema, form->resource, &kind);
		snprintf(name, sizeof(name), "%.*sList", (int)kind.kind.n, kind.kind.p);
		kind.kind = ks_str_from(name);
	}
	(form->cbor ? ks_cbor_add_list_head : ks_proto_add_list_head)(&kind, meta->revision, meta->continue_, meta->remaining, form->items_n, chunk);
}

/* Built-in items do without kind and apiVersion, as they do in JSON. */
static int add_cbor_item(struct ks_list_form *form, struct ks_object *object, struct ks_chunk *chunk)
{
	bool partial = form->form == KS_FORM_PARTIAL, named = partial || form->schema->generation != 0;
	struct ks_proto_kind kind;

	if (partial)
		ks_proto_kind_partial(form->as_version, false, &kind);
	else
		ks_proto_kind_of(form->schema, form->resource, &kind);
	return ks_cbor_add_object(chunk, form->schema, object, form->resource, object->revision, named ? &kind : NULL, partial);
}

static int add_proto_item(struct ks_list_form *form, struct ks_object *object, struct ks_chunk *chunk)
{
	struct ks_proto_shown shown;
	int result = show(form, object, &shown);

	if (!result)
		ks_proto_add_item(&shown, chunk);
	return result;
}

/* -- the parts -- */

void ks_list_form_head(const struct ks_list_form *form, const struct ks_table_meta *meta, struct ks_chunk *chunk)
{
	struct ks_buf json;

	if (form->table) {
		ks_printing_head(form->table, meta, chunk);
		return;
	}
	if (form->proto || form->cbor) {
		add_binary_head(form, meta, chunk);
		return;
	}
	add_kind(form, chunk);
	ks_chunk_add_text(chunk, ",\"metadata\":");
	ks_buf_init(&json);
	ks_list_meta(meta->revision, meta->continue_, meta->remaining, &json);
	chunk->failed |= json.failed;
	ks_chunk_add(chunk, json.data, json.len);
	ks_buf_fini(&json);
	ks_chunk_add_text(chunk, ",\"items\":");
}

int ks_list_form_item(struct ks_list_form *form, struct ks_object *object, struct ks_chunk *chunk)
{
	bool first = !form->any;
	int rc;

	form->any = true;
	if (form->proto)
		return add_proto_item(form, object, chunk);
	if (form->cbor)
		return add_cbor_item(form, object, chunk);
	if (form->table) {
		rc = ks_printing_add(form->table, object, object->revision);
		ks_printing_rows(form->table, false, chunk);
		return rc;
	}
	ks_chunk_add_text(chunk, first ? "[" : ",");
	return ks_chunk_add_object(chunk, form->schema, object, form->resource, object->revision, form->form, form->as_version);
}

void ks_list_form_tail(struct ks_list_form *form, struct ks_chunk *chunk)
{
	if (form->proto)
		ks_proto_add_list_tail(chunk);
	if (form->proto || form->cbor)
		return;
	if (form->table)
		ks_printing_rows(form->table, true, chunk);
	else if (!form->any) /* as it is in Go: the list of items of PartialObjectMetadataList is nil */
		ks_chunk_add_text(chunk, form->form == KS_FORM_PARTIAL ? "null}\n" : "[]}\n");
	if (form->table || form->any)
		ks_chunk_add_text(chunk, "]}\n");
}
