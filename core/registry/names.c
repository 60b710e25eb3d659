/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/names.h"

#include <stdbool.h>

#define LABEL_PATTERN "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN_WORDS \
	"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " \
	"alphanumeric character (e.g. 'example.com', regex used for validation is '" LABEL_PATTERN "(\\." LABEL_PATTERN ")*')"
#define KEY_PATTERN "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define KEY_WORDS \
	"must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " \
	"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '" KEY_PATTERN "')"
#define TOO_LONG(n) "must be no more than " #n " characters"
#define TOO_MANY_BYTES(n) "must be no more than " #n " bytes"

static void say(struct ks_name_problems *out, const char *text)
{
	if (out->n < sizeof(out->items) / sizeof(out->items[0]))
		out->items[out->n++] = text;
}

static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_small(char c) { return is_lower(c) || is_digit(c); }
static bool is_letter_or_digit(char c) { return is_small(c) || is_upper(c); }

static bool label_shape(struct ks_str s, bool fold)
{
	bool (*good)(char) = fold ? is_letter_or_digit : is_small;

	if (!s.n || !good(s.p[0]) || !good(s.p[s.n - 1]))
		return false;
	for (size_t i = 1; i + 1 < s.n; i++)
		if (!good(s.p[i]) && s.p[i] != '-')
			return false;
	return true;
}

static bool subdomain_shape(struct ks_str s, bool fold)
{
	size_t begin = 0;

	for (size_t i = 0; i <= s.n; i++) {
		if (i < s.n && s.p[i] != '.')
			continue;
		if (!label_shape(ks_str_of(s.p + begin, i - begin), fold))
			return false;
		begin = i + 1;
	}
	return true;
}

static bool key_shape(struct ks_str s)
{
	if (!s.n || !is_letter_or_digit(s.p[0]) || !is_letter_or_digit(s.p[s.n - 1]))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!is_letter_or_digit(s.p[i]) && s.p[i] != '-' && s.p[i] != '_' && s.p[i] != '.')
			return false;
	return true;
}

void ks_name_check_subdomain(struct ks_str name, struct ks_name_problems *out)
{
	out->n = 0;
	if (name.n > 253)
		say(out, TOO_LONG(253));
	if (!subdomain_shape(name, false))
		say(out, SUBDOMAIN_WORDS);
}

void ks_name_check_label(struct ks_str name, struct ks_name_problems *out)
{
	out->n = 0;
	if (name.n > 63)
		say(out, TOO_LONG(63));
	if (label_shape(name, false))
		return;
	if (subdomain_shape(name, false))
		say(out, "must not contain dots");
	else
		say(out, "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
			"alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '" LABEL_PATTERN "')");
}

void ks_name_check_label_1035(struct ks_str name, struct ks_name_problems *out)
{
	out->n = 0;
	if (name.n > 63)
		say(out, TOO_LONG(63));
	if (!label_shape(name, false) || !is_lower(name.p[0]))
		say(out, "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end "
			"with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
			"'[a-z]([-a-z0-9]*[a-z0-9])?')");
}

void ks_name_check_path(struct ks_str name, bool prefix, struct ks_name_problems *out)
{
	out->n = 0;
	if (!prefix && ks_str_is(name, ".")) {
		say(out, "may not be '.'");
		return;
	}
	if (!prefix && ks_str_is(name, "..")) {
		say(out, "may not be '..'");
		return;
	}
	if (name.n && memchr(name.p, '/', name.n))
		say(out, "may not contain '/'");
	if (name.n && memchr(name.p, '%', name.n))
		say(out, "may not contain '%'");
}

static void check_prefix(struct ks_str prefix, bool fold, struct ks_name_problems *out)
{
	if (!prefix.n) {
		say(out, "prefix part must be non-empty");
		return;
	}
	if (prefix.n > 253)
		say(out, "prefix part " TOO_MANY_BYTES(253));
	if (!subdomain_shape(prefix, fold))
		say(out, "prefix part " SUBDOMAIN_WORDS);
}

void ks_name_check_qualified(struct ks_str name, bool fold, struct ks_name_problems *out)
{
	const char *slash = name.n ? memchr(name.p, '/', name.n) : NULL;
	struct ks_str last = name;

	out->n = 0;
	if (slash) {
		struct ks_str prefix = ks_str_of(name.p, (size_t)(slash - name.p));

		last = ks_str_of(slash + 1, name.n - prefix.n - 1);
		if (last.n && memchr(last.p, '/', last.n)) {
			say(out, "a valid label key " KEY_WORDS " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
			return;
		}
		check_prefix(prefix, fold, out);
	}
	if (!last.n)
		say(out, "name part must be non-empty");
	else if (last.n > 63)
		say(out, "name part " TOO_MANY_BYTES(63));
	if (!key_shape(last))
		say(out, "name part " KEY_WORDS);
}

void ks_name_check_label_value(struct ks_str value, struct ks_name_problems *out)
{
	out->n = 0;
	if (value.n > 63)
		say(out, TOO_MANY_BYTES(63));
	if (value.n && !key_shape(value))
		say(out, "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
			"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(" KEY_PATTERN ")?')");
}
