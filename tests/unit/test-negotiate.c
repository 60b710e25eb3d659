/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Accept, Content-Type, queries, and JSON in other forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include <cmocka.h>

#include "core/pipeline/gzip.h"
#include "core/pipeline/negotiate.h"
#include "core/pipeline/query.h"
#include "core/pipeline/render.h"
#include "core/pipeline/yaml_scalar.h"

static struct ks_arena arena;
static struct ks_status status;
static struct ks_media media;

static int negotiate(const char *accept, unsigned allowed)
{
	status = (struct ks_status){0};
	media = (struct ks_media){0};
	return ks_negotiate(&arena, ks_str_from(accept), allowed, &media, &status);
}

static void test_formats(void **state)
{
	(void)state;
	assert_int_equal(negotiate("", 0), 0);
	assert_int_equal(media.format, KS_MEDIA_JSON);
	assert_int_equal(negotiate("*/*", 0), 0);
	assert_int_equal(media.format, KS_MEDIA_JSON);
	assert_int_equal(negotiate("application/yaml", 0), 0);
	assert_int_equal(media.format, KS_MEDIA_YAML);
	assert_int_equal(negotiate("application/json, text/html", 0), 0);
	assert_int_equal(negotiate("application/vnd.kubernetes.protobuf,application/json", 0), 0);
	assert_int_equal(media.format, KS_MEDIA_PROTOBUF);
	assert_string_equal(ks_media_name(&media), "application/vnd.kubernetes.protobuf");
	assert_int_equal(negotiate("application/vnd.kubernetes.protobuf, */*", 0), 0);
	assert_int_equal(media.format, KS_MEDIA_PROTOBUF);
	assert_int_equal(negotiate("application/json;stream=watch", 0), 0);
	assert_int_equal(negotiate("application/json;pretty=1", 0), 0);
	assert_true(media.pretty);
}

static void test_cbor_behind_its_gate(void **state)
{
	enum ks_media_format format;

	(void)state;
	assert_int_equal(negotiate("application/cbor", 0), 406);
	assert_string_equal(status.message, "only the following media types are accepted: application/json, application/yaml, "
		"application/vnd.kubernetes.protobuf");
	assert_int_equal(negotiate("application/cbor, application/json;q=0.1", 0), 0);
	assert_int_equal(media.format, KS_MEDIA_JSON);
	assert_int_equal(negotiate("application/cbor, application/json;q=0.1", KS_ALLOW_CBOR), 0);
	assert_int_equal(media.format, KS_MEDIA_CBOR);
	assert_string_equal(ks_media_name(&media), "application/cbor");
	assert_int_equal(negotiate("*/*", KS_ALLOW_CBOR), 0);
	assert_int_equal(media.format, KS_MEDIA_JSON);
	assert_int_equal(negotiate("application/cbor;stream=watch", KS_ALLOW_CBOR | KS_ALLOW_WATCH), 0);
	assert_int_equal(negotiate("application/cbor;as=Table;g=meta.k8s.io;v=v1", KS_ALLOW_CBOR | KS_ALLOW_TABLE), 0);
	assert_int_equal(media.as, KS_AS_TABLE);
	assert_int_equal(negotiate("application/cbor;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", KS_ALLOW_CBOR | KS_ALLOW_DISCOVERY), 406);
	assert_int_equal(negotiate("application/yaml", KS_ALLOW_CBOR | KS_ALLOW_WATCH), 406);
	assert_string_equal(status.message, "only the following media types are accepted: application/json;stream=watch, "
		"application/vnd.kubernetes.protobuf;stream=watch, application/cbor-seq");
	assert_int_equal(ks_negotiate_body(&arena, ks_str_from("application/cbor"), 0, &format, &status), 415);
	assert_int_equal(ks_negotiate_body(&arena, ks_str_from("application/cbor"), KS_ALLOW_CBOR, &format, &status), 0);
	assert_int_equal(format, KS_MEDIA_CBOR);
}

static void test_quality(void **state)
{
	(void)state;
	assert_int_equal(negotiate("application/json;q=0.5, application/yaml", 0), 0);
	assert_int_equal(media.format, KS_MEDIA_YAML);
	assert_int_equal(negotiate("application/yaml;q=0.9, application/json;q=0.95", 0), 0);
	assert_int_equal(media.format, KS_MEDIA_JSON);
	assert_int_equal(negotiate("*/*, application/yaml", 0), 0);
	assert_int_equal(media.format, KS_MEDIA_YAML);
	assert_int_equal(negotiate("application/json;q=0.5, application/vnd.kubernetes.protobuf;q=0.6", 0), 0);
	assert_int_equal(media.format, KS_MEDIA_PROTOBUF);
}

static void test_protobuf_of_other_kinds(void **state)
{
	static const char table[] = "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1";
	static const char partial[] = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

	(void)state;
	assert_int_equal(negotiate(table, KS_ALLOW_TABLE), 406);
	assert_int_equal(negotiate(partial, KS_ALLOW_PARTIAL), 0);
	assert_int_equal(media.format, KS_MEDIA_PROTOBUF);
	assert_int_equal(media.as, KS_AS_PARTIAL);
	assert_int_equal(negotiate(partial, 0), 0); /* where the kind can't be had */
	assert_int_equal(media.format, KS_MEDIA_JSON);
	assert_int_equal(negotiate("application/vnd.kubernetes.protobuf;stream=watch", KS_ALLOW_WATCH), 0);
	assert_int_equal(media.format, KS_MEDIA_PROTOBUF);
}

static void test_not_acceptable(void **state)
{
	(void)state;
	assert_int_equal(negotiate("text/html", 0), 406);
	assert_string_equal(status.message,
		"only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf");
	assert_int_equal(negotiate("application/yaml", KS_ALLOW_WATCH), 406);
	assert_string_equal(status.message,
		"only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch");
	assert_int_equal(negotiate("application/json;as=Nonsense", KS_ALLOW_TABLE), 406);
}

static void test_other_kinds(void **state)
{
	static const char kubectl[] =
		"application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

	(void)state;
	assert_int_equal(negotiate(kubectl, KS_ALLOW_TABLE), 0);
	assert_int_equal(media.as, KS_AS_TABLE);
	assert_true(ks_str_is(media.as_version, "v1"));
	assert_int_equal(negotiate(kubectl, 0), 0);
	assert_int_equal(media.as, KS_AS_OBJECT);
	assert_int_equal(negotiate("application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadataList", KS_ALLOW_PARTIAL), 0);
	assert_int_equal(media.as, KS_AS_PARTIAL_LIST);
	assert_int_equal(negotiate("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", KS_ALLOW_DISCOVERY), 0);
	assert_int_equal(media.as, KS_AS_DISCOVERY);
	assert_int_equal(negotiate("application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList", KS_ALLOW_DISCOVERY), 406);
}

static void test_bodies(void **state)
{
	enum ks_media_format format;

	(void)state;
	assert_int_equal(ks_negotiate_body(&arena, ks_str_from(""), 0, &format, &status), 0);
	assert_int_equal(ks_negotiate_body(&arena, ks_str_from("application/json;charset=utf-8"), 0, &format, &status), 0);
	assert_int_equal(format, KS_MEDIA_JSON);
	assert_int_equal(ks_negotiate_body(&arena, ks_str_from("Application/YAML"), 0, &format, &status), 0);
	assert_int_equal(format, KS_MEDIA_YAML);
	assert_int_equal(ks_negotiate_body(&arena, ks_str_from("text/plain"), 0, &format, &status), 415);
	assert_string_equal(status.message,
		"the body of the request was in an unknown format - accepted media types include: application/json, "
		"application/yaml, application/vnd.kubernetes.protobuf");
}

static void test_patch_types(void **state)
{
	static const char *const types[] = {"application/json-patch+json", "application/merge-patch+json"};

	(void)state;
	assert_int_equal(ks_negotiate_type(&arena, ks_str_from("application/merge-patch+json"), types, 2, &status), 1);
	assert_int_equal(ks_negotiate_type(&arena, ks_str_from("application/json"), types, 2, &status), -1);
	assert_string_equal(status.message,
		"the body of the request was in an unknown format - accepted media types include: application/json-patch+json, "
		"application/merge-patch+json");
}

static void test_coarse_accept(void **state)
{
	static const char *const types[] = {"application/json"};

	(void)state;
	assert_true(ks_accepts(ks_str_from(""), types, 1));
	assert_true(ks_accepts(ks_str_from("text/html, */*;q=0.1"), types, 1));
	assert_true(ks_accepts(ks_str_from("application/json;as=Table"), types, 1));
	assert_false(ks_accepts(ks_str_from("text/html"), types, 1));
}

static void test_query(void **state)
{
	struct ks_query query;

	(void)state;
	assert_int_equal(ks_query_parse(&arena, ks_str_of(NULL, 0), &query), 0);
	assert_int_equal(ks_query_parse(&arena, ks_str_from("a=1&b=x%20y+z&c&a=2&d=%zz&e;f=1&=v&g=a=b"), &query), 0);
	assert_true(ks_str_is(ks_query_get(&query, "a"), "1"));
	assert_true(ks_str_is(ks_query_get(&query, "b"), "x y z"));
	assert_non_null(ks_query_get(&query, "c").p);
	assert_int_equal(ks_query_get(&query, "c").n, 0);
	assert_null(ks_query_get(&query, "d").p);
	assert_null(ks_query_get(&query, "f").p);
	assert_true(ks_str_is(ks_query_get(&query, "g"), "a=b"));
	assert_int_equal(ks_query_parse(&arena, ks_str_from(""), &query), 0);
	assert_int_equal(query.n, 0);
}

static void test_query_of_too_many_pairs(void **state)
{
	struct ks_query query;
	char text[2 * 4097];

	(void)state;
	for (size_t i = 0; i < sizeof(text); i += 2)
		memcpy(text + i, "a&", 2);
	assert_int_equal(ks_query_parse(&arena, ks_str_of(text, 2 * 4096 - 1), &query), 0);
	assert_int_equal(ks_query_parse(&arena, ks_str_of(text, 2 * 4097 - 1), &query), -E2BIG);
}

static void check_pretty(const char *json, const char *want)
{
	struct ks_buf out;

	ks_buf_init(&out);
	ks_render_pretty(ks_str_from(json), &out);
	ks_buf_add_char(&out, '\0');
	assert_string_equal(out.data, want);
	ks_buf_fini(&out);
	/* cut anywhere, it comes out the same */
	for (size_t at = 0; at <= strlen(json); at++) {
		struct ks_pretty pretty = {0};

		ks_buf_init(&out);
		ks_pretty_add(&pretty, ks_str_of(json, at), &out);
		ks_pretty_add(&pretty, ks_str_from(json + at), &out);
		ks_buf_add_char(&out, '\0');
		assert_string_equal(out.data, want);
		ks_buf_fini(&out);
	}
}

static void test_pretty(void **state)
{
	(void)state;
	check_pretty("{\"a\":{},\"b\":[],\"c\":[1,{\"d\":\"x,{\\\"\"}]}",
		"{\n  \"a\": {},\n  \"b\": [],\n  \"c\": [\n    1,\n    {\n      \"d\": \"x,{\\\"\"\n    }\n  ]\n}");
	check_pretty("[]", "[]");
}

static void check_yaml(const char *json, const char *want)
{
	struct ks_buf out;

	ks_buf_init(&out);
	assert_int_equal(ks_render_yaml(ks_str_from(json), &out), 0);
	ks_buf_add_char(&out, '\0');
	assert_string_equal(out.data, want);
	ks_buf_fini(&out);
}

static void test_yaml(void **state)
{
	(void)state;
	check_yaml("{\"b\":1,\"a\":[{\"x\":true},null,1.5],\"m\":{},\"l\":[]}", "a:\n- x: true\n- null\n- 1.5\nb: 1\nl: []\nm: {}\n");
	check_yaml("{\"a\":\"1\",\"b\":\"true\",\"c\":\"multi\\nline\\n\",\"d\":\"\",\"e\":\"tab\\there\",\"g\":\"'q'\",\"h\":\"\\\"dq\\\"\",\"i\":"
		   "\"a: b\",\"j\":\"# x\","
		   "\"k\":\" lead\",\"l\":\"0123\",\"m\":\"1e3\",\"n\":\"2026-01-01\",\"o\":\"~\"}",
		"a: \"1\"\nb: \"true\"\nc: |\n  multi\n  line\nd: \"\"\ne: \"tab\\there\"\ng: '''q'''\nh: '\"dq\"'\ni: 'a: b'\nj: '# x'\nk: ' "
		"lead'\nl: \"0123\"\n"
		"m: \"1e3\"\n\"n\": \"2026-01-01\"\no: \"~\"\n");
	check_yaml("{\"message\":\"only the following media types are accepted: application/json;stream=watch, "
		   "application/vnd.kubernetes.protobuf;stream=watch\"}",
		"message: 'only the following media types are accepted: application/json;stream=watch,\n  "
		"application/vnd.kubernetes.protobuf;stream=watch'\n");
}

static void test_protobuf(void **state)
{
	static const char status_bytes[] = "k8s\0\n\x0c\n\x02v1\x12\x06Status\x12\x11\n\x06\n\0\x12\0\x1a\0\x12\0\x1a\0\"\0""0\x94\x03\x1a\0\"\0";
	struct ks_buf out;

	(void)state;
	ks_buf_init(&out);
	assert_int_equal(ks_render_proto(&ks_schema_builtin, KS_STR_LIT("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":404}"), &out), 0);
	assert_int_equal(out.len, sizeof(status_bytes) - 1);
	assert_memory_equal(out.data, status_bytes, out.len);
	ks_buf_clear(&out);
	assert_int_equal(ks_render_proto(&ks_schema_builtin, KS_STR_LIT("{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\"}"), &out), -ENOTSUP);
	assert_int_equal(ks_render_proto(&ks_schema_builtin, KS_STR_LIT("{\"kind\":\"Pod\",\"apiVersion\":\"v1\""), &out), -EINVAL);
	ks_buf_fini(&out);
}

#ifdef KS_HAVE_CBOR
static void test_cbor(void **state)
{
	static const char status_bytes[] = "\xd9\xd9\xf7\xa4\x44" "code\x19\x01\x94\x44kind\x46Status\x48metadata\xa0\x4a" "apiVersion\x42v1";
	struct ks_buf out;

	(void)state;
	ks_buf_init(&out);
	assert_int_equal(ks_render_cbor(&ks_schema_builtin, KS_STR_LIT("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":404}"), &out), 0);
	assert_int_equal(out.len, sizeof(status_bytes) - 1);
	assert_memory_equal(out.data, status_bytes, out.len);
	ks_buf_clear(&out);
	assert_int_equal(ks_render_cbor(&ks_schema_builtin, KS_STR_LIT("{\"kind\":\"Nobody\",\"a\":1.0}"), &out), 0);
	assert_memory_equal(out.data, "\xd9\xd9\xf7\xa2\x41" "a\xf9\x3c\x00\x44kind\x46Nobody", out.len);
	assert_int_equal(ks_render_cbor(&ks_schema_builtin, KS_STR_LIT("{\"kind\":\"Pod\",\"apiVersion\":\"v1\""), &out), -EINVAL);
	ks_buf_fini(&out);
}
#endif

/* In parts, the output of which grows. */
static void test_gzip(void **state)
{
	struct ks_gzip *gzip = ks_gzip_new();
	static char plain[300000], back[sizeof(plain) + 1];
	struct ks_buf out;
	z_stream z = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(plain); i++)
		plain[i] = (char)(i * i >> 7);
	ks_buf_init(&out);
	assert_int_equal(ks_gzip_write(gzip, ks_str_of(plain, 100000), false, &out), 0);
	assert_int_equal(ks_gzip_write(gzip, KS_STR_LIT(""), false, &out), 0);
	assert_int_equal(ks_gzip_write(gzip, ks_str_of(plain + 100000, 200000), true, &out), 0);
	ks_gzip_free(&gzip);
	assert_int_equal(inflateInit2(&z, 31), Z_OK);
	z.next_in = (unsigned char *)out.data;
	z.avail_in = (unsigned)out.len;
	z.next_out = (unsigned char *)back;
	z.avail_out = sizeof(back);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.total_out, sizeof(plain));
	assert_memory_equal(back, plain, sizeof(plain));
	inflateEnd(&z);
	ks_buf_fini(&out);
}

static void test_yaml_scalars(void **state)
{
	static const char *const strings[] = {"a", "v1", "1.2.3.4", "10.0.0.0/16", "-", "+", "0x", "1m", "a:b", "no-op", "1-2", "e3", "2026", "yes "};

	(void)state;
	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
		if (ks_yaml_is_string(ks_str_from(strings[i])) == (strcmp(strings[i], "2026") == 0))
			fail_msg("%s", strings[i]);
	assert_false(ks_yaml_is_string(ks_str_from("0x1F")));
	assert_false(ks_yaml_is_string(ks_str_from("-.5")));
	assert_false(ks_yaml_is_string(ks_str_from("12:30:45")));
	assert_true(ks_yaml_key_compare(ks_str_from("a2"), ks_str_from("a10")) < 0);
	assert_true(ks_yaml_key_compare(ks_str_from("a"), ks_str_from("ab")) < 0);
	assert_true(ks_yaml_key_compare(ks_str_from("f:a"), ks_str_from(".")) > 0);
}

static int end(void **state)
{
	(void)state;
	ks_arena_fini(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_quality),
		cmocka_unit_test(test_protobuf_of_other_kinds),
		cmocka_unit_test(test_protobuf),
		cmocka_unit_test(test_cbor_behind_its_gate),
#ifdef KS_HAVE_CBOR
		cmocka_unit_test(test_cbor),
#endif
		cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_not_acceptable),
		cmocka_unit_test(test_other_kinds),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_patch_types),
		cmocka_unit_test(test_coarse_accept),
		cmocka_unit_test(test_query),
		cmocka_unit_test(test_query_of_too_many_pairs),
		cmocka_unit_test(test_pretty),
		cmocka_unit_test(test_yaml),
		cmocka_unit_test(test_yaml_scalars),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
