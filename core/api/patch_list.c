/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/patch_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- complaints ---- */

bool ks_smp_fail(struct ks_smp *m, int rc, const char *message)
{
	m->rc = message ? rc : -ENOMEM;
	m->message = message;
	return false;
}

const char *ks_smp_print(struct ks_smp *m, const struct ks_value *v)
{
	struct ks_buf buf;
	const char *text;

	ks_buf_init(&buf);
	ks_value_print(v, &buf);
	text = buf.failed ? NULL : ks_arena_dup(m->arena, buf.data, buf.len);
	ks_buf_fini(&buf);
	return text;
}

bool ks_smp_no_merge_key(struct ks_smp *m, const struct ks_value *map, struct ks_str key)
{
	const char *text = ks_smp_print(m, map);

	return ks_smp_fail(
		m, -EPROTO, text ? ks_arena_printf(m->arena, "map: %s does not contain declared merge key: %.*s", text, (int)key.n, key.p) : NULL);
}

bool ks_smp_bad_type(struct ks_smp *m, const char *expected, const struct ks_value *v)
{
	static const char *const names[] = {[KS_BOOL] = "bool",
		[KS_INT] = "int64",
		[KS_FLOAT] = "float64",
		[KS_STRING] = "string",
		[KS_LIST] = "[]interface {}",
		[KS_MAP] = "map[string]interface {}"};
	const char *name = v->kind < sizeof(names) / sizeof(names[0]) ? names[v->kind] : NULL;

	return ks_smp_fail(m, -EPROTO, ks_arena_printf(m->arena, "expected a %s, but received a %s", expected, name ? name : "%!s(<nil>)"));
}

/* ---- finding items ---- */

const struct ks_value *ks_smp_scalar(const struct ks_value *item, struct ks_str key)
{
	return key.n ? ks_value_get_str(NULL, item, key) : item;
}

bool ks_smp_same(const struct ks_value *a, const struct ks_value *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case KS_BOOL:
		return a->boolean == b->boolean;
	case KS_INT:
		return a->integer == b->integer;
	case KS_FLOAT:
		return a->number == b->number;
	case KS_STRING:
		return ks_str_eq(ks_value_str(a), ks_value_str(b));
	case KS_LIST:
	case KS_MAP:
		return false;
	default:
		return true;
	}
}

static uint32_t hash_scalar(const struct ks_value *v)
{
	if (v->kind == KS_STRING)
		return ks_schema_hash(v->string, v->n);
	if (v->kind == KS_INT || v->kind == KS_FLOAT)
		return ks_schema_hash((const char *)&v->integer, sizeof(v->integer));
	return v->kind == KS_BOOL && v->boolean;
}

static uint32_t *find_slot(const struct ks_smp_index *index, const struct ks_value *scalar)
{
	uint32_t at = hash_scalar(scalar) & index->mask;

	while (index->slots[at]) {
		if (ks_smp_same(ks_smp_scalar(&index->list->items[index->slots[at] - 1], index->key), scalar))
			break;
		at = (at + 1) & index->mask;
	}
	return &index->slots[at];
}

void ks_smp_index_add(struct ks_smp_index *index, uint32_t at)
{
	const struct ks_value *scalar = ks_smp_scalar(&index->list->items[at], index->key);
	uint32_t *slot;

	if (!scalar || index->used > index->mask / 2)
		return;
	slot = find_slot(index, scalar);
	if (*slot)
		return;
	*slot = at + 1;
	index->used++;
}

bool ks_smp_index_init(struct ks_smp *m, struct ks_smp_index *index, const struct ks_value *list, struct ks_str key, uint32_t room)
{
	uint64_t wanted = ((uint64_t)(list ? list->n : 0) + room) * 2 + 2, size = 4;

	while (size < wanted)
		size *= 2;
	if (size > UINT32_MAX / 2)
		return ks_smp_fail(m, 0, NULL);
	*index = (struct ks_smp_index){.list = list, .key = key, .mask = (uint32_t)size - 1};
	index->slots = ks_arena_zalloc(m->arena, size, sizeof(*index->slots));
	if (!index->slots)
		return ks_smp_fail(m, 0, NULL);
	for (uint32_t i = 0; list && i < list->n; i++)
		ks_smp_index_add(index, i);
	return true;
}

int64_t ks_smp_index_find(const struct ks_smp_index *index, const struct ks_value *scalar)
{
	return scalar ? (int64_t)*find_slot(index, scalar) - 1 : -1;
}

/* ---- order ---- */

struct ranked {
	struct ks_value item;
	int64_t rank, server; /* numbers in the patch's (or the server's) order, and in the server's; -1: not there */
	uint32_t place;
};

static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static bool is_deletion(const struct ks_value *item)
{
	return item->kind == KS_MAP && ks_str_is(ks_value_str(ks_value_get(NULL, item, "$patch")), "delete");
}

/* Deletions go to the end, the others are sorted by rank. */
static void sort_ranked(struct ranked *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (is_deletion(&list[i].item))
			list[i].rank = INT64_MAX;
	qsort(list, n, sizeof(*list), by_rank);
}

static bool check_keys(struct ks_smp *m, const struct ks_value *list, struct ks_str key)
{
	for (uint32_t i = 0; list && key.n && i < list->n; i++) {
		if (list->items[i].kind != KS_MAP)
			return ks_smp_bad_type(m, "map[string]interface {}", &list->items[i]);
		if (!ks_value_get_str(NULL, &list->items[i], key))
			return ks_smp_no_merge_key(m, &list->items[i], key);
	}
	return true;
}

static void weave(const struct ranked *left, uint32_t n_left, const struct ranked *right, uint32_t n_right, struct ks_value *out)
{
	uint32_t i = 0, j = 0, k = 0;

	while (i < n_left || j < n_right) {
		bool take_left = j >= n_right || (i < n_left && left[i].server >= 0 && right[j].server >= 0 && left[i].server < right[j].server);

		out[k++] = take_left ? left[i++].item : right[j++].item;
	}
}

bool ks_smp_order(
	struct ks_smp *m, struct ks_value *merged, const struct ks_value *patch_order, const struct ks_value *server_order, struct ks_str key)
{
	struct ks_smp_index patch, server;
	struct ranked *left, *right;
	struct ks_value *items;
	uint32_t n_left = 0, n_right = 0;

	if (merged->n == 0)
		return true;
	if (!check_keys(m, merged, key) || !check_keys(m, patch_order, key) || !check_keys(m, server_order, key) ||
		!ks_smp_index_init(m, &patch, patch_order, key, 0) || !ks_smp_index_init(m, &server, server_order, key, 0))
		return false;
	left = ks_arena_alloc(m->arena, merged->n * sizeof(*left));
	right = ks_arena_alloc(m->arena, merged->n * sizeof(*right));
	items = ks_arena_alloc(m->arena, merged->n * sizeof(*items));
	if (!left || !right || !items)
		return ks_smp_fail(m, 0, NULL);
	for (uint32_t i = 0; i < merged->n; i++) {
		const struct ks_value *scalar = ks_smp_scalar(&merged->items[i], key);
		int64_t rank = ks_smp_index_find(&patch, scalar), of_server = ks_smp_index_find(&server, scalar);

		if (rank >= 0)
			right[n_right++] = (struct ranked){merged->items[i], rank, of_server, i};
		else
			left[n_left++] = (struct ranked){merged->items[i], of_server, of_server, i};
	}
	sort_ranked(left, n_left);
	sort_ranked(right, n_right);
	weave(left, n_left, right, n_right, items);
	*merged = (struct ks_value){.kind = KS_LIST, .n = n_left + n_right, .items = items};
	return true;
}
