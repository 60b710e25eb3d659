/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The OpenAPI v2 document in protobuf: small documents byte by byte, and the whole one member by member. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/api/json.h"
#include "core/api/openapi.h"
#include "core/api/openapi_message.h"
#include "core/api/proto_wire.h"

static struct ks_bytes *message_of(const char *json)
{
	struct ks_bytes *text = ks_bytes_dup(json, strlen(json)), *message;

	assert_non_null(text);
	assert_int_equal(ks_openapi_v2_message(text, &message), 0);
	ks_bytes_unref(text);
	return message;
}

static void add_hex(struct ks_buf *out, struct ks_str bytes)
{
	for (size_t i = 0; i < bytes.n; i++)
		ks_buf_printf(out, "%02x", (unsigned char)bytes.p[i]);
}

/* Fields as NUMBER:TEXT, or NUMBER:{...} for messages, which are told from texts by the numbers in `path` ("2.1"). Numbers and eight bytes as hexadecimal. */
static void add_fields(struct ks_buf *out, struct ks_str message, const char *path)
{
	struct ks_proto_reader r = ks_proto_reader_of(message);
	uint32_t number, wanted = (uint32_t)strtoul(path, NULL, 10);
	const char *dot = strchr(path, '.'), *gap = "";
	unsigned wire;

	while (r.p < r.end) {
		struct ks_str bytes = {0};
		uint64_t n = 0;

		assert_true(ks_proto_read_tag(&r, &number, &wire));
		ks_buf_printf(out, "%s%u:", gap, number);
		gap = " ";
		if (wire == KS_WIRE_BYTES) {
			assert_true(ks_proto_read_bytes(&r, &bytes));
		} else {
			assert_true(wire == KS_WIRE_VARINT ? ks_proto_read_varint(&r, &n) : ks_proto_read_fixed64(&r, &n));
			ks_buf_printf(out, "%llx", (unsigned long long)n);
		}
		if (wire == KS_WIRE_BYTES && number == wanted) {
			ks_buf_add_char(out, '{');
			add_fields(out, bytes, dot ? dot + 1 : "0");
			ks_buf_add_char(out, '}');
		} else if (memchr(bytes.p ? bytes.p : "", '\0', bytes.n)) {
			add_hex(out, bytes);
		} else {
			ks_buf_add(out, bytes.p, bytes.n);
		}
	}
}

static void assert_message(const char *json, const char *path, const char *expected)
{
	struct ks_bytes *message = message_of(json);
	struct ks_buf out;

	ks_buf_init(&out);
	add_fields(&out, ks_str_of(message->data, message->len), path);
	ks_buf_add_char(&out, '\0');
	assert_string_equal(out.data, expected);
	ks_buf_fini(&out);
	ks_bytes_unref(message);
}

#define DEFINITION(schema) "{\"definitions\":{\"a\":" schema "}}"
#define PARAMETER(parameter) "{\"paths\":{\"/a\":{\"get\":{\"parameters\":[" parameter "]}}}}"

static void heads_are_texts(void **state)
{
	(void)state;
	assert_message("{\"swagger\":\"2.0\",\"info\":{\"title\":\"t\",\"version\":\"v\"}}", "2", "1:2.0 2:{1:t 2:v}");
	assert_message("{\"consumes\":[\"a\",\"b\"],\"unknown\":1}", "0", "6:a 6:b");
}

static void members_become_names_and_values(void **state)
{
	(void)state;
	assert_message(DEFINITION("{\"format\":\"f\"}"), "9.1.2", "9:{1:{1:a 2:{2:f}}}");
	assert_message("{\"paths\":{\"/a\":{\"$ref\":\"r\"},\"x-b\":1}}", "8.2.2", "8:{2:{1:/a 2:{1:r}} 1:\n\x03x-b\x12\x04\x12\x02" "1\n}");
}

static void a_type_is_a_list(void **state)
{
	(void)state;
	assert_message(DEFINITION("{\"type\":\"string\"}"), "9.1.2.22", "9:{1:{1:a 2:{22:{1:string}}}}");
	assert_message(DEFINITION("{\"type\":[\"a\",\"b\"]}"), "9.1.2.22", "9:{1:{1:a 2:{22:{1:a 1:b}}}}");
}

static void schemas_hold_schemas(void **state)
{
	(void)state;
	assert_message(DEFINITION("{\"items\":{\"$ref\":\"r\"}}"), "9.1.2.23.1", "9:{1:{1:a 2:{23:{1:{1:r}}}}}");
	assert_message(DEFINITION("{\"additionalProperties\":{\"$ref\":\"r\"}}"), "9.1.2.21.1", "9:{1:{1:a 2:{21:{1:{1:r}}}}}");
	assert_message(DEFINITION("{\"additionalProperties\":true}"), "9.1.2.21", "9:{1:{1:a 2:{21:{2:1}}}}");
	assert_message(DEFINITION("{\"properties\":{\"p\":{\"$ref\":\"r\"}}}"), "9.1.2.25.1.2", "9:{1:{1:a 2:{25:{1:{1:p 2:{1:r}}}}}}");
	assert_message(DEFINITION("{\"allOf\":[{\"$ref\":\"r\"},{\"$ref\":\"s\"}]}"), "9.1.2.24", "9:{1:{1:a 2:{24:{1:r} 24:{1:s}}}}");
}

static void numbers_have_their_forms(void **state)
{
	(void)state;
	assert_message(DEFINITION("{\"maximum\":1,\"minLength\":300,\"uniqueItems\":true}"), "9.1.2", "9:{1:{1:a 2:{7:3ff0000000000000 12:12c 16:1}}}");
	assert_message(DEFINITION("{\"minimum\":0.5}"), "9.1.2", "9:{1:{1:a 2:{9:3fe0000000000000}}}");
}

static void free_parts_are_their_text(void **state)
{
	(void)state;
	assert_message(DEFINITION("{\"default\":{\"b\":[1]}}"), "9.1.2.5", "9:{1:{1:a 2:{5:{2:{\"b\":[1]}\n}}}}");
	assert_message(DEFINITION("{\"enum\":[\"x\",1]}"), "9.1.2.20", "9:{1:{1:a 2:{20:{2:\"x\"\n} 20:{2:1\n}}}}");
	assert_message(DEFINITION("{\"x-keys\":[\"a\"]}"), "9.1.2.31.2", "9:{1:{1:a 2:{31:{1:x-keys 2:{2:[\"a\"]\n}}}}}");
}

static void parameters_are_of_the_kind_that_they_say(void **state)
{
	(void)state;
	assert_message(PARAMETER("{\"in\":\"body\",\"name\":\"b\"}"), "8.2.2.2.8.1.1", "8:{2:{1:/a 2:{2:{8:{1:{1:{3:body 2:b}}}}}}}");
	assert_message(PARAMETER("{\"in\":\"query\",\"type\":\"t\"}"), "8.2.2.2.8.1.2.3", "8:{2:{1:/a 2:{2:{8:{1:{2:{3:{2:query 6:t}}}}}}}}");
	assert_message(PARAMETER("{\"in\":\"path\",\"type\":\"t\"}"), "8.2.2.2.8.1.2.4", "8:{2:{1:/a 2:{2:{8:{1:{2:{4:{2:path 5:t}}}}}}}}");
	assert_message(PARAMETER("{\"in\":\"header\",\"uniqueItems\":true}"), "8.2.2.2.8.1.2.1", "8:{2:{1:/a 2:{2:{8:{1:{2:{1:{2:header 19:1}}}}}}}}");
	assert_message("{\"parameters\":{\"p\":{\"name\":\"n\",\"in\":\"path\"}}}", "10.1.2.2.4", "10:{1:{1:p 2:{2:{4:{4:n 2:path}}}}}");
	assert_message(PARAMETER("{\"$ref\":\"r\"}"), "8.2.2.2.8.2", "8:{2:{1:/a 2:{2:{8:{2:{1:r}}}}}}");
}

static void answers_hold_schemas(void **state)
{
	(void)state;
	assert_message("{\"paths\":{\"/a\":{\"get\":{\"responses\":{\"200\":{\"schema\":{\"$ref\":\"r\"}}}}}}}", "8.2.2.2.9.1.2.1.2.1",
		"8:{2:{1:/a 2:{2:{9:{1:{1:200 2:{1:{2:{1:{1:r}}}}}}}}}}");
}

static void security_is_named(void **state)
{
	(void)state;
	assert_message("{\"securityDefinitions\":{\"T\":{\"type\":\"apiKey\",\"in\":\"header\"}}}", "13.1.2.2", "13:{1:{1:T 2:{2:{1:apiKey 3:header}}}}");
	assert_message("{\"security\":[{\"T\":[\"s\"]}]}", "12.1.2", "12:{1:{1:T 2:{1:s}}}");
}

static void what_is_no_json_is_refused(void **state)
{
	struct ks_bytes *text = ks_bytes_dup("{", 1), *message;

	(void)state;
	assert_int_equal(ks_openapi_v2_message(text, &message), -EINVAL);
	ks_bytes_unref(text);
}

/* How many of field `number` a message has. */
static size_t count(struct ks_str message, uint32_t number)
{
	struct ks_proto_reader r = ks_proto_reader_of(message);
	struct ks_str bytes;
	uint32_t found;
	unsigned wire;
	size_t n = 0;

	while (r.p < r.end) {
		assert_true(ks_proto_read_tag(&r, &found, &wire) && ks_proto_read_bytes(&r, &bytes));
		n += found == number;
	}
	return n;
}

static struct ks_str inner(struct ks_str message, uint32_t number)
{
	struct ks_proto_reader r = ks_proto_reader_of(message);
	struct ks_str bytes = {0};
	uint32_t found = 0;
	unsigned wire;

	while (r.p < r.end && found != number)
		assert_true(ks_proto_read_tag(&r, &found, &wire) && ks_proto_read_bytes(&r, &bytes));
	assert_int_equal(found, number);
	return bytes;
}

static void the_whole_document_has_all_paths_and_types(void **state)
{
	static const struct ks_schema *const builtin[] = {&ks_schema_builtin};
	static const struct ks_discovery served = {.schemas = builtin, .n_schemas = 1};
	static const struct ks_openapi api = {.served = &served, .version = "1.36"};
	struct ks_bytes *json, *message;
	struct ks_arena arena;
	struct ks_value root;
	struct ks_str whole;
	const char *why;

	(void)state;
	ks_arena_init(&arena, 0);
	assert_int_equal(ks_openapi_v2_document(&api, &json), 0);
	assert_int_equal(ks_openapi_v2_message(json, &message), 0);
	assert_int_equal(ks_json_decode(&arena, NULL, 0, KS_DECODE_BORROW, json->data, json->len, &root, NULL, &why), 0);
	whole = ks_str_of(message->data, message->len);
	assert_int_equal(count(inner(whole, 8), 2), ks_value_get(NULL, &root, "paths")->n);
	assert_int_equal(count(inner(whole, 9), 1), ks_value_get(NULL, &root, "definitions")->n);
	ks_arena_fini(&arena);
	ks_bytes_unref(json);
	ks_bytes_unref(message);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_are_texts),
		cmocka_unit_test(members_become_names_and_values),
		cmocka_unit_test(a_type_is_a_list),
		cmocka_unit_test(schemas_hold_schemas),
		cmocka_unit_test(numbers_have_their_forms),
		cmocka_unit_test(free_parts_are_their_text),
		cmocka_unit_test(parameters_are_of_the_kind_that_they_say),
		cmocka_unit_test(answers_hold_schemas),
		cmocka_unit_test(security_is_named),
		cmocka_unit_test(what_is_no_json_is_refused),
		cmocka_unit_test(the_whole_document_has_all_paths_and_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
