/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Protobuf against what kube-apiserver wrote: the same bytes out of the same objects, and the same objects out of the same bytes. */
#include "api-random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/api/base64.h"
#include "core/api/proto.h"

static const struct ks_schema *const s = &ks_schema_builtin;

/* -- vectors --------------------------------------------------------------------------------------------------- */

static struct ks_value read_vectors(struct ks_arena *arena, const char *name)
{
	const char *root = getenv("srcdir");
	char *path = ks_arena_printf(arena, "%s/tests/golden/vectors/%s", root ? root : ".", name), *text = malloc(16 << 20);
	gzFile file = gzopen(path, "rb");
	const char *message = "";
	struct ks_value list;
	int n;

	assert_non_null(text);
	if (!file)
		fail_msg("%s can't be read", path);
	n = gzread(file, text, 16 << 20);
	gzclose(file);
	assert_true(n > 0 && n < 16 << 20);
	if (ks_json_decode(arena, NULL, 0, 0, text, (size_t)n, &list, NULL, &message) != 0)
		fail_msg("%s: %s", path, message);
	free(text);
	assert_int_equal(list.kind, KS_LIST);
	return list;
}

static struct ks_str bytes_of(struct ks_arena *arena, const struct ks_value *text)
{
	size_t n, bad;
	bool canonical;
	unsigned char *raw;

	if (!text || !ks_base64_check(ks_value_str(text), &n, &canonical, &bad))
		return (struct ks_str){0};
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
	return found ? found->type : 0;
}

static void set_text(struct ks_arena *arena, struct ks_value *v, const char *name, struct ks_str text)
{
	struct ks_value *place = ks_value_put(arena, s, v, ks_str_from(name));

	assert_non_null(place);
	*place = ks_value_from_str(text);
}

/* The object in an envelope. */
static void open_object(struct ks_arena *arena, struct ks_str data, struct ks_value *out)
{
	struct ks_proto_envelope envelope;
	const char *message = "";
	uint16_t type;

	if (ks_proto_open(arena, data, &envelope, &message) != 0)
		fail_msg("%s", message);
	type = type_of(envelope.api_version, envelope.kind);
	if (!type)
		fail_msg("no type %.*s %.*s", (int)envelope.api_version.n, envelope.api_version.p, (int)envelope.kind.n, envelope.kind.p);
	if (ks_proto_decode(arena, s, type, 0, envelope.raw, out, &message) != 0)
		fail_msg("%.*s: %s", (int)envelope.kind.n, envelope.kind.p, message);
	set_text(arena, out, "apiVersion", envelope.api_version);
	set_text(arena, out, "kind", envelope.kind);
}

/* One client wrote JSON with a space into a part that Go keeps as it comes; we keep its meaning. */
static bool has_spaces(struct ks_str data)
{
	return memmem(data.p, data.n, "{\"a\": 1}", 8) != NULL;
}

static void assert_encodes(struct ks_arena *arena, const struct ks_value *v, struct ks_str wanted, const char *what)
{
	struct ks_buf out;
	size_t at = 0;

	if (has_spaces(wanted))
		return;
	ks_buf_init(&out);
	ks_proto_encode_object(s, v, &out);
	assert_false(out.failed);
	while (at < out.len && at < wanted.n && out.data[at] == wanted.p[at])
		at++;
	if (at < out.len || at < wanted.n)
		fail_msg("%s: bytes differ at %zu of %zu (wanted %zu): %s", what, at, out.len, wanted.n, ks_test_json(arena, v));
	ks_buf_fini(&out);
}

/* Objects in objects have kind and apiVersion in JSON, by defaults, and in protobuf never. */
static void drop_kinds(struct ks_value *object, const char *path)
{
	struct ks_value *items = ks_value_at(NULL, object, path);

	if (items && items->n == 0 && strcmp(path, "items") == 0)
		ks_value_remove(NULL, object, KS_STR_LIT("items")); /* [] in JSON, nothing in protobuf */
	for (uint32_t i = 0; items && items->kind == KS_LIST && i < items->n; i++) {
		ks_value_remove(NULL, &items->items[i], KS_STR_LIT("kind"));
		ks_value_remove(NULL, &items->items[i], KS_STR_LIT("apiVersion"));
	}
}

static void test_objects_as_served(void **state)
{
	struct ks_value list = read_vectors(*state, "objects.json.gz");
	unsigned compared = 0;

	for (uint32_t i = 0; i < list.n; i++) {
		struct ks_str data = bytes_of(*state, ks_value_get(NULL, &list.items[i], "protobuf"));
		const char *what = ks_test_json(*state, ks_value_get(NULL, &list.items[i], "path"));
		struct ks_value *json = ks_value_get(NULL, &list.items[i], "json"), object, shown, typed;
		struct ks_buf text;
		const char *message = "";

		if (!ks_proto_is_enveloped(data))
			continue;
		open_object(*state, data, &object);
		assert_encodes(*state, &object, data, what);
		if (!json || json->kind != KS_MAP)
			continue;
		drop_kinds(json, "items");
		drop_kinds(json, "spec.volumeClaimTemplates");
		shown = ks_test_free(*state, ks_test_json(*state, &object));
		drop_kinds(&shown, "items");
		if (!ks_value_equal_json(json, &shown))
			fail_msg("%s: not the same\n%s\n%s", what, ks_test_json(*state, json), ks_test_json(*state, &shown));
		/* Ours keeps the order of parts that Go keeps as raw bytes, which the recorded JSON has lost. */
		ks_buf_init(&text);
		ks_json_encode_ordered(NULL, &shown, &text);
		assert_int_equal(ks_json_decode(*state, s, object.type, 0, text.data, text.len, &typed, NULL, &message), 0);
		ks_buf_fini(&text);
		assert_encodes(*state, &typed, data, what);
		compared++;
	}
	assert_true(compared > 680);
}

static void test_objects_as_stored(void **state)
{
	struct ks_value list = read_vectors(*state, "etcd.json.gz");
	unsigned compared = 0;

	for (uint32_t i = 0; i < list.n; i++) {
		struct ks_str data = bytes_of(*state, ks_value_get(NULL, &list.items[i], "value"));
		struct ks_proto_envelope envelope;
		struct ks_value object, typed;
		const char *message = "";

		if (!ks_proto_is_enveloped(data))
			continue;
		assert_int_equal(ks_proto_open(*state, data, &envelope, &message), 0);
		if (!type_of(envelope.api_version, envelope.kind))
			continue; /* RangeAllocation is nobody's to ask for */
		open_object(*state, data, &object);
		assert_encodes(*state, &object, data, ks_test_json(*state, ks_value_get(NULL, &list.items[i], "key")));
		/* Through JSON it comes back as the same bytes. */
		assert_int_equal(ks_json_decode(*state, s, object.type, 0, ks_test_json(*state, &object), strlen(ks_test_json(*state, &object)),
					 &typed, NULL, &message),
			0);
		assert_encodes(*state, &typed, data, ks_test_json(*state, ks_value_get(NULL, &list.items[i], "key")));
		compared++;
	}
	assert_true(compared > 1500);
}

/* -- random objects -------------------------------------------------------------------------------------------- */

static void check_round_trip(struct ks_arena *arena, uint16_t type, const struct ks_value *v)
{
	const char *json = ks_test_json(arena, v), *message = "";
	struct ks_value again;
	struct ks_buf out, twice;

	ks_buf_init(&out);
	ks_buf_init(&twice);
	ks_proto_encode(s, v, &out);
	assert_false(out.failed);
	if (ks_proto_decode(arena, s, type, KS_PROTO_COPY, ks_buf_str(&out), &again, &message) != 0)
		fail_msg("%s: %s", message, json);
	assert_string_equal(ks_test_json(arena, &again), json);
	if (!ks_value_equal(v, &again))
		fail_msg("not equal: %s", json);
	ks_proto_encode(s, &again, &twice);
	assert_true(ks_str_eq(ks_buf_str(&out), ks_buf_str(&twice)));
	ks_buf_fini(&out);
	ks_buf_fini(&twice);
}

static void test_every_kind_round_trips(void **state)
{
	struct ks_test_maker m = {.arena = *state, .seed = 0x9e3779b97f4a7c15ULL, .proto = true};
	unsigned kinds = 0;

	for (uint32_t i = 0; i < s->n_kinds; i++)
		for (int round = 0; round < 3 && ks_proto_has(s, s->kinds[i].type); round++) {
			struct ks_value v;

			ks_arena_reset(*state);
			kinds += round == 0;
			if (ks_test_make_struct(&m, s->kinds[i].type, true, &v))
				check_round_trip(*state, s->kinds[i].type, &v);
		}
	assert_true(kinds > 150);
}

/* -- the parts that answers are put together from --------------------------------------------------------------- */

static void test_parts_join_to_the_whole(void **state)
{
	struct ks_value list = read_vectors(*state, "objects.json.gz");
	unsigned compared = 0;

	for (uint32_t i = 0; i < list.n; i++) {
		struct ks_str data = bytes_of(*state, ks_value_get(NULL, &list.items[i], "protobuf")), version;
		struct ks_proto_split split;
		struct ks_value object;
		struct ks_buf parts, whole, joined;

		if (!ks_proto_is_enveloped(data))
			continue;
		open_object(*state, data, &object);
		ks_buf_init(&parts);
		ks_buf_init(&whole);
		ks_buf_init(&joined);
		version = ks_value_str(ks_value_at(s, &object, "metadata.resourceVersion"));
		if (version.n && ks_value_at(s, &object, "metadata.uid") && ks_proto_encode_split(s, &object, &parts, &split)) {
			size_t n = split.meta_n + 2 + version.n;

			ks_proto_encode(s, &object, &whole);
			ks_buf_add_char(&joined, 0x0a);
			if (n >= 128)
				ks_buf_add_char(&joined, (char)(n | 0x80));
			ks_buf_add_char(&joined, (char)(n >= 128 ? n >> 7 : n));
			ks_buf_add(&joined, parts.data, split.rv_at);
			ks_buf_add_char(&joined, 0x32);
			ks_buf_add_char(&joined, (char)version.n);
			ks_buf_add(&joined, version.p, version.n);
			ks_buf_add(&joined, parts.data + split.rv_at, parts.len - split.rv_at);
			assert_true(ks_str_eq(ks_buf_str(&joined), ks_buf_str(&whole)));
			compared++;
		}
		ks_buf_fini(&parts);
		ks_buf_fini(&whole);
		ks_buf_fini(&joined);
	}
	assert_true(compared > 600);
}

static void test_every_stored_kind_has_parts(void **state)
{
	for (uint32_t i = 0; i < s->n_resources; i++) {
		struct ks_proto_split split;
		struct ks_value object;
		struct ks_buf out;

		if (s->resources[i].is_subresource || !s->resources[i].storage_prefix || !*ks_schema_text(s, s->resources[i].storage_prefix))
			continue;
		ks_buf_init(&out);
		assert_true(ks_value_new_struct(*state, s, s->resources[i].type, &object));
		if (!ks_proto_encode_split(s, &object, &out, &split))
			fail_msg("%s", ks_schema_text(s, s->resources[i].kind));
		ks_buf_fini(&out);
	}
}

/* What answers write by themselves: metadata is the first field of a list, items are the second. */
static void test_every_list_has_parts(void **state)
{
	for (uint32_t i = 0; i < s->n_resources; i++) {
		struct ks_value list, *items, *item;
		struct ks_buf out;
		size_t behind;

		if (s->resources[i].is_subresource || !s->resources[i].list_type || !ks_proto_has(s, s->resources[i].list_type))
			continue;
		assert_true(ks_value_new_struct(*state, s, s->resources[i].list_type, &list));
		items = ks_value_put(*state, s, &list, KS_STR_LIT("items"));
		assert_non_null(items);
		*items = (struct ks_value){.kind = KS_LIST};
		item = ks_value_append(*state, items);
		assert_true(ks_value_new_struct(*state, s, s->resources[i].type, item));
		ks_buf_init(&out);
		ks_proto_encode(s, &list, &out);
		assert_true(out.len > 2 && out.data[0] == 0x0a);
		behind = 2 + (unsigned char)out.data[1];
		assert_true(behind < out.len && out.data[behind] == 0x12);
		ks_buf_fini(&out);
	}
}

/* -- input that is not as it should be -------------------------------------------------------------------------- */

static const char *refusal(struct ks_arena *arena, const char *type, const char *data, size_t n)
{
	const char *message = NULL;
	struct ks_value v;
	uint16_t index = ks_schema_find_type(s, type);
	int rc = ks_proto_decode(arena, s, index, 0, ks_str_of(data, n), &v, &message);

	assert_true(rc == 0 || (rc == -22 && message));
	return rc ? message : NULL;
}

#define POD "io.k8s.api.core.v1.Pod"
#define REFUSAL(type, data) refusal(*state, type, data, sizeof(data) - 1)

static void test_hostile_input_is_refused(void **state)
{
	assert_string_equal(REFUSAL(POD, "\x0a\x05x"), "unexpected EOF");
	assert_string_equal(REFUSAL(POD, "\x0a"), "unexpected EOF");
	assert_string_equal(REFUSAL(POD, "\x80"), "unexpected EOF");
	assert_string_equal(REFUSAL(POD, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "proto: integer overflow");
	assert_string_equal(REFUSAL(POD, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "proto: negative length found during unmarshaling");
	assert_string_equal(REFUSAL(POD, "\x08\x01"), "proto: wrong wireType = 0 for field Metadata");
	assert_string_equal(REFUSAL(POD, "\x0c"), "proto: Pod: wiretype end group for non-group");
	assert_string_equal(REFUSAL(POD, "\x00\x00"), "proto: Pod: illegal tag 0 (wire type 0)");
	assert_string_equal(REFUSAL(POD, "\xa6\x06"), "proto: illegal wireType 6");
	assert_null(REFUSAL(POD, ""));
}

static void test_unknown_fields_are_skipped(void **state)
{
	assert_null(REFUSAL(POD,
		"\xa0\x06\x01\xa1\x06"
		"12345678"
		"\xa2\x06\x02xy\xa3\x06\xa0\x06\x01\xa4\x06\xa5\x06"
		"1234"));
}

static void test_depth_is_bounded(void **state)
{
	/* JSONSchemaProps.not in itself: field 28 */
	static char nested[4000];
	size_t at = sizeof(nested);
	const char *message;

	for (size_t inner = 0; inner < 3000; inner = sizeof(nested) - at) {
		if (inner >= 128) {
			nested[--at] = (char)(inner >> 7);
			nested[--at] = (char)(inner | 0x80);
		} else {
			nested[--at] = (char)inner;
		}
		nested[--at] = 1;
		nested[--at] = (char)0xe2;
	}
	message = refusal(*state, "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", nested + at, sizeof(nested) - at);
	assert_string_equal(message, "proto: exceeded max depth");
}

static void test_memory_is_bounded(void **state)
{
	/* spec.containers: hundreds of thousands of empty ones */
	size_t n = 1 << 20;
	char *data = calloc(1, n + 5);

	assert_non_null(data);
	memcpy(data, "\x12\x80\x80\x40", 4);
	for (size_t i = 0; i < n; i += 2)
		data[4 + i] = 0x12;
	assert_string_equal(refusal(*state, POD, data, n + 4), "proto: the message would take too much memory");
	free(data);
}

static void test_the_last_of_equal_keys_stays(void **state)
{
	/* metadata.labels: b=1, a=2, b=3 */
	static const char data[] = "\x0a\x18\x5a\x06\x0a\x01"
				   "b\x12\x01"
				   "1\x5a\x06\x0a\x01"
				   "a\x12\x01"
				   "2\x5a\x06\x0a\x01"
				   "b\x12\x01"
				   "3";
	const char *message = "";
	struct ks_value v;

	assert_int_equal(ks_proto_decode(*state, s, ks_schema_find_type(s, POD), 0, ks_str_of(data, sizeof(data) - 1), &v, &message), 0);
	assert_string_equal(ks_test_json(*state, ks_value_at(s, &v, "metadata.labels")), "{\"a\":\"2\",\"b\":\"3\"}");
}

static void test_packed_numbers_are_read(void **state)
{
	/* spec.securityContext.supplementalGroups = [1, 300] */
	static const char data[] = "\x12\x08\x72\x06\x22\x03\x01\xac\x02\x20\x05";
	const char *message = "";
	struct ks_value v;

	assert_int_equal(ks_proto_decode(*state, s, ks_schema_find_type(s, POD), 0, ks_str_of(data, sizeof(data) - 1), &v, &message), -22);
	assert_int_equal(
		ks_proto_decode(*state, s, ks_schema_find_type(s, POD), 0, ks_str_of("\x12\x07\x72\x05\x22\x03\x01\xac\x02", 9), &v, &message), 0);
	assert_string_equal(ks_test_json(*state, ks_value_at(s, &v, "spec.securityContext.supplementalGroups")), "[1,300]");
}

static void test_envelopes_are_checked(void **state)
{
	struct ks_proto_envelope envelope;
	const char *message = "";

	assert_int_equal(ks_proto_open(*state, KS_STR_LIT(""), &envelope, &message), -22);
	assert_string_equal(message, "empty data");
	assert_int_equal(ks_proto_open(*state, KS_STR_LIT("{}"), &envelope, &message), -22);
	assert_string_equal(message, "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
	assert_int_equal(ks_proto_open(*state, KS_STR_LIT("k8s\0"), &envelope, &message), -22);
	assert_string_equal(message, "empty body");
	assert_int_equal(ks_proto_open(*state, KS_STR_LIT("k8s\0\x0a\x09\x0a"), &envelope, &message), -22);
	assert_string_equal(message, "unexpected EOF");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KS_TEST(test_objects_as_served),
		KS_TEST(test_objects_as_stored),
		KS_TEST(test_every_kind_round_trips),
		KS_TEST(test_parts_join_to_the_whole),
		KS_TEST(test_every_stored_kind_has_parts),
		KS_TEST(test_every_list_has_parts),
		KS_TEST(test_hostile_input_is_refused),
		KS_TEST(test_unknown_fields_are_skipped),
		KS_TEST(test_depth_is_bounded),
		KS_TEST(test_memory_is_bounded),
		KS_TEST(test_the_last_of_equal_keys_stays),
		KS_TEST(test_packed_numbers_are_read),
		KS_TEST(test_envelopes_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
