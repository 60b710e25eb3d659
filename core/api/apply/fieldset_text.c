/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Path elements: their order, and the texts that stand for them. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "core/api/apply/fieldset.h"
#include "core/api/json.h"
#include "core/api/quote.h"

/* -- order ---------------------------------------------------------------------------------------------------- */

/* Numbers, texts, booleans, and what cannot be an element in a place of its own. */
static int rank(const struct ks_value *v)
{
	switch (v->kind) {
	case KS_FLOAT:
	case KS_INT:
		return 0;
	case KS_STRING:
		return 1;
	case KS_BOOL:
		return 2;
	case KS_LIST:
		return 3;
	case KS_MAP:
		return 4;
	default:
		return 5;
	}
}

static double number_of(const struct ks_value *v)
{
	return v->kind == KS_INT ? (double)v->integer : v->number;
}

static int compare_values(const struct ks_value *a, const struct ks_value *b);

static int compare_members(const struct ks_value *a, const struct ks_value *b)
{
	for (uint32_t i = 0; i < a->n && i < b->n; i++) {
		int c = ks_str_cmp(a->members[i].key, b->members[i].key);

		if (!c)
			c = compare_values(&a->members[i].value, &b->members[i].value);
		if (c)
			return c;
	}
	return a->n < b->n ? -1 : a->n > b->n;
}

static int compare_items(const struct ks_value *a, const struct ks_value *b)
{
	for (uint32_t i = 0; i < a->n && i < b->n; i++) {
		int c = compare_values(&a->items[i], &b->items[i]);

		if (c)
			return c;
	}
	return a->n < b->n ? -1 : a->n > b->n;
}

static int compare_values(const struct ks_value *a, const struct ks_value *b)
{
	int x = rank(a), y = rank(b);

	if (x != y)
		return x < y ? -1 : 1;
	switch (x) {
	case 0:
		if (a->kind == KS_INT && b->kind == KS_INT)
			return a->integer < b->integer ? -1 : a->integer > b->integer;
		return number_of(a) < number_of(b) ? -1 : number_of(a) > number_of(b);
	case 1:
		return ks_str_cmp(ks_value_str(a), ks_value_str(b));
	case 2:
		return (int)a->boolean - (int)b->boolean;
	case 3:
		return compare_items(a, b);
	case 4:
		return compare_members(a, b);
	default:
		return 0;
	}
}

int ks_path_element_compare(const struct ks_path_element *a, const struct ks_path_element *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == KS_PATH_FIELD)
		return a->value.string == b->value.string && a->value.n == b->value.n ? 0 : ks_str_cmp(ks_value_str(&a->value), ks_value_str(&b->value));
	if (a->kind == KS_PATH_KEY)
		return compare_members(&a->value, &b->value);
	return compare_values(&a->value, &b->value);
}

/* -- for messages --------------------------------------------------------------------------------------------- */

static void print_value(const struct ks_value *v, struct ks_buf *out)
{
	if (v->kind == KS_STRING)
		ks_quote_to(out, ks_value_str(v));
	else
		ks_json_encode(NULL, v, out);
}

void ks_path_element_print(const struct ks_path_element *element, struct ks_buf *out)
{
	const struct ks_value *v = &element->value;

	if (element->kind == KS_PATH_FIELD) {
		ks_buf_add_char(out, '.');
		ks_buf_add(out, v->string, v->n);
		return;
	}
	ks_buf_add_char(out, '[');
	for (uint32_t i = 0; element->kind == KS_PATH_KEY && i < v->n; i++) {
		if (i)
			ks_buf_add_char(out, ',');
		ks_buf_add(out, v->members[i].key.p, v->members[i].key.n);
		ks_buf_add_char(out, '=');
		print_value(&v->members[i].value, out);
	}
	if (element->kind == KS_PATH_VALUE)
		ks_buf_add_char(out, '=');
	if (element->kind != KS_PATH_KEY)
		print_value(v, out);
	ks_buf_add_char(out, ']');
}

/* -- fieldsV1 ------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return ks_str_cmp(((const struct ks_member *)a)->key, ((const struct ks_member *)b)->key);
}

static int parse_index(struct ks_str text, struct ks_value *out)
{
	char digits[24], *end;
	long long index;

	if (!text.n || text.n >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text.p, text.n);
	digits[text.n] = '\0';
	errno = 0;
	index = strtoll(digits, &end, 10);
	if (*end || errno || (digits[0] != '-' && digits[0] != '+' && (digits[0] < '0' || digits[0] > '9')))
		return -EINVAL;
	*out = ks_value_from_int(index);
	return 0;
}

static int parse_json(struct ks_arena *arena, struct ks_str text, struct ks_path_element *out)
{
	const char *message;
	int result = ks_json_decode(arena, NULL, 0, KS_DECODE_BORROW, text.p, text.n, &out->value, NULL, &message);

	if (result || out->kind == KS_PATH_VALUE)
		return result;
	if (out->value.kind != KS_MAP)
		return -EINVAL;
	if (out->value.n > 1)
		qsort(out->value.members, out->value.n, sizeof(struct ks_member), by_name);
	return 0;
}

/* 1: an element; 0: one of a kind that nobody knows yet. */
static int parse_element(struct ks_arena *arena, struct ks_str key, struct ks_path_element *out)
{
	struct ks_str rest = key.n >= 2 ? ks_str_of(key.p + 2, key.n - 2) : (struct ks_str){0};
	int result = 0;

	if (key.n < 2 || key.p[1] != ':')
		return -EINVAL;
	switch (key.p[0]) {
	case 'f':
		*out = ks_path_field(rest);
		break;
	case 'k':
		out->kind = KS_PATH_KEY;
		result = parse_json(arena, rest, out);
		break;
	case 'v':
		out->kind = KS_PATH_VALUE;
		result = parse_json(arena, rest, out);
		break;
	case 'i':
		out->kind = KS_PATH_INDEX;
		result = parse_index(rest, &out->value);
		break;
	default:
		return 0;
	}
	return result ? result : 1;
}

struct parsed {
	struct ks_path_element element;
	const struct ks_value *below;
};

static int by_element(const void *a, const void *b)
{
	return ks_path_element_compare(&((const struct parsed *)a)->element, &((const struct parsed *)b)->element);
}

/* The elements of one level, sorted: who wrote them kept no order. `*self_r`: "." is among them. */
static int parse_elements(struct ks_arena *arena, const struct ks_value *fields, struct parsed **out_r, uint32_t *n_r, bool *self_r)
{
	struct parsed *out = ks_arena_alloc(arena, (fields->n + 1) * sizeof(*out));
	uint32_t n = 0;

	if (!out)
		return -ENOMEM;
	for (uint32_t i = 0; i < fields->n; i++) {
		int result;

		if (ks_str_is(fields->members[i].key, ".")) {
			*self_r = true;
			continue;
		}
		out[n] = (struct parsed){.below = &fields->members[i].value};
		result = parse_element(arena, fields->members[i].key, &out[n].element);
		if (result < 0)
			return result;
		n += result == 1;
	}
	if (n > 1)
		qsort(out, n, sizeof(*out), by_element);
	*out_r = out;
	*n_r = n;
	return 0;
}

/* `*self_r`: what the fields are of is a member too, or nothing else. */
static int parse(struct ks_arena *arena, const struct ks_value *fields, struct ks_fieldset *set, bool *self_r)
{
	struct parsed *elements = NULL;
	uint32_t n = 0;
	int result;

	*self_r = false;
	if (fields->kind != KS_MAP && ks_value_present(fields))
		return -EINVAL;
	if (fields->kind == KS_MAP && (result = parse_elements(arena, fields, &elements, &n, self_r)))
		return result;
	for (uint32_t i = 0; i < n; i++) {
		struct ks_fieldset_entry *entry;
		struct ks_fieldset children = {0};
		bool member;

		result = parse(arena, elements[i].below, &children, &member);
		if (result)
			return result;
		if (!(entry = ks_fieldset_put(arena, set, &elements[i].element)) ||
			!ks_fieldset_union(arena, &entry->children, &children, &entry->children))
			return -ENOMEM;
		entry->member |= member;
	}
	if (!set->n)
		*self_r = true;
	return 0;
}

int ks_fieldset_parse(struct ks_arena *arena, const struct ks_value *fields, struct ks_fieldset *out_r)
{
	struct ks_fieldset set = {0};
	bool self;
	int result = parse(arena, fields, &set, &self);

	if (!result)
		*out_r = set;
	return result;
}

static bool print_key(struct ks_arena *arena, const struct ks_path_element *element, struct ks_str *out_r)
{
	static const char letters[] = "fkvi";
	struct ks_buf text;
	char *copy;

	ks_buf_init(&text);
	ks_buf_add_char(&text, letters[element->kind]);
	ks_buf_add_char(&text, ':');
	if (element->kind == KS_PATH_FIELD)
		ks_buf_add(&text, element->value.string, element->value.n);
	else
		ks_json_encode(NULL, &element->value, &text);
	copy = text.failed ? NULL : ks_arena_dup(arena, text.data, text.len);
	*out_r = ks_str_of(copy, text.len);
	ks_buf_fini(&text);
	return copy;
}

static bool add_entry(struct ks_arena *arena, const struct ks_fieldset_entry *entry, struct ks_value *out)
{
	struct ks_value *value;
	struct ks_str key;

	if (!print_key(arena, &entry->element, &key) || !(value = ks_value_add(arena, out, key)))
		return false;
	*value = (struct ks_value){.kind = KS_MAP};
	if (entry->children.n && entry->member) {
		struct ks_value *self = ks_value_add(arena, value, KS_STR_LIT("."));

		if (!self)
			return false;
		*self = (struct ks_value){.kind = KS_MAP};
	}
	for (uint32_t i = 0; i < entry->children.n; i++)
		if (!add_entry(arena, &entry->children.entries[i], value))
			return false;
	return true;
}

bool ks_fieldset_to_value(struct ks_arena *arena, const struct ks_fieldset *set, struct ks_value *out_r)
{
	struct ks_value out = {.kind = KS_MAP};

	for (uint32_t i = 0; i < set->n; i++)
		if (!add_entry(arena, &set->entries[i], &out))
			return false;
	*out_r = out;
	return true;
}
