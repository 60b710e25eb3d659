/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * RFC 6902, with the habits of the library that kube-apiserver uses: the part of a path before the first slash is ignored, negative
 * indexes count from the end, a replaced member need not exist, a missing member tests equal to null.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/map_index.h"
#include "core/api/patch.h"

/* MANY: a map with more members is given an index. */
enum { MOST_OPERATIONS = 10000, MOST_COPIED = 3 * 1024 * 1024, MANY = 64 };

/* Of a large map, for all operations: known by where its members are, wherever the map itself is moved. */
struct large_map {
	struct large_map *next;
	struct ks_map_index index;
};

struct patcher {
	struct ks_arena *arena;
	struct ks_value *object;
	const char *message;
	int rc;
	size_t copied; /* bytes of JSON that "copy" added */
	struct large_map *large; /* the last one that was used is the first */
	bool holes; /* members were taken out of some of them */
};

struct operation {
	struct ks_str path, from;
	const struct ks_value *value; /* NULL: none, or null */
};

static bool fail(struct patcher *p, int rc, const char *message)
{
	p->rc = message ? rc : -ENOMEM;
	p->message = message;
	return false;
}

static bool does_not_apply(struct patcher *p, const char *what, struct ks_str path)
{
	if (p->rc)
		return false;
	return fail(p, -EPERM, ks_arena_printf(p->arena, "%s: %.*s", what, (int)path.n, path.n ? path.p : ""));
}

/* ---- places ---- */

/* A member's or item's name in a path: ~1 is a slash, ~0 a tilde. */
static bool decode_key(struct patcher *p, struct ks_str part, struct ks_str *out)
{
	char *copy;
	size_t n = 0;

	*out = part;
	if (part.n == 0 || !memchr(part.p, '~', part.n))
		return true;
	copy = ks_arena_alloc(p->arena, part.n);
	if (!copy)
		return fail(p, 0, NULL);
	for (size_t i = 0; i < part.n; i++) {
		char c = part.p[i];

		if (c == '~' && i + 1 < part.n && (part.p[i + 1] == '0' || part.p[i + 1] == '1'))
			c = part.p[++i] == '0' ? '~' : '/';
		copy[n++] = c;
	}
	*out = ks_str_of(copy, n);
	return true;
}

/* An index as Go's Atoi reads it. */
static bool read_index(struct ks_str key, long long *out)
{
	char text[24], *end;

	if (key.n == 0 || key.n >= sizeof(text) || key.p[0] == ' ')
		return false;
	memcpy(text, key.p, key.n);
	text[key.n] = '\0';
	errno = 0;
	*out = strtoll(text, &end, 10);
	return errno == 0 && end == text + key.n && (text[0] == '-' || text[0] == '+' || (text[0] >= '0' && text[0] <= '9'));
}

/* An index into `n` items; -1 when there is no such item. */
static int64_t item_index(struct ks_str key, uint32_t n)
{
	long long index;

	if (!read_index(key, &index) || index >= (long long)n || index < -(long long)n)
		return -1;
	return index < 0 ? index + n : index;
}

/* The index of a map; a new one when it has none yet. NULL when out of memory. */
static struct large_map *large_of(struct patcher *p, const struct ks_value *map)
{
	struct large_map *large, **link = &p->large;

	while (*link && ((*link)->index.members != map->members || (*link)->index.n != map->n))
		link = &(*link)->next;
	large = *link;
	if (large)
		*link = large->next;
	else if (!(large = ks_arena_zalloc(p->arena, 1, sizeof(*large))))
		return NULL;
	large->index.holes |= p->holes;
	large->next = p->large;
	p->large = large;
	return large;
}

/* NULL when there is none (or rc is set). */
static struct ks_value *member(struct patcher *p, const struct ks_value *map, struct ks_str key)
{
	struct large_map *large;
	struct ks_value *found;
	bool failed;

	if (map->n <= MANY)
		return ks_value_get_str(NULL, map, key);
	large = large_of(p, map);
	found = large ? ks_map_index_get(&large->index, p->arena, map, key, &failed) : NULL;
	if (!large || failed)
		fail(p, 0, NULL);
	return found;
}

static struct ks_value *put_member(struct patcher *p, struct ks_value *map, struct ks_str key)
{
	struct large_map *large;

	if (map->n <= MANY)
		return ks_value_put(p->arena, NULL, map, key);
	large = large_of(p, map);
	return large ? ks_map_index_put(&large->index, p->arena, map, key) : NULL;
}

static bool remove_member(struct patcher *p, struct ks_value *map, struct ks_str key)
{
	struct large_map *large;

	if (map->n <= MANY) {
		ks_value_remove(NULL, map, key);
		return true;
	}
	p->holes = true;
	large = large_of(p, map);
	return (large && ks_map_index_remove(&large->index, p->arena, map, key)) || fail(p, 0, NULL);
}

static void forget(struct patcher *p, const struct ks_member *members)
{
	for (struct large_map **link = &p->large; *link;)
		if ((*link)->index.members == members)
			*link = (*link)->next;
		else
			link = &(*link)->next;
}

/* Closes the gaps that removed members have left. */
static void close_gaps(struct patcher *p, struct ks_value *v)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; v->kind == KS_LIST && i < v->n; i++)
		close_gaps(p, &v->items[i]);
	for (uint32_t i = 0; v->kind == KS_MAP && i < v->n; i++) {
		if (v->members[i].value.kind == KS_ABSENT)
			continue;
		close_gaps(p, &v->members[i].value);
		if (kept != i)
			v->members[kept] = v->members[i];
		kept++;
	}
	if (v->kind != KS_MAP || kept == v->n)
		return;
	forget(p, v->members);
	v->n = kept;
}

static struct ks_value *child(struct patcher *p, struct ks_value *container, struct ks_str key)
{
	int64_t index;

	if (container->kind == KS_MAP)
		return member(p, container, key);
	index = item_index(key, container->n);
	return index < 0 ? NULL : &container->items[index];
}

static bool is_container(const struct ks_value *v)
{
	return v && (v->kind == KS_MAP || v->kind == KS_LIST);
}

/* Somebody looked into it: see KS_VALUE_IN_ORDER. */
static void look_into(struct ks_value *v)
{
	if (v->kind == KS_MAP)
		v->flags &= (uint8_t)~KS_VALUE_IN_ORDER;
}

/* Into all of it, or into nothing of it. */
static void set_order(struct ks_value *v, bool in_order)
{
	if (v->kind == KS_MAP) {
		look_into(v);
		v->flags |= in_order ? KS_VALUE_IN_ORDER : 0;
		for (uint32_t i = 0; i < v->n; i++)
			set_order(&v->members[i].value, in_order);
	}
	for (uint32_t i = 0; v->kind == KS_LIST && i < v->n; i++)
		set_order(&v->items[i], in_order);
}

/* The map or list that holds the last part of a path. NULL when the way there is missing (or rc is set). */
static struct ks_value *find_container(struct patcher *p, struct ks_str path, struct ks_str *key_r)
{
	const char *at = path.n ? memchr(path.p, '/', path.n) : NULL, *end = path.p + path.n, *next;
	struct ks_value *container = p->object;
	struct ks_str key;

	if (!at)
		return NULL;
	look_into(container);
	for (at++; (next = at < end ? memchr(at, '/', (size_t)(end - at)) : NULL); at = next + 1) {
		if (!decode_key(p, ks_str_of(at, (size_t)(next - at)), &key))
			return NULL;
		container = is_container(container) ? child(p, container, key) : NULL;
		if (!is_container(container))
			return NULL;
		look_into(container);
	}
	if (!is_container(container) || !decode_key(p, ks_str_of(at, (size_t)(end - at)), key_r))
		return NULL;
	return container;
}

/* ---- operations ---- */

/* A copy for the object to keep: the patch may be applied again. */
static bool copy_value(struct patcher *p, const struct ks_value *value, struct ks_value *out)
{
	*out = (struct ks_value){.kind = KS_NULL};
	return !value || ks_value_copy(p->arena, value, out) || fail(p, 0, NULL);
}

/* The same of what an operation brings. */
static bool take_value(struct patcher *p, const struct operation *op, struct ks_value *out)
{
	if (!copy_value(p, op->value, out))
		return false;
	set_order(out, true);
	return true;
}

static bool put(struct patcher *p, struct ks_value *container, struct ks_str key, const struct ks_value *value, struct ks_str path)
{
	struct ks_value *place;
	long long index;

	if (container->kind == KS_MAP) {
		place = put_member(p, container, key);
	} else {
		uint32_t n = container->n + 1;

		if (ks_str_is(key, "-"))
			index = container->n;
		else if (!read_index(key, &index) || index >= (long long)n || index < -(long long)n)
			return does_not_apply(p, "error in add for path", path);
		place = ks_value_insert_item(p->arena, container, (uint32_t)(index < 0 ? index + n : index));
	}
	if (!place)
		return fail(p, 0, NULL);
	*place = *value;
	return true;
}

static bool add(struct patcher *p, const struct operation *op)
{
	struct ks_str key;
	struct ks_value *container = find_container(p, op->path, &key), value;

	if (!container)
		return p->rc == 0 ? does_not_apply(p, "add operation does not apply: doc is missing path", op->path) : false;
	return take_value(p, op, &value) && put(p, container, key, &value, op->path);
}

static bool take_out(struct patcher *p, struct ks_value *container, struct ks_str key, struct ks_str path)
{
	int64_t index;

	if (container->kind == KS_MAP) {
		if (!member(p, container, key))
			return does_not_apply(p, "Unable to remove nonexistent key", path);
		return remove_member(p, container, key);
	}
	index = item_index(key, container->n);
	if (index < 0)
		return does_not_apply(p, "error in remove for path", path);
	ks_value_remove_item(container, (uint32_t)index);
	return true;
}

static bool take(struct patcher *p, const struct operation *op)
{
	struct ks_str key;
	struct ks_value *container = find_container(p, op->path, &key);

	if (!container)
		return p->rc == 0 ? does_not_apply(p, "remove operation does not apply: doc is missing path", op->path) : false;
	return take_out(p, container, key, op->path);
}

static bool replace(struct patcher *p, const struct operation *op)
{
	struct ks_str key;
	struct ks_value *container, *place, value;

	if (!take_value(p, op, &value))
		return false;
	if (op->path.n == 0) {
		if (!is_container(&value))
			return does_not_apply(p, "replace operation value must be object or array", op->path);
		*p->object = value;
		return true;
	}
	container = find_container(p, op->path, &key);
	if (!container)
		return p->rc == 0 ? does_not_apply(p, "replace operation does not apply: doc is missing path", op->path) : false;
	if (container->kind == KS_MAP)
		return put(p, container, key, &value, op->path);
	place = child(p, container, key);
	if (!place)
		return does_not_apply(p, "replace operation does not apply: doc is missing key", op->path);
	*place = value;
	return true;
}

static bool move(struct patcher *p, const struct operation *op)
{
	struct ks_str key;
	struct ks_value *container = find_container(p, op->from, &key), *from, value;

	if (!container)
		return p->rc == 0 ? does_not_apply(p, "move operation does not apply: doc is missing from path", op->from) : false;
	from = child(p, container, key);
	if (!from)
		return does_not_apply(p, "error in move for path", op->from);
	value = *from;
	if (!take_out(p, container, key, op->from))
		return false;
	container = find_container(p, op->path, &key);
	if (!container)
		return p->rc == 0 ? does_not_apply(p, "move operation does not apply: doc is missing destination path", op->path) : false;
	return put(p, container, key, &value, op->path);
}

/* The bytes that a copied value takes as JSON, against a patch that doubles the object again and again. */
static bool count_copied(struct patcher *p, const struct ks_value *value)
{
	struct ks_buf json;
	bool failed;

	ks_buf_init(&json);
	ks_json_encode(NULL, value, &json);
	p->copied += json.len;
	failed = json.failed;
	ks_buf_fini(&json);
	if (failed)
		return fail(p, 0, NULL);
	return p->copied <= MOST_COPIED || fail(p, -EPERM, "unable to complete the copy, the accumulated size increase of copy is over the limit");
}

static bool copy(struct patcher *p, const struct operation *op)
{
	struct ks_str key;
	struct ks_value *container = find_container(p, op->from, &key), *from, value;

	if (!container)
		return p->rc == 0 ? does_not_apply(p, "copy operation does not apply: doc is missing from path", op->from) : false;
	from = child(p, container, key);
	if (!from && container->kind == KS_LIST)
		return does_not_apply(p, "error in copy for from", op->from);
	if (from && p->holes)
		close_gaps(p, from);
	if (!copy_value(p, from, &value) || !count_copied(p, &value))
		return false;
	container = find_container(p, op->path, &key);
	if (!container)
		return p->rc == 0 ? does_not_apply(p, "copy operation does not apply: doc is missing destination path", op->path) : false;
	return put(p, container, key, &value, op->path);
}

static bool same(struct patcher *p, const struct ks_value *a, const struct ks_value *b);

/* `a` may have gaps. */
static bool same_members(struct patcher *p, const struct ks_value *a, const struct ks_value *b)
{
	struct ks_map_index index = {0};
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->n; i++)
		n += a->members[i].value.kind != KS_ABSENT;
	if (n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct ks_value *other;
		bool failed;

		if (a->members[i].value.kind == KS_ABSENT)
			continue;
		other = ks_map_index_get(&index, p->arena, b, a->members[i].key, &failed);
		if (failed)
			return fail(p, 0, NULL);
		if (!other || !same(p, &a->members[i].value, other))
			return false;
	}
	return true;
}

/* Equal as texts: 1 is not 1.0. */
static bool same(struct patcher *p, const struct ks_value *a, const struct ks_value *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == KS_MAP)
		return same_members(p, a, b);
	if (a->kind != KS_LIST)
		return ((a->kind != KS_STRING || a->n == b->n) && ks_value_equal_json(a, b));
	for (uint32_t i = 0; a->n == b->n && i < a->n; i++)
		if (!same(p, &a->items[i], &b->items[i]))
			return false;
	return a->n == b->n;
}

static bool test(struct patcher *p, const struct operation *op)
{
	struct ks_str key;
	struct ks_value *container, *value = p->object;

	if (op->path.n) {
		container = find_container(p, op->path, &key);
		if (!container)
			return p->rc == 0 ? does_not_apply(p, "test operation does not apply: is missing path", op->path) : false;
		value = child(p, container, key);
		if (!value && container->kind == KS_LIST)
			return does_not_apply(p, "error in test for path", op->path);
	}
	if (!ks_value_present(value))
		return !op->value || does_not_apply(p, "testing value failed", op->path);
	set_order(value, false);
	return (op->value && same(p, value, op->value)) || does_not_apply(p, "testing value failed", op->path);
}

/* ---- the list ---- */

static bool malformed(struct patcher *p, const struct ks_value *v, const char *where)
{
	const char *what = v->kind == KS_BOOL ? "bool"
		: v->kind == KS_STRING        ? "string"
		: v->kind == KS_LIST          ? "array"
		: v->kind == KS_MAP           ? "object"
					      : "number";

	return fail(p, -EINVAL, ks_arena_printf(p->arena, "error decoding patch: json: cannot unmarshal %s into Go %s", what, where));
}

static bool check_operation(struct patcher *p, const struct ks_value *v)
{
	static const char *const names[] = {"op", "path", "from"};
	static const char *const where[] = {"struct field jsonPatchOp.op of type string", "struct field jsonPatchOp.path of type string",
		"struct field jsonPatchOp.from of type string"};

	if (v->kind == KS_NULL)
		return true;
	if (v->kind != KS_MAP)
		return malformed(p, v, "value of type handlers.jsonPatchOp");
	for (uint32_t i = 0; i < v->n; i++)
		for (int j = 0; j < 3; j++)
			if (ks_str_is(v->members[i].key, names[j]) && v->members[i].value.kind != KS_STRING && v->members[i].value.kind != KS_NULL)
				return malformed(p, &v->members[i].value, where[j]);
	return true;
}

static bool check_list(struct patcher *p, const struct ks_value *patch)
{
	if (patch->kind != KS_LIST)
		return malformed(p, patch, "value of type []handlers.jsonPatchOp");
	for (uint32_t i = 0; i < patch->n; i++)
		if (!check_operation(p, &patch->items[i]))
			return false;
	return patch->n <= MOST_OPERATIONS ||
		fail(p, -E2BIG, ks_arena_printf(p->arena, "The allowed maximum operations in a JSON patch is %d, got %u", MOST_OPERATIONS, patch->n));
}

static const struct {
	const char *name;
	bool (*run)(struct patcher *p, const struct operation *op);
	bool from;
} operations[] = {
	{"add", add, false},
	{"remove", take, false},
	{"replace", replace, false},
	{"move", move, true},
	{"test", test, false},
	{"copy", copy, true},
};

static bool apply_operation(struct patcher *p, const struct ks_value *v)
{
	const struct ks_value *path = ks_value_get(NULL, v, "path"), *from = ks_value_get(NULL, v, "from"), *value = ks_value_get(NULL, v, "value");
	struct ks_str name = ks_value_str(ks_value_get(NULL, v, "op"));
	struct operation op = {.path = ks_value_str(path), .from = ks_value_str(from), .value = ks_value_present(value) ? value : NULL};

	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		if (!ks_str_is(name, operations[i].name))
			continue;
		if (!ks_value_present(path) || (operations[i].from && !ks_value_present(from)))
			return does_not_apply(p, "operation is missing path or from", name);
		return operations[i].run(p, &op);
	}
	return does_not_apply(p, "Unexpected kind", name);
}

int ks_patch_json(struct ks_arena *arena, struct ks_value *object, const struct ks_value *patch, const char **message_r)
{
	struct patcher p = {.arena = arena, .object = object};
	bool ok;

	if (patch->kind == KS_NULL)
		return 0;
	ok = check_list(&p, patch);
	for (uint32_t i = 0; ok && i < patch->n; i++)
		ok = apply_operation(&p, &patch->items[i]) && !p.rc;
	if (p.holes)
		close_gaps(&p, object);
	if (!ok && p.rc != -ENOMEM)
		*message_r = p.message;
	return ok ? 0 : p.rc;
}

static bool add_unknown(struct ks_arena *arena, struct ks_strict_errors *strict, uint32_t at, struct ks_str key)
{
	const char *text;

	if (strict->n == strict->cap) {
		uint32_t cap = strict->cap ? strict->cap * 2 : 8;
		struct ks_str *items = ks_arena_alloc(arena, cap * sizeof(*items));

		if (!items)
			return false;
		if (strict->n)
			memcpy(items, strict->items, strict->n * sizeof(*items));
		strict->items = items;
		strict->cap = cap;
	}
	text = ks_arena_printf(arena, "unknown field \"[%u].%.*s\"", at, (int)key.n, key.p);
	if (!text)
		return false;
	strict->items[strict->n++] = ks_str_from(text);
	return true;
}

bool ks_patch_json_strict(struct ks_arena *arena, const struct ks_value *patch, struct ks_strict_errors *strict)
{
	for (uint32_t i = 0; patch->kind == KS_LIST && i < patch->n; i++) {
		const struct ks_value *v = &patch->items[i];

		for (uint32_t j = 0; v->kind == KS_MAP && j < v->n; j++) {
			struct ks_str key = v->members[j].key;

			if (ks_str_is(key, "op") || ks_str_is(key, "path") || ks_str_is(key, "from") || ks_str_is(key, "value"))
				continue;
			if (strict->n >= 100)
				return true;
			if (!add_unknown(arena, strict, i, key))
				return false;
		}
	}
	return true;
}
