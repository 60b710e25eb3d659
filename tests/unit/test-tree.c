/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The persistent tree and its roots, against a plain sorted array. */
#include "core/cache/tree.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/cache/internal.h"
#include "tests/unit/cache-help.h"

enum { KEYS = 1500 };

static uint16_t configmaps;
static uint64_t seed = 88172645463325252u;

static unsigned random_below(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 11) % n;
}

/* A resource without a store: a tree, its roots, its history. */
struct fixture {
	struct ks_cache cache;
	struct ks_feed feed;
	struct ks_cache_resource r;
};

static void setup(struct fixture *f)
{
	configmaps = help_resource("", "v1", "configmaps");
	*f = (struct fixture){.cache = {.schema = &ks_schema_builtin, .config = {1000000, 1 << 30, 1}}};
	f->feed.cache = &f->cache;
	f->feed.last = &f->feed.first;
	assert_int_equal(ks_waits_init(&f->feed.waits), 0);
	assert_int_equal(ks_cache_resource_init(&f->r, &f->feed, configmaps), 0);
}

static void teardown(struct fixture *f)
{
	ks_cache_resource_close(&f->r);
	ks_rcu_barrier();
	ks_cache_resource_fini(&f->r);
	ks_tree_pool_fini(&f->feed.pool);
	ks_waits_fini(&f->feed.waits);
	ks_rcu_barrier();
}

/* Keys are numbered so that their order isn't that of the numbers; namespaces are prefixes of each other. */
static void key_of(unsigned i, char *ns, char *name)
{
	static const char *const spaces[] = {"a", "a-b", "a.c", "ab", "b"};

	strcpy(ns, spaces[i % 5]);
	snprintf(name, 32, "n%u", i * 7919u % KEYS);
}

static struct ks_object *object_of(unsigned i, uint64_t revision)
{
	char ns[8], name[32];
	struct ks_object *object;

	key_of(i, ns, name);
	object = help_object(configmaps, ns, name, NULL, NULL);
	object->revision = revision;
	return object;
}

/* -- the model -------------------------------------------------------------------------------------------------- */

struct model {
	uint64_t revision[KEYS]; /* 0: not there */
	unsigned n;
};

struct placed {
	char key[64];
	uint64_t revision;
};

static int compare_placed(const void *a, const void *b)
{
	return strcmp(((const struct placed *)a)->key, ((const struct placed *)b)->key);
}

static void check_snapshot(const struct ks_snapshot *snapshot, const struct model *model)
{
	struct placed *placed = calloc(KEYS, sizeof(*placed));
	struct ks_cursor cursor;
	struct ks_object *object;
	char ns[8], name[32], key[64];
	unsigned n = 0, i = 0;

	for (unsigned k = 0; k < KEYS; k++) {
		if (!model->revision[k])
			continue;
		key_of(k, ns, name);
		snprintf(placed[n].key, sizeof(placed[n].key), "%s/%s", ns, name);
		placed[n++].revision = model->revision[k];
	}
	qsort(placed, n, sizeof(*placed), compare_placed);
	assert_int_equal(snapshot->count, n);
	ks_cursor_init(&cursor, snapshot, (struct ks_str){0}, (struct ks_str){0});
	assert_int_equal(ks_cursor_left(&cursor), n);
	while ((object = ks_cursor_next(&cursor))) {
		assert_true(i < n);
		assert_int_equal(ks_cursor_left(&cursor), n - i - 1);
		snprintf(key, sizeof(key), "%.*s/%.*s", (int)object->ns.n, object->ns.p, (int)object->name.n, object->name.p);
		assert_string_equal(key, placed[i].key);
		assert_int_equal(object->revision, placed[i].revision);
		i++;
	}
	assert_int_equal(i, n);
	free(placed);
}

static void change(struct fixture *f, struct model *model, unsigned k, uint64_t revision)
{
	char ns[8], name[32];

	if (random_below(3) > 0) {
		assert_int_equal(ks_apply_put(&f->r, object_of(k, revision)), 0);
		model->revision[k] = revision;
		return;
	}
	key_of(k, ns, name);
	assert_int_equal(ks_apply_delete(&f->r, ks_str_from(ns), ks_str_from(name), revision), 0);
	model->revision[k] = 0;
}

/* -- tests ------------------------------------------------------------------------------------------------------ */

static void order_is_that_of_the_joined_key(void **state)
{
	struct ks_object *object;

	(void)state;
	configmaps = help_resource("", "v1", "configmaps");
	object = help_object(configmaps, "a", "x", NULL, NULL);
	assert_int_equal(ks_tree_compare(KS_STR_LIT("a-b"), KS_STR_LIT("x"), object), -1);
	assert_int_equal(ks_tree_compare(KS_STR_LIT("a.b"), KS_STR_LIT("x"), object), -1);
	assert_int_equal(ks_tree_compare(KS_STR_LIT("ab"), KS_STR_LIT("x"), object), 1);
	assert_int_equal(ks_tree_compare(KS_STR_LIT("a"), KS_STR_LIT("w"), object), -1);
	assert_int_equal(ks_tree_compare(KS_STR_LIT("a"), KS_STR_LIT("x"), object), 0);
	assert_int_equal(ks_tree_compare(KS_STR_LIT("a"), KS_STR_LIT("xy"), object), 1);
	ks_object_unref(object);
}

static void random_edits_with_snapshots_held(void **state)
{
	enum { ROUNDS = 600, HELD = 12 };
	struct ks_snapshot held[HELD] = {0};
	struct model *models = calloc(HELD + 1, sizeof(*models)), *now = &models[HELD];
	struct fixture f;
	uint64_t revision = 1;

	(void)state;
	setup(&f);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned batch = 1 + random_below(40), slot = random_below(HELD);

		while (batch-- > 0)
			change(&f, now, random_below(KEYS), ++revision);
		ks_apply_publish(&f.feed, revision);
		if (random_below(2) == 0)
			continue;
		if (held[slot].root) {
			check_snapshot(&held[slot], &models[slot]);
			ks_snapshot_release(&held[slot]);
		}
		ks_cache_snapshot(&f.r, &held[slot]);
		assert_int_equal(held[slot].revision, revision);
		models[slot] = *now;
	}
	for (unsigned i = 0; i < HELD; i++) {
		if (!held[i].root)
			continue;
		check_snapshot(&held[i], &models[i]);
		ks_snapshot_release(&held[i]);
	}
	teardown(&f);
	free(models);
}

static void everything_goes_and_comes_again(void **state)
{
	struct model *model = calloc(1, sizeof(*model));
	struct ks_snapshot snapshot;
	char ns[8], name[32];
	struct fixture f;

	(void)state;
	setup(&f);
	for (uint64_t round = 1; round <= 3; round++) {
		for (unsigned k = 0; k < KEYS; k++) {
			assert_int_equal(ks_apply_put(&f.r, object_of(k, round)), 0);
			model->revision[k] = round;
		}
		ks_apply_publish(&f.feed, round * 2);
		ks_cache_snapshot(&f.r, &snapshot);
		check_snapshot(&snapshot, model);
		for (unsigned k = 0; k < KEYS; k++) {
			key_of(k, ns, name);
			assert_int_equal(ks_apply_delete(&f.r, ks_str_from(ns), ks_str_from(name), round), 0);
		}
		ks_apply_publish(&f.feed, round * 2 + 1);
		assert_int_equal(ks_cache_count(&f.r), 0);
		assert_int_equal(ks_cache_bytes(&f.r), 0);
		check_snapshot(&snapshot, model);
		ks_snapshot_release(&snapshot);
	}
	teardown(&f);
	free(model);
}

static void built_tree_can_be_edited(void **state)
{
	enum { N = KEYS };
	struct ks_object **objects = calloc(N, sizeof(struct ks_object *));
	struct model *model = calloc(1, sizeof(*model));
	struct ks_snapshot snapshot;
	struct ks_root *root;
	struct fixture f;
	char name[32];

	(void)state;
	setup(&f);
	for (unsigned i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "%06u", i);
		objects[i] = help_object(configmaps, "a", name, NULL, NULL);
	}
	f.r.edit.version = 1;
	assert_int_equal(ks_tree_build(&f.r.edit, objects, N), 0);
	root = calloc(1, sizeof(*root));
	root->top = f.r.edit.top;
	root->count = N;
	root->version = 1;
	ks_roots_publish(&f.r.roots, root, &f.r.edit.garbage);
	for (unsigned i = 0; i < N; i++) {
		struct ks_object *found;

		snprintf(name, sizeof(name), "%06u", i);
		found = ks_cache_get(&f.r, KS_STR_LIT("a"), ks_str_from(name));
		assert_ptr_equal(found, objects[i]);
		ks_object_unref(found);
		assert_int_equal(ks_apply_delete(&f.r, KS_STR_LIT("a"), ks_str_from(name), i + 1), 0);
		ks_apply_publish(&f.feed, i + 1);
		assert_null(ks_cache_get(&f.r, KS_STR_LIT("a"), ks_str_from(name)));
	}
	change(&f, model, 1, N + 1);
	ks_apply_publish(&f.feed, N + 1);
	ks_cache_snapshot(&f.r, &snapshot);
	check_snapshot(&snapshot, model);
	ks_snapshot_release(&snapshot);
	teardown(&f);
	free(objects);
	free(model);
}

static void order_is_checked_when_building(void **state)
{
	struct ks_object *objects[2];
	struct fixture f;

	(void)state;
	setup(&f);
	objects[0] = help_object(configmaps, "a", "y", NULL, NULL);
	objects[1] = help_object(configmaps, "a", "x", NULL, NULL);
	assert_int_equal(ks_tree_build(&f.r.edit, objects, 2), -EINVAL);
	ks_object_unref(objects[0]);
	ks_object_unref(objects[1]);
	teardown(&f);
}

static unsigned walk(const struct ks_snapshot *snapshot, const char *ns, const char *start, char *first)
{
	struct ks_cursor cursor;
	struct ks_object *object;
	unsigned n = 0;
	uint64_t left;

	ks_cursor_init(&cursor, snapshot, ks_str_from(ns), ks_str_from(start));
	left = ks_cursor_left(&cursor);
	while ((object = ks_cursor_next(&cursor)))
		if (n++ == 0)
			snprintf(first, 64, "%.*s/%.*s", (int)object->ns.n, object->ns.p, (int)object->name.n, object->name.p);
	assert_int_equal(left, n);
	return n;
}

static void cursors_begin_where_they_are_told(void **state)
{
	struct ks_snapshot snapshot;
	struct fixture f;
	char first[64];

	(void)state;
	setup(&f);
	for (unsigned k = 0; k < KEYS; k++)
		assert_int_equal(ks_apply_put(&f.r, object_of(k, k + 1)), 0);
	ks_apply_publish(&f.feed, KEYS);
	ks_cache_snapshot(&f.r, &snapshot);
	assert_int_equal(walk(&snapshot, "", "", first), KEYS);
	assert_string_equal(first, "a-b/n1004");
	assert_int_equal(walk(&snapshot, "a", "", first), KEYS / 5);
	assert_int_equal(walk(&snapshot, "a-b", "", first), KEYS / 5);
	assert_int_equal(walk(&snapshot, "c", "", first), 0);
	assert_int_equal(walk(&snapshot, "", "b/", first), KEYS / 5);
	assert_int_equal(walk(&snapshot, "", "b/zzz", first), 0);
	walk(&snapshot, "a-b", "n1004", first);
	assert_string_equal(first, "a-b/n1004");
	walk(&snapshot, "a-b", "a-b/n1004", first);
	assert_string_equal(first, "a-b/n1004");
	ks_snapshot_release(&snapshot);
	teardown(&f);
}

static void what_is_far_back_is_left_to_the_store(void **state)
{
	struct ks_snapshot snapshot;
	struct fixture f;

	(void)state;
	setup(&f);
	for (uint64_t revision = 2; revision < 3000; revision++) {
		assert_int_equal(ks_apply_put(&f.r, object_of(random_below(KEYS), revision)), 0);
		ks_apply_publish(&f.feed, revision);
	}
	assert_int_equal(ks_cache_snapshot_at(&f.r, 100, &snapshot), -ENOENT);
	assert_int_equal(ks_cache_snapshot_at(&f.r, 2900, &snapshot), 0);
	ks_snapshot_release(&snapshot);
	teardown(&f);
}

static void past_states_come_out_of_the_history(void **state)
{
	enum { ROUNDS = 100 };
	struct model *models = calloc(ROUNDS + 1, sizeof(*models));
	struct ks_snapshot snapshot, again;
	struct fixture f;
	uint64_t revision = 1, at[ROUNDS + 1] = {1};

	(void)state;
	setup(&f);
	for (unsigned round = 1; round <= ROUNDS; round++) {
		models[round] = models[round - 1];
		for (unsigned i = 0; i < 20; i++)
			change(&f, &models[round], random_below(KEYS), ++revision);
		ks_apply_publish(&f.feed, revision);
		at[round] = revision;
	}
	for (unsigned round = 0; round <= ROUNDS; round++) {
		assert_int_equal(ks_cache_snapshot_at(&f.r, at[round], &snapshot), 0);
		assert_int_equal(snapshot.revision, at[round]);
		check_snapshot(&snapshot, &models[round]);
		assert_int_equal(ks_cache_snapshot_at(&f.r, at[round], &again), 0);
		assert_ptr_equal(again.root, snapshot.root); /* the next page */
		ks_snapshot_release(&again);
		ks_snapshot_release(&snapshot);
	}
	assert_int_equal(ks_cache_snapshot_at(&f.r, revision + 1, &snapshot), -EAGAIN);
	teardown(&f);
	free(models);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_that_of_the_joined_key),
		cmocka_unit_test(random_edits_with_snapshots_held),
		cmocka_unit_test(everything_goes_and_comes_again),
		cmocka_unit_test(built_tree_can_be_edited),
		cmocka_unit_test(order_is_checked_when_building),
		cmocka_unit_test(cursors_begin_where_they_are_told),
		cmocka_unit_test(what_is_far_back_is_left_to_the_store),
		cmocka_unit_test(past_states_come_out_of_the_history),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
