/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Conflicts of an apply, and those that who comes from client-side apply is forgiven. */
#include <errno.h>
#include <stdlib.h>

#include "core/api/json.h"
#include "core/api/managed_versions.h"

/* As the API limits annotations. */
enum { MOST_ANNOTATIONS = 256 * 1024 };

/* -- the list ------------------------------------------------------------------------------------------------- */

struct adding {
	struct ks_arena *arena;
	struct ks_conflicts *conflicts;
	const char *manager, *identity;
	struct ks_conflict *items;
	uint32_t n;
	bool failed;
};

static void count(void *arg, const struct ks_path_element *path, uint32_t n)
{
	struct adding *adding = arg;

	(void)path;
	(void)n;
	adding->n++;
}

static const char *print_path(struct ks_arena *arena, const struct ks_path_element *path, uint32_t n)
{
	const char *out;
	struct ks_buf text;

	ks_buf_init(&text);
	for (uint32_t i = 0; i < n; i++)
		ks_path_element_print(&path[i], &text);
	out = text.failed ? NULL : ks_arena_dup(arena, text.data, text.len);
	ks_buf_fini(&text);
	return out;
}

static void add(void *arg, const struct ks_path_element *path, uint32_t n)
{
	struct adding *adding = arg;
	struct ks_conflict *item = &adding->items[adding->conflicts->n];
	struct ks_path_element *elements = ks_arena_alloc(adding->arena, n * sizeof(*elements));

	*item = (struct ks_conflict){.manager = adding->manager, .identity = adding->identity, .elements = elements, .n = n,
		.number = adding->conflicts->n, .path = print_path(adding->arena, path, n)};
	if (!elements || !item->path) {
		adding->failed = true;
		return;
	}
	memcpy(elements, path, n * sizeof(*elements));
	adding->conflicts->n++;
}

bool ks_conflicts_add(struct ks_arena *arena, struct ks_conflicts *conflicts, const struct ks_manager *manager, const struct ks_fieldset *set)
{
	struct adding adding = {.arena = arena, .conflicts = conflicts};

	adding.manager = ks_manager_print(arena, manager);
	adding.identity = ks_manager_identity(arena, manager);
	ks_fieldset_each(set, count, &adding);
	adding.items = ks_arena_alloc(arena, (conflicts->n + adding.n) * sizeof(*adding.items));
	if (!adding.manager || !adding.identity || !adding.items)
		return false;
	if (conflicts->n)
		memcpy(adding.items, conflicts->items, conflicts->n * sizeof(*adding.items));
	conflicts->items = adding.items;
	ks_fieldset_each(set, add, &adding);
	return !adding.failed;
}

static int by_manager(const void *a, const void *b)
{
	const struct ks_conflict *x = a, *y = b;
	int c = strcmp(x->identity, y->identity);

	return c ? c : x->number < y->number ? -1 : x->number > y->number;
}

bool ks_conflicts_print(struct ks_arena *arena, struct ks_conflicts *conflicts)
{
	const char *before = NULL;
	struct ks_buf text;

	if (conflicts->n == 1) {
		conflicts->message = ks_arena_printf(arena, "Apply failed with 1 conflict: conflict with %s: %s", conflicts->items[0].manager,
			conflicts->items[0].path);
		return conflicts->message;
	}
	qsort(conflicts->items, conflicts->n, sizeof(*conflicts->items), by_manager);
	ks_buf_init(&text);
	ks_buf_printf(&text, "Apply failed with %u conflicts:", conflicts->n);
	for (uint32_t i = 0; i < conflicts->n; i++) {
		const struct ks_conflict *item = &conflicts->items[i];

		if (!before || strcmp(before, item->identity))
			ks_buf_printf(&text, "%cconflicts with %s:", before ? '\n' : ' ', item->manager);
		before = item->identity;
		ks_buf_printf(&text, "\n- %s", item->path);
	}
	conflicts->message = text.failed ? NULL : ks_arena_dup(arena, text.data, text.len);
	ks_buf_fini(&text);
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
	int known = still_applied(arena, op, live, &allowed);
	uint32_t kept = 0;

	if (known <= 0)
		return known ? known : -EEXIST;
	for (uint32_t i = 0; i < conflicts->n; i++)
		if (!ks_fieldset_has(&allowed, conflicts->items[i].elements, conflicts->items[i].n))
			conflicts->items[kept++] = conflicts->items[i];
	conflicts->n = kept;
	return kept ? -EEXIST : 0;
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
