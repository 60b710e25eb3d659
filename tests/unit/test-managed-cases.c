/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays the cases of tests/unit/managed: what comes of writes by several managers.
 * README.md there says what the files look like.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "managed-step.h"

struct corpus {
	struct ks_arena arena;
	struct ks_value root;
	const char *file;
	uint32_t failures;
};

static const char *text_of_json(struct ks_arena *arena, const struct ks_value *v)
{
	struct ks_buf out;
	const char *copy;

	ks_buf_init(&out);
	ks_json_encode(NULL, v, &out);
	assert_false(out.failed);
	copy = ks_arena_dup(arena, out.data, out.len);
	ks_buf_fini(&out);
	assert_non_null(copy);
	return copy;
}

static void complain(struct corpus *c, const char *name, uint32_t step, const char *what, const char *got, const char *expected)
{
	c->failures++;
	print_error("%s: %s, step %u: %s\n  is       %s\n  expected %s\n", c->file, name, step, what, got, expected);
}

static void check_value(struct corpus *c, struct ks_arena *arena, const char *name, uint32_t step, const char *what, const struct ks_value *got,
	const struct ks_value *expected)
{
	if (!expected || !ks_value_equal_json(got, expected))
		complain(c, name, step, what, text_of_json(arena, got), expected ? text_of_json(arena, expected) : "nothing");
}

static struct ks_value conflicts_of(struct ks_arena *arena, const struct managed_outcome *outcome)
{
	struct ks_value list = {.kind = KS_LIST};

	for (uint32_t i = 0; i < outcome->conflicts.n; i++) {
		struct ks_value *pair = ks_value_append(arena, &list), *item;

		assert_non_null(pair);
		*pair = (struct ks_value){.kind = KS_LIST};
		item = ks_value_append(arena, pair);
		assert_non_null(item);
		*item = ks_value_from_str(ks_str_from(outcome->conflicts.items[i].manager));
		item = ks_value_append(arena, pair);
		assert_non_null(item);
		*item = ks_value_from_str(ks_str_from(outcome->conflicts.items[i].path));
	}
	return list;
}

static void check_text(struct corpus *c, const char *name, uint32_t step, const char *what, const char *got, const struct ks_value *expected)
{
	struct ks_str text = ks_value_str(expected);

	if (!ks_str_is(text, got ? got : ""))
		complain(c, name, step, what, got ? got : "", text.n ? ks_arena_dup(&c->arena, text.p, text.n) : "none");
}

static void check_step(struct corpus *c, struct managed_object *o, const char *name, const struct ks_value *step)
{
	struct managed_outcome outcome = managed_step(o, step);
	uint32_t at = o->steps - 1;
	const struct ks_value *error = ks_value_get(NULL, step, "error");
	struct ks_value got;

	if (outcome.result == KS_APPLY_CONFLICT) {
		got = conflicts_of(o->arena, &outcome);
		check_value(c, o->arena, name, at, "conflicts", &got, ks_value_get(NULL, step, "conflicts"));
		check_text(c, name, at, "message", outcome.conflicts.message, ks_value_get(NULL, step, "message"));
	} else if (outcome.result || error) {
		check_text(c, name, at, "error", outcome.message, error);
	} else {
		got = managed_content(o);
		check_value(c, o->arena, name, at, "object", &got, ks_value_get(NULL, step, "is"));
		got = managed_entries(o);
		check_value(c, o->arena, name, at, "managers", &got, ks_value_get(NULL, step, "managed"));
	}
}

static const struct ks_value *schema_named(const struct corpus *c, struct ks_str name)
{
	return ks_value_get_str(NULL, ks_value_get(NULL, &c->root, "schemas"), name);
}

/* A step can bring another schema, as when a custom resource's definition is changed. */
static void take_schema(const struct corpus *c, struct managed_object *o, const struct ks_value *step)
{
	struct ks_str name = ks_value_str(ks_value_get(NULL, step, "schema"));
	const struct ks_value *schema = name.n ? schema_named(c, name) : NULL;

	if (!name.n)
		return;
	assert_non_null(schema);
	o->things = ks_arena_alloc(o->arena, sizeof(*o->things));
	assert_non_null(o->things);
	thing_schema_init(o->things, o->arena, schema);
	o->schema = &o->things->schema;
}

static void play(struct corpus *c, const struct ks_value *one)
{
	struct ks_str name = ks_value_str(ks_value_get(NULL, one, "name")), kind = ks_value_str(ks_value_get(NULL, one, "schema"));
	const struct ks_value *schema = schema_named(c, kind), *steps = ks_value_get(NULL, one, "steps");
	struct thing_schema things;
	struct managed_object o;
	struct ks_arena arena;

	ks_arena_init(&arena, 0);
	if (schema)
		thing_schema_init(&things, &arena, schema);
	managed_object_init(&o, &arena, schema ? &things : NULL, kind);
	assert_non_null(steps);
	assert_int_not_equal(steps->n, 0);
	for (uint32_t i = 0; i < steps->n; i++) {
		take_schema(c, &o, &steps->items[i]);
		check_step(c, &o, ks_arena_dup(&arena, name.p, name.n), &steps->items[i]);
	}
	ks_arena_fini(&arena);
}

/* -- files ---------------------------------------------------------------------------------------------------- */

static void load(struct corpus *c, const char *path)
{
	FILE *f = fopen(path, "r");
	const char *message;
	char *text;
	long size;

	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	size = ftell(f);
	assert_true(size > 0);
	rewind(f);
	text = ks_arena_alloc(&c->arena, (size_t)size);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)size, f), size);
	fclose(f);
	if (ks_json_decode(&c->arena, NULL, 0, KS_DECODE_BORROW, text, (size_t)size, &c->root, NULL, &message))
		fail_msg("%s: %s", path, message);
}

static void test_file(void **state)
{
	const char *path = *state, *slash = strrchr(path, '/');
	struct corpus c = {.file = slash ? slash + 1 : path};
	const struct ks_value *cases;

	ks_arena_init(&c.arena, 0);
	load(&c, path);
	cases = ks_value_get(NULL, &c.root, "cases");
	assert_non_null(cases);
	assert_int_not_equal(cases->n, 0);
	for (uint32_t i = 0; i < cases->n; i++)
		play(&c, &cases->items[i]);
	ks_arena_fini(&c.arena);
	assert_int_equal(c.failures, 0);
}

static int is_corpus(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n > 5 && !strcmp(entry->d_name + n - 5, ".json");
}

enum { MOST_FILES = 64 };

static int run_all(const char *directory)
{
	struct CMUnitTest tests[MOST_FILES];
	struct dirent **found;
	int n = scandir(directory, &found, is_corpus, alphasort), result;

	if (n < 1 || n > MOST_FILES) {
		fprintf(stderr, "no corpus in %s\n", directory);
		return 1;
	}
	for (int i = 0; i < n; i++) {
		char *path = NULL;

		if (asprintf(&path, "%s/%s", directory, found[i]->d_name) < 0)
			return 1;
		tests[i] = (struct CMUnitTest){.name = found[i]->d_name, .test_func = test_file, .initial_state = path};
	}
	result = _cmocka_run_group_tests("managed", tests, (size_t)n, NULL, NULL);
	for (int i = 0; i < n; i++) {
		free(tests[i].initial_state);
		free(found[i]);
	}
	free(found);
	return result;
}

/* With an argument, the cases of that file are played alone. */
int main(int argc, char **argv)
{
	const struct CMUnitTest one[] = {{.name = argc > 1 ? argv[1] : "", .test_func = test_file, .initial_state = argc > 1 ? argv[1] : NULL}};

	return argc > 1 ? cmocka_run_group_tests(one, NULL, NULL) : run_all(KS_MANAGED_CASES);
}
