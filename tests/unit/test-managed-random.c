/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What must hold whatever is written by whom: random objects, several managers, applies and updates in random order. */
#include <stdio.h>
#include <string.h>

#include "core/api/apply/typed.h"
#include "managed-step.h"

/* One of each shape. */
static const char schema_text[] =
	"{\"versions\": {\"v1\": {"
	"\"text\": {\"type\": \"string\"}, \"number\": {\"type\": \"integer\"},"
	"\"struct\": {\"properties\": {\"a\": {\"type\": \"integer\"}, \"inner\": {\"properties\": {\"x\": {\"type\": \"string\"}}}}},"
	"\"point\": {\"x-kubernetes-map-type\": \"atomic\", \"properties\": {\"x\": {\"type\": \"integer\"}, \"y\": {\"type\": \"integer\"}}},"
	"\"labels\": {\"additionalProperties\": {\"type\": \"string\"}},"
	"\"boxes\": {\"additionalProperties\": {\"properties\": {\"a\": {\"type\": \"integer\"}, \"b\": {\"type\": \"string\"}}}},"
	"\"list\": {\"items\": {\"type\": \"string\"}, \"x-kubernetes-list-type\": \"atomic\"},"
	"\"tags\": {\"items\": {\"type\": \"string\"}, \"x-kubernetes-list-type\": \"set\"},"
	"\"items\": {\"x-kubernetes-list-type\": \"map\", \"x-kubernetes-list-map-keys\": [\"name\"], \"items\": {\"properties\": {"
	"\"name\": {\"type\": \"string\"}, \"value\": {\"type\": \"integer\"}, \"tags\": {\"items\": {\"type\": \"string\"}, "
	"\"x-kubernetes-list-type\": \"set\"}, \"below\": {\"x-kubernetes-list-type\": \"map\", \"x-kubernetes-list-map-keys\": [\"id\"], "
	"\"items\": {\"properties\": {\"id\": {\"type\": \"integer\"}, \"text\": {\"type\": \"string\"}}}}}}},"
	"\"any\": {\"x-kubernetes-preserve-unknown-fields\": true}"
	"}}}";

enum { RUNS = 300, MOST_STEPS = 8 };

struct run {
	struct ks_arena arena;
	struct thing_schema things;
	struct managed_object object;
	struct ks_value steps; /* so far, to be shown when something is wrong */
	uint64_t seed;
	bool doubles; /* lists may have an item twice: only in updates */
	bool apply; /* which says nothing empty: that would be nobody's, and come and go as upstream's does */
};

static uint32_t below(struct run *r, uint32_t n)
{
	r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(r->seed >> 33) % n;
}

/* -- objects -------------------------------------------------------------------------------------------------- */

static struct ks_str letter(struct run *r)
{
	static const char letters[] = "abc";

	return ks_str_of(&letters[below(r, 3)], 1);
}

static struct ks_value *add(struct run *r, struct ks_value *map, struct ks_str name)
{
	struct ks_value *place = ks_value_add(&r->arena, map, name);

	assert_non_null(place);
	return place;
}

static struct ks_value make(struct run *r, struct ks_shape shape);

static bool is_key(const struct ks_schema *s, struct ks_shape list, const struct ks_field *field)
{
	for (uint8_t i = 0; i < list.n_keys; i++)
		if (!strcmp(ks_schema_text(s, list.keys[i]), ks_schema_text(s, field->name)))
			return true;
	return false;
}

/* `list`: what it is an item of; keys are always there. */
static struct ks_value make_struct(struct run *r, uint16_t type, struct ks_shape list)
{
	const struct ks_schema *s = r->object.schema;
	struct ks_value out = {.kind = KS_MAP};

	for (uint16_t slot = 0; slot < s->types[type].n_fields; slot++) {
		const struct ks_field *field = ks_schema_field(s, type, slot);

		if (is_key(s, list, field) || below(r, 2) || (r->apply && slot + 1 == s->types[type].n_fields && !out.n))
			*add(r, &out, ks_str_from(ks_schema_text(s, field->name))) = make(r, ks_shape_of_field(s, field));
	}
	return out;
}

static bool is_there(const struct ks_value *list, const struct ks_value *item, struct ks_shape shape, const struct ks_schema *s)
{
	for (uint32_t i = 0; i < list->n; i++) {
		const struct ks_value *other = &list->items[i];
		const char *key = shape.n_keys ? ks_schema_text(s, shape.keys[0]) : NULL;

		if (key ? ks_value_equal_json(ks_value_get(NULL, other, key), ks_value_get(NULL, item, key)) : ks_value_equal_json(other, item))
			return true;
	}
	return false;
}

static struct ks_value make_list(struct run *r, struct ks_shape shape)
{
	const struct ks_schema *s = r->object.schema;
	struct ks_shape item_shape = ks_shape_of_type(s, s->types[shape.type].element);
	struct ks_value out = {.kind = KS_LIST}, item, *place;

	for (uint32_t left = r->apply + below(r, 3); left; left--) {
		item = shape.n_keys ? make_struct(r, item_shape.type, shape) : make(r, item_shape);
		if (!r->doubles && shape.relation != KS_RELATION_LEAF && is_there(&out, &item, shape, s))
			continue;
		place = ks_value_append(&r->arena, &out);
		assert_non_null(place);
		*place = item;
	}
	return out;
}

static struct ks_value make_map(struct run *r, struct ks_shape item)
{
	struct ks_value out = {.kind = KS_MAP};

	for (uint32_t left = r->apply + below(r, 2); left; left--) {
		struct ks_str name = letter(r);

		if (!ks_value_get_str(NULL, &out, name))
			*add(r, &out, name) = make(r, item);
	}
	return out;
}

static struct ks_value make(struct run *r, struct ks_shape shape)
{
	const struct ks_schema *s = r->object.schema;
	uint16_t type = shape.type;

	switch (shape.relation == KS_RELATION_FREE ? KS_TYPE_JSON : s->types[type].class_) {
	case KS_TYPE_STRUCT:
		return make_struct(r, type, (struct ks_shape){0});
	case KS_TYPE_LIST:
		return make_list(r, shape);
	case KS_TYPE_MAP:
		return make_map(r, ks_shape_of_type(s, s->types[type].element));
	case KS_TYPE_INT64:
		return ks_value_from_int(below(r, 3));
	case KS_TYPE_STRING:
		return ks_value_from_str(letter(r));
	default:
		return below(r, 2) ? ks_value_from_int(below(r, 3)) : make_map(r, (struct ks_shape){.relation = KS_RELATION_FREE});
	}
}

static struct ks_value make_object(struct run *r, bool apply)
{
	const struct ks_schema *s = r->object.schema;
	uint16_t type = r->things.versions[0].type;
	struct ks_value out = {.kind = KS_MAP};

	r->apply = apply;
	r->doubles = !apply && below(r, 4) == 0;
	for (uint16_t slot = 3; slot < s->types[type].n_fields; slot++) { /* past apiVersion, kind and metadata */
		const struct ks_field *field = ks_schema_field(s, type, slot);

		if (below(r, 3) == 0)
			*add(r, &out, ks_str_from(ks_schema_text(s, field->name))) = make(r, ks_shape_of_field(s, field));
	}
	return out;
}

static struct ks_value make_step(struct run *r, bool apply)
{
	static const char *const managers[] = {"one", "two", "three"};
	struct ks_value step = {.kind = KS_MAP};

	*add(r, &step, KS_STR_LIT("op")) = ks_value_from_str(ks_str_from(apply ? "apply" : "update"));
	*add(r, &step, KS_STR_LIT("manager")) = ks_value_from_str(ks_str_from(managers[below(r, 3)]));
	*add(r, &step, KS_STR_LIT("force")) = ks_value_from_bool(below(r, 2));
	*add(r, &step, KS_STR_LIT("object")) = make_object(r, apply);
	return step;
}

/* -- what is owned -------------------------------------------------------------------------------------------- */

static struct ks_value typed(struct run *r, const struct ks_value *tree)
{
	struct ks_value out;
	const char *message;

	assert_int_equal(ks_value_convert(&r->arena, r->object.schema, r->things.versions[0].type, 0, tree, &out, NULL, &message), 0);
	return out;
}

static struct ks_fieldset fields_of(struct run *r, const struct ks_value *entry)
{
	struct ks_fieldset set;

	assert_int_equal(ks_fieldset_parse(&r->arena, ks_value_get(NULL, entry, "fieldsV1"), &set), 0);
	return set;
}

static const struct ks_value *entries_of(const struct ks_value *stored)
{
	return ks_value_at(NULL, stored, "metadata.managedFields");
}

static bool is_by(const struct ks_value *entry, const struct ks_value *step)
{
	bool apply = ks_str_is(ks_value_str(ks_value_get(NULL, step, "op")), "apply");

	return ks_str_eq(ks_value_str(ks_value_get(NULL, entry, "manager")), ks_value_str(ks_value_get(NULL, step, "manager"))) &&
		ks_str_is(ks_value_str(ks_value_get(NULL, entry, "operation")), apply ? "Apply" : "Update");
}

/* The union of all entries, or of those that aren't the step's. */
static struct ks_fieldset owned(struct run *r, const struct ks_value *but)
{
	const struct ks_value *entries = entries_of(&r->object.stored);
	struct ks_fieldset all = {0};

	for (uint32_t i = 0; entries && i < entries->n; i++) {
		struct ks_fieldset set = fields_of(r, &entries->items[i]);

		if (!but || !is_by(&entries->items[i], but))
			assert_true(ks_fieldset_union(&r->arena, &all, &set, &all));
	}
	return all;
}

/* All that is there, structs and maps and lists with something in them as well. */
struct presence {
	struct run *r;
	struct ks_fieldset all;
};

static void add_with_parents(void *arg, const struct ks_path_element *path, uint32_t n)
{
	struct presence *p = arg;

	for (uint32_t i = 1; i <= n; i++)
		assert_true(ks_fieldset_insert(&p->r->arena, &p->all, path, i));
}

static struct ks_fieldset present(struct run *r)
{
	struct presence p = {.r = r};
	struct ks_value object = typed(r, &r->object.stored), nothing;
	struct ks_comparison changes;

	assert_true(ks_value_new_struct(&r->arena, r->object.schema, object.type, &nothing));
	assert_true(ks_typed_compare(&r->arena, r->object.schema, &nothing, &object, &changes));
	ks_fieldset_each(&changes.added, add_with_parents, &p);
	return p.all;
}

static const char *shown(struct run *r, const struct ks_value *v)
{
	struct ks_buf out;
	const char *copy;

	ks_buf_init(&out);
	ks_json_encode(NULL, v, &out);
	assert_false(out.failed);
	copy = ks_arena_dup(&r->arena, out.data, out.len);
	ks_buf_fini(&out);
	assert_non_null(copy);
	return copy;
}

/* With the writes that led there. */
static void wrong(struct run *r, const char *what, const char *is, const char *expected)
{
	fprintf(stderr, "%s: %s\n  not %s\n  object %s\n  after %s\n", what, is, expected, shown(r, &r->object.stored), shown(r, &r->steps));
	fail_msg("%s", what);
}

static const char *shown_set(struct run *r, const struct ks_fieldset *set)
{
	struct ks_value v;

	assert_true(ks_fieldset_to_value(&r->arena, set, &v));
	return shown(r, &v);
}

static void assert_within(struct run *r, const struct ks_fieldset *a, const struct ks_fieldset *b, const char *what)
{
	struct ks_fieldset more;

	if (ks_fieldset_within(a, b))
		return;
	assert_true(ks_fieldset_difference(&r->arena, a, b, &more));
	wrong(r, what, shown_set(r, &more), "there");
}

/* -- what must hold ------------------------------------------------------------------------------------------- */

static void check_that_owned_fields_exist(struct run *r)
{
	struct ks_fieldset all = owned(r, NULL), there = present(r);

	assert_within(r, &all, &there, "owned, but not there");
}

/* What was emptied stays as nobody's null or empty value. */
static void forget_empty(struct ks_value *v)
{
	for (uint32_t i = 0; v->kind == KS_LIST && i < v->n; i++)
		forget_empty(&v->items[i]);
	for (uint32_t i = v->kind == KS_MAP ? v->n : 0; i-- > 0;) {
		struct ks_member *m = &v->members[i];

		forget_empty(&m->value);
		if (m->value.kind == KS_NULL || ((m->value.kind == KS_MAP || m->value.kind == KS_LIST) && m->value.n == 0))
			ks_value_remove(NULL, v, m->key);
	}
}

static void check_that_leaves_have_owners(struct run *r)
{
	struct ks_value tree, object;
	struct ks_fieldset all = owned(r, NULL), leaves;
	static const char *const names[] = {"apiVersion", "kind", "metadata"};

	if (!all.n) /* when nothing was left, nobody is noted again before the next apply */
		return;
	assert_true(ks_value_copy(&r->arena, &r->object.stored, &tree));
	forget_empty(&tree);
	object = typed(r, &tree);
	assert_true(ks_typed_fields(&r->arena, r->object.schema, &object, &leaves));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct ks_path_element name = ks_path_field(ks_str_from(names[i]));
		struct ks_fieldset one = {0};

		assert_true(ks_fieldset_insert(&r->arena, &one, &name, 1));
		assert_true(ks_fieldset_without(&r->arena, &leaves, &one, &leaves));
	}
	assert_within(r, &leaves, &all, "nobody's");
}

/* What an update changes is its own alone. */
static void check_that_an_update_takes(struct run *r, const struct ks_value *step, const struct ks_value *before)
{
	struct ks_value old = typed(r, before), new = typed(r, &r->object.stored);
	struct ks_fieldset others = owned(r, step), taken;
	struct ks_comparison changes;

	ks_value_remove(r->object.schema, ks_value_get(r->object.schema, &old, "metadata"), KS_STR_LIT("managedFields"));
	ks_value_remove(r->object.schema, ks_value_get(r->object.schema, &new, "metadata"), KS_STR_LIT("managedFields"));
	assert_true(ks_typed_compare(&r->arena, r->object.schema, &old, &new, &changes));
	assert_true(ks_fieldset_union(&r->arena, &changes.modified, &changes.added, &taken));
	assert_true(ks_fieldset_union(&r->arena, &changes.removed, &taken, &taken));
	assert_true(ks_fieldset_intersection(&r->arena, &others, &taken, &taken));
	if (taken.n)
		wrong(r, "changed, but still another\'s", shown_set(r, &taken), "there");
}

/* The applier owns what it said, and nothing else. */
static void check_that_an_apply_owns(struct run *r, const struct ks_value *step)
{
	const struct ks_value *entries = entries_of(&r->object.stored);
	struct ks_fieldset said, got = {0};
	struct ks_value config;
	const char *message;

	assert_int_equal(
		ks_typed_read(&r->arena, r->object.schema, r->things.versions[0].type, ks_value_get(NULL, step, "object"), &config, &message), 0);
	assert_true(ks_typed_fields(&r->arena, r->object.schema, &config, &said));
	for (uint32_t i = 0; entries && i < entries->n; i++)
		if (is_by(&entries->items[i], step))
			got = fields_of(r, &entries->items[i]);
	if (!ks_fieldset_equal(&said, &got))
		wrong(r, "owned by the applier", shown_set(r, &got), shown_set(r, &said));
}

static void check_that_an_apply_is_idempotent(struct run *r, const struct ks_value *step)
{
	struct ks_value before = r->object.stored;
	struct managed_outcome outcome;

	if (!entries_of(&before)) /* an apply to what nobody is noted for begins with noting it */
		return;
	outcome = managed_step(&r->object, step);
	if (outcome.result || !ks_value_equal_json(&before, &r->object.stored))
		wrong(r, "applied again", outcome.result ? outcome.conflicts.message : shown(r, &r->object.stored), shown(r, &before));
}

static void one_step(struct run *r)
{
	bool apply = below(r, 3);
	struct ks_value step = make_step(r, apply), before, *noted = ks_value_append(&r->arena, &r->steps);
	struct managed_outcome outcome;

	assert_non_null(noted);
	*noted = step;
	assert_true(ks_value_copy(&r->arena, &r->object.stored, &before));
	outcome = managed_step(&r->object, &step);
	if (outcome.result) {
		assert_int_equal(outcome.result, KS_APPLY_CONFLICT);
		assert_int_not_equal(outcome.conflicts.n, 0);
		assert_true(ks_value_equal_json(&before, &r->object.stored));
		return;
	}
	check_that_owned_fields_exist(r);
	check_that_leaves_have_owners(r);
	if (apply) {
		check_that_an_apply_owns(r, &step);
		check_that_an_apply_is_idempotent(r, &step);
	} else if (before.kind != KS_ABSENT) {
		check_that_an_update_takes(r, &step, &before);
	}
}

static void begin(struct run *r, uint64_t seed)
{
	struct ks_value *schema;
	const char *message;

	ks_arena_init(&r->arena, 0);
	r->seed = seed * 2654435761u + 1;
	r->steps = (struct ks_value){.kind = KS_LIST};
	schema = ks_arena_alloc(&r->arena, sizeof(*schema));
	assert_non_null(schema);
	assert_int_equal(ks_json_decode(&r->arena, NULL, 0, 0, schema_text, strlen(schema_text), schema, NULL, &message), 0);
	thing_schema_init(&r->things, &r->arena, schema);
	managed_object_init(&r->object, &r->arena, &r->things, (struct ks_str){0});
}

static void test_what_always_holds(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < RUNS; seed++) {
		struct run r;
		uint32_t steps;

		begin(&r, seed);
		steps = 2 + below(&r, MOST_STEPS - 1);
		for (uint32_t i = 0; i < steps; i++)
			one_step(&r);
		ks_arena_fini(&r.arena);
	}
}

/* -- memory --------------------------------------------------------------------------------------------------- */

static enum ks_managed_result apply_within(struct run *r, const struct ks_value *live, const struct ks_value *config, size_t limit)
{
	struct ks_managed_op op = {.schema = r->object.schema,
		.type = r->things.versions[0].type,
		.version = KS_STR_LIT("example.com/v1"),
		.manager = KS_STR_LIT("four"),
		.now = KS_STR_LIT("2020-01-01T00:00:00Z")};
	struct ks_conflicts conflicts;
	struct ks_value object;
	enum ks_managed_result result;
	const char *message;
	struct ks_arena arena;

	ks_arena_init(&arena, limit);
	result = ks_managed_apply(&arena, &op, live, config, &object, &conflicts, &message);
	ks_arena_fini(&arena);
	return result;
}

/* With too little memory an apply says so, and with enough it does what it does. */
static void test_memory_that_runs_out(void **state)
{
	enum { ENOUGH = 1 << 22, STEP = 512 };
	uint32_t refused = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 8; seed++) {
		enum ks_managed_result result = KS_APPLY_NO_MEMORY, expected;
		struct run r;
		struct ks_value live, step;

		begin(&r, seed);
		step = make_step(&r, false);
		managed_step(&r.object, &step);
		step = make_step(&r, true);
		live = typed(&r, &r.object.stored);
		expected = apply_within(&r, &live, ks_value_get(NULL, &step, "object"), 0);
		for (size_t limit = STEP; limit < ENOUGH && result == KS_APPLY_NO_MEMORY; limit += STEP) {
			result = apply_within(&r, &live, ks_value_get(NULL, &step, "object"), limit);
			refused += result == KS_APPLY_NO_MEMORY;
		}
		assert_int_equal(result, expected);
		ks_arena_fini(&r.arena);
	}
	assert_int_not_equal(refused, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_always_holds),
		cmocka_unit_test(test_memory_that_runs_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
