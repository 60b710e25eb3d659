/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/validate/common.h"

#include <arpa/inet.h>
#include <ctype.h>

#include "core/api/base64.h"
#include "core/api/gojson.h"
#include "core/api/quantity.h"
#include "core/api/quote.h"

/* -- values in messages ------------------------------------------------------------------------------------------- */

struct ks_value ks_struct_in(const struct ks_check *c, const struct ks_value *owner, const char *field)
{
	uint16_t slot = ks_schema_slot(c->schema, owner->type, field, strlen(field));
	struct ks_value v;

	if (slot == KS_NO_SLOT)
		return (struct ks_value){.kind = KS_STRUCT, .type = owner->type};
	v = slot < owner->n ? owner->items[slot] : (struct ks_value){0};
	if (v.kind == KS_ABSENT && v.flags & KS_VALUE_WAS_EMPTY && v.n)
		v.kind = KS_STRUCT; /* of which only empty lists and maps were said */
	if (v.kind == KS_STRUCT)
		return v;
	return (struct ks_value){.kind = KS_STRUCT, .type = ks_schema_field(c->schema, owner->type, slot)->type};
}

/* Texts are quoted as messages quote them, all else is shown as JSON. */
static void add_slot(struct ks_check *c, const struct ks_value *owner, const char *field, struct ks_buf *out)
{
	uint16_t slot = ks_schema_slot(c->schema, owner->type, field, strlen(field));
	const struct ks_field *f;
	const struct ks_value *v;

	if (slot == KS_NO_SLOT)
		return;
	f = ks_schema_field(c->schema, owner->type, slot);
	v = slot < owner->n ? &owner->items[slot] : NULL;
	if (ks_value_present(v) && v->kind == KS_STRING)
		ks_quote_to(out, ks_value_str(v));
	else
		ks_gojson_write(c->schema, f->type, f->flags & KS_FIELD_POINTER, v, out);
}

static void say_literal(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_buf *shown, const char *detail)
{
	ks_buf_add_char(shown, 0);
	ks_err_invalid_literal(c, path, name, shown->failed ? "" : shown->data, detail);
	ks_buf_fini(shown);
}

void ks_err_invalid_slot(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *owner, const char *field,
	const char *detail)
{
	struct ks_buf shown;

	ks_buf_init(&shown);
	add_slot(c, owner, field, &shown);
	say_literal(c, path, name, &shown, detail);
}

void ks_err_invalid_struct(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *v, const char *detail)
{
	struct ks_buf shown;

	ks_buf_init(&shown);
	ks_gojson_write(c->schema, v->type, false, v, &shown);
	say_literal(c, path, name, &shown, detail);
}

void ks_err_not_supported_slot(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *owner, const char *field,
	const char *const *supported)
{
	struct ks_buf text;

	ks_buf_init(&text);
	add_slot(c, owner, field, &text);
	ks_buf_add_str(&text, ": supported values: ");
	for (size_t i = 0; supported[i]; i++)
		ks_buf_printf(&text, "%s\"%s\"", i ? ", " : "", supported[i]);
	ks_status_cause(c->status, c->arena, "FieldValueNotSupported", ks_path_text(c->arena, path, name), "Unsupported value: %.*s",
		text.failed ? 0 : (int)text.len, text.data);
	ks_buf_fini(&text);
}

static const struct ks_value *slot_of(const struct ks_check *c, const struct ks_value *owner, const char *field)
{
	uint16_t slot = ks_schema_slot(c->schema, owner->type, field, strlen(field));

	return slot < owner->n && ks_value_present(&owner->items[slot]) ? &owner->items[slot] : NULL;
}

bool ks_check_slot_immutable(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *owner,
	const struct ks_value *old, const char *field)
{
	if (ks_value_same(slot_of(c, owner, field), slot_of(c, old, field)))
		return true;
	ks_err_invalid_slot(c, path, name, owner, field, "field is immutable");
	return false;
}

void ks_err_forbidden_diff(struct ks_check *c, const struct ks_path *path, const char *name, const char *intro, const struct ks_buf *before,
	const struct ks_buf *after)
{
	struct ks_buf text;

	ks_buf_init(&text);
	ks_buf_printf(&text, "%s\n", intro);
	ks_gojson_diff(ks_buf_str(before), ks_buf_str(after), &text);
	ks_status_cause(c->status, c->arena, "FieldValueForbidden", ks_path_text(c->arena, path, name), "Forbidden: %.*s",
		text.failed ? 0 : (int)text.len, text.data);
	ks_buf_fini(&text);
}

/* -- texts -------------------------------------------------------------------------------------------------------- */

bool ks_check_required_name(struct ks_check *c, const struct ks_path *path, const char *name, enum ks_name_form form, struct ks_str value)
{
	if (value.n)
		return ks_check_name(c, path, name, form, value);
	ks_err_required(c, path, name, "");
	return false;
}

bool ks_check_one_of(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const char *const *set)
{
	if (ks_str_in(value, set))
		return true;
	ks_err_not_supported(c, path, name, value, set);
	return false;
}

void ks_check_domain_path(struct ks_check *c, const struct ks_path *path, struct ks_str text)
{
	const char *slash = text.n ? memchr(text.p, '/', text.n) : NULL;
	struct ks_str domain = slash ? ks_str_of(text.p, (size_t)(slash - text.p)) : text;
	struct ks_str rest = slash ? ks_str_of(slash + 1, text.n - domain.n - 1) : (struct ks_str){0};
	struct ks_name_errors errors;

	if (!text.n) {
		ks_err_required(c, path, NULL, "");
		return;
	}
	if (!domain.n || !rest.n) {
		ks_err_invalid_text(c, path, NULL, text, "must be a domain-prefixed path (such as \"acme.io/foo\")");
		return;
	}
	if (!ks_name_check(KS_NAME_DNS1123_SUBDOMAIN, domain, &errors))
		for (unsigned i = 0; i < errors.n; i++)
			ks_err_invalid_text(c, path, NULL, domain, errors.text[i]);
	for (size_t i = 0; i < rest.n; i++) {
		if (isalnum((unsigned char)rest.p[i]) || (rest.p[i] && strchr("/-._~%!$&'()*+,;=:", rest.p[i])))
			continue;
		ks_err_invalid_text(c, path, NULL, rest, "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
		return;
	}
}

bool ks_check_csi_driver_name(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value)
{
	const struct ks_status_cause *mark = ks_check_mark(c);
	struct ks_name_errors errors;
	char lowered[512];

	if (!value.n) {
		ks_err_required(c, path, name, "");
		return false;
	}
	if (value.n > 63)
		ks_err_too_long(c, path, name, 63);
	if (value.n > sizeof(lowered))
		return ks_check_name(c, path, name, KS_NAME_DNS1123_SUBDOMAIN, value) && !ks_check_failed_since(c, mark);
	for (size_t i = 0; i < value.n; i++)
		lowered[i] = value.p[i] >= 'A' && value.p[i] <= 'Z' ? (char)(value.p[i] + 'a' - 'A') : value.p[i];
	if (!ks_name_check(KS_NAME_DNS1123_SUBDOMAIN, ks_str_of(lowered, value.n), &errors))
		for (unsigned i = 0; i < errors.n; i++)
			ks_err_invalid_text(c, path, name, value, errors.text[i]);
	return !ks_check_failed_since(c, mark);
}

/* -- selectors of nodes ------------------------------------------------------------------------------------------- */

static void check_node_requirement(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	struct ks_str op = KS_IN_TEXT(c, v, "operator");
	const struct ks_value *values = KS_IN_LIST(c, v, "values");
	struct ks_path at = ks_path_child(path, "values");

	if (ks_str_is(op, "In") || ks_str_is(op, "NotIn")) {
		if (!ks_value_count(values))
			ks_err_required(c, path, "values", "must be specified when `operator` is 'In' or 'NotIn'");
	} else if (ks_str_is(op, "Exists") || ks_str_is(op, "DoesNotExist")) {
		if (ks_value_count(values))
			ks_err_forbidden(c, path, "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
	} else if (ks_str_is(op, "Gt") || ks_str_is(op, "Lt")) {
		if (ks_value_count(values) != 1)
			ks_err_required(c, path, "values", "must be specified single value when `operator` is 'Lt' or 'Gt'");
	} else {
		ks_err_invalid_text(c, path, "operator", op, "not a valid selector operator");
	}
	ks_check_name(c, path, "key", KS_NAME_LABEL_KEY, KS_IN_TEXT(c, v, "key"));
	for (uint32_t i = 0; i < ks_value_count(values); i++) {
		struct ks_path item = ks_path_index(&at, i);

		ks_check_name(c, &item, NULL, KS_NAME_LABEL_VALUE, ks_value_str(&values->items[i]));
	}
}

static void check_node_field(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	struct ks_str op = KS_IN_TEXT(c, v, "operator"), key = KS_IN_TEXT(c, v, "key");
	const struct ks_value *values = KS_IN_LIST(c, v, "values");
	struct ks_path at = ks_path_child(path, "values");

	if (!ks_str_is(op, "In") && !ks_str_is(op, "NotIn"))
		ks_err_invalid_text(c, path, "operator", op, "not a valid selector operator");
	else if (ks_value_count(values) != 1)
		ks_err_required(c, path, "values", "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
	if (!ks_str_is(key, "metadata.name")) {
		ks_err_invalid_text(c, path, "key", key, "not a valid field selector key");
		return;
	}
	for (uint32_t i = 0; i < ks_value_count(values); i++) {
		struct ks_path item = ks_path_index(&at, i);

		ks_check_name(c, &item, NULL, KS_NAME_DNS1123_SUBDOMAIN, ks_value_str(&values->items[i]));
	}
}

static void check_node_term(struct ks_check *c, const struct ks_path *path, const struct ks_value *term)
{
	const struct ks_value *expressions = KS_IN_LIST(c, term, "matchExpressions"), *fields = KS_IN_LIST(c, term, "matchFields");
	struct ks_path at_expressions = ks_path_child(path, "matchExpressions"), at_fields = ks_path_child(path, "matchFields");

	for (uint32_t i = 0; i < ks_value_count(expressions); i++) {
		struct ks_path item = ks_path_index(&at_expressions, i);

		check_node_requirement(c, &item, &expressions->items[i]);
	}
	for (uint32_t i = 0; i < ks_value_count(fields); i++) {
		struct ks_path item = ks_path_index(&at_fields, i);

		check_node_field(c, &item, &fields->items[i]);
	}
}

bool ks_check_node_selector(struct ks_check *c, const struct ks_path *path, const struct ks_value *selector)
{
	const struct ks_status_cause *mark = ks_check_mark(c);
	const struct ks_value *terms = KS_IN_LIST(c, selector, "nodeSelectorTerms");
	struct ks_path at = ks_path_child(path, "nodeSelectorTerms");

	if (!ks_value_count(terms))
		ks_err_required(c, path, "nodeSelectorTerms", "must have at least one node selector term");
	for (uint32_t i = 0; i < ks_value_count(terms); i++) {
		struct ks_path item = ks_path_index(&at, i);

		check_node_term(c, &item, &terms->items[i]);
	}
	return !ks_check_failed_since(c, mark);
}

/* -- addresses ---------------------------------------------------------------------------------------------------- */

/* Is it the text of any value in the tree? */
static bool holds_text(const struct ks_value *v, struct ks_str text)
{
	bool found = false;

	if (!v)
		return false;
	if (v->kind == KS_STRING)
		return ks_str_eq(ks_value_str(v), text);
	for (uint32_t i = 0; (v->kind == KS_LIST || v->kind == KS_STRUCT) && i < v->n && !found; i++)
		found = holds_text(&v->items[i], text);
	for (uint32_t i = 0; v->kind == KS_MAP && i < v->n && !found; i++)
		found = holds_text(&v->members[i].value, text);
	return found;
}

bool ks_check_new_ip(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const struct ks_value *old)
{
	return ks_check_ip(c, path, name, value, !holds_text(old, value));
}

bool ks_check_new_canonical_ip(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const struct ks_value *old)
{
	return holds_text(old, value) ? ks_check_ip(c, path, name, value, false) : ks_check_canonical_ip(c, path, name, value);
}

bool ks_check_new_cidr(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const struct ks_value *old)
{
	return ks_check_cidr(c, path, name, value, !holds_text(old, value));
}

bool ks_check_ip_not_special(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value)
{
	const struct ks_status_cause *mark = ks_check_mark(c);
	char text[64];
	struct in_addr v4;
	struct in6_addr v6;
	bool unspecified, loopback, local, multicast;

	if (!value.n || value.n >= sizeof(text)) {
		ks_err_invalid_text(c, path, name, value, "must be a valid IP address");
		return false;
	}
	memcpy(text, value.p, value.n);
	text[value.n] = 0;
	if (inet_pton(AF_INET, text, &v4) == 1) {
		uint32_t n = ntohl(v4.s_addr);

		unspecified = n == 0;
		loopback = n >> 24 == 127;
		local = n >> 16 == 0xa9fe;
		multicast = n >> 8 == 0xe00000;
	} else if (inet_pton(AF_INET6, text, &v6) == 1) {
		unspecified = IN6_IS_ADDR_UNSPECIFIED(&v6);
		loopback = IN6_IS_ADDR_LOOPBACK(&v6);
		local = IN6_IS_ADDR_LINKLOCAL(&v6);
		multicast = IN6_IS_ADDR_MC_LINKLOCAL(&v6);
	} else {
		ks_err_invalid_text(c, path, name, value, "must be a valid IP address");
		return false;
	}
	if (unspecified)
		ks_err_invalid_text(c, path, name, value, ks_err_detail(c, "may not be unspecified (%s)", text));
	if (loopback)
		ks_err_invalid_text(c, path, name, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
	if (local)
		ks_err_invalid_text(c, path, name, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
	if (multicast)
		ks_err_invalid_text(c, path, name, value, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
	return !ks_check_failed_since(c, mark);
}

/* -- conditions --------------------------------------------------------------------------------------------------- */

static bool is_reason(struct ks_str text)
{
	for (size_t i = 0; i < text.n; i++) {
		char ch = text.p[i];
		bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
		bool digit = ch >= '0' && ch <= '9';

		if (i == 0 && !letter)
			return false;
		if (i == text.n - 1 && !letter && !digit && ch != '_')
			return false;
		if (!letter && !digit && ch != '_' && ch != ',' && ch != ':')
			return false;
	}
	return true;
}

static void check_condition(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char *const statuses[] = {"False", "True", "Unknown", NULL};
	struct ks_str type = KS_IN_TEXT(c, v, "type"), reason = KS_IN_TEXT(c, v, "reason");

	ks_check_name(c, path, "type", KS_NAME_LABEL_KEY, type);
	ks_check_one_of(c, path, "status", KS_IN_TEXT(c, v, "status"), statuses);
	ks_check_nonnegative(c, path, "observedGeneration", KS_IN_INT(c, v, "observedGeneration", 0));
	if (!KS_IN(c, v, "lastTransitionTime"))
		ks_err_required(c, path, "lastTransitionTime", "");
	if (!reason.n)
		ks_err_required(c, path, "reason", "");
	else if (!is_reason(reason))
		ks_err_invalid_text(c, path, "reason", reason, "a condition reason must start with alphabetic character, optionally followed by a string of "
			"alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
			"'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
			"'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')");
	if (reason.n > 1024)
		ks_err_too_long(c, path, "reason", 1024);
	if (KS_IN_TEXT(c, v, "message").n > 32 * 1024)
		ks_err_too_long(c, path, "message", 32 * 1024);
}

void ks_check_conditions(struct ks_check *c, const struct ks_path *path, const struct ks_value *conditions)
{
	struct ks_seen seen = {.n = 0};

	for (uint32_t i = 0; i < ks_value_count(conditions); i++) {
		struct ks_path item = ks_path_index(path, i);
		struct ks_str type = KS_IN_TEXT(c, &conditions->items[i], "type");

		if (!ks_seen_add(c, &seen, type))
			ks_err_duplicate_text(c, &item, "type", type);
		check_condition(c, &item, &conditions->items[i]);
	}
}

bool ks_bytes_of(struct ks_str text, struct ks_buf *out)
{
	size_t n, bad;
	bool canonical;

	if (!ks_base64_check(text, &n, &canonical, &bad) || !ks_buf_reserve(out, n + 1))
		return false;
	ks_base64_decode(text, (unsigned char *)out->data);
	out->len = n;
	return true;
}

/* -- amounts ------------------------------------------------------------------------------------------------------ */

bool ks_quantity_in(const struct ks_check *c, const struct ks_value *map, struct ks_str key, struct ks_str *text_r)
{
	const struct ks_value *v = map ? ks_value_get_str(c->schema, map, key) : NULL;

	*text_r = ks_value_present(v) ? ks_value_str(v) : KS_STR_LIT("0");
	return ks_value_present(v);
}

int ks_quantity_text_cmp(struct ks_str a, struct ks_str b)
{
	return ks_quantity_cmp_text(a.n ? a : KS_STR_LIT("0"), b.n ? b : KS_STR_LIT("0"));
}
