/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/selector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/json.h"
#include "core/api/name.h"
#include "core/api/quote.h"

/* ---- tokens ---- */

enum token_kind {
	T_END,
	T_CLOSE,
	T_COMMA,
	T_NOT,
	T_DOUBLE_EQUALS,
	T_EQUALS,
	T_GREATER,
	T_IDENTIFIER,
	T_IN,
	T_LESS,
	T_NOT_EQUALS,
	T_NOT_IN,
	T_OPEN,
};

struct token {
	enum token_kind kind;
	struct ks_str text;
};

struct parser {
	struct ks_arena *arena;
	struct ks_str rest;
	struct token token; /* looked at, not consumed */
	const char *message;
	int rc;
	struct ks_label_requirement *requirements;
	uint32_t n, cap;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_symbol(char c)
{
	return c && strchr("=!(),><", c) != NULL;
}

static const struct {
	const char *text;
	enum token_kind kind;
} symbols[] = {
	{"==", T_DOUBLE_EQUALS},
	{"!=", T_NOT_EQUALS},
	{"=", T_EQUALS},
	{"!", T_NOT},
	{"(", T_OPEN},
	{")", T_CLOSE},
	{",", T_COMMA},
	{">", T_GREATER},
	{"<", T_LESS},
};

static struct token take(struct parser *p, enum token_kind kind, size_t n)
{
	struct token token = {kind, ks_str_of(p->rest.p, n)};

	p->rest = ks_str_of(p->rest.p + n, p->rest.n - n);
	return token;
}

static struct token scan(struct parser *p)
{
	size_t n = 0;
	struct token token;

	while (p->rest.n && is_space(p->rest.p[0]))
		p->rest = ks_str_of(p->rest.p + 1, p->rest.n - 1);
	if (p->rest.n == 0 || p->rest.p[0] == '\0')
		return take(p, T_END, 0);
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (ks_str_starts(p->rest, ks_str_from(symbols[i].text)))
			return take(p, symbols[i].kind, strlen(symbols[i].text));
	while (n < p->rest.n && p->rest.p[n] && !is_space(p->rest.p[n]) && !is_symbol(p->rest.p[n]))
		n++;
	token = take(p, T_IDENTIFIER, n);
	if (ks_str_is(token.text, "in"))
		token.kind = T_IN;
	else if (ks_str_is(token.text, "notin"))
		token.kind = T_NOT_IN;
	return token;
}

/* The next token as a key or value: "in" and "notin" are names there. */
static enum token_kind look(const struct parser *p)
{
	return p->token.kind == T_IN || p->token.kind == T_NOT_IN ? T_IDENTIFIER : p->token.kind;
}

static struct token consume(struct parser *p)
{
	struct token token = p->token;

	p->token = scan(p);
	return token;
}

static bool fail(struct parser *p, const char *message)
{
	p->message = message;
	p->rc = message ? -EINVAL : -ENOMEM;
	return false;
}

static bool found(struct parser *p, struct ks_str text, const char *expected)
{
	return fail(p, ks_arena_printf(p->arena, "found '%.*s'%s", (int)text.n, text.p, expected));
}

/* ---- requirements ---- */

static bool invalid_name(struct parser *p, const char *path, struct ks_str value, const struct ks_name_errors *errors)
{
	const char *detail = ks_name_errors_join(p->arena, errors, "; "), *quoted = ks_quote(p->arena, value);

	if (!detail || !quoted || !path)
		return fail(p, NULL);
	return fail(p, ks_arena_printf(p->arena, "%s: Invalid value: %s: %s", path, quoted, detail));
}

static bool check_key(struct parser *p, struct ks_str key, const char *path)
{
	struct ks_name_errors errors;

	return ks_name_check(KS_NAME_LABEL_KEY, key, &errors) || invalid_name(p, path, key, &errors);
}

/* What is wrong with values: complaints joined as upstream's aggregate joins them. */
struct complaints {
	const char *text;
	unsigned n;
};

static bool complain(struct parser *p, struct complaints *all, const char *text)
{
	if (!text)
		return fail(p, NULL);
	all->text = all->n++ ? ks_arena_printf(p->arena, "%s, %s", all->text, text) : text;
	return all->text || fail(p, NULL);
}

static bool is_number(struct ks_str text, int64_t *out)
{
	char copy[24];
	char *end;

	if (text.n == 0 || text.n >= sizeof(copy) || is_space(text.p[0]))
		return false;
	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	errno = 0;
	*out = strtoll(copy, &end, 10);
	return errno == 0 && end == copy + text.n;
}

static bool check_numbers(struct parser *p, struct ks_label_requirement *r, struct complaints *all)
{
	for (uint32_t i = 0; i < r->n_values; i++) {
		const char *quoted;

		if (is_number(r->values[i], &r->number))
			continue;
		quoted = ks_quote(p->arena, r->values[i]);
		if (!quoted ||
			!complain(p, all,
				ks_arena_printf(p->arena, "values[%u]: Invalid value: %s: for 'Gt', 'Lt' operators, the value must be an integer", i,
					quoted)))
			return fail(p, NULL);
	}
	return true;
}

static bool check_values(struct parser *p, const struct ks_label_requirement *r, struct complaints *all)
{
	for (uint32_t i = 0; i < r->n_values; i++) {
		struct ks_name_errors errors;
		const char *detail, *quoted;

		if (ks_name_check(KS_NAME_LABEL_VALUE, r->values[i], &errors))
			continue;
		detail = ks_name_errors_join(p->arena, &errors, "; ");
		quoted = ks_quote(p->arena, r->values[i]);
		if (!detail || !quoted)
			return fail(p, NULL);
		if (!complain(
			    p, all, ks_arena_printf(p->arena, "values[%u][%.*s]: Invalid value: %s: %s", i, (int)r->key.n, r->key.p, quoted, detail)))
			return false;
	}
	return true;
}

static int by_text(const void *a, const void *b)
{
	return ks_str_cmp(*(const struct ks_str *)a, *(const struct ks_str *)b);
}

/* Sorts and drops repeated ones. */
static uint32_t make_set(struct ks_str *values, uint32_t n)
{
	uint32_t kept = 0;

	if (n)
		qsort(values, n, sizeof(*values), by_text);
	for (uint32_t i = 0; i < n; i++)
		if (kept == 0 || !ks_str_eq(values[kept - 1], values[i]))
			values[kept++] = values[i];
	return kept;
}

static bool add_requirement(struct parser *p, struct ks_label_requirement r)
{
	struct complaints all = {0};

	if (((r.op == KS_SELECTOR_GREATER || r.op == KS_SELECTOR_LESS) && !check_numbers(p, &r, &all)) || !check_values(p, &r, &all))
		return false;
	if (all.n)
		return fail(p, all.n == 1 ? all.text : ks_arena_printf(p->arena, "[%s]", all.text));
	if (p->n == p->cap) {
		uint32_t cap = p->cap ? p->cap * 2 : 4;
		struct ks_label_requirement *more = ks_arena_alloc(p->arena, cap * sizeof(*more));

		if (!more)
			return fail(p, NULL);
		if (p->n)
			memcpy(more, p->requirements, p->n * sizeof(*more));
		p->requirements = more;
		p->cap = cap;
	}
	p->requirements[p->n++] = r;
	return true;
}

struct values {
	struct ks_str *list;
	uint32_t n, cap;
};

static bool add_value(struct parser *p, struct values *v, struct ks_str value)
{
	if (v->n == v->cap) {
		uint32_t cap = v->cap ? v->cap * 2 : 4;
		struct ks_str *more = ks_arena_alloc(p->arena, cap * sizeof(*more));

		if (!more)
			return fail(p, NULL);
		if (v->n)
			memcpy(more, v->list, v->n * sizeof(*more));
		v->list = more;
		v->cap = cap;
	}
	v->list[v->n++] = value;
	return true;
}

/* ---- grammar ---- */

static bool parse_list(struct parser *p, struct values *v)
{
	const struct ks_str empty = {0};

	for (;;) {
		enum token_kind kind = look(p);
		struct token token = consume(p);

		if (kind == T_IDENTIFIER) {
			if (!add_value(p, v, token.text))
				return false;
			if (look(p) == T_CLOSE)
				return true;
			if (look(p) != T_COMMA)
				return found(p, p->token.text, ", expected: ',' or ')'");
		} else if (kind == T_COMMA) {
			if (v->n == 0 && !add_value(p, v, empty))
				return false;
			if (look(p) == T_CLOSE)
				return add_value(p, v, empty);
			if (look(p) == T_COMMA && !add_value(p, v, empty))
				return false;
		} else {
			return found(p, token.text, ", expected: ',', or identifier");
		}
	}
}

/* "(a, b)" */
static bool parse_values(struct parser *p, struct values *v)
{
	struct token token = consume(p);
	enum token_kind kind = look(p);

	if (token.kind != T_OPEN)
		return found(p, token.text, " expected: '('");
	token = p->token; /* what stands first is named, whatever is missing */
	if (kind == T_CLOSE) {
		consume(p);
		return add_value(p, v, (struct ks_str){0});
	}
	if (kind != T_IDENTIFIER && kind != T_COMMA)
		return found(p, token.text, ", expected: ',', ')' or identifier");
	if (!parse_list(p, v))
		return false;
	return consume(p).kind == T_CLOSE || found(p, token.text, ", expected: ')'");
}

static bool parse_exact(struct parser *p, struct values *v)
{
	enum token_kind kind = look(p);
	struct token token;

	if (kind == T_END || kind == T_COMMA)
		return add_value(p, v, (struct ks_str){0});
	token = consume(p);
	return kind == T_IDENTIFIER ? add_value(p, v, token.text) : found(p, token.text, ", expected: identifier");
}

static bool parse_operator(struct parser *p, enum ks_selector_op *op, bool *exact)
{
	struct token token = consume(p);

	*exact = token.kind != T_IN && token.kind != T_NOT_IN;
	switch (token.kind) {
	case T_IN:
	case T_EQUALS:
	case T_DOUBLE_EQUALS:
		*op = KS_SELECTOR_IN;
		return true;
	case T_NOT_IN:
	case T_NOT_EQUALS:
		*op = KS_SELECTOR_NOT_IN;
		return true;
	case T_GREATER:
		*op = KS_SELECTOR_GREATER;
		return true;
	case T_LESS:
		*op = KS_SELECTOR_LESS;
		return true;
	default:
		return found(p, token.text, ", expected: in, notin, =, ==, !=, gt, lt");
	}
}

static bool parse_requirement(struct parser *p)
{
	struct ks_label_requirement r = {.op = KS_SELECTOR_EXISTS};
	struct values values = {0};
	enum token_kind kind = look(p);
	struct token token = consume(p);
	bool exact;

	if (kind == T_NOT) {
		r.op = KS_SELECTOR_NOT_EXISTS;
		kind = look(p);
		token = consume(p);
	}
	if (kind != T_IDENTIFIER)
		return found(p, token.text, ", expected: identifier");
	r.key = token.text;
	if (!check_key(p, r.key, "<nil>"))
		return false;
	if (r.op == KS_SELECTOR_NOT_EXISTS || look(p) == T_END || look(p) == T_COMMA)
		return add_requirement(p, r);
	if (!parse_operator(p, &r.op, &exact) || !(exact ? parse_exact(p, &values) : parse_values(p, &values)))
		return false;
	r.values = values.list;
	r.n_values = make_set(values.list, values.n);
	return add_requirement(p, r);
}

static bool parse(struct parser *p)
{
	for (;;) {
		enum token_kind kind = look(p);
		struct token token = p->token;

		if (kind == T_END)
			return true;
		if (kind != T_IDENTIFIER && kind != T_NOT)
			return found(p, token.text, ", expected: !, identifier, or 'end of string'");
		if (!parse_requirement(p)) {
			if (p->rc == -EINVAL)
				fail(p, ks_arena_printf(p->arena, "unable to parse requirement: %s", p->message));
			return false;
		}
		token = consume(p);
		if (token.kind == T_END)
			return true;
		if (token.kind != T_COMMA)
			return found(p, token.text, ", expected: ',' or 'end of string'");
		if (look(p) != T_IDENTIFIER && look(p) != T_NOT)
			return found(p, p->token.text, ", expected: identifier after ','");
	}
}

static int by_key(const void *a, const void *b)
{
	const struct ks_label_requirement *x = a, *y = b;
	int c = ks_str_cmp(x->key, y->key);

	return c ? c : (int)x->op - (int)y->op;
}

static int finish(struct parser *p, struct ks_selector **out_r)
{
	struct ks_selector *selector;

	if (p->n == 0) {
		*out_r = NULL;
		return 0;
	}
	selector = ks_arena_alloc(p->arena, sizeof(*selector));
	if (!selector)
		return -ENOMEM;
	qsort(p->requirements, p->n, sizeof(*p->requirements), by_key);
	*selector = (struct ks_selector){.n = p->n, .requirements = p->requirements};
	*out_r = selector;
	return 0;
}

int ks_label_selector_parse(struct ks_arena *arena, struct ks_str text, struct ks_selector **out_r, const char **message_r)
{
	struct parser p = {.arena = arena};
	const char *copy = text.n ? ks_arena_dup(arena, text.p, text.n) : "";

	if (!copy)
		return -ENOMEM;
	p.rest = ks_str_of(copy, text.n);
	p.token = scan(&p);
	if (parse(&p))
		return finish(&p, out_r);
	if (p.rc == -EINVAL)
		*message_r = p.message;
	return p.rc;
}

/* ---- from metav1.LabelSelector ---- */

static bool operator_of(struct ks_str name, enum ks_selector_op *op)
{
	static const char *const names[] = {"In", "NotIn", "Exists", "DoesNotExist"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (ks_str_is(name, names[i])) {
			*op = (enum ks_selector_op)i;
			return true;
		}
	return false;
}

/* Values of another number than the operator wants. */
static bool wrong_number(struct parser *p, const struct ks_value *values, const char *detail)
{
	struct ks_buf json;

	ks_buf_init(&json);
	if (values)
		ks_json_encode(NULL, values, &json);
	else
		ks_buf_add_str(&json, "null");
	fail(p, json.failed ? NULL : ks_arena_printf(p->arena, "values: Invalid value: %.*s: %s", (int)json.len, json.data, detail));
	ks_buf_fini(&json);
	return false;
}

static bool add_expression(struct parser *p, const struct ks_schema *s, const struct ks_value *expression)
{
	struct ks_str name = ks_value_str(ks_value_get(s, expression, "operator"));
	const struct ks_value *list = ks_value_get(s, expression, "values");
	struct ks_label_requirement r = {.key = ks_value_str(ks_value_get(s, expression, "key"))};
	struct values values = {0};
	const char *quoted;

	if (!operator_of(name, &r.op)) {
		quoted = ks_quote(p->arena, name);
		return fail(p, quoted ? ks_arena_printf(p->arena, "%s is not a valid label selector operator", quoted) : NULL);
	}
	if (!check_key(p, r.key, "key"))
		return false;
	for (uint32_t i = 0; list && list->kind == KS_LIST && i < list->n; i++)
		if (!add_value(p, &values, ks_value_str(&list->items[i])))
			return false;
	if (r.op <= KS_SELECTOR_NOT_IN && values.n == 0)
		return wrong_number(p, NULL, "for 'in', 'notin' operators, values set can't be empty");
	if (r.op >= KS_SELECTOR_EXISTS && values.n)
		return wrong_number(p, &(struct ks_value){.kind = KS_LIST, .n = list->n, .items = list->items},
			"values set must be empty for exists and does not exist");
	r.values = values.list;
	r.n_values = make_set(values.list, values.n);
	return add_requirement(p, r);
}

static bool add_label(struct parser *p, const struct ks_member *label)
{
	struct ks_label_requirement r = {.key = label->key, .op = KS_SELECTOR_IN, .n_values = 1};
	struct ks_str *value = ks_arena_alloc(p->arena, sizeof(*value));

	if (!value)
		return fail(p, NULL);
	*value = ks_value_str(&label->value);
	r.values = value;
	return check_key(p, r.key, "key") && add_requirement(p, r);
}

int ks_label_selector_from_value(
	struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *v, struct ks_selector **out_r, const char **message_r)
{
	const struct ks_value *labels = ks_value_get(s, v, "matchLabels"), *expressions = ks_value_get(s, v, "matchExpressions");
	struct parser p = {.arena = arena};
	bool ok = true;

	if (!ks_value_present(v)) {
		struct ks_selector *nothing = ks_arena_zalloc(arena, 1, sizeof(*nothing));

		if (!nothing)
			return -ENOMEM;
		nothing->nothing = true;
		*out_r = nothing;
		return 0;
	}
	for (uint32_t i = 0; ok && labels && labels->kind == KS_MAP && i < labels->n; i++)
		ok = add_label(&p, &labels->members[i]);
	for (uint32_t i = 0; ok && expressions && expressions->kind == KS_LIST && i < expressions->n; i++)
		ok = add_expression(&p, s, &expressions->items[i]);
	if (ok)
		return finish(&p, out_r);
	if (p.rc == -EINVAL)
		*message_r = p.message;
	return p.rc;
}

/* ---- matching ---- */

static bool has_value(const struct ks_label_requirement *r, struct ks_str value)
{
	for (uint32_t i = 0; i < r->n_values; i++)
		if (ks_str_eq(r->values[i], value))
			return true;
	return false;
}

/* `value` NULL: no such label. */
static bool satisfied(const struct ks_label_requirement *r, const struct ks_str *value)
{
	int64_t number;

	switch (r->op) {
	case KS_SELECTOR_IN:
		return value && has_value(r, *value);
	case KS_SELECTOR_NOT_IN:
		return !value || !has_value(r, *value);
	case KS_SELECTOR_EXISTS:
		return value != NULL;
	case KS_SELECTOR_NOT_EXISTS:
		return value == NULL;
	default:
		if (!value || !is_number(*value, &number))
			return false;
		return r->op == KS_SELECTOR_GREATER ? number > r->number : number < r->number;
	}
}

static const struct ks_str *find_label(const struct ks_label *labels, size_t n, struct ks_str key)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int c = ks_str_cmp(labels[middle].key, key);

		if (c == 0)
			return &labels[middle].value;
		if (c < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

bool ks_label_selector_match(const struct ks_selector *sel, const struct ks_label *labels, size_t n)
{
	if (!sel)
		return true;
	for (uint32_t i = 0; i < sel->n; i++)
		if (!satisfied(&sel->requirements[i], find_label(labels, n, sel->requirements[i].key)))
			return false;
	return !sel->nothing;
}

bool ks_label_selector_match_value(const struct ks_selector *sel, const struct ks_value *labels)
{
	if (!sel)
		return true;
	for (uint32_t i = 0; i < sel->n; i++) {
		const struct ks_value *v = labels && labels->kind == KS_MAP ? ks_value_get_str(NULL, labels, sel->requirements[i].key) : NULL;
		struct ks_str text = ks_value_str(v);

		if (!satisfied(&sel->requirements[i], v ? &text : NULL))
			return false;
	}
	return !sel->nothing;
}

/* ---- copies ---- */

static struct ks_str put_text(char **at, struct ks_str text)
{
	struct ks_str copy = ks_str_of(*at, text.n);

	if (text.n)
		memcpy(*at, text.p, text.n);
	*at += text.n;
	return copy;
}

struct ks_selector *ks_selector_dup(const struct ks_selector *sel)
{
	struct ks_label_requirement *requirements;
	struct ks_selector *copy;
	struct ks_str *values;
	size_t n_values = 0, bytes = 0;
	char *at;

	if (!sel)
		return NULL;
	for (uint32_t i = 0; i < sel->n; i++) {
		bytes += sel->requirements[i].key.n;
		n_values += sel->requirements[i].n_values;
		for (uint32_t j = 0; j < sel->requirements[i].n_values; j++)
			bytes += sel->requirements[i].values[j].n;
	}
	copy = malloc(sizeof(*copy) + sel->n * sizeof(*requirements) + n_values * sizeof(*values) + bytes);
	if (!copy)
		return NULL;
	requirements = (struct ks_label_requirement *)(copy + 1);
	values = (struct ks_str *)(requirements + sel->n);
	at = (char *)(values + n_values);
	*copy = (struct ks_selector){.n = sel->n, .nothing = sel->nothing, .requirements = requirements};
	for (uint32_t i = 0; i < sel->n; i++) {
		requirements[i] = sel->requirements[i];
		requirements[i].key = put_text(&at, sel->requirements[i].key);
		requirements[i].values = values;
		for (uint32_t j = 0; j < sel->requirements[i].n_values; j++)
			*values++ = put_text(&at, sel->requirements[i].values[j]);
	}
	return copy;
}

void ks_selector_free(struct ks_selector *sel)
{
	free(sel);
}
