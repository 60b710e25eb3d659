/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Values as plugins see them: a handle is a node of the working form and the schema that its types are of. */
#include <stdlib.h>
#include <string.h>

#include "core/api/json.h"
#include "plugins/host/internal.h"

static const struct ks_value *node_of(struct ks_val v)
{
	return v.node;
}

static struct ks_val child(struct ks_val parent, const struct ks_value *node)
{
	return (struct ks_val){node && node->kind != KS_ABSENT ? node : NULL, parent.owner};
}

static int kind_of(struct ks_val v)
{
	static const uint8_t kinds[] = {
		[KS_ABSENT] = KS_VAL_ABSENT, [KS_NULL] = KS_VAL_NULL, [KS_BOOL] = KS_VAL_BOOL, [KS_INT] = KS_VAL_INT,
		[KS_FLOAT] = KS_VAL_FLOAT, [KS_STRING] = KS_VAL_STRING, [KS_LIST] = KS_VAL_LIST, [KS_MAP] = KS_VAL_OBJECT,
		[KS_STRUCT] = KS_VAL_OBJECT,
	};
	const struct ks_value *node = node_of(v);

	return node && node->kind < sizeof(kinds) ? kinds[node->kind] : KS_VAL_ABSENT;
}

static struct ks_view string_of(struct ks_val v)
{
	struct ks_str s = ks_value_str(node_of(v));

	return s.p ? ks_view_of(s) : (struct ks_view){"", 0};
}

static int64_t integer_of(struct ks_val v)
{
	const struct ks_value *node = node_of(v);

	return node && node->kind == KS_INT ? node->integer : 0;
}

static double number_of(struct ks_val v)
{
	const struct ks_value *node = node_of(v);

	if (node && node->kind == KS_FLOAT)
		return node->number;
	return (double)integer_of(v);
}

static int boolean_of(struct ks_val v)
{
	const struct ks_value *node = node_of(v);

	return node && node->kind == KS_BOOL && node->boolean;
}

static size_t length_of(struct ks_val v)
{
	const struct ks_value *node = node_of(v);
	size_t n = 0;

	if (!node || (node->kind != KS_LIST && node->kind != KS_MAP && node->kind != KS_STRUCT))
		return 0;
	if (node->kind != KS_STRUCT)
		return node->n;
	for (uint32_t i = 0; i < node->n; i++)
		n += node->items[i].kind != KS_ABSENT;
	return n;
}

static struct ks_val item_of(struct ks_val list, size_t index)
{
	const struct ks_value *node = node_of(list);

	return child(list, node && node->kind == KS_LIST && index < node->n ? &node->items[index] : NULL);
}

static struct ks_val member_of(struct ks_val object, struct ks_view name)
{
	return child(object, ks_value_get_str(object.owner, node_of(object), ks_str_of_view(name)));
}

static size_t iterate_struct(struct ks_val v, struct ks_val_iter *iter, struct ks_val_item *items, size_t max)
{
	const struct ks_schema *schema = v.owner;
	const struct ks_value *node = node_of(v);
	size_t n = 0;

	for (; n < max && iter->position < node->n; iter->position++) {
		const struct ks_value *slot = &node->items[iter->position];
		const char *name;

		if (slot->kind == KS_ABSENT)
			continue;
		name = ks_schema_text(schema, ks_schema_field(schema, node->type, (uint16_t)iter->position)->name);
		items[n++] = (struct ks_val_item){{name, strlen(name)}, child(v, slot)};
	}
	return n;
}

static size_t iterate(struct ks_val v, struct ks_val_iter *iter, struct ks_val_item *items, size_t max)
{
	const struct ks_value *node = node_of(v);
	size_t n = 0;

	if (!node || (node->kind != KS_LIST && node->kind != KS_MAP && node->kind != KS_STRUCT))
		return 0;
	if (node->kind == KS_STRUCT)
		return iterate_struct(v, iter, items, max);
	for (; n < max && iter->position < node->n; iter->position++) {
		struct ks_val_item *item = &items[n++];

		if (node->kind == KS_LIST)
			*item = (struct ks_val_item){{"", 0}, child(v, &node->items[iter->position])};
		else
			*item = (struct ks_val_item){ks_view_of(node->members[iter->position].key),
				child(v, &node->members[iter->position].value)};
	}
	return n;
}

/* -- compiled paths -- */

enum { STEPS_MOST = 64 };

/* A step remembers the slot that its name had in the last type: generation of the schema, type, slot. */
struct step {
	struct ks_str name;
	bool is_index;
	uint32_t index;
	_Atomic uint64_t slot;
};

struct ks_path {
	size_t n;
	struct step steps[];
};

/* Takes one step off the front of the text. 1, 0 at the end, -1 when malformed. */
static int next_step(const char **text, struct step *step)
{
	const char *p = *text, *end;

	if (!*p)
		return 0;
	if (p[0] == '[' && p[1] == '"') {
		end = strchr(p + 2, '"');
		if (!end || end[1] != ']')
			return -1;
		step->name = ks_str_of(p + 2, (size_t)(end - p - 2));
		*text = end + 2;
		return 1;
	}
	if (p[0] == '[') {
		char *number_end;
		unsigned long index = strtoul(p + 1, &number_end, 10);

		if (p[1] < '0' || p[1] > '9' || *number_end != ']' || index > UINT32_MAX)
			return -1;
		step->is_index = true;
		step->index = (uint32_t)index;
		*text = number_end + 1;
		return 1;
	}
	step->name = ks_str_of(p, strcspn(p, ".["));
	*text = p + step->name.n;
	return step->name.n ? 1 : -1;
}

static int parse_steps(const char *text, struct step *steps, size_t *n_r)
{
	size_t n = 0;

	for (;;) {
		struct step step = {.slot = UINT64_MAX};
		int result;

		if (n && *text == '.' && *++text == 0)
			return -1;
		result = next_step(&text, &step);
		if (result < 0 || (result && n == STEPS_MOST))
			return -1;
		if (result == 0)
			break;
		if (steps)
			steps[n] = step;
		n++;
	}
	*n_r = n;
	return 0;
}

static const struct ks_path *compile_path(const struct ks_host *host, const char *text)
{
	struct ks_instance *instance = ks_instance_of(host);
	struct ks_path *path = NULL;
	const char *copy;
	size_t n;

	if (parse_steps(text, NULL, &n) < 0)
		return NULL;
	pthread_mutex_lock(&instance->lock);
	copy = ks_arena_dup(&instance->arena, text, strlen(text));
	if (copy)
		path = ks_arena_zalloc(&instance->arena, 1, sizeof(*path) + n * sizeof(struct step));
	pthread_mutex_unlock(&instance->lock);
	if (path && parse_steps(copy, path->steps, &path->n) < 0)
		return NULL;
	return path;
}

static const struct ks_value *step_into_struct(const struct ks_schema *schema, const struct ks_value *node, struct step *step)
{
	uint64_t key = (uint64_t)schema->generation << 32 | (uint32_t)node->type << 16;
	uint64_t known = atomic_load_explicit(&step->slot, memory_order_relaxed);
	uint16_t slot = (uint16_t)known;

	if ((known & ~(uint64_t)UINT16_MAX) != key) {
		slot = ks_schema_slot(schema, node->type, step->name.p, step->name.n);
		atomic_store_explicit(&step->slot, key | slot, memory_order_relaxed);
	}
	return slot < node->n ? &node->items[slot] : NULL;
}

static const struct ks_value *take_step(const struct ks_schema *schema, const struct ks_value *node, struct step *step)
{
	if (step->is_index)
		return node->kind == KS_LIST && step->index < node->n ? &node->items[step->index] : NULL;
	if (node->kind == KS_STRUCT)
		return step_into_struct(schema, node, step);
	return node->kind == KS_MAP ? ks_value_get_str(schema, node, step->name) : NULL;
}

static struct ks_val get(struct ks_val v, const struct ks_path *path)
{
	struct step *steps = (struct step *)path->steps; /* only the remembered slots change */
	const struct ks_value *node = node_of(v);

	for (size_t i = 0; i < path->n && node; i++)
		node = take_step(v.owner, node, &steps[i]);
	return child(v, node);
}

/* -- out -- */

static struct ks_view to_json(struct ks_op *op, struct ks_val v)
{
	struct ks_view text = {NULL, 0};
	struct ks_buf buf;

	if (!v.node)
		return (struct ks_view){"null", 4};
	ks_buf_init(&buf);
	ks_json_encode(v.owner, node_of(v), &buf);
	if (!buf.failed) {
		text.p = ks_arena_dup(&op->arena, buf.data, buf.len);
		text.n = text.p ? buf.len : 0;
	}
	ks_buf_fini(&buf);
	return text;
}

const struct ks_value_ops ks_value_operations = {
	.size = sizeof(struct ks_value_ops),
	.kind = kind_of,
	.string = string_of,
	.integer = integer_of,
	.number = number_of,
	.boolean = boolean_of,
	.length = length_of,
	.item = item_of,
	.member = member_of,
	.iterate = iterate,
	.path = compile_path,
	.get = get,
	.to_json = to_json,
	.edit_set = ks_edit_set,
	.edit_remove = ks_edit_remove,
	.edited = ks_edit_current,
};
