/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "api-help.h"

#include <errno.h>
#include <string.h>

#include "core/api/patch.h"

#define WEB(containers) "{\"spec\":{\"template\":{\"spec\":{\"containers\":[" containers "]}}}}"
#define ONE "{\"name\":\"one\",\"image\":\"a\",\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\",\"value\":\"2\"}]}"
#define TWO "{\"name\":\"two\",\"image\":\"b\"}"

struct row {
	const char *object, *patch, *result; /* the result, or the message where `rc` is set */
	int rc;
};

typedef int patch_function(struct ks_arena *arena, struct ks_value *object, const struct ks_value *patch, const char **message_r);

static int strategic(struct ks_arena *arena, struct ks_value *object, const struct ks_value *patch, const char **message_r)
{
	return ks_patch_strategic(
		arena, &ks_schema_builtin, ks_schema_find_type(&ks_schema_builtin, "io.k8s.api.apps.v1.Deployment"), object, patch, message_r);
}

/* A row without a message checks the code alone. */
static void check(void **state, patch_function *apply, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ks_value object = ks_test_free(*state, rows[i].object), patch = ks_test_free(*state, rows[i].patch), wanted;
		const char *before = ks_test_json(*state, &patch), *message = "";

		assert_int_equal(apply(*state, &object, &patch, &message), rows[i].rc);
		assert_string_equal(ks_test_json(*state, &patch), before);
		if (rows[i].rc && rows[i].result)
			assert_string_equal(message, rows[i].result);
		if (rows[i].rc)
			continue;
		wanted = ks_test_free(*state, rows[i].result);
		assert_string_equal(ks_test_json(*state, &object), ks_test_json(*state, &wanted));
	}
}

#define CHECK(apply, rows) check(state, apply, rows, sizeof(rows) / sizeof(rows[0]))

/* ---- RFC 6902 ---- */

static void test_json_patch_members(void **state)
{
	static const struct row rows[] = {
		{"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\",\"value\":[1]}]", "{\"a\":1,\"b\":[1]}", 0},
		{"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"b\",\"value\":2}]", NULL, -EPERM},
		{"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"x/b\",\"value\":2}]", "{\"a\":1,\"b\":2}", 0},
		{"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b/c\",\"value\":2}]", NULL, -EPERM},
		{"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\"}]", "{\"a\":1,\"b\":null}", 0},
		{"{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"/a\"}]", "{}", 0},
		{"{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"/b\"}]", NULL, -EPERM},
		{"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/b\",\"value\":2}]", "{\"a\":1,\"b\":2}", 0},
		{"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":{\"b\":2}}]", "{\"b\":2}", 0},
		{"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":3}]", NULL, -EPERM},
		{"{\"a\":{\"x/y~\":1}}", "[{\"op\":\"replace\",\"path\":\"/a/x~1y~0\",\"value\":2}]", "{\"a\":{\"x/y~\":2}}", 0},
		{"{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b\"}]", "{\"b\":1}", 0},
		{"{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/x\",\"path\":\"/b\"}]", NULL, -EPERM},
		{"{\"a\":[1]}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"},{\"op\":\"add\",\"path\":\"/b/-\",\"value\":2}]",
			"{\"a\":[1],\"b\":[1,2]}", 0},
		{"{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"/none\",\"path\":\"/b\"}]", "{\"a\":1,\"b\":null}", 0},
		{"{\"a\":1}", "[{\"op\":\"ADD\",\"path\":\"/b\",\"value\":1}]", NULL, -EPERM},
		{"{\"a\":1}", "[null]", NULL, -EPERM},
		{"{\"a\":1}", "null", "{\"a\":1}", 0},
	};

	CHECK(ks_patch_json, rows);
}

static void test_json_patch_items(void **state)
{
	static const struct row rows[] = {
		{"{\"a\":[1,2]}", "[{\"op\":\"add\",\"path\":\"/a/1\",\"value\":9}]", "{\"a\":[1,9,2]}", 0},
		{"{\"a\":[1,2]}", "[{\"op\":\"add\",\"path\":\"/a/2\",\"value\":9}]", "{\"a\":[1,2,9]}", 0},
		{"{\"a\":[1,2]}", "[{\"op\":\"add\",\"path\":\"/a/3\",\"value\":9}]", NULL, -EPERM},
		{"{\"a\":[1,2]}", "[{\"op\":\"remove\",\"path\":\"/a/-1\"}]", "{\"a\":[1]}", 0},
		{"{\"a\":[1,2]}", "[{\"op\":\"remove\",\"path\":\"/a/-\"}]", NULL, -EPERM},
		{"{\"a\":[1,2]}", "[{\"op\":\"replace\",\"path\":\"/a/01\",\"value\":9}]", "{\"a\":[1,9]}", 0},
		{"{\"a\":[1,2]}", "[{\"op\":\"replace\",\"path\":\"/a/zero\",\"value\":9}]", NULL, -EPERM},
		{"{\"a\":[{\"b\":1}]}", "[{\"op\":\"add\",\"path\":\"/a/0/c\",\"value\":2}]", "{\"a\":[{\"b\":1,\"c\":2}]}", 0},
	};

	CHECK(ks_patch_json, rows);
}

static void test_json_patch_tests(void **state)
{
	static const struct row rows[] = {
		{"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1}]", "{\"a\":1}", 0},
		{"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1.0}]", NULL, -EPERM},
		{"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":\"1\"}]", NULL, -EPERM},
		{"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/none\",\"value\":null}]", "{\"a\":1}", 0},
		{"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\"}]", NULL, -EPERM},
		{"{\"a\":{\"x\":1,\"y\":[2]}}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"y\":[2],\"x\":1}}]", "{\"a\":{\"x\":1,\"y\":[2]}}",
			0},
		{"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"\",\"value\":{\"a\":1}}]", "{\"a\":1}", 0},
	};

	CHECK(ks_patch_json, rows);
}

static void test_malformed_json_patches(void **state)
{
	static const struct row rows[] = {
		{"{}", "{}", "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp", -EINVAL},
		{"{}", "[\"x\"]", "error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp", -EINVAL},
		{"{}", "[{\"op\":5}]", "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
			-EINVAL},
	};

	CHECK(ks_patch_json, rows);
}

static void test_json_patches_have_limits(void **state)
{
	struct ks_value object = ks_test_free(*state, "{\"a\":[\"0123456789\"]}"), patch = {.kind = KS_LIST}, copy, one;
	const char *message;

	for (int i = 0; i < 10001; i++)
		*ks_value_append(*state, &patch) = ks_test_free(*state, "{}");
	assert_int_equal(ks_patch_json(*state, &object, &patch, &message), -E2BIG);
	assert_string_equal(message, "The allowed maximum operations in a JSON patch is 10000, got 10001");
	copy = (struct ks_value){.kind = KS_LIST};
	one = ks_test_free(*state, "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/-\"}");
	for (int i = 0; i < 40; i++)
		*ks_value_append(*state, &copy) = one;
	assert_int_equal(ks_patch_json(*state, &object, &copy, &message), -EPERM);
}

/* What nobody looked into stays as it was written; the keys of what was are sorted. */
static void test_what_is_not_touched_keeps_its_order(void **state)
{
	static const char web[] = "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"labels\":{\"z\":\"1\",\"a\":\"2\"}},"
				  "\"spec\":{\"ports\":[{\"protocol\":\"TCP\",\"port\":1}]}}";
	static const char *const rows[][2] = {
		{"[{\"op\":\"add\",\"path\":\"/spec/x\",\"value\":{\"z\":1,\"a\":2}}]",
			"{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"a\",\"labels\":{\"a\":\"2\",\"z\":\"1\"}},"
			"\"spec\":{\"ports\":[{\"protocol\":\"TCP\",\"port\":1,\"targetPort\":0}],\"x\":{\"z\":1,\"a\":2}},"
			"\"status\":{\"loadBalancer\":{}}}"},
		{"[{\"op\":\"add\",\"path\":\"/spec/ports/0/name\",\"value\":\"n\"},{\"op\":\"test\",\"path\":\"/metadata\",\"value\":"
		 "{\"name\":\"a\",\"labels\":{\"a\":\"2\",\"z\":\"1\"}}}]",
			"{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"labels\":{\"a\":\"2\",\"z\":\"1\"},\"name\":\"a\"},"
			"\"spec\":{\"ports\":[{\"name\":\"n\",\"port\":1,\"protocol\":\"TCP\",\"targetPort\":0}]},\"status\":{\"loadBalancer\":{}}}"},
	};
	struct ks_value v;

	assert_null(ks_test_decode(*state, web, &v, NULL));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ks_value object, patch = ks_test_free(*state, rows[i][0]);
		const char *message;

		assert_true(ks_value_to_free(*state, &ks_schema_builtin, &v, &object));
		assert_int_equal(ks_patch_json(*state, &object, &patch, &message), 0);
		assert_string_equal(ks_test_json(*state, &object), rows[i][1]);
	}
}

static void test_what_is_not_merged_keeps_its_order(void **state)
{
	static const char web[] = "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"labels\":{\"z\":\"1\",\"a\":\"2\"}},"
				  "\"spec\":{\"ports\":[{\"protocol\":\"TCP\",\"port\":1}]}}";
	struct ks_value v, object, patch = ks_test_free(*state, "{\"spec\":{\"selector\":{\"z\":\"1\",\"a\":\"2\"}}}");
	const char *message;

	assert_null(ks_test_decode(*state, web, &v, NULL));
	assert_true(ks_value_to_free(*state, &ks_schema_builtin, &v, &object));
	assert_int_equal(ks_patch_merge(*state, &object, &patch, &message), 0);
	assert_string_equal(ks_test_json(*state, &object),
		"{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"a\",\"labels\":{\"a\":\"2\",\"z\":\"1\"}},"
		"\"spec\":{\"ports\":[{\"protocol\":\"TCP\",\"port\":1,\"targetPort\":0}],\"selector\":{\"a\":\"2\",\"z\":\"1\"}},"
		"\"status\":{\"loadBalancer\":{}}}");
}

static void test_json_patch_unknown_members(void **state)
{
	struct ks_value patch = ks_test_free(*state, "[{\"op\":\"add\"},{\"op\":\"add\",\"extra\":3}]");
	struct ks_strict_errors strict = {0};

	assert_true(ks_patch_json_strict(*state, &patch, &strict));
	assert_string_equal(ks_test_strict(*state, &strict), "unknown field \"[1].extra\"");
}

/* ---- RFC 7386 ---- */

static void test_merge_patch(void **state)
{
	static const struct row rows[] = {
		{"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}", 0},
		{"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}", 0},
		{"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}", 0},
		{"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}", 0},
		{"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}", 0},
		{"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}", 0},
		{"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}", 0},
		{"{}", "{\"a\":[{\"b\":null},null]}", "{\"a\":[{},null]}", 0},
		{"{\"e\":null}", "{\"a\":1}", "{\"a\":1,\"e\":null}", 0},
		{"{}", "null", "Invalid JSON Patch", -EINVAL},
		{"{}", "[]", "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}", -EINVAL},
		{"{}", "5", "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}", -EINVAL},
	};

	CHECK(ks_patch_merge, rows);
}

/* ---- strategic ---- */

static void test_lists_are_merged_by_key(void **state)
{
	static const struct row rows[] = {
		{WEB(ONE "," TWO), WEB("{\"name\":\"two\",\"image\":\"c\"}"), WEB(ONE ",{\"name\":\"two\",\"image\":\"c\"}"), 0},
		{WEB(ONE "," TWO), WEB("{\"name\":\"three\",\"image\":\"c\"}"), WEB("{\"name\":\"three\",\"image\":\"c\"}," ONE "," TWO), 0},
		{WEB(ONE "," TWO), WEB("{\"$patch\":\"delete\",\"name\":\"one\"}"), WEB(TWO), 0},
		{WEB(ONE "," TWO), WEB("{\"name\":\"new\"},{\"$patch\":\"replace\"}"), WEB("{\"name\":\"new\"}"), 0},
		{WEB(ONE), WEB("{\"name\":\"one\",\"env\":[{\"$patch\":\"delete\",\"name\":\"A\"}]}"),
			WEB("{\"name\":\"one\",\"image\":\"a\",\"env\":[{\"name\":\"B\",\"value\":\"2\"}]}"), 0},
		{WEB(ONE), WEB("{\"name\":\"one\",\"env\":null}"), WEB("{\"name\":\"one\",\"image\":\"a\"}"), 0},
		{WEB(ONE), WEB("{\"image\":\"x\"}"), "map: map[image:x] does not contain declared merge key: name", -EPROTO},
		{WEB(ONE), WEB("{\"$patch\":\"merge\",\"name\":\"one\"}"), "merging lists cannot yet be specified in the patch", -EPROTO},
		{WEB(ONE), WEB("{\"$patch\":\"explode\",\"name\":\"one\"}"), "unknown patch type: explode in map: map[$patch:explode name:one]",
			-EPROTO},
		{"{}", WEB("{\"$patch\":\"delete\",\"name\":\"one\"},{\"name\":\"x\",\"env\":null}"), WEB("{\"name\":\"x\"}"), 0},
	};

	CHECK(strategic, rows);
}

static void test_lists_of_scalars(void **state)
{
	static const struct row rows[] = {
		{"{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}", "{\"metadata\":{\"finalizers\":[\"c\",\"a\"]}}",
			"{\"metadata\":{\"finalizers\":[\"c\",\"a\",\"b\"]}}", 0},
		{"{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}", "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"a\"]}}",
			"{\"metadata\":{\"finalizers\":[\"b\"]}}", 0},
		{"{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}", "{\"metadata\":{\"$setElementOrder/finalizers\":[\"b\",\"a\"]}}",
			"{\"metadata\":{\"finalizers\":[\"b\",\"a\"]}}", 0},
		{"{\"metadata\":{\"finalizers\":[\"a\"]}}", "{\"metadata\":{\"$setElementOrder/finalizers\":[\"c\"],\"finalizers\":[\"x\"]}}",
			"The order in patch list:\n[x]\n doesn't match $setElementOrder list:\n[c]\n", -EPROTO},
		{"{\"metadata\":{}}", "{\"metadata\":{\"$deleteFromPrimitiveList\":[\"a\"]}}", "invalid patch format of primitive list", -EINVAL},
		{WEB("{\"name\":\"one\",\"args\":[\"a\",\"b\"]}"), WEB("{\"name\":\"one\",\"args\":[\"c\"]}"),
			WEB("{\"name\":\"one\",\"args\":[\"c\"]}"), 0},
	};

	CHECK(strategic, rows);
}

#define ORDER(order, rest) "{\"spec\":{\"template\":{\"spec\":{\"$setElementOrder/containers\":" order rest "}}}}"

static void test_the_order_of_lists(void **state)
{
	static const struct row rows[] = {
		{WEB(ONE "," TWO), ORDER("[{\"name\":\"two\"},{\"name\":\"one\"}]", ""), WEB(TWO "," ONE), 0},
		{WEB(ONE "," TWO), ORDER("[{\"name\":\"x\"},{\"name\":\"two\"},{\"name\":\"one\"}]", ",\"containers\":[{\"name\":\"x\"}]"),
			WEB("{\"name\":\"x\"}," TWO "," ONE), 0},
		{WEB(ONE), ORDER("[\"two\"]", ""), "value for key 0 is not a map", -EPROTO},
		{WEB(ONE), ORDER("\"two\"", ""), "expected a []interface {}, but received a string", -EPROTO},
		{WEB(ONE), ORDER("[{\"image\":\"x\"}]", ""), "map: map[image:x] does not contain declared merge key: name", -EPROTO},
		{WEB(ONE), "{\"spec\":{\"template\":{\"spec\":{\"$setElementOrder/nosuch\":[{\"name\":\"x\"}]}}}}",
			"unable to find api field in struct PodSpec for the json field \"nosuch\"", -EPROTO},
		{WEB(ONE), ORDER("[{\"name\":\"two\"}]", ",\"containers\":[{\"image\":\"i\",\"name\":\"new\"}]"),
			"The order in patch list:\n[map[image:i name:new]]\n doesn't match $setElementOrder list:\n[map[name:two]]\n", -EPROTO},
	};

	CHECK(strategic, rows);
}

static void test_directives_of_maps(void **state)
{
	static const struct row rows[] = {
		{"{\"metadata\":{\"labels\":{\"a\":\"1\"}}}", "{\"metadata\":{\"labels\":{\"$patch\":\"replace\",\"b\":\"2\"}}}",
			"{\"metadata\":{\"labels\":{\"b\":\"2\"}}}", 0},
		{"{\"metadata\":{\"labels\":{\"a\":\"1\"}}}", "{\"metadata\":{\"labels\":{\"$patch\":\"delete\"}}}", "{\"metadata\":{\"labels\":{}}}",
			0},
		{"{\"metadata\":{}}", "{\"metadata\":{\"labels\":{\"$patch\":\"explode\"}}}", "{\"metadata\":{}}", 0},
		{"{\"spec\":{\"strategy\":{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxSurge\":1}}}}",
			"{\"spec\":{\"strategy\":{\"$retainKeys\":[\"type\"],\"type\":\"Recreate\"}}}",
			"{\"spec\":{\"strategy\":{\"type\":\"Recreate\"}}}", 0},
		{"{\"spec\":{\"strategy\":{}}}", "{\"spec\":{\"strategy\":{\"$retainKeys\":[\"x\"],\"type\":\"Recreate\"}}}",
			"invalid patch format of retainKeys", -EINVAL},
		{"{\"spec\":{\"replicas\":1}}", "{\"spec\":{\"replicas\":null,\"paused\":null}}", "{\"spec\":{}}", 0},
		{"{}", "[]", "json: cannot unmarshal array into Go value of type map[string]interface {}", -EINVAL},
	};

	CHECK(strategic, rows);
}

/* ---- memory ---- */

static void test_every_limit_of_memory_is_an_error(void **state)
{
	static const char json[] = "[" WEB(ONE "," TWO) "," WEB("{\"name\":\"new\"},{\"$patch\":\"delete\",\"name\":\"two\"}") "]";
	bool applied = false;

	(void)state;
	for (size_t limit = 64; !applied; limit += 64) {
		struct ks_arena arena;
		struct ks_value both;
		const char *message;
		int r;

		ks_arena_init(&arena, limit);
		r = ks_json_decode(&arena, NULL, 0, 0, json, sizeof(json) - 1, &both, NULL, &message);
		if (r == 0)
			r = strategic(&arena, &both.items[0], &both.items[1], &message);
		assert_true(r == 0 || r == -ENOMEM);
		applied = r == 0;
		ks_arena_fini(&arena);
	}
}

/* ---- large maps ---- */

enum { KEYS = 400 };

/* What a map of KEYS possible members holds; -1: it has no such member. */
struct model {
	int values[KEYS];
	unsigned random;
};

static int below(struct model *m, int n)
{
	m->random = m->random * 1103515245 + 12345;
	return (int)(m->random >> 16) % n;
}

static void write_model(const struct model *m, struct ks_buf *out)
{
	bool first = true;

	ks_buf_add_str(out, "{\"data\":{");
	for (int i = 0; i < KEYS; i++) {
		if (m->values[i] < 0)
			continue;
		ks_buf_printf(out, "%s\"key-%d\":%d", first ? "" : ",", i, m->values[i]);
		first = false;
	}
	ks_buf_add_str(out, "}}");
}

static const char *text_of(void **state, struct ks_buf *out)
{
	const char *text = ks_arena_dup(*state, out->data, out->len);

	assert_false(out->failed);
	ks_buf_fini(out);
	return text;
}

/* One more operation, and what it does to the model. */
static void write_operation(struct model *m, struct ks_buf *out)
{
	int from = below(m, KEYS), to = below(m, KEYS);

	if (m->values[from] < 0) {
		m->values[from] = below(m, 1000);
		ks_buf_printf(out, "{\"op\":\"add\",\"path\":\"/data/key-%d\",\"value\":%d}", from, m->values[from]);
		return;
	}
	switch (below(m, 5)) {
	case 0:
		m->values[from] = -1;
		ks_buf_printf(out, "{\"op\":\"remove\",\"path\":\"/data/key-%d\"}", from);
		return;
	case 1:
		ks_buf_printf(out, "{\"op\":\"test\",\"path\":\"/data/key-%d\",\"value\":%d}", from, m->values[from]);
		return;
	case 2:
		m->values[to] = m->values[from];
		ks_buf_printf(out, "{\"op\":\"copy\",\"from\":\"/data/key-%d\",\"path\":\"/data/key-%d\"}", from, to);
		return;
	case 3:
		if (from != to) {
			m->values[to] = m->values[from];
			m->values[from] = -1;
		}
		ks_buf_printf(out, "{\"op\":\"move\",\"from\":\"/data/key-%d\",\"path\":\"/data/key-%d\"}", from, to);
		return;
	default:
		m->values[from] = below(m, 1000);
		ks_buf_printf(out, "{\"op\":\"replace\",\"path\":\"/data/key-%d\",\"value\":%d}", from, m->values[from]);
	}
}

static void test_large_maps_in_many_operations(void **state)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		struct model m = {.random = seed};
		struct ks_value object, patch, wanted;
		const char *message = "";
		struct ks_buf text;

		for (int i = 0; i < KEYS; i++)
			m.values[i] = below(&m, 4) ? i : -1;
		ks_buf_init(&text);
		write_model(&m, &text);
		object = ks_test_free(*state, text_of(state, &text));
		ks_buf_add_char(&text, '[');
		for (int i = 0; i < 600; i++) {
			if (i)
				ks_buf_add_char(&text, ',');
			if (i % 200 == 199) /* the whole map, gaps and all, somewhere else and back */
				ks_buf_add_str(&text, "{\"op\":\"copy\",\"from\":\"/data\",\"path\":\"/more\"},{\"op\":\"move\",\"from\":\"/more\",\"path\":\"/data\"}");
			else
				write_operation(&m, &text);
		}
		ks_buf_add_char(&text, ']');
		patch = ks_test_free(*state, text_of(state, &text));
		assert_int_equal(ks_patch_json(*state, &object, &patch, &message), 0);
		write_model(&m, &text);
		wanted = ks_test_free(*state, text_of(state, &text));
		assert_true(ks_value_equal_json(&object, &wanted));
	}
}

static void merge_into(void **state, patch_function *apply, unsigned seed)
{
	struct model m = {.random = seed};
	struct ks_value object, patch, wanted;
	const char *message = "";
	struct ks_buf text;

	for (int i = 0; i < KEYS; i++)
		m.values[i] = below(&m, 4) ? i : -1;
	ks_buf_init(&text);
	write_model(&m, &text);
	object = ks_test_free(*state, text_of(state, &text));
	ks_buf_add_str(&text, "{\"data\":{\"none\":null");
	for (int i = KEYS - 1; i >= 0; i--) {
		int what = below(&m, 3);

		if (!what)
			continue;
		m.values[i] = what == 1 ? -1 : below(&m, 1000);
		ks_buf_printf(&text, what == 1 ? ",\"key-%d\":null" : ",\"key-%d\":%d", i, m.values[i]);
	}
	ks_buf_add_str(&text, "}}");
	patch = ks_test_free(*state, text_of(state, &text));
	assert_int_equal(apply(*state, &object, &patch, &message), 0);
	write_model(&m, &text);
	wanted = ks_test_free(*state, text_of(state, &text));
	assert_true(ks_value_equal_json(&object, &wanted));
}

static int strategic_map(struct ks_arena *arena, struct ks_value *object, const struct ks_value *patch, const char **message_r)
{
	return ks_patch_strategic(arena, &ks_schema_builtin, ks_schema_find_type(&ks_schema_builtin, "io.k8s.api.core.v1.ConfigMap"), object, patch, message_r);
}

static void test_large_maps_are_merged(void **state)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		merge_into(state, ks_patch_merge, seed);
		merge_into(state, strategic_map, seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KS_TEST(test_json_patch_members),
		KS_TEST(test_json_patch_items),
		KS_TEST(test_json_patch_tests),
		KS_TEST(test_malformed_json_patches),
		KS_TEST(test_json_patches_have_limits),
		KS_TEST(test_what_is_not_touched_keeps_its_order),
		KS_TEST(test_what_is_not_merged_keeps_its_order),
		KS_TEST(test_json_patch_unknown_members),
		KS_TEST(test_merge_patch),
		KS_TEST(test_lists_are_merged_by_key),
		KS_TEST(test_lists_of_scalars),
		KS_TEST(test_the_order_of_lists),
		KS_TEST(test_directives_of_maps),
		KS_TEST(test_large_maps_in_many_operations),
		KS_TEST(test_large_maps_are_merged),
		KS_TEST(test_every_limit_of_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
