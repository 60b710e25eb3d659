/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "api-help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POD(rest) "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"}," rest "}"
#define CONTAINERS "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]"

/* ---- decoding ---- */

static void test_free_form_keeps_numbers_and_order(void **state)
{
	struct ks_value v = ks_test_free(*state, " {\"b\":1,\"a\":[1.5,-3,true,null,\"x\"],\"c\":{}} ");

	assert_int_equal(v.kind, KS_MAP);
	assert_true(ks_str_is(v.members[0].key, "b"));
	assert_int_equal(v.members[0].value.integer, 1);
	assert_int_equal(v.members[1].value.items[0].kind, KS_FLOAT);
	assert_int_equal(v.members[1].value.items[3].kind, KS_NULL);
	assert_string_equal(ks_test_json(*state, &v), "{\"a\":[1.5,-3,true,null,\"x\"],\"b\":1,\"c\":{}}");
}

static void test_zero_values_are_absent_unless_behind_a_pointer(void **state)
{
	struct ks_value v;

	assert_null(ks_test_decode(*state,
		POD("\"spec\":{" CONTAINERS ",\"nodeName\":\"\",\"hostNetwork\":false,\"priority\":0,\"tolerations\":[],"
		    "\"nodeSelector\":{},\"securityContext\":{}}"),
		&v, NULL));
	assert_null(ks_value_at(&ks_schema_builtin, &v, "spec.nodeName"));
	assert_null(ks_value_at(&ks_schema_builtin, &v, "spec.hostNetwork"));
	assert_null(ks_value_at(&ks_schema_builtin, &v, "spec.tolerations"));
	assert_null(ks_value_at(&ks_schema_builtin, &v, "spec.nodeSelector"));
	assert_int_equal(ks_value_at(&ks_schema_builtin, &v, "spec.priority")->integer, 0);
	assert_non_null(ks_value_at(&ks_schema_builtin, &v, "spec.securityContext"));
	assert_string_equal(ks_test_json(*state, &v),
		"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":"
		"[{\"name\":\"c\",\"image\":\"i\",\"resources\":{}}],\"securityContext\":{},\"priority\":0},\"status\":{}}");
}

static void test_nulls(void **state)
{
	struct ks_value v;

	assert_null(ks_test_decode(
		*state, POD("\"spec\":{" CONTAINERS ",\"nodeName\":null,\"priority\":null,\"tolerations\":null},\"status\":null"), &v, NULL));
	assert_string_equal(ks_test_json(*state, &v),
		"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":"
		"[{\"name\":\"c\",\"image\":\"i\",\"resources\":{}}]},\"status\":{}}");
}

static void test_null_items_are_zero_values(void **state)
{
	struct ks_value v;

	assert_null(ks_test_decode(
		*state, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"finalizers\":[null]},\"data\":{\"k\":null}}", &v, NULL));
	assert_string_equal(ks_test_json(*state, &v),
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"finalizers\":[\"\"]},\"data\":{\"k\":\"\"}}");
}

static void test_fields_without_omitempty_show_their_zero_value(void **state)
{
	struct ks_value v;

	assert_null(ks_test_decode(*state, "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\"}", &v, NULL));
	assert_string_equal(ks_test_json(*state, &v),
		"{\"kind\":\"Deployment\",\"apiVersion\":\"apps/v1\",\"metadata\":{},\"spec\":{\"selector\":null,"
		"\"template\":{\"metadata\":{},\"spec\":{\"containers\":null}},\"strategy\":{}},\"status\":{}}");
}

static void test_go_structs_ignore_omitempty(void **state)
{
	struct ks_value v;

	assert_null(ks_test_decode(*state, "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"involvedObject\":{}}", &v, NULL));
	assert_string_equal(ks_test_json(*state, &v),
		"{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{},\"involvedObject\":{},\"source\":{},"
		"\"firstTimestamp\":null,\"lastTimestamp\":null,\"eventTime\":null,\"reportingComponent\":\"\",\"reportingInstance\":\"\"}");
}

static void test_canonical_scalars(void **state)
{
	static const char *const pairs[][2] = {
		{"\"1000m\"", "1"},
		{"0.5", "500m"},
		{"\"1024Ki\"", "1Mi"},
		{"\"1e3\"", "1e3"},
		{"\"1.500\"", "1.500"},
		{"\" 2Gi \"", "2Gi"},
		{"7", "7"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const char *json =
			ks_arena_printf(*state, "{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"spec\":{\"hard\":{\"x\":%s}}}", pairs[i][0]);
		struct ks_value v;

		assert_null(ks_test_decode(*state, json, &v, NULL));
		assert_true(ks_str_is(ks_value_str(ks_value_at(&ks_schema_builtin, &v, "spec.hard.x")), pairs[i][1]));
	}
}

static void test_times_are_kept_in_utc(void **state)
{
	struct ks_value v;

	assert_null(ks_test_decode(*state,
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"creationTimestamp\":\"2026-01-02T03:04:05.9+02:00\"}}", &v, NULL));
	assert_true(ks_str_is(ks_value_str(ks_value_at(&ks_schema_builtin, &v, "metadata.creationTimestamp")), "2026-01-02T01:04:05Z"));
}

static void test_raw_parts_keep_their_order(void **state)
{
	static const char json[] = "{\"kind\":\"ControllerRevision\",\"apiVersion\":\"apps/"
				   "v1\",\"metadata\":{},\"data\":{\"z\":1,\"a\":{\"c\":0,\"b\":\"\"}},\"revision\":1}";
	struct ks_value v;

	assert_null(ks_test_decode(*state, json, &v, NULL));
	assert_string_equal(ks_test_json(*state, &v), json);
}

static void test_escapes_and_invalid_utf8(void **state)
{
	struct ks_value v = ks_test_free(*state, "[\"a\\u00e9\\ud83d\\ude00\\ud800x\\n\\/\",\"\xff\xc3(\xe2\x82\",\"<&>\xe2\x80\xa8\"]");

	assert_true(ks_str_is(ks_value_str(&v.items[0]), "a\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbdx\n/"));
	assert_true(ks_str_is(ks_value_str(&v.items[1]), "\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd"));
	assert_string_equal(ks_test_json(*state, &v.items[2]), "\"\\u003c\\u0026\\u003e\\u2028\"");
}

/* ---- complaints ---- */

static void test_wrong_types_are_told_with_struct_and_path(void **state)
{
	static const struct {
		const char *json, *message;
	} cases[] = {
		{POD("\"spec\":\"x\""), "json: cannot unmarshal string into Go struct field Pod.spec of type v1.PodSpec"},
		{POD("\"spec\":{" CONTAINERS ",\"nodeName\":5}"),
			"json: cannot unmarshal number into Go struct field PodSpec.spec.nodeName of type string"},
		{POD("\"spec\":{" CONTAINERS ",\"priority\":1.5}"),
			"json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type int32"},
		{POD("\"spec\":{" CONTAINERS ",\"priority\":2147483648}"),
			"json: cannot unmarshal number 2147483648 into Go struct field PodSpec.spec.priority of type int32"},
		{POD("\"spec\":{\"containers\":[[]]}"),
			"json: cannot unmarshal array into Go struct field PodSpec.spec.containers of type v1.Container"},
		{POD("\"spec\":{\"containers\":\"x\"}"),
			"json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container"},
		{POD("\"spec\":{\"volumes\":[{\"name\":\"v\",\"nfs\":[]}]}"),
			"json: cannot unmarshal array into Go struct field Volume.spec.volumes.VolumeSource.nfs of type v1.NFSVolumeSource"},
		{POD("\"spec\":{\"containers\":[{\"readinessProbe\":{\"tcpSocket\":{\"port\":{}}}}]}"),
			"json: cannot unmarshal object into Go struct field "
			"TCPSocketAction.spec.containers.readinessProbe.ProbeHandler.tcpSocket.port of type int32"},
		{POD("\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"lots\"}}}]}"),
			"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
		{"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"labels\":{\"a\":1}}}",
			"json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"},
		{"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"labels\":[]}}",
			"json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string"},
		{"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"a\":\"other\"}}", "illegal base64 data at input byte 4"},
		{"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"creationTimestamp\":\"yesterday\"}}",
			"parsing time \"yesterday\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"yesterday\" as \"2006\""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ks_value v;

		assert_string_equal(ks_test_decode(*state, cases[i].json, &v, NULL), cases[i].message);
	}
}

/* Strings, lists and maps with a name of their own are told by it. */
static void test_wrong_types_have_the_names_of_go(void **state)
{
	static const struct {
		const char *json, *message;
	} cases[] = {
		{"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"type\":5}",
			"json: cannot unmarshal number into Go struct field Secret.type of type v1.SecretType"},
		{POD("\"spec\":{\"containers\":[{\"imagePullPolicy\":[]}]}"),
			"json: cannot unmarshal array into Go struct field Container.spec.containers.imagePullPolicy of type v1.PullPolicy"},
		{POD("\"spec\":{\"containers\":[{\"securityContext\":{\"capabilities\":{\"add\":[true]}}}]}"),
			"json: cannot unmarshal bool into Go struct field Capabilities.spec.containers.securityContext.capabilities.add of type "
			"v1.Capability"},
		{POD("\"spec\":{\"overhead\":\"x\"}"), "json: cannot unmarshal string into Go struct field PodSpec.spec.overhead of type v1.ResourceList"},
		{"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"uid\":1}}",
			"json: cannot unmarshal number into Go struct field ObjectMeta.metadata.uid of type types.UID"},
		{"{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolumeClaim\",\"status\":{\"allocatedResourceStatuses\":[]}}",
			"json: cannot unmarshal array into Go struct field PersistentVolumeClaimStatus.status.allocatedResourceStatuses of type "
			"map[v1.ResourceName]v1.ClaimResourceStatus"},
		{"{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\",\"spec\":{\"extra\":{\"a\":\"b\"}}}",
			"json: cannot unmarshal string into Go struct field SubjectAccessReviewSpec.spec.extra of type v1.ExtraValue"},
		{"{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":\"ValidatingAdmissionPolicy\","
		 "\"spec\":{\"matchConstraints\":{\"resourceRules\":[{\"apiGroups\":1}]}}}",
			"json: cannot unmarshal number into Go struct field "
			"NamedRuleWithOperations.spec.matchConstraints.resourceRules.RuleWithOperations.Rule.apiGroups of type []string"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ks_value v;

		assert_string_equal(ks_test_decode(*state, cases[i].json, &v, NULL), cases[i].message);
	}
}

static void test_the_first_wrong_type_is_told_and_a_failing_scalar_ends_it(void **state)
{
	struct ks_value v;

	assert_string_equal(ks_test_decode(*state, POD("\"spec\":{\"nodeName\":5,\"priority\":true}"), &v, NULL),
		"json: cannot unmarshal number into Go struct field PodSpec.spec.nodeName of type string");
	assert_string_equal(ks_test_decode(*state, POD("\"spec\":{\"nodeName\":5},\"status\":{\"startTime\":\"x\"}"), &v, NULL),
		"parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"");
}

static void test_syntax_errors_come_before_everything(void **state)
{
	static const struct {
		const char *json, *message;
	} cases[] = {
		{"", "unexpected end of JSON input"},
		{"{\"a\":1", "unexpected end of JSON input"},
		{"{\"a\":t", "invalid character ' ' in literal true (expecting 'r')"},
		{"[-", "invalid character ' ' in numeric literal"},
		{"[1.", "invalid character ' ' after decimal point in numeric literal"},
		{"[1e+", "invalid character ' ' in exponent of numeric literal"},
		{"[\"a\\", "invalid character ' ' in string escape code"},
		{"[\"a\\u0", "invalid character ' ' in \\u hexadecimal character escape"},
		{"[\"a", "unexpected end of JSON input"},
		{"[1", "unexpected end of JSON input"},
		{"hello", "invalid character 'h' looking for beginning of value"},
		{"{a:1}", "invalid character 'a' looking for beginning of object key string"},
		{"{\"a\":1,}", "invalid character '}' looking for beginning of object key string"},
		{"{\"a\" 1}", "invalid character '1' after object key"},
		{"{\"a\":1 \"b\":2}", "invalid character '\"' after object key:value pair"},
		{"[1 2]", "invalid character '2' after array element"},
		{"[1,]", "invalid character ']' looking for beginning of value"},
		{"{}x", "invalid character 'x' after top-level value"},
		{"text", "invalid character 'e' in literal true (expecting 'r')"},
		{"[01]", "invalid character '1' after array element"},
		{"[-]", "invalid character ']' in numeric literal"},
		{"[1.]", "invalid character ']' after decimal point in numeric literal"},
		{"[1e]", "invalid character ']' in exponent of numeric literal"},
		{"[\"a\nb\"]", "invalid character '\\n' in string literal"},
		{"[\"\\q\"]", "invalid character 'q' in string escape code"},
		{"[\"\\u12g4\"]", "invalid character 'g' in \\u hexadecimal character escape"},
		{"'", "invalid character '\\'' looking for beginning of value"},
		{"\xe9", "invalid character '\xc3\xa9' looking for beginning of value"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ks_str a, b;
		struct ks_value v;
		const char *message = "";

		assert_int_equal(ks_json_decode(*state, NULL, 0, 0, cases[i].json, strlen(cases[i].json), &v, NULL, &message), -22);
		assert_string_equal(message, cases[i].message);
		assert_int_equal(ks_json_peek_kind(*state, cases[i].json, strlen(cases[i].json), &a, &b, &message), -22);
		assert_string_equal(message, cases[i].message);
	}
}

static void test_a_syntax_error_behind_a_failing_scalar_wins(void **state)
{
	static const char json[] = "{\"metadata\":{\"creationTimestamp\":\"x\"},}";
	struct ks_value v;
	const char *message;
	uint16_t type = ks_schema_find_type(&ks_schema_builtin, "io.k8s.api.core.v1.Pod");

	assert_int_equal(ks_json_decode(*state, &ks_schema_builtin, type, 0, json, sizeof(json) - 1, &v, NULL, &message), -22);
	assert_string_equal(message, "invalid character '}' looking for beginning of object key string");
}

static void test_depth_is_limited(void **state)
{
	char deep[4001];
	struct ks_value v;
	const char *message;

	memset(deep, '[', 4000);
	assert_int_equal(ks_json_decode(*state, NULL, 0, 0, deep, 4000, &v, NULL, &message), -22);
	assert_string_equal(message, "invalid character '[' exceeded max depth");
}

static void test_strict_errors_come_in_order_with_paths(void **state)
{
	struct ks_strict_errors strict = {0};
	struct ks_value v;

	assert_null(ks_test_decode(*state,
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"labels\":{\"a\":\"1\",\"a\":\"2\"}},"
		"\"spec\":{\"containers\":[{\"name\":\"c\",\"foo\":{\"bar\":1,\"bar\":2}}],\"hostname\":\"x\",\"hostname\":\"y\",\"restartpolicy\":"
		"\"Never\"},\"zzz\":null}",
		&v, &strict));
	assert_string_equal(ks_test_strict(*state, &strict),
		"duplicate field \"metadata.labels.a\"; unknown field \"spec.containers[0].foo\"; "
		"duplicate field \"spec.hostname\"; unknown field \"spec.restartpolicy\"; unknown field \"zzz\"");
	assert_true(ks_str_is(ks_value_str(ks_value_at(&ks_schema_builtin, &v, "spec.hostname")), "y"));
	assert_true(ks_str_is(ks_value_str(ks_value_at(&ks_schema_builtin, &v, "metadata.labels.a")), "2"));
}

/* Keys of a map are repeated within one text of it, not when the whole map is. */
static void test_a_repeated_map_is_joined(void **state)
{
	struct ks_strict_errors strict = {0};
	struct ks_value v;

	assert_null(ks_test_decode(*state,
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"2\"},\"labels\":{\"b\":\"3\",\"c\":\"4\"}}}", &v,
		&strict));
	assert_string_equal(ks_test_strict(*state, &strict), "duplicate field \"metadata.labels\"");
	assert_string_equal(ks_test_json(*state, ks_value_at(&ks_schema_builtin, &v, "metadata.labels")), "{\"a\":\"1\",\"b\":\"3\",\"c\":\"4\"}");
}

static void test_bytes_come_as_lists_too(void **state)
{
	static const struct {
		const char *list, *message;
	} bad[] = {
		{"[\"a\"]", "json: cannot unmarshal string into Go struct field Secret.data of type uint8"},
		{"[256]", "json: cannot unmarshal number 256 into Go struct field Secret.data of type uint8"},
		{"[-1]", "json: cannot unmarshal number -1 into Go struct field Secret.data of type uint8"},
		{"[1.0]", "json: cannot unmarshal number 1.0 into Go struct field Secret.data of type uint8"},
		{"[[]]", "json: cannot unmarshal array into Go struct field Secret.data of type uint8"},
	};
	char json[128];
	struct ks_value v;

	assert_null(ks_test_decode(*state, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"a\":[104,105,null],\"b\":[]}}", &v, NULL));
	assert_string_equal(ks_test_json(*state, ks_value_at(&ks_schema_builtin, &v, "data")), "{\"a\":\"aGkA\",\"b\":\"\"}");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(json, sizeof(json), "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"a\":%s}}", bad[i].list);
		assert_string_equal(ks_test_decode(*state, json, &v, NULL), bad[i].message);
	}
}

/* What comes from YAML or of a patch has its keys sorted before it is decoded. */
static void test_strict_errors_of_a_tree_come_sorted(void **state)
{
	struct ks_value from = ks_test_free(*state, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"b\":1,\"a\":2,\"Z\":3}"), v;
	struct ks_strict_errors strict = {0};
	const char *message;

	assert_int_equal(ks_value_convert(*state, &ks_schema_builtin, ks_test_type(*state, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}"),
		KS_DECODE_STRICT, &from, &v, &strict, &message), 0);
	assert_string_equal(ks_test_strict(*state, &strict), "unknown field \"Z\"; unknown field \"a\"; unknown field \"b\"");
}

static void test_strict_errors_of_run_time_schemas(void **state)
{
	static const char json[] =
		"{\"spec\":{\"zz\":1,\"hostname\":\"a\",\"aa\":1,\"hostname\":\"b\"},\"metadata\":{\"bogus\":1},\"kind\":\"\",\"kind\":\"Pod\"}";
	struct ks_schema custom = ks_schema_builtin;
	struct ks_strict_errors strict = {0};
	struct ks_value v;
	const char *message;

	custom.generation = 1;
	assert_int_equal(ks_json_decode(*state, &custom, ks_schema_find_type(&custom, "io.k8s.api.core.v1.Pod"), KS_DECODE_STRICT, json,
				 sizeof(json) - 1, &v, &strict, &message),
		0);
	assert_string_equal(ks_test_strict(*state, &strict),
		"duplicate field \"spec.hostname\"; duplicate field \"kind\"; unknown field \"metadata.bogus\"; "
		"unknown field \"spec.aa\"; unknown field \"spec.zz\"");
}

static void test_many_duplicates_in_a_long_map(void **state)
{
	struct ks_strict_errors strict = {0};
	struct ks_buf json;
	struct ks_value v;
	const char *message;

	ks_buf_init(&json);
	for (int i = 0; i < 400; i++)
		ks_buf_printf(&json, "%c\"k%d\":%d", i ? ',' : '{', i % 200, i);
	ks_buf_add_char(&json, '}');
	assert_int_equal(ks_json_decode(*state, NULL, 0, KS_DECODE_STRICT, json.data, json.len, &v, &strict, &message), 0);
	ks_buf_fini(&json);
	assert_int_equal(v.n, 200);
	assert_int_equal(ks_value_get(NULL, &v, "k7")->integer, 207);
	assert_int_equal(strict.n, 100);
	assert_true(strict.dropped);
}

static void test_peek_kind(void **state)
{
	static const char json[] = "{\"x\":[{}],\"Kind\":\"Pod\",\"apiVersion\":\"v1\"}";
	struct ks_str api_version, kind;
	const char *message;

	assert_int_equal(ks_json_peek_kind(*state, json, sizeof(json) - 1, &api_version, &kind, &message), 0);
	assert_true(ks_str_is(kind, "Pod"));
	assert_true(ks_str_is(api_version, "v1"));
	assert_int_equal(ks_json_peek_kind(*state, "[]", 2, &api_version, &kind, &message), -22);
	assert_string_equal(message,
		"json: cannot unmarshal array into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; "
		"Kind string \"json:\\\"kind,omitempty\\\"\" }");
	assert_int_equal(ks_json_peek_kind(*state, "{\"kind\":5}", 10, &api_version, &kind, &message), -22);
	assert_string_equal(message, "json: cannot unmarshal number into Go struct field .kind of type string");
}

/* ---- encoding ---- */

static void test_floats_as_go_prints_them(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{0, "0"},
		{1, "1"},
		{-2.5, "-2.5"},
		{0.1, "0.1"},
		{1e20, "100000000000000000000"},
		{1e21, "1e+21"},
		{1e-6, "0.000001"},
		{1.5e-7, "1.5e-7"},
		{1e-10, "1e-10"},
		{9.223372036854775808e18, "9223372036854776000"},
		{123456.789, "123456.789"},
		{5e-324, "5e-324"},
		{1.7976931348623157e308, "1.7976931348623157e+308"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ks_value v = {.kind = KS_FLOAT, .number = cases[i].value};

		assert_string_equal(ks_test_json(*state, &v), cases[i].text);
	}
}

static void test_the_place_of_the_resource_version(void **state)
{
	struct ks_buf out;
	struct ks_value v;
	size_t at;
	bool comma;

	assert_null(ks_test_decode(
		*state, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}", &v, NULL));
	ks_buf_init(&out);
	ks_json_encode_object(&ks_schema_builtin, &v, &out, &at, &comma);
	assert_int_equal(out.len, strlen("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\"}}"));
	assert_memory_equal(out.data + at, "\"name\":\"a\"}}", out.len - at);
	assert_true(comma);
	ks_buf_clear(&out);
	ks_value_remove(&ks_schema_builtin, ks_value_get(&ks_schema_builtin, &v, "metadata"), KS_STR_LIT("name"));
	ks_json_encode_object(&ks_schema_builtin, &v, &out, &at, &comma);
	assert_memory_equal(out.data + at, "}}", 2);
	assert_false(comma);
	ks_buf_fini(&out);
}

static void test_typed_to_free_and_back(void **state)
{
	static const char json[] = POD("\"spec\":{" CONTAINERS ",\"priority\":0,\"nodeSelector\":{\"a\":\"b\"}}");
	struct ks_value typed, free_form, again;
	const char *message;

	assert_null(ks_test_decode(*state, json, &typed, NULL));
	assert_true(ks_value_to_free(*state, &ks_schema_builtin, &typed, &free_form));
	assert_int_equal(ks_value_convert(*state, &ks_schema_builtin, typed.type, 0, &free_form, &again, NULL, &message), 0);
	assert_true(ks_value_equal(&typed, &again));
	assert_string_equal(ks_test_json(*state, &typed), ks_test_json(*state, &again));
}

static void test_conversion_in_the_words_of_the_strategic_patch(void **state)
{
	static const struct {
		const char *json, *message;
	} cases[] = {
		{"{\"spec\":{\"replicas\":\"x\"}}", "unrecognized type: int32"},
		{"{\"spec\":{\"replicas\":1.5}}", "cannot convert float64 to int32"},
		{"{\"spec\":{\"template\":{\"spec\":{\"containers\":{\"name\":\"one\"}}}}}", "cannot restore slice from map"},
		{"{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":5}]}}}}", "cannot convert int64 to string"},
		{"{\"spec\":[]}", "cannot restore struct from: slice"},
		{"{\"metadata\":{\"labels\":\"x\"}}", "cannot restore map from string"},
	};
	uint16_t type = ks_schema_find_type(&ks_schema_builtin, "io.k8s.api.apps.v1.Deployment");

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ks_value v = ks_test_free(*state, cases[i].json), out;
		const char *message;

		assert_int_equal(ks_value_convert(*state, &ks_schema_builtin, type, KS_CONVERT_UNSTRUCTURED, &v, &out, NULL, &message), -22);
		assert_string_equal(message, cases[i].message);
	}
}

/* ---- memory ---- */

static void test_every_limit_of_memory_is_an_error(void **state)
{
	static const char json[] = POD("\"spec\":{" CONTAINERS ",\"nodeSelector\":{\"a\":\"\\u0041\"},\"bogus\":1}");
	uint16_t type = ks_test_type(*state, json);
	bool decoded = false;

	for (size_t limit = 16; !decoded; limit += 16) {
		struct ks_strict_errors strict = {0};
		struct ks_arena arena;
		struct ks_value v;
		const char *message;
		int r;

		ks_arena_init(&arena, limit);
		r = ks_json_decode(&arena, &ks_schema_builtin, type, KS_DECODE_STRICT, json, sizeof(json) - 1, &v, &strict, &message);
		assert_true(r == 0 || r == -12);
		decoded = r == 0;
		ks_arena_fini(&arena);
	}
}

/* No text at all is an empty one. */
static void test_absent_text(void **state)
{
	struct ks_buf out;

	(void)state;
	ks_buf_init(&out);
	ks_json_encode_string((struct ks_str){0}, &out);
	assert_int_equal(out.len, 2);
	assert_memory_equal(out.data, "\"\"", 2);
	ks_buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KS_TEST(test_free_form_keeps_numbers_and_order),
		KS_TEST(test_zero_values_are_absent_unless_behind_a_pointer),
		KS_TEST(test_nulls),
		KS_TEST(test_null_items_are_zero_values),
		KS_TEST(test_fields_without_omitempty_show_their_zero_value),
		KS_TEST(test_go_structs_ignore_omitempty),
		KS_TEST(test_canonical_scalars),
		KS_TEST(test_times_are_kept_in_utc),
		KS_TEST(test_raw_parts_keep_their_order),
		KS_TEST(test_escapes_and_invalid_utf8),
		KS_TEST(test_absent_text),
		KS_TEST(test_wrong_types_are_told_with_struct_and_path),
		KS_TEST(test_wrong_types_have_the_names_of_go),
		KS_TEST(test_the_first_wrong_type_is_told_and_a_failing_scalar_ends_it),
		KS_TEST(test_syntax_errors_come_before_everything),
		KS_TEST(test_a_syntax_error_behind_a_failing_scalar_wins),
		KS_TEST(test_depth_is_limited),
		KS_TEST(test_strict_errors_come_in_order_with_paths),
		KS_TEST(test_strict_errors_of_run_time_schemas),
		KS_TEST(test_strict_errors_of_a_tree_come_sorted),
		KS_TEST(test_a_repeated_map_is_joined),
		KS_TEST(test_bytes_come_as_lists_too),
		KS_TEST(test_many_duplicates_in_a_long_map),
		KS_TEST(test_peek_kind),
		KS_TEST(test_floats_as_go_prints_them),
		KS_TEST(test_the_place_of_the_resource_version),
		KS_TEST(test_typed_to_free_and_back),
		KS_TEST(test_conversion_in_the_words_of_the_strategic_patch),
		KS_TEST(test_every_limit_of_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
