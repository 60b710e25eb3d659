/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The engine of validation: paths, words, forms, rows of rules. */
#include "api-help.h"

#include <stdio.h>
#include <string.h>

#include "core/api/validate.h"

struct run {
	struct ks_status status;
	struct ks_check check;
};

static void begin(struct run *run, void **state)
{
	memset(run, 0, sizeof(*run));
	run->check = (struct ks_check){.schema = &ks_schema_builtin, .arena = *state, .status = &run->status};
}

/* Causes as "field: message" lines, without their line's end. */
static const char *said(struct run *run)
{
	static char text[4096];
	size_t n = 0;

	text[0] = 0;
	for (const struct ks_status_cause *c = run->status.causes; c; c = c->next)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s: %s", n ? "\n" : "", c->field, c->message);
	return text;
}

static struct ks_value decode(void **state, const char *json)
{
	struct ks_value v;

	assert_null(ks_test_decode(*state, json, &v, NULL));
	return v;
}

#define POD "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":"

/* -- paths ---------------------------------------------------------------------------------------------------------- */

static void test_path_of_fields_indexes_and_keys(void **state)
{
	struct ks_path spec = ks_path_root("spec"), list = ks_path_child(&spec, "containers"), item = ks_path_index(&list, 12);
	struct ks_path limits = ks_path_child(&item, "resources.limits"), key = ks_path_key(&limits, KS_STR_LIT("example.net/fpga"));

	assert_string_equal(ks_path_text(*state, &key, NULL), "spec.containers[12].resources.limits[example.net/fpga]");
	assert_string_equal(ks_path_text(*state, &item, "name"), "spec.containers[12].name");
}

static void test_path_without_root(void **state)
{
	struct ks_path root = ks_path_root(""), item = ks_path_index(&root, 0);

	assert_string_equal(ks_path_text(*state, NULL, "dryRun"), "dryRun");
	assert_string_equal(ks_path_text(*state, &item, NULL), "[0]");
}

/* -- words ---------------------------------------------------------------------------------------------------------- */

static void test_values_are_shown_by_their_kind(void **state)
{
	struct ks_path path = ks_path_root("f");
	struct ks_value yes = ks_value_from_bool(true), number = ks_value_from_int(-3);
	struct run run;

	begin(&run, state);
	ks_err_invalid_text(&run.check, &path, NULL, KS_STR_LIT("a\"\n"), "x");
	ks_err_invalid(&run.check, &path, NULL, &number, "x");
	ks_err_invalid(&run.check, &path, NULL, &yes, "x");
	ks_err_invalid(&run.check, &path, NULL, NULL, "x");
	ks_err_invalid_bare(&run.check, &path, NULL, "x");
	assert_string_equal(said(&run), "f: Invalid value: \"a\\\"\\n\": x\nf: Invalid value: -3: x\nf: Invalid value: true: x\nf: Invalid value: null: x\n"
		"f: Invalid value: x");
}

static void test_structs_are_shown_with_all_their_fields(void **state)
{
	struct ks_value pod = decode(state, POD "{\"containers\":[],\"resourceClaims\":[{\"name\":\"c\"}]}}");
	struct ks_value *claims = ks_value_at(&ks_schema_builtin, &pod, "spec.resourceClaims");
	struct ks_path path = ks_path_root("f");
	struct run run;

	begin(&run, state);
	ks_err_invalid(&run.check, &path, NULL, &claims->items[0], "x");
	assert_string_equal(said(&run), "f: Invalid value: {\"Name\":\"c\",\"ResourceClaimName\":null,\"ResourceClaimTemplateName\":null}: x");
}

static void test_words_of_each_error(void **state)
{
	static const char *const set[] = {"A", "B", NULL};
	struct ks_path path = ks_path_root("f");
	struct run run;

	begin(&run, state);
	ks_err_required(&run.check, &path, "a", "");
	ks_err_required(&run.check, &path, "a", "why");
	ks_err_forbidden(&run.check, &path, NULL, "why");
	ks_err_not_supported(&run.check, &path, NULL, KS_STR_LIT("C"), set);
	ks_err_duplicate_text(&run.check, &path, NULL, KS_STR_LIT("C"));
	ks_err_not_found(&run.check, &path, NULL, KS_STR_LIT("C"), NULL);
	ks_err_too_long(&run.check, &path, NULL, 1);
	ks_err_too_many(&run.check, &path, NULL, 21, 20);
	assert_string_equal(said(&run),
		"f.a: Required value\nf.a: Required value: why\nf: Forbidden: why\nf: Unsupported value: \"C\": supported values: \"A\", \"B\"\n"
		"f: Duplicate value: \"C\"\nf: Not found: \"C\"\nf: Too long: may not be more than 1 byte\nf: Too many: 21: must have at most 20 items");
	assert_string_equal(run.status.causes->reason, "FieldValueRequired");
	assert_string_equal(run.status.last_cause->reason, "FieldValueTooMany");
}

/* -- what was seen --------------------------------------------------------------------------------------------------- */

static void test_seen_texts_beyond_the_first_few(void **state)
{
	struct ks_seen seen = {.n = 0};
	char names[300][8];
	struct run run;

	begin(&run, state);
	for (int i = 0; i < 300; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		assert_true(ks_seen_add(&run.check, &seen, ks_str_from(names[i])));
	}
	for (int i = 0; i < 300; i++)
		assert_false(ks_seen_add(&run.check, &seen, ks_str_from(names[i])));
	assert_false(ks_seen_has(&seen, KS_STR_LIT("n300")));
	assert_true(ks_seen_add(&run.check, &seen, KS_STR_LIT("")));
	assert_false(ks_seen_add(&run.check, &seen, (struct ks_str){0}));
}

/* -- forms ------------------------------------------------------------------------------------------------------------ */

static bool ip(void **state, const char *text)
{
	struct ks_path path = ks_path_root("ip");
	struct run run;

	begin(&run, state);
	return ks_check_ip(&run.check, &path, NULL, ks_str_from(text), true);
}

static bool cidr(void **state, const char *text)
{
	struct ks_path path = ks_path_root("cidr");
	struct run run;

	begin(&run, state);
	return ks_check_cidr(&run.check, &path, NULL, ks_str_from(text), true);
}

static void test_addresses(void **state)
{
	assert_true(ip(state, "10.0.0.1"));
	assert_true(ip(state, "2001:db8::1"));
	assert_false(ip(state, "10.0.0.01"));
	assert_false(ip(state, "10.0.0"));
	assert_false(ip(state, "10.0.0.256"));
	assert_false(ip(state, "10.0.0.1 "));
	assert_false(ip(state, "::ffff:10.0.0.1"));
	assert_true(ip(state, "2001:DB8::1"));
	assert_false(ip(state, ""));
}

static void test_canonical_addresses(void **state)
{
	struct ks_path path = ks_path_root("ip");
	struct run run;

	begin(&run, state);
	assert_true(ks_check_canonical_ip(&run.check, &path, NULL, KS_STR_LIT("2001:db8::1")));
	assert_false(ks_check_canonical_ip(&run.check, &path, NULL, KS_STR_LIT("2001:DB8::1")));
	assert_true(ks_check_canonical_cidr(&run.check, &path, NULL, KS_STR_LIT("2001:db8::/32")));
	assert_false(ks_check_canonical_cidr(&run.check, &path, NULL, KS_STR_LIT("2001:db8:0::/32")));
}

static void test_forms_of_addresses(void **state)
{
	char canonical[KS_ADDRESS_TEXT], single[KS_ADDRESS_TEXT];
	bool beyond;

	(void)state;
	assert_int_equal(ks_ip_form(KS_STR_LIT("10.0.0.01"), canonical), KS_ADDRESS_LEGACY);
	assert_string_equal(canonical, "10.0.0.1");
	assert_int_equal(ks_ip_form(KS_STR_LIT("FE80::1"), canonical), KS_ADDRESS_LOOSE);
	assert_string_equal(canonical, "fe80::1");
	assert_int_equal(ks_ip_form(KS_STR_LIT("x"), canonical), KS_ADDRESS_NONE);
	assert_int_equal(ks_cidr_form(KS_STR_LIT("10.1.2.3/8"), canonical, single, &beyond), KS_ADDRESS_CANONICAL);
	assert_true(beyond);
	assert_string_equal(canonical, "10.0.0.0/8");
	assert_string_equal(single, "10.1.2.3/32");
	assert_int_equal(ks_cidr_form(KS_STR_LIT("2001:DB8::/32"), canonical, single, &beyond), KS_ADDRESS_LOOSE);
	assert_false(beyond);
	assert_string_equal(canonical, "2001:db8::/32");
}

static void test_networks(void **state)
{
	assert_true(cidr(state, "10.0.0.0/8"));
	assert_true(cidr(state, "2001:db8::/32"));
	assert_false(cidr(state, "10.0.0.1/8"));
	assert_false(cidr(state, "10.0.0.0/33"));
	assert_false(cidr(state, "10.0.0.0/08"));
	assert_false(cidr(state, "10.0.0.0"));
	assert_true(cidr(state, "2001:0db8::/32"));
}

static void test_labels_give_causes_for_keys_and_values(void **state)
{
	struct ks_value pod = decode(state, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"labels\":{\"a b\":\"-x\"}}}");
	struct ks_path path = ks_path_root("metadata");
	struct run run;

	begin(&run, state);
	assert_false(ks_check_labels(&run.check, &path, "labels", ks_value_at(&ks_schema_builtin, &pod, "metadata.labels")));
	assert_non_null(strstr(said(&run), "metadata.labels: Invalid value: \"a b\": name part must consist of"));
	assert_non_null(strstr(said(&run), "metadata.labels: Invalid value: \"-x\": a valid label must be an empty string or consist of"));
}

/* -- rows -------------------------------------------------------------------------------------------------------------- */

static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
static int hooked;

static void hook(struct ks_check *c, const struct ks_path *path, const struct ks_value *value, const struct ks_value *old, const struct ks_value *owner)
{
	(void)old;
	assert_non_null(owner);
	hooked++;
	if (!value)
		ks_err_required(c, path, NULL, "hook");
}

KS_RULES(port_rules, {"name", KS_RULE_NAME, .form = KS_NAME_PORT}, {"containerPort", KS_RULE_PORT, .required = true},
	{"protocol", KS_RULE_ENUM, .required = true, .set = protocols}, {"hostIP", KS_RULE_HOOK, .hook = hook});
KS_RULES(container_rules, {"name", KS_RULE_NAME, .form = KS_NAME_DNS1123_LABEL, .required = true, .stop = true},
	{.field = "image", .kind = KS_RULE_IMMUTABLE}, {"ports", KS_RULE_UNIQUE, .key = "name"}, {"ports", KS_RULE_EACH, .rules = &port_rules});

static const char *apply(void **state, struct run *run, const char *json, const char *old_json)
{
	struct ks_value pod = decode(state, json), old = {.kind = KS_ABSENT}, *before = NULL;
	struct ks_value *list = ks_value_at(&ks_schema_builtin, &pod, "spec.containers");
	struct ks_path path = ks_path_root("c");

	if (old_json) {
		old = decode(state, old_json);
		before = &ks_value_at(&ks_schema_builtin, &old, "spec.containers")->items[0];
	}
	begin(run, state);
	ks_rules_apply(&run->check, &path, &list->items[0], before, &container_rules);
	return said(run);
}

static void test_rows_in_their_order(void **state)
{
	struct run run;

	hooked = 0;
	assert_string_equal(apply(state, &run, POD "{\"containers\":[{\"name\":\"a\",\"ports\":[{\"containerPort\":70000,\"protocol\":\"X\"},{}]}]}}", NULL),
		"c.ports[1].name: Duplicate value: \"\"\n"
		"c.ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive\n"
		"c.ports[0].protocol: Unsupported value: \"X\": supported values: \"SCTP\", \"TCP\", \"UDP\"\nc.ports[0].hostIP: Required value: hook\n"
		"c.ports[1].containerPort: Required value\nc.ports[1].protocol: Required value\nc.ports[1].hostIP: Required value: hook");
	assert_int_equal(hooked, 2);
}

static void test_a_row_that_stops(void **state)
{
	struct run run;

	assert_string_equal(apply(state, &run, POD "{\"containers\":[{\"ports\":[{}]}]}}", NULL), "c.name: Required value");
}

static void test_a_field_that_stays(void **state)
{
	struct run run;

	assert_string_equal(apply(state, &run, POD "{\"containers\":[{\"name\":\"a\",\"image\":\"x\"}]}}", POD "{\"containers\":[{\"image\":\"y\"}]}}"),
		"c.image: Invalid value: \"x\": field is immutable");
	assert_string_equal(apply(state, &run, POD "{\"containers\":[{\"name\":\"a\",\"image\":\"x\"}]}}", POD "{\"containers\":[{\"image\":\"x\"}]}}"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KS_TEST(test_path_of_fields_indexes_and_keys),
		KS_TEST(test_path_without_root),
		KS_TEST(test_values_are_shown_by_their_kind),
		KS_TEST(test_structs_are_shown_with_all_their_fields),
		KS_TEST(test_words_of_each_error),
		KS_TEST(test_seen_texts_beyond_the_first_few),
		KS_TEST(test_addresses),
		KS_TEST(test_canonical_addresses),
		KS_TEST(test_forms_of_addresses),
		KS_TEST(test_networks),
		KS_TEST(test_labels_give_causes_for_keys_and_values),
		KS_TEST(test_rows_in_their_order),
		KS_TEST(test_a_row_that_stops),
		KS_TEST(test_a_field_that_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
