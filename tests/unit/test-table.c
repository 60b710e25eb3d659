/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/api/json.h"
#include "core/api/metadata_only.h"
#include "core/registry/table/table.h"
#include "tests/unit/golden.h"

#define CREATED "\"creationTimestamp\":\"2026-01-01T00:00:00Z\""

static const struct ks_schema *const schema = &ks_schema_builtin;

/* "group/version/resource" to its index. */
static uint16_t find(const char *text)
{
	const char *first = strchr(text, '/'), *second = strchr(first + 1, '/');
	uint16_t index = ks_schema_find_resource(schema, ks_str_of(text, (size_t)(first - text)),
		ks_str_of(first + 1, (size_t)(second - first - 1)), ks_str_from(second + 1));

	if (index == KS_NO_RESOURCE)
		fail_msg("no resource %s", text);
	return index;
}

static void decode(struct ks_arena *arena, uint16_t resource, const char *json, struct ks_value *tree_r)
{
	const char *message = "";

	if (ks_json_decode(arena, schema, schema->resources[resource].type, 0, json, strlen(json), tree_r, NULL, &message) != 0)
		fail_msg("%s: %s", message, json);
}

/* `age` seconds after 2026-01-01. */
static struct ks_time at(int64_t age)
{
	return (struct ks_time){.seconds = 1767225600 + age};
}

/* The whole Table of one object. */
static struct json_object *table_of(const char *resource, const char *json, enum ks_include_object include, int64_t age)
{
	struct ks_table_meta meta = {.revision = 7, .remaining = -1};
	struct ks_table_object object = {.revision = 5};
	struct json_object *o;
	struct ks_value tree;
	struct ks_table table;
	struct ks_arena arena;
	struct ks_buf bytes, out;

	ks_arena_init(&arena, 0);
	ks_buf_init(&bytes);
	ks_buf_init(&out);
	ks_table_init(&table, schema, find(resource), include, "v1");
	table.now = at(age);
	decode(&arena, table.resource, json, &tree);
	ks_json_encode_object(schema, &tree, &bytes, &object.rv_at, &object.rv_comma);
	object.json = ks_buf_str(&bytes);
	assert_int_equal(ks_table_add(&table, &tree, &object), 0);
	ks_table_write(&table, &meta, &out);
	assert_false(out.failed);
	o = golden_parse(out.data, out.len);
	ks_table_fini(&table);
	ks_arena_fini(&arena);
	ks_buf_fini(&bytes);
	ks_buf_fini(&out);
	return o;
}

static struct json_object *row_of(struct json_object *table)
{
	return json_object_array_get_idx(json_object_object_get(table, "rows"), 0);
}

static void check_cells_after(const char *resource, const char *json, int64_t age, const char *expected)
{
	struct json_object *table = table_of(resource, json, KS_INCLUDE_NONE, age);
	const char *cells = json_object_to_json_string_ext(json_object_object_get(row_of(table), "cells"),
		JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

	assert_string_equal(cells, expected);
	json_object_put(table);
}

static void check_cells(const char *resource, const char *json, const char *expected)
{
	check_cells_after(resource, json, 0, expected);
}

/* -- recorded rows --------------------------------------------------------------------------------------------- */

static size_t compare_row(struct json_object *one)
{
	const char *resource = json_object_get_string(json_object_object_get(one, "resource"));
	struct json_object *table = table_of(resource, json_object_to_json_string(json_object_object_get(one, "object")), KS_INCLUDE_NONE, 0);
	struct json_object *row = row_of(table);
	size_t n;

	json_object_object_del(row, "object");
	n = golden_differences(row, json_object_object_get(one, "row"), resource);
	json_object_put(table);
	return n;
}

static void test_rows_are_those_of_kube_apiserver(void **state)
{
	struct json_object *rows = golden_read("tables/rows.json");
	size_t differences = 0;

	(void)state;
	for (size_t i = 0; i < json_object_array_length(rows); i++)
		differences += compare_row(json_object_array_get_idx(rows, i));
	json_object_put(rows);
	assert_int_equal(differences, 0);
}

/* -- what the recorded rows don't show ------------------------------------------------------------------------- */

static void test_services_show_where_they_are_reached(void **state)
{
	(void)state;
	check_cells("/v1/services",
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":\"LoadBalancer\",\"clusterIPs\":[\"10.0.0.1\"],"
		"\"externalIPs\":[\"9.9.9.9\"],\"selector\":{\"b\":\"2\",\"a\":\"1\"},"
		"\"ports\":[{\"port\":80,\"nodePort\":30080,\"protocol\":\"TCP\"},{\"port\":53,\"protocol\":\"UDP\"}]},"
		"\"status\":{\"loadBalancer\":{\"ingress\":[{\"hostname\":\"lb.example.com\"},{\"ip\":\"5.6.7.8\"},{\"ip\":\"5.6.7.8\"}]}}}",
		"[\"a\",\"LoadBalancer\",\"10.0.0.1\",\"5.6.7.8,lb.example.com,9.9.9.9\",\"80:30080/TCP,53/UDP\",\"<unknown>\",\"a=1,b=2\"]");
	check_cells("/v1/services", "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"type\":\"LoadBalancer\"}}",
		"[\"b\",\"LoadBalancer\",\"<none>\",\"<pending>\",\"<none>\",\"<unknown>\",\"<none>\"]");
	check_cells("/v1/services", "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"type\":\"ExternalName\",\"externalName\":\"x.org\"}}",
		"[\"c\",\"ExternalName\",\"<none>\",\"x.org\",\"<none>\",\"<unknown>\",\"<none>\"]");
}

static void test_restarts_tell_when_the_last_one_was(void **state)
{
	(void)state;
	check_cells_after("/v1/pods",
		"{\"metadata\":{\"name\":\"p\"," CREATED "},\"spec\":{\"containers\":[{\"name\":\"c\"}]},\"status\":{\"phase\":\"Running\","
		"\"podIPs\":[{\"ip\":\"10.1.1.1\"}],\"containerStatuses\":[{\"name\":\"c\",\"restartCount\":3,\"ready\":false,"
		"\"state\":{\"waiting\":{\"reason\":\"CrashLoopBackOff\"}},"
		"\"lastState\":{\"terminated\":{\"finishedAt\":\"2026-01-01T01:00:00Z\"}}}]}}",
		2 * 3600,
		"[\"p\",\"0/1\",\"CrashLoopBackOff\",\"3 (60m ago)\",\"120m\",\"10.1.1.1\",\"<none>\",\"<none>\",\"<none>\"]");
}

static void test_a_deleted_pod_terminates_unless_its_node_is_lost(void **state)
{
	(void)state;
	check_cells("/v1/pods",
		"{\"metadata\":{\"name\":\"p\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"status\":{\"phase\":\"Running\"}}",
		"[\"p\",\"0/0\",\"Terminating\",\"0\",\"<unknown>\",\"<none>\",\"<none>\",\"<none>\",\"<none>\"]");
	check_cells("/v1/pods",
		"{\"metadata\":{\"name\":\"p\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"status\":{\"phase\":\"Running\","
		"\"reason\":\"NodeLost\"}}",
		"[\"p\",\"0/0\",\"Unknown\",\"0\",\"<unknown>\",\"<none>\",\"<none>\",\"<none>\",\"<none>\"]");
}

static void test_readiness_gates_are_counted(void **state)
{
	(void)state;
	check_cells("/v1/pods",
		"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"readinessGates\":[{\"conditionType\":\"a\"},{\"conditionType\":\"b\"}]},"
		"\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"a\",\"status\":\"True\"},{\"type\":\"b\",\"status\":\"False\"}]}}",
		"[\"p\",\"0/0\",\"Pending\",\"0\",\"<unknown>\",\"<none>\",\"<none>\",\"<none>\",\"1/2\"]");
}

static void test_quotas_are_parted_by_requests_and_limits(void **state)
{
	(void)state;
	check_cells("/v1/resourcequotas",
		"{\"metadata\":{\"name\":\"q\"},\"status\":{\"hard\":{\"pods\":\"4\",\"limits.cpu\":\"2\",\"cpu\":\"1\"},\"used\":{\"pods\":\"1\"}}}",
		"[\"q\",\"cpu: 0/1, pods: 1/4\",\"limits.cpu: 0/2\",\"<unknown>\"]");
}

static void test_claims_show_their_volume_once_bound(void **state)
{
	(void)state;
	check_cells("/v1/persistentvolumeclaims",
		"{\"metadata\":{\"name\":\"c\"},\"spec\":{\"volumeName\":\"v\",\"storageClassName\":\"fast\"},\"status\":{\"phase\":\"Bound\","
		"\"accessModes\":[\"ReadWriteMany\",\"ReadWriteOnce\",\"ReadWriteMany\"],\"capacity\":{\"storage\":\"5Gi\"}}}",
		"[\"c\",\"Bound\",\"v\",\"5Gi\",\"RWO,RWX\",\"fast\",\"<unset>\",\"<unknown>\",\"<unset>\"]");
}

static void test_the_default_storage_class_is_marked(void **state)
{
	(void)state;
	check_cells("storage.k8s.io/v1/storageclasses",
		"{\"metadata\":{\"name\":\"s\",\"annotations\":{\"storageclass.kubernetes.io/is-default-class\":\"true\"}},\"provisioner\":\"p\"}",
		"[\"s (default)\",\"p\",\"Delete\",\"Immediate\",false,\"<unknown>\"]");
}

static void test_jobs_end_with_a_duration(void **state)
{
	(void)state;
	check_cells_after("batch/v1/jobs",
		"{\"metadata\":{\"name\":\"j\"},\"spec\":{\"completions\":1},\"status\":{\"succeeded\":1,\"startTime\":\"2026-01-01T00:00:00Z\","
		"\"completionTime\":\"2026-01-01T00:03:20Z\",\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]}}",
		86400, "[\"j\",\"Complete\",\"1/1\",\"3m20s\",\"<unknown>\",\"\",\"\",\"<none>\"]");
}

static void test_signing_requests_show_how_far_they_are(void **state)
{
	(void)state;
	check_cells("certificates.k8s.io/v1/certificatesigningrequests",
		"{\"metadata\":{\"name\":\"c\"},\"spec\":{\"signerName\":\"s\",\"username\":\"u\",\"expirationSeconds\":3600},"
		"\"status\":{\"certificate\":\"YQ==\",\"conditions\":[{\"type\":\"Approved\",\"status\":\"True\"}]}}",
		"[\"c\",\"<unknown>\",\"s\",\"u\",\"60m\",\"Approved,Issued\"]");
}

static void test_aggregated_groups_say_why_they_are_away(void **state)
{
	(void)state;
	check_cells("apiregistration.k8s.io/v1/apiservices",
		"{\"metadata\":{\"name\":\"v1.x\"},\"spec\":{\"service\":{\"namespace\":\"n\",\"name\":\"s\"}},\"status\":{\"conditions\":"
		"[{\"type\":\"Available\",\"status\":\"False\",\"reason\":\"MissingEndpoints\"}]}}",
		"[\"v1.x\",\"n/s\",\"False (MissingEndpoints)\",\"<unknown>\"]");
	check_cells("apiregistration.k8s.io/v1/apiservices",
		"{\"metadata\":{\"name\":\"v1.\"},\"status\":{\"conditions\":[{\"type\":\"Available\",\"status\":\"True\",\"reason\":\"Local\"}]}}",
		"[\"v1.\",\"Local\",\"True\",\"<unknown>\"]");
}

static void test_parameters_chosen_by_labels_are_dumped(void **state)
{
	(void)state;
	check_cells("admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
		"{\"metadata\":{\"name\":\"b\"},\"spec\":{\"policyName\":\"p\",\"paramRef\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"},"
		"\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\",\"values\":[\"x\",\"y\"]}]}}}}",
		"[\"b\",\"p\",\"&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{"
		"LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}\",\"<unknown>\"]");
}

static void test_a_wrong_selector_is_no_row_without_cells(void **state)
{
	(void)state;
	check_cells("networking.k8s.io/v1/networkpolicies",
		"{\"metadata\":{\"name\":\"n\"},\"spec\":{\"podSelector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Near\"}]}}}",
		"[\"n\",\"<error>\",\"<unknown>\"]");
}

static void test_kinds_without_columns_show_when_they_were_made(void **state)
{
	(void)state;
	check_cells("/v1/limitranges", "{\"metadata\":{\"name\":\"l\"," CREATED "}}", "[\"l\",\"2026-01-01T00:00:00Z\"]");
	check_cells("/v1/limitranges", "{\"metadata\":{\"name\":\"l\"}}", "[\"l\",\"0001-01-01T00:00:00Z\"]");
}

static void test_a_scale_has_its_own_columns(void **state)
{
	(void)state;
	check_cells("apps/v1/deployments/scale", "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":3},\"status\":{\"replicas\":2}}",
		"[\"d\",3,2,\"<unknown>\"]");
}

static void test_a_status_is_shown_as_its_object(void **state)
{
	(void)state;
	check_cells("/v1/namespaces/status", "{\"metadata\":{\"name\":\"n\"},\"status\":{\"phase\":\"Active\"}}",
		"[\"n\",\"Active\",\"<unknown>\"]");
}

/* Every served kind has as many cells as columns, also when nothing is in the object. */
static void test_empty_objects_fill_their_columns(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < schema->n_resources; i++) {
		const struct ks_resource *r = &schema->resources[i];
		struct json_object *cells, *columns;
		struct ks_arena arena;
		struct ks_value tree;
		struct ks_buf out;

		if (r->is_subresource || r->type != schema->resources[r->storage].type)
			continue;
		ks_arena_init(&arena, 0);
		ks_buf_init(&out);
		assert_true(ks_value_new_struct(&arena, schema, r->type, &tree));
		ks_table_cells(schema, (uint16_t)i, &tree, at(0), &arena, &out);
		cells = golden_parse(out.data, out.len);
		ks_buf_clear(&out);
		ks_table_columns(schema, (uint16_t)i, &out);
		columns = golden_parse(out.data, out.len);
		if (strcmp(ks_schema_text(schema, r->resource), "ipaddresses") != 0)
			assert_int_equal(json_object_array_length(cells), json_object_array_length(columns));
		json_object_put(cells);
		json_object_put(columns);
		ks_buf_fini(&out);
		ks_arena_fini(&arena);
	}
}

/* -- the Table ------------------------------------------------------------------------------------------------- */

static void test_rows_carry_what_was_asked_for(void **state)
{
	const char *json = "{\"metadata\":{\"name\":\"c\",\"labels\":{\"a\":\"}\\\"\"}},\"data\":{\"k\":\"v\"}}";
	struct json_object *table = table_of("/v1/configmaps", json, KS_INCLUDE_METADATA, 0);
	struct json_object *object = json_object_object_get(row_of(table), "object");

	(void)state;
	assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
		"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{\"resourceVersion\":\"5\",\"name\":\"c\","
		"\"labels\":{\"a\":\"}\\\"\"}}}");
	json_object_put(table);
	table = table_of("/v1/configmaps", json, KS_INCLUDE_OBJECT, 0);
	object = json_object_object_get(row_of(table), "object");
	assert_string_equal(json_object_get_string(json_object_object_get(json_object_object_get(object, "data"), "k")), "v");
	json_object_put(table);
	table = table_of("/v1/configmaps", json, KS_INCLUDE_NONE, 0);
	assert_true(json_object_object_get_ex(row_of(table), "object", &object) && !object);
	json_object_put(table);
}

static void test_a_table_says_what_a_list_says(void **state)
{
	struct ks_table_meta meta = {.revision = 12, .continue_ = KS_STR_LIT("abc"), .remaining = 3};
	struct ks_table table;
	struct ks_buf out;

	(void)state;
	ks_buf_init(&out);
	ks_table_init(&table, schema, find("/v1/secrets"), KS_INCLUDE_METADATA, "v1beta1");
	table.no_headers = true;
	ks_table_write(&table, &meta, &out);
	ks_buf_add_char(&out, '\0');
	assert_string_equal(out.data,
		"{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1beta1\",\"metadata\":{\"resourceVersion\":\"12\",\"continue\":\"abc\","
		"\"remainingItemCount\":3},\"columnDefinitions\":null,\"rows\":[]}");
	ks_table_fini(&table);
	ks_buf_fini(&out);
}

static void add_flow_schema(struct ks_table *table, const char *name, int precedence)
{
	struct ks_table_object object = {0};
	struct ks_value tree;
	char json[256];

	snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"matchingPrecedence\":%d}}", name, precedence);
	decode(&table->scratch, table->resource, json, &tree);
	assert_int_equal(ks_table_add(table, &tree, &object), 0);
}

static void test_flow_schemas_come_in_the_order_of_matching(void **state)
{
	static const char *const expected[] = {"b", "a", "d", "c"};
	struct ks_table_meta meta = {.remaining = -1};
	struct json_object *o, *rows;
	struct ks_table table;
	struct ks_buf out;

	(void)state;
	ks_buf_init(&out);
	ks_table_init(&table, schema, find("flowcontrol.apiserver.k8s.io/v1/flowschemas"), KS_INCLUDE_NONE, "v1");
	add_flow_schema(&table, "a", 500);
	add_flow_schema(&table, "b", 1);
	add_flow_schema(&table, "c", 9000);
	add_flow_schema(&table, "d", 500);
	ks_table_write(&table, &meta, &out);
	o = golden_parse(out.data, out.len);
	rows = json_object_object_get(o, "rows");
	for (size_t i = 0; i < 4; i++) {
		struct json_object *cells = json_object_object_get(json_object_array_get_idx(rows, i), "cells");

		assert_string_equal(json_object_get_string(json_object_array_get_idx(cells, 0)), expected[i]);
	}
	json_object_put(o);
	ks_table_fini(&table);
	ks_buf_fini(&out);
}

static void test_include_object_has_three_values(void **state)
{
	enum ks_include_object include;

	(void)state;
	assert_true(ks_include_object_parse(KS_STR_LIT(""), &include) && include == KS_INCLUDE_METADATA);
	assert_true(ks_include_object_parse(KS_STR_LIT("Object"), &include) && include == KS_INCLUDE_OBJECT);
	assert_true(ks_include_object_parse(KS_STR_LIT("None"), &include) && include == KS_INCLUDE_NONE);
	assert_false(ks_include_object_parse(KS_STR_LIT("none"), &include));
}

/* -- small parts ----------------------------------------------------------------------------------------------- */

static void test_ages_have_two_or_three_figures(void **state)
{
	static const struct { int64_t seconds; const char *text; } ages[] = {
		{-2, "<invalid>"}, {-1, "0s"}, {0, "0s"}, {119, "119s"}, {120, "2m"}, {200, "3m20s"}, {600, "10m"}, {10799, "179m"},
		{10800, "3h"}, {11100, "3h5m"}, {28800, "8h"}, {172799, "47h"}, {172800, "2d"}, {176400, "2d1h"}, {691200, "8d"},
		{63071999, "729d"}, {63072000, "2y"}, {63158400, "2y1d"}, {252288000, "8y"}, {3153600000, "100y"},
	};
	char out[KS_HUMAN_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
		assert_int_equal(ks_human_duration(ages[i].seconds, out), strlen(ages[i].text));
		assert_string_equal(out, ages[i].text);
	}
}

static void test_broken_metadata_has_no_end(void **state)
{
	(void)state;
	assert_int_equal(ks_metadata_end(KS_STR_LIT("{\"metadata\":{\"a\":\"}\\\\\"}}"), 13), 23);
	assert_int_equal(ks_metadata_end(KS_STR_LIT("{\"metadata\":{\"a\":[{\"b\":1}]"), 13), 0);
	assert_int_equal(ks_metadata_end(KS_STR_LIT("{\"metadata\":{\"a\":\"\\\""), 13), 0);
	assert_int_equal(ks_metadata_end(KS_STR_LIT(""), 0), 0);
}

/* A column has the description of its own row. */
static void test_columns_have_descriptions(void **state)
{
	static const char texts[] = "\0of the second column";
	uint32_t *offsets = calloc(ks_schema_builtin.n_columns, sizeof(*offsets));
	struct ks_descriptions descriptions = {.columns = offsets, .texts = texts};
	struct ks_schema described = ks_schema_builtin;
	uint16_t pods = find("/v1/pods");
	struct ks_buf out;
	const char *second;

	(void)state;
	assert_non_null(offsets);
	offsets[ks_schema_builtin.resources[pods].first_column + 1] = 1;
	described.descriptions = &descriptions;
	ks_buf_init(&out);
	ks_table_columns(&described, pods, &out);
	ks_buf_add_char(&out, '\0');
	assert_false(out.failed);
	second = strstr(out.data, "\"name\":\"Ready\"");
	assert_non_null(second);
	assert_ptr_equal(strstr(second, "\"description\":\"of the second column\""), strstr(second, "\"description\""));
	assert_null(strstr(strstr(second, "of the second") + 1, "of the second"));
	ks_buf_fini(&out);
	free(offsets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_those_of_kube_apiserver),
		cmocka_unit_test(test_services_show_where_they_are_reached),
		cmocka_unit_test(test_restarts_tell_when_the_last_one_was),
		cmocka_unit_test(test_a_deleted_pod_terminates_unless_its_node_is_lost),
		cmocka_unit_test(test_readiness_gates_are_counted),
		cmocka_unit_test(test_quotas_are_parted_by_requests_and_limits),
		cmocka_unit_test(test_claims_show_their_volume_once_bound),
		cmocka_unit_test(test_the_default_storage_class_is_marked),
		cmocka_unit_test(test_jobs_end_with_a_duration),
		cmocka_unit_test(test_signing_requests_show_how_far_they_are),
		cmocka_unit_test(test_aggregated_groups_say_why_they_are_away),
		cmocka_unit_test(test_parameters_chosen_by_labels_are_dumped),
		cmocka_unit_test(test_a_wrong_selector_is_no_row_without_cells),
		cmocka_unit_test(test_kinds_without_columns_show_when_they_were_made),
		cmocka_unit_test(test_a_scale_has_its_own_columns),
		cmocka_unit_test(test_a_status_is_shown_as_its_object),
		cmocka_unit_test(test_empty_objects_fill_their_columns),
		cmocka_unit_test(test_rows_carry_what_was_asked_for),
		cmocka_unit_test(test_a_table_says_what_a_list_says),
		cmocka_unit_test(test_flow_schemas_come_in_the_order_of_matching),
		cmocka_unit_test(test_include_object_has_three_values),
		cmocka_unit_test(test_ages_have_two_or_three_figures),
		cmocka_unit_test(test_columns_have_descriptions),
		cmocka_unit_test(test_broken_metadata_has_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
