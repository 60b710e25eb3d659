/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Large objects: what they cost doesn't depend on the order of their parts, and messages about them stay short. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "managed-step.h"

static const char schema_text[] =
	"{\"versions\": {\"v1\": {"
	"\"labels\": {\"additionalProperties\": {\"type\": \"string\"}},"
	"\"boxes\": {\"additionalProperties\": {\"additionalProperties\": {\"type\": \"string\"}}},"
	"\"tags\": {\"items\": {\"type\": \"string\"}, \"x-kubernetes-list-type\": \"set\"},"
	"\"items\": {\"x-kubernetes-list-type\": \"map\", \"x-kubernetes-list-map-keys\": [\"name\"], \"items\": {\"properties\": {"
	"\"name\": {\"type\": \"string\"}}}}"
	"}}}";

/* Of a processor: many times what it takes, and far less than the square of MANY does. */
enum { MANY = 150000, MOST_SECONDS = 10, MOST_MESSAGE = 1 << 20, LONG = 100000 };

/* The rest of an entry that has .labels.k. */
#define FIELDS \
	"\"operation\":\"Apply\",\"apiVersion\":\"example.com/v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:labels\":{\"f:k\":{}}}"

struct fixture {
	struct ks_arena arena;
	struct thing_schema things;
	struct managed_object object;
};

static struct ks_value decode(struct fixture *f, struct ks_str text)
{
	struct ks_value out;
	const char *message = "";
	char *copy = ks_arena_dup(&f->arena, text.p, text.n);

	assert_non_null(copy);
	if (ks_json_decode(&f->arena, NULL, 0, KS_DECODE_BORROW, copy, text.n, &out, NULL, &message))
		fail_msg("%s", message);
	return out;
}

static void begin(struct fixture *f)
{
	static struct ks_value schema;

	ks_arena_init(&f->arena, 0);
	schema = decode(f, ks_str_from(schema_text));
	thing_schema_init(&f->things, &f->arena, &schema);
	managed_object_init(&f->object, &f->arena, &f->things, KS_STR_LIT("example.com/v1"));
}

static int set_up(void **state)
{
	static struct fixture f;

	begin(&f);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	ks_arena_fini(&f->arena);
	return 0;
}

static struct managed_outcome step(struct fixture *f, const struct ks_buf *text)
{
	struct ks_value value;

	assert_false(text->failed);
	value = decode(f, ks_buf_str(text));
	return managed_step(&f->object, &value);
}

/* `format` is of one part, with its number in it. From the last to the first: the worst order. */
static void add_many(struct ks_buf *out, const char *before, const char *format, const char *after, uint32_t n)
{
	ks_buf_add_str(out, before);
	for (uint32_t i = n; i--;) {
		char part[256];

		snprintf(part, sizeof(part), format, i);
		ks_buf_add_str(out, part);
		if (i)
			ks_buf_add_char(out, ',');
	}
	ks_buf_add_str(out, after);
}

static const struct {
	const char *before, *part, *after;
} large[] = {
	{"\"labels\": {", "\"k%06u\": \"\"", "}"},
	{"\"tags\": [", "\"k%06u\"", "]"},
	{"\"items\": [", "{\"name\": \"k%06u\"}", "]"},
	{"\"metadata\": {\"managedFields\": [{\"manager\": \"a\", \"operation\": \"Update\", \"apiVersion\": \"example.com/v1\","
	 "\"fieldsType\": \"FieldsV1\", \"fieldsV1\": {\"f:labels\": {", "\"f:k%06u\": {}", "}}}]}"},
	{"\"metadata\": {\"managedFields\": [{\"manager\": \"a\", \"operation\": \"Update\", \"apiVersion\": \"example.com/v1\","
	 "\"fieldsType\": \"FieldsV1\", \"fieldsV1\": {\"f:tags\": {", "\"v:-%u\": {}", "}}}]}"},
};

static void test_the_order_of_parts_costs_nothing(void **state)
{
	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
		bool update = strstr(large[i].before, "metadata");
		clock_t start = clock();
		struct ks_buf text;

		ks_buf_init(&text);
		ks_buf_printf(&text, "{\"op\": \"%s\", \"manager\": \"m\", \"object\": {", update ? "update" : "apply");
		add_many(&text, large[i].before, large[i].part, large[i].after, MANY);
		ks_buf_add_str(&text, "}}");
		assert_int_equal(step(*state, &text).result, KS_APPLIED);
		ks_buf_fini(&text);
		assert_true(clock() - start < (clock_t)MOST_SECONDS * CLOCKS_PER_SEC);
		tear_down(state);
		begin(*state);
	}
}

/* Items that are there twice, far apart. */
static void test_doubles_far_apart_cost_nothing(void **state)
{
	clock_t start = clock();

	for (int round = 0; round < 2; round++) {
		struct ks_buf text;

		ks_buf_init(&text);
		ks_buf_printf(&text, "{\"op\": \"update\", \"manager\": \"m\", \"object\": {\"labels\": {\"round\": \"%d\"}, ", round);
		add_many(&text, "\"items\": [", "{\"name\": \"k%06u\"}", ",", MANY);
		add_many(&text, "", "{\"name\": \"k%06u\"}", "]}}", MANY);
		assert_int_equal(step(*state, &text).result, KS_APPLIED);
		ks_buf_fini(&text);
	}
	assert_true(clock() - start < (clock_t)MOST_SECONDS * CLOCKS_PER_SEC);
}

/* {"boxes": {KKK...: {A: value, B: value ...}}} */
static void add_box(struct ks_buf *out, const char *manager, const char *part)
{
	ks_buf_printf(out, "{\"op\": \"apply\", \"manager\": \"%s\", \"object\": {\"boxes\": {\"", manager);
	for (uint32_t i = 0; i < LONG; i++)
		ks_buf_add_char(out, 'K');
	add_many(out, "\": {", part, "}}}}", 2000);
}

static void test_complaints_stay_short(void **state)
{
	struct managed_outcome outcome;
	struct ks_buf text;

	ks_buf_init(&text);
	add_box(&text, "m", "\"a%04u\": 1");
	outcome = step(*state, &text);
	ks_buf_fini(&text);
	assert_int_equal(outcome.result, KS_APPLY_BAD_CONFIG);
	assert_true(strlen(outcome.message) < MOST_MESSAGE);
	assert_memory_equal(outcome.message, "errors:\n  .boxes.KKK", 20);
}

static void test_conflicts_stay_short(void **state)
{
	static const char start[] = "Apply failed with 2000 conflicts: conflicts with \"a\":\n- .boxes.KKK";
	struct managed_outcome outcome;
	struct ks_buf text;

	ks_buf_init(&text);
	add_box(&text, "a", "\"a%04u\": \"1\"");
	assert_int_equal(step(*state, &text).result, KS_APPLIED);
	ks_buf_clear(&text);
	add_box(&text, "b", "\"a%04u\": \"2\"");
	outcome = step(*state, &text);
	ks_buf_fini(&text);
	assert_int_equal(outcome.result, KS_APPLY_CONFLICT);
	assert_true(strlen(outcome.conflicts.message) < MOST_MESSAGE);
	assert_memory_equal(outcome.conflicts.message, start, sizeof(start) - 1);
	assert_in_range(outcome.conflicts.n, 1, 20);
}

static void test_many_may_be_in_conflict(void **state)
{
	static const char start[] = "Apply failed with 50000 conflicts: conflicts with \"m00000\":\n- .labels.k\nconflicts with \"m00001\":\n- .labels.k\n";
	struct managed_outcome outcome;
	clock_t begin_at = clock();
	struct ks_buf text;

	ks_buf_init(&text);
	add_many(&text, "{\"op\": \"update\", \"manager\": \"u\", \"object\": {\"metadata\": {\"managedFields\": [",
		"{\"manager\":\"m%05u\"," FIELDS "}", "]}}}", 50000);
	assert_int_equal(step(*state, &text).result, KS_APPLIED);
	ks_buf_clear(&text);
	ks_buf_add_str(&text, "{\"op\": \"apply\", \"manager\": \"b\", \"object\": {\"labels\": {\"k\": \"1\"}}}");
	outcome = step(*state, &text);
	ks_buf_fini(&text);
	assert_int_equal(outcome.result, KS_APPLY_CONFLICT);
	assert_memory_equal(outcome.conflicts.message, start, sizeof(start) - 1);
	assert_true(clock() - begin_at < (clock_t)MOST_SECONDS * CLOCKS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_order_of_parts_costs_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_doubles_far_apart_cost_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_complaints_stay_short, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_conflicts_stay_short, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_may_be_in_conflict, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
