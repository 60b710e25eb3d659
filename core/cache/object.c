/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "core/api/json.h"
#include "core/cache/cache.h"
#include "core/cache/index.h"
#include "core/cache/representation.h"

/* -- making ----------------------------------------------------------------------------------------------------- */

static bool within(const struct ks_bytes *json, struct ks_str text)
{
	return text.p >= json->data && text.p <= json->data + json->len;
}

/* Bytes that have to be kept beside the JSON: texts that had escapes. Constants (defaults) are neither. */
static size_t extra_bytes(const struct ks_bytes *json, const struct ks_index *index)
{
	const struct ks_str texts[] = {index->name, index->ns, index->uid};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		n += within(json, texts[i]) ? 0 : texts[i].n;
	for (uint32_t i = 0; i < index->n_labels; i++) {
		n += within(json, index->labels[i].key) ? 0 : index->labels[i].key.n;
		n += within(json, index->labels[i].value) ? 0 : index->labels[i].value.n;
	}
	for (uint16_t i = 0; i < index->n_fields; i++)
		n += within(json, index->fields[i]) ? 0 : index->fields[i].n;
	return n;
}

static struct ks_str keep(const struct ks_bytes *json, struct ks_str text, char **extra)
{
	char *copy = *extra;

	if (text.n == 0)
		return KS_STR_LIT("");
	if (within(json, text))
		return text;
	memcpy(copy, text.p, text.n);
	*extra += text.n;
	return ks_str_of(copy, text.n);
}

/* One allocation: the struct, its labels, its fields, and the few texts that aren't views of the JSON. Takes a reference to `json`. */
static struct ks_object *make(const struct ks_schema *schema, uint16_t resource, struct ks_bytes *json, const struct ks_index *index)
{
	size_t labels = index->n_labels * sizeof(struct ks_label), fields = index->n_fields * sizeof(struct ks_str);
	struct ks_object *o;
	struct ks_label *label;
	struct ks_str *field;
	char *extra;

	if (index->n_labels > UINT16_MAX || json->len > UINT32_MAX)
		return NULL;
	o = malloc(sizeof(*o) + labels + fields + extra_bytes(json, index));
	if (!o)
		return NULL;
	label = (struct ks_label *)(o + 1);
	field = (struct ks_str *)(label + index->n_labels);
	extra = (char *)(field + index->n_fields);
	*o = (struct ks_object){.resource = resource,
		.n_labels = (uint16_t)index->n_labels,
		.n_fields = index->n_fields,
		.labels = label,
		.fields = field,
		.rv_at = (uint32_t)index->rv_at,
		.rv_comma = index->rv_comma};
	atomic_init(&o->refs, 1);
	o->json = ks_bytes_ref(json);
	o->name = keep(json, index->name, &extra);
	o->ns = keep(json, index->ns, &extra);
	o->uid = keep(json, index->uid, &extra);
	for (uint32_t i = 0; i < index->n_labels; i++)
		label[i] = (struct ks_label){keep(json, index->labels[i].key, &extra), keep(json, index->labels[i].value, &extra)};
	for (uint16_t i = 0; i < index->n_fields; i++)
		field[i] = index->fields[i].n ? keep(json, index->fields[i], &extra) : ks_index_field_default(schema, resource, i);
	return o;
}

/* Bytes without the resourceVersion that somebody has stored. */
static struct ks_bytes *without_version(const struct ks_bytes *json, const struct ks_index *index)
{
	size_t from = index->rv_from, to = index->rv_to;
	struct ks_bytes *clean;

	if (from == index->rv_at) /* the first member: the comma behind it goes, too */
		while (to < json->len && json->data[to] != '}')
			if (json->data[to++] == ',')
				break;
	clean = ks_bytes_new(json->len - (to - from));
	if (!clean)
		return NULL;
	memcpy(clean->data, json->data, from);
	memcpy(clean->data + from, json->data + to, json->len - to);
	return clean;
}

static bool is_of(const struct ks_schema *schema, uint16_t resource, const struct ks_index *index)
{
	const struct ks_resource *r = &schema->resources[resource];
	struct ks_str group = ks_str_from(ks_schema_text(schema, r->group)), version = ks_str_from(ks_schema_text(schema, r->version));
	struct ks_str text = index->api_version;

	if (group.n == 0)
		return ks_str_eq(text, version);
	return text.n == group.n + 1 + version.n && ks_str_starts(text, group) && text.p[group.n] == '/' &&
		memcmp(text.p + group.n + 1, version.p, version.n) == 0;
}

static int from_bytes(struct ks_arena *arena, const struct ks_schema *schema, uint16_t resource, struct ks_bytes *json, struct ks_object **out_r,
	struct ks_error *err)
{
	struct ks_bytes *clean;
	struct ks_index index;
	const char *message;
	int result = ks_index_scan(arena, schema, resource, ks_str_of(json->data, json->len), &index, &message);

	if (result)
		return ks_error_set(err, result, "%s", message);
	if (index.rv_to) {
		clean = without_version(json, &index);
		if (!clean)
			return ks_error_set(err, -ENOMEM, "out of memory");
		result = from_bytes(arena, schema, resource, clean, out_r, err);
		ks_bytes_unref(clean);
		return result;
	}
	if (!is_of(schema, resource, &index))
		return ks_representation_normalise(arena, schema, resource, json, index.api_version, index.kind, out_r, err);
	if (index.name.n == 0)
		return ks_error_set(err, -EINVAL, "metadata.name is missing");
	*out_r = make(schema, resource, json, &index);
	return *out_r ? 0 : ks_error_set(err, -ENOMEM, "out of memory");
}

struct ks_object *ks_object_from_json(const struct ks_schema *schema, uint16_t resource, struct ks_bytes *json, struct ks_error *err)
{
	struct ks_object *object = NULL;
	struct ks_arena arena;

	ks_arena_init(&arena, 0);
	if (from_bytes(&arena, schema, resource, json, &object, err))
		object = NULL;
	ks_arena_fini(&arena);
	return object;
}

struct ks_object *ks_object_from_tree(const struct ks_schema *schema, uint16_t resource, const struct ks_value *root)
{
	struct ks_object *object = NULL;
	struct ks_bytes *json;
	struct ks_buf buf;
	size_t rv_at;
	bool rv_comma;

	ks_buf_init(&buf);
	ks_json_encode_object(schema, root, &buf, &rv_at, &rv_comma);
	json = buf.failed ? NULL : ks_bytes_dup(buf.data, buf.len);
	ks_buf_fini(&buf);
	if (json)
		object = ks_object_from_json(schema, resource, json, NULL);
	ks_bytes_unref(json);
	return object;
}

/* -- life ------------------------------------------------------------------------------------------------------- */

struct ks_object *ks_object_ref(struct ks_object *object)
{
	atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);
	return object;
}

void ks_object_unref(struct ks_object *object)
{
	if (!object || atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) != 1)
		return;
	ks_representation_free_all(object);
	ks_bytes_unref(object->json);
	free(object);
}

/* -- decoding --------------------------------------------------------------------------------------------------- */

static int set_revision(struct ks_arena *arena, const struct ks_schema *schema, uint64_t revision, struct ks_value *root)
{
	struct ks_value *place = ks_value_put_at(arena, schema, root, "metadata.resourceVersion");
	char *text = ks_arena_printf(arena, "%llu", (unsigned long long)revision);

	if (!place || !text)
		return -ENOMEM;
	*place = ks_value_from_str(ks_str_from(text));
	return 0;
}

int ks_object_tree(const struct ks_object *object, const struct ks_schema *schema, struct ks_arena *arena, struct ks_value *out_r)
{
	uint16_t type = schema->resources[object->resource].type;
	const char *message;
	int result = ks_json_decode(arena, schema, type, KS_DECODE_BORROW, object->json->data, object->json->len, out_r, NULL, &message);

	if (result || object->revision == 0)
		return result;
	return set_revision(arena, schema, object->revision, out_r);
}
