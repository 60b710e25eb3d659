/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/printing.h"

#include <errno.h>
#include <stdlib.h>

#include "core/api/json.h"
#include "core/pipeline/server.h"
#include "core/registry/registry.h"

static int no_memory(struct ks_request *request)
{
	return ks_status_internal(&request->status, &request->arena, "out of memory");
}

/* -- what was asked for ---------------------------------------------------------------------------------------- */

/* How kube-apiserver calls the type of an answer: its package is the group's first word. */
static const char *type_name(struct ks_request *request, uint16_t resource, bool list)
{
	const struct ks_schema *s = request->server->schema;
	const struct ks_resource *r = &s->resources[resource];
	const char *group = ks_schema_text(s, r->group), *name;
	int n = (int)strcspn(group, ".");

	if (s->generation)
		return list ? "*unstructured.UnstructuredList" : "*unstructured.Unstructured";
	if (n == 0 || strcmp(group, "events.k8s.io") == 0) {
		group = "core";
		n = 4;
	}
	name = ks_arena_printf(&request->arena, "*%.*s.%s%s", n, group, ks_schema_text(s, r->kind), list ? "List" : "");
	return name ? name : "";
}

int ks_printing_check(struct ks_request *request, uint16_t resource, bool list)
{
	unsigned char as = request->media.as;

	if (as == KS_AS_PARTIAL && list)
		return ks_status_set(&request->status, &request->arena, 406, "NotAcceptable",
			"you requested PartialObjectMetadata, but the requested object is a list (%s)", type_name(request, resource, true));
	if (as == KS_AS_PARTIAL_LIST && !list)
		return ks_status_set(&request->status, &request->arena, 406, "NotAcceptable",
			"you requested PartialObjectMetadataList, but the requested object is not a list (%s)",
			type_name(request, resource, false));
	return 0;
}

static const char *meta_version(const struct ks_request *request)
{
	return ks_str_is(request->media.as_version, "v1beta1") ? "v1beta1" : "v1";
}

static int read_include(struct ks_request *request, enum ks_include_object *include_r)
{
	struct ks_str text = ks_request_query(request, "includeObject");

	if (ks_include_object_parse(text, include_r))
		return 0;
	return ks_status_bad_request(&request->status, &request->arena,
		"Unable to convert to Table as requested: includeObject: Invalid value: \"%.*s\": must be 'Metadata', 'Object', 'None', or empty",
		(int)text.n, text.p);
}

int ks_printing_open(struct ks_request *request, uint16_t resource, struct ks_table **table_r)
{
	enum ks_include_object include;
	struct ks_table *table;
	int code;

	*table_r = NULL;
	if (request->media.as != KS_AS_TABLE)
		return 0;
	code = read_include(request, &include);
	if (code)
		return code;
	table = malloc(sizeof(*table));
	if (!table)
		return no_memory(request);
	ks_table_init(table, request->server->schema, resource, include, meta_version(request));
	*table_r = table;
	return 0;
}

void ks_printing_close(struct ks_table **table)
{
	if (!*table)
		return;
	ks_table_fini(*table);
	free(*table);
	*table = NULL;
}

/* -- rows ------------------------------------------------------------------------------------------------------ */

int ks_printing_add(struct ks_table *table, struct ks_object *object, uint64_t revision)
{
	struct ks_table_object shown = {ks_str_of(object->json->data, object->json->len), object->rv_at, object->rv_comma, revision};
	struct ks_representation r;
	struct ks_value tree;
	int rc;

	/* Metadata is the same in all versions: only a whole object has to be in the one that was asked for. */
	if (table->include == KS_INCLUDE_OBJECT) {
		rc = ks_object_representation(object, table->schema, table->resource, &r);
		if (rc != 0)
			return rc;
		shown = (struct ks_table_object){ks_str_of(r.bytes->data, r.bytes->len), r.rv_at, r.rv_comma, revision};
	}
	rc = ks_object_tree(object, table->schema, &table->scratch, &tree);
	return rc ? rc : ks_table_add(table, &tree, &shown);
}

/* The buffer is emptied into the chunk. */
static void move_to_chunk(struct ks_buf *buf, struct ks_chunk *chunk)
{
	if (buf->failed)
		chunk->failed = true;
	else
		ks_chunk_add(chunk, buf->data, buf->len);
	ks_buf_fini(buf);
}

void ks_printing_head(const struct ks_table *table, const struct ks_table_meta *meta, struct ks_chunk *chunk)
{
	struct ks_buf out;

	ks_buf_init(&out);
	ks_table_head(table, meta, &out);
	move_to_chunk(&out, chunk);
}

void ks_printing_rows(struct ks_table *table, bool last, struct ks_chunk *chunk)
{
	struct ks_buf out;

	ks_buf_init(&out);
	ks_table_take_rows(table, last, &out);
	move_to_chunk(&out, chunk);
}

/* -- watch events ---------------------------------------------------------------------------------------------- */

static void write_event(struct ks_table *table, uint64_t revision, struct ks_buf *out)
{
	struct ks_table_meta meta = {.revision = revision, .remaining = -1};

	ks_table_write(table, &meta, out);
	table->no_headers = true;
}

int ks_printing_event(struct ks_table *table, struct ks_object *object, uint64_t revision, struct ks_chunk *chunk)
{
	struct ks_buf out;
	int rc;

	ks_table_clear(table);
	table->now = ks_time_now();
	rc = ks_printing_add(table, object, revision);
	if (rc != 0)
		return rc;
	ks_buf_init(&out);
	write_event(table, revision, &out);
	move_to_chunk(&out, chunk);
	return 0;
}

/* `tree` in its storage version, `shown` as it was asked for. */
static int add_tree(struct ks_table *table, const struct ks_value *tree, const struct ks_value *shown, uint64_t revision)
{
	struct ks_table_object object = {.revision = revision};
	struct ks_buf json;
	int rc;

	ks_buf_init(&json);
	ks_json_encode_object(table->schema, shown, &json, &object.rv_at, &object.rv_comma);
	object.json = ks_buf_str(&json);
	rc = json.failed ? -ENOMEM : ks_table_add(table, tree, &object);
	ks_buf_fini(&json);
	return rc;
}

int ks_printing_bookmark(struct ks_table *table, const struct ks_value *tree, uint64_t revision, struct ks_buf *out)
{
	bool ends = ks_value_present(ks_value_at(table->schema, tree, "metadata.annotations"));
	enum ks_include_object include = table->include;
	int rc;

	ks_table_clear(table);
	/* The mark of the end of the beginning must arrive, whatever is left out of rows. */
	if (ends && include == KS_INCLUDE_NONE)
		table->include = KS_INCLUDE_METADATA;
	rc = add_tree(table, tree, tree, revision);
	table->include = include;
	if (rc == 0)
		write_event(table, revision, out);
	return rc;
}

/* -- single answers -------------------------------------------------------------------------------------------- */

static enum ks_stage_result respond(struct ks_request *request, int code, struct ks_table *table, int rc, uint64_t revision)
{
	struct ks_table_meta meta = {.revision = revision, .remaining = -1};
	struct ks_buf out;

	ks_buf_init(&out);
	if (rc == 0)
		ks_table_write(table, &meta, &out);
	if (rc != 0 || out.failed) {
		ks_buf_fini(&out);
		ks_status_internal(&request->status, &request->arena, "the object can't be shown in this version");
		return KS_STAGE_FAILED;
	}
	ks_request_respond_json(request, code, &out);
	return KS_STAGE_ANSWERED;
}

enum ks_stage_result ks_printing_reply_object(struct ks_request *request, int code, struct ks_object *object, uint16_t resource,
	uint64_t revision)
{
	enum ks_stage_result result;
	struct ks_table *table;

	if (ks_printing_open(request, resource, &table) != 0)
		return KS_STAGE_FAILED;
	result = respond(request, code, table, ks_printing_add(table, object, revision), revision);
	ks_printing_close(&table);
	return result;
}

static uint64_t revision_of(const struct ks_schema *s, const struct ks_value *tree)
{
	struct ks_str text = ks_value_str(ks_value_at(s, tree, "metadata.resourceVersion"));
	uint64_t revision = 0;

	for (size_t i = 0; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++)
		revision = revision * 10 + (uint64_t)(text.p[i] - '0');
	return revision;
}

/* The object in the version in which cells are made of it. */
static int to_storage(struct ks_request *request, const struct ks_value *tree, struct ks_value *out_r)
{
	const struct ks_schema *s = request->server->schema;
	uint16_t resource = s->resources[request->info.resource_index].parent;
	const struct ks_resource *r = &s->resources[resource];

	*out_r = *tree;
	if (r->storage == resource || tree->kind != KS_STRUCT || tree->type != r->type)
		return 0;
	if (!ks_value_copy(&request->arena, tree, out_r))
		return -ENOMEM;
	return ks_registry_convert(&request->arena, s, resource, r->storage, out_r);
}

enum ks_stage_result ks_printing_reply_tree(struct ks_request *request, int code, const struct ks_value *tree)
{
	uint64_t revision = revision_of(request->server->schema, tree);
	enum ks_stage_result result;
	struct ks_table *table;
	struct ks_value stored;
	int rc;

	if (ks_printing_open(request, request->info.resource_index, &table) != 0)
		return KS_STAGE_FAILED;
	rc = to_storage(request, tree, &stored);
	if (rc == 0)
		rc = add_tree(table, &stored, tree, revision);
	result = respond(request, code, table, rc, revision);
	ks_printing_close(&table);
	return result;
}
