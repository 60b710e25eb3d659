/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/name.h"

#include <string.h>

#define LABEL_RE "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN_RE LABEL_RE "(\\." LABEL_RE ")*"
#define LABEL_KEY_RE "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define REGEX(re) "regex used for validation is '" re "')"

#define SUBDOMAIN_MESSAGE                                                                                                                \
	"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " \
	"alphanumeric "                                                                                                                  \
	"character (e.g. 'example.com', " REGEX(SUBDOMAIN_RE)
#define LABEL_KEY_MESSAGE                                                                                                                      \
	"must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or " \
	"'my.name',  "                                                                                                                         \
	"or '123-abc', " REGEX(LABEL_KEY_RE)

enum { LONGEST_LABEL = 63, LONGEST_SUBDOMAIN = 253, LONGEST_PORT = 15 };

static void say(struct ks_name_errors *errors, const char *text)
{
	if (errors->n < sizeof(errors->text) / sizeof(errors->text[0]))
		errors->text[errors->n++] = text;
}

/* ---- characters ---- */

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}
static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}
static bool is_alnum(char c)
{
	return is_lower(c) || is_upper(c) || is_digit(c);
}

/* Every character is a letter of the given kinds, a digit, or one of `others`. */
static bool made_of(struct ks_str s, bool upper, const char *others)
{
	for (size_t i = 0; i < s.n; i++)
		if (!is_lower(s.p[i]) && !is_digit(s.p[i]) && !(upper && is_upper(s.p[i])) && !(s.p[i] && strchr(others, s.p[i])))
			return false;
	return true;
}

static bool has(struct ks_str s, char c)
{
	return s.n && memchr(s.p, c, s.n) != NULL;
}

/* ---- forms ---- */

static bool is_label(struct ks_str s)
{
	return s.n && made_of(s, false, "-") && s.p[0] != '-' && s.p[s.n - 1] != '-';
}

static bool is_subdomain(struct ks_str s)
{
	for (;;) {
		const char *dot = s.n ? memchr(s.p, '.', s.n) : NULL;

		if (!is_label(ks_str_of(s.p, dot ? (size_t)(dot - s.p) : s.n)))
			return false;
		if (!dot)
			return true;
		s = ks_str_of(dot + 1, s.n - (size_t)(dot - s.p) - 1);
	}
}

static bool is_label_key_part(struct ks_str s)
{
	return s.n && made_of(s, true, "-_.") && is_alnum(s.p[0]) && is_alnum(s.p[s.n - 1]);
}

static void check_label(struct ks_str s, struct ks_name_errors *errors)
{
	if (s.n > LONGEST_LABEL)
		say(errors, "must be no more than 63 characters");
	if (is_label(s))
		return;
	if (is_subdomain(s))
		say(errors, "must not contain dots");
	else
		say(errors,
			"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
			"alphanumeric character (e.g. 'my-name',  or '123-abc', " REGEX(LABEL_RE));
}

static void check_subdomain(struct ks_str s, struct ks_name_errors *errors)
{
	if (s.n > LONGEST_SUBDOMAIN)
		say(errors, "must be no more than 253 characters");
	if (!is_subdomain(s))
		say(errors, SUBDOMAIN_MESSAGE);
}

static void check_label_1035(struct ks_str s, struct ks_name_errors *errors)
{
	if (s.n > LONGEST_LABEL)
		say(errors, "must be no more than 63 characters");
	if (!is_label(s) || !is_lower(s.p[0]))
		say(errors,
			"a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end "
			"with an alphanumeric character (e.g. 'my-name',  or 'abc-123', " REGEX("[a-z]([-a-z0-9]*[a-z0-9])?"));
}

static void check_key_prefix(struct ks_str prefix, struct ks_name_errors *errors)
{
	if (prefix.n == 0) {
		say(errors, "prefix part must be non-empty");
		return;
	}
	if (prefix.n > LONGEST_SUBDOMAIN)
		say(errors, "prefix part must be no more than 253 bytes");
	if (!is_subdomain(prefix))
		say(errors, "prefix part " SUBDOMAIN_MESSAGE);
}

static void check_label_key(struct ks_str s, struct ks_name_errors *errors)
{
	const char *slash = s.n ? memchr(s.p, '/', s.n) : NULL;
	struct ks_str name = s;

	if (slash) {
		name = ks_str_of(slash + 1, s.n - (size_t)(slash - s.p) - 1);
		if (has(name, '/')) {
			say(errors,
				"a valid label key " LABEL_KEY_MESSAGE " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
			return;
		}
		check_key_prefix(ks_str_of(s.p, (size_t)(slash - s.p)), errors);
	}
	if (name.n == 0)
		say(errors, "name part must be non-empty");
	else if (name.n > LONGEST_LABEL)
		say(errors, "name part must be no more than 63 bytes");
	if (!is_label_key_part(name))
		say(errors, "name part " LABEL_KEY_MESSAGE);
}

static void check_label_value(struct ks_str s, struct ks_name_errors *errors)
{
	if (s.n > LONGEST_LABEL)
		say(errors, "must be no more than 63 bytes");
	if (s.n && !is_label_key_part(s))
		say(errors,
			"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
			"an "
			"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', " REGEX("(" LABEL_KEY_RE ")?"));
}

static void check_path_segment(struct ks_str s, struct ks_name_errors *errors)
{
	if (ks_str_is(s, ".")) {
		say(errors, "may not be '.'");
	} else if (ks_str_is(s, "..")) {
		say(errors, "may not be '..'");
	} else {
		if (has(s, '/'))
			say(errors, "may not contain '/'");
		if (has(s, '%'))
			say(errors, "may not contain '%'");
	}
}

static void check_no_parent(struct ks_str s, struct ks_name_errors *errors)
{
	if (ks_str_is(s, "."))
		say(errors, "must not be '.'");
	else if (ks_str_is(s, ".."))
		say(errors, "must not be '..'");
	else if (ks_str_starts(s, KS_STR_LIT("..")))
		say(errors, "must not start with '..'");
}

static void check_config_key(struct ks_str s, struct ks_name_errors *errors)
{
	if (s.n > LONGEST_SUBDOMAIN)
		say(errors, "must be no more than 253 characters");
	if (s.n == 0 || !made_of(s, true, "-._"))
		say(errors,
			"a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
			"'key-name', " REGEX("[-._a-zA-Z0-9]+"));
	check_no_parent(s, errors);
}

static bool has_letter(struct ks_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (is_lower(s.p[i]))
			return true;
	return false;
}

static void check_port(struct ks_str s, struct ks_name_errors *errors)
{
	if (s.n > LONGEST_PORT)
		say(errors, "must be no more than 15 characters");
	if (s.n == 0 || !made_of(s, false, "-"))
		say(errors, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
	if (!has_letter(s))
		say(errors, "must contain at least one letter (a-z)");
	if (s.n && memmem(s.p, s.n, "--", 2))
		say(errors, "must not contain consecutive hyphens");
	if (s.n && (s.p[0] == '-' || s.p[s.n - 1] == '-'))
		say(errors, "must not begin or end with a hyphen");
}

static void check_identifier(struct ks_str s, struct ks_name_errors *errors)
{
	if (s.n == 0 || !made_of(s, true, "_") || is_digit(s.p[0]))
		say(errors,
			"a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' "
			"(e.g. 'my_name',  or 'MY_NAME',  or 'MyName', " REGEX("[A-Za-z_][A-Za-z0-9_]*"));
}

static void check_environment(struct ks_str s, struct ks_name_errors *errors)
{
	if (s.n == 0)
		say(errors, "environment variable name must be non-empty");
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || (unsigned char)s.p[i] > '~' || s.p[i] == '=') {
			say(errors, "a valid environment variable name must consist only of printable ASCII characters other than '='");
			return;
		}
}

static void check_header(struct ks_str s, struct ks_name_errors *errors)
{
	if (s.n == 0 || !made_of(s, true, "-"))
		say(errors, "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', " REGEX("[-A-Za-z0-9]+"));
}

static void check_wildcard(struct ks_str s, struct ks_name_errors *errors)
{
	if (s.n > LONGEST_SUBDOMAIN)
		say(errors, "must be no more than 253 characters");
	if (!ks_str_starts(s, KS_STR_LIT("*.")) || !is_subdomain(ks_str_of(s.p + 2, s.n - 2)))
		say(errors,
			"a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case "
			"alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', " REGEX(
				"\\*\\." SUBDOMAIN_RE));
}

static void check_percent(struct ks_str s, struct ks_name_errors *errors)
{
	bool good = s.n > 1 && s.p[s.n - 1] == '%';

	for (size_t i = 0; good && i + 1 < s.n; i++)
		good = is_digit(s.p[i]);
	if (!good)
		say(errors, "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', " REGEX("[0-9]+%"));
}

static bool is_search_label(const char *p, size_t n)
{
	if (n && p[0] == '_')
		p++, n--;
	if (!n || p[0] == '-' || p[0] == '_' || p[n - 1] == '-' || p[n - 1] == '_')
		return false;
	return made_of(ks_str_of(p, n), false, "-_");
}

static void check_search_domain(struct ks_str s, struct ks_name_errors *errors)
{
	size_t start = 0;
	bool good = true;

	if (s.n > LONGEST_SUBDOMAIN)
		say(errors, "must be no more than 253 characters");
	for (size_t i = 0; i <= s.n; i++)
		if (i == s.n || s.p[i] == '.') {
			good &= is_search_label(s.p + start, i - start);
			start = i + 1;
		}
	if (!good)
		say(errors,
			"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and "
			"end with an alphanumeric character (e.g. 'example.com', " REGEX(
				"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*"));
}

bool ks_name_check(enum ks_name_form form, struct ks_str value, struct ks_name_errors *errors_r)
{
	static void (*const checks[])(struct ks_str, struct ks_name_errors *) = {
		[KS_NAME_DNS1123_LABEL] = check_label,
		[KS_NAME_DNS1123_SUBDOMAIN] = check_subdomain,
		[KS_NAME_DNS1035_LABEL] = check_label_1035,
		[KS_NAME_LABEL_KEY] = check_label_key,
		[KS_NAME_LABEL_VALUE] = check_label_value,
		[KS_NAME_PATH_SEGMENT] = check_path_segment,
		[KS_NAME_CONFIG_KEY] = check_config_key,
		[KS_NAME_PORT] = check_port,
		[KS_NAME_C_IDENTIFIER] = check_identifier,
		[KS_NAME_ENVIRONMENT] = check_environment,
		[KS_NAME_HTTP_HEADER] = check_header,
		[KS_NAME_WILDCARD_SUBDOMAIN] = check_wildcard,
		[KS_NAME_PERCENT] = check_percent,
		[KS_NAME_SEARCH_DOMAIN] = check_search_domain,
	};
	struct ks_name_errors errors = {.n = 0};

	checks[form](value, &errors);
	if (errors_r)
		*errors_r = errors;
	return errors.n == 0;
}

bool ks_name_check_prefix(enum ks_name_form form, struct ks_str value, struct ks_name_errors *errors_r)
{
	bool dns = form == KS_NAME_DNS1123_LABEL || form == KS_NAME_DNS1123_SUBDOMAIN || form == KS_NAME_DNS1035_LABEL;
	char masked[LONGEST_SUBDOMAIN + 2];

	/* Upstream puts an 'a' where the last two characters stood; longer texts fail anyhow. */
	if (dns && value.n > 1 && value.n <= sizeof(masked) && value.p[value.n - 1] == '-') {
		memcpy(masked, value.p, value.n - 2);
		masked[value.n - 2] = 'a';
		return ks_name_check(form, ks_str_of(masked, value.n - 1), errors_r);
	}
	if (form == KS_NAME_PATH_SEGMENT && (ks_str_is(value, ".") || ks_str_is(value, "..")))
		value = ks_str_of("", 0);
	return ks_name_check(form, value, errors_r);
}

const char *ks_name_errors_join(struct ks_arena *arena, const struct ks_name_errors *errors, const char *separator)
{
	const char *text = errors->n ? errors->text[0] : "";

	for (unsigned i = 1; text && i < errors->n; i++)
		text = ks_arena_printf(arena, "%s%s%s", text, separator, errors->text[i]);
	return text;
}
