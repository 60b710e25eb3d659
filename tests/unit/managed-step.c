/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "managed-step.h"

#include <stdio.h>
#include <string.h>

void managed_object_init(struct managed_object *o, struct ks_arena *arena, struct thing_schema *things, struct ks_str kind)
{
	const char *space;

	*o = (struct managed_object){.arena = arena, .things = things, .schema = things ? &things->schema : &ks_schema_builtin};
	if (things) {
		o->version = KS_STR_LIT(THING_GROUP "v1");
		o->kind = KS_STR_LIT("Thing");
		return;
	}
	space = memchr(kind.p, ' ', kind.n);
	assert_non_null(space);
	o->version = ks_str_of(kind.p, (size_t)(space - kind.p));
	o->kind = ks_str_of(space + 1, kind.n - o->version.n - 1);
}

static uint16_t type_of(const struct managed_object *o, struct ks_str version)
{
	struct ks_str group = {0}, name = version;
	const char *slash = memchr(version.p, '/', version.n);
	const struct ks_kind *kind;

	if (o->things) {
		assert_non_null(thing_version_of(o->things, version));
		return thing_version_of(o->things, version)->type;
	}
	if (slash) {
		group = ks_str_of(version.p, (size_t)(slash - version.p));
		name = ks_str_of(slash + 1, version.n - group.n - 1);
	}
	kind = ks_schema_find_kind(o->schema, group, name, o->kind);
	assert_non_null(kind);
	return kind->type;
}

static struct ks_value *text_at(struct managed_object *o, struct ks_value *object, const char *path, struct ks_str text)
{
	struct ks_value *place = ks_value_put_at(o->arena, NULL, object, path);

	assert_non_null(place);
	if (place->kind == KS_ABSENT)
		*place = ks_value_from_str(text);
	return place;
}

static struct ks_value typed(struct managed_object *o, uint16_t type, const struct ks_value *tree)
{
	struct ks_value out;
	const char *message = "";

	if (ks_value_convert(o->arena, o->schema, type, 0, tree, &out, NULL, &message))
		fail_msg("%s", message);
	return out;
}

/* -- steps ---------------------------------------------------------------------------------------------------- */

static struct ks_str text_of(const struct ks_value *step, const char *name)
{
	return ks_value_str(ks_value_get(NULL, step, name));
}

static struct ks_str version_of(struct managed_object *o, const struct ks_value *step)
{
	struct ks_str said = text_of(step, "version");

	return said.n ? ks_str_from(ks_arena_printf(o->arena, THING_GROUP "%.*s", (int)said.n, said.p)) : o->version;
}

static void read_reset(struct managed_object *o, const struct ks_value *step, struct ks_managed_op *op)
{
	const struct ks_value *paths = ks_value_get(NULL, step, "reset");
	const char **texts;

	if (!paths)
		return;
	texts = ks_arena_alloc(o->arena, paths->n * sizeof(*texts));
	assert_non_null(texts);
	for (uint32_t i = 0; i < paths->n; i++)
		texts[i] = ks_arena_dup(o->arena, paths->items[i].string, paths->items[i].n);
	op->reset = texts;
	op->n_reset = paths->n;
}

static struct ks_managed_op read_op(struct managed_object *o, const struct ks_value *step)
{
	const struct ks_value *force = ks_value_get(NULL, step, "force");
	struct ks_managed_op op = {.schema = o->schema,
		.version = version_of(o, step),
		.manager = text_of(step, "manager"),
		.subresource = text_of(step, "subresource"),
		.force = force && force->boolean};

	op.type = type_of(o, op.version);
	op.now = ks_str_from(ks_arena_printf(o->arena, "2020-01-01T00:%02u:%02uZ", o->steps / 60 % 60, o->steps % 60));
	if (o->things) {
		op.convert = thing_convert;
		op.convert_arg = o->things;
	}
	read_reset(o, step, &op);
	return op;
}

/* The stored object in the version of the write. */
static struct ks_value live_of(struct managed_object *o, const struct ks_managed_op *op)
{
	struct ks_str version = text_of(&o->stored, "apiVersion");
	struct ks_value live;

	if (o->stored.kind == KS_ABSENT) {
		assert_true(ks_value_new_struct(o->arena, o->schema, op->type, &live));
		return live;
	}
	live = typed(o, type_of(o, version), &o->stored);
	if (!ks_str_eq(version, op->version))
		assert_int_equal(thing_convert(o->things, o->arena, version, &live, op->version, &live), 0);
	return live;
}

static struct ks_value whole_tree(struct managed_object *o, const struct ks_value *step, struct ks_str version)
{
	struct ks_value tree;

	assert_true(ks_value_copy(o->arena, ks_value_get(NULL, step, "object"), &tree));
	text_at(o, &tree, "apiVersion", version);
	text_at(o, &tree, "kind", o->kind);
	text_at(o, &tree, "metadata.name", KS_STR_LIT("x"));
	return tree;
}

static struct ks_value update(struct managed_object *o, const struct ks_managed_op *op, const struct ks_value *live, struct ks_value *tree)
{
	struct ks_str uid = ks_value_str(ks_value_at(o->schema, live, "metadata.uid"));
	struct ks_value object;

	if (uid.n)
		text_at(o, tree, "metadata.uid", uid);
	object = typed(o, op->type, tree);
	assert_int_equal(ks_managed_update(o->arena, op, live, &object), 0);
	return object;
}

struct managed_outcome managed_step(struct managed_object *o, const struct ks_value *step)
{
	struct ks_managed_op op = read_op(o, step);
	struct ks_value live = live_of(o, &op), tree = whole_tree(o, step, op.version), object;
	struct managed_outcome outcome = {0};

	o->steps++;
	if (ks_str_is(text_of(step, "op"), "apply")) {
		outcome.result = ks_managed_apply(o->arena, &op, &live, &tree, &object, &outcome.conflicts, &outcome.message);
		assert_int_not_equal(outcome.result, KS_APPLY_NO_MEMORY);
		if (outcome.result)
			return outcome;
	} else {
		object = update(o, &op, &live, &tree);
	}
	assert_true(ks_value_to_free(o->arena, o->schema, &object, &o->stored));
	text_at(o, &o->stored, "metadata.uid", KS_STR_LIT("u"));
	return outcome;
}

/* -- what came of it ------------------------------------------------------------------------------------------ */

static const char *entry_name(struct managed_object *o, const struct ks_value *entry)
{
	struct ks_str manager = text_of(entry, "manager"), operation = text_of(entry, "operation"), version = text_of(entry, "apiVersion"),
		      subresource = text_of(entry, "subresource"), time = text_of(entry, "time");
	char when[16] = "-";

	if (time.n == strlen("2020-01-01T00:00:00Z"))
		snprintf(when, sizeof(when), "%d", (time.p[14] - '0') * 600 + (time.p[15] - '0') * 60 + (time.p[17] - '0') * 10 + time.p[18] - '0');
	return ks_arena_printf(o->arena, "%.*s %.*s%s%.*s %.*s @%s", (int)manager.n, manager.p, (int)operation.n, operation.p,
		subresource.n ? "/" : "", (int)subresource.n, subresource.p, (int)version.n, version.p, when);
}

struct ks_value managed_entries(struct managed_object *o)
{
	const struct ks_value *list = ks_value_at(NULL, &o->stored, "metadata.managedFields");
	struct ks_value out = {.kind = KS_LIST};

	for (uint32_t i = 0; list && i < list->n; i++) {
		const struct ks_value *fields = ks_value_get(NULL, &list->items[i], "fieldsV1");
		struct ks_value *entry = ks_value_append(o->arena, &out), *item;

		assert_non_null(entry);
		*entry = (struct ks_value){.kind = KS_LIST};
		item = ks_value_append(o->arena, entry);
		assert_non_null(item);
		*item = ks_value_from_str(ks_str_from(entry_name(o, &list->items[i])));
		item = ks_value_append(o->arena, entry);
		assert_non_null(item);
		*item = fields ? *fields : (struct ks_value){.kind = KS_NULL};
	}
	return out;
}

struct ks_value managed_content(struct managed_object *o)
{
	static const char *const common[] = {"name", "uid", "managedFields"};
	struct ks_value out, *metadata;

	assert_true(ks_value_copy(o->arena, &o->stored, &out));
	ks_value_remove(NULL, &out, KS_STR_LIT("apiVersion"));
	ks_value_remove(NULL, &out, KS_STR_LIT("kind"));
	metadata = ks_value_get(NULL, &out, "metadata");
	for (size_t i = 0; metadata && i < sizeof(common) / sizeof(*common); i++)
		ks_value_remove(NULL, metadata, ks_str_from(common[i]));
	if (metadata && !metadata->n)
		ks_value_remove(NULL, &out, KS_STR_LIT("metadata"));
	return out;
}
