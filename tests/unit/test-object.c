/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Objects from bytes and trees, their indexed parts, their other versions. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/api/json.h"
#include "core/cache/filter.h"
#include "core/cache/index.h"
#include "tests/unit/cache-help.h"

#define assert_str(text, expected)                                         \
	do {                                                               \
		assert_int_equal((text).n, strlen(expected));              \
		assert_memory_equal((text).p, expected, strlen(expected)); \
	} while (0)

static struct ks_object *from_text(uint16_t resource, const char *text)
{
	struct ks_bytes *json = ks_bytes_dup(text, strlen(text));
	struct ks_object *object = ks_object_from_json(&ks_schema_builtin, resource, json, NULL);

	ks_bytes_unref(json);
	return object;
}

static struct ks_str field(const struct ks_object *object, const char *path)
{
	int index = ks_cache_field_index(&ks_schema_builtin, object->resource, ks_str_from(path));

	assert_in_range(index, 0, object->n_fields - 1);
	return object->fields[index];
}

static void names_labels_and_fields_are_read(void **state)
{
	uint16_t pods = help_resource("", "v1", "pods");
	struct ks_object *o = from_text(pods,
		"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\",\"labels\":{\"z\":\"1\","
		"\"a\":\"\"},"
		"\"annotations\":{\"x\":\"}]\\\"\"}},\"spec\":{\"nodeName\":\"node\\u002d1\",\"containers\":[{\"name\":\"c\"}],\"hostNetwork\":true},"
		"\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.0.1\"}}");

	(void)state;
	assert_non_null(o);
	assert_str(o->name, "p");
	assert_str(o->ns, "n");
	assert_str(o->uid, "u");
	assert_int_equal(o->n_labels, 2);
	assert_str(o->labels[0].key, "a");
	assert_str(o->labels[1].value, "1");
	assert_str(field(o, "spec.nodeName"), "node-1");
	assert_str(field(o, "spec.hostNetwork"), "true");
	assert_str(field(o, "status.phase"), "Running");
	assert_str(field(o, "status.podIP"), "10.0.0.1");
	assert_str(field(o, "status.nominatedNodeName"), "");
	ks_object_unref(o);
}

static void absent_fields_read_as_go_prints_zero(void **state)
{
	struct ks_object *node =
		from_text(help_resource("", "v1", "nodes"), "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"}}");
	struct ks_object *job = from_text(help_resource("batch", "v1", "jobs"),
		"{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\"},\"status\":{\"succeeded\":3}}");

	(void)state;
	assert_str(field(node, "spec.unschedulable"), "false");
	assert_str(field(job, "status.successful"), "3");
	ks_object_unref(node);
	ks_object_unref(job);
}

static void events_are_selected_in_the_words_of_both_groups(void **state)
{
	uint16_t core = help_resource("", "v1", "events"), other = help_resource("events.k8s.io", "v1", "events");
	uint16_t stored = ks_schema_builtin.resources[core].storage;
	struct ks_object *o;

	(void)state;
	assert_int_equal(stored, ks_schema_builtin.resources[other].storage);
	assert_int_equal(stored, core);
	o = from_text(core,
		"{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"e\",\"namespace\":\"n\"},\"involvedObject\":{\"kind\":\"Pod\"},"
		"\"source\":{},\"reportingComponent\":\"kubelet\",\"reportingInstance\":\"\"}");
	assert_str(field(o, "involvedObject.kind"), "Pod");
	assert_str(field(o, "source"), "kubelet");
	assert_int_equal(ks_cache_field_index(&ks_schema_builtin, other, KS_STR_LIT("regarding.kind")),
		ks_cache_field_index(&ks_schema_builtin, core, KS_STR_LIT("involvedObject.kind")));
	assert_int_equal(ks_cache_field_index(&ks_schema_builtin, core, KS_STR_LIT("regarding.kind")), -3);
	assert_int_equal(ks_cache_field_index(&ks_schema_builtin, other, KS_STR_LIT("reportingController")),
		ks_cache_field_index(&ks_schema_builtin, core, KS_STR_LIT("reportingComponent")));
	ks_object_unref(o);
}

static void the_place_of_the_version_is_known(void **state)
{
	uint16_t configmaps = help_resource("", "v1", "configmaps");
	struct ks_object *o = help_object(configmaps, "n", "c", NULL, NULL);

	(void)state;
	assert_memory_equal(o->json->data + o->rv_at - 12, "\"metadata\":{", 12);
	assert_true(o->rv_comma);
	ks_object_unref(o);
}

static void a_stored_version_is_taken_out(void **state)
{
	static const char *const texts[] = {
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"5\",\"name\":\"c\",\"namespace\":\"n\"}}",
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"c\",\"resourceVersion\":\"5\",\"namespace\":\"n\"}}",
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"resourceVersion\":\"5\"}}",
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct ks_object *o = from_text(help_resource("", "v1", "configmaps"), texts[i]);

		assert_non_null(o);
		assert_str(ks_str_of(o->json->data, o->json->len),
			"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"}}");
		ks_object_unref(o);
	}
}

static void what_is_no_object_is_refused(void **state)
{
	static const char *const texts[] = {"", "{", "[]", "nonsense", "{}", "{\"metadata\":{}}",
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"c\"",
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"c\"}}x",
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"c\\",
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"c\",\"labels\":{\"a\":1}}}",
		"{\"kind\":\"Secret\",\"apiVersion\":\"v7\",\"metadata\":{\"name\":\"c\"}}",
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"namespace\":\"c\"}}",
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"\\ud8\"}}"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_null(from_text(help_resource("", "v1", "configmaps"), texts[i]));
}

static void every_cut_and_flipped_byte_is_survived(void **state)
{
	static const char text[] =
		"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\\u00e4\",\"namespace\":\"n\",\"labels\":{\"a\":\"b\\n\"},"
		"\"resourceVersion\":\"7\"},\"spec\":{\"nodeName\":\"x\"},\"status\":{\"phase\":null}}";
	char copy[sizeof(text)];

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		memcpy(copy, text, sizeof(text));
		copy[i] = '\0';
		ks_object_unref(from_text(help_resource("", "v1", "pods"), copy));
		for (const char *c = "\"\\{}[],:u"; *c; c++) {
			copy[i] = *c;
			ks_object_unref(from_text(help_resource("", "v1", "pods"), copy));
		}
	}
}

static void a_tree_comes_back_with_its_revision(void **state)
{
	uint16_t configmaps = help_resource("", "v1", "configmaps");
	struct ks_object *o = help_object(configmaps, "n", "c", "\"a\":\"b\"", ",\"data\":{\"k\":\"v\"}"), *again;
	struct ks_arena arena;
	struct ks_value root;

	(void)state;
	o->revision = 42;
	ks_arena_init(&arena, 0);
	assert_int_equal(ks_object_tree(o, &ks_schema_builtin, &arena, &root), 0);
	assert_str(ks_value_str(ks_value_at(&ks_schema_builtin, &root, "metadata.resourceVersion")), "42");
	assert_str(ks_value_str(ks_value_at(&ks_schema_builtin, &root, "data.k")), "v");
	again = ks_object_from_tree(&ks_schema_builtin, configmaps, &root);
	assert_non_null(again);
	assert_str(ks_str_of(again->json->data, again->json->len),
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"uid\":\"u-c\",\"labels\":{\"a\":"
		"\"b\"}},"
		"\"data\":{\"k\":\"v\"}}");
	ks_object_unref(again);
	ks_object_unref(o);
	ks_arena_fini(&arena);
}

static int conversions;

static int convert(struct ks_arena *arena, const struct ks_schema *schema, uint16_t from, uint16_t to, struct ks_value *root)
{
	(void)arena;
	(void)root;
	assert_int_not_equal(from, to);
	assert_ptr_equal(schema, &ks_schema_builtin);
	conversions++;
	return 0;
}

static void other_versions_are_made_once(void **state)
{
	uint16_t core = help_resource("", "v1", "events"), other = help_resource("events.k8s.io", "v1", "events");
	struct ks_object *o = help_object(core, "n", "e", NULL, ",\"involvedObject\":{}");
	struct ks_representation first, second;

	(void)state;
	ks_object_set_converter(convert);
	conversions = 0;
	assert_int_equal(ks_object_representation(o, &ks_schema_builtin, core, &first), 0);
	assert_ptr_equal(first.bytes, o->json);
	assert_int_equal(conversions, 0);
	assert_int_equal(ks_object_representation(o, &ks_schema_builtin, other, &first), 0);
	assert_int_equal(ks_object_representation(o, &ks_schema_builtin, other, &second), 0);
	assert_int_equal(conversions, 1);
	assert_ptr_equal(first.bytes, second.bytes);
	assert_memory_equal(first.bytes->data, "{\"kind\":\"Event\",\"apiVersion\":\"events.k8s.io/v1\",", 48);
	assert_memory_equal(first.bytes->data + first.rv_at - 12, "\"metadata\":{", 12);
	ks_object_set_converter(NULL);
	ks_object_unref(o);
}

static void another_stored_version_is_normalised(void **state)
{
	struct ks_object *o = from_text(help_resource("", "v1", "events"),
		"{\"kind\":\"Event\",\"apiVersion\":\"events.k8s.io/v1\",\"metadata\":{\"name\":\"e\",\"namespace\":\"n\"}}");

	(void)state;
	assert_non_null(o);
	assert_memory_equal(o->json->data, "{\"kind\":\"Event\",\"apiVersion\":\"v1\",", 34);
	ks_object_unref(o);
}

static void filters_match(void **state)
{
	uint16_t pods = help_resource("", "v1", "pods");
	struct ks_object *o = help_object(pods, "n", "p", "\"app\":\"web\"", ",\"spec\":{\"nodeName\":\"x\"}");
	struct ks_field_requirement on_x = {KS_STR_LIT("spec.nodeName"), KS_STR_LIT("x"), false}, not_x = on_x,
				    named = {KS_STR_LIT("metadata.name"), KS_STR_LIT("q"), false};
	struct ks_watch_filter filter = {.ns = KS_STR_LIT("n")};
	struct ks_selector *selector;
	const char *message;
	struct ks_arena arena;

	(void)state;
	not_x.not_equal = true;
	ks_arena_init(&arena, 0);
	assert_true(ks_watch_filter_match(&ks_schema_builtin, &filter, o));
	filter.fields = &on_x;
	filter.n_fields = 1;
	assert_true(ks_watch_filter_match(&ks_schema_builtin, &filter, o));
	filter.fields = &not_x;
	assert_false(ks_watch_filter_match(&ks_schema_builtin, &filter, o));
	filter.fields = &named;
	assert_false(ks_watch_filter_match(&ks_schema_builtin, &filter, o));
	filter.n_fields = 0;
	assert_int_equal(ks_label_selector_parse(&arena, KS_STR_LIT("app!=web"), &selector, &message), 0);
	filter.labels = selector;
	assert_false(ks_watch_filter_match(&ks_schema_builtin, &filter, o));
	filter.labels = NULL;
	filter.ns = KS_STR_LIT("m");
	assert_false(ks_watch_filter_match(&ks_schema_builtin, &filter, o));
	ks_arena_fini(&arena);
	ks_object_unref(o);
}

static void protobuf_is_made_once(void **state)
{
	static const char text[] = "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}";
	static const char message[] = "\n\1a\22\0\32\0\"\0*\0" "8\0B\0" "\22\6\n\1k\22\1v";
	struct ks_object *o = from_text(help_resource("", "v1", "configmaps"), text);
	struct ks_proto_representation first, second;

	(void)state;
	assert_int_equal(ks_object_proto(o, &ks_schema_builtin, o->resource, &first), 0);
	assert_int_equal(first.bytes->len, sizeof(message) - 1);
	assert_memory_equal(first.bytes->data, message, sizeof(message) - 1);
	assert_int_equal(first.meta_n, 15);
	assert_int_equal(first.rv_at, 11); /* behind uid, before generation */
	assert_int_equal(ks_object_proto(o, &ks_schema_builtin, o->resource, &second), 0);
	assert_ptr_equal(first.bytes, second.bytes);
	ks_object_unref(o);
}

#ifdef KS_HAVE_CBOR
static void cbor_is_made_once(void **state)
{
	static const char text[] = "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"y\"}},\"data\":{\"k\":\"v\"}}";
	static const char pairs[] = "\x44name\x41" "a\x46labels\xa1\x41x\x41y" "\x44" "data\xa1\x41k\x41v";
	struct ks_object *o = from_text(help_resource("", "v1", "configmaps"), text);
	struct ks_cbor_representation first, second;
	struct ks_proto_representation other;

	(void)state;
	assert_int_equal(ks_object_cbor(o, &ks_schema_builtin, o->resource, &first), 0);
	assert_int_equal(first.bytes->len, sizeof(pairs) - 1);
	assert_memory_equal(first.bytes->data, pairs, sizeof(pairs) - 1);
	assert_int_equal(first.meta_n, 19);
	assert_int_equal(first.n_meta, 2);
	assert_int_equal(first.n_rest, 1);
	assert_int_equal(ks_object_proto(o, &ks_schema_builtin, o->resource, &other), 0);
	assert_int_equal(ks_object_cbor(o, &ks_schema_builtin, o->resource, &second), 0);
	assert_ptr_equal(first.bytes, second.bytes);
	ks_object_unref(o);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_labels_and_fields_are_read),
		cmocka_unit_test(absent_fields_read_as_go_prints_zero),
		cmocka_unit_test(events_are_selected_in_the_words_of_both_groups),
		cmocka_unit_test(the_place_of_the_version_is_known),
		cmocka_unit_test(a_stored_version_is_taken_out),
		cmocka_unit_test(what_is_no_object_is_refused),
		cmocka_unit_test(every_cut_and_flipped_byte_is_survived),
		cmocka_unit_test(a_tree_comes_back_with_its_revision),
		cmocka_unit_test(other_versions_are_made_once),
		cmocka_unit_test(another_stored_version_is_normalised),
		cmocka_unit_test(filters_match),
		cmocka_unit_test(protobuf_is_made_once),
#ifdef KS_HAVE_CBOR
		cmocka_unit_test(cbor_is_made_once),
#endif
	};

	return cmocka_run_group_tests_name("object", tests, NULL, NULL);
}
