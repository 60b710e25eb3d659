/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Server-side apply: a JSON list of configurations behind a byte that says of which type. Two managers apply them in turn, each twice: the
 * second time changes nothing, and what is kept about managers can be read again. */
#include <assert.h>
#include <errno.h>

#include "core/api/apply/managed.h"
#include "core/api/apply/typed.h"
#include "core/api/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 64 << 20 };

static const struct ks_schema *const s = &ks_schema_builtin;

/* What is written of a set says the same when it is read. */
static void check_fields(struct ks_arena *arena, const struct ks_value *fields)
{
	struct ks_fieldset set, again;
	struct ks_value text;

	if (ks_fieldset_parse(arena, fields, &set) || !ks_fieldset_to_value(arena, &set, &text))
		return;
	assert(!ks_fieldset_parse(arena, &text, &again));
	assert(ks_fieldset_equal(&set, &again));
}

static void check_managers(struct ks_arena *arena, const struct ks_value *object)
{
	const struct ks_value *list = ks_value_at(s, object, "metadata.managedFields");

	for (uint32_t i = 0; list && i < list->n; i++)
		check_fields(arena, ks_value_get(s, &list->items[i], "fieldsV1"));
}

/* `object` is the result, or as it was. False when it was refused. */
static bool apply(struct ks_arena *arena, struct ks_managed_op *op, const struct ks_value *config, struct ks_value *object)
{
	struct ks_conflicts conflicts = {0};
	const char *message = NULL;
	struct ks_value out;
	enum ks_managed_result result = ks_managed_apply(arena, op, object, config, &out, &conflicts, &message);

	if (result == KS_APPLIED) {
		*object = out;
		check_managers(arena, object);
		return true;
	}
	assert(result != KS_APPLY_CONFLICT || (conflicts.n && conflicts.message));
	assert((result != KS_APPLY_BAD_CONFIG && result != KS_APPLY_BAD_OBJECT) || message);
	return false;
}

static void take_turns(struct ks_arena *arena, uint16_t type, const struct ks_value *list)
{
	struct ks_managed_op op = {.schema = s, .type = type, .version = KS_STR_LIT("v1"), .now = KS_STR_LIT("2026-01-01T00:00:00Z")};
	struct ks_value object, before;

	if (!ks_value_new_struct(arena, s, type, &object))
		return;
	for (uint32_t i = 0; i < list->n; i++) {
		op.manager = i % 2 ? KS_STR_LIT("one") : KS_STR_LIT("two");
		op.force = i % 3 != 0;
		if (list->items[i].kind != KS_MAP || !apply(arena, &op, &list->items[i], &object))
			continue;
		before = object;
		assert(apply(arena, &op, &list->items[i], &object) || arena->used >= LIMIT / 2);
		assert(ks_value_equal(&before, &object));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"io.k8s.api.apps.v1.Deployment", "io.k8s.api.core.v1.Service", "io.k8s.api.core.v1.ConfigMap",
		"io.k8s.api.core.v1.Pod"};
	struct ks_arena arena;
	struct ks_value list;
	const char *message;

	if (size == 0)
		return 0;
	ks_arena_init(&arena, LIMIT);
	if (!ks_json_decode(&arena, NULL, 0, 0, (const char *)data + 1, size - 1, &list, NULL, &message)) {
		check_fields(&arena, &list);
		if (list.kind == KS_LIST && list.n <= 8)
			take_turns(&arena, ks_schema_find_type(s, names[data[0] % 4]), &list);
	}
	ks_arena_fini(&arena);
	return 0;
}
