/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/cache/representation.h"

#include <errno.h>
#include <stdlib.h>

#include "core/api/cbor.h"
#include "core/api/json.h"
#include "core/api/proto.h"

enum form { FORM_JSON, FORM_PROTO, FORM_CBOR };

/* One more version or form of an object, in a list that only grows: readers walk it without a lock, it goes with the object. */
struct representation {
	struct representation *next;
	uint16_t resource;
	uint8_t form; /* enum form */
	union {
		struct ks_representation r;
		struct ks_proto_representation proto;
		struct ks_cbor_representation cbor;
	};
};

static ks_object_converter converter;

void ks_object_set_converter(ks_object_converter convert)
{
	converter = convert;
}

static int set_text(struct ks_arena *arena, const struct ks_schema *schema, struct ks_value *root, const char *name, struct ks_str text)
{
	struct ks_value *place = ks_value_put(arena, schema, root, ks_str_from(name));

	if (!place)
		return -ENOMEM;
	*place = ks_value_from_str(text);
	return 0;
}

/* The tree as version `to`: what the registry knows to convert, and always apiVersion and kind. */
static int convert(struct ks_arena *arena, const struct ks_schema *schema, uint16_t from, uint16_t to, struct ks_value *root)
{
	const struct ks_resource *r = &schema->resources[to];
	const char *group = ks_schema_text(schema, r->kind_group), *version = ks_schema_text(schema, r->kind_version);
	char *api_version = ks_arena_printf(arena, "%s%s%s", group, *group ? "/" : "", version);
	int result = converter ? converter(arena, schema, from, to, root) : 0;

	if (result)
		return result;
	if (!api_version)
		return -ENOMEM;
	result = set_text(arena, schema, root, "apiVersion", ks_str_from(api_version));
	if (result)
		return result;
	return set_text(arena, schema, root, "kind", ks_str_from(ks_schema_text(schema, r->kind)));
}

/* -- other versions and forms ----------------------------------------------------------------------------------- */

static const struct representation *find(struct representation *list, uint16_t resource, enum form form)
{
	while (list && (list->resource != resource || list->form != form))
		list = list->next;
	return list;
}

static int encode(const struct ks_schema *schema, const struct ks_value *root, struct ks_representation *out_r)
{
	struct ks_buf buf;
	size_t rv_at;
	int result = -ENOMEM;

	ks_buf_init(&buf);
	ks_json_encode_object(schema, root, &buf, &rv_at, &out_r->rv_comma);
	out_r->rv_at = (uint32_t)rv_at;
	out_r->bytes = buf.failed ? NULL : ks_bytes_dup(buf.data, buf.len);
	if (out_r->bytes)
		result = 0;
	ks_buf_fini(&buf);
	return result;
}

static int encode_proto(const struct ks_schema *schema, const struct ks_value *root, struct ks_proto_representation *out_r)
{
	struct ks_proto_split split;
	struct ks_buf buf;
	int result = -EINVAL;

	ks_buf_init(&buf);
	if (ks_proto_encode_split(schema, root, &buf, &split)) {
		out_r->meta_n = (uint32_t)split.meta_n;
		out_r->rv_at = (uint32_t)split.rv_at;
		out_r->bytes = buf.failed || buf.len > UINT32_MAX ? NULL : ks_bytes_dup(buf.data, buf.len);
		result = out_r->bytes ? 0 : -ENOMEM;
	}
	ks_buf_fini(&buf);
	return result;
}

static int encode_cbor(const struct ks_schema *schema, const struct ks_value *root, struct ks_cbor_representation *out_r)
{
	struct ks_cbor_split split;
	struct ks_buf buf;
	int result = -EINVAL;

	ks_buf_init(&buf);
	if (ks_cbor_encode_split(schema, root, &buf, &split)) {
		*out_r = (struct ks_cbor_representation){.meta_n = (uint32_t)split.meta_n, .n_meta = split.n_meta, .n_rest = split.n_rest};
		out_r->bytes = buf.failed || buf.len > UINT32_MAX ? NULL : ks_bytes_dup(buf.data, buf.len);
		result = out_r->bytes ? 0 : -ENOMEM;
	}
	ks_buf_fini(&buf);
	return result;
}

static int encode_form(const struct ks_schema *schema, const struct ks_value *root, struct representation *made)
{
	switch (made->form) {
	case FORM_PROTO:
		return encode_proto(schema, root, &made->proto);
	case FORM_CBOR:
		return encode_cbor(schema, root, &made->cbor);
	default:
		return encode(schema, root, &made->r);
	}
}

static int make(const struct ks_object *object, const struct ks_schema *schema, struct representation *made)
{
	uint16_t type = schema->resources[object->resource].type;
	const char *message;
	struct ks_arena arena;
	struct ks_value root;
	int result;

	ks_arena_init(&arena, 0);
	result = ks_json_decode(&arena, schema, type, KS_DECODE_BORROW, object->json->data, object->json->len, &root, NULL, &message);
	if (!result && made->resource != object->resource)
		result = convert(&arena, schema, object->resource, made->resource, &root);
	if (!result)
		result = encode_form(schema, &root, made);
	ks_arena_fini(&arena);
	return result;
}

static struct ks_bytes *bytes_of(const struct representation *representation)
{
	switch (representation->form) {
	case FORM_PROTO:
		return representation->proto.bytes;
	case FORM_CBOR:
		return representation->cbor.bytes;
	default:
		return representation->r.bytes;
	}
}

/* Another thread may have made the same one meanwhile: the first stays. */
static const struct representation *publish(struct ks_object *object, struct representation *made)
{
	void *head = atomic_load_explicit(&object->private_, memory_order_acquire);
	const struct representation *there;

	do {
		there = find(head, made->resource, made->form);
		if (there) {
			ks_bytes_unref(bytes_of(made));
			free(made);
			return there;
		}
		made->next = head;
	} while (!atomic_compare_exchange_weak_explicit(&object->private_, &head, made, memory_order_acq_rel, memory_order_acquire));
	return made;
}

/* The one that is there, or a new one. 0 or negative. */
static int get(struct ks_object *object, const struct ks_schema *schema, uint16_t resource, enum form form, const struct representation **out_r)
{
	struct representation *made;
	int result;

	*out_r = find(atomic_load_explicit(&object->private_, memory_order_acquire), resource, form);
	if (*out_r)
		return 0;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->resource = resource;
	made->form = (uint8_t)form;
	result = make(object, schema, made);
	if (result) {
		free(made);
		return result;
	}
	*out_r = publish(object, made);
	return 0;
}

int ks_object_representation(struct ks_object *object, const struct ks_schema *schema, uint16_t resource, struct ks_representation *out_r)
{
	const struct representation *there;
	int result;

	if (resource == object->resource) {
		*out_r = (struct ks_representation){object->json, object->rv_at, object->rv_comma};
		return 0;
	}
	result = get(object, schema, resource, FORM_JSON, &there);
	if (!result)
		*out_r = there->r;
	return result;
}

int ks_object_proto(struct ks_object *object, const struct ks_schema *schema, uint16_t resource, struct ks_proto_representation *out_r)
{
	const struct representation *there;
	int result = get(object, schema, resource, FORM_PROTO, &there);

	if (!result)
		*out_r = there->proto;
	return result;
}

int ks_object_cbor(struct ks_object *object, const struct ks_schema *schema, uint16_t resource, struct ks_cbor_representation *out_r)
{
	const struct representation *there;
	int result = get(object, schema, resource, FORM_CBOR, &there);

	if (!result)
		*out_r = there->cbor;
	return result;
}

void ks_representation_free_all(struct ks_object *object)
{
	struct representation *list = atomic_load_explicit(&object->private_, memory_order_acquire), *next;

	for (; list; list = next) {
		next = list->next;
		ks_bytes_unref(bytes_of(list));
		free(list);
	}
}

/* -- stored in another version ----------------------------------------------------------------------------------- */

static uint16_t resource_of(const struct ks_schema *schema, struct ks_str api_version, struct ks_str kind)
{
	const char *slash = api_version.n ? memchr(api_version.p, '/', api_version.n) : NULL;
	struct ks_str group = {0}, version = api_version;
	const struct ks_kind *found;

	if (slash) {
		group = ks_str_of(api_version.p, (size_t)(slash - api_version.p));
		version = ks_str_of(slash + 1, api_version.n - group.n - 1);
	}
	found = ks_schema_find_kind(schema, group, version, kind);
	return found ? found->resource : KS_NO_RESOURCE;
}

int ks_representation_normalise(struct ks_arena *arena, const struct ks_schema *schema, uint16_t resource, struct ks_bytes *json,
	struct ks_str api_version, struct ks_str kind, struct ks_object **out_r, struct ks_error *err)
{
	uint16_t from = resource_of(schema, api_version, kind);
	const char *message = "it can't be decoded";
	struct ks_value root;
	int result;

	if (from == KS_NO_RESOURCE || schema->resources[from].storage != resource || from == resource)
		return ks_error_set(err, -EINVAL, "it is a %.*s of %.*s", (int)kind.n, kind.p, (int)api_version.n, api_version.p);
	result = ks_json_decode(arena, schema, schema->resources[from].type, KS_DECODE_BORROW, json->data, json->len, &root, NULL, &message);
	if (result)
		return ks_error_set(err, result, "%s", message);
	result = convert(arena, schema, from, resource, &root);
	if (result)
		return ks_error_set(err, result, "it can't be converted from %.*s", (int)api_version.n, api_version.p);
	*out_r = ks_object_from_tree(schema, resource, &root);
	return *out_r ? 0 : ks_error_set(err, -EINVAL, "it can't be converted from %.*s", (int)api_version.n, api_version.p);
}
