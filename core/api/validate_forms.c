/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Checks of single values that many kinds share. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "core/api/quantity.h"
#include "core/api/validate.h"

enum { ANNOTATIONS_LIMIT = 256 * 1024, LOWERED = 512 };

static bool say_all(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const struct ks_name_errors *errors)
{
	for (unsigned i = 0; i < errors->n; i++)
		ks_err_invalid_text(c, path, name, value, errors->text[i]);
	return errors->n == 0;
}

bool ks_check_name(struct ks_check *c, const struct ks_path *path, const char *name, enum ks_name_form form, struct ks_str value)
{
	struct ks_name_errors errors;

	return ks_name_check(form, value, &errors) || say_all(c, path, name, value, &errors);
}

bool ks_check_nonnegative(struct ks_check *c, const struct ks_path *path, const char *name, int64_t value)
{
	if (value >= 0)
		return true;
	ks_err_invalid_int(c, path, name, value, "must be greater than or equal to 0");
	return false;
}

bool ks_check_range(struct ks_check *c, const struct ks_path *path, const char *name, int64_t value, int64_t min, int64_t max)
{
	if (value >= min && value <= max)
		return true;
	ks_err_invalid_int(c, path, name, value, ks_err_detail(c, "must be between %lld and %lld, inclusive", (long long)min, (long long)max));
	return false;
}

bool ks_check_port(struct ks_check *c, const struct ks_path *path, const char *name, int64_t value)
{
	return ks_check_range(c, path, name, value, 1, 65535);
}

bool ks_check_port_or_name(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *value)
{
	if (value && value->kind == KS_STRING)
		return ks_check_name(c, path, name, KS_NAME_PORT, ks_value_str(value));
	return ks_check_port(c, path, name, ks_value_int_or(value, 0));
}

bool ks_check_quantity_nonnegative(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value)
{
	struct ks_quantity q;
	const char *message;

	if (!value.n || (value.p[0] >= '0' && value.p[0] <= '9') || ks_quantity_parse(value, &q, &message) || ks_quantity_sign(&q) >= 0)
		return true;
	ks_err_invalid_text(c, path, name, value, "must be greater than or equal to 0");
	return false;
}

/* -- labels ------------------------------------------------------------------------------------------------------- */

bool ks_check_labels(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *labels)
{
	bool good = true;

	for (uint32_t i = 0; labels && labels->kind == KS_MAP && i < labels->n; i++) {
		good &= ks_check_name(c, path, name, KS_NAME_LABEL_KEY, labels->members[i].key);
		good &= ks_check_name(c, path, name, KS_NAME_LABEL_VALUE, ks_value_str(&labels->members[i].value));
	}
	return good;
}

/* Keys are judged in small letters. */
static bool check_annotation_key(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str key)
{
	struct ks_name_errors errors;
	char lowered[LOWERED];

	if (ks_name_check(KS_NAME_LABEL_KEY, key, NULL))
		return true;
	if (key.n <= sizeof(lowered)) {
		for (size_t i = 0; i < key.n; i++)
			lowered[i] = key.p[i] >= 'A' && key.p[i] <= 'Z' ? (char)(key.p[i] + 'a' - 'A') : key.p[i];
		return ks_name_check(KS_NAME_LABEL_KEY, ks_str_of(lowered, key.n), &errors) || say_all(c, path, name, key, &errors);
	}
	return ks_name_check(KS_NAME_LABEL_KEY, key, &errors) || say_all(c, path, name, key, &errors);
}

bool ks_check_annotations(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *annotations)
{
	size_t total = 0;
	bool good = true;

	for (uint32_t i = 0; annotations && annotations->kind == KS_MAP && i < annotations->n; i++) {
		good &= check_annotation_key(c, path, name, annotations->members[i].key);
		total += annotations->members[i].key.n + ks_value_str(&annotations->members[i].value).n;
	}
	if (total <= ANNOTATIONS_LIMIT)
		return good;
	ks_err_too_long(c, path, name, ANNOTATIONS_LIMIT);
	return false;
}

static void check_requirement(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, unsigned flags)
{
	static const char *const with_values[] = {"In", "NotIn", NULL}, *const without[] = {"Exists", "DoesNotExist", NULL};
	struct ks_str operator= KS_IN_TEXT(c, v, "operator");
	const struct ks_value *values = KS_IN_LIST(c, v, "values");
	struct ks_path at = ks_path_child(path, "values");

	if (ks_str_in(operator, with_values)) {
		if (!ks_value_count(values))
			ks_err_required(c, path, "values", "must be specified when `operator` is 'In' or 'NotIn'");
	} else if (ks_str_in(operator, without)) {
		if (ks_value_count(values))
			ks_err_forbidden(c, path, "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
	} else {
		ks_err_invalid_text(c, path, "operator", operator, "not a valid selector operator");
	}
	ks_check_name(c, path, "key", KS_NAME_LABEL_KEY, KS_IN_TEXT(c, v, "key"));
	for (uint32_t i = 0; !(flags & KS_SELECTOR_VALUES_FREE) && i < ks_value_count(values); i++) {
		struct ks_path item = ks_path_index(&at, i);

		ks_check_name(c, &item, NULL, KS_NAME_LABEL_VALUE, ks_value_str(&values->items[i]));
	}
}

bool ks_check_label_selector(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *selector, unsigned flags)
{
	const struct ks_status_cause *mark = ks_check_mark(c);
	const struct ks_value *expressions = KS_IN_LIST(c, selector, "matchExpressions");
	struct ks_path own = name ? ks_path_child(path, name) : *path;
	struct ks_path at = ks_path_child(&own, "matchExpressions");

	ks_check_labels(c, &own, "matchLabels", KS_IN_MAP(c, selector, "matchLabels"));
	for (uint32_t i = 0; i < ks_value_count(expressions); i++) {
		struct ks_path item = ks_path_index(&at, i);

		check_requirement(c, &item, &expressions->items[i], flags);
	}
	return !ks_check_failed_since(c, mark);
}

/* -- addresses ---------------------------------------------------------------------------------------------------- */

struct address {
	unsigned char bytes[16]; /* an IPv4 address is kept mapped */
	bool v4;                 /* counts as IPv4, in whatever way it was written */
	bool mapped;             /* written as ::ffff:1.2.3.4 */
	bool zeros;              /* with leading zeros */
};

static const unsigned char v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/* Dotted decimal; leading zeros are remembered. */
static bool parse_v4(const char *text, struct address *a)
{
	for (int part = 0; part < 4; part++) {
		const char *start = text;
		unsigned n = 0;

		while (*text >= '0' && *text <= '9' && n <= 255)
			n = n * 10 + (unsigned)(*text++ - '0');
		if (text == start || n > 255 || *text != (part < 3 ? '.' : 0))
			return false;
		if (start[0] == '0' && text > start + 1)
			a->zeros = true;
		a->bytes[12 + part] = (unsigned char)n;
		text++;
	}
	memcpy(a->bytes, v4_prefix, sizeof(v4_prefix));
	a->v4 = true;
	return true;
}

static bool parse_address(struct ks_str value, struct address *a)
{
	char text[64];

	*a = (struct address){.v4 = false};
	if (value.n == 0 || value.n >= sizeof(text) || memchr(value.p, 0, value.n))
		return false;
	memcpy(text, value.p, value.n);
	text[value.n] = 0;
	if (!strchr(text, ':'))
		return parse_v4(text, a);
	if (inet_pton(AF_INET6, text, a->bytes) != 1)
		return false;
	a->mapped = a->v4 = !memcmp(a->bytes, v4_prefix, sizeof(v4_prefix));
	return true;
}

/* As Go prints it. */
static void print_address(const struct address *a, char out[INET6_ADDRSTRLEN])
{
	struct in6_addr in6;

	if (a->v4) {
		snprintf(out, INET6_ADDRSTRLEN, "%d.%d.%d.%d", a->bytes[12], a->bytes[13], a->bytes[14], a->bytes[15]);
		return;
	}
	memcpy(&in6, a->bytes, sizeof(in6));
	inet_ntop(AF_INET6, &in6, out, INET6_ADDRSTRLEN);
}

static bool wrong(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const char *detail)
{
	ks_err_invalid_text(c, path, name, value, detail);
	return false;
}

enum ks_address_form ks_ip_form(struct ks_str value, char canonical_r[KS_ADDRESS_TEXT])
{
	struct address a;

	if (!parse_address(value, &a))
		return KS_ADDRESS_NONE;
	print_address(&a, canonical_r);
	if (a.zeros || a.mapped)
		return KS_ADDRESS_LEGACY;
	return ks_str_is(value, canonical_r) ? KS_ADDRESS_CANONICAL : KS_ADDRESS_LOOSE;
}

bool ks_check_ip(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, bool strict)
{
	struct address a;

	if (!parse_address(value, &a))
		return wrong(c, path, name, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
	if (!strict)
		return true;
	if (a.zeros)
		return wrong(c, path, name, value, "must not have leading 0s");
	if (a.mapped)
		return wrong(c, path, name, value, "must not be an IPv4-mapped IPv6 address");
	return true;
}

bool ks_check_canonical_ip(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value)
{
	char canonical[KS_ADDRESS_TEXT];

	if (!ks_check_ip(c, path, name, value, true))
		return false;
	if (ks_ip_form(value, canonical) == KS_ADDRESS_LOOSE)
		return wrong(c, path, name, value, ks_err_detail(c, "must be in canonical form (\"%s\")", canonical));
	return true;
}

/* The length of a prefix, -1 when it is none. */
static int parse_bits(struct ks_str text, int max, bool *zeros)
{
	int n = 0;

	if (!text.n || text.n > 6)
		return -1;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return -1;
		n = n * 10 + (text.p[i] - '0');
	}
	if (text.n > 1 && text.p[0] == '0')
		*zeros = true;
	return n <= max ? n : -1;
}

/* Clears what lies behind the prefix; true when there was something. */
static bool mask(struct address *a, int bits)
{
	bool any = false;

	for (int i = bits; i < 128; i++) {
		unsigned char bit = (unsigned char)(0x80 >> (i % 8));

		any |= (a->bytes[i / 8] & bit) != 0;
		a->bytes[i / 8] &= (unsigned char)~bit;
	}
	return any;
}

/* False when it is no range. */
static bool parse_cidr(struct ks_str value, struct address *a, int *bits_r)
{
	const char *slash = value.n ? memchr(value.p, '/', value.n) : NULL;
	struct ks_str ip = slash ? ks_str_of(value.p, (size_t)(slash - value.p)) : value;

	if (!slash || !parse_address(ip, a))
		return false;
	*bits_r = parse_bits(ks_str_of(slash + 1, value.n - ip.n - 1), a->v4 && !a->mapped ? 32 : 128, &a->zeros);
	return *bits_r >= 0;
}

static bool mask_prefix(struct address *a, int bits)
{
	return mask(a, a->v4 && !a->mapped ? 96 + bits : bits);
}

static void print_cidr(const struct address *a, int bits, char out[KS_ADDRESS_TEXT])
{
	char address[INET6_ADDRSTRLEN];

	print_address(a, address);
	snprintf(out, KS_ADDRESS_TEXT, "%s/%d", address, bits);
}

enum ks_address_form ks_cidr_form(struct ks_str value, char canonical_r[KS_ADDRESS_TEXT], char single_r[KS_ADDRESS_TEXT], bool *beyond_r)
{
	char whole[KS_ADDRESS_TEXT];
	struct address a;
	int bits;

	if (!parse_cidr(value, &a, &bits))
		return KS_ADDRESS_NONE;
	print_cidr(&a, bits, whole);
	print_cidr(&a, a.v4 && !a.mapped ? 32 : 128, single_r);
	*beyond_r = mask_prefix(&a, bits);
	print_cidr(&a, bits, canonical_r);
	if (a.zeros || a.mapped)
		return KS_ADDRESS_LEGACY;
	return ks_str_is(value, whole) ? KS_ADDRESS_CANONICAL : KS_ADDRESS_LOOSE;
}

bool ks_check_cidr(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, bool strict)
{
	struct address a;
	int bits;

	if (!parse_cidr(value, &a, &bits))
		return wrong(c, path, name, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
	if (!strict)
		return true;
	if (a.zeros)
		return wrong(c, path, name, value, "must not have leading 0s in IP or prefix length");
	if (a.mapped)
		return wrong(c, path, name, value, "must not have an IPv4-mapped IPv6 address");
	if (mask_prefix(&a, bits))
		return wrong(c, path, name, value, "must not have bits set beyond the prefix length");
	return true;
}

bool ks_check_canonical_cidr(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value)
{
	char canonical[KS_ADDRESS_TEXT], single[KS_ADDRESS_TEXT];
	bool beyond;

	if (!ks_check_cidr(c, path, name, value, true))
		return false;
	if (ks_cidr_form(value, canonical, single, &beyond) == KS_ADDRESS_LOOSE)
		return wrong(c, path, name, value, ks_err_detail(c, "must be in canonical form (\"%s\")", canonical));
	return true;
}

bool ks_check_immutable(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *now, const struct ks_value *old)
{
	if (ks_value_same(now, old))
		return true;
	ks_err_invalid(c, path, name, now, "field is immutable");
	return false;
}
