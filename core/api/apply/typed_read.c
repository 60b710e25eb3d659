/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A configuration that is to be applied: checked against the schema, and brought into its slots. */
#include <errno.h>
#include <stdlib.h>

#include "core/api/apply/typed.h"
#include "core/api/json.h"
#include "core/api/quote.h"

/* Of messages. A long path in front of each could make many times the configuration of them. */
enum { MOST_TEXT = 256 * 1024 };

struct reader {
	struct ks_arena *arena;
	const struct ks_schema *s;
	struct ks_buf path;     /* of what is being read */
	struct ks_buf messages; /* one a line, as many as go into MOST_TEXT */
	uint32_t n;
	bool failed;
};

static void complain(struct reader *r, const char *text)
{
	if (r->messages.len >= MOST_TEXT)
		return;
	ks_buf_add_str(&r->messages, r->n++ ? "\n  " : "  ");
	if (r->path.len) {
		ks_buf_add(&r->messages, r->path.data, r->path.len);
		ks_buf_add_str(&r->messages, ": ");
	}
	ks_buf_add_str(&r->messages, text);
}

static void complain_with(struct reader *r, struct ks_buf *text)
{
	ks_buf_add_char(text, '\0');
	if (text->failed)
		r->failed = true;
	else
		complain(r, text->data);
	ks_buf_fini(text);
}

/* Upstream shows its own wrapping of values: messages are the same to the letter. */
static void expected(struct reader *r, const char *what, const struct ks_value *v)
{
	struct ks_buf text;

	ks_buf_init(&text);
	ks_buf_printf(&text, "expected %s, got &{", what);
	ks_value_print(v, &text);
	ks_buf_add_char(&text, '}');
	complain_with(r, &text);
}

/* As Go's %#v prints it. */
static void print_go(const struct ks_value *v, struct ks_buf *out)
{
	bool list = v->kind == KS_LIST;

	if (!list && v->kind != KS_MAP) {
		ks_json_encode(NULL, v, out);
		return;
	}
	ks_buf_add_str(out, list ? "[]interface {}{" : "map[string]interface {}{");
	for (uint32_t i = 0; i < v->n; i++) {
		if (i)
			ks_buf_add_str(out, ", ");
		if (!list) {
			ks_quote_to(out, v->members[i].key);
			ks_buf_add_char(out, ':');
		}
		print_go(list ? &v->items[i] : &v->members[i].value, out);
	}
	ks_buf_add_char(out, '}');
}

static void expected_string(struct reader *r, const struct ks_value *v)
{
	struct ks_buf text;

	ks_buf_init(&text);
	ks_buf_add_str(&text, "expected string, got &value.valueUnstructured{Value:");
	print_go(v, &text);
	ks_buf_add_char(&text, '}');
	complain_with(r, &text);
}

static void expected_number(struct reader *r, const struct ks_value *v)
{
	static const char *const types[] = {[KS_BOOL] = "bool", [KS_STRING] = "string", [KS_LIST] = "[]interface {}", [KS_MAP] = "map[string]interface {}"};
	struct ks_buf text;

	ks_buf_init(&text);
	ks_buf_printf(&text, "expected numeric (int or float), got %s", types[v->kind]);
	complain_with(r, &text);
}

static bool is_scalar(const struct ks_value *v)
{
	return v->kind == KS_BOOL || v->kind == KS_INT || v->kind == KS_FLOAT || v->kind == KS_STRING;
}

static void check_scalar(struct reader *r, uint16_t type, const struct ks_value *v)
{
	switch (r->s->types[type].class_) {
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
	case KS_TYPE_FLOAT64:
		if (v->kind != KS_INT && v->kind != KS_FLOAT)
			expected_number(r, v);
		return;
	case KS_TYPE_STRING:
	case KS_TYPE_BYTES:
	case KS_TYPE_DURATION:
		if (v->kind != KS_STRING)
			expected_string(r, v);
		return;
	case KS_TYPE_BOOL:
		if (v->kind != KS_BOOL)
			expected(r, "boolean", v);
		return;
	default:
		if (!is_scalar(v))
			expected(r, "any scalar", v);
	}
}

static void read_value(struct reader *r, struct ks_shape shape, const struct ks_value *v, struct ks_value *out);

/* -- structs and maps ----------------------------------------------------------------------------------------- */

static void read_below(struct reader *r, const struct ks_path_element *element, struct ks_shape shape, const struct ks_value *v, struct ks_value *out)
{
	size_t before = r->path.len;

	ks_path_element_print(element, &r->path);
	if (r->path.failed)
		r->failed = true;
	read_value(r, shape, v, out);
	r->path.len = before;
}

static void read_struct(struct reader *r, struct ks_shape shape, const struct ks_value *v, struct ks_value *out)
{
	if (v->kind != KS_MAP) {
		expected(r, "map", v);
		return;
	}
	if (!ks_value_new_struct(r->arena, r->s, shape.type, out)) {
		r->failed = true;
		return;
	}
	out->flags |= KS_TYPED_SPARSE;
	for (uint32_t i = 0; i < v->n && !r->failed; i++) {
		const struct ks_member *m = &v->members[i];
		struct ks_path_element element = ks_path_field(m->key);
		uint16_t slot = ks_schema_slot(r->s, shape.type, m->key.p, m->key.n);
		size_t before = r->path.len;

		if (slot != KS_NO_SLOT) {
			read_below(r, &element, ks_shape_of_field(r->s, ks_schema_field(r->s, shape.type, slot)), &m->value, &out->items[slot]);
			continue;
		}
		ks_path_element_print(&element, &r->path);
		complain(r, "field not declared in schema");
		r->path.len = before;
		return; /* upstream looks no further in this one */
	}
}

static void read_map(struct reader *r, struct ks_shape shape, const struct ks_value *v, struct ks_value *out)
{
	struct ks_shape item = ks_shape_of_type(r->s, r->s->types[shape.type].element);

	if (v->kind != KS_MAP) {
		expected(r, "map", v);
		return;
	}
	*out = (struct ks_value){.kind = KS_MAP, .type = shape.type};
	for (uint32_t i = 0; i < v->n && !r->failed; i++) {
		struct ks_path_element element = ks_path_field(v->members[i].key);
		struct ks_value *value = ks_value_add(r->arena, out, v->members[i].key);

		if (!value)
			r->failed = true;
		else
			read_below(r, &element, item, &v->members[i].value, value);
	}
}

/* -- lists ---------------------------------------------------------------------------------------------------- */

static void complain_of_item(struct reader *r, struct ks_shape shape, uint32_t at, const struct ks_value *item)
{
	struct ks_buf text;

	ks_buf_init(&text);
	ks_buf_printf(&text, "element %u: ", at);
	if (shape.relation == KS_RELATION_SET && item->kind == KS_NULL) {
		ks_buf_add_str(&text, "associative list without keys has an element that's an explicit null");
	} else if (shape.relation == KS_RELATION_SET) {
		ks_buf_add_str(&text, item->kind == KS_LIST ? "not supported: associative list with lists as elements"
							    : "associative list without keys has an element that's a map type");
	} else if (item->kind == KS_NULL) {
		ks_buf_add_str(&text, "associative list with keys may not have a null element");
	} else if (item->kind != KS_MAP) {
		ks_buf_add_str(&text, "associative list with keys may not have non-map elements");
	} else {
		ks_buf_add_str(&text, "associative list with keys has an element that omits all key fields [");
		for (uint8_t i = 0; i < shape.n_keys; i++) {
			if (i)
				ks_buf_add_char(&text, ' ');
			ks_quote_to(&text, ks_str_from(ks_schema_text(r->s, shape.keys[i])));
		}
		ks_buf_add_str(&text, "] (and doesn't have default values for any key fields)");
	}
	complain_with(r, &text);
}

static void complain_of_double(struct reader *r, const struct ks_path_element *element)
{
	struct ks_buf text;

	ks_buf_init(&text);
	ks_buf_add_str(&text, "duplicate entries for key ");
	ks_path_element_print(element, &text);
	complain_with(r, &text);
}

/* The keys of an item are told before the item itself is looked at. False when it has none. */
static bool element_of(struct reader *r, struct ks_shape shape, const struct ks_value *item, struct ks_path_element *out_r)
{
	struct ks_value keys = {0};
	int found;

	if (shape.relation == KS_RELATION_SET || item->kind != KS_MAP)
		return ks_typed_element(r->arena, r->s, shape, item, out_r) == 1;
	if (!ks_value_new_struct(r->arena, r->s, r->s->types[shape.type].element, &keys)) {
		r->failed = true;
		return false;
	}
	keys.flags |= KS_TYPED_SPARSE;
	for (uint8_t i = 0; i < shape.n_keys; i++) {
		const char *name = ks_schema_text(r->s, shape.keys[i]);
		uint16_t slot = ks_schema_slot(r->s, keys.type, name, strlen(name));
		const struct ks_value *value = ks_value_get(NULL, item, name);

		if (value && slot != KS_NO_SLOT)
			keys.items[slot] = *value;
	}
	found = ks_typed_element(r->arena, r->s, shape, &keys, out_r);
	r->failed |= found < 0;
	return found == 1;
}

struct element {
	struct ks_path_element element;
	uint32_t at;
	bool good, repeated;
};

static int by_element(const void *a, const void *b)
{
	const struct element *x = *(struct element *const *)a, *y = *(struct element *const *)b;
	int c = ks_path_element_compare(&x->element, &y->element);

	return c ? c : x->at < y->at ? -1 : x->at > y->at;
}

/* What the items are known by, up to the first that has no key. NULL when out of memory. */
static struct element *elements_of(struct reader *r, struct ks_shape shape, const struct ks_value *list)
{
	struct element *all = ks_arena_zalloc(r->arena, (size_t)list->n + 1, sizeof(*all)), **sorted;
	uint32_t n = 0;

	sorted = ks_arena_alloc(r->arena, ((size_t)list->n + 1) * sizeof(*sorted));
	if (!all || !sorted) {
		r->failed = true;
		return NULL;
	}
	for (; n < list->n; n++) {
		all[n].good = element_of(r, shape, &list->items[n], &all[n].element);
		if (!all[n].good)
			break;
		all[n].at = n;
		sorted[n] = &all[n];
	}
	if (n > 1)
		qsort(sorted, n, sizeof(*sorted), by_element);
	for (uint32_t i = 1; i < n; i++)
		sorted[i]->repeated = !ks_path_element_compare(&sorted[i - 1]->element, &sorted[i]->element);
	return r->failed ? NULL : all;
}

static void read_list(struct reader *r, struct ks_shape shape, const struct ks_value *v, struct ks_value *out)
{
	struct ks_shape item_shape = ks_shape_of_type(r->s, r->s->types[shape.type].element);
	bool keyed = shape.relation == KS_RELATION_SET || shape.relation == KS_RELATION_KEYED;
	struct element *elements = keyed && v->kind == KS_LIST ? elements_of(r, shape, v) : NULL;

	if (r->failed)
		return;
	if (v->kind != KS_LIST) {
		expected(r, "list", v);
		return;
	}
	*out = (struct ks_value){.kind = KS_LIST, .type = shape.type};
	for (uint32_t i = 0; i < v->n && !r->failed; i++) {
		const struct ks_value *item = &v->items[i];
		struct ks_path_element element = {.kind = KS_PATH_INDEX, .value = ks_value_from_int(i)};
		struct ks_value *place;

		if (keyed && !elements[i].good) {
			complain_of_item(r, shape, i, item);
			return;
		}
		if (keyed)
			element = elements[i].element;
		if (keyed && elements[i].repeated)
			complain_of_double(r, &element);
		if ((place = ks_value_append(r->arena, out)))
			read_below(r, &element, item_shape, item, place);
		else
			r->failed = true;
	}
}

/* -- values --------------------------------------------------------------------------------------------------- */

static void read_value(struct reader *r, struct ks_shape shape, const struct ks_value *v, struct ks_value *out)
{
	*out = *v;
	if (shape.relation == KS_RELATION_FREE || v->kind == KS_NULL)
		return;
	switch (r->s->types[shape.type].class_) {
	case KS_TYPE_STRUCT:
		read_struct(r, shape, v, out);
		return;
	case KS_TYPE_MAP:
		read_map(r, shape, v, out);
		return;
	case KS_TYPE_LIST:
		read_list(r, shape, v, out);
		return;
	case KS_TYPE_RAW:
		return;
	default:
		check_scalar(r, shape.type, v);
	}
}

static int finish(struct reader *r, const char **message_r)
{
	struct ks_str text = ks_buf_str(&r->messages);

	if (r->failed || r->messages.failed || r->path.failed)
		return -ENOMEM;
	if (!r->n)
		return 0;
	/* One complaint stands alone. */
	*message_r = r->n == 1 ? ks_arena_dup(r->arena, text.p + 2, text.n - 2) : ks_arena_printf(r->arena, "errors:\n%.*s", (int)text.n, text.p);
	return *message_r ? -EINVAL : -ENOMEM;
}

int ks_typed_read(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, const struct ks_value *config, struct ks_value *out_r,
	const char **message_r)
{
	struct reader r = {.arena = arena, .s = s};
	struct ks_value out = {0};
	int result;

	ks_buf_init(&r.path);
	ks_buf_init(&r.messages);
	read_value(&r, ks_shape_of_type(s, type), config, &out);
	result = finish(&r, message_r);
	ks_buf_fini(&r.path);
	ks_buf_fini(&r.messages);
	if (!result)
		*out_r = out;
	return result;
}
