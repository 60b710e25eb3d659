/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* CBOR against what Kubernetes' own codec writes, reads and refuses (tests/golden/vectors/cbor.json.gz), and against libcbor. */
#include "api-random.h"

#include <cbor.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/api/base64.h"
#include "core/api/cbor.h"

static const struct ks_schema *const s = &ks_schema_builtin;

/* -- vectors --------------------------------------------------------------------------------------------------- */

static struct ks_value read_vectors(struct ks_arena *arena, const char *name)
{
	const char *root = getenv("srcdir"), *message = "";
	char *path = ks_arena_printf(arena, "%s/tests/golden/vectors/cbor.json.gz", root ? root : "."), *text = malloc(4 << 20);
	gzFile file = gzopen(path, "rb");
	struct ks_value all, *list;
	int n;

	assert_non_null(text);
	if (!file)
		fail_msg("%s can't be read", path);
	n = gzread(file, text, 4 << 20);
	gzclose(file);
	assert_true(n > 0 && n < 4 << 20);
	if (ks_json_decode(arena, NULL, 0, 0, text, (size_t)n, &all, NULL, &message) != 0)
		fail_msg("%s: %s", path, message);
	free(text);
	list = ks_value_get(NULL, &all, name);
	assert_non_null(list);
	return *list;
}

static struct ks_str bytes_of(struct ks_arena *arena, const struct ks_value *text)
{
	size_t n, bad;
	bool canonical;
	unsigned char *raw;

	assert_true(ks_base64_check(ks_value_str(text), &n, &canonical, &bad));
	raw = ks_arena_alloc(arena, n + 1);
	assert_non_null(raw);
	ks_base64_decode(ks_value_str(text), raw);
	return ks_str_of((const char *)raw, n);
}

static uint16_t type_of(struct ks_str api_version, struct ks_str kind)
{
	const char *slash = api_version.n ? memchr(api_version.p, '/', api_version.n) : NULL;
	struct ks_str group = {0}, version = api_version;
	const struct ks_kind *found;

	if (slash) {
		group = ks_str_of(api_version.p, (size_t)(slash - api_version.p));
		version = ks_str_of(slash + 1, api_version.n - group.n - 1);
	}
	found = ks_schema_find_kind(s, group, version, kind);
	if (!found)
		fail_msg("no type %.*s %.*s", (int)api_version.n, api_version.p, (int)kind.n, kind.p);
	return found->type;
}

static const char *hex_of(struct ks_arena *arena, struct ks_str bytes)
{
	char *text = ks_arena_alloc(arena, bytes.n * 2 + 1);

	assert_non_null(text);
	for (size_t i = 0; i < bytes.n; i++)
		sprintf(text + 2 * i, "%02x", (unsigned char)bytes.p[i]);
	text[bytes.n * 2] = '\0';
	return text;
}

static void assert_bytes(struct ks_arena *arena, struct ks_str got, struct ks_str wanted)
{
	assert_string_equal(hex_of(arena, got), hex_of(arena, wanted));
}

static void assert_same_json(struct ks_arena *arena, const struct ks_value *typed, const struct ks_value *wanted)
{
	struct ks_value shown = ks_test_free(arena, ks_test_json(arena, typed));

	if (!ks_value_equal_json(&shown, wanted))
		fail_msg("not the same\n%s\n%s", ks_test_json(arena, &shown), ks_test_json(arena, wanted));
}

static void test_objects_have_the_same_bytes(void **state)
{
	struct ks_value list = read_vectors(*state, "objects");

	assert_true(list.n > 120);
	for (uint32_t i = 0; i < list.n; i++) {
		const struct ks_value *json = ks_value_get(NULL, &list.items[i], "json");
		struct ks_str data = bytes_of(*state, ks_value_get(NULL, &list.items[i], "cbor"));
		uint16_t type = type_of(ks_value_str(ks_value_get(NULL, json, "apiVersion")), ks_value_str(ks_value_get(NULL, json, "kind")));
		const char *message = "";
		struct ks_value object;
		struct ks_buf out;

		if (ks_value_convert(*state, s, type, 0, json, &object, NULL, &message) != 0)
			fail_msg("%s", message);
		ks_buf_init(&out);
		ks_cbor_encode_object(s, &object, &out);
		assert_false(out.failed);
		assert_bytes(*state, ks_buf_str(&out), data);
		ks_buf_fini(&out);
		if (ks_cbor_decode(*state, s, type, 0, data, &object, NULL, &message) != 0)
			fail_msg("%s", message);
		assert_same_json(*state, &object, json);
	}
}

static void test_objects_are_read_or_refused_in_the_same_words(void **state)
{
	struct ks_value list = read_vectors(*state, "typed");
	unsigned refused = 0, unknown = 0;

	for (uint32_t i = 0; i < list.n; i++) {
		const struct ks_value *item = &list.items[i], *kind = ks_value_get(NULL, item, "type"), *strict = ks_value_get(NULL, item, "strict");
		const struct ks_value *wanted = ks_value_get(NULL, item, "message"), *told = ks_value_get(NULL, item, "unknown");
		struct ks_str data = bytes_of(*state, ks_value_get(NULL, item, "cbor"));
		uint16_t type = type_of(ks_value_str(&kind->items[0]), ks_value_str(&kind->items[1]));
		struct ks_strict_errors errors = {0};
		const char *message = "";
		struct ks_value object;
		int rc = ks_cbor_decode(*state, s, type, strict->boolean ? KS_DECODE_STRICT : 0, data, &object, &errors, &message);

		if (wanted) {
			assert_int_equal(rc, -EINVAL);
			assert_string_equal(message, ks_arena_dup(*state, wanted->string, wanted->n));
			refused++;
			continue;
		}
		if (rc != 0)
			fail_msg("%s: %s", message, hex_of(*state, data));
		assert_same_json(*state, &object, ks_value_get(NULL, item, "json"));
		assert_string_equal(ks_test_strict(*state, &errors), told ? ks_arena_dup(*state, told->string, told->n) : "");
		unknown += told != NULL;
	}
	assert_true(refused > 150 && unknown > 10);
}

static void test_free_form_is_read_or_refused_in_the_same_words(void **state)
{
	struct ks_value list = read_vectors(*state, "free");
	unsigned refused = 0;

	for (uint32_t i = 0; i < list.n; i++) {
		const struct ks_value *wanted = ks_value_get(NULL, &list.items[i], "message"), *json = ks_value_get(NULL, &list.items[i], "json");
		struct ks_str data = bytes_of(*state, ks_value_get(NULL, &list.items[i], "cbor"));
		const char *message = "";
		struct ks_value v;
		int rc = ks_cbor_decode(*state, NULL, 0, 0, data, &v, NULL, &message);

		if (!wanted && rc != 0)
			fail_msg("%s: %s", message, hex_of(*state, data));
		if (wanted) {
			assert_int_equal(rc, -EINVAL);
			assert_string_equal(message, ks_arena_dup(*state, wanted->string, wanted->n));
			refused++;
		} else {
			assert_string_equal(ks_test_json(*state, &v), ks_arena_dup(*state, json->string, json->n));
		}
	}
	assert_true(refused > 80 && list.n - refused > 200);
}

/* -- random objects -------------------------------------------------------------------------------------------- */

/* Another implementation finds it well-formed, with nothing behind it. */
static void assert_well_formed(struct ks_str data)
{
	struct cbor_load_result result;
	cbor_item_t *item = cbor_load((cbor_data)data.p, data.n, &result);

	assert_non_null(item);
	assert_int_equal(result.error.code, CBOR_ERR_NONE);
	assert_int_equal(result.read, data.n);
	cbor_decref(&item);
}

static void check_round_trip(struct ks_arena *arena, uint16_t type, const struct ks_value *v)
{
	struct ks_strict_errors strict = {0};
	struct ks_buf out, twice;
	const char *message = "";
	struct ks_value again;

	ks_buf_init(&out);
	ks_buf_init(&twice);
	ks_cbor_encode_object(s, v, &out);
	assert_false(out.failed);
	assert_well_formed(ks_buf_str(&out));
	if (ks_cbor_decode(arena, s, type, KS_DECODE_STRICT, ks_buf_str(&out), &again, &strict, &message) != 0)
		fail_msg("%s: %s", message, ks_test_json(arena, v));
	assert_int_equal(strict.n, 0);
	if (!ks_value_equal(v, &again))
		fail_msg("not equal:\n%s\n%s", ks_test_json(arena, v), ks_test_json(arena, &again));
	ks_cbor_encode_object(s, &again, &twice);
	assert_bytes(arena, ks_buf_str(&twice), ks_buf_str(&out));
	ks_buf_fini(&out);
	ks_buf_fini(&twice);
}

static void test_every_kind_round_trips(void **state)
{
	struct ks_test_maker m = {.arena = *state, .seed = 0x9e3779b97f4a7c15ULL, .proto = true};
	unsigned kinds = 0;

	for (uint32_t i = 0; i < s->n_kinds; i++)
		for (int round = 0; round < 6; round++) {
			struct ks_value v;

			ks_arena_reset(*state);
			m.proto = round % 2; /* lists that are empty, and those that are not */
			kinds += round == 0;
			if (ks_test_make_struct(&m, s->kinds[i].type, true, &v))
				check_round_trip(*state, s->kinds[i].type, &v);
		}
	assert_true(kinds > 150);
}

/* -- the parts that answers are put together from --------------------------------------------------------------- */

static void test_parts_hold_all_but_what_is_added(void **state)
{
	struct ks_value list = read_vectors(*state, "objects");

	for (uint32_t i = 0; i < list.n; i++) {
		const struct ks_value *json = ks_value_get(NULL, &list.items[i], "json");
		struct ks_str version = ks_value_str(ks_value_at(NULL, json, "metadata.resourceVersion"));
		struct ks_str api_version = ks_value_str(ks_value_get(NULL, json, "apiVersion")),
			      kind = ks_value_str(ks_value_get(NULL, json, "kind"));
		uint16_t type = type_of(api_version, kind);
		struct ks_buf parts, joined;
		struct ks_cbor_split split;
		struct ks_value object;
		const char *message = "";

		if (!version.n)
			continue;
		assert_int_equal(ks_value_convert(*state, s, type, 0, json, &object, NULL, &message), 0);
		ks_buf_init(&parts);
		ks_buf_init(&joined);
		assert_true(ks_cbor_encode_split(s, &object, &parts, &split));
		ks_cbor_add_map(&joined, split.n_rest + 3);
		ks_cbor_add_text(&joined, KS_STR_LIT("kind"));
		ks_cbor_add_text(&joined, kind);
		ks_cbor_add_text(&joined, KS_STR_LIT("apiVersion"));
		ks_cbor_add_text(&joined, api_version);
		ks_cbor_add_text(&joined, KS_STR_LIT("metadata"));
		ks_cbor_add_map(&joined, split.n_meta + 1);
		ks_cbor_add_text(&joined, KS_STR_LIT("resourceVersion"));
		ks_cbor_add_text(&joined, version);
		ks_buf_add(&joined, parts.data, parts.len);
		assert_int_equal(ks_cbor_decode(*state, s, type, 0, ks_buf_str(&joined), &object, NULL, &message), 0);
		assert_same_json(*state, &object, json);
		ks_buf_fini(&parts);
		ks_buf_fini(&joined);
	}
}

/* -- apiVersion and kind --------------------------------------------------------------------------------------- */

static const char *peek(struct ks_arena *arena, struct ks_str data)
{
	struct ks_str api_version, kind;
	const char *message = NULL;

	if (ks_cbor_peek_kind(arena, data, &api_version, &kind, &message) != 0)
		return message;
	return ks_arena_printf(arena, "%.*s %.*s", (int)api_version.n, api_version.p, (int)kind.n, kind.p);
}

#define PEEK(data) peek(*state, KS_STR_LIT(data))

static void test_kinds_are_found(void **state)
{
	assert_string_equal(PEEK("\xd9\xd9\xf7\xa3\x44kind\x63Pod\x61z\x81\xa0\x6a"
				 "apiVersion\x42v1"),
		"v1 Pod");
	assert_string_equal(PEEK("\xa0"), " ");
	assert_string_equal(PEEK("\xf6"), " ");
	assert_string_equal(PEEK(""), "EOF");
	assert_string_equal(PEEK("\xa1\x44kind\x01"), "cbor: cannot unmarshal positive integer into Go struct field v1.TypeMeta.kind of type string");
	assert_string_equal(PEEK("\x80"),
		"cbor: cannot unmarshal array into Go value of type v1.TypeMeta (cannot decode CBOR array to struct without toarray option)");
	assert_string_equal(PEEK("\xa2\x41"
				 "a\x01\x61"
				 "a\x02"),
		"cbor: found duplicate map key \"a\" at map element index 1");
	assert_string_equal(PEEK("\xa2\x05\x01\x05\x02"), "cbor: found duplicate map key 5 at map element index 1");
	assert_string_equal(PEEK("\xa0\x00\x00"), "cbor: 2 bytes of extraneous data starting at index 1");
}

static const char *free_json(struct ks_arena *arena, struct ks_str data)
{
	const char *message = NULL;
	struct ks_value v;

	return ks_cbor_decode(arena, NULL, 0, 0, data, &v, NULL, &message) ? message : ks_test_json(arena, &v);
}

#define FREE(data) free_json(*state, KS_STR_LIT(data))

static void test_times_become_texts(void **state)
{
	assert_string_equal(FREE("\xc0\x74"
				 "2020-01-01T00:00:00Z"),
		"\"2020-01-01T00:00:00Z\"");
	assert_string_equal(FREE("\xc0\x73"
				 "2020-01-01T1:00:00Z"),
		"\"2020-01-01T01:00:00Z\"");
	assert_string_equal(FREE("\xc0\x78\x1b"
				 "2020-01-01T1:00:00.25+01:00"),
		"\"2020-01-01T01:00:00.25+01:00\"");
	assert_string_equal(FREE("\xc0\x78\x1d"
				 "2020-01-01T01:00:00.100+00:00"),
		"\"2020-01-01T01:00:00.1Z\"");
	assert_string_equal(FREE("\xc1\xfb\xbf\xf8\x00\x00\x00\x00\x00\x00"), "\"1969-12-31T23:59:58.5Z\"");
	assert_string_equal(FREE("\xc1\x1a\x5e\x0b\xe1\x00"), "\"2020-01-01T00:00:00Z\"");
	assert_string_equal(FREE("\xc0\x01"), "cbor: tag number 0 must be followed by text string, got positive integer");
	assert_string_equal(FREE("\xc0\x61x"),
		"cbor: cannot set x for time.Time: parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"");
}

static const char *map_refusal(struct ks_arena *arena, struct ks_str data)
{
	const char *message = NULL;
	struct ks_value v;

	return ks_cbor_decode_map(arena, data, &v, &message) ? message : NULL;
}

static void test_a_map_is_a_map(void **state)
{
	const char *message = "";
	struct ks_value v;

	assert_int_equal(ks_cbor_decode_map(*state,
				 KS_STR_LIT("\xd9\xd9\xf7\xa1\x41"
					    "a\xd6\x41"
					    "b"),
				 &v, &message),
		0);
	assert_string_equal(ks_test_json(*state, &v), "{\"a\":\"Yg==\"}");
	assert_int_equal(ks_cbor_decode_map(*state, KS_STR_LIT("\xf6"), &v, &message), 0);
	assert_string_equal(ks_test_json(*state, &v), "{}");
	assert_string_equal(map_refusal(*state, KS_STR_LIT("\x80")), "cbor: cannot unmarshal array into Go value of type map[string]interface {}");
	assert_string_equal(
		map_refusal(*state, KS_STR_LIT("\x41x")), "cbor: cannot unmarshal byte string into Go value of type map[string]interface {}");
	assert_string_equal(map_refusal(*state, KS_STR_LIT("")), "EOF");
	assert_string_equal(map_refusal(*state, KS_STR_LIT("\xa0\xa0")), "cbor: 1 bytes of extraneous data starting at index 1");
}

/* -- input that is not as it should be -------------------------------------------------------------------------- */

static const char *refusal(struct ks_arena *arena, struct ks_str data)
{
	const char *message = NULL;
	struct ks_value v;
	int rc = ks_cbor_decode(arena, s, ks_schema_find_type(s, "io.k8s.api.core.v1.Pod"), 0, data, &v, NULL, &message);

	assert_true(rc == 0 || (rc == -EINVAL && message));
	return rc ? message : NULL;
}

static void test_keys_that_repeat_among_many_are_found(void **state)
{
	struct ks_buf data;
	char key[8];

	ks_buf_init(&data);
	ks_cbor_add_map(&data, 1);
	ks_cbor_add_text(&data, KS_STR_LIT("metadata"));
	ks_cbor_add_map(&data, 1);
	ks_cbor_add_text(&data, KS_STR_LIT("labels"));
	ks_cbor_add_map(&data, 100);
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "k%d", i == 90 ? 40 : i);
		ks_cbor_add_text(&data, ks_str_from(key));
		ks_cbor_add_text(&data, KS_STR_LIT(""));
	}
	assert_string_equal(refusal(*state, ks_buf_str(&data)), "cbor: found duplicate map key \"k40\" at map element index 90");
	ks_buf_fini(&data);
}

static void test_depth_is_bounded(void **state)
{
	static char nested[KS_CBOR_MAX_DEPTH + 2];
	const char *message = "";
	struct ks_value v;

	memset(nested, 0x81, sizeof(nested));
	nested[KS_CBOR_MAX_DEPTH] = 0;
	assert_int_equal(ks_cbor_decode(*state, NULL, 0, 0, ks_str_of(nested, KS_CBOR_MAX_DEPTH + 1), &v, NULL, &message), 0);
	nested[KS_CBOR_MAX_DEPTH] = (char)0x81;
	nested[KS_CBOR_MAX_DEPTH + 1] = 0;
	assert_int_equal(ks_cbor_decode(*state, NULL, 0, 0, ks_str_of(nested, sizeof(nested)), &v, NULL, &message), -EINVAL);
	assert_string_equal(message, "cbor: exceeded max nested level 1000");
	memset(nested, 0xc6, sizeof(nested));
	assert_string_equal(refusal(*state, ks_str_of(nested, sizeof(nested))), "cbor: exceeded max nested level 1000");
}

static void test_memory_is_bounded(void **state)
{
	/* spec.containers: a million empty ones */
	size_t n = 1 << 20, head = 22;
	char *data = malloc(head + n);

	assert_non_null(data);
	memcpy(data,
		"\xa1\x44spec\xa1\x4a"
		"containers\x9a\x00\x10\x00\x00",
		head + 1);
	memset(data + head + 1, 0xa0, n - 1);
	assert_string_equal(refusal(*state, ks_str_of(data, head + n)), "cbor: the object would take too much memory");
	free(data);
	/* A length is only a promise. */
	assert_string_equal(refusal(*state, KS_STR_LIT("\x9a\x7f\xff\xff\xff\x00")), "unexpected EOF");
	assert_string_equal(
		refusal(*state, KS_STR_LIT("\xba\x7f\xff\xff\xff\x00")), "cbor: exceeded max number of key-value pairs 2097152 for CBOR map");
}

static void test_texts_may_be_borrowed(void **state)
{
	static const char data[] = "\xa1\x44kind\x63Pod";
	const char *message = "";
	struct ks_value v;
	struct ks_str kind;

	assert_int_equal(ks_cbor_decode(*state, NULL, 0, KS_DECODE_BORROW, KS_STR_LIT(data), &v, NULL, &message), 0);
	kind = ks_value_str(ks_value_get(NULL, &v, "kind"));
	assert_ptr_equal(kind.p, data + 7);
	assert_int_equal(ks_cbor_decode(*state, NULL, 0, 0, KS_STR_LIT(data), &v, NULL, &message), 0);
	kind = ks_value_str(ks_value_get(NULL, &v, "kind"));
	assert_true(ks_str_is(kind, "Pod") && kind.p != data + 7);
}

static void test_without_memory_nothing_is_decoded(void **state)
{
	struct ks_value list = read_vectors(*state, "objects");
	struct ks_str data = bytes_of(*state, ks_value_get(NULL, &list.items[0], "cbor"));
	const struct ks_value *json = ks_value_get(NULL, &list.items[0], "json");
	uint16_t type = type_of(ks_value_str(ks_value_get(NULL, json, "apiVersion")), ks_value_str(ks_value_get(NULL, json, "kind")));

	for (size_t limit = 64; limit < 4096; limit += 64) {
		struct ks_arena small;
		const char *message = "";
		struct ks_value v;
		int rc;

		ks_arena_init(&small, limit);
		rc = ks_cbor_decode(&small, s, type, KS_DECODE_BORROW, data, &v, NULL, &message);
		assert_true(rc == 0 || rc == -ENOMEM);
		ks_arena_fini(&small);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KS_TEST(test_objects_have_the_same_bytes),
		KS_TEST(test_objects_are_read_or_refused_in_the_same_words),
		KS_TEST(test_free_form_is_read_or_refused_in_the_same_words),
		KS_TEST(test_every_kind_round_trips),
		KS_TEST(test_parts_hold_all_but_what_is_added),
		KS_TEST(test_kinds_are_found),
		KS_TEST(test_times_become_texts),
		KS_TEST(test_a_map_is_a_map),
		KS_TEST(test_keys_that_repeat_among_many_are_found),
		KS_TEST(test_depth_is_bounded),
		KS_TEST(test_memory_is_bounded),
		KS_TEST(test_texts_may_be_borrowed),
		KS_TEST(test_without_memory_nothing_is_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
