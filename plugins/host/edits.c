/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A mutation's edits: made on a copy, so that a call that fails leaves nothing behind. */
#include <string.h>

#include "core/api/json.h"
#include "plugins/host/internal.h"

enum { EDITS_MOST = 10000, TOKENS_MOST = 64, POINTER_MOST = 4096 };

struct edits {
	const struct ks_schema *schema;
	struct ks_value root; /* the object with the edits so far */
	uint32_t n;
};

struct pointer {
	struct ks_str tokens[TOKENS_MOST];
	size_t n;
};

static struct edits *edits_of(struct ks_op *op)
{
	struct ks_value *object = ks_call_object(op);
	struct edits *edits = op->edits;

	if (edits || !object)
		return edits;
	edits = ks_arena_zalloc(&op->arena, 1, sizeof(*edits));
	if (!edits || !ks_value_copy(&op->arena, object, &edits->root))
		return NULL;
	edits->schema = ks_call_schema(op);
	op->edits = edits;
	return edits;
}

/* -- pointers -- */

/* Undoes ~1 and ~0. False: another '~', or out of memory. */
static bool unescape(struct ks_arena *arena, struct ks_str *token)
{
	char *text;
	size_t n = 0;

	if (!memchr(token->p, '~', token->n))
		return true;
	text = ks_arena_alloc(arena, token->n);
	if (!text)
		return false;
	for (size_t i = 0; i < token->n; i++) {
		char c = token->p[i];

		if (c == '~') {
			if (++i == token->n || (token->p[i] != '0' && token->p[i] != '1'))
				return false;
			c = token->p[i] == '0' ? '~' : '/';
		}
		text[n++] = c;
	}
	*token = ks_str_of(text, n);
	return true;
}

static int parse_pointer(struct ks_op *op, struct ks_view text, struct pointer *pointer)
{
	const char *p = text.p, *end;
	char *copy;

	if (text.n == 0 || text.n > POINTER_MOST || p[0] != '/')
		return ks_op_fail(op, KS_ERR, "an edit needs a JSON pointer such as /metadata/labels/a");
	copy = ks_arena_dup(&op->arena, text.p, text.n);
	if (!copy)
		return KS_ERR_NOMEM;
	end = copy + text.n;
	pointer->n = 0;
	for (p = copy; p < end;) {
		const char *slash = memchr(p + 1, '/', (size_t)(end - p - 1));
		struct ks_str *token = &pointer->tokens[pointer->n];

		if (pointer->n++ == TOKENS_MOST)
			return ks_op_fail(op, KS_ERR_LIMIT, "the JSON pointer has too many parts");
		*token = ks_str_of(p + 1, (size_t)((slash ? slash : end) - p - 1));
		if (!unescape(&op->arena, token))
			return ks_op_fail(op, KS_ERR, "\"%s\" is not a JSON pointer", copy);
		p = slash ? slash : end;
	}
	return KS_DONE;
}

static int no_such(struct ks_op *op, struct ks_str token)
{
	return ks_op_fail(op, KS_ERR, "an edit goes to \"%.*s\", which is not there", (int)token.n, token.p);
}

/* Index in a list; `n` for "-". -1 when it is none. */
static int64_t list_index(struct ks_str token, uint32_t n)
{
	int64_t index = 0;

	if (ks_str_is(token, "-"))
		return n;
	if (token.n == 0 || token.n > 9 || (token.n > 1 && token.p[0] == '0'))
		return -1;
	for (size_t i = 0; i < token.n; i++) {
		if (token.p[i] < '0' || token.p[i] > '9')
			return -1;
		index = index * 10 + (token.p[i] - '0');
	}
	return index;
}

/* -- types -- */

static bool is_free(const struct ks_schema *s, uint16_t type)
{
	uint8_t class_ = s->types[type].class_;

	return type == 0 || class_ == KS_TYPE_RAW || class_ == KS_TYPE_JSON || class_ == KS_TYPE_FIELDS_V1;
}

/* Type of what `token` names in a value of `type`. False: it has no such part. */
static bool type_of_part(const struct ks_schema *s, uint16_t type, struct ks_str token, uint16_t *part_r)
{
	uint16_t slot;

	*part_r = 0;
	if (is_free(s, type))
		return true;
	*part_r = s->types[type].element;
	if (s->types[type].class_ == KS_TYPE_LIST || s->types[type].class_ == KS_TYPE_MAP)
		return true;
	if (s->types[type].class_ != KS_TYPE_STRUCT)
		return false;
	slot = ks_schema_slot(s, type, token.p, token.n);
	if (slot == KS_NO_SLOT)
		return false;
	*part_r = ks_schema_field(s, type, slot)->type;
	return true;
}

static int type_at(struct ks_op *op, const struct edits *edits, const struct pointer *pointer, uint16_t *type_r)
{
	uint16_t type = edits->root.kind == KS_STRUCT ? edits->root.type : 0;

	for (size_t i = 0; i < pointer->n; i++)
		if (!type_of_part(edits->schema, type, pointer->tokens[i], &type))
			return no_such(op, pointer->tokens[i]);
	*type_r = type;
	return KS_DONE;
}

/* -- the walk -- */

struct place {
	struct ks_value *value;
	uint16_t type;
};

/* Makes an absent value an empty one of its type. */
static bool make(struct ks_op *op, const struct ks_schema *s, struct place *at)
{
	uint8_t class_ = s->types[at->type].class_;

	if (ks_value_present(at->value))
		return true;
	if (is_free(s, at->type)) {
		*at->value = (struct ks_value){.kind = KS_MAP};
		return true;
	}
	if (class_ == KS_TYPE_STRUCT)
		return ks_value_new_struct(&op->arena, s, at->type, at->value);
	*at->value = (struct ks_value){.kind = class_ == KS_TYPE_LIST ? KS_LIST : KS_MAP, .type = at->type};
	return class_ == KS_TYPE_LIST || class_ == KS_TYPE_MAP;
}

static struct ks_value *list_place(struct ks_op *op, struct ks_value *list, struct ks_str token)
{
	int64_t index = list_index(token, list->n);

	if (index < 0 || index > list->n)
		return NULL;
	return index < list->n ? &list->items[index] : ks_value_append(&op->arena, list);
}

/* One step further, making what is missing. NULL: there can be nothing of that name, or out of memory. */
static bool go_making(struct ks_op *op, const struct ks_schema *s, struct ks_str token, struct place *at)
{
	uint16_t part;

	if (!make(op, s, at) || !type_of_part(s, at->type, token, &part))
		return false;
	if (at->value->kind == KS_LIST)
		at->value = list_place(op, at->value, token);
	else if (at->value->kind == KS_STRUCT || at->value->kind == KS_MAP)
		at->value = ks_value_put(&op->arena, s, at->value, token);
	else
		return false;
	at->type = part;
	return at->value != NULL;
}

int ks_edit_set(struct ks_op *op, struct ks_view text, struct ks_view json)
{
	struct ks_strict_errors strict = {0};
	struct edits *edits = edits_of(op);
	struct pointer pointer;
	const char *message = NULL;
	struct ks_value value;
	struct place at;
	uint16_t type = 0;
	int result;

	if (!edits)
		return ks_op_fail(op, KS_ERR, "only a mutation that has an object can edit it");
	if (edits->n++ >= EDITS_MOST)
		return ks_op_fail(op, KS_ERR_LIMIT, "more than %d edits", EDITS_MOST);
	result = parse_pointer(op, text, &pointer);
	if (result == KS_DONE)
		result = type_at(op, edits, &pointer, &type);
	if (result != KS_DONE)
		return result;
	if (ks_json_decode(&op->arena, edits->schema, type, KS_DECODE_STRICT, json.p, json.n, &value, &strict, &message) < 0)
		return ks_op_fail(op, KS_ERR, "the value for %.*s: %s", (int)text.n, text.p, message ? message : "out of memory");
	if (strict.n)
		return ks_op_fail(op, KS_ERR, "the value for %.*s: %.*s", (int)text.n, text.p, (int)strict.items[0].n, strict.items[0].p);
	at = (struct place){&edits->root, edits->root.kind == KS_STRUCT ? edits->root.type : 0};
	for (size_t i = 0; i < pointer.n; i++)
		if (!go_making(op, edits->schema, pointer.tokens[i], &at))
			return no_such(op, pointer.tokens[i]);
	*at.value = value;
	return KS_DONE;
}

/* One step further; NULL when there is nothing. */
static struct ks_value *go(const struct ks_schema *s, struct ks_value *value, struct ks_str token)
{
	int64_t index;

	if (value->kind != KS_LIST)
		return ks_value_get_str(s, value, token);
	index = list_index(token, value->n);
	return index >= 0 && index < value->n ? &value->items[index] : NULL;
}

int ks_edit_remove(struct ks_op *op, struct ks_view text)
{
	struct edits *edits = edits_of(op);
	struct ks_value *parent;
	struct pointer pointer;
	struct ks_str last;
	int result;

	if (!edits)
		return ks_op_fail(op, KS_ERR, "only a mutation that has an object can edit it");
	if (edits->n++ >= EDITS_MOST)
		return ks_op_fail(op, KS_ERR_LIMIT, "more than %d edits", EDITS_MOST);
	result = parse_pointer(op, text, &pointer);
	if (result != KS_DONE)
		return result;
	parent = &edits->root;
	for (size_t i = 0; i + 1 < pointer.n; i++) {
		parent = go(edits->schema, parent, pointer.tokens[i]);
		if (!parent)
			return no_such(op, pointer.tokens[i]);
	}
	last = pointer.tokens[pointer.n - 1];
	if (!go(edits->schema, parent, last))
		return no_such(op, last);
	if (parent->kind == KS_LIST)
		ks_value_remove_item(parent, (uint32_t)list_index(last, parent->n));
	else
		ks_value_remove(edits->schema, parent, last);
	return KS_DONE;
}

struct ks_val ks_edit_current(struct ks_op *op)
{
	const struct edits *edits = op->edits;
	const struct ks_value *root = edits ? &edits->root : ks_call_object(op);

	return ks_val_of(ks_call_schema(op), root);
}

void ks_edits_commit(struct ks_op *op, struct ks_value *object)
{
	const struct edits *edits = op->edits;

	if (!edits || !edits->n)
		return;
	*object = edits->root;
	op->edited = true;
}
