/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "managed-schema.h"

#include <errno.h>
#include <string.h>

enum { MORE_TYPES = 400, MORE_FIELDS = 400, MORE_SLOTS = 4000, MORE_KEYS = 100, MORE_TEXT = 10000, MOST_FIELDS = 32 };

/* The tables, and where the next of each goes. */
struct builder {
	struct ks_arena *arena;
	struct ks_type *types;
	struct ks_field *fields;
	uint16_t *slots;
	uint32_t *keys;
	char *text;
	uint32_t n_types, n_fields, n_slots, n_keys, n_text;
	struct ks_schema *schema;
};

static void *grown(struct ks_arena *arena, const void *from, size_t n, size_t more, size_t size)
{
	char *copy = ks_arena_zalloc(arena, n + more, size);

	assert_non_null(copy);
	memcpy(copy, from, n * size);
	return copy;
}

static uint32_t keys_of(const struct ks_schema *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_fields; i++)
		if (s->fields[i].n_list_keys && (uint32_t)s->fields[i].first_list_key + s->fields[i].n_list_keys > n)
			n = (uint32_t)s->fields[i].first_list_key + s->fields[i].n_list_keys;
	return n;
}

static void begin(struct builder *b, struct ks_arena *arena, struct ks_schema *schema)
{
	const struct ks_schema *from = &ks_schema_builtin;

	*schema = *from;
	*b = (struct builder){.arena = arena,
		.schema = schema,
		.n_types = from->n_types,
		.n_fields = from->n_fields,
		.n_slots = from->n_slots,
		.n_keys = keys_of(from),
		.n_text = from->strings_size};
	schema->types = b->types = grown(arena, from->types, from->n_types, MORE_TYPES, sizeof(*b->types));
	schema->fields = b->fields = grown(arena, from->fields, from->n_fields, MORE_FIELDS, sizeof(*b->fields));
	schema->slots = b->slots = grown(arena, from->slots, from->n_slots, MORE_SLOTS, sizeof(*b->slots));
	schema->list_keys = b->keys = grown(arena, from->list_keys, b->n_keys, MORE_KEYS, sizeof(*b->keys));
	schema->strings = b->text = grown(arena, from->strings, from->strings_size, MORE_TEXT, 1);
	schema->generation = 1;
}

static uint32_t add_text(struct builder *b, struct ks_str text)
{
	uint32_t at = b->n_text;

	assert_true(at + text.n + 1 <= ks_schema_builtin.strings_size + MORE_TEXT);
	memcpy(b->text + at, text.p, text.n);
	b->n_text += (uint32_t)text.n + 1;
	return at;
}

static uint16_t add_type(struct builder *b, struct ks_type type)
{
	assert_true(b->n_types < ks_schema_builtin.n_types + MORE_TYPES && b->n_types < UINT16_MAX);
	b->types[b->n_types] = type;
	b->schema->n_types = b->n_types + 1;
	return (uint16_t)b->n_types++;
}

static const struct ks_value *member(const struct ks_value *node, const char *name)
{
	return ks_value_get(NULL, node, name);
}

static bool says(const struct ks_value *node, const char *name, const char *text)
{
	const struct ks_value *v = member(node, name);

	return v && ks_str_is(ks_value_str(v), text);
}

static uint16_t build(struct builder *b, const struct ks_value *node);

static void add_keys(struct builder *b, const struct ks_value *node, struct ks_field *field)
{
	const struct ks_value *keys = member(node, "x-kubernetes-list-map-keys");

	field->first_list_key = (uint16_t)b->n_keys;
	for (uint32_t i = 0; keys && i < keys->n; i++) {
		assert_true(b->n_keys < UINT16_MAX);
		b->keys[b->n_keys++] = add_text(b, ks_value_str(&keys->items[i]));
		field->n_list_keys++;
	}
}

static uint8_t list_kind_of(const struct ks_value *node)
{
	if (says(node, "x-kubernetes-list-type", "map"))
		return KS_LIST_MAP;
	return says(node, "x-kubernetes-list-type", "set") ? KS_LIST_SET : KS_LIST_ATOMIC;
}

static struct ks_field make_field(struct builder *b, struct ks_str name, const struct ks_value *node)
{
	struct ks_field field = {.name = add_text(b, name),
		.name_n = (uint16_t)name.n,
		.type = build(b, node),
		.flags = KS_FIELD_OMIT_EMPTY | KS_FIELD_POINTER | KS_FIELD_NULLABLE};
	const struct ks_value *fallback = member(node, "default");
	struct ks_buf json;

	if (member(node, "items")) {
		field.flags |= KS_FIELD_LIST_SAID;
		field.list_kind = list_kind_of(node);
		add_keys(b, node, &field);
	}
	if (fallback) {
		ks_buf_init(&json);
		ks_json_encode(NULL, fallback, &json);
		assert_false(json.failed);
		field.default_value = add_text(b, ks_buf_str(&json));
		ks_buf_fini(&json);
	}
	return field;
}

static uint16_t add_struct(struct builder *b, const struct ks_field *fields, uint16_t n, bool atomic)
{
	struct ks_type type = {.class_ = KS_TYPE_STRUCT,
		.atomic = atomic,
		.n_fields = n,
		.first_field = b->n_fields,
		.name_table = b->n_slots,
		.name_table_size = 2};
	uint32_t hashes[MOST_FIELDS + 3];

	while (type.name_table_size < 2 * n)
		type.name_table_size *= 2;
	assert_true(b->n_slots + type.name_table_size <= ks_schema_builtin.n_slots + MORE_SLOTS);
	assert_true(b->n_fields + n <= ks_schema_builtin.n_fields + MORE_FIELDS);
	for (uint16_t i = 0; i < n; i++) {
		b->fields[b->n_fields++] = fields[i];
		hashes[i] = ks_schema_hash(b->text + fields[i].name, fields[i].name_n);
	}
	assert_true(ks_schema_hash_fill(b->slots + b->n_slots, type.name_table_size, hashes, n));
	b->n_slots += type.name_table_size;
	return add_type(b, type);
}

static uint16_t build_struct(struct builder *b, const struct ks_value *properties, bool atomic)
{
	struct ks_field fields[MOST_FIELDS];
	uint16_t n = 0;

	assert_true(properties->n <= MOST_FIELDS);
	for (uint32_t i = 0; i < properties->n; i++)
		fields[n++] = make_field(b, properties->members[i].key, &properties->members[i].value);
	return add_struct(b, fields, n, atomic);
}

static uint8_t scalar_class(const struct ks_value *node)
{
	if (says(node, "type", "integer"))
		return KS_TYPE_INT64;
	if (says(node, "type", "number"))
		return KS_TYPE_FLOAT64;
	if (says(node, "type", "boolean"))
		return KS_TYPE_BOOL;
	assert_true(says(node, "type", "string"));
	return KS_TYPE_STRING;
}

static uint16_t build(struct builder *b, const struct ks_value *node)
{
	bool atomic = says(node, "x-kubernetes-map-type", "atomic");
	const struct ks_value *below;

	if ((below = member(node, "properties")))
		return build_struct(b, below, atomic);
	if ((below = member(node, "additionalProperties")))
		return add_type(b, (struct ks_type){.class_ = KS_TYPE_MAP, .atomic = atomic, .element = build(b, below)});
	if ((below = member(node, "items")))
		return add_type(b, (struct ks_type){.class_ = KS_TYPE_LIST, .list_kind = list_kind_of(node), .element = build(b, below)});
	if (member(node, "x-kubernetes-preserve-unknown-fields"))
		return add_type(b, (struct ks_type){.class_ = KS_TYPE_JSON});
	if (member(node, "x-kubernetes-int-or-string"))
		return add_type(b, (struct ks_type){.class_ = KS_TYPE_INT_OR_STRING});
	return add_type(b, (struct ks_type){.class_ = scalar_class(node)});
}

static struct ks_field plain_field(struct builder *b, const char *name, uint16_t type)
{
	return (struct ks_field){
		.name = add_text(b, ks_str_from(name)), .name_n = (uint16_t)strlen(name), .type = type, .flags = KS_FIELD_OMIT_EMPTY};
}

static uint16_t build_thing(struct builder *b, const struct ks_value *properties)
{
	struct ks_field fields[MOST_FIELDS + 3];
	uint16_t n = 0, text = add_type(b, (struct ks_type){.class_ = KS_TYPE_STRING});
	uint16_t metadata = ks_schema_find_type(&ks_schema_builtin, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");

	assert_int_not_equal(metadata, 0);
	assert_true(properties->n <= MOST_FIELDS);
	fields[n++] = plain_field(b, "apiVersion", text);
	fields[n++] = plain_field(b, "kind", text);
	fields[n++] = plain_field(b, "metadata", metadata);
	for (uint32_t i = 0; i < properties->n; i++)
		fields[n++] = make_field(b, properties->members[i].key, &properties->members[i].value);
	return add_struct(b, fields, n, false);
}

void thing_schema_init(struct thing_schema *things, struct ks_arena *arena, const struct ks_value *from)
{
	const struct ks_value *versions = member(from, "versions");
	struct builder b;

	*things = (struct thing_schema){.moves = member(from, "moves")};
	begin(&b, arena, &things->schema);
	assert_true(versions->n <= THING_VERSIONS);
	for (uint32_t i = 0; i < versions->n; i++) {
		struct thing_version *version = &things->versions[things->n_versions++];

		version->name = versions->members[i].key;
		version->type = build_thing(&b, &versions->members[i].value);
	}
}

const struct thing_version *thing_version_of(const struct thing_schema *things, struct ks_str api_version)
{
	size_t n = strlen(THING_GROUP);

	if (!ks_str_starts(api_version, KS_STR_LIT(THING_GROUP)))
		return NULL;
	for (uint32_t i = 0; i < things->n_versions; i++)
		if (ks_str_eq(things->versions[i].name, ks_str_of(api_version.p + n, api_version.n - n)))
			return &things->versions[i];
	return NULL;
}

/* -- conversion ----------------------------------------------------------------------------------------------- */

static const char *place_in(struct ks_arena *arena, const struct ks_value *move, const struct thing_version *version)
{
	for (uint32_t i = 0; i + 1 < move->n; i += 2)
		if (ks_str_eq(ks_value_str(&move->items[i]), version->name))
			return ks_arena_dup(arena, move->items[i + 1].string, move->items[i + 1].n);
	return NULL;
}

static int move(struct ks_arena *arena, struct ks_value *object, const char *from, const char *to)
{
	struct ks_value *value = ks_value_at(NULL, object, from), kept, *place;
	const char *last = strrchr(from, '.');
	struct ks_value *holder = last ? ks_value_at(NULL, object, ks_arena_dup(arena, from, (size_t)(last - from))) : object;

	if (!value)
		return 0;
	kept = *value;
	ks_value_remove(NULL, holder, ks_str_from(last ? last + 1 : from));
	place = ks_value_put_at(arena, NULL, object, to);
	if (!place)
		return -ENOMEM;
	*place = kept;
	return 0;
}

int thing_convert(void *arg, struct ks_arena *arena, struct ks_str from, const struct ks_value *object, struct ks_str to, struct ks_value *out_r)
{
	const struct thing_schema *things = arg;
	const struct thing_version *old = thing_version_of(things, from), *new = thing_version_of(things, to);
	struct ks_value tree, *version;
	const char *message;

	if (!old || !new)
		return -ENOENT;
	if (!ks_value_to_free(arena, &things->schema, object, &tree))
		return -ENOMEM;
	for (uint32_t i = 0; things->moves && i < things->moves->n; i++) {
		const char *a = place_in(arena, &things->moves->items[i], old), *b = place_in(arena, &things->moves->items[i], new);

		if (a && b && move(arena, &tree, a, b))
			return -ENOMEM;
	}
	version = ks_value_get(NULL, &tree, "apiVersion");
	if (version)
		*version = ks_value_from_str(to);
	return ks_value_convert(arena, &things->schema, new->type, 0, &tree, out_r, NULL, &message);
}
