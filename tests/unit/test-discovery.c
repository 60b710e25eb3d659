/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/api/discovery.h"
#include "core/api/document.h"
#include "tests/unit/golden.h"

static const struct ks_schema *const builtin[] = {&ks_schema_builtin};
static const struct ks_discovery served = {.schemas = builtin, .n_schemas = 1, .server_address = "192.0.2.10:6443"};

static struct json_object *parse(struct ks_bytes *bytes)
{
	struct json_object *o = golden_parse(bytes->data, bytes->len);

	ks_bytes_unref(bytes);
	return o;
}

static void compare_aggregated(bool core, const char *name)
{
	struct ks_bytes *bytes;
	struct json_object *ours, *theirs = golden_read(name);

	assert_int_equal(ks_discovery_aggregated(&served, core, KS_DISCOVERY_V2, &bytes), 0);
	ours = parse(bytes);
	assert_int_equal(golden_differences(ours, theirs, name), 0);
	json_object_put(ours);
	json_object_put(theirs);
}

static void test_aggregated_core(void **state)
{
	(void)state;
	compare_aggregated(true, "discovery/discovery-api.json");
}

static void test_aggregated_groups(void **state)
{
	(void)state;
	compare_aggregated(false, "discovery/discovery-apis.json");
}

static int document_of(const char *path, struct ks_bytes **out_r)
{
	char group[128], version[32];

	if (sscanf(path, "/api/%31s", version) == 1)
		return ks_discovery_resources(&served, KS_STR_LIT(""), ks_str_from(version), out_r);
	if (sscanf(path, "/apis/%127[^/]/%31s", group, version) == 2)
		return ks_discovery_resources(&served, ks_str_from(group), ks_str_from(version), out_r);
	assert_int_equal(sscanf(path, "/apis/%127s", group), 1);
	return ks_discovery_group(&served, ks_str_from(group), out_r);
}

static void test_plain_documents(void **state)
{
	struct json_object *all = golden_read("discovery/plain.json");

	(void)state;
	json_object_object_foreach(all, path, theirs)
	{
		struct ks_bytes *bytes;
		struct json_object *ours;

		assert_int_equal(document_of(path, &bytes), 0);
		ours = parse(bytes);
		assert_int_equal(golden_differences(ours, theirs, path), 0);
		json_object_put(ours);
	}
	json_object_put(all);
}

static void test_versions(void **state)
{
	struct ks_bytes *bytes;

	(void)state;
	assert_int_equal(ks_discovery_versions(&served, &bytes), 0);
	assert_true(ks_str_is(ks_str_of(bytes->data, bytes->len),
		"{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":"
		"[{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":\"192.0.2.10:6443\"}]}"));
	ks_bytes_unref(bytes);
}

static void test_groups_prefer_their_first_version(void **state)
{
	struct json_object *o, *groups, *group, *preferred;
	struct ks_bytes *bytes;

	(void)state;
	assert_int_equal(ks_discovery_groups(&served, &bytes), 0);
	o = parse(bytes);
	assert_true(json_object_object_get_ex(o, "groups", &groups));
	assert_int_equal(json_object_array_length(groups), 20);
	group = json_object_array_get_idx(groups, 5);
	assert_true(json_object_object_get_ex(group, "preferredVersion", &preferred));
	assert_string_equal(
		json_object_to_json_string_ext(preferred, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
		"{\"groupVersion\":\"autoscaling/v2\",\"version\":\"v2\"}");
	json_object_put(o);
}

static void test_unknown_is_not_there(void **state)
{
	struct ks_bytes *bytes;

	(void)state;
	assert_int_equal(ks_discovery_group(&served, KS_STR_LIT("nosuch"), &bytes), -ENOENT);
	assert_int_equal(ks_discovery_group(&served, KS_STR_LIT(""), &bytes), -ENOENT);
	assert_int_equal(ks_discovery_resources(&served, KS_STR_LIT("apps"), KS_STR_LIT("v2"), &bytes), -ENOENT);
}

static bool serve_only_apps(const struct ks_schema *s, const struct ks_group_version *gv, const void *data)
{
	(void)data;
	return ks_str_is(ks_str_from(ks_schema_text(s, gv->group)), "apps");
}

static void test_what_is_not_served_is_not_told(void **state)
{
	struct ks_discovery only = served;
	struct json_object *o, *groups;
	struct ks_bytes *bytes;

	(void)state;
	only.is_served = serve_only_apps;
	assert_int_equal(ks_discovery_groups(&only, &bytes), 0);
	o = parse(bytes);
	assert_true(json_object_object_get_ex(o, "groups", &groups));
	assert_int_equal(json_object_array_length(groups), 1);
	json_object_put(o);
	assert_int_equal(ks_discovery_resources(&only, KS_STR_LIT("batch"), KS_STR_LIT("v1"), &bytes), -ENOENT);
}

/* A schema such as a custom resource has: one group version, one resource. */
#define CUSTOM_TEXTS "\0one.example.com\0v1beta1\0widgets\0widget\0Widget\0two.example.com\0v1\0v10"
enum { ONE = 1, V1BETA1 = 17, WIDGETS = 25, WIDGET = 33, KIND = 40, TWO = 47, V1 = 63, V10 = 66 };

static const struct ks_resource custom_resources[] = {
	{.group = TWO,
		.version = V1,
		.resource = WIDGETS,
		.singular = WIDGET,
		.kind = KIND,
		.kind_group = TWO,
		.kind_version = V1,
		.verbs = KS_VERB_GET},
	{.group = ONE,
		.version = V1,
		.resource = WIDGETS,
		.singular = WIDGET,
		.kind = KIND,
		.kind_group = ONE,
		.kind_version = V1,
		.verbs = KS_VERB_GET},
	{.group = ONE,
		.version = V1BETA1,
		.resource = WIDGETS,
		.singular = WIDGET,
		.kind = KIND,
		.kind_group = ONE,
		.kind_version = V1BETA1},
	{.group = ONE,
		.version = V10,
		.resource = WIDGETS,
		.singular = WIDGET,
		.kind = KIND,
		.kind_group = ONE,
		.kind_version = V10},
};
static const struct ks_group_version custom_versions[] = {
	{.group = TWO, .version = V1, .first_resource = 0, .n_resources = 1},
	{.group = ONE, .version = V1BETA1, .first_resource = 2, .n_resources = 1},
	{.group = ONE, .version = V1, .first_resource = 1, .n_resources = 1},
	{.group = ONE, .version = V10, .first_resource = 3, .n_resources = 1},
};
static const struct ks_schema custom = {
	.resources = custom_resources,
	.group_versions = custom_versions,
	.strings = CUSTOM_TEXTS,
	.n_resources = 4,
	.n_group_versions = 4,
	.generation = 1,
};

static void test_custom_groups_follow_in_order(void **state)
{
	const struct ks_schema *const both[] = {&ks_schema_builtin, &custom};
	const struct ks_discovery d = {.schemas = both, .n_schemas = 2};
	const char *want =
		"{\"name\":\"one.example.com\",\"versions\":[{\"groupVersion\":\"one.example.com/v10\",\"version\":\"v10\"},"
		"{\"groupVersion\":\"one.example.com/v1\",\"version\":\"v1\"},{\"groupVersion\":\"one.example.com/"
		"v1beta1\",\"version\":\"v1beta1\"}],"
		"\"preferredVersion\":{\"groupVersion\":\"one.example.com/"
		"v10\",\"version\":\"v10\"}},{\"name\":\"two.example.com\"";
	struct ks_bytes *bytes;

	(void)state;
	assert_int_equal(ks_discovery_groups(&d, &bytes), 0);
	assert_non_null(memmem(bytes->data, bytes->len, want, strlen(want)));
	ks_bytes_unref(bytes);
}

static void test_version_order(void **state)
{
	static const char *const order[] = {
		"v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"};

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(order) / sizeof(order[0]); i++) {
		assert_true(ks_version_compare(ks_str_from(order[i]), ks_str_from(order[i + 1])) < 0);
		assert_true(ks_version_compare(ks_str_from(order[i + 1]), ks_str_from(order[i])) > 0);
	}
	assert_int_equal(ks_version_compare(KS_STR_LIT("v1"), KS_STR_LIT("v1")), 0);
}

static void test_hash_is_sha512_in_capitals(void **state)
{
	char hash[KS_DOCUMENT_HASH_SIZE];

	(void)state;
	assert_int_equal(ks_document_hash("abc", 3, hash), 0);
	assert_string_equal(hash, "DDAF35A193617ABACC417349AE20413112E6FA4E89A97EA20A9EEEE64B55D39A"
		"2192992A274FC1A836BA3C23A3FEEBBD454D4423643CE80E2A9AC94FA54CA49F");
}

static void test_document_escapes(void **state)
{
	struct ks_document doc;
	struct ks_bytes *bytes;

	(void)state;
	ks_document_init(&doc);
	ks_document_open(&doc, '{');
	ks_document_add(&doc, "a\"b", "line\nand \\ \"quote\"");
	ks_document_add_raw(&doc, "n", "1");
	ks_document_close(&doc, '}');
	bytes = ks_document_finish(&doc);
	assert_non_null(bytes);
	assert_true(
		ks_str_is(ks_str_of(bytes->data, bytes->len), "{\"a\\\"b\":\"line\\u000aand \\\\ \\\"quote\\\"\",\"n\":1}"));
	ks_bytes_unref(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_aggregated_core),
		cmocka_unit_test(test_aggregated_groups),
		cmocka_unit_test(test_plain_documents),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_groups_prefer_their_first_version),
		cmocka_unit_test(test_unknown_is_not_there),
		cmocka_unit_test(test_what_is_not_served_is_not_told),
		cmocka_unit_test(test_custom_groups_follow_in_order),
		cmocka_unit_test(test_version_order),
		cmocka_unit_test(test_hash_is_sha512_in_capitals),
		cmocka_unit_test(test_document_escapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
