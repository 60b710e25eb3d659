/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Conflicts of an apply, and those that who comes from client-side apply is forgiven. */
#include <errno.h>
#include <stdlib.h>

#include "core/api/apply/managed_versions.h"
#include "core/api/json.h"

enum {
	MOST_ANNOTATIONS = 256 * 1024, /* as the API limits them */
	MOST_TEXT = 256 * 1024,        /* of a message: a long path in front of each conflict could make many times the configuration of it */
};

/* -- the list ------------------------------------------------------------------------------------------------- */

/* What one manager has. */
struct ks_conflict_group {
	struct ks_conflict_group *next;
	const char *manager, *identity;
	struct ks_fieldset set;
};

bool ks_conflicts_add(struct ks_arena *arena, struct ks_conflicts *conflicts, const struct ks_manager *manager, const struct ks_fieldset *set)
{
	struct ks_conflict_group *group = ks_arena_zalloc(arena, 1, sizeof(*group));

	if (!group)
		return false;
	group->manager = ks_manager_print(arena, manager);
	group->identity = ks_manager_identity(arena, manager);
	group->set = *set;
	if (!group->manager || !group->identity)
		return false;
	group->next = conflicts->groups;
	conflicts->groups = group;
	return true;
}

static int by_identity(const void *a, const void *b)
{
	return strcmp((*(const struct ks_conflict_group *const *)a)->identity, (*(const struct ks_conflict_group *const *)b)->identity);
}

static bool sort(struct ks_arena *arena, struct ks_conflicts *conflicts)
{
	struct ks_conflict_group **sorted, *group;
	size_t n = 0;

	for (group = conflicts->groups; group; group = group->next)
		n++;
	sorted = ks_arena_zalloc(arena, n + 1, sizeof(*sorted));
	if (!sorted)
		return false;
	n = 0;
	for (group = conflicts->groups; group; group = group->next)
		sorted[n++] = group;
	qsort(sorted, n, sizeof(*sorted), by_identity);
	for (size_t i = 0; i < n; i++)
		sorted[i]->next = sorted[i + 1];
	conflicts->groups = sorted[0];
	return true;
}

struct listing {
	struct ks_arena *arena;
	struct ks_conflicts *conflicts;
	const struct ks_conflict_group *group;
	struct ks_buf text;
	uint32_t total;
	bool failed;
};

static void count(void *arg, const struct ks_path_element *path, uint32_t n)
{
	struct listing *l = arg;

	(void)path;
	(void)n;
	l->total++;
}

static void list(void *arg, const struct ks_path_element *path, uint32_t n)
{
	struct listing *l = arg;
	struct ks_conflict *item = &l->conflicts->items[l->conflicts->n];
	size_t before = l->text.len;
	const char *text;

	if (before >= MOST_TEXT)
		return;
	ks_buf_add_str(&l->text, "\n- ");
	for (uint32_t i = 0; i < n; i++)
		ks_path_element_print(&path[i], &l->text);
	text = l->text.failed ? NULL : ks_arena_dup(l->arena, l->text.data + before + 3, l->text.len - before - 3);
	*item = (struct ks_conflict){.manager = l->group->manager, .path = text};
	l->failed |= !text;
	l->conflicts->n++;
}

static bool list_all(struct listing *l)
{
	const struct ks_conflict_group *groups = l->conflicts->groups;

	for (l->group = groups; l->group && !l->failed; l->group = l->group->next) {
		if (l->text.len >= MOST_TEXT)
			break;
		ks_buf_printf(&l->text, "%cconflicts with %s:", l->group == groups ? ' ' : '\n', l->group->manager);
		ks_fieldset_each(&l->group->set, list, l);
	}
	return !l->failed && !l->text.failed;
}

bool ks_conflicts_print(struct ks_arena *arena, struct ks_conflicts *conflicts)
{
	struct listing l = {.arena = arena, .conflicts = conflicts};

	if (!sort(arena, conflicts))
		return false;
	for (const struct ks_conflict_group *group = conflicts->groups; group; group = group->next)
		ks_fieldset_each(&group->set, count, &l);
	conflicts->n = 0;
	conflicts->items = ks_arena_alloc(arena, (l.total + 1U) * sizeof(*conflicts->items));
	if (!conflicts->items)
		return false;
	ks_buf_init(&l.text);
	ks_buf_printf(&l.text, "Apply failed with %u conflicts:", l.total);
	conflicts->message = list_all(&l) ? ks_arena_dup(arena, l.text.data, l.text.len) : NULL;
	ks_buf_fini(&l.text);
	if (conflicts->message && l.total == 1)
		conflicts->message = ks_arena_printf(arena, "Apply failed with 1 conflict: conflict with %s: %s", conflicts->items[0].manager,
			conflicts->items[0].path);
	return conflicts->message;
}

/* -- from client-side apply ----------------------------------------------------------------------------------- */

static struct ks_value *last_applied(const struct ks_schema *s, const struct ks_value *object)
{
	struct ks_value *annotations = ks_value_at(s, object, "metadata.annotations");

	return annotations ? ks_value_get(s, annotations, KS_LAST_APPLIED) : NULL;
}

/* What the annotation names and the object still has as it says. 1, or 0 when that can't be told, or -ENOMEM. */
static int still_applied(struct ks_arena *arena, const struct ks_managed_op *op, const struct ks_value *live, struct ks_fieldset *out)
{
	struct ks_str text = ks_value_str(last_applied(op->schema, live));
	struct ks_value config, typed;
	struct ks_comparison changes;
	const char *message;
	int result = text.n ? ks_json_decode(arena, NULL, 0, KS_DECODE_BORROW, text.p, text.n, &config, NULL, &message) : -EINVAL;

	if (!result && (config.kind != KS_MAP || !ks_str_eq(ks_value_str(ks_value_get(NULL, &config, "apiVersion")), op->version)))
		return 0;
	if (!result)
		result = ks_typed_read(arena, op->schema, op->type, &config, &typed, &message);
	if (result)
		return result == -EINVAL ? 0 : result;
	if (!ks_typed_fields(arena, op->schema, &typed, out) || !ks_typed_compare(arena, op->schema, &typed, live, &changes) ||
		!ks_fieldset_difference(arena, out, &changes.modified, out) || !ks_fieldset_difference(arena, out, &changes.added, out) ||
		!ks_fieldset_difference(arena, out, &changes.removed, out))
		return -ENOMEM;
	return 1;
}

int ks_managed_forgive(struct ks_arena *arena, const struct ks_managed_op *op, const struct ks_value *live, struct ks_conflicts *conflicts)
{
	struct ks_fieldset allowed = {0};
	struct ks_conflict_group **place = &conflicts->groups;
	int known = still_applied(arena, op, live, &allowed);

	if (known <= 0)
		return known ? known : -EEXIST;
	while (*place) {
		if (!ks_fieldset_difference(arena, &(*place)->set, &allowed, &(*place)->set))
			return -ENOMEM;
		if ((*place)->set.n)
			place = &(*place)->next;
		else
			*place = (*place)->next;
	}
	return conflicts->groups ? -EEXIST : 0;
}

static size_t size_of(const struct ks_value *annotations)
{
	size_t size = 0;

	for (uint32_t i = 0; i < annotations->n; i++)
		size += annotations->members[i].key.n + ks_value_str(&annotations->members[i].value).n;
	return size;
}

/* The configuration without the annotation itself, and a line end, as kubectl writes it. NULL when out of memory. */
static char *print_configuration(struct ks_arena *arena, const struct ks_value *config, size_t *n_r)
{
	struct ks_value copy, *annotations;
	struct ks_buf text;
	char *out = NULL;

	if (!ks_value_copy(arena, config, &copy))
		return NULL;
	annotations = ks_value_at(NULL, &copy, "metadata.annotations");
	if (annotations)
		ks_value_remove(NULL, annotations, KS_STR_LIT(KS_LAST_APPLIED));
	ks_buf_init(&text);
	ks_json_encode(NULL, &copy, &text);
	ks_buf_add_char(&text, '\n');
	if (!text.failed)
		out = ks_arena_dup(arena, text.data, text.len);
	*n_r = text.len;
	ks_buf_fini(&text);
	return out;
}

int ks_managed_note_applied(struct ks_arena *arena, const struct ks_managed_op *op, const struct ks_value *config, struct ks_value *object)
{
	struct ks_value *place = last_applied(op->schema, object);
	char *text;
	size_t n;

	if (!ks_value_str(place).n)
		return 0;
	text = print_configuration(arena, config, &n);
	if (!text)
		return -ENOMEM;
	*place = ks_value_from_str(ks_str_of(text, n));
	if (size_of(ks_value_at(op->schema, object, "metadata.annotations")) > MOST_ANNOTATIONS)
		ks_value_remove(op->schema, ks_value_at(op->schema, object, "metadata.annotations"), KS_STR_LIT(KS_LAST_APPLIED));
	return 0;
}
