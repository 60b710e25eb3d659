/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Values over json-c trees. Only for small test objects: nothing here is fast. */
#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <json-c/json_pointer.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fake-internal.h"

struct ks_path {
	size_t n;
	char *names[16];
};

/* json-c has a NULL pointer for null; a value needs a node that says so. */
static const char null_node;

struct ks_val ks_fake_value_of(struct json_object *node)
{
	return (struct ks_val){node ? (const void *)node : &null_node, NULL};
}

static struct json_object *node_of(struct ks_val v)
{
	return v.node == &null_node ? NULL : (struct json_object *)(uintptr_t)v.node;
}

static int value_kind(struct ks_val v)
{
	if (!v.node)
		return KS_VAL_ABSENT;
	switch (json_object_get_type(node_of(v))) {
	case json_type_null:
		return KS_VAL_NULL;
	case json_type_boolean:
		return KS_VAL_BOOL;
	case json_type_int:
		return KS_VAL_INT;
	case json_type_double:
		return KS_VAL_FLOAT;
	case json_type_string:
		return KS_VAL_STRING;
	case json_type_array:
		return KS_VAL_LIST;
	default:
		return KS_VAL_OBJECT;
	}
}

static struct ks_view value_string(struct ks_val v)
{
	struct json_object *o = node_of(v);

	if (value_kind(v) != KS_VAL_STRING)
		return (struct ks_view){"", 0};
	return (struct ks_view){json_object_get_string(o), (size_t)json_object_get_string_len(o)};
}

static int64_t value_integer(struct ks_val v)
{
	return value_kind(v) == KS_VAL_INT ? json_object_get_int64(node_of(v)) : 0;
}

static double value_number(struct ks_val v)
{
	int kind = value_kind(v);

	return kind == KS_VAL_INT || kind == KS_VAL_FLOAT ? json_object_get_double(node_of(v)) : 0.0;
}

static int value_boolean(struct ks_val v)
{
	return value_kind(v) == KS_VAL_BOOL && json_object_get_boolean(node_of(v));
}

static size_t value_length(struct ks_val v)
{
	int kind = value_kind(v);

	if (kind == KS_VAL_LIST)
		return json_object_array_length(node_of(v));
	return kind == KS_VAL_OBJECT ? (size_t)json_object_object_length(node_of(v)) : 0;
}

static struct ks_val value_item(struct ks_val list, size_t index)
{
	if (value_kind(list) != KS_VAL_LIST || index >= value_length(list))
		return (struct ks_val){NULL, NULL};
	return ks_fake_value_of(json_object_array_get_idx(node_of(list), index));
}

static struct ks_val value_member(struct ks_val object, struct ks_view name)
{
	struct json_object_iterator it, end;

	if (value_kind(object) != KS_VAL_OBJECT)
		return (struct ks_val){NULL, NULL};
	it = json_object_iter_begin(node_of(object));
	end = json_object_iter_end(node_of(object));
	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		const char *key = json_object_iter_peek_name(&it);

		if (strlen(key) == name.n && memcmp(key, name.p, name.n) == 0)
			return ks_fake_value_of(json_object_iter_peek_value(&it));
	}
	return (struct ks_val){NULL, NULL};
}

static size_t iterate_object(struct ks_val v, struct ks_val_iter *iter, struct ks_val_item *items, size_t max)
{
	struct json_object_iterator it = json_object_iter_begin(node_of(v)), end = json_object_iter_end(node_of(v));
	size_t n = 0;
	uint64_t at = 0;

	for (; !json_object_iter_equal(&it, &end) && n < max; json_object_iter_next(&it)) {
		const char *key = json_object_iter_peek_name(&it);

		if (at++ < iter->position)
			continue;
		items[n++] = (struct ks_val_item){{key, strlen(key)}, ks_fake_value_of(json_object_iter_peek_value(&it))};
	}
	iter->position += n;
	return n;
}

static size_t value_iterate(struct ks_val v, struct ks_val_iter *iter, struct ks_val_item *items, size_t max)
{
	size_t n = 0;

	if (value_kind(v) == KS_VAL_OBJECT)
		return iterate_object(v, iter, items, max);
	while (n < max && iter->position < value_length(v))
		items[n++] = (struct ks_val_item){{NULL, 0}, value_item(v, iter->position++)};
	return n;
}

/* Length of the name at p, and where the next one begins; 0: malformed. */
static size_t path_step(const char **p, const char **name)
{
	const char *close;
	size_t n;

	if (strncmp(*p, "[\"", 2) == 0) {
		*name = *p + 2;
		close = strstr(*name, "\"]");
		if (!close)
			return 0;
		n = (size_t)(close - *name);
		*p = close + 2;
	} else {
		*name = *p;
		n = strcspn(*p, ".[");
		*p += n;
	}
	if (**p == '.')
		(*p)++;
	return n;
}

static const struct ks_path *value_path(const struct ks_host *host, const char *text)
{
	struct ks_path *path = ks_fake_alloc(host->context, sizeof(*path));
	const char *name;
	size_t n;

	while (path && *text) {
		n = path_step(&text, &name);
		if (n == 0 || path->n == sizeof(path->names) / sizeof(path->names[0]))
			return NULL;
		path->names[path->n] = ks_fake_alloc(host->context, n + 1);
		if (!path->names[path->n])
			return NULL;
		memcpy(path->names[path->n++], name, n);
	}
	return path;
}

static struct ks_val value_get(struct ks_val v, const struct ks_path *path)
{
	size_t i;

	for (i = 0; i < path->n; i++)
		v = value_member(v, (struct ks_view){path->names[i], strlen(path->names[i])});
	return v;
}

static char *op_text(struct ks_op *op, struct ks_view text)
{
	char *copy = op->fake->host.op_alloc(op, text.n + 1);

	if (copy && text.n)
		memcpy(copy, text.p, text.n);
	return copy;
}

static struct ks_view value_to_json(struct ks_op *op, struct ks_val v)
{
	const char *text = json_object_to_json_string_ext(node_of(v), JSON_C_TO_STRING_NOSLASHESCAPE);
	struct ks_view out = {NULL, text ? strlen(text) : 0};

	if (text)
		out.p = op_text(op, (struct ks_view){text, out.n});
	return out;
}

/* The tree lives as long as the operation. */
static int keep_tree(struct ks_op *op, struct json_object *root)
{
	struct ks_fake_tree *t = calloc(1, sizeof(*t));

	if (!t) {
		json_object_put(root);
		return KS_ERR_NOMEM;
	}
	t->root = root;
	t->next = op->trees;
	op->trees = t;
	return KS_DONE;
}

void ks_fake_op_drop_values(struct ks_op *op)
{
	struct ks_fake_tree *t;

	while ((t = op->trees)) {
		op->trees = t->next;
		json_object_put(t->root);
		free(t);
	}
	op->review = NULL;
}

struct ks_val ks_fake_value(struct ks_op *op, const char *json)
{
	enum json_tokener_error error;
	struct json_object *root = json_tokener_parse_verbose(json, &error);

	if (error != json_tokener_success || (root && keep_tree(op, root)))
		return (struct ks_val){NULL, NULL};
	return ks_fake_value_of(root);
}

void ks_fake_op_review(struct ks_op *op, struct ks_val object)
{
	struct json_object *copy = NULL;

	if (json_object_deep_copy(node_of(object), &copy, NULL) == 0 && keep_tree(op, copy) == KS_DONE)
		op->review = copy;
}

/* json-c takes the last part of a pointer as it stands, escapes and all. 1: the part had some, and is set. */
static int set_escaped(struct ks_op *op, char *path, struct json_object *value)
{
	char *last = strrchr(path, '/'), *from, *to;
	struct json_object *parent = NULL;

	if (!last || !strchr(last, '~'))
		return 0;
	*last++ = '\0';
	if (json_pointer_get(op->review, path, &parent))
		return 0;
	for (from = to = last; *from; from++) {
		int escaped = *from == '~' && from[1];

		*to++ = (char)(!escaped ? *from : *++from == '1' ? '/' : '~');
	}
	*to = '\0';
	return json_object_object_add(parent, last, value) == 0;
}

static int value_edit_set(struct ks_op *op, struct ks_view pointer, struct ks_view json)
{
	char *path = op_text(op, pointer), *text = op_text(op, json), *slash;
	enum json_tokener_error error;
	struct json_object *value, *there;

	if (!path || !text)
		return KS_ERR_NOMEM;
	value = json_tokener_parse_verbose(text, &error);
	if (error != json_tokener_success)
		return op->fake->host.op_error(op, "not JSON: %s", text);
	/* Objects on the way are made, and a list that something is appended to. */
	for (slash = strchr(path + (*path == '/'), '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (json_pointer_get(op->review, path, &there))
			json_pointer_set(&op->review, path, strcmp(slash + 1, "-") == 0 ? json_object_new_array() : json_object_new_object());
		*slash = '/';
	}
	if (set_escaped(op, path, value))
		return KS_DONE;
	if (json_pointer_set(&op->review, path, value)) {
		json_object_put(value);
		return op->fake->host.op_error(op, "no such place: %s", path);
	}
	return KS_DONE;
}

static int value_edit_remove(struct ks_op *op, struct ks_view pointer)
{
	char *path = op_text(op, pointer), *last;
	struct json_object *parent = NULL;

	if (!path || !(last = strrchr(path, '/')))
		return op->fake->host.op_error(op, "not a pointer");
	*last++ = '\0';
	if (json_pointer_get(op->review, path, &parent))
		return op->fake->host.op_error(op, "no such place: %s", path);
	if (json_object_is_type(parent, json_type_array))
		json_object_array_del_idx(parent, strtoul(last, NULL, 10), 1);
	else
		json_object_object_del(parent, last);
	return KS_DONE;
}

static struct ks_val value_edited(struct ks_op *op)
{
	return op->review ? ks_fake_value_of(op->review) : (struct ks_val){NULL, NULL};
}

const struct ks_value_ops ks_fake_values = {
	.size = sizeof(struct ks_value_ops),
	.kind = value_kind, .string = value_string, .integer = value_integer, .number = value_number, .boolean = value_boolean,
	.length = value_length, .item = value_item, .member = value_member, .iterate = value_iterate,
	.path = value_path, .get = value_get, .to_json = value_to_json,
	.edit_set = value_edit_set, .edit_remove = value_edit_remove, .edited = value_edited,
};
